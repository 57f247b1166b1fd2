//! The view that an oracle has of a run: each execution of a block by a warp, the values that it computes,
//! the branches, addresses and barriers; and for each lane the iteration vector, so that lanes can be
//! compared as the facts claim.
//!
//! Two executions are *converged instances* of each other when they are of the same block, in the same calls, and
//! their lanes are in the same iteration of every enclosing cycle. Cycles are nested as in the theory of Havlak: a
//! strongly connected component with the first of its blocks in reverse post-order as header, then the components of
//! the rest without the edges to that header. A lane's counter of a cycle is the number of times it went to the header
//! from inside since it entered the cycle, whichever block it entered through.

use ir::entity::{Block, Inst, Value};
use smallvec::SmallVec;

/// One execution of a block by some lanes of a warp.
#[derive(Clone, Copy, Debug)]
pub struct Instance<'a> {
    /// Index into `Module::functions`.
    pub function: u32,
    pub block: Block,
    /// The lanes that execute it; an instruction's guard is not counted in.
    pub mask: u64,
    /// The warp's lanes that have not ended.
    pub live: u64,
    pub workgroup: [u32; 3],
    /// The workgroup's number in the grid.
    pub workgroup_index: u64,
    /// The warp's number in its workgroup.
    pub warp: u32,
    pub warp_size: u32,
    /// The grid-wide number of lane 0.
    pub first_thread: u64,
    /// Number of calls that are open.
    pub depth: u32,
    /// Serial number of this execution in its warp.
    pub visit: u64,
    pub(super) cycles: &'a [u32],
    pub(super) counters: &'a [u32],
    pub(super) context: &'a [u64],
}

impl Instance<'_> {
    /// The lane's iteration of each enclosing cycle of this function, outermost first.
    pub fn iteration(&self, lane: u32) -> impl Iterator<Item = u32> + '_ {
        let width = self.warp_size as usize;
        self.cycles
            .iter()
            .map(move |&cycle| self.counters[cycle as usize * width + lane as usize])
    }
    /// A number that is equal for lanes of any warp in the same iterations of the enclosing cycles and the same calls.
    pub fn history(&self, lane: u32) -> u64 {
        let start = super::launch::mix(self.context[lane as usize], u64::from(self.block.0));
        self.iteration(lane).fold(start, |state, count| {
            super::launch::mix(state, u64::from(count))
        })
    }
    /// The lanes of `mask`, grouped by history, each group in ascending order of its first lane.
    pub fn converged(&self, mask: u64) -> SmallVec<[u64; 2]> {
        let mut groups: SmallVec<[(u64, u64); 2]> = SmallVec::new();
        for lane in lanes(mask) {
            let history = self.history(lane);
            match groups.iter_mut().find(|(h, _)| *h == history) {
                Some((_, group)) => *group |= 1 << lane,
                None => groups.push((history, 1 << lane)),
            }
        }
        groups.into_iter().map(|(_, group)| group).collect()
    }
}

/// The numbers of the bits that are set, ascending.
pub fn lanes(mut mask: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        if mask == 0 {
            None
        } else {
            let lane = mask.trailing_zeros();
            mask &= mask - 1;
            Some(lane)
        }
    })
}

/// The kind of an instruction's access to its addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccessKind {
    Load,
    Store,
    Atomic,
}

/// Called while a program runs; every method may be left out. `lanes` has one element a lane of the warp, of which
/// those in the mask are meaningful.
#[allow(unused_variables)]
pub trait Observer {
    /// A block starts.
    fn block(&mut self, instance: &Instance<'_>) {}
    /// A block parameter or a result was computed for the lanes of `mask`.
    fn values(&mut self, instance: &Instance<'_>, value: Value, lanes: &[u64], mask: u64) {}
    /// The block ends; `taken[i]` are the lanes that take edge `i` of the terminator.
    fn branch(&mut self, instance: &Instance<'_>, taken: &[u64]) {}
    /// A load, store or atomic executes. Addresses are tagged as described in `memory`.
    fn memory(
        &mut self,
        instance: &Instance<'_>,
        inst: Inst,
        kind: AccessKind,
        addresses: &[u64],
        mask: u64,
    ) {
    }
    /// Lanes arrive at a barrier.
    fn barrier(&mut self, instance: &Instance<'_>, inst: Inst, mask: u64) {}
    /// An instruction, a guard, a selector or an edge reads a value; `block` of the instance is where. The lanes of `mask`
    /// execute the instruction or take the edge. Called only where `wants_uses`.
    fn uses(&mut self, instance: &Instance<'_>, value: Value, lanes: &[u64], mask: u64) {}
    fn wants_uses(&self) -> bool {
        false
    }
    /// Returns whether any event is wanted; a run without an observer skips the preparation.
    fn enabled(&self) -> bool {
        true
    }
}

/// Observes nothing.
impl Observer for () {
    fn enabled(&self) -> bool {
        false
    }
}
