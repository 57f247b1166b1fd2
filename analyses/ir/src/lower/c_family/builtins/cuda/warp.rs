//! Barriers, fences, shuffles, votes, matches and warp reductions.

use super::{Call, int_of};
use crate::entity::Value;
use crate::inst::{Barrier, Op, ReduceOp, WarpKind, WarpOp};
use crate::lower::c_family::context::Context;
use crate::lower::c_family::types::CType;
use crate::lower::c_family::value::{Parts, RValue};
use crate::types::Type;

pub(super) fn call(cx: &mut Context<'_>, call: &Call<'_>) -> Option<RValue> {
    barrier(cx, call)
        .or_else(|| shuffle(cx, call))
        .or_else(|| vote(cx, call))
        .or_else(|| reduction(cx, call))
}

fn barrier(cx: &mut Context<'_>, call: &Call<'_>) -> Option<RValue> {
    let reducing = |cx: &mut Context<'_>, kind: Barrier, ty: Type| {
        let predicate = call.argument(0)?.value.clone();
        let predicate = cx.truth(predicate, call.span);
        Some(cx.builder.value(Op::Barrier(kind), &[predicate], ty))
    };
    match call.name {
        "__syncthreads" | "__barrier_sync" => {
            cx.builder.inst(Op::Barrier(Barrier::Workgroup), &[], &[]);
            Some(RValue::void())
        }
        "__syncthreads_count" => {
            let count = reducing(cx, Barrier::WorkgroupCount, Type::I32)?;
            Some(RValue::scalar(CType::INT, count))
        }
        "__syncthreads_and" | "__syncthreads_or" => {
            let kind = if call.name.ends_with("and") {
                Barrier::WorkgroupAnd
            } else {
                Barrier::WorkgroupOr
            };
            let truth = reducing(cx, kind, Type::Bool)?;
            Some(int_of(cx, truth))
        }
        "__syncwarp" => {
            let mask = match call.count() {
                0 => cx.builder.int(Type::I32, -1),
                _ => call.scalar(cx, 0, &CType::UINT)?,
            };
            cx.builder.inst(Op::Barrier(Barrier::Warp), &[mask], &[]);
            Some(RValue::void())
        }
        "__threadfence"
        | "__threadfence_block"
        | "__threadfence_system"
        | "atomic_thread_fence"
        | "__fence_view_async_shared"
        // What the grid in front wrote is seen behind it, and the grid behind may begin.
        | "cudaGridDependencySynchronize"
        | "cudaTriggerProgrammaticLaunchCompletion" => {
            cx.builder.inst(Op::Fence, &[], &[]);
            Some(RValue::void())
        }
        _ => None,
    }
}

/// `__shfl_down_sync(mask, value, delta, width = 32)` and the forms without a mask; vectors go component by component.
fn shuffle(cx: &mut Context<'_>, call: &Call<'_>) -> Option<RValue> {
    let body = call.name.strip_prefix("__shfl")?;
    let (body, masked) = match body.strip_suffix("_sync") {
        Some(body) => (body, true),
        None => (body, false),
    };
    let kind = match body {
        "" => WarpKind::ShuffleIndex,
        "_up" => WarpKind::ShuffleUp,
        "_down" => WarpKind::ShuffleDown,
        "_xor" => WarpKind::ShuffleXor,
        _ => return None,
    };
    let first = usize::from(masked);
    let mask = if masked {
        Some(call.scalar(cx, 0, &CType::UINT)?)
    } else {
        None
    };
    let value = call.argument(first)?.value.clone();
    let lane = call.scalar(cx, first + 1, &CType::INT)?;
    let width = match call.count() > first + 2 {
        true => call.scalar(cx, first + 2, &CType::INT)?,
        false => cx.builder.int(Type::I32, 32),
    };
    Some(shuffled(cx, kind, &value, lane, width, mask))
}

pub(super) fn shuffled(
    cx: &mut Context<'_>,
    kind: WarpKind,
    value: &RValue,
    lane: Value,
    width: Value,
    mask: Option<Value>,
) -> RValue {
    let ty = value.ty.value_type().clone();
    let mut parts = Parts::new();
    for &part in &value.parts {
        let mut args = vec![part, lane, width];
        args.extend(mask);
        let result = cx.builder.function.ty(part);
        parts.push(cx.builder.value(
            Op::Warp(WarpOp {
                kind,
                mask: mask.is_some(),
            }),
            &args,
            result,
        ));
    }
    cx.builder.vector(&parts);
    RValue::new(ty, parts)
}

fn vote(cx: &mut Context<'_>, call: &Call<'_>) -> Option<RValue> {
    let (name, masked) = match call.name.strip_suffix("_sync") {
        Some(name) => (name, true),
        None => (call.name, false),
    };
    let first = usize::from(masked);
    let mask = |cx: &mut Context<'_>| {
        if masked {
            call.scalar(cx, 0, &CType::UINT).map(Some)
        } else {
            Some(None)
        }
    };
    match name {
        "__all" | "__any" | "__uni" | "__ballot" => {
            let mask = mask(cx)?;
            let predicate = call.argument(first)?.value.clone();
            let predicate = cx.truth(predicate, call.span);
            let kind = match name {
                "__all" => WarpKind::VoteAll,
                "__any" => WarpKind::VoteAny,
                "__uni" => WarpKind::VoteUniform,
                _ => WarpKind::Ballot,
            };
            if kind == WarpKind::Ballot {
                let ballot = operate(cx, kind, &[predicate], mask, &[Type::I32]);
                return Some(RValue::scalar(CType::UINT, ballot[0]));
            }
            let truth = operate(cx, kind, &[predicate], mask, &[Type::Bool]);
            Some(int_of(cx, truth[0]))
        }
        "__match_any" => {
            let mask = mask(cx)?;
            let value = call.argument(first)?.value.first()?;
            let lanes = operate(cx, WarpKind::MatchAny, &[value], mask, &[Type::I32]);
            Some(RValue::scalar(CType::UINT, lanes[0]))
        }
        "__match_all" => {
            let mask = mask(cx)?;
            let value = call.argument(first)?.value.first()?;
            let results = operate(
                cx,
                WarpKind::MatchAll,
                &[value],
                mask,
                &[Type::I32, Type::Bool],
            );
            let all = int_of(cx, results[1]);
            call.write(cx, first + 1, all)?;
            Some(RValue::scalar(CType::UINT, results[0]))
        }
        "__activemask" => {
            let lanes = operate(cx, WarpKind::ActiveMask, &[], None, &[Type::I32]);
            Some(RValue::scalar(CType::UINT, lanes[0]))
        }
        _ => None,
    }
}

pub(super) fn operate(
    cx: &mut Context<'_>,
    kind: WarpKind,
    operands: &[Value],
    mask: Option<Value>,
    results: &[Type],
) -> Vec<Value> {
    let mut args = operands.to_vec();
    args.extend(mask);
    let inst = cx.builder.inst(
        Op::Warp(WarpOp {
            kind,
            mask: mask.is_some(),
        }),
        &args,
        results,
    );
    cx.builder.results(inst).to_vec()
}

fn reduction(cx: &mut Context<'_>, call: &Call<'_>) -> Option<RValue> {
    let word = call.name.strip_prefix("__reduce_")?.strip_suffix("_sync")?;
    let signed = call.ty(1)?.is_signed();
    let ty = if signed { CType::INT } else { CType::UINT };
    let op = reduce_op(word, &ty)?;
    let (mask, value) = (call.scalar(cx, 0, &CType::UINT)?, call.scalar(cx, 1, &ty)?);
    let result = operate(cx, WarpKind::Reduce(op), &[value], Some(mask), &[Type::I32]);
    Some(RValue::scalar(ty, result[0]))
}

pub(super) fn reduce_op(word: &str, ty: &CType) -> Option<ReduceOp> {
    let (float, signed) = (ty.is_float(), ty.is_signed());
    Some(match word {
        "add" | "plus" if float => ReduceOp::FloatAdd,
        "add" | "plus" => ReduceOp::Add,
        "min" | "less" if float => ReduceOp::FloatMin,
        "max" | "greater" if float => ReduceOp::FloatMax,
        "min" | "less" if signed => ReduceOp::MinSigned,
        "max" | "greater" if signed => ReduceOp::MaxSigned,
        "min" | "less" => ReduceOp::MinUnsigned,
        "max" | "greater" => ReduceOp::MaxUnsigned,
        "and" | "bit_and" => ReduceOp::And,
        "or" | "bit_or" => ReduceOp::Or,
        "xor" | "bit_xor" => ReduceOp::Xor,
        _ => return None,
    })
}
