//! The action that writes the promises which make a loop faster.
//!
//! ```text
//! Promise what makes this loop faster: 0.5 cycles an iteration instead of 2 (estimate for sc140)
//! ```
//!
//! What is offered has been written, read again, lowered and emitted; its numbers are those of the result.

use super::promised::{pragmas, promised_loop, rate, without_rest, words};
use super::{Row, rows_of_item};
use crate::db::{self, Db, File, Item};
use crate::derive::loops::in_function;
use crate::derive::sets;
use crate::program;
use crate::views::model::{Action, Doing, edited};
use codegen::loops::{Edit, ambiguous, is_head, loop_at, restricted, with_lines};
use codegen::specialize::source::Source;
use codegen::target::sc140::promised::{Pace, Proposal};
use ir::{Loc, Module, Site};
use smol_str::SmolStr;
use syntax::Span;
use syntax::c_family::ast::{Function, Stmt};

const PROMISE: &str = "promise";

/// Returns the action on the loop at a place, if promises make it faster.
pub fn actions(db: &dyn Db, file: File, range: Span) -> Vec<Action> {
    let Some(processor) = sets::processor(db, file) else {
        return Vec::new();
    };
    let mut out = Vec::new();
    in_function(
        db,
        file,
        range.start,
        &mut |item, source, function, inside| {
            let Some(statement) = loop_at(function, inside) else {
                return;
            };
            let rows = rows_of_item(db, file, item);
            let own = rows.iter().find(|row| {
                row.report.head.site == Site(0) && is_head(statement, row.report.head.span.start)
            });
            let Some(own) = own else { return };
            let Some(found) = promised_loop(db, file, own) else {
                return;
            };
            let mut action = Action::rewrite(
                PROMISE,
                match found.before.is_slower(&found.after) {
                    true => "Promise what makes this loop faster",
                    false => "Promise what makes this loop shorter",
                }
                .to_owned(),
            );
            let made = edits(source, function, statement, &found.promises).and_then(|edits| {
                let after = after(db, item, source, &edits, own)?;
                // More is promised than the loop needs if it is slower than was found.
                match after.is_behind(&found.after) {
                    true => Err(format!(
                        "written in front of the loop they bring less: {} cycles an iteration",
                        rate(after)
                    )),
                    false => Ok((after, edits)),
                }
            });
            match made {
                Ok((after, edits)) => {
                    let gain = match found.before.is_slower(&after) {
                        true => format!(
                            "{} cycles an iteration instead of {}",
                            rate(after),
                            rate(found.before)
                        ),
                        false => without_rest(found).unwrap_or_default(),
                    };
                    action.title =
                        format!("{}: {gain} (estimate for {})", action.title, processor.name);
                    action.effect = format!(
                        "nothing checks what callers pass: {}",
                        words(&found.promises)
                    );
                    action.what = Doing::Edit(edits);
                }
                Err(reason) => {
                    action.effect.clone_from(&reason);
                    action.what = Doing::Refused { reason };
                    action.quiet = true;
                }
            }
            out.push(action);
        },
    );
    out
}

fn edits(
    source: &Source<'_>,
    function: &Function,
    statement: &Stmt,
    promises: &[(Proposal, SmolStr)],
) -> Result<Vec<Edit>, String> {
    let apart = promises.iter();
    let apart: Vec<SmolStr> = apart
        .filter(|(proposal, _)| matches!(proposal, Proposal::Apart { .. }))
        .map(|(_, name)| name.clone())
        .collect();
    let names: Vec<SmolStr> = promises.iter().map(|(_, name)| name.clone()).collect();
    if let Some(name) = ambiguous(function, &names) {
        return Err(format!(
            "`{name}` means another variable in a part of the function"
        ));
    }
    let refused = |reason: codegen::loops::Refusal| reason.to_string();
    let mut out = restricted(source, function, &apart).map_err(refused)?;
    let lines = pragmas(promises);
    if !lines.is_empty() {
        out.push(with_lines(source, statement, &lines).map_err(refused)?);
    }
    Ok(out)
}

/// The pace of the loop in the changed text.
fn after(
    db: &dyn Db,
    item: Item<'_>,
    source: &Source<'_>,
    edits: &[Edit],
    row: &Row,
) -> Result<Pace, String> {
    let gone = || "the loop is not found in the changed text".to_owned();
    let text = edited(source.text, edits).ok_or("the edits overlap")?;
    let rewritten = program::rewritten(db, item, source, &text).ok_or_else(gone)?;
    let heads = |module: &Module| {
        let loops = module
            .functions
            .first()
            .map(|function| function.loops.as_slice());
        let own = loops.unwrap_or_default().iter().map(|it| it.loc);
        let mut heads: Vec<Loc> = own.filter(|loc| loc.site == Site(0)).collect();
        heads.sort_by_key(|loc| loc.span);
        heads
    };
    // Loops keep their order.
    let old = heads(&db::lowered(db, item).first().ok_or_else(gone)?.module);
    let module = &rewritten.lowered.first().ok_or_else(gone)?.module;
    let number = old.iter().position(|head| *head == row.report.head);
    let head = number
        .and_then(|number| heads(module).get(number).copied())
        .ok_or_else(gone)?;
    let reports = sets::loops_of(db, item, module).ok_or_else(gone)?;
    let report = reports
        .into_iter()
        .find(|report| report.head == head)
        .ok_or_else(gone)?;
    Ok(Pace::of(&report))
}
