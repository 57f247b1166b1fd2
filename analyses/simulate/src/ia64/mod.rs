//! A simulator of IA-64 assembly: it computes a function's result, checks its instruction groups, and counts
//! its cycles on a processor. It judges emitted code and shares nothing with the emitter: instructions are
//! read and executed here from the manual's pages.
//!
//! ```text
//! let (program, problems) = Program::new(&syntax::ia64::parse(text), text);
//! let buffer = memory.place(&bytes)?;
//! let outcome = run(&program, "sum", &[Arg::Integer(buffer), Arg::Integer(10)], &mut memory, &Limits::default())?;
//! outcome.result      r8
//! ```
//!
//! Registers have NaT bits, rotate, and are stacked; floating-point is exact in the register format. Memory
//! consists of what the caller placed, the file's data and a stack of 1 MiB. Everything is bounded and
//! deterministic: an error is a [`Fault`] with its line.
//!
//! Left out: flags and traps of floating-point, its parallel form (`fpma` and its like), instructions of the system, the
//! register stack's backing store, misaligned accesses (they are faults).
//!
//! Source: Intel, *Itanium Architecture Software Developer's Manual*, volumes 1 and 3.

mod access;
mod bundles;
mod control;
mod data;
mod decode;
mod decode_float;
mod decode_lanes;
mod decode_memory;
mod execute;
mod execute_float;
mod float;
mod float_ops;
mod lanes;

mod op;
mod path;
mod program;
mod run;
mod state;
mod symbols;
#[cfg(test)]
mod tests;
mod timing;
mod trace;

pub use crate::memory::Memory;
pub use float::Float;
pub use path::{Laid, SimulatedClock};
pub use program::Program;
pub use run::{Seen, run, run_kept, traced};
pub use timing::{
    BranchUnit, Consumer, Dispersal, Latency, MemoryCounts, MissingLine, Producer, Timing,
};
pub use trace::Listener;

use isa::ia64::Reg;
use std::fmt;

/// An argument of the function that is run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Arg {
    /// An integer or an address.
    Integer(u64),
    Double(f64),
    Single(f32),
}

/// The limits of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Limits {
    /// Instructions, those included whose predicate is false.
    pub steps: u64,
    /// Calls within each other.
    pub depth: u32,
    /// Entries of the table of advanced loads; with 0, every advanced load is recovered.
    pub advanced: usize,
    /// Speculative loads that could succeed fail now and then all the same, as a processor may have it where an address is
    /// not translated at once; which ones depends on this number. `None`: none.
    pub deferred: Option<u64>,
    /// The processor whose cycles are counted.
    pub timing: Option<Timing>,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            steps: 10_000_000,
            depth: 256,
            advanced: 32,
            deferred: None,
            timing: None,
        }
    }
}

/// The results of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// `r8`; `None`: its NaT bit is set.
    pub result: Option<u64>,
    /// `f8`
    pub float: Float,
    /// Instructions executed, nops and those whose predicate is false included.
    pub steps: u64,
    pub groups: u64,
    /// Cycles, where a processor was given.
    pub cycles: Option<u64>,
    /// Accesses and waits, if the processor has caches.
    pub memory: Option<MemoryCounts>,
    /// Branches by number of instruction, where the processor predicts them.
    pub branches: Option<crate::predictor::Outcome>,
    /// Nops executed, those of packing included.
    pub nops: u64,
    /// In the order in which they came up; each place once.
    pub violations: Vec<Violation>,
    /// Registers that the conventions preserve and that have changed.
    pub changed: Vec<Reg>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FaultKind {
    NoFunction,
    /// More instructions than the limits allow.
    Steps,
    /// More calls within each other.
    Depth,
    Unmapped,
    ReadOnly,
    Unaligned,
    /// A NaT bit reached an operation that must not see one.
    NatConsumption,
    IllegalOperation,
    /// A branch to where no instruction is.
    Unresolved,
    Unsupported,
    Break,
}

/// The place and the reason of a run's early end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    pub kind: FaultKind,
    /// From 1; 0: no line of the file.
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

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rule {
    ReadAfterWrite,
    WriteAfterWrite,
    /// `alloc` behind another instruction of its group.
    AllocNotFirst,
}

/// A rule of instruction groups that execution saw broken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Violation {
    /// From 1.
    pub line: u32,
    pub register: Reg,
    pub rule: Rule,
    /// The line of the earlier write; 0 where there is none.
    pub other: u32,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (line, register, other) = (self.line, self.register, self.other);
        match self.rule {
            Rule::ReadAfterWrite => write!(
                f,
                "line {line}: {register} is read in the group in which line {other} writes it"
            ),
            Rule::WriteAfterWrite => write!(
                f,
                "line {line}: {register} is written in the group in which line {other} writes it"
            ),
            Rule::AllocNotFirst => write!(f, "line {line}: alloc is not first in its group"),
        }
    }
}
