//! Counts of edges of which some are known, and the bounds of the others that follow from the flow of
//! control.
//!
//! ```text
//! if (a) x; if (b) y;      3 executions, `x` 1 time, nothing of `y`: the other way of `a` 2 times, `y` at most 3 times
//! ```
//!
//! The counts into a node equal those out of it. The bounds of an edge are those that the node's count and
//! its other edges leave, until nothing changes; in loops without any count they may stay wide. Where the
//! counts of two sides are known, but not which side has which, a side that cannot have one of them has the
//! other.
//!
//! Bounds only become narrower; the rounds are limited. Linear in the edges for a round.

use super::PathGraph;
use super::bounds::{CountBounds, EdgeCounts};

/// Rounds over all edges after which bounds are left as they are.
const MOST_ROUNDS: usize = 256;

/// The counts of the two ways of a node, of which nothing says which is which.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SidePair {
    pub node: usize,
    pub counts: [u64; 2],
}

/// The known counts of a graph's edges, before the flow is looked at.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PartlyKnown {
    pub counts: EdgeCounts,
    /// Executions of each node.
    pub nodes: Vec<CountBounds>,
    pub pairs: Vec<SidePair>,
}

/// Counts that no flow has: more comes to a node than leaves it, or less.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("more comes to block {node} than leaves it, or less")]
pub struct Contradiction {
    pub node: usize,
}

impl PartlyKnown {
    /// Returns the counts of which nothing is known but how often the graph is entered.
    #[must_use]
    pub fn new(graph: &PathGraph, entries: CountBounds) -> Self {
        let any = |edges: &Vec<usize>| vec![CountBounds::ANY; edges.len()];
        PartlyKnown {
            counts: EdgeCounts {
                entries,
                edges: graph.successors.iter().map(any).collect(),
            },
            nodes: vec![CountBounds::ANY; graph.successors.len()],
            pairs: Vec::new(),
        }
    }

    /// Narrows the bounds of an edge.
    ///
    /// # Errors
    /// The bounds contradict each other.
    pub fn edge(
        &mut self,
        node: usize,
        edge: usize,
        count: CountBounds,
    ) -> Result<(), Contradiction> {
        narrow(&mut self.counts.edges[node][edge], count, node).map(|_| ())
    }

    /// Narrows the bounds of a node.
    ///
    /// # Errors
    /// The bounds contradict each other.
    pub fn node(&mut self, node: usize, count: CountBounds) -> Result<(), Contradiction> {
        narrow(&mut self.nodes[node], count, node).map(|_| ())
    }

    /// The counts of all edges, as narrow as the flow makes them.
    ///
    /// # Errors
    /// They are not the counts of a flow.
    pub fn solved(mut self, graph: &PathGraph) -> Result<EdgeCounts, Contradiction> {
        let mut arrivals: Vec<Vec<(usize, usize)>> = vec![Vec::new(); graph.successors.len()];
        for (from, targets) in graph.successors.iter().enumerate() {
            for (edge, &to) in targets.iter().enumerate() {
                arrivals[to].push((from, edge));
            }
        }
        let entered = reached(graph);
        for node in (0..graph.successors.len()).filter(|&node| !entered[node]) {
            self.node(node, CountBounds::exact(0))?;
        }
        let mut order: Vec<usize> = (0..graph.successors.len()).collect();
        for _ in 0..MOST_ROUNDS {
            let mut changed = false;
            order.reverse();
            for &node in &order {
                let outside = match node == graph.entry {
                    true => self.counts.entries,
                    false => CountBounds::default(),
                };
                changed |= self.balance(node, outside, &arrivals[node])?;
                if !graph.successors[node].is_empty() {
                    let leaving: Vec<(usize, usize)> = (0..graph.successors[node].len())
                        .map(|edge| (node, edge))
                        .collect();
                    changed |= self.balance(node, CountBounds::default(), &leaving)?;
                }
            }
            for at in 0..self.pairs.len() {
                changed |= self.pair(self.pairs[at])?;
            }
            if !changed {
                break;
            }
        }
        Ok(self.counts)
    }

    /// A node's count is the sum of some edges and of the count from outside.
    fn balance(
        &mut self,
        node: usize,
        outside: CountBounds,
        edges: &[(usize, usize)],
    ) -> Result<bool, Contradiction> {
        let summed = |this: &Self, without: Option<(usize, usize)>| {
            let all = edges.iter().filter(|&&at| Some(at) != without);
            all.fold(outside, |sum, at| sum.plus(this.counts.edges[at.0][at.1]))
        };
        let mut sum = summed(self, None);
        let mut changed = narrow(&mut self.nodes[node], sum, node)?;
        let of_node = self.nodes[node];
        for &at in edges {
            let own = self.counts.edges[at.0][at.1];
            let others = match sum.most {
                // Without a bound nothing can be taken away from it.
                u64::MAX => summed(self, Some(at)),
                most => CountBounds {
                    least: sum.least - own.least,
                    most: most - own.most,
                },
            };
            let rest = CountBounds {
                least: match others.most {
                    u64::MAX => 0,
                    most => of_node.least.saturating_sub(most),
                },
                most: match of_node.most {
                    u64::MAX => u64::MAX,
                    most => most
                        .checked_sub(others.least)
                        .ok_or(Contradiction { node })?,
                },
            };
            if narrow(&mut self.counts.edges[at.0][at.1], rest, node)? {
                changed = true;
                sum = others.plus(self.counts.edges[at.0][at.1]);
            }
        }
        Ok(changed)
    }

    /// Either way has one of two counts, and the other way the other.
    fn pair(&mut self, pair: SidePair) -> Result<bool, Contradiction> {
        let node = pair.node;
        let [first, second] = pair.counts;
        let fits = |count: CountBounds, is: u64| count.least <= is && is <= count.most;
        let sides = [self.counts.edges[node][0], self.counts.edges[node][1]];
        let straight = fits(sides[0], first) && fits(sides[1], second);
        let crossed = fits(sides[0], second) && fits(sides[1], first);
        let (least, most) = (first.min(second), first.max(second));
        let either = CountBounds { least, most };
        let now = match (straight, crossed) {
            (true, true) => [either; 2],
            (true, false) => [CountBounds::exact(first), CountBounds::exact(second)],
            (false, true) => [CountBounds::exact(second), CountBounds::exact(first)],
            (false, false) => return Err(Contradiction { node }),
        };
        let mut changed = false;
        for (edge, count) in now.into_iter().enumerate() {
            changed |= narrow(&mut self.counts.edges[node][edge], count, node)?;
        }
        Ok(changed)
    }
}

fn narrow(known: &mut CountBounds, by: CountBounds, node: usize) -> Result<bool, Contradiction> {
    let both = known.and(by).ok_or(Contradiction { node })?;
    let changed = both != *known;
    *known = both;
    Ok(changed)
}

fn reached(graph: &PathGraph) -> Vec<bool> {
    let mut out = vec![false; graph.successors.len()];
    let mut work = vec![graph.entry];
    while let Some(node) = work.pop() {
        if !std::mem::replace(&mut out[node], true) {
            work.extend(&graph.successors[node]);
        }
    }
    out
}
