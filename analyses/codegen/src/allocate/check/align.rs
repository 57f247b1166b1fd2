//! Finds the operations of a block in its rewritten form; the others were inserted.
//!
//! ```text
//! v2 = add v1, v0        adds r2 = .spill0, r12         inserted
//!                        ld8 r3 = [r2]                  inserted
//!                        v2 = add r3, v0                operation 0
//! ```
//!
//! In order, each by the first that has its shape; one pass. Operations between the address of a spill slot
//! and the access to it are no candidates.

use super::{Checker, Violation};
use crate::mir::{FrameOffset, Name, Operand, Operation, SpillCode, Target, Virtual};

/// The counterpart of an operation of the rewritten block, `None`: it was inserted.
pub(super) type Alignment = Vec<Option<u32>>;

impl<T: Target> Checker<'_, T> {
    /// Finds the operations of a block in its rewritten form, in order. Operations between the address of a
    /// spill slot and the access to it are no candidates.
    pub(super) fn align(&self, block: u32) -> Result<Alignment, Violation<T::Register>> {
        let (old, new) = (
            &self.before.blocks[block as usize].operations,
            &self.after.blocks[block as usize].operations,
        );
        let decided = !self.after.blocks[block as usize].cycles.is_empty();
        let mut out = Vec::with_capacity(new.len());
        let mut next = 0;
        let mut skipped = 0;
        for (at, operation) in new.iter().enumerate() {
            if at >= skipped && is_slot_address(operation) {
                skipped = at + self.stretch(&new[at..]);
            }
            let counterpart = old
                .get(next)
                .filter(|given| at >= skipped && self.is_counterpart(given, operation));
            out.push(counterpart.map(|_| next as u32));
            next += usize::from(counterpart.is_some());
        }
        if next < old.len() || (decided && new.len() != old.len()) {
            let operation = next as u32;
            return Err(Violation::Unaligned { block, operation });
        }
        Ok(out)
    }

    /// Returns the number of operations that belong to an access to a spill slot, beginning with its address.
    fn stretch(&self, operations: &[Operation<T>]) -> usize {
        let register = self.register_of(&operations[0].targets[0]);
        for (at, operation) in operations.iter().enumerate().skip(1) {
            let mut operands = operation.targets.iter().chain(&operation.sources);
            let accesses = operands
                .any(|it| matches!(it, Operand::Address(_)) && self.register_of(it) == register);
            if accesses {
                return at + 1;
            }
            let mut targets = operation.targets.iter();
            let mut named = operation.virtual_registers();
            if targets.any(|it| self.register_of(it) == register)
                || named.any(|it| it.0 < self.virtuals)
            {
                return 1;
            }
        }
        1
    }

    fn is_counterpart(&self, given: &Operation<T>, now: &Operation<T>) -> bool {
        let is_new = |register: Virtual| register.0 >= self.virtuals;
        let name = |name: Name<T>, other: Name<T>| match (name, other) {
            (Name::Virtual(register), Name::Virtual(other)) => register == other || is_new(other),
            (Name::Virtual(name), Name::Fixed(other)) => {
                T::scratch(self.before.class(name)).contains(&other)
            }
            (left, right) => left == right,
        };
        let operand = |(left, right): (&Operand<T>, &Operand<T>)| match (left, right) {
            (Operand::Register(register), Operand::Register(other))
            | (Operand::Address(register), Operand::Address(other)) => name(*register, *other),
            (left, right) => left == right,
        };
        let predicate = match (given.predicate, now.predicate) {
            (Some(left), Some(right)) => left == right || is_new(right),
            (left, right) => left == right,
        };
        predicate
            && given.mnemonic == now.mnemonic
            && given.memory == now.memory
            && given.targets.len() == now.targets.len()
            && given.sources.len() == now.sources.len()
            && given.targets.iter().zip(&now.targets).all(operand)
            && given.sources.iter().zip(&now.sources).all(operand)
    }
}

pub(super) fn is_slot_address<T: Target>(operation: &Operation<T>) -> bool {
    let code = T::spill_code(operation);
    matches!(
        code,
        Some(SpillCode::Address {
            offset: FrameOffset::Spill(_),
            ..
        })
    )
}
