//! The live virtual registers: those that are read later before they are written for certain.
//!
//! ```text
//! (p6) v1 = mov v2        v1 is not live in front of it if it is only read under p6 as it is here
//! (p7) br b3              what b3 reads is live in front of the branch, whatever stands behind it
//! ```
//!
//! `ir::liveness` solves it.

use super::Target;
use super::function::{Function, Operation, Virtual};
use ir::EntitySet;
use ir::liveness::{Code, Edges};
use rustc_hash::FxHashMap;

/// Registers that are live at the ends of blocks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Liveness(ir::liveness::Liveness<Virtual>);

/// Live registers while a block is walked backwards.
pub(crate) struct Walk<'a, T: Target> {
    pub(crate) live: EntitySet<Virtual>,
    /// The registers that are read under this guard only, if it has this value.
    under: FxHashMap<Virtual, (Virtual, bool)>,
    function: &'a Function<T>,
    /// Indexed by block, at its start.
    starts: &'a [EntitySet<Virtual>],
}

impl<'a, T: Target> Walk<'a, T> {
    fn new(
        function: &'a Function<T>,
        starts: &'a [EntitySet<Virtual>],
        live: EntitySet<Virtual>,
    ) -> Walk<'a, T> {
        Walk {
            live,
            under: FxHashMap::default(),
            function,
            starts,
        }
    }
    /// Comes in front of operations.
    fn over(&mut self, operations: &[Operation<T>]) {
        for operation in operations.iter().rev() {
            self.branch(operation);
            self.write(operation);
            self.read(operation);
        }
    }
    /// Moves in front of a branch: values that its targets read are live there. False for other operations.
    pub(crate) fn branch(&mut self, operation: &Operation<T>) -> bool {
        let mut branches = false;
        for target in operation.branches_to() {
            branches = true;
            let Some(there) = self.starts.get(target as usize) else {
                continue;
            };
            self.live.union_with(there);
            self.under.retain(|it, _| !there.contains(it));
        }
        branches
    }
    /// Moves in front of the writes of an operation.
    pub(crate) fn write(&mut self, operation: &Operation<T>) {
        self.write_each(operation, |_, _, _| {});
    }
    /// The same; `each` gets every register that is written, whether it was live, and whether it no longer is.
    pub(crate) fn write_each(
        &mut self,
        operation: &Operation<T>,
        mut each: impl FnMut(Virtual, bool, bool),
    ) {
        let certain = operation.is_certain();
        if self.under.is_empty() {
            operation.writes().for_each(|write| {
                let was = match certain {
                    true => self.live.remove(&write),
                    false => self.live.contains(&write),
                };
                each(write, was, was && certain);
            });
            return;
        }
        for write in operation.writes() {
            let ends = certain
                || self
                    .under
                    .get(&write)
                    .is_some_and(|under| Some(*under) == operation.condition());
            let was = self.live.contains(&write);
            if ends {
                self.live.remove(&write);
                self.under.remove(&write);
            }
            each(write, was, was && ends);
        }
        for write in operation.writes() {
            if T::is_guard(self.function.class(write)) {
                self.under.retain(|_, under| under.0 != write);
            }
        }
    }
    /// Moves in front of its reads.
    pub(crate) fn read(&mut self, operation: &Operation<T>) {
        self.read_each(operation, |_| {});
    }
    /// The same; `each` gets the registers that were not live.
    pub(crate) fn read_each(&mut self, operation: &Operation<T>, mut each: impl FnMut(Virtual)) {
        if self.under.is_empty() && operation.predicate.is_none() {
            operation.reads().for_each(|read| {
                if self.live.insert(read) {
                    each(read);
                }
            });
            return;
        }
        for read in operation.reads() {
            let new = self.live.insert(read);
            if new {
                each(read);
            }
            let guard = operation.condition().filter(|guard| guard.0 != read);
            match (new, guard) {
                (true, Some(predicate)) => {
                    self.under.insert(read, predicate);
                }
                (true, None) => {}
                (false, guard) => {
                    if self
                        .under
                        .get(&read)
                        .is_some_and(|under| Some(*under) != guard)
                    {
                        self.under.remove(&read);
                    }
                }
            }
        }
    }
}

impl<T: Target> Code for Function<T> {
    type Name = Virtual;
    fn blocks(&self) -> usize {
        self.blocks.len()
    }
    fn names(&self) -> usize {
        self.registers.len()
    }
    fn successors(&self, block: usize, next: &mut dyn FnMut(usize)) {
        let all = Function::successors(self, block as u32);
        all.into_iter().for_each(|to| next(to as usize));
    }
    fn cross(&self, block: usize, live: &mut EntitySet<Virtual>, starts: &[EntitySet<Virtual>]) {
        let mut walk = Walk::new(self, starts, std::mem::take(live));
        walk.over(&self.blocks[block].operations);
        *live = walk.live;
    }
}

impl Liveness {
    #[must_use]
    pub fn of<T: Target>(function: &Function<T>) -> Liveness {
        Liveness(ir::liveness::Liveness::of(function))
    }
    /// The same, with the edges of the function.
    #[must_use]
    pub(crate) fn along<T: Target>(function: &Function<T>, edges: &Edges) -> Liveness {
        Liveness(ir::liveness::Liveness::along(function, edges))
    }
    /// Makes room for further registers.
    pub(crate) fn reserve(&mut self, registers: usize) {
        let sets = self.0.starts.iter_mut().chain(&mut self.0.ends);
        sets.for_each(|set| set.reserve(registers));
    }
    /// Other registers are live at the start of a block. Returns whether they were others.
    pub(crate) fn set_start(&mut self, block: u32, live: EntitySet<Virtual>) -> bool {
        let own = &mut self.0.starts[block as usize];
        let changed = *own != live;
        if changed {
            *own = live;
        }
        changed
    }
    /// Takes a register out of the sets of these blocks, which name it no more.
    pub(crate) fn forget(&mut self, register: Virtual, blocks: impl Iterator<Item = u32>) {
        for block in blocks {
            self.0.starts[block as usize].remove(&register);
            self.0.ends[block as usize].remove(&register);
        }
    }
    /// Solves on from blocks in which more is read than before; nothing else has changed. `each` gets blocks whose sets have
    /// grown.
    pub(crate) fn grow<T: Target>(
        &mut self,
        function: &Function<T>,
        edges: &Edges,
        blocks: impl Iterator<Item = u32>,
        each: &mut dyn FnMut(u32),
    ) {
        let work = blocks.map(|block| block as usize).collect();
        let each = &mut |block: usize| each(block as u32);
        self.0.grow(function, edges, work, each);
    }
    /// From the end of a block backwards.
    pub(crate) fn walk<'a, T: Target>(
        &'a self,
        function: &'a Function<T>,
        block: u32,
    ) -> Walk<'a, T> {
        Walk::new(function, &self.0.starts, self.at_end(block).clone())
    }
    /// In front of an operation of a block.
    #[must_use]
    pub fn inside<T: Target>(
        &self,
        function: &Function<T>,
        block: u32,
        operation: usize,
    ) -> EntitySet<Virtual> {
        let mut walk = self.walk(function, block);
        let operations = &function.blocks[block as usize].operations;
        walk.over(&operations[operation.min(operations.len())..]);
        walk.live
    }
    /// In front of an operation of a block, and behind it.
    #[must_use]
    pub(crate) fn beside<T: Target>(
        &self,
        function: &Function<T>,
        block: u32,
        operation: usize,
    ) -> (EntitySet<Virtual>, EntitySet<Virtual>) {
        let mut walk = self.walk(function, block);
        let operations = &function.blocks[block as usize].operations;
        walk.over(&operations[operation + 1..]);
        let behind = walk.live.clone();
        walk.over(&operations[operation..=operation]);
        (walk.live, behind)
    }
    #[must_use]
    pub fn at_start(&self, block: u32) -> &EntitySet<Virtual> {
        &self.0.starts[block as usize]
    }
    #[must_use]
    pub fn at_end(&self, block: u32) -> &EntitySet<Virtual> {
        &self.0.ends[block as usize]
    }
}
