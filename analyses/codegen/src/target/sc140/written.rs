//! The operands of an operation in the order of the assembler's text, the target last.
//!
//! ```text
//! v3 = mac v1, v2, -1        -v1, v2, v3
//! [r0] = move.w v1, 2        v1, a place at r0 that steps up
//! t5 = cmpgt v1, v2          v1, v2: T is not written
//! ```

use super::code::{FrameOffset, Name, Operand, Operation, is_store, tuple, writes_truth};
use isa::InstructionSet;
use isa::sc140::{File, Opcode, Sc140, Unit};
use smol_str::SmolStr;

/// An operand as the assembler reads it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Written<'o> {
    /// `file`: of a register that is not given yet, where the operation tells.
    Register {
        name: Name,
        file: File,
    },
    /// Neighbouring registers.
    Group(&'o [Operand]),
    /// A factor whose sign is turned.
    Negative(Name),
    /// `step`: what is added to the base behind the access.
    Place {
        base: Name,
        step: Option<i64>,
    },
    Frame(FrameOffset),
    Number(i64),
    /// A distance from the stack pointer, as a number.
    Distance(FrameOffset),
    /// The address of a symbol, as a number.
    Symbol(&'o SmolStr),
    Callee(&'o SmolStr),
    Block(u32),
}

/// The operands that the text of an operation has.
pub(super) fn operands(operation: &Operation) -> Vec<Written<'_>> {
    let opcode = operation.mnemonic.opcode;
    let row = opcode.row();
    let file = match row.unit {
        Unit::Address if row.operands != "source,target" => File::Address,
        _ => File::Data,
    };
    let step = operation
        .stepped()
        .and_then(|_| match operation.sources.last() {
            Some(Operand::Number(step)) => Some(*step),
            _ => None,
        });
    let written = |operand| match operand {
        &Operand::Register(name) => Written::Register { name, file },
        &Operand::Address(base) => Written::Place { base, step },
        &Operand::Number(number) => Written::Number(number),
        Operand::Symbol(name) if opcode == Opcode::Jsr => Written::Callee(name),
        Operand::Symbol(name) => Written::Symbol(name),
        &Operand::Block(block) => Written::Block(block),
        &Operand::Frame(offset) if opcode == Opcode::Adda => Written::Distance(offset),
        &Operand::Frame(offset) => Written::Frame(offset),
    };
    let is_truth = |operand: &&Operand| match operand {
        Operand::Register(Name::Fixed(register)) => Sc140::class(*register) == File::Truth,
        _ => false,
    };
    let sources = &operation.sources[..operation.sources.len() - usize::from(step.is_some())];
    match (opcode, sources) {
        (Opcode::Lpmarka | Opcode::Lpmarkb | Opcode::Rts, _) => Vec::new(),
        // The stack pointer is not written.
        (Opcode::Push, sources) => sources.iter().take(1).map(written).collect(),
        (Opcode::Pop, _) => operation.targets.iter().take(1).map(written).collect(),
        // Behind the callee stand the registers of its arguments.
        (Opcode::Jsr, [callee, ..]) => vec![written(callee)],
        (Opcode::Doen | Opcode::Doensh, sources) => sources.iter().map(written).collect(),
        (
            Opcode::Mac | Opcode::Macr | Opcode::Mpy,
            [Operand::Register(negative), factor, Operand::Number(-1)],
        ) => {
            let target = operation.targets.iter().map(written);
            let factors = [Written::Negative(*negative), written(factor)];
            factors.into_iter().chain(target).collect()
        }
        // An access to several elements.
        (_, sources) if !tuple(operation).is_empty() => {
            let group = Written::Group(tuple(operation));
            let places = operation.targets.iter().chain(sources);
            let place =
                places.filter(|place| matches!(place, Operand::Address(_) | Operand::Frame(_)));
            let place = place.map(written);
            match is_store(operation) {
                true => std::iter::once(group).chain(place).collect(),
                false => place.chain([group]).collect(),
            }
        }
        // The place in the frame is the target.
        (_, [place @ Operand::Frame(_), from]) if is_store(operation) => {
            vec![written(from), written(place)]
        }
        (opcode, sources) => {
            let targets = operation.targets.iter().filter(|_| !writes_truth(opcode));
            let named = sources
                .iter()
                .chain(targets)
                .filter(|source| !is_truth(source));
            named.map(written).collect()
        }
    }
}
