//! Operands and expressions, which stand without blanks.

use super::expression::number;
use super::parse::{character, unquoted};
use super::scan::{Token, TokenKind};
use super::{Binary, Condition, Expr, Memory, Operand, OperandKind, Size, Unary, Update};
use crate::source::Span;
use smol_str::SmolStr;

/// Nesting of expressions.
const DEPTH: u32 = 100;
/// Operators of one expression in a row: a chain is a tree that is as deep as it is long.
const CHAIN: u32 = 500;

/// The tokens of a line without its comment, and the place among them.
pub(super) struct Reader<'a> {
    tokens: &'a [Token],
    at: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(tokens: &'a [Token]) -> Reader<'a> {
        Reader { tokens, at: 0 }
    }
    pub(super) fn token(&self) -> Option<&'a Token> {
        self.tokens.get(self.at)
    }
    pub(super) fn next(&mut self) {
        self.at += 1;
    }
    pub(super) fn rest(&mut self) {
        self.at = self.tokens.len();
    }
    /// Skips blanks; whether there were some.
    pub(super) fn blanks(&mut self) -> bool {
        let from = self.at;
        while self
            .token()
            .is_some_and(|token| token.kind == TokenKind::Blank)
        {
            self.at += 1;
        }
        self.at > from
    }
    /// The place of the token, or of the end of the line.
    pub(super) fn place(&self) -> Span {
        match self.token() {
            Some(token) => token.span,
            None => Span::at(self.tokens.last().map_or(0, |last| last.span.end)),
        }
    }
    /// The place of the last token that was read; `start` where none was.
    pub(super) fn end(&self, start: Span) -> Span {
        let read = self.tokens[..self.at.min(self.tokens.len())].iter();
        read.rev()
            .find(|token| token.kind != TokenKind::Blank)
            .map_or(start, |token| token.span)
    }
    fn ahead(&self, by: usize) -> Option<&'a Token> {
        self.tokens.get(self.at + by)
    }
    pub(super) fn is_at(&self, by: usize, mark: &str) -> bool {
        self.ahead(by)
            .is_some_and(|token| token.kind == TokenKind::Mark && token.text == mark)
    }
    fn eat(&mut self, mark: &str) -> bool {
        let found = self.is_at(0, mark);
        self.at += usize::from(found);
        found
    }
    /// Returns true if the token of this distance begins no operand's next part.
    fn ends_at(&self, by: usize) -> bool {
        self.ahead(by)
            .is_none_or(|token| token.kind == TokenKind::Blank)
            || self.is_at(by, ",")
            || self.is_at(by, "]")
            || self.is_at(by, "[")
    }

    /// Returns true if operands follow the mnemonic just read; `bare`: it takes none.
    pub(super) fn at_operands(&self, bare: bool) -> bool {
        let blank = self
            .token()
            .is_some_and(|token| token.kind == TokenKind::Blank);
        if !blank {
            // Something without a blank behind a mnemonic is an operand that is wrong, but no instruction.
            return self.token().is_some() && !self.is_at(0, "]") && !self.is_at(0, "[");
        }
        let Some(next) = self.ahead(1) else {
            return false;
        };
        match next.kind {
            TokenKind::Word => {
                let begins = next.text.as_bytes()[0];
                !bare && Condition::of(&next.text).is_none() || matches!(begins, b'0'..=b'9' | b'$')
            }
            TokenKind::Mark => next.text != "]" && next.text != "[",
            TokenKind::Quoted => true,
            TokenKind::Blank | TokenKind::Newline | TokenKind::Comment => false,
        }
    }

    /// An operand; of kind `Unknown` if there is none.
    pub(super) fn operand(&mut self) -> Operand {
        let (from, start) = (self.at, self.place());
        let kind = self.kind();
        let whole = kind.filter(|_| self.ends_at(0));
        let kind = whole.unwrap_or_else(|| {
            self.at = from;
            let mut text = String::new();
            while !self.ends_at(0) {
                text.push_str(self.token().map_or("", |token| &token.text));
                self.next();
            }
            OperandKind::Unknown(text.into())
        });
        let span = match self.at > from {
            true => start.to(self.tokens[self.at - 1].span),
            false => Span::at(start.start),
        };
        Operand { span, kind }
    }

    fn kind(&mut self) -> Option<OperandKind> {
        if self.eat("#") {
            let size = self.size();
            let value = self.expression()?;
            return Some(OperandKind::Immediate { size, value });
        }
        if self.is_at(0, "(") {
            let from = self.at;
            if let Some(memory) = self.memory() {
                return Some(OperandKind::Memory(memory));
            }
            self.at = from;
        }
        let size = self.size();
        let value = self.expression()?;
        if !self.is_at(0, ":") {
            return Some(OperandKind::Value { size, value });
        }
        let mut names = vec![value.name()?.clone()];
        while self.eat(":") {
            let token = self
                .token()
                .filter(|token| token.kind == TokenKind::Word && number(&token.text).is_none())?;
            names.push(token.text.clone());
            self.next();
        }
        size.is_none().then_some(OperandKind::Group(names))
    }

    fn size(&mut self) -> Option<Size> {
        if self.eat("<") {
            return Some(Size::Short);
        }
        self.eat(">").then_some(Size::Long)
    }

    fn memory(&mut self) -> Option<Memory> {
        self.next();
        let size = self.size();
        let address = self.expression()?;
        if !self.eat(")") {
            return None;
        }
        let update = match () {
            () if self.ends_at(0) => Update::None,
            () if self.is_at(0, "+") && self.ends_at(1) => Update::Up,
            () if self.is_at(0, "-") && self.ends_at(1) => Update::Down,
            () if self.is_at(0, "+") && self.ends_at(2) => {
                let name = self
                    .ahead(1)
                    .filter(|token| token.kind == TokenKind::Word && number(&token.text).is_none());
                Update::By(name?.text.clone())
            }
            () => return None,
        };
        self.at += match update {
            Update::None => 0,
            Update::Up | Update::Down => 1,
            Update::By(_) => 2,
        };
        Some(Memory {
            size,
            address,
            update,
        })
    }

    /// An expression, without blanks in it. `None`: there is none here, and the place may have moved.
    pub(super) fn expression(&mut self) -> Option<Expr> {
        let from = self.at;
        let mut chain = 0;
        let value = self.binary(0, 0, &mut chain);
        if value.is_none() {
            self.at = from;
        }
        value
    }

    fn binary(&mut self, least: u8, depth: u32, chain: &mut u32) -> Option<Expr> {
        if depth > DEPTH {
            return None;
        }
        let mut left = self.unary(depth, chain)?;
        loop {
            let op = self
                .token()
                .filter(|token| token.kind == TokenKind::Mark)
                .and_then(|token| Binary::of(&token.text))
                .filter(|op| op.strength() > least);
            let Some(op) = op else {
                return Some(left);
            };
            // `(r0)+` and `a+,` end in front of the sign.
            if self.ends_at(1) {
                return Some(left);
            }
            *chain += 1;
            if *chain > CHAIN {
                return None;
            }
            self.next();
            let right = self.binary(op.strength(), depth + 1, chain)?;
            left = Expr::Binary {
                op,
                left: Box::new(left),
                right: Box::new(right),
            };
        }
    }

    fn unary(&mut self, depth: u32, chain: &mut u32) -> Option<Expr> {
        if depth > DEPTH {
            return None;
        }
        let token = self.token()?;
        if token.kind == TokenKind::Mark {
            let op = match &*token.text {
                "+" => Some(Unary::Plus),
                "-" => Some(Unary::Minus),
                "~" => Some(Unary::Not),
                "!" => Some(Unary::Zero),
                _ => None,
            };
            if let Some(op) = op {
                self.next();
                let of = Box::new(self.unary(depth + 1, chain)?);
                return Some(Expr::Unary { op, of });
            }
        }
        self.primary(depth, chain)
    }

    fn primary(&mut self, depth: u32, chain: &mut u32) -> Option<Expr> {
        let token = self.token()?;
        match (token.kind, &*token.text) {
            (TokenKind::Mark, "(") => {
                self.next();
                let inner = self.binary(0, depth + 1, chain)?;
                self.eat(")").then_some(inner)
            }
            (TokenKind::Mark, "*") => {
                self.next();
                Some(Expr::Here)
            }
            (TokenKind::Mark, "%") => {
                let digits = self
                    .ahead(1)
                    .filter(|token| token.kind == TokenKind::Word)?;
                let value = u64::from_str_radix(&digits.text, 2).ok()?;
                self.at += 2;
                Some(Expr::Number(value as i64))
            }
            (TokenKind::Quoted, text) => {
                let value = character(text)?;
                self.next();
                Some(value)
            }
            (TokenKind::Word, word) if word.starts_with('@') => {
                let argument = self
                    .ahead(2)
                    .filter(|token| matches!(token.kind, TokenKind::Quoted | TokenKind::Word))?;
                if !self.is_at(1, "(") || !self.is_at(3, ")") {
                    return None;
                }
                let argument = match argument.kind {
                    TokenKind::Quoted => unquoted(&argument.text).into(),
                    _ => argument.text.clone(),
                };
                let name = SmolStr::from(word.to_ascii_lowercase());
                self.at += 4;
                Some(Expr::Function { name, argument })
            }
            (TokenKind::Word, word) => {
                let begins = word.as_bytes()[0];
                let value = match begins {
                    b'0'..=b'9' | b'$' => Expr::Number(number(word)?),
                    _ => Expr::Name(word.into()),
                };
                self.next();
                Some(value)
            }
            _ => None,
        }
    }
}
