//! Instruction sets as data: opcodes, the effects of an instruction on registers and memory, and the units
//! that serve it.
//!
//! *Knows* the tables of an instruction set and how an instruction follows from an opcode and its operands.
//! *Never knows* the text of a file, a function, or the purpose of an instruction in a compiler. Nothing is
//! recomputed on an edit: everything here is a function of its arguments.
//!
//! ```text
//! ld8.s  [r5], 8 -> r32          unit M, class load; reads r5, writes r32 and r5; 8 bytes at r5
//! ld8.q                          no mnemonic: an error where it is made
//! ```
// A library prints nothing.
#![cfg_attr(not(test), warn(clippy::print_stdout, clippy::print_stderr))]

pub mod ia64;
pub mod ptx;
pub mod sc140;
mod set;

pub use set::{Branch, InstructionSet};
