//! Kernels whose lanes mostly stay together: values that are the same in all of them are written again and again, in loops and on
//! ways that all lanes take; some lanes leave others now and then, or end.

use oracle::interp::{Argument, Buffer, Launch};
use oracle::random::Random;
use std::fmt::Write;

/// Registers of values that lanes agree on, and of others.
const AGREED: u32 = 12;
const OWN: u32 = 8;
/// The most loops around a statement.
const DEPTH: u32 = 2;

struct Writer {
    random: Random,
    body: String,
    labels: u32,
    /// Lanes may end.
    ends: bool,
}

impl Writer {
    fn line(&mut self, line: &str) {
        let _ = writeln!(self.body, "\t{line};");
    }
    fn agreed(&mut self) -> String {
        format!("%u{}", self.random.below(AGREED))
    }
    fn own(&mut self) -> String {
        format!("%v{}", self.random.below(OWN))
    }
    fn label(&mut self) -> u32 {
        self.labels += 1;
        self.labels
    }

    /// One instruction on values that lanes agree on, or on those of each lane. Where lanes are apart, only the latter.
    fn instruction(&mut self, together: bool) {
        let (a, b, own) = (self.agreed(), self.agreed(), self.own());
        let factor = 3 + 2 * self.random.below(20);
        let line = match self.random.below(if together { 6 } else { 3 }) {
            0 => format!("mad.lo.s32 {own}, {own}, {factor}, {a}"),
            1 => format!("ld.global.u32 {own}, [%data+{}]", 4 * factor),
            2 => format!("add.s32 {own}, {}, {own}", self.own()),
            3 => format!("xor.b32 {a}, {b}, {}", self.agreed()),
            4 => format!("mad.lo.s32 {a}, {b}, {factor}, {}", self.agreed()),
            _ => format!("sub.s32 {a}, {}, {b}", self.agreed()),
        };
        self.line(&line);
    }

    fn statements(&mut self, count: u32, depth: u32) {
        for _ in 0..count {
            match self.random.below(12) {
                0 if depth < DEPTH => {
                    let (label, rounds) = (self.label(), 1 + self.random.below(4));
                    self.line(&format!("mov.u32 %i{depth}, 0"));
                    let _ = writeln!(self.body, "$L{label}:");
                    self.statements(count / 2 + 2, depth + 1);
                    self.line(&format!("add.s32 %i{depth}, %i{depth}, 1"));
                    self.line(&format!("setp.lt.s32 %p0, %i{depth}, {rounds}"));
                    self.line(&format!("@%p0 bra $L{label}"));
                }
                1 => {
                    let (label, a, b) = (self.label(), self.agreed(), self.agreed());
                    self.line(&format!("setp.lt.s32 %p1, {a}, {b}"));
                    self.line(&format!("@%p1 bra $L{label}"));
                    (0..3).for_each(|_| self.instruction(true));
                    let _ = writeln!(self.body, "$L{label}:");
                }
                2 => {
                    let (label, a, b) = (self.label(), self.own(), self.agreed());
                    self.line(&format!("setp.lt.s32 %p2, {a}, {b}"));
                    self.line(&format!("@%p2 bra $L{label}"));
                    (0..2).for_each(|_| self.instruction(false));
                    let _ = writeln!(self.body, "$L{label}:");
                }
                3 if self.ends && depth == 0 => {
                    let own = self.own();
                    self.line(&format!("setp.eq.s32 %p3, {own}, 77"));
                    self.line("@%p3 exit");
                    self.ends = false;
                }
                _ => self.instruction(true),
            }
        }
    }
}

/// A file with the entry `k`, and a launch of it.
pub(crate) fn source(seed: u64) -> (String, Launch) {
    let mut random = Random::new(seed ^ 0x7061_7274);
    let threads = [32, 64, 96, 48][random.below(4) as usize];
    let ends = random.percent(25);
    let mut w = Writer {
        random,
        body: String::new(),
        labels: 0,
        ends,
    };
    for line in [
        "ld.param.u64 %data, [data]",
        "ld.param.u64 %out, [out]",
        "ld.param.u32 %n, [n]",
        "mov.u32 %t, %tid.x",
        "mul.wide.u32 %x, %t, 64",
        "add.s64 %out, %out, %x",
        "mul.wide.u32 %x, %t, 4",
        "add.s64 %data, %data, %x",
    ] {
        w.line(line);
    }
    for number in 0..AGREED {
        w.line(&format!("mul.lo.s32 %u{number}, %n, {}", number + 1));
    }
    for number in 0..OWN {
        w.line(&format!("mad.lo.s32 %v{number}, %t, %t, {number}"));
    }
    let count = 6 + w.random.below(10);
    w.statements(count, 0);
    for number in 0..AGREED {
        let own = number % OWN;
        w.line(&format!("mad.lo.s32 %v{own}, %v{own}, 5, %u{number}"));
    }
    for number in 0..OWN {
        w.line(&format!("st.global.b32 [%out+{}], %v{number}", 4 * number));
    }
    w.line("ret");
    let text = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n\
         .visible .entry k(.param .u64 data, .param .u64 out, .param .u32 n)\n{{\n\
         \t.reg .pred %p<4>;\n\t.reg .b32 %u<{AGREED}>, %v<{OWN}>, %i<{DEPTH}>, %n, %t;\n\t.reg .b64 %data, %out, %x;\n{}}}\n",
        w.body
    );
    let mut launch = Launch::new(1);
    launch.block = [threads, 1, 1];
    let table = (0..1024u32).map(|at| (at * 37 + at * at * 11) % 251);
    launch.buffers = vec![
        Buffer::of_u32(table),
        Buffer::of_u32((0..16 * threads).map(|_| 0)),
    ];
    let pointer = |buffer| Argument::Pointer { buffer, offset: 0 };
    launch.parameters = vec![pointer(0), pointer(1), Argument::Bits(seed % 29)];
    (text, launch)
}
