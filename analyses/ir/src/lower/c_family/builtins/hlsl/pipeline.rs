//! Builtins of the pipeline stages: derivatives, attribute evaluation, sampling in Direct3D 9's style, mesh
//! shading, ray tracing, debugging.

use super::math::numeric;
use super::*;
use crate::Type;
use crate::entity::Value;
use crate::function::{BranchKind, Interpolation, StageInput, Terminator};
use crate::lower::c_family::resources;
use crate::lower::c_family::value::Parts;
use smol_str::SmolStr;

pub(super) fn call(
    cx: &mut Context<'_>,
    name: &str,
    arguments: &[Argument],
    span: Span,
) -> Option<RValue> {
    if let Some(kind) = derivative(name) {
        let [a] = arguments else { return None };
        let a = numeric(cx, a)?;
        let a = as_float(cx, a, span);
        let element = a.ty.element().clone();
        return Some(cx.map(&a, &element, |cx, v| {
            let ty = cx.builder.function.ty(v);
            cx.builder.value(Op::Derivative(kind), &[v], ty)
        }));
    }
    if let Some(result) = ray_system_value(cx, name, arguments, span) {
        return Some(result);
    }
    Some(match (name, arguments) {
        ("clip", [a]) => {
            let a = numeric(cx, a)?;
            let a = as_float(cx, a, span);
            let zero = literal(cx, 0.0, &a.ty);
            let below = cx.arithmetic(ast::BinaryOp::Less, a, zero, span);
            let mut parts = below.parts.iter().copied();
            let first = parts.next()?;
            let any = parts.fold(first, |x, y| {
                cx.builder
                    .binary(crate::inst::BinaryOp::Or, Wrap::MAY, x, y)
            });
            let (killed, on) = (cx.builder.create_block(), cx.builder.create_block());
            cx.builder.branch(any, killed, on, BranchKind::If);
            cx.builder.switch_to(killed);
            cx.builder.terminate(Terminator::Kill, BranchKind::Implied);
            cx.builder.switch_to(on);
            RValue::void()
        }
        ("abort" | "AcceptHitAndEndSearch" | "IgnoreHit", []) => {
            cx.builder.terminate(Terminator::Kill, BranchKind::Implied);
            let rest = cx.builder.create_block();
            cx.builder.switch_to(rest);
            RValue::void()
        }
        ("printf" | "errorf", _) | ("DebugBreak", []) => RValue::void(),
        ("EvaluateAttributeAtSample" | "EvaluateAttributeSnapped", [a, _])
        | ("EvaluateAttributeCentroid" | "EvaluateAttributeAtCentroid", [a])
        | ("GetAttributeAtVertex", [a, _]) => value(cx, a),
        ("GetRenderTargetSampleCount", []) => {
            let v = cx
                .builder
                .special(Special::OtherDispatch(Special::LIBRARY + 1), Type::I32);
            RValue::scalar(CType::UINT, v)
        }
        ("GetRenderTargetSamplePosition", [index]) => {
            let index = uint(cx, index, span).first()?;
            let parts: Parts = (0..2)
                .map(|_| {
                    cx.builder
                        .value(Op::Unary(UnaryOp::OtherMath), &[index], Type::F32)
                })
                .collect();
            cx.builder.vector(&parts);
            RValue::new(CType::vector(CType::FLOAT, 2), parts)
        }
        ("CheckAccessFullyMapped", [status]) => {
            let status = value(cx, status);
            let v = cx.truth(status, span);
            RValue::scalar(CType::Bool, v)
        }
        // The marker is a copy of its operand; `resources::mark_non_uniform` looks for it below resource indices.
        ("NonUniformResourceIndex", [a]) => {
            let a = numeric(cx, a)?;
            let a = if a.ty.element().is_integer() {
                a
            } else {
                let ty = a.ty.with_element(CType::UINT);
                cx.convert(a, &ty, span)
            };
            cx.here(span);
            let element = a.ty.element().clone();
            cx.map(&a, &element, |cx, v| {
                let ty = cx.builder.function.ty(v);
                cx.builder.convert(Convert::Bitcast, v, ty)
            })
        }
        ("IsHelperLane", []) => input(cx, "SV_IsHelperLane", &CType::Bool),
        ("SetMeshOutputCounts" | "DispatchMesh" | "GetGroupWaveCount", _) => {
            let op = match name {
                "SetMeshOutputCounts" => TextureOp::SetMeshOutputCounts,
                "DispatchMesh" => TextureOp::DispatchMesh,
                _ => TextureOp::Other,
            };
            let args = all_parts(cx, arguments);
            opaque(cx, op, &args, &CType::Void, false)
        }
        ("GetGroupWaveIndex", []) => {
            let v = cx.builder.special(Special::WarpId, Type::I32);
            RValue::scalar(CType::UINT, v)
        }
        // The payload, last and `inout`, is what the shaders called make of it.
        ("TraceRay" | "CallShader", [.., payload]) => {
            let args = all_parts(cx, arguments);
            let ty = payload.value.ty.clone();
            cx.here(span);
            let result = trace(cx, &args, &ty);
            write(cx, payload, result);
            RValue::void()
        }
        ("ReportHit", [_, ..]) => {
            let args = all_parts(cx, arguments);
            other(cx, &args, &CType::Bool, false)
        }
        (_, [edges, inside, outputs @ ..]) if is_tessellation(name) => {
            let args = all_parts(cx, &[edges.clone(), inside.clone()]);
            for output in outputs {
                let ty = output.value.ty.clone();
                cx.here(span);
                let result = other(cx, &args, &ty, true);
                write(cx, output, result);
            }
            RValue::void()
        }
        ("GetRemainingRecursionLevels" | "GetTimestamp", []) => input(cx, name, &CType::UINT),
        ("MaybeReorderThread" | "HitObject::Invoke", _) => {
            let args = all_parts(cx, arguments);
            let result = other(cx, &args, &CType::Void, false);
            if let ("HitObject::Invoke", [_, payload]) = (name, arguments) {
                let ty = payload.value.ty.clone();
                let after = trace(cx, &args, &ty);
                write(cx, payload, after);
            }
            result
        }
        (
            "HitObject::TraceRay"
            | "HitObject::FromRayQuery"
            | "HitObject::MakeMiss"
            | "HitObject::MakeNop",
            _,
        ) => {
            let args = all_parts(cx, arguments);
            let ty = resources::named_type(cx, "HitObject", &[])?;
            let object = other(cx, &args, &ty, false);
            if let ("HitObject::TraceRay", [.., payload]) = (name, arguments) {
                let ty = payload.value.ty.clone();
                let after = trace(cx, &args, &ty);
                write(cx, payload, after);
            }
            object
        }
        ("AllocateRayQuery", [_]) => {
            let v = cx.builder.undef(Type::Handle);
            RValue::scalar(resources::ray_query(), v)
        }
        _ => return legacy_sample(cx, name, arguments, span),
    })
}

fn derivative(name: &str) -> Option<Derivative> {
    Some(match name {
        "ddx" => Derivative::X,
        "ddy" => Derivative::Y,
        "ddx_coarse" => Derivative::XCoarse,
        "ddy_coarse" => Derivative::YCoarse,
        "ddx_fine" => Derivative::XFine,
        "ddy_fine" => Derivative::YFine,
        "fwidth" => Derivative::Width,
        _ => return None,
    })
}

/// A value that the pipeline hands to each lane, under a name that is no semantic.
pub(crate) fn input(cx: &mut Context<'_>, semantic: &str, ty: &CType) -> RValue {
    let types = cx.structs.parts(ty).unwrap_or_default();
    let parts: Parts =
        types
            .iter()
            .enumerate()
            .map(|(component, &ty)| {
                let name = SmolStr::new(semantic);
                let semantic = SmolStr::new(semantic.to_ascii_uppercase());
                let known =
                    cx.builder.function.inputs.iter().position(|i| {
                        i.semantic == semantic && usize::from(i.component) == component
                    });
                let index = known.unwrap_or_else(|| {
                    cx.builder.function.inputs.push(StageInput {
                        name,
                        semantic,
                        component: component as u8,
                        interpolation: Interpolation::Flat,
                        ty,
                    });
                    cx.builder.function.inputs.len() - 1
                });
                cx.builder.value(Op::StageInput(index as u32), &[], ty)
            })
            .collect();
    cx.builder.vector(&parts);
    RValue::new(ty.clone(), parts)
}

/// System values of ray tracing, each one call without arguments.
fn ray_system_value(
    cx: &mut Context<'_>,
    name: &str,
    arguments: &[Argument],
    _span: Span,
) -> Option<RValue> {
    if !arguments.is_empty() {
        return None;
    }
    let float3 = CType::vector(CType::FLOAT, 3);
    let ty = match name {
        "DispatchRaysIndex" => CType::vector(CType::UINT, 3),
        "DispatchRaysDimensions" => {
            let parts: Parts = (0..3)
                .map(|axis| {
                    let special = Special::OtherDispatch(Special::LIBRARY + 8 + axis);
                    cx.builder.special(special, Type::I32)
                })
                .collect();
            cx.builder.vector(&parts);
            return Some(RValue::new(CType::vector(CType::UINT, 3), parts));
        }
        "WorldRayOrigin" | "WorldRayDirection" | "ObjectRayOrigin" | "ObjectRayDirection" => float3,
        "RayTMin" | "RayTCurrent" => CType::FLOAT,
        "RayFlags" | "InstanceIndex" | "InstanceID" | "PrimitiveIndex" | "GeometryIndex"
        | "HitKind" | "ClusterID" => CType::UINT,
        "ObjectToWorld" | "ObjectToWorld3x4" | "WorldToObject" | "WorldToObject3x4" => {
            CType::matrix(CType::FLOAT, 3, 4)
        }
        "ObjectToWorld4x3" | "WorldToObject4x3" => CType::matrix(CType::FLOAT, 4, 3),
        "TriangleObjectPositions" => CType::matrix(CType::FLOAT, 3, 3),
        _ => return None,
    };
    Some(input(cx, name, &ty))
}

fn all_parts(cx: &mut Context<'_>, arguments: &[Argument]) -> Vec<Value> {
    let mut parts = Vec::new();
    for argument in arguments {
        let v = value(cx, argument);
        parts.extend_from_slice(&v.parts);
    }
    parts
}

/// `tex2D(s, uv)` and its kin: the sampler is the texture as well.
fn legacy_sample(
    cx: &mut Context<'_>,
    name: &str,
    arguments: &[Argument],
    span: Span,
) -> Option<RValue> {
    let rest = name.strip_prefix("tex")?;
    let (dimension, variant) = [("1D", 1), ("2D", 2), ("3D", 3), ("CUBE", 3)]
        .into_iter()
        .find_map(|(text, n)| rest.strip_prefix(text).map(|variant| (n, variant)))?;
    let [sampler, coordinate, further @ ..] = arguments else {
        return None;
    };
    let sampler = value(cx, sampler);
    if !matches!(sampler.ty, CType::Sampler { .. } | CType::Resource(_)) {
        return None;
    }
    let coordinate = numeric(cx, coordinate)?;
    let coordinate = as_float(cx, coordinate, span);
    let four = CType::vector(CType::FLOAT, 4);
    let (op, last) = match variant {
        "" if further.len() == 2 => (TextureOp::SampleGradient, None),
        "" | "proj" => (TextureOp::Sample, None),
        "bias" => (TextureOp::SampleBias, Some(3)),
        "lod" => (TextureOp::SampleLevel, Some(3)),
        "grad" => (TextureOp::SampleGradient, None),
        _ => return None,
    };
    let wide = last.is_some() || variant == "proj";
    let coordinate = if wide {
        cx.convert(coordinate, &four, span)
    } else {
        let ty = CType::vector(CType::FLOAT, dimension as u8);
        cx.convert(coordinate, &ty, span)
    };
    cx.here(span);
    let mut args: Vec<Value> = vec![sampler.first()?];
    for i in 0..dimension {
        let mut v = *coordinate.parts.get(i)?;
        if variant == "proj" {
            let w = coordinate.parts[3];
            v = cx
                .builder
                .binary(crate::inst::BinaryOp::FloatDiv, Wrap::MAY, v, w);
        }
        args.push(v);
    }
    if let Some(index) = last {
        args.push(*coordinate.parts.get(index)?);
    }
    for argument in further {
        let v = numeric(cx, argument)?;
        let v = as_float(cx, v, span);
        args.extend_from_slice(&v.parts);
    }
    let access = TextureAccess {
        op,
        coordinates: dimension as u8,
        has_sampler: false,
        has_offset: false,
        read_only: true,
        geometry: Geometry::Unknown,
        component: 0,
    };
    let inst = cx.builder.inst(Op::Texture(access), &args, &[Type::F32; 4]);
    let parts: Parts = cx.builder.results(inst).iter().copied().collect();
    cx.builder.vector(&parts);
    Some(RValue::new(four, parts))
}
