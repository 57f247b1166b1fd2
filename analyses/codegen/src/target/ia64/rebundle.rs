//! "Re-bundle": the instructions of a block in groups and templates that waste fewer slots, in no more cycles.
//!
//! ```text
//! ld8 r14 = [r32] ;;  { nop, nop }        { .mmi  ld8 r14 = [r32]
//! add r15 = 1, r33 ;; { nop, nop }    ->         add r15 = 1, r33
//! st8 [r34] = r15                                nop.i 0 ;; }  ...
//! ```
//!
//! Block by block: dependences with the machine's latencies, groups and templates by `bundle::block`, slots by
//! `bundle::place`, written as explicit bundles with the instructions' own text and comments; nops go. A block stays as it
//! is when nothing is gained, when an instruction in it is opaque, and when it shares a bundle with what can't be moved.
//!
//! Does not move instructions across labels, directives and branches, and does not look beyond the block for latencies.

use super::listing::{Item, Listing};
use crate::bundle::block::{self, Block, Choice, Type, Wait};
use crate::bundle::cost::{Counts, Edge, slots};
use crate::bundle::place::{Part, place};
use crate::bundle::template::{Slot, Template};
use crate::machine::epic::Epic;
use crate::mir::dependence::{Dependence, Kind, control_dependences};
use crate::mir::{Class, File, Inst};
use std::fmt::Write;
use std::ops::Range;
use syntax::Span;
use syntax::ia64::{Document, StatementKind};

/// Instructions between two labels above which dependences are not searched.
const LARGEST: usize = 2000;

const SHARED: &str = "it shares a bundle with a label, a directive or another block";

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// What of the ready instructions is tried in each cycle.
    pub choice: Choice,
    /// Subsets that are looked at in each block.
    pub decisions: usize,
    /// Rewrites blocks that gain nothing, too.
    pub all: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            choice: Choice::All,
            decisions: 4_000,
            all: false,
        }
    }
}

/// What a block takes, by itself: cycles until its last group issues when all that comes from outside is there (estimate),
/// slots without an instruction (a fact for explicit bundles; for others the least that its groups need, a bound).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Measure {
    pub cycles: u32,
    pub nops: u32,
    pub bundles: u32,
}

/// What becomes of a block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rebundled {
    /// Items of the listing.
    pub items: Range<u32>,
    /// From its first bundle or instruction to its last stop.
    pub span: Span,
    pub before: Measure,
    /// Whether its bundles are written in the text.
    pub explicit: bool,
    pub outcome: Outcome,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    Rewritten {
        text: String,
        after: Measure,
        /// No schedule of so few cycles has fewer nops.
        proved: bool,
    },
    /// Why not.
    Kept(String),
}

/// All blocks of a file, in order. `within`: those that touch these bytes.
#[must_use]
pub fn rebundle(
    document: &Document,
    text: &str,
    listing: &Listing,
    machine: &Epic,
    options: &Options,
    within: Option<Span>,
) -> Vec<Rebundled> {
    let mut out: Vec<Rebundled> = Vec::new();
    let mut regions = listing.regions.iter().peekable();
    let mut region: Option<(Range<u32>, Vec<Dependence>)> = None;
    for block in &listing.blocks {
        while let Some(next) = regions.next_if(|next| next.start <= block.start) {
            region = Some((next.clone(), Vec::new()));
        }
        let place = extent(document, listing, block);
        let span = Span::new(
            document.statements[place.start].span.start,
            document.statements[place.end - 1].span.end,
        );
        if within.is_some_and(|within| within.end < span.start || within.start > span.end) {
            continue;
        }
        // Those of a region are made when the first of its blocks is asked for.
        if let Some((range, found)) = &mut region
            && found.is_empty()
            && range.len() <= LARGEST
        {
            *found = listing.region_dependences(range);
        }
        let found = region.as_ref().map_or_else(Vec::new, |(range, found)| {
            of_block(found, range, block, listing)
        });
        let large = region
            .as_ref()
            .is_none_or(|(range, _)| range.len() > LARGEST);
        let mut next = one(
            document,
            text,
            listing,
            machine,
            options,
            block,
            &place,
            (!large).then_some(&found),
        );
        // Without a stop in front, the group of what stays would go on into groups that were made without it.
        let before = block
            .start
            .checked_sub(1)
            .map(|before| &listing.items[before as usize]);
        let open =
            before.is_some_and(|before| before.group == listing.items[block.start as usize].group);
        let ended = out.last().is_some_and(|last| {
            last.items.end == block.start && matches!(last.outcome, Outcome::Rewritten { .. })
        });
        if let (Outcome::Rewritten { text, .. }, true) = (&mut next.outcome, open && !ended) {
            text.insert_str(0, ";;\n\t");
        }
        out.push(next);
    }
    out
}

/// Dependences between the instructions of a block, by `to`.
fn of_block(
    found: &[Dependence],
    region: &Range<u32>,
    block: &Range<u32>,
    listing: &Listing,
) -> Vec<Dependence> {
    let inside = |item: u32| {
        (item + region.start)
            .checked_sub(block.start)
            .filter(|at| *at < block.len() as u32)
    };
    let insts: Vec<Inst> = listing.items[block.start as usize..block.end as usize]
        .iter()
        .map(|item| item.inst.clone())
        .collect();
    let mut out = control_dependences(&insts);
    out.extend(found.iter().filter_map(|one| {
        Some(Dependence {
            from: inside(one.from)?,
            to: inside(one.to)?,
            ..*one
        })
    }));
    out.sort_by_key(|one| (one.to, one.from));
    out
}

/// Statements of a block: with the braces, templates and stops around its instructions.
fn extent(document: &Document, listing: &Listing, block: &Range<u32>) -> Range<usize> {
    let statement = |item: u32| listing.items[item as usize].statement as usize;
    let mut start = statement(block.start);
    while start > 0
        && matches!(
            document.statements[start - 1].kind,
            StatementKind::Open | StatementKind::Template(_)
        )
    {
        start -= 1;
    }
    let mut end = statement(block.end - 1) + 1;
    while document
        .statements
        .get(end)
        .is_some_and(|one| matches!(one.kind, StatementKind::Close | StatementKind::Stop))
    {
        end += 1;
    }
    start..end
}

#[allow(clippy::too_many_arguments)]
fn one(
    document: &Document,
    text: &str,
    listing: &Listing,
    machine: &Epic,
    options: &Options,
    range: &Range<u32>,
    place: &Range<usize>,
    found: Option<&Vec<Dependence>>,
) -> Rebundled {
    let items = &listing.items[range.start as usize..range.end as usize];
    let statements = &document.statements[place.clone()];
    let explicit = items.iter().any(|item| item.bundle.is_some());
    let mut out = Rebundled {
        items: range.clone(),
        span: Span::new(
            statements[0].span.start,
            statements[statements.len() - 1].span.end,
        ),
        before: Measure::default(),
        explicit,
        outcome: Outcome::Kept(String::new()),
    };
    let Some(found) = found else {
        out.outcome = Outcome::Kept(format!("more than {LARGEST} instructions without a label"));
        return out;
    };
    out.before = before(items, found, machine, explicit);
    out.outcome = match rewritten(
        document, text, listing, machine, options, range, statements, found, out.before,
    ) {
        Ok(outcome) => outcome,
        Err(reason) => Outcome::Kept(reason),
    };
    out
}

#[allow(clippy::too_many_arguments)]
fn rewritten(
    document: &Document,
    text: &str,
    listing: &Listing,
    machine: &Epic,
    options: &Options,
    range: &Range<u32>,
    statements: &[syntax::ia64::Statement],
    found: &[Dependence],
    before: Measure,
) -> Result<Outcome, String> {
    let items = &listing.items[range.start as usize..range.end as usize];
    if let Some(reason) = items.iter().find_map(|item| item.opaque.as_ref()) {
        return Err(reason.clone());
    }
    let mut open = false;
    for statement in statements {
        let shared = match statement.kind {
            StatementKind::Open => std::mem::replace(&mut open, true),
            StatementKind::Close => !std::mem::replace(&mut open, false),
            _ => false,
        };
        if shared {
            return Err(SHARED.into());
        }
    }
    if open {
        return Err(SHARED.into());
    }
    // Nops go; the others keep their numbers.
    let kept: Vec<usize> = (0..items.len())
        .filter(|&at| items[at].inst.class != Class::Nop)
        .collect();
    if kept.is_empty() {
        return Err("it holds nothing but nops".into());
    }
    let number: Vec<Option<u32>> = {
        let mut number = vec![None; items.len()];
        for (new, &old) in kept.iter().enumerate() {
            number[old] = Some(new as u32);
        }
        number
    };
    let types: Vec<Type> = kept
        .iter()
        .map(|&at| items[at].inst.unit.unwrap_or(Type::A))
        .collect();
    let mut edges = Vec::new();
    let mut order = Vec::new();
    for one in found {
        let (Some(from), Some(to)) = (number[one.from as usize], number[one.to as usize]) else {
            continue;
        };
        let cycles = wait(one, items, machine);
        edges.push(Wait { from, to, cycles });
        if cycles == 0 {
            order.push((from, to));
        }
    }
    let block = Block { types, edges };
    let packing = block::pack(
        &block,
        &block::Options {
            choice: options.choice,
            width: machine.width(),
            decisions: options.decisions,
            ..block::Options::default()
        },
    );
    let mut parts: Vec<(Vec<Part>, Vec<u32>, Edge)> = Vec::new();
    let mut start = Edge::Whole;
    let mut bundles = 0;
    for (at, group) in packing.groups.iter().enumerate() {
        let end = if at + 1 == packing.groups.len() {
            Edge::Whole
        } else {
            group.end
        };
        let placed = placed(&block, &group.instructions, &order, start, end)
            .ok_or("no order of its instructions fits into the templates")?;
        start = end;
        bundles += placed.iter().filter(|part| part.from == 0).count() as u32;
        parts.push((placed, group.instructions.clone(), end));
    }
    let filled: u32 = block
        .types
        .iter()
        .map(|ty| 1 + u32::from(*ty == Type::L))
        .sum();
    let after = Measure {
        cycles: packing.cycles,
        nops: 3 * bundles - filled,
        bundles,
    };
    let better =
        after.cycles < before.cycles || (after.cycles == before.cycles && after.nops < before.nops);
    if !better && !options.all {
        return Err("nothing is gained".into());
    }
    Ok(Outcome::Rewritten {
        text: printed(document, text, items, &kept, statements, &parts),
        after,
        proved: packing.proved,
    })
}

/// Groups of which instructions must stand in order may need a bundle more than their types do.
fn placed(
    block: &Block,
    group: &[u32],
    order: &[(u32, u32)],
    start: Edge,
    end: Edge,
) -> Option<Vec<Part>> {
    let types: Vec<Type> = group.iter().map(|&one| block.types[one as usize]).collect();
    let inside = |one: u32| {
        group
            .iter()
            .position(|&other| other == one)
            .map(|at| at as u32)
    };
    let before: Vec<(u32, u32)> = order
        .iter()
        .filter_map(|&(from, to)| Some((inside(from)?, inside(to)?)))
        .collect();
    let mut counts = Counts::default();
    for ty in &types {
        *match ty {
            Type::A => &mut counts.a,
            Type::I => &mut counts.i,
            Type::M => &mut counts.m,
            Type::F => &mut counts.f,
            Type::L => &mut counts.l,
            Type::B => &mut counts.b,
        } += 1;
    }
    let least = slots(counts, start, end)?;
    (0..3).find_map(|more| place(&types, &before, start, end, least + 3 * more))
}

/// Cycles that a dependence asks for.
fn wait(one: &Dependence, items: &[Item], machine: &Epic) -> u32 {
    let (from, to) = (&items[one.from as usize].inst, &items[one.to as usize].inst);
    match one.kind {
        Kind::Flow(register) if one.together => match from.class {
            Class::Compare | Class::FloatCompare => machine.latency(from, to, register),
            _ => 0,
        },
        Kind::Flow(register) => machine.latency(from, to, register).max(1),
        Kind::Output(_) => 1,
        // Which predicates exclude each other is lost on the assembler where one of them is written in the group.
        Kind::Anti(register) if register.file == File::Predicate => 1,
        Kind::Anti(_) | Kind::Memory => 0,
        Kind::Control => u32::from(!one.together),
    }
}

/// The block as it stands.
fn before(items: &[Item], found: &[Dependence], machine: &Epic, explicit: bool) -> Measure {
    let width = machine.width();
    let first = items[0].group;
    let groups = (items[items.len() - 1].group - first + 1) as usize;
    let mut ready = vec![0u32; items.len()];
    let mut cycle = vec![0u32; groups];
    let mut at = 0;
    let mut incoming = found.iter().peekable();
    let mut next = 0;
    let (mut nops, mut filled) = (0, 0);
    for (group, cycle) in cycle.iter_mut().enumerate() {
        let from = at;
        let mut counts = Counts::default();
        while at < items.len() && (items[at].group - first) as usize == group {
            while let Some(one) = incoming.next_if(|one| one.to as usize <= at) {
                let produced = ready[one.from as usize];
                let same = items[one.from as usize].group == items[at].group;
                if !same {
                    next = next.max(produced + wait(one, items, machine));
                }
            }
            if items[at].inst.class != Class::Nop {
                let unit = items[at].inst.unit.unwrap_or(Type::A);
                *match unit {
                    Type::A => &mut counts.a,
                    Type::I => &mut counts.i,
                    Type::M => &mut counts.m,
                    Type::F => &mut counts.f,
                    Type::L => &mut counts.l,
                    Type::B => &mut counts.b,
                } += 1;
            }
            at += 1;
        }
        for time in &mut ready[from..at] {
            *time = next;
        }
        *cycle = next;
        let taken = slots(counts, Edge::Whole, Edge::Whole).unwrap_or(0);
        nops += taken - counts.filled();
        filled += counts.filled();
        next += issue(counts, taken, width).max(u32::from(at > from));
    }
    let last = cycle.last().copied().unwrap_or(0) + 1;
    if explicit {
        let mut bundles: Vec<u32> = items.iter().filter_map(|item| item.bundle).collect();
        bundles.dedup();
        let bundles = bundles.len() as u32;
        return Measure {
            cycles: last,
            nops: (3 * bundles).saturating_sub(filled),
            bundles,
        };
    }
    Measure {
        cycles: last,
        nops,
        bundles: (nops + filled).div_ceil(3),
    }
}

/// Cycles that a group takes to issue.
fn issue(counts: Counts, taken: u32, width: block::Width) -> u32 {
    let Counts { a, i, m, f, l, b } = counts;
    [
        m.div_ceil(width.m),
        (i + l).div_ceil(width.i),
        (a + i + l + m).div_ceil(width.m + width.i),
        f.div_ceil(width.f),
        b.div_ceil(width.b),
        taken.div_ceil(width.slots),
    ]
    .into_iter()
    .max()
    .unwrap_or(0)
}

/// Explicit bundles with the instructions' own text.
fn printed(
    document: &Document,
    text: &str,
    items: &[Item],
    kept: &[usize],
    statements: &[syntax::ia64::Statement],
    groups: &[(Vec<Part>, Vec<u32>, Edge)],
) -> String {
    let comments = comments(document, text, items, statements);
    let start = statements[0].span.start as usize;
    let line = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let indent: String = text[line..start]
        .chars()
        .take_while(|one| one.is_whitespace())
        .collect();
    let indent = if indent.is_empty() {
        "\t".to_owned()
    } else {
        indent
    };
    let mut out = String::new();
    let mut open: Option<(String, usize)> = None;
    let mut stop = 0;
    let mut bundle = String::new();
    let slot_line = |out: &mut String, one: &str| {
        let _ = writeln!(out, "{indent}{one}");
    };
    for (number, (parts, instructions, end)) in groups.iter().enumerate() {
        for (index, part) in parts.iter().enumerate() {
            let last = index + 1 == parts.len();
            if part.from == 0 {
                bundle.clear();
                stop = 0;
                open = Some((String::new(), 0));
            }
            let kinds = part.shape.slots();
            for (offset, filler) in part.slots.iter().enumerate() {
                let at = part.from as usize + offset;
                let ends_group = last && offset + 1 == part.slots.len();
                let mark = if ends_group { " ;;" } else { "" };
                match filler {
                    Some(one) => {
                        let item = &items[kept[instructions[*one as usize] as usize]];
                        let span = document.statements[item.statement as usize].span;
                        let slice = &text[span.start as usize..span.end as usize];
                        let notes = &comments[kept[instructions[*one as usize] as usize]];
                        for above in &notes.above {
                            slot_line(&mut bundle, above);
                        }
                        let long = kinds[at] == Slot::L;
                        // A long instruction ends its bundle.
                        let mark = if long && last { " ;;" } else { mark };
                        let beside = notes
                            .beside
                            .as_ref()
                            .map_or(String::new(), |note| format!("\t{note}"));
                        slot_line(&mut bundle, &format!("{}{mark}{beside}", slice.trim()));
                    }
                    None => match kinds[at] {
                        Slot::X if bundle_holds_long(part, offset) => {}
                        Slot::L => slot_line(
                            &mut bundle,
                            &format!("nop.x 0{}", if last { " ;;" } else { "" }),
                        ),
                        Slot::X => {}
                        kind => slot_line(&mut bundle, &format!("{} 0{mark}", nop(kind))),
                    },
                }
            }
            let reached = part.from as usize + part.slots.len();
            if reached < 3 {
                stop = reached as u8;
                continue;
            }
            let ends = last && (*end == Edge::Whole);
            let name = Template::with(part.shape, stop, ends).map_or(".mii", Template::name);
            let _ = writeln!(out, "{indent}{{ {name}");
            out.push_str(&bundle);
            let _ = writeln!(out, "{indent}}}");
            open = None;
        }
        let _ = number;
    }
    let _ = open;
    for note in comments.iter().flat_map(|one| &one.below) {
        let _ = writeln!(out, "{indent}{note}");
    }
    // The replaced text begins behind its own indentation and ends in front of its line's end.
    out.trim_start_matches(indent.as_str())
        .trim_end_matches('\n')
        .to_owned()
}

/// Whether the slot in front holds a long instruction, or the nop of its length.
fn bundle_holds_long(part: &Part, offset: usize) -> bool {
    offset > 0 && part.shape.slots()[part.from as usize + offset - 1] == Slot::L
}

const fn nop(kind: Slot) -> &'static str {
    match kind {
        Slot::M => "nop.m",
        Slot::I => "nop.i",
        Slot::F => "nop.f",
        Slot::B => "nop.b",
        Slot::L | Slot::X => "nop.x",
    }
}

/// Comments that go with an instruction.
#[derive(Clone, Default)]
struct Notes {
    above: Vec<String>,
    beside: Option<String>,
    below: Vec<String>,
}

/// A comment belongs to the instruction on its line, else to the next one; those of a nop to the next, too.
fn comments(
    document: &Document,
    text: &str,
    items: &[Item],
    statements: &[syntax::ia64::Statement],
) -> Vec<Notes> {
    let mut out = vec![Notes::default(); items.len()];
    let (start, end) = (
        statements[0].span.start,
        statements[statements.len() - 1].span.end,
    );
    let first = document.comments.partition_point(|one| one.start < start);
    let place = |item: usize| document.statements[items[item].statement as usize].span;
    for comment in document.comments[first..]
        .iter()
        .take_while(|one| one.end <= end)
    {
        let note = &text[comment.start as usize..comment.end as usize];
        let next = (0..items.len())
            .collect::<Vec<_>>()
            .partition_point(|&item| place(item).start < comment.start);
        let beside = next.checked_sub(1).filter(|&item| {
            let between = &text[place(item).end as usize..comment.start as usize];
            !between.contains('\n') && items[item].inst.class != Class::Nop
        });
        if let Some(item) =
            beside.filter(|&item| out[item].beside.is_none() && !note.contains('\n'))
        {
            out[item].beside = Some(note.to_owned());
            continue;
        }
        let mut after = next;
        while after < items.len() && items[after].inst.class == Class::Nop {
            after += 1;
        }
        match out.get_mut(after) {
            Some(notes) => notes.above.push(note.to_owned()),
            None => {
                if let Some(notes) = out.last_mut() {
                    notes.below.push(note.to_owned());
                }
            }
        }
    }
    out
}
