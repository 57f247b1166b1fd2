//! Statements.

use super::{expr, exprs, types};
use crate::c_family::ast::{Block, Condition, Stmt, StmtKind};
use std::fmt::Write;

pub(super) fn block(inner: &Block, out: &mut String) {
    out.push('{');
    for (index, inner) in inner.statements.iter().enumerate() {
        if index > 0 {
            out.push(' ');
        }
        statement(inner, out);
    }
    out.push('}');
}

fn condition(inner: &Condition, out: &mut String) {
    match inner {
        Condition::Expr(value) => expr(value, out),
        Condition::Declaration(inner) => types::local(inner, out),
    }
}

fn optional(inner: Option<&Stmt>, out: &mut String) {
    match inner {
        Some(inner) => statement(inner, out),
        None => out.push('_'),
    }
}

fn statement(inner: &Stmt, out: &mut String) {
    for attribute in &inner.attributes {
        types::attributes(std::slice::from_ref(attribute), out);
        out.push(' ');
    }
    match &inner.kind {
        StmtKind::Expr(value) => expr(value, out),
        StmtKind::Declaration(inner) => types::local(inner, out),
        StmtKind::Struct(inner) => super::structure(inner, out),
        StmtKind::Enum(inner) => super::enumeration(inner, out),
        StmtKind::Alias(inner) => super::alias(inner, out),
        StmtKind::UsingNamespace(path) => {
            let _ = write!(out, "(using-namespace {})", path.join("::"));
        }
        StmtKind::Block(inner) => block(inner, out),
        StmtKind::If {
            initializer,
            condition: inner,
            then,
            otherwise,
            constexpr,
        } => {
            out.push_str(if *constexpr { "(if-constexpr " } else { "(if " });
            if let Some(initializer) = initializer {
                statement(initializer, out);
                out.push_str("; ");
            }
            condition(inner, out);
            out.push(' ');
            statement(then, out);
            if let Some(otherwise) = otherwise {
                out.push_str(" else ");
                statement(otherwise, out);
            }
            out.push(')');
        }
        StmtKind::For {
            initializer,
            condition: inner,
            step,
            body,
        } => {
            out.push_str("(for ");
            optional(initializer.as_deref(), out);
            out.push_str("; ");
            match inner {
                Some(inner) => condition(inner, out),
                None => out.push('_'),
            }
            out.push_str("; ");
            match step {
                Some(step) => expr(step, out),
                None => out.push('_'),
            }
            out.push(' ');
            statement(body, out);
            out.push(')');
        }
        StmtKind::RangeFor {
            declaration,
            range,
            body,
        } => {
            out.push_str("(for-range ");
            types::local(declaration, out);
            out.push(' ');
            expr(range, out);
            out.push(' ');
            statement(body, out);
            out.push(')');
        }
        StmtKind::While {
            condition: inner,
            body,
        } => {
            out.push_str("(while ");
            condition(inner, out);
            out.push(' ');
            statement(body, out);
            out.push(')');
        }
        StmtKind::DoWhile { body, condition } => {
            out.push_str("(do ");
            statement(body, out);
            out.push(' ');
            expr(condition, out);
            out.push(')');
        }
        StmtKind::Switch {
            initializer,
            condition: inner,
            body,
        } => {
            out.push_str("(switch ");
            if let Some(initializer) = initializer {
                statement(initializer, out);
                out.push_str("; ");
            }
            condition(inner, out);
            out.push(' ');
            statement(body, out);
            out.push(')');
        }
        StmtKind::Case { value, upper } => {
            out.push_str("(case ");
            expr(value, out);
            if let Some(upper) = upper {
                out.push_str(" ... ");
                expr(upper, out);
            }
            out.push(')');
        }
        StmtKind::Default => out.push_str("(default)"),
        StmtKind::Break => out.push_str("(break)"),
        StmtKind::Continue => out.push_str("(continue)"),
        StmtKind::Return(value) => {
            out.push_str("(return");
            if let Some(value) = value {
                exprs(std::slice::from_ref(value), out);
            }
            out.push(')');
        }
        StmtKind::Discard => out.push_str("(discard)"),
        StmtKind::Goto(label) => {
            let _ = write!(out, "(goto {})", label.name);
        }
        StmtKind::Label(label) => {
            let _ = write!(out, "(label {})", label.name);
        }
        StmtKind::Asm(inner) => {
            let _ = write!(
                out,
                "(asm{} {:?}",
                if inner.volatile { "-volatile" } else { "" },
                inner.template
            );
            for (head, operands) in [("out", &inner.outputs), ("in", &inner.inputs)] {
                for (constraint, value) in operands {
                    let _ = write!(out, " ({head} {constraint:?} ");
                    expr(value, out);
                    out.push(')');
                }
            }
            for clobber in &inner.clobbers {
                let _ = write!(out, " {clobber:?}");
            }
            out.push(')');
        }
        StmtKind::Empty => out.push_str("(empty)"),
        StmtKind::Skipped(inner) => match &inner.understood {
            Some(understood) => statement(understood, out),
            None if inner.perhaps.is_empty() => out.push_str("(unknown)"),
            None => {
                out.push_str("(perhaps");
                for inner in &inner.perhaps {
                    out.push(' ');
                    statement(inner, out);
                }
                out.push(')');
            }
        },
        StmtKind::Unknown => out.push_str("(unknown)"),
    }
}
