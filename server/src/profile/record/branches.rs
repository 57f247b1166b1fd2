//! Counts at the branches of function 0 of a module: of warps, how many lanes wait while others go the other way; of a lane
//! alone, which blocks it executed one behind the other, for predictors.
//!
//! A warp's lanes that part at a branch wait for each other until they meet again: a lane that does not execute a block of the
//! function is lost to the innermost branch at which it parted from those that do. Lanes that have ended wait for nothing.
//! Calls that were not inlined are not followed.

use ir::{Block, EntityVec, Function};
use oracle::interp::Instance;
use rustc_hash::FxHashMap;
use simulate::predictor::region::Step;

/// Blocks of a trace that are kept.
const MOST_STEPS: usize = 1 << 22;

/// Counts at the end of a block that has several ways on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BranchCounts {
    /// Executions by warps.
    pub executed: u64,
    /// Lanes that came here, and those that took the first way: the condition held.
    pub lanes: u64,
    pub taken: u64,
    /// Times that the lanes of a warp parted.
    pub split: u64,
    /// Instructions that lanes waited for others, each lane by itself.
    pub lost: u64,
}

/// The branches of a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RecordedBranches {
    /// The counts of executed blocks with several ways on, ascending.
    pub counts: Vec<(Block, BranchCounts)>,
    /// Instructions of the function that lanes executed.
    pub executed: u64,
    /// Blocks that lanes executed, one lane behind the other; `None` of warps.
    pub trace: Option<Vec<Step>>,
    /// The trace ends before the run.
    pub cut: bool,
}

/// Lanes that parted at a branch, and all that came to it.
#[derive(Clone, Copy, Debug)]
struct Parted {
    block: Block,
    mask: u64,
}

/// Counts branches.
#[derive(Debug, Default)]
pub(super) struct BranchRecorder {
    counts: EntityVec<Block, BranchCounts>,
    /// Instructions, the terminator among them.
    lengths: Vec<u64>,
    executed: u64,
    /// The partings of each workgroup and warp, the outermost first.
    parted: FxHashMap<(u64, u32), Vec<Parted>>,
    traces: Vec<Vec<Step>>,
    trace_of: FxHashMap<(u64, u32), usize>,
    steps: usize,
    cut: bool,
}

impl BranchRecorder {
    pub(super) fn new(function: &Function) -> Self {
        BranchRecorder {
            counts: EntityVec::with_len(BranchCounts::default(), function.blocks.len()),
            lengths: super::lengths(function),
            executed: 0,
            parted: FxHashMap::default(),
            traces: Vec::new(),
            trace_of: FxHashMap::default(),
            steps: 0,
            cut: false,
        }
    }

    pub(super) fn block(&mut self, instance: &Instance<'_>) {
        if instance.function != 0 || instance.depth != 0 {
            return;
        }
        let length = self.lengths[instance.block.0 as usize];
        let key = (instance.workgroup_index, instance.warp);
        self.executed += length * u64::from(instance.mask.count_ones());
        if instance.warp_size == 1 {
            self.step(key, instance.block);
            return;
        }
        let Some(parted) = self.parted.get_mut(&key) else {
            return;
        };
        for open in parted.iter_mut() {
            open.mask &= instance.live;
        }
        let is_part = |open: &Parted| instance.mask & !open.mask == 0 && instance.mask != open.mask;
        while parted.last().is_some_and(|open| !is_part(open)) {
            parted.pop();
        }
        let mut inner = instance.mask;
        for open in parted.iter().rev() {
            let waiting = (open.mask & !inner).count_ones();
            self.counts[open.block].lost += length * u64::from(waiting);
            inner = open.mask;
        }
    }

    fn step(&mut self, key: (u64, u32), block: Block) {
        if self.steps >= MOST_STEPS {
            self.cut = true;
            return;
        }
        self.steps += 1;
        let next = self.traces.len();
        let at = *self.trace_of.entry(key).or_insert(next);
        if at == next {
            self.traces.push(Vec::new());
        }
        self.traces[at].push(Step {
            node: block.0,
            edge: 0,
        });
    }

    pub(super) fn branch(&mut self, instance: &Instance<'_>, taken: &[u64]) {
        if instance.function != 0 || instance.depth != 0 || taken.len() < 2 {
            return;
        }
        let key = (instance.workgroup_index, instance.warp);
        let counts = &mut self.counts[instance.block];
        counts.executed += 1;
        counts.lanes += u64::from(instance.mask.count_ones());
        counts.taken += u64::from(taken[0].count_ones());
        if instance.warp_size == 1 {
            let edge = taken.iter().position(|&lanes| lanes != 0).unwrap_or(0);
            let last = self
                .trace_of
                .get(&key)
                .and_then(|&at| self.traces[at].last_mut());
            if let Some(last) = last.filter(|last| last.node == instance.block.0 && !self.cut) {
                last.edge = edge as u32;
            }
            return;
        }
        if taken.iter().filter(|&&lanes| lanes != 0).count() < 2 {
            return;
        }
        counts.split += 1;
        let parted = self.parted.entry(key).or_default();
        // Lanes that leave a loop wait at its end, for as long as any is in it.
        if parted
            .last()
            .is_none_or(|open| open.block != instance.block)
        {
            parted.push(Parted {
                block: instance.block,
                mask: instance.mask,
            });
        }
    }

    pub(super) fn finish(self) -> RecordedBranches {
        let counts = self.counts.iter().filter(|(_, counts)| counts.executed > 0);
        let counts = counts.map(|(block, counts)| (block, *counts)).collect();
        RecordedBranches {
            counts,
            executed: self.executed,
            trace: (!self.traces.is_empty()).then(|| self.traces.concat()),
            cut: self.cut,
        }
    }
}
