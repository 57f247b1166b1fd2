//! Loads that cannot matter where a value is zero, or has all bits set, as it mostly did in the profiled runs: each is executed
//! where the value is another alone.
//!
//! ```text
//! w = load weight; x = load line; s += w * x      w is zero in 95 % of runs:   x = load line, if w != 0
//! m = load mask;   x = load line; s ^= m | x      m has all bits set:          x = load line, if m != ~0
//! ```
//!
//! A skipped load leaves some value. What is computed of it must end in operations that the value decides - a product, a
//! conjunction, a choice, a disjunction where all bits are set - before it comes to an effect, a branch, a parameter of a
//! block, or the address of a load that is not skipped with it. All of that stands in one loop, of which an iteration comes to the value first, to the load, and then to the
//! operation, or the value is one of a loop around: so a zero of now never meets a load of before.
//!
//! Loads are taken out again until each of those that remain ends so; linear in what is computed of them, each time. Paying:
//! cycles that the processor waited for the loads in the profiled runs, against the comparison.
//!
//! Not done: stores of what is there already; values that merge; products of floats, even where zero times anything may be taken
//! for zero: what is computed of the value that a skipped load leaves may be no number, which no zero makes one.
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
    BinaryOp, Block, Convert, EntityVec, Function, Guard, Inst, IntCondition, Loc, Op, Type, Value,
    ValueDef,
};
use rustc_hash::{FxHashMap, FxHashSet};

/// A number that decides an operation, whatever the other operands are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Absorbing {
    /// Of products and conjunctions.
    Zero,
    /// All bits are set: of disjunctions.
    Ones,
}

/// What a profile knows of such numbers and of waiting.
#[allow(missing_debug_implementations)]
#[derive(Clone, Copy)]
pub struct SkipProfile<'a> {
    /// The share of a value's executions in which it was this number.
    pub share: &'a dyn Fn(Value, Absorbing) -> Option<f64>,
    /// Cycles that the processor waits less for each execution of the load of a value that is skipped.
    pub waited: &'a dyn Fn(Value) -> f64,
    /// Cycles of a comparison, which an execution must spare; negative where all loads are skipped that may be.
    pub least: f64,
}

/// Loads that are skipped where a value is such a number.
#[derive(Clone, PartialEq, Debug)]
pub struct Skipped {
    pub absorbing: Absorbing,
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
pub fn skip(function: &mut Function, executions: &[u64], zeros: &SkipProfile<'_>) -> Vec<Skipped> {
    let all = zeros.least < 0.0;
    let share = |value: Value, absorbing: Absorbing| match all {
        true => Some(1.0),
        false => (zeros.share)(value, absorbing).filter(|share| *share >= OFTEN),
    };
    let both = [Absorbing::Zero, Absorbing::Ones];
    let values = function.values.keys();
    let values = values.flat_map(|value| both.map(|absorbing| (value, absorbing)));
    let mut values: Vec<(Value, Absorbing, f64)> = values
        .filter(|&(value, _)| is_tested(function, value))
        .filter_map(|(value, absorbing)| Some((value, absorbing, share(value, absorbing)?)))
        .collect();
    values.sort_by(|left, right| right.2.total_cmp(&left.2));
    if !all {
        values.truncate(MOST);
    }
    let mut found: Vec<Skipped> = Vec::new();
    let mut order: Vec<(f64, Value, Skipped)> = Vec::new();
    {
        let Some(scene) = Scene::new(function) else {
            return Vec::new();
        };
        for &(value, absorbing, share) in &values {
            let Some(home) = scene.home[value] else {
                continue;
            };
            let loads = scene.useless((value, absorbing), home);
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
                    absorbing,
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
        let guard = tested(function, value, skipped.absorbing);
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

/// Returns whether a value may be the one that is compared.
fn is_tested(function: &Function, value: Value) -> bool {
    let constant = function
        .defining(value)
        .is_some_and(|data| matches!(data.op, Op::Const(_) | Op::Undef));
    let fits = matches!(
        function.ty(value),
        Type::Bool | Type::I8 | Type::I16 | Type::I32 | Type::I64
    );
    fits && !constant
}

/// The bits of an absorbing number of a type, as constants have them: sign-extended.
fn bits(ty: Type, absorbing: Absorbing) -> u64 {
    match (absorbing, ty) {
        (Absorbing::Zero, _) => 0,
        (Absorbing::Ones, Type::Bool) => 1,
        (Absorbing::Ones, _) => u64::MAX,
    }
}

/// A value is another number: compared behind its definition.
fn tested(function: &mut Function, value: Value, absorbing: Absorbing) -> Guard {
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
            negated: absorbing == Absorbing::Ones,
        };
    }
    let loc = location(function, value);
    let number = Op::Const(bits(ty, absorbing));
    let (constant, of_constant) = edit::computed(function, number, &[], ty, loc);
    let op = Op::IntCompare(IntCondition::NotEqual);
    let (compare, condition) = edit::computed(function, op, &[value, of_constant], Type::Bool, loc);
    function.blocks[block]
        .insts
        .splice(at..at, [constant, compare]);
    Guard {
        value: condition,
        negated: false,
    }
}

/// Values that are an absorbing number where one of them is.
struct Known {
    absorbing: Absorbing,
    values: FxHashSet<Value>,
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
    fn new(function: &'f Function) -> Option<Self> {
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
            dominators: DominatorTree::dominators(&flow),
            forest,
            home: function.definition_blocks(),
            order: flow.order,
            blocks,
            readers,
        })
    }

    /// The loads that are useless where a value is such a number.
    fn useless(&self, (value, absorbing): (Value, Absorbing), home: Block) -> Vec<Inst> {
        let known = Known {
            absorbing,
            values: self.known((value, absorbing), home),
        };
        if known.values.len() == 1 && !self.reads_decisively(value) {
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
            out.retain(|&inst| self.ends(inst, &known, &skipped));
            if out.len() == before {
                return out;
            }
        }
    }

    /// An operation reads the value that it may decide, or that passes it on.
    fn reads_decisively(&self, value: Value) -> bool {
        self.readers[value].iter().any(|reader| match *reader {
            Reader::Inst(inst) => {
                let data = &self.function.insts[inst];
                matches!(data.op, Op::Select | Op::Binary(..))
                    || propagation(&data.op) != Propagation::None
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

    /// Values that are such a number where one is.
    fn known(&self, (value, absorbing): (Value, Absorbing), home: Block) -> FxHashSet<Value> {
        let mut known = Known {
            absorbing,
            values: FxHashSet::from_iter([value]),
        };
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
                    && self.becomes(inst, &known)
                {
                    known.values.insert(result);
                }
            }
        }
        known.values
    }

    /// Returns whether all operands and results are integers.
    fn is_exact(&self, inst: Inst) -> bool {
        let data = &self.function.insts[inst];
        let mut all = data.args.iter().chain(&data.results);
        all.all(|&value| !self.function.ty(value).is_float())
    }

    /// How such a number in an operand goes on.
    fn propagation(&self, op: &Op, absorbing: Absorbing) -> Propagation {
        match (absorbing, op) {
            (_, Op::Convert(Convert::Bitcast)) => Propagation::None,
            (Absorbing::Zero, _) => propagation(op),
            (Absorbing::Ones, Op::Binary(BinaryOp::Or | BinaryOp::MaxUnsigned, _)) => {
                Propagation::Any { from: 0, to: 2 }
            }
            (Absorbing::Ones, Op::Binary(BinaryOp::And | BinaryOp::MinUnsigned, _)) => {
                Propagation::All { from: 0 }
            }
            (Absorbing::Ones, Op::Select) => Propagation::All { from: 1 },
            (Absorbing::Ones, Op::Convert(Convert::SignExtend | Convert::Truncate)) => {
                Propagation::Same
            }
            (Absorbing::Ones, _) => Propagation::None,
        }
    }

    fn becomes(&self, inst: Inst, known: &Known) -> bool {
        let data = &self.function.insts[inst];
        let constant = |value: Value| {
            let bits = bits(self.function.ty(value), known.absorbing);
            let defining = self.function.defining(value);
            defining.is_some_and(|data| data.op == Op::Const(bits))
        };
        let is = |value: &Value| known.values.contains(value) || constant(*value);
        if !self.is_exact(inst) {
            return false;
        }
        // The bit of a truth value is no number with all bits set.
        let widened = matches!(data.op, Op::Convert(Convert::SignExtend));
        if widened && self.function.ty(data.args[0]) == Type::Bool {
            return known.absorbing == Absorbing::Zero && is(&data.args[0]);
        }
        match self.propagation(&data.op, known.absorbing) {
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

    /// The result does not depend on the operands that are undefined, as such numbers among the others decide.
    fn decides(&self, inst: Inst, known: &Known, undefined: &FxHashSet<Value>) -> bool {
        let data = &self.function.insts[inst];
        let is = |value: &Value| known.values.contains(value) && !undefined.contains(value);
        let unknown = |value: &Value| undefined.contains(value);
        if matches!(data.op, Op::Select) {
            let [condition, then, otherwise] = data.args.as_slice() else {
                return false;
            };
            let [other, chosen] = match known.absorbing {
                Absorbing::Zero => [then, otherwise],
                Absorbing::Ones => [otherwise, then],
            };
            return is(condition) && unknown(other) && !unknown(chosen);
        }
        if !self.is_exact(inst) {
            return false;
        }
        match self.propagation(&data.op, known.absorbing) {
            Propagation::Any { from, to } => {
                data.args[from..to.min(data.args.len())].iter().any(is)
            }
            Propagation::Product => {
                data.args.iter().take(2).any(is) && !data.args.get(2).is_some_and(unknown)
            }
            _ => false,
        }
    }

    /// What is computed of a load ends in operations that such numbers decide.
    fn ends(&self, load: Inst, known: &Known, skipped: &FxHashSet<Inst>) -> bool {
        let own = self.blocks[&load];
        let around = self.forest.of(own);
        let mut undefined: FxHashSet<Value> = FxHashSet::default();
        let mut open: Vec<Value> = Vec::new();
        for &result in &self.function.insts[load].results {
            undefined.insert(result);
            open.push(result);
        }
        // Operations that seemed to be decided before all undefined operands were known.
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
                if self.decides(inst, known, &undefined) {
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
            .all(|&inst| self.decides(inst, known, &undefined))
    }
}
