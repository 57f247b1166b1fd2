//! The instruction set of the Itanium processors.
//!
//! - [`Mnemonic`]: an opcode with its completers, checked against the table of [`opcodes`] when it is made.
//! - [`effects`]: the registers, memory and control that an instruction reads and changes, from its mnemonic and operands.
//! - [`Reg`]: the registers, those that no operand names included.
//!
//! Source: Intel, *Itanium Architecture Software Developer's Manual*, volumes 1 to 3.

mod clock;
mod completers;
mod effects;
mod implied;
mod inst;
mod mnemonic;
pub mod opcodes;
pub mod register;
mod set;
#[cfg(test)]
mod tests;

pub use crate::Branch;
pub use clock::{Clock, WayPart};
pub use completers::Completer;
pub use effects::{Meaning, Operands, Undescribed, effects};
pub use inst::{Access, Class, Def, Inst, Memory, Parallel, Type};
pub use mnemonic::{Mnemonic, UnknownMnemonic};
pub use opcodes::Opcode;
pub use register::{File, Reg};
pub use set::Ia64;
