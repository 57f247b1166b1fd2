//! Reasons as data: one variant a cause or finding, with its numbers and with names as the author writes them. Sentences are
//! made of them where they are shown; nothing is decided on a sentence.
//!
//! ```text
//! if (threadIdx.x < n) __syncthreads();
//!   =>   BarrierSplit { barrier: Threads, whole_grid: false },   because of LaneDependent { builtin: "threadIdx.x" }
//! ```

use crate::symbolic::Sum;
use smol_str::SmolStr;

/// The reason that a step from a fact towards its source states. `name` is the value's, where it has one.
#[derive(Clone, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum CauseReason {
    /// The number of the warp along a row, where the width of the block is not known: the same in all lanes of a warp where
    /// the width is a multiple of `lanes`.
    WidthUnknown {
        name: Option<SmolStr>,
        lanes: u32,
        language: ir::Language,
    },
    DependsOn {
        name: SmolStr,
        on: Dependency,
    },
    /// Read from private memory that callers filled.
    LeftByCallers {
        name: Option<SmolStr>,
        variable: SmolStr,
    },
    AddressDiffers {
        name: Option<SmolStr>,
    },
    PrivateMemory {
        name: Option<SmolStr>,
    },
    /// Loaded from memory that other threads may write.
    WrittenByOthers {
        name: Option<SmolStr>,
    },
    /// Read where lanes of the warp have written without a barrier since.
    Raced {
        name: Option<SmolStr>,
    },
    /// The write of a race.
    RacingWrite,
    /// A branch decides which value arrives.
    DecidedByBranch {
        name: Option<SmolStr>,
    },
    /// Lanes leave the loop in different iterations.
    KeptFromLoop {
        name: Option<SmolStr>,
    },
    /// A builtin that differs between lanes: `name` is the shader's parameter for it, of which it may be a part.
    LaneDependent {
        name: Option<SmolStr>,
        builtin: Option<SmolStr>,
    },
    /// A `static` variable, in which callers may leave different values.
    StaticVariable {
        name: Option<SmolStr>,
    },
    /// An argument with too many members to be followed.
    LargeArgument {
        name: Option<SmolStr>,
    },
    DeviceParameter {
        name: Option<SmolStr>,
    },
    /// Values that meet in a loop with several entries.
    MergedInCycle {
        name: Option<SmolStr>,
    },
    AtomicResult,
    /// `construct`: the front end's own words about it.
    NotUnderstood {
        construct: Option<SmolStr>,
    },
    /// A handle whose resource is not followed.
    HandleNotFollowed {
        name: SmolStr,
    },
    StageInput {
        input: InputName,
    },
    InvisibleCall {
        name: SmolStr,
    },
    Call,
    /// An instruction of PTX that is not known; `name`: its mnemonic.
    Instruction {
        name: Option<SmolStr>,
    },
    InlineAssembly,
    WarpOperation,
    Unwritten,
    PrivateAddress,
    /// The result of a method of an object that is not followed.
    OpaqueObject {
        name: Option<SmolStr>,
    },
    TextureResult,
    /// Another operation with a different value in each lane.
    LanesDiffer,
    /// The branch at which lanes part.
    Diverge,
    /// The call through which a place is come to.
    CalledHere {
        callee: SmolStr,
    },
    MaskTaken,
    WaveOperation,
    /// One of the accesses of a race.
    SharedAccess {
        thread: ThreadPlace,
        access: SharedAccess,
    },
    /// Two threads that come to the place differently often; `sized`: the size of the workgroup is a part of the example.
    Example {
        threads: [ThreadPlace; 2],
        times: [u32; 2],
        numbers: Vec<(SmolStr, i64)>,
        sized: bool,
    },
}

impl CauseReason {
    /// Returns true for steps that are themselves a branch that decides.
    #[must_use]
    pub const fn is_branch(&self) -> bool {
        matches!(
            self,
            CauseReason::Diverge | CauseReason::DecidedByBranch { .. }
        )
    }
    /// Returns true for steps of the way from a fact to its source, false for steps beside it: calls that
    /// lead to the place, examples, the origin of a mask.
    #[must_use]
    pub const fn is_of_chain(&self) -> bool {
        !matches!(
            self,
            CauseReason::CalledHere { .. }
                | CauseReason::MaskTaken
                | CauseReason::WaveOperation
                | CauseReason::SharedAccess { .. }
                | CauseReason::Example { .. }
        )
    }
}

/// The operand that a value depends on.
#[derive(Clone, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Dependency {
    Named(SmolStr),
    Load,
    Atomic,
    Comparison,
    Call,
    NotUnderstood,
    StageInput,
    Computed,
    /// Values that meet behind branches.
    Merged,
}

/// The name of a stage's input.
#[derive(Clone, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum InputName {
    /// A parameter or its member.
    Parameter(SmolStr),
    /// An intrinsic that reads it.
    Intrinsic(SmolStr),
    Unknown,
}

/// A thread of a workgroup of a size.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct ThreadPlace {
    pub thread: [u32; 3],
    pub size: [u32; 3],
}

/// An access of shared memory, by its effect.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum SharedAccess {
    Read,
    Write,
    Atomic,
}

/// The barrier as the author calls it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum BarrierName {
    Threads,
    ThreadsAnd,
    ThreadsOr,
    ThreadsCount,
    Cluster,
    Grid,
    /// An instruction.
    Instruction,
    Group,
}

/// An operation that takes differences to neighbouring pixels.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum DerivativeUse {
    Derivative,
    LevelOfDetail,
    Sample,
}

/// A mend of bank conflicts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum BankRemedy {
    None,
    /// Components in arrays of their own.
    SplitComponents,
    /// More than one element, or a permutation.
    PadOrPermute,
    PadBytes(u32),
    PadElement,
}

/// The place of a private array that is indexed at run time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum ArrayPlace {
    /// Memory of the thread's own, or registers that are accessed by number.
    ThreadMemory,
    LocalMemory,
    /// Selects among registers, or local memory.
    Selects,
}

/// An access that lanes make a stride apart.
#[derive(Clone, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct StridedAccess {
    /// The array; empty: it has no name.
    pub base: SmolStr,
    pub written: bool,
    /// The figures hold where the rows of the block are whole warps.
    pub whole_rows: bool,
    pub ideal_sectors: u32,
}

/// The reason of a finding.
#[derive(Clone, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum FindingReason {
    /// A full mask on an instruction whose predicate holds in some lanes.
    MaskBeyondPredicate {
        mask: u32,
    },
    MaskTakenBeforeBranch,
    /// A tile of `lanes` of which a part comes.
    TileTorn {
        group: SmolStr,
        lanes: u32,
    },
    /// A group of which a part comes.
    GroupTorn {
        group: SmolStr,
    },
    MaskNamesAbsent {
        mask: u32,
    },
    /// Lanes, by bit, that come and are not in the mask.
    MaskLeavesOut {
        missing: u128,
        mask: u32,
    },
    /// Lanes, by bit, that are read and do not come, and those that read them.
    AbsentLanesRead {
        absent: u128,
        readers: u128,
    },
    LaneMayBeInactive {
        lane: i64,
    },
    DerivativeSplit {
        of: DerivativeUse,
    },
    DerivativeOfWave {
        of: DerivativeUse,
    },
    MeshCallSplit {
        call: &'static str,
    },
    MeshOperandDiffers {
        call: &'static str,
    },
    BarrierInLoop {
        barrier: BarrierName,
        whole_grid: bool,
    },
    BarrierSplit {
        barrier: BarrierName,
        whole_grid: bool,
    },
    /// Threads end before the barrier.
    EndsBeforeBarrier {
        barrier: BarrierName,
    },
    BarrierUnderPredicate {
        barrier: BarrierName,
    },
    LoopDiverges,
    /// Accesses of `bytes` that one of `vector` bytes does at once.
    Narrow {
        access: StridedAccess,
        bytes: u32,
        stride: i64,
        vector: u64,
    },
    Strided {
        access: StridedAccess,
        stride: i64,
        sectors: u32,
    },
    /// The stride is symbolic; `None`: pieces that lie apart.
    Scattered {
        access: StridedAccess,
        stride: Option<Sum>,
        sectors: u32,
    },
    /// Nor are the sectors known; `None`: the stride has a part without a name.
    StrideUnknown {
        access: StridedAccess,
        stride: Option<Sum>,
    },
    /// `lanes`: a part of the warp's.
    AtomicContention {
        base: SmolStr,
        lanes: Option<u32>,
        most: u32,
        /// An exchange, of which locks are made.
        exchange: bool,
    },
    BankConflict {
        base: SmolStr,
        ways: u32,
        stride: Option<i64>,
        whole_rows: bool,
        /// Fewer lanes may come.
        at_most: bool,
        /// The access is made in pieces, each of which has the conflict.
        in_pieces: bool,
        remedy: BankRemedy,
    },
    /// At least and at most so many passes, by the factor `factor` of the stride.
    BankConflictSymbolic {
        base: SmolStr,
        stride: Sum,
        factor: SmolStr,
        least: u64,
        most: u32,
    },
    /// Two accesses of one word without a barrier between them.
    SharedRace {
        first: (ThreadPlace, SharedAccess),
        second: (ThreadPlace, SharedAccess),
        object: SmolStr,
        /// In bytes, where it is known.
        offset: Option<i64>,
        later_round: bool,
        /// The axis along which it takes workgroups of the given size or more.
        at_least_along: Option<usize>,
    },
    ResourceIndexDiffers {
        array: SmolStr,
    },
    ResourceMarkNeedless {
        array: SmolStr,
    },
    ArrayIndexed {
        array: SmolStr,
        /// A thread's, where they are known.
        bytes: Option<u64>,
        place: ArrayPlace,
    },
    RedundantWork {
        instructions: u32,
    },
    /// Operations in double precision; none: a comparison.
    DoubleByAccident {
        operations: u32,
    },
}
