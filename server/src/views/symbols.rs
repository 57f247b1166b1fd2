//! The outline: functions with their kind, other declarations by name.

use super::own_items;
use crate::db::{self, Db, File};
use crate::views::rows::kind_name;
use syntax::Span;
use syntax::c_family::ast::ItemKind;

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
        if let Some(head) = super::rows_of(db, item).first().and_then(|rows| rows.head) {
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
            ItemKind::Struct(one) => (
                SymbolKind::Struct,
                one.name.as_ref().map_or(one.span, |name| name.span),
            ),
            ItemKind::Enum(one) => (
                SymbolKind::Enum,
                one.name.as_ref().map_or(one.span, |name| name.span),
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
