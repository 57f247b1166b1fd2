//! The expression of `#if`: `defined`, `__has_include` and their like are answered, macros expanded,
//! remaining names count as 0, and the result is evaluated in 64 bits. Unary operators and parentheses nest
//! 256 deep at most.

use super::directives::spec_of_tokens;
use super::expand::{PpToken, Preprocessor, token_of};
use super::{ProblemKind, Span, problem};
use crate::c_family::lexer::LexedFile;
use crate::c_family::token::{RawToken, TokenKind};
use smol_str::SmolStr;

const DEPTH: u32 = 256;

impl Preprocessor<'_> {
    /// The truth of a condition; a malformed one is false, with a problem.
    pub(super) fn condition(&mut self, lexed: &LexedFile, line: &[RawToken], span: Span) -> bool {
        let Some((instance, file)) = self
            .cursors
            .last()
            .map(|cursor| (cursor.instance, cursor.file))
        else {
            return false;
        };
        let mut tokens = Vec::with_capacity(line.len());
        let mut at = 0;
        while let Some(&raw) = line.get(at) {
            at += 1;
            let token = token_of(lexed, raw, instance);
            if raw.kind != TokenKind::Ident {
                tokens.push(token);
                continue;
            }
            match token.text.as_str() {
                "defined" => {
                    let parenthesis = line
                        .get(at)
                        .is_some_and(|next| next.kind == TokenKind::LParen);
                    at += usize::from(parenthesis);
                    let value = line
                        .get(at)
                        .is_some_and(|&name| self.note_word(lexed, name));
                    at += 1 + usize::from(parenthesis);
                    tokens.push(number(token, value));
                }
                "__has_include" | "__has_include_next" => {
                    let close = closing(line, at);
                    let inner: Vec<PpToken> = line
                        .get(at + 1..close)
                        .unwrap_or_default()
                        .iter()
                        .map(|&raw| token_of(lexed, raw, instance))
                        .collect();
                    let inner = if inner.first().is_some_and(|t| t.kind == TokenKind::Ident) {
                        self.expand_list(inner)
                    } else {
                        inner
                    };
                    let from = self
                        .files
                        .get(file.0 as usize)
                        .map(|from| std::sync::Arc::clone(&from.path))
                        .unwrap_or_default();
                    let value = spec_of_tokens(&inner)
                        .is_some_and(|(spec, angled)| self.resolver.exists(&from, &spec, angled));
                    at = close + 1;
                    tokens.push(number(token, value));
                }
                "__has_attribute"
                | "__has_cpp_attribute"
                | "__has_builtin"
                | "__has_feature"
                | "__has_extension"
                | "__has_c_attribute"
                | "__has_declspec_attribute"
                | "__has_warning"
                    if line
                        .get(at)
                        .is_some_and(|next| next.kind == TokenKind::LParen) =>
                {
                    at = closing(line, at) + 1;
                    tokens.push(number(token, false));
                }
                _ => tokens.push(token),
            }
        }
        self.template_names.off = true;
        let tokens = self.expand_list(tokens);
        self.template_names.off = false;
        // `defined` that a macro produced.
        let tokens = self.late_defined(tokens);
        let mut evaluator = Evaluator {
            tokens: &tokens,
            at: 0,
            depth: 0,
        };
        let value = evaluator.conditional();
        match value {
            Some(value) if evaluator.at == tokens.len() => value.bits != 0,
            _ => {
                self.problems.push(problem(
                    ProblemKind::Unsupported,
                    file,
                    span,
                    "this condition could not be evaluated and counts as false",
                ));
                false
            }
        }
    }

    fn late_defined(&mut self, tokens: Vec<PpToken>) -> Vec<PpToken> {
        if !tokens.iter().any(|token| token.text == "defined") {
            return tokens;
        }
        let mut result = Vec::with_capacity(tokens.len());
        let mut rest = tokens.into_iter().peekable();
        while let Some(token) = rest.next() {
            if token.text != "defined" {
                result.push(token);
                continue;
            }
            let parenthesis = rest
                .next_if(|next| next.kind == TokenKind::LParen)
                .is_some();
            let value = rest
                .next()
                .is_some_and(|name| self.macros.contains_key(&name.text));
            if parenthesis {
                rest.next_if(|next| next.kind == TokenKind::RParen);
            }
            result.push(number(token, value));
        }
        result
    }
}

fn number(token: PpToken, value: bool) -> PpToken {
    PpToken {
        text: SmolStr::new_static(if value { "1" } else { "0" }),
        kind: TokenKind::Number,
        ..token
    }
}

/// The index of the parenthesis that closes the one at `open`.
fn closing(line: &[RawToken], open: usize) -> usize {
    let mut depth = 0usize;
    for (index, raw) in line.iter().enumerate().skip(open) {
        match raw.kind {
            TokenKind::LParen => depth += 1,
            TokenKind::RParen => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return index;
        }
    }
    line.len()
}

#[derive(Clone, Copy)]
struct Value {
    bits: u64,
    unsigned: bool,
}

impl Value {
    fn truth(value: bool) -> Value {
        Value {
            bits: u64::from(value),
            unsigned: false,
        }
    }
}

struct Evaluator<'a> {
    tokens: &'a [PpToken],
    at: usize,
    depth: u32,
}

impl Evaluator<'_> {
    fn kind(&self) -> TokenKind {
        self.tokens
            .get(self.at)
            .map_or(TokenKind::Eof, |token| token.kind)
    }

    fn conditional(&mut self) -> Option<Value> {
        self.depth += 1;
        if self.depth > DEPTH {
            return None;
        }
        let condition = self.binary(0)?;
        let value = if self.kind() == TokenKind::Question {
            self.at += 1;
            let then = self.conditional()?;
            if self.kind() != TokenKind::Colon {
                return None;
            }
            self.at += 1;
            let otherwise = self.conditional()?;
            if condition.bits != 0 { then } else { otherwise }
        } else {
            condition
        };
        self.depth -= 1;
        Some(value)
    }

    fn binary(&mut self, least: u8) -> Option<Value> {
        let mut left = self.unary()?;
        while let Some(precedence) = precedence(self.operator()).filter(|&p| p > least) {
            let op = self.operator();
            self.at += 1;
            let right = self.binary(precedence)?;
            left = apply(op, left, right);
        }
        Some(left)
    }

    fn operator(&self) -> TokenKind {
        match self.tokens.get(self.at) {
            Some(PpToken {
                kind: TokenKind::Ident,
                text,
                ..
            }) => match text.as_str() {
                "and" => TokenKind::AndAnd,
                "or" => TokenKind::OrOr,
                _ => TokenKind::Ident,
            },
            Some(token) => token.kind,
            None => TokenKind::Eof,
        }
    }

    fn unary(&mut self) -> Option<Value> {
        self.depth += 1;
        if self.depth > DEPTH {
            return None;
        }
        let token = self.tokens.get(self.at)?;
        self.at += 1;
        let value = match token.kind {
            TokenKind::Bang => Value::truth(self.unary()?.bits == 0),
            TokenKind::Tilde => {
                let value = self.unary()?;
                Value {
                    bits: !value.bits,
                    ..value
                }
            }
            TokenKind::Minus => {
                let value = self.unary()?;
                Value {
                    bits: value.bits.wrapping_neg(),
                    ..value
                }
            }
            TokenKind::Plus => self.unary()?,
            TokenKind::LParen => {
                let value = self.conditional()?;
                if self.kind() != TokenKind::RParen {
                    return None;
                }
                self.at += 1;
                value
            }
            TokenKind::Number => integer(&token.text)?,
            TokenKind::Char => Value {
                bits: u64::from(token.text.as_bytes().get(1).copied()?),
                unsigned: false,
            },
            TokenKind::Ident if token.text == "true" => Value::truth(true),
            TokenKind::Ident if token.text == "not" => Value::truth(self.unary()?.bits == 0),
            TokenKind::Ident => Value::truth(false),
            _ => return None,
        };
        self.depth -= 1;
        Some(value)
    }
}

fn integer(text: &str) -> Option<Value> {
    let cleaned: String = text
        .chars()
        .filter(|&c| c != '\'')
        .collect::<String>()
        .to_ascii_lowercase();
    let digits = cleaned.trim_end_matches(['u', 'l', 'z']);
    let unsigned = cleaned[digits.len()..].contains('u');
    let bits = if let Some(hexadecimal) = digits.strip_prefix("0x") {
        u64::from_str_radix(hexadecimal, 16)
    } else if let Some(binary) = digits.strip_prefix("0b") {
        u64::from_str_radix(binary, 2)
    } else if digits.len() > 1 && digits.starts_with('0') {
        u64::from_str_radix(digits, 8)
    } else {
        digits.parse()
    };
    bits.ok().map(|bits| Value { bits, unsigned })
}

fn precedence(op: TokenKind) -> Option<u8> {
    use TokenKind as T;
    Some(match op {
        T::OrOr => 1,
        T::AndAnd => 2,
        T::Or => 3,
        T::Xor => 4,
        T::And => 5,
        T::EqualEqual | T::NotEqual => 6,
        T::Less | T::LessEqual | T::Greater | T::GreaterEqual => 7,
        T::Shl | T::Shr => 8,
        T::Plus | T::Minus => 9,
        T::Star | T::Slash | T::Percent => 10,
        _ => return None,
    })
}

fn apply(op: TokenKind, left: Value, right: Value) -> Value {
    use TokenKind as T;
    let unsigned = left.unsigned || right.unsigned;
    let (a, b) = (left.bits, right.bits);
    let (x, y) = (a as i64, b as i64);
    let of = |bits| Value { bits, unsigned };
    let truth = Value::truth;
    match op {
        T::OrOr => truth(a != 0 || b != 0),
        T::AndAnd => truth(a != 0 && b != 0),
        T::Or => of(a | b),
        T::Xor => of(a ^ b),
        T::And => of(a & b),
        T::EqualEqual => truth(a == b),
        T::NotEqual => truth(a != b),
        T::Less => truth(if unsigned { a < b } else { x < y }),
        T::LessEqual => truth(if unsigned { a <= b } else { x <= y }),
        T::Greater => truth(if unsigned { a > b } else { x > y }),
        T::GreaterEqual => truth(if unsigned { a >= b } else { x >= y }),
        T::Shl => of(a.wrapping_shl(b as u32)),
        T::Shr => of(if unsigned {
            a.wrapping_shr(b as u32)
        } else {
            x.wrapping_shr(b as u32) as u64
        }),
        T::Plus => of(a.wrapping_add(b)),
        T::Minus => of(a.wrapping_sub(b)),
        T::Star => of(a.wrapping_mul(b)),
        T::Slash => of(if unsigned {
            a.checked_div(b).unwrap_or(0)
        } else {
            x.checked_div(y).unwrap_or(0) as u64
        }),
        T::Percent => of(if unsigned {
            a.checked_rem(b).unwrap_or(0)
        } else {
            x.checked_rem(y).unwrap_or(0) as u64
        }),
        _ => truth(false),
    }
}
