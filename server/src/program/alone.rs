//! The text of an item by itself, with the macros and namespaces that it needs: it reads as the item does in its file, so that an
//! edit inside of it is judged without the rest of the file, and without the headers.

use super::{preprocess_options, settings, text};
use crate::db::{self, Db, File, Item, ItemPlace};
use crate::program::Body;
use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;
use std::fmt::Write;
use std::sync::Arc;
use syntax::c_family::lexer::{LexedFile, lex, lex_shared};
use syntax::c_family::token::TokenKind;
use syntax::preprocess::{IncludedFile, ItemTokens, NoIncludes, Unit, preprocess};
use syntax::{FileId, Span};

/// The most definitions that are written in front of an item.
const MOST_DEFINITIONS: usize = 500;

/// An item's text, with lines that stand in front of it and behind it when it is read.
#[derive(Clone, PartialEq, Debug)]
pub struct ItemText {
    pub text: Arc<str>,
    front: String,
    behind: String,
}

/// The text of an item that stands in the file itself. `None`: it holds directives, or what depends on its place.
pub fn item_text(db: &dyn Db, item: Item<'_>) -> Option<Arc<ItemText>> {
    let ItemPlace {
        file: FileId::MAIN,
        start,
        end,
    } = item.place(db)
    else {
        return None;
    };
    let Body::Tokens { scope, .. } = item.body(db) else {
        return None;
    };
    let file = item.main(db);
    let lexed = db::lexed(db, file).as_ref()?;
    let place = |at: u32| lexed.tokens.get(at as usize).map_or(0, |hash| hash.start);
    let first = lexed.directives.partition_point(|&at| place(at) < start);
    let inside = lexed.directives[first..].iter();
    let mut inside = inside.take_while(|&&at| place(at) < end);
    let is_pragma = |at: u32| {
        let name = lexed.tokens.get(at as usize + 1);
        name.is_some_and(|&name| lexed.text_of(name) == "pragma")
    };
    if !inside.all(|&at| is_pragma(at)) {
        return None;
    }
    let mut front = definitions(db, file, Span::new(start, end))?;
    // The first token of a text is told apart from the first of a line.
    if start > 0 {
        front.push('\n');
    }
    for name in scope {
        let _ = writeln!(front, "namespace {name} {{");
    }
    let own = text(file.source(db)).get(start as usize..end as usize)?;
    Some(Arc::new(ItemText {
        text: own.into(),
        front,
        behind: "\n}".repeat(scope.len()),
    }))
}

/// The definitions of the macros that are used in a part of the file, and of those in their bodies.
fn definitions(db: &dyn Db, file: File, part: Span) -> Option<String> {
    let unit = db::unit(db, file);
    let uses = &unit.macro_uses;
    let first = uses.partition_point(|used| used.name_span.start < part.start);
    let mut wanted: Vec<u32> = Vec::new();
    for used in &uses[first..] {
        if used.name_span.start >= part.end {
            break;
        }
        // `_Pragma` has none.
        let definition = used.definition?;
        if !wanted.contains(&definition) {
            wanted.push(definition);
        }
    }
    let mut out = String::new();
    let mut at = 0;
    while let Some(&number) = wanted.get(at) {
        at += 1;
        if at > MOST_DEFINITIONS {
            return None;
        }
        let definition = unit.macros.get(number as usize)?;
        // The others are there anyway.
        let Some(from) = definition.file else {
            continue;
        };
        let text = &unit.files.get(from.0 as usize)?.tokens.text;
        let Span { start, end } = definition.body_span;
        let name = definition.name_span;
        let line = text.get(name.start as usize..(end as usize).max(name.end as usize))?;
        let _ = writeln!(out, "#define {line}");
        let body = lex(text.get(start as usize..end as usize)?);
        let mut names = body
            .tokens
            .iter()
            .filter(|it| it.kind == TokenKind::Ident)
            .peekable();
        if names.peek().is_none() {
            continue;
        }
        let macros = db::macros_by_name(db, file);
        for nested in names.filter_map(|name| macros.get(body.text_of(*name))) {
            if !wanted.contains(nested) {
                wanted.push(*nested);
            }
        }
    }
    Some(out)
}

/// The last definition of each macro.
pub fn macros_by_name(unit: &Unit) -> FxHashMap<SmolStr, u32> {
    let numbers = (0..).zip(&unit.macros);
    numbers
        .map(|(number, definition)| (definition.name.clone(), number))
        .collect()
}

/// The item's text if it reads by itself as it does in the file.
pub fn alone(db: &dyn Db, item: Item<'_>) -> Option<Arc<ItemText>> {
    let found = db::item_text(db, item).as_ref()?;
    let Body::Tokens { tokens, .. } = item.body(db) else {
        return None;
    };
    let read = found.read(db, item, &found.text)?;
    (read.tokens == *tokens).then(|| Arc::clone(found))
}

impl ItemText {
    /// The item that another text in the place of its own is; `None` when it is none, or several.
    pub(super) fn read(&self, db: &dyn Db, item: Item<'_>, text: &str) -> Option<ItemTokens> {
        let file = item.main(db);
        let dialect = file.language(db).c_dialect()?;
        let mut options = preprocess_options(db, settings(db, file).analysis(db), dialect);
        options.forced.clear();
        let whole = [&self.front, text, &self.behind].concat();
        let main = IncludedFile {
            path: super::path_text(file.path(db)),
            tokens: Arc::new(lex_shared(Arc::from(whole))),
        };
        let unit = preprocess(&main, &options, &mut NoIncludes);
        let [read] = <[ItemTokens; 1]>::try_from(unit.items).ok()?;
        let Body::Tokens { scope, .. } = item.body(db) else {
            return None;
        };
        let start = self.front.len();
        let as_a_whole = read.start as usize == start && read.end as usize == start + text.len();
        (as_a_whole && read.scope == *scope).then_some(read)
    }

    /// The part of an edited file that stands where the item stood, if all around it is as before.
    pub(super) fn part<'a>(&self, before: &str, start: u32, after: &'a str) -> Option<&'a str> {
        let start = start as usize;
        let front = before.get(..start)?;
        let behind = before.get(start + self.text.len()..)?;
        after.strip_prefix(front)?.strip_suffix(behind)
    }

    /// Another text for it names no macro that its own does not name: what the file has for it is not in front.
    pub(super) fn adds_no_name_of(&self, macros: &FxHashMap<SmolStr, u32>, text: &str) -> bool {
        let (own, new) = (lex(&self.text), lex(text));
        let names = |lexed: &LexedFile| -> FxHashSet<SmolStr> {
            let all = lexed.tokens.iter().map(|token| lexed.text_of(*token));
            all.filter(|name| macros.contains_key(*name))
                .map(SmolStr::from)
                .collect()
        };
        names(&new).is_subset(&names(&own))
    }
}
