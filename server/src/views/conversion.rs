//! The action that makes predicates of a branch: of C on a processor that has them `#pragma lockstep if_convert` above the `if`,
//! which `emit` and the code beside the source obey; of PTX the predicates themselves.

use super::model::{Action, Doing, edited};
use crate::db::{self, Db, File, Item};
use crate::derive::loops::{conversions, in_shown_function};
use crate::derive::ptx_versions::Trying;
use crate::derive::versions::executions;
use crate::program::{self, Language};
use codegen::loops::{Pragma, branch_at, pragma_of, with_pragma, without_pragma};
use codegen::predicate::hammocks::Conversion;
use codegen::specialize::source::Source;
use ir::{Function, Site};
use syntax::Span;
use syntax::c_family::ast::{Condition, Stmt, StmtKind};

const ID: &str = "if-convert-region";
const REMOVE: &str = "remove-if-convert";
/// Said of branches in sides.
const LATE: &str = "{} at the end, under predicates: predicted on all ways, and without the converted branch in their history";
const LINE: &str = "#pragma lockstep if_convert";

/// The branch whose head is at a place, as predicates, or the reason why it stays a branch.
pub fn actions(db: &dyn Db, file: File, range: Span) -> Vec<Action> {
    if file.language(db) == Language::Ptx {
        return of_ptx(db, file, range.start).into_iter().collect();
    }
    let mut out = Vec::new();
    in_shown_function(
        db,
        file,
        range.start,
        &mut |item, source, function, inside| {
            let Some(statement) = branch_at(function, inside) else {
                return;
            };
            out.extend(match pragma_of(statement, Pragma::IfConvert) {
                Some(known) => without_pragma(source, known).ok().map(|edit| {
                    let mut action = Action::rewrite(REMOVE, "Leave it a branch".to_owned());
                    action.what = Doing::Edit(vec![edit]);
                    action
                }),
                None => Some(converted(db, file, item, source, statement)),
            });
        },
    );
    out
}

/// The branch of PTX at a place.
fn of_ptx(db: &dyn Db, file: File, offset: u32) -> Option<Action> {
    let (place, item) = program::item_at(db, file, offset)?;
    let trying = Trying::new(db, file, item)?;
    let tried = trying.convert(offset.saturating_sub(place.start))?;
    let mut out = Action::rewrite(ID, "If-convert the branch".to_owned());
    match tried {
        Ok(made) => {
            let cycles = made.cycles;
            let (compared, when) = match made.parts {
                true => (cycles.parted, "where its lanes part"),
                false => (
                    cycles.taken.max(cycles.passed),
                    "on the longer side, for all its lanes",
                ),
            };
            out.title = format!(
                "If-convert the branch: {} cycles of a warp for {} {when} (estimate for {})",
                tenths(cycles.converted),
                tenths(compared),
                trying.machine.name
            );
            let count: usize = made.statements.iter().sum();
            out.effect = format!(
                "{count} statement{} under `{}`, and no place where lanes meet again; {} cycles today where a whole warp jumps, {} where none of its lanes does",
                if count == 1 { "" } else { "s" },
                made.predicate,
                tenths(cycles.taken),
                tenths(cycles.passed)
            );
            if let Some((before, after)) = made.profiled {
                out.effect += &format!(
                    "; by the profile {} cycles of a warp for {}, without those that lanes wait to meet",
                    tenths(after),
                    tenths(before)
                );
            }
            let edits = made.edits.into_iter();
            let edits = edits.map(|(span, text)| (span.shifted(place.start), text));
            out.what = Doing::Edit(edits.collect());
        }
        Err(why) => {
            out.quiet = why.quiet();
            out.effect = why.to_string();
            out.what = Doing::Refused {
                reason: out.effect.clone(),
            };
        }
    }
    Some(out)
}

fn converted(
    db: &dyn Db,
    file: File,
    item: Item<'_>,
    source: &Source<'_>,
    statement: &Stmt,
) -> Action {
    let mut action = Action::rewrite(ID, "If-convert the branch".to_owned());
    let tried = attempt(db, file, item, source, statement);
    match tried {
        Ok((edit, made)) => {
            action.title = format!(
                "If-convert the branch: {} cycles for {} (estimate for {})",
                tenths(made.after),
                tenths(made.before),
                db::processor(db, program::settings(db, file)).name
            );
            let left = match made.exits {
                0 => "no branch is left to mispredict".to_owned(),
                1 => LATE.replace("{}", "1 branch that leaves its sides stays"),
                exits => LATE.replace("{}", &format!("{exits} branches that leave its sides stay")),
            };
            action.effect = format!(
                "{left}; {} operations are fetched on both ways",
                made.operations
            );
            if !made.counted {
                action.effect +=
                    "; compared with the shortest way, as no profile says which is usual";
            }
            if let Some(row) = counted(db, item, statement) {
                action.effect = format!("{row}; {}", action.effect);
            }
            if made.after >= made.before {
                action.effect += "; it gains nothing by the estimate";
            }
            action.what = Doing::Edit(vec![edit]);
        }
        Err(reason) => {
            action.quiet = true;
            action.effect.clone_from(&reason);
            action.what = Doing::Refused { reason };
        }
    }
    action
}

fn tenths(cycles: f64) -> String {
    let text = format!("{cycles:.1}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

/// The edit, and its effect on the code.
fn attempt(
    db: &dyn Db,
    file: File,
    item: Item<'_>,
    source: &Source<'_>,
    statement: &Stmt,
) -> Result<(codegen::loops::Edit, Conversion), String> {
    let lost = || "the branch is not found in the changed text".to_owned();
    let StmtKind::If {
        condition: Condition::Expr(condition),
        ..
    } = &statement.kind
    else {
        return Err("its condition declares a variable".to_owned());
    };
    let edit = with_pragma(source, statement, Pragma::IfConvert, LINE);
    let edit = edit.map_err(|refusal| refusal.to_string())?;
    let text = edited(source.text, std::slice::from_ref(&edit)).ok_or_else(lost)?;
    let rewritten = program::rewritten(db, item, source, &text).ok_or_else(lost)?;
    let module = &rewritten.lowered.first().ok_or_else(lost)?.module;
    let function = module.functions.first().ok_or_else(lost)?;
    // The line above moves all that is behind it.
    let grown = edit.1.len() as u32 - (edit.0.end - edit.0.start);
    let before = edit.0.start.saturating_sub(source.start) <= condition.span.start;
    let moved = source.start + condition.span.start + if before { grown } else { 0 };
    let start = moved.checked_sub(rewritten.start).ok_or_else(lost)?;
    let weights = weights(db, item, function);
    let found = conversions(db, file, module, weights)
        .ok_or_else(|| "the function has no code for this processor".to_owned())?;
    let here = |loc: ir::Loc| loc.site == Site(0) && loc.span.start == start;
    if let Some(made) = found.made.into_iter().find(|made| here(made.loc)) {
        return Ok((edit, made));
    }
    Err(match found.kept.into_iter().find(|(loc, _)| here(*loc)) {
        Some((_, why)) => format!("it stays a branch: {why}"),
        None => "the code has no such branch: its loop is pipelined, it is part of another condition, or a constant decides it".to_owned(),
    })
}

/// Returns the executions of each block by the profile, where it has the same blocks.
fn weights(db: &dyn Db, item: Item<'_>, function: &Function) -> Option<Vec<f64>> {
    let before = db::lowered(db, item).first()?.module.functions.first()?;
    if before.blocks.len() != function.blocks.len() {
        return None;
    }
    let known = executions(db, item, before)?;
    Some(known.values().copied().collect())
}

/// Returns the statement of the profile about the branch.
fn counted(db: &dyn Db, item: Item<'_>, statement: &Stmt) -> Option<String> {
    let StmtKind::If { then, .. } = &statement.kind else {
        return None;
    };
    let mut rows = db::branches(db, item).iter();
    let row =
        rows.find(|row| statement.span.start <= row.span.start && row.span.end <= then.span.start)?;
    Some(format!(
        "{} of {} executions were mispredicted in the profiled runs",
        row.counts.mispredicted, row.counts.executed
    ))
}
