//! The promises of C's author about pointers and loops, in pragmas and in a builtin of GCC's.
//!
//! ```text
//! #pragma align *x 8                   #pragma lockstep aligned(x, 8)        x = __builtin_assume_aligned(x, 8);
//! #pragma loop_count (4, 512, 4)       #pragma lockstep rounds(4, 512, 4)    as first thing of a body, or in front of the loop
//!                                      #pragma lockstep readable(x, 8)       8 bytes behind the last one may be read
//! ```
//!
//! Each becomes a `Promise` of the function with its place. A promise whose numbers are not constants, or make no sense, is left
//! out: nothing is promised then.

use super::context::Context;
use super::value::RValue;
use crate::entity::Block;
use crate::function::{Promise, PromiseKind};
use crate::types::Type;
use syntax::Span;
use syntax::c_family::ast::{Attribute, Expr, ExprKind, Stmt, StmtKind};

/// The names of attributes that the preprocessor makes of pragmas.
const ALIGNED: &str = "promise_aligned";
const READABLE: &str = "promise_readable";
const ROUNDS: &str = "promise_rounds";

impl Context<'_> {
    /// Promises of pointers in front of a statement.
    pub(super) fn promises(&mut self, attributes: &[Attribute]) {
        if !self.is_c() {
            return;
        }
        for attribute in attributes {
            let aligned = match attribute.name.as_str() {
                ALIGNED => true,
                READABLE => false,
                _ => continue,
            };
            if let [pointer, bytes] = arguments(attribute).as_slice() {
                let bytes = self.constant(bytes).map(|number| number.as_int());
                let value = self.rvalue(pointer);
                self.promise_of(&value, aligned, bytes, attribute.span);
            }
        }
    }

    /// A pointer that `__builtin_assume_aligned` is given.
    pub(super) fn assumed_aligned(&mut self, pointer: &RValue, bytes: Option<i64>, span: Span) {
        self.promise_of(pointer, true, bytes, span);
    }

    fn promise_of(&mut self, value: &RValue, aligned: bool, bytes: Option<i64>, span: Span) {
        let Some(bytes) = bytes.and_then(|bytes| u32::try_from(bytes).ok()) else {
            return;
        };
        let value = self.with_address(value.clone(), span);
        let Some(pointer) = value.first() else {
            return;
        };
        if !matches!(self.builder.function.ty(pointer), Type::Ptr(_)) {
            return;
        }
        let block = self.builder.current();
        let kind = match aligned {
            true if !bytes.is_power_of_two() => return,
            true => PromiseKind::Aligned {
                pointer,
                bytes,
                block,
            },
            false => PromiseKind::Readable {
                pointer,
                bytes,
                block,
            },
        };
        let loc = self.at(span);
        self.builder.function.promises.push(Promise { kind, loc });
    }

    /// The promise of a loop's rounds, in front of it or as the first thing in its body.
    pub(super) fn promised_rounds(&mut self, header: Block, statement: &Stmt) {
        if !self.is_c() {
            return;
        }
        let inside = body(statement).and_then(|body| match &body.kind {
            StmtKind::Block(block) => block.statements.first(),
            _ => Some(body),
        });
        let inside = inside.map_or(&[][..], |first| &first.attributes);
        let mut all = statement.attributes.iter().chain(inside);
        let Some(attribute) = all.find(|attribute| attribute.name == ROUNDS) else {
            return;
        };
        let mut numbers = Vec::new();
        for argument in arguments(attribute) {
            let number = self.constant(argument).map(|number| number.as_int());
            numbers.push(number.and_then(|number| u64::try_from(number).ok()));
        }
        let (least, most, multiple) = match *numbers.as_slice() {
            [Some(least), Some(most)] => (least, most, 1),
            [Some(least), Some(most), Some(multiple)] => (least, most, multiple.max(1)),
            // With a remainder that is none.
            [Some(least), Some(most), Some(multiple), Some(0)] => (least, most, multiple.max(1)),
            _ => return,
        };
        if least > most {
            return;
        }
        let kind = PromiseKind::Rounds {
            header,
            least,
            most,
            multiple,
        };
        let loc = self.at(attribute.span);
        self.builder.function.promises.push(Promise { kind, loc });
    }
}

fn body(statement: &Stmt) -> Option<&Stmt> {
    match &statement.kind {
        StmtKind::For { body, .. }
        | StmtKind::While { body, .. }
        | StmtKind::DoWhile { body, .. } => Some(body),
        _ => None,
    }
}

/// The arguments of an attribute: those in parentheses, or one behind the other.
fn arguments(attribute: &Attribute) -> Vec<&Expr> {
    fn parts<'e>(e: &'e Expr, out: &mut Vec<&'e Expr>) {
        match &e.kind {
            ExprKind::Paren(inner) if matches!(inner.kind, ExprKind::Comma(..)) => {
                parts(inner, out);
            }
            ExprKind::Comma(first, second) => {
                parts(first, out);
                parts(second, out);
            }
            _ => out.push(e),
        }
    }
    let mut out = Vec::new();
    attribute.arguments.iter().for_each(|e| parts(e, &mut out));
    out
}
