//! Rules of hardware loops: their lengths, their order, what sets them up, what stands near their ends.

use super::super::capacity::Capacity;
use super::super::listing::{HardwareLoop, Listing};
use super::{Broken, Finding, Place};
use isa::sc140::{Flow, Opcode, Reg, Unit, WriteWay};

/// Sets between the enabling of a long loop, or the setting of its start, and the set that bears its mark: guesses on the
/// safe side.
const ENABLE_GAP: usize = 1;
const SETUP_GAP: usize = 2;

pub(super) fn check(listing: &Listing, capacity: &Capacity, findings: &mut Vec<Finding>) {
    let mut around: Vec<usize> = Vec::new();
    let preparations = preparations(listing);
    for (number, hardware) in listing.loops.iter().enumerate() {
        if hardware.count == 0 {
            continue;
        }
        let is_open = |&open: &usize| listing.loops[open].contains(hardware.first);
        while around.pop_if(|open| !is_open(open)).is_some() {}
        let mut told = |broken: Broken, at: Place, with: Option<Place>| {
            findings.push(Finding { broken, at, with });
        };
        prepared(listing, hardware, preparations[number], capacity, &mut told);
        nested(listing, hardware, &around, &mut told);
        around.push(number);
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

/// The last instructions above a loop that enable it and that set its start.
#[derive(Clone, Copy, Default)]
struct Prepared {
    enabled: Option<(usize, usize)>,
    start: Option<(usize, usize)>,
}

/// The preparations of each loop. Nothing is looked for above a place that control does not fall through.
fn preparations(listing: &Listing) -> Vec<Prepared> {
    let mut out = Vec::with_capacity(listing.loops.len());
    let mut now = [Prepared::default(); 4];
    let mut at = 0;
    for hardware in &listing.loops {
        while at < hardware.first {
            let set = &listing.sets[at];
            if set.apart {
                now = [Prepared::default(); 4];
            }
            for (number, known) in set.members.iter().enumerate() {
                let Ok(instruction) = &known.instruction else {
                    continue;
                };
                let mnemonic = instruction.mnemonic;
                let index = usize::from(mnemonic.index.unwrap_or_default() & 3);
                match mnemonic.opcode {
                    Opcode::Doen | Opcode::Doensh => now[index].enabled = Some((at, number)),
                    Opcode::Dosetup => now[index].start = Some((at, number)),
                    _ => {}
                }
            }
            at += 1;
        }
        out.push(now[usize::from(hardware.index & 3)]);
    }
    out
}

/// The enabling of a loop and the setting of its start.
fn prepared(
    listing: &Listing,
    hardware: &HardwareLoop,
    known: Prepared,
    capacity: &Capacity,
    told: &mut Told<'_>,
) {
    let index = hardware.index;
    let first = whole(hardware.first);
    let Some((at, number)) = known.enabled else {
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
    let Some((at, number)) = known.start else {
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

/// Indices grow inwards, and a short loop holds none. `around`: the loops that are open where it begins.
fn nested(listing: &Listing, inner: &HardwareLoop, around: &[usize], told: &mut Told<'_>) {
    let outer = around.iter().map(|&number| &listing.loops[number]);
    let wrong = outer.rev().find(|outer| {
        let inside = outer.contains(inner.first) && outer.count > inner.count;
        inside && (inner.index <= outer.index || outer.count <= 2)
    });
    if let Some(outer) = wrong {
        let broken = Broken::LoopNesting {
            inner: inner.index,
            outer: outer.index,
        };
        told(broken, whole(inner.first), Some(whole(outer.first)));
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
    let marks = listing.marked();
    for (marked, _) in marks.iter().enumerate().filter(|(_, marks)| **marks) {
        let Some(before) = marked.checked_sub(1) else {
            continue;
        };
        if listing.sets[marked].apart {
            continue;
        }
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
