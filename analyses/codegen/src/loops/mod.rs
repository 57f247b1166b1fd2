//! Rewrites of a loop of C by which its author can help: ask for a way of pipelining (`request`), promise
//! that pointers are apart (`restrict`), write a condition as a value (`conditional`), or a body several
//! times (`unroll`).
//!
//! ```text
//! for (long i = 0; i < n; i++)                            #pragma lockstep pipeline(best)
//!   if (a[i] > m) m = a[i];                        ->     for (long i = 0; i < n; i++)
//!                                                           m = a[i] > m ? a[i] : m;
//! ```
//!
//! Edits are made of the author's own text. Text that a macro or a directive takes part in is refused.
//!
//! Not done: loops are not split, and statements do not move.

pub mod check;
mod conditional;
mod request;
mod restrict;
#[cfg(test)]
mod tests;
mod unroll;

pub use conditional::{Conversion, conditional_at};
pub use request::{Pragma, pragma_of, with_lines, with_pragma, without_pragma};
pub use restrict::{Promise, ambiguous, promise, restricted};
pub use unroll::unrolled;

use crate::specialize::source::Source;
use crate::specialize::source::names::parts;
use smol_str::SmolStr;
use syntax::Span;
use syntax::c_family::ast::*;

/// The reason why a loop is not rewritten.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refusal {
    #[error("a part of it comes out of a macro and can't be rewritten")]
    Macro,
    #[error("a preprocessor directive stands in it")]
    Directive,
    #[error("an access does not start from a pointer that the function is given")]
    NoParameter,
    #[error(
        "both accesses start from `{0}`: `restrict` tells different pointers apart, not elements of one"
    )]
    SamePointer(SmolStr),
    #[error("`{0}` says so already: what is left to tell apart starts from one pointer")]
    Already(SmolStr),
    #[error("the type of `{0}` is no pointer in sight")]
    NoPointer(SmolStr),
    #[error("one way holds {0}, which is no assignment to a variable")]
    Statement(&'static str),
    #[error(
        "only one way stores to memory: the other would write back what was there, which a page that is read only or another thread would notice; pipelined, the store is predicated as it stands"
    )]
    OneStore,
    #[error("the ways store to different places")]
    Places,
    #[error("`{0}` is not the function's own: it is static, volatile, or its address is taken")]
    Escapes(SmolStr),
    #[error("`{0}` has no value yet where the condition is false")]
    NoValue(SmolStr),
    #[error("the condition or a value does something besides: {0}")]
    Effects(&'static str),
    #[error("the condition reads `{0}`, which an earlier one of the assignments changes")]
    Reads(SmolStr),
    #[error(
        "the values of the two ways have different types, which a conditional expression would convert"
    )]
    Types,
    #[error(
        "it does not count up by one from zero to a variable or a number that stays what it is"
    )]
    NotCounted,
    #[error("it holds {0}, which can't be repeated")]
    Repeated(&'static str),
    #[error("{statements} statements in the ways, of at most {most}")]
    Long { statements: usize, most: usize },
    #[error("the rewritten text was not accepted: {0}")]
    Unsound(check::Violation),
}

/// An edit of the file: spans in bytes from its beginning.
pub type Edit = (Span, String);

/// Statements and expressions are followed no deeper.
const DEPTH: u32 = 256;

/// The body of a loop; nothing of another statement.
#[must_use]
pub fn body_of(statement: &Stmt) -> Option<&Stmt> {
    match &statement.kind {
        StmtKind::For { body, .. }
        | StmtKind::While { body, .. }
        | StmtKind::DoWhile { body, .. } => Some(body),
        _ => None,
    }
}

/// The innermost loop around an offset of the item: on the head of a loop that is one, though others stand in it.
#[must_use]
pub fn loop_at(function: &Function, offset: u32) -> Option<&Stmt> {
    let mut found: Option<&Stmt> = None;
    each_statement(function, &mut |statement| {
        let around = statement.span.start <= offset && offset <= statement.span.end;
        if around && body_of(statement).is_some() {
            found = Some(statement);
        }
    });
    found
}

/// The innermost `if` whose head holds an offset.
#[must_use]
pub fn branch_at(function: &Function, offset: u32) -> Option<&Stmt> {
    let mut found: Option<&Stmt> = None;
    each_statement(function, &mut |statement| {
        if let StmtKind::If { then, .. } = &statement.kind
            && statement.span.start <= offset
            && offset < then.span.start
        {
            found = Some(statement);
        }
    });
    found
}

/// Returns true if the position of a loop's head belongs to this one.
#[must_use]
pub fn is_head(statement: &Stmt, start: u32) -> bool {
    let Some(body) = body_of(statement) else {
        return false;
    };
    // A body that is a loop begins with its own head.
    let end = body.span.start + u32::from(body_of(body).is_none());
    (statement.span.start..end).contains(&start)
}

/// All statements of a function, each before those in it.
fn each_statement<'f>(function: &'f Function, then: &mut dyn FnMut(&'f Stmt)) {
    if let FunctionBody::Block(block) = &function.body {
        for statement in &block.statements {
            statements_in(statement, then, 0);
        }
    }
}

fn statements_in<'f>(statement: &'f Stmt, then: &mut dyn FnMut(&'f Stmt), depth: u32) {
    if depth > DEPTH {
        return;
    }
    then(statement);
    let d = depth + 1;
    match &statement.kind {
        StmtKind::Block(block) => {
            for statement in &block.statements {
                statements_in(statement, then, d);
            }
        }
        StmtKind::If {
            then: first,
            otherwise,
            ..
        } => {
            statements_in(first, then, d);
            if let Some(second) = otherwise {
                statements_in(second, then, d);
            }
        }
        StmtKind::For {
            initializer, body, ..
        } => {
            if let Some(first) = initializer {
                statements_in(first, then, d);
            }
            statements_in(body, then, d);
        }
        StmtKind::While { body, .. }
        | StmtKind::DoWhile { body, .. }
        | StmtKind::Switch { body, .. }
        | StmtKind::RangeFor { body, .. } => statements_in(body, then, d),
        _ => {}
    }
}

/// The expressions directly in a statement.
fn expressions(statement: &Stmt) -> Vec<&Expr> {
    let mut out = Vec::new();
    let condition = |condition: &'_ Condition| match condition {
        Condition::Expr(_) => true,
        Condition::Declaration(_) => false,
    };
    match &statement.kind {
        StmtKind::Expr(e) | StmtKind::Return(Some(e)) => out.push(e),
        StmtKind::Declaration(declaration) => {
            for declarator in &declaration.declarators {
                if let Initializer::Copy(e) = &declarator.initializer {
                    out.push(e);
                }
            }
        }
        StmtKind::If { condition: c, .. }
        | StmtKind::While { condition: c, .. }
        | StmtKind::Switch { condition: c, .. } => {
            if let (true, Condition::Expr(e)) = (condition(c), c) {
                out.push(e);
            }
        }
        StmtKind::DoWhile { condition, .. } => out.push(condition),
        StmtKind::For {
            condition, step, ..
        } => {
            if let Some(Condition::Expr(e)) = condition {
                out.push(e);
            }
            out.extend(step);
        }
        _ => {}
    }
    out
}

/// An expression and all below it.
fn each_expression<'e>(e: &'e Expr, then: &mut dyn FnMut(&'e Expr), depth: u32) {
    if depth > DEPTH {
        return;
    }
    then(e);
    for part in parts(e) {
        each_expression(part, then, depth + 1);
    }
}

fn unparenthesised(mut e: &Expr) -> &Expr {
    while let ExprKind::Paren(inner) = &e.kind {
        e = inner;
    }
    e
}

impl Source<'_> {
    /// The text of a span of the item.
    fn own_text(&self, span: Span) -> &str {
        let span = span.shifted(self.start);
        let range = span.start as usize..span.end as usize;
        self.text.get(range).unwrap_or("")
    }
}
