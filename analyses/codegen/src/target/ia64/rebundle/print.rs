//! Explicit bundles with the instructions' own text and comments.

use super::{Group, Stretch};
use crate::bundle::cost::Edge;
use crate::bundle::template::{Slot, Template};
use crate::mir::Class;
use std::fmt::Write;
use syntax::Span;

/// The text of a block, from behind its first line's indentation to the end of its last line.
pub(super) fn print(block: &Stretch<'_>, groups: &[Group]) -> String {
    let text = block.file.text;
    let comments = comments(block);
    let start = block.statements[0].span.start as usize;
    let line = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let blanks = text[line..start]
        .chars()
        .take_while(|one| one.is_whitespace());
    let mut indent: String = blanks.collect();
    if indent.is_empty() {
        indent.push('\t');
    }
    let mut out = String::new();
    // Of the bundle that is open: its lines, and the slots in front of a stop inside.
    let (mut lines, mut stop): (Vec<String>, u8) = (Vec::new(), 0);
    for group in groups {
        for (index, part) in group.parts.iter().enumerate() {
            let last = index + 1 == group.parts.len();
            if part.from == 0 {
                lines.clear();
                stop = 0;
            }
            let kinds = &part.shape.slots()[part.from as usize..];
            let stops = part.slots.len() - 1;
            for (at, (filler, &kind)) in part.slots.iter().zip(kinds).enumerate() {
                // A long instruction ends its bundle.
                let mark = if last && (at == stops || kind == Slot::L) {
                    " ;;"
                } else {
                    ""
                };
                match filler {
                    Some(one) => {
                        let item = group.instructions[*one as usize];
                        let notes = &comments[item];
                        lines.extend(notes.above.iter().cloned());
                        let beside = notes
                            .beside
                            .as_ref()
                            .map_or(String::new(), |note| format!("\t{note}"));
                        let span = place(block, item);
                        let own = &text[span.start as usize..span.end as usize];
                        lines.push(format!("{}{mark}{beside}", own.trim()));
                    }
                    None if kind == Slot::X => {}
                    None => lines.push(format!("{} 0{mark}", nop(kind))),
                }
            }
            let reached = part.from as usize + part.slots.len();
            if reached < 3 {
                stop = reached as u8;
                continue;
            }
            let ends = last && group.end == Edge::Whole;
            let name = Template::with(part.shape, stop, ends).map_or("", Template::name);
            let _ = writeln!(out, "{indent}{{ {name}");
            for line in &lines {
                let _ = writeln!(out, "{indent}{line}");
            }
            let _ = writeln!(out, "{indent}}}");
        }
    }
    for note in comments.iter().flat_map(|one| &one.below) {
        let _ = writeln!(out, "{indent}{note}");
    }
    let whole = out.strip_prefix(indent.as_str()).unwrap_or(&out);
    whole.trim_end_matches('\n').to_owned()
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

fn place(block: &Stretch<'_>, item: usize) -> Span {
    let statement = block.items[item].statement as usize;
    block.file.document.statements[statement].span
}

/// Comments that go with an instruction.
#[derive(Clone, Default)]
struct Notes {
    above: Vec<String>,
    beside: Option<String>,
    below: Vec<String>,
}

/// By item. A comment belongs to the instruction on its line, else to the next one; those of a nop to the next, too. What
/// stands inside of an instruction goes with its text.
fn comments(block: &Stretch<'_>) -> Vec<Notes> {
    let text = block.file.text;
    let mut out = vec![Notes::default(); block.items.len()];
    let whole = block.statements[0]
        .span
        .to(block.statements[block.statements.len() - 1].span);
    let all = &block.file.document.comments;
    let first = all.partition_point(|one| one.start < whole.start);
    let mut next = 0;
    for comment in all[first..].iter().take_while(|one| one.end <= whole.end) {
        let note = &text[comment.start as usize..comment.end as usize];
        while next < block.items.len() && place(block, next).start < comment.start {
            next += 1;
        }
        let before = next.checked_sub(1);
        if before.is_some_and(|item| comment.start < place(block, item).end) {
            continue;
        }
        let beside = before.filter(|&item| {
            let between = &text[place(block, item).end as usize..comment.start as usize];
            let plain = !between.contains('\n') && !note.contains('\n');
            plain && block.items[item].inst.class != Class::Nop && out[item].beside.is_none()
        });
        if let Some(item) = beside {
            out[item].beside = Some(note.to_owned());
            continue;
        }
        let after =
            (next..block.items.len()).find(|&item| block.items[item].inst.class != Class::Nop);
        match (after, out.len()) {
            (Some(item), _) => out[item].above.push(note.to_owned()),
            (None, 0) => {}
            (None, count) => out[count - 1].below.push(note.to_owned()),
        }
    }
    out
}
