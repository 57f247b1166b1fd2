//! Instructions of a text that go, or become others.

use super::super::listing::Listing;
use super::redundant::Change;
use std::collections::BTreeMap;
use syntax::Span;

/// The text with the changes made. A set of which nothing is left waits.
pub(super) fn edited(text: &str, listing: &Listing, changes: &[Change]) -> String {
    let mut of_set: BTreeMap<usize, Vec<&Change>> = BTreeMap::new();
    for change in changes {
        of_set.entry(change.at.0).or_default().push(change);
    }
    let mut edits: Vec<(Span, String)> = Vec::new();
    for (at, own) in of_set {
        let set = &listing.sets[at];
        let gone = own.iter().filter(|change| change.instead.is_none()).count();
        if gone == set.members.len() {
            edits.push((set.span, "nop".to_owned()));
            continue;
        }
        edits.extend(own.into_iter().map(|change| {
            let span = set.members[change.at.1].span;
            match &change.instead {
                Some(instead) => (span, instead.clone()),
                None => (with_its_line(text, span), String::new()),
            }
        }));
    }
    edits.sort_unstable_by_key(|(span, _)| span.start);
    let mut out = text.to_owned();
    for (span, new) in edits.iter().rev() {
        out.replace_range(span.start as usize..span.end as usize, new);
    }
    out
}

/// The line of an instruction, where nothing else stands on it; else the instruction and the blanks behind it.
fn with_its_line(text: &str, span: Span) -> Span {
    let (before, behind) = (&text[..span.start as usize], &text[span.end as usize..]);
    let blank = |letter: char| matches!(letter, ' ' | '\t');
    let start = before.trim_end_matches(blank).len();
    let rest = behind.trim_start_matches(blank);
    let end = text.len() - rest.len();
    let line = rest.strip_prefix('\r').unwrap_or(rest);
    match (before[..start].ends_with('\n'), line.strip_prefix('\n')) {
        (true, Some(next)) => Span::new(start as u32, (text.len() - next.len()) as u32),
        _ => Span::new(span.start, end as u32),
    }
}
