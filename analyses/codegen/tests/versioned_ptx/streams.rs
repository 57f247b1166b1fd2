//! Streams of statements over values that are often zero.

use super::Writer;
use super::kinds::{Double, Float, Half, Kind, Truth, Wide, Word};

/// Statements that stay together.
pub(super) struct Piece {
    pub(super) lines: Vec<String>,
    /// Nothing is read that the stream computes.
    free: bool,
}

#[derive(Default)]
pub(super) struct Stream {
    pub(super) pieces: Vec<Piece>,
    /// Registers that the stream has written first.
    pub(super) made: Vec<(Kind, String)>,
    trigger: Option<(Kind, String)>,
}

impl Stream {
    fn push(&mut self, lines: Vec<String>, free: bool) {
        self.pieces.push(Piece { lines, free });
    }
}

impl Writer {
    // ----------------------------------------------------------------------------------------------- values

    fn value(&mut self, kind: Kind, depth: u32, s: &mut Stream) -> String {
        if depth == 0 || self.random.percent(25) {
            return self.leaf(kind, depth, s);
        }
        let list = match self.random.below(10) {
            0..=6 => kind.products(),
            7 if !self.finite => kind.wild(),
            _ => kind.others(),
        };
        self.apply(kind, list, depth, s)
    }
    fn operand(&mut self, kind: Kind, depth: u32, s: &mut Stream) -> String {
        match &s.trigger {
            Some((of, name)) if *of == kind && self.random.percent(35) => name.clone(),
            _ => self.value(kind, depth.saturating_sub(1), s),
        }
    }

    /// A statement of a list; returns the register that it writes.
    fn apply(&mut self, kind: Kind, list: &str, depth: u32, s: &mut Stream) -> String {
        let templates: Vec<&str> = list.split("; ").collect();
        let template = self.pick(&templates);
        let mut text = String::new();
        for letter in template.chars() {
            match letter {
                'Q' => {
                    text.push_str(self.pick(&["", "", "!"]));
                    text.push_str(&self.operand(Truth, depth, s));
                }
                'T' => {
                    let (from, mask) = (self.operand(Word, depth, s), 1 + 2 * self.random.below(2));
                    let small = self.fresh(Word);
                    s.push(vec![format!("and.b32 {small}, {from}, {mask}")], false);
                    s.made.push((Word, small.clone()));
                    text.push_str(&small);
                }
                'N' if self.random.percent(35) => {
                    text.push_str(self.pick(&["0", "1", "3", "-2", "12", "0x10001", "255"]));
                }
                'N' => text.push_str(&self.operand(Word, depth, s)),
                '#' => text.push_str(self.pick(&["1", "2", "5", "15", "24", "0"])),
                _ => match Kind::of(letter) {
                    Some(of) => text.push_str(&self.operand(of, depth, s)),
                    None => text.push(letter),
                },
            }
        }
        let (guard, name) = if template.contains('$') {
            (self.guard(), self.sum(kind))
        } else {
            self.target(kind, s)
        };
        let mut lines = vec![format!("{guard}{}", text.replace(['@', '$'], &name))];
        // A sum grows evenly, as no factor reads it.
        if !template.contains('$') && !s.made.iter().any(|made| made.1 == name) {
            lines.extend(self.clamp(kind, &name));
        }
        s.push(lines, false);
        name
    }

    fn leaf(&mut self, kind: Kind, depth: u32, s: &mut Stream) -> String {
        match (self.random.below(100), kind) {
            (0..62, Truth) => {
                let list = "setp.ne.s32 @, R, 0; setp.eq.s32 @, R, 0; setp.gt.s16 @, H, 1; setp.lt.u64 @, D, 3";
                self.apply(kind, list, 0, s)
            }
            (0..62, _) => self.load(kind, depth, s),
            (62..82, _) => self.old(kind, s),
            (_, Word) => {
                if let Some(depth) = self.loops.len().checked_sub(1)
                    && self.random.percent(50)
                {
                    return format!("%c{}", self.random.below(depth as u32 + 1));
                }
                if self.random.percent(15) {
                    return "%t".to_string();
                }
                let list = [
                    "and.b32 @, %t, 1; shr.u32 @, %t, 3; sub.s32 @, %t, 5; rem.u32 @, %t, 3; mov.u32 @, %ctaid.x; ",
                    "mov.u32 @, %laneid; and.b32 @, %t, 6; mul.lo.s32 @, %t, 3; mov.u32 @, 0; ld.param.u32 @, [n]; ",
                    "mov.b32 @, 9; mov.u32 @, %tid.y",
                ];
                self.apply(kind, &list.concat(), 0, s)
            }
            (_, Wide) => self.apply(kind, "cvt.u64.u32 @, T; ld.param.u64 @, [w]", 0, s),
            (_, Half) => self.apply(kind, "cvt.u16.u32 @, T; mov.u16 @, 3", 0, s),
            (_, Float) => self.apply(kind, "cvt.rn.f32.u32 @, T; ld.param.f32 @, [x]", 0, s),
            (_, Double) => self.apply(
                kind,
                "cvt.rn.f64.u32 @, T; mov.f64 @, 0d3fe0000000000000",
                0,
                s,
            ),
            (_, Truth) => self.apply(kind, "setp.ne.s32 @, T, 0", 0, s),
        }
    }

    // ----------------------------------------------------------------------------------------------- memory

    pub(super) fn types(&mut self, kind: Kind, vector: bool) -> &'static str {
        let list = match kind {
            Half if vector => &["u16", "b16"][..],
            Half => &["u16", "s16", "b16", "u16", "u8", "s8"],
            Word if vector => &["u32", "b32", "s32"],
            Word => &[
                "u32", "s32", "b32", "u32", "s32", "u32", "u16", "s16", "u8", "s8",
            ],
            Wide if vector => &["u64", "b64"],
            Wide => &["u64", "s64", "b64", "u64", "u32"],
            Double => &["f64"],
            _ => &["f32"],
        };
        self.pick(list)
    }
    /// A word of the lane's own, which it may store: global, local or shared memory.
    fn own(&mut self, kind: Kind) -> (&'static str, String) {
        let (space, base) = *self.random.pick(&[
            (".global", "%own"),
            (".global", "%own"),
            (".global", "%own"),
            ("", "%owng"),
            (".local", "stack"),
            (".shared", "%mine"),
        ]);
        let (start, bytes) = match kind {
            Float => (64, 32),
            Double => (96, 32),
            _ => (0, 64),
        };
        // The first places of the area are used most.
        let all = bytes / kind.bytes();
        let places = if self.random.percent(60) {
            all.min(4)
        } else {
            all
        };
        let at = start + kind.bytes() * self.random.below(places);
        (space, format!("{base}+{at}"))
    }

    fn load(&mut self, kind: Kind, depth: u32, s: &mut Stream) -> String {
        let (size, table) = (kind.bytes(), kind.table());
        let far = size * self.random.below(64);
        let mut lines = Vec::new();
        let (mut free, mut vector, mut grows, mut constant) = (true, false, false, true);
        let address = if self.random.percent(50) {
            "%addr".into()
        } else {
            self.fresh(Wide)
        };
        let index = if self.random.percent(50) {
            "%m".into()
        } else {
            self.fresh(Word)
        };
        let (space, place) = match self.random.below(26) {
            0..=9 => {
                vector = self.random.percent(25);
                (".global", format!("{table}t+{far}"))
            }
            10 => (".global", format!("{table}+{far}")),
            11 | 12 => ("", format!("{table}g+{far}")),
            13..=16 => {
                // Any number as an index.
                let from = self.operand(Word, depth, s);
                let mask =
                    self.pick(&["and.b32 @, #, 63", "bfe.u32 @, #, 0, 6", "min.u32 @, #, 63"]);
                lines.push(mask.replace('@', &index).replace('#', &from));
                free = false;
                let shift = size.trailing_zeros();
                lines.extend(match self.random.below(3) {
                    0 => vec![format!("mad.wide.u32 {address}, {index}, {size}, {table}")],
                    1 => vec![
                        format!("shl.b32 {index}, {index}, {shift}"),
                        format!("cvt.u64.u32 {address}, {index}"),
                        format!("add.s64 {address}, {table}, {address}"),
                    ],
                    _ => vec![
                        format!("mul.wide.s32 {address}, {index}, {size}"),
                        format!("add.s64 {address}, {address}, {table}"),
                    ],
                });
                if self.random.percent(30) {
                    lines.push(format!("add.s64 {address}, {address}, {}", far + 32));
                    (".global", format!("{address}+-32"))
                } else {
                    (".global", format!("{address}+{far}"))
                }
            }
            17 | 18 => {
                // An index from a table, which is in bounds as it is.
                let at = 4 * self.random.below(64);
                lines.push(format!("ld.global.u32 {index}, [%indext+{at}]"));
                lines.push(format!("mad.wide.u32 {address}, {index}, {size}, {table}"));
                (".global", format!("{address}+{far}"))
            }
            19 | 20 if !self.loops.is_empty() => {
                let depth = self.random.below(self.loops.len() as u32);
                (".global", format!("{table}q{depth}+{far}"))
            }
            21 | 22 => {
                (grows, constant) = (true, false);
                self.own(kind)
            }
            23 if kind == Word => {
                let places = [
                    (".const", "fixed"),
                    (".global", "given"),
                    (".shared", "met"),
                ];
                // What lanes met is behind a barrier.
                let shown = if self.device { 2 } else { 3 };
                let (space, name) = *self.random.pick(&places[..shown]);
                constant = false;
                (space, format!("{name}+{}", far % 128))
            }
            24 if kind == Wide => {
                // The register is the address of its next value.
                let name = self.fresh(Wide);
                s.made.push((Wide, name.clone()));
                lines.push(format!("ld.global.u64 {name}, [%linkst+{far}]"));
                for _ in 0..1 + self.random.below(2) {
                    lines.push(format!("add.s64 {name}, %links, {name}"));
                    lines.push(format!("ld.global.u64 {name}, [{name}]"));
                }
                s.push(lines, true);
                return name;
            }
            _ => (".global", format!("{table}t+{far}")),
        };
        let volatile = self.random.percent(3) && matches!(space, "" | ".global" | ".shared");
        let cache = match constant && space == ".global" && !volatile {
            true => self.pick(&["", "", "", "", ".nc", ".ca", ".cg", ".nc.L1::no_allocate"]),
            false => "",
        };
        let opcode = format!(
            "ld{}{space}{cache}",
            if volatile { ".volatile" } else { "" }
        );
        let ty = self.types(kind, vector);
        if !vector {
            let (guard, name) = self.target(kind, s);
            lines.push(format!("{guard}{opcode}.{ty} {name}, [{place}]"));
            let clamp = self.clamp(kind, &name).filter(|_| grows);
            lines.extend(clamp);
            s.push(lines, free);
            return name;
        }
        let count = if size <= 4 && self.random.percent(50) {
            4
        } else {
            2
        };
        let place = format!("{table}t+{}", far / (size * count) * (size * count));
        let kept = self.random.below(count);
        let mut parts: Vec<String> = Vec::new();
        for part in 0..count {
            if part != kept && self.random.percent(25) {
                parts.push("_".to_string());
                continue;
            }
            let name = self.fresh(kind);
            s.made.push((kind, name.clone()));
            parts.push(name);
        }
        lines.push(format!(
            "{opcode}.v{count}.{ty} {{{}}}, [{place}]",
            parts.join(", ")
        ));
        s.push(lines, free);
        parts.swap_remove(kept as usize)
    }

    fn store(&mut self, kind: Kind, value: &str, s: &mut Stream) {
        if kind == Truth {
            let sum = self.sum(Word);
            let bit = self.fresh(Word);
            let line = match self.random.below(3) {
                0 => vec![format!("@{value} add.s32 {sum}, {sum}, 3")],
                1 => vec![
                    format!("selp.u32 {bit}, 1, 0, {value}"),
                    format!("add.s32 {sum}, {sum}, {bit}"),
                ],
                _ => vec![format!("@!{value} st.global.u32 [%own+8], {sum}")],
            };
            return s.push(line, false);
        }
        let ((space, place), guard) = (self.own(kind), self.guard());
        let ty = self.types(kind, true);
        let volatile = if self.random.percent(3) && space != ".local" {
            ".volatile"
        } else {
            ""
        };
        let line = if kind == Word && self.random.percent(10) {
            let other = self.old(kind, s);
            let place = place.rsplit_once('+').map_or("", |split| split.0);
            format!("{guard}st{space}.v2.{ty} [{place}+16], {{{value}, {other}}}")
        } else {
            format!("{guard}st{volatile}{space}.{ty} [{place}], {value}")
        };
        s.push(vec![line], false);
    }

    // ---------------------------------------------------------------------------------------------- streams

    fn stream(&mut self) -> Stream {
        let mut s = Stream::default();
        if self.random.percent(75) {
            let kind = self.kind();
            let depth = self.random.below(4) / 3;
            let name = self.value(kind, depth, &mut s);
            s.trigger = Some((kind, name));
        }
        for _ in 0..1 + self.random.below(3) {
            let kind = match s.trigger {
                Some((kind, _)) if self.random.percent(60) => kind,
                _ => self.kind(),
            };
            let depth = 1 + self.random.below(3);
            match self.random.below(20) {
                0..=8 => {
                    let value = self.apply(kind, kind.products(), depth, &mut s);
                    self.store(kind, &value, &mut s);
                }
                9..=14 => {
                    self.apply(kind, kind.sums(), depth, &mut s);
                }
                15 => {
                    self.value(kind, depth, &mut s);
                }
                _ => self.special(kind, &mut s),
            }
        }
        // Loads at the front, as compilers have them, or some of them.
        let hoisted = *self.random.pick(&[0, 0, 100, 60]);
        let (mut front, mut back) = (Vec::new(), Vec::new());
        for piece in std::mem::take(&mut s.pieces) {
            match piece.free && self.random.percent(hoisted) {
                true => front.push(piece),
                false => back.push(piece),
            }
        }
        front.append(&mut back);
        s.pieces = front;
        s
    }

    fn special(&mut self, kind: Kind, s: &mut Stream) {
        match self.random.below(11) {
            // A factor is stored after all, now and then.
            0 => {
                let name = self.old(kind, s);
                self.store(kind, &name, s);
            }
            // A product of two words, added to a number of three.
            1 => {
                let (a, b) = (self.operand(Word, 1, s), self.operand(Word, 0, s));
                let [low, high, top] = [0, 1, 2].map(|at| self.sums[Word as usize][at].clone());
                let mut lines = vec![format!("mad.lo.cc.u32 {low}, {a}, {b}, {low}")];
                if self.random.percent(30) {
                    let [c, d] = [0; 2].map(|_| self.fresh(Word));
                    lines = vec![
                        format!("mad.lo.cc.u32 {c}, {a}, {b}, {low}"),
                        format!("madc.hi.u32 {d}, {a}, {b}, {high}"),
                    ];
                    s.push(lines, false);
                    s.made
                        .extend([c.clone(), d.clone()].map(|name| (Word, name)));
                    self.store(Word, &c, s);
                    return self.store(Word, &d, s);
                }
                if self.random.percent(50) {
                    lines.push(format!("madc.hi.u32 {high}, {a}, {b}, {high}"));
                } else {
                    lines.push(format!("madc.hi.cc.u32 {high}, {a}, {b}, {high}"));
                    lines.push(format!("addc.u32 {top}, {top}, 0"));
                }
                s.push(lines, false);
            }
            // What was zero is something else from here on.
            2 => {
                if let Some((kind, name)) = s.trigger.clone()
                    && s.made.iter().any(|made| made.1 == name)
                {
                    let (other, guard) = (self.old(kind, s), self.guard());
                    let line = match kind {
                        Word => format!("{guard}add.s32 {name}, {name}, 3"),
                        Half => format!("{guard}mov.u16 {name}, {other}"),
                        Wide => format!("{guard}or.b64 {name}, {name}, {other}"),
                        Float => format!("{guard}mov.f32 {name}, {other}"),
                        Double => format!("{guard}mov.f64 {name}, {other}"),
                        Truth => format!("not.pred {name}, {name}"),
                    };
                    s.push(vec![line], false);
                }
            }
            3 | 4 if self.random.percent(12) => {
                let (value, guard) = (self.operand(Word, 2, s), self.guard());
                let old = self.fresh(Word);
                let line = match self.random.below(5) {
                    0 => format!("{guard}red.global.add.u32 [%count], {value}"),
                    1 => format!("{guard}red.global.max.s32 [%count+4], {value}"),
                    2 => format!("{guard}red.global.xor.b32 [%count+8], {value}"),
                    3 => format!("{guard}atom.global.add.u32 _, [%count], {value}"),
                    _ => {
                        s.made.push((Word, old.clone()));
                        format!("atom.global.exch.b32 {old}, [%own+4], {value}")
                    }
                };
                s.push(vec![line], false);
            }
            // All under one predicate: the loaded register has a value only there.
            3..=5 => {
                let (condition, a) = (self.operand(Word, 1, s), self.operand(Word, 1, s));
                let [b, c] = [0; 2].map(|_| self.fresh(Word));
                let (p, sum) = (self.fresh(Truth), self.sum(Word));
                let not = self.pick(&["", "!"]);
                let far = 4 * self.random.below(32);
                s.push(vec![format!("setp.ne.s32 {p}, {condition}, 0")], false);
                for line in [
                    format!("ld.global.u32 {b}, [%intst+{far}]"),
                    format!("mul.lo.s32 {c}, {a}, {b}"),
                    format!("add.s32 {sum}, {sum}, {c}"),
                ] {
                    s.push(vec![format!("@{not}{p} {line}")], false);
                }
            }
            // The same word before and after a store.
            6 => {
                let a = self.operand(Word, 1, s);
                let (space, place) = self.own(Word);
                let [b, c, d] = [0; 3].map(|_| self.fresh(Word));
                let to = self.pick(&["[%own+4]", "[%own]", "[%own+12]"]);
                s.push(vec![format!("ld{space}.u32 {b}, [{place}]")], true);
                s.push(vec![format!("mul.lo.s32 {c}, {a}, {b}")], false);
                s.push(vec![format!("st.global.u32 {to}, {c}")], false);
                s.push(vec![format!("ld{space}.u32 {d}, [{place}]")], true);
                s.made.extend([b, c, d.clone()].map(|name| (Word, name)));
                let sum = self.sum(Word);
                s.push(vec![format!("mad.lo.s32 {sum}, {a}, {d}, {sum}")], false);
            }
            // The halves of a word, of which either may be zero.
            7 => {
                let wide = self.random.percent(60);
                let (from, of) = if wide { (Wide, Word) } else { (Word, Half) };
                let value = self.operand(from, 2, s);
                let [low, high] = [0; 2].map(|_| self.fresh(of));
                let bits = 8 * from.bytes();
                s.push(
                    vec![format!("mov.b{bits} {{{low}, {high}}}, {value}")],
                    false,
                );
                s.made.extend([low.clone(), high].map(|name| (of, name)));
                s.trigger = Some((of, low));
                let product = self.apply(of, of.products(), 1, s);
                self.store(of, &product, s);
            }
            // A comparison and its opposite.
            8 => {
                let (a, b) = (self.operand(Word, 2, s), self.operand(Word, 0, s));
                let [p, q] = [0; 2].map(|_| self.fresh(Truth));
                let condition = self.pick(&["eq", "ne", "lt", "ge"]);
                s.push(
                    vec![format!("setp.{condition}.s32 {p}|{q}, {a}, {b}")],
                    false,
                );
                s.made
                    .extend([p.clone(), q.clone()].map(|name| (Truth, name)));
                self.store(Truth, &p, s);
                self.store(Truth, &q, s);
            }
            // A vector register.
            9 if self.random.percent(20) => {
                let far = 8 * self.random.below(40);
                let sum = self.sum(Word);
                s.push(
                    vec![format!("ld.global.v2.u32 %both, [%intst+{far}]")],
                    true,
                );
                s.push(
                    vec![format!("mad.lo.s32 {sum}, %both.x, %both.y, {sum}")],
                    false,
                );
            }
            // Both factors twice.
            _ => {
                let (a, b) = (self.operand(Word, 1, s), self.load(Word, 0, s));
                let [c, d] = [0; 2].map(|_| self.fresh(Word));
                let second =
                    self.pick(&["mul.hi.u32", "and.b32", "add.s32", "mul.lo.s32", "or.b32"]);
                s.push(vec![format!("mul.lo.s32 {c}, {a}, {b}")], false);
                s.push(vec![format!("{second} {d}, {b}, {a}")], false);
                s.made
                    .extend([c.clone(), d.clone()].map(|name| (Word, name)));
                self.store(Word, &c, s);
                self.store(Word, &d, s);
            }
        }
    }

    /// Streams, mixed.
    pub(super) fn block(&mut self) {
        let count = 1 + self.random.below(3);
        let streams: Vec<Stream> = (0..count).map(|_| self.stream()).collect();
        let mut queues = Vec::new();
        for s in streams {
            for (kind, name) in s.made {
                self.live[kind as usize].push(name);
            }
            queues.push(s.pieces.into_iter());
        }
        while !queues.is_empty() {
            let at = self.random.below(queues.len() as u32) as usize;
            match queues[at].next() {
                Some(piece) => self.lines(&piece.lines),
                None => drop(queues.swap_remove(at)),
            }
        }
    }
    /// A value, computed here.
    pub(super) fn computed(&mut self, kind: Kind) -> String {
        let mut s = Stream::default();
        let depth = self.random.below(3);
        let name = if depth > 0 && self.random.percent(60) {
            self.apply(kind, kind.products(), depth, &mut s)
        } else {
            self.value(kind, depth, &mut s)
        };
        s.pieces.iter().for_each(|piece| self.lines(&piece.lines));
        for (kind, name) in s.made {
            self.live[kind as usize].push(name);
        }
        name
    }
}
