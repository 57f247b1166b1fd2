//! The blocks that may be executed by only a part of a scope's lanes: those that depend, directly or through
//! other such blocks, on a branch that is not uniform over the scope. Control dependence is Ferrante,
//! Ottenstein and Warren's (1987), by a walk up the post-dominator tree from each edge; a branch that some
//! lanes use to leave for good counts too. Edges behind which the whole grid fails keep nobody away: no lane
//! goes on then.

use super::{Context, together};
use crate::model::Scope;
use ir::cfg::ControlFlow;
use ir::dominators::DominatorTree;
use ir::{Block, EntityVec, FunctionKind, Op, Terminator};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

/// The branches that keep lanes of the scope away from each block.
pub(super) struct Partial {
    /// A divergent branch on which the block depends, nearest first; `None`: all lanes that entered come here.
    witness: EntityVec<Block, Option<Block>>,
    /// The same without branches whose other side only ends the lane: an early return.
    witness_alive: EntityVec<Block, Option<Block>>,
    controlled_by: EntityVec<Block, SmallVec<[Control; 2]>>,
    fails: EntityVec<Block, bool>,
    ends: EntityVec<Block, bool>,
}

/// A branch on which a block depends, by the edge to `target`.
#[derive(Clone, Copy)]
struct Control {
    branch: Block,
    target: Block,
    divergent: bool,
    /// Lanes that take another edge go on.
    alive: bool,
}

impl Partial {
    pub(super) fn new(cx: &Context<'_>, scope: Scope) -> Self {
        let count = cx.function.blocks.len();
        let mut controlled_by = EntityVec::with_len(SmallVec::new(), count);
        let mut controlled_alive = EntityVec::with_len(SmallVec::new(), count);
        let quiet = ending_quietly(cx);
        let ends = ending_without_waiting(cx, scope);
        // The graph without the edges by which lanes end: `if (t == 0) { if (n == 1) return; .. } barrier();`
        // keeps no lane away that still runs.
        let fails = failing(cx);
        let (flow, post_dominators) = not_failing(cx, &fails);
        let mut running = flow.clone();
        let mut controls = Vec::new();
        // The edges by which lanes end.
        let mut ending: FxHashSet<(Block, Block)> = FxHashSet::default();
        for &branch in &flow.order {
            let targets = &flow.successors[branch];
            if targets.len() < 2 {
                continue;
            }
            let stop = post_dominators.immediate(branch);
            let selector = cx.function.blocks[branch].terminator.selector();
            let divergent = selector.is_some_and(|value| !cx.uniform(value, branch, scope))
                && !together::decides_for_all(cx, branch, scope);
            let ended = |target: Block| {
                // Lanes that skip a block on their way to a common end do not return early: they should have
                // come to it.
                let apart = stop.is_none_or(|stop| target != stop && quiet[stop]);
                apart && ends[target] && scope != Scope::Quad
                    || quiet[target] && scope <= Scope::Subgroup
            };
            for &target in targets {
                let alive = targets
                    .iter()
                    .any(|&other| other != target && !ended(other));
                controls.push(Control {
                    branch,
                    target,
                    divergent,
                    alive,
                });
            }
            ending.extend(targets.iter().filter(|&&t| ended(t)).map(|&t| (branch, t)));
        }
        // A loop without its exits would never end: the exits of its header and of its latches stay, or one
        // behind which lanes go on.
        let forest = cx.forest();
        let regular =
            |header: Block, from: Block| from == header || flow.successors[from].contains(&header);
        let mut open = FxHashSet::default();
        for (own, each) in forest.loops.iter() {
            let mut edges = flow.order.iter().flat_map(|&from| {
                let next = flow.successors[from].iter();
                next.map(move |&to| (from, to))
            });
            let stays = edges.any(|(from, to)| {
                forest.contains(own, from)
                    && !forest.contains(own, to)
                    && (regular(each.header, from) || !ending.contains(&(from, to)))
            });
            if stays {
                open.insert(own);
            }
        }
        let stays_open = |branch: Block, target: Block| {
            forest.loops.iter().all(|(own, it)| {
                !forest.contains(own, branch)
                    || forest.contains(own, target)
                    || open.contains(&own) && !regular(it.header, branch)
            })
        };
        for &branch in &flow.order {
            let targets = &flow.successors[branch];
            let leaves =
                |target: Block| ending.contains(&(branch, target)) && stays_open(branch, target);
            if targets.len() > 1 && !targets.iter().all(|&target| leaves(target)) {
                running.successors[branch].retain(|target| !leaves(*target));
                for &target in targets.iter().filter(|&&target| leaves(target)) {
                    running.predecessors[target].retain(|before| *before != branch);
                }
            }
        }
        let post_of_running = DominatorTree::post_dominators(&running);
        for control in controls {
            record(&mut controlled_by, &post_dominators, control);
            let goes_on = &running.successors[control.branch];
            if goes_on.len() > 1 && goes_on.contains(&control.target) {
                record(&mut controlled_alive, &post_of_running, control);
            }
        }
        Partial {
            witness: spread(&controlled_by, false),
            witness_alive: spread(&controlled_alive, true),
            controlled_by,
            fails,
            ends,
        }
    }

    /// From a block a lane ends without coming to anything at which lanes of the scope wait for each other.
    pub(super) fn ends(&self, block: Block) -> bool {
        self.ends[block]
    }

    /// The branches on which a block depends.
    pub(super) fn controls(&self, block: Block) -> impl Iterator<Item = Block> {
        self.controlled_by[block].iter().map(|it| it.branch)
    }

    /// Every way from a block ends in a failure of the grid.
    pub(super) fn fails(&self, block: Block) -> bool {
        self.fails[block]
    }

    /// A branch that keeps lanes away, also those that have left the function.
    pub(super) fn branch(&self, block: Block) -> Option<Block> {
        self.witness[block]
    }
    /// A branch that keeps lanes away that are still running.
    pub(super) fn branch_with_live_lanes(&self, block: Block) -> Option<Block> {
        self.witness_alive[block]
    }
    /// A divergent branch that lanes meet after `before` and that keeps some of them, still running, away from `block`.
    pub(super) fn branch_between(&self, before: Block, block: Block) -> Option<Block> {
        let passed: FxHashSet<Block> = self.edges_to(before).iter().map(|edge| edge.0).collect();
        let mut seen = FxHashSet::default();
        let mut work = vec![block];
        while let Some(at) = work.pop() {
            for control in &self.controlled_by[at] {
                if control.divergent && control.alive && !passed.contains(&control.branch) {
                    return Some(control.branch);
                }
                if seen.insert(control.branch) {
                    work.push(control.branch);
                }
            }
        }
        None
    }
    /// The edges of divergent branches by which lanes come to a block, whatever branches they depend on themselves.
    pub(super) fn edges_to(&self, block: Block) -> Vec<(Block, Block)> {
        let mut edges = Vec::new();
        let mut seen = FxHashSet::default();
        let mut work = vec![block];
        while let Some(at) = work.pop() {
            for control in &self.controlled_by[at] {
                if control.divergent {
                    edges.push((control.branch, control.target));
                }
                if seen.insert(control.branch) {
                    work.push(control.branch);
                }
            }
        }
        edges
    }
}

/// The blocks that depend on a branch by one of its edges.
fn record(
    controlled_by: &mut EntityVec<Block, SmallVec<[Control; 2]>>,
    post: &DominatorTree,
    control: Control,
) {
    let stop = post.immediate(control.branch);
    let mut at = Some(control.target);
    while at != stop {
        let Some(block) = at else { break };
        controlled_by[block].push(control);
        at = post.immediate(block);
    }
}

fn spread(
    controlled_by: &EntityVec<Block, SmallVec<[Control; 2]>>,
    only_alive: bool,
) -> EntityVec<Block, Option<Block>> {
    let mut dependents: EntityVec<Block, Vec<Block>> =
        EntityVec::with_len(Vec::new(), controlled_by.len());
    let mut witness: EntityVec<Block, Option<Block>> =
        EntityVec::with_len(None, controlled_by.len());
    let mut work = Vec::new();
    for (block, branches) in controlled_by.iter() {
        for control in branches {
            if control.divergent && (control.alive || !only_alive) {
                if witness[block].is_none() {
                    witness[block] = Some(control.branch);
                    work.push(block);
                }
            } else {
                dependents[control.branch].push(block);
            }
        }
    }
    while let Some(branch) = work.pop() {
        for &block in &dependents[branch] {
            if witness[block].is_none() {
                witness[block] = witness[branch];
                work.push(block);
            }
        }
    }
    witness
}

/// Blocks from which every way ends in a failure of the grid.
fn failing(cx: &Context<'_>) -> EntityVec<Block, bool> {
    let mut fails = EntityVec::with_len(false, cx.function.blocks.len());
    for &block in cx.flow.order.iter().rev() {
        let next = &cx.flow.successors[block];
        fails[block] = matches!(cx.function.blocks[block].terminator, Terminator::Trap)
            || !next.is_empty() && next.iter().all(|&next| fails[next]);
    }
    fails
}

/// The control flow without the edges to blocks that fail, and its post-dominators.
fn not_failing(cx: &Context<'_>, fails: &EntityVec<Block, bool>) -> (ControlFlow, DominatorTree) {
    let mut flow = cx.flow.clone();
    for &block in &cx.flow.order {
        if fails[block] {
            flow.predecessors[block].retain(|before| fails[*before]);
        } else {
            flow.successors[block].retain(|next| !fails[*next]);
        }
    }
    let post_dominators = DominatorTree::post_dominators(&flow);
    (flow, post_dominators)
}

/// Blocks from which a lane does nothing more that anyone could observe before it ends.
fn ending_quietly(cx: &Context<'_>) -> EntityVec<Block, bool> {
    let mut ends = EntityVec::with_len(false, cx.function.blocks.len());
    for &block in cx.flow.order.iter().rev() {
        let data = &cx.function.blocks[block];
        let quiet = !data.insts.iter().any(|&inst| {
            let op = &cx.function.insts[inst].op;
            op.has_effect() || matches!(op, Op::Load(_) | Op::Texture(_) | Op::Derivative(_))
        });
        ends[block] = quiet
            && match &data.terminator {
                Terminator::Return(_) | Terminator::Kill => true,
                Terminator::Jump(edge) => ends[edge.block],
                _ => false,
            };
    }
    ends
}

/// Blocks from which a lane ends without coming to anything at which lanes of the scope wait for each other. A device
/// function's `return` ends no lane.
fn ending_without_waiting(cx: &Context<'_>, scope: Scope) -> EntityVec<Block, bool> {
    let device = cx.function.kind == FunctionKind::Device;
    let mut ends = EntityVec::with_len(true, cx.function.blocks.len());
    let mut work = Vec::new();
    for &block in &cx.flow.order {
        let data = &cx.function.blocks[block];
        let waits = data
            .insts
            .iter()
            .any(|&inst| match &cx.function.insts[inst].op {
                Op::Barrier(_) | Op::Call(_) => true,
                Op::Warp(op) => op.mask && scope == Scope::Subgroup,
                Op::CallUnknown { pure, .. } | Op::Asm { pure, .. } => !pure,
                _ => false,
            });
        if waits || device && matches!(data.terminator, Terminator::Return(_)) {
            ends[block] = false;
            work.push(block);
        }
    }
    while let Some(block) = work.pop() {
        for &before in &cx.flow.predecessors[block] {
            if std::mem::replace(&mut ends[before], false) {
                work.push(before);
            }
        }
    }
    ends
}
