//! The C family: CUDA C++, HLSL and C.
//!
//! ```text
//! lexer::lex            text            -> LexedFile      raw tokens of one file
//! preprocess::preprocess LexedFile + includes -> Unit     items' tokens, macros expanded (`crate::preprocess`)
//! type_names            Unit::items     -> TypeNames      hints for the grammar
//! item_names            Unit::items     -> [ItemKey]      without parsing
//! parse_item            ItemTokens      -> ParsedItem     one item, independent of the others
//! parse_unit            Unit            -> [(start, end, ParsedItem)]
//! dump::item            ParsedItem      -> text           an S-expression for tests and `dump parse`
//! ```
//! For a text on its own: `parse_text(text, dialect)`.

pub mod ast;
pub mod dialect;
pub mod dump;
mod grammar;
pub mod lexer;
mod names;
pub mod token;

pub use dialect::Dialect;
pub use grammar::parse_item;
pub use names::{TypeNames, declared_type_names, item_name, item_names, type_names};

use crate::preprocess::{Unit, preprocess_text};
use std::sync::Arc;

/// Every item of a unit with its absolute range in its file.
pub fn parse_unit(unit: &Unit, dialect: Dialect) -> Vec<(u32, u32, ast::ParsedItem)> {
    let names = type_names(&unit.items, dialect);
    let keys = item_names(&unit.items);
    unit.items
        .iter()
        .zip(keys)
        .map(|(item, key)| {
            let mut parsed = parse_item(item, &names, dialect);
            parsed.key = key;
            (item.start, item.end, parsed)
        })
        .collect()
}

/// The items of a text without includes.
pub fn parse_text(text: &str, dialect: Dialect) -> Vec<Arc<ast::ParsedItem>> {
    parse_unit(&preprocess_text("main", text, dialect), dialect)
        .into_iter()
        .map(|(_, _, item)| Arc::new(item))
        .collect()
}
