//! The tokens and comments of a file before and after edits.
//!
//! Tokens are compared by their spelling and by whether they begin a line, which tells a directive; blanks are not compared.

use super::Violation;
use crate::loops::Edit;
use smol_str::SmolStr;
use std::sync::Arc;
use syntax::c_family::lexer::{LexedFile, lex_shared};
use syntax::c_family::token::{LINE_START, TokenKind};

/// A token or a comment, with its place.
#[derive(Clone, Copy, Debug)]
struct Piece<'t> {
    text: &'t str,
    start: u32,
    end: u32,
    /// A `#` that begins a directive.
    directive: bool,
}

impl Piece<'_> {
    fn is_same(&self, other: &Piece<'_>) -> bool {
        self.text == other.text && self.directive == other.directive
    }
}

fn lexed(text: &str) -> LexedFile {
    lex_shared(Arc::from(text))
}

fn pieces(file: &LexedFile) -> Vec<Piece<'_>> {
    let mut out: Vec<Piece<'_>> = Vec::new();
    for token in &file.tokens {
        if token.kind != TokenKind::Eof {
            out.push(Piece {
                text: file.text_of(*token),
                start: token.start,
                end: token.end,
                directive: token.kind == TokenKind::Hash && token.flags & LINE_START != 0,
            });
        }
    }
    for comment in &file.comments {
        let range = comment.start as usize..comment.end as usize;
        out.push(Piece {
            text: file.text.get(range).unwrap_or(""),
            start: comment.start,
            end: comment.end,
            directive: false,
        });
    }
    out.sort_by_key(|piece| piece.start);
    out
}

/// `after` is `before` with the edits, and no token or comment outside of them is another one for it.
pub(super) fn matches(before: &str, after: &str, edits: &[Edit]) -> Result<(), Violation> {
    let (old, new) = (lexed(before), lexed(after));
    if old.cut.is_some() || new.cut.is_some() {
        return Err(Violation::Range);
    }
    let (old, new) = (pieces(&old), pieces(&new));
    let mut edits: Vec<&Edit> = edits.iter().collect();
    edits.sort_by_key(|edit| edit.0);
    let end = edits.last().map_or(0, |edit| edit.0.end);
    if end as usize > before.len() || edits.windows(2).any(|two| two[0].0.end > two[1].0.start) {
        return Err(Violation::Range);
    }
    let mut grown = 0i64;
    let (mut at, mut now) = (0, 0);
    // The stretches of the original in front of each edit, and the text behind the last one.
    let last = (before.len() as u32, before.len() as u32, 0);
    let stretches = edits
        .iter()
        .map(|edit| (edit.0.start, edit.0.end, edit.1.len()));
    for (start, end, length) in stretches.chain([last]) {
        let moved = |offset: u32| i64::from(offset) + grown;
        while old.get(at).is_some_and(|piece| piece.end <= start) {
            let same = new.get(now).is_some_and(|piece| {
                piece.is_same(&old[at]) && i64::from(piece.start) == moved(old[at].start)
            });
            if !same {
                return Err(Violation::Outside(old[at].start));
            }
            (at, now) = (at + 1, now + 1);
        }
        let inside = (moved(start), moved(start) + length as i64);
        // A piece of the original that the edit cuts is gone, or stays as a whole.
        let cut = |piece: &&Piece<'_>| piece.start < start || piece.end > end && piece.start < end;
        let mut directive = false;
        while let Some(piece) = old
            .get(at)
            .filter(|piece| piece.start < end || piece.end <= end)
        {
            if cut(&piece) {
                return Err(Violation::Outside(piece.start));
            }
            directive |= piece.directive;
            at += 1;
        }
        while let Some(piece) = new.get(now) {
            if i64::from(piece.start) >= inside.1 {
                break;
            }
            if i64::from(piece.start) < inside.0 || i64::from(piece.end) > inside.1 {
                return Err(Violation::Outside(start));
            }
            directive |= piece.directive;
            now += 1;
        }
        if directive {
            return Err(Violation::Directive);
        }
        grown += length as i64 - i64::from(end - start);
    }
    match (old.get(at), new.get(now)) {
        (None, None) => Ok(()),
        (Some(piece), _) => Err(Violation::Outside(piece.start)),
        (None, Some(_)) => Err(Violation::Outside(before.len() as u32)),
    }
}

/// Every comment of the text that the edit replaces stands in the new one; its lines may be indented otherwise.
pub(super) fn comments(before: &str, edit: &Edit) -> Result<(), Violation> {
    let range = edit.0.start as usize..edit.0.end as usize;
    let old = before.get(range).ok_or(Violation::Range)?;
    let of = |text: &str| -> Vec<String> {
        let file = lexed(text);
        let comments = file.comments.iter();
        let text = |span: &syntax::Span| text.get(span.start as usize..span.end as usize);
        comments
            .filter_map(text)
            .map(|comment| {
                comment
                    .lines()
                    .map(str::trim)
                    .collect::<Vec<_>>()
                    .join("\n")
            })
            .collect()
    };
    let mut kept = of(&edit.1);
    for comment in of(old) {
        let Some(at) = kept.iter().position(|it| *it == comment) else {
            return Err(Violation::Comment(comment));
        };
        kept.swap_remove(at);
    }
    Ok(())
}

/// The edits replace nothing, and each adds a spelling of `restrict`; as many as there are promises.
pub(super) fn words(before: &str, edits: &[Edit], promises: usize) -> Result<(), Violation> {
    for (span, new) in edits {
        let range = span.start as usize..span.end as usize;
        let replaced = before.get(range).ok_or(Violation::Range)?;
        if !replaced.trim().is_empty() {
            return Err(Violation::Word(replaced.to_owned()));
        }
        if !matches!(new.trim(), "restrict" | "__restrict" | "__restrict__") {
            return Err(Violation::Word(new.clone()));
        }
    }
    match edits.len() == promises {
        true => Ok(()),
        false => Err(Violation::Unpromised(SmolStr::default())),
    }
}
