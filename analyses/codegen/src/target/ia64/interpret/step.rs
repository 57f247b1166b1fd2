//! One operation.

use super::Fault;
use super::branch::{branch, target};
use super::compare::{compare, is_less};
use super::float::{self, Format};
use super::integer;
use super::registers::State;
use super::value::{Value, mix, mix_text};
use crate::target::ia64::code::{FrameOffset, Function, Name, Operand, Operation};
use isa::ia64::{Class, File, Reg};
use isa::ia64::{Completer, Mnemonic, Opcode};

/// The place at which execution goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    /// On, to the next operation.
    On,
    Block(u32),
    Return,
    /// The effect of the operation is not known.
    Unknown,
}

/// Executes an operation.
pub(crate) fn step(
    function: &Function,
    state: &mut State,
    operation: &Operation,
) -> Result<Next, Fault> {
    let executes = operation
        .predicate
        .is_none_or(|it| state.is_true(function, Name::Virtual(it)));
    if let Some(kind) = operation.branch() {
        return Ok(branch(function, state, operation, kind, executes));
    }
    let class = operation.class();
    if matches!(class, Class::Compare | Class::FloatCompare) {
        let from = values(function, state, &operation.sources);
        let known = compare(function, state, operation, &from, executes);
        return Ok(known.map_or(Next::Unknown, |()| Next::On));
    }
    if !executes {
        // An approximation writes its predicate all the same.
        if matches!(operation.opcode(), Opcode::Frcpa | Opcode::Frsqrta) {
            write(function, state, operation, 1, Value::of(0));
        }
        return Ok(Next::On);
    }
    match class {
        Class::Load | Class::FloatLoad => load(function, state, operation),
        Class::Store | Class::FloatStore => store(function, state, operation),
        Class::Prefetch => advance(function, state, operation).map(|()| Next::On),
        Class::Nop => Ok(Next::On),
        Class::Check | Class::CheckAdvanced => Ok(check(function, state, operation)),
        Class::Branch | Class::Alloc | Class::Semaphore => Ok(Next::Unknown),
        Class::System => Ok(match operation.opcode() {
            Opcode::Clrrrb => {
                state.unrotate(!operation.mnemonic.has(Completer::Pr));
                Next::On
            }
            Opcode::Mf | Opcode::Hint => Next::On,
            _ => Next::Unknown,
        }),
        _ => compute(function, state, operation),
    }
}

/// The value of an operand.
fn value(function: &Function, state: &State, operand: &Operand) -> Value {
    match operand {
        Operand::Register(name) | Operand::Address(name) => state.get(function, *name),
        Operand::Number(number) => Value::literal(*number as u64),
        // Symbols and slots lie far apart.
        Operand::Symbol(symbol) => Value::of(mix_text(symbol) << 28 >> 8),
        Operand::Block(block) => Value::of(u64::from(*block)),
        Operand::Frame(offset) => Value::of(match offset {
            FrameOffset::Slot(slot) => mix(u64::from(*slot), 21) << 28 >> 8,
            FrameOffset::Spill(bytes) => (1 << 56) + u64::from(*bytes),
            FrameOffset::Argument(bytes) => (1u64 << 57).wrapping_add(*bytes as u64),
        }),
    }
}

fn values(function: &Function, state: &State, operands: &[Operand]) -> Vec<Value> {
    let all = operands.iter();
    all.map(|it| value(function, state, it)).collect()
}

fn write(function: &Function, state: &mut State, operation: &Operation, at: usize, value: Value) {
    if let Some(Operand::Register(name)) = operation.targets.get(at) {
        state.set(function, *name, value);
    }
}

fn file(function: &Function, operand: Option<&Operand>) -> Option<File> {
    match operand?.name()? {
        Name::Virtual(register) => Some(function.file(register)),
        Name::Fixed(register) => Some(register.file),
    }
}

fn name_of(mnemonic: Mnemonic) -> u64 {
    let parts = mnemonic.completers().map(|it| it as u64 + 1);
    parts.fold(mnemonic.opcode() as u64 + 1000, mix)
}

/// Executes an operation that writes registers and does nothing else.
fn compute(function: &Function, state: &mut State, operation: &Operation) -> Result<Next, Fault> {
    let mnemonic = operation.mnemonic;
    let from = values(function, state, &operation.sources);
    let bits: Vec<u64> = from.iter().map(|it| it.bits).collect();
    let deferred = from.iter().any(|it| it.deferred);
    let target = file(function, operation.targets.first());
    let source = file(function, operation.sources.first());
    let has = |completer| mnemonic.has(completer);
    let format = || match () {
        () if has(Completer::Sig) => Format::Significand,
        () if has(Completer::S) => Format::Single,
        () if has(Completer::D) => Format::Double,
        () => Format::Exponent,
    };
    let out = match (operation.opcode(), target) {
        (Opcode::Setf, _) => float::from_bits(format(), bits[0]),
        (Opcode::Getf, _) => float::to_bits(format(), bits[0]),
        (Opcode::Frcpa | Opcode::Frsqrta, _) => {
            let out = integer::unknown(name_of(mnemonic), &bits);
            // Special operands clear the predicate, seldom.
            let works = !out.is_multiple_of(16) && !deferred;
            write(function, state, operation, 1, Value::of(u64::from(works)));
            out
        }
        (Opcode::Fmin | Opcode::Fmax, _) => {
            let (left, right) = (bits[0], bits[1]);
            let takes = match operation.opcode() {
                Opcode::Fmin => is_less(state, left, right),
                _ => is_less(state, right, left),
            };
            if takes { left } else { right }
        }
        (Opcode::Mov, Some(File::Special)) => {
            let whole = operation.targets.first().and_then(Operand::name);
            if whole != Some(Name::Fixed(Reg::PR_ROT)) || source.is_some() {
                return Ok(Next::Unknown);
            }
            state.set_predicates(bits[0]);
            return Ok(Next::On);
        }
        (Opcode::Mov, Some(file)) if !matches!(file, File::General | File::Float) => {
            if deferred {
                return Err(Fault::Deferred);
            }
            let own = operation.targets.first().and_then(Operand::name);
            match own == Some(Name::Fixed(Reg::EC)) {
                true => bits[0] & 63,
                false => bits[0],
            }
        }
        (_, Some(File::Float)) => float::computed(mnemonic, name_of(mnemonic), &bits, state.ring),
        (opcode, Some(_)) => {
            let known = integer::computed(opcode, has(Completer::U), has(Completer::Z), &bits);
            known.unwrap_or_else(|| integer::unknown(name_of(mnemonic), &bits))
        }
        (_, None) => return Ok(Next::Unknown),
    };
    let value = match deferred {
        true => Value::DEFERRED,
        false => Value {
            literal: from.iter().all(|it| it.literal),
            ..Value::of(out)
        },
    };
    write(function, state, operation, 0, value);
    Ok(Next::On)
}

/// The base of an access.
fn base(operation: &Operation) -> Option<Name> {
    let operands = operation.targets.iter().chain(&operation.sources);
    let mut addresses = operands.filter_map(|it| match it {
        Operand::Address(name) => Some(*name),
        _ => None,
    });
    addresses.next()
}

/// Steps the base behind an access.
fn advance(function: &Function, state: &mut State, operation: &Operation) -> Result<(), Fault> {
    let (Some(base), Some(by)) = (operation.stepped(), operation.sources.last()) else {
        return Ok(());
    };
    let (old, by) = (state.get(function, base), value(function, state, by));
    let value = match old.deferred || by.deferred {
        true => Value::DEFERRED,
        false => Value {
            literal: old.literal && by.literal,
            ..Value::of(old.bits.wrapping_add(by.bits))
        },
    };
    state.set(function, base, value);
    Ok(())
}

/// Bytes of an access, and the form of their contents; `None` for general registers.
fn form(opcode: Opcode) -> Option<(u32, Option<Format>)> {
    Some(match opcode {
        Opcode::Ld1 | Opcode::St1 => (1, None),
        Opcode::Ld2 | Opcode::St2 => (2, None),
        Opcode::Ld4 | Opcode::St4 => (4, None),
        Opcode::Ld8 | Opcode::St8 => (8, None),
        Opcode::Ldfs | Opcode::Stfs | Opcode::Ldfps => (4, Some(Format::Single)),
        Opcode::Ldfd | Opcode::Stfd | Opcode::Ldfpd => (8, Some(Format::Double)),
        Opcode::Ldf8 | Opcode::Stf8 | Opcode::Ldfp8 => (8, Some(Format::Significand)),
        Opcode::Ldfe | Opcode::Stfe | Opcode::Ldf | Opcode::Stf => (16, Some(Format::Double)),
        _ => return None,
    })
}

fn load(function: &Function, state: &mut State, operation: &Operation) -> Result<Next, Fault> {
    let (Some((bytes, format)), Some(base)) = (form(operation.opcode()), base(operation)) else {
        return Ok(Next::Unknown);
    };
    let has = |completer| operation.mnemonic.has(completer);
    let speculative = has(Completer::S) || has(Completer::Sa);
    let advanced = has(Completer::A) || has(Completer::Sa);
    let confirms = has(Completer::C);
    let registers = operation.targets.iter().filter_map(Operand::name);
    let registers: Vec<Name> = registers.collect();
    let from = state.get(function, base);
    let space = state.memory.space(operation.memory.as_ref());
    let volatile = operation.memory.as_ref().is_some_and(|it| it.volatile);
    let key = registers.first().map(|it| state.entity(function, *it));
    let all = bytes * registers.len() as u32;
    if from.deferred && !speculative {
        return Err(Fault::Deferred);
    }
    let fails = from.deferred || speculative && state.fails();
    let is_there = confirms && key.is_some_and(|key| state.advanced.contains_key(&key));
    if !is_there || state.fails() {
        if let Some(key) = key {
            state.advanced.remove(&key);
            if (advanced || confirms && has(Completer::Nc)) && !fails {
                state.advanced.insert(key, (space, from.bits, all));
            }
        }
        if !speculative {
            state.memory.touch(false, space, from.bits, all);
        }
        for (register, at) in registers.into_iter().zip(0..) {
            let address = from.bits.wrapping_add(u64::from(bytes) * at);
            let bits = state.memory.load(space, address, bytes);
            if volatile {
                let event = (false, space, address, bytes, bits);
                state.memory.events.push(event);
            }
            let value = match (fails, format) {
                (true, _) => Value::DEFERRED,
                (false, Some(format)) => Value::of(float::from_bits(format, bits)),
                (false, None) => Value::of(bits),
            };
            state.set(function, register, value);
        }
    }
    advance(function, state, operation)?;
    Ok(Next::On)
}

fn store(function: &Function, state: &mut State, operation: &Operation) -> Result<Next, Fault> {
    let (Some((bytes, format)), Some(base)) = (form(operation.opcode()), base(operation)) else {
        return Ok(Next::Unknown);
    };
    let Some(stored) = operation.sources.first() else {
        return Ok(Next::Unknown);
    };
    let (to, stored) = (state.get(function, base), value(function, state, stored));
    let spills = operation.mnemonic.has(Completer::Spill);
    if to.deferred || stored.deferred && !spills {
        return Err(Fault::Deferred);
    }
    let space = state.memory.space(operation.memory.as_ref());
    let bits = format.map_or(stored.bits, |it| float::to_bits(it, stored.bits));
    state.memory.touch(true, space, to.bits, bytes);
    state.memory.store(space, to.bits, bytes, bits);
    if operation.memory.as_ref().is_some_and(|it| it.volatile) {
        let event = (true, space, to.bits, bytes, bits);
        state.memory.events.push(event);
    }
    state.advanced.retain(|_, (other, address, size)| {
        let behind = to.bits.wrapping_sub(*address);
        let in_front = address.wrapping_sub(to.bits);
        *other != space || behind >= u64::from(*size) && in_front >= u64::from(bytes)
    });
    advance(function, state, operation)?;
    Ok(Next::On)
}

/// Goes to code that repairs where a speculative load failed, or an advanced one was overtaken.
fn check(function: &Function, state: &mut State, operation: &Operation) -> Next {
    let Some(checked) = operation.sources.iter().find_map(Operand::name) else {
        return Next::Unknown;
    };
    let goes = if operation.mnemonic.has(Completer::S) {
        state.get(function, checked).deferred
    } else {
        let key = state.entity(function, checked);
        let failed = state.fails();
        let known = state.advanced.contains_key(&key) && !failed;
        if operation.mnemonic.has(Completer::Clr) || failed {
            state.advanced.remove(&key);
        }
        !known
    };
    match (goes, target(operation)) {
        (false, _) => Next::On,
        (true, Some(target)) => Next::Block(target),
        (true, None) => Next::Unknown,
    }
}
