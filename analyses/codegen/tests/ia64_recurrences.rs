//! The bound of a loop's recurrences, and the interval that is reached, are those of its arithmetic alone, however values
//! are handed from variable to variable.
//!
//! Random loops of C over a few variables of type `double`: sums, differences, products and copies. The judge
//! knows no dependence graph: it follows each variable through one iteration, counts the operations from each
//! variable at the start, and takes the greatest number of operations that such cycles have per iteration (a
//! path algebra over the variables). `LOCKSTEP_RECURRENCES` says how many loops.
//!
//! Chains of integers are written beside their lengths: divisions by numbers that are known, rotations,
//! remainders.
#![allow(clippy::disallowed_methods)]

#[path = "support/judge.rs"]
mod judge;

use ir::Module;
use judge::{agrees, interpreted, module_of};
use lockstep_codegen::machine;
use lockstep_codegen::target::ia64::emit::{Emitted, Options, emit};
use lockstep_codegen::target::ia64::pipeline;
use oracle::random::c::{Argument, Buffer, Kernel, Parameter, Scalar};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use simulate::ia64::Limits;
use std::fmt::Write;

/// The longest way to a variable, in operations, from each variable at the start of an iteration.
type Ways = Vec<Option<u32>>;

struct Generated {
    text: String,
    /// The ways to each variable at the end of the iteration.
    ways: Vec<Ways>,
}

fn generate(seed: u64) -> Generated {
    let mut random = StdRng::seed_from_u64(seed);
    let count = random.random_range(2..=5);
    let name = |at: usize| format!("v{at}");
    let mut now: Vec<Ways> = (0..count)
        .map(|at| (0..count).map(|of| (of == at).then_some(0)).collect())
        .collect();
    let mut body = String::new();
    for _ in 0..random.random_range(count..=2 * count + 2) {
        let mut any = || random.random_range(0..count);
        let (to, a, b) = (any(), any(), any());
        let longest = |a: &Ways, b: &Ways| -> Ways {
            let both = a.iter().zip(b);
            both.map(|(a, b)| a.max(b).map(|way| way + 1)).collect()
        };
        let (line, ways) = match random.random_range(0..8) {
            0..=3 => (name(a), now[a].clone()),
            4 => (format!("{} + x[i]", name(a)), longest(&now[a], &now[a])),
            5 => (format!("{} * k", name(a)), longest(&now[a], &now[a])),
            6 => (
                format!("{} + {}", name(a), name(b)),
                longest(&now[a], &now[b]),
            ),
            _ => (
                format!("{} - {}", name(a), name(b)),
                longest(&now[a], &now[b]),
            ),
        };
        now[to] = ways;
        let _ = writeln!(body, "    {} = {line};", name(to));
    }
    let mut text =
        String::from("void f(double *s, const double *restrict x, double k, long n) {\n");
    for at in 0..count {
        let _ = writeln!(text, "  double v{at} = s[{at}];");
    }
    let _ = writeln!(text, "  for (long i = 0; i < n; i++) {{\n{body}  }}");
    for at in 0..count {
        let _ = writeln!(text, "  s[{at}] = v{at};");
    }
    text.push_str("}\n");
    Generated { text, ways: now }
}

/// The greatest number of operations an iteration that a way around has, as a fraction; and whether there is one of several
/// iterations without any, which rotating registers can't hold.
fn around(ways: &[Ways]) -> ((u32, u32), bool) {
    let count = ways.len();
    let mut power = ways.to_vec();
    let (mut best, mut idle) = ((0, 1), false);
    for iterations in 1..=count as u32 {
        for (at, row) in power.iter().enumerate() {
            let Some(way) = row[at] else { continue };
            if way * best.1 > best.0 * iterations {
                best = (way, iterations);
            }
        }
        power = (0..count)
            .map(|to| {
                let through = |from: usize| {
                    let each = (0..count).map(|by| Some(ways[to][by]? + power[by][from]?));
                    each.max().flatten()
                };
                (0..count).map(through).collect()
            })
            .collect();
    }
    // Copies alone, from one to the other and back.
    for start in 0..count {
        let mut at = start;
        for step in 1..=count {
            let copied = ways[at].iter().flatten().count() == 1;
            let from = ways[at].iter().position(|way| *way == Some(0));
            let (true, Some(from)) = (copied, from) else {
                break;
            };
            at = from;
            idle |= at == start && step > 1;
        }
    }
    (best, idle)
}

/// The code of a text's function for a machine, its loop pipelined as it stands.
fn emitted(module: &Module, machine: &str, text: &str) -> Emitted {
    let table = machine::named(machine).expect("a table");
    let options = Options {
        pipeline: Some(pipeline::Options {
            always: true,
            unroll: Some(1),
            ..pipeline::Options::default()
        }),
        ..Options::default()
    };
    emit(module, table.epic().expect("groups"), &options)
        .unwrap_or_else(|why| panic!("{why:?}\n{text}"))
}

fn kernel(text: &str, n: u64) -> Kernel {
    let bytes = |count: u64| -> Vec<u8> {
        let values = (0..count).map(|at| (at as f64 * 0.75 - 2.0).to_bits().to_le_bytes());
        values.flatten().collect()
    };
    let buffers = [8, n + 8].map(|count| Buffer {
        element: Scalar::Double,
        bytes: bytes(count),
    });
    let parameter = |name: &str, type_text: &str, argument| Parameter {
        name: name.into(),
        type_text: type_text.into(),
        argument,
    };
    let pointer = |buffer| Argument::Pointer { buffer, offset: 0 };
    let scalar = |ty, bits| Argument::Scalar { ty, bits };
    Kernel {
        seed: 0,
        text: text.to_owned(),
        name: "f".into(),
        returns: None,
        parameters: vec![
            parameter("s", "double *", pointer(0)),
            parameter("x", "const double *restrict ", pointer(1)),
            parameter("k", "double ", scalar(Scalar::Double, 0.5f64.to_bits())),
            parameter("n", "long ", scalar(Scalar::Long, n)),
        ],
        buffers: buffers.into(),
    }
}

#[test]
fn recurrences_are_as_long_as_their_arithmetic() {
    let count: u64 = std::env::var("LOCKSTEP_RECURRENCES")
        .ok()
        .and_then(|count| count.parse().ok())
        .unwrap_or(400);
    let (mut judged, mut reached, mut runs) = (0, 0, 0);
    for seed in 0..count {
        let Generated { text, ways } = generate(seed);
        let ((operations, iterations), idle) = around(&ways);
        let module = module_of(&text, "f");
        for (name, latency) in [("itanium", 5), ("itanium2", 4)] {
            let code = emitted(&module, name, &text);
            for n in [0, 1, 2, 3, 7, 20] {
                let kernel = kernel(&text, n);
                let expected = interpreted(&kernel, &module);
                let limits = Limits::default();
                if let Err(why) = agrees(&kernel, "f", &expected, &code.text, &limits) {
                    panic!("{seed}, {name}, n = {n}: {why}\n{text}\n{}", code.text);
                }
                runs += 1;
            }
            let [report] = &code.functions[0].loops[..] else {
                continue;
            };
            if idle || !report.pipelined {
                continue;
            }
            let least = (operations * latency).div_ceil(iterations);
            judged += 1;
            let told = format!("{seed}, {name}: {text}\n{:?}", report.critical);
            assert!(
                report.rec_mii <= least.max(1),
                "{} for {least}: {told}",
                report.rec_mii
            );
            assert!(
                report.rec_mii >= least,
                "{} for {least}: {told}",
                report.rec_mii
            );
            reached += u32::from(report.ii == Some(report.min_ii()));
        }
    }
    println!(
        "{judged} loops have the bound of their arithmetic, {reached} reach it; {runs} runs agree"
    );
    assert!(judged * 4 > count);
    assert!(reached as u64 * 20 >= judged * 19, "{reached} of {judged}");
}

/// Loops over `x` of a type, the element `a[i]` and nothing else, with these operations on the way around:
/// `m` to the multiplier, through it and back; `f` a further operation there; a number of operations of the
/// general registers.
const CHAINS: [(Scalar, &str, &str); 30] = [
    // 3 x, 17 of that, 257 of that, 65537 of that, 4 of that and x, >> 35.
    (Scalar::Unsigned, "x / 10", "1 1 2 2 1 1"),
    // No few sums make this inverse.
    (Scalar::Unsigned, "x / 97", "m"),
    // x + 1; 9 of that, 65 of that, ..; >> 33; and 5 more, which may be too large for the type.
    (Scalar::Unsigned, "x / 7 + 5", "1 7 1 1 1"),
    (Scalar::Unsigned, "x / 16 + 5", "3"),
    (Scalar::Unsigned, "(x + a[i]) % 10", "2 8 3"),
    (Scalar::Unsigned, "(x + a[i]) % 65521", "2 8 4"),
    (Scalar::Unsigned, "(x + a[i]) % 97", "2 m f"),
    // The sign is one more.
    (Scalar::Int, "x / 10", "8 1"),
    (Scalar::Int, "x / 97", "m"),
    (Scalar::Int, "x / -97", "m 1"),
    (Scalar::Int, "x / 97 + 100000", "m 1"),
    (Scalar::Int, "x / 7 + 100000", "10 1"),
    (Scalar::Int, "x / -10 + 5", "8 1 1"),
    (Scalar::Int, "(x / 2 + a[i]) % 10", "3 1 9 3"),
    (Scalar::Int, "(x / 2 + a[i]) % 1000003", "3 1 m f"),
    (Scalar::Int, "x / 8 + 3", "4"),
    (Scalar::Int, "x / -8 + 3", "5"),
    (Scalar::Int, "x % 64 + 1000", "5"),
    (Scalar::UnsignedLong, "x / 10 + 3", "m 2"),
    (Scalar::UnsignedLong, "x / 7", "m 1"),
    (Scalar::UnsignedLong, "x / 641", "m"),
    (Scalar::UnsignedLong, "(x + a[i]) % 10", "1 m 1 3"),
    (Scalar::UnsignedLong, "(x + a[i]) % 1000003", "1 m f f"),
    (Scalar::Long, "x / 3", "m"),
    (Scalar::Long, "x / 10 + 3", "m 2 1"),
    (Scalar::Long, "x / 11 * 2", "m 2 1"),
    (Scalar::Long, "(x / 2 + a[i]) % 1000003", "3 1 m f f f"),
    (Scalar::UnsignedLong, "((x << 5) | (x >> 59)) ^ a[i]", "2"),
    (Scalar::UnsignedLong, "((x >> 3) + (x << 61)) ^ a[i]", "2"),
    (Scalar::Unsigned, "((x << 13) | (x >> 19)) + a[i]", "3"),
];

#[test]
fn chains_of_integers_are_as_long_as_their_arithmetic() {
    // To the multiplier, through it, and back, as `latency` of the tables has them; a second operation there.
    let machines = [("itanium", 9 + 7 + 2, 7), ("itanium2", 5 + 4 + 5, 4)];
    let mut wrong = Vec::new();
    for (ty, step, way) in CHAINS {
        let name = ty.text();
        let text = format!(
            "{name} f(const {name} *restrict a, {name} x, long n) {{\n  for (long i = 0; i < n; i++) x = {step};\n  return x;\n}}\n"
        );
        let module = module_of(&text, "f");
        for (machine, back, more) in machines {
            let code = emitted(&module, machine, &text);
            let cycles = |word: &str| match word {
                "m" => back,
                "f" => more,
                count => count.parse().expect("a number of operations"),
            };
            let least: u32 = way.split(' ').map(cycles).sum();
            let [report] = &code.functions[0].loops[..] else {
                panic!("{text}");
            };
            if report.rec_mii != least || report.ii != Some(report.min_ii()) {
                wrong.push(format!(
                    "{machine}, {name} {step}: {} and {:?} for {least}, {:?}",
                    report.rec_mii, report.ii, report.critical
                ));
            }
            for x in [
                0u64,
                1,
                77,
                0x7fff_ffff,
                0x8000_0000,
                1 << 63,
                u64::MAX,
                0x1234_5678_9abc_def0,
            ] {
                for n in [0, 1, 2, 5, 9] {
                    let kernel = chain(&text, ty, x, n);
                    let expected = interpreted(&kernel, &module);
                    let limits = Limits::default();
                    if let Err(why) = agrees(&kernel, "f", &expected, &code.text, &limits) {
                        panic!("{machine}, x = {x}, n = {n}: {why}\n{text}\n{}", code.text);
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Elements small enough for sums of signed numbers to have room.
fn chain(text: &str, ty: Scalar, x: u64, n: u64) -> Kernel {
    let size = ty.bytes();
    let values = (0..n + 8).map(|at| at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 37);
    let bytes: Vec<u8> = values
        .flat_map(|value| value.to_le_bytes()[..size].to_vec())
        .collect();
    let x = match ty {
        Scalar::Int => i64::from(x as i32) as u64,
        Scalar::Unsigned => u64::from(x as u32),
        _ => x,
    };
    let parameter = |name: &str, type_text: &str, argument| Parameter {
        name: name.into(),
        type_text: type_text.into(),
        argument,
    };
    let scalar = |ty, bits| Argument::Scalar { ty, bits };
    Kernel {
        seed: 0,
        text: text.to_owned(),
        name: "f".into(),
        returns: Some(ty),
        parameters: vec![
            parameter(
                "a",
                "const void *restrict ",
                Argument::Pointer {
                    buffer: 0,
                    offset: 0,
                },
            ),
            parameter("x", ty.text(), scalar(ty, x)),
            parameter("n", "long ", scalar(Scalar::Long, n)),
        ],
        buffers: vec![Buffer { element: ty, bytes }],
    }
}
