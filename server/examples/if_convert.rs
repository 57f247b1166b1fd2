//! If-conversion of branches: cycles and mispredictions of random C kernels with branches, on a machine with a predictor.
//!
//! ```text
//! cargo run --release -p lockstep-server --example if_convert [-- KERNELS [MACHINE]]
//! ```
//!
//! Each kernel is emitted for `itanium2` as it is and with `--if-convert`, loops not pipelined, and both are
//! simulated with the caches and the predictor of `simon2001`, or of the machine that is named. Kernels
//! without a branch that gains by the estimate are left out. Both leave the same memory and result, or the
//! run ends.

use codegen::machine;
use codegen::target::ia64::emit::{Options, emit};
use ir::Language;
use ir::lower::c_family::{LowerOptions, lower_unit};
use lockstep_server::derive::timing::timing;
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
    let (mut converted, mut branches, mut slower) = (0u32, 0usize, 0u32);
    let (mut logarithm, mut worst) = (0.0f64, 1.0f64);
    let (mut before_wrong, mut after_wrong) = (0u64, 0u64);
    for seed in 0..kernels {
        let kernel = kernel(seed);
        let items = parse_text(&kernel.text, Dialect::C);
        let all = lower_unit(&items, &LowerOptions::new(Language::C));
        let name = kernel.name.as_str();
        let mut all = all.into_iter().map(|(_, lowered)| lowered.module);
        let Some(module) = all.find(|module| module.functions[0].name == name) else {
            continue;
        };
        let code = |convert| {
            let options = Options {
                convert,
                ..Options::default()
            };
            emit(&module, epic, &options).ok()
        };
        let Some((before, after)) = code(false).zip(code(true)) else {
            continue;
        };
        let made: usize = after
            .functions
            .iter()
            .map(|of| of.conversions.made.len())
            .sum();
        if made == 0 {
            continue;
        }
        let [before, after] =
            [&before, &after].map(|code| simulated(&kernel, name, &code.text, &limits));
        assert!(before.left == after.left, "kernel {seed} differs");
        let ratio = after.cycles as f64 / before.cycles as f64;
        converted += 1;
        branches += made;
        slower += u32::from(ratio > 1.01);
        logarithm += ratio.ln();
        worst = worst.max(ratio);
        before_wrong += before.mispredicted;
        after_wrong += after.mispredicted;
    }
    let mean = (logarithm / f64::from(converted.max(1))).exp();
    println!(
        "{converted} of {kernels} kernels, {branches} branches on {machine_name}: {mean:.3}x cycles in the geometric mean, the worst {worst:.2}x, {slower} slower by over 1 %; mispredictions {before_wrong} become {after_wrong}"
    );
}
