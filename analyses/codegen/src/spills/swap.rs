//! Moves that spilling leaves between values that another operation reads in either order: two registers change their parts from
//! the move on, which then moves nothing.
//!
//! ```text
//! b1: r1 = r0; r0 = r1 + 2; r1 = r1 + r0; ..            r1 = r0 + 2; r0 = r0 + r1; ..
//! b4: r0 = r0 + r1                                      r0 = r0 + r1, whichever way control came
//! ```
//!
//! Behind the move the register that was read holds nothing. What is reached from there names the other one of both instead,
//! until neither is read any more, or until both are read for the last time by one operation whose operands commute: what comes
//! to it on another way has not changed its registers.
//!
//! Source: Figure 7 of the paper, whose solution has a transfer more.

use super::code::{Code, Location, Step};
use crate::mir::{Name, Operand, Operation, Target, Virtual};
use ir::EntitySet;
use ir::liveness::Liveness;
use std::collections::BTreeSet;

/// Two registers that change their parts.
#[derive(Clone, Copy)]
struct Pair<T: Target> {
    registers: [T::Register; 2],
    at: [Location; 2],
}

impl<T: Target> Pair<T> {
    fn of(to: T::Register, from: T::Register) -> Option<Pair<T>> {
        let registers = [to, from];
        let plain =
            |register: &T::Register| !T::passes(*register) && T::overlapping(*register).len() == 1;
        let fits = to != from
            && T::class(to) == T::class(from)
            && !T::is_guard(T::class(to))
            && registers.iter().all(plain);
        fits.then(|| Pair {
            registers,
            at: registers.map(Location::register::<T>),
        })
    }
    fn other(&self, register: T::Register) -> Option<T::Register> {
        let [first, second] = self.registers;
        match register {
            _ if register == first => Some(second),
            _ if register == second => Some(first),
            _ => None,
        }
    }
    fn is_in(&self, locations: &EntitySet<Location>) -> bool {
        self.at.iter().any(|at| locations.contains(at))
    }
}

/// Takes moves away whose registers may change their parts. Returns true if there was one.
pub(super) fn swap<T: Target>(code: &mut Code<'_, T>) -> bool {
    let mut found = false;
    while let Some((changed, block, at)) = next(code) {
        *code = changed;
        code.blocks[block].steps.retain(|number| number != at);
        found = true;
    }
    found
}

/// The code with the registers of one move exchanged behind it, and the place of the move.
fn next<'f, T: Target>(code: &Code<'f, T>) -> Option<(Code<'f, T>, usize, usize)> {
    let mut live: Option<Liveness<Location>> = None;
    for (block, own) in code.blocks.iter().enumerate().skip(1) {
        let moves = own
            .steps
            .iter()
            .enumerate()
            .filter_map(|(at, step)| match step {
                Step::Copy { to, from, .. } => Some((at, Pair::of(*to, *from)?)),
                _ => None,
            });
        let mut moves: Vec<(usize, Pair<T>)> = moves.collect();
        if moves.is_empty() || !own.cycles.is_empty() {
            continue;
        }
        let live = live.get_or_insert_with(|| Liveness::of(code));
        let mut now = live.ends[block].clone();
        code.walk(block, &mut now, &live.starts, &mut |group, live| {
            moves.retain(|(at, pair)| !group.contains(at) || !live.contains(&pair.at[1]));
        });
        for (at, pair) in moves {
            if let Some(changed) = exchanged(code, live, pair, (block, at)) {
                return Some((changed, block, at));
            }
        }
    }
    None
}

/// The code with two registers exchanged behind a move from the second to the first, which nothing reads any more.
fn exchanged<'f, T: Target>(
    code: &Code<'f, T>,
    live: &Liveness<Location>,
    pair: Pair<T>,
    (block, at): (usize, usize),
) -> Option<Code<'f, T>> {
    let branches = |step: &Step<T>| matches!(step, Step::Operation(it) if it.branch().is_some());
    // What a branch leads to would have to know on which side of the move it stands.
    if code.blocks[block].steps[..at].iter().any(branches) {
        return None;
    }
    let mut region: BTreeSet<usize> = BTreeSet::new();
    let mut open = vec![block];
    while let Some(from) = open.pop() {
        for next in code.successors(from) {
            let ends = !pair.is_in(&live.starts[next]) || commutes_first(code, live, pair, next);
            if ends || region.contains(&next) {
                continue;
            }
            // It begins in front of the move.
            if next == block {
                return None;
            }
            region.insert(next);
            open.push(next);
        }
    }
    let inside = |from: usize| from == block || region.contains(&from);
    for from in (0..code.blocks.len()).filter(|&from| !inside(from)) {
        if code.successors(from).iter().any(|to| region.contains(to)) {
            return None;
        }
    }
    let mut out = code.clone();
    let rest = (block, at + 1);
    for (number, first) in std::iter::once(rest).chain(region.iter().map(|&it| (it, 0))) {
        for step in first..code.blocks[number].steps.len() {
            exchange(&mut out, pair, (number, step))?;
        }
    }
    Some(out)
}

/// Returns true if the first step of a block that reads or writes one of both registers reads both for the last time, in
/// whichever order.
fn commutes_first<T: Target>(
    code: &Code<'_, T>,
    live: &Liveness<Location>,
    pair: Pair<T>,
    block: usize,
) -> bool {
    let own = &code.blocks[block];
    let touches = |at: &usize| {
        let touched = code.touched(&own.steps, *at);
        let mut all = touched.reads.iter().copied().chain(touched.writes());
        all.any(|it| pair.at.contains(&it))
    };
    if !own.cycles.is_empty() {
        return false;
    }
    let Some(first) = (0..own.steps.len()).find(touches) else {
        return false;
    };
    let Step::Operation(operation) = &own.steps[first] else {
        return false;
    };
    let sources: Vec<T::Register> = operation
        .sources
        .iter()
        .chain(
            operation
                .targets
                .iter()
                .filter(|_| T::accumulates(operation.mnemonic)),
        )
        .filter_map(|operand| match operand {
            Operand::Register(name) => Some(code.register(*name)),
            _ => None,
        })
        .collect();
    let [left, right] = sources[..] else {
        return false;
    };
    let both = pair.other(left) == Some(right);
    if !both || !T::commutes(operation) || operation.predicate.is_some() {
        return false;
    }
    // A way out in front of it would need to know, too.
    let branches = |step: &Step<T>| matches!(step, Step::Operation(it) if it.branch().is_some());
    if own.steps[..first].iter().any(branches) {
        return false;
    }
    let touched = code.touched(&own.steps, first);
    let mut now = live.ends[block].clone();
    let mut last = false;
    code.walk(block, &mut now, &live.starts, &mut |group, live| {
        if group.contains(&first) {
            let dies = |at: &Location| touched.kills.contains(at) || !live.contains(at);
            last = pair.at.iter().all(dies);
        }
    });
    last
}

/// Returns true if some registers of an operation have their places by each other.
fn has_neighbours<T: Target>(operation: &Operation<T>) -> bool {
    let mut free = operation.clone();
    let operands = free.targets.iter_mut().chain(&mut free.sources);
    for (number, operand) in (0..).zip(operands) {
        if let Operand::Register(name) = operand {
            *name = Name::Virtual(Virtual(number));
        }
    }
    T::tuple(&free).is_some()
}

/// Exchanges two registers in a step. `None`: it names one of them by more than an operand.
fn exchange<T: Target>(
    code: &mut Code<'_, T>,
    pair: Pair<T>,
    (block, at): (usize, usize),
) -> Option<()> {
    let own = &code.blocks[block];
    let before = code.touched(&own.steps, at).clone();
    let mut all = before.reads.iter().copied().chain(before.writes());
    if !all.any(|it| pair.at.contains(&it)) {
        return Some(());
    }
    let mut step = own.steps[at].clone();
    match &mut step {
        Step::Operation(operation) => {
            let plain =
                own.cycles.is_empty() && operation.branch().is_none() && !has_neighbours(operation);
            if !plain {
                return None;
            }
            for operand in operation.targets.iter_mut().chain(&mut operation.sources) {
                if let Operand::Register(name) | Operand::Address(name) = operand
                    && let Some(other) = pair.other(code.register(*name))
                {
                    // What is known of a value goes by its name.
                    if matches!(name, Name::Virtual(own) if code.function.kept.contains(own)) {
                        return None;
                    }
                    *name = Name::Fixed(other);
                }
            }
        }
        Step::Load { to: it, .. } | Step::Store { from: it, .. } => {
            *it = pair.other(*it).unwrap_or(*it);
        }
        Step::Copy { to, from, .. } => {
            for it in [to, from] {
                *it = pair.other(*it).unwrap_or(*it);
            }
        }
    }
    code.blocks[block].steps.set(at, step);
    let after = code.touched(&code.blocks[block].steps, at);
    // Whatever is touched is what was, with the one for the other.
    let turned = |it: &Location| match pair.at.iter().position(|at| at == it) {
        Some(place) => pair.at[1 - place],
        None => *it,
    };
    let same = |before: &[Location], after: &[Location]| {
        let before: BTreeSet<Location> = before.iter().map(turned).collect();
        before == after.iter().copied().collect()
    };
    let fits = same(&before.reads, &after.reads)
        && same(&before.kills, &after.kills)
        && same(&before.changes, &after.changes);
    fits.then_some(())
}
