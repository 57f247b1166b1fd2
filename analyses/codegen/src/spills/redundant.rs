//! The first phase: transfers and operations that compute what their target already holds go, and whatever is read by nothing
//! any more.
//!
//! Source: section 2 of the paper, with what it gives repaired.

use super::code::{Code, Location, Step};
use super::facts::{Facts, Point};
use crate::mir::{Name, Operation, Target};
use ir::EntitySet;
use ir::liveness::Liveness;

/// Removes steps whose target holds their value already. Returns true if there were any.
pub(super) fn redundant<T: Target>(code: &mut Code<'_, T>) -> bool {
    let mut facts = Facts::of(code);
    let mut found = false;
    for block in 0..code.blocks.len() {
        let Some(state) = facts.at_start(block).cloned() else {
            continue;
        };
        if !code.blocks[block].cycles.is_empty() {
            continue;
        }
        let mut gone = EntitySet::<Location>::new();
        facts.replay(
            code,
            block,
            state,
            &mut |Point {
                      step, state, given, ..
                  }| {
                let holds = given.is_some_and(|(to, value)| state[to.0 as usize] == value);
                if holds && may_go(code, &code.blocks[block].steps[step]) {
                    gone.insert(Location(step as u32));
                }
            },
            &mut Vec::new(),
        );
        found |= !gone.is_empty();
        code.blocks[block]
            .steps
            .retain(|number| !gone.contains(&Location(number as u32)));
    }
    found
}

/// Returns true for steps that do nothing but write the location that they set.
fn may_go<T: Target>(code: &Code<'_, T>, step: &Step<T>) -> bool {
    match step {
        Step::Operation(operation) => is_plain(code, operation),
        Step::Load { from: home, .. } | Step::Store { to: home, .. } => !code.stays(*home),
        Step::Copy { .. } => true,
    }
}

/// Returns true if an operation may go where nothing reads its target.
fn is_plain<T: Target>(code: &Code<'_, T>, operation: &Operation<T>) -> bool {
    let written = T::definitions(operation, &|it| code.register(Name::Virtual(it)));
    let rotating = T::rotating(code.function);
    // Arguments and results are read where control goes to another, by no operand.
    let passed = operation
        .targets
        .iter()
        .filter_map(|target| match target.name() {
            Some(Name::Fixed(register)) => Some(register),
            _ => None,
        });
    T::is_pure(operation)
        && !passed.into_iter().any(T::passes)
        && !(T::hidden(operation).writes && code.hidden)
        && written
            .iter()
            .all(|it| T::may_have(it.register) && !it.keeps && !rotating.contains(&it.register))
}

/// Removes steps that write what nothing reads. Returns true if there were any.
pub(super) fn dead<T: Target>(code: &mut Code<'_, T>) -> bool {
    let mut found = false;
    loop {
        let live = Liveness::of(&*code);
        let mut any = false;
        for block in 0..code.blocks.len() {
            if code.blocks[block].cycles.is_empty() {
                any |= dead_in(code, block, &live);
            }
        }
        found |= any;
        if !any {
            return found;
        }
    }
}

/// The same in one block.
pub(super) fn dead_in<T: Target>(
    code: &mut Code<'_, T>,
    block: usize,
    live: &Liveness<Location>,
) -> bool {
    let mut gone = EntitySet::<Location>::new();
    let mut now = live.ends[block].clone();
    code.walk(block, &mut now, &live.starts, &mut |group, live| {
        for number in group {
            let steps = &code.blocks[block].steps;
            let read = match &steps[number] {
                Step::Operation(operation) if !is_plain(code, operation) => true,
                Step::Load { from: home, .. } | Step::Store { to: home, .. }
                    if code.stays(*home) =>
                {
                    true
                }
                // Registers that a transfer needs on its way are read by nothing else.
                Step::Load { to, .. } | Step::Copy { to, .. } => {
                    live.contains(&Location::register::<T>(*to))
                }
                Step::Store { to, .. } => live.contains(&Location::home::<T>(*to)),
                Step::Operation(_) => {
                    let touched = code.touched(steps, number);
                    touched.writes().any(|location| live.contains(&location))
                }
            };
            if !read {
                gone.insert(Location(number as u32));
            }
        }
    });
    code.blocks[block]
        .steps
        .retain(|number| !gone.contains(&Location(number as u32)));
    !gone.is_empty()
}
