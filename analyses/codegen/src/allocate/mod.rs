//! Registers for machine functions: dead operations and needless moves go, virtual registers get places in
//! the machine's files by linear scan, and values that find none live in the frame.
//!
//! ```text
//! v4 = mov v3; v5 = add v4, v1        ->  r14 = add r14, r32          parameters stay where they arrive (IA-64)
//! v9 across a call                    ->  a stacked register, f16 to f31, p1 to p5, or memory
//! ```
//!
//! An interval of a register goes from its first definition to its last use in layout order, blocks in which
//! it is live included whole. An operation under a predicate keeps the old value, so it does not end a life,
//! unless every use of its result is under the same predicate. Stops: one pass over intervals; merging of
//! moves takes each move once.
//!
//! Does not split intervals and does not recompute constants instead of keeping them.
//!
//! Source: Poletto, Sarkar, *Linear Scan Register Allocation* (TOPLAS 1999); Intel, *Itanium Software
//! Conventions and Runtime Architecture Guide*, chapter 5, for the registers that callers and callees
//! preserve.

mod chaitin;
pub mod check;
mod coalesce;
pub(crate) mod colour;
mod decided;
mod hoist;
mod jumps;
pub(crate) mod named;
pub mod rounds;
mod scan;
mod simplify;
pub(crate) mod split;

pub use crate::spills::{Reduction, Traffic};
pub use decided::{Decided, Reductions};
pub use rounds::Order;
pub use scan::Place;

use crate::mir::function::{Function, Name, Operation};
use crate::mir::liveness::Liveness;
use crate::mir::{Target, Virtual};
use crate::refusal::Refusal;
use rustc_hash::FxHashSet;

/// The registers of a function's values.
#[derive(Clone, PartialEq, Debug)]
pub struct Allocation<T: Target> {
    /// The allocated register of each virtual register. No operation names any of those that live in memory.
    pub registers: Vec<T::Register>,
    /// Bytes of the frame for spilled registers.
    pub spilled: u32,
    /// Registers that live in memory.
    pub in_memory: u32,
    /// Loads and stores of spilled values.
    pub traffic: Traffic,
    /// Argument slots and the operations that read them at the entry, to be put in front of everything, in
    /// this order.
    pub arrivals: Vec<Operation<T>>,
}

impl<T: Target> Allocation<T> {
    /// The register of a virtual register.
    #[must_use]
    pub fn register(&self, register: Virtual) -> T::Register {
        self.registers[register.0 as usize]
    }

    /// Registers of a class that are named, ascending.
    #[must_use]
    pub fn used(&self, function: &Function<T>, class: T::Class) -> Vec<T::Register> {
        let mut out: Vec<T::Register> = Vec::new();
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
                .filter_map(|target| target.name());
            let predicate = operation.predicate.map(Name::Virtual);
            for name in named.chain(predicate) {
                let register = match name {
                    Name::Virtual(register) => self.register(register),
                    Name::Fixed(register) => register,
                };
                if T::class(register) == class {
                    out.push(register);
                }
            }
        }
        out.sort_unstable();
        out.dedup();
        out
    }
}

/// Simplifies a function as far as is possible without knowing registers: dead operations, moves, addresses
/// that step.
pub fn simplify<T: Target>(function: &mut Function<T>) {
    let unwritten = |function: &Function<T>| Liveness::of(function).at_start(0).clone();
    let before = cfg!(debug_assertions).then(|| unwritten(function));
    simplify::dead(function);
    simplify::sink(function);
    simplify::delay(function);
    // A register that is read without a definition is one that a pass has lost.
    debug_assert!(
        before.is_none_or(|before| unwritten(function).iter().all(|it| before.contains(&it)))
    );
    coalesce::coalesce(function);
    hoist::hoist(function);
    simplify::post_increment(function);
    simplify::dead(function);
}

pub(crate) use coalesce::coalesce;
pub use jumps::jumps;
pub(crate) use simplify::dead;

/// Returns true if all virtual registers get a register of the machine.
pub fn fits<T: Target>(
    function: &Function<T>,
    processor: &T::Processor,
    limits: &T::Limits,
) -> bool {
    lacking(function, processor, limits) == Some(0)
}

/// The number of virtual registers that get no register of the machine. `None`: one that must have one gets none.
pub fn lacking<T: Target>(
    function: &Function<T>,
    processor: &T::Processor,
    limits: &T::Limits,
) -> Option<u32> {
    let live = Liveness::of(function);
    let files = T::files(function, processor, limits);
    let found = scan::scan(
        function,
        &live,
        &files,
        scan::Choice::LeastUsed(&FxHashSet::default()),
    );
    let places = found.ok()?;
    let away = places.iter().filter(|place| matches!(place, Place::Memory));
    Some(away.count() as u32)
}

/// Gives registers and writes spills into the function.
///
/// # Errors
/// Where a block whose cycles are decided needs more than there are, and where the frame is too large.
///
/// # Panics
/// In debug builds, where `check` finds a violation.
pub fn allocate<T: Target>(
    function: &mut Function<T>,
    processor: &T::Processor,
    limits: &T::Limits,
) -> Result<Allocation<T>, Refusal> {
    let (placed, allocation) = Decided::scanned(function, processor, limits)?.written();
    *function = placed;
    Ok(allocation)
}

#[cfg(test)]
mod tests;
