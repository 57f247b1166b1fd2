//! A simulator of StarCore SC140 assembly: it computes a function's result and counts its cycles. It is
//! written from the manuals' excerpts on its own, and shares no table with the code under test.
//!
//! ```text
//! let program = Program::new(&[Source { document: &syntax::sc140::parse(text), text }]).0;
//! let buffer = memory.place(&bytes)?;
//! let outcome = run(&program, "_dot", &[Arg::Pointer(buffer), Arg::Word(8)], &mut memory, &Limits::default())?;
//! outcome.data      d0
//! ```
//!
//! All instructions of a set read registers and memory before any of them writes; of several that set the
//! carry, the last one wins. Data registers have 40 bits and a tag that limiting stores look at. Memory
//! consists of the buffers that the caller placed, the file's data and a stack that grows upwards. Behaviour
//! that the sources leave open has a name in [`Settings`], and cycles are counted by the data of [`Timing`].
//! Everything is bounded and deterministic: an error is a [`Fault`] with its line.
//!
//! Left out: exceptions and their stack, Viterbi flags (`max2vit`, `vsl`), contention for memory, instructions of later
//! cores. An instruction that is not simulated ends the run that reaches it.
//!
//! Source: Freescale, *SC140 DSP Core Reference Manual*, in excerpts; checked against published listings, not against a
//! processor.

mod address;
mod control;
mod data;
mod decode;
mod decode_address;
mod decode_control;
mod decode_data;
mod image;
mod moves;
mod number;
mod op;
mod program;
mod register;
mod run;
mod settings;
mod state;
#[cfg(test)]
mod tests;
mod timing;

pub use crate::memory::Memory;
pub use decode::Unreadable;
pub use program::{Program, Source};
pub use register::Reg;
pub use run::run;
pub use settings::{Settings, StatusBits, UnknownSetting};
pub use timing::{Cycles, Timing};

use smol_str::SmolStr;
use std::fmt;

/// An argument of the function that is run; its place is that of the conventions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arg {
    /// A number of 16 bits.
    Word(i16),
    Long(i32),
    /// A number of 64 bits, which takes two registers.
    Wide(i64),
    Pointer(u32),
}

/// The limits of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Limits {
    /// Execution sets.
    pub sets: u64,
    pub settings: Settings,
    pub timing: Timing,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            sets: 10_000_000,
            settings: Settings::default(),
            timing: Timing::default(),
        }
    }
}

/// The results of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// `d0` and `d1`, 40 bits with their sign.
    pub data: [i64; 2],
    /// `r0`
    pub address: u32,
    pub cycles: Cycles,
    /// Instructions executed; those whose condition does not hold are not.
    pub instructions: u64,
    pub nops: u64,
    /// In the order in which they came up; each place once.
    pub violations: Vec<Violation>,
    /// Registers that the conventions preserve and that have changed.
    pub changed: Vec<Reg>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FaultKind {
    NoFunction,
    /// More sets than the limits allow.
    Sets,
    Unmapped,
    ReadOnly,
    Unaligned,
    /// A jump to where no execution set is.
    Unresolved,
    /// An instruction that is not simulated.
    Unsupported,
    /// A loop whose marks and flags do not agree, or a jump out of its last sets.
    Loop,
    /// `stop`, `trap` and their like.
    Stop,
}

/// The place and the reason of a run's early end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    pub kind: FaultKind,
    /// The number of the source, from 0.
    pub file: usize,
    /// From 1; 0: no line of a file.
    pub line: u32,
    pub message: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.message),
            line => write!(f, "line {line}: {}", self.message),
        }
    }
}
impl std::error::Error for Fault {}

/// A rule that an executed set breaks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Rule {
    /// Two instructions of a set write the register.
    WrittenTwice(Reg),
    /// Two instructions of a set write the same memory.
    StoredTwice,
    /// A register that a move wrote in the set before is used for an address or by arithmetic of the address units.
    AddressTooSoon(Reg),
    /// An instruction of the address units depends on T, which the set before wrote.
    TruthTooSoon,
    /// Registers of a maximum or minimum that are no pair.
    Pair(u8, u8),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Violation {
    pub file: usize,
    /// From 1.
    pub line: u32,
    pub rule: Rule,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = self.line;
        match self.rule {
            Rule::WrittenTwice(register) => write!(
                f,
                "line {line}: {register} is written by two instructions of a set"
            ),
            Rule::StoredTwice => write!(
                f,
                "line {line}: two instructions of a set store to the same place"
            ),
            Rule::AddressTooSoon(register) => write!(
                f,
                "line {line}: {register} is used for an address in the set behind the one that moves a value to it"
            ),
            Rule::TruthTooSoon => write!(
                f,
                "line {line}: an instruction of the address units depends on T in the set behind the one that writes it"
            ),
            Rule::Pair(first, second) => write!(
                f,
                "line {line}: d{first} and d{second} are no pair of a maximum or minimum"
            ),
        }
    }
}

/// An instruction that can't be executed, with its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Opaque {
    pub file: usize,
    pub span: syntax::Span,
    pub mnemonic: SmolStr,
    pub why: Unreadable,
}
