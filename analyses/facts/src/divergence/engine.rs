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

mod control;
mod levels;
mod merge;
mod numbering;
mod regions;
mod tables;

pub(crate) use control::ControllingBranches;
pub(crate) use tables::Tables;

use levels::LoopLevels;
use regions::{BlocksOfLoops, Visited};
use tables::{NONE, Place};

use super::form::{Atom, Form, Term};
use super::shape::Shape;
use crate::model::{Options, Scope};
use fixedbitset::FixedBitSet;
use ir::cfg::ControlFlow;
use ir::dominators::DominatorTree;
use ir::gates::{GateBuilder, Gates};
use ir::loops::{LoopForest, LoopId};
use ir::{
    BinaryOp, Block, EntityVec, Function, FunctionKind, Inst, Language, Module, Op, Type, Value,
};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell;

/// 0: not even a quad, 1: quad, ... 4: dispatch.
pub(crate) type Level = u8;
pub(crate) const DIVERGENT: Level = 0;
pub(crate) const QUAD: Level = 1;
pub(crate) const SUBGROUP: Level = 2;
pub(crate) const WORKGROUP: Level = 3;
pub(crate) const DISPATCH: Level = 4;
/// The level of a value that is not computed yet: better than everything.
pub(crate) const FRESH: Level = 5;

/// The unit of atoms that are not computed yet, and of zero.
const LARGEST_UNIT: u8 = 62;
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

/// A part of the graph that reacts to a change.
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
    /// The flow without back edges that are never taken, if there are any.
    pub(super) taken: Option<ControlFlow>,
    pub dominators: DominatorTree,
    pub post: DominatorTree,
    pub forest: LoopForest,
    pub(super) builder: GateBuilder,
    pub tables: Tables,
    pub level: EntityVec<Value, Level>,
    pub cells: EntityVec<Value, Cell>,
    /// Indexed by atom: the nodes of the values whose forms have had it: lists linked by index, from `Cell::mentions`.
    mentions: Vec<(u32, u32)>,
    dirty: FixedBitSet,
    /// Nodes whose last visit asked how lanes leave a loop or come to a block: they are visited again after a sweep
    /// in which that fell.
    asked: FixedBitSet,
    pub(super) asks: cell::Cell<bool>,
    /// Loops whose bound on instances fell in this sweep.
    capped: Vec<LoopId>,
    fell: Vec<LoopId>,
    pub sweep_again: bool,
    pub branch_level: EntityVec<Block, Level>,
    gates: Vec<Gates>,
    gate_of: EntityVec<Block, u32>,
    /// Loops and branches by which lanes leave them in different iterations.
    exits: Vec<(LoopId, Block)>,
    /// Indexed by loop: the first of the least uniform of these, once all is solved.
    worst_exit: EntityVec<LoopId, Option<Block>>,
    pub join_level: EntityVec<Block, Level>,
    /// The uniformity with which lanes leave a loop.
    pub taint: LoopLevels,
    /// Irreducible loops whose instances cannot be compared.
    pub mixed: LoopLevels,
    /// Blocks that `overtaken` and `lower_apart` may still visit before they take every candidate.
    pub overtaking_left: usize,
    pub(super) visited: Visited,
    outlets: Option<EntityVec<LoopId, Option<Block>>>,
    blocks_of_loops: Option<BlocksOfLoops>,
    coarse: Level,
    /// Below which scope groups of lanes may execute a block one after the other in one instance.
    pub(super) apart: EntityVec<Block, Level>,
    pub(super) loops_apart: LoopLevels,
    pub(super) all_apart: Level,
    pub(super) apart_until: [Vec<u32>; DISPATCH as usize],
    /// The uniformity with which a block is executed.
    pub executed: EntityVec<Block, Level>,
    less_executed: [Vec<u32>; DISPATCH as usize],
    /// The private array that an address lies in, when all that happens to it is seen; empty without arrays.
    pub array_of: Vec<Option<u32>>,
    /// Keyed by an address that is one of several, and only loaded from: the arrays that it may lie in.
    pub views: FxHashMap<Value, Vec<u32>>,
    /// The states of the paper's methods of degree 1 and 2, by value.
    pub(super) states: Vec<super::gated::Known>,
    pub array_level: Vec<Level>,
    array_loads: Vec<Vec<u32>>,
    /// Keyed by an array that is held apart: its parts, which are arrays of their own.
    pub divided: FxHashMap<u32, Vec<u32>>,
    /// Keyed by an access to such an array: the part of each value that is loaded or stored.
    pub parts_of: FxHashMap<Inst, Vec<u32>>,
    /// The values that a block stores and loads again, by the store: their numbers, each with an array of its
    /// own.
    pub forwarded: FxHashMap<Inst, Vec<(usize, u32)>>,
    pub given_up: bool,
    /// Loads of shared memory that no thread overtakes with a store.
    pub settled: FxHashSet<Inst>,
    pub(super) races: super::races::Races,
    /// Loops in which all lanes of a warp exchange, by their results.
    pub(super) exchanges: FxHashMap<Value, super::butterfly::Exchange>,
    /// Nodes visited, blocks walked over.
    pub visits: usize,
    pub walked: usize,
}

/// The facts about a value beside its level, in two lines of the cache.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(crate) struct Cell {
    pub form: Form,
    pub range: (i64, i64),
    place: Place,
    /// The range of its users in the tables.
    users: (u32, u32),
    mentions: u32,
    /// Uniformity of a value's own atom: the value, or the part of a block parameter besides the shared
    /// terms.
    pub atom_level: Level,
    widened: u8,
    /// The power of two of which the value's own atom is a multiple; it only falls.
    pub(super) unit: u8,
    /// True if the value leaves a loop in which all lanes of the warp exchange values: it is the same for all
    /// lanes behind it.
    pub(super) exchanged: bool,
    /// The block parameter no longer takes one form from all its arguments.
    split: bool,
    ty: Type,
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
        let taken = super::apart::without_ways_back(function, &flow, &forest);
        let builder = GateBuilder::new(taken.as_ref().unwrap_or(&flow), &dominators, &forest);
        let gated = options.method != crate::model::Method::Full;
        let (tables, places, users) = Tables::new(function, &flow, &forest, &dominators, gated);
        let blocks = function.blocks.len();
        let mut cells = EntityVec::new();
        cells.reserve(function.values.len());
        for (value, data) in function.values.iter() {
            cells.push(Cell {
                form: Form::constant(0),
                range: (i64::MAX, i64::MIN),
                place: places[value],
                users: users[value.0 as usize],
                mentions: NONE,
                atom_level: DISPATCH,
                widened: 0,
                unit: LARGEST_UNIT,
                exchanged: false,
                split: false,
                ty: data.ty,
            });
        }
        drop((places, users));
        let mut engine = Engine {
            function,
            options,
            summaries,
            shape: Shape::new(function, options, tables.specials.clone()),
            level: EntityVec::with_len(FRESH, function.values.len()),
            cells,
            mentions: Vec::new(),
            dirty: FixedBitSet::with_capacity(tables.nodes.len()),
            asked: FixedBitSet::with_capacity(tables.nodes.len()),
            asks: cell::Cell::new(false),
            capped: Vec::new(),
            fell: Vec::new(),
            sweep_again: false,
            branch_level: EntityVec::with_len(DISPATCH, blocks),
            gates: Vec::new(),
            gate_of: EntityVec::with_len(u32::MAX, blocks),
            exits: Vec::new(),
            worst_exit: EntityVec::with_len(None, forest.loops.len()),
            join_level: EntityVec::with_len(DISPATCH, blocks),
            taint: LoopLevels::new(&forest),
            mixed: LoopLevels::new(&forest),
            overtaking_left: 100 * blocks + 1000,
            visited: Visited::default(),
            outlets: None,
            blocks_of_loops: None,
            coarse: DISPATCH,
            apart: EntityVec::with_len(DISPATCH, blocks),
            loops_apart: LoopLevels::new(&forest),
            all_apart: DISPATCH,
            apart_until: Default::default(),
            executed: EntityVec::with_len(DISPATCH, blocks),
            less_executed: Default::default(),
            array_of: Vec::new(),
            views: FxHashMap::default(),
            states: Vec::new(),
            array_level: Vec::new(),
            array_loads: Vec::new(),
            divided: FxHashMap::default(),
            parts_of: FxHashMap::default(),
            forwarded: FxHashMap::default(),
            given_up: false,
            visits: 0,
            walked: 0,
            settled: FxHashSet::default(),
            races: super::races::Races::default(),
            exchanges: FxHashMap::default(),
            flow,
            taken,
            dominators,
            post,
            forest,
            builder,
            tables,
        };
        if engine.tables.has_arrays {
            super::arrays::find(&mut engine);
        }
        if !gated && !options.favourable {
            engine.races = super::races::find(&engine);
        }
        engine.states = engine.first_states();
        if !gated && engine.tables.has_shuffles {
            super::butterfly::find(&mut engine);
        }
        engine
    }

    // -------------------------------------------------------------------------------------------- the solver

    pub(crate) fn solve(&mut self) {
        let mut sweeps = 0;
        self.dirty.insert_range(..);
        loop {
            let mut at = 0;
            while let Some(next) = self.next_dirty(at) {
                self.dirty.set(next, false);
                self.asks.set(false);
                self.visit(self.tables.nodes[next]);
                self.asked.set(next, self.asks.get());
                at = next + 1;
            }
            if self.sweep_again {
                self.sweep_again = false;
                sweeps += 1;
                if sweeps > SWEEPS {
                    self.give_up();
                    break;
                }
                self.dirty.union_with(&self.asked);
                self.visit_capped_again();
            } else if self.dirty.is_clear() {
                break;
            }
        }
        self.find_worst_exits();
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
            self.cells[value].atom_level = DIVERGENT;
            self.cells[value].unit = 0;
            self.cells[value].form = Form::atom(value.0);
        }
        for &block in &self.flow.order {
            if self.flow.successors[block].len() > 1 {
                self.branch_level[block] = DIVERGENT;
            }
            self.executed[block] = DIVERGENT;
        }
        self.taint.all_divergent();
    }

    fn visit(&mut self, node: Node) {
        self.visits += 1;
        match node {
            Node::Param(block, index) => {
                let param = self.function.blocks[block].params[index as usize];
                if block == self.function.entry() {
                    self.parameter(param);
                } else if self.is_gated() {
                    super::gated::merge(self, block, param);
                } else {
                    self.merge(block, index, param);
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
        self.lower_unit(param, 0);
        self.finish(param, level, Form::atom(param.0), self.type_range(param));
    }

    /// Records the uniformity of a value's own atom; it only falls. Then every form with it may be less
    /// uniform, which concerns readers of these forms even if the levels that they bound stay.
    pub(crate) fn set_atom(&mut self, value: Value, level: Level) {
        let level = level.min(self.cap(value));
        if level >= self.cells[value].atom_level {
            return;
        }
        self.cells[value].atom_level = level;
        self.push_mentions(value);
    }

    /// Records of which power of two a value's own atom is a multiple; it only falls.
    pub(crate) fn lower_unit(&mut self, value: Value, unit: u8) {
        if unit < self.cells[value].unit {
            self.cells[value].unit = unit;
            self.push_mentions(value);
        }
    }

    /// Every form with the value's own atom says less now.
    fn push_mentions(&mut self, value: Value) {
        if self.level[value] != FRESH {
            self.push_users(value);
        }
        let mut next = self.cells[value].mentions;
        while let Some(&(node, after)) = self.mentions.get(next as usize) {
            self.dirty.insert(node as usize);
            self.push_users_of_node(node);
            next = after;
        }
    }

    /// Irreducible loops whose blocks have no comparable instances.
    pub(super) fn cap(&self, value: Value) -> Level {
        self.mixed.of_loop(self.cells[value].place.around)
    }

    /// A value that is not explained further.
    pub(crate) fn opaque(&mut self, value: Value, level: Level, range: (i64, i64)) {
        let leader = self.tables.leader[value];
        if leader == value {
            self.lower_unit(value, self.own_unit(value));
        }
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

    /// Stores a result; its dependents are visited again if something fell.
    pub(crate) fn finish(&mut self, value: Value, level: Level, form: Form, range: (i64, i64)) {
        let cap = self.cap(value);
        let full = self.type_range(value);
        let before = self.level[value];
        let level = level.min(cap).min(before);
        let mut changed = level != before;
        self.level[value] = level;
        let cell = &mut self.cells[value];
        let mut range = (range.0.max(full.0), range.1.min(full.1));
        let old = cell.range;
        if old.0 <= old.1 {
            range = (range.0.min(old.0), range.1.max(old.1));
            if range != old {
                cell.widened += 1;
                if cell.widened > WIDEN {
                    cell.widened = WIDEN;
                    range = (
                        if range.0 < old.0 { full.0 } else { range.0 },
                        if range.1 > old.1 { full.1 } else { range.1 },
                    );
                }
            }
        }
        if range != old {
            cell.range = range;
            changed = true;
        }
        if cell.form != form {
            changed = true;
            let node = cell.place.node;
            for term in &form.terms {
                for &atom in term.factors.iter() {
                    if (atom as usize) < self.cells.len() && atom != value.0 {
                        self.mention(Value(atom), node);
                    }
                }
            }
            self.cells[value].form = form;
        }
        if changed {
            self.push_users(value);
        }
    }

    fn mention(&mut self, atom: Value, node: u32) {
        let first = &mut self.cells[atom].mentions;
        if self
            .mentions
            .get(*first as usize)
            .is_none_or(|i| i.0 != node)
        {
            let next = std::mem::replace(first, self.mentions.len() as u32);
            self.mentions.push((node, next));
        }
    }

    /// The nodes that read a value: instructions and terminators in layout order, then block parameters.
    pub(crate) fn users(&self, value: Value) -> &[u32] {
        self.tables.users_between(self.cells[value].users)
    }
    pub(crate) fn ty(&self, value: Value) -> Type {
        self.cells[value].ty
    }
    /// The block in which a value is defined; `None` for values of removed blocks.
    pub(crate) fn home(&self, value: Value) -> Option<Block> {
        let block = self.cells[value].place.block;
        (block != NONE).then_some(Block(block))
    }
    /// The node that computes a value.
    pub(super) fn node_of(&self, value: Value) -> u32 {
        self.cells[value].place.node
    }
    pub(super) fn mark_nodes(&mut self, nodes: &[u32]) {
        for &node in nodes.iter().filter(|&&node| node != NONE) {
            self.dirty.insert(node as usize);
        }
    }
    /// The innermost loop around a value's definition.
    pub(crate) fn around(&self, value: Value) -> Option<LoopId> {
        let l = self.cells[value].place.around;
        (l != NONE).then_some(LoopId(l))
    }
    /// The innermost loop from iteration to iteration of which a value may change.
    pub(crate) fn varies(&self, value: Value) -> Option<LoopId> {
        let l = self.cells[value].place.varies;
        (l != NONE).then_some(LoopId(l))
    }

    pub(super) fn push_users(&mut self, value: Value) {
        for &node in self.tables.users_between(self.cells[value].users) {
            self.dirty.insert(node as usize);
        }
    }
    fn push_users_of_node(&mut self, node: u32) {
        match self.tables.nodes[node as usize] {
            Node::Param(block, index) => {
                self.push_users(self.function.blocks[block].params[index as usize]);
            }
            Node::Inst(_, inst) => {
                let function = self.function;
                for &result in &function.insts[inst].results {
                    self.push_users(result);
                }
            }
            Node::Terminator(_) => {}
        }
    }

    pub(crate) fn type_range(&self, value: Value) -> (i64, i64) {
        match self.cells[value].ty {
            Type::Bool => (0, 1),
            ty if ty.is_int() && ty.bits() < 64 => {
                (-(1 << (ty.bits() - 1)), (1 << (ty.bits() - 1)) - 1)
            }
            _ => (i64::MIN, i64::MAX),
        }
    }

    // -------------------------------------------------------------------------------------------- levels and forms

    /// Returns the uniformity with which lanes in `block` hold the value that they last computed as `value`.
    pub(crate) fn level_at(&self, value: Value, block: Block) -> Level {
        let level = self.level_of_definition_at(value, block);
        if level < SUBGROUP && self.cells[value].exchanged {
            return level.max(super::butterfly::level_behind(self, value, block));
        }
        level
    }
    fn level_of_definition_at(&self, value: Value, block: Block) -> Level {
        let level = self.level[value];
        if level == DIVERGENT {
            return level;
        }
        let taint = self.taint_between(value, block);
        if taint >= level {
            return level;
        }
        let form = &self.cells[value].form;
        if self.is_gated() || form.assumed || form.is_atom(value.0) {
            taint
        } else {
            self.form_level(form, block).max(taint).min(level)
        }
    }
    /// The least taint of the loops that contain the definition, in which it varies, and that `block` lies outside of.
    pub(crate) fn taint_between(&self, value: Value, block: Block) -> Level {
        let place = self.cells[value].place;
        if place.varies == NONE {
            return if place.block == NONE {
                DIVERGENT
            } else {
                DISPATCH
            };
        }
        if self.forest.of(block) == Some(LoopId(place.around)) {
            return DISPATCH;
        }
        self.asks.set(true);
        self.taint.until(&self.forest, LoopId(place.varies), block)
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
        let cell = &self.cells[value];
        let level = cell.atom_level.min(self.taint_between(value, block));
        if level < SUBGROUP && cell.exchanged {
            return level.max(super::butterfly::level_behind(self, value, block));
        }
        level
    }

    /// The largest power of two that divides every term but those that `skip` names; `LARGEST_UNIT` for none.
    pub(crate) fn alignment(&self, form: &Form, skip: impl Fn(&Term) -> bool) -> u32 {
        let terms = form.terms.iter().filter(|term| !skip(term));
        let units = terms.map(|term| {
            let factors = term.factors.iter().map(|&atom| self.unit_of_atom(atom));
            term.coefficient.trailing_zeros() + factors.sum::<u32>()
        });
        units.min().unwrap_or(64).min(u32::from(LARGEST_UNIT))
    }
    fn unit_of_atom(&self, atom: Atom) -> u32 {
        let values = self.function.values.len() as u32;
        if atom < values {
            return u32::from(self.cells[Value(atom)].unit);
        }
        self.shape.unit(atom - values)
    }
    /// Returns the unit of a value that is not explained further: the bits that a mask clears. A value that
    /// is not understood may be a number of whole tiles.
    fn own_unit(&self, value: Value) -> u8 {
        let Some(data) = self.function.defining(value) else {
            return 0;
        };
        match data.op {
            Op::Unknown(_) | Op::CallUnknown { .. } if self.options.favourable => LARGEST_UNIT,
            Op::Binary(BinaryOp::And, _) => {
                let masks = data
                    .args
                    .iter()
                    .filter_map(|&arg| self.function.int_constant(arg));
                masks
                    .map(|mask| mask.trailing_zeros().min(30) as u8)
                    .max()
                    .unwrap_or(0)
            }
            _ => 0,
        }
    }

    /// Returns true if a form means the same on both sides of an edge into `block`.
    fn valid(&self, form: &Form, block: Block) -> bool {
        form.terms
            .iter()
            .all(|t| self.valid_factors(&t.factors, block))
    }
    fn valid_factors(&self, factors: &[Atom], block: Block) -> bool {
        let values = self.function.values.len() as u32;
        factors.iter().all(|&a| {
            a >= values
                || self
                    .home(Value(a))
                    .is_some_and(|b| self.dominators.strictly_dominates(b, block))
        })
    }

    /// Arrays: a store adds to their possible contents; loads are visited again when that falls.
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
    /// Returns the representative of a value that a store writes, in its own block.
    pub(crate) fn forwarded_from(&mut self, store: Inst, index: usize) -> u32 {
        let known = self.forwarded.get(&store).into_iter().flatten();
        if let Some(&(_, array)) = known.into_iter().find(|(number, _)| *number == index) {
            return array;
        }
        let array = self.add_array();
        self.forwarded
            .entry(store)
            .or_default()
            .push((index, array));
        array
    }
    /// An array by itself, or its parts.
    pub(crate) fn all_of_array<'a>(&'a self, array: &'a u32) -> &'a [u32] {
        let parts = self.divided.get(array);
        parts.map_or(std::slice::from_ref(array), Vec::as_slice)
    }
    /// Returns how uniform all is that lies in an array.
    pub(crate) fn level_of_array(&self, array: u32) -> Level {
        let all = self.all_of_array(&array).iter();
        let levels = all.map(|&it| self.array_level[it as usize]);
        levels.min().unwrap_or(DISPATCH)
    }
    pub(crate) fn reads_array(&mut self, array: u32, inst: Inst) {
        let first = self.function.insts[inst].results.first();
        let node = first.map_or(NONE, |&r| self.cells[r].place.node);
        if node != NONE {
            self.array_loads[array as usize].push(node);
        }
    }
    pub(crate) fn array_of(&self, value: Value) -> Option<u32> {
        self.array_of.get(value.0 as usize).copied().flatten()
    }
    /// No loop is left in different iterations.
    pub(crate) fn taint_free(&self) -> bool {
        self.taint.is_clear()
    }
    pub(crate) fn language_defines_undefined(&self) -> bool {
        !matches!(
            self.function.language,
            Language::Cuda | Language::Hlsl | Language::C
        )
    }
}
