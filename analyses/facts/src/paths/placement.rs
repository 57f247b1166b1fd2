//! The places at which counters change so that the numbers of paths come out with the fewest additions.
//!
//! ```text
//! entry -> a | b -> join        the edge to `b` adds 2, or that to `a` takes 2 away: the one that is taken less
//! ```
//!
//! With one node that stands for the world outside, each path is a cycle through it. The numbers added on the
//! edges of a spanning tree can be moved to the edges beside it without a change of any cycle's sum; the tree
//! of greatest weight is the one whose edges are taken most. Numbers wrap around on the way and come out
//! right at the end.
//!
//! Source: Ball 1994, section 3; Ball and Larus 1996, section 3.2.

use super::PathNumbers;
use std::collections::BTreeMap;

/// The additions of instrumented code to the number of a path under way.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Placement {
    /// The number that a path begins with at the entry.
    pub entry: u64,
    /// The numbers added on each node's edges; where an edge ends a path, before the path is counted.
    pub edges: Vec<Vec<u64>>,
    /// The number that the next path begins with, for each node behind edges that end paths.
    pub begins: BTreeMap<usize, u64>,
    /// The number added at each node that leaves the function, before the path is counted.
    pub leaves: BTreeMap<usize, u64>,
}

#[derive(Clone, Copy)]
enum Place {
    Entry,
    Edge(usize, usize),
    Begin(usize),
    Leave(usize),
}

struct Weighed {
    from: usize,
    to: usize,
    value: u64,
    weight: u64,
    place: Place,
}

impl Placement {
    /// The additions of fewest executions; `weights` tells how often an edge is taken, and a node entered and left.
    #[must_use]
    pub fn new(numbers: &PathNumbers, weights: &dyn Fn(usize, Option<usize>) -> u64) -> Self {
        let graph = numbers.graph();
        let world = graph.successors.len();
        let mut all = vec![Weighed {
            from: world,
            to: graph.entry,
            value: 0,
            weight: weights(graph.entry, None),
            place: Place::Entry,
        }];
        let mut begins: BTreeMap<usize, u64> = BTreeMap::new();
        let all_nodes = graph.successors.iter().enumerate();
        for (node, targets) in all_nodes.filter(|(node, _)| numbers.reaches(*node)) {
            if targets.is_empty() {
                all.push(Weighed {
                    from: node,
                    to: world,
                    value: 0,
                    weight: weights(node, None),
                    place: Place::Leave(node),
                });
            }
            for (edge, &to) in targets.iter().enumerate() {
                let weight = weights(node, Some(edge));
                let ends = graph.ends[node][edge];
                if ends {
                    let begun = begins.entry(to).or_default();
                    *begun = begun.saturating_add(weight);
                }
                all.push(Weighed {
                    from: node,
                    to: if ends { world } else { to },
                    value: numbers.added(node, edge),
                    weight,
                    place: Place::Edge(node, edge),
                });
            }
        }
        for (node, weight) in begins {
            all.push(Weighed {
                from: world,
                to: node,
                value: numbers.begun(node),
                weight,
                place: Place::Begin(node),
            });
        }
        let potentials = potentials(&all, world);
        let mut out = Placement {
            edges: graph.ends.iter().map(|of| vec![0; of.len()]).collect(),
            ..Placement::default()
        };
        for edge in &all {
            let moved = edge
                .value
                .wrapping_add(potentials[edge.from])
                .wrapping_sub(potentials[edge.to]);
            match edge.place {
                Place::Entry => out.entry = moved,
                Place::Edge(node, number) => out.edges[node][number] = moved,
                Place::Begin(node) => {
                    out.begins.insert(node, moved);
                }
                Place::Leave(node) => {
                    out.leaves.insert(node, moved);
                }
            }
        }
        out
    }

    /// The places of edges and exits at which something is added.
    #[must_use]
    pub fn additions(&self) -> usize {
        let edges = self.edges.iter().flatten();
        edges
            .chain(self.leaves.values())
            .filter(|&&add| add != 0)
            .count()
    }
}

/// Returns the sum of the numbers along the spanning tree of greatest weight up to each node.
fn potentials(all: &[Weighed], world: usize) -> Vec<u64> {
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by_key(|&at| std::cmp::Reverse(all[at].weight));
    let mut parents: Vec<usize> = (0..=world).collect();
    fn root(parents: &mut [usize], mut at: usize) -> usize {
        while parents[at] != at {
            parents[at] = parents[parents[at]];
            at = parents[at];
        }
        at
    }
    let mut tree: Vec<Vec<(usize, u64)>> = vec![Vec::new(); world + 1];
    for at in order {
        let edge = &all[at];
        let (from, to) = (root(&mut parents, edge.from), root(&mut parents, edge.to));
        if from != to {
            parents[from] = to;
            tree[edge.from].push((edge.to, edge.value));
            tree[edge.to].push((edge.from, edge.value.wrapping_neg()));
        }
    }
    let mut out = vec![0u64; world + 1];
    let mut seen = vec![false; world + 1];
    let mut work = vec![world];
    seen[world] = true;
    while let Some(at) = work.pop() {
        for &(to, value) in &tree[at] {
            if !seen[to] {
                seen[to] = true;
                out[to] = out[at].wrapping_add(value);
                work.push(to);
            }
        }
    }
    out
}
