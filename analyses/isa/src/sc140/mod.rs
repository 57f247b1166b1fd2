//! The instruction set of the StarCore SC140: its opcodes as data.
//!
//! What an instruction reads and writes of its operands, its words and the rules of its execution set are not here yet.

pub mod opcodes;

pub use opcodes::{Row, Unit};
