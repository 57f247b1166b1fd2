//! The places of the accesses of a loop of one block, as far as its registers step by constants.
//!
//! ```text
//! r1 = r0 in front of it; b1: load [r0], 2; ..; store [r1], 2      an iteration stores where it has loaded: none that is later
//!                                                                  loads from there
//! ```
//!
//! A place is a value that a register has where the loop is entered, an offset from it, and the step of an iteration. Two registers
//! have one origin where copies and sums in front of the loop lead from it to both; the way is followed back as long as it is the
//! only one. Addresses are taken not to wrap around.

use super::function::{Function, Name, Operand, Operation, Virtual};
use super::schedule::Scheduled;
use rustc_hash::FxHashMap;

/// A value that addresses begin at.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Origin {
    /// The content of a register in front of an operation of a block; `None`: where the loop is entered.
    Register(Virtual, Option<(u32, u32)>),
    /// Nothing is known of it: the number of an operation of the loop.
    Computed(u32, Virtual),
}

/// A distance from an origin, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Offset {
    pub(crate) origin: Origin,
    pub(crate) bytes: i64,
}

/// The start of an access in the first iteration, and the distance of each iteration from the one before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Place {
    at: Offset,
    step: i64,
    bytes: i64,
}

/// The places of the operations of a loop; `None`: it is no access, or its place is not known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Places(Vec<Option<Place>>);

/// The base of the only address that an operation names.
pub(crate) fn base<T: Scheduled>(operation: &Operation<T>) -> Option<Virtual> {
    let operands = operation.targets.iter().chain(&operation.sources);
    let mut addresses = operands.filter_map(|operand| match operand {
        Operand::Address(name) => Some(*name),
        _ => None,
    });
    match (addresses.next(), addresses.next()) {
        (Some(Name::Virtual(base)), None) => Some(base),
        _ => None,
    }
}

/// The bytes by which an access steps its base; `None`: it does not, or by a register.
pub(crate) fn step<T: Scheduled>(operation: &Operation<T>) -> Option<i64> {
    operation.stepped()?;
    match operation.sources.last() {
        Some(Operand::Number(by)) => Some(*by),
        _ => None,
    }
}

/// The register that an operation leaves at a constant distance from one that it reads: copies, sums, steps.
fn moved<T: Scheduled>(operation: &Operation<T>) -> Option<(Virtual, Virtual, i64)> {
    if operation.predicate.is_some() {
        return None;
    }
    if let Some((to, from)) = T::copied(operation) {
        return Some((to, from, 0));
    }
    if let Some((to, by)) = T::increment(operation) {
        return Some((to, to, by));
    }
    let base = base(operation)?;
    Some((base, base, step(operation)?))
}

/// The content of a register where a loop is entered, from the beginning of the path to it.
pub(crate) fn entered<T: Scheduled>(
    function: &Function<T>,
    header: u32,
    register: Virtual,
) -> Offset {
    let (mut register, mut bytes) = (register, 0);
    let mut outside = (0..function.blocks.len() as u32)
        .filter(|&it| it != header && function.successors(it).contains(&header));
    let mut block = match (outside.next(), outside.next()) {
        (Some(only), None) => only,
        _ => {
            let origin = Origin::Register(register, None);
            return Offset { origin, bytes };
        }
    };
    for _ in 0..function.blocks.len() {
        let operations = &function.blocks[block as usize].operations;
        for (at, operation) in operations.iter().enumerate().rev() {
            if !operation.writes().any(|written| written == register) {
                continue;
            }
            match moved(operation) {
                Some((to, from, by)) if to == register => {
                    bytes += by;
                    register = from;
                }
                _ => {
                    let origin = Origin::Register(register, Some((block, at as u32 + 1)));
                    return Offset { origin, bytes };
                }
            }
        }
        let all = 0..function.blocks.len() as u32;
        let mut before = all.filter(|&it| function.successors(it).contains(&block));
        match (before.next(), before.next()) {
            // Nothing leads to the first block but the call.
            (Some(only), None) if block != 0 => block = only,
            _ => break,
        }
    }
    let origin = Origin::Register(register, Some((block, 0)));
    Offset { origin, bytes }
}

impl Places {
    /// The places of the operations of a loop of one block, which begins with it.
    pub(crate) fn of<T: Scheduled>(
        function: &Function<T>,
        header: u32,
        operations: &[Operation<T>],
    ) -> Places {
        let mut now: FxHashMap<Virtual, Offset> = FxHashMap::default();
        let own = |register: Virtual| Offset {
            origin: Origin::Register(register, None),
            bytes: 0,
        };
        let mut found: Vec<Option<(Offset, i64)>> = Vec::with_capacity(operations.len());
        for (number, operation) in (0u32..).zip(operations) {
            let held = |register: Virtual| now.get(&register).copied().unwrap_or(own(register));
            let memory = operation.memory.as_ref();
            found.push(
                base(operation)
                    .zip(memory.filter(|memory| !memory.volatile))
                    .map(|(base, memory)| (held(base), i64::from(memory.bytes))),
            );
            let moved = moved(operation).map(|(to, from, by)| {
                let from = held(from);
                let bytes = from.bytes + by;
                (to, Offset { bytes, ..from })
            });
            for written in operation.writes() {
                let origin = Origin::Computed(number, written);
                let unknown = Offset { origin, bytes: 0 };
                let known = moved.filter(|(to, _)| *to == written);
                now.insert(written, known.map_or(unknown, |(_, offset)| offset));
            }
        }
        let place = |(offset, bytes): (Offset, i64)| {
            let Origin::Register(register, None) = offset.origin else {
                return None;
            };
            let end = now.get(&register).copied().unwrap_or(own(register));
            if end.origin != offset.origin {
                return None;
            }
            let start = entered(function, header, register);
            Some(Place {
                at: Offset {
                    origin: start.origin,
                    bytes: start.bytes + offset.bytes,
                },
                step: end.bytes,
                bytes,
            })
        };
        Places(found.into_iter().map(|found| place(found?)).collect())
    }

    /// The distance of each iteration's place from the one before, where the place of an access is known.
    pub(crate) fn step(&self, access: u32) -> Option<i64> {
        self.0[access as usize].map(|place| place.step)
    }

    /// Returns false where an access reaches no byte that another one does so many iterations later.
    pub(crate) fn may_meet(&self, left: u32, right: u32, iterations: i64) -> bool {
        let [Some(first), Some(other)] = [left, right].map(|at| self.0[at as usize]) else {
            return true;
        };
        let between = other.at.bytes - first.at.bytes + first.step * iterations;
        let apart = between >= first.bytes || between + other.bytes <= 0;
        first.at.origin != other.at.origin || first.step != other.step || !apart
    }

    /// The least number of iterations, from this one on, after which an access reaches a byte that another one has reached:
    /// `None`: it never does. One whose place is not known may at once.
    pub(crate) fn distance(&self, from: u32, to: u32, least: u32) -> Option<u32> {
        let [Some(left), Some(right)] = [from, to].map(|at| self.0[at as usize]) else {
            return Some(least);
        };
        if left.at.origin != right.at.origin || left.step != right.step {
            return Some(least);
        }
        let between = right.at.bytes - left.at.bytes;
        let meets = |iterations: i64| {
            let between = between + left.step * iterations;
            between < left.bytes && between + right.bytes > 0
        };
        let least = i64::from(least);
        let first = match left.step {
            0 => least,
            // The first iteration that is not in front of the other's place.
            step if step > 0 => {
                (1 - right.bytes - between).div_euclid(step)
                    + i64::from((1 - right.bytes - between).rem_euclid(step) > 0)
            }
            step => {
                let ahead = between - (left.bytes - 1);
                ahead.div_euclid(-step) + i64::from(ahead.rem_euclid(-step) > 0)
            }
        };
        let first = first.max(least);
        meets(first).then(|| u32::try_from(first).unwrap_or(u32::MAX))
    }
}
