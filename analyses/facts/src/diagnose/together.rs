//! Branches at which the lanes of a scope go one way although the facts do not say so.
//!
//! ```text
//! for (i = tid; i < n / 32 * 32; i += 32) ..              whole warps: a warp enters each round as one
//! all = waveSize == 64 ? WaveActiveAllTrue(p) : ..; if (all) ..   a group of 64 threads is one wave there
//! ```
//!
//! A counter is looked through down to coordinates and constants: it is the lane's own number plus a multiple of the
//! warp, or a multiple of the warp alone, and a limit that is such a multiple lies between two warps. Steps and limits
//! that only the launch knows are taken to be whole. Bounded by `DEPTH`. Nothing that is claimed of values rests on it.

use super::{Context, rounds, windows};
use crate::model::*;
use ir::{
    BinaryOp, Block, IntCondition, Op, Space, Special, Terminator, Value, ValueDef, WarpKind,
};

const DEPTH: u32 = 16;

/// All lanes of the scope that come to the branch take the same way, as far as anyone can tell.
pub(super) fn decides_for_all(cx: &Context<'_>, branch: Block, scope: Scope) -> bool {
    let Some(selector) = cx.function.blocks[branch].terminator.selector() else {
        return true;
    };
    let in_whole_rounds = || goes_in_whole_rounds(cx, selector, branch, scope, DEPTH);
    if ends_with_a_block(cx, selector, branch) || differs_behind_whole_rounds(cx, selector, scope) {
        return true;
    }
    match scope {
        Scope::Subgroup => splits_between_warps(cx, selector, branch, DEPTH) || in_whole_rounds(),
        Scope::Workgroup => in_whole_rounds() || vote_of_the_group(cx, selector, branch),
        _ => false,
    }
}

/// The condition rests on the values of lanes when they leave a loop, which they do in one round.
fn differs_behind_whole_rounds(cx: &Context<'_>, condition: Value, scope: Scope) -> bool {
    let mut chain = cx.causes(condition).into_iter();
    let left = chain.find_map(|value| match cx.facts.values[value].cause {
        Cause::LeavesLoop { exit, .. } => Some(exit),
        _ => None,
    });
    left.and_then(|exit| {
        let selector = cx.function.blocks[exit].terminator.selector()?;
        Some(goes_in_whole_rounds(cx, selector, exit, scope, DEPTH))
    })
    .unwrap_or(false)
}

/// Each part of the condition is the same in the scope, or compares the counter of a loop that it goes through in whole
/// rounds.
fn goes_in_whole_rounds(
    cx: &Context<'_>,
    condition: Value,
    at: Block,
    scope: Scope,
    depth: u32,
) -> bool {
    let (Some(depth), Some(data)) = (depth.checked_sub(1), cx.function.defining(condition)) else {
        return false;
    };
    if matches!(
        data.op,
        Op::Binary(BinaryOp::And | BinaryOp::Or, _) | Op::Unary(ir::UnaryOp::Not)
    ) {
        return data.args.iter().all(|&part| {
            cx.uniform(part, at, scope)
                || scope == Scope::Workgroup && vote_of_the_group(cx, part, at)
                || goes_in_whole_rounds(cx, part, at, scope, depth)
        });
    }
    cx.facts.loops.iter().any(|it| {
        rounds::whole_tiles(cx, it.header, condition, at)
            || rounds::may_be_whole_tiles(cx, it.header, condition)
            || scope == Scope::Workgroup && windows::have_one_width(cx, it.header, condition, scope)
    })
}

/// `i < n`, where all launches in sight pass a multiple of the block's width for `n`, and `i` numbers the grid's threads or
/// the block's.
fn ends_with_a_block(cx: &Context<'_>, selector: Value, at: Block) -> bool {
    let function = cx.function;
    let Some(compare) = function.defining(selector) else {
        return false;
    };
    if cx.facts.options.whole.is_empty() || !matches!(compare.op, Op::IntCompare(_)) {
        return false;
    }
    let is_whole = |value: Value| {
        let value = rounds::below(function, value);
        let mut parameters = (0..).zip(&function.parameters);
        let found = parameters.find(|(_, it)| it.values.contains(&value));
        found.is_some_and(|(number, _)| cx.facts.options.whole.contains(&number))
    };
    let counts_threads = |value: Value| {
        let (mut work, mut seen) = (vec![value], Vec::new());
        let mut thread = false;
        while let Some(value) = work.pop() {
            if seen.contains(&value) || seen.len() > 32 {
                continue;
            }
            seen.push(value);
            match function.values[value].def {
                ValueDef::Result(inst, _) => {
                    let data = &function.insts[inst];
                    match data.op {
                        Op::Special(Special::ThreadId(0)) => thread = true,
                        Op::Special(
                            Special::BlockId(0) | Special::BlockDim(_) | Special::GridDim(_),
                        ) => {}
                        Op::Convert(_) | Op::Binary(BinaryOp::Add | BinaryOp::Mul, _) => {
                            work.extend(data.args.iter().copied());
                        }
                        _ => return false,
                    }
                }
                // The counter of a loop.
                ValueDef::Param(join, number) => {
                    for &before in &cx.flow.predecessors[join] {
                        for edge in function.blocks[before].terminator.edges() {
                            if edge.block == join {
                                work.extend(edge.args.get(number as usize).copied());
                            }
                        }
                    }
                }
            }
        }
        thread
    };
    let [left, right] = [compare.args[0], compare.args[1]];
    let differs = |value: Value| !cx.uniform(value, at, Scope::Workgroup);
    is_whole(left) && differs(right) && counts_threads(right)
        || is_whole(right) && differs(left) && counts_threads(left)
}

/// The remainder of a value after division by the warp's lanes: the lane's number, or nothing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Remainder {
    Lane,
    None,
}

/// A condition that whole warps meet or do not.
pub(super) fn is_met_by_whole_warps(cx: &Context<'_>, condition: Value, at: Block) -> bool {
    splits_between_warps(cx, condition, at, DEPTH)
}

/// Compares the number of a lane within whole warps with a whole number of warps.
fn splits_between_warps(cx: &Context<'_>, selector: Value, at: Block, depth: u32) -> bool {
    let (Some(depth), Some(data)) = (depth.checked_sub(1), cx.function.defining(selector)) else {
        return false;
    };
    let part = |value: Value| {
        cx.uniform(value, at, Scope::Subgroup) || splits_between_warps(cx, value, at, depth)
    };
    match data.op {
        Op::Binary(BinaryOp::And | BinaryOp::Or, _) | Op::Unary(ir::UnaryOp::Not) => {
            data.args.iter().all(|&arg| part(arg))
        }
        Op::IntCompare(condition) => {
            use IntCondition::*;
            let side = |number: usize| remainder(cx, data.args[number], at, depth);
            match condition {
                LessSigned | LessUnsigned | GreaterEqualSigned | GreaterEqualUnsigned => {
                    side(0) == Some(Remainder::Lane) && side(1) == Some(Remainder::None)
                }
                GreaterSigned | GreaterUnsigned | LessEqualSigned | LessEqualUnsigned => {
                    side(0) == Some(Remainder::None) && side(1) == Some(Remainder::Lane)
                }
                _ => false,
            }
        }
        _ => false,
    }
}

/// The lanes of each aligned segment of so many, a power of two, hold one value: `tid >> 2` in fours.
pub(super) fn same_in_segments(cx: &Context<'_>, value: Value, at: Block, width: i64) -> bool {
    in_segments(cx, value, at, width, DEPTH)
}

fn in_segments(cx: &Context<'_>, value: Value, at: Block, width: i64, depth: u32) -> bool {
    if cx.uniform(value, at, Scope::Subgroup) {
        return true;
    }
    let (Some(depth), Some(data)) = (depth.checked_sub(1), cx.function.defining(value)) else {
        return false;
    };
    let same = |value: Value| in_segments(cx, value, at, width, depth);
    let by = || cx.function.int_constant(*data.args.get(1)?);
    let of_a_lane = |cuts: bool| cuts && is_lane(cx, data.args[0], at);
    match data.op {
        Op::Binary(BinaryOp::ShrSigned | BinaryOp::ShrUnsigned, _) => {
            let cuts = by().is_some_and(|by| (0..62).contains(&by) && (1i64 << by) % width == 0);
            of_a_lane(cuts) || same(data.args[0])
        }
        Op::Binary(BinaryOp::DivSigned | BinaryOp::DivUnsigned, _) => {
            of_a_lane(by().is_some_and(|by| by > 0 && by % width == 0)) || same(data.args[0])
        }
        Op::Binary(BinaryOp::And, _) if by().is_some_and(|mask| mask & (width - 1) == 0) => {
            of_a_lane(true) || same(data.args[0])
        }
        Op::Binary(
            BinaryOp::And | BinaryOp::Or | BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul,
            _,
        )
        | Op::IntCompare(_)
        | Op::Unary(_)
        | Op::Convert(_) => data.args.iter().all(|&arg| same(arg)),
        _ => false,
    }
}

/// The lanes of a warp hold one multiple of the warp's lanes.
pub(super) fn is_whole(cx: &Context<'_>, value: Value, at: Block) -> bool {
    remainder(cx, value, at, DEPTH) == Some(Remainder::None)
}

/// The lanes of a warp hold their own numbers beside a multiple of the warp's lanes.
pub(super) fn is_lane(cx: &Context<'_>, value: Value, at: Block) -> bool {
    remainder(cx, value, at, DEPTH) == Some(Remainder::Lane)
}

/// One less than a multiple of the warp's lanes: of powers of two, the bits below.
pub(super) fn is_mask(cx: &Context<'_>, value: Value, at: Block) -> bool {
    below_a_multiple(cx, value, at, DEPTH)
}

fn below_a_multiple(cx: &Context<'_>, value: Value, at: Block, depth: u32) -> bool {
    let Some(mask) = cx.function.defining(value) else {
        return false;
    };
    let by = |number: usize| cx.function.int_constant(mask.args[number]);
    let less = match mask.op {
        Op::Binary(BinaryOp::Sub, _) => by(1) == Some(1),
        Op::Binary(BinaryOp::Add, _) => by(1) == Some(-1),
        _ => false,
    };
    less && remainder(cx, mask.args[0], at, depth) == Some(Remainder::None)
}

/// The lanes of a warp hold a multiple of the warp's lanes, the same for all, and beside it the returned
/// value.
fn remainder(cx: &Context<'_>, value: Value, at: Block, depth: u32) -> Option<Remainder> {
    let depth = depth.checked_sub(1)?;
    let function = cx.function;
    let warp = i64::from(cx.warp_size());
    let whole = |number: i64| number % warp == 0;
    if let Some(number) = function.int_constant(value) {
        return whole(number).then_some(Remainder::None);
    }
    let inst = match function.values[value].def {
        ValueDef::Param(header, number) => {
            return of_header(cx, value, header, number as usize, depth);
        }
        ValueDef::Result(inst, _) => inst,
    };
    let data = &function.insts[inst];
    let of = |number: usize| remainder(cx, *data.args.get(number)?, at, depth);
    let known = |number: usize| function.int_constant(*data.args.get(number)?);
    // A product with a multiple of the warp, of what its lanes agree on.
    let multiple = |number: usize, other: usize| {
        of(number) == Some(Remainder::None)
            && data
                .args
                .get(other)
                .is_some_and(|&arg| cx.uniform(arg, at, Scope::Subgroup))
    };
    match data.op {
        Op::Special(Special::LaneId) => Some(Remainder::Lane),
        Op::Special(Special::ThreadId(0)) => cx
            .size(0)
            .is_none_or(|size| whole(i64::from(size)))
            .then_some(Remainder::Lane),
        Op::Special(Special::BlockDim(0) | Special::WarpSize) => Some(Remainder::None),
        // What an instantiation or somebody else chooses.
        Op::Parameter(_) | Op::Unknown(_) | Op::CallUnknown { .. } => {
            (cx.size(0) != Some(1)).then_some(Remainder::None)
        }
        Op::Convert(_) => of(0),
        Op::Binary(BinaryOp::Add, _) => match (of(0)?, of(1)?) {
            (Remainder::None, other) | (other, Remainder::None) => Some(other),
            _ => None,
        },
        Op::Binary(BinaryOp::Sub, _) => match (of(0), of(1)) {
            (Some(left), Some(Remainder::None)) => Some(left),
            // `n - n % 32`
            _ => {
                let rest = function.defining(data.args[1])?;
                let by = function.int_constant(*rest.args.get(1)?)?;
                let taken = match rest.op {
                    Op::Binary(BinaryOp::RemSigned | BinaryOp::RemUnsigned, _) => whole(by),
                    Op::Binary(BinaryOp::And, _) => whole(by.checked_add(1)?),
                    _ => false,
                };
                let uniform = cx.uniform(value, at, Scope::Subgroup);
                (taken && uniform && rest.args[0] == data.args[0]).then_some(Remainder::None)
            }
        },
        Op::Binary(BinaryOp::Mul, _) => {
            (multiple(0, 1) || multiple(1, 0)).then_some(Remainder::None)
        }
        Op::Binary(BinaryOp::Shl, _) if known(1).is_none() => {
            let uniform = cx.uniform(data.args[1], at, Scope::Subgroup);
            (uniform && of(0) == Some(Remainder::None)).then_some(Remainder::None)
        }
        Op::Binary(BinaryOp::Shl, _) => {
            let by = known(1).filter(|by| (0..31).contains(by))?;
            let uniform = cx.uniform(data.args[0], at, Scope::Subgroup);
            (whole(1 << by) && uniform || of(0) == Some(Remainder::None)).then_some(Remainder::None)
        }
        // `x & (whole - 1)` keeps at least the lane's number.
        Op::Binary(BinaryOp::And, _) if known(1).is_none() => {
            let masks = |number: usize| below_a_multiple(cx, data.args[number], at, depth);
            match (masks(0), masks(1)) {
                (_, true) => of(0),
                (true, _) => of(1),
                _ => None,
            }
        }
        Op::Binary(BinaryOp::And, _) => {
            let mask = known(1)?;
            match (whole(mask), whole(mask.checked_add(1)?)) {
                (true, _) => cx
                    .uniform(data.args[0], at, Scope::Subgroup)
                    .then_some(Remainder::None),
                (_, true) => of(0),
                _ => None,
            }
        }
        Op::Binary(BinaryOp::RemSigned | BinaryOp::RemUnsigned, _) if whole(known(1)?) => of(0),
        _ => None,
    }
}

/// A loop's counter that begins so and goes on by whole warps.
fn of_header(
    cx: &Context<'_>,
    param: Value,
    header: Block,
    number: usize,
    depth: u32,
) -> Option<Remainder> {
    let is_loop = cx.facts.loops.iter().any(|l| l.header == header);
    let mut found = None;
    for &before in cx.flow.predecessors[header].iter().filter(|_| is_loop) {
        for edge in cx.function.blocks[before].terminator.edges() {
            if edge.block != header {
                continue;
            }
            let &next = edge.args.get(number)?;
            if cx.flow.position[before] < cx.flow.position[header] {
                let first = remainder(cx, next, before, depth)?;
                if found.is_some_and(|other| other != first) {
                    return None;
                }
                found = Some(first);
            } else if next != param && !is_multiple_of(cx, param, next, before) {
                let step = step_of(cx, param, next)?;
                if !cx.uniform(step, before, Scope::Subgroup)
                    || remainder(cx, step, before, depth) != Some(Remainder::None)
                {
                    return None;
                }
            }
        }
    }
    found
}

/// `j <<= log`, `j *= n`: a whole number of warps stays one.
fn is_multiple_of(cx: &Context<'_>, param: Value, next: Value, at: Block) -> bool {
    let Some(data) = cx.function.defining(next) else {
        return false;
    };
    let by = match data.op {
        Op::Binary(BinaryOp::Shl, _) if data.args[0] == param => data.args[1],
        Op::Binary(BinaryOp::Mul, _) if data.args[0] == param => data.args[1],
        Op::Binary(BinaryOp::Mul, _) if data.args[1] == param => data.args[0],
        _ => return false,
    };
    cx.uniform(by, at, Scope::Subgroup)
}

/// Returns the number added to `param` for the next round.
fn step_of(cx: &Context<'_>, param: Value, next: Value) -> Option<Value> {
    let below = |mut value: Value| {
        while let Some(data) = cx.function.defining(value)
            && matches!(data.op, Op::Convert(_))
        {
            value = data.args[0];
        }
        value
    };
    let data = cx.function.defining(below(next))?;
    let is_param = |number: usize| below(data.args[number]) == param;
    match data.op {
        Op::Binary(BinaryOp::Add, _) if is_param(0) => Some(data.args[1]),
        Op::Binary(BinaryOp::Add, _) if is_param(1) => Some(data.args[0]),
        Op::Binary(BinaryOp::Sub, _) if is_param(0) => Some(data.args[1]),
        _ => None,
    }
}

/// All threads of the group hold the same: the result of a vote if the group is one wave, or a value on which
/// they agree.
pub(super) fn vote_of_the_group(cx: &Context<'_>, value: Value, at: Block) -> bool {
    agreed(cx, value, at, DEPTH)
}

fn agreed(cx: &Context<'_>, value: Value, at: Block, depth: u32) -> bool {
    if cx.uniform(value, at, Scope::Workgroup) {
        return true;
    }
    let Some(depth) = depth.checked_sub(1) else {
        return false;
    };
    let inst = match cx.function.values[value].def {
        ValueDef::Param(join, number) => return chosen_by_the_group(cx, join, number, depth),
        ValueDef::Result(inst, _) => inst,
    };
    let (data, Some(block)) = (&cx.function.insts[inst], cx.block_of[inst]) else {
        return false;
    };
    match &data.op {
        Op::Warp(op) => {
            let same = matches!(
                op.kind,
                WarpKind::VoteAll
                    | WarpKind::VoteAny
                    | WarpKind::VoteUniform
                    | WarpKind::Ballot
                    | WarpKind::AllEqual
                    | WarpKind::ReadFirstLane
                    | WarpKind::Reduce(_)
                    | WarpKind::CountBits
            );
            same && is_one_wave(cx, block)
        }
        // Up to the first barrier at which threads part all are in one phase.
        Op::Load(access) if access.space == Space::Shared => {
            cx.settled().contains(&inst) && cx.uniform(data.args[0], block, Scope::Workgroup)
        }
        Op::Binary(..)
        | Op::Unary(_)
        | Op::IntCompare(_)
        | Op::FloatCompare(_)
        | Op::Convert(_)
        | Op::Select => data.args.iter().all(|&arg| agreed(cx, arg, block, depth)),
        _ => false,
    }
}

/// Returns whether all branches that join at a block are decided by the whole group.
fn chosen_by_the_group(cx: &Context<'_>, join: Block, number: u32, depth: u32) -> bool {
    let dominators = cx.dominators();
    if cx.facts.loops.iter().any(|l| l.header == join) {
        return false;
    }
    let Some(top) = dominators.immediate(join) else {
        return false;
    };
    let decided = |block: Block| {
        let selector = cx.function.blocks[block].terminator.selector();
        selector.is_none_or(|selector| agreed(cx, selector, block, depth))
    };
    decided(top)
        && cx.flow.predecessors[join].iter().all(|&before| {
            let mut up = before;
            while up != top {
                // Those that part here have met again before.
                let met = cx.post_dominators.immediate(up);
                let met = met.is_some_and(|met| dominators.dominates(met, before));
                if !met && !decided(up) {
                    return false;
                }
                match dominators.immediate(up) {
                    Some(next) => up = next,
                    None => return false,
                }
            }
            let terminator = &cx.function.blocks[before].terminator;
            let mut edges = terminator.edges().into_iter().filter(|e| e.block == join);
            edges.all(|edge| {
                let arg = edge.args.get(number as usize);
                arg.is_some_and(|&arg| agreed(cx, arg, before, depth))
            })
        })
}

/// The group has no more threads than a wave: as configured, or since `WaveGetLaneCount() == 64` has been asked on the way.
fn is_one_wave(cx: &Context<'_>, block: Block) -> bool {
    let threads = (0..3).try_fold(1i64, |all, axis| Some(all * i64::from(cx.size(axis)?)));
    let Some(threads) = threads else { return false };
    if i64::from(cx.warp_size()) >= threads {
        return true;
    }
    let dominators = cx.dominators();
    let mut at = block;
    while let Some(above) = dominators.immediate(at) {
        if let Terminator::Branch {
            condition, then, ..
        } = &cx.function.blocks[above].terminator
            && cx.flow.predecessors[then.block].as_slice() == [above]
            && dominators.dominates(then.block, block)
            && let Some(data) = cx.function.defining(*condition)
            && let Op::IntCompare(kind) = data.op
        {
            let lanes = |number: usize| {
                let of = cx.function.defining(data.args[number]);
                matches!(of.map(|d| &d.op), Some(Op::Special(Special::WarpSize)))
            };
            let number = |number: usize| cx.function.int_constant(data.args[number]);
            use IntCondition::*;
            let least = match kind {
                Equal if lanes(0) => number(1),
                Equal if lanes(1) => number(0),
                GreaterEqualSigned | GreaterEqualUnsigned if lanes(0) => number(1),
                LessEqualSigned | LessEqualUnsigned if lanes(1) => number(0),
                _ => None,
            };
            if least.is_some_and(|least| least >= threads) {
                return true;
            }
        }
        at = above;
    }
    false
}
