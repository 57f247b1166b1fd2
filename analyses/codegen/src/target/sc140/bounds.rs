//! The bounds of the innermost loops of a function, before its loops are pipelined: by units and by recurrence, and the
//! reasons why a loop is none of the hardware.
//!
//! ```text
//! s = L_mac(s, x[i], y[i])      2 accesses, 2 address units: 1 set; s waits for s: 1 set; counted by the hardware
//! while (x[i] != v) i++;        the number of iterations is not known in front: a jump back
//! ```
//!
//! Bounds are those of `pipeline::bounds` with the packer's resources. They are of loops of one block without calls: what others
//! execute depends on the way. Where accesses that may meet hold a loop up, the bound without them is computed, too.

use super::code::{Function, Operation};
use super::counted::counting;
use super::loops::{LoopReport, Reason};
use super::packer::{Packing, Resource, ResourceBound};
use crate::machine::sets::Sets;
use crate::mir::dependence::DependenceKind;
use crate::origin::{Variables, around};
use crate::pipeline::bounds::bounds;
use crate::pipeline::expand::loop_graph;
use crate::pipeline::graph::Graph;
use crate::predicate::loops::{Region, innermost};
use ir::Loc;
use isa::Branch;
use isa::sc140::Mnemonic;
use smol_str::SmolStr;

/// The bounds of a loop's interval.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LoopBounds {
    /// The demand for each resource that is used, the scarcest first.
    pub units: Vec<ResourceBound>,
    /// Cycles; 0 without a recurrence.
    pub rec_mii: u32,
    /// The cycle of dependences that asks for them.
    pub critical: Vec<CriticalLink>,
}

impl LoopBounds {
    /// The least number of sets by units and words.
    #[must_use]
    pub fn res_mii(&self) -> u32 {
        self.units.first().map_or(0, ResourceBound::sets)
    }
    /// The least interval.
    #[must_use]
    pub fn min_ii(&self) -> u32 {
        self.res_mii().max(self.rec_mii).max(1)
    }
    /// The scarcest resource.
    #[must_use]
    pub fn resource(&self) -> Option<Resource> {
        self.units.first().map(|bound| bound.resource)
    }
}

/// An operation of a recurrence: what comes next in it starts so many cycles later, or in a later iteration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CriticalLink {
    pub mnemonic: Mnemonic,
    pub latency: i32,
    pub distance: u32,
    pub loc: Loc,
    /// The variables that hold its result.
    pub variables: Vec<SmolStr>,
}

/// A loop as it was found, by the block that it begins with.
#[derive(Clone)]
pub(super) struct Examined {
    pub header: u32,
    pub report: LoopReport,
}

/// The innermost loops of a function, by header.
pub(super) fn examine(function: &Function, source: &ir::Function, sets: &Sets) -> Vec<Examined> {
    let variables = Variables::of(source);
    let regions = innermost(function).into_iter();
    let examined = regions.map(|region| {
        let operations: Vec<&Operation> = region
            .blocks
            .iter()
            .flat_map(|&block| &function.blocks[block as usize].operations)
            .collect();
        let places: Vec<Loc> = operations.iter().map(|operation| operation.loc).collect();
        let places: Vec<Loc> = places.into_iter().filter(|&loc| loc != Loc::NONE).collect();
        let counted = is_counted(function, &region);
        let mut report = LoopReport {
            loc: places.first().copied().unwrap_or(Loc::NONE),
            head: around(&source.loops, &places).map_or(Loc::NONE, |own| own.loc),
            counted,
            iterations: function.blocks[region.header as usize]
                .rounds
                .map_or(1, |rounds| rounds.iterations),
            ..LoopReport::default()
        };
        if !counted {
            report.reasons.push(uncounted(function, &region));
        }
        let calls = operations
            .iter()
            .any(|operation| operation.branch() == Some(Branch::Call));
        if region.blocks.len() == 1 && !calls {
            let (found, may_meet) = bounded(function, region.header, sets, &variables);
            report.bounds = found;
            report.reasons.extend(may_meet);
        }
        Examined {
            header: region.header,
            report,
        }
    });
    examined.collect()
}

fn is_counted(function: &Function, region: &Region) -> bool {
    region.blocks.iter().any(|&block| {
        let last = function.blocks[block as usize].operations.last();
        last.is_some_and(|last| last.branch() == Some(Branch::Counted))
    })
}

/// The reason why the hardware does not count a loop.
fn uncounted(function: &Function, region: &Region) -> Reason {
    for &block in &region.blocks {
        for operation in &function.blocks[block as usize].operations {
            if operation.branch() == Some(Branch::Call) {
                return Reason::Calls(operation.loc);
            }
        }
    }
    let leaves = |&&block: &&u32| {
        let next = function.successors(block);
        Some(&block) != region.blocks.last() && next.iter().any(|to| !region.blocks.contains(to))
    };
    if let Some(&block) = region.blocks.iter().find(leaves) {
        let mut operations = function.blocks[block as usize].operations.iter().rev();
        let branch = operations.find(|operation| operation.branch().is_some());
        return Reason::LeavesEarly(branch.map_or(Loc::NONE, |branch| branch.loc));
    }
    match counting(function, region) {
        None => Reason::TripCount,
        Some((split, found)) if found.may_be_too_long(&split, region) => Reason::MaybeTooLong,
        Some(_) => Reason::Branches,
    }
}

/// The bounds of a loop of one block, and a pair of accesses without which they would be lower.
fn bounded(
    function: &Function,
    header: u32,
    sets: &Sets,
    variables: &Variables,
) -> (Option<LoopBounds>, Option<Reason>) {
    let (graph, kinds) = loop_graph(function, header, sets);
    let Ok(found) = bounds(&graph) else {
        return (None, None);
    };
    let operations = &function.blocks[header as usize].operations;
    let demand = graph.packing.as_ref().map(Packing::demand);
    let mut units: Vec<ResourceBound> = demand.into_iter().flatten().collect();
    units.retain(|bound| bound.wanted > 0);
    // The units themselves before what they share, those that are used most first.
    let shared =
        |bound: &ResourceBound| matches!(bound.resource, Resource::Instructions | Resource::Words);
    let share = |bound: &ResourceBound| bound.wanted * 1000 / bound.limit.max(1);
    units.sort_by_key(|bound| {
        let most = std::cmp::Reverse;
        (most(bound.sets()), shared(bound), most(share(bound)))
    });
    let links = found.cycle.iter().map(|&edge| {
        let edge = &graph.edges[edge as usize];
        let operation = &operations[edge.from as usize];
        let held = variables.defined_at(operation.loc);
        CriticalLink {
            mnemonic: operation.mnemonic,
            latency: edge.latency,
            distance: edge.distance,
            loc: operation.loc,
            variables: held
                .filter_map(|held| variables.name(held).cloned())
                .collect(),
        }
    });
    let out = LoopBounds {
        units,
        rec_mii: found.rec_mii,
        critical: links.collect(),
    };
    let reason = may_meet(&graph, &kinds, &found.cycle, &out).map(|(edge, bound)| {
        let place = |at: u32| operations[at as usize].loc;
        Reason::MayMeet {
            store: place(edge.0),
            other: place(edge.1),
            bound,
        }
    });
    (Some(out), reason)
}

/// The accesses at the ends of a dependence through memory on the recurrence that limits, and the bound without all such
/// dependences.
fn may_meet(
    graph: &Graph<Packing>,
    kinds: &[DependenceKind],
    cycle: &[u32],
    known: &LoopBounds,
) -> Option<((u32, u32), u32)> {
    if known.rec_mii <= known.res_mii() {
        return None;
    }
    let through_memory = |edge: &u32| kinds[*edge as usize] == DependenceKind::Memory;
    let first = &graph.edges[*cycle.iter().find(|edge| through_memory(edge))? as usize];
    let mut apart = graph.clone();
    let mut kinds = kinds.iter();
    apart
        .edges
        .retain(|_| kinds.next() != Some(&DependenceKind::Memory));
    let without = bounds(&apart).ok()?.rec_mii.max(known.res_mii()).max(1);
    (without < known.min_ii()).then_some(((first.from, first.to), without))
}
