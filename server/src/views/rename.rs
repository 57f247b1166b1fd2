//! Rename of local names: variables and parameters of one function.
//!
//! A name is renamed only where every place at which it stands is known to be that variable: its occurrences
//! come from the facts, and each other token of the same spelling in the function must belong to another
//! variable or be a member. The rename is refused if other tokens remain, in a macro or in code that was not
//! understood.

use super::names::local;
use crate::db::{self, Db, File};
use crate::derive::rows::rows_of;
use crate::program::{self, Language, item_at};
use rustc_hash::FxHashSet;
use syntax::Span;
use thiserror::Error;

/// The reason why a name is not renamed.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum RenameRefusal {
    #[error("only variables and parameters of a function can be renamed")]
    NotLocal,
    #[error("`{0}` is no name in this language")]
    NotAName(String),
    #[error("there is a `{0}` in this function already")]
    Taken(String),
    #[error("`{name}` also stands in line {line}, where it is not known what it means")]
    NotUnderstood { name: String, line: u32 },
}

/// The place and spelling of the local name at an offset.
pub fn renameable(db: &dyn Db, file: File, offset: u32) -> Result<(Span, String), RenameRefusal> {
    let (spans, name) = occurrences(db, file, offset)?;
    let here = spans
        .iter()
        .find(|span| span.contains(offset) || span.end == offset);
    Ok((*here.ok_or(RenameRefusal::NotLocal)?, name))
}

/// The places at which the local name at an offset stands, each of which becomes the new name.
pub fn rename(
    db: &dyn Db,
    file: File,
    offset: u32,
    name: &str,
) -> Result<Vec<Span>, RenameRefusal> {
    let (spans, old) = occurrences(db, file, offset)?;
    let register = old.starts_with('%');
    let spelled = match register {
        true => name.strip_prefix('%').unwrap_or(""),
        false => name,
    };
    let mut letters = spelled.chars();
    let is_name = letters
        .next()
        .is_some_and(|first| first.is_alphabetic() || first == '_' || register)
        && letters.all(|letter| letter.is_alphanumeric() || letter == '_');
    let dialect = file.language(db).c_dialect();
    let keyword = dialect.is_some_and(|dialect| dialect.keyword(spelled).is_some());
    if !is_name || keyword {
        return Err(RenameRefusal::NotAName(name.to_owned()));
    }
    if name != old
        && let Some((place, _)) = item_at(db, file, offset)
        && !tokens(db, file, Span::new(place.start, place.end), name).is_empty()
    {
        return Err(RenameRefusal::Taken(name.to_owned()));
    }
    Ok(spans)
}

/// Returns where the variable at an offset stands, and its name.
fn occurrences(db: &dyn Db, file: File, offset: u32) -> Result<(Vec<Span>, String), RenameRefusal> {
    let source = program::text(file.source(db));
    let text = |span: Span| {
        source
            .get(span.start as usize..span.end as usize)
            .unwrap_or("")
    };
    let (place, item) = item_at(db, file, offset).ok_or(RenameRefusal::NotLocal)?;
    let (start, declared, found) = local(db, file, offset).ok_or(RenameRefusal::NotLocal)?;
    let name = text(declared.shifted(start)).to_owned();
    if name.is_empty() {
        return Err(RenameRefusal::NotLocal);
    }
    let own: FxHashSet<Span> = found.iter().map(|(span, _)| span.shifted(start)).collect();
    // Other variables of the name, in scopes of their own.
    let others: FxHashSet<Span> = rows_of(db, item)
        .iter()
        .flat_map(|rows| &rows.occurrences)
        .filter(|it| it.name == name && it.declared != declared)
        .flat_map(|it| [it.span.shifted(start), it.declared.shifted(start)])
        .collect();
    let lines = db::line_index(db, file);
    let mut spans = Vec::new();
    for span in tokens(db, file, Span::new(place.start, place.end), &name) {
        if own.contains(&span) {
            spans.push(span);
            continue;
        }
        let before = source[..span.start as usize].trim_end();
        let member = file.language(db) != Language::Ptx
            && (before.ends_with('.') || before.ends_with("->") || before.ends_with("::"));
        if !member && !others.contains(&span) {
            return Err(RenameRefusal::NotUnderstood {
                name,
                line: lines.line_column(span.start).0 + 1,
            });
        }
    }
    Ok((spans, name))
}

/// The tokens of a spelling within a range of the file, which comments and strings are not.
fn tokens(db: &dyn Db, file: File, range: Span, name: &str) -> Vec<Span> {
    if let Some(lexed) = db::lexed(db, file) {
        let tokens = lexed.tokens.iter().filter(|&&token| {
            let span = token.span();
            range.start <= span.start && span.end <= range.end && lexed.text_of(token) == name
        });
        return tokens.map(|token| token.span()).collect();
    }
    let source = program::text(file.source(db));
    let within = source
        .get(range.start as usize..range.end as usize)
        .unwrap_or("");
    let part = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '$' | '%');
    let places = within.match_indices(name).filter(|(at, found)| {
        let before = within[..*at].chars().next_back();
        let after = within[at + found.len()..].chars().next();
        !before.is_some_and(part) && !after.is_some_and(part)
    });
    let span = |(at, found): (usize, &str)| {
        let start = range.start + at as u32;
        Span::new(start, start + found.len() as u32)
    };
    places.map(span).collect()
}
