//! Pairs of blocks at which values of both functions are equal: arrivals at one, and the equalities that they
//! leave of it.

use super::known::Known;
use super::paths::Walk;
use super::relation::Relation;
use super::terms::Term;
use ir::entity::{Block, Value};
use rustc_hash::{FxHashMap, FxHashSet};

/// A value of a cut; equal ones are of one class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Member {
    pub(super) edited: bool,
    pub(super) value: Value,
    pub(super) class: usize,
}

/// A pair of blocks, one of each function.
#[derive(Clone, Debug)]
pub(super) struct Cut {
    pub(super) before: Block,
    pub(super) after: Block,
    pub(super) members: Vec<Member>,
    /// The term of each class.
    pub(super) classes: Vec<Term>,
    /// Classes of parameters with one in each function.
    pub(super) paired: usize,
    /// Classes of numbers that are not negative.
    pub(super) natural: FxHashSet<usize>,
}

impl Cut {
    pub(super) fn values(&self, edited: bool) -> FxHashMap<Value, Term> {
        let members = self.members.iter().filter(|member| member.edited == edited);
        members
            .map(|member| (member.value, self.classes[member.class]))
            .collect()
    }
}

/// The result of two walks' arrival at two headers.
pub(super) enum Arrival {
    Accepted(usize, Vec<Term>, Vec<Term>),
    Weaker(usize, Cut),
    Apart,
}

impl Relation<'_> {
    /// Returns the arrival of two walks: at a cut, which is made where there is none, or apart.
    pub(super) fn arrive(
        &mut self,
        known: &Known,
        first: (&Walk, (Block, &[Term])),
        second: (&Walk, (Block, &[Term])),
    ) -> Arrival {
        let ((old, (before, old_args)), (new, (after, new_args))) = (first, second);
        if self.before.which[&before] != self.after.which[&after] {
            return Arrival::Apart;
        }
        let old_args = known.resolved(&mut self.terms, old_args);
        let new_args = known.resolved(&mut self.terms, new_args);
        let mut values: Vec<(bool, Value, Term)> = Vec::new();
        let params = self.before.params(before);
        let others = self.after.params(after);
        let paired = old_args.len() == new_args.len()
            && old_args
                .iter()
                .zip(&new_args)
                .all(|(a, b)| self.terms.ty(*a) == self.terms.ty(*b));
        // Parameters of both by their places, or all of one and then all of the other.
        if paired {
            for at in 0..params.len() {
                values.push((false, params[at], old_args[at]));
                values.push((true, others[at], new_args[at]));
            }
        } else {
            let own = params.iter().zip(&old_args);
            values.extend(own.map(|(value, term)| (false, *value, *term)));
            let own = others.iter().zip(&new_args);
            values.extend(own.map(|(value, term)| (true, *value, *term)));
        }
        for (edited, walk, live) in [
            (false, old, self.before.live(before)),
            (true, new, self.after.live(after)),
        ] {
            let found: Vec<(Value, Term)> = live
                .iter()
                .filter_map(|value| Some((*value, *walk.values.get(value)?)))
                .collect();
            let terms: Vec<Term> = found.iter().map(|it| it.1).collect();
            let terms = known.resolved(&mut self.terms, &terms);
            let found = found.iter().zip(terms);
            values.extend(found.map(|((value, _), term)| (edited, *value, term)));
        }
        let terms = |edited: bool| -> Vec<Term> {
            let own = values.iter().filter(|value| value.0 == edited);
            own.map(|it| it.2).collect()
        };
        let seen = (terms(false), terms(true));
        let Some(&at) = self.by_blocks.get(&(before, after)) else {
            if paired && old_args != new_args {
                return Arrival::Apart;
            }
            let count = paired.then_some(old_args.len());
            let at = self.create((before, after), count, &values, known);
            return Arrival::Accepted(at, seen.0, seen.1);
        };
        let cut = &self.cuts[at];
        let arriving: FxHashMap<(bool, Value), Term> = values
            .iter()
            .map(|value| ((value.0, value.1), value.2))
            .collect();
        // Classes as they would have to be: what was one, and is equal now.
        let mut parts: Vec<(usize, Option<Term>)> = Vec::new();
        let mut members = Vec::new();
        for member in &cut.members {
            let term = arriving.get(&(member.edited, member.value)).copied();
            let part = (member.class, term);
            let class = parts.iter().position(|it| *it == part).unwrap_or_else(|| {
                parts.push(part);
                parts.len() - 1
            });
            members.push(Member { class, ..*member });
        }
        let split = |class: usize| parts.iter().filter(|part| part.0 == class).count() > 1;
        if (0..cut.paired).any(split) {
            return Arrival::Apart;
        }
        let rigid = |class: usize, term: Option<Term>| {
            let own = cut.classes[class];
            !self.terms.is_rigid(own) || term == Some(own)
        };
        let unknown = parts.iter().any(|part| part.1.is_none());
        let holds = parts.iter().all(|&(class, term)| rigid(class, term));
        let arrived = parts.iter().filter(|part| cut.natural.contains(&part.0));
        let arrived: Vec<Term> = arrived.filter_map(|it| it.1).collect();
        let positive = known.natural(&self.terms, &arrived);
        let natural: FxHashSet<usize> = cut
            .natural
            .iter()
            .copied()
            .filter(|&class| {
                let mut own = parts.iter().filter(|part| part.0 == class);
                own.all(|it| it.1.is_some_and(|term| positive.contains(&term)))
            })
            .collect();
        if !unknown && holds && parts.len() == cut.classes.len() && natural == cut.natural {
            return Arrival::Accepted(at, seen.0, seen.1);
        }
        let mut weaker = Cut {
            members,
            classes: Vec::new(),
            natural: FxHashSet::default(),
            ..cut.clone()
        };
        let kept: Vec<(Term, bool, bool)> = parts
            .iter()
            .map(|&(class, term)| {
                let same = rigid(class, term) && !split(class);
                (cut.classes[class], same, natural.contains(&class))
            })
            .collect();
        for (number, (own, same, natural)) in kept.into_iter().enumerate() {
            let term = match same {
                true => own,
                false => self.terms.fresh(self.terms.ty(own)),
            };
            weaker.classes.push(term);
            if natural {
                weaker.natural.insert(number);
            }
        }
        Arrival::Weaker(at, weaker)
    }

    fn create(
        &mut self,
        blocks: (Block, Block),
        paired: Option<usize>,
        values: &[(bool, Value, Term)],
        known: &Known,
    ) -> usize {
        let count = paired.unwrap_or(0);
        let mut cut = Cut {
            before: blocks.0,
            after: blocks.1,
            members: Vec::new(),
            classes: Vec::new(),
            paired: count,
            natural: FxHashSet::default(),
        };
        let mut classes: FxHashMap<Term, usize> = FxHashMap::default();
        let arrived: Vec<Term> = values.iter().map(|value| value.2).collect();
        let positive = known.natural(&self.terms, &arrived);
        for (at, &(edited, value, term)) in values.iter().enumerate() {
            let fresh = |relation: &mut Self, cut: &mut Cut| {
                let class = cut.classes.len();
                cut.classes
                    .push(relation.terms.fresh(relation.terms.ty(term)));
                if positive.contains(&term) {
                    cut.natural.insert(class);
                }
                class
            };
            let class = if at < 2 * count {
                match at % 2 {
                    0 => fresh(self, &mut cut),
                    _ => cut.classes.len() - 1,
                }
            } else if let Some(&class) = classes.get(&term) {
                class
            } else {
                let class = match self.terms.is_rigid(term) {
                    true => {
                        cut.classes.push(term);
                        cut.classes.len() - 1
                    }
                    false => fresh(self, &mut cut),
                };
                classes.insert(term, class);
                class
            };
            cut.members.push(Member {
                edited,
                value,
                class,
            });
        }
        self.cuts.push(cut);
        self.by_blocks.insert(blocks, self.cuts.len() - 1);
        self.cuts.len() - 1
    }
}
