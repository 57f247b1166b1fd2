//! Waiting: for misses, at the first use or at the load, for mispredicted branches; and the events that predictors hear of.

use super::*;
use crate::cache::{Caches, Level, LevelCounts};
use crate::predictor::{Branch, Define, Design, Event, Write};

/// Lines of 64 bytes, 16 KB of four ways; a miss takes 100 cycles more.
fn caches(blocking: bool) -> Caches {
    Caches {
        levels: vec![Level {
            sets: 64,
            ways: 4,
            line: 64,
            latency: 0,
        }],
        memory: 100,
        float: 0,
        blocking,
    }
}

fn unit(penalty: u32) -> BranchUnit {
    BranchUnit {
        design: Design::named("meta").expect("a design"),
        penalty,
        delay: 4,
    }
}

fn with(caches: Option<Caches>, branches: Option<BranchUnit>) -> Limits {
    let mut timing = Timing::itanium2();
    timing.caches = caches;
    timing.branches = branches;
    Limits {
        timing: Some(timing),
        ..Limits::default()
    }
}

/// A run with a buffer of 4 KB in `r32` and numbers behind it.
fn ran(body: &str, numbers: &[u64], limits: &Limits) -> Outcome {
    let mut memory = Memory::new();
    let buffer = memory.place(&[1; 4096]).expect("room");
    let mut arguments = vec![Arg::Integer(buffer)];
    arguments.extend(numbers.iter().map(|&number| Arg::Integer(number)));
    run(&program(&leaf(body)), "f", &arguments, &mut memory, limits).expect(body)
}

fn cycles(body: &str, limits: &Limits) -> u64 {
    ran(body, &[], limits).cycles.expect("counted")
}

#[test]
fn the_first_use_of_what_missed_waits() {
    let hit = with(None, None);
    let miss = with(Some(caches(false)), None);
    let more = |body: &str, limits: &Limits| cycles(body, limits) - cycles(body, &hit);
    let used = "ld8 r14 = [r32] ;;\nadd r15 = 1, r14 ;;";
    assert_eq!(more(used, &miss), 100);
    // What stands between the load and its use passes while it is under way.
    let between = "ld8 r14 = [r32] ;;\nnop.m 0 ;;\nnop.m 0 ;;\nnop.m 0 ;;\nadd r15 = 1, r14 ;;";
    assert_eq!(more(between, &miss), 97);
    let unused = "ld8 r14 = [r32] ;;\nadd r15 = 1, r0 ;;";
    assert_eq!(more(unused, &miss), 0);
    // Two loads of a line are under way together, two of two lines as well.
    let shared = "ld8 r14 = [r32], 8 ;;\nld8 r15 = [r32] ;;\nadd r16 = r14, r15 ;;";
    assert_eq!(more(shared, &miss), 99);
    let apart = "ld8 r14 = [r32], 128 ;;\nld8 r15 = [r32] ;;\nadd r16 = r14, r15 ;;";
    assert_eq!(more(apart, &miss), 100);
    // The address that a load moves on is there at once.
    let moved = "ld8 r14 = [r32], 128 ;;\nadd r15 = 1, r32 ;;";
    assert_eq!(more(moved, &miss), 0);
    // A store brings the line, and nobody waits for it.
    let stored = "st8 [r32] = r0 ;;\nnop.m 0 ;;\nld8 r14 = [r32] ;;\nadd r15 = 1, r14 ;;";
    assert_eq!(more(stored, &miss), 98);
    let prefetched = "lfetch [r32] ;;\nnop.m 0 ;;\nld8 r14 = [r32] ;;\nadd r15 = 1, r14 ;;";
    assert_eq!(more(prefetched, &miss), 98);
    let blocking = with(Some(caches(true)), None);
    assert_eq!(more(between, &blocking), 100);
    assert_eq!(more(unused, &blocking), 100);
    assert_eq!(more(apart, &blocking), 200);
}

#[test]
fn misses_are_counted_by_level_and_line() {
    let body = "ld8 r14 = [r32], 64 ;;\nadd r15 = 1, r14 ;;\nld8 r14 = [r32], -64 ;;\nld8 r16 = [r32] ;;\nadd r15 = r14, r16 ;;";
    let outcome = ran(body, &[], &with(Some(caches(false)), None));
    let memory = outcome.memory.expect("caches");
    let counts = LevelCounts {
        accesses: 3,
        misses: 2,
    };
    assert_eq!(memory.levels, [counts]);
    // The body begins with line 6; the second load is waited for but for the cycle of the third.
    let lines: Vec<(u32, u64, u64, u64)> = memory
        .lines
        .iter()
        .map(|line| (line.line, line.accesses, line.misses, line.stalls))
        .collect();
    assert_eq!(lines, [(6, 1, 1, 100), (8, 1, 1, 99)]);
    assert_eq!(memory.stalls, 199);
    assert_eq!(ran(body, &[], &with(None, None)).memory, None);
}

#[test]
fn what_a_false_predicate_guards_accesses_nothing() {
    let body = "cmp.ne p6, p7 = r0, r33 ;;\n(p6) ld8 r14 = [r32] ;;\n(p6) add r15 = 1, r14 ;;";
    let limits = with(Some(caches(false)), None);
    let accesses = |number| {
        let memory = ran(body, &[number], &limits).memory.expect("caches");
        (memory.levels[0].accesses, memory.stalls)
    };
    assert_eq!(accesses(0), (0, 0));
    assert_eq!(accesses(1), (1, 100));
    // A speculative load that fails accesses nothing, either.
    let speculative = "ld8.s r14 = [r33] ;;\nadd r15 = 1, r14 ;;";
    let memory = ran(speculative, &[0x10], &limits).memory.expect("caches");
    assert_eq!(memory.levels[0].accesses, 0);
}

#[test]
fn floating_point_passes_the_first_level_by() {
    let mut both = caches(false);
    both.levels.push(Level {
        sets: 64,
        ways: 8,
        line: 64,
        latency: 4,
    });
    both.float = 1;
    let limits = with(Some(both), None);
    let body = "ldfd f9 = [r32] ;;\nfma.d f10 = f9, f9, f9 ;;\nldfd f9 = [r32] ;;\nfma.d f10 = f9, f9, f9 ;;";
    let memory = ran(body, &[], &limits).memory.expect("caches");
    let counts: Vec<(u64, u64)> = memory
        .levels
        .iter()
        .map(|level| (level.accesses, level.misses))
        .collect();
    assert_eq!(counts, [(0, 0), (2, 1)]);
    assert_eq!(memory.stalls, 96);
}

/// A loop of `r33` iterations whose first branch is taken in every second.
const LOOP: &str = "mov r9 = ar.lc\nadd r10 = -1, r33 ;;\nmov ar.lc = r10\nmov r11 = 0 ;;\n.Lloop:\ntbit.z p6, p7 = r11, 0 ;;\n\
    add r11 = 1, r11\n(p6) br.cond.dpnt .Lnext ;;\nadd r12 = 1, r0 ;;\n.Lnext:\nbr.cloop.sptk .Lloop ;;\nmov ar.lc = r9";

#[test]
fn a_misprediction_costs_its_penalty() {
    let with_penalty = |penalty| ran(LOOP, &[200], &with(None, Some(unit(penalty))));
    let predicted = ran(LOOP, &[200], &with(None, None));
    let free = with_penalty(0);
    assert_eq!(free.cycles, predicted.cycles);
    let costly = with_penalty(8);
    let counts = costly.branches.as_ref().expect("a predictor");
    assert_eq!((counts.all.executed, counts.all.taken), (400, 299));
    assert_eq!(counts.branches.len(), 2);
    let wrong = counts.all.mispredicted;
    // The histories learn: an alternating branch, and one that is taken but at the end.
    assert!((2..40).contains(&wrong), "{wrong}");
    assert_eq!(
        costly.cycles,
        predicted.cycles.map(|cycles| cycles + 8 * wrong)
    );
    assert_eq!(costly.result, predicted.result);
    let place = |counts: &crate::predictor::Outcome, at: usize| {
        program(&leaf(LOOP)).line(counts.branches[at].0 as usize)
    };
    assert_eq!((place(counts, 0), place(counts, 1)), (Some(13), Some(16)));
}

/// Caches that take no time and mispredictions that cost nothing leave the cycles of all golden programs as they are.
#[test]
fn caches_and_predictors_that_cost_nothing_change_nothing() {
    let mut free = caches(false);
    free.memory = 0;
    for body in [
        LOOP,
        "ld8 r14 = [r32], 8 ;;\nld8 r15 = [r14] ;;",
        "ldfpd f8, f9 = [r32] ;;\nfma.d f8 = f8, f9, f0 ;;",
    ] {
        for blocking in [false, true] {
            free.blocking = blocking;
            let limits = with(Some(free.clone()), Some(unit(0)));
            let plain = with(None, None);
            let body = body.replace("[r14]", "[r32]");
            assert_eq!(
                ran(&body, &[9], &limits).cycles,
                ran(&body, &[9], &plain).cycles,
                "{body}"
            );
        }
    }
}

fn heard(body: &str, numbers: &[u64]) -> Vec<Event> {
    let text = leaf(body);
    let arguments: Vec<Arg> = numbers.iter().map(|&number| Arg::Integer(number)).collect();
    let mut events = Vec::new();
    let limits = with(None, None);
    let mut memory = Memory::new();
    let listener = &mut |event: &Event| events.push(*event);
    traced(
        &program(&text),
        "f",
        &arguments,
        &mut memory,
        &limits,
        listener,
    )
    .expect(body);
    events
}

#[test]
fn compares_and_guarded_branches_are_heard() {
    let body = "cmp.lt p6, p7 = r32, r33 ;;\n(p7) cmp.eq.unc p8, p9 = r0, r0\n(p6) br.cond.dpnt .Lend ;;\nnop.m 0 ;;\n.Lend:";
    let defines = |event: &Event| match event {
        Event::Define(Define {
            first,
            second: Some(second),
            compare: true,
            ..
        }) => Some([*first, *second].map(|Write { predicate, value }| (predicate, value))),
        _ => None,
    };
    for (numbers, holds) in [([1, 2], true), ([2, 1], false)] {
        let events = heard(body, &numbers);
        assert_eq!(events.len(), 3, "{events:?}");
        assert_eq!(defines(&events[0]), Some([(6, holds), (7, !holds)]));
        // Unconditional: both are cleared where the guard is false.
        assert_eq!(defines(&events[1]), Some([(8, !holds), (9, false)]));
        let Event::Branch(Branch {
            gap, taken, guard, ..
        }) = events[2]
        else {
            panic!("{events:?}");
        };
        assert_eq!((gap, taken, guard), (0, holds, 6));
    }
}

/// The predicate that a loop branch writes is that of the register, whatever name it has next.
#[test]
fn rotating_predicates_have_one_number() {
    let body = "mov r9 = ar.lc\nmov r10 = ar.ec\nmov r11 = pr ;;\nmov ar.lc = 2\nmov ar.ec = 1\nmov pr.rot = 0 ;;\n.Lloop:\n\
        (p16) add r12 = 1, r0\n(p17) br.cond.dpnt .Lnext ;;\n.Lnext:\nbr.ctop.sptk .Lloop ;;\nmov ar.lc = r9\nmov ar.ec = r10\nmov pr = r11, -1 ;;";
    let events = heard(body, &[]);
    let mut holds = [false; 64];
    let (mut taken, mut written) = (0, 0);
    for event in &events {
        match event {
            Event::Define(define) => {
                for write in [Some(define.first), define.second].into_iter().flatten() {
                    holds[usize::from(write.predicate)] = write.value;
                    written += u32::from(write.value);
                }
            }
            Event::Branch(Branch { guard: 0, .. }) => {}
            Event::Branch(branch) => {
                assert_eq!(branch.taken, holds[usize::from(branch.guard)]);
                taken += u32::from(branch.taken);
            }
        }
    }
    assert_eq!((taken, written), (1, 2), "{events:?}");
}
