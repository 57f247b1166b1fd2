//! Values that are zero more often than by chance, and the instructions that a zero makes useless.
//!
//! ```text
//! n = saturate(dot)      originator: zero wherever the surface looks away
//! c = n * texture        propagator: zero times anything
//! ```
//!
//! `operations` lists the operations that propagate and those that originate zeros, `candidates` the values
//! that a version could test, alone or as a vector of up to four (`packs` finds vectors where the language
//! has lost them), `filter` those of them that a profile leaves, `never` those that can't be zero in any
//! warp, `useless` the instructions that a zero saves. Nothing here changes a program or names a machine.
//!
//! Source: Stephenson and Rangan, *AZP: Automatic Specialization for Zero Values in Gaming Applications*, sections 3
//! and 4; vectors by Larsen and Amarasinghe, *Exploiting Superword Level Parallelism*, PLDI 2000.

pub mod candidates;
pub mod filter;
pub mod never;
pub mod operations;
pub mod packs;
#[cfg(test)]
mod tests;
pub mod useless;

pub use candidates::{Candidate, candidates};
pub use filter::{Probabilities, THRESHOLD, filter};
pub use never::{Never, never_zero};
pub use operations::{Originator, Propagation, originator, propagation};
pub use useless::useless;
