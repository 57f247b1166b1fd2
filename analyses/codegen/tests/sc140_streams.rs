//! Loops whose bodies are repeated and whose accesses are joined: what they compute, and in how many cycles. Random kernels with
//! promises, `LOCKSTEP_C_KERNELS` of them from the seed `LOCKSTEP_FIRST` on.
#![allow(clippy::disallowed_methods)]

#[path = "support/sc140.rs"]
mod sc140;

use lockstep_codegen::machine;
use lockstep_codegen::target::sc140::emit::{Emitted, Options, emit};
use oracle::random::c::{Kernel, Scalar, streams};
use sc140::{interpreted, kernel_of, module_of};
use simulate::sc140::Outcome;

fn setting(name: &str, default: u64) -> u64 {
    let given = std::env::var(name).ok();
    given.and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Emits a kernel and holds the simulator's outcome against the interpreter's.
fn judge(kernel: &Kernel, options: &Options) -> (Emitted, Outcome) {
    let table = machine::named("sc140").expect("a table");
    let sets = table.sets().expect("execution sets");
    let module = module_of(&kernel.text, &kernel.name);
    let emitted = emit(&module, sets, options);
    let emitted = emitted.unwrap_or_else(|reasons| panic!("{reasons:?}\n{}", kernel.text));
    let told = || format!("seed {}\n{}\n{}", kernel.seed, kernel.text, emitted.text);
    assert_eq!(sc140::broken(&emitted.text), [""; 0], "{}", told());
    let expected = interpreted(kernel, &module);
    let outcome = sc140::agrees(kernel, &expected, &emitted.text);
    let outcome = outcome.unwrap_or_else(|why| panic!("{why}\n{}", told()));
    (emitted, outcome)
}

#[test]
fn random_streams_compute_the_same() {
    let count = setting("LOCKSTEP_C_KERNELS", 250);
    let first = setting("LOCKSTEP_FIRST", 0);
    let (mut wide, mut pipelined, mut whole, mut beyond) = (0, 0, 0, 0);
    for seed in first..first + count {
        let options = Options {
            pipeline: !seed.is_multiple_of(3),
            fewer: [0, 0, 0, 6][seed as usize % 4],
            total: seed.is_multiple_of(2),
            big_endian: false,
            ..Options::default()
        };
        let (emitted, _) = judge(&streams(seed), &options);
        let joined = |line: &str| ["move.2", "move.4"].iter().any(|name| line.contains(name));
        wide += u64::from(emitted.text.lines().any(joined));
        let loops = || {
            emitted
                .functions
                .iter()
                .flat_map(|function| &function.loops)
        };
        pipelined += u64::from(loops().any(|it| it.stages > 1));
        whole += u64::from(loops().any(|it| it.whole));
        beyond += u64::from(loops().any(|it| it.beyond > 0));
    }
    println!(
        "{count} kernels computed the same; {wide} with wide accesses, {pipelined} pipelined, {whole} without a rest, {beyond} with reads behind the end"
    );
    assert!(
        wide * 4 >= count && whole * 50 >= count && beyond * 250 >= count,
        "{wide} {whole} {beyond}"
    );
}

/// A kernel of arrays of short numbers and a count.
fn kernel(text: &str, name: &str, arrays: &[(&str, Vec<i16>)], count: i64) -> Kernel {
    let arrays = arrays.iter().map(|(name, numbers)| {
        let numbers = numbers.iter().map(|&number| number.into());
        (*name, Scalar::Short, numbers.collect())
    });
    let arrays: Vec<(&str, Scalar, Vec<i64>)> = arrays.collect();
    let returns = text.contains(&format!("int {name}("));
    kernel_of(text, name, returns, &arrays, count)
}

fn numbers(count: usize, by: i64) -> Vec<i16> {
    (0..count as i64)
        .map(|at| (at * by * 7919 % 61_001 - 30_500) as i16)
        .collect()
}

const DOT: &str = "int dot(const short *restrict a, const short *restrict b, int n) {
#pragma lockstep aligned(a, 8)
#pragma lockstep aligned(b, 8)
    unsigned s = 0;
#pragma lockstep rounds(8, 4096, 4)
    for (int i = 0; i < n; i++) s += (unsigned)(a[i] * b[i]);
    return (int)s;
}
";

const SIGNED_DOT: &str = "int dot(const short *restrict a, const short *restrict b, int n) {
#pragma lockstep aligned(a, 8)
#pragma lockstep aligned(b, 8)
    int s = 0;
#pragma lockstep rounds(8, 4096, 4)
    for (int i = 0; i < n; i++) s += a[i] * b[i];
    return s;
}
";

const WIDE_DOT: &str = "typedef short Word16;
typedef int Word32;
Word40 X_mac(Word40, Word16, Word16);
Word32 X_trunc(Word40);
Word32 dot(const Word16 *restrict a, const Word16 *restrict b, int n) {
#pragma lockstep aligned(a, 8)
#pragma lockstep aligned(b, 8)
    Word40 s = 0;
#pragma lockstep rounds(8, 4096, 4)
    for (int i = 0; i < n; i++) s = X_mac(s, a[i], b[i]);
    return X_trunc(s);
}
";

const FIR: &str = "typedef short Word16;
typedef int Word32;
Word32 L_mac(Word32, Word16, Word16);
Word16 round(Word32);
void fir(const Word16 *restrict x, const Word16 *restrict c, Word16 *restrict y, int taps) {
#pragma lockstep aligned(x, 8)
#pragma lockstep aligned(c, 8)
#pragma lockstep aligned(y, 8)
    Word32 a0 = 0, a1 = 0, a2 = 0, a3 = 0;
#pragma lockstep rounds(8, 4096, 4)
    for (int k = 0; k < taps; k++) {
        a0 = L_mac(a0, x[k], c[k]);
        a1 = L_mac(a1, x[k + 1], c[k]);
        a2 = L_mac(a2, x[k + 2], c[k]);
        a3 = L_mac(a3, x[k + 3], c[k]);
    }
    y[0] = round(a0);
    y[1] = round(a1);
    y[2] = round(a2);
    y[3] = round(a3);
}
";

/// A counter that goes on where the loop was left the last time begins at no known number.
#[test]
fn counters_that_are_kept_go_on() {
    let text = "int f(const short *x, int n) {
    unsigned s = 1;
    int j = 0;
    for (int i = 0; i < n; i++) {
        while (j < 2 * i + 1) { s += (unsigned)x[j]; j++; }
        s = s * 3u;
    }
    return (int)s;
}
";
    let options = Options {
        big_endian: false,
        ..Options::default()
    };
    for count in [1, 4, 9] {
        judge(
            &kernel(text, "f", &[("x", numbers(24, 3))], count),
            &options,
        );
    }
}

/// Cycles of the two loops for which published code is known, against those of that code.
#[test]
fn promised_loops_are_as_short_as_by_hand() {
    let options = Options {
        big_endian: false,
        ..Options::default()
    };
    for count in [8, 16, 40, 64, 160] {
        let small = |by| {
            numbers(count, by)
                .iter()
                .map(|number| number / 64)
                .collect()
        };
        for (text, a, b) in [
            (DOT, numbers(count, 3), numbers(count, 5)),
            (SIGNED_DOT, small(3), small(5)),
            (WIDE_DOT, numbers(count, 7), numbers(count, 9)),
        ] {
            let made = kernel(text, "dot", &[("a", a), ("b", b)], count as i64);
            let (emitted, outcome) = judge(&made, &options);
            let (cycles, by_hand) = (outcome.cycles.total(), 10 + count as u64 / 4);
            println!("dot product of {count}: {cycles} cycles, by hand {by_hand}");
            assert!(cycles <= by_hand, "{cycles} {by_hand}\n{}", emitted.text);
        }
        let arrays = [
            ("x", numbers(count + 4, 11)),
            ("c", numbers(count, 13)),
            ("y", vec![0; 4]),
        ];
        let (emitted, outcome) = judge(&kernel(FIR, "fir", &arrays, count as i64), &options);
        let (cycles, by_hand) = (outcome.cycles.total(), 10 + count as u64);
        println!("four outputs of {count} taps: {cycles} cycles, by hand {by_hand}");
        assert!(cycles <= by_hand, "{cycles} {by_hand}\n{}", emitted.text);
    }
}

/// The loops of a text with pragmas, in front of a body that is otherwise the same.
fn promising(text: &str, pragmas: &str) -> String {
    text.replacen("{\n", &format!("{{\n{pragmas}"), 1)
}

/// A permission to read behind the end saves the second loop for what is left, and no byte more is read: behind the arrays nothing
/// is mapped.
#[test]
fn reads_behind_the_end_are_those_that_are_promised() {
    let dot = "int dot(const short *a, const short *b, int n) {
    unsigned s = 0;
    for (int i = 0; i < n; i++) s += (unsigned)(a[i] * b[i]);
    return (int)s;
}
";
    let mixed = "int mixed(const short *a, const short *b, int n) {
    int s = 0;
    for (int i = 0; i < n; i++) s ^= a[i] * b[i];
    return s;
}
";
    for (name, text) in [("dot", dot), ("mixed", mixed)] {
        let both = |bytes: u32| {
            promising(
                text,
                &format!(
                    "#pragma lockstep readable(a, {bytes})\n#pragma lockstep readable(b, {bytes})\n"
                ),
            )
        };
        let behind = |text: &str, count: usize, more: usize| {
            let arrays = [
                ("a", numbers(count + more, 3)),
                ("b", numbers(count + more, 5)),
            ];
            let (emitted, _) = judge(
                &kernel(text, name, &arrays, count as i64),
                &Options::default(),
            );
            emitted.functions[0].loops[0].clone()
        };
        let plain = behind(text, 5, 0);
        assert!(plain.has_rest() && plain.beyond == 0, "{name}: {plain:?}");
        // The least that is enough, and a byte less.
        let found = behind(&both(64), 5, 32);
        let bytes = found.beyond;
        assert!(
            !found.has_rest() && bytes > 0 && bytes % 2 == 0,
            "{name}: {found:?}"
        );
        let less = behind(&both(bytes - 1), 5, 0);
        assert!(less.has_rest() && less.beyond == 0, "{name}: {less:?}");
        for count in 1..20 {
            let own = behind(&both(bytes), count, bytes as usize / 2);
            assert_eq!(
                (own.has_rest(), own.interval),
                (false, plain.interval),
                "{name}"
            );
        }
        // One array alone.
        let single = promising(text, &format!("#pragma lockstep readable(a, {bytes})\n"));
        assert!(behind(&single, 5, 0).has_rest(), "{name}");
    }
}

/// What the code behind the loop reads is not what an iteration leaves that is none.
#[test]
fn iterations_that_are_none_leave_nothing() {
    let last = "int last(const short *a, int n) {
#pragma lockstep readable(a, 64)
    int s = 0;
    short v = 0;
    const short *p = a;
    for (int i = 0; i < n; i++) { v = *p++; s += v * 3; }
    return s + 7 * v + (int)(p - a);
}
";
    let stored = "int stored(const short *a, short *restrict b, int n) {
#pragma lockstep readable(a, 64)
#pragma lockstep readable(b, 64)
    int s = 0;
    for (int i = 0; i < n; i++) { b[i] = (short)(a[i] + 1); s += b[i]; }
    return s;
}
";
    for count in 1..12 {
        let a = ("a", numbers(count + 32, 3));
        let b = ("b", numbers(count + 32, 5));
        let (options, rounds) = (Options::default(), count as i64);
        judge(
            &kernel(last, "last", std::slice::from_ref(&a), rounds),
            &options,
        );
        judge(&kernel(stored, "stored", &[a, b], rounds), &options);
    }
}
