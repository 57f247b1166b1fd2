//! Time of construction, control-flow analysis, verification and the text form on functions that are extreme in one
//! direction. Throughput counts values: it must not fall from 1,000 to 100,000 of them.

use lockstep_ir as ir;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use lockstep_ir::cfg::ControlFlow;
use lockstep_ir::dominators::DominatorTree;
use oracle::random::{Extreme, Shape, extreme, program};
use std::hint::black_box;
use std::time::Duration;

const SIZES: [u32; 3] = [1_000, 10_000, 100_000];

fn construction(criterion: &mut Criterion) {
    for kind in Extreme::ALL {
        let mut group = criterion.benchmark_group(format!("build/{kind:?}"));
        group
            .sample_size(10)
            .measurement_time(Duration::from_secs(1));
        for size in SIZES {
            group.throughput(Throughput::Elements(size.into()));
            group.bench_with_input(BenchmarkId::from_parameter(size), &size, |b, &size| {
                b.iter(|| black_box(extreme(kind, size)));
            });
        }
        group.finish();
    }
}

fn analysis(criterion: &mut Criterion) {
    for kind in Extreme::ALL {
        let mut group = criterion.benchmark_group(format!("analyse/{kind:?}"));
        group
            .sample_size(10)
            .measurement_time(Duration::from_secs(1));
        for size in SIZES {
            let function = extreme(kind, size);
            group.throughput(Throughput::Elements(size.into()));
            group.bench_with_input(BenchmarkId::new("trees", size), &function, |b, f| {
                b.iter(|| {
                    let flow = ControlFlow::new(f);
                    black_box(DominatorTree::dominators(&flow));
                    black_box(DominatorTree::post_dominators(&flow));
                });
            });
            group.bench_with_input(BenchmarkId::new("verify", size), &function, |b, f| {
                b.iter(|| black_box(ir::verify(f).is_ok()));
            });
        }
        group.finish();
    }
}

fn text(criterion: &mut Criterion) {
    let module = program(
        1,
        &Shape {
            blocks: 500,
            ..Shape::default()
        },
    )
    .module;
    let printed = ir::text::print_module(&module);
    let mut group = criterion.benchmark_group("text");
    group.throughput(Throughput::Bytes(printed.len() as u64));
    group.bench_function("print", |b| {
        b.iter(|| black_box(ir::text::print_module(&module)))
    });
    group.bench_function("parse", |b| {
        b.iter(|| black_box(ir::text::parse_module(&printed)))
    });
    group.finish();
}

criterion_group!(benches, construction, analysis, text);
criterion_main!(benches);
