//! The values that locations hold, at the start of a block and inside one.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// The guard of values that are held whatever the predicates are.
pub(super) const CERTAIN: u32 = u32::MAX;

/// The guard of values that are held if a predicate has a value: numbers of predicates, and of their
/// complements.
pub(super) const fn under(predicate: u32, holds: bool) -> u32 {
    2 * predicate + if holds { 0 } else { 1 }
}

/// A value in a location. Values are numbers: of virtual registers, behind them of registers that the function names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Held {
    pub(super) value: u32,
    /// The guard under which it is there, or `CERTAIN`.
    pub(super) guard: u32,
}

/// The checker's own knowledge of a register, inside a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Known {
    Spill(u32),
    Zero,
}

/// The state at the start of a block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Entry {
    /// Location, value and guard, ascending.
    pub(super) held: Vec<(u32, u32, u32)>,
    /// Virtual registers that are written on some path from the start.
    pub(super) written: Vec<u64>,
}

pub(super) fn has(set: &[u64], item: u32) -> bool {
    set[item as usize / 64] >> (item % 64) & 1 != 0
}

impl Entry {
    /// Returns whether the value was never written, so that anything can be in its place.
    pub(super) fn is_undefined(&self, value: u32, virtuals: u32) -> bool {
        value < virtuals && !has(&self.written, value)
    }

    /// Keeps the values that both hold, and returns whether they are fewer than before.
    pub(super) fn meet(&mut self, other: &Entry, virtuals: u32) -> bool {
        let mut held = Vec::with_capacity(self.held.len());
        let (mut left, mut right) = (
            self.held.iter().copied().peekable(),
            other.held.iter().copied().peekable(),
        );
        loop {
            let key = |it: Option<&(u32, u32, u32)>| it.map(|it| (it.0, it.1));
            let only_left = match (key(left.peek()), key(right.peek())) {
                (None, None) => break,
                (Some(found), Some(two)) if found == two => {
                    let (found, two) = (left.next(), right.next());
                    let Some(((location, value, guard), (.., second))) = found.zip(two) else {
                        break;
                    };
                    match (guard, second) {
                        (found, two) if found == two => held.push((location, value, found)),
                        (CERTAIN, found) | (found, CERTAIN) => held.push((location, value, found)),
                        _ => {}
                    }
                    continue;
                }
                (Some(found), Some(two)) => found < two,
                (found, _) => found.is_some(),
            };
            let (side, absent) = match only_left {
                true => (left.next(), other),
                false => (right.next(), &*self),
            };
            held.extend(side.filter(|it| absent.is_undefined(it.1, virtuals)));
        }
        let mut written = self.written.clone();
        for (word, more) in written.iter_mut().zip(&other.written) {
            *word |= more;
        }
        let changed = held != self.held || written != self.written;
        (self.held, self.written) = (held, written);
        changed
    }
}

/// The state inside a block.
pub(super) struct State {
    pub(super) virtuals: u32,
    /// The values that each location holds.
    pub(super) contents: Vec<SmallVec<[Held; 2]>>,
    /// The locations that hold each value.
    pub(super) places: Vec<SmallVec<[u32; 2]>>,
    pub(super) written: Vec<u64>,
    pub(super) known: FxHashMap<usize, Known>,
    /// The locations that may hold something under each predicate.
    pub(super) guarded: FxHashMap<u32, Vec<u32>>,
}

impl State {
    pub(super) fn clear(&mut self, location: usize) {
        for held in std::mem::take(&mut self.contents[location]) {
            self.places[held.value as usize].retain(|place| *place != location as u32);
        }
        self.known.remove(&location);
    }
    pub(super) fn forget(&mut self, value: u32) {
        for place in std::mem::take(&mut self.places[value as usize]) {
            self.contents[place as usize].retain(|held| held.value != value);
        }
    }
    pub(super) fn put(&mut self, location: usize, held: Held) {
        self.contents[location].push(held);
        self.places[held.value as usize].push(location as u32);
        if held.guard != CERTAIN {
            let guarded = self.guarded.entry(held.guard / 2).or_default();
            guarded.push(location as u32);
        }
    }
    /// A predicate is written: values held under its old value are lost.
    pub(super) fn reguard(&mut self, predicate: u32) {
        for place in self.guarded.remove(&predicate).unwrap_or_default() {
            let contents = &mut self.contents[place as usize];
            let mut lost: SmallVec<[u32; 2]> = SmallVec::new();
            contents.retain(|held| {
                let stays = held.guard == CERTAIN || held.guard / 2 != predicate;
                if !stays {
                    lost.push(held.value);
                }
                stays
            });
            // Under another guard it may still be there.
            lost.retain(|value| contents.iter().all(|held| held.value != *value));
            for value in lost {
                self.places[value as usize].retain(|known| *known != place);
            }
        }
    }
    /// Puts this and nothing else into a location.
    pub(super) fn fill(&mut self, location: usize, contents: SmallVec<[Held; 2]>) {
        self.clear(location);
        for held in contents {
            self.put(location, held);
        }
    }
    /// A value is written anew, and only there.
    pub(super) fn define(&mut self, location: usize, held: Held) {
        self.forget(held.value);
        self.reguard(held.value);
        self.put(location, held);
        self.mark(held.value);
    }
    pub(super) fn mark(&mut self, value: u32) {
        if value < self.virtuals {
            self.written[value as usize / 64] |= 1 << (value % 64);
        }
    }
    pub(super) fn is_undefined(&self, value: u32) -> bool {
        value < self.virtuals && !has(&self.written, value)
    }
    /// The guards under which a location holds a value, `CERTAIN` alone where it does so whatever they are.
    pub(super) fn guards_of(&self, location: usize, value: u32) -> SmallVec<[u32; 2]> {
        let held = self.contents[location].iter();
        let guards: SmallVec<[u32; 2]> = held
            .filter(|held| held.value == value)
            .map(|held| held.guard)
            .collect();
        match guards.contains(&CERTAIN) {
            true => SmallVec::from_slice(&[CERTAIN]),
            false => guards,
        }
    }
    pub(super) fn holds(&self, location: usize, value: u32, guard: Option<u32>) -> bool {
        self.is_undefined(value)
            || self
                .guards_of(location, value)
                .iter()
                .any(|&under| under == CERTAIN || Some(under) == guard)
    }
    pub(super) fn load(&mut self, entry: &Entry) {
        for location in 0..self.contents.len() {
            if !self.contents[location].is_empty() {
                self.clear(location);
            }
        }
        self.known.clear();
        self.guarded.clear();
        self.written.clone_from(&entry.written);
        for &(location, value, guard) in &entry.held {
            self.put(location as usize, Held { value, guard });
        }
    }
}
