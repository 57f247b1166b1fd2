//! The answers of this selection to the walk over blocks and edges, and the branches that blocks end with.

use super::super::code::{LOOP, Operand, Operation, Virtual, operation};
use super::{Selection, constant, file_of};
use crate::mir::Arithmetic;
use crate::refusal::Refusal;
use crate::select::{Flow, Guard, Leaving, Select};
use ir::{IntCondition, Type, Value};
use isa::sc140::{File, Opcode, Sc140};
use std::ops::{Deref, DerefMut};

impl<'m> Deref for Selection<'m> {
    type Target = Flow<'m, Sc140>;
    fn deref(&self) -> &Self::Target {
        &self.flow
    }
}

impl DerefMut for Selection<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.flow
    }
}

impl<'m> Select<'m> for Selection<'m> {
    type Set = Sc140;

    fn parameters(&mut self) {
        self.take_arguments();
    }
    fn instruction(&mut self, inst: ir::Inst) {
        self.operation(inst);
    }
    fn results(&mut self, values: &[Value]) {
        self.give_results(values);
    }
    fn forget(&mut self) {
        self.local.clear();
    }
    fn refuse(&mut self, reason: Refusal) {
        self.refusal(reason);
    }
    fn is_needed(&self, value: Value) -> bool {
        self.forms.needed.contains(&value)
    }
    fn class(&self, ty: Type) -> File {
        file_of(ty)
    }
    fn home(&mut self, value: Value) -> Virtual {
        if let Some(known) = self.values[value] {
            return known;
        }
        let file = match self.forms.is_flag(value) {
            true => File::Truth,
            false => file_of(self.ty(value)),
        };
        let fresh = self.out.register(file);
        if self.ty(value) == Type::I40 {
            self.out.kept.push(fresh);
        }
        self.values[value] = Some(fresh);
        fresh
    }
    fn branch_condition(&mut self, value: Value) -> (Guard, Option<Guard>) {
        let guard = self.condition(value);
        let other = Guard {
            holds: !guard.holds,
            ..guard
        };
        (guard, Some(other))
    }
    fn kept_condition(&mut self, kept: Virtual) -> (Guard, Option<Guard>) {
        let flag = self.flag();
        self.append(Sc140::is_set(flag, kept));
        let other = Guard {
            register: flag,
            holds: false,
        };
        (Guard::of(flag), Some(other))
    }
    fn equals(&mut self, value: Value, number: i64) -> (Guard, Option<Guard>) {
        let guard = self.compare_number(IntCondition::Equal, value, number);
        let other = Guard {
            holds: !guard.holds,
            ..guard
        };
        (guard, Some(other))
    }
    fn adapts(&self, param: Value, arg: Value) -> bool {
        // A flag arrives as a number, a fraction where a number is wanted is moved down.
        self.forms.is_flag(arg) || self.forms.is_fraction(arg) != self.forms.is_fraction(param)
    }
    fn copy_register(&mut self, to: Virtual, from: Virtual) {
        self.copy(to, from);
    }
    fn adapt(&mut self, to: Virtual, _: Virtual, arg: Value) {
        let from = self.integer(arg);
        self.copy(to, from);
    }
    fn load_constant(&mut self, to: Virtual, value: Value, fraction: bool) {
        let number = self.number(value).unwrap_or(0);
        let number = match (fraction, self.ty(value)) {
            (true, _) => number << 16,
            (_, Type::Bool) => number & 1,
            (_, Type::I8) => i64::from(number as i8),
            (_, Type::I16) => i64::from(number as i16),
            (_, Type::I40) => {
                let from = self.accumulator(number);
                return self.copy(to, from);
            }
            _ => i64::from(number as i32),
        };
        let file = self.out.class(to);
        let made = constant(to, file, number);
        self.append(made);
    }
}

/// The branches that a block ends with.
pub(super) fn leave(leaving: Leaving) -> Vec<Operation> {
    let plain = |opcode| operation(opcode, Vec::new(), Vec::new());
    match leaving {
        Leaving::Jump(to) => vec![Sc140::jump(to, None)],
        Leaving::Branch { condition, to, .. } => {
            vec![Sc140::jump(to, Some((condition.register, condition.holds)))]
        }
        // No load is speculative here.
        Leaving::Check { .. } => vec![plain(Opcode::Trap)],
        Leaving::Return => vec![plain(Opcode::Rts)],
        Leaving::Never => vec![plain(Opcode::Trap), plain(Opcode::Rts)],
    }
}

/// Enables the loop of the hardware that begins at a block.
pub(in super::super) fn setup(block: u32) -> Operation {
    let mut setup = operation(Opcode::Dosetup, Vec::new(), vec![Operand::Block(block)]);
    setup.mnemonic = setup.mnemonic.of_loop(LOOP);
    setup
}
