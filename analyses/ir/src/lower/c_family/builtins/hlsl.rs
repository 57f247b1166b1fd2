//! HLSL's intrinsic functions.

use super::BuiltinTemplateArgument;
use crate::lower::c_family::context::Context;
use crate::lower::c_family::value::{Argument, RValue};
use syntax::Span;

/// `None`: not an intrinsic.
pub fn call(
    _cx: &mut Context<'_>,
    _name: &str,
    _template_arguments: &[BuiltinTemplateArgument],
    _arguments: &[Argument],
    _span: Span,
) -> Option<RValue> {
    None
}
