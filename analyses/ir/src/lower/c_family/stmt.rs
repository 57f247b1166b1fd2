//! Statements and local declarations.
//!
//! Code behind a `return`, `break`, `continue` or `goto` goes to a block that nothing reaches; `finish` drops it.

use super::call::Operand;
use super::context::*;
use super::expr::MAX_DEPTH;
use super::types::*;
use super::value::*;
use crate::entity::Block;
use crate::function::*;
use smol_str::SmolStr;
use syntax::Span;
use syntax::c_family::ast::{self, Condition, DeclaratorName, Stmt, StmtKind};

impl Context<'_> {
    /// The statements of a function's body; the last one may return without a jump.
    pub fn function_statements(&mut self, statements: &[Stmt]) {
        let mut places = Vec::new();
        for statement in statements {
            labels_in(statement, &mut places, 0);
        }
        self.frame().label_places = places;
        self.push_scope();
        let count = statements.len();
        for (index, statement) in statements.iter().enumerate() {
            self.statement(statement, index + 1 == count);
        }
        self.pop_scope();
    }

    /// Begins a block that is not reached from here.
    pub(super) fn dead(&mut self) {
        let block = self.builder.create_block();
        self.builder.switch_to(block);
    }

    pub fn statement(&mut self, statement: &Stmt, tail: bool) {
        if self.depth >= MAX_DEPTH {
            self.unknown("nested too deeply", &[], &CType::Void, statement.span);
            // What stands for it nests no deeper.
            if self.depth == MAX_DEPTH {
                self.depth += 1;
                self.left_out(statement);
                self.depth -= 1;
            }
            return;
        }
        self.depth += 1;
        self.here(statement.span);
        if !statement.attributes.is_empty() {
            self.promises(&statement.attributes);
            self.here(statement.span);
        }
        self.statement_kind(statement, tail);
        self.depth -= 1;
    }

    pub(super) fn statement_kind(&mut self, statement: &Stmt, tail: bool) {
        match &statement.kind {
            StmtKind::Expr(e) => {
                let operand = self.expr(e);
                // Memory that is volatile is read even if nobody wants to know.
                if let Operand::Place(place) = &operand
                    && self.is_c()
                    && matches!(
                        e.kind,
                        ast::ExprKind::Name(_)
                            | ast::ExprKind::Index { .. }
                            | ast::ExprKind::Member { .. }
                            | ast::ExprKind::Unary {
                                op: ast::UnaryOp::Dereference,
                                ..
                            }
                    )
                    && matches!(&place.place, Place::Memory { access, .. } if access.volatile)
                {
                    self.load_silently(place, e.span);
                }
            }
            StmtKind::Declaration(declaration) => self.declaration(declaration),
            StmtKind::Struct(declared) => {
                self.local_struct(declared);
            }
            StmtKind::Enum(declared) => {
                self.local_enum(declared);
            }
            StmtKind::Alias(alias) => {
                let ty = match &alias.ty.kind {
                    ast::TypeKind::InlineStruct(inner) => self.local_struct(inner),
                    _ => self.resolve_type(&alias.ty),
                };
                self.declare(alias.name.name.clone(), Local::Type(ty));
            }
            StmtKind::UsingNamespace(_) | StmtKind::Empty => {}
            StmtKind::Block(block) => {
                self.push_scope();
                let count = block.statements.len();
                for (index, inner) in block.statements.iter().enumerate() {
                    self.statement(inner, tail && index + 1 == count);
                }
                self.pop_scope();
            }
            StmtKind::If {
                initializer,
                condition,
                then,
                otherwise,
                constexpr,
            } => {
                self.push_scope();
                if let Some(first) = initializer {
                    self.statement(first, false);
                }
                let words = ["flatten", "if_convert"];
                let mut attributes = statement.attributes.iter();
                let flatten = attributes.any(|a| words.contains(&a.name.as_str()));
                let kind = match flatten {
                    true => BranchKind::Flattened,
                    false => BranchKind::If,
                };
                self.if_statement(condition, then, otherwise.as_deref(), *constexpr, kind);
                self.pop_scope();
            }
            StmtKind::For {
                initializer,
                condition,
                step,
                body,
            } => {
                // In HLSL what the head declares is known behind the loop; a later one of that name hides it.
                let leaves = self.is_hlsl();
                if !leaves {
                    self.push_scope();
                }
                if let Some(first) = initializer {
                    self.statement(first, false);
                }
                self.loop_statement(statement, condition.as_ref(), step.as_ref(), body, true);
                if !leaves {
                    self.pop_scope();
                }
            }
            StmtKind::While { condition, body } => {
                self.push_scope();
                self.loop_statement(statement, Some(condition), None, body, true);
                self.pop_scope();
            }
            StmtKind::DoWhile { body, condition } => {
                let condition = Condition::Expr(condition.clone());
                self.loop_statement(statement, Some(&condition), None, body, false);
            }
            StmtKind::RangeFor {
                declaration,
                range,
                body,
            } => self.range_for(statement, declaration, range, body),
            StmtKind::Switch {
                initializer,
                condition,
                body,
            } => {
                self.push_scope();
                if let Some(first) = initializer {
                    self.statement(first, false);
                }
                self.switch_statement(condition, body);
                self.pop_scope();
            }
            StmtKind::Case { value, upper } => self.case_label(value, upper.as_ref()),
            StmtKind::Default => {
                let block = self.label_block();
                match self.frame().switches.last_mut() {
                    Some(labels) => labels.default = Some(block),
                    None => self.problem(statement.span, "`default` outside of a switch"),
                }
            }
            StmtKind::Break => {
                match self.frame().breaks.last().copied() {
                    Some((target, depth)) => {
                        self.leave_scopes(depth);
                        let leaves = self.frame().loops.last().is_some_and(|l| l.exit == target);
                        self.jump_out(target, leaves);
                    }
                    None => self.problem(statement.span, "`break` outside of a loop"),
                }
                self.dead();
            }
            StmtKind::Continue => {
                match self.frame().continues.last().copied() {
                    Some((target, depth)) => {
                        self.leave_scopes(depth);
                        self.builder.jump(target);
                    }
                    None => self.problem(statement.span, "`continue` outside of a loop"),
                }
                self.dead();
            }
            StmtKind::Return(value) => self.return_statement(value.as_ref(), tail, statement.span),
            StmtKind::Discard => {
                self.builder
                    .terminate(Terminator::Kill, BranchKind::Implied);
                self.dead();
            }
            StmtKind::Goto(label) => {
                self.jump_to_label(label);
                self.dead();
            }
            StmtKind::Label(label) => {
                let target = self.label(&label.name);
                self.builder.jump(target);
                self.builder.switch_to(target);
            }
            StmtKind::Asm(asm) => self.asm(asm),
            StmtKind::Skipped(skipped) => self.skipped(skipped, statement.span),
            StmtKind::Unknown => {
                self.unknown(
                    "statement that was not understood",
                    &[],
                    &CType::Void,
                    statement.span,
                );
            }
        }
    }

    pub(super) fn label(&mut self, name: &SmolStr) -> Block {
        if let Some(&block) = self.frame().labels.get(name) {
            return block;
        }
        let block = self.builder.create_block();
        self.frame().labels.insert(name.clone(), block);
        block
    }

    /// A condition as a Bool, with the instruction position at it.
    pub(super) fn condition(&mut self, condition: &Condition) -> (crate::entity::Value, Span) {
        match condition {
            Condition::Expr(e) => {
                let value = self.rvalue(e);
                let bit = self.condition_bit(value, e.span);
                self.here(e.span);
                (bit, e.span)
            }
            Condition::Declaration(declaration) => {
                let span = declaration.span;
                let value = self.declared_condition(declaration);
                let bit = self.condition_bit(value, span);
                self.here(span);
                (bit, span)
            }
        }
    }

    /// `int x = f()` in a head: the variable's value decides.
    pub(super) fn declared_condition(&mut self, declaration: &ast::Declaration) -> RValue {
        self.declaration(declaration);
        let span = declaration.span;
        let name = declaration.declarators.first().and_then(|d| match &d.name {
            DeclaratorName::Plain(ident) => Some(ident.clone()),
            _ => None,
        });
        match name.and_then(|i| self.lookup_local(&i.name).cloned()) {
            Some(Local::Variable(place)) => self.load_silently(&place, span),
            _ => self.unknown("condition that is not understood", &[], &CType::INT, span),
        }
    }

    pub(super) fn condition_bit(&mut self, value: RValue, span: Span) -> crate::entity::Value {
        if let CType::Struct(id) = value.ty {
            let operand = Operand::Value(value.clone());
            if let Some(value) = self.conversion_operator(&operand, id, &CType::Bool, span) {
                return self.truth(value, span);
            }
        }
        self.truth(value, span)
    }

    pub(super) fn if_statement(
        &mut self,
        condition: &Condition,
        then: &Stmt,
        otherwise: Option<&Stmt>,
        constexpr: bool,
        kind: BranchKind,
    ) {
        if let Condition::Expr(e) = condition {
            let known = self.constant(e);
            if constexpr && let Some(known) = &known {
                let taken = if known.truth() { Some(then) } else { otherwise };
                if let Some(branch) = taken {
                    self.push_scope();
                    self.statement(branch, false);
                    self.pop_scope();
                }
                return;
            }
            // What a constant rules out in this instance need not make sense there.
            if let Some(known) = &known {
                let (taken, other) = if known.truth() {
                    (Some(then), otherwise)
                } else {
                    (otherwise, Some(then))
                };
                if !other.is_some_and(has_label) {
                    if let Some(branch) = taken {
                        self.push_scope();
                        self.statement(branch, false);
                        self.pop_scope();
                    }
                    return;
                }
            }
        }
        let (bit, _) = self.condition(condition);
        let first = self.builder.create_block();
        let join = self.builder.create_block();
        let second = match otherwise {
            Some(_) => self.builder.create_block(),
            None => join,
        };
        self.builder.branch(bit, first, second, kind);
        self.builder.switch_to(first);
        self.push_scope();
        self.statement(then, false);
        self.pop_scope();
        self.builder.jump(join);
        if let Some(otherwise) = otherwise {
            self.builder.switch_to(second);
            self.push_scope();
            self.statement(otherwise, false);
            self.pop_scope();
            self.builder.jump(join);
        }
        self.builder.switch_to(join);
    }
}

/// The labels that `goto` names, with their places.
fn labels_in(statement: &Stmt, out: &mut Vec<(SmolStr, Span)>, depth: u32) {
    if depth > MAX_DEPTH {
        return;
    }
    let d = depth + 1;
    match &statement.kind {
        StmtKind::Label(label) => out.push((label.name.clone(), label.span)),
        StmtKind::Block(block) => {
            for inner in &block.statements {
                labels_in(inner, out, d);
            }
        }
        StmtKind::If {
            then, otherwise, ..
        } => {
            labels_in(then, out, d);
            if let Some(otherwise) = otherwise {
                labels_in(otherwise, out, d);
            }
        }
        StmtKind::For { body, .. }
        | StmtKind::While { body, .. }
        | StmtKind::DoWhile { body, .. }
        | StmtKind::RangeFor { body, .. }
        | StmtKind::Switch { body, .. } => labels_in(body, out, d),
        StmtKind::Skipped(skipped) => {
            for inner in skipped.understood.iter().chain(&skipped.perhaps) {
                labels_in(inner, out, d);
            }
        }
        _ => {}
    }
}

/// Returns true if a statement can be jumped into.
fn has_label(statement: &Stmt) -> bool {
    match &statement.kind {
        StmtKind::Label(_) | StmtKind::Case { .. } | StmtKind::Default => true,
        StmtKind::Block(block) => block.statements.iter().any(has_label),
        StmtKind::Skipped(skipped) => {
            let mut all = skipped.understood.iter().chain(&skipped.perhaps);
            all.any(has_label)
        }
        _ => false,
    }
}
