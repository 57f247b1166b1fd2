//! A description to begin with: every name of a function, with values that run, to be changed by the author.

use super::accessed::{Accessed, Ranges, accessed};
use super::launch::{Names, names};
use super::stage::has_default;
use ir::{Function, FunctionKind, Module, ShaderStage, Space, Type};
use oracle::interp::Launch;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// Threads of the described grid, and the fewest elements of a described buffer.
const THREADS: u32 = 4096;
/// Integers, which mostly are counts of elements.
const COUNT: i64 = 1024;
/// Elements of a described buffer at most; longer ones are for the author to ask for.
const MOST_DESCRIBED: u64 = 1 << 24;

/// The text of a description that `inputs::parse` reads and `launch::described` takes for the module's first function.
/// `None`: it has no body.
pub fn template(module: &Module) -> Option<String> {
    let kernel = module.functions.first().filter(|f| !f.layout.is_empty())?;
    let launch = Launch::for_function(kernel, 1, 0);
    let names = names(kernel, module, &launch);
    let mut out = format!(
        "# What `{}` runs on; what is not said is chosen by the seed.\nitem = {}\n\n[launch]\n",
        kernel.name,
        quoted(kernel.name.rsplit("::").next().unwrap_or(&kernel.name))
    );
    let mut line = |text: &str| {
        out.push_str(text);
        out.push('\n');
    };
    match kernel.kind {
        FunctionKind::Stage(ShaderStage::Pixel) => line("pixels = [256, 256]"),
        FunctionKind::Host => {
            line("threads = [1]                        # calls, each of them with the same values");
        }
        _ => line(&format!(
            "threads = [{THREADS}]                     # or grid = [workgroups]"
        )),
    }
    if !matches!(kernel.kind, FunctionKind::Stage(_) | FunctionKind::Host)
        && kernel.launch.block[0].is_none()
    {
        line("block = [256, 1, 1]");
    }
    line("seed = 1");
    let mut ranges = Ranges::default();
    values(&mut out, kernel, &names, &mut ranges);
    (ranges.block, ranges.grid) = sizes(kernel);
    buffers(&mut out, kernel, &names, &accessed(kernel, &ranges));
    for name in names.textures.iter().chain(sorted(names.handles.keys())) {
        let _ = write!(
            out,
            "\n[textures.{}]\nfill = \"noise\"                       # constant, checker, gradient, noise; or png = \"FILE.png\"\n",
            key(name)
        );
    }
    stage_inputs(&mut out, kernel);
    Some(out)
}

fn sorted<'n>(names: impl Iterator<Item = &'n String>) -> BTreeSet<&'n String> {
    names.collect()
}

/// The workgroup and the grid that the description above asks for.
fn sizes(kernel: &Function) -> ([u32; 3], [u32; 3]) {
    let block = match (kernel.kind, kernel.launch.block) {
        (FunctionKind::Stage(_), _) => [kernel.launch.warp_size.unwrap_or(32), 1, 1],
        (_, [Some(x), y, z]) => [x, y.unwrap_or(1), z.unwrap_or(1)],
        _ => [256, 1, 1],
    };
    (block, [THREADS.div_ceil(block[0].max(1)), 1, 1])
}

fn values(out: &mut String, kernel: &Function, names: &Names, ranges: &mut Ranges) {
    let entry = &kernel.blocks[kernel.entry()].params;
    let mut lines: Vec<(String, String)> = Vec::new();
    for (name, places) in &names.numbers {
        let float = places.iter().any(|&at| kernel.ty(entry[at]).is_float());
        if !float {
            ranges.values.insert(name.clone(), COUNT);
        }
        lines.push((name.clone(), numbers(float, places.len())));
    }
    for (name, components) in &names.members {
        let float = components.values().any(|place| place.ty.is_float());
        let count = components.keys().next_back().map_or(1, |last| last + 1);
        if !float {
            ranges.values.insert(name.clone(), COUNT);
        }
        lines.push((name.clone(), numbers(float, count)));
    }
    for name in &names.constants {
        ranges.values.insert(name.clone(), 1);
        lines.push((name.clone(), "1".to_owned()));
    }
    if lines.is_empty() {
        return;
    }
    out.push_str("\n[values]\n");
    for (name, value) in lines {
        let _ = writeln!(out, "{} = {value}", key(&name));
    }
}

/// A count of elements is the usual meaning of an integer.
fn numbers(float: bool, count: usize) -> String {
    let value = if float {
        "0.5".to_owned()
    } else {
        COUNT.to_string()
    };
    match count {
        1 => value,
        _ => format!("[{}]", vec![value; count].join(", ")),
    }
}

fn buffers(
    out: &mut String,
    kernel: &Function,
    names: &Names,
    accessed: &BTreeMap<String, Accessed>,
) {
    let symbols = names
        .symbols
        .iter()
        // Constant buffers are given by their members.
        .filter(|(_, space)| **space != Space::Constant)
        .map(|(name, _)| name);
    let elements = names.elements.keys();
    for name in names.pointers.keys().chain(symbols).chain(elements) {
        let declared = kernel
            .parameters
            .iter()
            .find(|parameter| parameter.name == *name);
        let array = names.elements.get(name).map(|(array, _)| array);
        let known = accessed.get(array.unwrap_or(name));
        let element = match (declared, known.and_then(Accessed::element)) {
            (Some(found), _) => element(&found.type_text),
            (None, Some(ty)) => machine_type(ty),
            (None, None) => "f32",
        };
        let fill = match element.starts_with('f') {
            true => {
                "fill = \"normal\"                      # constant, uniform, normal, sparse, sequence"
            }
            false => "fill = \"uniform\"\nlow = 0\nhigh = 255",
        };
        // Long enough for the grid above, where that is known.
        let size = super::data::element(element).map_or(4, |(ty, _)| u64::from(ty.bytes()));
        let count = known
            .map(|it| it.end.div_ceil(size.max(1)))
            .filter(|count| (u64::from(THREADS)..=MOST_DESCRIBED).contains(count))
            .unwrap_or(THREADS.into());
        let _ = write!(
            out,
            "\n[buffers.{}]\ntype = \"{element}\"\ncount = {count}\n{fill}\n",
            key(name)
        );
    }
}

/// Returns the described type of a machine type; loads do not tell whether integers have a sign, and the
/// described ones have none.
fn machine_type(ty: Type) -> &'static str {
    match ty {
        Type::F64 => "f64",
        Type::F16 => "f16",
        Type::BF16 => "bf16",
        Type::I8 | Type::Bool => "u8",
        Type::I16 => "u16",
        Type::I32 => "u32",
        Type::I64 => "u64",
        _ => "f32",
    }
}

/// The machine's type of the elements that a pointer of this type points to; elements that are no numbers are
/// given as words.
fn element(pointer: &str) -> &'static str {
    let has = |word: &str| {
        pointer
            .split(|c: char| !c.is_alphanumeric() && c != '_')
            .any(|w| w == word)
    };
    let starts = |word: &str| {
        pointer
            .split(|c: char| !c.is_alphanumeric() && c != '_')
            .any(|w| w.starts_with(word))
    };
    let unsigned = has("unsigned");
    if starts("double") {
        "f64"
    } else if starts("__nv_bfloat16") {
        "bf16"
    } else if starts("half") || starts("__half") {
        "f16"
    } else if has("int8_t") || (has("char") && !unsigned) {
        "i8"
    } else if has("uint8_t") || starts("uchar") || has("char") || has("bool") {
        "u8"
    } else if has("int16_t") || (has("short") && !unsigned) {
        "i16"
    } else if has("uint16_t") || starts("ushort") || has("short") {
        "u16"
    } else if has("int64_t") || has("size_t") || (has("long") && !unsigned) {
        "i64"
    } else if has("uint64_t") || has("long") {
        "u64"
    } else if has("uint32_t") || starts("uint") || unsigned {
        "u32"
    } else if starts("int") {
        "i32"
    } else {
        "f32"
    }
}

fn stage_inputs(out: &mut String, kernel: &Function) {
    let semantics: BTreeSet<&str> = kernel
        .inputs
        .iter()
        .map(|input| input.semantic.as_str())
        .filter(|semantic| !semantic.starts_with("SV_"))
        .collect();
    for semantic in semantics {
        let fill = match semantic {
            normal if normal.starts_with("NORMAL") => "sphere",
            uv if has_default(uv, kernel.kind) => "uv",
            _ => "noise",
        };
        let _ = write!(
            out,
            "\n[inputs.{}]\nfill = \"{fill}\"                     # constant, uv, pixel, sphere, noise, uniform, normal, sparse, sequence\n",
            key(semantic)
        );
    }
}

/// A name as a key: bare where TOML permits it.
fn key(name: &str) -> String {
    let bare = !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    match bare {
        true => name.to_owned(),
        false => quoted(name),
    }
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}
