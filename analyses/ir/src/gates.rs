//! The merges and loop exits that a divergent branch decides: the gates of gated SSA as *sets of predicates*.
//!
//! For a branch `b` whose lanes part: its *joins*, blocks that two disjoint paths from `b` reach (a φ there depends on the
//! branch: γ), and its *divergent exits*, through which lanes leave a loop in different iterations (a value that leaves
//! the loop depends on the branch: η). A φ of a loop header is a μ; it depends on a branch only through two latches.
//!
//! ```text
//! A: br -> B, C;  B: br -> D, E;  C -> D;  D -> F;  E -> F      joins(A) = {D, F}, joins(B) = {F} and {D}: no
//! H: br -> B, X;  B -> H                                        X is a divergent exit of H's loop
//! ```
//!
//! Labels are propagated from the branch in an order in which a loop's body comes before its header and the header
//! before the exits; where two labels meet is a join. Loops that do not contain the branch are single nodes; loops with
//! several entries are tainted as a whole when the branch lies inside or different labels enter. After Rosemann, Moll,
//! Hack (*An Abstract Interpretation for SPMD Divergence on Reducible CFGs*, POPL 2021, section 4) as LLVM implements it, with two repairs: exits
//! reached with another label than the header are joins, and a divergent header is looked at when it comes round again.
//!
//! Stops: a block changes its label twice at most. Cost: propagation ends at the branch's immediate post-dominator of
//! the acyclic graph, or when one label alone is left, and steps over regions with one entry and one end, so that each
//! level of nesting is walked once: near-linear on ladders, nests and switches. A function in which this does not
//! help has its work bounded: after `WORK` steps a block and edge the answer is `coarse`, which stands for every join.

use crate::cfg::ControlFlow;
use crate::dominators::{DominatorTree, semi_nca};
use crate::entity::{Block, EntityVec};
use crate::loops::{LoopForest, LoopId};
use smallvec::SmallVec;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Steps a block and edge before answers become coarse.
const WORK: usize = 200;

/// The decisions of a branch when its lanes part.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Gates {
    /// Blocks where lanes that parted meet, sorted.
    pub joins: SmallVec<[Block; 2]>,
    /// Blocks outside of a loop that lanes reach in different iterations, with the outermost loop left, sorted.
    pub exits: SmallVec<[(Block, LoopId); 1]>,
    /// Irreducible loops in which instances of blocks cannot be compared any more, sorted.
    pub tainted: SmallVec<[LoopId; 1]>,
    /// Too much work: everything that could be a join or an exit is to be taken as one.
    pub coarse: bool,
}

/// The role of a block's parameters.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Role {
    /// Merges paths of one iteration.
    Gamma,
    /// Header: the first value, or that of the iteration before.
    Mu,
    /// The block is entered by leaving this loop only.
    Eta(LoopId),
}

/// Computes gates on demand, and keeps shared results.
#[derive(Clone, Debug)]
pub struct GateBuilder {
    /// Edges of the acyclic graph: inner loops are their headers, headers lead to exits.
    acyclic: Vec<SmallVec<[u32; 2]>>,
    position: Vec<u32>,
    /// Nearest post-dominator in the acyclic graph.
    post: Vec<Option<u32>>,
    /// The end of the one-entry region that starts here, if there is one.
    region: Vec<Option<u32>>,
    /// Indexed by loop: the outermost irreducible loop around it or itself.
    irreducible: EntityVec<LoopId, Option<LoopId>>,
    label: Vec<(u32, u32)>,
    epoch: u32,
    work_left: usize,
    fresh: BinaryHeap<Reverse<(u32, u32)>>,
}

impl GateBuilder {
    pub fn new(flow: &ControlFlow, dominators: &DominatorTree, forest: &LoopForest) -> Self {
        let count = flow.successors.len();
        let position = order(flow, forest);
        let mut acyclic: Vec<SmallVec<[u32; 2]>> = vec![SmallVec::new(); count];
        let mut backward: Vec<SmallVec<[u32; 2]>> = vec![SmallVec::new(); count + 1];
        let mut edges = 0;
        for &block in &flow.order {
            let targets: SmallVec<[u32; 2]> = if forest.is_header(block) {
                forest.of(block).map_or_else(SmallVec::new, |l| {
                    forest.loops[l]
                        .exits
                        .iter()
                        .map(|&e| representative(forest, block, e).0)
                        .collect()
                })
            } else {
                flow.successors[block]
                    .iter()
                    .map(|&s| representative(forest, block, s).0)
                    .collect()
            };
            edges += targets.len() + 1;
            for &target in &targets {
                backward[target as usize].push(block.0);
            }
            if targets.is_empty() {
                backward[count].push(block.0);
            }
            acyclic[block.0 as usize] = targets;
        }
        let exit = count as u32;
        let post: Vec<Option<u32>> = semi_nca(
            count + 1,
            exit,
            |node, out| out.extend(backward[node as usize].iter().copied()),
            |node, out| {
                if node != exit {
                    let targets = &acyclic[node as usize];
                    out.extend(targets.iter().copied());
                    if targets.is_empty() {
                        out.push(exit);
                    }
                }
            },
        )
        .into_iter()
        .map(|p| p.filter(|&p| p != exit))
        .collect();
        let region = (0..count as u32)
            .map(|at| {
                let end = post[at as usize]?;
                let (from, to) = (Block(at), Block(end));
                let same = forest.of(from) == forest.of(to)
                    || forest.of(to).is_some_and(|l| {
                        forest.loops[l].header == to && forest.loops[l].parent == forest.of(from)
                    });
                let simple =
                    same && !forest.is_header(from) && !forest.contains_header_of(to, from);
                (simple && dominators.dominates(from, to)).then_some(end)
            })
            .collect();
        let mut irreducible = EntityVec::with_len(None, forest.loops.len());
        for (l, data) in forest.loops.iter() {
            irreducible[l] = data
                .parent
                .and_then(|p| irreducible[p])
                .or((!data.reducible).then_some(l));
        }
        GateBuilder {
            acyclic,
            position,
            post,
            region,
            irreducible,
            label: vec![(0, 0); count],
            epoch: 0,
            work_left: WORK * (count + edges),
            fresh: BinaryHeap::new(),
        }
    }

    /// The outermost irreducible loop that contains a block.
    pub fn outermost_irreducible(&self, forest: &LoopForest, block: Block) -> Option<LoopId> {
        self.irreducible[forest.of(block)?]
    }

    /// The gates of a block that ends in a branch with two or more targets.
    pub fn gates(&mut self, flow: &ControlFlow, forest: &LoopForest, branch: Block) -> Gates {
        let mut gates = Gates::default();
        if self.work_left == 0 {
            gates.coarse = true;
            return gates;
        }
        self.epoch += 1;
        let irreducible = self.outermost_irreducible(forest, branch);
        let mut fresh = std::mem::take(&mut self.fresh);
        fresh.clear();
        let mut walk = Walk {
            builder: self,
            forest,
            branch,
            fresh,
            gates,
        };
        let mut end = None;
        if let Some(l) = irreducible {
            walk.gates.tainted.push(l);
            walk.leave(l);
        } else {
            if !forest.is_header(branch) {
                end = walk.builder.post[branch.0 as usize];
            }
            for &next in &flow.successors[branch] {
                if let Some(left) = forest.outermost_without(branch, next) {
                    walk.gates.exits.push((next, left));
                }
                walk.push(branch, next, next.0);
            }
        }
        walk.propagate(end);
        let Walk {
            fresh, mut gates, ..
        } = walk;
        self.fresh = fresh;
        for &(exit, _) in &gates.exits {
            gates.joins.push(exit);
        }
        gates.joins.sort_unstable();
        gates.joins.dedup();
        gates.exits.sort_unstable();
        gates.exits.dedup();
        gates.tainted.sort_unstable();
        gates.tainted.dedup();
        gates
    }
}

/// The role of a block's parameters.
pub fn role(flow: &ControlFlow, forest: &LoopForest, block: Block) -> Role {
    if forest.is_header(block) {
        return Role::Mu;
    }
    let mut left = None;
    for &before in &flow.predecessors[block] {
        match forest.outermost_without(before, block) {
            Some(l) if left.is_none() || left == Some(l) => left = Some(l),
            _ => return Role::Gamma,
        }
    }
    left.map_or(Role::Gamma, Role::Eta)
}

impl LoopForest {
    /// Returns true if `header` is the header of a loop that contains `block`.
    fn contains_header_of(&self, header: Block, block: Block) -> bool {
        self.of(header)
            .is_some_and(|l| self.loops[l].header == header && self.contains(l, block))
    }
}

/// Returns where an edge leads in the graph in which loops that do not contain its source are single nodes.
fn representative(forest: &LoopForest, from: Block, to: Block) -> Block {
    forest
        .outermost_without(to, from)
        .map_or(to, |l| forest.loops[l].header)
}

/// Positions in which bodies come before headers and headers before exits.
fn order(flow: &ControlFlow, forest: &LoopForest) -> Vec<u32> {
    let mut children: Vec<Vec<(Block, Option<LoopId>)>> = vec![Vec::new(); forest.loops.len()];
    let mut roots = Vec::new();
    for &block in &flow.order {
        let own = forest
            .of(block)
            .filter(|&l| forest.loops[l].header == block);
        let place = match own {
            Some(l) => forest.loops[l].parent,
            None => forest.of(block),
        };
        match place {
            Some(l) => children[l.0 as usize].push((block, own)),
            None => roots.push((block, own)),
        }
    }
    let mut position = vec![u32::MAX; flow.successors.len()];
    let mut next = 0;
    let mut stack: Vec<(Block, Option<LoopId>)> = roots.into_iter().rev().collect();
    while let Some((block, own)) = stack.pop() {
        match own {
            Some(l) => {
                stack.push((block, None));
                stack.extend(children[l.0 as usize].drain(..).rev());
            }
            None => {
                position[block.0 as usize] = next;
                next += 1;
            }
        }
    }
    position
}

struct Walk<'a> {
    builder: &'a mut GateBuilder,
    forest: &'a LoopForest,
    branch: Block,
    fresh: BinaryHeap<Reverse<(u32, u32)>>,
    gates: Gates,
}

impl Walk<'_> {
    fn label(&self, block: u32) -> Option<u32> {
        let (epoch, label) = self.builder.label[block as usize];
        (epoch == self.builder.epoch).then_some(label)
    }
    fn set(&mut self, block: u32, label: u32) {
        self.builder.label[block as usize] = (self.builder.epoch, label);
        self.fresh
            .push(Reverse((self.builder.position[block as usize], block)));
    }

    /// A label arrives at a block; says whether another one was there.
    fn push(&mut self, from: Block, to: Block, label: u32) -> bool {
        let node = representative(self.forest, from, to);
        self.arrive(node.0, to, label)
    }
    fn arrive(&mut self, node: u32, to: Block, label: u32) -> bool {
        match self.label(node) {
            None => {
                self.set(node, label);
                false
            }
            Some(old) if old == label => false,
            Some(old) => {
                if old != node {
                    self.set(node, node);
                }
                let block = Block(node);
                self.gates.joins.push(to);
                if block != to {
                    self.gates.joins.push(block);
                }
                if let Some(l) = self.forest.of(block)
                    && self.forest.loops[l].header == block
                    && !self.forest.loops[l].reducible
                    && !self.forest.contains(l, self.branch)
                {
                    self.gates.tainted.push(l);
                }
                true
            }
        }
    }

    /// Every exit of an irreducible loop is reached in any order: each gets a label of its own.
    fn leave(&mut self, l: LoopId) {
        let header = self.forest.loops[l].header;
        for index in 0..self.forest.loops[l].exits.len() {
            let exit = self.forest.loops[l].exits[index];
            self.gates.joins.push(exit);
            self.gates.exits.push((
                exit,
                self.forest.outermost_without(header, exit).unwrap_or(l),
            ));
            let node = representative(self.forest, header, exit);
            if self.label(node.0) != Some(node.0) {
                self.set(node.0, node.0);
            }
        }
    }

    fn propagate(&mut self, end: Option<u32>) {
        while let Some(Reverse((_, at))) = self.fresh.pop() {
            let Some(label) = self.label(at) else {
                continue;
            };
            if self.builder.work_left == 0 {
                self.gates.coarse = true;
                return;
            }
            self.builder.work_left -= 1;
            let block = Block(at);
            if block == self.branch {
                self.comes_round(label);
                continue;
            }
            if Some(at) == end {
                continue;
            }
            if self.is_last(at, label, end) {
                return;
            }
            if self.forest.is_header(block) {
                self.header(block, label);
            } else if let Some(to) = self.builder.region[at as usize] {
                self.arrive(to, Block(to), label);
            } else {
                for index in 0..self.builder.acyclic[at as usize].len() {
                    let to = self.builder.acyclic[at as usize][index];
                    self.arrive(to, Block(to), label);
                }
            }
        }
    }

    /// Returns true if `at` carries the only label left beside that of the end, so that nothing but the end can be a
    /// join.
    fn is_last(&mut self, at: u32, label: u32, end: Option<u32>) -> bool {
        let block = Block(at);
        let own_header = self.forest.of(block).is_some_and(|l| {
            self.forest.loops[l].header == block && self.forest.contains(l, self.branch)
        });
        if own_header {
            return false;
        }
        let Some(&Reverse((_, next))) = self.fresh.peek() else {
            return true;
        };
        if Some(next) != end
            || self.fresh.len() > 4
            || self.fresh.iter().any(|&Reverse((_, other))| other != next)
        {
            return false;
        }
        let Some(there) = self.label(next) else {
            return false;
        };
        let to = Block(next);
        if there != label {
            self.gates.joins.push(to);
        }
        // The rest of the loop comes round to the header, and from there to the end in another iteration.
        if there != label || there == next {
            let left = self.forest.outermost_without(self.branch, to);
            if let Some(left) = left
                && self
                    .forest
                    .around(block)
                    .any(|l| self.forest.contains(l, self.branch) && !self.forest.contains(l, to))
            {
                for index in 0..self.forest.loops[left].exits.len() {
                    let exit = self.forest.loops[left].exits[index];
                    if representative(self.forest, self.branch, exit) == to {
                        self.gates.exits.push((exit, left));
                    }
                }
            }
        }
        true
    }

    /// The branch is a header, and a label came back to it: exits that other labels reached are left in different
    /// iterations.
    fn comes_round(&mut self, label: u32) {
        let Some(l) = self.forest.of(self.branch) else {
            return;
        };
        if self.forest.loops[l].header != self.branch {
            return;
        }
        for index in 0..self.forest.loops[l].exits.len() {
            let exit = self.forest.loops[l].exits[index];
            let node = representative(self.forest, self.branch, exit);
            if self.label(node.0).is_some_and(|there| there != label) {
                let left = self
                    .forest
                    .outermost_without(self.branch, exit)
                    .unwrap_or(l);
                self.gates.exits.push((exit, left));
            }
        }
    }

    fn header(&mut self, header: Block, label: u32) {
        let Some(l) = self.forest.of(header) else {
            return;
        };
        if self.gates.tainted.contains(&l) {
            self.leave(l);
            return;
        }
        let inside = self.forest.contains(l, self.branch);
        for index in 0..self.forest.loops[l].exits.len() {
            let exit = self.forest.loops[l].exits[index];
            if self.push(header, exit, label) && inside {
                let left = self
                    .forest
                    .outermost_without(self.branch, exit)
                    .unwrap_or(l);
                self.gates.exits.push((exit, left));
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
