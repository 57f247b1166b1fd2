//! `switch`: labels in any order, ranges of cases, and falling through.

use super::context::*;
use super::types::*;
use super::value::*;
use crate::entity::Block;
use crate::function::*;
use crate::inst::Wrap;
use crate::types::Type;
use syntax::c_family::ast::{BinaryOp, Condition, Expr, Stmt};

impl Context<'_> {
    pub(super) fn switch_statement(&mut self, condition: &Condition, body: &Stmt) {
        let (value, span) = match condition {
            Condition::Expr(e) => (self.rvalue(e), e.span),
            Condition::Declaration(declaration) => {
                (self.declared_condition(declaration), declaration.span)
            }
        };
        let value = self.as_number(value, span);
        let ty = self.promote(value.ty.element());
        let value = self.convert(value, &ty, span);
        let Some(selector) = value.first() else {
            self.unknown("switch without a value", &[], &CType::Void, span);
            self.left_out(body);
            return;
        };
        let head = self.builder.current();
        let exit = self.builder.create_block();
        self.dead();
        let depth = self.frame().scopes.len();
        self.frame().breaks.push((exit, depth));
        self.frame().switches.push(SwitchLabels {
            ty: ty.clone(),
            cases: Vec::new(),
            compared: Vec::new(),
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
        let (cases, compared, default) = match labels {
            Some(labels) => (labels.cases, labels.compared, labels.default),
            None => (Vec::new(), Vec::new(), None),
        };
        let subject = RValue::scalar(ty.clone(), selector);
        for (low, high, block) in compared {
            self.compared_label(&subject, &low, high.as_ref(), block);
        }
        self.here(span);
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
        let (low, high) = match (low, high) {
            (Some(low), None) => (low, None),
            (Some(low), Some(Some(high))) => (low, Some(high)),
            _ => {
                let label = (value.clone(), upper.cloned(), block);
                match self.frame().switches.last_mut() {
                    Some(labels) => labels.compared.push(label),
                    None => self.problem(value.span, "`case` outside of a switch"),
                }
                return;
            }
        };
        let high = match high {
            Some(high) if high.saturating_sub(low) < 256 => high,
            None => low,
            // A long range is compared as well.
            Some(_) => {
                let label = (value.clone(), upper.cloned(), block);
                if let Some(labels) = self.frame().switches.last_mut() {
                    labels.compared.push(label);
                }
                return;
            }
        };
        match self.frame().switches.last_mut() {
            Some(labels) => labels.cases.extend((low..=high).map(|n| (n, block))),
            None => self.problem(value.span, "`case` outside of a switch"),
        }
    }

    /// A label that is no number here: `case N:` of a template parameter, or of a name that is not in sight.
    fn compared_label(&mut self, subject: &RValue, low: &Expr, high: Option<&Expr>, block: Block) {
        let number = self.rvalue(low);
        let bit = match high {
            None => {
                let equal = self.arithmetic(BinaryOp::Equal, subject.clone(), number, low.span);
                self.truth(equal, low.span)
            }
            Some(high) => {
                let end = self.rvalue(high);
                let above =
                    self.arithmetic(BinaryOp::GreaterEqual, subject.clone(), number, low.span);
                let below = self.arithmetic(BinaryOp::LessEqual, subject.clone(), end, high.span);
                let (above, below) = (self.truth(above, low.span), self.truth(below, high.span));
                self.fold(crate::inst::BinaryOp::And, Wrap::MAY, above, below)
            }
        };
        let next = self.builder.create_block();
        self.builder.branch(bit, block, next, BranchKind::Switch);
        self.builder.switch_to(next);
    }
}
