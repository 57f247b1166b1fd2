//! Registers for machine functions: dead operations and needless moves go, virtual registers get places in the machine's
//! files by linear scan, and what finds none lives in the frame.
//!
//! ```text
//! v4 = mov v3; v5 = add v4, v1        ->  r14 = add r14, r32          parameters stay where they arrive
//! v9 across a call                    ->  a stacked register, f16 to f31, p1 to p5, or memory
//! ```
//!
//! An interval of a register goes from its first definition to its last use in layout order, blocks in which it is live
//! included whole. An operation under a predicate keeps the old value, so it does not end a life, unless every use of
//! what it wrote is under the same predicate. Stops: one pass over intervals; merging of moves takes each move once.
//!
//! Does not split intervals and does not recompute constants instead of keeping them.
//!
//! Source: Poletto, Sarkar, *Linear Scan Register Allocation* (TOPLAS 1999); Intel, *Itanium Software Conventions and Runtime
//! Architecture Guide*, chapter 5, for who preserves what.

pub mod check;
mod coalesce;
mod hoist;
mod jumps;
mod scan;
mod simplify;
mod spill;

pub(crate) use scan::SAVES;
pub use scan::{Limits, Place};

use crate::machine::epic::Epic;
use crate::mir::function::{Function, Operation};
use crate::mir::liveness::Liveness;
use crate::mir::{File, Reg};
use crate::refusal::Refusal;

/// Where everything is.
#[derive(Clone, PartialEq, Debug)]
pub struct Allocation {
    /// By virtual register. Those in memory have `r0` here, and no operation names them any more.
    pub registers: Vec<Reg>,
    /// Bytes of the frame for spilled registers.
    pub spilled: u32,
    /// Registers that live in memory.
    pub in_memory: u32,
    /// Argument slot and what takes it at the entry, to be put in front of everything, in this order.
    pub arrivals: Vec<Operation>,
    /// The first general register behind those that were given.
    pub stacked: u32,
}

impl Allocation {
    /// Registers of a file that are named, ascending.
    #[must_use]
    pub fn used(&self, function: &Function, file: File) -> Vec<u8> {
        let mut out: Vec<u8> = Vec::new();
        for operation in function
            .blocks
            .iter()
            .flat_map(|block| &block.operations)
            .chain(&self.arrivals)
        {
            let named = operation
                .targets
                .iter()
                .chain(&operation.sources)
                .filter_map(|one| one.name());
            let predicate = operation.predicate.map(crate::mir::function::Name::Virtual);
            for name in named.chain(predicate) {
                let register = match name {
                    crate::mir::function::Name::Virtual(one) => self.registers[one.0 as usize],
                    crate::mir::function::Name::Fixed(one) => one,
                };
                if register.file == file {
                    out.push(register.number);
                }
            }
        }
        out.sort_unstable();
        out.dedup();
        out
    }
}

/// What can be done without knowing registers: dead operations, moves, addresses that step.
pub fn simplify(function: &mut Function) {
    simplify::dead(function);
    simplify::sink(function);
    coalesce::coalesce(function);
    hoist::hoist(function);
    simplify::post_increment(function);
    simplify::dead(function);
}

pub use jumps::jumps;

/// Gives registers and writes spills into the function.
///
/// # Errors
/// Where a block whose cycles are decided needs more than there are, and where the frame is too large.
///
/// # Panics
/// In debug builds, where `check` finds a violation.
pub fn allocate(
    function: &mut Function,
    machine: &Epic,
    limits: &Limits,
) -> Result<Allocation, Refusal> {
    let before = cfg!(debug_assertions).then(|| function.clone());
    let live = Liveness::of(function);
    let places = scan::scan(function, &live, machine, limits)?;
    let allocation = spill::rewrite(function, &places);
    if let Some(before) = before {
        let verdict = check::check(&before, function, &allocation);
        assert_eq!(verdict, Ok(()), "{}", function.name);
    }
    Ok(allocation)
}

#[cfg(test)]
mod tests;
