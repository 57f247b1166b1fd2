//! Instructions, decoded.

use super::register::Reg;
use smol_str::SmolStr;

/// A source of the arithmetic units.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Source {
    D(u8),
    Number(i64),
}

/// An operation of the data units: sources `a` and `b`, target and third source `n`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Data {
    pub kind: DataKind,
    pub a: Source,
    pub b: Source,
    pub n: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum DataKind {
    Abs,
    Adc,
    Add,
    /// Two sums of 16 bits.
    Add2,
    /// A sum that leaves the carry alone.
    AddQuiet,
    AddRounded,
    And,
    Asl,
    Asr,
    /// Arithmetic, to the left by `a`.
    ShiftLeft,
    ShiftRight,
    LogicalLeft,
    LogicalRight,
    Clb,
    Clear,
    CompareEqual,
    CompareGreater,
    CompareHigher,
    /// Less one, T if it is zero then.
    CountEqual,
    /// Less one, T if it is not negative then.
    CountGreater,
    Divide,
    /// High parts, the accumulator shifted by 16.
    DoubleMac,
    /// The same, the second factor an unsigned low part.
    DoubleMacUnsigned,
    Eor,
    Extract,
    ExtractUnsigned,
    Insert,
    IntegerAdd,
    IntegerAddQuiet,
    /// Products of halves as integers.
    IntegerMultiply(Halves),
    IntegerMac(Halves),
    Inc,
    IncHigh,
    Mac {
        negative: bool,
        rounded: bool,
    },
    Multiply {
        negative: bool,
        rounded: bool,
    },
    /// Fractional products of halves.
    MixedMac(Halves),
    MixedMultiply(Halves),
    Max,
    MaxMagnitude,
    Min,
    Max2,
    Neg,
    Not,
    Or,
    Rol,
    Ror,
    Round,
    SaturateHigh,
    SaturateLong,
    Sbc,
    Sub,
    Sub2,
    SubQuiet,
    SubRounded,
    SubDouble,
    Transfer,
    /// A transfer if T has this value.
    TransferIf(bool),
    TestEqual,
    TestGreaterEqual,
    TestGreater,
    Extend {
        bits: u32,
        sign: bool,
    },
}

/// The halves that are multiplied: each high or low, with a sign or without.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Halves {
    pub a: Half,
    pub b: Half,
}
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Half {
    High,
    Low,
    HighUnsigned,
    LowUnsigned,
}

/// A source of the address units.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Word {
    Reg(Reg),
    Number(i64),
}

/// Arithmetic of the address units.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Address {
    pub kind: AddressKind,
    pub source: Word,
    /// The register that the source is added to: the target, unless three operands are written.
    pub base: Reg,
    pub target: Reg,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AddressKind {
    /// The base and the source, shifted to the left.
    Add(u32),
    Subtract,
    /// A shift to the left; to the right, arithmetic or logical.
    ShiftLeft(u32),
    ShiftRight,
    ShiftRightLogical,
    Copy,
    Extend {
        bits: u32,
        sign: bool,
    },
    CompareEqual,
    CompareGreater,
    CompareHigher,
    TestEqual(u32),
    TestGreaterEqual,
    TestGreater,
    /// Less one, T if it is zero then; or not negative.
    CountEqual,
    CountGreater,
}

/// Sizes of one element of a move.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Element {
    Byte,
    Word,
    Long,
    /// 16 bits in the high part.
    Fraction,
}

impl Element {
    pub(super) const fn bits(self) -> u32 {
        match self {
            Element::Byte => 8,
            Element::Word | Element::Fraction => 16,
            Element::Long => 32,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Index {
    /// An offset register, or a low address register.
    Reg(Reg),
    /// Bytes.
    Bytes(i64),
}

/// An address in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    Absolute(u32),
    /// The register, and its step: so many accesses, or an offset register.
    Indirect(u8, Step),
    /// Indexed; costs a cycle where the processor calculates the address first.
    Indexed(Reg, Index),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    Accesses(i64),
    By(u8),
}

/// The end of a move.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum End {
    /// As many registers as the move has elements.
    Regs([Reg; 4]),
    Half(Reg, bool),
    Number(i64),
    Memory(Place),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Move {
    pub element: Element,
    pub count: u8,
    pub sign: bool,
    /// Scales and limits the stored value.
    pub limits: bool,
    pub from: End,
    pub to: End,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum MaskKind {
    Set,
    Clear,
    Change,
    /// T if all are 1.
    TestSet,
    /// T if all are 0.
    TestClear,
    /// T if all are 1, and sets them.
    TestAndSet,
    And,
    Or,
    Eor,
    Not,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Mask {
    pub kind: MaskKind,
    pub mask: u16,
    /// A half register or a word of memory.
    pub target: End,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Target {
    Address(u32),
    Reg(u8),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Jump {
    pub target: Target,
    /// The value of T at which it is taken; `None`: always.
    pub when: Option<bool>,
    pub call: bool,
    pub delayed: bool,
    /// Its target is formed from the program counter.
    pub relative: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LoopOp {
    Setup(u8, u32),
    Enable {
        number: u8,
        short: bool,
        count: Word,
    },
    Skip(u32),
    Break(u32),
    Continue {
        target: u32,
        delayed: bool,
    },
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Op {
    Data(Data),
    Address(Address),
    /// A copy between address registers if T has this value.
    CopyIf(bool, Reg, Reg),
    Move(Move),
    Mask(Mask),
    Push {
        reg: Reg,
        normal: bool,
    },
    Pop {
        reg: Reg,
        normal: bool,
    },
    Jump(Jump),
    Return {
        delayed: bool,
        status: bool,
    },
    Loop(LoopOp),
    /// Marks of loops, written out: A, or B.
    Mark(bool),
    Nop,
    /// An instruction that ends a run.
    Stop(SmolStr),
    Unknown(SmolStr),
}
