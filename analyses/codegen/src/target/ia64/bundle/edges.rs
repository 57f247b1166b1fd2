//! The ends of groups in their bundles, for groups whose instructions and cycles are decided, so that they
//! take the fewest slots.
//!
//! ```text
//! {M1} {M2 I3} {I4}: each in bundles of its own 9 slots;  M1 | M2 I3 | I4 ..: 6
//! ```
//!
//! A group begins where the one in front of it ended, behind the first slot, behind the second, or in a new bundle; the
//! cheapest way to each of the three is kept from group to group. A group that issues in one cycle keeps within the bundles
//! of one. Exact for the groups that are given; takes nine steps a group.

use super::block::{Block, Packing, Width, count};
use super::cost::{Edge, slots};

/// The same groups in the fewest slots.
#[must_use]
pub(super) fn joined(block: &Block, mut packing: Packing, width: Width) -> Packing {
    // For each kind of end: the fewest slots so far, and for each group the end of the previous one that they
    // need.
    let mut best: [Option<u32>; 3] = [Some(0), None, None];
    let mut from: Vec<[usize; 3]> = Vec::new();
    for group in &packing.groups {
        let members = group.instructions.iter();
        let counts = count(members.map(|&member| block.types[member as usize]));
        let whole = slots(counts, Edge::Whole, Edge::Whole).unwrap_or(u32::MAX);
        let mut next: [Option<u32>; 3] = [None; 3];
        let mut ways = [0; 3];
        for (to, end) in Edge::ALL.into_iter().enumerate() {
            for (at, start) in Edge::ALL.into_iter().enumerate() {
                let (Some(before), Some(own)) = (best[at], slots(counts, start, end)) else {
                    continue;
                };
                let reach = start.slots() + own;
                if reach > width.slots && whole <= width.slots {
                    continue;
                }
                if next[to].is_none_or(|known| before + own < known) {
                    (next[to], ways[to]) = (Some(before + own), at);
                }
            }
        }
        best = next;
        from.push(ways);
    }
    let padded = |to: usize| {
        let open = Edge::ALL[to].slots();
        best[to].map(|slots| slots + if open == 0 { 0 } else { 3 - open })
    };
    let least = (0..3)
        .filter_map(|to| padded(to).map(|slots| (slots, to)))
        .min();
    let Some((total, mut to)) = least.filter(|(total, _)| *total <= packing.slots) else {
        return packing;
    };
    for (group, ways) in packing.groups.iter_mut().zip(&from).rev() {
        group.end = Edge::ALL[to];
        to = ways[to];
        group.start = Edge::ALL[to];
    }
    packing.slots = total;
    packing.nops = total - count(block.types.iter().copied()).filled();
    packing
}

#[cfg(test)]
mod tests {
    use super::super::block::{Type, Wait, list};
    use super::*;

    #[test]
    fn short_groups_share_bundles() {
        let wait = |from, to| Wait {
            from,
            to,
            cycles: 1,
        };
        let block = Block {
            types: vec![Type::M, Type::M, Type::I, Type::I],
            edges: vec![wait(0, 1), wait(0, 2), wait(1, 3), wait(2, 3)],
        };
        let packing = list(&block, Width::ITANIUM);
        assert_eq!((packing.groups.len(), packing.slots), (3, 9));
        let packing = joined(&block, packing, Width::ITANIUM);
        assert_eq!(packing.slots, 6);
        assert_eq!(packing.check(&block), Ok(()));
    }
}
