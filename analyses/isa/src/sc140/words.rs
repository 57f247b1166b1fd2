//! The words that an instruction takes, and those of the prefix of a set.
//!
//! ```text
//! move.4f (r0)+,d0:d1:d2:d3     1
//! adda #>-196,sp,r2             2: the number has a word of its own
//! move.w #34,d4                 1 or 2: the assembler chooses
//! ```
//!
//! If no source tells, both bounds are given: a rule is broken for certain only if the least breaks it, and a
//! set is right for certain if the most does not. Source: Freescale, *SC140 DSP Core Reference Manual*, in
//! excerpts.

use super::{Address, Instruction, Number, Opcode, Operand, Reg, Size, Unit};

/// Bounds on a number of words.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Words {
    pub least: u32,
    pub most: u32,
}

impl Words {
    #[must_use]
    pub const fn exactly(words: u32) -> Words {
        Words {
            least: words,
            most: words,
        }
    }
    #[must_use]
    pub const fn between(least: u32, most: u32) -> Words {
        Words { least, most }
    }
    #[must_use]
    pub const fn plus(self, other: Words) -> Words {
        Words {
            least: self.least + other.least,
            most: self.most + other.most,
        }
    }
}

/// The kinds of instructions that may follow each other in a set without a prefix.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Grouping {
    /// Type 1, frequent, of one word; or type 2: which of them is not known.
    Frequent,
    /// Type 2, of one word: the last of its set.
    Rare,
    /// Type 3, of two or three words: the last of its set.
    Long,
    /// Type 4: alone.
    Alone,
}

const U3: std::ops::RangeInclusive<i64> = 0..=7;
const U5: std::ops::RangeInclusive<i64> = 0..=31;
const U6: std::ops::RangeInclusive<i64> = 0..=63;
const S7: std::ops::RangeInclusive<i64> = -64..=63;
const S16: std::ops::RangeInclusive<i64> = -0x8000..=0x7fff;

impl Instruction {
    /// The words of its own, without those of a prefix.
    #[must_use]
    pub fn words(&self) -> Words {
        match self.unit() {
            Unit::Data => self.data_words(),
            Unit::Address => self.address_words(),
            Unit::Mask => match self.memory() {
                Some((_, Address::At { .. })) => Words::exactly(2),
                Some(_) => Words::exactly(3),
                None => Words::exactly(2),
            },
            Unit::Flow => match self.operands.first() {
                Some(Operand::Label(label)) => self.jump_words(*label),
                _ => Words::exactly(1),
            },
            Unit::Loop => self.loop_words(),
            // A mark is a bit of the prefix; a `nop` may be one of it.
            Unit::Program => match self.mnemonic.opcode {
                Opcode::Lpmarka | Opcode::Lpmarkb => Words::exactly(0),
                Opcode::Nop => Words::between(0, 1),
                _ => Words::exactly(1),
            },
        }
    }

    /// The type that says beside which others it stands without a prefix.
    #[must_use]
    pub fn grouping(&self) -> Grouping {
        let long = self.words().least > 1;
        match self.unit() {
            Unit::Data | Unit::Address if long => Grouping::Long,
            Unit::Data => Grouping::Frequent,
            Unit::Address if self.is_move() => Grouping::Frequent,
            Unit::Address => Grouping::Rare,
            Unit::Mask | Unit::Flow | Unit::Loop | Unit::Program => Grouping::Alone,
        }
    }

    /// Returns true if a register's number may need the bit that a prefix of two words holds.
    #[must_use]
    pub fn has_high_register(&self) -> bool {
        let high = |register: Reg| register.is_high();
        self.operands.iter().any(|operand| match operand {
            Operand::Memory(Address::At { base, .. } | Address::Displaced { base, .. }) => {
                high(*base)
            }
            Operand::Memory(Address::Indexed { base, index }) => high(*base) || high(*index),
            other => other
                .registers()
                .into_iter()
                .any(|(register, _)| high(register)),
        })
    }

    /// Returns true if it is a move, a push or a pop.
    #[must_use]
    pub fn is_move(&self) -> bool {
        let name = self.row().name;
        self.row().unit == Unit::Address
            && (name.starts_with("move") || name.starts_with("push") || name.starts_with("pop"))
    }

    fn number(&self) -> Option<Number> {
        self.operands.iter().find_map(|operand| match operand {
            Operand::Number(number) => Some(*number),
            _ => None,
        })
    }

    fn data_words(&self) -> Words {
        use Opcode::{
            AddncW, And, CmpeqW, CmpgtW, Eor, Extract, Extractu, IaddncW, ImpyW, Insert, Mac, Mpy,
            Or, SubncW,
        };
        match (self.mnemonic.opcode, self.number()) {
            (AddncW | SubncW | IaddncW | ImpyW, _) => Words::exactly(2),
            (And | Or | Eor | Mac | Mpy, Some(_)) => Words::exactly(2),
            (CmpeqW | CmpgtW, Some(number)) => short_or_long(number, &U5, 1, 2),
            (Extract | Extractu | Insert, _) => Words::between(1, 2),
            _ => Words::exactly(1),
        }
    }

    fn address_words(&self) -> Words {
        use Opcode::{MoveF, MoveL, MoveuL};
        if !self.is_move() {
            return match self.number() {
                Some(_) if self.operands.len() == 3 => Words::exactly(2),
                Some(number) => match number.is_in(&U5, false) && number.size != Some(Size::Long) {
                    true => Words::exactly(1),
                    false => Words::between(1, 2),
                },
                None => Words::exactly(1),
            };
        }
        let place = self.memory().map(|(_, address)| self.place_words(address));
        let number = self.number();
        match (number, place) {
            (None, None) => Words::exactly(1),
            (None, Some(place)) => place,
            // The store of a number: its word, and the address's.
            (Some(_), Some(place)) => Words::between(2, 1 + place.most),
            (Some(number), None) => match self.mnemonic.opcode {
                MoveL | MoveuL if number.is_in(&S16, false) => Words::between(2, 3),
                MoveL | MoveuL => Words::exactly(3),
                MoveF => Words::exactly(2),
                _ => short_or_long(number, &S7, 1, 2),
            },
        }
    }

    /// The words of a move with this place, its own included.
    fn place_words(&self, address: Address) -> Words {
        let width = i64::from(self.bytes());
        match address {
            Address::At { .. } | Address::Indexed { .. } => Words::exactly(1),
            Address::Displaced { base, by } => {
                let units = by.value.filter(|by| by % width == 0).map(|by| by / width);
                match (by.size, units) {
                    (Some(Size::Long), _) | (_, None) => Words::exactly(2),
                    (Some(Size::Short), _) => Words::exactly(1),
                    (None, Some(units)) if base.is_stack() => match -units {
                        0..=31 => Words::exactly(1),
                        32..=63 => Words::between(1, 2),
                        _ => Words::exactly(2),
                    },
                    (None, Some(units)) if U3.contains(&units) => Words::exactly(1),
                    (None, Some(_)) => Words::exactly(2),
                }
            }
            Address::Absolute(number) => match number.value {
                Some(value) if number.size.is_none() && (0..=0xffff).contains(&value) => {
                    Words::between(2, 3)
                }
                _ => match number.size {
                    Some(Size::Short) => Words::exactly(2),
                    Some(Size::Long) => Words::exactly(3),
                    None => Words::between(2, 3),
                },
            },
        }
    }

    fn jump_words(&self, label: Number) -> Words {
        use Opcode::{Bf, Bra, Bsr, Bt};
        match self.mnemonic.opcode {
            Bra | Bsr | Bt | Bf => match label.size {
                Some(Size::Short) => Words::exactly(1),
                Some(Size::Long) => Words::exactly(2),
                None => Words::between(1, 2),
            },
            _ => Words::exactly(3),
        }
    }

    fn loop_words(&self) -> Words {
        match (self.mnemonic.opcode, self.number()) {
            (Opcode::Dosetup, _) => Words::exactly(2),
            (Opcode::Doen | Opcode::Doensh, Some(number)) => short_or_long(number, &U6, 1, 2),
            (Opcode::Doen | Opcode::Doensh, None) => Words::exactly(1),
            _ => Words::between(1, 2),
        }
    }
}

/// The words of an instruction whose number is in the range of the short form, or is not; without a size the assembler
/// chooses.
fn short_or_long(
    number: Number,
    range: &std::ops::RangeInclusive<i64>,
    short: u32,
    long: u32,
) -> Words {
    match number.size {
        Some(Size::Short) => Words::exactly(short),
        Some(Size::Long) => Words::exactly(long),
        None if number.is_in(range, true) => Words::between(short, long),
        None => Words::exactly(long),
    }
}

/// The words of the prefix of a set. `conditional`: some of it executes under a condition.
///
/// A high register takes a prefix of two words, unless all of them are operands of moves, some of which may hold the bit
/// themselves; a condition or a loop's mark takes a word; instructions that can't follow each other without, too.
#[must_use]
pub fn prefix<'a>(
    set: impl Iterator<Item = &'a Instruction> + Clone,
    conditional: bool,
    marked: bool,
) -> Words {
    let high = |instruction: &Instruction| instruction.has_high_register();
    if set
        .clone()
        .any(|instruction| high(instruction) && !instruction.is_move())
    {
        return Words::exactly(2);
    }
    let most = if set.clone().any(high) { 2 } else { 0 };
    if conditional || marked {
        return Words::between(1, most.max(1));
    }
    let placed = set.filter(|instruction| instruction.words().least > 0);
    let groupings: Vec<Grouping> = placed.map(Instruction::grouping).collect();
    let of = |wanted: Grouping| groupings.iter().filter(|known| **known == wanted).count();
    let last = of(Grouping::Rare) + of(Grouping::Long);
    let together = groupings.len() > 1;
    let needed = together && (last > 1 || of(Grouping::Alone) > 0);
    Words::between(u32::from(needed), most.max(u32::from(together)))
}
