//! Software pipelining: bounds of the initiation interval and modulo schedules of a loop's dependence graph.
pub mod bounds;
pub mod exact;
pub mod expand;
pub mod graph;
pub mod iterative;
pub mod lifetime;
mod reservation;

use bounds::{Bounds, Impossible, bounds};
use exact::{Answer, exact};
use graph::{Graph, Packer, Schedule};
use iterative::iterative;

/// The most work that a schedule may cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Placements an operation of the iterative scheduler, at each interval.
    pub placements: usize,
    /// Decisions of the exact search, at each interval.
    pub decisions: usize,
    /// Intervals that are tried above the lower bound.
    pub intervals: u32,
    /// No interval below this one is tried.
    pub least: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            placements: 12,
            decisions: 4_000,
            intervals: 64,
            least: 1,
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Failure {
    Impossible(Impossible),
    /// Up to this interval nothing was found.
    Limits {
        bounds: Bounds,
        tried: u32,
    },
}

/// The schedule with the least interval that the limits let find.
pub fn schedule<P: Packer>(graph: &Graph<P>, limits: &Limits) -> Result<Schedule, Failure> {
    let bounds = bounds(graph).map_err(Failure::Impossible)?;
    let packing = graph.packing.as_ref().map_or(0, P::res_mii);
    let least = bounds.min_ii().max(packing).max(limits.least);
    for ii in least..=least.saturating_add(limits.intervals) {
        let budget = graph.operations.len() * limits.placements;
        if let Some(found) = iterative(graph, ii, budget) {
            return Ok(found);
        }
        if let Answer::Found(found) = exact(graph, ii, limits.decisions) {
            return Ok(found);
        }
    }
    Err(Failure::Limits {
        bounds,
        tried: least.saturating_add(limits.intervals),
    })
}
#[cfg(test)]
mod tests;
