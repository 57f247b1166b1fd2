//! Reinterpretation of bits, bit counting, and packed small integers.

use super::math::numeric;
use super::*;
use crate::Type;
use crate::entity::Value;
use crate::inst::BinaryOp as Ir;
use crate::lower::c_family::types::FloatKind;
use crate::lower::c_family::value::Parts;

pub(super) fn call(
    cx: &mut Context<'_>,
    name: &str,
    arguments: &[Argument],
    span: Span,
) -> Option<RValue> {
    Some(match (name, arguments) {
        ("asfloat", [a]) => reinterpret(cx, a, CType::FLOAT)?,
        ("asint", [a]) => reinterpret(cx, a, CType::INT)?,
        ("asuint", [a]) => reinterpret(cx, a, CType::UINT)?,
        ("asfloat16", [a]) => reinterpret(cx, a, CType::HALF)?,
        ("asint16", [a]) => reinterpret(cx, a, CType::SHORT)?,
        ("asuint16", [a]) => reinterpret(cx, a, CType::USHORT)?,
        ("asuint", [a, low, high]) => {
            let a = numeric(cx, a)?;
            let ty = a.ty.with_element(CType::DOUBLE);
            let a = cx.convert(a, &ty, span);
            cx.here(span);
            let wide = cx.map(&a, &CType::ULONG, |cx, v| {
                cx.builder.convert(Convert::Bitcast, v, Type::I64)
            });
            let halves = |cx: &mut Context<'_>, shift: i64| {
                cx.map(&wide, &CType::UINT, |cx, v| {
                    let by = cx.builder.int(Type::I64, shift);
                    let v = cx.fold(Ir::ShrUnsigned, Wrap::MAY, v, by);
                    cx.builder.convert(Convert::Truncate, v, Type::I32)
                })
            };
            let (l, h) = (halves(cx, 0), halves(cx, 32));
            write(cx, low, l);
            write(cx, high, h);
            RValue::void()
        }
        ("asdouble", [_, _]) => {
            let v = unified(cx, arguments, span)?;
            let ty = v[0].ty.with_element(CType::UINT);
            let v = [
                cx.convert(v[0].clone(), &ty, span),
                cx.convert(v[1].clone(), &ty, span),
            ];
            cx.map2(&v[0], &v[1], &CType::DOUBLE, |cx, low, high| {
                let low = cx.builder.convert(Convert::ZeroExtend, low, Type::I64);
                let high = cx.builder.convert(Convert::ZeroExtend, high, Type::I64);
                let by = cx.builder.int(Type::I64, 32);
                let high = cx.fold(Ir::Shl, Wrap::MAY, high, by);
                let both = cx.fold(Ir::Or, Wrap::MAY, low, high);
                cx.builder.convert(Convert::Bitcast, both, Type::F64)
            })
        }
        ("f16tof32", [a]) => {
            let a = integers(cx, a, CType::UINT, span)?;
            cx.map(&a, &CType::FLOAT, |cx, v| {
                let half = cx.builder.convert(Convert::Truncate, v, Type::I16);
                let half = cx.builder.convert(Convert::Bitcast, half, Type::F16);
                cx.builder.convert(Convert::FloatToFloat, half, Type::F32)
            })
        }
        ("f32tof16", [a]) => {
            let a = numeric(cx, a)?;
            let ty = a.ty.with_element(CType::FLOAT);
            let a = cx.convert(a, &ty, span);
            cx.map(&a, &CType::UINT, |cx, v| {
                let half = cx.builder.convert(Convert::FloatToFloat, v, Type::F16);
                let half = cx.builder.convert(Convert::Bitcast, half, Type::I16);
                cx.builder.convert(Convert::ZeroExtend, half, Type::I32)
            })
        }
        ("countbits", [a]) => count(cx, a, UnaryOp::PopCount, span)?,
        ("firstbithigh", [a]) => {
            let a = numeric(cx, a)?;
            let op = if a.ty.is_signed() {
                UnaryOp::FindHighBitSigned
            } else {
                UnaryOp::FindHighBitUnsigned
            };
            count_of(cx, a, op, span)
        }
        ("firstbitlow", [a]) => {
            let found = count(cx, a, UnaryOp::FindFirstSet, span)?;
            cx.map(&found, &CType::UINT, |cx, v| {
                let one = cx.builder.int(Type::I32, 1);
                cx.fold(Ir::Sub, Wrap::MAY, v, one)
            })
        }
        ("reversebits", [a]) => {
            let a = numeric(cx, a)?;
            let ty = if a.ty.element().is_integer() && *a.ty.element() != CType::Bool {
                a.ty.clone()
            } else {
                a.ty.with_element(CType::UINT)
            };
            let a = cx.convert(a, &ty, span);
            let element = ty.element().clone();
            cx.map(&a, &element, |cx, v| {
                cx.builder.unary(UnaryOp::ReverseBits, v)
            })
        }
        ("D3DCOLORtoUBYTE4", [a]) => {
            let a = numeric(cx, a)?;
            let a = cx.convert(a, &CType::vector(CType::FLOAT, 4), span);
            let scale = cx.builder.float(Type::F32, 255.001_953);
            let parts: Parts = [2, 1, 0, 3]
                .into_iter()
                .map(|i| {
                    let v = cx
                        .builder
                        .binary(Ir::FloatMul, Wrap::MAY, a.parts[i], scale);
                    cx.builder.convert(Convert::FloatToSigned, v, Type::I32)
                })
                .collect();
            cx.builder.vector(&parts);
            RValue::new(CType::vector(CType::INT, 4), parts)
        }
        ("AddUint64", [a, b]) => {
            let (a, b) = (numeric(cx, a)?, numeric(cx, b)?);
            let ty = a.ty.with_element(CType::UINT);
            let (a, b) = (cx.convert(a, &ty, span), cx.convert(b, &ty, span));
            let mut parts = Parts::new();
            for (x, y) in a.parts.chunks_exact(2).zip(b.parts.chunks_exact(2)) {
                let wide = |cx: &mut Context<'_>, words: &[Value]| {
                    let low = cx.builder.convert(Convert::ZeroExtend, words[0], Type::I64);
                    let high = cx.builder.convert(Convert::ZeroExtend, words[1], Type::I64);
                    let by = cx.builder.int(Type::I64, 32);
                    let high = cx.fold(Ir::Shl, Wrap::MAY, high, by);
                    cx.fold(Ir::Or, Wrap::MAY, low, high)
                };
                let (x, y) = (wide(cx, x), wide(cx, y));
                let sum = cx.fold(Ir::Add, Wrap::MAY, x, y);
                let by = cx.builder.int(Type::I64, 32);
                let high = cx.fold(Ir::ShrUnsigned, Wrap::MAY, sum, by);
                parts.push(cx.builder.convert(Convert::Truncate, sum, Type::I32));
                parts.push(cx.builder.convert(Convert::Truncate, high, Type::I32));
            }
            cx.builder.vector(&parts);
            RValue::new(ty, parts)
        }
        ("msad4", [reference, source, sum]) => {
            let reference = uint(cx, reference, span).first()?;
            let source = integers(cx, source, CType::UINT, span)?;
            let pair = CType::vector(CType::UINT, 2);
            let source = cx.convert(source, &pair, span);
            let quad = CType::vector(CType::UINT, 4);
            let sum = integers(cx, sum, CType::UINT, span)?;
            let sum = cx.convert(sum, &quad, span);
            let parts: Parts = (0..4)
                .map(|i| {
                    let by = cx.builder.int(Type::I32, 8 * i as i64);
                    let args = [source.parts[0], source.parts[1], by];
                    let window =
                        cx.builder
                            .value(Op::Ternary(TernaryOp::FunnelRight), &args, Type::I32);
                    masked_difference(cx, reference, window, sum.parts[i])
                })
                .collect();
            cx.builder.vector(&parts);
            RValue::new(quad, parts)
        }
        ("dot4add_i8packed" | "dot4add_u8packed", [a, b, sum]) => {
            let (a, b) = (uint(cx, a, span).first()?, uint(cx, b, span).first()?);
            let signed = name == "dot4add_i8packed";
            let ty = if signed { CType::INT } else { CType::UINT };
            let sum = value(cx, sum);
            let sum = cx.convert(sum, &ty, span).first()?;
            let op = if signed {
                TernaryOp::Dot4Signed
            } else {
                TernaryOp::Dot4Unsigned
            };
            let v = cx.builder.value(Op::Ternary(op), &[a, b, sum], Type::I32);
            RValue::scalar(ty, v)
        }
        ("dot2add", [a, b, sum]) => {
            let pair = CType::vector(CType::FLOAT, 2);
            let (a, b) = (numeric(cx, a)?, numeric(cx, b)?);
            let (a, b) = (cx.convert(a, &pair, span), cx.convert(b, &pair, span));
            let sum = value(cx, sum);
            let mut v = cx.convert(sum, &CType::FLOAT, span).first()?;
            for i in 0..2 {
                v = cx
                    .builder
                    .value(Op::Fma, &[a.parts[i], b.parts[i], v], Type::F32);
            }
            RValue::scalar(CType::FLOAT, v)
        }
        ("pack_u8" | "pack_s8" | "pack_clamp_u8" | "pack_clamp_s8", [a]) => {
            let a = integers(cx, a, CType::INT, span)?;
            let quad = CType::vector(CType::INT, 4);
            let a = cx.convert(a, &quad, span);
            let limits = match name {
                "pack_clamp_u8" => Some((0, 255)),
                "pack_clamp_s8" => Some((-128, 127)),
                _ => None,
            };
            RValue::scalar(CType::UINT, pack(cx, &a.parts, limits))
        }
        ("unpack_u8u32" | "unpack_u8u16" | "unpack_s8s32" | "unpack_s8s16", [a]) => {
            let word = uint(cx, a, span).first()?;
            let signed = name.starts_with("unpack_s8");
            let narrow = name.ends_with("16");
            let element = CType::int(if narrow { 16 } else { 32 }, signed);
            let op = if signed {
                TernaryOp::BitExtractSigned
            } else {
                TernaryOp::BitExtractUnsigned
            };
            let parts: Parts = (0..4)
                .map(|i| {
                    let at = cx.builder.int(Type::I32, 8 * i);
                    let eight = cx.builder.int(Type::I32, 8);
                    let v = cx
                        .builder
                        .value(Op::Ternary(op), &[word, at, eight], Type::I32);
                    if narrow {
                        cx.builder.convert(Convert::Truncate, v, Type::I16)
                    } else {
                        v
                    }
                })
                .collect();
            cx.builder.vector(&parts);
            RValue::new(CType::vector(element, 4), parts)
        }
        _ => return None,
    })
}

/// `as...`: the same bits. Numbers of another width are converted first, as an implicit conversion would.
fn reinterpret(cx: &mut Context<'_>, argument: &Argument, to: CType) -> Option<RValue> {
    let a = numeric(cx, argument)?;
    let want = to.scalar_ir()?;
    let have = a.ty.element().scalar_ir()?;
    let a = if have.bits() == want.bits() && have != Type::Bool {
        a
    } else {
        let element = match (a.ty.element(), want.bits()) {
            (CType::Float(_), 16) => CType::Float(FloatKind::Half),
            (CType::Float(_), _) => CType::FLOAT,
            (other, bits) => CType::int(bits as u8, other.is_signed()),
        };
        let ty = a.ty.with_element(element);
        cx.convert(a, &ty, argument.span)
    };
    Some(cx.map(&a, &to, |cx, v| {
        if cx.builder.function.ty(v) == want {
            v
        } else if let (Some(bits), true) = (cx.builder.function.int_constant(v), want == Type::F32)
        {
            cx.builder.constant(Type::F32, bits as u32 as u64)
        } else {
            cx.builder.convert(Convert::Bitcast, v, want)
        }
    }))
}

fn integers(
    cx: &mut Context<'_>,
    argument: &Argument,
    element: CType,
    span: Span,
) -> Option<RValue> {
    let a = numeric(cx, argument)?;
    let ty = a.ty.with_element(element);
    Some(cx.convert(a, &ty, span))
}

fn count(cx: &mut Context<'_>, argument: &Argument, op: UnaryOp, span: Span) -> Option<RValue> {
    let a = numeric(cx, argument)?;
    Some(count_of(cx, a, op, span))
}

/// A count of bits: 32 bits wide for operands of every width.
fn count_of(cx: &mut Context<'_>, a: RValue, op: UnaryOp, span: Span) -> RValue {
    let element = match a.ty.element() {
        CType::Int { bits, signed } => CType::int(*bits, *signed),
        _ => CType::UINT,
    };
    let ty = a.ty.with_element(element);
    let a = cx.convert(a, &ty, span);
    cx.map(&a, &CType::UINT, |cx, v| {
        cx.builder.value(Op::Unary(op), &[v], Type::I32)
    })
}

/// Sum of |r - s| over the four bytes whose byte of `r` is not zero, added to `sum`.
fn masked_difference(cx: &mut Context<'_>, r: Value, s: Value, sum: Value) -> Value {
    let mut sum = sum;
    let eight = cx.builder.int(Type::I32, 8);
    let zero = cx.builder.int(Type::I32, 0);
    for byte in 0..4 {
        let at = cx.builder.int(Type::I32, 8 * byte);
        let extract = Op::Ternary(TernaryOp::BitExtractUnsigned);
        let a = cx
            .builder
            .value(extract.clone(), &[r, at, eight], Type::I32);
        let b = cx.builder.value(extract, &[s, at, eight], Type::I32);
        let added = cx
            .builder
            .value(Op::Ternary(TernaryOp::SadUnsigned), &[a, b, sum], Type::I32);
        let masked = cx.builder.int_compare(IntCondition::Equal, a, zero);
        sum = cx.builder.select(masked, sum, added);
    }
    sum
}

/// Four integers as the bytes of a word, the first lowest.
fn pack(cx: &mut Context<'_>, parts: &[Value], limits: Option<(i64, i64)>) -> Value {
    let mut word = cx.builder.int(Type::I32, 0);
    for (number, &part) in parts.iter().enumerate() {
        let mut v = part;
        if let Some((low, high)) = limits {
            let low = cx.builder.int(Type::I32, low);
            let high = cx.builder.int(Type::I32, high);
            v = cx.builder.binary(Ir::MaxSigned, Wrap::MAY, v, low);
            v = cx.builder.binary(Ir::MinSigned, Wrap::MAY, v, high);
        }
        let mask = cx.builder.int(Type::I32, 255);
        let by = cx.builder.int(Type::I32, 8 * number as i64);
        let v = cx.fold(Ir::And, Wrap::MAY, v, mask);
        let v = cx.fold(Ir::Shl, Wrap::MAY, v, by);
        word = cx.fold(Ir::Or, Wrap::MAY, word, v);
    }
    word
}
