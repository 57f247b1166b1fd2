//! The behaviour of operations on zeros: a table, nothing is computed.
//!
//! Zeros of both signs count. For floating point, `0 * x` is 0 only if the source permits it; the table shows
//! the possible gain, and the transformation asks for the permission.
//!
//! Source: notes on AZP, section 6 (the paper names the classes and leaves the table out).

use ir::{BinaryOp, Convert, Function, Inst, Op, TernaryOp, UnaryOp};

/// The condition under which the result of an operation is zero because operands are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Propagation {
    /// A zero makes no zero.
    None,
    /// Any one of the operands `from..to` suffices, and makes the others useless.
    Any { from: usize, to: usize },
    /// Any one of the first two makes the product zero, and the other useless; the sum remains.
    Product,
    /// The operand alone decides, and nothing else becomes useless.
    Same,
    /// The operands `from..` must all be zero.
    All { from: usize },
}

impl Propagation {
    /// A zero in this operand makes other operands useless.
    #[must_use]
    pub const fn absorbs(self, operand: usize) -> bool {
        match self {
            Propagation::Any { from, to } => from <= operand && operand < to,
            Propagation::Product => operand < 2,
            _ => false,
        }
    }
    /// A zero in this operand, perhaps with zeros in others, makes the result zero.
    #[must_use]
    pub const fn passes(self, operand: usize) -> bool {
        match self {
            Propagation::Any { from, to } => from <= operand && operand < to,
            Propagation::Same => operand == 0,
            Propagation::All { from } => from <= operand,
            Propagation::Product | Propagation::None => false,
        }
    }
}

#[must_use]
pub const fn propagation(op: &Op) -> Propagation {
    match op {
        Op::Binary(op, _) => match op {
            BinaryOp::Mul
            | BinaryOp::MulHighSigned
            | BinaryOp::MulHighUnsigned
            | BinaryOp::Mul24Signed
            | BinaryOp::Mul24Unsigned
            | BinaryOp::MulFractional
            | BinaryOp::And
            | BinaryOp::MinUnsigned
            | BinaryOp::FloatMul => Propagation::Any { from: 0, to: 2 },
            BinaryOp::ShlSaturateSigned
            | BinaryOp::ShrSaturateSigned
            | BinaryOp::Shl
            | BinaryOp::ShrUnsigned
            | BinaryOp::ShrSigned
            | BinaryOp::RotateLeft
            | BinaryOp::FloatDiv
            | BinaryOp::ApproximateDiv => Propagation::Any { from: 0, to: 1 },
            BinaryOp::Add
            | BinaryOp::Sub
            | BinaryOp::Or
            | BinaryOp::Xor
            | BinaryOp::MinSigned
            | BinaryOp::MaxSigned
            | BinaryOp::MaxUnsigned
            | BinaryOp::FloatAdd
            | BinaryOp::FloatSub
            | BinaryOp::FloatMin
            | BinaryOp::FloatMax
            | BinaryOp::Hypot
            | BinaryOp::AddSaturateSigned
            | BinaryOp::SubSaturateSigned => Propagation::All { from: 0 },
            _ => Propagation::None,
        },
        Op::Fma => Propagation::Product,
        Op::Select => Propagation::All { from: 1 },
        Op::Ternary(
            TernaryOp::Dot4Signed
            | TernaryOp::Dot4Unsigned
            | TernaryOp::Dot2Signed
            | TernaryOp::Dot2Unsigned,
        ) => Propagation::Product,
        Op::Unary(
            UnaryOp::Neg
            | UnaryOp::IntAbs
            | UnaryOp::PopCount
            | UnaryOp::ReverseBits
            | UnaryOp::ReverseBytes
            | UnaryOp::AbsSaturateSigned
            | UnaryOp::Normalize
            | UnaryOp::RoundHigh
            | UnaryOp::FloatNeg
            | UnaryOp::FloatAbs
            | UnaryOp::Sqrt
            | UnaryOp::Cbrt
            | UnaryOp::Sin
            | UnaryOp::ApproximateSin
            | UnaryOp::Tan
            | UnaryOp::Asin
            | UnaryOp::Atan
            | UnaryOp::Sinh
            | UnaryOp::Tanh
            | UnaryOp::Asinh
            | UnaryOp::Atanh
            | UnaryOp::Expm1
            | UnaryOp::Log1p
            | UnaryOp::Erf
            | UnaryOp::Floor
            | UnaryOp::Ceil
            | UnaryOp::TruncFloat
            | UnaryOp::Round
            | UnaryOp::RoundEven
            | UnaryOp::Fract
            | UnaryOp::Saturate
            | UnaryOp::FloatSign
            | UnaryOp::IntSign
            | UnaryOp::Degrees
            | UnaryOp::Radians,
        ) => Propagation::Same,
        Op::Convert(Convert::SpaceCast) => Propagation::None,
        Op::Convert(_) => Propagation::Same,
        _ => Propagation::None,
    }
}

/// The reason why an operation yields zeros from operands that are not zero. No profile says how often: it is
/// unprofiled.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Originator {
    /// `saturate(x)`: all negative x.
    Saturate,
    /// `max(x, 0)`: all negative x.
    MaxZero,
    /// `step(edge, x)`: all x below the edge.
    Step,
    /// A comparison as a number.
    Comparison,
    /// One arm of a selection is zero.
    ZeroArm,
    /// A mask or a shift that drops bits.
    Mask,
    /// Rounding towards zero or down: all x below 1.
    Rounding,
}

impl Originator {
    /// Returns the reason for people: `saturate gives 0 for every negative operand`.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Originator::Saturate => "`saturate` gives 0 for every operand that is not positive",
            Originator::MaxZero => {
                "the maximum with 0 gives 0 for every operand that is not positive"
            }
            Originator::Step => "`step` gives 0 below the edge",
            Originator::Comparison => "a comparison that fails is 0",
            Originator::ZeroArm => "one arm of the selection is 0",
            Originator::Mask => "the bits that are left may all be 0",
            Originator::Rounding => "rounding gives 0 for every operand from 0 to 1",
        }
    }
}

#[must_use]
pub fn originator(function: &Function, inst: Inst) -> Option<Originator> {
    let data = &function.insts[inst];
    let constant = |at: usize| {
        let defining = function.defining(*data.args.get(at)?)?;
        match defining.op {
            Op::Const(bits) => Some(bits),
            _ => None,
        }
    };
    let zero = |at: usize| constant(at) == Some(0);
    Some(match &data.op {
        Op::Unary(UnaryOp::Saturate) => Originator::Saturate,
        Op::Unary(UnaryOp::Floor | UnaryOp::TruncFloat)
        | Op::Convert(Convert::FloatToSigned | Convert::FloatToUnsigned) => Originator::Rounding,
        Op::Binary(BinaryOp::FloatMax | BinaryOp::MaxSigned, _) if zero(0) || zero(1) => {
            Originator::MaxZero
        }
        Op::Binary(BinaryOp::Step, _) => Originator::Step,
        Op::Binary(BinaryOp::And, _) if constant(0).is_some() || constant(1).is_some() => {
            Originator::Mask
        }
        Op::Binary(BinaryOp::ShrUnsigned, _) if constant(1).is_some_and(|by| by != 0) => {
            Originator::Mask
        }
        Op::Ternary(TernaryOp::BitExtractSigned | TernaryOp::BitExtractUnsigned) => {
            Originator::Mask
        }
        Op::Select if zero(1) || zero(2) => Originator::ZeroArm,
        Op::Convert(Convert::ZeroExtend | Convert::UnsignedToFloat | Convert::SignedToFloat)
            if data
                .args
                .first()
                .is_some_and(|&arg| function.ty(arg) == ir::Type::Bool) =>
        {
            Originator::Comparison
        }
        _ => return None,
    })
}
