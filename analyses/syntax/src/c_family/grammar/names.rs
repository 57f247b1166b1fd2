//! Names: qualified, templated, and the operators among them.

use super::Parser;
use crate::c_family::ast::{
    Expr, ExprKind, Ident, Name, NameSegment, TemplateArgument, Type, TypeKind,
};
use crate::c_family::token::TokenKind as T;
use smol_str::SmolStr;

impl Parser<'_> {
    /// A name where a type is meant: `<` opens arguments.
    pub(super) fn type_name(&mut self) -> Option<Name> {
        self.name(true)
    }

    pub(super) fn expression_name(&mut self) -> Option<Name> {
        self.name(false)
    }

    fn name(&mut self, is_type: bool) -> Option<Name> {
        let start = self.mark();
        let global = self.eat(T::ColonColon);
        let mut segments = Vec::new();
        if self.peek() == T::Decltype && !self.half {
            // `decltype(x)::type`: what the operand is, is not looked at.
            let from = self.mark();
            self.bump();
            self.skip_brackets();
            let ident = Ident {
                name: SmolStr::new_static("decltype"),
                span: self.span_from(from),
            };
            segments.push(NameSegment {
                ident,
                template_arguments: None,
            });
            self.expect(T::ColonColon);
        }
        loop {
            self.eat(T::Template);
            let ident = match self.peek() {
                T::Ident => self.ident()?,
                T::Operator if !segments.is_empty() || !is_type => self.operator_ident(),
                T::Tilde if !segments.is_empty() => {
                    let from = self.mark();
                    self.bump();
                    let Some(class) = self.ident() else { break };
                    Ident {
                        name: SmolStr::new(format!("~{}", class.name)),
                        span: self.span_from(from),
                    }
                }
                _ => break,
            };
            let template_arguments = self.optional_template_arguments(&ident.name, is_type);
            segments.push(NameSegment {
                ident,
                template_arguments,
            });
            if self.half || self.peek() != T::ColonColon {
                break;
            }
            match self.nth(1) {
                T::Ident | T::Template => {}
                T::Operator | T::Tilde if !is_type => {}
                _ => break,
            }
            self.bump();
        }
        if segments.is_empty() {
            return None;
        }
        Some(Name {
            global,
            segments,
            span: self.span_from(start),
        })
    }

    pub(super) fn optional_template_arguments(
        &mut self,
        name: &str,
        is_type: bool,
    ) -> Option<Vec<TemplateArgument>> {
        if self.half || self.peek() != T::Less {
            return None;
        }
        let end = match is_type {
            true => self.scan_angles(self.at, true),
            false => self.template_arguments_in_expression(name, self.at),
        };
        end.is_some().then(|| self.template_arguments())
    }

    /// `operator` and its symbol as one identifier.
    pub(super) fn operator_ident(&mut self) -> Ident {
        let start = self.mark();
        let symbol = self.operator_symbol();
        Ident {
            name: SmolStr::new(format!("operator{symbol}")),
            span: self.span_from(start),
        }
    }

    /// Takes `operator` and its symbol.
    pub(super) fn operator_symbol(&mut self) -> SmolStr {
        self.bump();
        let kind = self.peek();
        match kind {
            T::LParen | T::LBracket => {
                self.bump();
                self.eat(if kind == T::LParen {
                    T::RParen
                } else {
                    T::RBracket
                });
                SmolStr::new_static(if kind == T::LParen { "()" } else { "[]" })
            }
            T::New | T::Delete => {
                self.bump();
                let array = self.peek() == T::LBracket;
                if array {
                    self.skip_brackets();
                }
                SmolStr::new(format!(" {}{}", kind.text(), if array { "[]" } else { "" }))
            }
            T::Str => {
                // `operator""_h` and `operator"" _h`
                let text = self.text().trim_matches('"');
                self.bump();
                let suffix = match self.peek() == T::Ident && text.is_empty() {
                    true => self.ident().map(|ident| ident.name).unwrap_or_default(),
                    false => SmolStr::new(text),
                };
                SmolStr::new(format!("\"\"{suffix}"))
            }
            T::Shr if self.nth(1) == T::Greater && !self.spaced_at(self.at + 1) => {
                self.bump();
                self.bump();
                SmolStr::new_static(">>>")
            }
            T::Eof => SmolStr::default(),
            _ => {
                let text = self
                    .tokens
                    .get(self.at)
                    .map_or("", |token| token.spelling());
                self.bump();
                SmolStr::new(text)
            }
        }
    }

    /// `<...>`; the parser stands on `<`.
    pub(super) fn template_arguments(&mut self) -> Vec<TemplateArgument> {
        self.bump();
        let mut arguments = Vec::new();
        if !self.enter() {
            self.angle = true;
            self.skip_angles();
            return arguments;
        }
        let saved = (
            std::mem::replace(&mut self.angle, true),
            std::mem::replace(&mut self.launch, false),
        );
        while !self.at_angle() && self.peek() != T::Eof {
            let before = self.at;
            let argument = self.template_argument();
            let argument = match self.eat(T::Ellipsis) {
                true => TemplateArgument::Pack(Box::new(argument)),
                false => argument,
            };
            arguments.push(argument);
            if !self.eat(T::Comma) || self.at == before {
                break;
            }
        }
        (self.angle, self.launch) = saved;
        if !self.eat_angle() {
            self.expected("`>`");
            self.skip_angles();
        }
        self.leave();
        arguments
    }

    /// Skips to the position behind the `>` that closes the current list.
    fn skip_angles(&mut self) {
        let mut depth = 1i32;
        loop {
            match self.peek() {
                T::Less => depth += 1,
                T::Greater => depth -= 1,
                T::Shr if depth == 1 => {
                    self.half = true;
                    return;
                }
                T::Shr => depth -= 2,
                T::LParen | T::LBracket | T::LBrace => {
                    self.skip_brackets();
                    continue;
                }
                T::RParen | T::RBracket | T::RBrace | T::Semicolon | T::Eof => return,
                _ => {}
            }
            self.bump();
            if depth <= 0 {
                return;
            }
        }
    }

    fn template_argument(&mut self) -> TemplateArgument {
        let Some((end, surety)) = self.scan_type(self.at) else {
            return TemplateArgument::Value(self.assignment());
        };
        let closes = matches!(
            self.ahead_kind(end),
            T::Comma | T::Greater | T::Shr | T::Ellipsis
        );
        // `void(int)` is a function's type.
        let function = self.ahead_kind(end) == T::LParen
            && self.type_word(self.at)
            && self.parameters_follow(end.at, true);
        if !closes && !function {
            return TemplateArgument::Value(self.assignment());
        }
        if surety == super::scan::Surety::Type || function {
            let value = self.value_like(end.at);
            if value {
                return TemplateArgument::Value(self.assignment());
            }
            return TemplateArgument::Type(self.type_id());
        }
        let start = self.mark();
        match self.expression_name() {
            Some(name) => {
                let span = self.span_from(start);
                let value = Expr {
                    kind: ExprKind::Name(name.clone()),
                    span,
                };
                TemplateArgument::Ambiguous(
                    Type {
                        kind: TypeKind::Named(name),
                        is_const: false,
                        is_volatile: false,
                        is_restrict: false,
                        span,
                    },
                    Box::new(value),
                )
            }
            None => TemplateArgument::Value(self.assignment()),
        }
    }

    /// `A<T>::value` and `is_x_v<T>` are values by convention.
    fn value_like(&self, end: usize) -> bool {
        let last = end.saturating_sub(1);
        if self.kind_at(self.at) == T::Typename {
            return false;
        }
        self.kind_at(last) == T::Ident
            && matches!(self.text_at(last), "value" | "kValue")
            && self.kind_at(last.saturating_sub(1)) == T::ColonColon
            || self.kind_at(self.at) == T::Ident
                && self.text_at(self.at).ends_with("_v")
                && self.kind_at(self.at + 1) == T::Less
    }
}
