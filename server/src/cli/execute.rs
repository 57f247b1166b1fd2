//! `lockstep run`: a function on the reference interpreter. A failure is shown with the line and the lane.

use super::{CliError, RunArgs, input};
use crate::db::{Database, File};
use crate::documents::line_column;
use crate::profile::accessed::{Ranges, accessed};
use crate::program::{self, Language};
use ir::{Function, Type};
use oracle::interp::micro_simd::{self, Setting};
use oracle::interp::simple::{DescribedArgument, launch};
use oracle::interp::{Argument, LaunchDescription, Outcome, Untaken, run_simple, untaken};
use std::io::Write;
use syntax::FileId;

pub(super) fn run(args: &RunArgs) -> Result<u8, CliError> {
    let mut db = Database::default();
    let file = input::open(&mut db, &args.file, &args.analysis)?;
    if args.trace {
        return trace(&db, file, args);
    }
    let arguments: Result<Vec<DescribedArgument>, String> =
        args.arguments.iter().map(|text| text.parse()).collect();
    let description = LaunchDescription {
        lanes: args.lanes,
        warp_size: args.analysis.warp_size,
        arguments: arguments.map_err(CliError::Usage)?,
        ..LaunchDescription::default()
    };
    let mut names = Vec::new();
    for (_, item) in program::items_to_show(&db, file) {
        for lowered in crate::db::lowered(&db, item).iter() {
            let Some(function) = lowered.module.functions.first() else {
                continue;
            };
            let short = function.name.rsplit("::").next().unwrap_or(&function.name);
            if function.name != args.item && short != args.item {
                names.push(short.to_owned());
                continue;
            }
            if let Some((name, why)) = untaken(&lowered.module, &description).first() {
                return Err(CliError::Usage(vain(function, &args.item, name, *why)));
            }
            let mut outcome = run_simple(&lowered.module, &description);
            let launched = launch(&lowered.module, &description).parameters;
            name_buffers(function, &launched, &mut outcome);
            let left_open = left_open(function, &description.arguments);
            if !left_open.is_empty() {
                eprintln!("lockstep: not given, chosen at random: {left_open}");
            }
            let mut out = std::io::stdout().lock();
            writeln!(out, "{outcome}")?;
            if let Some(place) = outcome
                .error
                .as_ref()
                .and_then(oracle::interp::Error::place)
                && let Some((id, span)) = program::absolute(&db, file, item, function, place.loc)
                && let Some(of) = program::unit_file(&db, file, id)
            {
                let source = program::text(of.source(&db));
                let (line, column) =
                    line_column(source, crate::db::line_index(&db, of), span.start);
                let name = if id == FileId::MAIN {
                    args.file.clone()
                } else {
                    of.path(&db).clone()
                };
                writeln!(
                    out,
                    "at {}:{line}:{column}, lane {} of warp {}",
                    name.display(),
                    place.lane,
                    place.warp
                )?;
            }
            return Ok(u8::from(outcome.error.is_some()));
        }
    }
    Err(CliError::Usage(format!(
        "{}: there is no function `{}`; there are: {}",
        args.file.display(),
        args.item,
        names.join(", ")
    )))
}

/// A program of µ-SIMD on the machine of its paper, cycle by cycle.
fn trace(db: &Database, file: File, args: &RunArgs) -> Result<u8, CliError> {
    if file.language(db) != Language::MicroSimd {
        return Err(CliError::Usage(format!(
            "{}: a trace is of µ-SIMD (.musimd)",
            args.file.display()
        )));
    }
    let text = program::text(file.source(db));
    let parsed = syntax::musimd::parse(text);
    let mut setting = Setting::new(args.lanes);
    for argument in &args.arguments {
        let wrong = || {
            CliError::Usage(format!(
                "`{argument}`: a parameter is given as NAME=NUMBER, memory as memory=[1,2,3]"
            ))
        };
        let (name, value) = argument.split_once('=').ok_or_else(wrong)?;
        if name == "memory" {
            let cells = value.strip_prefix("i64:").unwrap_or(value);
            let cells = cells.trim_start_matches('[').trim_end_matches(']');
            let cells = cells.split(',').filter(|it| !it.trim().is_empty());
            let cells: Result<Vec<i64>, _> = cells.map(|cell| cell.trim().parse()).collect();
            setting.memory = cells.map_err(|_| wrong())?;
        } else {
            let value = value.trim().parse().map_err(|_| wrong())?;
            setting.parameters.push((name.into(), value));
        }
    }
    let run = micro_simd::run(&parsed, &setting);
    let mut out = std::io::stdout().lock();
    let written = |at: u32| {
        let found = parsed.instructions.get(at as usize)?;
        let label = found.labels.first().map_or("", |label| label.text.as_str());
        let text = text.get(found.span.start as usize..found.span.end as usize)?;
        Some(format!("{label:<4} {text}"))
    };
    let widest = (0..parsed.instructions.len() as u32)
        .filter_map(written)
        .map(|it| it.chars().count())
        .max()
        .unwrap_or(0);
    let elements: String = (0..args.lanes).map(|it| format!(" {it:>2}")).collect();
    writeln!(out, "cycle  {:<widest$} {elements}", "instruction")?;
    for cycle in &run.trace {
        let active: String = (0..args.lanes)
            .map(|it| match cycle.active.contains(&it) {
                true => "  ✓",
                false => "  ·",
            })
            .collect();
        let instruction = written(cycle.instruction).unwrap_or_default();
        writeln!(out, "{:>5}  {instruction:<widest$} {active}", cycle.number)?;
    }
    for (name, values) in &run.variables {
        let values: Vec<String> = values.iter().map(ToString::to_string).collect();
        writeln!(out, "{name}: {}", values.join(" "))?;
    }
    for (address, value) in &run.memory {
        writeln!(out, "memory[{address}]: {value}")?;
    }
    if let Some(stuck) = &run.stuck {
        let (line, column) = line_column(text, crate::db::line_index(db, file), stuck.span.start);
        writeln!(out, "{}:{line}:{column}: {stuck}", args.file.display())?;
    }
    Ok(u8::from(run.stuck.is_some()))
}

/// Buffers get the names of the parameters that point to them, and the types of their elements where only the source tells.
fn name_buffers(function: &Function, launched: &[Argument], outcome: &mut Outcome) {
    let entry = &function.blocks[function.entry()].params;
    for parameter in &function.parameters {
        for value in &parameter.values {
            let place = entry.iter().position(|param| param == value);
            if let Some(Argument::Pointer { buffer, .. }) = place.and_then(|at| launched.get(at))
                && let Some(after) = outcome.buffers.get_mut(*buffer)
            {
                after.name.get_or_insert_with(|| parameter.name.clone());
                after.element = after.element.or_else(|| element(&parameter.type_text));
            }
        }
    }
    for after in &mut outcome.buffers {
        if after.element.is_none()
            && let Some(name) = &after.name
            && let Some(variable) = function
                .variables
                .values()
                .find(|value| value.name == *name)
        {
            after.element = element(&variable.type_text);
        }
    }
    // What the declaration does not tell, the loads and stores do.
    let accessed = accessed(function, &Ranges::default());
    for after in &mut outcome.buffers {
        if after.element.is_none()
            && let Some(name) = &after.name
            && let Some(known) = accessed.get(name.as_str())
        {
            after.element = known.element();
            after.record = known.record();
        }
    }
}

/// The element of `const float4* __restrict__`, `half[8]`, `RWStructuredBuffer<float>`.
fn element(type_text: &str) -> Option<Type> {
    let inner = match type_text.split_once('<') {
        Some((_, inner)) => inner.split('>').next().unwrap_or(inner),
        None => type_text.split(['*', '[', '&']).next().unwrap_or(type_text),
    };
    let words: Vec<&str> = inner
        .split_whitespace()
        .filter(|word| !matches!(*word, "const" | "volatile" | "restrict" | "__restrict__"))
        .collect();
    let base = words.join(" ");
    Some(match base.trim_end_matches(|c: char| c.is_ascii_digit()) {
        "float" => Type::F32,
        "double" => Type::F64,
        "half" | "__half" => Type::F16,
        "__nv_bfloat" => Type::BF16,
        "char" | "signed char" | "unsigned char" | "uchar" => Type::I8,
        "short" | "unsigned short" | "ushort" => Type::I16,
        "long long" | "unsigned long long" | "longlong" | "ulonglong" | "size_t" => Type::I64,
        _ => match base.as_str() {
            "int8_t" | "uint8_t" => Type::I8,
            "int16_t" | "uint16_t" => Type::I16,
            "int64_t" | "uint64_t" => Type::I64,
            _ => return None,
        },
    })
}

/// Returns the message that says why a value is not taken.
fn vain(function: &Function, item: &str, name: &str, why: Untaken) -> String {
    let parameters: Vec<&str> = function
        .parameters
        .iter()
        .map(|parameter| parameter.name.as_str())
        .collect();
    let reason = match why {
        Untaken::NoSuchName => format!(
            "`{item}` has no parameter `{name}`; it has: {}",
            parameters.join(", ")
        ),
        Untaken::Position => {
            return format!(
                "more values than `{item}` has parameters; it has: {}",
                parameters.join(", ")
            );
        }
        Untaken::Unread => format!("`{item}` does not read `{name}` from outside"),
        Untaken::Resource => {
            "textures, samplers and stage inputs are described for `profile --inputs`".to_owned()
        }
        Untaken::Elements { bytes: Some(bytes) } => {
            format!("`{name}` is memory of {bytes} bytes; give its elements, as in i32:1,2,3")
        }
        Untaken::Elements { bytes: None } => {
            format!("`{name}` is memory; give its elements, as in i32:1,2,3")
        }
        Untaken::Element { holds } => {
            format!("`{name}` holds elements of type {holds}; write {holds}:1,2,3")
        }
        Untaken::TooLong { bytes, given } => {
            format!("`{name}` has {bytes} bytes, {given} are given")
        }
    };
    format!("--arg {name}: {reason}")
}

/// The parameters that no argument is for.
fn left_open(function: &Function, arguments: &[DescribedArgument]) -> String {
    let by_position = arguments
        .iter()
        .filter(|argument| argument.name.is_none())
        .count();
    let open = function.parameters.iter().enumerate().filter(|(at, it)| {
        *at >= by_position
            && !it.values.is_empty()
            && !arguments
                .iter()
                .any(|given| given.name.as_ref() == Some(&it.name))
    });
    let names: Vec<&str> = open.map(|(_, it)| it.name.as_str()).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_of_buffers_by_the_type_as_written() {
        for (text, wanted) in [
            ("float*", Some(Type::F32)),
            ("const float4 *", Some(Type::F32)),
            ("const double* __restrict__", Some(Type::F64)),
            ("unsigned char[16]", Some(Type::I8)),
            ("int64_t*", Some(Type::I64)),
            ("RWStructuredBuffer<float3>", Some(Type::F32)),
            ("int*", None),
            ("Particle*", None),
        ] {
            assert_eq!(element(text), wanted, "{text}");
        }
    }
}
