//! The candidates that a profile leaves: those that are zero often enough, without those that follow from
//! others.
//!
//! ```text
//! c: P = .50     zp = c * y with P = .50: follows from c     with P = .62: its own zeros count, both stay
//! ```
//!
//! Probabilities are those of a warp: all active lanes hold zero. Linear in the candidates.
//!
//! Source: Stephenson and Rangan, *AZP*, section 4; notes, sections 5 and 6.

use super::candidates::Candidate;
use super::operations::propagation;
use crate::values::stored::{StoredItem, map};
use ir::{EntityVec, Function, Value, ValueDef};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

/// The paper's P_thresh.
pub const THRESHOLD: f64 = 0.32;
/// Counts of two blocks of different frequency differ by this much without meaning it.
const TOLERANCE: f64 = 0.005;

/// The zeros of a function by its profile.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Probabilities {
    /// The probability that all active lanes of a warp hold zero, 0 to 1; `None` if nothing was counted.
    pub scalar: EntityVec<Value, Option<f64>>,
    /// The probability that all members are zero in all active lanes, if it was counted.
    pub joint: FxHashMap<SmallVec<[Value; 4]>, f64>,
}

impl Probabilities {
    /// Returns the counts of a function's values in a stored profile.
    #[must_use]
    pub fn of_profile(function: &Function, stored: &StoredItem) -> Self {
        let mapped = map(stored, function);
        let share = |zeros: u64, executions: u64| {
            (executions > 0).then(|| zeros as f64 / executions as f64)
        };
        let mut out = Probabilities {
            scalar: EntityVec::with_len(None, function.values.len()),
            ..Probabilities::default()
        };
        let mut by_id: FxHashMap<u32, Value> = FxHashMap::default();
        for &(value, at) in &mapped.values {
            let known = &stored.values[at];
            out.scalar[value] = share(known.zeros, known.executions);
            by_id.insert(known.id, value);
        }
        for joint in &stored.joint {
            let members = joint.members.iter().map(|id| by_id.get(id).copied());
            let members: Option<SmallVec<[Value; 4]>> = members.collect();
            if let (Some(members), Some(all)) = (members, share(joint.zeros, joint.executions)) {
                out.joint.insert(members, all);
            }
        }
        out
    }

    /// Returns the probability of a candidate: as counted, otherwise the product of its members'
    /// probabilities, as if they were independent.
    #[must_use]
    pub fn of(&self, members: &[Value]) -> Option<f64> {
        if let [member] = members {
            return self.scalar.get(*member).copied().flatten();
        }
        if let Some(&joint) = self.joint.get(members) {
            return Some(joint);
        }
        members
            .iter()
            .map(|&member| self.scalar.get(member).copied().flatten())
            .product()
    }
}

/// The candidates that are left, with their probabilities, in the order given. A vector loses the members that are
/// not zero often enough themselves.
#[must_use]
pub fn filter(
    function: &Function,
    candidates: &[Candidate],
    probabilities: &Probabilities,
    threshold: f64,
) -> Vec<(Candidate, f64)> {
    let often = |members: &[Value]| probabilities.of(members).filter(|&p| p >= threshold);
    let mut left = Vec::new();
    let mut seen: FxHashSet<SmallVec<[Value; 4]>> = FxHashSet::default();
    for candidate in candidates {
        let members: SmallVec<[Value; 4]> = if candidate.members.len() > 1 {
            candidate
                .members
                .iter()
                .copied()
                .filter(|&member| often(&[member]).is_some())
                .collect()
        } else {
            candidate.members.clone()
        };
        let Some(probability) = often(&members).filter(|_| !members.is_empty()) else {
            continue;
        };
        if let [member] = members.as_slice()
            && follows(function, *member, probability, probabilities)
        {
            continue;
        }
        if seen.insert(members.clone()) {
            left.push((
                Candidate {
                    members,
                    originator: candidate.originator,
                },
                probability,
            ));
        }
    }
    left
}

/// An operand whose zero makes this one zero is zero as often: versioning on it does both.
fn follows(
    function: &Function,
    value: Value,
    probability: f64,
    probabilities: &Probabilities,
) -> bool {
    let ValueDef::Result(inst, _) = function.values[value].def else {
        return false;
    };
    let data = &function.insts[inst];
    let how = propagation(&data.op);
    let alone = |operand: usize| {
        how.absorbs(operand) && how.passes(operand)
            || matches!(how, super::Propagation::Same) && operand == 0
    };
    data.args.iter().enumerate().any(|(operand, &arg)| {
        alone(operand)
            && matches!(function.values[arg].def, ValueDef::Result(..))
            && probabilities
                .of(&[arg])
                .is_some_and(|source| source + TOLERANCE >= probability)
    })
}
