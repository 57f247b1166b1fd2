//! Calls that stay calls: a recursive callee, or one beyond the budget, is a function of the module of its own.
//!
//! Its parameters are those that a function has when it is lowered by itself: scalars of values, a pointer
//! for a reference and for `this`. Template arguments that are classes of this lowering have no meaning in
//! another one; such a callee, and any beyond `MAX_OUTLINED`, remains unknown.

use super::call::{Arg, Bound, Operand};
use super::classes::Callee;
use super::context::*;
use super::passing::Given;
use super::templates::same_type;
use super::types::*;
use super::unseen::{Prototype, Unseen};
use super::value::*;
use crate::entity::Value;
use crate::inst::*;
use crate::types::{Space, Type};
use smallvec::SmallVec;
use smol_str::SmolStr;
use syntax::Span;

/// Functions of a module beside its own; calls of further ones are unknown.
pub const MAX_OUTLINED: usize = 32;

/// A function that remains a call.
#[derive(Clone, Debug)]
pub struct Outlined {
    pub id: CalleeId,
    pub callee: Callee,
    pub template: Vec<(SmolStr, Local)>,
}

/// Identity of a function with its template arguments.
pub type CalleeId = String;

/// A call that is not lowered in place.
pub(super) struct Kept<'a, 'e> {
    pub(super) callee: &'a Callee,
    pub(super) id: CalleeId,
    pub(super) scopes: &'a [Scope],
    pub(super) this: Option<&'a LValue>,
    pub(super) arguments: &'a [Arg<'e>],
    pub(super) parameters: &'a [Bound],
    /// True if it is open already.
    pub(super) recursive: bool,
}

impl Context<'_> {
    /// A recursive call, or one beyond the budget.
    pub(super) fn outlined_call(&mut self, kept: Kept<'_, '_>, span: Span) -> Operand {
        self.reaches(kept.callee);
        let return_type = self.return_type_of(kept.callee, kept.scopes, kept.parameters);
        match self.module_function(&kept, return_type.as_ref()) {
            Some((index, return_type)) => self.call_of_module(&kept, index, return_type, span),
            None => {
                let Some(function) = kept.callee.function.function() else {
                    let name = kept.callee.name.clone();
                    return self.unknown_call(&name, kept.this, kept.arguments, return_type, span);
                };
                let why = if kept.recursive && self.outlined.len() < self.most_outlined() {
                    Unseen::Recursive
                } else {
                    Unseen::Budget
                };
                let prototype = Prototype {
                    function,
                    parameters: kept.parameters,
                    return_type,
                };
                let name = kept.callee.name.clone();
                self.prototype_call(&name, why, kept.this, kept.arguments, &prototype, span)
            }
        }
    }

    /// Notes a function that is called with arguments which no site tells.
    pub(super) fn reaches(&mut self, callee: &Callee) {
        let reached = &mut self.builder.function.reached;
        let entry = (callee.item.clone(), callee.name.clone());
        if !reached.contains(&entry) {
            reached.push(entry);
        }
    }

    /// The callee's number among the functions that remain calls, and its return type.
    fn module_function(
        &mut self,
        kept: &Kept<'_, '_>,
        return_type: Option<&CType>,
    ) -> Option<(usize, CType)> {
        let callee = kept.callee;
        // `static` globals of HLSL are a lane's own and are shared by all functions of one lowering only.
        if self.is_hlsl() {
            return None;
        }
        let flat = |cx: &Self, ty: &CType, result: bool| match ty {
            CType::Reference { to, .. } => !matches!(**to, CType::Lambda(_) | CType::Unknown),
            CType::Lambda(_) | CType::Function(..) | CType::Unknown => false,
            CType::Pointer { to, .. } => !matches!(**to, CType::Lambda(_) | CType::Function(..)),
            other if cx.is_c() => cx.structs.is_passed(other, result),
            other => cx.structs.parts(other).is_some(),
        };
        let plain = callee.bindings.is_empty()
            && callee.scopes.is_none()
            && kept.this.is_some() == callee.class.is_some()
            && kept.arguments.len() == kept.parameters.len()
            && kept
                .parameters
                .iter()
                .all(|p| flat(self, &p.ty, false) && !p.pack)
            && kept.arguments.iter().all(|a| a.list.is_none());
        let return_type = return_type?.clone();
        let returns = return_type.is_void()
            || !matches!(return_type, CType::Reference { .. }) && flat(self, &return_type, true);
        if !plain || !returns {
            return None;
        }
        if let Some(index) = self.outlined.iter().position(|o| o.id == kept.id) {
            return Some((index, return_type));
        }
        if self.outlined.len() >= self.most_outlined() {
            return None;
        }
        let template: Option<Vec<(SmolStr, Local)>> = kept
            .scopes
            .iter()
            .flatten()
            .map(|(n, l)| match l {
                // Template arguments of functions are kept by one lowering only.
                Local::Constant(number) if !matches!(number.ty, CType::Function(_, 1..)) => {
                    Some((n.clone(), l.clone()))
                }
                Local::Type(ty) if independent(ty) => Some((n.clone(), l.clone())),
                _ => None,
            })
            .collect();
        let mut template = template?;
        template.sort_by(|a, b| a.0.cmp(&b.0));
        self.outlined.push(Outlined {
            id: kept.id.clone(),
            callee: callee.clone(),
            template,
        });
        Some((self.outlined.len() - 1, return_type))
    }

    fn call_of_module(
        &mut self,
        kept: &Kept<'_, '_>,
        index: usize,
        return_type: CType,
        span: Span,
    ) -> Operand {
        let mut given = Given::default();
        self.give_room(&mut given, &return_type);
        if let Some(this) = kept.this {
            let this = self.generic_address(this, span);
            given.scalar(this);
        }
        for (argument, bound) in kept.arguments.iter().zip(kept.parameters) {
            if let CType::Reference { to, .. } = &bound.ty {
                let place = match &argument.operand {
                    Operand::Place(place) if same_type(&place.ty, to) => place.clone(),
                    Operand::Place(place) => {
                        let value = self.load(place, argument.span);
                        let value = self.convert(value, to, argument.span);
                        LValue::value(value)
                    }
                    Operand::Value(value) => {
                        let value = self.convert(value.clone(), to, argument.span);
                        LValue::value(value)
                    }
                };
                let address = self.generic_address(&place, argument.span);
                given.scalar(address);
                continue;
            }
            let value = match &argument.operand {
                Operand::Place(place) => self.load(place, argument.span),
                Operand::Value(value) => value.clone(),
            };
            let value = self.convert(value, &bound.ty, argument.span);
            let value = self.with_address(value, argument.span);
            let value = self.held_code(value, argument.span);
            if self.is_c() && matches!(bound.ty, CType::Struct(_)) {
                self.give(&mut given, &value, true, argument.span);
                continue;
            }
            let types = self.structs.parts(&bound.ty).unwrap_or_default();
            for (number, &ty) in types.iter().enumerate() {
                let part = match value.parts.get(number) {
                    Some(&part) => self.adapt(part, ty),
                    None => self.not_followed(ty),
                };
                given.scalar(part);
            }
        }
        self.here(span);
        let types: SmallVec<[Type; 4]> = self.structs.returned(&return_type).unwrap_or_default();
        // Function 0 of the module is the item itself.
        let inst = self
            .builder
            .inst(Op::Call(index as u32 + 1), &given.values, &types);
        let results: Parts = self.builder.results(inst).iter().copied().collect();
        Operand::Value(self.taken(&return_type, &given, &results))
    }

    /// The address of a place for a reference parameter; a value gets memory of its own.
    fn generic_address(&mut self, place: &LValue, span: Span) -> Value {
        let address = match &place.place {
            Place::Value(value) if place.name.is_none() => {
                let (size, align) = (
                    self.structs.size_of(&place.ty).unwrap_or(4096),
                    self.structs.align_of(&place.ty),
                );
                let address = self.private_memory(size, align);
                let access = MemoryAccess::in_space(Space::Local);
                let own = LValue::memory(place.ty.clone(), address, access);
                let value = (**value).clone();
                self.store_silently(&own, value, span);
                Some(address)
            }
            _ => self.address(place, span),
        };
        if let Some(address) = address {
            self.note_written(address);
        }
        let generic = Type::Ptr(Space::Generic);
        match address {
            Some(address) => self.adapt(address, generic),
            None => {
                let ty = CType::pointer(place.ty.clone(), Space::Generic);
                let unknown = self.unknown("address of a resource's element", &[], &ty, span);
                match unknown.first() {
                    Some(value) => self.adapt(value, generic),
                    None => self.builder.undef(generic),
                }
            }
        }
    }
}

/// A type without anything of one lowering's own.
fn independent(ty: &CType) -> bool {
    ty.is_numeric()
        || ty.is_pointer()
            && !matches!(ty, CType::Pointer { to, .. } if matches!(**to, CType::Struct(_) | CType::Lambda(_)))
}
