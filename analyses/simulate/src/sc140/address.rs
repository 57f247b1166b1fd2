//! The address units: arithmetic with its modifiers, addresses of accesses.

use super::FaultKind;
use super::number::{signed, unsigned};
use super::op::{Address, AddressKind, Index, Place, Step, Word};
use super::register::Reg;
use super::state::{Machine, Trap, Write};

/// The modifier that `MCTL` selects for arithmetic on a register.
enum Modifier {
    Linear,
    ReverseCarry,
    /// The modifier of a modulus register; steps of more than the buffer's length are allowed.
    Modulo(usize, bool),
}

impl Machine<'_> {
    fn modifier(&self, register: Reg) -> Result<Modifier, Trap> {
        let Reg::R(number @ 0..8) = register else {
            return Ok(Modifier::Linear);
        };
        let code = self.mctl >> (4 * number) & 0xf;
        Ok(match code {
            0 => Modifier::Linear,
            1 => Modifier::ReverseCarry,
            8..12 => Modifier::Modulo(code as usize - 8, false),
            12.. => Modifier::Modulo(code as usize - 12, true),
            _ => {
                let message = format!("{register} has the reserved modifier {code}");
                return Err((FaultKind::Unsupported, message));
            }
        })
    }

    /// A register's value and a number of bytes, added as its modifier says.
    pub(super) fn stepped(&self, register: Reg, value: u32, bytes: i64) -> Result<u32, Trap> {
        let plain = value.wrapping_add(bytes as u32);
        let (modulus, multiple) = match self.modifier(register)? {
            Modifier::Linear => return Ok(plain),
            Modifier::ReverseCarry => {
                let sum = value
                    .reverse_bits()
                    .wrapping_add((bytes as u32).reverse_bits());
                return Ok(sum.reverse_bits());
            }
            Modifier::Modulo(number, multiple) => (i64::from(self.m[number]), multiple),
        };
        let Reg::R(number) = register else {
            return Ok(plain);
        };
        let base = i64::from(self.r[usize::from(number) + 8]);
        let sum = i64::from(value) + bytes;
        if modulus == 0 {
            return Ok(plain);
        }
        let wrapped = match multiple {
            true => base + (sum - base).rem_euclid(modulus),
            false if bytes.abs() > modulus => {
                let message = format!("{register} goes {bytes} bytes on in a buffer of {modulus}");
                return Err((FaultKind::Unsupported, message));
            }
            false if bytes > 0 && sum >= base + modulus => sum - modulus,
            false if bytes < 0 && sum < base => sum + modulus,
            false => sum,
        };
        Ok(wrapped as u32)
    }

    /// Tells of a register that a move wrote in the set before.
    pub(super) fn addresses_with(&mut self, register: Reg) {
        if self.moved[1].contains(&register) {
            self.broken.push(super::Rule::AddressTooSoon(register));
        }
    }

    fn word(&self, word: Word) -> i64 {
        match word {
            Word::Reg(register) => self.read(register),
            Word::Number(value) => value,
        }
    }

    pub(super) fn address(&mut self, op: &Address) -> Result<(), Trap> {
        if let Word::Reg(register) = op.source {
            self.addresses_with(register);
        }
        if op.base == op.target || !matches!(op.kind, AddressKind::Copy) {
            self.addresses_with(op.base);
        }
        let source = self.word(op.source);
        let base = self.read(op.base) as u32;
        let (a, b) = (signed(source, 32), i64::from(base as i32));
        let value = match op.kind {
            AddressKind::Add(by) => self.stepped(op.base, base, a << by)?,
            AddressKind::Subtract => self.stepped(op.base, base, -a)?,
            AddressKind::ShiftLeft(by) => base << by,
            AddressKind::ShiftRight => (base as i32 >> 1) as u32,
            AddressKind::ShiftRightLogical => base >> 1,
            AddressKind::Copy => source as u32,
            AddressKind::Extend { bits, sign: true } => signed(source, bits) as u32,
            AddressKind::Extend { bits, sign: false } => unsigned(source, bits) as u32,
            AddressKind::CompareEqual => return self.told(b == a),
            AddressKind::CompareGreater => return self.told(b > a),
            AddressKind::CompareHigher => return self.told(base > source as u32),
            AddressKind::TestEqual(bits) => return self.told(unsigned(source, bits) == 0),
            AddressKind::TestGreaterEqual => return self.told(a >= 0),
            AddressKind::TestGreater => return self.told(a > 0),
            AddressKind::CountEqual | AddressKind::CountGreater => {
                let less = self.stepped(op.base, base, -1)?;
                self.writes.push(Write::Reg(op.target, i64::from(less)));
                return self.told(match op.kind {
                    AddressKind::CountEqual => less == 0,
                    _ => less as i32 >= 0,
                });
            }
        };
        self.writes.push(Write::Reg(op.target, i64::from(value)));
        Ok(())
    }

    fn told(&mut self, truth: bool) -> Result<(), Trap> {
        self.writes.push(Write::Truth(truth));
        Ok(())
    }

    /// The address of an access of so many bytes; the change of its register is among the set's writes.
    pub(super) fn place(&mut self, place: Place, bytes: u32) -> Result<u32, Trap> {
        let width = i64::from(bytes);
        match place {
            Place::Absolute(address) => Ok(address),
            Place::Indirect(number, step) => {
                let register = Reg::R(number);
                self.addresses_with(register);
                let address = self.r[usize::from(number)];
                let step = match step {
                    Step::Accesses(0) => return Ok(address),
                    Step::Accesses(count) => count * width,
                    Step::By(offset) => {
                        self.addresses_with(Reg::N(offset));
                        i64::from(self.n[usize::from(offset)] as i32) * width
                    }
                };
                let next = self.stepped(register, address, step)?;
                self.writes.push(Write::Reg(register, i64::from(next)));
                Ok(address)
            }
            Place::Indexed(base, index) => {
                self.addresses_with(base);
                let step = match index {
                    Index::Bytes(bytes) => bytes,
                    Index::Reg(register) => {
                        self.addresses_with(register);
                        signed(self.read(register), 32) * width
                    }
                };
                self.stepped(base, self.read(base) as u32, step)
            }
        }
    }
}
