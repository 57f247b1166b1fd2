//! The number of times that each path was taken.

use super::{Ending, PathNumbers, Start};
use std::collections::BTreeMap;

/// Different paths that are counted; a run that takes more has the later ones in `others`.
const MOST: usize = 1 << 20;

/// Counts of paths by their numbers; paths that were never taken are absent.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PathProfile {
    pub counts: BTreeMap<u64, u64>,
    /// Times that paths were taken which are not counted one by one.
    pub others: u64,
}

impl PathProfile {
    /// Counts a path.
    pub fn count(&mut self, number: u64) {
        let full = self.counts.len() >= MOST;
        match self.counts.get_mut(&number) {
            Some(count) => *count = count.saturating_add(1),
            None if full => self.others = self.others.saturating_add(1),
            None => {
                self.counts.insert(number, 1);
            }
        }
    }

    /// Times that paths which are counted were taken, all together.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts
            .values()
            .fold(0u64, |sum, &count| sum.saturating_add(count))
    }

    /// The numbers of paths with their counts, the most frequent first.
    #[must_use]
    pub fn by_count(&self) -> Vec<(u64, u64)> {
        let mut out: Vec<(u64, u64)> = self.counts.iter().map(|(&n, &c)| (n, c)).collect();
        out.sort_by_key(|&(number, count)| (std::cmp::Reverse(count), number));
        out
    }

    /// Executions of each node.
    #[must_use]
    pub fn nodes(&self, numbers: &PathNumbers) -> Vec<u64> {
        let mut out = vec![0u64; numbers.graph().successors.len()];
        for (&number, &count) in &self.counts {
            for node in numbers.path(number).into_iter().flat_map(|path| path.nodes) {
                out[node] = out[node].saturating_add(count);
            }
        }
        out
    }

    /// Executions of each edge, by node, those that end paths with them.
    #[must_use]
    pub fn edges(&self, numbers: &PathNumbers) -> Vec<Vec<u64>> {
        let graph = numbers.graph();
        let mut out: Vec<Vec<u64>> = graph.ends.iter().map(|of| vec![0; of.len()]).collect();
        for (&number, &count) in &self.counts {
            let Some(path) = numbers.path(number) else {
                continue;
            };
            let last = path.nodes.last().copied();
            let taken = path.nodes.iter().copied().zip(path.edges.iter().copied());
            let end = match path.ending {
                Ending::Edge(edge) => last.map(|node| (node, edge)),
                Ending::Exit => None,
            };
            for (node, edge) in taken.chain(end) {
                out[node][edge] = out[node][edge].saturating_add(count);
            }
        }
        out
    }

    /// Entries of the function.
    #[must_use]
    pub fn entries(&self, numbers: &PathNumbers) -> u64 {
        let entered = |number: u64| {
            let path = numbers.path(number);
            path.is_some_and(|path| path.start == Start::Entry)
        };
        let all = self.counts.iter().filter(|(number, _)| entered(**number));
        all.fold(0u64, |sum, (_, &count)| sum.saturating_add(count))
    }
}
