//! Assembly for StarCore SC100 cores as their assembler takes it: execution sets in brackets or on one line, conditional
//! groups, loop directives, sections, data, expressions.
//!
//! ```text
//! _f                                   a label begins in the first column
//!  [
//!     mac      d0,d8,d4                ; instructions of one execution set, one or more a line
//!     move.4f  (r0)+,d0:d1:d2:d3
//!  ]
//!     IFT add  #1,d2    IFF clr d3     ; a set of one line
//!     LOOPSTART3
//! ```
//!
//! Every token is kept, blanks and comments among them, so that [`Document::text`] is exactly the text that
//! was read; [`Instruction`] and its parts print as the assembler reads them. The parser knows no instruction
//! but those that take no operand, which a line of several needs to be divided. Text that can't be read is
//! reported at its place, and the following text keeps its meaning. One pass over the tokens; nesting of
//! expressions is limited.
//!
//! Checked against published listings of the vendor's compiler and the manuals' excerpts, not against the assembler.

mod expression;
mod operands;
mod parse;
mod print;
mod scan;
#[cfg(test)]
mod tests;

pub use expression::{Binary, Expr, Unary};
pub use parse::parse;
pub use scan::{Token, TokenKind};

use crate::error::Problem;
use crate::source::Span;
use smol_str::SmolStr;

/// A file. Spans are absolute.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Document {
    /// All of the text, in order and without gaps.
    pub tokens: Vec<Token>,
    /// In order of the text; a label that stands within an execution set is in front of it.
    pub statements: Vec<Statement>,
    pub problems: Vec<Problem>,
}

impl Document {
    /// The comments, each with its semicolon.
    pub fn comments(&self) -> impl Iterator<Item = &Token> {
        self.tokens
            .iter()
            .filter(|token| token.kind == TokenKind::Comment)
    }
    /// The execution sets in order.
    pub fn sets(&self) -> impl Iterator<Item = (Span, &ExecutionSet)> {
        self.statements
            .iter()
            .filter_map(|statement| match &statement.kind {
                StatementKind::Set(set) => Some((statement.span, set)),
                _ => None,
            })
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Statement {
    pub span: Span,
    pub kind: StatementKind,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StatementKind {
    /// A name in the first column, or one in front of a colon; not one that `EQU` or `SET` gives a value.
    Label(SmolStr),
    Directive(Directive),
    Set(ExecutionSet),
    /// Constructs that were not understood.
    Unknown,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Directive {
    /// The name in front of it on its line: the symbol of `EQU`, the label of `TYPE`.
    pub label: Option<SmolStr>,
    /// In lower case.
    pub name: SmolStr,
    pub arguments: Vec<Argument>,
}

impl Directive {
    /// The loop that `LOOPSTART0` to `LOOPEND3` begin or end; true of the first.
    #[must_use]
    pub fn loop_edge(&self) -> Option<(bool, u8)> {
        let (start, digit) = match self.name.strip_prefix("loopstart") {
            Some(digit) => (true, digit),
            None => (false, self.name.strip_prefix("loopend")?),
        };
        match digit {
            "0" | "1" | "2" | "3" => Some((start, digit.as_bytes()[0] - b'0')),
            _ => None,
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Argument {
    Expr(Expr),
    /// A string without its quotes.
    Text(SmolStr),
    /// A token that is no expression.
    Other(SmolStr),
}

/// Instructions that issue together.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ExecutionSet {
    /// False of a set that is a line without brackets.
    pub bracketed: bool,
    /// May be empty, between brackets.
    pub instructions: Vec<Instruction>,
}

impl ExecutionSet {
    /// The instructions, each with the condition that is in force for it: one written in front of it, or before.
    pub fn conditional(&self) -> impl Iterator<Item = (Option<Condition>, &Instruction)> {
        let mut now = None;
        self.instructions.iter().map(move |instruction| {
            now = instruction.condition.or(now);
            (now, instruction)
        })
    }
}

/// The condition of a group within an execution set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Condition {
    /// `IFT`: executes if T is set.
    True,
    /// `IFF`
    False,
    /// `IFA`: executes always; ends a group.
    Always,
}

impl Condition {
    /// The condition of this name, in any case.
    #[must_use]
    pub fn of(name: &str) -> Option<Condition> {
        [Condition::True, Condition::False, Condition::Always]
            .into_iter()
            .find(|condition| condition.name().eq_ignore_ascii_case(name))
    }
    /// Returns the name that the assembler takes.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Condition::True => "ift",
            Condition::False => "iff",
            Condition::Always => "ifa",
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Instruction {
    /// From its condition, if it has one, to its last operand.
    pub span: Span,
    /// A condition that is written in front of it; it holds until the next one of the set.
    pub condition: Option<Condition>,
    /// In lower case: `move.4f`.
    pub mnemonic: SmolStr,
    pub mnemonic_span: Span,
    /// In the order of the text, sources first.
    pub operands: Vec<Operand>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Operand {
    pub span: Span,
    pub kind: OperandKind,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum OperandKind {
    /// `#5`, `#<5`, `#>label`
    Immediate { size: Option<Size>, value: Expr },
    /// A register, its negative, a label or a number.
    Value { size: Option<Size>, value: Expr },
    /// `d0:d1`, `d0.e:d1.e`; at least two.
    Group(Vec<SmolStr>),
    /// `(r0+n0)`, `(r1)+n2`, `($8a20)`
    Memory(Memory),
    /// None of them; reported in the problems.
    Unknown(SmolStr),
}

/// The length of an immediate or a displacement that the text asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Size {
    /// `<`
    Short,
    /// `>`
    Long,
}

/// An operand in parentheses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Memory {
    pub size: Option<Size>,
    /// The address between the parentheses: a register, a sum with one, or an address.
    pub address: Expr,
    pub update: Update,
}

/// The change of the address register behind an access.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Update {
    None,
    /// `(r0)+`
    Up,
    /// `(r0)-`
    Down,
    /// `(r0)+n1`
    By(SmolStr),
}
