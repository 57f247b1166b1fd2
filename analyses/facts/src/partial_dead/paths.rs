//! The paths on which a statement arrives, and those of them on which its removal needs a join to be passed.
//!
//! Bits of nodes first: `x` is fully dead at the entry and at the exit of a node, the statement is available
//! there on some path, its removal is possible from there. Then sets of paths by the same flow. Along the
//! flow: least solutions of "or", a greatest one of "and" for full deadness.
//!
//! Source: Figure 4 with C1, C2, C4 and C5.

use super::Problem;
use fixedbitset::FixedBitSet;

/// The analysis of a statement. `entry` is the value at a node's entry, `exit` behind its statement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PathSets {
    pub dead: Bits,
    pub available: Bits,
    pub removable: Bits,
    /// Paths through a node on which the statement is available there.
    pub available_paths: Sets,
    /// Paths through a node from which it is removed behind it.
    pub removable_paths: Sets,
    on_paths: Vec<FixedBitSet>,
}

/// A fact at the entry and at the exit of each node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bits {
    pub entry: Vec<bool>,
    pub exit: Vec<bool>,
}

/// A set of paths at the entry and at the exit of each node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sets {
    pub entry: Vec<FixedBitSet>,
    pub exit: Vec<FixedBitSet>,
}

/// The paths that gain and lose by moving a statement past a join.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JoinGain {
    pub benefit: FixedBitSet,
    pub cost: FixedBitSet,
}

impl PathSets {
    /// The sets of a problem's statement.
    #[must_use]
    pub fn new(problem: &Problem) -> Self {
        let nodes = problem.kinds.len();
        let order = problem.forwards();
        let dead = dead(problem, &order);
        let available = available(problem, &order);
        let removable = removable(problem, &order, &dead, &available);
        let none = || vec![FixedBitSet::with_capacity(problem.paths.len()); nodes];
        let mut on_paths = none();
        for (number, path) in problem.paths.iter().enumerate() {
            for &node in path {
                on_paths[node].insert(number);
            }
        }
        let mut out = PathSets {
            dead,
            available,
            removable,
            available_paths: Sets {
                entry: none(),
                exit: none(),
            },
            removable_paths: Sets {
                entry: none(),
                exit: none(),
            },
            on_paths,
        };
        out.arrive(problem, &order);
        out.remove(problem, &order);
        out
    }

    fn arrive(&mut self, problem: &Problem, order: &[usize]) {
        let sets = &mut self.available_paths;
        let mut changed = true;
        while changed {
            changed = false;
            for &node in order {
                let mut entry = FixedBitSet::with_capacity(problem.paths.len());
                if self.available.entry[node] {
                    for &from in &problem.predecessors[node] {
                        if self.available.exit[from] {
                            entry.union_with(&sets.exit[from]);
                        }
                    }
                    entry.intersect_with(&self.on_paths[node]);
                }
                let exit = match (problem.kinds[node].is_statement, self.available.exit[node]) {
                    (true, _) => self.on_paths[node].clone(),
                    (false, true) => entry.clone(),
                    (false, false) => FixedBitSet::with_capacity(problem.paths.len()),
                };
                changed |= entry != sets.entry[node] || exit != sets.exit[node];
                (sets.entry[node], sets.exit[node]) = (entry, exit);
            }
        }
    }

    fn remove(&mut self, problem: &Problem, order: &[usize]) {
        let sets = &mut self.removable_paths;
        let mut changed = true;
        while changed {
            changed = false;
            for &node in order.iter().rev() {
                let mut exit = FixedBitSet::with_capacity(problem.paths.len());
                if self.available.exit[node] {
                    if self.dead.exit[node] {
                        exit.clone_from(&self.on_paths[node]);
                    } else {
                        for &to in &problem.successors[node] {
                            if self.removable.entry[to] {
                                exit.union_with(&sets.entry[to]);
                            }
                        }
                        exit.intersect_with(&self.on_paths[node]);
                    }
                }
                let entry = match (
                    self.dead.entry[node] && self.available.entry[node],
                    self.removable.entry[node],
                ) {
                    (true, _) => self.on_paths[node].clone(),
                    (false, true) => exit.clone(),
                    (false, false) => FixedBitSet::with_capacity(problem.paths.len()),
                };
                changed |= entry != sets.entry[node] || exit != sets.exit[node];
                (sets.entry[node], sets.exit[node]) = (entry, exit);
            }
        }
    }

    /// The paths that gain and lose at a join by itself.
    #[must_use]
    pub fn gain(&self, join: usize) -> JoinGain {
        let removable = &self.removable_paths.exit[join];
        let available = &self.available_paths.exit[join];
        let mut benefit = removable.clone();
        benefit.intersect_with(available);
        // Where nothing reads it any more there is no need to go on.
        if self.dead.entry[join] {
            benefit.clear();
        }
        let mut cost = self.on_paths[join].clone();
        cost.difference_with(removable);
        cost.difference_with(available);
        JoinGain { benefit, cost }
    }

    /// The joins that are enabled with others, so that the gain at those is realised.
    #[must_use]
    pub fn forced(&self, problem: &Problem, seeds: &FixedBitSet) -> FixedBitSet {
        let mut all = seeds.clone();
        all.grow(problem.kinds.len());
        let order = problem.forwards();
        let mut changed = true;
        while changed {
            changed = false;
            for &node in &order {
                let mut before = problem.predecessors[node].iter();
                if self.removable.entry[node] && before.any(|&from| all.contains(from)) {
                    changed |= !all.put(node);
                }
            }
        }
        all
    }

    /// The paths that lose where a join is enabled together with those that it forces (C3).
    #[must_use]
    pub fn closure_cost(&self, problem: &Problem, join: usize) -> FixedBitSet {
        let mut seeds = FixedBitSet::with_capacity(problem.kinds.len());
        seeds.insert(join);
        let forced = self.forced(problem, &seeds);
        let mut out = FixedBitSet::with_capacity(problem.paths.len());
        for join in problem.joins().filter(|&join| forced.contains(join)) {
            out.union_with(&self.gain(join).cost);
        }
        out
    }

    /// Returns a lower bound on the executions of the statement that are removed, and an upper bound on those
    /// whose predicate is false, where a join is enabled and the frequent paths alone are looked at: all
    /// other paths on which the statement does not arrive are taken to lose (section 3.2).
    #[must_use]
    pub fn estimated(&self, problem: &Problem, join: usize, frequent: &FixedBitSet) -> (u64, u64) {
        let mut benefit = self.gain(join).benefit;
        benefit.intersect_with(frequent);
        let mut cost = self.closure_cost(problem, join);
        cost.intersect_with(frequent);
        let mut seeds = FixedBitSet::with_capacity(problem.kinds.len());
        seeds.insert(join);
        let forced = self.forced(problem, &seeds);
        for join in problem.joins().filter(|&join| forced.contains(join)) {
            let mut others = self.on_paths[join].clone();
            others.difference_with(&self.available_paths.exit[join]);
            others.difference_with(frequent);
            cost.union_with(&others);
        }
        (problem.frequency(&benefit), problem.frequency(&cost))
    }
}

impl Bits {
    /// The solution of some equations over an order of the nodes: the greatest one from `true`, the least
    /// from `false`. `flow` gives a node's entry and exit from the solution so far.
    pub(super) fn solve(
        nodes: usize,
        order: impl DoubleEndedIterator<Item = usize> + Clone,
        initial: bool,
        flow: impl FnMut(&Bits, usize) -> (bool, bool),
    ) -> Bits {
        let bits = Bits {
            entry: vec![initial; nodes],
            exit: vec![initial; nodes],
        };
        bits.settled(order, flow)
    }

    /// The solution that these bits lead to.
    pub(super) fn settled(
        self,
        order: impl DoubleEndedIterator<Item = usize> + Clone,
        mut flow: impl FnMut(&Bits, usize) -> (bool, bool),
    ) -> Bits {
        let mut bits = self;
        let mut changed = true;
        while changed {
            changed = false;
            for node in order.clone() {
                let (entry, exit) = flow(&bits, node);
                changed |= (entry, exit) != (bits.entry[node], bits.exit[node]);
                (bits.entry[node], bits.exit[node]) = (entry, exit);
            }
        }
        bits
    }
}

/// `x` is not read any more, whatever way is taken: a greatest solution.
fn dead(problem: &Problem, order: &[usize]) -> Bits {
    let backwards = order.iter().rev().copied();
    Bits::solve(problem.kinds.len(), backwards, true, |bits, node| {
        let targets = &problem.successors[node];
        let exit = match targets.is_empty() {
            true => !problem.live_out,
            false => targets.iter().all(|&to| bits.entry[to]),
        };
        let kind = problem.kinds[node];
        let entry = !kind.reads && (kind.defines || kind.is_statement || exit);
        (entry, exit)
    })
}

/// The statement arrives on some way.
fn available(problem: &Problem, order: &[usize]) -> Bits {
    let forwards = order.iter().copied();
    Bits::solve(problem.kinds.len(), forwards, false, |bits, node| {
        let mut before = problem.predecessors[node].iter();
        let entry = node != problem.entry && before.any(|&from| bits.exit[from]);
        let kind = problem.kinds[node];
        (entry, kind.is_statement || (!kind.blocks() && entry))
    })
}

/// Returns the nodes from which the statement can be moved to where nothing reads it.
fn removable(problem: &Problem, order: &[usize], dead: &Bits, available: &Bits) -> Bits {
    let backwards = order.iter().rev().copied();
    Bits::solve(problem.kinds.len(), backwards, false, |bits, node| {
        let mut behind = problem.successors[node].iter();
        let exit = available.exit[node] && (dead.exit[node] || behind.any(|&to| bits.entry[to]));
        let entry = available.entry[node] && (dead.entry[node] || exit);
        (entry, exit)
    })
}
