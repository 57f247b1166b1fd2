//! A loop body as the scheduler sees it: operations, dependences with distances, resources; and a schedule of it.
//!
//! `t(to) >= t(from) + latency - distance * II`, and in every slot `t mod II` a resource serves at most its units.

pub use crate::mir::packer::{Packer, Unlimited};
use std::fmt;

/// The body of a loop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Graph<P: Packer = Unlimited> {
    pub operations: Vec<Operation>,
    pub edges: Vec<Edge>,
    pub resources: Vec<Resource>,
    /// The rules for operations that issue in one cycle, beside the resources, where units stand in for each
    /// other.
    pub packing: Option<P>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Operation {
    /// Index into `Graph::resources`: it takes one unit in the slot in which it starts.
    pub resource: u32,
}

/// A dependence: cycles from the start of one operation to that of another, `distance` iterations later.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Edge {
    pub from: u32,
    pub to: u32,
    /// Negative for an operation that may start so many cycles before the other ends.
    pub latency: i32,
    pub distance: u32,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Resource {
    pub name: String,
    /// `None`: as many as there are operations.
    pub units: Option<u32>,
}

/// Start cycles of the operations of one iteration; a new iteration starts every `ii` cycles.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Schedule {
    /// Initiation interval in cycles.
    pub ii: u32,
    /// Indexed by operation; the least is 0.
    pub start: Vec<u32>,
}

/// The rule that a schedule breaks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Violation {
    Length {
        operations: usize,
        starts: usize,
    },
    Dependence {
        edge: usize,
        missing: i64,
    },
    Resource {
        resource: u32,
        slot: u32,
        wanted: u32,
    },
    /// The operations that start in this slot do not issue in one cycle.
    Row {
        slot: u32,
    },
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Violation::Length { operations, starts } => {
                write!(f, "{starts} starts of {operations} operations")
            }
            Violation::Dependence { edge, missing } => {
                write!(f, "dependence {edge} is {missing} cycles short")
            }
            Violation::Resource {
                resource,
                slot,
                wanted,
            } => write!(f, "resource {resource} serves {wanted} in slot {slot}"),
            Violation::Row { slot } => write!(f, "slot {slot} does not issue in one cycle"),
        }
    }
}

impl Schedule {
    /// From any start times: the first operation starts in cycle 0 of its stage, slots as they are.
    pub(super) fn at(ii: u32, start: &[i64]) -> Schedule {
        let first = start.iter().min().copied().unwrap_or(0);
        Schedule {
            ii,
            start: start.iter().map(|&at| (at - first) as u32).collect(),
        }
    }

    /// Stages: how many iterations are under way at once.
    pub fn stages(&self) -> u32 {
        match self.start.is_empty() {
            true => 0,
            false => self.start.iter().copied().fold(0, u32::max) / self.ii + 1,
        }
    }

    /// Judges by the definition alone.
    pub fn check<P: Packer>(&self, graph: &Graph<P>) -> Result<(), Violation> {
        if self.start.len() != graph.operations.len() {
            return Err(Violation::Length {
                operations: graph.operations.len(),
                starts: self.start.len(),
            });
        }
        for (number, edge) in graph.edges.iter().enumerate() {
            let from = i64::from(self.start[edge.from as usize]);
            let to = i64::from(self.start[edge.to as usize]);
            let earliest =
                from + i64::from(edge.latency) - i64::from(edge.distance) * i64::from(self.ii);
            if to < earliest {
                return Err(Violation::Dependence {
                    edge: number,
                    missing: earliest - to,
                });
            }
        }
        for (resource, data) in graph.resources.iter().enumerate() {
            let Some(units) = data.units else { continue };
            let mut slots = vec![0; self.ii as usize];
            for (operation, &start) in graph.operations.iter().zip(&self.start) {
                if operation.resource as usize == resource {
                    slots[(start % self.ii) as usize] += 1;
                }
            }
            if let Some(slot) = slots.iter().position(|&wanted| wanted > units) {
                return Err(Violation::Resource {
                    resource: resource as u32,
                    slot: slot as u32,
                    wanted: slots[slot],
                });
            }
        }
        if let Some(packing) = &graph.packing {
            let mut rows = vec![P::Demand::default(); self.ii as usize];
            for (operation, &start) in (0..).zip(&self.start) {
                packing.add(&mut rows[(start % self.ii) as usize], operation);
            }
            for (slot, row) in (0..).zip(rows) {
                if !packing.fits(&row) {
                    return Err(Violation::Row { slot });
                }
            }
        }
        Ok(())
    }
}
