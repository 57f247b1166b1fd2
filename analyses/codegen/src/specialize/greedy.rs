//! The whole pass: filter, find the candidate that saves most, make the version, and again, because a version can make
//! another one worth while (the paper saw a second and a third pay only after the first). Bounds of the saving decide which
//! candidates are evaluated; those that a version does not touch keep theirs.
//!
//! Stops at the limit, or when no candidate is accepted.
//!
//! Source: Stephenson and Rangan, *AZP*, section 3 and figure 2.

use super::accept::{LEAST_SAVED, Model, Rule};
use super::bound::{Bounds, Touched, region};
use super::transform::{Version, version};
use super::{Context, Costs, Estimate, Zeros};
use facts::zeros::{Candidate, Probabilities, THRESHOLD, candidates, filter};
use ir::{Block, EntityVec, Function, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Settings {
    pub zeros: Zeros,
    pub rule: Rule,
    /// Least probability of a candidate, 0 to 1.
    pub threshold: f64,
    /// Versions of one function, at most.
    pub limit: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            zeros: Zeros::Ieee,
            rule: Rule::Corrected,
            threshold: THRESHOLD,
            limit: 4,
        }
    }
}

/// A version that was made.
#[derive(Clone, PartialEq, Debug)]
pub struct Made {
    /// Values of the function as it was before this version.
    pub members: SmallVec<[Value; 4]>,
    pub model: Model,
}

/// The result of the pass.
#[derive(Clone, PartialEq, Debug)]
pub struct Specialized {
    pub function: Function,
    pub weights: EntityVec<Block, f64>,
    pub made: Vec<Made>,
}

/// Versions a function. `weights` are the executions of its blocks.
#[must_use]
pub fn specialize(
    function: &Function,
    probabilities: &Probabilities,
    weights: &EntityVec<Block, f64>,
    costs: &dyn Costs,
    settings: Settings,
) -> Specialized {
    let mut out = Specialized {
        function: function.clone(),
        weights: weights.clone(),
        made: Vec::new(),
    };
    let mut probabilities = probabilities.clone();
    let mut known: Known = FxHashMap::default();
    let mut done: FxHashSet<SmallVec<[Value; 4]>> = FxHashSet::default();
    while out.made.len() < settings.limit {
        let cx = Context::new(&out.function, costs, &out.weights, settings.zeros);
        let left: Vec<(Candidate, f64)> = filter(
            &out.function,
            &candidates(&out.function),
            &probabilities,
            settings.threshold,
        )
        .into_iter()
        .filter(|(candidate, _)| !done.contains(&candidate.members))
        .collect();
        let Some((at, estimate)) = best(&cx, &left, &mut known, settings.rule) else {
            break;
        };
        let members = left[at].0.members.clone();
        let version = version(&cx, &members, &estimate);
        forget(&mut known, &out.function, &estimate);
        out.weights = weights_of(&version, &out.weights, &estimate);
        let mut scalar = EntityVec::with_len(None, version.function.values.len());
        for (value, &probability) in probabilities.scalar.iter() {
            scalar[value] = probability;
        }
        for &(from, copy) in &version.values {
            scalar[copy] = scalar[from];
        }
        probabilities.scalar = scalar;
        out.made.push(Made {
            members: members.clone(),
            model: estimate.model,
        });
        done.insert(members);
        out.function = version.function;
    }
    out
}

/// Bounds of candidates that no version has touched since.
type Known = FxHashMap<SmallVec<[Value; 4]>, (f64, Touched)>;

/// The accepted candidate that saves most, of equals the last. Candidates are evaluated from the highest bound down, until
/// none can save as much as the best so far.
fn best(
    cx: &Context<'_>,
    left: &[(Candidate, f64)],
    known: &mut Known,
    rule: Rule,
) -> Option<(usize, Estimate)> {
    let mut bounds: Option<Bounds<'_, '_>> = None;
    let mut order: Vec<(f64, usize)> = Vec::with_capacity(left.len());
    known.reserve(left.len().saturating_sub(known.len()));
    for (at, (candidate, probability)) in left.iter().enumerate() {
        if !known.contains_key(&candidate.members) {
            let bounds = bounds.get_or_insert_with(|| Bounds::new(cx));
            let Some(bound) = bounds.of(&candidate.members, *probability) else {
                continue;
            };
            known.insert(candidate.members.clone(), bound);
        }
        let bound = known[&candidate.members].0;
        if bound > LEAST_SAVED {
            order.push((bound, at));
        }
    }
    order.sort_unstable_by(|(a, it), (b, other)| b.total_cmp(a).then(other.cmp(it)));
    let mut best: Option<(usize, Estimate)> = None;
    for (bound, at) in order {
        let saved = best.as_ref().map(|(at, best)| (best.model.saved(), *at));
        if saved.is_some_and(|(saved, _)| bound < saved) {
            break;
        }
        let (candidate, probability) = &left[at];
        let Ok(estimate) = cx.evaluate(&candidate.members, *probability) else {
            continue;
        };
        let now = (estimate.model.saved(), at);
        if let Some((bound, _)) = known.get_mut(&candidate.members) {
            *bound = bound.min(now.0);
        }
        let better = saved
            .is_none_or(|(saved, before)| now.0.total_cmp(&saved).then(at.cmp(&before)).is_gt());
        if estimate.model.accepted(rule) && better {
            best = Some((at, estimate));
        }
    }
    best
}

/// Drops the bounds of candidates that touch the region of a version.
fn forget(known: &mut Known, function: &Function, estimate: &Estimate) {
    let (insts, ends) = region(function, &estimate.refined);
    known.retain(|_, (_, touched)| {
        !touched.insts.iter().any(|inst| insts.contains(inst))
            && !touched.ends.iter().any(|block| ends.contains(block))
    });
}

/// Executions of blocks when a version has been made.
fn weights_of(
    version: &Version,
    before: &EntityVec<Block, f64>,
    estimate: &Estimate,
) -> EntityVec<Block, f64> {
    let mut now = EntityVec::with_len(0.0, version.function.blocks.len());
    for (block, &weight) in before.iter() {
        now[block] = weight;
    }
    let fast = estimate.model.probability;
    let head = estimate.refined.blocks[0];
    now[version.rest] = before[head] * (1.0 - fast);
    if let Some(tail) = version.tail {
        now[tail] = before[head];
    }
    for &block in &estimate.refined.blocks[1..] {
        now[block] = before[block] * (1.0 - fast);
    }
    for &(from, copy) in &version.copies {
        now[copy] = before[from] * fast;
    }
    now
}
