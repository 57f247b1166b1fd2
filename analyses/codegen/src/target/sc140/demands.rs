//! The demands of operations on their sets: each as the instruction of the table that it becomes.
//!
//! Registers that are not given yet are taken for upper ones, whose sets have the longest prefix, and each has a number of
//! its own; places in the frame are as far away as they can be. What fits here fits once everything is known.

use super::code::{Name, Operation, Virtual};
use super::packer::{Asked, number};
use super::written::{Written, operands};
use isa::sc140::{Address, File, Instruction, Number, Operand, Part, Reg, Step};

/// Numbers of virtual registers begin here.
const VIRTUAL: u32 = 1 << 16;

/// The virtual register that a number stands for.
pub(super) fn virtual_of(key: u32) -> Option<Virtual> {
    key.checked_sub(VIRTUAL).map(Virtual)
}

/// The demand of an operation.
pub(super) fn asked(operation: &Operation) -> Asked {
    let mut names: Vec<(Reg, u32)> = Vec::new();
    let mut register = |name: Name, file: File| match name {
        Name::Fixed(register) => register,
        Name::Virtual(name) => {
            let key = VIRTUAL + name.0;
            let known = names.iter().find(|(_, known)| *known == key);
            known.map(|(register, _)| *register).unwrap_or_else(|| {
                // An upper register that stands for no other.
                debug_assert!(names.len() < 8, "an instruction names few registers");
                let stands = Reg::new(file, 15 - names.len() as u8);
                names.push((stands, key));
                stands
            })
        }
    };
    let given = |operand: Written<'_>| match operand {
        Written::Register { name, file } => Operand::register(register(name, file)),
        Written::Group(registers) => {
            let names = registers.iter().filter_map(super::code::Operand::name);
            let all = names.map(|name| (register(name, File::Data), Part::Whole));
            Operand::Group(all.collect())
        }
        Written::Negative(name) => Operand::Negative(register(name, File::Data)),
        Written::Place { base, step } => Operand::Memory(Address::At {
            base: register(base, File::Address),
            step: match step {
                None => Step::None,
                Some(step) if step < 0 => Step::Down,
                Some(_) => Step::Up,
            },
        }),
        Written::Frame(_) => Operand::Memory(Address::Displaced {
            base: Reg::SP,
            by: Number::symbol(),
        }),
        Written::Number(number) => Operand::Number(Number::of(number)),
        Written::Distance(_) | Written::Symbol(_) => Operand::Number(Number::symbol()),
        Written::Callee(_) | Written::Block(_) => Operand::Label(Number::symbol()),
    };
    let made = Instruction {
        mnemonic: operation.mnemonic,
        operands: operands(operation).into_iter().map(given).collect(),
    };
    let high = !names.is_empty() || made.has_high_register();
    let named = |register: Reg| {
        let known = names.iter().find(|(stands, _)| *stands == register);
        known.map_or_else(|| number(register), |(_, key)| *key)
    };
    Asked::with(&made, &made.effects(), &named, high)
}

#[cfg(test)]
mod tests {
    use super::super::code::{Operation, Virtual, operation};
    use crate::mir::packer::Packer as _;
    use crate::mir::{Operand, Scheduled as _};
    use isa::sc140::{Opcode, Sc140};
    use smallvec::smallvec;

    /// Returns true if operations of a body issue in one set. Each iteration has a name of its own for register 0.
    fn issue(body: &[Operation]) -> bool {
        let machine = crate::machine::named("sc140").unwrap();
        let sets = machine.sets().unwrap();
        let packer = Sc140::packer_of_iterations(sets, body, &|register| register.0 == 0);
        let mut demand = Default::default();
        (0..body.len() as u32).for_each(|it| packer.add(&mut demand, it));
        packer.fits(&demand)
    }

    fn unary(opcode: Opcode, to: u32, from: u32) -> Operation {
        let [to, from] = [to, from].map(|it| Operand::from(Virtual(it)));
        operation(opcode, smallvec![to], smallvec![from])
    }

    #[test]
    fn an_operand_that_is_read_and_written_is_a_use_of_its_register() {
        // Three reads, and a sum that reads its register twice: five of the four that one set may have.
        let reads = || (1..4).map(|to| unary(Opcode::Tfr, to, 0));
        let twice = unary(Opcode::Iadd, 0, 0);
        assert!(!issue(&reads().chain([twice.clone()]).collect::<Vec<_>>()));
        assert!(issue(&reads().skip(1).chain([twice]).collect::<Vec<_>>()));
    }

    #[test]
    fn iterations_write_names_of_their_own_in_one_set() {
        let write = |to, from| unary(Opcode::Not, to, from);
        assert!(issue(&[write(0, 1), write(0, 2)]));
        assert!(!issue(&[write(3, 1), write(3, 2)]));
    }
}
