//! The control flow that paths are counted on: nodes, their edges in the order of the terminator, and which edges end a path.

use ir::entity::Entity;
use ir::{Block, Function, Op, Terminator, ValueDef};

/// A flow graph whose nodes are numbered from 0.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PathGraph {
    pub entry: usize,
    /// The targets of each node's edges. Parallel edges are two.
    pub successors: Vec<Vec<usize>>,
    /// True for each edge of a node with which a path ends; the next path begins at its target.
    pub ends: Vec<Vec<bool>>,
}

impl PathGraph {
    /// The graph of some edges: paths end at edges that go back in depth-first order, whether or not they close a natural loop.
    #[must_use]
    pub fn new(entry: usize, successors: Vec<Vec<usize>>) -> Self {
        let ends = retreating(entry, &successors);
        PathGraph {
            entry,
            successors,
            ends,
        }
    }

    /// The graph of a function's blocks; blocks that nothing reaches are nodes without a way to them.
    #[must_use]
    pub fn of(function: &Function) -> Self {
        let edges = |data: &ir::BlockData| {
            let edges = data.terminator.edges();
            edges.iter().map(|edge| edge.block.index()).collect()
        };
        let successors = function.blocks.values().map(edges).collect();
        PathGraph::new(function.entry().index(), successors)
    }

    /// The same with paths that go on over the edge of a loop until they have been in it for so many iterations; node
    /// `n` of iteration `i` has the number `n + i * nodes`.
    #[must_use]
    pub fn over_iterations(&self, iterations: usize) -> Self {
        let nodes = self.successors.len();
        let mut out = PathGraph {
            entry: self.entry,
            successors: Vec::with_capacity(nodes * iterations),
            ends: Vec::with_capacity(nodes * iterations),
        };
        for layer in 0..iterations.max(1) {
            let last = layer + 1 >= iterations;
            for (node, targets) in self.successors.iter().enumerate() {
                let ends = &self.ends[node];
                let target = |(&to, &ends): (&usize, &bool)| match (ends, last) {
                    (false, _) => to + layer * nodes,
                    (true, false) => to + (layer + 1) * nodes,
                    // The next path begins with the first iteration that it counts.
                    (true, true) => to,
                };
                out.successors
                    .push(targets.iter().zip(ends).map(target).collect());
                out.ends
                    .push(ends.iter().map(|&ends| ends && last).collect());
            }
        }
        out
    }
}

/// The edge that control takes from a block whose condition is a constant, as those of ways out of loops are that are there for the
/// sake of the loop.
#[must_use]
pub fn certain_edge(function: &Function, block: Block) -> Option<usize> {
    let Terminator::Branch { condition, .. } = &function.blocks[block].terminator else {
        return None;
    };
    let ValueDef::Result(inst, _) = function.values[*condition].def else {
        return None;
    };
    match function.insts[inst].op {
        Op::Const(bits) => Some(usize::from(bits & 1 == 0)),
        _ => None,
    }
}

/// The edges to a node that is still open in a depth-first walk.
fn retreating(entry: usize, successors: &[Vec<usize>]) -> Vec<Vec<bool>> {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        New,
        Open,
        Closed,
    }
    let mut ends: Vec<Vec<bool>> = successors.iter().map(|to| vec![false; to.len()]).collect();
    let mut states = vec![State::New; successors.len()];
    let mut stack = Vec::new();
    if let Some(state) = states.get_mut(entry) {
        *state = State::Open;
        stack.push((entry, 0usize));
    }
    while let Some((node, next)) = stack.last_mut() {
        let (node, edge) = (*node, *next);
        *next += 1;
        match successors[node].get(edge) {
            Some(&to) => match states[to] {
                State::New => {
                    states[to] = State::Open;
                    stack.push((to, 0));
                }
                State::Open => ends[node][edge] = true,
                State::Closed => {}
            },
            None => {
                states[node] = State::Closed;
                stack.pop();
            }
        }
    }
    ends
}
