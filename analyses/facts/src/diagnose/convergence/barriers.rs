//! Barriers that not all threads come to.

use super::is_one_thread;
use super::loops::{is_not_followed, left_to_an_instantiation};
use crate::diagnose::partial::Partial;
use crate::diagnose::{Context, rounds, together};
use crate::model::*;
use crate::reason::{BarrierName, FindingReason};
use ir::{
    Barrier, Block, Function, FunctionKind, Inst, IntCondition, Language, Op, Space, Special,
    Terminator, Value,
};
use rustc_hash::FxHashSet;

pub(super) fn barriers(cx: &Context<'_>, out: &mut Vec<Finding>) {
    // CUDA: "enforced per thread: will not succeed until reached by all non-exited threads in the block".
    let only_running = matches!(cx.function.language, Language::Cuda | Language::Ptx);
    let mut group_wide = None;
    let mut told: Vec<Block> = Vec::new();
    let mut split: Vec<(Block, Block, Option<Inst>, Finding)> = Vec::new();
    for barrier in &cx.facts.barriers {
        let Some((mut branch, mut in_loop)) = barrier.divergent else {
            guarded_barrier(cx, barrier, out);
            continue;
        };
        let name = barrier_name(cx.function, barrier.inst);
        let whole_grid = matches!(
            &cx.function.insts[barrier.inst],
            ir::InstData { op: Op::Barrier(Barrier::Grid), args, .. } if !args.is_empty()
        );
        let Some(block) = cx.block_of[barrier.inst] else {
            continue;
        };
        let partial = group_wide.get_or_insert_with(|| cx.partial(Scope::Workgroup));
        if !whole_grid {
            match partial.branch(block) {
                Some(other) if !in_loop => branch = other,
                Some(other) if together::decides_for_all(cx, branch, Scope::Workgroup) => {
                    branch = other;
                    in_loop = leaves_around(cx, other, block);
                }
                Some(_) => {}
                None => continue,
            }
        }
        if only_running && !whole_grid {
            let running = match in_loop {
                true => Some(branch).filter(|&branch| !returns_from_within(cx, partial, branch)),
                false => partial.branch_with_live_lanes(block),
            };
            match running {
                Some(other) => branch = other,
                None => {
                    if !told.contains(&branch)
                        && !cx.branch_left_to_callers(branch)
                        && !left_to_an_instantiation(cx, branch)
                        && is_missed(cx, branch)
                    {
                        told.push(branch);
                        let told = ends_before(cx, barrier.loc, branch, name);
                        out.push(told.with_witness(cx, barrier.inst, Scope::Workgroup, None));
                    }
                    continue;
                }
            }
        }
        if cx.branch_left_to_callers(branch)
            || left_to_an_instantiation(cx, branch)
            || is_not_followed(cx, branch, Scope::Workgroup)
        {
            continue;
        }
        let mut related = cx.branch_chain(branch);
        related.splice(
            0..0,
            cx.calls_to(barrier.loc, cx.function.blocks[branch].loc),
        );
        let (code, reason) = match in_loop {
            true => (
                Code::BarrierInDivergentLoop,
                FindingReason::BarrierInLoop {
                    barrier: name,
                    whole_grid,
                },
            ),
            false => (
                Code::DivergentBarrier,
                FindingReason::BarrierSplit {
                    barrier: name,
                    whole_grid,
                },
            ),
        };
        let tier = if provably_splits(cx, branch) {
            Tier::Error
        } else {
            Tier::Warning
        };
        let told = cx.finding(code, tier, barrier.loc, reason, related);
        split.push((branch, block, (!whole_grid).then_some(barrier.inst), told));
    }
    // A block in front of a branch in a loop is reached by the back edge, and not at all by threads that have
    // missed a barrier behind the branch.
    let in_front =
        |branch: Block, block: Block| cx.flow.position[block] <= cx.flow.position[branch];
    let behind: Vec<Block> = split
        .iter()
        .filter(|&&(branch, block, ..)| !in_front(branch, block))
        .map(|&(branch, ..)| branch)
        .collect();
    for (branch, block, inst, told) in split {
        if in_front(branch, block) && behind.contains(&branch) {
            continue;
        }
        out.push(match inst {
            None => told,
            Some(inst) => told.with_witness(cx, inst, Scope::Workgroup, None),
        });
    }
}

/// The branch leaves a loop that the block lies in.
fn leaves_around(cx: &Context<'_>, branch: Block, block: Block) -> bool {
    let forest = cx.forest();
    let mut loops = forest.loops.iter();
    loops.any(|(own, _)| {
        let outside = |next: &Block| !forest.contains(own, *next);
        forest.contains(own, branch)
            && forest.contains(own, block)
            && cx.flow.successors[branch].iter().any(outside)
    })
}

/// The branch ends the thread in the middle of a loop, which goes on for the others: `for (;;) { .. if (none_left) return; .. }`.
/// Neither the loop's head nor its end decides so, as for threads that have had all their rounds.
fn returns_from_within(cx: &Context<'_>, partial: &Partial, branch: Block) -> bool {
    let forest = cx.forest();
    let Some(own) = forest.of(branch) else {
        return false;
    };
    let header = forest.loops[own].header;
    let next = &cx.flow.successors[branch];
    let mut outside = next.iter().filter(|&&next| !forest.contains(own, next));
    branch != header
        && !next.contains(&header)
        && outside.all(|&next| partial.ends(next) && !partial.fails(next))
}

/// Threads that have ended are not waited for: only their writes are missing.
fn ends_before(cx: &Context<'_>, loc: ir::Loc, branch: Block, barrier: BarrierName) -> Finding {
    let related = cx.branch_chain(branch);
    let reason = FindingReason::EndsBeforeBarrier { barrier };
    cx.finding(Code::DivergentBarrier, Tier::Hint, loc, reason, related)
}

/// Returns whether writes of threads that end at the branch are missed: behind it, the others still write
/// data that the group shares. Memory that they add to atomically does not count, nor do writes of a single
/// thread that does not end before the others: `if (i >= n) return; if (threadIdx.x == 0) sum = 0;`.
fn is_missed(cx: &Context<'_>, branch: Block) -> bool {
    let function = cx.function;
    let declares = (function.symbols.iter()).any(|(_, symbol)| symbol.space == Space::Shared);
    let shared = |space: Space| match space {
        Space::Shared => true,
        Space::Generic => {
            function.kind != FunctionKind::Kernel || declares && hands_out_shared(function)
        }
        _ => false,
    };
    let group = cx.partial(Scope::Workgroup);
    let by_one_that_stays = |inst: Inst| {
        let edges = cx.block_of[inst].map_or_else(Vec::new, |block| group.edges_to(block));
        let stays = |&(branch, target): &(Block, Block)| {
            let condition = function.blocks[branch].terminator.selector();
            condition.is_some_and(|condition| !cx.uniform(condition, branch, Scope::Subgroup))
                && rounds::first_lane_stays(cx, branch, target)
        };
        let only_one =
            |&(branch, target): &(Block, Block)| match &function.blocks[branch].terminator {
                Terminator::Branch {
                    condition, then, ..
                } => {
                    then.block == target
                        && cx.flow.predecessors[target].as_slice() == [branch]
                        && is_one_thread(cx, *condition)
                }
                _ => false,
            };
        let behind = edges.iter().any(|&(other, _)| other == branch);
        let kept = |edge: &(Block, Block)| only_one(edge) || stays(edge);
        behind && edges.iter().all(kept) && edges.iter().any(only_one)
    };
    let writes = |&inst: &Inst| match &function.insts[inst].op {
        Op::Store(access) => shared(access.space) && !by_one_that_stays(inst),
        Op::CallUnknown { pure: false, .. } | Op::Asm { pure: false, .. } => declares,
        Op::Call(_) => true,
        _ => false,
    };
    let mut seen: FxHashSet<Block> = FxHashSet::default();
    let mut work: Vec<Block> = cx.flow.successors[branch].to_vec();
    while let Some(block) = work.pop() {
        if seen.insert(block) {
            if function.blocks[block].insts.iter().any(writes) {
                return true;
            }
            work.extend(cx.flow.successors[block].iter().copied());
        }
    }
    false
}

/// An address of shared memory becomes something else than the address of an access: a generic pointer may be one then.
fn hands_out_shared(function: &Function) -> bool {
    let is_shared = |value: &Value| function.ty(*value) == ir::Type::Ptr(Space::Shared);
    function.insts.values().any(|data| match &data.op {
        Op::Load(_) => false,
        Op::Store(_) | Op::Atomic(..) => data.args.iter().skip(1).any(is_shared),
        Op::PtrAdd => {
            data.args.first().is_some_and(is_shared) && !data.results.iter().any(is_shared)
        }
        _ => data.args.iter().any(is_shared),
    })
}

/// A barrier under a predicate that lanes may disagree on.
fn guarded_barrier(cx: &Context<'_>, barrier: &BarrierFact, out: &mut Vec<Finding>) {
    let (Some(guard), Some(block)) = (barrier.guard, cx.block_of[barrier.inst]) else {
        return;
    };
    if cx.left_to_callers(guard) {
        return;
    }
    let related = cx.chain(guard, block);
    let reason = FindingReason::BarrierUnderPredicate {
        barrier: barrier_name(cx.function, barrier.inst),
    };
    let code = Code::DivergentBarrier;
    let told = cx.finding(code, Tier::Warning, barrier.loc, reason, related);
    out.push(told.with_witness(cx, barrier.inst, Scope::Workgroup, None));
}

fn barrier_name(function: &Function, inst: Inst) -> BarrierName {
    match (function.language, &function.insts[inst].op) {
        (Language::Cuda, Op::Barrier(Barrier::Workgroup)) => BarrierName::Threads,
        (Language::Cuda, Op::Barrier(Barrier::WorkgroupAnd)) => BarrierName::ThreadsAnd,
        (Language::Cuda, Op::Barrier(Barrier::WorkgroupOr)) => BarrierName::ThreadsOr,
        (Language::Cuda, Op::Barrier(Barrier::WorkgroupCount)) => BarrierName::ThreadsCount,
        (Language::Cuda, Op::Barrier(Barrier::Grid)) => {
            match function.insts[inst].args.is_empty() {
                true => BarrierName::Cluster,
                false => BarrierName::Grid,
            }
        }
        (Language::Ptx, _) => BarrierName::Instruction,
        _ => BarrierName::Group,
    }
}

/// The branch compares a thread coordinate with a constant inside the known block: lanes certainly go both ways.
pub(super) fn provably_splits(cx: &Context<'_>, branch: Block) -> bool {
    let Some(selector) = cx.function.blocks[branch].terminator.selector() else {
        return false;
    };
    let Some(data) = cx.function.defining(selector) else {
        return false;
    };
    let Op::IntCompare(condition) = data.op else {
        return false;
    };
    let (Some(axis), Some(limit)) = (
        thread_axis(cx.function, data.args[0]),
        cx.function.int_constant(data.args[1]),
    ) else {
        return false;
    };
    let Some(size) = cx.function.launch.block[axis].map(i64::from) else {
        return false;
    };
    let holds = |tid: i64| match condition {
        IntCondition::Equal => tid == limit,
        IntCondition::NotEqual => tid != limit,
        IntCondition::LessSigned | IntCondition::LessUnsigned => tid < limit,
        IntCondition::LessEqualSigned | IntCondition::LessEqualUnsigned => tid <= limit,
        IntCondition::GreaterSigned | IntCondition::GreaterUnsigned => tid > limit,
        IntCondition::GreaterEqualSigned | IntCondition::GreaterEqualUnsigned => tid >= limit,
    };
    // The branch itself must be met by everybody.
    let reached = cx.partial(Scope::Workgroup).branch(branch).is_none();
    reached && limit >= 0 && size <= 1024 && (0..size).any(holds) && !(0..size).all(holds)
}

fn thread_axis(function: &Function, value: Value) -> Option<usize> {
    match function.defining(value)?.op {
        Op::Special(Special::ThreadId(axis)) => Some(usize::from(axis)),
        _ => None,
    }
}
