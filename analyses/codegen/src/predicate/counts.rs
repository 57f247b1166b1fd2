//! The blocks of a function that execute at least as often as others, in every run that ends.
//!
//! ```text
//! b0 -> b1 -> b2 -> b3 -> b1, b4       b1 and b3 execute as often as b2; b0 and b4 as often as each other
//! ```
//!
//! Both are in the same innermost loop, and all ways to the other one lead through the first, or all ways from it come there before
//! they go back to the start of a loop around both. Two executions of the other have one of the first in between: what leads
//! from one to the next passes the loop's start, and what dominates a block of a loop is passed again on the way from there. In an
//! irreducible function nothing is said.

use super::loops::{dominates, dominators_of, edges, natural_of};
use crate::mir::{Function, Target};
use ir::dominators::semi_nca;
use rustc_hash::FxHashMap;

#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// The innermost loop of each block, by the block that it starts at.
    loops: Vec<Option<u32>>,
    /// Immediate dominators.
    above: Vec<Option<u32>>,
    /// Immediate post-dominators of the blocks of each loop, with one exit behind all blocks that end and all that go back to the
    /// start of it or of a loop around it.
    below: FxHashMap<Option<u32>, Vec<Option<u32>>>,
    reducible: bool,
}

impl Counts {
    pub(crate) fn of<T: Target>(function: &Function<T>) -> Counts {
        let (next, before) = edges(function);
        Counts::of_graph(&next, &before)
    }

    /// By the successors and the predecessors of each block.
    fn of_graph(next: &[Vec<u32>], before: &[Vec<u32>]) -> Counts {
        let above = dominators_of(next, before);
        let mut regions = natural_of(&above, before);
        regions.sort_by_key(|region| std::cmp::Reverse(region.blocks.len()));
        let mut loops = vec![None; next.len()];
        for region in &regions {
            for &block in &region.blocks {
                loops[block as usize] = Some(region.header);
            }
        }
        let mut below = FxHashMap::default();
        for &own in &loops {
            below.entry(own).or_insert_with(|| {
                let around = |header: u32| {
                    let mut regions = regions.iter();
                    let region = regions.find(|region| region.header == header);
                    own.is_some_and(|own| region.is_some_and(|it| it.blocks.contains(&own)))
                };
                post_dominators(next, &above, &around)
            });
        }
        Counts {
            below,
            reducible: is_reducible(next, &above),
            loops,
            above,
        }
    }

    /// Returns true if the first block is known to execute at least as often as the other one.
    pub(crate) fn covers(&self, first: usize, other: usize) -> bool {
        let below = || &self.below[&self.loops[other]];
        let all = |tree: &[Option<u32>]| dominates(tree, first as u32, other as u32);
        self.reducible
            && self.loops[first] == self.loops[other]
            && (all(&self.above) || all(below()))
    }
}

/// Immediate post-dominators where ways end that go back to the headers of loops `around` a block. Those that go back to other
/// headers are left out: what leads on from there leads on from the header already.
fn post_dominators(
    next: &[Vec<u32>],
    above: &[Option<u32>],
    around: &dyn Fn(u32) -> bool,
) -> Vec<Option<u32>> {
    let exit = next.len() as u32;
    let mut on = vec![Vec::new(); next.len() + 1];
    let mut back = vec![Vec::new(); next.len() + 1];
    for (from, next) in (0..).zip(next) {
        let mut to: Vec<u32> = match next.is_empty() {
            true => vec![exit],
            false => {
                let ways = next.iter().map(|&to| match dominates(above, to, from) {
                    false => Some(to),
                    true => around(to).then_some(exit),
                });
                ways.flatten().collect()
            }
        };
        to.dedup();
        for &to in &to {
            back[to as usize].push(from);
        }
        on[from as usize] = to;
    }
    semi_nca(
        next.len() + 1,
        exit,
        |block, out| out.extend(&back[block as usize]),
        |block, out| out.extend(&on[block as usize]),
    )
}

/// Returns true if each cycle leads back to a block that dominates where it comes from.
fn is_reducible(next: &[Vec<u32>], above: &[Option<u32>]) -> bool {
    let forward = |from: usize| {
        let all = next[from].iter().copied();
        all.filter(move |&to| !dominates(above, to, from as u32))
    };
    let reached = |block: usize| block == 0 || above[block].is_some();
    let mut open = vec![0u32; next.len()];
    for from in (0..next.len()).filter(|&block| reached(block)) {
        forward(from).for_each(|to| open[to as usize] += 1);
    }
    let mut ready: Vec<usize> = (0..next.len().min(1)).collect();
    let mut seen = 0;
    while let Some(block) = ready.pop() {
        seen += 1;
        for to in forward(block) {
            open[to as usize] -= 1;
            if open[to as usize] == 0 {
                ready.push(to as usize);
            }
        }
    }
    seen == (0..next.len()).filter(|&block| reached(block)).count()
}

#[cfg(test)]
mod tests {
    use super::Counts;
    use rand::rngs::StdRng;
    use rand::{Rng, SeedableRng};

    fn counts(next: &[Vec<u32>]) -> Counts {
        let mut before = vec![Vec::new(); next.len()];
        for (from, next) in (0..).zip(next) {
            for &to in next {
                before[to as usize].push(from);
            }
        }
        Counts::of_graph(next, &before)
    }

    #[test]
    fn blocks_of_a_loop_cover_each_other() {
        let found = counts(&[vec![1], vec![2], vec![3], vec![1, 4], vec![]]);
        let covered = [(1, 2), (2, 1), (3, 2), (1, 3), (0, 4), (4, 0)];
        assert!(
            covered
                .iter()
                .all(|&(first, other)| found.covers(first, other))
        );
        let others = [(0, 1), (4, 3), (1, 0)];
        assert!(
            others
                .iter()
                .all(|&(first, other)| !found.covers(first, other))
        );
        // Sides of a branch, and what is in front of it and behind.
        let found = counts(&[vec![1, 2], vec![3], vec![3], vec![]]);
        assert!(found.covers(0, 1) && found.covers(3, 2) && found.covers(0, 3));
        assert!(!found.covers(1, 0) && !found.covers(1, 2));
    }

    #[test]
    fn walks_through_random_graphs_agree() {
        let mut random = StdRng::seed_from_u64(7);
        let (mut covered, mut walks) = (0, 0);
        for _ in 0..3000 {
            let count = random.random_range(2..9u32);
            let next: Vec<Vec<u32>> = (0..count)
                .map(|block| {
                    let forward = random.random_range(0..5) > 0;
                    let ways = random.random_range(0..3);
                    let to = |random: &mut StdRng| match forward && block + 1 < count {
                        true => random.random_range(block + 1..count),
                        false => random.random_range(0..count),
                    };
                    let mut next: Vec<u32> = (0..ways).map(|_| to(&mut random)).collect();
                    next.sort_unstable();
                    next.dedup();
                    next
                })
                .collect();
            let found = counts(&next);
            for _ in 0..20 {
                let mut times = vec![0u32; count as usize];
                let mut at = 0u32;
                let ended = (0..200).any(|_| {
                    times[at as usize] += 1;
                    let next = &next[at as usize];
                    if !next.is_empty() {
                        at = next[random.random_range(0..next.len())];
                    }
                    next.is_empty()
                });
                if !ended {
                    continue;
                }
                walks += 1;
                for first in 0..count as usize {
                    for other in (0..count as usize).filter(|&other| other != first) {
                        if times[other] > 0 && found.covers(first, other) {
                            covered += 1;
                            assert!(times[first] >= times[other], "{next:?} {first} {other}");
                        }
                    }
                }
            }
        }
        assert!(walks > 10_000 && covered > 10_000, "{walks} {covered}");
    }
}
