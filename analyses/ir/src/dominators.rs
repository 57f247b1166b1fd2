//! Dominators and post-dominators by Semi-NCA (Georgiadis, *Linear-Time Algorithms for Dominators and Related
//! Problems*, 2005, section 2.3): semidominators in reverse depth-first order with path compression, then each
//! immediate dominator as the nearest common ancestor of parent and semidominator. Almost linear in practice; iterative
//! throughout, so depth of nesting does not matter.

use crate::cfg::ControlFlow;
use crate::entity::{Block, EntityVec};

/// A dominator tree with constant-time ancestor tests.
#[derive(Clone, PartialEq, Debug)]
pub struct DominatorTree {
    immediate: EntityVec<Block, Option<Block>>,
    /// Preorder number and last number of the subtree; `(1, 0)` for blocks outside of the tree.
    interval: EntityVec<Block, (u32, u32)>,
    /// Blocks of the tree in preorder.
    preorder: Vec<Block>,
    depth: EntityVec<Block, u32>,
}

impl DominatorTree {
    pub fn dominators(flow: &ControlFlow) -> Self {
        let count = flow.successors.len();
        let root = flow.order[0].0;
        let parents = semi_nca(
            count,
            root,
            |node, out| out.extend(flow.successors[Block(node)].iter().map(|b| b.0)),
            |node, out| out.extend(flow.predecessors[Block(node)].iter().map(|b| b.0)),
        );
        Self::from_parents(
            parents.iter().map(|p| p.map(Block)).collect(),
            &[Block(root)],
        )
    }

    /// Post-dominators with a virtual exit after every block without successors, and after one block of each region
    /// that never ends. A block whose immediate post-dominator is the virtual exit has `None`.
    pub fn post_dominators(flow: &ControlFlow) -> Self {
        let count = flow.successors.len();
        let exit = count as u32;
        let mut ends: Vec<u32> = flow
            .order
            .iter()
            .filter(|&&b| flow.successors[b].is_empty())
            .map(|b| b.0)
            .collect();
        let mut reaches_end = vec![false; count];
        let mut stack: Vec<u32> = ends.clone();
        let mark = |stack: &mut Vec<u32>, reaches_end: &mut Vec<bool>| {
            while let Some(node) = stack.pop() {
                if !std::mem::replace(&mut reaches_end[node as usize], true) {
                    stack.extend(flow.predecessors[Block(node)].iter().map(|b| b.0));
                }
            }
        };
        mark(&mut stack, &mut reaches_end);
        // The last block in reverse post-order of an endless region lies deepest in it.
        for &block in flow.order.iter().rev() {
            if !reaches_end[block.0 as usize] {
                ends.push(block.0);
                stack.push(block.0);
                mark(&mut stack, &mut reaches_end);
            }
        }
        let is_end = {
            let mut flags = vec![false; count];
            ends.iter().for_each(|&e| flags[e as usize] = true);
            flags
        };
        let parents = semi_nca(
            count + 1,
            exit,
            |node, out| {
                if node == exit {
                    out.extend(ends.iter().copied());
                } else {
                    out.extend(flow.predecessors[Block(node)].iter().map(|b| b.0));
                }
            },
            |node, out| {
                if node != exit {
                    out.extend(flow.successors[Block(node)].iter().map(|b| b.0));
                    if is_end[node as usize] {
                        out.push(exit);
                    }
                }
            },
        );
        let roots: Vec<Block> = flow
            .order
            .iter()
            .copied()
            .filter(|b| parents[b.0 as usize] == Some(exit))
            .collect();
        let parents = parents[..count]
            .iter()
            .map(|p| p.filter(|&p| p != exit).map(Block))
            .collect();
        Self::from_parents(parents, &roots)
    }

    fn from_parents(parents: Vec<Option<Block>>, roots: &[Block]) -> Self {
        let count = parents.len();
        let mut first_child = vec![u32::MAX; count];
        let mut next_sibling = vec![u32::MAX; count];
        for node in (0..count).rev() {
            if let Some(parent) = parents[node] {
                next_sibling[node] = first_child[parent.0 as usize];
                first_child[parent.0 as usize] = node as u32;
            }
        }
        let mut tree = DominatorTree {
            immediate: EntityVec::with_len(None, count),
            interval: EntityVec::with_len((1, 0), count),
            preorder: Vec::with_capacity(count),
            depth: EntityVec::with_len(0, count),
        };
        for (node, parent) in parents.iter().enumerate() {
            tree.immediate[Block(node as u32)] = *parent;
        }
        let mut stack: Vec<(u32, bool)> = roots.iter().rev().map(|b| (b.0, false)).collect();
        while let Some((node, done)) = stack.pop() {
            let block = Block(node);
            if done {
                tree.interval[block].1 = tree.preorder.len() as u32 - 1;
                continue;
            }
            tree.interval[block].0 = tree.preorder.len() as u32;
            tree.depth[block] = tree.immediate[block].map_or(0, |p| tree.depth[p] + 1);
            tree.preorder.push(block);
            stack.push((node, true));
            let mut child = first_child[node as usize];
            while child != u32::MAX {
                stack.push((child, false));
                child = next_sibling[child as usize];
            }
        }
        tree
    }

    /// The immediate (post-)dominator; `None` for roots and for blocks outside of the tree.
    pub fn immediate(&self, block: Block) -> Option<Block> {
        self.immediate[block]
    }
    /// Reflexive: a block dominates itself.
    pub fn dominates(&self, above: Block, below: Block) -> bool {
        let (first, last) = self.interval[above];
        let (at, end) = self.interval[below];
        at <= end && first <= at && at <= last
    }
    pub fn strictly_dominates(&self, above: Block, below: Block) -> bool {
        above != below && self.dominates(above, below)
    }
    /// Blocks in preorder: every block after its dominators.
    pub fn preorder(&self) -> &[Block] {
        &self.preorder
    }
    /// Distance from the root of its tree.
    pub fn depth(&self, block: Block) -> u32 {
        self.depth[block]
    }
}

/// Immediate dominators of a graph of `count` nodes; `None` for the root and for unreachable nodes.
pub fn semi_nca(
    count: usize,
    root: u32,
    successors: impl Fn(u32, &mut Vec<u32>),
    predecessors: impl Fn(u32, &mut Vec<u32>),
) -> Vec<Option<u32>> {
    const NONE: u32 = u32::MAX;
    // Depth-first numbering; from here on nodes are their numbers.
    let mut number = vec![NONE; count];
    let mut vertex = Vec::with_capacity(count);
    let mut parent: Vec<u32> = Vec::with_capacity(count);
    let mut stack = vec![(root, 0u32)];
    let mut buffer = Vec::new();
    while let Some((node, from)) = stack.pop() {
        if number[node as usize] != NONE {
            continue;
        }
        number[node as usize] = vertex.len() as u32;
        parent.push(from);
        buffer.clear();
        successors(node, &mut buffer);
        let mine = vertex.len() as u32;
        vertex.push(node);
        stack.extend(
            buffer
                .iter()
                .rev()
                .filter(|&&s| number[s as usize] == NONE)
                .map(|&s| (s, mine)),
        );
    }
    let reached = vertex.len();
    let mut semi: Vec<u32> = (0..reached as u32).collect();
    let mut label: Vec<u32> = (0..reached as u32).collect();
    let mut ancestor = vec![NONE; reached];
    let mut path = Vec::new();
    for node in (1..reached as u32).rev() {
        buffer.clear();
        predecessors(vertex[node as usize], &mut buffer);
        for &before in &buffer {
            let before = number[before as usize];
            if before == NONE {
                continue;
            }
            let candidate = evaluate(before, &mut ancestor, &mut label, &semi, &mut path);
            semi[node as usize] = semi[node as usize].min(semi[candidate as usize]);
        }
        ancestor[node as usize] = parent[node as usize];
        label[node as usize] = node;
    }
    let mut idom = parent.clone();
    for node in 1..reached {
        while idom[node] > semi[node] {
            idom[node] = idom[idom[node] as usize];
        }
    }
    let mut result = vec![None; count];
    for node in 1..reached {
        result[vertex[node] as usize] = Some(vertex[idom[node] as usize]);
    }
    result
}

/// The node of smallest semidominator on the linked path above `node`, with path compression.
fn evaluate(
    node: u32,
    ancestor: &mut [u32],
    label: &mut [u32],
    semi: &[u32],
    path: &mut Vec<u32>,
) -> u32 {
    if ancestor[node as usize] == u32::MAX {
        return node;
    }
    path.clear();
    let mut at = node;
    while ancestor[ancestor[at as usize] as usize] != u32::MAX {
        path.push(at);
        at = ancestor[at as usize];
    }
    while let Some(below) = path.pop() {
        let above = ancestor[below as usize];
        if semi[label[above as usize] as usize] < semi[label[below as usize] as usize] {
            label[below as usize] = label[above as usize];
        }
        ancestor[below as usize] = ancestor[above as usize];
    }
    label[node as usize]
}
