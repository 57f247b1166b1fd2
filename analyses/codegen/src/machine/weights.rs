//! The number of times that a warp executes each block for one invocation of its item.
//!
//! ```text
//! b0 -> b1, b2 (divergent); b1, b2 -> b3      1, 1, 1, 1: the warp goes both ways
//! b0 -> b1, b2 (uniform);   b1, b2 -> b3      1, .5, .5, 1
//! ```
//!
//! A profile's counts come first. A loop runs as often as is constant, else as often as it can where that is
//! bounded, else `TRIPS` times. Uniform branches are even, a
//! divergent one has the warp on both sides; a block is executed at most as often as its dominator, times its loops. One
//! pass in reverse post-order; edges backwards are in the iterations, irreducible loops count once.
//!
//! Like `specialize::frequency`, which weighs the blocks that a lane would meet and knows no facts; the
//! heuristic is the same.

use crate::specialize::frequency::TRIPS;
use facts::{Class, FunctionFacts};
use ir::cfg::ControlFlow;
use ir::dominators::DominatorTree;
use ir::loops::{LoopForest, LoopId};
use ir::{Block, EntityVec, Function};
use rustc_hash::{FxHashMap, FxHashSet};

/// The origin of the number of a loop's iterations.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub enum Origin {
    /// The number is constant: a fact.
    Constant,
    /// The number is at most this.
    Bound,
    Profile,
    /// `TRIPS`.
    Heuristic,
}

/// Executions by a warp.
#[derive(Clone, PartialEq, Debug)]
pub struct Weights {
    pub blocks: EntityVec<Block, f64>,
    /// Indexed by loop: iterations each time that it is entered.
    pub trips: EntityVec<LoopId, (f64, Origin)>,
    /// Indexed by loop: how often it is entered.
    pub entered: EntityVec<LoopId, f64>,
}

/// `profiled`: the executions of a profile, if there is one.
#[must_use]
pub fn weights(
    function: &Function,
    facts: &FunctionFacts,
    flow: &ControlFlow,
    loops: &LoopForest,
    profiled: Option<&EntityVec<Block, Option<f64>>>,
) -> Weights {
    let dominators = DominatorTree::dominators(flow);
    let divergent: FxHashSet<Block> = facts
        .branches
        .iter()
        .filter(|branch| branch.class > Class::Uniform)
        .map(|branch| branch.block)
        .collect();
    let mut exits: FxHashMap<LoopId, f64> = FxHashMap::default();
    for &block in &flow.order {
        for &next in &flow.successors[block] {
            for l in loops.around(block).filter(|&l| !loops.contains(l, next)) {
                *exits.entry(l).or_default() += 1.0;
            }
        }
    }
    let known = facts.loops.iter().filter_map(|it| {
        let found = match (it.count, it.at_most) {
            (Some(count), _) => (count, Origin::Constant),
            (None, Some(most)) => (most, Origin::Bound),
            (None, None) => return None,
        };
        Some((it.header, (found.0 as f64, found.1)))
    });
    let known: FxHashMap<Block, (f64, Origin)> = known.collect();
    let mut trips = EntityVec::with_len((TRIPS, Origin::Heuristic), loops.loops.len());
    for (l, data) in loops.loops.iter() {
        if let Some(&found) = known.get(&data.header) {
            trips[l] = found;
        }
    }
    let mut entered: EntityVec<LoopId, f64> = EntityVec::with_len(0.0, loops.loops.len());
    let mut weights: EntityVec<Block, f64> = EntityVec::with_len(0.0, function.blocks.len());
    let mut arriving: EntityVec<Block, f64> = EntityVec::with_len(0.0, function.blocks.len());
    arriving[function.entry()] = 1.0;
    for &block in &flow.order {
        let profile = profiled.and_then(|known| known.get(block).copied().flatten());
        // Not more often than what it is always behind, as seen from its own loops.
        let most =
            dominators
                .immediate(block)
                .map(|above| match loops.outermost_without(above, block) {
                    Some(left) => entered[left],
                    None => weights[above],
                });
        let mut weight = most.map_or(arriving[block], |most| arriving[block].min(most));
        let header = loops.of(block).filter(|_| loops.is_header(block));
        if let Some(l) = header {
            let before = profiled.and_then(|known| before(known, flow, loops, l));
            entered[l] = before.unwrap_or(weight);
            // The test of a loop is in its header once more than the body runs.
            let tests = flow.successors[block]
                .iter()
                .any(|&n| !loops.contains(l, n))
                && flow.successors[block]
                    .iter()
                    .any(|&n| n != block && loops.contains(l, n));
            let more = if tests { 1.0 } else { 0.0 };
            if let (Some(all), Some(before)) = (profile, before.filter(|&before| before > 0.0))
                && trips[l].1 != Origin::Constant
            {
                trips[l] = ((all / before - more).max(0.0), Origin::Profile);
            }
            // The heuristic's number is of the header.
            weight = match trips[l] {
                (count, Origin::Heuristic) => entered[l] * count,
                (count, _) => entered[l] * (count + more),
            };
        }
        let weight = profile.unwrap_or(weight);
        weights[block] = weight;
        let both = divergent.contains(&block);
        let share = |l: LoopId| match both {
            true => entered[l],
            false => entered[l] / exits.get(&l).copied().unwrap_or(1.0),
        };
        let (mut out, mut staying) = (0.0, 0.0);
        for &next in &flow.successors[block] {
            match loops.outermost_without(block, next) {
                Some(l) => out += share(l),
                None => staying += 1.0,
            }
        }
        for &next in &flow.successors[block] {
            if flow.position[next] <= flow.position[block] {
                continue;
            }
            arriving[next] += match loops.outermost_without(block, next) {
                Some(l) => share(l),
                None if both => weight,
                None => (weight - out).max(0.0) / staying,
            };
        }
    }
    Weights {
        blocks: weights,
        trips,
        entered,
    }
}

/// Returns how often a loop is entered, where the profile knows the blocks before it.
fn before(
    known: &EntityVec<Block, Option<f64>>,
    flow: &ControlFlow,
    loops: &LoopForest,
    l: LoopId,
) -> Option<f64> {
    let header = loops.loops[l].header;
    let mut sum = None;
    for &p in &flow.predecessors[header] {
        if loops.contains(l, p) {
            continue;
        }
        // A block before it with another way out does not tell how often it is entered.
        if flow.successors[p].len() > 1 {
            return None;
        }
        sum = Some(sum.unwrap_or(0.0) + known.get(p).copied().flatten()?);
    }
    sum
}
