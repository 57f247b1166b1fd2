//! Operands and results that each operation takes. `int` is I8 to I64, `float` F16 to F64, `T` the same type
//! throughout one line.
//!
//! ```text
//! const, undef, parameter            -> any
//! unary on ints                      T int -> T      (not: Bool too; counts: any int result)
//! unary on floats                    T float -> T    (isnan and the like: -> Bool)
//! binary on ints                     T, T -> T       (and/or/xor: Bool too; shifts: the amount is any int)
//! fractional product                 T, T -> int of twice the width; rounding to the high half: int -> of half the width
//! binary on floats                   T, T -> T       (ldexp: T, int -> T)
//! icmp                               T, T -> Bool    (any integral T; handles and opaque for equality)
//! fcmp                               T, T -> Bool
//! select                             Bool, T, T -> T
//! truncate, saturate / extend        int or Bool -> narrower / wider
//! bitcast                            same number of bits
//! ptr_add                            Ptr, I64 -> same Ptr
//! load                               Ptr -> one or more
//! store                              Ptr, one or more ->
//! atomic                             Ptr, T (, T for compare_exchange) -> nothing or T    (opaque: of an unknown type)
//! shuffles                           T, int, int -> T (, Bool)
//! ```

use crate::entity::Value;
use crate::function::{Function, Module};
use crate::inst::*;
use crate::types::{Space, Type};

type Check = Result<(), String>;

/// Checks the number and the types of an instruction's operands and results.
pub(super) fn check(function: &Function, module: Option<&Module>, data: &InstData) -> Check {
    let signature = Signature {
        args: data.args.iter().map(|&v: &Value| function.ty(v)).collect(),
        results: data.results.iter().map(|&v| function.ty(v)).collect(),
    };
    let s = &signature;
    match &data.op {
        Op::Const(_) | Op::Undef | Op::Parameter(_) => s.count(0, 1),
        Op::Unknown(_) | Op::CallUnknown { .. } | Op::Asm { .. } => Ok(()),
        Op::SymbolAddress(symbol) => {
            s.count(0, 1)?;
            let space = function.symbols[*symbol].space;
            want(
                matches!(s.results[0], Type::Handle)
                    || matches!(s.results[0], Type::Ptr(p) if compatible(p, space)),
                "an address in the symbol's space, or a handle",
            )
        }
        Op::Special(special) => {
            s.count(0, 1)?;
            match special {
                Special::ThreadId(axis)
                | Special::BlockDim(axis)
                | Special::BlockId(axis)
                | Special::GridDim(axis)
                    if *axis > 2 =>
                {
                    Err("there are three axes".into())
                }
                Special::OtherWorkgroup(_) | Special::OtherDispatch(_) => Ok(()),
                _ => want(s.results[0].is_int(), "an integer result"),
            }
        }
        Op::StageInput(index) => {
            s.count(0, 1)?;
            want(
                function.inputs[*index as usize].ty == s.results[0],
                "the input's type",
            )
        }
        Op::Unary(op) => unary(*op, s),
        Op::Binary(op, _) => binary(*op, s),
        Op::IntCompare(condition) => {
            s.count(2, 1)?;
            let equality = matches!(condition, IntCondition::Equal | IntCondition::NotEqual);
            let opaque = matches!(s.args[0], Type::Handle | Type::Opaque);
            want(
                s.args[0].is_integral() || (equality && opaque),
                "integral operands",
            )?;
            want(s.args[0] == s.args[1], "operands of one type")?;
            want(s.results[0] == Type::Bool, "a Bool result")
        }
        Op::FloatCompare(_) => {
            s.count(2, 1)?;
            want(s.args[0].is_float(), "float operands")?;
            want(s.args[0] == s.args[1], "operands of one type")?;
            want(s.results[0] == Type::Bool, "a Bool result")
        }
        Op::Select => {
            s.count(3, 1)?;
            want(s.args[0] == Type::Bool, "a Bool condition")?;
            want(
                s.args[1] == s.args[2] && s.args[1] == s.results[0],
                "operands and result of one type",
            )
        }
        Op::Fma => {
            s.count(3, 1)?;
            s.same()?;
            want(s.args[0].is_float(), "float operands")
        }
        Op::Ternary(op) => ternary(*op, s),
        Op::Convert(kind) => convert(*kind, s),
        Op::PtrAdd => {
            s.count(2, 1)?;
            want(s.args[0].is_pointer(), "a pointer")?;
            want(s.args[1] == Type::I64, "an I64 offset")?;
            want(s.results[0] == s.args[0], "the pointer's type as result")
        }
        Op::Alloca { .. } => {
            s.count(0, 1)?;
            want(s.results[0] == Type::Ptr(Space::Local), "a local pointer")
        }
        Op::Load(access) => {
            want(
                access.speculation.is_none() || !access.volatile,
                "no volatile access that is speculative",
            )?;
            if access.speculation == Some(Speculation::Check) {
                s.count(2, 1)?;
                want(s.args[1] == s.results[0], "a value of the result's type")?;
            } else {
                want(s.args.len() == 1, "one operand")?;
            }
            want(!s.results.is_empty(), "a result")?;
            want(!s.results.contains(&Type::I40), "a type that memory has")?;
            s.address(access)
        }
        Op::Store(access) => {
            want(s.args.len() >= 2, "an address and values")?;
            want(s.results.is_empty(), "no results")?;
            want(!s.args.contains(&Type::I40), "a type that memory has")?;
            want(
                access.speculation.is_none(),
                "a load where it is speculative",
            )?;
            s.address(access)
        }
        Op::Atomic(op, access) => atomic(*op, access, s),
        Op::ResourceElement { .. } => {
            s.count(2, 1)?;
            want(s.args[1].is_int(), "an integer index")?;
            want(s.args[0] == s.results[0], "a result of the base's type")
        }
        Op::Texture(access) => texture(access, s),
        Op::Warp(op) => warp(op, s),
        Op::Barrier(barrier) => self::barrier(*barrier, s),
        Op::Derivative(_) => {
            s.count(1, 1)?;
            s.same()?;
            want(s.args[0].is_float(), "a float operand")
        }
        Op::Fence => s.count(0, 0),
        Op::Call(index) => {
            let Some(module) = module else { return Ok(()) };
            let callee = &module.functions[*index as usize];
            // A broken callee is reported where it stands.
            let params: Option<Vec<Type>> = callee
                .layout
                .first()
                .and_then(|&entry| callee.blocks.get(entry))
                .and_then(|entry| {
                    let types = entry.params.iter().map(|&p| callee.values.get(p));
                    types.map(|data| data.map(|d| d.ty)).collect()
                });
            want(
                params.is_none_or(|params| params == s.args),
                "the callee's parameter types",
            )?;
            want(callee.returns == s.results, "the callee's result types")
        }
    }
}

struct Signature {
    args: Vec<Type>,
    results: Vec<Type>,
}

impl Signature {
    fn count(&self, args: usize, results: usize) -> Check {
        if self.args.len() != args || self.results.len() != results {
            return Err(format!(
                "takes {args} operands and {results} results, has {} and {}",
                self.args.len(),
                self.results.len()
            ));
        }
        Ok(())
    }
    /// All operands and results have one type.
    fn same(&self) -> Check {
        let mut types = self.args.iter().chain(&self.results);
        let first = types.next();
        want(
            types.all(|ty| Some(ty) == first),
            "operands and result of one type",
        )
    }
    fn address(&self, access: &MemoryAccess) -> Check {
        match self.args[0] {
            Type::Ptr(space) => want(
                compatible(space, access.space),
                "an address in the access's space",
            ),
            _ => Err("wants an address as its first operand".into()),
        }
    }
    fn args_from(&self, start: usize, accept: fn(Type) -> bool, what: &str) -> Check {
        want(self.args.iter().skip(start).all(|&ty| accept(ty)), what)
    }
}

impl Type {
    fn is_pointer(self) -> bool {
        matches!(self, Type::Ptr(_))
    }
    fn is_int_or_bool(self) -> bool {
        self.is_int() || self == Type::Bool
    }
}

fn compatible(a: Space, b: Space) -> bool {
    a == b || a == Space::Generic || b == Space::Generic
}

fn want(holds: bool, what: &str) -> Check {
    if holds {
        Ok(())
    } else {
        Err(format!("wants {what}"))
    }
}

const fn is_twice(wide: Type, narrow: Type) -> bool {
    wide.bits() == 2 * narrow.bits()
}

fn unary(op: UnaryOp, s: &Signature) -> Check {
    s.count(1, 1)?;
    match op {
        UnaryOp::Neg
        | UnaryOp::IntAbs
        | UnaryOp::ReverseBits
        | UnaryOp::ReverseBytes
        | UnaryOp::AbsSaturateSigned
        | UnaryOp::IntSign => {
            s.same()?;
            want(s.args[0].is_int(), "an integer operand")
        }
        UnaryOp::Not => {
            s.same()?;
            want(s.args[0].is_int_or_bool(), "an integer or Bool operand")
        }
        UnaryOp::PopCount
        | UnaryOp::CountLeadingZeros
        | UnaryOp::CountTrailingZeros
        | UnaryOp::FindHighBitUnsigned
        | UnaryOp::FindHighBitSigned
        | UnaryOp::Normalize
        | UnaryOp::FindFirstSet => {
            want(s.args[0].is_int(), "an integer operand")?;
            want(s.results[0].is_int(), "an integer result")
        }
        UnaryOp::RoundHigh => want(
            s.args[0].is_int() && s.results[0].is_int() && is_twice(s.args[0], s.results[0]),
            "an integer operand and a result of half its width",
        ),
        UnaryOp::IsNan | UnaryOp::IsInf | UnaryOp::IsFinite | UnaryOp::SignBit => {
            want(s.args[0].is_float(), "a float operand")?;
            want(s.results[0] == Type::Bool, "a Bool result")
        }
        UnaryOp::OtherMath => Ok(()),
        _ => {
            s.same()?;
            want(s.args[0].is_float(), "a float operand")
        }
    }
}

fn binary(op: BinaryOp, s: &Signature) -> Check {
    s.count(2, 1)?;
    match op {
        BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => {
            s.same()?;
            want(s.args[0].is_int_or_bool(), "integer or Bool operands")
        }
        BinaryOp::MulFractional => {
            want(s.args[0] == s.args[1], "operands of one type")?;
            want(
                s.args[0].is_int() && s.results[0].is_int() && is_twice(s.results[0], s.args[0]),
                "integer operands and a result of twice their width",
            )
        }
        BinaryOp::Shl
        | BinaryOp::ShrUnsigned
        | BinaryOp::ShrSigned
        | BinaryOp::ShlSaturateSigned
        | BinaryOp::ShrSaturateSigned
        | BinaryOp::RotateLeft => {
            want(s.args[0].is_int(), "an integer operand")?;
            want(s.args[1].is_int(), "an integer amount")?;
            want(s.args[0] == s.results[0], "a result of the operand's type")
        }
        BinaryOp::Add
        | BinaryOp::Sub
        | BinaryOp::Mul
        | BinaryOp::MulHighSigned
        | BinaryOp::MulHighUnsigned
        | BinaryOp::Mul24Signed
        | BinaryOp::Mul24Unsigned
        | BinaryOp::DivSigned
        | BinaryOp::DivUnsigned
        | BinaryOp::RemSigned
        | BinaryOp::RemUnsigned
        | BinaryOp::MinSigned
        | BinaryOp::MaxSigned
        | BinaryOp::MinUnsigned
        | BinaryOp::MaxUnsigned
        | BinaryOp::AddSaturateSigned
        | BinaryOp::SubSaturateSigned
        | BinaryOp::DivFractional => {
            s.same()?;
            want(s.args[0].is_int(), "integer operands")
        }
        BinaryOp::Ldexp => {
            want(s.args[0].is_float(), "a float operand")?;
            want(s.args[1].is_int(), "an integer exponent")?;
            want(s.args[0] == s.results[0], "a result of the operand's type")
        }
        _ => {
            s.same()?;
            want(s.args[0].is_float(), "float operands")
        }
    }
}

fn ternary(op: TernaryOp, s: &Signature) -> Check {
    match op {
        TernaryOp::BitInsert => {
            s.count(4, 1)?;
            want(s.args[0] == s.args[1], "field and base of one type")?;
            want(s.args[1] == s.results[0], "a result of the base's type")?;
            s.args_from(0, Type::is_int, "integer operands")
        }
        TernaryOp::Lop3 => {
            s.count(4, 1)?;
            s.same()?;
            want(s.args[0].is_int(), "integer operands")
        }
        TernaryOp::BitExtractSigned | TernaryOp::BitExtractUnsigned => {
            s.count(3, 1)?;
            want(s.args[0] == s.results[0], "a result of the operand's type")?;
            s.args_from(0, Type::is_int, "integer operands")
        }
        TernaryOp::FunnelLeft | TernaryOp::FunnelRight => {
            s.count(3, 1)?;
            want(
                s.args[0] == s.args[1] && s.args[0] == s.results[0],
                "halves and result of one type",
            )?;
            s.args_from(0, Type::is_int, "integer operands")
        }
        TernaryOp::SadSigned | TernaryOp::SadUnsigned | TernaryOp::BytePermute => {
            s.count(3, 1)?;
            s.same()?;
            want(s.args[0].is_int(), "integer operands")
        }
        TernaryOp::Dot4Signed
        | TernaryOp::Dot4Unsigned
        | TernaryOp::Dot2Signed
        | TernaryOp::Dot2Unsigned => {
            s.count(3, 1)?;
            want(s.args[2] == s.results[0], "a result of the sum's type")?;
            s.args_from(0, Type::is_int, "integer operands")
        }
        TernaryOp::SmoothStep => {
            s.count(3, 1)?;
            s.same()?;
            want(s.args[0].is_float(), "float operands")
        }
    }
}

fn convert(kind: Convert, s: &Signature) -> Check {
    s.count(1, 1)?;
    let (from, to) = (s.args[0], s.results[0]);
    match kind {
        Convert::Truncate => want(
            from.is_int() && to.is_int_or_bool() && to.bits() < from.bits(),
            "an integer and fewer bits",
        ),
        Convert::SaturateSigned => want(
            from.is_int() && to.is_int() && to.bits() < from.bits(),
            "an integer and fewer bits",
        ),
        Convert::ZeroExtend | Convert::SignExtend => want(
            from.is_int_or_bool() && to.is_int() && to.bits() > from.bits(),
            "an integer or Bool and more bits",
        ),
        Convert::FloatToSigned | Convert::FloatToUnsigned => {
            want(from.is_float() && to.is_int(), "float to integer")
        }
        Convert::SignedToFloat | Convert::UnsignedToFloat => want(
            from.is_int_or_bool() && to.is_float(),
            "integer or Bool to float",
        ),
        Convert::FloatToFloat => want(from.is_float() && to.is_float(), "float to float"),
        Convert::Bitcast => want(from.bits() == to.bits(), "types of one width"),
        Convert::ToBool => want(to == Type::Bool, "a Bool result"),
        Convert::SpaceCast => want(from.is_pointer() && to.is_pointer(), "pointers"),
    }
}

fn atomic(op: AtomicOp, access: &MemoryAccess, s: &Signature) -> Check {
    let operands = if op == AtomicOp::CompareExchange {
        3
    } else {
        2
    };
    want(s.args.len() == operands, "an address and its operands")?;
    want(s.results.len() <= 1, "at most one result")?;
    s.address(access)?;
    let ty = s.args[1];
    want(
        s.args[1..].iter().chain(&s.results).all(|&t| t == ty),
        "operands and result of one type",
    )?;
    match op {
        AtomicOp::FloatAdd | AtomicOp::FloatMin | AtomicOp::FloatMax => {
            want(ty.is_float(), "a float operand")
        }
        AtomicOp::Exchange | AtomicOp::CompareExchange => Ok(()),
        // Of a type that is not known, whatever the operation asks for.
        _ => want(ty.is_int() || ty == Type::Opaque, "an integer operand"),
    }
}

fn texture(access: &TextureAccess, s: &Signature) -> Check {
    if access.op.is_opaque() {
        return Ok(());
    }
    let least = 1 + usize::from(access.has_sampler) + usize::from(access.coordinates);
    want(
        s.args.len() >= least,
        "a handle, its sampler and coordinates",
    )?;
    want(
        matches!(s.args[0], Type::Handle | Type::Ptr(_)),
        "a resource",
    )?;
    want(
        !access.has_sampler || s.args[1] == Type::Handle,
        "a sampler after the resource",
    )
}

fn warp(op: &WarpOp, s: &Signature) -> Check {
    if op.kind == WarpKind::Other {
        return Ok(());
    }
    let operands = match op.kind {
        WarpKind::ShuffleIndex
        | WarpKind::ShuffleUp
        | WarpKind::ShuffleDown
        | WarpKind::ShuffleXor
        | WarpKind::ShufflePtx(_) => 3,
        WarpKind::ReadLaneAt | WarpKind::QuadReadLaneAt => 2,
        WarpKind::ActiveMask | WarpKind::IsFirstLane => 0,
        _ => 1,
    };
    want(
        s.args.len() == operands + usize::from(op.mask),
        "other operands (or a mask)",
    )?;
    if op.mask {
        s.args_from(operands, Type::is_int, "an integer mask")?;
    }
    let results = |least: usize, most: usize| {
        want(
            (least..=most).contains(&s.results.len()),
            "another number of results",
        )
    };
    let integers = || {
        want(
            s.results.iter().all(|ty| ty.is_int()),
            "a mask of integers as result",
        )
    };
    let predicate = || want(s.args[0] == Type::Bool, "a Bool operand");
    let as_operand = || want(s.results[0] == s.args[0], "a result of the operand's type");
    let truth = |ty: Type| want(ty == Type::Bool, "a Bool result");
    match op.kind {
        WarpKind::ShuffleIndex
        | WarpKind::ShuffleUp
        | WarpKind::ShuffleDown
        | WarpKind::ShuffleXor
        | WarpKind::ShufflePtx(_) => {
            results(1, 2)?;
            as_operand()?;
            want(
                s.args[1].is_int() && s.args[2].is_int(),
                "an integer lane and width",
            )?;
            s.results.get(1).map_or(Ok(()), |&ty| truth(ty))
        }
        WarpKind::VoteAll
        | WarpKind::VoteAny
        | WarpKind::VoteUniform
        | WarpKind::QuadAny
        | WarpKind::QuadAll => {
            results(1, 1)?;
            predicate()?;
            truth(s.results[0])
        }
        WarpKind::Ballot => {
            results(1, 4)?;
            predicate()?;
            integers()
        }
        WarpKind::AllEqual => {
            results(1, 1)?;
            truth(s.results[0])
        }
        WarpKind::MatchAny => {
            results(1, 4)?;
            integers()
        }
        WarpKind::MatchAll => {
            results(1, 2)?;
            want(s.results[0].is_int(), "an integer mask")?;
            s.results.get(1).map_or(Ok(()), |&ty| truth(ty))
        }
        WarpKind::ReadFirstLane
        | WarpKind::QuadReadAcrossX
        | WarpKind::QuadReadAcrossY
        | WarpKind::QuadReadAcrossDiagonal => {
            results(1, 1)?;
            as_operand()
        }
        WarpKind::ReadLaneAt | WarpKind::QuadReadLaneAt => {
            results(1, 1)?;
            want(s.args[1].is_int(), "an integer lane")?;
            as_operand()
        }
        WarpKind::Reduce(reduce)
        | WarpKind::PrefixExclusive(reduce)
        | WarpKind::PrefixInclusive(reduce) => {
            results(1, 1)?;
            as_operand()?;
            let float = matches!(
                reduce,
                ReduceOp::FloatAdd | ReduceOp::FloatMul | ReduceOp::FloatMin | ReduceOp::FloatMax
            );
            want(
                if float {
                    s.args[0].is_float()
                } else {
                    s.args[0].is_int_or_bool()
                },
                "an operand of the reduction's type",
            )
        }
        WarpKind::CountBits | WarpKind::PrefixCountBits => {
            results(1, 1)?;
            predicate()?;
            integers()
        }
        WarpKind::ActiveMask => {
            results(1, 4)?;
            integers()
        }
        WarpKind::IsFirstLane => {
            results(1, 1)?;
            truth(s.results[0])
        }
        WarpKind::Other => Ok(()),
    }
}

fn barrier(barrier: Barrier, s: &Signature) -> Check {
    match barrier {
        Barrier::Workgroup | Barrier::MicroSimd => s.count(0, 0),
        Barrier::WorkgroupAnd | Barrier::WorkgroupOr | Barrier::WorkgroupCount => {
            want(s.args == [Type::Bool], "one Bool operand")?;
            want(
                s.results.len() <= 1 && s.results.iter().all(|ty| ty.is_int_or_bool()),
                "an integer or Bool result",
            )
        }
        Barrier::Named { .. } => {
            want(matches!(s.args.len(), 1 | 2), "a name and a count")?;
            want(s.results.is_empty(), "no results")?;
            s.args_from(0, Type::is_int, "integer operands")
        }
        Barrier::Warp => {
            want(s.args.len() <= 1, "at most a mask")?;
            want(s.results.is_empty(), "no results")?;
            s.args_from(0, Type::is_int, "an integer mask")
        }
        Barrier::Grid => Ok(()),
    }
}
