//! Transformations of the IR that a profile of paths decides, in front of code generation.
//!
//! `ways` are the paths, which follow each change of the blocks; `price` tells their cycles on a processor that issues in
//! order. `speculate` evaluates partly redundant expressions where that happens least often, `sink` moves
//! partly dead values to where they are read, `skip` guards loads that cannot matter where a value is zero; `region`, `web` and `memory` tell what is in the way, `repair` gives readers
//! their values. Each change is made on a copy, and kept if the profiled ways take fewer cycles with it.

mod memory;
mod price;
mod region;
mod repair;
mod sink;
mod skip;
mod speculate;
mod ways;
mod web;

pub use price::Processor;
pub use sink::Sunk;
pub use skip::{Absorbing, SkipProfile, Skipped, skip};
pub use speculate::Speculated;

use facts::paths::{PathNumbers, PathProfile, unread};
use ir::{Block, Function, Inst, Op, Value};
use rustc_hash::FxHashSet;
use ways::Work;

/// The terms on which a function is transformed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Terms<'a> {
    /// Values are computed where they are read: by counts of paths, not of edges alone.
    pub sinks: bool,
    /// Copies may execute under a flag.
    pub flags: bool,
    /// Partly redundant expressions are evaluated elsewhere.
    pub redundant: bool,
    /// Loads may be speculative: registers keep the mark of one that failed, until a check.
    pub ahead: bool,
    /// The share of the function's cycles that a change must save.
    pub least: f64,
    /// The share that all of them must save together, else none is made: an estimate is no better than that.
    pub altogether: f64,
    /// The headers of loops whose iterations overlap: what a predicate suppresses there takes its slot all the same, so
    /// that values are only moved out of them.
    pub pipelined: &'a [Block],
}

/// A function after its transformations.
#[derive(Clone, PartialEq, Debug)]
pub struct Profiled {
    pub function: Function,
    /// Executions of each block in the profiled runs.
    pub executions: Vec<u64>,
    /// Those of the blocks of the function as it was.
    pub executions_before: Vec<u64>,
    pub speculated: Vec<Speculated>,
    pub sunk: Vec<Sunk>,
    /// Of `skip`, which `transform` leaves to others.
    pub skipped: Vec<Skipped>,
    /// Estimated cycles of the profiled runs, before and after.
    pub before: f64,
    pub after: f64,
}

impl Profiled {
    /// Nothing is changed.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.speculated.is_empty() && self.sunk.is_empty() && self.skipped.is_empty()
    }

    /// Cycles of the profiled runs that are not waited for caches.
    #[must_use]
    pub fn spared(&self) -> f64 {
        self.skipped.iter().map(|skipped| skipped.spared).sum()
    }
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
    number(&mut numbered);
    let mut work = Work::new(&numbered, numbers, profile)?;
    let original = work.clone();
    // What code generation does without a profile is no gain of it. A loop is entered from a block of its own, or not at
    // all, so that no block is added.
    let blocks = work.function.blocks.len();
    crate::prepare::hoist(&mut work.function);
    number(&mut work.function);
    debug_assert_eq!(work.function.blocks.len(), blocks, "ways are of blocks");
    let before = work.cycles(processor);
    // Of edges that were divided there is no block.
    let mut executions_before = original.executions();
    executions_before.truncate(function.blocks.len());
    let speculated = match terms.redundant {
        true => speculate::speculate(&mut work, processor, terms),
        false => Vec::new(),
    };
    let sunk = match terms.sinks {
        true => {
            let unread = unread(&numbered, numbers, profile);
            sink::sink(&mut work, &unread, processor, terms)
        }
        false => Vec::new(),
    };
    let after = work.cycles(processor);
    if before - after < terms.altogether * before {
        return Some(Profiled {
            executions: executions_before.clone(),
            executions_before,
            function: function.clone(),
            speculated: Vec::new(),
            sunk: Vec::new(),
            skipped: Vec::new(),
            before,
            after: before,
        });
    }
    let (function, executions) = work.finish();
    Some(Profiled {
        function,
        executions,
        executions_before,
        speculated,
        sunk,
        skipped: Vec::new(),
        before,
        after,
    })
}

/// Uses one of equal operations and loads where it is seen, and removes operations of which nothing reads the result.
fn number(function: &mut Function) {
    crate::prepare::merge(function, true);
    let dead = dead(function);
    for block in function.layout.clone() {
        let insts = &mut function.blocks[block].insts;
        insts.retain(|inst| !dead.contains(inst));
    }
}

/// Operations of which nothing needs the result.
fn dead(function: &Function) -> FxHashSet<Inst> {
    let computes = |inst: Inst| {
        let data = &function.insts[inst];
        crate::prepare::is_pure(data) || matches!(data.op, Op::Const(_) | Op::Undef)
    };
    let operands = ir::needed::operands(function);
    let mut roots = ir::needed::roots(function, |inst| !computes(inst), &operands);
    // Parameters stay, and with them what is passed to them.
    for &block in &function.layout {
        roots.extend(function.blocks[block].terminator.operands());
    }
    let needed = ir::needed::needed(function, roots, &operands);
    let read = |inst: Inst| {
        let mut results = function.insts[inst].results.iter();
        results.any(|result| needed.contains(result))
    };
    let all = function.insts.keys();
    all.filter(|&inst| computes(inst) && !read(inst)).collect()
}

fn is_constant(function: &Function, value: Value) -> bool {
    function
        .defining(value)
        .is_some_and(|data| matches!(data.op, Op::Const(_)))
}
