//! A function executed on truth functions: all its paths, with what each returns and leaves in memory.
//!
//! ```text
//! if (s > 32767) r = 32767; else r = s;         two paths, under the conditions `s > 32767` and its opposite
//! ```
//!
//! A loop is run until no lane of thought is left in it. One that goes on beyond the largest number of places is closed by
//! induction: what did not change in its last round is held, the rest is forgotten, and one more round must hold the same.
//! That it ends is taken for granted, as C does.
//!
//! Refused: what reads or writes memory other than whole global scalars, calls what is not in sight, divides, or is no integer.

use super::bdd::{Diagrams, FALSE, TRUE, Truth};
use super::words::{Bits, Towards, constant, extended, known, left, padded};
use crate::entity::{Block, Value};
use crate::function::{Edge, Module, Terminator};
use crate::inst::{BinaryOp, Convert, InstData, IntCondition, Op, UnaryOp};
use crate::types::Type;
use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use std::rc::Rc;

/// Rounds of a loop before it is closed.
const ROUNDS: u32 = 70;
/// Instructions of all paths together.
const STEPS: u32 = 60_000;
const DEPTH: u32 = 12;
/// The first variable of what is forgotten, behind all others.
const FORGOTTEN: u32 = 100_000;
/// The first variable of what memory holds.
const HELD: u32 = 50_000;

/// The contents of memory, by the name of the global.
pub(super) type Memory = FxHashMap<SmolStr, Bits>;

/// One way out of a function.
#[derive(Clone, Debug)]
pub(super) struct Outcome {
    /// The condition under which it is taken.
    pub(super) path: Truth,
    pub(super) returned: Vec<Bits>,
    pub(super) memory: Memory,
}

/// The product that is not looked into, and of what.
pub(super) struct Product<'g> {
    pub(super) factors: [&'g Bits; 2],
    pub(super) value: &'g Bits,
}

pub(super) struct Machine<'m> {
    pub(super) module: &'m Module,
    pub(super) diagrams: &'m mut Diagrams,
    /// The condition that is known of the operands.
    pub(super) care: Truth,
    pub(super) product: Option<Product<'m>>,
    /// The contents of memory at first.
    pub(super) initial: Memory,
    steps: u32,
    forgotten: u32,
}

#[derive(Clone, Debug)]
enum Content {
    Number(Bits),
    Address(SmolStr),
}

/// The number of times that a path came to a block, and what it brought.
#[derive(Clone, Debug)]
struct Visit {
    count: u32,
    last: Vec<Option<Bits>>,
    memory: Memory,
}

#[derive(Clone, Debug)]
struct State {
    values: FxHashMap<Value, Content>,
    path: Truth,
    memory: Memory,
    visits: FxHashMap<Block, Visit>,
    /// A loop that is closed: its head, and what each of its parameters must hold.
    closed: Option<(Block, Vec<Option<Bits>>)>,
}

impl<'m> Machine<'m> {
    pub(super) fn new(
        module: &'m Module,
        diagrams: &'m mut Diagrams,
        care: Truth,
        product: Option<Product<'m>>,
    ) -> Machine<'m> {
        Machine {
            module,
            diagrams,
            care,
            product,
            initial: Memory::default(),
            steps: 0,
            forgotten: FORGOTTEN,
        }
    }

    fn possible(&mut self, path: Truth) -> bool {
        self.diagrams.and(path, self.care) != FALSE
    }

    /// Returns true if two numbers are equal wherever a path is taken.
    fn same(&mut self, a: &[Truth], b: &[Truth], path: Truth) -> bool {
        let there = self.diagrams.and(path, self.care);
        !self.diagrams.unlike_where(a, b, there)
    }

    /// All ways out; `None`: it is not understood.
    pub(super) fn run(
        &mut self,
        number: usize,
        arguments: &[Bits],
        path: Truth,
        memory: Memory,
        depth: u32,
    ) -> Option<Vec<Outcome>> {
        if depth > DEPTH {
            return None;
        }
        let module = self.module;
        let function = module.functions.get(number)?;
        let entry = function.entry();
        let mut values = FxHashMap::default();
        let params = &function.blocks[entry].params;
        if params.len() != arguments.len() {
            return None;
        }
        for (&param, argument) in params.iter().zip(arguments) {
            values.insert(param, Content::Number(argument.clone()));
        }
        let mut outcomes = Vec::new();
        let mut open = vec![(
            State {
                values,
                path,
                memory,
                visits: FxHashMap::default(),
                closed: None,
            },
            entry,
            0usize,
        )];
        'paths: while let Some((mut state, block, from)) = open.pop() {
            if self.diagrams.is_full() {
                return None;
            }
            let data = &function.blocks[block];
            for (at, &inst) in data.insts.iter().enumerate().skip(from) {
                self.steps += 1;
                if self.steps > STEPS {
                    return None;
                }
                let data = &function.insts[inst];
                if let Op::Call(callee) = data.op {
                    let mut given = Vec::new();
                    for &arg in &data.args {
                        given.push(number_of(&state, arg)?);
                    }
                    let memory = state.memory.clone();
                    for way in self.run(callee as usize, &given, state.path, memory, depth + 1)? {
                        let mut after = state.clone();
                        after.path = way.path;
                        after.memory = way.memory;
                        for (&result, bits) in data.results.iter().zip(way.returned) {
                            after.values.insert(result, Content::Number(bits));
                        }
                        open.push((after, block, at + 1));
                    }
                    continue 'paths;
                }
                self.inst(number, &mut state, data)?;
            }
            match &data.terminator {
                Terminator::Return(results) => {
                    let returned = results.iter().map(|&value| number_of(&state, value));
                    outcomes.push(Outcome {
                        path: state.path,
                        returned: returned.collect::<Option<_>>()?,
                        memory: state.memory,
                    });
                }
                Terminator::Jump(edge) => self.follow(state, edge, number, &mut open)?,
                Terminator::Branch {
                    condition,
                    then,
                    otherwise,
                    ..
                } => {
                    let holds = number_of(&state, *condition)?[0];
                    let fails = self.diagrams.not(holds);
                    for (edge, truth) in [(then, holds), (otherwise, fails)] {
                        let path = self.diagrams.and(state.path, truth);
                        if self.possible(path) {
                            let mut state = state.clone();
                            state.path = path;
                            self.follow(state, edge, number, &mut open)?;
                        }
                    }
                }
                _ => return None,
            }
        }
        Some(outcomes)
    }

    /// Goes along an edge, and counts.
    fn follow(
        &mut self,
        mut state: State,
        edge: &Edge,
        number: usize,
        open: &mut Vec<(State, Block, usize)>,
    ) -> Option<()> {
        let function = &self.module.functions[number];
        let params = &function.blocks[edge.block].params;
        let mut contents = Vec::new();
        for &arg in &edge.args {
            contents.push(state.values.get(&arg)?.clone());
        }
        let numbers: Vec<Option<Bits>> = contents
            .iter()
            .map(|content| match content {
                Content::Number(bits) => Some(bits.clone()),
                Content::Address(_) => None,
            })
            .collect();
        if let Some((head, held)) = state.closed.clone()
            && head == edge.block
        {
            for (held, now) in held.iter().zip(&numbers) {
                if let (Some(held), Some(now)) = (held, now)
                    && !self.same(held, now, state.path)
                {
                    return None;
                }
            }
            return Some(());
        }
        let before = state.visits.get(&edge.block).cloned();
        let count = before.as_ref().map_or(0, |visit| visit.count) + 1;
        // The blocks of a closed loop are seen once more.
        if count > ROUNDS + 1 {
            return None;
        }
        if count > ROUNDS && state.closed.is_none() {
            let before = before?;
            let mut held = Vec::new();
            for (at, (last, now)) in before.last.iter().zip(&numbers).enumerate() {
                let (Some(last), Some(now)) = (last, now) else {
                    held.push(None);
                    continue;
                };
                if self.same(last, now, state.path) {
                    held.push(Some(now.clone()));
                    continue;
                }
                held.push(None);
                let fresh: Bits = now.iter().map(|_| self.forget()).collect();
                contents[at] = Content::Number(fresh);
            }
            if before.memory.len() != state.memory.len() {
                return None;
            }
            for (name, last) in &before.memory {
                let now = state.memory.get(name)?.clone();
                if !self.same(last, &now, state.path) {
                    return None;
                }
            }
            state.closed = Some((edge.block, held));
        }
        let memory = state.memory.clone();
        state.visits.insert(
            edge.block,
            Visit {
                count,
                last: numbers,
                memory,
            },
        );
        for (&param, content) in params.iter().zip(contents) {
            state.values.insert(param, content);
        }
        open.push((state, edge.block, 0));
        Some(())
    }

    fn forget(&mut self) -> Truth {
        self.forgotten += 1;
        self.diagrams.variable(self.forgotten)
    }

    fn inst(&mut self, number: usize, state: &mut State, data: &InstData) -> Option<()> {
        let function = &self.module.functions[number];
        if data.guard.is_some() {
            return None;
        }
        match &data.op {
            Op::SymbolAddress(symbol) => {
                let name = function.symbols[*symbol].name.clone();
                let address = Content::Address(name);
                state.values.insert(*data.results.first()?, address);
                return Some(());
            }
            Op::Convert(Convert::SpaceCast | Convert::Bitcast)
                if matches!(
                    state.values.get(data.args.first()?),
                    Some(Content::Address(_))
                ) =>
            {
                let address = state.values[&data.args[0]].clone();
                state.values.insert(*data.results.first()?, address);
                return Some(());
            }
            Op::Load(access) if !access.volatile => {
                let &[result] = data.results.as_slice() else {
                    return None;
                };
                let width = width_of(function.ty(result))?;
                let name = address_of(state, data.args[0])?;
                let bits = self.held(state, &name, width)?;
                state.values.insert(result, Content::Number(bits));
                return Some(());
            }
            Op::Store(access) if !access.volatile => {
                let &[address, value] = data.args.as_slice() else {
                    return None;
                };
                let name = address_of(state, address)?;
                let bits = number_of(state, value)?;
                self.held(state, &name, bits.len())?;
                state.memory.insert(name, bits);
                return Some(());
            }
            _ => {}
        }
        let &[result] = data.results.as_slice() else {
            return None;
        };
        let width = width_of(function.ty(result))?;
        let mut args = Vec::new();
        for &arg in &data.args {
            args.push(number_of(state, arg)?);
        }
        let bits = self.computed(&data.op, &args, width)?;
        debug_assert_eq!(bits.len(), width);
        state.values.insert(result, Content::Number(bits));
        Some(())
    }

    /// The contents of a global; all of it, by one width throughout.
    fn held(&mut self, state: &mut State, name: &SmolStr, width: usize) -> Option<Bits> {
        if let Some(known) = state.memory.get(name) {
            return (known.len() == width).then(|| known.clone());
        }
        if !self.initial.contains_key(name) {
            let first = HELD + 100 * self.initial.len() as u32;
            let bits: Bits = (0..width as u32)
                .map(|at| self.diagrams.variable(first + at))
                .collect();
            self.initial.insert(name.clone(), bits);
        }
        let bits = self.initial[name].clone();
        state.memory.insert(name.clone(), bits.clone());
        (bits.len() == width).then_some(bits)
    }

    fn computed(&mut self, op: &Op, args: &[Bits], width: usize) -> Option<Bits> {
        Some(match (op, args) {
            (Op::Const(bits), _) => constant(*bits as i64, width),
            (Op::Undef, _) => (0..width).map(|_| self.forget()).collect(),
            (Op::Unary(op), [a]) => self.unary(*op, a, width)?,
            (Op::Binary(op, _), [a, b]) => self.binary(*op, a, b, width)?,
            (Op::IntCompare(condition), [a, b]) => {
                let truth = self.compared(*condition, a, b);
                Rc::from([truth])
            }
            (Op::Select, [c, a, b]) => self.diagrams.pick(c[0], a, b),
            (Op::Convert(kind), [a]) => match kind {
                Convert::Truncate | Convert::SignExtend | Convert::Bitcast => extended(a, width),
                Convert::ZeroExtend => padded(a, width),
                Convert::ToBool => Rc::from([self.diagrams.any(a)]),
                Convert::SaturateSigned => self.diagrams.clamped(a, width).0,
                _ => return None,
            },
            _ => return None,
        })
    }

    fn unary(&mut self, op: UnaryOp, a: &Bits, width: usize) -> Option<Bits> {
        Some(match op {
            UnaryOp::Neg => self.diagrams.negated(a),
            UnaryOp::Not => self.diagrams.inverted(a),
            UnaryOp::IntAbs => {
                let negated = self.diagrams.negated(a);
                self.diagrams.pick(super::words::sign(a), &negated, a)
            }
            UnaryOp::CountLeadingZeros => self.diagrams.leading_zeros(a, width),
            _ => return None,
        })
    }

    fn binary(&mut self, op: BinaryOp, a: &Bits, b: &Bits, width: usize) -> Option<Bits> {
        let d = &mut *self.diagrams;
        Some(match op {
            BinaryOp::Add => d.add(a, b),
            BinaryOp::Sub => d.subtract(a, b),
            BinaryOp::Mul => return self.multiplied(a, b, width),
            BinaryOp::And => d.map2(a, b, Diagrams::and),
            BinaryOp::Or => d.map2(a, b, Diagrams::or),
            BinaryOp::Xor => d.map2(a, b, Diagrams::xor),
            BinaryOp::Shl => d.moved(a, b, Towards::Left),
            BinaryOp::ShrSigned => d.moved(a, b, Towards::RightSigned),
            BinaryOp::ShrUnsigned => d.moved(a, b, Towards::RightUnsigned),
            BinaryOp::MinSigned => {
                let below = d.below_signed(a, b);
                d.pick(below, a, b)
            }
            BinaryOp::MaxSigned => {
                let below = d.below_signed(a, b);
                d.pick(below, b, a)
            }
            BinaryOp::AddSaturateSigned | BinaryOp::SubSaturateSigned => {
                let (a, b) = (extended(a, width + 1), extended(b, width + 1));
                let wide = match op {
                    BinaryOp::AddSaturateSigned => d.add(&a, &b),
                    _ => d.subtract(&a, &b),
                };
                d.clamped(&wide, width).0
            }
            BinaryOp::MulFractional => {
                let (a, b) = (extended(a, width), extended(b, width));
                let product = self.multiplied(&a, &b, width)?;
                let wide = left(&extended(&product, width + 2), 1);
                self.diagrams.clamped(&wide, width).0
            }
            _ => return None,
        })
    }

    /// A product: with a number, by what is known of the operands, or bit by bit.
    fn multiplied(&mut self, a: &Bits, b: &Bits, width: usize) -> Option<Bits> {
        if let Some(product) = &self.product
            && known(a).is_none()
            && known(b).is_none()
        {
            let [x, y] = product.factors.map(|of| extended(of, width));
            // Factors may have been moved to the left before.
            let places = |of: &Bits, wide: &Bits| (0..=16).find(|&by| left(wide, by) == *of);
            let both = |x: &Bits, y: &Bits| Some(places(a, x)? + places(b, y)?);
            let by = both(&x, &y).or_else(|| both(&y, &x))?;
            return Some(left(&extended(product.value, width), by));
        }
        Some(self.diagrams.product(a, b))
    }

    fn compared(&mut self, condition: IntCondition, a: &Bits, b: &Bits) -> Truth {
        use IntCondition::*;
        let d = &mut *self.diagrams;
        match condition {
            Equal => d.equal(a, b),
            NotEqual => d.unlike(a, b),
            LessSigned => d.below_signed(a, b),
            GreaterSigned => d.below_signed(b, a),
            LessUnsigned => d.below(a, b),
            GreaterUnsigned => d.below(b, a),
            LessEqualSigned | GreaterEqualSigned | LessEqualUnsigned | GreaterEqualUnsigned => {
                let opposite = self.compared(condition.negated(), a, b);
                self.diagrams.not(opposite)
            }
        }
    }
}

fn width_of(ty: Type) -> Option<usize> {
    (ty.is_int() || ty == Type::Bool).then(|| ty.bits() as usize)
}

fn number_of(state: &State, value: Value) -> Option<Bits> {
    match state.values.get(&value)? {
        Content::Number(bits) => Some(bits.clone()),
        Content::Address(_) => None,
    }
}

fn address_of(state: &State, value: Value) -> Option<SmolStr> {
    match state.values.get(&value)? {
        Content::Address(name) => Some(name.clone()),
        Content::Number(_) => None,
    }
}

/// The condition of all paths together.
pub(super) const EVERYWHERE: Truth = TRUE;
