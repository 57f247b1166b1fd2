//! Structured, typed and byte-address buffers: address arithmetic and checked accesses.

use super::*;
use crate::function::{SymbolKind, counter_name};
use crate::lower::c_family::builtins::BuiltinTemplateArgument;
use crate::lower::c_family::builtins::hlsl::{interlocked, value, write};
use crate::lower::c_family::value::Argument;

fn access(resource: &ResourceType) -> MemoryAccess {
    MemoryAccess {
        space: Space::Global,
        volatile: false,
        read_only: !resource.read_write,
        checked: true,
        untyped: false,
        speculation: None,
    }
}

/// `buffer[index]`.
pub(super) fn element(
    cx: &mut Context<'_>,
    resource: &ResourceType,
    base: Value,
    index: &RValue,
    span: Span,
) -> Option<LValue> {
    let number = cx.index_value(index, span);
    let address = cx.element_address(base, number, &resource.element);
    Some(LValue {
        ty: resource.element.clone(),
        place: place_at(cx, resource, base, &resource.element, address),
        name: None,
        is_const: !resource.read_write,
    })
}

/// Memory of a buffer as a type: matrices may lie by columns.
fn place_at(
    cx: &Context<'_>,
    resource: &ResourceType,
    base: Value,
    ty: &CType,
    address: Value,
) -> Place {
    let access = access(resource);
    let row_major = match cx.builder.function.defining(base).map(|d| &d.op) {
        Some(Op::SymbolAddress(symbol)) => cx.row_major_buffers.contains(symbol),
        _ => false,
    };
    match packing::in_buffer(&cx.structs, ty, row_major) {
        Some(layout) => Place::Packed {
            address,
            access,
            layout: Rc::new(layout),
        },
        None => Place::Memory { address, access },
    }
}

/// The hidden counter of a buffer goes up by one, or down: returns its value before, or behind. `None` where
/// it is not known which buffer it is.
///
/// Source: Microsoft's HLSL reference, `RWStructuredBuffer::IncrementCounter`, `DecrementCounter`.
fn counted(cx: &mut Context<'_>, base: Value, down: bool, span: Span) -> Option<Value> {
    let Op::SymbolAddress(buffer) = cx.builder.function.defining(base)?.op else {
        return None;
    };
    let name = counter_name(&cx.builder.function.symbols[buffer].name);
    cx.here(span);
    let counter = globals::symbol(cx, &name, SymbolKind::Buffer, Space::Global, Some(4));
    let address = cx.builder.symbol_address(counter);
    let by = cx.builder.int(Type::I32, if down { -1 } else { 1 });
    let access = MemoryAccess::in_space(Space::Global);
    let op = Op::Atomic(AtomicOp::Add, access);
    let before = cx.builder.value(op, &[address, by], Type::I32);
    if !down {
        return Some(before);
    }
    let after = cx.builder.binary(BinaryOp::Add, Wrap::MAY, before, by);
    Some(after)
}

/// Methods of buffers that have addresses.
pub(super) fn method(
    cx: &mut Context<'_>,
    resource: &ResourceType,
    base: Value,
    name: &str,
    template_arguments: &[BuiltinTemplateArgument],
    arguments: &[Argument],
    span: Span,
) -> Option<RValue> {
    match name {
        "GetDimensions" => {
            dimensions(cx, base, arguments);
            return Some(RValue::void());
        }
        "IncrementCounter" | "DecrementCounter" => {
            let count = counted(cx, base, name == "DecrementCounter", span);
            return Some(match count {
                Some(count) => RValue::scalar(CType::UINT, count),
                None => other(cx, &[base], &CType::UINT, false),
            });
        }
        "Append" => {
            let [a] = arguments else { return None };
            let v = value(cx, a);
            let v = cx.convert(v, &resource.element, span);
            let Some(count) = counted(cx, base, false, span) else {
                let mut args = vec![base];
                args.extend_from_slice(&v.parts);
                return Some(other(cx, &args, &CType::Void, false));
            };
            let index = RValue::scalar(CType::UINT, count);
            let place = element(cx, resource, base, &index, span)?;
            cx.store(&place, v, span);
            return Some(RValue::void());
        }
        "Consume" => {
            let Some(count) = counted(cx, base, true, span) else {
                return Some(other(cx, &[base], &resource.element, false));
            };
            let index = RValue::scalar(CType::UINT, count);
            let place = element(cx, resource, base, &index, span)?;
            return Some(cx.load_silently(&place, span));
        }
        _ => {}
    }
    if resource.kind != ResourceKind::ByteAddressBuffer {
        let ("Load", [index, status @ ..]) = (name, arguments) else {
            return None;
        };
        let index = value(cx, index);
        let place = element(cx, resource, base, &index, span)?;
        let loaded = cx.load_silently(&place, span);
        mapped(cx, status.first(), &index.parts);
        return Some(loaded);
    }
    let (offset, further) = arguments.split_first()?;
    let offset = value(cx, offset);
    let number = cx.index_value(&offset, span);
    let address = cx.offset_address(base, number);
    let of_words = |count: &str| match count {
        "" => Some(CType::UINT),
        "2" => Some(CType::vector(CType::UINT, 2)),
        "3" => Some(CType::vector(CType::UINT, 3)),
        "4" => Some(CType::vector(CType::UINT, 4)),
        _ => None,
    };
    let place = |cx: &Context<'_>, ty: CType| LValue {
        place: place_at(cx, resource, base, &ty, address),
        ty,
        name: None,
        is_const: false,
    };
    if let Some(count) = name.strip_prefix("Load") {
        let ty = match (count, template_arguments) {
            ("", [BuiltinTemplateArgument::Type(ty), ..]) => ty.clone(),
            _ => of_words(count)?,
        };
        let place = place(cx, ty);
        let loaded = cx.load_silently(&place, span);
        mapped(cx, further.first(), &offset.parts);
        return Some(loaded);
    }
    if let Some(count) = name.strip_prefix("Store") {
        let v = value(cx, further.first()?);
        let ty = match (count, template_arguments) {
            ("", [BuiltinTemplateArgument::Type(ty), ..]) => ty.clone(),
            // Without a template argument the value says what is stored; `Store` of old takes a `uint`.
            ("", _) if v.ty.element().scalar_ir() != Some(Type::I32) || v.parts.len() > 1 => {
                v.ty.clone()
            }
            _ => of_words(count)?,
        };
        let place = place(cx, ty);
        cx.store_silently(&place, v, span);
        return Some(RValue::void());
    }
    let operation = name.strip_prefix("Interlocked")?;
    let wide = operation.ends_with("64");
    let scalar = if operation.contains("Float") {
        CType::FLOAT
    } else {
        let signed = further.first().is_some_and(|a| a.ty().is_signed())
            && matches!(operation, "Min" | "Max" | "Min64" | "Max64");
        CType::int(if wide { 64 } else { 32 }, signed)
    };
    let place = place(cx, scalar);
    interlocked(cx, operation, &place, further, span)
}

/// The `out` status of a load: it says whether the memory was mapped.
pub(super) fn mapped(cx: &mut Context<'_>, status: Option<&Argument>, args: &[Value]) {
    if let Some(status) = status
        && status.place.is_some()
    {
        let operand = match args.first() {
            Some(&v) => v,
            None => cx.builder.int(Type::I32, 0),
        };
        let v = cx
            .builder
            .value(Op::Unary(UnaryOp::OtherMath), &[operand], Type::I32);
        write(cx, status, RValue::scalar(CType::UINT, v));
    }
}

/// `GetDimensions` of a buffer: the number of elements (or bytes), and the stride.
fn dimensions(cx: &mut Context<'_>, base: Value, arguments: &[Argument]) {
    let access = TextureAccess {
        op: TextureOp::Dimensions,
        coordinates: 0,
        has_sampler: false,
        has_offset: false,
        read_only: true,
        geometry: Geometry::Unknown,
        component: 0,
    };
    let results = vec![Type::I32; arguments.len().max(1)];
    let inst = cx.builder.inst(Op::Texture(access), &[base], &results);
    let results = cx.builder.results(inst).to_vec();
    for (argument, result) in arguments.iter().zip(results) {
        write(cx, argument, RValue::scalar(CType::UINT, result));
    }
}
