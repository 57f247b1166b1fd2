//! A file of IA-64 assembly, read as a whole: it has no items.

use super::{Language, text};
use crate::db::{self, Db, File};
use codegen::target::ia64::listing::{Item, Listing, listing};
use simulate::ia64::Program;
use syntax::ia64::Document;
use syntax::ia64::decode::Opaque;
use syntax::{Problem, Span};

/// A file of assembly, read.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Assembly {
    pub document: Document,
    pub listing: Listing,
    /// Bundles that no processor has.
    pub malformed: Vec<Problem>,
}

/// The file's instructions; nothing of a file in another language.
pub fn assembly(db: &dyn Db, file: File) -> Assembly {
    if file.language(db) != Language::Ia64 {
        return Assembly::default();
    }
    let source = text(file.source(db));
    let document = syntax::ia64::parse(source);
    let listing = listing(&document, source);
    let malformed = Program::malformed_bundles(&document, source);
    Assembly {
        document,
        listing,
        malformed,
    }
}

impl Assembly {
    /// The place of an instruction.
    pub fn place(&self, item: &Item) -> Span {
        self.document.statements[item.statement as usize].span
    }
}

/// Instructions of which nothing is known, with the reason.
pub(super) fn opaque(db: &dyn Db, file: File) -> Vec<(Span, Opaque)> {
    let assembly = db::assembly(db, file);
    let items = assembly.listing.items.iter();
    items
        .filter_map(|item| Some((assembly.place(item), item.opaque.clone()?)))
        .collect()
}
