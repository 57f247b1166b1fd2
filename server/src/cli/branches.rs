//! `lockstep branches`: a function on described inputs, and a predictor's results for its branches; for
//! kernels and shader stages, the losses of their lanes.

use super::sim::{Placed, placed, program};
use super::{BranchesArgs, CliError, DataFormat, input};
use crate::db::{self, Database, File};
use crate::derive::pressure::outer;
use crate::derive::timing::timing;
use crate::host;
use crate::profile::make::{MakeError, Order, make};
use crate::profile::predict::{NoRegion, predicted};
use crate::profile::record::BranchCounts;
use crate::profile::run;
use crate::program::{self as source, Language};
use crate::views::branches::{ShownBranch, ShownFunction, report, why};
use ir::{Function, Loc, Module, Op};
use serde_json::{Value, json};
use simulate::ia64::{Limits, traced};
use simulate::predictor::{Design, Laboratory};
use smol_str::SmolStr;
use std::io::Write;
use syntax::FileId;

pub(super) fn branches(args: &BranchesArgs) -> Result<u8, CliError> {
    let design = Design::named(&args.predictor).map_err(|why| CliError::Usage(why.to_string()))?;
    let mut db = Database::default();
    let file = input::open(&mut db, &args.file, &args.analysis)?;
    let shown = match file.language(&db) {
        Language::Ia64 => of_assembly(&db, file, args, &design)?,
        language if language.is_assembly() => {
            return Err(CliError::Usage(format!(
                "{}: this assembly is for a processor that predicts no branches",
                args.file.display()
            )));
        }
        _ => of_source(&db, file, args, &design)?,
    };
    let Some(shown) = shown else {
        return Ok(2);
    };
    let mut out = std::io::stdout().lock();
    match args.format {
        DataFormat::Json => {
            serde_json::to_writer_pretty(&mut out, &as_json(&shown, &design))?;
            writeln!(out)?;
        }
        DataFormat::Text => {
            let path = args.file.display();
            let text = report(&shown, &design.to_string(), design.resolve);
            write!(out, "{path}: {text}")?;
        }
    }
    Ok(0)
}

/// A run in the interpreter; `None`: it failed, which was reported.
fn of_source(
    db: &Database,
    file: File,
    args: &BranchesArgs,
    design: &Design,
) -> Result<Option<ShownFunction>, CliError> {
    let order = Order {
        inputs: args.inputs.clone(),
        item: args.item.clone(),
        // Nothing is written, and what is there is not read.
        output: Some("-".into()),
        ..Order::default()
    };
    let made = match make(db, file, &args.file, &order, &mut (), &()) {
        Ok(made) => made,
        Err(MakeError::Description(error)) => return Err(CliError::Usage(error)),
        Err(error) => {
            eprintln!("lockstep: {error}");
            return Ok(None);
        }
    };
    for parameter in &made.ran.open {
        eprintln!("not given, chosen by the seed: {parameter}");
    }
    let found = run::find(db, file, Some(&made.ran.item));
    let (item, number) = found.map_err(|error| CliError::Usage(error.to_string()))?;
    let lowered = db::lowered(db, item);
    let module = lowered.get(number).map(|lowered| &lowered.module);
    let Some((module, function)) =
        module.and_then(|module| Some((module, module.functions.first()?)))
    else {
        return Err(CliError::Usage("the function could not be lowered".into()));
    };
    let lines = db::line_index(db, file);
    let line = |loc: Loc| {
        let span = outer(function, loc)?;
        let (id, span) = source::absolute(db, file, item, function, Loc { span, ..Loc::NONE })?;
        (id == FileId::MAIN).then(|| lines.line_column(span.start).0 + 1)
    };
    let ran = &made.ran.branches;
    let predicted = predicted(function, ran, design);
    let mut branches: Vec<ShownBranch> = Vec::new();
    for &(block, counts) in &ran.counts {
        let mut of = predicted.iter().flat_map(|predicted| &predicted.branches);
        let of = of.find(|branch| branch.block == block);
        branches.push(ShownBranch {
            line: line(function.blocks[block].loc).unwrap_or(0),
            counts,
            predicted: of.map(|branch| branch.counts),
            after: of.map_or(Err(NoRegion::Lanes), |branch| branch.after),
            compare: of.is_some_and(|branch| branch.compare),
        });
    }
    branches.sort_by_key(|branch| branch.line);
    let mut shown = ShownFunction {
        name: made.ran.item.clone(),
        branches,
        executed: ran.executed,
        cut: ran.cut,
        warps: predicted.is_none(),
        callees: callees(module, function),
        ..ShownFunction::default()
    };
    if let Some(predicted) = &predicted {
        shown.predict(predicted);
    }
    Ok(Some(shown))
}

/// The functions of the module that a function calls, each once, sorted by name.
fn callees(module: &Module, function: &Function) -> Vec<SmolStr> {
    let insts = function
        .layout
        .iter()
        .flat_map(|&block| &function.blocks[block].insts);
    let called = insts.filter_map(|&inst| match function.insts[inst].op {
        Op::Call(number) => module.functions.get(number as usize),
        _ => None,
    });
    let mut names: Vec<SmolStr> = called.map(|callee| callee.name.clone()).collect();
    names.sort();
    names.dedup();
    names
}

/// A run on the simulator; `None`: it failed, which was reported.
fn of_assembly(
    db: &Database,
    file: File,
    args: &BranchesArgs,
    design: &Design,
) -> Result<Option<ShownFunction>, CliError> {
    let Some(item) = &args.item else {
        return Err(CliError::Usage(
            "the function of assembly is named: --item NAME".into(),
        ));
    };
    let text = host::read(&args.file)?.text;
    let program = program(&args.file, &text, item)?;
    let Placed {
        mut memory, given, ..
    } = placed(&args.arguments)?;
    // Each branch is predicted here, and by what is asked for: the machine's own predictor would be a second one.
    let table = source::processor(db, source::settings(db, file));
    let mut timing = timing(&table);
    if let Some(timing) = &mut timing {
        timing.branches = None;
    }
    let limits = Limits {
        steps: 100_000_000,
        timing,
        ..Limits::default()
    };
    let mut laboratory = Laboratory::new(design);
    let listener = &mut |event: &simulate::predictor::Event| {
        laboratory.event(event);
    };
    let ran = traced(&program, item, &given, &mut memory, &limits, listener);
    if let Err(fault) = ran {
        eprintln!("{}: {fault}", args.file.display());
        return Ok(None);
    }
    let outcome = laboratory.outcome();
    let branches = outcome
        .branches
        .iter()
        .map(|&(number, counts)| ShownBranch {
            line: program.line(number as usize).unwrap_or(0),
            counts: BranchCounts {
                executed: counts.executed,
                lanes: counts.executed,
                taken: counts.taken,
                ..BranchCounts::default()
            },
            predicted: Some(counts),
            after: Err(NoRegion::Assembly),
            compare: false,
        });
    Ok(Some(ShownFunction {
        name: item.clone(),
        branches: branches.collect(),
        all: outcome.all,
        ..ShownFunction::default()
    }))
}

fn as_json(shown: &ShownFunction, design: &Design) -> Value {
    let branches = shown.branches.iter().map(|branch| {
        let counts = branch.counts;
        json!({
            "item": shown.name,
            "line": branch.line,
            "executed": counts.executed,
            "taken": counts.taken,
            "lanes": counts.lanes,
            "mispredicted": branch.predicted.map(|counts| counts.mispredicted),
            "squashed": branch.predicted.map(|counts| counts.squashed),
            "after": branch.after.ok(),
            "compare": branch.compare,
            "reason": branch.after.err().map(why),
            "parted": counts.split,
            "lost": counts.lost,
        })
    });
    let after = shown.after.map(|after| {
        json!({
            "regions": after.regions,
            "entries": after.entries,
            "mispredicted": after.mispredicted,
            "instructions_added": after.added,
            "late": after.late,
            "earlier": after.earlier,
        })
    });
    json!({
        "version": 1,
        "item": shown.name,
        "predictor": (!shown.warps).then(|| design.to_string()),
        "penalty": design.resolve,
        "executed": shown.all.executed,
        "mispredicted": (!shown.warps).then_some(shown.all.mispredicted),
        "after": after,
        "lane_instructions": shown.executed,
        "cut": shown.cut,
        "left_out": shown.callees.iter().map(SmolStr::as_str).collect::<Vec<&str>>(),
        "branches": branches.collect::<Vec<Value>>(),
    })
}
