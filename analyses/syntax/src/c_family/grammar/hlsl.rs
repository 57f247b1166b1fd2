//! Constructs of HLSL alone: constant buffers, semantics and registers, and the remains of the effect
//! framework.

use super::declarations::Parsed;
use super::{Parser, Place};
use crate::c_family::ast::{Attribute, CBuffer, Ident, ItemKind};
use crate::c_family::dialect::Dialect;
use crate::c_family::token::TokenKind as T;
use smol_str::SmolStr;

impl Parser<'_> {
    /// `: SV_Position`, `: register(t0)`, `: packoffset(c0.y)`, repeated. Returns the semantic.
    pub(super) fn semantic(&mut self, attributes: &mut Vec<Attribute>) -> Option<Ident> {
        let mut semantic = None;
        while self.dialect == Dialect::Hlsl && self.peek() == T::Colon {
            let call = self.nth(2) == T::LParen;
            match self.nth(1) {
                T::Register => {
                    self.bump();
                    self.word_attribute("register", attributes);
                }
                T::Ident if call => {
                    self.bump();
                    let name = SmolStr::new(self.text());
                    self.word_attribute(&name, attributes);
                }
                T::Ident => {
                    self.bump();
                    semantic = self.ident();
                }
                _ => break,
            }
        }
        semantic
    }

    /// `< string UIName = "x"; >`
    pub(super) fn annotations(&mut self) {
        self.bump();
        while !matches!(self.peek(), T::Greater | T::Eof | T::LBrace | T::RBrace) {
            self.bump();
        }
        self.eat(T::Greater);
    }

    /// An item that begins with a word of HLSL's own.
    pub(super) fn hlsl_item(&mut self) -> Option<ItemKind> {
        if self.dialect != Dialect::Hlsl {
            return None;
        }
        let mut first = self.at;
        while self.kind_at(first) == T::LBracket {
            first = self.closing(first);
        }
        if self.kind_at(first) != T::Ident {
            return None;
        }
        let word = self.text_at(first);
        match word {
            "cbuffer" | "tbuffer" if self.kind_at(first + 1) == T::Ident => {
                let mut attributes = Vec::new();
                while self.at < first {
                    self.bracket_attribute(&mut attributes);
                }
                Some(self.constant_buffer(word == "tbuffer", attributes))
            }
            // `ConstantBuffer X { ... }` of the effect framework has no arguments.
            _ if word.to_ascii_lowercase().starts_with("technique") || word == "fxgroup" => {
                self.at = self.tokens.len();
                Some(ItemKind::Nothing)
            }
            _ => None,
        }
    }

    fn constant_buffer(&mut self, texture: bool, mut attributes: Vec<Attribute>) -> ItemKind {
        let start = self.mark();
        self.bump();
        let Some(name) = self.ident() else {
            return self.unknown_item();
        };
        self.semantic(&mut attributes);
        if self.peek() == T::Less {
            self.annotations();
        }
        if !self.eat(T::LBrace) {
            self.expected("`{`");
            return self.unknown_item();
        }
        let mut members = Vec::new();
        while !matches!(self.peek(), T::RBrace | T::Eof) {
            if self.eat(T::Semicolon) {
                continue;
            }
            let from = self.mark();
            match self.declaration(None, from, Place::Class) {
                Parsed::Variables(declaration) => members.push(declaration),
                Parsed::Function(_)
                | Parsed::Aliases(_)
                | Parsed::Definition(_)
                | Parsed::Forward
                | Parsed::Nothing => {}
                Parsed::Unknown => {
                    self.expected("a member");
                    if self.at == from {
                        self.bump();
                    }
                    self.skip_statement();
                }
            }
        }
        if !self.eat(T::RBrace) {
            self.expected("`}`");
        }
        let span = self.span_from(start);
        self.eat(T::Semicolon);
        ItemKind::CBuffer(CBuffer {
            name,
            texture,
            members,
            attributes,
            span,
        })
    }
}
