//! Facts that are true of a program. Never changes it, knows no machine but by its cost tables.
// A library prints nothing.
#![cfg_attr(not(test), warn(clippy::print_stdout, clippy::print_stderr))]

mod active;
mod alone;
mod assumption;
pub mod causes;
mod control;
pub mod cost;
pub mod diagnose;
pub mod divergence;
pub mod intervals;
mod lanes;
mod memory;
pub mod model;
mod open;
pub mod paper;
pub mod partial_dead;
pub mod paths;
pub mod pressure;
pub mod reason;
pub mod speculative;
pub mod symbolic;
mod trips;
pub mod values;
pub mod words;
mod workgroup;
pub mod zeros;

pub use assumption::assess;
pub use causes::cause_chain;
pub use diagnose::{Expected, diagnose, expected};
pub use divergence::{analyze, analyze_module};
pub use model::*;
pub use reason::*;
