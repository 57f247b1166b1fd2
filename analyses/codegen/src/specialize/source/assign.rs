//! Declarations and expressions that stand alone: the variables that they assign in the fast path, and their
//! shorter form.

use super::Source;
use super::effects::mentioned;
use super::flow::{Edit, Forward, Node, NodeKind, Simple, assigned_in, named, node};
use super::fold::{Abs, Env, Known};
use super::names::VarId;
use super::types::Ty;
use syntax::Span;
use syntax::c_family::ast::*;

impl Forward<'_> {
    pub(super) fn declaration<'s>(
        &mut self,
        env: &mut Env,
        stmt: &'s Stmt,
        declaration: &'s Declaration,
    ) -> Node<'s> {
        let (source, names) = (self.folder.source, self.folder.names);
        let mut simple = Simple::default();
        let mut edits = Vec::new();
        let (mut original, mut weight) = (0u32, 0u32);
        for declarator in &declaration.declarators {
            let DeclaratorName::Plain(ident) = &declarator.name else {
                simple.keep = true;
                simple.uses.extend(named(names, stmt));
                continue;
            };
            let Some(id) = names.declared_at(ident) else {
                simple.keep = true;
                simple.uses.extend(named(names, stmt));
                continue;
            };
            simple.declares.push(id);
            simple.keep |= names.variable(id).escapes
                || names.variable(id).volatile
                || !source.plain(&declarator.ty);
            env.remove(&id);
            let ty = source.type_of(&declarator.ty);
            match &declarator.initializer {
                Initializer::None => {}
                Initializer::Copy(e) if assigned_in(source, names, e).is_empty() => {
                    let out = self.folder.fold(env, e, ty.number().is_some(), 0);
                    original += source.effects(names, e).weight;
                    weight += out.effects.weight;
                    simple.keep |= !self.removable(&out.effects);
                    self.know(env, id, out.abs, out.derived, e);
                    simple.uses.extend(out.uses);
                    simple.defs.push((id, true));
                    edits.extend(out.text.map(|(text, _)| (e.span, text)));
                    if !source.type_is_const(declaration, declarator) {
                        simple.initializer = Some(Span::new(ident.span.end, e.span.end));
                    }
                }
                Initializer::Copy(e) => {
                    simple.keep = true;
                    let changed = assigned_in(source, names, e);
                    env.retain(|id, _| !changed.contains(id));
                    simple.uses.extend(mentioned(names, e));
                }
                Initializer::Paren(list) | Initializer::Brace(list) => {
                    simple.defs.push((id, true));
                    for e in list {
                        let effects = source.effects(names, e);
                        original += effects.weight;
                        weight += effects.weight;
                        simple.keep |=
                            !self.removable(&effects) || !assigned_in(source, names, e).is_empty();
                        simple.uses.extend(mentioned(names, e));
                    }
                }
            }
        }
        if declaration.declarators.len() != 1 {
            simple.initializer = None;
        }
        node(stmt, NodeKind::Simple(simple), edits, original, weight)
    }

    /// Gives a variable the value of an expression, if its type can hold it.
    fn know(&self, env: &mut Env, id: VarId, abs: Abs, derived: bool, value: &Expr) {
        let (source, names) = (self.folder.source, self.folder.names);
        let variable = names.variable(id);
        let ty = source.type_of(&variable.ty);
        let from = source.type_of_expr(names, value, 0);
        let fits = match (&ty, &from) {
            (Ty::Number(to, shape), Ty::Number(_, given)) => {
                // A number is spread; a vector that is cut keeps its first lanes.
                let abs = match abs {
                    Abs::All(number) if number.fract() == 0.0 && number.abs() <= 2048.0 => {
                        if *to == super::types::Base::Bool && number != 0.0 {
                            Abs::All(1.0)
                        } else {
                            Abs::All(number)
                        }
                    }
                    Abs::Lanes(_) if shape == given && *to != super::types::Base::Bool => abs,
                    _ => Abs::Top,
                };
                let unsigned = *to == super::types::Base::Uint;
                match abs {
                    Abs::All(number) if unsigned && number < 0.0 => Abs::Top,
                    Abs::Lanes(lanes) if unsigned && lanes.iter().flatten().any(|n| *n < 0.0) => {
                        Abs::Top
                    }
                    abs => abs,
                }
            }
            _ => Abs::Top,
        };
        if fits == Abs::Top || variable.escapes || variable.volatile {
            env.remove(&id);
        } else {
            env.insert(id, Known { abs: fits, derived });
        }
    }

    pub(super) fn expression<'s>(
        &mut self,
        env: &mut Env,
        stmt: &'s Stmt,
        e: &'s Expr,
    ) -> Node<'s> {
        let (source, names) = (self.folder.source, self.folder.names);
        let whole = source.effects(names, e);
        let original = whole.weight;
        let unedited = |simple| {
            node(
                stmt,
                NodeKind::Simple(simple),
                Vec::new(),
                original,
                original,
            )
        };
        let verbatim = |env: &mut Env| {
            let changed = assigned_in(source, names, e);
            env.retain(|id, _| !changed.contains(id));
            let simple = Simple {
                uses: mentioned(names, e),
                keep: true,
                ..Simple::default()
            };
            node(
                stmt,
                NodeKind::Simple(simple),
                Vec::new(),
                original,
                original,
            )
        };
        match &e.kind {
            ExprKind::Assign {
                op, left, right, ..
            } => {
                if !assigned_in(source, names, right).is_empty()
                    || !assigned_in(source, names, left).is_empty()
                {
                    return verbatim(env);
                }
                let to = source.type_of_expr(names, left, 0);
                let value = self.folder.fold(env, right, to.number().is_some(), 0);
                let mut simple = Simple {
                    uses: value.uses.clone(),
                    keep: !self.removable(&source.effects(names, left))
                        || !self.removable(&value.effects),
                    ..Simple::default()
                };
                let mut edits: Vec<Edit> = Vec::new();
                let mut weight = value.effects.weight + 1;
                edits.extend(value.text.clone().map(|(text, _)| (right.span, text)));
                match source.target(names, left) {
                    None => {
                        // Memory: stored as before, with the shorter value.
                        simple.keep = true;
                        simple.uses.extend(mentioned(names, left));
                        let droppable = self.removable(&source.effects(names, right))
                            && self.removable(&source.effects(names, left));
                        if droppable
                            && value.derived
                            && op.is_some_and(|op| self.changes_nothing(op, &to, right, value.abs))
                        {
                            // A silent store: the memory holds that already.
                            simple.keep = false;
                            simple.noop = true;
                            let kind = NodeKind::Simple(simple);
                            return node(stmt, kind, Vec::new(), original, 0);
                        }
                    }
                    Some((id, all)) => {
                        let droppable = self.removable(&source.effects(names, right));
                        if !all {
                            simple
                                .uses
                                .extend(mentioned(names, left).into_iter().filter(|&it| it != id));
                        }
                        simple.defs.push((id, all));
                        match op {
                            None => self.store(env, id, left, value.abs, value.derived, right),
                            Some(op) => {
                                let old = self.folder.fold(env, left, false, 0);
                                let before = old.abs;
                                let derived = old.derived || value.derived;
                                let after = self.folder.combined(*op, before, value.abs, &to);
                                let from = source.type_of_expr(names, right, 0);
                                let numbers = to.number().is_some() && from.number().is_some();
                                let zero_stays = *op == BinaryOp::Mul
                                    && before.all() == Some(0.0)
                                    && self.is_free(&to, &from);
                                let nothing = droppable
                                    && derived
                                    && (numbers && zero_stays
                                        || self.changes_nothing(*op, &to, right, value.abs));
                                if nothing {
                                    if let Some(known) = env.get_mut(&id) {
                                        known.derived = true;
                                    }
                                    simple.noop = true;
                                    edits.clear();
                                    return node(
                                        stmt,
                                        NodeKind::Simple(simple),
                                        edits,
                                        original,
                                        0,
                                    );
                                }
                                match after.all() {
                                    Some(number) if droppable && all && numbers && derived => {
                                        if let Some((text, _)) = source.literal(&to, number, true) {
                                            let name = source.slice(left.span);
                                            edits = vec![(e.span, format!("{name} = {text}"))];
                                            simple.uses.clear();
                                            weight = 1;
                                        } else {
                                            simple.uses.push(id);
                                        }
                                    }
                                    _ => simple.uses.push(id),
                                }
                                self.store(env, id, left, after, derived, left);
                            }
                        }
                    }
                }
                node(stmt, NodeKind::Simple(simple), edits, original, weight)
            }
            ExprKind::Unary {
                op:
                    UnaryOp::PreIncrement
                    | UnaryOp::PreDecrement
                    | UnaryOp::PostIncrement
                    | UnaryOp::PostDecrement,
                operand,
            } => match source.target(names, operand) {
                Some((id, all)) => {
                    env.remove(&id);
                    let simple = Simple {
                        defs: vec![(id, all)],
                        uses: mentioned(names, operand),
                        ..Simple::default()
                    };
                    unedited(simple)
                }
                None => verbatim(env),
            },
            ExprKind::Call { callee, arguments } => {
                let call = source.call(names, callee, arguments, 0);
                let mut defs = Vec::new();
                for &at in &call.written {
                    match arguments
                        .get(at)
                        .map(|argument| source.target(names, argument))
                    {
                        Some(Some((id, _))) => defs.push((id, false)),
                        _ => return verbatim(env),
                    }
                }
                let nested = arguments
                    .iter()
                    .any(|argument| !assigned_in(source, names, argument).is_empty());
                if defs.is_empty() || nested || !self.removable(&whole) {
                    let plain = !nested && call.written.is_empty();
                    let mut out = verbatim(env);
                    if plain && let NodeKind::Simple(simple) = &mut out.kind {
                        let folded = self.folder.fold(env, e, false, 0);
                        out.edits
                            .extend(folded.text.map(|(text, _)| (e.span, text)));
                        simple.uses = folded.uses;
                        out.weight = folded.effects.weight;
                    }
                    return out;
                }
                for (id, _) in &defs {
                    env.remove(id);
                }
                let simple = Simple {
                    defs,
                    uses: mentioned(names, e),
                    ..Simple::default()
                };
                unedited(simple)
            }
            _ => verbatim(env),
        }
    }

    /// Neither is a floating-point number, or signs of zeros do not matter.
    fn is_free(&self, to: &Ty, from: &Ty) -> bool {
        self.folder.zeros == super::super::Zeros::Absorb
            || !to.number().is_some_and(|n| n.0.is_float())
                && !from.number().is_some_and(|n| n.0.is_float())
    }

    /// `x op= right` leaves `x` as it is.
    fn changes_nothing(&self, op: BinaryOp, to: &Ty, right: &Expr, value: Abs) -> bool {
        let from = self.folder.source.type_of_expr(self.folder.names, right, 0);
        let numbers = to.number().is_some() && from.number().is_some();
        numbers
            && self.is_free(to, &from)
            && match op {
                BinaryOp::Add
                | BinaryOp::Sub
                | BinaryOp::BitOr
                | BinaryOp::BitXor
                | BinaryOp::Shl
                | BinaryOp::Shr => value.all() == Some(0.0),
                BinaryOp::Mul => value.all() == Some(1.0),
                _ => false,
            }
    }

    fn store(&self, env: &mut Env, id: VarId, left: &Expr, abs: Abs, derived: bool, value: &Expr) {
        let (source, names) = (self.folder.source, self.folder.names);
        match &left.kind {
            ExprKind::Name(_) => self.know(env, id, abs, derived, value),
            ExprKind::Member { base, member, .. } if matches!(base.kind, ExprKind::Name(_)) => {
                let ty = source.type_of(&names.variable(id).ty);
                let places = member
                    .segments
                    .last()
                    .and_then(|last| Source::swizzle(&ty, &last.ident.name));
                let old = env.get(&id).copied();
                let before = old.map_or(Abs::Top, |known| known.abs);
                let derived = derived || old.is_some_and(|known| known.derived);
                let (Some(places), Some(count)) = (places, ty.lanes()) else {
                    env.remove(&id);
                    return;
                };
                let exact = |n: &f64| n.fract() == 0.0 && (0.0..=2048.0).contains(n);
                let now = Abs::of_lanes(count, |lane| {
                    match places.iter().position(|&place| place == lane) {
                        Some(at) => abs.lane(at).filter(exact),
                        None => before.lane(lane),
                    }
                });
                if now == Abs::Top || names.variable(id).escapes {
                    env.remove(&id);
                } else {
                    env.insert(id, Known { abs: now, derived });
                }
            }
            _ => {
                env.remove(&id);
            }
        }
    }
}
