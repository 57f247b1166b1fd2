//! Blocks that groups of lanes which parted may execute one group after the other, in one instance: those from a join (or a
//! divergent exit) that comes before the branch's post-dominator up to that post-dominator. What depends on who executes
//! together or when - warp operations, loads from memory that others write, clocks - differs between the groups there, and
//! they meet later without a merge that would show it.
//!
//! ```text
//! A: br tid & 1 -> B, C;  B: br u -> D, E;  C -> D;  D: v = ballot(p) -> E;  E: use v       D runs twice, v differs in E
//! ```
//!
//! A walk from each such join; when it has looked at 100 times as many blocks as there are, it takes every block.

use super::engine::{Engine, Level};
use ir::Block;
use ir::gates::Gates;
use rustc_hash::FxHashSet;

impl Engine<'_> {
    /// Notes where the lanes that part at `branch` run group by group.
    pub(super) fn lower_apart(&mut self, branch: Block, level: Level, gates: &Gates) {
        if gates.coarse {
            self.all_apart(level);
            return;
        }
        for &l in &gates.tainted {
            for index in 0..self.flow.order.len() {
                let block = self.flow.order[index];
                if self.forest.contains(l, block) {
                    self.set_apart(block, level);
                }
            }
        }
        let end = self.post.immediate(branch);
        let starts = gates
            .joins
            .iter()
            .copied()
            .chain(gates.exits.iter().map(|&(block, _)| block));
        let mut work: Vec<Block> = starts.filter(|&block| Some(block) != end).collect();
        let mut seen: FxHashSet<Block> = work.iter().copied().collect();
        while let Some(block) = work.pop() {
            self.set_apart(block, level);
            for index in 0..self.flow.successors[block].len() {
                let next = self.flow.successors[block][index];
                if Some(next) != end && seen.insert(next) {
                    work.push(next);
                }
            }
            self.overtaking_left = self.overtaking_left.saturating_sub(1);
            if self.overtaking_left == 0 {
                self.all_apart(level);
                return;
            }
        }
    }

    fn all_apart(&mut self, level: Level) {
        for index in 0..self.flow.order.len() {
            self.set_apart(self.flow.order[index], level);
        }
    }

    fn set_apart(&mut self, block: Block, level: Level) {
        if level < self.apart[block] {
            self.apart[block] = level;
            self.sweep_again = true;
        }
    }
}
