//! One case: PTX, a launch, and the contents of memory after the reference interpreter ran it; or the reason
//! why the run tells nothing about hardware.

use crate::sources::UNSPECIFIED;
use crate::watch::{Watch, code};
use ir::{Module, Space, SymbolKind, Type, Value};
use oracle::interp::{self, Argument, Buffer, BufferAfter, EventKind, Launch};
use rustc_hash::FxHashMap as HashMap;
use serde_json::{Value as Json, json};

/// The material of a case.
pub(crate) struct Draft<'a> {
    pub(crate) name: String,
    pub(crate) source: &'static str,
    /// The module that the interpreter runs.
    pub(crate) module: &'a Module,
    pub(crate) ptx: String,
    pub(crate) launch: Launch,
    /// Relative and absolute, where it is not that of the source.
    pub(crate) tolerance: Option<(f64, f64)>,
}

/// Bytes of all buffers, each content once.
#[derive(Default)]
pub(crate) struct Blob {
    pub(crate) bytes: Vec<u8>,
    known: HashMap<Vec<u8>, usize>,
}

impl Blob {
    fn put(&mut self, bytes: &[u8]) -> Json {
        if let Some(at) = self.known.get(bytes) {
            return json!([at, bytes.len()]);
        }
        let at = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        self.known.insert(bytes.to_vec(), at);
        json!([at, bytes.len()])
    }
}

/// A parameter of an entry as the text declares it.
#[derive(Clone, PartialEq, Debug)]
struct Declared {
    name: String,
    bytes: usize,
}

/// The name of the entry and its parameters.
fn entry_of(ptx: &str) -> Option<(String, Vec<Declared>)> {
    let start = ptx.find(".entry ")? + ".entry ".len();
    let rest = &ptx[start..];
    let open = rest.find(['(', '{'])?;
    let name = rest[..open].split_whitespace().next()?.to_owned();
    if rest.as_bytes()[open] == b'{' {
        return Some((name, Vec::new()));
    }
    let close = rest.find(')')?;
    let parameters = rest[open + 1..close]
        .split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .map(declared)
        .collect::<Option<_>>()?;
    Some((name, parameters))
}

fn declared(text: &str) -> Option<Declared> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let name = *words.last()?;
    let width = words.iter().find_map(|word| {
        let digits = word
            .strip_prefix('.')?
            .trim_start_matches(['u', 's', 'b', 'f']);
        digits.parse::<usize>().ok().map(|bits| bits / 8)
    })?;
    let (name, count) = match name.split_once('[') {
        Some((name, count)) => (name, count.strip_suffix(']')?.parse().ok()?),
        None => (name, 1),
    };
    Some(Declared {
        name: name.to_owned(),
        bytes: width * count,
    })
}

/// Characters that PTX does not take become `_`, as the emitter has it.
fn identifier(name: &str) -> String {
    name.chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '$' {
                c
            } else {
                '_'
            }
        })
        .collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The threads of a block that the entry allows.
fn most_threads(ptx: &str) -> u32 {
    let limit = ptx
        .lines()
        .find_map(|line| line.trim_start().strip_prefix(".maxntid"));
    limit.map_or(1024, |list| {
        let sizes = list.split(',').map(|size| size.trim().parse::<u32>());
        sizes.map(|size| size.unwrap_or(1)).product()
    })
}

/// Registers whose value is the machine's own affair.
const MACHINE: [&str; 9] = [
    "%smid",
    "%nsmid",
    "%clock",
    "%globaltimer",
    "%gridid",
    "%pm",
    "%envreg",
    "%warpid",
    "%nwarpid",
];

/// Binds every buffer resource and gives memory that is shared other contents, so that runs differ by nothing else.
fn settle(module: &Module, launch: &mut Launch) {
    launch.ended_lanes_arrive = true;
    for function in &module.functions {
        for symbol in function.symbols.values() {
            let bound = launch.bindings.iter().any(|(name, _)| *name == symbol.name);
            if symbol.kind == SymbolKind::Buffer && !bound {
                let seed = launch.seed;
                let words = launch.default_bytes / 4;
                let buffer = Buffer::of_u32((0..words).map(|at| {
                    let mut random = oracle::random::Random::new(
                        seed ^ (u64::from(at) << 20) ^ symbol.name.len() as u64,
                    );
                    match random.below(4) {
                        3 => ((random.below(4096) as f32) / 1024.0).to_bits(),
                        _ => random.below(64),
                    }
                }));
                launch
                    .bindings
                    .push((symbol.name.clone(), launch.buffers.len()));
                launch.buffers.push(buffer);
            }
        }
    }
}

/// The same launch in another order, with other contents of unwritten memory.
fn variants(module: &Module, launch: &Launch) -> Vec<Launch> {
    let groups: u64 = launch.grid.iter().map(|&n| u64::from(n)).product();
    (0..3u64)
        .map(|number| {
            let mut other = launch.clone();
            other.shuffle_warps = true;
            other.shuffle_atomics = true;
            other.reverse_groups = number != 1;
            other.scramble_undefined = true;
            other.seed = launch.seed ^ (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            if number != 1 && groups > 1 {
                other.workgroups = (0..groups).rev().collect();
            }
            for function in &module.functions {
                for symbol in function.symbols.values() {
                    if symbol.space == Space::Shared
                        && symbol.kind == SymbolKind::Memory
                        && !other.shared.iter().any(|(name, _)| *name == symbol.name)
                    {
                        let size = symbol.size.unwrap_or(launch.dynamic_shared);
                        let junk =
                            (0..size).map(|at| (at as u8).wrapping_mul(91) ^ 0xa5 ^ number as u8);
                        other.shared.push((symbol.name.clone(), junk.collect()));
                    }
                }
            }
            other
        })
        .collect()
}

fn event_reason(kind: &EventKind) -> &'static str {
    match kind {
        EventKind::InactiveLanesInMask { .. } => "a mask names inactive lanes",
        EventKind::LaneOutsideOfItsMask { .. } => "a lane outside of its mask",
        EventKind::ReadOfInactiveLane { .. } => "an inactive lane is read",
        EventKind::UniformBranchDiverges { .. } => "a uniform branch diverges",
        EventKind::CheckedOutOfBounds { .. } => "a checked access out of bounds",
        EventKind::StandIn { .. } => "a stand-in value",
    }
}

fn error_reason(error: &interp::Error) -> &'static str {
    match error {
        interp::Error::Access { .. } => "an impossible access",
        interp::Error::Barrier { .. } => "a barrier never completes",
        interp::Error::StepsExhausted { .. } => "steps are used up",
        interp::Error::MemoryExhausted { .. } => "memory is used up",
        interp::Error::Unsupported { .. } => "not supported by the interpreter",
        _ => "another error",
    }
}

/// Returns the result of a launch, or the reason why it tells nothing about hardware; `open`: though the IR
/// leaves results open.
pub(crate) fn executed<'m>(
    module: &'m Module,
    launch: &Launch,
    open: bool,
) -> Result<(interp::Outcome, Watch<'m>), &'static str> {
    let mut watch = Watch::new(module);
    let outcome = interp::run_with(module, launch, &mut watch, &());
    if let Some(error) = &outcome.error {
        return Err(error_reason(error));
    }
    if let Some(event) = outcome.events.first() {
        return Err(event_reason(&event.kind));
    }
    if let Some(reason) = watch.reasons.first()
        && !open
    {
        return Err(reason);
    }
    for other in variants(module, launch) {
        let again = interp::run(module, &other);
        if again.error.is_some() || !again.events.is_empty() || !outcome.same_effects(&again) {
            return Err("depends on order or on what nobody wrote");
        }
    }
    Ok((outcome, watch))
}

/// Makes a case, or says why there is none.
pub(crate) fn case(draft: Draft<'_>, blob: &mut Blob) -> Result<Json, &'static str> {
    let Draft {
        name,
        source,
        module,
        ptx,
        mut launch,
        tolerance,
    } = draft;
    if launch.warp_size != 32 {
        return Err("another warp size");
    }
    if MACHINE.iter().any(|word| ptx.contains(word)) {
        return Err("registers of the machine");
    }
    if ptx.contains(".tex")
        || ptx.contains("\ttex.")
        || ptx.contains("\tsust")
        || ptx.contains("\tsuld")
    {
        return Err("textures");
    }
    if launch.block[2] > 64 || launch.block.iter().product::<u32>() > most_threads(&ptx) {
        return Err("more threads than the device or the kernel takes");
    }
    settle(module, &mut launch);
    let (outcome, watch) = executed(module, &launch, source == UNSPECIFIED)?;
    let mut buffers: Vec<Json> = Vec::new();
    let bytes_before = |number: usize, after: &BufferAfter| match launch.buffers.get(number) {
        Some(buffer) => buffer.bytes.clone(),
        None => vec![0; after.bytes.len()],
    };
    for (number, after) in outcome.buffers.iter().enumerate() {
        let kinds = watch.stored.get(&number);
        buffers.push(json!({
            "before": blob.put(&bytes_before(number, after)),
            "after": blob.put(&after.bytes),
            "kinds": kinds.map_or(json!([]), runs),
        }));
    }
    let symbol_buffer = |name: &str| {
        outcome.buffers.iter().position(|buffer| {
            buffer
                .name
                .as_ref()
                .is_some_and(|known| identifier(known) == name)
        })
    };
    // Memory that the text itself declares.
    let mut symbols: Vec<Json> = Vec::new();
    for function in &module.functions {
        for symbol in function.symbols.values() {
            let own = identifier(&symbol.name);
            let declares = [" ", "\t"].iter().any(|before| {
                ["[", ";", " ="].iter().any(|after| {
                    let word = format!("{before}{own}{after}");
                    ptx.lines().any(|line| {
                        let line = line.trim_start();
                        let line = line
                            .trim_start_matches(".visible ")
                            .trim_start_matches(".extern ");
                        (line.starts_with(".global") || line.starts_with(".const"))
                            && line.contains(&word)
                    })
                })
            });
            let Some(buffer) = symbol_buffer(&own).filter(|_| declares) else {
                continue;
            };
            if !symbol.definition.addresses.is_empty() {
                return Err("addresses are stored");
            }
            let how = if symbol.kind == SymbolKind::Memory {
                "memory"
            } else {
                "pointer"
            };
            let write = launch.bindings.iter().any(|(name, _)| *name == symbol.name);
            let row = json!({ "name": own, "buffer": buffer, "how": how, "write": write });
            if !symbols.contains(&row) {
                symbols.push(row);
            }
        }
    }
    let (entry, declared) = entry_of(&ptx).ok_or("no entry")?;
    let kernel = &module.functions[0];
    let params = &kernel.blocks[kernel.entry()].params;
    let emitted = declared
        .first()
        .is_none_or(|first| first.name.starts_with(&entry));
    let mut parameters = Vec::new();
    for place in &declared {
        let own: Option<Vec<Value>> = if emitted {
            let numbered = place.name.strip_prefix(&format!("{entry}_param_"));
            numbered
                .and_then(|n| n.parse::<usize>().ok())
                .and_then(|n| params.get(n).map(|&value| vec![value]))
        } else {
            let known = kernel.parameters.iter().find(|p| p.name == place.name);
            known.map(|p| p.values.to_vec())
        };
        if let Some(values) = own {
            parameters.push(argument(kernel, params, &values, &launch, place)?);
            continue;
        }
        let short = place
            .name
            .strip_prefix(&format!("{entry}_"))
            .filter(|_| emitted)
            .unwrap_or(&place.name);
        if let Some(buffer) = symbol_buffer(short) {
            if emitted {
                parameters.push(json!({ "buffer": buffer, "offset": 0 }));
            } else {
                let mut bytes = outcome.buffers[buffer].bytes.clone();
                bytes.resize(place.bytes, 0);
                parameters.push(json!({ "bytes": hex(&bytes) }));
            }
        } else if short == "outputs" && emitted {
            parameters.push(outputs(&outcome, &launch, blob, &mut buffers)?);
        } else {
            return Err("a parameter without a value");
        }
    }
    let externals: Vec<&str> = ptx
        .lines()
        .filter(|line| line.starts_with(".extern .func"))
        .collect();
    if externals.iter().any(|line| !line.contains("__nv_")) {
        return Err("an external function");
    }
    let mut flags = Vec::new();
    let mut flag = |holds: bool, name: &'static str| {
        if holds {
            flags.push(name);
        }
    };
    flag(ptx.contains(".approx"), "approximate");
    flag(!externals.is_empty(), "library");
    flag(watch.not_a_number, "nan");
    flag(ptx.contains("activemask"), "activemask");
    flag(watch.apart, "apart");
    let dynamic = ptx.contains(".extern .shared");
    Ok(json!({
        "name": name,
        "source": source,
        "flags": flags,
        "tolerance": tolerance,
        // The driver has no device library: a stand-in beside the runner calls it.
        "ptx": ptx.replace("__nv_", "lk_"),
        "entry": entry,
        "grid": launch.grid,
        "block": launch.block,
        "shared": if dynamic { launch.dynamic_shared } else { 0 },
        "parameters": parameters,
        "symbols": symbols,
        "buffers": buffers,
    }))
}

/// Offsets with the values stored there, as `[offset, bytes, kind]`; values that are no floats are left out.
fn runs(kinds: &HashMap<u64, u8>) -> Json {
    let mut sorted: Vec<(u64, u8)> = kinds.iter().map(|(&at, &kind)| (at, kind)).collect();
    sorted.sort_unstable();
    let mut out: Vec<(u64, u64, u8)> = Vec::new();
    for (at, kind) in sorted.into_iter().filter(|&(_, kind)| kind != 0) {
        match out.last_mut() {
            Some(last) if last.0 + last.1 == at && last.2 == kind => last.1 += 1,
            _ => out.push((at, 1, kind)),
        }
    }
    json!(out)
}

fn argument(
    kernel: &ir::Function,
    params: &[Value],
    values: &[Value],
    launch: &Launch,
    place: &Declared,
) -> Result<Json, &'static str> {
    let mut bytes = Vec::new();
    for &value in values {
        let ty = kernel.ty(value);
        let number = params.iter().position(|&p| p == value);
        let given = number.and_then(|number| launch.parameters.get(number));
        let bits = match given {
            Some(&Argument::Pointer { buffer, offset }) => {
                return match values.len() {
                    1 => Ok(json!({ "buffer": buffer, "offset": offset })),
                    _ => Err("a structure with an address"),
                };
            }
            Some(&Argument::Bits(bits)) => ir::numbers::canonical(ty, bits),
            Some(&Argument::Float(number)) => ir::numbers::from_f64(ty, number),
            Some(Argument::Handle(_)) => return Err("textures"),
            None => 0,
        };
        let size = if values.len() == 1 {
            place.bytes.min(8)
        } else {
            ty.bytes() as usize
        };
        bytes.extend_from_slice(&bits.to_le_bytes()[..size]);
    }
    bytes.resize(place.bytes, 0);
    Ok(json!({ "bytes": hex(&bytes) }))
}

/// Returns the records that a stage or kernel returns, by `%tid.x` alone.
fn outputs(
    outcome: &interp::Outcome,
    launch: &Launch,
    blob: &mut Blob,
    buffers: &mut Vec<Json>,
) -> Result<Json, &'static str> {
    if launch.grid != [1, 1, 1] || launch.block[1..] != [1, 1] {
        return Err("results of several rows");
    }
    let slot = |ty: Type| if ty.bytes() > 4 { 8usize } else { 4 };
    let size: usize = outcome.return_types.iter().map(|&ty| slot(ty)).sum();
    let lanes = launch.block[0] as usize;
    let mut bytes = vec![0; size * lanes];
    let mut kinds = HashMap::default();
    let mut at = 0;
    for (column, &ty) in outcome.returned.iter().zip(&outcome.return_types) {
        for (lane, value) in column.iter().enumerate() {
            let start = lane * size + at;
            let stored = if ty == Type::Bool {
                4
            } else {
                ty.bytes() as usize
            };
            bytes[start..start + stored].copy_from_slice(&value.to_le_bytes()[..stored]);
            for byte in 0..stored {
                kinds.insert((start + byte) as u64, code(ty));
            }
        }
        at += slot(ty);
    }
    buffers.push(json!({
        "before": blob.put(&vec![0; bytes.len()]),
        "after": blob.put(&bytes),
        "kinds": runs(&kinds),
    }));
    Ok(json!({ "buffer": buffers.len() - 1, "offset": 0 }))
}
