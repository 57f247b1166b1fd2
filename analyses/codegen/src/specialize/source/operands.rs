//! Operands without a name that a version can test: factors that are read from memory, taken from a structure or returned
//! by a call, where the statement computes them on every path and nothing changes them before.
//!
//! ```text
//! out[i] = a[i] * brdf(b[i]);      the check asks `a[i] == 0` before the statement
//! ```

use super::Source;
use super::effects::numeric;
use super::flow::assigned_in;
use super::names::Names;
use super::types::Shape;
use syntax::Span;
use syntax::c_family::ast::*;

/// Characters of an operand, at most: it stands twice.
const LONGEST: u32 = 64;
const DEPTH: u32 = 64;

/// The operands of a statement's products, in order of position.
pub(super) fn operands<'s>(source: &Source<'_>, names: &Names, stmt: &'s Stmt) -> Vec<&'s Expr> {
    let mut found = Vec::new();
    match &stmt.kind {
        StmtKind::Declaration(declaration) => {
            // What one initialises another may read.
            if let [declarator] = declaration.declarators.as_slice()
                && let Initializer::Copy(e) = &declarator.initializer
            {
                factors(e, &mut found, DEPTH);
                found.retain(|_| assigned_in(source, names, e).is_empty());
            }
        }
        StmtKind::Expr(e) => {
            if let ExprKind::Assign {
                op, left, right, ..
            } = &e.kind
            {
                if *op == Some(BinaryOp::Mul) {
                    factor(right, &mut found);
                }
                factors(right, &mut found, DEPTH);
                let still = |e: &Expr| assigned_in(source, names, e).is_empty();
                found.retain(|_| still(left) && still(right));
            }
        }
        _ => {}
    }
    found.retain(|e| testable(source, names, e));
    found.sort_by_key(|e| e.span);
    found.dedup_by_key(|e| e.span);
    found
}

/// Factors that are computed whenever the expression is.
fn factors<'s>(e: &'s Expr, found: &mut Vec<&'s Expr>, depth: u32) {
    if depth == 0 {
        return;
    }
    let mut go = |e: &'s Expr| factors(e, found, depth - 1);
    match &e.kind {
        ExprKind::Paren(inner) => go(inner),
        ExprKind::Unary { operand, .. } => go(operand),
        ExprKind::Cast { operand, .. } => go(operand),
        ExprKind::Binary {
            op: BinaryOp::LogicalAnd | BinaryOp::LogicalOr,
            ..
        } => {}
        ExprKind::Binary {
            op, left, right, ..
        } => {
            go(left);
            go(right);
            if *op == BinaryOp::Mul {
                factor(left, found);
                factor(right, found);
            }
        }
        ExprKind::Call { arguments, .. } | ExprKind::Construct { arguments, .. } => {
            arguments.iter().for_each(go);
        }
        _ => {}
    }
}

fn factor<'s>(e: &'s Expr, found: &mut Vec<&'s Expr>) {
    match &e.kind {
        ExprKind::Paren(inner) => factor(inner, found),
        ExprKind::Index { .. } | ExprKind::Member { .. } | ExprKind::Call { .. } => found.push(e),
        _ => {}
    }
}

/// A number that can be computed once more without any effect.
fn testable(source: &Source<'_>, names: &Names, e: &Expr) -> bool {
    let effects = source.effects(names, e);
    let text = source.slice(e.span);
    let ty = source.type_of_expr(names, e, 0);
    let vector = matches!(ty.number(), Some((_, Shape::Vector(_))));
    // The parts of an expression's vector have no names in CUDA unless it is a vector in memory.
    let parts = !vector
        || !matches!(e.kind, ExprKind::Call { .. })
        || source.language == ir::Language::Hlsl;
    numeric(&ty)
        && parts
        && effects.removable(source.language)
        && !effects.cross_lane
        && !effects.derivative
        && !source.in_macro(e.span)
        && !source.macros.iter().any(|used| e.span.start <= used.start && used.end <= e.span.end)
        && !text.is_empty()
        && e.span.len() <= LONGEST
        && !text.contains(['\n', '"'])
        && !text.contains("//")
        && !text.contains("/*")
        && !text.contains("==")
        // A swizzle of a variable is tested by the variable.
        && !matches!(&e.kind, ExprKind::Member { base, .. } if matches!(base.kind, ExprKind::Name(_)) && numeric(&source.type_of_expr(names, base, 0)))
}

/// The operand of a statement at a place.
pub(super) fn operand_at<'s>(
    source: &Source<'_>,
    names: &Names,
    stmt: &'s Stmt,
    place: Span,
) -> Option<&'s Expr> {
    operands(source, names, stmt)
        .into_iter()
        .find(|e| e.span == place)
}
