//! The types that HLSL's library names.

use super::*;
use crate::lower::c_family::builtins::BuiltinTemplateArgument;

/// The type that a name of HLSL's library means (`Texture2D<float4>`, `SamplerState` and other spellings that the
/// common table of vector types lacks). `None`: no such type.
pub fn named_type(
    cx: &mut Context<'_>,
    name: &str,
    arguments: &[BuiltinTemplateArgument],
) -> Option<CType> {
    let element = arguments.iter().find_map(|a| match a {
        BuiltinTemplateArgument::Type(ty) => Some(ty.clone()),
        BuiltinTemplateArgument::Value(_) => None,
    });
    let float4 = CType::vector(CType::FLOAT, 4);
    match name {
        "SamplerState" | "sampler" | "sampler_state" | "sampler1D" | "sampler2D" | "sampler3D"
        | "samplerCUBE" => return Some(CType::Sampler { comparison: false }),
        "SamplerComparisonState" => return Some(CType::Sampler { comparison: true }),
        "unsigned" => return Some(CType::UINT),
        "size_t" => return Some(CType::ULONG),
        "byte" | "int8_t" => return Some(CType::CHAR),
        "uint8_t" => return Some(CType::UCHAR),
        "int8_t4_packed" | "uint8_t4_packed" => return Some(CType::UINT),
        "string" => return Some(CType::opaque("string")),
        "RayDesc" => {
            let float3 = CType::vector(CType::FLOAT, 3);
            let fields = [
                ("Origin", float3.clone()),
                ("TMin", CType::FLOAT),
                ("Direction", float3),
                ("TMax", CType::FLOAT),
            ];
            return Some(structure(cx, name, &fields));
        }
        "BuiltInTriangleIntersectionAttributes" => {
            let fields = [("barycentrics", CType::vector(CType::FLOAT, 2))];
            return Some(structure(cx, name, &fields));
        }
        "BuiltInTrianglePositions" => {
            let float3 = CType::vector(CType::FLOAT, 3);
            let fields = [
                ("p0", float3.clone()),
                ("p1", float3.clone()),
                ("p2", float3),
            ];
            return Some(structure(cx, name, &fields));
        }
        "ResourceDescriptorHeap" | "SamplerDescriptorHeap" => return Some(heap()),
        _ => {}
    }
    let (prefix, base) = if let Some(rest) = name.strip_prefix("RasterizerOrdered") {
        (2, rest)
    } else if let Some(rest) = name.strip_prefix("RW") {
        (1, rest)
    } else {
        (0, name)
    };
    let mut resource = ResourceType {
        kind: ResourceKind::Texture,
        dimension: Dimension::None,
        element: element.clone().unwrap_or(float4),
        array: false,
        multisampled: false,
        read_write: prefix > 0,
        ordered: prefix == 2,
    };
    if let Some(shape) = base.strip_prefix("Texture") {
        let (shape, array) = match shape.strip_suffix("Array") {
            Some(shape) => (shape, true),
            None => (shape, false),
        };
        let (shape, multisampled) = match shape.strip_suffix("MS") {
            Some(shape) => (shape, true),
            None => (shape, false),
        };
        resource.array = array;
        resource.multisampled = multisampled;
        resource.dimension = match shape {
            "1D" => Dimension::One,
            "2D" => Dimension::Two,
            "3D" => Dimension::Three,
            "Cube" => Dimension::Cube,
            "Buffer" if !array => {
                resource.kind = ResourceKind::ConstantBuffer;
                element.as_ref()?;
                Dimension::None
            }
            _ => return None,
        };
        return Some(CType::Resource(Arc::new(resource)));
    }
    resource.kind = match base {
        "texture" => {
            resource.dimension = Dimension::Two;
            ResourceKind::Texture
        }
        "Buffer" => ResourceKind::TypedBuffer,
        "StructuredBuffer" => {
            element.as_ref()?;
            ResourceKind::StructuredBuffer
        }
        "AppendStructuredBuffer" => {
            resource.read_write = true;
            ResourceKind::AppendBuffer
        }
        "ConsumeStructuredBuffer" => {
            resource.read_write = true;
            ResourceKind::ConsumeBuffer
        }
        "ByteAddressBuffer" => {
            resource.element = CType::Void;
            ResourceKind::ByteAddressBuffer
        }
        "ConstantBuffer" => {
            element.as_ref()?;
            ResourceKind::ConstantBuffer
        }
        "RaytracingAccelerationStructure" => ResourceKind::AccelerationStructure,
        "PointStream" | "LineStream" | "TriangleStream" => ResourceKind::Stream,
        "InputPatch" | "OutputPatch" => ResourceKind::Patch,
        "RayQuery" => ResourceKind::RayQuery,
        "FeedbackTexture2D" | "FeedbackTexture2DArray" => {
            resource.dimension = Dimension::Two;
            resource.array = base.ends_with("Array");
            ResourceKind::Feedback
        }
        _ if is_node_object(base) || base == "HitObject" => {
            resource.array = base.ends_with("OutputArray");
            resource.read_write = true;
            ResourceKind::Other
        }
        _ if is_pipeline_object(base) => ResourceKind::Other,
        _ => return None,
    };
    Some(CType::Resource(Arc::new(resource)))
}

/// Records of work graphs.
fn is_node_object(name: &str) -> bool {
    let name = name.strip_prefix("RW").unwrap_or(name);
    matches!(
        name,
        "DispatchNodeInputRecord"
            | "GroupNodeInputRecords"
            | "ThreadNodeInputRecord"
            | "EmptyNodeInput"
            | "NodeOutput"
            | "NodeOutputArray"
            | "EmptyNodeOutput"
            | "EmptyNodeOutputArray"
            | "ThreadNodeOutputRecords"
            | "GroupNodeOutputRecords"
            | "NodeTrackRWInputSharing"
    )
}

/// Objects of the effect framework and of state objects: they are never computed with.
fn is_pipeline_object(name: &str) -> bool {
    matches!(
        name,
        "BlendState"
            | "DepthStencilState"
            | "RasterizerState"
            | "VertexShader"
            | "PixelShader"
            | "GeometryShader"
            | "ComputeShader"
            | "HullShader"
            | "DomainShader"
            | "StateObjectConfig"
            | "GlobalRootSignature"
            | "LocalRootSignature"
            | "SubobjectToExportsAssociation"
            | "RaytracingShaderConfig"
            | "RaytracingPipelineConfig"
            | "RaytracingPipelineConfig1"
            | "TriangleHitGroup"
            | "ProceduralPrimitiveHitGroup"
    )
}

fn heap() -> CType {
    CType::Resource(Arc::new(ResourceType {
        kind: ResourceKind::Heap,
        dimension: Dimension::None,
        element: CType::Void,
        array: false,
        multisampled: false,
        read_write: false,
        ordered: false,
    }))
}

pub fn ray_query() -> CType {
    CType::Resource(Arc::new(ResourceType {
        kind: ResourceKind::RayQuery,
        dimension: Dimension::None,
        element: CType::Void,
        array: false,
        multisampled: false,
        read_write: true,
        ordered: false,
    }))
}

/// A structure that the library declares.
fn structure(cx: &mut Context<'_>, name: &str, fields: &[(&str, CType)]) -> CType {
    if let Some(known) = cx.structs.infos.iter().position(|s| s.name == name) {
        return CType::Struct(StructId(known as u32));
    }
    let mut fields: Vec<Field> = fields
        .iter()
        .map(|(name, ty)| Field::new(*name, ty.clone()))
        .collect();
    let (size, align) = cx.structs.lay_out(&mut fields, false, 4);
    cx.library_origin(name);
    CType::Struct(cx.structs.push(StructInfo {
        name: SmolStr::new(name),
        union: false,
        fields,
        size,
        align,
        incomplete: false,
        scattered: false,
    }))
}
