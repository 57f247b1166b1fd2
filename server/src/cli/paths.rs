//! `lockstep paths`: the ways that lanes took through the functions of a file.

use super::{CliError, DataFormat, PathsArgs, input, probes};
use crate::db::{self, Database};
use crate::derive::partly_dead::Remaining;
use crate::derive::paths::{NoPaths, paths as found};
use crate::documents::line_column;
use crate::host;
use crate::profile::LARGEST_PROFILE;
use crate::profile::probes::{Counted, Known, ProbeKind, counted};
use crate::program;
use crate::views::paths::{reason, report};
use crate::views::probes::report as counts;
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;

pub(super) fn paths(args: &PathsArgs) -> Result<u8, CliError> {
    if let Some((dump, map)) = args.counters.as_ref().zip(args.map.as_ref()) {
        return of_counters(args, dump, map);
    }
    let mut db = Database::default();
    let file = input::open(&mut db, &args.file, &args.analysis)?;
    if file.language(&db).is_assembly() {
        return Err(CliError::Usage(format!(
            "{}: the paths of assembly are counted by a copy of it: `lockstep instrument --probe path`, and --counters and --map of its run",
            args.file.display()
        )));
    }
    let name = args.item.as_deref();
    let (items, without) = found(&db, file, name, args.iterations);
    if let Some(name) = name
        && items.is_empty()
        && without.is_empty()
    {
        return Err(input::no_such_item(&db, file, &args.file, name));
    }
    let path = args.file.display();
    let unusable = |reason: &&NoPaths| matches!(reason, NoPaths::NoProfile | NoPaths::Unusable(..));
    if let Some(why) = without.iter().find(unusable) {
        return Err(CliError::Usage(format!("{path}: {}", reason(why))));
    }
    let mut out = std::io::stdout().lock();
    match args.format {
        DataFormat::Json => {
            let paths: Vec<Value> = items
                .iter()
                .flat_map(|item| {
                    item.rows.iter().map(|row| {
                        json!({
                            "item": item.name.as_str(),
                            "count": row.count.is_exact().then_some(row.count.least),
                            "at_least": row.count.least,
                            "at_most": row.count.most,
                            "share": row.count.is_exact().then_some(row.share[0]),
                            "again": row.again,
                            "lines": row.lines,
                        })
                    })
                })
                .collect();
            let functions: Vec<Value> = items
                .iter()
                .map(|item| {
                    json!({
                        "item": item.name.as_str(),
                        "entries": item.entries,
                        "possible": item.possible,
                        "iterations": args.iterations,
                        "edges_alone": item.edges_alone,
                        "cut": item.cut,
                        "lost": item.lost,
                        "exact": item.exact,
                        "partly_dead": item.dead.iter().map(|row| json!({
                            "variable": row.variable,
                            "line": row.line,
                            "executions": row.counts.executions,
                            "unread_at_least": row.counts.least,
                            "unread_at_most": row.counts.most,
                            "moved": match row.moved {
                                Some(Remaining::Lanes(executed)) => Some(executed),
                                _ => None,
                            },
                            "moved_by_warps": match row.moved {
                                Some(Remaining::Warps(share)) => Some(share),
                                _ => None,
                            },
                        })).collect::<Vec<Value>>(),
                    })
                })
                .collect();
            let refused: Vec<String> = without.iter().map(reason).collect();
            let all = json!({
                "version": 1, "paths": paths, "functions": functions, "refused": refused,
            });
            writeln!(out, "{}", serde_json::to_string_pretty(&all)?)?;
        }
        DataFormat::Text => {
            let text = program::text(file.source(&db));
            for item in &items {
                let (line, column) = line_column(text, db::line_index(&db, file), item.head.start);
                write!(out, "{path}:{line}:{column}: {}", report(item, args.all))?;
            }
            for why in &without {
                writeln!(out, "{path}: {}", reason(why))?;
            }
            if items.is_empty() && without.is_empty() {
                writeln!(out, "{path}: the profile has no paths of its functions")?;
            }
        }
    }
    Ok(0)
}

/// The paths that a copy of assembly with probes counted.
fn of_counters(args: &PathsArgs, dump: &Path, map: &Path) -> Result<u8, CliError> {
    let usage = |of: &Path, error: &dyn std::fmt::Display| {
        CliError::Usage(format!("{}: {error}", of.display()))
    };
    let read = probes::map(&host::read(map)?.text);
    let read = read.ok_or_else(|| usage(map, &"it is no map of a copy of assembly"))?;
    if read.probe != ProbeKind::Path {
        return Err(usage(
            map,
            &"the counters are not of paths: `lockstep instrument --probe path` counts these",
        ));
    }
    let text = host::read(&args.file)?.text;
    let made = read
        .again(&text)
        .map_err(|error| usage(&args.file, &error))?;
    let bytes = host::read_bytes(dump, LARGEST_PROFILE)?;
    let numbers = read.numbers(&bytes).map_err(|error| usage(dump, &error))?;
    let mut all = counted(&made, &numbers);
    let mut refused = made.refused;
    if let Some(item) = &args.item {
        all.retain(|function| function.name == *item);
        refused.retain(|(name, _)| name == item);
        if all.is_empty() && refused.is_empty() {
            return Err(usage(
                &args.file,
                &format!("the copy has no function `{item}`"),
            ));
        }
    }
    let mut out = std::io::stdout().lock();
    match args.format {
        DataFormat::Json => {
            let paths: Vec<Value> = all.iter().flat_map(assembly_paths).collect();
            let functions: Vec<Value> = all
                .iter()
                .map(|function| json!({ "item": function.name, "exact": true }))
                .collect();
            let refused: Vec<String> = refused
                .iter()
                .map(|(name, why)| format!("`{name}` has no probes: {why}"))
                .collect();
            let all = json!({
                "version": 1, "paths": paths, "functions": functions, "refused": refused,
            });
            writeln!(out, "{}", serde_json::to_string_pretty(&all)?)?;
        }
        DataFormat::Text => {
            let path = args.file.display();
            for function in &all {
                write!(out, "{path}:{}: {}", function.line, counts(function))?;
            }
            for (name, why) in &refused {
                writeln!(out, "{path}: `{name}` has no probes: {why}")?;
            }
        }
    }
    Ok(0)
}

fn assembly_paths(function: &Counted) -> Vec<Value> {
    let Ok(Known::Paths(paths)) = &function.counts else {
        return Vec::new();
    };
    let total: u64 = paths.iter().map(|(count, _)| count).sum();
    let path = |(count, lines): &(u64, Vec<u32>)| {
        json!({
            "item": function.name,
            "count": count,
            "at_least": count,
            "at_most": count,
            "share": *count as f64 / total.max(1) as f64,
            "again": null,
            "lines": lines,
        })
    };
    paths.iter().map(path).collect()
}
