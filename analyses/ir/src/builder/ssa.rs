//! Slots to block parameters, in time almost linear in the function and the blocks through which each slot lives.
//!
//! ```text
//! a = 1; while (c) { a = a + 1 } use(a)      header(a1), from (1) and (a2);  a2 = add a1, 1;  use(a1)
//! ```
//!
//! 1. *Liveness* a slot: back from the reads that no write precedes in their block.
//! 2. *Parameters* where a slot is live and two of its definitions meet: iterated dominance frontiers without
//!    frontier sets (Sreedhar and Gao, *A Linear Time Algorithm for Placing φ-Nodes*, POPL 1995): definitions are
//!    processed from the deepest in the dominator tree up; each walks its subtree once, through blocks where the slot
//!    is live only, for edges to blocks that lie no deeper than itself. A definition that reaches the end of a block
//!    does so through live blocks, so that the pruned walk misses no meeting.
//! 3. *Renaming* by a walk over the dominator tree.
//! 4. *Resolution*: a parameter that receives itself and one other value is that value. Each parameter remembers
//!    how far its arguments are known to be equal; classes of equal values only grow, so it never looks back.
//!
//! Irreducible loops may keep parameters that a minimal form would not have. All walks use explicit stacks.

use super::{Event, FunctionBuilder, Slot};
use crate::cfg::ControlFlow;
use crate::dominators::DominatorTree;
use crate::entity::{Block, Entity, EntityVec, Value};
use crate::function::*;
use crate::inst::*;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The slots that have a parameter in a block, with it.
type Merges = EntityVec<Block, Vec<(Slot, Value)>>;

/// The representatives of values: each class of equal values has one.
struct Replaced(EntityVec<Value, Value>);

impl Replaced {
    fn new(count: usize) -> Self {
        let mut map = EntityVec::new();
        for index in 0..count {
            map.push(Value::new(index));
        }
        Replaced(map)
    }
    /// Values made later stand for themselves.
    fn find(&mut self, value: Value) -> Value {
        let mut root = value;
        while let Some(&next) = self.0.get(root)
            && next != root
        {
            root = next;
        }
        let mut at = value;
        while at != root {
            at = std::mem::replace(&mut self.0[at], root);
        }
        root
    }
    fn set(&mut self, value: Value, by: Value) {
        while self.0.len() <= value.index() {
            let next = Value::new(self.0.len());
            self.0.push(next);
        }
        self.0[value] = by;
    }
}

impl FunctionBuilder {
    /// The finished function: slots are gone, unreachable blocks too, and the entry has no predecessors. Blocks
    /// without a terminator end in `Unreachable`; use `ret` where the language returns at the end of a body.
    pub fn finish(mut self) -> Function {
        for block in self.function.blocks.keys() {
            if matches!(self.function.blocks[block].terminator, Terminator::None) {
                self.function.blocks[block].terminator = Terminator::Unreachable;
            }
        }
        let mut flow = ControlFlow::new(&self.function);
        if !flow.predecessors[self.function.entry()].is_empty() {
            self.split_entry();
            flow = ControlFlow::new(&self.function);
        }
        self.function.layout = flow.order.clone();
        let dominators = DominatorTree::dominators(&flow);
        let merges = self.place_parameters(&flow, &dominators);
        let replaced = self.rename(&dominators, &merges);
        self.resolve(&flow, replaced);
        let entry = self.function.entry();
        self.leading.append(&mut self.function.blocks[entry].insts);
        self.function.blocks[entry].insts = std::mem::take(&mut self.leading);
        for block in self.function.blocks.keys() {
            if !flow.is_reachable(block) {
                let data = &mut self.function.blocks[block];
                data.insts.clear();
                data.params.clear();
                data.terminator = Terminator::Unreachable;
            }
        }
        self.drop_unreachable_names(&flow);
        self.function
    }

    /// Drops the names, loops and vectors of the source that stand in unreachable blocks.
    fn drop_unreachable_names(&mut self, flow: &ControlFlow) {
        self.function
            .bindings
            .retain(|binding| flow.is_reachable(binding.block));
        self.function.loops.retain(|l| flow.is_reachable(l.header));
        let blocks = self.function.definition_blocks();
        let defined = |values: &[Value]| values.iter().all(|&v| blocks[v].is_some());
        self.function.vectors.retain(|values| defined(values));
        self.function.promises.retain(|promise| match promise.kind {
            PromiseKind::Aligned { pointer, block, .. }
            | PromiseKind::Readable { pointer, block, .. } => {
                defined(&[pointer]) && flow.is_reachable(block)
            }
            PromiseKind::Rounds { header, .. } => flow.is_reachable(header),
        });
        for site in self.function.sites.keys() {
            self.function.sites[site]
                .arguments
                .retain(|(_, values)| defined(values));
        }
    }

    /// Puts an empty block before an entry that is jumped to; function parameters move there.
    fn split_entry(&mut self) {
        let old = self.function.entry();
        self.events.push(Vec::new());
        let new = self.function.blocks.push(BlockData {
            params: Vec::new(),
            insts: Vec::new(),
            terminator: Terminator::None,
            loc: Loc::NONE,
            branch: BranchKind::Implied,
        });
        let passes_arguments = self
            .function
            .blocks
            .values()
            .flat_map(|data| data.terminator.edges())
            .any(|edge| edge.block == old && !edge.args.is_empty());
        let mut edge = Edge::to(old);
        if passes_arguments {
            let mut fresh: FxHashMap<Value, Value> = FxHashMap::default();
            for param in self.function.blocks[old].params.clone() {
                let value = self.block_param(new, self.function.ty(param));
                fresh.insert(param, value);
                edge.args.push(value);
            }
            for parameter in &mut self.function.parameters {
                for value in &mut parameter.values {
                    *value = fresh.get(value).copied().unwrap_or(*value);
                }
            }
        } else {
            let params = std::mem::take(&mut self.function.blocks[old].params);
            for (number, &param) in params.iter().enumerate() {
                self.function.values[param].def = ValueDef::Param(new, number as u32);
            }
            self.function.blocks[new].params = params;
        }
        self.function.blocks[new].terminator = Terminator::Jump(edge);
        self.function.layout.insert(0, new);
    }

    // ------------------------------------------------------------------------------------------ placement

    fn place_parameters(&mut self, flow: &ControlFlow, dominators: &DominatorTree) -> Merges {
        let count = self.function.blocks.len();
        let (exposed, writers) = self.uses_by_slot(flow);
        let children = Children::new(flow, dominators);
        let mut merges: Merges = EntityVec::with_len(Vec::new(), count);
        // Marks of the slot that was last seen in each block.
        let mut live: EntityVec<Block, u32> = EntityVec::with_len(u32::MAX, count);
        let mut writes = live.clone();
        let mut placed = live.clone();
        let mut visited = live.clone();
        let mut work: Vec<Block> = Vec::new();
        let mut roots: BinaryHeap<(u32, Reverse<u32>)> = BinaryHeap::new();
        for slot in 0..self.slots.len() as u32 {
            let writers = &writers[slot as usize];
            work.clone_from(&exposed[slot as usize]);
            if work.is_empty() {
                continue;
            }
            for &block in writers {
                writes[block] = slot;
            }
            for &block in &work {
                live[block] = slot;
            }
            while let Some(block) = work.pop() {
                for &before in &flow.predecessors[block] {
                    if live[before] != slot && writes[before] != slot {
                        live[before] = slot;
                        work.push(before);
                    }
                }
            }
            // A live block where the slot is written is a root of its own already.
            let root = |block: Block| (dominators.depth(block), Reverse(block.0));
            roots.extend(writers.iter().map(|&block| root(block)));
            while let Some((depth, Reverse(block))) = roots.pop() {
                work.push(Block(block));
                visited[Block(block)] = slot;
                while let Some(block) = work.pop() {
                    for &join in &flow.successors[block] {
                        if dominators.depth(join) <= depth
                            && live[join] == slot
                            && placed[join] != slot
                        {
                            placed[join] = slot;
                            let value = self.block_param(join, self.slots[slot as usize]);
                            merges[join].push((Slot(slot), value));
                            if writes[join] != slot {
                                roots.push(root(join));
                            }
                        }
                    }
                    for &child in children.of(block) {
                        if live[child] == slot && visited[child] != slot {
                            visited[child] = slot;
                            work.push(child);
                        }
                    }
                }
            }
        }
        merges
    }

    /// Blocks that read each slot before they write it, and blocks that write it.
    fn uses_by_slot(&self, flow: &ControlFlow) -> (Vec<Vec<Block>>, Vec<Vec<Block>>) {
        let mut exposed: Vec<Vec<Block>> = vec![Vec::new(); self.slots.len()];
        let mut writers: Vec<Vec<Block>> = vec![Vec::new(); self.slots.len()];
        for &block in &flow.order {
            for event in &self.events[block] {
                let (Event::Read(slot, _) | Event::Write(slot, _)) = *event;
                let slot = slot.0 as usize;
                let wrote = writers[slot].last() == Some(&block);
                match event {
                    Event::Read(..) if !wrote && exposed[slot].last() != Some(&block) => {
                        exposed[slot].push(block);
                    }
                    Event::Write(..) if !wrote => writers[slot].push(block),
                    _ => {}
                }
            }
        }
        (exposed, writers)
    }

    // ------------------------------------------------------------------------------------------ renaming

    /// Resolves every pending value, and fills in the edges' arguments.
    fn rename(&mut self, dominators: &DominatorTree, merges: &Merges) -> Replaced {
        let mut replaced = Replaced::new(self.function.values.len());
        let mut content: Vec<Option<Value>> = vec![None; self.slots.len()];
        let mut undone: Vec<(Slot, Option<Value>)> = Vec::new();
        let mut marks: Vec<(u32, usize)> = Vec::new();
        let mut undefined: Vec<Option<Value>> = vec![None; self.slots.len()];
        for &block in dominators.preorder() {
            let depth = dominators.depth(block);
            while marks.last().is_some_and(|&(d, _)| d >= depth) {
                if let Some((_, mark)) = marks.pop() {
                    for (slot, old) in undone.drain(mark..).rev() {
                        content[slot.0 as usize] = old;
                    }
                }
            }
            marks.push((depth, undone.len()));
            let mut set = |content: &mut Vec<Option<Value>>, slot: Slot, value: Value| {
                undone.push((slot, content[slot.0 as usize]));
                content[slot.0 as usize] = Some(value);
            };
            for &(slot, value) in &merges[block] {
                set(&mut content, slot, value);
            }
            for event in std::mem::take(&mut self.events[block]) {
                match event {
                    Event::Write(slot, value) => {
                        let value = replaced.find(value);
                        set(&mut content, slot, value);
                    }
                    Event::Read(slot, value) => {
                        let now = content[slot.0 as usize]
                            .unwrap_or_else(|| self.undefined(slot, &mut undefined));
                        replaced.set(value, now);
                    }
                }
            }
            let mut terminator = std::mem::replace(
                &mut self.function.blocks[block].terminator,
                Terminator::None,
            );
            for edge in terminator.edges_mut() {
                for &(slot, _) in &merges[edge.block] {
                    let now = content[slot.0 as usize]
                        .unwrap_or_else(|| self.undefined(slot, &mut undefined));
                    edge.args.push(now);
                }
            }
            self.function.blocks[block].terminator = terminator;
        }
        replaced
    }

    fn undefined(&mut self, slot: Slot, undefined: &mut [Option<Value>]) -> Value {
        if let Some(value) = undefined[slot.0 as usize] {
            return value;
        }
        let value = self.leading_value(Op::Undef, self.slots[slot.0 as usize]);
        undefined[slot.0 as usize] = Some(value);
        value
    }

    // ------------------------------------------------------------------------------------------ resolution

    /// Replaces pending values everywhere and removes parameters that always receive one value.
    fn resolve(&mut self, flow: &ControlFlow, mut replaced: Replaced) {
        self.find_copies(flow, &mut replaced);
        let entry = self.function.entry();
        for &block in &flow.order {
            if block == entry {
                continue;
            }
            let keep: Vec<bool> = self.function.blocks[block]
                .params
                .iter()
                .map(|&param| replaced.find(param) == param)
                .collect();
            if keep.iter().all(|&k| k) {
                continue;
            }
            retain(&mut self.function.blocks[block].params, &keep);
            for &before in &flow.predecessors[block] {
                for edge in self.function.blocks[before].terminator.edges_mut() {
                    if edge.block == block {
                        let mut flags = keep.iter();
                        edge.args.retain(|_| *flags.next().unwrap_or(&true));
                    }
                }
            }
            for (number, &param) in self.function.blocks[block].params.iter().enumerate() {
                self.function.values[param].def = ValueDef::Param(block, number as u32);
            }
        }
        let mut resolve = |value: &mut Value| *value = replaced.find(*value);
        for inst in self.function.insts.keys() {
            let data = &mut self.function.insts[inst];
            data.args.iter_mut().for_each(&mut resolve);
            if let Some(guard) = &mut data.guard {
                resolve(&mut guard.value);
            }
        }
        for &block in &flow.order {
            let terminator = &mut self.function.blocks[block].terminator;
            match terminator {
                Terminator::Branch { condition, .. } => resolve(condition),
                Terminator::Switch { value, .. } => resolve(value),
                Terminator::Return(values) => values.iter_mut().for_each(&mut resolve),
                _ => {}
            }
            for edge in terminator.edges_mut() {
                edge.args.iter_mut().for_each(&mut resolve);
            }
        }
        for binding in &mut self.function.bindings {
            binding.values.iter_mut().for_each(&mut resolve);
        }
        for promise in &mut self.function.promises {
            match &mut promise.kind {
                PromiseKind::Aligned { pointer, .. } | PromiseKind::Readable { pointer, .. } => {
                    resolve(pointer);
                }
                PromiseKind::Rounds { .. } => {}
            }
        }
        for vector in &mut self.function.vectors {
            vector.iter_mut().for_each(&mut resolve);
        }
        for site in self.function.sites.keys() {
            for (_, values) in &mut self.function.sites[site].arguments {
                values.iter_mut().for_each(&mut resolve);
            }
        }
    }

    /// Finds the parameters that are copies of one value.
    fn find_copies(&self, flow: &ControlFlow, replaced: &mut Replaced) {
        let entry = self.function.entry();
        let mut candidates: Vec<Candidate> = Vec::new();
        const NONE: u32 = u32::MAX;
        let mut number_of = EntityVec::<Value, u32>::with_len(NONE, self.function.values.len());
        for &block in flow.order.iter().filter(|&&b| b != entry) {
            for &param in &self.function.blocks[block].params {
                number_of[param] = candidates.len() as u32;
                candidates.push(Candidate {
                    param,
                    args: Vec::new(),
                    known: 0,
                    only: None,
                });
            }
        }
        let mut users: Vec<Vec<u32>> = vec![Vec::new(); candidates.len()];
        for &block in &flow.order {
            for edge in self.function.blocks[block].terminator.edges() {
                let params = &self.function.blocks[edge.block].params;
                for (param, &arg) in params.iter().zip(&edge.args) {
                    if number_of[*param] == NONE {
                        continue;
                    }
                    let number = number_of[*param];
                    let arg = replaced.find(arg);
                    candidates[number as usize].args.push(arg);
                    if number_of[arg] != NONE {
                        users[number_of[arg] as usize].push(number);
                    }
                }
            }
        }
        let mut queued = vec![true; candidates.len()];
        let mut work: Vec<usize> = (0..candidates.len()).rev().collect();
        while let Some(number) = work.pop() {
            queued[number] = false;
            let candidate = &mut candidates[number];
            if replaced.find(candidate.param) != candidate.param {
                continue;
            }
            let Some(only) = candidate.only_value(replaced) else {
                continue;
            };
            replaced.set(candidate.param, only);
            let waiting = std::mem::take(&mut users[number]);
            for &user in &waiting {
                if !std::mem::replace(&mut queued[user as usize], true) {
                    work.push(user as usize);
                }
            }
            // Whoever received the copy receives its original from now on.
            if number_of[only] != NONE {
                let list = &mut users[number_of[only] as usize];
                if list.is_empty() {
                    *list = waiting;
                } else {
                    list.extend(waiting);
                }
            }
        }
    }
}

/// A parameter that may be a copy.
struct Candidate {
    param: Value,
    args: Vec<Value>,
    /// The number of arguments known to be the parameter itself or `only`.
    known: usize,
    only: Option<Value>,
}

impl Candidate {
    /// The one value other than itself that it receives, if there is one.
    fn only_value(&mut self, replaced: &mut Replaced) -> Option<Value> {
        let param = self.param;
        self.only = self
            .only
            .map(|value| replaced.find(value))
            .filter(|&value| value != param);
        while let Some(&arg) = self.args.get(self.known) {
            let arg = replaced.find(arg);
            if arg != param {
                match self.only {
                    Some(only) if only != arg => return None,
                    _ => self.only = Some(arg),
                }
            }
            self.known += 1;
        }
        self.only
    }
}

/// Children in the dominator tree, as one vector.
struct Children {
    start: EntityVec<Block, u32>,
    list: Vec<Block>,
}

impl Children {
    fn new(flow: &ControlFlow, dominators: &DominatorTree) -> Self {
        let mut start = EntityVec::with_len(0u32, flow.successors.len() + 1);
        let parents = |block: &Block| dominators.immediate(*block).map(|p| (p, *block));
        for (parent, _) in flow.order.iter().filter_map(parents) {
            start[Block(parent.0 + 1)] += 1;
        }
        let mut sum = 0;
        for block in start.keys() {
            sum += start[block];
            start[block] = sum;
        }
        let mut list = vec![Block(0); sum as usize];
        let mut next = start.clone();
        for (parent, block) in flow.order.iter().filter_map(parents) {
            list[next[parent] as usize] = block;
            next[parent] += 1;
        }
        Children { start, list }
    }
    fn of(&self, block: Block) -> &[Block] {
        &self.list[self.start[block] as usize..self.start[Block(block.0 + 1)] as usize]
    }
}

fn retain(values: &mut Vec<Value>, keep: &[bool]) {
    let mut flags = keep.iter();
    values.retain(|_| *flags.next().unwrap_or(&true));
}
