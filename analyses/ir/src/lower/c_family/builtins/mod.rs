//! Functions that the language provides. Dispatch by language; each table has the lowering of a name.
//!
//! `call` is asked before overload resolution finds nothing visible under the name; `None` means that the name is no
//! builtin (or that its arguments do not fit), and the call becomes unknown.

pub mod basic;
pub mod c;
mod c_memory;
pub mod cuda;
pub mod hlsl;
pub mod prototype;

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
        Language::Cuda => opaque_library(cx, name, arguments, span)
            .or_else(|| cuda::call(cx, name, template_arguments, arguments, span)),
        Language::C => c::call(cx, name, arguments, span),
        _ => None,
    }
}

/// Returns true if a name may be a builtin: `call` has the last word.
pub fn is_builtin(language: Language, name: &str) -> bool {
    match language {
        Language::Hlsl => hlsl::names::is_builtin(name),
        Language::C => c::is_builtin(name),
        other => other == Language::Cuda,
    }
}

/// Returns true if a header that is not found hides no device function: it declares builtins, or nothing that runs on a
/// device.
pub fn is_known_header(spec: &str) -> bool {
    let spec = spec.trim();
    if c::is_known_header(spec) {
        return true;
    }
    let name = spec.rsplit(['/', '\\']).next().unwrap_or(spec);
    let Some((stem, _)) = name.rsplit_once('.') else {
        // The C++ library, without its extensions for devices.
        return !spec.contains('/');
    };
    stem.starts_with("cuda_")
        || stem.starts_with("device_")
        || stem.starts_with("sm_")
        || spec.starts_with("cooperative_groups")
        || matches!(
            stem,
            "cuda"
                | "cuComplex"
                | "vector_types"
                | "vector_functions"
                | "math_constants"
                | "math_functions"
                | "host_defines"
                | "driver_types"
                | "texture_types"
                | "texture_fetch_functions"
                | "surface_types"
                | "surface_functions"
                | "builtin_types"
                | "mma"
        )
        || matches!(
            stem,
            "assert"
                | "math"
                | "stdio"
                | "stdlib"
                | "string"
                | "stdint"
                | "stdbool"
                | "stddef"
                | "limits"
                | "float"
                | "time"
                | "unistd"
                | "memory"
                | "malloc"
                | "errno"
                | "signal"
                | "pthread"
                | "omp"
                | "windows"
        )
}

/// The value of a name that no declaration in sight explains.
pub fn named_value(cx: &mut Context<'_>, name: &str, span: Span) -> Option<RValue> {
    match cx.language {
        Language::Cuda => {
            cx.here(span);
            if let Some(value) = cuda::named_value(cx, name) {
                return Some(value);
            }
            // Tags and enumerators of libraries whose headers are not in sight.
            let library = [
                "wmma::",
                "nvcuda::",
                "cuda::",
                "cooperative_groups::",
                "cg::",
            ];
            library
                .iter()
                .any(|prefix| name.starts_with(prefix))
                .then(|| cx.zero(&CType::opaque(name)))
        }
        Language::Hlsl => {
            let (number, ty) = hlsl::names::constant(name)?;
            let value = cx.builder.int(crate::Type::I32, number);
            Some(RValue::scalar(ty, value))
        }
        Language::C => c::named_value(cx, name, span),
        _ => None,
    }
}

/// Matrix fragments, asynchronous copies and pipelines: opaque, but nothing that is not understood. The first argument
/// takes the result.
fn opaque_library(
    cx: &mut Context<'_>,
    name: &str,
    arguments: &[Argument],
    span: Span,
) -> Option<RValue> {
    let last = name.rsplit("::").next()?;
    let (writes, result) = match last {
        "load_matrix_sync" | "mma_sync" | "fill_fragment" | "bmma_sync" => (true, CType::Void),
        "store_matrix_sync" | "memcpy_async" | "pipeline_consumer_wait_prior" => {
            (false, CType::Void)
        }
        "__pipeline_memcpy_async" | "__pipeline_commit" | "__pipeline_wait_prior" => {
            (false, CType::Void)
        }
        "make_pipeline" => (false, CType::opaque("pipeline")),
        "__float_to_tf32" => (false, CType::FLOAT),
        _ => return None,
    };
    if last.ends_with("memcpy_async") {
        cuda::synchronization::copy(cx, arguments, span);
    }
    let mut values: Vec<crate::entity::Value> = Vec::new();
    for argument in arguments {
        let value = cx.with_address(argument.value.clone(), span);
        values.extend(value.parts);
    }
    cx.here(span);
    let place = arguments.first().and_then(|a| a.place.clone());
    let ty = match (&place, writes) {
        (Some(place), true) => place.ty.clone(),
        _ => result.clone(),
    };
    let types = cx.structs.parts(&ty).unwrap_or_default();
    let op = crate::inst::Op::CallUnknown {
        name: last.into(),
        pure: false,
        convention: Default::default(),
    };
    let inst = cx.builder.inst(op, &values, &types);
    let parts: Vec<crate::entity::Value> = cx.builder.results(inst).to_vec();
    let made = RValue::new(ty, parts);
    if let (Some(place), true) = (place, writes) {
        cx.store(&place, made, span);
        return Some(RValue::void());
    }
    Some(made)
}

/// `object.name(arguments)` of an object that is neither a structure nor a resource.
pub fn method(
    cx: &mut Context<'_>,
    ty: &CType,
    object: &Argument,
    name: &str,
    _template_arguments: &[BuiltinTemplateArgument],
    arguments: &[Argument],
    span: Span,
) -> Option<RValue> {
    if cx.language != Language::Cuda || !matches!(ty, CType::Opaque(_)) {
        return None;
    }
    let mut all = vec![object.clone()];
    all.extend(arguments.iter().cloned());
    cuda::method(cx, name, &all, span)
}

/// A data member of an opaque object: matrix fragments have elements and their number.
pub fn opaque_member(
    cx: &mut Context<'_>,
    ty: &str,
    object: &RValue,
    name: &str,
    span: Span,
) -> Option<RValue> {
    if ty
        .rsplit("::")
        .next()
        .is_none_or(|ty| !ty.starts_with("fragment"))
    {
        return None;
    }
    cx.here(span);
    let ty = match name {
        "num_elements" => {
            let count = cx.template_symbol(&"num_elements".into(), &CType::INT);
            return Some(RValue::scalar(CType::INT, count));
        }
        "x" => CType::pointer(CType::FLOAT, crate::types::Space::Local),
        _ => return None,
    };
    let op = crate::inst::Op::CallUnknown {
        name: name.into(),
        pure: true,
        convention: Default::default(),
    };
    let scalar = ty.scalar_ir()?;
    let value = cx.builder.value(op, &object.parts, scalar);
    Some(RValue::scalar(ty, value))
}
