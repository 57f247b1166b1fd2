//! `lockstep paths`: the ways that lanes took through the functions of a file.

use super::{CliError, DataFormat, PathsArgs, input};
use crate::db::{self, Database};
use crate::derive::partly_dead::Remaining;
use crate::derive::paths::{NoPaths, paths as found};
use crate::documents::line_column;
use crate::program;
use crate::views::paths::{reason, report};
use serde_json::{Value, json};
use std::io::Write;

pub(super) fn paths(args: &PathsArgs) -> Result<u8, CliError> {
    let mut db = Database::default();
    let file = input::open(&mut db, &args.file, &args.analysis)?;
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
