//! The dependences of a block: both directions in two tables, and the longest ways to and from each
//! instruction.

use super::block::Block;

/// The dependences of a block whose edges lead forward.
pub(super) struct Graph {
    pub(super) count: usize,
    /// The range of instruction `i`'s predecessors: `before[before_at[i]..before_at[i + 1]]`, with the
    /// cycles; `after` is the same for successors.
    before_at: Vec<u32>,
    before: Vec<(u32, u32)>,
    after_at: Vec<u32>,
    after: Vec<(u32, u32)>,
    /// Cycles from an instruction to the last that waits for it.
    pub(super) height: Vec<u32>,
}

impl Graph {
    pub(super) fn new(block: &Block) -> Graph {
        let count = block.types.len();
        let table = |of: fn(&super::block::Wait) -> (u32, u32)| {
            let mut at = vec![0; count + 2];
            block
                .edges
                .iter()
                .for_each(|wait| at[of(wait).0 as usize + 2] += 1);
            for each in 2..at.len() {
                at[each] += at[each - 1];
            }
            let mut all = vec![(0, 0); block.edges.len()];
            for wait in &block.edges {
                let (own, other) = of(wait);
                let place = &mut at[own as usize + 1];
                all[*place as usize] = (other, wait.cycles);
                *place += 1;
            }
            (at, all)
        };
        let (before_at, before) = table(|wait| (wait.to, wait.from));
        let (after_at, after) = table(|wait| (wait.from, wait.to));
        let mut out = Graph {
            count,
            before_at,
            before,
            after_at,
            after,
            height: vec![0; count],
        };
        for at in (0..count).rev() {
            let ways = out.after(at as u32).iter();
            let longest = ways.map(|&(to, cycles)| out.height[to as usize] + cycles);
            out.height[at] = longest.max().unwrap_or(0);
        }
        out
    }

    pub(super) fn before(&self, item: u32) -> &[(u32, u32)] {
        let (from, to) = (
            self.before_at[item as usize],
            self.before_at[item as usize + 1],
        );
        &self.before[from as usize..to as usize]
    }

    pub(super) fn after(&self, item: u32) -> &[(u32, u32)] {
        let (from, to) = (
            self.after_at[item as usize],
            self.after_at[item as usize + 1],
        );
        &self.after[from as usize..to as usize]
    }

    /// The first cycle of each instruction, when none may issue before `release` says.
    pub(super) fn earliest(&self, release: &[u32]) -> Vec<u32> {
        let mut cycle = release.to_vec();
        cycle.resize(self.count, 0);
        for at in 0..self.count {
            for &(from, cycles) in self.before(at as u32) {
                cycle[at] = cycle[at].max(cycle[from as usize] + cycles);
            }
        }
        cycle
    }

    /// Returns the instructions in order of height: those that lead the longest ways first.
    pub(super) fn by_height(&self) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.count as u32).collect();
        order.sort_unstable_by_key(|&i| (std::cmp::Reverse(self.height[i as usize]), i));
        order
    }
}
