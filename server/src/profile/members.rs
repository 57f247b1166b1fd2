//! Members of constant buffers: their places are where reads of their names load from.

use super::data::{self, Random};
use super::inputs::{Description, InputError};
use facts::values::record::significant;
use ir::{BindingKind, Function, Module, Op, Space, Type, Value, ValueDef, VariableKind};
use oracle::interp::{Buffer, Launch};
use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use std::collections::{BTreeMap, BTreeSet};

/// The places of members of constant buffers and global variables: by name, then by component.
pub(super) type Members = BTreeMap<String, BTreeMap<usize, MemberPlace>>;

/// The place from which a number is loaded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct MemberPlace {
    /// The number of the symbol in the kernel.
    symbol: usize,
    /// The element of an array of constant buffers.
    element: u64,
    offset: u64,
    pub(super) ty: Type,
}

/// Members of constant buffers and plain global variables, found by the loads of reads of their names.
pub(super) fn members(module: &Module) -> Members {
    let mut members = Members::new();
    let Some(kernel) = module.functions.first() else {
        return members;
    };
    for binding in &kernel.bindings {
        let variable = &kernel.variables[binding.variable];
        if binding.kind != BindingKind::Read || variable.kind != VariableKind::Global {
            continue;
        }
        let found = binding.values.iter().map(|&at| constant_place(kernel, at));
        let found: Vec<Option<MemberPlace>> = found.collect();
        let part = match found.iter().flatten().next() {
            Some(place) => binding
                .part
                .replacen("[]", &format!("[{}]", place.element), 1),
            None => continue,
        };
        // The first word behind a `ConstantBuffer<T>` is a member's.
        let is_resource = variable.type_text.starts_with("resource");
        let (head, letters) = part.rsplit_once('.').unwrap_or((&part, ""));
        let swizzle = !letters.is_empty()
            && head.contains('.') == is_resource
            && letters.len() == binding.values.len()
            && letters.chars().all(|c| "xyzwrgba".contains(c));
        let name = match swizzle {
            true => format!("{}{head}", variable.name),
            false => format!("{}{part}", variable.name),
        };
        for (at, place) in found.into_iter().enumerate() {
            let component = match swizzle {
                true => letters
                    .chars()
                    .nth(at)
                    .and_then(|c| "xyzw".find(c).or_else(|| "rgba".find(c)))
                    .unwrap_or(at),
                false => at,
            };
            if let Some(place) = place {
                members
                    .entry(name.clone())
                    .or_default()
                    .insert(component, place);
            }
        }
    }
    members
}

/// A load from a constant place of read-only memory.
fn constant_place(function: &Function, value: Value) -> Option<MemberPlace> {
    let ValueDef::Result(inst, number) = function.values[value].def else {
        return None;
    };
    let data = &function.insts[inst];
    let Op::Load(access) = &data.op else {
        return None;
    };
    if !access.read_only && access.space != Space::Constant {
        return None;
    }
    let before: u64 = data
        .results
        .iter()
        .take(usize::from(number))
        .map(|&result| u64::from(function.ty(result).bytes()))
        .sum();
    let (mut address, mut offset, mut element) = (*data.args.first()?, before, 0);
    for _ in 0..16 {
        let inst = function.defining(address)?;
        match inst.op {
            Op::SymbolAddress(symbol) => {
                let ty = function.ty(value);
                significant(ty)?;
                return Some(MemberPlace {
                    symbol: symbol.0 as usize,
                    element,
                    offset,
                    ty,
                });
            }
            Op::ResourceElement { .. } => {
                element = u64::try_from(function.int_constant(*inst.args.get(1)?)?).ok()?;
                address = *inst.args.first()?;
            }
            Op::PtrAdd => {
                let step = function.int_constant(*inst.args.get(1)?)?;
                offset = offset.checked_add_signed(step)?;
                address = *inst.args.first()?;
            }
            _ => return None,
        }
    }
    None
}

/// The buffer that is bound to a symbol, or to an element of an array of resources; where there is none, `make` makes it.
pub(super) fn element_buffer(
    launch: &mut Launch,
    symbol: &SmolStr,
    element: u64,
    make: impl Fn(&Launch) -> Buffer,
) -> usize {
    let bound = launch.bindings.iter().find(|(name, _)| name == symbol);
    let base = match bound {
        Some(&(_, buffer)) => buffer,
        None => {
            let buffer = make(launch);
            launch.buffers.push(buffer);
            let number = launch.buffers.len() - 1;
            launch.bindings.push((symbol.clone(), number));
            number
        }
    };
    if element == 0 {
        return base;
    }
    let mut known = launch.elements.iter();
    if let Some(&(.., own)) = known.find(|(of, at, _)| (*of, *at) == (base, element)) {
        return own;
    }
    let buffer = make(launch);
    launch.buffers.push(buffer);
    let own = launch.buffers.len() - 1;
    launch.elements.push((base, element, own));
    own
}

/// Gives the members of constant buffers their values; those that are not given get small numbers of their type.
pub(super) fn fill_members(
    module: &Module,
    description: &Description,
    members: &Members,
    launch: &mut Launch,
    open: &mut BTreeSet<String>,
    as_buffers: &FxHashMap<String, usize>,
) -> Result<(), InputError> {
    let Some(kernel) = module.functions.first() else {
        return Ok(());
    };
    for (name, components) in members {
        let count = components.keys().next_back().map_or(0, |last| last + 1);
        let given = description.values.get(name);
        let mut random = Random::new(description.launch.seed, name);
        for (&component, place) in components {
            let (offset, ty) = (place.offset, place.ty);
            let symbol = &kernel.symbols.as_slice()[place.symbol];
            let value = match given {
                Some(given) => {
                    // What is not read need not be given, and may be.
                    let list = given.list();
                    match list.len() {
                        1 => list[0],
                        len if len >= count => list[component],
                        len => {
                            return Err(InputError::new(
                                format!("values.{name}"),
                                format!("{len} numbers; it has {count}"),
                            ));
                        }
                    }
                }
                None if as_buffers.contains_key(symbol.name.as_str()) => continue,
                None if ty.is_float() => random.unit(),
                None => 1.0,
            };
            let buffer = element_buffer(launch, &symbol.name, place.element, |launch| {
                let size = symbol
                    .size
                    .or(symbol.initial.as_ref().map(|i| i.len() as u32))
                    .unwrap_or(launch.default_bytes);
                let mut bytes = symbol.initial.clone().unwrap_or_default();
                bytes.resize(size as usize, 0);
                Buffer {
                    space: Space::Constant,
                    bytes,
                    writable: false,
                }
            });
            if symbol.initial.is_some() && given.is_none() {
                continue;
            }
            let word = data::bits(ty, value).to_le_bytes();
            let (from, size) = (offset as usize, ty.bytes() as usize);
            let bytes = &mut launch.buffers[buffer].bytes;
            if let Some(place) = from
                .checked_add(size)
                .and_then(|end| bytes.get_mut(from..end))
            {
                place.copy_from_slice(&word[..size]);
            }
        }
        let whole = components.values().all(|place| {
            as_buffers.contains_key(kernel.symbols.as_slice()[place.symbol].name.as_str())
        });
        if given.is_none() && !whole {
            open.insert(name.clone());
        }
    }
    Ok(())
}
