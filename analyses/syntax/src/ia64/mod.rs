//! Assembly for IA-64 as GNU `as` takes it: labels, directives, instructions with qualifying predicates, stops, bundles
//! in braces with or without their template, macros and the lines of the C preprocessor.
//!
//! ```text
//! { .mib
//! (p16) ld8 r32 = [r5], 8        predicate, mnemonic, targets = sources
//!       nop.i 0
//!       br.ctop.sptk L1 ;; }
//! ```
//!
//! Every statement keeps its place; comments are listed beside the statements. Text that can't be read is a
//! statement too, so that the following text keeps its meaning. The parser knows nothing of instructions: one
//! pass; nesting of expressions is limited. Behind it, [`names`] says which register or number an operand is
//! at its place, and [`decode`] looks an instruction up in the table of `isa`.
//!
//! Source: the manual of GNU `as`, chapter *IA-64 Dependent Features*; Intel, *Itanium Architecture Assembly Language
//! Reference Guide*.

pub mod decode;
mod expression;
pub mod names;
mod parse;
mod scan;
#[cfg(test)]
mod tests;

pub use expression::{Binary, Expr, Unary};
pub use parse::parse;

use crate::error::Problem;
use crate::source::Span;
use smol_str::SmolStr;

/// A file. Spans are absolute.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Document {
    /// In order of the text.
    pub statements: Vec<Statement>,
    /// Comments and lines that the preprocessor left, in order.
    pub comments: Vec<Span>,
    pub problems: Vec<Problem>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Statement {
    pub span: Span,
    pub kind: StatementKind,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StatementKind {
    /// `name:` or `1:`.
    Label(SmolStr),
    /// `[.L1:]`, a label of the slot that follows.
    Tag(SmolStr),
    /// `name = value`
    Assign {
        name: SmolStr,
        value: Expr,
    },
    Directive(Directive),
    /// `{`
    Open,
    /// `.mii`, in braces or for the bundle that begins here; in lower case, with the point.
    Template(SmolStr),
    /// `}`
    Close,
    /// `;;`
    Stop,
    Instruction(Instruction),
    /// A line of the C preprocessor: `#define`, `#include`.
    Preprocessor,
    /// Lines from `.macro`, `.rept`, `.irp` to their ends: text that becomes statements elsewhere.
    Macro {
        name: SmolStr,
    },
    /// Constructs that were not understood.
    Unknown,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Directive {
    /// In lower case, with the point; data (`data8`, `real4`, `stringz`) without.
    pub name: SmolStr,
    pub arguments: Vec<Argument>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Argument {
    Expr(Expr),
    /// A string without its quotes, escapes as written.
    Text(SmolStr),
    /// An operand that is no expression: `@progbits`, `"ax"` aside.
    Other(SmolStr),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Instruction {
    /// The qualifying predicate, in parentheses in front.
    pub predicate: Option<Operand>,
    /// In lower case: `ld8.acq.nt1`.
    pub mnemonic: SmolStr,
    pub mnemonic_span: Span,
    /// In front of `=`.
    pub targets: Vec<Operand>,
    /// The operands behind `=`; all operands if there is no `=`.
    pub sources: Vec<Operand>,
    /// True if there is a `=`.
    pub assigns: bool,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Operand {
    pub span: Span,
    pub kind: OperandKind,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum OperandKind {
    /// A register, a number or a symbol: which of them, the instruction and the names in force say.
    Value(Expr),
    /// `[r5]`
    Memory(Expr),
}

impl Instruction {
    /// The mnemonic up to its first point.
    #[must_use]
    pub fn base(&self) -> &str {
        self.mnemonic.split('.').next().unwrap_or("")
    }
    /// Returns the words behind the points.
    pub fn completers(&self) -> impl Iterator<Item = &str> {
        self.mnemonic.split('.').skip(1)
    }
    /// Returns true if the mnemonic has this completer.
    #[must_use]
    pub fn has(&self, completer: &str) -> bool {
        self.completers().any(|it| it == completer)
    }
}
