//! A checker of packets that shares no code with the packer: every pair of operations of the block by itself.
//!
//! Two operations of which one writes a register that the other reads or writes keep their order, and share a
//! cycle only if the second one writes what the first one reads, or if memory permits it; joined ones do. A branch has all
//! that was in front of it in its cycle or before. A packet fits the units of the processor. Latencies are
//! not checked: an operation that reads too early waits.

use super::Packets;
use crate::mir::dependence::Locations;
use crate::mir::packer::Packer;
use crate::mir::{Name, Object, Operand, Operation, Scheduled};
use isa::Branch;
use std::collections::BTreeSet;

/// The fault of packets. Operations are counted in the block as it was.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PacketFault {
    #[error("operation {0} stands nowhere, or twice")]
    Missing(u32),
    #[error("cycles descend at place {0}")]
    Order(u32),
    #[error("operation {second} does not stand behind operation {first}")]
    Pair { first: u32, second: u32 },
    #[error("the operations of cycle {0} do not issue together")]
    Units(u32),
    #[error("operation {0} does not stand beside the one in front of it")]
    Torn(u32),
}

struct Effects {
    reads: BTreeSet<u32>,
    writes: BTreeSet<u32>,
}

fn effects<T: Scheduled>(
    operation: &Operation<T>,
    locate: &dyn Fn(Name<T>) -> Locations,
) -> Effects {
    let mut out = Effects {
        reads: BTreeSet::new(),
        writes: BTreeSet::new(),
    };
    if let Some(guard) = operation.predicate {
        out.reads.extend(locate(Name::Virtual(guard)));
    }
    for operand in &operation.sources {
        match operand {
            Operand::Register(name) | Operand::Address(name) => out.reads.extend(locate(*name)),
            Operand::Frame(_) => {
                let base = T::FRAME_BASE.into_iter();
                out.reads
                    .extend(base.flat_map(|base| locate(Name::Fixed(base))));
            }
            _ => {}
        }
    }
    let steps = T::steps(
        operation.mnemonic,
        operation.targets.len(),
        operation.sources.len(),
    );
    for operand in operation.targets.iter().chain(&operation.sources) {
        if let (Operand::Address(name), true) = (operand, steps) {
            out.writes.extend(locate(*name));
        }
    }
    for operand in &operation.targets {
        match operand {
            Operand::Register(name) => {
                out.writes.extend(locate(*name));
                if T::accumulates(operation.mnemonic) {
                    out.reads.extend(locate(*name));
                }
            }
            Operand::Address(name) => out.reads.extend(locate(*name)),
            _ => {}
        }
    }
    out
}

/// Returns true if accesses of which one writes may be to one place.
fn may_meet<T: Scheduled>(first: &Operation<T>, second: &Operation<T>) -> bool {
    let frame = |operation: &Operation<T>| {
        let mut operands = operation.sources.iter();
        operands.any(|operand| matches!(operand, Operand::Frame(_)))
    };
    if frame(first) != frame(second) {
        return false;
    }
    // Variables of the frame are not touched once it is given back.
    if T::releases(first) || T::releases(second) {
        let access = if T::releases(first) { second } else { first };
        return match &access.memory {
            Some(memory) => !matches!(
                memory.object,
                Object::Parameter(_)
                    | Object::Restrict(_)
                    | Object::Symbol(_)
                    | Object::Constant(_)
            ),
            None => true,
        };
    }
    if frame(first) {
        return first.sources.iter().any(|source| match source {
            Operand::Frame(_) => second.sources.contains(source),
            _ => false,
        });
    }
    let object = |operation: &Operation<T>| {
        let memory = operation.memory.as_ref();
        memory.map_or(Object::Unknown, |memory| memory.object.clone())
    };
    !object(first).is_apart(&object(second))
}

/// Checks that a block in packets means the same as before.
///
/// # Errors
/// The first fault that is found.
pub fn check<T: Scheduled>(
    operations: &[Operation<T>],
    packets: &Packets,
    processor: &T::Processor,
    locate: &dyn Fn(Name<T>) -> Locations,
) -> Result<(), PacketFault> {
    let count = operations.len() as u32;
    // By operation: its place and its cycle.
    let mut places: Vec<Option<(u32, u32)>> = vec![None; operations.len()];
    for (place, (&each, &cycle)) in (0..).zip(packets.order.iter().zip(&packets.cycles)) {
        let known = places
            .get_mut(each as usize)
            .ok_or(PacketFault::Missing(each))?;
        if known.replace((place, cycle)).is_some() {
            return Err(PacketFault::Missing(each));
        }
    }
    if let Some(missing) = places.iter().position(Option::is_none) {
        return Err(PacketFault::Missing(missing as u32));
    }
    if packets.order.len() != packets.cycles.len() {
        return Err(PacketFault::Missing(count));
    }
    if let Some(at) = packets.cycles.windows(2).position(|pair| pair[0] > pair[1]) {
        return Err(PacketFault::Order(at as u32));
    }
    let effects: Vec<Effects> = operations
        .iter()
        .map(|operation| effects(operation, locate))
        .collect();
    for second in 0..operations.len() {
        for first in 0..second {
            let (left, right) = (&effects[first], &effects[second]);
            let (a, b) = (&operations[first], &operations[second]);
            let meet = |left: &BTreeSet<u32>, right: &BTreeSet<u32>| !left.is_disjoint(right);
            let accesses = |operation: &Operation<T>| T::loads(operation) || T::stores(operation);
            let is_volatile =
                |operation: &Operation<T>| operation.memory.as_ref().is_some_and(|it| it.volatile);
            let memory = accesses(a)
                && accesses(b)
                && ((T::stores(a) || T::stores(b)) && may_meet(a, b)
                    || is_volatile(a) && is_volatile(b));
            let apart = meet(&left.writes, &right.reads)
                || meet(&left.writes, &right.writes)
                || (memory && !T::share_cycle(a, b))
                || a.branch().is_some()
                || b.branch() == Some(Branch::Call);
            let ordered =
                apart || memory || meet(&left.reads, &right.writes) || b.branch().is_some();
            let (Some(left), Some(right)) = (places[first], places[second]) else {
                continue;
            };
            if first + 1 == second && T::are_joined(a, b) {
                if left.1 != right.1 {
                    return Err(PacketFault::Torn(second as u32));
                }
                continue;
            }
            let holds = left.0 < right.0 && (!apart || left.1 < right.1);
            if ordered && !holds {
                return Err(PacketFault::Pair {
                    first: first as u32,
                    second: second as u32,
                });
            }
        }
    }
    let packer = T::packer(processor, operations);
    let cycles: BTreeSet<u32> = packets.cycles.iter().copied().collect();
    for cycle in cycles {
        let mut demand = <T::Packer as Packer>::Demand::default();
        for (&each, &at) in packets.order.iter().zip(&packets.cycles) {
            if at == cycle {
                packer.add(&mut demand, each);
            }
        }
        if !packer.fits(&demand) {
            return Err(PacketFault::Units(cycle));
        }
    }
    Ok(())
}
