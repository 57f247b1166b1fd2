//! Which blocks may be executed by a part of a scope's lanes only: those that depend, directly or through other such
//! blocks, on a branch that is not uniform over the scope. Control dependence is Ferrante, Ottenstein and Warren's
//! (1987), by a walk up the post-dominator tree from each edge; a branch that some lanes use to leave for good counts too.

use super::Context;
use crate::model::Scope;
use ir::{Block, EntityVec, Op, Terminator};
use smallvec::SmallVec;

/// For each block the branches that keep lanes of the scope away from it.
pub(super) struct Partial {
    /// A divergent branch on which the block depends, nearest first; `None`: all lanes that entered come here.
    witness: EntityVec<Block, Option<Block>>,
    /// The same without branches whose other side only ends the lane.
    witness_alive: EntityVec<Block, Option<Block>>,
}

impl Partial {
    pub(super) fn new(cx: &Context<'_>, scope: Scope) -> Self {
        let count = cx.function.blocks.len();
        let mut controlled_by: EntityVec<Block, SmallVec<[(Block, bool); 2]>> =
            EntityVec::with_len(SmallVec::new(), count);
        let ends = ending_blocks(cx);
        for &branch in &cx.flow.order {
            let targets = &cx.flow.successors[branch];
            if targets.len() < 2 {
                continue;
            }
            let stop = cx.post_dominators.immediate(branch);
            for &target in targets {
                let alive = targets.iter().any(|&other| other != target && !ends[other]);
                let mut at = Some(target);
                while at != stop {
                    let Some(block) = at else { break };
                    controlled_by[block].push((branch, alive));
                    at = cx.post_dominators.immediate(block);
                }
            }
        }
        Partial {
            witness: spread(cx, scope, &controlled_by, false),
            witness_alive: spread(cx, scope, &controlled_by, true),
        }
    }

    /// A branch that keeps lanes away, also those that have left the function.
    pub(super) fn branch(&self, block: Block) -> Option<Block> {
        self.witness[block]
    }
    /// A branch that keeps lanes away that are still running.
    pub(super) fn branch_with_live_lanes(&self, block: Block) -> Option<Block> {
        self.witness_alive[block]
    }
}

fn spread(
    cx: &Context<'_>,
    scope: Scope,
    controlled_by: &EntityVec<Block, SmallVec<[(Block, bool); 2]>>,
    only_alive: bool,
) -> EntityVec<Block, Option<Block>> {
    let mut dependents: EntityVec<Block, Vec<Block>> =
        EntityVec::with_len(Vec::new(), controlled_by.len());
    let mut witness: EntityVec<Block, Option<Block>> =
        EntityVec::with_len(None, controlled_by.len());
    let mut work = Vec::new();
    for (block, branches) in controlled_by.iter() {
        for &(branch, alive) in branches {
            let selector = cx.function.blocks[branch].terminator.selector();
            let divergent = selector.is_some_and(|value| !cx.uniform(value, branch, scope));
            if divergent && (alive || !only_alive) {
                if witness[block].is_none() {
                    witness[block] = Some(branch);
                    work.push(block);
                }
            } else {
                dependents[branch].push(block);
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

/// Blocks from which a lane does nothing more that anyone could observe before it ends.
fn ending_blocks(cx: &Context<'_>) -> EntityVec<Block, bool> {
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
