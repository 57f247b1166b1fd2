//! Groups whose cycles a pipeliner decided, one a cycle, as bundles: each ends in the middle of one where the next may begin
//! there and both still issue in their cycles.
//!
//! ```text
//! cycle 0: ld8   cycle 1: st8, add      { .mmi  ld8 ;;  st8  add ;; }
//! ```
//!
//! The fewest slots for the three places where a group may end, kept from group to group. Instructions that
//! fit no bundles are written without them, for the assembler.

use super::assembly::Instruction;
use crate::target::ia64::bundle::cost::Edge;
use crate::target::ia64::bundle::laid::{Laid, Written};
use crate::target::ia64::bundle::place::Part;
use crate::target::ia64::bundle::template::{Slot, Template};
use crate::target::ia64::dependence::data_dependences;
use crate::target::ia64::rows::{Kind, Rows};
use isa::ia64::Inst;

/// The best way to an end of a group.
#[derive(Clone)]
struct Way {
    slots: u32,
    start: Edge,
    /// `None`: without bundles.
    parts: Option<Vec<Part>>,
}

/// Lays out instructions, a group for each of `counts`.
pub(super) fn lay(instructions: &[Instruction], counts: &[usize], rows: &Rows) -> Vec<Laid> {
    // By group: the best way to each of its ends.
    let mut ways: Vec<[Option<Way>; 3]> = Vec::new();
    let mut groups: Vec<std::ops::Range<usize>> = Vec::new();
    for &count in counts {
        let first = groups.last().map_or(0, |before| before.end);
        let group = first..first + count;
        let (kinds, order) = needs(&instructions[group.clone()]);
        groups.push(group.clone());
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
                let Some(parts) = rows.placed_between(&kinds, &order, start, end) else {
                    continue;
                };
                let own: usize = parts.iter().map(|part| part.slots.len()).sum();
                let slots = before + own as u32;
                let known = &mut next[end as usize];
                if known.as_ref().is_none_or(|known| slots < known.slots) {
                    let parts = Some(parts);
                    *known = Some(Way {
                        slots,
                        start,
                        parts,
                    });
                }
            }
        }
        if next[0].is_none() {
            // The assembler finds templates for any sequence.
            let before = match ways.last() {
                Some(ends) => ends[0].as_ref().map_or(0, |way| way.slots),
                None => 0,
            };
            next[0] = Some(Way {
                slots: before + 3 * group.len() as u32,
                start: Edge::Whole,
                parts: None,
            });
        }
        ways.push(next);
    }
    let mut chosen = Vec::new();
    let mut end = Edge::Whole;
    for ends in ways.iter_mut().rev() {
        let Some(way) = ends[end as usize].take() else {
            continue;
        };
        chosen.push(end);
        end = way.start;
        ends[0] = Some(way);
    }
    chosen.reverse();
    let mut out = Vec::new();
    let mut open: Vec<Written> = Vec::new();
    let mut stop = 0;
    for ((group, ends), end) in groups.into_iter().zip(ways).zip(chosen) {
        match ends.into_iter().next().flatten().and_then(|way| way.parts) {
            Some(parts) => {
                for (at, part) in parts.iter().enumerate() {
                    let end = (at + 1 == parts.len()).then_some(end);
                    bundle(group.start, part, end, &mut open, &mut stop, &mut out);
                }
            }
            None => out.extend(group.clone().map(|at| Laid::Alone(at, at + 1 == group.end))),
        }
    }
    out
}

/// Adds a part of a bundle, and the bundle when it is full. `first`: the first instruction of the group; `end`: of its
/// group, where that ends here.
fn bundle(
    first: usize,
    part: &Part,
    end: Option<Edge>,
    open: &mut Vec<Written>,
    stop: &mut u8,
    out: &mut Vec<Laid>,
) {
    let kinds = &part.shape.slots()[part.from as usize..];
    for (filler, &kind) in part.slots.iter().zip(kinds) {
        match filler {
            Some(found) => open.push(Written::Instruction(first + *found as usize, false)),
            None if kind == Slot::X => {}
            None => open.push(Written::Nop(kind, false)),
        }
    }
    let reached = part.from as usize + part.slots.len();
    if let (true, Some(last)) = (reached < 3 || end.is_some(), open.last_mut()) {
        let (Written::Instruction(_, stops) | Written::Nop(_, stops)) = last;
        *stops = true;
    }
    if reached < 3 {
        *stop = reached as u8;
        return;
    }
    let name = Template::with(part.shape, *stop, end.is_some()).map_or("", Template::name);
    out.push(Laid::Bundle(name, std::mem::take(open)));
    *stop = 0;
}

/// The units of a group, and which instructions stand in front of which.
fn needs(group: &[Instruction]) -> (Vec<Kind>, Vec<(u32, u32)>) {
    let insts: Vec<&Inst> = group.iter().map(|it| &it.inst).collect();
    let mut before: Vec<(u32, u32)> = data_dependences(&insts, &[])
        .iter()
        .map(|dependence| (dependence.from, dependence.to))
        .collect();
    for (to, inst) in insts.iter().enumerate() {
        if inst.ends_block() {
            before.extend((0..to as u32).map(|from| (from, to as u32)));
            // The instructions behind a check in the group must not have executed if it fails.
            before.extend((to as u32 + 1..insts.len() as u32).map(|behind| (to as u32, behind)));
        }
    }
    (insts.iter().map(|inst| Kind::of(inst)).collect(), before)
}
