//! `lockstep analyze`: the facts of a file, for machines and for people.

use super::{AnalyzeArgs, CliError, DataFormat, input};
use crate::db::Database;
use crate::views::report::{Report, report};
use std::io::Write;

pub(super) fn analyze(args: &AnalyzeArgs) -> Result<u8, CliError> {
    let mut db = Database::default();
    let file = input::open(&mut db, &args.file, &args.analysis)?;
    let mut report = report(&db, file, args.item.as_deref());
    report.file = input::shown(file.path(&db)).display().to_string();
    if let Some(name) = &args.item
        && report.items.is_empty()
    {
        return Err(input::no_such_item(&db, file, &args.file, name));
    }
    let mut out = std::io::stdout().lock();
    match args.format {
        DataFormat::Json => {
            serde_json::to_writer_pretty(&mut out, &report)?;
            writeln!(out)?;
        }
        DataFormat::Text => text(&mut out, &report)?,
    }
    Ok(0)
}

fn text(out: &mut impl Write, report: &Report) -> std::io::Result<()> {
    writeln!(out, "{}: method {}", report.file, report.method)?;
    for item in &report.items {
        writeln!(out, "{} {} (line {})", item.kind, item.name, item.line)?;
        for assumption in &item.assumptions {
            writeln!(out, "  assuming {assumption}")?;
        }
        for problem in &item.problems {
            writeln!(
                out,
                "  {}:{} {}: {}",
                problem.line, problem.column, problem.kind, problem.message
            )?;
        }
        for value in &item.values {
            let scope = value
                .scope
                .map_or(String::new(), |scope| format!("  uniform over a {scope}"));
            let known = match value.form.is_empty() {
                true => value.state.clone(),
                false => format!("{} {}", value.state, value.form)
                    .trim_start()
                    .to_owned(),
            };
            writeln!(
                out,
                "  {:>5}:{:<3} {:<16} {:<9} {known}{scope}",
                value.line, value.column, value.name, value.class
            )?;
            for part in &value.components {
                writeln!(
                    out,
                    "            .{:<16} {:<9} {}",
                    part.name, part.class, part.form
                )?;
            }
            for cause in &value.cause {
                let line = cause
                    .line
                    .map_or(String::new(), |line| format!(" (line {line})"));
                writeln!(out, "              because {}{line}", cause.text)?;
            }
        }
        for branch in &item.branches {
            writeln!(
                out,
                "  {:>5}:{:<3} branch {}",
                branch.line, branch.column, branch.class
            )?;
        }
        for each in &item.loops {
            let count = each
                .count
                .map_or(String::new(), |count| format!(", {count} iterations"));
            writeln!(
                out,
                "  {:>5}:{:<3} loop, trip count {}{count}",
                each.line, each.column, each.trip_class
            )?;
        }
        for access in &item.accesses {
            let stride = access
                .stride_bytes
                .map_or(access.stride.clone(), |stride| stride.to_string());
            let stride = if stride.is_empty() {
                String::new()
            } else {
                format!(", stride {stride} B")
            };
            let sectors = access.sectors.map_or(String::new(), |sectors| {
                format!(", {sectors} sectors, ideal {}", access.ideal_sectors)
            });
            let ways = access
                .bank_ways
                .map_or(String::new(), |ways| format!(", {ways}-way banks"));
            writeln!(
                out,
                "  {:>5}:{:<3} {} {} {}: {}{stride}{sectors}{ways}",
                access.line, access.column, access.kind, access.space, access.name, access.class
            )?;
        }
        writeln!(out)?;
    }
    for diagnostic in &report.diagnostics {
        writeln!(
            out,
            "{}:{}: {}: {} [{}]",
            diagnostic.line,
            diagnostic.column,
            diagnostic.tier,
            diagnostic.message,
            diagnostic.code
        )?;
    }
    Ok(())
}
