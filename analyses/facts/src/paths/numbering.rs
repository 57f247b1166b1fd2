//! Numbers of paths: each way from the entry, or from the target of an edge that ends a path, to an end.
//!
//! ```text
//! entry -> a | b -> join -> c | (none) -> exit      N(exit) = 1, N(join) = 2, N(entry) = 4; entry -> b adds 2
//! ```
//!
//! Without the edges that end paths the graph has no cycle. From its ends backwards, a node has as many ways to an end
//! as its successors have together, an edge that ends a path counting for one; an edge adds the ways of those before it. Starts
//! follow each other: the entry first, then the targets of edges that end paths, ascending. So the numbers are 0 to
//! `count - 1`, each of them one way.
//!
//! Linear in the edges. Refused where there are more than 2^63 ways.
//!
//! Source: Ball and Larus 1996, Figures 5 and 7; the edges that end paths stand for its dummy edges.

use super::PathGraph;
use std::collections::BTreeMap;

/// Numbers beyond which counters would not hold them.
const MOST: u64 = 1 << 63;

/// The reason why ways have no numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PathRefusal {
    #[error("the function has more than 2^63 paths in {nodes} blocks")]
    TooMany { nodes: usize },
    #[error("the function has no entry")]
    Empty,
}

/// The beginning of a path.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Start {
    Entry,
    /// Behind an edge of this node that ended the path before.
    Behind(usize),
}

/// The end of a path.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Ending {
    /// The function is left.
    Exit,
    /// This edge of the last node ends it.
    Edge(usize),
}

/// A way through a function.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Path {
    pub start: Start,
    pub nodes: Vec<usize>,
    /// The edges that are taken between the nodes, by their numbers in the terminator.
    pub edges: Vec<usize>,
    pub ending: Ending,
}

/// The numbers of the paths of a graph.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PathNumbers {
    graph: PathGraph,
    /// The number of ways from each node to an end.
    ways: Vec<u64>,
    /// The number that each edge of a node adds.
    adds: Vec<Vec<u64>>,
    /// The number that a path begins with at each node where paths start; at the entry, 0.
    starts: BTreeMap<usize, u64>,
    count: u64,
}

/// A path under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Walk {
    pub node: usize,
    sum: u64,
}

impl PathNumbers {
    /// The numbers of a graph's paths.
    ///
    /// # Errors
    /// Too many of them, or no node.
    pub fn new(graph: PathGraph) -> Result<Self, PathRefusal> {
        let nodes = graph.successors.len();
        if graph.entry >= nodes {
            return Err(PathRefusal::Empty);
        }
        let too_many = PathRefusal::TooMany { nodes };
        let bounded = |sum: u64| (sum <= MOST).then_some(sum).ok_or(too_many);
        let mut ways = vec![0u64; nodes];
        let mut behind: Vec<usize> = Vec::new();
        for (targets, ends) in graph.successors.iter().zip(&graph.ends) {
            let of = targets.iter().zip(ends);
            behind.extend(of.filter(|(_, ends)| **ends).map(|(&to, _)| to));
        }
        behind.sort_unstable();
        behind.dedup();
        let mut adds: Vec<Vec<u64>> = graph.ends.iter().map(|of| vec![0; of.len()]).collect();
        for node in backwards(&graph, &behind) {
            let targets = &graph.successors[node];
            let mut sum = 0u64;
            for (edge, (&to, &ends)) in targets.iter().zip(&graph.ends[node]).enumerate() {
                adds[node][edge] = sum;
                let more = if ends { 1 } else { ways[to] };
                sum = bounded(sum.saturating_add(more))?;
            }
            ways[node] = if targets.is_empty() { 1 } else { sum };
        }
        let mut count = ways[graph.entry];
        let mut starts = BTreeMap::new();
        for node in behind {
            starts.insert(node, count);
            count = bounded(count.saturating_add(ways[node]))?;
        }
        Ok(PathNumbers {
            graph,
            ways,
            adds,
            starts,
            count,
        })
    }

    /// The number of paths.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The graph whose paths these are.
    #[must_use]
    pub fn graph(&self) -> &PathGraph {
        &self.graph
    }

    /// Returns the number that an edge adds to the number of a path that goes on over it, or ends with it.
    #[must_use]
    pub fn added(&self, node: usize, edge: usize) -> u64 {
        self.adds[node][edge]
    }

    /// Returns the number that a path begins with behind an edge that ended the one before.
    #[must_use]
    pub fn begun(&self, node: usize) -> u64 {
        self.starts.get(&node).copied().unwrap_or(0)
    }

    /// Returns true for a node that some path goes through.
    #[must_use]
    pub fn reaches(&self, node: usize) -> bool {
        self.ways[node] > 0
    }

    /// A path at the entry.
    #[must_use]
    pub fn enter(&self) -> Walk {
        Walk {
            node: self.graph.entry,
            sum: 0,
        }
    }

    /// Takes an edge; returns the number of the path that ends with it.
    pub fn step(&self, walk: &mut Walk, edge: usize) -> Option<u64> {
        let node = walk.node;
        let sum = walk.sum + self.adds[node][edge];
        let to = self.graph.successors[node][edge];
        let ended = self.graph.ends[node][edge].then_some(sum);
        *walk = Walk {
            node: to,
            sum: match ended {
                Some(_) => self.begun(to),
                None => sum,
            },
        };
        ended
    }

    /// The number of the path that ends where the function is left.
    #[must_use]
    pub fn leave(&self, walk: Walk) -> u64 {
        walk.sum
    }

    /// The path of a number; `None` beyond the last.
    #[must_use]
    pub fn path(&self, number: u64) -> Option<Path> {
        if number >= self.count {
            return None;
        }
        let (start, mut at, mut rest) = match number < self.ways[self.graph.entry] {
            true => (Start::Entry, self.graph.entry, number),
            false => {
                let mut before = self.starts.iter().filter(|(_, begun)| **begun <= number);
                let (&node, &begun) = before.next_back()?;
                (Start::Behind(node), node, number - begun)
            }
        };
        let mut path = Path {
            start,
            nodes: vec![at],
            edges: Vec::new(),
            ending: Ending::Exit,
        };
        while !self.graph.successors[at].is_empty() {
            // Of edges that add the same all but the last have no way to an end.
            let edge = self.adds[at].partition_point(|&added| added <= rest) - 1;
            rest -= self.adds[at][edge];
            if self.graph.ends[at][edge] {
                path.ending = Ending::Edge(edge);
                break;
            }
            at = self.graph.successors[at][edge];
            path.edges.push(edge);
            path.nodes.push(at);
        }
        debug_assert_eq!(rest, 0, "each number is one way to an end");
        Some(path)
    }

    /// The number of a path; `None` for a sequence that is no path of the graph.
    #[must_use]
    pub fn number(&self, path: &Path) -> Option<u64> {
        let mut walk = match path.start {
            Start::Entry => self.enter(),
            Start::Behind(node) => Walk {
                node,
                sum: *self.starts.get(&node)?,
            },
        };
        let mut nodes = path.nodes.iter();
        if nodes.next() != Some(&walk.node) {
            return None;
        }
        for (&edge, &node) in path.edges.iter().zip(nodes) {
            let ends = *self.graph.ends.get(walk.node)?.get(edge)?;
            if ends || self.step(&mut walk, edge).is_some() || walk.node != node {
                return None;
            }
        }
        match path.ending {
            Ending::Exit => self.graph.successors[walk.node]
                .is_empty()
                .then(|| self.leave(walk)),
            Ending::Edge(edge) => {
                self.graph.ends[walk.node].get(edge)?;
                self.step(&mut walk, edge)
            }
        }
    }
}

/// The nodes that the starts reach without the edges that end paths, each behind all of its successors.
pub(super) fn backwards(graph: &PathGraph, behind: &[usize]) -> Vec<usize> {
    let mut seen = vec![false; graph.successors.len()];
    let mut out = Vec::with_capacity(graph.successors.len());
    for root in std::iter::once(graph.entry).chain(behind.iter().copied()) {
        if seen[root] {
            continue;
        }
        seen[root] = true;
        let mut stack = vec![(root, 0usize)];
        while let Some((node, next)) = stack.last_mut() {
            let (node, edge) = (*node, *next);
            *next += 1;
            match graph.successors[node].get(edge) {
                Some(&to) if !graph.ends[node][edge] && !seen[to] => {
                    seen[to] = true;
                    stack.push((to, 0));
                }
                Some(_) => {}
                None => {
                    out.push(node);
                    stack.pop();
                }
            }
        }
    }
    out
}
