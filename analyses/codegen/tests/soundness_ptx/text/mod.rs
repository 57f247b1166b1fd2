//! Random PTX text with constructs that printed IR does not have: registers written many times, any
//! instruction under `@%p` and `@!%p` (returns, calls and branches as well), two-predicate comparisons,
//! carries, shadowed registers, branch tables, `bra.uni`, vector accesses, `shfl.sync`, `vote.sync`, `match`,
//! `redux`, and `.param` calls.
//!
//! ```text
//! setp.lt.and.s32 %p1|%p0, %r2, %r5, !%p3;  @!%p1 add.s32 %r2, %r0, 7;  @%p0 bra $L4;
//! ```
//!
//! Every lane ends: loops have counters that nothing else writes, other jumps backwards burn fuel. A lane
//! writes its own slice of memory only, and reads tables that nobody writes and values exchanged before a
//! barrier at the start. Registers may be read before they are written.

mod control;
mod instructions;
mod memory;

use oracle::random::Random;
use std::fmt::Write;

/// Bytes of the table, and of a lane's slice.
pub(crate) const TABLE: usize = 256;
pub(crate) const SLICE: usize = 64;
const REGISTERS: u32 = 10;
const PREDICATES: u32 = 6;
const MAX_THREADS: u32 = 96;

/// A file with the entry `k`, and a launch that it is safe for.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) text: String,
    pub(crate) block: [u32; 3],
    pub(crate) grid: u32,
}

pub(crate) fn source(seed: u64) -> Source {
    let mut random = Random::new(seed ^ 0x0706_7470);
    let block = block(&mut random);
    let threads: u32 = block.iter().product();
    let grid = 1 + random.below(2);
    let mut text = String::from(
        ".version 8.0\n.target sm_80\n.address_size 64\n\n\
         .global .align 4 .b32 counter;\n\
         .const .align 16 .b8 table[64] = {1, 0, 0, 0, 2, 0, 0, 0, 5, 0, 0, 0, 3, 0, 0, 0, 9};\n\
         .extern .func (.param .b32 answer) elsewhere (.param .b32 question);\n",
    );
    let callees = random.below(3);
    for number in 0..callees {
        text.push_str(&device(&mut random, number));
    }
    let mut w = Writer::new(&mut random, true, callees);
    w.full_warps = threads.is_multiple_of(32);
    w.kernel();
    let body = w.body;
    text.push_str(
        "\n.visible .entry k(\n\t.param .u64 .ptr .global .align 16 data,\n\t.param .u64 .ptr .global .align 16 out,\n\
         \t.param .u32 n,\n\t.param .u32 m,\n\t.param .align 16 .b8 group[32]\n)\n",
    );
    if random.percent(50) {
        let [x, y, z] = block;
        let _ = writeln!(text, ".reqntid {x}, {y}, {z}");
    }
    text.push_str("{\n");
    registers(&mut text);
    let _ = writeln!(
        text,
        "\t.shared .align 16 .b8 exchanged[{}];\n\t.local .align 16 .b8 mine[32];",
        MAX_THREADS * 16
    );
    text.push_str(&body);
    text.push_str("}\n");
    Source { text, block, grid }
}

fn block(random: &mut Random) -> [u32; 3] {
    match random.below(6) {
        0 => [32, 1, 1],
        1 => [64, 1, 1],
        2 => [8, 8, 1],
        3 => [16, 2, 1 + random.below(2)],
        4 => [1 + random.below(40), 1, 1],
        _ => [
            1 + random.below(12),
            1 + random.below(4),
            1 + random.below(2),
        ],
    }
}

fn registers(text: &mut String) {
    let _ = writeln!(
        text,
        "\t.reg .pred %p<{PREDICATES}>, %u<2>, %q;\n\t.reg .b32 %r<{REGISTERS}>, %c<4>, %b<4>, %t, %s, %m, %fuel;\n\
         \t.reg .b64 %d<4>, %x, %data, %own;\n\t.reg .f32 %f<4>;\n\t.reg .f64 %g<2>;\n\t.reg .b16 %h<3>;"
    );
}

/// `dev(a, b)`, which may call those before it and itself.
fn device(random: &mut Random, number: u32) -> String {
    let mut w = Writer::new(random, false, number);
    w.line("ld.param.b32 %r0, [a]");
    w.line("ld.param.b32 %r1, [b]");
    w.line("mov.u32 %r2, %tid.x");
    w.line("setp.lt.s32 %p0, %r0, %r1");
    w.line("setp.eq.s32 %u0, 1, 1");
    w.line("setp.eq.s32 %u1, 1, 0");
    w.line("st.param.b32 [rv], %r0");
    let count = 2 + w.random.below(4);
    w.statements(count, 1);
    if w.random.percent(50) {
        let guard = w.guard();
        w.line(format_args!("{guard}st.param.b32 [rv], %r3"));
    }
    w.line("ret");
    let body = w.body;
    let mut text =
        format!("\n.func (.param .b32 rv) dev{number} (.param .b32 a, .param .b32 b)\n{{\n");
    registers(&mut text);
    text.push_str(&body);
    text.push_str("}\n");
    text
}

struct Loop {
    exit: String,
    next: String,
}

struct Writer<'r> {
    random: &'r mut Random,
    body: String,
    labels: u32,
    kernel: bool,
    callees: u32,
    loops: Vec<Loop>,
    full_warps: bool,
    /// All lanes of the workgroup are here.
    converged: bool,
}

impl<'r> Writer<'r> {
    fn new(random: &'r mut Random, kernel: bool, callees: u32) -> Self {
        Writer {
            random,
            body: String::new(),
            labels: 0,
            kernel,
            callees,
            loops: Vec::new(),
            full_warps: false,
            converged: kernel,
        }
    }

    fn line(&mut self, text: impl std::fmt::Display) {
        let _ = writeln!(self.body, "\t{text};");
    }
    fn label(&mut self) -> String {
        self.labels += 1;
        format!("$L{}", self.labels)
    }
    fn place(&mut self, label: &str) {
        let _ = writeln!(self.body, "{label}:");
    }
    fn r(&mut self) -> String {
        format!("%r{}", self.random.below(REGISTERS))
    }
    fn p(&mut self) -> String {
        format!("%p{}", self.random.below(PREDICATES))
    }
    fn d(&mut self) -> String {
        format!("%d{}", self.random.below(4))
    }
    fn f(&mut self) -> String {
        format!("%f{}", self.random.below(4))
    }
    fn h(&mut self) -> String {
        format!("%h{}", self.random.below(3))
    }
    /// A register, a loop counter or a number.
    fn a(&mut self) -> String {
        match self.random.below(10) {
            0..=5 => self.r(),
            6 if !self.loops.is_empty() => {
                let depth = self.random.below(self.loops.len() as u32);
                format!("%c{depth}")
            }
            _ => self.random.between(-3, 9).to_string(),
        }
    }
    fn signed_p(&mut self) -> String {
        let not = if self.random.percent(40) { "!" } else { "" };
        format!("{not}{}", self.p())
    }
    fn always_guard(&mut self) -> String {
        if self.random.percent(12) {
            return format!("@%u{} ", self.random.below(2));
        }
        format!("@{} ", self.signed_p())
    }
    fn guard(&mut self) -> String {
        if self.random.percent(40) {
            self.always_guard()
        } else {
            String::new()
        }
    }
    fn one<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.random.below(list.len() as u32) as usize]
    }
}
