//! The counts of paths that follow from counts of edges alone: a lower and an upper bound.
//!
//! ```text
//! 10 ways in, 9 to the left and then 8 to the right of two branches: left-right at least 7, at most 8
//! ```
//!
//! At most as often as its rarest edge. At least: the executions that arrive at a node over a path and those
//! that leave it over the path's next edge overlap if both together are more than those of the node. Counts
//! of edges may be bounds themselves.
//!
//! A profile of some paths has the same edges (`EdgeCounts::some_paths`): enough for what depends on edges alone.
//!
//! Paths are ranked from their beginnings: the count that remains on the best way from each node is known
//! beforehand, so that each beginning that is looked at becomes a path of the result. Linear in the edges,
//! and in the paths with their ways on.
//!
//! Source: Ball, Mataga, Sagiv 1998, definite and potential flow.

use super::numbering::backwards;
use super::{Ending, Path, PathGraph, PathNumbers, PathProfile, Start};
use std::collections::BinaryHeap;

/// Bounds of a count.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct CountBounds {
    pub least: u64,
    pub most: u64,
}

impl CountBounds {
    /// The bounds of a count of which nothing is known.
    pub const ANY: CountBounds = CountBounds {
        least: 0,
        most: u64::MAX,
    };

    /// A count that is known.
    #[must_use]
    pub const fn exact(count: u64) -> Self {
        CountBounds {
            least: count,
            most: count,
        }
    }

    #[must_use]
    pub const fn is_exact(self) -> bool {
        self.least == self.most
    }

    /// Bounds of the sum of two counts.
    #[must_use]
    pub const fn plus(self, other: CountBounds) -> Self {
        CountBounds {
            least: self.least.saturating_add(other.least),
            most: self.most.saturating_add(other.most),
        }
    }

    /// Returns the bounds of a count for which both are right; `None` if there is none.
    #[must_use]
    pub fn and(self, other: CountBounds) -> Option<Self> {
        let both = CountBounds {
            least: self.least.max(other.least),
            most: self.most.min(other.most),
        };
        (both.least <= both.most).then_some(both)
    }
}

/// Counts of a graph's edges, or bounds of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EdgeCounts {
    pub entries: CountBounds,
    /// The counts of each node's edges.
    pub edges: Vec<Vec<CountBounds>>,
}

impl EdgeCounts {
    /// The counts of a profile's edges.
    #[must_use]
    pub fn of(profile: &PathProfile, numbers: &PathNumbers) -> Self {
        let exact = |of: &Vec<u64>| of.iter().map(|&n| CountBounds::exact(n)).collect();
        EdgeCounts {
            entries: CountBounds::exact(profile.entries(numbers)),
            edges: profile.edges(numbers).iter().map(exact).collect(),
        }
    }

    /// Returns true if no count is a bound.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        let mut all = self.edges.iter().flatten();
        self.entries.is_exact() && all.all(|count| count.is_exact())
    }

    /// Executions of each node: the counts into it and those out of it.
    #[must_use]
    pub fn passed(&self, graph: &PathGraph) -> Vec<CountBounds> {
        let mut out = vec![CountBounds::default(); graph.successors.len()];
        if let Some(entry) = out.get_mut(graph.entry) {
            *entry = self.entries;
        }
        for (from, targets) in graph.successors.iter().enumerate() {
            for (edge, &to) in targets.iter().enumerate() {
                out[to] = out[to].plus(self.edges[from][edge]);
            }
        }
        for (of, edges) in out.iter_mut().zip(&self.edges) {
            if !edges.is_empty() {
                let left = edges.iter().fold(CountBounds::default(), |a, &b| a.plus(b));
                *of = of.and(left).unwrap_or(*of);
            }
        }
        out
    }

    /// Returns the number of paths taken, all together: each begins at the entry or behind an edge that ends
    /// another.
    #[must_use]
    pub fn paths(&self, graph: &PathGraph) -> CountBounds {
        let mut sum = self.entries;
        for (ends, counts) in graph.ends.iter().zip(&self.edges) {
            for (_, &count) in ends.iter().zip(counts).filter(|(ends, _)| **ends) {
                sum = sum.plus(count);
            }
        }
        sum
    }

    /// A profile of paths with exactly these counts of edges, of the many that there are: right for what depends on edges alone.
    /// `None`: counts are bounds, or none of a flow. Each path takes up an edge, so linear in the edges for each of them.
    #[must_use]
    pub fn some_paths(&self, numbers: &PathNumbers) -> Option<PathProfile> {
        if !self.is_exact() {
            return None;
        }
        let graph = numbers.graph();
        let counts = self.edges.iter();
        let mut left: Vec<Vec<u64>> = counts
            .map(|of| of.iter().map(|count| count.least).collect())
            .collect();
        let mut begun = vec![0u64; graph.successors.len()];
        for (node, targets) in graph.successors.iter().enumerate() {
            for (edge, &to) in targets.iter().enumerate() {
                if graph.ends[node][edge] {
                    begun[to] = begun[to].saturating_add(left[node][edge]);
                }
            }
        }
        let behind = begun.into_iter().enumerate();
        let behind = behind.map(|(node, count)| (Start::Behind(node), node, count));
        let entered = (Start::Entry, graph.entry, self.entries.least);
        let mut out = PathProfile::default();
        for (start, first, mut flow) in std::iter::once(entered).chain(behind) {
            while flow > 0 {
                let (path, count) = some_path(graph, &left, start, first, flow)?;
                let last = path.nodes.len() - 1;
                for (at, &node) in path.nodes.iter().enumerate() {
                    let edge = match path.ending {
                        _ if at < last => path.edges[at],
                        Ending::Edge(edge) => edge,
                        Ending::Exit => break,
                    };
                    left[node][edge] -= count;
                }
                flow -= count;
                *out.counts.entry(numbers.number(&path)?).or_default() += count;
            }
        }
        let all = left.iter().flatten();
        all.copied().all(|count| count == 0).then_some(out)
    }
}

/// A path over edges of which something is left, and how often it can be taken.
fn some_path(
    graph: &PathGraph,
    left: &[Vec<u64>],
    start: Start,
    first: usize,
    flow: u64,
) -> Option<(Path, u64)> {
    let mut path = Path {
        start,
        nodes: vec![first],
        edges: Vec::new(),
        ending: Ending::Exit,
    };
    let (mut node, mut count) = (first, flow);
    while !graph.successors[node].is_empty() {
        let edge = left[node].iter().position(|&left| left > 0)?;
        count = count.min(left[node][edge]);
        if graph.ends[node][edge] {
            path.ending = Ending::Edge(edge);
            break;
        }
        path.edges.push(edge);
        node = graph.successors[node][edge];
        path.nodes.push(node);
    }
    Some((path, count))
}

/// The counts of a graph with the executions of its nodes, looked at path by path.
struct Flow<'a> {
    graph: &'a PathGraph,
    counts: &'a EdgeCounts,
    passed: Vec<CountBounds>,
}

impl<'a> Flow<'a> {
    fn new(graph: &'a PathGraph, counts: &'a EdgeCounts) -> Self {
        Flow {
            graph,
            counts,
            passed: counts.passed(graph),
        }
    }

    fn begins(&self, start: Start) -> CountBounds {
        match start {
            Start::Entry => self.counts.entries,
            Start::Behind(node) => begun(self.graph, self.counts, node),
        }
    }

    /// A flow that goes on over an edge of a node, or out of it.
    fn over(&self, flow: CountBounds, node: usize, count: CountBounds) -> CountBounds {
        let both = u128::from(flow.least) + u128::from(count.least);
        let rest = both.saturating_sub(u128::from(self.passed[node].most));
        CountBounds {
            least: u64::try_from(rest).unwrap_or(u64::MAX),
            most: flow.most.min(count.most),
        }
    }
}

/// The bounds of a path's count.
#[must_use]
pub fn bounds(graph: &PathGraph, counts: &EdgeCounts, path: &Path) -> CountBounds {
    let all = Flow::new(graph, counts);
    let mut flow = all.begins(path.start);
    for (&node, &edge) in path.nodes.iter().zip(&path.edges) {
        flow = all.over(flow, node, counts.edges[node][edge]);
    }
    if let Some(&last) = path.nodes.last() {
        let count = match path.ending {
            Ending::Edge(edge) => counts.edges[last][edge],
            Ending::Exit => all.passed[last],
        };
        flow = all.over(flow, last, count);
    }
    flow
}

/// Paths with the bounds of their counts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RankedPaths {
    pub paths: Vec<(Path, CountBounds)>,
    /// True if there are more.
    pub cut: bool,
}

/// The bound by which paths are ranked; those of which it is zero are left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RankedBy {
    /// Paths that may have been taken.
    Most,
    /// Paths that have been taken.
    Least,
}

/// The beginning of a path. The greatest comes first: the most frequent, and of those the longest.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Beginning {
    rank: u64,
    length: usize,
    /// Deterministic among equals.
    number: std::cmp::Reverse<usize>,
    flow: CountBounds,
    path: Path,
    ended: bool,
}

/// The paths whose bound is greatest, at most so many.
#[must_use]
pub fn ranked(graph: &PathGraph, counts: &EdgeCounts, by: RankedBy, most: usize) -> RankedPaths {
    let all = Flow::new(graph, counts);
    let mut open: BinaryHeap<Beginning> = BinaryHeap::new();
    let mut number = 0;
    let onward = Onward::new(&all);
    let mut push =
        |open: &mut BinaryHeap<Beginning>, flow: CountBounds, path: Path, ended: bool| {
            let rank = match (by, path.nodes.last()) {
                (RankedBy::Most, Some(&last)) if !ended => flow.most.min(onward.widest[last]),
                (RankedBy::Least, Some(&last)) if !ended => {
                    flow.least.saturating_sub(onward.lost[last])
                }
                (RankedBy::Most, _) => flow.most,
                (RankedBy::Least, _) => flow.least,
            };
            if rank > 0 {
                number += 1;
                open.push(Beginning {
                    rank,
                    length: path.nodes.len(),
                    number: std::cmp::Reverse(number),
                    flow,
                    path,
                    ended,
                });
            }
        };
    let mut starts = vec![(Start::Entry, graph.entry)];
    let behind = (0..graph.successors.len()).filter(|&node| {
        let edges = graph.successors.iter().zip(&graph.ends);
        edges
            .flat_map(|(to, ends)| to.iter().zip(ends))
            .any(|(&to, &ends)| ends && to == node)
    });
    starts.extend(behind.map(|node| (Start::Behind(node), node)));
    for (start, node) in starts {
        let path = Path {
            start,
            nodes: vec![node],
            edges: Vec::new(),
            ending: Ending::Exit,
        };
        push(&mut open, all.begins(start), path, false);
    }
    let mut out = RankedPaths::default();
    while let Some(first) = open.pop() {
        if first.ended {
            if out.paths.len() >= most {
                out.cut = true;
                break;
            }
            out.paths.push((first.path, first.flow));
            continue;
        }
        let Some(&last) = first.path.nodes.last() else {
            continue;
        };
        let targets = &graph.successors[last];
        if targets.is_empty() {
            let flow = all.over(first.flow, last, all.passed[last]);
            push(&mut open, flow, first.path, true);
            continue;
        }
        for (edge, &to) in targets.iter().enumerate() {
            let flow = all.over(first.flow, last, counts.edges[last][edge]);
            let mut path = first.path.clone();
            let ends = graph.ends[last][edge];
            match ends {
                true => path.ending = Ending::Edge(edge),
                false => {
                    path.edges.push(edge);
                    path.nodes.push(to);
                }
            }
            push(&mut open, flow, path, ends);
        }
    }
    out
}

/// The best that a way on from each node to an end leaves of a flow.
struct Onward {
    /// The count of the rarest edge on the way where that is greatest.
    widest: Vec<u64>,
    /// The least loss of counts on the ways on from each node.
    lost: Vec<u64>,
}

impl Onward {
    fn new(all: &Flow<'_>) -> Self {
        let graph = all.graph;
        let nodes = graph.successors.len();
        let mut out = Onward {
            widest: vec![0; nodes],
            lost: vec![u64::MAX; nodes],
        };
        let every: Vec<usize> = (0..nodes).collect();
        for node in backwards(graph, &every) {
            let passed = all.passed[node];
            let loss = |count: CountBounds| passed.most.saturating_sub(count.least);
            let targets = &graph.successors[node];
            if targets.is_empty() {
                (out.widest[node], out.lost[node]) = (passed.most, loss(passed));
            }
            for (edge, &to) in targets.iter().enumerate() {
                let count = all.counts.edges[node][edge];
                let (widest, lost) = match graph.ends[node][edge] {
                    true => (u64::MAX, 0),
                    false => (out.widest[to], out.lost[to]),
                };
                out.widest[node] = out.widest[node].max(count.most.min(widest));
                out.lost[node] = out.lost[node].min(loss(count).saturating_add(lost));
            }
        }
        out
    }
}

/// Paths that begin at a node behind edges that end others.
fn begun(graph: &PathGraph, counts: &EdgeCounts, node: usize) -> CountBounds {
    let mut sum = CountBounds::default();
    for (from, targets) in graph.successors.iter().enumerate() {
        for (edge, &to) in targets.iter().enumerate() {
            if to == node && graph.ends[from][edge] {
                sum = sum.plus(counts.edges[from][edge]);
            }
        }
    }
    sum
}
