//! What counts of edges alone tell of paths: at least, and at most, so many.
//!
//! ```text
//! 10 ways in, 9 to the left and then 8 to the right of two branches: left-right at least 7, at most 8
//! ```
//!
//! At most as often as its rarest edge. At least: what arrives at a node over a path and what leaves it over the path's
//! next edge overlap where both together are more than what passes the node.
//!
//! Source: Ball, Mataga, Sagiv 1998, definite and potential flow.

use super::{Ending, Path, PathGraph, Start};

/// Bounds of the count of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CountBounds {
    pub least: u64,
    pub most: u64,
}

/// The counts of a graph's edges.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EdgeCounts {
    pub entries: u64,
    /// By node and edge.
    pub edges: Vec<Vec<u64>>,
}

/// The bounds of a path's count.
#[must_use]
pub fn bounds(graph: &PathGraph, counts: &EdgeCounts, path: &Path) -> CountBounds {
    let passed = passed(graph, counts);
    let start = match path.start {
        Start::Entry => counts.entries,
        Start::Behind(node) => begun(graph, counts, node),
    };
    let mut flow = CountBounds {
        least: start,
        most: start,
    };
    let mut over = |node: usize, count: u64| {
        let both = u128::from(flow.least) + u128::from(count);
        let rest = both.saturating_sub(u128::from(passed[node]));
        flow.least = u64::try_from(rest).unwrap_or(u64::MAX);
        flow.most = flow.most.min(count);
    };
    for (&node, &edge) in path.nodes.iter().zip(&path.edges) {
        over(node, counts.edges[node][edge]);
    }
    if let Some(&last) = path.nodes.last() {
        match path.ending {
            Ending::Edge(edge) => over(last, counts.edges[last][edge]),
            Ending::Exit => over(last, passed[last]),
        }
    }
    flow
}

/// Paths that begin at a node behind edges that end others.
fn begun(graph: &PathGraph, counts: &EdgeCounts, node: usize) -> u64 {
    let mut sum = 0u64;
    for (from, targets) in graph.successors.iter().enumerate() {
        for (edge, &to) in targets.iter().enumerate() {
            if to == node && graph.ends[from][edge] {
                sum = sum.saturating_add(counts.edges[from][edge]);
            }
        }
    }
    sum
}

/// Executions of each node: what comes to it.
fn passed(graph: &PathGraph, counts: &EdgeCounts) -> Vec<u64> {
    let mut out = vec![0u64; graph.successors.len()];
    if let Some(entry) = out.get_mut(graph.entry) {
        *entry = counts.entries;
    }
    for (from, targets) in graph.successors.iter().enumerate() {
        for (edge, &to) in targets.iter().enumerate() {
            out[to] = out[to].saturating_add(counts.edges[from][edge]);
        }
    }
    out
}
