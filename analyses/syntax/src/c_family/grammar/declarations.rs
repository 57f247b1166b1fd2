//! Simple declarations: specifiers, declarators and initializers; and the ways a declaration turns out to be a function.

use super::declarators::{Declared, DeclaredName};
use super::specifiers::Specified;
use super::types::plain;
use super::{Parser, Place};
use crate::c_family::ast::{
    Alias, Declaration, Declarator, DeclaratorName, Expr, ExprKind, Function, Ident, Initializer,
    SpecifierSet, Struct, StructKind, TemplateParameters, Type, TypeKind,
};
use crate::c_family::dialect::{Dialect, SpecifierWord};
use crate::c_family::token::TokenKind as T;

/// The kind that a declaration turned out to be.
#[derive(Debug)]
pub(super) enum Parsed {
    Function(Box<Function>),
    Variables(Declaration),
    Aliases(Vec<Alias>),
    /// A struct, union or enum definition without declarators.
    Definition(Type),
    /// `struct S;`
    Forward,
    Nothing,
    Unknown,
}

impl Parser<'_> {
    /// A declaration with its `;` or body.
    pub(super) fn declaration(
        &mut self,
        template: Option<TemplateParameters>,
        start: usize,
        place: Place,
    ) -> Parsed {
        let specified = self.decl_specifiers(place);
        if self.peek() == T::Semicolon && specified.ty.is_some() {
            self.bump();
            return match specified {
                Specified {
                    elaborated: true, ..
                } => Parsed::Forward,
                Specified {
                    ty:
                        Some(
                            ty @ Type {
                                kind: TypeKind::InlineStruct(_) | TypeKind::InlineEnum(_),
                                ..
                            },
                        ),
                    specifiers,
                    ..
                } => {
                    // `typedef struct S {...};` gives no name but the tag. The members of an unnamed union are names of
                    // the block that it stands in.
                    let is_object = |inner: &Struct| match place {
                        Place::Class => true,
                        Place::Block => inner.kind == StructKind::Union,
                        _ => false,
                    };
                    if matches!(&ty.kind, TypeKind::InlineStruct(inner) if inner.name.is_none() && is_object(inner))
                    {
                        let span = self.span_from(start);
                        return Parsed::Variables(Declaration {
                            template,
                            specifiers,
                            declarators: vec![anonymous(ty)],
                            span,
                        });
                    }
                    Parsed::Definition(ty)
                }
                _ => Parsed::Nothing,
            };
        }
        let Some(base) = specified.ty.clone() else {
            return self.untyped(template, start, specified, place);
        };
        if matches!(
            base.kind,
            TypeKind::InlineStruct(_) | TypeKind::InlineEnum(_)
        ) && matches!(self.peek(), T::Eof | T::RBrace)
        {
            let span = self.span_behind();
            self.report(crate::Problem::syntax(span, "expected `;`"));
            return Parsed::Definition(base);
        }
        let declared = self.declarator(base.clone(), place);
        self.declared(template, start, specified, base, declared, place)
    }

    /// `, g(int), x = 4` behind a prototype, each with whether it is a variable: further functions mean nothing to execution.
    fn behind_prototype(&mut self, base: &Type, place: Place) -> Vec<(Declarator, bool)> {
        let mut others = Vec::new();
        while self.eat(T::Comma) {
            let mut next = self.declarator(self.named_again(base, None), place);
            let variable = match next.function.take() {
                Some(suffix) => {
                    next.ty = suffix.of(next.ty, false);
                    false
                }
                None => true,
            };
            others.push((self.init_declarator(next, place), variable));
        }
        others
    }

    /// Constructors, destructors, conversions, and macros that look like functions.
    fn untyped(
        &mut self,
        template: Option<TemplateParameters>,
        start: usize,
        specified: Specified,
        place: Place,
    ) -> Parsed {
        if self.mark() == start
            && !matches!(
                self.peek(),
                T::Ident | T::Tilde | T::Operator | T::ColonColon
            )
        {
            return Parsed::Unknown;
        }
        let base = plain(TypeKind::Unknown, self.span_here());
        let begin = self.at;
        let mut declared = self.declarator(base, place);
        if let Some(function) = declared.function.take() {
            return Parsed::Function(Box::new(
                self.function(start, template, specified, declared, function),
            ));
        }
        if self.peek() == T::LParen && matches!(declared.name, DeclaredName::Plain(_)) {
            // A macro with arguments of any kind, with a body or a `;` behind it, or nothing.
            self.skip_brackets();
            return match self.peek() {
                T::LBrace => {
                    let suffix = super::declarators::FunctionSuffix {
                        parameters: Vec::new(),
                        variadic: false,
                    };
                    Parsed::Function(Box::new(
                        self.function(start, template, specified, declared, suffix),
                    ))
                }
                T::Semicolon | T::Eof | T::RBrace => {
                    self.eat(T::Semicolon);
                    Parsed::Nothing
                }
                _ if place == Place::Class => Parsed::Nothing,
                _ => Parsed::Unknown,
            };
        }
        // A lone word is a macro that vanished.
        if matches!(self.peek(), T::Semicolon | T::Eof)
            && matches!(declared.name, DeclaredName::Plain(_))
            && self.at > begin
        {
            self.eat(T::Semicolon);
            return Parsed::Nothing;
        }
        Parsed::Unknown
    }

    fn declared(
        &mut self,
        template: Option<TemplateParameters>,
        start: usize,
        specified: Specified,
        base: Type,
        mut declared: Declared,
        place: Place,
    ) -> Parsed {
        if specified.specifiers.words.has(SpecifierSet::TYPEDEF) {
            return self.typedef(start, base, declared);
        }
        if let Some(suffix) = declared.function.take() {
            if place != Place::Block || self.peek() == T::LBrace {
                if self.peek() == T::Comma && self.dialect != Dialect::C {
                    self.skip_statement_list();
                } else if self.peek() == T::Comma {
                    let others = self.behind_prototype(&base, place);
                    if others.iter().any(|(_, variable)| *variable) {
                        declared.ty = suffix.of(declared.ty, false);
                        let mut declarators = vec![self.init_declarator(declared, place)];
                        declarators.extend(others.into_iter().map(|(it, _)| it));
                        self.declaration_end();
                        return Parsed::Variables(Declaration {
                            template,
                            specifiers: specified.specifiers,
                            declarators,
                            span: self.span_from(start),
                        });
                    }
                }
                return Parsed::Function(Box::new(
                    self.function(start, template, specified, declared, suffix),
                ));
            }
            declared.ty = suffix.of(declared.ty, false);
        }
        if matches!(
            declared.name,
            DeclaredName::Conversion { .. }
                | DeclaredName::Operator { .. }
                | DeclaredName::Destructor(_)
        ) {
            self.expected("`(`");
            return Parsed::Unknown;
        }
        if matches!(declared.name, DeclaredName::None)
            && !matches!(self.peek(), T::Colon | T::Semicolon | T::Equal | T::Comma)
        {
            return Parsed::Unknown;
        }
        let mut declarators = Vec::new();
        let mut next = declared;
        loop {
            declarators.push(self.init_declarator(next, place));
            if !self.eat(T::Comma) {
                break;
            }
            next = self.declarator(self.named_again(&base, None), place);
            if let Some(suffix) = next.function.take() {
                next.ty = suffix.of(next.ty, false);
            }
        }
        self.declaration_end();
        Parsed::Variables(Declaration {
            template,
            specifiers: specified.specifiers,
            declarators,
            span: self.span_from(start),
        })
    }

    /// The end of a list of declarators.
    fn declaration_end(&mut self) {
        match self.peek() {
            // The semicolon of a statement's head is taken by the statement.
            T::Semicolon => self.bump(),
            _ => self.semicolon(),
        }
    }

    /// Up to the `;` or `{` behind a list of declarators.
    fn skip_statement_list(&mut self) {
        while !matches!(self.peek(), T::Semicolon | T::LBrace | T::Eof | T::RBrace) {
            if matches!(self.peek(), T::LParen | T::LBracket) {
                self.skip_brackets();
            } else {
                self.bump();
            }
        }
    }

    fn typedef(&mut self, start: usize, base: Type, first: Declared) -> Parsed {
        let mut aliases = Vec::new();
        let mut next = first;
        loop {
            let ty = match next.function {
                Some(function) => function.of(next.ty, false),
                None => next.ty,
            };
            if let DeclaredName::Plain(name) = next.name
                && let Some(last) = name.segments.into_iter().next_back()
            {
                aliases.push(Alias {
                    template: None,
                    name: last.ident,
                    ty,
                    span: self.span_from(start),
                });
            }
            // `typedef float T __attribute__((vector_size(16)))`
            while self.peek() == T::Ident
                && let Some(SpecifierWord::Attribute(word)) =
                    self.dialect.specifier_word(self.text())
            {
                self.word_attribute(word, &mut Vec::new());
            }
            if !self.eat(T::Comma) {
                break;
            }
            let first = aliases.first().map(|alias: &Alias| &alias.name);
            next = self.declarator(self.named_again(&base, first), Place::Namespace);
        }
        self.semicolon();
        Parsed::Aliases(aliases)
    }

    /// The type of the declarators behind the first: in C the structure that stands in front of all is defined once.
    fn named_again(&self, base: &Type, first: Option<&Ident>) -> Type {
        let tag = match &base.kind {
            TypeKind::InlineStruct(inner) if !self.dialect.has_templates() => {
                match (&inner.name, first) {
                    (Some(name), _) => Some(name.clone()),
                    (None, Some(first)) => Some(super::declarators::name_of(first.clone())),
                    _ => None,
                }
            }
            _ => None,
        };
        let mut ty = base.clone();
        if let Some(name) = tag {
            ty.kind = TypeKind::Named(name);
        }
        ty
    }

    /// A declarator's attributes, width, semantic and initializer.
    pub(super) fn init_declarator(&mut self, declared: Declared, place: Place) -> Declarator {
        let name = match declared.name {
            DeclaredName::Plain(mut name) => match (name.segments.len(), name.global) {
                (1, false) if name.segments[0].template_arguments.is_none() => {
                    DeclaratorName::Plain(name.segments.remove(0).ident)
                }
                _ => DeclaratorName::Qualified(name),
            },
            DeclaredName::Binding(names) => DeclaratorName::Binding(names),
            _ => DeclaratorName::None,
        };
        let mut attributes = Vec::new();
        let mut bit_width = None;
        let mut semantic: Option<Ident> = None;
        loop {
            match self.peek() {
                T::Colon
                    if self.dialect == Dialect::Hlsl
                        && (self.nth(1) == T::Ident || self.nth(1) == T::Register) =>
                {
                    if let Some(found) = self.semantic(&mut attributes) {
                        semantic = Some(found);
                    }
                }
                T::Colon if place == Place::Class => {
                    self.bump();
                    bit_width = Some(self.conditional());
                }
                // Effect files annotate variables: `< string UIName = "x"; >`.
                T::Less if self.dialect == Dialect::Hlsl => self.annotations(),
                T::LBracket if self.at_bracket_attribute() && self.nth(1) == T::LBracket => {
                    self.bracket_attribute(&mut attributes)
                }
                T::Alignas => self.alignas(&mut attributes),
                T::Asm => {
                    self.bump();
                    if self.peek() == T::LParen {
                        self.skip_brackets();
                    }
                }
                T::Ident => match self.dialect.specifier_word(self.text()) {
                    Some(SpecifierWord::Attribute(word)) => {
                        self.word_attribute(word, &mut attributes)
                    }
                    Some(SpecifierWord::Ignored | SpecifierWord::Set(_)) => self.bump(),
                    _ => break,
                },
                _ => break,
            }
        }
        let initializer = match self.peek() {
            T::Equal => {
                self.bump();
                Initializer::Copy(self.initializer_clause())
            }
            T::LBrace if self.dialect == Dialect::Hlsl => {
                // The state of an effect's sampler or blend object.
                self.skip_brackets();
                Initializer::None
            }
            T::LBrace => Initializer::Brace(self.argument_list(T::RBrace)),
            T::LParen => Initializer::Paren(self.argument_list(T::RParen)),
            _ => Initializer::None,
        };
        if self.dialect == Dialect::Hlsl {
            while self.peek() == T::Colon && self.nth(1) == T::Ident {
                if let Some(found) = self.semantic(&mut attributes) {
                    semantic = Some(found);
                }
            }
            if self.peek() == T::Less {
                self.annotations();
            }
        }
        Declarator {
            name,
            ty: declared.ty,
            initializer,
            bit_width,
            semantic,
            attributes,
            span: self.span_from(declared.start),
        }
    }

    /// An expression or a braced list.
    pub(super) fn initializer_clause(&mut self) -> Expr {
        if self.peek() == T::LBrace {
            return self.initializer_list();
        }
        if self.dialect == Dialect::Hlsl
            && self.peek() == T::Ident
            && self.text() == "sampler_state"
            && self.nth(1) == T::LBrace
        {
            let start = self.mark();
            self.bump();
            self.skip_brackets();
            return Expr {
                kind: ExprKind::List(Vec::new()),
                span: self.span_from(start),
            };
        }
        self.assignment()
    }
}

fn anonymous(ty: Type) -> Declarator {
    let span = ty.span;
    Declarator {
        name: DeclaratorName::None,
        ty,
        initializer: Initializer::None,
        bit_width: None,
        semantic: None,
        attributes: Vec::new(),
        span,
    }
}
