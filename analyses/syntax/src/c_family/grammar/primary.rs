//! Operands: literals, names, parentheses, casts and the words that compute.

use super::Parser;
use super::scan::{Surety, builtin_word};
use super::types::plain;
use crate::c_family::ast::{Asm, CastStyle, Expr, ExprKind, Ident, StmtKind, TypeKind};
use crate::c_family::dialect::Dialect;
use crate::c_family::token::TokenKind as T;
use smol_str::SmolStr;

impl Parser<'_> {
    /// Returns true if a type stands here and `close` behind it.
    pub(super) fn type_operand(&self, close: T) -> bool {
        matches!(self.scan_type(self.at), Some((end, Surety::Type)) if !end.half && self.kind_at(end.at) == close)
    }

    /// `(T)e` or `(T){...}`; the parser stands on `(`.
    pub(super) fn c_cast(&mut self) -> Expr {
        let start = self.mark();
        self.bump();
        let ty = self.bracketed(|this| this.type_id());
        self.expect(T::RParen);
        if self.peek() == T::LBrace {
            // A compound literal keeps its designators: the list is what it is initialised with.
            let arguments = match self.dialect.has_templates() {
                true => self.argument_list(T::RBrace),
                false => vec![self.initializer_list()],
            };
            let value = Expr {
                kind: ExprKind::Construct {
                    ty,
                    arguments,
                    brace: true,
                },
                span: self.span_from(start),
            };
            return self.postfix(start, value);
        }
        let operand = Box::new(self.operand());
        Expr {
            kind: ExprKind::Cast {
                style: CastStyle::C,
                ty,
                operand,
            },
            span: self.span_from(start),
        }
    }

    /// `sizeof`, `new`, `delete`, `throw`; everything else is an operand with its postfix operators.
    pub(super) fn prefix_word(&mut self) -> Expr {
        let start = self.mark();
        match self.peek() {
            T::Sizeof => self.sizeof(start),
            T::Alignof => {
                self.bump();
                let kind = match self.peek() {
                    T::LParen => {
                        self.bump();
                        let ty = self.bracketed(|this| this.type_id());
                        self.expect(T::RParen);
                        ExprKind::AlignofType(ty)
                    }
                    _ => ExprKind::Unknown,
                };
                Expr {
                    kind,
                    span: self.span_from(start),
                }
            }
            T::New => self.new_expression(start),
            T::Delete => {
                self.bump();
                if self.peek() == T::LBracket {
                    self.skip_brackets();
                }
                let operand = self.operand();
                Expr {
                    kind: ExprKind::Delete(Box::new(operand)),
                    span: self.span_from(start),
                }
            }
            T::Throw => {
                self.bump();
                if !matches!(
                    self.peek(),
                    T::Semicolon | T::RParen | T::Colon | T::Comma | T::Eof | T::RBrace
                ) {
                    self.assignment();
                }
                Expr {
                    kind: ExprKind::Throw,
                    span: self.span_from(start),
                }
            }
            T::Ident if matches!(self.text(), "__extension__" | "co_await" | "co_yield") => {
                self.bump();
                self.operand()
            }
            _ => {
                let base = self.primary();
                self.postfix(start, base)
            }
        }
    }

    fn sizeof(&mut self, start: usize) -> Expr {
        self.bump();
        let kind = match self.peek() {
            T::Ellipsis => {
                self.bump();
                self.expect(T::LParen);
                let name = self.ident().unwrap_or(Ident {
                    name: SmolStr::default(),
                    span: self.span_here(),
                });
                self.expect(T::RParen);
                ExprKind::SizeofPack(name)
            }
            T::LParen => {
                let open = self.at;
                self.bump();
                let is_type = self.type_operand(T::RParen);
                self.at = open;
                if is_type {
                    self.bump();
                    let ty = self.bracketed(|this| this.type_id());
                    self.expect(T::RParen);
                    ExprKind::SizeofType(ty)
                } else {
                    // Not a cast: `sizeof(x) * 4` is a product.
                    let primary = self.primary();
                    let operand = self.postfix(open, primary);
                    ExprKind::SizeofExpr(Box::new(operand))
                }
            }
            _ => ExprKind::SizeofExpr(Box::new(self.operand())),
        };
        Expr {
            kind,
            span: self.span_from(start),
        }
    }

    fn new_expression(&mut self, start: usize) -> Expr {
        self.bump();
        // Placement arguments stand in front of the type.
        if self.peek() == T::LParen {
            self.skip_brackets();
        }
        let parenthesised = self.peek() == T::LParen;
        if parenthesised {
            self.skip_brackets();
            let span = self.span_from(start);
            return Expr {
                kind: ExprKind::New {
                    ty: plain(TypeKind::Unknown, span),
                },
                span,
            };
        }
        let specified = self.decl_specifiers(super::Place::TypeId);
        let span = self.span_from(start);
        let base = match specified.ty {
            Some(ty) => ty,
            None => {
                self.expected("a type");
                plain(TypeKind::Unknown, span)
            }
        };
        let ty = self.pointer_operators(base);
        let dimensions = self.dimensions();
        let ty = super::declarators::wrap_dimensions(ty, dimensions);
        if matches!(self.peek(), T::LParen | T::LBrace) {
            self.skip_brackets();
        }
        Expr {
            kind: ExprKind::New { ty },
            span: self.span_from(start),
        }
    }

    /// `_Generic(control, T: value, default: value)`
    fn generic_selection(&mut self, start: usize) -> Expr {
        self.bump();
        self.bump();
        let (control, cases) = self.bracketed(|this| {
            let control = this.assignment();
            let mut cases = Vec::new();
            while this.eat(T::Comma) {
                let ty = match this.eat(T::Default) {
                    true => None,
                    false => Some(this.type_id()),
                };
                this.expect(T::Colon);
                cases.push((ty, this.assignment()));
            }
            (control, cases)
        });
        self.expect(T::RParen);
        Expr {
            kind: ExprKind::Generic {
                control: Box::new(control),
                cases,
            },
            span: self.span_from(start),
        }
    }

    pub(super) fn primary(&mut self) -> Expr {
        let start = self.mark();
        match self.peek() {
            T::Decltype if self.kind_at(self.near(self.at + 1)) == T::ColonColon => {
                return self.name_expression(start);
            }
            T::Number => return self.number(),
            T::Str => return self.string(),
            T::Char => return self.character(),
            T::Ident
                if self.text() == "_Generic"
                    && self.nth(1) == T::LParen
                    && !self.dialect.has_templates() =>
            {
                return self.generic_selection(start);
            }
            T::Ident | T::ColonColon => return self.name_expression(start),
            T::LParen => return self.parenthesised(start),
            T::LBracket => return self.lambda(start),
            T::LBrace => return self.initializer_list(),
            T::StaticCast | T::ReinterpretCast | T::ConstCast | T::DynamicCast => {
                return self.named_cast(start);
            }
            T::Operator => {
                if let Some(name) = self.expression_name() {
                    return Expr {
                        kind: ExprKind::Name(name),
                        span: self.span_from(start),
                    };
                }
            }
            T::Typename
            | T::Decltype
            | T::Struct
            | T::Class
            | T::Union
            | T::Enum
            | T::Auto
            | T::Const
            | T::Volatile => return self.functional_cast(start),
            T::AndAnd if self.nth(1) == T::Ident && !self.dialect.has_templates() => {
                self.bump();
                self.bump();
                let span = self.span_from(start);
                self.unsupported(span, "the address of a label");
                return Expr {
                    kind: ExprKind::Unknown,
                    span,
                };
            }
            T::Typeid | T::Noexcept => {
                self.bump();
                if self.peek() == T::LParen {
                    self.skip_brackets();
                }
                let span = self.span_from(start);
                self.unsupported(span, "this operator is not understood");
                return Expr {
                    kind: ExprKind::Unknown,
                    span,
                };
            }
            T::Requires => {
                self.requires_expression();
                return Expr {
                    kind: ExprKind::Bool(true),
                    span: self.span_from(start),
                };
            }
            kind if builtin_word(kind) => return self.functional_cast(start),
            _ => {}
        }
        let kind = match self.peek() {
            T::True => ExprKind::Bool(true),
            T::False => ExprKind::Bool(false),
            T::Nullptr => ExprKind::Nullptr,
            T::This => ExprKind::This,
            _ => {
                self.expected("an expression");
                // A token that ends something is left to whom it belongs.
                let ends = matches!(
                    self.peek(),
                    T::RParen
                        | T::RBracket
                        | T::RBrace
                        | T::Semicolon
                        | T::Comma
                        | T::Colon
                        | T::Eof
                        | T::LBrace
                );
                let belongs = ends || self.peek().is_keyword() || self.angle && self.at_angle();
                if !belongs {
                    self.bump();
                }
                return self.unknown_expression(start);
            }
        };
        self.bump();
        Expr {
            kind,
            span: self.span_from(start),
        }
    }

    fn name_expression(&mut self, start: usize) -> Expr {
        if self.dialect == Dialect::Hlsl && self.text() == "half" && self.nth(1) == T::LParen {
            return self.functional_cast(start);
        }
        match self.expression_name() {
            Some(name) => {
                let ty_like = name
                    .segments
                    .iter()
                    .any(|segment| segment.template_arguments.is_some())
                    && name
                        .segments
                        .last()
                        .is_some_and(|last| self.is_type_name(&last.ident.name))
                    && matches!(self.peek(), T::LParen)
                    && !self.half;
                if ty_like {
                    let ty = plain(TypeKind::Named(name), self.span_from(start));
                    let arguments = self.argument_list(T::RParen);
                    return Expr {
                        kind: ExprKind::Construct {
                            ty,
                            arguments,
                            brace: false,
                        },
                        span: self.span_from(start),
                    };
                }
                Expr {
                    kind: ExprKind::Name(name),
                    span: self.span_from(start),
                }
            }
            None => {
                self.expected("a name");
                self.bump();
                self.unknown_expression(start)
            }
        }
    }

    fn parenthesised(&mut self, start: usize) -> Expr {
        if !self.enter() {
            self.skip_brackets();
            return self.unknown_expression(start);
        }
        self.bump();
        let kind = self.bracketed(|this| match this.peek() {
            T::LBrace => ExprKind::Statement(this.statement_expression()),
            T::Ellipsis => {
                // `(... op pack)`
                this.bump();
                let (op, span) = (this.peek(), this.span_here());
                this.bump();
                match this.paren_fold(start, op, span) {
                    Some(fold) => ExprKind::Paren(Box::new(fold)),
                    None if op == T::Comma => {
                        let operand = this.assignment();
                        let span = operand.span;
                        let kind = ExprKind::PackExpansion(Box::new(operand));
                        ExprKind::Paren(Box::new(Expr { kind, span }))
                    }
                    None if super::expressions::assigns(op) => {
                        this.skip_expression();
                        this.unsupported(span, "a fold over an assignment");
                        ExprKind::Unknown
                    }
                    None => {
                        this.expected("an operator");
                        ExprKind::Unknown
                    }
                }
            }
            _ => {
                let inner = this.expression();
                ExprKind::Paren(Box::new(inner))
            }
        });
        if !self.eat(T::RParen) {
            self.expected("`)`");
            self.skip_to_parenthesis();
        }
        self.leave();
        Expr {
            kind,
            span: self.span_from(start),
        }
    }

    /// Skips to the missing `)`, as long as it can be in this statement.
    fn skip_to_parenthesis(&mut self) {
        self.half = false;
        loop {
            match self.peek() {
                T::RParen => return self.bump(),
                T::Semicolon | T::RBrace | T::LBrace | T::RBracket | T::Eof => return,
                T::LParen | T::LBracket => self.skip_brackets(),
                _ => self.at += 1,
            }
        }
    }

    fn named_cast(&mut self, start: usize) -> Expr {
        let style = match self.peek() {
            T::StaticCast => CastStyle::Static,
            T::ReinterpretCast => CastStyle::Reinterpret,
            T::ConstCast => CastStyle::Const,
            _ => CastStyle::Dynamic,
        };
        self.bump();
        if !self.eat(T::Less) {
            self.expected("`<`");
            return self.unknown_expression(start);
        }
        let saved = (
            std::mem::replace(&mut self.angle, true),
            std::mem::replace(&mut self.launch, false),
        );
        let ty = self.type_id();
        (self.angle, self.launch) = saved;
        if !self.eat_angle() {
            self.expected("`>`");
        }
        if self.peek() != T::LParen {
            self.expected("`(`");
            return self.unknown_expression(start);
        }
        self.bump();
        let operand = Box::new(self.bracketed(|this| this.expression()));
        self.expect(T::RParen);
        Expr {
            kind: ExprKind::Cast { style, ty, operand },
            span: self.span_from(start),
        }
    }

    /// `float(x)`, `unsigned int{}`, `typename A::B(x)`.
    fn functional_cast(&mut self, start: usize) -> Expr {
        let specified = self.decl_specifiers(super::Place::TypeId);
        let span = self.span_from(start);
        let ty = specified
            .ty
            .unwrap_or_else(|| plain(TypeKind::Unknown, span));
        let (close, brace) = match self.peek() {
            T::LParen => (T::RParen, false),
            T::LBrace => (T::RBrace, true),
            _ => {
                self.expected("`(`");
                return Expr {
                    kind: ExprKind::Unknown,
                    span,
                };
            }
        };
        let arguments = self.argument_list(close);
        Expr {
            kind: ExprKind::Construct {
                ty,
                arguments,
                brace,
            },
            span: self.span_from(start),
        }
    }

    /// `asm volatile ("..." : outputs : inputs : clobbers);`
    pub(super) fn asm(&mut self) -> StmtKind {
        let start = self.mark();
        self.bump();
        let mut asm = Asm {
            volatile: false,
            template: SmolStr::default(),
            outputs: Vec::new(),
            inputs: Vec::new(),
            clobbers: Vec::new(),
            span: crate::Span::default(),
        };
        while matches!(self.peek(), T::Volatile | T::Goto | T::Inline) {
            asm.volatile |= self.peek() == T::Volatile;
            self.bump();
        }
        if !self.eat(T::LParen) {
            self.expected("`(`");
            self.skip_statement();
            return StmtKind::Unknown;
        }
        self.bracketed(|this| {
            let mut template = String::new();
            loop {
                match this.peek() {
                    T::Str => {
                        super::literals::unescape_into(this.text(), &mut template);
                        this.bump();
                    }
                    // Macros between the pieces of the text: they stand for text of any meaning.
                    T::Ident => {
                        template.push_str(" ; unseen_text ; ");
                        this.bump();
                        if this.peek() == T::LParen {
                            this.skip_brackets();
                        }
                    }
                    _ => break,
                }
            }
            asm.template = SmolStr::new(template);
            let mut section = 0;
            while matches!(this.peek(), T::Colon | T::ColonColon) {
                section += if this.peek() == T::ColonColon { 2 } else { 1 };
                this.bump();
                match section {
                    1 => asm.outputs = this.asm_operands(),
                    2 => asm.inputs = this.asm_operands(),
                    3 => {
                        while this.peek() == T::Str {
                            let mut clobber = String::new();
                            super::literals::unescape_into(this.text(), &mut clobber);
                            asm.clobbers.push(SmolStr::new(clobber));
                            this.bump();
                            this.eat(T::Comma);
                        }
                    }
                    _ => this.skip_expression(),
                }
            }
        });
        if !self.eat(T::RParen) {
            self.expected("`)`");
            self.skip_to_parenthesis();
        }
        self.semicolon();
        asm.span = self.span_from(start);
        StmtKind::Asm(asm)
    }

    fn asm_operands(&mut self) -> Vec<(SmolStr, Expr)> {
        let mut operands = Vec::new();
        loop {
            if self.peek() == T::LBracket {
                self.skip_brackets();
            }
            let mut constraint = String::new();
            while self.peek() == T::Str {
                super::literals::unescape_into(self.text(), &mut constraint);
                self.bump();
            }
            // A constraint may hide in a macro.
            if self.peek() == T::Ident && self.nth(1) == T::LParen && constraint.is_empty() {
                constraint.push_str(self.text());
                self.bump();
            }
            if constraint.is_empty() || !self.eat(T::LParen) {
                return operands;
            }
            let value = self.bracketed(|this| this.expression());
            self.expect(T::RParen);
            operands.push((SmolStr::new(constraint), value));
            // Compilers that take operands without a comma between them are in use.
            if !self.eat(T::Comma) && self.peek() != T::Str {
                return operands;
            }
        }
    }
}
