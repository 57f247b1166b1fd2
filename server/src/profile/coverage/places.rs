//! The conditions and statements of a file's functions, as far as counts of places and lines can be laid on them.
//!
//! Places are those of the file. Several things on one line share its count, and one that goes over several lines has more than one:
//! both are left out where lines are counted.

use ir::lower::c_family::visit;
use rustc_hash::{FxHashMap, FxHashSet};
use syntax::c_family::ast::{
    BinaryOp, Condition as Head, Declaration, Declarator, Expr, ExprKind, FunctionBody,
    Initializer, ItemKind, ParsedItem, SpecifierSet, Stmt, StmtKind, UnaryOp,
};
use syntax::{LineIndex, Span};

/// Levels of statements that are gone down.
const DEEPEST: u32 = 200;

/// The conditions and statements of a file.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// The conditions by place: of statements and of `?:`, and the operands left of `&&` and `||`, by the
    /// place of the operator.
    conditions: FxHashMap<Span, Condition>,
    /// The statements that are executed once for each time that a condition holds, and does not, by its
    /// place.
    sides: FxHashMap<Span, [Option<Span>; 2]>,
    /// The labels of each switch, by the place of its selector.
    pub(super) switches: FxHashMap<Span, Labels>,
    /// Statements without others in them.
    pub(super) simple: Vec<Span>,
    /// Operands of conditions that are decided one by one.
    decisions: FxHashSet<Span>,
    /// The number of statements, conditions and decisions on each line.
    occupied: FxHashMap<u32, u32>,
    decided: FxHashMap<u32, u32>,
}

/// A condition with the place where its item begins.
#[derive(Clone, Debug)]
pub(super) struct Condition {
    pub(super) expr: Expr,
    pub(super) start: u32,
}

/// The labels of a switch in the order of the source.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Labels {
    pub(super) cases: Vec<Span>,
    pub(super) default: Option<Span>,
    /// A label stands for several values.
    pub(super) ranges: bool,
}

impl Places {
    /// Adds an item that begins at a place of the file.
    pub(super) fn add(&mut self, item: &ParsedItem, start: u32, lines: &LineIndex) {
        let ItemKind::Function(function) = &item.kind else {
            return;
        };
        let FunctionBody::Block(block) = &function.body else {
            return;
        };
        let mut walk = Walk {
            out: self,
            start,
            lines,
        };
        for statement in &block.statements {
            walk.statement(statement, 0);
        }
    }

    pub(super) fn condition(&self, place: Span) -> Option<&Condition> {
        self.conditions.get(&place)
    }

    /// The statements at the beginning of a condition's sides.
    pub(super) fn sides(&self, place: Span) -> [Option<Span>; 2] {
        self.sides.get(&place).copied().unwrap_or_default()
    }

    /// The line of a statement that has one to itself, from 1.
    pub(super) fn alone(&self, place: Span, lines: &LineIndex) -> Option<u32> {
        let line = one_line(place, lines)?;
        (self.occupied.get(&line) == Some(&1)).then_some(line)
    }

    /// The line of a condition that is the only one on it, from 1.
    pub(super) fn decides_alone(&self, place: Span, lines: &LineIndex) -> Option<u32> {
        let line = one_line(place, lines)?;
        (self.decided.get(&line) == Some(&1)).then_some(line)
    }
}

/// The line from 1 of a statement that lies on one alone.
fn one_line(place: Span, lines: &LineIndex) -> Option<u32> {
    let (first, last) = (
        lines.line_column(place.start).0,
        lines.line_column(place.end).0,
    );
    (first == last).then_some(first + 1)
}

struct Walk<'w> {
    out: &'w mut Places,
    start: u32,
    lines: &'w LineIndex,
}

impl Walk<'_> {
    fn place(&self, span: Span) -> Span {
        span.shifted(self.start)
    }

    fn occupy(&mut self, span: Span) {
        let place = self.place(span);
        for line in self.lines_of(place) {
            *self.out.occupied.entry(line).or_default() += 1;
        }
    }

    fn lines_of(&self, place: Span) -> std::ops::RangeInclusive<u32> {
        let (first, last) = (
            self.lines.line_column(place.start).0,
            self.lines.line_column(place.end).0,
        );
        first + 1..=last + 1
    }

    /// Collects the conditions inside of an expression: `?:`, `&&` and `||`.
    fn expression(&mut self, e: &Expr) {
        let mut found: Vec<Span> = Vec::new();
        visit::expr(e, &mut |part| {
            found.extend(match &part.kind {
                ExprKind::Conditional { condition, .. } => {
                    self.condition(condition.span, condition);
                    decisions(condition)
                }
                ExprKind::Binary {
                    op: BinaryOp::LogicalAnd | BinaryOp::LogicalOr,
                    left,
                    right,
                    op_span,
                } => {
                    self.condition(*op_span, left);
                    [decisions(left), decisions(right)].concat()
                }
                _ => Vec::new(),
            });
        });
        for span in found {
            self.decision(span);
        }
    }

    fn condition(&mut self, at: Span, expr: &Expr) {
        let start = self.start;
        let mut place = self.place(at);
        let mut inner = expr;
        loop {
            let expr = inner.clone();
            self.out.conditions.insert(place, Condition { expr, start });
            // A branch stands within the parentheses around its condition, too.
            let ExprKind::Paren(next) = &inner.kind else {
                break;
            };
            inner = next;
            place = self.place(inner.span);
        }
    }

    fn decision(&mut self, span: Span) {
        let place = self.place(span);
        if self.out.decisions.insert(place) {
            for line in self.lines_of(place) {
                *self.out.decided.entry(line).or_default() += 1;
            }
        }
    }

    /// The condition of a statement, and the beginnings of its sides.
    fn head(&mut self, e: &Expr, sides: [Option<&Stmt>; 2]) {
        self.occupy(e.span);
        self.expression(e);
        self.condition(e.span, e);
        for span in decisions(e) {
            self.decision(span);
        }
        let first = |side: Option<&Stmt>| side.and_then(first).map(|span| self.place(span));
        let sides = sides.map(first);
        let mut inner = e;
        self.out.sides.insert(self.place(e.span), sides);
        while let ExprKind::Paren(next) = &inner.kind {
            inner = next;
            self.out.sides.insert(self.place(inner.span), sides);
        }
    }

    fn any_head(&mut self, condition: &Head, sides: [Option<&Stmt>; 2]) {
        match condition {
            Head::Expr(e) => self.head(e, sides),
            Head::Declaration(declared) => self.occupy(declared.span),
        }
    }

    fn simple(&mut self, span: Span) {
        self.occupy(span);
        let place = self.place(span);
        self.out.simple.push(place);
    }

    fn declaration(&mut self, declared: &Declaration) {
        for declarator in &declared.declarators {
            match &declarator.initializer {
                Initializer::None => {}
                Initializer::Copy(e) => self.expression(e),
                Initializer::Paren(all) | Initializer::Brace(all) => {
                    all.iter().for_each(|e| self.expression(e));
                }
            }
        }
    }

    fn statement(&mut self, statement: &Stmt, depth: u32) {
        if depth > DEEPEST {
            return;
        }
        let d = depth + 1;
        match &statement.kind {
            StmtKind::Expr(e) => {
                self.simple(statement.span);
                self.expression(e);
            }
            StmtKind::Declaration(declared) if is_executed(declared) => {
                self.simple(statement.span);
                self.declaration(declared);
            }
            StmtKind::Return(value) => {
                self.simple(statement.span);
                value.iter().for_each(|e| self.expression(e));
            }
            StmtKind::Break | StmtKind::Continue | StmtKind::Goto(_) | StmtKind::Asm(_) => {
                self.simple(statement.span);
            }
            StmtKind::Block(block) => block.statements.iter().for_each(|s| self.statement(s, d)),
            StmtKind::If {
                condition,
                then,
                otherwise,
                ..
            } => {
                self.any_head(condition, [Some(then), otherwise.as_deref()]);
                self.statement(then, d);
                otherwise.iter().for_each(|s| self.statement(s, d));
            }
            StmtKind::For {
                initializer,
                condition,
                step,
                body,
            } => {
                initializer.iter().for_each(|s| self.statement(s, d));
                if let Some(condition) = condition {
                    self.any_head(condition, [Some(body), None]);
                }
                if let Some(step) = step {
                    self.occupy(step.span);
                    self.expression(step);
                }
                self.statement(body, d);
            }
            StmtKind::While { condition, body } => {
                self.any_head(condition, [Some(body), None]);
                self.statement(body, d);
            }
            StmtKind::DoWhile { body, condition } => {
                self.head(condition, [None, None]);
                self.statement(body, d);
            }
            StmtKind::Switch {
                condition, body, ..
            } => {
                match condition {
                    Head::Expr(e) => {
                        self.occupy(e.span);
                        self.expression(e);
                        self.decision(e.span);
                        let mut labels = Labels::default();
                        self.labels(body, &mut labels, 0);
                        let place = self.place(e.span);
                        self.out.switches.insert(place, labels);
                    }
                    Head::Declaration(declared) => self.occupy(declared.span),
                }
                self.statement(body, d);
            }
            _ => {}
        }
    }

    /// The labels of a switch, without those of others inside.
    fn labels(&self, body: &Stmt, out: &mut Labels, depth: u32) {
        if depth > DEEPEST {
            return;
        }
        let d = depth + 1;
        match &body.kind {
            StmtKind::Case { upper, .. } => {
                out.cases.push(self.place(body.span));
                out.ranges |= upper.is_some();
            }
            StmtKind::Default => out.default = Some(self.place(body.span)),
            StmtKind::Block(block) => block.statements.iter().for_each(|s| self.labels(s, out, d)),
            StmtKind::If {
                then, otherwise, ..
            } => {
                self.labels(then, out, d);
                otherwise.iter().for_each(|s| self.labels(s, out, d));
            }
            StmtKind::For { body, .. }
            | StmtKind::While { body, .. }
            | StmtKind::DoWhile { body, .. } => self.labels(body, out, d),
            _ => {}
        }
    }
}

/// Returns whether the declaration executes something where it stands.
fn is_executed(declared: &Declaration) -> bool {
    let executed = |declarator: &Declarator| declarator.initializer != Initializer::None;
    !declared.specifiers.words.has(SpecifierSet::STATIC)
        && declared.declarators.iter().any(executed)
}

/// The first part of a statement that a line is counted for. `None`: control comes to it by other ways, too, or it is a loop, whose
/// line is executed more often.
fn first(statement: &Stmt) -> Option<Span> {
    match &statement.kind {
        StmtKind::Expr(_)
        | StmtKind::Return(_)
        | StmtKind::Break
        | StmtKind::Continue
        | StmtKind::Goto(_) => Some(statement.span),
        StmtKind::Declaration(declared) if is_executed(declared) => Some(statement.span),
        StmtKind::If {
            initializer: None,
            condition: Head::Expr(e),
            ..
        } => Some(e.span),
        StmtKind::Block(block) => {
            let mut parts = block.statements.iter();
            let says = |part: &&Stmt| match &part.kind {
                StmtKind::Declaration(declared) => is_executed(declared),
                StmtKind::Empty => false,
                _ => true,
            };
            first(parts.find(says)?)
        }
        _ => None,
    }
}

/// The parts of a condition that are decided one by one.
fn decisions(e: &Expr) -> Vec<Span> {
    match &e.kind {
        ExprKind::Paren(inner) => decisions(inner),
        ExprKind::Unary {
            op: UnaryOp::Not,
            operand,
        } => decisions(operand),
        ExprKind::Binary {
            op: BinaryOp::LogicalAnd | BinaryOp::LogicalOr,
            left,
            right,
            ..
        } => [decisions(left), decisions(right)].concat(),
        _ => vec![e.span],
    }
}
