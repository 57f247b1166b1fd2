//! Allocation by the cost of keeping a value elsewhere: few registers, little traffic.
//!
//! ```text
//! 1. where more is live than there are registers, the value goes that is cheapest there for the crowded places that it
//!    leaves ([`super::crowd`]); it keeps a register wherever there is room, in whole loops too
//! 2. the rest is coloured ([`crate::allocate::colour`]); what finds no register goes everywhere
//! ```
//!
//! The home of a value is the cheapest one that it may have: a number, a few instructions again, one slot a warp, local memory.
//! Slots of warps take a register for their address and code at the start, words in the lanes of a register take that
//! register; the body is allocated with either and without, and the cheaper result is taken. Should colouring fail, it is tried with fewer live words, and last without the first step.
//!
//! Source: section 8 of the notes on Sampaio et al., *Divergence Analysis* (TOPLAS 2013); the order of the steps as in Hack,
//! Grund, Goos, *Register allocation for programs in SSA form* (CC 2006).

use super::again::Copies;
use super::crowd::{Crowd, Price};
use super::fit::{Budget, Home, Made, Source};
use super::homes::{Policy, Slots, met_by_every_lane, sharing};
use super::states::{Arrival, State};
use super::{Body, Operation};
use crate::allocate::Place;
use crate::allocate::colour::colour;
use crate::mir::function::{FrameOffset, Operand};
use crate::mir::{Target, Virtual};
use crate::refusal::Refusal;
use isa::ptx::{Class, Ptx, Register};
use rustc_hash::FxHashSet;
use smol_str::SmolStr;

/// Costs of accesses in issued instructions: of local memory, of which a line in the first-level cache answers later than
/// shared memory, of shared memory, and of an instruction that computes.
const LOCAL: f64 = 8.0;
const SHARED: f64 = 5.0;
const PLAIN: f64 = 1.0;
/// The cost of the least code by which a warp finds its slots, or a register takes words of the warp.
const PROLOGUE: f64 = 1.0;

/// The cost of accesses to a home; every home has one.
fn price(home: Home, class: Class) -> Price {
    let (load, store) = match home {
        Home::Constant(_) | Home::Reload => (PLAIN, 0.0),
        Home::Known(..) => (2.0 * PLAIN, 0.0),
        Home::Again(count) => (f64::from(count) * PLAIN, 0.0),
        Home::Warp(_) | Home::Column(_) => (SHARED, SHARED),
        Home::RegisterLane(_) => (SHARED, 3.0 * PLAIN),
        Home::WarpBase(..) => (SHARED + 2.0 * PLAIN, SHARED + 2.0 * PLAIN),
        // A predicate is a number on its way.
        Home::Lane(_) if class == Class::Predicate => (LOCAL + PLAIN, LOCAL + PLAIN),
        Home::Lane(_) => (LOCAL, LOCAL),
    };
    Price { load, store }
}

/// The cost of an operation that was put around others.
fn cost(operation: &Operation) -> f64 {
    let is = |name| operation.mnemonic.opcode().name() == name;
    let operands = || operation.sources.iter();
    // As [`Crowd::price`] has it.
    if is("bar") || is("shfl") {
        return SHARED;
    }
    if !is("ld") && !is("st") {
        return PLAIN;
    }
    if operands().any(|operand| matches!(operand, Operand::Frame(_))) {
        return LOCAL;
    }
    match operands().any(|operand| matches!(operand, Operand::Address(_))) {
        true => SHARED,
        false => PLAIN,
    }
}

/// The homes of values that are the same in all lanes of a warp.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Uniform {
    /// Those of other values.
    Plain,
    /// Slots of the warp.
    Slots,
    /// Lanes of a register.
    RegisterLanes,
}

struct Attempt<'a> {
    crowd: Crowd<'a>,
    registers: Vec<Register>,
    prologue: usize,
}

/// Writes a function so that its values fit the budget. `knows` tells that its warps have numbers.
///
/// # Errors
/// Where one instruction names more registers than the budget has.
pub(super) fn fit(
    source: Source<'_>,
    states: &[State],
    arrivals: &[Arrival],
    budget: &Budget,
    knows: bool,
) -> Result<Made, Refusal> {
    let sharing = sharing(source.body, arrivals, budget);
    let mut best: Option<(f64, Attempt<'_>)> = None;
    let mut refused = Refusal::Registers {
        file: SmolStr::new_static("Word"),
        available: budget.words.into(),
    };
    let copies = match source.tree.entry {
        true => Copies::new(source.tree, source.body),
        false => Copies::default(),
    };
    for uniform in [Uniform::Plain, Uniform::Slots, Uniform::RegisterLanes] {
        let policy = Policy {
            uniform: knows && uniform == Uniform::Slots,
            affine: knows,
            again: source.tree.entry,
            register_lanes: knows && uniform == Uniform::RegisterLanes && budget.shares_registers(),
            ..Policy::default()
        };
        let mut slots = Slots::new(policy, states, sharing.clone(), budget);
        slots.copies.clone_from(&copies);
        if policy.register_lanes {
            slots.met = met_by_every_lane(source.body, arrivals);
        }
        if uniform != Uniform::Plain
            && !pays(&slots, source.body, best.as_ref().map(|best| &best.1))
        {
            continue;
        }
        let most = u32::from(budget.words);
        let limits = [Some(most), most.checked_sub(1), most.checked_sub(2), None];
        for limit in limits {
            match attempt(source, &slots, budget, limit) {
                Ok(attempt) => {
                    let slots = &attempt.crowd.slots;
                    let starts = match slots.warp_bytes > 0 || slots.used_lanes > 0 {
                        true => attempt.prologue as f64 * PLAIN,
                        false => 0.0,
                    };
                    let cost = attempt.crowd.cost(&cost) + starts;
                    if best.as_ref().is_none_or(|best| cost < best.0) {
                        best = Some((cost, attempt));
                    }
                    break;
                }
                Err(refusal) => refused = refusal,
            }
        }
        // Nothing is better than no traffic.
        if best.as_ref().is_some_and(|best| best.0 <= 0.0) {
            break;
        }
    }
    let (_, found) = best.ok_or(refused)?;
    let Crowd {
        slots,
        around,
        away,
        ..
    } = &found.crowd;
    Ok(source.made(slots, around, found.prologue, &found.registers, away))
}

/// Returns whether values that an allocation keeps elsewhere, or any without one, would be kept once for their warp, and whether
/// their traffic with local memory takes more than the code at the start that shares them.
fn pays(slots: &Slots<'_>, body: &Body, found: Option<&Attempt<'_>>) -> bool {
    let count = body.function.registers.len() as u32;
    let shares = |register: Virtual| {
        let home = slots.wanted(&body.function, register);
        matches!(
            home,
            Home::Warp(_) | Home::WarpBase(..) | Home::RegisterLane(_)
        )
    };
    let Some(found) = found else {
        return (0..count).map(Virtual).any(shares);
    };
    let crowd = &found.crowd;
    let away = crowd.away.iter().copied();
    let shared = away.filter(|&own| own.0 < count && shares(own));
    let mut places: FxHashSet<FrameOffset> = FxHashSet::default();
    for register in shared {
        match crowd.slots.homes.get(&register) {
            Some(&Home::Lane(offset)) => {
                places.insert(FrameOffset::Spill(offset));
            }
            // A slot of the warp may be worth another home.
            _ => return true,
        }
    }
    let is_shared = |operand: &Operand<Ptx>| match operand {
        Operand::Frame(offset) => places.contains(offset),
        _ => false,
    };
    let saved = crowd.cost(&|operation| match operation.sources.iter().any(is_shared) {
        true => LOCAL - SHARED,
        false => 0.0,
    });
    saved > PROLOGUE
}

/// One allocation, with so many live words at most before values are coloured; any number without.
fn attempt<'a>(
    source: Source<'_>,
    slots: &Slots<'a>,
    budget: &Budget,
    limit: Option<u32>,
) -> Result<Attempt<'a>, Refusal> {
    let mut function = source.body.function.clone();
    let mut slots = slots.clone();
    let own = function.registers.len();
    let mut prologue = Vec::new();
    if slots.policy.uniform || slots.policy.register_lanes {
        let register = function.register(Class::Word);
        match slots.policy.register_lanes {
            true => slots.pool = Some(register),
            false => slots.base = Some(register),
        }
        prologue = slots.prologue(&mut function);
        for (at, operation) in prologue.iter().enumerate() {
            function.blocks[0].operations.insert(at, operation.clone());
        }
    }
    let fixed: FxHashSet<Virtual> = (own..function.registers.len())
        .map(|number| Virtual(number as u32))
        .collect();
    let mut crowd = Crowd::new(function, slots, fixed, limit.unwrap_or(0));
    if limit.is_some() {
        crowd.fit(&|home, class| Some(price(home, class)));
    }
    let files = Ptx::files(&crowd.function, &(), &budget.limits());
    loop {
        let live = crowd.liveness();
        let costs = costs(&crowd);
        let places = colour(&crowd.function, &live, &files, &|register| {
            costs[register.0 as usize]
        })?;
        let away: Vec<Virtual> = (0..)
            .map(Virtual)
            .zip(&places)
            .filter(|(_, place)| **place == Place::Memory)
            .map(|(register, _)| register)
            .collect();
        if away.is_empty() {
            let register = |place: &Place<Register>| match place {
                Place::Register(register) => *register,
                Place::Nowhere | Place::Memory => Ptx::NONE,
            };
            return Ok(Attempt {
                registers: places.iter().map(register).collect(),
                crowd,
                prologue: prologue.len(),
            });
        }
        for register in away {
            crowd.spill(register);
        }
    }
}

/// Returns for each register the cost of keeping it elsewhere.
fn costs(crowd: &Crowd<'_>) -> Vec<f64> {
    let function = &crowd.function;
    let prices: Vec<Option<Price>> = (0..function.registers.len() as u32)
        .map(Virtual)
        .map(|register| {
            let free = !crowd.fixed.contains(&register);
            crowd
                .price(register, &|home, class| Some(price(home, class)))
                .filter(|_| free)
        })
        .collect();
    let fixed = |price: &Option<Price>| if price.is_some() { 0.0 } else { f64::INFINITY };
    let mut out: Vec<f64> = prices.iter().map(fixed).collect();
    for (block, weight) in function.blocks.iter().zip(&crowd.weights) {
        for operation in &block.operations {
            for register in operation.reads() {
                let price = prices[register.0 as usize];
                out[register.0 as usize] += weight * price.map_or(0.0, |price| price.load);
            }
            for register in operation.writes() {
                let price = prices[register.0 as usize];
                out[register.0 as usize] += weight * price.map_or(0.0, |price| price.store);
            }
        }
    }
    out
}
