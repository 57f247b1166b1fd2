//! Rules of hardware loops: their lengths, their order, what sets them up, what stands near their ends.

use super::super::capacity::Capacity;
use super::super::listing::{HardwareLoop, Listing};
use super::group::is_marked;
use super::{Broken, Finding, Place};
use isa::sc140::{Flow, Opcode, Reg, Unit, WriteWay};

/// Sets between the enabling of a long loop, or the setting of its start, and the set that bears its mark: guesses on the
/// safe side.
const ENABLE_GAP: usize = 1;
const SETUP_GAP: usize = 2;

pub(super) fn check(listing: &Listing, capacity: &Capacity, findings: &mut Vec<Finding>) {
    for (number, hardware) in listing.loops.iter().enumerate() {
        if hardware.count == 0 {
            continue;
        }
        let mut told = |broken: Broken, at: Place, with: Option<Place>| {
            findings.push(Finding { broken, at, with });
        };
        prepared(listing, hardware, capacity, &mut told);
        nested(listing, number, &mut told);
        ends(listing, hardware, &mut told);
    }
    targets(listing, findings);
    before_marks(listing, findings);
}

type Told<'a> = dyn FnMut(Broken, Place, Option<Place>) + 'a;

const fn whole(set: usize) -> Place {
    Place { set, member: None }
}

const fn member(set: usize, member: usize) -> Place {
    Place {
        set,
        member: Some(member),
    }
}

/// The last instruction above the loop that is one of these opcodes for its index; nothing is looked for above a place
/// that control does not fall through.
fn above(listing: &Listing, hardware: &HardwareLoop, opcodes: &[Opcode]) -> Option<(usize, usize)> {
    for at in (0..hardware.first).rev() {
        let set = &listing.sets[at];
        let found = set.members.iter().position(|known| {
            known.instruction.as_ref().is_ok_and(|instruction| {
                let mnemonic = instruction.mnemonic;
                mnemonic.index == Some(hardware.index) && opcodes.contains(&mnemonic.opcode)
            })
        });
        if let Some(number) = found {
            return Some((at, number));
        }
        if set.apart {
            return None;
        }
    }
    None
}

/// The enabling of a loop and the setting of its start.
fn prepared(listing: &Listing, hardware: &HardwareLoop, capacity: &Capacity, told: &mut Told<'_>) {
    let index = hardware.index;
    let first = whole(hardware.first);
    let enabled = above(listing, hardware, &[Opcode::Doen, Opcode::Doensh]);
    let Some((at, number)) = enabled else {
        told(Broken::LoopNotEnabled { index }, first, None);
        return;
    };
    let instruction = listing.sets[at].members[number].instruction.as_ref();
    let short = instruction.is_ok_and(|known| known.mnemonic.opcode == Opcode::Doensh);
    let enabling = member(at, number);
    let sets = hardware.count;
    let right = match short {
        true => sets <= capacity.short_loop,
        false => sets >= capacity.long_loop,
    };
    if !right {
        told(Broken::LoopLength { sets, short }, first, Some(enabling));
        return;
    }
    let marked = match short {
        true => Some(hardware.first),
        false => hardware.before_last(2),
    };
    let marked = marked.unwrap_or(hardware.first);
    let gap = match short {
        true => capacity.loop_gap,
        false => ENABLE_GAP,
    };
    if marked - at - 1 < gap {
        told(Broken::LoopTooSoon { index, short }, first, Some(enabling));
    }
    if short {
        return;
    }
    let Some((at, number)) = above(listing, hardware, &[Opcode::Dosetup]) else {
        told(Broken::LoopNotEnabled { index }, first, None);
        return;
    };
    let setup = member(at, number);
    if marked - at - 1 < SETUP_GAP {
        told(Broken::SetupTooSoon { index }, first, Some(setup));
    }
    if let Some(label) = &listing.sets[at].members[number].target {
        let start = listing.labels.get(label);
        if start.is_some_and(|&start| start != hardware.first) {
            let label = label.clone();
            told(Broken::LoopStart { index, label }, setup, Some(first));
        }
    }
}

/// Indices grow inwards, and a short loop holds none.
fn nested(listing: &Listing, number: usize, told: &mut Told<'_>) {
    let inner = &listing.loops[number];
    for outer in &listing.loops[..number] {
        let inside = outer.contains(inner.first) && outer.count > inner.count;
        if inside && (inner.index <= outer.index || outer.count <= 2) {
            let broken = Broken::LoopNesting {
                inner: inner.index,
                outer: outer.index,
            };
            told(broken, whole(inner.first), Some(whole(outer.first)));
        }
    }
}

/// The last three sets of a long loop, and all of a short one.
fn ends(listing: &Listing, hardware: &HardwareLoop, told: &mut Told<'_>) {
    let last = hardware.first + hardware.count - 1;
    for at in last.saturating_sub(2).max(hardware.first)..=last {
        for (number, known) in listing.sets[at].members.iter().enumerate() {
            let flow = known.effects.flow;
            if flow.is_some_and(|flow| flow != Flow::Continue) {
                told(Broken::FlowAtEnd, member(at, number), None);
            }
            let own = [
                Reg::new(isa::sc140::File::LoopCount, hardware.index),
                Reg::new(isa::sc140::File::LoopStart, hardware.index),
                Reg::SR,
            ];
            let written = known.effects.writes.iter().find(|write| {
                own.contains(&write.register) && write.way == WriteWay::Bus
                    || own[..2].contains(&write.register) && known.unit() == Some(Unit::Loop)
            });
            if let Some(write) = written {
                let register = write.register;
                told(Broken::LoopRegister { register }, member(at, number), None);
            }
        }
    }
}

/// The places to which jumps lead.
fn targets(listing: &Listing, findings: &mut Vec<Finding>) {
    for (from, number, label) in listing.targets() {
        let Some(&to) = listing.labels.get(label) else {
            continue;
        };
        let within = |known: &&HardwareLoop| known.contains(to);
        for hardware in listing.loops.iter().filter(within) {
            let at = member(from, number);
            let with = Some(whole(to));
            let label = label.clone();
            let late = [0, 1]
                .map(|by| hardware.before_last(by))
                .contains(&Some(to));
            // The jump over the loop's own start is its round.
            if hardware.contains(from) && hardware.count > 2 && late {
                let broken = Broken::LoopTarget { label };
                findings.push(Finding { broken, at, with });
            } else if !hardware.contains(from) && to != hardware.first {
                let broken = Broken::IntoLoop { label };
                findings.push(Finding { broken, at, with });
            }
        }
    }
}

/// The set in front of one that bears a loop's mark.
fn before_marks(listing: &Listing, findings: &mut Vec<Finding>) {
    for marked in 1..listing.sets.len() {
        if !is_marked(listing, marked) || listing.sets[marked].apart {
            continue;
        }
        let before = marked - 1;
        for (number, known) in listing.sets[before].members.iter().enumerate() {
            let mut told = |broken| {
                findings.push(Finding {
                    broken,
                    at: member(before, number),
                    with: Some(whole(marked)),
                });
            };
            if known.is_delayed() && known.effects.flow.is_some() {
                told(Broken::SlotIsMarked);
            }
            let reads = known.effects.reads_from(Reg::SR)
                && known
                    .effects
                    .reads
                    .iter()
                    .any(|read| read.register == Reg::SR)
                && matches!(known.unit(), Some(Unit::Address | Unit::Mask));
            if reads {
                told(Broken::StatusBeforeMark);
            }
        }
    }
}
