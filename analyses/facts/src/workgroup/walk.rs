//! The walk: threads that part wait for each other at the branch's post-dominator, as on a stack of masks.

mod branches;

use super::bounds::Bounds;
use super::collide::{Execution, Table};
use super::evaluate::{operation, special};
use super::terms::{Atom, Known, Row, Terms};
use super::{Collision, LANE_STEPS, Threads, WALKS};
use crate::model::{FunctionFacts, Scope};
use crate::reason::SharedAccess;
use fixedbitset::FixedBitSet;
use ir::cfg::ControlFlow;
use ir::dominators::DominatorTree;
use ir::loops::LoopForest;
use ir::{Barrier, Block, EntitySet, EntityVec, Function, Inst, Op, Space, Value};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// Rounds of a loop whose end is decided.
const ROUNDS: u32 = 2;

pub(super) type Mask = FixedBitSet;

/// The decisions above a place, the innermost first.
#[derive(Debug)]
pub(super) struct Decision {
    number: u32,
    above: Decisions,
}
pub(super) type Decisions = Option<Rc<Decision>>;

/// All decisions above the first place are above the second one.
pub(super) fn contained(first: &Decisions, second: &Decisions) -> bool {
    let mut a = first;
    while let Some(decision) = a {
        let mut b = second;
        loop {
            match b {
                None => return false,
                Some(other) if other.number == decision.number => break,
                Some(other) => b = &other.above,
            }
        }
        a = &decision.above;
    }
    true
}

/// Threads on their way, to where they wait for others.
struct Group {
    block: Block,
    mask: Mask,
    until: Option<Block>,
    decisions: Decisions,
}

/// The side of a branch, where it is decided.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Then,
    Otherwise,
}

pub(super) struct Walk<'a> {
    function: &'a Function,
    facts: &'a FunctionFacts,
    threads: &'a Threads,
    flow: ControlFlow,
    post: DominatorTree,
    forest: LoopForest,
    /// Values from which addresses, conditions and stored values are computed.
    needed: EntitySet<Value>,
    /// Blocks from which an access of shared memory may still be reached: behind the others there is nothing to find.
    reaches: EntityVec<Block, bool>,
    terms: Terms,
    table: Table,
    /// Some access lies outside of its array.
    leaves: bool,
    steps: u64,
    // Of one walk.
    values: EntityVec<Value, Row>,
    live: Mask,
    decided: FxHashMap<u32, bool>,
    bounds: Bounds,
    stays: FxHashMap<Block, u32>,
    /// Decisions that may be reversed, so far, and the one that is.
    reversible: usize,
    reversed: Option<usize>,
    executions: u32,
    epoch: u32,
}

/// The step that follows an instruction.
enum Step {
    On,
    /// The walk ends.
    End,
}

impl<'a> Walk<'a> {
    pub(super) fn new(
        function: &'a Function,
        facts: &'a FunctionFacts,
        threads: &'a Threads,
        steps: u64,
    ) -> Self {
        let flow = ControlFlow::new(function);
        let post = DominatorTree::post_dominators(&flow);
        let forest = LoopForest::new(&flow);
        let reaches = reaching(function, &flow);
        Walk {
            needed: needed(function, &flow, &reaches),
            reaches,
            function,
            facts,
            threads,
            flow,
            post,
            forest,
            terms: Terms::new(),
            table: Table::default(),
            leaves: false,
            steps,
            values: EntityVec::with_len(Row::NOTHING, function.values.len()),
            live: Mask::new(),
            decided: FxHashMap::default(),
            bounds: Bounds::default(),
            stays: FxHashMap::default(),
            reversible: 0,
            reversed: None,
            executions: 0,
            epoch: 0,
        }
    }

    /// Follows the workgroup within the limit; the steps that were taken, with those before.
    pub(super) fn run(&mut self) -> u64 {
        self.walk(None);
        for number in 0..self.reversible.min(WALKS) {
            if self.steps >= LANE_STEPS {
                break;
            }
            self.walk(Some(number));
        }
        self.steps
    }

    /// The collisions; true: some access leaves its array.
    pub(super) fn found(self) -> (Vec<Collision>, bool) {
        let found = self
            .table
            .collisions(self.function, &self.terms, self.threads, &self.flow);
        (found, self.leaves)
    }

    /// An access of so many bytes lies outside of its symbol.
    fn is_outside(&self, address: Known, bytes: u32) -> bool {
        let symbol = self.terms.symbol(address);
        let symbol = symbol.filter(|_| self.terms.is_symbol_alone(address));
        let size = symbol.and_then(|symbol| self.function.symbols[symbol].size);
        size.is_some_and(|size| {
            address.at < 0 || address.at.saturating_add(bytes.into()) > i64::from(size)
        })
    }

    /// From the entry; `reversed`: the decision that is made the other way.
    fn walk(&mut self, reversed: Option<usize>) {
        let function = self.function;
        let mut all = Mask::with_capacity(self.threads.count());
        all.insert_range(..);
        self.values = EntityVec::with_len(Row::NOTHING, function.values.len());
        self.live = all.clone();
        self.decided.clear();
        self.bounds.clear();
        self.stays.clear();
        self.reversible = 0;
        self.reversed = reversed;
        for &param in &function.blocks[function.entry()].params {
            let known = self.terms.atom(Atom::Value(param));
            self.values[param] = Row::Same(known);
        }
        let mut stack = vec![Group {
            block: function.entry(),
            mask: all,
            until: None,
            decisions: None,
        }];
        while let Some(mut group) = stack.pop() {
            group.mask.intersect_with(&self.live);
            if group.until == Some(group.block) || group.mask.is_clear() {
                continue;
            }
            if self.steps >= LANE_STEPS {
                break;
            }
            if !self.reaches[group.block] {
                self.live.difference_with(&group.mask);
                continue;
            }
            if let Step::End = self.block(group, &mut stack) {
                break;
            }
        }
        self.barrier();
    }

    fn barrier(&mut self) {
        self.table.clear();
        self.epoch += 1;
    }

    fn block(&mut self, group: Group, stack: &mut Vec<Group>) -> Step {
        let function = self.function;
        self.steps += 1;
        for &inst in &function.blocks[group.block].insts {
            if let Step::End = self.inst(&group, inst) {
                return Step::End;
            }
        }
        self.terminator(group, stack)
    }

    // ------------------------------------------------------------------------------------------ instructions

    fn inst(&mut self, group: &Group, inst: Inst) -> Step {
        let data = &self.function.insts[inst];
        match &data.op {
            Op::Barrier(Barrier::Warp) | Op::Fence | Op::Warp(_) => self.epoch += 1,
            Op::Barrier(_) => {
                self.steps += 1;
                if group.mask != self.live || data.guard.is_some() {
                    // Not all arrive, or not certainly.
                    self.barrier();
                    if data.guard.is_none() {
                        return Step::End;
                    }
                }
                self.barrier();
            }
            Op::Call(_) | Op::Unknown(_) => self.barrier(),
            Op::CallUnknown { pure, .. } | Op::Asm { pure, .. } if !pure => self.barrier(),
            Op::Load(_) | Op::Store(_) | Op::Atomic(..) => return self.memory(group, inst),
            _ => {}
        }
        if !data
            .results
            .iter()
            .any(|&result| self.needed.contains(&result))
        {
            return Step::On;
        }
        self.steps += self.threads.count() as u64;
        let row = match (&data.op, data.results.as_slice()) {
            (Op::Special(which), _) => Some(special(&mut self.terms, self.threads, *which)),
            (Op::SymbolAddress(symbol), _) => {
                Some(Row::Same(self.terms.atom(Atom::Symbol(*symbol))))
            }
            (Op::Parameter(name), _) => {
                Some(Row::Same(self.terms.atom(Atom::Parameter(name.clone()))))
            }
            (op, &[result]) => {
                let rows: smallvec::SmallVec<[&Row; 4]> =
                    data.args.iter().map(|&arg| &self.values[arg]).collect();
                let types: smallvec::SmallVec<[ir::Type; 4]> =
                    data.args.iter().map(|&arg| self.function.ty(arg)).collect();
                let to = self.function.ty(result);
                operation(&mut self.terms, self.threads, op, &rows, &types, to)
            }
            _ => None,
        };
        for &result in &data.results {
            self.define(group, result, row.clone().unwrap_or(Row::NOTHING));
        }
        Step::On
    }

    /// Defines the row of a value; a value that is not known, and the same in all threads, becomes a term of
    /// this execution.
    fn define(&mut self, group: &Group, value: Value, row: Row) {
        if !self.needed.contains(&value) {
            return;
        }
        let known = match &row {
            Row::Same(known) => known.is_known(),
            Row::Each(each) => group.mask.ones().all(|thread| each[thread].is_known()),
        };
        let row =
            if !known && self.facts.at(value, group.block).uniform_at >= Some(Scope::Workgroup) {
                self.executions += 1;
                Row::Same(self.terms.atom(Atom::Fresh(self.executions)))
            } else {
                row
            };
        self.set(&group.mask, value, row);
    }

    fn set(&mut self, mask: &Mask, value: Value, row: Row) {
        let row = if *mask == self.live {
            row
        } else {
            let before = &self.values[value];
            Row::of(self.threads.count(), |thread| {
                if mask.contains(thread) {
                    row.at(thread)
                } else {
                    before.at(thread)
                }
            })
        };
        self.values[value] = row;
    }

    fn memory(&mut self, group: &Group, inst: Inst) -> Step {
        let function = self.function;
        let data = &function.insts[inst];
        let (Op::Load(access) | Op::Store(access) | Op::Atomic(_, access)) = &data.op else {
            return Step::On;
        };
        let Some(&address) = data.args.first() else {
            return Step::On;
        };
        let addresses = self.values[address].clone();
        self.executions += 1;
        let shared = |terms: &Terms, known: Known| match access.space {
            Space::Shared => true,
            Space::Generic => terms
                .symbol(known)
                .is_some_and(|symbol| function.symbols[symbol].space == Space::Shared),
            _ => false,
        };
        let (mask, decisions) = self.guarded(group, inst);
        if matches!(access.space, Space::Shared | Space::Generic)
            && mask
                .ones()
                .any(|t| addresses.at(t).is_known() && shared(&self.terms, addresses.at(t)))
        {
            let moved: &[Value] = match &data.op {
                Op::Load(_) => &data.results,
                Op::Store(_) => &data.args[1..],
                _ => &data.args[1..2.min(data.args.len())],
            };
            let bytes: u32 = moved.iter().map(|&v| function.bytes(v)).sum();
            let stored: Rc<[Row]> = match &data.op {
                Op::Store(_) => data.args[1..]
                    .iter()
                    .map(|&v| self.values[v].clone())
                    .collect(),
                _ => Rc::from([]),
            };
            self.steps += 8 * mask.count_ones(..) as u64;
            let touched = mask.ones().filter_map(|thread| {
                let at = addresses.at(thread);
                (at.is_known() && shared(&self.terms, at)).then_some((thread, at))
            });
            let mut touched: Vec<(usize, Known)> = touched.collect();
            let all = touched.len();
            touched.retain(|&(_, at)| !self.is_outside(at, bytes));
            self.leaves |= touched.len() < all;
            let execution = Execution {
                inst,
                number: self.executions,
                epoch: self.epoch,
                kind: match &data.op {
                    Op::Load(_) => SharedAccess::Read,
                    Op::Atomic(..) => SharedAccess::Atomic,
                    _ => SharedAccess::Write,
                },
                volatile: access.volatile,
                bytes: bytes.max(1),
                loops: self.forest.around(group.block).collect(),
                touched,
                stored,
                decisions,
            };
            self.table.add(execution, self.threads);
        }
        let execution = match &data.op {
            Op::Load(access) if access.read_only || access.space == Space::Constant => None,
            _ => Some(self.executions),
        };
        let followed = matches!(data.op, Op::Load(_)) && access.space != Space::Local;
        for (number, &result) in data.results.iter().enumerate() {
            if !self.needed.contains(&result) {
                continue;
            }
            self.steps += self.threads.count() as u64;
            let of = |terms: &mut Terms, at: Known| match at.is_known() && followed {
                true => terms.atom(Atom::Loaded(at, number as u16, execution)),
                false => Known::NOTHING,
            };
            let row = match &addresses {
                Row::Same(at) => Row::Same(of(&mut self.terms, *at)),
                Row::Each(each) => {
                    let terms = &mut self.terms;
                    Row::of(self.threads.count(), |thread| of(terms, each[thread]))
                }
            };
            self.define(group, result, row);
        }
        Step::On
    }

    /// The threads that certainly execute an instruction.
    fn guarded(&mut self, group: &Group, inst: Inst) -> (Mask, Decisions) {
        let Some(guard) = self.function.insts[inst].guard else {
            return (group.mask.clone(), group.decisions.clone());
        };
        let row = self.values[guard.value].clone();
        let parted = self.part(&group.mask, &row);
        let mut decisions = group.decisions.clone();
        let mut mask = if guard.negated {
            parted.otherwise
        } else {
            parted.then
        };
        if let Some((condition, sense)) = parted.condition {
            let usual = sense != guard.negated;
            let known = self.decided.get(&condition).copied();
            let Some(holds) = known.or_else(|| self.settle(condition, usual)) else {
                return (mask, decisions);
            };
            decisions = Some(Rc::new(Decision {
                number: condition,
                above: decisions,
            }));
            if (holds == sense) != guard.negated {
                mask.union_with(&parted.open);
            }
        }
        (mask, decisions)
    }

    // ---------------------------------------------------------------------------------------------- branches
}

/// Other threads may be waited for here.
fn may_wait(op: &Op) -> bool {
    match op {
        Op::Barrier(kind) => *kind != Barrier::Warp,
        Op::Call(_) | Op::Unknown(_) => true,
        Op::CallUnknown { pure, .. } | Op::Asm { pure, .. } => !pure,
        _ => false,
    }
}

/// An access of shared memory, or a possible one.
fn may_share(op: &Op) -> bool {
    match op {
        Op::Load(access) | Op::Store(access) | Op::Atomic(_, access) => {
            matches!(access.space, Space::Shared | Space::Generic)
        }
        _ => false,
    }
}

/// Blocks from which an access of shared memory is reached.
fn reaching(function: &Function, flow: &ControlFlow) -> EntityVec<Block, bool> {
    let mut reaches = EntityVec::with_len(false, function.blocks.len());
    let shares = |block: &Block| {
        let mut insts = function.blocks[*block].insts.iter();
        insts.any(|&inst| may_share(&function.insts[inst].op))
    };
    let mut work: Vec<Block> = flow.order.iter().copied().filter(shares).collect();
    while let Some(block) = work.pop() {
        if !std::mem::replace(&mut reaches[block], true) {
            work.extend(&flow.predecessors[block]);
        }
    }
    reaches
}

/// Values from which addresses of shared memory, conditions and the values stored there are computed.
fn needed(
    function: &Function,
    flow: &ControlFlow,
    reaches: &EntityVec<Block, bool>,
) -> EntitySet<Value> {
    let mut roots: Vec<Value> = Vec::new();
    for &block in &flow.order {
        let data = &function.blocks[block];
        if reaches[block] {
            roots.extend(data.terminator.selector());
        }
        let insts = data.insts.iter().map(|&inst| &function.insts[inst]);
        let shared = insts.filter(|data| may_share(&data.op));
        roots.extend(shared.flat_map(ir::InstData::operands));
    }
    ir::needed::needed(function, roots, &|inst, out| {
        let data = &function.insts[inst];
        // Sums of floats are no addresses: they are the same for all threads, or unknown.
        let is_float = data
            .results
            .iter()
            .all(|&result| function.ty(result).is_float());
        if !is_float || matches!(data.op, Op::Load(_) | Op::Select | Op::Convert(_)) {
            out.extend(&data.args);
        }
    })
}
