//! The instruction set of the StarCore SC140 as data: opcodes, registers, instructions and what they do.
//!
//! - [`Row`]: the table of opcodes.
//! - [`Instruction`]: an opcode with its operands, in the order of the text.
//! - [`Instruction::effects`]: what it reads and writes, and in which stage; [`Instruction::words`]: its length;
//!   [`Instruction::misfit`]: an operand that the opcode does not take.
//!
//! Source: Freescale, *SC140 DSP Core Reference Manual*, in excerpts; listings of the vendor's compiler. What they leave open
//! is said where it stands, as two bounds or as a misfit that is not certain.

mod effects;
mod instruction;
pub mod opcodes;
mod register;
mod restrict;
mod set;
#[cfg(test)]
mod tests;
mod words;

pub use effects::{Access, Effects, Flow, Memory, Read, ReadStage, Stack, Write, WriteWay};
pub use instruction::{Address, Condition, Instruction, Mnemonic, Number, Operand, Size, Step};
pub use opcodes::{Opcode, Row, Status, Target, Unit};
pub use register::{File, Part, Reg, StackHalf};
pub use restrict::Misfit;
pub use set::Sc140;
pub use words::{Grouping, Words, prefix};
