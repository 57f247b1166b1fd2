//! States of the simulator's registers and memory, by the names that an instruction gives registers.

use super::super::super::float::Float;
use super::super::super::op::Op;
use super::super::super::program::Program;
use super::super::super::state::{Advanced, Frame, Machine, Read, Use, Way, Word, Write};
use super::super::super::{FaultKind, Limits, execute::Next};
use crate::memory::Memory;
use isa::ia64::{File, Reg};
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

/// The address of the memory, and its bytes.
pub(super) const BASE: u64 = 0x1_0000;
const BYTES: usize = 128;

#[derive(Clone, PartialEq, Debug)]
pub(super) struct State {
    pub(super) generals: [Word; 128],
    pub(super) floats: [Float; 128],
    pub(super) predicates: [bool; 64],
    pub(super) branches: [u64; 8],
    pub(super) applications: [u64; 128],
    pub(super) frame: Frame,
    pub(super) bottom: usize,
    pub(super) advanced: Vec<(Reg, u64, u64)>,
    pub(super) memory: Vec<u8>,
}

/// All registers whose content a state has.
pub(super) fn registers() -> Vec<Reg> {
    let parts = (0..4).flat_map(|field| [Reg::flags(field), Reg::controls(field)]);
    (1..128)
        .map(Reg::general)
        .chain((2..128).map(Reg::float))
        .chain((1..64).map(Reg::predicate))
        .chain((0..8).map(Reg::branch))
        .chain((0..128).map(Reg::application))
        .chain(parts)
        .collect()
}

/// The bits of `ar.fpsr` that this name stands for; of another register all.
fn part(register: Reg) -> u64 {
    let field = register.number & 3;
    match register {
        Reg::FPSR => (0..4).fold(!0, |mask, field| mask & !(0x1fff << (6 + 13 * field))),
        _ if !register.is_status() => !0,
        _ if register == Reg::flags(field) => 0x3f << (13 + 13 * field),
        _ => 0x7f << (6 + 13 * field),
    }
}

fn word(random: &mut StdRng) -> u64 {
    match random.random_range(0..4) {
        0 => *[0, 1, 5, u64::MAX, 1 << 63].choose(random).expect("some"),
        1 => random.random_range(0..80),
        _ => random.random(),
    }
}

fn float(random: &mut StdRng) -> Float {
    match random.random_range(0..6) {
        0 => *[
            Float::ZERO,
            Float::ONE,
            Float::NATVAL,
            Float::NAN,
            Float::infinity(true),
        ]
        .choose(random)
        .expect("some"),
        1 => Float::integer(random.random()),
        2 => Float::new(
            random.random(),
            random.random_range(0..1 << 17),
            random.random(),
        ),
        3 => Float::from_double(random.random()),
        _ => Float::from_f64(f64::from(random.random_range(-3..4)) * 0.75),
    }
}

impl State {
    pub(super) fn random(random: &mut StdRng) -> State {
        let rotating = 8 * random.random_range(0..13);
        let turned = random.random_range(0..3) != 0;
        let mut base = |size: u8| match turned && size > 0 {
            true => random.random_range(0..size),
            false => 0,
        };
        let frame = Frame {
            size: 96,
            locals: 0,
            rotating,
            general: base(rotating),
            float: base(96),
            predicate: base(48),
        };
        let locals = random.random_range(0..97);
        // Operands are often equal.
        let (same, alike) = (word(random), float(random));
        let mut state = State {
            generals: std::array::from_fn(|_| Word {
                value: match random.random() {
                    true => same,
                    false => word(random),
                },
                nat: random.random_range(0..12) == 0,
            }),
            floats: std::array::from_fn(|_| match random.random_range(0..3) {
                0 => alike,
                _ => float(random),
            }),
            predicates: std::array::from_fn(|_| random.random()),
            branches: std::array::from_fn(|_| random.random()),
            applications: std::array::from_fn(|_| word(random)),
            frame: Frame { locals, ..frame },
            bottom: 96,
            advanced: Vec::new(),
            memory: (0..BYTES).map(|_| random.random()).collect(),
        };
        state.generals[0] = Word::default();
        state.floats[..2].copy_from_slice(&[Float::ZERO, Float::ONE]);
        state.predicates[0] = true;
        state.applications[40] = random.random();
        for at in [Reg::LC, Reg::EC] {
            if random.random() {
                state.applications[usize::from(at.number)] = random.random_range(0..3);
            }
        }
        state.applications[66] &= 63;
        state
    }

    /// Lets a register hold an address that an access can use, mostly, and puts the value that it would find
    /// there elsewhere, too.
    pub(super) fn point(
        &mut self,
        base: Reg,
        target: Option<Reg>,
        bytes: u32,
        random: &mut StdRng,
    ) {
        if random.random_range(0..4) == 0 {
            return;
        }
        let at = 16 * random.random_range(1..5usize);
        self.generals[usize::from(base.number)] = Word::from(BASE + at as u64);
        if random.random() {
            let small: u64 = random.random_range(0..8);
            self.memory[at..at + 8].copy_from_slice(&small.to_le_bytes());
        }
        let mut value = [0; 8];
        let bytes = bytes.min(8) as usize;
        value[..bytes].copy_from_slice(&self.memory[at..at + bytes]);
        if random.random() {
            self.applications[usize::from(Reg::CCV.number)] = u64::from_le_bytes(value);
        }
        if let (Some(target), true) = (target, random.random()) {
            self.advanced.push((target, BASE + at as u64, bytes as u64));
        }
    }

    /// Lets a register hold the result of a failed speculative load.
    pub(super) fn fail(&mut self, register: Reg) {
        let at = usize::from(register.number);
        match register.file {
            File::General => self.generals[at].nat = true,
            _ => self.floats[at] = Float::NATVAL,
        }
    }

    /// Gives a register another content.
    pub(super) fn change(&mut self, register: Reg, random: &mut StdRng) {
        let at = usize::from(register.number);
        match register.file {
            File::General => {
                self.generals[at] = Word {
                    value: word(random),
                    nat: random.random_range(0..8) == 0,
                };
            }
            File::Float => self.floats[at] = float(random),
            File::Predicate => self.predicates[at] ^= random.random::<bool>(),
            File::Branch => self.branches[at] = word(random),
            File::Application | File::Special | File::Control => {
                let mask = part(register);
                let at = if register.is_status() { 40 } else { at };
                let place = &mut self.applications[at];
                *place = *place & !mask | word(random) & mask;
                self.applications[66] &= 63;
            }
        }
    }
    pub(super) fn copy(&mut self, register: Reg, from: &State) {
        let at = usize::from(register.number);
        match register.file {
            File::General => self.generals[at] = from.generals[at],
            File::Float => self.floats[at] = from.floats[at],
            File::Predicate => self.predicates[at] = from.predicates[at],
            File::Branch => self.branches[at] = from.branches[at],
            File::Application | File::Special | File::Control => {
                let mask = part(register);
                let at = if register.is_status() { 40 } else { at };
                let place = &mut self.applications[at];
                *place = *place & !mask | from.applications[at] & mask;
            }
        }
    }
    /// The content of a register as bits.
    pub(super) fn content(&self, register: Reg) -> u128 {
        let at = usize::from(register.number);
        match register.file {
            File::General => {
                let word = self.generals[at];
                u128::from(word.value) | u128::from(word.nat) << 64
            }
            File::Float => {
                let float = self.floats[at];
                let head = float.exponent | u32::from(float.sign) << 20;
                u128::from(float.significand) | u128::from(head) << 64
            }
            File::Predicate => self.predicates[at].into(),
            File::Branch => self.branches[at].into(),
            File::Application | File::Special | File::Control => {
                let at = if register.is_status() { 40 } else { at };
                (self.applications[at] & part(register)).into()
            }
        }
    }

    fn put(&self, machine: &mut Machine<'_>) {
        machine.frame = self.frame;
        machine.bottom = self.bottom;
        machine.depth = 2;
        machine.fit().expect("room");
        for number in 0..128u8 {
            let at = usize::from(number);
            if number > 0 {
                machine.set_gr(number, self.generals[at]).expect("a frame");
            }
            if number > 1 {
                machine
                    .set_fr(number, self.floats[at])
                    .expect("no constant");
            }
            if number < 64 {
                machine.set_pr(number, Some(self.predicates[at]), Way::Plain);
            }
            if number < 8 {
                machine.set_br(number, self.branches[at]);
            }
        }
        machine.applications = self.applications;
        for &(register, address, bytes) in &self.advanced {
            let id = machine.id(register).expect("a frame");
            machine.advanced.push(Advanced { id, address, bytes });
        }
        machine.reads.clear();
        machine.writes.clear();
    }

    /// Returns the state of a machine, by the names of `before`.
    fn of(machine: &mut Machine<'_>, before: &State) -> State {
        let (frame, bottom) = (machine.frame, machine.bottom);
        machine.frame = before.frame;
        machine.bottom = before.bottom;
        let names: Vec<Reg> = (1..128)
            .map(Reg::general)
            .chain((2..128).map(Reg::float))
            .collect();
        let named = |machine: &Machine<'_>, id| {
            let mut names = names.iter();
            *names
                .find(|&&name| machine.id(name) == Ok(id))
                .expect("a register")
        };
        let advanced = machine.advanced.iter();
        let advanced = advanced.map(|it| (named(machine, it.id), it.address, it.bytes));
        let advanced = advanced.collect();
        State {
            generals: std::array::from_fn(|at| machine.gr(at as u8).expect("a frame")),
            floats: std::array::from_fn(|at| machine.fr(at as u8)),
            predicates: std::array::from_fn(|at| machine.pr(at as u8, Use::Data)),
            branches: std::array::from_fn(|at| machine.br(at as u8, Use::Data)),
            applications: machine.applications,
            frame,
            bottom,
            advanced,
            memory: machine.memory.bytes(BASE, BYTES).expect("mapped").to_vec(),
        }
    }
}

/// The outcome of an instruction.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Executed {
    pub(super) next: Result<Next, FaultKind>,
    pub(super) after: State,
    pub(super) reads: Vec<Read>,
    pub(super) writes: Vec<Write>,
}

/// Executes one instruction.
pub(super) fn execute(program: &Program, op: &Op, predicate: u8, before: &State) -> Executed {
    let mut memory = Memory::new();
    assert!(memory.map(BASE, before.memory.clone(), true));
    let limits = Limits::default();
    let mut machine = Machine::new(program, &mut memory, &limits);
    before.put(&mut machine);
    let next = machine.step(op, predicate).map_err(|(kind, _)| kind);
    let reads = std::mem::take(&mut machine.reads);
    let writes = std::mem::take(&mut machine.writes);
    Executed {
        next,
        after: State::of(&mut machine, before),
        reads,
        writes,
    }
}
