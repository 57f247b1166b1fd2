//! Loads and stores with cache hints, address-space queries, asynchronous copies.

use super::Call;
use crate::inst::Op;
use crate::lower::c_family::context::Context;
use crate::lower::c_family::types::CType;
use crate::lower::c_family::value::{Place, RValue};
use crate::types::{Space, Type};

pub(super) fn call(cx: &mut Context<'_>, call: &Call<'_>) -> Option<RValue> {
    match call.name {
        "__ldg" | "__ldca" | "__ldcg" | "__ldcs" | "__ldlu" | "__ldcv" => {
            let mut place = cx.dereference(&call.argument(0)?.value, call.span);
            if let Place::Memory { access, .. } = &mut place.place {
                // `__ldg` promises that nobody writes there during the kernel; `__ldcv` asks memory every time.
                access.read_only |= call.name == "__ldg";
                access.volatile |= call.name == "__ldcv";
            }
            Some(cx.load(&place, call.span))
        }
        "__stwb" | "__stcg" | "__stcs" | "__stwt" => {
            let place = cx.dereference(&call.argument(0)?.value, call.span);
            let value = cx.convert(
                call.argument(1)?.value.clone(),
                &place.ty.clone(),
                call.span,
            );
            cx.store(&place, value, call.span);
            Some(RValue::void())
        }
        "__isGlobal" | "__isShared" | "__isConstant" | "__isLocal" | "__isGridConstant" => {
            Some(call.opaque(cx, &CType::Bool, true))
        }
        "__cvta_generic_to_shared"
        | "__cvta_generic_to_global"
        | "__cvta_generic_to_local"
        | "__cvta_generic_to_constant" => {
            let pointer = cx.with_address(call.argument(0)?.value.clone(), call.span);
            let to = match call.name.trim_start_matches("__cvta_generic_to_") {
                "shared" => Space::Shared,
                "local" => Space::Local,
                "constant" => Space::Constant,
                _ => Space::Global,
            };
            let value = cx.adapt(pointer.first()?, Type::Ptr(to));
            let value = cx.adapt(value, Type::I64);
            Some(RValue::scalar(CType::ULONG, value))
        }
        "__pipeline_commit" | "__pipeline_wait_prior" | "memcpy_async_wait" => {
            cx.builder.inst(Op::Fence, &[], &[]);
            Some(RValue::void())
        }
        "__pipeline_memcpy_async" | "memcpy_async" => Some(call.opaque(cx, &CType::Void, false)),
        "wait" | "wait_prior"
            if call.count() >= 1 && matches!(call.ty(0), Some(CType::Opaque(_))) =>
        {
            cx.builder.inst(Op::Fence, &[], &[]);
            Some(RValue::void())
        }
        _ if call.name.starts_with("nvcuda::wmma::") || call.name.starts_with("wmma::") => {
            fragment(cx, call)
        }
        _ => None,
    }
}

/// Matrix fragments are opaque: the operations fill them with values that are not known.
fn fragment(cx: &mut Context<'_>, call: &Call<'_>) -> Option<RValue> {
    let operation = call.name.rsplit("::").next()?;
    if !matches!(
        operation,
        "load_matrix_sync" | "store_matrix_sync" | "mma_sync" | "fill_fragment"
    ) {
        return None;
    }
    let effect = call.opaque(cx, &CType::Void, false);
    if operation != "store_matrix_sync"
        && let Some(place) = call.argument(0).and_then(|a| a.place.clone())
    {
        let ty = place.ty.clone();
        let filled = call.opaque(cx, &ty, true);
        cx.store(&place, filled, call.span);
    }
    Some(effect)
}
