//! One function's way through a block: the values that its operations leave, and what it does beside.

use super::terms::{Arguments, Side, Term, Terms, Value};
use super::{Unproved, UnprovedReason};
use crate::allocate::Allocation;
use crate::mir::{
    FrameAccess, FrameAddress, FrameOffset, Function, Known, Name, Operand, Operation, SpillCode,
    Target,
};
use isa::Branch;
use std::collections::BTreeSet;
use std::ops::Range;

/// The values of the locations of one function: registers, the memory of the program, state that no operand names, spill slots.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct State {
    pub(super) values: Vec<Value>,
    /// Registers that pass values to a callee or the caller, and were written by name since the last call on some way.
    pub(super) named: BTreeSet<usize>,
}

/// Something that a function does beside writing registers, with all that it reads.
#[derive(Debug)]
pub(super) struct Effect {
    /// Counted in its block.
    pub(super) operation: u32,
    pub(super) shape: u32,
    pub(super) arguments: Arguments,
    /// The contents of registers, by their index, if it leaves the function, and of those in which it passes something on.
    pub(super) registers: Vec<Value>,
    pub(super) named: BTreeSet<usize>,
}

/// A way out of a block: the number of effects in front of it, and the state there.
#[derive(Debug)]
pub(super) struct Exit {
    pub(super) to: u32,
    pub(super) effects: usize,
    pub(super) state: State,
}

#[derive(Debug, Default)]
pub(super) struct Walk {
    pub(super) effects: Vec<Effect>,
    pub(super) exits: Vec<Exit>,
}

/// A spill slot, and the form of the value in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
struct SlotPlace {
    offset: u32,
    form: usize,
}

pub(super) struct Walker<'a, T: Target> {
    side: Side,
    pub(super) function: &'a Function<T>,
    pub(super) allocation: &'a Allocation<T>,
    slots: Vec<SlotPlace>,
    clobbered: Vec<T::Register>,
}

/// The place of an operation while it is walked through.
#[derive(Clone, Copy)]
struct At {
    block: u32,
    operation: u32,
    /// Effects in front of it.
    effects: u32,
}

impl<'a, T: Target> Walker<'a, T> {
    pub(super) fn new(
        side: Side,
        function: &'a Function<T>,
        allocation: &'a Allocation<T>,
    ) -> Walker<'a, T> {
        let blocks = function.blocks.iter().flat_map(|block| &block.operations);
        let mut slots = BTreeSet::new();
        for operation in blocks.chain(&allocation.arrivals) {
            for operand in operation.sources.iter().chain(&operation.targets) {
                if let Operand::Frame(FrameOffset::Spill(offset)) = *operand {
                    slots.extend((0..T::FORMS).map(|form| SlotPlace { offset, form }));
                }
            }
        }
        let outputs: Vec<T::Register> = (function.outputs.iter())
            .map(|&output| allocation.register(output))
            .collect();
        Walker {
            side,
            function,
            allocation,
            slots: slots.into_iter().collect(),
            clobbered: T::clobbered(function, &outputs),
        }
    }

    const MEMORY: usize = T::REGISTERS;
    const HIDDEN: usize = T::REGISTERS + 1;
    const SLOTS: usize = T::REGISTERS + 2;

    /// Returns true if the operation leaves more in a register than a slot holds.
    fn is_wide(&self, operation: &Operation<T>) -> bool {
        operation.targets.iter().any(|target| match target {
            Operand::Register(Name::Virtual(register)) => self.function.kept.contains(register),
            _ => false,
        })
    }

    /// The state in front of the first operation.
    pub(super) fn start(&self, terms: &mut Terms<T>) -> State {
        let mut values: Vec<Value> = (0..Self::SLOTS)
            .map(|location| terms.value(Term::Initial(location)))
            .collect();
        for slot in 0..self.slots.len() {
            let location = Self::SLOTS + slot;
            values.push(terms.value(Term::Unset {
                side: self.side,
                effect: None,
                location,
            }));
        }
        State {
            values,
            named: BTreeSet::new(),
        }
    }

    /// Walks through what stands in front of the first block.
    pub(super) fn arrive(&self, terms: &mut Terms<T>, state: &mut State) -> Result<(), Unproved> {
        let mut walk = Walk::default();
        for (number, operation) in (0..).zip(&self.allocation.arrivals) {
            let at = At {
                block: 0,
                operation: number,
                effects: 0,
            };
            let start = state.clone();
            self.step(terms, operation, at, &start, state, &mut walk)?;
            if !walk.effects.is_empty() {
                return Err(self.unproved(at, UnprovedReason::Arrival));
            }
        }
        Ok(())
    }

    /// Walks through a block, and tells of the state in front of each operation.
    pub(super) fn walk(
        &self,
        terms: &mut Terms<T>,
        number: u32,
        mut state: State,
        each: &mut dyn FnMut(&Terms<T>, usize, &State),
    ) -> Result<Walk, Unproved> {
        let block = &self.function.blocks[number as usize];
        let mut walk = Walk::default();
        for set in self.sets(number)? {
            let start = state.clone();
            let mut left: Vec<u32> = Vec::new();
            let mut branched = false;
            for at in set {
                each(terms, at, &start);
                let operation = &block.operations[at];
                let here = At {
                    block: number,
                    operation: at as u32,
                    effects: walk.effects.len() as u32,
                };
                if branched {
                    // What stands behind a branch in a set may execute, or not.
                    return Err(self.unproved(here, UnprovedReason::BehindBranch));
                }
                self.step(terms, operation, here, &start, &mut state, &mut walk)?;
                branched = operation.branch().is_some();
                if branched {
                    left.extend(operation.branches_to());
                }
            }
            walk.exits.extend(left.into_iter().map(|to| Exit {
                to,
                effects: walk.effects.len(),
                state: state.clone(),
            }));
        }
        let leaves = block.operations.last().is_some_and(Operation::leaves);
        if !leaves && (number as usize) + 1 < self.function.blocks.len() {
            walk.exits.push(Exit {
                to: number + 1,
                effects: walk.effects.len(),
                state,
            });
        }
        Ok(walk)
    }

    /// The operations of a block by what executes at once: all of a set read before they write.
    fn sets(&self, number: u32) -> Result<Vec<Range<usize>>, Unproved> {
        let block = &self.function.blocks[number as usize];
        let count = block.operations.len();
        if block.cycles.is_empty() {
            return Ok((0..count).map(|at| at..at + 1).collect());
        }
        if block.cycles.len() != count || !block.cycles.is_sorted() {
            let at = At {
                block: number,
                operation: 0,
                effects: 0,
            };
            return Err(self.unproved(at, UnprovedReason::Cycles));
        }
        let mut out: Vec<Range<usize>> = Vec::new();
        for at in 0..count {
            match out.last_mut() {
                Some(last) if block.cycles[last.start] == block.cycles[at] => last.end = at + 1,
                _ => out.push(at..at + 1),
            }
        }
        Ok(out)
    }

    fn unproved(&self, at: At, reason: UnprovedReason) -> Unproved {
        Unproved {
            block: at.block,
            operation: at.operation,
            side: self.side,
            reason,
        }
    }

    fn register(&self, name: Name<T>) -> T::Register {
        match name {
            Name::Virtual(register) => self.allocation.register(register),
            Name::Fixed(register) => register,
        }
    }

    /// One operation, which reads `start` and writes `state`.
    fn step(
        &self,
        terms: &mut Terms<T>,
        operation: &Operation<T>,
        at: At,
        start: &State,
        state: &mut State,
        walk: &mut Walk,
    ) -> Result<(), Unproved> {
        let moved = self.transfer(terms, operation, at, start, state)?;
        if !moved {
            self.plain(terms, operation, at, start, state, walk)?;
        }
        // What is loaded from a slot is no argument yet, whatever register it was given.
        for target in &operation.targets {
            if let Operand::Register(Name::Fixed(register)) = target
                && T::passes(*register)
                && !operation.sources.iter().any(is_slot)
            {
                state.named.insert(T::index(*register));
            }
        }
        Ok(())
    }

    /// An operation that is no move of a whole value.
    fn plain(
        &self,
        terms: &mut Terms<T>,
        operation: &Operation<T>,
        at: At,
        start: &State,
        state: &mut State,
        walk: &mut Walk,
    ) -> Result<(), Unproved> {
        let mut operands = operation.targets.iter().chain(&operation.sources);
        if operands.any(is_slot) {
            return Err(self.unproved(at, UnprovedReason::SlotAccess));
        }
        let reading = self.reading(terms, operation, start);
        let wide = self.is_wide(operation);
        let shape = terms.shape(operation, wide, &|name| T::class(self.register(name)));
        let acts = T::acts(operation) || operation.branch().is_some();
        if acts {
            self.act(terms, operation, at, shape, &reading, state, walk)?;
        }
        let known = self
            .known(terms, operation, start, &reading)
            .filter(|_| !acts);
        self.results(terms, operation, at, (shape, known), &reading, acts, state);
        if operation.branch() == Some(Branch::Call) {
            self.call(terms, at, state);
        }
        Ok(())
    }

    /// Moves of whole values. Returns true if the operation was one.
    fn transfer(
        &self,
        terms: &mut Terms<T>,
        operation: &Operation<T>,
        at: At,
        start: &State,
        state: &mut State,
    ) -> Result<bool, Unproved> {
        let read = |name: Name<T>| start.values[T::index(self.register(name))];
        let code = match T::spill_code(operation) {
            Some(code) => code,
            None => match self.across(operation) {
                Some(code) => code,
                None => return Ok(false),
            },
        };
        let (to, value) = match code {
            SpillCode::Address { to, offset } => (to, terms.value(Term::Address(offset))),
            SpillCode::Zero { to } => (to, terms.value(Term::Constant(0))),
            SpillCode::Raise { to, from } => {
                let zero = terms.constant(read(to)) == Some(0);
                if !zero || !operation.executes_where_held() {
                    return Ok(false);
                }
                (to, terms.value(Term::Number(read(from))))
            }
            SpillCode::Copy { to, from } => {
                let [into, out] = [to, from].map(|name| T::class(self.register(name)));
                let value = read(from);
                let narrows = into != out && terms.is_wide(value);
                match (T::is_guard(into), T::is_guard(out)) {
                    _ if narrows => return Ok(false),
                    (true, false) => match *terms.term(value) {
                        Term::Number(guard) => (to, guard),
                        _ => return Ok(false),
                    },
                    (false, true) => (to, terms.value(Term::Number(value))),
                    _ => (to, value),
                }
            }
            SpillCode::Load { to, from } => match self.slot(terms, from, start) {
                Place::Slot(slot) => (to, start.values[Self::SLOTS + slot]),
                Place::Other => return Ok(false),
                Place::Unknown => return Err(self.unproved(at, UnprovedReason::SlotAccess)),
            },
            SpillCode::Store { from, to } => {
                match self.slot(terms, to, start) {
                    Place::Slot(slot) => self.store(terms, slot, read(from), at, state)?,
                    Place::Other => return Ok(false),
                    Place::Unknown => return Err(self.unproved(at, UnprovedReason::SlotAccess)),
                }
                return Ok(true);
            }
        };
        self.write(terms, self.register(to), value, at, state);
        Ok(true)
    }

    /// A move between files that the target makes for values that are moved there and back.
    fn across(&self, operation: &Operation<T>) -> Option<SpillCode<T>> {
        let (&[Operand::Register(to)], &[Operand::Register(from)], None) = (
            &operation.targets[..],
            &operation.sources[..],
            operation.predicate,
        ) else {
            return None;
        };
        let [into, out] = [to, from].map(|name| self.register(name));
        if T::class(into) == T::class(out) {
            return None;
        }
        let made = T::transfer(into, out, None)?;
        let same = matches!(&made[..], [only] if only.mnemonic == operation.mnemonic);
        same.then_some(SpillCode::Copy { to, from })
    }

    /// The value in the slot of an access, if it is one.
    pub(super) fn loaded(
        &self,
        terms: &Terms<T>,
        access: FrameAccess<T>,
        state: &State,
    ) -> Option<Value> {
        match self.slot(terms, access, state) {
            Place::Slot(slot) => Some(state.values[Self::SLOTS + slot]),
            _ => None,
        }
    }

    /// The slot of an access.
    fn slot(&self, terms: &Terms<T>, access: FrameAccess<T>, start: &State) -> Place {
        let offset = match access.address {
            FrameAddress::Offset(offset) => offset,
            FrameAddress::Register(name) => {
                let value = start.values[T::index(self.register(name))];
                match terms.term(value) {
                    Term::Address(offset) => *offset,
                    _ if terms.is_of_slot(value) => return Place::Unknown,
                    _ => return Place::Other,
                }
            }
        };
        let FrameOffset::Spill(offset) = offset else {
            return Place::Other;
        };
        let form = access.form;
        match self.slots.binary_search(&SlotPlace { offset, form }) {
            Ok(slot) => Place::Slot(slot),
            Err(_) => Place::Unknown,
        }
    }

    fn store(
        &self,
        terms: &mut Terms<T>,
        slot: usize,
        value: Value,
        at: At,
        state: &mut State,
    ) -> Result<(), Unproved> {
        let bytes = |slot: usize| {
            let SlotPlace { offset, form } = self.slots[slot];
            offset..offset + T::form_bytes(form)
        };
        let own = bytes(slot);
        if own.end > self.allocation.spilled
            || own.start % T::form_bytes(self.slots[slot].form) != 0
        {
            return Err(self.unproved(at, UnprovedReason::OutsideFrame));
        }
        for other in 0..self.slots.len() {
            let its = bytes(other);
            if its.start < own.end && own.start < its.end {
                state.values[Self::SLOTS + other] = self.unset(terms, at, Self::SLOTS + other);
            }
        }
        if !terms.is_wide(value) {
            state.values[Self::SLOTS + slot] = value;
        }
        Ok(())
    }

    fn unset(&self, terms: &mut Terms<T>, at: At, location: usize) -> Value {
        terms.value(Term::Unset {
            side: self.side,
            effect: Some((at.block, at.operation)),
            location,
        })
    }

    fn write(
        &self,
        terms: &mut Terms<T>,
        register: T::Register,
        value: Value,
        at: At,
        state: &mut State,
    ) {
        if T::is_constant(register) {
            return;
        }
        for other in T::overlapping(register) {
            if other != register {
                state.values[T::index(other)] = self.unset(terms, at, T::index(other));
            }
        }
        state.values[T::index(register)] = value;
    }

    /// All that an operation reads.
    fn reading(&self, terms: &mut Terms<T>, operation: &Operation<T>, start: &State) -> Reading {
        let read = |name: Name<T>| start.values[T::index(self.register(name))];
        let guard = operation
            .condition()
            .map(|(guard, holds)| (read(Name::Virtual(guard)), holds));
        let mut arguments = Arguments::new();
        let whole = T::overwrites(operation.mnemonic, false);
        let kept = !whole || T::accumulates(operation.mnemonic);
        let targets = operation
            .targets
            .iter()
            .filter(|target| kept || matches!(target, Operand::Address(_)));
        let names = operation.sources.iter().chain(targets);
        for name in names.filter_map(Operand::name) {
            arguments.push(terms.under(read(name), guard));
        }
        let hidden = T::hidden(operation);
        if hidden.reads {
            arguments.push(start.values[Self::HIDDEN]);
            // A guard that it does not name may be among what it reads.
            arguments.extend(self.guards().map(|at| start.values[at]));
        }
        let operands = || operation.targets.iter().chain(&operation.sources);
        let place =
            |operand: &Operand<T>| matches!(operand, Operand::Address(_) | Operand::Frame(_));
        if operation.memory.is_some() || operands().any(place) {
            // The memory of a set is the one in front of its stores.
            arguments.push(start.values[Self::MEMORY]);
        }
        Reading { guard, arguments }
    }

    /// The registers of classes that guard, by index.
    fn guards(&self) -> impl Iterator<Item = usize> {
        let pinned = self.allocation.registers.iter().copied();
        let all: BTreeSet<usize> = pinned
            .filter(|&register| T::is_guard(T::class(register)))
            .flat_map(T::overlapping)
            .map(T::index)
            .collect();
        all.into_iter()
    }

    /// Records an effect and changes memory.
    #[allow(clippy::too_many_arguments)]
    fn act(
        &self,
        terms: &mut Terms<T>,
        operation: &Operation<T>,
        at: At,
        shape: u32,
        reading: &Reading,
        state: &mut State,
        walk: &mut Walk,
    ) -> Result<(), Unproved> {
        let mut arguments = reading.arguments.clone();
        arguments.extend(reading.guard.map(|(guard, _)| guard));
        arguments.push(state.values[Self::MEMORY]);
        let kind = operation.branch();
        let mut registers = Vec::new();
        let mut named = BTreeSet::new();
        if matches!(kind, Some(Branch::Call | Branch::Return)) {
            registers.extend(&state.values[..T::REGISTERS]);
            named = std::mem::take(&mut state.named);
            named.extend(self.always(kind));
        }
        if kind == Some(Branch::Call) {
            for &output in &self.function.outputs {
                let register = self.allocation.register(output);
                arguments.push(state.values[T::index(register)]);
            }
        }
        if arguments.iter().any(|&argument| terms.is_of_slot(argument)) {
            return Err(self.unproved(at, UnprovedReason::SlotAccess));
        }
        walk.effects.push(Effect {
            operation: at.operation,
            shape,
            arguments,
            registers,
            named,
        });
        let jumps = matches!(kind, Some(Branch::Jump | Branch::Counted | Branch::Return));
        if !jumps {
            state.values[Self::MEMORY] = terms.value(Term::Result {
                block: at.block,
                effect: at.effects,
                place: Self::MEMORY,
            });
        }
        Ok(())
    }

    /// Registers with a meaning that no operation need name.
    fn always(&self, kind: Option<Branch>) -> Vec<usize> {
        let needed = match kind {
            Some(Branch::Call) => T::needed_by_calls(),
            _ => Vec::new(),
        };
        let all = T::preserved().into_iter().chain(needed);
        all.map(T::index).collect()
    }

    /// Writes the results of an operation.
    #[allow(clippy::too_many_arguments)]
    fn results(
        &self,
        terms: &mut Terms<T>,
        operation: &Operation<T>,
        at: At,
        (shape, known): (u32, Option<Value>),
        reading: &Reading,
        acts: bool,
        state: &mut State,
    ) {
        let definitions = T::definitions(operation, &|register| self.allocation.register(register));
        let hidden = T::hidden(operation);
        let stepped = operation.stepped().map(|name| self.register(name));
        let mut arguments = reading.arguments.clone();
        if definitions.iter().any(|it| it.always)
            && let Some((guard, _)) = reading.guard
        {
            arguments.push(guard);
        }
        for (result, definition) in definitions.iter().enumerate() {
            let location = T::index(definition.register);
            let old = state.values[location];
            let mut arguments = arguments.clone();
            if definition.keeps {
                arguments.push(old);
            }
            let plain = match known {
                Some(known) => known,
                None if acts && stepped != Some(definition.register) => terms.value(Term::Result {
                    block: at.block,
                    effect: at.effects,
                    place: Self::SLOTS + result,
                }),
                None => terms.value(Term::Apply {
                    shape,
                    result,
                    arguments,
                }),
            };
            let value = match reading.guard {
                Some((guard, holds)) if !definition.always => terms.value(Term::Select {
                    guard,
                    holds,
                    then: plain,
                    otherwise: terms.under(old, Some((guard, !holds))),
                }),
                _ => plain,
            };
            self.write(terms, definition.register, value, at, state);
        }
        if self.is_wide(operation) && !(reading.guard.is_none() && T::fits_slot(operation)) {
            for target in operation.targets.iter() {
                if let Operand::Register(Name::Virtual(register)) = target {
                    let register = self.allocation.register(*register);
                    terms.mark_wide(state.values[T::index(register)]);
                }
            }
        }
        if hidden.writes {
            arguments.extend(reading.guard.map(|(guard, _)| guard));
            arguments.push(state.values[Self::HIDDEN]);
            state.values[Self::HIDDEN] = terms.value(Term::Apply {
                shape,
                result: Self::HIDDEN,
                arguments,
            });
        }
    }

    /// The result that the target's table knows, of an operation with one that always executes.
    fn known(
        &self,
        terms: &mut Terms<T>,
        operation: &Operation<T>,
        start: &State,
        reading: &Reading,
    ) -> Option<Value> {
        if reading.guard.is_some()
            || T::hidden(operation).reads
            || operation.targets.len() != 1
            || operation.stepped().is_some()
        {
            return None;
        }
        let read = |name: Name<T>| start.values[T::index(self.register(name))];
        let constant = |name: Name<T>| terms.constant(read(name));
        match T::known(operation, &constant)? {
            Known::Constant(constant) => Some(terms.value(Term::Constant(constant))),
            Known::Operand(name) => Some(read(name)),
        }
    }

    /// A call changes registers; those that pass values hold the callee's results.
    fn call(&self, terms: &mut Terms<T>, at: At, state: &mut State) {
        for &register in &self.clobbered {
            let location = T::index(register);
            let value = match T::passes(register) {
                true => terms.value(Term::Result {
                    block: at.block,
                    effect: at.effects,
                    place: location,
                }),
                false => self.unset(terms, at, location),
            };
            self.write(terms, register, value, at, state);
        }
        state.values[Self::HIDDEN] = self.unset(terms, at, Self::HIDDEN);
    }
}

/// The place of an access to the frame.
enum Place {
    Slot(usize),
    /// No spill slot.
    Other,
    Unknown,
}

struct Reading {
    guard: Option<(Value, bool)>,
    arguments: Arguments,
}

fn is_slot<T: Target>(operand: &Operand<T>) -> bool {
    matches!(operand, Operand::Frame(FrameOffset::Spill(_)))
}
