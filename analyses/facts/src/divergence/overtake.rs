//! Loops in which a divergent branch lets lanes of different iterations go on together: the branch's post-dominator lies
//! inside, so that lanes wait there for the others, which can come to the header again before.
//!
//! ```text
//! H: i = phi(0, i + 1); br (i + tid) & 1 -> L, B;  B: br i >= 3 -> X, L;  L -> H       lanes meet in B: i is 0, 1, 0, 1
//! ```
//!
//! Machines that reconverge at post-dominators do so; on others the instances are kept apart. A claim has to hold on
//! both. Looks at the blocks between the branch and its post-dominator, unless it is plain that lanes stay in the
//! innermost loop around both; when it has looked at 100 times as many blocks as there are, it takes every candidate.

use super::engine::{Engine, Level};
use ir::Block;
use ir::loops::LoopId;
use smallvec::SmallVec;

impl Engine<'_> {
    /// Loops whose header lanes can come to again before the branch's post-dominator, which lies inside: there lanes of
    /// different iterations go on together. Those that are known to be so at this level are left out.
    pub(super) fn overtaken(&mut self, branch: Block, level: Level) -> SmallVec<[LoopId; 2]> {
        let mut loops: SmallVec<[LoopId; 2]> = SmallVec::new();
        let Some(end) = self.post.immediate(branch) else {
            return loops;
        };
        let mut left = None;
        let mut common = self.forest.of(branch);
        while let Some(l) = common
            && !self.forest.contains(l, end)
        {
            left = common;
            common = self.forest.loops[l].parent;
        }
        let Some(inner) = common else {
            return loops;
        };
        // All exits of the loops that lanes leave before their post-dominator lead there.
        if left.is_some_and(|l| self.forest.loops[l].exits.as_slice() == [end]) {
            return loops;
        }
        // A way from the branch that avoids its post-dominator would be a way from the entry to a block that
        // the post-dominator dominates.
        if !self.dominators.dominates(end, branch)
            && self
                .outlet(inner)
                .is_some_and(|outlet| self.dominators.dominates(end, outlet))
        {
            return loops;
        }
        let reducible = self
            .builder
            .outermost_irreducible(&self.forest, branch)
            .is_none();
        let mut at = Some(inner);
        while let Some(l) = at {
            let header = self.forest.loops[l].header;
            if self.post.strictly_dominates(end, header) {
                if level < self.mixed[l] || level < self.taint[l] {
                    loops.push(l);
                }
            } else if reducible && end != header {
                // Lanes coming from an outer header reach this loop before they reach `end`, and pass it.
                break;
            }
            at = self.forest.loops[l].parent;
        }
        if loops.is_empty() {
            return loops;
        }
        self.visited.start(self.function.blocks.len());
        self.visited.work.push(branch);
        while let Some(from) = self.visited.work.pop() {
            for &next in &self.flow.successors[from] {
                if next != end && self.visited.insert(next) {
                    self.visited.work.push(next);
                }
            }
            self.walked += 1;
            self.overtaking_left = self.overtaking_left.saturating_sub(1);
            if self.overtaking_left == 0 {
                return loops;
            }
        }
        loops.retain(|l| self.visited.contains(self.forest.loops[*l].header));
        loops
    }
}
