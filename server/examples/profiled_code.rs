//! IA-64 code that a profile transforms: cycles of random C kernels on their training input and on another one.
//!
//! ```text
//! cargo run --release -p lockstep-server --example profiled_code [-- KERNELS [MACHINE]]
//! ```
//!
//! Each kernel is profiled by the interpreter, and emitted with and without `--profile`, in both cases with
//! `--pipeline --if-convert` and with the counts of the profile as weights of its blocks; both are simulated with the caches
//! and the predictor of `simon2001`, or of the machine that is named. The test input has the same elements in another order.
//! Kernels in which nothing pays by the estimate are left out. Both leave the same memory and result, or the run ends.

use codegen::machine;
use codegen::target::ia64::emit::{Options, emit};
use codegen::target::ia64::pipeline;
use ir::lower::c_family::{LowerOptions, lower_unit};
use ir::{Language, Module};
use lockstep_server::derive::guided::{Counted, decided};
use lockstep_server::derive::timing::timing;
use lockstep_server::profile::record::{Recorder, Stream};
use oracle::interp::{self, Launch};
use oracle::random::Random;
use oracle::random::c::{Argument, Kernel, Scalar, kernel};
use simulate::ia64::{Arg, Limits, Memory, Program, run};
use syntax::c_family::{Dialect, parse_text};

struct Ran {
    cycles: u64,
    left: Vec<Vec<u8>>,
}

fn simulated(kernel: &Kernel, text: &str, limits: &Limits) -> Option<Ran> {
    let document = syntax::ia64::parse(text);
    let (program, problems) = Program::new(&document, text);
    assert!(problems.is_empty(), "{problems:?}");
    let mut memory = Memory::new();
    let mut places = Vec::new();
    for buffer in &kernel.buffers {
        places.push(memory.place(&buffer.bytes)?);
    }
    let arguments: Vec<Arg> = kernel
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
    let outcome = run(&program, &kernel.name, &arguments, &mut memory, limits).ok()?;
    let buffers = kernel.buffers.iter().zip(&places);
    let mut left: Vec<Vec<u8>> = buffers
        .map(|(buffer, &at)| {
            let bytes = memory.bytes(at, buffer.bytes.len());
            bytes.map(<[u8]>::to_vec).unwrap_or_default()
        })
        .collect();
    left.push(outcome.result.unwrap_or(0).to_le_bytes().to_vec());
    Some(Ran {
        cycles: outcome.cycles?,
        left,
    })
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

/// The kernel with the elements of its buffers in another order.
fn shuffled(kernel: &Kernel) -> Kernel {
    let mut out = kernel.clone();
    let mut random = Random::new(kernel.seed ^ 0x7e57);
    for buffer in &mut out.buffers {
        let size = buffer.element.bytes();
        let count = buffer.bytes.len() / size;
        for at in (1..count).rev() {
            let other = random.below(at as u32 + 1) as usize;
            for byte in 0..size {
                buffer.bytes.swap(at * size + byte, other * size + byte);
            }
        }
    }
    out
}

#[derive(Default)]
struct Sum {
    logarithm: f64,
    slower: u32,
    worst: f64,
}

fn module_of(kernel: &Kernel) -> Option<Module> {
    let items = parse_text(&kernel.text, Dialect::C);
    let all = lower_unit(&items, &LowerOptions::new(Language::C));
    let mut all = all.into_iter().map(|(_, lowered)| lowered.module);
    all.find(|module| module.functions[0].name == *kernel.name)
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
    let (mut changed, mut sunk, mut speculated) = (0u32, 0usize, 0usize);
    let mut sums = [Sum::default(), Sum::default()];
    for seed in 0..kernels {
        let kernel = kernel(seed);
        let Some(module) = module_of(&kernel) else {
            continue;
        };
        let function = &module.functions[0];
        let mut recorder = Recorder::new(function, Stream::default());
        let outcome = interp::run_with(&module, &launch(&kernel), &mut recorder, &());
        if outcome.error.is_some() {
            continue;
        }
        let recorded = recorder.finish();
        let Some((numbers, profile)) = recorded.paths else {
            continue;
        };
        let mut options = Options {
            convert: true,
            pipeline: Some(pipeline::Options::default()),
            ..Options::default()
        };
        let counted = Counted {
            numbers: &numbers,
            profile: &profile,
            edges_alone: false,
        };
        let Some(done) = decided(&module, counted, None, epic, &options) else {
            continue;
        };
        if done.sunk.is_empty() && done.speculated.is_empty() {
            continue;
        }
        let counts = recorded.blocks.values().map(|&count| count as f64);
        options
            .weights
            .insert(function.name.clone(), counts.collect());
        let Ok(before) = emit(&module, epic, &options) else {
            continue;
        };
        let mut new = module.clone();
        new.functions[0] = done.function;
        let counts = done.executions.iter().map(|&count| count as f64);
        options
            .weights
            .insert(function.name.clone(), counts.collect());
        let Ok(after) = emit(&new, epic, &options) else {
            continue;
        };
        let mut ran = false;
        for (input, sum) in [kernel.clone(), shuffled(&kernel)].iter().zip(&mut sums) {
            let both = [&before, &after].map(|code| simulated(input, &code.text, &limits));
            let [Some(old), Some(new)] = both else {
                continue;
            };
            assert!(
                old.left == new.left,
                "kernel {seed} differs\n{}",
                kernel.text
            );
            let ratio = new.cycles as f64 / old.cycles as f64;
            sum.logarithm += ratio.ln();
            sum.worst = sum.worst.max(ratio);
            if ratio > 1.01 {
                sum.slower += 1;
                println!(
                    "kernel {seed}: {} cycles become {}, {:.1} % fewer by the estimate",
                    old.cycles,
                    new.cycles,
                    100.0 * (1.0 - done.after / done.before)
                );
            }
            ran = true;
        }
        changed += u32::from(ran);
        sunk += done.sunk.len();
        speculated += done.speculated.len();
    }
    for (sum, input) in sums.iter().zip(["training", "test"]) {
        let mean = (sum.logarithm / f64::from(changed.max(1))).exp();
        println!(
            "{changed} of {kernels} kernels, {speculated} expressions ahead and {sunk} values where they are read, {input} input on {machine_name}: {mean:.3}x cycles in the geometric mean, the worst {:.2}x, {} slower by over 1 %",
            sum.worst, sum.slower
        );
    }
}
