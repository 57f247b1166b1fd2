//! Sets of blocks that walks need: marks that need no clearing, the blocks of each loop, and where loops are left.

use ir::cfg::ControlFlow;
use ir::loops::{LoopForest, LoopId};
use ir::{Block, EntityVec};

/// The blocks seen in one walk; the next walk starts with none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Visited {
    walk: u32,
    last: Vec<u32>,
    pub work: Vec<Block>,
}

impl Visited {
    pub(crate) fn start(&mut self, blocks: usize) {
        if self.last.len() < blocks {
            self.last = vec![0; blocks];
        }
        if self.walk == u32::MAX {
            self.walk = 0;
            self.last.fill(0);
        }
        self.walk += 1;
        self.work.clear();
    }
    /// Says whether it is new.
    pub(crate) fn insert(&mut self, block: Block) -> bool {
        std::mem::replace(&mut self.last[block.0 as usize], self.walk) != self.walk
    }
    pub(crate) fn contains(&self, block: Block) -> bool {
        self.last[block.0 as usize] == self.walk
    }
}

/// Blocks by the innermost loop around them.
#[derive(Clone, Debug)]
pub(crate) struct BlocksOfLoops {
    blocks: Vec<Block>,
    /// The beginning of the blocks whose innermost loop has this number in the forest's order; one more at
    /// the end.
    first: Vec<u32>,
}

impl BlocksOfLoops {
    pub(super) fn new(flow: &ControlFlow, forest: &LoopForest) -> BlocksOfLoops {
        let mut first = vec![0u32; forest.loops.len() + 1];
        let number = |b: Block| forest.of(b).map(|l| forest.interval(l).0 as usize);
        for &block in &flow.order {
            if let Some(at) = number(block) {
                first[at + 1] += 1;
            }
        }
        for at in 1..first.len() {
            first[at] += first[at - 1];
        }
        let mut next = first.clone();
        let total = first.last().copied().unwrap_or(0) as usize;
        let mut blocks = vec![Block(0); total];
        for &block in &flow.order {
            if let Some(at) = number(block) {
                blocks[next[at] as usize] = block;
                next[at] += 1;
            }
        }
        BlocksOfLoops { blocks, first }
    }
    /// The blocks whose innermost loop it is.
    pub(in crate::divergence) fn directly_in(&self, forest: &LoopForest, l: LoopId) -> &[Block] {
        let at = forest.interval(l).0 as usize;
        &self.blocks[self.first[at] as usize..self.first[at + 1] as usize]
    }
}

/// Returns for each loop the nearest block that dominates all its blocks from which an edge leads outside or
/// to the header.
pub(super) fn outlets(
    flow: &ControlFlow,
    forest: &LoopForest,
    dominators: &ir::dominators::DominatorTree,
) -> EntityVec<LoopId, Option<Block>> {
    let mut outlets: EntityVec<LoopId, Option<Block>> =
        EntityVec::with_len(None, forest.loops.len());
    let mut add = |l: LoopId, block: Block| {
        let mut common = outlets[l].unwrap_or(block);
        while !dominators.dominates(common, block) {
            match dominators.immediate(common) {
                Some(above) => common = above,
                None => break,
            }
        }
        outlets[l] = Some(common);
    };
    for &block in &flow.order {
        for &next in &flow.successors[block] {
            for l in forest.around(block) {
                if forest.contains(l, next) {
                    break;
                }
                add(l, block);
            }
            if forest.is_header(next)
                && let Some(l) = forest.of(next)
                && forest.contains(l, block)
            {
                add(l, block);
            }
        }
    }
    outlets
}
