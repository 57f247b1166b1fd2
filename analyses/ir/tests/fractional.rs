//! Fractional arithmetic against definitions that share nothing with it: one place at a time, in 128 bits.

use ir::numbers::{binary, convert, unary};
use ir::{BinaryOp, Convert, Type, UnaryOp};
use lockstep_ir as ir;

fn limits(bits: u32) -> (i128, i128) {
    (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
}

fn clamp(bits: u32, number: i128) -> i128 {
    let (low, high) = limits(bits);
    if number < low {
        low
    } else if number > high {
        high
    } else {
        number
    }
}

/// One place at a time; a number that leaves the type stays at its limit.
fn moved(bits: u32, x: i128, places: i128) -> i128 {
    let mut x = x;
    for _ in 0..places.unsigned_abs().min(200) {
        x = match places < 0 {
            true => x.div_euclid(2),
            false => clamp(bits, x * 2),
        };
    }
    x
}

/// Halves up.
fn rounded(bits: u32, x: i128) -> i128 {
    let unit = 1i128 << (bits / 2);
    clamp(bits / 2, (2 * x + unit).div_euclid(2 * unit))
}

fn free(bits: u32, x: i128) -> i128 {
    let mut places = 0;
    while x != 0 && clamp(bits, x << (places + 1)) == x << (places + 1) && places < bits as i128 - 1
    {
        places += 1;
    }
    places
}

fn operands(ty: Type) -> Vec<i64> {
    let (low, high) = limits(ty.bits());
    let mut all = vec![
        0, 1, -1, 2, -2, 3, 7, -7, 15, 16, 17, 31, 32, 33, 40, -15, -16, -31, -32, -33,
    ];
    for inward in 0..3 {
        all.extend([low as i64 + inward, high as i64 - inward]);
        all.extend([low as i64 / 2 + inward, high as i64 / 2 - inward]);
    }
    let mut state = 0x5eed_u64;
    for _ in 0..60 {
        state = state
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(0x1405_7b7e_f767_814f);
        let wide = (state >> 11) as i64 ^ (state << 40) as i64;
        let places = (state >> 58) as u32 % ty.bits();
        let shift = 64 - ty.bits();
        all.push((wide << shift >> shift) >> places);
    }
    all.retain(|&number| i128::from(number) >= low && i128::from(number) <= high);
    all
}

#[test]
fn operations_on_two_numbers_are_their_definitions() {
    for ty in [Type::I8, Type::I16, Type::I32, Type::I64] {
        let bits = ty.bits();
        for &x in &operands(ty) {
            for &y in &operands(ty) {
                let of = |op| i128::from(binary(op, ty, ty, ty, x as u64, y as u64) as i64);
                let (a, b) = (i128::from(x), i128::from(y));
                let context = format!("{ty} {x} {y}");
                assert_eq!(
                    of(BinaryOp::AddSaturateSigned),
                    clamp(bits, a + b),
                    "{context}"
                );
                assert_eq!(
                    of(BinaryOp::SubSaturateSigned),
                    clamp(bits, a - b),
                    "{context}"
                );
                assert_eq!(
                    of(BinaryOp::ShlSaturateSigned),
                    moved(bits, a, b),
                    "{context}"
                );
                assert_eq!(
                    of(BinaryOp::ShrSaturateSigned),
                    moved(bits, a, -b),
                    "{context}"
                );
                let quotient = match b {
                    0 if a < 0 => limits(bits).0,
                    0 => limits(bits).1,
                    b => {
                        let size = (a.abs() << (bits - 1)) / b.abs();
                        clamp(bits, if (a < 0) == (b < 0) { size } else { -size })
                    }
                };
                assert_eq!(of(BinaryOp::DivFractional), quotient, "{context}");
                if ty != Type::I64 {
                    let wide = Type::int(2 * bits);
                    let op = BinaryOp::MulFractional;
                    let product = binary(op, ty, ty, wide, x as u64, y as u64) as i64;
                    assert_eq!(i128::from(product), clamp(2 * bits, a * b * 2), "{context}");
                }
            }
        }
    }
}

#[test]
fn operations_on_one_number_are_their_definitions() {
    for ty in [Type::I8, Type::I16, Type::I32, Type::I64] {
        let bits = ty.bits();
        for &x in &operands(ty) {
            let a = i128::from(x);
            let of = |op, to| i128::from(unary(op, ty, to, x as u64) as i64);
            assert_eq!(
                of(UnaryOp::AbsSaturateSigned, ty),
                clamp(bits, a.abs()),
                "{ty} {x}"
            );
            assert_eq!(of(UnaryOp::Normalize, Type::I16), free(bits, a), "{ty} {x}");
            if ty == Type::I8 {
                continue;
            }
            let half = Type::int(bits / 2);
            assert_eq!(of(UnaryOp::RoundHigh, half), rounded(bits, a), "{ty} {x}");
            let kept = convert(Convert::SaturateSigned, ty, half, x as u64) as i64;
            assert_eq!(i128::from(kept), clamp(bits / 2, a), "{ty} {x}");
        }
    }
}
