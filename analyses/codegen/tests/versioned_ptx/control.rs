//! Branches, loops, scopes, calls, and what the lanes of a block do together.

use super::kinds::{Double, Float, Half, Truth, Wide, Word};
use super::streams::Stream;
use super::{Loop, POINTERS, Writer};

impl Writer {
    pub(super) fn statements(&mut self, count: u32, depth: u32) {
        for _ in 0..count {
            match self.random.below(27) {
                0..=3 if depth < 3 => self.condition(depth),
                4..=7 if self.loops.len() < 2 => {
                    let count = 1 + self.random.below(3);
                    self.repetition(|w| w.statements(count, depth + 1));
                }
                8 | 9 if depth < 3 => self.scope(depth),
                10 | 11 => self.call(),
                12..=14 if self.together => self.meet(),
                15 if depth < 3 => self.branch_table(depth),
                16 => self.leave(),
                17 if self.loops.len() < 2 => self.ahead(),
                18 if depth < 3 => self.tangle(depth),
                _ => self.block(),
            }
        }
    }

    /// Statements after which the registers that they wrote first are forgotten.
    fn inside(&mut self, together: bool, statements: impl FnOnce(&mut Self)) {
        let marks = self.live.each_ref().map(Vec::len);
        let before = std::mem::replace(&mut self.together, together);
        statements(self);
        self.together = before && !self.ended;
        for (live, mark) in self.live.iter_mut().zip(marks) {
            live.truncate(mark);
        }
    }

    /// A predicate to branch on: what was computed last, or something new.
    fn test(&mut self) -> String {
        let not = self.pick(&["", "!"]);
        if self.random.percent(50) {
            let p = self.computed(Truth);
            return format!("{not}{p}");
        }
        let (name, p) = (self.old(Word, &Stream::default()), self.fresh(Truth));
        self.line(&format!("setp.eq.s32 {p}, {name}, 0"));
        self.live[Truth as usize].push(p.clone());
        format!("{not}{p}")
    }

    fn condition(&mut self, depth: u32) {
        let uniform = self.random.percent(30);
        let p = if uniform {
            let p = self.fresh(Truth);
            self.line(&format!("setp.gt.s32 {p}, %n, 2"));
            p
        } else {
            self.test()
        };
        let (otherwise, end) = (self.label(), self.label());
        let together = self.together && uniform;
        self.line(&format!("@{p} bra {otherwise}"));
        let counts = [1 + self.random.below(2), self.random.below(3)];
        self.inside(together, |w| w.statements(counts[0], depth + 1));
        if self.random.percent(60) {
            let uni = self.pick(&["", ".uni"]);
            self.line(&format!("bra{uni} {end}"));
        }
        self.place(&otherwise);
        self.inside(together, |w| w.statements(counts[1], depth + 1));
        self.place(&end);
    }

    fn branch_table(&mut self, depth: u32) {
        let (index, from) = (self.fresh(Word), self.computed(Word));
        let ends: Vec<String> = (0..4).map(|_| self.label()).collect();
        self.line(&format!("rem.u32 {index}, {from}, 3"));
        self.line(&format!(
            "$T{}: .branchtargets {}",
            self.labels,
            ends[..3].join(", ")
        ));
        self.line(&format!("brx.idx {index}, $T{}", self.labels));
        for end in &ends[..3] {
            self.place(end);
            let count = self.random.below(2);
            self.inside(false, |w| w.statements(count, depth + 1));
            if self.random.percent(60) {
                self.line(&format!("bra.uni {}", ends[3]));
            }
        }
        self.place(&ends[3]);
    }

    /// A loop whose counter is zero in the first iteration, or counts down; pointers advance with it.
    fn repetition(&mut self, statements: impl FnOnce(&mut Self)) {
        let number = self.loops.len();
        let (head, next, exit) = (self.label(), self.label(), self.label());
        let together = self.together && self.random.percent(60);
        let mut bound = (1 + self.random.below(4)).to_string();
        if !together && self.random.percent(50) {
            let value = self.computed(Word);
            self.line(&format!("and.b32 %b{number}, {value}, 3"));
            bound = format!("%b{number}");
        }
        let (down, top) = (self.random.percent(30), self.random.percent(40));
        let (first, step) = if down {
            (bound.as_str(), "-1")
        } else {
            ("0", "1")
        };
        self.line(&format!("mov.u32 %c{number}, {first}"));
        let start = self.body.len();
        self.place(&head);
        let stays = self.fresh(Truth);
        let test = match down {
            true => format!("setp.gt.s32 {stays}, %c{number}, 0"),
            false => format!("setp.lt.s32 {stays}, %c{number}, {bound}"),
        };
        if self.random.percent(20) {
            self.line(".pragma \"nounroll\"");
        }
        if top {
            self.line(&test);
            self.line(&format!("@!{stays} bra {exit}"));
        }
        self.loops.push(Loop {
            together,
            next: next.clone(),
            exit: exit.clone(),
        });
        self.inside(together, statements);
        self.loops.pop();
        self.place(&next);
        for kind in [Half, Word, Wide, Float, Double] {
            let (table, size) = (kind.table(), kind.bytes());
            let pointer = format!("{table}q{number}");
            if self.body[start..].contains(&pointer) {
                self.body
                    .insert_str(start, &format!("\n\tmov.u64 {pointer}, {table}t;\n"));
                self.line(&format!("add.s64 {pointer}, {pointer}, {size}"));
            }
        }
        self.line(&format!("add.s32 %c{number}, %c{number}, {step}"));
        if top {
            self.line(&format!("bra.uni {head}"));
        } else {
            self.line(&test);
            self.line(&format!("@{stays} bra {head}"));
        }
        self.place(&exit);
    }

    /// A loop with two ways in.
    fn tangle(&mut self, depth: u32) {
        let (head, middle, fuel, p) = (self.label(), self.label(), self.fresh(Word), self.test());
        self.line(&format!("mov.u32 {fuel}, 2"));
        self.line(&format!("@{p} bra {middle}"));
        self.place(&head);
        self.inside(false, |w| w.statements(1, depth + 2));
        self.place(&middle);
        self.inside(false, |w| w.statements(1, depth + 2));
        let more = self.fresh(Truth);
        self.line(&format!("sub.s32 {fuel}, {fuel}, 1"));
        self.line(&format!("setp.gt.s32 {more}, {fuel}, 0"));
        self.line(&format!("@{more} bra {head}"));
    }

    /// A loop that loads a factor of its next iteration.
    fn ahead(&mut self) {
        let (kind, ty, add) = *self.random.pick(&[
            (Word, "u32", "mad.lo.s32"),
            (Wide, "u64", "mad.lo.s64"),
            (Float, "f32", "fma.rn.f32"),
        ]);
        let (a, b, sum) = (self.fresh(kind), self.fresh(kind), self.sum(kind));
        let table = kind.table();
        for (name, at) in [(&a, 8), (&b, 64)] {
            self.line(&format!("ld.global.{ty} {name}, [{table}t+{at}]"));
        }
        let number = self.loops.len();
        let mut lines = vec![
            format!("ld.global.{ty} {a}, [{table}q{number}+16]"),
            format!("ld.global.{ty} {b}, [{table}q{number}+72]"),
            format!("{add} {sum}, {a}, {b}, {sum}"),
        ];
        self.repetition(|w| {
            while !lines.is_empty() {
                let at = w.random.below(lines.len() as u32) as usize;
                w.line(&lines.swap_remove(at));
                if w.random.percent(15) {
                    w.block();
                }
            }
        });
    }

    /// Registers of a scope hide others, or are of the same name in many scopes.
    fn scope(&mut self, depth: u32) {
        self.brace("{");
        let together = self.together;
        let count = 1 + self.random.below(2);
        self.inside(together, |w| {
            let kind = w.kind();
            let name = match w.random.percent(50) {
                true => w.old(kind, &Stream::default()),
                false => format!("%temporary{}", kind as u32),
            };
            let ty = ["b16", "b32", "b64", "f32", "f64", "pred"][kind as usize];
            w.line(&format!(".reg .{ty} {name}"));
            let far = 8 * w.random.below(64);
            let table = kind.table();
            let first = match kind {
                Truth => format!("setp.ne.s32 {name}, %t, 3"),
                _ => {
                    let ty = w.types(kind, true);
                    format!("ld.global.{ty} {name}, [{table}t+{far}]")
                }
            };
            w.line(&first);
            w.live[kind as usize].push(name);
            w.block();
            w.statements(count, depth + 1);
        });
        self.brace("}");
    }

    /// A call of `work` passes on what the kernel got.
    fn call_work(&mut self) {
        self.works -= 1;
        self.brace("{");
        let names = POINTERS.into_iter().chain(["n", "w", "x"]);
        let mut list = Vec::new();
        for (number, name) in names.enumerate() {
            let (kind, ty) = match name {
                "n" => (Word, "b32"),
                "x" => (Float, "f32"),
                _ => (Wide, "b64"),
            };
            let value = self.fresh(kind);
            self.line(&format!("ld.param.{ty} {value}, [{name}]"));
            self.line(&format!(".param .{ty} a{number}"));
            self.line(&format!("st.param.{ty} [a{number}], {value}"));
            list.push(format!("a{number}"));
        }
        self.line(&format!("call.uni work, ({})", list.join(", ")));
        self.brace("}");
    }

    fn call(&mut self) {
        if self.works > 0 && self.random.percent(50) {
            return self.call_work();
        }
        let Some(last) = self.callees.checked_sub(1) else {
            return self.block();
        };
        let to = self.random.below(last + 1);
        let (a, b, result) = (self.computed(Word), self.computed(Word), self.fresh(Word));
        self.brace("{");
        if to.is_multiple_of(2) {
            for line in [
                ".param .b32 a0",
                ".param .b32 a1",
                ".param .b64 a2",
                ".param .b32 answer",
                &format!("st.param.b32 [a0], {a}"),
                &format!("st.param.b32 [a1], {b}"),
                "st.param.b64 [a2], %intst",
                &format!("call.uni (answer), dev{to}, (a0, a1, a2)"),
                &format!("ld.param.b32 {result}, [answer]"),
            ] {
                self.line(line);
            }
        } else {
            self.line(&format!("call ({result}), dev{to}, ({a}, {b}, %intst)"));
        }
        self.brace("}");
        let sum = self.sum(Word);
        if self.random.percent(50) {
            self.line(&format!("add.s32 {sum}, {sum}, {result}"));
        }
        self.live[Word as usize].push(result);
    }

    /// Barriers, and operations across lanes.
    fn meet(&mut self) {
        let (kind, lanes) = (
            if self.random.percent(30) { Truth } else { Word },
            self.full,
        );
        let from = self.computed(kind);
        let (sum, result) = (self.sum(Word), self.fresh(Word));
        let p = self.fresh(Truth);
        match (self.random.below(4), kind) {
            (0 | 1, Word) if lanes => {
                let mode = self.pick(&[
                    "bfly.b32 @, #, 4, 31",
                    "down.b32 @, #, 1, 31",
                    "idx.b32 @, #, 5, 31",
                    "up.b32 @, #, 2, 0",
                ]);
                let text = mode.replace('@', &result).replace('#', &from);
                self.line(&format!("shfl.sync.{text}, -1"));
            }
            (2, Word) if lanes => {
                let mode = self.pick(&["add.s32", "max.u32", "or.b32"]);
                self.line(&format!("redux.sync.{mode} {result}, {from}, 0xffffffff"));
            }
            (_, Word) => {
                self.line("bar.sync 0");
                self.line(&format!("st.shared.u32 [%swap], {from}"));
                self.line("bar.sync 0");
                self.line(&format!("ld.shared.u32 {result}, [%other]"));
            }
            (0 | 1, _) if lanes => self.line(&format!("vote.sync.ballot.b32 {result}, {from}, -1")),
            (2, _) if lanes => {
                let mode = self.pick(&["any", "all"]);
                self.line(&format!("vote.sync.{mode}.pred {p}, {from}, -1"));
                self.line(&format!("selp.u32 {result}, 5, 0, {p}"));
            }
            (0, _) => {
                self.line(&format!("bar.red.or.pred {p}, 0, {from}"));
                self.line(&format!("selp.u32 {result}, 5, 0, {p}"));
            }
            _ => self.line(&format!("bar.red.popc.u32 {result}, 0, {from}")),
        }
        if self.random.percent(60) {
            self.line(&format!("mad.lo.s32 {sum}, {result}, 3, {sum}"));
        }
        self.live[Word as usize].push(result);
    }

    /// Some lanes leave the kernel, a loop, or an iteration of it.
    fn leave(&mut self) {
        let apart = self.loops.iter().position(|it| !it.together);
        let p = self.test();
        match apart {
            Some(first) if self.random.percent(75) => {
                let inner = self.loops.len() - first;
                let left = &self.loops[first + self.random.below(inner as u32) as usize];
                let to = [&left.next, &left.exit][self.random.below(2) as usize].clone();
                self.line(&format!("@{p} bra {to}"));
            }
            _ if apart.map_or(self.loops.len(), |first| first) > 0 => self.block(),
            _ => {
                self.ended = true;
                self.together = false;
                let ends = ["bra $END", "bra $END", "ret", "exit"];
                let end = self.pick(&ends[..if self.device { 3 } else { 4 }]);
                self.line(&format!("@{p} {end}"));
            }
        }
    }
}
