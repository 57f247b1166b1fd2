//! The advice of the case study: floating-point sums as several that take turns, which are the same for numbers that are added
//! without rounding, at a smaller interval, and nothing of it where the author has not permitted it; streams fetched ahead;
//! neighbouring loads in pairs, wherever they are aligned and where not.
#![allow(clippy::disallowed_methods)]

#[path = "support/emitted.rs"]
mod emitted;

use emitted::emitted;
use lockstep_codegen::target::ia64::pipeline::{self, LoopReport};
use simulate::ia64::{Arg, Limits, Memory, Program, run};

/// A function `f` of `double *p`, `float *q`, `int *k` and of a number of elements; it leaves its sums in `p`.
const CASES: &[(&str, &str)] = &[
    (
        "a product",
        "void f(double *restrict p, const float *restrict q, const int *restrict k, long n) {
            double s = p[0]; for (long i = 0; i < n; i++) s += p[1 + i] * p[2 + i]; p[0] = s; }",
    ),
    (
        "of a sparse row",
        "void f(double *restrict p, const float *restrict q, const int *restrict k, long n) {
            double s = 0.5; for (long i = 0; i < n; i++) s += p[i] * p[k[i]]; p[0] = s; }",
    ),
    (
        "single",
        "void f(double *restrict p, const float *restrict q, const int *restrict k, long n) {
            float s = q[0]; for (long i = 0; i < n; i++) s = q[i] + s; p[0] = s; }",
    ),
    (
        "subtracted",
        "void f(double *restrict p, const float *restrict q, const int *restrict k, long n) {
            double s = 3.0, t = -4.0; for (long i = 0; i < n; i++) { s -= p[i]; t -= p[i] * p[i + 1]; } p[0] = s; p[1] = t; }",
    ),
    (
        "two additions a round",
        "void f(double *restrict p, const float *restrict q, const int *restrict k, long n) {
            double s = p[3]; for (long i = 0; i < n; i++) { s += p[i]; s += p[i] * p[i + 1]; } p[0] = s; }",
    ),
    (
        "that ends early",
        "void f(double *restrict p, const float *restrict q, const int *restrict k, long n) {
            double s = p[3]; for (long i = 0; i < n; i++) { if (k[i] == 9) break; s += p[i]; } p[0] = s; }",
    ),
    (
        "that ends early behind it",
        "void f(double *restrict p, const float *restrict q, const int *restrict k, long n) {
            double s = p[3]; for (long i = 0; i < n; i++) { s += p[i]; if (k[i] == 9) break; } p[0] = s; }",
    ),
    (
        "that is read",
        "void f(double *restrict p, const float *restrict q, const int *restrict k, long n) {
            double s = p[3]; for (long i = 0; i < n; i++) { s += q[i]; p[i] = s; } }",
    ),
    (
        "under a condition",
        "void f(double *restrict p, const float *restrict q, const int *restrict k, long n) {
            double s = p[3]; for (long i = 0; i < n; i++) if (k[i] > 4) s += q[i]; p[0] = s; }",
    ),
];

const ELEMENTS: usize = 48;

/// Returns the array that `f` leaves in `p`, which begins so many bytes behind a multiple of 16. `doubles`:
/// so is `q`.
fn left(text: &str, n: u64, apart: u64, doubles: bool) -> Vec<u8> {
    let document = syntax::ia64::parse(text);
    let (program, problems) = Program::new(&document, text);
    assert_eq!(problems, [], "{text}");
    let mut memory = Memory::new();
    let number = |at: usize| ((at * 37 + 11) % 23) as f64 - 9.0;
    let wide = |from: usize| -> Vec<u8> {
        let all = (from..from + ELEMENTS).map(number);
        all.flat_map(f64::to_le_bytes).collect()
    };
    let single = (7..7 + ELEMENTS).map(|at| number(at) as f32);
    let single: Vec<u8> = single.flat_map(f32::to_le_bytes).collect();
    let first = wide(0);
    let second = if doubles { wide(7) } else { single };
    let ints: Vec<u8> = (0..ELEMENTS as u32)
        .flat_map(|at| ((at * 5 + 1) % 31).to_le_bytes())
        .collect();
    let p = memory.place(&first).expect("room");
    let q = memory.place(&second).expect("room");
    let k = memory.place(&ints).expect("room");
    assert!(p.is_multiple_of(16) && q.is_multiple_of(16));
    let arguments = [p + apart, q + apart, k, n].map(Arg::Integer);
    let outcome = run(&program, "f", &arguments, &mut memory, &Limits::default());
    let outcome = outcome.unwrap_or_else(|fault| panic!("{fault}\n{text}"));
    assert_eq!(
        (outcome.violations, outcome.changed),
        (vec![], vec![]),
        "{text}"
    );
    memory.bytes(p, first.len()).expect("mapped").to_vec()
}

#[test]
fn sums_that_take_turns_are_the_same_sooner() {
    let mut shorter = Vec::new();
    for machine in ["itanium", "itanium2"] {
        for &(name, source) in CASES {
            for unroll in [Some(1), Some(2), Some(3), None] {
                let ordered = pipeline::Options {
                    unroll,
                    ..pipeline::Options::default()
                };
                let permitted = pipeline::Options {
                    reassociate: true,
                    ..ordered
                };
                let (plain, _) = emitted(source, machine, None);
                let (_, before) = emitted(source, machine, Some(ordered));
                let (text, after) = emitted(source, machine, Some(permitted));
                assert_eq!(before[0].sums, 1, "{name}");
                let each = |report: &LoopReport| {
                    f64::from(report.ii.unwrap_or(report.unpipelined)) / f64::from(report.unrolled)
                };
                assert!(each(&after[0]) <= each(&before[0]), "{name}\n{text}");
                if each(&after[0]) < each(&before[0]) {
                    shorter.push(format!(
                        "{machine}, {name}, {unroll:?}: {} to {}, {} sums",
                        each(&before[0]),
                        each(&after[0]),
                        after[0].sums
                    ));
                }
                for n in 0..30 {
                    let same = left(&text, n, 0, false) == left(&plain, n, 0, false);
                    assert!(same, "{machine}, {name}, {n} elements, {unroll:?}\n{text}");
                }
            }
        }
    }
    for line in &shorter {
        println!("{line}");
    }
    assert!(shorter.len() > 30, "{}", shorter.len());
}

/// The sparse row product of the case study, from its plain source, has the interval that the paper shows, with the two
/// streams fetched ahead that its compiler fetches.
#[test]
fn the_sparse_row_has_an_interval_of_three_on_itanium() {
    let (_, source) = CASES[1];
    for (prefetch, interval) in [(false, 2), (true, 3)] {
        let options = pipeline::Options {
            reassociate: true,
            prefetch,
            unroll: Some(1),
            ..pipeline::Options::default()
        };
        let (text, reports) = emitted(source, "itanium", Some(options));
        assert_eq!(reports[0].ii, Some(interval), "{text}");
        assert_eq!(
            text.matches("lfetch").count(),
            if prefetch { 2 } else { 0 },
            "{text}"
        );
    }
}

/// Prefetches change nothing but cycles, wherever the streams end.
#[test]
fn streams_fetched_ahead_leave_the_same() {
    let mut streams = 0;
    for machine in ["itanium", "itanium2"] {
        for &(name, source) in CASES {
            for unroll in [Some(1), Some(2), None] {
                let options = pipeline::Options {
                    prefetch: true,
                    unroll,
                    ..pipeline::Options::default()
                };
                let (plain, _) = emitted(source, machine, None);
                let (text, reports) = emitted(source, machine, Some(options));
                let Some(found) = reports[0].prefetched.filter(|_| reports[0].pipelined) else {
                    continue;
                };
                streams += found.streams;
                let written = text.matches("lfetch").count() as u32;
                assert_eq!(written, found.streams, "{text}");
                for n in 0..30 {
                    assert!(
                        left(&text, n, 0, false) == left(&plain, n, 0, false),
                        "{machine}, {name}, {n}\n{text}"
                    );
                }
            }
        }
    }
    assert!(streams > 60, "{streams}");
}

const NEIGHBOURS: &[(&str, &str)] = &[
    (
        "two streams",
        "void f(double *restrict p, double *restrict q, const int *restrict k, long n) {
            for (long i = 0; i < n; i++) p[i] -= 2.0 * q[i]; }",
    ),
    (
        "complex numbers",
        "void f(double *restrict p, double *restrict q, const int *restrict k, long n) {
            for (long i = 0; i + 1 < n; i += 2) { double x = p[i], y = p[i + 1]; p[i] = x * q[i] - y * q[i + 1]; p[i + 1] = x * q[i + 1] + y * q[i]; } }",
    ),
    (
        "singles",
        "void f(float *restrict p, float *restrict q, const int *restrict k, long n) {
            for (long i = 0; i < n; i++) p[i] += q[i]; }",
    ),
    (
        "backwards",
        "void f(double *restrict p, double *restrict q, const int *restrict k, long n) {
            for (long i = n - 1; i >= 0; i--) p[i] = p[i] * 0.5 + q[i]; }",
    ),
    (
        "a sum",
        "void f(double *restrict p, double *restrict q, const int *restrict k, long n) {
            double s = 0; for (long i = 0; i < n; i++) s += p[i] * q[i]; p[0] = s; }",
    ),
    (
        "what may meet",
        "void f(double *p, double *q, const int *k, long n) {
            for (long i = 0; i < n; i++) p[i] += q[i]; }",
    ),
    (
        "what meets",
        "void f(double *restrict p, double *restrict q, const int *restrict k, long n) {
            for (long i = 0; i < n; i++) p[i + 1] = p[i] + q[i]; }",
    ),
    (
        "under a condition",
        "void f(double *restrict p, double *restrict q, const int *restrict k, long n) {
            for (long i = 0; i < n; i++) if (k[i] > 9) p[i] = q[i]; }",
    ),
];

#[test]
fn pairs_of_neighbours_are_loaded_at_once() {
    let mut shorter = Vec::new();
    for machine in ["itanium", "itanium2"] {
        for &(name, source) in NEIGHBOURS {
            for reassociate in [false, true] {
                let single = pipeline::Options {
                    reassociate,
                    ..pipeline::Options::default()
                };
                let asked = pipeline::Options {
                    pairs: true,
                    ..single
                };
                let (plain, _) = emitted(source, machine, None);
                let (_, before) = emitted(source, machine, Some(single));
                let (text, after) = emitted(source, machine, Some(asked));
                let each = |report: &LoopReport| {
                    f64::from(report.ii.unwrap_or(report.unpipelined)) / f64::from(report.unrolled)
                };
                let (before, after) = (&before[0], &after[0]);
                assert!(each(after) <= each(before), "{name}\n{text}");
                let written = text.matches("ldfp").count() as u32;
                assert_eq!(written, after.loads.pairs, "{name}\n{text}");
                if after.loads.pairs > 0 {
                    shorter.push(format!(
                        "{machine}, {name}: {} to {}, {} pairs",
                        each(before),
                        each(after),
                        after.loads.pairs
                    ));
                }
                // Sums are of numbers that are added without rounding.
                for (n, apart) in (0..30).flat_map(|n| [0, 4, 8].map(|apart| (n, apart))) {
                    let doubles = !source.contains("float");
                    if apart == 4 && doubles {
                        continue;
                    }
                    let same = left(&text, n, apart, doubles) == left(&plain, n, apart, doubles);
                    assert!(
                        same,
                        "{machine}, {name}, {n} elements, {apart} bytes\n{text}"
                    );
                }
            }
        }
    }
    for line in &shorter {
        println!("{line}");
    }
    assert!(shorter.len() >= 10, "{shorter:?}");
}
