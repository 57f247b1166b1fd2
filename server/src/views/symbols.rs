//! The outline: functions with their kind, other declarations by name.

use crate::db::{self, Db, File};
use crate::derive::rows::rows_of;
use crate::program::{self, own_items};
use crate::views::text::kind_name;
use syntax::c_family::ast::ItemKind;
use syntax::{FileId, Span};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SymbolKind {
    Function,
    Struct,
    Enum,
    Variable,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Symbol {
    pub name: String,
    pub detail: String,
    pub kind: SymbolKind,
    pub span: Span,
    /// The name.
    pub selection: Span,
}

pub fn symbols(db: &dyn Db, file: File) -> Vec<Symbol> {
    let mut symbols = Vec::new();
    for (place, item) in own_items(db, file) {
        let span = Span::new(place.start, place.end);
        let name = item.name(db).to_string();
        if name.is_empty() {
            continue;
        }
        let inside = |selection: Span| {
            let at = selection.shifted(place.start);
            if at.end <= place.end {
                at
            } else {
                Span::at(place.start)
            }
        };
        if let Some(head) = rows_of(db, item).first().and_then(|rows| rows.head) {
            symbols.push(Symbol {
                name,
                detail: kind_name(head.kind).to_owned(),
                kind: SymbolKind::Function,
                span,
                selection: inside(head.name_span),
            });
            continue;
        }
        if file.language(db).c_dialect().is_none() {
            continue;
        }
        let parsed = &db::declaration(db, item).item;
        let (kind, selection) = match &parsed.kind {
            ItemKind::Function(function) => (SymbolKind::Function, function.signature_span),
            ItemKind::Struct(found) => (
                SymbolKind::Struct,
                found.name.as_ref().map_or(found.span, |name| name.span),
            ),
            ItemKind::Enum(found) => (
                SymbolKind::Enum,
                found.name.as_ref().map_or(found.span, |name| name.span),
            ),
            ItemKind::Alias(alias) => (SymbolKind::Struct, alias.name.span),
            ItemKind::Variables(declaration) => (SymbolKind::Variable, declaration.span),
            ItemKind::CBuffer(buffer) => (SymbolKind::Struct, buffer.name.span),
            _ => continue,
        };
        symbols.push(Symbol {
            name,
            detail: String::new(),
            kind,
            span,
            selection: inside(selection),
        });
    }
    symbols
}

/// A name that a file or one of its includes declares.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Declared {
    pub name: String,
    pub kind: SymbolKind,
    pub file: File,
    pub span: Span,
}

/// Functions, types and variables of a file and of its includes whose name fits a query.
pub fn of_unit(db: &dyn Db, file: File, query: &str) -> Vec<Declared> {
    let mut found: Vec<Declared> = Vec::new();
    for symbol in symbols(db, file) {
        if fits(query, &symbol.name) {
            found.push(Declared {
                name: symbol.name,
                kind: symbol.kind,
                file,
                span: symbol.selection,
            });
        }
    }
    for &item in db::items(db, file) {
        let (name, place) = (item.name(db), item.place(db));
        let last = name.rsplit("::").next().unwrap_or(name);
        if place.file == FileId::MAIN || last.is_empty() || !fits(query, last) {
            continue;
        }
        let Some(of) = program::unit_file(db, file, place.file) else {
            continue;
        };
        found.push(Declared {
            name: name.to_string(),
            kind: match item.holds(db).code {
                true => SymbolKind::Function,
                false => SymbolKind::Struct,
            },
            file: of,
            span: Span::at(place.start),
        });
    }
    found
}

/// The letters of the query stand in the name in their order, in either case.
fn fits(query: &str, name: &str) -> bool {
    let mut letters = name.chars().flat_map(char::to_lowercase);
    let mut wanted = query.chars().flat_map(char::to_lowercase);
    wanted.all(|letter| letters.any(|other| other == letter))
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn letters_in_order_fit() {
        assert!(fits("", "main"));
        assert!(fits("smx", "softmax"));
        assert!(fits("MAX", "softMax"));
        assert!(!fits("xs", "softmax"));
    }
}
