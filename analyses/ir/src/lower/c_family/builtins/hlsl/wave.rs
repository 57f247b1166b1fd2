//! Wave and quad intrinsics, component by component.

use super::*;
use crate::Type;
use crate::entity::Value;
use crate::lower::c_family::value::Parts;

pub(super) fn call(
    cx: &mut Context<'_>,
    name: &str,
    arguments: &[Argument],
    span: Span,
) -> Option<RValue> {
    match (name, arguments) {
        ("WaveGetLaneIndex", []) => {
            let v = cx.builder.special(Special::LaneId, Type::I32);
            return Some(RValue::scalar(CType::UINT, v));
        }
        ("WaveGetLaneCount", []) => {
            let v = cx.builder.special(Special::WarpSize, Type::I32);
            return Some(RValue::scalar(CType::UINT, v));
        }
        ("WaveIsFirstLane", []) => {
            let v = warp(cx, WarpKind::IsFirstLane, &[], Type::Bool);
            return Some(RValue::scalar(CType::Bool, v));
        }
        ("WaveActiveBallot", [a]) => {
            let a = value(cx, a);
            let bit = cx.truth(a, span);
            return Some(mask(cx, WarpKind::Ballot, &[bit]));
        }
        ("WaveActiveAnyTrue" | "WaveActiveAllTrue" | "QuadAny" | "QuadAll", [a]) => {
            let a = value(cx, a);
            let bit = cx.truth(a, span);
            let kind = match name {
                "WaveActiveAnyTrue" => WarpKind::VoteAny,
                "WaveActiveAllTrue" => WarpKind::VoteAll,
                "QuadAny" => WarpKind::QuadAny,
                _ => WarpKind::QuadAll,
            };
            let v = warp(cx, kind, &[bit], Type::Bool);
            return Some(RValue::scalar(CType::Bool, v));
        }
        ("WaveActiveCountBits" | "WavePrefixCountBits", [a]) => {
            let a = value(cx, a);
            let bit = cx.truth(a, span);
            let kind = if name == "WaveActiveCountBits" {
                WarpKind::CountBits
            } else {
                WarpKind::PrefixCountBits
            };
            let v = warp(cx, kind, &[bit], Type::I32);
            return Some(RValue::scalar(CType::UINT, v));
        }
        ("WaveActiveAllEqual", [a]) => {
            let a = value(cx, a);
            let ty = a.ty.with_element(CType::Bool);
            let ty = if a.ty.is_numeric() { ty } else { return None };
            return Some(
                cx.map(&RValue::new(ty, a.parts.clone()), &CType::Bool, |cx, v| {
                    warp(cx, WarpKind::AllEqual, &[v], Type::Bool)
                }),
            );
        }
        ("WaveMatch", [a]) => {
            let a = value(cx, a);
            let mut masks = a.parts.clone().into_iter();
            let first = masks.next()?;
            let mut all = mask(cx, WarpKind::MatchAny, &[first]);
            for part in masks {
                let next = mask(cx, WarpKind::MatchAny, &[part]);
                all = cx.arithmetic(ast::BinaryOp::BitAnd, all, next, span);
            }
            return Some(all);
        }
        ("WaveReadLaneFirst", [a]) => return lane_wise(cx, a, WarpKind::ReadFirstLane, None),
        ("QuadReadAcrossX", [a]) => return lane_wise(cx, a, WarpKind::QuadReadAcrossX, None),
        ("QuadReadAcrossY", [a]) => return lane_wise(cx, a, WarpKind::QuadReadAcrossY, None),
        ("QuadReadAcrossDiagonal", [a]) => {
            return lane_wise(cx, a, WarpKind::QuadReadAcrossDiagonal, None);
        }
        ("WaveReadLaneAt" | "QuadReadLaneAt", [a, lane]) => {
            let lane = uint(cx, lane, span).first()?;
            let kind = if name == "WaveReadLaneAt" {
                WarpKind::ReadLaneAt
            } else {
                WarpKind::QuadReadLaneAt
            };
            return lane_wise(cx, a, kind, Some(lane));
        }
        _ => {}
    }
    if let Some(operation) = name.strip_prefix("WaveMultiPrefix") {
        let [a, lanes] = arguments else { return None };
        let lanes = value(cx, lanes);
        let a = value(cx, a);
        if operation == "CountBits" {
            let bit = cx.truth(a, span);
            let mut args = vec![bit];
            args.extend_from_slice(&lanes.parts);
            let v = warp(cx, WarpKind::Other, &args, Type::I32);
            return Some(RValue::scalar(CType::UINT, v));
        }
        reduction(operation, a.ty.element())?;
        let element = a.ty.element().clone();
        let ty = element.scalar_ir()?;
        return Some(cx.map(&a, &element, |cx, v| {
            let mut args = vec![v];
            args.extend_from_slice(&lanes.parts);
            warp(cx, WarpKind::Other, &args, ty)
        }));
    }
    let (prefix, operation) = match (
        name.strip_prefix("WaveActive"),
        name.strip_prefix("WavePrefix"),
    ) {
        (Some(operation), _) => (false, operation),
        (_, Some(operation)) => (true, operation),
        _ => return None,
    };
    let [a] = arguments else { return None };
    let a = value(cx, a);
    if !a.ty.is_numeric() {
        return None;
    }
    let promoted = cx.promote(a.ty.element());
    let ty = a.ty.with_element(promoted.clone());
    let a = cx.convert(a, &ty, span);
    cx.here(span);
    let reduce = reduction(operation, &promoted)?;
    let kind = if prefix {
        WarpKind::PrefixExclusive(reduce)
    } else {
        WarpKind::Reduce(reduce)
    };
    Some(cx.map(&a, &promoted, |cx, v| {
        let ty = cx.builder.function.ty(v);
        warp(cx, kind, &[v], ty)
    }))
}

fn reduction(name: &str, ty: &CType) -> Option<ReduceOp> {
    let (float, signed) = (ty.is_float(), ty.is_signed());
    Some(match name {
        "Sum" if float => ReduceOp::FloatAdd,
        "Sum" => ReduceOp::Add,
        "Product" if float => ReduceOp::FloatMul,
        "Product" => ReduceOp::Mul,
        "Min" if float => ReduceOp::FloatMin,
        "Min" if signed => ReduceOp::MinSigned,
        "Min" => ReduceOp::MinUnsigned,
        "Max" if float => ReduceOp::FloatMax,
        "Max" if signed => ReduceOp::MaxSigned,
        "Max" => ReduceOp::MaxUnsigned,
        "BitAnd" => ReduceOp::And,
        "BitOr" => ReduceOp::Or,
        "BitXor" => ReduceOp::Xor,
        _ => return None,
    })
}

fn warp(cx: &mut Context<'_>, kind: WarpKind, args: &[Value], ty: Type) -> Value {
    cx.builder
        .value(Op::Warp(WarpOp { kind, mask: false }), args, ty)
}

/// `uint4` mask of lanes.
fn mask(cx: &mut Context<'_>, kind: WarpKind, args: &[Value]) -> RValue {
    let op = Op::Warp(WarpOp { kind, mask: false });
    let inst = cx.builder.inst(op, args, &[Type::I32; 4]);
    let parts: Parts = cx.builder.results(inst).iter().copied().collect();
    cx.builder.vector(&parts);
    RValue::new(CType::vector(CType::UINT, 4), parts)
}

/// The operation on every scalar of a value, structures included.
fn lane_wise(
    cx: &mut Context<'_>,
    argument: &Argument,
    kind: WarpKind,
    lane: Option<Value>,
) -> Option<RValue> {
    let a = value(cx, argument);
    if a.parts.is_empty() {
        return None;
    }
    let parts: Parts = a
        .parts
        .iter()
        .map(|&v| {
            let ty = cx.builder.function.ty(v);
            let args: Vec<Value> = std::iter::once(v).chain(lane).collect();
            warp(cx, kind, &args, ty)
        })
        .collect();
    if a.ty.is_numeric() {
        cx.builder.vector(&parts);
    }
    Some(RValue::new(a.ty.clone(), parts))
}
