//! The effects of operations on virtual registers: those of the table of instructions, with a register in the place of each
//! virtual one.

use super::code::{Function, Name, Operand, Operation, Virtual};
use isa::ia64::{File, Inst, Reg};
use isa::ia64::{Meaning, Operands, Undescribed, effects};
use smallvec::SmallVec;

/// The description of an operation, with stand-ins for its virtual registers.
#[derive(Clone, PartialEq, Debug)]
pub struct Described {
    pub inst: Inst,
    /// The virtual register for which a register of `inst` stands.
    pub stand_ins: Vec<(Reg, Virtual)>,
    /// The reason why nothing is known of it.
    pub opaque: Option<Undescribed>,
}

impl Described {
    /// Returns the virtual register for which `register` stands in `inst`.
    #[must_use]
    pub fn virtual_register(&self, register: Reg) -> Option<Virtual> {
        let found = self.stand_ins.iter().find(|(reg, _)| *reg == register);
        found.map(|(_, it)| *it)
    }
    /// The register of `inst` that stands for it.
    #[must_use]
    pub fn stand_in(&self, register: Virtual) -> Option<Reg> {
        let found = self.stand_ins.iter().find(|(_, it)| *it == register);
        found.map(|(reg, _)| *reg)
    }
}

/// Returns the description of the operation.
#[must_use]
pub fn describe(function: &Function, operation: &Operation) -> Described {
    let mut stand_ins: Vec<(Reg, Virtual)> = Vec::new();
    for register in operation.virtual_registers() {
        if stand_ins.iter().any(|(_, known)| *known == register) {
            continue;
        }
        let file = function.file(register);
        // From where no instruction means a register by itself.
        let first = match file {
            File::General | File::Float => 40,
            File::Predicate => 16,
            _ => 6,
        };
        let before = stand_ins.iter().filter(|(reg, _)| reg.file == file).count();
        let number = first + before as u8;
        stand_ins.push((Reg { file, number }, register));
    }
    let register = |register: Virtual| {
        let found = stand_ins.iter().find(|(_, known)| *known == register);
        found.map_or(Reg::R0, |(reg, _)| *reg)
    };
    let (inst, opaque) = match executed(operation, &register) {
        Ok(inst) => (inst, None),
        Err(reason) => (Inst::opaque(), Some(reason)),
    };
    Described {
        inst,
        stand_ins,
        opaque,
    }
}

/// Returns the description of the operation with the registers that its virtual ones have.
///
/// # Errors
/// Nothing is known of it.
pub fn executed(
    operation: &Operation,
    register: &dyn Fn(Virtual) -> Reg,
) -> Result<Inst, Undescribed> {
    let meaning = |operand: &Operand| {
        let name = |name: Name| match name {
            Name::Virtual(name) => register(name),
            Name::Fixed(register) => register,
        };
        match operand {
            Operand::Register(register) => Meaning::Register(name(*register)),
            Operand::Address(register) => Meaning::Memory(name(*register)),
            Operand::Number(number) => Meaning::Number(*number),
            Operand::Symbol(_) | Operand::Block(_) | Operand::Frame(_) => Meaning::Symbol,
        }
    };
    let meanings =
        |operands: &[Operand]| -> SmallVec<[Meaning; 4]> { operands.iter().map(meaning).collect() };
    let predicate = operation
        .predicate
        .map(|it| Meaning::Register(register(it)));
    effects(
        operation.mnemonic,
        predicate,
        Operands {
            targets: &meanings(&operation.targets),
            sources: &meanings(&operation.sources),
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::ia64::code::op;
    use isa::ia64::Class;

    #[test]
    fn a_load_with_post_increment_is_described() {
        let mut function = Function::default();
        let address = function.register(File::General);
        let value = function.register(File::General);
        let guard = function.register(File::Predicate);
        let load = Operation::plain(
            op!("ld8"),
            vec![Operand::register(value)],
            vec![Operand::Address(Name::Virtual(address)), Operand::Number(8)],
        )
        .under(guard);
        let described = describe(&function, &load);
        assert_eq!(described.opaque, None);
        assert_eq!(described.inst.class, Class::Load);
        let memory = described.inst.memory.expect("an access");
        assert_eq!(described.virtual_register(memory.base), Some(address));
        assert_eq!((memory.bytes, memory.step), (8, Some(8)));
        let written: Vec<_> = described
            .inst
            .defs
            .iter()
            .filter_map(|def| described.virtual_register(def.register))
            .collect();
        assert_eq!(written, [address, value]);
    }
}
