//! Expressions on symbols: their values, their stores, and the places that they denote.

use super::{DEPTH, Reason, Run, Value, mixed, plain, word};
use syntax::Span;
use syntax::c_family::ast::*;

impl Run<'_> {
    /// Assigns to the place that an expression denotes.
    pub(super) fn store(&mut self, left: &Expr, value: Value) -> Result<(), Reason> {
        match &left.kind {
            ExprKind::Paren(inner) => return self.store(inner, value),
            ExprKind::Name(name) => {
                if let [only] = name.segments.as_slice()
                    && let Some(known) = self.variable(&only.ident.name)
                {
                    *known = value;
                    return Ok(());
                }
            }
            // A part of a variable.
            ExprKind::Member {
                base, arrow: false, ..
            }
            | ExprKind::Index { base, .. } => {
                let place = self.address(left)?;
                let mut at = base;
                while let ExprKind::Paren(inner)
                | ExprKind::Member {
                    base: inner,
                    arrow: false,
                    ..
                }
                | ExprKind::Index { base: inner, .. } = &at.kind
                {
                    at = inner;
                }
                if let ExprKind::Name(name) = &at.kind
                    && let [only] = name.segments.as_slice()
                    && let Some(known) = self.variable(&only.ident.name)
                {
                    known.hash = mixed(&[known.hash, place, value.hash]);
                    known.truth = None;
                }
                if self.text.unit.is_own(left) {
                    return Ok(());
                }
                // It may be a pointer, and then what it points to.
                self.event(mixed(&[word("store"), place, value.hash]));
                return Ok(());
            }
            _ => {}
        }
        let place = self.address(left)?;
        self.event(mixed(&[word("store"), place, value.hash]));
        Ok(())
    }

    /// A hash of where an expression denotes something.
    fn address(&mut self, e: &Expr) -> Result<u64, Reason> {
        Ok(match &e.kind {
            ExprKind::Paren(inner) => self.address(inner)?,
            ExprKind::Name(name) => word(self.slice(name.span)),
            ExprKind::Member {
                base,
                member,
                arrow,
            } => {
                let base = match arrow {
                    true => self.expr(base, 0)?.hash,
                    false => self.address(base)?,
                };
                mixed(&[word("member"), base, word(self.slice(member.span))])
            }
            ExprKind::Index { base, indices } => {
                let mut parts = vec![word("element"), self.address(base)?];
                for index in indices {
                    parts.push(self.expr(index, 0)?.hash);
                }
                mixed(&parts)
            }
            _ => self.expr(e, 0)?.hash,
        })
    }

    pub(super) fn expr(&mut self, e: &Expr, depth: u32) -> Result<Value, Reason> {
        if depth > DEPTH {
            return Err(Reason::Deep);
        }
        let d = depth + 1;
        let tag = |kind: &str| word(kind);
        Ok(match &e.kind {
            ExprKind::Int(literal) => Value {
                hash: mixed(&[tag("int"), literal.value, word(self.slice(e.span))]),
                truth: Some(literal.value != 0),
            },
            ExprKind::Bool(value) => Value {
                hash: mixed(&[tag("bool"), u64::from(*value)]),
                truth: Some(*value),
            },
            ExprKind::Float(_)
            | ExprKind::Char(_)
            | ExprKind::String(_)
            | ExprKind::Nullptr
            | ExprKind::This
            | ExprKind::SizeofType(_)
            | ExprKind::SizeofExpr(_)
            | ExprKind::AlignofType(_)
            | ExprKind::SizeofPack(_) => plain(mixed(&[tag("leaf"), word(self.slice(e.span))])),
            ExprKind::Name(name) => match name.segments.as_slice() {
                [only] if self.variable(&only.ident.name).is_some() => self.read(&only.ident.name),
                _ => {
                    let memory = match self.text.unit.is_unchanging(name) {
                        true => 0,
                        false => self.memory,
                    };
                    plain(mixed(&[word(self.slice(name.span)), memory]))
                }
            },
            ExprKind::Paren(inner) => self.expr(inner, d)?,
            ExprKind::Unary { op, operand } => match op {
                UnaryOp::PreIncrement
                | UnaryOp::PreDecrement
                | UnaryOp::PostIncrement
                | UnaryOp::PostDecrement => {
                    let old = self.expr(operand, d)?;
                    let up = matches!(op, UnaryOp::PreIncrement | UnaryOp::PostIncrement);
                    let new = plain(mixed(&[tag("step"), u64::from(up), old.hash]));
                    self.store(operand, new)?;
                    match op {
                        UnaryOp::PreIncrement | UnaryOp::PreDecrement => new,
                        _ => old,
                    }
                }
                UnaryOp::AddressOf => plain(mixed(&[tag("address"), self.address(operand)?])),
                UnaryOp::Dereference => {
                    let at = self.expr(operand, d)?;
                    let memory = self.memory_behind(operand);
                    plain(mixed(&[tag("load"), at.hash, memory]))
                }
                UnaryOp::Not => {
                    let value = self.expr(operand, d)?;
                    Value {
                        hash: mixed(&[tag("not"), value.hash]),
                        truth: Some(!self.decide(value)),
                    }
                }
                UnaryOp::Plus | UnaryOp::Minus | UnaryOp::BitNot => {
                    let value = self.expr(operand, d)?;
                    let op = *op as u64;
                    plain(mixed(&[tag("unary"), op, value.hash]))
                }
            },
            ExprKind::Binary {
                op: BinaryOp::LogicalAnd,
                left,
                right,
                ..
            } => {
                let first = self.expr(left, d)?;
                match self.decide(first) {
                    true => self.expr(right, d)?,
                    false => Value {
                        hash: mixed(&[tag("false"), first.hash]),
                        truth: Some(false),
                    },
                }
            }
            ExprKind::Binary {
                op: BinaryOp::LogicalOr,
                left,
                right,
                ..
            } => {
                let first = self.expr(left, d)?;
                match self.decide(first) {
                    false => self.expr(right, d)?,
                    true => Value {
                        hash: mixed(&[tag("true"), first.hash]),
                        truth: Some(true),
                    },
                }
            }
            ExprKind::Binary {
                op, left, right, ..
            } => {
                let (left, right) = (self.expr(left, d)?, self.expr(right, d)?);
                plain(mixed(&[
                    tag("binary"),
                    word(op.symbol()),
                    left.hash,
                    right.hash,
                ]))
            }
            ExprKind::Assign {
                op, left, right, ..
            } => {
                let value = match op {
                    None => self.expr(right, d)?,
                    Some(op) => {
                        let old = self.expr(left, d)?;
                        let right = self.expr(right, d)?;
                        plain(mixed(&[
                            tag("binary"),
                            word(op.symbol()),
                            old.hash,
                            right.hash,
                        ]))
                    }
                };
                self.store(left, value)?;
                value
            }
            ExprKind::Conditional {
                condition,
                then,
                otherwise,
            } => {
                let value = self.expr(condition, d)?;
                match self.decide(value) {
                    true => self.expr(then, d)?,
                    false => self.expr(otherwise, d)?,
                }
            }
            ExprKind::Comma(first, second) => {
                self.expr(first, d)?;
                self.expr(second, d)?
            }
            ExprKind::Call { callee, arguments } => self.call(e, callee, arguments, d)?,
            ExprKind::Index { base, indices } => {
                let memory = self.memory_behind(base);
                let mut parts = vec![tag("load"), self.expr(base, d)?.hash];
                for index in indices {
                    parts.push(self.expr(index, d)?.hash);
                }
                parts.push(memory);
                plain(mixed(&parts))
            }
            ExprKind::Member {
                base,
                member,
                arrow,
            } => {
                let memory = match arrow {
                    true => self.memory_behind(base),
                    false => 0,
                };
                let base = self.expr(base, d)?;
                let member = word(self.slice(member.span));
                plain(mixed(&[tag("member"), base.hash, member, memory]))
            }
            ExprKind::Cast { operand, .. } => {
                let ty = word(self.slice(Span::new(e.span.start, operand.span.start)));
                let value = self.expr(operand, d)?;
                plain(mixed(&[tag("cast"), ty, value.hash]))
            }
            ExprKind::Construct { arguments, .. } => {
                let end = arguments
                    .first()
                    .map_or(e.span.end, |first| first.span.start);
                let ty = word(self.slice(Span::new(e.span.start, end.max(e.span.start))));
                let mut parts = vec![tag("construct"), ty];
                for argument in arguments {
                    parts.push(self.expr(argument, d)?.hash);
                }
                plain(mixed(&parts))
            }
            ExprKind::List(items) => {
                let mut parts = vec![tag("list")];
                for (_, item) in items {
                    parts.push(self.expr(item, d)?.hash);
                }
                plain(mixed(&parts))
            }
            ExprKind::Launch {
                callee,
                configuration,
                arguments,
            } => {
                let mut parts = vec![tag("launch"), self.memory, self.expr(callee, d)?.hash];
                for part in configuration.iter().chain(arguments) {
                    parts.push(self.expr(part, d)?.hash);
                }
                let what = mixed(&parts);
                self.event(what);
                plain(what)
            }
            // Whatever else there is may do anything.
            _ => {
                let mut parts = vec![tag("other"), word(self.slice(e.span)), self.memory];
                let values = self.scopes.iter().flatten();
                parts.extend(values.map(|(_, value)| value.hash));
                let what = mixed(&parts);
                self.event(what);
                plain(what)
            }
        })
    }

    /// The state of memory that a load through an address reads.
    fn memory_behind(&self, base: &Expr) -> u64 {
        match self.text.unit.is_read_only(base) {
            true => 0,
            false => self.memory,
        }
    }

    fn call(
        &mut self,
        e: &Expr,
        callee: &Expr,
        arguments: &[Expr],
        depth: u32,
    ) -> Result<Value, Reason> {
        let effect = self.text.unit.call(callee, arguments);
        let head = word(self.slice(Span::new(e.span.start, callee.span.end.max(e.span.start))));
        let mut parts = vec![word("call"), head];
        if let ExprKind::Member { base, .. } = &callee.kind {
            parts.push(self.expr(base, depth)?.hash);
        }
        for argument in arguments {
            parts.push(self.expr(argument, depth)?.hash);
        }
        if effect.reads_memory || !effect.harmless {
            parts.push(self.memory);
        }
        let what = mixed(&parts);
        if !effect.harmless {
            self.event(what);
        }
        for at in effect.written {
            if let Some(argument) = arguments.get(at) {
                let mut inner = argument;
                while let ExprKind::Paren(e)
                | ExprKind::Unary {
                    op: UnaryOp::AddressOf,
                    operand: e,
                } = &inner.kind
                {
                    inner = e;
                }
                if matches!(
                    inner.kind,
                    ExprKind::Name(_) | ExprKind::Member { .. } | ExprKind::Index { .. }
                ) {
                    self.store(inner, plain(mixed(&[what, at as u64])))?;
                }
            }
        }
        Ok(plain(what))
    }
}
