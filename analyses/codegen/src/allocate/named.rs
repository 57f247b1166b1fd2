//! The operations that name each register of a function, while code is put around them.
//!
//! ```text
//! v0 = ..; v4 = add v3, v0                  v0: operations 0 and 1
//! v0 = ..; store v3; v4 = add v3, v0        v0: operations 0 and 2
//! ```
//!
//! Only the operations that were given are known: operations put around them name registers of their own.

use super::rounds::Around;
use crate::mir::Target;
use crate::mir::function::{Function, Virtual};

/// An operation that names a register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Occurrence {
    pub(crate) block: u32,
    /// Its number in the block.
    pub(crate) operation: u32,
    pub(crate) reads: bool,
    pub(crate) writes: bool,
    /// True if it always writes what it writes.
    pub(crate) certain: bool,
}

/// Occurrences by register.
#[derive(Clone, Debug)]
pub(crate) struct Occurrences {
    /// In the order of the layout, operations by their numbers in the function that was given.
    given: Vec<Vec<Occurrence>>,
    /// The present number of each operation, by its block and number in the function that was given.
    numbers: Vec<Vec<u32>>,
}

impl Occurrences {
    pub(crate) fn of<T: Target>(function: &Function<T>) -> Occurrences {
        let mut given: Vec<Vec<Occurrence>> = vec![Vec::new(); function.registers.len()];
        for (block, data) in (0u32..).zip(&function.blocks) {
            for (number, operation) in (0u32..).zip(&data.operations) {
                let reads = operation.reads().map(|register| (register, true));
                let writes = operation.writes().map(|register| (register, false));
                for (register, is_read) in reads.chain(writes) {
                    let own = &mut given[register.0 as usize];
                    match own.last_mut() {
                        Some(last) if (last.block, last.operation) == (block, number) => {
                            last.reads |= is_read;
                            last.writes |= !is_read;
                        }
                        _ => own.push(Occurrence {
                            block,
                            operation: number,
                            reads: is_read,
                            writes: !is_read,
                            certain: operation.is_certain(),
                        }),
                    }
                }
            }
        }
        let blocks = function.blocks.iter();
        Occurrences {
            given,
            numbers: blocks
                .map(|block| (0..block.operations.len() as u32).collect())
                .collect(),
        }
    }

    /// Records the operations that now stand around those of a block.
    pub(crate) fn moved<T: Target>(&mut self, block: u32, rows: &[Around<T>]) {
        let mut number = 0;
        let numbers = self.numbers[block as usize].iter_mut();
        for (now, row) in numbers.zip(rows) {
            *now = number + row.before.len() as u32;
            number = *now + 1 + row.after.len() as u32;
        }
    }

    /// Returns the occurrences of a register of the function that was given, in the order of the layout.
    pub(crate) fn named(&self, register: Virtual) -> impl Iterator<Item = Occurrence> + '_ {
        let given = self.given.get(register.0 as usize);
        given.into_iter().flatten().map(|own| Occurrence {
            operation: self.numbers[own.block as usize][own.operation as usize],
            ..*own
        })
    }

    /// The number of the last operation of a block that was given.
    pub(crate) fn last(&self, block: u32) -> Option<u32> {
        self.numbers[block as usize].last().copied()
    }
}
