//! `lockstep emit --target sc140`: assembly of functions for a processor that issues execution sets.

use super::emit::{broken, chosen, place};
use super::{AnalysisArgs, CliError, DataFormat, EmitArgs, input};
use crate::db::Database;
use crate::host;
use codegen::machine::Table;
use codegen::target::ia64::emit::merged;
use codegen::target::sc140::emit::{Options, emit as emitted};
use ir::Module;
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;

/// Returns the table that `--target` names, if it is such a processor's.
pub(super) fn target(args: &EmitArgs) -> Option<&'static Table> {
    let name = args.analysis.target.as_deref()?;
    let known = codegen::machine::tables().iter();
    known
        .map(|table| &**table)
        .find(|table| table.name == name && table.sets().is_some())
}

pub(super) fn emit(args: &EmitArgs, table: &Table) -> Result<u8, CliError> {
    let Some(sets) = table.sets() else {
        return Err(CliError::Usage(format!(
            "`{}` issues no execution sets",
            table.name
        )));
    };
    let mut db = Database::default();
    let analysis = AnalysisArgs {
        target: None,
        ..args.analysis.clone()
    };
    let file = input::open(&mut db, &args.file, &analysis)?;
    let items = chosen(&db, file, args.item.as_deref());
    if items.is_empty() {
        return Err(match &args.item {
            Some(name) => input::no_such_item(&db, file, &args.file, name),
            None => CliError::Usage(format!(
                "{}: there is no function with a body",
                args.file.display()
            )),
        });
    }
    if broken(&db, file, args, &items) {
        return Ok(1);
    }
    let options = Options {
        pipeline: args.pipeline,
        ..Options::default()
    };
    let mut whole: Vec<&Module> = Vec::new();
    let mut left_out = 0;
    for (item, module) in &items {
        let Err(reasons) = emitted(module, sets, &options) else {
            whole.push(module);
            continue;
        };
        left_out += 1;
        for reason in reasons {
            let found = module
                .functions
                .iter()
                .find_map(|function| place(&db, file, *item, function, reason.loc));
            let at = match found {
                Some((line, column)) => format!(":{line}:{column}"),
                None => String::new(),
            };
            let name = module.functions.first().map_or("", |one| one.name.as_str());
            let (file, reason) = (args.file.display(), reason.reason);
            eprintln!("{file}{at}: no code for `{name}`: {reason}");
        }
    }
    if left_out > 0 {
        let (file, count) = (args.file.display(), items.len());
        eprintln!("{file}: {left_out} of {count} functions are left out");
    }
    let complete = u8::from(left_out > 0);
    if whole.is_empty() {
        return Ok(complete);
    }
    let made = match emitted(&merged(whole), sets, &options) {
        Ok(made) => made,
        Err(reasons) => {
            for reason in reasons {
                eprintln!("{}: {}", args.file.display(), reason.reason);
            }
            return Ok(1);
        }
    };
    let line = |name: &str, loc: ir::Loc| {
        items.iter().find_map(|(item, module)| {
            let own = module.functions.first()?;
            (own.name.as_str() == name).then(|| place(&db, file, *item, own, loc))?
        })
    };
    let text = match args.format {
        DataFormat::Text => format!("; {}, by --target\n{}", table.name, made.text),
        DataFormat::Json => {
            let functions = made.functions.iter().map(|function| {
                let loops = function.loops.iter().map(|report| {
                    json!({
                        "line": line(&function.name, report.loc).map(|place| place.0),
                        "interval": (report.stages > 1).then_some(report.interval),
                        "stages": report.stages,
                        "copies": report.copies,
                        "refused": report.refused.as_deref(),
                    })
                });
                json!({
                    "name": function.name.as_str(),
                    "spilled": function.spilled,
                    "loops": loops.collect::<Vec<Value>>(),
                })
            });
            let row = json!({
                "version": 1,
                "target": table.name.as_str(),
                "text": made.text,
                "functions": functions.collect::<Vec<Value>>(),
            });
            serde_json::to_string_pretty(&row)? + "\n"
        }
    };
    if args.output == Path::new("-") {
        std::io::stdout().lock().write_all(text.as_bytes())?;
    } else {
        host::write(&args.output, text.as_bytes())?;
    }
    Ok(complete)
}
