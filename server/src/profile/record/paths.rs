//! Counts the ways that lanes take through function 0 of a module.
//!
//! A lane's path under way is a node and a sum; it is counted where it ends, and forgotten where the lane leaves. Workgroups may
//! take turns, as they do at barriers of the grid. A path that the run's end cuts off is not counted. Calls of the function by
//! itself are not followed.

use facts::paths::{PathGraph, PathNumbers, PathProfile, Walk};
use ir::Function;
use ir::entity::Entity;
use oracle::interp::{Instance, lanes};
use rustc_hash::FxHashMap;

/// Counts paths of lanes.
#[derive(Debug)]
pub(super) struct PathRecorder {
    /// `None`: there are more paths than numbers.
    numbers: Option<PathNumbers>,
    profile: PathProfile,
    blocks: usize,
    /// The walks by workgroup, warp and lane.
    walks: FxHashMap<(u64, u32, u32), Walk>,
}

impl PathRecorder {
    pub(super) fn new(function: &Function) -> Self {
        PathRecorder::of(PathGraph::of(function), function)
    }

    /// Returns a recorder of paths that go on over so many iterations of loops.
    pub(super) fn over_iterations(function: &Function, iterations: u32) -> Self {
        let graph = PathGraph::of(function).over_iterations(iterations as usize);
        PathRecorder::of(graph, function)
    }

    fn of(graph: PathGraph, function: &Function) -> Self {
        PathRecorder {
            blocks: function.blocks.len(),
            numbers: PathNumbers::new(graph).ok(),
            profile: PathProfile::default(),
            walks: FxHashMap::default(),
        }
    }

    /// Lanes begin a block: at the entry their paths begin, where the function is left they end.
    pub(super) fn block(&mut self, instance: &Instance<'_>) {
        let Some(numbers) = self.numbers.as_ref().filter(|_| is_own(instance)) else {
            return;
        };
        let graph = numbers.graph();
        let node = instance.block.index();
        let leaves = graph.successors[node].is_empty();
        if node != graph.entry && !leaves {
            return;
        }
        for lane in lanes(instance.mask) {
            let key = (instance.workgroup_index, instance.warp, lane);
            if node == graph.entry && !self.walks.contains_key(&key) {
                self.walks.insert(key, numbers.enter());
            }
            if leaves && let Some(walk) = self.walks.remove(&key) {
                self.profile.count(numbers.leave(walk));
            }
        }
    }

    /// Lanes take the edges of a block.
    pub(super) fn branch(&mut self, instance: &Instance<'_>, taken: &[u64]) {
        let Some(numbers) = self.numbers.as_ref().filter(|_| is_own(instance)) else {
            return;
        };
        for (edge, &mask) in taken.iter().enumerate() {
            for lane in lanes(mask) {
                let key = (instance.workgroup_index, instance.warp, lane);
                let Some(walk) = self.walks.get_mut(&key) else {
                    continue;
                };
                // Over several iterations a block has a node in each.
                debug_assert_eq!(
                    walk.node % self.blocks,
                    instance.block.index(),
                    "lanes walk along edges"
                );
                if let Some(number) = numbers.step(walk, edge) {
                    self.profile.count(number);
                }
            }
        }
    }

    pub(super) fn finish(self) -> Option<(PathNumbers, PathProfile)> {
        Some((self.numbers?, self.profile))
    }
}

fn is_own(instance: &Instance<'_>) -> bool {
    instance.function == 0 && instance.depth == 0
}
