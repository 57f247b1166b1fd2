//! Values that most of the recorded ways never read: hints, hovers, findings, and the action that moves them to where they are
//! read.

use super::model::{Action, Category, Diagnostic, Doing, Hint};
use super::zeros::percent;
use crate::config::Level;
use crate::db::{self, Db, File, Item};
use crate::derive::partly_dead::{DeadRow, Offer, Remaining, Tried, at};
use crate::derive::ptx_versions::Trying;
use crate::program::{self, Language};
use codegen::specialize::source::sink_dead::Counts;
use facts::Code;
use std::fmt::Write;
use syntax::{FileId, Span};

const ID: &str = "sink-dead";

/// The move of the statement at a place, or the reason why it stays.
pub fn actions(db: &dyn Db, file: File, range: Span) -> Vec<Action> {
    if !range.is_empty() {
        return Vec::new();
    }
    if file.language(db) == Language::Ptx {
        return of_ptx(db, file, range.start).into_iter().collect();
    }
    at(db, file, range.start).map(action).into_iter().collect()
}

/// The move of a statement of PTX.
fn of_ptx(db: &dyn Db, file: File, offset: u32) -> Option<Action> {
    let (place, item) = program::item_at(db, file, offset)?;
    let trying = Trying::new(db, file, item)?;
    let tried = trying.sink(offset.saturating_sub(place.start))?;
    let mut out = Action::rewrite(ID, "Move the statement to where it is read".to_owned());
    match tried {
        Ok(sunk) => {
            let name = &sunk.name;
            out.title = match sunk.executions {
                Some((before, after)) => format!(
                    "Move `{name}` to where it is read: {} of its executions remain",
                    percent(after / before)
                ),
                None => format!("Move `{name}` to where it is read"),
            };
            let mut parts = Vec::new();
            if sunk.copies > 1 {
                parts.push(format!(
                    "{} copies, of which each way executes one",
                    sunk.copies
                ));
            }
            parts.push(match (sunk.executions, trying.profiled) {
                (Some(_), _) => "executions are those of warps, by the profile".to_owned(),
                (None, true) => "on no way it is executed more often, and on some not at all; the profile counts blocks, which do not tell how often the branch is taken in front of which it would stand".to_owned(),
                (None, false) => "on no way it is executed more often, and on some not at all; how often each is taken `lockstep profile` tells".to_owned(),
            });
            parts.push(format!(
                "an execution costs a warp about {:.0} cycles (estimate, {})",
                sunk.price, trying.machine.name
            ));
            if sunk.loads {
                parts.push("what it loads arrives later than before".to_owned());
            }
            out.effect = parts.join("; ");
            let edits = sunk.edits.into_iter();
            let edits = edits.map(|(span, text)| (span.shifted(place.start), text));
            out.what = Doing::Edit(edits.collect());
        }
        Err(stay) => {
            out.quiet = stay.quiet();
            out.effect = stay.to_string();
            out.what = Doing::Refused {
                reason: out.effect.clone(),
            };
        }
    }
    Some(out)
}

fn action(tried: Tried) -> Action {
    let name = &tried.name;
    let mut out = Action::rewrite(ID, format!("Move `{name}` to where it is read"));
    match tried.result {
        Ok(offer) => {
            out.title = title(name, &offer);
            out.effect = effect(&offer);
            out.what = Doing::Edit(offer.plan.edits);
        }
        Err(refusal) => {
            out.quiet = refusal.quiet();
            out.effect = refusal.to_string();
            out.what = Doing::Refused {
                reason: out.effect.clone(),
            };
        }
    }
    out
}

/// ``Move `w` to where it is read: 27 of 100 executions remain``
fn title(name: &str, offer: &Offer) -> String {
    if offer.plan.copies.is_empty() {
        return format!("Remove the computation of `{name}`: nothing reads it");
    }
    let flag = match offer.plan.flagged {
        true => ", under a flag",
        false => "",
    };
    match offer.plan.counts {
        Counts::Profiled { walked, .. } => format!(
            "Move `{name}` to where it is read{flag}: {} of {} executions remain",
            walked.executed, walked.before
        ),
        Counts::Ways { fewer, all } => {
            format!(
                "Move `{name}` to where it is read: {fewer} of {all} ways through the code do without it"
            )
        }
    }
}

fn effect(offer: &Offer) -> String {
    let mut parts = Vec::new();
    let plan = &offer.plan;
    if plan.copies.len() > 1 {
        parts.push(format!(
            "{} copies, of which each way executes one",
            plan.copies.len()
        ));
    }
    match plan.counts {
        Counts::Profiled { walked, whole } => {
            let share = walked.removed() as f64 / walked.before.max(1) as f64;
            let mut text = format!(
                "{} of the executions that the profile counted go",
                percent(share)
            );
            if walked.suppressed > 0 {
                let about = if whole { "" } else { "about " };
                let _ = write!(
                    text,
                    ", {about}{} times the flag is tested in vain",
                    walked.suppressed
                );
            }
            if offer.recursive {
                text += "; the function calls itself, and what inner calls execute is not counted";
            }
            if !offer.exact {
                text += "; the code has changed since it was profiled";
            }
            parts.push(text);
        }
        Counts::Ways { .. } if offer.edges_alone => parts.push(
            "on no way it is executed more often; the profile counts edges alone, which do not tell how often each way is taken"
                .to_owned(),
        ),
        Counts::Ways { .. } => parts.push(
            "on no way it is executed more often; how often each is taken `lockstep profile` tells"
                .to_owned(),
        ),
    }
    parts.push(match offer.lanes {
        true => format!(
            "an execution costs a warp about {:.0} cycles (estimate, {}), of which it is spared where none of its lanes reads it",
            offer.price, offer.machine
        ),
        false => format!(
            "its operations cost about {:.0} cycles (estimate, {})",
            offer.price, offer.machine
        ),
    });
    if plan.loads {
        parts.push(
            "what it loads arrives later than before, unless a compiler moves the load up again"
                .to_owned(),
        );
    }
    parts.join("; ")
}

/// `dead in 73 %`, behind the variable that is set.
pub fn hints(db: &dyn Db, item: Item<'_>) -> Vec<Hint> {
    let place = item.place(db);
    if place.file != FileId::MAIN {
        return Vec::new();
    }
    let rows = db::partly_dead(db, item).iter();
    let told = rows.filter(|row| row.matters());
    told.map(|row| {
        let span = row.place.shifted(place.start);
        Hint {
            offset: span.end,
            label: format!(" {}", label(row)),
            category: Category::Dead,
            about: span.start,
        }
    })
    .collect()
}

fn label(row: &DeadRow) -> String {
    match row.counts.least == row.counts.most {
        true => format!("dead in {}", percent(row.counts.share())),
        false => format!("dead in at least {}", percent(row.counts.share())),
    }
}

/// The lines of a hover about the definition at a place of an item.
pub fn hover(db: &dyn Db, item: Item<'_>, span: Span) -> Option<String> {
    let row = db::partly_dead(db, item)
        .iter()
        .find(|row| row.place == span)?;
    let bound = match row.counts.least == row.counts.most {
        true => "",
        false => "at least ",
    };
    let mut out = format!(
        "**{}** — nothing reads {bound}{} of its {} executions by lanes, by the profile",
        label(row),
        row.counts.least,
        row.counts.executions
    );
    if !row.exact {
        out += "; the code has changed since";
    }
    if let Some(moved) = row.moved {
        let _ = write!(
            out,
            "\n\n`{ID}` moves it to where it is read: {} remain",
            remaining(moved)
        );
    }
    Some(out)
}

/// `27 executions`, `50 % of its executions by warps`
pub fn remaining(moved: Remaining) -> String {
    match moved {
        Remaining::Lanes(0) => "no executions".to_owned(),
        Remaining::Lanes(executed) => format!("{executed} executions"),
        Remaining::Warps(share) => format!("{} of its executions by warps", percent(share)),
    }
}

/// The findings about an item's definitions: those that can be moved.
pub fn findings(db: &dyn Db, item: Item<'_>) -> Vec<Diagnostic> {
    let place = item.place(db);
    if place.file != FileId::MAIN {
        return Vec::new();
    }
    let rows = db::partly_dead(db, item).iter();
    let told = rows.filter(|row| row.matters());
    told.filter_map(|row| {
        let remaining = remaining(row.moved?);
        Some(Diagnostic {
            code: Code::PartiallyDead.name(),
            level: Level::Information,
            span: row.place.shifted(place.start),
            message: format!(
                "`{}` is computed {} times in the profiled runs, and nothing reads it in {} of them: moved to where it is read, {remaining} remain",
                row.variable,
                row.counts.executions,
                percent(row.counts.share()),
            ),
            related: Vec::new(),
            fix: None,
            item: item.name(db).to_string(),
            finding: Some(Code::PartiallyDead),
        })
    })
    .collect()
}
