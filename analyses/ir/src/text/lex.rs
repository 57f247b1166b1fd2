//! Characters to tokens. Total: a character without a meaning is a token that no rule accepts.

use super::ParseError;

#[derive(Clone, PartialEq, Debug)]
pub(super) enum Kind<'t> {
    /// Letters, digits and underscores, words joined by dots.
    Word(&'t str),
    /// A number as written: decimal or hexadecimal integers, floats.
    Number(&'t str),
    Text(String),
    /// `..` is `.`, `->` is `>`; the others stand for themselves.
    Mark(char),
    End,
}

#[derive(Clone, PartialEq, Debug)]
pub(super) struct Token<'t> {
    pub(super) kind: Kind<'t>,
    pub(super) line: u32,
    pub(super) column: u32,
    /// True if nothing stands before it on its line.
    pub(super) first: bool,
}

pub(super) fn tokens(text: &str) -> Result<Vec<Token<'_>>, ParseError> {
    let mut result = Vec::new();
    let mut last = 1;
    for (number, line) in text.lines().enumerate() {
        let number = number as u32 + 1;
        last = number;
        let mut lexer = Line {
            rest: line,
            column: 1,
            number,
        };
        let mut first = true;
        while let Some((column, kind)) = lexer.next()? {
            result.push(Token {
                kind,
                line: number,
                column,
                first,
            });
            first = false;
        }
    }
    result.push(Token {
        kind: Kind::End,
        line: last + 1,
        column: 1,
        first: true,
    });
    Ok(result)
}

struct Line<'t> {
    rest: &'t str,
    column: u32,
    number: u32,
}

impl<'t> Line<'t> {
    /// The token and its column; `None` at the end of the line.
    fn next(&mut self) -> Result<Option<(u32, Kind<'t>)>, ParseError> {
        let trimmed = self.rest.trim_start();
        self.advance(self.rest.len() - trimmed.len());
        let column = self.column;
        let bytes = self.rest.as_bytes();
        let Some(&first) = bytes.first() else {
            return Ok(None);
        };
        if first == b';' || self.rest.starts_with("//") {
            return Ok(None);
        }
        let second = bytes.get(1).copied().unwrap_or(0);
        let kind = match first {
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => Kind::Word(self.take(word_length(bytes))),
            b'0'..=b'9' => Kind::Number(self.take(number_length(bytes))),
            b'-' if second.is_ascii_digit() => {
                let length = 1 + number_length(&bytes[1..]);
                Kind::Number(self.take(length))
            }
            b'-' if second == b'>' => {
                self.take(2);
                Kind::Mark('>')
            }
            b'.' if second == b'.' => {
                self.take(2);
                Kind::Mark('.')
            }
            b'"' => Kind::Text(self.string()?),
            _ => {
                let character = self.rest.chars().next().unwrap_or(' ');
                self.take(character.len_utf8());
                // A lone `.` or `>` must not read as the marks above.
                Kind::Mark(match character {
                    '.' | '>' => '\u{0}',
                    other => other,
                })
            }
        };
        Ok(Some((column, kind)))
    }

    fn advance(&mut self, bytes: usize) {
        let (taken, rest) = self.rest.split_at(bytes);
        self.column += taken.chars().count() as u32;
        self.rest = rest;
    }
    fn take(&mut self, bytes: usize) -> &'t str {
        let taken = &self.rest[..bytes];
        self.advance(bytes);
        taken
    }

    fn string(&mut self) -> Result<String, ParseError> {
        let start = self.column;
        let error = |column: u32, message: &str| ParseError {
            line: self.number,
            column,
            message: message.into(),
        };
        let mut result = String::new();
        let mut characters = self.rest.char_indices().skip(1);
        let mut escaped = None;
        while let Some((at, character)) = characters.next() {
            match character {
                '"' => {
                    escaped = Some(at + 1);
                    break;
                }
                '\\' => match characters.next().map(|(_, c)| c) {
                    Some('n') => result.push('\n'),
                    Some('t') => result.push('\t'),
                    Some('u') => {
                        let digits: String = characters
                            .by_ref()
                            .map(|(_, c)| c)
                            .skip_while(|&c| c == '{')
                            .take_while(|&c| c != '}')
                            .take(8)
                            .collect();
                        let code = u32::from_str_radix(&digits, 16).ok();
                        match code.and_then(char::from_u32) {
                            Some(c) => result.push(c),
                            None => return Err(error(start, "no such character")),
                        }
                    }
                    Some(c @ ('"' | '\\')) => result.push(c),
                    _ => return Err(error(start, "unknown escape")),
                },
                c => result.push(c),
            }
        }
        match escaped {
            Some(length) => {
                self.take(length);
                Ok(result)
            }
            None => Err(error(start, "the text does not end")),
        }
    }
}

fn word_length(bytes: &[u8]) -> usize {
    let is_word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    let mut length = 0;
    while let Some(&byte) = bytes.get(length) {
        let joins = byte == b'.' && bytes.get(length + 1).is_some_and(|&b| is_word(b));
        if !is_word(byte) && !joins {
            break;
        }
        length += 1;
    }
    length
}

fn number_length(bytes: &[u8]) -> usize {
    let digits = |from: usize, accept: fn(&u8) -> bool| {
        bytes[from..].iter().take_while(|&b| accept(b)).count()
    };
    if bytes.len() > 2 && bytes[0] == b'0' && bytes[1] == b'x' {
        return 2 + digits(2, u8::is_ascii_hexdigit);
    }
    let mut length = digits(0, u8::is_ascii_digit);
    if bytes.get(length) == Some(&b'.') && bytes.get(length + 1).is_some_and(u8::is_ascii_digit) {
        length += 1 + digits(length + 1, u8::is_ascii_digit);
    }
    if matches!(bytes.get(length), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(length + 1), Some(b'-' | b'+')));
        let exponent = digits((length + 1 + sign).min(bytes.len()), u8::is_ascii_digit);
        if exponent > 0 {
            length += 1 + sign + exponent;
        }
    }
    length
}
