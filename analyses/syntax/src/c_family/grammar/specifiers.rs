//! The words before a declarator: specifier words of the dialect, attributes and the base type, in any order.

use super::types::{BuiltinWords, plain};
use super::{Parser, Place};
use crate::c_family::ast::{Attribute, Direction, SpecifierSet as S, Specifiers, Type, TypeKind};
use crate::c_family::dialect::{Dialect, SpecifierWord};
use crate::c_family::token::TokenKind as T;
use crate::source::Span;
use smol_str::SmolStr;

/// Specifiers and the type among them.
#[derive(Debug)]
pub(super) struct Specified {
    pub(super) specifiers: Specifiers,
    pub(super) direction: Direction,
    /// `None` when only specifiers were found: constructors, conversions, macros.
    pub(super) ty: Option<Type>,
    /// `struct S` was written without a body: a lone `;` behind it makes a forward declaration.
    pub(super) elaborated: bool,
}

struct State {
    set: S,
    attributes: Vec<Attribute>,
    direction: Direction,
    words: BuiltinWords,
    named: Option<TypeKind>,
    is_const: bool,
    is_volatile: bool,
    elaborated: bool,
    type_span: Option<Span>,
}

impl State {
    fn typed(&self) -> bool {
        self.named.is_some() || self.words.any()
    }
    fn cover(&mut self, span: Span) {
        self.type_span = Some(self.type_span.map_or(span, |before| before.to(span)));
    }
}

impl Parser<'_> {
    pub(super) fn decl_specifiers(&mut self, place: Place) -> Specified {
        let start = self.mark();
        let mut state = State {
            set: S::default(),
            attributes: Vec::new(),
            direction: Direction::In,
            words: BuiltinWords::default(),
            named: None,
            is_const: false,
            is_volatile: false,
            elaborated: false,
            type_span: None,
        };
        loop {
            let before = self.at;
            if !self.specifier(&mut state, place) || self.at == before {
                break;
            }
        }
        let specifiers = Specifiers {
            words: state.set,
            attributes: state.attributes,
            span: self.span_from(start),
        };
        let kind = match state.named {
            Some(kind) => Some(kind),
            None if state.words.any() => Some(TypeKind::Builtin(state.words.spelling())),
            // `static x = 1;`, `constexpr y = 2;` are not C++; `auto` is left out by nobody.
            None => None,
        };
        let span = state.type_span.unwrap_or(specifiers.span);
        let ty = kind.map(|kind| Type {
            kind,
            is_const: state.is_const,
            is_volatile: state.is_volatile,
            is_restrict: false,
            span,
        });
        Specified {
            specifiers,
            direction: state.direction,
            ty,
            elaborated: state.elaborated,
        }
    }

    /// Takes one specifier; false when there is none.
    fn specifier(&mut self, state: &mut State, place: Place) -> bool {
        if self.half {
            return false;
        }
        let kind = self.peek();
        let bit = match kind {
            T::Static => S::STATIC,
            T::Inline => S::INLINE,
            T::Constexpr | T::Consteval | T::Constinit => S::CONSTEXPR,
            T::Typedef => S::TYPEDEF,
            T::Friend => S::FRIEND,
            T::Virtual => S::VIRTUAL,
            T::Mutable => S::MUTABLE,
            T::ThreadLocal => S::THREAD_LOCAL,
            T::Register => S::REGISTER,
            T::Extern => S::EXTERN,
            T::Explicit => S::EXPLICIT,
            T::Const => S::CONST,
            T::Volatile => S::VOLATILE,
            _ => 0,
        };
        if bit != 0 {
            state.set.insert(bit);
            state.is_const |= bit == S::CONST;
            state.is_volatile |= bit == S::VOLATILE;
            if bit == S::CONST || bit == S::VOLATILE {
                state.cover(self.span_here());
            }
            self.bump();
            if kind == T::Extern {
                self.eat(T::Str);
            }
            if kind == T::Explicit && self.peek() == T::LParen {
                self.skip_brackets();
            }
            return true;
        }
        let start = self.mark();
        match kind {
            T::Alignas => self.alignas(&mut state.attributes),
            T::LBracket
                if self.at_bracket_attribute()
                    && (!state.typed() || self.nth(1) == T::LBracket) =>
            {
                self.bracket_attribute(&mut state.attributes);
            }
            T::Auto if !state.typed() => {
                self.bump();
                state.named = Some(TypeKind::Auto);
                state.cover(self.span_from(start));
            }
            T::Decltype if !state.typed() => {
                let named = self.kind_at(self.near(self.at + 1)) == T::ColonColon;
                let name = if named { self.type_name() } else { None };
                state.named = Some(match name {
                    Some(name) => TypeKind::Named(name),
                    None => {
                        self.bump();
                        self.decltype()
                    }
                });
                state.cover(self.span_from(start));
            }
            T::Struct | T::Class | T::Union | T::Interface if !state.typed() => {
                let (kind, elaborated) = self.tagged_type(place);
                state.named = Some(kind);
                state.elaborated = elaborated;
                state.cover(self.span_from(start));
            }
            T::Enum if !state.typed() => {
                let (kind, elaborated) = self.enum_type();
                state.named = Some(kind);
                state.elaborated = elaborated;
                state.cover(self.span_from(start));
            }
            T::Typename if !state.typed() => {
                self.bump();
                let Some(name) = self.type_name() else {
                    return false;
                };
                state.named = Some(TypeKind::Named(name));
                state.cover(self.span_from(start));
            }
            _ if super::scan::builtin_word(kind) && state.named.is_none() => {
                if !state.words.add(kind) {
                    return false;
                }
                self.bump();
                state.cover(self.span_from(start));
            }
            T::Ident => return self.word_specifier(state, place),
            T::ColonColon if !state.typed() && self.nth(1) == T::Ident => {
                let Some(name) = self.type_name() else {
                    return false;
                };
                state.named = Some(TypeKind::Named(name));
                state.cover(self.span_from(start));
            }
            _ => return false,
        }
        true
    }

    fn word_specifier(&mut self, state: &mut State, place: Place) -> bool {
        let start = self.mark();
        let text = self.text();
        if let Some(word) = self.dialect.specifier_word(text) {
            match word {
                SpecifierWord::Set(bit) => {
                    state.set.insert(bit);
                    self.bump();
                    return true;
                }
                SpecifierWord::Contextual(bit) if !state.typed() && self.word_follows(self.at) => {
                    state.set.insert(bit);
                    self.bump();
                    return true;
                }
                SpecifierWord::In | SpecifierWord::Out | SpecifierWord::InOut if !state.typed() => {
                    state.direction = match (word, state.direction) {
                        (SpecifierWord::In, Direction::Out)
                        | (SpecifierWord::Out, Direction::InOut)
                        | (SpecifierWord::InOut, _) => Direction::InOut,
                        (SpecifierWord::In, other) => other,
                        _ => Direction::Out,
                    };
                    self.bump();
                    return true;
                }
                SpecifierWord::Ignored => {
                    self.bump();
                    return true;
                }
                SpecifierWord::IgnoredContextual
                    if !state.typed() && self.word_follows(self.at) =>
                {
                    self.bump();
                    return true;
                }
                SpecifierWord::Attribute(name) => {
                    self.word_attribute(name, &mut state.attributes);
                    return true;
                }
                _ => {}
            }
        }
        if state.words.any() && matches!(text, "__int64" | "__int128") {
            state.words.add_int64();
            self.bump();
            return true;
        }
        if self.dialect == Dialect::Hlsl
            && self.kind_at(self.at.wrapping_sub(1)) == T::Unsigned
            && text.starts_with("int")
            && self.is_type_name(text)
        {
            // `unsigned int2` is `uint2`.
            let Some(mut ident) = self.ident() else {
                return false;
            };
            ident.name = SmolStr::new(format!("u{text}"));
            state.words = BuiltinWords::default();
            state.named = Some(TypeKind::Named(super::declarators::name_of(ident)));
            state.cover(self.span_from(start));
            return true;
        }
        if state.typed() {
            // `void CALLBACK f(...)`
            let convention = matches!(place, Place::Namespace | Place::Class | Place::Block)
                && self.nth(1) == T::Ident
                && self.nth(2) == T::LParen;
            if convention {
                state.attributes.push(Attribute {
                    name: SmolStr::new(text),
                    arguments: Vec::new(),
                    span: self.span_here(),
                });
                self.bump();
            }
            return convention;
        }
        if self.dialect == Dialect::Hlsl && text == "half" {
            self.bump();
            state.named = Some(TypeKind::Builtin(SmolStr::new_static("half")));
            state.cover(self.span_from(start));
            return true;
        }
        if self.macro_specifier(place) {
            let name = SmolStr::new(text);
            self.bump();
            if self.peek() == T::LParen {
                self.skip_brackets();
            }
            state.attributes.push(Attribute {
                name,
                arguments: Vec::new(),
                span: self.span_from(start),
            });
            return true;
        }
        if self.nameless_declarator(place) {
            return false;
        }
        let Some(name) = self.type_name() else {
            return false;
        };
        state.named = Some(TypeKind::Named(name));
        state.cover(self.span_from(start));
        true
    }

    /// `decltype` has been taken.
    fn decltype(&mut self) -> TypeKind {
        if self.peek() != T::LParen {
            self.expected("`(`");
            return TypeKind::Unknown;
        }
        self.bump();
        let value = self.bracketed(|this| {
            if this.peek() == T::Auto {
                this.bump();
                return crate::c_family::ast::Expr {
                    kind: crate::c_family::ast::ExprKind::Unknown,
                    span: this.span_here(),
                };
            }
            match this.type_operand(T::RParen) {
                true => {
                    let start = this.mark();
                    this.type_id();
                    crate::c_family::ast::Expr {
                        kind: crate::c_family::ast::ExprKind::Unknown,
                        span: this.span_from(start),
                    }
                }
                false => this.expression(),
            }
        });
        self.expect(T::RParen);
        TypeKind::Decltype(Box::new(value))
    }

    /// A name that no include explains, in front of a whole declaration: `API void f();`, `MACRO(x) int y;`.
    fn macro_specifier(&self, place: Place) -> bool {
        let at = self.at;
        if self.is_type_name(self.text()) && self.kind_at(at + 1) != T::LParen {
            return false;
        }
        let next = self.kind_at(at + 1);
        match next {
            T::Const | T::Volatile => {
                // `Foo const x` against `API const Foo x`.
                super::scan::builtin_word(self.kind_at(at + 2))
                    || self.kind_at(at + 2) == T::Ident
                        && (matches!(self.kind_at(at + 3), T::Ident | T::Star | T::And)
                            || self.kind_at(at + 2) == T::Ident
                                && self.is_type_name(self.text_at(at + 2)))
            }
            T::Static
            | T::Inline
            | T::Extern
            | T::Struct
            | T::Class
            | T::Union
            | T::Enum
            | T::Typename
            | T::Auto
            | T::Decltype
            | T::Constexpr
            | T::Template
            | T::Friend
            | T::Virtual
            | T::Explicit
            | T::Typedef => true,
            _ if super::scan::builtin_word(next) => true,
            T::Ident => {
                let mut second = at + 1;
                // Specifier words in between: `API __global__ void k()`, but `T __restrict__ x`.
                while matches!(
                    self.dialect.specifier_word(self.text_at(second)),
                    Some(
                        SpecifierWord::Set(_)
                            | SpecifierWord::Contextual(_)
                            | SpecifierWord::Ignored
                            | SpecifierWord::Attribute(_)
                    )
                ) && self.kind_at(second) == T::Ident
                {
                    second += 1;
                    if self.kind_at(second) == T::LParen {
                        second = self.near(second);
                    }
                }
                if self.type_word(second)
                    || matches!(
                        self.kind_at(second),
                        T::Static | T::Inline | T::Constexpr | T::Extern
                    )
                {
                    return true;
                }
                if self.kind_at(second) != T::Ident {
                    return false;
                }
                let Some(end) = self.scan_name(second) else {
                    return false;
                };
                if end.half {
                    return false;
                }
                match self.kind_at(end.at) {
                    T::Ident => {
                        !matches!(self.text_at(end.at), "override" | "final")
                            && !self.is_specifier_word(end.at)
                            || self.is_type_name(self.text_at(second))
                    }
                    T::Star | T::And => true,
                    T::Operator | T::Const | T::Volatile => true,
                    T::Static | T::Inline | T::Constexpr | T::Auto | T::Struct | T::Typename => {
                        true
                    }
                    kind => super::scan::builtin_word(kind),
                }
            }
            T::LParen => {
                if !matches!(place, Place::Namespace | Place::Class) && !shouting(self.text()) {
                    return false;
                }
                if self.class.as_deref() == Some(self.text()) {
                    return false;
                }
                let end = self.near(at + 1);
                match self.kind_at(end) {
                    T::Ident => {
                        !matches!(self.text_at(end), "override" | "final")
                            && (self.is_specifier_word(end)
                                || matches!(
                                    self.kind_at(end + 1),
                                    T::Ident
                                        | T::Star
                                        | T::And
                                        | T::Less
                                        | T::ColonColon
                                        | T::LParen
                                ))
                    }
                    kind => {
                        self.type_word(end) && kind != T::Const
                            || matches!(
                                kind,
                                T::Static
                                    | T::Inline
                                    | T::Constexpr
                                    | T::Virtual
                                    | T::Template
                                    | T::Extern
                            )
                    }
                }
            }
            _ => false,
        }
    }

    fn is_specifier_word(&self, at: usize) -> bool {
        self.kind_at(at) == T::Ident && self.dialect.specifier_word(self.text_at(at)).is_some()
    }

    /// A name that is declared without a type in front: constructors, destructors, operators of conversion, macros.
    fn nameless_declarator(&self, place: Place) -> bool {
        let at = self.at;
        if self.kind_at(at + 1) == T::LParen {
            if matches!(place, Place::TypeId | Place::Parameter) {
                return false;
            }
            // `T (*f)(int)` has a type; `A(B)` has none.
            let pointer = matches!(self.kind_at(at + 2), T::Star | T::And)
                && self.kind_at(at + 3) == T::Ident;
            return !(pointer
                && matches!(self.kind_at(self.near(at + 1)), T::LParen | T::LBracket));
        }
        if !matches!(place, Place::Namespace | Place::Class) {
            return false;
        }
        let Some(end) = self.scan_name(at) else {
            return false;
        };
        if end.half {
            return false;
        }
        match self.kind_at(end.at) {
            T::ColonColon => matches!(self.kind_at(end.at + 1), T::Tilde | T::Operator),
            // `A::A(...)`, `A<T>::A(...)`
            T::LParen => {
                let qualified = self.kind_at(end.at - 1) == T::Ident
                    && self.kind_at(end.at - 2) == T::ColonColon;
                // `S<T>(...)` inside of `S`
                let own = self.class.as_deref() == Some(self.text_at(at));
                end.at > at + 1 && (qualified || own)
            }
            _ => false,
        }
    }
}

/// Written in capitals, as macros are.
pub(super) fn shouting(name: &str) -> bool {
    name.len() > 1
        && name
            .bytes()
            .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
}

pub(super) fn void_at(span: Span) -> Type {
    plain(TypeKind::Builtin(SmolStr::new_static("void")), span)
}
