//! TAGE: a table of counters by place, and tables by place and ever longer histories, whose entries have tags.
//!
//! ```text
//! base[pc]  T1[pc ^ 4 bits]  T2[pc ^ 7 bits]  ...  T12[pc ^ 640 bits]      the longest with a tag that fits predicts
//! ```
//!
//! The next longest that fits, or else the base, is the *alternative*; where the entry is new (its counter weak, not yet
//! useful), a counter says which of both is believed. A misprediction takes an entry of a longer history that is not
//! useful, the nearer ones more often; if all are useful, they become less so. An entry is useful where it was right and
//! its alternative wrong. All useful bits are cleared in turn, the high and the low ones, every 2^18 branches. Lookups and
//! updates take time in the number of tables.
//!
//! Source: A. Seznec, P. Michaud, *A Case for (Partially) Tagged Geometric History Length Branch Prediction*, JILP 8, 2006.

use super::counter::{WEAK, count, digest};
use super::design::{TABLES, TageSizes};
use super::history::{Fold, History};
use std::collections::VecDeque;

/// Branches between two clearings of useful bits.
const AGED: u64 = 1 << 18;
/// Bits of places that are kept of the branches before.
const PATH: u32 = 16;

#[derive(Clone, Copy, Default, Debug)]
struct Entry {
    /// From -4 to 3, taken from 0 on.
    counter: i8,
    tag: u16,
    /// From 0 to 3.
    useful: u8,
}

impl Entry {
    fn is_new(self) -> bool {
        matches!(self.counter, -1 | 0) && self.useful == 0
    }
}

#[derive(Debug)]
struct Table {
    entries: Vec<Entry>,
    length: u32,
    /// The folded history for the index, and twice for the tag.
    index: Fold,
    tags: [Fold; 2],
}

/// A branch that is not resolved.
#[derive(Clone, Copy, Debug)]
struct Pending {
    base: u32,
    /// The entry that was looked at in each table, and the tag that it should have.
    places: [(u32, u16); TABLES],
    provider: Option<u8>,
    alternative: Option<u8>,
    taken: bool,
    alternative_taken: bool,
}

#[derive(Debug)]
pub(super) struct Tage {
    sizes: TageSizes,
    base: Vec<u8>,
    /// The shortest history first.
    tables: Vec<Table>,
    /// Low bits of the places of branches, the newest lowest.
    path: u32,
    /// From -8 to 7: from 0 on, alternatives of new entries are believed.
    prefers: i8,
    committed: u64,
    random: u32,
    pending: VecDeque<Pending>,
}

impl Tage {
    pub(super) fn new(sizes: TageSizes) -> Tage {
        let table = |number: u32| {
            let length = sizes.length(number);
            Table {
                entries: vec![Entry::default(); 1 << sizes.entries],
                length,
                index: Fold::new(length, sizes.entries),
                tags: [
                    Fold::new(length, sizes.tag),
                    Fold::new(length, sizes.tag - 1),
                ],
            }
        };
        Tage {
            sizes,
            base: vec![WEAK; 1 << sizes.base],
            tables: (0..sizes.tables).map(table).collect(),
            path: 0,
            prefers: 0,
            committed: 0,
            random: 1,
            pending: VecDeque::new(),
        }
    }

    pub(super) fn predict(&mut self, pc: u64) -> bool {
        let base = pc as u32 & ((1 << self.sizes.base) - 1);
        let mut places = [(0, 0); TABLES];
        for (number, (table, place)) in self.tables.iter().zip(&mut places).enumerate() {
            *place = table.place(pc as u32, self.path, number as u32, &self.sizes);
        }
        let fits = |number: &usize| {
            let (entry, tag) = places[*number];
            self.tables[*number].entries[entry as usize].tag == tag
        };
        let mut fitting = (0..self.tables.len()).rev().filter(fits);
        let (provider, alternative) = (fitting.next(), fitting.next());
        let entry = |number: usize| self.tables[number].entries[places[number].0 as usize];
        let taken = |number: Option<usize>| match number {
            Some(number) => entry(number).counter >= 0,
            None => self.base[base as usize] >= 2,
        };
        let alternative_taken = match provider {
            Some(_) => taken(alternative),
            None => taken(None),
        };
        let believed = match provider {
            Some(number) if self.prefers >= 0 && entry(number).is_new() => alternative_taken,
            _ => taken(provider),
        };
        self.pending.push_back(Pending {
            base,
            places,
            provider: provider.map(|number| number as u8),
            alternative: alternative.map(|number| number as u8),
            taken: believed,
            alternative_taken,
        });
        self.path = (self.path << 1 | pc as u32 & 1) & ((1 << PATH) - 1);
        believed
    }

    pub(super) fn commit(&mut self, taken: bool) {
        let Some(branch) = self.pending.pop_front() else {
            return;
        };
        let provider = branch.provider.map(usize::from);
        let mut takes = branch.taken != taken;
        if let Some(number) = provider {
            let entry = self.tables[number].entries[branch.places[number].0 as usize];
            let own = entry.counter >= 0;
            if entry.is_new() {
                takes &= own != taken;
                if own != branch.alternative_taken {
                    let better = branch.alternative_taken == taken;
                    self.prefers = (self.prefers + if better { 1 } else { -1 }).clamp(-8, 7);
                }
            }
        }
        if takes {
            self.take(&branch, provider.map_or(0, |number| number + 1), taken);
        }
        self.committed += 1;
        if self.committed.is_multiple_of(AGED) {
            let kept = match self.committed / AGED % 2 {
                0 => 1,
                _ => 2,
            };
            let entries = self.tables.iter_mut().flat_map(|table| &mut table.entries);
            entries.for_each(|entry| entry.useful &= kept);
        }
        let Some(number) = provider else {
            count(&mut self.base[branch.base as usize], taken);
            return;
        };
        let entry = &mut self.tables[number].entries[branch.places[number].0 as usize];
        step(&mut entry.counter, taken);
        let untried = entry.useful == 0;
        if branch.taken != branch.alternative_taken {
            entry.useful = match branch.taken == taken {
                true => (entry.useful + 1).min(3),
                false => entry.useful.saturating_sub(1),
            };
        }
        if untried {
            self.teach(&branch, taken);
        }
    }

    /// The alternative of an entry that has not yet shown its use learns, too.
    fn teach(&mut self, branch: &Pending, taken: bool) {
        match branch.alternative.map(usize::from) {
            Some(number) => {
                let at = branch.places[number].0 as usize;
                step(&mut self.tables[number].entries[at].counter, taken);
            }
            None => count(&mut self.base[branch.base as usize], taken),
        }
    }

    /// Gives the branch an entry in a table from `from` on.
    fn take(&mut self, branch: &Pending, from: usize, taken: bool) {
        if from >= self.tables.len() {
            return;
        }
        self.random = self
            .random
            .wrapping_mul(1_664_525)
            .wrapping_add(1_013_904_223);
        // One table further with half the probability, as long as there are some.
        let skipped = (self.random >> 16).trailing_ones() as usize;
        let first = from + skipped.min(self.tables.len() - 1 - from);
        for number in first..self.tables.len() {
            let (at, tag) = branch.places[number];
            let entry = &mut self.tables[number].entries[at as usize];
            if entry.useful == 0 {
                *entry = Entry {
                    counter: if taken { 0 } else { -1 },
                    tag,
                    useful: 0,
                };
                return;
            }
        }
        let free = |number: &usize| {
            let at = branch.places[*number].0 as usize;
            self.tables[*number].entries[at].useful == 0
        };
        if !(from..self.tables.len()).any(|number| free(&number)) {
            for number in from..self.tables.len() {
                let at = branch.places[number].0 as usize;
                self.tables[number].entries[at].useful -= 1;
            }
        }
    }

    /// A bit was shifted into the history.
    pub(super) fn pushed(&mut self, history: &History) {
        for table in &mut self.tables {
            table.index.push(history);
            table.tags.iter_mut().for_each(|fold| fold.push(history));
        }
    }
    /// The newest bit of the history is about to go.
    pub(super) fn popping(&mut self, history: &History) {
        for table in &mut self.tables {
            table.index.pop(history);
            table.tags.iter_mut().for_each(|fold| fold.pop(history));
        }
    }

    pub(super) fn counters(&self) -> u64 {
        let entries = self.tables.iter().flat_map(|table| &table.entries);
        let bytes = entries.flat_map(|entry| {
            let [low, high] = entry.tag.to_le_bytes();
            [entry.counter as u8, low, high, entry.useful]
        });
        digest(&bytes.collect::<Vec<u8>>()) ^ digest(&self.base).rotate_left(1)
    }
}

fn step(counter: &mut i8, up: bool) {
    *counter = match up {
        true => (*counter + 1).min(3),
        false => (*counter - 1).max(-4),
    };
}

impl Table {
    /// The entry of a branch and the tag that is its own.
    fn place(&self, pc: u32, path: u32, number: u32, sizes: &TageSizes) -> (u32, u16) {
        let (width, mask) = (sizes.entries, (1 << sizes.entries) - 1);
        let bits = self.length.min(PATH);
        let path = path & ((1u32 << bits) - 1);
        // The path's two halves, turned away from where short histories lie, in each table by another number of bits.
        let by = (sizes.tables - 1 - number) % width;
        let turn = |value: u32| (value << by | value >> (width - by).min(31)) & mask;
        let path = turn(path & mask ^ turn(path >> width));
        let index = pc ^ pc >> (width.abs_diff(number) + 1) ^ self.index.value ^ path;
        let tag = pc ^ self.tags[0].value ^ self.tags[1].value << 1;
        (index & mask, (tag & ((1 << sizes.tag) - 1)) as u16)
    }
}
