//! Equal contents of registers and slots in front of each set, and the slots that are loaded behind it.
//!
//! ```text
//! a slot, the registers that hold its value as a load would give it      meet: those on all ways
//! the registers that hold a number of 32 bits, with its sign             meet: those on all ways
//! ```
//!
//! A load fills the 40 bits of a data register with the sign, so that one that is stored is equal to its slot only if it held
//! such a number. Stops: sets of registers only shrink, live slots only grow.

use super::super::listing::{Listing, Member};
use super::frame::{Frame, SlotAccess, calls};
use isa::sc140::{Access, Condition, File, Opcode, Operand, Part, Reg};
use std::collections::{BTreeMap, BTreeSet};

/// An instruction that goes, or becomes a move.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Change {
    /// A set of the listing and a member of it.
    pub(super) at: (usize, usize),
    pub(super) stores: bool,
    pub(super) instead: Option<String>,
}

/// Registers as bits: data registers, then address registers.
type Mask = u32;

fn bit(register: Reg) -> Mask {
    match register.file {
        File::Data => 1 << register.number,
        File::Address => 1 << (16 + register.number),
        _ => 0,
    }
}

/// The facts in front of a set.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct State {
    /// The registers that hold the value of each slot.
    held: BTreeMap<i64, Mask>,
    /// Data registers that hold numbers of 32 bits.
    narrow: Mask,
}

impl State {
    fn meet(&mut self, other: &State) -> bool {
        let before = self.clone();
        self.narrow &= other.narrow;
        self.held.retain(|slot, mask| {
            *mask &= other.held.get(slot).copied().unwrap_or(0);
            *mask != 0
        });
        *self != before
    }
}

/// The changes that spare accesses of slots; `moves`: loads may become moves.
pub(super) fn changes(listing: &Listing, frame: &Frame, moves: bool) -> Vec<Change> {
    let mut out = Vec::new();
    let states = states(listing, frame);
    let mut left: Vec<SlotAccess> = Vec::new();
    for access in &frame.accesses {
        let state = states.get(&access.at.0);
        let instead = state
            .filter(|_| !access.stores && !is_stored(frame, access))
            .and_then(|state| instead(listing, state, access, moves));
        match instead {
            Some(instead) => out.push(Change {
                at: access.at,
                stores: false,
                instead,
            }),
            None => left.push(*access),
        }
    }
    let live = live(listing, frame, &left);
    let dead = left.iter().filter(|access| {
        let mut behind = frame.next[&access.at.0].iter();
        // Conditions are written in front of some member.
        access.stores
            && !listing.sets[access.at.0].is_conditional()
            && !calls(listing, access.at.0)
            && !behind.any(|next| live.get(next).is_some_and(|live| live.holds(access.slot)))
    });
    out.extend(dead.map(|access| Change {
        at: access.at,
        stores: true,
        instead: None,
    }));
    out.sort_unstable_by_key(|change| change.at);
    out
}

/// Returns true if the same set writes what an access loads: no source tells which value it gets.
fn is_stored(frame: &Frame, load: &SlotAccess) -> bool {
    let same = |access: &&SlotAccess| access.at.0 == load.at.0 && access.stores;
    let mut stores = frame.accesses.iter().filter(same);
    let near = |slot: i64| slot < load.slot + 4 && load.slot < slot + 4;
    let mut others = frame.others.iter().filter(|other| other.set == load.at.0);
    stores.any(|store| near(store.slot))
        || others.any(|other| {
            other.access != Access::Load
                && other.bytes.start < load.slot + 4
                && load.slot < other.bytes.end
        })
}

/// The replacement of a load: nothing, where its target holds the value, else a move. `None`: it stays.
fn instead(
    listing: &Listing,
    state: &State,
    load: &SlotAccess,
    moves: bool,
) -> Option<Option<String>> {
    if listing.sets[load.at.0].is_conditional() {
        return None;
    }
    let holders = *state.held.get(&load.slot)?;
    if holders & bit(load.register) != 0 {
        return Some(None);
    }
    let file = load.register.file;
    let all = (0..16).map(|number| Reg::new(file, number));
    let from = all
        .filter(|_| moves)
        .find(|register| holders & bit(*register) != 0)?;
    let opcode = match file {
        File::Address => "tfra",
        _ => "tfr",
    };
    Some(Some(format!("{opcode:<8} {from},{}", load.register)))
}

fn states(listing: &Listing, frame: &Frame) -> BTreeMap<usize, State> {
    let Some(&first) = frame.sets.first() else {
        return BTreeMap::new();
    };
    let mut out: BTreeMap<usize, State> = BTreeMap::from([(first, State::default())]);
    let mut open: BTreeSet<usize> = BTreeSet::from([first]);
    while let Some(at) = open.pop_first() {
        let behind = crossed(listing, frame, at, &out[&at]);
        for &to in &frame.next[&at] {
            let changed = match out.get_mut(&to) {
                Some(known) => known.meet(&behind),
                None => {
                    out.insert(to, behind.clone());
                    true
                }
            };
            if changed {
                open.insert(to);
            }
        }
    }
    out
}

/// The facts behind a set: all its instructions read what was there in front of it.
fn crossed(listing: &Listing, frame: &Frame, at: usize, state: &State) -> State {
    let set = &listing.sets[at];
    let barrier = set.members.iter().any(|member| member.effects.barrier);
    if calls(listing, at) || barrier {
        return State::default();
    }
    let mut out = state.clone();
    let mut written: Mask = 0;
    let mut gained: Vec<(Mask, Option<Reg>)> = Vec::new();
    for member in &set.members {
        for write in &member.effects.writes {
            written |= bit(write.register);
        }
        gained.extend(narrow(member, state));
    }
    out.narrow &= !written;
    for mask in out.held.values_mut() {
        *mask &= !written;
    }
    for (to, from) in gained {
        out.narrow |= to;
        // A copy holds what its source did.
        if let Some(from) = from {
            for (slot, mask) in &state.held {
                if mask & bit(from) != 0
                    && let Some(now) = out.held.get_mut(slot)
                {
                    *now |= to;
                }
            }
        }
    }
    for other in frame.others.iter().filter(|other| other.set == at) {
        if other.access != Access::Load {
            out.held
                .retain(|slot, _| !(other.bytes.start < slot + 4 && *slot < other.bytes.end));
        }
    }
    let own: Vec<&SlotAccess> = frame
        .accesses
        .iter()
        .filter(|access| access.at.0 == at)
        .collect();
    for store in own.iter().filter(|access| access.stores) {
        out.held
            .retain(|slot, _| !(store.slot < slot + 4 && *slot < store.slot + 4));
    }
    for access in own {
        let register = bit(access.register);
        match access.stores {
            true => {
                let equal = access.register.file == File::Address || state.narrow & register != 0;
                if equal && written & register == 0 {
                    out.held.insert(access.slot, register);
                }
            }
            false if !is_stored(frame, access) => {
                *out.held.entry(access.slot).or_default() |= register;
            }
            false => {}
        }
    }
    out.held.retain(|_, mask| *mask != 0);
    out
}

/// The register to which an instruction gives a number of 32 bits, and the one that it copies.
fn narrow(member: &Member, state: &State) -> Option<(Mask, Option<Reg>)> {
    let instruction = member.instruction.as_ref().ok()?;
    if member.executes() != Condition::Always {
        return None;
    }
    match (instruction.mnemonic.opcode, &instruction.operands[..]) {
        (
            Opcode::MoveL | Opcode::MoveW,
            [
                Operand::Memory(_) | Operand::Number(_),
                Operand::Register(to, Part::Whole),
            ],
        ) => Some((bit(*to), None)),
        (
            Opcode::Tfr | Opcode::Tfra,
            [
                Operand::Register(from, Part::Whole),
                Operand::Register(to, Part::Whole),
            ],
        ) => {
            let same = state.narrow & bit(*from) != 0 || from.file == File::Address;
            (same && from.file == to.file).then_some((bit(*to), Some(*from)))
        }
        _ => None,
    }
}

/// The slots that may be loaded in front of a set.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Live {
    /// A callee may load any.
    all: bool,
    slots: BTreeSet<i64>,
    /// Bytes that other accesses load.
    bytes: BTreeSet<(i64, i64)>,
}

impl Live {
    fn holds(&self, slot: i64) -> bool {
        let mut near = self.slots.iter();
        let mut bytes = self.bytes.iter();
        self.all
            || near.any(|known| *known < slot + 4 && slot < known + 4)
            || bytes.any(|(start, end)| *start < slot + 4 && slot < *end)
    }
    fn join(&mut self, other: &Live) {
        self.all |= other.all;
        self.slots.extend(&other.slots);
        self.bytes.extend(&other.bytes);
    }
}

fn live(listing: &Listing, frame: &Frame, accesses: &[SlotAccess]) -> BTreeMap<usize, Live> {
    let mut out: BTreeMap<usize, Live> = BTreeMap::new();
    let mut changed = true;
    while std::mem::take(&mut changed) {
        for &at in frame.sets.iter().rev() {
            let mut now = Live::default();
            for next in &frame.next[&at] {
                if let Some(next) = out.get(next) {
                    now.join(next);
                }
            }
            let own = || accesses.iter().filter(|access| access.at.0 == at);
            if !now.all {
                for store in own().filter(|access| access.stores) {
                    now.slots.remove(&store.slot);
                }
            }
            now.slots.extend(
                own()
                    .filter(|access| !access.stores)
                    .map(|access| access.slot),
            );
            let others = frame.others.iter().filter(|other| other.set == at);
            now.bytes.extend(
                others
                    .filter(|other| other.access != Access::Store)
                    .map(|other| (other.bytes.start, other.bytes.end)),
            );
            let members = &listing.sets[at].members;
            now.all |= calls(listing, at) || members.iter().any(|member| member.effects.barrier);
            if out.get(&at) != Some(&now) {
                out.insert(at, now);
                changed = true;
            }
        }
    }
    out
}
