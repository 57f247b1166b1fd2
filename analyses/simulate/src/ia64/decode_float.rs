//! Instructions of the F unit, and moves between the general and the floating-point registers.

use super::decode::{Arg, Words, fr};
use super::float_ops::{Bits, Merge};
use super::op::{FloatRelation, Op, Part};
use syntax::ia64::{Binary, Expr};

pub(super) fn float(w: &Words<'_>) -> Option<Op> {
    match w.base {
        "setf" | "getf" => return transfer(w),
        "fcmp" => return compare(w),
        "fclass" => return class(w),
        "fsetc" | "fclrf" | "fchkf" => return Some(Op::FloatStatus),
        _ => {}
    }
    let to = fr(w.target(0)?)?;
    arithmetic(w, to).or_else(|| other(w, to))
}

fn transfer(w: &Words<'_>) -> Option<Op> {
    let part = match *w.completers.first()? {
        "sig" => Part::Significand,
        "exp" => Part::Exponent,
        "s" => Part::Single,
        "d" => Part::Double,
        _ => return None,
    };
    Some(if w.base == "setf" {
        Op::SetFloat {
            part,
            to: fr(w.target(0)?)?,
            from: w.gr(0)?,
        }
    } else {
        Op::GetFloat {
            part,
            to: w.to()?,
            from: w.fr(0)?,
        }
    })
}

fn compare(w: &Words<'_>) -> Option<Op> {
    let relation = match *w.completers.first()? {
        "eq" => FloatRelation::Equal,
        "lt" => FloatRelation::Less,
        "le" => FloatRelation::LessEqual,
        "unord" => FloatRelation::Unordered,
        "neq" => FloatRelation::Unequal,
        "nlt" => FloatRelation::NotLess,
        "nle" => FloatRelation::NotLessEqual,
        "ord" => FloatRelation::Ordered,
        "gt" => FloatRelation::Greater,
        "ge" => FloatRelation::GreaterEqual,
        "ngt" => FloatRelation::NotGreater,
        "nge" => FloatRelation::NotGreaterEqual,
        _ => return None,
    };
    Some(Op::CompareFloat {
        relation,
        unc: w.has("unc"),
        p: w.predicates()?,
        a: w.fr(0)?,
        b: w.fr(1)?,
    })
}

fn class(w: &Words<'_>) -> Option<Op> {
    let mask = match w.source(1)? {
        Arg::Imm(value) => *value,
        Arg::Symbolic(value) => class_mask(value)?,
        _ => return None,
    };
    Some(Op::ClassFloat {
        member: !w.has("nm"),
        unc: w.has("unc"),
        p: w.predicates()?,
        a: w.fr(0)?,
        mask,
    })
}

/// Names of classes, joined by `|`. The depth of an expression is limited where it is parsed.
fn class_mask(value: &Expr) -> Option<i64> {
    match value {
        Expr::Number(value) => Some(*value),
        Expr::Function {
            name,
            argument: None,
        } => Some(match &**name {
            "@pos" => 1,
            "@neg" => 2,
            "@zero" => 4,
            "@unorm" => 8,
            "@norm" => 0x10,
            "@inf" => 0x20,
            "@snan" => 0x40,
            "@qnan" => 0x80,
            "@nat" => 0x100,
            _ => return None,
        }),
        Expr::Binary {
            op: Binary::Or | Binary::Add,
            left,
            right,
        } => Some(class_mask(left)? | class_mask(right)?),
        _ => None,
    }
}

/// Bits of precision that the completers name, 0 where they leave it open, and the field of `ar.fpsr`.
fn completers(w: &Words<'_>) -> (u32, u32) {
    let bits = if w.has("s") {
        24
    } else if w.has("d") {
        53
    } else {
        0
    };
    let field = (0..4)
        .find(|field| w.has(["s0", "s1", "s2", "s3"][*field as usize]))
        .unwrap_or(0);
    (bits, field)
}

fn arithmetic(w: &Words<'_>, to: u8) -> Option<Op> {
    let (bits, field) = completers(w);
    let fused = |a: u8, b: u8, c: u8, negate_product: bool, negate_addend: bool| {
        Some(Op::Fused {
            to,
            a,
            b,
            c,
            negate_product,
            negate_addend,
            bits,
            field,
        })
    };
    match w.base {
        "fma" => fused(w.fr(0)?, w.fr(1)?, w.fr(2)?, false, false),
        "fms" => fused(w.fr(0)?, w.fr(1)?, w.fr(2)?, false, true),
        "fnma" => fused(w.fr(0)?, w.fr(1)?, w.fr(2)?, true, false),
        "fmpy" => fused(w.fr(0)?, w.fr(1)?, 0, false, false),
        "fnmpy" => fused(w.fr(0)?, w.fr(1)?, 0, true, false),
        "fadd" => fused(w.fr(0)?, 1, w.fr(1)?, false, false),
        "fsub" => fused(w.fr(0)?, 1, w.fr(1)?, false, true),
        "fnorm" => fused(w.fr(0)?, 1, 0, false, false),
        "fcvt" if w.has("xuf") => fused(w.fr(0)?, 1, 0, false, false),
        "xma" | "xmpy" => Some(Op::Multiply {
            to,
            a: w.fr(0)?,
            b: w.fr(1)?,
            c: if w.base == "xma" { w.fr(2)? } else { 0 },
            high: w.has("h") || w.has("hu"),
            unsigned: w.has("hu") || w.has("lu"),
        }),
        "frcpa" => Some(Op::Reciprocal {
            to,
            p: second(w)?,
            a: w.fr(0)?,
            b: w.fr(1)?,
        }),
        "frsqrta" => Some(Op::ReciprocalRoot {
            to,
            p: second(w)?,
            a: w.fr(0)?,
        }),
        _ => None,
    }
}

fn second(w: &Words<'_>) -> Option<u8> {
    match w.target(1)? {
        Arg::Pr(number) => Some(*number),
        _ => None,
    }
}

fn other(w: &Words<'_>, to: u8) -> Option<Op> {
    let (_, field) = completers(w);
    let sign = |absolute: bool, negate: bool| {
        Some(Op::Sign {
            to,
            a: w.fr(0)?,
            absolute,
            negate,
        })
    };
    let bits = |how: Bits| {
        Some(Op::Bits {
            how,
            to,
            a: w.fr(0)?,
            b: w.fr(1)?,
        })
    };
    match w.base {
        "fmin" | "fmax" | "famin" | "famax" => Some(Op::MinMax {
            to,
            a: w.fr(0)?,
            b: w.fr(1)?,
            max: w.base.ends_with("ax"),
            absolute: w.base.starts_with("fa"),
        }),
        "fcvt" if w.has("fx") || w.has("fxu") => Some(Op::ToInteger {
            to,
            a: w.fr(0)?,
            unsigned: w.has("fxu"),
            truncate: w.has("trunc"),
            field,
        }),
        "fcvt" if w.has("xf") => Some(Op::FromInteger { to, a: w.fr(0)? }),
        "fmerge" => Some(Op::Merge {
            how: match *w.completers.first()? {
                "s" => Merge::Sign,
                "ns" => Merge::NegatedSign,
                "se" => Merge::SignAndExponent,
                _ => return None,
            },
            to,
            a: w.fr(0)?,
            b: w.fr(1)?,
        }),
        "mov" => sign(false, false),
        "fneg" => sign(false, true),
        "fabs" => sign(true, false),
        "fnegabs" => sign(true, true),
        "fselect" => Some(Op::Select {
            to,
            a: w.fr(0)?,
            b: w.fr(1)?,
            c: w.fr(2)?,
        }),
        "fand" => bits(Bits::And),
        "fandcm" => bits(Bits::AndNot),
        "for" => bits(Bits::Or),
        "fxor" => bits(Bits::Xor),
        "fswap" if w.has("nl") => bits(Bits::SwapNegateLeft),
        "fswap" if w.has("nr") => bits(Bits::SwapNegateRight),
        "fswap" => bits(Bits::Swap),
        "fmix" if w.has("l") => bits(Bits::MixLeft),
        "fmix" if w.has("r") => bits(Bits::MixRight),
        "fmix" if w.has("lr") => bits(Bits::MixLeftRight),
        "fsxt" if w.has("l") => bits(Bits::SignLeft),
        "fsxt" if w.has("r") => bits(Bits::SignRight),
        "fpack" => bits(Bits::Pack),
        _ => None,
    }
}
