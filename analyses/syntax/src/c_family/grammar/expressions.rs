//! Expressions by precedence climbing: chains of one level are loops, only operands recurse.

use super::{CHAIN, Parser};
use crate::c_family::ast::{BinaryOp, Designator, Expr, ExprKind, Name, UnaryOp};
use crate::c_family::token::TokenKind as T;
use crate::source::Span;

/// Precedence: the higher, the tighter.
const COMMA: u8 = 1;
const ASSIGNMENT: u8 = 2;
const LOGICAL_OR: u8 = 3;

impl Parser<'_> {
    /// Parses an expression, commas included.
    pub(super) fn expression(&mut self) -> Expr {
        self.binary(COMMA)
    }

    /// Parses an expression without commas: an argument or initializer.
    pub(super) fn assignment(&mut self) -> Expr {
        self.binary(ASSIGNMENT)
    }

    /// A constant expression: without assignments.
    pub(super) fn conditional(&mut self) -> Expr {
        self.binary(ASSIGNMENT)
    }

    pub(super) fn unknown_expression(&mut self, start: usize) -> Expr {
        Expr {
            kind: ExprKind::Unknown,
            span: self.span_from(start),
        }
    }

    fn binary(&mut self, least: u8) -> Expr {
        let start = self.mark();
        if !self.enter() {
            self.skip_expression();
            return self.unknown_expression(start);
        }
        let mut left = self.unary();
        let mut links = 0usize;
        loop {
            let op = self.peek();
            if self.half || self.angle && matches!(op, T::Greater | T::Shr) {
                break;
            }
            if self.launch && op == T::Shr && self.nth(1) == T::Greater {
                break;
            }
            let op_span = self.span_here();
            if let Some((binary, precedence)) = binary_operator(op) {
                if precedence < least {
                    break;
                }
                self.bump();
                if self.peek() == T::Ellipsis {
                    left = self.fold(start, binary, left, precedence);
                    continue;
                }
                let right = self.binary(precedence + 1);
                left = self.link(
                    start,
                    links,
                    |left, right| ExprKind::Binary {
                        op: binary,
                        left,
                        right,
                        op_span,
                    },
                    left,
                    right,
                );
            } else if let Some(assignment) = assignment_operator(op) {
                if least > ASSIGNMENT {
                    break;
                }
                self.bump();
                if self.peek() == T::Ellipsis {
                    left = self.assigning_fold(start);
                    continue;
                }
                let right = if self.peek() == T::LBrace {
                    self.initializer_list()
                } else {
                    self.binary(ASSIGNMENT)
                };
                left = self.link(
                    start,
                    links,
                    |left, right| ExprKind::Assign {
                        op: assignment,
                        left,
                        right,
                        op_span,
                    },
                    left,
                    right,
                );
            } else if op == T::Question {
                if least > ASSIGNMENT {
                    break;
                }
                self.bump();
                // GNU: `a ?: b` is `a ? a : b`.
                let then = match self.peek() {
                    T::Colon => left.clone(),
                    _ => self.bracketed(|this| this.binary(COMMA)),
                };
                if !self.eat(T::Colon) {
                    self.expected("`:`");
                    break;
                }
                let otherwise = self.binary(ASSIGNMENT);
                let kind = ExprKind::Conditional {
                    condition: Box::new(left),
                    then: Box::new(then),
                    otherwise: Box::new(otherwise),
                };
                left = Expr {
                    kind,
                    span: self.span_from(start),
                };
            } else if op == T::Comma && least <= COMMA {
                self.bump();
                if self.eat(T::Ellipsis) {
                    // `(f(xs), ...)` evaluates the operand for each element.
                    left = Expr {
                        kind: ExprKind::PackExpansion(Box::new(left)),
                        span: self.span_from(start),
                    };
                    continue;
                }
                let right = self.binary(ASSIGNMENT);
                left = self.link(start, links, ExprKind::Comma, left, right);
            } else {
                break;
            }
            links += 1;
        }
        self.leave();
        left
    }

    /// One more link of a chain; beyond the limit the chain so far becomes unknown.
    fn link(
        &mut self,
        start: usize,
        links: usize,
        make: impl FnOnce(Box<Expr>, Box<Expr>) -> ExprKind,
        left: Expr,
        right: Expr,
    ) -> Expr {
        let span = self.span_from(start);
        if links > 0 && links.is_multiple_of(CHAIN) {
            self.limit("this expression has too many operands");
            return Expr {
                kind: ExprKind::Unknown,
                span,
            };
        }
        Expr {
            kind: make(Box::new(left), Box::new(right)),
            span,
        }
    }

    /// `(t += ... += xs)`: the parser stands on `...`. The tree has no node for it.
    fn assigning_fold(&mut self, start: usize) -> Expr {
        self.bump();
        self.skip_expression();
        let span = self.span_from(start);
        self.unsupported(span, "a fold over an assignment");
        Expr {
            kind: ExprKind::Unknown,
            span,
        }
    }

    /// `(xs + ...)` and `(xs + ... + init)`; the parser stands on `...`.
    fn fold(&mut self, start: usize, op: BinaryOp, first: Expr, precedence: u8) -> Expr {
        self.bump();
        let again = binary_operator(self.peek()).is_some_and(|(next, _)| next == op);
        if !again {
            let kind = ExprKind::Fold {
                op,
                pack: Box::new(first),
                initial: None,
                left: false,
            };
            return Expr {
                kind,
                span: self.span_from(start),
            };
        }
        self.bump();
        let second = self.binary(precedence + 1);
        // `(init op ... op pack)` when the first operand can be no pack.
        let literal = matches!(
            first.kind,
            ExprKind::Int(_) | ExprKind::Float(_) | ExprKind::Bool(_) | ExprKind::Construct { .. }
        );
        let left = literal || matches!(op, BinaryOp::Shl);
        let (pack, initial) = if left {
            (second, first)
        } else {
            (first, second)
        };
        let kind = ExprKind::Fold {
            op,
            pack: Box::new(pack),
            initial: Some(Box::new(initial)),
            left,
        };
        Expr {
            kind,
            span: self.span_from(start),
        }
    }

    fn unary(&mut self) -> Expr {
        let op = match self.peek() {
            T::Plus => UnaryOp::Plus,
            T::Minus => UnaryOp::Minus,
            T::Bang => UnaryOp::Not,
            T::Tilde => UnaryOp::BitNot,
            T::Star => UnaryOp::Dereference,
            T::And => UnaryOp::AddressOf,
            T::PlusPlus => UnaryOp::PreIncrement,
            T::MinusMinus => UnaryOp::PreDecrement,
            T::LParen if self.is_cast(self.at) => return self.c_cast(),
            _ => return self.prefix_word(),
        };
        let start = self.mark();
        if !self.enter() {
            self.skip_expression();
            return self.unknown_expression(start);
        }
        self.bump();
        let operand = Box::new(self.unary());
        self.leave();
        Expr {
            kind: ExprKind::Unary { op, operand },
            span: self.span_from(start),
        }
    }

    /// The operand of a prefix operator that recurses through words: casts, `sizeof`, `delete`.
    pub(super) fn operand(&mut self) -> Expr {
        let start = self.mark();
        if !self.enter() {
            self.skip_expression();
            return self.unknown_expression(start);
        }
        let operand = self.unary();
        self.leave();
        operand
    }

    /// Calls, indices, members and increments behind an operand.
    pub(super) fn postfix(&mut self, start: usize, mut base: Expr) -> Expr {
        for links in 0.. {
            if self.half {
                break;
            }
            if links == CHAIN {
                self.limit("this expression has too many links");
                while matches!(
                    self.peek(),
                    T::LParen
                        | T::LBracket
                        | T::Dot
                        | T::Arrow
                        | T::PlusPlus
                        | T::MinusMinus
                        | T::Ident
                ) {
                    if matches!(self.peek(), T::LParen | T::LBracket) {
                        self.skip_brackets();
                    } else {
                        self.bump();
                    }
                }
                return self.unknown_expression(start);
            }
            let kind = match self.peek() {
                T::LParen => {
                    let arguments = self.argument_list(T::RParen);
                    self.call(base, arguments)
                }
                T::LBracket => {
                    let indices = self.argument_list(T::RBracket);
                    ExprKind::Index {
                        base: Box::new(base),
                        indices,
                    }
                }
                T::Dot | T::Arrow => {
                    let arrow = self.peek() == T::Arrow;
                    self.bump();
                    match self.member_name() {
                        Some(member) => ExprKind::Member {
                            base: Box::new(base),
                            member,
                            arrow,
                        },
                        None => {
                            self.expected("a member's name");
                            ExprKind::Unknown
                        }
                    }
                }
                T::PlusPlus | T::MinusMinus => {
                    let op = if self.peek() == T::PlusPlus {
                        UnaryOp::PostIncrement
                    } else {
                        UnaryOp::PostDecrement
                    };
                    self.bump();
                    ExprKind::Unary {
                        op,
                        operand: Box::new(base),
                    }
                }
                // Formatters that do not know CUDA write `<< <` and `>> >`.
                T::Shl if self.nth(1) == T::Less => self.launch(base),
                T::LBrace => match base.kind {
                    ExprKind::Name(name) if self.braces_construct(&name) => {
                        let ty = super::types::plain(
                            crate::c_family::ast::TypeKind::Named(name),
                            base.span,
                        );
                        let arguments = self.argument_list(T::RBrace);
                        ExprKind::Construct {
                            ty,
                            arguments,
                            brace: true,
                        }
                    }
                    _ => break,
                },
                _ => break,
            };
            base = Expr {
                kind,
                span: self.span_from(start),
            };
        }
        base
    }

    /// `T{...}` in an expression, where the brace cannot open a block.
    fn braces_construct(&self, name: &Name) -> bool {
        let templated = name
            .segments
            .iter()
            .any(|segment| segment.template_arguments.is_some());
        let known = name
            .segments
            .last()
            .is_some_and(|last| self.is_type_name(&last.ident.name));
        if templated || known {
            return true;
        }
        let end = self.near(self.at);
        if self.head {
            // Behind the head stands its body: braces construct only when the head goes on behind them.
            let next = self.kind_at(end);
            return binary_operator(next).is_some()
                || matches!(
                    next,
                    T::RParen | T::Comma | T::Dot | T::LParen | T::Semicolon
                );
        }
        // A macro in front of a block: what it holds are statements.
        let mut depth = 0usize;
        (self.at..end).all(|at| {
            match self.kind_at(at) {
                T::LBrace => depth += 1,
                T::RBrace => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth > 1 || self.kind_at(at) != T::Semicolon
        })
    }

    fn call(&mut self, callee: Expr, arguments: Vec<Expr>) -> ExprKind {
        if let ExprKind::Name(name) = &callee.kind
            && let Some(last) = name.segments.last()
            && name.segments.len() == 1
            && self.is_type_name(&last.ident.name)
        {
            let span = callee.span;
            if let ExprKind::Name(name) = callee.kind {
                let ty = super::types::plain(crate::c_family::ast::TypeKind::Named(name), span);
                return ExprKind::Construct {
                    ty,
                    arguments,
                    brace: false,
                };
            }
            return ExprKind::Unknown;
        }
        ExprKind::Call {
            callee: Box::new(callee),
            arguments,
        }
    }

    /// `<<<grid, block>>>(arguments)`; the parser stands on `<<`.
    fn launch(&mut self, callee: Expr) -> ExprKind {
        self.bump();
        self.bump();
        let saved = (
            std::mem::replace(&mut self.angle, false),
            std::mem::replace(&mut self.launch, true),
        );
        let mut configuration = Vec::new();
        while !matches!(self.peek(), T::Shr | T::Eof | T::Semicolon | T::RBrace) {
            let before = self.at;
            let argument = match self.peek() {
                T::LBrace => self.initializer_list(),
                _ => self.assignment(),
            };
            configuration.push(argument);
            if !self.eat(T::Comma) || self.at == before {
                break;
            }
        }
        (self.angle, self.launch) = saved;
        if self.peek() == T::Shr && self.nth(1) == T::Greater {
            self.bump();
            self.bump();
        } else {
            self.expected("`>>>`");
        }
        let arguments = if self.peek() == T::LParen {
            self.argument_list(T::RParen)
        } else {
            Vec::new()
        };
        ExprKind::Launch {
            callee: Box::new(callee),
            configuration,
            arguments,
        }
    }

    fn member_name(&mut self) -> Option<Name> {
        self.eat(T::Template);
        match self.peek() {
            T::Ident | T::Operator | T::ColonColon => self.expression_name(),
            T::Tilde => {
                let start = self.mark();
                self.bump();
                let mut name = self.type_name()?;
                if let Some(last) = name.segments.last_mut() {
                    last.ident.name = smol_str::SmolStr::new(format!("~{}", last.ident.name));
                }
                name.span = self.span_from(start);
                Some(name)
            }
            _ => None,
        }
    }

    /// `(a, b...)`, `[i, j]` or `{a, b}`; the parser stands on the opening bracket.
    pub(super) fn argument_list(&mut self, close: T) -> Vec<Expr> {
        let mut arguments = Vec::new();
        if !self.enter() {
            self.skip_brackets();
            return arguments;
        }
        self.bump();
        let closed = self.bracketed(|this| {
            while this.peek() != close && this.peek() != T::Eof {
                let before = this.at;
                let argument = this.argument();
                arguments.push(argument);
                if this.eat(T::Comma) {
                    continue;
                }
                if this.peek() == close || matches!(this.peek(), T::Semicolon | T::Eof) {
                    break;
                }
                if matches!(this.peek(), T::RBrace | T::RParen | T::RBracket) {
                    break;
                }
                this.expected(&format!("`,` or `{}`", close.text()));
                if this.at == before {
                    this.bump();
                }
                this.skip_expression();
                if !this.eat(T::Comma) {
                    break;
                }
            }
            this.eat(close)
        });
        if !closed {
            self.expected(&format!("`{}`", close.text()));
        }
        self.leave();
        arguments
    }

    fn argument(&mut self) -> Expr {
        let start = self.mark();
        let value = match self.peek() {
            T::LBrace => self.initializer_list(),
            T::Dot if self.nth(1) == T::Ident => {
                // `T{.x = 1}`
                self.bump();
                self.ident();
                if !self.eat(T::Equal) && self.peek() != T::LBrace {
                    self.expected("`=`");
                }
                self.initializer_clause()
            }
            // A type where a value is expected: `va_arg(list, int)` and macros like it.
            _ if self.type_argument_follows() => {
                self.type_id();
                let span = self.span_from(start);
                self.unsupported(span, "a type stands where a value is expected");
                Expr {
                    kind: ExprKind::Unknown,
                    span,
                }
            }
            T::Comma | T::RParen => {
                // A macro's empty argument.
                self.expected("an expression");
                self.unknown_expression(start)
            }
            _ => self.assignment(),
        };
        if self.eat(T::Ellipsis) {
            return Expr {
                kind: ExprKind::PackExpansion(Box::new(value)),
                span: self.span_from(start),
            };
        }
        value
    }

    fn type_argument_follows(&self) -> bool {
        let first = self.peek();
        let begins = super::scan::builtin_word(first)
            || matches!(
                first,
                T::Const | T::Struct | T::Ident | T::Unsigned | T::Volatile
            );
        if !begins
            || first == T::Ident
                && !matches!(self.nth(1), T::Star | T::And | T::ColonColon | T::Less)
        {
            return false;
        }
        match self.scan_type(self.at) {
            Some((end, super::scan::Surety::Type)) if !end.half => match self.kind_at(end.at) {
                T::RParen | T::Comma => {
                    // `A::value` and `f<T>` are values unless an operator makes them types.
                    first != T::Ident
                        || matches!(self.kind_at(end.at - 1), T::Star | T::And | T::AndAnd)
                }
                _ => false,
            },
            _ => false,
        }
    }

    /// `{a, .b = c, [1] = d}`; the parser stands on `{`.
    pub(super) fn initializer_list(&mut self) -> Expr {
        let start = self.mark();
        let mut entries = Vec::new();
        if !self.enter() {
            self.skip_brackets();
            return self.unknown_expression(start);
        }
        self.bump();
        let closed = self.bracketed(|this| {
            while this.peek() != T::RBrace && this.peek() != T::Eof {
                let before = this.at;
                let mut designator = None;
                if let Some(designated) = this.designated() {
                    entries.push((None, designated));
                    if this.eat(T::Comma) {
                        continue;
                    }
                    break;
                }
                if this.peek() == T::Dot && this.nth(1) == T::Ident {
                    this.bump();
                    designator = this.ident();
                    while matches!(this.peek(), T::Dot | T::LBracket) {
                        this.bump();
                        this.skip_designator();
                    }
                    this.eat(T::Equal);
                } else if this.peek() == T::LBracket
                    && matches!(this.kind_at(this.near(this.at)), T::Equal)
                {
                    this.skip_brackets();
                    this.bump();
                }
                let mut value = this.initializer_clause();
                if this.eat(T::Ellipsis) {
                    let span = value.span;
                    value = Expr {
                        kind: ExprKind::PackExpansion(Box::new(value)),
                        span,
                    };
                }
                entries.push((designator, value));
                if this.eat(T::Comma) {
                    continue;
                }
                if matches!(
                    this.peek(),
                    T::RBrace | T::Semicolon | T::Eof | T::RParen | T::RBracket
                ) {
                    break;
                }
                this.expected("`,` or `}`");
                if this.at == before {
                    this.bump();
                }
                this.skip_expression();
                if !this.eat(T::Comma) {
                    break;
                }
            }
            this.eat(T::RBrace)
        });
        if !closed {
            self.expected("`}`");
        }
        self.leave();
        Expr {
            kind: ExprKind::List(entries),
            span: self.span_from(start),
        }
    }

    /// An entry of a list in C that says where it belongs, unless it names one member alone.
    fn designated(&mut self) -> Option<Expr> {
        if self.dialect.has_templates() || !matches!(self.peek(), T::Dot | T::LBracket) {
            return None;
        }
        if self.peek() == T::Dot && self.nth(2) == T::Equal {
            return None;
        }
        let start = self.mark();
        let mut path = Vec::new();
        loop {
            match self.peek() {
                T::Dot => {
                    self.bump();
                    path.push(Designator::Member(self.ident()?));
                }
                T::LBracket => {
                    self.bump();
                    let (first, last) = self.bracketed(|this| {
                        let first = this.conditional();
                        let last = this.eat(T::Ellipsis).then(|| this.conditional());
                        (first, last)
                    });
                    self.expect(T::RBracket);
                    path.push(Designator::Element { first, last });
                }
                _ => break,
            }
        }
        self.expect(T::Equal);
        let value = Box::new(self.initializer_clause());
        Some(Expr {
            kind: ExprKind::Designated { path, value },
            span: self.span_from(start),
        })
    }

    fn skip_designator(&mut self) {
        while !matches!(
            self.peek(),
            T::Equal | T::Dot | T::LBracket | T::Comma | T::RBrace | T::Eof
        ) {
            self.bump();
        }
    }

    pub(super) fn paren_fold(&mut self, start: usize, op_at: T, op_span: Span) -> Option<Expr> {
        let (op, precedence) = binary_operator(op_at)?;
        let _ = op_span;
        let pack = self.binary(precedence + 1);
        Some(Expr {
            kind: ExprKind::Fold {
                op,
                pack: Box::new(pack),
                initial: None,
                left: true,
            },
            span: self.span_from(start),
        })
    }
}

pub(super) fn binary_operator(kind: T) -> Option<(BinaryOp, u8)> {
    Some(match kind {
        T::OrOr => (BinaryOp::LogicalOr, LOGICAL_OR),
        T::AndAnd => (BinaryOp::LogicalAnd, 4),
        T::Or => (BinaryOp::BitOr, 5),
        T::Xor => (BinaryOp::BitXor, 6),
        T::And => (BinaryOp::BitAnd, 7),
        T::EqualEqual => (BinaryOp::Equal, 8),
        T::NotEqual => (BinaryOp::NotEqual, 8),
        T::Less => (BinaryOp::Less, 9),
        T::LessEqual => (BinaryOp::LessEqual, 9),
        T::Greater => (BinaryOp::Greater, 9),
        T::GreaterEqual => (BinaryOp::GreaterEqual, 9),
        T::Spaceship => (BinaryOp::Spaceship, 10),
        T::Shl => (BinaryOp::Shl, 11),
        T::Shr => (BinaryOp::Shr, 11),
        T::Plus => (BinaryOp::Add, 12),
        T::Minus => (BinaryOp::Sub, 12),
        T::Star => (BinaryOp::Mul, 13),
        T::Slash => (BinaryOp::Div, 13),
        T::Percent => (BinaryOp::Rem, 13),
        T::DotStar | T::ArrowStar => (BinaryOp::MemberPointer, 14),
        _ => return None,
    })
}

pub(super) fn assigns(kind: T) -> bool {
    assignment_operator(kind).is_some()
}

fn assignment_operator(kind: T) -> Option<Option<BinaryOp>> {
    Some(match kind {
        T::Equal => None,
        T::PlusEqual => Some(BinaryOp::Add),
        T::MinusEqual => Some(BinaryOp::Sub),
        T::StarEqual => Some(BinaryOp::Mul),
        T::SlashEqual => Some(BinaryOp::Div),
        T::PercentEqual => Some(BinaryOp::Rem),
        T::ShlEqual => Some(BinaryOp::Shl),
        T::ShrEqual => Some(BinaryOp::Shr),
        T::AndEqual => Some(BinaryOp::BitAnd),
        T::OrEqual => Some(BinaryOp::BitOr),
        T::XorEqual => Some(BinaryOp::BitXor),
        _ => return None,
    })
}
