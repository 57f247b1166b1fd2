//! A description as a launch of a module: the argument, buffer or texture that each name means, the grid, and
//! the part of it that runs.
//!
//! A name that means nothing in this function is an error that lists those that do; values that the
//! description leaves out are chosen by the seed and reported.

use super::data;
use super::inputs::{Description, InputError, Number};
use super::members::{Members, element_buffer, fill_members, members};
use super::stage::{frame, inputs, tile};
use super::textures;
use ir::{Function, FunctionKind, Module, Op, ShaderStage, Space, SymbolKind, Type, Value};
use oracle::interp::{Argument, Buffer, Launch};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Steps where the description gives no limit.
const MAX_STEPS: u64 = 500_000_000;
/// Threads that run where the description does not say how many workgroups.
const MOST_THREADS: u64 = 1 << 20;
/// Elements of an array of buffers that are described where the function chooses.
const MOST_ELEMENTS: u64 = 8;
/// Bytes of values, buffers and memory.
const MOST_MEMORY: u64 = 3 << 30;

/// A launch, and the notes on it.
#[derive(Debug)]
pub struct Described {
    pub launch: Launch,
    /// Workgroups that run.
    pub runs: u64,
    /// Workgroups that the description asks for.
    pub of: u64,
    /// Parameters that were not given.
    pub open: Vec<String>,
}

pub fn described(
    module: &Module,
    description: &Description,
    warp_size: u32,
    directory: &Path,
) -> Result<Described, InputError> {
    let Some(kernel) = module.functions.first().filter(|f| !f.layout.is_empty()) else {
        return Err(InputError::new("item", "the function has no body"));
    };
    let seed = description.launch.seed;
    let block = block(kernel, description, warp_size)?;
    let lanes: u64 = block.iter().map(|&size| u64::from(size)).product();
    let mut launch = Launch::for_function(kernel, 1, seed);
    launch.block = block;
    if kernel.launch.warp_size.is_none() {
        launch.warp_size = warp_size;
    }
    if !(1..=64).contains(&launch.warp_size) {
        return Err(InputError::new(
            "launch.warp_size",
            "the interpreter runs warps of 1 to 64 lanes",
        ));
    }
    launch.ended_lanes_arrive = true;
    launch.limits.steps = description.launch.max_steps.unwrap_or(MAX_STEPS);
    launch.limits.memory = MOST_MEMORY;
    launch.limits.lanes = u64::MAX;
    let grid = grid(kernel, description, block)?;
    let of: u64 = grid.iter().map(|&size| u64::from(size)).product();
    let limit = description
        .launch
        .workgroups
        .unwrap_or_else(|| (MOST_THREADS / lanes.max(1)).max(1));
    let runs = of.min(limit.max(1));
    // Evenly spread: the middle of each of `runs` equal parts.
    let chosen: Vec<u64> = (0..runs)
        .map(|number| {
            ((u128::from(number) * 2 + 1) * u128::from(of) / (u128::from(runs) * 2)) as u64
        })
        .collect();
    launch.grid = grid;
    if runs < of {
        launch.workgroups = chosen.clone();
    }
    let mut open: BTreeSet<String> = BTreeSet::new();
    let pixels = matches!(kernel.kind, FunctionKind::Stage(_)) && !kernel.inputs.is_empty();
    if pixels {
        // Results are kept by thread: a sample of a frame is a small grid whose inputs come from the frame.
        launch.grid = [runs as u32, 1, 1];
        launch.workgroups = Vec::new();
        launch.inputs = inputs(kernel, description, &launch, chosen, &mut open)?;
    } else if let Some(name) = description.inputs.keys().next() {
        return Err(InputError::new(
            format!("inputs.{name}"),
            "this function has no stage inputs",
        ));
    }
    let threads = of.saturating_mul(lanes);
    let names = names(kernel, module, &launch);
    contents(
        module,
        description,
        directory,
        threads,
        &mut launch,
        &mut open,
        &names,
    )?;
    let known: Vec<String> = names
        .textures
        .iter()
        .chain(names.handles.keys())
        .cloned()
        .collect();
    unknown("textures", description.textures.keys(), &known)?;
    for name in known {
        if !description.textures.contains_key(&name) {
            open.insert(name);
        }
    }
    launch.textures = textures::textures(&description.textures, &names.handles, directory)?;
    Ok(Described {
        launch,
        runs,
        of,
        open: open.into_iter().collect(),
    })
}

fn three(place: &str, list: &[u32], limit: u32) -> Result<[u32; 3], InputError> {
    if list.is_empty() || list.len() > 3 || list.iter().any(|&size| size == 0 || size > limit) {
        return Err(InputError::new(
            place,
            format!("one to three numbers from 1 to {limit}"),
        ));
    }
    Ok(std::array::from_fn(|axis| {
        list.get(axis).copied().unwrap_or(1)
    }))
}

fn block(
    kernel: &Function,
    description: &Description,
    warp_size: u32,
) -> Result<[u32; 3], InputError> {
    let given = match &description.launch.block {
        Some(list) => Some(three("launch.block", list, 1024)?),
        None => None,
    };
    if let [Some(x), y, z] = kernel.launch.block {
        let fixed = [x, y.unwrap_or(1), z.unwrap_or(1)];
        if given.is_some_and(|given| given != fixed) {
            return Err(InputError::new(
                "launch.block",
                format!("the source fixes the workgroup's size as {fixed:?}"),
            ));
        }
        return Ok(fixed);
    }
    if matches!(kernel.kind, FunctionKind::Stage(_)) {
        return Ok([kernel.launch.warp_size.unwrap_or(warp_size), 1, 1]);
    }
    let block = given.unwrap_or([256.min(threads_of(kernel)), 1, 1]);
    if block.iter().map(|&size| u64::from(size)).product::<u64>() > 1024 {
        return Err(InputError::new(
            "launch.block",
            "a workgroup has at most 1024 threads",
        ));
    }
    Ok(block)
}

fn grid(
    kernel: &Function,
    description: &Description,
    block: [u32; 3],
) -> Result<[u32; 3], InputError> {
    let asked = &description.launch;
    let ways = [
        asked.grid.is_some(),
        asked.threads.is_some(),
        asked.pixels.is_some(),
    ];
    if ways.iter().filter(|&&way| way).count() > 1 {
        return Err(InputError::new(
            "launch",
            "one of `grid`, `threads` and `pixels`",
        ));
    }
    let pixel = kernel.kind == FunctionKind::Stage(ShaderStage::Pixel);
    if asked.pixels.is_some() && !pixel {
        return Err(InputError::new(
            "launch.pixels",
            "this is no pixel shader; `grid` or `threads`",
        ));
    }
    if pixel {
        let frame = frame(description);
        let tile = tile(block[0]);
        let tiles = u64::from(frame[0].div_ceil(tile[0])) * u64::from(frame[1].div_ceil(tile[1]));
        return match u32::try_from(tiles) {
            Ok(tiles) if tiles > 0 => Ok([tiles, 1, 1]),
            _ => Err(InputError::new(
                "launch.pixels",
                "two numbers above 0, not more than 2^32 warps",
            )),
        };
    }
    if let Some(list) = &asked.grid {
        return three("launch.grid", list, u32::MAX);
    }
    let threads = match &asked.threads {
        Some(list) => three("launch.threads", list, u32::MAX)?,
        None => [threads_of(kernel).max(block[0]), block[1], block[2]],
    };
    Ok(std::array::from_fn(|axis| {
        threads[axis].div_ceil(block[axis])
    }))
}

/// Threads where the description says nothing: a function of C is called once.
fn threads_of(kernel: &Function) -> u32 {
    match kernel.language {
        ir::Language::C => 1,
        _ => 4096,
    }
}

fn resources(module: &Module, kind: SymbolKind) -> BTreeSet<String> {
    let symbols = module
        .functions
        .iter()
        .flat_map(|function| function.symbols.values());
    symbols
        .filter(|symbol| symbol.kind == kind)
        .map(|symbol| symbol.name.to_string())
        .collect()
}

fn unknown<'n>(
    what: &str,
    given: impl Iterator<Item = &'n String>,
    known: &[String],
) -> Result<(), InputError> {
    for name in given {
        if !known.contains(name) {
            let near = similar::get_close_matches(
                name.as_str(),
                &known.iter().map(String::as_str).collect::<Vec<_>>(),
                1,
                0.6,
            );
            let near = near
                .first()
                .map_or(String::new(), |near| format!(" (`{near}`?)"));
            let list = if known.is_empty() {
                "none".to_owned()
            } else {
                known.join(", ")
            };
            return Err(InputError::new(
                format!("{what}.{name}"),
                format!("the function has no such name{near}; it has: {list}"),
            ));
        }
    }
    Ok(())
}

/// The names that a description may have, by the section that has them.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// Parameters that are pointers, and where they stand in the entry block.
    pub(super) pointers: BTreeMap<String, usize>,
    /// Parameters that are numbers, component by component.
    pub(super) numbers: BTreeMap<String, Vec<usize>>,
    /// Parameters that are textures.
    pub(super) handles: FxHashMap<String, u64>,
    pub(super) members: Members,
    /// Global memory and buffers.
    pub(super) symbols: BTreeMap<String, Space>,
    /// Elements of arrays of buffers but the first, which has the array's name: `in[1]`, with the array and the index.
    pub(super) elements: BTreeMap<String, (String, u64)>,
    /// Numbers that the host sets, such as template parameters.
    pub(super) constants: BTreeSet<String>,
    pub(super) textures: BTreeSet<String>,
}

pub(super) fn names(kernel: &Function, module: &Module, launch: &Launch) -> Names {
    let entry = &kernel.blocks[kernel.entry()].params;
    let place = |value: Value| entry.iter().position(|&param| param == value);
    let mut names = Names {
        members: members(module),
        textures: resources(module, SymbolKind::Texture),
        ..Names::default()
    };
    for parameter in &kernel.parameters {
        let name = parameter.name.to_string();
        let mut plain = Vec::new();
        for at in parameter.values.iter().filter_map(|&value| place(value)) {
            match kernel.ty(entry[at]) {
                Type::Handle => {
                    if let Some(Argument::Handle(handle)) = launch.parameters.get(at) {
                        names.handles.insert(name.clone(), u64::from(*handle));
                    }
                }
                ty => {
                    let pointer =
                        matches!(launch.parameters.get(at), Some(Argument::Pointer { .. }));
                    if pointer || matches!(ty, Type::Ptr(_)) {
                        names.pointers.entry(name.clone()).or_insert(at);
                    }
                    if !pointer {
                        plain.push(at);
                    }
                }
            }
        }
        if !plain.is_empty() {
            names.numbers.insert(name, plain);
        }
    }
    names.symbols = module
        .functions
        .iter()
        .flat_map(|function| function.symbols.values())
        .filter(|symbol| {
            matches!(symbol.kind, SymbolKind::Memory | SymbolKind::Buffer)
                && !matches!(symbol.space, Space::Local | Space::Shared)
        })
        .map(|symbol| (symbol.name.to_string(), symbol.space))
        .collect();
    for function in &module.functions {
        names.elements.extend(elements(function));
    }
    names.constants = module
        .functions
        .iter()
        .flat_map(|function| function.insts.values())
        .filter_map(|inst| match &inst.op {
            Op::Parameter(name) => Some(name.to_string()),
            _ => None,
        })
        .collect();
    names
}

/// The elements of arrays of buffers that a function names, or all where it chooses.
fn elements(function: &Function) -> Vec<(String, (String, u64))> {
    let mut found = Vec::new();
    for inst in function.insts.values() {
        let (Op::ResourceElement { .. }, [array, index]) = (&inst.op, inst.args.as_slice()) else {
            continue;
        };
        let base = function.defining(*array).map(|inst| &inst.op);
        let Some(Op::SymbolAddress(symbol)) = base else {
            continue;
        };
        let symbol = &function.symbols[*symbol];
        if symbol.kind != SymbolKind::Buffer || symbol.space == Space::Constant {
            continue;
        }
        let count = symbol
            .resource_array
            .flatten()
            .map_or(MOST_ELEMENTS, u64::from);
        let chosen = match function.int_constant(*index) {
            Some(index) => u64::try_from(index).map_or(0..0, |index| index..index + 1),
            None => 0..count.min(MOST_ELEMENTS),
        };
        for index in chosen.filter(|&index| index > 0) {
            let name = format!("{}[{index}]", symbol.name);
            found.push((name, (symbol.name.to_string(), index)));
        }
    }
    found
}

/// Sets arguments, buffers and constants.
fn contents(
    module: &Module,
    description: &Description,
    directory: &Path,
    threads: u64,
    launch: &mut Launch,
    open: &mut BTreeSet<String>,
    names: &Names,
) -> Result<(), InputError> {
    let seed = description.launch.seed;
    let Some(kernel) = module.functions.first() else {
        return Ok(());
    };
    let entry = &kernel.blocks[kernel.entry()].params;
    let Names {
        pointers,
        numbers,
        members,
        symbols,
        elements,
        constants,
        ..
    } = names;
    // Buffers.
    let known = pointers.keys().chain(symbols.keys()).chain(elements.keys());
    let known: Vec<String> = known.cloned().collect();
    // An address that assembly passes as a number is a buffer when the description says so.
    let addresses: Vec<String> = numbers
        .iter()
        .filter(|(_, places)| places.len() == 1 && kernel.ty(entry[places[0]]) == Type::I64)
        .map(|(name, _)| name.clone())
        .collect();
    let all: Vec<String> = known.iter().chain(&addresses).cloned().collect();
    unknown("buffers", description.buffers.keys(), &all)?;
    let mut as_buffers: FxHashMap<String, usize> = FxHashMap::default();
    for (name, described) in &description.buffers {
        let bytes = data::bytes(name, described, threads, seed, directory)?;
        if let Some((array, index)) = elements.get(name) {
            let number = element_buffer(launch, &array.into(), *index, |_| Buffer {
                space: Space::Global,
                bytes: bytes.clone(),
                writable: true,
            });
            as_buffers.insert(name.clone(), number);
            continue;
        }
        let space = symbols.get(name).copied().unwrap_or(Space::Global);
        let buffer = Buffer {
            space: if space == Space::Constant {
                Space::Constant
            } else {
                Space::Global
            },
            bytes,
            writable: space != Space::Constant,
        };
        let at = pointers
            .get(name)
            .or_else(|| numbers.get(name).and_then(|places| places.first()));
        let number = match at.and_then(|&at| launch.parameters.get(at)) {
            Some(&Argument::Pointer { buffer: old, .. }) => {
                launch.buffers[old] = buffer;
                old
            }
            _ => {
                launch.buffers.push(buffer);
                launch.buffers.len() - 1
            }
        };
        match at {
            Some(&at) => {
                if let Some(argument) = launch.parameters.get_mut(at) {
                    *argument = Argument::Pointer {
                        buffer: number,
                        offset: 0,
                    };
                }
            }
            None => launch.bindings.push((name.as_str().into(), number)),
        }
        as_buffers.insert(name.clone(), number);
    }
    // Numbers.
    let known: Vec<String> = numbers
        .keys()
        .chain(members.keys())
        .chain(constants)
        .cloned()
        .collect();
    unknown("values", description.values.keys(), &known)?;
    for (name, places) in numbers {
        if as_buffers.contains_key(name) {
            continue;
        }
        let Some(given) = description.values.get(name) else {
            open.insert(name.clone());
            continue;
        };
        for (component, &at) in places.iter().enumerate() {
            let value = component_of(given, component, places.len(), name)?;
            let argument = match given {
                Number::Int(value) if !kernel.ty(entry[at]).is_float() => {
                    Argument::Bits(*value as u64)
                }
                _ if kernel.ty(entry[at]).is_float() => Argument::Float(value),
                _ => Argument::Bits(data::bits(kernel.ty(entry[at]), value)),
            };
            if let Some(place) = launch.parameters.get_mut(at) {
                *place = argument;
            }
        }
    }
    for name in constants {
        match description.values.get(name) {
            Some(given) => {
                let value = component_of(given, 0, 1, name)?;
                let bits = match given {
                    Number::Float(value) => u64::from((*value as f32).to_bits()),
                    _ => value as i64 as u64,
                };
                launch.constants.push((name.as_str().into(), bits));
            }
            None => {
                open.insert(name.clone());
            }
        }
    }
    fill_members(module, description, members, launch, open, &as_buffers)?;
    let described = pointers.keys().chain(symbols.keys());
    for name in described.chain(elements.keys()) {
        if !as_buffers.contains_key(name) && !launch.bindings.iter().any(|(bound, _)| bound == name)
        {
            open.insert(name.clone());
        }
    }
    Ok(())
}

fn component_of(
    given: &Number,
    component: usize,
    count: usize,
    name: &str,
) -> Result<f64, InputError> {
    let list = given.list();
    match (list.as_slice(), given) {
        ([found], _) => Ok(*found),
        (several, _) if several.len() == count => Ok(several[component]),
        (several, _) => Err(InputError::new(
            format!("values.{name}"),
            format!("{} numbers; it has {count}", several.len()),
        )),
    }
}
