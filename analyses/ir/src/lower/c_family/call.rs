//! Calls of functions of the unit: overload resolution and inlining.
//!
//! Candidates are ranked by the sum of their argument conversions, then by how little of them is template, then by the
//! nearness of their scope. The chosen body is lowered in place: references are the caller's places, results go to a
//! place of the call. Recursion, and whatever exceeds the budget, remains a call of a function of the module.

use super::classes::{Callee, FunctionRef};
use super::context::*;
use super::templates::same_type;
use super::types::*;
use super::value::*;
use super::visit;
use crate::entity::Value;
use crate::function::*;
use crate::inst::*;
use crate::types::Type;
use rustc_hash::FxHashSet;
use smallvec::SmallVec;
use smol_str::SmolStr;
use std::rc::Rc;
use syntax::Span;
use syntax::c_family::ast::{self, Expr, ExprKind, FunctionBody, ItemKind};

/// Inlined calls on top of each other.
pub const MAX_INLINE_DEPTH: usize = 40;
/// Instructions of one function above which calls are no longer inlined.
pub const MAX_INSTRUCTIONS: usize = 20_000;
/// Functions of a module beside its own; calls of further ones are unknown.
pub const MAX_OUTLINED: usize = 16;

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

/// A function that remains a call.
#[derive(Clone, Debug)]
pub struct Outlined {
    pub id: CalleeId,
    pub callee: Callee,
    pub template: Vec<(SmolStr, Local)>,
}

/// Identity of a function with its template arguments.
pub type CalleeId = String;

/// Why a callee is not entered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unseen {
    /// Declared; the definition is in another translation unit.
    Body,
    /// No declaration of this name is in sight.
    Name,
    /// There are definitions of this name, and none is taken to fit.
    Overload,
    /// A pointer to a function whose value is not known.
    Pointer,
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
            let return_type = self.return_type_of(&callee, &scopes);
            return self.unseen_call(&name, Unseen::Body, this, arguments, return_type, span);
        };
        let class_changed = full.item != callee.item;
        let callee = full;
        let Some(function) = callee.function.function() else {
            return self.unknown_call(&name, this, arguments, None, span);
        };
        let id = format!(
            "{:?}{}{:?}{:?}",
            callee.item,
            name,
            callee.class,
            bindings_text(&scopes, function)
        );
        let recursive = self.callees.contains(&id);
        let large = self.builder.function.insts.len() > MAX_INSTRUCTIONS;
        if recursive || large || self.callees.len() >= MAX_INLINE_DEPTH || self.depth > 150 {
            return self.outlined_call(&callee, id, &scopes, this, arguments, &parameters, span);
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
        self.frames.push(frame);
        if class_changed {
            for (name, local) in callee.bindings.clone() {
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
        let return_type = if is_constructor {
            CType::Void
        } else if let ast::FunctionName::Conversion { .. } = function.name {
            self.resolve_type(&function.return_type)
        } else {
            self.resolve_type(&function.return_type)
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
        result
    }

    pub(super) fn return_type_of(&mut self, callee: &Callee, scopes: &[Scope]) -> Option<CType> {
        let mut frame = Frame::outside(callee.item.clone());
        frame.site = self.site();
        frame.namespace = callee.namespace.clone();
        frame.scopes = scopes.to_vec();
        frame.class = callee.class;
        self.frames.push(frame);
        let function = callee.function.function().map(|f| f.return_type.clone());
        let ty = function.map(|ty| self.resolve_type(&ty));
        self.frames.pop();
        ty
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
            Operand::Place(place) => self.load_at(caller, &place, span),
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

    /// A call of a function of which no definition is found under its name.
    pub fn unknown_call(
        &mut self,
        name: &str,
        this: Option<&LValue>,
        arguments: &[Arg<'_>],
        return_type: Option<CType>,
        span: Span,
    ) -> Operand {
        let last = SmolStr::new(name.rsplit("::").next().unwrap_or(name));
        let mut why = Unseen::Name;
        for entry in self.env.lookup(&[], &[last]) {
            if let (ItemKind::Function(function), super::env::EntryKind::Function) =
                (&self.env.item(entry).kind, entry.what)
            {
                if matches!(function.body, FunctionBody::Block(_)) {
                    why = Unseen::Overload;
                    break;
                }
                why = Unseen::Body;
            }
        }
        self.unseen_call(name, why, this, arguments, return_type, span)
    }

    /// Says why a call stays one.
    fn report_unseen(&mut self, name: &str, why: Unseen, span: Span) {
        let effect = "what it returns and writes is not known";
        match why {
            Unseen::Body => self.remark(span, format!("`{name}` is defined elsewhere: {effect}")),
            Unseen::Pointer => self.remark(
                span,
                format!("a call through `{name}` may reach any function: {effect}"),
            ),
            Unseen::Overload => self.problem(
                span,
                format!("no `{name}` in sight is understood to take these arguments: {effect}"),
            ),
            Unseen::Name => match self.env.missing_headers.as_slice() {
                [] => self.problem(span, format!("`{name}` is not visible here: {effect}")),
                [header] => {
                    let message = format!(
                        "`{name}` is not visible here (`{header}` was not found): {effect}"
                    );
                    self.remark(span, message);
                }
                [header, rest @ ..] => {
                    let message = format!(
                        "`{name}` is not visible here (`{header}` and {} more headers were not found): {effect}",
                        rest.len()
                    );
                    self.remark(span, message);
                }
            },
        }
    }

    /// A call whose callee is not entered: its result is unknown, and it may write whatever it can reach.
    pub fn unseen_call(
        &mut self,
        name: &str,
        why: Unseen,
        this: Option<&LValue>,
        arguments: &[Arg<'_>],
        return_type: Option<CType>,
        span: Span,
    ) -> Operand {
        let mut values: Parts = Parts::new();
        let mut written: Vec<LValue> = Vec::new();
        let mut guess = CType::INT;
        for argument in arguments {
            let value = match &argument.operand {
                Operand::Place(place) => {
                    if let Place::Slots(_) = &place.place
                        && !place.is_const
                    {
                        written.push(place.clone());
                    }
                    self.load(place, argument.span)
                }
                Operand::Value(value) => value.clone(),
            };
            if value.ty.element().is_float() && guess == CType::INT {
                guess = value.ty.clone();
            }
            let value = self.with_address(value, argument.span);
            values.extend(value.parts.iter().copied());
        }
        if let Some(this) = this
            && let Place::Slots(_) = &this.place
        {
            written.push(this.clone());
        }
        let ty = return_type.unwrap_or(guess);
        let ty = if ty.is_unknown() { CType::INT } else { ty };
        let result_ty = match &ty {
            CType::Reference { to, .. } => (**to).clone(),
            other => other.clone(),
        };
        let mut types: SmallVec<[Type; 4]> = self.structs.parts(&result_ty).unwrap_or_default();
        let own = types.len();
        for place in &written {
            types.extend(self.structs.parts(&place.ty).unwrap_or_default());
        }
        self.here(span);
        self.report_unseen(name, why, span);
        let op = Op::CallUnknown {
            name: SmolStr::new(name),
            pure: false,
        };
        let inst = self.builder.inst(op, &values, &types);
        let results: Parts = self.builder.results(inst).iter().copied().collect();
        let mut at = own;
        for place in written {
            let count = self.structs.parts(&place.ty).map_or(0, |p| p.len());
            let parts = results.get(at..at + count).unwrap_or(&[]).iter().copied();
            let value = RValue::new(place.ty.clone(), parts);
            at += count;
            self.store_silently(&place, value, span);
        }
        Operand::Value(RValue::new(result_ty, results.iter().take(own).copied()))
    }

    /// A recursive call, or one beyond the budget.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn outlined_call(
        &mut self,
        callee: &Callee,
        id: CalleeId,
        scopes: &[Scope],
        this: Option<&LValue>,
        arguments: &[Arg<'_>],
        parameters: &[Bound],
        span: Span,
    ) -> Operand {
        let return_type = self.return_type_of(callee, scopes);
        let simple = |ty: &CType| {
            ty.is_numeric()
                || ty.is_pointer()
                    && !matches!(ty, CType::Pointer { to, .. } if matches!(**to, CType::Struct(_) | CType::Lambda(_)))
        };
        let plain = this.is_none()
            && callee.class.is_none()
            && callee.bindings.is_empty()
            && callee.scopes.is_none()
            && arguments.len() == parameters.len()
            && parameters.iter().all(|p| simple(&p.ty) && !p.pack)
            && return_type
                .as_ref()
                .is_some_and(|t| t.is_void() || simple(t));
        let template: Option<Vec<(SmolStr, Local)>> = scopes
            .iter()
            .flatten()
            .map(|(n, l)| match l {
                // Template arguments of functions are kept by one lowering only.
                Local::Constant(number) if !matches!(number.ty, CType::Function(_, 1..)) => {
                    Some((n.clone(), l.clone()))
                }
                Local::Type(ty) if simple(ty) => Some((n.clone(), l.clone())),
                _ => None,
            })
            .collect();
        let (true, Some(mut template), Some(return_type)) = (plain, template, return_type.clone())
        else {
            return self.unknown_call(&callee.name, this, arguments, return_type, span);
        };
        template.sort_by(|a, b| a.0.cmp(&b.0));
        let mut values = Parts::new();
        for (argument, bound) in arguments.iter().zip(parameters) {
            let value = match &argument.operand {
                Operand::Place(place) => self.load(place, argument.span),
                Operand::Value(value) => value.clone(),
            };
            let value = self.convert(value, &bound.ty, argument.span);
            let value = self.with_address(value, argument.span);
            let types = self.structs.parts(&bound.ty).unwrap_or_default();
            for (&part, &ty) in value.parts.iter().zip(&types) {
                let part = self.adapt(part, ty);
                values.push(part);
            }
        }
        let index = match self.outlined.iter().position(|o| o.id == id) {
            Some(index) => index,
            None if self.outlined.len() >= MAX_OUTLINED => {
                let return_type = Some(return_type);
                return self.unknown_call(&callee.name, this, arguments, return_type, span);
            }
            None => {
                self.outlined.push(Outlined {
                    id,
                    callee: callee.clone(),
                    template,
                });
                self.outlined.len() - 1
            }
        };
        self.here(span);
        let types = self.structs.parts(&return_type).unwrap_or_default();
        // Function 0 of the module is the item itself.
        let inst = self
            .builder
            .inst(Op::Call(index as u32 + 1), &values, &types);
        let results: Parts = self.builder.results(inst).iter().copied().collect();
        Operand::Value(RValue::new(return_type, results))
    }

    /// The functions that a name can mean.
    pub fn functions_named(&mut self, path: &[SmolStr]) -> Vec<Callee> {
        let namespace = self.frame().namespace.clone();
        let Some(last) = path.last() else {
            return Vec::new();
        };
        let mut found = Vec::new();
        for entry in self.env.lookup(&namespace, path) {
            let item = self.env.item(entry);
            if let (ItemKind::Function(_), super::env::EntryKind::Function) =
                (&item.kind, entry.what)
            {
                found.push(Callee {
                    function: FunctionRef::Item(item.clone()),
                    item: item.key.clone(),
                    namespace: item.scope.clone(),
                    class: None,
                    bindings: Vec::new(),
                    scopes: None,
                    name: last.clone(),
                });
            }
        }
        found
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

/// The template arguments of a call, as text that tells instances apart.
fn bindings_text(scopes: &[Scope], function: &ast::Function) -> String {
    let mut text = String::new();
    for parameter in function.template.iter().flat_map(|t| &t.parameters) {
        if let Some(name) = &parameter.name
            && let Some(local) = scopes.iter().rev().find_map(|s| s.get(&name.name))
        {
            text.push_str(&format!("{local:?}"));
        }
    }
    text
}
