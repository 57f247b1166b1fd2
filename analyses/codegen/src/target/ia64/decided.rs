//! Groups whose cycles a pipeliner decided, one a cycle, as bundles: each ends in the middle of one where the next may begin
//! there and both still issue in their cycles.
//!
//! ```text
//! cycle 0: ld8   cycle 1: st8, add      { .mmi  ld8 ;;  st8  add ;; }
//! ```
//!
//! The fewest slots for the three places where a group may end, kept from group to group. What no bundles hold is written
//! without them, for the assembler.

use super::decode::decode;
use super::names::Names;
use crate::bundle::cost::Edge;
use crate::bundle::place::Part;
use crate::bundle::template::{Slot, Template};
use crate::mir::Inst;
use crate::mir::dependence::data_dependences;
use crate::pipeline::rows::{Kind, Rows};
use std::fmt::Write;
use syntax::ia64::StatementKind;

/// An instruction and the mark that stands behind it.
pub(super) struct Written {
    pub(super) text: String,
    pub(super) mark: usize,
}

/// Where a group ends at best.
#[derive(Clone)]
struct Way {
    slots: u32,
    start: Edge,
    /// `None`: without bundles.
    parts: Option<Vec<Part>>,
}

pub(super) fn print(groups: &[Vec<Written>], rows: Option<&Rows>, out: &mut String) {
    // By group: the best way to each of its ends.
    let mut ways: Vec<[Option<Way>; 3]> = Vec::new();
    for group in groups {
        let own = rows.and_then(|rows| Some((rows, needs(group)?)));
        let mut next = [const { None::<Way> }; 3];
        for start in Edge::ALL {
            let before = match ways.last() {
                Some(ends) => ends[start as usize].as_ref().map(|way| way.slots),
                None => (start == Edge::Whole).then_some(0),
            };
            let (Some(before), Some((rows, (kinds, order)))) = (before, &own) else {
                continue;
            };
            for end in Edge::ALL {
                let Some(parts) = rows.placed_between(kinds, order, start, end) else {
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
    let mut lines: Vec<String> = Vec::new();
    let mut stop = 0;
    for ((group, ends), end) in groups.iter().zip(ways).zip(chosen) {
        match ends.into_iter().next().flatten().and_then(|way| way.parts) {
            Some(parts) => {
                for (at, part) in parts.iter().enumerate() {
                    let last = at + 1 == parts.len();
                    bundle(group, part, last.then_some(end), &mut lines, &mut stop, out);
                }
            }
            None => {
                for (at, one) in group.iter().enumerate() {
                    let stop = if at + 1 == group.len() { " ;;" } else { "" };
                    let _ = writeln!(out, "\t{}{stop}\t// #{}", one.text, one.mark);
                }
            }
        }
    }
}

/// Adds a part of a bundle, and writes the bundle when it is full. `end`: of its group, where that ends here.
fn bundle(
    group: &[Written],
    part: &Part,
    end: Option<Edge>,
    lines: &mut Vec<String>,
    stop: &mut u8,
    out: &mut String,
) {
    for (filler, kind) in part
        .slots
        .iter()
        .zip(&part.shape.slots()[part.from as usize..])
    {
        let nop = match kind {
            Slot::M => "nop.m 0",
            Slot::I => "nop.i 0",
            Slot::F => "nop.f 0",
            Slot::B => "nop.b 0",
            Slot::L => "nop.x 0",
            Slot::X => continue,
        };
        lines.push(match filler.and_then(|one| group.get(one as usize)) {
            Some(one) => format!("{}\t// #{}", one.text, one.mark),
            None => nop.to_owned(),
        });
    }
    let reached = part.from as usize + part.slots.len();
    if reached < 3 {
        *stop = reached as u8;
        lines.push(";;".to_owned());
        return;
    }
    let name = Template::with(part.shape, *stop, end.is_some()).map_or("", Template::name);
    let _ = writeln!(out, "\t{{ {name}");
    for line in lines.drain(..) {
        let _ = writeln!(out, "\t{line}");
    }
    if end.is_some() {
        out.push_str("\t;;\n");
    }
    out.push_str("\t}\n");
    *stop = 0;
}

/// Units of a group, and which instructions stand in front of which.
type Needs = (Vec<Kind>, Vec<(u32, u32)>);

fn needs(group: &[Written]) -> Option<Needs> {
    let insts: Vec<Inst> = group
        .iter()
        .filter_map(|one| {
            let document = syntax::ia64::parse(&one.text);
            document.statements.iter().find_map(|one| match &one.kind {
                StatementKind::Instruction(instruction) => {
                    Some(decode(instruction, &Names::default()).0)
                }
                _ => None,
            })
        })
        .collect();
    if insts.len() != group.len() {
        return None;
    }
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
    Some((insts.iter().map(Kind::of).collect(), before))
}
