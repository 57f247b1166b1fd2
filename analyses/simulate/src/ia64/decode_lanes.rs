//! Instructions on the elements of a general register.

use super::decode::{Arg, Words};
use super::op::{Lanes, Op, Saturation, Shift, Src};
use syntax::ia64::Expr;

fn saturation(w: &Words<'_>) -> Option<Saturation> {
    Some(match w.completers.first() {
        None => Saturation::Wrap,
        Some(&"sss") => Saturation::Sss,
        Some(&"uuu") => Saturation::Uuu,
        Some(&"uus") => Saturation::Uus,
        _ => return None,
    })
}

pub(super) fn lanes(w: &Words<'_>) -> Option<Op> {
    let size = w.base.chars().last()?.to_digit(10)?;
    let name = &w.base[..w.base.len() - 1];
    let (left, high) = (w.has("l"), w.has("h"));
    let op = match name {
        "padd" => Lanes::Add(saturation(w)?),
        "psub" => Lanes::Sub(saturation(w)?),
        "pavg" => Lanes::Average { raz: w.has("raz") },
        "pavgsub" => Lanes::AverageSub,
        "pcmp" if w.has("eq") => Lanes::Equal,
        "pcmp" if w.has("gt") => Lanes::Greater,
        "pmpy" if left => Lanes::MultiplyLeft,
        "pmpy" if w.has("r") => Lanes::MultiplyRight,
        "pmpyshr" => Lanes::MultiplyShift {
            unsigned: w.has("u"),
            count: w.count(2)?,
        },
        "pshladd" => {
            return Some(Op::Lanes {
                op: Lanes::ShiftLeftAdd(w.count(1)?),
                bytes: size,
                to: w.to()?,
                a: w.gr(0)?,
                b: Src::Reg(w.gr(2)?),
            });
        }
        "pshradd" => {
            return Some(Op::Lanes {
                op: Lanes::ShiftRightAdd(w.count(1)?),
                bytes: size,
                to: w.to()?,
                a: w.gr(0)?,
                b: Src::Reg(w.gr(2)?),
            });
        }
        "pmin" if size == 1 => Lanes::MinUnsigned,
        "pmax" if size == 1 => Lanes::MaxUnsigned,
        "pmin" => Lanes::Min,
        "pmax" => Lanes::Max,
        "psad" => Lanes::Differences,
        "pshl" => Lanes::Shift(Shift::Left),
        "pshr" if w.has("u") => Lanes::Shift(Shift::RightUnsigned),
        "pshr" => Lanes::Shift(Shift::Right),
        "pack" if w.has("sss") => Lanes::PackSigned,
        "pack" if w.has("uss") => Lanes::PackUnsigned,
        "unpack" if high => Lanes::UnpackHigh,
        "unpack" if left => Lanes::UnpackLow,
        "mix" if left => Lanes::MixLeft,
        "mix" if w.has("r") => Lanes::MixRight,
        "mux" => return permute(w, size),
        _ => return None,
    };
    matches!(size, 1 | 2 | 4).then_some(())?;
    Some(Op::Lanes {
        op,
        bytes: size,
        to: w.to()?,
        a: w.gr(0)?,
        b: w.src(1)?,
    })
}

fn permute(w: &Words<'_>, bytes: u32) -> Option<Op> {
    let places: Vec<u32> = match (bytes, w.source(1)?) {
        (1, Arg::Symbolic(Expr::Function { name, .. })) => match &**name {
            "@brcst" => vec![0; 8],
            "@rev" => vec![7, 6, 5, 4, 3, 2, 1, 0],
            "@mix" => vec![0, 4, 2, 6, 1, 5, 3, 7],
            "@shuf" => vec![0, 4, 1, 5, 2, 6, 3, 7],
            "@alt" => vec![0, 2, 4, 6, 1, 3, 5, 7],
            _ => return None,
        },
        (2, _) => {
            let order = w.count(1).or_else(|| u32::try_from(w.imm(1)?).ok())?;
            (0..4).map(|place| order >> (2 * place) & 3).collect()
        }
        _ => return None,
    };
    let order = places
        .iter()
        .rev()
        .fold(0, |order, element| order << 3 | element);
    Some(Op::Permute {
        bytes,
        to: w.to()?,
        a: w.gr(0)?,
        order,
    })
}
