//! The list schedule: cycle by cycle as many of the ready instructions as issue, those that lead the longest ways first,
//! every group in bundles of its own.
//!
//! ```text
//! M1 -> M3 M4 M5, M3 I2 -> F6      MI|I MMI| MFI|
//! ```
//!
//! The baseline of Haga and Barua, *EPIC Instruction Scheduling Based on Optimal Approaches*, 2001, figure 2(b); templates
//! are the best of each group.

use super::block::{Block, Group, Packing, Type, Width, place};
use super::cost::{Counts, Edge, slots};
use super::graph::Graph;

/// In each cycle the ready instructions that lead the longest ways, as many as issue, every group in bundles of its own:
/// the baseline.
#[must_use]
pub fn list(block: &Block, width: Width) -> Packing {
    listed(&block.types, &Graph::new(block), width)
}

pub(super) fn listed(types: &[Type], graph: &Graph, width: Width) -> Packing {
    let order = graph.by_height();
    let mut rank = vec![0u32; graph.count];
    for (at, &each) in order.iter().enumerate() {
        rank[each as usize] = at as u32;
    }
    // The number of predecessors that each instruction still waits for, and the cycle from which on it may
    // issue as far as that is known.
    let mut missing: Vec<u32> = (0..graph.count as u32)
        .map(|it| graph.before(it).len() as u32)
        .collect();
    let mut from = vec![0u32; graph.count];
    // By rank: nothing in front of it is missing.
    let mut open = vec![0u64; graph.count.div_ceil(64)];
    let mark = |open: &mut [u64], rank: u32| open[rank as usize / 64] |= 1 << (rank % 64);
    for (each, &missing) in missing.iter().enumerate() {
        if missing == 0 {
            mark(&mut open, rank[each]);
        }
    }
    let mut out = Packing {
        groups: Vec::new(),
        slots: 0,
        nops: 0,
        cycles: 0,
        proved: false,
    };
    let (mut left, mut cycle, mut idle) = (graph.count, 0, 0);
    while left > 0 {
        let mut instructions: Vec<u32> = Vec::new();
        let mut counts = Counts::default();
        let mut taken = 0;
        // When something comes that is not ready yet.
        let mut soon = u32::MAX;
        // What may stand in the group of another may come with it.
        let mut grown = true;
        while std::mem::take(&mut grown) {
            soon = u32::MAX;
            for word in 0..open.len() {
                let mut behind = u64::MAX;
                while open[word] & behind != 0 {
                    let bit = (open[word] & behind).trailing_zeros();
                    behind = u64::MAX.checked_shl(bit + 1).unwrap_or(0);
                    let found = order[word * 64 + bit as usize];
                    if from[found as usize] > cycle {
                        soon = soon.min(from[found as usize]);
                        continue;
                    }
                    let mut with = counts;
                    *place(&mut with, types[found as usize]) += 1;
                    let wanted = slots(with, Edge::Whole, Edge::Whole).unwrap_or(u32::MAX);
                    // An instruction that fits nowhere issues alone.
                    if !width.fits(with, wanted) && (!instructions.is_empty() || idle == 0) {
                        soon = soon.min(cycle + 1);
                        continue;
                    }
                    (counts, taken) = (with, wanted);
                    open[word] &= !(1 << bit);
                    left -= 1;
                    instructions.push(found);
                    for &(to, cycles) in graph.after(found) {
                        let to = to as usize;
                        from[to] = from[to].max(cycle + cycles);
                        missing[to] -= 1;
                        if missing[to] == 0 {
                            mark(&mut open, rank[to]);
                            grown |= from[to] <= cycle;
                            soon = soon.min(from[to]);
                        }
                    }
                }
            }
        }
        let next = match soon {
            u32::MAX => cycle + 1,
            soon => soon.max(cycle + 1),
        };
        idle = next - cycle - u32::from(!instructions.is_empty());
        if !instructions.is_empty() {
            instructions.sort_unstable();
            out.slots += taken;
            out.nops += taken - counts.filled();
            out.groups.push(Group {
                cycle,
                instructions,
                start: Edge::Whole,
                end: Edge::Whole,
            });
            out.cycles = cycle + 1;
        }
        cycle = next;
    }
    out
}
