//! HLSL's intrinsic functions, one file a group: `math` (component-wise), `geometry` (vectors and matrices), `bits`
//! (reinterpretation and packing), `sync` (atomics, barriers), `wave` (waves and quads), `pipeline` (derivatives,
//! attributes, legacy sampling, ray tracing, mesh shading).
//!
//! Component-wise intrinsics broadcast scalars and truncate to the shortest vector; integer operands of float
//! functions become `float`. Results that an intrinsic writes through `out` parameters are stored at the
//! arguments' places. Source: Microsoft's HLSL intrinsic reference and the DirectX specifications of shader
//! models 6.0 to 6.8.

mod bits;
pub mod extensions;
mod geometry;
mod math;
pub mod names;
mod pipeline;
mod sync;
mod wave;

pub(crate) use sync::interlocked;

use super::BuiltinTemplateArgument;
use crate::inst::*;
use crate::lower::c_family::context::Context;
use crate::lower::c_family::types::CType;
use crate::lower::c_family::value::{Argument, RValue};
use syntax::Span;
use syntax::c_family::ast;

/// `None`: not an intrinsic.
pub fn call(
    cx: &mut Context<'_>,
    name: &str,
    template_arguments: &[BuiltinTemplateArgument],
    arguments: &[Argument],
    span: Span,
) -> Option<RValue> {
    cx.here(span);
    let _ = template_arguments;
    let name = name.trim_start_matches("dx::");
    math::call(cx, name, arguments, span)
        .or_else(|| geometry::call(cx, name, arguments, span))
        .or_else(|| bits::call(cx, name, arguments, span))
        .or_else(|| sync::call(cx, name, arguments, span))
        .or_else(|| wave::call(cx, name, arguments, span))
        .or_else(|| pipeline::call(cx, name, arguments, span))
}

/// Returns true if an argument is a place that the intrinsic writes, or works on in place: it is not read before the
/// call.
pub fn by_place(name: &str, argument: usize, count: usize) -> bool {
    match name.trim_start_matches("dx::") {
        "modf" | "frexp" => argument == 1,
        "sincos" => argument >= 1,
        "asuint" => count == 3 && argument >= 1,
        "InterlockedCompareStore"
        | "InterlockedCompareStore64"
        | "InterlockedCompareStoreFloatBitwise" => argument == 0,
        "InterlockedCompareExchange"
        | "InterlockedCompareExchange64"
        | "InterlockedCompareExchangeFloatBitwise" => argument == 0 || argument == 3,
        // The payload: the shaders that are called read it and write it.
        "TraceRay" | "CallShader" | "HitObject::TraceRay" | "HitObject::Invoke" => {
            argument + 1 == count
        }
        name if name.starts_with("Interlocked") => argument == 0 || argument == 2,
        name if is_tessellation(name) => argument >= 2,
        _ => false,
    }
}

/// Returns true if an intrinsic rounds tessellation factors: two that come in, and the rest that it writes.
pub fn is_tessellation(name: &str) -> bool {
    let Some(rest) = name.strip_prefix("Process") else {
        return false;
    };
    let reductions = ["QuadTessFactors", "TriTessFactors", "2DQuadTessFactors"];
    let reduced = reductions.iter().find_map(|&of| rest.strip_prefix(of));
    rest == "IsolineTessFactors" || matches!(reduced, Some("Avg" | "Max" | "Min"))
}

/// An argument's value; one that was passed as a place is read now.
pub(crate) fn value(cx: &mut Context<'_>, argument: &Argument) -> RValue {
    match &argument.place {
        Some(place) if argument.value.parts.is_empty() && argument.value.target.is_none() => {
            cx.load(place, argument.span)
        }
        _ => argument.value.clone(),
    }
}

/// Writes to an `out` argument.
pub(crate) fn write(cx: &mut Context<'_>, argument: &Argument, value: RValue) {
    if let Some(place) = &argument.place {
        cx.store(place, value, argument.span);
    }
}

/// The arguments in one common type.
fn unified(cx: &mut Context<'_>, arguments: &[Argument], span: Span) -> Option<Vec<RValue>> {
    let values: Vec<RValue> = arguments.iter().map(|a| value(cx, a)).collect();
    let first = values.first()?.ty.clone();
    if !values.iter().all(|v| v.ty.is_numeric() || enumerated(v)) {
        return None;
    }
    let common = values
        .iter()
        .skip(1)
        .fold(first, |ty, v| cx.common_type(&ty, &v.ty));
    let common = common.with_element(cx.promote(common.element()));
    Some(
        values
            .into_iter()
            .map(|v| cx.convert(v, &common, span))
            .collect(),
    )
}

fn enumerated(value: &RValue) -> bool {
    matches!(value.ty, CType::Enum { .. })
}

/// The arguments in one common float type.
fn unified_floats(cx: &mut Context<'_>, arguments: &[Argument], span: Span) -> Option<Vec<RValue>> {
    let values = unified(cx, arguments, span)?;
    Some(values.into_iter().map(|v| as_float(cx, v, span)).collect())
}

/// A numeric value as floats.
pub(crate) fn as_float(cx: &mut Context<'_>, value: RValue, span: Span) -> RValue {
    if value.ty.element().is_float() {
        return value;
    }
    let ty = value.ty.with_element(CType::FLOAT);
    cx.convert(value, &ty, span)
}

fn uint(cx: &mut Context<'_>, value: &Argument, span: Span) -> RValue {
    let v = self::value(cx, value);
    cx.convert(v, &CType::UINT, span)
}

/// `a op b` of two values of one type.
fn op2(cx: &mut Context<'_>, op: ast::BinaryOp, a: &RValue, b: &RValue, span: Span) -> RValue {
    cx.arithmetic(op, a.clone(), b.clone(), span)
}

/// A float literal of the element type of `like`.
fn literal(cx: &mut Context<'_>, number: f64, like: &CType) -> RValue {
    let element = like.element().clone();
    let ty = element.scalar_ir().unwrap_or(crate::Type::F32);
    let v = cx.builder.float(ty, number);
    RValue::scalar(element, v)
}

/// An operation that the IR has no shape for: opaque, with effects.
pub(crate) fn other(
    cx: &mut Context<'_>,
    args: &[crate::entity::Value],
    ty: &CType,
    read_only: bool,
) -> RValue {
    opaque(cx, TextureOp::Other, args, ty, read_only)
}

/// A ray's traversal with the shaders that it runs; their result in `args` has type `ty`.
pub(crate) fn trace(cx: &mut Context<'_>, args: &[crate::entity::Value], ty: &CType) -> RValue {
    opaque(cx, TextureOp::Trace, args, ty, false)
}

fn opaque(
    cx: &mut Context<'_>,
    op: TextureOp,
    args: &[crate::entity::Value],
    ty: &CType,
    read_only: bool,
) -> RValue {
    let types = cx.structs.parts(ty).unwrap_or_default();
    let access = TextureAccess {
        op,
        coordinates: 0,
        has_sampler: false,
        has_offset: false,
        read_only,
        geometry: Geometry::Unknown,
        component: 0,
    };
    let inst = cx.builder.inst(Op::Texture(access), args, &types);
    let parts = cx.builder.results(inst).to_vec();
    if parts.len() > 1 {
        cx.builder.vector(&parts);
    }
    RValue::new(ty.clone(), parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The parameters with `out`, `inout` and `ref` of the compiler's own list (gen_intrin_main.txt of DirectX Shader
    /// Compiler).
    #[test]
    fn written_arguments_are_places() {
        let mut list: Vec<(String, usize, &[usize])> = Vec::new();
        let fixed: [(&str, usize, &[usize]); 19] = [
            ("asuint", 3, &[1, 2]),
            ("asuint", 1, &[]),
            ("frexp", 2, &[1]),
            ("modf", 2, &[1]),
            ("sincos", 3, &[1, 2]),
            ("InterlockedAdd", 2, &[0]),
            ("InterlockedCompareStore", 3, &[0]),
            ("InterlockedCompareStore64", 3, &[0]),
            ("InterlockedCompareStoreFloatBitwise", 3, &[0]),
            ("InterlockedCompareExchange", 4, &[0, 3]),
            ("InterlockedCompareExchange64", 4, &[0, 3]),
            ("InterlockedCompareExchangeFloatBitwise", 4, &[0, 3]),
            ("ProcessIsolineTessFactors", 4, &[2, 3]),
            ("TraceRay", 8, &[7]),
            ("dx::HitObject::TraceRay", 8, &[7]),
            ("dx::HitObject::Invoke", 2, &[1]),
            ("CallShader", 2, &[1]),
            ("ReportHit", 3, &[]),
            ("DispatchMesh", 4, &[]),
        ];
        list.extend(fixed.map(|(name, count, written)| (name.to_owned(), count, written)));
        for name in [
            "Add",
            "And",
            "Or",
            "Xor",
            "Min",
            "Max",
            "Exchange",
            "Add64",
            "Exchange64",
        ] {
            list.push((format!("Interlocked{name}"), 3, &[0, 2]));
        }
        for of in ["2DQuad", "Quad", "Tri"] {
            for by in ["Avg", "Max", "Min"] {
                list.push((format!("Process{of}TessFactors{by}"), 5, &[2, 3, 4]));
            }
        }
        for (name, count, expected) in list {
            let places = (0..count).filter(|&at| by_place(&name, at, count));
            assert_eq!(places.collect::<Vec<_>>(), expected, "{name}");
        }
    }
}
