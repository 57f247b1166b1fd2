//! Operations on the elements of a general register.
//!
//! Source: Intel, *Itanium Architecture Software Developer's Manual*, volume 3, the pages of `padd` to `unpack`.

use super::op::{Lanes, Saturation, Shift};

/// An element, without its sign.
fn element(value: u64, bytes: u32, at: u32) -> u64 {
    value >> (8 * bytes * at) & (u64::MAX >> (64 - 8 * bytes))
}
fn signed(value: u64, bytes: u32, at: u32) -> i64 {
    let up = 64 - 8 * bytes;
    (element(value, bytes, at) << up) as i64 >> up
}
fn collect(bytes: u32, of: impl Fn(u32) -> u64) -> u64 {
    let mask = u64::MAX >> (64 - 8 * bytes);
    (0..8 / bytes).fold(0, |all, at| all | (of(at) & mask) << (8 * bytes * at))
}
fn saturated(value: i64, bytes: u32, as_signed: bool) -> u64 {
    let bits = 8 * bytes;
    let (least, most) = if as_signed {
        (-(1i64 << (bits - 1)), (1i64 << (bits - 1)) - 1)
    } else {
        (0, (1i64 << bits) - 1)
    };
    value.clamp(least, most) as u64
}

pub(super) fn apply(op: Lanes, bytes: u32, a: u64, b: u64) -> u64 {
    let both = |of: &dyn Fn(i64, i64) -> i64, as_signed: bool| {
        collect(bytes, |at| {
            if as_signed {
                of(signed(a, bytes, at), signed(b, bytes, at)) as u64
            } else {
                of(element(a, bytes, at) as i64, element(b, bytes, at) as i64) as u64
            }
        })
    };
    let all = |holds: bool| if holds { -1 } else { 0 };
    match op {
        Lanes::Add(how) => arithmetic(how, bytes, a, b, i64::wrapping_add),
        Lanes::Sub(how) => arithmetic(how, bytes, a, b, i64::wrapping_sub),
        Lanes::Average { raz: true } => both(&|x, y| (x + y + 1) >> 1, false),
        Lanes::Average { raz: false } => both(&|x, y| (x + y) >> 1 | (x + y) & 1, false),
        Lanes::AverageSub => both(&|x, y| (x - y) >> 1 | (x - y) & 1, false),
        Lanes::Equal => both(&|x, y| all(x == y), true),
        Lanes::Greater => both(&|x, y| all(x > y), true),
        Lanes::ShiftLeftAdd(count) => both(
            &|x, y| {
                let shifted = saturated(x << count.min(16), bytes, true) as i64;
                saturated(shifted + y, bytes, true) as i64
            },
            true,
        ),
        Lanes::ShiftRightAdd(count) => both(
            &|x, y| saturated((x >> count.min(16)) + y, bytes, true) as i64,
            true,
        ),
        Lanes::MultiplyLeft | Lanes::MultiplyRight => {
            let first = u32::from(op == Lanes::MultiplyLeft);
            collect(4, |at| {
                let at = 2 * at + first;
                signed(a, 2, at).wrapping_mul(signed(b, 2, at)) as u64
            })
        }
        Lanes::MultiplyShift { unsigned, count } => {
            both(&|x, y| (x * y) >> count.min(63), !unsigned)
        }
        Lanes::MinUnsigned => both(&|x, y| x.min(y), false),
        Lanes::MaxUnsigned => both(&|x, y| x.max(y), false),
        Lanes::Min => both(&|x, y| x.min(y), true),
        Lanes::Max => both(&|x, y| x.max(y), true),
        Lanes::Differences => (0..8)
            .map(|at| element(a, 1, at).abs_diff(element(b, 1, at)))
            .sum(),
        Lanes::Shift(how) => {
            let (far, by) = (b > 63, b as u32 & 63);
            collect(bytes, |at| match how {
                Shift::Left if far => 0,
                Shift::Left => element(a, bytes, at) << by,
                Shift::RightUnsigned if far => 0,
                Shift::RightUnsigned => element(a, bytes, at) >> by,
                Shift::Right => (signed(a, bytes, at) >> if far { 63 } else { by }) as u64,
            })
        }
        Lanes::PackSigned | Lanes::PackUnsigned => {
            let half = 4 / bytes.clamp(2, 4) * 2;
            let half = half.clamp(2, 4);
            collect(bytes / 2, |at| {
                let from = if at < half { a } else { b };
                let value = signed(from, bytes, at % half);
                saturated(value, bytes / 2, op == Lanes::PackSigned)
            })
        }
        Lanes::UnpackHigh | Lanes::UnpackLow => {
            let first = if op == Lanes::UnpackHigh {
                4 / bytes
            } else {
                0
            };
            collect(bytes, |at| {
                let from = if at % 2 == 1 { a } else { b };
                element(from, bytes, first + at / 2)
            })
        }
        Lanes::MixLeft | Lanes::MixRight => {
            let odd = u32::from(op == Lanes::MixLeft);
            collect(bytes, |at| {
                let from = if at % 2 == 1 { a } else { b };
                element(from, bytes, at / 2 * 2 + odd)
            })
        }
    }
}

fn arithmetic(how: Saturation, bytes: u32, a: u64, b: u64, of: fn(i64, i64) -> i64) -> u64 {
    collect(bytes, |at| {
        let unsigned = |value: u64| element(value, bytes, at) as i64;
        match how {
            Saturation::Wrap => of(unsigned(a), unsigned(b)) as u64,
            Saturation::Sss => {
                saturated(of(signed(a, bytes, at), signed(b, bytes, at)), bytes, true)
            }
            Saturation::Uuu => saturated(of(unsigned(a), unsigned(b)), bytes, false),
            Saturation::Uus => saturated(of(unsigned(a), signed(b, bytes, at)), bytes, false),
        }
    })
}

/// `czx`: the index of the first element that is zero, from the left or the right; how many there are, if none.
pub(super) fn zero_index(value: u64, bytes: u32, left: bool) -> i64 {
    let count = 8 / bytes;
    (0..count)
        .find(|&at| {
            let place = if left { count - 1 - at } else { at };
            element(value, bytes, place) == 0
        })
        .unwrap_or(count)
        .into()
}

/// `mux`: three bits a place say which element goes there.
pub(super) fn permuted(value: u64, bytes: u32, order: u32) -> u64 {
    collect(bytes, |at| element(value, bytes, order >> (3 * at) & 7))
}
