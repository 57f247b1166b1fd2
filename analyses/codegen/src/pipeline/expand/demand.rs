//! The registers that a pipelined loop asks for, before its code is there.
//!
//! ```text
//! ii = 2:  {x0 = load}  {}  {s += x0}        x lives from cycle 0 to cycle 2: in each row there is one of them
//! ```
//!
//! A bound from below: values that live only through a part of the loop, and are written more than once, are not counted.

use super::Plan;
use crate::mir::dependence::{reads, writes};
use crate::mir::{Counted, Function, Name, RegisterFile, Virtual};
use rustc_hash::FxHashSet;

/// The values of a kernel that find no register, at least.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Lacking {
    /// Of those that the kernel names.
    pub named: u32,
    /// Of those and the ones that live through it.
    pub all: u32,
}

/// Counts the values that find no register in the kernel of a planned loop.
#[must_use]
pub fn lacking<T: Counted>(
    function: &Function<T>,
    plan: &Plan<T>,
    files: &[RegisterFile<T>],
) -> Lacking {
    let registers = |name: Name<T>| match name {
        Name::Virtual(register) => Some(register),
        Name::Fixed(_) => None,
    };
    let mut named: FxHashSet<Virtual> = FxHashSet::default();
    let mut written: FxHashSet<Virtual> = FxHashSet::default();
    // What an operation both reads and writes is there in each cycle.
    let mut kept: FxHashSet<Virtual> = FxHashSet::default();
    for operation in &plan.body {
        let own: FxHashSet<Virtual> = reads(operation).into_iter().filter_map(registers).collect();
        for write in writes(operation).into_iter().filter_map(registers) {
            written.insert(write);
            if own.contains(&write) {
                kept.insert(write);
            }
        }
        named.extend(own);
    }
    let stays = |register: &&Virtual| {
        !plan.names.contains_key(register)
            && (!written.contains(register) || kept.contains(register))
    };
    let mut out = Lacking::default();
    for file in files {
        let is_own = |register: &Virtual| {
            function.class(*register) == file.class && function.place(*register).is_none()
        };
        let through = plan.through.iter().filter(stays).filter(|it| is_own(it));
        let (used, passing): (Vec<&Virtual>, Vec<&Virtual>) =
            through.partition(|it| named.contains(it));
        let most = plan.most_at_once(is_own) + used.len();
        let suffices = file.free.len().max(file.preserved.len());
        out.named += most.saturating_sub(suffices) as u32;
        out.all += (most + passing.len()).saturating_sub(suffices) as u32;
    }
    out
}

impl<T: Counted> Plan<T> {
    /// The most values with names that live in one row of the schedule.
    fn most_at_once(&self, is_counted: impl Fn(&Virtual) -> bool) -> usize {
        let ii = self.schedule.ii;
        let mut rows = vec![0; ii as usize];
        for (value, lived) in self.values.iter().filter(|(it, _)| is_counted(it)) {
            debug_assert!(self.names.contains_key(value));
            let start = |it: u32| self.schedule.start[it as usize];
            let first = lived.writers.iter().map(|&writer| start(writer)).min();
            let readers = lived.readers.iter();
            let last = readers.map(|&(it, later)| start(it) + later * ii).max();
            if let (Some(first), Some(last)) = (first, last) {
                for cycle in first + 1..=last {
                    rows[(cycle % ii) as usize] += 1;
                }
            }
        }
        rows.into_iter().max().unwrap_or(0)
    }
}
