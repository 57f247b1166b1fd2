//! The demands of operations on their sets: each as the instruction of the table that it becomes.
//!
//! Registers that are not given yet are taken for upper ones, whose sets have the longest prefix, and each has a number of
//! its own; places in the frame are as far away as they can be. What fits here fits once everything is known.

use super::code::{Name, Operand, Operation, is_store, writes_truth};
use super::packer::{Asked, number};
use isa::InstructionSet;
use isa::sc140::Operand as Given;
use isa::sc140::{Address, File, Instruction, Number, Opcode, Part, Reg, Sc140, Step};

/// Numbers of virtual registers begin here.
const VIRTUAL: u32 = 1 << 16;

/// The demand of an operation.
pub(super) fn asked(operation: &Operation) -> Asked {
    let mut names: Vec<(Reg, u32)> = Vec::new();
    let mut register = |name: Name, file: File| match name {
        Name::Fixed(register) => register,
        Name::Virtual(name) => {
            let key = VIRTUAL + name.0;
            let known = names.iter().find(|(_, known)| *known == key);
            known.map(|(register, _)| *register).unwrap_or_else(|| {
                // An upper register that the operation does not name.
                let stands = Reg::new(file, 15 - names.len() as u8);
                names.push((stands, key));
                stands
            })
        }
    };
    let made = instruction(operation, &mut register);
    let high = !names.is_empty() || made.has_high_register();
    let named = |register: Reg| {
        let known = names.iter().find(|(stands, _)| *stands == register);
        known.map_or_else(|| number(register), |(_, key)| *key)
    };
    Asked::with(&made, &made.effects(), &named, high)
}

/// The instruction that an operation becomes; numbers of the frame and of symbols are not known.
fn instruction(operation: &Operation, register: &mut dyn FnMut(Name, File) -> Reg) -> Instruction {
    let opcode = operation.mnemonic.opcode;
    let step = operation
        .stepped()
        .and_then(|_| match operation.sources.last() {
            Some(Operand::Number(step)) => Some(*step),
            _ => None,
        });
    let row = opcode.row();
    let file = match row.unit {
        isa::sc140::Unit::Address if row.operands != "source,target" => File::Address,
        _ => File::Data,
    };
    let mut given = |operand: &Operand| -> Given {
        match operand {
            Operand::Register(name) => Given::Register(register(*name, file), Part::Whole),
            Operand::Address(name) => Given::Memory(Address::At {
                base: register(*name, File::Address),
                step: match step {
                    None => Step::None,
                    Some(step) if step < 0 => Step::Down,
                    Some(_) => Step::Up,
                },
            }),
            Operand::Number(number) => Given::Number(Number::of(*number)),
            Operand::Symbol(_) if opcode == Opcode::Jsr => Given::Label(Number::symbol()),
            Operand::Symbol(_) => Given::Number(Number::symbol()),
            Operand::Block(_) => Given::Label(Number::symbol()),
            Operand::Frame(_) if opcode == Opcode::Adda => Given::Number(Number::symbol()),
            Operand::Frame(_) => Given::Memory(Address::Displaced {
                base: Reg::SP,
                by: Number::symbol(),
            }),
        }
    };
    let sources = &operation.sources[..operation.sources.len() - usize::from(step.is_some())];
    let named = |operand: &Operand| !matches!(operand, Operand::Register(name) if is_flag(*name));
    let operands: Vec<Given> = match (opcode, sources) {
        (Opcode::Lpmarka | Opcode::Lpmarkb | Opcode::Rts, _) => Vec::new(),
        (Opcode::Jsr, [callee, ..]) => vec![given(callee)],
        (Opcode::Mac | Opcode::Macr | Opcode::Mpy, [a, b, Operand::Number(-1)]) => {
            let factors = [given(a), given(b)];
            let target = operation.targets.iter().map(&mut given);
            let [a, b] = factors;
            let negative = match a {
                Given::Register(register, _) => Given::Negative(register),
                other => other,
            };
            [negative, b].into_iter().chain(target).collect()
        }
        (_, [place @ Operand::Frame(_), from]) if is_store(operation) => {
            vec![given(from), given(place)]
        }
        (Opcode::Doen | Opcode::Doensh, sources) => sources.iter().map(given).collect(),
        (opcode, sources) => {
            let targets = operation.targets.iter().filter(|_| !writes_truth(opcode));
            sources
                .iter()
                .chain(targets)
                .filter(|one| named(one))
                .map(given)
                .collect()
        }
    };
    Instruction {
        mnemonic: operation.mnemonic,
        operands,
    }
}

/// Returns true for a register that instructions do not name.
fn is_flag(name: Name) -> bool {
    matches!(name, Name::Fixed(register) if Sc140::class(register) == File::Truth)
}
