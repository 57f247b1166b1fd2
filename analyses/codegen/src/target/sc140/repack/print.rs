//! New sets as text: the instructions' own text and comments, conditions written where they begin.

use super::super::listing::{Member, Set};
use isa::sc140::Condition;
use syntax::Span;
use syntax::sc140::Document;

/// The text of a member, with the comments that are its own.
struct Written<'a> {
    /// Comments of lines of their own in front of it.
    above: Vec<&'a str>,
    text: &'a str,
    /// The comment behind it, with the blanks in front.
    behind: String,
}

/// Members in the order in which they are written, with the conditions that are in force for them: those under one in front
/// of those under the other, and of those that always execute.
pub(super) fn grouped<'a>(members: impl Iterator<Item = &'a Member>) -> Vec<Member> {
    let mut out: Vec<Member> = members.cloned().collect();
    out.sort_by_key(|member| match member.executes() {
        Condition::True => 0,
        Condition::False => 1,
        Condition::Always => 2,
    });
    let conditional = out
        .iter()
        .any(|member| member.executes() != Condition::Always);
    for member in &mut out {
        member.condition = conditional.then(|| member.executes());
    }
    out
}

/// The text of a piece: with the blanks in front of its first set, and the comment behind a last one of one line.
pub(super) fn extent(document: &Document, text: &str, sets: &[Set]) -> Span {
    let (Some(first), Some(last)) = (sets.first(), sets.last()) else {
        return Span::at(0);
    };
    let before = &text[..first.span.start as usize];
    let line = before.trim_end_matches([' ', '\t']);
    let start = match line.is_empty() || line.ends_with(['\n', '\r']) {
        true => line.len() as u32,
        false => first.span.start,
    };
    let is_behind = |span: Span| {
        let between = text.get(last.span.end as usize..span.start as usize);
        between.is_some_and(|between| between.chars().all(|letter| matches!(letter, ' ' | '\t')))
    };
    let bracketed = text[..last.span.end as usize].ends_with(']');
    let comment = document
        .comments()
        .find(|token| !bracketed && is_behind(token.span));
    let end = comment.map_or(last.span.end, |token| token.span.end);
    Span::new(start, end)
}

/// The text of the sets in the place of `extent`; `old`: the piece as it was.
pub(super) fn print(
    document: &Document,
    text: &str,
    old: &[Set],
    extent: Span,
    sets: &[Vec<(usize, usize)>],
) -> String {
    let (written, rest) = written(document, text, old, extent);
    let newline = match text.contains("\r\n") {
        true => "\r\n",
        false => "\n",
    };
    let mut lines: Vec<String> = Vec::new();
    let mut used = vec![false; written.len()];
    let number = |place: &(usize, usize)| -> usize {
        let before: usize = old[..place.0].iter().map(|set| set.members.len()).sum();
        before + place.1
    };
    for set in sets {
        let members = grouped(set.iter().map(|&(set, number)| &old[set].members[number]));
        let mut rows: Vec<String> = Vec::new();
        let mut condition = None;
        for member in &members {
            let found = set
                .iter()
                .find(|&&(set, number)| old[set].members[number].span == member.span);
            let Some(at) = found.map(number) else {
                continue;
            };
            used[at] = true;
            let Written {
                above,
                text,
                behind,
            } = &written[at];
            rows.extend(above.iter().map(|comment| format!("    {comment}")));
            let changed = member.condition.filter(|now| condition != Some(*now));
            condition = member.condition;
            let name = match changed {
                Some(Condition::True) => "IFT ",
                Some(Condition::False) => "IFF ",
                Some(Condition::Always) => "IFA ",
                None => "",
            };
            rows.push(format!("    {name}{text}{behind}"));
        }
        match members.len() {
            0 => {
                // One of those that were there, with its comment.
                let spare = (0..written.len()).find(|&at| !used[at] && written[at].text == "nop");
                let behind = spare.map_or("", |at| {
                    used[at] = true;
                    let above = written[at].above.iter();
                    lines.extend(above.map(|comment| format!("    {comment}")));
                    &written[at].behind
                });
                lines.push(format!("    nop{behind}"));
            }
            1 => lines.extend(rows),
            _ => {
                lines.push(" [".to_owned());
                lines.extend(rows);
                lines.push(" ]".to_owned());
            }
        }
    }
    // Comments of what is not written again, and those behind the last bracket.
    for (at, kept) in written.iter().enumerate() {
        if !used[at] {
            lines.extend(kept.above.iter().map(|comment| format!("    {comment}")));
            let comment = kept.behind.trim_start();
            if !comment.is_empty() {
                lines.push(format!("    {comment}"));
            }
        }
    }
    lines.extend(rest.iter().map(|comment| format!("    {comment}")));
    let joined = lines.join(newline);
    // Behind a label on its line the piece begins a new one.
    match extent.start == 0 || text[..extent.start as usize].ends_with(['\n', '\r']) {
        true => joined,
        false => format!("{newline}{joined}"),
    }
}

/// The text of each member of the piece, and the comments behind its last one that stand on other lines.
fn written<'a>(
    document: &'a Document,
    text: &'a str,
    old: &[Set],
    extent: Span,
) -> (Vec<Written<'a>>, Vec<&'a str>) {
    let members: Vec<&Member> = old.iter().flat_map(|set| &set.members).collect();
    let part = |span: Span| &text[span.start as usize..span.end as usize];
    let mut out: Vec<Written<'_>> = members
        .iter()
        .map(|member| Written {
            above: Vec::new(),
            text: plain(part(member.span)),
            behind: String::new(),
        })
        .collect();
    let mut rest = Vec::new();
    let comments = document
        .comments()
        .filter(|token| extent.start <= token.span.start && token.span.start < extent.end);
    for comment in comments {
        let at = comment.span.start;
        let before = members.iter().rposition(|member| member.span.end <= at);
        let next = members.iter().position(|member| member.span.start > at);
        let own = before.filter(|&before| {
            let between = &text[members[before].span.end as usize..at as usize];
            !between.contains(['\n', '\r', '[', ']'])
        });
        let words: &'a str = part(comment.span).trim_end();
        match (own, next) {
            (Some(member), _) => {
                let from = members[member].span.end as usize;
                out[member].behind = format!("{}{words}", &text[from..at as usize]);
            }
            (None, Some(member)) => out[member].above.push(words),
            (None, None) => rest.push(words),
        }
    }
    (out, rest)
}

/// An instruction's text without its condition.
fn plain(text: &str) -> &str {
    let first = text.split_whitespace().next().unwrap_or_default();
    match syntax::sc140::Condition::of(first) {
        Some(_) => text[first.len()..].trim_start(),
        None => text,
    }
}
