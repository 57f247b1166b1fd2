//! The frequency of blocks without a profile: an entry of a loop is worth the iterations that its counter
//! makes from one constant to another, otherwise `TRIPS`; the sides of a branch are even, and an execution
//! that leaves a loop is shared by its exits.
//!
//! ```text
//! for (n = 0; n < 32; ++n) { a }                a 32 times, the test 33
//! for (n = 0; n < k; ++n) { a }                 the test TRIPS times
//! ```
//!
//! One pass in reverse post-order; edges backwards are in the iterations. Irreducible loops count once.
//!
//! Source: the static estimate of Wu and Larus, *Static Branch Frequency and Program Profile Analysis*, MICRO-27, 1994,
//! with one probability for all branches.

use ir::cfg::ControlFlow;
use ir::dominators::DominatorTree;
use ir::loops::{LoopForest, LoopId};
use ir::{BinaryOp, Block, EntityVec, Function, IntCondition, Op, Terminator, Value, ValueDef};
use rustc_hash::FxHashMap;

/// Iterations of a loop whose number is not known.
pub const TRIPS: f64 = 8.0;

/// More iterations are not followed.
const MOST: u32 = 1 << 16;

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
    let dominators = DominatorTree::dominators(&flow);
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
            let known = constant(function, &flow, &loops, &dominators, l);
            weights[block] *= known.map_or(TRIPS, f64::from);
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

/// Executions of the header for one entry of a loop whose only exit compares a counter, which goes from a constant by a
/// constant, with a constant.
fn constant(
    function: &Function,
    flow: &ControlFlow,
    loops: &LoopForest,
    dominators: &DominatorTree,
    l: LoopId,
) -> Option<u32> {
    let header = loops.loops[l].header;
    let mut exiting = flow.order.iter().copied().filter(|&block| {
        let mut next = flow.successors[block].iter();
        loops.contains(l, block) && next.any(|&next| !loops.contains(l, next))
    });
    let (exit, None) = (exiting.next()?, exiting.next()) else {
        return None;
    };
    let mut latches = flow.predecessors[header]
        .iter()
        .filter(|&&before| loops.contains(l, before));
    let once = loops.of(exit) == Some(l)
        && (exit == header || latches.all(|&latch| dominators.dominates(exit, latch)));
    if !loops.loops[l].reducible || !once {
        return None;
    }
    let Terminator::Branch {
        condition, then, ..
    } = &function.blocks[exit].terminator
    else {
        return None;
    };
    let compare = function.defining(*condition)?;
    let Op::IntCompare(kind) = compare.op else {
        return None;
    };
    let kind = match loops.contains(l, then.block) {
        true => kind,
        false => kind.negated(),
    };
    let limit = function.int_constant(compare.args[1])?;
    let (counter, ahead) = moved(function, compare.args[0]);
    let ValueDef::Param(of, number) = function.values[counter].def else {
        return None;
    };
    if of != header {
        return None;
    }
    let (mut first, mut step) = (None, None);
    for &before in &flow.predecessors[header] {
        let edges = function.blocks[before].terminator.edges();
        for edge in edges.iter().filter(|edge| edge.block == header) {
            let arg = *edge.args.get(number as usize)?;
            let (known, now) = if loops.contains(l, before) {
                let (from, by) = moved(function, arg);
                (&mut step, Some(by).filter(|_| from == counter)?)
            } else {
                (&mut first, function.int_constant(arg)?)
            };
            if known.is_some_and(|known| known != now) {
                return None;
            }
            *known = Some(now);
        }
    }
    let (first, step) = (i128::from(first?), i128::from(step?));
    rounds(
        kind,
        first + i128::from(ahead),
        step,
        i128::from(limit),
        function.ty(counter).bits(),
    )
}

/// A value as another one and a constant that is added to it.
fn moved(function: &Function, value: Value) -> (Value, i64) {
    let by = function.defining(value).and_then(|data| {
        let by = |value| function.int_constant(value);
        match data.op {
            Op::Binary(BinaryOp::Add, _) => Some((data.args[0], by(data.args[1])?)),
            Op::Binary(BinaryOp::Sub, _) => Some((data.args[0], by(data.args[1])?.checked_neg()?)),
            _ => None,
        }
    });
    by.unwrap_or((value, 0))
}

fn rounds(kind: IntCondition, first: i128, step: i128, limit: i128, bits: u32) -> Option<u32> {
    let bound = 1i128 << (bits.clamp(2, 64) - 1);
    let unsigned = matches!(
        kind,
        IntCondition::LessUnsigned
            | IntCondition::LessEqualUnsigned
            | IntCondition::GreaterUnsigned
            | IntCondition::GreaterEqualUnsigned
    );
    let low = if unsigned { 0 } else { -bound };
    let (mut at, mut count) = (first, 1);
    loop {
        if !(low..bound).contains(&at) || limit < low || count > MOST {
            return None;
        }
        if !kind.holds(at, limit) {
            return Some(count);
        }
        at += step;
        count += 1;
    }
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

    /// A loop from a constant to a constant, tested before its body or behind it.
    fn counted(test: &str) -> Vec<f64> {
        let function = ir::text::parse(&format!(
            r#"
function "f" kernel text {{
  parameter "c" "int" (v0)

b0(v0: i32):
  v1: i32 = const 0
  v2: i32 = const 1
  v3: i32 = const 32
  jump b1(v1)

{test}

b3:
  return
}}
"#
        ))
        .unwrap_or_else(|error| panic!("{error}"));
        frequency(&function).as_slice().to_vec()
    }

    #[test]
    fn a_constant_number_of_iterations_is_counted() {
        let before = "b1(v4: i32):\n  v5: bool = icmp.lt_s v4, v3\n  branch v5, b2, b3 as loop\n\nb2:\n  v6: i32 = add v4, v2\n  jump b1(v6)";
        assert_eq!(counted(before), [1.0, 33.0, 32.0, 1.0]);
        let behind = "b1(v4: i32):\n  jump b2\n\nb2:\n  v6: i32 = add v4, v2\n  v5: bool = icmp.lt_s v6, v3\n  branch v5, b1(v6), b3 as loop";
        assert_eq!(counted(behind), [1.0, 32.0, 32.0, 1.0]);
    }

    #[test]
    fn an_unknown_number_of_iterations_is_not() {
        let limit = "b1(v4: i32):\n  v5: bool = icmp.lt_s v4, v0\n  branch v5, b2, b3 as loop\n\nb2:\n  v6: i32 = add v4, v2\n  jump b1(v6)";
        assert_eq!(counted(limit), [1.0, TRIPS, TRIPS - 1.0, 1.0]);
        let endless = "b1(v4: i32):\n  v5: bool = icmp.ne v4, v3\n  branch v5, b2, b3 as loop\n\nb2:\n  v6: i32 = sub v4, v2\n  jump b1(v6)";
        assert_eq!(counted(endless), [1.0, TRIPS, TRIPS - 1.0, 1.0]);
    }
}
