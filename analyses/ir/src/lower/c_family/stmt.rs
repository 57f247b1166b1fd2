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
use crate::inst::*;
use crate::types::{Space, Type};
use smol_str::SmolStr;
use syntax::Span;
use syntax::c_family::ast::{
    self, Condition, Declaration, DeclaratorName, Expr, ExprKind, Stmt, StmtKind,
};

impl Context<'_> {
    /// The statements of a function's body; the last one may return without a jump.
    pub fn function_statements(&mut self, statements: &[Stmt]) {
        self.push_scope();
        let count = statements.len();
        for (index, statement) in statements.iter().enumerate() {
            self.statement(statement, index + 1 == count);
        }
        self.pop_scope();
    }

    /// What follows is not reached from here.
    pub(super) fn dead(&mut self) {
        let block = self.builder.create_block();
        self.builder.switch_to(block);
    }

    pub fn statement(&mut self, statement: &Stmt, tail: bool) {
        if self.depth >= MAX_DEPTH {
            self.unknown("nested too deeply", &[], &CType::Void, statement.span);
            return;
        }
        self.depth += 1;
        self.here(statement.span);
        self.statement_kind(statement, tail);
        self.depth -= 1;
    }

    pub(super) fn statement_kind(&mut self, statement: &Stmt, tail: bool) {
        match &statement.kind {
            StmtKind::Expr(e) => {
                self.expr(e);
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
                let flatten = statement.attributes.iter().any(|a| a.name == "flatten");
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
                self.push_scope();
                if let Some(first) = initializer {
                    self.statement(first, false);
                }
                self.loop_statement(statement, condition.as_ref(), step.as_ref(), body, true);
                self.pop_scope();
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
                let target = self.label(&label.name);
                self.builder.jump(target);
                self.dead();
            }
            StmtKind::Label(label) => {
                let target = self.label(&label.name);
                self.builder.jump(target);
                self.builder.switch_to(target);
            }
            StmtKind::Asm(asm) => self.asm(asm),
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
                self.declaration(declaration);
                let span = declaration.span;
                let name = declaration.declarators.first().and_then(|d| match &d.name {
                    DeclaratorName::Plain(ident) => Some(ident.clone()),
                    _ => None,
                });
                let place = match name.and_then(|i| self.lookup_local(&i.name).cloned()) {
                    Some(Local::Variable(place)) => place,
                    _ => {
                        let bit = self.builder.bool(true);
                        return (bit, span);
                    }
                };
                let value = self.load_silently(&place, span);
                let bit = self.condition_bit(value, span);
                self.here(span);
                (bit, span)
            }
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

    pub(super) fn loop_statement(
        &mut self,
        statement: &Stmt,
        condition: Option<&Condition>,
        step: Option<&Expr>,
        body: &Stmt,
        test_first: bool,
    ) {
        let header = self.builder.create_block();
        let test = if test_first {
            header
        } else {
            self.builder.create_block()
        };
        let inside = if test_first {
            self.builder.create_block()
        } else {
            header
        };
        let exit = self.builder.create_block();
        let next = match step {
            Some(_) => self.builder.create_block(),
            None => test,
        };
        // A pragma stands on a line of its own: the loop begins with what follows it.
        let start = match &statement.kind {
            _ if statement.attributes.is_empty() => statement.span.start,
            StmtKind::For {
                initializer: Some(first),
                ..
            } => first.span.start,
            StmtKind::RangeFor { range, .. } => range.span.start,
            _ => match condition {
                Some(Condition::Expr(e)) if test_first => e.span.start,
                _ => body.span.start,
            },
        };
        let head = Span::new(start, body.span.start.max(start));
        let head = if test_first {
            head
        } else {
            Span::new(start, statement.span.end.max(start))
        };
        let loc = self.at(head);
        let unroll = self.unroll_request(statement);
        self.builder.function.loops.push(SourceLoop {
            header,
            loc,
            unroll,
        });
        self.builder.jump(header);
        if test_first {
            self.builder.switch_to(header);
            match condition {
                Some(condition) => {
                    let (bit, _) = self.condition(condition);
                    self.builder.branch(bit, inside, exit, BranchKind::Loop);
                }
                None => self.builder.jump(inside),
            }
        }
        self.builder.switch_to(inside);
        self.open_loop(exit, next);
        self.push_scope();
        self.statement(body, false);
        self.pop_scope();
        if test_first && condition.is_none() {
            self.end_unconditional(header, inside, exit);
        }
        self.close_loop();
        self.builder.jump(next);
        if let Some(step) = step {
            self.builder.switch_to(next);
            self.expr(step);
            self.builder.jump(header);
        }
        if !test_first {
            self.builder.switch_to(test);
            if let Some(condition) = condition {
                let (bit, _) = self.condition(condition);
                self.builder.branch(bit, header, exit, BranchKind::Loop);
            }
        }
        self.builder.switch_to(exit);
    }

    pub(super) fn unroll_request(&mut self, statement: &Stmt) -> Option<u32> {
        let attribute = statement
            .attributes
            .iter()
            .find(|a| a.name == "unroll" || a.name == "loop")?;
        if attribute.name == "loop" {
            return Some(1);
        }
        match attribute.arguments.first() {
            None => Some(0),
            Some(e) => {
                let number = self.constant(e)?;
                u32::try_from(number.as_int()).ok()
            }
        }
    }

    /// The array that `for (T x : {a, b, c})` goes over.
    fn listed_range(
        &mut self,
        declaration: &Declaration,
        items: &[(Option<ast::Ident>, Expr)],
        range: &Expr,
    ) -> LValue {
        let declared = declaration.declarators.first();
        let written = declared.map_or(CType::Unknown, |d| self.resolve_type(&d.ty));
        let element = match (written.value_type(), items.first()) {
            (CType::Unknown, Some((_, first))) => self.type_of(first).value_type().clone(),
            (known, _) => known.clone(),
        };
        let ty = CType::array(element, ArraySize::Fixed(items.len() as u64));
        let place = self.temporary(&ty, range.span);
        self.initialise_place(&place, &ast::Initializer::Copy(range.clone()), range.span);
        place
    }

    /// `for (T x : array)` over an array, by index.
    pub(super) fn range_for(
        &mut self,
        statement: &Stmt,
        declaration: &Declaration,
        range: &Expr,
        body: &Stmt,
    ) {
        let place = match &range.kind {
            ExprKind::List(items) => self.listed_range(declaration, items, range),
            _ => self.place(range),
        };
        let CType::Array {
            element,
            size: ArraySize::Fixed(count),
        } = place.ty.clone()
        else {
            self.unknown(
                "range of a loop that is no array",
                &[],
                &CType::Void,
                range.span,
            );
            return;
        };
        let slot = self.builder.slot(Type::I64);
        let zero = self.builder.int(Type::I64, 0);
        self.builder.write(slot, zero);
        let header = self.builder.create_block();
        let inside = self.builder.create_block();
        let next = self.builder.create_block();
        let exit = self.builder.create_block();
        let loc = self.at(statement.span);
        let unroll = self.unroll_request(statement);
        self.builder.function.loops.push(SourceLoop {
            header,
            loc,
            unroll,
        });
        self.builder.jump(header);
        self.builder.switch_to(header);
        self.here(range.span);
        let index = self.builder.read(slot);
        let limit = self.builder.int(Type::I64, count as i64);
        let more = self
            .builder
            .int_compare(IntCondition::LessSigned, index, limit);
        self.builder.branch(more, inside, exit, BranchKind::Loop);
        self.builder.switch_to(inside);
        self.push_scope();
        let index = self.builder.read(slot);
        let index = RValue::scalar(CType::LONG, index);
        let item = self.element(&place, &index, range.span);
        if let Some(declarator) = declaration.declarators.first()
            && let DeclaratorName::Plain(ident) = &declarator.name
        {
            let ty = self.resolve_type(&declarator.ty);
            let by_reference = matches!(ty, CType::Reference { .. });
            let own = match ty.value_type() {
                CType::Unknown => (*element).clone(),
                other => other.clone(),
            };
            if by_reference {
                self.bind_reference(ident, own, Operand::Place(item));
            } else {
                let value = self.load(&item, range.span);
                self.declare_variable(ident, &own, Some(value), false);
            }
        }
        self.open_loop(exit, next);
        self.statement(body, false);
        self.close_loop();
        self.pop_scope();
        self.builder.jump(next);
        self.builder.switch_to(next);
        let index = self.builder.read(slot);
        let one = self.builder.int(Type::I64, 1);
        let after = self
            .builder
            .binary(BinaryOp::Add, Wrap::NO_SIGNED, index, one);
        self.builder.write(slot, after);
        self.builder.jump(header);
        self.builder.switch_to(exit);
    }

    pub(super) fn switch_statement(&mut self, condition: &Condition, body: &Stmt) {
        let (value, span) = match condition {
            Condition::Expr(e) => (self.rvalue(e), e.span),
            Condition::Declaration(declaration) => {
                self.declaration(declaration);
                let zero = self.builder.int(Type::I32, 0);
                (RValue::scalar(CType::INT, zero), declaration.span)
            }
        };
        let ty = self.promote(value.ty.element());
        let value = self.convert(value, &ty, span);
        let Some(selector) = value.first() else {
            self.unknown("switch without a value", &[], &CType::Void, span);
            return;
        };
        let head = self.builder.current();
        let exit = self.builder.create_block();
        self.dead();
        let depth = self.frame().scopes.len();
        self.frame().breaks.push((exit, depth));
        self.frame().switches.push(SwitchLabels {
            ty,
            cases: Vec::new(),
            default: None,
        });
        self.push_scope();
        self.statement(body, false);
        self.pop_scope();
        self.frame().breaks.pop();
        let labels = self.frame().switches.pop();
        self.builder.jump(exit);
        self.builder.switch_to(head);
        self.here(span);
        let (cases, default) = match labels {
            Some(labels) => (labels.cases, labels.default),
            None => (Vec::new(), None),
        };
        let selector = if self.builder.function.ty(selector).is_int() {
            selector
        } else {
            self.adapt(selector, Type::I32)
        };
        let scalar = self.builder.function.ty(selector);
        let mut seen = rustc_hash::FxHashSet::default();
        let cases: Vec<(i64, Edge)> = cases
            .into_iter()
            .map(|(n, block)| (super::convert::truncate(n, scalar, true), block))
            .filter(|(n, _)| seen.insert(*n))
            .map(|(n, block)| (n, Edge::to(block)))
            .collect();
        let default = Edge::to(default.unwrap_or(exit));
        if let Some(known) = self.builder.function.int_constant(selector) {
            let taken = cases.iter().find(|(n, _)| *n == known);
            let target = taken.map_or(default.block, |(_, edge)| edge.block);
            self.builder.jump(target);
        } else if cases.is_empty() {
            self.builder.jump(default.block);
        } else {
            self.builder.terminate(
                Terminator::Switch {
                    value: selector,
                    cases,
                    default,
                },
                BranchKind::Switch,
            );
        }
        self.builder.switch_to(exit);
    }

    /// A block for a label of a switch; the statement before falls into it.
    pub(super) fn label_block(&mut self) -> Block {
        let block = self.builder.create_block();
        self.builder.jump(block);
        self.builder.switch_to(block);
        block
    }

    pub(super) fn case_label(&mut self, value: &Expr, upper: Option<&Expr>) {
        let block = self.label_block();
        let low = self.constant(value).map(|n| n.as_int());
        let high = upper.map(|e| self.constant(e).map(|n| n.as_int()));
        let Some(low) = low else {
            self.unknown(
                "case label that is no constant",
                &[],
                &CType::Void,
                value.span,
            );
            return;
        };
        let high = match high {
            Some(Some(high)) => high.min(low.saturating_add(255)),
            _ => low,
        };
        match self.frame().switches.last_mut() {
            Some(labels) => labels.cases.extend((low..=high).map(|n| (n, block))),
            None => self.problem(value.span, "`case` outside of a switch"),
        }
    }

    pub(super) fn return_statement(&mut self, value: Option<&Expr>, tail: bool, span: Span) {
        let Some(exit) = self.frame().exit else {
            return self.return_from_function(value, span);
        };
        let declared = self.frame().return_type.clone();
        match value {
            None => {}
            Some(e) => match (self.frame().returns.clone(), declared) {
                (ReturnPlace::Void, _) => {
                    self.expr(e);
                }
                (ReturnPlace::Undecided, Some(CType::Reference { to, .. })) => {
                    let mut place = self.place(e);
                    if let (CType::Struct(a), CType::Struct(b)) = (&place.ty, &*to)
                        && let Some(base) = self.base_place(&place, *a, *b)
                    {
                        place = base;
                    }
                    if to.is_unknown() {
                        // `auto&`
                    } else if place.ty != *to && !place.ty.is_array() {
                        place.ty = if super::templates::same_type(&place.ty, &to) {
                            (*to).clone()
                        } else {
                            place.ty.clone()
                        };
                    }
                    self.frame().returns = ReturnPlace::Reference(place);
                }
                (ReturnPlace::Undecided, _) => {
                    let value = match &e.kind {
                        ExprKind::List(_) => self.initialise_value(&CType::Unknown, e),
                        _ => self.rvalue(e),
                    };
                    let value = self.decay(value);
                    if value.ty.is_void() {
                        self.frame().returns = ReturnPlace::Void;
                    } else if value.parts.is_empty() && value.target.is_none() {
                        // Lambdas and functions have no content: the value is the type.
                        let place = LValue::value(value);
                        self.frame().returns = ReturnPlace::Reference(place);
                    } else {
                        let key_span = self.frame().return_key;
                        let key = self.key(key_span);
                        let value = self.with_address(value, span);
                        let place = self.new_place(&value.ty, &key, Some(&value.parts));
                        let place = LValue {
                            ty: value.ty.clone(),
                            place,
                            name: None,
                            is_const: false,
                        };
                        self.store_silently(&place, value, span);
                        self.frame().returns = ReturnPlace::Place(place);
                    }
                }
                (ReturnPlace::Reference(_), _) => {
                    // A second return names another place: results become addresses.
                    let key_span = self.frame().return_key;
                    let key = self.key(key_span);
                    self.place(e);
                    if self.demotions.pointer_results.insert(key) {
                        self.again = true;
                    }
                }
                (ReturnPlace::Place(place), declared) => {
                    let value = match declared {
                        Some(CType::Reference { to, .. }) => {
                            let named = self.place(e);
                            let ty = CType::pointer((*to).clone(), Space::Generic);
                            RValue::pointer_to(ty, named)
                        }
                        Some(ty) => self.initialise_value(&ty, e),
                        None => self.rvalue(e),
                    };
                    self.store_silently(&place, value, span);
                }
            },
        }
        if !tail {
            self.leave_scopes(0);
            self.frame().exit_used = true;
            self.jump_out(exit, true);
            self.dead();
        }
    }

    /// `return` of the function that is being built.
    pub(super) fn return_from_function(&mut self, value: Option<&Expr>, span: Span) {
        let declared = self.frame().return_type.clone().unwrap_or(CType::Void);
        let mut parts = Parts::new();
        if let Some(e) = value {
            let ty = match &declared {
                CType::Reference { to, .. } => CType::pointer((**to).clone(), Space::Generic),
                other => other.clone(),
            };
            let value = match &declared {
                CType::Void => {
                    self.expr(e);
                    RValue::void()
                }
                CType::Reference { .. } => {
                    let place = self.place(e);
                    RValue::pointer_to(ty.clone(), place)
                }
                _ => self.initialise_value(&ty, e),
            };
            let value = self.with_address(value, span);
            parts = value.parts;
            let wanted = self.builder.function.returns.clone();
            parts = parts
                .iter()
                .zip(&wanted)
                .map(|(&v, &t)| self.adapt(v, t))
                .collect();
        }
        self.leave_scopes(0);
        self.leave_loops();
        self.finish_return(parts, span);
        self.dead();
    }

    /// Ends the function with these values; what is missing is undefined.
    pub fn finish_return(&mut self, mut parts: Parts, span: Span) {
        self.here(span);
        let wanted = self.builder.function.returns.clone();
        let outputs = super::stages::output_parts(self, span);
        let own = wanted.len().saturating_sub(outputs.len());
        parts.truncate(own);
        while parts.len() < own {
            let undefined = self.builder.undef(wanted[parts.len()]);
            parts.push(undefined);
        }
        parts.extend(outputs);
        parts.truncate(wanted.len());
        self.builder.ret(parts);
    }

    pub(super) fn asm(&mut self, asm: &ast::Asm) {
        let mut values = Parts::new();
        for (_, e) in &asm.inputs {
            let value = self.rvalue(e);
            let value = self.with_address(value, e.span);
            values.extend(value.parts);
        }
        let mut places = Vec::new();
        let mut types: Vec<Type> = Vec::new();
        for (constraint, e) in &asm.outputs {
            let place = self.place(e);
            if constraint.contains('+') {
                let value = self.load_silently(&place, e.span);
                values.extend(value.parts);
            }
            let parts = self.structs.parts(&place.ty).unwrap_or_default();
            types.extend(parts.iter().copied());
            places.push((place, parts.len(), e.span));
        }
        self.here(asm.span);
        let pure = !asm.volatile && asm.clobbers.is_empty() && !asm.outputs.is_empty();
        let op = Op::Asm {
            template: asm.template.clone(),
            pure,
        };
        let inst = self.builder.inst(op, &values, &types);
        let results: Parts = self.builder.results(inst).iter().copied().collect();
        let mut at = 0;
        for (place, count, span) in places {
            let parts = results.get(at..at + count).unwrap_or(&[]).iter().copied();
            let value = RValue::new(place.ty.clone(), parts);
            at += count;
            self.store(&place, value, span);
        }
    }
}

/// Whether a statement can be jumped into.
fn has_label(statement: &Stmt) -> bool {
    match &statement.kind {
        StmtKind::Label(_) | StmtKind::Case { .. } | StmtKind::Default => true,
        StmtKind::Block(block) => block.statements.iter().any(has_label),
        _ => false,
    }
}
