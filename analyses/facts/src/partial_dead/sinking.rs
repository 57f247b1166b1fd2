//! The places of the copies of a statement that sinks as far as it may, past joins that are enabled.
//!
//! A greatest solution: copies that all ways bring sink on, past an enabled join also those that some of them
//! bring. A copy stands where a node blocks it, or in front of a join that it does not pass; it needs a
//! predicate where some way brings none, and is left out where nothing reads it.
//!
//! Source: Figure 8 with C6.

use super::paths::Bits;
use super::{PathSets, Problem};
use fixedbitset::FixedBitSet;

/// The copies of a statement for a choice of joins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sinking {
    pub delayed: Bits,
    /// A copy stands at the entry of the node, and at its exit.
    pub inserted: Bits,
    /// Those of the inserted copies that are read.
    pub kept: Bits,
    /// Every way to the entry of the node, and to its exit, brings the statement: a copy there needs no predicate.
    pub certain: Bits,
}

impl Sinking {
    /// The copies where these joins are enabled.
    #[must_use]
    pub fn new(problem: &Problem, sets: &PathSets, enabled: &FixedBitSet) -> Self {
        let order = problem.forwards();
        let certain = certain(problem, &order);
        Sinking::within(problem, sets, enabled, &order, certain)
    }

    /// The same where nothing sinks to other nodes than those of `order`, and `certain` is known.
    pub(super) fn within(
        problem: &Problem,
        sets: &PathSets,
        enabled: &FixedBitSet,
        order: &[usize],
        certain: Bits,
    ) -> Self {
        let delayed = solve(problem, order, |node| enabled.contains(node));
        let nodes = problem.kinds.len();
        let mut inserted = Bits {
            entry: vec![false; nodes],
            exit: vec![false; nodes],
        };
        for &node in order {
            let kind = problem.kinds[node];
            inserted.entry[node] = delayed.entry[node] && kind.blocks();
            let mut behind = problem.successors[node].iter();
            let stops = match problem.successors[node].is_empty() {
                true => problem.live_out,
                false => behind.any(|&to| !delayed.entry[to]),
            };
            inserted.exit[node] = delayed.exit[node] && stops;
        }
        let read = |inserted: &[bool], dead: &[bool]| {
            let both = inserted.iter().zip(dead);
            both.map(|(&inserted, &dead)| inserted && !dead).collect()
        };
        Sinking {
            kept: Bits {
                entry: read(&inserted.entry, &sets.dead.entry),
                exit: read(&inserted.exit, &sets.dead.exit),
            },
            delayed,
            inserted,
            certain,
        }
    }
}

/// Returns the copies that all ways to a node bring.
pub(super) fn certain(problem: &Problem, order: &[usize]) -> Bits {
    solve(problem, order, |_| false)
}

/// Returns the greatest solution: the copies that sink to each node of an order, and to no other.
fn solve(problem: &Problem, order: &[usize], enabled: impl Fn(usize) -> bool) -> Bits {
    let nodes = problem.kinds.len();
    let mut initial = Bits {
        entry: vec![false; nodes],
        exit: vec![false; nodes],
    };
    for &node in order {
        (initial.entry[node], initial.exit[node]) = (true, true);
    }
    initial.settled(order.iter().copied(), |bits, node| {
        let before = &problem.predecessors[node];
        let some = before.iter().any(|&from| bits.exit[from]);
        let all = before.iter().all(|&from| bits.exit[from]);
        let entry = node != problem.entry && some && (all || enabled(node));
        let kind = problem.kinds[node];
        (entry, kind.is_statement || (entry && !kind.blocks()))
    })
}
