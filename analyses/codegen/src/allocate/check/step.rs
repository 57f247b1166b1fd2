//! An operation of the function as it was given: its reads find their values, and its writes change the state.

use super::state::{CERTAIN, Held, State, under};
use super::{Checker, Location, Violation};
use crate::mir::{Name, Operand, Operation, Target};
use isa::Branch;
use smallvec::SmallVec;

/// An operation of `before` and its counterpart.
pub(super) struct Step<'a, T: Target> {
    pub(super) checker: &'a Checker<'a, T>,
    pub(super) block: u32,
    pub(super) number: u32,
    pub(super) before: &'a Operation<T>,
    pub(super) after: &'a Operation<T>,
}

impl<T: Target> Step<'_, T> {
    /// A value of `before` is in the register that `after` reads.
    pub(super) fn expect(
        &self,
        state: &State,
        name: Name<T>,
        register: T::Register,
        guard: Option<u32>,
    ) -> Result<(), Violation<T::Register>> {
        let Some(value) = self.checker.value(name) else {
            return Ok(());
        };
        if state.holds(T::index(register), value, guard) {
            return Ok(());
        }
        let (block, operation) = (self.block, self.number);
        Err(match name {
            Name::Virtual(name) => Violation::Lost {
                block,
                operation,
                register: name,
                expected: Location::Register(register),
            },
            Name::Fixed(register) => Violation::Overwritten {
                block,
                operation,
                register,
            },
        })
    }

    /// The guard under which the operation executes.
    pub(super) fn guard(&self) -> Option<u32> {
        let predicate = self.before.predicate?;
        let value = self.checker.value(Name::Virtual(predicate))?;
        Some(under(value, self.before.executes_where_held()))
    }

    pub(super) fn reads(&self, state: &State) -> Result<(), Violation<T::Register>> {
        let register = |name| self.checker.register(name);
        if let (Some(given), Some(now)) = (self.before.predicate, self.after.predicate) {
            let (given, now) = (Name::Virtual(given), Name::Virtual(now));
            self.expect(state, given, register(now), None)?;
        }
        let accumulates = T::accumulates(self.before.mnemonic);
        let addresses = |it: &&Operand<T>| accumulates || matches!(it, Operand::Address(_));
        let given = self.before.sources.iter();
        let given = given.chain(self.before.targets.iter().filter(addresses));
        let now = self.after.sources.iter();
        let now = now.chain(self.after.targets.iter().filter(addresses));
        for (given, now) in given.zip(now) {
            if let (Some(given), Some(now)) = (given.name(), now.name()) {
                self.expect(state, given, register(now), self.guard())?;
            }
        }
        Ok(())
    }

    /// Arguments and results are where the function put them when control goes to another.
    pub(super) fn passes_on(
        &self,
        state: &mut State,
        by_name: &mut Vec<T::Register>,
    ) -> Result<(), Violation<T::Register>> {
        let kind = self.before.branch();
        if matches!(kind, Some(Branch::Call | Branch::Return)) {
            // What belongs to the caller is the caller's again when control goes on.
            let needed = match kind {
                Some(Branch::Call) => T::needed_by_calls(),
                _ => Vec::new(),
            };
            let always = self.checker.preserved.iter().chain(&needed);
            let passed = by_name.iter().filter(|it| T::passes(**it));
            for &register in passed.chain(always) {
                self.expect(state, Name::Fixed(register), register, self.guard())?;
            }
            by_name.clear();
        }
        if kind == Some(Branch::Call) {
            for &output in &self.checker.before.outputs {
                let name = Name::Virtual(output);
                let register = self.checker.register(name);
                self.expect(state, name, register, self.guard())?;
            }
        }
        let targets = self.before.targets.iter();
        by_name.extend(targets.filter_map(|target| match target {
            Operand::Register(Name::Fixed(register)) => Some(*register),
            _ => None,
        }));
        Ok(())
    }

    pub(super) fn writes(&self, state: &mut State) {
        let checker = self.checker;
        let defs = checker.written(self.after);
        let guard = self.guard();
        let base = self.before.stepped().zip(self.after.stepped());
        let targets = self.before.targets.iter().zip(&self.after.targets);
        let targets = targets.filter_map(|(given, now)| match (given, now) {
            (Operand::Register(given), Operand::Register(now)) => Some((*given, *now)),
            _ => None,
        });
        let mut written: SmallVec<[(usize, SmallVec<[Held; 2]>); 3]> = SmallVec::new();
        let mut values: SmallVec<[u32; 3]> = SmallVec::new();
        for (given, now) in targets.chain(base) {
            let register = checker.register(now);
            let location = T::index(register);
            let Some(value) = checker.value(given) else {
                continue;
            };
            values.push(value);
            if T::is_constant(register) {
                continue;
            }
            let def = defs.iter().find(|def| def.register == register);
            let parallel = def.is_some_and(|def| def.keeps);
            let always = def.is_some_and(|def| def.always) || guard.is_none();
            let old = match state.is_undefined(value) {
                true => SmallVec::from_slice(&[CERTAIN]),
                false => state.guards_of(location, value),
            };
            let mut held: SmallVec<[u32; 2]> = SmallVec::new();
            match (parallel, always, guard) {
                (false, true, _) => held.push(CERTAIN),
                _ if old.as_slice() == [CERTAIN] => held.push(CERTAIN),
                // Whether or not it executes, the location still holds the value under every other guard.
                (false, false, guard) => {
                    held.extend(guard);
                    held.extend(old.into_iter().filter(|under| Some(*under) != guard));
                }
                (true, false, Some(guard)) if old.contains(&guard) => held.push(guard),
                (true, ..) => {}
            }
            let held = held
                .into_iter()
                .map(|guard| Held { value, guard })
                .collect();
            written.push((location, held));
        }
        for def in &defs {
            if !written.iter().any(|it| it.0 == T::index(def.register)) {
                checker.changed(state, def.register);
            }
        }
        for def in &defs {
            if written.iter().any(|it| it.0 == T::index(def.register)) {
                checker.clear(state, def.register);
            }
        }
        for (location, _) in &written {
            state.clear(*location);
        }
        for &value in &values {
            state.forget(value);
            state.reguard(value);
            state.mark(value);
        }
        for (location, held) in written {
            state.clear(location);
            // A predicate that is written is another one from here on.
            let kept = held
                .into_iter()
                .filter(|held| held.guard == CERTAIN || !values.contains(&(held.guard / 2)));
            for (number, held) in kept.enumerate() {
                match number {
                    0 => state.define(location, held),
                    _ => state.put(location, held),
                }
            }
        }
    }

    /// A call and a rotation change registers that they do not name.
    pub(super) fn leaves_frame(&self, state: &mut State) {
        let checker = self.checker;
        let registers = match self.before.branch() {
            Some(Branch::Call) => &checker.scratch,
            _ if T::rotates(self.before) => &checker.rotating,
            _ => return,
        };
        for &register in registers {
            checker.changed(state, register);
        }
        if self.before.branch() == Some(Branch::Call) {
            // The next call may have fewer arguments.
            for output in &checker.before.outputs {
                state.forget(output.0);
                state.written[output.0 as usize / 64] &= !(1 << (output.0 % 64));
            }
        }
    }
}
