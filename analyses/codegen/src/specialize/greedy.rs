//! The whole pass: filter, estimate all candidates, make the best version, and again, because a version can make
//! another one worth while (the paper saw a second and a third pay only after the first).
//!
//! Stops at the limit, or when no candidate is accepted.
//!
//! Source: Stephenson and Rangan, *AZP*, section 3 and figure 2.

use super::accept::{Model, Rule};
use super::transform::version;
use super::{Context, Costs, Zeros};
use facts::zeros::{Probabilities, THRESHOLD, candidates, filter};
use ir::{Block, EntityVec, Function, Value};
use rustc_hash::FxHashSet;
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

/// What the pass leaves.
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
    let mut done: FxHashSet<SmallVec<[Value; 4]>> = FxHashSet::default();
    while out.made.len() < settings.limit {
        let cx = Context::new(&out.function, costs, &out.weights, settings.zeros);
        let best = filter(
            &out.function,
            &candidates(&out.function),
            &probabilities,
            settings.threshold,
        )
        .into_iter()
        .filter(|(candidate, _)| !done.contains(&candidate.members))
        .filter_map(|(candidate, probability)| {
            let estimate = cx.evaluate(&candidate.members, probability).ok()?;
            estimate
                .model
                .accepted(settings.rule)
                .then_some((candidate, estimate))
        })
        .max_by(|(_, one), (_, other)| one.model.saved().total_cmp(&other.model.saved()));
        let Some((candidate, estimate)) = best else {
            break;
        };
        let version = version(&cx, &candidate.members, &estimate);
        let mut now = EntityVec::with_len(0.0, version.function.blocks.len());
        for (block, &weight) in out.weights.iter() {
            now[block] = weight;
        }
        let fast = estimate.model.probability;
        let head = estimate.refined.blocks[0];
        now[version.rest] = out.weights[head] * (1.0 - fast);
        if let Some(tail) = version.tail {
            now[tail] = out.weights[head];
        }
        for &block in &estimate.refined.blocks[1..] {
            now[block] = out.weights[block] * (1.0 - fast);
        }
        for &(from, copy) in &version.copies {
            now[copy] = out.weights[from] * fast;
        }
        let mut scalar = EntityVec::with_len(None, version.function.values.len());
        for (value, &probability) in probabilities.scalar.iter() {
            scalar[value] = probability;
        }
        for &(from, copy) in &version.values {
            scalar[copy] = scalar[from];
        }
        probabilities.scalar = scalar;
        out.made.push(Made {
            members: candidate.members.clone(),
            model: estimate.model,
        });
        done.insert(candidate.members);
        out.weights = now;
        out.function = version.function;
    }
    out
}
