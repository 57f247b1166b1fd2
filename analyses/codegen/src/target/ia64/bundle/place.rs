//! The slots of a group's instructions, if some must stand in front of others.
//!
//! ```text
//! F reads f8, M writes f8 afterwards, one bundle:  MFI with the M in front of the F is wrong;  two bundles, MFI MII, hold both
//! ```
//!
//! A group executes in the order of its slots as far as memory, writes behind reads, and branches are
//! concerned, so the fewest slots for its types are not always enough. A search over bundles, from the first
//! slot on; a set of placed instructions that failed from one bundle on is not tried again.

use super::block::Type;
use super::cost::Edge;
use super::template::{Shape, Slot};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

/// Part of a bundle that belongs to the group: `slots[k]` is the instruction in slot `from + k`; a long
/// instruction stands in slot 1 and 2 stays empty.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    pub shape: Shape,
    pub from: u32,
    pub slots: Vec<Option<u32>>,
}

/// Sets that are looked at.
const STATES: usize = 20_000;

/// Places instructions 0 to `types.len()` so that the group takes `slots` slots from `start` to `end`, each behind those
/// that `before` lists for it as `(earlier, later)`. At most 64 instructions. `None`: there is no such placement, or none
/// was found within bounds.
#[must_use]
pub fn place(
    types: &[Type],
    before: &[(u32, u32)],
    start: Edge,
    end: Edge,
    slots: u32,
) -> Option<Vec<Part>> {
    search(types, &[], before, start, end, slots, None)
}

/// The same for a group of which `accept` takes the placement: the bundles that issue together. `alike`
/// distinguishes instructions of one type that are not the same to `accept`.
#[must_use]
pub fn place_so(
    types: &[Type],
    alike: &[u8],
    before: &[(u32, u32)],
    start: Edge,
    end: Edge,
    slots: u32,
    accept: &dyn Fn(&[Part]) -> bool,
) -> Option<Vec<Part>> {
    search(types, alike, before, start, end, slots, Some(accept))
}

fn search(
    types: &[Type],
    alike: &[u8],
    before: &[(u32, u32)],
    start: Edge,
    end: Edge,
    slots: u32,
    accept: Option<Accept<'_>>,
) -> Option<Vec<Part>> {
    if types.len() > 64 {
        return None;
    }
    let mut earlier = vec![0u64; types.len()];
    for &(from, to) in before {
        *earlier.get_mut(to as usize)? |= 1 << from;
    }
    let first = match start {
        Edge::Whole => 0,
        Edge::AfterM => 2,
        Edge::AfterMi => 1,
    };
    let whole = slots.checked_sub(first + end.slots())?;
    if whole % 3 != 0 {
        return None;
    }
    let mut frames = Vec::new();
    match start {
        Edge::Whole => {}
        Edge::AfterM => frames.push(Frame::Fixed(Shape::Mmi, 1, 3)),
        Edge::AfterMi => frames.push(Frame::Fixed(Shape::Mii, 2, 3)),
    }
    frames.extend((0..whole / 3).map(|_| Frame::Any));
    match end {
        Edge::Whole => {}
        Edge::AfterM => frames.push(Frame::Fixed(Shape::Mmi, 0, 1)),
        Edge::AfterMi => frames.push(Frame::Fixed(Shape::Mii, 0, 2)),
    }
    let later = (0..types.len()).map(|index| {
        let behind = earlier.iter().zip(0..);
        behind.fold(0, |all, (earlier, other)| {
            all | (earlier >> index & 1) << other
        })
    });
    let mut search = Search {
        types,
        alike,
        later: later.collect(),
        earlier,
        frames,
        failed: FxHashSet::default(),
        states: STATES,
        accept,
        chosen: Vec::new(),
    };
    search.run(0, 0).then_some(search.chosen)
}

type Accept<'a> = &'a dyn Fn(&[Part]) -> bool;

#[derive(Clone, Copy)]
enum Frame {
    Any,
    Fixed(Shape, usize, usize),
}

struct Search<'a> {
    types: &'a [Type],
    alike: &'a [u8],
    /// Indexed by instruction: those that stand in front of it.
    earlier: Vec<u64>,
    /// Indexed by instruction: those that it stands in front of.
    later: Vec<u64>,
    frames: Vec<Frame>,
    failed: FxHashSet<(u64, usize)>,
    states: usize,
    accept: Option<Accept<'a>>,
    /// Bundles so far.
    chosen: Vec<Part>,
}

const fn fits(ty: Type, slot: Slot) -> bool {
    matches!(
        (ty, slot),
        (Type::A, Slot::M | Slot::I)
            | (Type::I, Slot::I)
            | (Type::M, Slot::M)
            | (Type::F, Slot::F)
            | (Type::B, Slot::B)
            | (Type::L, Slot::L)
    )
}

/// The instructions in the slots of a bundle, or of a part of one.
type Slots = SmallVec<[Option<u32>; 3]>;

/// A bundle and the instructions placed with it.
type Way = (Shape, u64, Slots);

impl Search<'_> {
    /// Fills `chosen` from this bundle on.
    fn run(&mut self, placed: u64, frame: usize) -> bool {
        let all = u64::MAX
            .checked_shr(64 - self.types.len() as u32)
            .unwrap_or(0);
        if frame == self.frames.len() {
            return placed == all && self.accept.is_none_or(|accept| accept(&self.chosen));
        }
        // What is accepted depends on the bundles in front, too.
        let known = self.accept.is_none();
        if known && self.failed.contains(&(placed, frame)) || self.states == 0 {
            return false;
        }
        self.states -= 1;
        // Three instructions a bundle at most.
        let left = (all & !placed).count_ones() as usize;
        let found = left <= 3 * (self.frames.len() - frame) && self.fill(placed, frame);
        if !found && known {
            self.failed.insert((placed, frame));
        }
        found
    }

    fn fill(&mut self, placed: u64, frame: usize) -> bool {
        let (shapes, from, to): (&[Shape], usize, usize) = match &self.frames[frame] {
            Frame::Any => (&Shape::ALL, 0, 3),
            Frame::Fixed(shape, from, to) => (&[*shape], *from, *to),
        };
        // Those that the bundles behind this one have no room for.
        let left = self.types.len() - placed.count_ones() as usize;
        let least = left.saturating_sub(3 * (self.frames.len() - frame - 1));
        // Fullest bundles first.
        let mut ways: Vec<Way> = Vec::new();
        for &shape in shapes {
            self.ways(
                shape,
                (from, to, least),
                placed,
                &mut Slots::new(),
                &mut ways,
            );
        }
        ways.sort_by_key(|(_, after, _)| std::cmp::Reverse(after.count_ones()));
        for (shape, after, slots) in ways {
            self.chosen.push(Part {
                shape,
                from: from as u32,
                slots: slots.to_vec(),
            });
            if self.run(after, frame + 1) {
                return true;
            }
            self.chosen.pop();
        }
        false
    }

    /// All ways to fill the slots from `slots.len()` on with `least` instructions at least.
    fn ways(
        &self,
        shape: Shape,
        (from, to, least): (usize, usize, usize),
        placed: u64,
        slots: &mut Slots,
        out: &mut Vec<Way>,
    ) {
        let at = from + slots.len();
        if least > to - at {
            return;
        }
        if at >= to {
            out.push((shape, placed, slots.clone()));
            return;
        }
        let mut tried: SmallVec<[(Type, u8, u64); 8]> = SmallVec::new();
        for (index, &ty) in self.types.iter().enumerate() {
            let ready = placed & 1 << index == 0 && self.earlier[index] & !placed == 0;
            if !ready || !fits(ty, shape.slots()[at]) {
                continue;
            }
            // Of instructions that nothing tells apart one is enough.
            let after = self.later[index];
            let alike = self.alike.get(index).copied().unwrap_or(0);
            if tried.contains(&(ty, alike, after)) {
                continue;
            }
            tried.push((ty, alike, after));
            slots.push(Some(index as u32));
            let least = least.saturating_sub(1);
            self.ways(shape, (from, to, least), placed | 1 << index, slots, out);
            slots.pop();
        }
        slots.push(None);
        self.ways(shape, (from, to, least), placed, slots, out);
        slots.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::super::cost::{Counts, slots};
    use super::*;

    #[test]
    fn order_costs_a_bundle_where_it_must() {
        // The F in front of the M.
        let types = [Type::F, Type::M];
        assert!(place(&types, &[], Edge::Whole, Edge::Whole, 3).is_some());
        assert_eq!(place(&types, &[(0, 1)], Edge::Whole, Edge::Whole, 3), None);
        let found = place(&types, &[(0, 1)], Edge::Whole, Edge::Whole, 6).expect("two bundles");
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].slots[1], Some(0));
        assert_eq!(found[1].slots[0], Some(1));
    }

    #[test]
    fn without_order_the_formula_holds() {
        for a in 0..3 {
            for i in 0..3 {
                for m in 0..3 {
                    for f in 0..3 {
                        for b in 0..2 {
                            let counts = Counts {
                                a,
                                i,
                                m,
                                f,
                                l: 1,
                                b,
                            };
                            let mut types = vec![Type::L];
                            for (count, ty) in [
                                (a, Type::A),
                                (i, Type::I),
                                (m, Type::M),
                                (f, Type::F),
                                (b, Type::B),
                            ] {
                                types.extend((0..count).map(|_| ty));
                            }
                            // Branches stand last.
                            let last = types.len() as u32 - b;
                            let order: Vec<(u32, u32)> = (last..types.len() as u32)
                                .flat_map(|to| (0..last).map(move |from| (from, to)))
                                .collect();
                            for start in Edge::ALL {
                                for end in Edge::ALL {
                                    let Some(total) = slots(counts, start, end) else {
                                        continue;
                                    };
                                    let found = place(&types, &order, start, end, total);
                                    assert!(found.is_some(), "{counts:?} {start:?} {end:?}");
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
