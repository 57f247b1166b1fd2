//! A function of assembly in execution sets.

use super::super::{CliError, DataFormat, SimArgs};
use super::buffers::{Argument, Buffer, arguments};
use super::simulated;
use crate::derive::timing::{set_settings, set_timing};
use crate::documents::line_column;
use crate::language::Language;
use ir::Type;
use serde_json::{Value, json};
use simulate::Memory;
use simulate::sc140::{
    Arg, Limits, Outcome, Program, Settings, Source, UnknownSetting, Violation, run,
};
use std::io::Write;
use syntax::LineIndex;

/// The processor whose cycles are counted if none is named.
const PROCESSOR: &str = "sc140";

/// A run that came to its end, and its changes.
struct Ran<'a> {
    args: &'a SimArgs,
    machine: String,
    outcome: Outcome,
    /// The changed contents, by number of the buffer.
    changed: Vec<(usize, &'a Buffer, Vec<u8>)>,
}

pub(super) fn sim(args: &SimArgs, texts: &[String]) -> Result<u8, CliError> {
    if args.counters.is_some() {
        return Err(CliError::Usage(
            "only IA-64 assembly has counters of `lockstep instrument`".into(),
        ));
    }
    let name = args.machine.as_deref().unwrap_or(PROCESSOR);
    let (timing, settings) = simulated(name, "that issues execution sets", |table| {
        Some((set_timing(table)?, set_settings(table)))
    })?;
    let machine = timing.name.clone();
    let limits = Limits {
        sets: args.steps,
        settings: changed(settings, &args.settings)?,
        timing,
    };
    let program = program(args, texts)?;
    let mut memory = Memory::new();
    let big_endian = limits.settings.big_endian;
    let (given, buffers) = arguments(&args.arguments, big_endian, &mut memory)?;
    let given: Vec<Arg> = given.iter().map(argument).collect::<Result<_, _>>()?;
    let outcome = match run(&program, &args.item, &given, &mut memory, &limits) {
        Ok(outcome) => outcome,
        Err(fault) => {
            eprintln!("{}: {fault}", args.files[fault.file].display());
            return Ok(1);
        }
    };
    let changed = buffers
        .iter()
        .enumerate()
        .filter_map(|(at, buffer)| Some((at, buffer, buffer.changed(&mut memory)?)));
    let ran = Ran {
        args,
        machine,
        outcome,
        changed: changed.collect(),
    };
    let mut out = std::io::stdout().lock();
    match args.format {
        DataFormat::Json => {
            serde_json::to_writer_pretty(&mut out, &ran.as_json())?;
            writeln!(out)?;
        }
        DataFormat::Text => ran.told(&mut out)?,
    }
    Ok(u8::from(!ran.outcome.violations.is_empty()))
}

/// The settings with those of the command line.
fn changed(mut settings: Settings, given: &[String]) -> Result<Settings, CliError> {
    for text in given {
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        settings.set(name, value).map_err(|unknown| {
            let why = match unknown {
                UnknownSetting::Name => {
                    format!("settings are {}", Settings::NAMES.join(", "))
                }
                UnknownSetting::Value => format!("`{name}` takes no such value"),
            };
            CliError::Usage(format!("`--set {text}`: {why}"))
        })?;
    }
    Ok(settings)
}

fn argument(given: &Argument) -> Result<Arg, CliError> {
    let misfit = |value: i64| CliError::Usage(format!("`{value}` does not fit its type"));
    Ok(match *given {
        Argument::Pointer(address) => Arg::Pointer(address as u32),
        Argument::Number(value, Some(Type::I16)) => {
            Arg::Word(value.try_into().map_err(|_| misfit(value))?)
        }
        Argument::Number(value, Some(Type::I64)) => Arg::Wide(value),
        // An unsigned number of 32 bits is taken by its bits.
        Argument::Number(value, _) => match u32::try_from(value) {
            Ok(value) => Arg::Long(value as i32),
            Err(_) => Arg::Long(value.try_into().map_err(|_| misfit(value))?),
        },
        Argument::Float(value) => {
            return Err(CliError::Usage(format!(
                "`{value}`: the processor has no floating point"
            )));
        }
    })
}

/// The execution sets of the files, one of which has a function of the name; their problems are reported.
fn program(args: &SimArgs, texts: &[String]) -> Result<Program, CliError> {
    for (file, text) in args.files.iter().zip(texts) {
        if Language::of_file(file, text) != Language::Sc140 {
            return Err(CliError::Usage(format!(
                "{}: is for another processor than the first file",
                file.display()
            )));
        }
    }
    let documents: Vec<_> = texts
        .iter()
        .map(|text| syntax::sc140::parse(text))
        .collect();
    let sources: Vec<Source<'_>> = documents
        .iter()
        .zip(texts)
        .map(|(document, text)| Source { document, text })
        .collect();
    let (program, opaque) = Program::new(&sources);
    let tell = |file: usize, offset: u32, message: &str| {
        let text = &texts[file];
        let (line, column) = line_column(text, &LineIndex::new(text), offset);
        eprintln!("{}:{line}:{column}: {message}", args.files[file].display());
    };
    for (file, document) in documents.iter().enumerate() {
        for problem in &document.problems {
            tell(file, problem.span.start, &problem.message);
        }
    }
    for opaque in &opaque {
        tell(opaque.file, opaque.span.start, &opaque.why.to_string());
    }
    if program.address(&args.item).is_none() {
        let known: Vec<&str> = program
            .functions()
            .iter()
            .map(|name| name.as_str())
            .collect();
        return Err(CliError::Usage(format!(
            "{}: there is no function `{}`; there are: {}",
            args.files[0].display(),
            args.item,
            known.join(", ")
        )));
    }
    Ok(program)
}

impl Ran<'_> {
    /// A rule that was broken, with its file where there are several.
    fn violation(&self, violation: &Violation) -> String {
        match self.args.files.len() {
            1 => violation.to_string(),
            _ => format!("{}: {violation}", self.args.files[violation.file].display()),
        }
    }

    fn as_json(&self) -> Value {
        let outcome = &self.outcome;
        let cycles = outcome.cycles;
        let buffers: Vec<Value> = self
            .changed
            .iter()
            .map(|(at, buffer, now)| json!({ "buffer": at, "elements": buffer.elements(now) }))
            .collect();
        json!({
            "version": 1,
            "item": self.args.item,
            "machine": self.machine,
            "d0": outcome.data[0],
            "d1": outcome.data[1],
            "r0": outcome.address,
            "cycles": cycles.total(),
            "sets": cycles.sets,
            "lost": {
                "long_instructions": cycles.long_instructions,
                "flow": cycles.flow,
                "straddles": cycles.straddles,
                "stalls": cycles.stalls,
            },
            "instructions": outcome.instructions,
            "nops": outcome.nops,
            "buffers": buffers,
            "violations": outcome.violations.iter().map(|violation| self.violation(violation)).collect::<Vec<_>>(),
            "changed_registers": outcome.changed.iter().map(ToString::to_string).collect::<Vec<_>>(),
        })
    }

    fn told(&self, out: &mut impl Write) -> std::io::Result<()> {
        let outcome = &self.outcome;
        let bits = outcome.data[0] & ((1 << 40) - 1);
        writeln!(out, "d0 = {} (0x{bits:010x})", outcome.data[0])?;
        writeln!(out, "r0 = 0x{:x}", outcome.address)?;
        for (at, buffer, now) in &self.changed {
            writeln!(out, "buffer {at} = {}", buffer.elements(now).join(", "))?;
        }
        let cycles = outcome.cycles;
        writeln!(
            out,
            "{} cycles on {} (estimate: no contention for memory), {} execution sets, {} instructions, {} of them nops",
            cycles.total(),
            self.machine,
            cycles.sets,
            outcome.instructions,
            outcome.nops
        )?;
        let lost = [
            (cycles.flow, "of jumps, calls and returns"),
            (cycles.long_instructions, "of instructions that take longer"),
            (cycles.straddles, "of targets that two fetches hold"),
            (cycles.stalls, "waited for the stack"),
        ];
        for (count, what) in lost {
            if count > 0 {
                writeln!(out, "  {count} {what}")?;
            }
        }
        for violation in &outcome.violations {
            writeln!(out, "{}", self.violation(violation))?;
        }
        for register in &outcome.changed {
            writeln!(
                out,
                "{register} is not what it was, which the conventions ask for"
            )?;
        }
        Ok(())
    }
}
