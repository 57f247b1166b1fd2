//! The processors' simulators: execute assembly, and count its cycles.
//!
//! Knows what the instructions of a text do and when they issue, from the manuals of the processors. Never knows who wrote
//! the text, nor a fact about it, a schedule or a table of latencies that schedules are made by: a simulator has a decoder
//! and figures of its own, so that it and what it judges can disagree. It shares the parser of assembly and the names of
//! registers with them. Tests use it, the runs that a person asks for, and re-bundling, which is given its clock. Recomputed on
//! an edit: nothing; equal texts and arguments give equal outcomes.
//!
//! `cache` and `predictor` stand alone: they know accesses, and traces of branches, whoever made them.

pub mod cache;
pub mod ia64;
mod memory;
pub mod predictor;
pub mod sc140;

pub use memory::Memory;
