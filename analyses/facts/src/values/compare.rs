//! The similarity of two profiles of one program: does an optimisation made for the first run suit the
//! second?
//!
//! Places are matched by key; instructions that only one run executed count in `overlap` alone. The shares of `same`
//! and `find` come in two readings, because the paper's text and its tables disagree: the counts of the matched values
//! divided by the executions of the places considered (the text), or by the counts of their top values (the tables).
//!
//! Source: Calder, Feller, Eustace, *Value Profiling*, MICRO-30, 1997, section 5; notes, section 5.

use super::profiler::{ValueProfile, share};
use std::collections::BTreeMap;

/// Places less invariant than this (Inv-1 in the first profile) are no target of a specialisation.
pub const INVARIANT: f64 = 0.30;
/// Values of the second profile among which one is looked for.
const TOP: usize = 5;

/// A share in both readings, 0 to 1.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Matched {
    /// The share of the executions of the places considered.
    pub of_executions: f64,
    /// The share of the executions that gave the values looked for.
    pub of_values: f64,
    /// Executions that gave the values looked for, of the executions of all places that both runs have.
    pub considered: f64,
}

#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Comparison {
    /// Executions of the first run at places that the second executes too.
    pub overlap: f64,
    /// Mean of |Inv-1 - Inv-1'| and |Inv-5 - Inv-5'|, weighted by the executions of the first run.
    pub diff_1: f64,
    pub diff_5: f64,
    /// The top value is the same in both.
    pub same_1: Matched,
    /// The top value of the first is among the top five of the second.
    pub find_1: Matched,
    /// Each of the top five values of the first, among the top five of the second.
    pub find_5: Matched,
}

/// Compares two runs, place by place.
#[must_use]
pub fn compare<K: Ord>(
    first: &BTreeMap<K, ValueProfile>,
    second: &BTreeMap<K, ValueProfile>,
) -> Comparison {
    let executed: u64 = first.values().map(|value| value.executions).sum();
    let both: Vec<(&ValueProfile, &ValueProfile)> = first
        .iter()
        .filter_map(|(key, it)| Some((it, second.get(key).filter(|two| two.executions > 0)?)))
        .collect();
    let common: u64 = both.iter().map(|(it, _)| it.executions).sum();
    let difference = |m: usize| {
        let sum: f64 = both
            .iter()
            .map(|(it, two)| it.executions as f64 * (it.invariance(m) - two.invariance(m)).abs())
            .sum();
        if common == 0 {
            0.0
        } else {
            sum / common as f64
        }
    };
    let invariant: Vec<(&ValueProfile, &ValueProfile)> = both
        .iter()
        .copied()
        .filter(|(it, _)| it.invariance(1) > INVARIANT)
        .collect();
    let matched = |wanted: usize, within: usize| {
        let considered: u64 = invariant.iter().map(|(it, _)| it.executions).sum();
        let (mut found, mut all) = (0, 0);
        for (each, two) in &invariant {
            for entry in each.top.iter().take(wanted) {
                all += entry.count;
                if two
                    .top
                    .iter()
                    .take(within)
                    .any(|other| other.value == entry.value)
                {
                    found += entry.count;
                }
            }
        }
        Matched {
            of_executions: share(found, considered),
            of_values: share(found, all),
            considered: share(all, common),
        }
    };
    Comparison {
        overlap: share(common, executed),
        diff_1: difference(1),
        diff_5: difference(TOP),
        same_1: matched(1, 1),
        find_1: matched(1, TOP),
        find_5: matched(TOP, TOP),
    }
}

/// |MRV-1 - Inv-1|, weighted by executions: how far prediction and specialisation are apart.
#[must_use]
pub fn recent_against_invariant<K: Ord>(profile: &BTreeMap<K, ValueProfile>) -> f64 {
    let executed: u64 = profile.values().map(|value| value.executions).sum();
    let sum: f64 = profile
        .values()
        .map(|value| value.executions as f64 * (value.most_recent(1) - value.invariance(1)).abs())
        .sum();
    if executed == 0 {
        0.0
    } else {
        sum / executed as f64
    }
}
