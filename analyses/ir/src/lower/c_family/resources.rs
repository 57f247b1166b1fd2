//! HLSL's resources, constant buffers and shader entry points: what the common lowering asks of them.

use super::builtins::BuiltinTemplateArgument;
use super::context::Context;
use super::types::CType;
use super::value::{Argument, LValue, RValue, Texel};
use smol_str::SmolStr;
use syntax::Span;
use syntax::c_family::ast;

/// The type that a name of HLSL's library means (`Texture2D<float4>`, `SamplerState`, `float4x4` and other spellings
/// that the common table of vector types lacks). `None`: no such type.
pub fn named_type(
    _cx: &mut Context<'_>,
    _name: &str,
    _arguments: &[BuiltinTemplateArgument],
) -> Option<CType> {
    None
}

/// The place of a global: a resource, a `cbuffer` member or a plain global (which is a member of `$Globals`), or
/// `None` when no global has this name or it is not the resources' affair (`groupshared`, `static`).
pub fn global(_cx: &mut Context<'_>, _name: &str, _span: Span) -> Option<LValue> {
    None
}

/// `object.name<template_arguments>(arguments)`; `None`: no such method.
pub fn method(
    _cx: &mut Context<'_>,
    _object: &RValue,
    _name: &str,
    _template_arguments: &[BuiltinTemplateArgument],
    _arguments: &[Argument],
    _span: Span,
) -> Option<RValue> {
    None
}

/// `object[index]`.
pub fn index(
    _cx: &mut Context<'_>,
    _object: &RValue,
    _index: &RValue,
    _span: Span,
) -> Option<LValue> {
    None
}

/// A member of a resource that is no method: a field of `ConstantBuffer<T>`, `texture.mips`.
pub fn member(
    _cx: &mut Context<'_>,
    _object: &RValue,
    _name: &SmolStr,
    _span: Span,
) -> Option<LValue> {
    None
}

/// Reads an element as a whole.
pub fn load_texel(cx: &mut Context<'_>, texel: &Texel, span: Span) -> RValue {
    cx.unknown(
        "read of a typed resource",
        &[texel.resource],
        &texel.element,
        span,
    )
}

/// Writes an element as a whole; `value` has the element's type.
pub fn store_texel(cx: &mut Context<'_>, texel: &Texel, _value: &RValue, span: Span) {
    cx.unknown(
        "write of a typed resource",
        &[texel.resource],
        &CType::Void,
        span,
    );
}

/// Declares the parameters of an entry point from their semantics, sets `kind`, `launch` and `inputs` of the function
/// being built. `false`: not an entry point; the common lowering treats it as a device function.
pub fn entry(_cx: &mut Context<'_>, _function: &ast::Function) -> bool {
    false
}
