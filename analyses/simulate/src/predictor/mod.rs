//! A laboratory of branch predictors: the predictions of a design on a trace of branches and of predicate
//! definitions, and the number of mispredictions.
//!
//! ```text
//! cmp p2,p3 = (a > b)     fetched in cycle 7, known after cycle 27
//! br  (p5)                fetched in cycle 18: the history holds no compare
//! br                      fetched in cycle 50: the history ends with the compare's value
//! ```
//!
//! A *design* is a predictor of directions (the chooser of the 21264, gshare, TAGE) with additions for predicated code: a
//! branch whose guard is known to be false is not taken (`squash`), local histories are chosen by the guard (`Pep`), and
//! values of compares enter the global history (`Defines`). Histories are speculative, written at fetch; counters are
//! written when a branch is resolved. A trace has only what was executed: behind a misprediction nothing is fetched until
//! the branch is resolved, then the history is recovered from its checkpoint.
//!
//! Every event costs constant time, so a run ends with its trace. Targets of returns and of indirect branches are not
//! predicted: directions alone are counted.
//!
//! Source: B. Simon, B. Calder, J. Ferrante, *Incorporating Predicate Information into Branch Predictors*, EPIC-1, 2001,
//! section 3; D. August et al., *Architectural Support for Compiler-Synthesized Dynamic Branch Prediction Strategies*,
//! 1997; A. Seznec, P. Michaud, *A Case for (Partially) Tagged Geometric History Length Branch Prediction*, JILP 8, 2006.

mod counter;
mod design;
mod gshare;
mod history;
mod laboratory;
mod meta;
pub mod region;
mod tage;
#[cfg(test)]
mod tests;

pub use design::{Defines, Design, Direction, Local, MetaSizes, TageSizes, UnknownDesign};
pub use laboratory::{Laboratory, simulate};

/// A predicate and the value that a definition gives it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Write {
    /// The predicate's number in the register file, rotation undone.
    pub predicate: u16,
    pub value: bool,
}

/// The definition of one or two predicates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Define {
    /// Cycles since the event before was fetched.
    pub gap: u32,
    /// Cycles from its fetch until its values are known: fetches of later cycles see them.
    pub delay: u32,
    pub first: Write,
    pub second: Option<Write>,
    /// A compare, whose first value enters histories that hold such values. A logical sum of predicates is none.
    pub compare: bool,
}

/// A branch that execution came to, taken or not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Branch {
    /// Cycles since the event before was fetched.
    pub gap: u32,
    /// Its place, counted in instructions: tables are indexed by the low bits.
    pub pc: u64,
    pub taken: bool,
    /// The predicate without which it is not taken; 0: it has none.
    pub guard: u16,
}

/// An element of a trace, in the order of execution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    Define(Define),
    Branch(Branch),
}

/// The prediction of a branch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Prediction {
    pub taken: bool,
    pub wrong: bool,
    /// Its guard was known to be false.
    pub squashed: bool,
    /// Its guard was false, which was not known: cycles that the definition would have to stand earlier.
    pub late: Option<u64>,
}

/// The executions and predictions of a branch, or of all of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    pub executed: u64,
    pub taken: u64,
    pub mispredicted: u64,
    /// Times that the guard was known to be false.
    pub squashed: u64,
    /// Times that the guard was false and not yet known, and the most cycles by which its definition stood too late.
    pub late: u64,
    pub earlier: u64,
}

impl Counts {
    /// Mispredictions of all executions, from 0 to 1.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.mispredicted as f64 / self.executed.max(1) as f64
    }
    fn add(&mut self, taken: bool, prediction: Prediction) {
        self.executed += 1;
        self.taken += u64::from(taken);
        self.mispredicted += u64::from(prediction.wrong);
        self.squashed += u64::from(prediction.squashed);
        if let Some(cycles) = prediction.late {
            self.late += 1;
            self.earlier = self.earlier.max(cycles);
        }
    }
}

/// The counts of a design after a trace.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Outcome {
    pub all: Counts,
    /// Places, ascending, and their counts.
    pub branches: Vec<(u64, Counts)>,
    /// Cycles of fetch, with the time that passed until mispredicted branches were resolved.
    pub cycles: u64,
}
