//! Macros by the text of the file: what a name may stand for, whichever of its definitions holds.

use super::around::is_type;
use super::check::ASSIGN;
use super::{Source, harmless as harmless_call};
use rustc_hash::FxHashMap;
use syntax::c_family::lexer::lex_fragment;
use syntax::c_family::token::TokenKind;

/// Macros that use macros are followed this far.
const DEPTH: u32 = 4;

/// Everything that a macro of this name brings, apart from its arguments, can be left out: it sets nothing, jumps nowhere
/// and calls what can be left out.
pub(super) fn harmless(source: &Source<'_>, name: &str, depth: u32) -> bool {
    let macros = source.defined.get_or_init(|| {
        let all = defined(source.text).into_iter();
        all.map(|(name, body)| (name.to_owned(), body)).collect()
    });
    let Some(body) = macros.get(name).filter(|_| depth < DEPTH) else {
        return false;
    };
    // Behind the parameters.
    let from = match body.starts_with(" (") {
        true => body.find(')').map_or(body.len(), |at| at + 1),
        false => 0,
    };
    let body = body.get(from..).unwrap_or("");
    let tokens: Vec<_> = lex_fragment(body)
        .into_iter()
        .filter(|token| token.kind != TokenKind::Eof)
        .collect();
    let text = |at: usize| {
        tokens
            .get(at)
            .and_then(|token| body.get(token.start as usize..token.end as usize))
            .unwrap_or("")
    };
    (0..tokens.len()).all(|at| match text(at) {
        "++" | "--" | "#" | "##" => false,
        "return" | "break" | "continue" | "goto" | "discard" | "for" | "while" | "do" | "asm"
        | "__asm__" | "throw" | "new" | "delete" => false,
        word if ASSIGN.contains(&word) => false,
        // What is called is an argument or computed, unless this is a cast.
        ")" if text(at + 1) == "(" => at > 0 && is_type(text(at - 1)),
        word if tokens[at].kind == TokenKind::Ident && macros.contains_key(word) => {
            harmless(source, word, depth + 1)
        }
        word if tokens[at].kind == TokenKind::Ident && text(at + 1) == "(" => {
            matches!(word, "if" | "switch" | "sizeof") || harmless_call(source, word)
        }
        _ => true,
    })
}

/// The macros that a text defines, with their parameters and bodies; several definitions of one name together.
pub(super) fn defined(text: &str) -> FxHashMap<&str, String> {
    let mut found: FxHashMap<&str, String> = FxHashMap::default();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let rest = line.trim_start().strip_prefix('#').map(str::trim_start);
        let Some(rest) = rest.and_then(|rest| rest.strip_prefix("define")) else {
            continue;
        };
        let rest = rest.trim_start();
        let end = rest
            .find(|c: char| !(c.is_alphanumeric() || c == '_'))
            .unwrap_or(rest.len());
        let (name, first) = rest.split_at(end);
        let body = found.entry(name).or_default();
        body.push(' ');
        let mut part = first;
        while let Some(more) = part.trim_end().strip_suffix('\\') {
            body.push_str(more);
            body.push(' ');
            part = lines.next().unwrap_or("");
        }
        body.push_str(part);
    }
    found
}
