//! The fewest slots for a group of instructions, in constant time, and the bundles that reach it.
//!
//! ```text
//! 1 I, 3 M, 2 F from a bundle's start:  MMF MMF MI_ needs 9; MMF MFI needs 6 and has room for all
//! ```
//!
//! With N bundles, L of them are MLX, F are MFI or MMF, the rest MII or MMI; if t of them have a second M in the place of
//! an I, there are N + t slots for M and N - L + ... - t for I, and every A fits into either: Hall's conditions on M, on I
//! and on all three give the least N. Branches stand last: at most one bundle mixes them with others, then come BBB.
//!
//! Source: the exact form of Haga and Barua, *EPIC Instruction Scheduling Based on Optimal Approaches*, 2001, section 4;
//! judged by trying all bundles.

use super::template::{Shape, Slot};

/// Instructions of a group by type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, PartialOrd, Ord)]
pub struct Counts {
    /// In an M or an I slot.
    pub a: u32,
    pub i: u32,
    pub m: u32,
    pub f: u32,
    /// Long ones, which take two slots.
    pub l: u32,
    pub b: u32,
}

impl Counts {
    /// Slots that instructions fill.
    pub const fn filled(self) -> u32 {
        self.a + self.i + self.m + self.f + 2 * self.l + self.b
    }
}

/// The place in a bundle where a group begins or ends.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Edge {
    /// At the boundary between bundles.
    Whole,
    /// Behind the first M of `M|MI`.
    AfterM,
    /// Behind the I of `MI|I`.
    AfterMi,
}

impl Edge {
    pub const ALL: [Edge; 3] = [Edge::Whole, Edge::AfterM, Edge::AfterMi];

    /// Slots of the bundle in front of it.
    pub const fn slots(self) -> u32 {
        match self {
            Edge::Whole => 0,
            Edge::AfterM => 1,
            Edge::AfterMi => 2,
        }
    }
}

/// The least number of bundles without branches, with `m0` and `i0` slots for M and I outside of them.
fn bundles(counts: Counts, m0: u32, i0: u32) -> u32 {
    let Counts { a, i, m, f, l, .. } = counts;
    let ways = [
        l + f,
        if m > m0 { (m - m0 + l).div_ceil(2) } else { 0 },
        (i + 2 * l + f).saturating_sub(i0).div_ceil(2),
        (a + i + m + 2 * l + f).saturating_sub(m0 + i0).div_ceil(3),
    ];
    ways.into_iter().max().unwrap_or(0)
}

/// Slots of a group from where it starts to where it ends, nops included. `None`: no template stops there behind a branch.
pub fn slots(counts: Counts, start: Edge, end: Edge) -> Option<u32> {
    let (mut m0, mut i0, first) = match start {
        Edge::Whole => (0, 0, 0),
        Edge::AfterM => (1, 1, 2),
        Edge::AfterMi => (0, 1, 1),
    };
    match end {
        Edge::Whole => {}
        Edge::AfterM => m0 += 1,
        Edge::AfterMi => (m0, i0) = (m0 + 1, i0 + 1),
    }
    if counts.b == 0 {
        return Some(first + end.slots() + 3 * bundles(counts, m0, i0));
    }
    if end != Edge::Whole {
        return None;
    }
    // The M, I and F slots of a bundle in front of its branches, and the number of branches.
    let mixed = [
        (0, 0, 0, 0),
        (1, 1, 0, 1),
        (2, 0, 0, 1),
        (1, 0, 1, 1),
        (1, 0, 0, 2),
    ];
    mixed
        .into_iter()
        .map(|(m, i, f, b)| {
            let rest = Counts {
                f: counts.f.saturating_sub(f),
                ..counts
            };
            let before = bundles(rest, m0 + m, i0 + i);
            before + u32::from(b > 0) + counts.b.saturating_sub(b).div_ceil(3)
        })
        .min()
        .map(|bundles| first + 3 * bundles)
}

/// Slots that no instruction of the group fills.
pub fn nops(counts: Counts, start: Edge, end: Edge) -> Option<u32> {
    slots(counts, start, end).map(|slots| slots - counts.filled())
}

/// The kind of instruction that fills a slot.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Filler {
    A,
    I,
    M,
    F,
    /// Both slots.
    L,
    B,
    Nop,
}

/// A bundle of a group, or the part of one that belongs to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Packed {
    pub shape: Shape,
    /// The first slot of the group, and the fillers of the group's slots from there.
    pub from: u32,
    pub fillers: Vec<Filler>,
}

/// Bundles that reach `slots`, in order. `None` as there.
pub fn pack(counts: Counts, start: Edge, end: Edge) -> Option<Vec<Packed>> {
    let mut left = counts;
    let mut total = slots(counts, start, end)?;
    let mut out = Vec::new();
    let part = |left: &mut Counts, shape: Shape, from: u32, to: u32| Packed {
        shape,
        from,
        fillers: fill(left, &shape.slots()[from as usize..to as usize]),
    };
    // The open bundles first: their slots cost nothing more.
    match start {
        Edge::Whole => {}
        Edge::AfterM => out.push(part(&mut left, Shape::Mmi, 1, 3)),
        Edge::AfterMi => out.push(part(&mut left, Shape::Mii, 2, 3)),
    }
    total -= if start == Edge::Whole {
        0
    } else {
        3 - start.slots()
    };
    let last = match end {
        Edge::Whole => None,
        Edge::AfterM => Some(part(&mut left, Shape::Mmi, 0, 1)),
        Edge::AfterMi => Some(part(&mut left, Shape::Mii, 0, 2)),
    };
    total -= end.slots();
    while total > 0 {
        // A bundle behind which the rest needs three slots less.
        let without = |shape: &Shape| left.b == 0 || !shape.slots().contains(&Slot::B);
        let plain = Shape::ALL.into_iter().filter(without);
        // Branches stand last: bundles with them come when nothing else would be left.
        let chosen = plain.chain(Shape::ALL).find_map(|shape| {
            let mut after = left;
            let fillers = fill(&mut after, &shape.slots());
            let ended = fillers.contains(&Filler::B);
            let only_branches = Counts { b: 0, ..after } == Counts::default();
            if ended && !only_branches {
                return None;
            }
            let rest = slots(after, Edge::Whole, Edge::Whole)?;
            (rest + 3 <= total).then_some((shape, after, fillers))
        });
        let (shape, after, fillers) = chosen?;
        left = after;
        total -= 3;
        out.push(Packed {
            shape,
            from: 0,
            fillers,
        });
    }
    out.extend(last);
    (left == Counts::default()).then_some(out)
}

/// Fills slots with the instructions that must stand there, then with those that may.
fn fill(left: &mut Counts, slots: &[Slot]) -> Vec<Filler> {
    let take = |count: &mut u32| match count.checked_sub(1) {
        Some(less) => {
            *count = less;
            true
        }
        None => false,
    };
    let mut long = false;
    slots
        .iter()
        .map(|slot| match slot {
            Slot::M if take(&mut left.m) => Filler::M,
            Slot::I if take(&mut left.i) => Filler::I,
            Slot::M | Slot::I if take(&mut left.a) => Filler::A,
            Slot::F if take(&mut left.f) => Filler::F,
            Slot::B if take(&mut left.b) => Filler::B,
            Slot::L => {
                long = take(&mut left.l);
                if long { Filler::L } else { Filler::Nop }
            }
            Slot::X if long => Filler::L,
            _ => Filler::Nop,
        })
        .collect()
}
