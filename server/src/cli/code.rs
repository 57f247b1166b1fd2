//! `lockstep code`: the GPU code of a function.

use super::{CliError, CodeArgs, DataFormat, input};
use crate::db::{Database, File};
use crate::derive::code::{self, TargetCode};
use crate::derive::fitted::fitted;
use crate::program;
use crate::ptxas;
use crate::views;
use crate::views::actions::edited;
use crate::views::code::occupancy;
use crate::views::pressure::budgeted;
use serde_json::{Value, json};
use std::io::Write;

pub(super) fn code(args: &CodeArgs) -> Result<u8, CliError> {
    let mut db = Database::default();
    let file = input::open(&mut db, &args.file, &args.analysis)?;
    if let Some(words) = args.budget {
        return within(&db, file, args, words);
    }
    let found = match (&args.item, &args.at) {
        (Some(name), _) => code::named(&db, file, name),
        (None, Some(at)) => {
            let offset = input::offset_at(program::text(file.source(&db)), at)?;
            code::at(&db, file, offset)
        }
        (None, None) => code::at(&db, file, 0),
    };
    let Some(found) = found else {
        let names = code::names(&db, file).join(", ");
        let wanted = args.item.as_deref().unwrap_or("to be shown");
        return Err(CliError::Usage(format!(
            "{}: there is no function `{wanted}`; there are: {names}",
            args.file.display()
        )));
    };
    if let Some(refused) = &found.refused {
        eprintln!(
            "lockstep: no code for `{}`: {}",
            found.name,
            views::code::refused(refused)
        );
        return Ok(1);
    }
    let judged = args.ptxas.then(|| judge(&found)).transpose()?;
    let mut out = std::io::stdout().lock();
    match args.format {
        DataFormat::Json => {
            let lines: Vec<_> = found.lines.iter().map(|(a, b)| [a + 1, b + 1]).collect();
            let row = json!({
                "version": 1,
                "name": found.name,
                "target": found.target.to_string(),
                "text": found.text,
                "lines": lines,
                "externals": found.externals,
                "budget": found.budget.map(|budget| budget.registers),
                "ptxas": judged,
                "occupancy": judged
                    .as_ref()
                    .and_then(|report| occupancy(&found, report.registers)),
            });
            serde_json::to_writer_pretty(&mut out, &row)?;
            writeln!(out)?;
        }
        DataFormat::Text => {
            if let Some(report) = &judged {
                writeln!(out, "// {}", report.line())?;
                if let Some(occupancy) = occupancy(&found, report.registers) {
                    writeln!(out, "// {occupancy}")?;
                }
            }
            if let (Some(fit), Some(budget)) = (&found.fit, &found.budget) {
                // Where the assembler has counted, its number is held against the budget.
                let (registers, label) = match judged.as_ref().map(|report| report.registers) {
                    Some(registers) if registers > 0 => (registers, "ptxas"),
                    _ => (fit.need.registers, "estimate"),
                };
                let told = budgeted(registers, budget);
                writeln!(out, "// {registers} registers ({label}), {told}")?;
            }
            out.write_all(found.text.as_bytes())?;
            if let Some(sass) = judged.and_then(|report| report.sass) {
                writeln!(out, "\n/*\n{sass}\n*/")?;
            }
        }
    }
    Ok(0)
}

/// The file with the values of its functions in so many registers.
fn within(db: &Database, file: File, args: &CodeArgs, words: u16) -> Result<u8, CliError> {
    if file.language(db) != program::Language::Ptx {
        return Err(CliError::Usage(format!(
            "{}: allocators read PTX (.ptx); `lockstep code` prints that of a kernel",
            args.file.display()
        )));
    }
    let mut limited = false;
    for limit in input::limits(db, file) {
        eprintln!("lockstep: {}:{limit}", args.file.display());
        limited = true;
    }
    if args.spill_less {
        return super::parked::spill_less(db, file, args, words);
    }
    let all = fitted(db, file, args.item.as_deref(), words, args.allocator.into());
    if let (Some(name), true) = (&args.item, all.is_empty()) {
        return Err(input::no_such_item(db, file, &args.file, name));
    }
    let text = program::text(file.source(db));
    let mut made = Vec::new();
    let mut refused = u8::from(limited);
    for function in &all {
        match &function.made {
            Ok(fit) => made.push((function.place, fit.text.clone())),
            Err(refusal) => {
                eprintln!("lockstep: `{}` stays as it is: {refusal}", function.name);
                refused = 1;
            }
        }
    }
    let out = edited(text, &made).ok_or_else(|| CliError::Usage("the edits overlap".into()))?;
    let row = json!({ "version": 1, "budget": words, "text": out });
    give(args, &out, &row)?;
    Ok(refused)
}

/// Writes the file, or prints its text or the report on it.
pub(super) fn give(args: &CodeArgs, text: &str, told: &Value) -> Result<(), CliError> {
    if args.write {
        std::fs::write(&args.file, text)?;
    }
    let mut to = std::io::stdout().lock();
    match args.format {
        DataFormat::Json => {
            serde_json::to_writer_pretty(&mut to, told)?;
            writeln!(to)?;
        }
        DataFormat::Text if args.write => {}
        DataFormat::Text => to.write_all(text.as_bytes())?,
    }
    Ok(())
}

fn judge(found: &TargetCode) -> Result<ptxas::Report, CliError> {
    let tool = input::assembler()?;
    ptxas::assemble(&tool, &found.text, &found.target.to_string())
        .map_err(|e| CliError::Usage(e.to_string()))
}
