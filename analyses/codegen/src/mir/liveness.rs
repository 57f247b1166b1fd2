//! Which virtual registers are live: read later before they are written for certain.
//!
//! ```text
//! (p6) v1 = mov v2        v1 is not live in front of it if it is only read under p6 as it is here
//! (p7) br b3              what b3 reads is live in front of the branch, whatever stands behind it
//! ```
//!
//! Backward over blocks; sets only grow, a block is walked again when one behind it has grown.

use super::Target;
use super::function::{Function, Operand, Operation, Virtual};
use fixedbitset::FixedBitSet;
use rustc_hash::FxHashMap;

/// A set of virtual registers of one function.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Set(FixedBitSet);

impl Set {
    pub(crate) fn with(count: usize) -> Set {
        Set(FixedBitSet::with_capacity(count))
    }
    #[must_use]
    pub fn has(&self, one: Virtual) -> bool {
        self.0.contains(one.0 as usize)
    }
    /// Whether it is new.
    pub(crate) fn insert(&mut self, one: Virtual) -> bool {
        !self.0.put(one.0 as usize)
    }
    pub(crate) fn remove(&mut self, one: Virtual) {
        self.0.remove(one.0 as usize);
    }
    fn add(&mut self, other: &Set) {
        self.0.union_with(&other.0);
    }
    /// Ascending.
    pub fn iter(&self) -> impl Iterator<Item = Virtual> + '_ {
        self.0.ones().map(|one| Virtual(one as u32))
    }
    /// What both hold, ascending.
    pub(crate) fn common<'s>(&'s self, other: &'s Set) -> impl Iterator<Item = Virtual> + 's {
        self.0.intersection(&other.0).map(|one| Virtual(one as u32))
    }
}

/// Registers that are live at the ends of blocks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Liveness {
    pub(crate) enter: Vec<Set>,
    pub(crate) leave: Vec<Set>,
}

/// Live registers while a block is walked backwards.
pub(crate) struct Walk<'a, T: Target> {
    pub(crate) live: Set,
    /// Those that are read under this guard only, where it has this value.
    under: FxHashMap<Virtual, (Virtual, bool)>,
    function: &'a Function<T>,
    /// By block, at its start.
    enter: &'a [Set],
}

impl<'a, T: Target> Walk<'a, T> {
    fn new(function: &'a Function<T>, enter: &'a [Set], live: Set) -> Walk<'a, T> {
        Walk {
            live,
            under: FxHashMap::default(),
            function,
            enter,
        }
    }
    /// Comes in front of a branch: what its targets read is live there.
    pub(crate) fn branch(&mut self, operation: &Operation<T>) {
        for source in &operation.sources {
            let Operand::Block(target) = source else {
                continue;
            };
            let Some(there) = self.enter.get(*target as usize) else {
                continue;
            };
            self.live.add(there);
            self.under.retain(|one, _| !there.has(*one));
        }
    }
    /// Comes in front of what an operation writes.
    pub(crate) fn write(&mut self, operation: &Operation<T>) {
        let certain = operation.is_certain();
        for one in operation.writes() {
            let ends = certain
                || self
                    .under
                    .get(&one)
                    .is_some_and(|under| Some(*under) == operation.condition());
            if ends {
                self.live.remove(one);
                self.under.remove(&one);
            }
        }
        for one in operation.writes() {
            if T::is_guard(self.function.class(one)) {
                self.under.retain(|_, under| under.0 != one);
            }
        }
    }
    /// Comes in front of what it reads.
    pub(crate) fn read(&mut self, operation: &Operation<T>) {
        for one in operation.reads() {
            let new = self.live.insert(one);
            let guard = operation.condition().filter(|guard| guard.0 != one);
            match (new, guard) {
                (true, Some(predicate)) => {
                    self.under.insert(one, predicate);
                }
                (true, None) => {}
                (false, guard) => {
                    if self
                        .under
                        .get(&one)
                        .is_some_and(|under| Some(*under) != guard)
                    {
                        self.under.remove(&one);
                    }
                }
            }
        }
    }
}

impl Liveness {
    #[must_use]
    pub fn of<T: Target>(function: &Function<T>) -> Liveness {
        let (blocks, count) = (function.blocks.len(), function.registers.len());
        let mut out = Liveness {
            enter: vec![Set::with(count); blocks],
            leave: vec![Set::with(count); blocks],
        };
        let mut before: Vec<Vec<u32>> = vec![Vec::new(); blocks];
        for block in 0..blocks as u32 {
            for next in function.successors(block) {
                before[next as usize].push(block);
            }
        }
        let mut work: Vec<u32> = (0..blocks as u32).collect();
        let mut waiting = vec![true; blocks];
        // Sets only grow.
        while let Some(block) = work.pop() {
            let at = block as usize;
            waiting[at] = false;
            let mut leave = std::mem::take(&mut out.leave[at]);
            for next in function.successors(block) {
                leave.add(&out.enter[next as usize]);
            }
            out.leave[at] = leave;
            let enter = out.inside(function, block, 0);
            if enter != out.enter[at] {
                out.enter[at] = enter;
                for &one in &before[at] {
                    if !std::mem::replace(&mut waiting[one as usize], true) {
                        work.push(one);
                    }
                }
            }
        }
        out
    }
    /// From the end of a block backwards.
    pub(crate) fn walk<'a, T: Target>(
        &'a self,
        function: &'a Function<T>,
        block: u32,
    ) -> Walk<'a, T> {
        let leave = self.leave[block as usize].clone();
        Walk::new(function, &self.enter, leave)
    }
    /// In front of an operation of a block.
    #[must_use]
    pub fn inside<T: Target>(&self, function: &Function<T>, block: u32, operation: usize) -> Set {
        let mut walk = self.walk(function, block);
        let operations = &function.blocks[block as usize].operations;
        for one in operations[operation.min(operations.len())..].iter().rev() {
            walk.branch(one);
            walk.write(one);
            walk.read(one);
        }
        walk.live
    }
    /// At the start of a block.
    #[must_use]
    pub fn at_start(&self, block: u32) -> &Set {
        &self.enter[block as usize]
    }
    /// Whether the register is live where the block begins.
    #[must_use]
    pub fn enters(&self, block: u32, register: Virtual) -> bool {
        self.enter[block as usize].has(register)
    }
    /// Whether it is live where the block ends.
    #[must_use]
    pub fn leaves(&self, block: u32, register: Virtual) -> bool {
        self.leave[block as usize].has(register)
    }
}
