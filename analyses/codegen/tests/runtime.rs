//! The run-time library in the reference interpreter against the host's arithmetic, bit for bit, where any NaN is the quiet
//! one: `LOCKSTEP_OPERANDS` pairs a function (3,000), edges among them.

#![allow(clippy::disallowed_methods)]

use ir::lower::c_family::{LowerOptions, lower_unit};
use ir::{Language, Module};
use lockstep_codegen::runtime::{INTEGERS, SOFT_FLOAT};
use oracle::interp::{Argument, Buffer, Launch, run};
use oracle::random::Random;
use std::collections::HashMap;
use std::sync::LazyLock;
use syntax::c_family::{Dialect, parse_text};

/// The functions by name, each with those that it calls.
static FUNCTIONS: LazyLock<HashMap<String, Module>> = LazyLock::new(|| {
    let items = parse_text(&format!("{INTEGERS}{SOFT_FLOAT}"), Dialect::C);
    for item in &items {
        assert!(item.problems.is_empty(), "{:?}", item.problems);
    }
    let mut all = HashMap::new();
    for (key, lowered) in lower_unit(&items, &LowerOptions::new(Language::C)) {
        assert!(lowered.problems.is_empty(), "{:?}", lowered.problems);
        all.insert(key.name.to_string(), lowered.module);
    }
    all
});

fn call(name: &str, arguments: &[u64]) -> u64 {
    let mut launch = Launch::new(1);
    launch.warp_size = 1;
    launch.limits.steps = 1_000_000;
    let arguments = arguments.iter().map(|&bits| Argument::Bits(bits));
    launch.parameters.extend(arguments);
    let outcome = run(&FUNCTIONS[name], &launch);
    assert_eq!(outcome.error, None, "{name}");
    outcome.returned[0][0]
}

fn pairs() -> u64 {
    let given = std::env::var("LOCKSTEP_OPERANDS").ok();
    given.and_then(|text| text.parse().ok()).unwrap_or(3_000)
}

/// A number of so many bits, of which the exponent may be small, large, or near another's.
fn float(random: &mut Random, bits: u32, mantissa: u32) -> u64 {
    let sign = (random.draw() & 1) << (bits - 1);
    let most = (1u64 << (bits - 1 - mantissa)) - 1;
    let fraction = match random.below(4) {
        0 => 0,
        1 => (1 << mantissa) - 1,
        _ => random.draw() & ((1 << mantissa) - 1),
    };
    let exponent = match random.below(5) {
        0 => 0,
        1 => most - u64::from(random.below(2)),
        2 => most / 2 + u64::from(random.below(4)),
        3 => most / 2 + u64::from(random.below(70)) - 35,
        _ => random.draw() & most,
    };
    sign | exponent << mantissa | fraction
}

fn integer(random: &mut Random, bits: u32) -> u64 {
    let shift = 64 - bits + random.below(bits);
    let number = match random.below(4) {
        0 => u64::from(random.below(4)).wrapping_sub(2),
        1 => (1u64 << (bits - 1)).wrapping_sub(u64::from(random.below(2))),
        _ => random.draw() >> shift,
    };
    number & (u64::MAX >> (64 - bits))
}

fn single(x: f32) -> u64 {
    u64::from(if x.is_nan() { 0x7fc0_0000 } else { x.to_bits() })
}
fn double(x: f64) -> u64 {
    if x.is_nan() {
        0x7ff8 << 48
    } else {
        x.to_bits()
    }
}

/// Holds a function's result for two operands, cut to so many bits, against what is wanted.
fn check(name: &str, arguments: &[u64], bits: u32, wanted: u64) {
    let found = call(name, arguments) & (u64::MAX >> (64 - bits));
    let wanted = wanted & (u64::MAX >> (64 - bits));
    assert_eq!(
        found, wanted,
        "{name} {arguments:x?}: {found:x} and not {wanted:x}"
    );
}

#[test]
fn single_precision_is_the_hosts() {
    let mut random = Random::new(0xf32);
    for _ in 0..pairs() {
        let (a, b) = (float(&mut random, 32, 23), float(&mut random, 32, 23));
        let (x, y) = (f32::from_bits(a as u32), f32::from_bits(b as u32));
        check("f32_add", &[a, b], 32, single(x + y));
        check("f32_subtract", &[a, b], 32, single(x - y));
        check("f32_multiply", &[a, b], 32, single(x * y));
        check("f32_divide", &[a, b], 32, single(x / y));
        check("f32_truncate", &[a], 32, single(x.trunc()));
        check("f32_floor", &[a], 32, single(x.floor()));
        check("f32_ceil", &[a], 32, single(x.ceil()));
        check("f32_round", &[a], 32, single(x.round()));
        check("f32_square_root", &[a], 32, single(x.sqrt()));
        let ty = ir::Type::F32;
        let chosen = |op| {
            single(f32::from_bits(
                ir::numbers::binary(op, ty, ty, ty, a, b) as u32
            ))
        };
        check("f32_minimum", &[a, b], 32, chosen(ir::BinaryOp::FloatMin));
        check("f32_maximum", &[a, b], 32, chosen(ir::BinaryOp::FloatMax));
        check("f32_equal", &[a, b], 32, u64::from(x == y));
        check("f32_less", &[a, b], 32, u64::from(x < y));
        check("f32_less_equal", &[a, b], 32, u64::from(x <= y));
        check("f64_of_f32", &[a], 64, double(f64::from(x)));
        check("f32_to_i32", &[a], 32, x as i32 as u64);
        check("f32_to_u32", &[a], 32, u64::from(x as u32));
        check("f32_to_i64", &[a], 64, x as i64 as u64);
        check("f32_to_u64", &[a], 64, x as u64);
        let (n, wide) = (integer(&mut random, 32), integer(&mut random, 64));
        check("f32_of_i32", &[n], 32, single(n as i32 as f32));
        check("f32_of_u32", &[n], 32, single(n as u32 as f32));
        check("f32_of_i64", &[wide], 32, single(wide as i64 as f32));
        check("f32_of_u64", &[wide], 32, single(wide as f32));
    }
}

#[test]
fn double_precision_is_the_hosts() {
    let mut random = Random::new(0xf64);
    for _ in 0..pairs() {
        let (a, b) = (float(&mut random, 64, 52), float(&mut random, 64, 52));
        let (x, y) = (f64::from_bits(a), f64::from_bits(b));
        check("f64_add", &[a, b], 64, double(x + y));
        check("f64_subtract", &[a, b], 64, double(x - y));
        check("f64_multiply", &[a, b], 64, double(x * y));
        check("f64_divide", &[a, b], 64, double(x / y));
        check("f64_truncate", &[a], 64, double(x.trunc()));
        check("f64_floor", &[a], 64, double(x.floor()));
        check("f64_ceil", &[a], 64, double(x.ceil()));
        check("f64_round", &[a], 64, double(x.round()));
        check("f64_square_root", &[a], 64, double(x.sqrt()));
        let ty = ir::Type::F64;
        let chosen = |op| {
            double(f64::from_bits(
                ir::numbers::binary(op, ty, ty, ty, a, b) as u64
            ))
        };
        check("f64_minimum", &[a, b], 64, chosen(ir::BinaryOp::FloatMin));
        check("f64_maximum", &[a, b], 64, chosen(ir::BinaryOp::FloatMax));
        check("f64_equal", &[a, b], 32, u64::from(x == y));
        check("f64_less", &[a, b], 32, u64::from(x < y));
        check("f64_less_equal", &[a, b], 32, u64::from(x <= y));
        check("f32_of_f64", &[a], 32, single(x as f32));
        check("f64_to_i32", &[a], 32, x as i32 as u64);
        check("f64_to_u32", &[a], 32, u64::from(x as u32));
        check("f64_to_i64", &[a], 64, x as i64 as u64);
        check("f64_to_u64", &[a], 64, x as u64);
        let (n, wide) = (integer(&mut random, 32), integer(&mut random, 64));
        check("f64_of_i32", &[n], 64, double(f64::from(n as i32)));
        check("f64_of_u32", &[n], 64, double(n as f64));
        check("f64_of_i64", &[wide], 64, double(wide as i64 as f64));
        check("f64_of_u64", &[wide], 64, double(wide as f64));
    }
}

#[test]
fn products_and_quotients_are_the_hosts() {
    let mut random = Random::new(0x1d1);
    for _ in 0..pairs() {
        let (a, b) = (integer(&mut random, 32), integer(&mut random, 32));
        let (x, y) = (a as u32, b as u32);
        check("u32_multiply", &[a, b], 32, u64::from(x.wrapping_mul(y)));
        check("u32_multiply_wide", &[a, b], 64, a * b);
        check(
            "u32_divide",
            &[a, b],
            32,
            x.checked_div(y).map_or(u64::MAX, u64::from),
        );
        check(
            "u32_remainder",
            &[a, b],
            32,
            u64::from(x.checked_rem(y).unwrap_or(x)),
        );
        let (x, y) = (x as i32, y as i32);
        let quotient = if y == 0 { -1 } else { x.wrapping_div(y) };
        let rest = if y == 0 { x } else { x.wrapping_rem(y) };
        check("i32_divide", &[a, b], 32, quotient as u64);
        check("i32_remainder", &[a, b], 32, rest as u64);
        let (a, b) = (integer(&mut random, 64), integer(&mut random, 64));
        let product = u128::from(a) * u128::from(b);
        check("u64_multiply", &[a, b], 64, product as u64);
        check("u64_multiply_high", &[a, b], 64, (product >> 64) as u64);
        check(
            "u64_divide",
            &[a, b],
            64,
            a.checked_div(b).unwrap_or(u64::MAX),
        );
        check("u64_remainder", &[a, b], 64, a.checked_rem(b).unwrap_or(a));
        let (x, y) = (a as i64, b as i64);
        let quotient = if y == 0 { -1 } else { x.wrapping_div(y) };
        let rest = if y == 0 { x } else { x.wrapping_rem(y) };
        check("i64_divide", &[a, b], 64, quotient as u64);
        check("i64_remainder", &[a, b], 64, rest as u64);
    }
}

#[test]
fn bytes_are_moved_and_set() {
    let from: Vec<u8> = (0..40).collect();
    let mut launch = Launch::new(1);
    launch.warp_size = 1;
    launch.buffers = vec![Buffer::global(vec![0; 40]), Buffer::global(from.clone())];
    launch.parameters = vec![
        Argument::Pointer {
            buffer: 0,
            offset: 1,
        },
        Argument::Pointer {
            buffer: 1,
            offset: 3,
        },
        Argument::Bits(20),
    ];
    let outcome = run(&FUNCTIONS["bytes_copy"], &launch);
    assert_eq!(outcome.error, None);
    assert_eq!(outcome.buffers[0].bytes[1..21], from[3..23]);
    assert_eq!(
        (outcome.buffers[0].bytes[0], outcome.buffers[0].bytes[21]),
        (0, 0)
    );
    launch.parameters[1] = Argument::Bits(0x1ff);
    let outcome = run(&FUNCTIONS["bytes_set"], &launch);
    assert_eq!(outcome.buffers[0].bytes[1..21], [0xff; 20]);
    assert_eq!(
        (outcome.buffers[0].bytes[0], outcome.buffers[0].bytes[21]),
        (0, 0)
    );
}
