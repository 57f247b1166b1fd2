//! Random PTX text with what printed IR does not have: registers written many times, any instruction under `@%p` and
//! `@!%p` (returns, calls and branches as well), two-predicate comparisons, carries, shadowed registers, branch tables,
//! `bra.uni`, vector accesses, `shfl.sync`, `vote.sync`, `match`, `redux`, and `.param` calls.
//!
//! ```text
//! setp.lt.and.s32 %p1|%p0, %r2, %r5, !%p3;  @!%p1 add.s32 %r2, %r0, 7;  @%p0 bra $L4;
//! ```
//!
//! Every lane ends: loops have counters that nothing else writes, other jumps backwards burn fuel. A lane writes its own
//! slice of memory only, and reads tables that nobody writes and what was exchanged before a barrier at the start.
//! Registers may be read before they are written.

use ir::random::Random;
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

    // ------------------------------------------------------------------------------------------- the kernel

    fn kernel(&mut self) {
        for text in [
            "ld.param.u64 %data, [data]",
            "ld.param.u64 %own, [out]",
            "cvta.to.global.u64 %data, %data",
            "cvta.to.global.u64 %own, %own",
            "ld.param.u32 %r1, [n]",
            "ld.param.u32 %r2, [m]",
            "mov.u32 %r0, %tid.x",
            "mov.u32 %r4, %tid.y",
            "mov.u32 %r5, %laneid",
            // The lane's number in the grid.
            "mov.u32 %t, %tid.z",
            "mov.u32 %s, %ntid.y",
            "mad.lo.s32 %t, %t, %s, %r4",
            "mov.u32 %s, %ntid.x",
            "mad.lo.s32 %t, %t, %s, %r0",
            "shl.b32 %m, %t, 4",
            "mov.u32 %b0, exchanged",
            "add.s32 %b0, %b0, %m",
            "st.shared.v2.b32 [%b0], {%r0, %r1}",
            "st.shared.v2.b32 [%b0+8], {%r5, %t}",
            "mov.u32 %m, %ntid.y",
            "mul.lo.s32 %s, %s, %m",
            "mov.u32 %m, %ntid.z",
            "mul.lo.s32 %s, %s, %m",
            "mov.u32 %m, %ctaid.x",
            "mad.lo.s32 %r3, %m, %s, %t",
            "mul.wide.u32 %x, %r3, 64",
            "add.s64 %own, %own, %x",
            "bar.sync 0",
            "mov.u32 %r6, 3",
            "and.b32 %t, %r0, 1",
            "setp.eq.s32 %p0, %t, 0",
            "setp.lt.s32 %p1, %r1, %r2",
            "setp.lt.s32 %p2, %r0, %r1",
            "setp.gt.s32 %u0, %r1, 0",
            "setp.le.s32 %u1, %r1, %r2",
            "mov.u32 %fuel, 14",
        ] {
            self.line(text);
        }
        for number in 7..REGISTERS {
            if self.random.percent(75) {
                let from = self.random.below(7);
                self.line(format_args!("mul.lo.s32 %r{number}, %r{from}, {number}"));
            }
        }
        for number in 3..PREDICATES {
            if self.random.percent(75) {
                let (a, b) = (self.r(), self.a());
                self.line(format_args!("setp.ne.s32 %p{number}, {a}, {b}"));
            }
        }
        for number in 0..4 {
            self.line(format_args!("cvt.rn.f32.s32 %f{number}, %r{number}"));
            self.line(format_args!("cvt.s64.s32 %d{number}, %r{}", number + 2));
        }
        if self.random.percent(60) {
            let count = 4 + self.random.below(14);
            self.statements(count, 0);
        } else {
            self.converged = false;
            self.arbitrary();
        }
        self.place("$END");
        let mut at = 0;
        for number in [0, 2, 3, 6, 7, 8, 9] {
            self.line(format_args!("st.global.b32 [%own+{at}], %r{number}"));
            at += 4;
        }
        self.line("ret");
    }

    /// Blocks with edges anywhere, entries into loops from the side among them.
    fn arbitrary(&mut self) {
        let count = 3 + self.random.below(9);
        for number in 0..count {
            self.place(&format!("$B{number}"));
            for _ in 0..self.random.below(4) {
                self.instruction();
            }
            let target = |random: &mut Random, back: bool| {
                if back {
                    format!("$B{}", random.below(number + 1))
                } else if number + 1 < count {
                    format!("$B{}", number + 1 + random.below(count - number - 1))
                } else {
                    "$END".to_string()
                }
            };
            match self.random.below(10) {
                0..=3 => {
                    self.line("sub.s32 %fuel, %fuel, 1");
                    self.line("setp.lt.s32 %q, %fuel, 0");
                    self.line("@%q bra $END");
                    let to = target(self.random, true);
                    let guard = self.always_guard();
                    self.line(format_args!("{guard}bra {to}"));
                }
                4..=6 => {
                    let to = target(self.random, false);
                    let guard = self.always_guard();
                    self.line(format_args!("{guard}bra {to}"));
                }
                7 => {
                    let to = target(self.random, false);
                    let uni = self.one(&["", ".uni"]);
                    self.line(format_args!("bra{uni} {to}"));
                }
                8 => {
                    let names: Vec<String> = (0..3).map(|_| target(self.random, false)).collect();
                    self.branch_table(&names);
                }
                _ => {
                    let guard = self.always_guard();
                    let end = self.one(&["ret", "exit"]);
                    self.line(format_args!("{guard}{end}"));
                }
            }
        }
    }

    fn branch_table(&mut self, names: &[String]) {
        let table = format!("$T{}", self.labels);
        self.labels += 1;
        let r = self.r();
        self.line(format_args!("rem.u32 %t, {r}, {}", names.len()));
        let _ = writeln!(self.body, "{table}: .branchtargets {};", names.join(", "));
        self.line(format_args!("brx.idx %t, {table}"));
    }

    // ------------------------------------------------------------------------------------------- statements

    fn statements(&mut self, count: u32, depth: u32) {
        for _ in 0..count {
            self.statement(depth);
        }
    }

    fn statement(&mut self, depth: u32) {
        let choice = self.random.below(24);
        if depth >= 3 || choice < 12 {
            if depth == 0 && self.converged && self.random.percent(6) {
                return self.barrier();
            }
            return self.instruction();
        }
        match choice {
            12..=14 => self.condition(depth),
            15..=17 => self.repetition(depth),
            18 | 19 if !self.loops.is_empty() => {
                let at = self.random.below(self.loops.len() as u32) as usize;
                let target = if self.random.percent(60) {
                    self.loops[at].exit.clone()
                } else {
                    self.loops[at].next.clone()
                };
                let guard = self.always_guard();
                self.line(format_args!("{guard}bra {target}"));
            }
            20 => {
                self.converged = false;
                let guard = self.always_guard();
                let end = self.one(&["ret", "exit"]);
                self.line(format_args!("{guard}{end}"));
            }
            21 => {
                let labels: Vec<String> = (0..4).map(|_| self.label()).collect();
                self.branch_table(&labels[..3]);
                for label in &labels[..3] {
                    self.place(label);
                    let inner = self.random.below(2);
                    self.statements(inner, depth + 1);
                    if self.random.percent(60) {
                        self.line(format_args!("bra.uni {}", labels[3]));
                    }
                }
                self.place(&labels[3]);
            }
            22 => self.call(),
            _ => {
                // Registers of a block of their own hide outer ones.
                let r = self.r();
                let from = self.r();
                self.body.push_str("\t{\n");
                self.line(format_args!(".reg .b32 {r}"));
                self.line(format_args!("mov.b32 {r}, {from}"));
                self.instruction();
                self.instruction();
                self.body.push_str("\t}\n");
            }
        }
    }

    fn condition(&mut self, depth: u32) {
        let (otherwise, end) = (self.label(), self.label());
        let guard = self.always_guard();
        self.line(format_args!("{guard}bra {otherwise}"));
        let count = 1 + self.random.below(3);
        self.statements(count, depth + 1);
        if self.random.percent(60) {
            let uni = self.one(&["", ".uni"]);
            self.line(format_args!("bra{uni} {end}"));
        }
        self.place(&otherwise);
        let count = self.random.below(3);
        self.statements(count, depth + 1);
        self.place(&end);
    }

    fn repetition(&mut self, depth: u32) {
        let number = self.loops.len();
        if number >= 3 {
            return self.instruction();
        }
        let (head, next, exit) = (self.label(), self.label(), self.label());
        let most = if number == 0 { 7 } else { 3 };
        let bound = self.a();
        self.line(format_args!("mov.b32 %b{number}, {bound}"));
        self.line(format_args!("and.b32 %b{number}, %b{number}, {most}"));
        let first = if self.random.percent(70) {
            "0".to_string()
        } else {
            let r = self.r();
            self.line(format_args!("and.b32 %t, {r}, 3"));
            "%t".to_string()
        };
        self.line(format_args!("mov.b32 %c{number}, {first}"));
        let top = self.random.percent(50);
        self.place(&head);
        let test = |w: &mut Self, to: &str, stay: bool| {
            let condition = if stay { "lt" } else { "ge" };
            w.line(format_args!(
                "setp.{condition}.s32 %q, %c{number}, %b{number}"
            ));
            w.line(format_args!("@%q bra {to}"));
        };
        if top {
            test(self, &exit, false);
        }
        self.loops.push(Loop {
            exit: exit.clone(),
            next: next.clone(),
        });
        let count = 1 + self.random.below(4);
        self.statements(count, depth + 1);
        self.loops.pop();
        self.place(&next);
        self.line(format_args!("add.s32 %c{number}, %c{number}, 1"));
        if top {
            self.line(format_args!("bra.uni {head}"));
        } else {
            test(self, &head, true);
        }
        self.place(&exit);
    }

    fn call(&mut self) {
        let (to, a, b, result) = (
            self.random.below(self.callees + 1),
            self.a(),
            self.r(),
            self.r(),
        );
        let guard = self.guard();
        let uni = if guard.is_empty() { ".uni" } else { "" };
        self.line(format_args!("mov.b32 %t, {a}"));
        self.body.push_str("\t{\n");
        self.line(".param .b32 p0");
        self.line(".param .b32 p1");
        self.line(".param .b32 answer");
        self.line("st.param.b32 [p0], %t");
        let stored = self.guard();
        self.line("st.param.b32 [p1], 1");
        self.line(format_args!("{stored}st.param.b32 [p1], {b}"));
        if to < self.callees || (!self.kernel && self.random.percent(30)) {
            self.line(format_args!("{guard}call{uni} (answer), dev{to}, (p0, p1)"));
        } else if self.random.percent(30) {
            self.line(format_args!("{guard}call (answer), elsewhere, (p0)"));
        } else {
            self.line("st.param.b32 [answer], %t");
        }
        self.line(format_args!("ld.param.b32 {result}, [answer]"));
        self.body.push_str("\t}\n");
    }

    fn barrier(&mut self) {
        let (p, q, r) = (self.p(), self.p(), self.r());
        match self.random.below(6) {
            0 => self.line("bar.sync 0"),
            5 => {
                // A run may end here.
                let g = self.always_guard();
                self.line(format_args!("{g}bar.sync 0"));
            }
            1 => self.line("barrier.sync 0"),
            2 => self.line(format_args!("bar.red.popc.u32 {r}, 0, {p}")),
            3 => self.line(format_args!("bar.red.and.pred {q}, 0, {p}")),
            _ => self.line(format_args!("bar.red.or.pred {q}, 0, {p}")),
        }
    }

    // ------------------------------------------------------------------------------------------- instructions

    fn instruction(&mut self) {
        let kinds = if self.kernel { 34 } else { 24 };
        match self.random.below(kinds) {
            0..=4 => self.arithmetic(),
            5..=7 => self.comparison(),
            8 | 9 => self.selection(),
            10 => self.predicates(),
            11 | 12 => self.conversion(),
            13 => self.wide(),
            14 => self.special(),
            15 | 16 => self.bits(),
            17 => self.packing(),
            18 | 19 => self.float(),
            20 => self.carry(),
            21 | 22 => self.warp(),
            23 => self.constant_table(),
            24..=27 => self.load(),
            28 | 29 => self.store(),
            30 => self.private(),
            31 => self.exchanged(),
            32 => self.atomic(),
            _ => self.structure(),
        }
    }

    fn arithmetic(&mut self) {
        let (g, to, a, b) = (self.guard(), self.r(), self.r(), self.a());
        match self.random.below(8) {
            0..=4 => {
                let op = self.one(&[
                    "add.s32",
                    "add.s32",
                    "sub.s32",
                    "mul.lo.s32",
                    "min.s32",
                    "max.s32",
                    "min.u32",
                    "max.u32",
                    "and.b32",
                    "or.b32",
                    "xor.b32",
                    "mul.hi.s32",
                    "mul.hi.u32",
                    "mul24.lo.s32",
                ]);
                self.line(format_args!("{g}{op} {to}, {a}, {b}"));
            }
            5 => {
                let c = self.r();
                let op = self.one(&["mad.lo.s32", "mad.lo.u32", "sad.s32"]);
                self.line(format_args!("{g}{op} {to}, {a}, {b}, {c}"));
            }
            6 => {
                let op = self.one(&["shl.b32", "shr.s32", "shr.u32"]);
                let by = if self.random.percent(70) {
                    self.random.below(6).to_string()
                } else {
                    self.r()
                };
                self.line(format_args!("{g}{op} {to}, {a}, {by}"));
            }
            _ => {
                let op = self.one(&["div.s32", "rem.s32", "div.u32", "rem.u32"]);
                let by = 1 + self.random.below(9);
                self.line(format_args!("{g}{op} {to}, {a}, {by}"));
            }
        }
    }

    fn comparison(&mut self) {
        let (g, p, a, b) = (self.guard(), self.p(), self.r(), self.a());
        let condition = self.one(&["eq", "ne", "lt", "le", "gt", "ge"]);
        let ty = self.one(&["s32", "s32", "u32"]);
        match self.random.below(6) {
            0..=2 => self.line(format_args!("{g}setp.{condition}.{ty} {p}, {a}, {b}")),
            3 => {
                let q = self.p();
                let pair = if q == p { p } else { format!("{p}|{q}") };
                self.line(format_args!("{g}setp.{condition}.{ty} {pair}, {a}, {b}"));
            }
            4 => {
                let (c, q) = (self.signed_p(), self.p());
                let pair = if q == p { p } else { format!("{p}|{q}") };
                let op = self.one(&["and", "or", "xor"]);
                self.line(format_args!(
                    "{g}setp.{condition}.{op}.{ty} {pair}, {a}, {b}, {c}"
                ));
            }
            _ => {
                let to = self.r();
                self.line(format_args!("{g}set.{condition}.u32.{ty} {to}, {a}, {b}"));
            }
        }
    }

    fn selection(&mut self) {
        let (g, to, a, b, p) = (self.guard(), self.r(), self.a(), self.a(), self.p());
        match self.random.below(4) {
            0 | 1 => self.line(format_args!("{g}selp.b32 {to}, {a}, {b}, {p}")),
            2 => {
                let c = self.r();
                self.line(format_args!("{g}slct.s32.s32 {to}, {a}, {b}, {c}"));
            }
            _ => self.line(format_args!("{g}mov.b32 {to}, {a}")),
        }
    }

    fn predicates(&mut self) {
        let (g, to, a, b) = (self.guard(), self.p(), self.p(), self.p());
        match self.random.below(4) {
            0 => self.line(format_args!("{g}mov.pred {to}, {a}")),
            1 => self.line(format_args!("{g}not.pred {to}, {a}")),
            _ => {
                let op = self.one(&["and", "or", "xor"]);
                self.line(format_args!("{g}{op}.pred {to}, {a}, {b}"));
            }
        }
    }

    fn conversion(&mut self) {
        let (g, r, s, d, h) = (self.guard(), self.r(), self.r(), self.d(), self.h());
        match self.random.below(9) {
            0 => self.line(format_args!("{g}cvt.s64.s32 {d}, {r}")),
            1 => self.line(format_args!("{g}cvt.u64.u32 {d}, {r}")),
            2 | 3 => self.line(format_args!("{g}cvt.u32.u64 {r}, {d}")),
            4 => self.line(format_args!("{g}cvt.s32.s8 {r}, {s}")),
            5 => self.line(format_args!("{g}cvt.u16.u32 {h}, {r}")),
            6 => self.line(format_args!("{g}cvt.u32.u16 {r}, {h}")),
            7 => self.line(format_args!("{g}cvt.s32.s16 {r}, {h}")),
            _ => self.line(format_args!("{g}cvt.sat.u8.s32 {r}, {s}")),
        }
    }

    fn wide(&mut self) {
        let (g, to, a, b, r, c) = (
            self.guard(),
            self.d(),
            self.d(),
            self.d(),
            self.r(),
            self.a(),
        );
        match self.random.below(6) {
            0 => self.line(format_args!("{g}mul.wide.s32 {to}, {r}, {c}")),
            1 => self.line(format_args!("{g}mul.wide.u32 {to}, {r}, {c}")),
            2 => self.line(format_args!("{g}mad.wide.s32 {to}, {r}, {c}, {a}")),
            3 => {
                let p = self.p();
                self.line(format_args!("{g}selp.b64 {to}, {a}, {b}, {p}"));
            }
            4 => {
                let by = self.random.below(34);
                let op = self.one(&["shl.b64", "shr.s64", "shr.u64"]);
                self.line(format_args!("{g}{op} {to}, {a}, {by}"));
            }
            _ => {
                let op = self.one(&["add.s64", "sub.s64", "and.b64", "mul.lo.s64", "min.s64"]);
                self.line(format_args!("{g}{op} {to}, {a}, {b}"));
            }
        }
    }

    fn special(&mut self) {
        let (g, to) = (self.guard(), self.r());
        let name = self.one(&[
            "%tid.x",
            "%tid.y",
            "%tid.z",
            "%ntid.x",
            "%ntid.y",
            "%ctaid.x",
            "%nctaid.x",
            "%laneid",
            "%warpid",
            "%lanemask_lt",
            "%lanemask_eq",
            "%clock",
            "WARP_SZ",
        ]);
        self.line(format_args!("{g}mov.u32 {to}, {name}"));
    }

    fn bits(&mut self) {
        let (g, to, a, b, c) = (self.guard(), self.r(), self.r(), self.a(), self.r());
        match self.random.below(8) {
            0 => {
                let op = self.one(&["popc.b32", "clz.b32", "brev.b32", "bfind.u32", "not.b32"]);
                self.line(format_args!("{g}{op} {to}, {a}"));
            }
            1 => {
                let op = self.one(&["neg.s32", "abs.s32", "cnot.b32"]);
                self.line(format_args!("{g}{op} {to}, {a}"));
            }
            2 => {
                let (at, length) = (self.random.below(8), 1 + self.random.below(8));
                let op = self.one(&["bfe.s32", "bfe.u32"]);
                self.line(format_args!("{g}{op} {to}, {a}, {at}, {length}"));
            }
            3 => {
                let (at, length) = (self.random.below(8), 1 + self.random.below(8));
                self.line(format_args!("{g}bfi.b32 {to}, {a}, {b}, {at}, {length}"));
            }
            4 => {
                let table = self.random.below(256);
                self.line(format_args!("{g}lop3.b32 {to}, {a}, {b}, {c}, {table}"));
            }
            5 => {
                let selector = self.random.below(0x8000);
                self.line(format_args!("{g}prmt.b32 {to}, {a}, {b}, {selector}"));
            }
            6 => {
                let by = self.random.below(40);
                let op = self.one(&["shf.l.wrap", "shf.r.wrap", "shf.l.clamp", "shf.r.clamp"]);
                self.line(format_args!("{g}{op}.b32 {to}, {a}, {c}, {by}"));
            }
            _ => self.line(format_args!("{g}dp4a.s32.s32 {to}, {a}, {b}, {c}")),
        }
    }

    fn packing(&mut self) {
        let (g, r, s, d, h, i) = (
            self.guard(),
            self.r(),
            self.r(),
            self.d(),
            self.h(),
            self.h(),
        );
        match self.random.below(4) {
            0 => self.line(format_args!("{g}mov.b64 {d}, {{{r}, {s}}}")),
            1 if r != s => self.line(format_args!("{g}mov.b64 {{{r}, {s}}}, {d}")),
            2 if h != i => self.line(format_args!("{g}mov.b32 {{{h}, {i}}}, {r}")),
            _ => self.line(format_args!("{g}mov.b32 {r}, {{{h}, {i}}}")),
        }
    }

    fn float(&mut self) {
        let (g, to, a, b, r) = (self.guard(), self.f(), self.f(), self.f(), self.r());
        match self.random.below(8) {
            0 => self.line(format_args!("{g}cvt.rn.f32.s32 {to}, {r}")),
            1 => self.line(format_args!("{g}cvt.rzi.s32.f32 {r}, {a}")),
            2 => {
                let p = self.p();
                let condition = self.one(&["lt", "geu", "neu", "num"]);
                self.line(format_args!("{g}setp.{condition}.f32 {p}, {a}, {b}"));
            }
            3 => {
                let p = self.p();
                self.line(format_args!("{g}selp.f32 {to}, {a}, {b}, {p}"));
            }
            4 => self.line(format_args!("{g}fma.rn.f32 {to}, {a}, {b}, {to}")),
            5 => self.line(format_args!("{g}mov.b32 {r}, {a}")),
            6 => self.line(format_args!("{g}cvt.f64.f32 %g0, {a}")),
            _ => {
                let op = self.one(&["add.f32", "sub.f32", "mul.f32", "max.f32", "min.f32"]);
                self.line(format_args!("{g}{op} {to}, {a}, {b}"));
            }
        }
    }

    fn carry(&mut self) {
        let (g, i) = (self.guard(), self.guard());
        let list: Vec<String> = (0..6).map(|_| self.r()).collect();
        let [a, b, c, d, e, f] = &list[..] else {
            return;
        };
        self.line(format_args!("{g}add.cc.u32 {a}, {b}, {c}"));
        self.line(format_args!("{i}addc.u32 {d}, {e}, {f}"));
    }

    fn constant_table(&mut self) {
        let (g, to, r) = (self.guard(), self.r(), self.r());
        self.line(format_args!("and.b32 %t, {r}, 15"));
        self.line("shl.b32 %t, %t, 2");
        self.line("cvt.u64.u32 %x, %t");
        self.line("mov.u64 %d3, table");
        self.line("add.s64 %x, %x, %d3");
        self.line(format_args!("{g}ld.const.b32 {to}, [%x]"));
    }

    fn warp(&mut self) {
        let (g, r, s, p, q) = (self.guard(), self.r(), self.r(), self.p(), self.p());
        let whole = self.converged && self.full_warps && self.random.percent(60);
        let m = if whole {
            "-1"
        } else {
            self.line("activemask.b32 %m");
            "%m"
        };
        match self.random.below(9) {
            0..=2 => {
                let op = self.one(&["all", "any", "uni"]);
                let source = self.signed_p();
                let source = if source.starts_with('!') { p } else { source };
                self.line(format_args!("{g}vote.sync.{op}.pred {q}, {source}, {m}"));
            }
            3 => self.line(format_args!("{g}vote.sync.ballot.b32 {r}, {p}, {m}")),
            4 => self.line(format_args!("{g}match.any.sync.b32 {r}, {s}, {m}")),
            5 => self.line(format_args!("{g}match.all.sync.b32 {r}|{p}, {s}, {m}")),
            6 => {
                let op = self.one(&["add.s32", "min.s32", "max.u32", "or.b32"]);
                self.line(format_args!("{g}redux.sync.{op} {r}, {s}, {m}"));
            }
            _ => {
                let mode = self.one(&["idx", "up", "down", "bfly"]);
                let lane = if self.random.percent(60) {
                    self.random.below(33).to_string()
                } else {
                    self.r()
                };
                let segment = (32 - (1 << self.random.below(6))) << 8;
                let clamp = if mode == "up" { 0 } else { 31 };
                let range = if self.random.percent(50) {
                    format!("|{p}")
                } else {
                    String::new()
                };
                self.line(format_args!(
                    "{g}shfl.sync.{mode}.b32 {r}{range}, {s}, {lane}, {}, {m}",
                    segment | clamp
                ));
            }
        }
    }

    // ------------------------------------------------------------------------------------------- memory

    /// `%x` is the address of a group of 16 bytes in the table.
    fn table_address(&mut self) {
        let r = self.r();
        self.line(format_args!("and.b32 %t, {r}, 15"));
        let op = self.one(&["mul.wide.u32 %x, %t, 16", "mul.wide.s32 %x, %t, 16"]);
        self.line(op);
        self.line("add.s64 %x, %x, %data");
    }
    fn load(&mut self) {
        self.table_address();
        let (g, a, b) = (self.guard(), self.r(), self.r());
        let nc = self.one(&["", ".nc"]);
        match self.random.below(6) {
            0 | 1 => {
                let at = 4 * self.random.below(4);
                self.line(format_args!("{g}ld.global{nc}.u32 {a}, [%x+{at}]"));
            }
            2 if a != b => self.line(format_args!("{g}ld.global{nc}.v2.u32 {{{a}, {b}}}, [%x+8]")),
            3 => self.line(format_args!(
                "{g}ld.global{nc}.v4.u32 {{{a}, _, _, _}}, [%x]"
            )),
            4 => self.line(format_args!("{g}ld.global{nc}.s8 {a}, [%x+3]")),
            _ => {
                let (f, h) = (self.f(), self.f());
                let second = if f == h { "_".to_string() } else { h };
                self.line(format_args!(
                    "{g}ld.global{nc}.v2.f32 {{{f}, {second}}}, [%x]"
                ));
            }
        }
    }
    fn store(&mut self) {
        let (g, a, b, p) = (self.guard(), self.r(), self.r(), self.p());
        match self.random.below(5) {
            0 => self.line(format_args!("{g}st.global.u32 [%own+32], {a}")),
            1 => self.line(format_args!("{g}st.global.v2.u32 [%own+40], {{{a}, {b}}}")),
            2 => self.line(format_args!(
                "{g}st.global.v4.u32 [%own+32], {{{a}, {b}, 1, {b}}}"
            )),
            3 => {
                self.line(format_args!("selp.b32 %t, {a}, {b}, {p}"));
                self.line(format_args!("{g}st.global.u16 [%own+34], %t"));
            }
            _ => {
                let at = 4 * (8 + self.random.below(6));
                self.line(format_args!("{g}ld.global.u32 {a}, [%own+{at}]"));
            }
        }
    }
    fn private(&mut self) {
        let (g, a, b) = (self.guard(), self.r(), self.r());
        self.line(format_args!("and.b32 %t, {a}, 7"));
        self.line("shl.b32 %t, %t, 2");
        self.line("mov.u32 %s, mine");
        self.line("add.s32 %s, %s, %t");
        if self.random.percent(50) {
            self.line(format_args!("{g}st.local.b32 [%s], {b}"));
        } else {
            self.line(format_args!("{g}ld.local.b32 {b}, [%s]"));
        }
    }
    fn exchanged(&mut self) {
        let (g, r, to) = (self.guard(), self.r(), self.r());
        let at = 4 * self.random.below(4);
        self.line(format_args!("and.b32 %t, {r}, 31"));
        self.line("shl.b32 %t, %t, 4");
        self.line("mov.u32 %s, exchanged");
        self.line("add.s32 %s, %s, %t");
        if self.random.percent(30) {
            let other = self.r();
            let other = if other == to { "_".into() } else { other };
            self.line(format_args!(
                "{g}ld.shared.v2.u32 {{{to}, {other}}}, [%s+8]"
            ));
        } else {
            self.line(format_args!("{g}ld.shared.u32 {to}, [%s+{at}]"));
        }
    }
    fn atomic(&mut self) {
        let (g, r, a) = (self.guard(), self.r(), self.a());
        match self.random.below(4) {
            0 => self.line(format_args!("{g}red.global.add.u32 [counter], 1")),
            1 => self.line(format_args!("{g}atom.global.add.u32 {r}, [counter], 1")),
            2 => self.line(format_args!("{g}atom.global.exch.b32 {r}, [%own+56], {a}")),
            _ => self.line(format_args!("{g}atom.global.max.s32 {r}, [%own+60], {a}")),
        }
    }
    fn structure(&mut self) {
        let (g, a, b) = (self.guard(), self.r(), self.r());
        let at = 4 * self.random.below(6);
        if a != b && self.random.percent(50) {
            self.line(format_args!("{g}ld.param.v2.u32 {{{a}, {b}}}, [group+8]"));
        } else {
            self.line(format_args!("{g}ld.param.u32 {a}, [group+{at}]"));
        }
    }
}
