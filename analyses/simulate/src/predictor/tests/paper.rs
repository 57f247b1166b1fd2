//! The examples of the paper: Figures 2 and 4, the squash, the value that a recovery loses.

use super::*;

/// Cycles until a define is known.
const KNOWN: u32 = 20;
const BR3: u64 = 18;
const BR4: u64 = 50;

/// Figure 2b, one instruction a cycle: `cmp1` in 7, `cmp2` in 11, `br3` in 18, `br4` in 50. The gaps are
/// counted from the first, in cycle 1.
fn figure_2b(br4: bool) -> Vec<Event> {
    let sum = Define {
        gap: 1,
        delay: KNOWN,
        first: Write {
            predicate: 6,
            value: true,
        },
        second: None,
        compare: false,
    };
    vec![
        compare(7, KNOWN, 2, 3, true),
        compare(4, KNOWN, 4, 5, false),
        branch(7, BR3, 0, false),
        Event::Define(sum),
        branch(31, BR4, 6, br4),
    ]
}

/// The history when a cycle begins, of all events that were fetched before.
fn at(events: &[Event], cycle: u64, name: &str) -> Vec<bool> {
    let mut laboratory = Laboratory::new(&design(name));
    for event in events {
        let (Event::Define(Define { gap, .. }) | Event::Branch(Branch { gap, .. })) = event;
        if laboratory.clock() + u64::from(*gap) >= cycle {
            break;
        }
        laboratory.event(event);
    }
    laboratory.pass(cycle - laboratory.clock());
    laboratory.history(8)
}

#[test]
fn defines_enter_the_history_when_they_are_known() {
    let events = figure_2b(false);
    let (br3, cmp1, cmp2, br4) = (false, true, false, false);
    for (cycle, expected) in [
        (18, vec![]),
        (19, vec![br3]),
        (27, vec![br3]),
        (28, vec![br3, cmp1]),
        (31, vec![br3, cmp1]),
        (32, vec![br3, cmp1, cmp2]),
        (50, vec![br3, cmp1, cmp2]),
        (51, vec![br3, cmp1, cmp2, br4]),
    ] {
        assert_eq!(at(&events, cycle, "meta+pgu"), expected, "cycle {cycle}");
        assert_eq!(at(&events, cycle, "tage+pgu"), expected, "cycle {cycle}");
    }
    assert_eq!(at(&events, 51, "meta"), [br3, br4]);
}

#[test]
fn a_history_is_recovered_with_the_direction_that_was_right() {
    // Counters begin at not taken, so that br4 is mispredicted.
    let mut laboratory = Laboratory::new(&design("meta+pgu"));
    for event in &figure_2b(true) {
        laboratory.event(event);
    }
    assert_eq!(laboratory.history(8), [false, true, false, true]);
    let outcome = laboratory.outcome();
    assert_eq!((outcome.all.executed, outcome.all.mispredicted), (2, 1));
    // Resolved 8 cycles behind its fetch.
    assert_eq!(outcome.cycles, 58);
}

#[test]
fn rescheduled_the_defines_are_known_to_both_branches() {
    // Figure 2c: cmp1 in 3, cmp2 in 4, br4 in 50, br3 in 91.
    let br3 = 91;
    let events = [
        compare(3, KNOWN, 2, 3, true),
        compare(1, KNOWN, 4, 5, false),
        branch(46, BR4, 6, false),
        branch(41, br3, 5, false),
    ];
    assert_eq!(at(&events, 50, "meta+pgu"), [true, false]);
    assert_eq!(at(&events, 91, "meta+pgu"), [true, false, false]);
    let gaps = |event: &Event| match event {
        Event::Define(Define { gap, .. }) | Event::Branch(Branch { gap, .. }) => *gap,
    };
    // Instructions between cmp1 and br3: 87 in Figure 2c, 10 in Figure 2b.
    let between = |events: &[Event]| events.iter().skip(1).map(gaps).sum::<u32>() - 1;
    assert_eq!(between(&events), 87);
    assert_eq!(between(&figure_2b(false)[..3]), 10);
}

#[test]
fn a_branch_whose_guard_is_known_to_be_false_is_squashed() {
    let place = 77;
    let squashed = |events: &[Event], name: &str| {
        let mut laboratory = Laboratory::new(&design(name));
        let mut last = None;
        let mut counters = (0, 0);
        for event in events {
            counters = (laboratory.counters(), counters.0);
            last = laboratory.event(event);
        }
        laboratory.pass(100);
        let same = laboratory.counters() == counters.0;
        (
            last.is_some_and(|last| last.squashed),
            same,
            laboratory.history(1),
        )
    };
    // Taken twice first, which trains the counters to taken, and makes the guard of the branch known.
    let trained = [
        compare(1, 1, 2, 3, true),
        branch(9, place, 2, true),
        branch(9, place, 2, true),
        branch(9, place, 2, true),
    ];
    let with = |define: Event, gap: u32, taken: bool| {
        let mut events = trained.to_vec();
        events.extend([define, branch(gap, place, 2, taken)]);
        events
    };
    let resolved = with(compare(20, 5, 2, 3, false), 6, false);
    let in_flight = with(compare(20, 5, 2, 3, false), 5, false);
    let true_guard = with(compare(20, 5, 2, 3, true), 6, true);
    for name in ["meta+squash", "meta+squash+pgu", "tage+squash"] {
        assert_eq!(
            squashed(&resolved, name),
            (true, true, vec![false]),
            "{name}"
        );
        assert!(!squashed(&in_flight, name).0, "{name}");
        assert!(!squashed(&true_guard, name).0, "{name}");
    }
    assert!(!squashed(&resolved, "meta").0);
    // The table of targets does not know a branch that it has not seen.
    assert!(!squashed(&[branch(9, place, 2, false)], "meta+squash").0);
}

#[test]
fn a_define_between_fetch_and_misprediction_is_lost_unless_repaired() {
    // b in cycle 10, resolved in 18; the define of cycle 3 is known in 13.
    let events = [compare(3, 10, 2, 3, true), branch(7, BR3, 0, true)];
    let history = |name: &str, events: &[Event]| {
        let mut laboratory = Laboratory::new(&design(name));
        for event in events {
            laboratory.event(event);
        }
        laboratory.pass(40);
        laboratory.history(8)
    };
    assert_eq!(history("meta+pgu", &events), [true]);
    assert_eq!(history("meta+pgu-repaired", &events), [true, true]);
    assert_eq!(history("meta+pgu-10", &events), [true, true]);
    // After fewer cycles than it takes, 0 stands for a value that is not known.
    assert_eq!(history("meta+pgu-8", &events), [true, false]);
    // Where b is predicted, nothing is lost.
    let predicted = [events[0], branch(7, BR3, 0, false)];
    assert_eq!(history("meta+pgu", &predicted), [false, true]);
    // Known behind the recovery: not lost.
    let late = [compare(3, 30, 2, 3, true), branch(7, BR3, 0, true)];
    assert_eq!(history("meta+pgu", &late), [true, true]);
}

/// br3 of Figure 2b is fetched in cycle 18 under p5, which cmp2 of cycle 11 defines: 20 cycles are needed and seen behind them.
#[test]
fn a_guard_that_comes_too_late_says_by_how_much() {
    let late = |gap: u32, value: bool| {
        let mut laboratory = Laboratory::new(&design("meta+squash"));
        let events = [
            compare(1, 1, 4, 5, true),
            branch(5, BR3, 5, false),
            compare(20, KNOWN, 4, 5, value),
            branch(gap, BR3, 5, !value),
        ];
        for event in &events {
            laboratory.event(event);
        }
        let all = laboratory.outcome().all;
        (all.late, all.earlier, all.squashed)
    };
    assert_eq!(late(7, true), (1, 14, 0));
    assert_eq!(late(20, true), (1, 1, 0));
    assert_eq!(late(21, true), (0, 0, 1));
    assert_eq!(late(7, false), (0, 0, 0));
}
