//! Characters of PTX: a cursor that skips comments and reads names, numbers and strings.

use super::{Name, Operand};
use crate::error::Problem;
use crate::source::Span;
use smol_str::SmolStr;

pub(super) struct Cursor<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
    pub(super) problems: Vec<Problem>,
    /// True between `// begin inline asm` and `// end inline asm`.
    pub(super) inline_assembly: bool,
}

pub(super) const fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

pub(super) const fn starts_name(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'$' | b'%') || byte >= 0x80
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Cursor {
            text,
            at: 0,
            problems: Vec::new(),
            inline_assembly: false,
        }
    }
    fn bytes(&self) -> &'a [u8] {
        self.text.as_bytes()
    }
    /// The byte under the cursor; 0 at the end.
    pub(super) fn byte(&self) -> u8 {
        self.byte_at(0)
    }
    pub(super) fn byte_at(&self, ahead: usize) -> u8 {
        self.bytes().get(self.at + ahead).copied().unwrap_or(0)
    }
    pub(super) fn at_end(&self) -> bool {
        self.at >= self.text.len()
    }
    pub(super) fn span_from(&self, start: usize) -> Span {
        Span::new(start as u32, self.at as u32)
    }
    pub(super) fn slice(&self, start: usize, end: usize) -> &'a str {
        self.text.get(start..end).unwrap_or("")
    }
    pub(super) fn problem(&mut self, span: Span, message: impl Into<String>) {
        self.problems.push(Problem::syntax(span, message));
    }
    /// A problem at the cursor.
    pub(super) fn problem_here(&mut self, message: impl Into<String>) {
        let width = self.text[self.at..]
            .chars()
            .next()
            .map_or(0, char::len_utf8);
        let span = Span::new(self.at as u32, (self.at + width) as u32);
        self.problem(span, message);
    }

    /// Skips blanks, line ends, comments and DWARF remnants (`@@`).
    pub(super) fn trivia(&mut self) {
        self.skip(true);
    }
    /// Skips blanks and comments up to the line's end.
    pub(super) fn blanks(&mut self) {
        self.skip(false);
    }
    fn skip(&mut self, lines: bool) {
        loop {
            match self.byte() {
                b'\n' | b'\r' if !lines => return,
                b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => self.at += 1,
                b'/' if self.byte_at(1) == b'/' => {
                    let rest = &self.bytes()[self.at..];
                    let length = memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
                    let comment = self.slice(self.at, self.at + length);
                    if comment.len() < 40 {
                        if comment.contains("begin inline asm") {
                            self.inline_assembly = true;
                        } else if comment.contains("end inline asm") {
                            self.inline_assembly = false;
                        }
                    }
                    self.at += length;
                }
                b'/' if self.byte_at(1) == b'*' => {
                    let rest = &self.bytes()[self.at + 2..];
                    match memchr::memmem::find(rest, b"*/") {
                        Some(length) => self.at += length + 4,
                        None => {
                            let start = self.at;
                            self.at = self.text.len();
                            self.problem(
                                Span::new(start as u32, start as u32 + 2),
                                "the comment is not closed",
                            );
                        }
                    }
                }
                0xef if self.text[self.at..].starts_with('\u{feff}') => self.at += 3,
                _ => return,
            }
        }
    }
    pub(super) fn eat(&mut self, byte: u8) -> bool {
        self.trivia();
        let found = self.byte() == byte && !self.at_end();
        self.at += found as usize;
        found
    }
    pub(super) fn expect(&mut self, byte: u8) -> Option<()> {
        if self.eat(byte) {
            return Some(());
        }
        self.problem_here(format!("expected `{}`", byte as char));
        None
    }
    /// Skips to the next `;` (taken) or line end (left), so that one bad statement costs one statement.
    pub(super) fn resynchronise(&mut self) {
        let rest = &self.bytes()[self.at..];
        match memchr::memchr3(b';', b'\n', b'}', rest) {
            Some(length) => {
                self.at += length;
                if self.byte() == b';' {
                    self.at += 1;
                }
            }
            None => self.at = self.text.len(),
        }
    }
    /// A name at the cursor (after trivia), with `%` and `$`.
    pub(super) fn name(&mut self) -> Option<Name> {
        self.trivia();
        let start = self.at;
        if !starts_name(self.byte()) {
            return None;
        }
        self.at += 1;
        while is_name_byte(self.byte()) {
            self.at += 1;
        }
        Some(Name {
            text: SmolStr::new(self.slice(start, self.at)),
            span: self.span_from(start),
        })
    }
    /// The word after a dot at the cursor: `.v4`, `.shared::cta`, `.2d`. The cursor stays when there is none.
    pub(super) fn dotted(&mut self) -> Option<Name> {
        if self.byte() != b'.' {
            return None;
        }
        let start = self.at + 1;
        let mut end = start;
        let bytes = self.bytes();
        loop {
            match bytes.get(end) {
                Some(&byte) if byte.is_ascii_alphanumeric() || byte == b'_' => end += 1,
                Some(b':')
                    if bytes.get(end + 1) == Some(&b':')
                        && bytes.get(end + 2).is_some_and(u8::is_ascii_alphanumeric) =>
                {
                    end += 2;
                }
                _ => break,
            }
        }
        if end == start {
            return None;
        }
        self.at = end;
        Some(Name {
            text: SmolStr::new(self.slice(start, end)),
            span: Span::new(start as u32, end as u32),
        })
    }
    /// Looks at the word after a dot without taking it.
    pub(super) fn peek_dotted(&mut self) -> Option<SmolStr> {
        self.trivia();
        let at = self.at;
        let word = self.dotted().map(|name| name.text);
        self.at = at;
        word
    }
    /// `"..."`, without the quotes.
    pub(super) fn string(&mut self) -> Option<SmolStr> {
        self.trivia();
        if self.byte() != b'"' {
            return None;
        }
        let start = self.at + 1;
        let mut end = start;
        while let Some(&byte) = self.bytes().get(end) {
            match byte {
                b'"' => {
                    self.at = end + 1;
                    return Some(SmolStr::new(self.slice(start, end)));
                }
                b'\n' => break,
                b'\\' => end += 2,
                _ => end += 1,
            }
        }
        let span = Span::new(self.at as u32, self.at as u32 + 1);
        self.problem(span, "the string is not closed");
        self.at = end.min(self.text.len());
        while !self.text.is_char_boundary(self.at) {
            self.at += 1;
        }
        None
    }
    /// An unsigned number that fits in 32 bits.
    pub(super) fn unsigned(&mut self) -> Option<u32> {
        self.trivia();
        if !self.byte().is_ascii_digit() {
            return None;
        }
        match self.number(false)? {
            Operand::Integer(value, span) => match u32::try_from(value) {
                Ok(value) => Some(value),
                Err(_) => {
                    self.problem(span, "the number does not fit in 32 bits");
                    None
                }
            },
            _ => None,
        }
    }
    /// A literal at the cursor, which stands on a digit: decimal, `0x`, `0b`, octal, `0f`, `0d`, or with a point.
    pub(super) fn number(&mut self, negative: bool) -> Option<Operand> {
        let start = self.at;
        let mut end = start;
        let bytes = self.bytes();
        while bytes.get(end).is_some_and(|&b| is_name_byte(b)) {
            end += 1;
        }
        let word = self.slice(start, end);
        let prefix = word.as_bytes().get(1).map(u8::to_ascii_lowercase);
        let zero = word.starts_with('0');
        if zero && prefix == Some(b'f') && word.len() == 10 {
            self.at = end;
            let span = self.span_from(start);
            return match u32::from_str_radix(&word[2..], 16) {
                Ok(bits) => Some(Operand::Float32(bits ^ (negative as u32) << 31, span)),
                Err(_) => self.bad_number(span),
            };
        }
        if zero && prefix == Some(b'd') && word.len() == 18 {
            self.at = end;
            let span = self.span_from(start);
            return match u64::from_str_radix(&word[2..], 16) {
                Ok(bits) => Some(Operand::Float64(bits ^ (negative as u64) << 63, span)),
                Err(_) => self.bad_number(span),
            };
        }
        let hexadecimal = zero && prefix == Some(b'x');
        let point = bytes.get(end) == Some(&b'.')
            && bytes.get(end + 1).is_none_or(|b| !b.is_ascii_alphabetic());
        let exponent = !(hexadecimal || zero && prefix == Some(b'b'))
            && word.bytes().any(|b| matches!(b, b'e' | b'E'));
        if point || exponent {
            return self.decimal_float(start, negative);
        }
        self.at = end;
        let span = self.span_from(start);
        let digits = word.trim_end_matches(['u', 'U']);
        let (digits, radix) = match prefix {
            Some(b'x') if zero => (&digits[2.min(digits.len())..], 16),
            Some(b'b') if zero => (&digits[2.min(digits.len())..], 2),
            Some(_) if zero && digits.len() > 1 => (&digits[1..], 8),
            _ => (digits, 10),
        };
        match u64::from_str_radix(digits, radix) {
            Ok(value) => {
                let value = value as i64;
                let value = if negative {
                    value.wrapping_neg()
                } else {
                    value
                };
                Some(Operand::Integer(value, span))
            }
            Err(_) => self.bad_number(span),
        }
    }
    fn decimal_float(&mut self, start: usize, negative: bool) -> Option<Operand> {
        let bytes = self.bytes();
        let mut end = start;
        while let Some(&byte) = bytes.get(end) {
            let sign = matches!(byte, b'+' | b'-') && matches!(bytes[end - 1], b'e' | b'E');
            if byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E') || sign && end > start {
                end += 1;
            } else {
                break;
            }
        }
        self.at = end;
        let span = self.span_from(start);
        match self.slice(start, end).parse::<f64>() {
            Ok(value) => {
                let value = if negative { -value } else { value };
                Some(Operand::Float64(value.to_bits(), span))
            }
            Err(_) => self.bad_number(span),
        }
    }
    fn bad_number(&mut self, span: Span) -> Option<Operand> {
        self.problem(span, "not a number of PTX");
        None
    }
}
