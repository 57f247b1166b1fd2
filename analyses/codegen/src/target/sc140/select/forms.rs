//! In which form each value lies in its register.
//!
//! ```text
//! x = a + b (may wrap); x < c       x is extended by its sign to the register's 40 bits where it is defined
//! s = load short; mac s, t, acc     s lies in the high part, where products take it from: `move.f`
//! ```
//!
//! A number of 8, 16 or 32 bits is *extended* where all bits above it are its sign; demand goes backwards from uses that read
//! beyond the width, through block parameters; what is extended anyway goes forwards, optimistically. A number of 16 bits is
//! a *fraction* where bits 31 to 16 hold it and nothing is known of those below. Linear in the instructions for each round,
//! and a round only ever takes something away.

use crate::select::extension;
use ir::*;

pub(super) struct Forms {
    pub(super) needed: EntitySet<Value>,
    /// Keyed by value: how often it is an operand.
    pub(super) uses: EntityVec<Value, u32>,
    demanded: EntityVec<Value, bool>,
    natural: EntityVec<Value, bool>,
    fractions: EntityVec<Value, bool>,
    /// Comparisons that only branches and choices behind them in their block read.
    truths: EntityVec<Value, bool>,
}

impl Forms {
    pub(super) fn of(function: &Function) -> Forms {
        let count = function.values.len();
        let mut forms = Forms {
            needed: crate::select::needed(function),
            uses: ir::needed::uses(function),
            demanded: EntityVec::with_len(false, count),
            natural: EntityVec::with_len(true, count),
            fractions: EntityVec::with_len(true, count),
            truths: EntityVec::with_len(false, count),
        };
        forms.choose_truths(function);
        forms.choose_fractions(function);
        forms.demand(function);
        forms.forward(function);
        forms
    }

    /// Returns true if an extension follows the value's definition.
    pub(super) fn extends(&self, function: &Function, value: Value) -> bool {
        matches!(function.ty(value), Type::I8 | Type::I16 | Type::I32)
            && !self.fractions[value]
            && self.demanded[value]
            && !self.natural[value]
    }
    /// Returns true if the value's register holds it extended by its sign.
    pub(super) fn is_extended(&self, value: Value) -> bool {
        self.demanded[value] || self.natural[value]
    }
    /// Returns true if the value's register holds it in its high part.
    pub(super) fn is_fraction(&self, value: Value) -> bool {
        self.fractions[value]
    }
    /// Returns true if the value is a flag; other truth values are numbers.
    pub(super) fn is_flag(&self, value: Value) -> bool {
        self.truths[value]
    }

    fn choose_truths(&mut self, function: &Function) {
        for &block in &function.layout {
            let data = &function.blocks[block];
            for &inst in &data.insts {
                let made = &function.insts[inst];
                if matches!(made.op, Op::IntCompare(_)) {
                    self.truths[made.results[0]] = true;
                }
            }
        }
        let mut keep: EntityVec<Value, u32> = EntityVec::with_len(0, self.uses.len());
        for &block in &function.layout {
            let data = &function.blocks[block];
            let own = |value: Value| match function.values[value].def {
                ValueDef::Result(inst, _) => data.insts.contains(&inst),
                ValueDef::Param(..) => false,
            };
            for &inst in &data.insts {
                let made = &function.insts[inst];
                if let (Op::Select, Some(&condition)) = (&made.op, made.args.first())
                    && own(condition)
                    && !made.args[1..].contains(&condition)
                {
                    keep[condition] += 1;
                }
            }
            if let Terminator::Branch { condition, .. } = &data.terminator
                && own(*condition)
            {
                keep[*condition] += 1;
            }
        }
        for value in function.values.keys() {
            self.truths[value] &= keep[value] == self.uses[value];
        }
    }

    /// Chooses the values that lie in the high part: those that are defined there at no cost, and worth it.
    fn choose_fractions(&mut self, function: &Function) {
        let mut factors: EntityVec<Value, bool> = EntityVec::with_len(false, self.uses.len());
        let mut others: EntityVec<Value, bool> = EntityVec::with_len(false, self.uses.len());
        for &block in &function.layout {
            for &inst in &function.blocks[block].insts {
                let data = &function.insts[inst];
                for (at, &arg) in data.args.iter().enumerate() {
                    match data.op {
                        Op::Binary(BinaryOp::MulFractional, _) => factors[arg] = true,
                        // Loads that are put there have nothing below.
                        Op::Binary(
                            BinaryOp::AddSaturateSigned | BinaryOp::SubSaturateSigned,
                            _,
                        ) if function.ty(arg) == Type::I16
                            && matches!(
                                function.defining(arg).map(|data| &data.op),
                                Some(Op::Load(_))
                            ) =>
                        {
                            factors[arg] = true;
                        }
                        Op::Store(_) if at > 0 => {}
                        _ => others[arg] = true,
                    }
                }
            }
            let terminator = &function.blocks[block].terminator;
            for &value in terminator.reads() {
                others[value] = true;
            }
        }
        for &value in &function.blocks[function.entry()].params {
            self.fractions[value] = false;
        }
        // What is handed on to a factor is one.
        let given = ir::needed::arguments(function);
        let mut work: Vec<Value> = factors.keys().filter(|&value| factors[value]).collect();
        while let Some(value) = work.pop() {
            for &arg in given[value].iter().filter(|_| !others[value]) {
                if !std::mem::replace(&mut factors[arg], true) {
                    work.push(arg);
                }
            }
        }
        for value in function.values.keys() {
            let possible = function.ty(value) == Type::I16
                && match function.defining(value).map(|data| &data.op) {
                    Some(Op::Load(_)) => factors[value],
                    Some(Op::Unary(UnaryOp::RoundHigh)) => true,
                    Some(Op::Binary(
                        BinaryOp::AddSaturateSigned | BinaryOp::SubSaturateSigned,
                        _,
                    )) => !others[value],
                    Some(Op::Convert(Convert::Truncate)) => high_part(function, value).is_some(),
                    Some(_) => false,
                    // A parameter, where all that arrives is one.
                    None => factors[value] && !others[value],
                };
            self.fractions[value] &= possible;
        }
        let arrives = |fractions: &EntityVec<Value, bool>, arg: Value| {
            let made = function.defining(arg).map(|data| &data.op);
            fractions[arg] || matches!(made, Some(Op::Const(_)))
        };
        extension::hold(function, &mut self.fractions, &|_, _| true, &arrives);
    }

    fn demand(&mut self, function: &Function) {
        let mut work: Vec<Value> = Vec::new();
        for &block in &function.layout {
            for &inst in &function.blocks[block].insts {
                let data = &function.insts[inst];
                let args = data.args.iter().enumerate();
                work.extend(
                    args.filter(|(at, _)| reads_beyond(function, data, *at))
                        .map(|(_, &arg)| arg),
                );
                // A number of 16 bits that is the high part of another one has its sign above it.
                let parts = data.results.iter().filter(|it| self.fractions[**it]);
                work.extend(parts.filter_map(|&part| high_part(function, part)));
            }
            match &function.blocks[block].terminator {
                Terminator::Switch { value, .. } => work.push(*value),
                Terminator::Return(values) => work.extend(values),
                _ => {}
            }
        }
        self.demanded = extension::demanded(function, work.clone());
        // A number that a loop moves on is extended in front of the loop, not in each of its iterations.
        loop {
            let known = work.len();
            for &block in &function.layout {
                for edge in function.blocks[block].terminator.edges() {
                    let params = &function.blocks[edge.block].params;
                    let pairs = params.iter().zip(&edge.args);
                    let pairs = pairs.filter(|(param, _)| !self.demanded[**param]);
                    work.extend(
                        pairs
                            .filter(|pair| self.moves_on(function, *pair))
                            .map(|(it, _)| it),
                    );
                }
            }
            if work.len() == known {
                break;
            }
            self.demanded = extension::demanded(function, work.clone());
        }
    }

    /// Returns true if what arrives in a parameter is a demanded sum of it and a constant.
    fn moves_on(&self, function: &Function, (&param, &arriving): (&Value, &Value)) -> bool {
        self.demanded[arriving]
            && function.defining(arriving).is_some_and(|data| {
                let sum = matches!(
                    data.op,
                    Op::Binary(BinaryOp::Add | BinaryOp::Sub, wrap) if wrap.no_signed
                );
                sum && data.args[0] == param && function.int_constant(data.args[1]).is_some()
            })
    }

    fn forward(&mut self, function: &Function) {
        for (at, &value) in function.blocks[function.entry()].params.iter().enumerate() {
            // Moves from memory extend what they load.
            let loaded = at >= 2 && matches!(function.ty(value), Type::I16 | Type::I32);
            self.natural[value] = loaded;
        }
        let mut natural = std::mem::take(&mut self.natural);
        let demanded = &self.demanded;
        let extended =
            |natural: &EntityVec<Value, bool>, value: Value| demanded[value] || natural[value];
        let has = |natural: &EntityVec<Value, bool>, data: &InstData| {
            is_natural(function, data, &|value| extended(natural, value))
        };
        extension::hold(function, &mut natural, &has, &extended);
        self.natural = natural;
    }
}

/// Returns true if the operation leaves its result extended, where operands are by what is given.
/// What a call returns is a number of its width alone.
fn is_natural(function: &Function, data: &InstData, is_extended: &dyn Fn(Value) -> bool) -> bool {
    use BinaryOp::{
        Add, AddSaturateSigned, And, MaxSigned, MaxUnsigned, MinSigned, MinUnsigned, MulFractional,
        Or, ShlSaturateSigned, ShrSaturateSigned, ShrSigned, ShrUnsigned, Sub, SubSaturateSigned,
        Xor,
    };
    let all = || data.args.iter().all(|&arg| is_extended(arg));
    match &data.op {
        Op::Const(_) | Op::Undef | Op::Load(_) => true,
        Op::Binary(Add | Sub, wrap) => wrap.no_signed && all(),
        // Of factors of 16 bits it is exact.
        Op::Binary(BinaryOp::Mul, _) => {
            let wide = data.results.iter().all(|&to| function.ty(to) == Type::I32);
            wide && data.args.iter().all(|&arg| short(function, arg).is_some())
        }
        Op::Binary(And | Or | Xor, _) => all(),
        Op::Binary(
            AddSaturateSigned | SubSaturateSigned | MulFractional | ShlSaturateSigned
            | ShrSaturateSigned | ShrSigned | MinSigned | MaxSigned | MinUnsigned | MaxUnsigned,
            _,
        ) => true,
        Op::Binary(ShrUnsigned, _) => {
            let by = data.args.get(1).and_then(|&by| function.int_constant(by));
            by.is_some_and(|by| by > 0)
        }
        Op::Unary(UnaryOp::Not) => all(),
        Op::Unary(UnaryOp::Neg | UnaryOp::IntAbs) => {
            let wide = data.results.iter().all(|&to| function.ty(to) == Type::I32);
            wide && short(function, data.args[0]).is_some()
        }
        Op::Unary(UnaryOp::Normalize | UnaryOp::RoundHigh | UnaryOp::AbsSaturateSigned) => true,
        Op::Select => data.args[1..].iter().all(|&arg| is_extended(arg)),
        Op::Convert(Convert::SignExtend | Convert::SaturateSigned) => true,
        // Of fewer bits than the result.
        Op::Convert(Convert::ZeroExtend) => true,
        Op::Convert(Convert::Truncate) => function.ty(data.args[0]) == Type::I40,
        _ => false,
    }
}

/// The number of 32 bits whose high part a value of 16 bits is.
pub(super) fn high_part(function: &Function, value: Value) -> Option<Value> {
    let data = function.defining(value)?;
    if !matches!(data.op, Op::Convert(Convert::Truncate)) || function.ty(value) != Type::I16 {
        return None;
    }
    let shift = function.defining(*data.args.first()?)?;
    let by = function.int_constant(*shift.args.get(1)?)?;
    let is_shift = matches!(
        shift.op,
        Op::Binary(BinaryOp::ShrSigned | BinaryOp::ShrUnsigned, _)
    );
    (is_shift && by == 16 && function.ty(shift.args[0]) == Type::I32).then(|| shift.args[0])
}

/// The value of 16 bits that a number of 32 bits is, or a constant that 16 bits hold.
pub(super) fn short(function: &Function, value: Value) -> Option<Value> {
    if let Some(number) = function.int_constant(value) {
        return (-0x8000..0x8000).contains(&number).then_some(value);
    }
    let data = function.defining(value)?;
    let from = *data.args.first()?;
    let extends = matches!(data.op, Op::Convert(Convert::SignExtend));
    (extends && matches!(function.ty(from), Type::I8 | Type::I16)).then_some(from)
}

/// Returns true if the operation reads what stands above the operand's width.
fn reads_beyond(function: &Function, data: &InstData, at: usize) -> bool {
    use BinaryOp::{
        AddSaturateSigned, DivSigned, DivUnsigned, MaxSigned, MaxUnsigned, MinSigned, MinUnsigned,
        RemSigned, RemUnsigned, ShlSaturateSigned, ShrSaturateSigned, ShrSigned, SubSaturateSigned,
    };
    match &data.op {
        Op::IntCompare(_) | Op::Call(_) | Op::CallUnknown { .. } => true,
        Op::Binary(
            AddSaturateSigned | SubSaturateSigned | ShlSaturateSigned | ShrSaturateSigned
            | DivSigned | DivUnsigned | RemSigned | RemUnsigned | MinSigned | MaxSigned
            | MinUnsigned | MaxUnsigned | ShrSigned,
            _,
        ) => true,
        // The number of places.
        Op::Binary(BinaryOp::Shl | BinaryOp::ShrUnsigned, _) => at == 1,
        Op::Unary(
            UnaryOp::Normalize | UnaryOp::RoundHigh | UnaryOp::AbsSaturateSigned | UnaryOp::IntAbs,
        ) => true,
        Op::Convert(Convert::SaturateSigned) => true,
        Op::Convert(Convert::SignExtend) => function.ty(data.results[0]) == Type::I40,
        _ => false,
    }
}
