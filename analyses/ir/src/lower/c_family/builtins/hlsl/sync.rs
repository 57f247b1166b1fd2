//! Atomics on places, and barriers.

use super::*;
use crate::Type;
use crate::entity::Value;
use crate::lower::c_family::value::{LValue, Place};
use crate::types::Space;

pub(super) fn call(
    cx: &mut Context<'_>,
    name: &str,
    arguments: &[Argument],
    span: Span,
) -> Option<RValue> {
    match name {
        "GroupMemoryBarrierWithGroupSync"
        | "DeviceMemoryBarrierWithGroupSync"
        | "AllMemoryBarrierWithGroupSync" => {
            cx.builder.inst(Op::Barrier(Barrier::Workgroup), &[], &[]);
            return Some(RValue::void());
        }
        "GroupMemoryBarrier" | "DeviceMemoryBarrier" | "AllMemoryBarrier" => {
            cx.builder.inst(Op::Fence, &[], &[]);
            return Some(RValue::void());
        }
        // Shader model 6.8: `Barrier(memory flags or object, semantic flags)`; bit 0 of the latter is GROUP_SYNC.
        "Barrier" => {
            let [_, flags] = arguments else { return None };
            let flags = value(cx, flags).first()?;
            let known = cx.builder.function.int_constant(flags);
            let op = if known.is_some_and(|f| f & 1 == 0) {
                Op::Fence
            } else {
                Op::Barrier(Barrier::Workgroup)
            };
            cx.builder.inst(op, &[], &[]);
            return Some(RValue::void());
        }
        _ => {}
    }
    let operation = name.strip_prefix("Interlocked")?;
    let [destination, operands @ ..] = arguments else {
        return None;
    };
    let place = destination.place.clone()?;
    interlocked(cx, operation, &place, operands, span)
}

/// `Interlocked<operation>` at a place; the last operand, if there is one too many, receives the old value.
pub(crate) fn interlocked(
    cx: &mut Context<'_>,
    operation: &str,
    place: &LValue,
    operands: &[Argument],
    span: Span,
) -> Option<RValue> {
    let ty = place.ty.element().clone();
    let op = operator(operation.trim_end_matches("64"), &ty)?;
    let inputs = if op == AtomicOp::CompareExchange {
        2
    } else {
        1
    };
    if operands.len() < inputs || operands.len() > inputs + 1 {
        return None;
    }
    // The bitwise forms compare floats as integers.
    let bits = match ty.scalar_ir()? {
        float if float.is_float() && op == AtomicOp::CompareExchange => Type::int(float.bits()),
        other => other,
    };
    let mut values: Vec<Value> = Vec::new();
    for operand in &operands[..inputs] {
        let v = value(cx, operand);
        let v = cx.convert(v, &ty, span).first()?;
        values.push(if cx.builder.function.ty(v) == bits {
            v
        } else {
            cx.builder.convert(Convert::Bitcast, v, bits)
        });
    }
    let original = operands.get(inputs);
    let results: &[Type] = if original.is_some() { &[bits] } else { &[] };
    cx.here(span);
    let inst = match &place.place {
        Place::Texel(texel) | Place::TexelSwizzle { texel, .. } => {
            let mut args = vec![texel.resource];
            args.extend_from_slice(&texel.coordinates);
            args.extend_from_slice(&values);
            let access = TextureAccess {
                op: TextureOp::Atomic(op),
                coordinates: texel.coordinates.len() as u8,
                has_sampler: false,
                has_offset: false,
                read_only: false,
                geometry: texel.geometry,
                component: 0,
            };
            cx.builder.inst(Op::Texture(access), &args, results)
        }
        _ => {
            let mut access = match &place.place {
                Place::Memory { access, .. }
                | Place::MemorySwizzle { access, .. }
                | Place::Packed { access, .. } => *access,
                _ => MemoryAccess::in_space(Space::Local),
            };
            access.read_only = false;
            let address = cx.address(place, span)?;
            cx.here(span);
            let mut args = vec![address];
            args.extend_from_slice(&values);
            cx.builder.inst(Op::Atomic(op, access), &args, results)
        }
    };
    if let Some(original) = original {
        let old = cx.builder.results(inst).first().copied()?;
        let want = ty.scalar_ir()?;
        let old = if want == bits {
            old
        } else {
            cx.builder.convert(Convert::Bitcast, old, want)
        };
        write(cx, original, RValue::scalar(ty, old));
    }
    Some(RValue::void())
}

fn operator(name: &str, ty: &CType) -> Option<AtomicOp> {
    let signed = ty.is_signed();
    Some(match name {
        "Add" if ty.is_float() => AtomicOp::FloatAdd,
        "Add" => AtomicOp::Add,
        "And" | "Or" | "Xor" if ty.is_float() => return None,
        "And" => AtomicOp::And,
        "Or" => AtomicOp::Or,
        "Xor" => AtomicOp::Xor,
        "Min" if ty.is_float() => AtomicOp::FloatMin,
        "Max" if ty.is_float() => AtomicOp::FloatMax,
        "Min" if signed => AtomicOp::MinSigned,
        "Min" => AtomicOp::MinUnsigned,
        "Max" if signed => AtomicOp::MaxSigned,
        "Max" => AtomicOp::MaxUnsigned,
        "Exchange" | "ExchangeFloat" => AtomicOp::Exchange,
        "CompareStore" | "CompareExchange" => AtomicOp::CompareExchange,
        "CompareStoreFloatBitwise" | "CompareExchangeFloatBitwise" => AtomicOp::CompareExchange,
        _ => return None,
    })
}
