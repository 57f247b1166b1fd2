//! The shortest packets of a block: an exact search over choices to which nothing can be added, bounded by a number of looks at
//! groups.
//!
//! ```text
//! a and b are loads, c needs b two cycles later, one load a cycle       list: {a} {b} {} {c}       search: {b} {a} {c}
//! ```
//!
//! A way is left once a bound says that it takes as many cycles as the best order so far: the longest way to the end from what
//! is not placed, and the cycles for which that keeps some unit busy. Ends with its choices or with its budget. A packet
//! to which something can be added is not tried: placing an operation earlier never makes the rest longer, as a packet demands
//! nothing of the next one.

use crate::mir::dependence::Dependence;
use crate::mir::packer::Packer;
use crate::mir::{Operation, Scheduled};

/// The operations of a block that stand together, those with the longest way to the end of the block first, and what they wait
/// for. No group waits for a later one.
pub(super) struct Groups {
    pub members: Vec<Vec<u32>>,
    /// By group: the groups that it waits for, with the least distance in cycles.
    incoming: Vec<Vec<(usize, u32)>>,
    /// Cycles from the group to the last one, at least.
    heights: Vec<u32>,
}

impl Groups {
    /// The groups of a block, and the group of each operation.
    pub(super) fn new<T: Scheduled>(
        operations: &[Operation<T>],
        edges: &[Dependence],
    ) -> (Groups, Vec<usize>) {
        let mut members: Vec<Vec<u32>> = Vec::new();
        let mut group_of: Vec<usize> = Vec::with_capacity(operations.len());
        for (at, operation) in (0..).zip(operations) {
            match (members.last_mut(), (at as usize).checked_sub(1)) {
                (Some(group), Some(before)) if T::are_joined(&operations[before], operation) => {
                    group.push(at);
                }
                _ => members.push(vec![at]),
            }
            group_of.push(members.len() - 1);
        }
        let count = members.len();
        let mut incoming: Vec<Vec<(usize, u32)>> = vec![Vec::new(); count];
        for edge in edges {
            let [from, to] = [edge.from, edge.to].map(|at| group_of[at as usize]);
            if from != to {
                incoming[to].push((from, edge.latency));
            }
        }
        let mut heights = vec![0; count];
        for to in (0..count).rev() {
            for &(from, latency) in &incoming[to] {
                debug_assert!(from < to, "dependences follow the order of the block");
                heights[from] = heights[from].max(heights[to] + latency);
            }
        }
        // No group is less high than one that waits for it, so that this order keeps dependences.
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by_key(|&group| (std::cmp::Reverse(heights[group]), group));
        let mut place = vec![0; count];
        for (at, &group) in order.iter().enumerate() {
            place[group] = at;
        }
        let groups = Groups {
            members: order
                .iter()
                .map(|&group| std::mem::take(&mut members[group]))
                .collect(),
            incoming: order
                .iter()
                .map(|&group| {
                    let waits = incoming[group].iter();
                    waits
                        .map(|&(from, latency)| (place[from], latency))
                        .collect()
                })
                .collect(),
            heights: order.iter().map(|&group| heights[group]).collect(),
        };
        (
            groups,
            group_of.into_iter().map(|group| place[group]).collect(),
        )
    }

    /// Cycles that a packer takes for the groups without a cycle, and in which latencies let them end, from a cycle on.
    fn bound<P: Packer>(&self, packer: &P, cycles: &[Option<u32>], now: u32) -> u32 {
        let left = || (0..self.members.len()).filter(|&group| cycles[group].is_none());
        let ends = left().map(|group| {
            let waits = self.incoming[group].iter();
            let ready = waits.filter_map(|(from, latency)| Some(cycles[*from]? + latency));
            ready.max().unwrap_or(0).max(now) + self.heights[group] + 1
        });
        let end = ends.max().unwrap_or(now);
        let mut operations = left().flat_map(|group| self.members[group].iter().copied());
        end.max(now + packer.least_cycles(&mut operations))
    }

    pub(super) fn is_ready(&self, cycles: &[Option<u32>], group: usize, now: u32) -> bool {
        let mut waits = self.incoming[group].iter();
        waits.all(|(from, latency)| cycles[*from].is_some_and(|at| at + latency <= now))
    }
}

/// The cycle of each group in an order that is shorter than `length`, the shortest one if the budget suffices; `None`: there is
/// none, or none was found.
pub(super) fn shorter<P: Packer>(
    groups: &Groups,
    packer: &P,
    length: u32,
    budget: u32,
) -> Option<Vec<u32>> {
    let count = groups.members.len();
    let mut search = Search {
        groups,
        packer,
        cycles: vec![None; count],
        length,
        least: groups.bound(packer, &vec![None; count], 0),
        best: None,
        budget,
    };
    if search.least < length {
        search.cycle(0);
    }
    search.best
}

struct Search<'g, P: Packer> {
    groups: &'g Groups,
    packer: &'g P,
    cycles: Vec<Option<u32>>,
    /// Orders of as many cycles are known.
    length: u32,
    /// No order has fewer cycles.
    least: u32,
    best: Option<Vec<u32>>,
    /// Groups that may still be looked at.
    budget: u32,
}

impl<P: Packer> Search<'_, P> {
    fn is_over(&self) -> bool {
        self.budget == 0 || self.length <= self.least
    }
    /// Takes the time of one look at all groups out of the budget.
    fn look(&mut self) {
        let groups = self.cycles.len() as u32;
        self.budget = self.budget.saturating_sub(groups);
    }

    fn cycle(&mut self, now: u32) {
        if self.is_over() {
            return;
        }
        self.look();
        let placed: Option<Vec<u32>> = self.cycles.iter().copied().collect();
        if let Some(placed) = placed {
            debug_assert!(now < self.length, "a way that is no shorter is left");
            self.length = now;
            self.best = Some(placed);
            return;
        }
        if self.groups.bound(self.packer, &self.cycles, now) < self.length {
            self.choose(now, 0, P::Demand::default());
        }
    }

    /// Tries every packet with groups from `from` on besides those that it has.
    fn choose(&mut self, now: u32, from: usize, demand: P::Demand) {
        if self.is_over() {
            return;
        }
        self.look();
        let count = self.cycles.len();
        let added = |search: &Self, group: usize| {
            let free = search.cycles[group].is_none();
            (free && search.groups.is_ready(&search.cycles, group, now)).then(|| {
                let mut with = demand;
                let members = search.groups.members[group].iter();
                members.for_each(|&member| search.packer.add(&mut with, member));
                with
            })
        };
        let fits = |with: &P::Demand| self.packer.fits(with);
        let next = (from..count).find_map(|group| {
            let with = added(self, group).filter(fits)?;
            Some((group, with))
        });
        let Some((group, with)) = next else {
            let more = (0..from).any(|group| added(self, group).is_some_and(|with| fits(&with)));
            if !more {
                self.cycle(now + 1);
            }
            return;
        };
        // Groups wait for those in front of them, so that what may join now stands behind this one.
        self.cycles[group] = Some(now);
        self.choose(now, group + 1, with);
        self.cycles[group] = None;
        self.choose(now, group + 1, demand);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::StdRng;
    use rand::{Rng, SeedableRng};

    /// Two kinds of units, some of each; at most three operations a cycle.
    #[derive(Clone, PartialEq, Debug)]
    struct Units {
        kinds: Vec<usize>,
        most: [u32; 2],
    }

    impl Packer for Units {
        type Demand = [u32; 2];

        fn add(&self, demand: &mut [u32; 2], operation: u32) {
            demand[self.kind(operation)] += 1;
        }
        fn remove(&self, demand: &mut [u32; 2], operation: u32) {
            demand[self.kind(operation)] -= 1;
        }
        fn kind(&self, operation: u32) -> usize {
            self.kinds[operation as usize]
        }
        fn kinds(&self) -> usize {
            2
        }
        fn fits(&self, demand: &[u32; 2]) -> bool {
            demand[0] <= self.most[0] && demand[1] <= self.most[1] && demand[0] + demand[1] <= 3
        }
        fn least_cycles(&self, operations: &mut dyn Iterator<Item = u32>) -> u32 {
            let mut all = [0; 2];
            operations.for_each(|it| self.add(&mut all, it));
            let both = (all[0] + all[1]).div_ceil(3);
            let each = (0..2).map(|kind| all[kind].div_ceil(self.most[kind]));
            each.fold(both, u32::max)
        }
        fn res_mii(&self) -> u32 {
            self.least_cycles(&mut (0..self.kinds.len() as u32))
        }
        fn scarcity(&self) -> Vec<u32> {
            vec![0; self.kinds.len()]
        }
    }

    /// Returns true if the groups from one on get cycles below a length, by trying all.
    fn possible(
        groups: &Groups,
        units: &Units,
        cycles: &mut Vec<u32>,
        demands: &mut Vec<[u32; 2]>,
    ) -> bool {
        let at = cycles.len();
        let Some(operation) = groups.members.get(at).map(|members| members[0]) else {
            return true;
        };
        let waits = groups.incoming[at].iter();
        let ready = waits.map(|(from, latency)| cycles[*from] + latency).max();
        (ready.unwrap_or(0) as usize..demands.len()).any(|cycle| {
            units.add(&mut demands[cycle], operation);
            cycles.push(cycle as u32);
            let found = units.fits(&demands[cycle]) && possible(groups, units, cycles, demands);
            cycles.pop();
            units.remove(&mut demands[cycle], operation);
            found
        })
    }

    #[test]
    fn an_order_is_found_where_there_is_a_shorter_one() {
        let mut random = StdRng::seed_from_u64(7);
        let (mut found, mut none) = (0, 0);
        for case in 0..3000 {
            let count = random.random_range(2..9usize);
            let units = Units {
                kinds: (0..count).map(|_| random.random_range(0..2)).collect(),
                most: [random.random_range(1..3), random.random_range(1..3)],
            };
            let mut incoming = vec![Vec::new(); count];
            for (to, waits) in incoming.iter_mut().enumerate() {
                for from in 0..to {
                    if random.random_range(0..4) == 0 {
                        waits.push((from, random.random_range(0..4)));
                    }
                }
            }
            let mut heights = vec![0; count];
            for to in (0..count).rev() {
                for &(from, latency) in &incoming[to] {
                    heights[from] = heights[from].max(heights[to] + latency);
                }
            }
            let groups = Groups {
                members: (0..count as u32).map(|it| vec![it]).collect(),
                incoming,
                heights,
            };
            let least = (1..)
                .find(|&length| {
                    possible(&groups, &units, &mut Vec::new(), &mut vec![[0; 2]; length])
                })
                .expect("a length") as u32;
            for length in [least, least + 1, least + 3] {
                let made = shorter(&groups, &units, length, u32::MAX);
                let reached = made.as_ref().map(|cycles| {
                    let mut demands = vec![[0; 2]; length as usize];
                    for (at, &cycle) in cycles.iter().enumerate() {
                        units.add(&mut demands[cycle as usize], at as u32);
                        for &(from, latency) in &groups.incoming[at] {
                            assert!(cycles[from] + latency <= cycle, "case {case}");
                        }
                    }
                    assert!(demands.iter().all(|it| units.fits(it)), "case {case}");
                    cycles.iter().max().map_or(0, |last| last + 1)
                });
                match length == least {
                    true => none += 1,
                    false => found += 1,
                }
                let wanted = (length > least).then_some(least);
                assert_eq!(reached, wanted, "case {case}");
            }
        }
        assert!(found > 5000 && none > 2000, "{found} and {none}");
    }
}
