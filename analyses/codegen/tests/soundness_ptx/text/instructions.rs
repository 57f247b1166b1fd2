//! Instructions on registers, and those of the warp.

use super::Writer;

impl Writer<'_> {
    pub(super) fn instruction(&mut self) {
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

    pub(super) fn arithmetic(&mut self) {
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

    pub(super) fn comparison(&mut self) {
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

    pub(super) fn selection(&mut self) {
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

    pub(super) fn predicates(&mut self) {
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

    pub(super) fn conversion(&mut self) {
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

    pub(super) fn wide(&mut self) {
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

    pub(super) fn special(&mut self) {
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

    pub(super) fn bits(&mut self) {
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

    pub(super) fn packing(&mut self) {
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

    pub(super) fn float(&mut self) {
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

    pub(super) fn carry(&mut self) {
        let (g, i) = (self.guard(), self.guard());
        let list: Vec<String> = (0..6).map(|_| self.r()).collect();
        let [a, b, c, d, e, f] = &list[..] else {
            return;
        };
        self.line(format_args!("{g}add.cc.u32 {a}, {b}, {c}"));
        self.line(format_args!("{i}addc.u32 {d}, {e}, {f}"));
    }

    pub(super) fn constant_table(&mut self) {
        let (g, to, r) = (self.guard(), self.r(), self.r());
        self.line(format_args!("and.b32 %t, {r}, 15"));
        self.line("shl.b32 %t, %t, 2");
        self.line("cvt.u64.u32 %x, %t");
        self.line("mov.u64 %d3, table");
        self.line("add.s64 %x, %x, %d3");
        self.line(format_args!("{g}ld.const.b32 {to}, [%x]"));
    }

    pub(super) fn warp(&mut self) {
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
}
