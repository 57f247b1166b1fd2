//! The cycles of a control-flow graph, written from their definition: a set of blocks that reach each other
//! is a cycle, its header the first of them in reverse post-order, and inner cycles are those of the graph
//! without the edges to the header. By reachability and without cleverness, cubic in the number of blocks.

use ir::cfg::ControlFlow;
use ir::{Block, Function};

#[derive(Debug)]
pub(crate) struct Cycle {
    pub(crate) header: Block,
    /// True for the blocks of its body.
    pub(crate) body: Vec<bool>,
    /// The cycles around it, outermost first.
    pub(crate) around: Vec<usize>,
}

/// The effect of an edge on the counters of a lane that takes it.
#[derive(Clone, Debug, Default)]
pub(crate) struct EdgeEffect {
    pub(crate) enters: Vec<usize>,
    pub(crate) leaves: Vec<usize>,
    /// The cycle whose header it goes to from inside.
    pub(crate) repeats: Option<usize>,
}

/// Outer cycles come before inner ones.
pub(crate) fn cycles(function: &Function) -> Vec<Cycle> {
    let flow = ControlFlow::new(function);
    let count = function.blocks.len();
    let mut found: Vec<Cycle> = Vec::new();
    // A region, the header to which edges are cut, and the cycles around it.
    let mut work: Vec<(Vec<Block>, Option<Block>, Vec<usize>)> =
        vec![(flow.order.clone(), None, Vec::new())];
    while let Some((region, cut, around)) = work.pop() {
        let mut inside = vec![false; count];
        for &block in &region {
            inside[block.0 as usize] = true;
        }
        let reach: Vec<Vec<bool>> = region
            .iter()
            .map(|&from| {
                let mut reached = vec![false; count];
                let mut stack = vec![from];
                while let Some(block) = stack.pop() {
                    for &next in &flow.successors[block] {
                        let at = next.0 as usize;
                        if inside[at] && Some(next) != cut && !reached[at] {
                            reached[at] = true;
                            stack.push(next);
                        }
                    }
                }
                reached
            })
            .collect();
        let mut done = vec![false; region.len()];
        for first in 0..region.len() {
            if done[first] || !reach[first][region[first].0 as usize] {
                continue;
            }
            let members: Vec<usize> = (0..region.len())
                .filter(|&other| {
                    reach[first][region[other].0 as usize] && reach[other][region[first].0 as usize]
                })
                .collect();
            let mut body = vec![false; count];
            for &member in &members {
                done[member] = true;
                body[region[member].0 as usize] = true;
            }
            let blocks: Vec<Block> = members.iter().map(|&m| region[m]).collect();
            let Some(&header) = blocks.iter().min_by_key(|&&b| flow.position[b]) else {
                continue;
            };
            let number = found.len();
            found.push(Cycle {
                header,
                body,
                around: around.clone(),
            });
            let mut inner = around.clone();
            inner.push(number);
            work.push((blocks, Some(header), inner));
        }
    }
    found
}

/// Returns the effects of each block's edges, in the order of `Terminator::edges`.
pub(crate) fn edge_effects(function: &Function, cycles: &[Cycle]) -> Vec<Vec<EdgeEffect>> {
    function
        .blocks
        .iter()
        .map(|(block, data)| {
            data.terminator
                .edges()
                .iter()
                .map(|edge| {
                    let mut effect = EdgeEffect::default();
                    for (number, cycle) in cycles.iter().enumerate() {
                        let (from, to) = (
                            cycle.body[block.0 as usize],
                            cycle.body[edge.block.0 as usize],
                        );
                        match (from, to) {
                            (false, true) => effect.enters.push(number),
                            (true, false) => effect.leaves.push(number),
                            (true, true) if edge.block == cycle.header => {
                                effect.repeats = Some(number);
                            }
                            _ => {}
                        }
                    }
                    effect
                })
                .collect()
        })
        .collect()
}
