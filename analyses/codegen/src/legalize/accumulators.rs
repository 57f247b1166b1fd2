//! Numbers of 64 bits of which an accumulator of 40 holds all that counts.
//!
//! ```text
//! acc = bits_signed (acc + 2*x*y), 0, 40 : i64        a = add a, 2*x*y : i40
//! acc = acc + sext x*x; r = trunc (acc >> 4) : i32    the same: of acc 36 bits are read
//! ```
//!
//! A value goes into an accumulator if it is a number of 40 bits, or if nothing reads bits above them. Widths go forwards,
//! those of block parameters optimistically; demand goes backwards from what operations read. An accumulator holds its value
//! modulo 2^40, extended by its sign: the value itself, where that has 40 bits. What reads more takes the number of 64 bits
//! that it extends to.
//!
//! An accumulator is in no memory, and calls do not keep it: where values would live across a call, or more of them at once
//! than `MOST`, the function stays as it is. Linear in the instructions for each round; a round raises a width of a parameter,
//! of which each has three.

use super::writer::Writer;
use ir::cfg::ControlFlow;
use ir::liveness::{Liveness, Reads, Values};
use ir::{
    BinaryOp, Block, Convert, EntityVec, Function, Inst, InstData, IntCondition, Op, Terminator,
    TernaryOp, Type, UnaryOp, Value, ValueData, ValueDef,
};
use rustc_hash::{FxHashMap, FxHashSet};

/// The width of an accumulator.
const BITS: u32 = Type::I40.bits();

/// The most accumulators that are live at once.
const MOST: usize = 6;

/// Puts numbers of a function into accumulators.
pub(super) fn lower(function: &mut Function) {
    if function.layout.is_empty() || !function.values.values().any(|data| data.ty == Type::I64) {
        return;
    }
    let flow = ControlFlow::new(function);
    let order = &flow.order;
    let chosen = Widths::of(function, order).chosen(function);
    if !chosen.values().any(|&chosen| chosen) || !fits(function, &flow, &chosen) {
        return;
    }
    let count = function.values.len();
    let before = order
        .iter()
        .map(|&block| (block, function.blocks[block].params.clone()))
        .collect();
    let mut narrower = Narrower {
        made: EntityVec::with_len(None, count),
        other: FxHashMap::default(),
        writer: Writer::new(function),
        before,
        chosen,
    };
    for &block in order {
        narrower.block(block);
    }
    narrower.writer.finish();
}

/// The bits of values of 64 bits: those that hold the number with its sign, and the low ones that are read.
struct Widths {
    held: EntityVec<Value, u32>,
    read: EntityVec<Value, u32>,
}

/// Bits that hold a number with its sign.
const fn held(number: i64) -> u32 {
    65 - if number < 0 {
        number.leading_ones()
    } else {
        number.leading_zeros()
    }
}

/// The number of places of a shift, if it is known and less than the width.
fn places(function: &Function, by: Value) -> Option<u32> {
    let by = u32::try_from(function.int_constant(by)?).ok()?;
    (by < 64).then_some(by)
}

/// The part that a field of bits is: its first bit, and how many they are.
fn field(function: &Function, data: &InstData) -> Option<(u32, u32)> {
    let [at, length] = [1, 2].map(|number| {
        let number = function.int_constant(*data.args.get(number)?)?;
        u32::try_from(number).ok()
    });
    let (at, length) = (at?, length?);
    (length > 0 && at + length <= 64).then_some((at, length))
}

impl Widths {
    fn of(function: &Function, order: &[Block]) -> Widths {
        let mut out = Widths {
            held: EntityVec::with_len(0, function.values.len()),
            read: EntityVec::with_len(0, function.values.len()),
        };
        out.forwards(function, order);
        out.backwards(function, order);
        out
    }

    fn forwards(&mut self, function: &Function, order: &[Block]) {
        for &param in &function.blocks[function.entry()].params {
            self.held[param] = 64;
        }
        loop {
            let mut changed = false;
            for &block in order {
                let data = &function.blocks[block];
                for &inst in &data.insts {
                    let made = &function.insts[inst];
                    for &result in &made.results {
                        if function.ty(result) == Type::I64 {
                            self.held[result] = self.computed(function, made).clamp(1, 64);
                        }
                    }
                }
                for edge in data.terminator.edges() {
                    let params = &function.blocks[edge.block].params;
                    for (&arg, &param) in edge.args.iter().zip(params) {
                        let arriving = match self.held[arg] {
                            0..=32 => 32,
                            33..=BITS => BITS,
                            _ => 64,
                        };
                        if function.ty(param) == Type::I64 && arriving > self.held[param] {
                            self.held[param] = arriving;
                            changed = true;
                        }
                    }
                }
            }
            if !changed {
                return;
            }
        }
    }

    /// The bits that hold the result of an operation.
    fn computed(&self, function: &Function, data: &InstData) -> u32 {
        let of = |at: usize| self.held[data.args[at]];
        let from = |at: usize| function.ty(data.args[at]).bits();
        match &data.op {
            Op::Const(bits) => held(*bits as i64),
            Op::Undef => 1,
            Op::Convert(Convert::SignExtend) => from(0),
            Op::Convert(Convert::ZeroExtend) => from(0) + 1,
            Op::Unary(UnaryOp::Not) => of(0),
            Op::Unary(UnaryOp::Neg | UnaryOp::IntAbs) if from(0) == 64 => of(0) + 1,
            Op::Select => of(1).max(of(2)),
            Op::Ternary(TernaryOp::BitExtractSigned) => {
                field(function, data).map_or(64, |(_, length)| length)
            }
            Op::Ternary(TernaryOp::BitExtractUnsigned) => {
                field(function, data).map_or(64, |(_, length)| length + 1)
            }
            Op::Binary(op, _) => {
                let by = || places(function, data.args[1]);
                match op {
                    BinaryOp::Add | BinaryOp::Sub => of(0).max(of(1)) + 1,
                    BinaryOp::Mul => of(0) + of(1),
                    BinaryOp::And => {
                        let mask = |at: usize| match function.int_constant(data.args[at]) {
                            Some(mask) if mask >= 0 => held(mask),
                            _ => 64,
                        };
                        of(0).max(of(1)).min(mask(0)).min(mask(1))
                    }
                    BinaryOp::Or | BinaryOp::Xor | BinaryOp::MinSigned | BinaryOp::MaxSigned => {
                        of(0).max(of(1))
                    }
                    BinaryOp::Shl => by().map_or(64, |by| of(0) + by),
                    BinaryOp::ShrSigned => by().map_or(of(0), |by| of(0).saturating_sub(by)),
                    BinaryOp::ShrUnsigned => by().map_or(64, |by| match by {
                        0 => of(0),
                        by => 65 - by,
                    }),
                    _ => 64,
                }
            }
            _ => 64,
        }
    }

    fn backwards(&mut self, function: &Function, order: &[Block]) {
        let mut arriving: EntityVec<Value, Vec<Value>> =
            EntityVec::with_len(Vec::new(), function.values.len());
        let mut work: Vec<(Value, u32)> = Vec::new();
        for &block in order {
            let data = &function.blocks[block];
            for &inst in &data.insts {
                let made = &function.insts[inst];
                let args = made.args.iter().enumerate();
                work.extend(args.map(|(at, &arg)| (arg, demand(function, made, at, 0))));
                work.extend(made.guard.iter().map(|guard| (guard.value, 64)));
            }
            work.extend(data.terminator.reads().iter().map(|&value| (value, 64)));
            for edge in data.terminator.edges() {
                let params = &function.blocks[edge.block].params;
                for (&arg, &param) in edge.args.iter().zip(params) {
                    arriving[param].push(arg);
                }
            }
        }
        while let Some((value, bits)) = work.pop() {
            if function.ty(value) != Type::I64 || self.read[value] >= bits {
                continue;
            }
            self.read[value] = bits;
            match function.values[value].def {
                ValueDef::Param(..) => {
                    work.extend(arriving[value].iter().map(|&arg| (arg, bits)));
                }
                ValueDef::Result(inst, _) => {
                    let made = &function.insts[inst];
                    let args = made.args.iter().enumerate();
                    work.extend(args.map(|(at, &arg)| (arg, demand(function, made, at, bits))));
                }
            }
        }
    }

    /// Returns true if an accumulator holds all of a value that counts.
    fn suffices(&self, value: Value) -> bool {
        self.held[value] <= BITS || self.read[value] <= BITS
    }

    /// The values that go into accumulators.
    fn chosen(&self, function: &Function) -> EntityVec<Value, bool> {
        let mut out = EntityVec::with_len(false, function.values.len());
        for value in function.values.keys() {
            // Of what has a low half alone there is nothing to gain.
            let wide = function.ty(value) == Type::I64 && self.read[value] > 32;
            out[value] = wide
                && self.suffices(value)
                && match function.values[value].def {
                    ValueDef::Param(block, _) => block != function.entry(),
                    ValueDef::Result(inst, _) => self.has_form(function, &function.insts[inst]),
                };
        }
        out
    }

    /// Returns true if accumulators compute a result of which they hold what counts.
    fn has_form(&self, function: &Function, data: &InstData) -> bool {
        let &[result] = data.results.as_slice() else {
            return false;
        };
        let operands = |from: usize| {
            data.args[from..]
                .iter()
                .all(|&arg| function.ty(arg) == Type::I64 && self.suffices(arg))
        };
        // The number itself, not only its low bits.
        let is_held = |at: usize| self.held[data.args[at]] <= BITS;
        let fits = |places: u32| places < BITS;
        let by = data.args.get(1).and_then(|&by| places(function, by));
        let known = |fits: &dyn Fn(u32) -> bool| by.is_some_and(fits);
        let narrow = data
            .args
            .get(1)
            .is_some_and(|&by| function.int_constant(by).is_none() && function.ty(by).bits() <= 32);
        data.guard.is_none()
            && match &data.op {
                Op::Unary(UnaryOp::Not | UnaryOp::Neg) => operands(0),
                Op::Unary(UnaryOp::IntAbs) => operands(0) && is_held(0),
                Op::Select => operands(1),
                Op::Ternary(TernaryOp::BitExtractSigned) => {
                    self.suffices(data.args[0])
                        && field(function, data).is_some_and(|(at, length)| at + length <= BITS)
                }
                Op::Binary(op, _) => match op {
                    BinaryOp::Add
                    | BinaryOp::Sub
                    | BinaryOp::And
                    | BinaryOp::Or
                    | BinaryOp::Xor => operands(0),
                    BinaryOp::MinSigned | BinaryOp::MaxSigned => {
                        operands(0) && is_held(0) && is_held(1)
                    }
                    BinaryOp::Mul => data.args.iter().all(|&arg| short(function, arg)),
                    BinaryOp::Shl => self.suffices(data.args[0]) && (known(&fits) || narrow),
                    BinaryOp::ShrSigned => {
                        let reach = |places: u32| {
                            fits(places) && (is_held(0) || self.read[result] + places <= BITS)
                        };
                        self.suffices(data.args[0]) && (known(&reach) || narrow && is_held(0))
                    }
                    _ => false,
                },
                _ => false,
            }
    }
}

/// Returns true if a number of 64 bits is the extension of one of 16.
fn short(function: &Function, value: Value) -> bool {
    if let Some(number) = function.int_constant(value) {
        return i64::from(number as i16) == number;
    }
    function.defining(value).is_some_and(|data| {
        matches!(data.op, Op::Convert(Convert::SignExtend))
            && matches!(function.ty(data.args[0]), Type::I8 | Type::I16)
    })
}

/// The low bits that an operation reads of an operand, if so many of its result are read.
fn demand(function: &Function, data: &InstData, at: usize, read: u32) -> u32 {
    let above = |places: u32| match read {
        0 => 0,
        read => (read + places).min(64),
    };
    match &data.op {
        Op::Unary(UnaryOp::Not | UnaryOp::Neg) => read,
        Op::Select if at > 0 => read,
        Op::Convert(Convert::Truncate) => function.ty(data.results[0]).bits(),
        Op::PtrAdd if at == 1 => 32,
        Op::Ternary(TernaryOp::BitExtractSigned | TernaryOp::BitExtractUnsigned) if at == 0 => {
            field(function, data).map_or(64, |(at, length)| at + length)
        }
        Op::Binary(op, _) => match op {
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Or | BinaryOp::Xor => read,
            BinaryOp::And => match function.int_constant(data.args[1 - at]) {
                Some(mask) if mask >= 0 => read.min(held(mask)),
                _ => read,
            },
            BinaryOp::Shl if at == 0 => {
                let places = places(function, data.args[1]);
                read.saturating_sub(places.unwrap_or(0))
            }
            BinaryOp::ShrSigned | BinaryOp::ShrUnsigned if at == 0 => {
                places(function, data.args[1]).map_or(64, above)
            }
            _ => 64,
        },
        _ => 64,
    }
}

/// Everything that a function reads.
struct All<'f>(&'f Function);

impl Reads for All<'_> {
    fn function(&self) -> &Function {
        self.0
    }
}

/// Returns true if no value is in an accumulator where something is called, and there are never too many of them.
fn fits(function: &Function, flow: &ControlFlow, chosen: &EntityVec<Value, bool>) -> bool {
    let live = Liveness::of(&Values {
        reads: &All(function),
        flow,
    });
    let calls = |data: &InstData| match &data.op {
        Op::Call(_) | Op::CallUnknown { .. } => true,
        Op::Binary(op, _) => matches!(
            op,
            BinaryOp::DivSigned
                | BinaryOp::DivUnsigned
                | BinaryOp::DivFractional
                | BinaryOp::RemSigned
                | BinaryOp::RemUnsigned
        ),
        _ => false,
    };
    flow.order.iter().all(|&block| {
        let data = &function.blocks[block];
        let mut alive: FxHashSet<Value> = live.ends[block.0 as usize]
            .iter()
            .filter(|&value| chosen[value])
            .collect();
        let own = |value: &Value| chosen[*value];
        alive.extend(data.terminator.operands().filter(own));
        let mut suffices = alive.len() <= MOST;
        for &inst in data.insts.iter().rev() {
            let made = &function.insts[inst];
            for result in &made.results {
                alive.remove(result);
            }
            suffices &= alive.is_empty() || !calls(made);
            alive.extend(made.operands().filter(own));
            suffices &= alive.len() <= MOST;
        }
        suffices
    })
}

struct Narrower<'f> {
    writer: Writer<'f>,
    chosen: EntityVec<Value, bool>,
    /// The accumulators of values that are in one.
    made: EntityVec<Value, Option<Value>>,
    /// The value of the other width that one of this block is read as.
    other: FxHashMap<Value, Value>,
    /// The parameters of blocks as they were.
    before: FxHashMap<Block, Vec<Value>>,
}

impl Narrower<'_> {
    fn is_chosen(&self, value: Value) -> bool {
        self.chosen.get(value) == Some(&true)
    }
    fn set(&mut self, value: Value, accumulator: Value) {
        self.made[value] = Some(accumulator);
        self.writer.stands_for(accumulator, value);
    }

    /// Returns true if what a comparison reads of a value is a number of an accumulator: it has one, or is made from fewer bits.
    fn is_held(&self, value: Value) -> bool {
        if let Some(number) = self.writer.constant(value) {
            return held(number as i64) <= BITS;
        }
        let extends = |data: &InstData| {
            let narrow = self.writer.ty(data.args[0]).bits() <= 32;
            narrow
                && matches!(
                    data.op,
                    Op::Convert(Convert::SignExtend | Convert::ZeroExtend)
                )
        };
        let made = self.writer.function.defining(value);
        self.is_chosen(value) || made.is_some_and(|data| !data.args.is_empty() && extends(data))
    }

    /// A value as it was.
    fn whole(&mut self, value: Value) -> Value {
        if !self.is_chosen(value) {
            return value;
        }
        let Some(accumulator) = self.made[value] else {
            debug_assert!(false, "{value} is read where it is defined");
            return value;
        };
        if let Some(&known) = self.other.get(&value) {
            return known;
        }
        let whole = self
            .writer
            .convert(Convert::SignExtend, accumulator, Type::I64);
        self.other.insert(value, whole);
        whole
    }

    /// A value in an accumulator, or what an accumulator holds of it.
    fn accumulator(&mut self, value: Value) -> Value {
        if let Some(number) = self.writer.constant(value) {
            return self.writer.int(Type::I40, number as i64);
        }
        if let Some(Some(known)) = self.made.get(value) {
            return *known;
        }
        if let Some(&known) = self.other.get(&value) {
            return known;
        }
        let accumulator = self.narrowed(value);
        self.other.insert(value, accumulator);
        accumulator
    }

    fn narrowed(&mut self, value: Value) -> Value {
        let function = &*self.writer.function;
        let made = function
            .defining(value)
            .map(|data| (data.op.clone(), data.args.first().copied()));
        match made {
            Some((Op::Undef, _)) => self.writer.int(Type::I40, 0),
            Some((Op::Convert(kind @ (Convert::SignExtend | Convert::ZeroExtend)), Some(from))) => {
                if matches!(kind, Convert::SignExtend)
                    && let Some(factors) = factors(function, from)
                {
                    let [a, b] = factors
                        .map(|factor| self.writer.convert(Convert::SignExtend, factor, Type::I40));
                    return self.writer.binary(BinaryOp::Mul, a, b);
                }
                self.writer.convert(kind, from, Type::I40)
            }
            _ => self.writer.convert(Convert::Truncate, value, Type::I40),
        }
    }

    fn block(&mut self, block: Block) {
        self.other.clear();
        self.writer.loc = self.writer.function.blocks[block].loc;
        for at in 0..self.before[&block].len() {
            let param = self.before[&block][at];
            if self.is_chosen(param) {
                let def = ValueDef::Param(block, at as u32);
                let ty = Type::I40;
                let made = self.writer.function.values.push(ValueData { ty, def });
                self.writer.function.blocks[block].params[at] = made;
                self.set(param, made);
            }
        }
        for inst in std::mem::take(&mut self.writer.function.blocks[block].insts) {
            self.instruction(inst);
        }
        let mut terminator = std::mem::replace(
            &mut self.writer.function.blocks[block].terminator,
            Terminator::None,
        );
        for value in terminator.reads_mut() {
            *value = self.whole(*value);
        }
        for edge in terminator.edges_mut() {
            for at in 0..edge.args.len() {
                let arg = edge.args[at];
                edge.args[at] = match self.is_chosen(self.before[&edge.block][at]) {
                    true => self.accumulator(arg),
                    false => self.whole(arg),
                };
            }
        }
        let data = &mut self.writer.function.blocks[block];
        data.terminator = terminator;
        data.insts = std::mem::take(&mut self.writer.made);
    }

    fn instruction(&mut self, inst: Inst) {
        let data = self.writer.function.insts[inst].clone();
        self.writer.loc = data.loc;
        if let &[result] = data.results.as_slice() {
            if self.is_chosen(result) {
                let made = self.computed(&data);
                return self.set(result, made);
            }
            if let Some(made) = self.read(&data, result) {
                return self.writer.stands_for(made, result);
            }
        }
        if data.operands().any(|value| self.is_chosen(value)) {
            let mut kept = data;
            for value in kept.operands_mut() {
                *value = self.whole(*value);
            }
            self.writer.function.insts[inst] = kept;
        }
        self.writer.made.push(inst);
    }

    /// The value of an operation that reads accumulators and gives none.
    fn read(&mut self, data: &InstData, result: Value) -> Option<Value> {
        let ty = self.writer.ty(result);
        let &first = data.args.first()?;
        if data.guard.is_some() || !data.args.iter().any(|&arg| self.is_chosen(arg)) {
            return None;
        }
        match &data.op {
            Op::IntCompare(how) if how.is_signed() || how.is_equality() => {
                let second = data.args[1];
                if ![first, second].iter().all(|&value| self.is_held(value)) {
                    return None;
                }
                let [a, b] = [first, second].map(|value| self.accumulator(value));
                Some(self.writer.compare(*how, a, b))
            }
            Op::Unary(UnaryOp::Normalize) => {
                let from = self.accumulator(first);
                let free = self.writer.value(data.op.clone(), &[from], ty);
                let above = self.writer.int(ty, i64::from(64 - BITS));
                let free = self.writer.binary(BinaryOp::Add, free, above);
                // Of zero nothing is free.
                let none = self.writer.int(Type::I40, 0);
                let is_zero = self.writer.compare(IntCondition::Equal, from, none);
                let none = self.writer.int(ty, 0);
                Some(self.writer.choose(is_zero, none, free))
            }
            Op::Convert(Convert::Truncate | Convert::SaturateSigned | Convert::ToBool) => {
                let from = self.accumulator(first);
                Some(self.writer.value(data.op.clone(), &[from], ty))
            }
            _ => None,
        }
    }

    /// The accumulator of a result that has one.
    fn computed(&mut self, data: &InstData) -> Value {
        let int = |this: &mut Self, number: u32| this.writer.int(Type::I40, number.into());
        match &data.op {
            Op::Unary(UnaryOp::IntAbs) => {
                let from = self.accumulator(data.args[0]);
                let zero = int(self, 0);
                let negative = self.writer.compare(IntCondition::LessSigned, from, zero);
                let other = self.writer.unary(UnaryOp::Neg, from);
                self.writer.choose(negative, other, from)
            }
            Op::Unary(op) => {
                let from = self.accumulator(data.args[0]);
                self.writer.unary(*op, from)
            }
            Op::Select => {
                let [then, otherwise] = [1, 2].map(|at| self.accumulator(data.args[at]));
                self.writer.choose(data.args[0], then, otherwise)
            }
            Op::Binary(op @ (BinaryOp::MinSigned | BinaryOp::MaxSigned), _) => {
                let [a, b] = [0, 1].map(|at| self.accumulator(data.args[at]));
                let how = match op {
                    BinaryOp::MinSigned => IntCondition::LessSigned,
                    _ => IntCondition::GreaterSigned,
                };
                let first = self.writer.compare(how, a, b);
                self.writer.choose(first, a, b)
            }
            Op::Binary(op @ (BinaryOp::Shl | BinaryOp::ShrSigned), _) => {
                let from = self.accumulator(data.args[0]);
                if let Some(by) = places(self.writer.function, data.args[1]) {
                    let by = self.writer.int(Type::I32, by.into());
                    return self.writer.binary(*op, from, by);
                }
                // By as many places as an accumulator has, or more.
                let by = self
                    .writer
                    .convert(Convert::ZeroExtend, data.args[1], Type::I32);
                let most = self.writer.int(Type::I32, i64::from(BITS) - 1);
                let beyond = self.writer.compare(IntCondition::GreaterUnsigned, by, most);
                let by = self.writer.choose(beyond, most, by);
                let moved = self.writer.binary(*op, from, by);
                match op {
                    BinaryOp::Shl => {
                        let none = int(self, 0);
                        self.writer.choose(beyond, none, moved)
                    }
                    _ => moved,
                }
            }
            Op::Binary(op, _) => {
                let [a, b] = [0, 1].map(|at| self.accumulator(data.args[at]));
                self.writer.binary(*op, a, b)
            }
            // A field of bits.
            _ => {
                let (at, length) = field(self.writer.function, data).unwrap_or((0, BITS));
                let from = self.accumulator(data.args[0]);
                let above = BITS.saturating_sub(at + length);
                let [up, down] =
                    [above, above + at].map(|by| self.writer.int(Type::I32, by.into()));
                let high = self.writer.binary(BinaryOp::Shl, from, up);
                self.writer.binary(BinaryOp::ShrSigned, high, down)
            }
        }
    }
}

/// The factors of a product of 32 bits of numbers of 16.
fn factors(function: &Function, value: Value) -> Option<[Value; 2]> {
    let data = function.defining(value)?;
    let is_product = matches!(data.op, Op::Binary(BinaryOp::Mul, _));
    if !is_product || function.ty(value) != Type::I32 {
        return None;
    }
    let factor = |value: Value| {
        let data = function.defining(value)?;
        let from = *data.args.first()?;
        let extends = matches!(data.op, Op::Convert(Convert::SignExtend));
        (extends && function.ty(from) == Type::I16).then_some(from)
    };
    Some([factor(data.args[0])?, factor(data.args[1])?])
}
