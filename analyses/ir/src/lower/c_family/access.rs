//! Members and elements: `a.b`, `a->b`, swizzles, `a[i]`.

use super::call::Operand;
use super::context::*;
use super::expr::launch_special;
use super::place::named_below;
use super::resources;
use super::types::*;
use super::value::*;
use crate::function::*;
use crate::types::Type;
use smallvec::SmallVec;
use smol_str::SmolStr;
use syntax::Span;
use syntax::c_family::ast::{Expr, ExprKind, Name};

impl Context<'_> {
    pub(super) fn member(
        &mut self,
        base: &Expr,
        member: &Name,
        arrow: bool,
        span: Span,
    ) -> Operand {
        let Some(last) = member.segments.last() else {
            let value = self.unknown("member without a name", &[], &CType::INT, span);
            return Operand::Value(value);
        };
        let text = last.ident.name.clone();
        // `threadIdx.x` needs one axis only.
        if !arrow
            && !self.is_hlsl()
            && let ExprKind::Name(name) = &base.kind
            && let [only] = name.segments.as_slice()
            && let Some(special) = launch_special(&only.ident.name)
            && self.lookup_local(&only.ident.name).is_none()
            && let Some(axis) = ["x", "y", "z"].iter().position(|a| *a == text)
        {
            self.here(span);
            let value = self.builder.special(special(axis as u8), Type::I32);
            return Operand::Value(RValue::scalar(CType::UINT, value));
        }
        let object = if arrow {
            let operand = self.expr(base);
            self.pointee(operand, base.span)
        } else {
            self.place(base)
        };
        self.member_place(object, &text, last.ident.span, span)
    }

    /// The object behind `->`.
    pub fn pointee(&mut self, operand: Operand, span: Span) -> LValue {
        if let CType::Struct(_) = operand.ty()
            && let Some(result) = self.operator_call("->", &[(operand.clone(), span)], span)
        {
            let value = self.take(result, span);
            return self.dereference(&value, span);
        }
        let value = self.take(operand, span);
        let value = self.decay(value);
        self.dereference(&value, span)
    }

    pub fn member_place(
        &mut self,
        object: LValue,
        text: &SmolStr,
        ident_span: Span,
        span: Span,
    ) -> Operand {
        let object = self.through_reference(object, span);
        match &object.ty {
            CType::Struct(id) => {
                let id = *id;
                if let Some(place) = self.field(&object, id, text, span) {
                    return Operand::Place(self.through_reference(place, span));
                }
                if let Some(number) = self.struct_constant(id, text, 0) {
                    return Operand::Value(self.number(&number));
                }
                if let Some(place) = self.static_place(id, text) {
                    return Operand::Place(place);
                }
            }
            CType::Vector { .. } | CType::Matrix { .. } => {
                if let Some(components) = components(&object.ty, text)
                    && let Some(place) = self.swizzle(&object, &components, &format!(".{text}"))
                {
                    return Operand::Place(place);
                }
            }
            ty if ty.is_arithmetic()
                && self.operand_is_guess(&Operand::Place(object.clone()))
                && components(&CType::vector(ty.clone(), 4), text).is_some() =>
            {
                let ty = ty.clone();
                let value = self.load(&object, span);
                let made = match text.len() {
                    1 => ty,
                    n => CType::vector(ty, n as u8),
                };
                let made = self.guess_as(&value, &made, span);
                self.guesses.extend(made.parts.iter().copied());
                return Operand::Value(made);
            }
            ty if ty.is_arithmetic() => {
                // `.x` of a scalar, `.xxx` in HLSL.
                if let Some(components) = components(&CType::vector(ty.clone(), 1), text) {
                    if components.len() == 1 {
                        return Operand::Place(object);
                    }
                    let value = self.load(&object, span);
                    let wide = CType::vector(ty.clone(), components.len() as u8);
                    return Operand::Value(self.convert(value, &wide, span));
                }
            }
            CType::Resource(_) => {
                let value = self.load_silently(&object, span);
                if let Some(mut place) = resources::member(self, &value, text, span) {
                    place.name = named_below(&object, &format!(".{text}"));
                    return Operand::Place(place);
                }
            }
            CType::Opaque(name) => {
                let name = name.clone();
                let value = self.load_silently(&object, span);
                if let Some(value) = super::builtins::opaque_member(self, &name, &value, text, span)
                {
                    return Operand::Value(value);
                }
                if let Some(header) = self.env.missing_headers.first() {
                    // A member of a type that no file at hand declares: read or written, with what it may reach.
                    let message = format!(
                        "`{name}` is not declared here (`{header}` was not found): its members are not known"
                    );
                    self.remark(ident_span, message);
                    let object = match object.place {
                        Place::Memory { address, .. } => Parts::from_slice(&[address]),
                        _ => value.parts,
                    };
                    self.here(span);
                    let op = crate::inst::Op::CallUnknown {
                        name: smol_str::format_smolstr!("{name}::{text}"),
                        pure: false,
                        convention: Default::default(),
                    };
                    let value = self.builder.value(op, &object, Type::I32);
                    return Operand::Value(RValue::scalar(CType::INT, value));
                }
            }
            _ => {}
        }
        let message = match &object.ty {
            CType::Opaque(name) => format!("`{name}` is not declared here"),
            ty => format!("member `{text}` of `{}`", self.structs.display(ty)),
        };
        let parts = self.known_parts(&object);
        let value = self.unknown(message, &parts, &CType::INT, ident_span);
        Operand::Value(value)
    }

    pub(super) fn index(&mut self, base: &Expr, indices: &[Expr], span: Span) -> Operand {
        let mut operand = self.expr(base);
        for index in indices {
            operand = self.index_operand(operand, base.span, index, span);
        }
        operand
    }

    pub(super) fn index_operand(
        &mut self,
        operand: Operand,
        base_span: Span,
        index: &Expr,
        span: Span,
    ) -> Operand {
        match operand.ty().value_type() {
            CType::Struct(_) => {
                let number = self.expr(index);
                let arguments = [(operand, base_span), (number, index.span)];
                return self
                    .operator_call("[]", &arguments, span)
                    .unwrap_or_else(|| {
                        Operand::Value(self.unknown("operator[]", &[], &CType::INT, span))
                    });
            }
            CType::Resource(_) => {
                let resource = self.take(operand, base_span);
                let number = self.rvalue(index);
                return match resources::index(self, &resource, &number, span) {
                    Some(place) => Operand::Place(place),
                    None => {
                        let parts = resource.parts.clone();
                        let value =
                            self.unknown("element of a resource", &parts, &CType::INT, span);
                        Operand::Value(value)
                    }
                };
            }
            CType::Array { .. } | CType::Vector { .. } | CType::Matrix { .. } => {
                let place = match operand {
                    Operand::Place(place) => place,
                    Operand::Value(value) => LValue::value(value),
                };
                if let Some(name) = &place.name
                    && place.ty.is_array()
                    && name.part.is_empty()
                {
                    // The array's name is read here; what is read of it follows.
                    let (variable, at) = (name.variable, name.at);
                    self.builder.bind(variable, BindingKind::Read, &[], "", at);
                }
                let number = self.rvalue(index);
                let number = self.as_number(number, index.span);
                self.here(span);
                return Operand::Place(self.element(&place, &number, span));
            }
            _ => {}
        }
        let pointer = self.take(operand, base_span);
        let number = self.rvalue(index);
        let number = match pointer.ty.is_integer() && number.ty.is_array() {
            true => self.decay(number),
            false => self.as_number(number, index.span),
        };
        if number.ty.is_pointer() && pointer.ty.is_integer() {
            let moved = self.move_pointer(number, pointer, false, span);
            return Operand::Place(self.dereference(&moved, span));
        }
        if !pointer.ty.is_pointer() {
            let mut parts = pointer.parts.clone();
            parts.extend(number.parts.iter().copied());
            let message = match &pointer.ty {
                CType::Opaque(name) => format!("`{name}` is not declared here"),
                _ => "index of a value that is no array".to_string(),
            };
            let value = self.unknown(message, &parts, &CType::INT, span);
            return Operand::Value(value);
        }
        if let (Some(target), true) = (pointer.target.clone(), pointer.parts.is_empty())
            && target.ty.is_array()
        {
            return Operand::Place(self.element(&target, &number, span));
        }
        let moved = self.move_pointer(pointer, number, false, span);
        self.here(span);
        Operand::Place(self.dereference(&moved, span))
    }
}

/// Components that a swizzle names: `xyzw`, `rgba`, and for matrices `_m00` and `_11`.
pub fn components(ty: &CType, text: &str) -> Option<SmallVec<[u8; 4]>> {
    if let CType::Matrix { rows, columns, .. } = ty {
        let mut out = SmallVec::new();
        for part in text.split('_').skip(1) {
            let (zero_based, digits) = match part.strip_prefix('m') {
                Some(rest) => (true, rest),
                None => (false, part),
            };
            let [r, c] = digits.as_bytes() else {
                return None;
            };
            let base = if zero_based { b'0' } else { b'1' };
            let (r, c) = (r.checked_sub(base)?, c.checked_sub(base)?);
            if r >= *rows || c >= *columns {
                return None;
            }
            out.push(r * columns + c);
        }
        return (!out.is_empty() && out.len() <= 4).then_some(out);
    }
    let count = ty.components();
    if text.is_empty() || text.len() > 4 {
        return None;
    }
    text.bytes()
        .map(|c| {
            let index = match c {
                b'x' | b'r' => 0,
                b'y' | b'g' => 1,
                b'z' | b'b' => 2,
                b'w' | b'a' => 3,
                _ => return None,
            };
            ((index as usize) < count).then_some(index)
        })
        .collect()
}
