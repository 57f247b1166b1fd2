//! A level for each loop, and the least of those around it. Both only fall.

use super::{DISPATCH, DIVERGENT, Level};
use ir::loops::{LoopForest, LoopId};
use ir::{Block, EntityVec};
use std::ops::Index;

#[derive(Clone, Debug)]
pub(crate) struct LoopLevels {
    own: EntityVec<LoopId, Level>,
    /// The least of a loop's own level and those of the loops around it.
    around: EntityVec<LoopId, Level>,
    /// Loops in loops: the first one, and the next one with the same parent.
    first_inner: EntityVec<LoopId, Option<LoopId>>,
    next: EntityVec<LoopId, Option<LoopId>>,
    clear: bool,
}

impl LoopLevels {
    pub(super) fn new(forest: &LoopForest) -> LoopLevels {
        let count = forest.loops.len();
        LoopLevels {
            own: EntityVec::with_len(DISPATCH, count),
            around: EntityVec::with_len(DISPATCH, count),
            first_inner: EntityVec::new(),
            next: EntityVec::new(),
            clear: true,
        }
    }

    /// Lowers the level of a loop; adds the loops around which the least level fell with it. Each is added as often as
    /// there are levels at most.
    pub(in crate::divergence) fn lower(
        &mut self,
        forest: &LoopForest,
        l: LoopId,
        level: Level,
        fell: &mut Vec<LoopId>,
    ) -> bool {
        if level >= self.own[l] {
            return false;
        }
        if self.clear {
            self.clear = false;
            let count = forest.loops.len();
            self.first_inner = EntityVec::with_len(None, count);
            self.next = EntityVec::with_len(None, count);
            for (inner, data) in forest.loops.iter() {
                if let Some(parent) = data.parent {
                    self.next[inner] = self.first_inner[parent].replace(inner);
                }
            }
        }
        self.own[l] = level;
        let first = fell.len();
        if level < self.around[l] {
            self.around[l] = level;
            fell.push(l);
        }
        let mut done = first;
        while let Some(&at) = fell.get(done) {
            done += 1;
            let mut inner = self.first_inner[at];
            while let Some(l) = inner {
                if level < self.around[l] {
                    self.around[l] = level;
                    fell.push(l);
                }
                inner = self.next[l];
            }
        }
        true
    }

    pub(super) fn all_divergent(&mut self) {
        self.clear = false;
        for l in self.own.keys() {
            self.own[l] = DIVERGENT;
            self.around[l] = DIVERGENT;
        }
    }
    pub(super) fn is_clear(&self) -> bool {
        self.clear
    }

    /// The least level of the loop with this number and of those around it.
    pub(crate) fn of_loop(&self, number: u32) -> Level {
        if self.clear {
            return DISPATCH;
        }
        self.around.get(LoopId(number)).copied().unwrap_or(DISPATCH)
    }

    /// The least level of the loops from `l` outwards that do not contain `block`. Ends where no loop further out has a
    /// lower one.
    pub(super) fn until(&self, forest: &LoopForest, l: LoopId, block: Block) -> Level {
        let mut level = DISPATCH;
        let mut at = Some(l);
        while let Some(l) = at {
            if level <= self.around[l] || forest.contains(l, block) {
                break;
            }
            level = level.min(self.own[l]);
            at = forest.loops[l].parent;
        }
        level
    }
}

impl Index<LoopId> for LoopLevels {
    type Output = Level;
    fn index(&self, l: LoopId) -> &Level {
        &self.own[l]
    }
}
