//! Operands that an opcode does not take.
//!
//! ```text
//! max d0,d1            the registers are not four apart
//! move.2f (r0),d1:d2   a pair begins with an even register
//! add #32,d0           the number is not in 0 to 31
//! ```

use super::{Address, File, Instruction, Number, Opcode, Operand, Part, Reg, Size, Step};

/// The reason why an opcode does not take its operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Misfit {
    #[error("it takes other operands")]
    Form,
    #[error("{register} is no register that it takes there")]
    Register { register: Reg },
    #[error("{value} is not in {least} to {most}")]
    Range { value: i64, least: i64, most: i64 },
    #[error("{target} is not {distance} above {first}, in one half of the registers")]
    Apart {
        first: Reg,
        target: Reg,
        distance: u8,
    },
    #[error("{first} and {second} are no even register and the next")]
    Pair { first: Reg, second: Reg },
    #[error("{count} registers begin with one whose number {count} divides, and follow each other")]
    Aligned { count: usize },
    #[error("{index} is no register that is added to an address: n0, or r0 to r7")]
    Index { index: Reg },
    #[error("{value} bytes are not a multiple of the {width} of the access")]
    Scale { value: i64, width: u32 },
}

impl Misfit {
    /// Returns true if a source says so; the others follow from observations.
    #[must_use]
    pub const fn is_certain(self) -> bool {
        !matches!(self, Misfit::Apart { .. } | Misfit::Aligned { .. })
    }
}

impl Instruction {
    /// An operand that the opcode does not take. `distance`: between the registers of a maximum or minimum; 0: any two.
    #[must_use]
    pub fn misfit(&self, distance: u8) -> Option<Misfit> {
        let row = self.row();
        let Some(form) = row
            .operands
            .split("; ")
            .nth(usize::from(self.mnemonic.form))
        else {
            return Some(Misfit::Form);
        };
        let mut parts = form.split(',').filter(|part| !part.is_empty());
        let found = parts.clone().zip(&self.operands);
        let found = found.fold(None, |misfit, (part, operand)| {
            misfit.or_else(|| self.part(part, operand).err())
        });
        if self.operands.len() != parts.by_ref().count() {
            return Some(Misfit::Form);
        }
        found.or_else(|| self.together(distance).err())
    }

    fn part(&self, part: &str, operand: &Operand) -> Result<(), Misfit> {
        let range = |number: &Number, least: i64, most: i64| match number.value {
            Some(value) if value < least || value > most => {
                Err(Misfit::Range { value, least, most })
            }
            _ => Ok(()),
        };
        match (part, operand) {
            ("[-]Da", Operand::Negative(register)) => data(*register),
            ("[-]Da", Operand::Register(register, Part::Whole)) => data(*register),
            ("Dn", Operand::Register(register, Part::Whole)) if self.is_counter() => {
                data(*register)
            }
            ("Rn", Operand::Register(register, Part::Whole)) if self.is_counter() => {
                match register.file {
                    File::Address | File::Offset | File::Data => Ok(()),
                    _ => Err(Misfit::Register {
                        register: *register,
                    }),
                }
            }
            ("rx" | "Rx" | "Rn", Operand::Register(register, Part::Whole)) => {
                match register.is_pointer() {
                    true => Ok(()),
                    false => Err(Misfit::Register {
                        register: *register,
                    }),
                }
            }
            ("label" | "Rn", Operand::Label(_)) => Ok(()),
            ("#u5", Operand::Number(number)) => range(number, 0, 31),
            ("#s16", Operand::Number(number)) => range(number, -0x8000, 0xffff),
            ("#u16", Operand::Number(number)) => range(number, -0x8000, 0xffff),
            ("#count", Operand::Number(number)) => range(number, 0, 0xffff),
            ("#width" | "#offset", Operand::Number(number)) => range(number, 0, 63),
            ("#mask", Operand::Number(_)) => Ok(()),
            ("X.l", Operand::Register(_, Part::Low | Part::High)) => Ok(()),
            ("X.l" | "memory", Operand::Memory(address)) => self.place(*address),
            ("register", Operand::Register(..) | Operand::Group(_)) => Ok(()),
            ("source" | "target", operand) => self.moved_operand(operand),
            ("Da:Db", Operand::Group(group)) => aligned(group, 2),
            ("Da:Db:Dc:Dd", Operand::Group(group)) => aligned(group, 4),
            (name, Operand::Register(register, Part::Whole)) if name.starts_with('D') => {
                data(*register)
            }
            _ => Err(Misfit::Form),
        }
    }

    /// Returns true if it takes the count of a loop.
    fn is_counter(&self) -> bool {
        matches!(self.mnemonic.opcode, Opcode::Doen | Opcode::Doensh)
    }

    /// The number of registers that the opcode moves at once.
    fn moved_count(&self) -> usize {
        use Opcode::{Move2f, Move2l, Move2w, Move4f, Move4w};
        match self.mnemonic.opcode {
            Move2f | Move2w | Move2l => 2,
            Move4f | Move4w => 4,
            _ => 1,
        }
    }

    fn moved_operand(&self, operand: &Operand) -> Result<(), Misfit> {
        let count = self.moved_count();
        match operand {
            Operand::Memory(address) => self.place(*address),
            Operand::Group(group) if group.iter().all(|(_, part)| *part == Part::Extension) => {
                aligned(group, 2)
            }
            Operand::Group(group) if count > 1 => aligned(group, count),
            Operand::Register(..) if count == 1 => Ok(()),
            Operand::Number(_) if count == 1 => Ok(()),
            _ => Err(Misfit::Form),
        }
    }

    fn place(&self, address: Address) -> Result<(), Misfit> {
        let pointer = |register: Reg, stack: bool| match register.file {
            File::Address => Ok(()),
            _ if stack && register.is_stack() => Ok(()),
            _ => Err(Misfit::Register { register }),
        };
        match address {
            Address::At { base, step } => {
                pointer(base, false)?;
                match step {
                    Step::By(offset) if offset.file != File::Offset => {
                        Err(Misfit::Register { register: offset })
                    }
                    _ => Ok(()),
                }
            }
            Address::Indexed { base, index } => {
                pointer(base, false)?;
                match (index.file, index.number) {
                    (File::Offset, 0) | (File::Address, 0..=7) => Ok(()),
                    _ => Err(Misfit::Index { index }),
                }
            }
            Address::Displaced { base, by } => {
                pointer(base, true)?;
                let width = self.bytes();
                match by.value {
                    Some(value) if value % i64::from(width) != 0 && by.size != Some(Size::Long) => {
                        Err(Misfit::Scale { value, width })
                    }
                    _ => Ok(()),
                }
            }
            Address::Absolute(_) => Ok(()),
        }
    }

    /// Operands that fit one by one, and not each other.
    fn together(&self, distance: u8) -> Result<(), Misfit> {
        use Opcode::{Adc, Max, Maxm, Min, Sbc};
        let [Operand::Register(first, _), Operand::Register(second, _)] = self.operands[..] else {
            return Ok(());
        };
        match self.mnemonic.opcode {
            Max | Min | Maxm
                if distance > 0
                    && (second.number != first.number + distance
                        || first.number / 8 != second.number / 8) =>
            {
                Err(Misfit::Apart {
                    first,
                    target: second,
                    distance,
                })
            }
            Adc | Sbc if first.number % 2 != 0 || second.number != first.number + 1 => {
                Err(Misfit::Pair { first, second })
            }
            _ => Ok(()),
        }
    }
}

fn data(register: Reg) -> Result<(), Misfit> {
    match register.file {
        File::Data => Ok(()),
        _ => Err(Misfit::Register { register }),
    }
}

fn aligned(group: &[(Reg, Part)], count: usize) -> Result<(), Misfit> {
    let Some((first, _)) = group.first() else {
        return Err(Misfit::Form);
    };
    let follow = (0..).zip(group).all(|(at, (register, _))| {
        register.file == first.file && register.number == first.number + at
    });
    match follow && group.len() == count && usize::from(first.number) % count == 0 {
        true => Ok(()),
        false => Err(Misfit::Aligned { count }),
    }
}
