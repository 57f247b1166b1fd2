//! The parameters of the call around an offset: of functions of the unit as they are declared, of builtins of
//! the language from its table.

use super::completion::provided;
use crate::db::{self, Db, File};
use crate::program;
use syntax::Span;
use syntax::c_family::ast::ItemKind;

/// Bytes in front of the offset in which the call begins.
const REACH: usize = 4_000;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Signatures {
    pub signatures: Vec<Signature>,
    /// The parameter that is being written, from 0.
    pub active: u32,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Signature {
    pub label: String,
    pub parameters: Vec<String>,
    pub about: String,
}

/// The signatures that the call around an offset may mean.
pub fn signature(db: &dyn Db, file: File, offset: u32) -> Option<Signatures> {
    let source = program::text(file.source(db));
    let (name, active) = call_around(source.get(..offset as usize)?)?;
    let mut signatures = Vec::new();
    for &item in db::items(db, file) {
        if item.name(db).rsplit("::").next() != Some(name)
            || file.language(db).c_dialect().is_none()
        {
            continue;
        }
        let parsed = db::declaration(db, item);
        let ItemKind::Function(function) = &parsed.item.kind else {
            continue;
        };
        let place = item.place(db);
        let Some(of) = program::unit_file(db, file, place.file) else {
            continue;
        };
        let text = program::text(of.source(db));
        let part = |span: Span| {
            let span = span.shifted(place.start);
            let text = text
                .get(span.start as usize..span.end as usize)
                .unwrap_or("");
            text.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        signatures.push(Signature {
            label: part(function.signature_span),
            parameters: function
                .parameters
                .iter()
                .map(|parameter| part(parameter.span))
                .collect(),
            about: String::new(),
        });
    }
    let language = file.language(db);
    if let Some(found) = provided(language).iter().find(|it| it.name == name) {
        signatures.push(Signature {
            label: found.signature.to_owned(),
            parameters: parameters(found.signature),
            about: found.about.to_owned(),
        });
    }
    signatures.dedup();
    (!signatures.is_empty()).then_some(Signatures { signatures, active })
}

fn parameters(signature: &str) -> Vec<String> {
    let inner = signature
        .split_once('(')
        .and_then(|(_, rest)| rest.rsplit_once(')'))
        .map_or("", |(inner, _)| inner);
    let parts = inner.split(',').map(|part| part.trim().to_owned());
    parts.filter(|part| !part.is_empty()).collect()
}

/// The name of the innermost call that is open at the end of a text, and the number of commas behind its parenthesis.
fn call_around(before: &str) -> Option<(&str, u32)> {
    let start = before.len().saturating_sub(REACH);
    let start = (start..before.len()).find(|&at| before.is_char_boundary(at))?;
    let text = &before[start..];
    let (mut depth, mut commas) = (0u32, 0u32);
    for (at, letter) in text.char_indices().rev() {
        match letter {
            ')' | ']' | '}' => depth += 1,
            '[' | '{' if depth == 0 => return None,
            '(' if depth == 0 => {
                let head = text[..at].trim_end();
                let rest = head.trim_end_matches(|c: char| c.is_alphanumeric() || c == '_');
                let name = &head[rest.len()..];
                let keyword = matches!(name, "" | "if" | "for" | "while" | "switch" | "return");
                return (!keyword).then_some((name, commas));
            }
            '(' | '[' | '{' => depth -= 1,
            ',' if depth == 0 => commas += 1,
            ';' if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_open_call_counts() {
        assert_eq!(call_around("x = max(a, "), Some(("max", 1)));
        assert_eq!(call_around("x = max(f(a, b), g(c"), Some(("g", 0)));
        assert_eq!(call_around("x = max(f(a, b), c"), Some(("max", 1)));
        assert_eq!(call_around("if (a"), None);
        assert_eq!(call_around("f(a); b"), None);
        assert_eq!(parameters("T lerp(T a, T b, T s)"), ["T a", "T b", "T s"]);
    }
}
