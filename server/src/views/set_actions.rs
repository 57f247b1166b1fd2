//! Pieces of assembly in fewer execution sets, as actions: the one at a place, and all of a file.

use super::model::{Action, Doing};
use crate::db::{self, Db, File};
use codegen::target::sc140::repack::{KeptReason, Outcome};
use syntax::Span;

const PIECE: &str = "re-pack";
const FILE: &str = "re-pack-file";

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
