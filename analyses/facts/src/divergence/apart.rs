//! Blocks that groups of lanes which parted may execute one group after the other, in one instance: those
//! from a join (or a divergent exit) that comes before the branch's post-dominator up to that post-dominator.
//! Operations that depend on which lanes execute together or when - warp operations, loads from memory that
//! others write, clocks - differ between the groups there, and they meet later without a merge that would
//! show it.
//!
//! ```text
//! A: br tid & 1 -> B, C;  B: br u -> D, E;  C -> D;  D: v = ballot(p) -> E;  E: use v       D runs twice, v differs in E
//! ```
//!
//! A walk from each such join. A block remembers up to which post-dominator it was walked from at a level, and is not
//! walked from again for a branch whose own post-dominator lies before that one. When the walks have looked at 100 times
//! as many blocks as there are, every block is taken.

use super::engine::{Engine, Level};
use ir::cfg::ControlFlow;
use ir::gates::Gates;
use ir::loops::LoopForest;
use ir::{Block, Function, Terminator};

/// Marks a block not walked from yet.
const NEVER: u32 = u32::MAX;
/// Walked from up to the function's end.
const EXIT: u32 = u32::MAX - 1;

impl Engine<'_> {
    /// Notes where the lanes that part at `branch` run group by group.
    pub(super) fn lower_apart(&mut self, branch: Block, level: Level, gates: &Gates) {
        if gates.coarse {
            self.all_apart(level);
            return;
        }
        let mut fell = Vec::new();
        for &l in &gates.tainted {
            self.loops_apart.lower(&self.forest, l, level, &mut fell);
        }
        if !fell.is_empty() {
            self.with_blocks_of_loops(|engine, blocks| {
                for l in fell {
                    for &block in blocks.directly_in(&engine.forest, l) {
                        engine.set_apart(block, level);
                    }
                }
            });
        }
        let end = self.post.immediate(branch);
        let mut work = std::mem::take(&mut self.visited.work);
        work.clear();
        let exits = gates.exits.iter().map(|e| e.0);
        for block in gates.joins.iter().copied().chain(exits) {
            self.walk_apart(block, end, level, &mut work);
        }
        while let Some(block) = work.pop() {
            for index in 0..self.taken().successors[block].len() {
                let next = self.taken().successors[block][index];
                self.walk_apart(next, end, level, &mut work);
            }
            self.walked += 1;
            self.overtaking_left = self.overtaking_left.saturating_sub(1);
            if self.overtaking_left == 0 {
                self.all_apart(level);
                break;
            }
        }
        self.visited.work = work;
    }

    /// The edges that lanes may take.
    pub(super) fn taken(&self) -> &ControlFlow {
        self.taken.as_ref().unwrap_or(&self.flow)
    }

    /// Returns true if a loop has a way back that may be taken: else each lane goes through it once.
    pub(crate) fn comes_back(&self, id: ir::loops::LoopId) -> bool {
        let header = self.forest.loops[id].header;
        let before = &self.taken().predecessors[header];
        before.iter().any(|&block| self.forest.contains(id, block))
    }

    fn walk_apart(
        &mut self,
        block: Block,
        end: Option<Block>,
        level: Level,
        work: &mut Vec<Block>,
    ) {
        if Some(block) == end {
            return;
        }
        let mark = end.map_or(EXIT, |e| e.0);
        // A walk up to a post-dominator other than `end` has covered the blocks of this one if no way from
        // here leads past `end`, and `end` comes first.
        let before_end = end.is_none_or(|e| self.post.dominates(e, block));
        for known in &self.apart_until[..=usize::from(level)] {
            let until = known.get(block.0 as usize).copied().unwrap_or(NEVER);
            let further = match (until, end) {
                (NEVER, _) => false,
                (EXIT, _) => true,
                (until, Some(end)) => before_end && self.post.dominates(Block(until), end),
                (_, None) => false,
            };
            if until == mark || further {
                return;
            }
        }
        let known = &mut self.apart_until[usize::from(level)];
        if known.is_empty() {
            *known = vec![NEVER; self.function.blocks.len()];
        }
        known[block.0 as usize] = mark;
        self.set_apart(block, level);
        work.push(block);
    }

    fn all_apart(&mut self, level: Level) {
        if level >= self.all_apart {
            return;
        }
        self.all_apart = level;
        for index in 0..self.flow.order.len() {
            self.set_apart(self.flow.order[index], level);
        }
    }

    /// Below which scope groups of lanes may execute a block one after the other.
    pub(super) fn apart_at(&self, block: Block) -> Level {
        self.asks.set(true);
        self.apart[block]
    }

    fn set_apart(&mut self, block: Block, level: Level) {
        if level < self.apart[block] {
            self.apart[block] = level;
            self.sweep_again = true;
        }
    }
}

/// The graph without the edges that only say that a block behind a `break` belongs to the loop's iteration: of a branch
/// whose condition is a constant and which leaves the loop, the side that stays. `None`: there are none.
pub(super) fn without_ways_back(
    function: &Function,
    flow: &ControlFlow,
    forest: &LoopForest,
) -> Option<ControlFlow> {
    let mut taken: Option<ControlFlow> = None;
    for &block in &flow.order {
        let Terminator::Branch {
            condition,
            then,
            otherwise,
            ..
        } = &function.blocks[block].terminator
        else {
            continue;
        };
        let (Some(l), Some(known)) = (forest.of(block), function.int_constant(*condition)) else {
            continue;
        };
        let (goes, never) = if known != 0 {
            (then.block, otherwise.block)
        } else {
            (otherwise.block, then.block)
        };
        if goes != never && forest.contains(l, never) && !forest.contains(l, goes) {
            let taken = taken.get_or_insert_with(|| flow.clone());
            taken.successors[block].retain(|next| *next != never);
            taken.predecessors[never].retain(|before| *before != block);
        }
    }
    taken
}
