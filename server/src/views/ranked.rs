//! The best versions on zero of a whole function or a selection, by their predicted saving.

use super::model::{Action, Doing};
use super::priced::{self, APPLY, FAST};
use crate::db::{Db, Item};
use crate::derive::versions::{self, MOST_TRIED, Offer};
use crate::derive::zeros;
use codegen::specialize::accept::Model;
use codegen::specialize::source::{Candidate, Refusal, Settings, Source, candidates};
use facts::cost::Machine;
use syntax::Span;
use syntax::c_family::ast::Function;

/// Versions that are offered.
const MOST_OFFERED: usize = 5;
/// The most refusals that are reported if nothing is offered.
const MOST_REFUSED: usize = 3;

/// Versions of the variables set within a range of the item, best first. With a profile by the cycles that they save;
/// without one those that could be zero for structural reasons, by the share of zeros from which on they pay. Those that
/// are refused are not among them, unless nothing is offered for a whole function: then the best of them say why.
pub(super) fn actions(
    db: &dyn Db,
    item: Item<'_>,
    source: &Source<'_>,
    function: &Function,
    within: Span,
    allowed: Settings,
    machine: &Machine,
) -> Vec<Action> {
    let inside = |candidate: &Candidate| {
        within.start <= candidate.place.start && candidate.place.end <= within.end
    };
    let profiled = zeros::stored(db, item.main(db)).is_some();
    let lowered = versions::function_around(db, item, within);
    let promising = |candidate: Candidate| {
        let share = versions::probability(db, item, &candidate);
        if !profiled && !structural(lowered?, &candidate) {
            return None;
        }
        Some((share.unwrap_or(0.0), candidate))
    };
    let mut all = candidates(source, function);
    all.retain(inside);
    let mut known: Vec<(f64, Candidate)> = all.iter().cloned().filter_map(promising).collect();
    // Where nothing promises a zero, why not is all that there is to say.
    let promises = !known.is_empty();
    if !promises && range_is_whole(within, function) {
        known = all.into_iter().map(|candidate| (0.0, candidate)).collect();
    }
    // Stable: without a profile in the order of the text.
    known.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut ranked: Vec<(f64, Action)> = Vec::new();
    let mut refused: Vec<Action> = Vec::new();
    for (_, candidate) in known.into_iter().take(MOST_TRIED) {
        let tried = versions::attempt(db, item, source, function, &candidate, allowed);
        let mut settings = allowed;
        let tried = match tried {
            Err(Refusal::Ieee) => {
                settings.absorb = true;
                versions::attempt(db, item, source, function, &candidate, settings)
            }
            tried => tried,
        };
        let Ok(offer) = &tried else {
            refused.push(priced::action(
                APPLY, &candidate, tried, machine, settings, true,
            ));
            continue;
        };
        let Some(rank) = rank(offer) else { continue };
        let id = match settings.absorb == allowed.absorb {
            true => APPLY,
            false => FAST,
        };
        let action = priced::action(id, &candidate, tried, machine, settings, true);
        match action.what {
            Doing::Edit(_) if !promises => {}
            Doing::Edit(_) => ranked.push((rank, action)),
            _ => refused.push(action),
        }
    }
    let mut all = offered(ranked);
    if range_is_whole(within, function) && profiled {
        let set = super::version_set::of_source(db, item, source, function, allowed, machine);
        all.extend(set);
    }
    if all.is_empty() && range_is_whole(within, function) {
        // Of equals those that are zero most often come first.
        refused.sort_by_key(|action| action.quiet);
        for mut action in refused.into_iter().take(MOST_REFUSED) {
            action.id = super::model::numbered(&all, action.id);
            // Whoever asks at the head of a function wants to know of what could be zero.
            action.quiet &= !promises;
            all.push(action);
        }
    }
    all
}

fn range_is_whole(within: Span, function: &Function) -> bool {
    within == function.span
}

/// Returns whether the operation that makes a candidate yields zeros.
fn structural(function: &ir::Function, candidate: &Candidate) -> bool {
    if !candidate.is_operand() {
        return zeros::structural(function, candidate.place).is_some();
    }
    let values = versions::values_of(function, candidate).unwrap_or_default();
    values
        .iter()
        .any(|&value| match function.values[value].def {
            ir::ValueDef::Result(inst, _) => facts::zeros::originator(function, inst).is_some(),
            ir::ValueDef::Param(..) => false,
        })
}

/// The best, numbered.
pub(super) fn offered(mut ranked: Vec<(f64, Action)>) -> Vec<Action> {
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut best: Vec<Action> = Vec::new();
    for (_, mut action) in ranked.into_iter().take(MOST_OFFERED) {
        action.id = super::model::numbered(&best, action.id);
        best.push(action);
    }
    best
}

/// The greater, the better. `None`: there is no estimate.
pub(super) fn rank(offer: &Offer) -> Option<f64> {
    worth(offer.model?, offer.probability)
}

/// Returns the rank of a version: with a profile the cycles that are saved, without one a number that is
/// less, the more zeros it takes.
pub(super) fn worth(model: Model, probability: Option<f64>) -> Option<f64> {
    match probability {
        Some(probability) => Some(
            Model {
                probability,
                ..model
            }
            .saved(),
        ),
        None => model.break_even().map(|share| -share),
    }
}
