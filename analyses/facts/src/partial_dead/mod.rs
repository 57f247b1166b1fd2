//! Partial dead code: a statement whose value some paths never read, moved past joins into the paths that do, under a predicate.
//!
//! ```text
//! if (a) x = e; else x = 0;             if (a) p = true; else { x = 0; p = false; }
//! if (b) use(x);                   ->   if (b) { p ? x = e; use(x); }
//! ```
//!
//! On the way that reads `x` nothing is gained; on the way through `a` that does not read it the statement is
//! gone; on the way that reads `x` and comes from the other side a slot is spent on a copy whose predicate is
//! false. The frequency of each way decides whether that pays.
//!
//! `problem` is the graph as one statement sees it, `paths` the sets of paths of the analysis, `sinking` the
//! places of copies for a choice of joins, `walk` the cost of the result on each path, `choose` the choice.
//!
//! The equations propose; the walk decides: on random graphs the equations' costs are exact in two thirds of the cases
//! only, too high in a quarter and too low in the rest.
//!
//! Source: Gupta, Berson, Fang, *Path Profile Guided Partial Dead Code Elimination Using Predication*, PACT 1997, with
//! corrections: the complement is over a bar of `BLOCK` alone (C1) and inside of the paths through the join (C2), the cost is
//! that of all joins that one forces (C3), a join where the variable is dead already has no benefit (C4), removability asks for
//! availability (C5), a join without anything that sinks into it is not delayed to (C6), critical edges are split (C9).

mod choose;
mod joined;
mod paths;
mod problem;
mod sinking;
#[cfg(test)]
mod tests;
mod walk;

pub use choose::{Choice, choose};
pub use joined::{apart, joined};
pub use paths::{Bits, JoinGain, PathSets, Sets};
pub use problem::{NodeKind, Problem, ProblemError};
pub use sinking::Sinking;
pub use walk::{PathCost, Prices, Walked, walk};
