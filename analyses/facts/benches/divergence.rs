//! Values a second of the full analysis: extreme control flow and random programs at three sizes.

#![allow(missing_docs)]

use criterion::measurement::WallTime;
use criterion::{
    BenchmarkGroup, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main,
};
use ir::Module;
use lockstep_facts::{Options, analyze};
use oracle::random::{Extreme, Shape, extreme, program};
use std::hint::black_box;

/// Measures the time that the machine's memory costs any pass over a function of this size: the verifier,
/// which reads every instruction and operand once and keeps a bit or two a value.
fn yardstick(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, values: u32, module: &Module) {
    let count = module.functions[0].values.len() as u64;
    group.throughput(Throughput::Elements(count));
    group.bench_function(BenchmarkId::new(format!("{name}/verify"), values), |b| {
        b.iter(|| black_box(ir::verify::verify_module(module)));
    });
    group.bench_function(
        BenchmarkId::new(format!("{name}/dominators"), values),
        |b| {
            b.iter(|| {
                let flow = ir::cfg::ControlFlow::new(&module.functions[0]);
                black_box(ir::dominators::DominatorTree::dominators(&flow))
            });
        },
    );
}

fn divergence(c: &mut Criterion) {
    let mut group = c.benchmark_group("divergence");
    group.sample_size(10);
    for values in [1_000u32, 10_000, 100_000] {
        for kind in Extreme::ALL {
            let function = extreme(kind, values);
            let count = function.values.len() as u64;
            let module = Module {
                functions: vec![function],
            };
            yardstick(&mut group, &format!("{kind:?}"), values, &module);
            group.throughput(Throughput::Elements(count));
            group.bench_function(BenchmarkId::new(format!("{kind:?}"), values), |b| {
                b.iter(|| black_box(analyze(0, &module, &Options::default())));
            });
        }
        // A block of them has 24 values on average.
        let shape = Shape {
            blocks: values / 24,
            functions: 0,
            ..Shape::default()
        };
        let module = program(1, &shape).module;
        yardstick(&mut group, "Random", values, &module);
        group.bench_function(BenchmarkId::new("Random", values), |b| {
            b.iter(|| black_box(analyze(0, &module, &Options::default())));
        });
    }
    group.finish();
}

criterion_group!(benches, divergence);
criterion_main!(benches);
