//! `template <...>` and the additions of C++20. Requirements are accepted and not interpreted.

use super::declarators::DeclaredName;
use super::types::plain;
use super::{Parser, Place};
use crate::c_family::ast::{
    TemplateParameter, TemplateParameterKind, TemplateParameters, TypeKind,
};
use crate::c_family::token::TokenKind as T;

impl Parser<'_> {
    /// All the heads in front of a declaration, as one list; `None` when there is none.
    pub(super) fn template_heads(&mut self) -> Option<TemplateParameters> {
        let mut heads: Option<TemplateParameters> = None;
        // `API template <...>` with a macro that vanished.
        if self.peek() == T::Ident && self.nth(1) == T::Template && self.nth(2) == T::Less {
            self.bump();
        }
        while self.peek() == T::Template && self.nth(1) == T::Less {
            let start = self.mark();
            self.bump();
            let parameters = self.template_parameters();
            let span = self.span_from(start);
            if self.peek() == T::Requires {
                self.requires_clause();
            }
            match &mut heads {
                None => heads = Some(TemplateParameters { parameters, span }),
                Some(before) => {
                    before.parameters.extend(parameters);
                    before.span = before.span.to(span);
                }
            }
        }
        heads
    }

    /// `<...>`; the parser stands on `<`.
    pub(super) fn template_parameters(&mut self) -> Vec<TemplateParameter> {
        let mut parameters = Vec::new();
        self.bump();
        if !self.enter() {
            self.angle = true;
            return parameters;
        }
        let saved = (
            std::mem::replace(&mut self.angle, true),
            std::mem::replace(&mut self.launch, false),
        );
        while !self.at_angle() && !matches!(self.peek(), T::Eof | T::Semicolon | T::LBrace) {
            let before = self.at;
            let parameter = self.template_parameter();
            parameters.push(parameter);
            if self.eat(T::Comma) {
                continue;
            }
            if self.at_angle() {
                break;
            }
            self.expected("`,` or `>`");
            if self.at == before {
                self.bump();
            }
            self.skip_expression();
            if !self.eat(T::Comma) {
                break;
            }
        }
        (self.angle, self.launch) = saved;
        if !self.eat_angle() {
            self.expected("`>`");
        }
        self.leave();
        parameters
    }

    fn template_parameter(&mut self) -> TemplateParameter {
        match self.peek() {
            T::Typename | T::Class if self.type_parameter_follows() => {
                self.bump();
                let pack = self.eat(T::Ellipsis);
                let name = self.ident();
                let default = self.eat(T::Equal).then(|| self.type_id());
                TemplateParameter {
                    name,
                    kind: TemplateParameterKind::Type { default },
                    pack,
                }
            }
            T::Template => {
                self.bump();
                if self.peek() == T::Less {
                    self.template_parameters();
                }
                if matches!(self.peek(), T::Class | T::Typename) {
                    self.bump();
                }
                let pack = self.eat(T::Ellipsis);
                let name = self.ident();
                let default = self.eat(T::Equal).then(|| self.type_id());
                TemplateParameter {
                    name,
                    kind: TemplateParameterKind::Template { default },
                    pack,
                }
            }
            // `REQUIRES(condition)`: a macro in the place of a parameter.
            T::Ident if self.nth(1) == T::LParen && !self.pointer_follows() => {
                let start = self.mark();
                self.bump();
                self.skip_brackets();
                let ty = plain(TypeKind::Unknown, self.span_from(start));
                let kind = TemplateParameterKind::Value { ty, default: None };
                TemplateParameter {
                    name: None,
                    kind,
                    pack: false,
                }
            }
            _ => {
                let start = self.mark();
                let specified = self.decl_specifiers(Place::Parameter);
                let base = match specified.ty {
                    Some(ty) => ty,
                    None => {
                        self.expected("a template parameter");
                        plain(TypeKind::Unknown, self.span_from(start))
                    }
                };
                let declared = self.declarator(base, Place::Parameter);
                let name = match declared.name {
                    DeclaredName::Plain(name) => name
                        .segments
                        .into_iter()
                        .next_back()
                        .map(|segment| segment.ident),
                    _ => None,
                };
                let default = self.eat(T::Equal).then(|| match self.peek() {
                    T::LBrace => self.initializer_list(),
                    _ => self.conditional(),
                });
                TemplateParameter {
                    name,
                    kind: TemplateParameterKind::Value {
                        ty: declared.ty,
                        default,
                    },
                    pack: declared.pack,
                }
            }
        }
    }

    /// `T (*function)()`, `T (A::*member)()`: the parentheses behind a type contain a declarator.
    fn pointer_follows(&self) -> bool {
        match self.nth(2) {
            T::Star | T::And | T::AndAnd => true,
            T::Ident => self.nth(3) == T::ColonColon && self.nth(4) == T::Star,
            _ => false,
        }
    }

    /// `typename T` and not `typename A::B value`.
    fn type_parameter_follows(&self) -> bool {
        match self.nth(1) {
            T::Ellipsis | T::Comma | T::Equal | T::Greater | T::Shr => true,
            T::Ident => matches!(
                self.nth(2),
                T::Comma
                    | T::Equal
                    | T::Greater
                    | T::Shr
                    | T::Ellipsis
                    | T::Eof
                    | T::ShrEqual
                    | T::GreaterEqual
            ),
            _ => false,
        }
    }

    /// `requires A<T> && (B) || requires { ... }`
    pub(super) fn requires_clause(&mut self) {
        self.bump();
        for _ in 0..256 {
            while self.eat(T::Bang) {}
            match self.peek() {
                T::LParen => self.skip_brackets(),
                T::Requires => self.requires_expression(),
                T::True | T::False => self.bump(),
                _ => {
                    if self.type_name().is_none() {
                        return;
                    }
                    if self.peek() == T::LParen {
                        self.skip_brackets();
                    }
                }
            }
            if !self.eat(T::AndAnd) && !self.eat(T::OrOr) {
                return;
            }
        }
    }

    /// `requires (T x) { ... }`
    pub(super) fn requires_expression(&mut self) {
        self.bump();
        if self.peek() == T::LParen {
            self.skip_brackets();
        }
        if self.peek() == T::LBrace {
            self.skip_brackets();
        }
    }
}
