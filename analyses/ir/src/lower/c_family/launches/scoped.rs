//! Launches by a `dim3` of a scope around them, and the members of it that are set in front of them.

use super::changes::{Kind, changes, handed_on, kind_of, root};
use super::host::{Host, Local};
use super::{BlockText, UNKNOWN, runtime_launch, unwrapped};
use crate::lower::c_family::visit::{self, Node};
use smol_str::SmolStr;
use syntax::Span;
use syntax::c_family::ast::*;

/// A launch by a `dim3` that is declared in a block of statements, with the shape that follows from its
/// declaration and the statements in front of the launch: `if (n) { dim3 b; b.x = 32; k<<<g, b>>>(); } else {
/// dim3 b(64); .. }`.
#[derive(Clone, Debug)]
pub(super) struct Scoped {
    pub(super) launch: Span,
    pub(super) name: SmolStr,
    pub(super) ty: Type,
    pub(super) initializer: Initializer,
    pub(super) set: [Option<Expr>; 3],
}

impl Scoped {
    pub(super) fn shape(&self, host: &Host) -> BlockText {
        let Local::Block(BlockText::Sizes(mut sizes)) =
            host.declared(&self.ty, &self.initializer, true)
        else {
            return UNKNOWN;
        };
        for (size, set) in sizes.iter_mut().zip(&self.set) {
            if let Some(set) = set {
                *size = host.substituted(set, 0);
            }
        }
        BlockText::Sizes(sizes)
    }
}

pub(super) fn scoped(block: &Block, out: &mut Vec<Scoped>) {
    let mut open: Vec<Scoped> = Vec::new();
    for statement in &block.statements {
        if let StmtKind::Expr(e) = &statement.kind
            && let Some((name, axis, value)) = member_set(e)
            && let Some(found) = open.iter_mut().find(|it| it.name == *name)
        {
            found.set[axis] = Some(value.clone());
            continue;
        }
        // What the statement changes it may change in front of a launch in it.
        let mut changed = Vec::new();
        let mut launches = Vec::new();
        let alone = Block {
            statements: vec![statement.clone()],
            span: block.span,
        };
        visit::nodes(&alone, &mut |node| match node {
            Node::Expr(e) => {
                changes(e, &mut changed);
                let block = match &e.kind {
                    ExprKind::Launch { configuration, .. } => configuration.get(1),
                    _ => runtime_launch(e).and_then(|(_, block)| block),
                };
                if let Some(ExprKind::Name(name)) = block.map(|e| &unwrapped(e).kind)
                    && let [only] = name.segments.as_slice()
                {
                    launches.push((e.span, only.ident.name.clone()));
                }
            }
            Node::Declaration(declared) => {
                for declarator in &declared.declarators {
                    handed_on(declarator, &mut changed);
                }
            }
            _ => {}
        });
        open.retain(|it| !changed.contains(&it.name));
        for (launch, name) in launches {
            if let Some(found) = open.iter().find(|it| it.name == name) {
                out.push(Scoped {
                    launch,
                    ..found.clone()
                });
            }
        }
        if let StmtKind::Declaration(declared) = &statement.kind {
            for declarator in &declared.declarators {
                if let DeclaratorName::Plain(ident) = &declarator.name {
                    open.retain(|it| it.name != ident.name);
                    // A copy is of what the other one was at that time.
                    let copies = match &declarator.initializer {
                        Initializer::None => false,
                        Initializer::Copy(e) => is_name(e),
                        Initializer::Paren(list) | Initializer::Brace(list) => {
                            matches!(list.as_slice(), [only] if is_name(only))
                        }
                    };
                    if kind_of(&declarator.ty) == Kind::Block && !copies {
                        open.push(Scoped {
                            launch: Span::default(),
                            name: ident.name.clone(),
                            ty: declarator.ty.clone(),
                            initializer: declarator.initializer.clone(),
                            set: [None, None, None],
                        });
                    }
                }
            }
        }
    }
}

fn is_name(e: &Expr) -> bool {
    matches!(unwrapped(e).kind, ExprKind::Name(_))
}

/// `name.x = value`
fn member_set(e: &Expr) -> Option<(&SmolStr, usize, &Expr)> {
    let ExprKind::Assign {
        op: None,
        left,
        right,
        ..
    } = &e.kind
    else {
        return None;
    };
    let ExprKind::Member {
        base,
        member,
        arrow: false,
    } = &left.kind
    else {
        return None;
    };
    // Another block's member may have another value by the time of the launch.
    let mut fixed = matches!(base.kind, ExprKind::Name(_));
    visit::expr(right, &mut |e| {
        fixed &= !matches!(e.kind, ExprKind::Member { .. })
    });
    let name = root(base).filter(|_| fixed)?;
    Some((name, axis(member)?, right))
}

/// Another name, a number or a product.
pub(super) fn is_product(e: &Expr) -> bool {
    matches!(
        unwrapped(e).kind,
        ExprKind::Name(_)
            | ExprKind::Int(_)
            | ExprKind::Binary {
                op: BinaryOp::Mul,
                ..
            }
    )
}

/// `block.x = 32;` behind `dim3 block;` in the same block of statements, in front of any launch.
pub(super) struct MemberSet {
    pub(super) name: SmolStr,
    pub(super) axis: usize,
    pub(super) value: Expr,
    pub(super) at: Span,
}

pub(super) fn members_set(block: &Block, out: &mut Vec<MemberSet>) {
    let mut open: Vec<&SmolStr> = Vec::new();
    for statement in &block.statements {
        match &statement.kind {
            StmtKind::Declaration(declared) => {
                let blocks = declared.declarators.iter();
                let blocks = blocks.filter(|d| kind_of(&d.ty) == Kind::Block);
                open.extend(blocks.filter_map(|d| match &d.name {
                    DeclaratorName::Plain(ident) => Some(&ident.name),
                    _ => None,
                }));
            }
            StmtKind::Expr(e) => {
                if let Some((name, axis, value)) = member_set(e)
                    && open.contains(&name)
                {
                    out.push(MemberSet {
                        name: name.clone(),
                        axis,
                        value: value.clone(),
                        at: e.span,
                    });
                }
                visit::expr(e, &mut |inner| {
                    if matches!(inner.kind, ExprKind::Launch { .. })
                        || runtime_launch(inner).is_some()
                    {
                        open.clear();
                    }
                });
            }
            // What a branch or a loop does may be in front of a launch or behind it.
            _ => open.clear(),
        }
    }
}

/// A block of one dimension.
pub(super) fn line(size: Option<Expr>) -> BlockText {
    BlockText::Sizes([size, Some(one()), Some(one())])
}

pub(super) fn one() -> Expr {
    let literal = IntLiteral {
        value: 1,
        unsigned: false,
        longs: 0,
        based: false,
    };
    Expr {
        kind: ExprKind::Int(literal),
        span: Span::default(),
    }
}

pub(super) fn axis(member: &Name) -> Option<usize> {
    match member.segments.as_slice() {
        [only] => ["x", "y", "z"]
            .iter()
            .position(|axis| only.ident.name == *axis),
        _ => None,
    }
}

pub(super) fn is_dim3(name: &Name) -> bool {
    matches!(name.segments.as_slice(), [only] if only.ident.name == "dim3")
}
