//! Explicit bundles with the instructions' own text and comments.

use super::{Stretch, nop};
use crate::target::ia64::bundle::laid::{Laid, Written};
use isa::ia64::Class;
use std::fmt::Write;
use syntax::Span;

/// The text of a block, from behind its first line's indentation to the end of its last line.
pub(super) fn print(block: &Stretch<'_>, laid: &[Laid]) -> String {
    let text = block.file.text;
    let comments = comments(block);
    let start = block.statements[0].span.start as usize;
    let line = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let blanks = text[line..start]
        .chars()
        .take_while(|letter| letter.is_whitespace());
    let mut indent: String = blanks.collect();
    if indent.is_empty() {
        indent.push('\t');
    }
    let mut out = String::new();
    let mark = |stop: bool| if stop { " ;;" } else { "" };
    for piece in laid {
        let alone;
        let (name, slots) = match piece {
            Laid::Bundle(name, slots) => (Some(name), slots.as_slice()),
            Laid::Alone(item, stop) => {
                alone = [Written::Instruction(*item, *stop)];
                (None, alone.as_slice())
            }
        };
        if let Some(name) = name {
            let _ = writeln!(out, "{indent}{{ {name}");
        }
        for &slot in slots {
            match slot {
                Written::Instruction(item, stop) => {
                    let notes = &comments[item];
                    for note in &notes.above {
                        let _ = writeln!(out, "{indent}{note}");
                    }
                    let span = place(block, item);
                    let own = text[span.start as usize..span.end as usize].trim();
                    let _ = write!(out, "{indent}{own}{}", mark(stop));
                    if let Some(note) = &notes.beside {
                        let _ = write!(out, "\t{note}");
                    }
                    out.push('\n');
                }
                Written::Nop(kind, stop) => {
                    let _ = writeln!(out, "{indent}{}{}", nop(kind), mark(stop));
                }
            }
        }
        if name.is_some() {
            let _ = writeln!(out, "{indent}}}");
        }
    }
    for note in comments.iter().flat_map(|comment| &comment.below) {
        let _ = writeln!(out, "{indent}{note}");
    }
    let whole = out.strip_prefix(indent.as_str()).unwrap_or(&out);
    whole.trim_end_matches('\n').to_owned()
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

/// Returns the comments of each item. A comment belongs to the instruction on its line, else to the next one;
/// those of a nop belong to the next, too. A comment inside of an instruction goes with its text.
fn comments(block: &Stretch<'_>) -> Vec<Notes> {
    let text = block.file.text;
    let mut out = vec![Notes::default(); block.items.len()];
    let whole = block.statements[0]
        .span
        .to(block.statements[block.statements.len() - 1].span);
    let all = &block.file.document.comments;
    let first = all.partition_point(|it| it.start < whole.start);
    let mut next = 0;
    for comment in all[first..].iter().take_while(|it| it.end <= whole.end) {
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
