//! The expression that a finding is about: findings lie at the operator that accesses or computes, which is one character of it.

use crate::db::{self, Db, Item};
use ir::lower::c_family::visit;
use syntax::Span;
use syntax::c_family::ast::{ExprKind, FunctionBody, ItemKind};

/// The place of the expression around an operator, relative to the item as `at` is: of an assignment the
/// target, of any other operator the whole operation. Any other place is returned as it is.
pub(super) fn expression(db: &dyn Db, item: Item<'_>, at: Span) -> Span {
    let mut found = at;
    let parsed = db::parsed(db, item);
    let ItemKind::Function(function) = &parsed.kind else {
        return found;
    };
    if let FunctionBody::Block(body) = &function.body {
        visit::block(body, &mut |e| match &e.kind {
            ExprKind::Assign { left, op_span, .. } if *op_span == at => found = left.span,
            ExprKind::Binary { op_span, .. } if *op_span == at => found = e.span,
            _ => {}
        });
    }
    found
}
