//! Ways that meet: what arrives in two locations is one value if it is the same on every way.
//!
//! ```text
//! r1 = x, slot = x + 3     and     r1 = y, slot = y + 3        r1 is a new value v; the slot holds v + 3
//! ```
//!
//! A value that names the block where ways meet was there the last time, and is another one now: it passes on as a new value,
//! which all locations share that hold the same on each way.

use super::terms::{Arguments, Term, Terms, Value, are_alike, parts, with_parts};
use crate::mir::Target;
use rustc_hash::FxHashMap;

/// The depth to which a value is taken apart.
const DEPTH: usize = 4;

/// The values of all locations behind the ways to a block, whose values are given in the same order.
pub(super) fn join<T: Target>(terms: &mut Terms<T>, block: u32, ways: &[Vec<Value>]) -> Vec<Value> {
    let locations = ways.first().map_or(0, Vec::len);
    let arriving =
        |location: usize| -> Arguments { ways.iter().map(|way| way[location]).collect() };
    let mut first: FxHashMap<Arguments, usize> = FxHashMap::default();
    for location in 0..locations {
        first.entry(arriving(location)).or_insert(location);
    }
    let mut meeting = Meeting {
        terms,
        block,
        first,
        known: FxHashMap::default(),
    };
    (0..locations)
        .map(|location| meeting.joined(&arriving(location)))
        .collect()
}

struct Meeting<'a, T: Target> {
    terms: &'a mut Terms<T>,
    block: u32,
    /// The first location of those in which the same values arrive.
    first: FxHashMap<Arguments, usize>,
    known: FxHashMap<Arguments, Value>,
}

impl<T: Target> Meeting<'_, T> {
    /// The value of a location.
    fn joined(&mut self, arriving: &Arguments) -> Value {
        if let Some(&known) = self.known.get(arriving) {
            return known;
        }
        let made = self.same(arriving).or_else(|| self.apart(arriving, DEPTH));
        let value = made.unwrap_or_else(|| {
            self.terms.value(Term::Phi {
                block: self.block,
                location: self.first[arriving],
            })
        });
        if arriving.iter().any(|&value| self.terms.is_wide(value)) {
            self.terms.mark_wide(value);
        }
        if arriving.iter().any(|&value| self.terms.is_of_slot(value)) {
            self.terms.mark_of_slot(value);
        }
        self.known.insert(arriving.clone(), value);
        value
    }

    /// The value that arrives on all ways.
    fn same(&self, arriving: &Arguments) -> Option<Value> {
        let &value = arriving.first()?;
        let same = arriving.iter().all(|other| *other == value);
        (same && !self.terms.names(value, self.block)).then_some(value)
    }

    /// The value as one of values of this block, where it is made in one way of what other locations hold.
    fn apart(&mut self, arriving: &Arguments, depth: usize) -> Option<Value> {
        let kind = self.terms.term(*arriving.first()?).clone();
        let alike = |value: &Value| are_alike(&kind, self.terms.term(*value));
        if depth == 0 || !arriving.iter().all(alike) {
            return None;
        }
        let of_ways: Vec<Arguments> = arriving
            .iter()
            .map(|value| parts(self.terms.term(*value)))
            .collect();
        let mut made = Arguments::new();
        for number in 0..of_ways[0].len() {
            let part: Arguments = of_ways.iter().map(|parts| parts[number]).collect();
            let found = self
                .same(&part)
                .or_else(|| match self.first.contains_key(&part) {
                    true => Some(self.joined(&part)),
                    false => self.apart(&part, depth - 1),
                });
            made.push(found?);
        }
        Some(self.terms.value(with_parts(&kind, made)))
    }
}
