//! Dependences within a group of instructions, as they happen: an operation whose predicate is false reads that alone.

use super::code::Code;
use super::registers::{Entity, State};
use super::{Fault, SomeRegister};
use crate::target::ia64::code::Name;
use isa::ia64::Type;
use isa::ia64::{Branch, Class, Def, File, Inst, Parallel, Reg};
use rustc_hash::FxHashMap;

/// The registers that a group has written so far.
#[derive(Default)]
pub(super) struct Group {
    cycle: Option<u32>,
    written: FxHashMap<Entity, Writer>,
}

struct Writer {
    parallel: Parallel,
    class: Class,
    /// True for a load that confirms an advanced one: its value was there before.
    confirms: bool,
}

impl Group {
    pub(super) fn enter(&mut self, cycle: Option<u32>) {
        if cycle != self.cycle {
            self.written.clear();
            self.cycle = cycle;
        }
    }

    /// The effects of an operation that is about to execute.
    pub(super) fn execute(
        &mut self,
        code: &Code<'_>,
        state: &State,
        (block, at): (u32, u32),
    ) -> Result<(), Fault> {
        let function = code.function;
        let operation = &function.blocks[block as usize].operations[at as usize];
        let effects = &code.effects[block as usize][at as usize];
        let inst = &effects.inst;
        let guard = operation.predicate.map(Name::Virtual);
        let executes = guard.is_none_or(|name| state.is_true(function, name));
        let entity = |register: SomeRegister| match register {
            SomeRegister::Virtual(register) => state.entity(function, Name::Virtual(register)),
            SomeRegister::Fixed(register) => state.entity(function, Name::Fixed(register)),
        };
        let rotates = matches!(
            inst.branch,
            Some(Branch::CountedRotating | Branch::WhileRotating)
        );
        for &register in inst.uses.iter().filter(|it| counts(**it)) {
            let guards = inst.predicate != 0 && register == Reg::predicate(inst.predicate);
            let name = effects.named(register);
            let Some(writer) = self.written.get(&entity(name)) else {
                continue;
            };
            if (executes || guards || rotates) && !writer.may_be_read(inst, register, guards) {
                return Err(Fault::ReadAfterWrite(name));
            }
        }
        for def in inst.defs.iter().filter(|it| counts(it.register)) {
            if !(executes || def.always) || rotates {
                continue;
            }
            let name = effects.named(def.register);
            let own = entity(name);
            let other = self.written.get(&own);
            if other.is_some_and(|it| !it.parallel.goes_with(def.parallel)) {
                return Err(Fault::WriteAfterWrite(name));
            }
            self.written.insert(own, Writer::of(inst, def));
        }
        Ok(())
    }
}

/// Registers of the rest order whole groups.
fn counts(register: Reg) -> bool {
    let file = matches!(
        register.file,
        File::General | File::Float | File::Predicate | File::Branch
    );
    file && !register.is_constant()
}

impl Writer {
    fn of(inst: &Inst, def: &Def) -> Writer {
        let memory = inst.memory.filter(|it| it.confirms);
        Writer {
            parallel: def.parallel,
            class: inst.class,
            confirms: memory.is_some_and(|it| it.base != def.register),
        }
    }

    /// Branches see predicates of integer compares and branch registers of their own group; the value that a
    /// check load confirms was there before.
    fn may_be_read(&self, reader: &Inst, register: Reg, guards: bool) -> bool {
        let jumps = reader.unit == Some(Type::B);
        match self.class {
            Class::Compare | Class::ToPredicates => guards && jumps,
            Class::ToBranch => jumps && register.file == File::Branch,
            _ => self.confirms,
        }
    }
}
