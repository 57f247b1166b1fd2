//! Tables of operands and results.

use super::*;
use crate::numbers;

fn bits(ty: Type, value: f64) -> u64 {
    numbers::from_f64(ty, value)
}
const MINUS: fn(i64) -> u64 = |v| v as u64;

#[test]
fn integer_operations_wrap_by_width() {
    use BinaryOp::*;
    let table: &[(BinaryOp, Type, i64, i64, i64)] = &[
        (Add, Type::I8, 127, 1, -128),
        (Add, Type::I32, i32::MAX as i64, 1, i32::MIN as i64),
        (Add, Type::I64, i64::MAX, 1, i64::MIN),
        (Sub, Type::I16, -32768, 1, 32767),
        (Mul, Type::I32, 0x1_0001, 0x1_0001, 0x2_0001),
        (MulHighSigned, Type::I32, -1, 1, -1),
        (MulHighUnsigned, Type::I32, -1, -1, -2),
        (MulHighUnsigned, Type::I64, -1, -1, -2),
        (MulHighSigned, Type::I64, i64::MIN, 2, -1),
        (Mul24Signed, Type::I32, 0xff_ffff, 3, -3),
        (Mul24Unsigned, Type::I32, 0x100_0002, 3, 6),
        (DivSigned, Type::I32, -7, 2, -3),
        (DivSigned, Type::I32, i32::MIN as i64, -1, i32::MIN as i64),
        (DivSigned, Type::I32, 5, 0, -1),
        (DivUnsigned, Type::I32, -1, 2, 0x7fff_ffff),
        (DivUnsigned, Type::I8, 5, 0, -1),
        (RemSigned, Type::I32, -7, 2, -1),
        (RemSigned, Type::I64, i64::MIN, -1, 0),
        (RemSigned, Type::I32, -7, 0, -7),
        (RemUnsigned, Type::I32, -1, 10, 5),
        (RemUnsigned, Type::I32, -1, 0, -1),
        (Shl, Type::I32, 1, 31, i32::MIN as i64),
        (Shl, Type::I32, 1, 32, 0),
        (Shl, Type::I32, 1, -1, 0),
        (Shl, Type::I8, 1, 8, 0),
        (ShrUnsigned, Type::I32, -1, 1, 0x7fff_ffff),
        (ShrUnsigned, Type::I32, -1, 32, 0),
        (ShrSigned, Type::I32, -8, 1, -4),
        (ShrSigned, Type::I32, -8, 99, -1),
        (ShrSigned, Type::I32, 8, 99, 0),
        (RotateLeft, Type::I32, i32::MIN as i64 + 1, 1, 3),
        (RotateLeft, Type::I8, 0x41, 9, -126),
        (MinSigned, Type::I32, -1, 1, -1),
        (MinUnsigned, Type::I32, -1, 1, 1),
        (MaxSigned, Type::I32, -1, 1, 1),
        (MaxUnsigned, Type::I32, -1, 1, -1),
        (
            AddSaturateSigned,
            Type::I32,
            i32::MAX as i64,
            5,
            i32::MAX as i64,
        ),
        (SubSaturateSigned, Type::I64, i64::MIN, 5, i64::MIN),
        (AddSaturateSigned, Type::I8, -100, -100, -128),
        (Xor, Type::I16, 0x5555, -1, -21846),
    ];
    for &(op, ty, x, y, wanted) in table {
        let found = numbers::binary(op, ty, ty, ty, MINUS(x), MINUS(y));
        assert_eq!(found as i64, wanted, "{op:?} {ty} {x} {y}");
    }
    // The amount of a shift has its own type.
    let far = numbers::binary(
        BinaryOp::Shl,
        Type::I64,
        Type::I8,
        Type::I64,
        1,
        MINUS(-128),
    );
    assert_eq!(far, 0);
}

#[test]
fn bit_counts() {
    use UnaryOp::*;
    let table: &[(UnaryOp, Type, Type, i64, i64)] = &[
        (PopCount, Type::I8, Type::I32, -1, 8),
        (PopCount, Type::I64, Type::I32, -1, 64),
        (CountLeadingZeros, Type::I16, Type::I32, 1, 15),
        (CountLeadingZeros, Type::I32, Type::I32, 0, 32),
        (CountLeadingZeros, Type::I32, Type::I32, -1, 0),
        (CountTrailingZeros, Type::I32, Type::I32, 0, 32),
        (CountTrailingZeros, Type::I64, Type::I32, 8, 3),
        (FindHighBitUnsigned, Type::I32, Type::I32, 0, -1),
        (FindHighBitUnsigned, Type::I32, Type::I32, -1, 31),
        (FindHighBitSigned, Type::I32, Type::I32, -1, -1),
        (FindHighBitSigned, Type::I32, Type::I32, -2, 0),
        (FindHighBitSigned, Type::I32, Type::I32, 0x100, 8),
        (FindFirstSet, Type::I32, Type::I32, 0, 0),
        (FindFirstSet, Type::I32, Type::I32, 8, 4),
        (ReverseBits, Type::I8, Type::I8, 1, -128),
        (ReverseBits, Type::I32, Type::I32, 1, i32::MIN as i64),
        (ReverseBytes, Type::I32, Type::I32, 0x0102_0304, 0x0403_0201),
        (ReverseBytes, Type::I16, Type::I16, 0x80, -32768),
        (Neg, Type::I32, Type::I32, i32::MIN as i64, i32::MIN as i64),
        (IntAbs, Type::I8, Type::I8, -128, -128),
        (IntSign, Type::I32, Type::I32, -9, -1),
        (Not, Type::Bool, Type::Bool, 1, 0),
        (Not, Type::I32, Type::I32, 0, -1),
    ];
    for &(op, from, to, x, wanted) in table {
        assert_eq!(
            numbers::unary(op, from, to, MINUS(x)) as i64,
            wanted,
            "{op:?} {from} {x}"
        );
    }
}

#[test]
fn conversions_saturate_and_extend() {
    use Convert::*;
    let f = |v: f64| bits(Type::F32, v);
    let d = |v: f64| bits(Type::F64, v);
    let table: &[(Convert, Type, Type, u64, u64)] = &[
        (Truncate, Type::I32, Type::I8, 0x1ff, MINUS(-1)),
        (Truncate, Type::I32, Type::Bool, 2, 0),
        (ZeroExtend, Type::I8, Type::I32, MINUS(-1), 255),
        (SignExtend, Type::I8, Type::I32, MINUS(-1), MINUS(-1)),
        (SignExtend, Type::Bool, Type::I32, 1, MINUS(-1)),
        (ZeroExtend, Type::Bool, Type::I32, 1, 1),
        (ZeroExtend, Type::I32, Type::I64, MINUS(-1), 0xffff_ffff),
        (FloatToSigned, Type::F32, Type::I32, f(-2.9), MINUS(-2)),
        (FloatToSigned, Type::F32, Type::I32, f(3e9), 0x7fff_ffff),
        (FloatToSigned, Type::F32, Type::I8, f(-300.0), MINUS(-128)),
        // Measured on sm_90, and as the PTX ISA has it under cvt.
        (FloatToSigned, Type::F32, Type::I32, f(f64::NAN), 0),
        (FloatToSigned, Type::F32, Type::I64, f(f64::NAN), 1 << 63),
        (FloatToUnsigned, Type::F32, Type::I64, f(f64::NAN), 1 << 63),
        (FloatToSigned, Type::F64, Type::I8, d(f64::NAN), MINUS(-128)),
        (
            FloatToUnsigned,
            Type::F64,
            Type::I32,
            d(f64::NAN),
            MINUS(-0x8000_0000),
        ),
        (FloatToUnsigned, Type::F32, Type::I32, f(-1.0), 0),
        (
            FloatToUnsigned,
            Type::F32,
            Type::I32,
            f(3e9),
            MINUS(3_000_000_000u32 as i32 as i64),
        ),
        (FloatToUnsigned, Type::F64, Type::I64, d(1e30), u64::MAX),
        (SignedToFloat, Type::I32, Type::F32, MINUS(-3), f(-3.0)),
        (
            UnsignedToFloat,
            Type::I32,
            Type::F64,
            MINUS(-1),
            d(4_294_967_295.0),
        ),
        (
            UnsignedToFloat,
            Type::I64,
            Type::F32,
            u64::MAX,
            f(18_446_744_073_709_551_616.0),
        ),
        (SignedToFloat, Type::I32, Type::F16, 2049, 0x6800),
        (SignedToFloat, Type::I32, Type::F16, 100_000, 0x7c00),
        (
            FloatToFloat,
            Type::F64,
            Type::F32,
            d(0.1),
            u64::from(0.1f32.to_bits()),
        ),
        (FloatToFloat, Type::F32, Type::F16, f(1.0), 0x3c00),
        (
            FloatToFloat,
            Type::F16,
            Type::F32,
            0x3c01,
            f(1.0 + 1.0 / 1024.0),
        ),
        (FloatToFloat, Type::F32, Type::BF16, f(1.0), 0x3f80),
        // 1 + 2^-11 + 2^-40 is above the middle of two halves; rounding through f32 would forget that.
        (
            FloatToFloat,
            Type::F64,
            Type::F16,
            d(1.0 + 2f64.powi(-11) + 2f64.powi(-40)),
            0x3c01,
        ),
        (
            FloatToFloat,
            Type::F64,
            Type::F16,
            d(1.0 + 2f64.powi(-11)),
            0x3c00,
        ),
        (
            Bitcast,
            Type::F32,
            Type::I32,
            0x8000_0000,
            MINUS(i32::MIN as i64),
        ),
        (Bitcast, Type::I32, Type::F32, MINUS(-1), 0xffff_ffff),
        (ToBool, Type::F32, Type::Bool, 0x8000_0000, 0),
        (ToBool, Type::F32, Type::Bool, f(f64::NAN), 1),
        (ToBool, Type::I32, Type::Bool, 8, 1),
    ];
    for &(kind, from, to, x, wanted) in table {
        assert_eq!(
            numbers::convert(kind, from, to, x),
            wanted,
            "{kind:?} {from} {to} {x:#x}"
        );
    }
}

#[test]
fn floats_follow_ieee_and_ptx() {
    let f = |v: f32| u64::from(v.to_bits());
    let binary = |op, x, y| {
        f32::from_bits(numbers::binary(op, Type::F32, Type::F32, Type::F32, f(x), f(y)) as u32)
    };
    assert_eq!(binary(BinaryOp::FloatMin, f32::NAN, 1.0), 1.0);
    assert_eq!(binary(BinaryOp::FloatMax, 1.0, f32::NAN), 1.0);
    assert!(binary(BinaryOp::FloatMin, 0.0, -0.0).is_sign_negative());
    assert!(binary(BinaryOp::FloatMax, -0.0, 0.0).is_sign_positive());
    assert_eq!(binary(BinaryOp::FloatRem, -5.5, 2.0), -1.5);
    assert_eq!(binary(BinaryOp::FloatRemainder, 5.0, 2.0), 1.0);
    assert_eq!(binary(BinaryOp::FloatRemainder, 7.0, 2.0), -1.0);
    assert_eq!(binary(BinaryOp::Step, 1.0, 1.0), 1.0);
    assert_eq!(binary(BinaryOp::Step, 1.5, 1.0), 0.0);
    assert_eq!(binary(BinaryOp::FloatDim, 3.0, 1.0), 2.0);
    assert_eq!(binary(BinaryOp::CopySign, 3.0, -1.0), -3.0);
    let nan = numbers::binary(
        BinaryOp::FloatSub,
        Type::F32,
        Type::F32,
        Type::F32,
        f(f32::INFINITY),
        f(f32::INFINITY),
    );
    assert_eq!(nan, 0x7fff_ffff);
    let ldexp = |x: f64, e: i64| {
        f64::from_bits(numbers::binary(
            BinaryOp::Ldexp,
            Type::F64,
            Type::I32,
            Type::F64,
            x.to_bits(),
            e as u64,
        ))
    };
    assert_eq!(ldexp(0.75, 4), 12.0);
    assert_eq!(ldexp(1.0, -1074), f64::from_bits(1));
    assert_eq!(ldexp(1.0, 2000), f64::INFINITY);
    // Rounded once: 1 + 2^-24 is lost by a product rounded first.
    let third = numbers::fma(
        Type::F32,
        f(1.0 + f32::EPSILON),
        f(1.0 - f32::EPSILON / 2.0),
        f(-1.0),
    );
    assert_eq!(
        f32::from_bits(third as u32),
        (1.0f32 + f32::EPSILON).mul_add(1.0 - f32::EPSILON / 2.0, -1.0)
    );
    assert_ne!(third, 0);
    let half = |v: f64| bits(Type::F16, v);
    assert_eq!(
        numbers::fma(Type::F16, half(3.0), half(5.0), half(0.5)),
        half(15.5)
    );
    let unary = |op, x: f32| f32::from_bits(numbers::unary(op, Type::F32, Type::F32, f(x)) as u32);
    assert_eq!(unary(UnaryOp::Round, 2.5), 3.0);
    assert_eq!(unary(UnaryOp::RoundEven, 2.5), 2.0);
    assert_eq!(unary(UnaryOp::Fract, -0.25), 0.75);
    assert_eq!(unary(UnaryOp::Saturate, f32::NAN), 0.0);
    assert_eq!(unary(UnaryOp::Saturate, 7.0), 1.0);
    assert_eq!(unary(UnaryOp::FloatSign, -3.0), -1.0);
    assert!((unary(UnaryOp::Erf, 1.0) - 0.842_700_8).abs() < 1e-6);
    assert!((unary(UnaryOp::Gamma, 5.0) - 24.0).abs() < 1e-4);
    assert!((unary(UnaryOp::LogGamma, 10.0) - 12.801_827).abs() < 1e-5);
    let unordered = [
        FloatCondition::Equal,
        FloatCondition::NotEqual,
        FloatCondition::Less,
        FloatCondition::Ordered,
    ];
    for condition in unordered {
        assert!(!numbers::float_compare(
            condition,
            Type::F32,
            f(f32::NAN),
            f(1.0)
        ));
    }
    for condition in [
        FloatCondition::NotEqualUnordered,
        FloatCondition::LessUnordered,
        FloatCondition::Unordered,
    ] {
        assert!(numbers::float_compare(
            condition,
            Type::F32,
            f(f32::NAN),
            f(1.0)
        ));
    }
}

#[test]
fn three_operand_functions() {
    use TernaryOp::*;
    let table: &[(TernaryOp, [i64; 4], i64)] = &[
        (BitExtractUnsigned, [0xabcd, 4, 8, 0], 0xbc),
        (BitExtractSigned, [0xabcd, 4, 8, 0], 0xbc - 256),
        (BitExtractUnsigned, [-1, 28, 8, 0], 0xf),
        (BitExtractSigned, [-1, 40, 8, 0], -1),
        (BitExtractUnsigned, [-1, 40, 8, 0], 0),
        (BitExtractSigned, [-1, 3, 0, 0], 0),
        (BitInsert, [0xff, 0, 8, 4], 0xf00),
        (BitInsert, [0xff, -1, 28, 8], -1),
        (BitInsert, [5, 7, 40, 8], 7),
        (FunnelLeft, [i32::MIN as i64, 1, 1, 0], 3),
        (FunnelRight, [2, 1, 1, 0], i32::MIN as i64 + 1),
        (FunnelLeft, [9, 8, 32, 0], 8),
        (
            BytePermute,
            [0x0302_0100, 0x0706_0504, 0x7531, 0],
            0x0705_0301,
        ),
        (
            BytePermute,
            [0x80, 0, 0x8, 0],
            0x8080_80ff_u32 as i32 as i64,
        ),
        (Lop3, [0b1100, 0b1010, 0b0110, 0xe8], 0b1110),
        (SadSigned, [-5, 3, 10, 0], 18),
        (SadUnsigned, [1, 3, 10, 0], 12),
        (Dot4Signed, [-1, 0x0101_0101, 10, 0], 6),
        (Dot4Unsigned, [-1, 0x0101_0101, 10, 0], 1030),
        (Dot2Signed, [-1, 0x0302, 10, 0], 5),
    ];
    for &(op, args, wanted) in table {
        let found = numbers::ternary(op, Type::I32, Type::I32, args.map(|v| v as u64));
        assert_eq!(found as i64, wanted, "{op:?} {args:x?}");
    }
}

#[test]
fn every_operation_is_total_on_strange_operands() {
    let strange = [
        0,
        1,
        u64::MAX,
        1 << 63,
        0x7ff8_0000_0000_0001,
        0xffff_8000,
        0x7fc0_0000,
        31,
        64,
    ];
    let types = [
        Type::Bool,
        Type::I8,
        Type::I16,
        Type::I32,
        Type::I64,
        Type::F16,
        Type::BF16,
        Type::F32,
        Type::F64,
    ];
    for seed in 0..64u64 {
        let op = [
            BinaryOp::Pow,
            BinaryOp::Ldexp,
            BinaryOp::FloatRemainder,
            BinaryOp::RotateLeft,
            BinaryOp::MulHighSigned,
            BinaryOp::DivSigned,
            BinaryOp::RemUnsigned,
            BinaryOp::AddSaturateSigned,
        ][seed as usize % 8];
        for &x in &strange {
            for &y in &strange {
                for ty in types {
                    let (x, y) = (numbers::canonical(ty, x), numbers::canonical(ty, y));
                    let result = numbers::binary(op, ty, ty, ty, x, y);
                    assert_eq!(numbers::canonical(ty, result), result, "{op:?} {ty}");
                    numbers::ternary(TernaryOp::BitInsert, ty, ty, [x, y, x, y]);
                    numbers::ternary(TernaryOp::BitExtractSigned, ty, ty, [x, y, x, y]);
                    numbers::ternary(TernaryOp::FunnelRight, ty, ty, [x, y, x, y]);
                    numbers::unary(UnaryOp::Gamma, ty, ty, x);
                    numbers::unary(UnaryOp::FindHighBitSigned, ty, Type::I32, x);
                    for to in types {
                        numbers::convert(Convert::FloatToSigned, ty, to, x);
                        numbers::convert(Convert::UnsignedToFloat, ty, to, x);
                    }
                }
            }
        }
    }
}
