//! Registers and sets for functions of operations. Where registers do not suffice, values spill in whichever way moves least to
//! memory and back, and what can be saved of that is saved.
//!
//! ```text
//! the scan, with registers kept back  \
//! values one by one, least used first  |  as they are: the base     reduced: the first that makes no block of the base longer
//! values one by one, farthest first   /
//! ```

use super::code::{Allocation, Function, Name, Operand, Operation};
use super::frame::Frame;
use super::loops;
use super::machine::{Limits, locate};
use crate::allocate::{self, Order, Reduction, Traffic};
use crate::machine::sets::Sets;
use crate::mir::Block;
use crate::pack::pack;
use crate::refusal::Refusal;
use isa::sc140::Sc140;

/// The ways of reducing spills, the one that takes most away first.
const REDUCTIONS: [Reduction; 3] = [
    Reduction::AnyClass,
    Reduction::OwnClass,
    Reduction::Redundant,
];

/// A function on the machine's registers, in sets.
pub(super) struct Placed {
    pub(super) function: Function,
    pub(super) allocation: Allocation,
    /// The transfers that the base asks for.
    pub(super) given: Traffic,
}

/// Gives registers. `spills`: they do not suffice; `fewer` of each file are left out.
pub(super) fn place(
    function: &Function,
    sets: &Sets,
    (fewer, spills): (usize, bool),
    reduce: bool,
) -> Result<Placed, Refusal> {
    let limits = Limits { spills, fewer };
    let mut scanned = function.clone();
    let allocation = allocate::allocate(&mut scanned, sets, &limits)?;
    let mut base = Packed::new(scanned, allocation, sets);
    if spills {
        for candidate in one_by_one(function, sets, fewer, None) {
            base = base.or_shorter(candidate);
        }
    }
    let given = base.allocation.traffic;
    let chosen = match reduce && given != Traffic::default() {
        true => reduced(function, sets, &limits, base)?,
        false => base,
    };
    Ok(Placed {
        function: chosen.function,
        allocation: chosen.allocation,
        given,
    })
}

/// A function in sets, and the cycles that it takes by the weights of blocks.
struct Packed {
    function: Function,
    allocation: Allocation,
    cycles: f64,
}

impl Packed {
    fn new(mut function: Function, allocation: Allocation, sets: &Sets) -> Packed {
        allocate::jumps(&mut function);
        name(&mut function, &allocation);
        packed(&mut function, &allocation, sets);
        Packed {
            cycles: cycles(&function, &allocation),
            function,
            allocation,
        }
    }
    /// The one of two that takes fewer cycles.
    fn or_shorter(self, other: Packed) -> Packed {
        match other.cycles < self.cycles {
            true => other,
            false => self,
        }
    }
    /// Returns true if it moves no more to memory and back than a base, and no block is longer.
    fn is_no_worse_than(&self, base: &Packed) -> bool {
        let mut blocks = self.function.blocks.iter().zip(&base.function.blocks);
        let (less, all) = (&self.allocation.traffic, &base.allocation.traffic);
        less.is_no_more_than(all)
            && self.cycles <= base.cycles
            && blocks.all(|(now, before)| length(now) <= length(before))
    }
}

/// Values spill one by one, with no registers kept back for them.
fn one_by_one(
    function: &Function,
    sets: &Sets,
    fewer: usize,
    reduction: Option<Reduction>,
) -> Vec<Packed> {
    let limits = Limits {
        spills: false,
        fewer,
    };
    let orders = [Order::LeastUsed, Order::FarthestRead].into_iter();
    orders
        .filter_map(|order| {
            let mut made = function.clone();
            let placed = allocate::allocate_fitted(&mut made, sets, &limits, order, reduction)?;
            Some(Packed::new(made, placed, sets))
        })
        .collect()
}

/// The shortest of those with less spill code than a base that are nowhere longer, or the base.
fn reduced(
    function: &Function,
    sets: &Sets,
    limits: &Limits,
    base: Packed,
) -> Result<Packed, Refusal> {
    for reduction in REDUCTIONS {
        let mut scanned = function.clone();
        let placed = allocate::allocate_reduced(&mut scanned, sets, limits, reduction)?;
        let scanned = Packed::new(scanned, placed, sets);
        let others = one_by_one(function, sets, limits.fewer, Some(reduction));
        // What saves transfers may make sets wait.
        let all = std::iter::once(scanned).chain(others);
        let fitting = all.filter(|candidate| candidate.is_no_worse_than(&base));
        if let Some(shortest) = fitting.reduce(Packed::or_shorter) {
            return Ok(shortest);
        }
    }
    Ok(base)
}

fn length(block: &Block<Sc140>) -> u32 {
    block.cycles.last().map_or(0, |last| last + 1)
}

/// The sets that an execution takes, by the weights of blocks.
pub(super) fn cycles(function: &Function, allocation: &Allocation) -> f64 {
    let frame = Frame::of(function, allocation);
    let around = frame.prologue().len() + frame.epilogue().len() + allocation.arrivals.len();
    let entry = function.blocks.first().map_or(1.0, |block| block.weight);
    let blocks = function.blocks.iter();
    let sets = blocks.map(|block| f64::from(length(block)) * block.weight);
    around as f64 * entry + sets.sum::<f64>()
}

/// Operations name the registers that they were given.
fn name(function: &mut Function, allocation: &Allocation) {
    let operations = function
        .blocks
        .iter_mut()
        .flat_map(|block| &mut block.operations);
    for operation in operations {
        for operand in operation.targets.iter_mut().chain(&mut operation.sources) {
            if let Operand::Register(name) | Operand::Address(name) = operand
                && let Name::Virtual(register) = *name
            {
                *name = Name::Fixed(allocation.register(register));
            }
        }
    }
}

/// Sets of all blocks: loops first, whose length says how they are enabled.
fn packed(function: &mut Function, allocation: &Allocation, sets: &Sets) {
    let own = loops::counted(function);
    let mut aside: Vec<(usize, Vec<Operation>)> = Vec::new();
    for (at, block) in function.blocks.iter_mut().enumerate() {
        if !own.contains(&(at as u32)) && block.cycles.is_empty() {
            aside.push((at, std::mem::take(&mut block.operations)));
        }
    }
    pack(function, sets, &locate(allocation));
    for (at, operations) in aside {
        function.blocks[at].operations = operations;
    }
    loops::settle(function);
    pack(function, sets, &locate(allocation));
}
