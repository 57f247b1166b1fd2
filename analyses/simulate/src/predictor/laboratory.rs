//! A run of a design: the clock of fetches, predicates in flight, checkpoints of histories, recovery.

use super::design::{Defines, Design, Direction};
use super::gshare::Gshare;
use super::history::{Checkpoint, History};
use super::meta::{Guard, Meta};
use super::tage::Tage;
use super::{Branch, Counts, Define, Event, Outcome, Prediction, Write};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// The predictor of directions.
#[derive(Debug)]
enum Core {
    Meta(Meta),
    Gshare(Gshare),
    Tage(Box<Tage>),
}

/// A predicate as the register file has it.
#[derive(Clone, Copy, Default, Debug)]
struct Register {
    value: bool,
    /// The number of the definition that gave it.
    by: u64,
    /// The number of its newest definition, its value, and the cycle behind which it is known.
    newest: u64,
    next: bool,
    known: u64,
}

/// A definition that is not resolved, or whose value is not yet shifted.
#[derive(Clone, Copy, Debug)]
struct Flight {
    /// Fetches of later cycles see it.
    cycle: u64,
    number: u64,
    what: Flown,
}

#[derive(Clone, Copy, Debug)]
enum Flown {
    Write(Write),
    Shift(bool),
}

/// A branch that is not resolved.
#[derive(Clone, Copy, Debug)]
struct Fetched {
    resolved: u64,
    taken: bool,
}

/// A design at work.
#[derive(Debug)]
pub struct Laboratory {
    design: Design,
    core: Core,
    history: History,
    clock: u64,
    defined: u64,
    registers: Vec<Register>,
    /// In the order of `(cycle, number)`.
    flights: VecDeque<Flight>,
    /// Branches that the core has to hear of, oldest first.
    fetched: VecDeque<Fetched>,
    /// Places whose guards are known, by the low bits of the place.
    targets: Vec<Option<u64>>,
    all: Counts,
    by_place: FxHashMap<u64, Counts>,
}

/// The counts of a design on a trace.
#[must_use]
pub fn simulate<'a>(design: &Design, trace: impl IntoIterator<Item = &'a Event>) -> Outcome {
    let mut laboratory = Laboratory::new(design);
    for event in trace {
        laboratory.event(event);
    }
    laboratory.outcome()
}

impl Laboratory {
    #[must_use]
    pub fn new(design: &Design) -> Laboratory {
        debug_assert_eq!(design.checked(), Ok(*design));
        Laboratory {
            design: *design,
            core: match design.direction {
                Direction::Meta(sizes, local) => Core::Meta(Meta::new(sizes, local)),
                Direction::Gshare(bits) => Core::Gshare(Gshare::new(bits)),
                Direction::Tage(sizes) => Core::Tage(Box::new(Tage::new(sizes))),
            },
            history: History::new(),
            clock: 0,
            defined: 0,
            registers: Vec::new(),
            flights: VecDeque::new(),
            fetched: VecDeque::new(),
            targets: vec![None; 1 << design.targets],
            all: Counts::default(),
            by_place: FxHashMap::default(),
        }
    }

    /// The prediction of a branch; none of a definition.
    pub fn event(&mut self, event: &Event) -> Option<Prediction> {
        match event {
            Event::Define(define) => {
                self.define(define);
                None
            }
            Event::Branch(branch) => Some(self.branch(branch)),
        }
    }

    /// The cycle in which the last event was fetched; behind a misprediction, that in which it was resolved.
    #[must_use]
    pub const fn clock(&self) -> u64 {
        self.clock
    }

    /// Fetches nothing for some cycles.
    pub fn pass(&mut self, cycles: u64) {
        self.advance(self.clock + cycles);
    }

    /// The last bits of the global history, oldest first.
    #[must_use]
    pub fn history(&self, bits: u32) -> Vec<bool> {
        self.history.last(bits)
    }

    /// The counts so far.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        let mut branches: Vec<(u64, Counts)> = self
            .by_place
            .iter()
            .map(|(&pc, &counts)| (pc, counts))
            .collect();
        branches.sort_unstable_by_key(|&(pc, _)| pc);
        Outcome {
            all: self.all,
            branches,
            cycles: self.clock,
        }
    }

    /// A number that tells the contents of counters and local histories.
    #[must_use]
    pub fn counters(&self) -> u64 {
        match &self.core {
            Core::Meta(core) => core.counters(),
            Core::Gshare(core) => core.counters(),
            Core::Tage(core) => core.counters(),
        }
    }

    fn define(&mut self, define: &Define) {
        self.advance(self.clock + u64::from(define.gap));
        let known = self.clock + u64::from(define.delay);
        for write in [Some(define.first), define.second].into_iter().flatten() {
            self.defined += 1;
            let number = self.defined;
            let register = self.register(write.predicate);
            (register.newest, register.next, register.known) = (number, write.value, known);
            self.fly(known, Flown::Write(write));
        }
        let value = define.first.value;
        match self.design.defines {
            _ if !define.compare => {}
            Defines::Never => {}
            Defines::Resolved | Defines::Repaired => self.fly(known, Flown::Shift(value)),
            Defines::After(cycles) => {
                let shifted = self.clock + u64::from(cycles);
                self.fly(shifted, Flown::Shift(value && known <= shifted));
            }
        }
    }

    fn fly(&mut self, cycle: u64, what: Flown) {
        let number = self.defined;
        let at = self.flights.partition_point(|flight| flight.cycle <= cycle);
        let flight = Flight {
            cycle,
            number,
            what,
        };
        self.flights.insert(at, flight);
    }

    fn register(&mut self, predicate: u16) -> &mut Register {
        let at = usize::from(predicate);
        if self.registers.len() <= at {
            self.registers.resize(at + 1, Register::default());
        }
        &mut self.registers[at]
    }

    /// Lets time pass: branches resolved before `to` are seen by a fetch in `to`.
    fn advance(&mut self, to: u64) {
        while let Some(&flight) = self.flights.front().filter(|flight| flight.cycle < to) {
            self.flights.pop_front();
            match flight.what {
                Flown::Write(write) => {
                    let register = self.register(write.predicate);
                    if flight.number > register.by {
                        (register.value, register.by) = (write.value, flight.number);
                    }
                }
                Flown::Shift(value) => self.shift(value, true),
            }
        }
        while let Some(&branch) = self.fetched.front().filter(|branch| branch.resolved <= to) {
            self.fetched.pop_front();
            match &mut self.core {
                Core::Meta(core) => core.commit(branch.taken),
                Core::Gshare(core) => core.commit(branch.taken),
                Core::Tage(core) => core.commit(branch.taken),
            }
        }
        self.clock = to;
    }

    fn shift(&mut self, value: bool, define: bool) {
        self.history.push(value, define);
        if let Core::Tage(core) = &mut self.core {
            core.pushed(&self.history);
        }
    }

    fn branch(&mut self, branch: &Branch) -> Prediction {
        self.advance(self.clock + u64::from(branch.gap));
        let (pc, taken) = (branch.pc, branch.taken);
        let guard = self.guard(branch);
        let known_false = guard.is_some_and(|guard| guard.resolved && !guard.value);
        let squashed = self.design.squash && known_false;
        let late = self.late(branch);
        let predicted = !squashed
            && match &mut self.core {
                Core::Meta(core) => core.predict(pc, guard, &self.history),
                Core::Gshare(core) => core.predict(pc, &self.history),
                Core::Tage(core) => core.predict(pc),
            };
        let resolved = self.clock + u64::from(self.design.resolve);
        if !squashed {
            self.fetched.push_back(Fetched { resolved, taken });
        }
        let before = self.history.checkpoint();
        self.shift(predicted, false);
        let wrong = predicted != taken;
        debug_assert!(
            !(wrong && squashed),
            "a branch whose guard is false was taken"
        );
        if wrong {
            // Nothing is fetched until the branch is resolved: nobody reads the local history before.
            if let Core::Meta(core) = &mut self.core {
                core.recover(taken);
            }
            self.advance(resolved);
            self.recover(before, taken);
        }
        let prediction = Prediction {
            taken: predicted,
            wrong,
            squashed,
            late,
        };
        self.all.add(taken, prediction);
        self.by_place.entry(pc).or_default().add(taken, prediction);
        prediction
    }

    /// The state of a branch's guard, if the table of targets names one; it names it from now on.
    fn guard(&mut self, branch: &Branch) -> Option<Guard> {
        if branch.guard == 0 {
            return None;
        }
        let at = branch.pc as usize & (self.targets.len() - 1);
        if self.targets[at].replace(branch.pc) != Some(branch.pc) {
            return None;
        }
        let register = *self.register(branch.guard);
        Some(Guard {
            value: register.value,
            resolved: register.by == register.newest,
        })
    }

    /// Cycles that the definition of a guard that is false would have to stand earlier to be known now; `None` where it is
    /// known, or true.
    fn late(&mut self, branch: &Branch) -> Option<u64> {
        if branch.guard == 0 {
            return None;
        }
        let clock = self.clock;
        let register = self.register(branch.guard);
        let is_late = register.by != register.newest && !register.next;
        is_late.then(|| (register.known + 1).saturating_sub(clock))
    }

    /// The newest branch went the other way.
    fn recover(&mut self, before: Checkpoint, taken: bool) {
        let mut lost = Vec::new();
        while self.history.is_behind(before) {
            if let Core::Tage(core) = &mut self.core {
                core.popping(&self.history);
            }
            lost.extend(self.history.pop());
        }
        self.shift(taken, false);
        if !matches!(self.design.defines, Defines::Resolved) {
            for value in lost.into_iter().rev() {
                self.shift(value, true);
            }
        }
    }
}
