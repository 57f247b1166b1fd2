//! The tables that the solver looks up and never changes, in dense arrays: nodes in layout order, the
//! definition and the users of each value, the arguments of block parameters, the values that are certainly
//! equal. One pass over blocks and one over instructions.

use super::Node;
use super::numbering::Numbering;
use ir::cfg::ControlFlow;
use ir::dominators::DominatorTree;
use ir::loops::{LoopForest, LoopId};
use ir::{Block, EntityVec, Function, Inst, Op, Space, Special, Terminator, Type, Value, ValueDef};

pub(super) const NONE: u32 = u32::MAX;

/// The place where a value is defined; `NONE` where there is none.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub block: u32,
    /// The innermost loop around the definition.
    pub around: u32,
    /// The innermost loop from iteration to iteration of which the value may change.
    pub varies: u32,
    pub node: u32,
}

pub(super) type Places = EntityVec<Value, Place>;

/// Lists by a dense key, one after the other in one vector.
#[derive(Clone, Debug)]
pub(super) struct Lists<T> {
    /// First and one past the last of each key.
    bounds: Vec<(u32, u32)>,
    items: Vec<T>,
}

impl<T> Default for Lists<T> {
    fn default() -> Self {
        Lists {
            bounds: Vec::new(),
            items: Vec::new(),
        }
    }
}

impl<T: Copy + PartialEq> Lists<T> {
    /// In the order of the pairs; an entry equal to the one before it in its list is left out.
    fn new(keys: usize, empty: T, pairs: impl Iterator<Item = (u32, T)> + Clone) -> Lists<T> {
        let mut bounds = vec![(0u32, 0u32); keys];
        let mut total = 0;
        for (key, _) in pairs.clone() {
            bounds[key as usize].1 += 1;
            total += 1;
        }
        let mut next = 0;
        for bound in &mut bounds {
            let first = next;
            next += bound.1;
            *bound = (first, first);
        }
        let mut items = vec![empty; total];
        for (key, item) in pairs {
            let (first, end) = &mut bounds[key as usize];
            if *first == *end || items[*end as usize - 1] != item {
                items[*end as usize] = item;
                *end += 1;
            }
        }
        Lists { bounds, items }
    }
    pub(super) fn of(&self, key: usize) -> &[T] {
        let (first, end) = self.bounds[key];
        &self.items[first as usize..end as usize]
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Tables {
    pub nodes: Vec<Node>,
    /// An earlier value that is certainly equal.
    pub leader: EntityVec<Value, Value>,
    users: Vec<u32>,
    /// Indexed by the number of a block parameter.
    incoming: Lists<(Block, Value)>,
    /// The number of a block's first parameter.
    first_param: EntityVec<Block, u32>,
    first_node: EntityVec<Block, u32>,
    /// Nodes of stores and atomics, ascending.
    effects: Vec<u32>,
    /// Loads, stores and atomics, and barriers, in the order of the function's layout.
    pub accesses: Vec<(Block, Inst)>,
    pub barriers: Vec<(Block, Inst)>,
    /// Indexed by node: the value that it computes; `NONE` for none or several.
    results: Vec<u32>,
    /// Uses outside of the loop around the definition, or in another one: the value, and the block that reads it.
    pub crossing: Vec<(Value, Block)>,
    /// Builtin values in the order of the function's layout.
    pub specials: Vec<Special>,
    pub has_arrays: bool,
    /// True if operations depend on which lanes are present.
    pub has_shuffles: bool,
    /// Every variable that leaves a loop has an η, whatever its operands.
    gated: bool,
    pub has_calls: bool,
    /// True if something was not understood.
    pub has_unknowns: bool,
    /// Indexed by value: the binding that it was first part of, and at which place; empty when there are no bindings.
    names: Vec<(u32, u32)>,
}

impl Tables {
    pub(super) fn new(
        function: &Function,
        flow: &ControlFlow,
        forest: &LoopForest,
        dominators: &DominatorTree,
        gated: bool,
    ) -> (Tables, Places, Vec<(u32, u32)>) {
        let values = function.values.len();
        let blocks = function.blocks.len();
        let nowhere = Place {
            block: NONE,
            around: NONE,
            varies: NONE,
            node: NONE,
        };
        let mut tables = Tables {
            nodes: Vec::with_capacity(values + flow.order.len()),
            leader: EntityVec::new(),
            users: Vec::new(),
            incoming: Lists::default(),
            first_param: EntityVec::with_len(NONE, blocks),
            first_node: EntityVec::with_len(NONE, blocks),
            effects: Vec::new(),
            accesses: Vec::new(),
            barriers: Vec::new(),
            results: Vec::with_capacity(values + flow.order.len()),
            crossing: Vec::new(),
            specials: Vec::new(),
            // What callers filled is an array, too.
            has_arrays: (function.blocks[function.entry()].params.iter())
                .any(|&param| function.ty(param) == Type::Ptr(Space::Local)),
            has_shuffles: false,
            gated,
            has_calls: false,
            has_unknowns: flow.order.len() != function.layout.len(),
            names: Vec::new(),
        };
        let mut places = EntityVec::with_len(nowhere, values);
        if flow.order.len() != function.layout.len() {
            // Values of blocks that are never reached have a place, but no dependences.
            for (value, block) in function.definition_blocks().iter() {
                places[value].block = block.map_or(NONE, |b| b.0);
            }
        }
        let param_uses = tables.parameters(function, flow, forest, &mut places);
        let uses = tables.instructions(function, flow, forest, dominators, &mut places);
        if !forest.loops.is_empty() {
            for &(value, node) in &param_uses {
                if let Node::Param(block, _) = tables.nodes[node as usize]
                    && places[value].around != forest.of(block).map_or(NONE, |l| l.0)
                {
                    tables.crossing.push((value, block));
                }
            }
        }
        let all = uses.iter().chain(&param_uses);
        let Lists { bounds, items } = Lists::new(values, 0, all.map(|&(v, node)| (v.0, node)));
        tables.users = items;
        if !function.bindings.is_empty() {
            tables.names = vec![(NONE, 0); values];
            for (which, binding) in (0..).zip(&function.bindings) {
                for (place, &value) in (0..).zip(&binding.values) {
                    let name = &mut tables.names[value.0 as usize];
                    if name.0 == NONE {
                        *name = (which, place);
                    }
                }
            }
        }
        (tables, places, bounds)
    }

    /// Numbers of nodes and parameters, and the arguments of these; returns the users.
    fn parameters(
        &mut self,
        function: &Function,
        flow: &ControlFlow,
        forest: &LoopForest,
        places: &mut Places,
    ) -> Vec<(Value, u32)> {
        let mut params = 0;
        let mut node = 0;
        for &block in &flow.order {
            let data = &function.blocks[block];
            self.first_param[block] = params;
            self.first_node[block] = node;
            let around = forest.of(block).map_or(NONE, |l| l.0);
            for (number, &param) in (node..).zip(&data.params) {
                places[param] = Place {
                    block: block.0,
                    around,
                    varies: around,
                    node: number,
                };
            }
            params += data.params.len() as u32;
            node += data.params.len() as u32 + data.insts.len() as u32 + 1;
        }
        let mut uses = Vec::new();
        let mut arriving: Vec<(u32, (Block, Value))> = Vec::new();
        for &block in &flow.order {
            for edge in function.blocks[block].terminator.edges() {
                if edge.args.is_empty() {
                    continue;
                }
                let first = self.first_param[edge.block];
                let node = self.first_node[edge.block];
                let count = function.blocks[edge.block].params.len();
                for (index, &arg) in (0..).zip(edge.args.iter().take(count)) {
                    arriving.push((first + index, (block, arg)));
                    uses.push((arg, node + index));
                }
            }
        }
        self.incoming = Lists::new(
            params as usize,
            (Block(0), Value(0)),
            arriving.iter().copied(),
        );
        uses
    }

    /// Places of results, users of operands, values that are certainly equal, and the loops in which values
    /// vary.
    fn instructions(
        &mut self,
        function: &Function,
        flow: &ControlFlow,
        forest: &LoopForest,
        dominators: &DominatorTree,
        places: &mut Places,
    ) -> Vec<(Value, u32)> {
        self.leader = {
            let mut leader = EntityVec::with_len(Value(0), function.values.len());
            for value in function.values.keys() {
                leader[value] = value;
            }
            leader
        };
        let mut uses = Vec::with_capacity(2 * function.values.len());
        let mut known = Numbering::new(function.values.len());
        let mut specials: Vec<(Block, Special)> = Vec::new();
        for &block in &flow.order {
            let data = &function.blocks[block];
            let here = forest.of(block);
            let around = here.map_or(NONE, |l| l.0);
            for (index, &param) in (0..).zip(&data.params) {
                self.nodes.push(Node::Param(block, index));
                self.results.push(param.0);
            }
            if here.is_some() && !self.gated {
                self.parameters_vary(function, forest, block, places);
            }
            for &inst in &data.insts {
                let node = self.nodes.len() as u32;
                self.nodes.push(Node::Inst(block, inst));
                let data = &function.insts[inst];
                self.results.push(match data.results.as_slice() {
                    [only] => only.0,
                    _ => NONE,
                });
                let mut varies = None;
                for &arg in &data.args {
                    uses.push((arg, node));
                    if places[arg].around != around {
                        self.crossing.push((arg, block));
                    }
                    if here.is_some() {
                        varies = inner(forest, varies, seen_from(places, forest, arg, here));
                    }
                }
                if let Some(guard) = &data.guard {
                    uses.push((guard.value, node));
                    if places[guard.value].around != around {
                        self.crossing.push((guard.value, block));
                    }
                }
                match &data.op {
                    Op::Store(_) | Op::Atomic(..) => {
                        self.effects.push(node);
                        self.accesses.push((block, inst));
                    }
                    Op::Texture(access) if access.op == ir::TextureOp::Store => {
                        self.effects.push(node);
                    }
                    Op::Load(_) => self.accesses.push((block, inst)),
                    Op::Special(special) if !specials.contains(&(block, *special)) => {
                        specials.push((block, *special));
                    }
                    Op::Alloca { .. } => self.has_arrays = true,
                    Op::Warp(_) => self.has_shuffles = true,
                    Op::Barrier(_) => self.barriers.push((block, inst)),
                    Op::Call(_) => self.has_calls = true,
                    Op::Unknown(_) | Op::CallUnknown { .. } | Op::Asm { .. } => {
                        self.has_unknowns = true;
                    }
                    _ => {}
                }
                let fixed = crate::divergence::transfer::repeatable(&data.op)
                    && data.guard.is_none()
                    && (data.args.is_empty() || !self.gated);
                if !fixed {
                    varies = here;
                }
                for &result in &data.results {
                    places[result] = Place {
                        block: block.0,
                        around,
                        varies: varies.map_or(NONE, |l| l.0),
                        node,
                    };
                }
                if data.guard.is_none() {
                    for (number, &result) in data.results.iter().enumerate() {
                        let found = known.find(function, data, number, &self.leader);
                        let Some(slot) = found else { break };
                        match known.value(slot) {
                            Some(first)
                                if dominators.dominates(Block(places[first].block), block) =>
                            {
                                self.leader[result] = first;
                            }
                            _ => known.set(slot, result),
                        }
                    }
                }
            }
            let node = self.nodes.len() as u32;
            self.nodes.push(Node::Terminator(block));
            self.results.push(NONE);
            if let Some(selector) = data.terminator.selector() {
                uses.push((selector, node));
                if places[selector].around != around {
                    self.crossing.push((selector, block));
                }
            }
            if let Terminator::Return(values) = &data.terminator {
                let left = values.iter().filter(|&&v| places[v].around != around);
                self.crossing.extend(left.map(|&v| (v, block)));
            }
        }
        self.order(function, flow, specials);
        uses
    }

    /// Puts tables made in reverse post-order into the order of the layout, if that differs.
    fn order(
        &mut self,
        function: &Function,
        flow: &ControlFlow,
        mut specials: Vec<(Block, Special)>,
    ) {
        if flow.order != function.layout {
            let mut position = EntityVec::with_len(NONE, function.blocks.len());
            for (at, &block) in function.layout.iter().enumerate() {
                position[block] = at as u32;
            }
            specials.sort_by_key(|f| position[f.0]);
            self.accesses.sort_by_key(|f| position[f.0]);
            self.barriers.sort_by_key(|f| position[f.0]);
        }
        for (_, special) in specials {
            if !self.specials.contains(&special) {
                self.specials.push(special);
            }
        }
    }

    /// A parameter that takes one value whichever way varies as that does.
    fn parameters_vary(
        &self,
        function: &Function,
        forest: &LoopForest,
        block: Block,
        places: &mut Places,
    ) {
        if forest.is_header(block) {
            return;
        }
        for (index, &param) in function.blocks[block].params.iter().enumerate() {
            let number = self.first_param[block] as usize + index;
            if let Some((first, rest)) = self.incoming.of(number).split_first()
                && first.1 != param
                && rest.iter().all(|(_, a)| *a == first.1)
            {
                let varies = seen_from(places, forest, first.1, forest.of(block));
                places[param].varies = varies.map_or(NONE, |l| l.0);
            }
        }
    }

    /// The only value that a node computes.
    pub(crate) fn result(&self, node: u32) -> Option<Value> {
        let value = self.results[node as usize];
        (value != NONE).then_some(Value(value))
    }
    pub(super) fn users_between(&self, (first, end): (u32, u32)) -> &[u32] {
        &self.users[first as usize..end as usize]
    }
    /// Returns the arguments of a block parameter, by the edges' blocks.
    pub(crate) fn incoming(&self, function: &Function, param: Value) -> &[(Block, Value)] {
        match function.values[param].def {
            ValueDef::Param(block, index) if self.first_param[block] != NONE => {
                self.incoming.of((self.first_param[block] + index) as usize)
            }
            _ => &[],
        }
    }
    pub(super) fn param_number(&self, block: Block, index: u32) -> usize {
        (self.first_param[block] + index) as usize
    }
    /// Returns the arguments of all parameters, while the solver needs the rest; to be given back.
    pub(super) fn take_incoming(&mut self) -> Lists<(Block, Value)> {
        std::mem::take(&mut self.incoming)
    }
    pub(super) fn give_incoming(&mut self, incoming: Lists<(Block, Value)>) {
        self.incoming = incoming;
    }
    pub(super) fn param_nodes(&self, function: &Function, block: Block) -> std::ops::Range<u32> {
        let first = self.first_node[block];
        first..first + function.blocks[block].params.len() as u32
    }
    /// The nodes of a reachable block.
    pub(super) fn block_nodes(&self, function: &Function, block: Block) -> std::ops::Range<u32> {
        let first = self.first_node[block];
        let data = &function.blocks[block];
        first..first + (data.params.len() + data.insts.len()) as u32 + 1
    }
    /// Stores and atomics of a reachable block.
    pub(super) fn effects(&self, function: &Function, block: Block) -> &[u32] {
        if self.effects.is_empty() {
            return &[];
        }
        let nodes = self.block_nodes(function, block);
        let first = self.effects.partition_point(|&n| n < nodes.start);
        let rest = &self.effects[first..];
        &rest[..rest.partition_point(|&n| n < nodes.end)]
    }
    /// The binding that a value was first part of, and its place there.
    pub(crate) fn bound(&self, value: Value) -> Option<(usize, usize)> {
        let (binding, place) = self.names.get(value.0 as usize).copied()?;
        (binding != NONE).then_some((binding as usize, place as usize))
    }
}

/// The innermost loop around `here` in which a value varies for a reader there: a value that an inner loop leaves
/// behind may differ each time the inner loop runs.
fn seen_from(
    places: &Places,
    forest: &LoopForest,
    value: Value,
    here: Option<LoopId>,
) -> Option<LoopId> {
    let here = here?;
    match places[value].varies {
        NONE => None,
        l if LoopId(l) == here || forest.encloses(LoopId(l), here) => Some(LoopId(l)),
        _ => Some(here),
    }
}

fn inner(forest: &LoopForest, left: Option<LoopId>, right: Option<LoopId>) -> Option<LoopId> {
    let depth = |l: Option<LoopId>| l.map_or(0, |l| forest.loops[l].depth);
    if left != right && depth(right) > depth(left) {
        right
    } else {
        left
    }
}
