//! An analysis of whether a variable has been set on every way to a check: a variable that nobody wrote must
//! not be tested.
//!
//! ```text
//! float x; if (lit) x = f();      after the `if`: perhaps        if (lit) x = f(); else x = 0;      certainly
//! ```
//!
//! The analysis distinguishes the lanes of a vector. A loop's body counts for nothing, an arm that does not
//! come out for everything.

use super::Source;
use super::names::{Names, VarId};
use syntax::Span;
use syntax::c_family::ast::*;

const DEPTH: u32 = 200;

/// Returns true if all lanes are set before the statement with number `before` of a block.
pub(super) fn is_set(
    source: &Source<'_>,
    names: &Names,
    body: &Block,
    block: Span,
    before: usize,
    id: VarId,
) -> bool {
    let variable = names.variable(id);
    if variable.parameter {
        return true;
    }
    let lanes = source
        .type_of(&variable.ty)
        .lanes()
        .unwrap_or(1)
        .clamp(1, 16);
    let setting = Setting {
        source,
        names,
        id,
        all: (1 << lanes) - 1,
    };
    setting.way(body, block, before, DEPTH).unwrap_or(0) == setting.all
}

struct Setting<'a> {
    source: &'a Source<'a>,
    names: &'a Names,
    id: VarId,
    all: u32,
}

impl Setting<'_> {
    /// Returns the variables that are set on the way from the beginning of `body` to the place; `None`: it is
    /// not in it.
    fn way(&self, body: &Block, block: Span, before: usize, depth: u32) -> Option<u32> {
        if depth == 0 {
            return None;
        }
        let of = |statements: &[Stmt]| self.all_of(statements, DEPTH);
        if body.span == block {
            return Some(of(body.statements.get(..before).unwrap_or_default()));
        }
        let at = body.statements.iter().position(|statement| {
            statement.span.start <= block.start && block.end <= statement.span.end
        })?;
        let above = of(&body.statements[..at]);
        let stmt = &body.statements[at];
        let mut inner = Vec::new();
        super::emit::all_statements(stmt, &mut inner, 0);
        // The outermost block in the statement that holds the place.
        let next = inner.into_iter().find_map(|it| match &it.kind {
            StmtKind::Block(next)
                if next.span.start <= block.start && block.end <= next.span.end =>
            {
                Some(next)
            }
            _ => None,
        })?;
        let head = match &stmt.kind {
            StmtKind::For {
                initializer: Some(first),
                ..
            } => self.stmt(first, DEPTH),
            _ => 0,
        };
        Some(above | head | self.way(next, block, before, depth - 1)?)
    }

    fn all_of(&self, statements: &[Stmt], depth: u32) -> u32 {
        statements.iter().fold(0, |sum, it| match it.kind {
            // Entered from elsewhere.
            StmtKind::Case { .. } | StmtKind::Default | StmtKind::Label(_) => 0,
            _ => sum | self.stmt(it, depth),
        })
    }

    fn stmt(&self, stmt: &Stmt, depth: u32) -> u32 {
        if depth == 0 {
            return 0;
        }
        let go = |stmt: &Stmt| self.stmt(stmt, depth - 1);
        match &stmt.kind {
            StmtKind::Declaration(declaration) => {
                let sets = declaration.declarators.iter().any(|declarator| {
                    matches!(&declarator.name, DeclaratorName::Plain(ident)
                        if self.names.declared_at(ident) == Some(self.id))
                        && !matches!(declarator.initializer, Initializer::None)
                });
                if sets { self.all } else { 0 }
            }
            StmtKind::Expr(e) => self.expression(e),
            StmtKind::Block(block) => self.all_of(&block.statements, depth - 1),
            StmtKind::If {
                then, otherwise, ..
            } => go(then) & otherwise.as_deref().map_or(0, go),
            StmtKind::For {
                initializer: Some(first),
                ..
            } => go(first),
            StmtKind::Return(_) | StmtKind::Break | StmtKind::Continue | StmtKind::Discard => {
                self.all
            }
            _ => 0,
        }
    }

    fn expression(&self, e: &Expr) -> u32 {
        match &e.kind {
            ExprKind::Paren(inner) => self.expression(inner),
            ExprKind::Assign {
                op: None,
                left,
                right,
                ..
            } => self.target(left) | self.expression(right),
            ExprKind::Call { callee, arguments } => {
                let written = self.source.call(self.names, callee, arguments, 0).written;
                let set = written.iter().filter_map(|&at| arguments.get(at));
                set.fold(0, |sum, argument| sum | self.target(argument))
            }
            _ => 0,
        }
    }

    fn target(&self, e: &Expr) -> u32 {
        let own = |e: &Expr| matches!(&e.kind, ExprKind::Name(name) if self.names.meant(name) == Some(self.id));
        match &e.kind {
            _ if own(e) => self.all,
            ExprKind::Paren(inner) => self.target(inner),
            ExprKind::Member { base, member, .. } if own(base) => {
                let ty = self.source.type_of(&self.names.variable(self.id).ty);
                let places = member
                    .segments
                    .last()
                    .and_then(|last| Source::swizzle(&ty, &last.ident.name));
                let places = places.unwrap_or_default();
                places.iter().fold(0, |sum, &lane| sum | 1 << lane.min(31)) & self.all
            }
            _ => 0,
        }
    }
}
