//! Iterations that a pipelined loop begins though the loop has none left: less of the epilogue, and no loop for what is left.
//!
//! ```text
//! {x0 = x[0]}  n times {s += x0; x0 = x[i + 1]}        the last pass loads x[n], which the source permits
//! ```
//!
//! Where E such iterations are begun, the operations of stage k < E execute E - k times behind the last iteration. They may if
//! nothing behind the loop reads what they write, and they neither store nor act otherwise. A load may if it steps forward and
//! the source permits reads behind the end of its object, or if it does not step.
//!
//! Source: Rau, Schlansker and Tirumalai, *Code Generation Schema for Modulo Scheduled Loops*, 1992, section 3 (speculation in
//! the place of an epilogue).

use super::Schedule;
use crate::mir::dependence::writes;
use crate::mir::places::Places;
use crate::mir::{Counted, Function, Name, Operation, Virtual};
use rustc_hash::FxHashSet;

/// Iterations begun behind the last one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Begun {
    pub(super) iterations: u32,
    /// The bytes behind the end of an object that are read, at most.
    pub(super) bytes: u32,
}

/// A scheduled loop.
pub(super) struct Loop<'p, T: Counted> {
    pub(super) function: &'p Function<T>,
    pub(super) body: &'p [Operation<T>],
    pub(super) schedule: &'p Schedule,
    pub(super) places: &'p Places,
    /// The registers that the code behind it reads.
    pub(super) leaves: &'p FxHashSet<Virtual>,
}

impl<T: Counted> Loop<'_, T> {
    /// The fewest iterations to begin with which `suits` is true; `None`: with none of the numbers that may be begun.
    pub(super) fn begun(&self, suits: impl Fn(u32) -> bool) -> Option<Begun> {
        let most = self.schedule.stages() - 1;
        (1..=most).filter(|&it| suits(it)).find_map(|iterations| {
            Some(Begun {
                iterations,
                bytes: self.bytes(iterations)?,
            })
        })
    }

    /// The bytes that are read behind an object, at most, where so many iterations are begun. `None`: they may not be.
    fn bytes(&self, iterations: u32) -> Option<u32> {
        let mut most = 0;
        for (number, operation) in (0u32..).zip(self.body) {
            let stage = self.schedule.start[number as usize] / self.schedule.ii;
            if stage < iterations {
                most = most.max(self.bytes_of(number, operation, iterations - stage)?);
            }
        }
        Some(most)
    }

    /// Those of one operation that executes so many times more.
    fn bytes_of(&self, number: u32, operation: &Operation<T>, times: u32) -> Option<u32> {
        let is_dead = |name: &Name<T>| match name {
            Name::Virtual(register) => !self.leaves.contains(register),
            Name::Fixed(_) => false,
        };
        // State that no operand names does not outlive a block.
        let is_free =
            !T::acts(operation) && !T::stores(operation) && writes(operation).iter().all(is_dead);
        if !is_free || !T::loads(operation) {
            return is_free.then_some(0);
        }
        let memory = operation.memory.as_ref()?;
        let step = self.places.step(number)?;
        let bytes = u32::try_from(step).ok()?.checked_mul(times)?;
        // What a condition leaves out may be at no place of the object.
        let permitted = operation.predicate.is_none()
            && !memory.volatile
            && bytes <= self.function.readable_behind(&memory.object);
        permitted.then_some(bytes)
    }
}
