//! `lockstep emit --target sc140`: assembly of functions for a processor that issues execution sets.

use super::emit::{broken, chosen, data, nothing_to_emit, place, summed_up, told};
use super::{AnalysisArgs, CliError, DataFormat, EmitArgs, EpilogueChoice, input};
use crate::db::{Database, Item};
use crate::host;
use codegen::machine::Table;
use codegen::target::sc140::emit::{Options, emit_items};
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
    let others = [
        ("--unroll", args.unroll.is_some()),
        ("--epilogue", args.epilogue != EpilogueChoice::Kernel),
        ("--prefetch", args.prefetch),
        ("--load-pairs", args.load_pairs),
        ("--if-convert", args.if_convert),
        ("--checked", args.checked),
        ("--no-bundles", args.no_bundles),
        ("--no-contract", args.no_contract),
        ("--profile", args.profile),
    ];
    if let Some((option, _)) = others.iter().find(|(_, given)| *given) {
        let name = &table.name;
        return Err(CliError::Usage(format!(
            "`{option}` says nothing of `--target {name}`"
        )));
    }
    let mut db = Database::default();
    let analysis = AnalysisArgs {
        target: None,
        // The conventions of these processors have it so.
        long_32bit: true,
        ..args.analysis.clone()
    };
    let file = input::open(&mut db, &args.file, &analysis)?;
    let functions = chosen(&db, file, args.item.as_deref());
    let variables = match args.item {
        Some(_) => Vec::new(),
        None => data(&db, file),
    };
    if functions.is_empty() && variables.is_empty() {
        return Err(nothing_to_emit(&db, file, args));
    }
    if broken(&db, file, args, &functions) {
        return Ok(1);
    }
    let options = Options {
        pipeline: args.pipeline,
        reduce_spills: !args.keep_spills,
        ..Options::default()
    };
    let variables = variables
        .iter()
        .map(|(item, lowered)| (*item, &lowered.module));
    let items: Vec<(Item<'_>, &Module)> = functions.into_iter().chain(variables).collect();
    let modules: Vec<&Module> = items.iter().map(|(_, module)| *module).collect();
    let (refused, made) = emit_items(&modules, sets, &options);
    let left_out = told(&db, file, args, &items, &refused);
    let complete = u8::from(left_out > 0);
    if left_out == items.len() {
        return Ok(complete);
    }
    summed_up(args, left_out, &items);
    let line = |name: &str, loc: ir::Loc| {
        items.iter().find_map(|(item, module)| {
            let own = module.functions.first()?;
            (own.name.as_str() == name).then(|| place(&db, file, *item, own, loc))?
        })
    };
    let text = match args.format {
        DataFormat::Text => {
            let by = match args.analysis.target {
                Some(_) => "--target",
                None => "`processor` in lockstep.toml",
            };
            format!("; {}, by {by}\n{}", table.name, made.text)
        }
        DataFormat::Json => {
            let functions = made.functions.iter().map(|function| {
                let loops = function.loops.iter().map(|report| {
                    json!({
                        "line": line(&function.name, report.loc).map(|place| place.0),
                        "interval": report.interval,
                        "iterations": report.iterations,
                        "stages": report.stages,
                        "copies": report.copies,
                        "refused": report.refused.map(|reason| reason.to_string()),
                    })
                });
                let [allocated, left] = function.transfers.map(|traffic| {
                    json!({
                        "loads": traffic.loads,
                        "stores": traffic.stores,
                        "executed": traffic.executed,
                    })
                });
                json!({
                    "name": function.name.as_str(),
                    "spilled": function.spilled,
                    "transfers": { "allocated": allocated, "left": left },
                    "cycles": function.cycles,
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
