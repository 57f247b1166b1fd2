//! Shader entry points: the functions that are entry points, their stages, and the values of their
//! parameters.
//!
//! A stage is told from `[shader("...")]`, from `[numthreads]` and the other stage attributes, from the
//! configuration, else from semantics: an output `SV_Target` makes a pixel shader, an output `SV_Position` a
//! vertex shader, provided that every parameter has a semantic. A function named `main`, `VSMain`, `PS_Blur`
//! and the like whose parameters all have semantics is an entry point even if its outputs say nothing.
//!
//! ```text
//! [numthreads(8, 8, 1)] void f(uint3 id : SV_DispatchThreadID)     kernel, id = group id * (8, 8, 1) + thread id
//! float4 f(float2 uv : TEXCOORD0) : SV_Target                      pixel shader, uv = two stage inputs
//! ```
//! System values that the IR knows become `Special`s, everything else a `StageInput`. `uniform` parameters, and those
//! without a semantic, are uniform symbols of the dispatch. Outputs (the return value, `out` parameters) are returned.
//! It does not check that a stage's signature is complete or allowed.
//! Source: Microsoft's HLSL reference ("Semantics"), DirectX-Specs (mesh shading, ray tracing, wave size).

use super::context::{Context, Local};
use super::resources;
use super::types::*;
use super::value::{LValue, NamedPart, Parts, Place, RValue};
use super::visit;
use crate::function::*;
use crate::inst::*;
use crate::types::{Space, Type};
use smol_str::SmolStr;
use std::sync::Arc;
use syntax::Span;
use syntax::c_family::ast::{
    self, Attribute, DeclaratorName, Direction, FunctionBody, Ident, Member, SpecifierSet,
};

/// A parameter's semantic when it has none of its own: it may come from a structure's members.
const MAX_DEPTH: u32 = 16;

/// Declares the parameters of an entry point. `false`: not an entry point.
pub fn entry(cx: &mut Context<'_>, function: &ast::Function) -> bool {
    let Some(kind) = kind_of(cx, function) else {
        return false;
    };
    cx.builder.function.kind = kind;
    let attributes = &function.specifiers.attributes;
    if let Some(sizes) = attribute(attributes, "numthreads") {
        for (axis, argument) in sizes.arguments.iter().take(3).enumerate() {
            let number = cx.constant(argument).map(|n| n.as_int());
            cx.builder.function.launch.block[axis] = number
                .and_then(|n| u32::try_from(n).ok())
                .filter(|&n| n > 0);
        }
        for axis in sizes.arguments.len()..3 {
            cx.builder.function.launch.block[axis] = Some(1);
        }
    }
    if let Some(wave) = attribute(attributes, "wavesize")
        && let [only] = wave.arguments.as_slice()
        && let Some(size) = cx.constant(only)
    {
        cx.builder.function.launch.warp_size = u32::try_from(size.as_int()).ok();
    }
    cx.builder.function.launch.with_helpers =
        attribute(attributes, "waveopsincludehelperlanes").is_some();
    for parameter in &function.parameters {
        declare(cx, parameter, kind);
    }
    let ty = cx.resolve_type(&function.return_type);
    let ty = if ty.is_unknown() { CType::Void } else { ty };
    let mut returns = cx.structs.parts(&ty).unwrap_or_default();
    for place in &cx.outputs {
        if let Place::Slots(_) = place.place {
            returns.extend(cx.structs.parts(&place.ty).unwrap_or_default());
        }
    }
    cx.builder.function.returns = returns.to_vec();
    cx.frame().return_type = Some(ty);
    true
}

// ------------------------------------------------------------------------------------------------ which stage

fn attribute<'a>(attributes: &'a [Attribute], name: &str) -> Option<&'a Attribute> {
    attributes
        .iter()
        .find(|a| a.name.eq_ignore_ascii_case(name))
}

/// Returns the kind of entry point of a function; `None`: none.
fn kind_of(cx: &mut Context<'_>, function: &ast::Function) -> Option<FunctionKind> {
    if !matches!(function.body, FunctionBody::Block(_)) || function.template.is_some() {
        return None;
    }
    if let Some(configured) = cx.options.stage {
        if let Some(plain) = without_semantic(cx, function) {
            let span = function.signature_span;
            let name = super::env::function_last_name(&function.name);
            cx.remark(span, format!("`{name}` is configured as an entry point, but its parameter `{plain}` has no semantic: it is taken as a function that others call"));
            return None;
        }
        return Some(configured);
    }
    let attributes = &function.specifiers.attributes;
    if let Some(shader) = attribute(attributes, "shader")
        && let Some(ast::ExprKind::String(name)) = shader.arguments.first().map(|a| &a.kind)
    {
        return named_stage(name.trim_matches('"'));
    }
    let has = |name: &str| attribute(attributes, name).is_some();
    if has("numthreads") {
        let mesh = has("outputtopology")
            || function
                .parameters
                .iter()
                .any(|p| p.specifiers.words.has(SpecifierSet::MESH_PARAMETER));
        if mesh {
            return Some(FunctionKind::Stage(ShaderStage::Mesh));
        }
        return Some(if calls(function, "DispatchMesh") {
            FunctionKind::Stage(ShaderStage::Amplification)
        } else {
            FunctionKind::Kernel
        });
    }
    if has("maxvertexcount") {
        return Some(FunctionKind::Stage(ShaderStage::Geometry));
    }
    if has("patchconstantfunc") || has("outputcontrolpoints") {
        return Some(FunctionKind::Stage(ShaderStage::Hull));
    }
    if has("domain") {
        return Some(FunctionKind::Stage(ShaderStage::Domain));
    }
    if has("earlydepthstencil") {
        return Some(FunctionKind::Stage(ShaderStage::Pixel));
    }
    by_semantics(cx, function)
}

/// A parameter that no stage can fill: the function is none of an entry point.
fn without_semantic(cx: &mut Context<'_>, function: &ast::Function) -> Option<SmolStr> {
    for parameter in &function.parameters {
        let ty = cx.resolve_type(&parameter.ty);
        let words = parameter.specifiers.words;
        // `payload`, `vertices`, `indices` and `primitives` of mesh shaders have no semantic.
        if matches!(ty, CType::Resource(_))
            || words.has(SpecifierSet::UNIFORM)
            || words.has(SpecifierSet::MESH_PARAMETER)
        {
            continue;
        }
        let mut semantics = Semantics::default();
        semantics.gather(cx, &ty, parameter.semantic.as_ref(), 0);
        if !semantics.all {
            return Some(
                parameter
                    .name
                    .as_ref()
                    .map_or_else(SmolStr::default, |n| n.name.clone()),
            );
        }
    }
    None
}

/// The kind of function that a stage's name means.
pub fn named_stage(name: &str) -> Option<FunctionKind> {
    Some(FunctionKind::Stage(
        match name.to_ascii_lowercase().as_str() {
            "compute" | "node" | "kernel" => return Some(FunctionKind::Kernel),
            "vertex" => ShaderStage::Vertex,
            "pixel" | "fragment" => ShaderStage::Pixel,
            "geometry" => ShaderStage::Geometry,
            "hull" => ShaderStage::Hull,
            "domain" => ShaderStage::Domain,
            "amplification" => ShaderStage::Amplification,
            "mesh" => ShaderStage::Mesh,
            "ray-tracing" | "raygeneration" | "closesthit" | "anyhit" | "miss" | "intersection"
            | "callable" => ShaderStage::RayTracing,
            _ => return None,
        },
    ))
}

/// Returns true if a body calls a function of this name.
fn calls(function: &ast::Function, name: &str) -> bool {
    let FunctionBody::Block(body) = &function.body else {
        return false;
    };
    let mut found = false;
    visit::block(body, &mut |e| {
        if let ast::ExprKind::Call { callee, .. } = &e.kind
            && let ast::ExprKind::Name(called) = &callee.kind
        {
            found |= called.segments.last().is_some_and(|s| s.ident.name == name);
        }
    });
    found
}

fn by_semantics(cx: &mut Context<'_>, function: &ast::Function) -> Option<FunctionKind> {
    let mut inputs = Semantics::default();
    let mut outputs = Semantics::default();
    for parameter in &function.parameters {
        let ty = cx.resolve_type(&parameter.ty);
        if let CType::Resource(resource) = &ty {
            match resource.kind {
                ResourceKind::Stream => return Some(FunctionKind::Stage(ShaderStage::Geometry)),
                ResourceKind::Patch => {}
                _ => return None,
            }
            inputs.all = false;
            continue;
        }
        let uniform = parameter.specifiers.words.has(SpecifierSet::UNIFORM);
        if uniform {
            continue;
        }
        let own = parameter.semantic.as_ref();
        if parameter.direction != Direction::In {
            outputs.gather(cx, &ty, own, 0);
        }
        if parameter.direction != Direction::Out {
            inputs.gather(cx, &ty, own, 0);
        }
    }
    let return_type = cx.resolve_type(&function.return_type);
    let parameters_named = inputs.all && outputs.all;
    if !return_type.is_void() {
        outputs.gather(cx, &return_type, function.semantic.as_ref(), 0);
    }
    if !parameters_named {
        return None;
    }
    let name = super::env::function_last_name(&function.name);
    let hint = name_hint(&name);
    let has_parameters = !function.parameters.is_empty();
    let anything = inputs.any || outputs.any;
    let only_colours = |own: &Option<Ident>| own.is_some() && outputs.only("COLOR");
    let stage = if outputs.has("SV_TARGET")
        || only_colours(&function.semantic)
        || outputs.has("SV_DEPTH")
        || outputs.has("COLOR") && hint == Some(ShaderStage::Pixel)
    {
        ShaderStage::Pixel
    } else if outputs.has("SV_POSITION")
        || outputs.has("POSITION") && hint == Some(ShaderStage::Vertex)
    {
        // A helper may return the structure that the vertex shader returns; it has plain parameters.
        if !has_parameters && function.semantic.is_none() && hint.is_none() {
            return None;
        }
        ShaderStage::Vertex
    } else if inputs.has("SV_VERTEXID")
        || inputs.has("SV_INSTANCEID") && hint != Some(ShaderStage::Pixel)
    {
        ShaderStage::Vertex
    } else if inputs.has("SV_ISFRONTFACE")
        || inputs.has("SV_POSITION")
        || inputs.has("SV_SAMPLEINDEX")
    {
        ShaderStage::Pixel
    } else if let Some(hint) = hint
        && anything
    {
        hint
    } else if inputs.any && outputs.any && outputs.all && has_parameters {
        ShaderStage::Vertex
    } else {
        return None;
    };
    Some(FunctionKind::Stage(stage))
}

/// Returns the stage that a name implies: `main` nothing but that it is an entry point.
fn name_hint(name: &str) -> Option<ShaderStage> {
    let lower = name.to_ascii_lowercase();
    let begins = |tag: &str| {
        name.starts_with(tag) || lower.starts_with(&format!("{}_", tag.to_ascii_lowercase()))
    };
    let ends = |tag: &str| name.ends_with(tag);
    if begins("PS") || ends("PS") || lower.contains("pixel") {
        Some(ShaderStage::Pixel)
    } else if begins("VS") || ends("VS") || lower.contains("vertex") {
        Some(ShaderStage::Vertex)
    } else if name == "main" {
        Some(ShaderStage::Library)
    } else {
        None
    }
}

/// The semantics of a signature.
struct Semantics {
    names: Vec<String>,
    any: bool,
    /// Every scalar has one.
    all: bool,
}

impl Default for Semantics {
    fn default() -> Self {
        Semantics {
            names: Vec::new(),
            any: false,
            all: true,
        }
    }
}

impl Semantics {
    fn gather(&mut self, cx: &mut Context<'_>, ty: &CType, own: Option<&Ident>, depth: u32) {
        if let Some(own) = own {
            self.names.push(own.name.to_ascii_uppercase());
            self.any = true;
            return;
        }
        match ty {
            CType::Array { element, .. } if depth < MAX_DEPTH => {
                self.gather(cx, element, None, depth + 1);
            }
            CType::Struct(id) if depth < MAX_DEPTH => {
                for (field, semantic, _) in fields(cx, *id) {
                    self.gather(cx, &field.ty, semantic.as_ref(), depth + 1);
                }
            }
            _ => self.all = false,
        }
    }
    fn has(&self, prefix: &str) -> bool {
        self.names.iter().any(|n| n.starts_with(prefix))
    }
    fn only(&self, prefix: &str) -> bool {
        self.names.iter().all(|n| n.starts_with(prefix))
    }
}

/// The fields of a structure, with their semantics and specifiers.
fn fields(cx: &Context<'_>, id: StructId) -> Vec<(Field, Option<Ident>, SpecifierSet)> {
    let info = &cx.structs[id];
    let declared = cx.sources.get(id.0 as usize).map(|s| s.declared.clone());
    info.fields
        .iter()
        .map(|field| {
            let found = declared.as_ref().and_then(|d| written(d, &field.name));
            let (semantic, words) = found.unwrap_or((None, SpecifierSet::default()));
            (field.clone(), semantic, words)
        })
        .collect()
}

fn written(declared: &Arc<ast::Struct>, name: &str) -> Option<(Option<Ident>, SpecifierSet)> {
    if name.is_empty() {
        return None;
    }
    declared.members.iter().find_map(|member| {
        let Member::Fields(declaration) = member else {
            return None;
        };
        let declarator = declaration
            .declarators
            .iter()
            .find(|d| matches!(&d.name, DeclaratorName::Plain(ident) if ident.name == name))?;
        Some((declarator.semantic.clone(), declaration.specifiers.words))
    })
}

// ------------------------------------------------------------------------------------------------ parameters

fn declare(cx: &mut Context<'_>, parameter: &ast::Parameter, kind: FunctionKind) {
    let ty = cx.resolve_type(&parameter.ty);
    let ty = ty.value_type().clone();
    let span = parameter.name.as_ref().map_or(parameter.span, |n| n.span);
    cx.here(span);
    let name = parameter
        .name
        .as_ref()
        .map(|n| n.name.clone())
        .unwrap_or_default();
    let words = parameter.specifiers.words;
    if words.has(SpecifierSet::MESH_PARAMETER) {
        // The payload is one for all threads of the group.
        let space = match parameter.direction {
            Direction::In => Space::Shared,
            _ => Space::Global,
        };
        return group_parameter(cx, parameter, &ty, &name, space);
    }
    let value = if parameter.direction == Direction::Out {
        None
    } else {
        let mut source = Source {
            name: name.clone(),
            words,
            kind,
        };
        let semantic = parameter.semantic.as_ref();
        Some(source.value(cx, &ty, semantic, 0, span))
    };
    let Some(ident) = &parameter.name else {
        return;
    };
    let variable = cx.new_variable(ident, &ty, VariableKind::Parameter);
    let at = cx.at(ident.span);
    let key = cx.key(ident.span);
    let shown: Parts = value.as_ref().map(|v| v.parts.clone()).unwrap_or_default();
    cx.builder
        .bind(variable, BindingKind::Declaration, &shown, "", at);
    let place = match &value {
        // Objects and what has no scalars is never assigned.
        Some(value)
            if matches!(ty, CType::Resource(_) | CType::Sampler { .. })
                || resources::is_resource_array(&ty) =>
        {
            LValue::value(value.clone()).place
        }
        _ => cx.new_place(&ty, &key, value.as_ref().map(|v| v.parts.as_slice())),
    };
    let mut place = LValue {
        ty,
        place,
        name: None,
        is_const: false,
    };
    if let Some(value) = value {
        if !matches!(place.place, Place::Value(_)) && !value.parts.is_empty() {
            cx.store_silently(&place, value, ident.span);
        }
    } else if let Place::Slots(_) = place.place {
        let undefined = cx.undefined(&place.ty.clone());
        cx.store_silently(&place, undefined, ident.span);
    }
    place.name = Some(NamedPart {
        variable,
        part: SmolStr::default(),
        at,
    });
    if parameter.direction != Direction::In {
        cx.outputs.push(place.clone());
    }
    cx.declare(ident.name.clone(), Local::Variable(place));
}

/// `out vertices V verts[64]`: memory of the workgroup's output, which its threads fill together; `in payload P p`:
/// memory that all of them read.
fn group_parameter(
    cx: &mut Context<'_>,
    parameter: &ast::Parameter,
    ty: &CType,
    name: &SmolStr,
    space: Space,
) {
    let Some(ident) = &parameter.name else {
        return;
    };
    let size = cx.structs.size_of(ty).and_then(|s| u32::try_from(s).ok());
    let symbol = cx.builder.symbol(SymbolData {
        name: name.clone(),
        space,
        kind: if space == Space::Shared {
            SymbolKind::Memory
        } else {
            SymbolKind::Buffer
        },
        size,
        align: 16,
        read_only: false,
        initial: None,
        resource_array: None,
        definition: Default::default(),
    });
    let address = cx.builder.symbol_address(symbol);
    let variable = cx.new_variable(ident, ty, VariableKind::Parameter);
    let at = cx.at(ident.span);
    cx.builder
        .bind(variable, BindingKind::Declaration, &[], "", at);
    let place = LValue {
        ty: ty.clone(),
        place: Place::Memory {
            address,
            access: MemoryAccess::in_space(space),
        },
        name: Some(NamedPart {
            variable,
            part: SmolStr::default(),
            at,
        }),
        is_const: false,
    };
    cx.declare(ident.name.clone(), Local::Variable(place));
}

/// The source of the scalars of one parameter.
struct Source {
    /// The parameter with the member path.
    name: SmolStr,
    words: SpecifierSet,
    kind: FunctionKind,
}

impl Source {
    fn value(
        &mut self,
        cx: &mut Context<'_>,
        ty: &CType,
        semantic: Option<&Ident>,
        depth: u32,
        span: Span,
    ) -> RValue {
        if let CType::Resource(resource) = ty {
            // What differs between lanes is an input; streams and records are the lane's own.
            let parts = [self.input(
                cx,
                semantic.map_or(&self.name, |s| &s.name).clone(),
                0,
                resource.ir(),
            )];
            return RValue::new(ty.clone(), parts);
        }
        if let Some(semantic) = semantic {
            return self.system_value(cx, ty, &semantic.name, span);
        }
        match ty {
            CType::Struct(id) if depth < MAX_DEPTH => {
                let mut parts = Parts::new();
                if cx.structs.parts(ty).is_none() {
                    return cx.undefined(ty);
                }
                for (field, semantic, words) in fields(cx, *id) {
                    let mut inner = Source {
                        name: smol_str::format_smolstr!("{}.{}", self.name, field.name),
                        words: SpecifierSet(self.words.0 | words.0),
                        kind: self.kind,
                    };
                    let value = inner.value(cx, &field.ty, semantic.as_ref(), depth + 1, span);
                    parts.extend(value.parts);
                }
                RValue::new(ty.clone(), parts)
            }
            CType::Array { element, size } if depth < MAX_DEPTH => {
                let (ArraySize::Fixed(n), true) = (size, cx.structs.parts(ty).is_some()) else {
                    return RValue::new(ty.clone(), []);
                };
                let mut parts = Parts::new();
                for index in 0..*n {
                    let mut inner = Source {
                        name: smol_str::format_smolstr!("{}[{index}]", self.name),
                        words: self.words,
                        kind: self.kind,
                    };
                    let value = inner.value(cx, element, None, depth + 1, span);
                    parts.extend(value.parts);
                }
                RValue::new(ty.clone(), parts)
            }
            _ => {
                let types = cx.structs.parts(ty).unwrap_or_default();
                // Ray payloads and hit attributes have no semantics and are the lane's own.
                let own = matches!(
                    self.kind,
                    FunctionKind::Stage(
                        ShaderStage::RayTracing | ShaderStage::Geometry | ShaderStage::Mesh
                    )
                ) && !self.words.has(SpecifierSet::UNIFORM);
                let parts: Parts = types
                    .iter()
                    .enumerate()
                    .map(|(number, &ty)| {
                        if own {
                            return self.input(cx, self.name.clone(), number as u8, ty);
                        }
                        let name = if types.len() == 1 {
                            self.name.clone()
                        } else {
                            smol_str::format_smolstr!("{}#{number}", self.name)
                        };
                        cx.builder.value(Op::Parameter(name), &[], ty)
                    })
                    .collect();
                RValue::new(ty.clone(), parts)
            }
        }
    }

    fn input(
        &self,
        cx: &mut Context<'_>,
        semantic: SmolStr,
        component: u8,
        ty: Type,
    ) -> crate::entity::Value {
        let flat = self.words.has(SpecifierSet::NOINTERPOLATION) || !ty.is_float();
        let interpolation = if flat {
            Interpolation::Flat
        } else if self.words.has(SpecifierSet::NOPERSPECTIVE) {
            Interpolation::Linear
        } else {
            Interpolation::Perspective
        };
        cx.builder.function.inputs.push(StageInput {
            name: self.name.clone(),
            semantic: SmolStr::new(semantic.to_ascii_uppercase()),
            component,
            interpolation,
            ty,
        });
        let index = cx.builder.function.inputs.len() as u32 - 1;
        cx.builder.value(Op::StageInput(index), &[], ty)
    }

    fn system_value(
        &mut self,
        cx: &mut Context<'_>,
        ty: &CType,
        semantic: &SmolStr,
        span: Span,
    ) -> RValue {
        let upper = semantic.to_ascii_uppercase();
        let plain = upper.trim_end_matches(|c: char| c.is_ascii_digit());
        let value = match plain {
            "SV_DISPATCHTHREADID" => {
                let parts: Parts = (0..3).map(|axis| global_id(cx, axis)).collect();
                Some(parts)
            }
            "SV_GROUPTHREADID" => Some((0..3).map(|axis| thread_id(cx, axis)).collect()),
            "SV_GROUPID" => Some(
                (0..3)
                    .map(|axis| cx.builder.special(Special::BlockId(axis), Type::I32))
                    .collect(),
            ),
            "SV_GROUPINDEX" => {
                let (x, y, z) = (thread_id(cx, 0), thread_id(cx, 1), thread_id(cx, 2));
                let (width, height) = (block_size(cx, 0), block_size(cx, 1));
                let planes = cx.fold(BinaryOp::Mul, Wrap::NO_UNSIGNED, z, height);
                let rows = cx.fold(BinaryOp::Add, Wrap::NO_UNSIGNED, planes, y);
                let lines = cx.fold(BinaryOp::Mul, Wrap::NO_UNSIGNED, rows, width);
                let index = cx.fold(BinaryOp::Add, Wrap::NO_UNSIGNED, lines, x);
                Some(Parts::from_slice(&[index]))
            }
            "SV_VIEWID" => Some(dispatch(cx, 2)),
            "SV_STARTVERTEXLOCATION" => Some(dispatch(cx, 3)),
            "SV_STARTINSTANCELOCATION" => Some(dispatch(cx, 4)),
            _ => None,
        };
        if let Some(parts) = value {
            cx.builder.vector(&parts);
            let own = if parts.len() == 1 {
                CType::UINT
            } else {
                CType::vector(CType::UINT, parts.len() as u8)
            };
            let value = RValue::new(own, parts);
            return if ty.is_numeric() {
                cx.convert(value, ty, span)
            } else {
                value
            };
        }
        let Some(types) = cx.structs.parts(ty) else {
            return RValue::new(ty.clone(), []);
        };
        let parts: Parts = types
            .iter()
            .enumerate()
            .map(|(component, &ty)| self.input(cx, SmolStr::new(&upper), component as u8, ty))
            .collect();
        cx.builder.vector(&parts);
        RValue::new(ty.clone(), parts)
    }
}

fn dispatch(cx: &mut Context<'_>, number: u16) -> Parts {
    let v = cx
        .builder
        .special(Special::OtherDispatch(Special::LIBRARY + number), Type::I32);
    Parts::from_slice(&[v])
}

fn block_size(cx: &mut Context<'_>, axis: u8) -> crate::entity::Value {
    match cx.builder.function.launch.block[axis as usize] {
        Some(n) => cx.builder.int(Type::I32, i64::from(n)),
        None => cx.builder.special(Special::BlockDim(axis), Type::I32),
    }
}

/// A thread's index in its group: zero along an axis of one thread.
fn thread_id(cx: &mut Context<'_>, axis: u8) -> crate::entity::Value {
    if cx.builder.function.launch.block[axis as usize] == Some(1) {
        return cx.builder.int(Type::I32, 0);
    }
    cx.builder.special(Special::ThreadId(axis), Type::I32)
}

fn global_id(cx: &mut Context<'_>, axis: u8) -> crate::entity::Value {
    let group = cx.builder.special(Special::BlockId(axis), Type::I32);
    let size = block_size(cx, axis);
    let thread = thread_id(cx, axis);
    let base = cx.fold(BinaryOp::Mul, Wrap::NO_UNSIGNED, group, size);
    cx.fold(BinaryOp::Add, Wrap::NO_UNSIGNED, base, thread)
}

/// The scalars that an entry point's outputs hold when it returns, after its own result.
pub fn output_parts(cx: &mut Context<'_>, span: Span) -> Parts {
    let outputs = cx.outputs.clone();
    let mut parts = Parts::new();
    for place in &outputs {
        if let Place::Slots(_) = place.place {
            let value = cx.load_silently(place, span);
            parts.extend(value.parts);
        }
    }
    parts
}

#[cfg(test)]
mod tests;
