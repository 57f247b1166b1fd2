//! Groups whose cycles a pipeliner decided, one a cycle, as bundles: each ends in the middle of one where the next may begin
//! there and both still issue in their cycles.
//!
//! ```text
//! cycle 0: ld8   cycle 1: st8, add      { .mmi  ld8 ;;  st8  add ;; }
//! ```
//!
//! The fewest slots for the three places where a group may end, kept from group to group. What no bundles hold is written
//! without them, for the assembler.

use super::assembly::Instruction;
use super::rebundle::nop;
use crate::target::ia64::bundle::cost::Edge;
use crate::target::ia64::bundle::place::Part;
use crate::target::ia64::bundle::template::{Slot, Template};
use crate::target::ia64::dependence::data_dependences;
use crate::target::ia64::rows::{Kind, Rows};
use isa::ia64::Inst;

/// Where a group ends at best.
#[derive(Clone)]
struct Way {
    slots: u32,
    start: Edge,
    /// `None`: without bundles.
    parts: Option<Vec<Part>>,
}

/// Prints instructions, a group for each of `counts`, by lines with the instruction on each.
pub(super) fn print(
    instructions: &[Instruction],
    counts: &[usize],
    rows: &Rows,
    out: &mut dyn FnMut(String, Option<usize>),
) {
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
    let mut lines: Vec<(String, Option<usize>)> = Vec::new();
    let mut stop = 0;
    for ((group, ends), end) in groups.into_iter().zip(ways).zip(chosen) {
        match ends.into_iter().next().flatten().and_then(|way| way.parts) {
            Some(parts) => {
                for (at, part) in parts.iter().enumerate() {
                    let end = (at + 1 == parts.len()).then_some(end);
                    let text = |one: usize| (instructions[one].text.clone(), Some(one));
                    let own = |one: u32| text(group.start + one as usize);
                    bundle(&own, part, end, &mut lines, &mut stop, out);
                }
            }
            None => {
                for at in group.clone() {
                    let stop = if at + 1 == group.end { " ;;" } else { "" };
                    out(format!("\t{}{stop}", instructions[at].text), Some(at));
                }
            }
        }
    }
}

/// Adds a part of a bundle, and writes the bundle when it is full. `end`: of its group, where that ends here.
fn bundle(
    instruction: &dyn Fn(u32) -> (String, Option<usize>),
    part: &Part,
    end: Option<Edge>,
    lines: &mut Vec<(String, Option<usize>)>,
    stop: &mut u8,
    out: &mut dyn FnMut(String, Option<usize>),
) {
    for (filler, &kind) in part
        .slots
        .iter()
        .zip(&part.shape.slots()[part.from as usize..])
    {
        match filler {
            Some(one) => lines.push(instruction(*one)),
            None if kind == Slot::X => {}
            None => lines.push((nop(kind).to_owned(), None)),
        }
    }
    let reached = part.from as usize + part.slots.len();
    if reached < 3 {
        *stop = reached as u8;
        lines.push((";;".to_owned(), None));
        return;
    }
    let name = Template::with(part.shape, *stop, end.is_some()).map_or("", Template::name);
    out(format!("\t{{ {name}"), None);
    for (line, instruction) in lines.drain(..) {
        out(format!("\t{line}"), instruction);
    }
    if end.is_some() {
        out("\t;;".to_owned(), None);
    }
    out("\t}".to_owned(), None);
    *stop = 0;
}

/// The units of a group, and which instructions stand in front of which.
fn needs(group: &[Instruction]) -> (Vec<Kind>, Vec<(u32, u32)>) {
    let insts: Vec<&Inst> = group.iter().map(|one| &one.inst).collect();
    let mut before: Vec<(u32, u32)> = data_dependences(&insts, &[])
        .iter()
        .map(|one| (one.from, one.to))
        .collect();
    for (to, inst) in insts.iter().enumerate() {
        if inst.ends_block() {
            before.extend((0..to as u32).map(|from| (from, to as u32)));
            // What stands behind a check in the group must not have happened where it fails.
            before.extend((to as u32 + 1..insts.len() as u32).map(|behind| (to as u32, behind)));
        }
    }
    (insts.iter().map(|inst| Kind::of(inst)).collect(), before)
}
