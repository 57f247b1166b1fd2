//! Functions that run on one lane: whatever they compute is the same in all lanes, for there is no other.
//!
//! ```text
//! long f(int *a, long n) { long s = 0; for (...) s += a[i]; return s; }      s, a[i]: uniform; no branch parts lanes
//! ```
//! C has no launches. The claim of the analysis of lanes that another lane may have written its memory is
//! taken back; forms and trip counts stay. Accesses have no lanes to be coalesced over.

use crate::model::*;
use ir::{Function, Language};

/// Returns true if a function never has a second lane.
pub(crate) fn runs_alone(function: &Function) -> bool {
    function.language == Language::C
}

/// Facts of lanes as they are for a single one.
pub(crate) fn settle(facts: &mut FunctionFacts) {
    let values: Vec<ir::Value> = facts.values.keys().collect();
    for value in values {
        let fact = &mut facts.values[value];
        fact.class = Class::Uniform;
        fact.uniform_at = Some(Scope::Dispatch);
        fact.cause = Cause::None;
    }
    facts.temporal.clear();
    for branch in &mut facts.branches {
        branch.class = Class::Uniform;
        branch.uniform_at = Some(Scope::Dispatch);
        branch.cause = Cause::None;
        branch.divergence_cost = None;
        branch.lanes = None;
    }
    for each in &mut facts.loops {
        each.trip = Class::Uniform;
        each.uniform_at = Some(Scope::Dispatch);
        each.cause = Cause::None;
    }
    facts.accesses.clear();
    for barrier in &mut facts.barriers {
        barrier.divergent = None;
        barrier.guard = None;
    }
}
