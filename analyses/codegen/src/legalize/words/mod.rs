//! Numbers of 64 bits as pairs of 32.
//!
//! ```text
//! x = load p : i64             xl, xh = load p : i32, i32        the order of the halves is the target's
//! y = shl x, 3                 yh = xh << 3 | xl >> 29; yl = xl << 3
//! q = div_s x, y               a = whole x, b = whole y; w = call rt.i64_divide (a, b); ql = low w, qh = high w
//! ```
//!
//! A number is split if something reads its high half: demand goes backwards from there, through sums, products, logic, choices
//! and block parameters, to loads, extensions, and what comes from outside. Arguments and results of functions keep
//! their type: `trunc w` and `trunc (w >> 32)` take the halves of one, `zext l | zext h << 32` makes one, and nothing else
//! stands for them. An offset of an address has a low half alone.
//!
//! One walk in reverse post-order behind one backwards over the values; linear. Operations that have no counterpart (atomics,
//! saturating shifts) take whole numbers, and selection refuses them.

mod arithmetic;
mod demand;

use super::Words;
use super::routines::Routines;
use super::writer::Writer;
use ir::cfg::ControlFlow;
use ir::{
    BinaryOp, Block, Convert, Edge, EntityVec, Function, Inst, Op, Terminator, Type, UnaryOp,
    Value, ValueData, ValueDef,
};
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

/// The low and the high half of a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Pair {
    low: Value,
    high: Value,
}

/// Splits the numbers of a function.
pub(super) fn lower(function: &mut Function, routines: &mut Routines, words: Words) {
    if function.layout.is_empty() || !function.values.values().any(|data| data.ty == Type::I64) {
        return;
    }
    let split = demand::split(function);
    if !split.values().any(|&split| split) {
        return;
    }
    let order = ControlFlow::new(function).order;
    let count = function.values.len();
    let mut splitter = Splitter {
        pairs: EntityVec::with_len(None, count),
        gone: EntityVec::with_len(false, count),
        wholes: FxHashMap::default(),
        writer: Writer::new(function),
        split,
        routines,
        words,
    };
    let params: Vec<(Block, Vec<Value>)> = order
        .iter()
        .map(|&block| {
            let own = splitter.writer.function.blocks[block].params.clone();
            (block, own)
        })
        .collect();
    let before: FxHashMap<Block, &[Value]> = params
        .iter()
        .map(|(block, own)| (*block, own.as_slice()))
        .collect();
    for &block in &order {
        splitter.block(block, &before);
    }
    splitter.forget_gone();
    splitter.writer.finish();
}

struct Splitter<'f, 'r> {
    writer: Writer<'f>,
    routines: &'r mut Routines,
    words: Words,
    /// Values that are split.
    split: EntityVec<Value, bool>,
    pairs: EntityVec<Value, Option<Pair>>,
    /// Values without a definition from now on.
    gone: EntityVec<Value, bool>,
    /// Numbers of which halves were made one in this block.
    wholes: FxHashMap<Value, Value>,
}

impl Splitter<'_, '_> {
    fn block(&mut self, block: Block, before: &FxHashMap<Block, &[Value]>) {
        self.wholes.clear();
        let own = before[&block];
        self.writer.loc = self.writer.function.blocks[block].loc;
        if block == self.writer.function.entry() {
            for &param in own {
                self.take(param);
            }
        } else {
            self.parameters(block, own);
        }
        for inst in std::mem::take(&mut self.writer.function.blocks[block].insts) {
            self.instruction(inst);
        }
        let mut terminator = std::mem::replace(
            &mut self.writer.function.blocks[block].terminator,
            Terminator::None,
        );
        if let Terminator::Switch { value, .. } = &terminator
            && self.split.get(*value) == Some(&true)
        {
            terminator = self.compared(terminator);
        }
        for value in terminator.reads_mut() {
            *value = self.whole(*value);
        }
        for edge in terminator.edges_mut() {
            self.arguments(edge, before[&edge.block]);
        }
        let data = &mut self.writer.function.blocks[block];
        data.terminator = terminator;
        data.insts = std::mem::take(&mut self.writer.made);
    }

    /// A switch as one on the low half, if all cases are numbers of 32 bits: any other number goes the way of none of them.
    fn compared(&mut self, terminator: Terminator) -> Terminator {
        let Terminator::Switch {
            value,
            cases,
            default,
        } = terminator
        else {
            return terminator;
        };
        let narrow = |case: i64| i64::from(case as i32) == case;
        // A number that is no case.
        let used = |number: i64| cases.iter().any(|(case, _)| *case == number);
        let other = (0..=cases.len() as i64).find(|&number| !used(number));
        let (true, Some(other)) = (cases.iter().all(|(case, _)| narrow(*case)), other) else {
            return Terminator::Switch {
                value,
                cases,
                default,
            };
        };
        let pair = self.pair(value);
        let fits = self.is_narrow(pair);
        let other = self.writer.int(Type::I32, other);
        let value = self.writer.choose(fits, pair.low, other);
        Terminator::Switch {
            value,
            cases,
            default,
        }
    }

    /// Parameters of a block, each that is split as two.
    fn parameters(&mut self, block: Block, own: &[Value]) {
        if !own.iter().any(|&param| self.split[param]) {
            return;
        }
        let mut params = Vec::new();
        for &param in own {
            if self.split[param] {
                let [low, high] = [0, 1].map(|_| {
                    let def = ValueDef::Param(block, 0);
                    let ty = Type::I32;
                    self.writer.function.values.push(ValueData { ty, def })
                });
                params.extend([low, high]);
                self.replaced(param, Pair { low, high });
            } else {
                params.push(param);
            }
        }
        for (at, &param) in params.iter().enumerate() {
            self.writer.function.values[param].def = ValueDef::Param(block, at as u32);
        }
        self.writer.function.blocks[block].params = params;
    }

    /// Arguments of an edge to a block that had these parameters.
    fn arguments(&mut self, edge: &mut Edge, params: &[Value]) {
        let mut args = SmallVec::new();
        for (&arg, &param) in edge.args.iter().zip(params) {
            match self.split[param] {
                true => {
                    let pair = self.pair(arg);
                    args.extend([pair.low, pair.high]);
                }
                false => args.push(self.whole(arg)),
            }
        }
        edge.args = args;
    }

    /// A value is split, and its definition is no more.
    fn replaced(&mut self, value: Value, pair: Pair) {
        self.pairs[value] = Some(pair);
        self.gone[value] = true;
    }

    /// The halves of a number that stays as it is, if they are asked for.
    fn take(&mut self, value: Value) {
        if !self.split[value] {
            return;
        }
        let low = self.writer.convert(Convert::Truncate, value, Type::I32);
        let half = self.writer.int(Type::I32, 32);
        let shifted = self.writer.binary(BinaryOp::ShrUnsigned, value, half);
        let high = self.writer.convert(Convert::Truncate, shifted, Type::I32);
        self.pairs[value] = Some(Pair { low, high });
    }

    /// The halves of a split number.
    fn pair(&mut self, value: Value) -> Pair {
        match self.pairs[value] {
            Some(pair) => pair,
            None => {
                debug_assert!(false, "{value} is split where it is defined");
                let zero = self.writer.int(Type::I32, 0);
                Pair {
                    low: zero,
                    high: zero,
                }
            }
        }
    }

    /// The low half of a number.
    fn low(&mut self, value: Value) -> Value {
        match self.pairs[value] {
            Some(pair) => pair.low,
            None => self.writer.convert(Convert::Truncate, value, Type::I32),
        }
    }

    /// A number as it was; other values as they are.
    fn whole(&mut self, value: Value) -> Value {
        let value = self.writer.resolved(value);
        if self.gone.get(value) != Some(&true) {
            return value;
        }
        if let Some(&known) = self.wholes.get(&value) {
            return known;
        }
        let pair = self.pair(value);
        let low = self
            .writer
            .convert(Convert::ZeroExtend, pair.low, Type::I64);
        let high = self
            .writer
            .convert(Convert::ZeroExtend, pair.high, Type::I64);
        let half = self.writer.int(Type::I32, 32);
        let high = self.writer.binary(BinaryOp::Shl, high, half);
        let made = self.writer.binary(BinaryOp::Or, low, high);
        self.wholes.insert(value, made);
        made
    }

    fn instruction(&mut self, inst: Inst) {
        let data = self.writer.function.insts[inst].clone();
        self.writer.loc = data.loc;
        let wide = |this: &Self, value: &Value| this.split.get(*value) == Some(&true);
        let touched = data.operands().any(|value| wide(self, &value))
            || data.results.iter().any(|value| wide(self, value));
        if !touched {
            self.writer.made.push(inst);
            return;
        }
        match &data.op {
            Op::Load(_) => return self.load(inst),
            Op::Store(_) => {
                let mut args: SmallVec<[Value; 4]> = smallvec![self.whole(data.args[0])];
                for &value in &data.args[1..] {
                    match self.split[value] {
                        true => args.extend(self.in_memory(self.pairs[value])),
                        false => args.push(value),
                    }
                }
                self.writer.function.insts[inst].args = args;
                self.writer.made.push(inst);
                return;
            }
            _ => {}
        }
        if let &[result] = data.results.as_slice()
            && data.guard.is_none()
        {
            if wide(self, &result)
                && let Some(pair) = self.computed(&data)
            {
                return self.replaced(result, pair);
            }
            if let Some(value) = self.narrow(&data, result) {
                return self.writer.stands_for(value, result);
            }
        }
        // It stays, with whole operands, and gives a whole result.
        let mut kept = data.clone();
        for value in kept.operands_mut() {
            *value = self.whole(*value);
        }
        self.writer.function.insts[inst] = kept;
        self.writer.made.push(inst);
        for &result in &data.results {
            self.take(result);
        }
    }

    /// The halves in the order of memory.
    fn in_memory(&self, pair: Option<Pair>) -> SmallVec<[Value; 2]> {
        match pair {
            None => SmallVec::new(),
            Some(pair) if self.words.high_first => smallvec![pair.high, pair.low],
            Some(pair) => smallvec![pair.low, pair.high],
        }
    }

    fn load(&mut self, inst: Inst) {
        let before = std::mem::take(&mut self.writer.function.insts[inst].results);
        let mut results: SmallVec<[Value; 1]> = SmallVec::new();
        for value in before {
            if self.split[value] {
                let [low, high] = [0, 1].map(|_| self.writer.result(inst, 0, Type::I32));
                let pair = Pair { low, high };
                self.replaced(value, pair);
                results.extend(self.in_memory(Some(pair)));
            } else {
                results.push(value);
            }
        }
        for (at, &result) in results.iter().enumerate() {
            self.writer.function.values[result].def = ValueDef::Result(inst, at as u16);
        }
        let address = self.writer.function.insts[inst].args[0];
        let address = self.whole(address);
        let own = &mut self.writer.function.insts[inst];
        own.results = results;
        own.args[0] = address;
        self.writer.made.push(inst);
    }

    /// The value of an operation on split numbers whose result is none, or has a low half alone.
    fn narrow(&mut self, data: &ir::InstData, result: Value) -> Option<Value> {
        let to = self.writer.ty(result);
        let &first = data.args.first()?;
        if self.split.get(first) != Some(&true) {
            return None;
        }
        let pair = self.pairs[first]?;
        match &data.op {
            Op::IntCompare(how) => {
                let other = self.pair(data.args[1]);
                Some(self.compare(*how, pair, other))
            }
            Op::Convert(Convert::Truncate) if to == Type::I40 => Some(self.accumulator(pair)),
            Op::Convert(Convert::Truncate) => {
                Some(self.writer.convert(Convert::Truncate, pair.low, to))
            }
            Op::Convert(Convert::ToBool) => Some(self.is_not_zero(pair)),
            Op::Convert(Convert::SaturateSigned) => {
                let fitting = self.saturated(pair);
                Some(self.writer.convert(Convert::SaturateSigned, fitting, to))
            }
            Op::Unary(op @ (UnaryOp::CountLeadingZeros | UnaryOp::PopCount)) => {
                let bits = self.bits(*op, pair);
                Some(self.writer.convert(Convert::Truncate, bits, to))
            }
            _ => None,
        }
    }

    /// Forgets names and places of values that are no more.
    fn forget_gone(&mut self) {
        let gone = &self.gone;
        let is_gone = |value: &Value| gone.get(*value) == Some(&true);
        let function = &mut self.writer.function;
        function
            .bindings
            .retain(|binding| !binding.values.iter().any(is_gone));
        function
            .vectors
            .retain(|vector| !vector.iter().any(is_gone));
        for site in function.sites.keys() {
            let arguments = &mut function.sites[site].arguments;
            arguments.retain(|(_, values)| !values.iter().any(is_gone));
        }
    }
}
