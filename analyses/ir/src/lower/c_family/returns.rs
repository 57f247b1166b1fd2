//! `return` of inlined calls and of the function that is built.

use super::context::*;
use super::types::*;
use super::value::*;
use crate::types::Space;
use syntax::Span;
use syntax::c_family::ast::{Expr, ExprKind};

impl Context<'_> {
    pub(super) fn return_statement(&mut self, value: Option<&Expr>, tail: bool, span: Span) {
        let Some(exit) = self.frame().exit else {
            return self.return_from_function(value, span);
        };
        let declared = self.frame().return_type.clone();
        match value {
            None => {}
            Some(e) => match (self.frame().returns.clone(), declared) {
                (ReturnPlace::Void, _) => {
                    self.expr(e);
                }
                (ReturnPlace::Undecided, Some(CType::Reference { to, .. })) => {
                    let mut place = self.written_place(e);
                    if let (CType::Struct(a), CType::Struct(b)) = (&place.ty, &*to)
                        && let Some(base) = self.base_place(&place, *a, *b)
                    {
                        place = base;
                    }
                    if to.is_unknown() {
                        // `auto&`
                    } else if place.ty != *to && !place.ty.is_array() {
                        place.ty = if super::templates::same_type(&place.ty, &to) {
                            (*to).clone()
                        } else {
                            place.ty.clone()
                        };
                    }
                    self.frame().returns = ReturnPlace::Reference(place);
                }
                (ReturnPlace::Undecided, _) => {
                    let value = match &e.kind {
                        ExprKind::List(_) => self.initialise_value(&CType::Unknown, e),
                        _ => self.rvalue(e),
                    };
                    let value = self.decay(value);
                    let value = match value.ty {
                        // Another `return` may name another function.
                        CType::Function(..) if !tail => self.held_code(value, span),
                        _ => value,
                    };
                    if value.ty.is_void() {
                        self.frame().returns = ReturnPlace::Void;
                    } else if value.parts.is_empty() && value.target.is_none() {
                        // Lambdas and functions have no content: the value is the type.
                        let place = LValue::value(value);
                        self.frame().returns = ReturnPlace::Reference(place);
                    } else {
                        let key_span = self.frame().return_key;
                        let key = self.key(key_span);
                        let value = self.with_address(value, span);
                        let place = self.new_place(&value.ty, &key, Some(&value.parts));
                        let place = LValue {
                            ty: value.ty.clone(),
                            place,
                            name: None,
                            is_const: false,
                        };
                        self.store_silently(&place, value, span);
                        self.frame().returns = ReturnPlace::Place(place);
                    }
                }
                (ReturnPlace::Reference(_), _) => {
                    // A second return names another place: results become addresses.
                    let key_span = self.frame().return_key;
                    let key = self.key(key_span);
                    self.written_place(e);
                    if self.demotions.pointer_results.insert(key) {
                        self.again = true;
                    }
                }
                (ReturnPlace::Place(place), declared) => {
                    let value = match declared {
                        Some(CType::Reference { to, .. }) => {
                            let named = self.written_place(e);
                            let ty = CType::pointer((*to).clone(), Space::Generic);
                            RValue::pointer_to(ty, named)
                        }
                        Some(ty) => self.initialise_value(&ty, e),
                        None => self.rvalue(e),
                    };
                    self.store_silently(&place, value, span);
                }
            },
        }
        if !tail {
            self.leave_scopes(0);
            self.frame().exit_used = true;
            self.jump_out(exit, true);
            self.dead();
        }
    }

    /// `return` of the function that is being built.
    pub(super) fn return_from_function(&mut self, value: Option<&Expr>, span: Span) {
        let declared = self.frame().return_type.clone().unwrap_or(CType::Void);
        let mut parts = Parts::new();
        if let Some(e) = value {
            let ty = match &declared {
                CType::Reference { to, .. } => CType::pointer((**to).clone(), Space::Generic),
                other => other.clone(),
            };
            let value = match &declared {
                CType::Void => {
                    self.expr(e);
                    RValue::void()
                }
                CType::Reference { .. } => {
                    let place = self.written_place(e);
                    RValue::pointer_to(ty.clone(), place)
                }
                _ => self.initialise_value(&ty, e),
            };
            let value = self.with_address(value, span);
            let value = self.held_code(value, span);
            parts = self.results_out(value, span);
            let wanted = self.builder.function.returns.clone();
            parts = parts
                .iter()
                .zip(&wanted)
                .map(|(&v, &t)| self.adapt(v, t))
                .collect();
        }
        self.leave_scopes(0);
        self.leave_loops();
        self.finish_return(parts, span);
        self.dead();
    }

    /// Ends the function with these values; missing values are undefined.
    pub fn finish_return(&mut self, mut parts: Parts, span: Span) {
        self.here(span);
        let wanted = self.builder.function.returns.clone();
        let outputs = super::stages::output_parts(self, span);
        let own = wanted.len().saturating_sub(outputs.len());
        parts.truncate(own);
        while parts.len() < own {
            let undefined = self.builder.undef(wanted[parts.len()]);
            parts.push(undefined);
        }
        parts.extend(outputs);
        parts.truncate(wanted.len());
        self.builder.ret(parts);
    }
}
