//! Names that can be told from tokens alone: the types and templates that a unit declares, and the names of items.
//! Both are one pass over tokens, so that a server can key items and compare the hints before it parses anything.

use super::dialect::{Dialect, SpecifierWord};
use super::token::{Token, TokenKind as T};
use crate::preprocess::ItemTokens;
use crate::source::ItemKey;
use rustc_hash::FxHashMap;
use smol_str::SmolStr;

/// Types and templates that the unit declares, at any depth, sorted. A hint for the grammar, not a scope.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct TypeNames {
    types: Vec<SmolStr>,
    templates: Vec<SmolStr>,
}

impl TypeNames {
    pub fn is_type(&self, name: &str) -> bool {
        self.types
            .binary_search_by(|known| known.as_str().cmp(name))
            .is_ok()
    }
    pub fn is_template(&self, name: &str) -> bool {
        self.templates
            .binary_search_by(|known| known.as_str().cmp(name))
            .is_ok()
    }
}

/// The names of types by the rules of a dialect: in C tags have a name space of their own, and only `typedef` names types.
pub fn type_names(items: &[ItemTokens], dialect: Dialect) -> TypeNames {
    if dialect != Dialect::C {
        return declared_type_names(items);
    }
    let mut names = TypeNames::default();
    for item in items {
        let starts = item.tokens.iter().enumerate();
        for (at, _) in starts.filter(|(_, token)| token.kind == T::Typedef) {
            typedef_names(&item.tokens, at + 1, &mut names.types);
        }
    }
    names.types.sort_unstable();
    names.types.dedup();
    names
}

/// Every name of `typedef T a, *b, c[2], (*d)(int);`, whose declaration begins at `start`.
fn typedef_names(tokens: &[Token], start: usize, out: &mut Vec<SmolStr>) {
    let kind = |at: usize| tokens.get(at).map_or(T::Eof, |token| token.kind);
    let mut at = start;
    while at < tokens.len() {
        match kind(at) {
            T::Semicolon => return,
            T::LParen => {
                let end = after_brackets(tokens, at);
                if matches!(kind(at + 1), T::Star | T::Xor)
                    || kind(at + 1) == T::Ident && matches!(kind(end), T::LParen | T::LBracket)
                {
                    let inside = tokens.get(at + 1..end).unwrap_or_default();
                    let named = inside.iter().enumerate().find(|(offset, token)| {
                        token.kind == T::Ident
                            && matches!(
                                inside.get(offset + 1).map(|next| next.kind),
                                Some(T::RParen | T::LParen | T::LBracket)
                            )
                    });
                    out.extend(named.map(|(_, token)| token.text.clone()));
                }
                at = end;
                continue;
            }
            T::LBrace | T::LBracket => {
                at = after_brackets(tokens, at);
                continue;
            }
            T::Ident => {
                let attribute = |at: usize| attribute_word(&tokens[at].text);
                let ends = matches!(
                    kind(at + 1),
                    T::Comma | T::Semicolon | T::LBracket | T::LParen
                ) || kind(at + 1) == T::Ident && attribute(at + 1);
                if ends && !attribute(at) {
                    out.push(tokens[at].text.clone());
                }
            }
            _ => {}
        }
        at += 1;
    }
}

/// Finds `struct S`, `typename T`, `using A =`, `typedef ... A;`, and which names follow `template <...>`.
pub fn declared_type_names(items: &[ItemTokens]) -> TypeNames {
    let mut names = TypeNames::default();
    for item in items {
        scan(&item.tokens, &mut names);
    }
    names.types.sort_unstable();
    names.types.dedup();
    names.templates.sort_unstable();
    names.templates.dedup();
    names
}

fn scan(tokens: &[Token], names: &mut TypeNames) {
    let kind = |at: usize| tokens.get(at).map_or(T::Eof, |token| token.kind);
    let mut at = 0;
    while at < tokens.len() {
        match kind(at) {
            T::Struct | T::Class | T::Union | T::Enum | T::Interface | T::Typename => {
                let mut name = at + 1;
                // `enum class E`, `class ... Ts`, `struct __align__(8) S`, `struct [[x]] S`
                loop {
                    match kind(name) {
                        T::Class | T::Struct | T::Ellipsis => name += 1,
                        T::Alignas => name = after_brackets(tokens, name + 1),
                        T::LBracket => name = after_brackets(tokens, name),
                        T::Ident if kind(name + 1) == T::LParen => {
                            name = after_brackets(tokens, name + 1)
                        }
                        _ => break,
                    }
                }
                if kind(name) == T::Ident {
                    // `struct MACRO S {`
                    let second = tokens.get(name + 1).filter(|next| next.kind == T::Ident);
                    let last = tokens.get(name + 2);
                    let body = last.is_some_and(|token| {
                        matches!(token.kind, T::LBrace | T::Colon) || token.text == "final"
                    });
                    if second.is_some_and(|next| next.text != "final") && body {
                        name += 1;
                    }
                    names.types.push(tokens[name].text.clone());
                }
                at += 1;
            }
            T::Using if kind(at + 1) == T::Ident && kind(at + 2) == T::Equal => {
                names.types.push(tokens[at + 1].text.clone());
                at += 2;
            }
            T::Typedef => {
                let (name, end) = typedef_name(tokens, at + 1);
                if let Some(name) = name {
                    names.types.push(name);
                }
                // A struct in a typedef declares names of its own.
                at = if kind(at + 1) == T::Struct
                    || kind(at + 1) == T::Union
                    || kind(at + 1) == T::Enum
                {
                    at + 1
                } else {
                    end
                };
            }
            T::Template if kind(at + 1) == T::Less => {
                if let Some(end) = after_angles(tokens, at + 1)
                    && let Some(name) = template_name(tokens, end)
                {
                    names.templates.push(name);
                }
                at += 1;
            }
            _ => at += 1,
        }
    }
}

/// The name that a typedef gives, and where its declaration ends.
fn typedef_name(tokens: &[Token], start: usize) -> (Option<SmolStr>, usize) {
    let mut depth = 0usize;
    let mut name = None;
    let mut at = start;
    while let Some(token) = tokens.get(at) {
        match token.kind {
            T::LParen
                if depth == 0
                    && tokens
                        .get(at + 1)
                        .is_some_and(|t| matches!(t.kind, T::Star | T::And)) =>
            {
                let pointed = tokens[at + 1..]
                    .iter()
                    .take(4)
                    .find(|token| token.kind == T::Ident);
                return (pointed.map(|token| token.text.clone()), at);
            }
            T::LParen | T::LBrace | T::LBracket => depth += 1,
            T::RParen | T::RBrace | T::RBracket => depth = depth.saturating_sub(1),
            T::Ident if depth == 0 => name = Some(token.text.clone()),
            T::Semicolon if depth == 0 => break,
            _ => {}
        }
        at += 1;
    }
    (name, at)
}

/// The name of the template whose parameters end before `start`.
fn template_name(tokens: &[Token], start: usize) -> Option<SmolStr> {
    let mut last = None;
    for (offset, token) in tokens.get(start..)?.iter().enumerate().take(64) {
        match token.kind {
            T::Struct | T::Class | T::Union => {
                let rest = tokens.get(start + offset + 1..)?;
                return rest
                    .iter()
                    .take(8)
                    .find(|token| token.kind == T::Ident)
                    .map(|token| token.text.clone());
            }
            T::Ident => last = Some(token),
            T::LParen | T::Equal | T::Semicolon | T::LBrace => {
                let attribute = last.is_some_and(|name: &Token| name.text.starts_with("__"));
                if token.kind == T::LParen && attribute {
                    continue;
                }
                return last.map(|token| token.text.clone());
            }
            _ => {}
        }
    }
    None
}

fn after_brackets(tokens: &[Token], open: usize) -> usize {
    let mut depth = 0usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.kind {
            T::LParen | T::LBracket | T::LBrace => depth += 1,
            T::RParen | T::RBracket | T::RBrace => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    tokens.len()
}

fn after_angles(tokens: &[Token], open: usize) -> Option<usize> {
    let (mut depth, mut nested) = (0i32, 0i32);
    for (at, token) in tokens.iter().enumerate().skip(open).take(512) {
        match token.kind {
            T::LParen | T::LBracket | T::LBrace => nested += 1,
            T::RParen | T::RBracket | T::RBrace => nested -= 1,
            T::Less if nested == 0 => depth += 1,
            T::Greater if nested == 0 => depth -= 1,
            T::Shr if nested == 0 => depth -= 2,
            T::Semicolon => return None,
            _ => {}
        }
        if depth <= 0 {
            return Some(at + 1);
        }
    }
    None
}

/// The keys of a unit's items, in order: qualified names, numbered where they are equal.
pub fn item_names(items: &[ItemTokens]) -> Vec<ItemKey> {
    let mut seen: FxHashMap<SmolStr, u32> = FxHashMap::default();
    items
        .iter()
        .map(|item| {
            let name = item_name(item);
            let count = seen.entry(name.clone()).or_insert(0);
            let ordinal = *count;
            *count += 1;
            ItemKey { name, ordinal }
        })
        .collect()
}

/// An item's qualified name as its tokens tell it; empty when it declares none.
pub fn item_name(item: &ItemTokens) -> SmolStr {
    let own = own_name(&item.tokens);
    if own.is_empty() || item.scope.iter().all(|name| name.is_empty()) {
        return own;
    }
    let mut full = String::new();
    for name in item.scope.iter().filter(|name| !name.is_empty()) {
        full.push_str(name);
        full.push_str("::");
    }
    full.push_str(&own);
    SmolStr::new(full)
}

fn own_name(tokens: &[Token]) -> SmolStr {
    let kind = |at: usize| tokens.get(at).map_or(T::Eof, |token| token.kind);
    let text = |at: usize| tokens.get(at).map_or("", |token| token.text.as_str());
    let mut at = 0;
    let mut name = SmolStr::default();
    let mut tag = false;
    // Where a template argument list may follow, `<` is skipped.
    while at < tokens.len() {
        match kind(at) {
            T::Template => {
                at = match kind(at + 1) {
                    T::Less => after_angles(tokens, at + 1).unwrap_or(at + 2),
                    _ => at + 1,
                };
            }
            T::LBracket => {
                if !name.is_empty() && !tag && at > 0 {
                    return name;
                }
                at = after_brackets(tokens, at);
            }
            T::Typedef => return typedef_name(tokens, at + 1).0.unwrap_or_default(),
            T::Using => {
                return match kind(at + 2) {
                    T::Equal => SmolStr::new(text(at + 1)),
                    _ => SmolStr::default(),
                };
            }
            T::StaticAssert | T::Semicolon => {
                return if kind(at) == T::Semicolon {
                    name
                } else {
                    SmolStr::default()
                };
            }
            T::Struct | T::Class | T::Union | T::Enum | T::Interface => {
                tag = true;
                at += 1;
                while matches!(kind(at), T::Class | T::Struct) {
                    at += 1;
                }
            }
            T::Decltype | T::Alignas | T::Noexcept | T::Explicit => {
                at = if kind(at + 1) == T::LParen {
                    after_brackets(tokens, at + 1)
                } else {
                    at + 1
                }
            }
            T::Operator => {
                let mut symbol = String::from("operator");
                if let Some(class) = name.strip_suffix("::") {
                    symbol = format!("{class}::operator");
                }
                let from = at + 1;
                let mut to = from + 1;
                if matches!(kind(from), T::LParen | T::LBracket) {
                    to = from + 2;
                }
                while to < tokens.len() && kind(to) != T::LParen {
                    to += 1;
                }
                let word = tokens
                    .get(from)
                    .is_some_and(|token| token.kind.is_keyword() || token.kind == T::Ident);
                if word {
                    symbol.push(' ');
                }
                for token in tokens.get(from..to).unwrap_or_default() {
                    symbol.push_str(token.spelling());
                }
                return SmolStr::new(symbol);
            }
            T::Ident => {
                let word = text(at);
                if kind(at + 1) == T::LParen && attribute_word(word) {
                    at = after_brackets(tokens, at + 1);
                    continue;
                }
                if specifier_only(word) && (kind(at + 1) == T::Ident || kind(at + 1).is_keyword())
                    || attribute_word(word)
                {
                    at += 1;
                    continue;
                }
                if word == "final" && tag && !name.is_empty() {
                    return name;
                }
                // A tag's name ends at the body; a name behind it is a variable's or a function's.
                let joined = name.ends_with("::") || name.ends_with('~');
                name = if joined {
                    SmolStr::new(format!("{name}{word}"))
                } else {
                    SmolStr::new(word)
                };
                at += 1;
                if kind(at) == T::Less {
                    match after_angles(tokens, at) {
                        Some(end) => at = end,
                        // An effect's annotations.
                        None => return name,
                    }
                }
                if kind(at) == T::ColonColon {
                    name = SmolStr::new(format!("{name}::"));
                    at += 1;
                    if kind(at) == T::Tilde {
                        name = SmolStr::new(format!("{name}~"));
                        at += 1;
                    }
                }
                if tag && matches!(kind(at), T::LBrace | T::Colon) {
                    return name;
                }
            }
            T::LParen => {
                if matches!(kind(at + 1), T::Star | T::And) && matches!(kind(at + 2), T::Ident) {
                    return SmolStr::new(text(at + 2));
                }
                let close = after_brackets(tokens, at);
                // `MACRO(x) void f()`: the parentheses belong to a macro when a declaration goes on behind them.
                let goes_on = match kind(close) {
                    T::Ident => {
                        !matches!(text(close), "override" | "final")
                            && !text(close).starts_with("__attribute")
                    }
                    next => {
                        next.is_keyword()
                            && !matches!(
                                next,
                                T::Const
                                    | T::Noexcept
                                    | T::Volatile
                                    | T::Throw
                                    | T::Requires
                                    | T::Try
                                    | T::Asm
                            )
                    }
                };
                if !goes_on {
                    return name;
                }
                name = SmolStr::default();
                at = close;
            }
            // A struct without a name: the variable stands behind the body.
            T::LBrace if tag && name.is_empty() => {
                tag = false;
                at = after_brackets(tokens, at);
            }
            T::Equal | T::LBrace | T::Colon | T::Comma => return name,
            T::Tilde => {
                name = SmolStr::new(format!("{name}~"));
                at += 1;
            }
            _ => at += 1,
        }
    }
    name
}

fn attribute_word(word: &str) -> bool {
    let words =
        [Dialect::Cuda, Dialect::Hlsl, Dialect::C].map(|dialect| dialect.specifier_word(word));
    words
        .iter()
        .flatten()
        .any(|found| matches!(found, SpecifierWord::Attribute(_)))
}

fn specifier_only(word: &str) -> bool {
    [Dialect::Cuda, Dialect::Hlsl, Dialect::C]
        .iter()
        .any(|dialect| dialect.specifier_word(word).is_some())
}
