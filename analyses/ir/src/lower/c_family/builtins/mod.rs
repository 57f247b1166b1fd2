//! Functions that the language provides. Dispatch by language; each table says what a name lowers to.
//!
//! `call` is asked before overload resolution finds nothing visible under the name; `None` means that the name is no
//! builtin (or that its arguments do not fit), and the call becomes unknown.

pub mod cuda;
pub mod hlsl;

use super::context::Context;
use super::types::CType;
use super::value::{Argument, RValue};
use crate::function::Language;
use syntax::Span;

/// A template argument after lookup.
#[derive(Clone, Debug)]
pub enum BuiltinTemplateArgument {
    Type(CType),
    Value(i64),
}

/// Calls the builtin `name` (with its namespaces, `::` between, without a leading one).
pub fn call(
    cx: &mut Context<'_>,
    name: &str,
    template_arguments: &[BuiltinTemplateArgument],
    arguments: &[Argument],
    span: Span,
) -> Option<RValue> {
    match cx.language {
        Language::Hlsl => hlsl::call(cx, name, template_arguments, arguments, span),
        Language::Cuda => cuda::call(cx, name, template_arguments, arguments, span),
        _ => None,
    }
}
