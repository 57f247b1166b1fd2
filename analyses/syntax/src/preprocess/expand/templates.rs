//! Template parameters that an option names: `-D BLOCK=128` gives a number to `template <int BLOCK>`, and must not put the
//! number where the parameter is declared. From such a header to the end of its item the name is left as it is;
//! conditionals still see the macro.
//!
//! ```text
//! -D N=8    template <int N> void f() { g(N); }  int a = N;    template <int N> void f() { g(N); }  int a = 8;
//! ```
//! Reads ahead to the end of the item, in all at most `PATIENCE` tokens a unit.

use super::{Cursor, LexedFile, Preprocessor};
use crate::c_family::token::TokenKind as T;
use smol_str::SmolStr;

const PATIENCE: usize = 4_000_000;
const LONGEST_HEADER: usize = 512;

/// Names of template parameters, up to a token of one inclusion of a file.
#[derive(Debug)]
struct Kept {
    instance: u32,
    end: usize,
    names: Vec<SmolStr>,
}

/// Macros of the options that give values to template parameters instead of being expanded.
#[derive(Debug, Default)]
pub(in crate::preprocess) struct TemplateNames {
    /// Object-like macros of the options.
    options: Vec<SmolStr>,
    kept: Vec<Kept>,
    looked_at: usize,
    /// A conditional's line is read.
    pub(in crate::preprocess) off: bool,
}

impl TemplateNames {
    pub(in crate::preprocess) fn of_options(defines: &[SmolStr]) -> TemplateNames {
        let name = |define: &SmolStr| {
            let head = define.split('=').next().unwrap_or("").trim();
            (!head.is_empty() && !head.contains('(')).then(|| SmolStr::from(head))
        };
        TemplateNames {
            options: defines.iter().filter_map(name).collect(),
            ..TemplateNames::default()
        }
    }

    pub(super) fn keeps(&self, name: &str) -> bool {
        !self.off
            && self
                .kept
                .iter()
                .any(|kept| kept.names.iter().any(|n| n == name))
    }
}

impl Preprocessor<'_> {
    /// Follows templates before each token of a file: items that ended are forgotten; the word `template` may
    /// begin another.
    pub(super) fn follow_templates(&mut self, lexed: &LexedFile) {
        if self.template_names.options.is_empty() {
            return;
        }
        let Some(&Cursor {
            position, instance, ..
        }) = self.cursors.last()
        else {
            return;
        };
        let names = &mut self.template_names;
        names
            .kept
            .retain(|kept| kept.instance != instance || position <= kept.end);
        let Some(word) = position.checked_sub(1).and_then(|at| lexed.tokens.get(at)) else {
            return;
        };
        if word.kind != T::Ident || lexed.text_of(*word) != "template" {
            return;
        }
        let (declared, behind) = parameters(lexed, position, &names.options);
        if declared.is_empty() || names.looked_at > PATIENCE {
            return;
        }
        let end = item_end(lexed, behind);
        names.looked_at += end - position;
        names.kept.push(Kept {
            instance,
            end,
            names: declared,
        });
    }
}

/// The parameters of a header `< ... >` at `open` that options name, and the place behind it.
fn parameters(lexed: &LexedFile, open: usize, options: &[SmolStr]) -> (Vec<SmolStr>, usize) {
    let nothing = (Vec::new(), open);
    if lexed
        .tokens
        .get(open)
        .is_none_or(|token| token.kind != T::Less)
    {
        return nothing;
    }
    let mut names = Vec::new();
    let (mut depth, mut nested, mut in_default, mut words) = (0i32, 0i32, false, 0u32);
    for (at, token) in lexed
        .tokens
        .iter()
        .enumerate()
        .skip(open)
        .take(LONGEST_HEADER)
    {
        match token.kind {
            T::LParen | T::LBracket | T::LBrace => nested += 1,
            T::RParen | T::RBracket | T::RBrace => nested -= 1,
            T::Less if nested == 0 => depth += 1,
            T::Greater if nested == 0 => depth -= 1,
            T::Shr if nested == 0 => depth -= 2,
            T::Semicolon => return nothing,
            T::Comma if depth == 1 && nested == 0 => (in_default, words) = (false, 0),
            T::Equal if depth == 1 && nested == 0 => in_default = true,
            T::Ident if depth == 1 && nested == 0 && !in_default => {
                let ends = lexed
                    .tokens
                    .get(at + 1)
                    .is_some_and(|next| matches!(next.kind, T::Comma | T::Greater | T::Equal));
                let name = lexed.text_of(*token);
                if ends && words > 0 && options.iter().any(|option| option == name) {
                    names.push(SmolStr::from(name));
                }
                words += 1;
            }
            _ => words += 1,
        }
        if depth <= 0 {
            return (names, at + 1);
        }
    }
    nothing
}

/// The last token of the declaration that goes on at `start`: its semicolon or the brace that closes its body.
fn item_end(lexed: &LexedFile, start: usize) -> usize {
    let mut depth = 0i32;
    for (at, token) in lexed.tokens.iter().enumerate().skip(start) {
        match token.kind {
            T::LBrace | T::LParen | T::LBracket => depth += 1,
            T::RParen | T::RBracket => depth -= 1,
            T::RBrace => {
                depth -= 1;
                if depth <= 0 {
                    return at;
                }
            }
            T::Semicolon if depth <= 0 => return at,
            _ => {}
        }
    }
    lexed.tokens.len()
}
