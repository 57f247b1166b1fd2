//! Arguments that become the parameters of a body lowered in place: references are the caller's places,
//! values are copied where the body may change them.

use super::call::{Arg, Operand};
use super::context::*;
use super::templates::same_type;
use super::types::*;
use super::value::*;
use super::visit;
use crate::function::*;
use rustc_hash::FxHashSet;
use smol_str::SmolStr;
use std::rc::Rc;
use syntax::Span;
use syntax::c_family::ast::{self, Expr, ExprKind, FunctionBody};

impl Context<'_> {
    /// The scalars that a place holds now, without reading memory.
    pub fn known_parts(&mut self, place: &LValue) -> Parts {
        match &place.place {
            Place::Slots(slots) => {
                let slots = slots.clone();
                slots.iter().map(|&s| self.builder.read(s)).collect()
            }
            Place::Value(value) => value.parts.clone(),
            Place::Memory { address, .. } => Parts::from_slice(&[*address]),
            _ => Parts::new(),
        }
    }

    /// The place that a parameter is inside the callee.
    pub(super) fn bind_argument(
        &mut self,
        parameter: &ast::Parameter,
        ty: &CType,
        argument: Option<Arg<'_>>,
        changed: &Changed,
        caller: usize,
    ) -> LValue {
        let span = argument.as_ref().map_or(parameter.span, |a| a.span);
        let direction = parameter.direction;
        // Defaults and lists are read where they stand.
        let operand = match argument {
            Some(Arg { list: Some(e), .. }) => {
                let callee = self.frames.split_off(caller);
                let value = self.initialise_value(ty.value_type(), e);
                self.frames.extend(callee);
                Operand::Value(value)
            }
            Some(argument) => argument.operand,
            None => match &parameter.default {
                Some(e) => {
                    if let ExprKind::List(_) = e.kind {
                        Operand::Value(self.initialise_value(ty.value_type(), e))
                    } else {
                        self.expr(e)
                    }
                }
                None => Operand::Value(self.undefined(ty.value_type())),
            },
        };
        let Some(ident) = parameter.name.clone() else {
            return match operand {
                Operand::Place(place) => place,
                Operand::Value(value) => LValue::value(value),
            };
        };
        let by_reference = matches!(ty, CType::Reference { .. })
            || matches!(direction, ast::Direction::Out | ast::Direction::InOut);
        let target = ty.value_type().clone();
        let is_const = matches!(ty, CType::Reference { is_const: true, .. });
        if by_reference && let Operand::Place(place) = &operand {
            let mut place = place.clone();
            if place.ty.is_code() && !target.is_code() && !target.is_unknown() && !is_const {
                // The callee may put another function there.
                self.give_storage(&place);
            }
            let fits = same_type(&place.ty, &target)
                || target.is_unknown()
                || matches!(
                    (&place.ty, &target),
                    (CType::Array { .. }, CType::Array { .. })
                );
            if !fits
                && let (CType::Struct(derived), CType::Struct(base)) = (&place.ty, &target)
                && let Some(found) = self.base_place(&place, *derived, *base)
            {
                place = found;
            } else if !fits {
                let value = self.load_at(caller, &place, span);
                let value = self.convert(value, &target, span);
                let written = self.is_hlsl() && direction != ast::Direction::In;
                let own = self.fresh_parameter(&ident, &target, value, changed, !written);
                if written {
                    place.name = None;
                    self.frame().copy_out.push((place, own.clone()));
                }
                return own;
            }
            let variable = self.new_variable(&ident, &target, VariableKind::Parameter);
            let values = self.known_parts(&place);
            let at = self.at(ident.span);
            let shown: Parts = if matches!(place.place, Place::Memory { .. }) {
                Parts::new()
            } else {
                values
            };
            self.builder
                .bind(variable, BindingKind::Declaration, &shown, "", at);
            // A slot reached through the reference belongs to the caller's variable: its name decides on memory.
            if let Some(name) = &place.name
                && let Some(key) = self.variable_keys.get(&name.variable).cloned()
            {
                self.variable_keys.insert(variable, key);
            }
            place.name = Some(NamedPart {
                variable,
                part: SmolStr::default(),
                at,
            });
            place.is_const |= is_const;
            return place;
        }
        let value = match operand {
            Operand::Place(place) if by_reference => self.load_at(caller, &place, span),
            Operand::Place(place) => {
                let callee = self.frames.split_off(caller);
                let value = self.copy_of(Operand::Place(place), span);
                self.frames.extend(callee);
                value
            }
            Operand::Value(value) => value,
        };
        let keep = matches!(target, CType::Opaque(_))
            && matches!(value.ty, CType::Lambda(_) | CType::Function(..));
        let value = if keep || target.is_unknown() {
            value
        } else {
            self.convert(value, &target, span)
        };
        let target = if target.is_unknown() || keep {
            value.ty.clone()
        } else {
            target
        };
        let copy = by_reference && !is_const;
        self.fresh_parameter(&ident, &target, value, changed, !copy)
    }

    /// Reads a place with positions of the caller.
    pub(super) fn load_at(&mut self, caller: usize, place: &LValue, span: Span) -> RValue {
        let callee = self.frames.split_off(caller);
        let value = self.load(place, span);
        self.frames.extend(callee);
        value
    }

    pub fn fresh_parameter(
        &mut self,
        ident: &ast::Ident,
        ty: &CType,
        value: RValue,
        changed: &Changed,
        may_alias: bool,
    ) -> LValue {
        let variable = self.new_variable(ident, ty, VariableKind::Parameter);
        let at = self.at(ident.span);
        let key = self.key(ident.span);
        let name = Some(NamedPart {
            variable,
            part: SmolStr::default(),
            at,
        });
        self.here(ident.span);
        self.builder
            .bind(variable, BindingKind::Declaration, &value.parts, "", at);
        if may_alias
            && !changed.names.contains(&ident.name)
            && !self.demotions.memory.contains(&key)
            && !self.demotions.storage.contains(&key)
        {
            let mut place = LValue::value(value);
            place.ty = ty.clone();
            place.name = name;
            place.is_const = false;
            return place;
        }
        let value = if value.ty.is_pointer() {
            self.with_address(value, ident.span)
        } else {
            value
        };
        // Another function may be assigned to it.
        let value = self.held_code(value, ident.span);
        let ty = match ty.is_code() {
            true => &value.ty.clone(),
            false => ty,
        };
        let place = self.new_place(ty, &key, Some(&value.parts));
        let mut place = LValue {
            ty: ty.clone(),
            place,
            name: None,
            is_const: false,
        };
        self.store_silently(&place, value, ident.span);
        place.name = name;
        place
    }

    pub fn new_variable(
        &mut self,
        ident: &ast::Ident,
        ty: &CType,
        kind: VariableKind,
    ) -> crate::entity::Variable {
        let text = self.structs.display(ty);
        let at = self.at(ident.span);
        let variable = self.builder.variable(ident.name.clone(), text, kind, at);
        let key = self.key(ident.span);
        self.variable_keys.insert(variable, key);
        variable
    }

    /// Names that a function's body may change directly.
    pub fn changed_names(&mut self, function: &ast::Function) -> Rc<Changed> {
        let label = self.frame().label.clone();
        let span = function.signature_span;
        if let Some(known) = self.changed.get(&(label.clone(), span)) {
            return known.clone();
        }
        let mut changed = Changed::default();
        if let FunctionBody::Block(body) = &function.body {
            visit::block(body, &mut |e| changed.note(e));
        }
        let changed = Rc::new(changed);
        self.changed.insert((label, span), changed.clone());
        changed
    }
}

/// Names that a body assigns, increments, takes the address of, or calls a method on.
#[derive(Clone, Debug, Default)]
pub struct Changed {
    pub names: FxHashSet<SmolStr>,
}

impl Changed {
    pub fn note(&mut self, e: &Expr) {
        let target = match &e.kind {
            ExprKind::Assign { left, .. } => left,
            ExprKind::Unary {
                op:
                    ast::UnaryOp::PreIncrement
                    | ast::UnaryOp::PreDecrement
                    | ast::UnaryOp::PostIncrement
                    | ast::UnaryOp::PostDecrement
                    | ast::UnaryOp::AddressOf,
                operand,
            } => operand,
            _ => return,
        };
        let mut current: &Expr = target;
        for _ in 0..64 {
            current = match &current.kind {
                ExprKind::Paren(inner) => inner,
                ExprKind::Member {
                    base, arrow: false, ..
                } => base,
                ExprKind::Name(name) => {
                    if let [only] = name.segments.as_slice() {
                        self.names.insert(only.ident.name.clone());
                    }
                    return;
                }
                _ => return,
            };
        }
    }
}
