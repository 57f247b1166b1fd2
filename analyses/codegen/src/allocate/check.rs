//! A checker of register allocation that shares no code with it: each read of the rewritten function finds, on every path,
//! the value that the function on virtual registers reads there.
//!
//! ```text
//! v1 = ld8 [v0]      r14 = ld8 [r32]                  r14 holds v1
//! br.call f          adds r2 = .spill0, r12           r2 holds an address
//!                    st8 [r2] = r14                   r14 and slot 0 hold v1
//!                    br.call f                        slot 0 holds v1, r14 nothing any more
//! v2 = add v1, v0    ...; r3 = ld8 [r2]; add r3, ..   r3 holds v1: the read is right
//! ```
//!
//! A state says which values each location holds: virtual registers, and values that the function itself put
//! into a register that it names. A value that was never written is held everywhere. An operation under a
//! predicate makes its location hold the value for certain where the old one was there, else under that
//! predicate alone. States are intersected where paths meet. Stops: states only lose values, and a block is
//! walked again when its state has lost some.
//!
//! Does not compare memory of the program, speculation or the cycles of pipelined loops, and takes the prologue's word that
//! preserved registers are saved.
//!
//! Source: Fallin, *Cranelift, Part 3: Correctness in Register Allocation*, on regalloc2's checker; Intel,
//! *Itanium Software Conventions and Runtime Architecture Guide*, chapter 5, for the registers that a call
//! preserves.

mod align;
mod insert;
mod state;
mod step;

use super::Allocation;
use crate::mir::{Definition, FrameOffset, Function, Name, Operand, Operation, Target, Virtual};
use align::Alignment;
use insert::Fault;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use state::{CERTAIN, Entry, Held, State};
use std::collections::BTreeSet;
use std::fmt;
use step::Step;

/// A location that can hold a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Location<R> {
    Register(R),
    /// A spill slot, so many bytes behind the first spilled value.
    Spill(u32),
}

impl<R: fmt::Display> fmt::Display for Location<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Location::Register(register) => write!(f, "{register}"),
            Location::Spill(bytes) => write!(f, ".spill{bytes}"),
        }
    }
}

/// A difference between a function and its allocated form. Operations are counted in the function as it was
/// given, unless stated otherwise.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Violation<R: fmt::Display> {
    #[error("{before} blocks became {after}")]
    Blocks { before: u32, after: u32 },
    /// The operation has no counterpart, or one in front of it has found a wrong one. The number of operations: there is a
    /// branch too many, or one of any kind between cycles that are decided.
    #[error("block {block}: operation {operation} cannot be found in the rewritten block")]
    Unaligned { block: u32, operation: u32 },
    #[error("block {block}, operation {operation}: v{} is not in {expected}", .register.0)]
    Lost {
        block: u32,
        operation: u32,
        register: Virtual,
        expected: Location<R>,
    },
    /// A value that the function itself put into a register was overwritten.
    #[error("block {block}, operation {operation}: {register} does not hold what was put there")]
    Overwritten {
        block: u32,
        operation: u32,
        register: R,
    },
    /// Counted in the rewritten block.
    #[error("block {block}, rewritten operation {operation}: stores to what is no spill slot")]
    Store { block: u32, operation: u32 },
    #[error("arrival {operation} is no move of an argument")]
    Arrival { operation: u32 },
    /// A slot outside the bytes of the frame for spilled registers, or misaligned.
    #[error("a slot of {bytes} bytes at {offset} in {spilled} bytes of spilled registers")]
    Slot {
        offset: u32,
        bytes: u32,
        spilled: u32,
    },
    /// A register of another file than the virtual register, one that is never given, one behind all that are
    /// given, or one that is not where it is pinned or passed on.
    #[error("v{} cannot have {given}", .register.0)]
    Given { register: Virtual, given: R },
}

/// Checks in the manner of regalloc2's checker that `after`, with the registers of `allocation`, computes the
/// same as `before`.
///
/// # Errors
/// The first violation that is found.
pub fn check<T: Target>(
    before: &Function<T>,
    after: &Function<T>,
    allocation: &Allocation<T>,
) -> Result<(), Violation<T::Register>> {
    let checker = Checker::new(before, after, allocation)?;
    checker.given()?;
    checker.run()
}

struct Checker<'a, T: Target> {
    before: &'a Function<T>,
    after: &'a Function<T>,
    allocation: &'a Allocation<T>,
    /// The number of virtual registers given.
    virtuals: u32,
    /// True for each register with a value of its own.
    watched: Vec<bool>,
    /// True for each virtual register that a block may read before it writes it.
    exposed: Vec<bool>,
    /// The offsets of spill slots, ascending.
    offsets: Vec<u32>,
    /// Registers that a call may change, that are renamed by a rotation.
    scratch: Vec<T::Register>,
    rotating: Vec<T::Register>,
    /// The registers that belong to the caller, and that no prologue saves.
    preserved: Vec<T::Register>,
}

impl<'a, T: Target> Checker<'a, T> {
    fn new(
        before: &'a Function<T>,
        after: &'a Function<T>,
        allocation: &'a Allocation<T>,
    ) -> Result<Checker<'a, T>, Violation<T::Register>> {
        let virtuals = before.registers.len() as u32;
        let (old, new) = (before.blocks.len() as u32, after.blocks.len() as u32);
        if old != new {
            return Err(Violation::Blocks {
                before: old,
                after: new,
            });
        }
        let mut watched = vec![false; T::REGISTERS];
        let named =
            |function: &'a Function<T>| function.blocks.iter().flat_map(|it| &it.operations);
        let pinned = before.pinned.iter().map(|it| it.1);
        let fixed = named(before)
            .flat_map(|it| it.targets.iter().chain(&it.sources))
            .filter_map(|operand| match operand.name() {
                Some(Name::Fixed(register)) => Some(register),
                _ => None,
            });
        let preserved = T::preserved();
        let kept = T::implied().into_iter().chain(preserved.iter().copied());
        for register in fixed.chain(pinned).chain(kept) {
            watched[T::index(register)] = !T::is_constant(register);
        }
        let offsets: BTreeSet<u32> = named(after)
            .chain(&allocation.arrivals)
            .flat_map(|it| &it.sources)
            .filter_map(|operand| match operand {
                Operand::Frame(FrameOffset::Spill(offset)) => Some(*offset),
                _ => None,
            })
            .collect();
        let outputs: Vec<T::Register> = before
            .outputs
            .iter()
            .map(|&output| allocation.register(output))
            .collect();
        Ok(Checker {
            before,
            after,
            allocation,
            virtuals,
            watched,
            exposed: exposed(before),
            offsets: offsets.into_iter().collect(),
            scratch: T::clobbered(before, &outputs),
            rotating: T::rotating(before),
            preserved,
        })
    }

    /// The registers that were given are ones that may be.
    fn given(&self) -> Result<(), Violation<T::Register>> {
        let given = |register: Virtual| self.allocation.register(register);
        let outputs = &self.before.outputs;
        let passed: Vec<T::Register> = outputs.iter().map(|&output| given(output)).collect();
        let operations = || self.after.blocks.iter().flat_map(|it| &it.operations);
        let named = || operations().flat_map(Operation::virtual_registers);
        let apart = |it: T::Register| {
            let other = |register: Virtual| !outputs.contains(&register) && given(register) == it;
            !named().any(other)
        };
        for (&register, &place) in outputs.iter().zip(&passed) {
            if !T::are_outputs(&passed) || !apart(place) {
                return Err(Violation::Given {
                    register,
                    given: place,
                });
            }
        }
        for register in named() {
            let (place, class) = (given(register), self.after.class(register));
            let may = outputs.contains(&register)
                || T::class(place) == class && (T::is_constant(place) || T::may_have(place));
            if !may || self.before.place(register).is_some_and(|pin| pin != place) {
                return Err(Violation::Given {
                    register,
                    given: place,
                });
            }
        }
        Ok(())
    }

    fn run(&self) -> Result<(), Violation<T::Register>> {
        let count = self.before.blocks.len();
        let values = self.virtuals as usize + T::REGISTERS;
        let mut state = State {
            virtuals: self.virtuals,
            contents: vec![SmallVec::new(); T::REGISTERS + T::FORMS * self.offsets.len()],
            places: vec![SmallVec::new(); values],
            written: vec![0; (self.virtuals as usize).div_ceil(64)],
            known: FxHashMap::default(),
            guarded: FxHashMap::default(),
        };
        let mut entries: Vec<Option<Entry>> = vec![None; count];
        let mut alignments: Vec<Option<Alignment>> = vec![None; count];
        let mut work = BTreeSet::new();
        self.arrive(&mut state)?;
        if count > 0 {
            entries[0] = Some(self.leave(&state));
            work.insert(0);
        }
        while let Some(block) = work.pop_first() {
            let at = block as usize;
            let Some(entry) = &entries[at] else {
                continue;
            };
            state.load(entry);
            let alignment = match alignments[at].take() {
                Some(alignment) => alignment,
                None => self.align(block)?,
            };
            for (target, leaving) in self.walk(block, &alignment, &mut state)? {
                let there = &mut entries[target as usize];
                let changed = match there {
                    Some(there) => there.meet(&leaving, self.virtuals),
                    None => {
                        *there = Some(leaving);
                        true
                    }
                };
                if changed {
                    work.insert(target);
                }
            }
            alignments[at] = Some(alignment);
        }
        Ok(())
    }

    /// The start of the function: arguments arrive and are moved.
    fn arrive(&self, state: &mut State) -> Result<(), Violation<T::Register>> {
        for register in (0..T::REGISTERS).filter(|&it| self.watched[it]) {
            let value = self.virtuals + register as u32;
            let guard = CERTAIN;
            state.put(register, Held { value, guard });
        }
        for (parameter, place) in self.before.arriving() {
            state.mark(parameter.0);
            if let Some(place) = place {
                let (value, guard) = (parameter.0, CERTAIN);
                state.put(T::index(place), Held { value, guard });
            }
        }
        for (number, operation) in (0..).zip(&self.allocation.arrivals) {
            self.insert(state, operation).map_err(|fault| match fault {
                Fault::Slot(violation) => violation,
                Fault::Store | Fault::Branch => Violation::Arrival { operation: number },
            })?;
        }
        Ok(())
    }

    /// Returns the state that a block leaves to the next.
    fn leave(&self, state: &State) -> Entry {
        let mut held = Vec::new();
        for (location, contents) in (0..).zip(&state.contents) {
            let from = held.len();
            for content in contents {
                let own = content.value < self.virtuals && !self.exposed[content.value as usize];
                if !own {
                    held.push((location, content.value, content.guard));
                }
            }
            held[from..].sort_unstable();
        }
        Entry {
            held,
            written: state.written.clone(),
        }
    }

    /// Walks through a block, and returns the states that it leaves to others.
    fn walk(
        &self,
        block: u32,
        alignment: &Alignment,
        state: &mut State,
    ) -> Result<Vec<(u32, Entry)>, Violation<T::Register>> {
        let (old, new) = (
            &self.before.blocks[block as usize].operations,
            &self.after.blocks[block as usize].operations,
        );
        let mut out = Vec::new();
        // Registers that the function wrote by name since the last call.
        let mut by_name: Vec<T::Register> = Vec::new();
        for (now, counterpart) in (0..).zip(alignment) {
            let operation = &new[now as usize];
            let Some(number) = *counterpart else {
                self.insert(state, operation).map_err(|fault| match fault {
                    Fault::Slot(violation) => violation,
                    Fault::Store => Violation::Store {
                        block,
                        operation: now,
                    },
                    Fault::Branch => Violation::Unaligned {
                        block,
                        operation: old.len() as u32,
                    },
                })?;
                continue;
            };
            let step = Step {
                checker: self,
                block,
                number,
                before: &old[number as usize],
                after: operation,
            };
            step.reads(state)?;
            step.passes_on(state, &mut by_name)?;
            step.writes(state);
            step.leaves_frame(state);
            let targets = operation.branches_to();
            out.extend(targets.map(|target| (target, self.leave(state))));
        }
        let goes_on = !old.last().is_some_and(Operation::leaves);
        let next = block + 1;
        if goes_on && (next as usize) < self.before.blocks.len() {
            out.push((next, self.leave(state)));
        }
        Ok(out)
    }

    fn register(&self, name: Name<T>) -> T::Register {
        match name {
            Name::Virtual(register) => self.allocation.register(register),
            Name::Fixed(register) => register,
        }
    }
    fn register_of(&self, operand: &Operand<T>) -> Option<T::Register> {
        operand.name().map(|name| self.register(name))
    }
    /// The value of a register of `before`; none of constants.
    fn value(&self, name: Name<T>) -> Option<u32> {
        let fixed = |register: T::Register| {
            let watched = self.watched[T::index(register)];
            watched.then(|| self.virtuals + T::index(register) as u32)
        };
        match name {
            Name::Virtual(register) => match self.before.place(register) {
                Some(place) => fixed(place),
                None => Some(register.0),
            },
            Name::Fixed(register) => fixed(register),
        }
    }
    fn written(&self, operation: &Operation<T>) -> Vec<Definition<T>> {
        T::definitions(operation, &|register| self.allocation.register(register))
    }
    /// Forgets the contents of a register and of those that share its storage.
    fn clear(&self, state: &mut State, register: T::Register) {
        for other in T::overlapping(register) {
            state.clear(T::index(other));
        }
    }
    /// A register changes by what `before` does, too.
    fn changed(&self, state: &mut State, register: T::Register) {
        self.clear(state, register);
        let location = T::index(register);
        if self.watched[location] {
            let (value, guard) = (self.virtuals + location as u32, CERTAIN);
            state.define(location, Held { value, guard });
        }
    }
}

/// Virtual registers that some block may read, or keep in part, before it writes them for certain.
fn exposed<T: Target>(function: &Function<T>) -> Vec<bool> {
    let mut out = vec![false; function.registers.len()];
    // The last block that wrote it for certain, counted from 1.
    let mut certain = vec![0u32; function.registers.len()];
    for (number, block) in (1..).zip(&function.blocks) {
        for operation in &block.operations {
            let kept = operation.writes().filter(|_| !operation.is_certain());
            for register in operation.reads().chain(kept) {
                out[register.0 as usize] |= certain[register.0 as usize] != number;
            }
            if operation.is_certain() {
                for register in operation.writes() {
                    certain[register.0 as usize] = number;
                }
            }
        }
    }
    for output in &function.outputs {
        out[output.0 as usize] = true;
    }
    out
}

#[cfg(test)]
#[path = "check_tests.rs"]
mod tests;
