//! Comparisons, and logic of predicates.

use super::{Selector, put, put_if};
use crate::select::Select;
use crate::target::ia64::code::op;
use crate::target::ia64::code::{Name, Operand, Virtual};
use ir::{BinaryOp, FloatCondition, IntCondition, Op, Type, Value};
use isa::ia64::Reg;
use isa::ia64::{Completer, Mnemonic, Opcode};

impl Selector<'_> {
    /// The predicate that a `Bool` is.
    pub(super) fn condition(&mut self, value: Value) -> Virtual {
        match self.number(value) {
            None if !matches!(
                self.source.defining(value).map(|data| &data.op),
                Some(Op::Undef)
            ) =>
            {
                self.read(value)
            }
            known => {
                let to = self.predicate();
                let before = self.predicate.take();
                self.set(to, known.unwrap_or(0) & 1 != 0);
                self.predicate = before;
                to
            }
        }
    }
    pub(super) fn set(&mut self, to: Virtual, value: bool) {
        let relation = if value { op!("cmp.eq") } else { op!("cmp.ne") };
        put!(self, relation, [to, Reg::P0] = [Reg::R0, Reg::R0]);
    }
    /// True where the predicate is not.
    pub(super) fn complement(&mut self, predicate: Virtual) -> Virtual {
        if let Some(&known) = self.negations.get(&predicate) {
            return known;
        }
        let to = self.predicate();
        let before = self.predicate.take();
        self.set(to, true);
        put_if!(
            self,
            predicate,
            "cmp.ne",
            [to, Reg::P0] = [Reg::R0, Reg::R0]
        );
        self.predicate = before;
        to
    }
    /// The complement of a value's predicate, which is computed beside it.
    pub(super) fn beside(&mut self, to: Virtual) -> Virtual {
        // A result is written once, unlike a loop's parameter, whose complement would not follow it.
        let other = self.predicate();
        self.negations.insert(to, other);
        other
    }

    pub(super) fn int_compare(
        &mut self,
        condition: IntCondition,
        a: Value,
        b: Value,
        result: Value,
    ) {
        let to = self.home(result);
        let other = self.beside(to);
        let ty = self.ty(a);
        if matches!(condition, IntCondition::Equal | IntCondition::NotEqual)
            && let (Some(position), Some(0)) = (self.tested_bit(a), self.number(b))
        {
            let (value, position) = position;
            let name = self.integer(value);
            let relation = if condition == IntCondition::NotEqual {
                op!("tbit.nz")
            } else {
                op!("tbit.z")
            };
            return put!(self, relation, [to, other] = [name, position]);
        }
        let base = match ty {
            Type::I32 => Opcode::Cmp4,
            _ => Opcode::Cmp,
        };
        let immediate = |this: &Self, value: Value| {
            this.number(value)
                .filter(|it| (-128..128).contains(it) && *it != 0)
        };
        // The constant stands in front; `lt` and `ltu` take 8 bits as they are.
        let (condition, a, b) = match (immediate(self, a), immediate(self, b)) {
            (None, Some(_)) => (condition.mirrored(), b, a),
            _ => (condition, a, b),
        };
        let unsigned = matches!(
            condition,
            IntCondition::LessUnsigned
                | IntCondition::LessEqualUnsigned
                | IntCondition::GreaterUnsigned
                | IntCondition::GreaterEqualUnsigned
        );
        let first: Operand = match immediate(self, a) {
            // Others than `eq` and `lt` are made of those with a constant beside.
            Some(number) if ty != Type::Bool && safe(condition, number, unsigned) => {
                Operand::Number(number)
            }
            _ => Operand::from(self.integer(a)),
        };
        let second = self.integer(b);
        let relation = match condition {
            IntCondition::Equal => Completer::Eq,
            IntCondition::NotEqual => Completer::Ne,
            IntCondition::LessSigned => Completer::Lt,
            IntCondition::LessEqualSigned => Completer::Le,
            IntCondition::GreaterSigned => Completer::Gt,
            IntCondition::GreaterEqualSigned => Completer::Ge,
            IntCondition::LessUnsigned => Completer::Ltu,
            IntCondition::LessEqualUnsigned => Completer::Leu,
            IntCondition::GreaterUnsigned => Completer::Gtu,
            IntCondition::GreaterEqualUnsigned => Completer::Geu,
        };
        put!(
            self,
            Mnemonic::new(base, &[relation]),
            [to, other] = [first, Operand::from(second)]
        );
    }

    /// `x & 2^k`: x and k.
    fn tested_bit(&self, value: Value) -> Option<(Value, i64)> {
        let data = self.source.defining(value)?;
        if !matches!(data.op, Op::Binary(BinaryOp::And, _)) || self.ty(value) == Type::Bool {
            return None;
        }
        let of = |mask: Value, x: Value| {
            let mask = self.number(mask)? as u64;
            let bits = self.ty(value).bits();
            let mask = if bits < 64 {
                mask & ((1 << bits) - 1)
            } else {
                mask
            };
            (mask.count_ones() == 1 && self.number(x).is_none())
                .then(|| (x, i64::from(mask.trailing_zeros())))
        };
        of(data.args[1], data.args[0]).or_else(|| of(data.args[0], data.args[1]))
    }

    pub(super) fn float_compare(
        &mut self,
        condition: FloatCondition,
        a: Value,
        b: Value,
        result: Value,
    ) {
        use FloatCondition as C;
        let (a, b) = (self.floating(a), self.floating(b));
        let to = self.home(result);
        let plain = match condition {
            C::Equal => Some(Completer::Eq),
            C::Less => Some(Completer::Lt),
            C::LessEqual => Some(Completer::Le),
            C::Greater => Some(Completer::Gt),
            C::GreaterEqual => Some(Completer::Ge),
            C::NotEqualUnordered => Some(Completer::Neq),
            C::LessUnordered => Some(Completer::Nge),
            C::LessEqualUnordered => Some(Completer::Ngt),
            C::GreaterUnordered => Some(Completer::Nle),
            C::GreaterEqualUnordered => Some(Completer::Nlt),
            C::Ordered => Some(Completer::Ord),
            C::Unordered => Some(Completer::Unord),
            C::NotEqual | C::EqualUnordered => None,
        };
        match plain {
            Some(relation) => {
                let other = self.beside(to);
                put!(
                    self,
                    Mnemonic::new(Opcode::Fcmp, &[relation]),
                    [to, other] = [a, b]
                );
            }
            None => {
                // Less or greater, or neither.
                let unequal = condition == C::NotEqual;
                let p = self.predicate();
                put!(self, "fcmp.lt", [p, Reg::P0] = [a, b]);
                let q = self.predicate();
                put!(self, "fcmp.gt", [q, Reg::P0] = [a, b]);
                self.set(to, !unequal);
                let relation = if unequal {
                    op!("cmp.eq")
                } else {
                    op!("cmp.ne")
                };
                put_if!(self, p, relation, [to, Reg::P0] = [Reg::R0, Reg::R0]);
                put_if!(self, q, relation, [to, Reg::P0] = [Reg::R0, Reg::R0]);
            }
        }
    }

    /// `and`, `or`, `xor`, sums and products of `Bool`s.
    pub(super) fn logic(&mut self, op: BinaryOp, a: Value, b: Value, result: Value) {
        let (p, q) = (self.condition(a), self.condition(b));
        let to = self.home(result);
        match op {
            BinaryOp::And | BinaryOp::Mul => {
                let not = self.complement(q);
                self.copy(to, Name::Virtual(p));
                put_if!(self, not, "cmp.ne", [to, Reg::P0] = [Reg::R0, Reg::R0]);
            }
            BinaryOp::Or => {
                self.copy(to, Name::Virtual(p));
                put_if!(self, q, "cmp.eq", [to, Reg::P0] = [Reg::R0, Reg::R0]);
            }
            _ => {
                let (x, y) = (self.general(), self.general());
                put!(self, "mov", [x] = [Reg::R0]);
                put_if!(self, p, "mov", [x] = [1]);
                put!(self, "mov", [y] = [Reg::R0]);
                put_if!(self, q, "mov", [y] = [1]);
                put!(self, "cmp.ne", [to, Reg::P0] = [x, y]);
            }
        }
    }
    pub(super) fn not(&mut self, value: Value, result: Value) {
        let predicate = self.condition(value);
        let to = self.home(result);
        // Of a loop's parameter there is none beside.
        if let Some(&known) = self.negations.get(&predicate) {
            self.copy(to, Name::Virtual(known));
            self.negations.insert(to, predicate);
        } else {
            self.set(to, true);
            put_if!(
                self,
                predicate,
                "cmp.ne",
                [to, Reg::P0] = [Reg::R0, Reg::R0]
            );
        }
    }
}

/// Returns true if the assembler's forms with a constant in front take this one: some count it down by one.
const fn safe(condition: IntCondition, number: i64, unsigned: bool) -> bool {
    match condition {
        IntCondition::Equal
        | IntCondition::NotEqual
        | IntCondition::LessSigned
        | IntCondition::GreaterEqualSigned => true,
        IntCondition::LessEqualSigned | IntCondition::GreaterSigned => number > -128,
        _ => unsigned && number > 1 && number < 127,
    }
}
