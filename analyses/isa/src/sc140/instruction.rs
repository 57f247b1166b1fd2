//! An instruction as data: an opcode with what selects its form, and operands in the order of the text, the target last.
//!
//! ```text
//! ift move.w (r0)+n1,d3     move.w, under T; a word of memory at r0, which then steps by 2 n1; d3
//! doensh3 #8                doensh of loop 3; 8
//! ```

use super::{Opcode, Part, Reg, Row, Target, Unit};
use std::fmt;

/// The condition under which an instruction of a set executes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Condition {
    /// `ift`: where T is set.
    True,
    /// `iff`: where T is clear.
    False,
    /// `ifa`: always.
    Always,
}

impl Condition {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Condition::True => "ift",
            Condition::False => "iff",
            Condition::Always => "ifa",
        }
    }
    /// Returns true if instructions of the two are never executed both.
    #[must_use]
    pub const fn excludes(self, other: Condition) -> bool {
        matches!(
            (self, other),
            (Condition::True, Condition::False) | (Condition::False, Condition::True)
        )
    }
}

/// An opcode and what its name says beside it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Mnemonic {
    pub opcode: Opcode,
    /// The next set executes before control leaves.
    pub delayed: bool,
    /// The number of the loop that `dosetup`, `doen` and `doensh` name.
    pub index: Option<u8>,
    /// A bit mask on memory: `bmset.w`.
    pub memory: bool,
    pub condition: Condition,
    /// Which of the row's forms the operands have; beyond them if none fits.
    pub form: u8,
}

impl Mnemonic {
    /// An opcode that always executes, at once.
    #[must_use]
    pub const fn plain(opcode: Opcode) -> Mnemonic {
        Mnemonic {
            opcode,
            delayed: false,
            index: None,
            memory: false,
            condition: Condition::Always,
            form: 0,
        }
    }
    /// The mnemonic of a name in lower case, under no condition.
    #[must_use]
    pub fn of(name: &str) -> Option<Mnemonic> {
        let (row, delayed) = Row::of(name)?;
        let rest = name.strip_prefix(row.name).unwrap_or_default();
        let digit = rest.bytes().next().filter(u8::is_ascii_digit);
        Some(Mnemonic {
            delayed,
            index: digit.map(|digit| digit - b'0'),
            memory: rest == ".w",
            ..Mnemonic::plain(row.opcode)
        })
    }
    #[must_use]
    pub const fn under(self, condition: Condition) -> Mnemonic {
        Mnemonic { condition, ..self }
    }
    #[must_use]
    pub const fn delayed(self) -> Mnemonic {
        Mnemonic {
            delayed: true,
            ..self
        }
    }
    #[must_use]
    pub const fn of_loop(self, index: u8) -> Mnemonic {
        Mnemonic {
            index: Some(index),
            ..self
        }
    }
    /// The same with operands of another form of its row.
    #[must_use]
    pub const fn in_form(self, form: u8) -> Mnemonic {
        Mnemonic { form, ..self }
    }
    #[must_use]
    pub fn row(self) -> &'static Row {
        self.opcode.row()
    }
    /// The role of the last operand. It is taken for both read and written where no form is known.
    #[must_use]
    pub fn target(self) -> Target {
        let targets = self.row().targets;
        let known = targets.get(usize::from(self.form));
        known.copied().unwrap_or(Target::Changes)
    }
}

/// The name without the condition.
impl fmt::Display for Mnemonic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.row().name)?;
        if self.memory {
            f.write_str(".w")?;
        }
        if let Some(index) = self.index {
            write!(f, "{index}")?;
        }
        f.write_str(if self.delayed { "d" } else { "" })
    }
}

/// The length of a number that a text asks for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Size {
    /// `<`
    Short,
    /// `>`
    Long,
}

/// A number that is known here, or not: a symbol's.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Number {
    pub value: Option<i64>,
    pub size: Option<Size>,
}

impl Number {
    #[must_use]
    pub const fn of(value: i64) -> Number {
        Number {
            value: Some(value),
            size: None,
        }
    }
    #[must_use]
    pub const fn sized(self, size: Size) -> Number {
        Number {
            size: Some(size),
            ..self
        }
    }
    /// A number that is not known here.
    #[must_use]
    pub const fn symbol() -> Number {
        Number {
            value: None,
            size: None,
        }
    }
    /// Returns true if it is in the range, `otherwise` if it is not known.
    #[must_use]
    pub fn is_in(self, range: &std::ops::RangeInclusive<i64>, otherwise: bool) -> bool {
        self.value.map_or(otherwise, |value| range.contains(&value))
    }
}

/// The change of an address register behind an access.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Step {
    None,
    /// `(r0)+`: by the width of the access.
    Up,
    /// `(r0)-`
    Down,
    /// `(r0)+n1`: by so many widths.
    By(Reg),
}

/// A place in memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Address {
    /// `(r0)`, `(r0)+`
    At { base: Reg, step: Step },
    /// `(r0+n0)`, `(r0+r1)`: by so many widths of the access.
    Indexed { base: Reg, index: Reg },
    /// `(r0+4)`, `(sp-8)`: bytes.
    Displaced { base: Reg, by: Number },
    /// `($8a20)`, `(_table)`
    Absolute(Number),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Operand {
    Register(Reg, Part),
    /// `-d0`, the factor of a product.
    Negative(Reg),
    /// `d0:d1`, `d0.e:d1.e`
    Group(Vec<(Reg, Part)>),
    Number(Number),
    Memory(Address),
    /// The target of a jump, or the first set of a loop.
    Label(Number),
}

impl Operand {
    /// A whole register.
    #[must_use]
    pub const fn register(register: Reg) -> Operand {
        Operand::Register(register, Part::Whole)
    }
    /// The registers that it is, not those of an address.
    #[must_use]
    pub fn registers(&self) -> Vec<(Reg, Part)> {
        match self {
            Operand::Register(register, part) => vec![(*register, *part)],
            Operand::Negative(register) => vec![(*register, Part::Whole)],
            Operand::Group(registers) => registers.clone(),
            Operand::Number(_) | Operand::Memory(_) | Operand::Label(_) => Vec::new(),
        }
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Instruction {
    pub mnemonic: Mnemonic,
    pub operands: Vec<Operand>,
}

impl Instruction {
    /// An instruction of these operands, in the form that takes so many and begins with the kind of operand that they
    /// begin with: a number, a label or another.
    #[must_use]
    pub fn new(mnemonic: Mnemonic, operands: Vec<Operand>) -> Instruction {
        let row = mnemonic.row();
        let fits = |form: &str| {
            let count = form.split(',').filter(|part| !part.is_empty()).count();
            let begins = match operands.first() {
                _ if form == "source,target" => true,
                Some(Operand::Number(_)) => form.starts_with('#'),
                Some(Operand::Label(_)) => form == "label",
                _ => !form.starts_with('#') && form != "label",
            };
            count == operands.len() && begins
        };
        let none = row.targets.len().max(1) as u8;
        let fitting: Vec<u8> = (0..)
            .zip(row.operands.split("; "))
            .filter(|(_, form)| fits(form))
            .map(|(form, _)| form)
            .collect();
        let first = fitting.first().copied().unwrap_or(none);
        let mut instruction = Instruction {
            mnemonic: mnemonic.in_form(first),
            operands,
        };
        // Of several forms the one whose range holds the number.
        for form in fitting.into_iter().skip(1) {
            if instruction.misfit(0).is_none() {
                return instruction;
            }
            instruction.mnemonic = mnemonic.in_form(form);
        }
        if instruction.misfit(0).is_some() {
            instruction.mnemonic = mnemonic.in_form(first);
        }
        instruction
    }
    #[must_use]
    pub fn row(&self) -> &'static Row {
        self.mnemonic.row()
    }
    /// The unit that executes it: logic on a half of a register is work of the bit-mask unit.
    #[must_use]
    pub fn unit(&self) -> Unit {
        use Opcode::{And, Eor, Not, Or};
        let half = |operand: &Operand| {
            matches!(operand, Operand::Register(_, part) if *part != Part::Whole)
                || matches!(operand, Operand::Memory(_))
        };
        match self.mnemonic.opcode {
            And | Or | Eor | Not if self.operands.last().is_some_and(half) => Unit::Mask,
            _ => self.row().unit,
        }
    }
    /// The place in memory that it accesses, and the operand that it is.
    #[must_use]
    pub fn memory(&self) -> Option<(usize, Address)> {
        let found = self.operands.iter().enumerate();
        found.into_iter().find_map(|(at, operand)| match operand {
            Operand::Memory(address) => Some((at, *address)),
            _ => None,
        })
    }
    /// The bytes of an access to memory, or of a register's move.
    #[must_use]
    pub fn bytes(&self) -> u32 {
        use Opcode::{
            Bmchg, Bmclr, Bmset, Bmtset, Bmtstc, Bmtsts, Move2f, Move2l, Move2w, Move4f, Move4w,
            MoveB, MoveF, MoveL, MoveW, Moves2f, Moves4f, MovesF, MovesL, MoveuB, MoveuL, MoveuW,
        };
        match self.mnemonic.opcode {
            MoveB | MoveuB => 1,
            MoveW | MoveuW | MoveF | MovesF => 2,
            Bmset | Bmclr | Bmchg | Bmtsts | Bmtstc | Bmtset => 2,
            MoveL | MoveuL | MovesL | Move2w | Move2f | Moves2f => 4,
            Move4w | Move4f | Moves4f | Move2l => 8,
            _ if self.mnemonic.memory => 2,
            _ => 4,
        }
    }
}
