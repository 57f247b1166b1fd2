//! `&&`, `||` and `?:`: the operands evaluated on one way only, and the common type of both ways.

use crate::entity::Value;
use crate::function::*;
use crate::inst::{BinaryOp as Ir, *};
use crate::lower::c_family::call::Operand;
use crate::lower::c_family::context::*;
use crate::lower::c_family::types::*;
use crate::lower::c_family::value::*;
use crate::types::{Space, Type};
use syntax::Span;
use syntax::c_family::ast::{BinaryOp, Expr};

impl Context<'_> {
    pub(in crate::lower::c_family) fn logical(
        &mut self,
        op: BinaryOp,
        a: RValue,
        left: &Expr,
        right: &Expr,
        span: Span,
    ) -> RValue {
        let first = self.truth(a, left.span);
        let and = op == BinaryOp::LogicalAnd;
        if let Some(known) = self.builder.function.int_constant(first) {
            if (known != 0) != and {
                return RValue::scalar(CType::Bool, first);
            }
            let b = self.rvalue(right);
            let second = self.truth(b, right.span);
            return RValue::scalar(CType::Bool, second);
        }
        if self.is_cheap(right) {
            let b = self.rvalue(right);
            let second = self.truth(b, right.span);
            self.here(span);
            let op = if and { Ir::And } else { Ir::Or };
            let both = self.builder.binary(op, Wrap::MAY, first, second);
            return RValue::scalar(CType::Bool, both);
        }
        let slot = self.builder.slot(Type::Bool);
        self.builder.write(slot, first);
        let more = self.builder.create_block();
        let join = self.builder.create_block();
        self.here(span);
        let (then, otherwise) = if and { (more, join) } else { (join, more) };
        self.builder
            .branch(first, then, otherwise, BranchKind::ShortCircuit);
        self.builder.switch_to(more);
        let b = self.rvalue(right);
        let second = self.truth(b, right.span);
        self.builder.write(slot, second);
        self.builder.jump(join);
        self.builder.switch_to(join);
        let value = self.builder.read(slot);
        RValue::scalar(CType::Bool, value)
    }

    pub(in crate::lower::c_family) fn conditional(
        &mut self,
        condition: &Expr,
        then: &Expr,
        otherwise: &Expr,
        span: Span,
    ) -> Operand {
        if let Some(known) = self.constant(condition) {
            let (taken, other) = match known.truth() {
                true => (then, otherwise),
                false => (otherwise, then),
            };
            let operand = self.expr(taken);
            if self.is_hlsl() || !operand.ty().value_type().is_arithmetic() {
                return operand;
            }
            // The arm that is not taken has a say in the type.
            let other = self.type_of(other);
            if !other.value_type().is_arithmetic()
                || other.value_type() == operand.ty().value_type()
            {
                return operand;
            }
            let common = self.common_scalar(operand.ty().value_type(), other.value_type());
            let value = self.take(operand, taken.span);
            return Operand::Value(self.convert(value, &common, span));
        }
        let test = self.rvalue(condition);
        if self.is_hlsl() && test.ty.components() > 1 {
            let a = self.rvalue(then);
            let b = self.rvalue(otherwise);
            let common = self.common_type(&a.ty, &b.ty);
            let shape = if common.components() >= test.ty.components() {
                common
            } else {
                test.ty.with_element(common.element().clone())
            };
            let bools = shape.with_element(CType::Bool);
            let test = self.convert(test, &bools, condition.span);
            let a = self.convert(a, &shape, span);
            let b = self.convert(b, &shape, span);
            self.here(span);
            let parts: Parts = (0..shape.components().min(test.parts.len()))
                .filter_map(|i| Some((*test.parts.get(i)?, *a.parts.get(i)?, *b.parts.get(i)?)))
                .map(|(c, x, y)| self.builder.select(c, x, y))
                .collect();
            return Operand::Value(RValue::new(shape, parts));
        }
        let bit = self.truth(test, condition.span);
        if self.is_cheap(then) && self.is_cheap(otherwise) {
            let a = self.rvalue(then);
            let b = self.rvalue(otherwise);
            let ty = self.merged_type(&a, &b);
            let guess = self.is_guess(&a) || self.is_guess(&b);
            let a = self.convert(a, &ty, span);
            let b = self.convert(b, &ty, span);
            let (a, b) = (self.with_address(a, span), self.with_address(b, span));
            self.here(span);
            let mut parts = Parts::new();
            for (&x, &y) in a.parts.iter().zip(&b.parts) {
                let (x, y) = self.one_space(x, y);
                parts.push(self.builder.select(bit, x, y));
            }
            if guess {
                self.guesses.extend(parts.iter().copied());
            }
            return Operand::Value(RValue::new(ty, parts));
        }
        let (first, second, join) = (
            self.builder.create_block(),
            self.builder.create_block(),
            self.builder.create_block(),
        );
        self.here(condition.span);
        self.builder
            .branch(bit, first, second, BranchKind::Conditional);
        self.builder.switch_to(first);
        // An array is the address of its first element, not a copy.
        let a = self.rvalue(then);
        let a = self.decay(a);
        let a = self.with_address(a, span);
        let end_first = self.builder.current();
        self.builder.switch_to(second);
        let b = self.rvalue(otherwise);
        let b = self.decay(b);
        let b = self.with_address(b, span);
        let ty = self.merged_type(&a, &b);
        let guess = self.is_guess(&a) || self.is_guess(&b);
        let b = self.convert(b, &ty, span);
        let end_second = self.builder.current();
        self.builder.switch_to(end_first);
        let a = self.convert(a, &ty, span);
        let end_first = self.builder.current();
        let key = self.key(span);
        let place = self.new_place(&ty, &key, Some(&a.parts));
        let place = LValue {
            ty: ty.clone(),
            place,
            name: None,
            is_const: false,
        };
        self.builder.switch_to(end_first);
        self.store_silently(&place, a, span);
        self.builder.jump(join);
        self.builder.switch_to(end_second);
        self.store_silently(&place, b, span);
        self.builder.jump(join);
        self.builder.switch_to(join);
        let value = self.load_silently(&place, span);
        if guess {
            self.guesses.extend(value.parts.iter().copied());
        }
        Operand::Value(value)
    }

    pub(in crate::lower::c_family) fn one_space(&mut self, a: Value, b: Value) -> (Value, Value) {
        let (x, y) = (self.builder.function.ty(a), self.builder.function.ty(b));
        if x == y {
            return (a, b);
        }
        if let (Type::Ptr(_), Type::Ptr(_)) = (x, y) {
            if self.builder.function.int_constant(a) == Some(0) {
                return (self.builder.constant(y, 0), b);
            }
            if self.builder.function.int_constant(b) == Some(0) {
                return (a, self.builder.constant(x, 0));
            }
            let generic = Type::Ptr(Space::Generic);
            return (self.adapt(a, generic), self.adapt(b, generic));
        }
        let b = self.adapt(b, x);
        (a, b)
    }

    pub(in crate::lower::c_family) fn merged_type(&mut self, a: &RValue, b: &RValue) -> CType {
        if a.ty == b.ty {
            return a.ty.clone();
        }
        if !self.is_c() && (a.ty.is_code() || b.ty.is_code()) {
            return CType::Opaque(FUNCTION_POINTER.into());
        }
        if a.ty.is_numeric() && b.ty.is_numeric() {
            return self.common_type(&a.ty, &b.ty);
        }
        if a.ty.is_pointer() {
            if let (CType::Pointer { to, .. }, CType::Pointer { .. }) = (&a.ty, &b.ty)
                && to.is_void()
            {
                return b.ty.clone();
            }
            return a.ty.clone();
        }
        if b.ty.is_pointer() {
            return b.ty.clone();
        }
        if a.ty.is_void() || a.ty.is_unknown() {
            b.ty.clone()
        } else {
            a.ty.clone()
        }
    }
}
