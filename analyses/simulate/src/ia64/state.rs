//! Registers of a run: names to physical registers through the frame and the rotation bases, NaT bits, and
//! the registers that each instruction read and wrote, for the rules of groups and for the cycle count.

use super::float::Float;
use super::program::Program;
use super::{FaultKind, Limits};
use crate::cache::Access;
use crate::memory::Memory;
use isa::ia64::Reg;

/// A physical register, over all files.
pub(super) type Id = u32;
const FLOATS: Id = 0;
const PREDICATES: Id = 128;
const BRANCHES: Id = 192;
const APPLICATIONS: Id = 200;
const CFM: Id = 328;
const UNATS: Id = 329;
const GENERALS: Id = 400;

/// The address that ends a run: the first function returns to it.
pub(super) const EXIT: u64 = 0x100;

/// A general register.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Word {
    pub(super) value: u64,
    pub(super) nat: bool,
}

impl From<u64> for Word {
    fn from(value: u64) -> Word {
        Word { value, nat: false }
    }
}

/// The current frame marker; sizes in registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Frame {
    pub(super) size: u8,
    pub(super) locals: u8,
    pub(super) rotating: u8,
    pub(super) general: u8,
    pub(super) float: u8,
    pub(super) predicate: u8,
}

impl Frame {
    pub(super) fn encoded(self) -> u64 {
        u64::from(self.size)
            | u64::from(self.locals) << 7
            | u64::from(self.rotating / 8) << 14
            | u64::from(self.general) << 18
            | u64::from(self.float) << 25
            | u64::from(self.predicate) << 32
    }
    pub(super) fn decoded(bits: u64) -> Frame {
        let field = |at: u32, width: u32| (bits >> at & ((1 << width) - 1)) as u8;
        Frame {
            size: field(0, 7).min(96),
            locals: field(7, 7).min(96),
            rotating: (field(14, 4) * 8).min(96),
            general: field(18, 7).min(95),
            float: field(25, 7).min(95),
            predicate: field(32, 6).min(47),
        }
    }
}

/// The purpose for which a register is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Use {
    Data,
    Address,
    Predicate,
    /// The predicate of a branch: integer compares of its own group are seen.
    BranchPredicate,
    /// Read by a branch in a way that sees moves of its own group.
    BranchRegister,
}

/// The way in which a register is written, as far as the rules of instruction groups distinguish them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Way {
    Plain,
    /// A predicate, by an integer compare, a bit test or a move.
    Integer,
    And,
    Or,
    /// The complementing target of `or.andcm` and its kin, and the other one: assemblers let them meet their like alone.
    AndOfBoth,
    OrOfBoth,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Read {
    pub(super) id: Id,
    pub(super) name: Reg,
    pub(super) what: Use,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Write {
    pub(super) id: Id,
    pub(super) name: Reg,
    pub(super) way: Way,
}

/// The error of a step; the run adds the line.
pub(super) type Trap = (FaultKind, String);

pub(super) fn illegal(message: impl Into<String>) -> Trap {
    (FaultKind::IllegalOperation, message.into())
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Advanced {
    pub(super) id: Id,
    pub(super) address: u64,
    pub(super) bytes: u64,
}

#[derive(Debug)]
pub(super) struct Machine<'a> {
    pub(super) program: &'a Program,
    pub(super) memory: &'a mut Memory,
    pub(super) limits: &'a Limits,
    generals: [Word; 32],
    /// Stacked registers of all frames; the current frame begins at `bottom`.
    stack: Vec<Word>,
    pub(super) bottom: usize,
    pub(super) frame: Frame,
    floats: [Float; 128],
    pub(super) predicates: u64,
    branches: [u64; 8],
    pub(super) applications: [u64; 128],
    pub(super) advanced: Vec<Advanced>,
    pub(super) depth: u32,
    pub(super) steps: u64,
    /// Address of the bundle that executes.
    pub(super) ip: u64,
    pub(super) reads: Vec<Read>,
    pub(super) writes: Vec<Write>,
    /// The accesses to memory by the instruction that executes.
    pub(super) accesses: Vec<Access>,
    /// True if a branch rotated the registers in this group.
    pub(super) rotated: bool,
}

/// Returns the initial contents of registers that nothing wrote: recognisable, and different for each.
fn poison(number: u64) -> u64 {
    0xdead_0000_0000_beef ^ number << 20
}

impl<'a> Machine<'a> {
    pub(super) fn new(
        program: &'a Program,
        memory: &'a mut Memory,
        limits: &'a Limits,
    ) -> Machine<'a> {
        let mut machine = Machine {
            program,
            memory,
            limits,
            generals: std::array::from_fn(|number| poison(number as u64).into()),
            stack: Vec::new(),
            bottom: 0,
            frame: Frame::default(),
            floats: std::array::from_fn(|number| Float::from_f64(-1e9 - number as f64)),
            predicates: 1,
            branches: std::array::from_fn(|number| poison(number as u64)),
            applications: [0; 128],
            advanced: Vec::new(),
            depth: 0,
            steps: 0,
            ip: 0,
            reads: Vec::new(),
            writes: Vec::new(),
            accesses: Vec::new(),
            rotated: false,
        };
        machine.generals[0] = Word::default();
        machine.floats[0] = Float::ZERO;
        machine.floats[1] = Float::ONE;
        machine.branches[0] = EXIT;
        // The status that programs start with: 64 bits, the second field with the wide range of exponents.
        machine.applications[40] = 0x0009_804c_0270_033f;
        machine
    }

    fn general(&self, number: u8) -> Result<Id, Trap> {
        if number < 32 {
            return Ok(GENERALS + Id::from(number));
        }
        let offset = number - 32;
        if offset >= self.frame.size {
            return Err(illegal(format!(
                "r{number} is not in the frame, which ends with r{}",
                31 + self.frame.size
            )));
        }
        let offset = if offset < self.frame.rotating {
            (offset + self.frame.general) % self.frame.rotating
        } else {
            offset
        };
        Ok(GENERALS + 32 + self.bottom as Id + Id::from(offset))
    }
    fn float_id(&self, number: u8) -> Id {
        FLOATS
            + if number < 32 {
                Id::from(number)
            } else {
                32 + (Id::from(number) - 32 + Id::from(self.frame.float)) % 96
            }
    }
    fn predicate_id(&self, number: u8) -> Id {
        PREDICATES
            + if number < 16 {
                Id::from(number)
            } else {
                16 + (Id::from(number) - 16 + Id::from(self.frame.predicate)) % 48
            }
    }
    /// The physical register that a check names.
    pub(super) fn id(&self, name: Reg) -> Result<Id, Trap> {
        match name.file {
            isa::ia64::File::General => self.general(name.number),
            _ => Ok(self.float_id(name.number)),
        }
    }

    fn read(&mut self, id: Id, name: Reg, what: Use) {
        if self.rotated && name.may_rotate() {
            self.reads.push(Read {
                id: CFM,
                name: Reg::CFM,
                what: Use::Data,
            });
        }
        self.reads.push(Read { id, name, what });
    }
    fn write(&mut self, id: Id, name: Reg, way: Way) {
        self.writes.push(Write { id, name, way });
    }

    pub(super) fn gr_for(&mut self, number: u8, what: Use) -> Result<Word, Trap> {
        if number == 0 {
            return Ok(Word::default());
        }
        let id = self.general(number)?;
        self.read(id, Reg::general(number), what);
        Ok(self.word(id))
    }
    fn word(&self, id: Id) -> Word {
        let at = (id - GENERALS) as usize;
        match at.checked_sub(32) {
            None => self.generals[at],
            Some(at) => self.stack.get(at).copied().unwrap_or_default(),
        }
    }
    /// A general register as it is, without a note that it is read; `None` outside of the frame, and for NaT.
    pub(super) fn general_value(&self, number: u8) -> Option<u64> {
        let word = match number {
            0 => Word::default(),
            _ => self.word(self.general(number).ok()?),
        };
        (!word.nat).then_some(word.value)
    }
    /// A predicate as it is.
    pub(super) fn predicate(&self, number: u8) -> bool {
        let id = self.predicate_id(number) - PREDICATES;
        number == 0 || self.predicates >> id & 1 != 0
    }
    pub(super) fn gr(&mut self, number: u8) -> Result<Word, Trap> {
        self.gr_for(number, Use::Data)
    }
    /// A register whose NaT bit must not be set.
    pub(super) fn sound(&mut self, number: u8, what: Use) -> Result<u64, Trap> {
        let word = self.gr_for(number, what)?;
        if word.nat {
            return Err((
                FaultKind::NatConsumption,
                format!("r{number} is NaT: the value of a speculative load that failed"),
            ));
        }
        Ok(word.value)
    }
    pub(super) fn set_gr(&mut self, number: u8, word: impl Into<Word>) -> Result<(), Trap> {
        if number == 0 {
            return Err(illegal("r0 is written"));
        }
        let id = self.general(number)?;
        self.write(id, Reg::general(number), Way::Plain);
        let at = (id - GENERALS) as usize;
        match at.checked_sub(32) {
            None => self.generals[at] = word.into(),
            Some(at) => {
                if let Some(place) = self.stack.get_mut(at) {
                    *place = word.into();
                }
            }
        }
        Ok(())
    }

    pub(super) fn fr(&mut self, number: u8) -> Float {
        let id = self.float_id(number);
        if number > 1 {
            self.read(id, Reg::float(number), Use::Data);
        }
        self.floats[(id - FLOATS) as usize]
    }
    pub(super) fn set_fr(&mut self, number: u8, value: Float) -> Result<(), Trap> {
        if number < 2 {
            return Err(illegal(format!("f{number} is written")));
        }
        let id = self.float_id(number);
        self.write(id, Reg::float(number), Way::Plain);
        self.floats[(id - FLOATS) as usize] = value;
        Ok(())
    }

    pub(super) fn pr(&mut self, number: u8, what: Use) -> bool {
        if number == 0 {
            return true;
        }
        let id = self.predicate_id(number);
        self.read(id, Reg::predicate(number), what);
        self.predicates >> (id - PREDICATES) & 1 != 0
    }
    /// `value` of `None`: a writer that leaves the register as it is.
    pub(super) fn set_pr(&mut self, number: u8, value: Option<bool>, way: Way) {
        if number == 0 {
            return;
        }
        let id = self.predicate_id(number);
        self.write(id, Reg::predicate(number), way);
        if let Some(value) = value {
            self.set_bit(id, value);
        }
    }
    /// The value of a predicate register, with its number, rotation undone; `None` for a register of another file.
    pub(super) fn predicate_of(&self, id: Id) -> Option<(u16, bool)> {
        let number = id.checked_sub(PREDICATES).filter(|&number| number < 64)?;
        Some((number as u16, self.predicates >> number & 1 != 0))
    }
    fn set_bit(&mut self, id: Id, value: bool) {
        let bit = 1 << (id - PREDICATES);
        self.predicates = self.predicates & !bit | if value { bit } else { 0 };
    }
    /// All predicates by their physical numbers, rotation left aside.
    pub(super) fn all_predicates(&mut self) -> u64 {
        for number in 1..64 {
            let id = PREDICATES + Id::from(number);
            self.read(id, Reg::predicate(number), Use::Data);
        }
        self.predicates
    }
    pub(super) fn set_predicates(&mut self, value: u64, mask: u64) {
        for number in 1..64 {
            if mask >> number & 1 != 0 {
                let id = PREDICATES + Id::from(number);
                self.write(id, Reg::predicate(number), Way::Integer);
            }
        }
        self.predicates = (self.predicates & !mask | value & mask) | 1;
    }

    pub(super) fn br(&mut self, number: u8, what: Use) -> u64 {
        let id = BRANCHES + Id::from(number & 7);
        self.read(id, Reg::branch(number), what);
        self.branches[usize::from(number & 7)]
    }
    pub(super) fn set_br(&mut self, number: u8, value: u64) {
        self.write(
            BRANCHES + Id::from(number & 7),
            Reg::branch(number),
            Way::Plain,
        );
        self.branches[usize::from(number & 7)] = value;
    }

    pub(super) fn ar(&mut self, number: u8, what: Use) -> u64 {
        let name = Reg::application(number);
        if name == Reg::UNAT {
            for bit in 0..64 {
                self.read(UNATS + bit, name, what);
            }
        }
        self.read(APPLICATIONS + Id::from(number & 127), name, what);
        self.applications[usize::from(number & 127)]
    }
    pub(super) fn set_ar(&mut self, number: u8, value: u64) {
        let name = Reg::application(number);
        if name == Reg::UNAT {
            for bit in 0..64 {
                self.write(UNATS + bit, name, Way::Plain);
            }
        }
        self.write(APPLICATIONS + Id::from(number & 127), name, Way::Plain);
        self.applications[usize::from(number & 127)] = value;
    }
    /// One bit of `ar.unat`, for a spill or a fill at this address.
    pub(super) fn unat(&mut self, address: u64) -> bool {
        let bit = (address >> 3 & 63) as Id;
        self.read(UNATS + bit, Reg::UNAT, Use::Data);
        self.applications[36] >> bit & 1 != 0
    }
    pub(super) fn set_unat(&mut self, address: u64, value: bool) {
        let bit = (address >> 3 & 63) as Id;
        self.write(UNATS + bit, Reg::UNAT, Way::Plain);
        let mask = 1 << bit;
        self.applications[36] = self.applications[36] & !mask | u64::from(value) << bit;
    }

    /// Notes that the frame marker changes.
    pub(super) fn write_frame(&mut self) {
        self.write(CFM, Reg::CFM, Way::Plain);
    }

    /// Turns all rotating registers by one: the value in `x` moves to `x+1`.
    pub(super) fn rotate(&mut self, incoming: bool) {
        self.set_pr(63, Some(incoming), Way::Plain);
        let turn = |base: u8, size: u8| {
            if size == 0 {
                0
            } else {
                (base + size - 1) % size
            }
        };
        self.frame.general = turn(self.frame.general, self.frame.rotating);
        self.frame.float = turn(self.frame.float, 96);
        self.frame.predicate = turn(self.frame.predicate, 48);
        self.rotated = true;
        self.write_frame();
    }

    /// Makes the frame's registers exist.
    pub(super) fn fit(&mut self) -> Result<(), Trap> {
        let length = self.bottom + usize::from(self.frame.size);
        if length > 96 * (self.limits.depth as usize + 2) {
            return Err((FaultKind::Depth, "the register stack is full".to_owned()));
        }
        while self.stack.len() < length {
            let number = self.stack.len() as u64 + 32;
            self.stack.push(poison(number).into());
        }
        Ok(())
    }
    /// Registers that a callee must give back as it found them.
    pub(super) fn preserved(&self) -> Preserved {
        let mut floats = [Float::ZERO; 20];
        floats[..4].copy_from_slice(&self.floats[2..6]);
        floats[4..].copy_from_slice(&self.floats[16..32]);
        Preserved {
            generals: std::array::from_fn(|at| self.generals[[4, 5, 6, 7, 12, 13][at]]),
            floats,
            branches: std::array::from_fn(|at| self.branches[at + 1]),
            predicates: self.predicates & !0xffc0,
            loops: self.applications[65],
        }
    }
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Preserved {
    generals: [Word; 6],
    floats: [Float; 20],
    branches: [u64; 5],
    predicates: u64,
    loops: u64,
}

impl Preserved {
    /// Returns the differences, in order.
    pub(super) fn changed(&self, after: &Preserved) -> Vec<Reg> {
        let mut out = Vec::new();
        for (at, number) in [4, 5, 6, 7, 12, 13].into_iter().enumerate() {
            if self.generals[at] != after.generals[at] {
                out.push(Reg::general(number));
            }
        }
        for (at, number) in (2..6).chain(16..32).enumerate() {
            if self.floats[at] != after.floats[at] {
                out.push(Reg::float(number));
            }
        }
        for at in 0..5 {
            if self.branches[at] != after.branches[at] {
                out.push(Reg::branch(at as u8 + 1));
            }
        }
        for number in 0..64 {
            if (self.predicates ^ after.predicates) >> number & 1 != 0 {
                out.push(Reg::predicate(number));
            }
        }
        if self.loops != after.loops {
            out.push(Reg::LC);
        }
        out
    }
}
