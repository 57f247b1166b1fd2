//! Members of constant buffers: their places are where reads of their names load from.

use super::data::{self, Random};
use super::inputs::{Description, InputError};
use facts::values::record::significant;
use ir::interp::{Buffer, Launch};
use ir::{BindingKind, Function, Module, Op, Space, Type, Value, ValueDef, VariableKind};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// Where a member of a constant buffer or a global variable stands: by name, then by component.
pub(super) type Members = BTreeMap<String, BTreeMap<usize, (usize, u64, Type)>>;

/// Members of constant buffers and plain global variables, found by what reads of their names load.
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
        let letters = binding.part.strip_prefix('.').unwrap_or("");
        let swizzle = !letters.is_empty()
            && letters.len() == binding.values.len()
            && letters.chars().all(|c| "xyzwrgba".contains(c));
        let name = match swizzle {
            true => variable.name.to_string(),
            false => format!("{}{}", variable.name, binding.part),
        };
        for (at, &value) in binding.values.iter().enumerate() {
            let component = match swizzle {
                true => letters
                    .chars()
                    .nth(at)
                    .and_then(|c| "xyzw".find(c).or_else(|| "rgba".find(c)))
                    .unwrap_or(at),
                false => at,
            };
            if let Some(found) = constant_place(kernel, value) {
                members
                    .entry(name.clone())
                    .or_default()
                    .insert(component, found);
            }
        }
    }
    members
}

/// Symbol and offset of a load from a constant place of read-only memory.
fn constant_place(function: &Function, value: Value) -> Option<(usize, u64, Type)> {
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
    let (mut address, mut offset) = (*data.args.first()?, before);
    for _ in 0..16 {
        let inst = function.defining(address)?;
        match inst.op {
            Op::SymbolAddress(symbol) => {
                let ty = function.ty(value);
                significant(ty)?;
                return Some((symbol.0 as usize, offset, ty));
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
        for (&component, &(symbol, offset, ty)) in components {
            let symbol = &kernel.symbols.as_slice()[symbol];
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
            let buffer = match launch
                .bindings
                .iter()
                .find(|(bound, _)| *bound == symbol.name)
            {
                Some(&(_, buffer)) => buffer,
                None => {
                    let size = symbol
                        .size
                        .or(symbol.initial.as_ref().map(|i| i.len() as u32))
                        .unwrap_or(launch.default_bytes);
                    let mut bytes = symbol.initial.clone().unwrap_or_default();
                    bytes.resize(size as usize, 0);
                    launch.buffers.push(Buffer {
                        space: Space::Constant,
                        bytes,
                        writable: false,
                    });
                    launch
                        .bindings
                        .push((symbol.name.clone(), launch.buffers.len() - 1));
                    launch.buffers.len() - 1
                }
            };
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
        let whole = components.values().all(|&(symbol, ..)| {
            as_buffers.contains_key(kernel.symbols.as_slice()[symbol].name.as_str())
        });
        if given.is_none() && !whole {
            open.insert(name.clone());
        }
    }
    Ok(())
}
