//! Transformations of the IR that a profile of paths decides, in front of code generation.
//!
//! `ways` are the paths, which follow each change of the blocks; `price` tells their cycles on a processor that issues in
//! order. `speculate` evaluates partly redundant expressions where that happens least often, `sink` moves
//! partly dead values to where they are read; `region`, `web` and `memory` tell what is in the way, `repair` gives readers
//! their values. Each change is made on a copy, and kept if the profiled ways take fewer cycles with it.

mod memory;
mod price;
mod region;
mod repair;
mod sink;
mod speculate;
mod ways;
mod web;

pub use price::Processor;
pub use sink::Sunk;
pub use speculate::Speculated;

use facts::paths::{PathNumbers, PathProfile, unread};
use ir::{Block, Function};
use ways::Work;

/// The terms on which a function is transformed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Terms<'a> {
    /// Copies may execute under a flag.
    pub flags: bool,
    /// The share of the function's cycles that a change must save.
    pub least: f64,
    /// The headers of loops whose iterations overlap: what a predicate suppresses there takes its slot all the same, so
    /// that nothing is changed in them.
    pub pipelined: &'a [Block],
}

/// A function after its transformations.
#[derive(Clone, PartialEq, Debug)]
pub struct Profiled {
    pub function: Function,
    /// Executions of each block in the profiled runs.
    pub executions: Vec<u64>,
    pub speculated: Vec<Speculated>,
    pub sunk: Vec<Sunk>,
    /// Estimated cycles of the profiled runs, before and after.
    pub before: f64,
    pub after: f64,
}

/// Transforms a function by the paths that its runs took. `None`: the counts are not those of the function, or not all
/// of its paths were counted.
#[must_use]
pub fn transform(
    function: &Function,
    numbers: &PathNumbers,
    profile: &PathProfile,
    processor: &Processor<'_>,
    terms: Terms<'_>,
) -> Option<Profiled> {
    let mut numbered = function.clone();
    crate::prepare::number(&mut numbered);
    let mut work = Work::new(&numbered, numbers, profile)?;
    let before = work.cycles(processor);
    let speculated = speculate::speculate(&mut work, processor, terms);
    let unread = unread(&numbered, numbers, profile);
    let sunk = sink::sink(&mut work, &unread, processor, terms);
    let after = work.cycles(processor);
    let (function, executions) = work.finish();
    Some(Profiled {
        function,
        executions,
        speculated,
        sunk,
        before,
        after,
    })
}
