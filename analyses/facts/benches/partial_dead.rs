//! The choice of joins for a statement: 1,000 blocks and 200 paths, with few joins that it comes to and with many.

#![allow(missing_docs)]

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use lockstep_facts::partial_dead::{NodeKind, PathSets, Prices, Problem, choose};
use oracle::random::Random;
use std::hint::black_box;

/// Diamonds in a row. The statement stands in front of the first; one side of some reads the variable, one of others sets it, and
/// behind the last of `reached` diamonds all ways do.
fn diamonds(count: usize, reached: usize, paths: usize) -> Problem {
    let nodes = 3 * count + 1;
    let mut successors = vec![Vec::new(); nodes];
    let mut kinds = vec![NodeKind::default(); nodes];
    for at in 0..count {
        let head = 3 * at;
        successors[head] = vec![head + 1, head + 2];
        successors[head + 1] = vec![head + 3];
        successors[head + 2] = vec![head + 3];
        kinds[head + 1].reads = at % 7 == 3;
        kinds[head + 2].defines = at % 7 == 5;
        if at == reached {
            kinds[head + 1].defines = true;
            kinds[head + 2].defines = true;
        }
    }
    kinds[0].is_statement = true;
    let mut random = Random::new(7);
    let way = |random: &mut Random| {
        let mut nodes = vec![0];
        for at in 0..count {
            nodes.push(3 * at + 1 + random.below(2) as usize);
            nodes.push(3 * at + 3);
        }
        nodes
    };
    let paths = (0..paths).map(|at| (way(&mut random), 1 + at as u64 % 13));
    let paths: Vec<_> = paths.collect();
    Problem::new(0, kinds, successors, false, paths).expect("a graph")
}

fn joins(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("partial dead code");
    let prices = Prices {
        statement: 6.0,
        suppressed: 1.0,
        predicate: 1.0,
    };
    for reached in [12, 40, 333] {
        let problem = diamonds(333, reached, 200);
        group.bench_function(BenchmarkId::new("1,000 blocks, 200 paths", reached), |b| {
            b.iter(|| {
                let sets = PathSets::new(&problem);
                black_box(choose(&problem, &sets, prices))
            });
        });
    }
    group.finish();
}

criterion_group!(benches, joins);
criterion_main!(benches);
