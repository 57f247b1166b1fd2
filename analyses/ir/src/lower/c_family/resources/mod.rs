//! HLSL's resources, constant buffers and shader entry points: the parts that the common lowering needs.
//!
//! Buffers (structured, typed, byte-address, constant) are memory with addresses; their accesses are checked, and
//! read-only unless the resource is writable. Textures, samplers and the rest are handles, accessed by `Op::Texture`.
//! An array of resources, bound or bindless, is one value; indexing it gives a `ResourceElement`.
//! Byte offsets: structured buffers lay structures out with the natural alignment of scalars; constant buffers pack
//! into registers of 16 bytes (`packing`).
//! Source: Microsoft's HLSL reference, "Packing Rules for Constant Variables", DirectX-Specs "ResourceBinding".

mod buffers;
mod globals;
mod methods;
mod names;
pub mod packing;
mod textures;

pub use globals::global;
pub use methods::{by_place, method};
pub use names::{named_type, ray_query};

use super::builtins::hlsl::other;
use super::context::Context;
use super::types::*;
use super::value::{LValue, Parts, Place, RValue, Texel};
use crate::entity::Value;
use crate::function::{Function, ValueDef};
use crate::inst::*;
use crate::types::{Space, Type};
use smol_str::SmolStr;
use std::rc::Rc;
use std::sync::Arc;
use syntax::Span;
use syntax::c_family::ast;

/// Returns true if a type is an array of resources or samplers, of any rank.
pub fn is_resource_array(ty: &CType) -> bool {
    match ty {
        CType::Array { element, .. } => is_object(element) || is_resource_array(element),
        _ => false,
    }
}

fn is_object(ty: &CType) -> bool {
    matches!(ty, CType::Resource(_) | CType::Sampler { .. })
}

/// `object[index]`.
pub fn index(cx: &mut Context<'_>, object: &RValue, index: &RValue, span: Span) -> Option<LValue> {
    cx.here(span);
    if let CType::Array { element, .. } = &object.ty {
        if !is_resource_array(&object.ty) || object.parts.len() != 1 {
            return None;
        }
        let base = object.first()?;
        let number = index.first()?;
        let number = if cx.builder.function.ty(number).is_int() {
            number
        } else {
            let i = cx.convert(index.clone(), &CType::UINT, span);
            i.first()?
        };
        let ty = cx.builder.function.ty(base);
        let op = Op::ResourceElement {
            non_uniform_marked: false,
        };
        let value = cx.builder.value(op, &[base, number], ty);
        return Some(LValue::value(RValue::scalar((**element).clone(), value)));
    }
    let CType::Resource(resource) = &object.ty else {
        return None;
    };
    let resource = resource.clone();
    match resource.kind {
        ResourceKind::Texture
        | ResourceKind::Mips
        | ResourceKind::MipLevel
        | ResourceKind::Feedback => textures::element(cx, &resource, object, index, span),
        ResourceKind::TypedBuffer
        | ResourceKind::StructuredBuffer
        | ResourceKind::AppendBuffer
        | ResourceKind::ConsumeBuffer => {
            buffers::element(cx, &resource, object.first()?, index, span)
        }
        ResourceKind::Patch => {
            let value = patch_element(cx, &resource, object.first()?, index, span)?;
            Some(LValue::value(value))
        }
        // `ResourceDescriptorHeap[i]`: which resource it is follows from where the value goes.
        ResourceKind::Heap => {
            let number = cx.convert(index.clone(), &CType::UINT, span).first()?;
            let op = Op::ResourceElement {
                non_uniform_marked: false,
            };
            let value = cx
                .builder
                .value(op, &[object.first()?, number], Type::Handle);
            Some(LValue::value(RValue::scalar(
                CType::Resource(Arc::new(ResourceType {
                    kind: ResourceKind::HeapElement,
                    ..(*resource).clone()
                })),
                value,
            )))
        }
        // One of an array of node outputs.
        ResourceKind::Other if resource.array => {
            let number = cx.convert(index.clone(), &CType::UINT, span).first()?;
            let op = Op::ResourceElement {
                non_uniform_marked: true,
            };
            let value = cx
                .builder
                .value(op, &[object.first()?, number], Type::Handle);
            let found = CType::Resource(Arc::new(ResourceType {
                array: false,
                ..(*resource).clone()
            }));
            Some(LValue::value(RValue::scalar(found, value)))
        }
        ResourceKind::Other => {
            let mut args: Vec<Value> = vec![object.first()?];
            args.extend_from_slice(&index.parts);
            let ty = resource.element.clone();
            let value = if is_object(&ty) {
                object.clone()
            } else {
                other(cx, &args, &ty, false)
            };
            Some(LValue::value(value))
        }
        _ => None,
    }
}

/// A control point of an `InputPatch` or `OutputPatch`: the patch differs between lanes.
fn patch_element(
    cx: &mut Context<'_>,
    resource: &ResourceType,
    patch: Value,
    index: &RValue,
    span: Span,
) -> Option<RValue> {
    let number = cx.convert(index.clone(), &CType::UINT, span).first()?;
    let types = cx.structs.parts(&resource.element)?;
    let access = TextureAccess {
        op: TextureOp::Load,
        coordinates: 1,
        has_sampler: false,
        has_offset: false,
        read_only: true,
        geometry: Geometry::Unknown,
        component: 0,
    };
    let inst = cx
        .builder
        .inst(Op::Texture(access), &[patch, number], &types);
    let parts: Parts = cx.builder.results(inst).iter().copied().collect();
    Some(RValue::new(resource.element.clone(), parts))
}

/// A member of a resource that is no method: a field of `ConstantBuffer<T>`, `texture.mips`.
pub fn member(cx: &mut Context<'_>, object: &RValue, name: &SmolStr, span: Span) -> Option<LValue> {
    let CType::Resource(resource) = &object.ty else {
        return None;
    };
    cx.here(span);
    match (resource.kind, name.as_str()) {
        (ResourceKind::ConstantBuffer, _) => {
            let place = constant_place(cx, object)?;
            let CType::Struct(id) = place.ty else {
                return None;
            };
            cx.field(&place, id, name, span)
        }
        (ResourceKind::Texture, "mips" | "sample") => {
            let ty = CType::Resource(Arc::new(ResourceType {
                kind: ResourceKind::Mips,
                ..(**resource).clone()
            }));
            Some(LValue::value(RValue::new(ty, object.parts.clone())))
        }
        (ResourceKind::Heap | ResourceKind::HeapElement, _) => None,
        _ => None,
    }
}

/// All of a `ConstantBuffer<T>` as a place.
pub fn constant_place(cx: &mut Context<'_>, object: &RValue) -> Option<LValue> {
    let CType::Resource(resource) = &object.ty else {
        return None;
    };
    if resource.kind != ResourceKind::ConstantBuffer {
        return None;
    }
    let address = object.first()?;
    let layout = packing::layout(&cx.structs, &resource.element, false, 0)?;
    Some(LValue {
        ty: resource.element.clone(),
        place: Place::Packed {
            address,
            access: constant_access(),
            layout: Rc::new(layout),
        },
        name: None,
        is_const: true,
    })
}

fn constant_access() -> MemoryAccess {
    MemoryAccess {
        checked: true,
        ..MemoryAccess::in_space(Space::Constant)
    }
}

/// A resource converted to another type: a constant buffer to its content, an element of the descriptor heap to the
/// resource that it is used as. `None`: no such conversion.
pub fn convert(cx: &mut Context<'_>, value: &RValue, to: &CType, span: Span) -> Option<RValue> {
    if is_resource_array(&value.ty) && is_resource_array(to) {
        return Some(RValue::new(to.clone(), value.parts.clone()));
    }
    let CType::Resource(resource) = &value.ty else {
        return None;
    };
    cx.here(span);
    match (resource.kind, to) {
        (ResourceKind::ConstantBuffer, _) if resource.element == *to => {
            let place = constant_place(cx, value)?;
            Some(cx.load_silently(&place, span))
        }
        (ResourceKind::HeapElement, CType::Resource(want)) => {
            let handle = value.first()?;
            let ty = want.ir();
            let v = if ty == cx.builder.function.ty(handle) {
                handle
            } else {
                cx.builder.convert(Convert::Bitcast, handle, ty)
            };
            Some(RValue::scalar(to.clone(), v))
        }
        (ResourceKind::HeapElement, CType::Sampler { .. }) => {
            Some(RValue::scalar(to.clone(), value.first()?))
        }
        (_, CType::Resource(want)) if want.ir() == resource.ir() => {
            Some(RValue::new(to.clone(), value.parts.clone()))
        }
        _ => None,
    }
}

/// Reads an element as a whole.
pub fn load_texel(cx: &mut Context<'_>, texel: &Texel, span: Span) -> RValue {
    cx.here(span);
    let types = cx.structs.parts(&texel.element).unwrap_or_default();
    let mut args = vec![texel.resource];
    args.extend_from_slice(&texel.coordinates);
    let access = TextureAccess {
        op: TextureOp::Load,
        coordinates: texel.coordinates.len() as u8,
        has_sampler: false,
        has_offset: false,
        read_only: texel.read_only,
        geometry: texel.geometry,
        component: 0,
    };
    let inst = cx.builder.inst(Op::Texture(access), &args, &types);
    let parts: Parts = cx.builder.results(inst).iter().copied().collect();
    cx.builder.vector(&parts);
    RValue::new(texel.element.clone(), parts)
}

/// Writes an element as a whole; `value` has the element's type.
pub fn store_texel(cx: &mut Context<'_>, texel: &Texel, value: &RValue, span: Span) {
    cx.here(span);
    let mut args = vec![texel.resource];
    args.extend_from_slice(&texel.coordinates);
    args.extend_from_slice(&value.parts);
    let access = TextureAccess {
        op: TextureOp::Store,
        coordinates: texel.coordinates.len() as u8,
        has_sampler: false,
        has_offset: false,
        read_only: false,
        geometry: texel.geometry,
        component: 0,
    };
    cx.builder.inst(Op::Texture(access), &args, &[]);
}

/// Declares the parameters of an entry point from their semantics, sets `kind`, `launch` and `inputs` of the function
/// being built. `false`: not an entry point; the common lowering treats it as a device function.
pub fn entry(cx: &mut Context<'_>, function: &ast::Function) -> bool {
    super::stages::entry(cx, function)
}

/// Marks the resource indices that `NonUniformResourceIndex` covers: the index is a marked copy, seen through integer
/// conversions. Asked for once the function is finished, when every value is known.
pub fn mark_non_uniform(function: &mut Function) {
    let marked = |function: &Function, mut value: Value| {
        for _ in 0..8 {
            let ValueDef::Result(inst, _) = function.values[value].def else {
                return false;
            };
            let data = &function.insts[inst];
            match (&data.op, data.args.first()) {
                (Op::Convert(Convert::Bitcast), Some(&from))
                    if function.ty(from) == function.ty(value) && function.ty(value).is_int() =>
                {
                    return true;
                }
                (
                    Op::Convert(
                        Convert::Bitcast
                        | Convert::ZeroExtend
                        | Convert::SignExtend
                        | Convert::Truncate,
                    ),
                    Some(&from),
                ) => value = from,
                _ => return false,
            }
        }
        false
    };
    let elements: Vec<_> = function
        .insts
        .iter()
        .filter(|(_, data)| matches!(data.op, Op::ResourceElement { .. }))
        .filter(|(_, data)| data.args.get(1).is_some_and(|&i| marked(function, i)))
        .map(|(inst, _)| inst)
        .collect();
    for inst in elements {
        function.insts[inst].op = Op::ResourceElement {
            non_uniform_marked: true,
        };
    }
}
