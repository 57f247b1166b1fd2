//! Instructions from their words: mnemonic, completers, operands. Written from the manual's instruction pages, apart from
//! the tables that the rest of the house reads instructions with: the two judge each other.
//!
//! `None` from any of this: no instruction that is simulated, or operands that it does not take.

use super::decode_float::float;
use super::decode_lanes::lanes;
use super::decode_memory::memory;
use super::op::{Alu, Branch, Compare, Lanes, One, Op, Relation, Shift, Slot, Src, Target};
use isa::ia64::Reg;
use smol_str::SmolStr;
use syntax::ia64::Expr;

/// An operand, its names resolved as they stood at its statement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Arg {
    Gr(u8),
    Fr(u8),
    Pr(u8),
    Br(u8),
    Ar(u8),
    Other(Reg),
    Imm(i64),
    /// `[r5]`
    Mem(u8),
    /// Known when everything has its address.
    Symbolic(Expr),
    Unknown,
}

/// An instruction before its symbols have values.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Raw {
    pub(super) qp: u8,
    pub(super) mnemonic: SmolStr,
    pub(super) targets: Vec<Arg>,
    pub(super) sources: Vec<Arg>,
}

/// An instruction and the values of symbols.
pub(super) struct Words<'a> {
    pub(super) raw: &'a Raw,
    pub(super) base: &'a str,
    /// The words behind the first point.
    pub(super) completers: Vec<&'a str>,
    pub(super) value: &'a dyn Fn(&Expr) -> Option<i64>,
}

impl Words<'_> {
    pub(super) fn has(&self, completer: &str) -> bool {
        self.completers.contains(&completer)
    }
    pub(super) fn target(&self, at: usize) -> Option<&Arg> {
        self.raw.targets.get(at)
    }
    pub(super) fn source(&self, at: usize) -> Option<&Arg> {
        self.raw.sources.get(at)
    }
    pub(super) fn sources(&self) -> usize {
        self.raw.sources.len()
    }
    pub(super) fn to(&self) -> Option<u8> {
        gr(self.target(0)?)
    }
    pub(super) fn gr(&self, at: usize) -> Option<u8> {
        gr(self.source(at)?)
    }
    pub(super) fn fr(&self, at: usize) -> Option<u8> {
        fr(self.source(at)?)
    }
    pub(super) fn imm(&self, at: usize) -> Option<i64> {
        self.number(self.source(at)?)
    }
    fn number(&self, arg: &Arg) -> Option<i64> {
        match arg {
            Arg::Imm(value) => Some(*value),
            Arg::Symbolic(value) => (self.value)(value),
            _ => None,
        }
    }
    pub(super) fn count(&self, at: usize) -> Option<u32> {
        u32::try_from(self.imm(at)?)
            .ok()
            .filter(|&count| count < 128)
    }
    pub(super) fn src(&self, at: usize) -> Option<Src> {
        match self.source(at)? {
            Arg::Gr(register) => Some(Src::Reg(*register)),
            other => Some(Src::Imm(self.number(other)?)),
        }
    }
    /// The two predicates of a compare; one alone is followed by `p0`.
    pub(super) fn predicates(&self) -> Option<[u8; 2]> {
        let of = |arg: &Arg| match arg {
            Arg::Pr(number) => Some(*number),
            _ => None,
        };
        let second = self.target(1).map_or(Some(0), of)?;
        Some([of(self.target(0)?)?, second])
    }
    fn address(&self, at: usize) -> Option<u64> {
        Some(self.imm(at)? as u64)
    }
    fn compare(&self, from: usize) -> Option<Compare> {
        let rest: Vec<&str> = self.completers.iter().skip(from).copied().collect();
        Some(match rest[..] {
            [] => Compare::Plain,
            ["unc"] => Compare::Unc,
            ["and"] => Compare::And,
            ["or"] => Compare::Or,
            ["andcm"] => Compare::AndComplement,
            ["orcm"] => Compare::OrComplement,
            ["or", "andcm"] => Compare::OrAndComplement,
            ["and", "orcm"] => Compare::AndOrComplement,
            _ => return None,
        })
    }
}

fn gr(arg: &Arg) -> Option<u8> {
    match arg {
        Arg::Gr(register) => Some(*register),
        _ => None,
    }
}
pub(super) fn fr(arg: &Arg) -> Option<u8> {
    match arg {
        Arg::Fr(register) => Some(*register),
        _ => None,
    }
}

/// The instruction; `value` gives the values of symbols.
pub(super) fn decode(raw: &Raw, value: &dyn Fn(&Expr) -> Option<i64>) -> Option<Op> {
    let mut parts = raw.mnemonic.split('.');
    let base = parts.next().unwrap_or("");
    let words = Words {
        raw,
        base,
        completers: parts.collect(),
        value,
    };
    integer(&words)
        .or_else(|| lanes(&words))
        .or_else(|| compare(&words))
        .or_else(|| moves(&words))
        .or_else(|| branch(&words))
        .or_else(|| memory(&words))
        .or_else(|| float(&words))
}

fn integer(w: &Words<'_>) -> Option<Op> {
    let alu = |op: Alu| {
        Some(Op::Alu {
            op,
            to: w.to()?,
            a: w.src(0)?,
            b: w.src(1)?,
        })
    };
    let unary = |op: One| {
        Some(Op::One {
            op,
            to: w.to()?,
            a: w.gr(0)?,
        })
    };
    let shift = |op: Shift| {
        Some(Op::Shift {
            op,
            to: w.to()?,
            a: w.gr(0)?,
            count: w.src(1)?,
        })
    };
    match w.base {
        "add" | "sub" if w.sources() == 3 => {
            if w.imm(2)? != 1 {
                return None;
            }
            alu(if w.base == "add" {
                Alu::AddOne
            } else {
                Alu::SubOne
            })
        }
        "add" | "adds" | "addl" => alu(Alu::Add),
        "sub" => alu(Alu::Sub),
        "and" => alu(Alu::And),
        "andcm" => alu(Alu::AndNot),
        "or" => alu(Alu::Or),
        "xor" => alu(Alu::Xor),
        "shladd" | "shladdp4" => Some(Op::ShiftAdd {
            to: w.to()?,
            a: Src::Reg(w.gr(0)?),
            count: w.count(1).filter(|count| (1..=4).contains(count))?,
            b: w.gr(2)?,
            pointer: w.base == "shladdp4",
        }),
        "addp4" => Some(Op::ShiftAdd {
            to: w.to()?,
            a: w.src(0)?,
            count: 0,
            b: w.gr(1)?,
            pointer: true,
        }),
        "sxt1" => unary(One::SignExtend(8)),
        "sxt2" => unary(One::SignExtend(16)),
        "sxt4" => unary(One::SignExtend(32)),
        "zxt1" => unary(One::ZeroExtend(8)),
        "zxt2" => unary(One::ZeroExtend(16)),
        "zxt4" => unary(One::ZeroExtend(32)),
        "czx1" => unary(One::ZeroIndex(1, w.has("l"))),
        "czx2" => unary(One::ZeroIndex(2, w.has("l"))),
        "popcnt" => unary(One::Population),
        "clz" => unary(One::LeadingZeros),
        "shl" => shift(Shift::Left),
        "shr" if w.has("u") => shift(Shift::RightUnsigned),
        "shr" => shift(Shift::Right),
        "extr" => Some(Op::Extract {
            signed: !w.has("u"),
            to: w.to()?,
            a: w.gr(0)?,
            position: w.count(1)?,
            length: w.count(2)?,
        }),
        "dep" if w.has("z") => Some(Op::Deposit {
            to: w.to()?,
            a: w.src(0)?,
            base: None,
            position: w.count(1)?,
            length: w.count(2)?,
        }),
        "dep" => Some(Op::Deposit {
            to: w.to()?,
            a: w.src(0)?,
            base: Some(w.gr(1)?),
            position: w.count(2)?,
            length: w.count(3)?,
        }),
        "shrp" => Some(Op::Funnel {
            to: w.to()?,
            a: w.gr(0)?,
            b: w.gr(1)?,
            count: w.count(2)?,
        }),
        "movl" => Some(Op::Long {
            to: w.to()?,
            value: w.imm(0)?,
        }),
        "nop" => Some(Op::Nop),
        "break" => Some(Op::Break(w.imm(0).unwrap_or(0))),
        "hint" | "mf" | "fc" | "srlz" | "sync" | "fwb" | "flushrs" | "brp" | "sum" | "rum"
        | "ssm" | "rsm" => Some(Op::Fence),
        "invala" => Some(Op::Forget {
            register: match w.source(0) {
                None => None,
                Some(Arg::Gr(number)) => Some(Reg::general(*number)),
                Some(Arg::Fr(number)) => Some(Reg::float(*number)),
                _ => return None,
            },
        }),
        "clrrrb" => Some(Op::ClearRotation { all: !w.has("pr") }),
        _ => None,
    }
}

fn compare(w: &Words<'_>) -> Option<Op> {
    match w.base {
        "cmp" | "cmp4" => {
            let relation = match *w.completers.first()? {
                "eq" => Relation::Equal,
                "ne" => Relation::Unequal,
                "lt" => Relation::Less,
                "le" => Relation::LessEqual,
                "gt" => Relation::Greater,
                "ge" => Relation::GreaterEqual,
                "ltu" => Relation::Below,
                "leu" => Relation::BelowEqual,
                "gtu" => Relation::Above,
                "geu" => Relation::AboveEqual,
                _ => return None,
            };
            Some(Op::Compare {
                relation,
                four: w.base == "cmp4",
                how: w.compare(1)?,
                p: w.predicates()?,
                a: w.src(0)?,
                b: w.src(1)?,
            })
        }
        "tbit" | "tnat" => {
            let zero = match *w.completers.first()? {
                "z" => true,
                "nz" => false,
                _ => return None,
            };
            let (how, p, a) = (w.compare(1)?, w.predicates()?, w.gr(0)?);
            Some(if w.base == "tnat" {
                Op::TestNat { zero, how, p, a }
            } else {
                let position = w.count(1).filter(|&position| position < 64)?;
                Op::TestBit {
                    zero,
                    how,
                    p,
                    a,
                    position,
                }
            })
        }
        _ => None,
    }
}

fn moves(w: &Words<'_>) -> Option<Op> {
    if w.base == "alloc" {
        // `ar.pfs` may be left out.
        let first = usize::from(matches!(w.source(0), Some(Arg::Ar(64))));
        let size = |at: usize| {
            u8::try_from(w.imm(first + at)?)
                .ok()
                .filter(|&size| size <= 96)
        };
        let (inputs, locals, outputs, rotating) = (size(0)?, size(1)?, size(2)?, size(3)?);
        let frame = inputs.checked_add(locals)?.checked_add(outputs)?;
        return (frame <= 96 && rotating <= frame && rotating % 8 == 0).then_some(Op::Alloc {
            to: w.to()?,
            frame,
            locals: inputs + locals,
            rotating,
        });
    }
    if w.base != "mov" {
        return None;
    }
    Some(match (w.target(0)?, w.source(0)?) {
        (Arg::Gr(to), Arg::Gr(from)) => Op::Alu {
            op: Alu::Add,
            to: *to,
            a: Src::Imm(0),
            b: Src::Reg(*from),
        },
        (Arg::Gr(to), Arg::Br(from)) => Op::FromBranch {
            to: *to,
            from: *from,
        },
        (Arg::Br(to), Arg::Gr(from)) => Op::ToBranch {
            to: *to,
            from: *from,
        },
        (Arg::Gr(to), Arg::Ar(from)) => Op::FromApplication {
            to: *to,
            from: *from,
        },
        (Arg::Ar(to), Arg::Gr(from)) => Op::ToApplication {
            to: *to,
            from: Src::Reg(*from),
        },
        (Arg::Ar(to), _) => Op::ToApplication {
            to: *to,
            from: Src::Imm(w.imm(0)?),
        },
        (Arg::Gr(to), Arg::Other(Reg::PR)) => Op::FromPredicates { to: *to },
        (Arg::Gr(to), Arg::Other(Reg::IP)) => Op::FromIp { to: *to },
        (Arg::Gr(to), Arg::Other(Reg::UM)) => Op::FromMask { to: *to },
        (Arg::Other(Reg::UM), Arg::Gr(_)) => Op::Fence,
        (Arg::Other(Reg::PR), Arg::Gr(from)) => {
            // The mask is of 17 bits, its last sign for the rotating registers, and leaves p0 alone.
            let mask = if w.sources() > 1 { w.imm(1)? } else { -1 };
            let mask = (mask as u64) & 0xfffe;
            let rotating = match w.imm(1) {
                Some(given) if given & 0x1_0000 == 0 => 0,
                _ => !0xffff,
            };
            Op::ToPredicates {
                from: *from,
                mask: mask | rotating,
            }
        }
        (Arg::Other(Reg::PR_ROT), _) => Op::ToRotating {
            value: w.imm(0)? as u64,
        },
        (Arg::Gr(to), _) => Op::Alu {
            op: Alu::Add,
            to: *to,
            a: Src::Imm(w.imm(0)?),
            b: Src::Reg(0),
        },
        _ => return None,
    })
}

fn branch(w: &Words<'_>) -> Option<Op> {
    if !matches!(w.base, "br" | "brl") {
        return None;
    }
    let kind = match w.completers.first().copied() {
        Some("call") => Branch::Call,
        Some("ret") => Branch::Return,
        Some("cloop") => Branch::Cloop,
        Some("ctop") => Branch::Ctop,
        Some("cexit") => Branch::Cexit,
        Some("wtop") => Branch::Wtop,
        Some("wexit") => Branch::Wexit,
        Some("ia") => return None,
        _ => Branch::Cond,
    };
    let target = match w.source(0)? {
        Arg::Br(register) => Target::Register(*register),
        _ => Target::Address(w.address(0)?),
    };
    let link = match (kind, w.target(0)) {
        (Branch::Call, Some(Arg::Br(register))) => *register,
        (Branch::Call, _) => return None,
        _ => 0,
    };
    Some(Op::Branch { kind, target, link })
}

/// The slots that take it.
pub(super) fn slot(raw: &Raw, op: &Op) -> Slot {
    let mut parts = raw.mnemonic.split('.');
    let base = parts.next().unwrap_or("");
    let unit = parts.next();
    let named = match unit {
        Some("m") => Some(Slot::M),
        Some("i") => Some(Slot::I),
        Some("f") => Some(Slot::F),
        Some("b") => Some(Slot::B),
        Some("x") => Some(Slot::Long),
        _ => None,
    };
    match op {
        Op::Nop | Op::Break(_) => named.unwrap_or(Slot::Any),
        Op::Fence => match base {
            "hint" => named.unwrap_or(Slot::Any),
            "brp" => Slot::B,
            _ => Slot::M,
        },
        Op::Alu { .. } | Op::ShiftAdd { .. } | Op::Compare { .. } => Slot::A,
        Op::Lanes { op, .. } => match op {
            Lanes::Add(_)
            | Lanes::Sub(_)
            | Lanes::Average { .. }
            | Lanes::AverageSub
            | Lanes::Equal
            | Lanes::Greater
            | Lanes::ShiftLeftAdd(_)
            | Lanes::ShiftRightAdd(_) => Slot::A,
            _ => Slot::I,
        },
        Op::One { .. }
        | Op::Shift { .. }
        | Op::Extract { .. }
        | Op::Deposit { .. }
        | Op::Funnel { .. }
        | Op::Permute { .. }
        | Op::TestBit { .. }
        | Op::TestNat { .. }
        | Op::FromBranch { .. }
        | Op::ToBranch { .. }
        | Op::FromPredicates { .. }
        | Op::ToPredicates { .. }
        | Op::ToRotating { .. }
        | Op::FromIp { .. } => Slot::I,
        Op::FromApplication { from: ar, .. } | Op::ToApplication { to: ar, .. } => {
            match (named, ar) {
                (Some(slot), _) => slot,
                (None, 64..=66) => Slot::I,
                _ => Slot::M,
            }
        }
        // The letter stands behind the `s` of `chk.s.i`.
        Op::CheckNat { register, .. } => match (parts.next(), register.file) {
            (Some("i"), _) => Slot::I,
            (None, isa::ia64::File::General) => Slot::A,
            _ => Slot::M,
        },
        Op::Long { .. } => Slot::Long,
        Op::Branch { .. } => {
            if base == "brl" {
                Slot::Long
            } else {
                Slot::B
            }
        }
        Op::ClearRotation { .. } => Slot::B,
        Op::Fused { .. }
        | Op::Multiply { .. }
        | Op::MinMax { .. }
        | Op::CompareFloat { .. }
        | Op::ClassFloat { .. }
        | Op::Reciprocal { .. }
        | Op::ReciprocalRoot { .. }
        | Op::ToInteger { .. }
        | Op::FromInteger { .. }
        | Op::Merge { .. }
        | Op::Sign { .. }
        | Op::Select { .. }
        | Op::Bits { .. }
        | Op::FloatStatus => Slot::F,
        Op::Unknown => named.unwrap_or(Slot::Any),
        _ => Slot::M,
    }
}
