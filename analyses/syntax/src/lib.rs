//! Text to trees. Knows characters, tokens and grammar, and of assembly the instructions of a table and the
//! names of registers; never the meaning of a program.
//!
//! Recomputed on an edit: the tokens of the edited file, and the tree of each item whose tokens changed. Every
//! position below the item level is relative to the item's start, so an edit above an item leaves its tree equal.
// A library prints nothing.
#![cfg_attr(not(test), warn(clippy::print_stdout, clippy::print_stderr))]

pub mod c_family;
pub mod error;
pub mod ia64;
pub mod musimd;
pub mod preprocess;
pub mod ptx;
pub mod sc140;
pub mod source;

pub use error::{Problem, ProblemKind};
pub use source::{FileId, ItemKey, LineIndex, Span};
