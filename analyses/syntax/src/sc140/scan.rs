//! Tokens: all of the text, blanks and comments among them.

use crate::source::Span;
use smol_str::SmolStr;

/// A piece of the text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Token {
    pub span: Span,
    pub kind: TokenKind,
    pub text: SmolStr,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TokenKind {
    /// Blanks and tabs.
    Blank,
    /// One end of a line: `\n`, `\r\n` or `\r`.
    Newline,
    /// From a semicolon to the end of the line.
    Comment,
    /// A name or a number: `d0.e`, `$8a20`, `@DEF`.
    Word,
    /// Within single or double quotes, which do not nest and know no escapes; or to the end of the line.
    Quoted,
    /// An operator or another sign.
    Mark,
}

/// Never fails: a character that begins no token is a mark.
pub(super) fn scan(text: &str) -> Vec<Token> {
    let bytes = text.as_bytes();
    let mut tokens = Vec::with_capacity(bytes.len() / 4);
    let mut at = 0;
    while at < bytes.len() {
        let (kind, end) = next(text, at);
        tokens.push(Token {
            span: Span::new(at as u32, end as u32),
            kind,
            text: SmolStr::new(&text[at..end]),
        });
        at = end;
    }
    tokens
}

fn next(text: &str, at: usize) -> (TokenKind, usize) {
    let bytes = text.as_bytes();
    let run = |from: usize, goes_on: &dyn Fn(u8) -> bool| {
        let rest = bytes[from..].iter();
        from + rest.take_while(|&&byte| goes_on(byte)).count()
    };
    let ends_line = |byte: u8| matches!(byte, b'\n' | b'\r');
    match bytes[at] {
        b'\r' if bytes.get(at + 1) == Some(&b'\n') => (TokenKind::Newline, at + 2),
        b'\n' | b'\r' => (TokenKind::Newline, at + 1),
        b' ' | b'\t' => (
            TokenKind::Blank,
            run(at, &|byte| matches!(byte, b' ' | b'\t')),
        ),
        b';' => (TokenKind::Comment, run(at, &|byte| !ends_line(byte))),
        quote @ (b'"' | b'\'') => {
            let end = run(at + 1, &|byte| byte != quote && !ends_line(byte));
            let closed = bytes.get(end) == Some(&quote);
            (TokenKind::Quoted, end + usize::from(closed))
        }
        first if is_word(first) || (first == b'$' && has_hex(bytes, at + 1)) => {
            (TokenKind::Word, run(at + 1, &is_word))
        }
        b'@' if bytes.get(at + 1).is_some_and(|&byte| is_word(byte)) => {
            (TokenKind::Word, run(at + 1, &is_word))
        }
        _ => {
            let pair = bytes.get(at..at + 2).unwrap_or(&[]);
            let double = matches!(
                pair,
                b"<<" | b">>" | b"==" | b"!=" | b"<=" | b">=" | b"&&" | b"||"
            );
            let width = match double {
                true => 2,
                false => text[at..].chars().next().map_or(1, char::len_utf8),
            };
            (TokenKind::Mark, at + width)
        }
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.')
}

fn has_hex(bytes: &[u8], at: usize) -> bool {
    bytes.get(at).is_some_and(u8::is_ascii_hexdigit)
}
