//! PTX, NVIDIA's virtual instruction set.
//!
//! - [`Opcode`]: the effects of an instruction beside its operands, and the operands that it writes.
//! - [`Mnemonic`]: an opcode with all words behind it, told apart from every other one.
//! - [`Class`], [`Register`]: registers by width. PTX has as many as one likes; a [`Register`] stands for storage of the
//!   processor, in words of 32 bits, that an allocation gives to the value of one of them.
//!
//! Source: NVIDIA, *Parallel Thread Execution ISA*, version 9.0.

mod mnemonic;
mod opcodes;
mod register;
mod set;

pub use mnemonic::Mnemonic;
pub use opcodes::{Effect, Opcode, Results};
pub use register::{Class, Register};
pub use set::Ptx;
