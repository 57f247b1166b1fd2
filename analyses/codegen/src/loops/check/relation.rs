//! Relates two functions: at pairs of blocks (*cuts*: the entry, and headers of loops) values of both are
//! equal, and every path of the edited function from a cut has the effects of a path of the original, up to a
//! cut again or the end.
//!
//! ```text
//! (H, M)  M: i < n - 1, two bodies     H: two iterations      ->  (H, M)
//!         M: !(i < n - 1)              H: stays               ->  (H, R)       R the loop for what remains
//! ```
//!
//! The edited function takes one path, the original then follows under the same conditions through as many
//! iterations as it takes to have the same effects and values. A cut begins with the guess that values equal
//! when it was first reached always are; those that a later path refutes are taken out of it, and all paths
//! are tried again. It stops because a cut has finitely many values, and paths are counted.
//!
//! The original may stay where the edited function goes forward, never round a loop, so both end, or none.

use super::cuts::{Arrival, Cut, Member};
use super::known::{Known, open_choice};
use super::order::Order;
use super::paths::{Action, Stop, Stuck, Walk};
use super::shape::{Shape, Which, name_objects};
use super::terms::{Form, Term, Terms};
use super::{Effect, Unchecked, Violation};
use ir::entity::{Block, Value};
use ir::function::Module;
use ir::inst::BinaryOp;
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::Range;

/// The extent of a comparison: pairs of blocks, and paths between them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Compared {
    pub cuts: usize,
    pub paths: usize,
}

/// The edit's place in the item, and by how much the text grew.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Edited {
    pub(super) before: Range<u32>,
    pub(super) grown: i64,
}

/// Paths, and headers that the original passes on one.
const PATHS: usize = 1024;
const HEADERS: usize = 24;

/// The next step of a pair of paths.
enum Step {
    /// Both are at this cut.
    At(usize),
    Ended,
    /// A cut knows less than was thought.
    Refined,
    Fork(Term),
}

pub(super) struct Relation<'m> {
    pub(super) terms: Terms,
    pub(super) before: Shape<'m>,
    pub(super) after: Shape<'m>,
    pub(super) cuts: Vec<Cut>,
    pub(super) by_blocks: FxHashMap<(Block, Block), usize>,
}

pub(super) fn check(
    old: &Module,
    new: &Module,
    edited: &Edited,
) -> Result<Result<Compared, Unchecked>, Violation> {
    let range = &edited.before;
    let end = i64::from(range.end) + edited.grown;
    let now = range.start..u32::try_from(end).map_err(|_| Violation::Range)?;
    let shapes = (Shape::new(old, range), Shape::new(new, &now));
    let (Some(mut before), Some(mut after)) = shapes else {
        return Err(Violation::Item);
    };
    name_objects(&mut before, &mut after, range, &now);
    if before.function.returns != after.function.returns {
        return Err(Violation::Item);
    }
    let mut relation = Relation {
        terms: Terms::default(),
        before,
        after,
        cuts: Vec::new(),
        by_blocks: FxHashMap::default(),
    };
    relation.enter()?;
    relation.explore()
}

impl Relation<'_> {
    /// The cut of both entries.
    fn enter(&mut self) -> Result<(), Violation> {
        let (old, new) = (self.before.function, self.after.function);
        let blocks = (old.entry(), new.entry());
        let params = (&old.blocks[blocks.0].params, &new.blocks[blocks.1].params);
        let types = |function: &ir::Function, values: &[Value]| -> Vec<_> {
            values.iter().map(|value| function.ty(*value)).collect()
        };
        if types(old, params.0) != types(new, params.1) {
            return Err(Violation::Item);
        }
        let mut cut = Cut {
            before: blocks.0,
            after: blocks.1,
            members: Vec::new(),
            classes: Vec::new(),
            paired: params.0.len(),
            natural: FxHashSet::default(),
        };
        for (&first, &second) in params.0.iter().zip(params.1) {
            let class = cut.classes.len();
            cut.classes.push(self.terms.fresh(old.ty(first)));
            for (edited, value) in [(false, first), (true, second)] {
                cut.members.push(Member {
                    edited,
                    value,
                    class,
                });
            }
        }
        self.by_blocks.insert(blocks, 0);
        self.cuts.push(cut);
        Ok(())
    }

    fn explore(&mut self) -> Result<Result<Compared, Unchecked>, Violation> {
        let mut tried = 0;
        'again: loop {
            let mut done: FxHashSet<usize> = FxHashSet::default();
            let mut work = vec![0];
            let mut paths = 0;
            while let Some(cut) = work.pop() {
                if !done.insert(cut) {
                    continue;
                }
                let known = Known {
                    natural: self.natural(cut),
                    ..Known::default()
                };
                let mut open = vec![known];
                while let Some(known) = open.pop() {
                    tried += 1;
                    if tried > PATHS {
                        return Ok(Err(Unchecked::Paths(PATHS)));
                    }
                    let step = match self.path(cut, known.clone()) {
                        Ok(step) => step?,
                        Err(unchecked) => return Ok(Err(unchecked)),
                    };
                    match step {
                        Step::At(next) => work.push(next),
                        Step::Ended => {}
                        Step::Refined => continue 'again,
                        Step::Fork(condition) => {
                            let (condition, _) = self.terms.stripped(condition);
                            for holds in [false, true] {
                                let mut known = known.clone();
                                known.conditions.insert(condition, holds);
                                if !known.is_contradictory(&self.terms) {
                                    open.push(known);
                                }
                            }
                            continue;
                        }
                    }
                    paths += 1;
                }
            }
            return Ok(Ok(Compared {
                cuts: done.len(),
                paths,
            }));
        }
    }

    fn natural(&self, cut: usize) -> Vec<Term> {
        let cut = &self.cuts[cut];
        let mut natural: Vec<Term> = cut
            .natural
            .iter()
            .map(|&class| cut.classes[class])
            .collect();
        natural.sort();
        natural
    }

    /// A path of both from a cut.
    fn path(&mut self, cut: usize, mut known: Known) -> Result<Result<Step, Violation>, Unchecked> {
        let from = self.cuts[cut].clone();
        let mut second = Walk::new(cut as u32, from.after, from.values(true));
        let mut first = Walk::new(cut as u32, from.before, from.values(false));
        let target = match second.run(&self.after, &mut self.terms, &mut known) {
            Ok(stop) => stop,
            Err(Stuck::Undecided(condition)) => return Ok(Ok(Step::Fork(condition))),
            Err(Stuck::Unchecked(why)) => return Err(why),
        };
        let mut weaker = None;
        let mut failed = Violation::Value;
        // The original may stay.
        if let Stop::Header(block, args) = &target
            && self.before.is_header(from.before)
            && self.after.place(*block) > self.after.place(from.after)
            && second.actions.is_empty()
        {
            let params = self.before.params(from.before);
            let own: Vec<Term> = params.iter().map(|param| first.values[param]).collect();
            let stop = (from.before, own.as_slice());
            match self.arrive(&known, (&first, stop), (&second, (*block, args))) {
                Arrival::Accepted(at, old, new) => {
                    return Ok(self.finish(at, &known, (&first, &old), (&second, &new)));
                }
                Arrival::Weaker(at, cut) => weaker = Some((at, cut)),
                Arrival::Apart => {}
            }
        }
        for _ in 0..HEADERS {
            let stop = match first.run(&self.before, &mut self.terms, &mut known) {
                Ok(stop) => stop,
                Err(Stuck::Undecided(condition)) => return Ok(Ok(Step::Fork(condition))),
                Err(Stuck::Unchecked(why)) => return Err(why),
            };
            if let Stop::Header(_, args) = &stop {
                let sums = args.iter().filter(|term| {
                    let added = matches!(self.terms.node(**term).form, Form::Binary(BinaryOp::Add));
                    added && first.exact.contains(term)
                });
                known.sums.extend(sums);
            }
            if let Some(differing) = self.actions(&known, &first.actions, &second.actions) {
                failed = differing;
                break;
            }
            let complete = first.actions.len() == second.actions.len();
            match (&stop, &target) {
                (Stop::Header(block, args), Stop::Header(other, values)) => {
                    if complete {
                        let stops = ((*block, args.as_slice()), (*other, values.as_slice()));
                        match self.arrive(&known, (&first, stops.0), (&second, stops.1)) {
                            Arrival::Accepted(at, old, new) => {
                                return Ok(self.finish(
                                    at,
                                    &known,
                                    (&first, &old),
                                    (&second, &new),
                                ));
                            }
                            Arrival::Weaker(at, cut) => {
                                weaker.get_or_insert((at, cut));
                            }
                            Arrival::Apart => {}
                        }
                    }
                    // Only round the edited loop the original may go several times.
                    if self.before.which[block] != Which::Edited {
                        if !complete {
                            let count = first.actions.len();
                            failed = self.effect(&first.actions, &second.actions, count);
                        }
                        break;
                    }
                    first.enter(&self.before, *block, args);
                }
                (Stop::Header(block, args), _) => {
                    if self.before.which[block] != Which::Edited {
                        failed = Violation::Exit;
                        break;
                    }
                    first.enter(&self.before, *block, args);
                }
                (_, Stop::Header(..)) => {
                    failed = Violation::Exit;
                    break;
                }
                (old, new) => {
                    if !complete {
                        failed = self.effect(&first.actions, &second.actions, first.actions.len());
                        break;
                    }
                    let (old, new) = match (old, new) {
                        (Stop::Return(old), Stop::Return(new)) => (old.clone(), new.clone()),
                        (old, new) if old == new => (Vec::new(), Vec::new()),
                        _ => break,
                    };
                    if !self.are_equal(&known, &old, &new) {
                        break;
                    }
                    let ended = usize::MAX;
                    return Ok(self.finish(ended, &known, (&first, &old), (&second, &new)));
                }
            }
        }
        if let Some((at, cut)) = weaker
            && !known.is_contradictory(&self.terms)
        {
            self.cuts[at] = cut;
            return Ok(Ok(Step::Refined));
        }
        let seen = |walk: &Walk| -> Vec<Term> {
            let actions = walk.actions.iter().flat_map(|action| &action.args);
            actions
                .copied()
                .chain(walk.values.values().copied())
                .collect()
        };
        let mut all = seen(&first);
        all.extend(seen(&second));
        Ok(self.refuted(&known, all, failed))
    }

    /// A violation, unless the path is none, or there is a condition left to ask.
    fn refuted(
        &mut self,
        known: &Known,
        seen: Vec<Term>,
        why: Violation,
    ) -> Result<Step, Violation> {
        if known.is_contradictory(&self.terms) {
            return Ok(Step::Ended);
        }
        let seen = known.resolved(&mut self.terms, &seen);
        match open_choice(&self.terms, &seen) {
            Some(condition) => Ok(Step::Fork(condition)),
            None => Err(why),
        }
    }

    /// The first effect in which the original differs from the beginning of the other.
    fn actions(&mut self, known: &Known, old: &[Action], new: &[Action]) -> Option<Violation> {
        for (at, action) in old.iter().enumerate() {
            let same = new.get(at).is_some_and(|other| {
                action.kind == other.kind
                    && action.name == other.name
                    && self.are_equal(known, &action.args, &other.args)
            });
            if !same {
                return Some(self.effect(old, new, at));
            }
        }
        None
    }

    fn effect(&self, old: &[Action], new: &[Action], at: usize) -> Violation {
        let kind = |actions: &[Action]| actions.get(at).map_or(Effect::Nothing, |it| it.kind);
        Violation::Effect {
            before: kind(old),
            after: kind(new),
        }
    }

    fn are_equal(&mut self, known: &Known, old: &[Term], new: &[Term]) -> bool {
        old == new
            || old.len() == new.len()
                && known.resolved(&mut self.terms, old) == known.resolved(&mut self.terms, new)
    }

    /// Compares two finished paths: the original one must have the effects of the edited one.
    fn finish(
        &mut self,
        at: usize,
        known: &Known,
        first: (&Walk, &[Term]),
        second: (&Walk, &[Term]),
    ) -> Result<Step, Violation> {
        if at < self.cuts.len() && self.promises_more(at) {
            return Err(Violation::Independent);
        }
        let mut sides = Vec::new();
        for (walk, left) in [first, second] {
            let actions = walk.actions.iter().flat_map(|action| &action.args);
            // Of a condition that is decided what it compares.
            let compared: Vec<Term> = self
                .terms
                .below(&walk.asked)
                .into_iter()
                .map(|term| self.terms.node(term))
                .filter(|node| matches!(node.form, Form::IntCompare(_) | Form::FloatCompare(_)))
                .flat_map(|node| node.args.iter().copied())
                .collect();
            let asked = walk.asked.iter().chain(&compared);
            let seen: Vec<Term> = actions.chain(asked).chain(left).copied().collect();
            let seen = known.resolved(&mut self.terms, &seen);
            let exact: Vec<Term> = walk.exact.iter().copied().collect();
            let exact: FxHashSet<Term> = known
                .resolved(&mut self.terms, &exact)
                .into_iter()
                .collect();
            let loads: Vec<Term> = walk.loads.iter().copied().collect();
            let loads: FxHashSet<Term> = known
                .resolved(&mut self.terms, &loads)
                .into_iter()
                .collect();
            let used: FxHashSet<Term> = self.terms.below(&seen).into_iter().collect();
            let exact: FxHashSet<Term> = exact.intersection(&used).copied().collect();
            let divisions: Vec<Term> = walk.divisions.iter().copied().collect();
            let divisions = known.resolved(&mut self.terms, &divisions);
            let divisions: FxHashSet<Term> = divisions.into_iter().collect();
            sides.push((seen, loads, divisions, exact));
        }
        let [old, new] = &sides[..] else {
            unreachable!("two sides");
        };
        let more = |a: &FxHashSet<Term>, b: &FxHashSet<Term>| -> Vec<Term> {
            let mut more: Vec<Term> = b.difference(a).copied().collect();
            more.sort();
            more
        };
        let overflows = more(&old.3, &new.3);
        let order = Order::new(
            &self.terms,
            &known.conditions,
            &known.natural,
            &known.sums,
            &overflows,
        );
        let why = if !more(&old.1, &new.1).is_empty() {
            Violation::Load
        } else if !more(&old.2, &new.2).is_empty() {
            Violation::Division
        } else if !overflows.iter().all(|term| order.stays(*term)) {
            Violation::Overflow
        } else {
            return Ok(match at < self.cuts.len() {
                true => Step::At(at),
                false => Step::Ended,
            });
        };
        let seen = old.0.iter().chain(&new.0).copied().collect();
        self.refuted(known, seen, why)
    }

    /// A loop says that its iterations are independent, and did not.
    fn promises_more(&self, at: usize) -> bool {
        let cut = &self.cuts[at];
        let says = |function: &ir::Function, header: Block| {
            let mut loops = function.loops.iter();
            loops.any(|it| it.header == header && it.independent)
        };
        says(self.after.function, cut.after) && !says(self.before.function, cut.before)
    }
}
