//! The bundles of groups that were decided by counting their types, where some instructions must stand in front of others.
//!
//! ```text
//! {xmpy f32 = f32, f33  setf.sig f33 = r15}   MFI by its types; in this order MFI M| and the next group goes on
//! ```
//!
//! If the instructions of every group take the slots that were counted for them, the layout is done.
//! Otherwise the ends of all groups are chosen anew by the slots that they take in order: the fewest for each
//! of the three places in a bundle where a group may end, from group to group.

use crate::target::ia64::bundle::block::{self, Block, Type, Width, count};
use crate::target::ia64::bundle::cost::{Edge, slots};
use crate::target::ia64::bundle::place::{Part, place};

/// The bundles of a group, and where it ends.
pub(super) type Laid = (Vec<Part>, Edge);

/// The end of the group, by the place where it starts.
struct Way {
    slots: u32,
    start: Edge,
    parts: Vec<Part>,
}

/// `None`: no order of some group's instructions fits into templates.
pub(super) fn lay(
    block: &Block,
    groups: &[block::Group],
    order: &[(u32, u32)],
    width: Width,
) -> Option<Vec<Laid>> {
    let own = Ordered::all(block, groups, order);
    let counted = groups
        .iter()
        .zip(&own)
        .enumerate()
        .map(|(at, (group, own))| {
            let last = at + 1 == groups.len();
            let end = if last { Edge::Whole } else { group.end };
            Some((own.placed(group.start, end, 1)?, end))
        });
    if let Some(all) = counted.collect() {
        return Some(all);
    }
    let mut ways: Vec<[Option<Way>; 3]> = Vec::new();
    for group in &own {
        let whole = group.placed(Edge::Whole, Edge::Whole, 3)?;
        let narrow = taken(&whole) <= width.slots;
        let mut next = [const { None::<Way> }; 3];
        for start in Edge::ALL {
            let before = match ways.last() {
                Some(ends) => ends[start as usize].as_ref().map(|way| way.slots),
                None => (start == Edge::Whole).then_some(0),
            };
            let Some(before) = before else {
                continue;
            };
            for end in Edge::ALL {
                let parts = match (start, end) {
                    (Edge::Whole, Edge::Whole) => Some(whole.clone()),
                    _ => group.placed(start, end, 3),
                };
                let Some(parts) = parts else {
                    continue;
                };
                // A group that issues in one cycle keeps within the bundles of one.
                let own = taken(&parts);
                if narrow && start.slots() + own > width.slots {
                    continue;
                }
                let slots = before + own;
                let known = &mut next[end as usize];
                if known.as_ref().is_none_or(|known| slots < known.slots) {
                    *known = Some(Way {
                        slots,
                        start,
                        parts,
                    });
                }
            }
        }
        ways.push(next);
    }
    let mut out = Vec::new();
    let mut end = Edge::Whole;
    for mut ends in ways.into_iter().rev() {
        let way = ends[end as usize].take()?;
        out.push((way.parts, end));
        end = way.start;
    }
    out.reverse();
    Some(out)
}

fn taken(parts: &[Part]) -> u32 {
    parts.iter().map(|part| part.slots.len() as u32).sum()
}

/// A group by itself: its instructions and their order.
struct Ordered {
    types: Vec<Type>,
    before: Vec<(u32, u32)>,
}

impl Ordered {
    fn all(block: &Block, groups: &[block::Group], order: &[(u32, u32)]) -> Vec<Ordered> {
        // By instruction: its group and its number there.
        let mut place = vec![(u32::MAX, 0); block.types.len()];
        let mut out: Vec<Ordered> = Vec::with_capacity(groups.len());
        for (number, group) in (0..).zip(groups) {
            for (at, &each) in (0..).zip(&group.instructions) {
                place[each as usize] = (number, at);
            }
            let types = group.instructions.iter();
            out.push(Ordered {
                types: types.map(|&it| block.types[it as usize]).collect(),
                before: Vec::new(),
            });
        }
        for &(from, to) in order {
            let ((of, from), (group, to)) = (place[from as usize], place[to as usize]);
            if of == group && group != u32::MAX {
                out[group as usize].before.push((from, to));
            }
        }
        out
    }

    /// In the slots that its types take, or up to so many bundles more less one.
    fn placed(&self, start: Edge, end: Edge, ways: u32) -> Option<Vec<Part>> {
        let least = slots(count(self.types.iter().copied()), start, end)?;
        (0..ways).find_map(|more| place(&self.types, &self.before, start, end, least + 3 * more))
    }
}
