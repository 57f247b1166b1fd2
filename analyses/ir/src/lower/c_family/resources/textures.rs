//! Textures: sampling, gathering, loads and stores of texels, dimensions.

use super::*;
use crate::lower::c_family::builtins::hlsl::{as_float, value, write};
use crate::lower::c_family::value::Argument;

impl ResourceType {
    /// Coordinates of a sample, array index included.
    fn sample_coordinates(&self) -> u8 {
        let plane = match self.dimension {
            Dimension::None | Dimension::One => 1,
            Dimension::Two => 2,
            Dimension::Three | Dimension::Cube => 3,
        };
        plane + u8::from(self.array)
    }
    /// Coordinates of a texel, array index included.
    fn texel_coordinates(&self) -> u8 {
        let plane = match self.dimension {
            Dimension::None | Dimension::One => 1,
            Dimension::Two | Dimension::Cube => 2,
            Dimension::Three => 3,
        };
        plane + u8::from(self.array || self.dimension == Dimension::Cube)
    }
    fn geometry(&self) -> Geometry {
        match (self.dimension, self.array, self.multisampled) {
            (Dimension::One, false, _) => Geometry::D1,
            (Dimension::One, true, _) => Geometry::D1Array,
            (Dimension::Two, false, true) => Geometry::Multisampled,
            (Dimension::Two, true, true) => Geometry::MultisampledArray,
            (Dimension::Two, false, false) => Geometry::D2,
            (Dimension::Two, true, false) => Geometry::D2Array,
            (Dimension::Three, ..) => Geometry::D3,
            (Dimension::Cube, false, _) => Geometry::Cube,
            (Dimension::Cube, true, _) => Geometry::CubeArray,
            // Typed buffers have one coordinate.
            (Dimension::None, ..) => match self.kind {
                ResourceKind::TypedBuffer => Geometry::D1,
                _ => Geometry::Unknown,
            },
        }
    }
    /// Components of a texel offset.
    fn offset_components(&self) -> u8 {
        match self.dimension {
            Dimension::One => 1,
            Dimension::Three => 3,
            _ => 2,
        }
    }
}

/// `texture[coordinates]`, `texture.mips[level]` and `texture.mips[level][coordinates]`.
pub(super) fn element(
    cx: &mut Context<'_>,
    resource: &Arc<ResourceType>,
    object: &RValue,
    index: &RValue,
    span: Span,
) -> Option<LValue> {
    if resource.kind == ResourceKind::Mips {
        let level = cx.convert(index.clone(), &CType::UINT, span).first()?;
        let ty = CType::Resource(Arc::new(ResourceType {
            kind: ResourceKind::MipLevel,
            ..(**resource).clone()
        }));
        return Some(LValue::value(RValue::new(ty, [object.first()?, level])));
    }
    let mut coordinates = coordinate(cx, index, resource.texel_coordinates(), span)?;
    if resource.kind == ResourceKind::MipLevel {
        coordinates.extend(object.parts.get(1).copied());
    }
    Some(LValue {
        ty: resource.element.clone(),
        place: Place::Texel(Rc::new(Texel {
            resource: object.first()?,
            coordinates: coordinates.into_iter().collect(),
            element: resource.element.clone(),
            read_only: !resource.read_write,
            geometry: resource.geometry(),
        })),
        name: None,
        is_const: !resource.read_write,
    })
}

/// An integer coordinate of `count` components.
fn coordinate(cx: &mut Context<'_>, index: &RValue, count: u8, span: Span) -> Option<Vec<Value>> {
    if !index.ty.is_numeric() {
        return None;
    }
    let element = if *index.ty.element() == CType::INT {
        CType::INT
    } else {
        CType::UINT
    };
    let have = index.ty.components().min(count as usize).max(1) as u8;
    let ty = if have == 1 && count == 1 {
        element
    } else {
        CType::vector(
            element,
            if index.ty.components() == 1 {
                count
            } else {
                have
            },
        )
    };
    let v = cx.convert(index.clone(), &ty, span);
    Some(v.parts.to_vec())
}

struct Sampling {
    op: TextureOp,
    sampler: bool,
    /// Components after the coordinates that are not offsets: comparison value, bias, level.
    scalars: usize,
    /// Two gradients.
    gradients: bool,
    /// The result is one scalar.
    comparison: bool,
    gather: bool,
    /// The component of a gather: 0 to 3 for red to alpha.
    component: u8,
}

fn sampling(name: &str) -> Option<Sampling> {
    let plain = Sampling {
        op: TextureOp::Sample,
        sampler: true,
        scalars: 0,
        gradients: false,
        comparison: false,
        gather: false,
        component: match name {
            "GatherGreen" | "GatherCmpGreen" => 1,
            "GatherBlue" | "GatherCmpBlue" => 2,
            "GatherAlpha" | "GatherCmpAlpha" => 3,
            _ => 0,
        },
    };
    Some(match name {
        "Sample" => plain,
        "SampleBias" => Sampling {
            op: TextureOp::SampleBias,
            scalars: 1,
            ..plain
        },
        "SampleLevel" => Sampling {
            op: TextureOp::SampleLevel,
            scalars: 1,
            ..plain
        },
        "SampleGrad" => Sampling {
            op: TextureOp::SampleGradient,
            gradients: true,
            ..plain
        },
        "SampleCmp" => Sampling {
            op: TextureOp::SampleCompare,
            scalars: 1,
            comparison: true,
            ..plain
        },
        "SampleCmpBias" => Sampling {
            op: TextureOp::SampleCompare,
            scalars: 2,
            comparison: true,
            ..plain
        },
        "SampleCmpLevelZero" => Sampling {
            op: TextureOp::SampleCompareLevel,
            scalars: 1,
            comparison: true,
            ..plain
        },
        "SampleCmpLevel" => Sampling {
            op: TextureOp::SampleCompareLevel,
            scalars: 2,
            comparison: true,
            ..plain
        },
        "SampleCmpGrad" => Sampling {
            op: TextureOp::SampleCompareLevel,
            scalars: 1,
            gradients: true,
            comparison: true,
            ..plain
        },
        "Gather" | "GatherRed" | "GatherGreen" | "GatherBlue" | "GatherAlpha" | "GatherRaw" => {
            Sampling {
                op: TextureOp::Gather,
                gather: true,
                ..plain
            }
        }
        "GatherCmp" | "GatherCmpRed" | "GatherCmpGreen" | "GatherCmpBlue" | "GatherCmpAlpha" => {
            Sampling {
                op: TextureOp::GatherCompare,
                scalars: 1,
                gather: true,
                ..plain
            }
        }
        "CalculateLevelOfDetail" | "CalculateLevelOfDetailUnclamped" => Sampling {
            op: match name {
                "CalculateLevelOfDetail" => TextureOp::CalculateLevel,
                _ => TextureOp::CalculateLevelUnclamped,
            },
            comparison: true,
            ..plain
        },
        _ => return None,
    })
}

pub(super) fn method(
    cx: &mut Context<'_>,
    resource: &Arc<ResourceType>,
    object: &RValue,
    name: &str,
    arguments: &[Argument],
    span: Span,
) -> Option<RValue> {
    let handle = object.first()?;
    if let Some(how) = sampling(name) {
        return sample(cx, resource, handle, &how, arguments, span);
    }
    match (name, arguments) {
        ("Load", [at, further @ ..]) => {
            let at = value(cx, at);
            // The level follows the coordinates of a texture that has levels.
            let level = !resource.multisampled && !resource.read_write;
            let count = resource.texel_coordinates() + u8::from(level);
            let coordinates = coordinate(cx, &at, count, span)?;
            let mut args = vec![handle];
            args.extend_from_slice(&coordinates);
            let mut used = coordinates.len() as u8;
            let mut further = further;
            if resource.multisampled
                && let [sample, rest @ ..] = further
            {
                let sample = value(cx, sample);
                args.push(cx.convert(sample, &CType::INT, span).first()?);
                used += 1;
                further = rest;
            }
            let has_offset = offset(cx, &mut args, &mut further, resource, span);
            let access = TextureAccess {
                op: TextureOp::Load,
                coordinates: used,
                has_sampler: false,
                has_offset,
                read_only: !resource.read_write,
                geometry: resource.geometry(),
                component: 0,
            };
            fetch(cx, access, &args, &resource.element, further.first())
        }
        ("GetDimensions", _) => {
            let plain = usize::from(resource.texel_coordinates())
                - usize::from(resource.dimension == Dimension::Cube && !resource.array);
            // With levels: the level comes first, the number of levels last.
            let (inputs, outputs) = if arguments.len() > plain
                && arguments.len() >= 3
                && !resource.multisampled
                && !resource.read_write
            {
                arguments.split_at(1)
            } else {
                arguments.split_at(0)
            };
            let mut args = vec![handle];
            for input in inputs {
                let v = value(cx, input);
                args.push(cx.convert(v, &CType::UINT, span).first()?);
            }
            let access = TextureAccess {
                op: TextureOp::Dimensions,
                coordinates: 0,
                has_sampler: false,
                has_offset: false,
                read_only: true,
                geometry: resource.geometry(),
                component: 0,
            };
            cx.here(span);
            let types = vec![Type::I32; outputs.len().max(1)];
            let inst = cx.builder.inst(Op::Texture(access), &args, &types);
            let results = cx.builder.results(inst).to_vec();
            for (output, result) in outputs.iter().zip(results) {
                write(cx, output, RValue::scalar(CType::UINT, result));
            }
            Some(RValue::void())
        }
        ("GetSamplePosition", [index]) => {
            let v = value(cx, index);
            let v = cx.convert(v, &CType::UINT, span).first()?;
            let access = TextureAccess {
                op: TextureOp::Dimensions,
                coordinates: 0,
                has_sampler: false,
                has_offset: false,
                read_only: true,
                geometry: resource.geometry(),
                component: 0,
            };
            let ty = CType::vector(CType::FLOAT, 2);
            fetch(cx, access, &[handle, v], &ty, None)
        }
        _ if name.starts_with("WriteSamplerFeedback") => {
            let mut args = vec![handle];
            for argument in arguments {
                let v = value(cx, argument);
                args.extend_from_slice(&v.parts);
            }
            Some(other(cx, &args, &CType::Void, false))
        }
        _ => None,
    }
}

/// Takes the texel offset from the front of `further`, if there is one: it comes before the clamp and the status, and
/// textures that can be written and cubes have none.
fn offset(
    cx: &mut Context<'_>,
    args: &mut Vec<Value>,
    further: &mut &[Argument],
    resource: &ResourceType,
    span: Span,
) -> bool {
    if resource.read_write || resource.dimension == Dimension::Cube {
        return false;
    }
    let [first, rest @ ..] = *further else {
        return false;
    };
    let v = value(cx, first);
    if !v.ty.is_numeric() {
        return false;
    }
    let ty = match resource.offset_components() {
        1 => CType::INT,
        count => CType::vector(CType::INT, count),
    };
    let v = cx.convert(v, &ty, span);
    args.extend_from_slice(&v.parts);
    *further = rest;
    true
}

fn sample(
    cx: &mut Context<'_>,
    resource: &Arc<ResourceType>,
    handle: Value,
    how: &Sampling,
    arguments: &[Argument],
    span: Span,
) -> Option<RValue> {
    let [sampler, at, further @ ..] = arguments else {
        return None;
    };
    let sampler = value(cx, sampler);
    let sampler = match sampler.ty {
        CType::Resource(_) => convert(cx, &sampler, &CType::Sampler { comparison: false }, span)?,
        _ => sampler,
    };
    let level = matches!(
        how.op,
        TextureOp::CalculateLevel | TextureOp::CalculateLevelUnclamped
    );
    let count = resource.sample_coordinates() - u8::from(level && resource.array);
    let at = value(cx, at);
    if !at.ty.is_numeric() {
        return None;
    }
    let at = as_float(cx, at, span);
    let ty = at.ty.element().clone();
    let have = at.ty.components() as u8;
    let at = if count == 1 {
        cx.convert(at, &ty, span)
    } else if have == 1 {
        cx.convert(at, &CType::vector(ty, count), span)
    } else {
        cx.convert(at, &CType::vector(ty, count.min(have)), span)
    };
    let mut args = vec![handle, sampler.first()?];
    args.extend_from_slice(&at.parts);
    let mut further = further;
    for _ in 0..how.scalars {
        let (first, rest) = further.split_first()?;
        let v = value(cx, first);
        args.push(cx.convert(v, &CType::FLOAT, span).first()?);
        further = rest;
    }
    if how.gradients {
        for _ in 0..2 {
            let (first, rest) = further.split_first()?;
            let v = value(cx, first);
            let v = as_float(cx, v, span);
            args.extend_from_slice(&v.parts);
            further = rest;
        }
    }
    // A gather has one offset, or one for each of its four texels.
    let offsets = if how.gather && further.len() >= 4 {
        4
    } else {
        1
    };
    let mut has_offset = false;
    for _ in 0..offsets {
        has_offset |= offset(cx, &mut args, &mut further, resource, span);
    }
    // The clamp of the level of detail, then the status.
    if !how.gather
        && let [clamp, rest @ ..] = further
        && (clamp.place.is_none() || clamp.ty().is_float())
    {
        let v = value(cx, clamp);
        args.push(cx.convert(v, &CType::FLOAT, span).first()?);
        further = rest;
    }
    let scalar = resource.element.element().clone();
    let scalar = if scalar.is_arithmetic() {
        scalar
    } else {
        CType::FLOAT
    };
    let ty = if level {
        CType::FLOAT
    } else if how.comparison {
        scalar
    } else if how.gather {
        CType::vector(scalar, 4)
    } else {
        resource.element.clone()
    };
    let access = TextureAccess {
        op: how.op,
        coordinates: at.parts.len() as u8,
        has_sampler: how.sampler,
        has_offset,
        read_only: true,
        geometry: resource.geometry(),
        component: how.component,
    };
    cx.here(span);
    fetch(cx, access, &args, &ty, further.first())
}

/// The operation, with the status as one more result when it is asked for.
fn fetch(
    cx: &mut Context<'_>,
    access: TextureAccess,
    args: &[Value],
    ty: &CType,
    status: Option<&Argument>,
) -> Option<RValue> {
    let mut types = cx.structs.parts(ty)?;
    let count = types.len();
    let status = status.filter(|s| s.place.is_some());
    if status.is_some() {
        types.push(Type::I32);
    }
    let inst = cx.builder.inst(Op::Texture(access), args, &types);
    let results = cx.builder.results(inst).to_vec();
    let parts: Parts = results.iter().take(count).copied().collect();
    cx.builder.vector(&parts);
    if let (Some(status), Some(&v)) = (status, results.get(count)) {
        write(cx, status, RValue::scalar(CType::UINT, v));
    }
    Some(RValue::new(ty.clone(), parts))
}
