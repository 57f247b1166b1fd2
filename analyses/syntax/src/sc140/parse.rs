//! The grammar of lines: labels, directives, execution sets.

use super::operands::Reader;
use super::scan::{Token, TokenKind, scan};
use super::{Argument, Condition, Directive, Document, Expr, Instruction, Operand, OperandKind};
use super::{ExecutionSet, Statement, StatementKind};
use crate::error::Problem;
use crate::source::Span;
use smol_str::SmolStr;

/// The most problems that are reported for one file.
const MOST: usize = 1000;

/// Names of directives; besides those that begin with a point, and `LOOPSTARTn`, `LOOPENDn`.
const DIRECTIVES: &[&str] = &[
    "align", "baddr", "bsc", "comment", "dc", "dcb", "dcl", "dcw", "define", "ds", "dsb", "dsl",
    "dsw", "else", "elseif", "endif", "endm", "endsec", "endw", "equ", "exitm", "extern", "falign",
    "global", "if", "include", "local", "macro", "note", "opt", "org", "page", "radix", "secflags",
    "section", "sectype", "set", "size", "stitle", "title", "type", "undef", "warn", "xdef",
    "xref",
];

/// Instructions without operands: a word behind them on a line is another instruction.
const BARE: &[&str] = &[
    "debug", "debugev", "di", "ei", "illegal", "lpmarka", "lpmarkb", "mark", "nop", "rte", "rted",
    "rts", "rtsd", "rtstk", "rtstkd", "stop", "syncio", "syncm", "trap", "wait",
];

/// Never fails; text that can't be read is reported in the document's problems.
#[must_use]
pub fn parse(text: &str) -> Document {
    let tokens = scan(text);
    let mut parser = Parser {
        open: None,
        condition: None,
        statements: Vec::new(),
        problems: Vec::new(),
    };
    for line in tokens.split(|token| token.kind == TokenKind::Newline) {
        parser.line(line);
    }
    parser.close_open();
    let Parser {
        statements,
        mut problems,
        ..
    } = parser;
    problems.sort_by_key(|problem| problem.span);
    problems.truncate(MOST);
    Document {
        tokens,
        statements,
        problems,
    }
}

struct Parser {
    /// The set whose bracket is open, with the bracket's place.
    open: Option<(Span, ExecutionSet)>,
    /// A condition that no instruction followed yet.
    condition: Option<(Condition, Span)>,
    statements: Vec<Statement>,
    problems: Vec<Problem>,
}

impl Parser {
    fn problem(&mut self, span: Span, message: impl Into<String>) {
        if self.problems.len() < 4 * MOST {
            self.problems.push(Problem::syntax(span, message));
        }
    }
    fn push(&mut self, span: Span, kind: StatementKind) {
        self.statements.push(Statement { span, kind });
    }

    fn line(&mut self, tokens: &[Token]) {
        let tokens = match tokens.last() {
            Some(last) if last.kind == TokenKind::Comment => &tokens[..tokens.len() - 1],
            _ => tokens,
        };
        let mut line = Reader::new(tokens);
        let mut loose: Vec<Instruction> = Vec::new();
        let label = self.label(&mut line);
        let mut first = label.is_none();
        loop {
            line.blanks();
            let Some(token) = line.token() else {
                break;
            };
            let (span, kind) = (token.span, token.kind);
            match (kind, &*token.text) {
                (TokenKind::Mark, "[") => {
                    self.flush(&mut loose);
                    self.close_open();
                    self.open = Some((
                        span,
                        ExecutionSet {
                            bracketed: true,
                            instructions: Vec::new(),
                        },
                    ));
                    line.next();
                }
                (TokenKind::Mark, "]") => {
                    line.next();
                    self.flush(&mut loose);
                    match self.open.take() {
                        Some((start, set)) => {
                            self.loose_condition();
                            self.push(start.to(span), StatementKind::Set(set));
                        }
                        None => self.problem(span, "`]` closes no execution set"),
                    }
                }
                (TokenKind::Word, name) if first && line.is_at(1, ":") => {
                    let name = SmolStr::new(name);
                    line.next();
                    line.next();
                    self.named(name, span);
                }
                (TokenKind::Word, name) if is_directive(name) => {
                    self.flush(&mut loose);
                    if let Some((bracket, _)) = &self.open {
                        let message =
                            "a directive can't stand within the execution set that begins here";
                        let bracket = *bracket;
                        self.problem(bracket, message);
                        self.close();
                    }
                    let directive = directive(&mut line, label.clone().map(|(name, _)| name));
                    let span = label.as_ref().map_or(span, |(_, place)| place.to(span));
                    let span = span.to(line.end(span));
                    self.push(span, StatementKind::Directive(directive));
                }
                (TokenKind::Word, name) => match Condition::of(name) {
                    Some(condition) => {
                        line.next();
                        self.loose_condition();
                        self.condition = Some((condition, span));
                    }
                    None => {
                        let instruction = self.instruction(&mut line);
                        match &mut self.open {
                            Some((_, set)) => set.instructions.push(instruction),
                            None => loose.push(instruction),
                        }
                    }
                },
                _ => {
                    self.problem(span, "expected an instruction, a label or a directive");
                    line.rest();
                    let span = span.to(line.end(span));
                    self.push(span, StatementKind::Unknown);
                }
            }
            first = false;
        }
        self.flush(&mut loose);
        if self.open.is_none() {
            self.loose_condition();
        }
    }

    /// A label in the first column. One that a directive on its line gives a value to is no statement of its own.
    fn label(&mut self, line: &mut Reader<'_>) -> Option<(SmolStr, Span)> {
        let token = line.token().filter(|token| token.kind == TokenKind::Word)?;
        let (name, span) = (token.text.clone(), token.span);
        line.next();
        if line.is_at(0, ":") {
            line.next();
        }
        if is_directive(&name) {
            let message =
                format!("`{name}` in the first column is a label; a directive is indented");
            self.problem(span, message);
        }
        line.blanks();
        let assigned = line.token().is_some_and(|token| {
            token.text.eq_ignore_ascii_case("equ") || token.text.eq_ignore_ascii_case("set")
        });
        if !assigned {
            self.named(name.clone(), span);
        }
        Some((name, span))
    }

    fn named(&mut self, name: SmolStr, span: Span) {
        if self.open.is_some() {
            self.problem(span, "a label can't stand within an execution set");
        }
        self.push(span, StatementKind::Label(name));
    }

    /// Makes the instructions of a line a set.
    fn flush(&mut self, loose: &mut Vec<Instruction>) {
        let (Some(first), Some(last)) = (loose.first(), loose.last()) else {
            return;
        };
        let span = first.span.to(last.span);
        self.loose_condition();
        let set = ExecutionSet {
            bracketed: false,
            instructions: std::mem::take(loose),
        };
        self.push(span, StatementKind::Set(set));
    }

    /// A set that something else begins in, or that the text ends in.
    fn close_open(&mut self) {
        if let Some((span, _)) = &self.open {
            let span = *span;
            self.problem(span, "the execution set that begins here has no `]`");
            self.close();
        }
    }
    fn close(&mut self) {
        self.loose_condition();
        if let Some((start, set)) = self.open.take() {
            let end = set.instructions.last().map_or(start, |last| last.span);
            self.push(start.to(end), StatementKind::Set(set));
        }
    }
    fn loose_condition(&mut self) {
        if let Some((condition, span)) = self.condition.take() {
            let message = format!("no instruction follows `{}`", condition.name());
            self.problem(span, message);
        }
    }

    fn instruction(&mut self, line: &mut Reader<'_>) -> Instruction {
        let mnemonic_span = line.place();
        let mnemonic = line
            .token()
            .map_or(SmolStr::default(), |token| lower(&token.text));
        line.next();
        let condition = self.condition.take();
        let mut operands: Vec<Operand> = Vec::new();
        let mut end = mnemonic_span;
        if line.at_operands(BARE.contains(&&*mnemonic)) {
            line.blanks();
            loop {
                let operand = line.operand();
                if let OperandKind::Unknown(text) = &operand.kind {
                    let message = match text.is_empty() {
                        true => "expected an operand".to_owned(),
                        false => format!("`{text}` is no operand"),
                    };
                    self.problem(operand.span, message);
                }
                end = operand.span;
                operands.push(operand);
                if !line.is_at(0, ",") {
                    break;
                }
                line.next();
                let blank = line.place();
                if line.blanks() && line.token().is_some() {
                    self.problem(blank, "operands stand without blanks between them");
                }
            }
        }
        let start = condition.map_or(mnemonic_span, |(_, span)| span);
        Instruction {
            span: start.to(end),
            condition: condition.map(|(condition, _)| condition),
            mnemonic,
            mnemonic_span,
            operands,
        }
    }
}

/// A directive and all that stands behind it on its line.
fn directive(line: &mut Reader<'_>, label: Option<SmolStr>) -> Directive {
    let name = line
        .token()
        .map_or(SmolStr::default(), |token| lower(&token.text));
    line.next();
    let mut arguments = Vec::new();
    loop {
        line.blanks();
        let Some(token) = line.token() else {
            break;
        };
        if token.kind == TokenKind::Quoted && &*name != "if" {
            arguments.push(Argument::Text(unquoted(&token.text).into()));
            line.next();
        } else if line.is_at(0, ",") {
            line.next();
        } else if let Some(value) = line.expression() {
            arguments.push(Argument::Expr(value));
        } else {
            // Directives of all kinds come by: their words are kept, none is told to be wrong.
            if let Some(token) = line.token() {
                arguments.push(Argument::Other(token.text.clone()));
            }
            line.next();
        }
    }
    Directive {
        label,
        name,
        arguments,
    }
}

fn is_directive(name: &str) -> bool {
    let name = lower(name);
    let is_loop = |prefix: &str| {
        name.strip_prefix(prefix)
            .is_some_and(|digit| matches!(digit, "0" | "1" | "2" | "3"))
    };
    name.starts_with('.')
        || DIRECTIVES.binary_search(&&*name).is_ok()
        || is_loop("loopstart")
        || is_loop("loopend")
}

pub(super) fn unquoted(text: &str) -> &str {
    let inner = &text[1..];
    let quote = &text[..1];
    inner.strip_suffix(quote).unwrap_or(inner)
}

fn lower(name: &str) -> SmolStr {
    match name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        true => name.to_ascii_lowercase().into(),
        false => name.into(),
    }
}

/// The number of a character in quotes, where there is one character.
pub(super) fn character(text: &str) -> Option<Expr> {
    let mut letters = unquoted(text).chars();
    let first = letters.next()?;
    letters
        .next()
        .is_none()
        .then_some(Expr::Number(first as i64))
}

#[cfg(test)]
mod order {
    use super::*;

    #[test]
    fn names_are_in_the_order_that_the_search_needs() {
        assert!(DIRECTIVES.is_sorted());
        assert!(BARE.is_sorted());
    }
}
