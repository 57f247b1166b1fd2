//! The comparison of the state that an execution of a loop leaves with that of the code in its place.

use super::{Checker, Run, Violation};
use crate::target::ia64::code::Name;
use crate::target::ia64::interpret::State;

/// An access: a store, its memory, address and bytes.
type Accessed = (bool, u8, u64, u32);

/// Compares registers that may be read at block `left` of the function as it was, and memory.
pub(super) fn compare(
    checker: &Checker<'_>,
    (before, after): (&State, &State),
    left: u32,
    run: Run,
) -> Result<(), Violation> {
    let function = checker.before.function;
    let pinned = |it| function.place(it).is_some();
    for register in checker.live.at(left).filter(|it| !pinned(*it)) {
        let name = Name::Virtual(register);
        if before.get(function, name) != after.get(function, name) {
            return Err(Violation::Register { register, run });
        }
    }
    let (old, new) = (&before.memory, &after.memory);
    if old.words != new.words {
        let all = old.words.keys().chain(new.words.keys());
        let differing = all.filter(|key| old.words.get(key) != new.words.get(key));
        let first = differing.min().copied().unwrap_or_default();
        return Err(Violation::Memory {
            memory: first.0,
            address: first.1 * 8,
            run,
        });
    }
    if old.events != new.events {
        return Err(Violation::Volatile { run });
    }
    let more = new
        .touched
        .keys()
        .filter(|key| !old.touched.contains_key(key));
    match more.min() {
        Some(&(memory, word)) => Err(Violation::Access {
            memory,
            address: word * 8,
            run,
        }),
        None => Ok(()),
    }
}

/// Returns true if all accesses are to multiples of their size.
pub(super) fn is_aligned(log: &[Accessed]) -> bool {
    let mut log = log.iter();
    log.all(|&(_, _, address, bytes)| address.is_multiple_of(u64::from(bytes.max(1))))
}

/// Returns true if accesses of different rounds share a byte, and one of them stores. `starts`: where the rounds begin.
pub(super) fn meets(log: &[Accessed], starts: &[usize]) -> bool {
    let round = |at: usize| starts.partition_point(|start| *start <= at);
    let share = |accessed: &Accessed, other: &Accessed| {
        let behind = other.2.wrapping_sub(accessed.2);
        let in_front = accessed.2.wrapping_sub(other.2);
        accessed.1 == other.1 && (behind < u64::from(accessed.3) || in_front < u64::from(other.3))
    };
    log.iter().enumerate().any(|(at, each)| {
        let others = log[..at].iter().enumerate();
        let mut meeting = others.filter(|it| (each.0 || it.1.0) && share(each, it.1));
        meeting.any(|it| round(it.0) != round(at))
    })
}
