//! `lockstep loops` for a processor that issues execution sets: the innermost loops of a file of C, and the values in memory.

use super::{CliError, DataFormat, LoopsArgs};
use crate::db::{self, Database, File};
use crate::documents::line_column;
use crate::program;
use crate::views::set_loops::{self, Row, SpillInLoop, advice, recurrence_links, resource};
use crate::views::spilled::obstacles::{Kept, Why};
use crate::views::spilled::{self, Spilled};
use crate::views::text::counted;
use codegen::isa::sc140::Reg;
use serde_json::{Value, json};
use std::io::Write;
use syntax::Span;

pub(super) fn loops(
    args: &LoopsArgs,
    db: &Database,
    file: File,
    processor: &str,
) -> Result<u8, CliError> {
    let path = args.file.display();
    let name = args.item.as_deref();
    if name.is_none() {
        program::for_each_item(db, file, |db, item| set_loops::ahead(db, file, item));
    }
    let rows = set_loops::rows(db, file, name);
    let mut out = std::io::stdout().lock();
    match args.format {
        DataFormat::Json => {
            let loops: Vec<Value> = rows.iter().map(|row| json_of(db, file, row)).collect();
            let all = json!({
                "version": 1,
                "processor": processor,
                "loops": loops,
                "spills": spills(db, file, &spilled::explained(db, file, name)),
            });
            writeln!(out, "{}", serde_json::to_string_pretty(&all)?)?;
        }
        DataFormat::Text => {
            for row in &rows {
                let (line, column) = place(db, file, row.span);
                let title = set_loops::title(row, processor);
                writeln!(out, "{path}:{line}:{column}: {}: {title}", row.item)?;
                for text in told(db, file, row) {
                    writeln!(out, "    {text}")?;
                }
            }
            let values = spilled::rows(db, file, name);
            for value in values.iter().filter(|value| value.loops.is_empty()) {
                let at = value.definition.or(value.loads.first().copied());
                let (line, column) = at.map_or((1, 1), |span| place(db, file, span));
                let (name, full) = (value.name(db, file), spilled::full(value.registers));
                let function = &value.function;
                writeln!(
                    out,
                    "{path}:{line}:{column}: {function}: {name} waits in memory outside of loops: {full}"
                )?;
            }
        }
    }
    let refused = set_loops::refusals(db, file, name);
    for (span, reason) in &refused {
        let (line, column) = place(db, file, *span);
        eprintln!("{path}:{line}:{column}: no code: {reason}");
    }
    Ok(u8::from(!refused.is_empty()))
}

fn place(db: &Database, file: File, span: Span) -> (u32, u32) {
    let text = program::text(file.source(db));
    line_column(text, db::line_index(db, file), span.start)
}

/// The lines behind a loop's own: its recurrence where that limits, its values in memory, what holds it back and what mends it.
fn told(db: &Database, file: File, row: &Row) -> Vec<String> {
    let line = |span: Span| place(db, file, span).0;
    let mut out = Vec::new();
    if let Some(bounds) = &row.report.bounds
        && bounds.rec_mii > bounds.res_mii()
    {
        out.push(format!(
            "recurrence of {} cycles: {}",
            bounds.rec_mii,
            recurrence_links(row, bounds, &line)
        ));
    }
    for spill in &row.spills {
        out.push(format!(
            "{} in memory: {} an iteration, {} more",
            spill.name,
            accesses(spill),
            counted(spill.cycles as usize, "cycle", "cycles")
                .unwrap_or_else(|| "no cycle".to_owned())
        ));
    }
    for (said, remedy) in row.reasons.iter().zip(&row.remedies) {
        let mut lines: Vec<u32> = said.places.iter().map(|&span| line(span)).collect();
        lines.dedup();
        let words: Vec<String> = lines.iter().map(|line| format!("line {line}")).collect();
        let at = match words.is_empty() {
            true => String::new(),
            false => format!(" ({})", words.join(", ")),
        };
        let advice = remedy.map(|remedy| format!("; {}", advice(remedy)));
        out.push(format!("{}{at}{}", said.text, advice.unwrap_or_default()));
    }
    out.extend(set_loops::promised(db, file, row));
    out
}

fn accesses(spill: &SpillInLoop) -> String {
    let stores = counted(spill.stores as usize, "store", "stores");
    let loads = counted(spill.loads as usize, "load", "loads");
    let parts: Vec<String> = stores.into_iter().chain(loads).collect();
    parts.join(" and ")
}

fn json_of(db: &Database, file: File, row: &Row) -> Value {
    let report = &row.report;
    let (line, column) = place(db, file, row.span);
    let bounds = report.bounds.as_ref();
    let units = bounds.iter().flat_map(|bounds| &bounds.units).map(|bound| {
        json!({
            "unit": resource(bound.resource),
            "operations": bound.wanted,
            "units": bound.limit,
            "cycles": bound.sets(),
        })
    });
    let critical = bounds.iter().flat_map(|bounds| &bounds.critical);
    let critical = critical.zip(&row.critical).map(|(link, span)| {
        json!({
            "mnemonic": link.mnemonic.to_string(),
            "latency": link.latency,
            "distance": link.distance,
            "variables": link.variables.iter().map(|name| name.as_str()).collect::<Vec<&str>>(),
            "line": span.map(|span| place(db, file, span).0),
        })
    });
    let reasons = row.reasons.iter().zip(&row.remedies).map(|(said, remedy)| {
        let lines: Vec<u32> = said
            .places
            .iter()
            .map(|&span| place(db, file, span).0)
            .collect();
        json!({ "text": said.text, "lines": lines, "remedy": remedy.map(advice) })
    });
    let spills = row.spills.iter().map(|spill| {
        json!({
            "name": spill.name.trim_matches('`'),
            "stores": spill.stores,
            "loads": spill.loads,
            "cycles": spill.cycles,
        })
    });
    json!({
        "item": row.item.as_str(),
        "line": line,
        "column": column,
        "counted": report.counted,
        "pipelined": report.is_pipelined(),
        "res_mii": bounds.map(|bounds| bounds.res_mii()),
        "rec_mii": bounds.map(|bounds| bounds.rec_mii),
        "ii": report.interval,
        "iterations": report.iterations,
        "stages": report.stages,
        "copies": report.copies,
        "rest": report.has_rest(),
        "beyond": report.beyond,
        "unpipelined": report.unpipelined,
        "units": units.collect::<Vec<Value>>(),
        "critical": critical.collect::<Vec<Value>>(),
        "reasons": reasons.collect::<Vec<Value>>(),
        "promises": set_loops::promised(db, file, row),
        "spills": spills.collect::<Vec<Value>>(),
    })
}

/// The values in memory, as data.
fn spills(db: &Database, file: File, values: &[Spilled]) -> Vec<Value> {
    let lines = |spans: &[Span]| -> Vec<u32> {
        spans.iter().map(|&span| place(db, file, span).0).collect()
    };
    let each = values.iter().map(|value| {
        let loops = value.loops.iter().map(|(head, cycles, stores, loads)| {
            json!({
                "line": head.map(|head| place(db, file, head).0),
                "cycles": cycles,
                "stores": stores,
                "loads": loads,
            })
        });
        json!({
            "item": value.function.as_str(),
            "name": value.variable.as_deref(),
            "registers": spilled::registers(value.registers),
            "line": value.definition.map(|span| place(db, file, span).0),
            "stores": lines(&value.stores),
            "loads": lines(&value.loads),
            "loops": loops.collect::<Vec<Value>>(),
            "obstacles": value.obstacles.iter().map(|kept| obstacle(db, file, kept)).collect::<Vec<Value>>(),
        })
    });
    each.collect()
}

/// The obstacles between some registers and a value, as data.
fn obstacle(db: &Database, file: File, kept: &Kept) -> Value {
    let line = |span: Option<Span>| span.map(|span| place(db, file, span).0);
    let registers: Vec<String> = kept.registers.iter().map(Reg::to_string).collect();
    let mut out = json!({ "registers": registers, "kind": kept.kind(), "free": kept.is_free() });
    match &kept.why {
        Why::Taken { by, .. } => {
            let values = by.iter().map(|held| {
                json!({
                    "name": held.name.as_deref(),
                    "line": line(held.definition),
                    "in_memory": held.passes,
                })
            });
            out["values"] = values.collect();
        }
        Why::Call(at) => out["line"] = line(*at).into(),
        Why::Saving(cycles) => out["cycles"] = (*cycles).into(),
        Why::Longer { at, cycles, .. } => {
            out["line"] = line(*at).into();
            out["cycles"] = (*cycles).into();
        }
        Why::LeftOut | Why::Kept | Why::Open => {}
    }
    out
}
