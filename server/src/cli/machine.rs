//! `lockstep machine`: the tables of machines, with the source of each value.

use super::{CliError, DataFormat, MachineArgs, MachineCommand};
use crate::host;
use codegen::machine::schema::Field;
use codegen::machine::{self, Quantity, Table};
use serde_json::{Map, Value, json};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use syntax::LineIndex;

pub(super) fn machine(args: &MachineArgs) -> Result<u8, CliError> {
    match &args.command {
        MachineCommand::List { format } => list(*format),
        MachineCommand::Show { name, format } => show(name, *format),
    }
}

fn list(format: DataFormat) -> Result<u8, CliError> {
    let mut out = std::io::stdout().lock();
    let mut tables: Vec<&Arc<Table>> = machine::tables().iter().collect();
    tables.sort_by_key(|table| order(&table.name));
    if format == DataFormat::Json {
        let rows: Vec<Value> = tables
            .iter()
            .map(|table| json!({ "name": table.name.as_str(), "title": table.title, "base": table.base.as_deref() }))
            .collect();
        let all = json!({ "version": 1, "machines": rows });
        serde_json::to_writer_pretty(&mut out, &all)?;
        writeln!(out)?;
        return Ok(0);
    }
    for table in tables {
        let base = table
            .base
            .as_ref()
            .map_or(String::new(), |base| format!("  (from {base})"));
        writeln!(out, "{:<15} {}{base}", table.name, table.title)?;
    }
    Ok(0)
}

/// Returns the key by which names are ordered: the family, then the number.
fn order(name: &str) -> (String, u32) {
    let digits = name.trim_start_matches(|c: char| !c.is_ascii_digit());
    let family = name.trim_end_matches(digits).to_owned();
    (family, digits.parse().unwrap_or(u32::MAX))
}

/// A table by its name, or a file.
pub(super) fn table(name: &str) -> Result<(Arc<Table>, bool), CliError> {
    if let Some(table) = machine::named(name) {
        return Ok((table, true));
    }
    let path = Path::new(name);
    if !path.is_file() {
        return Err(CliError::Usage(format!(
            "`{name}` is no machine and no file; `lockstep machine list` names the machines"
        )));
    }
    let text = host::read(path)?.text;
    let parsed = machine::load(&text, &machine::named);
    let lines = LineIndex::new(&text);
    for problem in &parsed.problems {
        let (line, column) = crate::documents::line_column(&text, &lines, problem.span.start);
        eprintln!("{name}:{line}:{column}: {}", problem.message);
    }
    match parsed.table {
        Some(table) => Ok((Arc::new(table), parsed.problems.is_empty())),
        None => Err(CliError::Usage(format!("{name}: not a whole table"))),
    }
}

fn show(name: &str, format: DataFormat) -> Result<u8, CliError> {
    let (table, whole) = table(name)?;
    let mut out = std::io::stdout().lock();
    match format {
        DataFormat::Json => {
            serde_json::to_writer_pretty(&mut out, &as_json(&table))?;
            writeln!(out)?;
        }
        DataFormat::Text => text(&mut out, &table)?,
    }
    Ok(if whole { 0 } else { 2 })
}

fn as_json(table: &Table) -> Value {
    let mut sections = Map::new();
    let sections_of = table.schema().sections.iter();
    for (section, _) in sections_of.filter(|(section, _)| table.has(section)) {
        let mut rows = Map::new();
        for (field, quantity) in table.quantities().filter(|(f, _)| f.section == *section) {
            rows.insert(
                field.name.to_owned(),
                json!({
                    "value": value(field, quantity),
                    "unit": field.unit,
                    "is": quantity.label.name(),
                    "source": quantity.source.as_str(),
                    "table": quantity.of.as_str(),
                    "says": field.says,
                }),
            );
        }
        sections.insert((*section).to_owned(), Value::Object(rows));
    }
    let sources: Map<String, Value> = table
        .sources
        .iter()
        .map(|(name, says)| (name.to_string(), json!(says)))
        .collect();
    json!({
        "version": 1,
        "kind": table.schema().kind,
        "name": table.name.as_str(),
        "title": table.title,
        "base": table.base.as_deref(),
        "sources": sources,
        "values": sections,
    })
}

/// A number, or the word that it stands for.
fn value(field: &Field, quantity: &Quantity) -> Value {
    match field.words.get(quantity.value as usize) {
        Some(word) => json!(word),
        None => json!(quantity.value),
    }
}

fn text(out: &mut impl Write, table: &Table) -> std::io::Result<()> {
    writeln!(out, "{} · {}", table.name, table.title)?;
    let sections = table.schema().sections.iter();
    for (section, says) in sections.filter(|(section, _)| table.has(section)) {
        writeln!(out, "\n{section}: {says}")?;
        for (field, quantity) in table.quantities().filter(|(f, _)| f.section == *section) {
            let of = match quantity.of == table.name {
                true => String::new(),
                false => format!(" of {}", quantity.of),
            };
            writeln!(
                out,
                "  {:<20} {:>8} {:<16} {:<8}  {:<14}  {}",
                field.name,
                match field.words.get(quantity.value as usize) {
                    Some(word) => (*word).to_owned(),
                    None => quantity.value.to_string(),
                },
                field.unit,
                quantity.label.name(),
                format!("{}{of}", quantity.source),
                field.says
            )?;
        }
    }
    writeln!(out, "\nsources")?;
    for (name, says) in &table.sources {
        writeln!(out, "  {name:<5} {says}")?;
    }
    Ok(())
}
