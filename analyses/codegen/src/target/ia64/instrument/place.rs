//! Places in a function's text at which code executes when control takes an edge, enters a block, or leaves the function.
//!
//! ```text
//! (p6) br.cond .L1       the taken edge: behind .L1 where nothing else comes there; else predicated by p6 in front;
//!      add r14 = ..      of a loop branch on a way around, to which the branch now goes; the other edge: in between
//! ```

use super::function::{Block, FlowStep, Function, Goal, How};
use facts::paths::PathGraph;
use isa::ia64::Branch;

/// The spot of an insertion, in front of a step.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Spot {
    pub step: usize,
    /// The order of insertions in front of one step.
    pub order: Order,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Order {
    /// Behind a call whose shadow was moved.
    Shadow,
    /// On the way to the next block.
    On,
    /// The ways around of the branch in front.
    Around,
    Start,
    End,
}

/// The place of an edge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum EdgePlace {
    /// A spot, under a predicate; 0 without one.
    Spot(Spot, u8),
    /// A way around behind this block, to which its branch goes.
    Around(usize),
}

/// Costs and places of a function's flow.
pub(super) struct Places<'a> {
    pub function: &'a Function,
    /// The number of edges to each block, the entry's own among them.
    comes: Vec<usize>,
    leaves: Vec<usize>,
    /// The number of loops around each block.
    pub depth: Vec<u32>,
}

/// The guessed executions of a block in so many loops.
pub(super) fn executions(depth: u32) -> u64 {
    10u64.pow(depth.min(6))
}

impl<'a> Places<'a> {
    pub(super) fn new(function: &'a Function) -> Self {
        let count = function.blocks.len();
        let (mut comes, mut leaves) = (vec![0; count], vec![0; count]);
        comes[0] = 1;
        for edge in &function.edges {
            leaves[edge.from] += 1;
            if let Goal::Block(to) = edge.to {
                comes[to] += 1;
            }
        }
        Places {
            function,
            comes,
            leaves,
            depth: depths(function),
        }
    }

    fn block(&self, block: usize) -> &Block {
        &self.function.blocks[block]
    }

    /// At the start of a block, behind `alloc` in the first.
    pub(super) fn start(&self, block: usize) -> Spot {
        let of = self.block(block);
        let frame = self.function.frame.filter(|_| block == 0);
        let step = match (frame, of.first) {
            (Some(frame), _) => frame.step + 1,
            (None, Some(first)) => first,
            (None, None) => of.steps.end,
        };
        Spot {
            step,
            order: Order::Start,
        }
    }

    /// At the end of a block, in front of its branch.
    pub(super) fn end(&self, block: usize) -> Spot {
        match self.block(block).branch {
            Some(step) => Spot {
                step,
                order: Order::End,
            },
            None => self.behind(block),
        }
    }

    /// Returns the spot behind a block, where control goes on.
    pub(super) fn behind(&self, block: usize) -> Spot {
        let of = self.block(block);
        let last = of
            .steps
            .clone()
            .rev()
            .find(|&at| self.function.code(at).is_some());
        Spot {
            step: last.map_or(of.steps.end, |last| last + 1),
            order: Order::On,
        }
    }

    /// The place of an edge; `None`: there is none.
    pub(super) fn edge(&self, edge: &FlowStep) -> Option<EdgePlace> {
        let plain = |spot| Some(EdgePlace::Spot(spot, 0));
        if self.leaves[edge.from] == 1 {
            return plain(self.end(edge.from));
        }
        if let Goal::Block(to) = edge.to
            && self.comes[to] == 1
        {
            return plain(self.start(to));
        }
        if edge.how == How::On {
            return plain(self.behind(edge.from));
        }
        let code = self
            .block(edge.from)
            .branch
            .and_then(|step| self.function.code(step))?;
        match code.inst.branch? {
            Branch::Jump | Branch::Return
                if code.inst.predicate != 0 && (code.target.is_some() || edge.to == Goal::Exit) =>
            {
                Some(EdgePlace::Spot(self.end(edge.from), code.inst.predicate))
            }
            Branch::Jump | Branch::Return | Branch::Call => None,
            _ => code
                .target
                .is_some()
                .then_some(EdgePlace::Around(edge.from)),
        }
    }

    /// Guessed executions of an edge.
    pub(super) fn executions(&self, edge: &FlowStep) -> u64 {
        let from = self.depth[edge.from];
        match edge.to {
            Goal::Block(to) => executions(from.min(self.depth[to])),
            Goal::Exit => 1,
        }
    }

    /// The cost of a counter on an edge, where one on a block that executes once costs 8.
    pub(super) fn cost(&self, edge: &FlowStep) -> u64 {
        let executions = self.executions(edge);
        match self.edge(edge) {
            None => u64::MAX / 4,
            Some(EdgePlace::Around(_)) => 40 * executions,
            // Executes whether or not the edge is taken, a cycle behind the compare.
            Some(EdgePlace::Spot(_, predicate)) if predicate != 0 => {
                12 * super::place::executions(self.depth[edge.from])
            }
            Some(EdgePlace::Spot(spot, _)) if spot.order == Order::On => 9 * executions,
            Some(EdgePlace::Spot(..)) => 8 * executions + 1,
        }
    }
}

/// Returns the number of loops around each block; those that go back to one block count once together.
fn depths(function: &Function) -> Vec<u32> {
    let count = function.blocks.len();
    let mut successors = vec![Vec::new(); count];
    let mut before = vec![Vec::new(); count];
    for edge in &function.edges {
        if let Goal::Block(to) = edge.to {
            successors[edge.from].push(to);
            before[to].push(edge.from);
        }
    }
    let graph = PathGraph::new(0, successors);
    let mut out = vec![0; count];
    for header in 0..count {
        let backs = (0..count).filter(|&from| {
            let edges = graph.successors[from].iter().zip(&graph.ends[from]);
            edges.into_iter().any(|(&to, &ends)| ends && to == header)
        });
        let mut work: Vec<usize> = backs.collect();
        if work.is_empty() {
            continue;
        }
        let mut inside = vec![false; count];
        inside[header] = true;
        while let Some(block) = work.pop() {
            if !std::mem::replace(&mut inside[block], true) {
                work.extend(&before[block]);
            }
        }
        for (depth, inside) in out.iter_mut().zip(inside) {
            *depth += u32::from(inside);
        }
    }
    out
}
