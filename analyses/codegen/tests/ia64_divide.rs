//! Division and square root of emitted code, on special and random operands, against the host's.
//! `LOCKSTEP_DIVISIONS`: pairs of each kind.
#![allow(clippy::disallowed_methods)]

use ir::Language;
use ir::lower::c_family::{LowerOptions, lower_unit};
use lockstep_codegen::machine;
use lockstep_codegen::target::ia64::emit::{Options, emit, merged};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use simulate::ia64::{Arg, Limits, Memory, Program, run};
use syntax::c_family::{Dialect, parse_text};

const TEXT: &str = "
double sqrt(double);
void wide(double *q, double *r, const double *a, const double *b, int n) {
  for (int i = 0; i < n; i++) { q[i] = a[i] / b[i]; r[i] = sqrt(a[i]); }
}
void narrow(float *q, const float *a, const float *b, int n) {
  for (int i = 0; i < n; i++) q[i] = a[i] / b[i];
}
void longs(long *q, long *r, const long *a, const long *b, int n) {
  for (int i = 0; i < n; i++) { q[i] = a[i] / b[i]; r[i] = a[i] % b[i]; }
}
void unsigneds(unsigned long *q, unsigned long *r, const unsigned long *a, const unsigned long *b, int n) {
  for (int i = 0; i < n; i++) { q[i] = a[i] / b[i]; r[i] = a[i] % b[i]; }
}
void ints(int *q, int *r, const int *a, const int *b, int n) {
  for (int i = 0; i < n; i++) { q[i] = a[i] / b[i]; r[i] = a[i] % b[i]; }
}
";

fn words(rng: &mut StdRng, count: usize) -> Vec<u64> {
    const SPECIAL: [u64; 16] = [
        0,
        1,
        2,
        3,
        u64::MAX,
        1 << 63,
        (1 << 63) - 1,
        0x7ff0_0000_0000_0000,
        0xfff0_0000_0000_0000,
        0x7ff8_0000_0000_0000,
        0x3ff0_0000_0000_0000,
        0x000f_ffff_ffff_ffff,
        0x0010_0000_0000_0000,
        0x7fef_ffff_ffff_ffff,
        0x7f80_0000_3f80_0001,
        0x0080_0000_007f_ffff,
    ];
    (0..count)
        .map(|_| match rng.random_range(0..4) {
            0 => SPECIAL[rng.random_range(0..SPECIAL.len())],
            1 => rng.random::<u64>() >> rng.random_range(0..64),
            2 => rng.random_range(-1e6f64..1e6).to_bits(),
            _ => rng.random(),
        })
        .collect()
}

fn bytes(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Returns the values that `item` leaves in its first `outputs` buffers.
fn executed(
    program: &Program,
    item: &str,
    outputs: usize,
    inputs: [&[u64]; 2],
    count: usize,
) -> Vec<Vec<u64>> {
    let mut memory = Memory::new();
    let mut places = Vec::new();
    for _ in 0..outputs {
        places.push(memory.place(&vec![0; 8 * inputs[0].len()]).expect("room"));
    }
    for input in inputs {
        places.push(memory.place(&bytes(input)).expect("room"));
    }
    let mut arguments: Vec<Arg> = places.iter().map(|&place| Arg::Integer(place)).collect();
    arguments.push(Arg::Integer(count as u64));
    let limits = Limits {
        steps: u64::MAX,
        ..Limits::default()
    };
    let outcome = run(program, item, &arguments, &mut memory, &limits);
    let outcome = outcome.unwrap_or_else(|fault| panic!("{item}: {fault}"));
    assert_eq!(outcome.violations, [], "{item}");
    let word = |chunk: &[u8]| {
        chunk
            .iter()
            .rev()
            .fold(0u64, |sum, &byte| sum << 8 | u64::from(byte))
    };
    places[..outputs]
        .iter()
        .map(|&place| {
            let left = memory
                .bytes(place, 8 * inputs[0].len())
                .expect("its memory");
            left.chunks(8).map(word).collect()
        })
        .collect()
}

fn program(text: &str) -> Program {
    let items = parse_text(text, Dialect::C);
    let all = lower_unit(&items, &LowerOptions::new(Language::C));
    let modules: Vec<_> = all.iter().map(|(_, lowered)| &lowered.module).collect();
    let bodies = modules
        .into_iter()
        .filter(|module| !module.functions[0].layout.is_empty());
    let table = machine::named("itanium2").expect("a table");
    let epic = table.epic().expect("explicit groups");
    let emitted = emit(&merged(bodies), epic, &Options::default()).expect("code");
    let document = syntax::ia64::parse(&emitted.text);
    let (program, problems) = Program::new(&document, &emitted.text);
    assert_eq!(problems, []);
    program
}

/// Quotients, remainders and products with numbers that the code knows, by the inverse and by shifts and sums.
#[test]
fn quotients_and_products_with_constants_are_those_of_the_host() {
    let signed: [i32; 20] = [
        3,
        5,
        6,
        7,
        9,
        10,
        11,
        100,
        641,
        1_000_003,
        i32::MAX,
        i32::MIN,
        1,
        -1,
        -2,
        -3,
        -7,
        -10,
        2,
        4096,
    ];
    let unsigned: [u32; 12] = [
        3,
        7,
        10,
        12,
        641,
        1_000_003,
        0x7fff_ffff,
        0x8000_0000,
        0xffff_fffb,
        u32::MAX,
        1,
        16_777_619,
    ];
    let mut text = String::new();
    for (at, by) in signed.iter().enumerate() {
        let by = if *by == i32::MIN {
            "(-2147483647 - 1)".to_owned()
        } else {
            by.to_string()
        };
        text += &format!(
            "void s{at}(int *q, int *r, int *p, const int *a, const int *b, int n) {{\n  for (int i = 0; i < n; i++) {{ q[i] = a[i] / {by}; r[i] = a[i] % {by}; p[i] = (int)((unsigned)a[i] * (unsigned){by}); }}\n}}\n"
        );
    }
    for (at, by) in unsigned.iter().enumerate() {
        text += &format!(
            "void u{at}(unsigned *q, unsigned *r, unsigned *p, const unsigned *a, const unsigned *b, int n) {{\n  for (int i = 0; i < n; i++) {{ q[i] = a[i] / {by}u; r[i] = a[i] % {by}u; p[i] = a[i] * {by}u; }}\n}}\n"
        );
    }
    let program = program(&text);
    let mut rng = StdRng::seed_from_u64(11);
    let mut a = words(&mut rng, 400);
    // Multiples and their neighbours are where a quotient that is a little off shows.
    for by in signed.iter().map(|&by| by as u32).chain(unsigned) {
        for times in [1u32, 2, 3, 0x7fff_ffff / by.max(1), u32::MAX / by.max(1)] {
            let number = by.wrapping_mul(times);
            let pair = |x: u32, y: u32| u64::from(x) | u64::from(y) << 32;
            a.push(pair(number.wrapping_sub(1), number));
            a.push(pair(number.wrapping_add(1), number.wrapping_neg()));
        }
    }
    let count = 2 * a.len();
    for (at, &by) in signed.iter().enumerate() {
        let found = executed(&program, &format!("s{at}"), 3, [&a, &a], count);
        for (place, &word) in a.iter().enumerate() {
            for shift in [0, 32] {
                let of = |word: u64| (word >> shift) as i32;
                let x = of(word);
                // What C leaves open stays out.
                if by == -1 && x == i32::MIN {
                    continue;
                }
                let left = (
                    of(found[0][place]),
                    of(found[1][place]),
                    of(found[2][place]),
                );
                assert_eq!(left, (x / by, x % by, x.wrapping_mul(by)), "{x} by {by}");
            }
        }
    }
    for (at, &by) in unsigned.iter().enumerate() {
        let found = executed(&program, &format!("u{at}"), 3, [&a, &a], count);
        for (place, &word) in a.iter().enumerate() {
            for shift in [0, 32] {
                let of = |word: u64| (word >> shift) as u32;
                let x = of(word);
                let left = (
                    of(found[0][place]),
                    of(found[1][place]),
                    of(found[2][place]),
                );
                assert_eq!(left, (x / by, x % by, x.wrapping_mul(by)), "{x} by {by}");
            }
        }
    }
}

/// Divisors of every length, by both kinds of 64 bits: a function for each, and dividends about its multiples.
#[test]
fn quotients_of_wide_numbers_by_constants_are_those_of_the_host() {
    let count: usize = std::env::var("LOCKSTEP_DIVISIONS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(20_000);
    let mut rng = StdRng::seed_from_u64(23);
    let mut divisors: Vec<u64> = vec![
        1, 2, 3, 5, 7, 10, 11, 25, 60, 100, 641, 1000, 65_521, 1_000_003,
    ];
    for power in [31, 32, 33, 61, 62, 63] {
        divisors.extend([(1 << power) - 1, 1 << power, (1 << power) + 1]);
    }
    divisors.extend([u64::MAX, u64::MAX / 3, u64::MAX / 5 * 4]);
    let all = divisors.len() + count / 200;
    while divisors.len() < all {
        divisors.push((rng.random::<u64>() >> rng.random_range(0..62)).max(3));
    }
    for batch in divisors.chunks(40) {
        let mut text = String::new();
        for (at, by) in batch.iter().enumerate() {
            let signed = match *by as i64 {
                i64::MIN => "(-9223372036854775807L - 1)".to_owned(),
                by => format!("({by}L)"),
            };
            text += &format!(
                "void u{at}(unsigned long *q, unsigned long *r, const unsigned long *a, const unsigned long *b, int n) {{\n  for (int i = 0; i < n; i++) {{ q[i] = a[i] / {by}UL; r[i] = a[i] % {by}UL; }}\n}}\n"
            );
            text += &format!(
                "void s{at}(long *q, long *r, const long *a, const long *b, int n) {{\n  for (int i = 0; i < n; i++) {{ q[i] = a[i] / {signed}; r[i] = a[i] % {signed}; }}\n}}\n"
            );
        }
        let program = program(&text);
        for (at, &by) in batch.iter().enumerate() {
            let mut a = words(&mut rng, 12);
            for size in [by, (by as i64).unsigned_abs()] {
                let last = u64::MAX / size;
                for times in [1, 2, last / 2, rng.random_range(0..=last), last] {
                    let multiple: u64 = size.wrapping_mul(times);
                    a.extend([multiple.wrapping_sub(1), multiple, multiple.wrapping_add(1)]);
                    a.extend([multiple.wrapping_neg(), (!multiple).wrapping_add(2)]);
                }
            }
            a.extend([0, i64::MIN as u64, i64::MAX as u64, u64::MAX]);
            let found = executed(&program, &format!("u{at}"), 2, [&a, &a], a.len());
            for (place, &x) in a.iter().enumerate() {
                assert_eq!(
                    (found[0][place], found[1][place]),
                    (x / by, x % by),
                    "{x} by {by}"
                );
            }
            let by = by as i64;
            let found = executed(&program, &format!("s{at}"), 2, [&a, &a], a.len());
            for (place, &x) in a.iter().enumerate() {
                let x = x as i64;
                if by == -1 && x == i64::MIN {
                    continue;
                }
                let left = (found[0][place] as i64, found[1][place] as i64);
                assert_eq!(left, (x / by, x % by), "{x} by {by}");
            }
        }
    }
}

#[test]
fn quotients_and_roots_are_those_of_the_host() {
    let count: usize = std::env::var("LOCKSTEP_DIVISIONS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(20_000);
    let program = program(TEXT);
    let mut rng = StdRng::seed_from_u64(7);
    let (a, b) = (words(&mut rng, count), words(&mut rng, count));
    let pairs = || a.iter().zip(&b).enumerate();
    let double = |bits: u64| {
        if f64::from_bits(bits).is_nan() {
            u64::MAX
        } else {
            bits
        }
    };
    let single = |bits: u32| {
        if f32::from_bits(bits).is_nan() {
            u32::MAX
        } else {
            bits
        }
    };
    let found = executed(&program, "wide", 2, [&a, &b], count);
    for (at, (&x, &y)) in pairs() {
        let (x, y) = (f64::from_bits(x), f64::from_bits(y));
        assert_eq!(
            double(found[0][at]),
            double((x / y).to_bits()),
            "{x:e} / {y:e}"
        );
        assert_eq!(
            double(found[1][at]),
            double(x.sqrt().to_bits()),
            "sqrt {x:e}"
        );
    }
    let found = executed(&program, "narrow", 1, [&a, &b], 2 * count);
    for (at, (&x, &y)) in pairs() {
        for shift in [0, 32] {
            let of = |word: u64| f32::from_bits((word >> shift) as u32);
            let left = (found[0][at] >> shift) as u32;
            assert_eq!(
                single(left),
                single((of(x) / of(y)).to_bits()),
                "{:e} / {:e}",
                of(x),
                of(y)
            );
        }
    }
    // What C leaves open stays out.
    let plain: Vec<u64> = b.iter().map(|&y| if y == 0 { 5 } else { y }).collect();
    let found = executed(&program, "unsigneds", 2, [&a, &plain], count);
    for (at, (&x, &y)) in a.iter().zip(&plain).enumerate() {
        assert_eq!((found[0][at], found[1][at]), (x / y, x % y), "{x} / {y}");
    }
    let found = executed(&program, "longs", 2, [&a, &plain], count);
    for (at, (&x, &y)) in a.iter().zip(&plain).enumerate() {
        let (x, y) = (x as i64, y as i64);
        let expected = (x.wrapping_div(y) as u64, x.wrapping_rem(y) as u64);
        assert_eq!((found[0][at], found[1][at]), expected, "{x} / {y}");
    }
    let low = |words: &[u64]| -> Vec<u64> {
        let part = |word: u64| {
            if word as u32 == 0 {
                7
            } else {
                word & 0xffff_ffff
            }
        };
        words
            .iter()
            .map(|&word| part(word) | part(word >> 32) << 32)
            .collect()
    };
    let (a, b) = (low(&a), low(&b));
    let found = executed(&program, "ints", 2, [&a, &b], 2 * count);
    for (at, (&x, &y)) in a.iter().zip(&b).enumerate() {
        for shift in [0, 32] {
            let of = |word: u64| (word >> shift) as i32;
            let left = (of(found[0][at]), of(found[1][at]));
            let (x, y) = (of(x), of(y));
            assert_eq!(left, (x.wrapping_div(y), x.wrapping_rem(y)), "{x} / {y}");
        }
    }
}
