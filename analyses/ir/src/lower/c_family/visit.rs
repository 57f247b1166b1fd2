//! Walks over trees: every expression of a block, in source order.

use syntax::Span;
use syntax::c_family::ast::*;

const MAX_DEPTH: u32 = 400;

/// A node that a walk meets.
#[derive(Clone, Copy, Debug)]
pub enum Node<'a> {
    Expr(&'a Expr),
    Declaration(&'a Declaration),
    Loop(&'a Stmt),
    Block(&'a Block),
}

/// Calls `f` for every expression below a block, nested lambdas included.
pub fn block(block: &Block, f: &mut dyn FnMut(&Expr)) {
    nodes(block, &mut |node| {
        if let Node::Expr(e) = node {
            f(e);
        }
    });
}

/// Calls `f` for a block and every expression, declaration, loop and block below it, nested lambdas included.
pub fn nodes(block: &Block, f: &mut dyn FnMut(Node<'_>)) {
    f(Node::Block(block));
    for statement in &block.statements {
        stmt(statement, f, 0);
    }
}

pub fn expr(e: &Expr, f: &mut dyn FnMut(&Expr)) {
    let mut of_expr = |node: Node<'_>| {
        if let Node::Expr(e) = node {
            f(e);
        }
    };
    expr_at(e, &mut of_expr, 0);
}

fn stmt(statement: &Stmt, f: &mut dyn FnMut(Node<'_>), depth: u32) {
    if depth > MAX_DEPTH {
        return;
    }
    let d = depth + 1;
    if matches!(
        statement.kind,
        StmtKind::For { .. }
            | StmtKind::RangeFor { .. }
            | StmtKind::While { .. }
            | StmtKind::DoWhile { .. }
    ) {
        f(Node::Loop(statement));
    }
    match &statement.kind {
        StmtKind::Expr(e) => expr_at(e, f, d),
        StmtKind::Declaration(declared) => declaration(declared, f, d),
        StmtKind::Block(inner) => {
            f(Node::Block(inner));
            inner.statements.iter().for_each(|s| stmt(s, f, d));
        }
        StmtKind::If {
            initializer,
            condition: head,
            then,
            otherwise,
            ..
        } => {
            initializer.iter().for_each(|s| stmt(s, f, d));
            condition(head, f, d);
            stmt(then, f, d);
            otherwise.iter().for_each(|s| stmt(s, f, d));
        }
        StmtKind::For {
            initializer,
            condition: head,
            step,
            body,
        } => {
            initializer.iter().for_each(|s| stmt(s, f, d));
            head.iter().for_each(|c| condition(c, f, d));
            step.iter().for_each(|e| expr_at(e, f, d));
            stmt(body, f, d);
        }
        StmtKind::RangeFor {
            declaration: declared,
            range,
            body,
        } => {
            declaration(declared, f, d);
            expr_at(range, f, d);
            stmt(body, f, d);
        }
        StmtKind::While {
            condition: head,
            body,
        } => {
            condition(head, f, d);
            stmt(body, f, d);
        }
        StmtKind::DoWhile {
            body,
            condition: head,
        } => {
            stmt(body, f, d);
            expr_at(head, f, d);
        }
        StmtKind::Switch {
            initializer,
            condition: head,
            body,
        } => {
            initializer.iter().for_each(|s| stmt(s, f, d));
            condition(head, f, d);
            stmt(body, f, d);
        }
        StmtKind::Case { value, upper } => {
            expr_at(value, f, d);
            upper.iter().for_each(|e| expr_at(e, f, d));
        }
        StmtKind::Return(Some(e)) => expr_at(e, f, d),
        StmtKind::Skipped(skipped) => {
            let all = skipped.understood.iter().chain(&skipped.perhaps);
            all.for_each(|s| stmt(s, f, d));
        }
        StmtKind::Asm(asm) => {
            let operands = asm.outputs.iter().chain(&asm.inputs);
            operands.for_each(|(_, e)| expr_at(e, f, d));
        }
        _ => {}
    }
}

fn condition(head: &Condition, f: &mut dyn FnMut(Node<'_>), depth: u32) {
    match head {
        Condition::Expr(e) => expr_at(e, f, depth),
        Condition::Declaration(declared) => declaration(declared, f, depth),
    }
}

fn declaration(declared: &Declaration, f: &mut dyn FnMut(Node<'_>), depth: u32) {
    f(Node::Declaration(declared));
    for declarator in &declared.declarators {
        match &declarator.initializer {
            Initializer::None => {}
            Initializer::Copy(e) => expr_at(e, f, depth),
            Initializer::Paren(list) | Initializer::Brace(list) => {
                list.iter().for_each(|e| expr_at(e, f, depth));
            }
        }
    }
}

fn expr_at(e: &Expr, f: &mut dyn FnMut(Node<'_>), depth: u32) {
    if depth > MAX_DEPTH {
        return;
    }
    f(Node::Expr(e));
    let d = depth + 1;
    match &e.kind {
        ExprKind::Unary { operand, .. }
        | ExprKind::Cast { operand, .. }
        | ExprKind::SizeofExpr(operand)
        | ExprKind::Paren(operand)
        | ExprKind::PackExpansion(operand)
        | ExprKind::Designated { value: operand, .. }
        | ExprKind::Delete(operand) => expr_at(operand, f, d),
        ExprKind::Member { base, .. } => expr_at(base, f, d),
        ExprKind::Binary { left, right, .. } | ExprKind::Assign { left, right, .. } => {
            expr_at(left, f, d);
            expr_at(right, f, d);
        }
        ExprKind::Comma(left, right) => {
            expr_at(left, f, d);
            expr_at(right, f, d);
        }
        ExprKind::Conditional {
            condition,
            then,
            otherwise,
        } => {
            expr_at(condition, f, d);
            expr_at(then, f, d);
            expr_at(otherwise, f, d);
        }
        ExprKind::Generic { cases, .. } => {
            cases.iter().for_each(|(_, value)| expr_at(value, f, d));
        }
        ExprKind::Call { callee, arguments } => {
            expr_at(callee, f, d);
            arguments.iter().for_each(|a| expr_at(a, f, d));
        }
        ExprKind::Launch {
            callee,
            configuration,
            arguments,
        } => {
            expr_at(callee, f, d);
            let all = configuration.iter().chain(arguments);
            all.for_each(|a| expr_at(a, f, d));
        }
        ExprKind::Index { base, indices } => {
            expr_at(base, f, d);
            indices.iter().for_each(|a| expr_at(a, f, d));
        }
        ExprKind::Construct { arguments, .. } => arguments.iter().for_each(|a| expr_at(a, f, d)),
        ExprKind::List(items) => items.iter().for_each(|(_, a)| expr_at(a, f, d)),
        ExprKind::Lambda(lambda) => {
            lambda.body.statements.iter().for_each(|s| stmt(s, f, d));
        }
        ExprKind::Fold { pack, initial, .. } => {
            expr_at(pack, f, d);
            initial.iter().for_each(|i| expr_at(i, f, d));
        }
        ExprKind::Statement(inner) => inner.statements.iter().for_each(|s| stmt(s, f, d)),
        _ => {}
    }
}

/// Clears the positions of a template argument, so that it compares equal wherever it stands. `false`: it is too
/// involved to be kept.
pub fn forget_positions(argument: &mut TemplateArgument) -> bool {
    match argument {
        TemplateArgument::Type(ty) => forget_type(ty),
        TemplateArgument::Value(e) => forget_expr(e),
        TemplateArgument::Ambiguous(ty, e) => forget_type(ty) && forget_expr(e),
        TemplateArgument::Pack(_) => false,
    }
}

pub fn forget_name(name: &mut Name) -> bool {
    name.span = Span::default();
    name.segments.iter_mut().all(|segment| {
        segment.ident.span = Span::default();
        match &mut segment.template_arguments {
            Some(arguments) => arguments.iter_mut().all(forget_positions),
            None => true,
        }
    })
}

fn forget_type(ty: &mut Type) -> bool {
    ty.span = Span::default();
    match &mut ty.kind {
        TypeKind::Builtin(_) => true,
        TypeKind::Named(name) => forget_name(name),
        TypeKind::Pointer(to) => forget_type(to),
        TypeKind::Reference { target, .. } => forget_type(target),
        _ => false,
    }
}

fn forget_expr(e: &mut Expr) -> bool {
    e.span = Span::default();
    match &mut e.kind {
        ExprKind::Int(_) | ExprKind::Float(_) | ExprKind::Bool(_) | ExprKind::Char(_) => true,
        ExprKind::Name(name) => forget_name(name),
        ExprKind::Paren(inner) | ExprKind::Unary { operand: inner, .. } => forget_expr(inner),
        ExprKind::Binary {
            left,
            right,
            op_span,
            ..
        } => {
            *op_span = Span::default();
            forget_expr(left) && forget_expr(right)
        }
        _ => false,
    }
}
