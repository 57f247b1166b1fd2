//! The participants of an operation across lanes, where neither a constant mask nor the branch alone says it:
//! predicates of instructions, masks that were taken before a branch, tiles of cooperative groups, lanes that
//! are read.
//!
//! ```text
//! unsigned m = __activemask(); if (t < n) __shfl_down_sync(m, ..)   the mask names lanes that went the other way
//! if (t < 16) __shfl_sync(0xffff, v, t + 16)                        the lanes that are read are not here
//! ```

use super::Context;
use super::convergence::{selects_one_lane, single_lane};
use super::partial::Partial;
use crate::model::*;
use crate::reason::{CauseReason, FindingReason};
use ir::{
    BinaryOp, Block, Convert, Inst, Language, Op, ShuffleMode, Special, Terminator, Type, Value,
    WarpKind,
};

/// `@%p shfl.sync ..., -1`: the lanes whose predicate fails are named and do not come.
pub(super) fn predicated(
    cx: &Context<'_>,
    block: Block,
    inst: Inst,
    out: &mut Vec<Finding>,
) -> bool {
    let data = &cx.function.insts[inst];
    let (Some(guard), Some(mask)) = (data.guard, constant_mask(cx, inst)) else {
        return false;
    };
    let lanes = cx.warp_size().min(32);
    if mask != u32::MAX >> (32 - lanes)
        || cx.uniform(guard.value, block, Scope::Subgroup)
        || cx.left_to_callers(guard.value)
        || !guard.negated && selects_one_lane(cx, guard.value, block)
    {
        return false;
    }
    let related = cx.chain(guard.value, block);
    let reason = FindingReason::MaskBeyondPredicate { mask };
    let code = Code::WarpSyncMask;
    let told = cx.finding(code, Tier::Warning, data.loc, reason, related);
    out.push(told.with_witness(cx, inst, Scope::Subgroup, None));
    true
}

fn constant_mask(cx: &Context<'_>, inst: Inst) -> Option<u32> {
    let mask = *cx.function.insts[inst].args.last()?;
    Some(cx.function.int_constant(mask)? as u32)
}

/// `__activemask()` names the lanes that were together there; a branch between it and its use keeps some of them away.
pub(super) fn mask_of_before(
    cx: &Context<'_>,
    warp: &Partial,
    block: Block,
    inst: Inst,
    out: &mut Vec<Finding>,
) -> bool {
    let data = &cx.function.insts[inst];
    let Some(&mask) = data.args.last() else {
        return false;
    };
    let Some((taken, by)) = defined_by(cx, mask) else {
        return false;
    };
    let is_active = matches!(&by.op, Op::Warp(op) if op.kind == WarpKind::ActiveMask);
    let Some(branch) = warp
        .branch_between(taken, block)
        .filter(|_| is_active)
        .filter(|&branch| !cx.branch_left_to_callers(branch) && !single_lane(cx, branch))
    else {
        return false;
    };
    let mut related = cx.branch_chain(branch);
    related.push(CauseStep {
        reason: CauseReason::MaskTaken,
        loc: by.loc,
    });
    let (code, reason) = (Code::WarpSyncMask, FindingReason::MaskTakenBeforeBranch);
    let told = cx.finding(code, Tier::Warning, data.loc, reason, related);
    out.push(told.with_witness(cx, inst, Scope::Subgroup, None));
    true
}

fn defined_by<'c>(cx: &'c Context<'_>, mut value: Value) -> Option<(Block, &'c ir::InstData)> {
    for _ in 0..8 {
        let ir::ValueDef::Result(inst, _) = cx.function.values[value].def else {
            return None;
        };
        let data = &cx.function.insts[inst];
        match data.op {
            Op::Convert(_) => value = data.args[0],
            _ => return Some((cx.block_of[inst]?, data)),
        }
    }
    None
}

/// The cooperative group that the source names in this instruction's place, and its lanes.
pub(super) fn group_named<'c>(cx: &'c Context<'_>, inst: Inst) -> Option<(&'c str, Option<u32>)> {
    let function = cx.function;
    if function.language != Language::Cuda {
        return None;
    }
    let at = function.insts[inst].loc;
    let within = |loc: ir::Loc| {
        loc.site == at.site && loc.span.start >= at.span.start && loc.span.end <= at.span.end
    };
    function.bindings.iter().find_map(|binding| {
        if !within(binding.loc) {
            return None;
        }
        let variable = &function.variables[binding.variable];
        let written = variable.type_text.as_str();
        let name = variable.name.as_str();
        if let Some((_, rest)) = written.split_once("thread_block_tile<") {
            let digits = rest.split(|c: char| !c.is_ascii_digit()).next();
            return Some((name, digits.and_then(|digits| digits.parse().ok())));
        }
        [
            "thread_block",
            "thread_group",
            "coalesced_group",
            "grid_group",
        ]
        .iter()
        .any(|group| written.contains(group))
        .then_some((name, None))
    })
}

/// The tile whose method a shuffle or a vote without a mask is: methods are not recorded as reads of their object, so it is
/// known only where the function has one group of this kind.
fn only_tile<'c>(cx: &'c Context<'_>, inst: Inst) -> Option<(&'c str, u32)> {
    let of_tile = matches!(
        &cx.function.insts[inst].op,
        Op::Warp(op) if !op.mask && matches!(
            op.kind,
            WarpKind::ShuffleIndex
                | WarpKind::ShuffleUp
                | WarpKind::ShuffleDown
                | WarpKind::ShuffleXor
                | WarpKind::VoteAny
                | WarpKind::VoteAll
                | WarpKind::Ballot
                | WarpKind::Reduce(_)
        )
    );
    if !of_tile || cx.function.language != Language::Cuda {
        return None;
    }
    let mut tile = None;
    for variable in cx.function.variables.values() {
        let written = variable.type_text.as_str();
        if ["coalesced_group", "thread_group"]
            .iter()
            .any(|group| written.contains(group))
        {
            return None;
        }
        let Some((_, rest)) = written.split_once("thread_block_tile<") else {
            continue;
        };
        let lanes = rest
            .split(|c: char| !c.is_ascii_digit())
            .next()?
            .parse()
            .ok()?;
        if tile.replace((variable.name.as_str(), lanes)).is_some() {
            return None;
        }
    }
    tile
}

/// An operation of a whole warp's tile, reached by a part of its lanes: all of them must call it.
pub(super) fn tile_apart(
    cx: &Context<'_>,
    warp: &Partial,
    block: Block,
    inst: Inst,
    out: &mut Vec<Finding>,
) -> bool {
    let data = &cx.function.insts[inst];
    let named = match group_named(cx, inst) {
        Some((group, lanes)) => lanes.map(|lanes| (group, lanes)),
        None => only_tile(cx, inst),
    };
    let Some((group, lanes)) = named else {
        return false;
    };
    // Smaller tiles may well be here as a whole.
    if lanes < cx.warp_size() || lanes > 32 {
        return false;
    }
    // Several components of one value are moved by several instructions.
    if out
        .last()
        .is_some_and(|last| last.code == Code::WarpSyncMask && last.loc == data.loc)
    {
        return true;
    }
    let Some(branch) = warp
        .branch_with_live_lanes(block)
        .filter(|&branch| !cx.branch_left_to_callers(branch) && !single_lane(cx, branch))
    else {
        return false;
    };
    let related = cx.branch_chain(branch);
    let group = group.into();
    let reason = FindingReason::TileTorn { group, lanes };
    let code = Code::WarpSyncMask;
    let told = cx.finding(code, Tier::Warning, data.loc, reason, related);
    out.push(told.with_witness(cx, inst, Scope::Subgroup, None));
    true
}

/// The lanes that are read, each computed from the lane's own number, are not among those that the branches let through.
pub(super) fn absent_sources(
    cx: &Context<'_>,
    warp: &Partial,
    block: Block,
    inst: Inst,
    kind: WarpKind,
    out: &mut Vec<Finding>,
) {
    let data = &cx.function.insts[inst];
    let exclusive = match kind {
        WarpKind::ShuffleIndex
        | WarpKind::ReadLaneAt
        | WarpKind::ShufflePtx(ShuffleMode::Index) => false,
        WarpKind::ShuffleXor | WarpKind::ShufflePtx(ShuffleMode::Butterfly) => true,
        _ => return,
    };
    let Some(&lane) = data.args.get(1) else {
        return;
    };
    // A lane that is the same for all is the other rule's.
    if !exclusive && cx.function.int_constant(lane).is_some() || data.guard.is_some() {
        return;
    }
    let count = cx.warp_size().min(32);
    let width = match kind {
        WarpKind::ReadLaneAt => count,
        _ => match data.args.get(2).and_then(|&w| cx.function.int_constant(w)) {
            Some(31) if matches!(kind, WarpKind::ShufflePtx(_)) => count,
            Some(width @ (1 | 2 | 4 | 8 | 16 | 32)) if !matches!(kind, WarpKind::ShufflePtx(_)) => {
                (width as u32).min(count)
            }
            _ => return,
        },
    };
    let Some((here, branch)) = lanes_here(cx, warp, block, count) else {
        return;
    };
    let (mut absent, mut reading) = (0u128, 0u128);
    for own in (0..count).filter(|own| here >> own & 1 == 1) {
        let Some(read) = in_lane(cx, lane, own, 12) else {
            return;
        };
        let read = match exclusive {
            true => i64::from(own) ^ read,
            false => i64::from(own & !(width - 1)) | read & i64::from(width - 1),
        };
        // A butterfly beyond the segment gives the lane its own value.
        if !(0..i64::from(count)).contains(&read) {
            continue;
        }
        if here >> read & 1 == 0 {
            absent |= 1 << read;
            reading |= 1 << own;
        }
    }
    if absent == 0 || cx.branch_left_to_callers(branch) {
        return;
    }
    let tier = match reading == here {
        true => Tier::Warning,
        false => Tier::Hint,
    };
    let related = cx.branch_chain(branch);
    let readers = reading;
    let reason = FindingReason::AbsentLanesRead { absent, readers };
    let code = Code::ShuffleInactiveSource;
    out.push(cx.finding(code, tier, data.loc, reason, related));
}

/// Returns true if a branch lets a lane go on to `target`, where its condition tells its lanes exactly.
pub(super) fn lets_through(cx: &Context<'_>, branch: Block, target: Block, lane: i64) -> bool {
    let Terminator::Branch { then, .. } = &cx.function.blocks[branch].terminator else {
        return false;
    };
    let Some(lanes) = cx.facts.branch(branch).and_then(|fact| fact.lanes) else {
        return false;
    };
    let through = if then.block == target { lanes } else { !lanes };
    u32::try_from(lane).is_ok_and(|lane| lane < cx.warp_size() && through >> lane & 1 == 1)
}

/// The lanes that come to a block, where each branch on the way tells them exactly and all on one way; with one of the
/// branches that keep others away.
fn lanes_here(cx: &Context<'_>, warp: &Partial, block: Block, count: u32) -> Option<(u128, Block)> {
    let edges = warp.edges_to(block);
    let (first, _) = *edges.first()?;
    let dominators = cx.dominators();
    let mut here = (1u128 << count) - 1;
    for &(branch, target) in &edges {
        let lanes = cx.facts.branch(branch).and_then(|fact| fact.lanes)?;
        let Terminator::Branch { then, .. } = &cx.function.blocks[branch].terminator else {
            return None;
        };
        let only = cx.flow.predecessors[target].as_slice() == [branch];
        if !only || !dominators.dominates(target, block) {
            return None;
        }
        here &= if then.block == target { lanes } else { !lanes };
    }
    (here != 0).then_some((here, first))
}

/// At most one lane of a warp holds this number: `tid % 32 == 0`, where rows of a workgroup are whole warps.
pub(super) fn is_in_one_lane(cx: &Context<'_>, value: Value, number: Value) -> bool {
    let Some(number) = cx.function.int_constant(number) else {
        return false;
    };
    let held: Option<Vec<i64>> = (0..cx.warp_size().min(64))
        .map(|lane| in_lane(cx, value, lane, 12))
        .collect();
    held.is_some_and(|held| held.iter().filter(|&&held| held == number).count() <= 1)
}

/// Returns the number of a value in a lane of the first warp, where rows of a workgroup are whole warps.
fn in_lane(cx: &Context<'_>, value: Value, lane: u32, depth: u32) -> Option<i64> {
    let depth = depth.checked_sub(1)?;
    if let Some(constant) = cx.function.int_constant(value) {
        return Some(constant);
    }
    if !matches!(cx.function.ty(value), Type::I32 | Type::I64) {
        return None;
    }
    let data = cx.function.defining(value)?;
    let of = |number: usize| in_lane(cx, *data.args.get(number)?, lane, depth);
    match data.op {
        Op::Special(Special::LaneId) => Some(i64::from(lane)),
        Op::Special(Special::ThreadId(0)) => {
            let rows_are_warps = cx.size(0).is_none_or(|width| width >= cx.warp_size());
            rows_are_warps.then_some(i64::from(lane))
        }
        Op::Convert(Convert::SignExtend | Convert::ZeroExtend | Convert::Truncate) => of(0),
        Op::Binary(op, _) => {
            let (a, b) = (of(0)?, of(1)?);
            match op {
                BinaryOp::Add => a.checked_add(b),
                BinaryOp::Sub => a.checked_sub(b),
                BinaryOp::Mul => a.checked_mul(b),
                BinaryOp::And => Some(a & b),
                BinaryOp::Or => Some(a | b),
                BinaryOp::Xor => Some(a ^ b),
                BinaryOp::RemSigned | BinaryOp::RemUnsigned if a >= 0 && b > 0 => Some(a % b),
                BinaryOp::DivSigned | BinaryOp::DivUnsigned if a >= 0 && b > 0 => Some(a / b),
                _ => None,
            }
        }
        _ => None,
    }
}
