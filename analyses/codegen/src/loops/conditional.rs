//! `if` whose ways only set variables, as conditional expressions.
//!
//! ```text
//! if (a[i] > m)                       m = a[i] > m ? a[i] : m;
//!   m = a[i];                   ->
//! if (x < 0) y[i] = -x;               y[i] = x < 0 ? -x : x;
//! else y[i] = x;
//! ```
//!
//! Only the value that is chosen is computed, as before, so nothing can fail where it did not. A variable keeps its own
//! value where its way is not taken; the type of a conditional expression is that of both values together, so values are
//! cast to the variable's type where that could change them. Memory is only written where both ways write one place.
//!
//! Not done: ways with loops, declarations, jumps or calls; a store on one way.

use super::{Edit, Refusal, body_of, each_expression, each_statement, unparenthesised};
use crate::specialize::source::Source;
use crate::specialize::source::names::{Names, VarId};
use smol_str::{SmolStr, format_smolstr};
use std::fmt::Write;
use syntax::Span;
use syntax::c_family::ast::*;
use syntax::c_family::lexer::lex_fragment;
use syntax::c_family::token::TokenKind;

/// Assignments of both ways together.
const MOST: usize = 6;

#[derive(Clone, PartialEq, Debug)]
pub struct Conversion {
    /// The statement, item-relative.
    pub statement: Span,
    pub edit: Edit,
}

/// The innermost `if` around an offset, inside a loop, as assignments.
///
/// # Errors
/// Why it stays; `None`: there is no `if` here.
#[must_use]
pub fn conditional_at(
    source: &Source<'_>,
    function: &Function,
    offset: u32,
) -> Option<(Span, Result<Conversion, Refusal>)> {
    let mut found: Option<&Stmt> = None;
    let mut in_loop: Vec<Span> = Vec::new();
    each_statement(function, &mut |statement| {
        if let Some(body) = body_of(statement) {
            in_loop.push(body.span);
        }
        let within = |span: Span| span.start <= offset && offset <= span.end;
        let inside = in_loop
            .iter()
            .any(|it| it.start <= statement.span.start && statement.span.end <= it.end);
        if matches!(statement.kind, StmtKind::If { .. }) && inside && within(statement.span) {
            found = Some(statement);
        }
    });
    let statement = found?;
    let names = Names::of(function);
    let maker = Maker {
        source,
        function,
        names: &names,
    };
    Some((statement.span, maker.conversion(statement)))
}

/// The assignment that a way makes.
struct Assignment<'a> {
    op: Option<BinaryOp>,
    left: &'a Expr,
    /// `None`: one more, or one less.
    right: Option<&'a Expr>,
    variable: Option<VarId>,
}

/// A number's type after promotion.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
enum Number {
    Int,
    Unsigned,
    Long,
    UnsignedLong,
    Float,
    Double,
}

impl Number {
    const fn is_integer(self) -> bool {
        !matches!(self, Number::Float | Number::Double)
    }
}

struct Maker<'a> {
    source: &'a Source<'a>,
    function: &'a Function,
    names: &'a Names,
}

impl<'a> Maker<'a> {
    fn conversion(&self, statement: &'a Stmt) -> Result<Conversion, Refusal> {
        let StmtKind::If {
            initializer: None,
            condition: Condition::Expr(condition),
            then,
            otherwise,
            ..
        } = &statement.kind
        else {
            return Err(Refusal::Statement("a declaration"));
        };
        self.pure(condition)?;
        let first = self.way(then)?;
        let second = match otherwise {
            Some(way) => self.way(way)?,
            None => Vec::new(),
        };
        let count = first.len() + second.len();
        if count > MOST {
            return Err(Refusal::Long {
                statements: count,
                most: MOST,
            });
        }
        self.plain(statement, condition, &first, &second)?;
        let condition_text = self.operand(condition);
        let mut lines = Vec::new();
        match (&first[..], &second[..]) {
            ([found], [other]) if self.same(found, other) => {
                lines.push(self.both(&condition_text, found, other)?);
            }
            _ => {
                let mut set: Vec<VarId> = Vec::new();
                let ways = first.iter().map(|it| (it, true));
                for (each, taken) in ways.chain(second.iter().map(|it| (it, false))) {
                    let Some(variable) = each.variable else {
                        return Err(match second.is_empty() {
                            true => Refusal::OneStore,
                            false => Refusal::Places,
                        });
                    };
                    self.valued(statement, variable)?;
                    if let Some(read) = self.reads(condition, &set) {
                        return Err(Refusal::Reads(read));
                    }
                    lines.push(self.one(&condition_text, each, variable, taken)?);
                    set.push(variable);
                }
            }
        }
        if lines.is_empty() {
            return Err(Refusal::Statement("nothing"));
        }
        let text = self.written(statement, &lines);
        Ok(Conversion {
            statement: statement.span,
            edit: (statement.span.shifted(self.source.start), text),
        })
    }

    /// The assignments of a way, in order.
    fn way(&self, statement: &'a Stmt) -> Result<Vec<Assignment<'a>>, Refusal> {
        let statements = match &statement.kind {
            StmtKind::Block(block) => block.statements.iter().collect(),
            _ => vec![statement],
        };
        let mut out = Vec::new();
        for statement in statements {
            let e = match &statement.kind {
                StmtKind::Empty => continue,
                StmtKind::Expr(e) => unparenthesised(e),
                StmtKind::If { .. } => return Err(Refusal::Statement("another `if`")),
                StmtKind::Break | StmtKind::Continue | StmtKind::Return(_) | StmtKind::Goto(_) => {
                    return Err(Refusal::Statement("a jump"));
                }
                StmtKind::Declaration(_) => return Err(Refusal::Statement("a declaration")),
                _ if body_of(statement).is_some() => return Err(Refusal::Statement("a loop")),
                _ => return Err(Refusal::Statement("something")),
            };
            let assignment = match &e.kind {
                ExprKind::Assign {
                    op, left, right, ..
                } => {
                    self.pure(right)?;
                    (*op, &**left, Some(&**right))
                }
                ExprKind::Unary { op, operand } => match op {
                    UnaryOp::PreIncrement | UnaryOp::PostIncrement => {
                        (Some(BinaryOp::Add), &**operand, None)
                    }
                    UnaryOp::PreDecrement | UnaryOp::PostDecrement => {
                        (Some(BinaryOp::Sub), &**operand, None)
                    }
                    _ => return Err(Refusal::Statement("a value that is not used")),
                },
                ExprKind::Call { .. } => return Err(Refusal::Statement("a call")),
                _ => return Err(Refusal::Statement("a value that is not used")),
            };
            let (op, left, right) = assignment;
            let left = unparenthesised(left);
            let variable = match &left.kind {
                ExprKind::Name(name) => {
                    let id = self.names.meant(name);
                    let spelled = || SmolStr::new(self.source.own_text(left.span));
                    let id = id.ok_or_else(|| Refusal::Escapes(spelled()))?;
                    let known = self.names.variable(id);
                    if known.escapes || known.volatile {
                        return Err(Refusal::Escapes(known.name.clone()));
                    }
                    Some(id)
                }
                _ => {
                    self.pure(left)?;
                    None
                }
            };
            out.push(Assignment {
                op,
                left,
                right,
                variable,
            });
        }
        Ok(out)
    }

    /// Checks that an expression is nothing but a value.
    fn pure(&self, e: &Expr) -> Result<(), Refusal> {
        let mut bad = None;
        each_expression(
            e,
            &mut |it| match &it.kind {
                ExprKind::Call { .. } => bad = Some("a call"),
                ExprKind::Assign { .. } => bad = Some("an assignment"),
                ExprKind::Unary {
                    op:
                        UnaryOp::PreIncrement
                        | UnaryOp::PostIncrement
                        | UnaryOp::PreDecrement
                        | UnaryOp::PostDecrement,
                    ..
                } => bad = Some("a count"),
                ExprKind::Statement(_) | ExprKind::Unknown | ExprKind::Lambda(_) => {
                    bad = Some("statements");
                }
                _ => {}
            },
            0,
        );
        bad.map_or(Ok(()), |what| Err(Refusal::Effects(what)))
    }

    /// Checks that the text of the statement has macros only within copied parts, and no directives.
    fn plain(
        &self,
        statement: &Stmt,
        condition: &Expr,
        first: &[Assignment<'_>],
        second: &[Assignment<'_>],
    ) -> Result<(), Refusal> {
        if self.source.in_macro(statement.span) {
            return Err(Refusal::Macro);
        }
        let mut copied = vec![condition.span];
        for each in first.iter().chain(second) {
            copied.push(each.left.span);
            copied.extend(each.right.map(|right| right.span));
        }
        let outside = self.source.macros.iter().any(|used| {
            let meets = used.start < statement.span.end && statement.span.start < used.end;
            let held = copied
                .iter()
                .any(|it| it.start <= used.start && used.end <= it.end);
            meets && !held
        });
        if outside {
            return Err(Refusal::Macro);
        }
        let text = self.source.own_text(statement.span);
        if text.lines().any(|line| line.trim_start().starts_with('#')) {
            return Err(Refusal::Directive);
        }
        Ok(())
    }

    fn same(&self, left: &Assignment<'_>, right: &Assignment<'_>) -> bool {
        match (left.variable, right.variable) {
            (None, None) => {
                self.source.own_text(left.left.span) == self.source.own_text(right.left.span)
            }
            (left, right) => left == right,
        }
    }

    /// `x` has a value in front of the statement: a parameter, or set where it is declared or beside the statement.
    fn valued(&self, statement: &Stmt, id: VarId) -> Result<(), Refusal> {
        let known = self.names.variable(id);
        let mut has = known.parameter;
        each_statement(self.function, &mut |it| match &it.kind {
            StmtKind::Declaration(declaration) => {
                for declarator in &declaration.declarators {
                    if let (DeclaratorName::Plain(ident), Initializer::Copy(_)) =
                        (&declarator.name, &declarator.initializer)
                    {
                        has |= self.names.declared_at(ident) == Some(id);
                    }
                }
            }
            StmtKind::Block(block) => {
                let at = block
                    .statements
                    .iter()
                    .position(|s| s.span == statement.span);
                for before in at.map_or(&[][..], |at| &block.statements[..at]) {
                    if let StmtKind::Expr(e) = &before.kind
                        && let ExprKind::Assign { op: None, left, .. } = &e.kind
                        && let ExprKind::Name(name) = &left.kind
                    {
                        has |= self.names.meant(name) == Some(id);
                    }
                }
            }
            _ => {}
        });
        match has {
            true => Ok(()),
            false => Err(Refusal::NoValue(known.name.clone())),
        }
    }

    /// One of these variables that an expression names.
    fn reads(&self, e: &Expr, set: &[VarId]) -> Option<SmolStr> {
        let mut found = None;
        each_expression(
            e,
            &mut |it| {
                if let ExprKind::Name(name) = &it.kind
                    && let Some(id) = self.names.meant(name)
                    && set.contains(&id)
                {
                    found = Some(self.names.variable(id).name.clone());
                }
            },
            0,
        );
        found
    }

    fn one(
        &self,
        condition: &str,
        assignment: &Assignment<'_>,
        variable: VarId,
        taken: bool,
    ) -> Result<String, Refusal> {
        let name = &self.names.variable(variable).name;
        let to = self.declared(variable);
        let number = self.number_of(assignment);
        let value = match to {
            // A pointer keeps its type.
            None if self.is_pointer(variable) => self.value(assignment, None, taken),
            None => return Err(Refusal::Types),
            // An operand that is converted to the variable's type together with the variable is converted as
            // by the assignment.
            Some((to, _)) if !to.is_integer() || number.is_some_and(Number::is_integer) => {
                self.value(assignment, None, taken)
            }
            Some((_, spelled)) => self.value(assignment, Some(&spelled), taken),
        };
        Ok(match taken {
            true => format!("{name} = {condition} ? {value} : {name};"),
            false => format!("{name} = {condition} ? {name} : {value};"),
        })
    }

    fn both(
        &self,
        condition: &str,
        left: &Assignment<'_>,
        right: &Assignment<'_>,
    ) -> Result<String, Refusal> {
        let place = self.source.own_text(left.left.span);
        let numbers = (self.number_of(left), self.number_of(right));
        let equal = numbers.0.is_some() && numbers.0 == numbers.1;
        let cast = match left.variable {
            _ if equal => None,
            Some(id) if self.is_pointer(id) => None,
            Some(id) => Some(self.declared(id).ok_or(Refusal::Types)?.1),
            None => return Err(Refusal::Types),
        };
        let first = self.value(left, cast.as_deref(), true);
        let second = self.value(right, cast.as_deref(), false);
        Ok(format!("{place} = {condition} ? {first} : {second};"))
    }

    /// The text of the assigned expression.
    fn value(&self, assignment: &Assignment<'_>, cast: Option<&str>, first: bool) -> String {
        let right = assignment
            .right
            .map_or("1", |right| self.source.own_text(right.span));
        let text = match assignment.op {
            Some(op) => {
                let right = match assignment.right {
                    Some(e) if !is_tight(e) => format!("({right})"),
                    _ => right.to_owned(),
                };
                let left = self.source.own_text(assignment.left.span);
                format!("{left} {} {right}", op.symbol())
            }
            None => right.to_owned(),
        };
        match cast {
            Some(ty) => match assignment.op.is_none() && assignment.right.is_none_or(is_tight) {
                true => format!("({ty}){text}"),
                false => format!("({ty})({text})"),
            },
            None => {
                match assignment.op.is_none() && assignment.right.is_some_and(is_loose) && !first {
                    true => format!("({text})"),
                    false => text,
                }
            }
        }
    }

    fn operand(&self, e: &Expr) -> String {
        let text = self.source.own_text(e.span);
        match is_loose(e) || matches!(e.kind, ExprKind::Conditional { .. }) {
            true => format!("({text})"),
            false => text.to_owned(),
        }
    }

    /// In the place of the statement, comments in front.
    fn written(&self, statement: &Stmt, lines: &[String]) -> String {
        let at = (statement.span.start + self.source.start) as usize;
        let before = self.source.text.get(..at).unwrap_or("");
        let line = before.rsplit('\n').next().unwrap_or("");
        let indent: String = line.chars().take_while(|c| c.is_whitespace()).collect();
        let end = match self.source.text.contains("\r\n") {
            true => "\r\n",
            false => "\n",
        };
        let text = self.source.own_text(statement.span);
        let mut parts: Vec<String> = comments(text);
        let mut in_block = false;
        each_statement(self.function, &mut |it| {
            if let StmtKind::Block(block) = &it.kind {
                in_block |= block.statements.iter().any(|s| s.span == statement.span);
            }
        });
        let several = lines.len() > 1 && !in_block;
        let inner = match several {
            true => format!("{indent}  "),
            false => indent.clone(),
        };
        parts.extend(lines.iter().cloned());
        let mut out = String::new();
        if several {
            let _ = write!(out, "{{{end}{inner}");
        }
        out.push_str(&parts.join(&format!("{end}{inner}")));
        if several {
            let _ = write!(out, "{end}{indent}}}");
        }
        out
    }

    fn is_pointer(&self, id: VarId) -> bool {
        matches!(self.names.variable(id).ty.kind, TypeKind::Pointer(_))
    }

    /// The type of a variable that is a number, and how it is spelled.
    fn declared(&self, id: VarId) -> Option<(Number, SmolStr)> {
        let ty = &self.names.variable(id).ty;
        match &ty.kind {
            TypeKind::Builtin(word) => {
                let spelled = match word.as_str() {
                    "bool" => SmolStr::new_static("_Bool"),
                    word => SmolStr::new(word),
                };
                Some((number(word)?, spelled))
            }
            TypeKind::Named(name) => {
                let known = fixed_width(&name.segments.last()?.ident.name)?;
                Some((
                    known,
                    format_smolstr!("{}", name.segments.last()?.ident.name),
                ))
            }
            _ => None,
        }
    }

    fn number_of(&self, assignment: &Assignment<'_>) -> Option<Number> {
        let right = match assignment.right {
            Some(right) => self.number(right, 0)?,
            None => Number::Int,
        };
        match assignment.op {
            None => Some(right),
            Some(BinaryOp::Shl | BinaryOp::Shr) => self.number(assignment.left, 0),
            Some(_) => Some(right.max(self.number(assignment.left, 0)?)),
        }
    }

    /// The promoted type of an expression, where its parts say so.
    fn number(&self, e: &Expr, depth: u32) -> Option<Number> {
        if depth > super::DEPTH {
            return None;
        }
        let d = depth + 1;
        match &e.kind {
            ExprKind::Paren(inner) => self.number(inner, d),
            ExprKind::Char(_) | ExprKind::Bool(_) => Some(Number::Int),
            ExprKind::Int(literal) => Some(match (literal.unsigned, literal.longs) {
                (false, 0) if literal.value <= i32::MAX as u64 => Number::Int,
                (false, 0) if literal.based => return None,
                (false, _) if literal.value <= i64::MAX as u64 => Number::Long,
                (true, 0) if literal.value <= u64::from(u32::MAX) => Number::Unsigned,
                _ => Number::UnsignedLong,
            }),
            ExprKind::Float(literal) => match literal.suffix {
                None => Some(Number::Double),
                Some('f') => Some(Number::Float),
                Some(_) => None,
            },
            ExprKind::Name(name) => Some(self.declared(self.names.meant(name)?)?.0),
            ExprKind::Index { base, .. } => self.element(base),
            ExprKind::Unary { op, operand } => match op {
                UnaryOp::Plus | UnaryOp::Minus | UnaryOp::BitNot => self.number(operand, d),
                UnaryOp::Not => Some(Number::Int),
                UnaryOp::Dereference => self.element(operand),
                _ => None,
            },
            ExprKind::Binary {
                op, left, right, ..
            } => match op {
                BinaryOp::Shl | BinaryOp::Shr => self.number(left, d),
                BinaryOp::Add
                | BinaryOp::Sub
                | BinaryOp::Mul
                | BinaryOp::Div
                | BinaryOp::Rem
                | BinaryOp::BitAnd
                | BinaryOp::BitOr
                | BinaryOp::BitXor => Some(self.number(left, d)?.max(self.number(right, d)?)),
                BinaryOp::Spaceship | BinaryOp::MemberPointer => None,
                _ => Some(Number::Int),
            },
            ExprKind::Conditional {
                then, otherwise, ..
            } => Some(self.number(then, d)?.max(self.number(otherwise, d)?)),
            ExprKind::Cast { ty, .. } => match &ty.kind {
                TypeKind::Builtin(word) => number(word),
                TypeKind::Named(name) => fixed_width(&name.segments.last()?.ident.name),
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns the type of the contents of a pointer or an array.
    fn element(&self, base: &Expr) -> Option<Number> {
        let ExprKind::Name(name) = &unparenthesised(base).kind else {
            return None;
        };
        let ty = &self.names.variable(self.names.meant(name)?).ty;
        let (TypeKind::Pointer(inner) | TypeKind::Array { element: inner, .. }) = &ty.kind else {
            return None;
        };
        match &inner.kind {
            TypeKind::Builtin(word) => number(word),
            TypeKind::Named(name) => fixed_width(&name.segments.last()?.ident.name),
            _ => None,
        }
    }
}

/// Returns the type of a number after promotion.
fn number(word: &str) -> Option<Number> {
    Some(match word {
        "bool" | "char" | "signed char" | "unsigned char" | "short" | "unsigned short" | "int" => {
            Number::Int
        }
        "unsigned int" => Number::Unsigned,
        "long" | "long long" => Number::Long,
        "unsigned long" | "unsigned long long" => Number::UnsignedLong,
        "float" => Number::Float,
        "double" => Number::Double,
        _ => return None,
    })
}

fn fixed_width(name: &str) -> Option<Number> {
    Some(match name {
        "int8_t" | "uint8_t" | "int16_t" | "uint16_t" | "int32_t" => Number::Int,
        "uint32_t" => Number::Unsigned,
        "int64_t" | "ptrdiff_t" | "ssize_t" | "intptr_t" => Number::Long,
        "uint64_t" | "size_t" | "uintptr_t" => Number::UnsignedLong,
        _ => return None,
    })
}

/// Stands beside any operator without parentheses.
fn is_tight(e: &Expr) -> bool {
    matches!(
        e.kind,
        ExprKind::Int(_)
            | ExprKind::Float(_)
            | ExprKind::Char(_)
            | ExprKind::Name(_)
            | ExprKind::Index { .. }
            | ExprKind::Member { .. }
            | ExprKind::Paren(_)
    )
}

/// Binds weaker than a conditional expression.
fn is_loose(e: &Expr) -> bool {
    matches!(e.kind, ExprKind::Comma(..) | ExprKind::Assign { .. })
}

/// The comments of a text, in order.
fn comments(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut at = 0usize;
    let mut gap = |from: usize, to: usize| {
        let mut rest = text.get(from..to).unwrap_or("");
        while let Some(start) = rest.find("//").into_iter().chain(rest.find("/*")).min() {
            let comment = &rest[start..];
            let length = match comment.starts_with("//") {
                true => comment.find('\n').unwrap_or(comment.len()),
                false => comment.find("*/").map_or(comment.len(), |end| end + 2),
            };
            out.push(comment[..length].trim_end().to_owned());
            rest = &comment[length..];
        }
    };
    for token in lex_fragment(text) {
        if token.kind == TokenKind::Eof {
            break;
        }
        gap(at, token.start as usize);
        at = token.end as usize;
    }
    gap(at, text.len());
    out
}
