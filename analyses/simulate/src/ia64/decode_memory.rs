//! Loads, stores, atomic operations and checks.

use super::decode::{Arg, Words, fr};
use super::op::{Atomic, Format, LoadForm, Op, Src};
use isa::ia64::Reg;

pub(super) fn memory(w: &Words<'_>) -> Option<Op> {
    if w.base == "lfetch" {
        // `lfetch.count` has a count and a distance there, and leaves its base.
        let step = if w.has("count") { None } else { step(w, 1)? };
        return Some(Op::Prefetch {
            base: address(w.source(0)?)?,
            step,
        });
    }
    if w.base == "chk" {
        let register = match w.source(0)? {
            Arg::Gr(number) => Reg::general(*number),
            Arg::Fr(number) => Reg::float(*number),
            _ => return None,
        };
        let target = w.imm(1)? as u64;
        return Some(if w.has("a") {
            Op::CheckAdvanced {
                register,
                clear: w.has("clr"),
                target,
            }
        } else {
            Op::CheckNat { register, target }
        });
    }
    load(w)
        .or_else(|| store(w))
        .or_else(|| atomic(w))
        .or_else(|| load_float(w))
        .or_else(|| store_float(w))
}

fn address(arg: &Arg) -> Option<u8> {
    match arg {
        Arg::Mem(register) => Some(*register),
        _ => None,
    }
}

/// Returns the number added to the base behind the access: the source at `at`, if there is one.
fn step(w: &Words<'_>, at: usize) -> Option<Option<Src>> {
    if w.source(at).is_none() {
        return Some(None);
    }
    w.src(at).map(Some)
}

fn form(w: &Words<'_>) -> LoadForm {
    let both = w.has("sa");
    LoadForm {
        speculative: w.has("s") || both,
        advanced: w.has("a") || both,
        check: w.has("c"),
        clear: w.has("clr"),
    }
}

fn load(w: &Words<'_>) -> Option<Op> {
    let bytes = match w.base {
        "ld1" => 1,
        "ld2" => 2,
        "ld4" => 4,
        "ld8" => 8,
        "ld16" => {
            return Some(Op::LoadPair {
                to: w.to()?,
                base: address(w.raw.sources.last()?)?,
            });
        }
        _ => return None,
    };
    // `ld8.mov r = [r], symbol` marks what a linker may relax.
    let step = if w.has("mov") { None } else { step(w, 1)? };
    Some(Op::Load {
        to: w.to()?,
        bytes,
        form: form(w),
        fill: w.has("fill"),
        base: address(w.source(0)?)?,
        step,
    })
}

fn store(w: &Words<'_>) -> Option<Op> {
    let bytes = match w.base {
        "st1" => 1,
        "st2" => 2,
        "st4" => 4,
        "st8" => 8,
        "st16" => {
            return Some(Op::StorePair {
                from: w.gr(0)?,
                base: address(w.target(0)?)?,
            });
        }
        _ => return None,
    };
    Some(Op::Store {
        from: w.gr(0)?,
        bytes,
        spill: w.has("spill"),
        base: address(w.target(0)?)?,
        step: step(w, 1)?,
    })
}

fn atomic(w: &Words<'_>) -> Option<Op> {
    let digits = w.base.find(|letter: char| letter.is_ascii_digit())?;
    let (name, digits) = w.base.split_at(digits);
    let bytes: u32 = digits
        .parse()
        .ok()
        .filter(|size| matches!(size, 1 | 2 | 4 | 8))?;
    let op = match name {
        "xchg" => Atomic::Exchange(w.gr(1)?),
        "cmpxchg" => Atomic::CompareExchange(w.gr(1)?),
        "fetchadd" => Atomic::Add(w.imm(1)?),
        _ => return None,
    };
    Some(Op::Atomic {
        op,
        to: w.to()?,
        bytes,
        base: address(w.source(0)?)?,
    })
}

fn load_float(w: &Words<'_>) -> Option<Op> {
    let (format, pair) = match w.base {
        "ldfs" => (Format::Single, false),
        "ldfd" => (Format::Double, false),
        "ldfe" => (Format::Extended, false),
        "ldf8" => (Format::Integer, false),
        "ldf" if w.has("fill") => (Format::Spill, false),
        "ldfps" => (Format::Single, true),
        "ldfpd" => (Format::Double, true),
        "ldfp8" => (Format::Integer, true),
        _ => return None,
    };
    Some(Op::LoadFloat {
        to: fr(w.target(0)?)?,
        second: if pair { Some(fr(w.target(1)?)?) } else { None },
        format,
        form: form(w),
        base: address(w.source(0)?)?,
        step: step(w, 1)?,
    })
}

fn store_float(w: &Words<'_>) -> Option<Op> {
    let format = match w.base {
        "stfs" => Format::Single,
        "stfd" => Format::Double,
        "stfe" => Format::Extended,
        "stf8" => Format::Integer,
        "stf" if w.has("spill") => Format::Spill,
        _ => return None,
    };
    Some(Op::StoreFloat {
        from: w.fr(0)?,
        format,
        base: address(w.target(0)?)?,
        step: step(w, 1)?,
    })
}
