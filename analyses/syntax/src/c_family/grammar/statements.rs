//! Statements.

use super::declarations::Parsed;
use super::specifiers::shouting;
use super::{Parser, Place};
use crate::c_family::ast::{
    Attribute, Block, Condition, Declaration, Expr, ExprKind, Initializer, Specifiers, Stmt,
    StmtKind, TypeKind,
};
use crate::c_family::token::TokenKind as T;
use crate::error::Problem;

/// `if (a) ... else if (b) ...`: one arm.
struct Arm {
    start: usize,
    initializer: Option<Box<Stmt>>,
    condition: Condition,
    constexpr: bool,
    then: Box<Stmt>,
    attributes: Vec<Attribute>,
}

/// Arms of one chain of `else if`; each nests one level in the tree.
const ARMS: usize = 512;

impl Parser<'_> {
    pub(super) fn statement(&mut self) -> Stmt {
        let start = self.mark();
        if !self.enter() {
            self.skip_statement();
            if self.at == start {
                self.bump();
            }
            let kind = self.skipped(start, None);
            return self.finish(start, Vec::new(), kind);
        }
        let mut attributes = Vec::new();
        let (before, forgiven) = (self.problems.len(), self.forgiven);
        self.statement_attributes(&mut attributes);
        let kind = self.statement_kind(start);
        self.leave();
        let all = self.problems.len() > before + (self.forgiven - forgiven);
        let kind = match kind {
            StmtKind::Unknown => self.skipped(start, None),
            kind if all => self.partly_skipped(start, before, kind),
            kind => kind,
        };
        self.finish(start, attributes, kind)
    }

    pub(super) fn finish(&self, start: usize, attributes: Vec<Attribute>, kind: StmtKind) -> Stmt {
        Stmt {
            kind,
            attributes,
            span: self.span_from(start),
        }
    }

    fn statement_attributes(&mut self, attributes: &mut Vec<Attribute>) {
        loop {
            match self.peek() {
                T::PragmaUnroll => self.pragma_attribute(attributes),
                T::LBracket if self.at_bracket_attribute() => self.bracket_attribute(attributes),
                T::Ident if self.text() == "__attribute__" => {
                    self.word_attribute("attribute", attributes)
                }
                T::Ident if self.text() == "__extension__" => self.bump(),
                // A macro in front of a loop: `MY_UNROLL for (...)`.
                T::Ident
                    if matches!(self.nth(1), T::For | T::While | T::Do | T::If | T::Switch)
                        || self.nth(1) == T::PragmaUnroll =>
                {
                    let start = self.mark();
                    let name = smol_str::SmolStr::new(self.text());
                    self.bump();
                    attributes.push(Attribute {
                        name,
                        arguments: Vec::new(),
                        span: self.span_from(start),
                    });
                }
                _ => return,
            }
        }
    }

    fn statement_kind(&mut self, start: usize) -> StmtKind {
        match self.peek() {
            T::LBrace => StmtKind::Block(self.block()),
            T::Semicolon => {
                self.bump();
                StmtKind::Empty
            }
            T::If => self.if_statement(),
            T::For => self.for_statement(),
            T::While => {
                self.bump();
                let condition = self.parenthesised_condition().1;
                StmtKind::While {
                    condition,
                    body: self.body(),
                }
            }
            T::Do => self.do_statement(),
            T::Switch => {
                self.bump();
                let (initializer, condition) = self.parenthesised_condition();
                StmtKind::Switch {
                    initializer,
                    condition,
                    body: self.body(),
                }
            }
            T::Case => {
                self.bump();
                let value = self.conditional();
                let upper = self.eat(T::Ellipsis).then(|| self.conditional());
                self.expect(T::Colon);
                StmtKind::Case { value, upper }
            }
            T::Default if self.nth(1) == T::Colon => {
                self.bump();
                self.bump();
                StmtKind::Default
            }
            T::Break | T::Continue | T::Discard => {
                let kind = self.peek();
                self.bump();
                self.semicolon();
                match kind {
                    T::Break => StmtKind::Break,
                    T::Continue => StmtKind::Continue,
                    _ => StmtKind::Discard,
                }
            }
            T::Return => {
                self.bump();
                let value = match self.peek() {
                    T::Semicolon | T::RBrace | T::Eof => None,
                    T::LBrace => Some(self.initializer_list()),
                    _ => Some(self.expression()),
                };
                self.semicolon();
                StmtKind::Return(value)
            }
            T::Goto if self.nth(1) == T::Star => {
                self.skip_statement();
                let span = self.span_from(start);
                self.unsupported(span, "a jump to a label that is computed");
                StmtKind::Unknown
            }
            T::Goto => {
                self.bump();
                match self.ident() {
                    Some(label) => {
                        self.semicolon();
                        StmtKind::Goto(label)
                    }
                    None => self.unknown_statement("expected a label"),
                }
            }
            T::Asm => self.asm(),
            T::Try => self.try_statement(),
            T::Using => self.using_statement(start),
            T::Namespace | T::StaticAssert => {
                self.skip_statement();
                StmtKind::Empty
            }
            T::Ident if self.nth(1) == T::Colon => {
                let label = self.ident();
                self.bump();
                match label {
                    Some(label) => StmtKind::Label(label),
                    None => StmtKind::Empty,
                }
            }
            T::Else => self.unknown_statement("`else` without `if`"),
            T::Default => self.unknown_statement("a label outside of a switch"),
            _ if self.is_declaration() => self.declaration_statement(start),
            _ => match self.macro_head() {
                Some(kind) => kind,
                None => self.expression_statement(),
            },
        }
    }

    fn unknown_statement(&mut self, message: &str) -> StmtKind {
        let span = self.span_here();
        self.report(Problem::syntax(span, message));
        self.bump();
        self.skip_statement();
        StmtKind::Unknown
    }

    /// A statement that belongs to a head.
    pub(super) fn body(&mut self) -> Box<Stmt> {
        if matches!(self.peek(), T::RBrace | T::Eof) {
            self.expected("a statement");
            return Box::new(Stmt {
                kind: StmtKind::Empty,
                attributes: Vec::new(),
                span: self.span_behind(),
            });
        }
        Box::new(self.statement())
    }

    fn if_statement(&mut self) -> StmtKind {
        let mut arms = Vec::new();
        let mut attributes = Vec::new();
        let mut otherwise = None;
        loop {
            let start = self.mark();
            self.bump();
            let mut constexpr = self.eat(T::Constexpr);
            // `if consteval`, and macros that stand for `constexpr` or nothing.
            if self.peek() == T::Consteval || self.peek() == T::Ident && self.nth(1) == T::LParen {
                constexpr = true;
                self.bump();
            }
            let (initializer, condition) = self.parenthesised_condition();
            let then = self.body();
            arms.push(Arm {
                start,
                initializer,
                condition,
                constexpr,
                then,
                attributes: std::mem::take(&mut attributes),
            });
            if !self.eat(T::Else) {
                break;
            }
            self.statement_attributes(&mut attributes);
            if self.peek() != T::If || arms.len() >= ARMS {
                if arms.len() >= ARMS {
                    self.limit("this chain of `else if` is too long");
                    let start = self.mark();
                    self.skip_else_chain();
                    let kind = self.skipped(start, None);
                    otherwise = Some(Box::new(self.finish(start, attributes, kind)));
                } else {
                    let mut last = self.body();
                    last.attributes.splice(0..0, attributes);
                    otherwise = Some(last);
                }
                break;
            }
        }
        let mut kind = StmtKind::Empty;
        while let Some(arm) = arms.pop() {
            kind = StmtKind::If {
                initializer: arm.initializer,
                condition: arm.condition,
                then: arm.then,
                otherwise: otherwise.take(),
                constexpr: arm.constexpr,
            };
            if arms.is_empty() {
                break;
            }
            let nested = Stmt {
                kind,
                attributes: arm.attributes,
                span: self.span_from(arm.start),
            };
            otherwise = Some(Box::new(nested));
            kind = StmtKind::Empty;
        }
        kind
    }

    /// Skips `if (...) ... else if ...` without building anything.
    fn skip_else_chain(&mut self) {
        loop {
            if self.eat(T::If) {
                self.eat(T::Constexpr);
                if self.peek() == T::LParen {
                    self.skip_brackets();
                }
            }
            self.skip_statement();
            if !self.eat(T::Else) {
                return;
            }
        }
    }

    /// `(init; condition)`
    fn parenthesised_condition(&mut self) -> (Option<Box<Stmt>>, Condition) {
        let start = self.mark();
        if !self.eat(T::LParen) {
            self.expected("`(`");
            return (
                None,
                Condition::Expr(Expr {
                    kind: ExprKind::Unknown,
                    span: self.span_from(start),
                }),
            );
        }
        let close = self.closing(start);
        let (initializer, mut condition) = self.bracketed(|this| {
            this.head = true;
            let mut initializer = None;
            let closed = this.kind_at(close.saturating_sub(1)) == T::RParen;
            if closed && this.has_semicolon(close) {
                initializer = Some(Box::new(this.simple_statement()));
            }
            (initializer, this.condition(T::RParen))
        });
        if self.close_head(close) {
            // What was left out may decide.
            condition = Condition::Expr(Expr {
                kind: ExprKind::Unknown,
                span: self.span_from(start),
            });
        }
        (initializer, condition)
    }

    /// `)` of a head; text before it that was not understood is skipped. Returns whether there was any.
    fn close_head(&mut self, close: usize) -> bool {
        if self.eat(T::RParen) {
            return false;
        }
        self.expected("`)`");
        let start = self.at;
        // A head that was never closed must not take the body with it.
        let closed = self.kind_at(close.saturating_sub(1)) == T::RParen;
        if closed && close > self.at {
            self.half = false;
            self.at = close;
            return close - start > 1;
        }
        while !matches!(
            self.peek(),
            T::RParen | T::LBrace | T::RBrace | T::Semicolon | T::Eof
        ) {
            self.bump();
        }
        let skipped = self.at > start;
        self.eat(T::RParen);
        skipped
    }

    /// Returns true if a `;` lies between here and the parenthesis that ends before `close`.
    fn has_semicolon(&self, close: usize) -> bool {
        let mut depth = 0usize;
        for at in self.at..close.min(self.at + 4096) {
            match self.kind_at(at) {
                T::LParen | T::LBracket | T::LBrace => depth += 1,
                T::RParen | T::RBracket | T::RBrace => depth = depth.saturating_sub(1),
                T::Semicolon if depth == 0 => return true,
                _ => {}
            }
        }
        false
    }

    /// `int x = f()` or an expression, up to `end`.
    fn condition(&mut self, end: T) -> Condition {
        if self.is_condition_declaration() {
            let start = self.mark();
            let specified = self.decl_specifiers(Place::Block);
            let span = self.span_from(start);
            let base = specified
                .ty
                .unwrap_or_else(|| super::types::plain(TypeKind::Unknown, span));
            let declared = self.declarator(base, Place::Block);
            let declarator = self.init_declarator(declared, Place::Block);
            let declaration = Declaration {
                template: None,
                specifiers: specified.specifiers,
                declarators: vec![declarator],
                span: self.span_from(start),
            };
            return Condition::Declaration(Box::new(declaration));
        }
        let value = self.expression();
        if self.peek() != end {
            self.expected(&format!("`{}`", end.text()));
        }
        Condition::Expr(value)
    }

    /// In a condition only an initialised declaration is one: `a * b` is a product.
    fn is_condition_declaration(&self) -> bool {
        if !self.is_declaration() {
            return false;
        }
        let mut depth = 0usize;
        for at in self.at..self.at + 256 {
            match self.kind_at(at) {
                T::LParen | T::LBracket => depth += 1,
                T::RParen if depth == 0 => return false,
                T::RParen | T::RBracket => depth = depth.saturating_sub(1),
                T::Equal if depth == 0 => return true,
                T::LBrace if depth == 0 => return true,
                T::Semicolon | T::Eof | T::OrOr => return false,
                _ => {}
            }
        }
        false
    }

    /// A declaration or expression with its `;`.
    fn simple_statement(&mut self) -> Stmt {
        let start = self.mark();
        let kind = match self.peek() {
            T::Semicolon => {
                self.bump();
                StmtKind::Empty
            }
            T::Using => self.using_statement(start),
            _ if self.is_declaration() => self.declaration_statement(start),
            _ => {
                let value = self.expression();
                self.expect(T::Semicolon);
                StmtKind::Expr(value)
            }
        };
        self.finish(start, Vec::new(), kind)
    }

    fn for_statement(&mut self) -> StmtKind {
        self.bump();
        let open = self.at;
        if !self.eat(T::LParen) {
            self.expected("`(`");
            self.skip_statement();
            return StmtKind::Unknown;
        }
        let close = self.closing(open);
        if let Some(kind) = self.range_for(close) {
            return kind;
        }
        let (initializer, mut condition, step) = self.bracketed(|this| {
            this.head = true;
            let first = this.simple_statement();
            let initializer = (!matches!(first.kind, StmtKind::Empty)).then(|| Box::new(first));
            let condition = match this.peek() {
                T::Semicolon | T::RParen => None,
                _ => Some(this.condition(T::Semicolon)),
            };
            if this.peek() != T::RParen {
                this.expect(T::Semicolon);
            }
            let step =
                (!matches!(this.peek(), T::RParen | T::Eof | T::LBrace)).then(|| this.expression());
            (initializer, condition, step)
        });
        if self.close_head(close) {
            condition = Some(Condition::Expr(Expr {
                kind: ExprKind::Unknown,
                span: self.span_from(open),
            }));
        }
        StmtKind::For {
            initializer,
            condition,
            step,
            body: self.body(),
        }
    }

    /// `for (init; auto x : range)`; `None` when the head has no colon at its level.
    fn range_for(&mut self, close: usize) -> Option<StmtKind> {
        let (mut depth, mut questions) = (0usize, 0usize);
        let mut colon = None;
        for at in self.at..close.min(self.at + 512) {
            match self.kind_at(at) {
                T::LParen | T::LBracket | T::LBrace => depth += 1,
                T::RParen | T::RBracket | T::RBrace => depth = depth.saturating_sub(1),
                T::Question => questions += 1,
                T::Colon if depth == 0 && questions > 0 => questions -= 1,
                T::Colon if depth == 0 => {
                    colon = Some(at);
                    break;
                }
                T::Semicolon if depth == 0 => return None,
                _ => {}
            }
        }
        colon?;
        let (declaration, range) = self.bracketed(|this| {
            let start = this.mark();
            let specified = this.decl_specifiers(Place::Block);
            let span = this.span_from(start);
            let base = specified
                .ty
                .unwrap_or_else(|| super::types::plain(TypeKind::Unknown, span));
            let declared = this.declarator(base, Place::Block);
            let name = match declared.name {
                super::declarators::DeclaredName::Plain(name) => {
                    match name.segments.into_iter().next_back() {
                        Some(last) => crate::c_family::ast::DeclaratorName::Plain(last.ident),
                        None => crate::c_family::ast::DeclaratorName::None,
                    }
                }
                super::declarators::DeclaredName::Binding(names) => {
                    crate::c_family::ast::DeclaratorName::Binding(names)
                }
                _ => crate::c_family::ast::DeclaratorName::None,
            };
            let span = this.span_from(start);
            let declarator = crate::c_family::ast::Declarator {
                name,
                ty: declared.ty,
                initializer: Initializer::None,
                bit_width: None,
                semantic: None,
                attributes: Vec::new(),
                span,
            };
            let declaration = Declaration {
                template: None,
                specifiers: specified.specifiers,
                declarators: vec![declarator],
                span,
            };
            this.expect(T::Colon);
            let range = this.initializer_clause();
            (Box::new(declaration), range)
        });
        self.close_head(close);
        Some(StmtKind::RangeFor {
            declaration,
            range,
            body: self.body(),
        })
    }

    fn do_statement(&mut self) -> StmtKind {
        self.bump();
        let body = self.body();
        if !self.eat(T::While) {
            self.expected("`while`");
            return StmtKind::Unknown;
        }
        let condition = match self.parenthesised_condition().1 {
            Condition::Expr(value) => value,
            Condition::Declaration(declaration) => Expr {
                kind: ExprKind::Unknown,
                span: declaration.span,
            },
        };
        // `do { } while (0)` in a macro that is used with and without a semicolon.
        if self.peek() == T::Semicolon
            || !self.flag_at(
                self.at.saturating_sub(1),
                crate::c_family::token::FROM_MACRO,
            )
        {
            self.semicolon();
        }
        StmtKind::DoWhile { body, condition }
    }

    fn using_statement(&mut self, start: usize) -> StmtKind {
        self.bump();
        if self.eat(T::Namespace) {
            let path = self.path();
            self.semicolon();
            return StmtKind::UsingNamespace(path);
        }
        if self.peek() == T::Ident && self.alias_follows() {
            return match self.alias(None, start) {
                Some(alias) => StmtKind::Alias(alias),
                None => StmtKind::Unknown,
            };
        }
        self.skip_statement();
        StmtKind::Empty
    }

    fn declaration_statement(&mut self, start: usize) -> StmtKind {
        let problems = self.problems.len();
        match self.declaration(None, start, Place::Block) {
            Parsed::Variables(declaration) => StmtKind::Declaration(declaration),
            Parsed::Aliases(aliases) => match aliases.into_iter().next() {
                Some(alias) => StmtKind::Alias(alias),
                None => StmtKind::Empty,
            },
            Parsed::Definition(ty) => match ty.kind {
                TypeKind::InlineStruct(inner) => StmtKind::Struct(*inner),
                TypeKind::InlineEnum(inner) => StmtKind::Enum(*inner),
                _ => StmtKind::Empty,
            },
            Parsed::Forward | Parsed::Nothing => StmtKind::Empty,
            Parsed::Function(function) => {
                self.unsupported(function.signature_span, "a function inside a function");
                StmtKind::Unknown
            }
            Parsed::Unknown => {
                if self.problems.len() == problems {
                    self.expected("a declaration");
                }
                if self.at == start {
                    self.bump();
                }
                self.skip_statement();
                StmtKind::Unknown
            }
        }
    }

    fn expression_statement(&mut self) -> StmtKind {
        let start = self.mark();
        let problems = self.problems.len();
        let value = self.expression();
        if self.eat(T::Semicolon) {
            return StmtKind::Expr(value);
        }
        let macro_call = match &value.kind {
            ExprKind::Call { callee, .. } => match &callee.kind {
                ExprKind::Name(name) => name
                    .segments
                    .last()
                    .is_some_and(|last| shouting(&last.ident.name)),
                _ => false,
            },
            ExprKind::Name(name) => name
                .segments
                .last()
                .is_some_and(|last| shouting(&last.ident.name)),
            _ => false,
        };
        // A macro that brings its own semicolon, alone on its line.
        if macro_call
            && (self.on_new_line() || self.peek() == T::RBrace)
            && self.peek() != T::LBrace
        {
            return StmtKind::Expr(value);
        }
        let call = matches!(value.kind, ExprKind::Call { .. });
        if self.peek() == T::LBrace && (call || macro_call) {
            return self.macro_body(start);
        }
        // A statement whose expression came from the end of a macro.
        if matches!(value.kind, ExprKind::Unknown) || self.problems.len() > problems {
            if self.at == start {
                self.bump();
            }
            self.skip_statement();
            return StmtKind::Unknown;
        }
        let span = self.span_behind();
        self.forgive(span);
        if self.peek() == T::Eof || self.peek() == T::RBrace || self.on_new_line() {
            return StmtKind::Expr(value);
        }
        self.skip_statement();
        StmtKind::Unknown
    }

    /// A block for a GNU statement expression.
    pub(super) fn statement_expression(&mut self) -> Block {
        self.block()
    }

    pub(super) fn no_specifiers(&self) -> Specifiers {
        Specifiers {
            span: crate::Span::at(self.span_here().start),
            ..Specifiers::default()
        }
    }
}
