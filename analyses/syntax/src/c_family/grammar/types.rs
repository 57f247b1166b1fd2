//! Types: builtin words in any order, type-ids (a type without a name), and how a base type grows.

use super::declarators::DeclaredName;
use super::{Parser, Place};
use crate::c_family::ast::{Type, TypeKind};
use crate::c_family::token::TokenKind as T;
use crate::source::Span;
use smol_str::SmolStr;

pub(super) fn plain(kind: TypeKind, span: Span) -> Type {
    Type {
        kind,
        is_const: false,
        is_volatile: false,
        is_restrict: false,
        span,
    }
}

/// The number of times that each builtin word was written.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct BuiltinWords {
    signed: bool,
    unsigned: bool,
    short: bool,
    longs: u8,
    int: bool,
    /// `char`, `float`, `void`, ...
    base: Option<T>,
}

impl BuiltinWords {
    pub(super) fn any(self) -> bool {
        self.signed
            || self.unsigned
            || self.short
            || self.longs > 0
            || self.int
            || self.base.is_some()
    }

    /// Adds a word; false when it is none, or none that can follow.
    pub(super) fn add(&mut self, kind: T) -> bool {
        match kind {
            T::Signed => self.signed = true,
            T::Unsigned => self.unsigned = true,
            T::Short => self.short = true,
            T::Long => self.longs = (self.longs + 1).min(2),
            T::Int => self.int = true,
            _ if super::scan::builtin_word(kind) && self.base.is_none() => self.base = Some(kind),
            _ => return false,
        }
        true
    }

    /// `unsigned __int64`
    pub(super) fn add_int64(&mut self) {
        self.longs = 2;
    }

    pub(super) fn spelling(self) -> SmolStr {
        SmolStr::new_static(match self.base {
            Some(T::CharKw) if self.unsigned => "unsigned char",
            Some(T::CharKw) if self.signed => "signed char",
            Some(T::Double) if self.longs > 0 => "long double",
            Some(kind) => kind.text(),
            None => match (self.short, self.longs, self.unsigned) {
                (true, _, true) => "unsigned short",
                (true, _, false) => "short",
                (_, 2, true) => "unsigned long long",
                (_, 2, false) => "long long",
                (_, 1, true) => "unsigned long",
                (_, 1, false) => "long",
                (_, _, true) => "unsigned int",
                (_, _, false) => "int",
            },
        })
    }
}

impl Parser<'_> {
    /// A type without a name: in casts, template arguments, `sizeof`, trailing returns.
    pub(super) fn type_id(&mut self) -> Type {
        let start = self.mark();
        if !self.enter() {
            self.skip_expression();
            return plain(TypeKind::Unknown, self.span_from(start));
        }
        let specified = self.decl_specifiers(Place::TypeId);
        let base = match specified.ty {
            Some(ty) => ty,
            None => {
                self.expected("a type");
                plain(TypeKind::Unknown, self.span_from(start))
            }
        };
        let declared = self.declarator(base, Place::TypeId);
        if !matches!(declared.name, DeclaredName::None) {
            let span = self.span_from(start);
            self.unsupported(span, "a name stands where a type without one is expected");
        }
        self.leave();
        let mut ty = declared.ty;
        if let Some(function) = declared.function {
            ty = function.of(ty, false);
        }
        ty
    }
}
