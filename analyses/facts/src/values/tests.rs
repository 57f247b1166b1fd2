//! The test vectors of the notes on value profiling, section 8, with their numbers.

use super::compare::{compare, recent_against_invariant};
use super::convergent::{ConvergentProfiler, Criterion, Schedule};
use super::profiler::{Profiler, ValueProfile};
use super::tnv::{CAPACITY, Clearing, Entry, TnvTable};
use std::collections::BTreeMap;

const X: u64 = 1000;
const Y: u64 = 1001;

fn profile(stream: impl IntoIterator<Item = u64>) -> ValueProfile {
    let mut profiler = Profiler::default();
    for value in stream {
        profiler.collect(value);
    }
    profiler.finish()
}

fn near(measured: f64, printed: f64) {
    assert!(
        (measured - printed).abs() < 0.0005,
        "{measured} is not {printed}"
    );
}

fn alternating(times: usize) -> impl Iterator<Item = u64> {
    (0..2 * times).map(|at| if at % 2 == 0 { X } else { Y })
}

fn pairs(table: &TnvTable) -> Vec<(u64, u64)> {
    table
        .entries()
        .iter()
        .map(|entry| (entry.value, entry.count))
        .collect()
}

#[test]
fn alternation_is_half_invariant_and_recent_at_two() {
    let profile = profile(alternating(500));
    near(profile.most_recent(1), 0.0);
    near(profile.most_recent(2), 0.998);
    near(profile.invariance(1), 0.5);
    near(profile.invariance(2), 1.0);
    near(profile.invariance(5), 1.0);
}

#[test]
fn a_thousand_values_in_runs() {
    let mut profiler = Profiler::default();
    for value in 0..1000 {
        for _ in 0..100 {
            profiler.collect(value);
        }
    }
    profiler.flush();
    assert_eq!(profiler.table().entries().len(), CAPACITY);
    assert!(
        profiler
            .table()
            .entries()
            .iter()
            .all(|entry| entry.count == 100)
    );
    assert_eq!(profiler.table().clears(), 47);
    let profile = profiler.finish();
    near(profile.most_recent(1), 0.99);
    near(profile.invariance(1), 0.001);
    near(profile.invariance(2), 0.002);
    near(profile.invariance(5), 0.005);
}

#[test]
fn the_last_run_counts() {
    let mut profiler = Profiler::default();
    for value in [X, X, X, Y] {
        profiler.collect(value);
    }
    assert_eq!(pairs(profiler.table()), [(X, 3)]);
    let profile = profiler.finish();
    near(profile.most_recent(1), 0.5);
    near(profile.invariance(1), 0.75);
    near(profile.invariance(2), 1.0);
    assert_eq!(super::profiler::Profiler::default().finish().executions, 0);
}

fn thrash(clearing: Clearing) -> TnvTable {
    let mut table = TnvTable::new(4, clearing);
    for (value, count) in [(0, 10), (1, 8), (2, 6), (3, 4)] {
        table.insert(value, count);
    }
    for value in alternating(50) {
        table.insert(value, 1);
    }
    table
}

#[test]
fn clearing_ends_the_thrashing() {
    let table = thrash(Clearing::Never);
    assert_eq!(pairs(&table), [(0, 10), (1, 8), (2, 6), (Y, 1)]);
    let table = thrash(Clearing::AtLeast(40));
    assert_eq!(pairs(&table)[..2], [(Y, 44), (X, 43)]);
    assert_eq!((table.clears(), table.interval()), (3, 82));
    let table = thrash(Clearing::AtLeast(60));
    assert_eq!(pairs(&table)[..2], [(Y, 34), (X, 33)]);
    assert_eq!(table.clears(), 2);
}

#[test]
fn default_parameters() {
    let stream = || {
        (0..10u64)
            .flat_map(|value| std::iter::repeat_n(value, 200 - 10 * value as usize))
            .chain(alternating(3000))
    };
    let run = |clearing| {
        let mut profiler = Profiler::new(CAPACITY, clearing);
        for value in stream() {
            profiler.collect(value);
        }
        profiler.flush();
        let clears = profiler.table().clears();
        (profiler.finish(), clears)
    };
    let (never, _) = run(Clearing::Never);
    assert_eq!(
        never.top[0],
        Entry {
            value: 0,
            count: 200
        }
    );
    assert_eq!(
        never.top[8],
        Entry {
            value: 8,
            count: 120
        }
    );
    assert_eq!(never.top[9], Entry { value: Y, count: 1 });
    assert!((never.invariance(1) - 0.026).abs() < 0.001);
    let (cleared, clears) = run(Clearing::AtLeast(2000));
    let top: Vec<(u64, u64)> = cleared
        .top
        .iter()
        .take(5)
        .map(|entry| (entry.value, entry.count))
        .collect();
    assert_eq!(top, [(Y, 2775), (X, 2774), (0, 200), (1, 190), (2, 180)]);
    assert_eq!(clears, 3);
    near(cleared.invariance(2), 0.735);
}

#[test]
fn step_by_step() {
    let [a, b, c, d, e, f] = [1, 2, 3, 4, 5, 6];
    let mut table = TnvTable::new(4, Clearing::AtLeast(6));
    type Step<'a> = (u64, u64, &'a [(u64, u64)], u64);
    let steps: [Step<'_>; 7] = [
        (a, 3, &[(a, 3)], 3),
        (b, 2, &[(a, 3), (b, 2)], 5),
        (c, 1, &[(a, 3), (b, 2), (c, 1)], 6),
        (d, 1, &[(a, 3), (b, 2)], 0),
        (e, 1, &[(a, 3), (b, 2), (e, 1)], 1),
        (f, 1, &[(a, 3), (b, 2), (e, 1), (f, 1)], 2),
        (e, 1, &[(a, 3), (b, 2), (e, 2), (f, 1)], 3),
    ];
    for (value, count, after, since) in steps {
        table.insert(value, count);
        assert_eq!(pairs(&table), after);
        assert_eq!((table.since_clear(), table.interval()), (since, 6));
    }
}

fn given(executions: u64, top: &[(u64, u64)]) -> ValueProfile {
    ValueProfile {
        executions,
        top: top
            .iter()
            .map(|&(value, count)| Entry { value, count })
            .collect(),
        recent: Vec::new(),
    }
}

#[test]
fn two_profiles() {
    let [a, b, c, d, e, f, g, h, z] = [1, 2, 3, 4, 5, 6, 7, 8, 9];
    let first = BTreeMap::from([
        (1, given(1000, &[(a, 700), (b, 200)])),
        (2, given(500, &[(c, 200), (d, 150), (e, 100)])),
        (3, given(400, &[(f, 40), (g, 30)])),
        (4, given(100, &[(z, 100)])),
    ]);
    let second = BTreeMap::from([
        (1, given(800, &[(a, 400), (b, 300)])),
        (2, given(500, &[(d, 250), (c, 200)])),
        (3, given(400, &[(h, 20)])),
    ]);
    let result = compare(&first, &second);
    near(result.overlap, 0.95);
    near(result.diff_1, 0.1421);
    near(result.diff_5, 0.0395);
    near(result.same_1.of_executions, 0.467);
    near(result.same_1.of_values, 0.778);
    near(result.same_1.considered, 0.474);
    near(result.find_1.of_executions, 0.6);
    near(result.find_1.of_values, 1.0);
    near(result.find_5.of_executions, 0.833);
    near(result.find_5.of_values, 0.926);
    let average: f64 = first
        .values()
        .map(|value| value.executions as f64 * value.invariance(1))
        .sum::<f64>()
        / 2000.0;
    near(average, 0.52);
    near(recent_against_invariant(&first), 0.52);
    assert_eq!(
        compare(&BTreeMap::<u8, _>::new(), &BTreeMap::new()).overlap,
        0.0
    );
}

#[test]
fn decisions() {
    let table = [
        (0.50, 0.51, true, false),
        (0.50, 0.53, true, true),
        (0.50, 0.50, false, false),
        (0.50, 0.47, false, false),
        (0.50, 0.45, false, true),
    ];
    for (before, now, increasing, bounds) in table {
        assert_eq!(Criterion::Increasing.goes_on(before, now), increasing);
        assert_eq!(Criterion::Bounds.goes_on(before, now), bounds);
    }
}

fn converge(
    criterion: Criterion,
    stream: impl Iterator<Item = u64>,
) -> (ConvergentProfiler, Vec<u64>) {
    let mut profiler = ConvergentProfiler::new(Schedule {
        criterion,
        ..Schedule::default()
    });
    let mut switches = Vec::new();
    let mut on = true;
    for (at, value) in stream.enumerate() {
        let entered = profiler.collect(value);
        if entered != on {
            switches.push(at as u64 + u64::from(entered));
            on = entered;
        }
    }
    (profiler, switches)
}

#[test]
fn convergence_of_a_constant() {
    for criterion in [Criterion::Increasing, Criterion::Bounds] {
        let (profiler, switches) = converge(criterion, std::iter::repeat_n(X, 40_000));
        assert_eq!(switches, [4000, 8001, 10_000, 20_001, 22_000]);
        assert_eq!((profiler.executions(), profiler.profiled()), (40_000, 8000));
        assert_eq!(profiler.profiled_after_wake(), 4000);
    }
}

#[test]
fn convergence_of_a_place_that_looks_invariant_at_first() {
    let stream = || std::iter::repeat_n(X, 2000).chain(10_000..48_000);
    let (profiler, switches) = converge(Criterion::Increasing, stream());
    assert_eq!(switches, [4000, 8001, 10_000, 20_001, 22_000]);
    assert_eq!(profiler.profiled(), 8000);
    near(profiler.invariance(), 0.25);
    let (profiler, switches) = converge(Criterion::Bounds, stream());
    assert_eq!(switches, [12_000, 24_001, 26_000]);
    assert_eq!(profiler.profiled(), 14_000);
    near(profiler.invariance(), 0.143);
}
