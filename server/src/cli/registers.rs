//! `lockstep registers`: which variables fill the registers of kernels, and how to be without them.

use super::{AllocatorArg, CliError, DataFormat, RegistersArgs, input};
use crate::db::{self, Database};
use crate::derive::fitted::{Fitted, fitted};
use crate::derive::pressure::{Entry, Row, cheapest, rows};
use crate::documents::line_column;
use crate::program::{self, Language};
use crate::views::pressure;
use crate::views::registers::{measure, report};
use crate::views::text::class_name;
use codegen::target::ptx::machine::fit::Home;
use facts::pressure::Remedy;
use serde_json::{Value, json};
use std::io::Write;

pub(super) fn registers(args: &RegistersArgs) -> Result<u8, CliError> {
    let mut db = Database::default();
    let file = input::open(&mut db, &args.file, &args.analysis)?;
    if file.language(&db) == Language::C || file.language(&db).is_assembly() {
        return Err(CliError::Usage(format!(
            "{}: registers are told of kernels and shaders",
            args.file.display()
        )));
    }
    if args.ptxas {
        input::assemble(&mut db, file, &input::assembler()?);
    }
    let rows = rows(&db, file, args.item.as_deref());
    let spills = match (args.allocator, args.budget) {
        (Some(allocator), Some(budget)) => fitted_by(&db, file, args, allocator, budget)?,
        _ => Vec::new(),
    };
    if let Some(name) = &args.item
        && rows.is_empty()
    {
        return Err(input::no_such_item(&db, file, &args.file, name));
    }
    let machine = db::machine(&db, program::settings(&db, file))
        .name
        .to_string();
    for limit in input::limits(&db, file) {
        eprintln!("lockstep: {}:{limit}", args.file.display());
    }
    let mut out = std::io::stdout().lock();
    match args.format {
        DataFormat::Json => {
            let kernels: Vec<Value> = rows
                .iter()
                .map(|row| {
                    let mut kernel = json_of(row, args.budget);
                    if let Some(spill) = spills.iter().find(|spill| spill.name == row.name) {
                        add(&mut kernel, spill);
                    }
                    kernel
                })
                .collect();
            let all = json!({ "version": 1, "machine": machine, "kernels": kernels });
            writeln!(out, "{}", serde_json::to_string_pretty(&all)?)?;
        }
        DataFormat::Text => {
            let text = program::text(file.source(&db));
            let path = args.file.display();
            if rows.is_empty() {
                writeln!(out, "{path}: no kernel, no shader stage")?;
            }
            for row in &rows {
                let (line, column) = line_column(text, db::line_index(&db, file), row.head.start);
                write!(out, "{path}:{line}:{column}: ")?;
                write!(out, "{}", report(row, args.budget))?;
                if let Some(spill) = spills.iter().find(|spill| spill.name == row.name) {
                    told(&mut out, spill)?;
                }
            }
        }
    }
    Ok(0)
}

/// Returns the results of an allocator for the functions.
fn fitted_by(
    db: &Database,
    file: db::File,
    args: &RegistersArgs,
    allocator: AllocatorArg,
    budget: u32,
) -> Result<Vec<Fitted>, CliError> {
    if file.language(db) != Language::Ptx {
        return Err(CliError::Usage(format!(
            "{}: allocators read PTX (.ptx); `lockstep code` prints that of a kernel",
            args.file.display()
        )));
    }
    let words = u16::try_from(budget).unwrap_or(u16::MAX);
    let item = args.item.as_deref();
    Ok(fitted(db, file, item, words, allocator.into()))
}

/// `constant`, `recompute`, ...
pub(super) const fn home(home: Home) -> &'static str {
    match home {
        Home::Constant(_) => "constant",
        Home::Known(..) | Home::Again(_) => "recompute",
        Home::Reload => "reload",
        Home::Warp(_) => "warp-slot",
        Home::WarpBase(..) => "warp-slot-of-base",
        Home::Lane(_) => "lane-slot",
        Home::RegisterLane(_) => "register-lane",
        Home::Column(_) => "shared-lane-slot",
    }
}

fn add(kernel: &mut Value, fitted: &Fitted) {
    match &fitted.made {
        Ok(made) => {
            let spills = made.spilled.iter().map(|it| {
                json!({
                    "name": it.name.as_str(),
                    "kind": home(it.home),
                    "loads": it.loads,
                    "stores": it.stores,
                })
            });
            kernel["spills"] = spills.collect();
            kernel["shared_bytes"] = made.shared_bytes.into();
            kernel["local_bytes"] = made.local_bytes.into();
        }
        Err(refusal) => kernel["refused"] = refusal.to_string().into(),
    }
}

fn told(out: &mut impl Write, fitted: &Fitted) -> std::io::Result<()> {
    let made = match &fitted.made {
        Ok(made) => made,
        Err(refusal) => return writeln!(out, "  not allocated: {refusal}"),
    };
    if made.spilled.is_empty() {
        return writeln!(out, "  allocated without spills");
    }
    writeln!(
        out,
        "  {} spilled registers, {} bytes of shared memory a workgroup, {} bytes of local memory a thread",
        made.spilled.len(),
        made.shared_bytes,
        made.local_bytes
    )?;
    for each in &made.spilled {
        writeln!(
            out,
            "    {:12}  {:17}  {} loads, {} stores",
            each.name,
            home(each.home),
            each.loads,
            each.stores
        )?;
    }
    Ok(())
}

const fn kind(remedy: Remedy) -> &'static str {
    match remedy {
        Remedy::Recompute { .. } => "recompute",
        Remedy::ScalarRegister => "scalar-register",
        Remedy::Reload => "reload",
        Remedy::WarpSlot => "warp-slot",
        Remedy::WarpSlotOfBase => "warp-slot-of-base",
        Remedy::RegisterLane => "register-lane",
        Remedy::LaneSlot => "lane-slot",
        Remedy::Needed => "needed",
    }
}

fn entry(entry: &Entry) -> Value {
    let operations = match entry.remedy {
        Remedy::Recompute { operations } => Some(operations),
        _ => None,
    };
    json!({
        "name": entry.name,
        "registers": entry.registers,
        "class": class_name(entry.class),
        "line": entry.defined,
        "last_use": entry.last_read,
        "next_iteration": entry.next_iteration,
        "reads": entry.reads,
        "reads_in_loops": entry.reads_in_loops,
        "remedy": kind(entry.remedy),
        "operations": operations,
    })
}

fn json_of(row: &Row, budget: Option<u32>) -> Value {
    let variables: Vec<Value> = row.variables.iter().map(entry).collect();
    let lines: Vec<Value> = row
        .lines
        .iter()
        .map(|(line, live)| json!({ "line": line, "live": live }))
        .collect();
    let occupancy = row.fit.as_ref().map(|fit| fit.found.percent());
    let without = measure(row, budget)
        .filter(|&budget| budget < row.registers)
        .map(|budget| {
            let chosen = cheapest(row, budget);
            chosen.map(|all| all.into_iter().map(entry).collect::<Vec<_>>())
        });
    json!({
        "name": row.name.as_str(),
        "registers": row.registers,
        "label": pressure::source(row.figure.as_ref()),
        "spill_store_bytes": row.figure.as_ref().map(|figure| figure.spill_store_bytes),
        "spill_load_bytes": row.figure.as_ref().map(|figure| figure.spill_load_bytes),
        "shared_bytes": row.figure.as_ref().map(|figure| figure.shared_bytes),
        "scalar_registers": row.scalar,
        "live": row.live,
        "uniform": row.uniform,
        "peak": { "line": row.line, "variables": variables },
        "lines": lines,
        "budget": budget.or(row.budget.map(|budget| budget.registers)),
        "budget_from": match (budget, &row.budget) {
            (Some(_), _) => Some("option"),
            (None, own) => own.as_ref().map(|own| pressure::reason_name(own.reason)),
        },
        "without": without,
        "occupancy_percent": occupancy,
    })
}
