//! `lockstep emit`: IA-64 assembly of functions, for the processor that `--machine`, `--target`, a table of one's own or
//! `lockstep.toml` names, in this order; the first line of the text says which.

use super::{AnalysisArgs, CliError, DataFormat, EmitArgs, EpilogueChoice, emit_guided, input};
use crate::db::{self, Database, Db, File, Item};
use crate::documents::line_column;
use crate::host;
use crate::program;
use codegen::refusal::Refused;
use codegen::target::ia64::emit::{Emitted, Options, emit_items};
use codegen::target::ia64::pipeline::{self, Epilogue, Reason};
use ir::lower::c_family::Lowered;
use ir::{Loc, Module};
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use syntax::{FileId, ProblemKind};

const DEFAULT: &str = "ia64:itanium2";

pub(super) fn emit(args: &EmitArgs) -> Result<u8, CliError> {
    if let Some(table) = super::emit_sets::target(args) {
        return super::emit_sets::emit(args, table);
    }
    let named = args.analysis.target.as_deref().map(full);
    if let Some(target) = named.as_deref().filter(|it| !input::is_processor(it)) {
        return Err(nothing(target));
    }
    let mut db = Database::default();
    let analysis = AnalysisArgs {
        target: named,
        ..args.analysis.clone()
    };
    let file = input::open(&mut db, &args.file, &analysis)?;
    if args.analysis.target.is_none()
        && args.analysis.machine.is_none()
        && let Some(table) = crate::derive::sets::processor(&db, file)
    {
        return super::emit_sets::emit(args, &table);
    }
    let table = db::processor(&db, file.settings(&db)).clone();
    let Some(epic) = table.epic() else {
        return Err(nothing(&table.name));
    };
    if args.keep_spills {
        return Err(CliError::Usage(format!(
            "`--keep-spills` says nothing of `{}`",
            table.name
        )));
    }
    let origin = origin(&db, file, args)?;
    let chosen = chosen(&db, file, args.item.as_deref());
    let data = match args.item {
        Some(_) => Vec::new(),
        None => data(&db, file),
    };
    if chosen.is_empty() && data.is_empty() {
        return Err(nothing_to_emit(&db, file, args));
    }
    let mut options = Options {
        bundles: !args.no_bundles,
        checked: args.checked || cfg!(debug_assertions),
        convert: args.if_convert,
        contract: !args.no_contract && *db::contracts(&db, file),
        pipeline: args.pipeline.then(|| pipeline::Options {
            unroll: args.unroll,
            prefetch: args.prefetch,
            pairs: args.load_pairs,
            checked: args.checked || cfg!(debug_assertions),
            reassociate: file.settings(&db).analysis(&db).fast_math.unwrap_or(false),
            epilogue: match args.epilogue {
                EpilogueChoice::Kernel => Epilogue::Kernel,
                EpilogueChoice::Explicit => Epilogue::Explicit,
            },
            ..pipeline::Options::default()
        }),
        ..Options::default()
    };
    if broken(&db, file, args, &chosen) {
        return Ok(1);
    }
    let guided = match args.profile {
        true => emit_guided::all(&db, file, args, &chosen, epic, &mut options)?,
        false => chosen.iter().map(|_| None).collect(),
    };
    let chosen = chosen.iter().zip(&guided);
    let chosen = chosen.map(|((item, module), guided)| {
        (*item, guided.as_ref().map_or(*module, |(module, _)| module))
    });
    let data = data.iter().map(|(item, lowered)| (*item, &lowered.module));
    let all: Vec<(Item<'_>, &Module)> = chosen.chain(data).collect();
    let modules: Vec<&Module> = all.iter().map(|(_, module)| *module).collect();
    let (refused, emitted) = emit_items(&modules, epic, &options);
    let left_out = told(&db, file, args, &all, &refused);
    let whole = all
        .iter()
        .zip(&refused)
        .filter(|(_, reasons)| reasons.is_empty());
    let emitted_items: Vec<(Item<'_>, &Module)> = whole.map(|(item, _)| *item).collect();
    // Each loop that a checker found to be another one is as it was, and whoever asked for the check is told.
    let mut unsound = 0;
    for function in &emitted.functions {
        let reasons = function.loops.iter().flat_map(|report| &report.reasons);
        for reason in reasons.filter(|reason| matches!(reason, Reason::Unsound(_))) {
            let (file, name) = (args.file.display(), &function.name);
            eprintln!("{file}: a loop of `{name}` is not pipelined: {reason}");
            unsound += 1;
        }
    }
    // So is each block whose bundles a checker found wrong.
    for function in &emitted.functions {
        for block in &function.bundling.unsound {
            let (name, why) = (&function.name, &block.violation);
            let place = all.iter().find_map(|(item, module)| {
                let own = module.functions.first()?;
                (own.name.as_str() == name.as_str())
                    .then(|| place(&db, file, *item, own, block.loc))?
            });
            let at = match place {
                Some((line, column)) => format!(":{line}:{column}"),
                None => String::new(),
            };
            let file = args.file.display();
            eprintln!("{file}{at}: a block of `{name}` is not bundled: {why}");
            unsound += 1;
        }
    }
    let complete = u8::from(left_out + unsound > 0);
    let chosen = emitted_items;
    // Whoever asks for predicates is told where there are none.
    let line = |name: &str, loc: Loc| {
        chosen.iter().find_map(|(item, module)| {
            let own = module.functions.first()?;
            (own.name.as_str() == name).then(|| place(&db, file, *item, own, loc))?
        })
    };
    for function in &emitted.functions {
        for (loc, why) in &function.conversions.kept {
            let at = match line(&function.name, *loc) {
                Some((line, column)) => format!(":{line}:{column}"),
                None => String::new(),
            };
            let (file, name) = (args.file.display(), &function.name);
            eprintln!("{file}{at}: a branch of `{name}` stays: {why}");
        }
    }
    if chosen.is_empty() {
        return Ok(complete);
    }
    summed_up(args, left_out, &all);
    let text = match args.format {
        DataFormat::Text => {
            format!("// ia64:{}, {origin}\n{}", table.name, emitted.text)
        }
        DataFormat::Json => {
            let lines = lines(&db, file, &chosen, &emitted);
            let functions: Vec<Value> = emitted
                .functions
                .iter()
                .map(|function| {
                    let converted = function.conversions.made.iter().map(|made| {
                        json!({
                            "line": line(&function.name, made.loc).map(|place| place.0),
                            "before": made.before,
                            "after": made.after,
                            "operations": made.operations,
                            "exits": made.exits,
                        })
                    });
                    let profiled = all.iter().zip(&guided).find_map(|((item, _), guided)| {
                        let (module, profiled) = guided.as_ref()?;
                        let own = module.functions.first()?.name == function.name;
                        own.then(|| emit_guided::row(&db, file, (*item, module), profiled))
                    });
                    json!({
                        "name": function.name.as_str(),
                        "frame": function.frame,
                        "spilled": function.spilled,
                        "converted": converted.collect::<Vec<Value>>(),
                        "profiled": profiled,
                    })
                })
                .collect();
            let row = json!({
                "version": 1,
                "target": format!("ia64:{}", table.name),
                "text": emitted.text,
                "lines": lines,
                "functions": functions,
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

/// `ia64` alone is the usual processor.
fn full(target: &str) -> String {
    match target {
        "ia64" => DEFAULT.to_owned(),
        other => other.to_owned(),
    }
}

/// Says where the processor was chosen, or that `--machine` does not name one.
fn origin(db: &Database, file: File, args: &EmitArgs) -> Result<String, CliError> {
    let analysis = file.settings(db).analysis(db);
    let own = analysis.machine_file.as_ref().filter(|path| {
        let table = &db::machine_text(db, db.file(path)).table;
        table.as_ref().is_some_and(|table| table.epic().is_some())
    });
    if let Some(machine) = &args.analysis.machine {
        return match own.is_some() || input::is_processor(machine) {
            true => Ok(format!("by --machine {machine}")),
            false => Err(nothing(machine)),
        };
    }
    Ok(match (&args.analysis.target, own, &analysis.processor) {
        (Some(_), ..) => "by --target".to_owned(),
        (None, Some(path), _) => format!("by the table {}", path.display()),
        (None, None, Some(_)) => "by `processor` in lockstep.toml".to_owned(),
        (None, None, None) => "by default".to_owned(),
    })
}

fn nothing(name: &str) -> CliError {
    CliError::Usage(format!(
        "`{name}` is nothing that assembly is emitted for; `ia64:itanium`, `{DEFAULT}` and `sc140` are"
    ))
}

/// The error of a file that holds nothing to emit.
pub(super) fn nothing_to_emit(db: &Database, file: File, args: &EmitArgs) -> CliError {
    match &args.item {
        Some(name) => input::no_such_item(db, file, &args.file, name),
        None => CliError::Usage(format!(
            "{}: there is no function with a body, and no variable",
            args.file.display()
        )),
    }
}

/// Reports why items are left out; returns how many are.
pub(super) fn told(
    db: &Database,
    file: File,
    args: &EmitArgs,
    all: &[(Item<'_>, &Module)],
    refused: &[Vec<Refused>],
) -> usize {
    for ((item, module), reasons) in all.iter().zip(refused) {
        for reason in reasons {
            let place = module
                .functions
                .iter()
                .find_map(|function| place(db, file, *item, function, reason.loc));
            let name = module.functions.first().map_or("", |it| it.name.as_str());
            let what = match is_variable(module) {
                true => "data",
                false => "code",
            };
            let at = match place {
                Some((line, column)) => format!(":{line}:{column}"),
                None => String::new(),
            };
            let (file, reason) = (args.file.display(), &reason.reason);
            eprintln!("{file}{at}: no {what} for `{name}`: {reason}");
        }
    }
    refused.iter().filter(|reasons| !reasons.is_empty()).count()
}

/// Reports how many items are left out, if any are.
pub(super) fn summed_up(args: &EmitArgs, left_out: usize, all: &[(Item<'_>, &Module)]) {
    if left_out == 0 {
        return;
    }
    let kinds = match all.iter().any(|(_, module)| is_variable(module)) {
        true => "functions and variables",
        false => "functions",
    };
    let (file, count) = (args.file.display(), all.len());
    eprintln!("{file}: {left_out} of {count} {kinds} are left out");
}

/// Returns true for the module of a variable, which has no code.
fn is_variable(module: &Module) -> bool {
    let first = module.functions.first();
    first.is_some_and(|function| function.layout.is_empty())
}

/// Reports violations of the grammar where code is wanted: in the chosen functions, and without a choice
/// anywhere in the file, for broken text there may be a function. There is no code for a file with an error.
pub(super) fn broken(
    db: &Database,
    file: File,
    args: &EmitArgs,
    chosen: &[(Item<'_>, &Module)],
) -> bool {
    let mut found: Vec<(u32, u32, String)> = Vec::new();
    for (place, item) in program::own_items(db, file) {
        let wanted = args.item.is_none() || chosen.iter().any(|(it, _)| *it == item);
        if !wanted || place.file != FileId::MAIN {
            continue;
        }
        for problem in &db::parsed(db, item).problems {
            if problem.kind == ProblemKind::Syntax {
                let at = problem.span.start + place.start;
                let text = program::text(file.source(db));
                let (line, column) = line_column(text, db::line_index(db, file), at);
                found.push((line, column, problem.message.clone()));
            }
        }
    }
    found.sort();
    found.dedup();
    for (line, column, message) in &found {
        let name = args.file.display();
        eprintln!("{name}:{line}:{column}: {message}");
    }
    !found.is_empty()
}

/// Functions with a body in the file itself, with their modules; functions of a header that other files may
/// name, too.
pub(super) fn chosen<'db>(
    db: &'db Database,
    file: File,
    wanted: Option<&str>,
) -> Vec<(Item<'db>, &'db Module)> {
    let items = db::items(db, file)
        .iter()
        .map(|&item| (item.place(db), item));
    let mut items: Vec<_> = items.filter(|(_, item)| item.holds(db).code).collect();
    items.sort_by_key(|(place, _)| (place.file, place.start, place.end));
    items
        .into_iter()
        .filter(|(_, item)| {
            let name = item.name(db).as_str();
            wanted.is_none_or(|wanted| name == wanted || name.rsplit("::").next() == Some(wanted))
        })
        .filter(|(place, item)| place.file == FileId::MAIN || program::is_exported(db, *item))
        .filter_map(|(_, item)| Some((item, &db::lowered(db, item).first()?.module)))
        .filter(|(_, module)| {
            module
                .functions
                .first()
                .is_some_and(|function| !function.layout.is_empty())
        })
        .collect()
}

/// The variables that other files may name, used here or not.
pub(super) fn data<'db>(db: &'db Database, file: File) -> Vec<(Item<'db>, Lowered)> {
    let items = db::items(db, file).iter();
    items
        .filter_map(|&item| Some((item, program::static_data(db, item)?)))
        .collect()
}

/// Line and column from 1 of a place in the file itself.
pub(super) fn place(
    db: &Database,
    file: File,
    item: Item<'_>,
    function: &ir::Function,
    loc: Loc,
) -> Option<(u32, u32)> {
    if loc == Loc::NONE {
        return None;
    }
    let (id, span) = program::absolute(db, file, item, function, loc)?;
    let own = program::unit_file(db, file, id)?;
    let (line, column) = line_column(
        program::text(own.source(db)),
        db::line_index(db, own),
        span.start,
    );
    (id == FileId::MAIN).then_some((line, column))
}

/// Lines of the text with lines of the file, both from 1, and the cycle where one was decided.
fn lines(
    db: &Database,
    file: File,
    chosen: &[(Item<'_>, &Module)],
    emitted: &Emitted,
) -> Vec<Value> {
    let rows = emitted.lines.iter().filter_map(|line| {
        let (item, function) = chosen.iter().find_map(|(item, module)| {
            let function = module.functions.first()?;
            (function.name == *emitted.functions.get(line.function as usize)?.name)
                .then_some((*item, function))
        })?;
        let (source, _) = place(db, file, item, function, line.loc)?;
        Some(json!([line.line + 1, source, line.cycle]))
    });
    rows.collect()
}
