//! Whole functions against plain arithmetic on random data.

use super::*;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

const DOT: &str = include_str!("../../../../../fixtures/sc140/dot-product.sc140.asm");
const FIR: &str = include_str!("../../../../../fixtures/sc140/fir-four-outputs.sc140.asm");
const MAXIMUM: &str = include_str!("../../../../../fixtures/sc140/maximum.sc140.asm");
const ADD: &str = include_str!("../../../../../fixtures/sc140/saturating-add.sc140.asm");
const COUNT: &str = include_str!("../../../../../fixtures/sc140/conditional-count.sc140.asm");

fn random(count: usize, seed: u64) -> Vec<i16> {
    let mut random = StdRng::seed_from_u64(seed);
    let mut values: Vec<i16> = (0..count).map(|_| random.random()).collect();
    // The edges come by, too.
    for (at, edge) in [i16::MIN, i16::MAX, i16::MIN, 0].into_iter().enumerate() {
        if seed.is_multiple_of(3) && at < count {
            values[at] = edge;
        }
    }
    values
}

fn bytes(values: &[i16]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_be_bytes())
        .collect()
}
fn words(memory: &mut Memory, address: u32, count: usize) -> Vec<i16> {
    let bytes = memory.bytes(u64::from(address), 2 * count).expect("mapped");
    bytes
        .chunks(2)
        .map(|pair| i16::from_be_bytes([pair[0], pair[1]]))
        .collect()
}
fn placed(memory: &mut Memory, values: &[i16]) -> u32 {
    memory.place(&bytes(values)).expect("room") as u32
}

fn ran(text: &str, item: &str, arguments: &[Arg], memory: &mut Memory, limits: &Limits) -> Outcome {
    let outcome = run(&program(text), item, arguments, memory, limits);
    let outcome = outcome.unwrap_or_else(|fault| panic!("{fault}"));
    assert_eq!(
        (&outcome.violations[..], &outcome.changed[..]),
        (&[][..], &[][..])
    );
    outcome
}

#[test]
fn a_dot_product_takes_ten_cycles_and_a_quarter_of_its_length() {
    for (round, n) in [8, 16, 64, 12, 20].into_iter().enumerate() {
        let (a, b) = (random(n, round as u64), random(n, 99 + round as u64));
        let mut memory = Memory::new();
        let arguments = [
            Arg::Pointer(placed(&mut memory, &a)),
            Arg::Pointer(placed(&mut memory, &b)),
            Arg::Word(n as i16),
        ];
        let outcome = ran(DOT, "_dot", &arguments, &mut memory, &limits());
        let products = a
            .iter()
            .zip(&b)
            .map(|(a, b)| 2 * i64::from(*a) * i64::from(*b));
        assert_eq!(outcome.data[0], products.sum::<i64>(), "{n}");
        assert_eq!(outcome.cycles.total(), 10 + n as u64 / 4, "{n}");
    }
}

#[test]
fn a_filter_of_four_outputs_takes_ten_cycles_and_one_a_tap() {
    for (round, taps) in [4, 8, 32, 16].into_iter().enumerate() {
        let x = random(taps + 8, round as u64);
        let c = random(taps + 4, 50 + round as u64);
        let mut memory = Memory::new();
        let (px, pc) = (placed(&mut memory, &x), placed(&mut memory, &c));
        let py = placed(&mut memory, &[0; 4]);
        let arguments = [
            Arg::Pointer(px),
            Arg::Pointer(pc),
            Arg::Pointer(py),
            Arg::Word(taps as i16),
        ];
        let outcome = ran(FIR, "_fir4", &arguments, &mut memory, &limits());
        assert_eq!(outcome.cycles.total(), 10 + taps as u64, "{taps}");
        let expected: Vec<i16> = (0..4)
            .map(|j| {
                let sum: i64 = (0..taps)
                    .map(|k| 2 * i64::from(c[k]) * i64::from(x[j + k]))
                    .sum();
                // Ties go to even; what 32 bits do not hold is limited by the store.
                let (floor, below) = (sum >> 16, sum & 0xffff);
                let up = below > 0x8000 || (below == 0x8000 && floor % 2 != 0);
                (floor + i64::from(up)).clamp(-32768, 32767) as i16
            })
            .collect();
        assert_eq!(words(&mut memory, py, 4), expected, "{taps}");
    }
}

#[test]
fn a_maximum_is_that_of_all_elements() {
    for n in [8, 12, 40] {
        for seed in 0..6 {
            let x = random(n, seed);
            let mut memory = Memory::new();
            let mut with_more = x.clone();
            with_more.extend([0; 4]);
            let arguments = [
                Arg::Pointer(placed(&mut memory, &with_more)),
                Arg::Word(n as i16),
            ];
            let outcome = ran(MAXIMUM, "_vmax", &arguments, &mut memory, &saturating());
            let most = x.iter().max().copied().map(i64::from);
            assert_eq!(Some(outcome.data[0]), most);
        }
    }
}

#[test]
fn sums_of_vectors_saturate_in_either_mode() {
    for (n, limits) in [(4, limits()), (32, limits()), (32, saturating())] {
        let (a, b) = (random(n + 4, 3), random(n + 4, 4));
        let mut memory = Memory::new();
        let (pa, pb) = (placed(&mut memory, &a), placed(&mut memory, &b));
        let py = placed(&mut memory, &vec![0; n]);
        let arguments = [
            Arg::Pointer(pa),
            Arg::Pointer(pb),
            Arg::Pointer(py),
            Arg::Word(n as i16),
        ];
        ran(ADD, "_vadd", &arguments, &mut memory, &limits);
        let sums: Vec<i16> = a
            .iter()
            .zip(&b)
            .take(n)
            .map(|(a, b)| a.saturating_add(*b))
            .collect();
        assert_eq!(words(&mut memory, py, n), sums);
    }
}

#[test]
fn a_conditional_sum_counts() {
    for (n, threshold) in [(1, 0), (7, 100), (64, -20_000)] {
        let x = random(n, 7);
        let mut memory = Memory::new();
        let mut with_more = x.clone();
        with_more.push(0);
        let arguments = [
            Arg::Pointer(placed(&mut memory, &with_more)),
            Arg::Word(n as i16),
            Arg::Word(threshold),
        ];
        let outcome = ran(COUNT, "_count", &arguments, &mut memory, &saturating());
        let above = x.iter().filter(|value| **value > threshold).count();
        assert_eq!(outcome.data[0], above as i64);
    }
}
