//! Scalar arithmetic: the result of every lane-wise operation for one lane. Total: no operand makes any of these
//! functions fail. Execution, folding, evaluation by analyses and specialisation all ask it, so that they agree.
//!
//! ```text
//! binary(Add, I8, I8, I8, 127, 1)  ->  -128        convert(FloatToSigned, F32, I32, 3e9)  ->  2147483647
//! ```
//!
//! It speaks of the types and operations of this crate, and so is no crate of its own; it knows no function, no lane and
//! no memory.
//!
//! A value is 64 bits: integers sign-extended from their width, `Bool` 0 or 1, floats as their own bit pattern in the
//! low bits, addresses and handles as they are. Results are in this form, so equal values are equal words.
//!
//! Choices where the IR leaves the value open: a shift by the width or more gives 0, or the sign for an arithmetic
//! right shift; division by zero gives all ones and the remainder the dividend; the most negative number divided by -1
//! is itself. Conversions from float saturate; a NaN becomes 0, or the highest bit alone from f64 or to 64 bits, as PTX has
//! it (PTX ISA, cvt). A NaN result of floating arithmetic is the canonical
//! one of PTX (all ones below the sign; `0x7ff8...` for f64). Minimum and maximum prefer the operand that is a number
//! and order -0 below +0. `f16` and `bf16` compute in wider precision and round once.

use crate::builder::{f16_to_f32, f32_to_bf16, f32_to_f16};
use crate::inst::{BinaryOp, Convert, FloatCondition, IntCondition, TernaryOp, UnaryOp};
use crate::types::Type;

#[cfg(test)]
mod tests;

/// The 64-bit form of the low bits of `bits` as a value of type `ty`.
#[inline]
pub fn canonical(ty: Type, bits: u64) -> u64 {
    match ty {
        Type::Bool => bits & 1,
        Type::I8 => bits as i8 as i64 as u64,
        Type::I16 => bits as i16 as i64 as u64,
        Type::I32 => bits as i32 as i64 as u64,
        Type::I40 => ((bits << 24) as i64 >> 24) as u64,
        Type::F16 | Type::BF16 => bits & 0xffff,
        Type::F32 => bits & 0xffff_ffff,
        Type::I64 | Type::F64 | Type::Ptr(_) | Type::Handle | Type::Opaque => bits,
    }
}

/// The value without sign extension.
#[inline]
pub fn zero_extended(ty: Type, value: u64) -> u64 {
    match ty {
        Type::Bool => value & 1,
        Type::I8 => value as u8 as u64,
        Type::I16 | Type::F16 | Type::BF16 => value as u16 as u64,
        Type::I32 | Type::F32 => value as u32 as u64,
        Type::I40 => value & ((1 << 40) - 1),
        _ => value,
    }
}

/// The exact number that a float value is; integers as signed numbers (rounded to 53 bits).
#[inline]
pub fn to_f64(ty: Type, value: u64) -> f64 {
    match ty {
        Type::F16 => f64::from(f16_to_f32(value as u16)),
        Type::BF16 => f64::from(f32::from_bits((value as u32) << 16)),
        Type::F32 => f64::from(f32::from_bits(value as u32)),
        Type::F64 => f64::from_bits(value),
        _ => value as i64 as f64,
    }
}

/// A number as a value of type `ty`: floats rounded to nearest even, integers truncated and saturated.
#[inline]
pub fn from_f64(ty: Type, number: f64) -> u64 {
    match ty {
        Type::F32 => from_f32(number as f32),
        Type::F64 => {
            if number.is_nan() {
                0x7ff8_0000_0000_0000
            } else {
                number.to_bits()
            }
        }
        Type::F16 => half(f64_to_f32_odd(number)),
        Type::BF16 => brain(f64_to_f32_odd(number)),
        Type::Bool => u64::from(number != 0.0),
        _ => saturate_signed(ty, number as i128),
    }
}

#[inline]
fn from_f32(number: f32) -> u64 {
    if number.is_nan() {
        0x7fff_ffff
    } else {
        u64::from(number.to_bits())
    }
}
fn half(number: f32) -> u64 {
    if number.is_nan() {
        0x7fff
    } else {
        u64::from(f32_to_f16(number))
    }
}
fn brain(number: f32) -> u64 {
    if number.is_nan() {
        0x7fff
    } else {
        u64::from(f32_to_bf16(number))
    }
}

/// Rounds to odd, so that a second rounding to fewer bits is as if done once.
fn f64_to_f32_odd(number: f64) -> f32 {
    let near = number as f32;
    let back = f64::from(near);
    if back == number || number.is_nan() || number.is_infinite() || near.to_bits() & 1 == 1 {
        return near;
    }
    // Of the two neighbours exactly one is odd, and `near` is the even one.
    let outward = back.abs() < number.abs();
    f32::from_bits(if outward {
        near.to_bits() + 1
    } else {
        near.to_bits() - 1
    })
}

/// The 64-bit sum of `a` and `b` rounded to odd.
fn add_odd(a: f64, b: f64) -> f64 {
    let sum = a + b;
    let part = sum - a;
    let error = (a - (sum - part)) + (b - part);
    if error == 0.0 || !error.is_finite() || sum.to_bits() & 1 == 1 {
        return sum;
    }
    let outward = (error > 0.0) == (sum > 0.0);
    f64::from_bits(if outward {
        sum.to_bits() + 1
    } else {
        sum.to_bits() - 1
    })
}

fn int_to_f64_odd(number: i128) -> f64 {
    let near = number as f64;
    let back = near as i128;
    if back == number || near.to_bits() & 1 == 1 {
        return near;
    }
    f64::from_bits(if back.abs() < number.abs() {
        near.to_bits() + 1
    } else {
        near.to_bits() - 1
    })
}

fn saturate_signed(ty: Type, number: i128) -> u64 {
    let bits = ty.bits();
    let (low, high) = (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1);
    number.clamp(low, high) as i64 as u64
}

/// `from` is the operand's type, `to` the result's.
pub fn unary(op: UnaryOp, from: Type, to: Type, x: u64) -> u64 {
    let bits = from.bits();
    let plain = zero_extended(from, x);
    match op {
        UnaryOp::Neg => canonical(to, 0u64.wrapping_sub(x)),
        UnaryOp::Not => canonical(to, !x),
        UnaryOp::IntAbs => canonical(to, (x as i64).wrapping_abs() as u64),
        UnaryOp::IntSign => canonical(to, (x as i64).signum() as u64),
        UnaryOp::PopCount => canonical(to, u64::from(plain.count_ones())),
        UnaryOp::CountLeadingZeros => {
            canonical(to, u64::from(plain.leading_zeros()) - u64::from(64 - bits))
        }
        UnaryOp::CountTrailingZeros => canonical(to, u64::from(plain.trailing_zeros().min(bits))),
        UnaryOp::FindHighBitUnsigned => canonical(to, high_bit(plain)),
        UnaryOp::FindHighBitSigned => {
            let unlike = if (x as i64) < 0 { !x } else { x };
            canonical(to, high_bit(zero_extended(from, unlike)))
        }
        UnaryOp::FindFirstSet => canonical(
            to,
            if plain == 0 {
                0
            } else {
                u64::from(plain.trailing_zeros()) + 1
            },
        ),
        UnaryOp::ReverseBits => canonical(to, plain.reverse_bits() >> (64 - bits)),
        UnaryOp::ReverseBytes => canonical(
            to,
            if bits < 8 {
                plain
            } else {
                plain.swap_bytes() >> (64 - bits)
            },
        ),
        UnaryOp::AbsSaturateSigned => saturate_signed(to, i128::from(x as i64).abs()),
        UnaryOp::Normalize => canonical(to, free_places(x as i64, bits)),
        UnaryOp::RoundHigh => {
            let half = bits / 2;
            let rounded = i128::from(x as i64) + (1i128 << half >> 1);
            saturate_signed(to, rounded >> half)
        }
        UnaryOp::FloatNeg if from.is_float() => canonical(from, x ^ (1 << (bits - 1))),
        UnaryOp::FloatAbs if from.is_float() => canonical(from, x & !(1 << (bits - 1))),
        UnaryOp::SignBit => u64::from(plain >> (bits - 1) & 1 == 1),
        UnaryOp::IsNan => u64::from(to_f64(from, x).is_nan()),
        UnaryOp::IsInf => u64::from(to_f64(from, x).is_infinite()),
        UnaryOp::IsFinite => u64::from(to_f64(from, x).is_finite()),
        UnaryOp::OtherMath => 0,
        _ if from == Type::F32 && to == Type::F32 => {
            match unary_f32(op, f32::from_bits(x as u32)) {
                Some(number) => from_f32(number),
                None => from_f64(to, unary_f64(op, to_f64(from, x))),
            }
        }
        _ => from_f64(to, unary_f64(op, to_f64(from, x))),
    }
}

/// Copies of the sign behind the sign itself; none in 0.
fn free_places(number: i64, bits: u32) -> u64 {
    match number {
        0 => 0,
        number => u64::from((number ^ (number >> 63)).leading_zeros() + bits - 65),
    }
}

/// A shift by a signed number of places, within the limits of a type.
fn shift_saturated(ty: Type, x: i64, places: i64) -> u64 {
    match places {
        ..=0 => canonical(ty, (x >> places.unsigned_abs().min(63)) as u64),
        // What is no zero is beyond all limits at the latest now.
        _ => saturate_signed(ty, i128::from(x) << places.min(63)),
    }
}

fn high_bit(plain: u64) -> u64 {
    if plain == 0 {
        u64::MAX
    } else {
        63 - u64::from(plain.leading_zeros())
    }
}

/// The functions that must be rounded once in single precision, or are much faster there.
fn unary_f32(op: UnaryOp, x: f32) -> Option<f32> {
    Some(match op {
        UnaryOp::Sqrt => x.sqrt(),
        UnaryOp::Reciprocal => 1.0 / x,
        UnaryOp::Floor => x.floor(),
        UnaryOp::Ceil => x.ceil(),
        UnaryOp::TruncFloat => x.trunc(),
        UnaryOp::Round => x.round(),
        UnaryOp::RoundEven => x.round_ties_even(),
        UnaryOp::Fract => x - x.floor(),
        UnaryOp::Sin | UnaryOp::ApproximateSin => x.sin(),
        UnaryOp::Cos | UnaryOp::ApproximateCos => x.cos(),
        UnaryOp::Exp => x.exp(),
        UnaryOp::Exp2 => x.exp2(),
        UnaryOp::Log => x.ln(),
        UnaryOp::Log2 | UnaryOp::ApproximateLog2 => x.log2(),
        _ => return None,
    })
}

fn unary_f64(op: UnaryOp, x: f64) -> f64 {
    match op {
        UnaryOp::FloatNeg => -x,
        UnaryOp::FloatAbs => x.abs(),
        UnaryOp::Sqrt => x.sqrt(),
        UnaryOp::Rsqrt => 1.0 / x.sqrt(),
        UnaryOp::Reciprocal => 1.0 / x,
        UnaryOp::Cbrt => x.cbrt(),
        UnaryOp::Sin | UnaryOp::ApproximateSin => x.sin(),
        UnaryOp::Cos | UnaryOp::ApproximateCos => x.cos(),
        UnaryOp::Tan => x.tan(),
        UnaryOp::Asin => x.asin(),
        UnaryOp::Acos => x.acos(),
        UnaryOp::Atan => x.atan(),
        UnaryOp::Sinh => x.sinh(),
        UnaryOp::Cosh => x.cosh(),
        UnaryOp::Tanh => x.tanh(),
        UnaryOp::Asinh => x.asinh(),
        UnaryOp::Acosh => x.acosh(),
        UnaryOp::Atanh => x.atanh(),
        UnaryOp::Exp => x.exp(),
        UnaryOp::Exp2 => x.exp2(),
        UnaryOp::Exp10 => 10f64.powf(x),
        UnaryOp::Expm1 => x.exp_m1(),
        UnaryOp::Log => x.ln(),
        UnaryOp::Log2 | UnaryOp::ApproximateLog2 => x.log2(),
        UnaryOp::Log10 => x.log10(),
        UnaryOp::Log1p => x.ln_1p(),
        UnaryOp::Erf => 1.0 - erfc(x),
        UnaryOp::Erfc => erfc(x),
        UnaryOp::Gamma => gamma(x),
        UnaryOp::LogGamma => log_gamma(x),
        UnaryOp::Floor => x.floor(),
        UnaryOp::Ceil => x.ceil(),
        UnaryOp::TruncFloat => x.trunc(),
        UnaryOp::Round => x.round(),
        UnaryOp::RoundEven => x.round_ties_even(),
        UnaryOp::Fract => x - x.floor(),
        UnaryOp::Saturate if x > 0.0 => x.min(1.0),
        UnaryOp::FloatSign => f64::from(i8::from(x > 0.0) - i8::from(x < 0.0)),
        // Shader compilers multiply by the constant as an f32; the product of two is exact here.
        UnaryOp::Degrees => x * f64::from((180.0 / std::f64::consts::PI) as f32),
        UnaryOp::Radians => x * f64::from((std::f64::consts::PI / 180.0) as f32),
        _ => 0.0,
    }
}

/// Chebyshev fit of the complementary error function; relative error below 1.2e-7.
fn erfc(x: f64) -> f64 {
    let z = x.abs();
    let t = 1.0 / (1.0 + 0.5 * z);
    const C: [f64; 10] = [
        -1.26551223,
        1.00002368,
        0.37409196,
        0.09678418,
        -0.18628806,
        0.27886807,
        -1.13520398,
        1.48851587,
        -0.82215223,
        0.17087277,
    ];
    let poly = C.iter().rev().fold(0.0, |sum, c| sum * t + c);
    let tail = t * (-z * z + poly).exp();
    if x.is_nan() {
        x
    } else if x >= 0.0 {
        tail
    } else {
        2.0 - tail
    }
}

/// Lanczos approximation, g = 7, nine terms.
fn log_gamma(x: f64) -> f64 {
    const C: [f64; 9] = [
        0.999_999_999_999_809_9,
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    if x < 0.5 {
        let sine = (std::f64::consts::PI * x).sin().abs();
        return (std::f64::consts::PI / sine).ln() - log_gamma(1.0 - x);
    }
    let y = x - 1.0;
    let t = y + 7.5;
    let sum = C
        .iter()
        .enumerate()
        .skip(1)
        .fold(C[0], |sum, (i, c)| sum + c / (y + i as f64));
    0.5 * (2.0 * std::f64::consts::PI).ln() + (y + 0.5) * t.ln() - t + sum.ln()
}

fn gamma(x: f64) -> f64 {
    if x < 0.5 {
        let sine = (std::f64::consts::PI * x).sin();
        std::f64::consts::PI / (sine * gamma(1.0 - x))
    } else {
        log_gamma(x).exp()
    }
}

/// `a` and `b` are the operands' types, `to` the result's.
pub fn binary(op: BinaryOp, a: Type, b: Type, to: Type, x: u64, y: u64) -> u64 {
    let bits = a.bits();
    let (ux, uy) = (zero_extended(a, x), zero_extended(a, y));
    let (sx, sy) = (x as i64, y as i64);
    match op {
        BinaryOp::Add => canonical(to, x.wrapping_add(y)),
        BinaryOp::Sub => canonical(to, x.wrapping_sub(y)),
        BinaryOp::Mul => canonical(to, x.wrapping_mul(y)),
        BinaryOp::MulHighSigned => canonical(to, ((sx as i128 * sy as i128) >> bits) as u64),
        BinaryOp::MulHighUnsigned => canonical(to, ((ux as u128 * uy as u128) >> bits) as u64),
        BinaryOp::Mul24Signed => {
            let low = |v: i64| (v << 40) >> 40;
            canonical(to, low(sx).wrapping_mul(low(sy)) as u64)
        }
        BinaryOp::Mul24Unsigned => canonical(to, (x & 0xff_ffff).wrapping_mul(y & 0xff_ffff)),
        BinaryOp::DivSigned => canonical(
            to,
            if sy == 0 {
                u64::MAX
            } else {
                sx.wrapping_div(sy) as u64
            },
        ),
        BinaryOp::DivUnsigned => canonical(to, ux.checked_div(uy).unwrap_or(u64::MAX)),
        BinaryOp::RemSigned => canonical(
            to,
            if sy == 0 {
                x
            } else {
                sx.wrapping_rem(sy) as u64
            },
        ),
        BinaryOp::RemUnsigned => canonical(to, ux.checked_rem(uy).unwrap_or(ux)),
        BinaryOp::And => canonical(to, x & y),
        BinaryOp::Or => canonical(to, x | y),
        BinaryOp::Xor => canonical(to, x ^ y),
        BinaryOp::Shl => {
            let amount = zero_extended(b, y);
            canonical(
                to,
                if amount >= u64::from(bits) {
                    0
                } else {
                    x << amount
                },
            )
        }
        BinaryOp::ShrUnsigned => {
            let amount = zero_extended(b, y);
            canonical(
                to,
                if amount >= u64::from(bits) {
                    0
                } else {
                    ux >> amount
                },
            )
        }
        BinaryOp::ShrSigned => canonical(to, (sx >> zero_extended(b, y).min(63)) as u64),
        BinaryOp::RotateLeft => {
            let amount = (zero_extended(b, y) % u64::from(bits)) as u32;
            canonical(
                to,
                if amount == 0 {
                    ux
                } else {
                    (ux << amount) | (ux >> (bits - amount))
                },
            )
        }
        BinaryOp::MinSigned => sx.min(sy) as u64,
        BinaryOp::MaxSigned => sx.max(sy) as u64,
        BinaryOp::MinUnsigned => x.min(y),
        BinaryOp::MaxUnsigned => x.max(y),
        BinaryOp::AddSaturateSigned => saturate_signed(a, sx as i128 + sy as i128),
        BinaryOp::SubSaturateSigned => saturate_signed(a, sx as i128 - sy as i128),
        BinaryOp::MulFractional => saturate_signed(to, 2 * i128::from(sx) * i128::from(sy)),
        BinaryOp::ShlSaturateSigned => shift_saturated(to, sx, sy),
        BinaryOp::ShrSaturateSigned => shift_saturated(to, sx, sy.saturating_neg()),
        BinaryOp::DivFractional => {
            let dividend = i128::from(sx) << (bits - 1);
            let limit = match sx < 0 {
                true => i128::MIN,
                false => i128::MAX,
            };
            saturate_signed(to, dividend.checked_div(sy.into()).unwrap_or(limit))
        }
        BinaryOp::FloatMin | BinaryOp::FloatMax => {
            let (fx, fy) = (to_f64(a, x), to_f64(a, y));
            let first = if fx.is_nan() {
                false
            } else if fy.is_nan() {
                true
            } else if fx == fy {
                fx.is_sign_negative() == (op == BinaryOp::FloatMin)
            } else {
                (fx < fy) == (op == BinaryOp::FloatMin)
            };
            let chosen = if first { fx } else { fy };
            from_f64(to, chosen)
        }
        BinaryOp::CopySign if a.is_float() => {
            let sign = 1u64 << (bits - 1);
            canonical(to, (x & !sign) | (y & sign))
        }
        BinaryOp::Ldexp => {
            let exponent = to_f64(b, y).clamp(-3000.0, 3000.0) as i32;
            from_f64(to, scale(to_f64(a, x), exponent))
        }
        BinaryOp::FloatAdd if a == Type::F32 => {
            from_f32(f32::from_bits(x as u32) + f32::from_bits(y as u32))
        }
        BinaryOp::FloatSub if a == Type::F32 => {
            from_f32(f32::from_bits(x as u32) - f32::from_bits(y as u32))
        }
        BinaryOp::FloatMul if a == Type::F32 => {
            from_f32(f32::from_bits(x as u32) * f32::from_bits(y as u32))
        }
        BinaryOp::FloatDiv | BinaryOp::ApproximateDiv if a == Type::F32 => {
            from_f32(f32::from_bits(x as u32) / f32::from_bits(y as u32))
        }
        _ => from_f64(to, binary_f64(op, to_f64(a, x), to_f64(b, y))),
    }
}

/// Double precision; single and half results of the first five are exact to rounding, since 53 >= 2 * 24 + 2.
fn binary_f64(op: BinaryOp, x: f64, y: f64) -> f64 {
    match op {
        BinaryOp::FloatAdd => x + y,
        BinaryOp::FloatSub => x - y,
        BinaryOp::FloatMul => x * y,
        BinaryOp::FloatDiv | BinaryOp::ApproximateDiv => x / y,
        BinaryOp::FloatRem => x % y,
        BinaryOp::FloatRemainder => remainder(x, y),
        BinaryOp::Pow => x.powf(y),
        BinaryOp::Atan2 => x.atan2(y),
        BinaryOp::Hypot => x.hypot(y),
        BinaryOp::CopySign => x.copysign(y),
        BinaryOp::Step => f64::from(u8::from(y >= x)),
        BinaryOp::FloatDim => {
            if x.is_nan() || y.is_nan() {
                f64::NAN
            } else if x > y {
                x - y
            } else {
                0.0
            }
        }
        _ => 0.0,
    }
}

/// x * 2^exponent with one rounding at most.
fn scale(x: f64, exponent: i32) -> f64 {
    let step = |e: i32| f64::from_bits(((e + 1023) as u64) << 52);
    let mut left = exponent;
    let mut value = x;
    while left > 1023 {
        value *= step(1023);
        left -= 1023;
    }
    while left < -969 {
        // 2^-969 keeps 53 bits of a normal number, so that only the last factor can round.
        value *= step(-969);
        left += 969;
    }
    value * step(left)
}

/// IEEE remainder: quotient rounded to nearest, halves to even.
fn remainder(x: f64, y: f64) -> f64 {
    if x.is_nan() || y.is_nan() || x.is_infinite() || y == 0.0 {
        return f64::NAN;
    }
    if y.is_infinite() {
        return x;
    }
    let size = y.abs();
    let mut rest = if size <= f64::MAX / 2.0 {
        (x % (2.0 * size)).abs()
    } else {
        x.abs()
    };
    if rest > size - rest {
        rest -= size;
        if rest >= size - rest {
            rest -= size;
        }
    }
    if x.is_sign_negative() { -rest } else { rest }
}

/// `a * b + c` rounded once.
pub fn fma(ty: Type, a: u64, b: u64, c: u64) -> u64 {
    match ty {
        Type::F32 => {
            let f = |bits: u64| f32::from_bits(bits as u32);
            from_f32(f(a).mul_add(f(b), f(c)))
        }
        Type::F64 => from_f64(
            ty,
            f64::from_bits(a).mul_add(f64::from_bits(b), f64::from_bits(c)),
        ),
        Type::F16 | Type::BF16 => {
            from_f64(ty, add_odd(to_f64(ty, a) * to_f64(ty, b), to_f64(ty, c)))
        }
        _ => canonical(ty, a.wrapping_mul(b).wrapping_add(c)),
    }
}

/// `ty` is the type of operand 0 and of the result, `args` the operands. Shifts of funnels are taken modulo the width;
/// two-element products take the halves of operand 0 and the low two bytes of operand 1.
pub fn ternary(op: TernaryOp, ty: Type, to: Type, args: [u64; 4]) -> u64 {
    let [x, y, z, w] = args;
    let bits = ty.bits();
    let u = |v: u64| zero_extended(ty, v);
    match op {
        TernaryOp::BitExtractUnsigned | TernaryOp::BitExtractSigned => {
            let (position, length) = (y & 0xff, (z & 0xff) as u32);
            let signed = op == TernaryOp::BitExtractSigned;
            if length == 0 {
                return 0;
            }
            // Above the highest bit come zeros or copies of the sign.
            let source = if signed { x } else { u(x) };
            let shifted = if signed {
                ((source as i64) >> position.min(63)) as u64
            } else {
                source.checked_shr(position as u32).unwrap_or(0)
            };
            let field = if length >= 64 {
                shifted
            } else if signed {
                (((shifted << (64 - length)) as i64) >> (64 - length)) as u64
            } else {
                shifted & ((1 << length) - 1)
            };
            canonical(to, field)
        }
        TernaryOp::BitInsert => {
            let (position, length) = (z & 0xff, (w & 0xff).min(64) as u32);
            let ones = if length >= 64 {
                u64::MAX
            } else {
                (1 << length) - 1
            };
            let mask = ones.checked_shl(position as u32).unwrap_or(0);
            let field = x.checked_shl(position as u32).unwrap_or(0);
            canonical(to, (y & !mask) | (field & mask))
        }
        TernaryOp::FunnelLeft | TernaryOp::FunnelRight => {
            let pair = (u128::from(u(y)) << bits) | u128::from(u(x));
            let amount = (z % u64::from(bits)) as u32;
            let shifted = if op == TernaryOp::FunnelLeft {
                (pair << amount) >> bits
            } else {
                pair >> amount
            };
            canonical(to, shifted as u64)
        }
        TernaryOp::BytePermute => {
            let pool = (y & 0xffff_ffff) << 32 | (x & 0xffff_ffff);
            let mut result = 0u64;
            for i in 0..4 {
                let pick = z >> (4 * i) & 0xf;
                let byte = pool >> (8 * (pick & 7)) & 0xff;
                let byte = if pick & 8 == 0 {
                    byte
                } else if byte & 0x80 != 0 {
                    0xff
                } else {
                    0
                };
                result |= byte << (8 * i);
            }
            canonical(to, result)
        }
        TernaryOp::Lop3 => {
            let mut result = 0u64;
            for row in 0..8u64 {
                if w >> row & 1 == 1 {
                    let a = if row & 4 != 0 { x } else { !x };
                    let b = if row & 2 != 0 { y } else { !y };
                    let c = if row & 1 != 0 { z } else { !z };
                    result |= a & b & c;
                }
            }
            canonical(to, result)
        }
        TernaryOp::SadSigned => {
            let distance = (x as i64 as i128 - y as i64 as i128).unsigned_abs() as u64;
            canonical(to, distance.wrapping_add(z))
        }
        TernaryOp::SadUnsigned => canonical(to, u(x).abs_diff(u(y)).wrapping_add(z)),
        TernaryOp::Dot4Signed | TernaryOp::Dot4Unsigned => {
            let mut sum = z;
            for i in 0..4 {
                let (a, b) = ((x >> (8 * i)) as u8, (y >> (8 * i)) as u8);
                let product = if op == TernaryOp::Dot4Signed {
                    i64::from(a as i8) * i64::from(b as i8)
                } else {
                    i64::from(a) * i64::from(b)
                };
                sum = sum.wrapping_add(product as u64);
            }
            canonical(to, sum)
        }
        TernaryOp::Dot2Signed | TernaryOp::Dot2Unsigned => {
            let mut sum = z;
            for i in 0..2 {
                let (a, b) = ((x >> (16 * i)) as u16, (y >> (8 * i)) as u8);
                let product = if op == TernaryOp::Dot2Signed {
                    i64::from(a as i16) * i64::from(b as i8)
                } else {
                    i64::from(a) * i64::from(b)
                };
                sum = sum.wrapping_add(product as u64);
            }
            canonical(to, sum)
        }
        TernaryOp::SmoothStep => {
            let (a, b, t) = (to_f64(ty, x), to_f64(ty, y), to_f64(ty, z));
            let t = unary_f64(UnaryOp::Saturate, (t - a) / (b - a));
            from_f64(to, t * t * (3.0 - 2.0 * t))
        }
    }
}

/// Sign extension keeps the unsigned order as well, so both orders compare whole words.
#[inline]
pub fn int_compare(condition: IntCondition, x: u64, y: u64) -> bool {
    let (sx, sy) = (x as i64, y as i64);
    match condition {
        IntCondition::Equal => x == y,
        IntCondition::NotEqual => x != y,
        IntCondition::LessSigned => sx < sy,
        IntCondition::LessEqualSigned => sx <= sy,
        IntCondition::GreaterSigned => sx > sy,
        IntCondition::GreaterEqualSigned => sx >= sy,
        IntCondition::LessUnsigned => x < y,
        IntCondition::LessEqualUnsigned => x <= y,
        IntCondition::GreaterUnsigned => x > y,
        IntCondition::GreaterEqualUnsigned => x >= y,
    }
}

#[inline]
pub fn float_compare(condition: FloatCondition, ty: Type, x: u64, y: u64) -> bool {
    let (x, y) = (to_f64(ty, x), to_f64(ty, y));
    let unordered = x.is_nan() || y.is_nan();
    match condition {
        FloatCondition::Equal => x == y,
        FloatCondition::NotEqual => !unordered && x != y,
        FloatCondition::Less => x < y,
        FloatCondition::LessEqual => x <= y,
        FloatCondition::Greater => x > y,
        FloatCondition::GreaterEqual => x >= y,
        FloatCondition::EqualUnordered => unordered || x == y,
        FloatCondition::NotEqualUnordered => x != y,
        FloatCondition::LessUnordered => unordered || x < y,
        FloatCondition::LessEqualUnordered => unordered || x <= y,
        FloatCondition::GreaterUnordered => unordered || x > y,
        FloatCondition::GreaterEqualUnordered => unordered || x >= y,
        FloatCondition::Ordered => !unordered,
        FloatCondition::Unordered => unordered,
    }
}

/// `SpaceCast` is an operation on addresses and not done here: it gives its operand.
pub fn convert(kind: Convert, from: Type, to: Type, x: u64) -> u64 {
    match kind {
        Convert::Truncate | Convert::Bitcast => canonical(to, x),
        Convert::SaturateSigned => saturate_signed(to, i128::from(x as i64)),
        Convert::ZeroExtend => canonical(to, zero_extended(from, x)),
        Convert::SignExtend => canonical(
            to,
            if from == Type::Bool {
                0u64.wrapping_sub(x)
            } else {
                x
            },
        ),
        Convert::FloatToSigned | Convert::FloatToUnsigned
            if to.is_int()
                && (from == Type::F64 || to == Type::I64)
                && to_f64(from, x).is_nan() =>
        {
            canonical(to, 1 << (to.bits() - 1))
        }
        Convert::FloatToSigned => {
            let number = to_f64(from, x);
            if to == Type::Bool {
                u64::from(number != 0.0)
            } else {
                saturate_signed(to, number as i128)
            }
        }
        Convert::FloatToUnsigned => {
            let limit = u64::MAX >> (64 - to.bits());
            canonical(to, (to_f64(from, x) as u64).min(limit))
        }
        Convert::SignedToFloat => int_to_float(to, i128::from(x as i64)),
        Convert::UnsignedToFloat => int_to_float(to, i128::from(zero_extended(from, x))),
        Convert::FloatToFloat => from_f64(to, to_f64(from, x)),
        Convert::ToBool => u64::from(if from.is_float() {
            to_f64(from, x) != 0.0
        } else {
            x != 0
        }),
        Convert::SpaceCast => x,
    }
}

fn int_to_float(to: Type, number: i128) -> u64 {
    match to {
        Type::F32 => from_f32(number as f32),
        Type::F64 => (number as f64).to_bits(),
        _ => from_f64(to, int_to_f64_odd(number)),
    }
}
