//! Bundles: the template that holds the written instructions, explicit or not.
//!
//! Braces hold what they say, checked against the templates that exist. Between braces the instructions are packed in
//! order, the template that takes most of the next ones at every bundle; the empty slots are nops, counted as any.
//! There a call is the last of its bundle, since its callee returns to the next one.

use super::op::Slot;

/// The three slots of a bundle, by the names of templates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Shape {
    pub(super) name: &'static str,
    pub(super) slots: [Slot; 3],
    /// The slot that may have a stop behind it, beside the last.
    pub(super) stop: Option<usize>,
}

const fn shape(name: &'static str, slots: [Slot; 3], stop: Option<usize>) -> Shape {
    Shape { name, slots, stop }
}

pub(super) const SHAPES: [Shape; 10] = [
    shape("mii", [Slot::M, Slot::I, Slot::I], Some(1)),
    shape("mmi", [Slot::M, Slot::M, Slot::I], Some(0)),
    shape("mfi", [Slot::M, Slot::F, Slot::I], None),
    shape("mmf", [Slot::M, Slot::M, Slot::F], None),
    shape("mib", [Slot::M, Slot::I, Slot::B], None),
    shape("mmb", [Slot::M, Slot::M, Slot::B], None),
    shape("mfb", [Slot::M, Slot::F, Slot::B], None),
    shape("mbb", [Slot::M, Slot::B, Slot::B], None),
    shape("bbb", [Slot::B, Slot::B, Slot::B], None),
    // The long instruction takes the last two.
    shape("mlx", [Slot::M, Slot::Long, Slot::Long], None),
];

/// An instruction to be placed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Placed {
    pub(super) slot: Slot,
    /// True if a stop follows.
    pub(super) stop: bool,
    /// True if only the last slot will do: loop branches.
    pub(super) last: bool,
    /// True if nothing may follow in its bundle: calls.
    pub(super) ends: bool,
}

/// A bundle: for each slot the instruction in it, and which slots have a stop behind them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Filled {
    pub(super) shape: usize,
    pub(super) slots: [Option<usize>; 3],
    pub(super) stops: [bool; 3],
    pub(super) taken: usize,
}

fn fits(instruction: Slot, slot: Slot) -> bool {
    match instruction {
        Slot::A => matches!(slot, Slot::M | Slot::I),
        Slot::Any => slot != Slot::Long,
        found => found == slot,
    }
}

/// Fills a bundle with as many of `rest`, in order, as this shape takes.
pub(super) fn fill(shape: usize, rest: &[Placed]) -> Filled {
    let kinds = &SHAPES[shape];
    let mut filled = Filled {
        shape,
        slots: [None; 3],
        stops: [false; 3],
        taken: 0,
    };
    let mut at = 0;
    while at < 3 {
        let Some(next) = rest.get(filled.taken) else {
            break;
        };
        let long = kinds.slots[at] == Slot::Long;
        if !fits(next.slot, kinds.slots[at]) || (next.last && at != 2 && !long) {
            at += if long { 2 } else { 1 };
            continue;
        }
        filled.slots[at] = Some(filled.taken);
        filled.taken += 1;
        let end = if long { 2 } else { at };
        if next.ends {
            filled.stops[end] |= next.stop && end == 2;
            if next.stop {
                filled.stops[2] = true;
            }
            return filled;
        }
        at = end + 1;
        if next.stop {
            match kinds.stop.filter(|&stop| stop >= end) {
                Some(stop) if filled.taken < rest.len() => {
                    filled.stops[stop] = true;
                    at = stop + 1;
                    // A stop in the middle for nothing is one at the end.
                    let followed = rest
                        .get(filled.taken)
                        .is_some_and(|next| (at..3).any(|slot| fits(next.slot, kinds.slots[slot])));
                    if !followed {
                        filled.stops[stop] = false;
                        filled.stops[2] = true;
                        return filled;
                    }
                }
                _ => {
                    filled.stops[2] = true;
                    return filled;
                }
            }
        }
    }
    filled
}

/// The bundle that braces hold: of the template that is named, or of the first that takes all. Instructions
/// written behind a call stay there, and execute where the call does not. `None`: no template holds it.
pub(super) fn braced(name: Option<&str>, content: &[Placed]) -> Option<Filled> {
    let content: Vec<Placed> = content
        .iter()
        .map(|placed| Placed {
            ends: false,
            ..*placed
        })
        .collect();
    (0..SHAPES.len())
        .filter(|&shape| name.is_none_or(|name| SHAPES[shape].name == name))
        .map(|shape| fill(shape, &content))
        .find(|filled| {
            filled.taken == content.len()
                && (content.is_empty()
                    || content.iter().filter(|it| it.stop).count()
                        == filled.stops.iter().filter(|&&stop| stop).count())
        })
}

/// Bundles for instructions in order.
pub(super) fn packed(mut rest: &[Placed]) -> Vec<Filled> {
    let mut out = Vec::new();
    while !rest.is_empty() {
        let mut best = fill(0, rest);
        for shape in 1..SHAPES.len() {
            let filled = fill(shape, rest);
            if filled.taken > best.taken {
                best = filled;
            }
        }
        if best.taken == 0 {
            // No slot takes it: there is no such instruction, and what remains is left out.
            return out;
        }
        rest = &rest[best.taken..];
        out.push(best);
    }
    out
}
