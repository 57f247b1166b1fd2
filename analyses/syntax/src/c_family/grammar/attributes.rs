//! Attributes in all their spellings, as one node.

use super::Parser;
use crate::c_family::ast::{Attribute, Expr, ExprKind};
use crate::c_family::token::TokenKind as T;
use smol_str::SmolStr;

impl Parser<'_> {
    /// Returns true if `[[` or, in HLSL, `[word` begins an attribute here.
    pub(super) fn at_bracket_attribute(&self) -> bool {
        self.peek() == T::LBracket
            && (self.nth(1) == T::LBracket
                || self.dialect.bracket_attributes() && self.nth(1) == T::Ident)
    }

    /// `[[a, b(c)]]` or `[numthreads(8, 8, 1)]`.
    pub(super) fn bracket_attribute(&mut self, attributes: &mut Vec<Attribute>) {
        let double = self.nth(1) == T::LBracket;
        let end = self.closing(self.at);
        self.bump();
        if double {
            self.bump();
        }
        loop {
            let start = self.mark();
            if self.peek() != T::Ident && !self.peek().is_keyword() || self.at >= end {
                break;
            }
            let mut name = SmolStr::new(self.text());
            self.bump();
            while self.peek() == T::ColonColon {
                self.bump();
                name = SmolStr::new(self.text());
                self.bump();
            }
            let arguments = if self.peek() == T::LParen {
                self.attribute_arguments()
            } else {
                Vec::new()
            };
            self.eat(T::Ellipsis);
            attributes.push(Attribute {
                name: bare(&name),
                arguments,
                span: self.span_from(start),
            });
            if !self.eat(T::Comma) {
                break;
            }
        }
        self.half = false;
        self.at = self.at.max(end);
    }

    /// `name(arguments)`; the parser stands on the name.
    pub(super) fn word_attribute(&mut self, name: &str, attributes: &mut Vec<Attribute>) {
        let start = self.mark();
        self.bump();
        if name == "attribute" || name == "declspec" {
            // `__attribute__((a, b(c)))`: each entry is an attribute of its own.
            if self.peek() != T::LParen {
                return;
            }
            let end = self.closing(self.at);
            while matches!(self.peek(), T::LParen) {
                self.bump();
            }
            while self.at < end && (self.peek() == T::Ident || self.peek().is_keyword()) {
                let start = self.mark();
                let entry = SmolStr::new(self.text());
                self.bump();
                let arguments = if self.peek() == T::LParen {
                    self.attribute_arguments()
                } else {
                    Vec::new()
                };
                let name = match bare(&entry).as_str() {
                    "aligned" => SmolStr::new_static("align"),
                    other => SmolStr::new(other),
                };
                attributes.push(Attribute {
                    name,
                    arguments,
                    span: self.span_from(start),
                });
                self.eat(T::Comma);
            }
            self.at = self.at.max(end);
            return;
        }
        let arguments = if self.peek() == T::LParen {
            self.attribute_arguments()
        } else {
            Vec::new()
        };
        attributes.push(Attribute {
            name: SmolStr::new(name),
            arguments,
            span: self.span_from(start),
        });
    }

    /// `#pragma unroll N` in front of a loop.
    pub(super) fn pragma_attribute(&mut self, attributes: &mut Vec<Attribute>) {
        let start = self.mark();
        let name = SmolStr::new(self.text());
        self.bump();
        let mut arguments = Vec::new();
        if self.peek() != T::PragmaEnd {
            arguments.push(self.bracketed(|this| this.assignment()));
            // `#pragma align *x 8` has no comma.
            if name.starts_with("promise_") && !matches!(self.peek(), T::PragmaEnd | T::Eof) {
                arguments.push(self.bracketed(|this| this.assignment()));
            }
        }
        while !matches!(self.peek(), T::PragmaEnd | T::Eof) {
            self.bump();
        }
        self.eat(T::PragmaEnd);
        attributes.push(Attribute {
            name,
            arguments,
            span: self.span_from(start),
        });
    }

    pub(super) fn alignas(&mut self, attributes: &mut Vec<Attribute>) {
        let start = self.mark();
        self.bump();
        let arguments = if self.peek() == T::LParen && self.at_parenthesised_type() {
            // That of the type.
            let start = self.mark();
            self.bump();
            let ty = self.bracketed(|this| this.type_id());
            self.expect(T::RParen);
            vec![Expr {
                kind: ExprKind::AlignofType(ty),
                span: self.span_from(start),
            }]
        } else if self.peek() == T::LParen {
            self.attribute_arguments()
        } else {
            Vec::new()
        };
        attributes.push(Attribute {
            name: SmolStr::new_static("align"),
            arguments,
            span: self.span_from(start),
        });
    }

    fn at_parenthesised_type(&mut self) -> bool {
        let open = self.at;
        self.bump();
        let is_type = self.type_operand(T::RParen);
        self.at = open;
        is_type
    }

    fn attribute_arguments(&mut self) -> Vec<Expr> {
        self.argument_list(T::RParen)
    }
}

/// Returns a name without the underscores around it.
fn bare(name: &str) -> SmolStr {
    SmolStr::new(
        name.strip_prefix("__")
            .and_then(|inner| inner.strip_suffix("__"))
            .unwrap_or(name),
    )
}
