//! Globals that the program is given from outside: resources, members of constant buffers, and plain globals, which
//! are members of the constant buffer `$Globals`.

use super::*;
use crate::entity::{Symbol, Variable};
use crate::function::{SymbolData, SymbolKind, VariableKind};
use crate::lower::c_family::env::EntryKind;
use crate::lower::c_family::value::{NamedPart, PackedLayout};
use smallvec::SmallVec;
use syntax::c_family::ast::{Attribute, ItemKind, SpecifierSet};

/// The place of a global: a resource, a `cbuffer` member or a plain global (which is a member of `$Globals`), or
/// `None` when no global has this name or it is not the resources' affair (`groupshared`, `static`).
pub fn global(cx: &mut Context<'_>, name: &str, span: Span) -> Option<LValue> {
    cx.here(span);
    let path: SmallVec<[SmolStr; 4]> = name.split("::").map(SmolStr::new).collect();
    let namespace = cx.frame().namespace.clone();
    let env = cx.env;
    let entries = env.lookup(&namespace, &path);
    if entries.is_empty() {
        if matches!(name, "ResourceDescriptorHeap" | "SamplerDescriptorHeap") {
            let ty = named_type(cx, name, &[])?;
            let symbol = symbol(cx, name, SymbolKind::Other, Space::Global, None);
            cx.builder.function.symbols[symbol].resource_array = Some(None);
            let value = cx.builder.symbol_address(symbol);
            return Some(LValue::value(RValue::scalar(ty, value)));
        }
        return None;
    }
    for entry in entries {
        let item = env.item(entry);
        match (&item.kind, entry.what) {
            (ItemKind::Variables(declaration), EntryKind::Variable(number)) => {
                let words = declaration.specifiers.words;
                if words.has(SpecifierSet::SHARED) {
                    return None;
                }
                let declarator = declaration.declarators.get(number as usize)?;
                let ty = resolve_at(cx, item, &declarator.ty);
                let object = is_object(&ty) || is_resource_array(&ty);
                if words.has(SpecifierSet::STATIC) && !object {
                    return None;
                }
                // A `static` object is an alias: its initialiser says of what.
                if words.has(SpecifierSet::STATIC) {
                    let ast::Initializer::Copy(e) = &declarator.initializer else {
                        return None;
                    };
                    if matches!(e.kind, ast::ExprKind::List(_)) || cx.alias_depth > 16 {
                        return None;
                    }
                    let mut frame =
                        crate::lower::c_family::context::Frame::outside(item.key.clone());
                    frame.site = cx.site();
                    frame.namespace = item.scope.clone();
                    cx.frames.push(frame);
                    cx.alias_depth += 1;
                    let value = cx.rvalue(e);
                    cx.alias_depth -= 1;
                    cx.frames.pop();
                    let value = cx.convert(value, &ty, span);
                    return Some(LValue::value(value));
                }
                let mut label: SmolStr = declared_name(item, name);
                let variable = variable(cx, &label, &ty);
                let named = NamedPart {
                    variable,
                    part: SmolStr::default(),
                    at: cx.at(span),
                };
                if object {
                    let place = object_place(cx, &label, &ty, named);
                    if words.has(SpecifierSet::ROW_MAJOR)
                        && let Place::Value(value) = &place.place
                        && let Some(value) = value.first()
                        && let Some(Op::SymbolAddress(symbol)) =
                            cx.builder.function.defining(value).map(|d| &d.op)
                    {
                        let symbol = *symbol;
                        cx.row_major_buffers.insert(symbol);
                    }
                    return Some(place);
                }
                if object_inside(cx, &ty) {
                    // A structure that holds resources: one opaque value a scalar.
                    return resource_structure(cx, &label, &ty, named);
                }
                let row_major = words.has(SpecifierSet::ROW_MAJOR);
                let layout = packing::layout(&cx.structs, &ty, row_major, 0)?;
                label = smol_str::format_smolstr!("$Globals.{label}");
                let size = u32::try_from(layout.size).ok();
                let symbol = symbol(cx, &label, SymbolKind::Memory, Space::Constant, size);
                return Some(member_place(cx, symbol, 0, ty, layout, named));
            }
            (ItemKind::CBuffer(buffer), EntryKind::BufferMember(declaration, number)) => {
                let mut end = 0u64;
                for (d, members) in buffer.members.iter().enumerate() {
                    let row_major = members.specifiers.words.has(SpecifierSet::ROW_MAJOR);
                    for (n, declarator) in members.declarators.iter().enumerate() {
                        let ty = resolve_at(cx, item, &declarator.ty);
                        let wanted = d as u32 == declaration && n as u32 == number;
                        if is_object(&ty) || is_resource_array(&ty) || object_inside(cx, &ty) {
                            if wanted {
                                let label = declared_name(item, name);
                                let variable = variable(cx, &label, &ty);
                                let at = cx.at(span);
                                let part = SmolStr::default();
                                let named = NamedPart { variable, part, at };
                                if object_inside(cx, &ty) && !is_resource_array(&ty) {
                                    return resource_structure(cx, &label, &ty, named);
                                }
                                return Some(object_place(cx, &label, &ty, named));
                            }
                            continue;
                        }
                        let layout = packing::layout(&cx.structs, &ty, row_major, 0)?;
                        let offset = packed_offset(&declarator.attributes)
                            .unwrap_or_else(|| packing::place(end, &ty, &layout));
                        if wanted {
                            let kind = SymbolKind::Buffer;
                            let symbol = symbol(cx, &buffer.name.name, kind, Space::Constant, None);
                            let label = declared_name(item, name);
                            let named = NamedPart {
                                variable: variable(cx, &label, &ty),
                                part: SmolStr::default(),
                                at: cx.at(span),
                            };
                            return Some(member_place(cx, symbol, offset, ty, layout, named));
                        }
                        end = offset.checked_add(layout.size)?;
                    }
                }
                return None;
            }
            _ => {}
        }
    }
    None
}

/// The type of a declaration as its own surroundings understand it.
fn resolve_at(cx: &mut Context<'_>, item: &Arc<ast::ParsedItem>, ty: &ast::Type) -> CType {
    let mut frame = crate::lower::c_family::context::Frame::outside(item.key.clone());
    frame.site = cx.site();
    frame.namespace = item.scope.clone();
    cx.frames.push(frame);
    let resolved = cx.resolve_type(ty);
    cx.frames.pop();
    resolved
}

fn declared_name(item: &ast::ParsedItem, name: &str) -> SmolStr {
    let last = name.rsplit("::").next().unwrap_or(name);
    let mut parts: Vec<&str> = item.scope.iter().map(SmolStr::as_str).collect();
    parts.retain(|p| !p.is_empty());
    parts.push(last);
    SmolStr::new(parts.join("::"))
}

/// One symbol a name.
pub(super) fn symbol(
    cx: &mut Context<'_>,
    name: &str,
    kind: SymbolKind,
    space: Space,
    size: Option<u32>,
) -> Symbol {
    let known = cx.builder.function.symbols.iter();
    if let Some((symbol, _)) = known.rev().rev().find(|(_, s)| s.name == name) {
        return symbol;
    }
    cx.builder.symbol(SymbolData {
        name: SmolStr::new(name),
        space,
        kind,
        size,
        align: 16,
        read_only: space == Space::Constant,
        initial: None,
        resource_array: None,
        definition: Default::default(),
    })
}

fn variable(cx: &mut Context<'_>, name: &SmolStr, ty: &CType) -> Variable {
    let plain = name.rsplit("::").next().unwrap_or(name);
    let known = cx.builder.function.variables.iter();
    let known = known
        .filter(|(_, v)| v.kind == VariableKind::Global && v.name == plain)
        .map(|(variable, _)| variable)
        .next();
    known.unwrap_or_else(|| {
        let text = cx.structs.display(ty);
        let declared = crate::function::Loc::NONE;
        cx.builder
            .variable(plain, text, VariableKind::Global, declared)
    })
}

/// The address or handle of a resource (or of an array of them).
fn object_place(cx: &mut Context<'_>, name: &str, ty: &CType, named: NamedPart) -> LValue {
    let mut inner = ty;
    let mut count = None;
    while let CType::Array { element, size } = inner {
        let n = match size {
            ArraySize::Fixed(n) => u32::try_from(*n).ok(),
            _ => None,
        };
        count = Some(match count {
            None => n,
            Some(Some(before)) => n.and_then(|n: u32| n.checked_mul(before)),
            Some(None) => None,
        });
        inner = element;
    }
    let (kind, space, read_only) = match inner {
        CType::Resource(resource) => {
            let kind = match (resource.ir(), resource.kind) {
                (Type::Ptr(_), _) => SymbolKind::Buffer,
                (_, ResourceKind::Texture | ResourceKind::Feedback) => SymbolKind::Texture,
                _ => SymbolKind::Other,
            };
            let space = match resource.ir() {
                Type::Ptr(space) => space,
                _ => Space::Global,
            };
            (kind, space, !resource.read_write)
        }
        _ => (SymbolKind::Sampler, Space::Global, true),
    };
    let symbol = symbol(cx, name, kind, space, None);
    let data = &mut cx.builder.function.symbols[symbol];
    data.read_only = read_only;
    data.resource_array = count;
    let value = cx.builder.symbol_address(symbol);
    let mut place = LValue::value(RValue::scalar(ty.clone(), value));
    place.name = Some(named);
    place
}

fn object_inside(cx: &Context<'_>, ty: &CType) -> bool {
    fn inside(structs: &StructTable, ty: &CType, depth: u32) -> bool {
        match ty {
            CType::Resource(_) | CType::Sampler { .. } => true,
            CType::Array { element, .. } => depth < 16 && inside(structs, element, depth + 1),
            CType::Struct(id) => {
                depth < 16
                    && structs[*id]
                        .fields
                        .iter()
                        .any(|f| inside(structs, &f.ty, depth + 1))
            }
            _ => false,
        }
    }
    inside(&cx.structs, ty, 0)
}

/// A global structure with resources among its members: a symbol for each scalar.
fn resource_structure(
    cx: &mut Context<'_>,
    name: &str,
    ty: &CType,
    named: NamedPart,
) -> Option<LValue> {
    let types = cx.structs.parts(ty)?;
    let mut parts = Parts::new();
    for (number, &part) in types.iter().enumerate() {
        let label = smol_str::format_smolstr!("{name}#{number}");
        parts.push(match part {
            Type::Handle | Type::Ptr(_) => {
                let (kind, space) = match part {
                    Type::Ptr(space) => (SymbolKind::Buffer, space),
                    _ => (SymbolKind::Texture, Space::Global),
                };
                let symbol = symbol(cx, &label, kind, space, None);
                cx.builder.symbol_address(symbol)
            }
            scalar => {
                let symbol = symbol(cx, &label, SymbolKind::Memory, Space::Constant, Some(16));
                let address = cx.builder.symbol_address(symbol);
                cx.builder.load(constant_access(), address, scalar)
            }
        });
    }
    let mut place = LValue::value(RValue::new(ty.clone(), parts));
    place.name = Some(named);
    Some(place)
}

fn member_place(
    cx: &mut Context<'_>,
    symbol: Symbol,
    offset: u64,
    ty: CType,
    layout: PackedLayout,
    named: NamedPart,
) -> LValue {
    let address = cx.builder.symbol_address(symbol);
    let at = cx.builder.int(Type::I64, offset as i64);
    let address = cx.offset_address(address, at);
    LValue {
        ty,
        place: Place::Packed {
            address,
            access: constant_access(),
            layout: Rc::new(layout),
        },
        name: Some(named),
        is_const: true,
    }
}

/// `packoffset(c2.y)` in bytes.
fn packed_offset(attributes: &[Attribute]) -> Option<u64> {
    let written = attributes.iter().find(|a| a.name == "packoffset")?;
    let (name, component) = match &written.arguments.first()?.kind {
        ast::ExprKind::Name(name) => (name.segments.last()?.ident.name.clone(), None),
        ast::ExprKind::Member { base, member, .. } => match &base.kind {
            ast::ExprKind::Name(name) => (
                name.segments.last()?.ident.name.clone(),
                member.segments.last().map(|s| s.ident.name.clone()),
            ),
            _ => return None,
        },
        _ => return None,
    };
    let register: u64 = name.strip_prefix(['c', 'C'])?.parse().ok()?;
    let component = match component.as_deref().and_then(|c| c.chars().next()) {
        Some('y' | 'g') => 4,
        Some('z' | 'b') => 8,
        Some('w' | 'a') => 12,
        _ => 0,
    };
    register.checked_mul(16)?.checked_add(component)
}
