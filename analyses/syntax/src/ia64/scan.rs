//! Characters of IA-64 assembly: words of a line, comments put aside.

use crate::error::Problem;
use crate::source::Span;

/// A word. Names, numbers and strings are slices of the text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Token<'a> {
    /// Letters, digits, `_`, `.`, `$`, `@`, `?`, and characters that are no ASCII; begins with no digit.
    Name(&'a str),
    /// A number as written: `0x1f`, `12`, `1b` (a local label).
    Number(&'a str),
    /// A string without its quotes.
    Text(&'a str),
    /// `;;`
    Stop,
    /// One character, or two of an operator: `<<`, `>>`, `==`, `!=`, `<>`, `<=`, `>=`, `&&`, `||`.
    Mark(&'a str),
    /// A line's end or a single `;`.
    End,
    /// A line of the preprocessor, whole.
    Hash,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Word<'a> {
    pub(super) token: Token<'a>,
    pub(super) span: Span,
}

pub(super) struct Scanned<'a> {
    pub(super) words: Vec<Word<'a>>,
    pub(super) comments: Vec<Span>,
    pub(super) problems: Vec<Problem>,
}

const fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'_' | b'.' | b'$' | b'@' | b'?' | b'\\')
        || byte >= 0x80
}

pub(super) fn scan(text: &str) -> Scanned<'_> {
    let bytes = text.as_bytes();
    let mut out = Scanned {
        words: Vec::new(),
        comments: Vec::new(),
        problems: Vec::new(),
    };
    let span = |from: usize, to: usize| Span::new(from as u32, to as u32);
    let mut at = if text.starts_with('\u{feff}') { 3 } else { 0 };
    // Nothing but blanks stands in front on this line.
    let mut fresh = true;
    while at < bytes.len() {
        let start = at;
        let line_end = |from: usize| {
            memchr::memchr2(b'\n', b'\r', &bytes[from..])
                .map_or(bytes.len(), |length| from + length)
        };
        let next = bytes.get(at + 1).copied().unwrap_or(0);
        match bytes[at] {
            b'\n' | b'\r' => {
                at += 1 + usize::from(bytes[at] == b'\r' && next == b'\n');
                out.words.push(Word {
                    token: Token::End,
                    span: span(start, at),
                });
                fresh = true;
                continue;
            }
            b' ' | b'\t' | 0x0b | 0x0c | 0 => {
                at += 1;
                continue;
            }
            b'/' if next == b'/' => {
                at = line_end(at);
                out.comments.push(span(start, at));
                continue;
            }
            b'/' if next == b'*' => {
                match memchr::memmem::find(&bytes[at + 2..], b"*/") {
                    Some(length) => at += length + 4,
                    None => {
                        at = bytes.len();
                        out.problems.push(Problem::syntax(
                            span(start, start + 2),
                            "the comment is not closed",
                        ));
                    }
                }
                out.comments.push(span(start, at));
                continue;
            }
            b'#' if fresh => {
                // A line goes on behind a backslash.
                loop {
                    at = line_end(at);
                    let before = text[..at].trim_end_matches([' ', '\t']);
                    if at >= bytes.len() || !before.ends_with('\\') {
                        break;
                    }
                    at += 1 + usize::from(bytes[at] == b'\r' && bytes.get(at + 1) == Some(&b'\n'));
                }
                out.words.push(Word {
                    token: Token::Hash,
                    span: span(start, at),
                });
                continue;
            }
            b';' => {
                let stop = next == b';';
                at += 1 + usize::from(stop);
                let token = if stop { Token::Stop } else { Token::End };
                out.words.push(Word {
                    token,
                    span: span(start, at),
                });
            }
            b'"' => {
                at += 1;
                while at < bytes.len() && !matches!(bytes[at], b'"' | b'\n') {
                    at += 1 + usize::from(
                        bytes[at] == b'\\' && bytes.get(at + 1).is_some_and(|&byte| byte != b'\n'),
                    );
                }
                at = at.min(bytes.len());
                while !text.is_char_boundary(at) {
                    at += 1;
                }
                let inside = text.get(start + 1..at).unwrap_or("");
                if bytes.get(at) == Some(&b'"') {
                    at += 1;
                } else {
                    out.problems.push(Problem::syntax(
                        span(start, start + 1),
                        "the string is not closed",
                    ));
                }
                out.words.push(Word {
                    token: Token::Text(inside),
                    span: span(start, at),
                });
            }
            b'\'' => {
                // A character stands for its number.
                let mut end = at + 1 + usize::from(next == b'\\');
                end += text[end.min(bytes.len())..]
                    .chars()
                    .next()
                    .map_or(0, char::len_utf8);
                end += usize::from(bytes.get(end) == Some(&b'\''));
                at = end.min(bytes.len());
                out.words.push(Word {
                    token: Token::Number(&text[start..at]),
                    span: span(start, at),
                });
            }
            byte if byte.is_ascii_digit() => {
                while at < bytes.len() && (bytes[at].is_ascii_alphanumeric() || bytes[at] == b'_') {
                    at += 1;
                }
                // A real number stands in directives only.
                if bytes.get(at) == Some(&b'.') && bytes.get(at + 1).is_some_and(u8::is_ascii_digit)
                {
                    at += 1;
                    while at < bytes.len() && bytes[at].is_ascii_alphanumeric() {
                        at += 1;
                    }
                }
                out.words.push(Word {
                    token: Token::Number(&text[start..at]),
                    span: span(start, at),
                });
            }
            byte if is_name(byte) => {
                while at < bytes.len() && is_name(bytes[at]) {
                    at += 1;
                }
                out.words.push(Word {
                    token: Token::Name(&text[start..at]),
                    span: span(start, at),
                });
            }
            byte => {
                let double = matches!(
                    (byte, next),
                    (b'<', b'<' | b'>' | b'=')
                        | (b'>', b'>' | b'=')
                        | (b'=' | b'!', b'=')
                        | (b'&', b'&')
                        | (b'|', b'|')
                );
                at += 1 + usize::from(double);
                out.words.push(Word {
                    token: Token::Mark(&text[start..at]),
                    span: span(start, at),
                });
            }
        }
        fresh = false;
    }
    out.words.push(Word {
        token: Token::End,
        span: Span::at(bytes.len() as u32),
    });
    out
}
