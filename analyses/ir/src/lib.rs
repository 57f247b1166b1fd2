//! Trees to one typed SSA form. Knows the meaning of a program, never the machine that runs it.
//!
//! One `Module` is one item (kernel, shader entry point, device function) with everything it reaches inlined;
//! calls that remain are to unknown or recursive functions. Every position is relative to an item, so a module is
//! equal to itself after an edit above it. Recomputed on an edit: the modules whose item, callees or declarations
//! changed.
//!
//! Block parameters are the merge points (the φ, μ and η of gated SSA are told apart by `gates`).
// A library prints nothing.
#![cfg_attr(not(test), warn(clippy::print_stdout, clippy::print_stderr))]

/// Integration tests share modules with unit tests, by the name that they have for this crate.
#[cfg(test)]
extern crate self as lockstep_ir;

pub mod builder;
pub mod cfg;
pub mod checkpoint;
pub mod dominators;
pub mod entity;
pub mod function;
pub mod gates;
pub mod inst;
pub mod linear;
pub mod liveness;
pub mod loops;
pub mod lower;
pub mod needed;
pub mod numbers;
pub mod text;
pub mod types;
pub mod verify;

pub use entity::{Block, EntitySet, EntityVec, Inst, Site, Symbol, UnknownId, Value, Variable};
pub use function::*;
pub use inst::*;
pub use types::{Space, Type};
pub use verify::{VerifyError, verify, verify_module};
