//! Methods of resources and of the other objects of HLSL's library.

use super::*;
use crate::lower::c_family::builtins::BuiltinTemplateArgument;
use crate::lower::c_family::builtins::hlsl::{self, value, write};
use crate::lower::c_family::value::Argument;

/// Returns true if a method's argument is a place that the method writes: it is not read before the call.
pub fn by_place(name: &str, argument: usize, count: usize) -> bool {
    match name {
        "GetDimensions" => true,
        "InterlockedCompareStore"
        | "InterlockedCompareStore64"
        | "InterlockedCompareStoreFloatBitwise" => false,
        "InterlockedCompareExchange"
        | "InterlockedCompareExchange64"
        | "InterlockedCompareExchangeFloatBitwise" => argument == 3,
        _ if name.starts_with("Interlocked") => argument == 2,
        "Load" | "Load2" | "Load3" | "Load4" => argument > 0 && argument + 1 == count && count <= 4,
        _ if name.starts_with("Sample") || name.starts_with("Gather") => {
            argument >= 2 && argument + 1 == count
        }
        _ => false,
    }
}

/// `object.name<template_arguments>(arguments)`; `None`: no such method.
pub fn method(
    cx: &mut Context<'_>,
    object: &RValue,
    name: &str,
    template_arguments: &[BuiltinTemplateArgument],
    arguments: &[Argument],
    span: Span,
) -> Option<RValue> {
    let CType::Resource(resource) = &object.ty else {
        return None;
    };
    let resource = resource.clone();
    cx.here(span);
    match resource.kind {
        ResourceKind::Texture | ResourceKind::Feedback => {
            textures::method(cx, &resource, object, name, arguments, span)
        }
        ResourceKind::TypedBuffer
        | ResourceKind::StructuredBuffer
        | ResourceKind::AppendBuffer
        | ResourceKind::ConsumeBuffer
        | ResourceKind::ByteAddressBuffer => buffers::method(
            cx,
            &resource,
            object.first()?,
            name,
            template_arguments,
            arguments,
            span,
        ),
        ResourceKind::Stream => {
            let mut args = vec![object.first()?];
            for argument in arguments {
                let v = value(cx, argument);
                let v = match &resource.element {
                    ty @ CType::Struct(_) => cx.convert(v, ty, span),
                    _ => v,
                };
                args.extend_from_slice(&v.parts);
            }
            Some(other(cx, &args, &CType::Void, false))
        }
        ResourceKind::RayQuery => ray_query_method(cx, object, name, arguments),
        ResourceKind::Other => node_method(cx, &resource, object, name, arguments, span),
        _ => None,
    }
}

/// Methods of `RayQuery`: traversal is a state that each lane has for itself, so every answer is its own.
fn ray_query_method(
    cx: &mut Context<'_>,
    object: &RValue,
    name: &str,
    arguments: &[Argument],
) -> Option<RValue> {
    let mut args = vec![object.first()?];
    for argument in arguments {
        let v = value(cx, argument);
        args.extend_from_slice(&v.parts);
    }
    let float3 = CType::vector(CType::FLOAT, 3);
    let ty = match name {
        "Proceed" => CType::Bool,
        "TraceRayInline"
        | "Abort"
        | "CommitNonOpaqueTriangleHit"
        | "CommitProceduralPrimitiveHit" => CType::Void,
        _ => {
            let rest = name
                .strip_prefix("Candidate")
                .or_else(|| name.strip_prefix("Committed"))
                .unwrap_or(name);
            match rest {
                "Type"
                | "Status"
                | "RayFlags"
                | "InstanceIndex"
                | "InstanceID"
                | "GeometryIndex"
                | "PrimitiveIndex"
                | "InstanceContributionToHitGroupIndex"
                | "ClusterID" => CType::UINT,
                "ProceduralPrimitiveNonOpaque" | "TriangleFrontFace" => CType::Bool,
                "TriangleRayT" | "RayT" | "RayTMin" | "RayTCurrent" => CType::FLOAT,
                "TriangleBarycentrics" => CType::vector(CType::FLOAT, 2),
                "WorldRayOrigin" | "WorldRayDirection" | "ObjectRayOrigin"
                | "ObjectRayDirection" => float3,
                "ObjectToWorld3x4" | "WorldToObject3x4" => CType::matrix(CType::FLOAT, 3, 4),
                "ObjectToWorld4x3" | "WorldToObject4x3" => CType::matrix(CType::FLOAT, 4, 3),
                "TriangleObjectPositions" => CType::matrix(CType::FLOAT, 3, 3),
                _ => return None,
            }
        }
    };
    // An uninitialised query is a handle without a value; traversal makes it one.
    Some(match name {
        "Proceed" => hlsl::trace(cx, &args, &ty),
        _ => other(cx, &args, &ty, false),
    })
}

/// Records of work graphs, hit objects and other opaque objects.
fn node_method(
    cx: &mut Context<'_>,
    resource: &Arc<ResourceType>,
    object: &RValue,
    name: &str,
    arguments: &[Argument],
    span: Span,
) -> Option<RValue> {
    let mut args = vec![object.first()?];
    for argument in arguments {
        let v = value(cx, argument);
        args.extend_from_slice(&v.parts);
    }
    let same = || CType::Resource(resource.clone());
    let ty = match name {
        "Get" => resource.element.clone(),
        "GetThreadNodeOutputRecords" | "GetGroupNodeOutputRecords" => same(),
        "OutputComplete" | "ThreadIncrementOutputCount" | "GroupIncrementOutputCount" => {
            CType::Void
        }
        "Count" => CType::UINT,
        "IsValid" | "FinishedCrossGroupSharing" | "IsHit" | "IsMiss" | "IsNop" => CType::Bool,
        "TraceRay" | "FromRayQuery" | "MakeMiss" | "MakeNop" => same(),
        "GetRayFlags"
        | "GetHitKind"
        | "GetInstanceIndex"
        | "GetInstanceID"
        | "GetGeometryIndex"
        | "GetPrimitiveIndex"
        | "GetShaderTableIndex"
        | "SetShaderTableIndex"
        | "LoadLocalRootTableConstant" => CType::UINT,
        "GetRayTMin" | "GetRayTCurrent" => CType::FLOAT,
        "GetWorldRayOrigin"
        | "GetWorldRayDirection"
        | "GetObjectRayOrigin"
        | "GetObjectRayDirection" => CType::vector(CType::FLOAT, 3),
        "GetObjectToWorld3x4" | "GetWorldToObject3x4" => CType::matrix(CType::FLOAT, 3, 4),
        "GetObjectToWorld4x3" | "GetWorldToObject4x3" => CType::matrix(CType::FLOAT, 4, 3),
        _ => return None,
    };
    let result = hlsl::other(cx, &args, &ty, false);
    if name == "TraceRay"
        && let Some(payload) = arguments.last()
    {
        let ty = payload.value.ty.clone();
        let after = hlsl::trace(cx, &args, &ty);
        write(cx, payload, after);
    }
    let _ = span;
    Some(result)
}
