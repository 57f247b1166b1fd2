//! Every subset of the instructions that may issue in each cycle, with every place in the bundle where the
//! group may end: the fewest slots, and whether that is proved.
//!
//! A branch of the search ends where its cost and the bound of the rest - all of it as one group, which no
//! split can beat - reach the best that is known, where an instruction that could come for nothing was left
//! out, and where an instruction that nothing waits for takes a bundle for itself. States that were seen are
//! not searched again. Ends after `decisions` subsets, or within the allowed loss, said not to be complete.
//!
//! Source: Haga and Barua, *EPIC Instruction Scheduling Based on Optimal Approaches*, 2001, section 5 and, for the loss, table 5; their rule of the
//! sparse template holds only for instructions without successors, and is applied to these.

use super::beam::INFINITE;
use super::block::{Choice, Group, Options, place};
use super::cost::{Counts, Edge, slots};
use super::part::{Inner, Set, members};
use rustc_hash::FxHashMap;

/// The state on which the rest of a block depends.
#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    left: Set,
    cycle: u32,
    start: Edge,
    /// The remaining instructions that may not issue in this cycle yet although all before them have, and the
    /// cycles at which they may.
    later: Vec<(u32, u32)>,
}

/// The knowledge of a state: slots from there, and the first step of the schedule that takes them.
#[derive(Clone, Copy)]
enum Known {
    Exact(u32, Set, Edge),
    /// The slots are not below this number.
    AtLeast(u32),
}

pub(super) struct Search<'b> {
    inner: &'b Inner,
    options: &'b Options,
    deadline: Vec<u32>,
    succs: Vec<Set>,
    known: FxHashMap<State, Known>,
    pub(super) decisions: usize,
    /// Steps that are left to come to an end when no decisions are.
    grace: usize,
    pub(super) complete: bool,
}

/// Instructions that may issue, of which fewer are searched through whatever is lost.
const LEAST_CHOICES: usize = 4;
/// The factor of the allowed loss. The paper's exponent is not readable.
const LOSS: f64 = 0.01;
/// Instructions of which every subset is looked at; of more the rest comes with them or not.
const MOST_CHOICES: usize = 10;

impl<'b> Search<'b> {
    pub(super) fn new(inner: &'b Inner, options: &'b Options, decisions: usize, last: u32) -> Self {
        let count = inner.graph.count;
        let mut succs = vec![0; count];
        for (from, set) in succs.iter_mut().enumerate() {
            for &(to, _) in inner.graph.after(from as u32) {
                *set |= 1 << to;
            }
        }
        let heights = inner.graph.height.iter();
        Search {
            inner,
            options,
            deadline: heights.map(|height| last - height).collect(),
            succs,
            known: FxHashMap::default(),
            decisions,
            grace: 20 * count + 100,
            complete: true,
        }
    }

    /// The fewest slots, if they are below `limit`, and the groups that take them.
    pub(super) fn run(&mut self, limit: u32) -> Option<(u32, Vec<Group>)> {
        let issued = vec![None; self.inner.types.len()];
        let first = self.state(self.inner.all(), 0, self.inner.start, &issued);
        let total = self.least(&first, &mut issued.clone(), limit);
        if total >= limit {
            return None;
        }
        // The way again, by what was kept of each state.
        let (mut state, mut issued, mut groups) = (first, issued, Vec::new());
        while state.left != 0 {
            let Some(&Known::Exact(_, chosen, end)) = self.known.get(&state) else {
                return None;
            };
            let mut start = state.start;
            if chosen != 0 {
                members(chosen).for_each(|i| issued[i as usize] = Some(state.cycle));
                groups.push(Group {
                    cycle: state.cycle,
                    instructions: members(chosen).collect(),
                    start,
                    end,
                });
                start = end;
            }
            state = self.state(state.left & !chosen, state.cycle + 1, start, &issued);
        }
        Some((total, groups))
    }

    fn state(&self, left: Set, cycle: u32, start: Edge, issued: &[Option<u32>]) -> State {
        let later = members(left)
            .filter_map(|i| {
                let from = self
                    .inner
                    .graph
                    .before(i)
                    .iter()
                    .filter_map(|&(from, wait)| Some(issued[from as usize]? + wait))
                    .chain([self.inner.release[i as usize]])
                    .max()?;
                (from > cycle).then_some((i, from))
            })
            .collect();
        State {
            left,
            cycle,
            start,
            later,
        }
    }

    /// The fewest slots from a state; some number not below `limit` when there are not fewer.
    fn least(&mut self, state: &State, issued: &mut Vec<Option<u32>>, limit: u32) -> u32 {
        if state.left == 0 {
            return match state.start {
                Edge::Whole => 0,
                open => 3 - open.slots(),
            };
        }
        match self.known.get(state) {
            Some(&Known::Exact(slots, ..)) => return slots,
            Some(&Known::AtLeast(slots)) if slots >= limit => return slots,
            _ => {}
        }
        let bound = self.inner.bound(state.left, state.start);
        if bound >= limit {
            return bound;
        }
        let mut ready: Set = 0;
        for i in members(state.left) {
            if self.deadline[i as usize] < state.cycle {
                return INFINITE;
            }
            let waits = self.inner.long[i as usize] & state.left != 0;
            if !waits && !state.later.iter().any(|it| it.0 == i) {
                ready |= 1 << i;
            }
        }
        let must = members(ready)
            .filter(|&i| self.deadline[i as usize] == state.cycle)
            .fold(0, |set, i| set | 1 << i);
        let may: Vec<u32> = members(ready & !must).collect();
        let mut best = limit;
        let mut step = None;
        for (tried, subset) in self.subsets(&may).into_iter().enumerate() {
            let group = subset | must;
            // What need not wait a cycle still waits for its group.
            let alone =
                members(group).any(|i| self.inner.short[i as usize] & state.left & !group != 0);
            if alone {
                continue;
            }
            if self.decisions == 0 && (step.is_some() || tried > 1) {
                self.complete = false;
                break;
            }
            if self.decisions == 0 {
                self.complete = false;
                let Some(grace) = self.grace.checked_sub(1) else {
                    break;
                };
                self.grace = grace;
            }
            self.decisions = self.decisions.saturating_sub(1);
            if group == 0 {
                let next = self.state(state.left, state.cycle + 1, state.start, issued);
                let total = self.least(&next, issued, best);
                if total < best {
                    (best, step) = (total, Some((0, state.start)));
                }
                continue;
            }
            let counts = self.inner.count(group);
            for end in Edge::ALL {
                let Some(taken) = slots(counts, state.start, end) else {
                    continue;
                };
                let wide = self.options.width.fits(counts, state.start.slots() + taken);
                if taken >= best
                    || !wide
                    || self.is_pruned(state, ready & !group, group, counts, taken, end)
                {
                    continue;
                }
                members(group).for_each(|i| issued[i as usize] = Some(state.cycle));
                let next = self.state(state.left & !group, state.cycle + 1, end, issued);
                let rest = self.least(&next, issued, best - taken);
                members(group).for_each(|i| issued[i as usize] = None);
                if taken + rest < best {
                    (best, step) = (taken + rest, Some((group, end)));
                }
            }
            if step.is_some() && best == bound {
                break;
            }
            if step.is_some() && best - bound <= self.allowed_loss(tried + 1, may.len(), state) {
                self.complete = false;
                break;
            }
        }
        let found = match step {
            Some((group, end)) => Known::Exact(best, group, end),
            None => Known::AtLeast(limit),
        };
        // The result of a search that was cut short is kept for its first step; as a bound only if no
        // decisions are left to search with.
        if step.is_some() || self.complete || self.decisions == 0 {
            self.known.insert(state.clone(), found);
        }
        if step.is_some() {
            best
        } else {
            limit.max(bound)
        }
    }

    /// Slots above the bound that end the search of a state, after so many subsets of so many instructions that may issue:
    /// the more that were looked at in vain, and the more freedom is left, the more. None for few instructions.
    fn allowed_loss(&self, tried: usize, may: usize, state: &State) -> u32 {
        let lossy = self.options.choice == Choice::AllowedLoss;
        if !lossy || tried < may || may < LEAST_CHOICES {
            return 0;
        }
        let cycles = |i: u32| {
            (self.deadline[i as usize] + 1)
                .saturating_sub(state.cycle)
                .max(1)
        };
        let slack: f64 = members(state.left)
            .map(|i| f64::from(cycles(i)).log10())
            .sum();
        let loss = tried as f64 * (slack / 3.0 - 1.0) * LOSS / may as f64;
        loss.max(0.0) as u32
    }

    fn subsets(&mut self, may: &[u32]) -> Vec<Set> {
        let all = may.iter().fold(0, |set, i| set | 1 << i);
        // The whole first, then from many to few; more than so many are not looked at.
        if self.decisions == 0 {
            self.complete = false;
            return vec![all, 0];
        }
        let count = may.len().min(MOST_CHOICES);
        self.complete &= count == may.len();
        let mut sets: Vec<Set> = (0..1u32 << count)
            .map(|bits| {
                (0..count)
                    .filter(|at| bits >> at & 1 == 1)
                    .fold(0, |set, at| set | 1 << may[at])
            })
            .collect();
        if count < may.len() {
            let rest = may[count..].iter().fold(0, |set, i| set | 1 << i);
            sets.iter_mut().for_each(|set| *set |= rest);
            sets.push(0);
        }
        sets.sort_by_key(|set| (std::cmp::Reverse(set.count_ones()), *set));
        sets
    }

    fn is_pruned(
        &mut self,
        state: &State,
        out: Set,
        group: Set,
        counts: Counts,
        taken: u32,
        end: Edge,
    ) -> bool {
        // Something that was left out would have come for nothing.
        let fillable = members(out).any(|i| {
            let ready = self.inner.short[i as usize] & state.left & !group == 0;
            let mut with = counts;
            *place(&mut with, self.inner.types[i as usize]) += 1;
            let fits = self.options.width.fits(with, state.start.slots() + taken);
            ready && fits && slots(with, state.start, end) == Some(taken)
        });
        // An instruction that nothing waits for, and that may wait, takes a bundle for itself.
        let sparse = || {
            members(group).any(|i| {
                let free = self.succs[i as usize] & state.left == 0
                    && self.deadline[i as usize] > state.cycle;
                let mut without = counts;
                *place(&mut without, self.inner.types[i as usize]) -= 1;
                free && without != Counts::default()
                    && slots(without, state.start, end).is_some_and(|less| less + 3 <= taken)
            })
        };
        fillable || sparse()
    }
}
