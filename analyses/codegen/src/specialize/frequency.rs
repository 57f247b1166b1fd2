//! How often blocks are executed when no profile says: an entry of a loop is worth `TRIPS` iterations, the sides of a
//! branch are even, and what leaves a loop is shared by its exits.
//!
//! One pass in reverse post-order; edges backwards are in the iterations. Irreducible loops count once.
//!
//! Source: the static estimate of Wu and Larus, *Static Branch Frequency and Program Profile Analysis*, MICRO-27, 1994,
//! with one probability for all branches.

use ir::cfg::ControlFlow;
use ir::loops::LoopForest;
use ir::{Block, EntityVec, Function};
use rustc_hash::FxHashMap;

/// Iterations of a loop whose number is not known.
pub const TRIPS: f64 = 8.0;

/// Executions of each block by a warp for one invocation; estimates. 0 for blocks that are not reached.
#[must_use]
pub fn frequency(function: &Function) -> EntityVec<Block, f64> {
    frequency_where(function, &|_| None)
}

/// The same where `decided` says of a block which of its successors alone is taken.
#[must_use]
pub fn frequency_where(
    function: &Function,
    decided: &dyn Fn(Block) -> Option<Block>,
) -> EntityVec<Block, f64> {
    let flow = ControlFlow::new(function);
    let loops = LoopForest::new(&flow);
    // Edges that leave each loop.
    let mut exits: FxHashMap<ir::loops::LoopId, f64> = FxHashMap::default();
    for &block in &flow.order {
        for &next in &flow.successors[block] {
            for l in loops.around(block).filter(|&l| !loops.contains(l, next)) {
                *exits.entry(l).or_default() += 1.0;
            }
        }
    }
    let mut entered: FxHashMap<ir::loops::LoopId, f64> = FxHashMap::default();
    let mut weights = EntityVec::with_len(0.0, function.blocks.len());
    weights[function.entry()] = 1.0;
    for &block in &flow.order {
        if loops.is_header(block)
            && let Some(l) = loops.of(block)
        {
            entered.insert(l, weights[block]);
            weights[block] *= TRIPS;
        }
        let weight = weights[block];
        let left = |next: Block| loops.outermost_without(block, next);
        let only = decided(block);
        let mut successors = flow.successors[block].clone();
        successors.retain(|next| only.is_none_or(|only| only == *next));
        let mut out = 0.0;
        let mut staying = 0.0;
        for &next in &successors {
            match left(next) {
                Some(l) => out += entered.get(&l).map_or(0.0, |all| all / exits[&l]),
                None => staying += 1.0,
            }
        }
        for &next in &successors {
            // Backwards, or into the side of a loop that was passed already.
            if flow.position[next] <= flow.position[block] {
                continue;
            }
            weights[next] += match left(next) {
                Some(l) => entered.get(&l).map_or(0.0, |all| all / exits[&l]),
                None => (weight - out).max(0.0) / staying,
            };
        }
    }
    weights
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_and_a_loop() {
        let function = ir::text::parse(
            r#"
function "f" kernel text {
  parameter "c" "bool" (v0)

b0(v0: bool):
  branch v0, b1, b2

b1:
  jump b2

b2:
  jump b3

b3:
  branch v0, b4, b5 as loop

b4:
  jump b3

b5:
  return
}
"#,
        )
        .unwrap_or_else(|error| panic!("{error}"));
        let weights = frequency(&function);
        let expected = [1.0, 0.5, 1.0, TRIPS, TRIPS - 1.0, 1.0];
        for (&weight, expected) in weights.as_slice().iter().zip(expected) {
            assert!((weight - expected).abs() < 1e-9, "{weights:?}");
        }
    }
}
