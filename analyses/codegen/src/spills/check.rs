//! A checker of reduced spill code that shares no code with the reduction: the function does the same as before, on every path.
//!
//! ```text
//! before                        after                     both
//! d1 = move.l (r0)              d1 = move.l (r0)          d1: a
//! (slot) = d1                   r3 = d1                   slot before = r3 after: a
//! d1 = add d2,d3                d1 = add d2,d3            d1: add(b, c)
//! d4 = (slot); (r0) = d4        (r0) = r3                 the same is stored at the same place
//! ```
//!
//! Both functions are executed symbolically, block by block, on one table of values: a value is what the function starts with,
//! a constant, a pure operation on values, what a call or another effect left, or what arrives at a block where ways meet. Two
//! locations of either function whose values have the same number hold the same. Effects (stores of the program, calls,
//! branches, loops, returns) correspond one by one, and everything that they read must have the same number in both. Nothing
//! else is compared: what is moved, computed again or left out between them is free, and no correspondence is asked for.
//!
//! Where ways meet, locations hold one value if they do so on every way. The values of blocks start as what the first way brings,
//! and are taken apart as further ways do, until nothing changes: what then holds on all ways is an invariant, whatever it was
//! found by. Stops: after `ROUNDS` rounds without a verdict.
//!
//! A slot that nothing stored holds anything in the function before, so that what the other function holds may be chosen for it.
//!
//! Takes the word of the target's tables for what operations read and write, that `Function::kept` names the registers that hold
//! more than a slot does, and that no pointer of the program leads to a spill slot. Does not compare registers that no effect
//! reads, and knows no algebra: a sum of the same numbers in another order is another value. What it cannot show it does not
//! accept.
//!
//! Source: Necula, *Translation Validation for an Optimizing Compiler* (PLDI 2000); Alpern, Wegman, Zadeck, *Detecting Equality
//! of Variables in Programs* (POPL 1988), for values where ways meet.

mod join;
mod kept;
mod spared;
mod terms;
#[cfg(test)]
mod tests;
mod undefined;
mod walk;

use crate::allocate::Allocation;
use crate::mir::{Function, Target};
use crate::predicate::loops::dominators;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use terms::{Terms, Value};
use undefined::Choices;
use walk::{Exit, State, Walk, Walker};

pub use spared::{Spared, spared};
pub use terms::Side;

/// The most rounds over all blocks.
const ROUNDS: usize = 64;
/// The most times that contents of slots that nothing stored are chosen.
const CHOICES: usize = 32;

/// A way to a block: the block that it comes from, and the number of the way out there.
type WayOf = (u32, usize);

/// A difference that the two functions have, or may have.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("block {block}, operation {operation} {side}: {reason}")]
pub struct Unproved {
    pub block: u32,
    pub operation: u32,
    /// The function in which the operation is counted.
    pub side: Side,
    pub reason: UnprovedReason,
}

/// The reason why two functions may differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum UnprovedReason {
    #[error("the functions have other blocks, or ways between them")]
    Shape,
    #[error("the other function does not do this here")]
    Effect,
    /// Counted from 0, the sources first.
    #[error("argument {argument} may be another value")]
    Argument { argument: u32 },
    #[error("the value passed on in register {index} may be another one")]
    Passed { index: u32 },
    #[error("an arrival does more than move an argument")]
    Arrival,
    #[error("cycles are not those of the operations")]
    Cycles,
    #[error("stands behind a branch of its set")]
    BehindBranch,
    #[error("accesses a spill slot in another way than by a load or store")]
    SlotAccess,
    #[error("a slot outside the frame, or misaligned")]
    OutsideFrame,
    #[error("no verdict in so many rounds")]
    Rounds,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Side::Before => "before",
            Side::After => "after",
        })
    }
}

/// Checks that an allocated function does the same after its spill code was reduced.
///
/// # Errors
/// The first place where that is not shown.
pub fn check<T: Target>(
    before: (&Function<T>, &Allocation<T>),
    after: (&Function<T>, &Allocation<T>),
) -> Result<(), Unproved> {
    if before.0.blocks.len() != after.0.blocks.len() {
        return Err(shape(0));
    }
    let mut check = Check::new(before, after);
    for _ in 0..CHOICES {
        match check.run()? {
            Verdict::Same => return Ok(()),
            Verdict::Differ(unproved, [value, other]) => {
                let (terms, ways, above) = (&check.terms, &check.ways, &check.above);
                if !check.choices.choose(terms, ways, above, (value, other)) {
                    return Err(unproved);
                }
            }
        }
    }
    Err(Unproved {
        reason: UnprovedReason::Rounds,
        ..shape(0)
    })
}

enum Verdict {
    Same,
    /// Two values that should be the same.
    Differ(Unproved, [Value; 2]),
}

const fn shape(block: u32) -> Unproved {
    Unproved {
        block,
        operation: 0,
        side: Side::After,
        reason: UnprovedReason::Shape,
    }
}

/// The states of both functions at one place.
#[derive(Clone, PartialEq, Debug)]
struct Pair {
    values: Vec<Value>,
    named: [BTreeSet<usize>; 2],
}

impl Pair {
    fn new(before: State, after: State) -> Pair {
        let mut values = before.values;
        values.extend(after.values);
        Pair {
            values,
            named: [before.named, after.named],
        }
    }
    fn apart(&self, before: usize) -> (State, State) {
        let (first, second) = self.values.split_at(before);
        let [of_before, of_after] = self.named.clone();
        let state = |values: &[Value], named| State {
            values: values.to_vec(),
            named,
        };
        (state(first, of_before), state(second, of_after))
    }
}

struct Check<'a, T: Target> {
    terms: Terms<T>,
    before: Walker<'a, T>,
    after: Walker<'a, T>,
    starts: Vec<Option<Pair>>,
    /// The states that arrive at each block, by edge.
    ways: Vec<BTreeMap<WayOf, Pair>>,
    choices: Choices,
    /// The immediate dominators of blocks.
    above: Vec<Option<u32>>,
}

impl<'a, T: Target> Check<'a, T> {
    fn new(
        before: (&'a Function<T>, &'a Allocation<T>),
        after: (&'a Function<T>, &'a Allocation<T>),
    ) -> Check<'a, T> {
        Check {
            terms: Terms::new(),
            before: Walker::new(Side::Before, before.0, before.1),
            after: Walker::new(Side::After, after.0, after.1),
            starts: Vec::new(),
            ways: Vec::new(),
            choices: Choices::default(),
            above: dominators(before.0),
        }
    }

    fn run(&mut self) -> Result<Verdict, Unproved> {
        let blocks = self.before.function.blocks.len();
        self.starts = vec![None; blocks];
        self.ways = vec![BTreeMap::new(); blocks];
        let mut first = self.before.start(&mut self.terms);
        let mut second = self.after.start(&mut self.terms);
        let size = first.values.len();
        self.choices.start(&mut first);
        self.before.arrive(&mut self.terms, &mut first)?;
        self.after.arrive(&mut self.terms, &mut second)?;
        let entry = Pair::new(first, second);
        let order = self.order();
        for _ in 0..ROUNDS {
            let mut changed = false;
            self.terms.forget_widths();
            for &block in &order {
                let Some(start) = self.joined(block, &entry) else {
                    continue;
                };
                let known = &mut self.starts[block as usize];
                changed |= known.as_ref() != Some(&start);
                *known = Some(start);
                let (before, after) = self.walked(block, size)?;
                let ways = exits(block, before, after)?;
                for (number, (to, pair)) in ways.into_iter().enumerate() {
                    self.ways[to as usize].insert((block, number), pair);
                }
            }
            if !changed {
                for &block in &order {
                    if let Verdict::Differ(unproved, values) = self.compare(block, size)? {
                        return Ok(Verdict::Differ(unproved, values));
                    }
                }
                return Ok(Verdict::Same);
            }
        }
        Err(Unproved {
            reason: UnprovedReason::Rounds,
            ..shape(0)
        })
    }

    /// The blocks, those of which control comes first where that can be.
    fn order(&self) -> Vec<u32> {
        let function = self.before.function;
        let mut seen = vec![false; function.blocks.len()];
        let mut out = Vec::new();
        let mut open: Vec<(u32, Vec<u32>)> = Vec::new();
        if !seen.is_empty() {
            seen[0] = true;
            open.push((0, function.successors(0)));
        }
        while let Some((block, left)) = open.last_mut() {
            match left.pop() {
                Some(next) if !std::mem::replace(&mut seen[next as usize], true) => {
                    open.push((next, function.successors(next)));
                }
                Some(_) => {}
                None => {
                    out.push(*block);
                    open.pop();
                }
            }
        }
        out.reverse();
        out
    }

    /// The state in front of a block, if control is known to come there.
    fn joined(&mut self, block: u32, entry: &Pair) -> Option<Pair> {
        let mut values: Vec<Vec<Value>> = Vec::new();
        if block == 0 {
            values.push(entry.values.clone());
        }
        let mut named: [BTreeSet<usize>; 2] = Default::default();
        for (&way, pair) in &self.ways[block as usize] {
            values.push(self.choices.arriving(&self.terms, block, way, pair));
            for (all, own) in named.iter_mut().zip(&pair.named) {
                all.extend(own);
            }
        }
        (!values.is_empty()).then(|| Pair {
            values: join::join(&mut self.terms, block, &values),
            named,
        })
    }

    fn walked(&mut self, block: u32, size: usize) -> Result<(Walk, Walk), Unproved> {
        let Some(start) = &self.starts[block as usize] else {
            return Ok(Default::default());
        };
        let (before, after) = start.apart(size);
        let before = self
            .before
            .walk(&mut self.terms, block, before, &mut |_, _, _| {})?;
        let after = self
            .after
            .walk(&mut self.terms, block, after, &mut |_, _, _| {})?;
        Ok((before, after))
    }

    fn are_same(&self, value: Value, other: Value) -> bool {
        let arriving = |block: u32| {
            let ways = self.ways[block as usize].iter();
            ways.map(|(&way, pair)| self.choices.arriving(&self.terms, block, way, pair))
                .collect()
        };
        value == other || kept::are_same(&self.terms, &arriving, &self.above, (value, other))
    }

    /// The effects of a block are the same in both functions.
    fn compare(&mut self, block: u32, size: usize) -> Result<Verdict, Unproved> {
        let (before, after) = self.walked(block, size)?;
        let unproved = |side, operation, reason| Unproved {
            block,
            operation,
            side,
            reason,
        };
        let mut others = after.effects.iter();
        for effect in &before.effects {
            let missing = unproved(Side::Before, effect.operation, UnprovedReason::Effect);
            let other = others.next().ok_or(missing)?;
            if effect.shape != other.shape || effect.arguments.len() != other.arguments.len() {
                return Err(missing);
            }
            let here = |reason| unproved(Side::After, other.operation, reason);
            let arguments = effect.arguments.iter().zip(&other.arguments);
            for (argument, (value, now)) in (0..).zip(arguments) {
                if !self.are_same(*value, *now) {
                    let reason = UnprovedReason::Argument { argument };
                    return Ok(Verdict::Differ(here(reason), [*value, *now]));
                }
            }
            for &index in &effect.named {
                let [value, now] = [effect, other].map(|effect| effect.registers[index]);
                if !self.are_same(value, now) {
                    let index = index as u32;
                    let reason = UnprovedReason::Passed { index };
                    return Ok(Verdict::Differ(here(reason), [value, now]));
                }
            }
        }
        match others.next() {
            Some(effect) => Err(unproved(
                Side::After,
                effect.operation,
                UnprovedReason::Effect,
            )),
            None => Ok(Verdict::Same),
        }
    }
}

/// The ways out of a block, each with the states of both functions.
fn exits(block: u32, before: Walk, after: Walk) -> Result<Vec<(u32, Pair)>, Unproved> {
    if before.exits.len() != after.exits.len() {
        return Err(shape(block));
    }
    let pairs = before.exits.into_iter().zip(after.exits);
    pairs
        .map(|(first, second): (Exit, Exit)| {
            let same = first.to == second.to && first.effects == second.effects;
            let pair = Pair::new(first.state, second.state);
            same.then_some((first.to, pair)).ok_or(shape(block))
        })
        .collect()
}
