//! Unary and binary operators, increments, conditions, and operators that users define.

mod ways;

use super::call::{Arg, Operand};
use super::classes::Callee;
use super::context::*;
use super::dispatch::may_bind;
use super::types::*;
use super::value::*;
use crate::entity::Value;
use crate::inst::{BinaryOp as Ir, *};
use crate::types::{Space, Type};
use smallvec::SmallVec;
use smol_str::SmolStr;
use std::sync::Arc;
use syntax::Span;
use syntax::c_family::ast::{self, BinaryOp, Expr, ExprKind, UnaryOp};

impl Context<'_> {
    fn comes_from_out_of_sight(&self, value: &RValue) -> bool {
        let function = &self.builder.function;
        let mut parts = value.parts.iter();
        !value.parts.is_empty()
            && parts.all(|&part| {
                let computed = function.defining(part);
                computed
                    .is_some_and(|data| matches!(data.op, Op::Unknown(_) | Op::CallUnknown { .. }))
            })
    }

    pub(super) fn unary(&mut self, op: UnaryOp, operand: &Expr, span: Span) -> Operand {
        match op {
            UnaryOp::AddressOf => {
                let place = match self.bound(operand) {
                    Operand::Place(place) => place,
                    // `&*f` of a pointer to a function.
                    Operand::Value(value) if value.ty.signature().is_some() => {
                        return Operand::Value(value);
                    }
                    Operand::Value(value) if matches!(value.ty, CType::Function(..)) => {
                        return Operand::Value(value);
                    }
                    // A function that is not visible returned a reference: what it refers to lies wherever it likes.
                    Operand::Value(value) if self.comes_from_out_of_sight(&value) => {
                        let ty = CType::pointer(value.ty.clone(), Space::Generic);
                        self.here(span);
                        let op = Op::CallUnknown {
                            name: SmolStr::new_static("operator&"),
                            pure: true,
                            convention: Default::default(),
                        };
                        let types = self.structs.parts(&ty).unwrap_or_default();
                        let inst = self.builder.inst(op, &value.parts, &types);
                        let parts: Parts = self.builder.results(inst).iter().copied().collect();
                        return Operand::Value(RValue::new(ty, parts));
                    }
                    Operand::Value(value) => LValue::value(value),
                };
                if matches!(place.ty, CType::Function(..)) {
                    self.give_storage(&place);
                }
                let space = match &place.place {
                    Place::Memory { access, .. } => access.space,
                    _ => Space::Generic,
                };
                let is_const = place.is_const;
                let read_only =
                    matches!(&place.place, Place::Memory { access, .. } if access.read_only);
                let ty = CType::Pointer {
                    to: Arc::new(place.ty.clone()),
                    space,
                    is_const,
                    restrict: read_only,
                    volatile: false,
                };
                if let Place::Memory { address, .. } = &place.place {
                    return Operand::Value(RValue::scalar(ty, *address));
                }
                Operand::Value(RValue::pointer_to(ty, place))
            }
            UnaryOp::Dereference => {
                let pointer = self.expr(operand);
                if let CType::Struct(_) = pointer.ty().value_type() {
                    let place = match pointer {
                        Operand::Place(place) => place,
                        Operand::Value(value) => LValue::value(value),
                    };
                    return self
                        .operator_call("*", &[(Operand::Place(place), operand.span)], span)
                        .unwrap_or_else(|| {
                            Operand::Value(self.unknown("operator*", &[], &CType::INT, span))
                        });
                }
                let value = self.take(pointer, operand.span);
                // A function is its address again.
                if self.is_c()
                    && (value.ty.signature().is_some() || matches!(value.ty, CType::Function(..)))
                {
                    return Operand::Value(value);
                }
                Operand::Place(self.dereference(&value, span))
            }
            UnaryOp::PreIncrement
            | UnaryOp::PreDecrement
            | UnaryOp::PostIncrement
            | UnaryOp::PostDecrement => self.increment(op, operand, span),
            UnaryOp::Plus | UnaryOp::Minus | UnaryOp::Not | UnaryOp::BitNot => {
                let operand_value = self.expr(operand);
                if matches!(operand_value.ty(), CType::Struct(_))
                    || (!self.is_hlsl() && matches!(operand_value.ty(), CType::Vector { .. }))
                {
                    let symbol = match op {
                        UnaryOp::Plus => "+",
                        UnaryOp::Minus => "-",
                        UnaryOp::Not => "!",
                        _ => "~",
                    };
                    if let Some(result) =
                        self.operator_call(symbol, &[(operand_value.clone(), operand.span)], span)
                    {
                        return result;
                    }
                }
                let operand_value = self.converted_operand(operand_value, operand.span);
                let value = self.take(operand_value, operand.span);
                Operand::Value(self.unary_value(op, value, span))
            }
        }
    }

    pub(super) fn unary_value(&mut self, op: UnaryOp, value: RValue, span: Span) -> RValue {
        self.here(span);
        let pointer_test = op == UnaryOp::Not && value.ty.is_pointer();
        if !(value.ty.is_numeric() || pointer_test) {
            if op == UnaryOp::Not {
                let truth = self.truth(value, span);
                let negated = self.builder.unary(crate::inst::UnaryOp::Not, truth);
                return RValue::scalar(CType::Bool, negated);
            }
            let parts = value.parts.clone();
            let message = match &value.ty {
                CType::Opaque(name) => format!("`{name}` is not declared here"),
                _ => "operator on a value that is no number".to_string(),
            };
            return self.unknown(message, &parts, &value.ty, span);
        }
        match op {
            UnaryOp::Plus => {
                let ty = value.ty.with_element(self.promote(value.ty.element()));
                self.convert(value, &ty, span)
            }
            UnaryOp::Minus => self.negate(value, span),
            UnaryOp::Not => {
                if value.ty.components() == 1 {
                    let truth = self.truth(value, span);
                    return RValue::scalar(CType::Bool, self.not(truth));
                }
                let bools = value.ty.with_element(CType::Bool);
                let value = self.convert(value, &bools, span);
                self.map(&value, &CType::Bool, |cx, v| cx.not(v))
            }
            _ => {
                let element = self.promote(value.ty.element());
                let ty = value.ty.with_element(element.clone());
                let value = self.convert(value, &ty, span);
                self.here(span);
                self.map(&value, &element, |cx, v| {
                    if let Some(known) = cx.builder.function.int_constant(v) {
                        let ty = cx.builder.function.ty(v);
                        return cx.builder.int(ty, !known);
                    }
                    if cx.builder.function.ty(v).is_float() {
                        return cx.builder.unknown("~ of a float", &[v], Type::F32);
                    }
                    cx.builder.unary(crate::inst::UnaryOp::Not, v)
                })
            }
        }
    }

    pub fn not(&mut self, value: Value) -> Value {
        match self.builder.function.int_constant(value) {
            Some(known) => self.builder.bool(known == 0),
            None => self.builder.unary(crate::inst::UnaryOp::Not, value),
        }
    }

    pub(super) fn increment(&mut self, op: UnaryOp, operand: &Expr, span: Span) -> Operand {
        let place = self.written_place(operand);
        let symbol = if matches!(op, UnaryOp::PreIncrement | UnaryOp::PostIncrement) {
            "++"
        } else {
            "--"
        };
        if let CType::Struct(_) = place.ty {
            let mut arguments = vec![(Operand::Place(place), operand.span)];
            if matches!(op, UnaryOp::PostIncrement | UnaryOp::PostDecrement) {
                let zero = self.builder.int(Type::I32, 0);
                arguments.push((Operand::Value(RValue::scalar(CType::INT, zero)), span));
            }
            return self
                .operator_call(symbol, &arguments, span)
                .unwrap_or_else(|| {
                    Operand::Value(self.unknown("increment of a structure", &[], &CType::INT, span))
                });
        }
        let old = self.load_silently(&place, span);
        self.here(span);
        let one = RValue::scalar(CType::INT, self.builder.int(Type::I32, 1));
        let binary = if symbol == "++" {
            BinaryOp::Add
        } else {
            BinaryOp::Sub
        };
        let new = self.binary_values(binary, old.clone(), one, span);
        let new = self.convert(new, &place.ty, span);
        self.store(&place, new, span);
        match op {
            UnaryOp::PreIncrement | UnaryOp::PreDecrement => {
                let mut silent = place;
                silent.name = None;
                Operand::Place(silent)
            }
            _ => Operand::Value(old),
        }
    }

    pub(super) fn binary(
        &mut self,
        op: BinaryOp,
        left: &Expr,
        right: &Expr,
        op_span: Span,
        whole: &Expr,
    ) -> Operand {
        // Long chains of one operator nest to the left; they are walked here, not by recursion.
        if matches!(op, BinaryOp::LogicalAnd | BinaryOp::LogicalOr) {
            let a = self.expr(left);
            let vector = self.is_hlsl() && a.ty().components() > 1;
            if !vector {
                let a = self.take(a, left.span);
                return Operand::Value(self.logical(op, a, left, right, op_span));
            }
            let a = self.take(a, left.span);
            let b = self.rvalue(right);
            return Operand::Value(self.arithmetic(op, a, b, op_span));
        }
        let mut chain: SmallVec<[(BinaryOp, &Expr, Span, Span); 8]> = SmallVec::new();
        chain.push((op, right, op_span, whole.span));
        let mut start = left;
        while let ExprKind::Binary {
            op,
            left,
            right,
            op_span,
        } = &start.kind
        {
            if matches!(op, BinaryOp::LogicalAnd | BinaryOp::LogicalOr) {
                break;
            }
            chain.push((*op, right, *op_span, start.span));
            start = left;
        }
        let first = chain.last().map_or(op, |link| link.0);
        let mut operand = self.operand(first, start, 0);
        let mut operand_span = start.span;
        for (op, right, op_span, span) in chain.into_iter().rev() {
            let right_operand = self.operand(op, right, 1);
            operand = self.binary_operands(
                op,
                operand,
                operand_span,
                right_operand,
                right.span,
                op_span,
                span,
            );
            operand_span = span;
        }
        operand
    }

    /// An operand; of an operator that a user may have defined for it, `c ? a : b` is the place of an arm.
    fn operand(&mut self, op: BinaryOp, e: &Expr, at: usize) -> Operand {
        if let Some(chosen) = self.chosen_place(e) {
            let ty = self.type_of(e);
            let name = SmolStr::new(format!("operator{}", op.symbol()));
            if self.may_overload(&ty) {
                let mut bound = may_bind(&self.functions_named(std::slice::from_ref(&name)), at);
                if let CType::Struct(id) = *ty.value_type() {
                    let methods = self.methods(id, &name, 0);
                    let writes =
                        |callee: &Callee| callee.function.function().is_none_or(|f| !f.is_const);
                    bound |= at == 0 && methods.iter().any(writes);
                }
                if bound {
                    return self.expr(&chosen);
                }
            }
        }
        self.expr(e)
    }

    #[allow(clippy::too_many_arguments)]
    pub(super) fn binary_operands(
        &mut self,
        op: BinaryOp,
        left: Operand,
        left_span: Span,
        right: Operand,
        right_span: Span,
        op_span: Span,
        span: Span,
    ) -> Operand {
        if self.may_overload(left.ty()) || self.may_overload(right.ty()) {
            let symbol = op.symbol();
            let arguments = [(left.clone(), left_span), (right.clone(), right_span)];
            if let Some(result) = self.operator_call(symbol, &arguments, op_span) {
                return result;
            }
        }
        let left = self.converted_operand(left, left_span);
        let right = self.converted_operand(right, right_span);
        let left = self.take(left, left_span);
        let right = self.take(right, right_span);
        self.here(span);
        Operand::Value(self.binary_values(op, left, right, op_span))
    }

    pub(super) fn may_overload(&self, ty: &CType) -> bool {
        match ty.value_type() {
            CType::Struct(_) | CType::Enum { .. } => true,
            CType::Vector { .. } => !self.is_hlsl(),
            _ => false,
        }
    }

    /// `left op right` of values, pointers included; no user-defined operators.
    pub fn binary_values(
        &mut self,
        op: BinaryOp,
        left: RValue,
        right: RValue,
        span: Span,
    ) -> RValue {
        self.here(span);
        let left = self.decay(left);
        let right = self.decay(right);
        let (left, right) = (self.handle_bits(left), self.handle_bits(right));
        if left.ty.is_numeric() && right.ty.is_numeric() {
            let of_bits = matches!(
                op,
                BinaryOp::Shl
                    | BinaryOp::Shr
                    | BinaryOp::BitAnd
                    | BinaryOp::BitOr
                    | BinaryOp::BitXor
            );
            let float = [&left.ty, &right.ty].map(|ty| ty.element().is_float());
            if of_bits && float.contains(&true) {
                let parts: Parts = left.parts.iter().chain(&right.parts).copied().collect();
                let message = format!("operator {} of a floating-point number", op.symbol());
                let ty = match float[0] {
                    true => right.ty.clone(),
                    false => left.ty.clone(),
                };
                let ty = match ty.element().is_float() {
                    true => CType::INT,
                    false => ty,
                };
                return self.unknown(message, &parts, &ty, span);
            }
            return self.arithmetic(op, left, right, span);
        }
        let comparison = matches!(
            op,
            BinaryOp::Less
                | BinaryOp::LessEqual
                | BinaryOp::Greater
                | BinaryOp::GreaterEqual
                | BinaryOp::Equal
                | BinaryOp::NotEqual
        );
        if comparison && let Some(bit) = self.compared_unseen(&left, &right, span) {
            return bit;
        }
        match (&left.ty, &right.ty) {
            (CType::Pointer { .. }, r) if r.is_integer() && !comparison => {
                self.move_pointer(left, right, op == BinaryOp::Sub, span)
            }
            (l, CType::Pointer { .. }) if l.is_integer() && op == BinaryOp::Add => {
                self.move_pointer(right, left, false, span)
            }
            (CType::Pointer { to, .. }, CType::Pointer { .. }) if op == BinaryOp::Sub => {
                let to = (**to).clone();
                let (a, b) = (
                    self.with_address(left, span),
                    self.with_address(right, span),
                );
                let (Some(a), Some(b)) = (a.first(), b.first()) else {
                    return self.unknown("pointer difference", &[], &CType::LONG, span);
                };
                self.here(span);
                let a = self.builder.convert(Convert::Bitcast, a, Type::I64);
                let b = self.builder.convert(Convert::Bitcast, b, Type::I64);
                let difference = self.fold(Ir::Sub, Wrap::NO_SIGNED, a, b);
                let size = self.size_value(&to);
                let count = self.fold(Ir::DivSigned, Wrap::MAY, difference, size);
                let count = RValue::scalar(CType::LONG, count);
                match self.options.long_32bit {
                    true => self.convert(count, &CType::INT, span),
                    false => count,
                }
            }
            _ if comparison && (left.ty.is_pointer() || right.ty.is_pointer()) => {
                let (a, b) = (
                    self.with_address(left, span),
                    self.with_address(right, span),
                );
                let (Some(a), Some(b)) = (a.first(), b.first()) else {
                    return self.unknown("pointer comparison", &[], &CType::Bool, span);
                };
                self.here(span);
                let ty = match (self.builder.function.ty(a), self.builder.function.ty(b)) {
                    (ty @ Type::Ptr(_), Type::Ptr(_) | Type::I64 | Type::I32) => ty,
                    (_, ty) => ty,
                };
                let a = self.same_pointer(a, ty);
                let b = self.same_pointer(b, ty);
                let bit = self.compare_ints(op, a, b, false);
                RValue::scalar(CType::Bool, bit)
            }
            _ if comparison && left.parts.len() == 1 && right.parts.len() == 1 => {
                let a = left.parts[0];
                let ty = self.builder.function.ty(a);
                let b = self.adapt(right.parts[0], ty);
                if ty.is_integral() || matches!(ty, Type::Opaque | Type::Handle) {
                    let condition = if op == BinaryOp::NotEqual {
                        IntCondition::NotEqual
                    } else {
                        IntCondition::Equal
                    };
                    let bit = self.builder.int_compare(condition, a, b);
                    return RValue::scalar(CType::Bool, bit);
                }
                self.unknown("comparison", &[a, b], &CType::Bool, span)
            }
            _ => {
                let mut parts = left.parts.clone();
                parts.extend(right.parts.iter().copied());
                let ty = if comparison {
                    CType::Bool
                } else if left.ty.is_numeric() {
                    left.ty.clone()
                } else if right.ty.is_numeric() {
                    right.ty.clone()
                } else {
                    left.ty.clone()
                };
                let undeclared = [&left.ty, &right.ty].into_iter().find_map(|ty| match ty {
                    CType::Opaque(name) => Some(name),
                    _ => None,
                });
                let message = match undeclared {
                    Some(name) => format!("`{name}` is not declared here"),
                    None => format!(
                        "operator {} of `{}` and `{}`",
                        op.symbol(),
                        self.structs.display(&left.ty),
                        self.structs.display(&right.ty)
                    ),
                };
                self.unknown(message, &parts, &ty, span)
            }
        }
    }

    pub(super) fn same_pointer(&mut self, value: Value, ty: Type) -> Value {
        if self.builder.function.int_constant(value) == Some(0) {
            return self.builder.constant(ty, 0);
        }
        self.adapt(value, ty)
    }

    /// An array without scalars as the address of its first element.
    pub fn decay(&mut self, value: RValue) -> RValue {
        if self.is_c() && matches!(value.ty, CType::Function(..)) {
            return self.code_address(value, Span::default());
        }
        if let CType::Array { element, .. } = &value.ty
            && !self.is_hlsl()
        {
            let element = (**element).clone();
            let ty = CType::pointer(element.clone(), Space::Generic);
            if let Some(target) = value.target.clone() {
                let address = self.address(&target, Span::default());
                if let Some(address) = address {
                    return RValue::scalar(ty, address);
                }
            }
            let mut place = LValue::value(value);
            place.ty = CType::array(element, ArraySize::Unknown);
            let address = self.address(&place, Span::default());
            if let Some(address) = address {
                return RValue::scalar(ty, address);
            }
            return self.undefined(&ty);
        }
        value
    }

    /// `pointer + index`.
    /// CUDA's texture and surface objects are numbers, put together by shifts.
    fn handle_bits(&mut self, value: RValue) -> RValue {
        if self.is_hlsl() || !matches!(value.ty, CType::Resource(_)) {
            return value;
        }
        let op = Op::CallUnknown {
            name: "texture object".into(),
            pure: true,
            convention: Default::default(),
        };
        let bits = self.builder.value(op, &value.parts, Type::I64);
        RValue::scalar(CType::ULONG, bits)
    }

    pub(super) fn move_pointer(
        &mut self,
        pointer: RValue,
        index: RValue,
        negative: bool,
        span: Span,
    ) -> RValue {
        let CType::Pointer { to, .. } = &pointer.ty else {
            return pointer;
        };
        let to = (**to).clone();
        let mut number = self.index_value(&index, span);
        if negative {
            let zero = self.builder.int(Type::I64, 0);
            number = self.fold(Ir::Sub, Wrap::NO_SIGNED, zero, number);
        }
        if self.builder.function.int_constant(number) == Some(0) {
            return pointer;
        }
        let pointer = self.with_address(pointer, span);
        let Some(address) = pointer.first() else {
            return pointer;
        };
        self.here(span);
        let address = self.element_address(address, number, &to);
        RValue::scalar(pointer.ty, address)
    }

    /// A user's operator, as a method of the left operand or as a free function. `None`: there is none that fits.
    pub fn operator_call(
        &mut self,
        symbol: &str,
        operands: &[(Operand, Span)],
        span: Span,
    ) -> Option<Operand> {
        let name = format!("operator{symbol}");
        let (first, _) = operands.first()?;
        if let CType::Struct(id) = first.ty().value_type() {
            let mut methods = self.methods(*id, &name, 0);
            methods.retain(|m| !is_friend(m));
            if !methods.is_empty() {
                let object = match first {
                    Operand::Place(place) => place.clone(),
                    Operand::Value(value) => LValue::value(value.clone()),
                };
                let arguments: Vec<Arg<'_>> = operands[1..]
                    .iter()
                    .map(|(operand, span)| Arg {
                        operand: operand.clone(),
                        span: *span,
                        list: None,
                    })
                    .collect();
                let found = self.call_method(&object, methods, &[], &arguments, span);
                if found.is_some() {
                    return found;
                }
            }
        }
        let mut candidates = self.functions_named(&[SmolStr::new(&name)]);
        // Friends that are defined in the class of an operand are found by that operand alone.
        let mut classes: Vec<StructId> = Vec::new();
        for (operand, _) in operands {
            if let CType::Struct(id) = *operand.ty().value_type()
                && !classes.contains(&id)
            {
                classes.push(id);
                let mut friends = self.methods(id, &name, 0);
                friends.retain(is_friend);
                candidates.extend(friends);
            }
        }
        if candidates.is_empty() {
            return None;
        }
        let arguments: Vec<Arg<'_>> = operands
            .iter()
            .map(|(operand, span)| Arg {
                operand: operand.clone(),
                span: *span,
                list: None,
            })
            .collect();
        self.call_overloaded(candidates, &[], None, &arguments, span, 60)
    }
}

/// Defined in a class, and no member of it.
fn is_friend(callee: &super::classes::Callee) -> bool {
    callee.function.function().is_some_and(|f| {
        f.specifiers.words.has(ast::SpecifierSet::FRIEND)
            && matches!(f.body, ast::FunctionBody::Block(_))
    })
}
