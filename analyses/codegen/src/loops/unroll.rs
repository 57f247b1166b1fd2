//! A counted loop with its body several times, and the loop itself for the iterations that remain.
//!
//! ```text
//! for (long i = 0; i < n; i++)          {
//!   s += a[i];                            long i = 0;
//!                                 ->      for (; i < (n > 1 ? n - 1 : 0); i++) {
//!                                           s += a[i];
//!                                           i++;
//!                                           s += a[i];
//!                                         }
//!                                         for (; i < n; i++)
//!                                           s += a[i];
//!                                       }
//! ```
//!
//! Of loops that count up by one from zero to a bound that stays, whose only way out is that test or a `return`: for every
//! bound the iterations are the same in the same order, and no sum is made that could overflow.

use super::{Edit, Refusal, each_expression, expressions, statements_in, unparenthesised};
use crate::specialize::source::Source;
use crate::specialize::source::names::{Names, VarId};
use std::fmt::Write;
use syntax::Span;
use syntax::c_family::ast::*;

/// Bytes of a body that is repeated.
const LARGEST: usize = 2000;

/// A loop with its body `times` times.
///
/// # Errors
/// It is no loop of this kind, or its text can't be repeated.
pub fn unrolled(
    source: &Source<'_>,
    function: &Function,
    statement: &Stmt,
    times: u32,
) -> Result<Edit, Refusal> {
    let StmtKind::For {
        initializer: Some(initializer),
        condition: Some(Condition::Expr(condition)),
        step: Some(step),
        body,
    } = &statement.kind
    else {
        return Err(Refusal::NotCounted);
    };
    let names = Names::of(function);
    let counter = from_zero(&names, initializer).ok_or(Refusal::NotCounted)?;
    if !steps_by_one(&names, step, counter) {
        return Err(Refusal::NotCounted);
    }
    let bound = bound(&names, condition, counter).ok_or(Refusal::NotCounted)?;
    let known = names.variable(counter);
    let limit = match &bound.kind {
        ExprKind::Name(name) => names.meant(name),
        _ => None,
    };
    for id in [Some(counter), limit].into_iter().flatten() {
        let variable = names.variable(id);
        if variable.escapes || variable.volatile {
            return Err(Refusal::Escapes(variable.name.clone()));
        }
    }
    repeatable(&names, body, counter, limit)?;
    plain(source, statement, body)?;
    let own = |span: Span| source.own_text(span);
    let name = &known.name;
    let at = (statement.span.start + source.start) as usize;
    let before = source.text.get(..at).unwrap_or("");
    let line = before.rsplit('\n').next().unwrap_or("");
    let indent: String = line.chars().take_while(|c| c.is_whitespace()).collect();
    let end = match source.text.contains("\r\n") {
        true => "\r\n",
        false => "\n",
    };
    let (bound, step) = (own(bound.span), own(step.span));
    let less = times - 1;
    let first = own(initializer.span).trim_end_matches(';').trim_end();
    let statements: Vec<&Stmt> = match &body.kind {
        StmtKind::Block(block) => block.statements.iter().collect(),
        _ => vec![&**body],
    };
    let declares = statements.iter().any(|statement| {
        matches!(
            statement.kind,
            StmtKind::Declaration(_) | StmtKind::Struct(_)
        )
    });
    // Lines of the body stand one step deeper than they did.
    let inside = match (&body.kind, statements.first(), statements.last()) {
        (StmtKind::Block(_), Some(first), Some(last)) if !declares => {
            own(Span::new(first.span.start, last.span.end))
        }
        _ => own(body.span),
    };
    let unit = deeper(source.text, statement, &statements, source.start, &indent);
    let further = format!("\n{unit}");
    let inside = inside.replace('\n', &further);
    let mut out = format!("{{{end}{indent}{unit}{first};{end}");
    let _ = write!(
        out,
        "{indent}{unit}for (; {name} < ({bound} > {less} ? {bound} - {less} : 0); {step}) {{{end}"
    );
    for copy in 0..times {
        let _ = write!(out, "{indent}{unit}{unit}{inside}{end}");
        if copy + 1 < times {
            let _ = write!(out, "{indent}{unit}{unit}{step};{end}");
        }
    }
    let _ = write!(out, "{indent}{unit}}}{end}");
    let rest = own(Span::new(condition.span.start, statement.span.end)).replace('\n', &further);
    let _ = write!(out, "{indent}{unit}for (; {rest}{end}{indent}}}");
    Ok((statement.span.shifted(source.start), out))
}

/// The white space by which the body's first line stands deeper than the loop's; two spaces where both are one line.
fn deeper<'t>(
    text: &'t str,
    statement: &Stmt,
    statements: &[&Stmt],
    start: u32,
    indent: &str,
) -> &'t str {
    let first = statements.first().map(|first| first.span.start);
    let first = first.filter(|&first| first > statement.span.start);
    let unit = first.and_then(|first| {
        let before = text.get(..(first + start) as usize)?;
        let line = before.rsplit('\n').next()?;
        let own = line.trim().is_empty().then_some(line)?;
        own.strip_prefix(indent)
    });
    unit.filter(|unit| !unit.is_empty()).unwrap_or("  ")
}

fn is_name(names: &Names, e: &Expr, id: VarId) -> bool {
    matches!(&unparenthesised(e).kind, ExprKind::Name(name) if names.meant(name) == Some(id))
}

fn is_number(e: &Expr, value: u64) -> bool {
    matches!(&unparenthesised(e).kind, ExprKind::Int(literal) if literal.value == value)
}

/// The variable that begins at zero.
fn from_zero(names: &Names, initializer: &Stmt) -> Option<VarId> {
    match &initializer.kind {
        StmtKind::Declaration(declaration) => {
            let [declarator] = declaration.declarators.as_slice() else {
                return None;
            };
            match (&declarator.name, &declarator.initializer) {
                (DeclaratorName::Plain(ident), Initializer::Copy(e)) if is_number(e, 0) => {
                    names.declared_at(ident)
                }
                _ => None,
            }
        }
        StmtKind::Expr(e) => match &e.kind {
            ExprKind::Assign {
                op: None,
                left,
                right,
                ..
            } if is_number(right, 0) => match &left.kind {
                ExprKind::Name(name) => names.meant(name),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}

fn steps_by_one(names: &Names, step: &Expr, counter: VarId) -> bool {
    match &unparenthesised(step).kind {
        ExprKind::Unary {
            op: UnaryOp::PreIncrement | UnaryOp::PostIncrement,
            operand,
        } => is_name(names, operand, counter),
        ExprKind::Assign {
            op: Some(BinaryOp::Add),
            left,
            right,
            ..
        } => is_name(names, left, counter) && is_number(right, 1),
        _ => false,
    }
}

/// Returns the bound of the counter: a variable or a number.
fn bound<'e>(names: &Names, condition: &'e Expr, counter: VarId) -> Option<&'e Expr> {
    match &unparenthesised(condition).kind {
        ExprKind::Binary {
            op: BinaryOp::Less,
            left,
            right,
            ..
        } if is_name(names, left, counter) => {
            let variable = match &right.kind {
                ExprKind::Name(name) => names.meant(name).is_some_and(|id| id != counter),
                ExprKind::Int(_) => true,
                _ => false,
            };
            variable.then_some(&**right)
        }
        _ => None,
    }
}

/// The body leaves the counter and the bound alone, and the loop only by `return`.
fn repeatable(
    names: &Names,
    body: &Stmt,
    counter: VarId,
    limit: Option<VarId>,
) -> Result<(), Refusal> {
    let mut bad = None;
    let own = |e: &Expr| {
        let found = [Some(counter), limit].into_iter().flatten();
        found.into_iter().find(|&id| is_name(names, e, id))
    };
    statements_in(
        body,
        &mut |statement| {
            match &statement.kind {
                StmtKind::Break => bad = Some(Refusal::Repeated("a `break`")),
                StmtKind::Continue => bad = Some(Refusal::Repeated("a `continue`")),
                StmtKind::Goto(_) => bad = Some(Refusal::Repeated("a `goto`")),
                StmtKind::Label(_) => bad = Some(Refusal::Repeated("a label")),
                StmtKind::Case { .. } | StmtKind::Default | StmtKind::Switch { .. } => {
                    bad = Some(Refusal::Repeated("a `switch`"));
                }
                StmtKind::Asm(_) | StmtKind::Skipped(_) | StmtKind::Unknown => {
                    bad = Some(Refusal::Repeated("what is not understood"));
                }
                StmtKind::Declaration(declaration)
                    if declaration.specifiers.words.has(SpecifierSet::STATIC) =>
                {
                    bad = Some(Refusal::Repeated("a static variable"));
                }
                _ if super::body_of(statement).is_some() => {
                    bad = Some(Refusal::Repeated("another loop"));
                }
                _ => {}
            }
            for e in expressions(statement) {
                each_expression(
                    e,
                    &mut |part| {
                        let written = match &part.kind {
                            ExprKind::Assign { left, .. } => own(left),
                            ExprKind::Unary {
                                op:
                                    UnaryOp::PreIncrement
                                    | UnaryOp::PostIncrement
                                    | UnaryOp::PreDecrement
                                    | UnaryOp::PostDecrement,
                                operand,
                            } => own(operand),
                            ExprKind::Statement(_) => {
                                bad = Some(Refusal::Repeated("statements in an expression"));
                                None
                            }
                            _ => None,
                        };
                        if written.is_some() {
                            bad = Some(Refusal::NotCounted);
                        }
                    },
                    0,
                );
            }
        },
        0,
    );
    bad.map_or(Ok(()), Err)
}

/// Checks that the text is free of macros and directives.
fn plain(source: &Source<'_>, statement: &Stmt, body: &Stmt) -> Result<(), Refusal> {
    let text = source.own_text(statement.span);
    if !statement.attributes.is_empty() {
        return Err(Refusal::Repeated("a request above it"));
    }
    if text.lines().any(|line| line.trim_start().starts_with('#')) {
        return Err(Refusal::Directive);
    }
    if source.in_macro(statement.span) || !text.starts_with("for") {
        return Err(Refusal::Macro);
    }
    // A line comment would swallow the text behind it; a macro may hold a part of the head.
    let head = Span::new(statement.span.start, body.span.start);
    let meets = |used: &Span| used.start < head.end && head.start < used.end;
    if source.macros.iter().any(meets) {
        return Err(Refusal::Macro);
    }
    if source.own_text(head).contains("//") {
        return Err(Refusal::Repeated("a comment in its head"));
    }
    match source.own_text(body.span).len() {
        0..=LARGEST => Ok(()),
        _ => Err(Refusal::Repeated("a long body")),
    }
}
