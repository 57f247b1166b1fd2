//! The results of the analyses, as plain data: one `FunctionFacts` a function. Positions are the IR's
//! (item-relative).

use crate::cost::Machine;
use crate::reason::{CauseReason, FindingReason};
use crate::symbolic::{Logarithm, Sum, ValueForm};
use ir::{AtomicOp, Block, BranchKind, EntityVec, Function, Inst, Loc, Space, Value, Variable};
use smol_str::SmolStr;
use std::sync::Arc;

/// The behaviour of a value across the lanes that hold it at the same time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Class {
    /// All lanes hold the same value.
    Uniform,
    /// A uniform base plus a known multiple of thread or lane coordinates.
    Affine,
    Divergent,
    /// The analysis stops here: something was not understood. Treated as divergent, said to be unknown.
    Unknown,
}

/// The set of lanes that a claim is about, from the smallest to the largest. A value that is uniform over a scope is
/// uniform over every smaller one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Scope {
    /// Four lanes of a pixel shader.
    Quad,
    /// Warp, wave.
    Subgroup,
    Workgroup,
    Dispatch,
}

/// The method of an analysis.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Method {
    /// Sampaio et al. 2013, section 3.3: uniform or divergent.
    Simple,
    /// Section 3.4 with polynomials of `Tid` up to this degree (1 or 2).
    Polynomial(u8),
    /// Ours: several thread coordinates, symbolic coefficients, scopes.
    Full,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Options {
    pub method: Method,
    /// The scope for which `ValueFact::class` is given.
    pub scope: Scope,
    /// Lanes of a warp, 1 to 128, unless the program fixes it.
    pub warp_size: u32,
    /// Workgroup size from outside; the program's own declaration wins.
    pub block: [Option<u32>; 3],
    /// Workgroup size that all visible launches agree on; the program and `block` take precedence.
    pub assumed_block: [Option<u32>; 3],
    /// Numbers that all visible launches pass, by the parameter's number. Facts do not rest on them: findings
    /// are reported only if they hold for these.
    pub passed: Vec<(u32, i64)>,
    /// The parameters to which all visible launches pass a multiple of the block's width; used as `passed` is.
    pub whole: Vec<u32>,
    /// The assumption that facts rest on beyond the program and these options, for people: "blocks of 256 × 1
    /// × 1 threads, as in all launches in sight". Empty: nothing.
    pub assumption: SmolStr,
    /// The program itself was made under the assumption, so that all its facts rest on it.
    pub whole_program_assumed: bool,
    /// Classes of the parameters of a device function, from its visible callers: the largest scope over which each
    /// argument is uniform in every call. Empty: nothing is known of the callers.
    pub parameters: Vec<Option<Scope>>,
    /// For a device function, the uniformity of its callers' stores where a load is reached without a barrier
    /// on the way. `None`: they may store anything.
    pub reached: Option<Scope>,
    /// The machine whose costs are used.
    pub machine: Arc<Machine>,
    /// Unknowns are taken as the author may have meant them: unknown values and loads from a uniform address
    /// are uniform, rows of a workgroup of unknown shape are whole warps, index arithmetic does not wrap. The
    /// results are no facts: a finding is reported only where lanes differ even so.
    pub favourable: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            method: Method::Full,
            scope: Scope::Subgroup,
            warp_size: 32,
            block: [None; 3],
            assumed_block: [None; 3],
            passed: Vec::new(),
            whole: Vec::new(),
            assumption: SmolStr::default(),
            whole_program_assumed: false,
            parameters: Vec::new(),
            reached: None,
            machine: Arc::default(),
            favourable: false,
        }
    }
}

/// Facts of one function.
#[derive(Clone, PartialEq, Debug)]
pub struct FunctionFacts {
    pub options: Options,
    pub values: EntityVec<Value, ValueFact>,
    /// Uses that are less uniform than the definition, because the lanes left a loop in different iterations, or more, because
    /// the loop exchanged the value among them: sorted by value and block.
    pub temporal: Vec<TemporalFact>,
    pub branches: Vec<BranchFact>,
    pub loops: Vec<LoopFact>,
    pub accesses: Vec<AccessFact>,
    pub barriers: Vec<BarrierFact>,
    /// Private memory that callees are given, and `static` variables, by address and sorted: how uniform all is that lies
    /// there at any time. `None`: not followed.
    pub private: Vec<(Value, Option<Scope>)>,
    /// Loads that stores of the same warp reach without a barrier, or may reach, and how uniform those leave them.
    pub raced: Vec<(Inst, Option<Scope>)>,
    /// Facts of variables that are written once, by variable and sorted: the results of the paper's analyses
    /// for a gated µ-SIMD program as printed (`paper::named`). They stand before those of the values.
    pub named: Vec<(Variable, ValueFact)>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ValueFact {
    /// At the scope asked for.
    pub class: Class,
    /// The largest scope over which the value is uniform; `None`: not even over a quad.
    pub uniform_at: Option<Scope>,
    /// `4*tid.x + 256*ctaid.x + n`, `?` for a part that is uniform but has no name.
    pub form: ValueForm,
    /// The state by the paper's methods, as the paper writes it: `U`, `D`, `(1,⊥)`, `(0,1,⊥)`; empty for the full one.
    pub state: SmolStr,
    /// The reason why the value is not uniform over the dispatch: the next value or branch on the way to the
    /// source.
    pub cause: Cause,
    /// Rests on `Options::assumption`.
    pub assumed: bool,
}

/// One step from a fact towards its source.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Cause {
    /// Uniform: nothing to explain.
    None,
    /// The value's own operation is a source (thread id, atomic, unknown, ...).
    Source,
    /// An operand carries it.
    Operand(Value),
    /// The branch that ends this block decides which value arrives.
    Branch(Block),
    /// Lanes leave the loop with this header in different iterations, by the branch that ends `exit`.
    LeavesLoop {
        header: Block,
        exit: Block,
        value: Value,
    },
    /// A load of values that lanes of the warp store by this instruction, without a barrier in between.
    Race(Inst),
    /// A load from memory whose content may differ (address `value` differs between lanes, or others write it).
    Memory(Value),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TemporalFact {
    pub value: Value,
    /// The block of the use.
    pub block: Block,
    pub fact: ValueFact,
}

#[derive(Clone, PartialEq, Debug)]
pub struct BranchFact {
    pub block: Block,
    pub kind: BranchKind,
    pub loc: Loc,
    pub class: Class,
    pub uniform_at: Option<Scope>,
    pub cause: Cause,
    /// Estimated cycles that a warp loses when its lanes go both ways; `None` for uniform branches.
    pub divergence_cost: Option<f64>,
    /// Estimated cycles of the dearest arm, through which lanes that take another one wait; `None` where that is no news: of
    /// uniform branches, of range checks (`i < n`) and of arms that leave the function or a loop.
    pub idle: Option<f64>,
    /// The lanes for which the condition holds, by bit, of the first warp that comes here whole: where it is known.
    pub lanes: Option<u128>,
    /// Rests on `Options::assumption`.
    pub assumed: bool,
}

#[derive(Clone, PartialEq, Debug)]
pub struct LoopFact {
    pub header: Block,
    pub loc: Loc,
    /// `Uniform`: all lanes leave in the same iteration.
    pub trip: Class,
    pub uniform_at: Option<Scope>,
    /// The number of iterations when it is constant.
    pub count: Option<u64>,
    /// A bound on it, when it is not.
    pub at_most: Option<u64>,
    /// The approximate number in terms of unknowns: `log2(blockDim.x)`.
    pub trips: Option<Logarithm>,
    pub cause: Cause,
    /// Rests on `Options::assumption`.
    pub assumed: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AccessKind {
    Load,
    Store,
    Atomic(AtomicOp),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum AccessClass {
    /// One address for the whole warp.
    Uniform,
    /// The access touches as few sectors as the bytes need.
    Coalesced,
    /// A known or symbolic distance between neighbours that is larger than the element.
    Strided,
    /// No pattern is known.
    Gather,
}

/// The access of a warp to memory. Sector figures are for global memory (32-byte sectors), ways for shared
/// memory (32 banks of 4 bytes); all assume that every lane takes part which the conditions on the way let through, and that each piece of neighbouring addresses
/// starts at a sector (an array by its allocation, a row by its pitch).
#[derive(Clone, PartialEq, Debug)]
pub struct AccessFact {
    pub inst: Inst,
    pub loc: Loc,
    pub kind: AccessKind,
    pub space: Space,
    pub class: AccessClass,
    /// Name of the array or pointer, when the address comes from one.
    pub base: SmolStr,
    /// Bytes that one lane touches.
    pub bytes: u32,
    /// Bytes between neighbouring lanes; `None` when unknown, symbolic or not constant.
    pub stride_bytes: Option<i64>,
    /// The stride when it is symbolic: `4*pitch`.
    pub stride_sum: Option<Sum>,
    pub sectors: Option<u32>,
    pub ideal_sectors: u32,
    /// The most sectors of 32 bytes: those of every lane that takes part, and no more than the object has.
    pub most_sectors: u32,
    pub bank_ways: Option<u32>,
    /// The same of an access of 16 bytes in the place of a narrower one, where each lane can make one of its own.
    pub wide_ways: Option<u32>,
    /// Shared memory: the addresses of any two lanes are a multiple of so many bytes apart, where that is known.
    pub granule: Option<u32>,
    /// The passes where the rows that share banks are longer by one access.
    pub padded_ways: Option<u32>,
    /// The most lanes that take part at once, by the conditions on the way here; the warp's size where nothing is known.
    pub lanes: u32,
    /// They are not all of the warp's.
    pub partial: bool,
    /// The address, for the cause chain.
    pub address: Value,
    /// Rests on `Options::assumption`.
    pub assumed: bool,
}

#[derive(Clone, PartialEq, Debug)]
pub struct BarrierFact {
    pub inst: Inst,
    pub loc: Loc,
    /// The branch because of which not all lanes of the workgroup may arrive, and whether it is a loop's.
    pub divergent: Option<(Block, bool)>,
    /// The instruction's own predicate, when it may differ between lanes of the workgroup (`@%p bar.sync 0`).
    pub guard: Option<Value>,
}

/// A step of a chain of causes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CauseStep {
    pub reason: CauseReason,
    pub loc: Loc,
}

/// The certainty of a finding.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Tier {
    /// A specification is provably broken.
    Error,
    /// A proved hazard.
    Warning,
    /// An estimate or a heuristic.
    Hint,
}

/// A diagnostic, before configuration and silencing.
#[derive(Clone, PartialEq, Debug)]
pub struct Finding {
    pub code: Code,
    pub tier: Tier,
    pub loc: Loc,
    /// The language whose words the report uses.
    pub language: ir::Language,
    pub reason: FindingReason,
    pub related: Vec<CauseStep>,
    /// The inlined calls that lead from the function to the place, outermost first.
    pub calls: Vec<CauseStep>,
    /// The witness of findings about missing threads; also named at the end of `related`.
    pub witness: Option<Witness>,
    /// `Options::assumption`, of findings that rest on it.
    pub assumption: SmolStr,
}

impl Finding {
    /// The last step of the chain of causes: the source of the difference.
    #[must_use]
    pub fn because(&self) -> Option<&CauseReason> {
        let mut reasons = self.related.iter().rev().map(|step| &step.reason);
        reasons.find(|reason| reason.is_of_chain())
    }
}

/// Two threads of the first workgroup of a launch that come to one place differently often.
#[derive(Clone, PartialEq, Debug)]
pub struct Witness {
    pub threads: [[u32; 3]; 2],
    /// The numbers of times that they come, the first more often than the second.
    pub times: [u32; 2],
    pub block: [u32; 3],
    /// The parameters that matter, by name.
    pub numbers: Vec<(SmolStr, i64)>,
}

macro_rules! codes {
    ($($variant:ident => $name:literal),* $(,)?) => {
        /// The diagnostics, by their public names.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
        pub enum Code { $($variant),* }
        impl Code {
            pub const ALL: &'static [Code] = &[$(Code::$variant),*];
            pub const fn name(self) -> &'static str { match self { $(Code::$variant => $name),* } }
            pub fn from_name(name: &str) -> Option<Code> { Code::ALL.iter().copied().find(|c| c.name() == name) }
        }
    };
}

codes! {
    DivergentBarrier => "divergent-barrier",
    BarrierInDivergentLoop => "barrier-in-divergent-loop",
    DivergentMeshCall => "divergent-mesh-call",
    WarpSyncMask => "warp-sync-mask",
    ShuffleInactiveSource => "shuffle-inactive-source",
    DerivativeNonuniform => "derivative-nonuniform",
    WaveSensitiveDerivative => "wave-sensitive-derivative",
    NonuniformResourceIndex => "nonuniform-resource-index",
    NeedlessNonuniform => "needless-nonuniform",
    UncoalescedAccess => "uncoalesced-access",
    BankConflict => "bank-conflict",
    DivergentLoop => "divergent-loop",
    RedundantPerThreadWork => "redundant-per-thread-work",
    AtomicSameAddress => "atomic-same-address",
    SharedMemoryRace => "shared-memory-race",
    LocalArrayDynamicIndex => "local-array-dynamic-index",
    Fp64ByAccident => "fp64-by-accident",
    LaunchBoundsSpill => "launch-bounds-spill",
    OccupancyCliff => "occupancy-cliff",
    PressurePeak => "pressure-peak",
    CheapRemat => "cheap-remat",
    SharedOverLimit => "shared-over-limit",
    SpillInLoop => "spill-in-loop",
    PartiallyDead => "partially-dead",
    IrrelevantLoad => "irrelevant-load",
}

impl FunctionFacts {
    /// The fact of a value as seen by a use in `block`.
    pub fn at(&self, value: Value, block: Block) -> &ValueFact {
        match self
            .temporal
            .binary_search_by_key(&(value, block), |t| (t.value, t.block))
        {
            Ok(found) => &self.temporal[found].fact,
            Err(_) => &self.values[value],
        }
    }
    /// The fact of a variable that is written once, where there is one.
    pub fn named(&self, variable: Variable) -> Option<&ValueFact> {
        let at = self.named.binary_search_by_key(&variable, |(v, _)| *v);
        at.ok().map(|at| &self.named[at].1)
    }
    /// The least precise class of several values (the components of a vector) at a use.
    pub fn worst(&self, values: &[Value], block: Block) -> Option<Class> {
        values.iter().map(|&v| self.at(v, block).class).max()
    }
    pub fn branch(&self, block: Block) -> Option<&BranchFact> {
        self.branches.iter().find(|b| b.block == block)
    }
}

/// A name for a value: that of the variable it was first bound to.
pub fn name_of(function: &Function, value: Value) -> Option<&SmolStr> {
    function
        .bindings
        .iter()
        .find(|b| b.values.contains(&value))
        .map(|b| &function.variables[b.variable].name)
}
