//! Pieces of assembly in fewer execution sets, as actions: the one at a place, and all of a file; the function at a place with
//! fewer loads from the stack and stores there.

use super::model::{Action, Doing};
use crate::db::{self, Db, File};
use crate::derive::repacked::reduced_at;
use codegen::target::sc140::repack::{KeptReason, Outcome};
use codegen::target::sc140::slots::SlotOutcome;
use syntax::Span;

const PIECE: &str = "re-pack";
const FILE: &str = "re-pack-file";
const SPILLS: &str = "reduce-spills";

/// Re-packing of the piece at a place and of the whole file.
pub(super) fn actions(db: &dyn Db, file: File, range: Span) -> Vec<Action> {
    let pieces = db::repacked(db, file);
    let mut out = Vec::new();
    let here = pieces
        .iter()
        .find(|piece| piece.span.start <= range.start && range.start <= piece.span.end);
    if let Some(piece) = here {
        let mut action = Action::rewrite(PIECE, "Re-pack this piece".into());
        match &piece.outcome {
            Outcome::Rewritten {
                text,
                after,
                proved,
            } => {
                action.title = format!(
                    "Re-pack this piece: {} to {} sets, {} to {} words",
                    piece.before.sets, after.sets, piece.before.words, after.words
                );
                action.effect = match proved {
                    true => "no order has fewer sets".into(),
                    false => "an order with fewer sets may exist".into(),
                };
                action.what = Doing::Edit(vec![(piece.span, text.clone())]);
            }
            Outcome::Kept(reason) => {
                let reason = match reason {
                    KeptReason::NothingGained { proved: true } => {
                        "nothing is gained: no order has fewer sets".into()
                    }
                    other => other.to_string(),
                };
                action.effect.clone_from(&reason);
                action.what = Doing::Refused { reason };
                action.quiet = true;
            }
        }
        out.push(action);
    }
    out.extend(spills(db, file, range));
    let mut edits = Vec::new();
    let (mut sets, mut words) = ((0, 0), (0, 0));
    for piece in pieces {
        if let Outcome::Rewritten { text, after, .. } = &piece.outcome {
            edits.push((piece.span, text.clone()));
            sets = (sets.0 + piece.before.sets, sets.1 + after.sets);
            words = (words.0 + piece.before.words, words.1 + after.words);
        }
    }
    if edits.len() > 1 {
        let count = edits.len();
        let title = format!(
            "Re-pack the file: {} to {} sets in {count} of {} pieces",
            sets.0,
            sets.1,
            pieces.len()
        );
        let mut action = Action::rewrite(FILE, title);
        action.effect = format!("{} to {} words", words.0, words.1);
        action.what = Doing::Edit(edits);
        out.push(action);
    }
    out
}

/// The function at a place without the accesses of its frame that registers spare.
fn spills(db: &dyn Db, file: File, range: Span) -> Option<Action> {
    let found = reduced_at(db, file, range.start)?;
    let mut action = Action::rewrite(SPILLS, format!("Reduce spills of `{}`", found.name));
    match found.outcome {
        SlotOutcome::Reduced {
            text,
            before,
            after,
        } => {
            action.title = format!(
                "Reduce spills of `{}`: {} to {} loads, {} to {} stores, {} to {} sets",
                found.name,
                before.loads,
                after.loads,
                before.stores,
                after.stores,
                before.sets,
                after.sets
            );
            action.effect =
                "what registers hold is not loaded again, what nothing loads not stored; re-packed"
                    .to_owned();
            action.what = Doing::Edit(vec![(found.span, text)]);
        }
        SlotOutcome::Kept(reason) => {
            let line = |span: Span| db::line_index(db, file).line_column(span.start).0 + 1;
            let at = reason.place().map(|span| format!(" (line {})", line(span)));
            let reason = format!("{reason}{}", at.unwrap_or_default());
            action.effect.clone_from(&reason);
            action.what = Doing::Refused { reason };
            action.quiet = true;
        }
    }
    Some(action)
}
