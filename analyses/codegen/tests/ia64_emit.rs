//! IA-64 code of random functions: the reference interpreter and the simulator leave the same memory and result, and GNU `as`
//! takes the text in explicit mode without a word. Functions of IR, `LOCKSTEP_IR_FUNCTIONS` of them, and C kernels,
//! `LOCKSTEP_C_KERNELS` (a third of them with pipelined loops, all where `LOCKSTEP_PIPELINED` is 1), both from the seed `LOCKSTEP_FIRST` on; the assembler is looked for in `LOCKSTEP_IA64_AS`, then under its usual name; where it is absent the test says so, and fails only when
//! `LOCKSTEP_IA64_AS` is set.
#![allow(clippy::disallowed_methods)]

#[path = "support/assembler.rs"]
mod assembler;
#[path = "support/judge.rs"]
mod judge;

use assembler::{assembled, assembler};
use ir::{BranchKind, Module, Op, Special, Value};
use judge::{agrees, interpreted, module_of};
use lockstep_codegen::machine;
use lockstep_codegen::machine::epic::Epic;
use lockstep_codegen::target::ia64::contract::contracted;
use lockstep_codegen::target::ia64::emit::{Emitted, Options, emit};
use lockstep_codegen::target::ia64::passes::Limits;
use lockstep_codegen::target::ia64::pipeline::{self, Epilogue};
use oracle::interp::{Instance, Launch, Observer, run_with};
use oracle::random::c::{Argument, Buffer, Kernel, Parameter, Scalar, fractions, kernel};
use oracle::random::{self, Flavour, Shape};
use simulate::ia64::{self as sim, Arg, Memory, Program, run};
use std::path::PathBuf;

/// Values of the launch as constants: one lane is alone.
fn alone(module: &mut Module, warp_size: u32) {
    for function in &mut module.functions {
        let insts: Vec<_> = function.insts.keys().collect();
        for inst in insts {
            if let Op::Special(special) = function.insts[inst].op {
                let value = match special {
                    Special::BlockDim(_) | Special::GridDim(_) | Special::WarpCount => 1,
                    Special::WarpSize => u64::from(warp_size),
                    _ => 0,
                };
                function.insts[inst].op = Op::Const(value);
            }
        }
    }
}

/// True if any floating-point value of the run was NaN: which one is left open.
#[derive(Default)]
struct Nans(bool, Vec<Vec<bool>>, Vec<Vec<bool>>);

impl Observer for Nans {
    fn values(&mut self, instance: &Instance<'_>, value: Value, lanes: &[u64], _mask: u64) {
        let (function, value) = (instance.function as usize, value.0 as usize);
        let single = self.1[function][value];
        let double = self.2[function][value];
        for &bits in lanes {
            self.0 |= single && f32::from_bits(bits as u32).is_nan();
            self.0 |= double && f64::from_bits(bits).is_nan();
        }
    }
}

fn shape(seed: u64) -> Shape {
    let floats = seed.is_multiple_of(3);
    Shape {
        flavour: if seed % 4 == 3 {
            Flavour::Arbitrary
        } else {
            Flavour::Structured
        },
        blocks: 4 + (seed % 11) as u32,
        block_insts: 3 + (seed % 7) as u32,
        loop_depth: 2,
        fuel: 5,
        functions: (seed % 3) as u32,
        narrow: seed.is_multiple_of(2),
        wide: true,
        floats,
        doubles: floats,
        halves: false,
        math: false,
        bit_ops: false,
        fractions: seed % 4 < 2,
        memory: true,
        atomics: false,
        warp_ops: false,
        inactive_sources: false,
        switches: true,
        kills: false,
        guards: false,
        exchange: false,
        barriers: false,
        stray_barriers: false,
        warp_sizes: vec![1],
        max_threads: 1,
        max_grid: 1,
        ..Shape::default()
    }
}

fn limits(seed: u64) -> Limits {
    match seed % 5 {
        0 => Limits {
            general: 3,
            float: 2,
            predicate: 2,
        },
        1 => Limits {
            general: 12,
            float: 6,
            predicate: 4,
        },
        _ => Limits::default(),
    }
}

#[derive(Default)]
struct Tally {
    judged: u32,
    /// Branches that became predicates.
    converted: usize,
    /// Those of them with branches in their sides that stay.
    regions: usize,
    refused: u32,
    open: u32,
    failed: u32,
    spilled: u32,
    loops: u32,
    epilogues: u32,
    pipelined: u32,
    /// Loops with speculative loads, and those loads.
    speculative: u32,
    loads: u32,
}

impl Tally {
    /// The code of a module, counted; none where it is refused.
    fn emitted(
        &mut self,
        seed: u64,
        module: &Module,
        epic: &Epic,
        options: &Options,
    ) -> Option<Emitted> {
        let emitted = emit(module, epic, options);
        if let Err(reasons) = &emitted {
            if self.refused < 3 {
                println!("{seed}: {reasons:?}");
            }
            self.refused += 1;
        }
        let emitted = emitted.ok()?;
        let spills = emitted
            .functions
            .iter()
            .any(|function| function.spilled > 0);
        self.spilled += u32::from(spills);
        for function in &emitted.functions {
            let made = function.conversions.made.iter();
            self.converted += made.len();
            self.regions += made.filter(|made| made.exits > 0).count();
        }
        Some(emitted)
    }
}

/// The code of a module with an instruction a line, to be shown.
fn without_bundles(module: &Module, epic: &Epic, options: &Options) -> String {
    let plain = Options {
        bundles: false,
        ..options.clone()
    };
    emit(module, epic, &plain).map_or_else(|_| String::new(), |emitted| emitted.text)
}

fn judge(seed: u64, tally: &mut Tally, texts: &mut String) {
    let mut program = random::program(seed, &shape(seed));
    alone(&mut program.module, program.warp_size);
    let mut nans = Nans::default();
    for function in &program.module.functions {
        let of = |ty: ir::Type| {
            function
                .values
                .values()
                .map(|value| value.ty == ty)
                .collect()
        };
        nans.1.push(of(ir::Type::F32));
        nans.2.push(of(ir::Type::F64));
    }
    let launch = Launch::for_program(&program);
    let expected = run_with(&program.module, &launch, &mut nans, &());
    if expected.error.is_some() {
        tally.failed += 1;
        return;
    }
    if nans.0 {
        tally.open += 1;
        return;
    }
    if seed % 5 < 2 {
        ask_for_all(&mut program.module);
    }
    // What a workgroup shares is a variable of one lane.
    for function in &mut program.module.functions {
        let symbols: Vec<_> = function.symbols.keys().collect();
        for symbol in symbols {
            let symbol = &mut function.symbols[symbol];
            symbol.space = ir::Space::Global;
            symbol.name = format!("{}{seed}_", symbol.name).into();
        }
    }
    let table = machine::named(["itanium", "itanium2"][seed as usize % 2]).expect("a table");
    let epic = table.epic().expect("explicit groups");
    let options = Options {
        total: true,
        limits: limits(seed),
        convert: seed % 3 < 2,
        decisions: 60,
        ..Options::default()
    };
    let Some(emitted) = tally.emitted(seed, &program.module, epic, &options) else {
        return;
    };
    let text = &emitted.text;
    let told = || {
        let plain = without_bundles(&program.module, epic, &options);
        format!(
            "seed {seed}\n{}\n{plain}",
            ir::text::print_module(&program.module)
        )
    };
    let document = syntax::ia64::parse(text);
    let (code, problems) = Program::new(&document, text);
    assert_eq!(problems, [], "{}", told());
    let mut memory = Memory::new();
    let mut arguments = Vec::new();
    let mut buffers = Vec::new();
    let entry = &program.module.functions[0];
    let params = &entry.blocks[entry.entry()].params;
    for (argument, &param) in program.arguments.iter().zip(params) {
        arguments.push(match argument {
            random::Argument::Buffer(bytes) => {
                let at = memory.place(bytes).expect("room");
                buffers.push((at, bytes.len()));
                Arg::Integer(at)
            }
            random::Argument::Scalar(bits) => match entry.ty(param) {
                ir::Type::F32 => Arg::Single(f32::from_bits(*bits as u32)),
                ir::Type::F64 => Arg::Double(f64::from_bits(*bits)),
                _ => Arg::Integer(*bits),
            },
        });
    }
    let limits = sim::Limits {
        steps: 50_000_000,
        ..sim::Limits::default()
    };
    let outcome = run(&code, "kernel", &arguments, &mut memory, &limits);
    let outcome = outcome.unwrap_or_else(|fault| panic!("{fault}\n{}", told()));
    assert_eq!(outcome.violations, [], "{}\n{text}", told());
    assert_eq!(outcome.changed, [], "{}\n{text}", told());
    for (at, (address, length)) in buffers.into_iter().enumerate() {
        let left = memory.bytes(address, length).expect("its memory");
        if left != expected.buffers[at].bytes {
            let first = left
                .iter()
                .zip(&expected.buffers[at].bytes)
                .position(|(a, b)| a != b);
            panic!("buffer {at} differs at {first:?}\n{}", told());
        }
    }
    tally.judged += 1;
    // Names apart, so that all go through the assembler at once.
    let mut renamed = text.replace("kernel", &format!("kernel{seed}_"));
    for function in 1..10 {
        renamed = renamed.replace(
            &format!("device{function}"),
            &format!("device{function}_{seed}_"),
        );
    }
    texts.push_str(&renamed);
}

fn setting(name: &str, default: u64) -> u64 {
    let given = std::env::var(name).ok();
    given.and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Texts that go through the assembler together.
struct Batch {
    assembler: Option<PathBuf>,
    texts: String,
}

impl Batch {
    fn new() -> Batch {
        Batch {
            assembler: assembler(),
            texts: String::new(),
        }
    }
    fn judge(&mut self, last: bool) {
        if !last && self.texts.len() < 4_000_000 {
            return;
        }
        let texts = std::mem::take(&mut self.texts);
        let Some(assembler) = &self.assembler else {
            return;
        };
        let said = assembled(assembler, &texts);
        let lines: Vec<&str> = said.lines().take(8).collect();
        if !lines.is_empty() {
            let kept = std::env::temp_dir().join("lockstep-ia64-emit.s");
            std::fs::write(&kept, &texts).expect("written");
            panic!("{}: {lines:#?}", kept.display());
        }
    }
}

#[test]
fn random_functions_compute_the_same() {
    let count = setting("LOCKSTEP_IR_FUNCTIONS", 300);
    let first = setting("LOCKSTEP_FIRST", 0);
    let mut tally = Tally::default();
    let mut batch = Batch::new();
    for seed in first..first + count {
        judge(seed, &mut tally, &mut batch.texts);
        batch.judge(seed + 1 == first + count);
    }
    println!(
        "{} of {count} functions computed the same, {} with values in memory; {} refused, {} with an open result, {} that fail; {} branches converted, {} with ways out of their sides",
        tally.judged,
        tally.spilled,
        tally.refused,
        tally.open,
        tally.failed,
        tally.converted,
        tally.regions
    );
    assert!(u64::from(tally.judged) * 10 >= count * 9);
    assert!(u64::from(tally.spilled) * 10 >= count);
    assert!(tally.converted as u64 >= count / 10, "{}", tally.converted);
    assert!(tally.regions as u64 >= count / 100, "{}", tally.regions);
}

/// The module of a kernel, its functions and variables named apart from those of other seeds.
fn lowered(kernel: &Kernel) -> Module {
    let mut module = module_of(&kernel.text, &kernel.name);
    for function in &mut module.functions {
        function.name = format!("{}{}", function.name, kernel.seed).into();
        let symbols: Vec<_> = function.symbols.keys().collect();
        for symbol in symbols {
            let name = &mut function.symbols[symbol].name;
            *name = format!("{name}{}_", kernel.seed).into();
        }
    }
    module
}

/// The source asks for predicates in the place of each branch.
fn ask_for_all(module: &mut Module) {
    for function in &mut module.functions {
        for block in function.layout.clone() {
            let kind = &mut function.blocks[block].branch;
            if *kind == BranchKind::If {
                *kind = BranchKind::Flattened;
            }
        }
    }
}

fn judge_kernel(kernel: &Kernel, pipelined: bool, tally: &mut Tally, texts: &mut String) {
    let seed = kernel.seed;
    let mut module = lowered(kernel);
    if seed % 7 < 2 {
        ask_for_all(&mut module);
    }
    // Products and sums are one operation in two fifths of them.
    let contract = seed % 5 < 2;
    let expected = match contract {
        true => interpreted(kernel, &contracted(&module)),
        false => interpreted(kernel, &module),
    };
    let table = machine::named(["itanium", "itanium2"][seed as usize % 2]).expect("a table");
    let epic = table.epic().expect("explicit groups");
    // Every method, and the choice among them as often as all of them together.
    let methods = &pipeline::Method::EXITS;
    let options = Options {
        limits: limits(seed),
        decisions: 60,
        contract,
        convert: (2..4).contains(&(seed % 7)),
        pipeline: pipelined.then(|| pipeline::Options {
            method: methods
                .get((seed / 12) as usize % (2 * methods.len()))
                .copied(),
            unroll: [None, None, None, Some(2), Some(3), Some(4)][(seed / 2 % 6) as usize],
            epilogue: match seed % 3 {
                0 => Epilogue::Explicit,
                _ => Epilogue::Kernel,
            },
            ..pipeline::Options::default()
        }),
        ..Options::default()
    };
    let Some(emitted) = tally.emitted(seed, &module, epic, &options) else {
        return;
    };
    let text = &emitted.text;
    let told = || {
        let plain = without_bundles(&module, epic, &options);
        format!(
            "seed {seed}\n{}\n{}\n{plain}",
            kernel.text,
            ir::text::print_module(&module)
        )
    };
    // What is speculative fails where it must, and then where it need not, too.
    for deferred in [None, Some(seed)] {
        if deferred.is_some() && !pipelined {
            break;
        }
        let limits = sim::Limits {
            steps: 200_000_000,
            deferred,
            ..sim::Limits::default()
        };
        let name = &module.functions[0].name;
        if let Err(why) = agrees(kernel, name, &expected, text, &limits) {
            panic!("{why}\n{}", told());
        }
    }
    tally.judged += 1;
    let loops = emitted
        .functions
        .iter()
        .flat_map(|function| &function.loops);
    tally.loops += loops.clone().count() as u32;
    let pipelined = loops.filter(|it| it.pipelined);
    tally.pipelined += pipelined.clone().count() as u32;
    let drained = pipelined.clone().filter(|it| it.epilogue.is_some());
    tally.epilogues += drained.count() as u32;
    let ahead = pipelined.filter(|it| it.loads.speculative > 0);
    tally.speculative += ahead.clone().count() as u32;
    tally.loads += ahead.map(|it| it.loads.speculative).sum::<u32>();
    texts.push_str(text);
}

/// The register of a counter moves on in front of the test that ends the loop; what reads it behind the loop, in the
/// place of a product that the loop computes, reads what it was.
#[test]
fn a_scaled_counter_is_read_behind_its_loop() {
    let text = "long f(const char *a, const int *b, long n) {
    long i = 0, s = 0, o;
    do {
        o = i * 4;
        s ^= b[i];
        i++;
    } while (i < n);
    return s + *(const int *)(a + o);
}";
    let numbers: Vec<u8> = (1..=16i32).flat_map(i32::to_le_bytes).collect();
    let argument = |argument| Parameter {
        name: "p".into(),
        type_text: String::new(),
        argument,
    };
    let pointer = |buffer| argument(Argument::Pointer { buffer, offset: 0 });
    let count = Argument::Scalar {
        ty: Scalar::Long,
        bits: 5,
    };
    let buffer = Buffer {
        element: Scalar::Int,
        bytes: numbers,
    };
    for seed in 0..24 {
        let kernel = Kernel {
            seed,
            text: text.to_owned(),
            name: "f".into(),
            returns: Some(Scalar::Long),
            parameters: vec![pointer(0), pointer(1), argument(count)],
            buffers: vec![buffer.clone(), buffer.clone()],
        };
        let (mut tally, mut texts) = (Tally::default(), String::new());
        judge_kernel(&kernel, seed % 2 == 1, &mut tally, &mut texts);
        assert_eq!(tally.judged, 1);
    }
}

/// Kernels that once computed something else: an operand of recovery was written again in front of it
/// (6015511), and a conditional sum was left out of a loop (5000139).
#[test]
fn kernels_that_once_differed_compute_the_same() {
    let mut tally = Tally::default();
    let mut batch = Batch::new();
    for seed in [5_000_139, 6_015_511] {
        judge_kernel(&kernel(seed), true, &mut tally, &mut batch.texts);
    }
    batch.judge(true);
    assert_eq!(tally.judged, 2);
}

#[test]
fn random_kernels_compute_the_same() {
    // 0: none of the kernels, 1: all, else every third.
    let pipelined = setting("LOCKSTEP_PIPELINED", 2);
    let count = setting("LOCKSTEP_C_KERNELS", 300);
    let first = setting("LOCKSTEP_FIRST", 0);
    let mut tally = Tally::default();
    let mut batch = Batch::new();
    for seed in first..first + count {
        let pipelined = pipelined == 1 || (pipelined == 2 && seed % 3 == 1);
        judge_kernel(&kernel(seed), pipelined, &mut tally, &mut batch.texts);
        batch.judge(seed + 1 == first + count);
    }
    println!(
        "{} of {count} kernels computed the same, {} with values in memory; {} refused; {} of {} loops pipelined, {} with an explicit epilogue, {} with {} speculative loads; {} branches converted, {} with ways out of their sides",
        tally.judged,
        tally.spilled,
        tally.refused,
        tally.pipelined,
        tally.loops,
        tally.epilogues,
        tally.speculative,
        tally.loads,
        tally.converted,
        tally.regions
    );
    assert_eq!(u64::from(tally.judged), count);
    assert!(u64::from(tally.spilled) * 20 >= count);
    assert!(tally.converted as u64 >= count / 10, "{}", tally.converted);
}

/// Basic operations of ETSI and ITU-T, by ordinary ones: the seeds of `LOCKSTEP_C_KERNELS`, half of them with pipelined loops.
#[test]
fn kernels_of_basic_operations_compute_the_same() {
    let count = setting("LOCKSTEP_C_KERNELS", 200);
    let first = setting("LOCKSTEP_FIRST", 0);
    let mut tally = Tally::default();
    let mut batch = Batch::new();
    for seed in first..first + count {
        let pipelined = seed % 2 == 1;
        judge_kernel(&fractions(seed), pipelined, &mut tally, &mut batch.texts);
        batch.judge(seed + 1 == first + count);
    }
    println!(
        "{} of {count} kernels of basic operations computed the same, {} refused; {} of {} loops pipelined",
        tally.judged, tally.refused, tally.pipelined, tally.loops
    );
    assert_eq!(u64::from(tally.judged), count);
    assert!(tally.pipelined > 0);
}
