//! Drafts in the order of the text, each with the branches that its exit comes to.

use super::{Draft, Exit, Flow, Guard};
use crate::mir::{Block, Function, Operation, Rounds, Target, Virtual};

/// Operations of a loop's test that are repeated at its end.
const REPEATED: usize = 16;

/// Rounds of a loop that an estimate counts, at most.
const MOST_ROUNDS: f64 = 4096.0;

/// The terminator of a block; blocks by their numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Leaving {
    Jump(u32),
    /// `backwards`: to a block in front of this one, or to itself.
    Branch {
        condition: Guard,
        to: u32,
        backwards: bool,
    },
    /// To a block that loads a value which is marked.
    Check {
        register: Virtual,
        to: u32,
    },
    Return,
    /// Nothing comes here: it ends if it does.
    Never,
}

impl<T: Target> Flow<'_, T> {
    /// The function; `leave` makes the operations that a block ends with.
    pub(crate) fn finish(mut self, leave: impl Fn(Leaving) -> Vec<Operation<T>>) -> Function<T> {
        let leading = std::mem::take(&mut self.entry);
        // Behind what takes the arguments: nothing of it reads them.
        self.drafts[0].operations.splice(0..0, leading);
        self.one_latch();
        self.rotate();
        let order = self.order();
        let mut number = vec![u32::MAX; self.drafts.len()];
        for (at, &draft) in order.iter().enumerate() {
            number[draft as usize] = at as u32;
        }
        for (at, &draft) in order.iter().enumerate() {
            let weight = self.weight(draft);
            let Draft {
                mut operations,
                exit,
                loc,
                ..
            } = self.drafts[draft as usize].clone();
            let mut leaves = |leaving| {
                let made = leave(leaving).into_iter();
                operations.extend(made.map(|operation| operation.at(loc)));
            };
            let next = |target: u32| number[target as usize] == at as u32 + 1;
            let branch = |condition, to: u32| Leaving::Branch {
                condition,
                to: number[to as usize],
                backwards: number[to as usize] <= at as u32,
            };
            match exit {
                Exit::Jump(to) if next(to) => {}
                Exit::Jump(to) => leaves(Leaving::Jump(number[to as usize])),
                Exit::Branch {
                    condition,
                    negation,
                    then,
                    otherwise,
                } => match (next(then), negation) {
                    (true, Some(negation)) => leaves(branch(negation, otherwise)),
                    _ => {
                        leaves(branch(condition, then));
                        if !next(otherwise) {
                            leaves(Leaving::Jump(number[otherwise as usize]));
                        }
                    }
                },
                Exit::Check {
                    register,
                    failed,
                    otherwise,
                } => {
                    leaves(Leaving::Check {
                        register,
                        to: number[failed as usize],
                    });
                    if !next(otherwise) {
                        leaves(Leaving::Jump(number[otherwise as usize]));
                    }
                }
                Exit::Return => leaves(Leaving::Return),
                Exit::Never => leaves(Leaving::Never),
            }
            self.out.blocks.push(Block {
                operations,
                weight,
                cycles: Vec::new(),
                rounds: self.rounds_at(draft),
            });
        }
        self.out
    }

    /// The known bounds of the trip count of a loop that begins with a draft.
    fn rounds_at(&self, draft: u32) -> Option<Rounds> {
        let begins = |header: &ir::Block| self.starts.get(header) == Some(&draft);
        let mut known = self.rounds.iter();
        let found = known.find(|(header, _)| begins(header));
        found.map(|(_, rounds)| *rounds)
    }

    fn weight(&self, draft: u32) -> f64 {
        if self.drafts[draft as usize].recovers {
            return 0.0;
        }
        let (left, right) = self.drafts[draft as usize].homes;
        let depth = self
            .forest
            .around(left)
            .filter(|&own| self.forest.contains(own, right))
            .count();
        if let Some(profile) = self.weights {
            let known = |block: ir::Block| profile.get(block.0 as usize).copied().unwrap_or(1.0);
            return known(left).min(known(right));
        }
        let own = self
            .forest
            .around(left)
            .filter(|&own| self.forest.contains(own, right));
        let known = own.filter_map(|own| self.rounds.get(&self.forest.loops[own].header));
        // Of each loop of which nothing is known ten rounds are counted.
        let known = known.map(|rounds| rounds.usual().min(MOST_ROUNDS) / 10.0);
        10f64.powi(depth.min(8) as i32) * known.product::<f64>()
    }

    /// Returns true if a draft lies in a loop.
    fn within(&self, own: ir::loops::LoopId, draft: u32) -> bool {
        let (left, right) = self.drafts[draft as usize].homes;
        self.forest.contains(own, left) && self.forest.contains(own, right)
    }

    /// Loops to whose headers several drafts lead back get one that all of them go through.
    fn one_latch(&mut self) {
        for (own, data) in self.forest.loops.clone().iter() {
            let Some(&header) = self.starts.get(&data.header) else {
                continue;
            };
            let back: Vec<u32> = (0..self.drafts.len() as u32)
                .filter(|&draft| self.within(own, draft))
                .filter(|&draft| {
                    let mut exit = self.drafts[draft as usize].exit.clone();
                    exit.targets().iter().any(|to| **to == header)
                })
                .collect();
            if back.len() < 2 || !data.reducible {
                continue;
            }
            let last = self.drafts[*back.last().unwrap_or(&header) as usize]
                .homes
                .0;
            let latch = self.draft((last, data.header));
            self.drafts[latch as usize].exit = Exit::Jump(header);
            for draft in back {
                let exit = &mut self.drafts[draft as usize].exit;
                for to in exit.targets() {
                    if *to == header {
                        *to = latch;
                    }
                }
            }
        }
    }

    /// The test of a loop's header is repeated behind its only latch.
    fn rotate(&mut self) {
        for (own, data) in self.forest.loops.clone().iter() {
            let Some(&header) = self.starts.get(&data.header) else {
                continue;
            };
            let Exit::Branch {
                then, otherwise, ..
            } = self.drafts[header as usize].exit
            else {
                continue;
            };
            let inside = match (self.within(own, then), self.within(own, otherwise)) {
                (true, false) => then,
                (false, true) => otherwise,
                _ => continue,
            };
            let latches: Vec<u32> = (0..self.drafts.len() as u32)
                .filter(|&draft| self.within(own, draft))
                .filter(|&draft| matches!(self.drafts[draft as usize].exit, Exit::Jump(to) if to == header))
                .collect();
            let [latch] = latches[..] else { continue };
            let repeated = self.drafts[header as usize].operations.clone();
            if latch == header || inside == header || repeated.len() > REPEATED || !data.reducible {
                continue;
            }
            let exit = self.drafts[header as usize].exit.clone();
            let loc = self.drafts[header as usize].loc;
            // What was the header is executed once from now on, in front of the loop.
            let before = (0..self.drafts.len() as u32)
                .filter(|&draft| !self.within(own, draft))
                .find(|&draft| {
                    let mut exit = self.drafts[draft as usize].exit.clone();
                    exit.targets().iter().any(|to| **to == header)
                });
            if let Some(before) = before {
                let (home, _) = self.drafts[before as usize].homes;
                self.drafts[header as usize].homes = (home, home);
            }
            let latch = &mut self.drafts[latch as usize];
            latch.operations.extend(repeated);
            latch.exit = exit;
            latch.loc = loc;
            // Where it is entered it executes.
            self.starts.insert(data.header, inside);
            if let Some(rounds) = self.rounds.get_mut(&data.header) {
                rounds.least = rounds.least.max(1);
                rounds.most = rounds.most.max(rounds.least);
            }
        }
    }

    /// Drafts that are reached, each behind the one that it continues: those of one predecessor that jumps are merged
    /// into it.
    fn order(&mut self) -> Vec<u32> {
        let count = self.drafts.len();
        let reach = |drafts: &[Draft<T>]| {
            let mut arriving = vec![0u32; count];
            let mut seen = vec![false; count];
            let mut work = vec![0u32];
            seen[0] = true;
            arriving[0] = 2;
            while let Some(at) = work.pop() {
                let mut exit = drafts[at as usize].exit.clone();
                for to in exit.targets() {
                    arriving[*to as usize] += 1;
                    if !std::mem::replace(&mut seen[*to as usize], true) {
                        work.push(*to);
                    }
                }
            }
            (seen, arriving)
        };
        // Empty drafts are passed by.
        for at in 0..count {
            let mut exit = self.drafts[at].exit.clone();
            for to in exit.targets() {
                for _ in 0..count {
                    match &self.drafts[*to as usize] {
                        Draft {
                            operations,
                            exit: Exit::Jump(on),
                            ..
                        } if operations.is_empty() && on != to => *to = *on,
                        _ => break,
                    }
                }
            }
            if let Exit::Branch {
                then, otherwise, ..
            } = exit
                && then == otherwise
            {
                exit = Exit::Jump(then);
            }
            self.drafts[at].exit = exit;
        }
        let (seen, arriving) = reach(&self.drafts);
        let mut gone = vec![false; count];
        for at in 0..count {
            if !seen[at] || gone[at] {
                continue;
            }
            while let Exit::Jump(to) = self.drafts[at].exit {
                if arriving[to as usize] != 1 || to as usize == at {
                    break;
                }
                let next = self.drafts[to as usize].clone();
                gone[to as usize] = true;
                let draft = &mut self.drafts[at];
                draft.operations.extend(next.operations);
                draft.exit = next.exit;
                draft.loc = next.loc;
                // The deeper of the two tells how often it runs.
                if draft.operations.is_empty() {
                    draft.homes = next.homes;
                }
            }
        }
        self.layout(&seen, &gone)
    }

    /// Reverse post-order with ways out of loops last, then the blocks of each loop together.
    fn layout(&self, seen: &[bool], gone: &[bool]) -> Vec<u32> {
        let mut left: Vec<(u32, Vec<u32>)> = vec![(0, self.visits(0))];
        let mut entered = vec![false; self.drafts.len()];
        entered[0] = true;
        let mut order = Vec::new();
        while let Some((at, next)) = left.last_mut() {
            match next.pop() {
                Some(to) if !std::mem::replace(&mut entered[to as usize], true) => {
                    left.push((to, self.visits(to)));
                }
                Some(_) => {}
                None => {
                    order.push(*at);
                    left.pop();
                }
            }
        }
        order.reverse();
        order.retain(|&draft| seen[draft as usize] && !gone[draft as usize]);
        // Outer loops come first in the forest.
        for (own, _) in self.forest.loops.iter() {
            let inside = |draft: &u32| self.within(own, *draft);
            let Some(first) = order.iter().position(inside) else {
                continue;
            };
            let (members, others): (Vec<u32>, Vec<u32>) =
                order[first..].iter().copied().partition(inside);
            order.truncate(first);
            order.extend(members);
            order.extend(others);
        }
        // Nothing should have to jump over what seldom runs.
        let recovers = |draft: &u32| self.drafts[*draft as usize].recovers;
        let (seldom, mut order): (Vec<u32>, Vec<u32>) = order.into_iter().partition(recovers);
        order.extend(seldom);
        order
    }
    /// Returns where a draft leads, in the reverse of the order in which it is looked at: the one that should
    /// follow it comes last.
    fn visits(&self, draft: u32) -> Vec<u32> {
        let mut exit = self.drafts[draft as usize].exit.clone();
        let mut next: Vec<u32> = exit.targets().into_iter().map(|to| *to).collect();
        let (left, right) = self.drafts[draft as usize].homes;
        let around: Vec<_> = self
            .forest
            .around(left)
            .filter(|&own| self.forest.contains(own, right))
            .collect();
        let shared = |to: u32| around.iter().filter(|&&own| self.within(own, to)).count();
        // Looked at from the end: those that leave the most loops, then the second of two.
        next.sort_by_key(|&to| std::cmp::Reverse(shared(to)));
        next
    }
}
