//! Versions on zero: offered at the cursor, with their saving, or the reason for refusal; and taken back.
//!
//! Every version that is offered has been written, judged by the checker, read again and lowered; the figure
//! in the title is that of the rewritten function. Without a profile it is the share of warps with a zero
//! from which on the version pays.

use super::model::{Action, ActionKind, Doing};
use super::priced::{APPLY, FAST, REMOVE, SKIP, SKIP_FAST, action};
use super::ranked::rank;
use crate::db::{self, Db, File, Item};
use crate::derive::versions::{attempt, settings, with_source};
use crate::program::{self, Language};
use codegen::specialize::source::{Refusal, Settings, candidate_at, function_at, remove};
use syntax::Span;

/// Returns the versions that can be made or taken back at a place.
pub fn actions(db: &dyn Db, file: File, range: Span) -> Vec<Action> {
    let text = program::text(file.source(db));
    let mut found = Vec::new();
    if file.language(db) == Language::Ptx {
        return super::ptx_versions::actions(db, file, range);
    }
    if file.language(db).c_dialect().is_none() {
        return found;
    }
    let lanes = file.language(db) != Language::C;
    let offset = range.start;
    if let Some(removal) = remove(text, offset) {
        let lines = removal.edit.1.lines().count();
        found.push(Action {
            id: REMOVE.to_owned(),
            title: format!("Remove the version on zero of `{}`", removal.name),
            kind: ActionKind::Rewrite,
            preferred: false,
            effect: format!("leaves the {lines} lines of the slow path as they were"),
            what: Doing::Edit(vec![removal.edit]),
            diagnostic: None,
            quiet: false,
        });
    }
    let Some((place, item)) = program::item_at(db, file, offset) else {
        return found;
    };
    if !item.holds(db).code {
        return found;
    }
    let parsed = db::parsed(db, item);
    with_source(db, file, item, place, parsed, |source| {
        let inside = offset.saturating_sub(place.start);
        let Some(function) = function_at(parsed, inside) else {
            return;
        };
        let allowed = settings(db, file, item);
        let machine = program::costs_of(db, file);
        // The head of a function stands for all of it.
        let within = match range.is_empty() {
            true if inside < function.signature_span.end => Some(function.span).filter(|_| lanes),
            true => None,
            false => {
                Some(Span::new(inside, range.end.saturating_sub(place.start))).filter(|_| lanes)
            }
        };
        if let Some(within) = within {
            let best = super::ranked::actions(db, item, source, function, within, allowed, machine);
            found.extend(best);
            return;
        }
        let Some(candidate) = candidate_at(source, function, inside) else {
            return;
        };
        let mut offered: Vec<(f64, Action)> = Vec::new();
        let mut add = |id: &str, settings: Settings| {
            let tried = attempt(db, item, source, function, &candidate, settings);
            let ieee = tried == Err(Refusal::Ieee);
            let gain = tried.as_ref().ok().and_then(rank);
            let made = action(id, &candidate, tried, machine, settings, lanes);
            offered.push((gain.unwrap_or(f64::NEG_INFINITY), made));
            ieee
        };
        let mut offer = |ids: [&str; 2], settings: Settings| {
            if add(ids[0], settings) {
                let permitted = Settings {
                    absorb: true,
                    ..settings
                };
                add(ids[1], permitted);
            }
        };
        let each_lane = Settings {
            each_lane: true,
            ..allowed
        };
        if lanes {
            offer([APPLY, FAST], allowed);
        }
        offer([SKIP, SKIP_FAST], each_lane);
        // The better comes first.
        offered.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        // In C, where loops and statements have other actions, a refusal that says nothing is none.
        let says = |action: &Action| lanes || !action.quiet;
        let all = offered.into_iter().map(|(_, action)| action);
        found.extend(all.filter(says));
    });
    found
}

/// Returns whether a version of the variable that is set at a place of an item would pay, in a sentence for
/// its hover; a refusal with its reason, where that says something.
pub fn verdict(db: &dyn Db, file: File, item: Item<'_>, at: Span) -> Option<String> {
    file.language(db)
        .c_dialect()
        .filter(|_| file.language(db) != Language::C)?;
    let place = item.place(db);
    let parsed = db::parsed(db, item);
    let mut said = None;
    with_source(db, file, item, place, parsed, |source| {
        let candidate = function_at(parsed, at.start)
            .and_then(|f| Some((f, candidate_at(source, f, at.start)?)));
        let Some((function, candidate)) = candidate.filter(|(_, it)| it.place == at) else {
            return;
        };
        let allowed = settings(db, file, item);
        let machine = &**db::charges(db, program::settings(db, file));
        let tried = attempt(db, item, source, function, &candidate, allowed);
        let action = action(APPLY, &candidate, tried, machine, allowed, true);
        if !action.quiet {
            said = Some(match action.what {
                Doing::Refused { reason } => format!("no version on zero: {reason}"),
                _ => action.title,
            });
        }
    });
    said
}
