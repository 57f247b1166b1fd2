//! Properties on random traces, and a second, plain implementation of the chooser.

use super::*;

#[test]
fn a_squashed_branch_is_never_taken() {
    let mut acted = 0;
    for seed in 0..200 {
        let trace = random_trace(&mut StdRng::seed_from_u64(seed), 2_000);
        for name in [
            "meta+squash",
            "meta+pep+squash+pgu",
            "tage+squash+pgu-repaired",
            "gshare+squash",
        ] {
            let mut laboratory = Laboratory::new(&design(name));
            for event in &trace {
                let prediction = laboratory.event(event);
                if let Some(prediction) = prediction.filter(|prediction| prediction.squashed) {
                    acted += 1;
                    assert!(!prediction.wrong, "{name}, seed {seed}");
                }
            }
        }
    }
    assert!(acted > 10_000, "{acted}");
}

/// The trace without its definitions, at the same times.
fn without_defines(trace: &[Event]) -> Vec<Event> {
    let mut waited = 0;
    let mut out = Vec::new();
    for event in trace {
        match event {
            Event::Define(define) => waited += define.gap,
            Event::Branch(branch) => {
                out.push(Event::Branch(Branch {
                    gap: branch.gap + waited,
                    ..*branch
                }));
                waited = 0;
            }
        }
    }
    out
}

/// The predictions of each branch: whether a guard would have come in time is a matter of the trace.
fn predictions(outcome: &Outcome) -> Vec<(u64, u64, u64, u64)> {
    let branches = outcome.branches.iter();
    branches
        .map(|(pc, counts)| (*pc, counts.executed, counts.taken, counts.mispredicted))
        .collect()
}

#[test]
fn a_design_without_additions_does_not_see_predicates() {
    let mut differ = 0;
    for seed in 0..50 {
        let trace = random_trace(&mut StdRng::seed_from_u64(seed), 3_000);
        let plain = without_defines(&trace);
        for name in ["meta", "gshare", "tage"] {
            let (with, without) = (
                simulate(&design(name), &trace),
                simulate(&design(name), &plain),
            );
            assert_eq!(
                predictions(&with),
                predictions(&without),
                "{name}, seed {seed}"
            );
            let more = simulate(&design(&format!("{name}+pgu")), &trace);
            differ += u32::from(predictions(&more) != predictions(&with));
        }
    }
    assert!(differ > 100, "{differ}");
}

/// The chooser of branches that are resolved at once, by its definition.
fn plain_chooser(trace: &[Event]) -> Vec<bool> {
    let mut histories = vec![0usize; 4096];
    let (mut locals, mut globals, mut choosers) = (vec![1; 4096], vec![1; 4096], vec![1; 4096]);
    let mut global = 0usize;
    let mut out = Vec::new();
    let train =
        |counter: &mut i32, up: bool| *counter = (*counter + 2 * i32::from(up) - 1).clamp(0, 3);
    for event in trace {
        let Event::Branch(branch) = event else {
            continue;
        };
        let at = branch.pc as usize % 4096;
        let (local_at, global_at) = (histories[at], (at ^ global) % 4096);
        let (local, other) = (locals[local_at] > 1, globals[global_at] > 1);
        out.push(if choosers[at] > 1 { local } else { other });
        train(&mut locals[local_at], branch.taken);
        train(&mut globals[global_at], branch.taken);
        if local != other {
            train(&mut choosers[at], local == branch.taken);
        }
        histories[at] = (2 * local_at + usize::from(branch.taken)) % 4096;
        global = (2 * global + usize::from(branch.taken)) % 4096;
    }
    out
}

#[test]
fn the_chooser_does_as_its_definition_says() {
    let at_once = Design {
        resolve: 0,
        ..design("meta")
    };
    for seed in 0..50 {
        let trace = random_trace(&mut StdRng::seed_from_u64(seed), 5_000);
        let mut laboratory = Laboratory::new(&at_once);
        let predicted: Vec<bool> = trace
            .iter()
            .filter_map(|event| laboratory.event(event))
            .map(|prediction| prediction.taken)
            .collect();
        assert_eq!(predicted, plain_chooser(&trace), "seed {seed}");
    }
}

#[test]
fn counts_of_branches_add_up() {
    let trace = random_trace(&mut StdRng::seed_from_u64(3), 5_000);
    let outcome = simulate(&design("tage+squash+pgu"), &trace);
    let mut sum = Counts::default();
    for (_, counts) in &outcome.branches {
        sum.executed += counts.executed;
        sum.taken += counts.taken;
        sum.mispredicted += counts.mispredicted;
        sum.squashed += counts.squashed;
        sum.late += counts.late;
        sum.earlier = sum.earlier.max(counts.earlier);
    }
    assert_eq!(sum, outcome.all);
    assert!(outcome.branches.is_sorted_by_key(|&(pc, _)| pc));
}

/// Mispredictions of the second half of a trace.
fn learned(name: &str, trace: &[Event]) -> f64 {
    let mut laboratory = Laboratory::new(&design(name));
    let (first, second) = trace.split_at(trace.len() / 2);
    first.iter().for_each(|event| {
        laboratory.event(event);
    });
    let wrong = second
        .iter()
        .filter_map(|event| laboratory.event(event))
        .filter(|prediction| prediction.wrong);
    wrong.count() as f64 / second.len() as f64
}

#[test]
fn long_patterns_are_learned_by_long_histories() {
    // A loop of 60 iterations: no history of 12 bits tells when it ends.
    let trace: Vec<Event> = (0..60_000)
        .map(|step| branch(10, 5, 0, step % 60 != 59))
        .collect();
    assert!(learned("gshare", &trace) > 0.015);
    assert!(learned("tage", &trace) < 0.001);
    // A branch that does as the compare before it did: known in time, or never.
    let mut rng = StdRng::seed_from_u64(11);
    let mut guarded = Vec::new();
    for _ in 0..40_000 {
        let value: bool = rng.random();
        guarded.push(compare(30, 5, 1, 2, value));
        guarded.push(branch(10, 9, 1, value));
    }
    // Half of the events are branches.
    assert!(learned("meta", &guarded) > 0.2);
    for name in ["meta+pgu", "tage+pgu", "meta+pep"] {
        assert!(learned(name, &guarded) < 0.01, "{name}");
    }
    let squashed = learned("meta+squash", &guarded);
    assert!(squashed < 0.01, "{squashed}");
}
