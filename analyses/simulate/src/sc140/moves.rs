//! Moves, the stack, and bit masks.

use super::number::{Scaling, high, saturate, signed, unsigned};
use super::op::{Element, End, Mask, MaskKind, Move};
use super::register::Reg;
use super::state::{Machine, Trap, Write};

impl Machine<'_> {
    pub(super) fn moves(&mut self, op: &Move) -> Result<(), Trap> {
        let count = usize::from(op.count);
        let bytes = op.element.bits() / 8 * u32::from(op.count);
        let mut values = [0; 4];
        match op.from {
            End::Regs(registers) => {
                for (at, register) in registers.iter().take(count).enumerate() {
                    values[at] = self.stored(*register, op);
                }
            }
            End::Half(register, upper) => {
                values[0] = (self.read(register) >> if upper { 16 } else { 0 }) as u64;
            }
            End::Number(value) => values[0] = value as u64,
            End::Memory(place) => {
                let address = self.place(place, bytes)?;
                values = self.load(address, op.element, op.count)?;
            }
        }
        match op.to {
            End::Regs(registers) => {
                for (at, register) in registers.iter().take(count).enumerate() {
                    self.loaded(*register, values[at] as i64, op);
                }
            }
            End::Half(register, upper) => self.halved(register, upper, values[0] as u16),
            End::Number(_) => {}
            End::Memory(place) => {
                let address = self.place(place, bytes)?;
                self.store(address, op.element, &values[..count])?;
            }
        }
        Ok(())
    }

    /// The bits that a store or a copy takes from a register.
    fn stored(&self, register: Reg, op: &Move) -> u64 {
        let value = self.read(register);
        let Reg::D(number) = register else {
            return value as u64;
        };
        let value = match op.limits {
            false => value,
            true => {
                let scaled = match self.scaling() {
                    Scaling::None => value,
                    Scaling::Down => value >> 1,
                    Scaling::Up => value << 1,
                };
                match self.limit[usize::from(number)] {
                    false => scaled,
                    true => {
                        let far = if value < 0 { i128::MIN } else { i128::MAX };
                        saturate(far, 32) as i64
                    }
                }
            }
        };
        match op.element {
            Element::Fraction => high(value) as u64,
            _ => value as u64,
        }
    }

    /// A value as a register takes it.
    fn loaded(&mut self, register: Reg, value: i64, op: &Move) {
        let bits = op.element.bits();
        let value = match op.sign {
            true => signed(value, bits),
            false => unsigned(value, bits),
        };
        match (register, op.element) {
            (Reg::D(number), Element::Fraction) => self.plain(number, value << 16),
            (Reg::D(number), _) => self.plain(number, value),
            _ => self.moved_to(register, value),
        }
    }

    /// A register that a move writes.
    fn moved_to(&mut self, register: Reg, value: i64) {
        self.moved[0].push(register);
        self.writes.push(Write::Reg(register, value));
    }

    fn halved(&mut self, register: Reg, upper: bool, half: u16) {
        let value = self.read(register);
        let by = if upper { 16 } else { 0 };
        let value = value & !(0xffff << by) | i64::from(half) << by;
        match register {
            Reg::D(number) => self.plain(number, value),
            _ => self.moved_to(register, value),
        }
    }

    pub(super) fn mask(&mut self, op: &Mask) -> Result<(), Trap> {
        let mask = op.mask;
        let (value, address) = match op.target {
            End::Half(register, upper) => {
                let value = self.read(register) >> if upper { 16 } else { 0 };
                (value as u16, 0)
            }
            End::Memory(place) => {
                let address = self.place(place, 2)?;
                (self.load(address, Element::Word, 1)?[0] as u16, address)
            }
            End::Regs(_) | End::Number(_) => return Ok(()),
        };
        let result = match op.kind {
            MaskKind::Set | MaskKind::Or => value | mask,
            MaskKind::Clear => value & !mask,
            MaskKind::Change | MaskKind::Eor => value ^ mask,
            MaskKind::And => value & mask,
            MaskKind::Not => !value,
            MaskKind::TestSet | MaskKind::TestAndSet => {
                self.writes.push(Write::Truth(value & mask == mask));
                value | mask
            }
            MaskKind::TestClear => {
                self.writes.push(Write::Truth(value & mask == 0));
                value
            }
        };
        if matches!(op.kind, MaskKind::TestSet | MaskKind::TestClear) {
            return Ok(());
        }
        match op.target {
            End::Half(register, upper) => self.halved(register, upper, result),
            _ => self.store(address, Element::Word, &[u64::from(result)])?,
        }
        Ok(())
    }

    /// The stack pointer that an instruction of the stack uses: the active one, or the normal one.
    fn stack_of(&self, normal: bool) -> Reg {
        match normal && self.active() != 0 {
            true => Reg::Osp,
            false => Reg::Sp,
        }
    }

    pub(super) fn push(&mut self, register: Reg, normal: bool) -> Result<(), Trap> {
        let pointer = self.stack_of(normal);
        let stack = self.read(pointer) as u32;
        let at = stack.wrapping_add(if register.is_odd() { 4 } else { 0 });
        let value = self.read(register) as u64;
        self.store(at, Element::Long, &[value])?;
        self.writes.push(Write::Reg(pointer, i64::from(stack) + 8));
        Ok(())
    }

    pub(super) fn pop(&mut self, register: Reg, normal: bool) -> Result<(), Trap> {
        let pointer = self.stack_of(normal);
        let stack = self.read(pointer) as u32;
        let at = stack.wrapping_sub(if register.is_odd() { 4 } else { 8 });
        let value = self.load(at, Element::Long, 1)?[0] as i64;
        match register {
            Reg::D(number) => self.plain(number, signed(value, 32)),
            _ => self.moved_to(register, value),
        }
        self.writes.push(Write::Reg(pointer, i64::from(stack) - 8));
        Ok(())
    }
}
