//! The operands and effects of a statement's value, and a function's unit as the checker asks for it.

use super::super::Source;
use super::super::effects::Effects;
use super::super::names::{Names, VarId, parts};
use super::super::pressure::expression::Reads;
use super::super::pressure::scene::Scene;
use super::super::types::Ty;
use super::{check, refusal};
use ir::lower::c_family::visit;
use syntax::c_family::ast::*;

/// The effect for which a value can't be computed elsewhere.
pub(in super::super) fn effect(effects: &Effects) -> Option<refusal::Effect> {
    use refusal::Effect;
    let all = [
        (effects.writes, Effect::Stores),
        (effects.volatile, Effect::Volatile),
        (effects.barrier, Effect::Waits),
        (effects.cross_lane, Effect::Exchanges),
        (effects.derivative, Effect::Derivative),
        (effects.exits, Effect::Exits),
        (effects.unknown.is_some(), Effect::Unknown),
    ];
    all.into_iter()
        .find(|(holds, _)| *holds)
        .map(|(_, effect)| effect)
}

/// The variables of an expression, and whether it reads memory that may be written: all that is not known to be none.
pub(in super::super) fn reads(
    scene: &Scene<'_>,
    e: &Expr,
    operands: &mut Vec<VarId>,
    memory: &mut bool,
) {
    match &e.kind {
        ExprKind::Name(name) => match scene.names.meant(name) {
            Some(id) => {
                // An array of the function is memory.
                *memory |= matches!(scene.names.variable(id).ty.kind, TypeKind::Array { .. });
                operands.push(id);
            }
            None => *memory |= !scene.source.is_unchanging(name),
        },
        ExprKind::Call { callee, .. } => {
            let skipped = match &callee.kind {
                ExprKind::Name(name) => {
                    let own = scene.names.meant(name).is_some();
                    *memory |= own || !scene.source.unit_functions(name).is_empty();
                    !own
                }
                ExprKind::Member { base, .. } => {
                    *memory |= may_change(scene, base);
                    false
                }
                _ => {
                    *memory = true;
                    false
                }
            };
            for part in parts(e).into_iter().skip(usize::from(skipped)) {
                reads(scene, part, operands, memory);
            }
        }
        ExprKind::Unary { .. }
        | ExprKind::Binary { .. }
        | ExprKind::Conditional { .. }
        | ExprKind::Cast { .. }
        | ExprKind::Paren(_)
        | ExprKind::Construct { .. }
        | ExprKind::Member { .. }
        | ExprKind::Index { .. } => {
            *memory |= match &e.kind {
                ExprKind::Unary {
                    op: UnaryOp::Dereference,
                    operand,
                } => may_change(scene, operand),
                ExprKind::Member {
                    base, arrow: true, ..
                } => may_change(scene, base),
                ExprKind::Index { base, .. } => {
                    let ty = scene.source.type_of_expr(&scene.names, base, 0);
                    // An element of a vector lies in a register.
                    !matches!(ty, Ty::Number(..)) && may_change(scene, base)
                }
                _ => false,
            };
            for part in parts(e) {
                reads(scene, part, operands, memory);
            }
        }
        ExprKind::Int(_)
        | ExprKind::Float(_)
        | ExprKind::Bool(_)
        | ExprKind::Char(_)
        | ExprKind::SizeofType(_)
        | ExprKind::Nullptr => {}
        _ => {
            *memory = true;
            for part in parts(e) {
                reads(scene, part, operands, memory);
            }
        }
    }
}

/// Returns whether the contents behind an address, in an array or in a resource may be written while the
/// function runs.
pub(in super::super) fn may_change(scene: &Scene<'_>, base: &Expr) -> bool {
    let mut found = Reads::default();
    scene.load(base, &mut found);
    found.written.is_some()
}

/// A function's unit as the checker asks for it.
#[allow(missing_debug_implementations)]
pub struct Known<'a> {
    scene: Scene<'a>,
}

impl<'a> Known<'a> {
    /// `None`: the function can't be followed.
    #[must_use]
    pub fn new(source: &'a Source<'a>, function: &'a Function) -> Option<Self> {
        Some(Known {
            scene: Scene::of(source, function).ok()?,
        })
    }
}

impl check::Unit for Known<'_> {
    fn call(&self, callee: &Expr, arguments: &[Expr]) -> check::CallEffect {
        let scene = &self.scene;
        let found = scene.source.call(&scene.names, callee, arguments, 0);
        let reads_memory = match &callee.kind {
            ExprKind::Name(name) => {
                scene.names.meant(name).is_some() || !scene.source.unit_functions(name).is_empty()
            }
            ExprKind::Member { base, .. } => may_change(scene, base),
            _ => true,
        };
        check::CallEffect {
            harmless: effect(&found.effects).is_none(),
            reads_memory,
            written: found.written,
        }
    }

    fn is_read_only(&self, base: &Expr) -> bool {
        !may_change(&self.scene, base)
    }

    fn is_own(&self, part: &Expr) -> bool {
        let scene = &self.scene;
        scene.source.target(&scene.names, part).is_some()
    }

    fn is_unchanging(&self, name: &Name) -> bool {
        self.scene.source.is_unchanging(name)
    }
}

/// Returns whether a value sets variables of the function besides having a value: `a++ * 2`, `(b = 3) + a`.
pub(in super::super) fn sets_variables(source: &Source<'_>, names: &Names, value: &Expr) -> bool {
    let mut found = false;
    visit::expr(value, &mut |e| {
        found |= match &e.kind {
            ExprKind::Assign { .. } => true,
            ExprKind::Unary { op, .. } => matches!(
                op,
                UnaryOp::PreIncrement
                    | UnaryOp::PreDecrement
                    | UnaryOp::PostIncrement
                    | UnaryOp::PostDecrement
            ),
            ExprKind::Call { callee, arguments } => {
                // The last argument of a fetch may be a level, or the integer status that it writes.
                let is_fetch = matches!(callee.kind, ExprKind::Member { .. });
                let status = |e: &Expr| match source.type_of_expr(names, e, 0) {
                    Ty::Number(base, _) => {
                        super::super::names::root(e).is_some() && !base.is_float()
                    }
                    _ => true,
                };
                let written = source.call(names, callee, arguments, 0).written;
                let mut written = written.iter().filter_map(|&at| arguments.get(at));
                written.any(|e| !is_fetch || status(e))
            }
            _ => false,
        };
    });
    found
}

/// Returns whether it names the active lanes, which are others in another place.
pub(in super::super) fn names_the_active(e: &Expr) -> bool {
    let here = matches!(&e.kind, ExprKind::Name(name)
        if name.segments.last().is_some_and(|last| last.ident.name == "__activemask"));
    here || parts(e).into_iter().any(names_the_active)
}
