//! A body whose values fit a number of registers, by the allocators of Sampaio et al. (TOPLAS 2013, section 4): linear scan
//! that spills everywhere to local memory, and the same with the spill code rewritten by what is known of the values.
//!
//! What is spilled where and by which code is the business of [`super::homes`].

use super::homes::{Policy, Slots, once};
use super::listing::{Listing, accepts, declarations};
use super::states::State;
use super::{Body, Limits, Operation};
use crate::allocate::rounds;
use crate::mir::Target;
use crate::refusal::Refusal;
use isa::ptx::{Class, Ptx};
use smol_str::ToSmolStr;
use std::collections::BTreeMap;
use syntax::ptx::PtxFunction;

pub use super::homes::{Budget, Home, Spilled};

/// The allocator that decides where spilled values live.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Allocator {
    /// Once a lane in local memory, all of them.
    Linear,
    /// Uniform values once a warp (the paper's DivRA).
    Divergence,
    /// By all four rows (the paper's AffRA).
    Affine,
}

/// A body that fits.
#[derive(Clone, PartialEq, Debug)]
pub struct Made {
    /// The text of the whole function.
    pub text: String,
    pub spilled: Vec<Spilled>,
    /// Of a workgroup, and of a lane.
    pub shared_bytes: u32,
    pub local_bytes: u32,
}

/// Writes a function so that its values fit the budget. `states` are those of its registers, `early` tells of a statement
/// whether all lanes of a warp execute it together, once.
///
/// # Errors
/// Where one instruction names more registers than the budget has, and where registers are parameters or results.
pub fn fit(
    tree: &PtxFunction,
    body: &Body,
    text: &str,
    allocator: Allocator,
    states: &[State],
    early: &dyn Fn(u32) -> bool,
    budget: &Budget,
) -> Result<Made, Refusal> {
    accepts(tree)?;
    let mut function = body.function.clone();
    // A kernel alone knows its warps, and a shift numbers them.
    let knows = tree.entry && budget.lanes.is_power_of_two();
    let policy = Policy {
        uniform: knows && allocator != Allocator::Linear,
        affine: knows && allocator == Allocator::Affine,
        columns: None,
        flat: false,
    };
    let mut slots = Slots::new(policy, states, once(body, early), budget);
    let own = function.registers.len();
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
    let limits = Limits {
        words: budget.words,
        predicates: budget.predicates,
    };
    let files = Ptx::files(&function, &(), &limits);
    let fitted = rounds::fit(&mut function, &files, &kept, &mut slots)?;
    let away = fitted.spilled.iter().filter(|away| (away.0 as usize) < own);
    let spilled = slots.spilled(body, away.copied());
    // What the slots need, where there are any; `%tid.x` where a value is rebuilt of it.
    let wanted = |operation: &Operation| match operation.writes().next() == slots.thread {
        true => slots.rebuilds(),
        false => slots.warp_bytes > 0,
    };
    let first = fitted.around[0].iter().take(prologue.len());
    let first: Vec<Operation> = first.map(|row| row.now.clone()).filter(wanted).collect();
    let listing = Listing {
        tree,
        body,
        text,
        around: &fitted.around,
        slots: &slots,
        skipped: prologue.len() as u32,
        prologue: &first,
        names: fitted.registers.iter().map(ToSmolStr::to_smolstr).collect(),
        directive: None,
        declarations: declarations(&fitted.registers),
        declares: false,
        notes: BTreeMap::new(),
    };
    Ok(Made {
        text: listing.print(),
        spilled,
        shared_bytes: slots.shared_bytes(),
        local_bytes: slots.lane_bytes,
    })
}
