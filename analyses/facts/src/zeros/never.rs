//! Values that are zero in no warp: those whose range excludes zero, and those that differ from lane to lane.
//!
//! ```text
//! saturate(x) + 0.0001     at least 0.0001          threadIdx.x     0 in one lane of a warp at most
//! ```
//!
//! Ranges are intervals of real numbers, forward from constants and from operations with a bounded result; the bounds of
//! floats hold up to rounding, which moves no number across a bound that it represents. NaN is no zero, but some
//! operations give another operand for it. Stops because a value is asked once; a value that feeds itself has no range.

use crate::model::{Class, FunctionFacts};
use ir::{
    BinaryOp, Block, Convert, EntityVec, Function, InstData, Op, Special, Type, UnaryOp, Value,
    ValueDef,
};
use rustc_hash::FxHashMap;

/// The reason why a value is zero in no warp.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Never {
    /// Its range.
    Range,
    /// Lanes hold different values.
    Lanes,
}

impl Never {
    /// Returns the reason for people.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Never::Range => "its range excludes zero",
            Never::Lanes => "neighbouring lanes hold different values",
        }
    }
}

/// Operations above each other that are followed.
const DEPTH: u32 = 24;

#[derive(Clone, Copy, PartialEq, Debug)]
struct Range {
    low: f64,
    high: f64,
    nan: bool,
}

const ANY: Range = Range {
    low: f64::NEG_INFINITY,
    high: f64::INFINITY,
    nan: true,
};

const fn between(low: f64, high: f64) -> Range {
    Range {
        low,
        high,
        nan: false,
    }
}

impl Range {
    fn union(self, other: Range) -> Range {
        Range {
            low: self.low.min(other.low),
            high: self.high.max(other.high),
            nan: self.nan || other.nan,
        }
    }
    const fn is_bounded(self) -> bool {
        self.low.is_finite() && self.high.is_finite()
    }
    fn sum(self, other: Range) -> Range {
        Range {
            low: self.low + other.low,
            high: self.high + other.high,
            nan: self.nan || other.nan || !(self.is_bounded() && other.is_bounded()),
        }
    }
    fn product(self, other: Range) -> Range {
        let times = |a: f64, b: f64| if a == 0.0 || b == 0.0 { 0.0 } else { a * b };
        let all = [
            times(self.low, other.low),
            times(self.low, other.high),
            times(self.high, other.low),
            times(self.high, other.high),
        ];
        Range {
            low: all.iter().copied().fold(f64::INFINITY, f64::min),
            high: all.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            nan: self.nan || other.nan || !(self.is_bounded() && other.is_bounded()),
        }
    }
    fn negated(self) -> Range {
        Range {
            low: -self.high,
            high: -self.low,
            nan: self.nan,
        }
    }
    /// The greater of two floats, which for a NaN is the other one.
    fn greater(self, other: Range) -> Range {
        let mut out = between(self.low.max(other.low), self.high.max(other.high));
        if self.nan {
            out = out.union(between(other.low, other.high));
        }
        if other.nan {
            out = out.union(between(self.low, self.high));
        }
        out.nan = self.nan && other.nan;
        out
    }
}

/// The ranges of a function's values, as far as they are asked.
#[derive(Debug)]
pub struct Ranges<'f> {
    function: &'f Function,
    known: EntityVec<Value, Option<Range>>,
    /// The arguments that edges bring to parameters; of all blocks once one is asked.
    incoming: Option<FxHashMap<Value, Vec<Value>>>,
}

impl<'f> Ranges<'f> {
    #[must_use]
    pub fn new(function: &'f Function) -> Self {
        Ranges {
            function,
            known: EntityVec::with_len(None, function.values.len()),
            incoming: None,
        }
    }

    /// Zero is not among the possible numbers of the value.
    pub fn excludes_zero(&mut self, value: Value) -> bool {
        let range = self.of(value, DEPTH);
        // Below, a format or a flush to zero may round.
        let least = match self.function.ty(value) {
            Type::F16 => 1e-4,
            ty if ty.is_float() => 1e-30,
            _ => 0.5,
        };
        range.low >= least || range.high <= -least
    }

    fn of(&mut self, value: Value, depth: u32) -> Range {
        if let Some(known) = self.known[value] {
            return known;
        }
        if depth == 0 {
            return ANY;
        }
        // Until it is known: a value that feeds itself has no range.
        self.known[value] = Some(ANY);
        let function = self.function;
        let found = match function.values[value].def {
            ValueDef::Result(inst, _) if function.insts[inst].guard.is_none() => {
                self.result(&function.insts[inst], function.ty(value), depth - 1)
            }
            ValueDef::Result(..) => ANY,
            ValueDef::Param(..) => {
                let incoming = self.incoming.get_or_insert_with(|| incoming(function));
                let from = incoming.get(&value).cloned().unwrap_or_default();
                let mut all = from.into_iter().map(|it| self.of(it, depth - 1));
                let first = all.next().unwrap_or(ANY);
                all.fold(first, Range::union)
            }
        };
        self.known[value] = Some(found);
        found
    }

    fn result(&mut self, data: &InstData, ty: Type, depth: u32) -> Range {
        let function = self.function;
        let arg = |at: usize| data.args.get(at).copied();
        let mut of = |at: usize| arg(at).map_or(ANY, |value| self.of(value, depth));
        let squared = arg(0).is_some() && arg(0) == arg(1);
        let found = match &data.op {
            Op::Const(bits) if ty.is_float() => {
                let number = ir::numbers::to_f64(ty, *bits);
                match number.is_nan() {
                    true => ANY,
                    false => between(number, number),
                }
            }
            Op::Const(bits) => between(*bits as i64 as f64, *bits as i64 as f64),
            Op::Special(special) => match special {
                Special::ThreadId(_) => between(0.0, 1023.0),
                Special::LaneId => between(0.0, 127.0),
                Special::BlockDim(_) | Special::WarpCount => between(1.0, 1024.0),
                Special::WarpSize => between(1.0, 128.0),
                Special::GridDim(_) => between(1.0, 2_147_483_647.0),
                Special::BlockId(_) => between(0.0, 2_147_483_646.0),
                _ => ANY,
            },
            Op::Unary(UnaryOp::Saturate) => between(0.0, of(0).high.clamp(0.0, 1.0)),
            Op::Unary(UnaryOp::FloatNeg) => of(0).negated(),
            Op::Unary(UnaryOp::FloatAbs) => {
                let a = of(0);
                match a {
                    _ if a.low >= 0.0 => a,
                    _ if a.high <= 0.0 => a.negated(),
                    _ => Range {
                        low: 0.0,
                        high: a.high.max(-a.low),
                        nan: a.nan,
                    },
                }
            }
            Op::Unary(UnaryOp::Sqrt) => {
                let a = of(0);
                Range {
                    low: a.low.max(0.0).sqrt() * 0.999,
                    high: a.high.max(0.0).sqrt() * 1.001,
                    nan: a.nan || a.low < 0.0,
                }
            }
            Op::Unary(UnaryOp::Exp | UnaryOp::Exp2) => {
                let a = of(0);
                // Whichever base, with room for its rounding.
                let low = match a.low >= -40.0 {
                    true => (a.low.min(0.0)).exp() * 0.9,
                    false => 0.0,
                };
                Range {
                    low,
                    high: f64::INFINITY,
                    nan: a.nan,
                }
            }
            Op::Unary(
                UnaryOp::Sin | UnaryOp::Cos | UnaryOp::ApproximateSin | UnaryOp::ApproximateCos,
            ) => Range {
                nan: true,
                ..between(-1.0, 1.0)
            },
            Op::Unary(UnaryOp::Fract) => Range {
                nan: true,
                ..between(0.0, 1.0)
            },
            Op::Binary(BinaryOp::FloatAdd, _) => of(0).sum(of(1)),
            Op::Binary(BinaryOp::FloatSub, _) => {
                let other = of(1).negated();
                of(0).sum(other)
            }
            Op::Binary(BinaryOp::FloatMul, _) if squared => square(of(0)),
            Op::Binary(BinaryOp::FloatMul, _) => of(0).product(of(1)),
            Op::Fma => {
                let product = match squared {
                    true => square(of(0)),
                    false => of(0).product(of(1)),
                };
                product.sum(of(2))
            }
            Op::Binary(BinaryOp::FloatMax, _) => of(0).greater(of(1)),
            Op::Binary(BinaryOp::FloatMin, _) => {
                let (a, b) = (of(0).negated(), of(1).negated());
                a.greater(b).negated()
            }
            Op::Binary(BinaryOp::Add, _) => fits(of(0).sum(of(1)), ty),
            Op::Binary(BinaryOp::Sub, _) => {
                let other = of(1).negated();
                fits(of(0).sum(other), ty)
            }
            Op::Binary(BinaryOp::Mul, _) => fits(of(0).product(of(1)), ty),
            Op::Binary(BinaryOp::MaxSigned, _) => {
                let (a, b) = (of(0), of(1));
                between(a.low.max(b.low), a.high.max(b.high))
            }
            Op::Binary(BinaryOp::MinSigned, _) => {
                let (a, b) = (of(0), of(1));
                between(a.low.min(b.low), a.high.min(b.high))
            }
            Op::Binary(BinaryOp::Or, _) => {
                let (a, b) = (of(0), of(1));
                match a.low >= 0.0 && b.low >= 0.0 {
                    true => between(a.low.max(b.low), a.high + b.high),
                    false => ANY,
                }
            }
            Op::Binary(BinaryOp::And, _) => {
                let (a, b) = (of(0), of(1));
                match a.low >= 0.0 || b.low >= 0.0 {
                    true => {
                        let most = |r: Range| if r.low >= 0.0 { r.high } else { f64::INFINITY };
                        between(0.0, most(a).min(most(b)))
                    }
                    false => ANY,
                }
            }
            Op::Select => of(1).union(of(2)),
            Op::Convert(Convert::FloatToFloat | Convert::SignExtend | Convert::SignedToFloat) => {
                of(0)
            }
            Op::Convert(Convert::ZeroExtend | Convert::UnsignedToFloat) => {
                let from = arg(0).map_or(ty, |value| function.ty(value));
                match (of(0), from) {
                    (_, Type::Bool) => between(0.0, 1.0),
                    (a, _) if a.low >= 0.0 => a,
                    _ if from.bits() <= 32 => between(0.0, (from.bits() as f64).exp2()),
                    _ => between(0.0, f64::INFINITY),
                }
            }
            _ => ANY,
        };
        match found.low > found.high {
            true => ANY,
            false => found,
        }
    }
}

fn square(of: Range) -> Range {
    let low = match of.low <= 0.0 && of.high >= 0.0 {
        true => 0.0,
        false => of.low.abs().min(of.high.abs()).powi(2),
    };
    Range {
        low,
        high: f64::INFINITY,
        nan: of.nan,
    }
}

/// Returns the operands of an operation that does not wrap, as signed numbers.
fn fits(range: Range, ty: Type) -> Range {
    let most = f64::from(ty.bits().clamp(2, 53) - 1).exp2();
    match range.low >= -most && range.high < most {
        true => between(range.low, range.high),
        false => ANY,
    }
}

fn incoming(function: &Function) -> FxHashMap<Value, Vec<Value>> {
    let mut found: FxHashMap<Value, Vec<Value>> = FxHashMap::default();
    for &block in &function.layout {
        for edge in function.blocks[block].terminator.edges() {
            for (&param, &arg) in function.blocks[edge.block].params.iter().zip(&edge.args) {
                found.entry(param).or_default().push(arg);
            }
        }
    }
    found
}

/// Returns the reason why `values`, which are tested together in a block, are zero together in no warp;
/// `None`: they may be.
#[must_use]
pub fn never_zero(
    function: &Function,
    facts: &FunctionFacts,
    values: &[Value],
    block: Block,
) -> Option<Never> {
    let mut ranges = Ranges::new(function);
    if values.iter().any(|&value| ranges.excludes_zero(value)) {
        return Some(Never::Range);
    }
    let differs = |&value: &Value| {
        let fact = facts.at(value, block);
        fact.class == Class::Affine && !fact.assumed && of_lanes(function, value, DEPTH)
    };
    values.iter().any(differs).then_some(Never::Lanes)
}

/// Made of the thread's place in its row.
fn of_lanes(function: &Function, value: Value, depth: u32) -> bool {
    let Some(data) = function.defining(value).filter(|_| depth > 0) else {
        return false;
    };
    match &data.op {
        Op::Special(special) => matches!(special, Special::ThreadId(0) | Special::LaneId),
        Op::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Shl, _)
        | Op::Convert(_) => data
            .args
            .iter()
            .any(|&arg| of_lanes(function, arg, depth - 1)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_exclude_zero_or_do_not() {
        let function = ir::text::parse(
            r#"
function "f" kernel text {
  parameter "p" "float*" (v0)

b0(v0: ptr.global):
  v1: f32 = load.global v0
  v2: f32 = saturate v1
  v3: f32 = const 0.0001
  v4: f32 = fadd v2, v3
  v5: f32 = fmul v1, v1
  v6: f32 = const 1.0
  v7: f32 = fadd v5, v6
  v8: f32 = fmax v1, v3
  v9: f32 = fsub v2, v3
  v10: f32 = saturate v4
  v11: f32 = fmul v4, v7
  v12: f32 = fmin v7, v4
  store.global v0, v12
  return
}
"#,
        )
        .unwrap_or_else(|error| panic!("{error}"));
        let mut ranges = Ranges::new(&function);
        let never: Vec<u32> = (1..=12)
            .filter(|&at| ranges.excludes_zero(Value(at)))
            .collect();
        // A square of what may be infinite is no NaN, and `saturate` gives 0 for one.
        assert_eq!(never, [3, 4, 6, 7, 8, 11, 12]);
    }
}
