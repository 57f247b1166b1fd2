//! Literals and their values.

use super::Parser;
use crate::c_family::ast::{self, Expr, ExprKind, FloatLiteral, Ident, IntLiteral};
use crate::c_family::dialect::Dialect;
use crate::c_family::token::TokenKind as T;
use crate::source::Span;
use smol_str::SmolStr;

impl Parser<'_> {
    pub(super) fn number(&mut self) -> Expr {
        let start = self.mark();
        let text = self.text();
        let span = self.span_here();
        self.bump();
        if let Some(kind) = literal(text, self.dialect) {
            return Expr { kind, span };
        }
        if self.dialect == Dialect::Hlsl
            && let Some(value) = self.swizzled(text, span)
        {
            return value;
        }
        self.at = start;
        self.expected("a number");
        self.bump();
        self.unknown_expression(start)
    }

    /// `1.0f.xxx`, `0.xx.x`: a number and swizzles that the lexer could not tell from it.
    fn swizzled(&self, text: &str, span: Span) -> Option<Expr> {
        // A number that a macro produced stands at the macro's use: its parts have no place of their own.
        let written = span.len() as usize == text.len();
        let part = |from: usize, to: usize| match written {
            true => Span::new(span.start + from as u32, span.start + to as u32),
            false => span,
        };
        let dots = text.match_indices('.').map(|(at, _)| at).rev();
        let (first, kind) = dots
            .take(8)
            .find_map(|dot| Some((dot, literal(&text[..dot], self.dialect)?)))?;
        let mut value = Expr {
            kind,
            span: part(0, first),
        };
        let mut at = first + 1;
        for swizzle in text[first + 1..].split('.').take(8) {
            let letters = swizzle.bytes().all(|b| b"xyzwrgba".contains(&b));
            if swizzle.is_empty() || !letters {
                return None;
            }
            let end = at + swizzle.len();
            let ident = Ident {
                name: SmolStr::new(swizzle),
                span: part(at, end),
            };
            let member = super::declarators::name_of(ident);
            let kind = ExprKind::Member {
                base: Box::new(value),
                member,
                arrow: false,
            };
            value = Expr {
                kind,
                span: part(0, end),
            };
            at = end + 1;
        }
        (at > text.len()).then_some(value)
    }

    /// Adjacent strings are one.
    pub(super) fn string(&mut self) -> Expr {
        let start = self.mark();
        let mut value = String::new();
        let mut wide = false;
        loop {
            match self.peek() {
                T::Str => {
                    let prefix = self.text().split('"').next().unwrap_or("");
                    wide |= matches!(prefix, "L" | "u" | "U");
                    unescape_into(self.text(), &mut value);
                    self.bump();
                }
                // `"%" PRIu64 "\n"` with the macro's include missing.
                T::Ident
                    if self.at > start
                        && self.text().bytes().all(|b| {
                            b.is_ascii_uppercase()
                                || b.is_ascii_digit()
                                || b == b'_'
                                || b.is_ascii_lowercase()
                        })
                        && super::specifiers::shouting(self.text().trim_end_matches(
                            |c: char| c.is_ascii_lowercase() || c.is_ascii_digit(),
                        )) =>
                {
                    self.bump();
                }
                _ => break,
            }
        }
        Expr {
            kind: match wide {
                // Not characters but numbers, which nothing computes with.
                true => ExprKind::Unknown,
                false => ExprKind::String(SmolStr::new(value)),
            },
            span: self.span_from(start),
        }
    }

    pub(super) fn character(&mut self) -> Expr {
        let start = self.mark();
        let mut value = String::new();
        let text = self.text();
        unescape_into(text, &mut value);
        self.bump();
        // Several characters make a number in the usual way.
        let number = match text.starts_with(['L', 'u', 'U']) {
            true => value.chars().next().map_or(0, |c| match u32::from(c) {
                number @ ast::NUMBERED.. => number - ast::NUMBERED,
                number => number,
            }),
            // One character is a `char`, extended.
            false if !self.dialect.has_templates() && value.chars().count() == 1 => value
                .chars()
                .next()
                .map_or(0, |c| u32::from(c) as u8 as i8 as i32 as u32),
            false => value
                .chars()
                .fold(0u32, |number, c| number << 8 | u32::from(c) & 0xff),
        };
        Expr {
            kind: ExprKind::Char(number),
            span: self.span_from(start),
        }
    }
}

/// The value of a number's spelling; user-defined suffixes are dropped. `None` when it is no number.
pub(super) fn literal(text: &str, dialect: Dialect) -> Option<ExprKind> {
    let cleaned: String;
    let text = if text.contains('\'') {
        cleaned = text.chars().filter(|&c| c != '\'').collect();
        &cleaned
    } else {
        text
    };
    let text = match text.find('_') {
        Some(at) if at > 0 => &text[..at],
        _ => text,
    };
    let bytes = text.as_bytes();
    let prefix =
        |letters: [u8; 2]| bytes.len() > 2 && bytes[0] == b'0' && letters.contains(&bytes[1]);
    if prefix([b'x', b'X']) {
        if text.contains(['.', 'p', 'P']) {
            return hexadecimal_float(&text[2..]);
        }
        return integer(&text[2..], 16, true);
    }
    if prefix([b'b', b'B']) {
        return integer(&text[2..], 2, true);
    }
    let float = text.contains('.')
        || text
            .find(['e', 'E'])
            .is_some_and(|at| at > 0 && !text[..at].ends_with('#'));
    if !float {
        // `1f` and `1h` are taken as HLSL takes them.
        if let Some(digits) = text.strip_suffix(['f', 'F', 'h', 'H'])
            && digits.bytes().all(|b| b.is_ascii_digit())
            && !digits.is_empty()
        {
            return decimal_float(digits, &text[digits.len()..], dialect);
        }
        let octal = bytes.len() > 1 && bytes[0] == b'0' && bytes[1].is_ascii_digit();
        return match octal {
            true => integer(&text[1..], 8, true),
            false => integer(text, 10, false),
        };
    }
    if let Some(at) = text.find('#') {
        let value = if text[at..].starts_with("#INF") {
            f64::INFINITY
        } else {
            f64::NAN
        };
        return Some(ExprKind::Float(FloatLiteral {
            value,
            suffix: None,
        }));
    }
    // The exponent's digits end where the suffix begins.
    let end = text
        .char_indices()
        .find(|&(at, c)| {
            !(c.is_ascii_digit()
                || c == '.'
                || matches!(c, 'e' | 'E')
                || matches!(c, '+' | '-') && at > 0)
        })
        .map_or(text.len(), |(at, _)| at);
    decimal_float(&text[..end], &text[end..], dialect)
}

fn decimal_float(digits: &str, suffix: &str, dialect: Dialect) -> Option<ExprKind> {
    let value = digits.parse::<f64>().ok()?;
    Some(ExprKind::Float(FloatLiteral {
        value,
        suffix: float_suffix(suffix, dialect)?,
    }))
}

/// `None` when the suffix is none.
fn float_suffix(suffix: &str, dialect: Dialect) -> Option<Option<char>> {
    Some(match suffix {
        "" => None,
        "f" | "F" | "f32" | "F32" => Some('f'),
        "h" | "H" | "f16" | "F16" | "bf16" | "BF16" => Some('h'),
        "l" | "L" | "lf" | "LF" => Some(if dialect == Dialect::Hlsl { 'd' } else { 'l' }),
        "d" | "D" | "f64" | "F64" => Some('d'),
        "q" | "Q" | "f128" | "F128" => Some('l'),
        // The literals of std::chrono and complex numbers: `1.5s`, `2.0i`.
        "s" | "ms" | "us" | "ns" | "i" | "if" | "min" => None,
        _ => return None,
    })
}

fn integer(text: &str, radix: u32, based: bool) -> Option<ExprKind> {
    let end = text
        .find(|c: char| !c.is_digit(radix))
        .unwrap_or(text.len());
    let (digits, suffix) = text.split_at(end);
    let (mut unsigned, mut longs) = (false, 0u8);
    let lower = suffix.to_ascii_lowercase();
    match lower.as_str() {
        "" => {}
        "u" => unsigned = true,
        "l" => longs = 1,
        "ul" | "lu" => (unsigned, longs) = (true, 1),
        "ll" | "i64" => longs = 2,
        "ull" | "llu" | "ui64" => (unsigned, longs) = (true, 2),
        "z" | "uz" | "zu" => (unsigned, longs) = (true, 1),
        // `10ms`, `2s` of std::chrono.
        "s" | "ms" | "us" | "ns" | "min" => {}
        _ => return None,
    }
    let value = match digits {
        // `0` alone, whose leading zero made it octal.
        "" if radix == 8 => 0,
        "" => return None,
        digits => digits.bytes().try_fold(0u64, |value, digit| {
            let digit = (digit as char).to_digit(radix)?;
            Some(
                value
                    .wrapping_mul(u64::from(radix))
                    .wrapping_add(u64::from(digit)),
            )
        })?,
    };
    Some(ExprKind::Int(IntLiteral {
        value,
        unsigned,
        longs,
        based,
    }))
}

/// Digits behind `0x`, with a point or an exponent of two.
fn hexadecimal_float(text: &str) -> Option<ExprKind> {
    let (mantissa, exponent) = text.split_once(['p', 'P']).unwrap_or((text, "0"));
    let end = exponent
        .find(|c: char| !(c.is_ascii_digit() || matches!(c, '+' | '-')))
        .unwrap_or(exponent.len());
    let (exponent, suffix) = exponent.split_at(end);
    let power: i32 = exponent.parse().ok()?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let mut value = 0f64;
    for digit in whole.chars() {
        value = value * 16.0 + f64::from(digit.to_digit(16)?);
    }
    let mut scale = 1.0 / 16.0;
    for digit in fraction.chars() {
        value += f64::from(digit.to_digit(16)?) * scale;
        scale /= 16.0;
    }
    let value = value * 2f64.powi(power);
    Some(ExprKind::Float(FloatLiteral {
        value,
        suffix: float_suffix(suffix, Dialect::Cuda)?,
    }))
}

/// Returns one unit of a string that is written by its number and is no character of ASCII, in a plane that
/// no text uses.
fn numbered(number: u32) -> char {
    let number = match number {
        0..0x80 => number,
        _ => ast::NUMBERED + (number & 0xffff),
    };
    char::from_u32(number).unwrap_or('\u{fffd}')
}

/// The contents of a string or character literal, prefix and quotes removed.
pub(super) fn unescape_into(text: &str, out: &mut String) {
    let Some(open) = text.find(['"', '\'']) else {
        return;
    };
    let quote = text.as_bytes()[open] as char;
    let raw = text[..open].ends_with('R');
    let close = text
        .rfind(quote)
        .filter(|&close| close > open)
        .unwrap_or(text.len());
    let inner = &text[open + 1..close];
    if raw {
        let delimiter = inner.find('(').unwrap_or(0);
        let body = inner
            .get(delimiter + 1..inner.len().saturating_sub(delimiter + 1))
            .unwrap_or("");
        out.push_str(body);
        return;
    }
    let mut rest = inner.chars().peekable();
    while let Some(c) = rest.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        let Some(escaped) = rest.next() else { return };
        match escaped {
            'n' => out.push('\n'),
            't' => out.push('\t'),
            'r' => out.push('\r'),
            'a' => out.push('\u{7}'),
            'b' => out.push('\u{8}'),
            'f' => out.push('\u{c}'),
            'v' => out.push('\u{b}'),
            'x' | 'u' | 'U' => {
                let most = match escaped {
                    'x' => usize::MAX,
                    'u' => 4,
                    _ => 8,
                };
                let mut number = 0u32;
                for _ in 0..most {
                    let Some(digit) = rest.peek().and_then(|c| c.to_digit(16)) else {
                        break;
                    };
                    rest.next();
                    number = number.wrapping_mul(16).wrapping_add(digit);
                }
                out.push(match escaped {
                    'x' => numbered(number),
                    _ => char::from_u32(number).unwrap_or('\u{fffd}'),
                });
            }
            '0'..='7' => {
                let mut number = escaped.to_digit(8).unwrap_or(0);
                for _ in 0..2 {
                    let Some(digit) = rest.peek().and_then(|c| c.to_digit(8)) else {
                        break;
                    };
                    rest.next();
                    number = number * 8 + digit;
                }
                out.push(numbered(number));
            }
            other => out.push(other),
        }
    }
}
