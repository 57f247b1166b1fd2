//! Delay slots: changes of flow that leave a set later than they stand, so that the set behind them executes while the target is
//! fetched.
//!
//! ```text
//! [ move.w d1,(r0)  bra L ]           brad L            the jump takes a cycle less
//!                                     move.w d1,(r0)
//!
//! mac d0,d1,d2                        [ mac d0,d1,d2  btd L ]
//! mac d3,d4,d5                        mac d3,d4,d5
//! bt L                                                  and there is a set less
//! ```
//!
//! Works on finished sets. A jump moves up where what it reads is there in time, where its new set has room, and where the slot
//! may execute in front of its target: it changes no flow and no loop, the slot of a call or a return leaves the stack alone, and
//! what is late in it is not missed behind the jump. Where that fails, operations near the jump are tried in another set each, one
//! at a time. One pass from the last set of a block to the first.
//!
//! Source: *SC140 DSP Core Reference Manual*, in excerpts: pages 5-17 and 5-19 (slots, cycles), page 7-21 (rules D.4 to D.6).

use super::code::{Allocation, Function, Name, Operand, Operation};
use super::loops;
use super::machine::locate;
use super::placed::is_late;
use crate::machine::schema::SetKey;
use crate::machine::sets::Sets;
use crate::mir::dependence::{reads, writes};
use crate::mir::packer::Packer;
use crate::mir::{Block, Scheduled, Target as _};
use crate::pack::edges;
use isa::Branch;
use isa::sc140::{Opcode, Reg, Sc140, Unit};

/// Sets in front of a slot whose operations may move for it.
const NEAR: usize = 4;

/// Fills the slots of a function in sets.
pub(super) fn fill(function: &mut Function, allocation: &Allocation, sets: &Sets) {
    if sets.of(SetKey::DelaySlots) == 0 {
        return;
    }
    let slots = Slots { allocation, sets };
    for block in &mut function.blocks {
        let counts = |operation: &Operation| operation.branch() == Some(Branch::Counted);
        if !block.operations.iter().any(counts) {
            slots.fill(block);
        }
    }
}

struct Slots<'a> {
    allocation: &'a Allocation,
    sets: &'a Sets,
}

impl Slots<'_> {
    fn fill(&self, block: &mut Block<Sc140>) {
        let Some(&last) = block.cycles.last() else {
            return;
        };
        let mut rows: Vec<Vec<Operation>> = vec![Vec::new(); last as usize + 1];
        for (operation, &cycle) in block.operations.drain(..).zip(&block.cycles) {
            rows[cycle as usize].push(operation);
        }
        for at in (1..rows.len()).rev() {
            self.delay(&mut rows, at);
        }
        block.cycles = (0..)
            .zip(&rows)
            .flat_map(|(cycle, row)| row.iter().map(move |_| cycle))
            .collect();
        block.operations = rows.into_iter().flatten().collect();
    }

    /// Moves the change of flow of a set up, if there is one.
    fn delay(&self, rows: &mut Vec<Vec<Operation>>, at: usize) {
        let Some(place) = rows.get(at).and_then(|row| row.iter().position(flows)) else {
            return;
        };
        let mnemonic = rows[at][place].mnemonic;
        // One that has moved is met again.
        if mnemonic.delayed || !mnemonic.row().has_delayed_form() {
            return;
        }
        let jump = rows[at].remove(place);
        let mut delayed = jump.clone();
        delayed.mnemonic = delayed.mnemonic.delayed();
        let alone = rows[at].is_empty();
        let slot = if alone { at - 1 } else { at };
        let moved = || self.moved(rows, &jump, slot, |rows| self.joins(rows, &jump, at));
        if self.joins(rows, &jump, at) {
            rows[slot - 1].push(delayed);
        } else if let Some(mut moved) = moved() {
            moved[slot - 1].push(delayed);
            *rows = moved;
        } else if self.stands(rows, &jump, at) {
            let row = std::mem::replace(&mut rows[slot], vec![delayed]);
            rows[at] = row;
            return;
        } else {
            rows[at].insert(place, jump);
            return;
        }
        if alone {
            rows.remove(at);
        }
    }

    /// Returns true if a set in front of the slot takes the jump of this set, which has left it.
    fn joins(&self, rows: &[Vec<Operation>], jump: &Operation, at: usize) -> bool {
        let alone = rows[at].is_empty();
        let slot = if alone { at - 1 } else { at };
        // A loop that the jump leads to begins as many sets behind what enables it as before.
        let enables = |row: &Vec<Operation>| {
            let mut units = row.iter().map(|it| it.mnemonic.row().unit);
            units.any(|unit| unit == Unit::Loop)
        };
        let behind = rows[..=slot].iter().rev().position(enables);
        let waits = !alone || behind.is_none_or(|sets| sets >= loops::SETUP_GAP as usize);
        slot.checked_sub(1).is_some_and(|to| {
            waits
                && is_free(rows, to)
                && self.is_slot_of(rows, slot, jump, at)
                && self.is_ready(rows, jump, at, to)
                && self.fits(rows[to].iter().chain([jump]))
        })
    }

    /// Returns true if a jump that is alone may have a set of its own in front of the slot.
    fn stands(&self, rows: &[Vec<Operation>], jump: &Operation, at: usize) -> bool {
        let slot = at - 1;
        slot > 0
            && rows[at].is_empty()
            && !rows[slot].is_empty()
            && is_free(rows, slot)
            && self.is_slot_of(rows, slot, jump, at)
            && self.is_ready(rows, jump, at, slot)
    }

    /// Returns true if a set may be the slot of the jump of a set.
    fn is_slot_of(
        &self,
        rows: &[Vec<Operation>],
        slot: usize,
        jump: &Operation,
        at: usize,
    ) -> bool {
        let late = |operation: &Operation| is_late(operation, self.allocation);
        self.may_be_slot(&rows[slot], jump) && !(slot < at && rows[slot].iter().any(late))
    }

    /// The sets with one operation near a slot elsewhere, so that they suit.
    fn moved(
        &self,
        rows: &[Vec<Operation>],
        jump: &Operation,
        slot: usize,
        suit: impl Fn(&[Vec<Operation>]) -> bool,
    ) -> Option<Vec<Vec<Operation>>> {
        let first = slot.saturating_sub(NEAR);
        // What is farther away than a latency has no say.
        let start = first.saturating_sub(NEAR);
        let near = rows.iter().enumerate().take(slot + NEAR + 1).skip(start);
        let (cycle_of, operations): (Vec<usize>, Vec<Operation>) = near
            .flat_map(|(cycle, row)| row.iter().map(move |it| (cycle, it.clone())))
            .unzip();
        let locate = locate(self.allocation);
        let edges = edges(&operations, self.sets, &locate);
        let read = read_ahead(jump).into_iter().flat_map(&locate);
        // What moves under the flag behind the jump waits for it, too.
        let flag = Sc140::index(Reg::TRUTH) as u32;
        let read: Vec<u32> = read.chain([flag]).collect();
        for (number, operation) in operations.iter().enumerate().rev() {
            let from = cycle_of[number];
            let opcode = operation.mnemonic.opcode;
            // A pair that moves the stack pointer once stays one.
            if !(first..=slot).contains(&from)
                || !matches!(operation.mnemonic.row().unit, Unit::Data | Unit::Address)
                || matches!(opcode, Opcode::Push | Opcode::Pop)
            {
                continue;
            }
            let own = number as u32;
            let ahead = edges.iter().filter(|edge| edge.to == own);
            let ahead = ahead.map(|edge| cycle_of[edge.from as usize] + edge.latency as usize);
            let after = edges.iter().filter(|edge| edge.from == own);
            let after =
                after.map(|edge| cycle_of[edge.to as usize].saturating_sub(edge.latency as usize));
            let earliest = ahead.max().unwrap_or(0).max(first);
            let latest = after.min().unwrap_or(slot).min(slot);
            for to in (earliest..=latest).rev().filter(|to| *to != from) {
                // What is late in a slot may be missed, and the jump does not wait for it.
                let mut written = writes(operation).into_iter().flat_map(&locate);
                let misses = to == slot
                    && (is_late(operation, self.allocation)
                        || written.any(|at| read.contains(&at)));
                if misses || rows[to].is_empty() || !self.fits(rows[to].iter().chain([operation])) {
                    continue;
                }
                let mut tried = rows.to_vec();
                let place = number - cycle_of.partition_point(|&cycle| cycle < from);
                let operation = tried[from].remove(place);
                // Those of a set stay in their order.
                match to > from {
                    true => tried[to].insert(0, operation),
                    false => tried[to].push(operation),
                }
                if !tried[from].is_empty() && suit(&tried) {
                    return Some(tried);
                }
            }
        }
        None
    }

    /// Returns true if a set may stand in the slot of a change of flow.
    fn may_be_slot(&self, row: &[Operation], jump: &Operation) -> bool {
        let keeps_stack = matches!(jump.branch(), Some(Branch::Return | Branch::Call));
        row.iter().all(|operation| {
            let stack = || {
                let mut operands = operation.targets.iter().chain(&operation.sources);
                operands.any(|operand| match operand {
                    Operand::Frame(_) => true,
                    operand => operand.name() == Some(Name::Fixed(Reg::SP)),
                })
            };
            match operation.mnemonic.row().unit {
                Unit::Flow | Unit::Loop | Unit::Program | Unit::Mask => false,
                _ => !keeps_stack || !stack(),
            }
        })
    }

    /// Returns true if what a change of flow reads is there if it moves up from a set to another.
    fn is_ready(&self, rows: &[Vec<Operation>], jump: &Operation, from: usize, to: usize) -> bool {
        let locate = locate(self.allocation);
        read_ahead(jump).into_iter().all(|name| {
            let storage = locate(name);
            let rows = rows.iter().enumerate();
            let mut writers = rows.flat_map(|(at, row)| row.iter().map(move |it| (at, it)));
            writers.all(|(at, operation)| {
                let mut written = writes(operation).into_iter().flat_map(&locate);
                let latency = || Sc140::latency(self.sets, operation, jump, name) as usize;
                at >= from || !written.any(|at| storage.contains(&at)) || at + latency() <= to
            })
        })
    }

    fn fits<'o>(&self, operations: impl Iterator<Item = &'o Operation>) -> bool {
        let all: Vec<Operation> = operations.cloned().collect();
        let packer = Sc140::packer(self.sets, &all);
        let mut demand = <<Sc140 as Scheduled>::Packer as Packer>::Demand::default();
        (0..all.len() as u32).for_each(|it| packer.add(&mut demand, it));
        packer.fits(&demand)
    }
}

/// What a change of flow reads in front of its slot. Results and arguments need not be there: what passes them on executes in it.
fn read_ahead(jump: &Operation) -> Vec<Name> {
    let passes = matches!(jump.branch(), Some(Branch::Return | Branch::Call));
    let called = jump.sources.first().and_then(Operand::name);
    let guard = jump.predicate.map(Name::Virtual);
    let read = reads(jump).into_iter();
    let read = read.filter(|&name| !passes || Some(name) == guard || Some(name) == called);
    let stack = passes.then_some(Name::Fixed(Reg::SP));
    read.chain(stack).collect()
}

fn flows(operation: &Operation) -> bool {
    operation.branch().is_some()
}

/// Returns true if no flow changes in a set, and it is no slot.
fn is_free(rows: &[Vec<Operation>], at: usize) -> bool {
    let is_slot = at > 0 && rows[at - 1].iter().any(|it| it.mnemonic.delayed);
    !rows[at].iter().any(flows) && !is_slot
}
