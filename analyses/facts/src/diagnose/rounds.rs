//! The distribution of a loop's rounds among the lanes of a warp, and the lane that stays the longest.
//!
//! ```text
//! for (i = tid; i < n; i += blockDim.x)                              one range, trip counts differ by at most one
//! for (c = 0; c < n; c += 32) { if (c + lane >= n) break; .. }       the same
//! for (;;) { u = readfirstlane(x); if (x == u) { ..; break; } }      lanes with one value are served together
//! ```
//!
//! A side of the loop's comparison is looked through down to the header's parameters, coordinates and
//! constants: its growth from round to round, and from lane to lane. A condition of several parts (`N == 0 &&
//! c + lane >= n`) is taken apart: uniform parts separate no lanes, and each comparison of the rest must
//! share the rounds. Bounded by `DEPTH`. In 32 lanes the coordinate differs by 31 at most.

mod growth;
mod rests;
mod tiles;

use super::{Context, strides, together, windows};
use crate::model::*;
use growth::{growth, own_part};
use ir::{
    BinaryOp, Block, Function, IntCondition, Op, Special, Terminator, Value, ValueDef, WarpKind,
};
pub(super) use rests::in_a_rest;
pub(super) use tiles::{may_be_whole_tiles, whole_tiles};

pub(super) const DEPTH: u32 = 12;
/// Parts of a condition.
pub(super) const PARTS: usize = 16;

/// The lanes share the rounds of one range.
pub(super) fn shared_by_the_warp(cx: &Context<'_>, header: Block, exit: Block) -> bool {
    let selector = cx.function.blocks[exit].terminator.selector();
    if selector.is_some_and(|selector| whole_tiles(cx, header, selector, exit)) {
        return true;
    }
    let Some(comparisons) = parting_comparisons(cx, header, exit) else {
        return false;
    };
    comparisons.into_iter().all(|compare| {
        strides::by_the_group(cx, header, compare) || grows_by_a_warp(cx, header, compare)
    })
}

/// All lanes go the same number of rounds, except those that share the rounds of one range: also where lanes
/// leave elsewhere.
pub(super) fn as_many_in_all_lanes(cx: &Context<'_>, header: Block) -> bool {
    let forest = cx.forest();
    let Some((own, _)) = forest.loops.iter().find(|(_, l)| l.header == header) else {
        return false;
    };
    let leaves = |block: Block| {
        let mut next = cx.flow.successors[block].iter();
        next.any(|&next| !forest.contains(own, next))
    };
    let exits: Vec<Block> = cx
        .flow
        .order
        .iter()
        .copied()
        .filter(|&block| {
            let selector = cx.function.blocks[block].terminator.selector();
            let parts =
                selector.is_some_and(|selector| !cx.uniform(selector, block, Scope::Subgroup));
            parts && forest.contains(own, block) && leaves(block)
        })
        .collect();
    // A condition that no round changes: lanes that it keeps out execute no round at all, as behind an `if`.
    let is_guard = |compare: Value| {
        let args = cx.function.defining(compare).map(|data| &data.args);
        args.is_some_and(|args| {
            args.iter().all(|&arg| {
                let block = match cx.function.values[below(cx.function, arg)].def {
                    ValueDef::Param(block, _) => Some(block),
                    ValueDef::Result(inst, _) => cx.block_of[inst],
                };
                block.is_some_and(|block| !forest.contains(own, block))
            })
        })
    };
    let fits = |compare: Value| {
        is_guard(compare)
            || windows::have_one_width(cx, header, compare, Scope::Subgroup)
            || strides::by_the_group(cx, header, compare)
            || grows_by_a_warp(cx, header, compare)
    };
    let shared = |exit: &Block| {
        let comparisons = parting_comparisons(cx, header, *exit);
        comparisons.is_some_and(|found| found.into_iter().all(fits))
    };
    !exits.is_empty() && exits.iter().all(shared)
}

/// The comparisons by which lanes part at a branch; `None`: they part by something else.
pub(super) fn parting_comparisons(
    cx: &Context<'_>,
    header: Block,
    exit: Block,
) -> Option<Vec<Value>> {
    let function = cx.function;
    let selector = function.blocks[exit].terminator.selector()?;
    let mut work: Vec<(Value, Block)> = vec![(selector, exit)];
    let mut seen: Vec<Value> = Vec::new();
    let mut found = Vec::new();
    while let Some((value, at)) = work.pop() {
        if seen.contains(&value) || cx.uniform(value, at, Scope::Subgroup) {
            continue;
        }
        seen.push(value);
        if seen.len() > PARTS {
            return None;
        }
        match function.values[value].def {
            // What `&&` and `||` join.
            ValueDef::Param(block, number) => {
                if cx.flow.position[block] <= cx.flow.position[header] {
                    return None;
                }
                for &before in &cx.flow.predecessors[block] {
                    let terminator = &function.blocks[before].terminator;
                    work.extend(terminator.selector().map(|selector| (selector, before)));
                    for edge in terminator.edges().iter().filter(|e| e.block == block) {
                        work.push((*edge.args.get(number as usize)?, before));
                    }
                }
            }
            ValueDef::Result(inst, _) => {
                let data = &function.insts[inst];
                match data.op {
                    Op::IntCompare(_) | Op::FloatCompare(_) => found.push(value),
                    Op::Binary(BinaryOp::And | BinaryOp::Or, _) | Op::Unary(ir::UnaryOp::Not) => {
                        work.extend(data.args.iter().map(|&arg| (arg, at)));
                    }
                    _ => return None,
                }
            }
        }
    }
    // Uniform in a warp: parts larger groups alone.
    if found.is_empty() {
        found.push(selector);
    }
    Some(found)
}

pub(super) fn below(function: &Function, mut value: Value) -> Value {
    while let Some(data) = function.defining(value)
        && matches!(data.op, Op::Convert(_))
    {
        value = data.args[0];
    }
    value
}

/// From round to round the comparison moves on by at least as much as from the first lane to the last.
fn grows_by_a_warp(cx: &Context<'_>, header: Block, compare: Value) -> bool {
    let Some(data) = cx.function.defining(compare) else {
        return false;
    };
    if !matches!(data.op, Op::IntCompare(_)) {
        return false;
    }
    let side = |number: usize| growth(cx, data.args[number], Some(header), DEPTH);
    let difference = side(0).and_then(|a| a.plus(-1, side(1)?));
    difference.is_some_and(|d| {
        let warp = cx.facts.options.warp_size;
        let lanes = u64::from(cx.size(0).map_or(warp, |x| x.min(warp)).max(1) - 1);
        let lanes = lanes.min(span_of_lanes(cx, header));
        let width = d.lane.unsigned_abs().saturating_mul(lanes);
        let width = d
            .within
            .map_or(width, |most| width.min(most.unsigned_abs()));
        let width = width.saturating_add(d.spread.unsigned_abs());
        d.symbolic && d.lane.unsigned_abs() <= 8 || d.round != 0 && d.round.unsigned_abs() >= width
    })
}

/// From the first to the last lane that the conditions above a block let through, where they tell: 3 of `if (tid.x < 4)`.
fn span_of_lanes(cx: &Context<'_>, block: Block) -> u64 {
    let function = cx.function;
    let dominators = cx.dominators();
    let mut lanes = u128::MAX;
    let mut at = block;
    while let Some(above) = dominators.immediate(at) {
        if let Terminator::Branch {
            then, otherwise, ..
        } = &function.blocks[above].terminator
            && let Some(holds) = cx.facts.branch(above).and_then(|fact| fact.lanes)
        {
            let only = |target: Block| {
                cx.flow.predecessors[target].as_slice() == [above]
                    && dominators.dominates(target, block)
            };
            match (only(then.block), only(otherwise.block)) {
                (true, false) => lanes &= holds,
                (false, true) => lanes &= !holds,
                _ => {}
            }
        }
        at = above;
    }
    match lanes {
        0 => 0,
        some => u64::from(127 - some.leading_zeros() - some.trailing_zeros()),
    }
}

/// One value, or one number of the launch asked for twice.
pub(super) fn is_same(function: &Function, left: Value, right: Value) -> bool {
    let special = |value: Value| match function.defining(value)?.op {
        Op::Special(special @ (Special::BlockDim(_) | Special::GridDim(_) | Special::WarpSize)) => {
            Some(special)
        }
        _ => None,
    };
    left == right || special(left).is_some_and(|known| special(right) == Some(known))
}

/// Returns true if the first lane takes this edge of the branch if any lane does.
pub(super) fn first_lane_stays(cx: &Context<'_>, branch: Block, target: Block) -> bool {
    let Terminator::Branch {
        condition,
        then,
        otherwise,
        ..
    } = &cx.function.blocks[branch].terminator
    else {
        return false;
    };
    then.block != otherwise.block && holds_first(cx, *condition, branch, then.block == target, 4)
}

/// Returns true if the condition is as wanted in the first lane if it is in any.
fn holds_first(cx: &Context<'_>, condition: Value, at: Block, wanted: bool, depth: u32) -> bool {
    if cx.uniform(condition, at, Scope::Subgroup)
        || together::is_met_by_whole_warps(cx, condition, at)
    {
        return true;
    }
    let (Some(depth), Some(data)) = (depth.checked_sub(1), cx.function.defining(condition)) else {
        return false;
    };
    let both = |wanted| {
        let mut args = data.args.iter();
        args.all(|&arg| holds_first(cx, arg, at, wanted, depth))
    };
    match data.op {
        Op::Binary(BinaryOp::And, _) if wanted => both(true),
        Op::Binary(BinaryOp::Or, _) if !wanted => both(false),
        Op::Unary(ir::UnaryOp::Not) => both(!wanted),
        Op::Convert(ir::Convert::ToBool) if wanted && is_next_in_a_group(cx, data.args[0], at) => {
            true
        }
        Op::IntCompare(IntCondition::NotEqual)
            if wanted
                && cx.function.int_constant(data.args[1]) == Some(0)
                && is_next_in_a_group(cx, data.args[0], at) =>
        {
            true
        }
        Op::IntCompare(kind) => {
            use IntCondition::*;
            let rounds = cx.facts.loops.iter().map(|l| Some(l.header));
            let mut headers = rounds.chain([None]);
            let found = headers.find_map(|header| {
                let side = |number: usize| growth(cx, data.args[number], header, DEPTH);
                side(0)?.plus(-1, side(1)?)
            });
            let own = |number: usize| own_part(cx, data.args[number], at);
            let found = found.or_else(|| own(0)?.plus(-1, own(1)?));
            let Some(difference) = found.filter(|difference| difference.spread == 0) else {
                return false;
            };
            match (kind, wanted) {
                (LessSigned | LessEqualSigned | LessUnsigned | LessEqualUnsigned, true)
                | (
                    GreaterSigned | GreaterEqualSigned | GreaterUnsigned | GreaterEqualUnsigned,
                    false,
                ) => difference.lane > 0,
                (
                    GreaterSigned | GreaterEqualSigned | GreaterUnsigned | GreaterEqualUnsigned,
                    true,
                )
                | (LessSigned | LessEqualSigned | LessUnsigned | LessEqualUnsigned, false) => {
                    difference.lane < 0
                }
                _ => false,
            }
        }
        _ => false,
    }
}

/// `(i + 1) & (whole - 1)` of the lanes' own numbers: zero in a last lane, never in the first.
fn is_next_in_a_group(cx: &Context<'_>, value: Value, at: Block) -> bool {
    let function = cx.function;
    // Lanes of the smallest wave.
    const FEWEST: i64 = 4;
    let Some(data) = function.defining(value) else {
        return false;
    };
    let next = |value: Value| {
        let sum = function.defining(below(function, value));
        sum.is_some_and(|sum| {
            matches!(sum.op, Op::Binary(BinaryOp::Add, _))
                && function
                    .int_constant(sum.args[1])
                    .is_some_and(|by| (1..FEWEST).contains(&by))
                && together::is_lane(cx, sum.args[0], at)
        })
    };
    matches!(data.op, Op::Binary(BinaryOp::And, _))
        && data.args.iter().any(|&arg| next(arg))
        && data.args.iter().any(|&arg| together::is_mask(cx, arg, at))
}

/// The lanes leave with those that hold the same as one of them: each round serves one value, as many rounds as there
/// are values.
pub(super) fn serves_in_groups(cx: &Context<'_>, exit: Block) -> bool {
    let mut work: Vec<Value> = cx.function.blocks[exit]
        .terminator
        .selector()
        .into_iter()
        .collect();
    for _ in 0..32 {
        let Some(value) = work.pop() else {
            return false;
        };
        let Some(data) = cx.function.defining(value) else {
            continue;
        };
        match &data.op {
            Op::Warp(op) if op.kind == WarpKind::IsFirstLane => return true,
            Op::IntCompare(IntCondition::Equal | IntCondition::NotEqual)
            | Op::FloatCompare(ir::FloatCondition::Equal | ir::FloatCondition::NotEqual) => {
                let [a, b] = [0, 1].map(|number| below(cx.function, data.args[number]));
                if gives_one_of(cx, a, b) || gives_one_of(cx, b, a) {
                    return true;
                }
            }
            Op::Binary(BinaryOp::And | BinaryOp::Or, _) | Op::Unary(ir::UnaryOp::Not) => {
                work.extend(data.args.iter().copied());
            }
            Op::Convert(_) => work.push(data.args[0]),
            _ => {}
        }
    }
    false
}

/// Returns whether `one` is the value that one of the lanes holds as `all`.
fn gives_one_of(cx: &Context<'_>, value: Value, all: Value) -> bool {
    cx.function.defining(value).is_some_and(|data| {
        let picks = matches!(&data.op, Op::Warp(op) if matches!(
            op.kind,
            WarpKind::ReadFirstLane | WarpKind::ReadLaneAt | WarpKind::ShuffleIndex
        ));
        picks
            && data
                .args
                .first()
                .is_some_and(|&a| below(cx.function, a) == all)
    })
}
