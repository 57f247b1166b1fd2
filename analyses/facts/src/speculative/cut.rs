//! The least cut of a network with capacities: the greatest flow by blocking flows in graphs of levels, then
//! the nodes that still reach the sink.
//!
//! ```text
//! s -3-> a -2-> t    flow 2; the cut nearest to t is a -> t
//! ```
//!
//! Each phase lengthens the shortest way that is left, so there are at most as many as nodes.
//!
//! Source: Dinic 1970.

/// A network; arcs stand beside those that go back.
pub(super) struct Network {
    heads: Vec<usize>,
    capacities: Vec<u64>,
    /// The arcs from each node.
    arcs: Vec<Vec<usize>>,
}

impl Network {
    pub(super) fn new(nodes: usize) -> Network {
        Network {
            heads: Vec::new(),
            capacities: Vec::new(),
            arcs: vec![Vec::new(); nodes],
        }
    }

    pub(super) fn add(&mut self, from: usize, to: usize, capacity: u64) {
        for (from, to, capacity) in [(from, to, capacity), (to, from, 0)] {
            self.arcs[from].push(self.heads.len());
            self.heads.push(to);
            self.capacities.push(capacity);
        }
    }

    /// Returns for each node whether it is on the sink's side of the minimum cut that is nearest to the sink.
    pub(super) fn nearest_to_sink(&mut self, source: usize, sink: usize) -> Vec<bool> {
        while let Some(levels) = self.levels(source, sink) {
            let mut next = vec![0; self.arcs.len()];
            while self.push(source, sink, &levels, &mut next) {}
        }
        // Backwards over arcs that could take more.
        let mut out = vec![false; self.arcs.len()];
        out[sink] = true;
        let mut work = vec![sink];
        while let Some(node) = work.pop() {
            for &arc in &self.arcs[node] {
                let (from, into) = (self.heads[arc], arc ^ 1);
                if self.capacities[into] > 0 && !std::mem::replace(&mut out[from], true) {
                    work.push(from);
                }
            }
        }
        debug_assert!(!out[source], "the flow is the greatest");
        out
    }

    /// Distances from the source; `None`: the sink is not reached.
    fn levels(&self, source: usize, sink: usize) -> Option<Vec<u32>> {
        let mut levels = vec![u32::MAX; self.arcs.len()];
        levels[source] = 0;
        let mut work = std::collections::VecDeque::from([source]);
        while let Some(node) = work.pop_front() {
            for &arc in &self.arcs[node] {
                let to = self.heads[arc];
                if self.capacities[arc] > 0 && levels[to] == u32::MAX {
                    levels[to] = levels[node] + 1;
                    work.push_back(to);
                }
            }
        }
        (levels[sink] != u32::MAX).then_some(levels)
    }

    /// Fills one way down the levels; false: there is none left.
    fn push(&mut self, source: usize, sink: usize, levels: &[u32], next: &mut [usize]) -> bool {
        let mut way: Vec<usize> = Vec::new();
        let mut node = source;
        while node != sink {
            match self.arcs[node].get(next[node]) {
                Some(&arc) => {
                    let to = self.heads[arc];
                    // The source has no level above it.
                    if self.capacities[arc] > 0 && levels[to] == levels[node].saturating_add(1) {
                        way.push(arc);
                        node = to;
                    } else {
                        next[node] += 1;
                    }
                }
                None => {
                    let Some(arc) = way.pop() else {
                        return false;
                    };
                    node = self.heads[arc ^ 1];
                    next[node] += 1;
                }
            }
        }
        let most = way.iter().map(|&arc| self.capacities[arc]).min();
        let most = most.unwrap_or(0);
        for arc in way {
            self.capacities[arc] -= most;
            self.capacities[arc ^ 1] = self.capacities[arc ^ 1].saturating_add(most);
        }
        most > 0
    }
}
