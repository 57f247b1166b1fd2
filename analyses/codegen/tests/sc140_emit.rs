//! SC140 code of random functions: the reference interpreter and the simulator leave the same memory and result, and no rule is
//! broken that the simulator knows. Functions of IR, `LOCKSTEP_IR_FUNCTIONS` of them, and C kernels, `LOCKSTEP_C_KERNELS`,
//! both from the seed `LOCKSTEP_FIRST` on. The simulator and the code generator were written apart, from the same manuals.
#![allow(clippy::disallowed_methods)]

#[path = "support/sc140.rs"]
mod sc140;

use ir::{Module, Op, Special};
use lockstep_codegen::legalize::{Words, legalize};
use lockstep_codegen::machine;
use lockstep_codegen::machine::sets::Sets;
use lockstep_codegen::target::sc140::emit::{Emitted, Options, emit};
use oracle::interp::{Launch, run};
use oracle::random::c::fractions;
use oracle::random::{self, Flavour, Shape};
use sc140::{interpreted, module_of, simulated};
use simulate::sc140::Arg;
use std::collections::BTreeMap;

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

fn shape(seed: u64) -> Shape {
    Shape {
        flavour: match seed % 4 {
            3 => Flavour::Arbitrary,
            _ => Flavour::Structured,
        },
        blocks: 4 + (seed % 11) as u32,
        block_insts: 3 + (seed % 7) as u32,
        loop_depth: 2,
        fuel: 5,
        functions: (seed % 3) as u32,
        narrow: seed.is_multiple_of(2),
        wide: seed % 5 < 2,
        floats: seed % 6 == 1,
        doubles: seed % 12 == 1,
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

#[derive(Default)]
struct Tally {
    judged: u64,
    failed: u64,
    spilled: u64,
    loops: u64,
    pipelined: u64,
    refused: BTreeMap<String, u64>,
    /// The reasons why loops are not pipelined.
    single: BTreeMap<String, u64>,
    spills: Spills,
}

/// The gain of spill reduction.
#[derive(Default)]
struct Spills {
    functions: u64,
    /// Loads and stores, before and after.
    transfers: [u64; 2],
    /// Cycles of the simulator, before and after.
    cycles: [u64; 2],
    slower: u64,
    /// The sum of the logarithms of cycles before by cycles after.
    gain: f64,
}

impl Spills {
    /// Runs the code as allocated, too, and compares.
    fn compare(
        &mut self,
        module: &Module,
        sets: &Sets,
        options: &Options,
        emitted: &Emitted,
        cycles: u64,
        run: &mut dyn FnMut(&str) -> u64,
    ) {
        let sum = |emitted: &Emitted, at: usize| -> u64 {
            let all = emitted
                .functions
                .iter()
                .map(|function| &function.transfers[at]);
            all.map(|it| u64::from(it.loads + it.stores)).sum()
        };
        if sum(emitted, 0) == 0 {
            return;
        }
        for function in &emitted.functions {
            let [before, after] = function.transfers;
            assert!(after.loads <= before.loads && after.stores <= before.stores);
            assert!(after.executed <= before.executed);
        }
        let plain = Options {
            reduce_spills: false,
            ..options.clone()
        };
        let plain = emit(module, sets, &plain).expect("code with spills");
        assert_eq!(sc140::broken(&plain.text), [""; 0], "{}", plain.text);
        let before = run(&plain.text);
        self.functions += 1;
        self.transfers[0] += sum(emitted, 0);
        self.transfers[1] += sum(emitted, 1);
        self.cycles[0] += before;
        self.cycles[1] += cycles;
        self.slower += u64::from(cycles > before);
        self.gain += (before as f64 / cycles as f64).ln();
    }

    fn print(&self) {
        println!(
            "{} with spills: {} loads and stores become {}, {} cycles {}, {:.1} % in the mean; {} slower",
            self.functions,
            self.transfers[0],
            self.transfers[1],
            self.cycles[0],
            self.cycles[1],
            100.0 * ((self.gain / self.functions.max(1) as f64).exp() - 1.0),
            self.slower,
        );
    }
}

impl Tally {
    fn emitted(&mut self, module: &Module, sets: &Sets, options: &Options) -> Option<Emitted> {
        match emit(module, sets, options) {
            Ok(emitted) => {
                let functions = &emitted.functions;
                self.spilled += u64::from(functions.iter().any(|function| function.spilled > 0));
                let loops = functions.iter().flat_map(|function| &function.loops);
                self.loops += loops.clone().count() as u64;
                for reason in loops.clone().filter_map(|it| it.refused) {
                    *self.single.entry(reason.to_string()).or_default() += 1;
                }
                self.pipelined += loops.filter(|it| it.stages > 1).count() as u64;
                Some(emitted)
            }
            Err(reasons) => {
                let reason = reasons.first().map(|reason| reason.reason.to_string());
                *self.refused.entry(reason.unwrap_or_default()).or_default() += 1;
                None
            }
        }
    }
}

fn options(seed: u64) -> Options {
    Options {
        pipeline: setting("LOCKSTEP_PIPELINED", u64::from(!seed.is_multiple_of(3))) > 0,
        reduce_spills: true,
        fewer: [0, 0, 8][seed as usize % 3],
        total: true,
        big_endian: false,
        ..Options::default()
    }
}

fn setting(name: &str, default: u64) -> u64 {
    let given = std::env::var(name).ok();
    given.and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Parameters that nothing reads, of types that registers do not have, are numbers of 32 bits.
fn narrowed(module: &mut Module) {
    let function = &mut module.functions[0];
    let uses = ir::needed::uses(function);
    for param in function.blocks[function.entry()].params.clone() {
        let ty = &mut function.values[param].ty;
        if uses[param] == 0 && (ty.is_float() || *ty == ir::Type::I64) {
            *ty = ir::Type::I32;
        }
    }
}

/// Returns true if operations of the module become calls of functions that are not there.
fn calls_out(module: &Module) -> bool {
    let mut module = module.clone();
    let words = Words {
        accumulators: true,
        high_first: false,
        total: true,
        lacks: |_, _| false,
    };
    legalize(&mut module, words);
    let mut insts = module
        .functions
        .iter()
        .flat_map(|function| function.insts.values());
    insts.any(|data| matches!(data.op, Op::CallUnknown { .. }))
}

fn judge(seed: u64, sets: &Sets, tally: &mut Tally) {
    let mut program = random::program(seed, &shape(seed));
    alone(&mut program.module, program.warp_size);
    narrowed(&mut program.module);
    let launch = Launch::for_program(&program);
    let expected = run(&program.module, &launch);
    if expected.error.is_some() {
        tally.failed += 1;
        return;
    }
    for function in &mut program.module.functions {
        let symbols: Vec<_> = function.symbols.keys().collect();
        for symbol in symbols {
            function.symbols[symbol].space = ir::Space::Global;
        }
    }
    let Some(emitted) = tally.emitted(&program.module, sets, &options(seed)) else {
        return;
    };
    if calls_out(&program.module) {
        // The C library's mathematics is not at hand.
        return;
    }
    let told = || {
        format!(
            "seed {seed}\n{}\n{}",
            ir::text::print_module(&program.module),
            emitted.text
        )
    };
    assert_eq!(sc140::broken(&emitted.text), [""; 0], "{}", told());
    let entry = &program.module.functions[0];
    let params = &entry.blocks[entry.entry()].params;
    let floats = shape(seed).floats;
    let mut buffers = Vec::new();
    let arguments = program.arguments.iter().zip(params);
    let arguments: Vec<_> = arguments
        .map(|(argument, &param)| match argument {
            random::Argument::Buffer(bytes) => {
                buffers.push(bytes.clone());
                None
            }
            random::Argument::Scalar(bits) => Some(match entry.ty(param) {
                ir::Type::Bool | ir::Type::I8 | ir::Type::I16 => Arg::Word(*bits as i16),
                ir::Type::I64 | ir::Type::F64 => Arg::Wide(*bits as i64),
                _ => Arg::Long(*bits as i32),
            }),
        })
        .collect();
    let name = format!("_{}", entry.name);
    let mut run = |text: &str| {
        let outcome = simulated(text, &name, &buffers, &arguments);
        let (outcome, left) = outcome.unwrap_or_else(|fault| panic!("{fault}\n{text}\n{}", told()));
        for (at, left) in left.iter().enumerate() {
            let wanted = &expected.buffers[at].bytes;
            // A NaN is any of them, in a word of either width.
            let nan = |bytes: &[u8]| match bytes.len() {
                4 => bytes
                    .try_into()
                    .is_ok_and(|bytes| f32::from_le_bytes(bytes).is_nan()),
                _ => bytes
                    .try_into()
                    .is_ok_and(|bytes| f64::from_le_bytes(bytes).is_nan()),
            };
            let same = |a: &[u8], b: &[u8]| a == b || floats && nan(a) && nan(b);
            let words = left.chunks(8).zip(wanted.chunks(8));
            let unlike = words.into_iter().find(|(a, b)| {
                let mut halves = a.chunks(4).zip(b.chunks(4));
                !same(a, b) && !halves.all(|(a, b)| same(a, b))
            });
            if unlike.is_some() {
                let first = left.iter().zip(wanted).position(|(a, b)| a != b);
                panic!(
                    "buffer {at} differs at {first:?}: {:x?} and not {:x?}\n{text}\n{}",
                    &left[first.unwrap_or(0)..],
                    &wanted[first.unwrap_or(0)..],
                    told()
                );
            }
        }
        outcome.cycles.total()
    };
    let cycles = run(&emitted.text);
    let options = options(seed);
    let spills = &mut tally.spills;
    spills.compare(&program.module, sets, &options, &emitted, cycles, &mut run);
    tally.judged += 1;
}

/// A flag that lived across a call, and the high half of a constant.
const ONCE_WRONG: [u64; 2] = [100_722, 500_155];

#[test]
fn random_functions_compute_the_same() {
    let count = setting("LOCKSTEP_IR_FUNCTIONS", 300);
    let first = setting("LOCKSTEP_FIRST", 0);
    let table = machine::named("sc140").expect("a table");
    let sets = table.sets().expect("execution sets");
    let mut tally = Tally::default();
    for seed in ONCE_WRONG.into_iter().chain(first..first + count) {
        judge(seed, sets, &mut tally);
    }
    println!(
        "{} of {count} functions computed the same, {} with values in memory; {} fail; refused: {:?}",
        tally.judged, tally.spilled, tally.failed, tally.refused
    );
    tally.spills.print();
    assert!(tally.judged * 2 >= count, "{}", tally.judged);
    assert!(tally.spilled * 20 >= count, "{}", tally.spilled);
}

#[test]
fn random_kernels_compute_the_same() {
    let count = setting("LOCKSTEP_C_KERNELS", 300);
    let first = setting("LOCKSTEP_FIRST", 0);
    let table = machine::named("sc140").expect("a table");
    let sets = table.sets().expect("execution sets");
    let mut tally = Tally::default();
    for seed in first..first + count {
        let kernel = fractions(seed);
        let module = module_of(&kernel.text, &kernel.name);
        let Some(emitted) = tally.emitted(&module, sets, &options(seed)) else {
            continue;
        };
        let broken = sc140::broken(&emitted.text);
        assert_eq!(
            broken, [""; 0],
            "seed {seed}\n{}\n{}",
            kernel.text, emitted.text
        );
        let expected = interpreted(&kernel, &module);
        let mut run = |text: &str| {
            let outcome = sc140::agrees(&kernel, &expected, text);
            let outcome = outcome.unwrap_or_else(|why| {
                let ir = ir::text::print_module(&module);
                panic!("seed {seed}: {why}\n{}\n{ir}\n{text}", kernel.text)
            });
            outcome.cycles.total()
        };
        let cycles = run(&emitted.text);
        let options = options(seed);
        let spills = &mut tally.spills;
        spills.compare(&module, sets, &options, &emitted, cycles, &mut run);
        tally.judged += 1;
    }
    println!(
        "{} of {count} kernels computed the same, {} with values in memory, {} loops of the hardware, {} of them pipelined, the others: {:?}; refused: {:?}",
        tally.judged, tally.spilled, tally.loops, tally.pipelined, tally.single, tally.refused
    );
    tally.spills.print();
    assert!(tally.judged * 2 >= count, "{}", tally.judged);
}
