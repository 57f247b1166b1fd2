//! What a table of `kind = "gpu"` describes: each quantity with its place in the file, unit, range and meaning. The file's
//! sections and keys are these, so that a new quantity is one line here and one in each root table.
//!
//! A *multiprocessor* is what holds a workgroup: NVIDIA's SM, AMD's WGP (RDNA) or CU (GCN, CDNA). It has `schedulers`
//! partitions, and a warp stays in one of them.

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
}

macro_rules! fields {
    ($($key:ident = $section:ident . $name:ident [$unit:literal] $least:literal to $most:literal $whole:literal $says:literal;)*) => {
        /// The quantities of a GPU.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Key { $($key),* }
        /// By `Key`.
        pub const GPU: &[Field] = &[$(Field {
            section: stringify!($section),
            name: stringify!($name),
            unit: $unit,
            least: $least as f64,
            most: $most as f64,
            whole: $whole,
            says: $says,
        }),*];
        /// All of them, in the order of the file.
        pub const KEYS: &[Key] = &[$(Key::$key),*];
    };
}

fields! {
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

    Shared = shared.bytes ["bytes"] 0 to 16777216 true "a multiprocessor, the largest carve-out";
    SharedBlock = shared.block ["bytes"] 0 to 16777216 true "most of a workgroup";
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
    ChargeCall = charge.call ["cycles"] 0 to 100000 false "a call of a function that is not seen";
}

/// What the sections hold, for people.
pub const SECTIONS: &[(&str, &str)] = &[
    ("shape", "what a multiprocessor holds"),
    ("registers", "registers and how they are given out"),
    ("shared", "shared memory of workgroups"),
    ("throughput", "per clk and multiprocessor"),
    ("latency", "of dependent instructions and of memory"),
    ("expansion", "instructions that one operation becomes"),
    (
        "charge",
        "cycles that a warp is charged where issue alone does not tell: issue and a share of what nobody hides",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_sections_agree() {
        assert_eq!(GPU.len(), KEYS.len());
        for (at, key) in KEYS.iter().enumerate() {
            assert_eq!(*key as usize, at);
        }
        let mut last = 0;
        for field in GPU {
            let section = SECTIONS.iter().position(|(name, _)| *name == field.section);
            let section = section.expect(field.section);
            assert!(section >= last, "{} is out of order", field.name);
            last = section;
        }
    }
}
