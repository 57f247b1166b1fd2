//! The blocks around a statement, as the equations see them: an iteration of its innermost loop, or the
//! function; inner loops are one node each, and the statement's block is two.

use super::ways::Work;
use facts::paths::{Piece, Ways, joined};
use ir::Block;
use ir::cfg::ControlFlow;
use ir::loops::LoopForest;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// The loops in which a way begins and ends, and its nodes.
type Way = (Option<usize>, Option<usize>, Vec<usize>);

/// The part that a block plays in a region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    Plain,
    /// An inner loop, by its header.
    Loop,
    /// The first block behind the region.
    Exit,
}

/// The graph around a statement; nodes in the order of the flow.
#[derive(Clone, Debug)]
pub(super) struct Region {
    /// The block of each node; of a loop its header.
    pub(super) blocks: Vec<Block>,
    pub(super) roles: Vec<Role>,
    pub(super) successors: Vec<Vec<usize>>,
    /// The node of the part of the statement's block that ends with it; the next one is the rest of that block.
    pub(super) statement: usize,
    /// The blocks of each node, inner loops with all of theirs.
    pub(super) nodes: FxHashMap<Block, usize>,
    /// The first block: the header of the loop around, or the function's entry.
    pub(super) first: Block,
    is_loop: bool,
}

impl Region {
    /// `None`: a loop here is no natural one.
    pub(super) fn around(flow: &ControlFlow, forest: &LoopForest, home: Block) -> Option<Region> {
        let own = forest.of(home);
        if own.is_some_and(|own| !forest.loops[own].reducible) {
            return None;
        }
        let inside = |block: Block| own.is_none_or(|own| forest.contains(own, block));
        let first = own.map_or(flow.order[0], |own| forest.loops[own].header);
        let mut out = Region {
            blocks: Vec::new(),
            roles: Vec::new(),
            successors: Vec::new(),
            statement: 0,
            nodes: FxHashMap::default(),
            first,
            is_loop: own.is_some(),
        };
        for &block in &flow.order {
            let role = match inside(block) {
                false => {
                    let behind = flow.predecessors[block].iter().any(|&from| inside(from));
                    if !behind || own.is_none() {
                        continue;
                    }
                    Role::Exit
                }
                true => match forest.outermost_without(block, home) {
                    Some(inner) => {
                        if !forest.loops[inner].reducible {
                            return None;
                        }
                        let header = forest.loops[inner].header;
                        if let Some(&node) = out.nodes.get(&header) {
                            out.nodes.insert(block, node);
                            continue;
                        }
                        Role::Loop
                    }
                    None => Role::Plain,
                },
            };
            let node = out.blocks.len();
            out.nodes.insert(block, node);
            out.blocks.push(block);
            out.roles.push(role);
            if block == home {
                out.statement = node;
                out.blocks.push(block);
                out.roles.push(role);
            }
        }
        out.successors = vec![Vec::new(); out.blocks.len()];
        for (&block, &node) in &out.nodes {
            if out.roles[node] == Role::Exit {
                continue;
            }
            let from = if block == home { node + 1 } else { node };
            for to in &flow.successors[block] {
                let back = own.is_some() && *to == first;
                if let Some(&to) = out.nodes.get(to).filter(|&&to| !back && to != node) {
                    out.successors[from].push(to);
                }
            }
        }
        out.successors[out.statement] = vec![out.statement + 1];
        for all in &mut out.successors {
            all.sort_unstable();
            all.dedup();
        }
        Some(out)
    }

    /// The nodes of a way from the beginning of the region on, each once. `None`: it does not go through it.
    pub(super) fn part<'w>(&self, blocks: &'w [Block], resumes: bool) -> Option<&'w [Block]> {
        let begin = match blocks.iter().position(|&block| block == self.first) {
            Some(at) => at,
            // Another iteration of an inner loop.
            None => {
                let inner = resumes && self.nodes.contains_key(blocks.first()?);
                inner.then_some(0)?
            }
        };
        let all = &blocks[begin..];
        let leaves = |block: &Block| match self.nodes.get(block) {
            Some(&node) => self.roles[node] == Role::Exit,
            None => true,
        };
        match all.iter().position(leaves) {
            Some(at) => Some(&all[..all.len().min(at + 1)]),
            None => Some(all),
        }
    }

    /// The ways through the region. `None`: too many.
    pub(super) fn ways(&self, work: &Work) -> Option<Ways> {
        let mut pieces: BTreeMap<Way, u64> = BTreeMap::new();
        for way in &work.ways {
            let Some(part) = self.part(&way.blocks, way.resumes) else {
                continue;
            };
            let mut nodes: Vec<usize> = Vec::with_capacity(part.len() + 1);
            for block in part {
                let &node = self.nodes.get(block)?;
                if nodes.last() == Some(&node) {
                    continue;
                }
                nodes.push(node);
                if node == self.statement {
                    nodes.push(node + 1);
                }
            }
            let &begin = nodes.first()?;
            let from = (part[0] != self.first).then_some(begin);
            let to = match way.returns_to {
                Some(header) if part.last() == way.blocks.last() => {
                    let own = self.is_loop && header == self.first;
                    let node = self.nodes.get(&header).filter(|_| !own);
                    node.copied().filter(|&node| self.roles[node] == Role::Loop)
                }
                _ => None,
            };
            if from.is_some() && from == to && nodes.len() == 1 {
                continue;
            }
            let known = pieces.entry((from, to, nodes)).or_default();
            *known = known.saturating_add(way.count);
        }
        let pieces = pieces.into_iter().map(|((from, to, nodes), count)| Piece {
            nodes,
            count,
            from,
            to,
        });
        joined(self.blocks.len(), pieces.collect())
    }

    /// The only block from which a node is entered that jumps there.
    pub(super) fn before(&self, flow: &ControlFlow, node: usize) -> Option<Block> {
        let own = |from: &&Block| self.nodes.get(from) != Some(&node);
        let mut all = flow.predecessors[self.blocks[node]].iter().filter(own);
        let &only = all.next()?;
        let alone = all.next().is_none() && flow.successors[only].len() == 1;
        alone.then_some(only)
    }
}

impl Region {
    /// Returns true for a node that is one block, or a part of one.
    pub(super) fn is_plain(&self, node: usize) -> bool {
        self.roles[node] == Role::Plain
    }
}
