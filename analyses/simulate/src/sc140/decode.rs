//! The decoder: from an instruction of the text to its operation, by the forms of the manual alone.

use super::decode_address::{address, logic_on_halves, mask, moves, stack};
use super::decode_control::control;
use super::decode_data::data;
use super::op::{End, Index, Op, Place, Step};
use super::register::Reg;
use std::fmt;
use syntax::sc140::{Expr, Instruction, Memory, Operand, OperandKind, Size, Unary, Update};

/// An instruction with the cost of its encoding.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Decoded {
    pub op: Op,
    /// The size in words of 16 bits.
    pub words: u32,
    /// An operand is a register of the upper half.
    pub upper: bool,
}

/// The reason why an instruction can't be executed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unreadable {
    /// No instruction has this name, or none that is simulated.
    Mnemonic(String),
    /// The instruction has no form with these operands.
    Operands(String),
    /// An operand's value depends on a missing name.
    Value(String),
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unreadable::Mnemonic(name) => write!(f, "`{name}` is not simulated"),
            Unreadable::Operands(name) => write!(f, "`{name}` has no form with these operands"),
            Unreadable::Value(name) => write!(f, "an operand of `{name}` has no value"),
        }
    }
}

/// An operand, with its registers and values.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Given {
    Reg(Reg),
    /// `-d0`
    Negative(u8),
    /// A register's upper or lower half.
    Half(Reg, bool),
    Number(i64, Option<Size>),
    Group([Reg; 4], u8),
    Memory(Place, MemoryWords),
    /// A label or an address.
    Target(i64, Option<Size>),
}

/// The part of the length that an address adds to an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum MemoryWords {
    Fixed(u32),
    /// None where the displacement is a small multiple of the width, not negative, else one; so many multiples are small.
    Displacement(i64, u32),
}

impl MemoryWords {
    /// Words beyond the first; `width`: bytes of the access.
    pub(super) fn of(self, width: u32) -> u32 {
        match self {
            MemoryWords::Fixed(words) => words,
            MemoryWords::Displacement(bytes, most) => {
                let width = i64::from(width.max(1));
                let short = bytes % width == 0 && (0..=i64::from(most)).contains(&(bytes / width));
                u32::from(!short)
            }
        }
    }
}

/// The values of expressions.
pub(super) type Values<'a> = &'a dyn Fn(&Expr) -> Option<i64>;

pub(super) fn decode(text: &Instruction, values: Values<'_>) -> Result<Decoded, Unreadable> {
    let name = &*text.mnemonic;
    let mut given = Vec::with_capacity(text.operands.len());
    for operand in &text.operands {
        given.push(
            operand_of(operand, values).map_err(|missing| match missing {
                Missing::Form => Unreadable::Operands(name.to_owned()),
                Missing::Value => Unreadable::Value(name.to_owned()),
            })?,
        );
    }
    let upper = given.iter().any(is_upper);
    let found = logic_on_halves(name, &given)
        .or_else(|| data(name, &given))
        .or_else(|| address(name, &given))
        .or_else(|| moves(name, &given))
        .or_else(|| mask(name, &given))
        .or_else(|| stack(name, &given))
        .or_else(|| control(name, &given));
    match found {
        Some(Form::Is(op, words)) => Ok(Decoded { op, words, upper }),
        Some(Form::Wrong) => Err(Unreadable::Operands(name.to_owned())),
        None => Err(Unreadable::Mnemonic(name.to_owned())),
    }
}

/// The outcome of a table that has the mnemonic.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Form {
    Is(Op, u32),
    Wrong,
}

impl Form {
    pub(super) fn of(op: Option<(Op, u32)>) -> Form {
        match op {
            Some((op, words)) => Form::Is(op, words),
            None => Form::Wrong,
        }
    }
}

fn is_upper(given: &Given) -> bool {
    let place = |place: &Place| match place {
        Place::Absolute(_) => false,
        Place::Indirect(register, _) => *register >= 8,
        Place::Indexed(base, _) => base.is_upper(),
    };
    match given {
        Given::Reg(register) | Given::Half(register, _) => register.is_upper(),
        Given::Negative(number) => *number >= 8,
        Given::Group(registers, count) => registers[..usize::from(*count)]
            .iter()
            .any(|register| register.is_upper()),
        Given::Memory(at, _) => place(at),
        Given::Number(..) | Given::Target(..) => false,
    }
}

enum Missing {
    Form,
    Value,
}

fn operand_of(operand: &Operand, values: Values<'_>) -> Result<Given, Missing> {
    match &operand.kind {
        OperandKind::Immediate { size, value } => {
            let number = value.evaluate(values).ok_or(Missing::Value)?;
            Ok(Given::Number(number, *size))
        }
        OperandKind::Value { size, value } => value_of(*size, value, values),
        OperandKind::Group(names) => group(names).ok_or(Missing::Form),
        OperandKind::Memory(memory) => memory_of(memory, values),
        OperandKind::Unknown(_) => Err(Missing::Form),
    }
}

fn value_of(size: Option<Size>, value: &Expr, values: Values<'_>) -> Result<Given, Missing> {
    match value {
        Expr::Unary { op, of } => {
            let data = of.name().and_then(|name| Reg::of(name));
            match (op, data) {
                (Unary::Minus, Some(Reg::D(number))) => return Ok(Given::Negative(number)),
                (Unary::Plus, Some(register)) => return Ok(Given::Reg(register)),
                _ => {}
            }
        }
        Expr::Name(name) => {
            if let Some(register) = Reg::of(name) {
                return Ok(Given::Reg(register));
            }
            if let Some((whole, half)) = name.rsplit_once('.')
                && let Some(register) = Reg::of(whole)
            {
                match half {
                    "l" | "L" => return Ok(Given::Half(register, false)),
                    "h" | "H" => return Ok(Given::Half(register, true)),
                    _ => {}
                }
            }
        }
        _ => {}
    }
    let address = value.evaluate(values).ok_or(Missing::Value)?;
    Ok(Given::Target(address, size))
}

/// Two registers from an even one on, four from a multiple of four on, or two extensions.
fn group(names: &[impl AsRef<str>]) -> Option<Given> {
    let registers: Option<Vec<Reg>> = names.iter().map(|name| Reg::of(name.as_ref())).collect();
    let registers = registers?;
    let first = registers[0];
    if let (Reg::Extension(even), [_, Reg::Extension(odd)]) = (first, &registers[..]) {
        let pair = even % 2 == 0 && *odd == even + 1;
        return pair.then_some(Given::Reg(Reg::Extensions(even)));
    }
    let count = registers.len() as u8;
    let Reg::D(number) = first else {
        return None;
    };
    if !matches!(count, 2 | 4) || number % count != 0 {
        return None;
    }
    let mut all = [first; 4];
    for (at, register) in registers.iter().enumerate() {
        if *register != Reg::D(number + at as u8) {
            return None;
        }
        all[at] = *register;
    }
    Some(Given::Group(all, count))
}

fn memory_of(memory: &Memory, values: Values<'_>) -> Result<Given, Missing> {
    let register = |value: &Expr| value.name().and_then(|name| Reg::of(name));
    if let Some(base) = register(&memory.address) {
        let place = match (base, &memory.update) {
            (Reg::R(number), Update::None) => Place::Indirect(number, Step::Accesses(0)),
            (Reg::R(number), Update::Up) => Place::Indirect(number, Step::Accesses(1)),
            (Reg::R(number), Update::Down) => Place::Indirect(number, Step::Accesses(-1)),
            (Reg::R(number), Update::By(name)) => match Reg::of(name) {
                Some(Reg::N(offset)) => Place::Indirect(number, Step::By(offset)),
                _ => return Err(Missing::Form),
            },
            (Reg::Sp, Update::None) => Place::Indexed(Reg::Sp, Index::Bytes(0)),
            _ => return Err(Missing::Form),
        };
        return Ok(Given::Memory(place, MemoryWords::Fixed(0)));
    }
    if memory.update != Update::None {
        return Err(Missing::Form);
    }
    if let Some((base, index)) = sum(&memory.address, values)? {
        return match (base, index) {
            (Reg::R(_), Index::Reg(Reg::N(0) | Reg::R(0..8))) => Ok(Given::Memory(
                Place::Indexed(base, index),
                MemoryWords::Fixed(0),
            )),
            (Reg::R(_), Index::Bytes(bytes)) if signed_15(bytes) => {
                let words = MemoryWords::Displacement(bytes, 7);
                Ok(Given::Memory(Place::Indexed(base, index), words))
            }
            (Reg::Sp, Index::Bytes(bytes)) if signed_15(bytes) => {
                let words = MemoryWords::Displacement(-bytes, 63);
                Ok(Given::Memory(Place::Indexed(base, index), words))
            }
            _ => Err(Missing::Form),
        };
    }
    let address = memory.address.evaluate(values).ok_or(Missing::Value)?;
    let long = match memory.size {
        Some(Size::Short) => false,
        Some(Size::Long) => true,
        None => !(0..1 << 16).contains(&address),
    };
    let words = MemoryWords::Fixed(1 + u32::from(long));
    Ok(Given::Memory(Place::Absolute(address as u32), words))
}

fn signed_15(bytes: i64) -> bool {
    (-(1 << 14)..1 << 14).contains(&bytes)
}

/// A sum with a register in front.
fn sum(value: &Expr, values: Values<'_>) -> Result<Option<(Reg, Index)>, Missing> {
    use syntax::sc140::Binary;
    // Chains lean to the left: what the register is added to may be a chain itself.
    let mut terms = Vec::new();
    let mut at = value;
    while let Expr::Binary { op, left, right } = at {
        match op {
            Binary::Add => terms.push((right, 1)),
            Binary::Subtract => terms.push((right, -1)),
            _ => return Ok(None),
        }
        at = left;
    }
    let Some(base) = at.name().and_then(|name| Reg::of(name)) else {
        return Ok(None);
    };
    if let [(term, sign)] = &terms[..]
        && let Some(index) = term.name().and_then(|name| Reg::of(name))
    {
        return match sign {
            1 => Ok(Some((base, Index::Reg(index)))),
            _ => Err(Missing::Form),
        };
    }
    let mut bytes = 0_i64;
    for (term, sign) in terms {
        let value = term.evaluate(values).ok_or(Missing::Value)?;
        bytes = bytes.wrapping_add(value.wrapping_mul(sign));
    }
    Ok(Some((base, Index::Bytes(bytes))))
}

/// A memory operand as the end of a move.
pub(super) fn end(given: &Given) -> Option<End> {
    match given {
        Given::Reg(register) => Some(End::Regs([*register; 4])),
        Given::Half(register, high) => Some(End::Half(*register, *high)),
        Given::Number(value, _) => Some(End::Number(*value)),
        Given::Group(registers, _) => Some(End::Regs(*registers)),
        Given::Memory(place, _) => Some(End::Memory(*place)),
        Given::Negative(_) | Given::Target(..) => None,
    }
}
