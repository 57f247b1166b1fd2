//! The knowledge that holds on a path: conditions that were decided, numbers that are not negative, sums that
//! do not wrap around.

use super::order::Order;
use super::paths::Decisions;
use super::terms::{Form, Term, Terms};
use rustc_hash::{FxHashMap, FxHashSet};

/// The conditions of a path.
#[derive(Clone, Default)]
pub(super) struct Known {
    pub(super) conditions: FxHashMap<Term, bool>,
    pub(super) natural: Vec<Term>,
    pub(super) sums: FxHashSet<Term>,
}

/// A choice whose condition is not decided.
pub(super) fn open_choice(terms: &Terms, seen: &[Term]) -> Option<Term> {
    let below = terms.below(seen);
    let mut choices = below
        .iter()
        .filter(|term| terms.node(**term).form == Form::Select);
    choices.next().map(|choice| terms.node(*choice).args[0])
}

impl Known {
    /// Returns whether nothing makes all conditions hold.
    pub(super) fn is_contradictory(&self, terms: &Terms) -> bool {
        Order::new(terms, &self.conditions, &self.natural, &self.sums, &[]).is_contradictory()
    }

    pub(super) fn resolved(&self, terms: &mut Terms, roots: &[Term]) -> Vec<Term> {
        terms.resolved(roots, &|term| self.conditions.get(&term).copied())
    }

    /// Returns the terms that are signed numbers which are not negative.
    pub(super) fn natural(&self, terms: &Terms, asked: &[Term]) -> FxHashSet<Term> {
        let (conditions, natural) = (&self.conditions, &self.natural);
        let order = Order::new(terms, conditions, natural, &self.sums, asked);
        let integers = asked
            .iter()
            .copied()
            .filter(|term| terms.ty(*term).is_int());
        integers.filter(|term| order.is_natural(*term)).collect()
    }
}

/// Rounds in which decided choices show further comparisons.
const ROUNDS: u32 = 4;

impl Decisions for Known {
    fn decide(&mut self, terms: &mut Terms, condition: Term) -> Result<bool, Term> {
        let mut condition = condition;
        for _ in 0..ROUNDS {
            condition = self.resolved(terms, &[condition])[0];
            let below = terms.below(&[condition]);
            let compared: Vec<Term> = below
                .into_iter()
                .filter(|term| matches!(terms.node(*term).form, Form::IntCompare(_)))
                .collect();
            if compared.is_empty() {
                break;
            }
            let order = Order::new(
                terms,
                &self.conditions,
                &self.natural,
                &self.sums,
                &compared,
            );
            let decided: FxHashMap<Term, bool> = compared
                .iter()
                .filter_map(|term| Some((*term, order.decides(*term)?)))
                .collect();
            let new = terms.resolved(&[condition], &|term| decided.get(&term).copied())[0];
            if new == condition {
                break;
            }
            condition = new;
        }
        let (bare, negated) = terms.stripped(condition);
        if let Some(bits) = terms.value(bare) {
            return Ok((bits != 0) != negated);
        }
        Err(open_choice(terms, &[bare]).unwrap_or(bare))
    }
}
