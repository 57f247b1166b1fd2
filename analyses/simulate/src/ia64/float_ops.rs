//! Operations on floating-point registers beside multiply-add: comparison, classes, reciprocal approximations, logic on
//! significands.
//!
//! Reciprocals come from the architecture's tables of 256 entries of 10 bits, which are the nearest to the reciprocal
//! of each interval's middle: Newton sequences behind them round as on the machine.
//!
//! Source: Intel, *Itanium Architecture Software Developer's Manual*, volume 3, `frcpa`, `frsqrta`, `fclass`, `fcmp`.

use super::float::{BIAS, Class, Float, Mode, Rounding, SPECIAL, fused};
use std::cmp::Ordering;

/// The order of two values; `None`: a NaN is among them.
pub(super) fn order(a: Float, b: Float) -> Option<Ordering> {
    if a.is_nan() || b.is_nan() {
        return None;
    }
    let key = |value: Float| match value.class() {
        Class::Zero | Class::NaTVal | Class::Nan => (0, i64::MIN, 0),
        Class::Infinity => (1, i64::MAX, 0),
        Class::Finite => {
            let (significand, last) = value.normalised();
            (1, i64::from(last), significand)
        }
    };
    let sign = |value: Float, zero: bool| i8::from(!zero) * if value.sign { -1 } else { 1 };
    let (x, y) = (key(a), key(b));
    let (left, right) = (sign(a, x.0 == 0), sign(b, y.0 == 0));
    Some(
        left.cmp(&right)
            .then_with(|| if left < 0 { y.cmp(&x) } else { x.cmp(&y) }),
    )
}

/// Returns whether a value is of one of the classes of a mask; `None` for a NaTVal that the mask does not
/// name.
pub(super) fn in_class(value: Float, mask: i64) -> Option<bool> {
    let has = |bit: i64| mask & bit != 0;
    Some(match value.class() {
        Class::NaTVal => {
            if !has(0x100) {
                return None;
            }
            true
        }
        Class::Nan if value.significand & 0x4000_0000_0000_0000 != 0 => has(0x80),
        Class::Nan => has(0x40),
        class => {
            let sign = if value.sign { has(2) } else { has(1) };
            let kind = match class {
                Class::Zero => has(4),
                Class::Infinity => has(0x20),
                _ if value.exponent == 0 || value.significand >> 63 == 0 => has(8),
                _ => has(0x10),
            };
            sign && kind
        }
    })
}

/// `frcpa`: a value and whether it is the approximation that a sequence goes on with.
pub(super) fn reciprocal(numerator: Float, denominator: Float) -> (Float, bool) {
    if numerator.is_natval() || denominator.is_natval() {
        return (Float::NATVAL, false);
    }
    for each in [denominator, numerator] {
        if each.is_nan() {
            return (each.quiet(), false);
        }
    }
    let sign = numerator.sign != denominator.sign;
    match (numerator.class(), denominator.class()) {
        (Class::Infinity, Class::Infinity) | (Class::Zero, Class::Zero) => {
            return (Float::NAN, false);
        }
        (Class::Infinity, _) | (_, Class::Zero) => return (Float::infinity(sign), false),
        (_, Class::Infinity) | (Class::Zero, _) => return (Float::zero(sign), false),
        _ => {}
    }
    let (significand, last) = denominator.normalised();
    let index = significand << 1 >> 56;
    let middle = 513 + 2 * index;
    // 2/middle in units of 2^-10, to nearest, less the leading one.
    let entry = ((1u64 << 21) + middle) / (2 * middle) - 1024;
    let exponent = 2 * BIAS - 1 - (last + 63 + BIAS);
    let value = Float::new(
        denominator.sign,
        exponent.clamp(1, 0x1_fffd) as u32,
        1 << 63 | entry << 53,
    );
    (value, true)
}

/// `frsqrta`
pub(super) fn reciprocal_root(value: Float) -> (Float, bool) {
    match value.class() {
        Class::NaTVal => return (Float::NATVAL, false),
        Class::Nan => return (value.quiet(), false),
        Class::Zero => return (value, false),
        _ if value.sign => return (Float::NAN, false),
        Class::Infinity => return (value, false),
        Class::Finite => {}
    }
    let (significand, last) = value.normalised();
    let exponent = last + 63 + BIAS;
    let index = significand << 1 >> 57;
    // The middle of the interval, in [1, 4); roots of doubles are exact to half a bit, far beyond the table's ten.
    let even = exponent & 1 == 0;
    let middle = (257 + 2 * index) as f64 / 256.0 * if even { 2.0 } else { 1.0 };
    let entry = (2048.0 / middle.sqrt()).round() as u64 - 1024;
    let exponent = BIAS - 1 - ((exponent - BIAS) >> 1);
    let value = Float::new(
        false,
        exponent.clamp(1, 0x1_fffd) as u32,
        1 << 63 | entry.min(1023) << 53,
    );
    (value, true)
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Merge {
    /// The sign of the first, the rest of the second.
    Sign,
    NegatedSign,
    SignAndExponent,
}

pub(super) fn merge(how: Merge, a: Float, b: Float) -> Float {
    if a.is_natval() || b.is_natval() {
        return Float::NATVAL;
    }
    match how {
        Merge::Sign => Float { sign: a.sign, ..b },
        Merge::NegatedSign => Float { sign: !a.sign, ..b },
        Merge::SignAndExponent => Float {
            significand: b.significand,
            ..a
        },
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Bits {
    And,
    AndNot,
    Or,
    Xor,
    /// Halves of 32 bits: those of the two operands swapped or mixed.
    Swap,
    SwapNegateLeft,
    SwapNegateRight,
    MixLeft,
    MixRight,
    MixLeftRight,
    SignLeft,
    SignRight,
    Pack,
}

/// Operations on significands; their result is an integer.
pub(super) fn bits(how: Bits, a: Float, b: Float) -> Float {
    if a.is_natval() || b.is_natval() {
        return Float::NATVAL;
    }
    let (x, y) = (a.significand, b.significand);
    let (left, right) = (|v: u64| v >> 32, |v: u64| v & 0xffff_ffff);
    let join = |high: u64, low: u64| high << 32 | right(low);
    let extension = |v: u64| if v >> 31 & 1 != 0 { 0xffff_ffff } else { 0 };
    let flip = 1 << 31;
    Float::integer(match how {
        Bits::And => x & y,
        Bits::AndNot => x & !y,
        Bits::Or => x | y,
        Bits::Xor => x ^ y,
        Bits::Swap => join(right(x), left(y)),
        Bits::SwapNegateLeft => join(right(x) ^ flip, left(y)),
        Bits::SwapNegateRight => join(right(x), left(y) ^ flip),
        Bits::MixLeft => join(left(x), left(y)),
        Bits::MixRight => join(right(x), right(y)),
        Bits::MixLeftRight => join(left(x), right(y)),
        Bits::SignLeft => join(extension(left(x)), left(y)),
        Bits::SignRight => join(extension(right(x)), right(y)),
        Bits::Pack => join(single(a).into(), single(b).into()),
    })
}

/// Rounded to the format of singles.
fn single(value: Float) -> u32 {
    fused(value, Float::ONE, None, &Rounding::SINGLE).to_single()
}

/// Precision, range and direction of an operation: from its completers, and from its field of `ar.fpsr` for
/// the rest. `bits` of 0: the field says.
pub(super) fn rounding(fpsr: u64, field: u32, bits: u32) -> Rounding {
    let controls = fpsr >> (6 + 13 * field);
    let wide = controls & 2 != 0;
    let dynamic = bits == 0;
    let bits = match (bits, controls >> 2 & 3) {
        (24 | 53, _) => bits,
        (_, 0) => 24,
        (_, 2) => 53,
        _ => 64,
    };
    let (least, most) = match (wide, dynamic, bits) {
        (true, ..) => (1 - BIAS, SPECIAL as i32 - 1 - BIAS),
        (_, true, _) => (-16382, 16383),
        (_, _, 24) => (-126, 127),
        _ => (-1022, 1023),
    };
    let mode = match controls >> 4 & 3 {
        0 => Mode::Nearest,
        1 => Mode::Down,
        2 => Mode::Up,
        _ => Mode::Truncate,
    };
    Rounding {
        bits,
        least,
        most,
        mode,
    }
}
