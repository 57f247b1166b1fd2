//! Conversions between the views' plain data and the protocol's types.

use super::event::Snapshot;
use crate::config::{ConfigProblem, Level};
use crate::db::{self, Db, File};
use crate::documents::{self, Encoding, Place};
use crate::host;
use crate::program;
use crate::views::tokens::Token;
use facts::Class;
use std::path::{Path, PathBuf};
use syntax::{LineIndex, Span};
use tower_lsp::ls_types::*;

/// The path of a document; a document without one gets a name that no file has.
pub(super) fn path_of(uri: &Uri) -> PathBuf {
    match uri.to_file_path() {
        Some(path) if uri.as_str().starts_with("file:") => host::normalize(&path),
        _ => PathBuf::from("/\u{0}").join(uri.as_str().replace(['/', ':'], "_")),
    }
}

/// The client's own name for a file, if it opened it.
pub(super) fn uri_of(snapshot: &Snapshot, path: &Path) -> Option<Uri> {
    snapshot
        .uris
        .get(path)
        .cloned()
        .or_else(|| Uri::from_file_path(path))
}

pub(super) fn place(position: Position) -> Place {
    Place {
        line: position.line,
        column: position.character,
    }
}

fn position(place: Place) -> Position {
    Position::new(place.line, place.column)
}

/// A text with the index needed to place offsets in it.
pub(super) struct Text<'a> {
    pub(super) source: &'a str,
    pub(super) lines: &'a LineIndex,
    pub(super) encoding: Encoding,
}

impl<'a> Text<'a> {
    pub(super) fn of(db: &'a dyn Db, file: File, encoding: Encoding) -> Self {
        Text {
            source: program::text(file.source(db)),
            lines: db::line_index(db, file),
            encoding,
        }
    }
    pub(super) fn offset(&self, at: Position) -> u32 {
        documents::offset_at(self.source, self.lines, place(at), self.encoding)
    }
    pub(super) fn span(&self, range: Range) -> Span {
        let start = self.offset(range.start);
        Span::new(start, self.offset(range.end).max(start))
    }
    pub(super) fn position(&self, offset: u32) -> Position {
        position(documents::place_at(
            self.source,
            self.lines,
            offset,
            self.encoding,
        ))
    }
    pub(super) fn range(&self, span: Span) -> Range {
        let (from, to) = documents::places_of(self.source, self.lines, span, self.encoding);
        Range::new(position(from), position(to))
    }
}

pub(super) fn location(
    db: &dyn Db,
    snapshot: &Snapshot,
    file: File,
    span: Span,
) -> Option<Location> {
    let uri = uri_of(snapshot, file.path(db))?;
    Some(Location::new(
        uri,
        Text::of(db, file, snapshot.encoding).range(span),
    ))
}

/// The place of the pages of diagnostics for clients that can't open ours.
const PAGES: &str = concat!(
    env!("CARGO_PKG_REPOSITORY"),
    "/blob/main/server/src/explain"
);

fn severity(level: Level) -> DiagnosticSeverity {
    match level {
        Level::Error => DiagnosticSeverity::ERROR,
        Level::Warning => DiagnosticSeverity::WARNING,
        Level::Information => DiagnosticSeverity::INFORMATION,
        Level::Hint | Level::Off => DiagnosticSeverity::HINT,
    }
}

pub(super) fn diagnostic(
    db: &dyn Db,
    file: File,
    diagnostic: &crate::views::diagnostics::Diagnostic,
    snapshot: &Snapshot,
) -> Diagnostic {
    let text = Text::of(db, file, snapshot.encoding);
    let related: Vec<DiagnosticRelatedInformation> = diagnostic
        .related
        .iter()
        .filter_map(|related| {
            let location = location(db, snapshot, related.file, related.span)?;
            Some(DiagnosticRelatedInformation {
                location,
                message: related.text.clone(),
            })
        })
        .collect();
    Diagnostic {
        range: text.range(diagnostic.span),
        severity: Some(severity(diagnostic.level)),
        code: Some(NumberOrString::String(diagnostic.code.to_owned())),
        code_description: page_of(diagnostic.code, snapshot.has_views),
        source: Some("lockstep".to_owned()),
        message: diagnostic.message.clone(),
        related_information: (!related.is_empty()).then_some(related),
        tags: None,
        data: None,
    }
}

/// The link to a code's page: the client's own view of it, or the page of the repository.
fn page_of(code: &str, own: bool) -> Option<CodeDescription> {
    let href = match own {
        true => format!("lockstep-doc:/{code}.md"),
        false => format!("{PAGES}/{code}.md"),
    };
    let href = href.parse().ok()?;
    Some(CodeDescription { href })
}

pub(super) fn config_diagnostics(
    text: &str,
    problems: &[ConfigProblem],
    encoding: Encoding,
    has_views: bool,
) -> Vec<Diagnostic> {
    let lines = LineIndex::new(text);
    let text = Text {
        source: text,
        lines: &lines,
        encoding,
    };
    let diagnostic = |problem: &ConfigProblem| Diagnostic {
        range: text.range(problem.span),
        severity: Some(DiagnosticSeverity::WARNING),
        code: Some(NumberOrString::String("config-error".to_owned())),
        code_description: page_of("config-error", has_views),
        source: Some("lockstep".to_owned()),
        message: problem.message.clone(),
        ..Diagnostic::default()
    };
    problems.iter().map(diagnostic).collect()
}

/// Tokens in the protocol's relative form.
pub(super) fn tokens(text: &Text<'_>, tokens: &[Token]) -> Vec<SemanticToken> {
    let mut out = Vec::with_capacity(tokens.len());
    let mut last = Position::new(0, 0);
    for token in tokens {
        let at = text.position(token.span.start);
        let spelling = text
            .source
            .get(token.span.start as usize..token.span.end as usize)
            .unwrap_or("");
        let length = documents::width(spelling, text.encoding) as u32;
        let class = match token.class {
            Some(Class::Uniform) => 1 << 1,
            Some(Class::Affine) => 1 << 2,
            Some(Class::Divergent | Class::Unknown) => 1 << 3,
            None => 0,
        };
        out.push(SemanticToken {
            delta_line: at.line - last.line,
            delta_start: if at.line == last.line {
                at.character - last.character
            } else {
                at.character
            },
            length,
            token_type: token.kind as u32,
            token_modifiers_bitset: class | u32::from(token.declaration),
        });
        last = at;
    }
    out
}

/// The edit from one list of tokens to another: the difference between the common beginning and the common
/// end.
pub(super) fn tokens_delta(
    old: &[SemanticToken],
    new: &[SemanticToken],
) -> Vec<SemanticTokensEdit> {
    let before = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let rest = old.len().min(new.len()) - before;
    let after = old
        .iter()
        .rev()
        .zip(new.iter().rev())
        .take(rest)
        .take_while(|(a, b)| a == b)
        .count();
    if before == old.len() && before == new.len() {
        return Vec::new();
    }
    let inserted = new[before..new.len() - after].to_vec();
    vec![SemanticTokensEdit {
        start: before as u32 * 5,
        delete_count: (old.len() - after - before) as u32 * 5,
        data: (!inserted.is_empty()).then_some(inserted),
    }]
}

/// Markdown without its marks, for clients that show plain text.
pub(super) fn plain(markdown: &str) -> String {
    markdown
        .replace("**", "")
        .replace('`', "")
        .replace("\n\n---\n\n", "\n\n")
        .replace(" *(", " (")
        .replace(")*", ")")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(line: u32) -> SemanticToken {
        SemanticToken {
            delta_line: line,
            delta_start: 0,
            length: 1,
            token_type: 0,
            token_modifiers_bitset: 0,
        }
    }

    #[test]
    fn a_delta_turns_the_old_list_into_the_new() {
        let lists: [&[u32]; 6] = [&[], &[1], &[1, 2, 3], &[1, 9, 3], &[1, 3], &[1, 1, 1, 1]];
        for old in lists {
            for new in lists {
                let (a, b): (Vec<_>, Vec<_>) = (
                    old.iter().map(|&l| token(l)).collect(),
                    new.iter().map(|&l| token(l)).collect(),
                );
                let mut result = a.clone();
                for edit in tokens_delta(&a, &b) {
                    let start = edit.start as usize / 5;
                    let end = start + edit.delete_count as usize / 5;
                    result.splice(start..end, edit.data.unwrap_or_default());
                }
                assert_eq!(result, b, "{old:?} {new:?}");
            }
        }
    }
}
