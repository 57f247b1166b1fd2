//! Judges an edit by the tokens before and after alone; shares no code with the rewriting.
//!
//! In all edits, tokens that were neither inserted, moved nor part of a request for a loop's copies are
//! unchanged, in their order. `values` judges the tokens that are inserted and read in place of a variable,
//! `moved` a definition that stands elsewhere, `narrowed` one of fewer bits, `broadcast` an initial value of
//! the first lane. Names are compared by spelling.

mod broadcast;
mod moved;
mod narrowed;
mod values;

use super::Kind;
use syntax::c_family::lexer::lex_fragment;
use syntax::c_family::token::TokenKind;

/// A rule that does not hold.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Violation {
    #[error("`{found}` stands where `{wanted}` was")]
    Changed { found: String, wanted: String },
    #[error("an inserted statement is of no kind that is: `{0}`")]
    Inserted(String),
    #[error("`{name}` does not stand for `{variable}`")]
    Name { name: String, variable: String },
    #[error("`{0}` is not declared where it is used")]
    Undeclared(String),
    #[error("`{name}` gets another value: `{value}`")]
    Value { name: String, value: String },
}

/// `names` are those of the variables that no longer live across the peak.
///
/// # Errors
/// The first rule that does not hold.
pub fn check(kind: Kind, before: &str, after: &str, names: &[&str]) -> Result<(), Violation> {
    let (before, after) = (words(before), words(after));
    match kind {
        Kind::WarpCopy if broadcast::is_one(&before, &after) => {
            broadcast::check(&before, &after, names)
        }
        Kind::Recompute | Kind::WarpCopy | Kind::LoadAgain => values::check(before, after, names),
        Kind::Sink => moved::check(&before, &after, names),
        Kind::Narrow => narrowed::check(&before, &after, names),
        Kind::Unroll => same(&without_requests(&before), &without_requests(&after)),
    }
}

fn same(before: &[String], after: &[String]) -> Result<(), Violation> {
    let longest = before.len().max(after.len());
    for at in 0..longest {
        if before.get(at) != after.get(at) {
            let text = |word: Option<&String>| word.cloned().unwrap_or_default();
            return Err(Violation::Changed {
                found: text(after.get(at)),
                wanted: text(before.get(at)),
            });
        }
    }
    Ok(())
}

/// Returns the words without the requests of a loop's text to its copies: `#pragma unroll 4`, `[unroll(4)]`,
/// `[loop]`.
fn without_requests(words: &[String]) -> Vec<String> {
    let mut out = Vec::with_capacity(words.len());
    let mut at = 0;
    while at < words.len() {
        let is = |ahead: usize, text: &str| words.get(at + ahead).is_some_and(|word| word == text);
        at += if words[at].starts_with("#pragma unroll") {
            1
        } else if is(0, "[") && (is(1, "unroll") || is(1, "loop")) && is(2, "]") {
            3
        } else if is(0, "[") && is(1, "unroll") && is(2, "(") && is(4, ")") && is(5, "]") {
            6
        } else {
            out.push(words[at].clone());
            1
        };
    }
    out
}

/// The tokens of a text; a directive is one.
fn words(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut end = 0;
    for token in lex_fragment(text) {
        let (from, to) = (token.start as usize, token.end as usize);
        if token.kind == TokenKind::Eof || from < end {
            continue;
        }
        let word = text.get(from..to).unwrap_or("");
        let line = text
            .get(..from)
            .and_then(|before| before.rsplit('\n').next());
        if word == "#" && line.is_some_and(|line| line.trim().is_empty()) {
            let rest = text.get(from..).unwrap_or("");
            let mut length = 0;
            for line in rest.split_inclusive('\n') {
                length += line.len();
                if !line.trim_end().ends_with('\\') {
                    break;
                }
            }
            end = from + length;
            out.push(
                rest[..length]
                    .split_whitespace()
                    .collect::<Vec<_>>()
                    .join(" "),
            );
        } else {
            out.push(word.to_owned());
        }
    }
    out
}

fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
