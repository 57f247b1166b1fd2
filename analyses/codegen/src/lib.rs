//! IR and facts to other code. Knows machines and target languages; never how a program was written.
//!
//! A request that cannot be met is answered by a `Refusal`, data that the user sees as the reason.
// A library prints nothing.
#![cfg_attr(not(test), warn(clippy::print_stdout, clippy::print_stderr))]

/// Integration tests share modules with unit tests, by the name that they have for this crate.
#[cfg(test)]
extern crate self as lockstep_codegen;

pub mod allocate;
pub mod contract;
pub mod expand;
pub mod instrument;
pub mod legalize;
mod library;
pub mod loops;
pub mod machine;
mod merge;
pub mod mir;
pub mod origin;
pub mod pack;
mod parallel;
pub mod pipeline;
pub mod predicate;
mod prepare;
pub mod profiled;
pub mod refusal;
pub mod runtime;
mod select;
pub mod specialize;
pub mod spills;
pub mod target;
mod unroll;

pub use isa;
pub use refusal::Refusal;
