//! The interval of every integer: the smallest and the largest number that any lane can hold in it, read with a sign.
//!
//! ```text
//! for (long long k = 0; k < n; k++)  s += a[k];      n : int   [-2^31, 2^31-1]
//!                                                    k         [0, 2^31-1], in the body [0, 2^31-2]
//! ```
//!
//! The lattice is that of intervals within the type, the empty one below: a value that is never computed. A
//! parameter of a block is the join over its edges, each narrowed by the condition that leads there; an
//! operand is narrowed by the conditions of the edges that dominate the block of its use. Bounds that keep
//! growing are widened to the next limit of a type, so that each changes a few times only; two more passes
//! narrow bounds that were widened too far. An operation whose numbers leave its type gives the whole type.
//!
//! Not done: the contents of memory, sums of lanes, relations between two values beyond the one comparison.
//!
//! Paper: Cousot and Cousot, *Static determination of dynamic properties of programs* (1976), with widening to thresholds.

use crate::divergence::Shape;
use crate::model::Options;
use ir::cfg::ControlFlow;
use ir::dominators::DominatorTree;
use ir::{
    BinaryOp, Block, Convert, EntityVec, Function, Inst, IntCondition, Op, Terminator, Type,
    UnaryOp, Value, ValueDef,
};

/// The smallest and the largest number; wide enough for the results of one operation.
pub type Range = (i128, i128);

/// Rounds after which growing bounds are widened.
const PATIENCE: u32 = 4;
/// Rounds after which nothing is known; widening ends long before.
const ROUNDS: u32 = 200;
/// Steps up the dominator tree that a use looks at.
const CONDITIONS: u32 = 64;

/// The bounds to which others are widened, ascending.
const LIMITS: [i128; 12] = [
    i64::MIN as i128,
    i32::MIN as i128,
    -32768,
    -128,
    -1,
    0,
    127,
    255,
    65535,
    i32::MAX as i128,
    u32::MAX as i128,
    i64::MAX as i128,
];

/// The intervals of a function.
#[derive(Debug)]
pub struct Intervals<'f> {
    function: &'f Function,
    shape: Shape,
    values: EntityVec<Value, Option<Range>>,
    /// The nearest block, upward from each and itself included, that one edge of a branch alone leads to,
    /// with the condition that holds there.
    held: EntityVec<Block, Option<Held>>,
    above: EntityVec<Block, Option<Block>>,
}

/// A condition and its value.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Held {
    at: Block,
    condition: Value,
    holds: bool,
}

/// The intervals of a function as it is launched.
#[must_use]
pub fn intervals<'f>(function: &'f Function, options: &Options) -> Intervals<'f> {
    let flow = ControlFlow::new(function);
    let dominators = DominatorTree::dominators(&flow);
    let count = function.blocks.len();
    let mut held = EntityVec::with_len(None, count);
    let mut above = EntityVec::with_len(None, count);
    for &block in &flow.order {
        let own = only_edge(function, &flow, block);
        let parent = dominators.immediate(block);
        held[block] = own.or_else(|| parent.and_then(|parent| held[parent]));
        above[block] = parent;
    }
    let mut all = Intervals {
        function,
        shape: Shape::new(function, options, Vec::new()),
        values: EntityVec::with_len(None, function.values.len()),
        held,
        above,
    };
    all.solve(&flow);
    all
}

/// Returns the condition that holds in a block because one edge of one branch alone leads there.
fn only_edge(function: &Function, flow: &ControlFlow, block: Block) -> Option<Held> {
    let [from] = flow.predecessors[block].as_slice() else {
        return None;
    };
    let (condition, holds) = decided(function, *from, block)?;
    Some(Held {
        at: block,
        condition,
        holds,
    })
}

/// The condition of the edge from one block to another.
fn decided(function: &Function, from: Block, to: Block) -> Option<(Value, bool)> {
    match &function.blocks[from].terminator {
        Terminator::Branch {
            condition,
            then,
            otherwise,
            ..
        } if then.block != otherwise.block => Some((*condition, then.block == to)),
        _ => None,
    }
}

/// All numbers of a type.
#[must_use]
pub fn whole(ty: Type) -> Range {
    match ty {
        Type::Bool => (0, 1),
        ty if ty.is_int() => {
            let half = 1i128 << (ty.bits() - 1);
            (-half, half - 1)
        }
        _ => (i64::MIN.into(), i64::MAX.into()),
    }
}

fn join(a: Option<Range>, b: Option<Range>) -> Option<Range> {
    match (a, b) {
        (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
        (known, None) | (None, known) => known,
    }
}

fn meet(a: Range, b: Range) -> Option<Range> {
    let both = (a.0.max(b.0), a.1.min(b.1));
    (both.0 <= both.1).then_some(both)
}

/// The next limits outside of changed bounds.
fn widened(old: Range, new: Range, ty: Type) -> Range {
    let all = whole(ty);
    let low = LIMITS.iter().rev().find(|limit| **limit <= new.0);
    let high = LIMITS.iter().find(|limit| **limit >= new.1);
    (
        match new.0 < old.0 {
            true => low.copied().unwrap_or(all.0).max(all.0),
            false => new.0,
        },
        match new.1 > old.1 {
            true => high.copied().unwrap_or(all.1).min(all.1),
            false => new.1,
        },
    )
}

impl Intervals<'_> {
    /// The numbers of a value wherever it is; `None`: it is never computed, or is no integer.
    #[must_use]
    pub fn of(&self, value: Value) -> Option<Range> {
        let ty = self.function.ty(value);
        self.values[value].filter(|_| ty.is_int() || ty == Type::Bool)
    }

    /// The numbers of a value in a block, as far as conditions on the way there tell; `None`: it has none there.
    #[must_use]
    pub fn at(&self, value: Value, block: Block) -> Option<Range> {
        let mut range = self.values[value]?;
        let mut next = self.held[block];
        for _ in 0..CONDITIONS {
            let Some(held) = next else {
                break;
            };
            range = self.narrowed(value, range, held.condition, held.holds, 0)?;
            next = self.above[held.at].and_then(|above| self.held[above]);
        }
        Some(range)
    }

    /// Returns true if an operation that saturates may have to, in its block. One that never does is the sum, the product or the
    /// shift alone, and may be computed in another order with others of its kind.
    #[must_use]
    pub fn may_saturate(&self, inst: Inst, block: Block) -> bool {
        let function = self.function;
        let data = &function.insts[inst];
        let Some(&result) = data.results.first() else {
            return false;
        };
        let ty = function.ty(result);
        let of: Option<Vec<Range>> = data.args.iter().map(|&arg| self.at(arg, block)).collect();
        let Some(of) = of else {
            // Never executed.
            return false;
        };
        match unsaturated(&data.op, &of, ty) {
            Some(exact) => saturated(exact, ty) != exact,
            None => false,
        }
    }

    fn solve(&mut self, flow: &ControlFlow) {
        let entry = self.function.entry();
        for &param in &self.function.blocks[entry].params {
            self.values[param] = Some(whole(self.function.ty(param)));
        }
        let mut round = 0;
        loop {
            if !self.pass(flow, Some(round)) {
                break;
            }
            round += 1;
            if round > ROUNDS {
                for value in self.function.values.keys() {
                    self.values[value] = Some(whole(self.function.ty(value)));
                }
                return;
            }
        }
        for _ in 0..2 {
            self.pass(flow, None);
        }
    }

    /// Computes all once more: growing, in the round that is given, or shrinking. Returns whether something changed.
    fn pass(&mut self, flow: &ControlFlow, round: Option<u32>) -> bool {
        let function = self.function;
        let mut changed = false;
        for &block in &flow.order {
            if block != function.entry() {
                for (number, &param) in function.blocks[block].params.iter().enumerate() {
                    let new = self.arriving(flow, block, number);
                    changed |= self.set(param, new, round);
                }
            }
            for &inst in &function.blocks[block].insts {
                for &result in &function.insts[inst].results {
                    let new = self.computed(inst, result, block);
                    changed |= self.set(result, new, round);
                }
            }
        }
        changed
    }

    fn set(&mut self, value: Value, new: Option<Range>, round: Option<u32>) -> bool {
        let old = self.values[value];
        let ty = self.function.ty(value);
        let new = match (old, new, round) {
            (_, new, None) => match (old, new) {
                (Some(old), Some(new)) => meet(old, new),
                _ => None,
            },
            (Some(old), Some(new), Some(round)) => {
                let both = (old.0.min(new.0), old.1.max(new.1));
                Some(match round >= PATIENCE && both != old {
                    true => widened(old, both, ty),
                    false => both,
                })
            }
            (old, new, Some(_)) => join(old, new),
        };
        self.values[value] = new;
        old != new
    }

    /// A parameter of a block over all edges.
    fn arriving(&self, flow: &ControlFlow, block: Block, number: usize) -> Option<Range> {
        let mut all = None;
        for &from in &flow.predecessors[block] {
            for edge in self.function.blocks[from].terminator.edges() {
                if edge.block != block {
                    continue;
                }
                let argument = edge.args[number];
                let mut range = self.at(argument, from);
                if let Some((condition, holds)) = decided(self.function, from, block) {
                    range =
                        range.and_then(|range| self.narrowed(argument, range, condition, holds, 0));
                }
                all = join(all, range);
            }
        }
        all
    }

    /// Returns the range that is left of a value where a condition holds, or does not.
    fn narrowed(
        &self,
        value: Value,
        range: Range,
        condition: Value,
        holds: bool,
        depth: u32,
    ) -> Option<Range> {
        let ValueDef::Result(inst, _) = self.function.values[condition].def else {
            return Some(range);
        };
        let data = &self.function.insts[inst];
        match (&data.op, data.args.as_slice()) {
            (Op::Unary(UnaryOp::Not), &[inner]) if depth < 4 => {
                self.narrowed(value, range, inner, !holds, depth + 1)
            }
            (Op::Binary(BinaryOp::And, _), &[a, b]) if holds && depth < 4 => {
                let range = self.narrowed(value, range, a, true, depth + 1)?;
                self.narrowed(value, range, b, true, depth + 1)
            }
            (Op::Binary(BinaryOp::Or, _), &[a, b]) if !holds && depth < 4 => {
                let range = self.narrowed(value, range, a, false, depth + 1)?;
                self.narrowed(value, range, b, false, depth + 1)
            }
            (Op::IntCompare(comparison), &[a, b])
                if (a == value) != (b == value) && self.function.ty(value).is_int() =>
            {
                let comparison = match holds {
                    true => *comparison,
                    false => comparison.negated(),
                };
                let (comparison, other) = match a == value {
                    true => (comparison, b),
                    false => (comparison.mirrored(), a),
                };
                match self.values[other] {
                    Some(other) => compared(range, comparison, other),
                    None => Some(range),
                }
            }
            _ => Some(range),
        }
    }

    fn computed(&self, inst: Inst, result: Value, block: Block) -> Option<Range> {
        let function = self.function;
        let data = &function.insts[inst];
        let ty = function.ty(result);
        let all = whole(ty);
        if !ty.is_int() {
            return Some(all);
        }
        let clip = |range: Range| match range.0 >= all.0 && range.1 <= all.1 {
            true => range,
            false => all,
        };
        let mut of = Vec::with_capacity(data.args.len());
        for &arg in &data.args {
            of.push(self.at(arg, block)?);
        }
        Some(match (&data.op, of.as_slice()) {
            (Op::Const(bits), _) => {
                let shift = 64 - ty.bits();
                let number = (((*bits << shift) as i64) >> shift).into();
                (number, number)
            }
            (Op::Special(special), _) => {
                let (low, high) = self.shape.range(*special);
                clip((low.into(), high.into()))
            }
            (Op::Select, &[_, then, otherwise]) => {
                let condition = data.args[0];
                let then = self.narrowed(data.args[1], then, condition, true, 0);
                let otherwise = self.narrowed(data.args[2], otherwise, condition, false, 0);
                join(then, otherwise).unwrap_or(all)
            }
            // Wider numbers have more places.
            (Op::Unary(UnaryOp::Normalize), _) => {
                clip((0, i128::from(function.ty(data.args[0]).bits()) - 1))
            }
            (Op::Unary(op), &[a]) => unary(*op, a, ty),
            (Op::Binary(op, _), &[a, b]) => clip(binary(*op, a, b, ty).unwrap_or(all)),
            (Op::Convert(convert), &[a]) => {
                clip(converted(*convert, a, function.ty(data.args[0]), ty).unwrap_or(all))
            }
            _ => all,
        })
    }
}

/// Returns the range that is left of the numbers `a` where `a condition b` for some number of `b`.
fn compared(a: Range, condition: IntCondition, b: Range) -> Option<Range> {
    use IntCondition::*;
    let no_sign = b.0 >= 0;
    match condition {
        Equal => meet(a, b),
        NotEqual if b.0 == b.1 => meet(
            a,
            (a.0 + i128::from(a.0 == b.0), a.1 - i128::from(a.1 == b.0)),
        ),
        LessSigned => meet(a, (i128::MIN, b.1 - 1)),
        LessEqualSigned => meet(a, (i128::MIN, b.1)),
        GreaterSigned => meet(a, (b.0 + 1, i128::MAX)),
        GreaterEqualSigned => meet(a, (b.0, i128::MAX)),
        // Less than a natural number, without a sign: a natural number, too.
        LessUnsigned if no_sign => meet(a, (0, b.1 - 1)),
        LessEqualUnsigned if no_sign => meet(a, (0, b.1)),
        GreaterUnsigned if no_sign && a.0 >= 0 => meet(a, (b.0 + 1, i128::MAX)),
        GreaterEqualUnsigned if no_sign && a.0 >= 0 => meet(a, (b.0, i128::MAX)),
        _ => Some(a),
    }
}

fn unary(op: UnaryOp, a: Range, ty: Type) -> Range {
    let all = whole(ty);
    let range = match op {
        UnaryOp::Neg => (-a.1, -a.0),
        UnaryOp::Not => (-a.1 - 1, -a.0 - 1),
        UnaryOp::IntAbs if a.0 >= 0 => a,
        UnaryOp::IntAbs => (0, a.1.max(-a.0)),
        UnaryOp::PopCount | UnaryOp::CountLeadingZeros | UnaryOp::CountTrailingZeros => {
            (0, ty.bits().into())
        }
        UnaryOp::IntSign => (-1, 1),
        UnaryOp::AbsSaturateSigned if a.0 >= 0 => a,
        UnaryOp::AbsSaturateSigned => (0, a.1.max(-a.0).min(all.1)),
        UnaryOp::RoundHigh => {
            let half = ty.bits();
            let of = |number: i128| ((number + (1i128 << half >> 1)) >> half).min(all.1);
            (of(a.0), of(a.1))
        }
        _ => all,
    };
    match range.0 >= all.0 && range.1 <= all.1 {
        true => range,
        false => all,
    }
}

/// The numbers of a result before it is brought into its type; `None`: nothing is known.
fn binary(op: BinaryOp, a: Range, b: Range, ty: Type) -> Option<Range> {
    let natural = a.0 >= 0 && b.0 >= 0;
    let bits = i128::from(ty.bits());
    let amount = (b.0 == b.1 && b.0 >= 0 && b.0 < bits).then_some(b.0 as u32);
    Some(match op {
        BinaryOp::Add => (a.0 + b.0, a.1 + b.1),
        BinaryOp::Sub => (a.0 - b.1, a.1 - b.0),
        BinaryOp::Mul => product(a, b)?,
        BinaryOp::AddSaturateSigned => saturated((a.0 + b.0, a.1 + b.1), ty),
        BinaryOp::SubSaturateSigned => saturated((a.0 - b.1, a.1 - b.0), ty),
        BinaryOp::MulFractional => {
            let (low, high) = product(a, b)?;
            saturated((2 * low, 2 * high), ty)
        }
        BinaryOp::ShlSaturateSigned => shifted(a, b, ty),
        BinaryOp::ShrSaturateSigned => shifted(a, (-b.1, -b.0), ty),
        BinaryOp::DivFractional if a.0 >= 0 && b.0 > 0 => {
            let scale = ty.bits() - 1;
            saturated(((a.0 << scale) / b.1, (a.1 << scale) / b.0), ty)
        }
        BinaryOp::And if natural => (0, a.1.min(b.1)),
        BinaryOp::And if a.0 >= 0 => (0, a.1),
        BinaryOp::And if b.0 >= 0 => (0, b.1),
        BinaryOp::Or | BinaryOp::Xor if natural => {
            let most = a.1.max(b.1);
            (0, (1i128 << (128 - most.leading_zeros())) - 1)
        }
        BinaryOp::Shl => product(a, (1i128 << amount?, 1i128 << amount?))?,
        BinaryOp::ShrSigned => (a.0 >> amount?, a.1 >> amount?),
        BinaryOp::ShrUnsigned if a.0 >= 0 => match amount {
            Some(amount) => (a.0 >> amount, a.1 >> amount),
            None if b.0 >= 0 && b.1 < bits => (0, a.1),
            None => return None,
        },
        BinaryOp::ShrUnsigned => match amount? {
            0 => a,
            amount => (0, (1i128 << (bits - i128::from(amount))) - 1),
        },
        BinaryOp::DivSigned if b.0 > 0 => (a.0 / if a.0 < 0 { b.0 } else { b.1 }, {
            a.1 / if a.1 < 0 { b.1 } else { b.0 }
        }),
        BinaryOp::DivUnsigned if natural && b.0 > 0 => (a.0 / b.1, a.1 / b.0),
        BinaryOp::RemSigned if b.0 > 0 && a.0 >= 0 => (0, a.1.min(b.1 - 1)),
        BinaryOp::RemSigned if b.0 > 0 => ((1 - b.1).max(a.0), (b.1 - 1).min(a.1.max(0))),
        BinaryOp::RemUnsigned if b.0 > 0 && a.0 >= 0 => (0, a.1.min(b.1 - 1)),
        BinaryOp::RemUnsigned if b.0 > 0 => (0, b.1 - 1),
        BinaryOp::MinSigned => (a.0.min(b.0), a.1.min(b.1)),
        BinaryOp::MaxSigned => (a.0.max(b.0), a.1.max(b.1)),
        BinaryOp::MinUnsigned if natural => (a.0.min(b.0), a.1.min(b.1)),
        BinaryOp::MaxUnsigned if natural => (a.0.max(b.0), a.1.max(b.1)),
        _ => return None,
    })
}

/// The numbers of a saturating operation before it saturates; `None`: it is none.
fn unsaturated(op: &Op, of: &[Range], ty: Type) -> Option<Range> {
    Some(match (op, of) {
        (Op::Binary(BinaryOp::AddSaturateSigned, _), &[a, b]) => (a.0 + b.0, a.1 + b.1),
        (Op::Binary(BinaryOp::SubSaturateSigned, _), &[a, b]) => (a.0 - b.1, a.1 - b.0),
        (Op::Binary(BinaryOp::MulFractional, _), &[a, b]) => {
            let (low, high) = product(a, b)?;
            // The product of two limits alone is beyond them.
            (2 * low, 2 * high)
        }
        (Op::Binary(BinaryOp::ShlSaturateSigned, _), &[a, b]) => moved(a, b, ty),
        (Op::Binary(BinaryOp::ShrSaturateSigned, _), &[a, b]) => moved(a, (-b.1, -b.0), ty),
        (Op::Unary(UnaryOp::AbsSaturateSigned), &[a]) => match a.0 >= 0 {
            true => a,
            false => (0, a.1.max(-a.0)),
        },
        (Op::Unary(UnaryOp::RoundHigh), &[a]) => {
            let half = ty.bits();
            let of = |number: i128| (number + (1i128 << half >> 1)) >> half;
            (of(a.0), of(a.1))
        }
        (Op::Convert(Convert::SaturateSigned), &[a]) => a,
        (Op::Binary(BinaryOp::DivFractional, _), &[a, b]) => match a.0 >= 0 && b.0 > a.1 {
            true => (0, whole(ty).1),
            // Of what is not less than what divides it.
            false => (i128::MIN, i128::MAX),
        },
        _ => return None,
    })
}

/// Returns the range of numbers whose parts beyond a type are taken to its limits.
fn saturated(range: Range, ty: Type) -> Range {
    let all = whole(ty);
    (range.0.clamp(all.0, all.1), range.1.clamp(all.0, all.1))
}

fn shifted(a: Range, places: Range, ty: Type) -> Range {
    saturated(moved(a, places, ty), ty)
}

/// Numbers shifted left by signed places: the further, the further from zero.
fn moved(a: Range, places: Range, ty: Type) -> Range {
    let most = i128::from(ty.bits());
    let by = |number: i128, places: i128| match places.clamp(-most, most) {
        places @ 0.. => number << places,
        places => number >> -places,
    };
    let low = by(a.0, places.0).min(by(a.0, places.1));
    let high = by(a.1, places.0).max(by(a.1, places.1));
    (low, high)
}

fn product(a: Range, b: Range) -> Option<Range> {
    let corners = [
        a.0.checked_mul(b.0)?,
        a.0.checked_mul(b.1)?,
        a.1.checked_mul(b.0)?,
        a.1.checked_mul(b.1)?,
    ];
    Some((*corners.iter().min()?, *corners.iter().max()?))
}

fn converted(convert: Convert, a: Range, from: Type, to: Type) -> Option<Range> {
    let integer = from.is_int() || from == Type::Bool;
    match convert {
        Convert::SignExtend if from.is_int() => Some(a),
        // A number of more bits that has too many is nothing known: it does not fit.
        Convert::Truncate | Convert::Bitcast if from.is_int() => Some(a),
        Convert::SaturateSigned if from.is_int() => Some(saturated(a, to)),
        Convert::ZeroExtend if integer => Some(match (a.0 >= 0, a.1 < 0) {
            (true, _) => a,
            (_, true) => (a.0 + (1i128 << from.bits()), a.1 + (1i128 << from.bits())),
            _ => (0, (1i128 << from.bits()) - 1),
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_narrow_from_both_sides() {
        let all = whole(Type::I64);
        assert_eq!(
            compared(all, IntCondition::LessUnsigned, (5, 9)),
            Some((0, 8))
        );
        assert_eq!(
            compared((0, 9), IntCondition::GreaterUnsigned, (5, 9)),
            Some((6, 9))
        );
        // Without a sign a negative number is a large one.
        assert_eq!(
            compared(all, IntCondition::GreaterUnsigned, (5, 9)),
            Some(all)
        );
        assert_eq!(
            compared(all, IntCondition::LessUnsigned, (-1, 9)),
            Some(all)
        );
        assert_eq!(
            compared((0, 9), IntCondition::NotEqual, (9, 9)),
            Some((0, 8))
        );
        assert_eq!(compared((0, 9), IntCondition::LessSigned, (0, 0)), None);
    }

    #[test]
    fn saturation_is_excluded_where_ranges_prove_it() {
        let text = "function \"f\" host c -> i32 {
b0(v0: i16, v1: i32, v2: i16):
  v3: i16 = const 255
  v4: i16 = and v0, v3
  v5: i32 = mul_frac v4, v3
  v6: i32 = mul_frac v0, v2
  v7: i32 = add_sat v5, v5
  v8: i32 = add_sat v7, v1
  v9: i16 = round_high v5
  v10: i16 = const 3
  v11: i16 = shl_sat v4, v10
  v12: i16 = shl_sat v4, v2
  v13: i16 = sat_s v5
  v14: i16 = shr_sat v0, v10
  return v8
}
";
        let module = ir::text::parse_module(text).expect("a module");
        let function = &module.functions[0];
        let all = intervals(function, &Options::default());
        let entry = function.entry();
        let may: Vec<Value> = function.blocks[entry]
            .insts
            .iter()
            .filter(|&&inst| all.may_saturate(inst, entry))
            .map(|&inst| function.insts[inst].results[0])
            .collect();
        assert_eq!(may, [6, 8, 12, 13].map(Value));
    }

    #[test]
    fn divisions_and_remainders_have_the_signs_of_c() {
        let of = |op, a, b| binary(op, a, b, Type::I32);
        assert_eq!(of(BinaryOp::DivSigned, (-7, 9), (2, 4)), Some((-3, 4)));
        assert_eq!(of(BinaryOp::DivSigned, (-9, -7), (2, 4)), Some((-4, -1)));
        assert_eq!(of(BinaryOp::RemSigned, (-7, 9), (1, 4)), Some((-3, 3)));
        assert_eq!(of(BinaryOp::RemSigned, (-2, 1), (1, 4)), Some((-2, 1)));
        assert_eq!(of(BinaryOp::DivSigned, (1, 2), (-1, 4)), None);
        assert_eq!(of(BinaryOp::Shl, (1, 3), (4, 4)), Some((16, 48)));
        assert_eq!(of(BinaryOp::Or, (0, 5), (0, 9)), Some((0, 15)));
    }
}
