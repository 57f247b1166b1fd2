//! Counts of IA-64 assembly with probes, in words and as JSON.

use super::zeros::percent;
use crate::profile::probes::{Counted, Known, ProbeKind, ProbeMap, ValueRow};
use codegen::target::ia64::instrument::Refusal;
use serde_json::{Value, json};
use smol_str::SmolStr;
use std::fmt::Write;

/// A function's counts as a list.
pub fn report(counted: &Counted) -> String {
    let mut out = String::new();
    let name = &counted.name;
    match &counted.counts {
        Err(error) => {
            let _ = writeln!(
                out,
                "{name}: the counters are not those of whole runs: {error}"
            );
        }
        Ok(Known::Entries(count)) => {
            let _ = writeln!(out, "{name}: entered {}", times(*count));
        }
        Ok(Known::Branches {
            entries, branches, ..
        }) => {
            let _ = writeln!(out, "{name}: entered {}", times(*entries));
            for row in branches {
                let share = share(row.taken, row.executed);
                let _ = writeln!(
                    out,
                    "  line {}: {} executed, {} taken{share}",
                    row.line, row.executed, row.taken
                );
            }
        }
        Ok(Known::Paths(paths)) => {
            let total: u64 = paths.iter().map(|path| path.0).sum();
            let _ = writeln!(
                out,
                "{name}: {} paths taken, {total} times together",
                paths.len()
            );
            for (count, lines) in paths {
                let lines: Vec<String> = lines.iter().map(u32::to_string).collect();
                let _ = writeln!(
                    out,
                    "  {count}{}: lines {}",
                    share(*count, total),
                    lines.join(" ")
                );
            }
        }
        Ok(Known::Values(rows)) => {
            let _ = writeln!(
                out,
                "{name}: the most frequent values of {} loads",
                rows.len()
            );
            for row in rows {
                let _ = writeln!(out, "  {}", values(row));
            }
        }
    }
    out
}

fn values(row: &ValueRow) -> String {
    let mut out = format!(
        "line {}, r{}: {} executed",
        row.line, row.register, row.executions
    );
    for (at, (value, count)) in row.values.iter().enumerate() {
        let mark = if at == 0 { ';' } else { ',' };
        let _ = write!(
            out,
            "{mark} {} {}{}",
            *value as i64,
            times(*count),
            share(*count, row.executions)
        );
    }
    out
}

fn times(count: u64) -> String {
    match count {
        1 => "once".to_owned(),
        count => format!("{count} times"),
    }
}

fn share(part: u64, of: u64) -> String {
    match of {
        0 => String::new(),
        of => format!(" ({})", percent(part as f64 / of as f64)),
    }
}

/// All functions as JSON.
pub fn as_json(map: &ProbeMap, all: &[Counted], refused: &[(SmolStr, Refusal)]) -> Value {
    let kind = match map.probe {
        ProbeKind::Entry => "entry",
        ProbeKind::Branch => "branch",
        ProbeKind::Path => "path",
        ProbeKind::Value => "value",
    };
    let functions: Vec<Value> = all.iter().map(function).collect();
    let refused: Vec<Value> = refused
        .iter()
        .map(|(name, why)| json!({ "item": name.as_str(), "reason": why.to_string() }))
        .collect();
    json!({ "version": 1, "file": map.file, "probe": kind, "source": map.source, "functions": functions, "refused": refused })
}

fn function(counted: &Counted) -> Value {
    let mut out = json!({ "item": counted.name, "line": counted.line });
    let more = match &counted.counts {
        Err(error) => json!({ "unbalanced": error.to_string() }),
        Ok(Known::Entries(count)) => json!({ "entries": count }),
        Ok(Known::Branches {
            entries,
            blocks,
            branches,
            edges,
        }) => json!({
            "entries": entries,
            "blocks": blocks.iter().map(|(line, count)| json!({ "line": line, "count": count })).collect::<Vec<Value>>(),
            "branches": branches.iter().map(|row| json!({
                "line": row.line, "executed": row.executed, "taken": row.taken,
            })).collect::<Vec<Value>>(),
            "edges": edges.iter().map(|(from, to, taken, count)| json!({
                "from": from, "to": to, "taken": taken, "count": count,
            })).collect::<Vec<Value>>(),
        }),
        Ok(Known::Paths(paths)) => {
            let total: u64 = paths.iter().map(|path| path.0).sum();
            json!({ "paths": paths.iter().map(|(count, lines)| json!({
                "count": count, "share": *count as f64 / total.max(1) as f64, "lines": lines,
            })).collect::<Vec<Value>>() })
        }
        Ok(Known::Values(rows)) => json!({ "values": rows.iter().map(|row| json!({
            "line": row.line,
            "register": format!("r{}", row.register),
            "executions": row.executions,
            "top": row.values.iter().map(|(value, count)| json!({ "value": value, "count": count })).collect::<Vec<Value>>(),
        })).collect::<Vec<Value>>() }),
    };
    if let (Some(out), Value::Object(more)) = (out.as_object_mut(), more) {
        out.extend(more);
    }
    out
}
