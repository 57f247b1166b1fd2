//! Forms of the address units' instructions: arithmetic, moves, the stack, bit masks.

use super::decode::{Form, Given, end};
use super::op::{Address, AddressKind, Element, Mask, MaskKind, Move, Op, Word};
use super::register::Reg;
use syntax::sc140::Size;

/// Returns true for a register that arithmetic of the address units writes.
const fn is_target(register: Reg) -> bool {
    matches!(register, Reg::R(_) | Reg::Sp | Reg::Osp)
}
const fn is_source(register: Reg) -> bool {
    matches!(register, Reg::R(_) | Reg::N(_) | Reg::Sp | Reg::Osp)
}

pub(super) fn address(name: &str, given: &[Given]) -> Option<Form> {
    use AddressKind as K;
    let extend = |bits, sign| K::Extend { bits, sign };
    let kind = match name {
        "adda" => K::Add(0),
        "addl1a" => K::Add(1),
        "addl2a" => K::Add(2),
        "asla" => K::ShiftLeft(1),
        "asl2a" => K::ShiftLeft(2),
        "asra" => K::ShiftRight,
        "cmpeqa" => K::CompareEqual,
        "cmpgta" => K::CompareGreater,
        "cmphia" => K::CompareHigher,
        "deca" => K::Subtract,
        "deceqa" => K::CountEqual,
        "decgea" => K::CountGreater,
        "inca" => K::Add(0),
        "lsra" => K::ShiftRightLogical,
        "suba" => K::Subtract,
        "sxta.b" => extend(8, true),
        "sxta.w" => extend(16, true),
        "tfra" => K::Copy,
        "tsteqa.l" => K::TestEqual(32),
        "tsteqa.w" => K::TestEqual(16),
        "tstgea.l" => K::TestGreaterEqual,
        "tstgta" => K::TestGreater,
        "zxta.b" => extend(8, false),
        "zxta.w" => extend(16, false),
        "movet" | "movef" => {
            return Some(match given {
                [Given::Reg(from), Given::Reg(to)] if is_source(*from) && is_target(*to) => {
                    Form::Is(Op::CopyIf(name == "movet", *from, *to), 1)
                }
                _ => Form::Wrong,
            });
        }
        _ => return None,
    };
    let op = |source, base, target, words| {
        let address = Address {
            kind,
            source,
            base,
            target,
        };
        Some((Op::Address(address), words))
    };
    let own = |target| op(Word::Number(1), target, target, 1);
    let form = match (name, given) {
        ("inca" | "deca" | "asla" | "asl2a" | "asra" | "lsra", [Given::Reg(target)])
        | ("deceqa" | "decgea", [Given::Reg(target)])
            if is_target(*target) =>
        {
            own(*target)
        }
        (_, [Given::Reg(target)])
            if name.starts_with("tst") && is_target(*target)
                || matches!(kind, K::Extend { .. }) && is_target(*target) =>
        {
            op(Word::Reg(*target), *target, *target, 1)
        }
        ("adda" | "suba", [Given::Number(value, size), Given::Reg(target)])
            if is_target(*target) =>
        {
            let short = (0..32).contains(value) && *size != Some(Size::Long);
            let long = (-32768..65536).contains(value);
            let words = 2 - u32::from(short);
            match short || long {
                true => op(Word::Number(*value), *target, *target, words),
                false => None,
            }
        }
        (
            "adda",
            [
                Given::Number(value, _),
                Given::Reg(base),
                Given::Reg(target),
            ],
        ) if is_source(*base) && is_target(*target) && (-32768..32768).contains(value) => {
            op(Word::Number(*value), *base, *target, 2)
        }
        (_, [Given::Reg(source), Given::Reg(target)])
            if is_source(*source)
                && is_target(*target)
                && !name.starts_with("tst")
                && !matches!(
                    name,
                    "inca" | "deca" | "asla" | "asl2a" | "asra" | "lsra" | "deceqa" | "decgea"
                ) =>
        {
            op(Word::Reg(*source), *target, *target, 1)
        }
        _ => None,
    };
    Some(Form::of(form))
}

/// Elements, their number, with a sign, limiting.
fn move_of(name: &str) -> Option<(Element, u8, bool, bool)> {
    use Element::{Byte, Fraction, Long, Word};
    Some(match name {
        "move.b" => (Byte, 1, true, false),
        "moveu.b" => (Byte, 1, false, false),
        "move.w" => (Word, 1, true, false),
        "moveu.w" => (Word, 1, false, false),
        "move.2w" => (Word, 2, true, false),
        "move.4w" => (Word, 4, true, false),
        "move.l" => (Long, 1, true, false),
        "moveu.l" => (Long, 1, false, false),
        "move.2l" => (Long, 2, true, false),
        "move.f" => (Fraction, 1, true, false),
        "move.2f" => (Fraction, 2, true, false),
        "move.4f" => (Fraction, 4, true, false),
        "moves.f" => (Fraction, 1, true, true),
        "moves.2f" => (Fraction, 2, true, true),
        "moves.4f" => (Fraction, 4, true, true),
        "moves.l" => (Long, 1, true, true),
        _ => return None,
    })
}

pub(super) fn moves(name: &str, given: &[Given]) -> Option<Form> {
    let (element, count, sign, limits) = move_of(name)?;
    let [from, to] = given else {
        return Some(Form::Wrong);
    };
    let registers = |given: &Given| match given {
        Given::Reg(register) if count == 1 => is_moved(*register, element),
        Given::Group(_, members) => *members == count,
        Given::Half(register, _) => element == Element::Word && is_halved(*register),
        _ => false,
    };
    let bytes = element.bits() / 8 * u32::from(count);
    let words = match (from, to) {
        (Given::Memory(_, words), register) if !limits && registers(register) => {
            Some(1 + words.of(bytes))
        }
        (register, Given::Memory(_, words)) if registers(register) && is_stored(register) => {
            let data = matches!(register, Given::Reg(Reg::D(_)) | Given::Group(..));
            (data || !limits).then(|| 1 + words.of(bytes))
        }
        (Given::Number(value, size), Given::Memory(_, words))
            if element != Element::Fraction && count == 1 && !limits && fits(*value, element) =>
        {
            Some(immediate(*value, *size, element) + 1 + words.of(bytes))
        }
        (Given::Number(value, size), register)
            if count == 1 && !limits && registers(register) && fits(*value, element) =>
        {
            Some(immediate(*value, *size, element))
        }
        (register, Given::Reg(_)) if count == 1 && !limits && registers(register) => {
            registers(to).then_some(1)
        }
        _ => None,
    };
    let form = words.and_then(|words| {
        let moved = Move {
            element,
            count,
            sign,
            limits,
            from: end(from)?,
            to: end(to)?,
        };
        Some((Op::Move(moved), words))
    });
    Some(Form::of(form))
}

/// Returns true if a move of such elements may name the register.
fn is_moved(register: Reg, element: Element) -> bool {
    match register {
        Reg::D(_) => true,
        Reg::Extension(_) | Reg::Extensions(_) => element == Element::Long,
        _ => element != Element::Fraction,
    }
}
fn is_stored(given: &Given) -> bool {
    !matches!(given, Given::Half(..))
}
const fn is_halved(register: Reg) -> bool {
    !matches!(
        register,
        Reg::Sp | Reg::Osp | Reg::Extension(_) | Reg::Extensions(_)
    )
}
fn fits(value: i64, element: Element) -> bool {
    let bits = element.bits();
    (-(1_i64 << (bits - 1))..1_i64 << bits).contains(&value)
}
/// Words of a move of a number to a register.
fn immediate(value: i64, size: Option<Size>, element: Element) -> u32 {
    match element {
        Element::Long => 3,
        Element::Fraction => 2,
        Element::Byte | Element::Word => {
            let short = (-64..64).contains(&value) && size != Some(Size::Long);
            2 - u32::from(short)
        }
    }
}

pub(super) fn stack(name: &str, given: &[Given]) -> Option<Form> {
    let (push, normal) = match name {
        "push" => (true, false),
        "pushn" => (true, true),
        "pop" => (false, false),
        "popn" => (false, true),
        _ => return None,
    };
    Some(match given {
        [Given::Reg(Reg::Sp | Reg::Osp)] => Form::Wrong,
        [Given::Reg(reg)] => {
            let reg = *reg;
            let op = match push {
                true => Op::Push { reg, normal },
                false => Op::Pop { reg, normal },
            };
            Form::Is(op, 1)
        }
        _ => Form::Wrong,
    })
}

/// `bmset #mask,d0.l`, `bmset.w #mask,(r0)`, `and #mask,d0.l`, `not d0.l`.
pub(super) fn mask(name: &str, given: &[Given]) -> Option<Form> {
    let (plain, memory) = match name.strip_suffix(".w") {
        Some(plain) => (plain, true),
        None => (name, false),
    };
    let kind = match plain {
        "bmset" => MaskKind::Set,
        "bmclr" => MaskKind::Clear,
        "bmchg" => MaskKind::Change,
        "bmtsts" => MaskKind::TestSet,
        "bmtstc" => MaskKind::TestClear,
        "bmtset" => MaskKind::TestAndSet,
        _ => return None,
    };
    Some(masked(kind, memory, given))
}

/// The forms of `and`, `or`, `eor`, `not` that work on halves and on memory.
pub(super) fn logic_on_halves(name: &str, given: &[Given]) -> Option<Form> {
    let (plain, memory) = match name.strip_suffix(".w") {
        Some(plain) => (plain, true),
        None => (name, false),
    };
    let kind = match plain {
        "and" => MaskKind::And,
        "or" => MaskKind::Or,
        "eor" => MaskKind::Eor,
        "not" => MaskKind::Not,
        _ => return None,
    };
    if !memory && !given.iter().any(|given| matches!(given, Given::Half(..))) {
        return None;
    }
    Some(masked(kind, memory, given))
}

fn masked(kind: MaskKind, memory: bool, given: &[Given]) -> Form {
    let (value, target) = match given {
        [Given::Number(value, _), target] if kind != MaskKind::Not => (*value, target),
        [target] if kind == MaskKind::Not => (0xffff, target),
        _ => return Form::Wrong,
    };
    let words = match target {
        Given::Half(register, _) if !memory && is_halved(*register) => Some(2),
        Given::Memory(_, words) if memory => Some(2 + words.of(2)),
        _ => None,
    };
    let form = words
        .filter(|_| (-32768..65536).contains(&value))
        .and_then(|words| {
            let mask = Mask {
                kind,
                mask: value as u16,
                target: end(target)?,
            };
            Some((Op::Mask(mask), words))
        });
    Form::of(form)
}

/// A register as the source of a counter.
pub(super) fn word(given: &Given) -> Option<Word> {
    match given {
        Given::Reg(register @ (Reg::R(_) | Reg::D(_))) => Some(Word::Reg(*register)),
        _ => None,
    }
}
