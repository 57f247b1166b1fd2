//! `lockstep sim`: a function of assembly on the simulator of its processor, with its cycles. Here IA-64's; `sets` has the
//! one of processors that issue execution sets.

mod buffers;
mod sets;

pub(super) use buffers::{Placed, placed};

use super::machine::table;
use super::{CliError, DataFormat, SimArgs};
use crate::derive::timing::timing;
use crate::documents::line_column;
use crate::host;
use crate::language::Language;
use buffers::Buffer;
use codegen::machine::Table;
use codegen::target::ia64::instrument::COUNTERS;
use serde_json::{Value, json};
use simulate::ia64::{Limits, Outcome, Program, run, run_kept};
use simulate::predictor::{Counts, Outcome as Predicted};
use std::cmp::Reverse;
use std::io::Write;
use std::path::Path;
use syntax::LineIndex;
use syntax::ia64::{Argument, Document, Expr, StatementKind};

/// The processor whose cycles are counted if none is named.
const PROCESSOR: &str = "itanium2";

pub(super) fn sim(args: &SimArgs) -> Result<u8, CliError> {
    let texts = args.files.iter().map(|file| Ok(host::read(file)?.text));
    let texts: Vec<String> = texts.collect::<Result<_, CliError>>()?;
    if Language::of_file(&args.files[0], &texts[0]) == Language::Sc140 {
        return sets::sim(args, &texts);
    }
    let ([file], [text]) = (&args.files[..], &texts[..]) else {
        return Err(CliError::Usage(
            "IA-64 assembly is run a file at a time".into(),
        ));
    };
    if let Some(setting) = args.settings.first() {
        return Err(CliError::Usage(format!(
            "`--set {setting}`: IA-64 assembly has no settings"
        )));
    }
    let name = args.machine.as_deref().unwrap_or(PROCESSOR);
    let timing = simulated(name, "that is simulated", timing)?;
    let program = program(file, text, &args.item)?;
    let name = file.display();
    let Placed {
        mut memory,
        buffers,
        given,
    } = placed(&args.arguments)?;
    let limits = Limits {
        steps: args.steps,
        timing: Some(timing),
        ..Limits::default()
    };
    let ran = match &args.counters {
        None => run(&program, &args.item, &given, &mut memory, &limits),
        Some(_) => run_kept(
            &program,
            &args.item,
            &given,
            &mut memory,
            &limits,
            &mut |_| {},
        ),
    };
    let outcome = match ran {
        Ok(outcome) => outcome,
        Err(fault) => {
            eprintln!("{name}: {fault}");
            return Ok(1);
        }
    };
    if let Some(target) = &args.counters {
        let place = program.address(COUNTERS);
        let length = counters(&syntax::ia64::parse(text));
        let bytes = place.and_then(|place| memory.bytes(place, length));
        let Some(bytes) = bytes else {
            return Err(CliError::Usage(format!("{name} has no counters")));
        };
        host::write(target, bytes)?;
    }
    let changed: Vec<(usize, &Buffer, Vec<u8>)> = buffers
        .iter()
        .enumerate()
        .filter_map(|(at, buffer)| Some((at, buffer, buffer.changed(&mut memory)?)))
        .collect();
    let mut out = std::io::stdout().lock();
    match args.format {
        DataFormat::Json => {
            let all = as_json(args, &program, &outcome, &changed);
            serde_json::to_writer_pretty(&mut out, &all)?;
            writeln!(out)?;
        }
        DataFormat::Text => told(&mut out, args, &program, &outcome, &changed)?,
    }
    Ok(u8::from(!outcome.violations.is_empty()))
}

/// The instructions of a text that has a function of this name; its problems are reported.
pub(super) fn program(file: &Path, text: &str, item: &str) -> Result<Program, CliError> {
    let document = syntax::ia64::parse(text);
    let (program, problems) = Program::new(&document, text);
    let lines = LineIndex::new(text);
    let name = file.display();
    for problem in document.problems.iter().chain(&problems) {
        let (line, column) = line_column(text, &lines, problem.span.start);
        eprintln!("{name}:{line}:{column}: {}", problem.message);
    }
    if !program.functions().iter().any(|known| *known == item) {
        let known: Vec<&str> = program
            .functions()
            .iter()
            .map(|name| name.as_str())
            .collect();
        return Err(CliError::Usage(format!(
            "{name}: there is no function `{item}`; there are: {}",
            known.join(", ")
        )));
    }
    Ok(program)
}

/// Returns the part of a table, by its name or its file, that a simulator takes; `what` are the machines that
/// have one.
fn simulated<T>(name: &str, what: &str, of: impl Fn(&Table) -> Option<T>) -> Result<T, CliError> {
    let not_simulated = || {
        let known = codegen::machine::tables().iter();
        let names: Vec<String> = known
            .filter(|table| of(table).is_some())
            .map(|table| format!("`{}`", table.name))
            .collect();
        CliError::Usage(format!(
            "`{name}` is no machine {what}: those are {}, and tables of yours that begin with them",
            names.join(", ")
        ))
    };
    if codegen::machine::named(name).is_none() && !Path::new(name).is_file() {
        return Err(not_simulated());
    }
    match table(name)? {
        (table, true) => of(&table).ok_or_else(not_simulated),
        (_, false) => Err(CliError::Usage(format!("{name}: not a whole table"))),
    }
}

/// Bytes of the counters.
fn counters(document: &Document) -> usize {
    let label = document.statements.iter().position(
        |statement| matches!(&statement.kind, StatementKind::Label(name) if name == COUNTERS),
    );
    let behind = label.and_then(|at| document.statements.get(at + 1));
    match behind.map(|statement| &statement.kind) {
        Some(StatementKind::Directive(directive)) if directive.name == ".skip" => {
            match directive.arguments.first() {
                Some(Argument::Expr(Expr::Number(bytes))) => usize::try_from(*bytes).unwrap_or(0),
                _ => 0,
            }
        }
        _ => 0,
    }
}

/// The lines with mispredictions, those with most first: executions, taken ones, mispredictions.
fn mispredicted(program: &Program, counts: &Predicted) -> Vec<(u32, Counts)> {
    let branches = counts.branches.iter();
    let mut rows: Vec<(u32, Counts)> = branches
        .filter(|(_, counts)| counts.mispredicted > 0)
        .map(|&(number, counts)| (program.line(number as usize).unwrap_or(0), counts))
        .collect();
    rows.sort_by_key(|(line, counts)| (Reverse(counts.mispredicted), *line));
    rows
}

fn as_json(
    args: &SimArgs,
    program: &Program,
    outcome: &Outcome,
    changed: &[(usize, &Buffer, Vec<u8>)],
) -> Value {
    let buffers: Vec<Value> = changed
        .iter()
        .map(|(at, buffer, now)| json!({ "buffer": at, "elements": buffer.elements(now) }))
        .collect();
    let memory = outcome.memory.as_ref().map(|memory| {
        json!({
            "levels": memory.levels.iter().map(|level| json!({
                "accesses": level.accesses, "misses": level.misses,
            })).collect::<Vec<_>>(),
            "stalls": memory.stalls,
            "lines": memory.lines.iter().map(|line| json!({
                "line": line.line, "accesses": line.accesses, "misses": line.misses, "stalls": line.stalls,
            })).collect::<Vec<_>>(),
        })
    });
    let branches = outcome.branches.as_ref().map(|counts| {
        json!({
            "executed": counts.all.executed,
            "taken": counts.all.taken,
            "mispredicted": counts.all.mispredicted,
            "squashed": counts.all.squashed,
            "lines": mispredicted(program, counts).iter().map(|(line, counts)| json!({
                "line": line, "executed": counts.executed, "taken": counts.taken, "mispredicted": counts.mispredicted,
            })).collect::<Vec<_>>(),
        })
    });
    json!({
        "version": 1,
        "item": args.item,
        "machine": args.machine.as_deref().unwrap_or(PROCESSOR),
        "r8": outcome.result,
        "f8": outcome.float.to_f64(),
        "cycles": outcome.cycles,
        "groups": outcome.groups,
        "instructions": outcome.steps,
        "nops": outcome.nops,
        "memory": memory,
        "branches": branches,
        "buffers": buffers,
        "violations": outcome.violations.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "changed_registers": outcome.changed.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}

/// Lines that a text lists.
const LISTED: usize = 8;

/// The assumptions of the cycles.
fn assumed(outcome: &Outcome) -> &'static str {
    match (&outcome.memory, &outcome.branches) {
        (None, None) => "caches hit, branches are predicted",
        (Some(_), None) => "branches are predicted",
        (None, Some(_)) => "caches hit",
        (Some(_), Some(_)) => "instructions are there when they are needed",
    }
}

/// Misses and mispredictions, where the machine has caches and a predictor.
fn lost(out: &mut impl Write, program: &Program, outcome: &Outcome) -> std::io::Result<()> {
    if let Some(memory) = &outcome.memory {
        for (at, level) in memory.levels.iter().enumerate() {
            let share = 100.0 * level.misses as f64 / level.accesses.max(1) as f64;
            writeln!(
                out,
                "level {}: {} accesses, {} misses ({share:.1} %)",
                at + 1,
                level.accesses,
                level.misses
            )?;
        }
        writeln!(out, "{} cycles waited for misses", memory.stalls)?;
        let mut lines: Vec<_> = memory.lines.iter().collect();
        lines.sort_by_key(|line| (Reverse((line.stalls, line.misses)), line.line));
        for line in lines.iter().take(LISTED) {
            writeln!(
                out,
                "  line {}: {} of {} accesses miss, {} cycles waited",
                line.line, line.misses, line.accesses, line.stalls
            )?;
        }
    }
    if let Some(counts) = &outcome.branches {
        let all = counts.all;
        writeln!(
            out,
            "{} branches, {} mispredicted ({:.1} %)",
            all.executed,
            all.mispredicted,
            100.0 * all.rate()
        )?;
        for (line, counts) in mispredicted(program, counts).iter().take(LISTED) {
            writeln!(
                out,
                "  line {line}: {} of {} mispredicted",
                counts.mispredicted, counts.executed
            )?;
        }
    }
    Ok(())
}

fn told(
    out: &mut impl Write,
    args: &SimArgs,
    program: &Program,
    outcome: &Outcome,
    changed: &[(usize, &Buffer, Vec<u8>)],
) -> std::io::Result<()> {
    match outcome.result {
        Some(value) => writeln!(out, "r8 = {} (0x{value:x})", value as i64)?,
        None => writeln!(out, "r8 = NaT")?,
    }
    writeln!(out, "f8 = {}", outcome.float.to_f64())?;
    for (at, buffer, now) in changed {
        writeln!(out, "buffer {at} = {}", buffer.elements(now).join(", "))?;
    }
    writeln!(
        out,
        "{} cycles on {} (estimate: {}), {} groups, {} instructions, {} of them nops",
        outcome.cycles.unwrap_or(0),
        args.machine.as_deref().unwrap_or(PROCESSOR),
        assumed(outcome),
        outcome.groups,
        outcome.steps,
        outcome.nops
    )?;
    lost(out, program, outcome)?;
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
