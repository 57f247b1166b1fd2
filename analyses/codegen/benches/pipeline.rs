//! Loops of sixty instructions: the bounds of the interval alone, and the whole way from the loop as it was selected to
//! bundles; a function of C with such a loop, from IR to text.
//!
//! `cargo bench -p lockstep-codegen --bench pipeline`
#![allow(clippy::disallowed_methods)]

use criterion::{Criterion, criterion_group, criterion_main};
use ir::lower::c_family::{LowerOptions, lower_unit};
use ir::{Language, Module};
use lockstep_codegen::machine;
use lockstep_codegen::pipeline::bounds::bounds;
use lockstep_codegen::pipeline::graph::{Edge, Graph, Operation, Resource};
use lockstep_codegen::pipeline::{Limits, schedule};
use lockstep_codegen::target::ia64::emit::{Options, emit};
use lockstep_codegen::target::ia64::pipeline::Options as Pipelining;
use lockstep_codegen::target::ia64::rows::{Kind, Packing, Port, Rows};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::hint::black_box;
use syntax::c_family::{Dialect, parse_text};

use lockstep_codegen::target::ia64::bundle::block::Type;

/// A random loop: mostly chains forward, a few recurrences.
fn graph(rng: &mut StdRng, count: u32) -> Graph<Packing> {
    let epic = machine::named("itanium2").expect("a table");
    let epic = epic.epic().expect("explicit groups");
    let mut edges = Vec::new();
    for to in 1..count {
        for _ in 0..rng.random_range(1..3) {
            edges.push(Edge {
                from: rng.random_range(to.saturating_sub(12)..to),
                to,
                latency: rng.random_range(1..6),
                distance: 0,
            });
        }
    }
    for _ in 0..6 {
        let from = rng.random_range(10..count);
        edges.push(Edge {
            from,
            to: rng.random_range(from - 10..=from),
            latency: rng.random_range(1..5),
            distance: rng.random_range(1..4),
        });
    }
    let kinds = (0..count)
        .map(|_| match rng.random_range(0..8) {
            0 | 1 => (Type::M, Port::FloatLoad),
            2 => (Type::M, Port::Store),
            3 => (Type::I, Port::Shift),
            4 | 5 => (Type::F, Port::Any),
            _ => (Type::A, Port::Any),
        })
        .map(|(ty, port)| Kind { ty, port })
        .collect();
    Graph {
        operations: vec![Operation { resource: 0 }; count as usize],
        edges,
        resources: vec![Resource {
            name: "slots".into(),
            units: None,
        }],
        packing: Some(Packing {
            rows: Rows::new(epic),
            kinds,
        }),
    }
}

/// A loop of about sixty instructions: ten points of a stencil, sums and a choice.
const TEXT: &str = "
void stencil(int n, const double *restrict a, const double *restrict b, double *restrict c, double *restrict d, double t) {
  for (int i = 0; i < n; i++) {
    double x = a[i] * t + a[i + 1], y = b[i] - b[i + 2] * t;
    double z = a[i + 2] * a[i + 3] + b[i + 1] * b[i + 3];
    double w = x * y - z, v = x + y * z;
    double u = a[i + 4] * w + b[i + 4] * v, s = a[i + 5] - b[i + 5];
    double r = u * s + t, q = w * v - s, p = x * s + y * r;
    c[i] = w > v ? r * q + p : r - q * p;
    d[i] = s < t ? u + v * x : u * w - y;
  }
}
";

fn module() -> Module {
    let items = parse_text(TEXT, Dialect::C);
    let all = lower_unit(&items, &LowerOptions::new(Language::C));
    all.into_iter().next().expect("the function").1.module
}

fn graphs(c: &mut Criterion) {
    let mut rng = StdRng::seed_from_u64(3);
    let graphs: Vec<Graph<Packing>> = (0..20).map(|_| graph(&mut rng, 60)).collect();
    let mut group = c.benchmark_group("20-loops-of-60-instructions");
    group.bench_function("bounds", |b| {
        b.iter(|| {
            graphs
                .iter()
                .map(|graph| bounds(black_box(graph)).map_or(0, |found| found.min_ii()))
                .sum::<u32>()
        });
    });
    group.sample_size(10);
    group.bench_function("schedules", |b| {
        b.iter(|| {
            graphs
                .iter()
                .map(|graph| {
                    schedule(black_box(graph), &Limits::default()).map_or(0, |found| found.ii)
                })
                .sum::<u32>()
        });
    });
    group.finish();
}

fn functions(c: &mut Criterion) {
    let module = module();
    let table = machine::named("itanium2").expect("a table");
    let epic = table.epic().expect("explicit groups");
    let plain = Options::default();
    let pipelined = Options {
        pipeline: Some(Pipelining::default()),
        ..Options::default()
    };
    let made = emit(&module, epic, &pipelined).expect("code");
    let kernel = made
        .lines
        .iter()
        .filter(|line| line.cycle.is_some())
        .count();
    println!(
        "{kernel} instructions in the kernel, {:?}",
        made.functions[0].loops[0].ii
    );
    let mut group = c.benchmark_group("a-loop-of-60-instructions-from-ir-to-bundles");
    group.sample_size(20);
    group.bench_function("unpipelined", |b| {
        b.iter(|| emit(black_box(&module), epic, &plain).map(|made| made.text.len()));
    });
    group.bench_function("pipelined", |b| {
        b.iter(|| emit(black_box(&module), epic, &pipelined).map(|made| made.text.len()));
    });
    group.finish();
}

criterion_group!(benches, graphs, functions);
criterion_main!(benches);
