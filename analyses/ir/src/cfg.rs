//! Predecessors, successors and reverse post-order of a function's reachable blocks. Parallel edges between two
//! blocks (switch cases) count once.

use crate::entity::{Block, EntityVec};
use crate::function::Function;
use smallvec::SmallVec;

#[derive(Clone, PartialEq, Debug)]
pub struct ControlFlow {
    pub predecessors: EntityVec<Block, SmallVec<[Block; 4]>>,
    pub successors: EntityVec<Block, SmallVec<[Block; 2]>>,
    /// Reachable blocks in reverse post-order, the entry first.
    pub order: Vec<Block>,
    /// Position in `order`; `u32::MAX` for unreachable blocks.
    pub position: EntityVec<Block, u32>,
}

impl ControlFlow {
    pub fn new(function: &Function) -> Self {
        let count = function.blocks.len();
        let mut successors: EntityVec<Block, SmallVec<[Block; 2]>> =
            EntityVec::with_len(SmallVec::new(), count);
        let mut seen_from = vec![u32::MAX; count];
        for (block, data) in function.blocks.iter() {
            for edge in data.terminator.edges() {
                let target = edge.block.0 as usize;
                if seen_from[target] != block.0 {
                    seen_from[target] = block.0;
                    successors[block].push(edge.block);
                }
            }
        }
        let entry = function.entry();
        let mut order = post_order(entry, &successors);
        order.reverse();
        let mut position = EntityVec::with_len(u32::MAX, count);
        for (i, &block) in order.iter().enumerate() {
            position[block] = i as u32;
        }
        let mut predecessors: EntityVec<Block, SmallVec<[Block; 4]>> =
            EntityVec::with_len(SmallVec::new(), count);
        for &block in &order {
            for &next in &successors[block] {
                predecessors[next].push(block);
            }
        }
        ControlFlow {
            predecessors,
            successors,
            order,
            position,
        }
    }

    pub fn is_reachable(&self, block: Block) -> bool {
        self.position[block] != u32::MAX
    }
}

fn post_order(entry: Block, successors: &EntityVec<Block, SmallVec<[Block; 2]>>) -> Vec<Block> {
    let mut visited = EntityVec::with_len(false, successors.len());
    let mut order = Vec::with_capacity(successors.len());
    let mut stack = vec![(entry, 0usize)];
    visited[entry] = true;
    while let Some((block, next)) = stack.last_mut() {
        if let Some(&child) = successors[*block].get(*next) {
            *next += 1;
            if !visited[child] {
                visited[child] = true;
                stack.push((child, 0));
            }
        } else {
            order.push(*block);
            stack.pop();
        }
    }
    order
}
