//! Versions on zero, counted: kernels and shaders of `fixtures/zeros`, versioned at the candidate that the greedy loop
//! chooses with a profile of some inputs, run in the interpreter on others. Cycles are those of the machine's table for
//! every instruction that a warp executes.
//!
//! Inputs are made here: a gate that is not positive in whole warps with a probability, and in single lanes elsewhere;
//! everything else is noise. The test's probability is a few percent off the profile's, as it is in life.
//! `--nocapture` prints the figures.

use codegen::machine;
use codegen::specialize::accept::Rule;
use codegen::specialize::greedy::{Settings, specialize};
use codegen::specialize::{Context, Zeros, live};
use facts::cost::{Machine, Work};
use facts::zeros::Probabilities;
use ir::lower::c_family::{Environment, LowerOptions, UnitBodies, lower_item};
use ir::{Block, EntityVec, Function, FunctionKind, Module, Op, SymbolKind, Terminator};
use lockstep_server::profile::record::{Recorder, Stream};
use oracle::interp::{self, Buffer, Instance, Launch, Observer};
use oracle::random::Random;
use std::path::Path;
use std::sync::Arc;
use syntax::c_family::ast::ParsedItem;
use syntax::c_family::{Dialect, parse_unit};
use syntax::preprocess::preprocess_text;

const WARPS: u64 = 512;
const LANES: u64 = 32;

/// The file, the share of warps without a positive gate in the profile's inputs, and in the test's.
const KERNELS: &[(&str, f64, f64)] = &[
    ("lighting.hlsl", 0.50, 0.53),
    ("shadow_mask.hlsl", 0.60, 0.57),
    ("fog.hlsl", 0.65, 0.62),
    ("particles.hlsl", 0.55, 0.58),
    ("terrain_blend.hlsl", 0.75, 0.72),
    ("clear_coat.hlsl", 0.80, 0.83),
    ("ambient_occlusion.hlsl", 0.45, 0.48),
    ("alpha_blend.cu", 0.60, 0.63),
    ("sparse_matrix.cu", 0.85, 0.82),
    ("relu_network.cu", 0.50, 0.48),
    ("attention_mask.cu", 0.50, 0.52),
    ("volumetric_density.cu", 0.70, 0.73),
    ("rain_wetness.hlsl", 0.60, 0.57),
];

fn lowered(name: &str) -> Module {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../fixtures/zeros")
        .join(name);
    let text = std::fs::read_to_string(path).expect("the fixture is there");
    let (dialect, language) = if name.ends_with(".hlsl") {
        (Dialect::Hlsl, ir::Language::Hlsl)
    } else {
        (Dialect::Cuda, ir::Language::Cuda)
    };
    let unit = preprocess_text("main", &text, dialect);
    let items: Vec<Arc<ParsedItem>> = parse_unit(&unit, dialect)
        .into_iter()
        .map(|(_, _, item)| Arc::new(item))
        .collect();
    let environment = Environment::new(&items);
    let bodies = UnitBodies(items.iter().map(|i| (i.key.clone(), i.clone())).collect());
    for item in &items {
        let options = LowerOptions::new(language);
        for each in lower_item(&environment, &bodies, &item.key, &options) {
            assert_eq!(each.problems, vec![], "{name}");
            let runs = each.module.functions.first().is_some_and(|function| {
                function.kind != FunctionKind::Device && !function.layout.is_empty()
            });
            if runs {
                return each.module;
            }
        }
    }
    panic!("{name}: no entry")
}

/// The gate: not positive in whole warps with the probability, in every fifth lane elsewhere.
fn gate(seed: u64, share: f64, count: u64) -> Buffer {
    Buffer::of_f32((0..count).map(|at| {
        let mut of_warp = Random::new(seed ^ (at / LANES) << 20);
        let off = f64::from(of_warp.below(1 << 20)) < share * f64::from(1 << 20);
        let mut of_lane = Random::new(seed ^ at ^ 0x5eed);
        let value = 0.05 + of_lane.below(1000) as f32 / 1100.0;
        if off || of_lane.percent(20) {
            -value
        } else {
            value
        }
    }))
}

fn noise(seed: u64, count: u64) -> Buffer {
    Buffer::of_f32(
        (0..count).map(|at| Random::new(seed ^ at << 3).below(4000) as f32 / 2000.0 - 0.9),
    )
}

fn launch(module: &Module, seed: u64, share: f64) -> Launch {
    let function = &module.functions[0];
    let mut launch = Launch::for_function(function, 64, seed);
    launch.block = [64, 1, 1];
    launch.grid = [(WARPS * LANES / 64) as u32, 1, 1];
    launch.limits.steps = 1 << 30;
    let count = WARPS * LANES + 1024;
    // A kernel's pointers: the result, the gate, the others.
    for (at, buffer) in launch.buffers.iter_mut().enumerate() {
        *buffer = match at {
            1 => gate(seed, share, count),
            at => noise(seed ^ (at as u64) << 40, count),
        };
    }
    for (at, symbol) in function.symbols.values().enumerate() {
        if symbol.kind == SymbolKind::Buffer {
            launch
                .bindings
                .push((symbol.name.clone(), launch.buffers.len()));
            launch.buffers.push(if symbol.name == "gate" {
                gate(seed, share, count)
            } else {
                noise(seed ^ (at as u64) << 40, count)
            });
        }
    }
    launch
}

/// Executions of blocks by warps.
struct Blocks(EntityVec<Block, u64>);

impl Observer for Blocks {
    fn block(&mut self, instance: &Instance<'_>) {
        if instance.function == 0 {
            self.0[instance.block] += 1;
        }
    }
}

fn executions(module: &Module, launch: &Launch) -> EntityVec<Block, u64> {
    let mut blocks = Blocks(EntityVec::with_len(0, module.functions[0].blocks.len()));
    let outcome = interp::run_with(module, launch, &mut blocks, &());
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    blocks.0
}

/// Cycles of all warps, by the table: instructions that something needs, and branches.
fn cycles(function: &Function, executions: &EntityVec<Block, u64>, machine: &Machine) -> f64 {
    let needed = live::needed(function);
    let mut sum = 0.0;
    for &block in &function.layout {
        let data = &function.blocks[block];
        let mut own = 0.0;
        for &inst in &data.insts {
            let data = &function.insts[inst];
            if data.op.has_effect() || data.results.iter().any(|result| needed.contains(result)) {
                own += machine.cycles(function, data);
            }
        }
        if matches!(data.terminator, Terminator::Branch { .. }) {
            own += machine.charge(Work::Branch).cycles;
        }
        sum += own * executions[block] as f64;
    }
    sum
}

struct Row {
    name: &'static str,
    predicted: f64,
    counted: f64,
    whole: f64,
}

impl Row {
    fn error(&self) -> f64 {
        (self.predicted - self.counted).abs() / self.counted.abs()
    }
}

fn measure(&(name, profiled, tested): &(&'static str, f64, f64), machine: &Machine) -> Row {
    let module = lowered(name);
    let function = &module.functions[0];
    let first = launch(&module, 11, profiled);
    let mut recorder = Recorder::new(function, Stream::Every);
    let outcome = interp::run_with(&module, &first, &mut recorder, &());
    assert!(outcome.error.is_none(), "{name}: {:?}", outcome.error);
    let recorded = recorder.finish();
    let mut probabilities = Probabilities {
        scalar: EntityVec::with_len(None, function.values.len()),
        ..Probabilities::default()
    };
    for (value, counts) in &recorded.values {
        if counts.executions > 0 {
            probabilities.scalar[*value] = Some(counts.zeros as f64 / counts.executions as f64);
        }
    }
    for joint in recorded.joint.iter().filter(|joint| joint.executions > 0) {
        let share = joint.zeros as f64 / joint.executions as f64;
        probabilities.joint.insert(joint.members.clone(), share);
    }
    let mut weights = EntityVec::with_len(0.0, function.blocks.len());
    for (block, &count) in recorded.blocks.iter() {
        weights[block] = count as f64 / WARPS as f64;
    }
    let settings = Settings {
        zeros: Zeros::Absorb,
        rule: Rule::Corrected,
        limit: 1,
        ..Settings::default()
    };
    let special = specialize(function, &probabilities, &weights, machine, settings);
    let made = special
        .made
        .first()
        .unwrap_or_else(|| panic!("{name}: no candidate is accepted"));
    // The region in the original, on the test's inputs.
    let second = launch(&module, 977, tested);
    let before = executions(&module, &second);
    let cx = Context::new(function, machine, &weights, Zeros::Absorb);
    let estimate = cx
        .evaluate(&made.members, made.model.probability)
        .expect("made before");
    let needed = live::needed(function);
    let mut region = 0.0;
    for &block in &estimate.refined.blocks {
        for &inst in estimate.refined.insts(function, block) {
            let data = &function.insts[inst];
            let counts = !matches!(data.op, Op::Const(_))
                && (data.op.has_effect()
                    || data.results.iter().any(|result| needed.contains(result)));
            if counts {
                region += machine.cycles(function, data) * before[block] as f64;
            }
        }
    }
    let mut versioned = module.clone();
    versioned.functions[0] = special.function;
    if let Err(errors) = ir::verify_module(&versioned) {
        panic!("{name}: {}", errors[0]);
    }
    let after = executions(&versioned, &second);
    let (old, new) = (
        cycles(function, &before, machine),
        cycles(&versioned.functions[0], &after, machine),
    );
    Row {
        name,
        predicted: made.model.saved() / made.model.region,
        counted: (old - new) / region,
        whole: (old - new) / old,
    }
}

#[test]
fn versions_are_faster_than_predicted_or_nearly() {
    let table = machine::named("sm_80").expect("a table");
    let machine = &machine::charges(&table, LANES as u32);
    let rows: Vec<Row> = KERNELS
        .iter()
        .map(|kernel| measure(kernel, machine))
        .collect();
    println!(
        "{:24} {:>10} {:>10} {:>8} {:>8}",
        "kernel", "predicted", "counted", "error", "whole"
    );
    for row in &rows {
        println!(
            "{:24} {:>9.1}% {:>9.1}% {:>7.1}% {:>7.1}%",
            row.name,
            row.predicted * 100.0,
            row.counted * 100.0,
            row.error() * 100.0,
            row.whole * 100.0
        );
    }
    // Of the times that remain.
    let logs: f64 = rows.iter().map(|row| (1.0 - row.counted).ln()).sum();
    let mean = 1.0 - (logs / rows.len() as f64).exp();
    println!(
        "geometric mean of what is saved of the regions: {:.1} %",
        mean * 100.0
    );
    assert!(rows.len() >= 12);
    assert!(mean >= 0.164, "{mean}");
    for row in &rows {
        assert!(row.whole >= -0.02, "{} is slower", row.name);
        assert!(row.error() <= 0.20, "{}: {:.2}", row.name, row.error());
    }
}
