//! Random programs for oracles: the same seed and shape give the same module, launch and arguments.
//!
//! Guarantees, by construction:
//! - every module passes the verifier;
//! - every lane ends within [`Program::steps`] instructions and terminators: loops count down, jumps backwards burn
//!   fuel, recursion is bounded by a depth argument;
//! - every access lies in its region and is aligned to its size: indices are masked or known to be in range;
//! - no lane reads what another lane may write at the same time: a lane writes its own slice only, all lanes
//!   read read-only tables and values exchanged before a barrier at the start, and counters are touched by
//!   atomics only, whose results alone depend on the order of lanes;
//! - `no wrap` flags stand only where ranges prove them for the given arguments (and for all of
//!   [`Program::arguments_from`]);
//! - a shuffle reads active lanes, unless [`Shape::inactive_sources`];
//! - all lanes of a workgroup come to each of its barriers, unless [`Shape::stray_barriers`].
//!
//! Memory is reached through two pointer parameters (`data`, read-only, and `out`) and through symbols. Functions of
//! one module that name a symbol alike mean the same memory; memory without an initial value starts as zeros. Guarded operations are followed by a select of the old
//! value.
//!
//! Does not aim at a distribution that looks like people's code: it aims at every rule of an analysis.

mod arbitrary;
pub mod c;
mod emit;
mod extreme;
mod fractions;
mod lanes;
mod memory;
mod operations;
mod structured;
#[cfg(test)]
mod tests;

use emit::{Callee, Emitter, Entry};
pub use extreme::{Extreme, extreme};
use ir::builder::FunctionBuilder;
use ir::entity::Value;
use ir::function::*;
use ir::inst::*;
use ir::types::{Space, Type};
pub use memory::{COUNTERS, SLICE, TABLE};

/// A generator of numbers: SplitMix64 (Steele, Lea and Flood 2014, figure 9).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    /// A number below `bound`; 0 for a bound of 0.
    pub fn below(&mut self, bound: u32) -> u32 {
        (((self.draw() >> 32) * u64::from(bound)) >> 32) as u32
    }
    /// From `low` to `high`, both included.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        let width = (high - low) as u64 + 1;
        low + (self.draw() % width.max(1)) as i64
    }
    pub fn percent(&mut self, chance: u32) -> bool {
        self.below(100) < chance
    }
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len() as u32) as usize]
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flavour {
    /// Random edges between blocks, irreducible regions included.
    Arbitrary,
    /// Nested `if`, loops with breaks and continues of any level, `switch` with fall-through, early returns.
    Structured,
}

/// The shape of random programs.
#[derive(Clone, Debug)]
pub struct Shape {
    pub flavour: Flavour,
    /// Blocks (arbitrary) or statements (structured) of the kernel, about.
    pub blocks: u32,
    /// Instructions of a block, about.
    pub block_insts: u32,
    /// Nesting of loops (structured).
    pub loop_depth: u32,
    /// Iterations of a loop, at most (structured); jumps backwards of a lane, at most (arbitrary).
    pub fuel: u32,
    /// Callees, which may call later ones and themselves.
    pub functions: u32,
    /// I8 and I16.
    pub narrow: bool,
    /// I64.
    pub wide: bool,
    /// F32.
    pub floats: bool,
    /// F64.
    pub doubles: bool,
    /// F16 and BF16.
    pub halves: bool,
    /// Transcendental functions.
    pub math: bool,
    /// Rotations, counts, saturation, bit fields, funnel shifts, permutations.
    pub bit_ops: bool,
    /// Fractional arithmetic of at most 32 bits.
    pub fractions: bool,
    pub memory: bool,
    pub atomics: bool,
    pub warp_ops: bool,
    /// Shuffles may read lanes that are inactive or do not exist.
    pub inactive_sources: bool,
    pub switches: bool,
    pub kills: bool,
    pub guards: bool,
    /// Loads of values that other lanes wrote before a workgroup barrier at the start.
    pub exchange: bool,
    /// Workgroup barriers in control flow that all lanes of the workgroup share, words exchanged between two of them
    /// (structured, with `exchange`).
    pub barriers: bool,
    /// Workgroup barriers anywhere: a run may end at one that is never completed.
    pub stray_barriers: bool,
    /// `no wrap` flags where ranges prove them.
    pub wrap_flags: bool,
    /// `Op::Parameter`: uniform values without a number, `N0` to `N2`.
    pub symbolic_parameters: bool,
    /// Reads of variables that were never written.
    pub undefined: bool,
    /// Variables with bindings.
    pub names: bool,
    pub warp_sizes: Vec<u32>,
    /// Threads of a workgroup, at most.
    pub max_threads: u32,
    /// Workgroups by axis, at most.
    pub max_grid: u32,
}

impl Default for Shape {
    fn default() -> Self {
        Shape {
            flavour: Flavour::Structured,
            blocks: 10,
            block_insts: 5,
            loop_depth: 2,
            fuel: 5,
            functions: 1,
            narrow: true,
            wide: true,
            floats: true,
            doubles: true,
            halves: true,
            math: true,
            bit_ops: true,
            fractions: false,
            memory: true,
            atomics: true,
            warp_ops: true,
            inactive_sources: false,
            switches: true,
            kills: true,
            guards: true,
            exchange: true,
            barriers: false,
            stray_barriers: false,
            wrap_flags: true,
            symbolic_parameters: false,
            undefined: false,
            names: true,
            warp_sizes: vec![1, 2, 4, 8, 16, 32, 64],
            max_threads: 64,
            max_grid: 2,
        }
    }
}

impl Shape {
    pub fn arbitrary() -> Self {
        Shape {
            flavour: Flavour::Arbitrary,
            fuel: 12,
            ..Shape::default()
        }
    }
    /// Integers and control flow only: which usually suffices for a shrunk counterexample.
    pub fn small(flavour: Flavour) -> Self {
        Shape {
            flavour,
            blocks: 5,
            block_insts: 3,
            functions: 0,
            narrow: false,
            floats: false,
            doubles: false,
            halves: false,
            math: false,
            bit_ops: false,
            memory: false,
            atomics: false,
            warp_ops: false,
            guards: false,
            exchange: false,
            max_threads: 16,
            ..Shape::default()
        }
    }
}

/// A program with a launch that it is safe for.
#[derive(Clone, Debug)]
pub struct Program {
    /// Function 0 is the kernel.
    pub module: Module,
    /// Threads of a workgroup by axis.
    pub block: [u32; 3],
    /// Workgroups by axis.
    pub grid: [u32; 3],
    pub warp_size: u32,
    /// One for each of the kernel's `parameters`.
    pub arguments: Vec<Argument>,
    /// Instructions and terminators that one lane executes, at most.
    pub steps: u64,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Argument {
    /// The bits of a scalar as `Op::Const` has them.
    Scalar(u64),
    /// A pointer to memory of its own with these bytes.
    Buffer(Vec<u8>),
}

impl Program {
    pub fn threads(&self) -> u32 {
        self.block.iter().product()
    }
    /// Other arguments that keep all guarantees.
    pub fn arguments_from(&self, seed: u64) -> Vec<Argument> {
        arguments(&mut Random::new(seed), self.total_threads())
    }
    fn total_threads(&self) -> u32 {
        self.threads() * self.grid.iter().product::<u32>()
    }
}

/// Range of the kernel's integer arguments.
const ARGUMENT: (i64, i64) = (-40, 40);
/// Depth of recursion that callers ask for, at most.
const RECURSION: i64 = 3;

/// A program from a seed.
pub fn program(seed: u64, shape: &Shape) -> Program {
    let mut random = Random::new(seed);
    let (block, grid) = launch(&mut random, shape);
    let warp_size = *random.pick(&shape.warp_sizes);
    let threads: u32 = block.iter().product();
    let total = threads * grid.iter().product::<u32>();
    let arguments = arguments(&mut random, total);
    let full_warps = threads.is_multiple_of(warp_size);

    // Callees first, the last one first, so that the steps of what a function calls are known.
    let mut callees: Vec<Callee> = Vec::new();
    let mut functions: Vec<Function> = Vec::new();
    for index in (1..=shape.functions).rev() {
        let (function, callee) = self::callee(&mut random, shape, index, &callees, warp_size);
        functions.push(function);
        callees.push(callee);
    }
    let mut emitter = Emitter::new("kernel", FunctionKind::Kernel, &mut random, shape);
    emitter.callees = callees;
    emitter.warp_size = warp_size;
    emitter.threads = threads;
    emitter.calls_left = 2;
    kernel_entry(&mut emitter, block, full_warps);
    let repeats = body(&mut emitter);
    let call_steps = emitter.call_steps;
    let mut kernel = emitter.finish();
    kernel.launch = launch_shape(&mut random, block, grid, warp_size, threads);
    let steps = repeats.saturating_mul(size(&kernel) + call_steps);
    functions.push(kernel);
    functions.reverse();
    Program {
        module: Module { functions },
        block,
        grid,
        warp_size,
        arguments,
        steps,
    }
}

/// Emits the control flow; says how often an instruction may be executed.
fn body(emitter: &mut Emitter<'_>) -> u64 {
    match emitter.shape.flavour {
        Flavour::Arbitrary => arbitrary::body(emitter),
        Flavour::Structured => structured::body(emitter),
    }
}

fn size(function: &Function) -> u64 {
    function
        .layout
        .iter()
        .map(|&b| function.blocks[b].insts.len() as u64 + 1)
        .sum()
}

fn launch(random: &mut Random, shape: &Shape) -> ([u32; 3], [u32; 3]) {
    let limit = shape.max_threads.max(1);
    let axes = 1 + random.below(3);
    let mut block = [1u32; 3];
    let mut left = limit;
    for (axis, size) in block.iter_mut().enumerate().take(axes as usize) {
        let last = axis + 1 == axes as usize;
        let most = if last { left } else { left.min(8 << axis) };
        *size = if random.percent(60) {
            1 << random.below(most.ilog2() + 1)
        } else {
            1 + random.below(most)
        };
        left /= *size;
    }
    // Powers of two in x alone would leave wide rows unseen.
    if axes == 1 && random.percent(40) {
        block[0] = limit;
    }
    let mut grid = [1u32; 3];
    for size in &mut grid {
        *size = 1 + random.below(shape.max_grid.max(1));
    }
    (block, grid)
}

fn launch_shape(
    random: &mut Random,
    block: [u32; 3],
    grid: [u32; 3],
    warp_size: u32,
    threads: u32,
) -> LaunchShape {
    let mut known = LaunchShape::default();
    let tells_block = random.percent(60);
    for axis in 0..3 {
        if tells_block || random.percent(30) {
            known.block[axis] = Some(block[axis]);
        }
        if random.percent(30) {
            known.grid[axis] = Some(grid[axis]);
        }
    }
    if random.percent(30) {
        known.max_threads = Some(threads + random.below(64));
    }
    if random.percent(50) {
        known.warp_size = Some(warp_size);
    }
    known
}

/// `data` (64 words), `out` (a slice a lane), `n`, `m`, `wide`, `x`, `y`, `flag`.
fn arguments(random: &mut Random, total_threads: u32) -> Vec<Argument> {
    let scalar = |random: &mut Random| {
        let small = random.percent(50);
        let (low, high) = if small { (0, 4) } else { ARGUMENT };
        Argument::Scalar(random.between(low, high) as u64)
    };
    let data = (0..TABLE).map(|_| random.draw() as u8).collect();
    let out = (0..SLICE * total_threads)
        .map(|_| random.below(4) as u8)
        .collect();
    vec![
        Argument::Buffer(data),
        Argument::Buffer(out),
        scalar(random),
        scalar(random),
        scalar(random),
        Argument::Scalar(u64::from((random.between(-8, 8) as f32 * 0.5).to_bits())),
        Argument::Scalar((random.between(-8, 8) as f64 * 0.25).to_bits()),
        Argument::Scalar(random.draw() & 1),
    ]
}

fn kernel_entry(e: &mut Emitter<'_>, block: [u32; 3], full_warps: bool) {
    let data =
        e.b.parameter("data", "const int*", &[Type::Ptr(Space::Global)])[0];
    let last = e.b.function.parameters.len() - 1;
    e.b.function.parameters[last].read_only = true;
    let out = e.b.parameter("out", "int*", &[Type::Ptr(Space::Global)])[0];
    for (name, ty) in [
        ("n", Type::I32),
        ("m", Type::I32),
        ("wide", Type::I64),
        ("x", Type::F32),
        ("y", Type::F64),
        ("flag", Type::Bool),
    ] {
        let value = e.b.parameter(name, ty.to_string(), &[ty])[0];
        if ty == Type::I32 {
            e.shared_by_all.push(value);
        }
        if e.types.contains(&ty) {
            e.pool.push(Entry {
                value,
                ty,
                range: if ty.is_int() {
                    ARGUMENT
                } else {
                    emit::full(ty)
                },
            });
        }
    }
    let threads: u32 = block.iter().product();
    let bounded = |e: &mut Emitter<'_>, special, most: u32| {
        let value = e.b.special(special, Type::I32);
        e.add(value, (0, i64::from(most)))
    };
    let tid: Vec<Value> = (0..3u8)
        .map(|axis| bounded(e, Special::ThreadId(axis), block[axis as usize] - 1))
        .collect();
    let dim: Vec<Value> = (0..3u8)
        .map(|axis| {
            let value = e.b.special(Special::BlockDim(axis), Type::I32);
            let exact = i64::from(block[axis as usize]);
            e.shared_by_all.push(value);
            e.add(value, (exact, exact))
        })
        .collect();
    let group: Vec<Value> = (0..3u8)
        .map(|axis| bounded(e, Special::BlockId(axis), 63))
        .collect();
    e.shared_by_all.extend(&group);
    let grid: Vec<Value> = (0..3u8)
        .map(|axis| bounded(e, Special::GridDim(axis), 64))
        .collect();
    bounded(e, Special::LaneId, e.warp_size - 1);
    bounded(e, Special::WarpId, threads - 1);
    bounded(e, Special::WarpSize, 64);
    bounded(e, Special::WarpCount, threads);
    if e.shape.warp_ops {
        for special in [
            Special::LaneMaskEq,
            Special::LaneMaskLt,
            Special::LaneMaskGe,
        ] {
            let ty = e.mask_type();
            let value = e.b.special(special, ty);
            if e.types.contains(&ty) {
                e.add(value, emit::full(ty));
            }
        }
    }
    if e.shape.symbolic_parameters {
        for name in ["N0", "N1", "N2"] {
            let value = e.b.value(Op::Parameter(name.into()), &[], Type::I32);
            e.add(value, emit::full(Type::I32));
        }
    }
    // linear = x + width * (y + height * z), then the same for workgroups.
    let multiply_add = |e: &mut Emitter<'_>, x: Value, y: Value, z: Value| {
        let wrap = if e.shape.wrap_flags {
            Wrap::NO_SIGNED
        } else {
            Wrap::MAY
        };
        let product = e.b.binary(BinaryOp::Mul, wrap, y, z);
        e.b.binary(BinaryOp::Add, wrap, x, product)
    };
    let plane = multiply_add(e, tid[1], dim[1], tid[2]);
    let linear = multiply_add(e, tid[0], dim[0], plane);
    e.add(linear, (0, i64::from(threads) - 1));
    let plane = multiply_add(e, group[1], grid[1], group[2]);
    let group = multiply_add(e, group[0], grid[0], plane);
    let area = e.b.binary(BinaryOp::Mul, Wrap::MAY, dim[0], dim[1]);
    let volume = e.b.binary(BinaryOp::Mul, Wrap::MAY, area, dim[2]);
    let global = multiply_add(e, linear, volume, group);
    e.add(global, (0, 1 << 20));
    if e.shape.memory || e.shape.atomics {
        memory::kernel_regions(e, data, out, linear, global);
    } else {
        // Results must be observable.
        e.memory.own = Some(memory::slice(e, out, global));
    }
    e.full_warps = full_warps;
    e.entry_instructions();
    e.slots();
}

/// A device function `(depth, a, b, own) -> i32`.
fn callee(
    random: &mut Random,
    shape: &Shape,
    index: u32,
    later: &[Callee],
    warp_size: u32,
) -> (Function, Callee) {
    let name = format!("device{index}");
    let small = Shape {
        blocks: (shape.blocks / 2).clamp(1, 5),
        loop_depth: shape.loop_depth.min(1),
        exchange: false,
        kills: shape.kills && !shape.barriers,
        barriers: false,
        ..shape.clone()
    };
    let mut e = Emitter::new(&name, FunctionKind::Device, random, &small);
    e.callees = later.to_vec();
    e.warp_size = warp_size;
    e.calls_left = 1;
    let depth = e.b.parameter("depth", "int", &[Type::I32])[0];
    let a = e.b.parameter("a", "int", &[Type::I32])[0];
    let b = e.b.parameter("b", "int", &[Type::I32])[0];
    let own = e.b.parameter("own", "int*", &[Type::Ptr(Space::Global)])[0];
    e.b.function.returns = vec![Type::I32];
    e.add(depth, (0, RECURSION));
    for value in [a, b] {
        e.add(value, emit::full(Type::I32));
    }
    e.memory.own = Some(own);
    if small.memory {
        memory::callee_regions(&mut e);
    }
    e.entry_instructions();
    e.slots();
    if e.random.percent(50) {
        e.recursion(index, depth, own);
    }
    let repeats = body(&mut e);
    let call_steps = e.call_steps;
    let function = e.finish();
    let once = repeats.saturating_mul(size(&function) + call_steps);
    let callee = Callee {
        index,
        steps: once.saturating_mul(RECURSION as u64 + 1),
    };
    (function, callee)
}

/// The builder of a function that is complete but for its body.
fn builder(name: &str, kind: FunctionKind) -> FunctionBuilder {
    FunctionBuilder::new(name, kind, Language::Text)
}
