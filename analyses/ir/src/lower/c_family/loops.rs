//! Loops: `for`, `while`, `do`, over ranges, and requests for their unrolling.

use super::call::Operand;
use super::context::*;
use super::types::*;
use super::value::*;
use crate::entity::Block;
use crate::function::*;
use crate::inst::*;
use crate::types::Type;
use smol_str::SmolStr;
use syntax::Span;
use syntax::c_family::ast::{
    self, Condition, Declaration, DeclaratorName, Expr, ExprKind, Stmt, StmtKind,
};

impl Context<'_> {
    /// Notes the header of a loop with the author's requests.
    fn note_loop(&mut self, header: Block, statement: &Stmt, head: Span) {
        let source = SourceLoop {
            header,
            loc: self.at(head),
            unroll: self.unroll_request(statement),
            pipeline: pipeline_request(statement),
            independent: (statement.attributes.iter()).any(|attribute| attribute.name == "ivdep"),
        };
        self.builder.function.loops.push(source);
        self.promised_rounds(header, statement);
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
        self.note_loop(header, statement, head);
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
        self.open_loop(exit, next, body.span);
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
            return self.range_for_unknown(declaration, range, body);
        };
        let slot = self.builder.slot(Type::I64);
        let zero = self.builder.int(Type::I64, 0);
        self.builder.write(slot, zero);
        let header = self.builder.create_block();
        let inside = self.builder.create_block();
        let next = self.builder.create_block();
        let exit = self.builder.create_block();
        self.note_loop(header, statement, statement.span);
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
        self.open_loop(exit, next, body.span);
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

    /// `for (T x : range)` over a range that is no array in sight: it has any number of elements, and these
    /// may be anything.
    fn range_for_unknown(&mut self, declaration: &Declaration, range: &Expr, body: &Stmt) {
        self.problem(range.span, "range of a loop that is no array");
        let mut names: Vec<ast::Ident> = Vec::new();
        super::visit::expr(range, &mut |e| {
            if let ExprKind::Name(name) = &e.kind
                && let [only] = name.segments.as_slice()
            {
                names.push(only.ident.clone());
            }
        });
        self.unknown_loop(&names, &[body], range.span, |cx| {
            let Some(declarator) = declaration.declarators.first() else {
                return;
            };
            let ty = cx.resolve_type(&declarator.ty);
            let ty = match ty.value_type() {
                CType::Unknown => CType::INT,
                known => known.clone(),
            };
            let idents: &[ast::Ident] = match &declarator.name {
                DeclaratorName::Plain(ident) => std::slice::from_ref(ident),
                DeclaratorName::Binding(idents) => idents,
                _ => &[],
            };
            for ident in idents {
                let value = cx.unknown("element of a range", &[], &ty, ident.span);
                cx.declare_variable(ident, &ty, Some(value), false);
            }
        });
    }
}

/// `#pragma lockstep pipeline(word)`, whose word the emitter of a machine that pipelines knows.
fn pipeline_request(statement: &Stmt) -> Option<SmolStr> {
    let mut attributes = statement.attributes.iter();
    let attribute = attributes.find(|attribute| attribute.name == "pipeline")?;
    let word = match attribute.arguments.first().map(|argument| &argument.kind) {
        Some(ExprKind::Paren(inner)) => Some(&inner.kind),
        other => other,
    };
    match word {
        Some(ExprKind::Name(name)) => Some(name.segments.last()?.ident.name.clone()),
        _ => Some(SmolStr::new_static("best")),
    }
}
