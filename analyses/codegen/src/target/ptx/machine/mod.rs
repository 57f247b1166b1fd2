//! PTX as machine operations: the body of a function in operations on virtual registers, as `mir` has them,
//! for passes that serve every instruction set: liveness, pressure, allocation.
//!
//! ```text
//! $L1: add.s32 %r3, %r3, 1;          b1: v0 = add v0
//!      setp.lt.s32 %p1, %r3, %r2;        v1 = setp v0, v2
//!      @%p1 bra $L1;                     (v1) bra b1
//! ```
//!
//! Registers of PTX are virtual ones: there are as many as one likes. A physical one is storage of the processor in words
//! of 32 bits. Immediates, special registers, variables and words of an instruction stay in the text, to which every
//! operation points; a changed body is written by renaming registers in it.

mod again;
pub(crate) mod body;
pub mod check;
mod crowd;
mod definitions;
pub mod fit;
mod homes;
mod invariant;
mod listing;
mod moves;
pub mod park;
mod places;
mod pressure;
mod read;
mod spare;
pub mod states;
mod target;
#[cfg(test)]
mod tests;
mod write;

pub use pressure::{Pressure, pressure};
pub use read::{Body, read};
pub use target::Limits;
pub use write::renamed;

use isa::ptx::Ptx;

/// A body in machine operations.
pub type Function = crate::mir::Function<Ptx>;
/// One machine operation of PTX.
pub type Operation = crate::mir::function::Operation<Ptx>;
