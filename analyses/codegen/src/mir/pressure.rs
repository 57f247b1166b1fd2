//! The number of registers that the values of a function need at once: live registers at every operation,
//! each weighted by its size.
//!
//! ```text
//! v3 = add v1, v2        v1, v2 and what is read later before it; v3 and what is read later behind it
//! ```
//!
//! A bound from below for any allocation that neither moves an operation nor keeps a value in memory. One walk over each
//! block.

use super::function::Function;
use super::liveness::Liveness;
use super::{Target, Virtual};

/// The place at which most is live.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Peak {
    /// The sum of the registers that are live there.
    pub sum: u32,
    /// An operation, while it reads or while it writes.
    pub block: u32,
    pub operation: u32,
    /// The registers that are live there, ascending.
    pub live: Vec<Virtual>,
}

/// Returns the live registers at every operation and their maximum. `taken` gives the size of a register;
/// those of size 0 are not counted.
///
/// `None` where no operation names a register that counts.
#[must_use]
pub fn peak<T: Target>(
    function: &Function<T>,
    live: &Liveness,
    taken: &dyn Fn(Virtual) -> u32,
    each: &mut dyn FnMut(u32, u32, u32),
) -> Option<Peak> {
    let mut best: Option<Peak> = None;
    let registers = 0..function.registers.len() as u32;
    let weights: Vec<u32> = registers.map(|number| taken(Virtual(number))).collect();
    let weight = |register: Virtual| weights[register.0 as usize];
    for (number, block) in (0..).zip(&function.blocks) {
        let mut walk = live.walk(function, number);
        let mut out: Vec<(u32, u32)> = Vec::with_capacity(block.operations.len());
        for (at, operation) in (0..block.operations.len() as u32)
            .zip(&block.operations)
            .rev()
        {
            walk.branch(operation);
            let sum =
                |walk: &super::liveness::Walk<'_, T>| walk.live.iter().map(weight).sum::<u32>();
            // What is written takes a register, read or not.
            let mut unread: Vec<Virtual> = operation
                .writes()
                .filter(|write| !walk.live.contains(write))
                .collect();
            unread.sort_unstable();
            unread.dedup();
            let behind = sum(&walk) + unread.iter().map(|&it| weight(it)).sum::<u32>();
            let mut most = best.as_ref().map_or(0, |peak| peak.sum);
            if behind > most {
                let mut live: Vec<Virtual> = walk.live.iter().chain(unread).collect();
                live.sort_unstable();
                best = Some(at_peak(behind, number, at, live, &weight));
                most = behind;
            }
            walk.write(operation);
            walk.read(operation);
            let before = sum(&walk);
            if before > most {
                best = Some(at_peak(
                    before,
                    number,
                    at,
                    walk.live.iter().collect(),
                    &weight,
                ));
            }
            out.push((at, behind.max(before)));
        }
        for &(at, sum) in out.iter().rev() {
            each(number, at, sum);
        }
    }
    best
}

fn at_peak(
    sum: u32,
    block: u32,
    operation: u32,
    mut live: Vec<Virtual>,
    weight: &dyn Fn(Virtual) -> u32,
) -> Peak {
    live.retain(|&it| weight(it) > 0);
    Peak {
        sum,
        block,
        operation,
        live,
    }
}
