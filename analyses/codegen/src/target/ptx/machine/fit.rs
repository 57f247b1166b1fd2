//! A body whose values fit a number of registers, by the allocators of Sampaio et al. (TOPLAS 2013, section
//! 4): linear scan that spills everywhere to local memory, and the same with the spill code rewritten by the
//! facts about the values; and by ours, [`super::spare`].
//!
//! The choice of the spilled values' homes and code belongs to [`super::homes`].

use super::homes::{Policy, Slots, sharing};
use super::listing::{Listing, accepts, declarations, rolled};
use super::states::{Arrival, State};
use super::{Body, Limits, Operation, spare};
use crate::allocate::rounds::{self, Around, Order};
use crate::mir::{Target, Virtual};
use crate::refusal::Refusal;
use isa::ptx::{Class, Ptx, Register};
use smol_str::ToSmolStr;
use syntax::ptx::PtxFunction;

pub use super::homes::{Budget, Home, Scheduling, Spilled};

/// The allocator that decides where spilled values live.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Allocator {
    /// Once a lane in local memory, all of them.
    Linear,
    /// Uniform values once a warp (the paper's DivRA).
    Divergence,
    /// All four rows (the paper's AffRA).
    Affine,
    /// The home that costs least; a value is computed again where that is cheapest, and stays in a register
    /// wherever there is room.
    Lockstep,
}

/// A body that fits.
#[derive(Clone, PartialEq, Debug)]
pub struct Made {
    /// The text of the whole function.
    pub text: String,
    pub spilled: Vec<Spilled>,
    /// The bytes of a workgroup, and those of a lane.
    pub shared_bytes: u32,
    pub local_bytes: u32,
}

/// Writes a function so that its values fit the budget. `states` are those of its registers, `arrivals` those
/// of its statements.
///
/// # Errors
/// Where one instruction names more registers than the budget has, and where registers are parameters or results.
pub fn fit(
    source: Source<'_>,
    allocator: Allocator,
    states: &[State],
    arrivals: &[Arrival],
    budget: &Budget,
) -> Result<Made, Refusal> {
    let Source { tree, body, .. } = source;
    accepts(tree)?;
    // A kernel alone knows its warps, and a shift numbers them.
    let knows = tree.entry && budget.lanes.is_power_of_two();
    if allocator == Allocator::Lockstep {
        return spare::fit(source, states, arrivals, budget, knows);
    }
    let mut function = body.function.clone();
    let policy = Policy {
        uniform: knows && allocator != Allocator::Linear,
        affine: knows && allocator == Allocator::Affine,
        ..Policy::default()
    };
    let mut slots = Slots::new(policy, states, sharing(body, arrivals, budget), budget);
    let mut kept = Vec::new();
    if policy.uniform {
        let base = function.register(Class::Word);
        slots.base = Some(base);
        kept.push(base);
    }
    if policy.affine {
        let thread = function.register(Class::Word);
        slots.thread = Some(thread);
        kept.push(thread);
    }
    // Registers of the machine that live through the whole function.
    let prologue = slots.prologue(&mut function);
    for (at, operation) in prologue.iter().enumerate() {
        function.blocks[0].operations.insert(at, operation.clone());
    }
    let files = Ptx::files(&function, &(), &budget.limits());
    let fitted = rounds::fit(
        &mut function,
        &files,
        &kept,
        Order::FarthestRead,
        &mut slots,
    )?;
    Ok(source.made(
        &slots,
        &fitted.around,
        prologue.len(),
        &fitted.registers,
        &fitted.spilled,
    ))
}

impl Budget {
    pub(super) fn limits(&self) -> Limits {
        Limits {
            words: self.words,
            predicates: self.predicates,
        }
    }
}

/// A function as it was read.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    pub tree: &'a PtxFunction,
    pub body: &'a Body,
    /// The item's.
    pub text: &'a str,
    /// Labels of loops, by their statements, that an assembler must not unroll.
    pub rolled: &'a [u32],
}

impl Source<'_> {
    /// The function with registers in place of its values, and code around its operations. As many operations as the prologue
    /// has stand in front of those of the first block.
    pub(super) fn made(
        &self,
        slots: &Slots<'_>,
        around: &[Vec<Around<Ptx>>],
        prologue: usize,
        registers: &[Register],
        away: &[Virtual],
    ) -> Made {
        let own = self.body.function.registers.len();
        let away = away.iter().filter(|away| (away.0 as usize) < own);
        // The operations that the slots need, where there are any; those on `%tid.x` if a value is rebuilt
        // from it.
        let wanted = |operation: &Operation| match operation.writes().next() == slots.thread {
            true => slots.rebuilds(),
            false => slots.warp_bytes > 0 || slots.used_lanes > 0,
        };
        let first = around[0].iter().take(prologue);
        let first: Vec<Operation> = first.map(|row| row.now.clone()).filter(wanted).collect();
        let listing = Listing {
            tree: self.tree,
            body: self.body,
            text: self.text,
            around,
            slots,
            skipped: prologue as u32,
            prologue: &first,
            names: registers.iter().map(ToSmolStr::to_smolstr).collect(),
            directive: None,
            declarations: declarations(registers),
            declares: false,
            notes: rolled(self.rolled),
        };
        Made {
            text: listing.print(),
            spilled: slots.spilled(self.body, away.copied()),
            shared_bytes: slots.shared_bytes(),
            local_bytes: slots.lane_bytes,
        }
    }
}
