//! A run: instructions in order, groups and their rules, limits.
//!
//! A group executes in order. Reading a register that an earlier instruction of the group wrote, or writing
//! it again, is reported as a violation, with the architecture's exceptions: a branch sees predicates of
//! integer compares and moves to branch registers and `ar.pfs`; `alloc` names registers that exist at once;
//! parallel compares of one class share targets. An instruction that did not execute because its predicate
//! was false neither reads nor writes.

use super::execute::Next;
use super::float::Float;
use super::op::{Op, Slot};
use super::program::{CODE, Inst, Program};
use super::state::{EXIT, Id, Machine, Trap, Use, Way};
use super::symbols::GP;
use super::timing::Clock;
use super::trace::{Listener, Tracer};
use super::{Arg, BranchUnit, Fault, FaultKind, Limits, Outcome, Rule, Violation, control};
use crate::memory::{Memory, STACK, STACK_BYTES, STACK_START};
use crate::predictor::{Design, Laboratory};
use isa::ia64::Reg;

/// The most violations that are reported for one run.
const MOST: usize = 100;

/// The trace of a register's last write.
#[derive(Clone, Copy, Default)]
struct Mark {
    group: u64,
    line: u32,
    way: Option<Way>,
}

struct Groups {
    now: u64,
    /// Instructions of the group that executed.
    any: bool,
    marks: Vec<Mark>,
    violations: Vec<Violation>,
}

/// Calls a function with arguments as the conventions place them: integers from `out0`, floating-point values in `f8` to
/// `f15`.
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
    watched(program, item, arguments, memory, limits, &mut |_, _| {})
}

/// A run of which someone hears the branches and the definitions of predicates.
///
/// # Errors
/// As for `run`.
pub fn traced(
    program: &Program,
    item: &str,
    arguments: &[Arg],
    memory: &mut Memory,
    limits: &Limits,
    listener: Listener<'_>,
) -> Result<Outcome, Fault> {
    let start = Start {
        program,
        item,
        arguments,
        keep: false,
    };
    let unwatched = &mut |_: &Machine<'_>, _: &Inst| {};
    started(start, memory, limits, unwatched, Some(listener))
}

/// A run behind which the file's data stays in memory with its final contents: a later run goes on with it.
///
/// # Errors
/// A fault says at which line the program went wrong; memory is as it was then.
pub fn run_kept(
    program: &Program,
    item: &str,
    arguments: &[Arg],
    memory: &mut Memory,
    limits: &Limits,
    see: &mut dyn FnMut(Seen<'_, '_>),
) -> Result<Outcome, Fault> {
    let mut watch = |machine: &Machine<'_>, inst: &Inst| see(Seen { machine, inst });
    let start = Start {
        program,
        item,
        arguments,
        keep: true,
    };
    started(start, memory, limits, &mut watch, None)
}

/// An instruction that executes next, with the registers in front of it.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a, 'm> {
    machine: &'a Machine<'m>,
    inst: &'a Inst,
}

impl Seen<'_, '_> {
    /// The statement of the document; none of a nop that fills.
    #[must_use]
    pub fn statement(&self) -> Option<u32> {
        self.inst.statement
    }
    /// False if the qualifying predicate keeps it from doing anything.
    #[must_use]
    pub fn executes(&self) -> bool {
        self.machine.predicate(self.inst.qp)
    }
    /// The value of a general register, as the instruction names it; `None` outside of the frame, and for NaT.
    #[must_use]
    pub fn general(&self, number: u8) -> Option<u64> {
        self.machine.general_value(number)
    }
}

/// Sees every instruction before it executes.
pub(super) type Watch<'a> = &'a mut dyn FnMut(&Machine<'_>, &Inst);

pub(super) fn watched(
    program: &Program,
    item: &str,
    arguments: &[Arg],
    memory: &mut Memory,
    limits: &Limits,
    watch: Watch<'_>,
) -> Result<Outcome, Fault> {
    let start = Start {
        program,
        item,
        arguments,
        keep: false,
    };
    started(start, memory, limits, watch, None)
}

/// The function that is called, and its arguments.
#[derive(Clone, Copy)]
struct Start<'a> {
    program: &'a Program,
    item: &'a str,
    arguments: &'a [Arg],
    /// The program's data stays mapped, and is taken as it is where it is mapped already.
    keep: bool,
}

fn started(
    start: Start<'_>,
    memory: &mut Memory,
    limits: &Limits,
    watch: Watch<'_>,
    listener: Option<Listener<'_>>,
) -> Result<Outcome, Fault> {
    let Start {
        program,
        item,
        arguments,
        keep,
    } = start;
    let entry = program
        .address(item)
        .filter(|&address| program.at(address).is_some());
    let Some(entry) = entry else {
        return Err(Fault {
            kind: FaultKind::NoFunction,
            line: 0,
            message: format!("`{item}` is no label of this file's instructions"),
        });
    };
    let mut mapped = vec![STACK];
    let mut free = memory.map(STACK, vec![0; STACK_BYTES as usize], true);
    for (base, bytes, writable) in &program.regions {
        if keep && memory.bytes(*base, bytes.len()).is_some() {
            continue;
        }
        free &= memory.map(*base, bytes.clone(), *writable);
        if !keep {
            mapped.push(*base);
        }
    }
    let outcome = if free {
        let mut machine = Machine::new(program, memory, limits);
        execute(&mut machine, entry, arguments, watch, listener)
    } else {
        Err(Fault {
            kind: FaultKind::Unmapped,
            line: 0,
            message: "the program's own data has no room in this memory".to_owned(),
        })
    };
    for base in mapped {
        memory.unmap(base);
    }
    outcome
}

fn at(line: u32, (kind, message): Trap) -> Fault {
    Fault {
        kind,
        line,
        message,
    }
}

fn execute(
    machine: &mut Machine<'_>,
    entry: u64,
    arguments: &[Arg],
    watch: Watch<'_>,
    listener: Option<Listener<'_>>,
) -> Result<Outcome, Fault> {
    place(machine, arguments).map_err(|trap| at(0, trap))?;
    let program = machine.program;
    let limits = machine.limits;
    let before = machine.preserved();
    let mut clock = limits.timing.as_ref().map(Clock::new);
    let unit = limits.timing.as_ref().and_then(|timing| timing.branches);
    let mut heard = Heard::new(unit, listener);
    let mut groups = Groups {
        now: 1,
        any: false,
        marks: Vec::new(),
        violations: Vec::new(),
    };
    let (mut nops, mut count) = (0, 0);
    let mut pc = program.at(entry).unwrap_or(0);
    loop {
        let Some(inst) = program.insts.get(pc) else {
            let line = program.insts.last().map_or(0, |last| last.line);
            let trap = (
                FaultKind::Unresolved,
                "execution runs off the end".to_owned(),
            );
            return Err(at(line, trap));
        };
        if machine.steps >= limits.steps {
            let message = format!("{} instructions were executed", limits.steps);
            return Err(at(inst.line, (FaultKind::Steps, message)));
        }
        machine.steps += 1;
        watch(machine, inst);
        machine.ip = CODE + 16 * u64::from(inst.bundle);
        machine.reads.clear();
        machine.writes.clear();
        machine.accesses.clear();
        if matches!(inst.op, Op::Alloc { .. }) && groups.any {
            groups.tell(inst, Reg::CFM, Rule::AllocNotFirst, 0);
        }
        let next = machine
            .step(&inst.op, inst.qp)
            .map_err(|trap| at(inst.line, trap))?;
        nops += u64::from(inst.op == Op::Nop);
        groups.check(machine, inst);
        if let Some(clock) = &mut clock {
            let reads = machine
                .reads
                .iter()
                .map(|read| (read.id, read.name, read.what));
            let writes = machine.writes.iter().map(|write| (write.id, write.name));
            let shape = program.shape(inst.bundle);
            clock.issue(inst, shape, reads, writes, &machine.accesses);
        }
        groups.any = true;
        let taken = next != Next::Fall;
        let now = clock.as_ref().map_or(count, Clock::cycles);
        let penalty = heard.executed(machine, pc, inst, taken, now);
        if let Some(clock) = &mut clock {
            clock.mispredicted(penalty);
        }
        if inst.stop || taken {
            groups.now += 1;
            groups.any = false;
            count += 1;
            machine.rotated = false;
            if let Some(clock) = &mut clock {
                clock.end_group(taken);
            }
        }
        match next {
            Next::Fall => pc += 1,
            Next::Go(EXIT) => break,
            Next::Go(address) => match program.at(address) {
                Some(to) => pc = to,
                None => {
                    let message = match program.symbols.elsewhere(address) {
                        Some(name) => format!("`{name}` is not in this file"),
                        None => format!("there is no instruction at {address:#x}"),
                    };
                    return Err(at(inst.line, (FaultKind::Unresolved, message)));
                }
            },
        }
    }
    if machine.bottom != 0 {
        let message = "the function returned with another frame than it was called with";
        return Err(at(0, (FaultKind::IllegalOperation, message.to_owned())));
    }
    let result = machine.gr(8).map_err(|trap| at(0, trap))?;
    let float = machine.fr(8);
    Ok(Outcome {
        result: (!result.nat).then_some(result.value),
        float,
        steps: machine.steps,
        groups: count,
        nops,
        memory: clock.as_ref().and_then(Clock::memory),
        branches: heard.laboratory.map(|laboratory| laboratory.outcome()),
        cycles: clock.map(|clock| clock.cycles()),
        violations: groups.violations,
        changed: before.changed(&machine.preserved()),
    })
}

/// The listeners to branches and to definitions of predicates: the processor's predictor, and those of the
/// caller.
struct Heard<'a> {
    laboratory: Option<Laboratory>,
    penalty: u32,
    listener: Option<Listener<'a>>,
    tracer: Tracer,
}

/// Cycles from a compare until fetches see its predicates, where no processor says.
const DELAY: u32 = 8;

impl<'a> Heard<'a> {
    fn new(unit: Option<BranchUnit>, listener: Option<Listener<'a>>) -> Heard<'a> {
        let design = |unit: BranchUnit| Design {
            resolve: unit.penalty,
            ..unit.design
        };
        Heard {
            laboratory: unit.map(|unit| Laboratory::new(&design(unit))),
            penalty: unit.map_or(0, |unit| unit.penalty),
            listener,
            tracer: Tracer::new(unit.map_or(DELAY, |unit| unit.delay)),
        }
    }

    /// Cycles that are lost to a misprediction of the instruction, which executed in the cycle `now`.
    fn executed(
        &mut self,
        machine: &Machine<'_>,
        pc: usize,
        inst: &Inst,
        taken: bool,
        now: u64,
    ) -> u32 {
        if self.laboratory.is_none() && self.listener.is_none() {
            return 0;
        }
        let mut wrong = false;
        for event in self.tracer.events(machine, pc, inst, taken, now) {
            if let Some(laboratory) = &mut self.laboratory {
                wrong |= laboratory.event(event).is_some_and(|made| made.wrong);
            }
            if let Some(listener) = &mut self.listener {
                listener(event);
            }
        }
        if !wrong {
            return 0;
        }
        self.tracer.waited(self.penalty.into());
        self.penalty
    }
}

fn place(machine: &mut Machine<'_>, arguments: &[Arg]) -> Result<(), Trap> {
    control::enter(machine)?;
    machine.set_gr(1, GP)?;
    machine.set_gr(12, STACK_START)?;
    machine.set_gr(13, STACK)?;
    let mut float = 8;
    for (slot, argument) in arguments.iter().take(64).enumerate() {
        let value = match argument {
            Arg::Integer(value) => *value,
            Arg::Double(value) => {
                if float < 16 {
                    machine.set_fr(float, Float::from_f64(*value))?;
                    float += 1;
                }
                value.to_bits()
            }
            Arg::Single(value) => {
                if float < 16 {
                    machine.set_fr(float, Float::from_f64(f64::from(*value)))?;
                    float += 1;
                }
                u64::from(value.to_bits())
            }
        };
        // Every argument has its slot; beyond eight they lie on the memory stack, behind the scratch area.
        if slot < 8 {
            machine.set_gr(32 + slot as u8, value)?;
        } else {
            let address = STACK_START + 16 + 8 * (slot as u64 - 8);
            let written = machine.memory.write(address, 8, value);
            written.map_err(|_| (FaultKind::Unmapped, "too many arguments".to_owned()))?;
        }
    }
    Ok(())
}

impl Groups {
    fn mark(&self, id: Id) -> Option<Mark> {
        let mark = self.marks.get(id as usize)?;
        (mark.group == self.now).then_some(*mark)
    }
    fn tell(&mut self, inst: &Inst, register: Reg, rule: Rule, other: u32) {
        let violation = Violation {
            line: inst.line,
            register,
            rule,
            other,
        };
        if self.violations.len() < MOST && !self.violations.contains(&violation) {
            self.violations.push(violation);
        }
    }

    fn check(&mut self, machine: &Machine<'_>, inst: &Inst) {
        for read in &machine.reads {
            let Some(mark) = self.mark(read.id) else {
                continue;
            };
            let seen = match read.what {
                Use::BranchRegister => true,
                Use::BranchPredicate => mark.way != Some(Way::Plain),
                _ => false,
            };
            if !seen {
                self.tell(inst, read.name, Rule::ReadAfterWrite, mark.line);
            }
        }
        // A register that one instruction writes twice, as a load into its own base, is wrong alone.
        for (at, write) in machine.writes.iter().enumerate() {
            let twice = machine.writes[..at].iter().any(|it| it.id == write.id);
            if twice && write.name.file == isa::ia64::File::General {
                self.tell(inst, write.name, Rule::WriteAfterWrite, inst.line);
            }
        }
        for write in &machine.writes {
            if let Some(mark) = self.mark(write.id) {
                let shared =
                    mark.way == Some(write.way) && !matches!(write.way, Way::Plain | Way::Integer);
                if !shared {
                    self.tell(inst, write.name, Rule::WriteAfterWrite, mark.line);
                }
            }
        }
        for write in &machine.writes {
            self.set(write.id, inst.line, write.way);
        }
    }
    fn set(&mut self, id: Id, line: u32, way: Way) {
        let at = id as usize;
        if self.marks.len() <= at {
            self.marks.resize(at + 1, Mark::default());
        }
        self.marks[at] = Mark {
            group: self.now,
            line,
            way: Some(way),
        };
    }
}

/// Returns true if a slot holds a nop.
pub(super) fn is_nop(inst: &Inst) -> bool {
    inst.op == Op::Nop && inst.unit != Slot::Long
}
