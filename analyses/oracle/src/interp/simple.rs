//! The front door for a person at a command line: how many lanes, which arguments, and the outcome as text.

use super::launch::{Argument, Buffer, Launch};
use super::outcome::{BufferAfter, Outcome};
use ir::function::{Function, Language, Module, SymbolData, SymbolKind};
use ir::inst::Op;
use ir::numbers;
use ir::types::{Space, Type};
use smol_str::SmolStr;

/// A launch in a person's words. Missing values are chosen by the seed.
#[derive(Clone, PartialEq, Debug)]
pub struct LaunchDescription {
    /// The lanes of one workgroup, unless the program fixes its size.
    pub lanes: u32,
    pub workgroups: u32,
    /// `None`: the number that the program asks for, otherwise 32.
    pub warp_size: Option<u32>,
    pub arguments: Vec<DescribedArgument>,
    pub seed: u64,
    /// `None`: the default of `Limits`.
    pub max_steps: Option<u64>,
}

/// `name=...`, or the next one by position.
#[derive(Clone, PartialEq, Debug)]
pub struct DescribedArgument {
    pub name: Option<SmolStr>,
    pub value: DescribedValue,
}

#[derive(Clone, PartialEq, Debug)]
pub enum DescribedValue {
    Int(i64),
    Float(f64),
    /// A new buffer with these bytes.
    Buffer(Vec<u8>),
    /// A new buffer of elements of this type, which its content is shown as.
    Elements(Type, Vec<u8>),
}

/// The reason why a value that is given has no use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Untaken {
    /// Nothing has the name.
    NoSuchName,
    /// There are fewer parameters.
    Position,
    /// A variable of the function itself, or one that it does not read.
    Unread,
    /// A texture, a sampler or a stage input.
    Resource,
    /// Memory of so many bytes takes elements.
    Elements { bytes: Option<u32> },
    /// The memory holds elements of another type.
    Element { holds: Type },
    /// More bytes than the memory has.
    TooLong { bytes: u32, given: usize },
}

impl Default for LaunchDescription {
    fn default() -> Self {
        LaunchDescription {
            lanes: 32,
            workgroups: 1,
            warp_size: None,
            arguments: Vec::new(),
            seed: 0,
            max_steps: None,
        }
    }
}

impl std::str::FromStr for DescribedArgument {
    type Err = String;
    /// `5`, `n=5`, `x=0.5`, `p=i32[64]` (zeros), `p=f32:1,2.5,3` (elements), with i8 to i64, f32 and f64.
    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (Some(SmolStr::new(name.trim())), value.trim()),
            None => (None, text.trim()),
        };
        let value = parse_value(value).ok_or_else(|| {
            format!("`{text}`: expected a number, TYPE[COUNT] or TYPE:A,B,... with TYPE i8 to i64, f32 or f64")
        })?;
        Ok(DescribedArgument { name, value })
    }
}

fn parse_value(text: &str) -> Option<DescribedValue> {
    if let Some(value) = integer(text) {
        return Some(DescribedValue::Int(value));
    }
    // A list: integers, or floats where one of them has a point.
    if let Some(list) = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')) {
        let ty = if list.contains(['.', 'e', 'n']) {
            Type::F32
        } else {
            Type::I32
        };
        return elements(ty, list);
    }
    if let Some((ty, rest)) = text.split_once('[') {
        let count: usize = rest.strip_suffix(']')?.parse().ok()?;
        let ty = element(ty)?;
        let bytes = count.checked_mul(ty.bytes() as usize)?;
        return (bytes <= 1 << 30).then(|| DescribedValue::Elements(ty, vec![0; bytes]));
    }
    if let Some((ty, rest)) = text.split_once(':') {
        return elements(element(ty)?, rest);
    }
    text.parse().ok().map(DescribedValue::Float)
}

/// An integer of 64 bits, signed or not, decimal or with `0x`.
fn integer(text: &str) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if !digits.starts_with(|letter: char| letter.is_ascii_digit()) {
        return None;
    }
    let hex = digits.strip_prefix("0x").or(digits.strip_prefix("0X"));
    let size = match hex {
        Some(hex) if hex.starts_with(['+', '-']) => return None,
        Some(hex) => u64::from_str_radix(hex, 16).ok()?,
        None => digits.parse::<u64>().ok()?,
    };
    match negative {
        true if size <= 1 << 63 => Some((size as i64).wrapping_neg()),
        true => None,
        false => Some(size as i64),
    }
}

fn elements(ty: Type, list: &str) -> Option<DescribedValue> {
    let mut bytes = Vec::new();
    for part in list.split(',').map(str::trim) {
        let bits = if ty.is_float() {
            numbers::from_f64(ty, part.parse().ok()?)
        } else {
            integer(part)? as u64
        };
        bytes.extend_from_slice(&bits.to_le_bytes()[..ty.bytes() as usize]);
    }
    Some(DescribedValue::Elements(ty, bytes))
}

fn element(name: &str) -> Option<Type> {
    Some(match name.trim() {
        "i8" | "u8" => Type::I8,
        "i16" | "u16" => Type::I16,
        "i32" | "u32" => Type::I32,
        "i64" | "u64" => Type::I64,
        "f32" => Type::F32,
        "f64" => Type::F64,
        _ => return None,
    })
}

/// Runs function 0 of a module as described. Arguments are matched by parameter name (each parameter takes as many
/// values as it has scalars), then by position.
pub fn run_simple(module: &Module, description: &LaunchDescription) -> Outcome {
    let described = described(module, description);
    let mut outcome = super::run(module, &described.launch);
    for (buffer, ty) in described.shown_as {
        if let Some(buffer) = outcome.buffers.get_mut(buffer) {
            buffer.element = Some(ty);
        }
    }
    let kernel = module.functions.first();
    for after in &mut outcome.shared {
        let given = |(name, _): &(SmolStr, Vec<u8>)| Some(name) == after.name.as_ref();
        let whole = kernel.is_some_and(|kernel| kernel.language == Language::MicroSimd);
        if let (Some(kernel), Some(name)) = (kernel, &after.name)
            && (whole || described.launch.shared.iter().any(given))
        {
            after.element = super::addressed::element(kernel, name).or(Some(Type::I32));
        }
    }
    outcome
}

/// The launch that `run_simple` uses.
pub fn launch(module: &Module, description: &LaunchDescription) -> Launch {
    described(module, description).launch
}

/// The values of a description that a run would not use, by name or by position from 0.
pub fn untaken(module: &Module, description: &LaunchDescription) -> Vec<(SmolStr, Untaken)> {
    described(module, description).untaken
}

/// A launch, the contents of its buffers, and the values without a use.
struct Described {
    launch: Launch,
    shown_as: Vec<(usize, Type)>,
    untaken: Vec<(SmolStr, Untaken)>,
}

fn described(module: &Module, description: &LaunchDescription) -> Described {
    let (mut shown_as, mut untaken) = (Vec::new(), Vec::new());
    let Some(kernel) = module.functions.first().filter(|f| !f.layout.is_empty()) else {
        return Described {
            launch: Launch::new(description.lanes.max(1)),
            shown_as,
            untaken,
        };
    };
    let mut launch = Launch::for_function(kernel, description.lanes.max(1), description.seed);
    launch.grid = [description.workgroups.max(1), 1, 1];
    if let Some(warp) = description.warp_size {
        launch.warp_size = warp;
    }
    if let Some(steps) = description.max_steps {
        launch.limits.steps = steps;
    }
    let params = &kernel.blocks[kernel.entry()].params;
    let mut next = 0;
    for argument in &description.arguments {
        let index = match &argument.name {
            Some(name) => {
                let known = kernel.parameters.iter().find(|p| p.name == *name);
                let Some(&value) = known.and_then(|p| p.values.first()) else {
                    let bound = bind_by_name(kernel, &mut launch, name, &argument.value);
                    untaken.extend(bound.err().map(|why| (name.clone(), why)));
                    continue;
                };
                params.iter().position(|&p| p == value)
            }
            None => Some(next),
        };
        let Some((index, &param)) = index.and_then(|i| Some((i, params.get(i)?))) else {
            untaken.push((smol_str::format_smolstr!("{next}"), Untaken::Position));
            continue;
        };
        next = index + 1;
        let ty = kernel.ty(param);
        let value = match &argument.value {
            DescribedValue::Int(value) if ty.is_float() => Argument::Float(*value as f64),
            DescribedValue::Int(value) => Argument::Bits(*value as u64),
            DescribedValue::Float(value) => Argument::Float(*value),
            DescribedValue::Buffer(bytes) | DescribedValue::Elements(_, bytes) => {
                let constant = ty == Type::Ptr(Space::Constant);
                let buffer = new_buffer(bytes, constant);
                let pointer = match launch.parameters.get(index) {
                    Some(&pointer @ Argument::Pointer { buffer: old, .. }) => {
                        launch.buffers[old] = buffer;
                        pointer
                    }
                    _ => {
                        launch.buffers.push(buffer);
                        Argument::Pointer {
                            buffer: launch.buffers.len() - 1,
                            offset: 0,
                        }
                    }
                };
                if let (DescribedValue::Elements(ty, _), Argument::Pointer { buffer, .. }) =
                    (&argument.value, pointer)
                {
                    shown_as.push((buffer, *ty));
                }
                pointer
            }
        };
        if let Some(place) = launch.parameters.get_mut(index) {
            *place = value;
        }
    }
    Described {
        launch,
        shown_as,
        untaken,
    }
}

fn new_buffer(bytes: &[u8], constant: bool) -> Buffer {
    Buffer {
        space: if constant {
            Space::Constant
        } else {
            Space::Global
        },
        bytes: bytes.to_vec(),
        writable: !constant,
    }
}

/// A global, a resource, shared memory, a member of a constant buffer or a constant of the program.
fn bind_by_name(
    kernel: &Function,
    launch: &mut Launch,
    name: &SmolStr,
    value: &DescribedValue,
) -> Result<(), Untaken> {
    if let Some(symbol) = kernel.symbols.values().find(|s| s.name == *name) {
        if !matches!(symbol.kind, SymbolKind::Memory | SymbolKind::Buffer) {
            return Err(Untaken::Resource);
        }
        let held = super::addressed::element(kernel, name);
        let bytes = bytes_for(symbol, held, value)?;
        if symbol.space == Space::Shared {
            launch.shared.push((name.clone(), bytes));
        } else {
            launch.bindings.push((name.clone(), launch.buffers.len()));
            launch.buffers.push(new_buffer(&bytes, false));
        }
        return Ok(());
    }
    if let Some(member) = super::addressed::member(kernel, name) {
        set_member(launch, &member, value);
        return Ok(());
    }
    let mut insts = kernel.insts.values();
    let is_constant = insts.any(|data| matches!(&data.op, Op::Parameter(known) if known == name));
    let bits = match value {
        _ if kernel.inputs.iter().any(|input| input.name == *name) => {
            return Err(Untaken::Resource);
        }
        DescribedValue::Int(value) if is_constant => *value as u64,
        DescribedValue::Float(value) if is_constant => u64::from((*value as f32).to_bits()),
        _ if kernel.variables.values().any(|value| value.name == *name) => {
            return Err(Untaken::Unread);
        }
        _ => return Err(Untaken::NoSuchName),
    };
    launch.constants.push((name.clone(), bits));
    Ok(())
}

/// The contents of a symbol; `held`: the elements that the program moves there.
fn bytes_for(
    symbol: &SymbolData,
    held: Option<Type>,
    value: &DescribedValue,
) -> Result<Vec<u8>, Untaken> {
    let shared = symbol.space == Space::Shared;
    let alone = |ty: Type| symbol.size == Some(ty.bytes());
    let bits = match (value, held) {
        (DescribedValue::Buffer(bytes), _) => return fitting(symbol, bytes),
        (DescribedValue::Elements(ty, bytes), held) => {
            // What buffers of the launch hold is the caller's own affair: they are made as they are given.
            let fits = held
                .is_none_or(|held| held.bytes() == ty.bytes() && held.is_float() == ty.is_float());
            return match held {
                Some(holds) if shared && !fits => Err(Untaken::Element { holds }),
                _ => fitting(symbol, bytes),
            };
        }
        (DescribedValue::Int(value), Some(ty)) if alone(ty) && ty.is_float() => {
            numbers::from_f64(ty, *value as f64)
        }
        (DescribedValue::Int(value), Some(ty)) if alone(ty) => *value as u64,
        (DescribedValue::Float(value), Some(ty)) if alone(ty) => numbers::from_f64(ty, *value),
        _ => return Err(Untaken::Elements { bytes: symbol.size }),
    };
    let size = symbol.size.unwrap_or(8).min(8) as usize;
    Ok(bits.to_le_bytes()[..size].to_vec())
}

fn fitting(symbol: &SymbolData, bytes: &[u8]) -> Result<Vec<u8>, Untaken> {
    match symbol.size {
        Some(size) if symbol.space == Space::Shared && bytes.len() > size as usize => {
            Err(Untaken::TooLong {
                bytes: size,
                given: bytes.len(),
            })
        }
        _ => Ok(bytes.to_vec()),
    }
}

/// Writes into the constant buffer of a member; the rest of it is zero.
fn set_member(launch: &mut Launch, member: &super::addressed::Member, value: &DescribedValue) {
    let size = launch.default_bytes as usize;
    let buffer = match launch.bindings.iter().find(|(n, _)| *n == member.symbol) {
        Some(&(_, buffer)) => buffer,
        None => {
            let buffer = launch.buffers.len();
            launch.bindings.push((member.symbol.clone(), buffer));
            launch.buffers.push(new_buffer(&vec![0; size], true));
            buffer
        }
    };
    let scalar = |number: f64, whole: i64| {
        let bits = if member.ty.is_float() {
            numbers::from_f64(member.ty, number)
        } else {
            whole as u64
        };
        bits.to_le_bytes()[..(member.ty.bytes() as usize).clamp(1, 8)].to_vec()
    };
    let bytes = match value {
        DescribedValue::Int(value) => scalar(*value as f64, *value),
        DescribedValue::Float(value) => scalar(*value, *value as i64),
        DescribedValue::Buffer(bytes) | DescribedValue::Elements(_, bytes) => bytes.clone(),
    };
    let end = member.offset.saturating_add(bytes.len());
    if let Some(buffer) = launch.buffers.get_mut(buffer)
        && let Some(place) = buffer.bytes.get_mut(member.offset..end)
    {
        place.copy_from_slice(&bytes);
    }
}

/// A value as a person reads it.
pub fn show(ty: Type, value: u64) -> String {
    match ty {
        Type::Bool => (value != 0).to_string(),
        // The shorter of the two notations: random bits are often tiny or huge.
        ty if ty.is_float() => {
            let (plain, exponent) = match ty {
                Type::F32 => {
                    let number = f32::from_bits(value as u32);
                    (number.to_string(), format!("{number:e}"))
                }
                _ => {
                    let number = numbers::to_f64(ty, value);
                    (number.to_string(), format!("{number:e}"))
                }
            };
            match plain.len() <= exponent.len() + 3 {
                true => plain,
                false => exponent,
            }
        }
        Type::Ptr(_) | Type::Handle | Type::Opaque => format!("{value:#x}"),
        _ => (value as i64).to_string(),
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (number, column) in self.returned.iter().enumerate() {
            let ty = self.return_types.get(number).copied().unwrap_or(Type::I64);
            let words: Vec<String> = column.iter().take(SHOWN).map(|&v| show(ty, v)).collect();
            let rest = if column.len() > SHOWN { " ..." } else { "" };
            writeln!(f, "result {number}: {}{rest}", words.join(" "))?;
        }
        for (number, buffer) in self.buffers.iter().enumerate() {
            show_memory(f, &format!("buffer {number}"), buffer)?;
        }
        for memory in self.shared.iter().filter(|it| it.element.is_some()) {
            show_memory(f, "shared", memory)?;
        }
        for event in &self.events {
            writeln!(
                f,
                "note: {}: {} ({} times)",
                event.place, event.kind, event.count
            )?;
        }
        if let Some(error) = &self.error {
            writeln!(f, "error: {error}")?;
        }
        write!(
            f,
            "{} instructions, {} by lanes",
            self.steps, self.lane_steps
        )
    }
}

/// Values of a column or a buffer that are printed.
const SHOWN: usize = 64;

fn show_memory(
    f: &mut std::fmt::Formatter<'_>,
    kind: &str,
    buffer: &BufferAfter,
) -> std::fmt::Result {
    let name = buffer
        .name
        .as_ref()
        .map_or(String::new(), |n| format!(" ({n})"));
    let single = [buffer.element.unwrap_or(Type::I32)];
    let members = match buffer.record.as_slice() {
        [] => &single[..],
        record => record,
    };
    let mut bytes = buffer.bytes.as_slice();
    let mut shown = Vec::new();
    for &ty in members.iter().cycle().take(SHOWN) {
        let size = ty.bytes().clamp(1, 8) as usize;
        let Some((chunk, rest)) = bytes.split_at_checked(size) else {
            break;
        };
        bytes = rest;
        let bits = chunk
            .iter()
            .rev()
            .fold(0u64, |sum, &byte| (sum << 8) | u64::from(byte));
        let shift = 64 - 8 * size as u32;
        let extended = ((bits << shift) as i64 >> shift) as u64;
        shown.push(show(ty, if ty.is_float() { bits } else { extended }));
    }
    let smallest = members.iter().map(|ty| ty.bytes().max(1)).min();
    let rest = if bytes.len() >= smallest.unwrap_or(1) as usize && shown.len() == SHOWN {
        " ..."
    } else {
        ""
    };
    writeln!(f, "{kind}{name}: {}{rest}", shown.join(" "))
}
