//! Rules about lanes that must be there: barriers, masked warp operations, sources of shuffles, derivatives, loops.

mod barriers;
mod loops;
mod masks;

use super::partial::Partial;
use super::{Context, collective, together};
use crate::active::is_rank;
use crate::model::*;
use crate::reason::{DerivativeUse, FindingReason};
use barriers::{barriers, provably_splits};
use ir::{
    Barrier, BinaryOp, Block, BranchKind, FunctionKind, IntCondition, Op, ShaderStage, Special,
    Terminator, TextureOp, Value, WarpKind,
};
use loops::loops;
pub(super) use loops::{deciding_exit, only_waits};
use masks::{inactive_source, mask_leaves_out_callers, mask_names_absent_lanes};

pub(super) fn findings(cx: &Context<'_>, out: &mut Vec<Finding>) {
    barriers(cx, out);
    mesh_calls(cx, out);
    let warp = cx.partial(Scope::Subgroup);
    for (block, inst) in cx.instructions() {
        if let Op::Barrier(Barrier::Warp) = &cx.function.insts[inst].op {
            let _ = mask_names_absent_lanes(cx, &warp, block, inst, out)
                || collective::predicated(cx, block, inst, out)
                || collective::mask_of_before(cx, &warp, block, inst, out)
                || mask_leaves_out_callers(cx, &warp, block, inst, out);
        }
        if let Op::Warp(op) = &cx.function.insts[inst].op {
            let flagged = op.mask
                && (mask_names_absent_lanes(cx, &warp, block, inst, out)
                    || collective::predicated(cx, block, inst, out)
                    || collective::mask_of_before(cx, &warp, block, inst, out)
                    || mask_leaves_out_callers(cx, &warp, block, inst, out))
                || collective::tile_apart(cx, &warp, block, inst, out);
            if !flagged {
                inactive_source(cx, &warp, block, inst, op.kind, out);
                collective::absent_sources(cx, &warp, block, inst, op.kind, out);
            }
        }
    }
    if matches!(cx.function.kind, FunctionKind::Stage(ShaderStage::Pixel)) {
        derivatives(cx, out);
    }
    loops(cx, &warp, out);
}

/// The branch lets one lane through: `lane == 0`, `WaveIsFirstLane()`, `elect`.
pub(super) fn single_lane(cx: &Context<'_>, branch: Block) -> bool {
    let Some(selector) = cx.function.blocks[branch].terminator.selector() else {
        return false;
    };
    selects_one_lane(cx, selector, branch)
}

/// The predicate holds (or, for `!=`, fails) in at most one lane of a warp: an affine value compared for equality with a uniform one,
/// the first lane, a conjunction with such a part.
pub(super) fn selects_one_lane(cx: &Context<'_>, predicate: Value, block: Block) -> bool {
    let mut work = vec![predicate];
    for _ in 0..32 {
        let Some(value) = work.pop() else {
            return false;
        };
        let Some(data) = cx.function.defining(value) else {
            continue;
        };
        match &data.op {
            Op::Warp(op) if op.kind == WarpKind::IsFirstLane => return true,
            Op::Asm { template, .. } if template.starts_with("elect.") => return true,
            Op::IntCompare(IntCondition::Equal | IntCondition::NotEqual) => {
                let picks = |value: Value, other: Value| {
                    cx.facts.at(other, block).class == Class::Uniform
                        && (cx.facts.at(value, block).class == Class::Affine
                            || is_rank(cx.function, value, true, |vote| {
                                holds_on_the_way(cx, vote, block)
                            })
                            || collective::is_in_one_lane(cx, value, other))
                };
                if picks(data.args[0], data.args[1]) || picks(data.args[1], data.args[0]) {
                    return true;
                }
            }
            Op::Binary(BinaryOp::And, _) => work.extend(data.args.iter().copied()),
            Op::Convert(_) => work.push(data.args[0]),
            _ => {}
        }
    }
    false
}

/// Returns whether a branch above asked for the condition, and control came here by its side.
pub(super) fn holds_on_the_way(cx: &Context<'_>, condition: Value, block: Block) -> bool {
    let dominators = cx.dominators();
    let mut at = block;
    while let Some(above) = dominators.immediate(at) {
        if let Terminator::Branch {
            condition: asked,
            then,
            otherwise,
            ..
        } = &cx.function.blocks[above].terminator
            && *asked == condition
        {
            let only = cx.flow.predecessors[then.block].as_slice() == [above];
            return only
                && then.block != otherwise.block
                && dominators.dominates(then.block, block);
        }
        at = above;
    }
    false
}

fn derivatives(cx: &Context<'_>, out: &mut Vec<Finding>) {
    let quad = cx.partial(Scope::Quad);
    for (block, inst) in cx.instructions() {
        let data = &cx.function.insts[inst];
        let of = match &data.op {
            Op::Derivative(_) => DerivativeUse::Derivative,
            Op::Texture(access) if access.op.implicit_derivative() => match access.op {
                TextureOp::CalculateLevel | TextureOp::CalculateLevelUnclamped => {
                    DerivativeUse::LevelOfDetail
                }
                _ => DerivativeUse::Sample,
            },
            _ => continue,
        };
        let Some(branch) = quad.branch(block) else {
            continue;
        };
        // All pixels execute both sides of a flattened branch.
        let flattened = |b: Block| cx.function.blocks[b].branch == BranchKind::Flattened;
        if flattened(branch) && quad.edges_to(block).iter().all(|&(b, _)| flattened(b)) {
            continue;
        }
        // Pixels that were discarded go on as helpers of their quad.
        if leaves_by_discard(cx, branch) && quad.branch_with_live_lanes(block).is_none() {
            continue;
        }
        let related = cx.branch_chain(branch);
        let reason = FindingReason::DerivativeSplit { of };
        let code = Code::DerivativeNonuniform;
        out.push(cx.finding(code, Tier::Warning, data.loc, reason, related));
    }
}

fn leaves_by_discard(cx: &Context<'_>, branch: Block) -> bool {
    cx.flow.successors[branch]
        .iter()
        .any(|&b| matches!(cx.function.blocks[b].terminator, ir::Terminator::Kill))
}

/// At most one lane of the warp comes to a block: it waits for no other.
pub(super) fn in_one_lane(cx: &Context<'_>, warp: &Partial, block: Block) -> bool {
    let dominators = cx.dominators();
    warp.edges_to(block).iter().any(|&(branch, target)| {
        let only = cx.flow.predecessors[target].as_slice() == [branch];
        let Terminator::Branch {
            condition, then, ..
        } = &cx.function.blocks[branch].terminator
        else {
            return false;
        };
        let lanes = cx.facts.branch(branch).and_then(|fact| fact.lanes);
        only && dominators.dominates(target, block)
            && (then.block == target
                && (lanes.is_some_and(|lanes| lanes.count_ones() <= 1)
                    || is_one_thread(cx, *condition)
                    || one_lane_of_both(cx, *condition)))
    })
}

/// `threadIdx.x == 0 && ..`: the value that bypasses the second part is false, and one lane comes to that
/// part.
fn one_lane_of_both(cx: &Context<'_>, condition: Value) -> bool {
    let function = cx.function;
    if let Some(data) = function.defining(condition) {
        let part = |&part: &Value| is_one_thread(cx, part) || one_lane_of_both(cx, part);
        return matches!(data.op, Op::Binary(BinaryOp::And, _)) && data.args.iter().any(part);
    }
    let ir::ValueDef::Param(join, number) = function.values[condition].def else {
        return false;
    };
    let mut open = Vec::new();
    for &before in &cx.flow.predecessors[join] {
        for edge in function.blocks[before].terminator.edges() {
            if edge.block == join {
                let arg = edge.args.get(number as usize).copied();
                if arg.and_then(|arg| function.int_constant(arg)) != Some(0) {
                    open.push(before);
                }
            }
        }
    }
    let [second] = open[..] else { return false };
    let [first] = cx.flow.predecessors[second][..] else {
        return false;
    };
    match &function.blocks[first].terminator {
        Terminator::Branch {
            condition, then, ..
        } => {
            let lanes = cx.facts.branch(first).and_then(|fact| fact.lanes);
            then.block == second
                && (lanes.is_some_and(|lanes| lanes.count_ones() <= 1)
                    || is_one_thread(cx, *condition)
                    || one_lane_of_both(cx, *condition))
        }
        _ => false,
    }
}

/// `grid.thread_rank() == 0`, `tid + n * block == 0`: coordinates that are added up are zero in one thread at most.
fn is_one_thread(cx: &Context<'_>, condition: Value) -> bool {
    let function = cx.function;
    let Some(data) = function.defining(condition) else {
        return false;
    };
    if !matches!(data.op, Op::IntCompare(IntCondition::Equal))
        || function.int_constant(data.args[1]) != Some(0)
    {
        return false;
    }
    let (mut work, mut thread) = (vec![data.args[0]], false);
    for _ in 0..32 {
        let Some(value) = work.pop() else {
            return thread;
        };
        let Some(data) = function.defining(value) else {
            return false;
        };
        match data.op {
            Op::Special(special) => {
                thread |= matches!(special, Special::ThreadId(0) | Special::LaneId);
            }
            Op::Convert(_) | Op::Binary(BinaryOp::Add | BinaryOp::Mul, _) => {
                work.extend(data.args.iter().copied());
            }
            _ => return false,
        }
    }
    false
}

/// `DispatchMesh` and `SetMeshOutputCounts` are the whole workgroup's: all its threads call them, with the same operands.
fn mesh_calls(cx: &Context<'_>, out: &mut Vec<Finding>) {
    let mut group = None;
    for (block, inst) in cx.instructions() {
        let data = &cx.function.insts[inst];
        let (call, operands) = match &data.op {
            Op::Texture(access) if access.op == TextureOp::DispatchMesh => ("DispatchMesh", 3),
            Op::Texture(access) if access.op == TextureOp::SetMeshOutputCounts => {
                ("SetMeshOutputCounts", 2)
            }
            _ => continue,
        };
        let partial = group.get_or_insert_with(|| cx.partial(Scope::Workgroup));
        // Inputs of these stages, such as the number of the draw, are no thread's own.
        let of_the_draw = |value: Value| {
            let source = cx
                .source(value)
                .and_then(|source| cx.function.defining(source));
            source.is_some_and(|data| matches!(data.op, Op::StageInput(_)))
        };
        let code = Code::DivergentMeshCall;
        if let Some(branch) = partial.branch(block) {
            let selector = cx.function.blocks[branch].terminator.selector();
            if cx.branch_left_to_callers(branch) || selector.is_some_and(of_the_draw) {
                continue;
            }
            let related = cx.branch_chain(branch);
            let reason = FindingReason::MeshCallSplit { call };
            let tier = match provably_splits(cx, branch) {
                true => Tier::Error,
                false => Tier::Warning,
            };
            out.push(cx.finding(code, tier, data.loc, reason, related));
            continue;
        }
        let mut counts = data.args.iter().take(operands).copied();
        let differs = counts.find(|&count| {
            !together::vote_of_the_group(cx, count, block)
                && !cx.left_to_callers(count)
                && !of_the_draw(count)
        });
        if let Some(count) = differs {
            let related = cx.chain(count, block);
            let reason = FindingReason::MeshOperandDiffers { call };
            out.push(cx.finding(code, Tier::Warning, data.loc, reason, related));
        }
    }
}
