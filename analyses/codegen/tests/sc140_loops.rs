//! Loops of codecs as SC140 code: what they compute, and in how many cycles an iteration.
#![allow(clippy::disallowed_methods)]

#[path = "support/sc140.rs"]
mod sc140;

use lockstep_codegen::machine;
use lockstep_codegen::target::sc140::emit::{Emitted, Options, emit};
use oracle::interp::{Buffer, Launch, run};
use sc140::{module_of, simulated};
use simulate::sc140::Arg;

/// An argument: a number, or the address of a buffer of numbers.
#[derive(Clone, Debug)]
enum Given {
    Int(i32),
    Shorts(Vec<i16>),
}

/// Deterministic numbers.
fn numbers(seed: u32, count: usize) -> Vec<i16> {
    let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(12_345);
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) as i16
    };
    (0..count).map(|_| next()).collect()
}

/// Emits the function, and holds the simulator's memory and result against the interpreter's; returns the cycles.
fn judge(text: &str, name: &str, given: &[Given], pipeline: bool) -> (Emitted, u64) {
    let module = module_of(text, name);
    let table = machine::named("sc140").expect("a table");
    let sets = table.sets().expect("execution sets");
    let options = Options {
        pipeline,
        big_endian: false,
        ..Options::default()
    };
    let emitted = emit(&module, sets, &options).unwrap_or_else(|reasons| panic!("{reasons:?}"));
    let mut launch = Launch::new(1);
    launch.warp_size = 1;
    let (mut buffers, mut arguments) = (Vec::new(), Vec::new());
    for argument in given {
        let bytes: Vec<u8> = match argument {
            Given::Shorts(all) => all.iter().flat_map(|it| it.to_le_bytes()).collect(),
            Given::Int(number) => {
                arguments.push(Some(Arg::Long(*number)));
                let bits = i64::from(*number) as u64;
                launch.parameters.push(oracle::interp::Argument::Bits(bits));
                continue;
            }
        };
        let pointer = oracle::interp::Argument::Pointer {
            buffer: buffers.len(),
            offset: 0,
        };
        launch.parameters.push(pointer);
        launch.buffers.push(Buffer::global(bytes.clone()));
        buffers.push(bytes);
        arguments.push(None);
    }
    let expected = run(&module, &launch);
    assert_eq!(expected.error, None);
    let told = || format!("{text}\n{}", emitted.text);
    assert_eq!(sc140::broken(&emitted.text), [""; 0], "{}", told());
    let found = simulated(&emitted.text, &format!("_{name}"), &buffers, &arguments);
    let (outcome, left) = found.unwrap_or_else(|fault| panic!("{fault}\n{}", told()));
    for (left, after) in left.iter().zip(&expected.buffers) {
        assert!(*left == after.bytes, "{}", told());
    }
    if let Some(wanted) = expected.returned.first() {
        assert_eq!(outcome.data[0] as i32, wanted[0] as i32, "{}", told());
    }
    let cycles = outcome.cycles.total();
    (emitted, cycles)
}

/// Loops of codecs, each with the interval that its units permit.
const LOOPS: [(&str, &str, u32); 5] = [
    (
        "dot",
        "int dot(const short *a, const short *b, int n) {
    int s = 0;
    for (int i = 0; i < n; i++) s += a[i] * b[i];
    return s;
}",
        1,
    ),
    (
        "energy",
        "typedef short Word16; typedef int Word32;
Word32 L_mac(Word32, Word16, Word16);
Word32 energy(const Word16 *x, const Word16 *unused, Word32 n) {
    Word32 s = 0;
    Word16 i, m = (Word16)n;
    for (i = 0; i < m; i++) s = L_mac(s, x[i], x[i]);
    return s;
}",
        1,
    ),
    (
        "correlation",
        "typedef short Word16; typedef int Word32;
Word32 L_msu(Word32, Word16, Word16);
Word32 correlation(const Word16 *x, const Word16 *y, Word32 n) {
    Word32 s = 0;
    for (Word32 i = 0; i < n; i++) s = L_msu(s, x[i], y[i]);
    return s;
}",
        1,
    ),
    (
        "scaled",
        "typedef short Word16; typedef int Word32;
Word32 L_mult(Word16, Word16); Word16 round(Word32);
int scaled(Word16 *restrict y, const Word16 *restrict x, Word32 n) {
    for (Word32 i = 0; i < n; i++) y[i] = round(L_mult(x[i], x[i]));
    return 0;
}",
        1,
    ),
    (
        "summed",
        "typedef short Word16; typedef int Word32;
Word32 L_add(Word32, Word32); Word32 L_deposit_h(Word16);
int summed(const Word16 *x, const Word16 *y, Word32 n) {
    Word32 s = 0;
    for (Word32 i = 0; i < n; i++) s = L_add(s, L_deposit_h(x[i]));
    return s;
}",
        1,
    ),
];

/// A loop of random statements over arrays and a table.
fn random_loop(seed: u32) -> String {
    let mut state = numbers(seed, 64)
        .into_iter()
        .map(|number| number as u16 as usize);
    let mut draw = |below: usize| state.next().map_or(0, |number| number % below);
    let mut body = String::new();
    for _ in 0..1 + draw(4) {
        let factors = [
            "x[i]",
            "y[i]",
            "x[i + 1]",
            "w[i & 3]",
            "w[y[i] & 3]",
            "(Word16)t",
        ];
        let (a, b) = (factors[draw(6)], factors[draw(6)]);
        body += &match draw(6) {
            0 => format!("s = L_mac(s, {a}, {b}); "),
            1 => format!("s = L_msu(s, {a}, {b}); "),
            2 => format!("u += {a} * {b}; "),
            3 => format!("out[i] = round(L_mult({a}, {b})); "),
            4 => format!("t ^= {a}; "),
            _ => format!("s = L_add(s, L_deposit_h({a})); "),
        };
    }
    format!(
        "typedef short Word16; typedef int Word32;
Word32 L_mac(Word32, Word16, Word16); Word32 L_msu(Word32, Word16, Word16); Word32 L_mult(Word16, Word16);
Word32 L_add(Word32, Word32); Word32 L_deposit_h(Word16); Word16 round(Word32);
static const Word16 w[4] = {{ 1, -2, 30000, -32768 }};
Word32 f(const Word16 *restrict x, const Word16 *restrict y, Word32 n, Word16 *restrict out) {{
    Word32 s = 7, t = 3; unsigned u = 5;
    for (Word32 i = 0; i < n; i++) {{ {body}}}
    out[70] = (Word16)t; out[71] = (Word16)u;
    return s;
}}"
    )
}

#[test]
fn random_loops_compute_the_same_with_overlapping_iterations() {
    let (mut pipelined, count) = (0, 400);
    for seed in 0..count {
        let text = random_loop(seed);
        for n in [1, 2, 3, 5, 8, 40] {
            let given = [
                Given::Shorts(numbers(1, 80)),
                Given::Shorts(numbers(2, 80)),
                Given::Int(n),
                Given::Shorts(vec![0; 80]),
            ];
            let (emitted, _) = judge(&text, "f", &given, true);
            let loops = &emitted.functions[0].loops;
            pipelined += u32::from(n == 1 && loops.iter().any(|it| it.stages > 1));
        }
    }
    println!("{pipelined} of {count} loops are pipelined");
    assert!(pipelined * 2 > count, "{pipelined}");
}

#[test]
fn loops_of_codecs_reach_the_interval_of_their_units() {
    for (name, text, interval) in LOOPS {
        let mut longest = [0; 2];
        for n in [1, 2, 3, 4, 7, 16, 64, 65] {
            let given = [
                Given::Shorts(numbers(1, 80)),
                Given::Shorts(numbers(2, 80)),
                Given::Int(n),
            ];
            for pipeline in [false, true] {
                let (emitted, cycles) = judge(text, name, &given, pipeline);
                longest[usize::from(pipeline)] = cycles;
                if pipeline {
                    let loops = &emitted.functions[0].loops;
                    assert_eq!(loops.len(), 1, "{}", emitted.text);
                    assert_eq!(loops[0].refused, None, "{}", emitted.text);
                    assert_eq!(loops[0].interval, interval, "{}", emitted.text);
                }
            }
        }
        println!(
            "{name}: {} cycles for 65 iterations, {} of them overlapping",
            longest[0], longest[1]
        );
        assert!(longest[1] < longest[0], "{name}: {longest:?}");
    }
}
