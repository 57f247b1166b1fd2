//! A function that is rewritten, with the ways through it that a profile counted: they follow each change of its blocks.

use super::price::Processor;
use facts::paths::{Ending, PathNumbers, PathProfile};
use ir::entity::Entity;
use ir::{Block, BlockData, BranchKind, Edge, Function, PromiseKind, Terminator};
use rustc_hash::FxHashMap;

/// A way from the entry, or from the header of a loop, to an exit, or back to a header.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Way {
    pub(super) blocks: Vec<Block>,
    pub(super) count: u64,
    /// It begins with another iteration of a loop.
    pub(super) resumes: bool,
    /// The header of the loop to which it goes back at its end.
    pub(super) returns_to: Option<Block>,
}

/// A function and its ways. An edge from a block with several successors has no arguments, and leads to a
/// block that is entered by nothing else.
#[derive(Clone, Debug)]
pub(super) struct Work {
    pub(super) function: Function,
    pub(super) ways: Vec<Way>,
}

impl Work {
    /// `None`: the counts are none of the function, or not of all ways that were taken.
    pub(super) fn new(
        function: &Function,
        numbers: &PathNumbers,
        profile: &PathProfile,
    ) -> Option<Work> {
        let graph = numbers.graph();
        if profile.others > 0 || graph.successors.len() != function.blocks.len() {
            return None;
        }
        let mut out = function.clone();
        let between = split(&mut out);
        let mut ways = Vec::with_capacity(profile.counts.len());
        for (&number, &count) in &profile.counts {
            let path = numbers.path(number)?;
            let mut blocks = Vec::with_capacity(2 * path.nodes.len());
            let end = match path.ending {
                Ending::Edge(edge) => Some(edge),
                Ending::Exit => None,
            };
            let mut returns_to = None;
            let edges = path.edges.iter().copied().map(Some).chain([end]);
            for (&node, edge) in path.nodes.iter().zip(edges) {
                let block = Block::new(node);
                blocks.push(block);
                let Some(edge) = edge else { continue };
                blocks.extend(between.get(&(block, edge)));
                let edges = function.blocks[block].terminator.edges();
                returns_to = Some(edges.get(edge)?.block);
            }
            ways.push(Way {
                blocks,
                count,
                resumes: path.start != facts::paths::Start::Entry,
                returns_to: returns_to.filter(|_| end.is_some()),
            });
        }
        Some(Work {
            function: out,
            ways,
        })
    }

    /// Executions of each block.
    pub(super) fn executions(&self) -> Vec<u64> {
        let mut out = vec![0u64; self.function.blocks.len()];
        for way in &self.ways {
            for block in &way.blocks {
                let count = &mut out[block.index()];
                *count = count.saturating_add(way.count);
            }
        }
        out
    }

    /// Estimated cycles of the profiled runs.
    pub(super) fn cycles(&self, processor: &Processor<'_>) -> f64 {
        let cycles = |way: &Way| processor.cycles(&self.function, way) * way.count as f64;
        self.ways.iter().map(cycles).sum()
    }

    /// The estimated cycles that the runs take less after a change: the ways are the same, in the same order. Those that go
    /// through no block that differs take what they took.
    pub(super) fn saved(&self, after: &Work, processor: &Processor<'_>) -> f64 {
        let changed: Vec<bool> = after
            .function
            .blocks
            .keys()
            .map(|block| !self.holds_same(after, block))
            .collect();
        let both = self.ways.iter().zip(&after.ways);
        let differs = |way: &Way| way.blocks.iter().any(|block| changed[block.index()]);
        both.filter(|(_, new)| differs(new))
            .map(|(old, new)| {
                let cycles =
                    processor.cycles(&self.function, old) - processor.cycles(&after.function, new);
                cycles * old.count as f64
            })
            .sum()
    }

    /// Returns true if a block has the same operations and goes on in the same manner.
    fn holds_same(&self, after: &Work, block: Block) -> bool {
        let (old, new) = (&self.function, &after.function);
        let Some(before) = old.blocks.get(block) else {
            return false;
        };
        let now = &new.blocks[block];
        let mut insts = now.insts.iter();
        before.params == now.params
            && before.terminator == now.terminator
            && before.insts == now.insts
            && insts.all(|&inst| old.insts[inst] == new.insts[inst])
    }

    /// The function without the blocks that were made for edges and hold nothing, and without notes on values that it does
    /// not have any more; with the executions of its blocks.
    pub(super) fn finish(mut self) -> (Function, Vec<u64>) {
        let executions = self.executions();
        let function = &mut self.function;
        let entry = function.entry();
        for block in function.layout.clone() {
            let data = &function.blocks[block];
            let Terminator::Jump(edge) = &data.terminator else {
                continue;
            };
            let made = data.branch == BranchKind::Implied && data.loc == ir::Loc::NONE;
            if !made || block == entry || !data.insts.is_empty() || !data.params.is_empty() {
                continue;
            }
            let edge = edge.clone();
            for &from in &function.layout.clone() {
                for other in function.blocks[from].terminator.edges_mut() {
                    if other.block == block {
                        *other = edge.clone();
                    }
                }
            }
            function.layout.retain(|&it| it != block);
            function.blocks[block].terminator = Terminator::Unreachable;
        }
        let defined = function.definition_blocks();
        let there = |values: &[ir::Value]| values.iter().all(|&value| defined[value].is_some());
        let layout: rustc_hash::FxHashSet<Block> = function.layout.iter().copied().collect();
        function
            .bindings
            .retain(|it| layout.contains(&it.block) && there(&it.values));
        function.vectors.retain(|values| there(values));
        function.promises.retain(|promise| match promise.kind {
            PromiseKind::Aligned { pointer, .. } | PromiseKind::Readable { pointer, .. } => {
                there(&[pointer])
            }
            PromiseKind::Rounds { .. } => true,
        });
        let sites: Vec<_> = function.sites.keys().collect();
        for site in sites {
            function.sites[site]
                .arguments
                .retain(|(_, values)| there(values));
        }
        (self.function, executions)
    }

    /// A new block that jumps to another, in the layout in front of it.
    pub(super) fn jump_to(&mut self, target: Edge) -> Block {
        jump(&mut self.function, target)
    }
}

/// A block without a place of its own, which `finish` removes while it is empty.
fn jump(function: &mut Function, target: Edge) -> Block {
    let to = target.block;
    let block = function.blocks.push(BlockData {
        params: Vec::new(),
        insts: Vec::new(),
        terminator: Terminator::Jump(target),
        loc: ir::Loc::NONE,
        branch: BranchKind::Implied,
    });
    let at = function.layout.iter().position(|&it| it == to);
    let end = function.layout.len();
    function.layout.insert(at.unwrap_or(end), block);
    block
}

/// Gives each edge from a block with several of them a block of its own, unless its target is one. Returns
/// those that were made, by block and edge.
fn split(function: &mut Function) -> FxHashMap<(Block, usize), Block> {
    let mut entered = vec![0u32; function.blocks.len()];
    for &block in &function.layout {
        for edge in function.blocks[block].terminator.edges() {
            entered[edge.block.index()] += 1;
        }
    }
    let mut out = FxHashMap::default();
    for block in function.layout.clone() {
        let edges = function.blocks[block].terminator.edges();
        if edges.len() < 2 {
            continue;
        }
        let edges: Vec<Edge> = edges.into_iter().cloned().collect();
        let place = function.layout.iter().position(|&it| it == block);
        for (number, edge) in edges.into_iter().enumerate() {
            if entered[edge.block.index()] < 2 && edge.args.is_empty() {
                continue;
            }
            let to = edge.block;
            let made = jump(function, edge);
            // An edge that goes back has its block behind the block that it leaves.
            let target = function.layout.iter().position(|&it| it == to);
            if target <= place.map(|at| at + 1) {
                function.layout.retain(|&it| it != made);
                let at = function.layout.iter().position(|&it| it == block);
                function.layout.insert(at.unwrap_or(0) + 1, made);
            }
            if let Some(edge) = function.blocks[block]
                .terminator
                .edges_mut()
                .into_iter()
                .nth(number)
            {
                *edge = Edge::to(made);
            }
            out.insert((block, number), made);
        }
    }
    out
}
