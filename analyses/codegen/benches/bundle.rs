//! IA-64 assembly: a text of a thousand lines as instructions, groups and violations; its blocks re-bundled; and the
//! block scheduler's ways beside the list schedule that it starts from, on random blocks and in the time that it takes to
//! emit whole functions.
//!
//! `cargo bench -p lockstep-codegen --bench bundle`
#![allow(clippy::disallowed_methods)]

#[path = "../tests/support/judge.rs"]
#[allow(dead_code)]
mod judge;
#[path = "../tests/support/loops.rs"]
#[allow(dead_code)]
mod loops;

use criterion::{Criterion, criterion_group, criterion_main};
use lockstep_codegen::machine;
use lockstep_codegen::target::ia64::bundle::block::{
    Block, Choice, Options, Type, Wait, Width, list, pack,
};
use lockstep_codegen::target::ia64::emit::{self, emit};
use lockstep_codegen::target::ia64::listing::listing;
use lockstep_codegen::target::ia64::rebundle::{self, rebundle};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use simulate::ia64::SimulatedClock;
use std::hint::black_box;

/// Fixtures, one behind the other with names of their own, up to so many lines.
fn text(lines: usize) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/ia64");
    let mut names: Vec<_> = std::fs::read_dir(folder)
        .expect("fixtures")
        .flatten()
        .map(|entry| entry.path())
        .collect();
    names.sort();
    let texts: Vec<String> = names
        .iter()
        .map(|path| std::fs::read_to_string(path).expect("text"))
        .collect();
    let mut out = String::new();
    let mut copy = 0;
    while out.lines().count() < lines {
        let next = texts[copy % texts.len()].replace(".L", &format!(".L{copy}_"));
        out.push_str(&next);
        copy += 1;
    }
    out
}

fn block(rng: &mut StdRng, count: u32) -> Block {
    let kinds = [
        Type::A,
        Type::A,
        Type::A,
        Type::I,
        Type::M,
        Type::M,
        Type::F,
    ];
    let types = (0..count)
        .map(|_| kinds[rng.random_range(0..kinds.len())])
        .collect();
    let mut edges = Vec::new();
    for to in 1..count {
        for _ in 0..rng.random_range(0..3) {
            let from = rng.random_range(to.saturating_sub(8)..to);
            edges.push(Wait {
                from,
                to,
                cycles: rng.random_range(1..4),
            });
        }
    }
    Block { types, edges }
}

fn assembly(c: &mut Criterion) {
    let text = text(1000);
    let table = machine::named("itanium2").expect("a table");
    let epic = table.epic().expect("explicit groups");
    let mut group = c.benchmark_group("assembly-of-1000-lines");
    group.bench_function("facts", |b| {
        b.iter(|| {
            let document = syntax::ia64::parse(black_box(&text));
            let listing = listing(&document, &text);
            (listing.violations(), document)
        });
    });
    let document = syntax::ia64::parse(&text);
    let listed = listing(&document, &text);
    let clock = SimulatedClock::of_units(epic.width().m);
    group.bench_function("re-bundled", |b| {
        b.iter(|| {
            rebundle(
                &document,
                &text,
                &listed,
                epic,
                &rebundle::Options::default(),
                None,
                clock.as_ref(),
            )
        });
    });
    group.finish();
}

fn scheduling(c: &mut Criterion) {
    let mut rng = StdRng::seed_from_u64(7);
    let blocks: Vec<Block> = (0..100).map(|_| block(&mut rng, 30)).collect();
    let mut group = c.benchmark_group("100-blocks-of-30");
    group.bench_function("list", |b| {
        b.iter(|| {
            blocks
                .iter()
                .map(|block| list(block, Width::ITANIUM).nops)
                .sum::<u32>()
        });
    });
    for (name, choice) in [
        ("eager-lazy", Choice::EagerLazy),
        ("eager", Choice::Eager),
        ("all", Choice::All),
    ] {
        let options = Options {
            choice,
            width: Width::ITANIUM,
            decisions: 4000,
            ..Options::default()
        };
        group.bench_function(name, |b| {
            b.iter(|| {
                blocks
                    .iter()
                    .map(|block| pack(block, &options).nops)
                    .sum::<u32>()
            });
        });
    }
    group.finish();
}

/// Measures the time that the search adds to the compilation of whole functions.
fn functions(c: &mut Criterion) {
    let table = machine::named("itanium2").expect("a table");
    let epic = table.epic().expect("explicit groups");
    let all = loops::loops();
    let mut group = c.benchmark_group(format!("emit-{}-functions", all.len()));
    group.sample_size(10);
    for (name, decisions) in [("list", 0), ("eager-lazy", 500)] {
        let options = emit::Options {
            decisions,
            ..emit::Options::default()
        };
        group.bench_function(name, |b| {
            b.iter(|| {
                all.iter()
                    .map(|it| emit(&it.module, epic, &options).expect("code").text.len())
                    .sum::<usize>()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, assembly, scheduling, functions);
criterion_main!(benches);
