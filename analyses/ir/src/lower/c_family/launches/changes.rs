//! Names that a function changes or hands on.

use super::MAX_DEPTH;
use super::scoped::is_dim3;
use crate::lower::c_family::visit::{self};
use smol_str::SmolStr;
use syntax::c_family::ast::*;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Number,
    Block,
    Auto,
    Other,
}

pub(super) fn kind_of(ty: &Type) -> Kind {
    match &ty.kind {
        TypeKind::Builtin(words) => match words.as_str() {
            "int" | "unsigned int" | "long" | "unsigned long" | "long long"
            | "unsigned long long" => Kind::Number,
            _ => Kind::Other,
        },
        TypeKind::Named(name) if is_dim3(name) => Kind::Block,
        TypeKind::Named(name) => match name.segments.last().map(|s| s.ident.name.as_str()) {
            Some(
                "size_t" | "uint" | "uint32_t" | "int32_t" | "int64_t" | "uint64_t" | "ssize_t"
                | "ptrdiff_t",
            ) => Kind::Number,
            _ => Kind::Other,
        },
        TypeKind::Auto => Kind::Auto,
        _ => Kind::Other,
    }
}

pub(super) fn mentions(ty: &Type, local: &dyn Fn(&str) -> bool, depth: u32) -> bool {
    if depth > MAX_DEPTH {
        return true;
    }
    match &ty.kind {
        TypeKind::Builtin(_) => false,
        TypeKind::Named(name) => name.segments.iter().any(|segment| {
            local(&segment.ident.name)
                || segment
                    .template_arguments
                    .iter()
                    .flatten()
                    .any(|argument| match argument {
                        TemplateArgument::Type(ty) | TemplateArgument::Ambiguous(ty, _) => {
                            mentions(ty, local, depth + 1)
                        }
                        TemplateArgument::Value(e) => !matches!(e.kind, ExprKind::Int(_)),
                        TemplateArgument::Pack(_) => true,
                    })
        }),
        TypeKind::Pointer(inner) | TypeKind::Reference { target: inner, .. } => {
            mentions(inner, local, depth + 1)
        }
        _ => true,
    }
}

/// The variable that an expression is, or is a part of.
pub(super) fn root(e: &Expr) -> Option<&SmolStr> {
    let mut e = e;
    for _ in 0..MAX_DEPTH {
        e = match &e.kind {
            ExprKind::Name(name) => {
                return match name.segments.as_slice() {
                    [only] => Some(&only.ident.name),
                    _ => None,
                };
            }
            ExprKind::Paren(inner)
            | ExprKind::Member { base: inner, .. }
            | ExprKind::Index { base: inner, .. }
            | ExprKind::Unary { operand: inner, .. }
            | ExprKind::Cast { operand: inner, .. } => inner,
            _ => return None,
        };
    }
    None
}

/// Names that an expression may change.
pub(super) fn changes(e: &Expr, out: &mut Vec<SmolStr>) {
    match &e.kind {
        ExprKind::Assign { left, .. } => {
            // Every variable on the left may be meant: `(c ? a : b) = 1`.
            visit::expr(left, &mut |inner| out.extend(root(inner).cloned()));
        }
        ExprKind::Unary {
            op:
                UnaryOp::AddressOf
                | UnaryOp::PreIncrement
                | UnaryOp::PreDecrement
                | UnaryOp::PostIncrement
                | UnaryOp::PostDecrement,
            operand,
        } => out.extend(root(operand).cloned()),
        // `std::cin >> n`
        ExprKind::Binary {
            op: BinaryOp::Shr,
            right,
            ..
        } => out.extend(root(right).cloned()),
        ExprKind::Call { callee, arguments } => {
            let harmless = match &callee.kind {
                ExprKind::Name(name) => {
                    is_dim3(name)
                        || name.segments.last().is_some_and(|s| {
                            let name = s.ident.name.as_str();
                            name.ends_with("printf") || matches!(name, "min" | "max" | "ceil")
                        })
                }
                _ => false,
            };
            if !harmless {
                out.extend(arguments.iter().filter_map(root).cloned());
            }
            // A method may change its object.
            if let ExprKind::Member { base, .. } = &callee.kind {
                out.extend(root(base).cloned());
            }
        }
        ExprKind::Construct { ty, arguments, .. }
            if !matches!(kind_of(ty), Kind::Number | Kind::Block)
                && !matches!(ty.kind, TypeKind::Builtin(_)) =>
        {
            out.extend(arguments.iter().filter_map(root).cloned());
        }
        ExprKind::Lambda(lambda) => {
            out.extend(
                lambda
                    .captures
                    .iter()
                    .filter_map(|c| c.initializer.as_ref())
                    .filter_map(root)
                    .cloned(),
            );
        }
        _ => {}
    }
}

/// Names that a declaration hands to a constructor or makes a reference to.
pub(super) fn handed_on(declarator: &Declarator, out: &mut Vec<SmolStr>) {
    let value = matches!(
        kind_of(&declarator.ty),
        Kind::Number | Kind::Block | Kind::Auto
    ) || matches!(declarator.ty.kind, TypeKind::Builtin(_));
    if value {
        return;
    }
    match &declarator.initializer {
        Initializer::None => {}
        Initializer::Copy(e) => out.extend(root(e).cloned()),
        Initializer::Paren(list) | Initializer::Brace(list) => {
            out.extend(list.iter().filter_map(root).cloned());
        }
    }
}
