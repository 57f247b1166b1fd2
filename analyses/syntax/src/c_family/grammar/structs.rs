//! Structs, classes, unions, interfaces and enums, with their members.

use super::declarations::Parsed;
use super::{Parser, Place};
use crate::c_family::ast::{
    Alias, Attribute, Enum, Member, Name, NameSegment, Struct, StructKind, TemplateParameters,
    Type, TypeKind,
};
use crate::c_family::dialect::SpecifierWord;
use crate::c_family::token::TokenKind as T;

/// Levels of nesting, besides its own, that a class body counts for.
const CLASS_LEVELS: u32 = 5;

impl Parser<'_> {
    /// `struct S`, `class A : B { ... }`; the parser stands on the keyword. Whether it has no body comes with it.
    pub(super) fn tagged_type(&mut self, place: Place) -> (TypeKind, bool) {
        let start = self.mark();
        let kind = match self.peek() {
            T::Class => StructKind::Class,
            T::Union => StructKind::Union,
            T::Interface => StructKind::Interface,
            _ => StructKind::Struct,
        };
        self.bump();
        let mut attributes = Vec::new();
        let mut name = self.tag_name(&mut attributes);
        self.as_tag(
            &mut name,
            match kind {
                StructKind::Union => "union",
                _ => "struct",
            },
        );
        if self.is_word(self.at, "final") && matches!(self.nth(1), T::LBrace | T::Colon) {
            self.bump();
        }
        let body = match self.peek() {
            T::LBrace => true,
            T::Colon => place != Place::TypeId && place != Place::Parameter && self.bases_follow(),
            _ => false,
        };
        if !body {
            return match name {
                Some(name) => (TypeKind::Named(name), true),
                None => {
                    self.expected("a name or `{`");
                    (TypeKind::Unknown, true)
                }
            };
        }
        let bases = if self.eat(T::Colon) {
            self.bases()
        } else {
            Vec::new()
        };
        let class = name
            .as_ref()
            .filter(|_| self.dialect.has_templates())
            .and_then(|name| name.segments.last())
            .map(|last| last.ident.name.clone());
        let members = self.members(class);
        while !self.dialect.has_templates()
            && self.peek() == T::Ident
            && let Some(SpecifierWord::Attribute(word)) = self.dialect.specifier_word(self.text())
        {
            self.word_attribute(word, &mut attributes);
        }
        let definition = Struct {
            template: None,
            name,
            kind,
            bases,
            members,
            attributes,
            has_body: true,
            span: self.span_from(start),
        };
        (TypeKind::InlineStruct(Box::new(definition)), false)
    }

    /// Tags of C have a name space of their own: the name of `struct s` is `struct s`.
    fn as_tag(&self, name: &mut Option<Name>, word: &str) {
        if !self.dialect.has_templates()
            && let Some(last) = name.as_mut().and_then(|name| name.segments.last_mut())
        {
            last.ident.name = smol_str::format_smolstr!("{word} {}", last.ident.name);
        }
    }

    /// Attributes and the name of a tag; words that no include explains stand in front of it.
    fn tag_name(&mut self, attributes: &mut Vec<Attribute>) -> Option<Name> {
        loop {
            match self.peek() {
                T::Alignas => self.alignas(attributes),
                T::LBracket if self.at_bracket_attribute() => self.bracket_attribute(attributes),
                T::Ident => match self.dialect.specifier_word(self.text()) {
                    Some(SpecifierWord::Attribute(word)) => self.word_attribute(word, attributes),
                    Some(SpecifierWord::Set(_) | SpecifierWord::Ignored) => self.bump(),
                    _ => {
                        let macro_call = self.nth(1) == T::LParen && {
                            let end = self.near(self.at + 1);
                            matches!(self.kind_at(end), T::Ident | T::LBrace)
                        };
                        let macro_word = self.nth(1) == T::Ident
                            && !self.is_word(self.at + 1, "final")
                            && (self.nth(2) == T::LBrace
                                || self.dialect.has_templates()
                                    && (matches!(self.nth(2), T::Colon | T::Less | T::ColonColon)
                                        || self.is_word(self.at + 2, "final")))
                            && !self.is_type_name(self.text());
                        if macro_call {
                            self.bump();
                            self.skip_brackets();
                        } else if macro_word {
                            self.bump();
                        } else {
                            return self.type_name();
                        }
                    }
                },
                T::ColonColon => return self.type_name(),
                _ => return None,
            }
        }
    }

    /// `: public A, B<T> {` and not the width of a bit-field.
    fn bases_follow(&self) -> bool {
        let mut at = self.at + 1;
        for _ in 0..256 {
            match self.kind_at(at) {
                T::LBrace => return true,
                T::Semicolon | T::Eof | T::RBrace | T::Equal | T::RParen => return false,
                T::LParen => {
                    at = self.near(at);
                    continue;
                }
                _ => {}
            }
            at += 1;
        }
        false
    }

    fn bases(&mut self) -> Vec<Type> {
        let mut bases = Vec::new();
        loop {
            while matches!(
                self.peek(),
                T::Public | T::Private | T::Protected | T::Virtual
            ) {
                self.bump();
            }
            let start = self.mark();
            self.eat(T::Typename);
            if self.peek() == T::Decltype {
                bases.push(self.type_id());
            } else if let Some(name) = self.type_name() {
                let span = self.span_from(start);
                bases.push(Type {
                    kind: TypeKind::Named(name),
                    is_const: false,
                    is_volatile: false,
                    is_restrict: false,
                    span,
                });
            } else {
                break;
            }
            self.eat(T::Ellipsis);
            if !self.eat(T::Comma) {
                break;
            }
        }
        if self.peek() != T::LBrace {
            self.expected("`{`");
            while !matches!(self.peek(), T::LBrace | T::Eof | T::Semicolon) {
                self.bump();
            }
        }
        bases
    }

    /// `{ ... }` of a class.
    fn members(&mut self, class: Option<smol_str::SmolStr>) -> Vec<Member> {
        let mut members = Vec::new();
        if !self.enter() {
            self.skip_brackets();
            return members;
        }
        if !self.eat(T::LBrace) {
            self.leave();
            return members;
        }
        let saved = std::mem::replace(&mut self.class, class);
        // A class inside a class takes several times the stack of any other level.
        self.depth += CLASS_LEVELS;
        self.bracketed(|this| {
            while !matches!(this.peek(), T::RBrace | T::Eof) {
                let before = this.at;
                this.member(&mut members);
                if this.at == before {
                    this.expected("a member");
                    this.bump();
                }
            }
        });
        self.depth -= CLASS_LEVELS;
        self.class = saved;
        if !self.eat(T::RBrace) {
            self.expected("`}`");
        }
        self.leave();
        members
    }

    fn member(&mut self, members: &mut Vec<Member>) {
        let start = self.mark();
        match self.peek() {
            T::Semicolon => return self.bump(),
            T::Public | T::Private | T::Protected => {
                self.bump();
                // `public slots:` and the like
                if self.peek() == T::Ident && self.nth(1) == T::Colon {
                    self.bump();
                }
                self.expect(T::Colon);
                return;
            }
            T::StaticAssert => return self.skip_statement(),
            T::Using => return self.member_using(None, start, members),
            T::PragmaUnroll => return self.pragma_attribute(&mut Vec::new()),
            T::Friend if matches!(self.nth(1), T::Class | T::Struct | T::Union) => {
                return self.skip_statement();
            }
            // A macro that stands alone on its line: `Q_OBJECT`.
            T::Ident
                if self.flag_at(self.at + 1, super::LINE_START)
                    && matches!(
                        self.nth(1),
                        T::Public | T::Private | T::Protected | T::RBrace
                    ) =>
            {
                return self.bump();
            }
            _ => {}
        }
        let template = self.template_heads();
        match self.peek() {
            T::Using => return self.member_using(template, start, members),
            T::Friend if matches!(self.nth(1), T::Class | T::Struct | T::Union) => {
                return self.skip_statement();
            }
            T::Concept => return self.skip_statement(),
            _ => {}
        }
        let problems = self.problems.len();
        match self.declaration(template.clone(), start, Place::Class) {
            Parsed::Function(function) => members.push(Member::Method(*function)),
            Parsed::Variables(declaration) => members.push(Member::Fields(declaration)),
            Parsed::Aliases(aliases) => members.extend(aliases.into_iter().map(Member::Alias)),
            Parsed::Definition(ty) => match ty.kind {
                TypeKind::InlineStruct(mut inner) => {
                    inner.template = template;
                    members.push(Member::Struct(*inner));
                }
                TypeKind::InlineEnum(inner) => members.push(Member::Enum(*inner)),
                _ => {}
            },
            Parsed::Forward | Parsed::Nothing => {}
            Parsed::Unknown => {
                if self.problems.len() == problems {
                    self.expected("a member");
                }
                if self.at == start && self.peek() != T::RBrace {
                    self.bump();
                }
                self.skip_statement();
                members.push(Member::Unknown {
                    span: self.span_from(start),
                });
            }
        }
    }

    fn member_using(
        &mut self,
        template: Option<TemplateParameters>,
        start: usize,
        members: &mut Vec<Member>,
    ) {
        self.bump();
        if self.peek() == T::Ident && self.alias_follows() {
            if let Some(alias) = self.alias(template, start) {
                members.push(Member::Alias(alias));
            }
            return;
        }
        self.eat(T::Typename);
        if let Some(name) = self.expression_name() {
            members.push(Member::UsingName(name));
        }
        self.skip_statement();
    }

    /// Returns true if `name =` or `name [[attribute]] =` follows `using`.
    pub(super) fn alias_follows(&self) -> bool {
        match self.nth(1) {
            T::Equal => true,
            T::LBracket => self.kind_at(self.near(self.at + 1)) == T::Equal,
            T::Ident => {
                self.nth(2) == T::LParen && self.kind_at(self.near(self.at + 2)) == T::Equal
            }
            _ => false,
        }
    }

    /// `name = T;` behind `using`.
    pub(super) fn alias(
        &mut self,
        template: Option<TemplateParameters>,
        start: usize,
    ) -> Option<Alias> {
        let name = self.ident()?;
        while !matches!(self.peek(), T::Equal | T::Eof) {
            self.bump();
        }
        self.expect(T::Equal);
        let ty = self.type_id();
        self.eat(T::Ellipsis);
        self.semicolon();
        Some(Alias {
            template,
            name,
            ty,
            span: self.span_from(start),
        })
    }

    /// `enum E : int { A, B = 2 }`; the parser stands on `enum`.
    pub(super) fn enum_type(&mut self) -> (TypeKind, bool) {
        let start = self.mark();
        self.bump();
        let scoped = self.eat(T::Class) || self.eat(T::Struct);
        let mut attributes = Vec::new();
        let mut name: Option<Name> = self.tag_name(&mut attributes);
        self.as_tag(&mut name, "enum");
        let underlying_follows = self.peek() == T::Colon
            && (self.type_word(self.at + 1) || matches!(self.nth(1), T::Ident | T::ColonColon));
        let underlying = (underlying_follows && self.bases_or_end()).then(|| {
            self.bump();
            self.type_id()
        });
        if self.peek() != T::LBrace {
            return match name {
                Some(name) => (TypeKind::Named(name), true),
                None => {
                    self.expected("a name or `{`");
                    (TypeKind::Unknown, true)
                }
            };
        }
        self.bump();
        let enumerators = self.bracketed(|this| {
            let mut enumerators = Vec::new();
            while let Some(ident) = this.ident() {
                while this.at_bracket_attribute() {
                    this.bracket_attribute(&mut attributes);
                }
                if this.peek() == T::LParen {
                    // A macro that makes enumerators.
                    this.skip_brackets();
                }
                let value = this.eat(T::Equal).then(|| this.conditional());
                enumerators.push((ident, value));
                if !this.eat(T::Comma) && this.peek() != T::Ident {
                    break;
                }
            }
            enumerators
        });
        if !self.eat(T::RBrace) {
            self.expected("`}`");
            while !matches!(self.peek(), T::RBrace | T::Eof) {
                self.bump();
            }
            self.eat(T::RBrace);
        }
        let name = name
            .and_then(|name| name.segments.into_iter().next_back())
            .map(|NameSegment { ident, .. }| ident);
        let definition = Enum {
            name,
            scoped,
            underlying,
            enumerators,
            span: self.span_from(start),
        };
        (TypeKind::InlineEnum(Box::new(definition)), false)
    }

    /// `: type {` or `: type ;`
    fn bases_or_end(&self) -> bool {
        let scanned = self.scan_type(self.at + 1);
        scanned.is_some_and(|(end, _)| matches!(self.ahead_kind(end), T::LBrace | T::Semicolon))
    }
}
