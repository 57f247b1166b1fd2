//! Semantic tokens: every occurrence of a variable with its class, uses of macros, and text that conditionals exclude.

use crate::db::{self, Db, File};
use crate::derive::rows::rows_of;
use crate::program::own_items;
use facts::Class;
use ir::VariableKind;
use syntax::{FileId, Span};

#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub enum TokenType {
    Variable,
    Parameter,
    Macro,
    Comment,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Token {
    /// Within one line, in bytes of the file.
    pub span: Span,
    pub kind: TokenType,
    pub class: Option<Class>,
    pub declaration: bool,
}

/// Tokens that touch a range (`None`: all), sorted, none overlapping.
pub fn tokens(db: &dyn Db, file: File, range: Option<Span>) -> Vec<Token> {
    let source = crate::program::text(file.source(db));
    let touches =
        |span: Span| range.is_none_or(|range| span.end >= range.start && span.start <= range.end);
    let mut tokens = Vec::new();
    for (place, item) in own_items(db, file) {
        if !touches(Span::new(place.start, place.end)) {
            continue;
        }
        for occurrence in rows_of(db, item).iter().flat_map(|rows| &rows.occurrences) {
            let span = occurrence.span.shifted(place.start);
            if touches(span) && super::hints::written(source, place.start, occurrence) {
                tokens.push(Token {
                    span,
                    kind: match occurrence.variable_kind {
                        VariableKind::Parameter => TokenType::Parameter,
                        _ => TokenType::Variable,
                    },
                    class: Some(occurrence.class),
                    declaration: occurrence.kind == ir::BindingKind::Declaration,
                });
            }
        }
    }
    if file.language(db).c_dialect().is_some() {
        let unit = db::unit(db, file);
        for used in unit
            .macro_uses
            .iter()
            .filter(|used| touches(used.name_span))
        {
            tokens.push(Token {
                span: used.name_span,
                kind: TokenType::Macro,
                class: None,
                declaration: false,
            });
        }
        for (_, span) in unit
            .inactive
            .iter()
            .filter(|(of, span)| *of == FileId::MAIN && touches(*span))
        {
            let mut start = span.start as usize;
            for line in source
                .get(start..span.end as usize)
                .unwrap_or("")
                .split_inclusive('\n')
            {
                let code = line.trim_end();
                let blank = code.len() - code.trim_start().len();
                if code.len() > blank {
                    let token = Span::new((start + blank) as u32, (start + code.len()) as u32);
                    tokens.push(Token {
                        span: token,
                        kind: TokenType::Comment,
                        class: None,
                        declaration: false,
                    });
                }
                start += line.len();
            }
        }
    }
    tokens.retain(|token| !token.span.is_empty());
    // At one place the least precise class wins: `i++` reads and writes.
    tokens.sort_by(|a, b| (a.span, b.class).cmp(&(b.span, a.class)));
    let mut end = 0;
    tokens.retain(|token| {
        let keep = token.span.start >= end;
        if keep {
            end = token.span.end;
        }
        keep
    });
    tokens
}
