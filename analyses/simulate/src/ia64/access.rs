//! Memory: loads with their speculation, stores, atomic operations, checks.
//!
//! Speculative loads turn every error into a NaT bit. The table of advanced loads holds as many entries as the limits
//! say; with none, every check goes to its recovery.

use super::FaultKind;
use super::execute::Next;
use super::float::Float;
use super::op::{Atomic, Format, LoadForm, Op, Src};
use super::state::{Advanced, Id, Machine, Trap, Use, Word};
use crate::cache::{Access, AccessKind};
use crate::memory::Refused;
use isa::ia64::{File, Reg};

fn refused(error: Refused, address: u64, bytes: u64) -> Trap {
    match error {
        Refused::Unmapped => (
            FaultKind::Unmapped,
            format!("{bytes} bytes at {address:#x} are not mapped"),
        ),
        Refused::ReadOnly => (
            FaultKind::ReadOnly,
            format!("{address:#x} may not be written"),
        ),
    }
}

fn aligned(address: u64, to: u64, bytes: u64) -> Result<(), Trap> {
    if !address.is_multiple_of(to) {
        return Err((
            FaultKind::Unaligned,
            format!("{bytes} bytes at {address:#x}, which is not a multiple of {to}"),
        ));
    }
    Ok(())
}

impl Machine<'_> {
    /// The address of an access that must not fail.
    fn address(&mut self, base: u8) -> Result<u64, Trap> {
        self.sound(base, Use::Address)
    }
    fn load(&mut self, address: u64, bytes: u64) -> Result<u64, Trap> {
        self.touch(AccessKind::Load, address, bytes);
        self.memory
            .read(address, bytes as usize)
            .map_err(|error| refused(error, address, bytes))
    }
    fn store(&mut self, address: u64, bytes: u64, value: u64) -> Result<(), Trap> {
        self.memory
            .write(address, bytes as usize, value)
            .map_err(|error| refused(error, address, bytes))?;
        self.touch(AccessKind::Store, address, bytes);
        let apart = |advanced: &Advanced| {
            advanced.address >= address.saturating_add(bytes)
                || address >= advanced.address.saturating_add(advanced.bytes)
        };
        self.advanced.retain(apart);
        Ok(())
    }
    /// Notes an access; parts that lie behind one another are one.
    fn touch(&mut self, kind: AccessKind, address: u64, bytes: u64) {
        let bytes = bytes as u32;
        match self.accesses.last_mut() {
            Some(last) if last.kind == kind && last.address + u64::from(last.bytes) == address => {
                last.bytes += bytes;
            }
            _ => self.accesses.push(Access {
                address,
                bytes,
                kind,
                float: false,
            }),
        }
    }
    /// Moves the base on behind an access.
    fn step_base(&mut self, base: u8, step: Option<Src>) -> Result<(), Trap> {
        let Some(step) = step else { return Ok(()) };
        let by = self.src(step)?;
        let old = self.gr_for(base, Use::Address)?;
        self.set_gr(
            base,
            Word {
                value: old.value.wrapping_add(by.value),
                nat: old.nat || by.nat,
            },
        )
    }

    fn enter(&mut self, id: Id, address: u64, bytes: u64) {
        self.advanced.retain(|it| it.id != id);
        if self.limits.advanced == 0 {
            return;
        }
        if self.advanced.len() >= self.limits.advanced {
            self.advanced.remove(0);
        }
        self.advanced.push(Advanced { id, address, bytes });
    }
    /// Returns true if the register's advanced load still stands.
    fn stands(&mut self, id: Id, address: Option<u64>, clear: bool) -> bool {
        let found = self
            .advanced
            .iter()
            .position(|it| it.id == id && address.is_none_or(|address| it.address == address));
        if let (Some(at), true) = (found, clear) {
            self.advanced.remove(at);
        }
        found.is_some()
    }

    /// Returns the result of a load, of `count` values of `bytes`; `None`: an error that speculation defers,
    /// or a check that found its register as it should be (then `Kept`).
    fn fetch(
        &mut self,
        form: LoadForm,
        target: Reg,
        base: u8,
        bytes: u64,
        alignment: u64,
    ) -> Result<Fetched, Trap> {
        let word = self.gr_for(base, Use::Address)?;
        let id = self.id(target)?;
        if word.nat && !form.speculative {
            return self.address(base).map(|_| Fetched::Deferred);
        }
        let address = word.value;
        if form.check && self.stands(id, Some(address), form.clear) {
            return Ok(Fetched::Kept);
        }
        let whole = !word.nat
            && address.is_multiple_of(alignment)
            && self.memory.bytes(address, bytes as usize).is_some();
        if form.speculative && (!whole || self.defers()) {
            self.advanced.retain(|it| it.id != id);
            return Ok(Fetched::Deferred);
        }
        aligned(address, alignment, bytes)?;
        if form.advanced || (form.check && !form.clear) {
            self.enter(id, address, bytes);
        }
        Ok(Fetched::At(address))
    }

    /// One in three.
    fn defers(&self) -> bool {
        self.limits.deferred.is_some_and(|seed| {
            let mixed = (seed ^ self.steps).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            (mixed ^ mixed >> 29).is_multiple_of(3)
        })
    }

    pub(super) fn access(&mut self, op: &Op) -> Result<(), Trap> {
        let done = self.accessed(op);
        let float = matches!(op, Op::LoadFloat { .. } | Op::StoreFloat { .. });
        for access in &mut self.accesses {
            access.float = float;
        }
        done
    }
    fn accessed(&mut self, op: &Op) -> Result<(), Trap> {
        match *op {
            Op::Load {
                to,
                bytes,
                form,
                fill,
                base,
                step,
            } => {
                let bytes = u64::from(bytes);
                match self.fetch(form, Reg::general(to), base, bytes, bytes)? {
                    Fetched::At(address) => {
                        let value = self.load(address, bytes)?;
                        let nat = fill && self.unat(address);
                        self.set_gr(to, Word { value, nat })?;
                    }
                    Fetched::Deferred => self.set_gr(
                        to,
                        Word {
                            value: 0,
                            nat: true,
                        },
                    )?,
                    Fetched::Kept => {}
                }
                self.step_base(base, step)
            }
            Op::LoadPair { to, base } => {
                let address = self.address(base)?;
                aligned(address, 16, 16)?;
                let (low, high) = (self.load(address, 8)?, self.load(address + 8, 8)?);
                self.set_ar(Reg::CSD.number, high);
                self.set_gr(to, low)
            }
            Op::Store {
                from,
                bytes,
                spill,
                base,
                step,
            } => {
                let bytes = u64::from(bytes);
                let address = self.address(base)?;
                let word = if spill {
                    self.gr(from)?
                } else {
                    self.sound(from, Use::Data)?.into()
                };
                aligned(address, bytes, bytes)?;
                self.store(address, bytes, word.value)?;
                if spill {
                    self.set_unat(address, word.nat);
                }
                self.step_base(base, step)
            }
            Op::StorePair { from, base } => {
                let address = self.address(base)?;
                aligned(address, 16, 16)?;
                let (low, high) = (
                    self.sound(from, Use::Data)?,
                    self.ar(Reg::CSD.number, Use::Data),
                );
                self.store(address, 8, low)?;
                self.store(address + 8, 8, high)
            }
            Op::LoadFloat {
                to,
                second,
                format,
                form,
                base,
                step,
            } => {
                let count = if second.is_some() { 2 } else { 1 };
                let bytes = format.bytes() * count;
                let alignment = format.alignment() * count;
                match self.fetch(form, Reg::float(to), base, bytes, alignment)? {
                    Fetched::At(address) => {
                        let value = self.load_float(address, format)?;
                        self.set_fr(to, value)?;
                        if let Some(second) = second {
                            let value = self.load_float(address + format.bytes(), format)?;
                            self.set_fr(second, value)?;
                        }
                    }
                    Fetched::Deferred => {
                        for each in [Some(to), second].into_iter().flatten() {
                            self.set_fr(each, Float::NATVAL)?;
                        }
                    }
                    Fetched::Kept => {}
                }
                self.step_base(base, step)
            }
            Op::StoreFloat {
                from,
                format,
                base,
                step,
            } => {
                let address = self.address(base)?;
                aligned(address, format.alignment(), format.bytes())?;
                let value = self.fr(from);
                if value.is_natval() && format != Format::Spill {
                    return Err((
                        FaultKind::NatConsumption,
                        format!("f{from} is NaTVal: the value of a speculative load that failed"),
                    ));
                }
                self.store_float(address, format, value)?;
                self.step_base(base, step)
            }
            Op::Atomic {
                op,
                to,
                bytes,
                base,
            } => {
                let bytes = u64::from(bytes);
                let address = self.address(base)?;
                aligned(address, bytes, bytes)?;
                let old = self.load(address, bytes)?;
                let new = match op {
                    Atomic::Exchange(from) => Some(self.sound(from, Use::Data)?),
                    Atomic::CompareExchange(from) => {
                        let new = self.sound(from, Use::Data)?;
                        let wanted = self.ar(Reg::CCV.number, Use::Data);
                        (wanted == old).then_some(new)
                    }
                    Atomic::Add(by) => Some(old.wrapping_add(by as u64)),
                };
                if let Some(new) = new {
                    self.store(address, bytes, new)?;
                }
                self.set_gr(to, old)
            }
            Op::Prefetch { base, step } => {
                let word = self.gr_for(base, Use::Address)?;
                if !word.nat && self.memory.bytes(word.value, 1).is_some() {
                    self.touch(AccessKind::Prefetch, word.value, 1);
                }
                self.step_base(base, step)
            }
            Op::Forget { register } => {
                match register {
                    None => self.advanced.clear(),
                    Some(register) => {
                        let id = self.id(register)?;
                        self.advanced.retain(|it| it.id != id);
                    }
                }
                Ok(())
            }
            _ => Err(super::state::illegal("not executed")),
        }
    }

    fn load_float(&mut self, address: u64, format: Format) -> Result<Float, Trap> {
        Ok(match format {
            Format::Single => Float::from_single(self.load(address, 4)? as u32),
            Format::Double => Float::from_double(self.load(address, 8)?),
            Format::Integer => Float::integer(self.load(address, 8)?),
            Format::Extended => {
                let significand = self.load(address, 8)?;
                Float::from_extended(significand, self.load(address + 8, 2)? as u16)
            }
            Format::Spill => {
                let significand = self.load(address, 8)?;
                Float::with_head(self.load(address + 8, 8)?, significand)
            }
        })
    }
    fn store_float(&mut self, address: u64, format: Format, value: Float) -> Result<(), Trap> {
        match format {
            Format::Single => self.store(address, 4, value.to_single().into()),
            Format::Double => self.store(address, 8, value.to_double()),
            Format::Integer => self.store(address, 8, value.significand),
            Format::Extended => {
                let (significand, head) = value.to_extended();
                self.store(address, 8, significand)?;
                self.store(address + 8, 2, head.into())
            }
            Format::Spill => {
                self.store(address, 8, value.significand)?;
                self.store(address + 8, 8, value.head())
            }
        }
    }

    pub(super) fn check_nat(&mut self, register: Reg, target: u64) -> Result<Next, Trap> {
        let failed = match register.file {
            File::General => self.gr(register.number)?.nat,
            _ => self.fr(register.number).is_natval(),
        };
        Ok(if failed { Next::Go(target) } else { Next::Fall })
    }
    pub(super) fn check_advanced(
        &mut self,
        register: Reg,
        clear: bool,
        target: u64,
    ) -> Result<Next, Trap> {
        let id = self.id(register)?;
        Ok(if self.stands(id, None, clear) {
            Next::Fall
        } else {
            Next::Go(target)
        })
    }
}

enum Fetched {
    At(u64),
    Deferred,
    Kept,
}
