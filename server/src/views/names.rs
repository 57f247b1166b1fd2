//! The origin of a name and its uses: local variables by their facts, functions, types, macros and includes
//! by the translation unit.

use crate::db::{self, Db, File};
use crate::derive::parts;
use crate::derive::rows::at_offset;
use crate::program::{self, item_at};
use syntax::{FileId, Span};

/// A place in a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Target {
    pub file: File,
    pub span: Span,
    /// True if it is written, for highlights.
    pub write: bool,
}

pub fn definition(db: &dyn Db, file: File, offset: u32) -> Vec<Target> {
    if let Some((start, declared, _)) = local(db, file, offset) {
        return vec![Target {
            file,
            span: declared.shifted(start),
            write: true,
        }];
    }
    if file.language(db).c_dialect().is_some() {
        let unit = db::unit(db, file);
        if let Some(include) = unit
            .includes
            .iter()
            .find(|include| include.file == FileId::MAIN && include.span.contains(offset))
        {
            let of = include
                .resolved
                .and_then(|id| program::unit_file(db, file, id));
            return of
                .map(|file| Target {
                    file,
                    span: Span::at(0),
                    write: false,
                })
                .into_iter()
                .collect();
        }
        if let Some((_, definition)) = unit.macro_at(offset) {
            let target = definition.and_then(|it| {
                let file = program::unit_file(db, file, it.file?)?;
                Some(Target {
                    file,
                    span: it.name_span,
                    write: true,
                })
            });
            return target.into_iter().collect();
        }
    }
    let Some(name) = word_at(program::text(file.source(db)), offset) else {
        return Vec::new();
    };
    declarations(db, file, name)
}

pub fn references(db: &dyn Db, file: File, offset: u32, with_declaration: bool) -> Vec<Target> {
    if let Some((start, declared, spans)) = local(db, file, offset) {
        return spans
            .into_iter()
            .filter(|(span, _)| with_declaration || *span != declared)
            .map(|(span, write)| Target {
                file,
                span: span.shifted(start),
                write,
            })
            .collect();
    }
    let Some(name) = word_at(program::text(file.source(db)), offset) else {
        return Vec::new();
    };
    let known = !declarations(db, file, name).is_empty()
        || (file.language(db).c_dialect().is_some()
            && db::unit(db, file).macro_at(offset).is_some());
    if !known {
        return Vec::new();
    }
    let declared = if with_declaration {
        Vec::new()
    } else {
        declarations(db, file, name)
    };
    let mut targets = Vec::new();
    for id in 0..program::unit_file_count(db, file) {
        let Some(of) = program::unit_file(db, file, FileId(id)) else {
            continue;
        };
        let Some(lexed) = db::lexed(db, of) else {
            continue;
        };
        for token in &lexed.tokens {
            if lexed.text_of(*token) == name {
                targets.push(Target {
                    file: of,
                    span: token.span(),
                    write: false,
                });
            }
        }
    }
    targets.retain(|target| !declared.contains(target));
    targets
}

/// Occurrences in this file only.
pub fn highlights(db: &dyn Db, file: File, offset: u32) -> Vec<Target> {
    let mut targets = references(db, file, offset, true);
    targets.retain(|target| target.file == file);
    targets
}

/// The item's start, the place of the declaration and all occurrences of the variable at an offset, item-relative.
#[expect(clippy::type_complexity)]
pub(super) fn local(
    db: &dyn Db,
    file: File,
    offset: u32,
) -> Option<(u32, Span, Vec<(Span, bool)>)> {
    let (place, item) = item_at(db, file, offset)?;
    let rows = parts::part_at(db, item, offset - place.start)?.rows;
    let found = at_offset(rows, offset - place.start)?;
    if found.variable_kind == ir::VariableKind::Global || found.declared.is_empty() {
        return None;
    }
    let mut spans: Vec<(Span, bool)> = rows
        .occurrences
        .iter()
        .filter(|other| other.variable == found.variable)
        .map(|other| (other.span, other.kind != ir::BindingKind::Read))
        .chain([(found.declared, true)])
        .collect();
    spans.sort_by(|a, b| (a.0, b.1).cmp(&(b.0, a.1)));
    spans.dedup_by_key(|(span, _)| *span);
    Some((place.start, found.declared, spans))
}

/// Top-level declarations of a name anywhere in the unit; the name's own place.
fn declarations(db: &dyn Db, file: File, name: &str) -> Vec<Target> {
    let mut targets = Vec::new();
    for &item in db::items(db, file) {
        let full = item.name(db);
        if full.rsplit("::").next() != Some(name) {
            continue;
        }
        let place = item.place(db);
        let Some(of) = program::unit_file(db, file, place.file) else {
            continue;
        };
        let source = program::text(of.source(db));
        let item_text = source
            .get(place.start as usize..place.end as usize)
            .unwrap_or("");
        let span = match find_word(item_text, name) {
            Some(at) => Span::new(place.start + at, place.start + at + name.len() as u32),
            None => Span::at(place.start),
        };
        targets.push(Target {
            file: of,
            span,
            write: true,
        });
    }
    targets
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$' | '%' | '.')
}

/// The identifier around an offset.
pub fn word_at(source: &str, offset: u32) -> Option<&str> {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '%');
    let offset = offset as usize;
    let before = source.get(..offset)?;
    let start = offset
        - before
            .chars()
            .rev()
            .take_while(|&c| plain(c))
            .map(char::len_utf8)
            .sum::<usize>();
    let after = source.get(offset..)?;
    let end = offset
        + after
            .chars()
            .take_while(|&c| plain(c))
            .map(char::len_utf8)
            .sum::<usize>();
    let word = source.get(start..end)?;
    (!word.is_empty() && !word.starts_with(|c: char| c.is_ascii_digit())).then_some(word)
}

fn find_word(text: &str, name: &str) -> Option<u32> {
    text.match_indices(name)
        .find(|(at, _)| {
            let before = text[..*at].chars().next_back();
            let after = text[at + name.len()..].chars().next();
            !before.is_some_and(is_word) && !after.is_some_and(is_word)
        })
        .map(|(at, _)| at as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_end_where_identifiers_end() {
        assert_eq!(word_at("a+bcd(e)", 3), Some("bcd"));
        assert_eq!(word_at("a+bcd(e)", 5), Some("bcd"));
        assert_eq!(word_at("12", 1), None);
        assert_eq!(word_at("é x", 99), None);
        assert_eq!(find_word("xf f", "f"), Some(3));
    }
}
