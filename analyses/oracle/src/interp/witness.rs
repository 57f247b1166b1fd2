//! An observer that refutes claims of uniformity: it remembers, for each value, two lanes that hold different things in
//! converged instances of its definition, or of a use.
//!
//! ```text
//! i = thread_id.x; c = n > 3; loop { j = phi(0, j + 1); if j >= i break }; k = j * 2
//!     i disagrees at Subgroup;  c never;  j agrees where it is defined, and disagrees at its use in k's block
//! ```
//!
//! Instances are converged as `observe` defines it: the same block, calls and iteration vector, whether or
//! not the lanes were there at one time. With `same_time`, lanes of one warp are compared only within one
//! execution: as required for a load from memory that others write. A claim that is not refuted is not
//! proved.

use super::observe::{Instance, Observer, lanes};
use ir::entity::{Block, Value};
use rustc_hash::FxHashMap;

/// The lanes among which a value is compared.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Extent {
    Quad,
    Subgroup,
    Workgroup,
    Dispatch,
}

/// Two lanes of one extent that differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Disagreement {
    /// The lane of the grid, and its value.
    pub first: (u64, u64),
    pub second: (u64, u64),
}

/// The key of a comparison: a value in a block, by converged instance.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    extent: Extent,
    /// The number of the quad, warp or workgroup.
    group: u64,
    function: u32,
    value: u32,
    /// `None` at the definition.
    used_in: Option<u32>,
    history: u64,
}

#[derive(Default)]
pub struct Witness {
    extents: Vec<Extent>,
    same_time: bool,
    with_uses: bool,
    seen: FxHashMap<Key, (u64, u64)>,
    found: FxHashMap<(Extent, u32, u32, Option<u32>), Disagreement>,
    compared: u64,
}

impl std::fmt::Debug for Witness {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Witness")
            .field("extents", &self.extents)
            .field("compared", &self.compared)
            .field("found", &self.found.len())
            .finish()
    }
}

impl Witness {
    /// Compares definitions and uses over these extents.
    pub fn new(extents: &[Extent]) -> Self {
        Witness {
            extents: extents.to_vec(),
            with_uses: true,
            ..Witness::default()
        }
    }
    /// Only lanes that execute together are compared in quads and warps.
    pub fn same_time(mut self) -> Self {
        self.same_time = true;
        self
    }
    /// Leaves the uses out, which halves the time.
    pub fn definitions_only(mut self) -> Self {
        self.with_uses = false;
        self
    }
    /// Forgets the instances of the last run and keeps the findings, so that runs add up.
    pub fn next_run(&mut self) {
        self.seen.clear();
    }
    /// Lanes that differ where the value is defined.
    pub fn at_definition(
        &self,
        function: u32,
        value: Value,
        extent: Extent,
    ) -> Option<Disagreement> {
        self.found.get(&(extent, function, value.0, None)).copied()
    }
    /// Lanes that differ where the value is used in a block: an operand, or an argument of an edge that leaves it.
    pub fn at_use(
        &self,
        function: u32,
        value: Value,
        block: Block,
        extent: Extent,
    ) -> Option<Disagreement> {
        self.found
            .get(&(extent, function, value.0, Some(block.0)))
            .copied()
    }
    /// Returns the number of comparisons of a lane with another one: 0 says that nothing was tested.
    pub fn compared(&self) -> u64 {
        self.compared
    }

    fn record(
        &mut self,
        instance: &Instance<'_>,
        value: Value,
        used_in: Option<u32>,
        row: &[u64],
        mask: u64,
    ) {
        for lane in lanes(mask) {
            let thread = instance.first_thread + u64::from(lane);
            let history = instance.history(lane);
            let bits = row[lane as usize];
            for number in 0..self.extents.len() {
                let extent = self.extents[number];
                let warp = instance.workgroup_index << 24 | u64::from(instance.warp);
                let (group, timed) = match extent {
                    Extent::Quad => (warp << 6 | u64::from(lane / 4), true),
                    Extent::Subgroup => (warp, true),
                    Extent::Workgroup => (instance.workgroup_index, false),
                    Extent::Dispatch => (0, false),
                };
                let history = if self.same_time && timed {
                    super::launch::mix(history, instance.visit)
                } else {
                    history
                };
                let key = Key {
                    extent,
                    group,
                    function: instance.function,
                    value: value.0,
                    used_in,
                    history,
                };
                let first = *self.seen.entry(key).or_insert((thread, bits));
                if first.0 == thread {
                    continue;
                }
                self.compared += 1;
                if first.1 != bits {
                    self.found
                        .entry((extent, instance.function, value.0, used_in))
                        .or_insert(Disagreement {
                            first,
                            second: (thread, bits),
                        });
                }
            }
        }
    }
}

impl Observer for Witness {
    fn values(&mut self, instance: &Instance<'_>, value: Value, row: &[u64], mask: u64) {
        self.record(instance, value, None, row, mask);
    }
    fn uses(&mut self, instance: &Instance<'_>, value: Value, row: &[u64], mask: u64) {
        self.record(instance, value, Some(instance.block.0), row, mask);
    }
    fn wants_uses(&self) -> bool {
        self.with_uses
    }
}
