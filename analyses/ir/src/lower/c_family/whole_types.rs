//! Types that a function needs to be integers: those of variables that are subscripts, that count a loop, or that stand
//! beside `%`, a shift or a bitwise operator. A template parameter that nothing determines is taken to be one then.

use super::visit::{self, Node};
use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;
use syntax::c_family::ast::{
    BinaryOp, Declaration, DeclaratorName, Expr, ExprKind, Function, FunctionBody, Initializer,
    StmtKind, Type, TypeKind,
};

#[derive(Default)]
struct Uses {
    /// The name of the type of each variable of the function, whatever its scope.
    types: FxHashMap<SmolStr, SmolStr>,
    /// Variables that are integers.
    variables: FxHashSet<SmolStr>,
    found: FxHashSet<SmolStr>,
}

/// The names of such types in a function.
pub(super) fn whole_types(function: &Function) -> FxHashSet<SmolStr> {
    let mut uses = Uses::default();
    for parameter in &function.parameters {
        if let (Some(ident), Some(ty)) = (&parameter.name, name_of(&parameter.ty)) {
            uses.types.insert(ident.name.clone(), ty.clone());
        }
    }
    if let FunctionBody::Block(body) = &function.body {
        visit::nodes(body, &mut |node| uses.meet(node));
    }
    let Uses {
        types,
        variables,
        mut found,
    } = uses;
    let of_variables = variables.iter().filter_map(|name| types.get(name));
    found.extend(of_variables.cloned());
    found
}

/// The name of a type that is no more than one.
fn name_of(ty: &Type) -> Option<&SmolStr> {
    match &ty.kind {
        TypeKind::Named(name) => match name.segments.as_slice() {
            [found] if found.template_arguments.is_none() => Some(&found.ident.name),
            _ => None,
        },
        _ => None,
    }
}

impl Uses {
    fn meet(&mut self, node: Node<'_>) {
        match node {
            Node::Declaration(declared) => self.declared(declared, false),
            Node::Loop(statement) => {
                if let StmtKind::For {
                    initializer: Some(first),
                    ..
                } = &statement.kind
                    && let StmtKind::Declaration(declared) = &first.kind
                {
                    self.declared(declared, true);
                }
            }
            Node::Expr(e) => self.expression(e),
            Node::Block(_) => {}
        }
    }

    fn declared(&mut self, declared: &Declaration, counts: bool) {
        for declarator in &declared.declarators {
            let (DeclaratorName::Plain(ident), Some(ty)) =
                (&declarator.name, name_of(&declarator.ty))
            else {
                continue;
            };
            self.types.insert(ident.name.clone(), ty.clone());
            if counts && !matches!(declarator.initializer, Initializer::None) {
                self.variables.insert(ident.name.clone());
            }
        }
    }

    fn expression(&mut self, e: &Expr) {
        match &e.kind {
            ExprKind::Index { indices, .. } => indices.iter().for_each(|index| self.whole(index)),
            ExprKind::Binary {
                op, left, right, ..
            } if is_whole(*op) => {
                self.whole(left);
                self.whole(right);
            }
            ExprKind::Assign {
                op: Some(op),
                left,
                right,
                ..
            } if is_whole(*op) => {
                self.whole(left);
                self.whole(right);
            }
            _ => {}
        }
    }

    /// An expression that is an integer, hence its operands.
    fn whole(&mut self, e: &Expr) {
        match &e.kind {
            ExprKind::Name(name) => {
                if let [segment] = name.segments.as_slice() {
                    self.variables.insert(segment.ident.name.clone());
                }
            }
            ExprKind::Paren(inner) => self.whole(inner),
            ExprKind::Binary {
                op: BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div,
                left,
                right,
                ..
            } => {
                self.whole(left);
                self.whole(right);
            }
            ExprKind::Cast { ty, .. } | ExprKind::Construct { ty, .. } => {
                self.found.extend(name_of(ty).cloned());
            }
            _ => {}
        }
    }
}

/// Returns true if no operand may be a floating-point number. A shift may write to a stream and `&`, `|` may be a
/// class's own.
fn is_whole(op: BinaryOp) -> bool {
    matches!(
        op,
        BinaryOp::Rem | BinaryOp::Shr | BinaryOp::BitAnd | BinaryOp::BitXor
    )
}
