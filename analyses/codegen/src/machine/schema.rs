//! The schema of tables: each quantity with its place in the file, unit, range and meaning. The file's
//! sections and keys are these, so that a new quantity is one line here and one in each root table.
//!
//! Sections that a table may lack (`OPTIONAL`) have values that are taken where the section is there and does not say them.
//! A quantity with *words* is one of these, its value the index.
//!
//! Of `kind = "gpu"`: a *multiprocessor* is the unit that holds a workgroup: NVIDIA's SM, AMD's WGP (RDNA) or
//! CU (GCN, CDNA). It has `schedulers` partitions, and a warp stays in one of them.

/// One quantity of a schema.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Field {
    pub section: &'static str,
    pub name: &'static str,
    pub unit: &'static str,
    /// Values outside are refused: the arithmetic over tables relies on them.
    pub least: f64,
    pub most: f64,
    /// Counts, as opposed to times and rates.
    pub whole: bool,
    pub says: &'static str,
    /// The value of a field in an optional section that does not set it.
    pub default: Option<f64>,
    /// Words that the file says instead of numbers.
    pub words: &'static [&'static str],
}

impl Field {
    /// Returns true if the value is a power of two, or 0 where that is allowed: caches are indexed by bits.
    #[must_use]
    pub fn is_power(&self) -> bool {
        self.section == "cache" && matches!(self.unit, "sets" | "bytes")
    }
}

const fn first(values: &[f64]) -> Option<f64> {
    match values {
        [value, ..] => Some(*value),
        [] => None,
    }
}

macro_rules! fields {
    ($(#[$doc:meta])* $keys:ident, $fields:ident, $all:ident; $($key:ident = $section:ident . $name:ident [$unit:literal] $least:literal to $most:literal $whole:literal $says:literal $(else $default:literal)? $(of [$($word:literal),*])?;)*) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum $keys { $($key),* }
        /// The fields, by key.
        pub const $fields: &[Field] = &[$(Field {
            section: stringify!($section),
            name: stringify!($name),
            unit: $unit,
            least: $least as f64,
            most: $most as f64,
            whole: $whole,
            says: $says,
            default: first(&[$($default as f64)?]),
            words: &[$($($word),*)?],
        }),*];
        /// All of them, in the order of the file.
        pub const $all: &[$keys] = &[$($keys::$key),*];
    };
}

fields! {
    /// The quantities of a GPU.
    Key, GPU, KEYS;
    Lanes = shape.lanes ["lanes"] 1 to 128 true "a warp";
    WideLanes = shape.wide_lanes ["lanes"] 1 to 128 true "the other size that a warp can have";
    Schedulers = shape.schedulers ["partitions"] 1 to 16 true "a multiprocessor, each with a scheduler and its part of the registers";
    Warps = shape.warps ["warps"] 1 to 256 true "most on a multiprocessor";
    Blocks = shape.blocks ["workgroups"] 1 to 256 true "most on a multiprocessor";
    BlockThreads = shape.block_threads ["threads"] 1 to 4096 true "most of a workgroup";

    Registers = registers.file ["registers"] 1024 to 4194304 true "of 32 bits, a multiprocessor";
    RegisterUnit = registers.unit ["registers"] 1 to 65536 true "given to a warp at once";
    WarpUnit = registers.warp_unit ["warps"] 1 to 16 true "a launch rounds the warps of a workgroup up to a multiple, to see whether its registers fit";
    ThreadRegisters = registers.thread ["registers"] 16 to 1024 true "most of a thread";
    ScalarRegisters = registers.scalar ["registers"] 0 to 1024 true "of 32 bits, most of a warp, for what is the same in all lanes; 0: the file of the threads holds that, too";
    ScalarFile = registers.scalar_file ["registers"] 0 to 4194304 true "of the same, a multiprocessor; 0: each warp has all it can name, whatever it uses";
    ScalarUnit = registers.scalar_unit ["registers"] 1 to 1024 true "of the same, given to a warp at once";

    Shared = shared.bytes ["bytes"] 0 to 16777216 true "a multiprocessor, the largest carve-out";
    SharedBlock = shared.block ["bytes"] 0 to 16777216 true "most of a workgroup";
    SharedDeclared = shared.declared ["bytes"] 0 to 16777216 true "most that a workgroup declares; a launch may ask for more";
    SharedUnit = shared.unit ["bytes"] 1 to 65536 true "given at once";
    SharedReserved = shared.reserved ["bytes"] 0 to 65536 true "taken from each workgroup by the system";

    Issue = throughput.issue ["instructions/clk"] 0.1 to 64 false "of warps, a scheduler";
    Float = throughput.float ["results/clk"] 0.1 to 65536 false "f32 add, multiply, multiply-add";
    Half = throughput.half ["results/clk"] 0.1 to 65536 false "f16 and bf16";
    Double = throughput.double ["results/clk"] 0.1 to 65536 false "f64";
    Integer = throughput.integer ["results/clk"] 0.1 to 65536 false "32-bit add and subtract";
    Multiply = throughput.multiply ["results/clk"] 0.1 to 65536 false "32-bit integer multiply and multiply-add";
    Logic = throughput.logic ["results/clk"] 0.1 to 65536 false "shift, and, or, xor, select, permute";
    Compare = throughput.compare ["results/clk"] 0.1 to 65536 false "compare, minimum, maximum";
    Special = throughput.special ["results/clk"] 0.1 to 65536 false "reciprocal, root, exponential, logarithm, sine";
    Bits = throughput.bits ["results/clk"] 0.1 to 65536 false "population count, leading zeros, reversal";
    Convert = throughput.convert ["results/clk"] 0.1 to 65536 false "between float and integer, between floats";
    ConvertWide = throughput.convert_wide ["results/clk"] 0.1 to 65536 false "conversions from and to 64-bit types";
    Shuffle = throughput.shuffle ["results/clk"] 0.1 to 65536 false "a lane's value for another";
    Vote = throughput.vote ["results/clk"] 0.1 to 65536 false "votes and ballots";
    LoadStore = throughput.load_store ["lanes/clk"] 0.1 to 65536 false "addresses of loads and stores";
    Texel = throughput.texel ["texels/clk"] 0.1 to 65536 false "bilinear";
    SharedRate = throughput.shared ["bytes/clk"] 1 to 65536 false "shared memory";
    Line = throughput.line ["bytes"] 16 to 1024 true "a line of the first cache, one of which is looked up a clk";

    LatencyAlu = latency.alu ["cycles"] 1 to 10000 false "until a dependent f32 or integer instruction issues";
    LatencyDouble = latency.double ["cycles"] 1 to 10000 false "the same, f64";
    LatencySpecial = latency.special ["cycles"] 1 to 10000 false "the same, special functions";
    LatencyShuffle = latency.shuffle ["cycles"] 1 to 10000 false "the same, shuffles and ballots";
    LatencyShared = latency.shared ["cycles"] 1 to 10000 false "a load without conflict";
    LatencyL1 = latency.l1 ["cycles"] 1 to 10000 false "a load that hits";
    LatencyL2 = latency.l2 ["cycles"] 1 to 10000 false "a load that hits";
    LatencyDram = latency.dram ["cycles"] 1 to 100000 false "a load that hits no cache";
    LatencyTexture = latency.texture ["cycles"] 1 to 10000 false "a sample that hits";
    LatencyConstant = latency.constant ["cycles"] 0 to 10000 false "of a constant as an operand, beyond a register";
    LatencyBarrier = latency.barrier ["cycles"] 1 to 10000 false "when all warps have arrived";

    Add64 = expansion.add64 ["instructions"] 1 to 1000 false "64-bit add";
    Multiply64 = expansion.multiply64 ["instructions"] 1 to 1000 false "64-bit multiply, low half";
    Shift64 = expansion.shift64 ["instructions"] 1 to 1000 false "64-bit shift";
    DivideUnsigned = expansion.divide_unsigned ["instructions"] 1 to 1000 false "32-bit, or remainder";
    DivideSigned = expansion.divide_signed ["instructions"] 1 to 1000 false "32-bit, or remainder";
    Divide64 = expansion.divide64 ["instructions"] 1 to 1000 false "64-bit, or remainder";
    DivideFloat = expansion.divide_float ["instructions"] 1 to 1000 false "f32, the path of ordinary operands";
    RootFloat = expansion.root_float ["instructions"] 1 to 1000 false "f32 square root or reciprocal, rounded, the path of ordinary operands";
    DivideDouble = expansion.divide_double ["instructions"] 1 to 1000 false "f64, the path of ordinary operands";
    RootDouble = expansion.root_double ["instructions"] 1 to 1000 false "f64 square root, the path of ordinary operands";
    Sine = expansion.sine ["instructions"] 1 to 1000 false "f32 sine or cosine with its range reduction";
    Exponential = expansion.exponential ["instructions"] 1 to 1000 false "f32 exponential or logarithm with scaling";
    Function = expansion.function ["instructions"] 1 to 1000 false "a function of a library: tangent, power, arcus, error function";
    BitField = expansion.bit_field ["instructions"] 1 to 1000 false "extract or insert with fields in registers";

    ChargeShared = charge.shared ["cycles"] 0 to 100000 false "a load or store of shared memory";
    ChargeGlobal = charge.global ["cycles"] 0 to 100000 false "a load or store of global memory";
    ChargeAtomic = charge.atomic ["cycles"] 0 to 100000 false "an atomic operation";
    ChargeTexture = charge.texture ["cycles"] 0 to 100000 false "a texture operation";
    ChargeCross = charge.cross_lane ["cycles"] 0 to 100000 false "a shuffle, vote or derivative";
    ChargeBarrier = charge.barrier ["cycles"] 0 to 100000 false "a barrier";
    ChargeReconverge = charge.reconverge ["cycles"] 0 to 100000 false "a branch whose lanes meet again";
    ChargeOverlap = charge.overlap ["cycles"] 0 to 100000 false "a vote and its branch around few instructions, which without them overlap with what is around";
    ChargeCall = charge.call ["cycles"] 0 to 100000 false "a call of a function that is not seen";
}

fields! {
    /// The quantities of a processor that executes explicit groups of instructions in order.
    Issue, EPIC, ISSUES;
    Bundles = issue.bundles ["bundles"] 1 to 8 true "looked at in one cycle";
    UnitsM = units.m ["units"] 1 to 16 true "for memory and simple integer operations";
    UnitsI = units.i ["units"] 1 to 16 true "for integer operations";
    UnitsF = units.f ["units"] 1 to 16 true "for floating point";
    UnitsB = units.b ["units"] 1 to 16 true "for branches";
    PortsLoad = ports.load ["units"] 1 to 16 true "that serve integer loads, prefetches and chk.a";
    PortsFloatLoad = ports.float_load ["units"] 1 to 16 true "that serve floating-point loads";
    PortsStore = ports.store ["units"] 1 to 16 true "that serve stores";
    PortsTransfer = ports.transfer ["units"] 1 to 16 true "that serve getf and moves of M-type application registers";
    PortsShift = ports.shift ["units"] 1 to 16 true "that serve bit fields, shifts by a number, parallel products, bit tests and moves of branch and predicate registers";
    PortsFloatCompare = ports.float_compare ["units"] 1 to 16 true "that serve floating-point compares and miscellany";

    GeneralStatic = registers.general_static ["registers"] 1 to 128 true "general, the same in all frames";
    GeneralStacked = registers.general_stacked ["registers"] 0 to 128 true "general, of a frame; as many may rotate";
    FloatStatic = registers.float_static ["registers"] 1 to 128 true "floating-point, that do not rotate";
    FloatRotating = registers.float_rotating ["registers"] 0 to 128 true "floating-point, that rotate";
    PredicateStatic = registers.predicate_static ["registers"] 1 to 64 true "predicates, that do not rotate";
    PredicateRotating = registers.predicate_rotating ["registers"] 0 to 64 true "predicates, that rotate";
    AdvancedLoads = registers.advanced_loads ["entries"] 0 to 1024 true "of the table of advanced loads";
    RotatingUnit = registers.rotating_unit ["registers"] 1 to 32 true "general registers rotate in multiples of it";

    Alu = latency.alu ["cycles"] 0 to 1000 true "sum, difference, logic, extension, shift, compare, constant";
    AluAddress = latency.alu_address ["cycles"] 0 to 1000 true "logic or extension to the address of a load or store";
    CompareBranch = latency.compare_branch ["cycles"] 0 to 1000 true "integer compare or bit test to a branch";
    Load = latency.load ["cycles"] 0 to 1000 true "integer load that hits the first cache";
    LoadAddress = latency.load_address ["cycles"] 0 to 1000 true "the same to the address of a load or store";
    FloatLoad = latency.float_load ["cycles"] 0 to 1000 true "floating-point load that hits the second cache";
    Float = latency.float ["cycles"] 0 to 1000 true "multiply-add, minimum or merge to a multiply-add";
    FloatMisc = latency.float_misc ["cycles"] 0 to 1000 true "multiply-add to a compare, conversion, minimum or integer multiply";
    FloatStore = latency.float_store ["cycles"] 0 to 1000 true "any floating-point operation to a store";
    FloatTransfer = latency.float_transfer ["cycles"] 0 to 1000 true "multiply-add, minimum or merge to getf";
    FloatCompare = latency.float_compare ["cycles"] 0 to 1000 true "floating-point compare";
    FloatCompareBranch = latency.float_compare_branch ["cycles"] 0 to 1000 true "the same to a branch";
    Convert = latency.convert ["cycles"] 0 to 1000 true "conversion, integer multiply";
    ToFloat = latency.to_float ["cycles"] 0 to 1000 true "setf";
    ToFloatStore = latency.to_float_store ["cycles"] 0 to 1000 true "setf to a store or getf";
    FromFloat = latency.from_float ["cycles"] 0 to 1000 true "getf";
    Multimedia = latency.multimedia ["cycles"] 0 to 1000 true "parallel integer operation or shift by a register to a sum, logic, a shift by a number, an integer load or store";
    MultimediaSame = latency.multimedia_same ["cycles"] 0 to 1000 true "the same to one of its kind";
    MultimediaOther = latency.multimedia_other ["cycles"] 0 to 1000 true "the same to a compare, an extension, or anything else";
    AluMultimedia = latency.alu_multimedia ["cycles"] 0 to 1000 true "sum or logic to a parallel operation or a shift by a register";
    LoadMultimedia = latency.load_multimedia ["cycles"] 0 to 1000 true "integer load to the same";
    FromBranch = latency.from_branch ["cycles"] 0 to 1000 true "move from a branch or the predicate registers";
    FromApplication = latency.from_application ["cycles"] 0 to 1000 true "move from an application register by an integer unit";
    FromApplicationMemory = latency.from_application_memory ["cycles"] 0 to 1000 true "move from an application register by a memory unit";
    ToApplication = latency.to_application ["cycles"] 0 to 1000 true "move to an application register";

    MemoryLatency = memory.latency ["cycles"] 1 to 10000 true "a load that hits no cache";
    MemoryLine = memory.line ["bytes"] 16 to 1024 true "a line of the second cache";

    L1Sets = cache.l1_sets ["sets"] 1 to 65536 true "of the first level, a power of two";
    L1Ways = cache.l1_ways ["ways"] 1 to 64 true "of each set, of which the least recently used goes";
    L1Line = cache.l1_line ["bytes"] 16 to 1024 true "of a line, a power of two";
    L2Sets = cache.l2_sets ["sets"] 0 to 1048576 true "of the second level; 0: there is none" else 0;
    L2Ways = cache.l2_ways ["ways"] 1 to 64 true "of each set" else 1;
    L2Line = cache.l2_line ["bytes"] 16 to 1024 true "of a line" else 64;
    L2Latency = cache.l2_latency ["cycles"] 0 to 10000 true "integer load that misses the first level and hits the second" else 0;
    L3Sets = cache.l3_sets ["sets"] 0 to 1048576 true "of the third level; 0: there is none" else 0;
    L3Ways = cache.l3_ways ["ways"] 1 to 64 true "of each set" else 1;
    L3Line = cache.l3_line ["bytes"] 16 to 1024 true "of a line" else 64;
    L3Latency = cache.l3_latency ["cycles"] 0 to 10000 true "integer load that misses the first two and hits the third" else 0;
    FloatLevel = cache.float_level ["level"] 1 to 3 true "at which floating-point loads and stores look first; `latency.float_load` is of a hit there" else 1;
    Blocking = cache.blocking ["0 or 1"] 0 to 1 true "0: the first use of a load that missed waits for it; 1: the load itself does" else 0;

    Predictor = predictor.kind ["kind"] 0 to 2 true "the chooser between local and global histories of the 21264, gshare, TAGE" else 0 of ["meta", "gshare", "tage"];
    PredictorEntries = predictor.entries ["log2"] 4 to 16 true "entries of each table; of TAGE of each table with tags, of which that without has eight times as many" else 12;
    PredictorHistory = predictor.history ["bits"] 0 to 1024 true "of the global history, at most `entries`; of TAGE the longest" else 12;
    PredictorTables = predictor.tables ["tables"] 1 to 16 true "of TAGE, those with tags" else 12;
    PredictorTargets = predictor.targets ["log2"] 0 to 20 true "entries of the table that knows the guards of branches" else 12;
    Mispredicted = predictor.penalty ["cycles"] 0 to 1000 true "that a misprediction costs, and from the fetch of a branch until it is resolved";
    PredicateDelay = predictor.delay ["cycles"] 0 to 1000 true "from the issue of a compare until a fetch sees its predicates" else 8;
    SquashFalse = predictor.squash ["0 or 1"] 0 to 1 true "1: a branch whose guard is known to be false is predicted not taken" else 0;
    LocalHistory = predictor.local ["kind"] 0 to 2 true "local histories of the chooser, by the guard's value or not" else 0 of ["plain", "pep", "resolved-pep"];
    DefineHistory = predictor.defines ["kind"] 0 to 2 true "when values of compares enter the global history; repaired: those that a recovery drops, too" else 0 of ["never", "resolved", "repaired"];
}

fields! {
    /// The quantities of a processor that issues execution sets.
    SetKey, SETS, SET_KEYS;
    SetInstructions = issue.instructions ["instructions"] 1 to 64 true "most of an execution set";
    SetWords = issue.words ["words"] 1 to 64 true "most of an execution set, prefix included";
    PrefixWords = issue.prefix ["words"] 0 to 8 true "longest prefix";
    FetchWords = issue.fetch ["words"] 1 to 64 true "fetched at once, aligned";
    DelaySlots = issue.delay_slots ["sets"] 0 to 8 true "that execute behind a delayed jump";
    UnitsData = units.data ["units"] 1 to 16 true "for arithmetic, products and shifts on data registers";
    UnitsAddress = units.address ["units"] 1 to 16 true "for addresses, moves, bit masks and the flow of control";
    UnitsMask = units.mask ["units"] 0 to 16 true "of these that serve bit masks";
    AccessBytes = units.access ["bytes"] 1 to 64 true "most that one access to memory moves";

    DataRegisters = registers.data ["registers"] 1 to 256 true "for data";
    DataBits = registers.data_bits ["bits"] 16 to 128 true "of each, guard bits included";
    AddressRegisters = registers.address ["registers"] 1 to 256 true "for addresses";
    LowRegisters = registers.low ["registers"] 1 to 256 true "of each file that need no prefix of two words";
    OffsetRegisters = registers.offset ["registers"] 0 to 64 true "for steps of addresses";
    ModulusRegisters = registers.modulus ["registers"] 0 to 64 true "for lengths of circular buffers";
    SourceUses = registers.uses ["uses"] 1 to 64 true "most of one data register by an execution set";
    PairDistance = registers.pair_distance ["registers"] 0 to 64 true "between the registers of a maximum or minimum, within a bank of eight; 0: any two";

    LoopLevels = loops.levels ["loops"] 0 to 16 true "that nest without instructions to go back";
    ShortLoop = loops.short_sets ["sets"] 0 to 16 true "most of a short loop";
    LongLoop = loops.long_sets ["sets"] 1 to 64 true "least of a long loop";
    LoopGap = loops.enable_gap ["sets"] 0 to 16 true "between enabling a short loop and its first set";

    AddressGap = latency.address_gap ["sets"] 0 to 16 true "between a move to a register and its use for an address";
    TruthGap = latency.truth_gap ["sets"] 0 to 16 true "between a test and an instruction of the address units that depends on it";
    Precalculated = latency.precalculated ["cycles"] 1 to 16 true "an access at an address that is calculated first: indexed, displaced, relative to the stack pointer";
    MaskRegister = latency.mask_register ["cycles"] 1 to 16 true "a bit mask on a register";
    MaskMemory = latency.mask_memory ["cycles"] 1 to 16 true "a bit mask on memory";
    FlowJump = latency.jump ["cycles"] 1 to 64 true "a jump or call to an address";
    FlowBranch = latency.branch ["cycles"] 1 to 64 true "the same relative to the program counter";
    FlowTaken = latency.taken ["cycles"] 1 to 64 true "a conditional jump that is taken";
    FlowNotTaken = latency.not_taken ["cycles"] 1 to 64 true "a conditional jump that is not taken";
    FlowReturn = latency.returns ["cycles"] 1 to 64 true "a return to the address of the last call";
    FlowReturnMissed = latency.return_missed ["cycles"] 0 to 64 true "more where another call came between";
    FlowLoop = latency.loop_jump ["cycles"] 1 to 64 true "break, cont and skipls that jump";
    LateMark = latency.late_mark ["cycles"] 0 to 64 true "more of a long loop that is marked at its last set";
    Straddle = latency.straddle ["cycles"] 0 to 64 true "more to a target that two fetches hold";
    StackShadow = latency.stack_shadow ["cycles"] 0 to 64 true "more of the first pop behind arithmetic on the stack pointer";
    CallPush = latency.call_push ["cycles"] 0 to 64 true "more of a call without a free cycle to store its address";
}

/// The content of each section, for people.
pub const SECTIONS: &[(&str, &str)] = &[
    ("shape", "what a multiprocessor holds"),
    ("registers", "registers and how they are given out"),
    ("shared", "shared memory of workgroups"),
    ("throughput", "per clk and multiprocessor"),
    (
        "latency",
        "of dependent instructions and of memory; no estimate reads it, and what other warps do not hide is in the charges",
    ),
    ("expansion", "instructions that one operation becomes"),
    (
        "charge",
        "cycles that a warp is charged where issue alone does not tell: issue and a share of what nobody hides",
    ),
];

/// The same of processors with explicit groups.
pub const EPIC_SECTIONS: &[(&str, &str)] = &[
    ("issue", "what a cycle looks at"),
    ("units", "by the kind of slot that they serve"),
    (
        "ports",
        "units of a kind that serve these operations; the others do not",
    ),
    ("registers", "files"),
    ("latency", "cycles until a dependent instruction issues"),
    ("memory", "what prefetches are for"),
    (
        "cache",
        "levels that `lockstep sim` looks accesses up in; without the section, every access hits",
    ),
    (
        "predictor",
        "how `lockstep sim` predicts branches; without the section, every branch is predicted",
    ),
];

/// The same of processors that issue execution sets.
pub const SET_SECTIONS: &[(&str, &str)] = &[
    ("issue", "what an execution set holds"),
    ("units", "that work at once"),
    ("registers", "files and how sets may use them"),
    ("loops", "hardware loops"),
    (
        "latency",
        "sets that must lie between, and cycles of what takes more than one",
    ),
];

/// Sections that a table may lack.
pub const OPTIONAL: &[&str] = &["cache", "predictor"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_sections_agree() {
        assert_eq!(GPU.len(), KEYS.len());
        assert_eq!(EPIC.len(), ISSUES.len());
        assert_eq!(SETS.len(), SET_KEYS.len());
        for (at, key) in KEYS.iter().enumerate() {
            assert_eq!(*key as usize, at);
        }
        for (fields, sections) in [(GPU, SECTIONS), (EPIC, EPIC_SECTIONS), (SETS, SET_SECTIONS)] {
            let mut last = 0;
            for field in fields {
                let section = sections.iter().position(|(name, _)| *name == field.section);
                let section = section.expect(field.section);
                assert!(section >= last, "{} is out of order", field.name);
                last = section;
                // A section that all values of are known without is there whenever it is named.
                let optional = OPTIONAL.contains(&field.section);
                assert!(optional || field.default.is_none(), "{}", field.name);
                let words = field.words.len();
                assert!(
                    words == 0 || field.most == (words - 1) as f64,
                    "{}",
                    field.name
                );
            }
        }
    }
}
