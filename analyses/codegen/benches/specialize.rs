//! Versioning on zero of one large shader: the time of the estimates of all candidates, and of the whole pass
//! beside lowering the same shader to PTX without it.
//!
//! The bars: candidates, filter and estimates of 500 instructions with 300 candidates in at most 20 ms; the whole pass at
//! most 1.57 times the lowering, as the paper's compiler. `cargo bench -p lockstep-codegen --bench specialize` prints
//! both, and the ratio.

#![allow(missing_docs)]
// A bench has a clock.
#![allow(clippy::disallowed_methods)]

use criterion::{Criterion, criterion_group, criterion_main};
use facts::cost::Machine;
use facts::zeros::{Probabilities, candidates, filter};
use ir::lower::c_family::{Environment, LowerOptions, UnitBodies, lower_item};
use ir::{EntityVec, Function, Module};
use lockstep_codegen::machine;
use lockstep_codegen::specialize::accept::Rule;
use lockstep_codegen::specialize::bound::Bounds;
use lockstep_codegen::specialize::greedy::{Settings, specialize};
use lockstep_codegen::specialize::{Context, Zeros, frequency};
use lockstep_codegen::target::ptx::emit;
use std::fmt::Write;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;
use syntax::c_family::ast::ParsedItem;
use syntax::c_family::{Dialect, parse_unit};
use syntax::preprocess::preprocess_text;

/// A shader of layers: each has a mask, and work that the mask can make useless.
fn shader(layers: u32) -> String {
    let mut text = String::from(
        "StructuredBuffer<float> source : register(t0);\nRWStructuredBuffer<float> result : register(u0);\n\
         [numthreads(64, 1, 1)]\nvoid main(uint3 id : SV_DispatchThreadID)\n{\n    uint i = id.x;\n    float sum = 0.0;\n",
    );
    for layer in 0..layers {
        let _ = write!(
            text,
            "    float m{layer} = saturate(source[i + {layer}]);\n    \
             float x{layer} = source[i * 2 + {layer}] * 0.7 + sum;\n    \
             float y{layer} = x{layer} * x{layer} * m{layer};\n    \
             float z{layer} = exp(-abs(x{layer})) * sqrt(1.0 + y{layer} * y{layer});\n    \
             sum += m{layer} * z{layer} * (x{layer} + y{layer});\n"
        );
    }
    text.push_str("    result[i] = sum;\n}\n");
    text
}

struct Read {
    items: Vec<Arc<ParsedItem>>,
    environment: Environment,
    bodies: UnitBodies,
}

fn read(text: &str) -> Read {
    let unit = preprocess_text("main", text, Dialect::Hlsl);
    let items: Vec<Arc<ParsedItem>> = parse_unit(&unit, Dialect::Hlsl)
        .into_iter()
        .map(|(_, _, item)| Arc::new(item))
        .collect();
    Read {
        environment: Environment::new(&items),
        bodies: UnitBodies(items.iter().map(|i| (i.key.clone(), i.clone())).collect()),
        items,
    }
}

fn lower(read: &Read) -> Module {
    let options = LowerOptions::new(ir::Language::Hlsl);
    read.items
        .iter()
        .flat_map(|item| lower_item(&read.environment, &read.bodies, &item.key, &options))
        .map(|lowered| lowered.module)
        .find(|module| {
            module
                .functions
                .first()
                .is_some_and(|f| !f.layout.is_empty())
        })
        .expect("an entry")
}

fn size(function: &Function) -> usize {
    function
        .layout
        .iter()
        .map(|&block| function.blocks[block].insts.len())
        .sum()
}

fn often(function: &Function) -> Probabilities {
    let mut probabilities = Probabilities {
        scalar: EntityVec::with_len(None, function.values.len()),
        ..Probabilities::default()
    };
    for (at, value) in function.values.keys().enumerate() {
        probabilities.scalar[value] = Some(0.4 + (at * 37 % 50) as f64 / 100.0);
    }
    probabilities
}

fn estimates(function: &Function, machine: &Machine, probabilities: &Probabilities) -> usize {
    let weights = frequency::frequency(function);
    let cx = Context::new(function, machine, &weights, Zeros::Absorb);
    filter(function, &candidates(function), probabilities, 0.32)
        .iter()
        .filter(|(it, probability)| {
            let estimate = cx.evaluate(&it.members, *probability);
            estimate.is_ok_and(|estimate| estimate.model.accepted(Rule::Corrected))
        })
        .count()
}

fn best_of(times: u32, mut work: impl FnMut()) -> f64 {
    (0..times)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed().as_secs_f64()
        })
        .fold(f64::INFINITY, f64::min)
}

fn benches(criterion: &mut Criterion) {
    let table = machine::named("sm_80").expect("a table");
    let machine = &machine::charges(&table, 32);
    let text = shader(21);
    let source = read(&text);
    let module = lower(&source);
    let function = &module.functions[0];
    let probabilities = often(function);
    println!(
        "{} instructions, {} candidates",
        size(function),
        candidates(function).len()
    );
    criterion.bench_function("estimates", |b| {
        b.iter(|| black_box(estimates(function, machine, &probabilities)));
    });
    let without = || black_box(emit(&lower(&source)).expect("it has a form in PTX"));
    let with = || {
        let mut module = lower(&source);
        let weights = frequency::frequency(&module.functions[0]);
        let settings = Settings {
            zeros: Zeros::Absorb,
            ..Settings::default()
        };
        let special = specialize(
            &module.functions[0],
            &probabilities,
            &weights,
            machine,
            settings,
        );
        module.functions[0] = special.function;
        black_box(emit(&module).expect("it has a form in PTX"))
    };
    criterion.bench_function("lowered", |b| b.iter(without));
    criterion.bench_function("lowered with versions", |b| b.iter(with));
    let (left, right) = (
        best_of(20, || drop(without())),
        best_of(20, || drop(with())),
    );
    println!(
        "the whole pass takes {:.2} times the lowering",
        right / left
    );
    let weights = frequency::frequency(function);
    let facts = best_of(20, || {
        let cx = Context::new(function, machine, &weights, Zeros::Absorb);
        let mut bounds = Bounds::new(&cx);
        for (each, probability) in filter(function, &candidates(function), &probabilities, 0.32) {
            black_box(bounds.of(&each.members, probability));
        }
    });
    let settings = Settings {
        zeros: Zeros::Absorb,
        ..Settings::default()
    };
    let special = specialize(function, &probabilities, &weights, machine, settings);
    let mut versioned = module.clone();
    versioned.functions[0] = special.function;
    let (short, long) = (
        best_of(20, || drop(black_box(emit(&module)))),
        best_of(20, || drop(black_box(emit(&versioned)))),
    );
    println!(
        "{} versions: facts of the first round {:.2} ms, the longer text {:.2} ms, all {:.2} ms",
        special.made.len(),
        facts * 1e3,
        (long - short) * 1e3,
        (right - left) * 1e3
    );
    let front = || {
        let module = lower(&read(&text));
        black_box(emit(&module).expect("it has a form in PTX"))
    };
    let whole = best_of(20, || drop(front()));
    println!(
        "from the text: {:.2} times ({:.2} ms and {:.2} ms more)",
        (whole + right - left) / whole,
        whole * 1e3,
        (right - left) * 1e3
    );
}

criterion_group!(group, benches);
criterion_main!(group);
