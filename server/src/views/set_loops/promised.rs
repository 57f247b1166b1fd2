//! The promises that would make loops faster, in words.

use super::Row;
use crate::db::{self, Db, File};
use crate::derive::sets::PromisedLoop;
use crate::program::item_at;
use codegen::target::sc140::promised::{Pace, Proposal};
use smol_str::SmolStr;

/// The gain of promises for a loop, and which they are: `1.5 cycles an iteration instead of 2, if these hold: ..`.
pub fn sentence(db: &dyn Db, file: File, row: &Row) -> Option<String> {
    let own = promised_loop(db, file, row)?;
    let faster = own.before.is_slower(&own.after);
    let faster = faster.then(|| {
        let [after, before] = [own.after, own.before].map(rate);
        format!("an iteration in {after} instead of {before} cycles")
    });
    let parts: Vec<String> = faster.into_iter().chain(without_rest(own)).collect();
    Some(format!(
        "{}, if these hold: {}",
        parts.join(", "),
        words(&own.promises)
    ))
}

/// The other loop that goes.
pub(super) fn without_rest(own: &PromisedLoop) -> Option<String> {
    let gone = own.before.rest && !own.after.rest;
    gone.then(|| "no second loop for the iterations that are left".to_owned())
}

/// The loop of a row, if promises make it faster.
pub(super) fn promised_loop<'db>(
    db: &'db dyn Db,
    file: File,
    row: &Row,
) -> Option<&'db PromisedLoop> {
    if row.is_inlined() {
        return None;
    }
    let (_, item) = item_at(db, file, row.span.start)?;
    let found = db::promised_sets(db, item).as_deref()?;
    found
        .iter()
        .find(|own| own.head.resolve(db, file, item) == Some(row.span))
}

/// Cycles an iteration.
pub(super) fn rate(pace: Pace) -> String {
    let text = format!("{:.2}", f64::from(pace.sets) / f64::from(pace.iterations));
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Promises as they are written in the source.
pub(super) fn words(promises: &[(Proposal, SmolStr)]) -> String {
    let apart = promises
        .iter()
        .filter_map(|(proposal, name)| match proposal {
            Proposal::Apart { .. } => Some(format!("`{name}`")),
            _ => None,
        });
    let apart: Vec<String> = apart.collect();
    let apart = (!apart.is_empty()).then(|| format!("`restrict` on {}", apart.join(", ")));
    let pragmas = pragmas(promises).into_iter();
    let pragmas = pragmas.map(|line| format!("`{line}`"));
    apart
        .into_iter()
        .chain(pragmas)
        .collect::<Vec<String>>()
        .join(", ")
}

/// The lines that a loop has above it.
pub(super) fn pragmas(promises: &[(Proposal, SmolStr)]) -> Vec<String> {
    let lines = promises
        .iter()
        .filter_map(|(proposal, name)| match proposal {
            Proposal::Apart { .. } => None,
            Proposal::Aligned { bytes, .. } => {
                Some(format!("#pragma lockstep aligned({name}, {bytes})"))
            }
            Proposal::Readable { bytes, .. } => {
                Some(format!("#pragma lockstep readable({name}, {bytes})"))
            }
            Proposal::Rounds { multiple, most, .. } => Some(format!(
                "#pragma lockstep rounds({multiple}, {most}, {multiple})"
            )),
        });
    lines.collect()
}
