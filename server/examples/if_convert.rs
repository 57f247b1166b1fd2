//! If-conversion of branches: cycles and mispredictions of random C kernels with branches, on a machine with a predictor.
//!
//! ```text
//! cargo run --release -p lockstep-server --example if_convert [-- KERNELS [MACHINE]]
//! ```
//!
//! Each kernel is emitted for `itanium2` as it is and with `--if-convert`, loops not pipelined, and both are
//! simulated with the caches and the predictor of `simon2001`, or of the machine that is named: once without a
//! profile, and once by how often each block was executed in the interpreter on the same input. Kernels
//! without a branch that gains by the estimate are left out. Both leave the same memory and result, or the
//! run ends.

use codegen::machine;
use codegen::target::ia64::emit::{Options, emit};
use ir::Language;
use ir::lower::c_family::{LowerOptions, lower_unit};
use lockstep_server::derive::timing::timing;
use lockstep_server::profile::record::{Recorder, Stream};
use oracle::interp::{self, Launch};
use oracle::random::c::{Argument, Kernel, Scalar, kernel};
use simulate::ia64::{Arg, Limits, Memory, Program, run};
use syntax::c_family::{Dialect, parse_text};

struct Ran {
    cycles: u64,
    mispredicted: u64,
    left: Vec<Vec<u8>>,
}

fn simulated(kernel: &Kernel, name: &str, text: &str, limits: &Limits) -> Ran {
    let document = syntax::ia64::parse(text);
    let (program, problems) = Program::new(&document, text);
    assert!(problems.is_empty(), "{problems:?}");
    let mut memory = Memory::new();
    let mut places = Vec::new();
    for buffer in &kernel.buffers {
        places.push(memory.place(&buffer.bytes).expect("room"));
    }
    let given: Vec<Arg> = kernel
        .parameters
        .iter()
        .map(|parameter| match parameter.argument {
            Argument::Pointer { buffer, offset } => Arg::Integer(places[buffer] + offset),
            Argument::Scalar { bits, ty } => match ty {
                Scalar::Float => Arg::Single(f32::from_bits(bits as u32)),
                Scalar::Double => Arg::Double(f64::from_bits(bits)),
                _ => Arg::Integer(bits),
            },
        })
        .collect();
    let outcome = run(&program, name, &given, &mut memory, limits);
    let outcome = outcome.unwrap_or_else(|fault| panic!("{fault}\n{text}"));
    let mut left: Vec<Vec<u8>> = kernel
        .buffers
        .iter()
        .zip(&places)
        .map(|(buffer, &at)| {
            memory
                .bytes(at, buffer.bytes.len())
                .expect("placed")
                .to_vec()
        })
        .collect();
    left.push(outcome.result.unwrap_or(0).to_le_bytes().to_vec());
    Ran {
        cycles: outcome.cycles.expect("a processor"),
        mispredicted: outcome
            .branches
            .map_or(0, |branches| branches.all.mispredicted),
        left,
    }
}

fn launch(kernel: &Kernel) -> Launch {
    let mut launch = Launch::new(1);
    launch.warp_size = 1;
    launch.limits.steps = 50_000_000;
    for buffer in &kernel.buffers {
        let bytes = buffer.bytes.clone();
        launch.buffers.push(interp::Buffer::global(bytes));
    }
    for parameter in &kernel.parameters {
        launch.parameters.push(match parameter.argument {
            Argument::Pointer { buffer, offset } => interp::Argument::Pointer { buffer, offset },
            Argument::Scalar { bits, .. } => interp::Argument::Bits(bits),
        });
    }
    launch
}

/// The outcome of conversion by one kind of knowledge.
#[derive(Default)]
struct Sum {
    converted: u32,
    branches: usize,
    /// Branches in sides that leave for elsewhere.
    exits: u32,
    slower: u32,
    logarithm: f64,
    worst: f64,
    wrong: [u64; 2],
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let kernels = arguments.next().and_then(|text| text.parse().ok());
    let kernels: u64 = kernels.unwrap_or(300);
    let machine_name = arguments.next().unwrap_or_else(|| "simon2001".to_owned());
    let table = machine::named("itanium2").expect("a table");
    let epic = table.epic().expect("groups");
    let simulator = machine::named(&machine_name).expect("a machine");
    let limits = Limits {
        steps: 100_000_000,
        timing: Some(timing(&simulator).expect("a machine that is simulated")),
        ..Limits::default()
    };
    let mut sums = [Sum::default(), Sum::default()];
    for seed in 0..kernels {
        let kernel = kernel(seed);
        let items = parse_text(&kernel.text, Dialect::C);
        let all = lower_unit(&items, &LowerOptions::new(Language::C));
        let name = kernel.name.as_str();
        let mut all = all.into_iter().map(|(_, lowered)| lowered.module);
        let Some(module) = all.find(|module| module.functions[0].name == name) else {
            continue;
        };
        let mut recorder = Recorder::new(&module.functions[0], Stream::default());
        interp::run_with(&module, &launch(&kernel), &mut recorder, &());
        let blocks = recorder.finish().blocks;
        for (counted, sum) in [false, true].into_iter().zip(&mut sums) {
            let code = |convert| {
                let mut options = Options {
                    convert,
                    ..Options::default()
                };
                if counted {
                    let counts = blocks.values().map(|&count| count as f64);
                    options.weights.insert(name.into(), counts.collect());
                }
                emit(&module, epic, &options).ok()
            };
            let Some((before, after)) = code(false).zip(code(true)) else {
                continue;
            };
            let made = after.functions.iter().flat_map(|of| &of.conversions.made);
            let (count, exits) = made.fold((0, 0), |(count, exits), made| {
                (count + 1, exits + made.exits)
            });
            if count == 0 {
                continue;
            }
            let [before, after] =
                [&before, &after].map(|code| simulated(&kernel, name, &code.text, &limits));
            assert!(before.left == after.left, "kernel {seed} differs");
            let ratio = after.cycles as f64 / before.cycles as f64;
            sum.converted += 1;
            sum.branches += count;
            sum.exits += exits;
            sum.slower += u32::from(ratio > 1.01);
            sum.logarithm += ratio.ln();
            sum.worst = sum.worst.max(ratio);
            sum.wrong[0] += before.mispredicted;
            sum.wrong[1] += after.mispredicted;
        }
    }
    for (known, sum) in ["no profile", "a profile"].iter().zip(&sums) {
        let mean = (sum.logarithm / f64::from(sum.converted.max(1))).exp();
        println!(
            "{known}: {} of {kernels} kernels, {} branches with {} in their sides that leave, on {machine_name}: {mean:.3}x cycles in the geometric mean, the worst {:.2}x, {} slower by over 1 %; mispredictions {} become {}",
            sum.converted,
            sum.branches,
            sum.exits,
            sum.worst,
            sum.slower,
            sum.wrong[0],
            sum.wrong[1]
        );
    }
}
