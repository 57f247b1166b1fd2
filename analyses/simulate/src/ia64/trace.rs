//! The branches and the definitions of predicates of a run, as a predictor hears of them.
//!
//! ```text
//! cmp.lt p6,p7 = r8,r9 ;;      Define p6, p7, in the cycle in which its group is gathered
//! (p6) br.cond .L1             Branch, its guard p6 by its physical number
//! br.ctop .L2                  Branch without a guard, then Define of the predicate that rotates in
//! ```
//!
//! A branch that always goes to one place (no guard, no counter) is none of them, nor is a check that recovers. Places are
//! numbers of instructions in the program.

use super::op::{Branch as Kind, Op};
use super::program::Inst;
use super::state::{Machine, Use};
use crate::predictor::{Branch, Define, Event, Write};

/// A listener to the events of a run.
pub type Listener<'a> = &'a mut dyn FnMut(&Event);

/// Turns instructions that executed into events.
#[derive(Debug)]
pub(super) struct Tracer {
    /// The cycle of the last event.
    last: u64,
    /// Cycles from a definition until fetches see it.
    delay: u32,
    events: Vec<Event>,
}

impl Tracer {
    pub(super) const fn new(delay: u32) -> Tracer {
        Tracer {
            last: 0,
            delay,
            events: Vec::new(),
        }
    }

    /// Adds cycles in which nothing was fetched, known to the listener.
    pub(super) const fn waited(&mut self, cycles: u64) {
        self.last += cycles;
    }

    /// The events of an instruction that executed, in the cycle `now`.
    pub(super) fn events(
        &mut self,
        machine: &Machine<'_>,
        pc: usize,
        inst: &Inst,
        taken: bool,
        now: u64,
    ) -> &[Event] {
        self.events.clear();
        let mut gap = (now.saturating_sub(self.last)).min(u64::from(u32::MAX)) as u32;
        if let Some(guard) = guard(machine, inst) {
            self.events.push(Event::Branch(Branch {
                gap,
                pc: pc as u64,
                taken,
                guard,
            }));
            gap = 0;
        }
        let written = machine.writes.iter();
        let mut written = written
            .filter_map(|write| machine.predicate_of(write.id))
            .map(|(predicate, value)| Write { predicate, value });
        let compare = matches!(
            inst.op,
            Op::Compare { .. }
                | Op::TestBit { .. }
                | Op::TestNat { .. }
                | Op::CompareFloat { .. }
                | Op::ClassFloat { .. }
        );
        while let Some(first) = written.next() {
            self.events.push(Event::Define(Define {
                gap,
                delay: self.delay,
                first,
                second: written.next(),
                compare,
            }));
            gap = 0;
        }
        if !self.events.is_empty() {
            self.last = self.last.max(now);
        }
        &self.events
    }
}

/// The guard of a branch whose direction is predicted, 0 if it is another condition; `None` for other instructions.
fn guard(machine: &Machine<'_>, inst: &Inst) -> Option<u16> {
    let Op::Branch { kind, .. } = inst.op else {
        return None;
    };
    match kind {
        Kind::Cond | Kind::Call | Kind::Return if inst.qp == 0 => None,
        Kind::Cond | Kind::Call | Kind::Return => {
            let mut reads = machine.reads.iter();
            let read = reads.find(|read| read.what == Use::BranchPredicate)?;
            machine.predicate_of(read.id).map(|(number, _)| number)
        }
        Kind::Cloop | Kind::Ctop | Kind::Cexit | Kind::Wtop | Kind::Wexit => Some(0),
    }
}
