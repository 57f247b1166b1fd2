//! `lockstep sim`: a function of IA-64 assembly on the simulator, with the cycles of a processor.

use super::{CliError, DataFormat, SimArgs};
use crate::documents::line_column;
use crate::host;
use ir::Type;
use oracle::interp::simple::{DescribedArgument, DescribedValue, show};
use serde_json::{Value, json};
use simulate::ia64::{Arg, Limits, Memory, Outcome, Program, Timing, run};
use std::io::Write;
use syntax::LineIndex;

/// A buffer that was given.
struct Buffer {
    address: u64,
    element: Type,
    before: Vec<u8>,
}

pub(super) fn sim(args: &SimArgs) -> Result<u8, CliError> {
    let text = host::read(&args.file)?.text;
    let Some(timing) = Timing::named(&args.machine) else {
        return Err(CliError::Usage(format!(
            "`{}` is no machine that is simulated; `itanium` and `itanium2` are",
            args.machine
        )));
    };
    let document = syntax::ia64::parse(&text);
    let (program, problems) = Program::new(&document, &text);
    let lines = LineIndex::new(&text);
    let name = args.file.display();
    for problem in document.problems.iter().chain(&problems) {
        let (line, column) = line_column(&text, &lines, problem.span.start);
        eprintln!("{name}:{line}:{column}: {}", problem.message);
    }
    if !program.functions().iter().any(|one| *one == args.item) {
        let known: Vec<&str> = program.functions().iter().map(|one| one.as_str()).collect();
        return Err(CliError::Usage(format!(
            "{name}: there is no function `{}`; there are: {}",
            args.item,
            known.join(", ")
        )));
    }
    let mut memory = Memory::new();
    let mut buffers = Vec::new();
    let mut given = Vec::new();
    for text in &args.arguments {
        let described: DescribedArgument = text.parse().map_err(CliError::Usage)?;
        let (element, bytes) = match described.value {
            DescribedValue::Int(value) => {
                given.push(Arg::Integer(value as u64));
                continue;
            }
            DescribedValue::Float(value) => {
                given.push(Arg::Double(value));
                continue;
            }
            DescribedValue::Buffer(bytes) => (Type::I32, bytes),
            DescribedValue::Elements(element, bytes) => (element, bytes),
        };
        let Some(address) = memory.place(&bytes) else {
            return Err(CliError::Usage("the buffers are too large".into()));
        };
        given.push(Arg::Integer(address));
        buffers.push(Buffer {
            address,
            element,
            before: bytes,
        });
    }
    let limits = Limits {
        steps: args.steps,
        timing: Some(timing),
        ..Limits::default()
    };
    let outcome = match run(&program, &args.item, &given, &mut memory, &limits) {
        Ok(outcome) => outcome,
        Err(fault) => {
            eprintln!("{name}: {fault}");
            return Ok(1);
        }
    };
    let changed: Vec<(usize, &Buffer, Vec<u8>)> = buffers
        .iter()
        .enumerate()
        .filter_map(|(at, buffer)| {
            let now = memory.bytes(buffer.address, buffer.before.len())?.to_vec();
            (now != buffer.before).then_some((at, buffer, now))
        })
        .collect();
    let mut out = std::io::stdout().lock();
    match args.format {
        DataFormat::Json => {
            serde_json::to_writer_pretty(&mut out, &as_json(args, &outcome, &changed))?;
            writeln!(out)?;
        }
        DataFormat::Text => told(&mut out, args, &outcome, &changed)?,
    }
    Ok(u8::from(!outcome.violations.is_empty()))
}

fn elements(element: Type, bytes: &[u8]) -> Vec<String> {
    let size = (element.bits() as usize / 8).max(1);
    bytes
        .chunks(size)
        .map(|chunk| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            let unused = 64 - element.bits().clamp(8, 64);
            let value = u64::from_le_bytes(word);
            show(
                element,
                match element.is_float() {
                    true => value,
                    false => (((value << unused) as i64) >> unused) as u64,
                },
            )
        })
        .collect()
}

fn as_json(args: &SimArgs, outcome: &Outcome, changed: &[(usize, &Buffer, Vec<u8>)]) -> Value {
    let buffers: Vec<Value> = changed
        .iter()
        .map(|(at, buffer, now)| json!({ "buffer": at, "elements": elements(buffer.element, now) }))
        .collect();
    json!({
        "version": 1,
        "item": args.item,
        "machine": args.machine,
        "r8": outcome.result,
        "f8": outcome.float.to_f64(),
        "cycles": outcome.cycles,
        "groups": outcome.groups,
        "instructions": outcome.steps,
        "nops": outcome.nops,
        "buffers": buffers,
        "violations": outcome.violations.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "changed_registers": outcome.changed.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}

fn told(
    out: &mut impl Write,
    args: &SimArgs,
    outcome: &Outcome,
    changed: &[(usize, &Buffer, Vec<u8>)],
) -> std::io::Result<()> {
    match outcome.result {
        Some(value) => writeln!(out, "r8 = {} (0x{value:x})", value as i64)?,
        None => writeln!(out, "r8 = NaT")?,
    }
    writeln!(out, "f8 = {}", outcome.float.to_f64())?;
    for (at, buffer, now) in changed {
        writeln!(
            out,
            "buffer {at} = {}",
            elements(buffer.element, now).join(", ")
        )?;
    }
    writeln!(
        out,
        "{} cycles on {} (estimate: caches hit, branches are predicted), {} groups, {} instructions, {} of them nops",
        outcome.cycles.unwrap_or(0),
        args.machine,
        outcome.groups,
        outcome.steps,
        outcome.nops
    )?;
    for violation in &outcome.violations {
        writeln!(out, "{violation}")?;
    }
    for register in &outcome.changed {
        writeln!(
            out,
            "{register} is not what it was, which the conventions ask for"
        )?;
    }
    Ok(())
}
