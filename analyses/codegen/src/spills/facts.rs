//! The equalities that hold in front of each block: an iteration over the blocks until nothing changes.
//!
//! Every block is visited in the order of the layout; one that is visited often takes apart what it could not settle, so that
//! each further visit takes at least one location apart.

use super::code::{Code, Location, Step, Touched};
use super::values::{Number, Numbers, Origin, Shape, State, meet};
use crate::mir::{Known, Name, Operand, Operation, Target};
use ir::EntitySet;
use smallvec::SmallVec;
use std::collections::BTreeSet;

/// Visits of a block after which locations that still change are taken apart.
const VISITS: u32 = 6;

/// A step, and what is known in front of it.
pub(super) struct Point<'p, T: Target> {
    pub(super) numbers: &'p Numbers<T>,
    /// The step's number in its block.
    pub(super) step: usize,
    pub(super) state: &'p State,
    /// The location that it sets and the value there behind it, if it is a transfer or computes from its operands alone.
    pub(super) given: Option<(Location, Number)>,
}

/// An operation as its shape and its operands; what it accumulates into is the last.
struct Apart<T: Target> {
    shape: Shape<T>,
    operands: SmallVec<[Name<T>; 3]>,
}

pub(super) struct Facts<T: Target> {
    pub(super) numbers: Numbers<T>,
    /// `None`: control never comes there.
    entries: Vec<Option<State>>,
}

impl<T: Target> Facts<T> {
    pub(super) fn of(code: &Code<'_, T>) -> Facts<T> {
        let count = code.blocks.len();
        let mut facts = Facts {
            numbers: Numbers::default(),
            entries: vec![None; count],
        };
        let mut left: Vec<Vec<(usize, State)>> = vec![Vec::new(); count];
        let mut before: Vec<Vec<usize>> = vec![Vec::new(); count];
        for block in 0..count {
            for next in code.successors(block) {
                before[next].push(block);
            }
        }
        let mut visits = vec![0u32; count];
        let mut apart: Vec<EntitySet<Location>> = vec![EntitySet::new(); count];
        let mut work: BTreeSet<usize> = BTreeSet::from([0]);
        while let Some(block) = work.pop_first() {
            let state = match block {
                0 => facts.start(code),
                _ => {
                    let states: Vec<&State> = before[block]
                        .iter()
                        .flat_map(|&from| &left[from])
                        .filter(|(to, _)| *to == block)
                        .map(|(_, state)| state)
                        .collect();
                    meet(&mut facts.numbers, block as u32, &states, &apart[block])
                }
            };
            let known = facts.entries[block].as_ref();
            if known == Some(&state) {
                continue;
            }
            if visits[block] >= VISITS
                && let Some(known) = known
            {
                let changed = (0u32..).zip(known.iter().zip(&state));
                for (at, _) in changed.filter(|(_, (old, new))| old != new) {
                    apart[block].insert(Location(at));
                }
            }
            visits[block] += 1;
            let mut edges: Vec<(usize, State)> = Vec::new();
            let end = facts.replay(code, block, state.clone(), &mut |_| {}, &mut edges);
            if let Some(next) = falls(code, block) {
                edges.push((next, end));
            }
            facts.entries[block] = Some(state);
            work.extend(edges.iter().map(|(to, _)| *to));
            left[block] = edges;
        }
        facts
    }

    /// The state at the function's entry: nothing is known, and no two locations are known to be equal.
    fn start(&mut self, code: &Code<'_, T>) -> State {
        let all = 0..code.locations() as u32;
        all.map(|at| self.numbers.of(Origin::Entry(0, Location(at))))
            .collect()
    }

    pub(super) fn at_start(&self, block: usize) -> Option<&State> {
        self.entries[block].as_ref()
    }

    /// Goes through a block. `edges` gets the states at branches.
    pub(super) fn replay(
        &mut self,
        code: &Code<'_, T>,
        block: usize,
        mut state: State,
        each: &mut dyn FnMut(Point<'_, T>),
        edges: &mut Vec<(usize, State)>,
    ) -> State {
        let at = &code.blocks[block];
        for group in Code::groups(at) {
            let mut after: Vec<(Location, Number)> = Vec::new();
            for number in group.clone() {
                let step = &at.steps[number];
                let touched = code.touched(&at.steps, number);
                let given = self.value(code, step, touched, &state);
                each(Point {
                    numbers: &self.numbers,
                    step: number,
                    state: &state,
                    given,
                });
                for location in touched.writes() {
                    let own = given.filter(|(to, _)| *to == location);
                    let value = own.map(|(_, value)| value).unwrap_or_else(|| {
                        let origin = Origin::Step(block as u32, number as u32, location);
                        self.numbers.of(origin)
                    });
                    after.push((location, value));
                }
                if let Step::Operation(operation) = step
                    && T::rotates(operation)
                {
                    for register in T::rotating(code.function) {
                        let location = Location::register::<T>(register);
                        let origin = Origin::Step(block as u32, number as u32, location);
                        after.push((location, self.numbers.of(origin)));
                    }
                }
            }
            // Reads of a group come before all of its writes.
            for (location, value) in after {
                state[location.0 as usize] = value;
            }
            for step in &at.steps[group] {
                if let Step::Operation(operation) = step {
                    let targets = Code::targets(operation);
                    edges.extend(targets.map(|target| (target, state.clone())));
                }
            }
        }
        state
    }

    /// The location that a step sets, and the value that it has behind it; `None`: it is not known, or the step does more.
    fn value(
        &mut self,
        code: &Code<'_, T>,
        step: &Step<T>,
        touched: &Touched,
        state: &State,
    ) -> Option<(Location, Number)> {
        let holds = |location: Location| state[location.0 as usize];
        let register = |register: T::Register| Location::register::<T>(register);
        match step {
            Step::Load { to, from, .. } => Some((register(*to), holds(Location::home::<T>(*from)))),
            Step::Store { from, to, .. } => {
                Some((Location::home::<T>(*to), holds(register(*from))))
            }
            Step::Copy { to, from, .. } => Some((register(*to), holds(register(*from)))),
            Step::Operation(operation) => {
                let ([to], []) = (&touched.kills[..], &touched.changes[..]) else {
                    return None;
                };
                let number = self.computed(code, operation, state)?;
                Some((*to, number))
            }
        }
    }

    /// The value of an operation that depends on its operands alone.
    fn computed(
        &mut self,
        code: &Code<'_, T>,
        operation: &Operation<T>,
        state: &State,
    ) -> Option<Number> {
        if operation.predicate.is_some()
            || operation.memory.is_some()
            || !T::is_pure(operation)
            || T::hidden(operation).reads
            || (T::hidden(operation).writes && code.hidden)
        {
            return None;
        }
        let [Operand::Register(_)] = &operation.targets[..] else {
            return None;
        };
        let holds = |name: Name<T>| {
            let location = Location::register::<T>(code.register(name));
            state[location.0 as usize]
        };
        let constant = |name: Name<T>| self.numbers.constant(holds(name));
        match T::known(operation, &constant) {
            Some(Known::Constant(constant)) => {
                return Some(self.numbers.of(Origin::Constant(constant)));
            }
            Some(Known::Operand(name)) => return Some(holds(name)),
            None => {}
        }
        let Apart { shape, operands } = taken_apart(code, operation)?;
        let operands: SmallVec<[Number; 3]> = operands.into_iter().map(holds).collect();
        let shape = self.numbers.shape_number(shape);
        Some(self.numbers.of(Origin::Expression(shape, operands)))
    }
}

fn taken_apart<T: Target>(code: &Code<'_, T>, operation: &Operation<T>) -> Option<Apart<T>> {
    let mut operands: SmallVec<[Name<T>; 3]> = SmallVec::new();
    let mut sources = Vec::with_capacity(operation.sources.len());
    for source in &operation.sources {
        sources.push(match source {
            Operand::Register(name) => {
                let register = code.register(*name);
                // A constant register stands for itself.
                match T::is_constant(register) {
                    true => Operand::fixed(register),
                    false if T::may_have(register) => {
                        operands.push(*name);
                        Operand::Register(Name::Virtual(crate::mir::Virtual(
                            operands.len() as u32 - 1,
                        )))
                    }
                    false => return None,
                }
            }
            Operand::Number(_) | Operand::Symbol(_) | Operand::Frame(_) => source.clone(),
            Operand::Address(_) | Operand::Block(_) => return None,
        });
    }
    if T::accumulates(operation.mnemonic) {
        operands.extend(operation.targets.first()?.name());
    }
    let class = |name: &Name<T>| T::class(code.register(*name));
    let is_kept = |target: &Operand<T>| match target {
        Operand::Register(Name::Virtual(register)) => code.function.kept.contains(register),
        _ => false,
    };
    let shape = Shape {
        mnemonic: operation.mnemonic,
        wide: operation.targets.iter().any(is_kept),
        class: class(&operation.targets.first()?.name()?),
        classes: operands.iter().map(class).collect(),
        sources,
    };
    Some(Apart { shape, operands })
}

/// The block into which control falls behind one.
fn falls<T: Target>(code: &Code<'_, T>, block: usize) -> Option<usize> {
    let own = block.checked_sub(1);
    let leaves = own.is_some_and(|own| {
        let operations = &code.function.blocks[own].operations;
        operations.last().is_some_and(Operation::leaves)
    });
    Some(block + 1).filter(|next| !leaves && *next < code.blocks.len())
}
