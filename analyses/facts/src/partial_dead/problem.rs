//! A flow graph as one statement `x = e` sees it, with the paths that were taken.

use fixedbitset::FixedBitSet;

/// The part that a node plays; it may read and then define.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NodeKind {
    /// The statement itself.
    pub is_statement: bool,
    /// True if it reads `x`, before it defines anything.
    pub reads: bool,
    /// True if it defines `x` otherwise.
    pub defines: bool,
    /// True if it changes an operand of `e`.
    pub changes_operand: bool,
}

impl NodeKind {
    /// Returns true for a node that the statement cannot be moved past.
    #[must_use]
    pub fn blocks(self) -> bool {
        self.reads || self.defines || self.changes_operand
    }
}

/// The reason why a graph is no problem.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ProblemError {
    #[error("the edge from node {from} to node {to} is critical: it must have a node of its own")]
    CriticalEdge { from: usize, to: usize },
    #[error("path {0} does not follow the edges of the graph from the entry to an exit")]
    Path(usize),
    #[error("node {0} is no node of the graph")]
    Node(usize),
}

/// A graph, the statement's part in it, and paths with their frequencies.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    pub entry: usize,
    pub kinds: Vec<NodeKind>,
    pub successors: Vec<Vec<usize>>,
    pub predecessors: Vec<Vec<usize>>,
    /// `x` is read behind the graph.
    pub live_out: bool,
    pub paths: Vec<Vec<usize>>,
    pub counts: Vec<u64>,
}

impl Problem {
    /// A problem of a graph; paths go from the entry to an exit, in loops several times around.
    ///
    /// # Errors
    /// An edge from a node with several successors to one with several predecessors, or a sequence that is no
    /// path.
    pub fn new(
        entry: usize,
        kinds: Vec<NodeKind>,
        successors: Vec<Vec<usize>>,
        live_out: bool,
        paths: Vec<(Vec<usize>, u64)>,
    ) -> Result<Self, ProblemError> {
        let nodes = kinds.len();
        if entry >= nodes || successors.len() != nodes {
            return Err(ProblemError::Node(entry.max(successors.len())));
        }
        let mut predecessors: Vec<Vec<usize>> = vec![Vec::new(); nodes];
        for (from, targets) in successors.iter().enumerate() {
            for &to in targets {
                let of = predecessors.get_mut(to).ok_or(ProblemError::Node(to))?;
                of.push(from);
            }
        }
        for (from, targets) in successors.iter().enumerate() {
            let mut critical = targets.iter().filter(|&&to| predecessors[to].len() > 1);
            if targets.len() > 1
                && let Some(&to) = critical.next()
            {
                return Err(ProblemError::CriticalEdge { from, to });
            }
        }
        for (at, (path, _)) in paths.iter().enumerate() {
            let inside = path.iter().all(|&node| node < nodes);
            let follows = |two: &[usize]| successors[two[0]].contains(&two[1]);
            let whole = path.first() == Some(&entry) && inside && path.windows(2).all(follows);
            if !whole || !path.last().is_some_and(|&last| successors[last].is_empty()) {
                return Err(ProblemError::Path(at));
            }
        }
        let (paths, counts) = paths.into_iter().unzip();
        Ok(Problem {
            entry,
            kinds,
            successors,
            predecessors,
            live_out,
            paths,
            counts,
        })
    }

    /// Nodes with several predecessors, ascending.
    pub fn joins(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.kinds.len()).filter(|&node| self.predecessors[node].len() > 1)
    }

    /// Times that the paths of a set were taken.
    #[must_use]
    pub fn frequency(&self, paths: &FixedBitSet) -> u64 {
        let counts = paths.ones().map(|path| self.counts[path]);
        counts.fold(0u64, u64::saturating_add)
    }

    /// Nodes forwards, about in the order of the flow.
    pub(super) fn forwards(&self) -> Vec<usize> {
        let mut seen = vec![false; self.kinds.len()];
        let mut order = Vec::with_capacity(seen.len());
        let mut stack = vec![(self.entry, 0usize)];
        seen[self.entry] = true;
        while let Some((node, next)) = stack.last_mut() {
            let (node, edge) = (*node, *next);
            *next += 1;
            match self.successors[node].get(edge) {
                Some(&to) if !seen[to] => {
                    seen[to] = true;
                    stack.push((to, 0));
                }
                Some(_) => {}
                None => {
                    order.push(node);
                    stack.pop();
                }
            }
        }
        order.reverse();
        order
    }
}
