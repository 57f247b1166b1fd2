//! Text that was not understood: variables that it may assign are unknown behind it, and the targets of its
//! jumps are reached.
//!
//! ```text
//! int y = n;
//! CUDA_KERNEL_LOOP(i, n) { y = i; }      // head: if (?) { i = ?; n = ?; if (?) { y = i; } goto head; }
//! int z = y;                             // not known
//! ```
//! A name that only the text declares is a number that is not known in the statements below it.

use super::context::*;
use super::types::*;
use super::value::*;
use crate::function::*;
use crate::inst::Op;
use crate::types::Type;
use rustc_hash::FxHashSet;
use smallvec::SmallVec;
use smol_str::SmolStr;
use syntax::Span;
use syntax::c_family::ast::{self, Expr, ExprKind, Ident, Skipped, Stmt, StmtKind};

const MAX_DEPTH: u32 = 256;
const REASON: &str = "text that was not understood";

impl Context<'_> {
    pub(super) fn skipped(&mut self, skipped: &Skipped, span: Span) {
        let names: Vec<SmolStr> = skipped.names.iter().map(|n| n.name.clone()).collect();
        if let Some(statement) = &skipped.understood {
            // A loop reads what its own text assigned in an earlier iteration.
            if !matches!(statement.kind, StmtKind::Expr(_) | StmtKind::Declaration(_)) {
                self.may_assign(&names, span);
            }
            self.statement(statement, false);
        }
        if !skipped.perhaps.is_empty() {
            let perhaps: Vec<&Stmt> = skipped.perhaps.iter().collect();
            self.unknown_loop(&skipped.names, &perhaps, span, |_| {});
        }
        self.may_assign(&names, span);
        let kinds = [
            (skipped.breaks, StmtKind::Break),
            (skipped.continues, StmtKind::Continue),
        ];
        for (_, kind) in kinds.iter().filter(|(found, _)| *found) {
            self.perhaps(span, |cx| cx.leave_by(kind, span));
        }
        for label in &skipped.labels {
            let known = self.frame().label_places.iter();
            if known.clone().any(|(name, _)| *name == label.name) {
                self.perhaps(span, |cx| {
                    cx.jump_to_label(label);
                    cx.dead();
                });
            }
        }
        if skipped.returns {
            self.perhaps(span, |cx| {
                let undecided = matches!(cx.frame().returns, ReturnPlace::Undecided);
                let value = Expr {
                    kind: ExprKind::Unknown,
                    span,
                };
                cx.return_statement(Some(&value).filter(|_| !undecided), false, span);
            });
        }
    }

    /// `break` or `continue`, where there is something to leave.
    fn leave_by(&mut self, kind: &StmtKind, span: Span) {
        let frame = self.frame();
        let open = match kind {
            StmtKind::Break => !frame.breaks.is_empty(),
            _ => !frame.continues.is_empty(),
        };
        if open {
            let jump = Stmt {
                kind: kind.clone(),
                attributes: Vec::new(),
                span,
            };
            self.statement_kind(&jump, false);
        }
    }

    /// Executes something, or not.
    fn perhaps(&mut self, span: Span, f: impl FnOnce(&mut Self)) {
        self.here(span);
        let bit = self.builder.unknown(REASON, &[], Type::Bool);
        let then = self.builder.create_block();
        let join = self.builder.create_block();
        self.builder.branch(bit, then, join, BranchKind::Implied);
        self.builder.switch_to(then);
        f(self);
        self.builder.jump(join);
        self.builder.switch_to(join);
    }

    /// A statement that is entered at its beginning, at one of its `case` labels, or not at all. The labels are those of a
    /// switch around the text as well, where there is one.
    fn perhaps_entered(&mut self, statement: &Stmt, span: Span) {
        let head = self.builder.current();
        let begin = self.builder.create_block();
        let join = self.builder.create_block();
        let outside = self.frame().switches.last().map(|labels| {
            let known = (labels.cases.len(), labels.compared.len());
            (known, labels.default)
        });
        if outside.is_none() {
            self.frame().switches.push(SwitchLabels {
                ty: CType::INT,
                cases: Vec::new(),
                compared: Vec::new(),
                default: None,
            });
        }
        self.builder.switch_to(begin);
        self.push_scope();
        self.statement(statement, false);
        self.pop_scope();
        self.builder.jump(join);
        let mut entries = vec![begin];
        let ((cases, compared), default) = outside.unwrap_or_default();
        if let Some(labels) = self.frame().switches.last() {
            entries.extend(labels.cases.iter().skip(cases).map(|&(_, block)| block));
            entries.extend(labels.compared.iter().skip(compared).map(|l| l.2));
            entries.extend(labels.default.filter(|&block| default != Some(block)));
        }
        if outside.is_none() {
            self.frame().switches.pop();
        }
        entries.sort();
        entries.dedup();
        self.builder.switch_to(head);
        self.here(span);
        for entry in entries {
            let bit = self.builder.unknown(REASON, &[], Type::Bool);
            let next = self.builder.create_block();
            self.builder.branch(bit, entry, next, BranchKind::Implied);
            self.builder.switch_to(next);
        }
        self.builder.jump(join);
        self.builder.switch_to(join);
    }

    /// A statement that is not lowered: the variables that it names may be assigned, and it may leave by any
    /// way.
    pub(super) fn left_out(&mut self, statement: &Stmt) {
        let block = ast::Block {
            statements: vec![statement.clone()],
            span: statement.span,
        };
        let mut skipped = Skipped::default();
        super::visit::block(&block, &mut named_in(&mut skipped.names));
        (skipped.returns, skipped.breaks, skipped.continues) = (true, true, true);
        self.skipped(&skipped, statement.span);
    }

    /// An expression that is not lowered: if it assigns or calls, it may assign the variables that it names.
    pub(super) fn left_out_expression(&mut self, e: &Expr) {
        let mut writes = false;
        super::visit::expr(e, &mut |inner| {
            use ast::UnaryOp::{
                AddressOf, PostDecrement, PostIncrement, PreDecrement, PreIncrement,
            };
            writes |= match &inner.kind {
                ExprKind::Assign { .. } | ExprKind::Call { .. } | ExprKind::Lambda(_) => true,
                ExprKind::Unary { op, .. } => matches!(
                    op,
                    AddressOf | PostDecrement | PostIncrement | PreDecrement | PreIncrement
                ),
                _ => false,
            };
        });
        if writes {
            self.named_may_change(e);
        }
    }

    /// Notes that everything an expression names may be assigned.
    pub(super) fn named_may_change(&mut self, e: &Expr) {
        let mut names: Vec<Ident> = Vec::new();
        super::visit::expr(e, &mut named_in(&mut names));
        let names: Vec<SmolStr> = names.into_iter().map(|n| n.name).collect();
        self.may_assign(&names, e.span);
    }

    /// Statements that are executed any number of times, in any order, below a head that names `names`.
    pub(super) fn unknown_loop(
        &mut self,
        names: &[Ident],
        statements: &[&Stmt],
        span: Span,
        declare: impl FnOnce(&mut Self),
    ) {
        let texts: Vec<SmolStr> = names.iter().map(|n| n.name.clone()).collect();
        let header = self.builder.create_block();
        let inside = self.builder.create_block();
        let exit = self.builder.create_block();
        self.builder.jump(header);
        self.builder.switch_to(header);
        self.here(span);
        let bit = self.builder.unknown(REASON, &[], Type::Bool);
        self.builder.branch(bit, inside, exit, BranchKind::Loop);
        self.builder.switch_to(inside);
        self.push_scope();
        self.may_assign(&texts, span);
        for ident in names.iter().skip(1) {
            if self.lookup_local(&ident.name).is_none()
                && self.entries(std::slice::from_ref(&ident.name)).is_empty()
            {
                let value = self.builder.unknown(REASON, &[], Type::I32);
                let value = RValue::scalar(CType::INT, value);
                self.declare_variable(ident, &CType::INT, Some(value), false);
            }
        }
        declare(self);
        let text = statements.iter().fold(span, |all, s| all.to(s.span));
        self.open_loop(exit, header, text);
        for statement in statements {
            self.perhaps_entered(statement, span);
        }
        self.close_loop();
        self.pop_scope();
        self.builder.jump(header);
        self.builder.switch_to(exit);
        // The head may be that of a condition: then these leave what stands around it.
        let (mut breaks, mut continues) = (false, false);
        for statement in statements {
            leaves(statement, &mut breaks, &mut continues, 0);
        }
        for (found, kind) in [(breaks, StmtKind::Break), (continues, StmtKind::Continue)] {
            if found {
                self.perhaps(span, |cx| cx.leave_by(&kind, span));
            }
        }
    }

    /// Notes that these names may have been assigned.
    pub(super) fn may_assign(&mut self, names: &[SmolStr], span: Span) {
        let mut values = Parts::new();
        let mut written: Vec<LValue> = Vec::new();
        let mut copies = Vec::new();
        for name in names {
            let mut found: SmallVec<[LValue; 2]> = SmallVec::new();
            match self.lookup_local(name).cloned() {
                Some(Local::Variable(place)) => found.push(place),
                Some(Local::Pack(list)) => {
                    found.extend(list.into_iter().filter_map(|l| match l {
                        Local::Variable(place) => Some(place),
                        _ => None,
                    }));
                }
                Some(_) => {}
                None => {
                    let this = self.frame().this.clone();
                    if let Some(this) = this
                        && let CType::Struct(id) = *this.ty.value_type()
                        && let Some(place) = self.field(&this, id, name, span)
                    {
                        found.push(place);
                    }
                }
            }
            for place in found {
                self.reached(&place, &mut values, &mut written);
                match place.ty.value_type() {
                    CType::Lambda(id) => {
                        let id = *id;
                        self.captured_places(id, &mut values, &mut written);
                    }
                    CType::Pointer { .. } => {
                        let value = self.load_silently(&place, span);
                        let value = self.given_address(value, &mut copies, span);
                        values.extend(value.parts.iter().copied());
                    }
                    _ => {}
                }
            }
        }
        let mut types: SmallVec<[Type; 4]> = SmallVec::new();
        for place in &written {
            let before = self.load_silently(place, span);
            values.extend(before.parts);
            types.extend(self.structs.parts(&place.ty).unwrap_or_default());
        }
        self.here(span);
        let id = self.builder.note_unknown(REASON.to_string());
        self.builder.function.unknowns[id].assigns = true;
        let inst = self.builder.inst(Op::Unknown(id), &values, &types);
        if self.is_hlsl() {
            self.reaches_globals.push(inst);
        }
        let results: Parts = self.builder.results(inst).iter().copied().collect();
        let mut at = 0;
        for place in written {
            let count = self.structs.parts(&place.ty).map_or(0, |p| p.len());
            let parts = results.get(at..at + count).unwrap_or(&[]).iter().copied();
            let value = RValue::new(place.ty.clone(), parts);
            at += count;
            self.store_silently(&place, value, span);
        }
        self.bring_back(copies, span);
    }
}

/// Collects plain names, each once.
fn named_in(names: &mut Vec<Ident>) -> impl FnMut(&Expr) {
    let mut known: FxHashSet<SmolStr> = FxHashSet::default();
    move |e| {
        if let ExprKind::Name(name) = &e.kind
            && let [only] = name.segments.as_slice()
            && known.insert(only.ident.name.clone())
        {
            names.push(only.ident.clone());
        }
    }
}

/// Finds whether `break` and `continue` in a statement leave the statement around it.
fn leaves(statement: &Stmt, breaks: &mut bool, continues: &mut bool, depth: u32) {
    if depth > MAX_DEPTH {
        (*breaks, *continues) = (true, true);
        return;
    }
    let d = depth + 1;
    match &statement.kind {
        StmtKind::Break => *breaks = true,
        StmtKind::Continue => *continues = true,
        StmtKind::Block(block) => {
            let all = block.statements.iter();
            all.for_each(|s| leaves(s, breaks, continues, d));
        }
        StmtKind::If {
            then, otherwise, ..
        } => {
            leaves(then, breaks, continues, d);
            otherwise
                .iter()
                .for_each(|s| leaves(s, breaks, continues, d));
        }
        StmtKind::Switch { body, .. } => leaves(body, &mut false, continues, d),
        StmtKind::Skipped(skipped) => {
            *breaks |= skipped.breaks;
            *continues |= skipped.continues;
            let all = skipped.understood.iter().chain(&skipped.perhaps);
            all.for_each(|s| leaves(s, breaks, continues, d));
        }
        _ => {}
    }
}
