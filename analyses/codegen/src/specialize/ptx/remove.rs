//! A version in PTX taken back: both insertions are cut out, so that the text is the original, byte for byte.

use super::MARK;
use syntax::Span;

/// A version that was found around an offset.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Removal {
    pub name: String,
    /// The spans that are removed, ascending.
    pub cuts: Vec<Span>,
}

/// The innermost version of a text around an offset.
#[must_use]
pub fn remove(text: &str, offset: u32) -> Option<Removal> {
    let mut best: Option<Removal> = None;
    for (at, _) in text.match_indices(MARK) {
        let line = text.get(at + MARK.len()..)?.lines().next()?;
        let Some((name, number)) = line.trim_end().rsplit_once(" (") else {
            continue;
        };
        let Some(number) = number
            .strip_suffix(')')
            .filter(|n| n.bytes().all(|b| b.is_ascii_digit()))
        else {
            continue;
        };
        let Some(removal) = at_mark(text, at, name, number) else {
            continue;
        };
        let (first, last) = (removal.cuts[0], removal.cuts[1]);
        let around = first.start <= offset && offset <= last.end;
        let smaller = best.as_ref().is_none_or(|so_far| {
            last.end - first.start < so_far.cuts[1].end - so_far.cuts[0].start
        });
        if around && smaller {
            best = Some(removal);
        }
    }
    best
}

/// From the end of the line before `from` to the end of the line that ends in `until`.
fn cut(text: &str, from: usize, until: &str) -> Option<Span> {
    let start = text.get(..from)?.rfind('\n')?;
    let start = start - usize::from(text.get(..start)?.ends_with('\r'));
    let end = from + text.get(from..)?.find(until)? + until.len();
    Some(Span::new(start as u32, closed(text, end) as u32))
}

/// The end of a comment that was inserted, behind its words.
pub(super) fn closed(text: &str, end: usize) -> usize {
    let rest = text.get(end..).unwrap_or("");
    end + if rest.starts_with(" */") { 3 } else { 0 }
}

fn at_mark(text: &str, at: usize, name: &str, number: &str) -> Option<Removal> {
    let first = cut(text, at, &format!("lockstep: otherwise ({number})"))?;
    let second = format!("// lockstep: where {name} is zero ({number})");
    let from = first.end as usize + text.get(first.end as usize..)?.find(&second)?;
    let last = cut(text, from, &format!("lockstep: end of version ({number})"))?;
    Some(Removal {
        name: name.to_owned(),
        cuts: vec![first, last],
    })
}
