//! `lockstep code --spill-less`: PTX that NVIDIA's assembler spills less of.

use super::code::{give, rewritten};
use super::registers::home;
use super::{CliError, CodeArgs, input};
use crate::db::{self, Database, File};
use crate::derive::figures::target_of;
use crate::derive::fitted::prepared;
use crate::parked::{Judge, ParkedError, Proposal, Way, spill_less as propose};
use crate::program;
use crate::ptxas::Report;
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
    let mut proposals = Vec::new();
    for (name, place, _, prepared) in &functions {
        let entry = prepared
            .as_ref()
            .map_or(true, |prepared| prepared.tree.entry);
        if !entry {
            continue;
        }
        let found = prepared.as_ref().map_err(|refusal| refusal.clone().into());
        let found = found.and_then(|prepared| propose(&judge, text, prepared));
        match found {
            Ok(proposal) => {
                eprintln!("lockstep: `{name}`: {}", line(&proposal));
                kernels.push(row(name, &proposal));
                proposals.push((*place, proposal));
            }
            Err(ParkedError::NothingSpilled(_)) => {
                kernels.push(json!({ "name": name.as_str(), "spilled": 0 }));
            }
            Err(error) => {
                eprintln!("lockstep: `{name}` stays as it is: {error}");
                let spilled = match &error {
                    ParkedError::NoBetter { spilled, .. } => Some(*spilled),
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
    let made: Vec<_> = proposals
        .iter()
        .map(|(place, proposal)| (*place, proposal.made.text.as_str()))
        .collect();
    let out = rewritten(text, &made);
    let told = json!({ "version": 1, "budget": words, "kernels": kernels, "text": out });
    give(args, &out, &told)?;
    Ok(0)
}

fn line(proposal: &Proposal) -> String {
    let Proposal {
        made,
        rolled,
        way,
        before,
        after,
        own_bytes,
        ..
    } = proposal;
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
    format!(
        "ptxas spills {} instead of {} bytes: {}",
        after.spilled(),
        before.spilled(),
        by.join(", ")
    )
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
    let values = proposal.made.spilled.iter().map(|value| {
        json!({
            "name": value.name.as_str(),
            "kind": home(value.home),
            "loads": value.loads,
            "stores": value.stores,
        })
    });
    json!({
        "name": name,
        "spilled": proposal.before.spilled(),
        "before": report(&proposal.before),
        "after": report(&proposal.after),
        "allocated": match proposal.way {
            Way::Parked(_) => None,
            Way::Allocated(words) => Some(words),
        },
        "slot_bytes": proposal.own_bytes,
        "parked": values.collect::<Value>(),
        "rolled_loops": proposal.rolled,
        "shared_bytes": proposal.made.shared_bytes,
        "tried": proposal.tried,
    })
}
