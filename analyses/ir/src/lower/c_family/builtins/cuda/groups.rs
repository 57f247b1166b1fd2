//! Cooperative groups. A group is an opaque object identified by its type's name: `thread_block`,
//! `thread_block_tile<N>`, `coalesced_group`, `grid_group`, `cluster_group`; the result of
//! `coalesced_threads()` is `coalesced_group<active>` until a declared type forgets it.

use super::super::BuiltinTemplateArgument;
use super::synchronization;
use super::warp::{operate, reduce_op, shuffled};
use super::{Call, plain};
use crate::entity::Value;
use crate::inst::{Barrier, BinaryOp, Convert, Op, Special, WarpKind, Wrap};
use crate::lower::c_family::context::Context;
use crate::lower::c_family::types::CType;
use crate::lower::c_family::value::{Argument, RValue};
use crate::types::Type;
use smol_str::SmolStr;
use syntax::Span;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Group {
    Block,
    /// Lanes: a power of two up to 32.
    Tile(u32),
    /// A tile of as many lanes as an instantiation that is not in sight chooses.
    OpenTile,
    /// The lanes that execute together.
    Active,
    /// Lanes of a warp that something else put together: by label, by predicate, or where the caller stood.
    Coalesced,
    Grid,
    Cluster,
}

fn group_of(ty: &CType) -> Option<Group> {
    let CType::Opaque(name) = ty.value_type() else {
        return None;
    };
    let name = plain(name);
    if let Some(rest) = name.strip_prefix("thread_block_tile<") {
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        return Some(digits.parse().map_or(Group::OpenTile, |lanes: u32| {
            Group::Tile(lanes.clamp(1, 32))
        }));
    }
    if name == "coalesced_group<active>" {
        return Some(Group::Active);
    }
    match name.split('<').next()? {
        "thread_block" => Some(Group::Block),
        "thread_block_tile" => Some(Group::OpenTile),
        "thread_group" => Some(Group::Coalesced),
        "coalesced_group" => Some(Group::Coalesced),
        "grid_group" => Some(Group::Grid),
        "cluster_group" => Some(Group::Cluster),
        _ => None,
    }
}

/// `thread_group`, as which a function may be given a group of any kind.
fn is_of_any_kind(ty: &CType) -> bool {
    matches!(ty.value_type(), CType::Opaque(name) if plain(name) == "thread_group")
}

fn object(cx: &mut Context<'_>, name: &str) -> RValue {
    cx.zero(&CType::opaque(&format!("cooperative_groups::{name}")))
}

pub(super) fn call(cx: &mut Context<'_>, call: &Call<'_>) -> Option<RValue> {
    match call.name {
        "this_thread_block" => Some(object(cx, "thread_block")),
        "this_grid" => Some(object(cx, "grid_group")),
        "this_cluster" => Some(object(cx, "cluster_group")),
        "coalesced_threads" => Some(object(cx, "coalesced_group<active>")),
        "labeled_partition" | "binary_partition" => {
            let ty = CType::opaque("cooperative_groups::coalesced_group");
            Some(call.opaque(cx, &ty, true))
        }
        "this_thread" => Some(object(cx, "thread_block_tile<1>")),
        "tiled_partition" => {
            let lanes = call.types.iter().find_map(|a| match a {
                BuiltinTemplateArgument::Value(n) => Some(*n),
                BuiltinTemplateArgument::Type(_) => None,
            });
            let lanes = lanes.or_else(|| {
                let size = call.argument(1)?.value.first()?;
                cx.builder.function.int_constant(size)
            });
            match lanes {
                Some(lanes) => Some(object(cx, &format!("thread_block_tile<{lanes}>"))),
                None if call.count() < 2 => Some(object(cx, "thread_block_tile")),
                None => Some(object(cx, "coalesced_group")),
            }
        }
        "sync" if call.count() == 1 => group_method(cx, "sync", call.arguments, call.span),
        "reduce" if call.count() >= 2 => {
            let group = group_of(call.ty(0)?)?;
            let value = call.argument(1)?.value.clone();
            let known = match call.ty(2) {
                Some(CType::Opaque(name)) => {
                    let word = plain(name).split('<').next().unwrap_or("").to_string();
                    reduce(cx, group, &value, &word)
                }
                _ => None,
            };
            if known.is_some() {
                return known;
            }
            // An operator of the author's: not known what, but a whole warp agrees on it.
            let ty = value.ty.value_type().clone();
            let mut result = call.opaque(cx, &ty, true);
            if matches!(group, Group::Tile(32) | Group::Active) {
                for part in &mut result.parts {
                    let ty = cx.builder.function.ty(*part);
                    *part = operate(cx, WarpKind::ReadFirstLane, &[*part], None, &[ty])[0];
                }
            }
            Some(result)
        }
        "inclusive_scan" | "exclusive_scan" => {
            let ty = call.ty(1)?.clone();
            Some(call.opaque(cx, &ty, true))
        }
        _ => None,
    }
}

/// A method of an opaque object; the object is the first argument.
pub fn method(
    cx: &mut Context<'_>,
    name: &str,
    arguments: &[Argument],
    span: Span,
) -> Option<RValue> {
    cx.here(span);
    group_method(cx, name, arguments, span).or_else(|| synchronization::method(cx, name, arguments))
}

fn group_method(
    cx: &mut Context<'_>,
    name: &str,
    arguments: &[Argument],
    span: Span,
) -> Option<RValue> {
    let group = group_of(arguments.first()?.ty())?;
    let rest = &arguments[1..];
    let uint = |value: Value| Some(RValue::scalar(CType::UINT, value));
    match name {
        "barrier_arrive" | "barrier_wait" => synchronization::split(
            cx,
            name,
            group == Group::Block,
            matches!(group, Group::Grid | Group::Cluster),
        ),
        "sync" => {
            let full = cx.builder.int(Type::I32, -1);
            match group {
                Group::Block => cx.builder.inst(Op::Barrier(Barrier::Workgroup), &[], &[]),
                Group::Tile(32) => cx.builder.inst(Op::Barrier(Barrier::Warp), &[full], &[]),
                Group::Tile(_) | Group::OpenTile | Group::Coalesced | Group::Active => {
                    cx.builder.inst(Op::Fence, &[], &[])
                }
                Group::Grid => {
                    let whole = cx.builder.bool(true);
                    cx.builder.inst(Op::Barrier(Barrier::Grid), &[whole], &[])
                }
                Group::Cluster => cx.builder.inst(Op::Barrier(Barrier::Grid), &[], &[]),
            };
            Some(RValue::void())
        }
        "thread_rank" => {
            let rank = rank(cx, group);
            uint(rank)
        }
        // A block's, a tile's, or that of some lanes, which may differ from those of others.
        "size" | "num_threads" if is_of_any_kind(arguments.first()?.ty()) => {
            let lane = cx.builder.special(Special::LaneId, Type::I32);
            let op = Op::CallUnknown {
                name: name.into(),
                pure: true,
                convention: Default::default(),
            };
            uint(cx.builder.value(op, &[lane], Type::I32))
        }
        "size" | "num_threads" => {
            let size = size(cx, group);
            uint(size)
        }
        "meta_group_rank" | "meta_group_size" => {
            let whole = if name.ends_with("rank") {
                linear_thread(cx)
            } else {
                block_size(cx)
            };
            match width(cx, group) {
                Some(lanes) => {
                    uint(
                        cx.builder
                            .binary(BinaryOp::DivUnsigned, Wrap::MAY, whole, lanes),
                    )
                }
                // What the warp was parted by decides.
                None => {
                    let op = Op::CallUnknown {
                        name: name.into(),
                        pure: true,
                        convention: Default::default(),
                    };
                    uint(cx.builder.value(op, &[whole], Type::I32))
                }
            }
        }
        "thread_index" | "group_index" | "group_dim" | "dim_threads" | "block_index"
        | "grid_dim" => {
            let special = |axis| match name {
                "thread_index" => Special::ThreadId(axis),
                "group_dim" | "dim_threads" => Special::BlockDim(axis),
                "grid_dim" => Special::GridDim(axis),
                _ => Special::BlockId(axis),
            };
            let parts: Vec<Value> = (0..3)
                .map(|axis| cx.builder.special(special(axis), Type::I32))
                .collect();
            cx.builder.vector(&parts);
            Some(RValue::new(CType::vector(CType::UINT, 3), parts))
        }
        "block_rank" | "cluster_rank" => uint(
            cx.builder
                .special(Special::OtherWorkgroup(Special::LIBRARY), Type::I32),
        ),
        "num_blocks" | "is_valid" => uint(
            cx.builder
                .special(Special::OtherDispatch(Special::LIBRARY), Type::I32),
        ),
        // The same place in the memory of another block of the cluster: which block decides what is read there.
        "map_shared_rank" => {
            let [place, rank, ..] = rest else { return None };
            let address = cx
                .convert(place.value.clone(), &place.value.ty, span)
                .first()?;
            let rank = rank.value.first()?;
            let op = crate::inst::Op::CallUnknown {
                name: "map_shared_rank".into(),
                pure: true,
                convention: Default::default(),
            };
            let mapped = cx.builder.value(
                op,
                &[address, rank],
                Type::Ptr(crate::types::Space::Generic),
            );
            Some(RValue::new(place.value.ty.clone(), vec![mapped]))
        }
        "shfl" | "shfl_down" | "shfl_up" | "shfl_xor" => {
            let width = match width(cx, group) {
                Some(lanes) => lanes,
                None => cx.builder.int(Type::I32, 32),
            };
            let lane = rest.get(1)?.value.clone();
            let lane = cx.convert(lane, &CType::INT, span).first()?;
            let kind = match name {
                "shfl" => WarpKind::ShuffleIndex,
                "shfl_down" => WarpKind::ShuffleDown,
                "shfl_up" => WarpKind::ShuffleUp,
                _ => WarpKind::ShuffleXor,
            };
            // Ranks of a coalesced group are no lane numbers: which lane is read is not known.
            let lane = if matches!(group, Group::Coalesced | Group::Active) {
                cx.builder.special(Special::LaneId, Type::I32)
            } else {
                lane
            };
            Some(shuffled(cx, kind, &rest.first()?.value, lane, width, None))
        }
        "any" | "all" | "ballot" => {
            let predicate = cx.truth(rest.first()?.value.clone(), span);
            let mask = segment(cx, group);
            if name == "ballot" {
                let lanes = operate(cx, WarpKind::Ballot, &[predicate], mask, &[Type::I32]);
                return uint(of_tile(cx, group, lanes[0]));
            }
            let kind = if name == "any" {
                WarpKind::VoteAny
            } else {
                WarpKind::VoteAll
            };
            let truth = operate(cx, kind, &[predicate], mask, &[Type::Bool]);
            Some(super::int_of(cx, truth[0]))
        }
        "match_any" => {
            let value = rest.first()?.value.first()?;
            let mask = segment(cx, group);
            let lanes = operate(cx, WarpKind::MatchAny, &[value], mask, &[Type::I32]);
            uint(of_tile(cx, group, lanes[0]))
        }
        "match_all" => {
            let value = rest.first()?.value.first()?;
            let mask = segment(cx, group);
            let types = [Type::I32, Type::Bool];
            let results = operate(cx, WarpKind::MatchAll, &[value], mask, &types);
            let all = super::int_of(cx, results[1]);
            let place = rest.get(1)?.place.clone()?;
            cx.store(&place, all, span);
            uint(of_tile(cx, group, results[0]))
        }
        _ => None,
    }
}

/// The mask of the lane's own tile, when that is smaller than a warp: votes differ from tile to tile. Of a group whose lanes are
/// not known the lane itself is all that is certain.
fn segment(cx: &mut Context<'_>, group: Group) -> Option<Value> {
    if group == Group::Coalesced {
        return Some(cx.builder.special(Special::LaneMaskEq, Type::I32));
    }
    let first = first_lane(cx, group)?;
    let ones = match group {
        Group::Tile(lanes) => cx.builder.int(Type::I32, (1i64 << lanes) - 1),
        _ => {
            let lanes = width(cx, group)?;
            let one = cx.builder.int(Type::I64, 1);
            let lanes = cx.builder.convert(Convert::ZeroExtend, lanes, Type::I64);
            let end = cx.builder.binary(BinaryOp::Shl, Wrap::MAY, one, lanes);
            let ones = cx.builder.binary(BinaryOp::Sub, Wrap::MAY, end, one);
            cx.builder.convert(Convert::Truncate, ones, Type::I32)
        }
    };
    Some(cx.builder.binary(BinaryOp::Shl, Wrap::MAY, ones, first))
}

/// The lanes of a tile.
fn width(cx: &mut Context<'_>, group: Group) -> Option<Value> {
    match group {
        Group::Tile(lanes) => Some(cx.builder.int(Type::I32, i64::from(lanes))),
        Group::OpenTile => Some(cx.template_symbol(&SmolStr::default(), &CType::UINT)),
        _ => None,
    }
}

/// The lane of the warp at which the lane's own tile begins, when that may be smaller than a warp.
fn first_lane(cx: &mut Context<'_>, group: Group) -> Option<Value> {
    if let Group::Tile(lanes) = group {
        let lane = (lanes < 32).then(|| cx.builder.special(Special::LaneId, Type::I32))?;
        let first = cx.builder.int(Type::I32, !i64::from(lanes - 1));
        return Some(cx.builder.binary(BinaryOp::And, Wrap::MAY, lane, first));
    }
    let lanes = width(cx, group)?;
    let lane = cx.builder.special(Special::LaneId, Type::I32);
    let op = BinaryOp::RemUnsigned;
    let within = cx.builder.binary(op, Wrap::MAY, lane, lanes);
    Some(cx.builder.binary(BinaryOp::Sub, Wrap::MAY, lane, within))
}

/// Lanes of a tile as the tile numbers them: those of the warp from its first lane on.
fn of_tile(cx: &mut Context<'_>, group: Group, lanes: Value) -> Value {
    match first_lane(cx, group) {
        Some(first) => cx
            .builder
            .binary(BinaryOp::ShrUnsigned, Wrap::MAY, lanes, first),
        None => lanes,
    }
}

fn reduce(cx: &mut Context<'_>, group: Group, value: &RValue, word: &str) -> Option<RValue> {
    let ty = value.ty.value_type().clone();
    let op = reduce_op(word, &ty)?;
    let &[value] = value.parts.as_slice() else {
        return None;
    };
    let mask = segment(cx, group);
    let result = cx.builder.function.ty(value);
    let reduced = operate(cx, WarpKind::Reduce(op), &[value], mask, &[result]);
    Some(RValue::scalar(ty, reduced[0]))
}

fn rank(cx: &mut Context<'_>, group: Group) -> Value {
    match group {
        Group::Block => linear_thread(cx),
        Group::Tile(lanes) => {
            let lane = cx.builder.special(Special::LaneId, Type::I32);
            let mask = cx.builder.int(Type::I32, i64::from(lanes - 1));
            if lanes == 32 {
                lane
            } else {
                cx.builder.binary(BinaryOp::And, Wrap::MAY, lane, mask)
            }
        }
        Group::OpenTile => {
            let lane = cx.builder.special(Special::LaneId, Type::I32);
            match width(cx, group) {
                Some(lanes) => cx
                    .builder
                    .binary(BinaryOp::RemUnsigned, Wrap::MAY, lane, lanes),
                None => lane,
            }
        }
        Group::Coalesced | Group::Active => {
            let here = cx.builder.bool(true);
            operate(cx, WarpKind::PrefixCountBits, &[here], None, &[Type::I32])[0]
        }
        Group::Grid | Group::Cluster => {
            let block = cx.builder.special(Special::BlockId(0), Type::I32);
            let size = block_size(cx);
            let thread = linear_thread(cx);
            let base = cx.builder.binary(BinaryOp::Mul, Wrap::MAY, block, size);
            cx.builder.binary(BinaryOp::Add, Wrap::MAY, base, thread)
        }
    }
}

fn size(cx: &mut Context<'_>, group: Group) -> Value {
    match group {
        Group::Block => block_size(cx),
        Group::Tile(lanes) => cx.builder.int(Type::I32, i64::from(lanes)),
        Group::OpenTile => cx.template_symbol(&SmolStr::default(), &CType::UINT),
        Group::Coalesced | Group::Active => {
            let here = cx.builder.bool(true);
            let mask = segment(cx, group);
            operate(cx, WarpKind::CountBits, &[here], mask, &[Type::I32])[0]
        }
        Group::Grid | Group::Cluster => {
            let blocks = cx.builder.special(Special::GridDim(0), Type::I32);
            let size = block_size(cx);
            cx.builder.binary(BinaryOp::Mul, Wrap::MAY, blocks, size)
        }
    }
}

pub(super) fn block_size(cx: &mut Context<'_>) -> Value {
    let [x, y, z] = [0, 1, 2].map(|axis| cx.builder.special(Special::BlockDim(axis), Type::I32));
    let area = cx.builder.binary(BinaryOp::Mul, Wrap::NO_SIGNED, x, y);
    cx.builder.binary(BinaryOp::Mul, Wrap::NO_SIGNED, area, z)
}

/// `(z * height + y) * width + x`: at most 1024 threads, nothing wraps.
fn linear_thread(cx: &mut Context<'_>) -> Value {
    let [x, y, z] = [0, 1, 2].map(|axis| cx.builder.special(Special::ThreadId(axis), Type::I32));
    let [width, height] = [0, 1].map(|axis| cx.builder.special(Special::BlockDim(axis), Type::I32));
    let row = cx.builder.binary(BinaryOp::Mul, Wrap::NO_SIGNED, z, height);
    let row = cx.builder.binary(BinaryOp::Add, Wrap::NO_SIGNED, row, y);
    let start = cx
        .builder
        .binary(BinaryOp::Mul, Wrap::NO_SIGNED, row, width);
    cx.builder.binary(BinaryOp::Add, Wrap::NO_SIGNED, start, x)
}
