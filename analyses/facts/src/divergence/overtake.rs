//! Loops in which a divergent branch lets lanes of different iterations go on together: the branch's post-dominator lies
//! inside, so that lanes wait there for the others, which can come to the header again before.
//!
//! ```text
//! H: i = phi(0, i + 1); br (i + tid) & 1 -> L, B;  B: br i >= 3 -> X, L;  L -> H       lanes meet in B: i is 0, 1, 0, 1
//! ```
//!
//! Machines that reconverge at post-dominators do so; on others the instances are kept apart. A claim has to hold on
//! both. Looks at the blocks between the branch and its post-dominator; when it has looked at 100 times as many blocks as
//! there are, it takes every candidate.

use super::engine::Engine;
use ir::Block;
use ir::loops::LoopId;
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

impl Engine<'_> {
    /// Loops whose header lanes can come to again before the branch's post-dominator, which lies inside: there lanes of
    /// different iterations go on together.
    pub(super) fn overtaken(&mut self, branch: Block) -> SmallVec<[LoopId; 2]> {
        let Some(end) = self.post.immediate(branch) else {
            return SmallVec::new();
        };
        let mut loops: SmallVec<[LoopId; 2]> = SmallVec::new();
        for l in self.forest.around(branch) {
            let header = self.forest.loops[l].header;
            if self.forest.contains(l, end) && self.post.strictly_dominates(end, header) {
                loops.push(l);
            }
        }
        if loops.is_empty() {
            return loops;
        }
        let mut seen: FxHashSet<Block> = FxHashSet::default();
        let mut work = vec![branch];
        while let Some(from) = work.pop() {
            for &next in &self.flow.successors[from] {
                if next != end && seen.insert(next) {
                    work.push(next);
                }
            }
            self.overtaking_left = self.overtaking_left.saturating_sub(1);
            if self.overtaking_left == 0 {
                return loops;
            }
        }
        loops.retain(|l| seen.contains(&self.forest.loops[*l].header));
        loops
    }
}
