//! Masks of warp operations: lanes that they name and that do not come, callers that they leave out, lanes that a shuffle reads.

use super::loops::{is_not_followed, left_to_an_instantiation};
use super::single_lane;
use crate::diagnose::partial::Partial;
use crate::diagnose::{Context, collective, rounds, together};
use crate::model::*;
use crate::reason::FindingReason;
use ir::{Block, Function, FunctionKind, Inst, Op, Terminator, WarpKind};

/// A constant full mask where running lanes are absent.
pub(super) fn mask_names_absent_lanes(
    cx: &Context<'_>,
    warp: &Partial,
    block: Block,
    inst: Inst,
    out: &mut Vec<Finding>,
) -> bool {
    let data = &cx.function.insts[inst];
    let Some(mask) = data.args.last().and_then(|&m| cx.function.int_constant(m)) else {
        return false;
    };
    let lanes = cx.facts.options.warp_size.min(32);
    let all = if lanes >= 32 {
        u32::MAX
    } else {
        (1u32 << lanes) - 1
    };
    let Some(branch) = warp.branch_with_live_lanes(block) else {
        return false;
    };
    if mask as u32 & all != all
        || cx.branch_left_to_callers(branch)
        || left_to_an_instantiation(cx, branch)
        || is_not_followed(cx, branch, Scope::Subgroup)
        || single_lane(cx, branch)
        || reads_the_last_to_leave(cx, warp, block, inst)
    {
        return false;
    }
    let related = cx.branch_chain(branch);
    let reason = match collective::group_named(cx, inst) {
        Some((group, _)) => FindingReason::GroupTorn {
            group: group.into(),
        },
        None => FindingReason::MaskNamesAbsent { mask: mask as u32 },
    };
    let code = Code::WarpSyncMask;
    let told = cx.finding(code, Tier::Warning, data.loc, reason, related);
    out.push(told.with_witness(cx, inst, Scope::Subgroup, None));
    true
}

/// Returns whether the lane read is the first one, which is here as long as any lane is, while the lanes that
/// are not here have ended: `for (;;) { base = shuffle(base, 0); if (base + lane >= n) break; .. }` at the
/// end of a kernel.
fn reads_the_last_to_leave(cx: &Context<'_>, warp: &Partial, block: Block, inst: Inst) -> bool {
    let data = &cx.function.insts[inst];
    let reads_first = matches!(&data.op, Op::Warp(op) if op.kind == WarpKind::ShuffleIndex)
        && data
            .args
            .get(1)
            .and_then(|&lane| cx.function.int_constant(lane))
            == Some(0);
    reads_first
        && warp.edges_to(block).iter().all(|&(branch, target)| {
            let ends = |to: Block| warp.ends(behind(cx.function, to));
            let mut others = cx.flow.successors[branch].iter();
            only_leaves(cx, warp, target)
                || rounds::first_lane_stays(cx, branch, target)
                    && others.all(|&other| other == target || ends(other))
        })
}

/// A block that does nothing but go, by a condition that is known, to where lanes end: its other way is not taken.
fn only_leaves(cx: &Context<'_>, warp: &Partial, block: Block) -> bool {
    let next = behind(cx.function, block);
    next != block && warp.ends(next)
}

/// Returns the target of a block that does nothing, by a condition that is known, as a `break` at the end of
/// a loop has it.
pub(super) fn behind(function: &Function, block: Block) -> Block {
    let data = &function.blocks[block];
    match &data.terminator {
        Terminator::Branch {
            condition,
            then,
            otherwise,
            ..
        } if data.insts.is_empty() => match function.int_constant(*condition) {
            Some(0) => otherwise.block,
            Some(_) => then.block,
            None => block,
        },
        _ => block,
    }
}

/// Lanes that come here and have no bit in a constant mask: each calling lane must be named. The finding is
/// reported if the branches on the way here determine exactly which lanes come; in a device function, its
/// callers decide.
pub(super) fn mask_leaves_out_callers(
    cx: &Context<'_>,
    warp: &Partial,
    block: Block,
    inst: Inst,
    out: &mut Vec<Finding>,
) -> bool {
    let data = &cx.function.insts[inst];
    let Some(mask) = data.args.last().and_then(|&m| cx.function.int_constant(m)) else {
        return false;
    };
    if cx.function.kind != FunctionKind::Kernel || data.guard.is_some() {
        return false;
    }
    let mask = mask as u32;
    let named = u128::from(mask);
    let threads = (0..3).try_fold(1u64, |all, axis| Some(all * u64::from(cx.size(axis)?)));
    let there = u64::from(cx.warp_size().min(32)).min(threads.unwrap_or(u64::MAX));
    let mut callers = (1u128 << there) - 1;
    if callers & !named == 0 {
        return false;
    }
    let edges = warp.edges_to(block);
    let dominators = cx.dominators();
    for &(branch, target) in &edges {
        let lanes = cx.facts.branch(branch).and_then(|fact| fact.lanes);
        let ir::Terminator::Branch { then, .. } = &cx.function.blocks[branch].terminator else {
            return false;
        };
        let only = cx.flow.predecessors[target].as_slice() == [branch];
        let (Some(lanes), true) = (lanes, only && dominators.dominates(target, block)) else {
            return false;
        };
        callers &= if then.block == target { lanes } else { !lanes };
    }
    let missing = callers & !named;
    if missing == 0 {
        return false;
    }
    let related = edges
        .first()
        .map_or_else(Vec::new, |&(branch, _)| cx.branch_chain(branch));
    // A block of fewer threads than a warp has may be meant.
    let tier = match threads.is_none() && edges.is_empty() {
        true => Tier::Hint,
        false => Tier::Warning,
    };
    let reason = FindingReason::MaskLeavesOut { missing, mask };
    out.push(cx.finding(Code::WarpSyncMask, tier, data.loc, reason, related));
    true
}

/// Reads from a fixed lane where that lane may be absent.
pub(super) fn inactive_source(
    cx: &Context<'_>,
    warp: &Partial,
    block: Block,
    inst: Inst,
    kind: WarpKind,
    out: &mut Vec<Finding>,
) {
    let data = &cx.function.insts[inst];
    let source = match kind {
        WarpKind::ReadLaneAt | WarpKind::ShuffleIndex | WarpKind::QuadReadLaneAt => {
            data.args.get(1)
        }
        _ => None,
    };
    let Some(lane) = source.and_then(|&lane| cx.function.int_constant(lane)) else {
        return;
    };
    let Some(branch) = warp.branch(block) else {
        return;
    };
    // Lanes of a segment come together, and read one of it.
    let segment = match kind {
        WarpKind::ShuffleIndex => data.args.get(2).and_then(|&w| cx.function.int_constant(w)),
        _ => None,
    };
    let come_together = segment.is_some_and(|width| {
        matches!(width, 2 | 4 | 8 | 16)
            && warp.edges_to(block).iter().all(|&(branch, _)| {
                let selector = cx.function.blocks[branch].terminator.selector();
                selector.is_some_and(|s| together::same_in_segments(cx, s, branch, width))
            })
    });
    let stays = |&(branch, target): &(Block, Block)| {
        only_leaves(cx, warp, target)
            || collective::lets_through(cx, branch, target, lane)
            || lane == 0 && rounds::first_lane_stays(cx, branch, target)
    };
    if come_together || cx.branch_left_to_callers(branch) || warp.edges_to(block).iter().all(stays)
    {
        return;
    }
    let related = cx.branch_chain(branch);
    let reason = FindingReason::LaneMayBeInactive { lane };
    let code = Code::ShuffleInactiveSource;
    let told = cx.finding(code, Tier::Warning, data.loc, reason, related);
    out.push(told.with_witness(cx, inst, Scope::Subgroup, u32::try_from(lane).ok()));
}
