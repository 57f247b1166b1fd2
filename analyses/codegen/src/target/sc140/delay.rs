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
//! what is late in it is not missed behind the jump. One pass from the last set of a block to the first.
//!
//! Does not take single operations out of their sets for a slot.
//!
//! Source: *SC140 DSP Core Reference Manual*, in excerpts: pages 5-17 and 5-19 (slots, cycles), page 7-21 (rules D.4 to D.6).

use super::code::{Allocation, Function, Name, Operand, Operation};
use super::machine::locate;
use super::placed::is_late;
use crate::machine::schema::SetKey;
use crate::machine::sets::Sets;
use crate::mir::dependence::{reads, writes};
use crate::mir::packer::Packer;
use crate::mir::{Block, Scheduled};
use isa::Branch;
use isa::sc140::{Reg, Sc140, Unit};

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
        let mut jump = rows[at].remove(place);
        let alone = rows[at].is_empty();
        let slot = if alone { at - 1 } else { at };
        let is_free = |to: usize| {
            let occupied = rows[to].iter().any(flows);
            let is_slot = to > 0 && rows[to - 1].iter().any(|it| it.mnemonic.delayed);
            !occupied && !is_slot
        };
        let in_slot = self.may_be_slot(&rows[slot], &jump)
            && !(alone && rows[slot].iter().any(|it| is_late(it, self.allocation)));
        // Into the set in front of the slot, or in one of its own there.
        let joins = slot.checked_sub(1).filter(|&to| {
            is_free(to) && self.is_ready(rows, &jump, at, to) && self.fits(&rows[to], &jump)
        });
        let stands = || alone && is_free(slot) && slot > 0 && self.is_ready(rows, &jump, at, slot);
        match joins {
            Some(to) if in_slot => {
                jump.mnemonic = jump.mnemonic.delayed();
                rows[to].push(jump);
                if alone {
                    rows.remove(at);
                }
            }
            _ if in_slot && !rows[slot].is_empty() && stands() => {
                jump.mnemonic = jump.mnemonic.delayed();
                let row = std::mem::replace(&mut rows[slot], vec![jump]);
                rows[at] = row;
            }
            _ => rows[at].insert(place, jump),
        }
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

    /// Returns true if what a change of flow reads is there if it moves up from a set to another. Results and arguments need not
    /// be: what passes them on executes in the slot.
    fn is_ready(&self, rows: &[Vec<Operation>], jump: &Operation, from: usize, to: usize) -> bool {
        let locate = locate(self.allocation);
        let passes = matches!(jump.branch(), Some(Branch::Return | Branch::Call));
        let called = jump.sources.first().and_then(Operand::name);
        let guard = jump.predicate.map(Name::Virtual);
        let read = reads(jump).into_iter();
        let read = read.filter(|&name| !passes || Some(name) == guard || Some(name) == called);
        let stack = passes.then_some(Name::Fixed(Reg::SP));
        read.chain(stack).all(|name| {
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

    fn fits(&self, row: &[Operation], jump: &Operation) -> bool {
        let all: Vec<Operation> = row.iter().chain([jump]).cloned().collect();
        let packer = Sc140::packer(self.sets, &all);
        let mut demand = <<Sc140 as Scheduled>::Packer as Packer>::Demand::default();
        (0..all.len() as u32).for_each(|it| packer.add(&mut demand, it));
        packer.fits(&demand)
    }
}

fn flows(operation: &Operation) -> bool {
    operation.branch().is_some()
}
