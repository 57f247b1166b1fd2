//! The effects of an instruction on registers, memory and control, and the unit that serves it.

use super::Reg;
use crate::Branch;

/// The type of an instruction: the slots that it may take.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Type {
    A,
    I,
    M,
    F,
    L,
    B,
}

/// Kinds of instructions that a machine's latencies tell apart.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Class {
    /// Sums, differences, `shladd`, moves of general registers and constants.
    Alu,
    /// `and`, `or`, `xor`, `andcm`
    Logic,
    /// `sxt`, `zxt`
    Extend,
    /// Bit fields, and shifts by a number, which are bit fields.
    Shift,
    /// Integer compares and tests of bits.
    Compare,
    /// Parallel arithmetic of bytes and words, and shifts by a register.
    Multimedia,
    /// Parallel products, and population count.
    ParallelMultiply,
    /// `movl`
    LongMove,
    Load,
    FloatLoad,
    Store,
    FloatStore,
    Prefetch,
    /// `xchg`, `cmpxchg`, `fetchadd`
    Semaphore,
    /// Multiply-add and its special cases.
    FloatArithmetic,
    FloatCompare,
    /// Minimum, maximum, merges, approximations, logic of significands.
    FloatMisc,
    FloatConvert,
    /// `xma`
    IntegerMultiply,
    /// `getf`
    FromFloat,
    /// `setf`
    ToFloat,
    FromBranch,
    ToBranch,
    FromPredicates,
    ToPredicates,
    FromApplication,
    ToApplication,
    /// `chk.s`
    Check,
    /// `chk.a`, which asks the table of advanced loads.
    CheckAdvanced,
    Alloc,
    Branch,
    Nop,
    /// Changes the processor's state, or is not known.
    System,
}

/// Writers of one predicate that may stand in one group.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Parallel {
    /// None beside it.
    Alone,
    /// Only ever clears: other such.
    And,
    /// Only ever sets: other such.
    Or,
    /// The target of `or.andcm` or `and.orcm` that is only ever set: other such.
    DeMorganOr,
    /// The one that is only ever cleared: other such.
    DeMorganAnd,
}

impl Parallel {
    /// Returns true if both may write one register in one group, in any order. De Morgan's types go with nothing but
    /// themselves, as GNU `as` has it.
    #[must_use]
    pub const fn goes_with(self, other: Parallel) -> bool {
        matches!(
            (self, other),
            (Parallel::And, Parallel::And)
                | (Parallel::Or, Parallel::Or)
                | (Parallel::DeMorganOr, Parallel::DeMorganOr)
                | (Parallel::DeMorganAnd, Parallel::DeMorganAnd)
        )
    }
}

/// A register that is written.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Def {
    pub register: Reg,
    pub parallel: Parallel,
    /// Written whatever the qualifying predicate is: `unc` compares, `frcpa`.
    pub always: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Access {
    Load,
    Store,
    Both,
    /// Changes nothing that a program can tell.
    Prefetch,
}

impl Access {
    #[must_use]
    pub const fn writes(self) -> bool {
        matches!(self, Access::Store | Access::Both)
    }
}

/// The access of an instruction to memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Memory {
    pub access: Access,
    /// The register that holds the address.
    pub base: Reg,
    /// Bytes from there.
    pub bytes: u32,
    /// Acquire, release, or advanced: stays in order with all other accesses.
    pub ordered: bool,
    /// Confirms an advanced load: its value is there already, and may be read in its own group.
    pub confirms: bool,
    /// The number added to the base afterwards. `None` with a base among the defs: a register's value is
    /// added.
    pub step: Option<i64>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Inst {
    /// `None`: a slot of any type.
    pub unit: Option<Type>,
    pub class: Class,
    /// 0: always.
    pub predicate: u8,
    /// The qualifying predicate among them. Sorted, constants left out.
    pub uses: Vec<Reg>,
    /// Constants left out.
    pub defs: Vec<Def>,
    pub memory: Option<Memory>,
    pub branch: Option<Branch>,
    /// Begins its group.
    pub first: bool,
    /// Ends its group.
    pub last: bool,
    /// True if nothing is known to move across it.
    pub barrier: bool,
    /// `add r1 = constant, r2`: the constant, where it is one of this kind.
    pub offset: Option<(Reg, i64)>,
}

impl Inst {
    /// Reads and writes nothing.
    #[must_use]
    pub fn new(unit: Option<Type>, class: Class) -> Inst {
        Inst {
            unit,
            class,
            predicate: 0,
            uses: Vec::new(),
            defs: Vec::new(),
            memory: None,
            branch: None,
            first: false,
            last: false,
            barrier: false,
            offset: None,
        }
    }
    /// One of which nothing is known: nothing moves across it.
    #[must_use]
    pub fn opaque() -> Inst {
        Inst {
            barrier: true,
            ..Inst::new(None, Class::System)
        }
    }
    pub fn use_of(&mut self, register: Reg) {
        if !register.is_constant() {
            self.uses.push(register);
        }
    }
    pub fn def_of(&mut self, register: Reg, parallel: Parallel, always: bool) {
        if !register.is_constant() {
            self.defs.push(Def {
                register,
                parallel,
                always,
            });
        }
    }
    /// Returns true if control may go elsewhere behind it.
    #[must_use]
    pub fn ends_block(&self) -> bool {
        self.branch.is_some() || self.barrier
    }
}
