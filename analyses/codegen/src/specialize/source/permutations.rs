//! Names in the text between `#if` and `#endif`: names that other permutations of the file may read after a
//! version, or in another iteration. For each line, these are the names that it spells, and those of the
//! macros that it uses, one step deep.

use super::Source;
use super::macros::defined;
use super::names::{Names, VarId};
use rustc_hash::FxHashMap;
use syntax::Span;
use syntax::c_family::lexer::lex_fragment;
use syntax::c_family::token::TokenKind;

/// Places, relative to the item, where variables may be meant, by their spelling alone.
pub(super) fn mentioned(source: &Source<'_>, names: &Names, within: Span) -> Vec<(Span, VarId)> {
    let text = source.slice(within);
    if !text.contains("#") {
        return Vec::new();
    }
    let mut by_name: FxHashMap<&str, Vec<VarId>> = FxHashMap::default();
    for (at, variable) in names.variables.iter().enumerate() {
        by_name
            .entry(variable.name.as_str())
            .or_default()
            .push(VarId(at as u32));
    }
    let mut macros: Option<FxHashMap<&str, String>> = None;
    let mut found = Vec::new();
    let mut at = within.start;
    let mut depth = 0u32;
    for line in text.split_inclusive('\n') {
        let directive = line.trim_start().strip_prefix('#').map(str::trim_start);
        match directive {
            Some(rest) if rest.starts_with("if") => depth += 1,
            Some(rest) if rest.starts_with("endif") => depth = depth.saturating_sub(1),
            None if depth > 0 => {
                let span = Span::new(at, at + line.trim_end().len() as u32);
                for word in words(line) {
                    let mut add = |word: &str| {
                        for &id in by_name.get(word).into_iter().flatten() {
                            found.push((Span::at(span.start), id));
                        }
                    };
                    add(word);
                    let macros = macros.get_or_insert_with(|| defined(source.text));
                    if let Some(body) = macros.get(word) {
                        words(body).into_iter().for_each(add);
                    }
                }
            }
            _ => {}
        }
        at += line.len() as u32;
    }
    found
}

fn words(text: &str) -> Vec<&str> {
    lex_fragment(text)
        .iter()
        .filter(|token| token.kind == TokenKind::Ident)
        .filter_map(|token| text.get(token.start as usize..token.end as usize))
        .collect()
}
