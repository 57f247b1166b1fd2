//! Instructions. Operands are `Value`s; further properties of an operation are in its `Op`. Unless said
//! otherwise an operation is pure, lane-wise and total (a shift by the width or more and a division by zero
//! give an unspecified value that is the same for equal operands; the reference interpreter defines which).

mod texture;

pub use texture::{Geometry, TextureAccess, TextureOp};

use crate::entity::{Symbol, UnknownId, Value};
use crate::function::Loc;
use crate::types::Space;
use smallvec::SmallVec;
use smol_str::SmolStr;
use std::fmt;

/// One instruction: `results = op args`, executed where `guard` holds.
#[derive(Clone, PartialEq, Debug)]
pub struct InstData {
    pub op: Op,
    pub args: SmallVec<[Value; 4]>,
    pub results: SmallVec<[Value; 1]>,
    /// A predicate, for operations with effects only (loads, stores, atomics, barriers, calls): lanes where it does
    /// not hold skip the operation, their results are unspecified (the lowering selects the old value).
    pub guard: Option<Guard>,
    pub loc: Loc,
}

impl InstData {
    /// Its operands, and the value of its guard.
    pub fn operands(&self) -> impl Iterator<Item = Value> + '_ {
        let guard = self.guard.map(|guard| guard.value);
        self.args.iter().copied().chain(guard)
    }
    pub fn operands_mut(&mut self) -> impl Iterator<Item = &mut Value> {
        let guard = self.guard.as_mut().map(|guard| &mut guard.value);
        self.args.iter_mut().chain(guard)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Guard {
    pub value: Value,
    /// The operation runs where the value is false.
    pub negated: bool,
}

/// The size of private memory for a type whose size is not known.
pub const UNKNOWN_SIZE: u32 = 4099;

/// The prefix of the name of a call through a pointer.
pub const THROUGH: char = '*';

/// The call that gives the address of a function's arguments without names, which lie one behind the other.
pub const UNNAMED: &str = "__builtin_va_area";

#[derive(Clone, PartialEq, Debug)]
pub enum Op {
    /// A literal of the result's type: integers sign-extended to 64 bits, floats as their own bit pattern (an f32's
    /// pattern in the low 32 bits).
    Const(u64),
    /// A read of a variable that was never written.
    Undef,
    /// A construct that was not understood; `args` are the operands that could be. Divergent, with the reason.
    Unknown(UnknownId),
    /// The address of a symbol (Ptr), or the resource that it names (Handle).
    SymbolAddress(Symbol),
    /// A builtin value of the launch.
    Special(Special),
    /// A shader stage's input: an index into `Function::inputs`.
    StageInput(u32),
    /// A uniform value whose number is not known: template value parameters, specialisation constants, `sizeof` an
    /// unknown type. Equal names are equal values. Uniform over the dispatch.
    Parameter(SmolStr),
    Unary(UnaryOp),
    Binary(BinaryOp, Wrap),
    /// Integer or pointer comparison; result `Bool`.
    IntCompare(IntCondition),
    FloatCompare(FloatCondition),
    /// `args = [condition, if_true, if_false]`.
    Select,
    /// `args = [a, b, c]`: a*b + c rounded once.
    Fma,
    Ternary(TernaryOp),
    Convert(Convert),
    /// `args = [base, byte_offset (I64)]`: address arithmetic within an object, never wraps around.
    PtrAdd,
    /// Private memory of `size` bytes, one a lane and an execution of the entry; `UNKNOWN_SIZE` if it is not known. Result
    /// `Ptr(Local)`.
    Alloca {
        size: u32,
        align: u32,
    },
    /// `args = [address]`; `results` are consecutive elements in memory, each of its own type's size.
    Load(MemoryAccess),
    /// `args = [address, values...]`, consecutive elements.
    Store(MemoryAccess),
    /// `args = [address, operand]`, for `CompareExchange` `[address, compare, new]`; result (if any) the old value.
    Atomic(AtomicOp, MemoryAccess),
    /// `args = [base resource, index]`: an element of an array of resources (bindless or bound array); result as base.
    ResourceElement {
        non_uniform_marked: bool,
    },
    /// `args = [handle, (sampler,) coordinates..., further...]`; results are the components.
    Texture(TextureAccess),
    /// A warp operation. See `WarpOp` for the arguments.
    Warp(WarpOp),
    /// A barrier. `args` are empty, or `[predicate]` for the reducing forms, or `[mask]` for `Warp`.
    Barrier(Barrier),
    /// Screen-space derivative of `args[0]` within the quad.
    Derivative(Derivative),
    /// Memory ordering without waiting.
    Fence,
    /// A call of a function of the same module (recursion, or too deep to inline): index into `Module::functions`.
    Call(u32),
    /// A call of a function that is not visible: any result, any effect on memory that it can reach. A name that begins
    /// with `THROUGH` is that of a pointer, `args[0]`, to the function that is called.
    CallUnknown {
        name: SmolStr,
        pure: bool,
        convention: Convention,
    },
    /// Inline assembly, opaque: results depend on the operands and on anything else unless `pure`.
    Asm {
        template: SmolStr,
        pure: bool,
    },
}

/// The convention by which values go to a function that is not entered, and come back, where it is not that
/// of C with a slot for each argument and a register for the result.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Convention {
    /// The first argument is the address where the result is written; it takes no slot.
    pub into: bool,
    /// Arguments or the result are parts of structures that are passed by value.
    pub structures: bool,
    /// Arguments, by number, that lie in the slot of the one before them: second elements of pairs of `float`.
    pub halves: SmallVec<[u16; 2]>,
    /// The number of arguments, the last ones, that are passed by reference: as many results, the last ones,
    /// are their new values.
    pub by_reference: u16,
}

impl Convention {
    /// The slot of each of so many arguments; `None` of the address where the result goes.
    #[must_use]
    pub fn slots(&self, count: usize) -> Vec<Option<usize>> {
        let mut next = 0;
        let slot = |at: usize| {
            if at == 0 && self.into {
                return None;
            }
            if !self.is_half(at) {
                next += 1;
            }
            Some(next - 1)
        };
        (0..count).map(slot).collect()
    }
    #[must_use]
    pub fn is_half(&self, argument: usize) -> bool {
        self.halves
            .iter()
            .any(|&half| usize::from(half) == argument)
    }
}

/// Permission to assume that integer arithmetic does not wrap (language undefined behaviour or proved), and of floating-point
/// arithmetic that it stands by itself.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Wrap {
    pub no_signed: bool,
    pub no_unsigned: bool,
    /// The result of a floating-point operation is rounded, whatever its use: it is never contracted
    /// (`__fmul_rn`, `precise`).
    pub separate: bool,
}

impl Wrap {
    pub const MAY: Wrap = Wrap {
        no_signed: false,
        no_unsigned: false,
        separate: false,
    };
    pub const NO_SIGNED: Wrap = Wrap {
        no_signed: true,
        ..Wrap::MAY
    };
    pub const NO_UNSIGNED: Wrap = Wrap {
        no_unsigned: true,
        ..Wrap::MAY
    };
    pub const SEPARATE: Wrap = Wrap {
        separate: true,
        ..Wrap::MAY
    };
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum UnaryOp {
    Neg,
    /// Bitwise complement; logical not of a Bool.
    Not,
    IntAbs,
    PopCount,
    CountLeadingZeros,
    CountTrailingZeros,
    /// Index of the highest set bit (of the highest bit unlike the sign, for the signed form), all ones if none.
    FindHighBitUnsigned,
    FindHighBitSigned,
    /// 1 + index of the lowest set bit, 0 if none.
    FindFirstSet,
    ReverseBits,
    ReverseBytes,
    /// The size of the number; of the least number, the largest there is.
    AbsSaturateSigned,
    /// Places by which a number can go left and keep its sign: those of its sign bits that repeat the highest; 0 of 0.
    Normalize,
    /// The high half of a number, rounded by the low half (halves up) and saturated: its result has half the
    /// width.
    RoundHigh,
    FloatNeg,
    FloatAbs,
    Sqrt,
    Rsqrt,
    Reciprocal,
    Cbrt,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Sinh,
    Cosh,
    Tanh,
    Asinh,
    Acosh,
    Atanh,
    Exp,
    Exp2,
    Exp10,
    Expm1,
    Log,
    Log2,
    Log10,
    Log1p,
    Erf,
    Erfc,
    Gamma,
    LogGamma,
    Floor,
    Ceil,
    TruncFloat,
    /// Rounds to nearest, halves away from zero.
    Round,
    /// Rounds to nearest, halves to even.
    RoundEven,
    Fract,
    Saturate,
    /// Sign as -1, 0 or 1 in the same type.
    FloatSign,
    IntSign,
    IsNan,
    IsInf,
    IsFinite,
    SignBit,
    Degrees,
    Radians,
    /// Computed by the hardware's approximation, which a call by this name asks for (`__sinf`, `sin.approx`);
    /// else as the exact one.
    ApproximateSin,
    ApproximateCos,
    ApproximateLog2,
    /// Bessel functions, inverse normal and other functions of one operand that the interpreter gives as 0 with a report.
    OtherMath,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    /// High half of the product.
    MulHighSigned,
    MulHighUnsigned,
    /// 24-bit multiply, low half: operands are taken modulo 2^24.
    Mul24Signed,
    Mul24Unsigned,
    DivSigned,
    DivUnsigned,
    RemSigned,
    RemUnsigned,
    And,
    Or,
    Xor,
    Shl,
    ShrUnsigned,
    ShrSigned,
    RotateLeft,
    MinSigned,
    MaxSigned,
    MinUnsigned,
    MaxUnsigned,
    AddSaturateSigned,
    SubSaturateSigned,
    /// Twice the signed product, saturated: of fractions that have one bit before the point. Its result is twice as wide.
    MulFractional,
    /// A shift to the left by a signed number of places, to the right (with copies of the sign) if it is
    /// negative; saturates.
    ShlSaturateSigned,
    /// The same the other way round.
    ShrSaturateSigned,
    /// The signed quotient of fractions, towards zero and saturated: `(x << (bits - 1)) / y`. By zero, the limit that has the
    /// sign of `x`.
    DivFractional,
    FloatAdd,
    FloatSub,
    FloatMul,
    FloatDiv,
    FloatRem,
    FloatMin,
    FloatMax,
    Pow,
    Atan2,
    CopySign,
    Hypot,
    Ldexp,
    /// x >= edge: `args = [edge, x]`.
    Step,
    FloatRemainder,
    FloatDim,
    /// Computed by the hardware's approximation, which a call by this name asks for (`__fdividef`,
    /// `div.approx`); else as `FloatDiv`.
    ApproximateDiv,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TernaryOp {
    /// `[value, position, length]`.
    BitExtractSigned,
    BitExtractUnsigned,
    /// `[field, base, position, length]` (four operands).
    BitInsert,
    /// `[low, high, shift]`: high half of (high:low) << shift.
    FunnelLeft,
    /// low half of (high:low) >> shift.
    FunnelRight,
    /// `[a, b, selector]`: PTX `prmt.b32`.
    BytePermute,
    /// `[a, b, c, table]`: PTX `lop3.b32` (four operands, the last a constant).
    Lop3,
    /// `[a, b, c]`: |a - b| + c.
    SadSigned,
    SadUnsigned,
    /// Four 8-bit products added to c.
    Dot4Signed,
    Dot4Unsigned,
    Dot2Signed,
    Dot2Unsigned,
    /// `[a, b, t]`
    SmoothStep,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum IntCondition {
    Equal,
    NotEqual,
    LessSigned,
    LessEqualSigned,
    GreaterSigned,
    GreaterEqualSigned,
    LessUnsigned,
    LessEqualUnsigned,
    GreaterUnsigned,
    GreaterEqualUnsigned,
}

impl IntCondition {
    #[must_use]
    pub const fn is_equality(self) -> bool {
        matches!(self, IntCondition::Equal | IntCondition::NotEqual)
    }
    /// Returns true of an order of numbers with a sign.
    #[must_use]
    pub const fn is_signed(self) -> bool {
        use IntCondition::{GreaterEqualSigned, GreaterSigned, LessEqualSigned, LessSigned};
        matches!(
            self,
            LessSigned | GreaterSigned | LessEqualSigned | GreaterEqualSigned
        )
    }
    /// Returns the condition of the operands in the other order: `b < a` of `a > b`.
    #[must_use]
    pub const fn mirrored(self) -> IntCondition {
        use IntCondition::*;
        match self {
            Equal | NotEqual => self,
            LessSigned => GreaterSigned,
            LessEqualSigned => GreaterEqualSigned,
            GreaterSigned => LessSigned,
            GreaterEqualSigned => LessEqualSigned,
            LessUnsigned => GreaterUnsigned,
            LessEqualUnsigned => GreaterEqualUnsigned,
            GreaterUnsigned => LessUnsigned,
            GreaterEqualUnsigned => LessEqualUnsigned,
        }
    }
    /// Returns the condition that holds where this one does not.
    #[must_use]
    pub const fn negated(self) -> IntCondition {
        use IntCondition::*;
        match self {
            Equal => NotEqual,
            NotEqual => Equal,
            LessSigned => GreaterEqualSigned,
            LessEqualSigned => GreaterSigned,
            GreaterSigned => LessEqualSigned,
            GreaterEqualSigned => LessSigned,
            LessUnsigned => GreaterEqualUnsigned,
            LessEqualUnsigned => GreaterUnsigned,
            GreaterUnsigned => LessEqualUnsigned,
            GreaterEqualUnsigned => LessUnsigned,
        }
    }
    /// Returns whether the comparison holds for two numbers as it reads them.
    #[must_use]
    pub const fn holds(self, a: i128, b: i128) -> bool {
        use IntCondition::*;
        match self {
            Equal => a == b,
            NotEqual => a != b,
            LessSigned | LessUnsigned => a < b,
            LessEqualSigned | LessEqualUnsigned => a <= b,
            GreaterSigned | GreaterUnsigned => a > b,
            GreaterEqualSigned | GreaterEqualUnsigned => a >= b,
        }
    }
}

/// Ordered unless the name says otherwise: a comparison with a NaN is false.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FloatCondition {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    /// True also if an operand is a NaN.
    EqualUnordered,
    NotEqualUnordered,
    LessUnordered,
    LessEqualUnordered,
    GreaterUnordered,
    GreaterEqualUnordered,
    /// Neither is a NaN.
    Ordered,
    Unordered,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Convert {
    /// Conversion to fewer bits.
    Truncate,
    /// Conversion to fewer bits; a number that does not fit becomes the limit next to it.
    SaturateSigned,
    ZeroExtend,
    SignExtend,
    FloatToSigned,
    FloatToUnsigned,
    SignedToFloat,
    UnsignedToFloat,
    /// Conversion between float types.
    FloatToFloat,
    /// Same bits, other type of the same size (pointers to integers and back as well).
    Bitcast,
    /// Any type to Bool: not equal to zero.
    ToBool,
    /// Address of one space as an address of another.
    SpaceCast,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct MemoryAccess {
    pub space: Space,
    pub volatile: bool,
    /// Nobody writes this memory during the dispatch (`__ldg`, `ld.global.nc`, constant space, read-only resources,
    /// `const T* __restrict__`).
    pub read_only: bool,
    /// Bounds are checked by the hardware: an access outside gives 0 or is dropped (HLSL resources).
    pub checked: bool,
    /// In C: bytes of an object whatever types its members have (unions, bit-fields), so that types tell it apart from
    /// no other access.
    pub untyped: bool,
    /// Of loads alone.
    pub speculation: Option<Speculation>,
}

impl fmt::Debug for MemoryAccess {
    /// Stored profiles know code by this text: code that is recorded has no speculative loads, and is called what it was before
    /// there were any.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("MemoryAccess");
        out.field("space", &self.space)
            .field("volatile", &self.volatile)
            .field("read_only", &self.read_only)
            .field("checked", &self.checked)
            .field("untyped", &self.untyped);
        if let Some(part) = self.speculation {
            out.field("speculation", &part);
        }
        out.finish()
    }
}

/// The part of a load in a speculative one. Code generation makes them for machines whose registers keep the mark of a
/// load that failed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Speculation {
    /// It does not fault: where it fails its result is marked, and may not be used but by a check.
    Ahead,
    /// A check of such a result, the second operand: it loads where that is marked. What it yields is what memory holds.
    Check,
}

impl MemoryAccess {
    pub const fn in_space(space: Space) -> Self {
        MemoryAccess {
            space,
            volatile: false,
            read_only: matches!(space, Space::Constant),
            checked: false,
            untyped: false,
            speculation: None,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AtomicOp {
    Add,
    Sub,
    MinSigned,
    MaxSigned,
    MinUnsigned,
    MaxUnsigned,
    And,
    Or,
    Xor,
    Exchange,
    CompareExchange,
    /// CUDA atomicInc/atomicDec: `old >= operand ? 0 : old + 1`, and the inverse.
    IncrementWrap,
    DecrementWrap,
    FloatAdd,
    FloatMin,
    FloatMax,
}

/// Operations across the lanes of a warp. CUDA's `*_sync` forms have their mask as the *last* operand and
/// `mask: true`; without it the active lanes take part.
#[derive(Clone, PartialEq, Debug)]
pub struct WarpOp {
    pub kind: WarpKind,
    pub mask: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum WarpKind {
    /// `[value, lane, width]`; result value (and, when there are two results, a Bool "in range").
    ShuffleIndex,
    /// `[value, delta, width]`.
    ShuffleUp,
    ShuffleDown,
    ShuffleXor,
    /// PTX `shfl.sync`: as above, with PTX's packed `c` operand in place of the width.
    ShufflePtx(ShuffleMode),
    /// `[predicate]` -> Bool.
    VoteAll,
    VoteAny,
    /// All predicates of the active lanes are equal.
    VoteUniform,
    /// `[predicate]` -> I32 or I64 mask (HLSL: four I32).
    Ballot,
    /// `[value]` -> Bool: all lanes hold the same value.
    AllEqual,
    /// `[value]` -> mask of the lanes with an equal value.
    MatchAny,
    /// `[value]` -> mask (or 0), Bool.
    MatchAll,
    /// `[value]`.
    ReadFirstLane,
    /// `[value, lane]`.
    ReadLaneAt,
    /// `[value]`, over the active lanes.
    Reduce(ReduceOp),
    /// `[value]`: exclusive prefix over the active lanes.
    PrefixExclusive(ReduceOp),
    PrefixInclusive(ReduceOp),
    /// `[predicate]` -> I32.
    CountBits,
    PrefixCountBits,
    /// -> mask of the active lanes.
    ActiveMask,
    /// -> Bool: true in the first active lane only.
    IsFirstLane,
    /// `[value]` or `[value, lane]`: within the quad of four lanes.
    QuadReadAcrossX,
    QuadReadAcrossY,
    QuadReadAcrossDiagonal,
    QuadReadLaneAt,
    QuadAny,
    QuadAll,
    /// HLSL WaveMatch, multi-prefix and others: divergent result.
    Other,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ShuffleMode {
    Index,
    Up,
    Down,
    Butterfly,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ReduceOp {
    Add,
    Mul,
    MinSigned,
    MaxSigned,
    MinUnsigned,
    MaxUnsigned,
    And,
    Or,
    Xor,
    FloatAdd,
    FloatMul,
    FloatMin,
    FloatMax,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Barrier {
    /// All threads of the workgroup.
    Workgroup,
    /// `__syncthreads_and/or/count`, `bar.red`: result the reduction over the workgroup.
    WorkgroupAnd,
    WorkgroupOr,
    WorkgroupCount,
    /// A named barrier with a thread count: `args = [name, (count)]`; `arrive` does not wait.
    Named {
        arrive: bool,
    },
    /// `__syncwarp(mask)`, `bar.warp.sync`.
    Warp,
    /// The whole grid or cluster (cooperative groups); `args = [true]` where it is known to be the grid.
    Grid,
    /// µ-SIMD's `sync`: closes the branch on top of the synchronisation stack.
    MicroSimd,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Derivative {
    X,
    Y,
    XCoarse,
    YCoarse,
    XFine,
    YFine,
    Width,
}

/// Builtin values of a launch. `Axis` is 0, 1 or 2 for x, y, z.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Special {
    /// threadIdx, SV_GroupThreadID. SV_DispatchThreadID is lowered to BlockId * BlockDim + ThreadId.
    ThreadId(u8),
    /// blockDim, numthreads.
    BlockDim(u8),
    /// blockIdx, SV_GroupID.
    BlockId(u8),
    GridDim(u8),
    LaneId,
    /// Number of the warp in the workgroup: that of the linear thread index over the warp's size.
    WarpId,
    WarpSize,
    /// Number of warps in the workgroup.
    WarpCount,
    /// `%warpid`: the warp's place on its multiprocessor, which may change between two reads.
    WarpSlot,
    LaneMaskEq,
    LaneMaskLt,
    LaneMaskLe,
    LaneMaskGt,
    LaneMaskGe,
    Clock,
    SmId,
    /// The rank in the cluster and other values that are uniform over the workgroup. Numbers tell them apart: those below
    /// `Special::LIBRARY` are special registers of PTX.
    OtherWorkgroup(u16),
    /// The number of multiprocessors, the grid's number and others that are uniform over the dispatch, numbered likewise.
    OtherDispatch(u16),
    /// µ-SIMD's thread identifier `Tid`.
    MicroSimdTid,
}

impl Special {
    /// The first number of values that a language's library or its stages name.
    pub const LIBRARY: u16 = 1024;
}

impl Op {
    /// May write memory, wait, or otherwise be observed: never removed, moved or merged.
    pub fn has_effect(&self) -> bool {
        match self {
            Op::Store(_) | Op::Atomic(..) | Op::Barrier(_) | Op::Fence | Op::Call(_) => true,
            Op::Load(access) => access.volatile,
            Op::Texture(access) => {
                access.op.is_opaque()
                    || matches!(access.op, TextureOp::Store | TextureOp::Atomic(_))
            }
            Op::CallUnknown { pure, .. } | Op::Asm { pure, .. } => !pure,
            Op::Unknown(_) => true,
            Op::Warp(_) => true,
            _ => false,
        }
    }
    pub fn reads_memory(&self) -> bool {
        matches!(
            self,
            Op::Load(_) | Op::Atomic(..) | Op::Texture(_) | Op::Call(_)
        ) || matches!(
            self,
            Op::CallUnknown { pure: false, .. } | Op::Asm { pure: false, .. }
        )
    }
}
