//! `_Generic` of C: the value beside the type that the controlling expression has, which is not computed.

use super::context::Context;
use super::types::*;
use std::sync::Arc;
use syntax::c_family::ast::{self, Expr};

impl Context<'_> {
    /// The value that is chosen, or the reason why none is. Types that are one here (`long` and `long long`)
    /// are not distinguished: where that matters, nothing is taken.
    pub(super) fn chosen<'e>(
        &mut self,
        control: &Expr,
        cases: &'e [(Option<ast::Type>, Expr)],
    ) -> Result<&'e Expr, &'static str> {
        let controlling = plain(self.type_of(control).value_type());
        let mut found: Option<&Expr> = None;
        for (ty, value) in cases {
            let Some(ty) = ty else { continue };
            if plain(&self.resolve_type(ty)) != controlling {
                continue;
            }
            if found.replace(value).is_some() {
                return Err("`_Generic` between types that are not told apart");
            }
        }
        let default = cases.iter().find(|(ty, _)| ty.is_none());
        found
            .or(default.map(|(_, value)| value))
            .ok_or("`_Generic` without a value for the type")
    }
}

/// Returns the type of the value: arrays and functions are pointers, and the space that a pointer points to
/// is not part of its type.
fn plain(ty: &CType) -> CType {
    match ty {
        CType::Array { element, .. } => plain(&CType::pointer(
            (**element).clone(),
            crate::types::Space::Generic,
        )),
        CType::Signature(_) => plain(&CType::pointer(ty.clone(), crate::types::Space::Generic)),
        CType::Pointer {
            to,
            is_const,
            volatile,
            ..
        } => CType::Pointer {
            to: Arc::new(match &**to {
                inner @ CType::Pointer { .. } => plain(inner),
                other => other.clone(),
            }),
            space: crate::types::Space::Generic,
            is_const: *is_const,
            restrict: false,
            volatile: *volatile,
        },
        other => other.clone(),
    }
}
