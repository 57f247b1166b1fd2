//! Calls of functions of the unit: overload resolution and inlining.
//!
//! Candidates are ranked by the sum of their argument conversions, then by how little of them is template,
//! then by the nearness of their scope. The chosen body is lowered in place: references are the caller's
//! places, results go to a place of the call. A recursive callee, and one that exceeds the budget, remains a
//! call (`outlined`).

use super::classes::{Bindings, Callee, FunctionRef, is_undecided};
use super::context::*;
use super::outlined::Kept;
use super::types::*;
use super::unseen::{Prototype, Unseen};
use super::value::*;
use crate::entity::Value;
use crate::function::*;
use smallvec::SmallVec;
use smol_str::SmolStr;
use syntax::Span;
use syntax::c_family::ast::{self, Expr, FunctionBody, ItemKind};

/// Inlined calls on top of each other.
pub const MAX_INLINE_DEPTH: usize = 40;

/// An expression's result before it is known whether its value or its place is wanted.
#[derive(Clone, Debug)]
pub enum Operand {
    Place(LValue),
    Value(RValue),
}

impl Operand {
    pub fn ty(&self) -> &CType {
        match self {
            Operand::Place(place) => &place.ty,
            Operand::Value(value) => &value.ty,
        }
    }
}

/// An argument with its expression.
#[derive(Clone, Debug)]
pub struct Arg<'e> {
    pub operand: Operand,
    pub span: Span,
    /// `{...}`: initialises the parameter once its type is known.
    pub list: Option<&'e Expr>,
}

/// A candidate that fits.
pub(super) struct Fitting {
    pub(super) callee: Callee,
    pub(super) scopes: Vec<Scope>,
    pub(super) parameters: Vec<Bound>,
    pub(super) rank: u32,
    pub(super) templated: u32,
}

/// One parameter after packs are spread.
#[derive(Clone)]
pub(super) struct Bound {
    pub(super) index: usize,
    pub(super) ty: CType,
    pub(super) pack: bool,
}

impl Context<'_> {
    pub(super) fn call_fitting(
        &mut self,
        fitting: Fitting,
        this: Option<&LValue>,
        arguments: &[Arg<'_>],
        span: Span,
    ) -> Operand {
        let Fitting {
            callee,
            scopes,
            parameters,
            ..
        } = fitting;
        let name = callee.name.clone();
        let Some(full) = self.with_body(&callee) else {
            let return_type = self.return_type_of(&callee, &scopes, &parameters);
            let Some(function) = callee.function.function() else {
                return self.unseen_call(&name, Unseen::Body, this, arguments, return_type, span);
            };
            let prototype = Prototype {
                function,
                parameters: &parameters,
                return_type,
            };
            return self.prototype_call(&name, Unseen::Body, this, arguments, &prototype, span);
        };
        let class_changed = full.item != callee.item;
        let callee = full;
        let Some(function) = callee.function.function() else {
            return self.unknown_call(&name, this, arguments, None, span);
        };
        if function.variadic && self.is_c() {
            let return_type = self.return_type_of(&callee, &scopes, &parameters);
            self.in_module(callee.clone());
            let prototype = Prototype {
                function,
                parameters: &parameters,
                return_type,
            };
            let why = Unseen::Variadic;
            return self.prototype_call(&name, why, this, arguments, &prototype, span);
        }
        if let Some(found) = self.call_recognized(&callee, arguments, span) {
            return Operand::Value(found);
        }
        let class = callee.class.map(|id| {
            let bindings = &self.sources[id.0 as usize].bindings;
            let own = self.structs.display(&CType::Struct(id));
            let undecided = |(_, local): &(SmolStr, Local)| is_undecided(local);
            match bindings.is_empty() || bindings.iter().any(undecided) {
                true => own.to_string(),
                // Instances of one template are different functions. Those for a number that is not known are one:
                // nothing tells where they end.
                false => format!("{own}{bindings:?}"),
            }
        });
        let id = callee_id(&callee, class, &scopes, function);
        let by_type = !self.is_c() && self.unevaluated > 0;
        if by_type
            && let Some(result) = self.returned_unevaluated(&callee, &scopes, &parameters, &id)
        {
            return result;
        }
        let recursive = self.callees.contains(&id);
        // A function of the module does not repeat what the others have.
        let known = self.of_module && self.outlined.iter().any(|o| o.id == id);
        if recursive || known || self.budget_spent() || self.is_better_called(&callee) {
            let kept = Kept {
                callee: &callee,
                id,
                scopes: &scopes,
                this,
                arguments,
                parameters: &parameters,
                recursive,
            };
            return self.outlined_call(kept, span);
        }
        // The arguments' places, by parameter, before the callee's names come into scope.
        let mut passed: Vec<(Bound, Option<Arg<'_>>)> = Vec::new();
        for (number, bound) in parameters.into_iter().enumerate() {
            passed.push((bound, arguments.get(number).cloned()));
        }
        let loc = self.at(span);
        let parent = self.site();
        let site = self.builder.push_site(SiteData {
            item: Some(callee.item.clone()),
            callee: name.clone(),
            call: loc,
            parent: Some(parent),
            arguments: Vec::new(),
        });
        let mut frame = Frame::outside(callee.item.clone());
        frame.site = site;
        frame.label =
            smol_str::format_smolstr!("{}#{}:{}", callee.item.name, callee.item.ordinal, name);
        frame.namespace = callee.namespace.clone();
        frame.captured = callee.scopes.clone();
        frame.scopes = scopes;
        frame.class = callee.class;
        frame.this = this.cloned();
        let caller = self.frames.len();
        let asked = by_type.then(|| id.clone());
        self.frames.push(frame);
        if class_changed {
            for (name, local) in callee.bindings.iter().cloned() {
                if self.lookup_local(&name).is_none() {
                    self.declare(name, local);
                }
            }
        }
        self.callees.push(id);
        self.push_scope();
        let changed = self.changed_names(function);
        let mut recorded: Vec<(SmolStr, SmallVec<[Value; 1]>)> = Vec::new();
        let mut packs: Vec<(SmolStr, Vec<Local>)> = Vec::new();
        for (bound, argument) in passed {
            let parameter = &function.parameters[bound.index];
            let ident = parameter.name.clone();
            let place = self.bind_argument(parameter, &bound.ty, argument, &changed, caller);
            let Some(ident) = ident else { continue };
            let values = self.known_parts(&place);
            recorded.push((ident.name.clone(), values.iter().copied().collect()));
            if bound.pack {
                match packs.iter_mut().find(|(n, _)| *n == ident.name) {
                    Some((_, list)) => list.push(Local::Variable(place)),
                    None => packs.push((ident.name.clone(), vec![Local::Variable(place)])),
                }
            } else {
                self.declare(ident.name.clone(), Local::Variable(place));
            }
        }
        for parameter in function.parameters.iter().filter(|p| p.pack) {
            if let Some(ident) = &parameter.name {
                let at = packs.iter().position(|(n, _)| *n == ident.name);
                let list = at.map(|i| packs.swap_remove(i).1).unwrap_or_default();
                self.declare(ident.name.clone(), Local::Pack(list));
            }
        }
        self.builder.function.sites[site].arguments = recorded;
        let is_constructor = matches!(function.name, ast::FunctionName::Constructor(_));
        let return_type = match is_constructor {
            true => CType::Void,
            false => self.resolve_type(&function.return_type),
        };
        if is_constructor && let Some(object) = this {
            let object = object.clone();
            self.initialise_members(&object, function);
        }
        let result = match &function.body {
            FunctionBody::Block(body) => {
                self.inline_body(body, return_type, function.signature_span, span)
            }
            _ => Operand::Value(RValue::void()),
        };
        self.callees.pop();
        if let Some(id) = asked {
            self.remember_returned(function, &id, result.ty());
        }
        result
    }

    /// Keeps the type that an instance returns for the next request, unless an argument has a say in it.
    fn remember_returned(
        &mut self,
        function: &ast::Function,
        id: &super::outlined::CalleeId,
        ty: &CType,
    ) {
        let lasts = depends_on_template_alone(function) && !id.contains('?');
        if lasts && self.stands_for_its_type(ty) {
            self.returned_types.insert(id.clone(), ty.clone());
        }
    }

    /// The result of a call whose type alone is asked for, where that is known without the body.
    fn returned_unevaluated(
        &mut self,
        callee: &Callee,
        scopes: &[Scope],
        parameters: &[Bound],
        id: &super::outlined::CalleeId,
    ) -> Option<Operand> {
        let ty = match self.returned_types.get(id) {
            Some(known) => known.clone(),
            None => {
                let ty = self.return_type_of(callee, scopes, parameters)?;
                if let Some(function) = callee.function.function() {
                    self.remember_returned(function, id, &ty);
                }
                ty
            }
        };
        if ty.is_void() {
            return Some(Operand::Value(RValue::void()));
        }
        if let CType::Reference { to, is_const, .. } = &ty {
            if !self.stands_for_its_type(to) {
                return None;
            }
            let value = self.undefined(to);
            let mut place = LValue::value(value);
            place.is_const = *is_const;
            return Some(Operand::Place(place));
        }
        if !self.stands_for_its_type(&ty) {
            return None;
        }
        Some(Operand::Value(self.undefined(&ty)))
    }

    /// Returns true if all values of a type determine the same types: a number, or a class of numbers. The
    /// callee of a lambda or of a pointer to a function depends on the value.
    fn stands_for_its_type(&self, ty: &CType) -> bool {
        match ty {
            CType::Struct(_) => self
                .structs
                .parts(ty)
                .is_some_and(|parts| !parts.is_empty()),
            other => other.is_numeric(),
        }
    }

    pub(super) fn return_type_of(
        &mut self,
        callee: &Callee,
        scopes: &[Scope],
        parameters: &[Bound],
    ) -> Option<CType> {
        let function = callee.function.function()?;
        let mut frame = Frame::outside(callee.item.clone());
        frame.site = self.site();
        frame.namespace = callee.namespace.clone();
        frame.scopes = scopes.to_vec();
        frame.class = callee.class;
        self.frames.push(frame);
        let ty = self.declared_return_type(function, parameters);
        self.frames.pop();
        Some(ty)
    }

    /// The type that a function's declaration gives to its result, in the frame on top. The parameters are in scope: a
    /// trailing return type may name them, and asks for nothing but their types.
    pub(super) fn declared_return_type(
        &mut self,
        function: &ast::Function,
        parameters: &[Bound],
    ) -> CType {
        if !asks_for_types(&function.return_type) {
            return self.resolve_type(&function.return_type);
        }
        let current = self.builder.current();
        let aside = self.builder.create_block();
        self.builder.switch_to(aside);
        self.push_scope();
        self.declare_unevaluated(function, parameters);
        let ty = self.resolve_type(&function.return_type);
        self.pop_scope();
        self.builder.switch_to(current);
        ty
    }

    /// Declares parameters for their types alone.
    fn declare_unevaluated(&mut self, function: &ast::Function, parameters: &[Bound]) {
        for (index, parameter) in function.parameters.iter().enumerate() {
            let Some(ident) = &parameter.name else {
                continue;
            };
            let mut places = Vec::new();
            for bound in parameters.iter().filter(|bound| bound.index == index) {
                let value = self.undefined(bound.ty.value_type());
                places.push(Local::Variable(LValue::value(value)));
            }
            let local = match parameter.pack {
                true => Some(Local::Pack(places)),
                false => places.pop(),
            };
            if let Some(local) = local {
                self.declare(ident.name.clone(), local);
            }
        }
    }

    /// Lowers a body in the frame on top, which ends with it; control goes on behind the call.
    pub fn inline_body(
        &mut self,
        body: &ast::Block,
        return_type: CType,
        key_span: Span,
        call_span: Span,
    ) -> Operand {
        let exit = self.builder.create_block();
        let key = self.key(key_span);
        let pointer_result = self.demotions.pointer_results.contains(&key);
        let returns = match &return_type {
            CType::Void => ReturnPlace::Void,
            CType::Unknown => ReturnPlace::Undecided,
            CType::Reference { .. } if !pointer_result => ReturnPlace::Undecided,
            CType::Reference { to, .. } => {
                let ty = CType::pointer((**to).clone(), crate::types::Space::Generic);
                let place = self.new_place(&ty, &key, None);
                ReturnPlace::Place(LValue {
                    ty,
                    place,
                    name: None,
                    is_const: false,
                })
            }
            ty => {
                let ty = ty.clone();
                let place = self.new_place(&ty, &key, None);
                ReturnPlace::Place(LValue {
                    ty,
                    place,
                    name: None,
                    is_const: false,
                })
            }
        };
        {
            let frame = self.frame();
            frame.exit = Some(exit);
            frame.returns = returns;
            frame.return_type = match return_type {
                CType::Unknown => None,
                ref other => Some(other.clone()),
            };
            frame.return_key = key_span;
        }
        self.function_statements(&body.statements);
        let used = self.frame().exit_used;
        if used {
            self.builder.jump(exit);
            self.builder.switch_to(exit);
        }
        for (place, parameter) in std::mem::take(&mut self.frame().copy_out) {
            let value = self.load_silently(&parameter, call_span);
            self.store_silently(&place, value, call_span);
        }
        let Some(frame) = self.frames.pop() else {
            return Operand::Value(RValue::void());
        };
        self.here(call_span);
        match frame.returns {
            ReturnPlace::Void => Operand::Value(RValue::void()),
            ReturnPlace::Reference(place) => Operand::Place(place),
            ReturnPlace::Place(place) if pointer_result => {
                let pointer = self.load_silently(&place, call_span);
                Operand::Place(self.dereference(&pointer, call_span))
            }
            ReturnPlace::Place(place) => Operand::Value(self.load_silently(&place, call_span)),
            ReturnPlace::Undecided => match return_type {
                CType::Reference { to, .. } => {
                    let value = self.undefined(&to);
                    Operand::Value(value)
                }
                _ => Operand::Value(RValue::void()),
            },
        }
    }

    /// The functions that a name can mean.
    pub fn functions_named(&mut self, path: &[SmolStr]) -> Vec<Callee> {
        let Some(last) = path.last() else {
            return Vec::new();
        };
        let mut found = Vec::new();
        for entry in self.entries(path) {
            let item = self.env.item(entry);
            if let (ItemKind::Function(_), super::env::EntryKind::Function) =
                (&item.kind, entry.what)
            {
                found.push(Callee {
                    function: FunctionRef::Item(item.clone()),
                    item: item.key.clone(),
                    namespace: item.scope.clone(),
                    class: None,
                    bindings: Bindings::default(),
                    scopes: None,
                    name: last.clone(),
                });
            }
        }
        found
    }
}

/// Returns true if nothing but template arguments decides the return type of a function: none of its
/// parameters is declared `auto`. Returns whether an expression somewhere in a type determines it.
pub(super) fn asks_for_types(ty: &ast::Type) -> bool {
    use ast::{TemplateArgument, TypeKind};
    fn of_argument(argument: &TemplateArgument) -> bool {
        match argument {
            TemplateArgument::Type(ty) | TemplateArgument::Ambiguous(ty, _) => asks_for_types(ty),
            TemplateArgument::Value(_) => true,
            TemplateArgument::Pack(inner) => of_argument(inner),
        }
    }
    match &ty.kind {
        TypeKind::Decltype(_) => true,
        TypeKind::Named(name) => name
            .segments
            .iter()
            .any(|segment| (segment.template_arguments.iter().flatten()).any(of_argument)),
        TypeKind::Pointer(to) | TypeKind::Array { element: to, .. } => asks_for_types(to),
        TypeKind::Reference { target, .. } => asks_for_types(target),
        _ => false,
    }
}

fn depends_on_template_alone(function: &ast::Function) -> bool {
    let is_auto = |p: &ast::Parameter| matches!(p.ty.kind, ast::TypeKind::Auto);
    !function.parameters.iter().any(is_auto)
}

/// Identity of a function with its template arguments.
pub(super) fn callee_id(
    callee: &Callee,
    class: Option<String>,
    scopes: &[Scope],
    function: &ast::Function,
) -> super::outlined::CalleeId {
    let arguments = bindings_text(scopes, function);
    format!("{:?}{}{class:?}{arguments:?}", callee.item, callee.name)
}

/// The template arguments of a call, as text that tells instances apart.
fn bindings_text(scopes: &[Scope], function: &ast::Function) -> String {
    let mut text = String::new();
    for parameter in function.template.iter().flat_map(|t| &t.parameters) {
        if let Some(name) = &parameter.name
            && let Some(local) = scopes.iter().rev().find_map(|s| s.get(&name.name))
        {
            match is_undecided(local) {
                true => text.push('?'),
                false => text.push_str(&format!("{local:?}")),
            }
        }
    }
    text
}
