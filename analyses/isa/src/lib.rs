//! Instruction sets as data: which opcodes there are, what an instruction does to registers and memory, which units serve it.
//!
//! *Knows* the tables of an instruction set and how an instruction follows from an opcode and its operands. *Never knows* the
//! text of a file, a function, or what a compiler wants of an instruction. Nothing is recomputed on an edit: everything here
//! is a function of its arguments.
//!
//! ```text
//! ld8.s  [r5], 8 -> r32          unit M, class load; reads r5, writes r32 and r5; 8 bytes at r5
//! ld8.q                          no mnemonic: an error where it is made
//! ```

pub mod ia64;
pub mod ptx;
pub mod sc140;
mod set;

pub use set::{Branch, InstructionSet};
