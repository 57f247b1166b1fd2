//! The basic operations of ETSI and ITU-T (G.191), and what compilers for DSPs add to them: one table of names, types and
//! meanings.
//!
//! ```text
//! L_mac(acc, x, y)   ->   add_sat acc, mul_frac x, y          two saturations, as it is defined
//! X_mac(acc, x, y)   ->   acc + 2*x*y, of which 40 bits are kept
//! ```
//!
//! `Word16` and `Word32` are integers of their widths whatever a header makes of them; a `Word40` is an integer of 64 bits
//! that holds 40. A name means its operation where nobody says otherwise: see `Context::basic_operation`. Where the unit reads
//! `Overflow` or `Carry`, operations that change them write them (`flags`).
//!
//! Outside of their domains `div_s` and shifts by unheard-of amounts have the values of the IR's operations; the reference
//! code ends the program there, or does what it likes.

use super::super::context::Context;
use super::super::flags::Flags;
use super::super::types::CType;
use super::super::value::{Argument, RValue};
use crate::entity::Value;
use crate::inst::{BinaryOp, Convert, IntCondition, Op, TernaryOp, UnaryOp, Wrap};
use crate::types::Type;
use syntax::Span;

/// A type of the basic operations.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Word {
    Word16,
    Word32,
    Word40,
}

impl Word {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Word::Word16 => "Word16",
            Word::Word32 => "Word32",
            Word::Word40 => "Word40",
        }
    }
    #[must_use]
    pub const fn ctype(self) -> CType {
        match self {
            Word::Word16 => CType::SHORT,
            Word::Word32 => CType::INT,
            Word::Word40 => CType::LONG,
        }
    }
    const fn ir(self) -> Type {
        match self {
            Word::Word16 => Type::I16,
            Word::Word32 => Type::I32,
            Word::Word40 => Type::I64,
        }
    }
}

/// One row of the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BasicOperation {
    pub name: &'static str,
    pub result: Word,
    pub parameters: &'static [Word],
    pub meaning: Meaning,
}

/// The value of an operation, by its operands in order. Of 16 or 32 bits as its operands are, if nothing is said.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Meaning {
    Add,
    Sub,
    Abs,
    Negate,
    Shl,
    Shr,
    /// To the right with rounding: halves up.
    ShrRound,
    ShlNoSaturation,
    ShrNoSaturation,
    /// Twice the product, 32 bits.
    Mult,
    /// The product, 32 bits.
    MultInteger,
    /// The product, saturated to 16 bits.
    MultIntegerLow,
    /// The high half of `Mult`.
    MultHigh,
    /// The high half of `Mult`, rounded.
    MultRound,
    Mac,
    Msu,
    MacRound,
    MsuRound,
    MacInteger,
    MsuInteger,
    /// With carry in and out, without saturation.
    AddCarry,
    SubCarry,
    MacCarry,
    MsuCarry,
    /// Saturation by what `Overflow` and `Carry` say of a sum with carry.
    SaturateByFlags,
    Round,
    ExtractHigh,
    ExtractLow,
    DepositHigh,
    DepositLow,
    Norm,
    Div,
    /// To fewer bits.
    Saturate,
    Max,
    Min,
    /// The one of larger size, the first where they are equal.
    MaxMagnitude,
    /// Of both halves of 16 bits, each on its own and without saturation.
    AddHalves,
    SubHalves,
    /// The greater ones of both halves.
    MaxHalves,
    And,
    Or,
    Xor,
    ShlLogical,
    ShrLogical,
    RotateLeft,
    RotateRight,
    /// Of 40 bits, without saturation.
    WideAdd,
    WideSub,
    WideMult,
    WideMac,
    WideMsu,
    WideShl,
    WideShr,
    WideAbs,
    WideNegate,
    WideNorm,
    WideExtend,
    WideTruncate,
}

const fn row(
    name: &'static str,
    result: Word,
    parameters: &'static [Word],
    meaning: Meaning,
) -> BasicOperation {
    BasicOperation {
        name,
        result,
        parameters,
        meaning,
    }
}

const W: Word = Word::Word16;
const L: Word = Word::Word32;
const X: Word = Word::Word40;

/// All operations.
#[rustfmt::skip]
pub static TABLE: &[BasicOperation] = &[
    row("add", W, &[W, W], Meaning::Add),
    row("sub", W, &[W, W], Meaning::Sub),
    row("abs_s", W, &[W], Meaning::Abs),
    row("negate", W, &[W], Meaning::Negate),
    row("shl", W, &[W, W], Meaning::Shl),
    row("shr", W, &[W, W], Meaning::Shr),
    row("shr_r", W, &[W, W], Meaning::ShrRound),
    row("shl_nosat", W, &[W, W], Meaning::ShlNoSaturation),
    row("shr_nosat", W, &[W, W], Meaning::ShrNoSaturation),
    row("mult", W, &[W, W], Meaning::MultHigh),
    row("mult_r", W, &[W, W], Meaning::MultRound),
    row("i_mult", W, &[W, W], Meaning::MultIntegerLow),
    row("norm_s", W, &[W], Meaning::Norm),
    row("norm_l", W, &[L], Meaning::Norm),
    row("div_s", W, &[W, W], Meaning::Div),
    row("round", W, &[L], Meaning::Round),
    row("round_fx", W, &[L], Meaning::Round),
    row("extract_h", W, &[L], Meaning::ExtractHigh),
    row("extract_l", W, &[L], Meaning::ExtractLow),
    row("saturate", W, &[L], Meaning::Saturate),
    row("mac_r", W, &[L, W, W], Meaning::MacRound),
    row("msu_r", W, &[L, W, W], Meaning::MsuRound),
    row("max", W, &[W, W], Meaning::Max),
    row("min", W, &[W, W], Meaning::Min),
    row("maxm", W, &[W, W], Meaning::MaxMagnitude),
    row("s_max", W, &[W, W], Meaning::Max),
    row("s_min", W, &[W, W], Meaning::Min),
    row("s_and", W, &[W, W], Meaning::And),
    row("s_or", W, &[W, W], Meaning::Or),
    row("s_xor", W, &[W, W], Meaning::Xor),
    row("lshl", W, &[W, W], Meaning::ShlLogical),
    row("lshr", W, &[W, W], Meaning::ShrLogical),
    row("L_add", L, &[L, L], Meaning::Add),
    row("L_sub", L, &[L, L], Meaning::Sub),
    row("L_abs", L, &[L], Meaning::Abs),
    row("L_negate", L, &[L], Meaning::Negate),
    row("L_shl", L, &[L, W], Meaning::Shl),
    row("L_shr", L, &[L, W], Meaning::Shr),
    row("L_shr_r", L, &[L, W], Meaning::ShrRound),
    row("L_shl_nosat", L, &[L, W], Meaning::ShlNoSaturation),
    row("L_shr_nosat", L, &[L, W], Meaning::ShrNoSaturation),
    row("L_mult", L, &[W, W], Meaning::Mult),
    row("L_mult0", L, &[W, W], Meaning::MultInteger),
    row("L_mac", L, &[L, W, W], Meaning::Mac),
    row("L_msu", L, &[L, W, W], Meaning::Msu),
    row("L_mac0", L, &[L, W, W], Meaning::MacInteger),
    row("L_msu0", L, &[L, W, W], Meaning::MsuInteger),
    row("L_add_c", L, &[L, L], Meaning::AddCarry),
    row("L_sub_c", L, &[L, L], Meaning::SubCarry),
    row("L_macNs", L, &[L, W, W], Meaning::MacCarry),
    row("L_msuNs", L, &[L, W, W], Meaning::MsuCarry),
    row("L_deposit_h", L, &[W], Meaning::DepositHigh),
    row("L_deposit_l", L, &[W], Meaning::DepositLow),
    row("L_sat", L, &[L], Meaning::SaturateByFlags),
    row("L_sat", L, &[X], Meaning::Saturate),
    row("L_max", L, &[L, L], Meaning::Max),
    row("L_min", L, &[L, L], Meaning::Min),
    row("L_maxm", L, &[L, L], Meaning::MaxMagnitude),
    row("L_and", L, &[L, L], Meaning::And),
    row("L_or", L, &[L, L], Meaning::Or),
    row("L_xor", L, &[L, L], Meaning::Xor),
    row("L_lshl", L, &[L, W], Meaning::ShlLogical),
    row("L_lshr", L, &[L, W], Meaning::ShrLogical),
    row("add2", L, &[L, L], Meaning::AddHalves),
    row("sub2", L, &[L, L], Meaning::SubHalves),
    row("max2", L, &[L, L], Meaning::MaxHalves),
    row("L_rol", L, &[L, W], Meaning::RotateLeft),
    row("L_ror", L, &[L, W], Meaning::RotateRight),
    row("X_add", X, &[X, X], Meaning::WideAdd),
    row("X_sub", X, &[X, X], Meaning::WideSub),
    row("X_mult", X, &[W, W], Meaning::WideMult),
    row("X_mac", X, &[X, W, W], Meaning::WideMac),
    row("X_msu", X, &[X, W, W], Meaning::WideMsu),
    row("X_shl", X, &[X, W], Meaning::WideShl),
    row("X_shr", X, &[X, W], Meaning::WideShr),
    row("X_abs", X, &[X], Meaning::WideAbs),
    row("X_negate", X, &[X], Meaning::WideNegate),
    row("X_norm", W, &[X], Meaning::WideNorm),
    row("X_extend", X, &[L], Meaning::WideExtend),
    row("X_trunc", L, &[X], Meaning::WideTruncate),
    row("X_sat", L, &[X], Meaning::Saturate),
];

/// The fraction that `WORD16(0.5)` or `WORD32(0.5)` is, as the constants of compilers for DSPs: rounded, and clamped to what the
/// type holds.
#[must_use]
pub fn fraction(name: &str, number: f64) -> Option<(Word, i64)> {
    let (word, bits) = match name {
        "WORD16" => (Word::Word16, 15),
        "WORD32" => (Word::Word32, 31),
        _ => return None,
    };
    let whole = f64::from(1u32 << bits);
    let held = (number * whole).round().clamp(-whole, whole - 1.0);
    (!number.is_nan()).then_some((word, held as i64))
}

/// Returns the operations of a name.
pub fn named(name: &str) -> impl Iterator<Item = &'static BasicOperation> {
    TABLE.iter().filter(move |row| row.name == name)
}

/// Returns the type of a name that headers of basic operations declare.
#[must_use]
pub fn named_type(name: &str) -> Option<CType> {
    Some(match name {
        "Word8" => CType::CHAR,
        "UWord8" => CType::UCHAR,
        "Word16" => CType::SHORT,
        "UWord16" => CType::USHORT,
        "Word32" | "Flag" => CType::INT,
        "UWord32" => CType::UINT,
        "Word40" => CType::LONG,
        _ => return None,
    })
}

/// Returns true if a header declares basic operations.
#[must_use]
pub fn is_header(spec: &str) -> bool {
    let name = spec.rsplit(['/', '\\']).next().unwrap_or(spec);
    matches!(
        name,
        "prototype.h"
            | "basic_op.h"
            | "basicop.h"
            | "basicop2.h"
            | "basop.h"
            | "basop32.h"
            | "enh1632.h"
            | "enh40.h"
            | "stl.h"
    )
}

/// Computes an operation; `None`: arguments do not fit.
pub fn call(
    cx: &mut Context<'_>,
    operation: &BasicOperation,
    arguments: &[Argument],
    span: Span,
) -> Option<RValue> {
    let flags = Flags::of(cx, span);
    call_with(cx, operation, arguments, flags, span)
}

/// Computes an operation that does to the flags what it is said to do.
pub(in super::super) fn call_with(
    cx: &mut Context<'_>,
    operation: &BasicOperation,
    arguments: &[Argument],
    mut flags: Flags,
    span: Span,
) -> Option<RValue> {
    if arguments.len() != operation.parameters.len() {
        return None;
    }
    let mut values = Vec::with_capacity(arguments.len());
    for (argument, word) in arguments.iter().zip(operation.parameters) {
        if !argument.value.ty.is_arithmetic() {
            return None;
        }
        let value = cx.convert(argument.value.clone(), &word.ctype(), span);
        values.push(value.first()?);
    }
    cx.here(span);
    let value = compute(cx, operation, &values, &mut flags);
    flags.write(cx, span);
    Some(RValue::scalar(operation.result.ctype(), value))
}

fn compute(
    cx: &mut Context<'_>,
    operation: &BasicOperation,
    values: &[Value],
    flags: &mut Flags,
) -> Value {
    let to = operation.result.ir();
    let operand = |at: usize| values[at.min(values.len() - 1)];
    let (a, b, c) = (operand(0), operand(1), operand(2));
    let mut ops = Operations { cx, flags };
    match operation.meaning {
        Meaning::Add => ops.sum(a, b),
        Meaning::Sub => ops.difference(a, b),
        Meaning::Abs => ops.cx.builder.unary(UnaryOp::AbsSaturateSigned, a),
        Meaning::Negate => {
            let zero = ops.int(to, 0);
            ops.binary(BinaryOp::SubSaturateSigned, zero, a)
        }
        Meaning::Shl => ops.moved(BinaryOp::ShlSaturateSigned, a, b),
        Meaning::Shr => ops.moved(BinaryOp::ShrSaturateSigned, a, b),
        Meaning::ShrRound => ops.moved_with_rounding(a, b),
        Meaning::ShlNoSaturation => ops.either_way(a, b, [BinaryOp::Shl, BinaryOp::ShrSigned]),
        Meaning::ShrNoSaturation => ops.either_way(a, b, [BinaryOp::ShrSigned, BinaryOp::Shl]),
        Meaning::ShlLogical => ops.either_way(a, b, [BinaryOp::Shl, BinaryOp::ShrUnsigned]),
        Meaning::ShrLogical => ops.either_way(a, b, [BinaryOp::ShrUnsigned, BinaryOp::Shl]),
        Meaning::RotateLeft => ops.binary(BinaryOp::RotateLeft, a, b),
        Meaning::RotateRight => {
            let back = ops.cx.builder.unary(UnaryOp::Neg, b);
            ops.binary(BinaryOp::RotateLeft, a, back)
        }
        Meaning::Mult => ops.fraction(a, b),
        Meaning::MultInteger => ops.product(a, b),
        Meaning::MultIntegerLow => {
            let product = ops.product(a, b);
            ops.saturated(product, to)
        }
        Meaning::MultHigh => {
            let product = ops.fraction(a, b);
            ops.high(product)
        }
        Meaning::MultRound => {
            let product = ops.fraction(a, b);
            ops.rounded(product)
        }
        Meaning::Mac | Meaning::MacRound => {
            let product = ops.fraction(b, c);
            let sum = ops.sum(a, product);
            match operation.meaning {
                Meaning::Mac => sum,
                _ => ops.rounded(sum),
            }
        }
        Meaning::Msu | Meaning::MsuRound => {
            let product = ops.fraction(b, c);
            let rest = ops.difference(a, product);
            match operation.meaning {
                Meaning::Msu => rest,
                _ => ops.rounded(rest),
            }
        }
        Meaning::MacInteger => {
            let product = ops.product(b, c);
            ops.sum(a, product)
        }
        Meaning::MsuInteger => {
            let product = ops.product(b, c);
            ops.difference(a, product)
        }
        Meaning::AddCarry => ops.sum_with_carry(a, b),
        Meaning::SubCarry => ops.difference_with_carry(a, b),
        Meaning::MacCarry => {
            let product = ops.fraction(b, c);
            ops.sum_with_carry(a, product)
        }
        Meaning::MsuCarry => {
            let product = ops.fraction(b, c);
            ops.difference_with_carry(a, product)
        }
        Meaning::SaturateByFlags => ops.saturated_by_flags(a),
        Meaning::Round => ops.rounded(a),
        Meaning::ExtractHigh => ops.high(a),
        Meaning::ExtractLow | Meaning::WideTruncate => ops.convert(Convert::Truncate, a, to),
        Meaning::DepositHigh => {
            let wide = ops.convert(Convert::SignExtend, a, to);
            let by = ops.int(to, 16);
            ops.binary(BinaryOp::Shl, wide, by)
        }
        Meaning::DepositLow | Meaning::WideExtend => ops.convert(Convert::SignExtend, a, to),
        Meaning::Norm => ops
            .cx
            .builder
            .value(Op::Unary(UnaryOp::Normalize), &[a], to),
        Meaning::Div => ops.binary(BinaryOp::DivFractional, a, b),
        Meaning::Saturate => ops.saturated(a, to),
        Meaning::Max => ops.binary(BinaryOp::MaxSigned, a, b),
        Meaning::Min => ops.binary(BinaryOp::MinSigned, a, b),
        Meaning::MaxMagnitude => {
            let [x, y] = [a, b].map(|x| ops.cx.builder.unary(UnaryOp::IntAbs, x));
            // As numbers without a sign: the size of the least number is larger than all others.
            let less = ops.compare(IntCondition::LessUnsigned, x, y);
            ops.cx.builder.select(less, b, a)
        }
        Meaning::AddHalves => ops.halves(a, b, BinaryOp::Add),
        Meaning::SubHalves => ops.halves(a, b, BinaryOp::Sub),
        Meaning::MaxHalves => ops.halves(a, b, BinaryOp::MaxSigned),
        Meaning::And => ops.binary(BinaryOp::And, a, b),
        Meaning::Or => ops.binary(BinaryOp::Or, a, b),
        Meaning::Xor => ops.binary(BinaryOp::Xor, a, b),
        Meaning::WideAdd => {
            let sum = ops.binary(BinaryOp::Add, a, b);
            ops.of_40_bits(sum)
        }
        Meaning::WideSub => {
            let rest = ops.binary(BinaryOp::Sub, a, b);
            ops.of_40_bits(rest)
        }
        Meaning::WideMult => ops.wide_fraction(a, b),
        Meaning::WideMac | Meaning::WideMsu => {
            let product = ops.wide_fraction(b, c);
            let op = match operation.meaning {
                Meaning::WideMac => BinaryOp::Add,
                _ => BinaryOp::Sub,
            };
            let sum = ops.binary(op, a, product);
            ops.of_40_bits(sum)
        }
        Meaning::WideShl => {
            let moved = ops.either_way(a, b, [BinaryOp::Shl, BinaryOp::ShrSigned]);
            ops.of_40_bits(moved)
        }
        Meaning::WideShr => {
            let moved = ops.either_way(a, b, [BinaryOp::ShrSigned, BinaryOp::Shl]);
            ops.of_40_bits(moved)
        }
        Meaning::WideAbs => {
            let size = ops.cx.builder.unary(UnaryOp::IntAbs, a);
            ops.of_40_bits(size)
        }
        Meaning::WideNegate => {
            let zero = ops.int(Type::I64, 0);
            let negated = ops.binary(BinaryOp::Sub, zero, a);
            ops.of_40_bits(negated)
        }
        Meaning::WideNorm => ops.wide_norm(a, to),
    }
}

/// Operations in the making, and the flags that they set.
struct Operations<'c, 'a, 'f> {
    cx: &'c mut Context<'a>,
    flags: &'f mut Flags,
}

impl Operations<'_, '_, '_> {
    fn int(&mut self, ty: Type, number: i64) -> Value {
        self.cx.builder.int(ty, number)
    }
    fn ty(&self, value: Value) -> Type {
        self.cx.builder.function.ty(value)
    }
    fn binary(&mut self, op: BinaryOp, a: Value, b: Value) -> Value {
        self.cx.builder.binary(op, Wrap::MAY, a, b)
    }
    fn convert(&mut self, kind: Convert, a: Value, to: Type) -> Value {
        self.cx.builder.convert(kind, a, to)
    }
    fn compare(&mut self, condition: IntCondition, a: Value, b: Value) -> Value {
        self.cx.builder.int_compare(condition, a, b)
    }
    fn unequal(&mut self, a: Value, b: Value) -> Value {
        self.compare(IntCondition::NotEqual, a, b)
    }

    fn sum(&mut self, a: Value, b: Value) -> Value {
        self.saturating([BinaryOp::AddSaturateSigned, BinaryOp::Add], a, b)
    }
    fn difference(&mut self, a: Value, b: Value) -> Value {
        self.saturating([BinaryOp::SubSaturateSigned, BinaryOp::Sub], a, b)
    }
    fn saturating(&mut self, [op, wrapping]: [BinaryOp; 2], a: Value, b: Value) -> Value {
        let value = self.binary(op, a, b);
        if self.flags.overflow() {
            let plain = self.binary(wrapping, a, b);
            let lost = self.unequal(value, plain);
            self.flags.overflowed(lost);
        }
        value
    }

    /// Twice the product of two numbers of 16 bits; that of the least number with itself saturates.
    fn fraction(&mut self, a: Value, b: Value) -> Value {
        let op = Op::Binary(BinaryOp::MulFractional, Wrap::MAY);
        let value = self.cx.builder.value(op, &[a, b], Type::I32);
        if self.flags.overflow() {
            // Twice any other product is even.
            let most = self.int(Type::I32, i32::MAX.into());
            let lost = self.compare(IntCondition::Equal, value, most);
            self.flags.overflowed(lost);
        }
        value
    }
    fn product(&mut self, a: Value, b: Value) -> Value {
        let [a, b] = [a, b].map(|x| self.convert(Convert::SignExtend, x, Type::I32));
        self.cx.builder.binary(BinaryOp::Mul, Wrap::NO_SIGNED, a, b)
    }

    fn saturated(&mut self, a: Value, to: Type) -> Value {
        let kept = self.convert(Convert::SaturateSigned, a, to);
        if self.flags.overflow() {
            let back = self.convert(Convert::SignExtend, kept, self.ty(a));
            let lost = self.unequal(back, a);
            self.flags.overflowed(lost);
        }
        kept
    }

    fn rounded(&mut self, a: Value) -> Value {
        let op = Op::Unary(UnaryOp::RoundHigh);
        let value = self.cx.builder.value(op, &[a], Type::I16);
        if self.flags.overflow() {
            let most = self.int(Type::I32, 0x7fff_7fff);
            let lost = self.compare(IntCondition::GreaterSigned, a, most);
            self.flags.overflowed(lost);
        }
        value
    }
    /// Both halves of a number of 32 bits, computed on their own.
    fn halves(&mut self, a: Value, b: Value, op: BinaryOp) -> Value {
        let high = [a, b].map(|x| self.high(x));
        let low = [a, b].map(|x| self.convert(Convert::Truncate, x, Type::I16));
        let [high, low] = [high, low].map(|[x, y]| self.binary(op, x, y));
        let high = self.convert(Convert::ZeroExtend, high, Type::I32);
        let low = self.convert(Convert::ZeroExtend, low, Type::I32);
        let by = self.int(Type::I32, 16);
        let high = self.binary(BinaryOp::Shl, high, by);
        self.binary(BinaryOp::Or, high, low)
    }
    fn high(&mut self, a: Value) -> Value {
        let by = self.int(Type::I32, 16);
        let high = self.binary(BinaryOp::ShrSigned, a, by);
        self.convert(Convert::Truncate, high, Type::I16)
    }

    /// A saturating shift, and whether it lost something: then the way back leads elsewhere, or the width was passed, from where
    /// it leads to -1 whatever was lost.
    fn moved(&mut self, op: BinaryOp, a: Value, places: Value) -> Value {
        let value = self.binary(op, a, places);
        if self.flags.overflow() {
            let last = i64::from(self.ty(a).bits()) - 1;
            let (back, leftwards, last) = match op {
                BinaryOp::ShlSaturateSigned => (
                    BinaryOp::ShrSaturateSigned,
                    IntCondition::GreaterSigned,
                    last,
                ),
                _ => (BinaryOp::ShlSaturateSigned, IntCondition::LessSigned, -last),
            };
            let zero = self.int(self.ty(places), 0);
            let left = self.compare(leftwards, places, zero);
            let back = self.binary(back, value, places);
            let other = self.unequal(back, a);
            let lost = self.binary(BinaryOp::And, left, other);
            self.flags.overflowed(lost);
            let (last, none) = (self.int(self.ty(places), last), self.int(self.ty(a), 0));
            let far = self.compare(leftwards, places, last);
            let some = self.unequal(a, none);
            let lost = self.binary(BinaryOp::And, far, some);
            self.flags.overflowed(lost);
        }
        value
    }

    /// To the right, and one more where the highest of the bits that go is set.
    fn moved_with_rounding(&mut self, a: Value, places: Value) -> Value {
        let ty = self.ty(a);
        let value = self.moved(BinaryOp::ShrSaturateSigned, a, places);
        let (none, unit) = (self.int(ty, 0), self.int(ty, 1));
        let (zero, before) = (self.int(Type::I16, 0), self.int(Type::I16, -1));
        let right = self.compare(IntCondition::GreaterSigned, places, zero);
        let one_less = self.binary(BinaryOp::Add, places, before);
        let last = self.binary(BinaryOp::ShrSaturateSigned, a, one_less);
        let last = self.binary(BinaryOp::And, last, unit);
        let more = self.cx.builder.select(right, last, none);
        self.binary(BinaryOp::Add, value, more)
    }

    /// The number of places from which on more make no difference. A number of 40 bits is in one of 64.
    fn most_places(&self, a: Value) -> i64 {
        match self.ty(a) {
            Type::I64 => 63,
            ty => i64::from(ty.bits()),
        }
    }

    /// A shift by one operation, or where the places are negative by the other the other way; bits beyond the width are lost.
    fn either_way(&mut self, a: Value, places: Value, [forth, back]: [BinaryOp; 2]) -> Value {
        if let Some(number) = self.cx.builder.function.int_constant(places) {
            let op = if number < 0 { back } else { forth };
            let most = self.most_places(a);
            let by = self.int(Type::I32, number.unsigned_abs().min(most as u64) as i64);
            return self.binary(op, a, by);
        }
        let wide = self.convert(Convert::SignExtend, places, Type::I32);
        let zero = self.int(Type::I32, 0);
        let negative = self.compare(IntCondition::LessSigned, wide, zero);
        let size = self.cx.builder.unary(UnaryOp::IntAbs, wide);
        let most = self.most_places(a);
        let most = self.int(Type::I32, most);
        let size = self.binary(BinaryOp::MinSigned, size, most);
        let there = self.binary(forth, a, size);
        let here = self.binary(back, a, size);
        self.cx.builder.select(negative, here, there)
    }

    /// `a + b + Carry`; sets both flags, and clears them.
    fn sum_with_carry(&mut self, a: Value, b: Value) -> Value {
        let carry = self.flags.carry_in(self.cx);
        let first = self.binary(BinaryOp::Add, a, b);
        let more = self.convert(Convert::ZeroExtend, carry, Type::I32);
        let value = self.binary(BinaryOp::Add, first, more);
        let (out, over) = self.flags_of_sum(a, b, first);
        let (full, most) = (
            self.int(Type::I32, -1),
            self.int(Type::I32, i32::MAX.into()),
        );
        let out = self.or_where(out, carry, IntCondition::Equal, first, full);
        let over = self.or_where(over, carry, IntCondition::Equal, first, most);
        self.flags.carry_out(out);
        self.flags.set_overflow(over);
        value
    }

    /// The carry out of a sum, and whether it has the wrong sign.
    fn flags_of_sum(&mut self, a: Value, b: Value, sum: Value) -> (Value, Value) {
        let out = self.compare(IntCondition::LessUnsigned, sum, a);
        let [x, y] = [a, b].map(|x| self.binary(BinaryOp::Xor, x, sum));
        let both = self.binary(BinaryOp::And, x, y);
        let zero = self.int(Type::I32, 0);
        (out, self.compare(IntCondition::LessSigned, both, zero))
    }

    /// The disjunction of what already holds and a comparison under a condition.
    fn or_where(
        &mut self,
        holds: Value,
        also: Value,
        condition: IntCondition,
        x: Value,
        y: Value,
    ) -> Value {
        let more = self.compare(condition, x, y);
        let more = self.binary(BinaryOp::And, more, also);
        self.binary(BinaryOp::Or, holds, more)
    }

    /// All of some comparisons with 0.
    fn signs<const N: usize>(&mut self, tests: [(Value, IntCondition); N]) -> Value {
        let zero = self.int(Type::I32, 0);
        let mut all = self.cx.builder.bool(true);
        for (number, condition) in tests {
            let holds = self.compare(condition, number, zero);
            all = self.binary(BinaryOp::And, all, holds);
        }
        all
    }

    /// `a - b - 1 + Carry`. The flags are those of the reference code, in which they are not those of a sum with the
    /// complement: with carry it adds `-b`, and without it looks at signs.
    fn difference_with_carry(&mut self, a: Value, b: Value) -> Value {
        use IntCondition::{Equal, GreaterSigned as Above, LessSigned as Below};
        let carry = self.flags.carry_in(self.cx);
        let before = self.flags.overflow_in(self.cx);
        let rest = self.binary(BinaryOp::Sub, a, b);
        let (none, unit) = (self.int(Type::I32, 0), self.int(Type::I32, 1));
        let less = self.cx.builder.select(carry, none, unit);
        let value = self.binary(BinaryOp::Sub, rest, less);

        let negated = self.cx.builder.unary(UnaryOp::Neg, b);
        let (sum_out, sum_over) = self.flags_of_sum(a, negated, rest);
        let least = self.int(Type::I32, i32::MIN.into());
        let of_least = self.compare(Equal, b, least);
        let no = self.cx.builder.bool(false);
        let positive = self.signs([(a, Above)]);
        let least_over = self.binary(BinaryOp::Or, before, positive);
        let with_out = self.cx.builder.select(of_least, no, sum_out);
        let with_over = self.cx.builder.select(of_least, least_over, sum_over);

        let unlike = self.binary(BinaryOp::Xor, a, b);
        let up = self.signs([(rest, Below), (a, Above), (b, Below)]);
        let down = self.signs([(rest, Above), (a, Below), (b, Above)]);
        let alike = self.signs([(rest, Above), (unlike, Above)]);
        let without_out = self.binary(BinaryOp::Or, down, alike);
        let beyond = self.binary(BinaryOp::Or, up, down);
        let kept = self.cx.builder.select(alike, no, before);
        let without_over = self.binary(BinaryOp::Or, beyond, kept);
        let is_least = self.compare(Equal, rest, least);
        let without_over = self.binary(BinaryOp::Or, without_over, is_least);

        let out = self.cx.builder.select(carry, with_out, without_out);
        let over = self.cx.builder.select(carry, with_over, without_over);
        self.flags.carry_out(out);
        self.flags.set_overflow(over);
        value
    }

    /// The limit on the side that `Carry` tells where `Overflow` is set; both are clear then.
    fn saturated_by_flags(&mut self, a: Value) -> Value {
        let over = self.flags.overflow_in(self.cx);
        let carry = self.flags.carry_in(self.cx);
        let (low, high) = (
            self.int(Type::I32, i32::MIN.into()),
            self.int(Type::I32, i32::MAX.into()),
        );
        let limit = self.cx.builder.select(carry, low, high);
        let no = self.cx.builder.bool(false);
        let left = self.cx.builder.select(over, no, carry);
        self.flags.carry_out(left);
        self.flags.set_overflow(no);
        self.cx.builder.select(over, limit, a)
    }

    fn wide_fraction(&mut self, a: Value, b: Value) -> Value {
        let [a, b] = [a, b].map(|x| self.convert(Convert::SignExtend, x, Type::I64));
        let product = self.cx.builder.binary(BinaryOp::Mul, Wrap::NO_SIGNED, a, b);
        let by = self.int(Type::I64, 1);
        self.cx
            .builder
            .binary(BinaryOp::Shl, Wrap::NO_SIGNED, product, by)
    }

    fn of_40_bits(&mut self, a: Value) -> Value {
        let (from, length) = (self.int(Type::I64, 0), self.int(Type::I64, 40));
        let op = Op::Ternary(TernaryOp::BitExtractSigned);
        self.cx.builder.value(op, &[a, from, length], Type::I64)
    }

    /// Places to the left until bit 30 is unlike the sign; negative where there are guard bits in use.
    fn wide_norm(&mut self, a: Value, to: Type) -> Value {
        let places = self
            .cx
            .builder
            .value(Op::Unary(UnaryOp::Normalize), &[a], to);
        let guard = self.int(to, 32);
        let places = self.binary(BinaryOp::Sub, places, guard);
        let (zero, none) = (self.int(Type::I64, 0), self.int(to, 0));
        let is_zero = self.compare(IntCondition::Equal, a, zero);
        self.cx.builder.select(is_zero, none, places)
    }
}
