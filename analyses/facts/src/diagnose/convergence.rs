//! Rules about lanes that must be there: barriers, masked warp operations, sources of shuffles, derivatives, loops.

use super::partial::Partial;
use super::{Context, arrays, collective, finding, memory, rounds, together};
use crate::active::is_rank;
use crate::model::*;
use crate::open::left_open;
use crate::words;
use ir::{
    Barrier, BinaryOp, Block, BranchKind, Function, FunctionKind, Inst, IntCondition, Language, Op,
    ShaderStage, Space, Special, Terminator, TextureOp, Value, ValueDef, WarpKind,
};
use rustc_hash::FxHashSet;
use std::ops::Range;

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

fn barriers(cx: &Context<'_>, out: &mut Vec<Finding>) {
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
        let group = match whole_grid {
            true => "grid",
            false => words::workgroup(cx.function.language),
        };
        let mut related = cx.branch_chain(branch);
        let because = Context::because(&related);
        related.splice(
            0..0,
            cx.calls_to(barrier.loc, cx.function.blocks[branch].loc),
        );
        let (code, message) = if in_loop {
            let text = format!(
                "{name} stands in a loop that the threads of the {group} leave in different iterations{because}"
            );
            (Code::BarrierInDivergentLoop, text)
        } else {
            (
                Code::DivergentBarrier,
                format!("{name} is reached by only a part of the {group}'s threads{because}"),
            )
        };
        let tier = if provably_splits(cx, branch) {
            Tier::Error
        } else {
            Tier::Warning
        };
        let told = finding(code, tier, barrier.loc, message, related);
        split.push((branch, block, (!whole_grid).then_some(barrier.inst), told));
    }
    // What stands in front of a branch in a loop is reached by the way back, and not at all by threads that have missed a
    // barrier behind it.
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

/// Threads that have ended are not waited for: what they would have written is missing, that is all.
fn ends_before(cx: &Context<'_>, loc: ir::Loc, branch: Block, name: &str) -> Finding {
    let related = cx.branch_chain(branch);
    let message = format!(
        "some threads of the {} end before {name}, which waits for the others only{}",
        words::workgroup(cx.function.language),
        Context::because(&related)
    );
    finding(Code::DivergentBarrier, Tier::Hint, loc, message, related)
}

/// Behind the branch on which threads end, the others still write what the group shares: there the part of those that have
/// ended is missing. Not so of what they add to atomically, nor of what one thread alone writes, which does not end before
/// the others: `if (i >= n) return; if (threadIdx.x == 0) sum = 0;`.
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
    let name = barrier_name(cx.function, barrier.inst);
    let related = cx.chain(guard, block);
    let message = format!(
        "{name} is executed by the threads of the workgroup whose predicate holds only{}",
        Context::because(&related)
    );
    let code = Code::DivergentBarrier;
    let told = finding(code, Tier::Warning, barrier.loc, message, related);
    out.push(told.with_witness(cx, barrier.inst, Scope::Workgroup, None));
}

fn barrier_name(function: &Function, inst: Inst) -> &'static str {
    match (function.language, &function.insts[inst].op) {
        (Language::Cuda, Op::Barrier(Barrier::Workgroup)) => "`__syncthreads()`",
        (Language::Cuda, Op::Barrier(Barrier::WorkgroupAnd)) => "`__syncthreads_and()`",
        (Language::Cuda, Op::Barrier(Barrier::WorkgroupOr)) => "`__syncthreads_or()`",
        (Language::Cuda, Op::Barrier(Barrier::WorkgroupCount)) => "`__syncthreads_count()`",
        (Language::Cuda, Op::Barrier(Barrier::Grid)) => {
            match function.insts[inst].args.is_empty() {
                true => "the cluster's barrier",
                false => "the grid's `sync()`",
            }
        }
        (Language::Ptx, _) => "the barrier",
        _ => "the group barrier",
    }
}

/// The branch compares a thread coordinate with a constant inside the known block: lanes certainly go both ways.
fn provably_splits(cx: &Context<'_>, branch: Block) -> bool {
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

/// A constant full mask where running lanes are absent.
fn mask_names_absent_lanes(
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
    let who = match collective::group_named(cx, inst) {
        Some((group, _)) => format!("all lanes of `{group}` are waited for"),
        None => format!("the mask {:#010x} names all lanes", mask as u32),
    };
    let message = format!(
        "{who}, but lanes that go the other way at the branch do not come here{}",
        Context::because(&related)
    );
    let told = finding(
        Code::WarpSyncMask,
        Tier::Warning,
        data.loc,
        message,
        related,
    );
    out.push(told.with_witness(cx, inst, Scope::Subgroup, None));
    true
}

/// What is read is the first lane's, which is here as long as any lane is, and lanes that are not have ended:
/// `for (;;) { base = shuffle(base, 0); if (base + lane >= n) break; .. }` at the end of a kernel.
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

/// Where a block goes that does nothing, by a condition that is known: what a `break` at the end of a loop is.
fn behind(function: &Function, block: Block) -> Block {
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

/// Lanes that come here and have no bit in a constant mask: each calling lane must be named. Told where the branches on the
/// way here tell exactly which lanes come; in a device function its callers say who does.
fn mask_leaves_out_callers(
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
    let mask = u128::from(mask as u32);
    let threads = (0..3).try_fold(1u64, |all, axis| Some(all * u64::from(cx.size(axis)?)));
    let there = u64::from(cx.warp_size().min(32)).min(threads.unwrap_or(u64::MAX));
    let mut callers = (1u128 << there) - 1;
    if callers & !mask == 0 {
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
    let missing = callers & !mask;
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
    let message = format!(
        "{} come here and have no bit in the mask {mask:#010x}: every lane that calls must be named in it, else the result is undefined",
        lane_list(missing)
    );
    out.push(finding(
        Code::WarpSyncMask,
        tier,
        data.loc,
        message,
        related,
    ));
    true
}

/// `lane 3`, `lanes 8 to 15`, `lanes 0, 2, 4, ..`.
pub(super) fn lane_list(set: u128) -> String {
    let lanes: Vec<u32> = (0..u128::BITS)
        .filter(|lane| set >> lane & 1 == 1)
        .collect();
    match lanes.as_slice() {
        [one] => format!("lane {one}"),
        [first, .., last] if last - first + 1 == lanes.len() as u32 => {
            format!("lanes {first} to {last}")
        }
        several => {
            let shown: Vec<String> = several.iter().take(3).map(u32::to_string).collect();
            let more = if several.len() > 3 { ", .." } else { "" };
            format!("lanes {}{more}", shown.join(", "))
        }
    }
}

/// Reads from a fixed lane where that lane may be absent.
fn inactive_source(
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
    let remedy = match cx.function.language {
        Language::Hlsl => "; `WaveReadLaneFirst` reads a lane that is here",
        _ => "",
    };
    let message = format!(
        "lane {lane} may be inactive here, then the value is undefined{remedy}{}",
        Context::because(&related)
    );
    let code = Code::ShuffleInactiveSource;
    let told = finding(code, Tier::Warning, data.loc, message, related);
    out.push(told.with_witness(cx, inst, Scope::Subgroup, u32::try_from(lane).ok()));
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

/// What a branch above asked for, on its way here.
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
        let what = match &data.op {
            Op::Derivative(_) => "the derivative",
            Op::Texture(access) if access.op.implicit_derivative() => match access.op {
                TextureOp::CalculateLevel | TextureOp::CalculateLevelUnclamped => {
                    "the level of detail"
                }
                _ => "the sample's level of detail",
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
        let remedy = match data.op {
            Op::Derivative(_) => "take it before the branch",
            _ => "sample before the branch, or use SampleLevel or SampleGrad",
        };
        let message = format!(
            "{what} is undefined where the pixels of a quad diverge{}; {remedy}",
            Context::because(&related)
        );
        out.push(finding(
            Code::DerivativeNonuniform,
            Tier::Warning,
            data.loc,
            message,
            related,
        ));
    }
}

fn leaves_by_discard(cx: &Context<'_>, branch: Block) -> bool {
    cx.flow.successors[branch]
        .iter()
        .any(|&b| matches!(cx.function.blocks[b].terminator, ir::Terminator::Kill))
}

/// Rounds that are not worth to be told of.
const FEW: u64 = 4;

/// Loops that the lanes of a warp leave in different iterations, when the difference can be more than one round and
/// the body has something to wait for.
/// The branch by which the lanes of a loop with a divergent trip count leave it.
pub(super) fn deciding_exit(cx: &Context<'_>, fact: &LoopFact) -> Option<Block> {
    match fact.cause {
        Cause::Branch(block) | Cause::LeavesLoop { exit: block, .. } => Some(block),
        // The exit is the branch in the loop that this value decides.
        Cause::Operand(selector) => cx.flow.order.iter().copied().find(|&block| {
            cx.flow.position[block] >= cx.flow.position[fact.header]
                && cx.function.blocks[block].terminator.selector() == Some(selector)
        }),
        _ => None,
    }
}

fn loops(cx: &Context<'_>, warp: &Partial, out: &mut Vec<Finding>) {
    for fact in &cx.facts.loops {
        if fact.trip != Class::Divergent && fact.trip != Class::Affine {
            continue;
        }
        let Some(exit) = deciding_exit(cx, fact) else {
            continue;
        };
        let selector = cx.function.blocks[exit].terminator.selector();
        let causes = selector.map_or_else(Vec::new, |selector| cx.causes(selector));
        let chosen = |&value: &Value| arrays::element_of_an_instantiation(cx, value);
        if causes.iter().any(chosen) || is_not_followed(cx, exit, Scope::Subgroup) {
            continue;
        }
        let outside = |next: &Block| {
            let forest = cx.forest();
            let own = forest.of(fact.header);
            own.is_some_and(|own| !forest.contains(own, *next))
        };
        let mut leaves = cx.flow.successors[exit].iter().filter(|next| outside(next));
        if leaves.next().is_some_and(|&next| warp.fails(next)) && leaves.next().is_none() {
            continue;
        }
        if only_waits(cx, fact.header)
            || cx.branch_left_to_callers(exit)
            || in_one_lane(cx, warp, fact.header)
            || memory::is_one_lane_of_an_instantiation(cx, warp, fact.header)
            || !heavy(cx, fact.header, exit)
            || rounds::shared_by_the_warp(cx, fact.header, exit)
            || rounds::as_many_in_all_lanes(cx, fact.header)
            || rounds::serves_in_groups(cx, exit)
            || rounds::in_a_rest(cx, fact.header)
            || fact.at_most.is_some_and(|rounds| rounds <= FEW)
            || together::decides_for_all(cx, exit, Scope::Subgroup)
        {
            continue;
        }
        let related = cx.branch_chain(exit);
        let message = format!(
            "the {} repeats this loop until its slowest lane is done{}",
            words::warp(cx.function.language),
            Context::because(&related)
        );
        out.push(finding(
            Code::DivergentLoop,
            Tier::Hint,
            fact.loc,
            message,
            related,
        ));
    }
}

/// The chain ends at memory of the thread's own into which nothing is written that is known to differ between lanes but
/// what comes from there.
fn is_not_followed(cx: &Context<'_>, branch: Block, scope: Scope) -> bool {
    let function = cx.function;
    let selector = function.blocks[branch].terminator.selector();
    let causes = selector.map_or_else(Vec::new, |selector| cx.causes(selector));
    let read = |value: Value| {
        let data = function.defining(value)?;
        let private = matches!(&data.op, Op::Load(access) if access.space == Space::Local);
        private.then(|| data.args[0])
    };
    let array = |mut address: Value| {
        while let Some(data) = function.defining(address)
            && matches!(data.op, Op::PtrAdd | Op::Convert(_))
        {
            address = data.args[0];
        }
        address
    };
    // From there on the chain follows the address, which is the same in all lanes.
    let unfollowed = |chain: &[Value]| {
        chain.iter().find_map(|&value| {
            let address = read(value)?;
            let at = cx.block_of_value(value)?;
            let ValueDef::Result(reading, _) = function.values[value].def else {
                return None;
            };
            cx.uniform(address, at, scope)
                .then_some((address, value, (at, reading)))
        })
    };
    let Some((address, value, reading)) = unfollowed(&causes) else {
        return false;
    };
    let from = array(address);
    let from_there = |value: Value| read(value).is_some_and(|address| array(address) == from);
    // One of several arrays may be this one.
    let may_be = |into: Value| {
        let of_one = function.defining(into);
        into == from || !of_one.is_some_and(|data| matches!(data.op, Op::Alloca { .. }))
    };
    // Nor is what was written last: the same in all lanes, whatever was there before.
    let stores = || {
        cx.instructions().filter(|&(_, inst)| {
            let op = &function.insts[inst].op;
            matches!(op, Op::Store(access) if access.space == Space::Local)
        })
    };
    let place = constant_distance(function, address);
    let is_before = |one: (Block, Inst), other: (Block, Inst)| match one.0 == other.0 {
        true => {
            let insts = &function.blocks[one.0].insts;
            let at = |inst: Inst| insts.iter().position(|&i| i == inst);
            at(one.1) <= at(other.1)
        }
        false => cx.dominators().dominates(one.0, other.0),
    };
    let overwritten = stores().any(|(block, inst)| {
        let args = &function.insts[inst].args;
        let is_uniform = |&stored: &Value| cx.uniform(stored, block, scope);
        constant_distance(function, args[0]) == place
            && args[1..].iter().all(is_uniform)
            && is_before((block, inst), reading)
            && stores().all(|other| {
                let into = function.insts[other.1].args[0];
                let (base, distance) = constant_distance(function, into);
                is_before(other, (block, inst))
                    || !may_be(array(into))
                    || base == place.0 && distance != place.1
            })
    });
    if overwritten {
        return true;
    }
    // Another member of the same structure says nothing of this one.
    let results = &function.insts[reading.1].results;
    let own = covered(function, place.1, results)
        .find(|(one, _)| *one == value)
        .map_or(place.1..i64::MAX, |(_, bytes)| bytes);
    let elsewhere = |into: Value, bytes: &Range<i64>| {
        constant_distance(function, into).0 == place.0
            && (bytes.end <= own.start || own.end <= bytes.start)
    };
    !stores().any(|(block, inst)| {
        let data = &function.insts[inst];
        let into = data.args[0];
        let begin = constant_distance(function, into).1;
        may_be(array(into))
            && covered(function, begin, &data.args[1..]).any(|(stored, bytes)| {
                let open = |value: Value| from_there(value) || is_unknown(function, value);
                !elsewhere(into, &bytes)
                    && !cx.uniform(stored, block, scope)
                    && !cx.causes(stored).into_iter().any(open)
            })
    })
}

/// The bytes that values have which lie one behind the other.
fn covered(
    function: &Function,
    mut begin: i64,
    values: &[Value],
) -> impl Iterator<Item = (Value, Range<i64>)> {
    values.iter().map(move |&value| {
        let bytes = begin..begin.saturating_add(i64::from(function.ty(value).bytes()));
        begin = bytes.end;
        (value, bytes)
    })
}

/// What a function that is not visible gives, or a type that is not known; or the time, which decides nothing.
fn is_unknown(function: &Function, value: Value) -> bool {
    let data = function.defining(value);
    let given = |data: &ir::InstData| {
        matches!(
            data.op,
            Op::Unknown(_) | Op::CallUnknown { .. } | Op::Special(Special::Clock)
        )
    };
    function.ty(value) == ir::Type::Opaque || data.is_some_and(given)
}

/// An address as a constant distance from a pointer.
fn constant_distance(function: &Function, mut address: Value) -> (Value, i64) {
    let mut distance = 0i64;
    while let Some(data) = function.defining(address)
        && data.op == Op::PtrAdd
        && let Some(by) = function.int_constant(data.args[1])
    {
        distance = distance.wrapping_add(by);
        address = data.args[0];
    }
    (address, distance)
}

/// Nothing is carried from round to round, and nothing is written: the lanes wait for what others write.
pub(super) fn only_waits(cx: &Context<'_>, header: Block) -> bool {
    let forest = cx.forest();
    let Some((own, _)) = forest.loops.iter().find(|(_, one)| one.header == header) else {
        return false;
    };
    let writes = |&inst: &Inst| {
        let op = &cx.function.insts[inst].op;
        matches!(op, Op::Store(_) | Op::Atomic(..) | Op::Call(_))
            || matches!(op, Op::CallUnknown { pure: false, .. })
    };
    let mut blocks = cx.flow.order.iter();
    cx.function.blocks[header].params.is_empty()
        && blocks.all(|&block| {
            !forest.contains(own, block) || !cx.function.blocks[block].insts.iter().any(writes)
        })
}

/// The branch divides a coordinate by a number that only an instantiation or a build tells, or compares it with one:
/// `warp / WARPS_PER_TILE`, `row * 4 < CHANNELS`.
fn left_to_an_instantiation(cx: &Context<'_>, branch: Block) -> bool {
    let function = cx.function;
    let mut work: Vec<Value> = function.blocks[branch]
        .terminator
        .selector()
        .into_iter()
        .collect();
    for _ in 0..64 {
        let Some(data) = work.pop().and_then(|value| function.defining(value)) else {
            if work.is_empty() {
                return false;
            }
            continue;
        };
        match data.op {
            Op::Binary(
                BinaryOp::DivSigned
                | BinaryOp::DivUnsigned
                | BinaryOp::RemSigned
                | BinaryOp::RemUnsigned
                | BinaryOp::ShrSigned
                | BinaryOp::ShrUnsigned,
                _,
            ) if left_open(function, data.args[1]) => return true,
            Op::IntCompare(_) if data.args.iter().any(|&side| left_open(function, side)) => {
                return true;
            }
            Op::Load(_) | Op::Atomic(..) | Op::Texture(_) => {}
            _ => work.extend(data.args.iter().copied()),
        }
    }
    false
}

/// At most one lane of the warp comes to a block: it waits for nobody.
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

/// `threadIdx.x == 0 && ..`: what comes from beside the second part is false, and one lane comes to that.
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
        let (name, operands) = match &data.op {
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
            let because = Context::because(&related);
            let message = format!(
                "`{name}` is reached by only a part of the group's threads: all of them must call it, once{because}"
            );
            let tier = match provably_splits(cx, branch) {
                true => Tier::Error,
                false => Tier::Warning,
            };
            out.push(finding(code, tier, data.loc, message, related));
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
            let because = Context::because(&related);
            let message =
                format!("an operand of `{name}` may differ between the group's threads{because}");
            out.push(finding(code, Tier::Warning, data.loc, message, related));
        }
    }
}

/// The loop's blocks, as far as they lie between header and the branches back to it, access memory or compute a lot.
fn heavy(cx: &Context<'_>, header: Block, exit: Block) -> bool {
    let mut seen = vec![false; cx.function.blocks.len()];
    let mut work: Vec<Block> = Vec::new();
    let from = cx.flow.position[header];
    work.extend(
        cx.flow.predecessors[header]
            .iter()
            .copied()
            .filter(|&p| cx.flow.position[p] >= from),
    );
    work.push(exit);
    seen[header.0 as usize] = true;
    let mut weight = cx.function.blocks[header].insts.len();
    let mut memory = false;
    let mut blocks = vec![header];
    while let Some(block) = work.pop() {
        if std::mem::replace(&mut seen[block.0 as usize], true) || cx.flow.position[block] < from {
            continue;
        }
        blocks.push(block);
        work.extend(cx.flow.predecessors[block].iter().copied());
    }
    for block in blocks {
        weight += cx.function.blocks[block].insts.len();
        memory |= cx.function.blocks[block].insts.iter().any(|&inst| {
            matches!(&cx.function.insts[inst].op, Op::Load(a) if a.space != ir::Space::Constant && a.space != ir::Space::Local)
                || matches!(cx.function.insts[inst].op, Op::Texture(_) | Op::Atomic(..))
        });
    }
    memory || weight > 40
}
