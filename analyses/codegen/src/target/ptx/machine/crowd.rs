//! The places of a body at which most is live, and the value that is best kept elsewhere there.
//!
//! ```text
//! 9 words live, 8 wanted:  %r1 lives across the loop and is read once behind it     one load: %r1
//!                          %r2 is read in each iteration                            ten times the cost
//! ```
//!
//! One value a step: at the place where most is live, the one that is live at most crowded places for what its accesses
//! cost, those in loops counted tenfold a level. Its live range is split: it stays in a register where there is room, in
//! whole loops too. Each step takes one value from those that may go, so that the steps end.

use super::homes::{Home, Slots};
use super::{Function, Operation};
use crate::allocate::rounds::{Around, unchanged};
use crate::allocate::split::{Cut, Held, before_alone, cuts, last_own, split};
use crate::mir::Virtual;
use crate::mir::liveness::Liveness;
use crate::mir::pressure::peak;
use crate::predicate::loops::{dominators, natural};
use ir::EntitySet;
use ir::dominators::semi_nca;
use isa::ptx::{Class, Ptx};
use rustc_hash::{FxHashMap, FxHashSet};

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

/// Blocks that name a value.
#[derive(Clone, Default, Debug)]
struct Named {
    reads: Vec<u32>,
    writes: Vec<u32>,
}

/// A body in which values are kept elsewhere step by step.
#[derive(Clone, Debug)]
pub(super) struct Crowd<'a> {
    pub(super) function: Function,
    pub(super) slots: Slots<'a>,
    pub(super) around: Vec<Vec<Around<Ptx>>>,
    /// By block: executions of it for one of the kernel, estimated.
    pub(super) weights: Vec<f64>,
    alone: Vec<Option<u32>>,
    /// Outer ones first.
    loops: Vec<Entered>,
    /// By register, the words that it takes; nothing for what instructions read where it lies. Further registers take
    /// those of their class.
    pub(super) words: Vec<u32>,
    /// Values that stay, and those that are kept elsewhere.
    pub(super) fixed: FxHashSet<Virtual>,
    pub(super) away: Vec<Virtual>,
    /// Places at which nothing more can be done.
    done: FxHashSet<(u32, u32)>,
    /// Words that may be live.
    pub(super) limit: u32,
}

/// How much a level of loops counts, and levels at most.
const LEVEL: f64 = 10.0;
const LEVELS: i32 = 4;

/// Live words by block and operation.
type Sums = Vec<Vec<u32>>;

impl<'a> Crowd<'a> {
    pub(super) fn new(
        function: Function,
        slots: Slots<'a>,
        fixed: FxHashSet<Virtual>,
        limit: u32,
    ) -> Crowd<'a> {
        let regions = natural(&function);
        let mut depths = vec![0i32; function.blocks.len()];
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
                depths[block as usize] += 1;
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
        let shares = shares(&function, &before);
        let weight = |(&depth, share): (&i32, f64)| share * LEVEL.powi(depth.min(LEVELS));
        Crowd {
            slots,
            around: unchanged(&function),
            weights: depths.iter().zip(shares).map(weight).collect(),
            alone: before_alone(&function),
            loops,
            function,
            words: Vec::new(),
            fixed,
            away: Vec::new(),
            done: FxHashSet::default(),
            limit,
        }
    }

    /// Live words by block and operation.
    pub(super) fn sums(&self, live: &Liveness) -> Sums {
        let mut sums: Sums = vec![Vec::new(); self.function.blocks.len()];
        let words = |register: Virtual| {
            let own = self.words.get(register.0 as usize).copied();
            own.unwrap_or_else(|| self.function.class(register).words())
        };
        let _ = peak(&self.function, live, &words, &mut |block, _, sum| {
            sums[block as usize].push(sum);
        });
        sums
    }

    /// Keeps one value more elsewhere, at places where more than `floor` words are live. False where there is none that would
    /// help. `price` tells what accesses to a home cost; values of homes without a price stay.
    pub(super) fn step(
        &mut self,
        floor: u32,
        price: &dyn Fn(Home, Class) -> Option<Price>,
    ) -> bool {
        loop {
            let live = Liveness::of(&self.function);
            let sums = self.sums(&live);
            let places = (0u32..).zip(&sums).flat_map(|(block, sums)| {
                let sums = (0u32..).zip(sums);
                sums.map(move |(at, &sum)| (sum, (block, at)))
            });
            let open = places.filter(|(_, place)| !self.done.contains(place));
            let most = open.max_by_key(|&(sum, place)| (sum, std::cmp::Reverse(place)));
            let Some((sum, place)) = most.filter(|&(sum, _)| sum > floor) else {
                return false;
            };
            let limit = self.limit.min(sum.saturating_sub(1));
            if let Some((register, cuts)) = self.choose(&live, &sums, place, limit, price) {
                self.put_away(register, &cuts);
                return true;
            }
            self.done.insert(place);
        }
    }

    fn put_away(&mut self, register: Virtual, cuts: &[Cut]) {
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
        // Operations have other numbers now.
        self.done.clear();
    }

    /// Keeps a value elsewhere wherever it is not named.
    pub(super) fn spill(&mut self, register: Virtual) {
        let cuts = cuts(&self.function, register, &[], &[], &|_, _| false);
        self.put_away(register, &cuts);
    }

    /// The cost of the cuts of a value.
    fn executed(&self, cuts: &[Cut], price: Price) -> f64 {
        let cost = |cut: &Cut| {
            let load = if cut.load { price.load } else { 0.0 };
            let store = if cut.store { price.store } else { 0.0 };
            (load + store) * self.weights[cut.block as usize]
        };
        cuts.iter().map(cost).sum()
    }

    /// The value that is best kept elsewhere at a place, and where its live range is cut.
    fn choose(
        &self,
        live: &Liveness,
        sums: &Sums,
        (block, at): (u32, u32),
        limit: u32,
        price: &dyn Fn(Home, Class) -> Option<Price>,
    ) -> Option<(Virtual, Vec<Cut>)> {
        let before = live.inside(&self.function, block, at as usize);
        let behind = live.inside(&self.function, block, at as usize + 1);
        let operation = &self.function.blocks[block as usize].operations[at as usize];
        let named: FxHashSet<Virtual> = operation.virtual_registers().collect();
        let is_candidate = |register: &Virtual| {
            let class = self.function.class(*register);
            let moves = matches!(class, Class::Half | Class::Word | Class::Double);
            moves
                && behind.contains(register)
                && !named.contains(register)
                && !self.fixed.contains(register)
        };
        let wanted = before.iter().filter(is_candidate).filter_map(|register| {
            let home = self.slots.wanted(&self.function, register);
            let price = price(home, self.function.class(register))?;
            Some((register, price))
        });
        let (candidates, prices): (Vec<Virtual>, Vec<Price>) = wanted.unzip();
        let crowded = self.crowded(live, sums, limit, &candidates);
        let by_value = self.named(&candidates);
        let held = |block: u32, at: usize| {
            sums[block as usize]
                .get(at)
                .is_some_and(|&sum| sum <= limit)
        };
        let roomy = self.roomy(sums, limit);
        let mut best: Option<(f64, Virtual, Vec<Cut>)> = None;
        for ((&register, places), price) in candidates.iter().zip(crowded).zip(prices) {
            let loops = held_in(&roomy, &by_value[&register]);
            let cuts = cuts(&self.function, register, &self.alone, &loops, &held);
            let words = self.function.class(register).words();
            let gain = f64::from(words * places) / self.executed(&cuts, price).max(1.0);
            if best.as_ref().is_none_or(|best| gain > best.0) {
                best = Some((gain, register, cuts));
            }
        }
        best.map(|(_, register, cuts)| (register, cuts))
    }

    /// Loops with room for one value more than is live there, as far as that is alive in them already: no place of theirs
    /// has more words than the limit. With the operation in front of each at which a value may be loaded.
    fn roomy(&self, sums: &Sums, limit: u32) -> Vec<Held<'_>> {
        let fits = |block: &u32| sums[*block as usize].iter().all(|&sum| sum <= limit);
        let open = self.loops.iter().filter_map(|own| {
            let place = last_own(&self.around[own.preheader as usize])?;
            let rest = &sums[own.preheader as usize][place as usize..];
            let room = rest.iter().all(|&sum| sum <= limit) && own.blocks.iter().all(fits);
            room.then_some(Held {
                preheader: own.preheader,
                operation: place,
                blocks: &own.blocks,
            })
        });
        open.collect()
    }

    /// The blocks that name each of some values.
    fn named(&self, values: &[Virtual]) -> FxHashMap<Virtual, Named> {
        let mut out: FxHashMap<Virtual, Named> = values
            .iter()
            .map(|&value| (value, Named::default()))
            .collect();
        for (number, block) in (0u32..).zip(&self.function.blocks) {
            for operation in &block.operations {
                for register in operation.reads() {
                    if let Some(named) = out.get_mut(&register) {
                        named.reads.push(number);
                    }
                }
                for register in operation.writes() {
                    if let Some(named) = out.get_mut(&register) {
                        named.writes.push(number);
                    }
                }
            }
        }
        out
    }

    /// By candidate, operations with more live words than the limit at which it is live.
    fn crowded(
        &self,
        live: &Liveness,
        sums: &Sums,
        limit: u32,
        candidates: &[Virtual],
    ) -> Vec<u32> {
        let mut out = vec![0; candidates.len()];
        let mut count = |set: &EntitySet<Virtual>, operations: u32| {
            for (register, out) in candidates.iter().zip(&mut out) {
                *out += if set.contains(register) {
                    operations
                } else {
                    0
                };
            }
        };
        for (number, sums) in (0u32..).zip(sums) {
            let crowded = sums.iter().filter(|&&sum| sum > limit).count() as u32;
            if crowded == 0 {
                continue;
            }
            // Live at both ends of a block: throughout, as good as always.
            count(live.at_start(number), crowded.div_ceil(2));
            count(live.at_end(number), crowded.div_ceil(2));
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

/// By block, how often it executes for one of the function, loops left out: half as often as what dominates it where a
/// branch decides.
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

/// The outermost loops of some that read a value and never write it.
fn held_in<'l>(loops: &[Held<'l>], named: &Named) -> Vec<Held<'l>> {
    let mut out: Vec<Held<'l>> = Vec::new();
    for own in loops {
        let inside = |block: &u32| own.blocks.binary_search(block).is_ok();
        let nested = out.iter().any(|outer| {
            outer.blocks.binary_search(&own.blocks[0]).is_ok()
                || outer.blocks.binary_search(&own.preheader).is_ok()
        });
        if !nested && named.reads.iter().any(inside) && !named.writes.iter().any(inside) {
            out.push(*own);
        }
    }
    out
}
