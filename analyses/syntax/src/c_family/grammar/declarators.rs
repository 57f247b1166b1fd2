//! Declarators: pointers and references in front of a name, arrays and parameters behind it, and parentheses that turn
//! the order round.

use super::types::plain;
use super::{Parser, Place};
use crate::c_family::ast::{Expr, FunctionType, Ident, Name, Parameter, Type, TypeKind};
use crate::c_family::dialect::Dialect;
use crate::c_family::token::TokenKind as T;
use crate::source::Span;
use smol_str::SmolStr;

/// Pointers, references and dimensions that one declarator may have.
const OPERATORS: usize = 64;

#[derive(Debug)]
pub(super) enum DeclaredName {
    None,
    Plain(Name),
    Operator {
        qualifier: Option<Name>,
        symbol: SmolStr,
        span: Span,
    },
    Conversion {
        qualifier: Option<Name>,
        ty: Box<Type>,
        span: Span,
    },
    Destructor(Name),
    Binding(Vec<Ident>),
}

#[derive(Debug)]
pub(super) struct Declared {
    pub(super) name: DeclaredName,
    pub(super) ty: Type,
    /// Parameters, when it declares a function.
    pub(super) function: Option<FunctionSuffix>,
    pub(super) pack: bool,
    pub(super) start: usize,
}

#[derive(Debug)]
pub(super) struct FunctionSuffix {
    pub(super) parameters: Vec<Parameter>,
    pub(super) variadic: bool,
}

impl FunctionSuffix {
    /// The type of a function that returns this, or of a pointer to it.
    pub(super) fn of(self, returns: Type, pointer: bool) -> Type {
        let span = returns.span;
        let parameters = self
            .parameters
            .into_iter()
            .map(|parameter| parameter.ty)
            .collect();
        let function = FunctionType {
            return_type: returns,
            parameters,
            variadic: self.variadic,
            pointer,
        };
        plain(TypeKind::FunctionPointer(Box::new(function)), span)
    }
}

/// `*const restrict`
pub(super) struct Operator {
    token: T,
    is_const: bool,
    is_volatile: bool,
    is_restrict: bool,
}

impl Operator {
    fn of(token: T) -> Operator {
        Operator {
            token,
            is_const: false,
            is_volatile: false,
            is_restrict: false,
        }
    }
}

impl Parser<'_> {
    pub(super) fn declarator(&mut self, base: Type, place: Place) -> Declared {
        let start = self.mark();
        let ty = self.pointer_operators(base);
        let pack = self.eat(T::Ellipsis);
        if self.peek() == T::LParen && !self.half && self.nested_declarator(place) {
            return self.parenthesised_declarator(ty, start, place);
        }
        let name = self.declared_name(place, &ty);
        let (ty, function) = self.declarator_suffix(ty, &name, place);
        Declared {
            name,
            ty,
            function,
            pack,
            start,
        }
    }

    pub(super) fn pointer_operators(&mut self, mut ty: Type) -> Type {
        for _ in 0..OPERATORS {
            if self.half {
                return ty;
            }
            let span = ty.span.to(self.span_here());
            match self.peek() {
                T::Star => {
                    self.bump();
                    ty = plain(TypeKind::Pointer(Box::new(ty)), span);
                }
                T::And | T::AndAnd => {
                    let rvalue = self.peek() == T::AndAnd;
                    self.bump();
                    ty = plain(
                        TypeKind::Reference {
                            target: Box::new(ty),
                            rvalue,
                        },
                        span,
                    );
                }
                T::Const => {
                    self.bump();
                    ty.is_const = true;
                    ty.span = span;
                }
                T::Volatile => {
                    self.bump();
                    ty.is_volatile = true;
                    ty.span = span;
                }
                T::Ident if matches!(self.text(), "__restrict__" | "__restrict" | "restrict") => {
                    self.bump();
                    ty.is_restrict = true;
                    ty.span = span;
                }
                // `T A::*`
                T::Ident if self.nth(1) == T::ColonColon && self.nth(2) == T::Star => {
                    self.bump();
                    self.bump();
                    self.bump();
                    ty = plain(TypeKind::MemberPointer, span);
                }
                _ => return ty,
            }
        }
        self.limit("too many pointer operators");
        while matches!(
            self.peek(),
            T::Star | T::And | T::AndAnd | T::Const | T::Volatile
        ) {
            self.bump();
        }
        ty
    }

    /// Returns true if `(` opens a declarator in parentheses and not parameters.
    fn nested_declarator(&self, place: Place) -> bool {
        match self.nth(1) {
            T::Star | T::And | T::AndAnd | T::Xor => true,
            T::LParen => place != Place::TypeId && place != Place::Parameter,
            T::Ident => {
                // `(name)`, `(A::*name)`, `(CALLBACK *name)`
                let Some(end) = self.scan_name(self.at + 1) else {
                    return false;
                };
                if end.half {
                    return false;
                }
                match self.kind_at(end.at) {
                    T::Star => {
                        self.kind_at(end.at + 1) == T::Ident
                            && self.kind_at(end.at + 2) == T::RParen
                            && self.kind_at(end.at + 3) == T::LParen
                    }
                    T::ColonColon => self.kind_at(end.at + 1) == T::Star,
                    T::RParen => {
                        matches!(place, Place::Namespace | Place::Class | Place::Block)
                            && matches!(self.kind_at(end.at + 1), T::LParen | T::LBracket)
                    }
                    _ => false,
                }
            }
            _ => false,
        }
    }

    fn parenthesised_declarator(&mut self, base: Type, start: usize, place: Place) -> Declared {
        let span = base.span;
        if !self.enter() {
            self.skip_brackets();
            return Declared {
                name: DeclaredName::None,
                ty: plain(TypeKind::Unknown, span),
                function: None,
                pack: false,
                start,
            };
        }
        self.bump();
        // What the parentheses hold is built around a placeholder and put around the outer type afterwards.
        let mut operators = Vec::new();
        let mut member = false;
        while operators.len() < OPERATORS {
            match self.peek() {
                T::Star | T::And | T::AndAnd | T::Xor => {
                    operators.push(Operator::of(self.peek()));
                    self.bump();
                }
                // Qualifiers are those of the operator in front of them.
                T::Const | T::Volatile => {
                    if let Some(last) = operators.last_mut() {
                        last.is_const |= self.peek() == T::Const;
                        last.is_volatile |= self.peek() == T::Volatile;
                    }
                    self.bump();
                }
                T::Ident if matches!(self.text(), "__restrict__" | "__restrict" | "restrict") => {
                    if let Some(last) = operators.last_mut() {
                        last.is_restrict = true;
                    }
                    self.bump();
                }
                T::Ident if self.nth(1) == T::ColonColon && self.nth(2) == T::Star => {
                    self.bump();
                    self.bump();
                    self.bump();
                    member = true;
                    operators.push(Operator::of(T::Star));
                }
                T::Ident if self.nth(1) == T::Star => self.bump(),
                _ => break,
            }
        }
        let mut name = DeclaredName::None;
        let mut dimensions = Vec::new();
        let mut inner_function = None;
        if self.peek() == T::LParen && place != Place::TypeId {
            let inner = self.declarator(plain(TypeKind::Unknown, span), place);
            name = inner.name;
        } else {
            if self.peek() == T::Ident || self.peek() == T::ColonColon {
                name = self
                    .type_name()
                    .map_or(DeclaredName::None, DeclaredName::Plain);
            }
            dimensions = self.dimensions();
            if self.peek() == T::LParen && !matches!(name, DeclaredName::None) {
                // A function that returns a pointer to a function.
                inner_function = Some(self.parameter_list());
            }
        }
        if !self.eat(T::RParen) {
            self.expected("`)`");
            self.skip_expression();
            self.eat(T::RParen);
        }
        self.leave();
        let mut ty = base;
        if self.peek() == T::LParen
            && !(place == Place::Block
                && operators.is_empty()
                && !self.parameters_follow(self.at, true))
        {
            let suffix = self.parameter_list();
            if operators.is_empty() {
                return Declared {
                    name,
                    ty,
                    function: Some(suffix),
                    pack: false,
                    start,
                };
            }
            self.pointed_qualifiers(member);
            ty = match member {
                true => plain(TypeKind::MemberPointer, self.span_from(start).to(span)),
                false => {
                    let mut ty = suffix.of(ty, true);
                    ty.span = self.span_from(start).to(span);
                    ty
                }
            };
            operators.remove(0);
        } else {
            ty = wrap_dimensions(ty, self.dimensions());
        }
        for operator in operators {
            let span = ty.span;
            ty = match operator.token {
                T::Star => plain(TypeKind::Pointer(Box::new(ty)), span),
                token => plain(
                    TypeKind::Reference {
                        target: Box::new(ty),
                        rvalue: token == T::AndAnd,
                    },
                    span,
                ),
            };
            ty.is_const = operator.is_const;
            ty.is_volatile = operator.is_volatile;
            ty.is_restrict = operator.is_restrict;
        }
        Declared {
            name,
            ty: wrap_dimensions(ty, dimensions),
            function: inner_function,
            pack: false,
            start,
        }
    }

    /// `const` and `noexcept` of a function that is pointed to.
    fn pointed_qualifiers(&mut self, member: bool) {
        loop {
            match self.peek() {
                T::Const | T::Volatile | T::And | T::AndAnd if member => self.bump(),
                T::Noexcept | T::Throw => {
                    self.bump();
                    if self.peek() == T::LParen {
                        self.skip_brackets();
                    }
                }
                _ => return,
            }
        }
    }

    fn declared_name(&mut self, place: Place, ty: &Type) -> DeclaredName {
        if self.half || place == Place::TypeId {
            return DeclaredName::None;
        }
        let start = self.mark();
        match self.peek() {
            T::LBracket if matches!(place, Place::Block | Place::Namespace) && self.binds(ty) => {
                self.binding()
            }
            T::Operator => self.operator_name(None, start),
            T::Tilde => {
                self.bump();
                match self.type_name() {
                    Some(mut name) => {
                        name.span = self.span_from(start);
                        DeclaredName::Destructor(name)
                    }
                    None => DeclaredName::None,
                }
            }
            T::Ident | T::ColonColon if place == Place::Parameter => match self.ident() {
                Some(ident) => DeclaredName::Plain(name_of(ident)),
                None => DeclaredName::None,
            },
            T::Ident | T::ColonColon => {
                // `void *CALLBACK f(...)`
                if self.peek() == T::Ident && self.nth(1) == T::Ident && self.nth(2) == T::LParen {
                    self.bump();
                }
                let Some(name) = self.type_name() else {
                    return DeclaredName::None;
                };
                if self.half || self.peek() != T::ColonColon {
                    return DeclaredName::Plain(name);
                }
                match self.nth(1) {
                    T::Operator => {
                        self.bump();
                        self.operator_name(Some(name), start)
                    }
                    T::Tilde => {
                        self.bump();
                        self.bump();
                        let mut name = name;
                        if let Some(last) = self.type_name() {
                            name.segments.extend(last.segments);
                        }
                        name.span = self.span_from(start);
                        DeclaredName::Destructor(name)
                    }
                    _ => DeclaredName::Plain(name),
                }
            }
            _ => DeclaredName::None,
        }
    }

    fn binds(&self, ty: &Type) -> bool {
        let base = match &ty.kind {
            TypeKind::Reference { target, .. } => &target.kind,
            kind => kind,
        };
        matches!(base, TypeKind::Auto)
    }

    fn binding(&mut self) -> DeclaredName {
        self.bump();
        let mut names = Vec::new();
        while let Some(ident) = self.ident() {
            names.push(ident);
            if !self.eat(T::Comma) {
                break;
            }
        }
        self.expect(T::RBracket);
        DeclaredName::Binding(names)
    }

    /// The parser stands on `operator`.
    fn operator_name(&mut self, qualifier: Option<Name>, start: usize) -> DeclaredName {
        let symbol_follows = !matches!(self.nth(1), T::Ident | T::ColonColon | T::Auto)
            && !self.type_word(self.at + 1);
        if symbol_follows || matches!(self.nth(1), T::New | T::Delete) {
            let symbol = self.operator_symbol();
            return DeclaredName::Operator {
                qualifier,
                symbol,
                span: self.span_from(start),
            };
        }
        self.bump();
        let specified = self.decl_specifiers(Place::TypeId);
        let span = self.span_from(start);
        let base = specified
            .ty
            .unwrap_or_else(|| plain(TypeKind::Unknown, span));
        let ty = self.pointer_operators(base);
        DeclaredName::Conversion {
            qualifier,
            ty: Box::new(ty),
            span: self.span_from(start),
        }
    }

    fn declarator_suffix(
        &mut self,
        ty: Type,
        name: &DeclaredName,
        place: Place,
    ) -> (Type, Option<FunctionSuffix>) {
        if self.half {
            return (ty, None);
        }
        if self.peek() == T::LParen {
            let function = match name {
                DeclaredName::None => {
                    place == Place::TypeId && self.parameters_follow(self.at, false)
                        || place == Place::Parameter
                }
                DeclaredName::Plain(_) => self.parameters_follow(self.at, place == Place::Block),
                _ => true,
            };
            if function {
                return (ty, Some(self.parameter_list()));
            }
            return (ty, None);
        }
        if matches!(name, DeclaredName::None) && place != Place::TypeId && place != Place::Parameter
        {
            return (ty, None);
        }
        let dimensions = self.dimensions();
        (wrap_dimensions(ty, dimensions), None)
    }

    /// `[n][m]`
    pub(super) fn dimensions(&mut self) -> Vec<Dimension> {
        let mut dimensions = Vec::new();
        while self.peek() == T::LBracket && !self.half && self.nth(1) != T::LBracket {
            let start = self.mark();
            self.bump();
            let pointer = self.parameter_qualifiers();
            let size =
                self.bracketed(|this| (this.peek() != T::RBracket).then(|| this.expression()));
            if !self.eat(T::RBracket) {
                self.expected("`]`");
                self.skip_expression();
                self.eat(T::RBracket);
            }
            if dimensions.len() == OPERATORS {
                self.limit("too many dimensions");
                continue;
            }
            let span = self.span_from(start);
            dimensions.push(Dimension {
                size,
                span,
                pointer,
            });
        }
        dimensions
    }

    /// C: `static`, qualifiers and `*` behind the bracket of a parameter, which is a pointer.
    fn parameter_qualifiers(&mut self) -> Option<Operator> {
        if self.dialect != Dialect::C {
            return None;
        }
        let mut found: Option<Operator> = None;
        loop {
            let word = match self.peek() {
                T::Ident => matches!(self.text(), "__restrict__" | "__restrict" | "restrict"),
                T::Static | T::Const | T::Volatile => true,
                T::Star => self.nth(1) == T::RBracket,
                _ => false,
            };
            if !word {
                return found;
            }
            let operator = found.get_or_insert(Operator::of(T::Star));
            match self.peek() {
                T::Ident => operator.is_restrict = true,
                T::Const => operator.is_const = true,
                T::Volatile => operator.is_volatile = true,
                _ => {}
            }
            self.bump();
        }
    }
}

/// `[n]`
pub(super) struct Dimension {
    size: Option<Expr>,
    span: Span,
    /// The operator of a dimension in a form that only a parameter can have.
    pointer: Option<Operator>,
}

/// `T x[a][b]` is an array of `a` arrays of `b` T, `T x[restrict a][b]` a pointer to such arrays.
pub(super) fn wrap_dimensions(mut ty: Type, dimensions: Vec<Dimension>) -> Type {
    for Dimension {
        size,
        span,
        pointer,
    } in dimensions.into_iter().rev()
    {
        let span = ty.span.to(span);
        if let Some(operator) = pointer {
            ty = plain(TypeKind::Pointer(Box::new(ty)), span);
            ty.is_const = operator.is_const;
            ty.is_volatile = operator.is_volatile;
            ty.is_restrict = operator.is_restrict;
            continue;
        }
        ty = plain(
            TypeKind::Array {
                element: Box::new(ty),
                size: size.map(Box::new),
            },
            span,
        );
    }
    ty
}

pub(super) fn name_of(ident: Ident) -> Name {
    let span = ident.span;
    Name {
        global: false,
        segments: vec![crate::c_family::ast::NameSegment {
            ident,
            template_arguments: None,
        }],
        span,
    }
}
