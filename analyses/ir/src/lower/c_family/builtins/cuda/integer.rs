//! Integer intrinsics.

use super::{Call, ir_type};
use crate::entity::Value;
use crate::inst::{BinaryOp, Op, TernaryOp, UnaryOp, Wrap};
use crate::lower::c_family::context::Context;
use crate::lower::c_family::types::CType;
use crate::lower::c_family::value::RValue;
use crate::types::Type;

enum Shape {
    /// Operand type, result `int`.
    Count(CType, UnaryOp),
    Unary(CType, UnaryOp),
    Binary(CType, BinaryOp),
    Ternary(CType, TernaryOp),
}

fn shape(name: &str) -> Option<Shape> {
    use BinaryOp as B;
    use Shape::*;
    use TernaryOp as T;
    use UnaryOp as U;
    let (int, uint, long, ulong) = (CType::INT, CType::UINT, CType::LONG, CType::ULONG);
    Some(match name {
        "__popc" | "__builtin_popcount" | "popcount" => Count(uint, U::PopCount),
        "__popcll" | "__builtin_popcountll" => Count(ulong, U::PopCount),
        "__clz" | "__builtin_clz" | "countl_zero" => Count(uint, U::CountLeadingZeros),
        "__clzll" | "__builtin_clzll" => Count(ulong, U::CountLeadingZeros),
        "__builtin_ctz" | "countr_zero" => Count(uint, U::CountTrailingZeros),
        "__builtin_ctzll" => Count(ulong, U::CountTrailingZeros),
        "__ffs" | "__builtin_ffs" => Count(int, U::FindFirstSet),
        "__ffsll" | "__builtin_ffsll" => Count(long, U::FindFirstSet),
        "__brev" => Unary(uint, U::ReverseBits),
        "__brevll" => Unary(ulong, U::ReverseBits),
        "__mulhi" => Binary(int, B::MulHighSigned),
        "__umulhi" => Binary(uint, B::MulHighUnsigned),
        "__mul64hi" => Binary(long, B::MulHighSigned),
        "__umul64hi" => Binary(ulong, B::MulHighUnsigned),
        "__mul24" | "mul24" => Binary(int, B::Mul24Signed),
        "__umul24" | "umul24" => Binary(uint, B::Mul24Unsigned),
        "__sad" => Ternary(int, T::SadSigned),
        "__usad" => Ternary(uint, T::SadUnsigned),
        "__byte_perm" => Ternary(uint, T::BytePermute),
        "__dp2a_lo" | "__dp2a_hi" => Ternary(int, T::Dot2Signed),
        "__funnelshift_l" | "__funnelshift_lc" => Ternary(uint, T::FunnelLeft),
        "__funnelshift_r" | "__funnelshift_rc" => Ternary(uint, T::FunnelRight),
        _ => return None,
    })
}

pub(super) fn call(cx: &mut Context<'_>, call: &Call<'_>) -> Option<RValue> {
    if let Some(value) = simd(cx, call).or_else(|| other(cx, call)) {
        return Some(value);
    }
    match shape(call.name)? {
        Shape::Count(ty, op) => {
            let x = call.scalar(cx, 0, &ty)?;
            let counted = cx.builder.unary(op, x);
            Some(RValue::scalar(
                CType::INT,
                cx.convert_scalar(counted, &ty, &CType::INT),
            ))
        }
        Shape::Unary(ty, op) => {
            let x = call.scalar(cx, 0, &ty)?;
            Some(RValue::scalar(ty, cx.builder.unary(op, x)))
        }
        Shape::Binary(ty, op) => {
            let (x, y) = (call.scalar(cx, 0, &ty)?, call.scalar(cx, 1, &ty)?);
            Some(RValue::scalar(ty, cx.builder.binary(op, Wrap::MAY, x, y)))
        }
        Shape::Ternary(ty, op) => {
            let args = [
                call.scalar(cx, 0, &ty)?,
                call.scalar(cx, 1, &ty)?,
                call.scalar(cx, 2, &ty)?,
            ];
            Some(RValue::scalar(
                ty.clone(),
                cx.builder.value(Op::Ternary(op), &args, ir_type(&ty)),
            ))
        }
    }
}

fn other(cx: &mut Context<'_>, call: &Call<'_>) -> Option<RValue> {
    match call.name {
        "__dp4a" => {
            let signed = call.ty(0)?.is_signed();
            let ty = if signed { CType::INT } else { CType::UINT };
            let op = if signed {
                TernaryOp::Dot4Signed
            } else {
                TernaryOp::Dot4Unsigned
            };
            let args: [Value; 3] = [
                call.scalar(cx, 0, &ty)?,
                call.scalar(cx, 1, &ty)?,
                call.scalar(cx, 2, &ty)?,
            ];
            Some(RValue::scalar(
                ty.clone(),
                cx.builder.value(Op::Ternary(op), &args, ir_type(&ty)),
            ))
        }
        // (x + y) / 2 without overflow, rounded down or up.
        "__hadd" | "__rhadd" | "__uhadd" | "__urhadd" if call.ty(0)?.is_integer() => {
            let signed = !call.name.starts_with("__u");
            let narrow = if signed { CType::INT } else { CType::UINT };
            let wide = CType::int(64, signed);
            let (x, y) = (call.scalar(cx, 0, &narrow)?, call.scalar(cx, 1, &narrow)?);
            let (x, y) = (
                cx.convert_scalar(x, &narrow, &wide),
                cx.convert_scalar(y, &narrow, &wide),
            );
            let mut sum = cx.builder.binary(BinaryOp::Add, Wrap::NO_SIGNED, x, y);
            let one = cx.builder.int(Type::I64, 1);
            if call.name.contains("rh") {
                sum = cx.builder.binary(BinaryOp::Add, Wrap::NO_SIGNED, sum, one);
            }
            let half = cx.builder.binary(BinaryOp::ShrSigned, Wrap::MAY, sum, one);
            Some(RValue::scalar(
                narrow.clone(),
                cx.convert_scalar(half, &wide, &narrow),
            ))
        }
        "__fns" => Some(call.opaque(cx, &CType::UINT, true)),
        _ => None,
    }
}

/// SIMD in a word (`__vadd4`, `__vabsdiffu4`, `__vcmpgts2`...): a pure function of its operands.
fn simd(cx: &mut Context<'_>, call: &Call<'_>) -> Option<RValue> {
    let body = call.name.strip_prefix("__v")?;
    (body.ends_with('2') || body.ends_with('4')).then(|| call.opaque(cx, &CType::UINT, true))
}
