//! Kernels whose states and counts are known iteration by iteration: a counted loop, while loops with one and two
//! speculative stages, an early exit.

use super::*;

const ENTER: &str = "
	.text
	.global f#
	.proc f#
f:
	alloc r14 = ar.pfs, 8, 24, 0, 32
	mov r15 = ar.lc
	mov r16 = pr ;;
	mov r17 = r32
	mov r18 = r33
	mov r9 = r34
	mov r10 = r35
	mov r11 = r36 ;;
";
const LEAVE: &str = "
	mov ar.lc = r15
	mov pr = r16, -1
	mov ar.pfs = r14
	br.ret.sptk.many b0 ;;
	.endp f#
";

fn state(machine: &Machine<'_>, names: std::ops::RangeInclusive<u8>) -> Vec<u64> {
    names
        .map(|name| {
            let physical = 16 + (u32::from(name) - 16 + u32::from(machine.frame.predicate)) % 48;
            machine.predicates >> physical & 1
        })
        .chain([machine.applications[65], machine.applications[66]])
        .collect()
}

fn timed(timing: Timing) -> Limits {
    Limits {
        timing: Some(timing),
        ..Limits::default()
    }
}

fn k1() -> String {
    format!(
        "{ENTER}
	add r19 = -1, r10 ;;
	mov ar.lc = r19
	mov ar.ec = 4
	mov pr.rot = 1<<16 ;;
L1:
{{ .mib
 (p16)	ld4 r32 = [r17], 4
 (p18)	add r35 = r34, r9
	nop.b 0
}}
{{ .mib
 (p19)	st4 [r18] = r36, 4
	nop.i 0
	br.ctop.sptk L1 ;;
}}
{LEAVE}"
    )
}

#[test]
fn a_counted_loop_of_200_iterations_takes_203_of_its_kernel() {
    let program = program(&k1());
    for count in [1usize, 2, 3, 200] {
        let source: Vec<u32> = (0..count as u32).map(|at| at * 3 + 1).collect();
        let mut memory = Memory::new();
        let from = memory.place(&words(&source)).expect("room");
        let to = memory.place(&words(&vec![0; count])).expect("room");
        let arguments = [from, to, 7, count as u64].map(Arg::Integer);
        for timing in [Timing::itanium(), Timing::itanium2()] {
            let limits = timed(timing);
            let (outcome, notes, epilogue) = trace(
                &program,
                &arguments,
                &mut memory,
                &limits,
                "br.ctop",
                |machine| state(machine, 16..=19),
            );
            assert_eq!(outcome.violations, []);
            assert_eq!(outcome.changed, []);
            assert_eq!(epilogue, 0);
            let expected: Vec<u32> = source.iter().map(|it| it + 7).collect();
            assert_eq!(read_words(&mut memory, to, count), expected);
            assert_eq!(notes.len(), count + 3);
            if count == 200 {
                let rows = [
                    (1, [1, 0, 0, 0, 199, 4]),
                    (2, [1, 1, 0, 0, 198, 4]),
                    (3, [1, 1, 1, 0, 197, 4]),
                    (4, [1, 1, 1, 1, 196, 4]),
                    (100, [1, 1, 1, 1, 100, 4]),
                    (101, [1, 1, 1, 1, 99, 4]),
                    (198, [1, 1, 1, 1, 2, 4]),
                    (199, [1, 1, 1, 1, 1, 4]),
                    (200, [1, 1, 1, 1, 0, 4]),
                    (201, [0, 1, 1, 1, 0, 3]),
                    (202, [0, 0, 1, 1, 0, 2]),
                    (203, [0, 0, 0, 1, 0, 1]),
                ];
                for (iteration, row) in rows {
                    assert_eq!(notes[iteration - 1], row, "iteration {iteration}");
                }
                let cycles = outcome.cycles.expect("counted");
                assert!((203..203 + 12).contains(&cycles), "{cycles}");
            }
        }
    }
}

fn k2(bundled: bool, epilogue: u32) -> String {
    let kernel = if bundled {
        "{ .mmi
	ld4.s r32 = [r17], 4
 (p18)	chk.s.m r34, Rec
 (p18)	add r35 = r34, r9
}
{ .mib
 (p19)	st4 [r18] = r36, 4
 (p18)	cmp.ne p17, p0 = r34, r0
 (p17)	br.wtop.sptk L1 ;;
}"
    } else {
        "
	ld4.s r32 = [r17], 4
 (p18)	chk.s r34, Rec
 (p18)	add r35 = r34, r9
 (p18)	cmp.ne p17, p0 = r34, r0
 (p19)	st4 [r18] = r36, 4
 (p17)	br.wtop.sptk L1 ;;"
    };
    format!(
        "{ENTER}
	mov ar.ec = {epilogue}
	mov pr.rot = 1<<16 ;;
L1:
{kernel}
{LEAVE}
Rec:
	break.i 1 ;;
"
    )
}

/// The text without the function's end in its middle, so that the recovery belongs to it.
fn within(text: &str) -> String {
    format!("{}\t.endp f#\n", text.replace("\t.endp f#\n", ""))
}

#[test]
fn a_while_loop_with_two_speculative_stages() {
    for bundled in [true, false] {
        let program = program(&within(&k2(bundled, 3)));
        let mut memory = Memory::new();
        let from = memory.place(&words(&[5, 4, 3, 0])).expect("room");
        let to = memory.place(&words(&[99; 8])).expect("room");
        let arguments = [from, to, 7].map(Arg::Integer);
        let (outcome, notes, epilogue) = trace(
            &program,
            &arguments,
            &mut memory,
            &Limits::default(),
            "br.wtop",
            |machine| state(machine, 16..=19),
        );
        // The predicate that the branch sees is p17 as its own group left it.
        let expected = [
            [1, 0, 0, 0, 3],
            [0, 1, 0, 0, 2],
            [0, 0, 1, 0, 2],
            [0, 0, 1, 1, 2],
            [0, 0, 1, 1, 2],
            [0, 0, 1, 1, 2],
            [0, 0, 0, 1, 1],
        ];
        let branch = [0, 1, 1, 1, 1, 0, 0];
        for (at, row) in expected.iter().enumerate() {
            let note = &notes[at];
            assert_eq!(
                [note[0], branch[at], note[2], note[3], note[5]],
                [row[0], note[1], row[2], row[3], row[4]],
                "{at}"
            );
        }
        assert_eq!(notes.len(), 7);
        assert_eq!(outcome.violations, []);
        assert_eq!(epilogue, 0);
        assert_eq!(
            read_words(&mut memory, to, 8),
            [12, 11, 10, 7, 99, 99, 99, 99]
        );
    }
}

#[test]
fn one_epilogue_count_too_few_loses_the_last_store() {
    for (epilogue, stores, iterations) in [(2, 3, 6), (3, 4, 7), (4, 4, 8)] {
        let program = program(&within(&k2(true, epilogue)));
        let mut memory = Memory::new();
        let from = memory.place(&words(&[5, 4, 3, 0])).expect("room");
        let to = memory.place(&words(&[99; 4])).expect("room");
        let arguments = [from, to, 7].map(Arg::Integer);
        let (_, notes, _) = trace(
            &program,
            &arguments,
            &mut memory,
            &Limits::default(),
            "br.wtop",
            |_| Vec::new(),
        );
        assert_eq!(notes.len(), iterations, "ar.ec = {epilogue}");
        let stored = read_words(&mut memory, to, 4);
        assert_eq!(stored.iter().filter(|&&it| it != 99).count(), stores);
    }
}

fn zero_ended(count: usize) -> Vec<u32> {
    let mut values: Vec<u32> = (1..count as u32).collect();
    values.push(0);
    values
}

#[test]
fn the_same_loop_on_itanium_with_two_cycles_an_iteration() {
    let text = within(&format!(
        "{ENTER}
	mov ar.ec = 1
	mov pr.rot = 1<<16 ;;
L1:
{{ .mib
	ld4.s r32 = [r17], 4
 (p17)	chk.s.i r33, Rec
	nop.b 0
}}
{{ .mib
 (p17)	add r34 = r33, r9
 (p17)	cmp.ne p16, p0 = r33, r0
	nop.b 0 ;;
}}
{{ .mib
 (p17)	st4 [r18] = r34, 4
	nop.i 0
 (p16)	br.wtop.sptk L1 ;;
}}
{LEAVE}
Rec:
	break.i 1 ;;
"
    ));
    let program = program(&text);
    let source = zero_ended(200);
    let mut memory = Memory::new();
    let from = memory.place(&words(&source)).expect("room");
    let to = memory.place(&words(&vec![0; 200])).expect("room");
    let arguments = [from, to, 7].map(Arg::Integer);
    let mut cycles = Vec::new();
    for timing in [Timing::itanium(), Timing::itanium2()] {
        let (outcome, notes, epilogue) = trace(
            &program,
            &arguments,
            &mut memory,
            &timed(timing),
            "br.wtop",
            |_| Vec::new(),
        );
        assert_eq!(notes.len(), 201);
        assert_eq!(epilogue, 0);
        assert_eq!(outcome.violations, []);
        cycles.push(outcome.cycles.expect("counted"));
    }
    for cycle in cycles {
        assert!((402..402 + 12).contains(&cycle), "{cycle}");
    }
    let expected: Vec<u32> = source.iter().map(|it| it + 7).collect();
    assert_eq!(read_words(&mut memory, to, 200), expected);
}

#[test]
fn one_cycle_an_iteration_on_itanium_2() {
    let program = program(&within(&k2(true, 3)));
    let mut memory = Memory::new();
    let from = memory.place(&words(&zero_ended(200))).expect("room");
    let to = memory.place(&words(&vec![0; 200])).expect("room");
    let arguments = [from, to, 7].map(Arg::Integer);
    let mut run = |timing| {
        let limits = timed(timing);
        let outcome = run(&program, "f", &arguments, &mut memory, &limits).expect("runs");
        outcome.cycles.expect("counted")
    };
    let two = run(Timing::itanium2());
    assert!((203..203 + 12).contains(&two), "{two}");
    let found = run(Timing::itanium());
    assert!(found >= 2 * 203, "four memory operations of five: {found}");
}

fn k3(unc: bool) -> String {
    let unc = if unc { ".unc" } else { "" };
    within(&format!(
        "{ENTER}
	mov r8 = 0
	mov ar.ec = 1
	mov pr.rot = 1<<16 ;;
L1:
{{ .mii
	ld4.s r32 = [r17], 4
 (p17)	chk.s.i r33, Rec
 (p17)	cmp.eq.unc p22, p20 = r33, r10 ;;
}}
{{ .mib
 (p20)	add r8 = r8, r33
 (p20)	cmp.ne{unc} p16, p0 = r17, r11
 (p16)	br.wtop.sptk L1 ;;
}}
 (p23)	add r8 = 1000, r8 ;;
{LEAVE}
Rec:
	break.i 1 ;;
"
    ))
}

fn run_k3(text: &str, values: &[u32], key: u32, limit: u64) -> (Outcome, usize, u64) {
    let program = program(text);
    let mut memory = Memory::new();
    let from = memory.place(&words(values)).expect("room");
    let end = from + 4 * limit + 4;
    let arguments = [from, 0, 0, u64::from(key), end].map(Arg::Integer);
    let (outcome, notes, epilogue) = trace(
        &program,
        &arguments,
        &mut memory,
        &Limits::default(),
        "br.wtop",
        |_| Vec::new(),
    );
    (outcome, notes.len(), epilogue)
}

#[test]
fn an_early_exit_by_predicate_registers() {
    // The sum, and 1000 more where the early exit was taken.
    let (outcome, iterations, epilogue) = run_k3(&k3(false), &[5, 7, 9, 11], 9, 4);
    assert_eq!((outcome.result, iterations), (Some(1012), 4));
    assert_eq!(epilogue, 0);
    assert_eq!(outcome.violations, []);
    let (outcome, iterations, epilogue) = run_k3(&k3(false), &[5, 7, 9], 42, 3);
    assert_eq!((outcome.result, iterations, epilogue), (Some(21), 4, 0));
    // What the loop-branch compare must not be.
    let (outcome, iterations, _) = run_k3(&k3(true), &[5, 7, 9], 42, 3);
    assert_eq!((outcome.result, iterations), (Some(0), 1));
}

#[test]
fn an_early_exit_over_many_arrays() {
    use rand::{Rng, SeedableRng};
    let mut random = rand::rngs::StdRng::seed_from_u64(3);
    let text = k3(false);
    for _ in 0..300 {
        let count = random.random_range(1..12);
        let values: Vec<u32> = (0..count).map(|_| random.random_range(0..8)).collect();
        let key = random.random_range(0..12);
        // Nothing is mapped behind the array: what runs ahead gets a NaT that no one consumes.
        let (outcome, ..) = run_k3(&text, &values, key, count);
        let found = values.iter().position(|&value| value == key);
        let sum: u32 = values.iter().take(found.unwrap_or(values.len())).sum();
        let expected = u64::from(sum) + if found.is_some() { 1000 } else { 0 };
        assert_eq!(outcome.result, Some(expected), "{values:?} {key}");
    }
}
