//! Top-level declarations.

use super::declarations::Parsed;
use super::{Parser, Place};
use crate::c_family::ast::{ItemKind, TypeKind};
use crate::c_family::token::TokenKind as T;
use smol_str::SmolStr;

impl Parser<'_> {
    pub(super) fn item(&mut self) -> ItemKind {
        let kind = self.item_kind();
        while self.eat(T::Semicolon) {}
        if self.peek() != T::Eof && !matches!(kind, ItemKind::Unknown { .. }) {
            // The item goes on where its grammar does not: the rest is a problem of its own.
            let span = self.span_here();
            self.report(crate::Problem::syntax(
                span,
                "this is not part of the declaration before it",
            ));
        }
        kind
    }

    /// `PREFER_WAVE64 [numthreads(8, 8, 1)] void main()` without a definition of the macro.
    fn unknown_words(&mut self) {
        while self.peek() == T::Ident
            && super::specifiers::shouting(self.text())
            && !self.is_type_name(self.text())
            && self.nth(1) == T::LBracket
        {
            let start = self.mark();
            self.bump();
            if !self.at_bracket_attribute() {
                self.at = start;
                return;
            }
            let span = self.span_from(start);
            self.unsupported(
                span,
                "this looks like a macro whose definition is not known",
            );
        }
    }

    fn item_kind(&mut self) -> ItemKind {
        self.unknown_words();
        if let Some(kind) = self.hlsl_item() {
            return kind;
        }
        let start = self.mark();
        match self.peek() {
            T::Semicolon | T::Eof => return ItemKind::Nothing,
            T::StaticAssert => {
                self.skip_statement();
                return ItemKind::StaticAssert;
            }
            T::Using => return self.using(start),
            T::Namespace => return self.namespace_alias(),
            T::Asm => {
                self.skip_statement();
                return ItemKind::Nothing;
            }
            T::Extern if self.nth(1) == T::Template => {
                self.bump();
                return self.explicit_instantiation();
            }
            T::Template if self.nth(1) != T::Less => return self.explicit_instantiation(),
            T::LBracket if self.nth(1) == T::RBracket => {}
            _ => {}
        }
        let template = self.template_heads();
        match self.peek() {
            T::Using => {
                self.bump();
                return match self.alias(template, start) {
                    Some(alias) => ItemKind::Alias(alias),
                    None => self.unknown_item(),
                };
            }
            T::Concept => {
                self.skip_statement();
                return ItemKind::Nothing;
            }
            // Deduction guides and friends of templates mean nothing to execution.
            T::Friend => {
                self.skip_statement();
                return ItemKind::Nothing;
            }
            _ => {}
        }
        match self.declaration(template.clone(), start, Place::Namespace) {
            Parsed::Function(function) => ItemKind::Function(*function),
            Parsed::Variables(declaration) => ItemKind::Variables(declaration),
            Parsed::Aliases(aliases) => self.aliases(aliases, start),
            Parsed::Definition(ty) => match ty.kind {
                TypeKind::InlineStruct(mut inner) => {
                    inner.template = template;
                    ItemKind::Struct(*inner)
                }
                TypeKind::InlineEnum(inner) => ItemKind::Enum(*inner),
                _ => ItemKind::Nothing,
            },
            Parsed::Forward | Parsed::Nothing => ItemKind::Nothing,
            Parsed::Unknown => {
                if self.problems.is_empty() {
                    self.expected("a declaration");
                }
                self.unknown_item()
            }
        }
    }

    /// `typedef T a, *b;`: several names in one item are a declaration whose specifiers say so.
    fn aliases(&self, mut aliases: Vec<crate::c_family::ast::Alias>, start: usize) -> ItemKind {
        use crate::c_family::ast::{
            Declaration, Declarator, DeclaratorName, Initializer, SpecifierSet, Specifiers,
        };
        if aliases.len() < 2 || self.dialect.has_templates() {
            return match aliases.is_empty() {
                false => ItemKind::Alias(aliases.remove(0)),
                true => ItemKind::Nothing,
            };
        }
        let span = self.span_from(start);
        let declarators = aliases
            .into_iter()
            .map(|alias| Declarator {
                name: DeclaratorName::Plain(alias.name),
                ty: alias.ty,
                initializer: Initializer::None,
                bit_width: None,
                semantic: None,
                attributes: Vec::new(),
                span: alias.span,
            })
            .collect();
        ItemKind::Variables(Declaration {
            template: None,
            specifiers: Specifiers {
                words: SpecifierSet(SpecifierSet::TYPEDEF),
                attributes: Vec::new(),
                span,
            },
            declarators,
            span,
        })
    }

    fn using(&mut self, start: usize) -> ItemKind {
        self.bump();
        if self.eat(T::Namespace) {
            let path = self.path();
            self.semicolon();
            return ItemKind::UsingNamespace(path);
        }
        if self.peek() == T::Ident && self.alias_follows() {
            return match self.alias(None, start) {
                Some(alias) => ItemKind::Alias(alias),
                None => self.unknown_item(),
            };
        }
        self.eat(T::Typename);
        match self.expression_name() {
            Some(name) => {
                self.skip_statement();
                ItemKind::UsingName(name)
            }
            None => self.unknown_item(),
        }
    }

    /// `a::b::c`
    pub(super) fn path(&mut self) -> Vec<SmolStr> {
        let mut path = Vec::new();
        self.eat(T::ColonColon);
        while let Some(ident) = self.ident() {
            path.push(ident.name);
            if !self.eat(T::ColonColon) {
                break;
            }
        }
        path
    }

    /// `namespace a = b::c;`
    fn namespace_alias(&mut self) -> ItemKind {
        self.bump();
        let name = self.ident();
        if let Some(name) = name
            && self.eat(T::Equal)
        {
            let target = self.path();
            self.semicolon();
            return ItemKind::NamespaceAlias { name, target };
        }
        self.expected("`=` or `{`");
        self.unknown_item()
    }

    /// `template __global__ void f<float>(...);`
    fn explicit_instantiation(&mut self) -> ItemKind {
        self.bump();
        if matches!(self.peek(), T::Struct | T::Class | T::Union) {
            self.bump();
            let name = self.type_name();
            self.skip_statement();
            return match name {
                Some(name) => ItemKind::ExplicitInstantiation {
                    name,
                    function: false,
                },
                None => ItemKind::Nothing,
            };
        }
        let specified = self.decl_specifiers(Place::Namespace);
        let base = specified
            .ty
            .unwrap_or_else(|| super::types::plain(TypeKind::Unknown, self.span_here()));
        let _ = self.pointer_operators(base);
        let name = self.type_name();
        self.skip_statement();
        match name {
            Some(name) => ItemKind::ExplicitInstantiation {
                name,
                function: true,
            },
            None => ItemKind::Nothing,
        }
    }
}
