//! The setting of a run: the grid, arguments, memory, stage inputs, textures, limits. Everything has a
//! default that depends on names and the seed alone, so that `Launch::new` runs any module.

use super::texture::Textures;
use ir::entity::Entity;
use ir::function::{Function, Language, StageInput};
use ir::inst::{BinaryOp, Convert, Op};
use ir::types::{Space, Type};
use smol_str::SmolStr;
use std::rc::Rc;

/// A run's description. Sizes are in lanes and bytes.
#[derive(Clone, Debug)]
pub struct Launch {
    pub grid: [u32; 3],
    /// Workgroups that run, by number, in ascending order; empty: all. Others leave no results. Not obeyed where the
    /// module has a grid barrier, for which all workgroups are needed.
    pub workgroups: Vec<u64>,
    pub block: [u32; 3],
    /// 1 to 64.
    pub warp_size: u32,
    /// One for each parameter of the entry block, in order; missing ones are chosen by name and seed.
    pub parameters: Vec<Argument>,
    pub buffers: Vec<Buffer>,
    /// Symbols that name a buffer of `buffers`; unbound ones get `default_bytes`.
    pub bindings: Vec<(SmolStr, usize)>,
    /// Elements of arrays of resources: the buffer that is bound to the array, the index, the element's own buffer. Others are
    /// made as they are named; element 0 is the bound buffer.
    pub elements: Vec<(usize, u64, usize)>,
    /// Contents of shared symbols by name when a workgroup starts; the others have their initial value or zeros.
    pub shared: Vec<(SmolStr, Vec<u8>)>,
    pub inputs: Inputs,
    pub textures: Textures,
    /// Values of `Op::Parameter` by name.
    pub constants: Vec<(SmolStr, u64)>,
    pub limits: Limits,
    pub mode: Mode,
    /// Chooses the order of warps, the values of unknowns, and default contents.
    pub seed: u64,
    /// Warps in seeded order instead of ascending.
    pub shuffle_warps: bool,
    /// A lane's atomics in seeded order instead of ascending.
    pub shuffle_atomics: bool,
    /// True if, of divergent groups, the one of the last edge runs first.
    pub reverse_groups: bool,
    /// Reads of variables never written give a value a lane instead of 0.
    pub scramble_undefined: bool,
    /// A lane that has ended, or is on its way to its end without a barrier, counts as arrived at every barrier, as
    /// current hardware has it; otherwise it is an error.
    pub ended_lanes_arrive: bool,
    /// Bytes of shared symbols without a size (`extern __shared__`), which all start at one address.
    pub dynamic_shared: u32,
    /// Bytes of buffers and of memory symbols without a given size.
    pub default_bytes: u32,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Argument {
    /// The value's bits; canonicalised to the parameter's type.
    Bits(u64),
    Float(f64),
    /// An address in a buffer of the launch.
    Pointer {
        buffer: usize,
        offset: u64,
    },
    /// A texture or another resource, by number.
    Handle(u32),
}

#[derive(Clone, PartialEq, Debug)]
pub struct Buffer {
    /// `Global` or `Constant`.
    pub space: Space,
    pub bytes: Vec<u8>,
    pub writable: bool,
}

impl Buffer {
    pub fn global(bytes: Vec<u8>) -> Self {
        Buffer {
            space: Space::Global,
            bytes,
            writable: true,
        }
    }
    pub fn of_u32(words: impl IntoIterator<Item = u32>) -> Self {
        Self::global(words.into_iter().flat_map(u32::to_le_bytes).collect())
    }
    pub fn of_f32(words: impl IntoIterator<Item = f32>) -> Self {
        Self::of_u32(words.into_iter().map(f32::to_bits))
    }
}

/// The way in which lanes execute.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mode {
    /// A warp's lanes together, with the reconvergence stack.
    #[default]
    Lockstep,
    /// Each lane alone: for programs without warp operations the same results, if they are free of races.
    LanesApart,
    /// Each lane alone, with a switch to another lane after any instruction, as the seed has it; at a barrier of the
    /// warp lanes wait for all of the warp that have not ended, whatever its mask. For programs without other warp
    /// operations: what independent thread scheduling may do.
    Interleaved,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Instructions executed by all warps together; a terminator counts as one.
    pub steps: u64,
    /// Bytes of values, buffers, shared and private memory.
    pub memory: u64,
    pub call_depth: u32,
    /// Lanes of the grid.
    pub lanes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            steps: 10_000_000,
            memory: 256 << 20,
            call_depth: 64,
            lanes: 1 << 22,
        }
    }
}

/// The lane, stage input and primitive for which a value is asked.
#[derive(Clone, Copy, Debug)]
pub struct InputQuery<'a> {
    pub index: u32,
    pub input: &'a StageInput,
    /// The lane's number in the whole grid.
    pub thread: u64,
    /// The lane's workgroup, by number: one primitive.
    pub workgroup: u64,
    pub seed: u64,
}

/// Values of shader stage inputs.
#[derive(Clone, Default)]
pub enum Inputs {
    /// Positions in quads of 2x2 pixels, vertex and instance numbers, smooth functions of the position for the rest.
    #[default]
    Procedural,
    /// Values by input, then by lane of the grid; missing values are procedural.
    Table(Vec<Vec<u64>>),
    Function(Rc<dyn Fn(&InputQuery<'_>) -> u64>),
}

impl InputQuery<'_> {
    /// Returns the answer of `Inputs::Procedural`.
    pub fn procedural(&self) -> u64 {
        procedural_input(self)
    }
}

impl std::fmt::Debug for Inputs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Inputs::Procedural => "Procedural",
            Inputs::Table(_) => "Table",
            Inputs::Function(_) => "Function",
        })
    }
}

impl Inputs {
    pub(super) fn value(&self, query: &InputQuery<'_>) -> u64 {
        let bits = match self {
            Inputs::Procedural => procedural_input(query),
            Inputs::Table(columns) => columns
                .get(query.index as usize)
                .and_then(|column| column.get(query.thread as usize))
                .copied()
                .unwrap_or_else(|| procedural_input(query)),
            Inputs::Function(function) => function(query),
        };
        ir::numbers::canonical(query.input.ty, bits)
    }
}

/// The pixel of a lane: lanes 0 to 3 of a quad are its corners, 64 quads a row.
pub fn pixel(thread: u64) -> (u64, u64) {
    let quad = thread / 4;
    (
        quad % 64 * 2 + (thread & 1),
        quad / 64 * 2 + (thread >> 1 & 1),
    )
}

fn procedural_input(query: &InputQuery<'_>) -> u64 {
    let ty = query.input.ty;
    let number = |value: f64| ir::numbers::from_f64(ty, value);
    let (x, y) = pixel(query.thread);
    let semantic = query.input.semantic.as_str();
    let component = u64::from(query.input.component);
    if semantic.starts_with("SV_POSITION") {
        return number(match component {
            0 => x as f64 + 0.5,
            1 => y as f64 + 0.5,
            2 => 0.5,
            _ => 1.0,
        });
    }
    if semantic.starts_with("SV_ISFRONTFACE") {
        return number((query.workgroup & 1) as f64);
    }
    let flat = query.input.interpolation == ir::function::Interpolation::Flat;
    let per_group = ["SV_PRIMITIVEID", "SV_INSTANCEID", "SV_VIEWID"];
    if per_group.iter().any(|s| semantic.starts_with(s)) {
        return number(query.workgroup as f64);
    }
    if !ty.is_float() {
        return number(if flat && !semantic.starts_with("SV_") {
            (hash(&[text(semantic), query.workgroup, component]) % 16) as f64
        } else {
            query.thread as f64
        });
    }
    let phase = unit(hash(&[text(semantic), component, query.seed]));
    if flat {
        return number(unit(hash(&[text(semantic), query.workgroup, component])));
    }
    number((x as f64 * 0.07 + y as f64 * (0.05 + 0.02 * phase) + 6.0 * phase).sin() * 0.5 + 0.5)
}

impl Launch {
    /// One workgroup of `lanes` lanes in warps of 32, with the seed 0.
    pub fn new(lanes: u32) -> Self {
        Launch {
            grid: [1, 1, 1],
            workgroups: Vec::new(),
            block: [lanes, 1, 1],
            warp_size: 32,
            parameters: Vec::new(),
            buffers: Vec::new(),
            bindings: Vec::new(),
            elements: Vec::new(),
            shared: Vec::new(),
            inputs: Inputs::default(),
            textures: Textures::default(),
            constants: Vec::new(),
            limits: Limits::default(),
            mode: Mode::default(),
            seed: 0,
            shuffle_warps: false,
            shuffle_atomics: false,
            reverse_groups: false,
            scramble_undefined: false,
            ended_lanes_arrive: false,
            dynamic_shared: 16 << 10,
            default_bytes: 64 << 10,
        }
    }

    /// A launch that suits the function: its own workgroup size where it fixes one (else `lanes`), a buffer a
    /// pointer with contents from the seed, small positive numbers for the other parameters.
    pub fn for_function(function: &Function, lanes: u32, seed: u64) -> Self {
        let mut launch = Launch::new(lanes);
        launch.seed = seed;
        let shape = &function.launch;
        if let [Some(x), y, z] = shape.block {
            launch.block = [x, y.unwrap_or(1), z.unwrap_or(1)];
        }
        if let Some(warp) = shape.warp_size {
            launch.warp_size = warp;
        }
        let Some(&entry) = function.layout.first() else {
            return launch;
        };
        let addresses = address_parameters(function);
        for (number, &param) in function.blocks[entry].params.iter().enumerate() {
            let ty = match function.ty(param) {
                Type::I64 if addresses >> number.min(63) & 1 == 1 => Type::Ptr(Space::Generic),
                ty => ty,
            };
            let argument = launch.default_argument(function, number, ty);
            launch.parameters.push(argument);
        }
        launch
    }

    /// The launch that a random program is safe for.
    pub fn for_program(program: &crate::random::Program) -> Self {
        let mut launch = Launch::new(1);
        launch.block = program.block;
        launch.grid = program.grid;
        launch.warp_size = program.warp_size;
        let lanes: u64 = program
            .block
            .iter()
            .chain(&program.grid)
            .map(|&n| u64::from(n))
            .product();
        launch.limits.steps = program.steps.saturating_mul(lanes).saturating_mul(2);
        launch.set_arguments(&program.arguments);
        launch
    }

    /// Replaces arguments and buffers.
    pub fn set_arguments(&mut self, arguments: &[crate::random::Argument]) {
        self.parameters.clear();
        self.buffers.clear();
        for argument in arguments {
            self.parameters.push(match argument {
                crate::random::Argument::Scalar(bits) => Argument::Bits(*bits),
                crate::random::Argument::Buffer(bytes) => {
                    self.buffers.push(Buffer::global(bytes.clone()));
                    Argument::Pointer {
                        buffer: self.buffers.len() - 1,
                        offset: 0,
                    }
                }
            });
        }
    }

    fn default_argument(&mut self, function: &Function, number: usize, ty: Type) -> Argument {
        let random = hash(&[self.seed, number as u64, 0x5eed]);
        match ty {
            Type::Ptr(space) => {
                let constant = space == Space::Constant;
                let size = self.default_bytes as usize;
                self.buffers.push(Buffer {
                    space: if constant {
                        Space::Constant
                    } else {
                        Space::Global
                    },
                    bytes: contents(random, size),
                    writable: !constant,
                });
                Argument::Pointer {
                    buffer: self.buffers.len() - 1,
                    offset: 0,
                }
            }
            Type::Handle => Argument::Handle(number as u32 + 1),
            // µ-SIMD's addresses are numbers into one memory, and small ones are valid.
            _ if function.language == Language::MicroSimd => Argument::Bits(random % 8 + 1),
            Type::Bool => Argument::Bits(random & 1),
            ty if ty.is_float() => Argument::Float(unit(random) * 4.0),
            _ => Argument::Bits(random % 40 + 1),
        }
    }
}

/// The parameters (by number, the first 63) whose value becomes an address by moves, sums and conversions: assembly
/// languages pass pointers as integers.
fn address_parameters(function: &Function) -> u64 {
    let mut reach = vec![0u64; function.values.len()];
    for (number, &param) in function.blocks[function.entry()].params.iter().enumerate() {
        reach[param.index()] = if number < 63 { 1 << number } else { 0 };
    }
    let (mut found, mut numbers) = (0, 0);
    // Values that go round loops arrive after a few passes; an address that needs more is taken for a number.
    for _ in 0..4 {
        for &block in &function.layout {
            let data = &function.blocks[block];
            for &inst in &data.insts {
                let data = &function.insts[inst];
                let Some(&result) = data.results.first() else {
                    continue;
                };
                // What is multiplied or shifted is a size or a number.
                if let Op::Binary(BinaryOp::Mul | BinaryOp::Shl, _) = data.op {
                    numbers |= data.args.iter().fold(0, |m, arg| m | reach[arg.index()]);
                }
                let flows = matches!(
                    data.op,
                    Op::Convert(Convert::Bitcast | Convert::SpaceCast)
                        | Op::Binary(BinaryOp::Add | BinaryOp::Sub, _)
                        | Op::Select
                        | Op::PtrAdd
                );
                if flows && function.ty(result).bits() == 64 {
                    let mut args = data.args.as_slice();
                    // What is added to a pointer is a distance.
                    if let (Op::PtrAdd, [from, by]) = (&data.op, args) {
                        numbers |= reach[by.index()];
                        args = std::slice::from_ref(from);
                    }
                    let mask = args.iter().fold(0, |m, arg| m | reach[arg.index()]);
                    reach[result.index()] |= mask;
                    if matches!(function.ty(result), Type::Ptr(_)) {
                        found |= mask;
                    }
                }
            }
            for edge in data.terminator.edges() {
                let params = &function.blocks[edge.block].params;
                for (&param, &arg) in params.iter().zip(&edge.args) {
                    reach[param.index()] |= reach[arg.index()];
                }
            }
        }
    }
    found & !numbers
}

/// Small numbers that make sense both as f32 and as indices: every fourth word is a float in 0..4, the others are below 64.
pub(super) fn contents(seed: u64, bytes: usize) -> Vec<u8> {
    let mut data = Vec::with_capacity(bytes + 4);
    let mut word = 0u64;
    while data.len() < bytes {
        let random = hash(&[seed, word]);
        let value = if random & 3 == 3 {
            ((unit(random) * 4.0) as f32).to_bits()
        } else {
            (random >> 8) as u32 % 64
        };
        data.extend_from_slice(&value.to_le_bytes());
        word += 1;
    }
    data.truncate(bytes);
    data
}

/// A mixing of words (the finaliser of SplitMix64 after each).
pub(super) fn hash(words: &[u64]) -> u64 {
    words
        .iter()
        .fold(0x9e37_79b9_7f4a_7c15, |state, &word| mix(state, word))
}
#[inline]
pub(super) fn mix(state: u64, word: u64) -> u64 {
    let mut z =
        state.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(word) ^ 0x2545_f491_4f6c_dd1d;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
/// A name as a word.
pub(super) fn text(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| {
        (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3)
    })
}
/// A hash as a number in 0..1.
pub(super) fn unit(hash: u64) -> f64 {
    (hash >> 11) as f64 / (1u64 << 53) as f64
}
