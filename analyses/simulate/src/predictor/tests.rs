//! The paper's examples with the contents of the history, and properties on random traces.

mod paper;
mod random;
mod region;

use super::*;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// A compare of two predicates that are each other's complement.
fn compare(gap: u32, delay: u32, first: u16, second: u16, value: bool) -> Event {
    Event::Define(Define {
        gap,
        delay,
        first: Write {
            predicate: first,
            value,
        },
        second: Some(Write {
            predicate: second,
            value: !value,
        }),
        compare: true,
    })
}

fn branch(gap: u32, pc: u64, guard: u16, taken: bool) -> Event {
    Event::Branch(Branch {
        gap,
        pc,
        taken,
        guard,
    })
}

fn design(name: &str) -> Design {
    Design::named(name).unwrap_or_else(|reason| panic!("{reason}"))
}

/// A trace of a program that does not exist: branches of a few places that depend on the compares before them, and on
/// chance.
fn random_trace(rng: &mut impl Rng, length: usize) -> Vec<Event> {
    let mut predicates = [false; 16];
    let mut last = [false; 32];
    let mut trace = Vec::with_capacity(length);
    for _ in 0..length {
        let gap = rng.random_range(0..12);
        if rng.random_bool(0.4) {
            let pair = rng.random_range(0..7);
            let (first, second) = (1 + 2 * pair, 2 + 2 * pair);
            let value = rng.random_bool(0.3);
            predicates[usize::from(first)] = value;
            predicates[usize::from(second)] = !value;
            let delay = rng.random_range(0..30);
            trace.push(compare(gap, delay, first, second, value));
        } else {
            let pc = rng.random_range(0..32u64);
            let guard = (pc % 15) as u16;
            let wanted = match pc % 3 {
                0 => rng.random_bool(0.9),
                1 => !last[pc as usize],
                _ => predicates[(pc % 13 + 1) as usize],
            };
            let taken = wanted && (guard == 0 || predicates[usize::from(guard)]);
            last[pc as usize] = taken;
            trace.push(branch(gap, pc, guard, taken));
        }
    }
    trace
}

#[test]
fn names_of_designs_are_read_and_written() {
    for name in [
        "meta",
        "gshare",
        "tage",
        "meta+squash",
        "meta+pep+squash+pgu",
        "meta+resolved-pep+pgu-repaired",
        "tage+squash+pgu-20",
    ] {
        assert_eq!(design(name).to_string(), name);
        assert!(design(name).checked().is_ok());
    }
    let refused = |name: &str| Design::named(name).map_err(|reason| reason.to_string());
    for name in ["", "alpha", "meta+", "meta+x", "tage+pep", "meta+pgu-x"] {
        assert!(refused(name).is_err(), "{name}");
    }
    let tage = TageSizes {
        most: 2,
        ..TageSizes::default()
    };
    let size = Design::new(Direction::Tage(tage)).checked();
    assert_eq!(size, Err(UnknownDesign::Size("most", 2, 4, 1024)));
}

#[test]
fn lengths_of_histories_grow_geometrically() {
    let sizes = TageSizes {
        tables: 7,
        least: 5,
        most: 130,
        ..TageSizes::default()
    };
    let lengths: Vec<u32> = (0..7).map(|number| sizes.length(number)).collect();
    assert_eq!(lengths, [5, 9, 15, 25, 44, 76, 130]);
}
