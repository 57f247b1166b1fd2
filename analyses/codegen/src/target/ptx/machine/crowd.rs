//! The places of a body at which most is live, and the value that is best kept elsewhere there.
//!
//! ```text
//! 9 words live, 8 wanted:  %r1 lives across the loop and is read once behind it     one load: %r1
//!                          %r2 is read in each iteration                            ten times the cost
//! ```
//!
//! At the place where most is live, the value goes that is live at most crowded places relative to the cost
//! of its accesses, those in loops counted tenfold a level. Its live range is split: it stays in a register
//! where there is room, in whole loops too. Each step takes a value from those that may go, so that the steps
//! end. Liveness is kept up to date ([`super::places`]).

use super::homes::{Home, Slots};
use super::places::Places;
use super::{Function, Operation};
use crate::allocate::named::{Occurrence, Occurrences};
use crate::allocate::rounds::{Around, unchanged};
use crate::allocate::split::{Cut, Held, before_alone, cuts, split};
use crate::mir::Virtual;
use crate::mir::function::{Block, Operand};
use crate::mir::liveness::Liveness;
use crate::predicate::loops::{dominators, natural};
use ir::dominators::semi_nca;
use isa::ptx::{Class, Ptx};
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::Range;

/// The cost of an access to the home of a value, in any unit.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Price {
    pub(super) load: f64,
    pub(super) store: f64,
}

/// A natural loop and the block in front of it, which leads to it alone.
#[derive(Clone, Debug)]
struct Entered {
    preheader: u32,
    /// Ascending.
    blocks: Vec<u32>,
}

/// A body in which values are kept elsewhere step by step.
#[derive(Clone, Debug)]
pub(super) struct Crowd<'a> {
    pub(super) function: Function,
    pub(super) slots: Slots<'a>,
    pub(super) around: Vec<Vec<Around<Ptx>>>,
    /// The estimated executions of each block for one of the kernel.
    pub(super) weights: Vec<f64>,
    alone: Vec<Option<u32>>,
    /// Control may leave the block from the middle.
    leaves_inside: Vec<bool>,
    /// The immediate dominator of each block, and the number of blocks that dominate it.
    above: Vec<Option<u32>>,
    depths: Vec<u32>,
    /// Outer ones first.
    loops: Vec<Entered>,
    /// The loops around each block, ascending.
    around_block: Vec<Vec<u32>>,
    named: Occurrences,
    /// From the first step on.
    places: Option<Places>,
    /// The size of each register in words; 0 where instructions read the value where it lies. Further
    /// registers take those of their class.
    pub(super) words: Vec<u32>,
    /// Values that stay, and those that are kept elsewhere.
    pub(super) fixed: FxHashSet<Virtual>,
    pub(super) away: Vec<Virtual>,
    /// Words that may be live.
    pub(super) limit: u32,
}

/// The factor by which each level of loops counts, and the most levels.
const LEVEL: f64 = 10.0;
const LEVELS: i32 = 4;

impl<'a> Crowd<'a> {
    pub(super) fn new(
        function: Function,
        slots: Slots<'a>,
        fixed: FxHashSet<Virtual>,
        limit: u32,
    ) -> Crowd<'a> {
        let regions = natural(&function);
        let mut levels = vec![0i32; function.blocks.len()];
        let mut before: Vec<Vec<u32>> = vec![Vec::new(); function.blocks.len()];
        for from in 0..function.blocks.len() as u32 {
            for to in function.successors(from) {
                if let Some(before) = before.get_mut(to as usize) {
                    before.push(from);
                }
            }
        }
        let mut loops = Vec::new();
        for region in regions {
            for &block in &region.blocks {
                levels[block as usize] += 1;
            }
            let outside = |block: &&u32| region.blocks.binary_search(block).is_err();
            let mut entries = before[region.header as usize].iter().filter(outside);
            if let (Some(&preheader), None) = (entries.next(), entries.next())
                && function.successors(preheader) == [region.header]
            {
                let blocks = region.blocks;
                loops.push(Entered { preheader, blocks });
            }
        }
        loops.sort_by_key(|own| std::cmp::Reverse(own.blocks.len()));
        let mut around_block = vec![Vec::new(); function.blocks.len()];
        for (number, own) in (0u32..).zip(&loops) {
            for &block in &own.blocks {
                around_block[block as usize].push(number);
            }
        }
        let shares = shares(&function, &before);
        let weight = |(&level, share): (&i32, f64)| share * LEVEL.powi(level.min(LEVELS));
        let above = dominators(&function);
        let depths = depths(&above);
        Crowd {
            slots,
            around: unchanged(&function),
            weights: levels.iter().zip(shares).map(weight).collect(),
            alone: before_alone(&function),
            leaves_inside: function.blocks.iter().map(leaves_inside).collect(),
            above,
            depths,
            loops,
            around_block,
            named: Occurrences::of(&function),
            places: None,
            function,
            words: Vec::new(),
            fixed,
            away: Vec::new(),
            limit,
        }
    }

    /// Keeps one value more elsewhere, at places where more than `floor` words are live. False if none would
    /// help. `price` gives the cost of accesses to a home; values of homes without a price stay.
    pub(super) fn step(
        &mut self,
        floor: u32,
        price: &dyn Fn(Home, Class) -> Option<Price>,
    ) -> bool {
        self.relieve(price, floor, |_| 1)
    }

    /// Keeps values elsewhere until no more than the limit are live anywhere, or until nothing helps. Half of
    /// the excess at a place goes in one step, so that values are compared a few times only.
    pub(super) fn fit(&mut self, price: &dyn Fn(Home, Class) -> Option<Price>) {
        let limit = self.limit;
        while self.relieve(price, limit, |sum| (sum - limit).div_ceil(2)) {}
    }

    /// Takes away so many words of those that are live at the fullest place.
    fn relieve(
        &mut self,
        price: &dyn Fn(Home, Class) -> Option<Price>,
        floor: u32,
        words: impl Fn(u32) -> u32,
    ) -> bool {
        let mut places = self
            .places
            .take()
            .unwrap_or_else(|| Places::new(&self.function, self.words.clone()));
        let mut found = false;
        while let Some((sum, place)) = places.fullest().filter(|&(sum, _)| sum > floor) {
            let limit = self.limit.min(sum.saturating_sub(1));
            let ranked = self.ranked(&mut places, place, limit, price);
            let mut left = words(sum);
            for (_, register) in ranked {
                found = true;
                self.take(&mut places, register, limit);
                left = left.saturating_sub(self.function.class(register).words());
                if left == 0 {
                    break;
                }
            }
            if found {
                break;
            }
            places.give_up(place);
        }
        debug_assert!(found || places.are_current(&self.function));
        self.places = Some(places);
        found
    }

    /// Keeps a value elsewhere.
    fn take(&mut self, places: &mut Places, register: Virtual, limit: u32) {
        let cuts = self.cuts(register, places, limit, &mut FxHashMap::default());
        let mut named: Vec<u32> = self.named.named(register).map(|own| own.block).collect();
        named.dedup();
        places.forget(&self.function, register, &named);
        let blocks = self.put_away(register, &cuts);
        places.cut(&self.function, &blocks);
    }

    /// Returns the blocks that changed.
    fn put_away(&mut self, register: Virtual, cuts: &[Cut]) -> Vec<u32> {
        let before = self.function.registers.len() as u32;
        let Crowd {
            function,
            around,
            slots,
            ..
        } = self;
        split(function, register, cuts, around, slots);
        let new = before..self.function.registers.len() as u32;
        self.fixed.extend(new.map(Virtual));
        self.fixed.insert(register);
        self.away.push(register);
        let mut blocks: Vec<u32> = cuts.iter().map(|cut| cut.block).collect();
        blocks.dedup();
        for &block in &blocks {
            self.named.moved(block, &self.around[block as usize]);
        }
        blocks
    }

    /// Keeps a value elsewhere wherever it is not named.
    pub(super) fn spill(&mut self, register: Virtual) {
        let named = self.named.named(register);
        let mut cuts = cuts(named, &[], &[], &|_, operations| operations.is_empty());
        self.leave_out_replaced(&mut cuts);
        self.put_away(register, &cuts);
        self.places = None;
    }

    /// Returns the liveness of the function.
    pub(super) fn liveness(&self) -> Liveness {
        let known = self.places.as_ref().map(|places| places.live.clone());
        known.unwrap_or_else(|| Liveness::of(&self.function))
    }

    /// The cost of accesses to the home that a value would get. A barrier takes as long as the store behind it, an
    /// estimate.
    pub(super) fn price(
        &self,
        register: Virtual,
        price: &dyn Fn(Home, Class) -> Option<Price>,
    ) -> Option<Price> {
        let home = self.slots.wanted(&self.function, register);
        let mut out = price(home, self.function.class(register))?;
        if matches!(home, Home::Warp(_) | Home::WarpBase(..)) && self.slots.waits(register) {
            out.store *= 2.0;
        }
        Some(out)
    }

    /// The cost of the cuts of a value.
    fn executed(&self, cuts: &[Cut], price: Price) -> f64 {
        let cost = |cut: &Cut| {
            let load = if cut.load { price.load } else { 0.0 };
            let store = if cut.store || cut.early {
                price.store
            } else {
                0.0
            };
            (load + store) * self.weights[cut.block as usize]
        };
        cuts.iter().map(cost).sum()
    }

    /// Returns the places at which the live range of a value is cut.
    fn cuts(
        &self,
        register: Virtual,
        places: &Places,
        limit: u32,
        roomy: &mut FxHashMap<u32, Option<u32>>,
    ) -> Vec<Cut> {
        let loops = self.held_in(register, places, limit, roomy);
        let held = |block: u32, operations: Range<u32>| places.have_room(block, operations, limit);
        let mut cuts = cuts(self.named.named(register), &self.alone, &loops, &held);
        self.leave_out_replaced(&mut cuts);
        self.sink(register, places, limit, &mut cuts);
        cuts
    }

    /// Leaves out stores that a later one in the same block replaces before anything reads the home.
    fn leave_out_replaced(&self, cuts: &mut [Cut]) {
        let mut replaced = None;
        for cut in cuts.iter_mut().rev() {
            if replaced != Some(cut.block) || self.leaves_inside[cut.block as usize] {
                replaced = None;
            }
            if cut.store {
                cut.store = replaced.is_none();
                replaced = Some(cut.block);
            }
            if cut.load {
                replaced = None;
            }
        }
    }

    /// Stores a value of a lane's slot where rare ways begin that alone load it, if its register has room until then.
    fn sink(&self, register: Virtual, places: &Places, limit: u32, cuts: &mut Vec<Cut>) {
        let home = self.slots.wanted(&self.function, register);
        let mut writes = self.named.named(register).filter(|own| own.writes);
        let (Home::Lane(_), Some(write), None) = (home, writes.next(), writes.next()) else {
            return;
        };
        if write.reads || !write.certain {
            return;
        }
        let loads = cuts.iter().filter(|cut| cut.load).map(|cut| cut.block);
        let Some(mut block) = loads.reduce(|a, b| self.dominator(a, b)) else {
            return;
        };
        // Of the blocks between, the first that is as rare as any.
        let weight = |block: u32| self.weights[block as usize];
        let mut found = None;
        while block != write.block {
            if found.is_none_or(|rare| weight(block) <= weight(rare)) {
                found = Some(block);
            }
            let Some(above) = self.above[block as usize] else {
                return;
            };
            block = above;
        }
        let Some(found) = found.filter(|&found| weight(found) < weight(write.block)) else {
            return;
        };
        let Some(operation) = self.around[found as usize].first() else {
            return;
        };
        let operation = operation.before.len() as u32;
        let stays = places.have_room(write.block, write.operation..u32::MAX, limit)
            && places.have_room_between(write.block, found, limit);
        let Some(at) = cuts.iter().position(|cut| cut.store).filter(|_| stays) else {
            return;
        };
        cuts[at].store = false;
        cuts.push(Cut {
            block: found,
            operation,
            stand_in: cuts[at].stand_in,
            load: false,
            store: false,
            early: true,
        });
        cuts.sort_by_key(|cut| (cut.block, cut.operation, !cut.early));
    }

    /// The nearest block that dominates both.
    fn dominator(&self, mut a: u32, mut b: u32) -> u32 {
        let depth = |block: u32| self.depths[block as usize];
        while a != b {
            let deeper = if depth(a) >= depth(b) { &mut a } else { &mut b };
            match self.above[*deeper as usize] {
                Some(above) => *deeper = above,
                // Nothing reaches it.
                None => return a.min(b),
            }
        }
        a
    }

    /// The values that may be kept elsewhere at a place, those first that free most relative to the cost of
    /// their accesses.
    fn ranked(
        &self,
        places: &mut Places,
        (block, at): (u32, u32),
        limit: u32,
        price: &dyn Fn(Home, Class) -> Option<Price>,
    ) -> Vec<(f64, Virtual)> {
        let (before, behind) = places.live.beside(&self.function, block, at as usize);
        let operation = &self.function.blocks[block as usize].operations[at as usize];
        let is_candidate = |register: &Virtual| {
            let class = self.function.class(*register);
            let moves = matches!(class, Class::Half | Class::Word | Class::Double);
            moves
                && !self.fixed.contains(register)
                && !operation
                    .virtual_registers()
                    .any(|named| named == *register)
        };
        let mut roomy = FxHashMap::default();
        let mut out = Vec::new();
        for register in before.common(&behind).filter(is_candidate) {
            let class = self.function.class(register);
            let Some(price) = self.price(register, price) else {
                continue;
            };
            let named = self.named.named(register);
            let left = places.left(register, named.map(|own| own.block), limit);
            let cuts = self.cuts(register, places, limit, &mut roomy);
            let gain = f64::from(class.words() * left) / self.executed(&cuts, price).max(1.0);
            out.push((gain, register));
        }
        out.sort_by(|a, b| b.0.total_cmp(&a.0));
        out
    }

    /// Returns the operation of the preheader in front of which a value may be loaded, where a loop has room for one value more than
    /// is live there, as far as that is alive in it already: no place of it has more words than the limit.
    fn room(&self, own: &Entered, places: &Places, limit: u32) -> Option<u32> {
        let place = self.named.last(own.preheader)?;
        let fits = |&block: &u32| places.most[block as usize] <= limit;
        let room = places.have_room(own.preheader, place..u32::MAX, limit);
        (room && own.blocks.iter().all(fits)).then_some(place)
    }

    /// The outermost loops with room that read a value and never write it.
    fn held_in(
        &self,
        register: Virtual,
        places: &Places,
        limit: u32,
        roomy: &mut FxHashMap<u32, Option<u32>>,
    ) -> Vec<Held<'_>> {
        let own_loops = |own: Occurrence| self.around_block[own.block as usize].iter().copied();
        let reads = self.named.named(register).filter(|own| own.reads);
        let mut loops: Vec<u32> = reads.flat_map(own_loops).collect();
        loops.sort_unstable();
        loops.dedup();
        if loops.is_empty() {
            return Vec::new();
        }
        let writes = self.named.named(register).filter(|own| own.writes);
        let written: FxHashSet<u32> = writes.flat_map(own_loops).collect();
        let mut out: Vec<Held<'_>> = Vec::new();
        for number in loops {
            let own = &self.loops[number as usize];
            let has = |outer: &Held<'_>, block: u32| outer.blocks.binary_search(&block).is_ok();
            let is_inner =
                |outer: &Held<'_>| has(outer, own.blocks[0]) || has(outer, own.preheader);
            if written.contains(&number) || out.iter().any(is_inner) {
                continue;
            }
            let place = *roomy
                .entry(number)
                .or_insert_with(|| self.room(own, places, limit));
            out.extend(place.map(|operation| Held {
                preheader: own.preheader,
                operation,
                blocks: &own.blocks,
            }));
        }
        out
    }

    /// The cost of everything that was put around the body's own operations.
    pub(super) fn cost(&self, of: &dyn Fn(&Operation) -> f64) -> f64 {
        let blocks = self.around.iter().zip(&self.weights);
        let costs = blocks.map(|(rows, weight)| {
            let added = rows
                .iter()
                .flat_map(|row| row.before.iter().chain(&row.after));
            weight * added.map(of).sum::<f64>()
        });
        costs.sum()
    }
}

/// Returns whether an operation of a block that is not its last one branches.
fn leaves_inside(block: &Block<Ptx>) -> bool {
    let branches = |operation: &Operation| {
        let mut sources = operation.sources.iter();
        sources.any(|source| matches!(source, Operand::Block(_)))
    };
    let rest = block.operations.split_last();
    rest.is_some_and(|(_, rest)| rest.iter().any(branches))
}

/// Returns for each block the number of others that dominate it.
fn depths(above: &[Option<u32>]) -> Vec<u32> {
    let mut out: Vec<Option<u32>> = vec![None; above.len()];
    for block in 0..above.len() {
        let mut chain = vec![block];
        while let Some(&last) = chain.last()
            && out[last].is_none()
            && let Some(up) = above[last]
        {
            chain.push(up as usize);
        }
        while let Some(block) = chain.pop() {
            let depth = above[block].map_or(0, |up| out[up as usize].map_or(0, |up| up + 1));
            out[block].get_or_insert(depth);
        }
    }
    out.into_iter().map(|depth| depth.unwrap_or(0)).collect()
}

/// Returns for each block the number of executions for one of the function, loops left out: half as often as
/// the block that dominates it where a branch decides.
fn shares(function: &Function, before: &[Vec<u32>]) -> Vec<f64> {
    let count = function.blocks.len();
    let above = dominators(function);
    let next: Vec<Vec<u32>> = (0..count as u32)
        .map(|block| {
            let mut next = function.successors(block);
            next.retain(|&to| (to as usize) < count);
            next
        })
        .collect();
    // All ends lead to one place behind them.
    let end = count as u32;
    let below = semi_nca(
        count + 1,
        end,
        |block, out| match block as usize == count {
            true => out.extend((0..end).filter(|&block| next[block as usize].is_empty())),
            false => out.extend(&before[block as usize]),
        },
        |block, out| match next.get(block as usize) {
            Some(next) if next.is_empty() => out.push(end),
            Some(next) => out.extend(next),
            None => {}
        },
    );
    let mut out: Vec<Option<f64>> = vec![None; count];
    for block in 0..count as u32 {
        // What dominates it is not always in front of it.
        let mut chain = vec![block];
        while let Some(&last) = chain.last()
            && out[last as usize].is_none()
            && let Some(up) = above[last as usize]
        {
            chain.push(up);
        }
        while let Some(block) = chain.pop() {
            let share = above[block as usize].map_or(1.0, |up| {
                let mut at = Some(up);
                while let Some(known) = at
                    && known != block
                {
                    at = below[known as usize];
                }
                let always = at == Some(block);
                out[up as usize].unwrap_or(1.0) * if always { 1.0 } else { 0.5 }
            });
            out[block as usize].get_or_insert(share);
        }
    }
    out.into_iter().map(|share| share.unwrap_or(1.0)).collect()
}
