//! A function that is executed, with the registers that its operations in decided cycles read and write.

use super::SomeRegister;
use crate::target::ia64::code::{Function, Name, Operand, Operation, Virtual};
use crate::target::ia64::describe::executed;
use isa::ia64::{File, Inst, Reg};

/// A function, and the effects of operations in blocks whose cycles are decided.
pub(crate) struct Code<'f> {
    pub(crate) function: &'f Function,
    /// Indexed by block and operation; empty for other blocks.
    pub(super) effects: Vec<Vec<Effects>>,
}

/// The effects of an operation, with registers that it does not name in the place of its virtual ones.
pub(super) struct Effects {
    pub(super) inst: Inst,
    stand_ins: Vec<(Reg, Virtual)>,
}

impl<'f> Code<'f> {
    pub(crate) fn new(function: &'f Function) -> Code<'f> {
        let effects = function.blocks.iter().map(|block| match block.cycles[..] {
            [] => Vec::new(),
            _ => {
                let operations = block.operations.iter();
                operations.map(|it| Effects::of(function, it)).collect()
            }
        });
        Code {
            function,
            effects: effects.collect(),
        }
    }

    /// The effects of operations in a block whose cycles are decided.
    pub(crate) fn insts(&self, block: u32) -> impl Iterator<Item = &Inst> {
        self.effects[block as usize].iter().map(|it| &it.inst)
    }
}

impl Effects {
    fn of(function: &Function, operation: &Operation) -> Effects {
        let operands = operation.targets.iter().chain(&operation.sources);
        let fixed = operands.filter_map(Operand::name);
        let fixed = fixed.filter_map(|name| match name {
            Name::Fixed(register) => Some(register),
            Name::Virtual(_) => None,
        });
        let places = operation.virtual_registers();
        let places = places.filter_map(|place| function.place(place));
        let mut named: Vec<Reg> = fixed.chain(places).collect();
        let mut stand_ins: Vec<(Reg, Virtual)> = Vec::new();
        for register in operation.virtual_registers() {
            if function.place(register).is_some() || stand_ins.iter().any(|it| it.1 == register) {
                continue;
            }
            let file = function.file(register);
            // From where no instruction means a register by itself.
            let last = match file {
                File::General | File::Float => 127,
                File::Predicate => 63,
                _ => 7,
            };
            let numbers = (0..=last).rev().map(|number| Reg { file, number });
            let free = numbers.into_iter().find(|it| !named.contains(it));
            let free = free.unwrap_or(Reg { file, number: last });
            named.push(free);
            stand_ins.push((free, register));
        }
        let register = |register: Virtual| {
            let found = stand_ins.iter().find(|it| it.1 == register);
            found.map_or_else(|| function.place(register).unwrap_or(Reg::R0), |it| it.0)
        };
        let inst = executed(operation, &register).unwrap_or_else(|_| Inst::opaque());
        Effects { inst, stand_ins }
    }

    /// The register of the function for which one of the effects stands.
    pub(super) fn named(&self, register: Reg) -> SomeRegister {
        let found = self.stand_ins.iter().find(|it| it.0 == register);
        found.map_or(SomeRegister::Fixed(register), |it| {
            SomeRegister::Virtual(it.1)
        })
    }
}
