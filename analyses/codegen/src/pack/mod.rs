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
//! Operations that are joined are ready when all of them are. Does not look beyond the block.

pub mod check;

use crate::mir::dependence::{Dependence, DependenceKind, Locations, control, dependences, writes};
use crate::mir::packer::Packer;
use crate::mir::{Function, Name, Operation, Scheduled};

/// An order of a block's operations, and their cycles.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Packets {
    /// Operations by their place in the block as it was.
    pub order: Vec<u32>,
    /// The cycle of each of them, not descending.
    pub cycles: Vec<u32>,
}

/// The packets of a block.
#[must_use]
pub fn packets<T: Scheduled>(
    operations: &[Operation<T>],
    processor: &T::Processor,
    locate: &dyn Fn(Name<T>) -> Locations,
) -> Packets {
    let mut edges = dependences(operations, processor, locate, false, &|_| false, None);
    edges.extend(control(operations));
    edges.extend(settled(operations, locate));
    let count = operations.len();
    let mut incoming: Vec<Vec<Dependence>> = vec![Vec::new(); count];
    let mut height = vec![0u32; count];
    for edge in &edges {
        incoming[edge.to as usize].push(*edge);
    }
    for to in (0..count).rev() {
        for edge in &incoming[to] {
            let through = height[to] + edge.latency;
            let known = &mut height[edge.from as usize];
            *known = (*known).max(through);
        }
    }
    let packer = T::packer(processor, operations);
    let mut cycle_of: Vec<Option<u32>> = vec![None; count];
    // Operations that stand together are represented by the first of them.
    let joined = |at: u32| {
        let before = at.checked_sub(1).map(|before| &operations[before as usize]);
        before.is_some_and(|before| T::are_joined(before, &operations[at as usize]))
    };
    let members = |first: u32| {
        let more = (first + 1..count as u32).take_while(|&at| joined(at));
        std::iter::once(first).chain(more)
    };
    let mut left: Vec<u32> = (0..count as u32).filter(|&at| !joined(at)).collect();
    let longest = |it: u32| members(it).map(|member| height[member as usize]).max();
    left.sort_by_key(|&it| (std::cmp::Reverse(longest(it)), it));
    let mut out = Packets::default();
    let mut cycle = 0;
    while !left.is_empty() {
        let mut demand = <T::Packer as Packer>::Demand::default();
        let mut packet: Vec<u32> = Vec::new();
        // What stands in this cycle lets others stand behind it in the same one.
        let mut again = true;
        while std::mem::take(&mut again) {
            left.retain(|&it| {
                let ready = members(it).all(|member| {
                    incoming[member as usize].iter().all(|edge| {
                        let own = (it..=member).contains(&edge.from);
                        let from = cycle_of[edge.from as usize];
                        own || from.is_some_and(|from| from + edge.latency <= cycle)
                    })
                });
                if !ready {
                    return true;
                }
                let mut with = demand;
                members(it).for_each(|member| packer.add(&mut with, member));
                if !packer.fits(&with) {
                    return true;
                }
                demand = with;
                for member in members(it) {
                    cycle_of[member as usize] = Some(cycle);
                    packet.push(member);
                }
                again = true;
                false
            });
        }
        packet.sort_unstable();
        out.cycles.extend(packet.iter().map(|_| cycle));
        out.order.extend(packet);
        cycle += 1;
    }
    out
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
