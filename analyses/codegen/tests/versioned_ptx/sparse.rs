//! Kernels over sparse data: values that are often zero are multiplied by others that are loaded.
//!
//! ```text
//! ld.global.u32 %r7, [%intst+8];  mov.u32 %c0, 0;  $L1: @%p1 ld.global.u32 %r9, [%intsq0];
//! mad.lo.s32 %r2, %r7, %r9, %r2;  st.global.u32 [%own+12], %r9;  add.s32 %c0, %c0, 1; ...
//! ```
//!
//! A block interleaves streams of statements. A stream has a value that may be zero, products with it and sums
//! of those, over loads of all widths and spaces, and what becomes of them: stores, accumulators, addresses,
//! conditions, atomics, or a later statement that reads a factor once more. Blocks stand in branches, loops, branch
//! tables and inner scopes, between calls, barriers and shuffles. Registers are written anew or again, as the kernel
//! has it.
//!
//! Every register is written before it is read; addresses are masked, or come from tables of places; a lane
//! stores to words of its own, and what lanes exchange is between two barriers. The results of atomics do not depend on
//! the order of lanes.

mod control;
mod kinds;
mod streams;

use kinds::{Double, Float, Half, KINDS, Kind, Truth, Wide, Word};
use oracle::interp::{Argument, Buffer, Launch};
use oracle::random::Random;
use std::fmt::Write;
use streams::Stream;

struct Loop {
    /// All lanes stay together: there is no way out from within.
    together: bool,
    next: String,
    exit: String,
}

/// What the functions of a file have in common.
#[derive(Clone, Copy)]
struct Style {
    threads: u32,
    finite: bool,
    callees: u32,
    odd: u32,
    tabs: bool,
}

/// Parameters of the kernel.
const POINTERS: [&str; 9] = [
    "ints", "reals", "wides", "doubles", "shorts", "index", "links", "out", "count",
];

struct Writer {
    random: Random,
    body: String,
    /// Registers of a kind that were named so far, and those that have a value here.
    named: [u32; 6],
    live: [Vec<String>; 6],
    /// Accumulators, of which the last words are stored at the end.
    sums: [Vec<String>; 6],
    labels: u32,
    loops: Vec<Loop>,
    /// All lanes of the block are here.
    together: bool,
    /// Some may have ended.
    ended: bool,
    /// Warps have 32 lanes.
    full: bool,
    callees: u32,
    /// Calls of `work` that may still be written.
    works: u32,
    /// This is `work`.
    device: bool,
    /// Floats stay finite and are no negative zeros.
    finite: bool,
    /// Percentages: registers that are written again, guards, odd layout; an opcode is followed by a tab.
    reused: u32,
    guarded: u32,
    odd: u32,
    tabs: bool,
}

impl Writer {
    // ------------------------------------------------------------------------------------------------- text

    fn line(&mut self, text: &str) {
        let start = if self.body.ends_with('\n') { '\t' } else { ' ' };
        let opcode = text.match_indices(' ').nth(text.starts_with('@').into());
        let text = match opcode {
            Some((at, _)) if self.tabs => format!("{} \t{}", &text[..at], &text[at + 1..]),
            _ => text.to_string(),
        };
        let mut ends = ["\n"; 8];
        if self.random.percent(self.odd) {
            ends = [
                "",
                "",
                "",
                " // a * b; c\n",
                "\n\n",
                "\n\t/* @%p1 ld.global.u32 %r1, [%ints]; */\n",
                "\n\t.loc\t1 12 3\n",
                "\n\t/* }\n\t */ ",
            ];
        }
        let end = self.pick(&ends);
        // A statement of two lines, or with a comment or spaces within.
        let broken = self.random.percent(self.odd / 4);
        let (from, to) = *self.random.pick(&[
            (", ", ",\n\t\t"),
            (", ", ", /* ; */ "),
            (", ", ","),
            (" ", "\n\t\t"),
            ("+", " + "),
            ("]", " ] "),
        ]);
        let text = text.replacen(from, to, broken.into());
        let _ = write!(self.body, "{start}{text};{end}");
    }
    fn lines(&mut self, lines: &[String]) {
        lines.iter().for_each(|line| self.line(line));
    }
    fn label(&mut self) -> String {
        self.labels += 1;
        format!("$L{}", self.labels)
    }
    fn place(&mut self, label: &str) {
        let end = if self.random.percent(self.odd) {
            ""
        } else {
            "\n"
        };
        let _ = write!(self.body, "{label}:{end}");
    }
    fn brace(&mut self, brace: &str) {
        let space = if self.random.percent(self.odd) {
            " "
        } else {
            "\n"
        };
        let _ = write!(self.body, "{space}{brace}{space}");
    }
    fn pick<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.random.below(list.len() as u32) as usize]
    }
    fn kind(&mut self) -> Kind {
        let roll = self.random.below(20) as usize;
        let kinds = [3, 10, 13, 17, 19, 20];
        KINDS[kinds.iter().position(|&below| roll < below).unwrap_or(1)]
    }

    // -------------------------------------------------------------------------------------------- registers

    fn fresh(&mut self, kind: Kind) -> String {
        self.named[kind as usize] += 1;
        format!("{}{}", kind.prefix(), self.named[kind as usize])
    }
    /// A register that has a value already.
    fn old(&mut self, kind: Kind, s: &Stream) -> String {
        let made = s.made.iter().filter(|made| made.0 == kind);
        let mut names: Vec<&String> = made.map(|made| &made.1).collect();
        let live = &self.live[kind as usize];
        // Those of the stream and the latest ones are read more often than the others.
        if names.is_empty() || self.random.percent(40) {
            names.extend(&live[live.len().saturating_sub(6)..]);
        }
        if self.random.percent(30) {
            names.extend(live);
        }
        names[self.random.below(names.len() as u32) as usize].clone()
    }
    fn sum(&mut self, kind: Kind) -> String {
        self.random.pick(&self.sums[kind as usize]).clone()
    }
    fn guard(&mut self) -> String {
        if !self.random.percent(self.guarded) {
            return String::new();
        }
        let not = self.pick(&["", "!"]);
        let p = self.random.pick(&self.live[Truth as usize]).clone();
        format!("@{not}{p} ")
    }
    /// A register to write, and the guard of the statement that does.
    fn target(&mut self, kind: Kind, s: &mut Stream) -> (String, String) {
        if self.random.percent(self.reused) {
            return (self.guard(), self.old(kind, s));
        }
        let name = self.fresh(kind);
        s.made.push((kind, name.clone()));
        (String::new(), name)
    }
    /// In finite kernels numbers that go round loops do not grow without an end.
    fn clamp(&self, kind: Kind, name: &str) -> Option<String> {
        match kind {
            Float if self.finite => Some(format!("min.f32 {name}, {name}, 0f40000000")),
            Double if self.finite => Some(format!("min.f64 {name}, {name}, 0d4000000000000000")),
            _ => None,
        }
    }

    /// What names of the body need before it.
    fn prologue(&mut self, threads: u32) -> String {
        let body = std::mem::take(&mut self.body);
        self.line("mov.u32 %t, %tid.x");
        self.line("ld.param.u32 %n, [n]");
        for (table, stride) in [
            ("ints", 16),
            ("reals", 16),
            ("wides", 16),
            ("doubles", 16),
            ("shorts", 8),
            ("index", 16),
            ("links", 16),
            ("count", 16),
        ] {
            if !body.contains(&format!("%{table}")) && table != "ints" {
                continue;
            }
            self.line(&format!("ld.param.u64 %{table}, [{table}]"));
            if self.random.percent(50) {
                self.line(&format!("cvta.to.global.u64 %{table}, %{table}"));
            }
            self.line(&format!("mad.wide.u32 %{table}t, %t, {stride}, %{table}"));
            if body.contains(&format!("%{table}g")) {
                self.line(&format!("cvta.global.u64 %{table}g, %{table}t"));
            }
        }
        for line in [
            "ld.param.u64 %own, [out]",
            "mov.u32 %m, %ctaid.x",
            &format!("mad.lo.s32 %m, %m, {threads}, %t"),
            "mad.wide.u32 %own, %m, 512, %own",
            "cvta.global.u64 %owng, %own",
            "and.b32 %k, %t, 1",
            "mov.u32 %z, 0",
            "cvt.rn.f32.u32 %fk, %k",
            "mov.f32 %fz, 0f00000000",
            "cvt.rn.f64.u32 %dk, %k",
            "mov.f64 %dz, 0d0000000000000000",
        ] {
            self.line(line);
        }
        for (space, base, shown) in [(".local", "stack", "stack"), (".shared", "%mine", "%mine")] {
            if !body.contains(shown) {
                continue;
            }
            if base == "%mine" {
                self.line("mov.u32 %mine, shelf");
                self.line("mad.lo.s32 %mine, %t, 128, %mine");
            }
            for at in (0..128).step_by(16) {
                let (ty, parts) = match at {
                    0..64 => ("v4.u32", "{%z, %k, %t, %z}"),
                    64..96 => ("v4.f32", "{%fk, %fz, %fk, %fz}"),
                    _ => ("v2.f64", "{%dk, %dz}"),
                };
                self.line(&format!("st{space}.{ty} [{base}+{at}], {parts}"));
            }
        }
        if body.contains("[%swap]") {
            for line in [
                "mov.u32 %other, swap",
                "mad.lo.s32 %swap, %t, 4, %other",
                "add.s32 %m, %t, 1",
                &format!("rem.u32 %m, %m, {threads}"),
                "mad.lo.s32 %other, %m, 4, %other",
            ] {
                self.line(line);
            }
        }
        if body.contains("[met+") {
            for line in [
                "ld.global.u32 %m, [%intst+12]",
                "mov.u32 %b0, met",
                "mad.lo.s32 %b0, %t, 4, %b0",
                "st.shared.u32 [%b0], %m",
                "bar.sync 0",
            ] {
                self.line(line);
            }
        }
        for kind in KINDS {
            let live = self.live[kind as usize].clone();
            let kept = self.sums[kind as usize].clone();
            for (number, name) in live.iter().chain(&kept).enumerate() {
                let own = format!("mul.lo.s32 @, %t, {}", self.random.below(4) * number as u32);
                let values: [&str; 2] = match kind {
                    Half => ["cvt.u16.u32 @, %k", "mov.u16 @, 0"],
                    Word => [&own, "mov.u32 @, 0"],
                    Wide => ["cvt.u64.u32 @, %t", "mov.u64 @, 0"],
                    Float => ["mov.f32 @, %fk", "mov.f32 @, 0f00000000"],
                    Double => ["mov.f64 @, %dk", "mov.f64 @, 0d0000000000000000"],
                    Truth => ["setp.ne.s32 @, %k, 0", "setp.gt.s32 @, %t, 8"],
                };
                let value = self.pick(&values).replace('@', name);
                self.line(&value);
            }
        }
        std::mem::replace(&mut self.body, body)
    }

    /// The last words of accumulators, and some registers.
    fn epilogue(&mut self) {
        let kinds = [Word, Wide, Float, Double, Half];
        let base: u32 = if self.device { 256 } else { 128 };
        for (at, kind) in kinds.into_iter().enumerate() {
            if self.random.percent(25) {
                let name = self.old(kind, &Stream::default());
                let ty = self.types(kind, true);
                self.line(&format!(
                    "st.global.{ty} [%own+{}], {name}",
                    base + 72 + 8 * at as u32
                ));
            }
        }
        self.place("\n$END");
        let mut at = base;
        for kind in [Wide, Double, Word, Float, Half, Truth] {
            for name in self.sums[kind as usize].clone() {
                let (mut ty, mut value) = (self.types(kind, true), name);
                if kind == Truth {
                    self.line(&format!("selp.u32 %m, 7, 0, {value}"));
                    (ty, value) = ("u32", "%m".to_string());
                }
                self.line(&format!("st.global.{ty} [%own+{at}], {value}"));
                at += kind.bytes().max(4);
            }
        }
        self.line("ret");
    }
}

/// `answer = dev(a, b, p)`.
fn device(random: &mut Random, number: u32) -> String {
    let middle = *random.pick(&[
        "mul.lo.s32 %r3, %r1, %r2;",
        "ld.global.u32 %r4, [%rd1+8];\n\tmad.lo.s32 %r3, %r1, %r4, %r2;",
        "mov.u32 %r3, 0;\n\tsetp.eq.s32 %p1, %r1, 0;\n\t@%p1 bra $D;\n\tld.global.u32 %r4, [%rd1+8];\n\t\
         mul.lo.s32 %r3, %r4, %r2;\n$D:",
        "add.s32 %r3, %r2, 1;",
        "ld.global.u32 %r4, [%rd1];\n\tmul.lo.s32 %r5, %r1, %r2;\n\tmul.lo.s32 %r3, %r5, %r4;",
        "ld.global.u32 %r4, [%rd1];\n\tld.global.u32 %r5, [%rd1+8];\n\tmul.lo.s32 %r3, %r4, %r5;",
        "ld.global.u32 %r4, [%rd1];\n\tand.b32 %r5, %r2, 7;\n\tmad.wide.u32 %rd1, %r5, 4, %rd1;\n\t\
         ld.global.u32 %r5, [%rd1];\n\tmad.lo.s32 %r3, %r4, %r5, %r1;",
        "setp.ne.s32 %p1, %r1, 0;\n\tmov.u32 %r4, 1;\n\t@%p1 ld.global.u32 %r4, [%rd1+4];\n\tadd.s32 %r3, %r2, %r4;",
    ]);
    let (head, first, last) = if number.is_multiple_of(2) {
        (
            format!("(.param .b32 rv) dev{number}(.param .b32 a, .param .b32 b, .param .b64 p)"),
            "\t.reg .b32 %r<6>;\n\t.reg .b64 %rd<2>;\n\tld.param.b32 %r1, [a];\n\tld.param.b32 %r2, [b];\n\t\
             ld.param.b64 %rd1, [p];\n",
            "\n\tst.param.b32 [rv], %r3;",
        )
    } else {
        let head =
            format!("(.reg .b32 %r3) dev{number}(.reg .b32 %r1, .reg .b32 %r2, .reg .b64 %rd1)");
        (head, "\t.reg .b32 %r4, %r5;\n", "")
    };
    format!(".func {head}\n{{\n\t.reg .pred %p<2>;\n{first}\t{middle}{last}\n\tret;\n}}\n")
}

/// Returns whether floats of the kernel stay finite and without a negative zero, so that a product with zero is zero.
pub(crate) fn is_finite(seed: u64) -> bool {
    seed.is_multiple_of(3)
}

/// Words of which a share is zero.
fn words(random: &mut Random, kind: Kind, count: usize, finite: bool) -> Vec<u8> {
    let zeros = 20 + random.below(76);
    let size = kind.bytes() as usize;
    let mut bytes = Vec::new();
    for _ in 0..count {
        let small = 1 + u64::from(random.below(9));
        let value = match kind {
            _ if random.percent(zeros) => 0,
            Float if finite || random.percent(80) => u64::from((small as f32 / 8.0).to_bits()),
            Double if finite || random.percent(80) => (small as f64 / 8.0).to_bits(),
            Float => {
                let odd = [-1.5, -0.0, f32::INFINITY, f32::NAN, 1e-40, -3e38];
                u64::from(random.pick(&odd).to_bits())
            }
            Double => random
                .pick(&[-1.5, -0.0, f64::INFINITY, f64::NAN, 1e-310])
                .to_bits(),
            _ => match random.below(10) {
                0 => small << (8 * size - 8),
                1 => random.draw(),
                2 => small << (4 * size),
                3 => u64::MAX,
                _ => small,
            },
        };
        bytes.extend_from_slice(&value.to_le_bytes()[..size]);
    }
    bytes
}

/// The parameters of the kernel and of `work`.
fn parameters(pointer: &str) -> String {
    let mut list = String::new();
    for name in POINTERS {
        let _ = writeln!(list, "\t.param .u64 {pointer}{name},");
    }
    list + "\t.param .u32 n,\n\t.param .u64 w,\n\t.param .f32 x\n"
}

/// The braces of the kernel, or of the function `work` that does the same kind of things.
fn function(random: &mut Random, style: Style, device: bool, works: u32) -> String {
    let Style {
        threads,
        finite,
        callees,
        odd,
        tabs,
    } = style;
    let mut w = Writer {
        body: String::new(),
        named: [0; 6],
        live: Default::default(),
        sums: Default::default(),
        labels: 0,
        loops: Vec::new(),
        together: !device,
        ended: false,
        full: threads.is_multiple_of(32),
        callees,
        works,
        device,
        finite,
        reused: *random.pick(&[0, 5, 20, 50]),
        guarded: *random.pick(&[0, 5, 15]),
        odd,
        tabs,
        random: Random::new(random.draw()),
    };
    for kind in KINDS {
        w.live[kind as usize] = (0..3).map(|_| w.fresh(kind)).collect();
        w.sums[kind as usize] = (0..2 + u32::from(kind == Word))
            .map(|_| w.fresh(kind))
            .collect();
    }
    let start = w.live.clone();
    let count = 1 + w.random.below(if device { 3 } else { 6 });
    w.statements(count, u32::from(device));
    w.epilogue();
    w.live = start;
    let prologue = w.prologue(threads);
    let mut text = String::from("{\n");
    // Operations on halves want registers of bits.
    let unsigned = finite && w.random.percent(40);
    for kind in KINDS {
        let ty = [
            ["b16", "b32", "b64", "f32", "f64", "pred"],
            ["u16", "u32", "u64", "f32", "f64", "pred"],
        ][usize::from(unsigned)][kind as usize];
        let count = w.named[kind as usize] + 1;
        let _ = writeln!(text, "\t.reg .{ty} {}<{count}>;", kind.prefix());
    }
    for table in POINTERS {
        let _ = writeln!(
            text,
            "\t.reg .b64 %{table}, %{table}t, %{table}g, %{table}q<2>;"
        );
    }
    let _ = writeln!(
        text,
        "\t.reg .b32 %t, %n, %m, %k, %z, %mine, %swap, %other, %c<2>, %b<2>;\n\t.reg .b64 %addr, %own, %owng;\n\
         \t.reg .f32 %fk, %fz;\n\t.reg .f64 %dk, %dz;\n\t.local .align 16 .b8 stack[128];\n\
         \t.shared .align 16 .b8 shelf[{}];\n\t.reg .v2 .b32 %both;\n\t.shared .align 4 .b32 met[64], swap[64];\n{prologue}\n{}}}",
        128 * threads,
        w.body
    );
    text
}

/// A file with the entry `k`, and a launch of it.
pub(crate) fn source(seed: u64) -> (String, Launch) {
    let mut random = Random::new(seed ^ 0x7370_6172_7365);
    let threads = *random.pick(&[32, 32, 32, 64, 40]);
    let grid = 1 + random.below(5) / 4;
    let finite = is_finite(seed);
    let callees = random.below(3);
    let given: Vec<String> = (0..64)
        .map(|_| (random.below(2) * random.below(12)).to_string())
        .collect();
    let mut text = format!(
        ".version 7.8\n.target sm_80\n.address_size 64\n\n.const .align 4 .b32 fixed[32] = {{{}}};\n\
         .global .align 4 .b32 given[32] = {{{}}};\n",
        given[..32].join(", "),
        given[32..].join(", ")
    );
    for number in 0..callees {
        text.push_str(&device(&mut random, number));
    }
    let pointer = random.pick(&["", ".ptr .global .align 16 "]).to_string();
    let buffers: Vec<Buffer> = {
        let kinds = [Word, Float, Wide, Double, Half];
        let mut tables: Vec<Vec<u8>> = kinds
            .into_iter()
            .map(|kind| words(&mut random, kind, 4096 / kind.bytes() as usize, finite))
            .collect();
        let zeros = 20 + random.below(76);
        let mut places = |step: u32| {
            if random.percent(zeros) {
                0
            } else {
                step * random.below(64)
            }
        };
        tables.push((0..1024).flat_map(|_| places(1).to_le_bytes()).collect());
        tables.push(
            (0..512)
                .flat_map(|_| u64::from(places(8)).to_le_bytes())
                .collect(),
        );
        let mut own = Vec::new();
        for _ in 0..threads * grid {
            own.extend(words(&mut random, Word, 16, finite));
            own.extend(words(&mut random, Float, 8, finite));
            own.extend(words(&mut random, Double, 4, finite));
            own.resize(own.len() + 384, 0);
        }
        tables.extend([own, vec![0; 16]]);
        tables.into_iter().map(Buffer::global).collect()
    };
    let mut launch = Launch::new(1);
    launch.seed = seed;
    launch.block = [threads, 1, 1];
    launch.grid = [grid, 1, 1];
    let pointers = (0..buffers.len()).map(|buffer| Argument::Pointer { buffer, offset: 0 });
    launch.parameters = pointers.collect();
    let scalars = [u64::from(random.below(6)), random.draw() % 3];
    launch.parameters.extend(scalars.map(Argument::Bits));
    launch
        .parameters
        .push(Argument::Float(f64::from(random.below(3)) / 2.0));
    launch.buffers = buffers;

    let works = random.below(5) / 3;
    let style = Style {
        threads,
        finite,
        callees,
        odd: *random.pick(&[0, 8, 30]),
        tabs: random.percent(50),
    };
    if works > 0 {
        let body = function(&mut random, style, true, 0);
        let _ = write!(text, "\n.func work(\n{})\n{body}", parameters(""));
    }
    let body = function(&mut random, style, false, works);
    let bound = random.pick(&["", ".maxntid 64, 1, 1\n"]);
    let list = parameters(&pointer);
    let _ = write!(text, "\n.visible .entry k(\n{list})\n{bound}{body}");
    if random.percent(8) {
        // Names without a percent sign.
        let special = ["tid", "ctaid", "laneid"];
        text = text.replace('%', "_");
        for name in special {
            text = text.replace(&format!("_{name}"), &format!("%{name}"));
        }
    }
    if random.percent(5) {
        // Predicates that are named as those of a rewriting are.
        text = text.replace("%p", "%lskip");
    }
    if style.odd > 0 {
        text.push_str(".file\t1 \"sparse.cu\"\n");
    }
    if random.percent(5) {
        text = text.replace('\n', "\r\n");
    }
    (text, launch)
}
