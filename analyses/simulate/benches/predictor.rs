//! Branches a second of the designs, on a trace of loops, of biased branches and of branches that depend on each other.

#![allow(missing_docs)]

use ::simulate::predictor::{Branch, Define, Design, Event, Write, simulate};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::hint::black_box;

/// Branches of a trace.
const BRANCHES: usize = 1_000_000;

/// A tenth of the branches has a guard that a compare defines in front of it, where `guards` is asked for.
fn trace(guards: bool) -> Vec<Event> {
    let mut rng = StdRng::seed_from_u64(1);
    let mut events = Vec::with_capacity(2 * BRANCHES);
    let mut before = false;
    for step in 0..BRANCHES {
        let pc = (step % 700) as u64 + 1000 * (rng.random_range(0..8u64));
        let wanted = match pc % 4 {
            0 => !step.is_multiple_of(17),
            1 => rng.random_bool(0.95),
            2 => before,
            _ => rng.random_bool(0.3),
        };
        let guard = u16::from(guards && pc.is_multiple_of(10));
        let holds = guard == 0 || rng.random();
        if guard != 0 {
            events.push(Event::Define(Define {
                gap: 1,
                delay: 2,
                first: Write {
                    predicate: 1,
                    value: holds,
                },
                second: None,
                compare: true,
            }));
        }
        let taken = wanted && holds;
        events.push(Event::Branch(Branch {
            gap: 3,
            pc,
            taken,
            guard,
        }));
        before = taken;
    }
    events
}

fn designs(c: &mut Criterion) {
    let mut group = c.benchmark_group("predictor");
    group.sample_size(10);
    group.throughput(Throughput::Elements(BRANCHES as u64));
    for (name, guards) in [
        ("meta", false),
        ("meta", true),
        ("meta+pep+squash+pgu-repaired", true),
        ("gshare", false),
        ("tage", false),
    ] {
        let events = trace(guards);
        let Ok(design) = Design::named(name) else {
            panic!("no design {name}");
        };
        let id = BenchmarkId::new(name, if guards { "guards" } else { "plain" });
        group.bench_function(id, |b| {
            b.iter(|| black_box(simulate(&design, &events)));
        });
    }
    group.finish();
}

criterion_group!(benches, designs);
criterion_main!(benches);
