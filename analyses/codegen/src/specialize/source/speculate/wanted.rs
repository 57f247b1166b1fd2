//! Expressions that may be evaluated where they were not, and where they stand.

use super::super::Source;
use super::super::emit::all_statements;
use super::super::flow::stores;
use super::super::graph::{self, Graph};
use super::super::names::{VarId, parts, root};
use super::super::pressure::scene::{Scene, holds};
use super::super::sink_dead::operands::{effect, names_the_active, reads, sets_variables};
use super::super::types::{Base, Shape, Ty};
use super::{Hazard, Refusal};
use facts::speculative::Local;
use ir::Language;
use ir::lower::c_family::visit;
use smol_str::{SmolStr, ToSmolStr};
use syntax::Span;
use syntax::c_family::ast::*;

/// An expression by its words, which may stand in several places.
pub(super) struct Wanted {
    /// The expression as it is written where it was asked for.
    pub(super) text: SmolStr,
    key: Key,
    pub(super) operands: Vec<VarId>,
    /// Names in it that mean no variable of the function.
    pub(super) others: Vec<SmolStr>,
    /// The type that its variable is declared with.
    pub(super) ty: String,
    is_product: bool,
}

/// The words of an expression without space, and the variables that they mean.
type Key = (String, Vec<Option<VarId>>);

/// A node of the graph as evaluations see it.
#[derive(Clone, Debug, Default)]
pub(super) struct Uses {
    pub(super) local: Local,
    /// The places where the node certainly evaluates the expression before it changes an operand.
    pub(super) places: Vec<Span>,
    /// A compiler may fuse one of them with an operation around it.
    pub(super) fused: bool,
}

/// The expressions of a function's body around a place, the outermost first, that are operations.
pub(super) fn around<'s>(scene: &Scene<'s>, place: Span) -> Vec<&'s Expr> {
    let mut found = Vec::new();
    for stmt in statements(scene.body) {
        for (e, _) in roots(stmt) {
            outward(e, place, &mut found);
        }
    }
    found
}

fn outward<'s>(e: &'s Expr, place: Span, found: &mut Vec<&'s Expr>) {
    if !holds(e.span, place) {
        return;
    }
    if is_operation(e) {
        found.push(e);
    }
    for part in parts(e) {
        outward(part, place, found);
    }
}

pub(super) fn is_operation(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Binary { op, .. } => matches!(
            op,
            BinaryOp::Add
                | BinaryOp::Sub
                | BinaryOp::Mul
                | BinaryOp::Div
                | BinaryOp::Rem
                | BinaryOp::Shl
                | BinaryOp::Shr
                | BinaryOp::BitAnd
                | BinaryOp::BitOr
                | BinaryOp::BitXor
        ),
        ExprKind::Call { .. } => true,
        _ => false,
    }
}

pub(super) fn statements(body: &Block) -> Vec<&Stmt> {
    let mut all = Vec::new();
    for stmt in &body.statements {
        all_statements(stmt, &mut all, 0);
    }
    all
}

/// The expressions that a statement, or the head of an `if`, evaluates, and the text of the node that it is.
pub(super) fn roots(stmt: &Stmt) -> Vec<(&Expr, Span)> {
    let of = |e| vec![(e, stmt.span)];
    match &stmt.kind {
        StmtKind::Expr(e) | StmtKind::Return(Some(e)) => of(e),
        StmtKind::Declaration(declaration) => {
            // A reference is bound to the value itself, and constants may be constants of the language.
            let words = declaration.specifiers.words;
            let constant = words.has(SpecifierSet::CONSTEXPR) || words.has(SpecifierSet::STATIC);
            let declarators = declaration.declarators.iter().filter(|declarator| {
                !constant && !matches!(declarator.ty.kind, TypeKind::Reference { .. })
            });
            let initial = declarators.flat_map(|declarator| match &declarator.initializer {
                Initializer::None => Vec::new(),
                Initializer::Copy(e) => vec![e],
                Initializer::Paren(all) | Initializer::Brace(all) => all.iter().collect(),
            });
            initial.map(|e| (e, stmt.span)).collect()
        }
        StmtKind::If {
            condition: Condition::Expr(e),
            then,
            constexpr: false,
            ..
        } => vec![(e, Span::new(stmt.span.start, then.span.start))],
        _ => Vec::new(),
    }
}

impl Wanted {
    /// The expression, where it can be evaluated on ways that did not.
    pub(super) fn new(scene: &Scene<'_>, e: &Expr, wraps: bool) -> Result<Wanted, Refusal> {
        let source = scene.source;
        let text = source.slice(e.span).to_smolstr();
        if source.in_macro(e.span) || text.contains('\n') {
            return Err(Refusal::NoExpression);
        }
        let effects = source.effects(&scene.names, e);
        let effect = match effect(&effects) {
            None if names_the_active(e) => Some(super::super::sink_dead::Effect::Exchanges),
            None if sets_variables(source, &scene.names, e) => {
                Some(super::super::sink_dead::Effect::Stores)
            }
            found => found,
        };
        if let Some(effect) = effect {
            return Err(Refusal::Effect { text, effect });
        }
        let (mut operands, mut memory) = (Vec::new(), false);
        reads(scene, e, &mut operands, &mut memory);
        operands.sort();
        operands.dedup();
        if operands.is_empty() {
            return Err(Refusal::NoExpression);
        }
        let environment = ["FENV_ACCESS", "fesetround", "feenableexcept"];
        let rounds = environment.iter().any(|word| source.text.contains(word));
        let hazard = match memory {
            _ if rounds => Some(Hazard::Environment),
            true => Some(Hazard::Reads),
            false => hazard(scene, e, wraps, 0),
        };
        if let Some(hazard) = hazard {
            return Err(Refusal::Hazard { text, hazard });
        }
        let mut known = operands.iter().map(|of| scene.names.variable(*of));
        if let Some(of) = known.find(|of| of.escapes || of.volatile) {
            let operand = of.name.clone();
            return Err(Refusal::Operand { text, operand });
        }
        let found = source.type_of_expr(&scene.names, e, 0);
        let ty = spelled(scene, e, &found).ok_or_else(|| Refusal::NoType(text.clone()))?;
        let mut others = Vec::new();
        visit::expr(e, &mut |part| {
            if let ExprKind::Name(name) = &part.kind
                && scene.names.meant(name).is_none()
                && let Some(first) = name.segments.first()
            {
                others.push(first.ident.name.clone());
            }
        });
        let is_float = found.number().is_some_and(|(base, _)| base.is_float());
        Ok(Wanted {
            text,
            key: key(scene, e),
            operands,
            others,
            ty,
            is_product: is_float
                && matches!(
                    e.kind,
                    ExprKind::Binary {
                        op: BinaryOp::Mul,
                        ..
                    }
                ),
        })
    }

    /// Returns the effects of a graph's nodes on it.
    pub(super) fn uses(&self, scene: &Scene<'_>, graph: &Graph) -> Vec<Uses> {
        let all = statements(scene.body);
        let nodes = graph.nodes.iter();
        nodes.map(|node| self.of_node(scene, node, &all)).collect()
    }

    fn of_node(&self, scene: &Scene<'_>, node: &graph::Node, all: &[&Stmt]) -> Uses {
        let mut out = Uses::default();
        let declares = |text: Span| {
            let mut own = self.operands.iter();
            own.any(|id| holds(text, scene.names.variable(*id).declared))
        };
        out.local.kills = node.kind.changes_operand || node.text.is_some_and(declares);
        let Some(text) = node.text else {
            return out;
        };
        for stmt in all {
            // Of a statement that assigns to an operand, the value is evaluated before.
            let before = |e: &Expr| !out.local.kills || assigned_last(scene, stmt, e, self);
            let of = roots(stmt).into_iter().filter(|(_, own)| *own == text);
            for (e, _) in of {
                let mut found = Found::default();
                self.find(scene, e, false, &mut found);
                found.places.retain(|_| before(e));
                out.fused |= found.fused && !found.places.is_empty();
                out.places.extend(found.places);
            }
        }
        out.local.uses = !out.places.is_empty();
        out
    }

    /// The places in an expression where it is evaluated for certain; `summed`: a sum is around it.
    fn find(&self, scene: &Scene<'_>, e: &Expr, summed: bool, found: &mut Found) {
        if self.is_same(scene, e) {
            found.places.push(e.span);
            found.fused |= summed && self.is_product;
            return;
        }
        let certain = match &e.kind {
            ExprKind::Conditional { .. } => 1,
            ExprKind::Binary {
                op: BinaryOp::LogicalAnd | BinaryOp::LogicalOr,
                ..
            } => 1,
            ExprKind::SizeofExpr(_) => 0,
            _ => usize::MAX,
        };
        let sums = match &e.kind {
            ExprKind::Binary { op, .. } | ExprKind::Assign { op: Some(op), .. } => {
                matches!(op, BinaryOp::Add | BinaryOp::Sub)
            }
            ExprKind::Paren(_)
            | ExprKind::Cast { .. }
            | ExprKind::Unary {
                op: UnaryOp::Minus | UnaryOp::Plus,
                ..
            } => summed,
            _ => false,
        };
        for part in parts(e).into_iter().take(certain) {
            self.find(scene, part, sums, found);
        }
    }

    fn is_same(&self, scene: &Scene<'_>, e: &Expr) -> bool {
        is_operation(e) && !scene.source.in_macro(e.span) && key(scene, e) == self.key
    }
}

#[derive(Default)]
struct Found {
    places: Vec<Span>,
    fused: bool,
}

/// The statement's only change of an operand is the assignment of its result.
fn assigned_last(scene: &Scene<'_>, stmt: &Stmt, e: &Expr, wanted: &Wanted) -> bool {
    let (StmtKind::Expr(_), ExprKind::Assign { left, right, .. }) = (&stmt.kind, &e.kind) else {
        return false;
    };
    let mut changes = 0;
    visit::expr(e, &mut |part| {
        stores(scene.source, &scene.names, part, &mut |id| {
            changes += usize::from(wanted.operands.contains(&id));
        });
    });
    let effects = scene.source.effects(&scene.names, right);
    changes <= 1
        && root(left).is_some_and(|name| scene.names.meant(name).is_some())
        && matches!(left.kind, ExprKind::Name(_))
        && effect(&effects).is_none()
        && !sets_variables(scene.source, &scene.names, right)
}

fn key(scene: &Scene<'_>, e: &Expr) -> Key {
    let text = scene.source.slice(e.span);
    let mut variables = Vec::new();
    visit::expr(e, &mut |part| {
        if let ExprKind::Name(name) = &part.kind {
            variables.push(scene.names.meant(name));
        }
    });
    let words = text.split_whitespace().collect::<Vec<&str>>();
    // Between two words a space may matter: none of these has one.
    (words.join(""), variables)
}

/// The first reason why a way that did not evaluate it must not.
fn hazard(scene: &Scene<'_>, e: &Expr, wraps: bool, depth: u32) -> Option<Hazard> {
    if depth > 64 {
        return Some(Hazard::Unknown);
    }
    let source = scene.source;
    let number = |e: &Expr| source.type_of_expr(&scene.names, e, 0).number();
    let own = match &e.kind {
        ExprKind::Int(_)
        | ExprKind::Float(_)
        | ExprKind::Bool(_)
        | ExprKind::Char(_)
        | ExprKind::Name(_)
        | ExprKind::Paren(_)
        | ExprKind::SizeofType(_) => None,
        ExprKind::Unary { op, .. } => match op {
            UnaryOp::Plus | UnaryOp::Not | UnaryOp::BitNot => None,
            UnaryOp::Minus => overflow(number(e), wraps),
            UnaryOp::Dereference => Some(Hazard::Reads),
            _ => Some(Hazard::Unknown),
        },
        ExprKind::Binary { op, right, .. } => match op {
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul => overflow(number(e), wraps),
            BinaryOp::Div | BinaryOp::Rem => match number(e) {
                Some((base, _)) if base.is_float() => None,
                _ => Some(Hazard::Divides),
            },
            BinaryOp::Shl | BinaryOp::Shr => match &right.kind {
                // Of a signed number bits are lost or not by what it holds.
                ExprKind::Int(literal) if literal.value < 32 => match op {
                    BinaryOp::Shr => None,
                    _ => overflow(number(e), wraps),
                },
                _ if wraps && source.language == Language::Hlsl => None,
                _ => Some(Hazard::Shifts),
            },
            BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor => None,
            BinaryOp::Less
            | BinaryOp::LessEqual
            | BinaryOp::Greater
            | BinaryOp::GreaterEqual
            | BinaryOp::Equal
            | BinaryOp::NotEqual
            | BinaryOp::LogicalAnd
            | BinaryOp::LogicalOr => None,
            _ => Some(Hazard::Unknown),
        },
        ExprKind::Conditional { .. } => None,
        ExprKind::Cast { ty, operand, .. } => {
            match (source.type_of(ty).number(), number(operand)) {
                // What does not fit an integer is undefined.
                (Some((to, _)), Some((from, _))) if from.is_float() && !to.is_float() => {
                    Some(Hazard::Overflows).filter(|_| !wraps)
                }
                (Some(_), Some(_)) => None,
                _ => Some(Hazard::Unknown),
            }
        }
        ExprKind::Construct { ty, .. } => match source.type_of(ty).number() {
            Some((base, _)) if base.is_float() => None,
            _ => Some(Hazard::Unknown),
        },
        ExprKind::Call { callee, arguments } => match (&callee.kind, number(e)) {
            (ExprKind::Name(name), Some((base, _))) if base.is_float() => {
                let functions = source.unit_functions(name);
                let own = scene.names.meant(name).is_some() || !functions.is_empty();
                let numbers = arguments.iter().all(|e| number(e).is_some());
                (own || !numbers).then_some(Hazard::Calls)
            }
            _ => Some(Hazard::Calls),
        },
        // A part of a vector or of a structure, but not of an object behind an address. In C++ a member may
        // be a reference.
        ExprKind::Member {
            base, arrow: false, ..
        } => {
            let vector = number(base).is_some();
            let own = root(base).is_some() && source.language != Language::Cuda;
            (!vector && !own).then_some(Hazard::Reads)
        }
        // An element of a vector lies in a register.
        ExprKind::Index { base, indices } => {
            let constant = |e: &Expr| matches!(e.kind, ExprKind::Int(_));
            (number(base).is_none() || !indices.iter().all(constant)).then_some(Hazard::Reads)
        }
        ExprKind::Member { .. } => Some(Hazard::Reads),
        _ => Some(Hazard::Unknown),
    };
    let skipped = usize::from(matches!(e.kind, ExprKind::Call { .. }));
    own.or_else(|| {
        let mut inner = parts(e).into_iter().skip(skipped);
        inner.find_map(|part| hazard(scene, part, wraps, depth + 1))
    })
}

fn overflow(number: Option<(Base, Shape)>, wraps: bool) -> Option<Hazard> {
    match number {
        Some((base, _)) if base.is_float() || base == Base::Uint => None,
        Some(_) if wraps => None,
        Some(_) => Some(Hazard::Overflows),
        None => Some(Hazard::Unknown),
    }
}

/// The type in words.
fn spelled(scene: &Scene<'_>, e: &Expr, ty: &Ty) -> Option<String> {
    let (base, shape) = ty.number()?;
    let language = scene.source.language;
    let word = match base {
        Base::Float => "float",
        Base::Double => "double",
        Base::Int if plain_integers(scene, e, &["int"]) => "int",
        Base::Uint if plain_integers(scene, e, &["int", "uint", "unsigned", "unsigned int"]) => {
            match language {
                Language::Hlsl => "uint",
                _ => "unsigned int",
            }
        }
        _ => return None,
    };
    match shape {
        Shape::Scalar => Some(word.to_owned()),
        Shape::Vector(lanes) if language == Language::Hlsl => Some(format!("{word}{lanes}")),
        _ => None,
    }
}

/// All integers in it are literals or variables of these types: nothing narrower or wider takes part.
fn plain_integers(scene: &Scene<'_>, e: &Expr, words: &[&str]) -> bool {
    match &e.kind {
        ExprKind::Int(literal) => {
            let most = match literal.unsigned {
                true => u64::from(u32::MAX),
                false => i32::MAX as u64,
            };
            literal.longs == 0 && literal.value <= most
        }
        ExprKind::Name(name) => scene.names.meant(name).is_some_and(|id| {
            let ty = &scene.names.variable(id).ty;
            match &ty.kind {
                TypeKind::Builtin(word) => words.contains(&word.as_str()),
                TypeKind::Named(name) => words.contains(&Source::slice(scene.source, name.span)),
                _ => false,
            }
        }),
        ExprKind::Paren(_) | ExprKind::Unary { .. } | ExprKind::Binary { .. } => parts(e)
            .into_iter()
            .all(|part| plain_integers(scene, part, words)),
        _ => false,
    }
}
