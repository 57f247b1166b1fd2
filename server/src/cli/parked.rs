//! `lockstep code --spill-less`: PTX that NVIDIA's assembler spills less of.

use super::code::give;
use super::registers::home;
use super::{CliError, CodeArgs, input};
use crate::db::{self, Database, File};
use crate::derive::figures::target_of;
use crate::derive::fitted::prepared;
use crate::parked::{Judge, ParkedError, Proposal, Rewritten, Way, called, spill_less as propose};
use crate::program;
use crate::ptxas::Report;
use crate::views::actions::edited;
use serde_json::{Value, json};

pub(super) fn spill_less(
    db: &Database,
    file: File,
    args: &CodeArgs,
    words: u16,
) -> Result<u8, CliError> {
    let tool = input::assembler()?;
    let text = program::text(file.source(db));
    let functions = prepared(db, file, args.item.as_deref());
    if let (Some(name), true) = (&args.item, functions.is_empty()) {
        return Err(input::no_such_item(db, file, &args.file, name));
    }
    let judge = Judge {
        tool: &tool,
        target: &target_of(db, file),
        gpu: db::machine(db, program::settings(db, file)).gpu(),
        words,
    };
    let mut kernels = Vec::new();
    let mut edits = Vec::new();
    for (name, _, _, prepared) in &functions {
        let entry = prepared
            .as_ref()
            .map_or(true, |prepared| prepared.tree.entry);
        if !entry {
            continue;
        }
        let found = prepared.as_ref().map_err(|refusal| refusal.clone().into());
        let found =
            found.and_then(|kernel| propose(&judge, text, kernel, &called(db, file, kernel)));
        match found {
            Ok(proposal) => {
                eprintln!("lockstep: `{name}`: {}", line(&proposal));
                kernels.push(row(name, &proposal));
                edits.extend(proposal.edits);
            }
            Err(ParkedError::NothingSpilled(_)) => {
                kernels.push(json!({ "name": name.as_str(), "spilled": 0 }));
            }
            Err(error) => {
                eprintln!("lockstep: `{name}` stays as it is: {error}");
                let spilled = match &error {
                    ParkedError::NoBetter { spilled, .. }
                    | ParkedError::NothingToTry { spilled, .. } => Some(*spilled),
                    _ => None,
                };
                kernels.push(json!({
                    "name": name.as_str(),
                    "spilled": spilled,
                    "refused": error.to_string(),
                }));
            }
        }
    }
    let out = edited(text, &edits).ok_or_else(|| CliError::Usage("the edits overlap".into()))?;
    let told = json!({ "version": 1, "budget": words, "kernels": kernels, "text": out });
    give(args, &out, &told)?;
    Ok(0)
}

fn line(proposal: &Proposal) -> String {
    let by: Vec<String> = match &proposal.functions[..] {
        [own] => vec![steps(own)],
        all => all
            .iter()
            .map(|own| format!("`{}`: {}", own.name, steps(own)))
            .collect(),
    };
    format!(
        "ptxas spills {} instead of {} bytes: {}",
        proposal.after.spilled(),
        proposal.before.spilled(),
        by.join("; ")
    )
}

/// The changes of one function, in words.
fn steps(function: &Rewritten) -> String {
    let Rewritten {
        made,
        rolled,
        way,
        own_bytes,
        is_internal,
        ..
    } = function;
    let mut by = Vec::new();
    let (values, shared) = (made.spilled.len(), made.shared_bytes);
    match way {
        Way::Parked(0) => {}
        Way::Parked(_) => by.push(format!(
            "{values} values parked in {shared} bytes of shared memory"
        )),
        Way::Allocated(words) => by.push(format!(
            "allocated for {words} registers, {values} values elsewhere, {shared} bytes of shared memory, {own_bytes} \
             bytes loaded from and stored to slots in local memory"
        )),
    }
    if *rolled > 0 {
        by.push(format!("{rolled} loops not unrolled"));
    }
    if *is_internal {
        by.push("no longer `.weak`: the file is taken for a whole program".to_owned());
    }
    by.join(", ")
}

fn row(name: &str, proposal: &Proposal) -> Value {
    let report = |report: &Report| {
        json!({
            "registers": report.registers,
            "spill_stores": report.spill_store_bytes,
            "spill_loads": report.spill_load_bytes,
            "shared": report.shared_bytes,
        })
    };
    let (own, called): (Vec<&Rewritten>, Vec<&Rewritten>) =
        proposal.functions.iter().partition(|own| own.name == name);
    let own = own.first().map(|own| function(own));
    let of_own = |key: &str, none: Value| own.as_ref().map_or(none, |own| own[key].clone());
    let called = called.into_iter().map(|called| {
        let mut row = function(called);
        row["name"] = json!(called.name.as_str());
        row["internal"] = json!(called.is_internal);
        row
    });
    json!({
        "name": name,
        "spilled": proposal.before.spilled(),
        "before": report(&proposal.before),
        "after": report(&proposal.after),
        "allocated": of_own("allocated", Value::Null),
        "slot_bytes": of_own("slot_bytes", json!(0)),
        "parked": of_own("parked", json!([])),
        "rolled_loops": of_own("rolled_loops", json!(0)),
        "shared_bytes": of_own("shared_bytes", json!(0)),
        "called": called.collect::<Value>(),
        "tried": proposal.tried,
    })
}

/// The changes of one function.
fn function(function: &Rewritten) -> Value {
    let values = function.made.spilled.iter().map(|value| {
        json!({
            "name": value.name.as_str(),
            "kind": home(value.home),
            "loads": value.loads,
            "stores": value.stores,
        })
    });
    json!({
        "allocated": match function.way {
            Way::Parked(_) => None,
            Way::Allocated(words) => Some(words),
        },
        "slot_bytes": function.own_bytes,
        "parked": values.collect::<Value>(),
        "rolled_loops": function.rolled,
        "shared_bytes": function.made.shared_bytes,
    })
}
