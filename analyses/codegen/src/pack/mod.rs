//! Packets: the operations of a block in as few cycles as their dependences and the processor's units permit.
//!
//! ```text
//! x = load [a]; y = load [b]; z = x + y; n = n - 1      {x y n} {} {} {z}
//! ```
//!
//! A list schedule: cycle by cycle, of the operations whose predecessors are far enough away, those with the longest way to
//! the end of the block first, as long as the packer has room. Operations of a cycle stay in their order, so that the block
//! means the same when they execute one by one. Ends: each cycle places an operation or is one that a latency asks for.
//!
//! Where the list is longer than its operations ask for, a search looks for a shorter order: an exact one where the block is
//! small, bounded by a number of choices where it is large.
//!
//! Operations that are joined are ready when all of them are. Does not look beyond the block.

pub mod check;
mod search;

use crate::mir::dependence::{Dependence, DependenceKind, Locations, control, dependences, writes};
use crate::mir::packer::Packer;
use crate::mir::{Function, Name, Operation, Scheduled};
use search::Groups;

/// Groups that the search for a shorter order looks at: mostly all choices of blocks of some ten operations, some of large
/// ones. Each function is packed in many ways, so that more would keep people waiting.
const BUDGET: u32 = 3000;

/// An order of a block's operations, and their cycles.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Packets {
    /// Operations by their place in the block as it was.
    pub order: Vec<u32>,
    /// The cycle of each of them, not descending.
    pub cycles: Vec<u32>,
}

/// The dependences that say where the operations of a block may stand.
pub(crate) fn edges<T: Scheduled>(
    operations: &[Operation<T>],
    processor: &T::Processor,
    locate: &dyn Fn(Name<T>) -> Locations,
) -> Vec<Dependence> {
    let mut edges = dependences(operations, processor, locate, false, &|_| false, None);
    edges.extend(control(operations));
    edges.extend(settled(operations, locate));
    edges
}

/// The packets of a block.
#[must_use]
pub fn packets<T: Scheduled>(
    operations: &[Operation<T>],
    processor: &T::Processor,
    locate: &dyn Fn(Name<T>) -> Locations,
) -> Packets {
    let edges = edges(operations, processor, locate);
    let packer = T::packer(processor, operations);
    let (groups, group_of) = Groups::new(operations, &edges);
    let mut cycles = list(&groups, &packer);
    let length = cycles.iter().max().map_or(0, |last| last + 1);
    if let Some(shorter) = search::shorter(&groups, &packer, length, BUDGET) {
        cycles = shorter;
    }
    let mut order: Vec<u32> = (0..operations.len() as u32).collect();
    let cycle_of = |at: &u32| cycles[group_of[*at as usize]];
    order.sort_by_key(|at| (cycle_of(at), *at));
    Packets {
        cycles: order.iter().map(cycle_of).collect(),
        order,
    }
}

/// The cycle of each group by lists.
fn list<P: Packer>(groups: &Groups, packer: &P) -> Vec<u32> {
    let count = groups.members.len();
    let mut cycles: Vec<Option<u32>> = vec![None; count];
    let mut left: Vec<usize> = (0..count).collect();
    let mut cycle = 0;
    while !left.is_empty() {
        let mut demand = P::Demand::default();
        // What stands in this cycle lets others stand behind it in the same one.
        let mut again = true;
        while std::mem::take(&mut again) {
            left.retain(|&it| {
                if !groups.is_ready(&cycles, it, cycle) {
                    return true;
                }
                let mut with = demand;
                let members = groups.members[it].iter();
                members.for_each(|&member| packer.add(&mut with, member));
                if !packer.fits(&with) {
                    return true;
                }
                demand = with;
                cycles[it] = Some(cycle);
                again = true;
                false
            });
        }
        cycle += 1;
    }
    cycles.into_iter().flatten().collect()
}

/// Branches stand a cycle behind what is there late.
fn settled<T: Scheduled>(
    operations: &[Operation<T>],
    locate: &dyn Fn(Name<T>) -> Locations,
) -> Vec<Dependence> {
    let late = |operation: &Operation<T>| {
        let stepped = operation.stepped();
        let written = writes(operation)
            .into_iter()
            .filter(|name| Some(*name) != stepped);
        let storage = written.flat_map(locate);
        storage.into_iter().any(|at| T::is_late(operation, at))
    };
    let branches: Vec<u32> = (0..)
        .zip(operations)
        .filter(|(_, it)| it.branch().is_some())
        .map(|(at, _)| at)
        .collect();
    let late = (0..).zip(operations).filter(|(_, it)| late(it));
    let pairs = late.flat_map(|(from, _)| {
        let behind = branches.iter().filter(move |&&to| to > from);
        behind.map(move |&to| (from, to))
    });
    pairs
        .map(|(from, to)| Dependence {
            from,
            to,
            kind: DependenceKind::Control,
            latency: 1,
            distance: 0,
        })
        .collect()
}

/// Packs all blocks of a function whose cycles are not decided.
pub fn pack<T: Scheduled>(
    function: &mut Function<T>,
    processor: &T::Processor,
    locate: &dyn Fn(Name<T>) -> Locations,
) {
    for block in &mut function.blocks {
        if block.operations.is_empty() || !block.cycles.is_empty() {
            continue;
        }
        let found = packets(&block.operations, processor, locate);
        debug_assert_eq!(
            check::check(&block.operations, &found, processor, locate),
            Ok(()),
            "{}",
            function.name
        );
        let mut operations: Vec<Option<Operation<T>>> =
            block.operations.drain(..).map(Some).collect();
        let taken = found.order.iter();
        block.operations = taken
            .filter_map(|&it| operations[it as usize].take())
            .collect();
        block.cycles = found.cycles;
    }
}
