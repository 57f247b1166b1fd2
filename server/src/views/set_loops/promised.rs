//! The promises that would make loops faster, in words.

use super::Row;
use crate::db::{self, Db, File};
use crate::derive::sets::PromisedLoop;
use crate::program::item_at;
use codegen::target::sc140::promised::Proposal;
use smol_str::SmolStr;

/// What promises would bring a loop, and which: `1.5 cycles an iteration instead of 2 with ..`.
pub fn sentence(db: &dyn Db, file: File, row: &Row) -> Option<String> {
    if row.is_inlined() {
        return None;
    }
    let (_, item) = item_at(db, file, row.span.start)?;
    let found = db::promised_sets(db, item).as_deref()?;
    let own = found.iter().find(|own| {
        let head = own.head.resolve(db, file, item);
        head == Some(row.span)
    })?;
    Some(words(own))
}

fn words(own: &PromisedLoop) -> String {
    let rate = |(sets, iterations): (u32, u32)| {
        let rate = f64::from(sets) / f64::from(iterations);
        let text = format!("{rate:.2}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    let names = |found: &dyn Fn(&Proposal) -> Option<usize>| -> Vec<SmolStr> {
        let all = own.promises.iter();
        let all = all.filter_map(|(proposal, name)| found(proposal).map(|_| name.clone()));
        all.collect()
    };
    let mut promises = Vec::new();
    let apart = names(&|proposal| match proposal {
        Proposal::Apart { parameter } => Some(*parameter),
        _ => None,
    });
    if !apart.is_empty() {
        let apart: Vec<String> = apart.iter().map(|name| format!("`{name}`")).collect();
        promises.push(format!("`restrict` on {}", apart.join(", ")));
    }
    for (proposal, name) in &own.promises {
        match proposal {
            Proposal::Apart { .. } => {}
            Proposal::Aligned { bytes, .. } => {
                promises.push(format!("`#pragma lockstep aligned({name}, {bytes})`"));
            }
            Proposal::Rounds { multiple, most, .. } => promises.push(format!(
                "`#pragma lockstep rounds({multiple}, {most}, {multiple})`"
            )),
        }
    }
    format!(
        "{} cycles an iteration instead of {}, if these hold: {}",
        rate(own.after),
        rate(own.before),
        promises.join(", ")
    )
}
