//! A checker of if-conversion outside of loops that shares no code with it: whatever conditions are, the converted block comes to
//! the place where the sides meet, or to which one of them leaves, with the registers and the memory that the branches leave.
//!
//! Both functions are interpreted (`interpret`) from the head to one of these places on registers of random numbers, with the truth of each
//! comparison as a script says; scripts are tried in order, up to `PATHS`, then at random. Compared are the registers that may be read
//! there, memory, and the addresses that were accessed. Tells nothing of operations without a meaning here.

use super::code::{Function, Name, Virtual};
use super::interpret::live::Live;
use super::interpret::{Code, Decisions, End, Spaces, State, Style, Truth, mix, run};
use std::rc::Rc;

const PATHS: u32 = 1 << 10;
const SAMPLES: u64 = 16;
const SEED: u64 = 0x3c6e_f372;

/// A difference between the branches and the converted block, behind these decisions.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Violation {
    #[error("control does not come to the place where it came behind {0:?}")]
    Lost(Vec<bool>),
    #[error("v{} has another value behind {decisions:?}", .register.0)]
    Register {
        register: Virtual,
        decisions: Vec<bool>,
    },
    #[error("memory holds other values, or others are accessed, behind {0:?}")]
    Memory(Vec<bool>),
}

/// Checks that `after` has the same effects as `before` from the head to the first of the ends; returns the paths that were compared.
///
/// # Errors
/// The first difference.
pub fn check(
    before: &Function,
    after: &Function,
    head: u32,
    ends: &[u32],
) -> Result<u32, Violation> {
    let live = Live::of(before);
    let codes = [Code::new(before), Code::new(after)];
    let spaces = Rc::new(Spaces::new(&[before, after], SEED));
    let mut paths = 0;
    let mut script = Some(Vec::new());
    let mut samples = 0..SAMPLES;
    loop {
        let (now, seed) = match script.take().filter(|_| paths < PATHS) {
            Some(now) => (now, SEED),
            None => match samples.next() {
                Some(sample) => {
                    let bits = (0..64).map(|at| mix(sample, at) & 1 != 0);
                    (bits.collect(), mix(SEED, sample))
                }
                None => return Ok(paths),
            },
        };
        let in_order = seed == SEED;
        let start = State::new(seed, Style::Wide, spaces.clone());
        let walk = |code: &Code<'_>, decisions: Decisions| {
            let mut state = start.clone();
            state.truth = Truth::Decided(decisions);
            let mut stops = |block: u32, _: &mut State| ends.contains(&block);
            let mut budget = 1 << 14;
            let end = run(code, &mut state, head, &mut stops, &mut budget);
            (end, state)
        };
        let (end, old) = walk(&codes[0], Decisions::new(now));
        let Truth::Decided(met) = &old.truth else {
            return Ok(paths);
        };
        let decisions = met.met.clone();
        let mut known = met.clone();
        if in_order {
            script = met.next_script();
        }
        let End::At(reached) = end else {
            // Not interpreted here, or an address that can't be.
            continue;
        };
        known.random = Some(seed);
        let (end, new) = walk(&codes[1], known);
        if end != End::At(reached) {
            return Err(Violation::Lost(decisions));
        }
        let mut read = live.at(reached);
        let differs = read.find(|&register| {
            let value = |state: &State, function| state.get(function, Name::Virtual(register));
            value(&old, before) != value(&new, after)
        });
        if let Some(register) = differs {
            return Err(Violation::Register {
                register,
                decisions,
            });
        }
        let (first, second) = (&old.memory, &new.memory);
        if first.words != second.words
            || first.events != second.events
            || first.touched != second.touched
        {
            return Err(Violation::Memory(decisions));
        }
        paths += 1;
    }
}
