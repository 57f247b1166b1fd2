//! The edges that have to be counted so that the counts of all edges are known.
//!
//! ```text
//! A -> B, A -> C, B -> D, C -> D, D -> A      count A -> B and D -> A: the others are sums and differences of them
//! ```
//!
//! The counts into a node equal those out of it, so the edges of a spanning tree are known when the others
//! are. The tree of greatest weight leaves the cheapest edges to be counted. The graph is closed: edges that
//! leave the function go back to its entry over a node outside of it.
//!
//! Nearly linear in the edges, for the tree, and linear for the counts.
//!
//! Source: Ball 1994, section 3; Knuth and Stevenson 1973.

/// An edge over which control flows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlowEdge {
    pub from: usize,
    pub to: usize,
    /// The cost of a counter on it.
    pub weight: u64,
}

/// Returns for each edge whether it has a counter; these edges are as few as possible and cost least.
#[must_use]
pub fn counted(nodes: usize, edges: &[FlowEdge]) -> Vec<bool> {
    let mut order: Vec<usize> = (0..edges.len()).collect();
    order.sort_by_key(|&at| std::cmp::Reverse(edges[at].weight));
    let mut parents: Vec<usize> = (0..nodes).collect();
    fn root(parents: &mut [usize], mut at: usize) -> usize {
        while parents[at] != at {
            parents[at] = parents[parents[at]];
            at = parents[at];
        }
        at
    }
    let mut out = vec![true; edges.len()];
    for at in order {
        let (from, to) = (
            root(&mut parents, edges[at].from),
            root(&mut parents, edges[at].to),
        );
        if from != to {
            parents[from] = to;
            out[at] = false;
        }
    }
    out
}

/// Counts that no flow has: some of them are wrong, or control has left the function in another way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Unbalanced {
    #[error("more comes to block {node} than leaves it, or less")]
    Node { node: usize },
    #[error("the edge from block {from} to block {to} would have been taken less than never")]
    Negative { from: usize, to: usize },
    #[error("the edge from block {from} to block {to} has no counter, and nothing tells of it")]
    Unknown { from: usize, to: usize },
}

/// The counts of all edges from those of the edges that have counters.
///
/// # Errors
/// They are not the counts of a flow.
pub fn solved(
    nodes: usize,
    edges: &[FlowEdge],
    counts: &[Option<u64>],
) -> Result<Vec<u64>, Unbalanced> {
    debug_assert_eq!(edges.len(), counts.len());
    let mut out = counts.to_vec();
    // For each node: the known counts into it less those out of it, and the edges that are not known yet.
    let mut excess = vec![0i128; nodes];
    let mut open: Vec<Vec<usize>> = vec![Vec::new(); nodes];
    for (at, edge) in edges.iter().enumerate() {
        match counts[at] {
            Some(count) => {
                excess[edge.from] -= i128::from(count);
                excess[edge.to] += i128::from(count);
            }
            None if edge.from == edge.to => {}
            None => {
                open[edge.from].push(at);
                open[edge.to].push(at);
            }
        }
    }
    let mut work: Vec<usize> = (0..nodes).filter(|&node| open[node].len() == 1).collect();
    while let Some(node) = work.pop() {
        let Some(at) = open[node].pop() else {
            continue;
        };
        let FlowEdge { from, to, .. } = edges[at];
        let leaves = from == node;
        let flow = if leaves { excess[node] } else { -excess[node] };
        let flow = u64::try_from(flow).map_err(|_| Unbalanced::Negative { from, to })?;
        out[at] = Some(flow);
        let other = if leaves { to } else { from };
        excess[from] -= i128::from(flow);
        excess[to] += i128::from(flow);
        open[other].retain(|&edge| edge != at);
        if open[other].len() == 1 {
            work.push(other);
        }
    }
    if let Some(node) = excess.iter().position(|&excess| excess != 0) {
        return Err(Unbalanced::Node { node });
    }
    let known = out.into_iter().zip(edges).map(|(count, edge)| {
        count.ok_or(Unbalanced::Unknown {
            from: edge.from,
            to: edge.to,
        })
    });
    known.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(from: usize, to: usize, weight: u64) -> FlowEdge {
        FlowEdge { from, to, weight }
    }

    /// A stream of numbers (SplitMix64).
    struct Random(u64);

    impl Random {
        fn below(&mut self, most: usize) -> usize {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = self.0;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((z ^ (z >> 31)) % most as u64) as usize
        }
    }

    #[test]
    fn the_cheapest_edges_are_counted_and_tell_of_all() {
        let mut random = Random(7);
        for _ in 0..2000 {
            let nodes = 2 + random.below(6);
            // A way through all nodes and back, and some more.
            let mut edges: Vec<FlowEdge> = (0..nodes)
                .map(|node| edge(node, (node + 1) % nodes, random.below(9) as u64))
                .collect();
            for _ in 0..random.below(6) {
                let more = edge(random.below(nodes), random.below(nodes), 0);
                edges.push(FlowEdge {
                    weight: random.below(9) as u64,
                    ..more
                });
            }
            let mut counts = vec![0u64; edges.len()];
            let mut at = 0;
            let mut steps = 0;
            while steps < 50 || at != 0 {
                let mut choices: Vec<usize> = Vec::new();
                choices.extend((0..edges.len()).filter(|&next| edges[next].from == at));
                // In the end straight back.
                let next = if steps < 50 {
                    choices[random.below(choices.len())]
                } else {
                    choices[0]
                };
                counts[next] += 1;
                at = edges[next].to;
                steps += 1;
            }
            let which = counted(nodes, &edges);
            let given: Vec<Option<u64>> = which
                .iter()
                .zip(&counts)
                .map(|(&counted, &count)| counted.then_some(count))
                .collect();
            assert_eq!(solved(nodes, &edges, &given), Ok(counts.clone()));
            assert_eq!(
                which.iter().filter(|counted| **counted).count(),
                edges.len() - nodes + 1
            );
            // No set of as many edges that leaves a tree is cheaper.
            let cost = |which: &dyn Fn(usize) -> bool| -> u64 {
                let all = (0..edges.len()).filter(|&at| which(at));
                all.map(|at| edges[at].weight).sum()
            };
            let own = cost(&|at| which[at]);
            for set in 0u32..1 << edges.len() {
                let is_in = |at: usize| set >> at & 1 != 0;
                if set.count_ones() as usize != edges.len() - nodes + 1 || cost(&is_in) >= own {
                    continue;
                }
                let given: Vec<Option<u64>> = (0..edges.len())
                    .map(|at| is_in(at).then_some(counts[at]))
                    .collect();
                assert!(solved(nodes, &edges, &given).is_err(), "{edges:?} {set:b}");
            }
        }
    }

    #[test]
    fn counts_that_are_no_flow_are_told() {
        let edges = [edge(0, 1, 1), edge(1, 0, 1)];
        assert_eq!(
            solved(2, &edges, &[Some(2), Some(3)]),
            Err(Unbalanced::Node { node: 0 })
        );
        let edges = [edge(0, 1, 1), edge(1, 0, 1), edge(0, 1, 1)];
        assert_eq!(
            solved(2, &edges, &[None, Some(3), Some(5)]),
            Err(Unbalanced::Negative { from: 0, to: 1 })
        );
    }
}
