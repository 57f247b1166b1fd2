//! Live words at every place of a body, kept up to date while values are kept elsewhere.
//!
//! ```text
//! b0: v1 = ..;  b1: (loop, v1 not named);  b2: use v1         v1 goes: b0 and b2 are looked at again,
//!                                                             each place of b1 has a word less
//! ```
//!
//! A value that is kept elsewhere is live nowhere any more, and its stand-ins are read and written in the
//! blocks that named it: liveness is solved on from those. Where the value only passed, its words are
//! subtracted.

use super::Function;
use crate::mir::Virtual;
use crate::mir::liveness::{Liveness, Walk};
use fixedbitset::FixedBitSet;
use ir::EntitySet;
use ir::liveness::Edges;
use isa::ptx::Ptx;
use rustc_hash::FxHashSet;

/// The live words of a body.
#[derive(Clone, Debug)]
pub(super) struct Places {
    edges: Edges,
    pub(super) live: Liveness,
    /// The size of each register in words. Further registers take those of their class.
    words: Vec<u32>,
    /// The words that are live in front of each operation of a block or behind it, whichever is more.
    pub(super) sums: Vec<Vec<u32>>,
    /// The maximum of `sums` in each block.
    pub(super) most: Vec<u32>,
    /// Places at which nothing more can be done.
    done: FxHashSet<(u32, u32)>,
    /// The first place of each block with the most words among those at which something can be done.
    open: Vec<Option<(u32, u32)>>,
    /// The places of each block with more words than a limit.
    crowded: Vec<Option<(u32, u32)>>,
    /// The live range of a value.
    range: Range,
}

/// The blocks at whose starts a value is live, and those at whose ends it is.
#[derive(Clone, Default, Debug)]
struct Range {
    starts: Vec<u32>,
    ends: Vec<u32>,
    /// The same as sets.
    at_start: FixedBitSet,
    at_end: FixedBitSet,
}

impl Range {
    fn clear(&mut self, blocks: usize) {
        for block in self.starts.drain(..) {
            self.at_start.remove(block as usize);
        }
        for block in self.ends.drain(..) {
            self.at_end.remove(block as usize);
        }
        self.at_start.grow(blocks);
        self.at_end.grow(blocks);
    }

    /// Takes the range of a value that these blocks name.
    fn take(
        &mut self,
        register: Virtual,
        named: impl Iterator<Item = u32>,
        live: &Liveness,
        edges: &Edges,
    ) {
        self.clear(edges.before.len());
        let mut next = 0;
        let enter = |range: &mut Range, block: u32| {
            if live.at_start(block).contains(&register) && !range.at_start.put(block as usize) {
                range.starts.push(block);
            }
        };
        // It is live backwards from where it is read.
        for block in named {
            enter(self, block);
        }
        while let Some(&block) = self.starts.get(next) {
            next += 1;
            for &before in &edges.before[block as usize] {
                if !self.at_end.put(before) {
                    self.ends.push(before as u32);
                }
                enter(self, before as u32);
            }
        }
    }
}

impl Places {
    pub(super) fn new(function: &Function, words: Vec<u32>) -> Places {
        let edges = Edges::of(function);
        let mut live = Liveness::along(function, &edges);
        // Each value that is kept elsewhere gets a few registers more.
        live.reserve(2 * function.registers.len());
        let count = function.blocks.len();
        let mut out = Places {
            edges,
            live,
            words,
            sums: vec![Vec::new(); count],
            most: vec![0; count],
            done: FxHashSet::default(),
            open: vec![None; count],
            crowded: vec![None; count],
            range: Range::default(),
        };
        for block in 0..count as u32 {
            out.count(function, block);
        }
        out
    }

    /// Returns true where all is as it would be counted anew.
    pub(super) fn are_current(&self, function: &Function) -> bool {
        let anew = Places::new(function, self.words.clone());
        (&self.live, &self.sums) == (&anew.live, &anew.sums)
    }

    fn words(&self, function: &Function, register: Virtual) -> u32 {
        let own = self.words.get(register.0 as usize).copied();
        own.unwrap_or_else(|| function.class(register).words())
    }

    /// Counts the live words of a block. Returns the registers that are live at its start.
    fn count(&mut self, function: &Function, block: u32) -> EntitySet<Virtual> {
        let operations = &function.blocks[block as usize].operations;
        let mut sums = std::mem::take(&mut self.sums[block as usize]);
        sums.clear();
        sums.resize(operations.len(), 0);
        let all = |walk: &Walk<'_, Ptx>| -> u32 {
            let words = walk
                .live
                .iter()
                .map(|register| self.words(function, register));
            words.sum()
        };
        let mut walk = self.live.walk(function, block);
        let mut sum = all(&walk);
        for (at, operation) in operations.iter().enumerate().rev() {
            if walk.branch(operation) {
                sum = all(&walk);
            }
            // What is written takes a register, read or not.
            let mut most = sum;
            walk.write_each(operation, |own, was, ends| {
                let words = self.words(function, own);
                most += if was { 0 } else { words };
                sum -= if ends { words } else { 0 };
            });
            walk.read_each(operation, |own| sum += self.words(function, own));
            sums[at] = most.max(sum);
        }
        let live = walk.live;
        self.sums[block as usize] = sums;
        self.changed(block);
        live
    }

    /// Takes note of other words in a block.
    fn changed(&mut self, block: u32) {
        let sums = &self.sums[block as usize];
        self.most[block as usize] = sums.iter().copied().max().unwrap_or(0);
        self.crowded[block as usize] = None;
        let mut open = None;
        for (at, &sum) in (0u32..).zip(sums) {
            if open.is_none_or(|(most, _)| sum > most) && !self.done.contains(&(block, at)) {
                open = Some((sum, at));
            }
        }
        self.open[block as usize] = open;
    }

    /// The first place with most words of those at which something can be done.
    pub(super) fn fullest(&self) -> Option<(u32, (u32, u32))> {
        let mut best: Option<(u32, (u32, u32))> = None;
        for (block, open) in (0u32..).zip(&self.open) {
            if let &Some((sum, at)) = open
                && best.is_none_or(|(most, _)| sum > most)
            {
                best = Some((sum, (block, at)));
            }
        }
        best
    }

    /// Gives up a place at which nothing can be done.
    pub(super) fn give_up(&mut self, place: (u32, u32)) {
        self.done.insert(place);
        self.changed(place.0);
    }

    /// Returns true where no place of some operations of a block, up to its end at most, has more words than a limit.
    pub(super) fn have_room(
        &self,
        block: u32,
        operations: std::ops::Range<u32>,
        limit: u32,
    ) -> bool {
        if self.most[block as usize] <= limit {
            return true;
        }
        let sums = &self.sums[block as usize];
        let end = (operations.end as usize).min(sums.len());
        let start = (operations.start as usize).min(end);
        sums[start..end].iter().all(|&sum| sum <= limit)
    }

    /// The same of all blocks on ways from one that dominates another to that one, both left out.
    pub(super) fn have_room_between(&self, from: u32, to: u32, limit: u32) -> bool {
        let mut seen = FxHashSet::default();
        let mut open = vec![to];
        while let Some(block) = open.pop() {
            for &before in &self.edges.before[block as usize] {
                let before = before as u32;
                if before == from || !seen.insert(before) {
                    continue;
                }
                if before == to || self.most[before as usize] > limit {
                    return false;
                }
                open.push(before);
            }
        }
        true
    }

    /// Places of a block with more words than a limit.
    fn crowded(&mut self, block: u32, limit: u32) -> u32 {
        match self.crowded[block as usize] {
            Some((known, count)) if known == limit => count,
            _ => {
                let sums = self.sums[block as usize].iter();
                let count = sums.filter(|&&sum| sum > limit).count() as u32;
                self.crowded[block as usize] = Some((limit, count));
                count
            }
        }
    }

    /// Places with more words than a limit at which a value is live that these blocks name. One that is live at both ends of a block
    /// is live throughout, as good as always.
    pub(super) fn left(
        &mut self,
        register: Virtual,
        named: impl Iterator<Item = u32>,
        limit: u32,
    ) -> u32 {
        let mut range = std::mem::take(&mut self.range);
        range.take(register, named, &self.live, &self.edges);
        let both = range.starts.iter().chain(&range.ends);
        let left = both
            .map(|&block| self.crowded(block, limit).div_ceil(2))
            .sum();
        self.range = range;
        left
    }

    /// A value that these blocks name, in ascending order: its range is forgotten. To be called before its live range is cut.
    pub(super) fn forget(&mut self, function: &Function, register: Virtual, named: &[u32]) {
        let mut range = std::mem::take(&mut self.range);
        range.take(register, named.iter().copied(), &self.live, &self.edges);
        let both = range.starts.iter().chain(&range.ends).copied();
        self.live.forget(register, both);
        let words = self.words(function, register);
        for &block in &range.starts {
            if named.binary_search(&block).is_ok() {
                continue;
            }
            if range.at_end.contains(block as usize) {
                let sums = self.sums[block as usize].iter_mut();
                sums.for_each(|sum| *sum -= words);
                self.changed(block);
            } else {
                // A branch in the middle leads to where it is read.
                self.count(function, block);
            }
        }
        self.range = range;
    }

    /// The live range of a value that was forgotten is cut in these blocks, in ascending order.
    pub(super) fn cut(&mut self, function: &Function, blocks: &[u32]) {
        let is_cut = |block: u32| blocks.binary_search(&block).is_ok();
        // Operations have other numbers now.
        self.done.retain(|&(block, _)| !is_cut(block));
        let mut grown: Vec<u32> = Vec::new();
        for &block in blocks.iter().rev() {
            let live = self.count(function, block);
            if self.live.set_start(block, live) {
                let before = self.edges.before[block as usize].iter();
                grown.extend(before.map(|&before| before as u32));
            }
        }
        let all = grown.clone();
        self.live
            .grow(function, &self.edges, all.into_iter(), &mut |block| {
                grown.push(block);
            });
        grown.sort_unstable();
        grown.dedup();
        for block in grown {
            self.count(function, block);
        }
    }
}
