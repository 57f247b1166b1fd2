//! Statements and local declarations.
//!
//! Code behind a `return`, `break`, `continue` or `goto` goes to a block that nothing reaches; `finish` drops it.

use super::call::Operand;
use super::constant;
use super::context::*;
use super::expr::{MAX_DEPTH, initializer_length};
use super::types::*;
use super::value::*;
use crate::entity::Block;
use crate::function::*;
use crate::inst::*;
use crate::types::{Space, Type};
use smol_str::SmolStr;
use syntax::Span;
use syntax::c_family::ast::{
    self, Condition, Declaration, DeclaratorName, Expr, ExprKind, Initializer, SpecifierSet, Stmt,
    StmtKind,
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
    fn dead(&mut self) {
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

    fn statement_kind(&mut self, statement: &Stmt, tail: bool) {
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
                self.if_statement(condition, then, otherwise.as_deref(), *constexpr);
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
                    Some(target) => self.builder.jump(target),
                    None => self.problem(statement.span, "`break` outside of a loop"),
                }
                self.dead();
            }
            StmtKind::Continue => {
                match self.frame().continues.last().copied() {
                    Some(target) => self.builder.jump(target),
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

    fn label(&mut self, name: &SmolStr) -> Block {
        if let Some(&block) = self.frame().labels.get(name) {
            return block;
        }
        let block = self.builder.create_block();
        self.frame().labels.insert(name.clone(), block);
        block
    }

    // -------------------------------------------------------------------------------------------- branches

    /// A condition as a Bool, with the instruction position at it.
    fn condition(&mut self, condition: &Condition) -> (crate::entity::Value, Span) {
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

    fn condition_bit(&mut self, value: RValue, span: Span) -> crate::entity::Value {
        if let CType::Struct(id) = value.ty {
            let operand = Operand::Value(value.clone());
            if let Some(value) = self.conversion_operator(&operand, id, &CType::Bool, span) {
                return self.truth(value, span);
            }
        }
        self.truth(value, span)
    }

    fn if_statement(
        &mut self,
        condition: &Condition,
        then: &Stmt,
        otherwise: Option<&Stmt>,
        constexpr: bool,
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
        self.builder.branch(bit, first, second, BranchKind::If);
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

    fn loop_statement(
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
        let head = Span::new(
            statement.span.start,
            body.span.start.max(statement.span.start),
        );
        let head = if test_first { head } else { statement.span };
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
        self.frame().breaks.push(exit);
        self.frame().continues.push(next);
        self.push_scope();
        self.statement(body, false);
        self.pop_scope();
        self.frame().breaks.pop();
        self.frame().continues.pop();
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

    fn unroll_request(&mut self, statement: &Stmt) -> Option<u32> {
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

    /// `for (T x : array)` over an array, by index.
    fn range_for(
        &mut self,
        statement: &Stmt,
        declaration: &Declaration,
        range: &Expr,
        body: &Stmt,
    ) {
        let place = self.place(range);
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
        self.frame().breaks.push(exit);
        self.frame().continues.push(next);
        self.statement(body, false);
        self.frame().breaks.pop();
        self.frame().continues.pop();
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

    fn switch_statement(&mut self, condition: &Condition, body: &Stmt) {
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
        self.frame().breaks.push(exit);
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
    fn label_block(&mut self) -> Block {
        let block = self.builder.create_block();
        self.builder.jump(block);
        self.builder.switch_to(block);
        block
    }

    fn case_label(&mut self, value: &Expr, upper: Option<&Expr>) {
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

    fn return_statement(&mut self, value: Option<&Expr>, tail: bool, span: Span) {
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
            self.frame().exit_used = true;
            self.builder.jump(exit);
            self.dead();
        }
    }

    /// `return` of the function that is being built.
    fn return_from_function(&mut self, value: Option<&Expr>, span: Span) {
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

    fn asm(&mut self, asm: &ast::Asm) {
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

    // -------------------------------------------------------------------------------------------- declarations

    pub fn declaration(&mut self, declaration: &Declaration) {
        let mut inline = None;
        for declarator in &declaration.declarators {
            let written = match (&declarator.ty.kind, &inline) {
                (ast::TypeKind::InlineStruct(_), Some(ty)) => {
                    let ty: &CType = ty;
                    ty.clone()
                }
                _ => {
                    let ty = self.resolve_type(&declarator.ty);
                    if matches!(declarator.ty.kind, ast::TypeKind::InlineStruct(_)) {
                        inline = Some(ty.clone());
                    }
                    ty
                }
            };
            match &declarator.name {
                DeclaratorName::Plain(ident) => {
                    self.declarator(declaration, declarator, ident, written);
                }
                DeclaratorName::Binding(names) => self.structured(declarator, names, written),
                _ => {}
            }
        }
        if declaration.declarators.is_empty() {
            // `struct S { ... };` inside a declaration statement has nothing to run.
        }
    }

    fn declarator(
        &mut self,
        declaration: &Declaration,
        declarator: &ast::Declarator,
        ident: &ast::Ident,
        written: CType,
    ) {
        let words = declaration.specifiers.words;
        let span = ident.span;
        let is_const = constant::is_constant(&declaration.specifiers, &declarator.ty);
        if let CType::Reference { to, .. } = &written {
            let to = (**to).clone();
            let operand = match &declarator.initializer {
                Initializer::Copy(e) => self.expr(e),
                Initializer::Paren(list) | Initializer::Brace(list) if list.len() == 1 => {
                    self.expr(&list[0])
                }
                _ => Operand::Value(self.undefined(&to)),
            };
            return self.bind_reference(ident, to, operand);
        }
        let mut ty = written;
        if let CType::Array {
            element,
            size: ArraySize::Unknown,
        } = &ty
            && let Some(count) = initializer_length(&declarator.initializer)
        {
            ty = CType::array((**element).clone(), ArraySize::Fixed(count));
        }
        if words.has(SpecifierSet::SHARED) {
            return self.memory_variable(ident, &ty, Space::Shared);
        }
        if words.has(SpecifierSet::STATIC) && !is_const {
            let space = if self.is_hlsl() {
                Space::Local
            } else {
                Space::Global
            };
            return self.memory_variable(ident, &ty, space);
        }
        if words.has(SpecifierSet::EXTERN) {
            return self.memory_variable(ident, &ty, Space::Global);
        }
        if is_const && let Some(number) = self.constant_of(declarator, &ty) {
            let value = self.number(&number);
            let value = if ty.is_unknown() {
                value
            } else {
                self.convert(value, &ty, span)
            };
            let variable = self.new_variable(ident, &value.ty.clone(), VariableKind::Local);
            let at = self.at(span);
            self.builder
                .bind(variable, BindingKind::Declaration, &value.parts, "", at);
            let mut place = LValue::value(value);
            place.name = Some(NamedPart {
                variable,
                part: SmolStr::default(),
                at,
            });
            self.declare(ident.name.clone(), Local::Variable(place));
            return;
        }
        if ty.is_unknown() {
            // `auto`
            let value = match &declarator.initializer {
                Initializer::Copy(e) => self.rvalue(e),
                Initializer::Paren(list) | Initializer::Brace(list) if list.len() == 1 => {
                    self.rvalue(&list[0])
                }
                _ => {
                    let ty = CType::INT;
                    self.unknown("type of a variable", &[], &ty, span)
                }
            };
            let value = self.decay(value);
            let ty = value.ty.clone();
            return self.declare_variable(ident, &ty, Some(value), false);
        }
        // Simple values are computed before the variable exists, so that its pointers take the value's space.
        let simple = !matches!(ty, CType::Struct(_) | CType::Array { .. });
        match &declarator.initializer {
            Initializer::Copy(e) if simple => {
                let value = self.initialise_value(&ty, e);
                self.declare_variable(ident, &ty, Some(value), is_const);
            }
            Initializer::Paren(list) | Initializer::Brace(list) if simple => {
                let made = self.construct(ty.clone(), list, false, span);
                let value = self.take(made, span);
                self.declare_variable(ident, &ty, Some(value), is_const);
            }
            Initializer::Copy(e)
                if matches!(ty, CType::Struct(_)) && !matches!(e.kind, ExprKind::List(_)) =>
            {
                let value = self.initialise_value(&ty, e);
                self.declare_variable(ident, &ty, Some(value), is_const);
            }
            Initializer::None if simple => self.declare_variable(ident, &ty, None, is_const),
            initializer => {
                let key = self.key(span);
                let variable = self.new_variable(ident, &ty, VariableKind::Local);
                let place = self.new_place(&ty, &key, None);
                let at = self.at(span);
                let mut place = LValue {
                    ty: ty.clone(),
                    place,
                    name: None,
                    is_const: false,
                };
                let mut shown = Parts::new();
                // Indexing below may ask for memory: the name must be known while it is filled.
                let name = NamedPart {
                    variable,
                    part: SmolStr::default(),
                    at,
                };
                place.name = Some(name);
                let mut silent = place.clone();
                silent.name = None;
                let has_work = match (&ty, initializer) {
                    (CType::Struct(id), Initializer::None) => {
                        let id = *id;
                        self.has_default_work(id)
                    }
                    (_, Initializer::None) => false,
                    _ => true,
                };
                if has_work {
                    let target = if matches!(place.place, Place::Slots(_)) {
                        &place
                    } else {
                        &silent
                    };
                    let target = target.clone();
                    self.initialise_place(&target, initializer, span);
                    if let Place::Slots(_) = &place.place {
                        shown = self.known_parts(&place);
                    }
                }
                self.here(span);
                self.builder
                    .bind(variable, BindingKind::Declaration, &shown, "", at);
                self.declare(ident.name.clone(), Local::Variable(place));
            }
        }
    }

    fn constant_of(&mut self, declarator: &ast::Declarator, ty: &CType) -> Option<Const> {
        let function = ty.is_pointer() || matches!(ty, CType::Opaque(_));
        if !(ty.is_arithmetic() || ty.is_unknown() || matches!(ty, CType::Enum { .. }) || function)
        {
            return None;
        }
        let found = self.constant_declarator(declarator)?;
        (!function || matches!(found.ty, CType::Function(_))).then_some(found)
    }

    /// A variable with a value: slots, or memory when an earlier attempt found that it needs it.
    pub fn declare_variable(
        &mut self,
        ident: &ast::Ident,
        ty: &CType,
        value: Option<RValue>,
        is_const: bool,
    ) {
        let key = self.key(ident.span);
        let variable = self.new_variable(ident, ty, VariableKind::Local);
        let at = self.at(ident.span);
        let name = Some(NamedPart {
            variable,
            part: SmolStr::default(),
            at,
        });
        // Lambdas and functions are known by their type; a pointer to a variable stays a name for it.
        if let Some(value) = &value
            && value.parts.is_empty()
            && !value.ty.is_void()
            && !self.demotions.storage.contains(&key)
            && !self.demotions.memory.contains(&key)
            && (matches!(value.ty, CType::Lambda(_) | CType::Function(_)) || value.target.is_some())
        {
            let mut place = LValue::value(value.clone());
            place.ty = if value.ty.is_pointer() {
                ty.clone()
            } else {
                value.ty.clone()
            };
            place.name = name;
            place.is_const = false;
            self.builder
                .bind(variable, BindingKind::Declaration, &[], "", at);
            self.declare(ident.name.clone(), Local::Variable(place));
            return;
        }
        let value = value.map(|value| {
            if value.ty.is_pointer() {
                self.with_address(value, ident.span)
            } else {
                value
            }
        });
        self.here(ident.span);
        let initial = value.as_ref().map(|v| v.parts.clone());
        let place = self.new_place(ty, &key, initial.as_deref());
        let mut place = LValue {
            ty: ty.clone(),
            place,
            name: None,
            is_const: false,
        };
        let mut shown = Parts::new();
        if let Some(value) = value {
            shown = self.store_silently(&place, value, ident.span).parts;
        } else if let Place::Slots(slots) = &place.place {
            // A new execution of the declaration does not see the value of the one before.
            for slot in slots.clone() {
                let ty = self.builder.slot_type(slot);
                let undefined = self.builder.undef(ty);
                self.builder.write(slot, undefined);
            }
        }
        self.here(ident.span);
        self.builder
            .bind(variable, BindingKind::Declaration, &shown, "", at);
        place.name = name;
        place.is_const = is_const && !matches!(ty, CType::Struct(_));
        self.declare(ident.name.clone(), Local::Variable(place));
    }

    /// `T& name = operand`.
    pub fn bind_reference(&mut self, ident: &ast::Ident, to: CType, operand: Operand) {
        let place = match operand {
            Operand::Place(place) => place,
            Operand::Value(value) => {
                let value = if to.is_unknown() {
                    value
                } else {
                    self.convert(value, &to, ident.span)
                };
                let ty = value.ty.clone();
                return self.declare_variable(ident, &ty, Some(value), false);
            }
        };
        let variable = self.new_variable(ident, &place.ty.clone(), VariableKind::Local);
        if let Some(name) = &place.name
            && let Some(key) = self.variable_keys.get(&name.variable).cloned()
        {
            self.variable_keys.insert(variable, key);
        }
        let shown = match &place.place {
            Place::Slots(_) | Place::Value(_) => self.known_parts(&place),
            _ => Parts::new(),
        };
        let at = self.at(ident.span);
        self.builder
            .bind(variable, BindingKind::Declaration, &shown, "", at);
        let mut place = place;
        if !to.is_unknown()
            && let (CType::Struct(a), CType::Struct(b)) = (&place.ty, &to)
            && let Some(base) = self.base_place(&place, *a, *b)
        {
            place = base;
        }
        place.name = Some(NamedPart {
            variable,
            part: SmolStr::default(),
            at,
        });
        self.declare(ident.name.clone(), Local::Variable(place));
    }

    /// A variable with memory of its own: `__shared__`, `static`.
    fn memory_variable(&mut self, ident: &ast::Ident, ty: &CType, space: Space) {
        let variable = self.new_variable(ident, ty, VariableKind::Global);
        let at = self.at(ident.span);
        let mut place = if space == Space::Local {
            let size = self.structs.size_of(ty).unwrap_or(4096);
            let align = self.structs.align_of(ty);
            let address = self.private_memory(size, align);
            LValue::memory(ty.clone(), address, MemoryAccess::in_space(space))
        } else {
            // Two variables of one name in different functions are two; in copies of one inlined function they are one.
            let key = smol_str::format_smolstr!("{:?}", self.key(ident.span));
            match self.globals.get(&key) {
                Some(known) if known.ty == *ty => known.clone(),
                _ => {
                    let place = self.symbol_place(&ident.name, ty, space, false, ident.span);
                    self.globals.insert(key, place.clone());
                    place
                }
            }
        };
        self.here(ident.span);
        self.builder
            .bind(variable, BindingKind::Declaration, &[], "", at);
        place.name = Some(NamedPart {
            variable,
            part: SmolStr::default(),
            at,
        });
        self.declare(ident.name.clone(), Local::Variable(place));
    }

    /// `auto [a, b] = e;`
    fn structured(&mut self, declarator: &ast::Declarator, names: &[ast::Ident], written: CType) {
        let e = match &declarator.initializer {
            Initializer::Copy(e) => e,
            Initializer::Paren(list) | Initializer::Brace(list) if list.len() == 1 => &list[0],
            _ => return,
        };
        let by_reference = matches!(written, CType::Reference { .. });
        let whole = match self.expr(e) {
            Operand::Place(place) if by_reference => place,
            other => {
                let value = self.take(other, e.span);
                let place = self.temporary(&value.ty.clone(), e.span);
                self.store_silently(&place, value, e.span);
                place
            }
        };
        for (index, ident) in names.iter().enumerate() {
            let part = match &whole.ty {
                CType::Struct(id) => {
                    let id = *id;
                    let name = self.structs[id].fields.get(index).map(|f| f.name.clone());
                    name.and_then(|name| self.field(&whole, id, &name, ident.span))
                }
                _ => self.constant_element(&whole, index as u64),
            };
            match part {
                Some(part) => {
                    let ty = part.ty.clone();
                    self.bind_reference(ident, ty, Operand::Place(part));
                }
                None => {
                    let value = self.unknown("structured binding", &[], &CType::INT, ident.span);
                    self.declare_variable(ident, &CType::INT, Some(value), false);
                }
            }
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
