//! Attributes that stand for words of the dialect, as those words: headers define `__global__` as an attribute in one of
//! several spellings, and splitting, naming and parsing know the word.
//!
//! ```text
//! __attribute__((global)) void __attribute__((__launch_bounds__(64, 2))) k()    __global__ void __launch_bounds__(64, 2) k()
//! __attribute__((device, aligned(8))) int x;                  __device__ __attribute__((device, aligned(8))) int x;
//! ```
//! One pass; an attribute that names anything else stays behind the words.

use super::expand::OutToken;
use super::items::Stream;
use crate::c_family::dialect::Dialect;
use crate::c_family::token::{COLUMN_ZERO, LINE_START, TokenKind as T};
use smol_str::SmolStr;
use std::ops::Range;

/// A word that an attribute stands for, with the tokens of its arguments, parentheses included.
struct Entry {
    at: usize,
    word: SmolStr,
    arguments: Range<usize>,
}

/// An attribute's words and where it ends.
struct Attribute {
    entries: Vec<Entry>,
    /// True if nothing else is named in it.
    whole: bool,
    end: usize,
}

/// The tokens with the words of attributes, whose spellings are added to `texts`; `None` when nothing changes.
pub(super) fn as_words(
    stream: Stream<'_>,
    dialect: Dialect,
) -> Option<(Vec<OutToken>, Vec<SmolStr>)> {
    let tokens = stream.tokens;
    let mut out: Vec<OutToken> = Vec::new();
    let mut texts: Vec<SmolStr> = Vec::new();
    let mut copied = 0;
    let mut at = 0;
    while at < tokens.len() {
        let Some(attribute) = attribute_at(stream, dialect, at) else {
            at += 1;
            continue;
        };
        out.extend_from_slice(&tokens[copied..at]);
        for (number, entry) in attribute.entries.into_iter().enumerate() {
            let mut flags = tokens[at].flags;
            if number > 0 {
                flags &= !(LINE_START | COLUMN_ZERO);
            }
            out.push(OutToken {
                place: tokens[entry.at].place,
                kind: T::Ident,
                flags,
                text: (stream.texts.len() + texts.len()) as u32,
            });
            texts.push(entry.word);
            out.extend_from_slice(&tokens[entry.arguments]);
        }
        copied = if attribute.whole { attribute.end } else { at };
        at = attribute.end;
    }
    if texts.is_empty() {
        return None;
    }
    out.extend_from_slice(&tokens[copied..]);
    Some((out, texts))
}

fn attribute_at(stream: Stream<'_>, dialect: Dialect, start: usize) -> Option<Attribute> {
    let kind = |at: usize| stream.tokens.get(at).map_or(T::Eof, |token| token.kind);
    if kind(start) != T::Ident || kind(start + 1) != T::LParen {
        return None;
    }
    let depth = match stream.text(&stream.tokens[start]) {
        "__attribute__" | "__attribute" => 2,
        "__declspec" => 1,
        _ => return None,
    };
    if kind(start + depth) != T::LParen {
        return None;
    }
    let mut found = Attribute {
        entries: Vec::new(),
        whole: true,
        end: start,
    };
    let mut at = start + depth + 1;
    loop {
        let name = at;
        if kind(at) != T::Ident && !kind(at).is_keyword() {
            return None;
        }
        at += 1;
        let arguments = at;
        if kind(at) == T::LParen {
            at = closing(stream, at)?;
        }
        let word = stream
            .tokens
            .get(name)
            .and_then(|token| dialect.word_of_attribute(stream.text(token)));
        match word {
            Some(word) => found.entries.push(Entry {
                at: name,
                word,
                arguments: arguments..at,
            }),
            None => found.whole = false,
        }
        match kind(at) {
            T::Comma => at += 1,
            T::RParen => break,
            _ => return None,
        }
    }
    if depth == 2 && kind(at + 1) != T::RParen || found.entries.is_empty() {
        return None;
    }
    found.end = at + depth;
    Some(found)
}

/// Returns the position behind the parenthesis that closes the one at `open`.
fn closing(stream: Stream<'_>, open: usize) -> Option<usize> {
    const LONGEST: usize = 256;
    let mut depth = 0usize;
    for (at, token) in stream.tokens.iter().enumerate().skip(open).take(LONGEST) {
        match token.kind {
            T::LParen => depth += 1,
            T::RParen => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at + 1);
        }
    }
    None
}
