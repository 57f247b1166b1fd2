//! The best set of versions on zero of a function: several that do not touch each other, made at once.
//!
//! The pass on the IR decides by the profile which values are worth it, and in which order: it evaluates all
//! candidates, makes the best version, and evaluates again, because a version can make another one worth
//! while. Its choice comes first, then the values that are zero most often; each is written and priced in the
//! text as if it were alone, and joins the set where it pays there and no other stands in its lines. Versions
//! apart from each other change neither each other's statements nor the values needed behind them.

use super::model::{Action, Doing};
use super::priced::SET;
use crate::db::{Db, Item};
use crate::derive::versions::{self, MOST_TRIED};
use crate::program;
use codegen::specialize::Zeros;
use codegen::specialize::accept::{Model, Rule};
use codegen::specialize::frequency::frequency;
use codegen::specialize::greedy::{self, specialize};
use codegen::specialize::source::{Candidate, Refusal, Settings, Source, candidates};
use facts::cost::Machine;
use facts::zeros::Probabilities;
use ir::{Block, EntityVec, Value};
use syntax::Span;
use syntax::c_family::ast::Function;

/// Versions of one set.
const MOST: usize = 4;

/// Values that the pass on the IR would version, best first.
pub(super) fn wanted(
    function: &ir::Function,
    probabilities: &Probabilities,
    weights: &EntityVec<Block, f64>,
    machine: &Machine,
    zeros: Zeros,
) -> Vec<Vec<Value>> {
    let settings = greedy::Settings {
        zeros,
        limit: MOST,
        ..greedy::Settings::default()
    };
    let made = specialize(function, probabilities, weights, machine, settings).made;
    let known = |value: &Value| (value.0 as usize) < function.values.len();
    let members = made.into_iter().map(|it| it.members.to_vec());
    members.filter(|all| all.iter().all(known)).collect()
}

/// Candidates in the order in which they are tried; those that the profile does not know are left out.
pub(super) fn ordered<C: Clone>(
    candidates: &[C],
    wanted: &[Vec<Value>],
    of: impl Fn(&C) -> (Vec<Value>, Option<f64>),
) -> Vec<C> {
    let mut known: Vec<(usize, f64, &C)> = Vec::new();
    for candidate in candidates {
        let (values, share) = of(candidate);
        if let Some(share) = share.filter(|&share| share > 0.0) {
            let at = wanted.iter().position(|all| *all == values);
            known.push((at.unwrap_or(usize::MAX), share, candidate));
        }
    }
    // Stable: of equals in the order of the text.
    known.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
    known.into_iter().map(|(_, _, it)| it.clone()).collect()
}

/// Versions that were chosen.
#[derive(Default, Debug)]
pub(super) struct Set {
    names: Vec<String>,
    places: Vec<Span>,
    saved: f64,
    region: f64,
}

impl Set {
    pub(super) const fn is_full(&self) -> bool {
        self.names.len() >= MOST
    }

    /// Returns true if it pays, and stands apart from the others.
    pub(super) fn add(
        &mut self,
        name: &str,
        place: Span,
        model: Option<Model>,
        probability: Option<f64>,
    ) -> bool {
        let (Some(model), Some(probability)) = (model, probability) else {
            return false;
        };
        let model = Model {
            probability,
            ..model
        };
        let apart = |other: &Span| place.end < other.start || other.end < place.start;
        if !model.accepted(Rule::Corrected) || !self.places.iter().all(apart) {
            return false;
        }
        self.names.push(format!("`{name}`"));
        self.places.push(place);
        self.saved += model.saved();
        self.region += model.region;
        true
    }

    /// `None` of less than two.
    pub(super) fn action(self, edits: Vec<(Span, String)>, machine: &Machine) -> Option<Action> {
        if self.names.len() < 2 {
            return None;
        }
        let title = format!(
            "{} versions on zero: {} (save {:.0} of {:.0} cycles a warp, estimate for {})",
            self.names.len(),
            self.names.join(", "),
            self.saved,
            self.region,
            machine.name
        );
        Some(Action {
            effect: "makes them all, each in statements of its own".to_owned(),
            what: Doing::Edit(edits),
            ..Action::rewrite(SET, title)
        })
    }
}

/// The set of a function of CUDA or HLSL, if a profile counts zeros.
pub(super) fn of_source(
    db: &dyn Db,
    item: Item<'_>,
    source: &Source<'_>,
    function: &Function,
    allowed: Settings,
    machine: &Machine,
) -> Option<Action> {
    let all = candidates(source, function);
    let lowered = all
        .iter()
        .find_map(|it| versions::function_around(db, item, it.place))?;
    let probabilities = versions::probabilities(db, item, lowered)?;
    let weights = versions::executions(db, item, lowered).unwrap_or_else(|| frequency(lowered));
    // What the author has not permitted is asked for by another action.
    let zeros = match allowed.absorb {
        true => Zeros::Absorb,
        false => Zeros::Ieee,
    };
    let wanted = wanted(lowered, &probabilities, &weights, machine, zeros);
    let order = ordered(&all, &wanted, |candidate: &Candidate| {
        let values = versions::values_of(lowered, candidate).unwrap_or_default();
        (values, versions::probability(db, item, candidate))
    });
    let mut set = Set::default();
    let mut edits = Vec::new();
    for candidate in order.into_iter().take(MOST_TRIED) {
        if set.is_full() {
            break;
        }
        let tried: Result<_, Refusal> =
            versions::attempt(db, item, source, function, &candidate, allowed);
        let Ok(offer) = tried else { continue };
        let place = offer.version.edit.0;
        if set.add(&candidate.name, place, offer.model, offer.probability) {
            edits.push(offer.version.edit);
        }
    }
    edits.sort_by_key(|(span, _)| *span);
    let after = super::model::edited(source.text, &edits)?;
    let rewritten = program::rewritten(db, item, source, &after)?;
    versions::understood(db, item, source, &rewritten).ok()?;
    set.action(edits, machine)
}
