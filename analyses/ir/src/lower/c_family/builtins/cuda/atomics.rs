//! `atomicAdd` and its family, with the scopes `_block` and `_system`.

use super::{Call, ir_type};
use crate::inst::{AtomicOp, MemoryAccess, Op};
use crate::lower::c_family::context::Context;
use crate::lower::c_family::types::CType;
use crate::lower::c_family::value::{Parts, RValue};
use crate::types::{Space, Type};

pub(super) fn call(cx: &mut Context<'_>, call: &Call<'_>) -> Option<RValue> {
    let name = call.name.strip_prefix("atomic")?;
    let name = name
        .strip_suffix("_block")
        .or_else(|| name.strip_suffix("_system"))
        .unwrap_or(name);
    if !matches!(
        name,
        "Add" | "Sub" | "Exch" | "Min" | "Max" | "Inc" | "Dec" | "CAS" | "And" | "Or" | "Xor"
    ) {
        return None;
    }
    let pointer = &call.argument(0)?.value;
    let place = cx.dereference(pointer, call.span);
    let ty = place.ty.clone();
    let address = cx.address(&place, call.span)?;
    cx.note_written(address);
    cx.here(call.span);
    let space = match cx.builder.function.ty(address) {
        Type::Ptr(space) => space,
        _ => Space::Generic,
    };
    let access = MemoryAccess::in_space(space);
    let element = ty.element().clone();
    let op = operation(name, &element)?;
    let operand = cx.convert(call.argument(1)?.value.clone(), &ty, call.span);
    let last = match name {
        "CAS" => Some(cx.convert(call.argument(2)?.value.clone(), &ty, call.span)),
        _ => None,
    };
    cx.here(call.span);
    // Vector forms (float2, half2, ...) are atomic in each component.
    let mut parts = Parts::new();
    let step = i64::from(ir_type(&element).bytes());
    for (number, &part) in operand.parts.iter().enumerate() {
        let offset = cx.builder.int(Type::I64, step * number as i64);
        let at = cx.offset_address(address, offset);
        let mut args = vec![at, part];
        args.extend(last.as_ref().and_then(|l| l.parts.get(number).copied()));
        parts.push(
            cx.builder
                .value(Op::Atomic(op, access), &args, ir_type(&element)),
        );
    }
    Some(RValue::new(ty, parts))
}

fn operation(name: &str, ty: &CType) -> Option<AtomicOp> {
    let (float, signed) = (ty.is_float(), ty.is_signed());
    Some(match name {
        "Add" if float => AtomicOp::FloatAdd,
        "Add" => AtomicOp::Add,
        "Sub" => AtomicOp::Sub,
        "Exch" => AtomicOp::Exchange,
        "Min" if float => AtomicOp::FloatMin,
        "Max" if float => AtomicOp::FloatMax,
        "Min" if signed => AtomicOp::MinSigned,
        "Min" => AtomicOp::MinUnsigned,
        "Max" if signed => AtomicOp::MaxSigned,
        "Max" => AtomicOp::MaxUnsigned,
        "Inc" => AtomicOp::IncrementWrap,
        "Dec" => AtomicOp::DecrementWrap,
        "CAS" => AtomicOp::CompareExchange,
        "And" => AtomicOp::And,
        "Or" => AtomicOp::Or,
        "Xor" => AtomicOp::Xor,
        _ => return None,
    })
}
