//! The joins that a statement is moved past.
//!
//! If there are few, all sets of them are walked. Otherwise the search begins once with the set that the
//! equations propose and once with the empty set, and takes joins in and out as long as that pays.

use super::paths::Bits;
use super::sinking::certain;
use super::walk::walk_paths;
use super::{PathSets, Prices, Problem, Sinking, Walked};
use fixedbitset::FixedBitSet;
use std::collections::BTreeMap;

/// Joins of which all sets are tried.
const EXACT: usize = 12;

/// A choice of joins and its cost.
#[derive(Clone, PartialEq, Debug)]
pub struct Choice {
    pub enabled: FixedBitSet,
    pub sinking: Sinking,
    pub walked: Walked,
    /// The same without any join: the result of sinking without predicates.
    pub classical: Walked,
    /// No set of joins gains more.
    pub exact: bool,
}

impl Choice {
    /// Returns the gain over sinking without predicates.
    #[must_use]
    pub fn gain(&self, prices: Prices) -> f64 {
        self.walked.net(prices) - self.classical.net(prices)
    }
}

/// The best choice of joins for a statement; of equally good ones that with fewest joins.
#[must_use]
pub fn choose(problem: &Problem, sets: &PathSets, prices: Prices) -> Choice {
    let joins: Vec<usize> = problem
        .joins()
        .filter(|&join| sets.available.entry[join] && !sets.dead.entry[join])
        .collect();
    let none = FixedBitSet::with_capacity(problem.kinds.len());
    let near = Near::new(problem, sets);
    let tried = |enabled: &FixedBitSet| {
        let certain = near.certain.clone();
        let sinking = Sinking::within(problem, sets, enabled, &near.order, certain);
        let walked = walk_paths(problem, &sinking, &near.paths);
        (walked.net(prices), sinking, walked)
    };
    let (net, sinking, classical) = tried(&none);
    let mut best = (net, none.clone(), sinking, classical);
    let better = |enabled: FixedBitSet, best: &mut (f64, FixedBitSet, Sinking, Walked)| {
        let (net, sinking, walked) = tried(&enabled);
        let fewer = enabled.count_ones(..) < best.1.count_ones(..);
        if net > best.0 || (net >= best.0 && fewer) {
            *best = (net, enabled, sinking, walked);
            return true;
        }
        false
    };
    let exact = joins.len() <= EXACT;
    if exact {
        for set in 1u32..1 << joins.len() {
            let chosen = joins.iter().enumerate();
            let chosen = chosen.filter(|(at, _)| set >> at & 1 == 1);
            let mut enabled = none.clone();
            enabled.extend(chosen.map(|(_, &join)| join));
            better(enabled, &mut best);
        }
    } else {
        let mut proposed = none.clone();
        for &join in &joins {
            let cost = problem.frequency(&sets.closure_cost(problem, join)) as f64;
            let benefit = problem.frequency(&sets.gain(join).benefit) as f64;
            if cost * prices.suppressed < benefit * prices.statement {
                proposed.insert(join);
            }
        }
        let forced = sets.forced(problem, &proposed);
        let all = joins.iter().filter(|&&join| forced.contains(join));
        let mut enabled = none.clone();
        enabled.extend(all.copied());
        better(enabled, &mut best);
        let mut changed = true;
        while changed {
            changed = false;
            for &join in &joins {
                // A join to which nothing sinks changes nothing.
                let mut before = problem.predecessors[join].iter();
                if !before.any(|&from| best.2.delayed.exit[from]) {
                    continue;
                }
                let mut enabled = best.1.clone();
                enabled.grow(problem.kinds.len());
                enabled.toggle(join);
                changed |= better(enabled, &mut best);
            }
        }
    }
    debug_assert_eq!(
        super::walk(problem, &best.2),
        best.3,
        "what is far from the statement costs nothing"
    );
    Choice {
        enabled: best.1,
        sinking: best.2,
        walked: best.3,
        classical,
        exact,
    }
}

/// The part of a problem to which the statement may come, whichever joins are enabled.
struct Near {
    /// Nodes forwards.
    order: Vec<usize>,
    /// The rest of each path with the nodes in front of it, each once.
    paths: Vec<(Vec<usize>, u64)>,
    certain: Bits,
}

impl Near {
    fn new(problem: &Problem, sets: &PathSets) -> Self {
        let nodes = problem.kinds.len();
        let mut order = problem.forwards();
        let certain = certain(problem, &order);
        let comes = |node: usize| {
            problem.kinds[node].is_statement
                || sets.available.entry[node]
                || sets.available.exit[node]
        };
        order.retain(|&node| comes(node));
        let mut near = FixedBitSet::with_capacity(nodes);
        for &node in &order {
            near.insert(node);
            near.extend(problem.predecessors[node].iter().copied());
        }
        let mut paths: BTreeMap<Vec<usize>, u64> = BTreeMap::new();
        for (path, &count) in problem.paths.iter().zip(&problem.counts) {
            let left = path.iter().copied().filter(|&node| near.contains(node));
            let known = paths.entry(left.collect()).or_default();
            *known = known.saturating_add(count);
        }
        Near {
            order,
            paths: paths.into_iter().collect(),
            certain,
        }
    }
}
