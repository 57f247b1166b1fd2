//! `lockstep loops`: the innermost loops of a file of C on a processor with explicit groups.

use super::{CliError, DataFormat, LoopsArgs, input};
use crate::db::{self, Database, File};
use crate::documents::line_column;
use crate::program::{self, Language};
use crate::views::loops::{self, Row, Said};
use serde_json::{Value, json};
use std::io::Write;
use syntax::Span;

/// Places that are printed of one reason of one loop.
const PLACES: usize = 3;

pub(super) fn loops(args: &LoopsArgs) -> Result<u8, CliError> {
    let mut db = Database::default();
    let file = input::open(&mut db, &args.file, &args.analysis)?;
    if file.language(&db) != Language::C {
        return Err(CliError::Usage(format!(
            "{}: loops are pipelined for C (.c)",
            args.file.display()
        )));
    }
    if let Some(name) = &args.item
        && !program::items_to_show(&db, file)
            .iter()
            .any(|(_, item)| item.name(&db) == name.as_str())
    {
        return Err(input::no_such_item(&db, file, &args.file, name));
    }
    if let Some(table) = crate::derive::sets::processor(&db, file) {
        return super::set_loops::loops(args, &db, file, &table.name);
    }
    let path = args.file.display();
    let rows = loops::rows(&db, file, args.item.as_deref());
    let rows = rows.iter();
    let mut out = std::io::stdout().lock();
    match args.format {
        DataFormat::Json => {
            let rows: Vec<Value> = rows.map(|row| json_of(&db, file, row)).collect();
            let processor = &db::processor(&db, file.settings(&db)).name;
            let all = json!({ "version": 1, "processor": processor.as_str(), "loops": rows });
            writeln!(out, "{}", serde_json::to_string_pretty(&all)?)?;
        }
        DataFormat::Text => {
            let processor = &db::processor(&db, file.settings(&db)).name;
            for row in rows {
                let (line, column) = place(&db, file, row.span);
                let title = loops::title(&row.report, processor);
                writeln!(out, "{path}:{line}:{column}: {}: {title}", row.item)?;
                // By reason: where it holds, each pair of texts and lines once.
                let mut told: Vec<(&str, Vec<String>)> = Vec::new();
                let way = row.report.disambiguation();
                let overcome: Vec<Said> = row
                    .overcome
                    .iter()
                    .map(|said| Said {
                        text: format!("overcome by {way}: {}", said.text),
                        places: said.places.clone(),
                    })
                    .collect();
                for said in row.reasons.iter().chain(&overcome) {
                    let at = at_places(&db, file, said);
                    match told.iter_mut().find(|(text, _)| *text == said.text) {
                        Some((_, places)) if places.contains(&at) => {}
                        Some((_, places)) => places.push(at),
                        None => told.push((&said.text, vec![at])),
                    }
                }
                for (text, places) in &told {
                    for at in places.iter().take(PLACES) {
                        writeln!(out, "    {text}{at}")?;
                    }
                    if places.len() > PLACES {
                        let more = places.len() - PLACES;
                        writeln!(
                            out,
                            "    the same of {more} more pairs (`--format json` lists them)"
                        )?;
                    }
                }
            }
        }
    }
    let refused = loops::refusals(&db, file, args.item.as_deref());
    for (span, reason) in &refused {
        let (line, column) = place(&db, file, *span);
        eprintln!("{path}:{line}:{column}: no code: {reason}");
    }
    Ok(u8::from(!refused.is_empty()))
}

fn place(db: &Database, file: File, span: Span) -> (u32, u32) {
    let text = program::text(file.source(db));
    line_column(text, db::line_index(db, file), span.start)
}

/// Returns the expression that a reason refers to, as it is written, and its place.
fn at_places(db: &Database, file: File, said: &Said) -> String {
    let text = program::text(file.source(db));
    let mut places: Vec<String> = Vec::new();
    for &span in &said.places {
        let (line, _) = place(db, file, span);
        let written = text
            .get(span.start as usize..span.end as usize)
            .unwrap_or("");
        let short = !written.is_empty() && written.len() <= 40 && !written.contains('\n');
        let place = match short {
            true => format!("`{written}` in line {line}"),
            false => format!("line {line}"),
        };
        if !places.contains(&place) {
            places.push(place);
        }
    }
    match places.is_empty() {
        true => String::new(),
        false => format!(" ({})", places.join(" and ")),
    }
}

fn json_of(db: &Database, file: File, row: &Row) -> Value {
    let report = &row.report;
    let (line, column) = place(db, file, row.span);
    let units: Vec<Value> = report
        .res_mii
        .iter()
        .map(|it| {
            json!({
                "unit": it.unit,
                "operations": it.wanted,
                "units": it.units,
                "cycles": it.cycles,
            })
        })
        .collect();
    let critical: Vec<Value> = report
        .critical
        .iter()
        .map(|link| {
            json!({
                "mnemonic": link.mnemonic.to_string(),
                "latency": link.latency,
                "distance": link.distance,
            })
        })
        .collect();
    let methods: Vec<Value> = report
        .methods
        .iter()
        .map(|(method, ii)| json!({ "method": method.to_string(), "ii": ii }))
        .collect();
    let ways: Vec<Value> = report
        .ways
        .iter()
        .map(|(way, ii)| json!({ "way": way.word(), "ii": ii }))
        .collect();
    let told = |all: &[Said]| -> Vec<Value> {
        let each = all.iter().map(|said| {
            let places = said.places.iter();
            let lines: Vec<u32> = places.map(|&span| place(db, file, span).0).collect();
            json!({ "text": said.text, "lines": lines })
        });
        each.collect()
    };
    let (reasons, overcome) = (told(&row.reasons), told(&row.overcome));
    let epilogue = report.epilogue.map(|it| {
        json!({
            "operations": it.operations,
            "bundles": it.bundles,
            "cycles": it.cycles,
            "kernel_cycles": it.rounds,
        })
    });
    json!({
        "item": row.item.as_str(),
        "line": line,
        "column": column,
        "pipelined": report.pipelined,
        "res_mii": report.res_mii.first().map_or(0, |first| first.cycles),
        "rec_mii": report.rec_mii,
        "ii": report.ii,
        "stages": report.stages,
        "max_live": {
            "general": report.max_live.general,
            "float": report.max_live.float,
            "predicate": report.max_live.predicate,
        },
        "method": report.method.map(|method| method.to_string()),
        "reasons": reasons,
        "overcome": overcome,
        "unpipelined": report.unpipelined,
        "unroll": report.unroll,
        "unrolled": report.unrolled,
        "speculative_loads": report.loads.speculative,
        "checks": report.loads.checks,
        "disambiguation": report.disambiguation().word(),
        "alias_tests": report.tests,
        "advanced_loads": report.loads.advanced,
        "ways": ways,
        "sums": report.sums,
        "load_pairs": report.loads.pairs,
        "prefetched": report.prefetched.map(|it| json!({ "streams": it.streams, "ahead": it.ahead })),
        "forwarded_loads": report.loads.forwarded,
        "epilogue": epilogue,
        "units": units,
        "critical": critical,
        "methods": methods,
    })
}
