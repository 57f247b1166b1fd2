//! Lambdas.

use super::Parser;
use crate::c_family::ast::{
    Block, Capture, CaptureMode, Expr, ExprKind, Ident, Lambda, TemplateParameters,
};
use crate::c_family::dialect::SpecifierWord;
use crate::c_family::token::TokenKind as T;
use smol_str::SmolStr;

impl Parser<'_> {
    /// The parser stands on `[`.
    pub(super) fn lambda(&mut self, start: usize) -> Expr {
        let end = self.near(self.at);
        let begins = matches!(
            self.kind_at(end),
            T::LParen
                | T::LBrace
                | T::Less
                | T::Mutable
                | T::Constexpr
                | T::Noexcept
                | T::Arrow
                | T::Ident
                | T::LBracket
        );
        if !begins || !self.enter() {
            self.expected("an expression");
            self.skip_brackets();
            return self.unknown_expression(start);
        }
        let mut lambda = Lambda {
            default_capture: None,
            captures: Vec::new(),
            specifiers: self.no_specifiers(),
            template: None,
            parameters: Vec::new(),
            return_type: None,
            mutable: false,
            body: Block {
                statements: Vec::new(),
                span: self.span_here(),
            },
        };
        self.bump();
        self.bracketed(|this| this.captures(&mut lambda));
        if !self.eat(T::RBracket) {
            self.expected("`]`");
            self.half = false;
            self.at = self.at.max(end);
        }
        if self.peek() == T::Less {
            let from = self.mark();
            let parameters = self.template_parameters();
            lambda.template = Some(TemplateParameters {
                parameters,
                span: self.span_from(from),
            });
        }
        self.lambda_specifiers(&mut lambda);
        if self.peek() == T::LParen {
            lambda.parameters = self.parameter_list().parameters;
        }
        self.lambda_specifiers(&mut lambda);
        if self.eat(T::Arrow) {
            lambda.return_type = Some(self.bracketed(|this| this.type_id()));
        }
        if self.peek() == T::Requires {
            self.requires_clause();
        }
        if self.peek() == T::LBrace {
            let saved = self.class.take();
            lambda.body = self.block();
            self.class = saved;
        } else {
            self.expected("`{`");
        }
        self.leave();
        Expr {
            kind: ExprKind::Lambda(Box::new(lambda)),
            span: self.span_from(start),
        }
    }

    fn lambda_specifiers(&mut self, lambda: &mut Lambda) {
        loop {
            match self.peek() {
                T::Mutable => {
                    lambda.mutable = true;
                    self.bump();
                }
                T::Constexpr | T::Consteval | T::Static => self.bump(),
                T::Noexcept | T::Throw => {
                    self.bump();
                    if self.peek() == T::LParen {
                        self.skip_brackets();
                    }
                }
                T::LBracket if self.nth(1) == T::LBracket => {
                    self.bracket_attribute(&mut lambda.specifiers.attributes)
                }
                T::Ident => match self.dialect.specifier_word(self.text()) {
                    Some(SpecifierWord::Set(bit)) => {
                        lambda.specifiers.words.insert(bit);
                        let span = self.span_here();
                        lambda.specifiers.span = lambda.specifiers.span.to(span);
                        self.bump();
                    }
                    Some(SpecifierWord::Attribute(word)) => {
                        self.word_attribute(word, &mut lambda.specifiers.attributes)
                    }
                    // A macro such as `HOST_DEVICE`.
                    _ => self.bump(),
                },
                _ => return,
            }
        }
    }

    fn captures(&mut self, lambda: &mut Lambda) {
        loop {
            let mut mode = CaptureMode::Value;
            match self.peek() {
                T::RBracket | T::Eof => return,
                T::Equal if matches!(self.nth(1), T::RBracket | T::Comma) => {
                    self.bump();
                    lambda.default_capture = Some(CaptureMode::Value);
                }
                T::And if matches!(self.nth(1), T::RBracket | T::Comma) => {
                    self.bump();
                    lambda.default_capture = Some(CaptureMode::Reference);
                }
                kind => {
                    if kind == T::And {
                        self.bump();
                        mode = CaptureMode::Reference;
                    }
                    if self.peek() == T::Star && self.nth(1) == T::This {
                        self.bump();
                    }
                    self.eat(T::Ellipsis);
                    let span = self.span_here();
                    let name = match self.peek() {
                        T::This => {
                            self.bump();
                            Ident {
                                name: SmolStr::new_static("this"),
                                span,
                            }
                        }
                        _ => match self.ident() {
                            Some(name) => name,
                            None => {
                                self.expected("a capture");
                                return;
                            }
                        },
                    };
                    let initializer = match self.peek() {
                        T::Equal => {
                            self.bump();
                            Some(self.initializer_clause())
                        }
                        T::LParen => self.argument_list(T::RParen).into_iter().next(),
                        T::LBrace => self.argument_list(T::RBrace).into_iter().next(),
                        _ => None,
                    };
                    self.eat(T::Ellipsis);
                    lambda.captures.push(Capture {
                        mode,
                        name,
                        initializer,
                    });
                }
            }
            if !self.eat(T::Comma) {
                return;
            }
        }
    }
}
