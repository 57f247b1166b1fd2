//! Rules between sets that follow each other: A.1, A.2, T.1, SR, and those of delay slots.

use super::super::capacity::Capacity;
use super::super::listing::{Listing, Member};
use super::{Broken, Finding, Place, PointerUse};
use isa::sc140::{Condition, File, Flow, ReadStage, Reg, Unit, WriteWay};

/// Sets between a write of the status and its use: a guess, as the numbers were not read.
const STATUS_GAP: usize = 2;

pub(super) fn check(listing: &Listing, capacity: &Capacity, findings: &mut Vec<Finding>) {
    // A modifier is linear unless something sets its control.
    let modulo = listing.sets.iter().any(|set| {
        let mut members = set.members.iter();
        members.any(|member| member.effects.writes_to(Reg::MCTL))
    });
    let furthest = [capacity.address_gap, capacity.truth_gap, STATUS_GAP];
    let furthest = furthest.into_iter().max().unwrap_or(0);
    for (at, set) in listing.sets.iter().enumerate() {
        let behind = following(listing, at, furthest);
        for (number, member) in set.members.iter().enumerate() {
            if member.effects.writes.is_empty() {
                continue;
            }
            for &(later, between) in &behind {
                for (user, reader) in listing.sets[later].members.iter().enumerate() {
                    if let Some(broken) = too_soon(member, reader, between, modulo, capacity) {
                        findings.push(Finding {
                            broken,
                            at: Place {
                                set: later,
                                member: Some(user),
                            },
                            with: Some(Place {
                                set: at,
                                member: Some(number),
                            }),
                        });
                    }
                }
            }
        }
        slot(listing, at, findings);
    }
}

/// The sets that may execute behind one with less than so many sets between, and the least number of those.
fn following(listing: &Listing, at: usize, furthest: usize) -> Vec<(usize, usize)> {
    let mut out: Vec<(usize, usize)> = Vec::new();
    let mut open = vec![(at, None::<usize>)];
    while let Some((from, passed)) = open.pop() {
        for (to, extra) in listing.successors(from) {
            let between = passed.map_or(0, |passed| passed + 1) + extra;
            if between >= furthest {
                continue;
            }
            match out.iter_mut().find(|(known, _)| *known == to) {
                Some((_, known)) if *known <= between => continue,
                Some((_, known)) => *known = between,
                None => out.push((to, between)),
            }
            open.push((to, Some(between)));
        }
    }
    out
}

/// The rule that a reader breaks so many sets behind a writer.
fn too_soon(
    writer: &Member,
    reader: &Member,
    between: usize,
    modulo: bool,
    capacity: &Capacity,
) -> Option<Broken> {
    let writes = &writer.effects.writes;
    if between < capacity.address_gap {
        for write in writes.iter().filter(|write| write.way == WriteWay::Bus) {
            let early = |register: Reg| {
                let mut reads = reader.effects.reads.iter();
                reads.any(|read| read.stage == ReadStage::Address && read.register == register)
            };
            let register = write.register;
            if register == Reg::MCTL && early(register) {
                return Some(Broken::ModifierTooSoon);
            }
            let pointer = register.is_pointer();
            let stack = register.is_stack()
                && reader.effects.reads.iter().any(|read| {
                    read.stage == ReadStage::Address && read.register.overlaps(register)
                });
            if pointer && (early(register) || stack) {
                return Some(Broken::PointerTooSoon {
                    register,
                    used: PointerUse::Read,
                });
            }
            let mut others = reader.effects.writes.iter();
            if others.any(|other| other.register == register && other.way == WriteWay::Address) {
                return Some(Broken::PointerTooSoon {
                    register,
                    used: PointerUse::Written,
                });
            }
            let buffer = reader.effects.modified.iter().any(|modified| {
                register.file == File::Modifier || modified.base() == Some(register)
            });
            if modulo && buffer {
                return Some(Broken::PointerTooSoon {
                    register,
                    used: PointerUse::Modulus,
                });
            }
        }
    }
    let writes_truth = writer.effects.writes_to(Reg::TRUTH);
    let conditional = reader.executes() != Condition::Always
        && reader.unit().is_some_and(|unit| unit != Unit::Data);
    let by_itself = reader
        .effects
        .reads
        .iter()
        .any(|read| read.register == Reg::TRUTH && read.stage == ReadStage::Address);
    if between < capacity.truth_gap && writes_truth && (conditional || by_itself) {
        return Some(Broken::TruthTooSoon);
    }
    let status = |register: Reg| matches!(register, Reg::SR | Reg::EMR);
    let moved = writes
        .iter()
        .any(|write| write.way == WriteWay::Bus && status(write.register));
    let uses = || {
        let bits = [Reg::CARRY, Reg::TRUTH, Reg::OVERFLOW];
        let effects = &reader.effects;
        reader.executes() != Condition::Always
            || bits
                .iter()
                .any(|bit| effects.reads_from(*bit) || effects.writes_to(*bit))
    };
    (between < STATUS_GAP && moved && uses()).then_some(Broken::StatusTooSoon)
}

/// Rules of a delayed change of flow, and of calls beside a write of the status.
fn slot(listing: &Listing, at: usize, findings: &mut Vec<Finding>) {
    let set = &listing.sets[at];
    let Some((leaving, flow)) = set.flow() else {
        return;
    };
    let moves_status = |member: &Member| {
        let mut writes = member.effects.writes.iter();
        writes.any(|write| write.way == WriteWay::Bus && write.register == Reg::SR)
    };
    let with = Some(Place {
        set: at,
        member: Some(leaving),
    });
    let mut told = |broken: Broken, set: usize, member: usize| {
        findings.push(Finding {
            broken,
            at: Place {
                set,
                member: Some(member),
            },
            with,
        });
    };
    if flow == Flow::Call {
        for (number, member) in set.members.iter().enumerate() {
            if moves_status(member) {
                told(Broken::StatusWithCall { slot: false }, at, number);
            }
        }
    }
    let next = listing.sets.get(at + 1).filter(|next| !next.apart);
    let Some(next) = next.filter(|_| set.has_slot()) else {
        return;
    };
    for (number, member) in next.members.iter().enumerate() {
        if flow == Flow::Call && moves_status(member) {
            told(Broken::StatusWithCall { slot: true }, at + 1, number);
        }
        let returns = flow == Flow::Return;
        let stack = member.effects.reads_from(Reg::SP) || member.effects.writes_to(Reg::SP);
        if member.effects.flow.is_some() {
            told(Broken::FlowInSlot { returns }, at + 1, number);
        } else if returns && stack {
            told(Broken::StackInSlot, at + 1, number);
        }
    }
}
