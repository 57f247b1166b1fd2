//! Text to raw tokens, in one pass over the bytes. Never fails: a byte that begins no token becomes an `Error` token.
//! Tokens carry positions only, so lexing allocates a vector and nothing for each token.
//!
//! It stops because every turn of the loop consumes at least one byte. It does not tell keywords from identifiers
//! and does not run directives (the preprocessor does both); punctuators that are split by a line splice stay apart.
//! Source: the phases 1 to 3 of translation in the C++ standard, [lex.phases] and [lex.pptoken].

use super::token::{COLUMN_ZERO, LINE_START, RawToken, SPACE_BEFORE, SPLICED, TokenKind};
use crate::Span;
use smol_str::SmolStr;
use std::sync::Arc;

/// Tokens of one file that are read, about 50,000 lines of code. Trees take some 300 bytes a token; a line of ten
/// megabytes must not fill the memory.
pub const MAX_TOKENS: usize = 500_000;
/// Unended raw strings after which none is looked for any more: each look goes to the end of the file.
const MAX_UNENDED: usize = 64;

/// A file's raw tokens. A value: equal texts give equal files.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LexedFile {
    pub text: Arc<str>,
    pub tokens: Vec<RawToken>,
    /// Indices into `tokens` of each `#` that begins a directive.
    pub directives: Vec<u32>,
    /// Comments, delimiters included, in order.
    pub comments: Vec<Span>,
    /// The macro of an include guard that encloses the whole file.
    pub guard: Option<SmolStr>,
    /// The position of the token before which reading ended, when there are more than `MAX_TOKENS`.
    pub cut: Option<u32>,
}

impl LexedFile {
    pub fn text_of(&self, token: RawToken) -> &str {
        self.text
            .get(token.start as usize..token.end as usize)
            .unwrap_or("")
    }
}

/// Lexes a text, which is copied once.
pub fn lex(text: &str) -> LexedFile {
    lex_shared(Arc::from(text))
}

/// Lexes a text that is already shared.
pub fn lex_shared(text: Arc<str>) -> LexedFile {
    let mut lexer = Lexer::new(text.as_bytes());
    lexer.tokens.reserve((text.len() / 4).min(MAX_TOKENS));
    lexer.run(&text);
    let cut = lexer.cut();
    let Lexer {
        tokens,
        directives,
        comments,
        ..
    } = lexer;
    let guard = find_guard(&text, &tokens, &directives);
    LexedFile {
        text,
        tokens,
        directives,
        comments,
        guard,
        cut,
    }
}

/// Lexes a short text, such as the result of `##` or a macro's definition given as an option.
pub fn lex_fragment(text: &str) -> Vec<RawToken> {
    let mut lexer = Lexer::new(text.as_bytes());
    lexer.run(text);
    lexer.tokens
}

/// The macro `G` when the file is `#ifndef G`, `#define G`, ..., `#endif` and nothing stands outside.
fn find_guard(text: &str, tokens: &[RawToken], directives: &[u32]) -> Option<SmolStr> {
    let word = |index: usize| {
        let token = tokens.get(index)?;
        text.get(token.start as usize..token.end as usize)
    };
    if *directives.first()? != 0 || word(1)? != "ifndef" {
        return None;
    }
    let name = word(2)?;
    let second = *directives.get(1)? as usize;
    if second != 3 || word(second + 1)? != "define" || word(second + 2)? != name {
        return None;
    }
    let mut depth = 0usize;
    for (number, &at) in directives.iter().enumerate() {
        match word(at as usize + 1) {
            Some("if" | "ifdef" | "ifndef") => depth += 1,
            Some("endif") => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    let last = number + 1 == directives.len() && tokens.len() <= at as usize + 2;
                    return last.then(|| SmolStr::new(name));
                }
            }
            Some("else" | "elif" | "elifdef" | "elifndef") if depth == 1 => return None,
            _ => {}
        }
    }
    None
}

struct Lexer<'a> {
    bytes: &'a [u8],
    at: usize,
    flags: u8,
    tokens: Vec<RawToken>,
    directives: Vec<u32>,
    comments: Vec<Span>,
    /// The closing delimiters that raw strings of the text lack.
    unended: Vec<Vec<u8>>,
}

const IDENT_START: u8 = 1;
const IDENT: u8 = 2;
const DIGIT: u8 = 4;
const BLANK: u8 = 8;

const fn class_table() -> [u8; 256] {
    let mut table = [0u8; 256];
    let mut byte = 0usize;
    while byte < 256 {
        let b = byte as u8;
        if b.is_ascii_alphabetic() || b == b'_' || b == b'$' {
            table[byte] = IDENT_START | IDENT;
        } else if b.is_ascii_digit() {
            table[byte] = IDENT | DIGIT;
        } else if b == b' ' || b == b'\t' || b == 0x0b || b == 0x0c {
            table[byte] = BLANK;
        }
        byte += 1;
    }
    table
}

static CLASS: [u8; 256] = class_table();

fn is(byte: u8, class: u8) -> bool {
    CLASS[byte as usize] & class != 0
}

impl<'a> Lexer<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        let flags = LINE_START | COLUMN_ZERO;
        Lexer {
            bytes,
            at: 0,
            flags,
            tokens: Vec::new(),
            directives: Vec::new(),
            comments: Vec::new(),
            unended: Vec::new(),
        }
    }

    /// Takes away the tokens beyond the limit; returns where they begin.
    fn cut(&mut self) -> Option<u32> {
        let cut = self.tokens.get(MAX_TOKENS)?.start;
        self.tokens.truncate(MAX_TOKENS);
        while self
            .directives
            .last()
            .is_some_and(|&at| at as usize >= MAX_TOKENS)
        {
            self.directives.pop();
        }
        while self
            .comments
            .last()
            .is_some_and(|comment| comment.start >= cut)
        {
            self.comments.pop();
        }
        Some(cut)
    }

    fn byte(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    /// The length of a backslash-newline at `at`; 0 when there is none. Blanks before the newline are tolerated.
    fn splice(&self, at: usize) -> usize {
        if self.bytes.get(at) != Some(&b'\\') {
            return 0;
        }
        let mut end = at + 1;
        while end < self.bytes.len() && end < at + 64 && is(self.bytes[end], BLANK) {
            end += 1;
        }
        match self.bytes.get(end) {
            Some(b'\n') => end + 1 - at,
            Some(b'\r') if self.bytes.get(end + 1) == Some(&b'\n') => end + 2 - at,
            Some(b'\r') => end + 1 - at,
            _ => 0,
        }
    }

    fn push(&mut self, start: usize, kind: TokenKind) {
        if kind == TokenKind::Hash && self.flags & LINE_START != 0 {
            self.directives.push(self.tokens.len() as u32);
        }
        self.tokens.push(RawToken {
            start: start as u32,
            end: self.at as u32,
            kind,
            flags: self.flags,
        });
        self.flags = 0;
    }

    fn run(&mut self, text: &str) {
        if self.bytes.starts_with(&[0xef, 0xbb, 0xbf]) {
            self.at = 3;
        }
        while self.at < self.bytes.len() && self.tokens.len() <= MAX_TOKENS {
            let byte = self.bytes[self.at];
            let start = self.at;
            if is(byte, IDENT_START) {
                self.word(text, start);
                continue;
            }
            match byte {
                b' ' | b'\t' | 0x0b | 0x0c => {
                    self.at += 1;
                    self.flags = (self.flags | SPACE_BEFORE) & !COLUMN_ZERO;
                }
                b'\n' | b'\r' => {
                    self.at += 1;
                    self.flags = LINE_START | COLUMN_ZERO | SPACE_BEFORE;
                }
                b'/' if self.byte(1) == b'/' => self.line_comment(),
                b'/' if self.byte(1) == b'*' => self.block_comment(),
                b'0'..=b'9' => self.number(),
                b'.' if self.byte(1).is_ascii_digit() => self.number(),
                b'"' => self.quoted(start, b'"'),
                b'\'' => self.quoted(start, b'\''),
                b'\\' => match self.splice(self.at) {
                    0 => {
                        self.at += 1;
                        self.push(start, TokenKind::Error);
                    }
                    length => {
                        self.at += length;
                        self.flags = (self.flags | SPACE_BEFORE) & !COLUMN_ZERO;
                    }
                },
                0x80..=0xff => self.non_ascii(text, start),
                _ => {
                    let (kind, length) = punctuator(byte, self.byte(1), self.byte(2));
                    self.at += length;
                    self.push(start, kind);
                }
            }
        }
    }

    fn line_comment(&mut self) {
        let start = self.at;
        loop {
            match memchr::memchr2(b'\n', b'\r', &self.bytes[self.at..]) {
                None => {
                    self.at = self.bytes.len();
                    break;
                }
                Some(ahead) => {
                    let end = self.at + ahead;
                    if end > start && self.bytes[end - 1] == b'\\' {
                        self.at = end - 1 + self.splice(end - 1).max(1);
                        continue;
                    }
                    self.at = end;
                    break;
                }
            }
        }
        self.comments.push(Span::new(start as u32, self.at as u32));
        self.flags |= SPACE_BEFORE;
    }

    fn block_comment(&mut self) {
        let start = self.at;
        self.at += 2;
        loop {
            match memchr::memchr(b'*', &self.bytes[self.at..]) {
                None => {
                    self.at = self.bytes.len();
                    break;
                }
                Some(ahead) => {
                    self.at += ahead + 1;
                    if self.byte(0) == b'/' {
                        self.at += 1;
                        break;
                    }
                }
            }
        }
        self.comments.push(Span::new(start as u32, self.at as u32));
        self.flags = (self.flags | SPACE_BEFORE) & !COLUMN_ZERO;
    }

    /// Advances over identifier characters, line splices between them included.
    fn word_tail(&mut self, text: &str) {
        loop {
            while self.at < self.bytes.len() && is(self.bytes[self.at], IDENT) {
                self.at += 1;
            }
            let Some(&byte) = self.bytes.get(self.at) else {
                return;
            };
            if byte >= 0x80 {
                match text.get(self.at..).and_then(|rest| rest.chars().next()) {
                    Some(c) if c.is_alphanumeric() => self.at += c.len_utf8(),
                    _ => return,
                }
            } else if byte == b'\\' {
                let length = self.splice(self.at);
                if length == 0
                    || !self
                        .bytes
                        .get(self.at + length)
                        .is_some_and(|&b| is(b, IDENT))
                {
                    return;
                }
                self.at += length;
                self.flags |= SPLICED;
            } else {
                return;
            }
        }
    }

    fn word(&mut self, text: &str, start: usize) {
        self.at += 1;
        self.word_tail(text);
        let next = self.byte(0);
        if (next == b'"' || next == b'\'') && self.at - start <= 3 {
            match &self.bytes[start..self.at] {
                b"L" | b"u" | b"U" | b"u8" => return self.quoted(start, next),
                b"R" | b"LR" | b"uR" | b"UR" | b"u8R" if next == b'"' => {
                    return self.raw_string(start);
                }
                _ => {}
            }
        }
        self.push(start, TokenKind::Ident);
    }

    fn non_ascii(&mut self, text: &str, start: usize) {
        let Some(c) = text.get(start..).and_then(|rest| rest.chars().next()) else {
            self.at += 1;
            return self.push(start, TokenKind::Error);
        };
        self.at += c.len_utf8();
        if c.is_alphabetic() {
            self.word_tail(text);
            self.push(start, TokenKind::Ident);
        } else if c.is_whitespace() || c == '\u{feff}' {
            self.flags = (self.flags | SPACE_BEFORE) & !COLUMN_ZERO;
        } else {
            self.push(start, TokenKind::Error);
        }
    }

    /// A preprocessing number: wider than any literal, so that `1.0f.xxx` and `0x1p-3` are one token.
    fn number(&mut self) {
        let start = self.at;
        let hexadecimal = self.byte(0) == b'0' && matches!(self.byte(1), b'x' | b'X');
        self.at += 1;
        while let Some(&byte) = self.bytes.get(self.at) {
            let next = self.byte(1);
            match byte {
                b'e' | b'E' if !hexadecimal && matches!(next, b'+' | b'-') => self.at += 2,
                b'p' | b'P' if matches!(next, b'+' | b'-') => self.at += 2,
                b'.' if next == b'#' && matches!(self.byte(2), b'I' | b'Q') => self.at += 2,
                b'.' if next == b'.' && self.byte(2) == b'.' => break,
                b'\'' if is(next, IDENT) => self.at += 2,
                b'.' => self.at += 1,
                _ if is(byte, IDENT) => self.at += 1,
                _ => break,
            }
        }
        self.push(start, TokenKind::Number);
    }

    /// A string or character literal; `self.at` is on the quote. One that does not end on its line is an error token.
    fn quoted(&mut self, start: usize, quote: u8) {
        self.at += 1;
        let kind = if quote == b'"' {
            TokenKind::Str
        } else {
            TokenKind::Char
        };
        loop {
            match self.bytes.get(self.at) {
                None | Some(b'\n' | b'\r') => return self.push(start, TokenKind::Error),
                Some(b'\\') => {
                    let splice = self.splice(self.at);
                    if splice > 0 {
                        self.at += splice;
                        self.flags |= SPLICED;
                    } else {
                        self.at += 1;
                        if self.at < self.bytes.len()
                            && !matches!(self.bytes[self.at], b'\n' | b'\r')
                        {
                            self.at += 1;
                        }
                    }
                }
                Some(&byte) => {
                    self.at += 1;
                    if byte == quote {
                        break;
                    }
                }
            }
        }
        // A user-defined suffix; a macro that stands close to a string has no underscore in front.
        if self.byte(0) == b'_' {
            while self.at < self.bytes.len() && is(self.bytes[self.at], IDENT) {
                self.at += 1;
            }
        }
        self.push(start, kind);
    }

    fn raw_string(&mut self, start: usize) {
        let open = self.at + 1;
        let rest = &self.bytes[open..];
        let delimiter = rest.iter().take(17).position(|&b| b == b'(');
        let Some(length) =
            delimiter.filter(|&n| !rest[..n].iter().any(|b| b" \\)\n\r\t\"".contains(b)))
        else {
            return self.quoted(start, b'"');
        };
        let mut closing = vec![b')'];
        closing.extend_from_slice(&rest[..length]);
        closing.push(b'"');
        // What did not end further up does not end here; many kinds of unended ones are no code.
        if self.unended.len() >= MAX_UNENDED || self.unended.contains(&closing) {
            return self.quoted(start, b'"');
        }
        match memchr::memmem::find(&rest[length..], &closing) {
            Some(found) => {
                self.at = open + length + found + closing.len();
                self.push(start, TokenKind::Str);
            }
            None => {
                self.unended.push(closing);
                self.quoted(start, b'"');
            }
        }
    }
}

/// The punctuator that begins with these bytes, and its length.
fn punctuator(first: u8, second: u8, third: u8) -> (TokenKind, usize) {
    use TokenKind as T;
    match (first, second, third) {
        (b'(', ..) => (T::LParen, 1),
        (b')', ..) => (T::RParen, 1),
        (b'[', ..) => (T::LBracket, 1),
        (b']', ..) => (T::RBracket, 1),
        (b'{', ..) => (T::LBrace, 1),
        (b'}', ..) => (T::RBrace, 1),
        (b';', ..) => (T::Semicolon, 1),
        (b',', ..) => (T::Comma, 1),
        (b'?', ..) => (T::Question, 1),
        (b'~', ..) => (T::Tilde, 1),
        (b'<', b'<', b'=') => (T::ShlEqual, 3),
        (b'<', b'<', _) => (T::Shl, 2),
        (b'<', b'=', b'>') => (T::Spaceship, 3),
        (b'<', b'=', _) => (T::LessEqual, 2),
        (b'<', ..) => (T::Less, 1),
        (b'>', b'>', b'=') => (T::ShrEqual, 3),
        (b'>', b'>', _) => (T::Shr, 2),
        (b'>', b'=', _) => (T::GreaterEqual, 2),
        (b'>', ..) => (T::Greater, 1),
        (b'=', b'=', _) => (T::EqualEqual, 2),
        (b'=', ..) => (T::Equal, 1),
        (b'!', b'=', _) => (T::NotEqual, 2),
        (b'!', ..) => (T::Bang, 1),
        (b'+', b'+', _) => (T::PlusPlus, 2),
        (b'+', b'=', _) => (T::PlusEqual, 2),
        (b'+', ..) => (T::Plus, 1),
        (b'-', b'>', b'*') => (T::ArrowStar, 3),
        (b'-', b'>', _) => (T::Arrow, 2),
        (b'-', b'-', _) => (T::MinusMinus, 2),
        (b'-', b'=', _) => (T::MinusEqual, 2),
        (b'-', ..) => (T::Minus, 1),
        (b'*', b'=', _) => (T::StarEqual, 2),
        (b'*', ..) => (T::Star, 1),
        (b'/', b'=', _) => (T::SlashEqual, 2),
        (b'/', ..) => (T::Slash, 1),
        (b'%', b'=', _) => (T::PercentEqual, 2),
        (b'%', ..) => (T::Percent, 1),
        (b'&', b'&', _) => (T::AndAnd, 2),
        (b'&', b'=', _) => (T::AndEqual, 2),
        (b'&', ..) => (T::And, 1),
        (b'|', b'|', _) => (T::OrOr, 2),
        (b'|', b'=', _) => (T::OrEqual, 2),
        (b'|', ..) => (T::Or, 1),
        (b'^', b'=', _) => (T::XorEqual, 2),
        (b'^', ..) => (T::Xor, 1),
        (b':', b':', _) => (T::ColonColon, 2),
        (b':', ..) => (T::Colon, 1),
        (b'.', b'.', b'.') => (T::Ellipsis, 3),
        (b'.', b'*', _) => (T::DotStar, 2),
        (b'.', ..) => (T::Dot, 1),
        (b'#', b'#', _) => (T::HashHash, 2),
        (b'#', ..) => (T::Hash, 1),
        _ => (T::Error, 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use TokenKind as T;

    fn kinds(text: &str) -> Vec<(T, &str)> {
        lex_fragment(text)
            .into_iter()
            .map(|t| (t.kind, &text[t.start as usize..t.end as usize]))
            .collect()
    }

    #[test]
    fn numbers_of_every_form_are_one_token() {
        for text in [
            "0",
            "1.5f",
            ".5f",
            "1e-3",
            "0x1p-3",
            "0xFFu",
            "0b1011",
            "1'000'000",
            "10ull",
            "1.#INF",
            "1.h",
            "2_km",
            "1.0F16",
        ] {
            assert_eq!(kinds(text), [(T::Number, text)]);
        }
        assert_eq!(kinds("1+2").len(), 3);
        assert_eq!(kinds("0x1e+2").len(), 3);
        assert_eq!(
            kinds("1...2"),
            [(T::Number, "1"), (T::Ellipsis, "..."), (T::Number, "2")]
        );
    }

    #[test]
    fn literals_keep_prefix_and_suffix() {
        for text in [
            "\"a\\\"b\"",
            "L\"x\"",
            "u8\"x\"",
            "R\"(a\"b\nc)\"",
            "LR\"x(a)\" )x\"",
            "\"k\"_s",
        ] {
            assert_eq!(kinds(text), [(T::Str, text)]);
        }
        assert_eq!(kinds("'\\''"), [(T::Char, "'\\''")]);
        assert_eq!(kinds("\"%\"PRIu64").len(), 2);
        assert_eq!(kinds("'open\nx"), [(T::Error, "'open"), (T::Ident, "x")]);
    }

    #[test]
    fn comments_and_splices_are_space() {
        let file = lex("a/*\n*/b // c \\\n still\n  #if\nid\\\nent");
        assert_eq!(file.comments.len(), 2);
        assert_eq!(file.tokens.len(), 5);
        assert!(!file.tokens[1].has(LINE_START));
        assert!(file.tokens[2].has(LINE_START) && !file.tokens[2].has(COLUMN_ZERO));
        assert_eq!(file.directives, [2]);
        assert!(file.tokens[4].has(SPLICED));
        assert_eq!(file.text_of(file.tokens[4]), "id\\\nent");
    }

    #[test]
    fn unknown_bytes_become_error_tokens() {
        assert_eq!(
            kinds("a@\u{fffd}é\0")
                .iter()
                .map(|k| k.0)
                .collect::<Vec<_>>(),
            [T::Ident, T::Error, T::Error, T::Ident, T::Error]
        );
        assert_eq!(kinds("\u{feff}int"), [(T::Ident, "int")]);
    }

    #[test]
    fn a_file_is_read_up_to_a_limit_which_is_told() {
        let file = lex(&"a,".repeat(MAX_TOKENS));
        assert_eq!(file.tokens.len(), MAX_TOKENS);
        assert_eq!(file.cut, Some(MAX_TOKENS as u32));
        assert_eq!(lex(&"a,".repeat(MAX_TOKENS / 2)).cut, None);
    }

    #[test]
    fn raw_strings_that_do_not_end_cost_no_more_than_others() {
        let text = "R\"(".repeat(500_000);
        assert!(!lex(&text).tokens.is_empty());
    }

    #[test]
    fn include_guards_are_found() {
        assert_eq!(
            lex("// c\n#ifndef A_H\n#define A_H\nint x;\n#if 1\n#endif\n#endif // A_H\n")
                .guard
                .as_deref(),
            Some("A_H")
        );
        assert_eq!(lex("#ifndef A_H\n#define A_H\n#endif\nint x;").guard, None);
        assert_eq!(lex("#ifndef A_H\n#define B_H\n#endif").guard, None);
    }
}
