//! Statements that are not understood, wholly or in part.
//!
//! ```text
//! CUDA_KERNEL_LOOP(i, n) { y = i; }   // the block is executed any number of times; `i` and `n` may be anything
//! x = y @ z;                          // `x`, `y` and `z` may be anything behind it
//! ```
//! Text that is left out invalidates earlier knowledge: the names in it are kept (`Skipped::names`), and so
//! are its jumps. A forgotten `;` at the end of a line leaves nothing out.

use super::Parser;
use super::specifiers::shouting;
use crate::c_family::ast::{Expr, ExprKind, Ident, Skipped, Stmt, StmtKind};
use crate::c_family::token::{LINE_START, TokenKind as T};
use crate::source::Span;

/// Names of one skipped range that are kept.
const NAMES: usize = 1024;

impl Parser<'_> {
    /// The text since `start` was left out, except for the part that is understood.
    pub(super) fn skipped(&self, start: usize, understood: Option<Stmt>) -> StmtKind {
        let mut skipped = Skipped {
            understood,
            ..Skipped::default()
        };
        self.names_since(start, self.at, &mut skipped);
        StmtKind::Skipped(Box::new(skipped))
    }

    fn names_since(&self, start: usize, end: usize, skipped: &mut Skipped) {
        for at in start..end {
            match self.kind_at(at) {
                T::Return => skipped.returns = true,
                T::Break => skipped.breaks = true,
                T::Continue => skipped.continues = true,
                T::Goto => skipped.labels.extend(self.ident_at(at + 1)),
                T::Ident => {
                    let member = at
                        .checked_sub(1)
                        .is_some_and(|b| matches!(self.kind_at(b), T::Dot | T::Arrow));
                    if let Some(ident) = self.ident_at(at).filter(|_| !member)
                        && skipped.names.len() < NAMES
                        && skipped.names.iter().all(|n| n.name != ident.name)
                    {
                        skipped.names.push(ident);
                    }
                }
                _ => {}
            }
        }
    }

    fn ident_at(&self, at: usize) -> Option<Ident> {
        let token = self.tokens.get(at).filter(|t| t.kind == T::Ident)?;
        Some(Ident {
            name: token.text.clone(),
            span: token.span,
        })
    }

    /// A statement with problems since the one numbered `before`.
    pub(super) fn partly_skipped(&self, start: usize, before: usize, kind: StmtKind) -> StmtKind {
        let inner = nested(&kind);
        let within = |span: Span| {
            inner
                .iter()
                .any(|s| s.start <= span.start && span.end <= s.end)
        };
        if self.problems[before..].iter().all(|p| within(p.span)) {
            return kind;
        }
        let kind = match kind {
            StmtKind::Skipped(_)
            | StmtKind::Block(_)
            | StmtKind::Case { .. }
            | StmtKind::Default
            | StmtKind::Label(_)
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Goto(_)
            | StmtKind::Empty => return kind,
            // The value may go on in what was left out.
            StmtKind::Return(Some(value)) => {
                return StmtKind::Return(Some(Expr {
                    kind: ExprKind::Unknown,
                    span: value.span,
                }));
            }
            StmtKind::Return(None) => return kind,
            other => other,
        };
        let understood = self.finish(start, Vec::new(), kind);
        let mut skipped = Skipped {
            understood: Some(understood),
            ..Skipped::default()
        };
        self.names_since(start, self.at, &mut skipped);
        // The jumps of statements inside are understood.
        if !inner.is_empty() {
            (skipped.returns, skipped.breaks, skipped.continues) = (false, false, false);
            skipped.labels.clear();
        }
        StmtKind::Skipped(Box::new(skipped))
    }

    /// A macro that is not known as the head of a loop or a condition: `FOR_RANGE(int, i, 0, n) x += i;`.
    pub(super) fn macro_head(&mut self) -> Option<StmtKind> {
        if self.peek() != T::Ident || self.nth(1) != T::LParen || !shouting(self.text()) {
            return None;
        }
        let start = self.at;
        let end = self.closing(start + 1);
        let alone = self.flag_at(end, LINE_START);
        let body = match self.kind_at(end) {
            T::LBrace => true,
            T::If | T::For | T::While | T::Do | T::Switch => true,
            // On a line of its own it may bring its semicolon.
            T::Return | T::Break | T::Continue | T::Discard => !alone,
            T::PlusPlus | T::MinusMinus => true,
            T::Star => alone,
            T::Ident => self.kind_at(end + 1) != T::Colon,
            _ => false,
        };
        if !body || self.kind_at(end.saturating_sub(1)) != T::RParen {
            return None;
        }
        if self.kind_at(end) == T::Ident {
            // What a macro on a line of its own stands for may have brought its semicolon before a declaration.
            self.at = end;
            let declares = self.is_declaration();
            self.at = start;
            if declares {
                return None;
            }
        }
        self.at = end;
        Some(self.macro_body(start))
    }

    /// The statement behind the head of a macro that is not known, and the one behind its `else`.
    pub(super) fn macro_body(&mut self, start: usize) -> StmtKind {
        let span = self.span_from(start);
        self.unsupported(
            span,
            "this looks like a macro whose definition is not known",
        );
        let mut skipped = Skipped::default();
        self.names_since(start, self.at, &mut skipped);
        skipped.perhaps.push(*self.body());
        if self.eat(T::Else) {
            skipped.perhaps.push(*self.body());
        }
        StmtKind::Skipped(Box::new(skipped))
    }

    /// `try { } catch (...) { }`: how far the first block is executed is not known.
    pub(super) fn try_statement(&mut self) -> StmtKind {
        let span = self.span_here();
        self.bump();
        self.unsupported(span, "exceptions are not understood");
        let mut skipped = Skipped::default();
        if self.peek() == T::LBrace {
            skipped.perhaps.push(self.statement());
        }
        while self.eat(T::Catch) {
            if self.peek() == T::LParen {
                let start = self.at;
                self.skip_brackets();
                self.names_since(start, self.at, &mut skipped);
            }
            if self.peek() == T::LBrace {
                skipped.perhaps.push(self.statement());
            }
        }
        StmtKind::Skipped(Box::new(skipped))
    }
}

/// Returns where the statements inside of one stand.
fn nested(kind: &StmtKind) -> Vec<Span> {
    match kind {
        StmtKind::If {
            then, otherwise, ..
        } => {
            let mut all = vec![then.span];
            all.extend(otherwise.iter().map(|s| s.span));
            all
        }
        StmtKind::For { body, .. }
        | StmtKind::RangeFor { body, .. }
        | StmtKind::While { body, .. }
        | StmtKind::DoWhile { body, .. }
        | StmtKind::Switch { body, .. } => vec![body.span],
        StmtKind::Block(block) => block.statements.iter().map(|s| s.span).collect(),
        StmtKind::Skipped(skipped) => skipped.perhaps.iter().map(|s| s.span).collect(),
        _ => Vec::new(),
    }
}
