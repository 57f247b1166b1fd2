//! Places of a text where statements can be added, and how they are written there.

use super::super::effects::inner_statements;
use super::super::flow::Edit;
use super::super::pressure::scene::{Scene, holds};
use syntax::Span;
use syntax::c_family::ast::*;

/// A place of the text where statements can be added.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in super::super) enum Place {
    /// In front of a statement of a block.
    Before(Span),
    /// Behind a statement of a block.
    Behind(Span),
    /// At the beginning and at the end of a block with its braces.
    Opening(Span),
    Closing(Span),
    /// In front of a statement without braces that a branch consists of.
    Wrapping(Span),
    /// In an `else` that is not there: behind this branch.
    Otherwise {
        then: Span,
        braced: bool,
    },
}

impl Place {
    /// The text next to which, or in which, is written.
    pub(in super::super) const fn span(self) -> Span {
        match self {
            Place::Before(span)
            | Place::Behind(span)
            | Place::Opening(span)
            | Place::Closing(span)
            | Place::Wrapping(span) => span,
            Place::Otherwise { then, .. } => then,
        }
    }
}

impl Place {
    /// Returns the offset at which the inserted text comes to stand.
    pub(in super::super) const fn offset(self) -> u32 {
        match self {
            Place::Before(span) | Place::Wrapping(span) => span.start,
            Place::Opening(span) => span.start + 1,
            Place::Behind(span) => span.end,
            Place::Closing(span) => span.end.saturating_sub(1),
            Place::Otherwise { then, .. } => then.end,
        }
    }

    /// The text in which a variable is known that is declared there; `block` is the innermost around it.
    pub(in super::super) fn scope(self, block: Span) -> Span {
        match self {
            Place::Wrapping(span) => span,
            Place::Otherwise { then, .. } => Span::at(then.end),
            _ => Span::new(self.offset(), block.end),
        }
    }
}

/// Lines at a place; `unit` is one step of indentation. `None`: nothing can stand there.
pub(in super::super) fn placed(
    scene: &Scene<'_>,
    place: Place,
    lines: &[String],
    unit: &str,
) -> Option<Vec<Edit>> {
    let source = scene.source;
    let end = source.end_of_line();
    // A string with slashes in it counts as a comment, too.
    let comment = |line: &String| line.contains("//");
    // On the line of another statement there is no indentation.
    let inline: Vec<String> = lines.iter().map(|line| line.trim().to_owned()).collect();
    let whole = |indent: &str| -> String {
        lines
            .iter()
            .map(|line| format!("{indent}{line}{end}"))
            .collect()
    };
    Some(match place {
        Place::Before(anchor) => {
            if !source.begins_line(anchor.start) && lines.iter().any(comment) {
                return None;
            }
            let lines = match source.begins_line(anchor.start) {
                true => lines,
                false => &inline,
            };
            vec![scene.before(anchor, lines)]
        }
        Place::Behind(anchor) => {
            let lone = source.begins_line(anchor.start) && source.ends_line(anchor.end).is_some();
            if !lone && lines.iter().any(comment) {
                return None;
            }
            vec![scene.behind(anchor, if lone { lines } else { &inline })]
        }
        Place::Opening(block) => {
            let open = block.start + 1;
            match source.ends_line(open) {
                Some(at) if at < block.end => {
                    let indent = source.indentation_inside(block, unit);
                    let text: String = lines
                        .iter()
                        .map(|line| format!("{end}{indent}{line}"))
                        .collect();
                    vec![(Span::at(at), text)]
                }
                _ if lines.iter().any(comment) => return None,
                _ => vec![(
                    Span::at(open),
                    inline.iter().map(|line| format!(" {line}")).collect(),
                )],
            }
        }
        Place::Closing(block) => {
            let close = block.end.saturating_sub(1);
            match source.begins_line(close) {
                true => {
                    let indent = source.indentation_inside(block, unit);
                    vec![(Span::at(source.line(close).start), whole(&indent))]
                }
                false if lines.iter().any(comment) => return None,
                false => vec![(
                    Span::at(close),
                    inline.iter().map(|line| format!("{line} ")).collect(),
                )],
            }
        }
        Place::Wrapping(stmt) => {
            let text = source.slice(stmt);
            let simple = text.ends_with(';') && !text.contains('{');
            if !simple || source.in_macro(stmt) {
                return None;
            }
            match (source.begins_line(stmt.start), source.ends_line(stmt.end)) {
                (true, Some(at)) => {
                    // The brace stands behind the head, whose line ends before.
                    let above = source.line(source.line(stmt.start).start.saturating_sub(1));
                    let head = source.slice(above);
                    if head.contains("//") || head.trim_end().is_empty() || head.contains("/*") {
                        return None;
                    }
                    let outer = source.indentation(above.start).to_owned();
                    let brace = above.start + head.trim_end().len() as u32;
                    let inner = source.indentation(stmt.start).to_owned();
                    let first = source.line(stmt.start).start;
                    let mut edits = vec![(Span::at(at), format!("{end}{outer}}}"))];
                    match source.braces_apart(scene.body) {
                        true => {
                            let open = format!("{outer}{{{end}{}", whole(&inner));
                            edits.push((Span::at(first), open));
                        }
                        false => {
                            edits.push((Span::at(brace), " {".to_owned()));
                            edits.push((Span::at(first), whole(&inner)));
                        }
                    }
                    edits
                }
                _ if lines.iter().any(comment) => return None,
                _ => {
                    let text: String = inline.iter().map(|line| format!("{line} ")).collect();
                    vec![
                        (Span::at(stmt.start), format!("{{ {text}")),
                        (Span::at(stmt.end), " }".to_owned()),
                    ]
                }
            }
        }
        Place::Otherwise { then, braced } => {
            let indent = source.indentation(then.start).to_owned();
            if source.in_macro(then) || (!braced && lines.iter().any(comment)) {
                return None;
            }
            match (braced, source.ends_line(then.end)) {
                (true, Some(_)) if source.begins_line(then.end.saturating_sub(1)) => {
                    let indent = source.indentation(then.end.saturating_sub(1)).to_owned();
                    let apart = source.braces_apart(scene.body);
                    let open = match apart {
                        true => format!("{end}{indent}else{end}{indent}{{{end}"),
                        false => format!(" else {{{end}"),
                    };
                    let inner = format!("{indent}{unit}");
                    vec![(
                        Span::at(then.end),
                        format!("{open}{}{indent}}}", whole(&inner)),
                    )]
                }
                _ if lines.iter().any(comment) => return None,
                _ => {
                    let text: String = inline.iter().map(|line| format!("{line} ")).collect();
                    let lead = match (braced, source.begins_line(then.start)) {
                        (false, true) => {
                            let outer = indent.strip_suffix(unit).unwrap_or(&indent);
                            format!("{end}{outer}")
                        }
                        _ => " ".to_owned(),
                    };
                    vec![(Span::at(then.end), format!("{lead}else {{ {text}}}"))]
                }
            }
        }
    })
}

pub(in super::super) fn inner_block(stmt: &Stmt, place: Span) -> Option<&Block> {
    let mut stmt = stmt;
    loop {
        if let StmtKind::Block(block) = &stmt.kind {
            return Some(block);
        }
        let inner = inner_statements(stmt);
        stmt = inner.into_iter().find(|each| holds(each.span, place))?;
    }
}

/// Edits in order, those of one place in the order in which they were made. `None`: they overlap.
pub(in super::super) fn merged(edits: Vec<Edit>) -> Option<Vec<Edit>> {
    let mut out: Vec<Edit> = Vec::new();
    for (span, text) in edits {
        match out
            .iter_mut()
            .find(|(known, _)| *known == span && span.is_empty())
        {
            Some((_, known)) => known.push_str(&text),
            None => out.push((span, text)),
        }
    }
    out.sort_by_key(|(span, _)| (span.start, span.end));
    let overlaps = out.windows(2).any(|two| two[1].0.start < two[0].0.end);
    (!overlaps).then_some(out)
}
