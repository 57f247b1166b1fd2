//! Contents of slots that nothing stored: they are any, so that a value of the reduced function may stand for them.
//!
//! ```text
//! loop:  d1 = (slot)                    loop:  d1 = r9           in front of the loop nothing was stored, and r9 holds
//!        if t: d1 = ...                        if t: d1 = ...    something else
//!        (slot) = d1                           r9 = d1
//! ```
//!
//! Where two values differ, both are taken apart, through the ways that meet, down to what differs in them. Where that is a slot
//! without content, it is chosen to hold what the other location holds: on that way, or from the start.

use super::kept::{Arriving, Same, if_same};
use super::terms::{Side, Term, Terms, Value};
use super::walk::State;
use super::{Pair, WayOf};
use crate::mir::Target;
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;

/// The values of slots without content.
#[derive(Debug, Default)]
pub(super) struct Choices {
    /// The location of both functions that holds the same, by block, edge to it, and location of the function before.
    on_ways: BTreeMap<(u32, WayOf, usize), usize>,
    /// From the start, by location.
    at_start: BTreeMap<usize, Value>,
}

fn is_open<T: Target>(terms: &Terms<T>, value: Value) -> bool {
    let term = terms.term(value);
    matches!(
        term,
        Term::Unset {
            side: Side::Before,
            effect: None,
            ..
        }
    )
}

impl Choices {
    fn count(&self) -> usize {
        self.on_ways.len() + self.at_start.len()
    }

    /// The state that a function starts with.
    pub(super) fn start(&self, state: &mut State) {
        for (&location, &value) in &self.at_start {
            state.values[location] = value;
        }
    }

    /// The state that arrives at a block on an edge.
    pub(super) fn arriving<T: Target>(
        &self,
        terms: &Terms<T>,
        block: u32,
        way: WayOf,
        pair: &Pair,
    ) -> Vec<Value> {
        let mut values = pair.values.clone();
        let own = self
            .on_ways
            .range((block, way, 0)..=(block, way, usize::MAX));
        for (&(.., location), &other) in own {
            if is_open(terms, values[location]) {
                values[location] = values[other];
            }
        }
        values
    }

    /// Chooses what would make two values the same. Returns true if there was a new choice.
    pub(super) fn choose<T: Target>(
        &mut self,
        terms: &Terms<T>,
        ways: &[BTreeMap<WayOf, Pair>],
        above: &[Option<u32>],
        (value, other): (Value, Value),
    ) -> bool {
        let known = self.count();
        let mut seen: FxHashSet<(Value, Value)> = FxHashSet::default();
        let mut open = vec![(value, other)];
        while let Some((value, other)) = open.pop() {
            if value == other || !seen.insert((value, other)) {
                continue;
            }
            match (terms.term(value), terms.term(other)) {
                (
                    &Term::Unset {
                        side: Side::Before,
                        effect: None,
                        location,
                    },
                    Term::Initial(_)
                    | Term::Unset {
                        side: Side::After,
                        effect: None,
                        ..
                    },
                ) => {
                    self.at_start.entry(location).or_insert(other);
                }
                _ => match if_same(terms, above, (value, other)) {
                    Some(Same::Ways(block, [first, second])) => {
                        for (&way, pair) in &ways[block as usize] {
                            let [value, other] = [first, second].map(|it| it.on(&pair.values));
                            let same = match second {
                                Arriving::At(location) => Some(location),
                                Arriving::Kept(other) => {
                                    pair.values.iter().position(|&held| held == other)
                                }
                            };
                            match (first, same) {
                                (Arriving::At(location), Some(same)) if is_open(terms, value) => {
                                    let key = (block, way, location);
                                    self.on_ways.entry(key).or_insert(same);
                                }
                                _ => open.push((value, other)),
                            }
                        }
                    }
                    Some(Same::Parts(parts)) => open.extend(parts),
                    Some(Same::Either(..)) => {
                        let [own, with] = [value, other].map(|it| terms.commuting(it));
                        open.extend(own.into_iter().flatten().zip(with.into_iter().flatten()));
                    }
                    None => {}
                },
            }
        }
        self.count() > known
    }
}
