//! The consequences of a branch that is not uniform: joins, loops that lanes leave in different iterations,
//! and the lanes that execute the blocks between it and its post-dominator.
//!
//! The uniformity of a block's execution is the least level of the branches that it is control dependent on,
//! directly or not. The blocks that a branch controls lie on the way up the post-dominator tree from its
//! targets to its own post-dominator (Ferrante, Ottenstein, Warren 1987); blocks that are already as low are
//! stepped over by union-find, so that each falls as often as there are levels, however deep the nest.

use super::regions::{BlocksOfLoops, outlets};
use super::tables::NONE;
use super::{Engine, FRESH, Level};
use ir::gates::Gates;
use ir::loops::LoopId;
use ir::{Block, EntityVec};

/// Above the roots of the post-dominator tree.
const TOP: u32 = NONE - 1;

impl Engine<'_> {
    pub(super) fn terminator(&mut self, block: Block) {
        let Some(selector) = self.function.blocks[block].terminator.selector() else {
            return;
        };
        if self.flow.successors[block].len() < 2 || self.level[selector] == FRESH {
            return;
        }
        let level = self.level_at(selector, block);
        if level >= self.branch_level[block] {
            return;
        }
        self.branch_level[block] = level;
        if self.gate_of[block] == NONE {
            let taken = self.taken.as_ref().unwrap_or(&self.flow);
            let gates = self.builder.gates(taken, &self.forest, block);
            self.exits.extend(gates.exits.iter().map(|e| (e.1, block)));
            self.gate_of[block] = self.gates.len() as u32;
            self.gates.push(gates);
        }
        let gates = std::mem::take(&mut self.gates[self.gate_of[block] as usize]);
        if gates.coarse {
            self.coarsen(level);
        }
        for &join in &gates.joins {
            self.lower_join(join, level);
        }
        for &(_, l) in &gates.exits {
            self.lower_taint(l, level);
        }
        for &l in &gates.tainted {
            self.lower_mixed(l, level);
            self.lower_taint(l, level);
        }
        self.lower_apart(block, level, &gates);
        let at = self.gate_of[block] as usize;
        self.gates[at] = gates;
        for l in self.overtaken(block, level) {
            self.lower_mixed(l, level);
            self.lower_taint(l, level);
        }
        self.lower_execution(block, level);
    }

    /// Returns the consequences of a branch that is not uniform.
    pub(crate) fn gates(&self, branch: Block) -> Option<&Gates> {
        self.gates.get(self.gate_of[branch] as usize)
    }

    fn lower_join(&mut self, join: Block, level: Level) {
        if level < self.join_level[join] {
            self.join_level[join] = level;
            let nodes = self.tables.param_nodes(self.function, join);
            self.dirty
                .insert_range(nodes.start as usize..nodes.end as usize);
        }
    }
    fn lower_taint(&mut self, l: LoopId, level: Level) {
        self.fell.clear();
        self.sweep_again |= self.taint.lower(&self.forest, l, level, &mut self.fell);
    }
    fn lower_mixed(&mut self, l: LoopId, level: Level) {
        self.sweep_again |= self.mixed.lower(&self.forest, l, level, &mut self.capped);
    }
    fn coarsen(&mut self, level: Level) {
        if level >= self.coarse {
            return;
        }
        self.coarse = level;
        for index in 0..self.flow.order.len() {
            self.lower_join(self.flow.order[index], level);
        }
        for l in self.forest.loops.keys() {
            self.lower_taint(l, level);
            if !self.forest.loops[l].reducible {
                self.lower_mixed(l, level);
            }
        }
        self.sweep_again = true;
    }

    /// Values whose instances can no longer be compared.
    pub(super) fn visit_capped_again(&mut self) {
        if self.capped.is_empty() {
            return;
        }
        let capped = std::mem::take(&mut self.capped);
        self.with_blocks_of_loops(|engine, blocks| {
            for l in capped {
                for &block in blocks.directly_in(&engine.forest, l) {
                    let nodes = engine.tables.block_nodes(engine.function, block);
                    engine
                        .dirty
                        .insert_range(nodes.start as usize..nodes.end as usize);
                }
            }
        });
    }
    pub(in crate::divergence) fn with_blocks_of_loops(
        &mut self,
        run: impl FnOnce(&mut Self, &BlocksOfLoops),
    ) {
        let blocks = self
            .blocks_of_loops
            .take()
            .unwrap_or_else(|| BlocksOfLoops::new(&self.flow, &self.forest));
        run(self, &blocks);
        self.blocks_of_loops = Some(blocks);
    }
    pub(in crate::divergence) fn outlet(&mut self, l: LoopId) -> Option<Block> {
        let all = self
            .outlets
            .get_or_insert_with(|| outlets(&self.flow, &self.forest, &self.dominators));
        all[l]
    }

    fn lower_execution(&mut self, branch: Block, level: Level) {
        let mut work = vec![branch];
        while let Some(from) = work.pop() {
            let end = self.post.immediate(from);
            for index in 0..self.flow.successors[from].len() {
                let mut at = Some(self.flow.successors[from][index]);
                loop {
                    at = at.and_then(|b| self.more_executed(b, level));
                    let Some(block) = at else { break };
                    if end.is_some_and(|end| self.post.dominates(block, end)) {
                        break;
                    }
                    self.executed[block] = level;
                    self.sweep_again |= self.tables.has_shuffles;
                    for &node in self.tables.effects(self.function, block) {
                        self.dirty.insert(node as usize);
                    }
                    if self.flow.successors[block].len() > 1 {
                        work.push(block);
                    }
                }
            }
        }
    }
    /// The first block from `block` up the post-dominator tree whose level of execution is above `level`.
    fn more_executed(&mut self, block: Block, level: Level) -> Option<Block> {
        if self.executed[block] > level {
            return Some(block);
        }
        let up = &mut self.less_executed[usize::from(level)];
        if up.is_empty() {
            *up = vec![NONE; self.executed.len()];
        }
        let parent = |up: &[u32], b: u32| match up[b as usize] {
            NONE => self.post.immediate(Block(b)).map_or(TOP, |p| p.0),
            known => known,
        };
        let mut top = block.0;
        while top != TOP && self.executed[Block(top)] <= level {
            top = parent(up, top);
            self.walked += 1;
        }
        let mut at = block.0;
        while at != top {
            let next = parent(up, at);
            up[at as usize] = top;
            at = next;
        }
        (top != TOP).then_some(Block(top))
    }

    /// Returns the uniformity of a block's execution; the reader is visited again when that falls.
    pub(in crate::divergence) fn asks_who_executes(&self, block: Block) -> Level {
        self.asks.set(true);
        self.executed[block]
    }

    pub(super) fn find_worst_exits(&mut self) {
        for &(l, block) in &self.exits {
            let worst = &mut self.worst_exit[l];
            let key = |b: Block| (self.branch_level[b], b);
            if worst.is_none_or(|w| key(block) < key(w)) {
                *worst = Some(block);
            }
        }
    }
    /// The branch because of which lanes leave a loop in different iterations.
    pub(crate) fn worst_exit(&self, l: LoopId) -> Option<Block> {
        self.worst_exit[l]
    }
    /// Branches whose gates are known, with these.
    pub(crate) fn known_gates(&self) -> impl Iterator<Item = (Block, &Gates)> {
        let order = self.flow.order.iter();
        order.filter_map(|&block| Some((block, self.gates(block)?)))
    }
}

/// The blocks that a branch's execution decides directly, found in the post-dominator tree.
#[derive(Clone, Debug)]
pub(crate) struct ControllingBranches {
    /// Branches by the number of their targets in the tree's preorder.
    targets: Vec<(u32, Block)>,
    number: EntityVec<Block, u32>,
}

impl ControllingBranches {
    pub(crate) fn new(engine: &Engine<'_>) -> ControllingBranches {
        let mut number = EntityVec::with_len(NONE, engine.executed.len());
        for (at, &block) in engine.post.preorder().iter().enumerate() {
            number[block] = at as u32;
        }
        let mut targets = Vec::new();
        for &branch in &engine.flow.order {
            if engine.flow.successors[branch].len() > 1 {
                let to = engine.flow.successors[branch].iter();
                targets.extend(to.map(|&t| (number[t], branch)));
            }
        }
        targets.sort_unstable();
        ControllingBranches { targets, number }
    }
    /// The branches that decide directly whether `block` is executed, in reverse post-order.
    pub(crate) fn of(&self, engine: &Engine<'_>, block: Block) -> Vec<Block> {
        let first = self.targets.partition_point(|t| t.0 < self.number[block]);
        let mut found: Vec<Block> = self.targets[first..]
            .iter()
            .take_while(|t| {
                let target = engine.post.preorder()[t.0 as usize];
                engine.post.dominates(block, target)
            })
            .map(|t| t.1)
            .filter(|&branch| {
                let end = engine.post.immediate(branch);
                !end.is_some_and(|end| engine.post.dominates(block, end))
            })
            .collect();
        found.sort_unstable_by_key(|&b| engine.flow.position[b]);
        found.dedup();
        found
    }
}
