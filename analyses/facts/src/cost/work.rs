//! The kind of an instruction's work, as a compiler for GPUs would have it: operations that fold into
//! operands or addresses are free, divisions by constants are multiplications, and an operation on constants
//! alone is computed beforehand.
//!
//! ```text
//! ext = sign-extend i; off = mul ext, 4; p = ptr-add a, off     one multiply: a wide multiply-add does all three
//! ```
//!
//! Looks at operands one step deep, at constants `FOLDED` steps. Does not model merging, hoisting or sharing
//! by a compiler.

use ir::{
    BinaryOp, Convert, Function, InstData, Language, Op, Space, TernaryOp, TextureOp, Type,
    UnaryOp, Value, WarpKind,
};

/// Operations on constants, on top of each other, that are followed.
const FOLDED: u32 = 8;
/// Operations of an address that are followed.
const NAMED: u32 = 8;

/// The work that an instruction gives to a unit.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Work {
    Free,
    Float,
    Half,
    Double,
    Integer,
    Integer64,
    Multiply,
    /// A 64-bit product of an extended factor and a constant: the scale of an address.
    Scale,
    Multiply64,
    Logic,
    Shift64,
    Compare,
    BitField,
    Bits,
    Convert,
    ConvertWide,
    Special,
    Sine,
    Exponential,
    /// A power as two special functions and a product.
    Power,
    /// A reciprocal and a product.
    Quotient,
    DivideFloat,
    RootFloat,
    DivideUnsigned,
    DivideSigned,
    Divide64,
    DivideDouble,
    RootDouble,
    /// A function of a library.
    Function,
    FunctionDouble,
    Shuffle,
    Vote,
    Derivative,
    Shared,
    Constant,
    Global,
    Atomic,
    Texture,
    Barrier,
    Branch,
    Call,
}

impl Work {
    pub const ALL: [Work; 41] = [
        Work::Free,
        Work::Float,
        Work::Half,
        Work::Double,
        Work::Integer,
        Work::Integer64,
        Work::Multiply,
        Work::Scale,
        Work::Multiply64,
        Work::Logic,
        Work::Shift64,
        Work::Compare,
        Work::BitField,
        Work::Bits,
        Work::Convert,
        Work::ConvertWide,
        Work::Special,
        Work::Sine,
        Work::Exponential,
        Work::Power,
        Work::Quotient,
        Work::DivideFloat,
        Work::RootFloat,
        Work::DivideUnsigned,
        Work::DivideSigned,
        Work::Divide64,
        Work::DivideDouble,
        Work::RootDouble,
        Work::Function,
        Work::FunctionDouble,
        Work::Shuffle,
        Work::Vote,
        Work::Derivative,
        Work::Shared,
        Work::Constant,
        Work::Global,
        Work::Atomic,
        Work::Texture,
        Work::Barrier,
        Work::Branch,
        Work::Call,
    ];
}

/// Every compiler computes it: it is pure, and its operands are constants or such values themselves.
#[must_use]
pub fn is_folded(function: &Function, inst: &InstData) -> bool {
    folds(function, inst, FOLDED)
}

fn folds(function: &Function, inst: &InstData, depth: u32) -> bool {
    let pure = matches!(
        inst.op,
        Op::Unary(_)
            | Op::Binary(..)
            | Op::Ternary(_)
            | Op::Convert(_)
            | Op::Select
            | Op::Fma
            | Op::IntCompare(_)
            | Op::FloatCompare(_)
    );
    let constant = |&value: &Value| {
        function.defining(value).is_some_and(|defining| {
            matches!(defining.op, Op::Const(_)) || depth > 0 && folds(function, defining, depth - 1)
        })
    };
    pure && inst.guard.is_none() && !inst.args.is_empty() && inst.args.iter().all(constant)
}

#[must_use]
pub fn work(function: &Function, inst: &InstData) -> Work {
    if is_folded(function, inst) {
        return Work::Free;
    }
    let ty = inst
        .results
        .first()
        .map_or(Type::I32, |&result| function.ty(result));
    match &inst.op {
        Op::Const(_)
        | Op::Undef
        | Op::SymbolAddress(_)
        | Op::Special(_)
        | Op::Parameter(_)
        | Op::StageInput(_)
        | Op::ResourceElement { .. }
        | Op::Alloca { .. } => Work::Free,
        Op::Unary(op) => unary(function, *op, ty),
        Op::Binary(op, _) => binary(function, inst, *op, ty),
        Op::Fma => arithmetic(ty),
        Op::IntCompare(_) | Op::FloatCompare(_) => match inst.args.first().map(|&a| function.ty(a))
        {
            Some(Type::F64) => Work::Double,
            Some(Type::F16 | Type::BF16) => Work::Half,
            Some(ty) if is_wide(ty) => Work::Integer64,
            _ => Work::Compare,
        },
        Op::Select => match ty.bits() {
            64 => Work::Integer64,
            _ => Work::Logic,
        },
        Op::Ternary(op) => ternary(function, inst, *op, ty),
        Op::Convert(op) => convert(function, inst, *op, ty),
        Op::PtrAdd => match inst
            .args
            .get(1)
            .map(|&offset| (offset, wide_product(function, offset)))
        {
            Some((offset, false)) if function.int_constant(offset).is_none() => Work::Integer64,
            // An immediate of the access, or the sum of a wide multiply-add.
            _ => Work::Free,
        },
        Op::Load(access) | Op::Store(access) => match access.space {
            Space::Shared => Work::Shared,
            Space::Constant => Work::Constant,
            // A compiler keeps what it can name in registers.
            Space::Local if is_named(function, inst) => Work::Free,
            // What `inout` is given is copied in and out.
            Space::Generic if copies(function.language) && is_named(function, inst) => Work::Free,
            _ => Work::Global,
        },
        Op::Atomic(..) => Work::Atomic,
        Op::Texture(access) if access.op == TextureOp::Dimensions => Work::Constant,
        Op::Texture(_) => Work::Texture,
        Op::Warp(op) => match op.kind {
            WarpKind::VoteAll
            | WarpKind::VoteAny
            | WarpKind::VoteUniform
            | WarpKind::Ballot
            | WarpKind::ActiveMask
            | WarpKind::IsFirstLane
            | WarpKind::QuadAny
            | WarpKind::QuadAll => Work::Vote,
            _ => Work::Shuffle,
        },
        Op::Barrier(ir::Barrier::Warp) => Work::Vote,
        Op::Barrier(_) => Work::Barrier,
        Op::Derivative(_) => Work::Derivative,
        Op::Fence => Work::Integer,
        Op::Call(_) | Op::CallUnknown { .. } => Work::Call,
        Op::Asm { .. } | Op::Unknown(_) => arithmetic(ty),
    }
}

/// Parameters by reference are copies of the caller's objects.
const fn copies(language: Language) -> bool {
    matches!(language, Language::Hlsl)
}

/// The address lies at constants and loop counters from an object of the thread's own: unrolled, each element has a name.
/// Counters of loops whose length is not known are taken for such, too.
fn is_named(function: &Function, inst: &InstData) -> bool {
    let mut work: Vec<(Value, u32)> = match inst.args.first() {
        Some(&address) => vec![(address, NAMED)],
        None => return false,
    };
    let mut looked_at = 0;
    while let Some((value, depth)) = work.pop() {
        looked_at += 1;
        let Some(data) = function.defining(value) else {
            // A parameter of the function, or of a block: a counter.
            continue;
        };
        let pure = matches!(
            data.op,
            Op::PtrAdd
                | Op::Binary(..)
                | Op::Unary(_)
                | Op::Convert(_)
                | Op::Const(_)
                | Op::Alloca { .. }
        );
        if !pure || depth == 0 || looked_at > 4 * NAMED {
            return false;
        }
        work.extend(data.args.iter().map(|&arg| (arg, depth - 1)));
    }
    true
}

/// 64-bit integers and addresses take two registers.
const fn is_wide(ty: Type) -> bool {
    matches!(ty, Type::I40 | Type::I64 | Type::Ptr(_))
}

const fn arithmetic(ty: Type) -> Work {
    match ty {
        Type::F64 => Work::Double,
        Type::F16 | Type::BF16 => Work::Half,
        Type::F32 => Work::Float,
        Type::I40 | Type::I64 | Type::Ptr(_) => Work::Integer64,
        _ => Work::Integer,
    }
}

fn unary(function: &Function, op: UnaryOp, ty: Type) -> Work {
    let double = ty == Type::F64;
    // What the language's own functions become when nothing is said about precision.
    let approximate = function.language == Language::Hlsl;
    match op {
        UnaryOp::FloatNeg | UnaryOp::FloatAbs => Work::Free,
        UnaryOp::Not | UnaryOp::ReverseBytes => match is_wide(ty) {
            true => Work::Integer64,
            false => Work::Logic,
        },
        UnaryOp::PopCount
        | UnaryOp::CountLeadingZeros
        | UnaryOp::CountTrailingZeros
        | UnaryOp::FindHighBitUnsigned
        | UnaryOp::FindHighBitSigned
        | UnaryOp::FindFirstSet
        | UnaryOp::Normalize
        | UnaryOp::ReverseBits => Work::Bits,
        UnaryOp::Neg
        | UnaryOp::IntAbs
        | UnaryOp::AbsSaturateSigned
        | UnaryOp::RoundHigh
        | UnaryOp::IntSign
        | UnaryOp::Saturate
        | UnaryOp::Degrees
        | UnaryOp::Radians => arithmetic(ty),
        UnaryOp::IsNan
        | UnaryOp::IsInf
        | UnaryOp::IsFinite
        | UnaryOp::SignBit
        | UnaryOp::FloatSign => match double {
            true => Work::Double,
            false => Work::Compare,
        },
        UnaryOp::Floor
        | UnaryOp::Ceil
        | UnaryOp::TruncFloat
        | UnaryOp::Round
        | UnaryOp::RoundEven
        | UnaryOp::Fract => match double {
            true => Work::ConvertWide,
            false => Work::Convert,
        },
        UnaryOp::Sqrt | UnaryOp::Rsqrt | UnaryOp::Reciprocal if double => Work::RootDouble,
        UnaryOp::Rsqrt | UnaryOp::Reciprocal => Work::Special,
        UnaryOp::Sqrt if approximate => Work::Special,
        UnaryOp::Sqrt => Work::RootFloat,
        _ if double => Work::FunctionDouble,
        UnaryOp::Sin | UnaryOp::Cos => Work::Sine,
        UnaryOp::ApproximateSin | UnaryOp::ApproximateCos | UnaryOp::ApproximateLog2 => {
            Work::Special
        }
        UnaryOp::Exp2 | UnaryOp::Log2 if approximate => Work::Special,
        UnaryOp::Exp | UnaryOp::Log | UnaryOp::Exp10 | UnaryOp::Log10 if approximate => {
            Work::Quotient
        }
        UnaryOp::Exp
        | UnaryOp::Exp2
        | UnaryOp::Exp10
        | UnaryOp::Log
        | UnaryOp::Log2
        | UnaryOp::Log10 => Work::Exponential,
        _ => Work::Function,
    }
}

fn binary(function: &Function, inst: &InstData, op: BinaryOp, ty: Type) -> Work {
    let approximate = function.language == Language::Hlsl;
    let constant = inst.args.get(1).and_then(|&by| function.int_constant(by));
    match op {
        BinaryOp::Mul if is_wide(ty) => {
            match inst
                .results
                .first()
                .is_some_and(|&r| wide_product(function, r))
            {
                true if constant.is_some() => Work::Scale,
                true => Work::Multiply,
                false => Work::Multiply64,
            }
        }
        BinaryOp::Mul
        | BinaryOp::MulHighSigned
        | BinaryOp::MulHighUnsigned
        | BinaryOp::Mul24Signed
        | BinaryOp::Mul24Unsigned
        | BinaryOp::MulFractional => Work::Multiply,
        BinaryOp::DivUnsigned | BinaryOp::RemUnsigned
            if constant.is_some_and(|by| by > 0 && by.count_ones() == 1) =>
        {
            Work::Logic
        }
        // A bias for negative numbers, the sum and the shift.
        BinaryOp::DivSigned | BinaryOp::RemSigned
            if constant.is_some_and(|by| by > 0 && by.count_ones() == 1) =>
        {
            Work::Shift64
        }
        BinaryOp::DivSigned
        | BinaryOp::RemSigned
        | BinaryOp::DivUnsigned
        | BinaryOp::RemUnsigned
            if constant.is_some() =>
        {
            Work::Multiply64
        }
        BinaryOp::DivSigned
        | BinaryOp::RemSigned
        | BinaryOp::DivUnsigned
        | BinaryOp::RemUnsigned
            if is_wide(ty) =>
        {
            Work::Divide64
        }
        BinaryOp::DivSigned | BinaryOp::RemSigned | BinaryOp::DivFractional => Work::DivideSigned,
        BinaryOp::DivUnsigned | BinaryOp::RemUnsigned => Work::DivideUnsigned,
        BinaryOp::Shl | BinaryOp::ShrUnsigned | BinaryOp::ShrSigned | BinaryOp::RotateLeft => {
            match (is_wide(ty), constant) {
                (true, Some(_))
                    if inst
                        .results
                        .first()
                        .is_some_and(|&r| wide_product(function, r)) =>
                {
                    Work::Multiply
                }
                (true, Some(_)) => Work::Integer64,
                (true, None) => Work::Shift64,
                _ => Work::Logic,
            }
        }
        BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => match is_wide(ty) {
            true => Work::Integer64,
            false => Work::Logic,
        },
        BinaryOp::MinSigned
        | BinaryOp::MaxSigned
        | BinaryOp::MinUnsigned
        | BinaryOp::MaxUnsigned => match is_wide(ty) {
            true => Work::Integer64,
            false => Work::Compare,
        },
        BinaryOp::FloatMin | BinaryOp::FloatMax | BinaryOp::Step | BinaryOp::CopySign => match ty {
            Type::F64 => Work::Double,
            Type::F16 | Type::BF16 => Work::Half,
            _ => Work::Compare,
        },
        BinaryOp::FloatDiv if ty == Type::F64 => Work::DivideDouble,
        BinaryOp::FloatDiv if approximate || ty != Type::F32 => Work::Quotient,
        BinaryOp::FloatDiv => Work::DivideFloat,
        BinaryOp::ApproximateDiv => Work::Quotient,
        BinaryOp::Pow if approximate => Work::Power,
        BinaryOp::FloatRem | BinaryOp::FloatRemainder if ty == Type::F32 => Work::DivideFloat,
        BinaryOp::FloatRem
        | BinaryOp::FloatRemainder
        | BinaryOp::Pow
        | BinaryOp::Atan2
        | BinaryOp::Hypot
        | BinaryOp::Ldexp => match ty {
            Type::F64 => Work::FunctionDouble,
            _ => Work::Function,
        },
        _ => arithmetic(ty),
    }
}

fn ternary(function: &Function, inst: &InstData, op: TernaryOp, ty: Type) -> Work {
    match op {
        TernaryOp::BitExtractSigned | TernaryOp::BitExtractUnsigned | TernaryOp::BitInsert => {
            let fields = inst.args.iter().rev().take(2);
            match fields
                .copied()
                .all(|field| function.int_constant(field).is_some())
            {
                true => Work::Logic,
                false => Work::BitField,
            }
        }
        TernaryOp::Dot4Signed
        | TernaryOp::Dot4Unsigned
        | TernaryOp::Dot2Signed
        | TernaryOp::Dot2Unsigned => Work::Multiply,
        TernaryOp::SadSigned | TernaryOp::SadUnsigned => Work::Compare,
        TernaryOp::SmoothStep if ty != Type::F64 => Work::DivideFloat,
        TernaryOp::SmoothStep => Work::FunctionDouble,
        _ if is_wide(ty) => Work::Integer64,
        _ => Work::Logic,
    }
}

fn convert(function: &Function, inst: &InstData, op: Convert, ty: Type) -> Work {
    let from = inst.args.first().map_or(ty, |&from| function.ty(from));
    match op {
        // Parts of registers, and operands that wide instructions extend themselves.
        Convert::Truncate | Convert::Bitcast | Convert::SpaceCast => Work::Free,
        Convert::ZeroExtend | Convert::SignExtend if ty == Type::I64 => Work::Free,
        Convert::ZeroExtend | Convert::SignExtend => Work::Logic,
        Convert::ToBool => Work::Compare,
        _ if from.bits() == 64 || ty.bits() == 64 => Work::ConvertWide,
        _ => Work::Convert,
    }
}

/// A 64-bit product of 32-bit factors, or of one with a constant: one instruction, with a sum to it.
fn wide_product(function: &Function, value: Value) -> bool {
    let Some(inst) = function.defining(value) else {
        return false;
    };
    let extended = |value: Value| {
        let of = |inst: &InstData| {
            matches!(
                inst.op,
                Op::Convert(Convert::SignExtend | Convert::ZeroExtend)
            )
        };
        function.defining(value).is_some_and(of)
    };
    let narrow = |value: Value| extended(value) || function.int_constant(value).is_some();
    match (&inst.op, inst.args.as_slice()) {
        (Op::Binary(BinaryOp::Mul, _), &[a, b]) => {
            (extended(a) && narrow(b)) || (narrow(a) && extended(b))
        }
        (Op::Binary(BinaryOp::Shl, _), &[a, by]) => {
            extended(a) && function.int_constant(by).is_some()
        }
        _ => false,
    }
}
