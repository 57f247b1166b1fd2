//! The action that evaluates an expression ahead of the ways that evaluate it again.

use super::model::{Action, Doing};
use super::zeros::percent;
use crate::db::{Db, File};
use crate::derive::speculation::{Offer, at};
use codegen::specialize::source::speculate::Refusal;
use syntax::Span;

const ID: &str = "speculate-expression";

/// The expression at a place evaluated ahead, or the reason why it is not.
pub fn actions(db: &dyn Db, file: File, range: Span) -> Vec<Action> {
    let Some(tried) = at(db, file, range) else {
        return Vec::new();
    };
    let mut action = Action::rewrite(ID, "Evaluate the expression ahead".to_owned());
    match tried {
        Ok(offer) => {
            let plan = &offer.plan;
            action.title = format!(
                "Evaluate `{}` ahead: {} evaluations in the place of {}",
                plan.text, plan.after, plan.before
            );
            action.effect = effect(&offer);
            action.what = Doing::Edit(offer.plan.edits);
        }
        Err(Refusal::NoExpression) => return Vec::new(),
        Err(refusal) => {
            action.quiet = refusal.quiet();
            action.effect = refusal.to_string();
            action.what = Doing::Refused {
                reason: action.effect.clone(),
            };
        }
    }
    vec![action]
}

fn effect(offer: &Offer) -> String {
    let plan = &offer.plan;
    let share = plan.before.saturating_sub(plan.after) as f64 / plan.before.max(1) as f64;
    let mut text = format!(
        "{} of these evaluations go, by the profile; `{}` is read in {} places; an evaluation costs about {:.0} cycles (estimate, {})",
        percent(share),
        plan.name,
        plan.replaced,
        offer.price,
        offer.machine
    );
    if plan.speculative > 0 {
        text += "; some ways may evaluate in vain what they did not evaluate before";
    }
    if !offer.exact {
        text += "; the code has changed since it was profiled";
    }
    text
}
