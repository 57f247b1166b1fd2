//! The reference interpreter: executes a module's function 0 on a grid, warp by warp, and returns the values
//! that every lane computed. It is the judge of facts and transformations, and is written from the definition
//! of the IR alone.
//!
//! ```text
//! kernel(p: ptr.global) { i = thread_id.x; v = i * 2; store p + 4*i, v }      4 lanes  ->  buffer 0: 0 2 4 6
//! ```
//!
//! Deterministic: equal modules and launches give equal outcomes. Stops by its budgets of steps and memory, and when
//! the checkpoint says so. Never fails on a verified module but by an `Error`, which says where, in which lane and why.
//!
//! It has no caches, no timing, no memory model: accesses are sequentially consistent in the order of
//! execution, and races have the result of that order. Launch defaults stand for what is unknown (see
//! `launch` and `execute`).
//!
//! Sources: the reconvergence stack is section 3.6 of the notes on Sampaio et al., TOPLAS 2013; `micro_simd` is that
//! paper's own machine.

mod access;
mod addressed;
pub mod error;
mod execute;
pub mod launch;
mod layout;
mod machine;
pub mod memory;
pub mod micro_simd;
pub mod observe;
mod outcome;
mod plan;
mod quad;
mod report;
pub mod simple;
pub mod texture;
mod warp;
mod warp_ops;
pub mod witness;

#[cfg(test)]
mod tests;

pub use access::space_of;
pub use error::{BarrierFault, Error, Event, EventKind, Fault, Place};
pub use launch::{Argument, Buffer, InputQuery, Inputs, Launch, Limits, Mode};
pub use layout::handle as resource_handle;
pub use observe::{AccessKind, Instance, Observer, lanes};
pub use outcome::{BufferAfter, Outcome, Texel};
pub use simple::DescribedArgument;
pub use simple::{LaunchDescription, Untaken, run_simple, untaken};
pub use texture::{TextureQuery, Textures};
pub use witness::{Disagreement, Extent, Witness};

use ir::checkpoint::Checkpoint;
use ir::function::Module;

/// Runs without observer and without cancellation.
pub fn run(module: &Module, launch: &Launch) -> Outcome {
    run_with(module, launch, &mut (), &())
}

/// Runs a module; a run that an error interrupted is in the outcome as far as it came.
pub fn run_with<O: Observer>(
    module: &Module,
    launch: &Launch,
    observer: &mut O,
    checkpoint: &dyn Checkpoint,
) -> Outcome {
    outcome::run(module, launch, observer, checkpoint)
}
