//! Moves that spilling leaves: a register that a spilled value passed through becomes the one that now holds it.
//!
//! ```text
//! d13 = d5; d2 = mul d13, d3                   d2 = mul d5, d3
//! d13 = add d0, 1; d5 = d13                    d5 = add d0, 1
//! d13 = d5; d13 = mac d1, d2; d5 = d13         d5 = mac d1, d2
//! ```
//!
//! Within a block. Only registers that may be kept for spilled values are renamed, where operations name them as registers: they
//! pass no arguments, so that none is meant by itself.

use super::code::{Code, Location, Step};
use crate::mir::{Name, Operand, Operation, Target};
use ir::liveness::Liveness;

fn is_scratch<T: Target>(register: T::Register) -> bool {
    T::scratch(T::class(register)).contains(&register)
}

/// Renames what moves join, block by block.
pub(super) fn join<T: Target>(code: &mut Code<'_, T>) {
    for block in 0..code.blocks.len() {
        if code.blocks[block].cycles.is_empty() {
            forward(code, block);
        }
    }
    super::redundant::dead(code);
    let live = Liveness::of(&*code);
    for block in 0..code.blocks.len() {
        if code.blocks[block].cycles.is_empty() {
            backward(code, block, &live);
        }
    }
}

/// The same in one block, by what lives at the ends of all.
pub(super) fn join_in<T: Target>(code: &mut Code<'_, T>, block: usize, live: &Liveness<Location>) {
    forward(code, block);
    super::redundant::dead_in(code, block, live);
    backward(code, block, live);
}

/// Replaces reads of what a move has written by reads of what it was moved from.
fn forward<T: Target>(code: &mut Code<'_, T>, block: usize) {
    for at in 0..code.blocks[block].steps.len() {
        let Step::Copy { to, from, .. } = code.blocks[block].steps[at] else {
            continue;
        };
        if T::class(to) != T::class(from) || !is_scratch::<T>(to) {
            continue;
        }
        let (own, source) = (Location::register::<T>(to), Location::register::<T>(from));
        for next in at + 1..code.blocks[block].steps.len() {
            let touched = code.touched(&code.blocks[block].steps, next);
            let ends = touched.writes().any(|it| it == own || it == source);
            if touched.reads.contains(&own) {
                read_instead(code.blocks[block].steps.edit(next), to, from);
            }
            if ends {
                break;
            }
        }
    }
}

/// Replaces a register in what a step reads, as far as operands name it by itself.
fn read_instead<T: Target>(step: &mut Step<T>, old: T::Register, new: T::Register) {
    match step {
        Step::Operation(operation) => {
            let stepped = operation.stepped();
            for operand in &mut operation.sources {
                let (Operand::Register(name) | Operand::Address(name)) = operand else {
                    continue;
                };
                // A base that steps is written, too.
                if *name == Name::Fixed(old) && stepped != Some(*name) {
                    *name = Name::Fixed(new);
                }
            }
            for operand in &mut operation.targets {
                if let Operand::Address(name) = operand
                    && *name == Name::Fixed(old)
                    && stepped != Some(*name)
                {
                    *name = Name::Fixed(new);
                }
            }
        }
        Step::Store { from, .. } | Step::Copy { from, .. } if *from == old => *from = new,
        _ => {}
    }
}

/// Makes the life of a register that ends in a move one of the move's target.
fn backward<T: Target>(code: &mut Code<'_, T>, block: usize, live: &Liveness<Location>) {
    let count = code.blocks[block].steps.len();
    let mut dies = vec![false; count];
    let mut now = live.ends[block].clone();
    code.walk(block, &mut now, &live.starts, &mut |group, live| {
        for number in group {
            if let Step::Copy { from, .. } = &code.blocks[block].steps[number] {
                dies[number] = !live.contains(&Location::register::<T>(*from));
            }
        }
    });
    let mut gone = vec![false; count];
    for at in 0..count {
        let Step::Copy { to, from, .. } = code.blocks[block].steps[at] else {
            continue;
        };
        if !dies[at] || T::class(to) != T::class(from) || !is_scratch::<T>(from) {
            continue;
        }
        let Some(start) = start(code, block, at, from, to) else {
            continue;
        };
        for number in start..at {
            rename(code.blocks[block].steps.edit(number), from, to);
        }
        let same = |step: &Step<T>| matches!(step, Step::Copy { to, from, .. } if to == from);
        gone[at] = true;
        gone[start] |= same(&code.blocks[block].steps[start]);
        // It is no move of this register any more.
        let (from, loc) = (to, ir::Loc::NONE);
        let steps = &mut code.blocks[block].steps;
        steps.set(at, Step::Copy { to, from, loc });
    }
    code.blocks[block].steps.retain(|number| !gone[number]);
}

/// The step that begins the life of `old` that ends at step `at`, if all of it may be a life of `new`.
fn start<T: Target>(
    code: &Code<'_, T>,
    block: usize,
    at: usize,
    old: T::Register,
    new: T::Register,
) -> Option<usize> {
    let steps = &code.blocks[block].steps;
    let (old_at, new_at) = (Location::register::<T>(old), Location::register::<T>(new));
    for number in (0..at).rev() {
        // What a branch leads to may read either.
        if matches!(&steps[number], Step::Operation(operation) if operation.branch().is_some()) {
            return None;
        }
        let touched = code.touched(steps, number);
        let reads = touched.reads.contains(&old_at);
        let begins = touched.kills.contains(&old_at) && !reads;
        let mentions = reads || touched.writes().any(|it| it == old_at);
        if mentions && !may_rename(code, &steps[number], old) {
            return None;
        }
        if touched.writes().any(|it| it == new_at) {
            return None;
        }
        if begins {
            return Some(number);
        }
        if touched.reads.contains(&new_at) {
            return None;
        }
    }
    None
}

/// Returns true if operands alone name the register, each as that register.
fn may_rename<T: Target>(code: &Code<'_, T>, step: &Step<T>, register: T::Register) -> bool {
    match step {
        Step::Operation(operation) => {
            let operands = operation.targets.iter().chain(&operation.sources);
            let mut named = operands
                .filter_map(Operand::name)
                .filter(|name| code.register(*name) == register)
                .peekable();
            named.peek().is_some() && named.all(|name| name == Name::Fixed(register))
        }
        // A transfer that needs registers on its way needs those.
        Step::Load { to, .. } => *to == register,
        Step::Store { from, .. } => *from == register,
        Step::Copy { to, from, .. } => *to == register || *from == register,
    }
}

fn rename<T: Target>(step: &mut Step<T>, old: T::Register, new: T::Register) {
    match step {
        Step::Operation(Operation {
            targets, sources, ..
        }) => {
            for operand in targets.iter_mut().chain(sources) {
                if let Operand::Register(name) | Operand::Address(name) = operand
                    && *name == Name::Fixed(old)
                {
                    *name = Name::Fixed(new);
                }
            }
        }
        Step::Load { to: it, .. } | Step::Store { from: it, .. } => {
            if *it == old {
                *it = new;
            }
        }
        Step::Copy { to, from, .. } => {
            for it in [to, from] {
                if *it == old {
                    *it = new;
                }
            }
        }
    }
}
