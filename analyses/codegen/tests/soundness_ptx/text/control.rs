//! The body of the kernel, and its control flow: blocks with edges anywhere, conditions, loops, branch tables, calls,
//! barriers of the workgroup.

use super::{Loop, PREDICATES, REGISTERS, Writer};
use oracle::random::Random;
use std::fmt::Write;

impl Writer<'_> {
    pub(super) fn kernel(&mut self) {
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
    pub(super) fn arbitrary(&mut self) {
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

    pub(super) fn branch_table(&mut self, names: &[String]) {
        let table = format!("$T{}", self.labels);
        self.labels += 1;
        let r = self.r();
        self.line(format_args!("rem.u32 %t, {r}, {}", names.len()));
        let _ = writeln!(self.body, "{table}: .branchtargets {};", names.join(", "));
        self.line(format_args!("brx.idx %t, {table}"));
    }

    // ------------------------------------------------------------------------------------------- statements

    pub(super) fn statements(&mut self, count: u32, depth: u32) {
        for _ in 0..count {
            self.statement(depth);
        }
    }

    pub(super) fn statement(&mut self, depth: u32) {
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

    pub(super) fn condition(&mut self, depth: u32) {
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

    pub(super) fn repetition(&mut self, depth: u32) {
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

    pub(super) fn call(&mut self) {
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

    pub(super) fn barrier(&mut self) {
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
}
