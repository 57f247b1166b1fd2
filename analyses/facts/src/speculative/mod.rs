//! Speculative partial redundancy elimination: where an expression is evaluated so that it is evaluated least often, on the runs
//! that a profile tells of.
//!
//! ```text
//! if (a) t = x + y; ...  if (b) use(x + y);        a holds in 90 of 100 runs, b in 80
//! if (a) t = x + y; else t = x + y; ...  if (b) use(t);      100 evaluations for 170, though 2 runs evaluate more than before
//! ```
//!
//! Lazy code motion evaluates on no way more than before, so it stays out of ways that do not need the value. An expression
//! that can't fault may be evaluated in vain where that happens seldom.
//!
//! Between an evaluation and a change of an operand the value is *there*. For each point, it is decided
//! whether the value is there; an edge from a point where it is not to one where it is evaluates, and so does
//! a use where it is not. That is a cut in the flow graph between the entry and all changes on one side and
//! the uses on the other, weighted by executions; the least cut is the least number of evaluations. Of the
//! least cuts the one nearest to the uses is taken: values wait in registers as briefly as possible; or one with the fewest
//! evaluations in the text (`place_fewest`).
//!
//! Polynomial in the blocks (`cut`); exact for one expression on edge counts, whatever the graph, irreducible
//! ones included. Does not weigh the cost of a register, nor decide for several expressions together.
//!
//! Source: Gupta, Berson, Fang 1997, Figure 11; Cai and Xue, *Optimal and Efficient Speculation-Based Partial Redundancy
//! Elimination*, CGO 2003. `lazy`: Drechsler and Stadel, *A Variation of Knoop, Rüthing and Steffen's Lazy Code Motion*, 1993.

mod cut;
mod lazy;

pub use lazy::lazy;

use cut::Network;

/// The effects of a block on the expression, in this order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Local {
    /// True if it evaluates the expression with the operands that it begins with.
    pub uses: bool,
    /// True if it changes an operand.
    pub kills: bool,
    /// True if it evaluates the expression with the operands that it ends with, behind a change of one.
    pub defines: bool,
}

/// An expression in a function with a profile.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    pub entry: usize,
    /// Times that the function was entered.
    pub entries: u64,
    /// The targets of each block's edges.
    pub successors: Vec<Vec<usize>>,
    /// The number of times that each edge of a block was taken.
    pub taken: Vec<Vec<u64>>,
    pub blocks: Vec<Local>,
    /// An evaluation may end the program, as a load or a division may: it is only inserted where every way onwards evaluates
    /// the expression before an operand changes.
    pub may_fault: bool,
}

/// The reason why nothing is placed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SpeculationRefusal {
    #[error(
        "block {block} is executed {come} times and left {leave} times: these are not counts of whole runs"
    )]
    Unbalanced { block: usize, come: u64, leave: u64 },
    #[error("the counts are not those of this graph")]
    OtherGraph,
    #[error("no other placement evaluates it less often than the {evaluations} times of today")]
    NothingGained { evaluations: u64 },
}

/// The spot at which an inserted evaluation stands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Spot {
    /// In front of the first block.
    Entry,
    /// At the start of a block.
    Start(usize),
    /// At the end of a block.
    End(usize),
    /// An edge that needs a block of its own, by its block and number.
    Edge(usize, usize),
}

/// Evaluations that are inserted and that go.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Placed {
    /// Edges that evaluate, by block and number.
    pub inserted: Vec<(usize, usize)>,
    /// The function evaluates before its first block.
    pub at_entry: bool,
    /// Blocks whose use finds the value there.
    pub deleted: Vec<usize>,
    /// Evaluations before, and behind it.
    pub before: u64,
    pub after: u64,
}

impl Problem {
    /// Executions of each block.
    #[must_use]
    pub fn executions(&self) -> Vec<u64> {
        let mut out = vec![0u64; self.successors.len()];
        if let Some(entry) = out.get_mut(self.entry) {
            *entry = self.entries;
        }
        for (targets, taken) in self.successors.iter().zip(&self.taken) {
            for (&to, &count) in targets.iter().zip(taken) {
                out[to] = out[to].saturating_add(count);
            }
        }
        out
    }

    /// Evaluations as the program stands.
    #[must_use]
    pub fn evaluations(&self) -> u64 {
        let of = |local: &Local| u64::from(local.uses) + u64::from(local.defines);
        let all = self.blocks.iter().zip(self.executions());
        all.fold(0, |sum, (local, count)| {
            sum.saturating_add(of(local).saturating_mul(count))
        })
    }

    /// # Errors
    /// The counts are none of the graph, or of no whole runs.
    fn check(&self) -> Result<(), SpeculationRefusal> {
        let blocks = self.successors.len();
        let fits = self.entry < blocks
            && self.blocks.len() == blocks
            && self.taken.len() == blocks
            && self
                .successors
                .iter()
                .zip(&self.taken)
                .all(|(targets, taken)| {
                    targets.len() == taken.len() && targets.iter().all(|&to| to < blocks)
                });
        if !fits {
            return Err(SpeculationRefusal::OtherGraph);
        }
        for (block, come) in self.executions().into_iter().enumerate() {
            let taken = &self.taken[block];
            let leave = taken
                .iter()
                .fold(0u64, |sum, &count| sum.saturating_add(count));
            if !taken.is_empty() && come != leave {
                return Err(SpeculationRefusal::Unbalanced { block, come, leave });
            }
        }
        Ok(())
    }

    /// Returns for each block whether every way from its start evaluates the expression before an operand changes, and
    /// within a bounded number of steps: a loop may never end.
    #[must_use]
    pub fn wanted(&self) -> Vec<bool> {
        let mut wanted = vec![false; self.successors.len()];
        loop {
            let mut changed = false;
            for block in (0..wanted.len()).rev() {
                if !wanted[block] && self.is_wanted(&wanted, block) {
                    wanted[block] = true;
                    changed = true;
                }
            }
            if !changed {
                return wanted;
            }
        }
    }

    fn is_wanted(&self, wanted: &[bool], block: usize) -> bool {
        let local = self.blocks[block];
        local.uses || self.wanted_behind(wanted, block) && !local.kills
    }

    fn wanted_behind(&self, wanted: &[bool], block: usize) -> bool {
        let targets = &self.successors[block];
        !targets.is_empty() && targets.iter().all(|&to| wanted[to])
    }

    /// The evaluations that remain with these edges evaluating and these uses gone.
    fn placed(&self, inserted: Vec<(usize, usize)>, at_entry: bool, deleted: Vec<usize>) -> Placed {
        let executions = self.executions();
        let edges = inserted
            .iter()
            .map(|&(block, edge)| self.taken[block][edge]);
        let gone = deleted.iter().map(|&block| executions[block]);
        let before = self.evaluations();
        let more = edges.fold(u64::from(at_entry) * self.entries, u64::saturating_add);
        let less = gone.fold(0, u64::saturating_add);
        Placed {
            before,
            after: before.saturating_add(more).saturating_sub(less),
            inserted,
            at_entry,
            deleted,
        }
    }
}

impl Placed {
    /// The spots of the inserted evaluations: an edge is the end of its block where no other leaves it, and the start of its target
    /// where no other comes there.
    #[must_use]
    pub fn spots(&self, problem: &Problem) -> Vec<Spot> {
        let mut comes = vec![0; problem.successors.len()];
        comes[problem.entry] += 1;
        problem
            .successors
            .iter()
            .flatten()
            .for_each(|&to| comes[to] += 1);
        let edges = self.inserted.iter().map(|&(block, edge)| {
            let to = problem.successors[block][edge];
            match (problem.successors[block].len(), comes[to]) {
                (1, _) => Spot::End(block),
                (_, 1) => Spot::Start(to),
                _ => Spot::Edge(block, edge),
            }
        });
        let mut out: Vec<Spot> = edges.collect();
        out.extend(self.at_entry.then_some(Spot::Entry));
        out.sort_unstable();
        out
    }

    /// Evaluations on a way through the blocks, each with the edge over which it is left; none of the last.
    #[must_use]
    pub fn on_path(&self, problem: &Problem, path: &[(usize, Option<usize>)]) -> u64 {
        let mut count = u64::from(self.at_entry);
        for &(block, edge) in path {
            let local = problem.blocks[block];
            count += u64::from(local.uses && self.deleted.binary_search(&block).is_err());
            count += u64::from(local.defines);
            count += u64::from(edge.is_some_and(|edge| self.inserted.contains(&(block, edge))));
        }
        count
    }
}

/// The placement of fewest evaluations; of several, the one nearest to the uses.
///
/// # Errors
/// The counts are no whole runs of the graph, or nothing is gained.
pub fn place(problem: &Problem) -> Result<Placed, SpeculationRefusal> {
    placed(problem, &|count| count)
}

/// The placement of fewest evaluations; of several, one with the fewest in the text.
///
/// # Errors
/// As for `place`.
pub fn place_fewest(problem: &Problem) -> Result<Placed, SpeculationRefusal> {
    let edges: usize = problem.successors.iter().map(Vec::len).sum();
    // Fewer places than there are edges and blocks are worth less than an evaluation.
    let places = (edges + problem.successors.len() + 2) as u64;
    placed(problem, &|count| {
        count.saturating_mul(places).saturating_add(1)
    })
}

/// A weight beyond those of all evaluations.
const NEVER: u64 = u64::MAX / 2;

/// The least cut, where a place with a count weighs so much.
fn placed(problem: &Problem, weight: &dyn Fn(u64) -> u64) -> Result<Placed, SpeculationRefusal> {
    problem.check()?;
    let wanted = problem.may_fault.then(|| problem.wanted());
    // Where an evaluation might fault in vain there is none, at any price.
    let weight = |to: usize, count: u64| match &wanted {
        Some(wanted) if !wanted[to] => NEVER,
        _ => weight(count).min(NEVER),
    };
    let blocks = problem.successors.len();
    // Each block's start is a node, and so is its end: the same one if the value goes through the block
    // unchanged, otherwise the source or the sink.
    let (source, sink) = (blocks, blocks + 1);
    let end = |block: usize| {
        let local = problem.blocks[block];
        match () {
            () if local.defines || local.uses && !local.kills => sink,
            () if local.kills => source,
            () => block,
        }
    };
    let mut network = Network::new(blocks + 2);
    network.add(
        source,
        problem.entry,
        weight(problem.entry, problem.entries),
    );
    for (block, targets) in problem.successors.iter().enumerate() {
        for (&to, &count) in targets.iter().zip(&problem.taken[block]) {
            if end(block) != sink {
                network.add(end(block), to, weight(to, count));
            }
        }
    }
    for (block, count) in problem.executions().into_iter().enumerate() {
        if problem.blocks[block].uses {
            network.add(block, sink, weight(block, count));
        }
    }
    // Where the value is there.
    let there = network.nearest_to_sink(source, sink);
    let is_there = |node: usize| there[node];
    let mut inserted = Vec::new();
    for (block, targets) in problem.successors.iter().enumerate() {
        for (edge, &to) in targets.iter().enumerate() {
            if is_there(to) && !is_there(end(block)) {
                inserted.push((block, edge));
            }
        }
    }
    let uses = (0..blocks).filter(|&block| problem.blocks[block].uses && is_there(block));
    let placed = problem.placed(inserted, is_there(problem.entry), uses.collect());
    if placed.after >= placed.before {
        return Err(SpeculationRefusal::NothingGained {
            evaluations: placed.before,
        });
    }
    Ok(placed)
}
