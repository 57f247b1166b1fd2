//! Lambdas: what they capture, and calls of them.

use super::arguments::Changed;
use super::call::{Arg, Operand};
use super::context::*;
use super::types::*;
use super::unseen::Unseen;
use super::value::{LValue, Place, RValue};
use super::visit;
use crate::function::*;
use crate::types::Space;
use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use std::rc::Rc;
use std::sync::Arc;
use syntax::Span;
use syntax::c_family::ast::{self, ExprKind, TypeKind};

impl Context<'_> {
    pub(super) fn closure(&mut self, lambda: &ast::Lambda, span: Span) -> RValue {
        let mut scopes = self.visible_scopes();
        let mut extra = Scope::default();
        for capture in &lambda.captures {
            if let Some(e) = &capture.initializer {
                let place = if capture.mode == ast::CaptureMode::Reference {
                    self.written_place(e)
                } else {
                    let value = LValue::value(self.rvalue(e));
                    self.kept_by(lambda, value, capture.name.span)
                };
                extra.insert(capture.name.name.clone(), Local::Variable(place));
            } else if capture.mode == ast::CaptureMode::Value
                && let Some(Local::Variable(place)) = self.lookup_local(&capture.name.name).cloned()
            {
                let copy = self.frozen(&place, capture.name.span);
                let copy = self.kept_by(lambda, copy, capture.name.span);
                extra.insert(capture.name.name.clone(), Local::Variable(copy));
            }
        }
        if lambda.default_capture == Some(ast::CaptureMode::Value) {
            let mut used: Vec<(SmolStr, Span)> = Vec::new();
            super::visit::block(&lambda.body, &mut |e| {
                if let ExprKind::Name(name) = &e.kind
                    && let [only] = name.segments.as_slice()
                    && used.iter().all(|(known, _)| *known != only.ident.name)
                {
                    used.push((only.ident.name.clone(), only.ident.span));
                }
            });
            let named = |name: &SmolStr| {
                let mut captures = lambda.captures.iter();
                captures.any(|capture| capture.name.name == *name)
            };
            for (name, at) in used {
                if extra.contains_key(&name) || named(&name) {
                    continue;
                }
                if let Some(Local::Variable(place)) = self.lookup_local(&name).cloned() {
                    let copy = self.frozen(&place, span);
                    let copy = self.kept_by(lambda, copy, at);
                    extra.insert(name, Local::Variable(copy));
                }
            }
        }
        scopes.push(extra);
        let this = self.this_place();
        let frame = self.frame();
        let closure = Closure {
            lambda: Arc::new(lambda.clone()),
            scopes: Rc::new(scopes),
            this,
            site: frame.site,
            item: frame.item.clone(),
            label: frame.label.clone(),
            namespace: frame.namespace.clone(),
            class: frame.class,
            span,
        };
        let id = ClosureId(self.closures.len() as u32);
        self.closures.push(Rc::new(closure));
        RValue::new(CType::Lambda(id), [])
    }

    /// A captured value, which a `mutable` lambda may assign from call to call.
    fn kept_by(&mut self, lambda: &ast::Lambda, copy: LValue, span: Span) -> LValue {
        let Place::Value(value) = &copy.place else {
            return copy;
        };
        if !lambda.mutable || value.parts.is_empty() {
            return copy;
        }
        let value = RValue::clone(value);
        let mut place = self.temporary(&value.ty, span);
        self.store_silently(&place, value, span);
        place.name = copy.name;
        place
    }

    /// Returns the present value of a variable, as a place that does not change with it.
    pub(super) fn frozen(&mut self, place: &LValue, span: Span) -> LValue {
        let own = match &place.place {
            Place::Slots(_) => true,
            Place::Memory { access, .. } => access.space == Space::Local && !place.ty.is_array(),
            _ => false,
        };
        if !own {
            return place.clone();
        }
        let mut unnamed = place.clone();
        unnamed.name = None;
        let value = self.copy_of(Operand::Place(unnamed), span);
        let mut copy = LValue::value(value);
        copy.name = place.name.clone();
        copy.is_const = false;
        copy
    }

    /// Calls a lambda.
    pub fn call_closure(
        &mut self,
        id: ClosureId,
        explicit: &[Local],
        arguments: &[Arg<'_>],
        span: Span,
    ) -> Operand {
        let closure = self.closures[id.0 as usize].clone();
        let lambda = closure.lambda.clone();
        let key = format!("lambda {:?} {}", closure.span, closure.label);
        let open = self.callees.iter().filter(|c| **c == key).count();
        if open > 4 || self.budget_spent() {
            let why = if open > 4 {
                Unseen::Recursive
            } else {
                Unseen::Budget
            };
            // What it has captured may change.
            let own = Operand::Value(RValue::new(CType::Lambda(id), []));
            let mut all = vec![Arg {
                operand: own,
                span,
                list: None,
            }];
            all.extend(arguments.iter().cloned());
            return self.unseen_call("lambda", why, None, &all, None, span);
        }
        let loc = self.at(span);
        let parent = self.site();
        let site = self.builder.push_site(SiteData {
            item: Some(closure.item.clone()),
            callee: SmolStr::new_static("lambda"),
            call: loc,
            parent: Some(parent),
            arguments: Vec::new(),
        });
        let mut frame = Frame::outside(closure.item.clone());
        frame.site = site;
        frame.label = closure.label.clone();
        frame.namespace = closure.namespace.clone();
        frame.captured = Some(closure.scopes.clone());
        frame.this = closure.this.clone();
        frame.class = closure.class;
        let caller = self.frames.len();
        self.frames.push(frame);
        self.callees.push(key);
        if let Some(template) = &lambda.template {
            let mut names = FxHashMap::default();
            for parameter in &template.parameters {
                if let Some(name) = &parameter.name {
                    names.insert(name.name.clone(), parameter.pack);
                }
            }
            let mut deduced = FxHashMap::default();
            for (parameter, local) in template.parameters.iter().zip(explicit) {
                if let Some(name) = &parameter.name {
                    deduced.insert(name.name.clone(), local.clone());
                }
            }
            for (parameter, argument) in lambda.parameters.iter().zip(arguments) {
                self.deduce(
                    &parameter.ty,
                    argument.operand.ty(),
                    &names,
                    &mut deduced,
                    0,
                );
            }
            let list: Vec<Local> = template
                .parameters
                .iter()
                .map_while(|p| deduced.get(&p.name.as_ref()?.name).cloned())
                .collect();
            self.bind_template(template, &list);
        }
        self.push_scope();
        let mut changed = Changed::default();
        visit::block(&lambda.body, &mut |e| changed.note(e));
        let mut next = 0;
        for parameter in &lambda.parameters {
            if parameter.pack {
                let mut list = Vec::new();
                while let Some(argument) = arguments.get(next) {
                    next += 1;
                    let own = argument.operand.ty().value_type().clone();
                    let ty = match &parameter.ty.kind {
                        TypeKind::Reference { .. } => CType::reference(own),
                        _ => own,
                    };
                    let place = self.bind_argument(
                        parameter,
                        &ty,
                        Some(argument.clone()),
                        &changed,
                        caller,
                    );
                    list.push(Local::Variable(place));
                }
                if let Some(ident) = &parameter.name {
                    self.declare(ident.name.clone(), Local::Pack(list));
                }
                continue;
            }
            let argument = arguments.get(next).cloned();
            next += 1;
            let mut ty = self.resolve_type(&parameter.ty);
            if let Some(argument) = &argument {
                let own = argument.operand.ty().value_type().clone();
                ty = match ty {
                    CType::Unknown => own,
                    CType::Reference { to, is_const } if to.is_unknown() => CType::Reference {
                        to: own.into(),
                        is_const,
                    },
                    other => other,
                };
            }
            let place = self.bind_argument(parameter, &ty, argument, &changed, caller);
            if let Some(ident) = &parameter.name {
                self.declare(ident.name.clone(), Local::Variable(place));
            }
        }
        let return_type = match &lambda.return_type {
            Some(ty) => self.resolve_type(ty),
            None => CType::Unknown,
        };
        let result = self.inline_body(&lambda.body, return_type, closure.span, span);
        self.callees.pop();
        result
    }
}
