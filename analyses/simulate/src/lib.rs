//! The processors' simulators: execute assembly, and count its cycles.
//!
//! Knows the effects of a text's instructions and the cycles in which they issue, from the manuals of the
//! processors. Never knows the author of the text, nor a fact about it, a schedule or a table of latencies
//! that schedules are made by: a simulator has a decoder and figures of its own, so that it and the code
//! under test can disagree. It shares the parser of assembly and the names of registers with them. Tests use
//! it, the runs that a person asks for, and re-bundling, which is given its clock. Recomputed on an edit:
//! nothing; equal texts and arguments give equal outcomes.
//!
//! `cache` and `predictor` stand alone: they know accesses, and traces of branches, whatever their origin.
// A library prints nothing.
#![cfg_attr(not(test), warn(clippy::print_stdout, clippy::print_stderr))]

pub mod cache;
pub mod ia64;
mod memory;
pub mod predictor;
pub mod sc140;

pub use memory::Memory;
