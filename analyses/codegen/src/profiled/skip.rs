//! Loads that cannot matter where a value is zero, as it mostly was in the profiled runs: each is executed where the value is
//! not zero alone.
//!
//! ```text
//! w = load weight; x = load line; s += w * x      w is zero in 95 % of runs:   x = load line, if w != 0
//! ```
//!
//! A skipped load leaves some value. What is computed of it must end in operations that a zero decides - a product, a
//! conjunction, a choice - before it comes to an effect, a branch, a parameter of a block, or the address of a load that is not
//! skipped with it. All of that stands in one loop, of which an iteration comes to the value first, to the load, and then to the
//! operation, or the value is one of a loop around: so a zero of now never meets a load of before.
//!
//! Loads are taken out again until each of those that remain ends so; linear in what is computed of them, each time. Paying:
//! cycles that the processor waited for the loads in the profiled runs, against the comparison.
//!
//! Not done: stores of what is there already; values that merge; floats, but where zero times anything may be taken for zero.
//!
//! Source: Bratt, Settle, Connors, *Predicate-Based Elimination of Control- and Data-Irrelevant Cache Misses*, EPIC-1, 2001, section
//! 2.

use crate::prepare::{edit, is_pure};
use facts::zeros::{Propagation, propagation};
use ir::cfg::ControlFlow;
use ir::dominators::DominatorTree;
use ir::entity::Entity as _;
use ir::loops::LoopForest;
use ir::{
    Block, Convert, EntityVec, FloatCondition, Function, Guard, Inst, IntCondition, Loc, Op, Type,
    Value, ValueDef,
};
use rustc_hash::{FxHashMap, FxHashSet};

/// What a profile knows of zeros and of waiting.
#[allow(missing_debug_implementations)]
#[derive(Clone, Copy)]
pub struct Zeros<'a> {
    /// The share of a value's executions in which it was zero.
    pub share: &'a dyn Fn(Value) -> Option<f64>,
    /// Cycles that the processor waits less for each execution of the load of a value that is skipped.
    pub waited: &'a dyn Fn(Value) -> f64,
    /// Zero times anything is zero, of floats, too.
    pub absorb: bool,
    /// Cycles of a comparison, which an execution must spare; negative where all loads are skipped that may be.
    pub least: f64,
}

/// Loads that are skipped where a value is zero.
#[derive(Clone, PartialEq, Debug)]
pub struct Skipped {
    /// Where the value is computed.
    pub loc: Loc,
    pub share: f64,
    pub loads: Vec<Inst>,
    /// Cycles of the profiled runs that are not waited for.
    pub spared: f64,
}

/// The share of zeros from which on loads are skipped.
const OFTEN: f64 = 0.5;
/// Values that are tried.
const MOST: usize = 64;

/// Guards loads of a function whose blocks are executed so often.
pub fn skip(function: &mut Function, executions: &[u64], zeros: &Zeros<'_>) -> Vec<Skipped> {
    let all = zeros.least < 0.0;
    let share = |value: Value| match all {
        true => Some(1.0),
        false => (zeros.share)(value).filter(|share| *share >= OFTEN),
    };
    let values = function.values.keys();
    let values = values.filter(|&value| is_tested(function, value, zeros.absorb));
    let mut values: Vec<(Value, f64)> = values
        .filter_map(|value| Some((value, share(value)?)))
        .collect();
    values.sort_by(|left, right| right.1.total_cmp(&left.1));
    if !all {
        values.truncate(MOST);
    }
    let mut found: Vec<Skipped> = Vec::new();
    let mut order: Vec<(f64, Value, Skipped)> = Vec::new();
    {
        let Some(scene) = Scene::new(function, zeros.absorb) else {
            return Vec::new();
        };
        for &(value, share) in &values {
            let Some(home) = scene.home[value] else {
                continue;
            };
            let loads = scene.useless(value, home);
            if loads.is_empty() {
                continue;
            }
            let times = |inst: &Inst| {
                let block = scene.blocks.get(inst).map_or(0, |block| block.index());
                executions.get(block).copied().unwrap_or(0) as f64
            };
            let waited = |inst: &Inst| {
                let results = &function.insts[*inst].results;
                results.first().map_or(0.0, |&first| (zeros.waited)(first))
            };
            let spared: f64 = loads
                .iter()
                .map(|inst| waited(inst) * times(inst) * share)
                .sum();
            let asked = executions.get(home.index()).copied().unwrap_or(0) as f64;
            if spared > zeros.least * asked {
                let skipped = Skipped {
                    loc: location(function, value),
                    share,
                    loads,
                    spared,
                };
                order.push((spared, value, skipped));
            }
        }
    }
    order.sort_by(|left, right| right.0.total_cmp(&left.0));
    for (_, value, mut skipped) in order {
        let before = skipped.loads.len();
        skipped
            .loads
            .retain(|&inst| function.insts[inst].guard.is_none());
        // What the others would leave may decide about the addresses of these.
        if skipped.loads.len() < before {
            continue;
        }
        let guard = tested(function, value);
        for &inst in &skipped.loads {
            function.insts[inst].guard = Some(guard);
        }
        found.push(skipped);
    }
    found
}

fn location(function: &Function, value: Value) -> Loc {
    match function.values[value].def {
        ValueDef::Result(inst, _) => function.insts[inst].loc,
        ValueDef::Param(block, _) => function.blocks[block].loc,
    }
}

/// Returns whether a value may be the one that is compared with zero.
fn is_tested(function: &Function, value: Value, absorb: bool) -> bool {
    let constant = function
        .defining(value)
        .is_some_and(|data| matches!(data.op, Op::Const(_) | Op::Undef));
    let fits = match function.ty(value) {
        Type::Bool | Type::I8 | Type::I16 | Type::I32 | Type::I64 => true,
        Type::F32 | Type::F64 => absorb,
        _ => false,
    };
    fits && !constant
}

/// A value is not zero: compared behind its definition.
fn tested(function: &mut Function, value: Value) -> Guard {
    let ty = function.ty(value);
    let (block, at) = match function.values[value].def {
        ValueDef::Param(block, _) => (block, 0),
        ValueDef::Result(inst, _) => {
            let mut blocks = function.layout.iter();
            let block = blocks.find(|&&block| function.blocks[block].insts.contains(&inst));
            let block = *block.expect("it stands in a block");
            let own = function.blocks[block].insts.iter();
            (block, own.take_while(|&&it| it != inst).count() + 1)
        }
    };
    if ty == Type::Bool {
        return Guard {
            value,
            negated: false,
        };
    }
    let loc = location(function, value);
    let (zero, of_zero) = edit::computed(function, Op::Const(0), &[], ty, loc);
    let op = match ty.is_float() {
        true => Op::FloatCompare(FloatCondition::NotEqualUnordered),
        false => Op::IntCompare(IntCondition::NotEqual),
    };
    let (compare, condition) = edit::computed(function, op, &[value, of_zero], Type::Bool, loc);
    function.blocks[block].insts.splice(at..at, [zero, compare]);
    Guard {
        value: condition,
        negated: false,
    }
}

/// A reader of a value.
#[derive(Clone, Copy)]
enum Reader {
    Inst(Inst),
    /// An edge, a selector, a result, a guard.
    Other,
}

struct Scene<'f> {
    function: &'f Function,
    absorb: bool,
    dominators: DominatorTree,
    forest: LoopForest,
    /// Blocks in the order of the flow.
    order: Vec<Block>,
    /// The block of each instruction.
    blocks: FxHashMap<Inst, Block>,
    home: EntityVec<Value, Option<Block>>,
    readers: EntityVec<Value, Vec<Reader>>,
}

impl<'f> Scene<'f> {
    /// `None`: a loop is no natural one.
    fn new(function: &'f Function, absorb: bool) -> Option<Self> {
        let flow = ControlFlow::new(function);
        let forest = LoopForest::new(&flow);
        if forest.loops.values().any(|it| !it.reducible) {
            return None;
        }
        let mut readers = EntityVec::with_len(Vec::new(), function.values.len());
        let mut blocks = FxHashMap::default();
        for &block in &flow.order {
            let data = &function.blocks[block];
            for &inst in &data.insts {
                blocks.insert(inst, block);
                let data = &function.insts[inst];
                for &arg in &data.args {
                    readers[arg].push(Reader::Inst(inst));
                }
                if let Some(guard) = data.guard {
                    readers[guard.value].push(Reader::Other);
                }
            }
            for value in data.terminator.operands() {
                readers[value].push(Reader::Other);
            }
        }
        Some(Scene {
            function,
            absorb,
            dominators: DominatorTree::dominators(&flow),
            forest,
            home: function.definition_blocks(),
            order: flow.order,
            blocks,
            readers,
        })
    }

    /// The loads that are useless where a value is zero.
    fn useless(&self, value: Value, home: Block) -> Vec<Inst> {
        let zero = self.zeros(value, home);
        if zero.len() == 1 && !self.reads_decisively(value) {
            return Vec::new();
        }
        let mut out = Vec::new();
        let below = self.order.iter().copied();
        for block in below.filter(|&block| self.is_below(home, block)) {
            let mut insts = self.function.blocks[block].insts.iter();
            if block == home
                && let ValueDef::Result(own, _) = self.function.values[value].def
            {
                insts.find(|&&inst| inst == own);
            }
            out.extend(insts.copied().filter(|&inst| self.is_skippable(inst)));
        }
        loop {
            let skipped: FxHashSet<Inst> = out.iter().copied().collect();
            let before = out.len();
            out.retain(|&inst| self.ends(inst, &zero, &skipped));
            if out.len() == before {
                return out;
            }
        }
    }

    /// An operation reads the value that a zero in it may decide, or that passes the zero on.
    fn reads_decisively(&self, value: Value) -> bool {
        self.readers[value].iter().any(|reader| match *reader {
            Reader::Inst(inst) => {
                let data = &self.function.insts[inst];
                matches!(data.op, Op::Select) || propagation(&data.op) != Propagation::None
            }
            Reader::Other => false,
        })
    }

    /// Each execution of the block follows one of `home`, in the same iteration of the loop of that one.
    fn is_below(&self, home: Block, block: Block) -> bool {
        let around = self.forest.of(home);
        self.dominators.dominates(home, block)
            && around.is_none_or(|around| self.forest.contains(around, block))
    }

    fn is_skippable(&self, inst: Inst) -> bool {
        let data = &self.function.insts[inst];
        matches!(data.op, Op::Load(access) if !access.volatile && access.speculation.is_none())
            && data.guard.is_none()
    }

    /// Values that are zero where one is.
    fn zeros(&self, value: Value, home: Block) -> FxHashSet<Value> {
        let mut zero = FxHashSet::from_iter([value]);
        let mut behind = matches!(self.function.values[value].def, ValueDef::Param(..));
        for &block in &self.order {
            if !self.is_below(home, block) {
                continue;
            }
            for &inst in &self.function.blocks[block].insts {
                let data = &self.function.insts[inst];
                if block == home && data.results.contains(&value) {
                    behind = true;
                }
                if block == home && !behind {
                    continue;
                }
                if let &[result] = data.results.as_slice()
                    && is_pure(data)
                    && self.becomes_zero(inst, &zero)
                {
                    zero.insert(result);
                }
            }
        }
        zero
    }

    /// Integers, or floats where that is permitted.
    fn is_exact(&self, value: Value) -> bool {
        self.absorb || !self.function.ty(value).is_float()
    }

    fn becomes_zero(&self, inst: Inst, zero: &FxHashSet<Value>) -> bool {
        let data = &self.function.insts[inst];
        let constant = |value: Value| {
            let defining = self.function.defining(value);
            defining.is_some_and(|data| data.op == Op::Const(0))
        };
        let is = |value: &Value| zero.contains(value) || constant(*value);
        let exact = data.args.iter().chain(&data.results);
        if !exact.copied().all(|value| self.is_exact(value))
            || matches!(data.op, Op::Convert(Convert::Bitcast))
        {
            return false;
        }
        match propagation(&data.op) {
            Propagation::None => false,
            Propagation::Any { from, to } => {
                data.args[from..to.min(data.args.len())].iter().any(is)
            }
            Propagation::Product => {
                data.args.iter().take(2).any(is) && data.args.get(2).is_some_and(is)
            }
            Propagation::Same => data.args.first().is_some_and(is),
            Propagation::All { from } => data.args.iter().skip(from).all(is),
        }
    }

    /// The result does not depend on the operands that are undefined, as zeros among the others decide.
    fn decides(&self, inst: Inst, zero: &FxHashSet<Value>, undefined: &FxHashSet<Value>) -> bool {
        let data = &self.function.insts[inst];
        let is = |value: &Value| zero.contains(value) && !undefined.contains(value);
        let unknown = |value: &Value| undefined.contains(value);
        if matches!(data.op, Op::Select) {
            let [condition, then, otherwise] = data.args.as_slice() else {
                return false;
            };
            return is(condition) && unknown(then) && !unknown(otherwise);
        }
        let exact = data.args.iter().chain(&data.results);
        if !exact.copied().all(|value| self.is_exact(value)) {
            return false;
        }
        match propagation(&data.op) {
            Propagation::Any { from, to } => {
                data.args[from..to.min(data.args.len())].iter().any(is)
            }
            Propagation::Product => {
                data.args.iter().take(2).any(is) && !data.args.get(2).is_some_and(unknown)
            }
            _ => false,
        }
    }

    /// What is computed of a load ends in operations that zeros decide.
    fn ends(&self, load: Inst, zero: &FxHashSet<Value>, skipped: &FxHashSet<Inst>) -> bool {
        let own = self.blocks[&load];
        let around = self.forest.of(own);
        let mut undefined: FxHashSet<Value> = FxHashSet::default();
        let mut open: Vec<Value> = Vec::new();
        for &result in &self.function.insts[load].results {
            undefined.insert(result);
            open.push(result);
        }
        // Operations that zeros seemed to decide before all undefined operands were known.
        let mut decided: Vec<Inst> = Vec::new();
        while let Some(value) = open.pop() {
            for reader in &self.readers[value] {
                let Reader::Inst(inst) = *reader else {
                    return false;
                };
                if self.forest.of(self.blocks[&inst]) != around {
                    return false;
                }
                let data = &self.function.insts[inst];
                // Of its address alone.
                if skipped.contains(&inst) && inst != load {
                    continue;
                }
                if !is_pure(data) {
                    return false;
                }
                if self.decides(inst, zero, &undefined) {
                    decided.push(inst);
                    continue;
                }
                for &result in &data.results {
                    if undefined.insert(result) {
                        open.push(result);
                    }
                }
            }
        }
        decided
            .iter()
            .all(|&inst| self.decides(inst, zero, &undefined))
    }
}
