//! Functions: parameters, the words behind them, constructor initializers and the body.

use super::declarators::{Declared, DeclaredName, FunctionSuffix};
use super::specifiers::{Specified, void_at};
use super::types::plain;
use super::{Parser, Place};
use crate::c_family::ast::{
    Block, Function, FunctionBody, FunctionName, Ident, MemberInitializer, Name, Parameter,
    TemplateParameters, Type, TypeKind,
};
use crate::c_family::dialect::{Dialect, SpecifierWord};
use crate::c_family::token::TokenKind as T;

impl Parser<'_> {
    /// `(int a, float b = 1)`; the parser stands on `(`.
    pub(super) fn parameter_list(&mut self) -> FunctionSuffix {
        let mut suffix = FunctionSuffix {
            parameters: Vec::new(),
            variadic: false,
        };
        if !self.enter() {
            self.skip_brackets();
            return suffix;
        }
        self.bump();
        let close = self.bracketed(|this| {
            while this.peek() != T::RParen && this.peek() != T::Eof {
                if this.eat(T::Ellipsis) {
                    suffix.variadic = true;
                    break;
                }
                let before = this.at;
                let parameter = this.parameter();
                suffix.parameters.push(parameter);
                if this.eat(T::Comma) {
                    continue;
                }
                if this.eat(T::Ellipsis) {
                    suffix.variadic = true;
                    break;
                }
                if matches!(
                    this.peek(),
                    T::RParen | T::Eof | T::LBrace | T::Semicolon | T::RBrace
                ) {
                    break;
                }
                this.expected("`,` or `)`");
                if this.at == before {
                    this.bump();
                }
                this.skip_expression();
                if !this.eat(T::Comma) {
                    break;
                }
            }
            this.eat(T::RParen)
        });
        if !close {
            self.expected("`)`");
        }
        self.leave();
        // `(void)` takes nothing.
        if let [only] = &suffix.parameters[..]
            && only.name.is_none()
            && only.ty.kind == TypeKind::Builtin("void".into())
        {
            suffix.parameters.clear();
        }
        suffix
    }

    fn parameter(&mut self) -> Parameter {
        let start = self.mark();
        let specified = self.decl_specifiers(Place::Parameter);
        let base = match specified.ty {
            Some(ty) => ty,
            None => {
                if self.peek() != T::Comma && self.peek() != T::RParen || self.mark() == start {
                    self.expected("a parameter's type");
                }
                plain(TypeKind::Unknown, self.span_from(start))
            }
        };
        let mut declared = self.declarator(base, Place::Parameter);
        if let Some(function) = declared.function.take() {
            // As a parameter a function is its address.
            declared.ty = function.of(declared.ty, true);
        }
        let mut specifiers = specified.specifiers;
        while self.at_bracket_attribute() {
            self.bracket_attribute(&mut specifiers.attributes);
        }
        while self.peek() == T::Ident
            && let Some(SpecifierWord::Attribute(name)) = self.dialect.specifier_word(self.text())
        {
            self.word_attribute(name, &mut specifiers.attributes);
        }
        let semantic = self.semantic(&mut specifiers.attributes);
        let default = self.eat(T::Equal).then(|| self.initializer_clause());
        let semantic = semantic.or_else(|| self.semantic(&mut specifiers.attributes));
        let name = match declared.name {
            DeclaredName::Plain(name) => name
                .segments
                .into_iter()
                .next_back()
                .map(|segment| segment.ident),
            _ => None,
        };
        Parameter {
            specifiers,
            ty: declared.ty,
            name,
            default,
            direction: specified.direction,
            semantic,
            pack: declared.pack,
            span: self.span_from(start),
        }
    }

    /// A function from its parameters on, body or `;` included.
    pub(super) fn function(
        &mut self,
        start: usize,
        template: Option<TemplateParameters>,
        specified: Specified,
        declared: Declared,
        suffix: FunctionSuffix,
    ) -> Function {
        let mut specifiers = specified.specifiers;
        let unnamed_type = specified.ty.is_none();
        let mut return_type = declared.ty;
        let name = match declared.name {
            DeclaredName::Plain(name) if unnamed_type && self.names_class(&name) => {
                return_type = void_at(name.span);
                FunctionName::Constructor(name)
            }
            DeclaredName::Plain(name) => FunctionName::Plain(name),
            DeclaredName::Operator {
                qualifier,
                symbol,
                span,
            } => FunctionName::Operator {
                qualifier,
                symbol,
                span,
            },
            DeclaredName::Conversion {
                qualifier,
                ty,
                span,
            } => {
                return_type = *ty;
                FunctionName::Conversion { qualifier, span }
            }
            DeclaredName::Destructor(name) => {
                return_type = void_at(name.span);
                FunctionName::Destructor(name)
            }
            DeclaredName::Binding(_) | DeclaredName::None => {
                let span = self.span_from(declared.start);
                FunctionName::Operator {
                    qualifier: None,
                    symbol: Default::default(),
                    span,
                }
            }
        };
        let mut semantic = None;
        let is_const =
            self.function_qualifiers(&mut specifiers.attributes, &mut return_type, &mut semantic);
        let signature_span = self.span_from(start);
        let mut initializers = Vec::new();
        let guarded = self.peek() == T::Try;
        if guarded {
            self.bump();
        }
        if self.peek() == T::Colon {
            self.bump();
            initializers = self.member_initializers();
        }
        let body = match self.peek() {
            T::LBrace => {
                let saved = self.class.take();
                let block = self.block();
                self.class = saved;
                while guarded && self.eat(T::Catch) {
                    self.skip_brackets();
                    self.skip_brackets();
                }
                FunctionBody::Block(block)
            }
            T::Equal => {
                self.bump();
                let body = match self.peek() {
                    T::Default => FunctionBody::Defaulted,
                    T::Delete => FunctionBody::Deleted,
                    _ => FunctionBody::None,
                };
                self.bump();
                self.semicolon();
                body
            }
            _ => {
                self.semicolon();
                FunctionBody::None
            }
        };
        Function {
            template,
            specifiers,
            name,
            return_type,
            parameters: suffix.parameters,
            variadic: suffix.variadic,
            semantic,
            is_const,
            initializers,
            body,
            signature_span,
            span: self.span_from(start),
        }
    }

    /// Returns whether a name without a type in front is that of a constructor: it repeats its class.
    fn names_class(&self, name: &Name) -> bool {
        match &name.segments[..] {
            [.., class, own] => class.ident.name == own.ident.name,
            [own] => self.class.as_ref() == Some(&own.ident.name),
            [] => false,
        }
    }

    /// `const volatile & noexcept override -> T requires ...` and HLSL semantics; whether `const` was among them.
    fn function_qualifiers(
        &mut self,
        attributes: &mut Vec<crate::c_family::ast::Attribute>,
        return_type: &mut Type,
        semantic: &mut Option<Ident>,
    ) -> bool {
        let mut is_const = false;
        loop {
            match self.peek() {
                T::Const => {
                    is_const = true;
                    self.bump();
                }
                T::Volatile | T::And | T::AndAnd => self.bump(),
                T::Noexcept | T::Throw => {
                    self.bump();
                    if self.peek() == T::LParen {
                        self.skip_brackets();
                    }
                }
                T::Arrow => {
                    self.bump();
                    *return_type = self.type_id();
                }
                T::Requires => self.requires_clause(),
                T::Asm => {
                    self.bump();
                    if self.peek() == T::LParen {
                        self.skip_brackets();
                    }
                }
                T::LBracket if self.dialect == Dialect::Hlsl && self.nth(1) != T::LBracket => {
                    // A function of HLSL may return an array.
                    let dimensions = self.dimensions();
                    let element = return_type.clone();
                    *return_type = super::declarators::wrap_dimensions(element, dimensions);
                }
                T::LBracket if self.at_bracket_attribute() => self.bracket_attribute(attributes),
                T::Colon if self.dialect == Dialect::Hlsl => {
                    let before = self.at;
                    if let Some(found) = self.semantic(attributes) {
                        *semantic = Some(found);
                    }
                    if self.at == before {
                        return is_const;
                    }
                }
                T::Ident => match self.dialect.specifier_word(self.text()) {
                    Some(SpecifierWord::Attribute(name)) => self.word_attribute(name, attributes),
                    _ => {
                        // `override`, `final`, and macros such as `NOEXCEPT_IF(x)`.
                        self.bump();
                        if self.peek() == T::LParen {
                            self.skip_brackets();
                        }
                    }
                },
                _ => return is_const,
            }
        }
    }

    fn member_initializers(&mut self) -> Vec<MemberInitializer> {
        let mut initializers = Vec::new();
        loop {
            let start = self.mark();
            let Some(name) = self.type_name() else { break };
            let arguments = match self.peek() {
                T::LParen => self.argument_list(T::RParen),
                T::LBrace => self.argument_list(T::RBrace),
                _ => {
                    self.expected("`(` or `{`");
                    break;
                }
            };
            self.eat(T::Ellipsis);
            initializers.push(MemberInitializer {
                name,
                arguments,
                span: self.span_from(start),
            });
            if !self.eat(T::Comma) {
                break;
            }
        }
        initializers
    }

    /// `{ ... }`; the parser stands on `{`.
    pub(super) fn block(&mut self) -> Block {
        let start = self.mark();
        if !self.enter() {
            self.skip_brackets();
            return Block {
                statements: Vec::new(),
                span: self.span_from(start),
            };
        }
        self.bump();
        let statements = self.bracketed(|this| {
            let mut statements = Vec::new();
            while !matches!(this.peek(), T::RBrace | T::Eof) {
                let before = this.at;
                let statement = this.statement();
                statements.push(statement);
                if this.at == before {
                    this.expected("a statement");
                    this.bump();
                }
            }
            statements
        });
        if !self.eat(T::RBrace) {
            self.expected("`}`");
        }
        self.leave();
        Block {
            statements,
            span: self.span_from(start),
        }
    }
}
