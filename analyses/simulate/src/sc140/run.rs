//! A run: execution sets in order, delay slots, hardware loops, cycles.

use super::control::{Flow, FlowKind};
use super::image::DATA;
use super::number::signed;
use super::op::{Element, End, LoopOp, Op, Place};
use super::program::{Body, Inst, Program, Set};
use super::state::{Machine, Trap, Write};
use super::{Arg, Cycles, Fault, FaultKind, Limits, Outcome, Reg, Rule, Timing, Violation};
use crate::memory::{Memory, STACK, STACK_BYTES};
use rustc_hash::FxHashSet;

/// The address that the outermost function returns to.
const EXIT: u32 = 0xffff_fff0;
/// The most violations that are reported for one run.
const MOST: usize = 100;
/// Registers that the conventions preserve.
const PRESERVED: [Reg; 5] = [Reg::D(6), Reg::D(7), Reg::R(6), Reg::R(7), Reg::Mctl];

/// Calls a function with arguments as the conventions place them.
///
/// # Errors
/// A fault says at which line the program went wrong; memory is as it was then.
pub fn run(
    program: &Program,
    item: &str,
    arguments: &[Arg],
    memory: &mut Memory,
    limits: &Limits,
) -> Result<Outcome, Fault> {
    let nowhere = |kind, message| Fault {
        kind,
        file: 0,
        line: 0,
        message,
    };
    let entry = program
        .address(item)
        .and_then(|address| program.at(address));
    let Some(entry) = entry else {
        let message = format!("`{item}` is no label of an execution set");
        return Err(nowhere(FaultKind::NoFunction, message));
    };
    let big_endian = usize::from(limits.settings.big_endian);
    let free = memory.map(STACK, vec![0; STACK_BYTES as usize], true)
        && memory.map(u64::from(DATA), program.data[big_endian].clone(), true);
    let outcome = match free {
        true => Run::new(program, memory, limits).from(entry, arguments),
        false => Err(nowhere(
            FaultKind::Unmapped,
            "the program's own data has no room in this memory".to_owned(),
        )),
    };
    memory.unmap(STACK);
    memory.unmap(u64::from(DATA));
    outcome
}

/// A loop that goes back behind so many more sets.
#[derive(Clone, Copy)]
struct Back {
    sets: u32,
    to: u32,
    long: bool,
}

struct Run<'p, 'm> {
    program: &'p Program,
    limits: &'p Limits,
    machine: Machine<'m>,
    cycles: Cycles,
    instructions: u64,
    nops: u64,
    violations: Vec<Violation>,
    told: FxHashSet<Violation>,
    back: Option<Back>,
    /// A delayed change of flow, and the cycles of the longest other instruction of its set; 0: there is none.
    delayed: Option<(Flow, u32)>,
    /// The address that the last call returns to, until another call or return.
    shadow: Option<u32>,
    /// The shadow of the stack pointer holds.
    stack_known: bool,
}

impl<'p, 'm> Run<'p, 'm> {
    fn new(program: &'p Program, memory: &'m mut Memory, limits: &'p Limits) -> Self {
        Run {
            program,
            limits,
            machine: Machine::new(memory, limits.settings),
            cycles: Cycles::default(),
            instructions: 0,
            nops: 0,
            violations: Vec::new(),
            told: FxHashSet::default(),
            back: None,
            delayed: None,
            shadow: Some(EXIT),
            stack_known: true,
        }
    }

    fn from(mut self, entry: usize, arguments: &[Arg]) -> Result<Outcome, Fault> {
        let placed = self.place(arguments);
        placed.map_err(|(kind, message)| Fault {
            kind,
            file: 0,
            line: 0,
            message,
        })?;
        let before = PRESERVED.map(|register| self.machine.read(register));
        let stack = self.machine.stack() - 8;
        let mut at = Some(entry);
        while let Some(now) = at {
            at = self.step(now)?;
        }
        let machine = &self.machine;
        let mut changed: Vec<Reg> = PRESERVED
            .into_iter()
            .zip(before)
            .filter(|(register, before)| machine.read(*register) != *before)
            .map(|(register, _)| register)
            .collect();
        if machine.stack() != stack {
            changed.push(Reg::Sp);
        }
        Ok(Outcome {
            data: [machine.d[0], machine.d[1]],
            address: machine.r[0],
            cycles: self.cycles,
            instructions: self.instructions,
            nops: self.nops,
            violations: self.violations,
            changed,
        })
    }

    /// Puts arguments and the return address where a caller has them.
    fn place(&mut self, arguments: &[Arg]) -> Result<(), Trap> {
        let machine = &mut self.machine;
        let below = 16 * arguments.len() as u32 + 64;
        let stack = (STACK as u32 + below).next_multiple_of(8);
        machine.sp = [stack, stack];
        let mut used = 0_u32;
        let mut taken = 0_usize;
        for (position, argument) in arguments.iter().enumerate() {
            match *argument {
                Arg::Pointer(address) if position < 2 => machine.r[position] = address,
                Arg::Word(value) if position < 2 && taken <= position => {
                    machine.d[position] = i64::from(value);
                }
                Arg::Long(value) if position < 2 && taken <= position => {
                    machine.d[position] = i64::from(value);
                }
                Arg::Wide(value) if position == 0 => {
                    machine.d[0] = value >> 32;
                    machine.d[1] = signed(value, 32);
                    taken = 2;
                }
                other => {
                    let (bytes, value) = match other {
                        Arg::Word(value) => (2, i64::from(value)),
                        Arg::Long(value) => (4, i64::from(value)),
                        Arg::Pointer(address) => (4, i64::from(address)),
                        Arg::Wide(value) => (8, value),
                    };
                    let bytes = match machine.settings.packed_arguments {
                        true => bytes,
                        false => bytes.max(4),
                    };
                    used = (used + bytes).next_multiple_of(bytes);
                    let (element, values): (_, &[u64]) = match bytes {
                        2 => (Element::Word, &[value as u64]),
                        4 => (Element::Long, &[value as u64]),
                        _ => (Element::Long, &[(value >> 32) as u64, value as u64]),
                    };
                    machine.store(stack - used, element, values)?;
                }
            }
        }
        machine.call(EXIT)?;
        machine.commit()?;
        machine.broken.clear();
        Ok(())
    }

    /// Executes a set; the next one, or `None` at the end of the run.
    fn step(&mut self, now: usize) -> Result<Option<usize>, Fault> {
        let set = &self.program.sets[now];
        let fault = |line, (kind, message): Trap| Fault {
            kind,
            file: set.file,
            line,
            message,
        };
        if self.cycles.sets >= self.limits.sets {
            let message = format!("{} execution sets were executed", self.limits.sets);
            return Err(fault(set.line, (FaultKind::Sets, message)));
        }
        self.cycles.sets += 1;
        let truth = self.machine.truth();
        let mut flow = None;
        let mut timed = Timed::default();
        let behind = self.address_behind(now);
        for inst in &set.insts {
            if inst.when.is_some_and(|when| when != truth) {
                continue;
            }
            self.instructions += 1;
            let taken = self
                .execute(inst, behind, &mut timed)
                .map_err(|trap| fault(inst.line, trap))?;
            self.tell(set, inst.line);
            if taken.is_some() {
                if flow.is_some() || self.delayed.is_some() {
                    let message = "a second change of flow in a set or a delay slot".to_owned();
                    return Err(fault(inst.line, (FaultKind::Unsupported, message)));
                }
                flow = taken;
            }
        }
        // Marks see the state in front of the set.
        let back = self.marked(set).map_err(|trap| fault(set.line, trap))?;
        let wrote_truth = self
            .machine
            .writes
            .iter()
            .any(|write| matches!(write, Write::Truth(_)));
        self.machine
            .commit()
            .map_err(|trap| fault(set.line, trap))?;
        self.tell(set, set.line);
        let called = matches!(
            flow,
            Some(Flow {
                kind: FlowKind::Call { .. },
                ..
            })
        );
        self.age(
            wrote_truth,
            called && flow.is_some_and(|flow| !flow.delayed),
        );
        self.next(now, flow, back, timed)
            .map_err(|trap| fault(set.line, trap))
    }

    /// The address of the set to which a call of this set returns: behind it, or behind its delay slot.
    fn address_behind(&self, now: usize) -> u32 {
        let sets = &self.program.sets;
        let delayed = sets[now]
            .insts
            .iter()
            .any(|inst| matches!(&inst.op, Op::Jump(jump) if jump.delayed));
        let last = &sets[(now + usize::from(delayed)).min(sets.len() - 1)];
        let next = now + usize::from(delayed) + 1;
        match sets.get(next) {
            Some(next) => next.address,
            None => last.address + 2 * last.words,
        }
    }

    /// Registers that moves wrote, and T, belong to the set before.
    fn age(&mut self, wrote_truth: bool, apart: bool) {
        let machine = &mut self.machine;
        machine.moved.swap(0, 1);
        machine.moved[0].clear();
        machine.truth_written = [false, wrote_truth];
        if apart {
            // A call puts a set between.
            machine.moved[1].clear();
            machine.truth_written[1] = false;
        }
    }

    fn tell(&mut self, set: &Set, line: u32) {
        for rule in self.machine.broken.drain(..) {
            let violation = Violation {
                file: set.file,
                line,
                rule,
            };
            if self.violations.len() < MOST && self.told.insert(violation) {
                self.violations.push(violation);
            }
        }
    }

    fn execute(
        &mut self,
        inst: &Inst,
        behind: u32,
        timed: &mut Timed,
    ) -> Result<Option<Flow>, Trap> {
        let timing = &self.limits.timing;
        let machine = &mut self.machine;
        if (inst.when.is_some() || matches!(inst.op, Op::CopyIf(..)))
            && machine.truth_written[1]
            && is_address_unit(&inst.op)
        {
            machine.broken.push(Rule::TruthTooSoon);
        }
        let cycles = own_cycles(&inst.op, timing);
        timed.longest = timed.longest.max(cycles);
        match &inst.op {
            Op::Data(op) => machine.data(op),
            Op::Address(op) => {
                if op.target == Reg::Sp {
                    self.stack_known = false;
                }
                machine.address(op)?;
            }
            Op::CopyIf(when, from, to) => {
                if machine.truth() == *when {
                    let value = machine.read(*from);
                    machine.writes.push(Write::Reg(*to, value));
                }
            }
            Op::Move(op) => machine.moves(op)?,
            Op::Mask(op) => machine.mask(op)?,
            Op::Push { reg, normal } => {
                self.stack_known = true;
                machine.push(*reg, *normal)?;
            }
            Op::Pop { reg, normal } => {
                timed.waits_for_stack |= !self.stack_known;
                machine.pop(*reg, *normal)?;
            }
            Op::Jump(op) => {
                let flow = machine.jump(op, behind)?;
                timed.not_taken |= flow.is_none();
                return Ok(flow);
            }
            Op::Return { delayed, status } => {
                timed.waits_for_stack |= *status && !self.stack_known;
                return machine.returns(*delayed, *status).map(Some);
            }
            Op::Loop(op) => {
                let flow = machine.looped(op);
                let jumps = matches!(
                    op,
                    LoopOp::Skip(_) | LoopOp::Break(_) | LoopOp::Continue { .. }
                );
                timed.not_taken |= jumps && flow.is_none();
                return Ok(flow);
            }
            Op::Mark(_) => {}
            Op::Nop => self.nops += 1,
            Op::Stop(name) => {
                return Err((FaultKind::Stop, format!("`{name}` ends the run")));
            }
            Op::Unknown(why) => return Err((FaultKind::Unsupported, why.to_string())),
        }
        Ok(None)
    }

    /// Returns the jump back that the marks of loops at a set ask for.
    fn marked(&mut self, set: &Set) -> Result<Option<Back>, Trap> {
        if self.back.is_some() {
            // The last sets of an inner loop that goes on may bear the mark of an outer one.
            return Ok(None);
        }
        let active = self.machine.active_loop();
        let short = self.machine.is_short_loop();
        let written = set.insts.iter().find_map(|inst| match inst.op {
            Op::Mark(second) => Some(second),
            _ => None,
        });
        let body = match (set.marks.as_slice(), written) {
            ([], None) => return Ok(None),
            ([], Some(second)) => {
                if active.is_none() {
                    return Ok(None);
                }
                match (second, short) {
                    (false, true) => (Body::Single, None),
                    (true, true) => (Body::Double, None),
                    (true, false) => (Body::Long, None),
                    (false, false) => (Body::Long, Some(0)),
                }
            }
            (marks, _) => {
                let Some(active) = active else {
                    // A loop that is not enabled is run through once.
                    return Ok(None);
                };
                if let [first, second, ..] = marks {
                    let message = format!(
                        "the ends of loops {} and {} are marked at the same set",
                        first.number, second.number
                    );
                    return Err((FaultKind::Loop, message));
                }
                let Some(mark) = marks.iter().find(|mark| mark.number == active) else {
                    let number = marks[0].number;
                    let message = format!(
                        "the end of loop {number} is reached while loop {active} is enabled"
                    );
                    return Err((FaultKind::Loop, message));
                };
                if short != (mark.body != Body::Long) {
                    let (sets, enabled) = match short {
                        true => ("three sets or more", "as a short one"),
                        false => ("one or two sets", "as a long one"),
                    };
                    let message = format!("loop {active} of {sets} is enabled {enabled}");
                    return Err((FaultKind::Loop, message));
                }
                (mark.body, None)
            }
        };
        let Some(number) = active else {
            return Ok(None);
        };
        let counter = self.machine.lc[usize::from(number)];
        if counter <= 1 {
            self.machine.writes.push(Write::LoopOff(number));
            return Ok(None);
        }
        let register = Reg::Lc(number);
        self.machine
            .writes
            .push(Write::Reg(register, i64::from(counter) - 1));
        let (sets, late) = match body {
            (Body::Single, _) => (0, false),
            (Body::Double, _) => (1, false),
            (Body::Long, None) => (2, false),
            (Body::Long, Some(sets)) => (sets, true),
        };
        if late {
            self.cycles.flow += u64::from(self.limits.timing.late_mark);
        }
        Ok(Some(Back {
            sets,
            to: match body.0 {
                Body::Long => self.machine.sa[usize::from(number)],
                Body::Single | Body::Double => set.address,
            },
            long: body.0 == Body::Long,
        }))
    }

    /// The set that follows, and the cycles of the way to it.
    fn next(
        &mut self,
        now: usize,
        flow: Option<Flow>,
        back: Option<Back>,
        timed: Timed,
    ) -> Result<Option<usize>, Trap> {
        let timing = &self.limits.timing;
        let own = timed.longest.max(1);
        let mut taken = None;
        let mut length = own;
        match (flow, self.delayed.take()) {
            (Some(flow), _) if flow.delayed => self.delayed = Some((flow, timed.longest)),
            (Some(flow), _) => {
                let base = self.base(flow, timing);
                if matches!(flow.kind, FlowKind::Call { .. }) && timed.longest >= base {
                    self.cycles.stalls += u64::from(timing.call_push);
                }
                self.cycles.flow += u64::from(base.max(own) - own);
                taken = Some(flow);
            }
            (None, Some((flow, grouped))) => {
                // What the jump takes beyond its slot, at least the cycle of its own set.
                let base = self.base(flow, timing);
                let spent = grouped.max(1);
                self.cycles.flow += u64::from(base.saturating_sub(own).saturating_sub(spent));
                if let FlowKind::Call { behind, .. } = flow.kind {
                    if grouped + own >= base {
                        self.cycles.stalls += u64::from(timing.call_push);
                    }
                    self.machine.call(behind)?;
                    self.machine.commit()?;
                }
                taken = Some(flow);
            }
            (None, None) if timed.not_taken => length = own.max(timing.not_taken),
            (None, None) => {}
        }
        self.cycles.long_instructions += u64::from(length - 1);
        if timed.waits_for_stack {
            self.cycles.stalls += u64::from(timing.stack_shadow);
            self.stack_known = true;
        }
        if let Some(back) = back {
            self.back = Some(back);
        }
        if let Some(flow) = taken {
            if self
                .back
                .take()
                .is_some_and(|_| flow.kind != FlowKind::Loop)
            {
                let message = "a jump in the last sets of a loop".to_owned();
                return Err((FaultKind::Loop, message));
            }
            match flow.kind {
                FlowKind::Call { behind, .. } => self.shadow = Some(behind),
                FlowKind::Return { .. } => self.shadow = None,
                _ => {}
            }
            if flow.to == EXIT {
                return Ok(None);
            }
            return self.to(flow.to, true).map(Some);
        }
        if let Some(back) = &mut self.back {
            if back.sets == 0 {
                let (to, long) = (back.to, back.long);
                self.back = None;
                return self.to(to, long).map(Some);
            }
            back.sets -= 1;
        }
        match now + 1 < self.program.sets.len() {
            true => Ok(Some(now + 1)),
            false => {
                let message = "execution runs off the end".to_owned();
                Err((FaultKind::Unresolved, message))
            }
        }
    }

    fn base(&mut self, flow: Flow, timing: &Timing) -> u32 {
        match flow.kind {
            FlowKind::Jump
            | FlowKind::Call {
                relative: false, ..
            } => timing.jump,
            FlowKind::Branch | FlowKind::Call { relative: true, .. } => timing.branch,
            FlowKind::Conditional => timing.taken,
            FlowKind::Loop => timing.loop_jump,
            FlowKind::Return { .. } if self.shadow == Some(flow.to) => timing.returns,
            FlowKind::Return { .. } => timing.returns + timing.return_missed,
        }
    }

    fn to(&mut self, address: u32, straddle: bool) -> Result<usize, Trap> {
        let Some(next) = self.program.at(address) else {
            let message = match self.program.symbols.elsewhere(address) {
                Some(name) => format!("`{name}` is in no file that was given"),
                None => format!("a jump to 0x{address:x}, where no execution set begins"),
            };
            return Err((FaultKind::Unresolved, message));
        };
        let timing = &self.limits.timing;
        if straddle && self.program.sets[next].straddles(timing.fetch_words) {
            self.cycles.straddles += u64::from(timing.straddle);
        }
        Ok(next)
    }
}

/// The demands of a set's instructions on its cycles.
#[derive(Clone, Copy, Default)]
struct Timed {
    longest: u32,
    not_taken: bool,
    waits_for_stack: bool,
}

/// The cycles of an instruction that is no change of flow.
fn own_cycles(op: &Op, timing: &Timing) -> u32 {
    let place = |end: &End| match end {
        End::Memory(Place::Indexed(..)) => timing.precalculated,
        _ => 1,
    };
    match op {
        Op::Move(op) => place(&op.from).max(place(&op.to)),
        Op::Mask(op) => match op.target {
            End::Memory(_) => timing.mask_memory.max(place(&op.target)),
            _ => timing.mask_register,
        },
        Op::Jump(_) | Op::Return { .. } => 0,
        _ => 1,
    }
}

fn is_address_unit(op: &Op) -> bool {
    matches!(
        op,
        Op::Address(_)
            | Op::CopyIf(..)
            | Op::Move(_)
            | Op::Mask(_)
            | Op::Push { .. }
            | Op::Pop { .. }
    )
}
