//! The fixpoint of the full analysis: for every SSA value the largest scope over which it is uniform, a linear form and
//! an interval, all at once, because each helps the others.
//!
//! ```text
//! i = blockIdx.x*blockDim.x + threadIdx.x   form blockDim.x*ctaid.x + tid.x   divergent, affine
//! while (j < i + n) j = φ(i, j + 1)         j = tid.x + (uniform rest): the comparison is uniform
//! ```
//!
//! Claims are about converged instances: lanes in the same block and in the same iteration of every enclosing loop
//! (for operations across lanes: lanes that execute together). A value's level is the better of two bounds: that of its
//! operation (least operand, and for block parameters the branches that decide which one arrives), and that of its
//! form, whose terms cancel. Uses outside of a loop that lanes leave in different iterations see less
//! (`level_at`).
//!
//! Starts from "everything is uniform" and only ever falls: a block parameter first takes the form that all its
//! arguments share, then the terms that they share plus an atom for the rest, then that atom alone; levels have five
//! steps, intervals are widened to the type after `WIDEN` changes. Nodes are visited in layout order. Should the loops of
//! a function feed on each other for more than `SWEEPS` whole sweeps, all is given up as divergent.
//!
//! After Sampaio et al. 2013 with symbolic coefficients, and Rosemann, Moll, Hack 2021 for control.

mod merge;

use super::form::{Atom, Form};
use super::shape::Shape;
use crate::model::{Options, Scope};
use fixedbitset::FixedBitSet;
use ir::cfg::ControlFlow;
use ir::dominators::DominatorTree;
use ir::gates::{GateBuilder, Gates, control_dependence};
use ir::loops::{LoopForest, LoopId};
use ir::{Block, EntityVec, Function, FunctionKind, Inst, Language, Module, Op, Value, ValueDef};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// 0: not even a quad, 1: quad, ... 4: dispatch.
pub(crate) type Level = u8;
pub(crate) const DIVERGENT: Level = 0;
pub(crate) const QUAD: Level = 1;
pub(crate) const SUBGROUP: Level = 2;
pub(crate) const WORKGROUP: Level = 3;
pub(crate) const DISPATCH: Level = 4;
/// Not computed yet: better than everything.
pub(crate) const FRESH: Level = 5;

const WIDEN: u8 = 3;
const SWEEPS: u32 = 24;

pub(crate) const fn level_of(scope: Scope) -> Level {
    match scope {
        Scope::Quad => QUAD,
        Scope::Subgroup => SUBGROUP,
        Scope::Workgroup => WORKGROUP,
        Scope::Dispatch => DISPATCH,
    }
}
pub(crate) const fn scope_of(level: Level) -> Option<Scope> {
    match level {
        0 => None,
        1 => Some(Scope::Quad),
        2 => Some(Scope::Subgroup),
        3 => Some(Scope::Workgroup),
        _ => Some(Scope::Dispatch),
    }
}

/// What reacts to a change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Node {
    Param(Block, u32),
    Inst(Block, Inst),
    Terminator(Block),
}

/// Levels of calls' results by callee, if every argument has at least the level of the index.
pub(crate) type Summaries = Vec<[Level; 5]>;

pub(crate) struct Engine<'f> {
    pub function: &'f Function,
    pub options: &'f Options,
    pub summaries: &'f Summaries,
    pub shape: Shape,
    pub flow: ControlFlow,
    pub dominators: DominatorTree,
    pub post: DominatorTree,
    pub forest: LoopForest,
    builder: GateBuilder,
    pub block_of: EntityVec<Value, Option<Block>>,
    /// An earlier value that is certainly equal.
    pub leader: EntityVec<Value, Value>,
    pub level: EntityVec<Value, Level>,
    pub form: EntityVec<Value, Form>,
    pub range: EntityVec<Value, (i64, i64)>,
    widened: EntityVec<Value, u8>,
    /// Uniformity of a value's own atom: the value, or what a block parameter has besides the shared terms.
    pub atom_level: EntityVec<Value, Level>,
    /// The block parameter no longer takes one form from all its arguments.
    split: EntityVec<Value, bool>,
    /// The innermost loop from iteration to iteration of which the value may change.
    pub varies: EntityVec<Value, Option<LoopId>>,
    pub incoming: EntityVec<Value, SmallVec<[(Block, Value); 2]>>,
    pub nodes: Vec<Node>,
    pub names: FxHashMap<Value, ir::Variable>,
    /// Branches because of which lanes leave a loop in different iterations.
    pub exits_by_loop: FxHashMap<LoopId, Vec<Block>>,
    node_of_inst: Vec<u32>,
    node_of_param: FxHashMap<Value, u32>,
    pub users: Vec<SmallVec<[u32; 3]>>,
    mentions: Vec<SmallVec<[u32; 2]>>,
    dirty: FixedBitSet,
    pub sweep_again: bool,
    pub branch_level: EntityVec<Block, Level>,
    pub gates: FxHashMap<Block, Gates>,
    pub join_level: EntityVec<Block, Level>,
    /// How uniformly lanes leave a loop.
    pub taint: EntityVec<LoopId, Level>,
    /// Irreducible loops whose instances cannot be compared.
    pub mixed: EntityVec<LoopId, Level>,
    any_mixed: bool,
    /// Blocks that `overtaken` may still visit before it takes every candidate.
    pub overtaking_left: usize,
    coarse: Level,
    pub controlled: Option<EntityVec<Block, SmallVec<[Block; 2]>>>,
    /// Below which scope groups of lanes may execute a block one after the other in one instance.
    pub apart: EntityVec<Block, Level>,
    /// How uniformly a block is executed.
    pub executed: EntityVec<Block, Level>,
    effects: EntityVec<Block, SmallVec<[u32; 1]>>,
    /// The private array that an address lies in, when all that happens to it is seen.
    pub array_of: EntityVec<Value, Option<u32>>,
    /// What the paper's methods of degree 1 and 2 know, by value.
    pub(super) states: Vec<super::gated::Known>,
    pub array_level: Vec<Level>,
    array_loads: Vec<Vec<u32>>,
    pub given_up: bool,
}

impl<'f> Engine<'f> {
    pub(crate) fn new(
        function: &'f Function,
        _module: &Module,
        options: &'f Options,
        summaries: &'f Summaries,
    ) -> Self {
        let flow = ControlFlow::new(function);
        let dominators = DominatorTree::dominators(&flow);
        let post = DominatorTree::post_dominators(&flow);
        let forest = LoopForest::new(&flow);
        let builder = GateBuilder::new(&flow, &dominators, &forest);
        let values = function.values.len();
        let blocks = function.blocks.len();
        let mut engine = Engine {
            function,
            options,
            summaries,
            shape: Shape::new(function, options),
            block_of: function.definition_blocks(),
            leader: EntityVec::new(),
            level: EntityVec::with_len(FRESH, values),
            form: EntityVec::new(),
            range: EntityVec::with_len((i64::MAX, i64::MIN), values),
            widened: EntityVec::with_len(0, values),
            atom_level: EntityVec::with_len(DISPATCH, values),
            split: EntityVec::with_len(false, values),
            varies: EntityVec::with_len(None, values),
            incoming: EntityVec::with_len(SmallVec::new(), values),
            nodes: Vec::new(),
            names: FxHashMap::default(),
            exits_by_loop: FxHashMap::default(),
            node_of_inst: vec![u32::MAX; function.insts.len()],
            node_of_param: FxHashMap::default(),
            users: vec![SmallVec::new(); values],
            mentions: vec![SmallVec::new(); values],
            dirty: FixedBitSet::new(),
            sweep_again: false,
            branch_level: EntityVec::with_len(DISPATCH, blocks),
            gates: FxHashMap::default(),
            join_level: EntityVec::with_len(DISPATCH, blocks),
            taint: EntityVec::with_len(DISPATCH, forest.loops.len()),
            mixed: EntityVec::with_len(DISPATCH, forest.loops.len()),
            any_mixed: false,
            overtaking_left: 100 * blocks + 1000,
            coarse: DISPATCH,
            controlled: control_dependence(&flow, &post),
            apart: EntityVec::with_len(DISPATCH, blocks),
            executed: EntityVec::with_len(DISPATCH, blocks),
            effects: EntityVec::with_len(SmallVec::new(), blocks),
            array_of: EntityVec::with_len(None, values),
            states: Vec::new(),
            array_level: Vec::new(),
            array_loads: Vec::new(),
            given_up: false,
            flow,
            dominators,
            post,
            forest,
            builder,
        };
        if engine.controlled.is_none() {
            for block in function.blocks.keys() {
                engine.executed[block] = DIVERGENT;
            }
        }
        for binding in &function.bindings {
            for &value in &binding.values {
                engine.names.entry(value).or_insert(binding.variable);
            }
        }
        engine.number();
        engine.leaders();
        engine.variance();
        engine.states = engine.first_states();
        super::arrays::find(&mut engine);
        engine
    }

    /// Nodes in layout order, and who uses what.
    fn number(&mut self) {
        let function = self.function;
        let mut forms = EntityVec::new();
        for _ in 0..function.values.len() {
            forms.push(Form::constant(0));
        }
        self.form = forms;
        let mut param_node: FxHashMap<Value, u32> = FxHashMap::default();
        let order = self.flow.order.clone();
        for &block in &order {
            let data = &function.blocks[block];
            for (index, &param) in data.params.iter().enumerate() {
                param_node.insert(param, self.nodes.len() as u32);
                self.nodes.push(Node::Param(block, index as u32));
            }
            for &inst in &data.insts {
                let node = self.nodes.len() as u32;
                self.node_of_inst[inst.0 as usize] = node;
                self.nodes.push(Node::Inst(block, inst));
                let data = &function.insts[inst];
                for &arg in data
                    .args
                    .iter()
                    .chain(data.guard.as_ref().map(|g| &g.value))
                {
                    add_user(&mut self.users, arg, node);
                }
                if matches!(data.op, Op::Store(_) | Op::Atomic(..)) {
                    self.effects[block].push(node);
                }
            }
            let node = self.nodes.len() as u32;
            self.nodes.push(Node::Terminator(block));
            if let Some(selector) = data.terminator.selector() {
                add_user(&mut self.users, selector, node);
            }
        }
        for &block in &order {
            for edge in function.blocks[block].terminator.edges() {
                for (&param, &arg) in function.blocks[edge.block].params.iter().zip(&edge.args) {
                    let incoming = &mut self.incoming[param];
                    if incoming.last() != Some(&(block, arg)) {
                        incoming.push((block, arg));
                    }
                    if let Some(&node) = param_node.get(&param) {
                        add_user(&mut self.users, arg, node);
                    }
                }
            }
        }
        self.node_of_param = param_node;
        self.dirty = FixedBitSet::with_capacity(self.nodes.len());
    }

    /// Pure operations of the same operands are one value (dominator-scoped, by walking layout order).
    fn leaders(&mut self) {
        let function = self.function;
        let mut leader = EntityVec::new();
        for value in function.values.keys() {
            leader.push(value);
        }
        let mut known: FxHashMap<super::transfer::Key, Value> = FxHashMap::default();
        for &block in &self.flow.order {
            for &inst in &function.blocks[block].insts {
                let data = &function.insts[inst];
                if data.guard.is_some() || data.results.is_empty() {
                    continue;
                }
                for (number, &result) in data.results.iter().enumerate() {
                    let Some(key) = super::transfer::key(function, data, number, &leader) else {
                        break;
                    };
                    match known.get(&key) {
                        Some(&first)
                            if self.block_of[first]
                                .is_some_and(|b| self.dominators.dominates(b, block)) =>
                        {
                            leader[result] = first;
                        }
                        _ => {
                            known.insert(key, result);
                        }
                    }
                }
            }
        }
        self.leader = leader;
    }

    fn variance(&mut self) {
        for &block in &self.flow.order {
            let here = self.forest.of(block);
            let data = &self.function.blocks[block];
            for &param in &data.params {
                if self.is_gated() {
                    self.varies[param] = here;
                    continue;
                }
                let same = self.incoming[param]
                    .split_first()
                    .and_then(|(first, rest)| {
                        let one = first.1 != param && rest.iter().all(|(_, a)| *a == first.1);
                        one.then_some(first.1)
                    });
                let header = self.forest.is_header(block);
                self.varies[param] = match same {
                    Some(arg) if !header => self.seen_from(arg, here),
                    _ => here,
                };
            }
            for &inst in &data.insts {
                let inst = &self.function.insts[inst];
                let mut fixed = super::transfer::repeatable(&inst.op) && inst.guard.is_none();
                // Every variable that leaves a loop has an η, whatever it is computed from.
                fixed &= inst.args.is_empty() || !self.is_gated();
                let mut varies = if fixed { None } else { here };
                if fixed {
                    for &arg in &inst.args {
                        let arg = self.seen_from(arg, here);
                        if depth(&self.forest, arg) > depth(&self.forest, varies) {
                            varies = arg;
                        }
                    }
                }
                for &result in &inst.results {
                    self.varies[result] = varies;
                }
            }
        }
    }
    /// The innermost loop around `here` in which a value varies for a reader there: a value that an inner loop leaves
    /// behind may differ each time the inner loop runs.
    fn seen_from(&self, value: Value, here: Option<LoopId>) -> Option<LoopId> {
        let here = here?;
        match self.varies[value] {
            Some(l) if self.forest.encloses(l, here) => Some(l),
            Some(_) => Some(here),
            None => None,
        }
    }

    // -------------------------------------------------------------------------------------------- the solver

    pub(crate) fn solve(&mut self) {
        let mut sweeps = 0;
        self.dirty.insert_range(..);
        loop {
            let mut at = 0;
            while let Some(next) = self.next_dirty(at) {
                self.dirty.set(next, false);
                self.visit(self.nodes[next]);
                at = next + 1;
            }
            if self.sweep_again {
                self.sweep_again = false;
                sweeps += 1;
                if sweeps > SWEEPS {
                    self.give_up();
                    return;
                }
                self.dirty.insert_range(..);
            } else if self.dirty.is_clear() {
                return;
            }
        }
    }

    fn next_dirty(&self, from: usize) -> Option<usize> {
        const BITS: usize = usize::BITS as usize;
        let words = self.dirty.as_slice();
        let mut index = from / BITS;
        let first = *words.get(index)? & (usize::MAX << (from % BITS));
        let mut word = first;
        loop {
            if word != 0 {
                return Some(index * BITS + word.trailing_zeros() as usize);
            }
            index += 1;
            word = *words.get(index)?;
        }
    }

    fn give_up(&mut self) {
        self.given_up = true;
        for value in self.function.values.keys() {
            self.level[value] = DIVERGENT;
            self.atom_level[value] = DIVERGENT;
            self.form[value] = Form::atom(value.0);
        }
        for &block in &self.flow.order {
            if self.flow.successors[block].len() > 1 {
                self.branch_level[block] = DIVERGENT;
            }
            self.executed[block] = DIVERGENT;
        }
        for l in self.forest.loops.keys() {
            self.taint[l] = DIVERGENT;
        }
    }

    fn visit(&mut self, node: Node) {
        match node {
            Node::Param(block, index) => {
                let param = self.function.blocks[block].params[index as usize];
                if block == self.function.entry() {
                    self.parameter(param);
                } else if self.is_gated() {
                    super::gated::merge(self, block, param);
                } else {
                    self.merge(block, param);
                }
            }
            Node::Inst(block, inst) if self.is_gated() => {
                super::gated::instruction(self, block, inst);
            }
            Node::Inst(block, inst) => super::transfer::instruction(self, block, inst),
            Node::Terminator(block) => self.terminator(block),
        }
    }

    fn parameter(&mut self, param: Value) {
        let level = match self.function.kind {
            FunctionKind::Device => {
                let index = self
                    .function
                    .parameters
                    .iter()
                    .position(|p| p.values.contains(&param));
                index
                    .and_then(|i| self.options.parameters.get(i).copied().flatten())
                    .map_or(DIVERGENT, level_of)
            }
            _ => DISPATCH,
        };
        if self.is_gated() {
            return super::gated::parameter(self, param, level);
        }
        self.set_atom(param, level);
        self.finish(param, level, Form::atom(param.0), self.type_range(param));
    }

    /// Records the uniformity of a value's own atom; it only falls.
    pub(crate) fn set_atom(&mut self, value: Value, level: Level) {
        let level = level.min(self.cap(value));
        if level < self.atom_level[value] {
            self.atom_level[value] = level;
            for index in 0..self.mentions[value.0 as usize].len() {
                self.dirty
                    .insert(self.mentions[value.0 as usize][index] as usize);
            }
        }
    }

    /// Irreducible loops whose blocks have no comparable instances.
    pub(super) fn cap(&self, value: Value) -> Level {
        if !self.any_mixed {
            return DISPATCH;
        }
        self.block_of[value].map_or(DISPATCH, |b| {
            self.forest
                .around(b)
                .map(|l| self.mixed[l])
                .min()
                .unwrap_or(DISPATCH)
        })
    }

    /// A value that is not explained further.
    pub(crate) fn opaque(&mut self, value: Value, level: Level, range: (i64, i64)) {
        let leader = self.leader[value];
        let level = level.max(if leader == value {
            DIVERGENT
        } else {
            self.level[leader].min(DISPATCH)
        });
        if leader == value {
            self.set_atom(value, level);
        }
        self.finish(value, level, Form::atom(leader.0), range);
    }

    /// Stores a result; what depends on it is visited again when something fell.
    pub(crate) fn finish(&mut self, value: Value, level: Level, form: Form, range: (i64, i64)) {
        let level = level.min(self.cap(value)).min(self.level[value]);
        let mut changed = level != self.level[value];
        self.level[value] = level;
        let full = self.type_range(value);
        let mut range = (range.0.max(full.0), range.1.min(full.1));
        let old = self.range[value];
        if old.0 <= old.1 {
            range = (range.0.min(old.0), range.1.max(old.1));
            if range != old {
                self.widened[value] += 1;
                if self.widened[value] > WIDEN {
                    self.widened[value] = WIDEN;
                    range = (
                        if range.0 < old.0 { full.0 } else { range.0 },
                        if range.1 > old.1 { full.1 } else { range.1 },
                    );
                }
            }
        }
        if range != old {
            self.range[value] = range;
            changed = true;
        }
        if self.form[value] != form {
            changed = true;
            let node = match self.function.values[value].def {
                ValueDef::Result(inst, _) => self.node_of_inst[inst.0 as usize],
                ValueDef::Param(..) => self.node_of_param.get(&value).copied().unwrap_or(u32::MAX),
            };
            for term in &form.terms {
                for &atom in &term.factors {
                    if let Some(mentions) = self.mentions.get_mut(atom as usize)
                        && atom != value.0
                        && node != u32::MAX
                        && mentions.last() != Some(&node)
                    {
                        mentions.push(node);
                    }
                }
            }
            self.form[value] = form;
        }
        if changed {
            self.push_users(value);
        }
    }

    pub(super) fn push_users(&mut self, value: Value) {
        for index in 0..self.users[value.0 as usize].len() {
            let node = self.users[value.0 as usize][index] as usize;
            self.dirty.insert(node);
        }
    }

    pub(crate) fn type_range(&self, value: Value) -> (i64, i64) {
        match self.function.ty(value) {
            ir::Type::Bool => (0, 1),
            ty if ty.is_int() && ty.bits() < 64 => {
                (-(1 << (ty.bits() - 1)), (1 << (ty.bits() - 1)) - 1)
            }
            _ => (i64::MIN, i64::MAX),
        }
    }

    // -------------------------------------------------------------------------------------------- control

    fn terminator(&mut self, block: Block) {
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
        let gates = match self.gates.remove(&block) {
            Some(gates) => gates,
            None => self.builder.gates(&self.flow, &self.forest, block),
        };
        if gates.coarse {
            self.coarsen(level);
        }
        for &join in &gates.joins {
            self.lower_join(join, level);
        }
        for &(_, l) in &gates.exits {
            let branches = self.exits_by_loop.entry(l).or_default();
            if !branches.contains(&block) {
                branches.push(block);
            }
            self.lower_taint(l, level);
        }
        for &l in &gates.tainted {
            if level < self.mixed[l] {
                self.mixed[l] = level;
                self.any_mixed = true;
                self.sweep_again = true;
            }
            self.lower_taint(l, level);
        }
        self.lower_apart(block, level, &gates);
        self.gates.insert(block, gates);
        for l in self.overtaken(block) {
            if level < self.mixed[l] {
                self.mixed[l] = level;
                self.any_mixed = true;
                self.sweep_again = true;
            }
            self.lower_taint(l, level);
        }
        self.lower_execution(block, level);
    }

    fn lower_join(&mut self, join: Block, level: Level) {
        if level < self.join_level[join] {
            self.join_level[join] = level;
            for &param in &self.function.blocks[join].params {
                if let Some(&node) = self.node_of_param.get(&param) {
                    self.dirty.insert(node as usize);
                }
            }
        }
    }
    fn lower_taint(&mut self, l: LoopId, level: Level) {
        if level < self.taint[l] {
            self.taint[l] = level;
            self.sweep_again = true;
        }
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
            if !self.forest.loops[l].reducible && level < self.mixed[l] {
                self.mixed[l] = level;
                self.any_mixed = true;
            }
        }
        self.sweep_again = true;
    }

    fn lower_execution(&mut self, branch: Block, level: Level) {
        let Some(controlled) = &self.controlled else {
            return;
        };
        let mut work: Vec<(Block, Level)> = vec![(branch, level)];
        while let Some((from, level)) = work.pop() {
            for &block in &controlled[from] {
                if level < self.executed[block] {
                    self.executed[block] = level;
                    for &node in &self.effects[block] {
                        self.dirty.insert(node as usize);
                    }
                    work.push((block, level));
                }
            }
        }
    }

    // -------------------------------------------------------------------------------------------- levels and forms

    /// How uniformly lanes in `block` hold what they last computed as `value`.
    pub(crate) fn level_at(&self, value: Value, block: Block) -> Level {
        let level = self.level[value];
        let taint = self.taint_between(value, block);
        if taint >= level {
            return level;
        }
        let form = &self.form[value];
        if self.is_gated() || form.assumed || form.is_atom(value.0) {
            taint.min(level)
        } else {
            self.form_level(form, block).max(taint).min(level)
        }
    }
    /// The least taint of the loops that contain the definition, in which it varies, and that `block` lies outside of.
    pub(crate) fn taint_between(&self, value: Value, block: Block) -> Level {
        let Some(definition) = self.block_of[value] else {
            return DIVERGENT;
        };
        let Some(varies) = self.varies[value] else {
            return DISPATCH;
        };
        if self.forest.of(definition) == self.forest.of(block) {
            return DISPATCH;
        }
        let mut level = DISPATCH;
        for l in self.forest.around(definition) {
            if self.forest.contains(l, block) {
                break;
            }
            if self.forest.encloses(l, varies) {
                level = level.min(self.taint[l]);
            }
        }
        level
    }
    pub(crate) fn form_level(&self, form: &Form, block: Block) -> Level {
        form.terms
            .iter()
            .map(|t| self.term_level(&t.factors, block))
            .min()
            .unwrap_or(DISPATCH)
    }
    pub(crate) fn term_level(&self, factors: &[Atom], block: Block) -> Level {
        factors
            .iter()
            .map(|&a| self.atom_level_at(a, block))
            .min()
            .unwrap_or(DISPATCH)
    }
    pub(crate) fn atom_level_at(&self, atom: Atom, block: Block) -> Level {
        let values = self.function.values.len() as u32;
        if atom >= values {
            return self.shape.level(atom - values);
        }
        let value = Value(atom);
        self.atom_level[value].min(self.taint_between(value, block))
    }

    /// Whether a form means the same on both sides of an edge into `block`.
    fn valid(&self, form: &Form, block: Block) -> bool {
        form.terms
            .iter()
            .all(|t| self.valid_factors(&t.factors, block))
    }
    fn valid_factors(&self, factors: &[Atom], block: Block) -> bool {
        let values = self.function.values.len() as u32;
        factors.iter().all(|&a| {
            a >= values
                || self.block_of[Value(a)]
                    .is_some_and(|b| self.dominators.strictly_dominates(b, block))
        })
    }

    /// Arrays: a store says what may lie in them; loads are visited again when that falls.
    pub(crate) fn lower_array(&mut self, array: u32, level: Level) {
        let array = array as usize;
        if level < self.array_level[array] {
            self.array_level[array] = level;
            for index in 0..self.array_loads[array].len() {
                self.dirty.insert(self.array_loads[array][index] as usize);
            }
        }
    }
    pub(crate) fn add_array(&mut self) -> u32 {
        self.array_level.push(DISPATCH);
        self.array_loads.push(Vec::new());
        self.array_level.len() as u32 - 1
    }
    pub(crate) fn reads_array(&mut self, array: u32, inst: Inst) {
        let node = self.node_of_inst[inst.0 as usize];
        self.array_loads[array as usize].push(node);
    }
    /// No loop is left in different iterations.
    pub(crate) fn taint_free(&self) -> bool {
        self.taint.values().all(|&t| t == DISPATCH)
    }
    pub(crate) fn language_defines_undefined(&self) -> bool {
        !matches!(
            self.function.language,
            Language::Cuda | Language::Hlsl | Language::C
        )
    }
}

fn depth(forest: &LoopForest, l: Option<LoopId>) -> u32 {
    l.map_or(0, |l| forest.loops[l].depth)
}

fn add_user(users: &mut [SmallVec<[u32; 3]>], value: Value, node: u32) {
    let users = &mut users[value.0 as usize];
    if users.last() != Some(&node) {
        users.push(node);
    }
}
