//! The dependences between the operations of a block, through registers and through memory, for any target.
//!
//! ```text
//! x = load [a]        x is read: flow, with the latency of a load
//! y = x + 1           a is written: anti, in the same cycle at the earliest
//! a = a + 4           carried: the load of the next iteration reads a, and may not meet the store
//! store [b] = y
//! ```
//!
//! One pass with the writers and readers of each location since it was last written for certain; for a loop
//! the body is passed twice, and dependences from the first pass to the second are carried to the next
//! iteration. Accesses to memory in pairs: those of objects that are apart are free, all others keep their
//! order. Locations are numbers: virtual registers before allocation, storage behind it.

use super::function::{FrameOffset, Name, Object, Operand, Operation};
use super::places::Places;
use super::schedule::Scheduled;
use isa::Branch;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// The reason why one operation stands behind another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DependenceKind {
    /// It reads what the other writes.
    Flow,
    /// It writes what the other reads.
    Anti,
    /// It writes what the other writes.
    Output,
    /// They may meet in memory.
    Memory,
    /// One of them is a branch.
    Control,
}

/// `to` starts at least `latency` cycles behind `from`, `distance` iterations later.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dependence {
    pub from: u32,
    pub to: u32,
    pub kind: DependenceKind,
    pub latency: u32,
    pub distance: u32,
}

/// The storage of a register.
pub type Locations = SmallVec<[u32; 2]>;

/// The registers that an operation reads, and those that it writes.
pub(crate) fn reads<T: Scheduled>(operation: &Operation<T>) -> SmallVec<[Name<T>; 6]> {
    let mut out = SmallVec::new();
    out.extend(operation.predicate.map(Name::Virtual));
    let accumulates = T::accumulates(operation.mnemonic);
    for operand in &operation.targets {
        if accumulates || matches!(operand, Operand::Address(_)) {
            out.extend(operand.name());
        }
    }
    out.extend(operation.sources.iter().filter_map(Operand::name));
    let frame = |operand: &Operand<T>| matches!(operand, Operand::Frame(_));
    if operation.sources.iter().any(frame) {
        out.extend(T::FRAME_BASE.map(Name::Fixed));
    }
    out
}

pub(crate) fn writes<T: Scheduled>(operation: &Operation<T>) -> SmallVec<[Name<T>; 3]> {
    let mut out: SmallVec<[Name<T>; 3]> = SmallVec::new();
    for operand in &operation.targets {
        if let Operand::Register(name) = operand {
            out.push(*name);
        }
    }
    out.extend(operation.stepped());
    out
}

/// The place of the frame that an operation of spill code accesses.
fn frame<T: Scheduled>(operation: &Operation<T>) -> Option<FrameOffset> {
    operation.sources.iter().find_map(|source| match source {
        Operand::Frame(offset) => Some(*offset),
        _ => None,
    })
}

/// Returns true if two accesses to memory may change places: neither writes, or they are never to the same place;
/// volatile ones do not.
pub(crate) fn apart<T: Scheduled>(left: &Operation<T>, right: &Operation<T>) -> bool {
    let is_volatile =
        |operation: &Operation<T>| operation.memory.as_ref().is_some_and(|it| it.volatile);
    if is_volatile(left) && is_volatile(right) {
        return false;
    }
    if !T::stores(left) && !T::stores(right) {
        return true;
    }
    match (T::releases(left), T::releases(right)) {
        (false, false) => {}
        (true, _) => return !may_be_variable(right),
        (_, true) => return !may_be_variable(left),
    }
    match (frame(left), frame(right)) {
        // Slots of one value each.
        (Some(FrameOffset::Spill(found)), Some(FrameOffset::Spill(other))) => {
            found.abs_diff(other) >= 16
        }
        (Some(FrameOffset::Spill(_)), _) | (_, Some(FrameOffset::Spill(_))) => true,
        _ => match (&left.memory, &right.memory) {
            (Some(left), Some(right)) => left.object.is_apart(&right.object),
            _ => false,
        },
    }
}

/// Returns true if an access may be to a variable of the frame; spilled values are found from the frame's base.
fn may_be_variable<T: Scheduled>(operation: &Operation<T>) -> bool {
    let object = operation.memory.as_ref().map(|memory| &memory.object);
    frame(operation).is_none()
        && matches!(
            object,
            None | Some(Object::Unknown | Object::Slot(_) | Object::Private(_))
        )
}

#[derive(Default)]
struct History {
    /// Since the last write that happened for certain, that one included.
    writers: Vec<u32>,
    readers: Vec<u32>,
}

/// Dependences of some operations in their order, `carried` ones to later iterations included where they are the body of a
/// loop. A location that `renames` has a new name in each iteration: only its values are carried. `places` say which accesses
/// meet, and how many iterations later, as far as they know more than objects do.
pub(crate) fn dependences<T: Scheduled>(
    operations: &[Operation<T>],
    processor: &T::Processor,
    locate: &dyn Fn(Name<T>) -> Locations,
    carried: bool,
    renames: &dyn Fn(u32) -> bool,
    places: Option<&Places>,
) -> Vec<Dependence> {
    let count = operations.len() as u32;
    let mut out: Vec<Dependence> = Vec::new();
    let mut push = |from: u32, to: u32, kind: DependenceKind, latency: u32| {
        // Both of one iteration, or of two that follow each other.
        if from >= count || (to >= count && !carried) {
            return;
        }
        let next = u32::from(to >= count);
        let to = to % count.max(1);
        let distance = match (kind, places) {
            (DependenceKind::Memory, Some(places)) => places.distance(from, to, next),
            _ => Some(next),
        };
        out.extend(
            distance
                .filter(|&distance| next > 0 || distance == 0)
                .map(|distance| Dependence {
                    from,
                    to,
                    kind,
                    latency,
                    distance,
                }),
        );
    };
    let mut registers: FxHashMap<u32, History> = FxHashMap::default();
    let mut accesses: Vec<u32> = Vec::new();
    let passes = if carried { 2 } else { 1 };
    for to in 0..count * passes {
        let operation = &operations[(to % count) as usize];
        let at = |number: u32| &operations[(number % count) as usize];
        for name in reads(operation) {
            for location in locate(name) {
                let history = registers.entry(location).or_default();
                for &from in &history.writers {
                    let latency = T::latency(processor, at(from), operation, name);
                    push(from, to, DependenceKind::Flow, latency);
                }
                history.readers.push(to);
            }
        }
        if T::loads(operation) || T::stores(operation) {
            for &from in &accesses {
                if !apart(at(from), operation) {
                    let latency = u32::from(!T::share_cycle(at(from), operation));
                    push(from, to, DependenceKind::Memory, latency);
                }
            }
            accesses.push(to);
        }
        for name in writes(operation) {
            for location in locate(name) {
                let history = registers.entry(location).or_default();
                let again = |from: u32| !renames(location) || (from < count) == (to < count);
                for &from in history.writers.iter().filter(|&&from| from != to) {
                    if again(from) {
                        let latency = T::output_latency(at(from), operation, name);
                        push(from, to, DependenceKind::Output, latency);
                    }
                }
                for &from in history.readers.iter().filter(|&&from| from != to) {
                    if again(from) {
                        push(from, to, DependenceKind::Anti, 0);
                    }
                }
                if operation.is_certain() {
                    history.writers.clear();
                    history.readers.clear();
                }
                history.writers.push(to);
            }
        }
    }
    out
}

/// Branches stand behind everything in front of them, and following operations behind them; nothing moves
/// across a call.
#[must_use]
pub fn control<T: Scheduled>(operations: &[Operation<T>]) -> Vec<Dependence> {
    let mut out = Vec::new();
    let branches = operations.iter().map(Operation::branch);
    let branches: Vec<Option<Branch>> = branches.collect();
    let mut any = false;
    for (to, branch) in (0..).zip(&branches) {
        // Behind no branch, what is none follows nothing.
        if !any && branch.is_none() {
            continue;
        }
        any = true;
        for (from, before) in (0..to).zip(&branches) {
            let latency = match (before, branch) {
                (Some(_), _) => 1,
                (None, Some(branch)) => u32::from(*branch == Branch::Call),
                (None, None) => continue,
            };
            out.push(Dependence {
                from,
                to,
                kind: DependenceKind::Control,
                latency,
                distance: 0,
            });
        }
    }
    out
}
