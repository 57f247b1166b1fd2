//! The questions that the walk over blocks and edges asks of this selection, and the branches that blocks end
//! with.

use super::{Selector, file_of, put};
use crate::refusal::Refusal;
use crate::select::{Flow, Guard, Leaving, Select};
use crate::target::ia64::code::op;
use crate::target::ia64::code::{Name, Operand, Operation, Virtual};
use ir::{Type, Value};
use isa::ia64::Reg;
use isa::ia64::{File, Ia64, Mnemonic};
use std::ops::{Deref, DerefMut};

impl<'m> Deref for Selector<'m> {
    type Target = Flow<'m, Ia64>;
    fn deref(&self) -> &Self::Target {
        &self.flow
    }
}

impl DerefMut for Selector<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.flow
    }
}

impl<'m> Select<'m> for Selector<'m> {
    type Set = Ia64;

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
        self.widths.needed.contains(&value)
    }
    fn class(&self, ty: Type) -> File {
        file_of(ty)
    }
    fn home(&mut self, value: Value) -> Virtual {
        if let Some(known) = self.values[value] {
            return known;
        }
        let file = file_of(self.ty(value));
        let fresh = self.out.register(file);
        self.values[value] = Some(fresh);
        fresh
    }
    fn branch_condition(&mut self, value: Value) -> (Guard, Option<Guard>) {
        let condition = self.condition(value);
        self.kept_condition(condition)
    }
    fn kept_condition(&mut self, condition: Virtual) -> (Guard, Option<Guard>) {
        let negation = self.negations.get(&condition).copied();
        (Guard::of(condition), negation.map(Guard::of))
    }
    fn equals(&mut self, value: Value, number: i64) -> (Guard, Option<Guard>) {
        let value = self.integer(value);
        let p = self.predicate();
        let q = self.predicate();
        if (-128..128).contains(&number) {
            put!(self, "cmp.eq", [p, q] = [number, value]);
        } else {
            let with = self.constant(number);
            put!(self, "cmp.eq", [p, q] = [with, value]);
        }
        (Guard::of(p), Some(Guard::of(q)))
    }
    fn adapts(&self, param: Value, arg: Value) -> bool {
        self.widths.is_plain(param) && !self.widths.is_plain(arg)
    }
    fn copy_register(&mut self, to: Virtual, from: Virtual) {
        self.copy(to, Name::Virtual(from));
    }
    fn adapt(&mut self, to: Virtual, from: Virtual, arg: Value) {
        let ty = self.ty(arg);
        self.zero_extend(to, Name::Virtual(from), ty);
    }
    fn load_constant(&mut self, to: Virtual, constant: Value, zeros: bool) {
        match self.ty(constant) {
            Type::Bool => {
                let holds = self.number(constant).unwrap_or(0) & 1 != 0;
                self.set(to, holds);
            }
            ty if ty.is_float() => {
                let from = self.floating(constant);
                put!(self, "mov", [to] = [from]);
            }
            ty => match self.number(constant).unwrap_or(0) & mask(ty, zeros) {
                number @ -0x20_0000..0x20_0000 => put!(self, "mov", [to] = [number]),
                number => put!(self, "movl", [to] = [number]),
            },
        }
    }
}

/// The branches that a block ends with.
pub(super) fn leave(leaving: Leaving) -> Vec<Operation> {
    let branch = |mnemonic: Mnemonic, to: Operand| Operation::plain(mnemonic, Vec::new(), vec![to]);
    let returns = || branch(op!("br.ret.sptk.many"), Operand::fixed(Reg::branch(0)));
    match leaving {
        Leaving::Jump(to) => vec![branch(op!("br.cond.sptk.few"), Operand::Block(to))],
        Leaving::Branch {
            condition,
            to,
            backwards,
        } => {
            debug_assert!(condition.holds, "a predicate executes where it holds");
            let mnemonic = match backwards {
                true => op!("br.cond.dptk.few"),
                false => op!("br.cond.dpnt.few"),
            };
            vec![branch(mnemonic, Operand::Block(to)).under(condition.register)]
        }
        Leaving::Check { register, to } => vec![Operation::plain(
            op!("chk.s"),
            Vec::new(),
            vec![Operand::register(register), Operand::Block(to)],
        )],
        Leaving::Return => vec![returns()],
        Leaving::Never => vec![branch(op!("break.m"), Operand::Number(0)), returns()],
    }
}

/// The bits that a constant of this type has in its register: all, or none above its width.
const fn mask(ty: Type, zeros: bool) -> i64 {
    match zeros {
        true => (u64::MAX >> (64 - ty.bits())) as i64,
        false => -1,
    }
}
