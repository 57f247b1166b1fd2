//! Conversions and arithmetic: integer promotions, the usual arithmetic conversions, scalar to vector broadcast, HLSL's
//! truncation of vectors, and the choice of signed or unsigned operations.
//!
//! Constants are folded as they are built, so that sizes, offsets and strides are literals. Signed arithmetic of C++
//! is marked as not wrapping, since overflow is undefined there; HLSL's wraps, and so does unsigned arithmetic.

use super::context::Context;
use super::types::*;
use super::value::*;
use crate::entity::Value;
use crate::inst::{BinaryOp as Ir, *};
use crate::types::{Space, Type};
use syntax::Span;
use syntax::c_family::ast::BinaryOp;

impl Context<'_> {
    // -------------------------------------------------------------------------------------------- implicit conversion

    /// The value converted to `to`, as an initialisation or assignment does. A value that does not convert
    /// becomes unknown.
    pub fn convert(&mut self, value: RValue, to: &CType, span: Span) -> RValue {
        let to = to.value_type();
        if value.ty == *to {
            return value;
        }
        if self.is_c() && matches!(value.ty, CType::Function(..)) && !to.is_void() {
            let value = self.code_address(value, span);
            return self.convert(value, to, span);
        }
        self.here(span);
        if !matches!(to, CType::Void | CType::Unknown)
            && (to.components() != value.ty.components() || !to.is_numeric() && !to.is_pointer())
            && self.is_guess(&value)
        {
            return self.guess_as(&value, to, span);
        }
        if let Some(made) = self.converted_unseen(&value, to, span) {
            return made;
        }
        if let CType::Resource(_) | CType::Array { .. } = value.ty
            && self.is_hlsl()
            && let Some(converted) = super::resources::convert(self, &value, to, span)
        {
            return converted;
        }
        match (&value.ty, to) {
            (_, CType::Void) => RValue::void(),
            (_, CType::Unknown) => value,
            // A function or lambda stays what it is: calls through the pointer know their callee.
            (CType::Function(..) | CType::Lambda(_), CType::Pointer { .. } | CType::Opaque(_)) => {
                value
            }
            (CType::Struct(_) | CType::Array { .. }, _)
                if value.parts.is_empty() && value.target.is_some() =>
            {
                let target = value.target.clone();
                let compatible = matches!(&value.ty, CType::Struct(a) if matches!(to, CType::Struct(b) if a == b));
                if compatible {
                    return value;
                }
                if let (CType::Array { element, .. }, CType::Pointer { .. }, Some(target)) =
                    (&value.ty, to, target)
                {
                    let mut first = (*target).clone();
                    first.ty = (**element).clone();
                    return RValue::pointer_to(to.clone(), first);
                }
                self.fail(&value, to, span)
            }
            (CType::Array { .. }, CType::Pointer { .. }) if !self.is_hlsl() => {
                let first = self.decay(value);
                match first.ty.is_pointer() {
                    true => self.convert(first, to, span),
                    false => self.fail(&first, to, span),
                }
            }
            // Pointers keep the space of the value that they hold; the type only says what they point to.
            (CType::Pointer { .. }, CType::Pointer { .. }) => {
                if value.target.is_some() && value.parts.is_empty() {
                    return self.retarget(value, to, span);
                }
                RValue {
                    ty: to.clone(),
                    ..value
                }
            }
            (CType::Pointer { .. }, CType::Bool) => {
                if value.parts.is_empty() {
                    let found = self.builder.bool(true);
                    return RValue::scalar(CType::Bool, found);
                }
                let v = value.parts[0];
                let bit = self.builder.convert(Convert::ToBool, v, Type::Bool);
                RValue::scalar(CType::Bool, bit)
            }
            (CType::Pointer { .. }, CType::Int { bits, .. }) => {
                let value = self.with_address(value, span);
                let Some(address) = value.first() else {
                    return self.fail(&value, to, span);
                };
                let address = self.seen_address(address);
                let wide = self.builder.convert(Convert::Bitcast, address, Type::I64);
                let narrow = self.adapt(wide, Type::int(*bits as u32));
                RValue::scalar(to.clone(), narrow)
            }
            (from, CType::Pointer { space, .. }) if from.is_integer() => {
                // An address that has 32 bits in memory has no others that are set.
                let (mut number, mut from) = (value.parts[0], &value.ty);
                if self.structs.narrow_addresses {
                    number = self.convert_scalar(number, from, &CType::UINT);
                    from = &CType::UINT;
                }
                let wide = self.convert_scalar(number, from, &CType::int(64, false));
                if self.builder.function.int_constant(wide) == Some(0) {
                    let null = self.builder.constant(Type::Ptr(*space), 0);
                    return RValue::scalar(to.clone(), null);
                }
                let address = self
                    .builder
                    .convert(Convert::Bitcast, wide, Type::Ptr(*space));
                RValue::scalar(to.clone(), address)
            }
            (from, to) if from.is_numeric() && to.is_numeric() => {
                self.convert_numeric(value, to, span)
            }
            // HLSL: structures and arrays of numbers convert component by component; a scalar zero fills a structure.
            (from, CType::Struct(_) | CType::Array { .. })
                if self.is_hlsl() && from.is_arithmetic() =>
            {
                let Some(types) = self.structs.parts(to) else {
                    return self.fail(&value, to, span);
                };
                let scalar = value.parts[0];
                let parts: Parts = types.iter().map(|&t| self.adapt(scalar, t)).collect();
                RValue::new(to.clone(), parts)
            }
            _ => {
                // Same scalars under another name: opaque types, references to bases.
                let have: Option<_> = self.structs.parts(&value.ty);
                let want = self.structs.parts(to);
                match (have, want) {
                    (Some(a), Some(b)) if a.len() == b.len() && value.parts.len() == b.len() => {
                        let parts: Parts = value
                            .parts
                            .iter()
                            .zip(&b)
                            .map(|(&v, &t)| self.adapt(v, t))
                            .collect();
                        RValue::new(to.clone(), parts)
                    }
                    (Some(_), Some(b))
                        if value.parts.len() > b.len() && !b.is_empty() && !to.is_pointer() =>
                    {
                        // A derived structure as its first base.
                        let parts: Parts = b
                            .iter()
                            .zip(value.parts.clone())
                            .map(|(&t, v)| self.adapt(v, t))
                            .collect();
                        RValue::new(to.clone(), parts)
                    }
                    _ => self.fail(&value, to, span),
                }
            }
        }
    }

    fn fail(&mut self, value: &RValue, to: &CType, span: Span) -> RValue {
        if value.ty.is_unknown() || to.is_unknown() {
            let parts = value.parts.clone();
            let types = self.structs.parts(to).unwrap_or_default();
            if types.len() == parts.len() {
                let parts: Parts = parts
                    .iter()
                    .zip(&types)
                    .map(|(&v, &t)| self.adapt(v, t))
                    .collect();
                return RValue::new(to.clone(), parts);
            }
        }
        let message = match (&value.ty, to) {
            (CType::Opaque(name), _) | (_, CType::Opaque(name)) => {
                format!("`{name}` is not declared here")
            }
            _ => format!(
                "conversion from `{}` to `{}`",
                self.structs.display(&value.ty),
                self.structs.display(to)
            ),
        };
        let parts = value.parts.clone();
        self.unknown(message, &parts, to, span)
    }

    /// An address as a program sees its number: the space that it is known to lie in may count from a base of its own.
    fn seen_address(&mut self, address: Value) -> Value {
        let own = Type::Ptr(Space::Generic);
        match self.builder.function.ty(address) {
            Type::Ptr(Space::Constant | Space::Shared | Space::Local) if !self.is_c() => {
                self.builder.convert(Convert::SpaceCast, address, own)
            }
            _ => address,
        }
    }

    fn convert_numeric(&mut self, value: RValue, to: &CType, span: Span) -> RValue {
        let (have, want) = (value.ty.components(), to.components());
        if value.parts.len() != have {
            return self.fail(&value, to, span);
        }
        let (from_element, to_element) = (value.ty.element().clone(), to.element().clone());
        let source: Parts = match (&value.ty, to) {
            // Upper left corner.
            (
                CType::Matrix { rows, columns, .. },
                CType::Matrix {
                    rows: to_rows,
                    columns: to_columns,
                    ..
                },
            ) if rows != to_rows || columns != to_columns => {
                if to_rows > rows || to_columns > columns {
                    return self.fail(&value, to, span);
                }
                (0..*to_rows as usize)
                    .flat_map(|r| (0..*to_columns as usize).map(move |c| (r, c)))
                    .map(|(r, c)| value.parts[r * *columns as usize + c])
                    .collect()
            }
            _ if have == want => value.parts.clone(),
            _ if have == 1 => std::iter::repeat_n(value.parts[0], want).collect(),
            _ if have > want => value.parts[..want].iter().copied().collect(),
            _ => return self.fail(&value, to, span),
        };
        let guess = self.is_guess(&value);
        let broadcast = have == 1 && want > 1;
        let mut parts = Parts::new();
        for &part in &source {
            if broadcast && let Some(&first) = parts.first() {
                parts.push(first);
            } else {
                let converted = self.convert_scalar(part, &from_element, &to_element);
                parts.push(converted);
            }
        }
        if guess && want > 1 {
            self.guesses.extend(parts.iter().copied());
        }
        RValue::new(to.clone(), parts)
    }

    /// One scalar (no vectors) converted between arithmetic types.
    pub fn convert_scalar(&mut self, value: Value, from: &CType, to: &CType) -> Value {
        let (Some(have), Some(want)) = (from.scalar_ir(), to.scalar_ir()) else {
            return value;
        };
        if *to == CType::Bool {
            if have == Type::Bool {
                return value;
            }
            if let Some(known) = self.builder.function.int_constant(value) {
                return self.builder.bool(known != 0);
            }
            return self.builder.convert(Convert::ToBool, value, Type::Bool);
        }
        if have == want {
            return value;
        }
        if let Some(known) = self.builder.function.int_constant(value) {
            let known = truncate(known, have, from.is_signed());
            if want.is_int() {
                return self.builder.int(want, known);
            }
            if want.is_float() {
                let number = if from.is_signed() || have != Type::I64 {
                    known as f64
                } else {
                    known as u64 as f64
                };
                return self.builder.float(want, number);
            }
        }
        let kind = match (have, want) {
            (a, b) if a.is_float() && b.is_float() => {
                if let Some(number) = self.float_constant(value) {
                    return self.builder.float(want, number);
                }
                Convert::FloatToFloat
            }
            (a, b) if a.is_float() && b.is_int() => {
                if to.is_signed() {
                    Convert::FloatToSigned
                } else {
                    Convert::FloatToUnsigned
                }
            }
            (a, b) if (a.is_int() || a == Type::Bool) && b.is_float() => {
                if from.is_signed() {
                    Convert::SignedToFloat
                } else {
                    Convert::UnsignedToFloat
                }
            }
            (a, b) if (a.is_int() || a == Type::Bool) && b.is_int() => {
                if a.bits() > b.bits() {
                    Convert::Truncate
                } else if from.is_signed() && a != Type::Bool {
                    Convert::SignExtend
                } else {
                    Convert::ZeroExtend
                }
            }
            _ => return self.adapt(value, want),
        };
        self.builder.convert(kind, value, want)
    }

    /// The number that a float literal is.
    pub fn float_constant(&self, value: Value) -> Option<f64> {
        let function = &self.builder.function;
        match (&function.defining(value)?.op, function.ty(value)) {
            (Op::Const(bits), Type::F32) => Some(f32::from_bits(*bits as u32) as f64),
            (Op::Const(bits), Type::F64) => Some(f64::from_bits(*bits)),
            _ => None,
        }
    }

    /// A value as a condition.
    pub fn truth(&mut self, value: RValue, span: Span) -> Value {
        self.here(span);
        if value.parts.is_empty() {
            if value.target.is_some() && value.ty.is_pointer() {
                return self.builder.bool(true);
            }
            return self
                .builder
                .unknown("condition without a value", &[], Type::Bool);
        }
        let scalar = RValue::scalar(value.ty.element().clone(), value.parts[0]);
        if let Some(bit) = self.converted_unseen(&scalar, &CType::Bool, span)
            && let Some(bit) = bit.first()
        {
            return bit;
        }
        match scalar.ty {
            CType::Pointer { .. } => {
                self.builder
                    .convert(Convert::ToBool, scalar.parts[0], Type::Bool)
            }
            ref ty if ty.is_arithmetic() => {
                let ty = ty.clone();
                self.convert_scalar(scalar.parts[0], &ty, &CType::Bool)
            }
            _ => {
                let v = scalar.parts[0];
                if self.builder.function.ty(v) == Type::Bool {
                    v
                } else {
                    self.builder.convert(Convert::ToBool, v, Type::Bool)
                }
            }
        }
    }

    // -------------------------------------------------------------------------------------------- arithmetic types

    /// Integer promotion. HLSL has none.
    pub fn promote(&self, ty: &CType) -> CType {
        match ty {
            CType::Enum { bits, signed, .. } if *bits >= 32 => CType::int(*bits, *signed),
            CType::Enum { .. } => CType::INT,
            CType::Bool => CType::INT,
            CType::Int { bits, .. } if *bits < 32 && !self.is_hlsl() => CType::INT,
            other => other.clone(),
        }
    }

    /// The common scalar type of two arithmetic scalars.
    pub fn common_scalar(&self, a: &CType, b: &CType) -> CType {
        let (a, b) = (self.promote(a), self.promote(b));
        match (&a, &b) {
            (CType::Float(x), CType::Float(y)) => CType::Float(*x.max(y)),
            (CType::Float(_), _) => a,
            (_, CType::Float(_)) => b,
            (
                CType::Int {
                    bits: x,
                    signed: sx,
                },
                CType::Int {
                    bits: y,
                    signed: sy,
                },
            ) => {
                if x == y {
                    CType::int(*x, *sx && *sy)
                } else if x > y {
                    a
                } else {
                    b
                }
            }
            _ => a,
        }
    }

    /// The common type of two numeric operands, vectors included: the smaller vector rules, scalars broadcast.
    pub fn common_type(&self, a: &CType, b: &CType) -> CType {
        let element = self.common_scalar(a.element(), b.element());
        match (a.components(), b.components()) {
            (1, 1) if a.is_arithmetic() && b.is_arithmetic() => element,
            (1, _) => b.with_element(element),
            (_, 1) => a.with_element(element),
            (x, y) if x <= y => a.with_element(element),
            _ => b.with_element(element),
        }
    }

    /// Returns whether signed arithmetic may wrap in this language.
    pub fn signed_wrap(&self, ty: &CType) -> Wrap {
        if !self.is_hlsl() && ty.is_signed() && ty.is_integer() {
            Wrap::NO_SIGNED
        } else {
            Wrap::MAY
        }
    }

    // -------------------------------------------------------------------------------------------- arithmetic

    /// `left op right` of numeric operands, after the usual conversions. Comparisons give Bool (vectors of Bool).
    pub fn arithmetic(&mut self, op: BinaryOp, left: RValue, right: RValue, span: Span) -> RValue {
        let shift = matches!(op, BinaryOp::Shl | BinaryOp::Shr);
        let (common, right_ty) = if shift {
            let left_element = self.promote(left.ty.element());
            let shape = self.common_type(&left.ty, &right.ty);
            let right_element = self.promote(right.ty.element());
            (
                shape.with_element(left_element),
                shape.with_element(right_element),
            )
        } else {
            let common = self.common_type(&left.ty, &right.ty);
            (common.clone(), common)
        };
        let left = self.convert(left, &common, span);
        let right = self.convert(right, &right_ty, span);
        self.here(span);
        let element = common.element().clone();
        let result = match op {
            BinaryOp::Less
            | BinaryOp::LessEqual
            | BinaryOp::Greater
            | BinaryOp::GreaterEqual
            | BinaryOp::Equal
            | BinaryOp::NotEqual
            | BinaryOp::LogicalAnd
            | BinaryOp::LogicalOr => common.with_element(CType::Bool),
            BinaryOp::Spaceship => common.with_element(CType::INT),
            _ => common.clone(),
        };
        let mut parts = Parts::new();
        for (&a, &b) in left.parts.iter().zip(&right.parts) {
            let part = self.scalar_op(op, a, b, &element);
            parts.push(part);
        }
        if parts.len() > 1 {
            self.builder.vector(&parts);
        }
        let value = RValue::new(result, parts);
        self.note_guess(&[&left, &right], &value);
        value
    }

    /// One scalar operation on operands of the same type `ty` (of a shift, the left operand's).
    pub fn scalar_op(&mut self, op: BinaryOp, a: Value, b: Value, ty: &CType) -> Value {
        use BinaryOp as B;
        let signed = ty.is_signed();
        let float = ty.is_float();
        let wrap = self.signed_wrap(ty);
        let pick = |s: Ir, u: Ir| if signed { s } else { u };
        match op {
            B::Add if float => self.builder.binary(Ir::FloatAdd, Wrap::MAY, a, b),
            B::Sub if float => self.builder.binary(Ir::FloatSub, Wrap::MAY, a, b),
            B::Mul if float => self.builder.binary(Ir::FloatMul, Wrap::MAY, a, b),
            B::Div if float => self.builder.binary(Ir::FloatDiv, Wrap::MAY, a, b),
            B::Rem if float => self.builder.binary(Ir::FloatRem, Wrap::MAY, a, b),
            B::Add => self.fold(Ir::Add, wrap, a, b),
            B::Sub => self.fold(Ir::Sub, wrap, a, b),
            B::Mul => self.fold(Ir::Mul, wrap, a, b),
            B::Div => self.fold(pick(Ir::DivSigned, Ir::DivUnsigned), Wrap::MAY, a, b),
            B::Rem => self.fold(pick(Ir::RemSigned, Ir::RemUnsigned), Wrap::MAY, a, b),
            B::Shl => self.fold(Ir::Shl, Wrap::MAY, a, b),
            B::Shr => self.fold(pick(Ir::ShrSigned, Ir::ShrUnsigned), Wrap::MAY, a, b),
            B::BitAnd => self.fold(Ir::And, Wrap::MAY, a, b),
            B::BitOr => self.fold(Ir::Or, Wrap::MAY, a, b),
            B::BitXor => self.fold(Ir::Xor, Wrap::MAY, a, b),
            B::LogicalAnd | B::LogicalOr => {
                let x = self.convert_scalar(a, ty, &CType::Bool);
                let y = self.convert_scalar(b, ty, &CType::Bool);
                let op = if op == B::LogicalAnd { Ir::And } else { Ir::Or };
                self.fold(op, Wrap::MAY, x, y)
            }
            B::Less | B::LessEqual | B::Greater | B::GreaterEqual | B::Equal | B::NotEqual => {
                if float {
                    let condition = match op {
                        B::Less => FloatCondition::Less,
                        B::LessEqual => FloatCondition::LessEqual,
                        B::Greater => FloatCondition::Greater,
                        B::GreaterEqual => FloatCondition::GreaterEqual,
                        B::Equal => FloatCondition::Equal,
                        _ => FloatCondition::NotEqualUnordered,
                    };
                    self.builder.float_compare(condition, a, b)
                } else {
                    self.compare_ints(op, a, b, signed)
                }
            }
            B::Spaceship => {
                let less = self.scalar_op(B::Less, a, b, ty);
                let greater = self.scalar_op(B::Greater, a, b, ty);
                let one = self.builder.int(Type::I32, 1);
                let zero = self.builder.int(Type::I32, 0);
                let minus = self.builder.int(Type::I32, -1);
                let positive = self.builder.select(greater, one, zero);
                self.builder.select(less, minus, positive)
            }
            B::MemberPointer => self
                .builder
                .unknown("pointer to member", &[a, b], Type::I32),
        }
    }

    /// Integer (and Bool, pointer) comparison, folded when both sides are literals.
    pub fn compare_ints(&mut self, op: BinaryOp, a: Value, b: Value, signed: bool) -> Value {
        use BinaryOp as B;
        let ty = self.builder.function.ty(a);
        let function = &self.builder.function;
        if let (Some(x), Some(y)) = (function.int_constant(a), function.int_constant(b)) {
            let (x, y) = (truncate(x, ty, signed), truncate(y, ty, signed));
            let order = if signed {
                x.cmp(&y)
            } else {
                (x as u64).cmp(&(y as u64))
            };
            let known = match op {
                B::Less => order.is_lt(),
                B::LessEqual => order.is_le(),
                B::Greater => order.is_gt(),
                B::GreaterEqual => order.is_ge(),
                B::Equal => order.is_eq(),
                _ => order.is_ne(),
            };
            return self.builder.bool(known);
        }
        let condition = match (op, signed) {
            (B::Less, true) => IntCondition::LessSigned,
            (B::Less, false) => IntCondition::LessUnsigned,
            (B::LessEqual, true) => IntCondition::LessEqualSigned,
            (B::LessEqual, false) => IntCondition::LessEqualUnsigned,
            (B::Greater, true) => IntCondition::GreaterSigned,
            (B::Greater, false) => IntCondition::GreaterUnsigned,
            (B::GreaterEqual, true) => IntCondition::GreaterEqualSigned,
            (B::GreaterEqual, false) => IntCondition::GreaterEqualUnsigned,
            (B::Equal, _) => IntCondition::Equal,
            _ => IntCondition::NotEqual,
        };
        let b = self.adapt(b, ty);
        self.builder.int_compare(condition, a, b)
    }

    /// An integer operation, computed now when both operands are literals.
    pub fn fold(&mut self, op: Ir, wrap: Wrap, a: Value, b: Value) -> Value {
        let ty = self.builder.function.ty(a);
        let function = &self.builder.function;
        let (x, y) = (function.int_constant(a), function.int_constant(b));
        if let (Some(x), Some(y)) = (x, y)
            && let Some(result) = fold_int(op, x, y, ty)
        {
            return self.builder.int(ty, result);
        }
        match (op, x, y) {
            (
                Ir::Add | Ir::Sub | Ir::Or | Ir::Xor | Ir::Shl | Ir::ShrSigned | Ir::ShrUnsigned,
                _,
                Some(0),
            ) => {
                return a;
            }
            (Ir::Add | Ir::Or | Ir::Xor, Some(0), _) if self.builder.function.ty(b) == ty => {
                return b;
            }
            (Ir::Mul | Ir::DivSigned | Ir::DivUnsigned, _, Some(1)) if ty != Type::Bool => {
                return a;
            }
            (Ir::Mul, Some(1), _) if ty != Type::Bool => return b,
            _ => {}
        }
        self.builder.binary(op, wrap, a, b)
    }

    /// `-value`, component-wise.
    pub fn negate(&mut self, value: RValue, span: Span) -> RValue {
        let promoted = self.promote(value.ty.element());
        let ty = value.ty.with_element(promoted.clone());
        let value = self.convert(value, &ty, span);
        self.here(span);
        let parts: Parts = value
            .parts
            .iter()
            .map(|&v| {
                if promoted.is_float() {
                    return match self.float_constant(v) {
                        Some(number) => {
                            let ty = self.builder.function.ty(v);
                            self.builder.float(ty, -number)
                        }
                        None => self.builder.unary(UnaryOp::FloatNeg, v),
                    };
                }
                if let Some(known) = self.builder.function.int_constant(v) {
                    let ty = self.builder.function.ty(v);
                    return self.builder.int(ty, known.wrapping_neg());
                }
                self.builder.unary(UnaryOp::Neg, v)
            })
            .collect();
        self.builder.vector(&parts);
        RValue::new(ty, parts)
    }

    /// Applies an operation to each scalar of a numeric value; the result has the element type `element`.
    pub fn map(
        &mut self,
        value: &RValue,
        element: &CType,
        mut f: impl FnMut(&mut Self, Value) -> Value,
    ) -> RValue {
        let parts: Parts = value.parts.iter().map(|&v| f(self, v)).collect();
        self.builder.vector(&parts);
        RValue::new(value.ty.with_element(element.clone()), parts)
    }

    /// Applies an operation to the scalars of two values of one shape.
    pub fn map2(
        &mut self,
        a: &RValue,
        b: &RValue,
        element: &CType,
        mut f: impl FnMut(&mut Self, Value, Value) -> Value,
    ) -> RValue {
        let parts: Parts = a
            .parts
            .iter()
            .zip(b.parts.iter())
            .map(|(&x, &y)| f(self, x, y))
            .collect();
        self.builder.vector(&parts);
        RValue::new(a.ty.with_element(element.clone()), parts)
    }

    // -------------------------------------------------------------------------------------------- addresses

    /// An index as an I64 number of elements.
    pub fn index_value(&mut self, index: &RValue, span: Span) -> Value {
        self.here(span);
        let Some(value) = index.first() else {
            return self
                .builder
                .unknown("index without a value", &[], Type::I64);
        };
        let element = index.ty.element().clone();
        if element.is_float() {
            return self.convert_scalar(value, &element, &CType::LONG);
        }
        if !element.is_integer() {
            return self.adapt(value, Type::I64);
        }
        let promoted = self.promote(&element);
        let value = self.convert_scalar(value, &element, &promoted);
        self.convert_scalar(value, &promoted, &CType::int(64, promoted.is_signed()))
    }

    /// Size of a type as an I64 value, also when it depends on unknown template parameters.
    pub fn size_value(&mut self, ty: &CType) -> Value {
        if let Some(size) = self.structs.size_of(ty)
            && self.structs.is_exact(ty)
        {
            return self.builder.int(Type::I64, size as i64);
        }
        match ty {
            CType::Array { element, size } => {
                let element = self.size_value(element);
                let count = match size {
                    ArraySize::Fixed(n) => self.builder.int(Type::I64, *n as i64),
                    ArraySize::Dynamic(n) => *n,
                    ArraySize::Unknown => self.builder.int(Type::I64, 1),
                };
                self.fold(Ir::Mul, Wrap::NO_SIGNED, count, element)
            }
            // A number all the same, and one for all lanes.
            other => {
                let name = smol_str::format_smolstr!("sizeof({})", self.distinct_name(other));
                self.template_symbol(&name, &CType::ULONG)
            }
        }
    }

    /// A type's name for symbols: instances of one template are distinguished.
    pub fn distinct_name(&self, ty: &CType) -> smol_str::SmolStr {
        let shown = self.structs.display(ty);
        match ty {
            CType::Struct(id)
                if self
                    .sources
                    .get(id.0 as usize)
                    .is_some_and(|s| !s.arguments.is_empty()) =>
            {
                smol_str::format_smolstr!("{shown}#{}", id.0)
            }
            _ => shown,
        }
    }

    /// `base + index * sizeof(element)`.
    pub fn element_address(&mut self, base: Value, index: Value, element: &CType) -> Value {
        let size = self.size_value(element);
        let offset = self.fold(Ir::Mul, Wrap::NO_SIGNED, index, size);
        self.offset_address(base, offset)
    }

    pub fn offset_address(&mut self, base: Value, offset: Value) -> Value {
        if self.builder.function.int_constant(offset) == Some(0) {
            return base;
        }
        if !matches!(self.builder.function.ty(base), Type::Ptr(_)) {
            let base = self.adapt(base, Type::Ptr(Space::Generic));
            return self.builder.ptr_add(base, offset);
        }
        self.builder.ptr_add(base, offset)
    }
}

/// A literal as its type reads it: sign- or zero-extended.
pub(super) fn truncate(value: i64, ty: Type, signed: bool) -> i64 {
    match (ty, signed) {
        (Type::Bool, _) => value & 1,
        (Type::I8, true) => value as i8 as i64,
        (Type::I8, false) => value as u8 as i64,
        (Type::I16, true) => value as i16 as i64,
        (Type::I16, false) => value as u16 as i64,
        (Type::I32, true) => value as i32 as i64,
        (Type::I32, false) => value as u32 as i64,
        _ => value,
    }
}

/// The result of an operation on literals of an integer type; `None` when it has none (division by zero) or is not
/// folded.
fn fold_int(op: Ir, x: i64, y: i64, ty: Type) -> Option<i64> {
    let bits = ty.bits();
    let (ux, uy) = (truncate(x, ty, false) as u64, truncate(y, ty, false) as u64);
    Some(match op {
        Ir::Add => x.wrapping_add(y),
        Ir::Sub => x.wrapping_sub(y),
        Ir::Mul => x.wrapping_mul(y),
        Ir::DivSigned => x.checked_div(y)?,
        Ir::RemSigned => x.checked_rem(y)?,
        Ir::DivUnsigned => ux.checked_div(uy)? as i64,
        Ir::RemUnsigned => ux.checked_rem(uy)? as i64,
        Ir::And => x & y,
        Ir::Or => x | y,
        Ir::Xor => x ^ y,
        Ir::Shl if (0..bits as i64).contains(&y) => x.wrapping_shl(y as u32),
        Ir::ShrSigned if (0..bits as i64).contains(&y) => x >> y,
        Ir::ShrUnsigned if (0..bits as i64).contains(&y) => (ux >> y) as i64,
        _ => return None,
    })
}
