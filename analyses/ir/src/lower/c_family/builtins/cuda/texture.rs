//! Texture and surface functions, by object and by reference.

use super::super::BuiltinTemplateArgument;
use super::Call;
use crate::entity::Value;
use crate::inst::{Convert, Geometry, Op, TextureAccess, TextureOp};
use crate::lower::c_family::context::Context;
use crate::lower::c_family::types::CType;
use crate::lower::c_family::value::{Parts, RValue};
use crate::types::Type;

pub(super) fn call(cx: &mut Context<'_>, call: &Call<'_>) -> Option<RValue> {
    if let Some(body) = call.name.strip_prefix("tex") {
        return sample(cx, call, body);
    }
    surface(cx, call, call.name.strip_prefix("surf")?)
}

/// Coordinates (array layer included) by dimension.
fn coordinates(shape: &str) -> Option<usize> {
    Some(match shape {
        "1D" => 1,
        "2D" | "1DLayered" => 2,
        "3D" | "2DLayered" | "Cubemap" => 3,
        "CubemapLayered" => 4,
        _ => return None,
    })
}

fn geometry(shape: &str) -> Geometry {
    match shape {
        "1D" => Geometry::D1,
        "2D" => Geometry::D2,
        "3D" => Geometry::D3,
        "Cubemap" => Geometry::Cube,
        "1DLayered" => Geometry::D1Array,
        "2DLayered" => Geometry::D2Array,
        "CubemapLayered" => Geometry::CubeArray,
        _ => Geometry::Unknown,
    }
}

fn sample(cx: &mut Context<'_>, call: &Call<'_>, body: &str) -> Option<RValue> {
    let (shape, op, further) = match body {
        "1Dfetch" => ("1D", TextureOp::Load, 0),
        "2Dgather" => ("2D", TextureOp::Gather, 1),
        _ => match (body.strip_suffix("Lod"), body.strip_suffix("Grad")) {
            (Some(shape), _) => (shape, TextureOp::SampleLevel, 1),
            (_, Some(shape)) => (shape, TextureOp::SampleGradient, 2),
            // In compute kernels there are no implicit derivatives: level 0.
            _ => (body, TextureOp::SampleLevel, 0),
        },
    };
    let count = coordinates(shape)?;
    // `tex2D(&result, object, x, y)` writes through its first argument.
    let first = usize::from(call.ty(0)?.is_pointer());
    let ty = result_type(call, first)?;
    let number = if op == TextureOp::Load {
        CType::INT
    } else {
        CType::FLOAT
    };
    let mut args = vec![handle(cx, call, first)?];
    for at in 0..count {
        args.push(call.scalar(cx, first + 1 + at, &number)?);
    }
    for at in 0..further {
        if let Some(argument) = call.argument(first + 1 + count + at) {
            args.extend(argument.value.parts.iter().copied());
        }
    }
    let access = TextureAccess {
        op,
        coordinates: count as u8,
        has_sampler: false,
        has_offset: false,
        read_only: true,
        geometry: geometry(shape),
        component: 0,
    };
    let types = cx.structs.parts(&ty)?;
    let inst = cx.builder.inst(Op::Texture(access), &args, &types);
    let parts: Parts = cx.builder.results(inst).iter().copied().collect();
    cx.builder.vector(&parts);
    let value = RValue::new(ty, parts);
    if first == 1 {
        call.write(cx, 0, value)?;
        return Some(RValue::void());
    }
    Some(value)
}

fn surface(cx: &mut Context<'_>, call: &Call<'_>, body: &str) -> Option<RValue> {
    let (shape, write) = match (body.strip_suffix("read"), body.strip_suffix("write")) {
        (Some(shape), _) => (shape, false),
        (_, Some(shape)) => (shape, true),
        _ => return None,
    };
    let count = coordinates(shape)?;
    let through_pointer = !write && call.ty(0)?.is_pointer();
    let first = usize::from(write || through_pointer);
    let mut args = vec![handle(cx, call, first)?];
    for at in 0..count {
        args.push(call.scalar(cx, first + 1 + at, &CType::INT)?);
    }
    let op = if write {
        TextureOp::Store
    } else {
        TextureOp::Load
    };
    let access = TextureAccess {
        op,
        coordinates: count as u8,
        has_sampler: false,
        has_offset: false,
        read_only: false,
        geometry: geometry(shape),
        component: 0,
    };
    if write {
        args.extend(call.argument(0)?.value.parts.iter().copied());
        cx.builder.inst(Op::Texture(access), &args, &[]);
        return Some(RValue::void());
    }
    let ty = result_type(call, first)?;
    let types = cx.structs.parts(&ty)?;
    let inst = cx.builder.inst(Op::Texture(access), &args, &types);
    let parts: Parts = cx.builder.results(inst).iter().copied().collect();
    let value = RValue::new(ty, parts);
    if through_pointer {
        call.write(cx, 0, value)?;
        return Some(RValue::void());
    }
    Some(value)
}

/// The template argument, the type that the first argument points to, or that of the texture reference.
fn result_type(call: &Call<'_>, first: usize) -> Option<CType> {
    if let Some(BuiltinTemplateArgument::Type(ty)) = call.types.first() {
        return Some(ty.clone());
    }
    if let Some(CType::Pointer { to, .. }) = call.ty(0).filter(|_| first == 1) {
        return Some((**to).clone());
    }
    let CType::Opaque(name) = call.ty(first)? else {
        return Some(CType::FLOAT);
    };
    let inner = name.split_once('<').map_or("float", |(_, rest)| {
        rest.trim_end_matches('>')
            .split(',')
            .next()
            .unwrap_or("float")
            .trim()
    });
    let (word, n) = match inner.chars().last().and_then(|c| c.to_digit(10)) {
        Some(n @ 1..=4) => (&inner[..inner.len() - 1], n as u8),
        _ => (inner, 1),
    };
    let element = match word {
        "uchar" | "unsigned char" => CType::UCHAR,
        "char" => CType::CHAR,
        "ushort" | "unsigned short" => CType::USHORT,
        "short" => CType::SHORT,
        "uint" | "unsigned int" | "unsigned" => CType::UINT,
        "int" => CType::INT,
        _ => CType::FLOAT,
    };
    // Normalised integers are read as floats; which mode it is stands in the type's last argument.
    let element = if name.contains("NormalizedFloat") {
        CType::FLOAT
    } else {
        element
    };
    Some(if n == 1 {
        element
    } else {
        CType::vector(element, n)
    })
}

fn handle(cx: &mut Context<'_>, call: &Call<'_>, number: usize) -> Option<Value> {
    let value = call.argument(number)?.value.first()?;
    if cx.builder.function.ty(value) == Type::Handle {
        return Some(value);
    }
    let wide = cx.adapt(value, Type::I64);
    Some(cx.builder.convert(Convert::Bitcast, wide, Type::Handle))
}
