//! Operations with their operands resolved: registers by the numbers that it names, addresses and constants
//! as numbers.

use super::float_ops::{Bits, Merge};
use isa::ia64::Reg;
use std::cmp::Ordering;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Src {
    Reg(u8),
    Imm(i64),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Alu {
    Add,
    /// A sum, plus one.
    AddOne,
    Sub,
    /// Less one more.
    SubOne,
    And,
    AndNot,
    Or,
    Xor,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum One {
    SignExtend(u32),
    ZeroExtend(u32),
    /// Index of the first zero element: its bytes, from the left.
    ZeroIndex(u32, bool),
    Population,
    LeadingZeros,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shift {
    Left,
    Right,
    RightUnsigned,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Saturation {
    Wrap,
    /// Both operands and the result signed.
    Sss,
    /// Both and the result unsigned.
    Uuu,
    /// First and result unsigned, second signed.
    Uus,
}

/// Operations on elements of a register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Lanes {
    Add(Saturation),
    Sub(Saturation),
    Average { raz: bool },
    AverageSub,
    Equal,
    Greater,
    ShiftLeftAdd(u32),
    ShiftRightAdd(u32),
    MultiplyLeft,
    MultiplyRight,
    MultiplyShift { unsigned: bool, count: u32 },
    MinUnsigned,
    MaxUnsigned,
    Min,
    Max,
    Differences,
    Shift(Shift),
    PackSigned,
    PackUnsigned,
    UnpackHigh,
    UnpackLow,
    MixLeft,
    MixRight,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Relation {
    Equal,
    Unequal,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Below,
    BelowEqual,
    Above,
    AboveEqual,
}

impl Relation {
    pub(super) fn holds(self, a: i64, b: i64) -> bool {
        let unsigned = (a as u64).cmp(&(b as u64));
        let signed = a.cmp(&b);
        match self {
            Relation::Equal => a == b,
            Relation::Unequal => a != b,
            Relation::Less => signed == Ordering::Less,
            Relation::LessEqual => signed != Ordering::Greater,
            Relation::Greater => signed == Ordering::Greater,
            Relation::GreaterEqual => signed != Ordering::Less,
            Relation::Below => unsigned == Ordering::Less,
            Relation::BelowEqual => unsigned != Ordering::Greater,
            Relation::Above => unsigned == Ordering::Greater,
            Relation::AboveEqual => unsigned != Ordering::Less,
        }
    }
}

/// The way in which a compare writes its targets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Compare {
    Plain,
    Unc,
    And,
    Or,
    AndComplement,
    OrComplement,
    OrAndComplement,
    AndOrComplement,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct LoadForm {
    /// Errors become NaT bits.
    pub(super) speculative: bool,
    /// Enters the table of advanced loads.
    pub(super) advanced: bool,
    /// Loads only where the table has forgotten the register; `clear` takes its entry out.
    pub(super) check: bool,
    pub(super) clear: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Format {
    Single,
    Double,
    Extended,
    Integer,
    Spill,
}

impl Format {
    pub(super) const fn bytes(self) -> u64 {
        match self {
            Format::Single => 4,
            Format::Double | Format::Integer => 8,
            Format::Extended => 10,
            Format::Spill => 16,
        }
    }
    /// Returns the required alignment of an address.
    pub(super) const fn alignment(self) -> u64 {
        match self {
            Format::Extended => 16,
            other => other.bytes(),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Atomic {
    Exchange(u8),
    CompareExchange(u8),
    Add(i64),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FloatRelation {
    Equal,
    Less,
    LessEqual,
    Unordered,
    Unequal,
    NotLess,
    NotLessEqual,
    Ordered,
    Greater,
    GreaterEqual,
    NotGreater,
    NotGreaterEqual,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Part {
    Significand,
    Exponent,
    Single,
    Double,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Branch {
    Cond,
    Call,
    Return,
    Cloop,
    Ctop,
    Cexit,
    Wtop,
    Wexit,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Target {
    Address(u64),
    Register(u8),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Op {
    /// An instruction that is not simulated.
    Unknown,
    Nop,
    /// Orders memory, hints, changes nothing that is seen here.
    Fence,
    Break(i64),
    Alu {
        op: Alu,
        to: u8,
        a: Src,
        b: Src,
    },
    /// `shladd`, `shladdp4`; `addp4` shifts by 0.
    ShiftAdd {
        to: u8,
        a: Src,
        count: u32,
        b: u8,
        pointer: bool,
    },
    One {
        op: One,
        to: u8,
        a: u8,
    },
    Shift {
        op: Shift,
        to: u8,
        a: u8,
        count: Src,
    },
    Extract {
        signed: bool,
        to: u8,
        a: u8,
        position: u32,
        length: u32,
    },
    Deposit {
        to: u8,
        a: Src,
        base: Option<u8>,
        position: u32,
        length: u32,
    },
    Funnel {
        to: u8,
        a: u8,
        b: u8,
        count: u32,
    },
    Lanes {
        op: Lanes,
        bytes: u32,
        to: u8,
        a: u8,
        b: Src,
    },
    /// `mux1`, `mux2`: the element that goes to each place, three bits a place.
    Permute {
        bytes: u32,
        to: u8,
        a: u8,
        order: u32,
    },
    Compare {
        relation: Relation,
        four: bool,
        how: Compare,
        p: [u8; 2],
        a: Src,
        b: Src,
    },
    TestBit {
        zero: bool,
        how: Compare,
        p: [u8; 2],
        a: u8,
        position: u32,
    },
    TestNat {
        zero: bool,
        how: Compare,
        p: [u8; 2],
        a: u8,
    },
    Long {
        to: u8,
        value: i64,
    },
    Load {
        to: u8,
        bytes: u32,
        form: LoadForm,
        fill: bool,
        base: u8,
        step: Option<Src>,
    },
    /// `ld16`: the second half goes to `ar.csd`.
    LoadPair {
        to: u8,
        base: u8,
    },
    Store {
        from: u8,
        bytes: u32,
        spill: bool,
        base: u8,
        step: Option<Src>,
    },
    StorePair {
        from: u8,
        base: u8,
    },
    LoadFloat {
        to: u8,
        second: Option<u8>,
        format: Format,
        form: LoadForm,
        base: u8,
        step: Option<Src>,
    },
    StoreFloat {
        from: u8,
        format: Format,
        base: u8,
        step: Option<Src>,
    },
    Atomic {
        op: Atomic,
        to: u8,
        bytes: u32,
        base: u8,
    },
    Prefetch {
        base: u8,
        step: Option<Src>,
    },
    /// `chk.s`
    CheckNat {
        register: Reg,
        target: u64,
    },
    /// `chk.a`
    CheckAdvanced {
        register: Reg,
        clear: bool,
        target: u64,
    },
    /// `invala`, of all or of one register.
    Forget {
        register: Option<Reg>,
    },
    Alloc {
        to: u8,
        frame: u8,
        locals: u8,
        rotating: u8,
    },
    ClearRotation {
        all: bool,
    },
    FromBranch {
        to: u8,
        from: u8,
    },
    ToBranch {
        to: u8,
        from: u8,
    },
    FromApplication {
        to: u8,
        from: u8,
    },
    ToApplication {
        to: u8,
        from: Src,
    },
    FromPredicates {
        to: u8,
    },
    ToPredicates {
        from: u8,
        mask: u64,
    },
    ToRotating {
        value: u64,
    },
    FromIp {
        to: u8,
    },
    /// The user mask, which is always 0: writes to it change nothing visible here.
    FromMask {
        to: u8,
    },
    /// `±(a*b) ± c`, as `fma`, `fms`, `fnma`.
    Fused {
        to: u8,
        a: u8,
        b: u8,
        c: u8,
        negate_product: bool,
        negate_addend: bool,
        bits: u32,
        field: u32,
    },
    /// `xma`
    Multiply {
        to: u8,
        a: u8,
        b: u8,
        c: u8,
        high: bool,
        unsigned: bool,
    },
    MinMax {
        to: u8,
        a: u8,
        b: u8,
        max: bool,
        absolute: bool,
    },
    CompareFloat {
        relation: FloatRelation,
        unc: bool,
        p: [u8; 2],
        a: u8,
        b: u8,
    },
    ClassFloat {
        member: bool,
        unc: bool,
        p: [u8; 2],
        a: u8,
        mask: i64,
    },
    Reciprocal {
        to: u8,
        p: u8,
        a: u8,
        b: u8,
    },
    ReciprocalRoot {
        to: u8,
        p: u8,
        a: u8,
    },
    ToInteger {
        to: u8,
        a: u8,
        unsigned: bool,
        truncate: bool,
        field: u32,
    },
    FromInteger {
        to: u8,
        a: u8,
    },
    Merge {
        how: Merge,
        to: u8,
        a: u8,
        b: u8,
    },
    /// `fabs`, `fnegabs`, `fneg`, `fmov` with one operand.
    Sign {
        to: u8,
        a: u8,
        absolute: bool,
        negate: bool,
    },
    Select {
        to: u8,
        a: u8,
        b: u8,
        c: u8,
    },
    Bits {
        how: Bits,
        to: u8,
        a: u8,
        b: u8,
    },
    SetFloat {
        part: Part,
        to: u8,
        from: u8,
    },
    GetFloat {
        part: Part,
        to: u8,
        from: u8,
    },
    /// `fsetc`, `fclrf`, `fchkf`: flags and controls beside rounding, which nothing reads here.
    FloatStatus,
    Branch {
        kind: Branch,
        target: Target,
        /// The branch register that a call writes.
        link: u8,
    },
}

/// The slots that take an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Slot {
    M,
    I,
    F,
    B,
    /// Two slots.
    Long,
    /// I or M.
    A,
    /// Any.
    Any,
}
