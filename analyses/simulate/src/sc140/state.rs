//! The state of a run, and the writes at the end of an execution set.

use super::number::{Scaling, exceeds, saturate, signed, wrap};
use super::op::Element;
use super::register::Reg;
use super::{FaultKind, Rule, Settings};
use crate::memory::{Memory, Refused};

/// The error of a set.
pub(super) type Trap = (FaultKind, String);

/// Bytes from the lower to the higher of two numbers of one set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Write {
    /// A data register with its limit tag.
    Data(u8, i64, bool),
    /// Any other register.
    Reg(Reg, i64),
    Carry(bool),
    Truth(bool),
    Overflow,
    /// Address, bytes, value.
    Memory(u32, u32, u64),
    LoopOn {
        number: u8,
        short: bool,
    },
    LoopOff(u8),
}

#[derive(Debug)]
pub(super) struct Machine<'m> {
    pub memory: &'m mut Memory,
    pub settings: Settings,
    pub d: [i64; 16],
    pub limit: [bool; 16],
    pub r: [u32; 16],
    pub n: [u32; 4],
    pub m: [u32; 4],
    /// Normal and exception.
    pub sp: [u32; 2],
    pub mctl: u32,
    pub sa: [u32; 4],
    pub lc: [i32; 4],
    pub emr: u32,
    pub vba: u32,
    /// The status register, loop flags included.
    pub sr: u32,
    /// The writes of the set that executes.
    pub writes: Vec<Write>,
    pub broken: Vec<Rule>,
    /// Registers that moves write, and T, in this set and in the set before.
    pub moved: [Vec<Reg>; 2],
    pub truth_written: [bool; 2],
}

impl<'m> Machine<'m> {
    pub(super) fn new(memory: &'m mut Memory, settings: Settings) -> Machine<'m> {
        let bits = settings.status;
        let sr = u32::from(settings.saturates) << bits.saturation
            | u32::from(settings.rounds_up) << bits.rounding;
        Machine {
            memory,
            settings,
            d: [0; 16],
            limit: [false; 16],
            r: [0; 16],
            n: [0; 4],
            m: [0; 4],
            sp: [0; 2],
            mctl: 0,
            sa: [0; 4],
            lc: [0; 4],
            emr: 0,
            vba: 0,
            sr,
            writes: Vec::new(),
            broken: Vec::new(),
            moved: [Vec::new(), Vec::new()],
            truth_written: [false; 2],
        }
    }

    fn bit(&self, at: u32) -> bool {
        self.sr >> at & 1 != 0
    }
    pub(super) fn carry(&self) -> bool {
        self.bit(self.settings.status.carry)
    }
    pub(super) fn truth(&self) -> bool {
        self.bit(self.settings.status.truth)
    }
    pub(super) fn saturates(&self) -> bool {
        self.bit(self.settings.status.saturation)
    }
    pub(super) fn rounds_up(&self) -> bool {
        self.bit(self.settings.status.rounding)
    }
    /// None while results saturate.
    pub(super) fn scaling(&self) -> Scaling {
        match self.sr >> self.settings.status.scaling & 3 {
            _ if self.saturates() => Scaling::None,
            1 => Scaling::Down,
            2 => Scaling::Up,
            _ => Scaling::None,
        }
    }
    /// The active stack pointer's index.
    pub(super) fn active(&self) -> usize {
        usize::from(self.bit(self.settings.status.exception))
    }
    pub(super) fn stack(&self) -> u32 {
        self.sp[self.active()]
    }
    /// The enabled loop with the highest number.
    pub(super) fn active_loop(&self) -> Option<u8> {
        let flags = self.sr >> self.settings.status.loops;
        (0..4).rev().find(|number| flags >> number & 1 != 0)
    }
    pub(super) fn is_short_loop(&self) -> bool {
        self.bit(self.settings.status.short_loop)
    }

    /// A register's bits, data registers with their sign.
    pub(super) fn read(&self, register: Reg) -> i64 {
        let nine = |number: u8| {
            let number = usize::from(number);
            i64::from(self.limit[number]) << 8 | (self.d[number] >> 32 & 0xff)
        };
        let word = |value: u32| i64::from(value);
        match register {
            Reg::D(number) => self.d[usize::from(number)],
            Reg::Extension(number) => nine(number),
            Reg::Extensions(number) => nine(number) | nine(number + 1) << 16,
            Reg::R(number) => word(self.r[usize::from(number)]),
            Reg::N(number) => word(self.n[usize::from(number)]),
            Reg::M(number) => word(self.m[usize::from(number)]),
            Reg::Sp => word(self.stack()),
            Reg::Osp => word(self.sp[1 - self.active()]),
            Reg::Mctl => word(self.mctl),
            Reg::Sr => word(self.sr),
            Reg::Emr => word(self.emr),
            Reg::Vba => word(self.vba),
            Reg::Sa(number) => word(self.sa[usize::from(number)]),
            Reg::Lc(number) => i64::from(self.lc[usize::from(number)] as u32),
        }
    }

    /// Ends a set: the writes of its instructions take effect, in their order.
    pub(super) fn commit(&mut self) -> Result<(), Trap> {
        let writes = std::mem::take(&mut self.writes);
        self.twice(&writes);
        for write in &writes {
            self.apply(*write)?;
        }
        self.writes = writes;
        self.writes.clear();
        Ok(())
    }

    /// Tells of registers and memory that are written more than once.
    fn twice(&mut self, writes: &[Write]) {
        let key = |write: &Write| match write {
            Write::Data(number, ..) => Some(Reg::D(*number)),
            Write::Reg(Reg::Extension(number), _) => Some(Reg::D(*number)),
            Write::Reg(register, _) => Some(*register),
            _ => None,
        };
        for (at, write) in writes.iter().enumerate() {
            for earlier in &writes[..at] {
                match (key(write), key(earlier)) {
                    // A push or pop of an even and an odd register moves the stack pointer once.
                    (Some(Reg::Sp | Reg::Osp), _) if write == earlier => {}
                    (Some(register), Some(other)) if register == other => {
                        self.broken.push(Rule::WrittenTwice(register));
                    }
                    _ => {}
                }
                if let (Write::Memory(a, la, _), Write::Memory(b, lb, _)) = (write, earlier)
                    && u64::from(*a) < u64::from(*b) + u64::from(*lb)
                    && u64::from(*b) < u64::from(*a) + u64::from(*la)
                {
                    self.broken.push(Rule::StoredTwice);
                }
            }
        }
    }

    fn set_bit(&mut self, at: u32, value: bool) {
        self.sr = self.sr & !(1 << at) | u32::from(value) << at;
    }

    fn apply(&mut self, write: Write) -> Result<(), Trap> {
        let bits = self.settings.status;
        match write {
            Write::Data(number, value, limit) => {
                self.d[usize::from(number)] = value;
                self.limit[usize::from(number)] = limit;
            }
            Write::Reg(register, value) => self.write(register, value),
            Write::Carry(value) => self.set_bit(bits.carry, value),
            Write::Truth(value) => self.set_bit(bits.truth, value),
            Write::Overflow => self.emr |= 4,
            Write::LoopOn { number, short } => {
                self.set_bit(bits.loops + u32::from(number), true);
                self.set_bit(bits.short_loop, short);
            }
            Write::LoopOff(number) => {
                self.set_bit(bits.loops + u32::from(number), false);
                self.set_bit(bits.short_loop, false);
            }
            Write::Memory(address, bytes, value) => {
                let ordered = self.ordered(value, bytes);
                let done = self
                    .memory
                    .write(u64::from(address), bytes as usize, ordered);
                done.map_err(|refused| refusal(refused, address, bytes))?;
            }
        }
        Ok(())
    }

    fn write(&mut self, register: Reg, value: i64) {
        let word = value as u32;
        let mut nine = |number: u8, value: i64| {
            let number = usize::from(number);
            let low = self.d[number] & 0xffff_ffff;
            self.d[number] = signed(low | (value & 0xff) << 32, 40);
            self.limit[number] = value >> 8 & 1 != 0;
        };
        match register {
            Reg::D(number) => self.d[usize::from(number)] = signed(value, 40),
            Reg::Extension(number) => nine(number, value),
            Reg::Extensions(number) => {
                nine(number, value);
                nine(number + 1, value >> 16);
            }
            Reg::R(number) => self.r[usize::from(number)] = word,
            Reg::N(number) => self.n[usize::from(number)] = word,
            Reg::M(number) => self.m[usize::from(number)] = word,
            Reg::Sp => {
                let active = self.active();
                self.sp[active] = word;
            }
            Reg::Osp => {
                let other = 1 - self.active();
                self.sp[other] = word;
            }
            Reg::Mctl => self.mctl = word,
            Reg::Sr => self.sr = word,
            Reg::Emr => self.emr = word,
            Reg::Vba => self.vba = word,
            Reg::Sa(number) => self.sa[usize::from(number)] = word,
            Reg::Lc(number) => self.lc[usize::from(number)] = word as i32,
        }
    }

    /// Bytes as memory has them, from or to a value.
    fn ordered(&self, value: u64, bytes: u32) -> u64 {
        match self.settings.big_endian {
            true => value.swap_bytes() >> (64 - 8 * bytes),
            false => value,
        }
    }

    /// Elements at an address, in order; at most 8 bytes together.
    pub(super) fn load(
        &mut self,
        address: u32,
        element: Element,
        count: u8,
    ) -> Result<[u64; 4], Trap> {
        let bytes = element.bits() / 8;
        self.aligned(address, bytes * u32::from(count))?;
        let mut all = [0; 4];
        for (at, value) in all.iter_mut().take(usize::from(count)).enumerate() {
            let from = address.wrapping_add(bytes * at as u32);
            let read = self.memory.read(u64::from(from), bytes as usize);
            let read = read.map_err(|refused| refusal(refused, from, bytes))?;
            *value = self.ordered(read, bytes);
        }
        Ok(all)
    }

    /// Has elements written at the end of the set.
    pub(super) fn store(
        &mut self,
        address: u32,
        element: Element,
        values: &[u64],
    ) -> Result<(), Trap> {
        let bytes = element.bits() / 8;
        self.aligned(address, bytes * values.len() as u32)?;
        for (at, value) in values.iter().enumerate() {
            let to = address.wrapping_add(bytes * at as u32);
            let mask = u64::MAX >> (64 - 8 * bytes);
            self.writes.push(Write::Memory(to, bytes, value & mask));
        }
        Ok(())
    }

    fn aligned(&self, address: u32, bytes: u32) -> Result<(), Trap> {
        if self.settings.alignment_traps && !address.is_multiple_of(bytes.max(1)) {
            let message = format!("{bytes} bytes at 0x{address:x}, which is no multiple");
            return Err((FaultKind::Unaligned, message));
        }
        Ok(())
    }

    /// The result of an instruction that saturates where the mode says so, and computes the limit tag.
    pub(super) fn fitted(&mut self, number: u8, exact: i128, saturating: bool) {
        let (value, clamped) = match saturating && self.saturates() {
            true => {
                let clamped = saturate(exact, 32);
                (clamped as i64, clamped != exact)
            }
            false => {
                let wrapped = wrap(exact);
                (wrapped, i128::from(wrapped) != exact)
            }
        };
        if clamped {
            self.writes.push(Write::Overflow);
        }
        let tag = !(saturating && self.saturates()) && exceeds(value, self.scaling());
        self.writes.push(Write::Data(number, value, tag));
    }
    /// A result whose limit tag is cleared.
    pub(super) fn plain(&mut self, number: u8, value: i64) {
        self.writes
            .push(Write::Data(number, signed(value, 40), false));
    }
}

fn refusal(refused: Refused, address: u32, bytes: u32) -> Trap {
    match refused {
        Refused::Unmapped => (
            FaultKind::Unmapped,
            format!("{bytes} bytes at 0x{address:x}, where nothing is mapped"),
        ),
        Refused::ReadOnly => (
            FaultKind::ReadOnly,
            format!("a store to 0x{address:x}, which is read-only"),
        ),
    }
}
