//! Loops whose pointers may overlap, with all ways of treating that: accesses in order, a test in front of
//! the loop, loads above stores with checks. All compute the same as the loop that is not pipelined, wherever
//! the pointers lead, with a table of advanced loads of any size, and where nothing overlaps they have the
//! predicted interval.
#![allow(clippy::disallowed_methods)]

#[path = "support/emitted.rs"]
mod emitted;

use emitted::emitted;
use lockstep_codegen::target::ia64::pipeline::{self, Disambiguation};
use simulate::ia64::{Arg, Limits, Memory, Program, Timing, run};

/// A function `f` of pointers `p`, `q`, `r` into one piece of memory and of a number of elements.
struct Case {
    name: &'static str,
    source: &'static str,
    /// Bytes of an element, which places are multiples of.
    element: u64,
    /// The last pointer leads to small numbers that nothing else reaches.
    indices: bool,
}

const fn case(name: &'static str, element: u64, source: &'static str) -> Case {
    Case {
        name,
        source,
        element,
        indices: false,
    }
}

const fn indexed(name: &'static str, element: u64, source: &'static str) -> Case {
    Case {
        indices: true,
        ..case(name, element, source)
    }
}

const CASES: &[Case] = &[
    case(
        "sum of products",
        8,
        "long f(double *p, double *q, double *r, long n) {
            for (long i = 0; i < n; i++) p[i] += 3.0 * q[i]; return n; }",
    ),
    case(
        "three streams",
        8,
        "long f(long *p, long *q, long *r, long n) {
            for (long i = 0; i < n; i++) p[i] = q[i] + r[i]; return n; }",
    ),
    case(
        "of bytes by pointers",
        1,
        "long f(unsigned char *p, unsigned char *q, unsigned char *r, int n) {
            while (n-- > 0) *p++ = *q++ + *r++; return p[0]; }",
    ),
    case(
        "backwards",
        4,
        "long f(int *p, int *q, int *r, int n) {
            for (int i = n - 1; i >= 0; i--) p[i] = q[i] + 1; return r[0]; }",
    ),
    case(
        "against each other",
        4,
        "long f(int *p, int *q, int *r, int n) {
            for (int i = 0; i < n; i++) p[i] = q[n - i] * 5; return r[0]; }",
    ),
    case(
        "with steps",
        4,
        "long f(int *p, int *q, int *r, long n) {
            for (long i = 0; i < n; i++) p[2 * i] = q[3 * i] + r[i]; return n; }",
    ),
    case(
        "into one place",
        8,
        "long f(long *p, long *q, long *r, long n) {
            for (long i = 0; i < n; i++) *p += q[i]; return *p; }",
    ),
    case(
        "neighbours",
        8,
        "long f(double *p, double *q, double *r, long n) {
            for (long i = 1; i < n; i++) p[i] = q[i - 1] + q[i + 1] - r[i]; return n; }",
    ),
    case(
        "two stores",
        8,
        "long f(long *p, long *q, long *r, long n) {
            for (long i = 0; i < n; i++) { long x = r[i]; p[i] = x + 1; q[i] = p[i] ^ x; } return n; }",
    ),
    case(
        "rows",
        8,
        "long f(double *p, double *q, double *r, long n) {
            double k = q[0]; for (long i = 0; i < n; i++) p[2 * n + i] -= k * p[n + i]; return n; }",
    ),
    case(
        "under a condition",
        4,
        "long f(int *p, int *q, int *r, int n) {
            int s = 0; for (int i = 0; i < n; i++) { if (q[i] > r[i]) p[i] = q[i] - 1; s += q[i]; } return s; }",
    ),
    case(
        "until a number",
        4,
        "long f(int *p, int *q, int *r, long n) {
            long i = 0; for (;;) { if (i >= n) break; if (q[i] == 77) break; p[i] = q[i] + r[i]; i++; } return i; }",
    ),
    case(
        "until zero",
        1,
        "long f(unsigned char *p, unsigned char *q, unsigned char *r, long n) {
            long c = 0; while (n-- > 0 && (*p++ = *q++) != 0) c++; return c; }",
    ),
    case(
        "carried and stored",
        8,
        "long f(long *p, long *q, long *r, long n) {
            long s = 1; for (long i = 0; i < n; i++) { s = s * 3 + q[i]; p[i] = s; } return s; }",
    ),
    indexed(
        "histogram",
        8,
        "long f(double *p, double *q, const int *k, long n) {
            for (long i = 0; i < n; i++) p[k[i]] += q[i]; return n; }",
    ),
    indexed(
        "histogram of numbers",
        8,
        "long f(long *p, long *q, const int *k, int n) {
            for (int i = 0; i < n; i++) p[k[i]] += q[i]; return n; }",
    ),
    indexed(
        "gather and scatter",
        8,
        "long f(long *p, long *q, const int *k, long n) {
            long s = 0; for (long i = 0; i < n; i++) { long x = q[k[i]]; p[k[n - 1 - i]] = x + i; s ^= x; } return s; }",
    ),
    indexed(
        "gather of a gather",
        8,
        "long f(long *p, long *q, const int *k, long n) {
            for (long i = 0; i < n; i++) { long x = q[k[i]] & 31; p[i] = q[x] + x; } return n; }",
    ),
    indexed(
        "chain",
        8,
        "long f(long *p, long *q, const int *k, long n) {
            long at = 0; for (long i = 0; i < n; i++) { p[k[i]] = at & 15; at = q[at & 31] & 31; } return at; }",
    ),
    indexed(
        "least",
        4,
        "long f(int *p, int *q, const int *k, int n) {
            for (int i = 0; i < n; i++) { int x = q[i]; if (p[k[i]] > x) p[k[i]] = x; } return n; }",
    ),
];

struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// Returns the outcome of an execution: its result, all memory, and its cycles.
fn left(
    text: &str,
    memory: &Memory,
    (base, bytes): (u64, usize),
    arguments: &[Arg],
    advanced: usize,
    timing: Option<Timing>,
) -> (Option<u64>, Vec<u8>, u64) {
    let document = syntax::ia64::parse(text);
    let (program, problems) = Program::new(&document, text);
    assert_eq!(problems, [], "{text}");
    let limits = Limits {
        advanced,
        deferred: (advanced == 3).then_some(7),
        timing,
        ..Limits::default()
    };
    let mut memory = memory.clone();
    let outcome = run(&program, "f", arguments, &mut memory, &limits);
    let outcome = outcome.unwrap_or_else(|fault| panic!("{fault}\n{text}"));
    assert_eq!(outcome.violations, [], "{text}");
    assert_eq!(outcome.changed, [], "{text}");
    let bytes = memory.bytes(base, bytes).expect("mapped").to_vec();
    (outcome.result, bytes, outcome.cycles.unwrap_or(0))
}

const BYTES: usize = 4096;

/// Memory, its start, and where the pointers lead: `apart` to places of their own, else wherever.
fn launch(case: &Case, n: u64, apart: bool, numbers: &mut Numbers) -> (Memory, u64, Vec<Arg>) {
    let mut memory = Memory::new();
    let small = |_| (numbers.below(200)) as u8;
    let mut bytes: Vec<u8> = (0..BYTES).map(small).collect();
    if case.element == 8 && case.source.contains("double") {
        for chunk in bytes.chunks_exact_mut(8) {
            let number = (numbers.below(64) as f64 - 20.0) * 0.25;
            chunk.copy_from_slice(&number.to_le_bytes());
        }
    }
    let base = memory.place(&bytes).expect("room");
    let near = 1 + numbers.below(12);
    let mut place = |number: u64| {
        let elements = match apart {
            true => (1 + number) * (BYTES as u64 / case.element / 4),
            false => 130 + numbers.below(near),
        };
        base + elements * case.element
    };
    let mut arguments: Vec<Arg> = (0..3).map(|it| Arg::Integer(place(it))).collect();
    if case.indices {
        let indices: Vec<u8> = (0..64u32)
            .flat_map(|at| {
                let near = numbers.below(near) as u32;
                // Where nothing is to meet, each once.
                let index = if apart { at * 5 % 64 } else { near };
                index.to_le_bytes()
            })
            .collect();
        let place = memory.place(&indices).expect("room");
        arguments[2] = Arg::Integer(place);
    }
    arguments.push(Arg::Integer(n));
    (memory, base, arguments)
}

fn all_ways() -> Vec<Option<Disambiguation>> {
    let ways = Disambiguation::ALL.into_iter().map(Some);
    ways.chain([None]).collect()
}

#[test]
fn wherever_pointers_lead_all_ways_compute_the_same() {
    let mut seen = [0u32; 3];
    for machine in ["itanium", "itanium2"] {
        for case in CASES {
            let (plain, _) = emitted(case.source, machine, None);
            for way in all_ways() {
                let options = pipeline::Options {
                    disambiguation: way,
                    ..pipeline::Options::default()
                };
                let (text, loops) = emitted(case.source, machine, Some(options));
                let way = loops[0].disambiguation();
                seen[way as usize] += 1;
                let mut numbers = Numbers(case.name.len() as u64);
                for round in 0..60 {
                    let n = round % 27;
                    let (memory, base, arguments) = launch(case, n, false, &mut numbers);
                    let of = (base, BYTES);
                    let expected = left(&plain, &memory, of, &arguments, 32, None);
                    for entries in [32, 3, 1, 0] {
                        let found = left(&text, &memory, of, &arguments, entries, None);
                        let same = (found.0, &found.1) == (expected.0, &expected.1);
                        assert!(
                            same,
                            "{machine}, {}, {way}, {n} elements, {entries} entries: {arguments:?}\n{text}",
                            case.name
                        );
                        if way != Disambiguation::DataSpeculation {
                            break;
                        }
                    }
                }
            }
        }
    }
    println!("in order, tested, speculated: {seen:?}");
    assert!(seen.iter().all(|&count| count > 20), "{seen:?}");
}

/// An iteration takes the predicted interval where nothing overlaps.
#[test]
fn an_iteration_takes_the_predicted_interval() {
    for case in CASES {
        for way in all_ways() {
            let options = pipeline::Options {
                disambiguation: way,
                ..pipeline::Options::default()
            };
            let (text, loops) = emitted(case.source, "itanium2", Some(options));
            let report = &loops[0];
            let told: Vec<String> = report
                .ways
                .iter()
                .map(|(way, ii)| format!("{way} {ii}"))
                .collect();
            let ii = report.ii.unwrap_or(0);
            let mut cycles = [0; 2];
            for (cycles, n) in cycles.iter_mut().zip([24, 36]) {
                let mut numbers = Numbers(5);
                let (memory, base, arguments) = launch(case, n, true, &mut numbers);
                let timing = Some(Timing::itanium2());
                *cycles = left(&text, &memory, (base, BYTES), &arguments, 32, timing).2;
            }
            let each = (cycles[1] - cycles[0]) as f64 / 12.0;
            println!(
                "{:<22} {:<40} {ii}/{} pipelined {} advanced {} tests {}: {each} cycles",
                case.name,
                told.join(", "),
                report.unrolled,
                report.pipelined,
                report.loads.advanced,
                report.tests,
            );
            let said = f64::from(ii) / f64::from(report.unrolled);
            if report.pipelined {
                let name = case.name;
                assert!(
                    (each - said).abs() < 1e-9,
                    "{name}: {each} for {said}\n{text}"
                );
            }
        }
    }
}
