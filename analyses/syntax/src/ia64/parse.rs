//! The grammar: statements of a line, operands, expressions.

use super::scan::{Scanned, Token, Word, scan};
use super::{
    Argument, Binary, Directive, Document, Expr, Instruction, Operand, OperandKind, Statement,
    StatementKind, Unary,
};
use crate::error::Problem;
use crate::source::Span;
use smol_str::SmolStr;

/// Nesting of expressions.
const DEPTH: u32 = 100;
/// Operators of one expression in a row: a chain is a tree that is as deep as it is long.
const CHAIN: u32 = 500;
/// The most problems that are reported for one file.
const MOST: usize = 1000;

/// Never fails; text that can't be read is reported in the document's problems.
#[must_use]
pub fn parse(text: &str) -> Document {
    let Scanned {
        words,
        comments,
        problems,
    } = scan(text);
    let mut parser = Parser {
        words,
        at: 0,
        out: Document {
            statements: Vec::new(),
            comments,
            problems,
        },
    };
    parser.document();
    parser.out.problems.sort_by_key(|problem| problem.span);
    parser.out.problems.truncate(MOST);
    parser.out
}

struct Parser<'a> {
    words: Vec<Word<'a>>,
    at: usize,
    out: Document,
}

/// The error of text that could not be read; its problem is reported already.
struct Broken;

impl<'a> Parser<'a> {
    fn token(&self) -> Token<'a> {
        self.ahead(0)
    }
    fn ahead(&self, by: usize) -> Token<'a> {
        self.words
            .get(self.at + by)
            .map_or(Token::End, |word| word.token)
    }
    fn span(&self) -> Span {
        let last = self.words.len().saturating_sub(1);
        self.words[self.at.min(last)].span
    }
    /// The end of the token read last.
    fn end(&self) -> u32 {
        match self.at.checked_sub(1) {
            Some(last) => self.words[last].span.end,
            None => 0,
        }
    }
    fn next(&mut self) {
        self.at += 1;
    }
    fn is(&self, mark: &str) -> bool {
        self.token() == Token::Mark(mark)
    }
    fn eat(&mut self, mark: &str) -> bool {
        let found = self.is(mark);
        self.at += usize::from(found);
        found
    }
    fn problem(&mut self, span: Span, message: impl Into<String>) {
        if self.out.problems.len() < 4 * MOST {
            self.out.problems.push(Problem::syntax(span, message));
        }
    }
    fn push(&mut self, start: u32, kind: StatementKind) {
        let span = Span::new(start, self.end());
        self.out.statements.push(Statement { span, kind });
    }

    fn document(&mut self) {
        while self.at < self.words.len() {
            let start = self.span().start;
            match self.token() {
                Token::End => self.next(),
                Token::Hash => {
                    self.next();
                    self.push(start, StatementKind::Preprocessor);
                }
                Token::Stop => {
                    self.next();
                    self.push(start, StatementKind::Stop);
                }
                Token::Mark("{") => {
                    self.next();
                    self.push(start, StatementKind::Open);
                }
                Token::Mark("}") => {
                    self.next();
                    self.push(start, StatementKind::Close);
                }
                Token::Name(name) if is_template(name) => {
                    self.next();
                    self.push(start, StatementKind::Template(lower(name)));
                }
                Token::Name(name) | Token::Number(name) if self.ahead(1) == Token::Mark(":") => {
                    self.at += 2;
                    // Two colons make a name global.
                    self.eat(":");
                    self.push(start, StatementKind::Label(name.into()));
                }
                Token::Mark("[") => match (self.ahead(1), self.ahead(2), self.ahead(3)) {
                    (
                        Token::Name(name) | Token::Number(name),
                        Token::Mark(":"),
                        Token::Mark("]"),
                    ) => {
                        self.at += 4;
                        self.push(start, StatementKind::Tag(name.into()));
                    }
                    _ => self.unknown(start, "expected a label in brackets"),
                },
                Token::Name(name)
                    if self.ahead(1) == Token::Mark("=") && !name.starts_with('@') =>
                {
                    self.at += 2;
                    match self.expression(0) {
                        Ok(value) => {
                            self.push(
                                start,
                                StatementKind::Assign {
                                    name: name.into(),
                                    value,
                                },
                            );
                            self.finish();
                        }
                        Err(Broken) => self.skip(start),
                    }
                }
                Token::Name(name) if name.starts_with('.') || is_data(name) => {
                    self.directive(start, name);
                }
                Token::Name(_) | Token::Mark("(") => self.instruction(start),
                _ => self.unknown(start, "expected an instruction, a label or a directive"),
            }
        }
    }

    fn unknown(&mut self, start: u32, message: &str) {
        let span = self.span();
        self.problem(span, message);
        self.skip(start);
    }
    /// Skips to a token that may begin a statement.
    fn skip(&mut self, start: u32) {
        while !matches!(
            self.token(),
            Token::End | Token::Stop | Token::Hash | Token::Mark("}")
        ) {
            self.next();
        }
        if self.end() <= start {
            self.next();
        }
        self.push(start, StatementKind::Unknown);
    }
    /// Reports the text behind a whole statement on its line, and skips it.
    fn finish(&mut self) {
        if matches!(
            self.token(),
            Token::End | Token::Stop | Token::Hash | Token::Mark("{" | "}")
        ) {
            return;
        }
        let span = self.span();
        self.problem(span, "expected the end of the statement");
        self.skip(span.start);
    }

    fn directive(&mut self, start: u32, name: &str) {
        self.next();
        let name = lower(name);
        if matches!(&*name, ".macro" | ".rept" | ".irp" | ".irpc") {
            let title = match self.token() {
                Token::Name(title) => SmolStr::from(title),
                _ => name,
            };
            self.macro_body();
            self.push(start, StatementKind::Macro { name: title });
            return;
        }
        let mut arguments = Vec::new();
        while !matches!(
            self.token(),
            Token::End | Token::Stop | Token::Hash | Token::Mark("{" | "}")
        ) {
            match self.token() {
                Token::Text(text) => {
                    self.next();
                    arguments.push(Argument::Text(text.into()));
                }
                Token::Mark(",") => self.next(),
                _ => {
                    let (from, problems) = (self.at, self.out.problems.len());
                    match self.expression(0) {
                        Ok(value) => arguments.push(Argument::Expr(value)),
                        Err(Broken) => {
                            // Directives of all kinds come by: their words are kept, none is told to be wrong.
                            self.out.problems.truncate(problems);
                            self.at = from;
                            let word = match self.token() {
                                Token::Name(text) | Token::Number(text) | Token::Mark(text) => text,
                                _ => "",
                            };
                            arguments.push(Argument::Other(word.into()));
                            self.next();
                        }
                    }
                }
            }
        }
        self.push(
            start,
            StatementKind::Directive(Directive { name, arguments }),
        );
    }

    /// Skips a macro's body from behind the directive that opens it to the end of the line of the one that
    /// closes it.
    fn macro_body(&mut self) {
        let mut open = 1;
        while self.at < self.words.len() {
            if let Token::Name(name) = self.token() {
                match &*lower(name) {
                    ".macro" | ".rept" | ".irp" | ".irpc" => open += 1,
                    ".endm" | ".endr" => open -= 1,
                    _ => {}
                }
            }
            self.next();
            if open == 0 {
                return;
            }
        }
        self.at = self.words.len();
    }

    fn instruction(&mut self, start: u32) {
        let mut predicate = None;
        if self.is("(") {
            let from = self.span().start;
            self.next();
            let value = match self.expression(0) {
                Ok(value) => value,
                Err(Broken) => return self.skip(start),
            };
            if !self.eat(")") {
                return self.unknown(start, "expected `)` behind the qualifying predicate");
            }
            predicate = Some(Operand {
                span: Span::new(from, self.end()),
                kind: OperandKind::Value(value),
            });
        }
        let Token::Name(mnemonic) = self.token() else {
            return self.unknown(
                start,
                "expected an instruction behind its qualifying predicate",
            );
        };
        let mut instruction = Instruction {
            predicate,
            mnemonic: lower(mnemonic),
            mnemonic_span: self.span(),
            targets: Vec::new(),
            sources: Vec::new(),
            assigns: false,
        };
        self.next();
        while !matches!(
            self.token(),
            Token::End | Token::Stop | Token::Hash | Token::Mark("{" | "}")
        ) {
            match self.operand() {
                Ok(operand) => instruction.sources.push(operand),
                Err(Broken) => return self.skip(start),
            }
            if self.is("=") && !instruction.assigns {
                self.next();
                instruction.assigns = true;
                instruction.targets = std::mem::take(&mut instruction.sources);
            } else if !self.eat(",") {
                break;
            }
        }
        self.push(start, StatementKind::Instruction(instruction));
        self.finish();
    }

    fn operand(&mut self) -> Result<Operand, Broken> {
        let start = self.span().start;
        let kind = if self.eat("[") {
            let inner = self.expression(0)?;
            if !self.eat("]") {
                let span = self.span();
                self.problem(span, "expected `]` behind the address");
                return Err(Broken);
            }
            OperandKind::Memory(inner)
        } else {
            OperandKind::Value(self.expression(0)?)
        };
        Ok(Operand {
            span: Span::new(start, self.end()),
            kind,
        })
    }

    fn expression(&mut self, depth: u32) -> Result<Expr, Broken> {
        self.binary(0, depth)
    }

    /// Operators that bind at least so tightly.
    fn binary(&mut self, least: u8, depth: u32) -> Result<Expr, Broken> {
        let mut left = self.unary(depth)?;
        let mut links = 0;
        while let Some(op) = self.operator() {
            if op.strength() < least {
                break;
            }
            links += 1;
            if links > CHAIN {
                let span = self.span();
                self.problem(span, "the expression has too many operators");
                return Err(Broken);
            }
            self.next();
            let right = self.binary(op.strength() + 1, depth + 1)?;
            left = Expr::Binary {
                op,
                left: Box::new(left),
                right: Box::new(right),
            };
        }
        Ok(left)
    }

    fn operator(&self) -> Option<Binary> {
        let Token::Mark(mark) = self.token() else {
            return None;
        };
        Some(match mark {
            "*" => Binary::Multiply,
            "/" => Binary::Divide,
            "%" => Binary::Remainder,
            "<<" => Binary::ShiftLeft,
            ">>" => Binary::ShiftRight,
            "|" => Binary::Or,
            "&" => Binary::And,
            "^" => Binary::Xor,
            "!" => Binary::OrNot,
            "+" => Binary::Add,
            "-" => Binary::Subtract,
            "==" => Binary::Equal,
            "!=" | "<>" => Binary::Unequal,
            "<" => Binary::Less,
            ">" => Binary::Greater,
            "<=" => Binary::LessEqual,
            ">=" => Binary::GreaterEqual,
            "&&" => Binary::LogicalAnd,
            "||" => Binary::LogicalOr,
            _ => return None,
        })
    }

    fn unary(&mut self, depth: u32) -> Result<Expr, Broken> {
        if depth > DEPTH {
            let span = self.span();
            self.problem(span, "the expression is nested too deeply");
            return Err(Broken);
        }
        let op = match self.token() {
            Token::Mark("-") => Some(Unary::Minus),
            Token::Mark("~") => Some(Unary::Not),
            Token::Mark("!") => Some(Unary::Zero),
            Token::Mark("+") => None,
            _ => return self.primary(depth),
        };
        self.next();
        let of = self.unary(depth + 1)?;
        Ok(match op {
            Some(op) => Expr::Unary {
                op,
                of: Box::new(of),
            },
            None => of,
        })
    }

    fn primary(&mut self, depth: u32) -> Result<Expr, Broken> {
        match self.token() {
            Token::Number(text) => {
                self.next();
                Ok(number(text).map_or_else(|| Expr::Name(text.into()), Expr::Number))
            }
            Token::Name(name) => {
                self.next();
                if name.starts_with('@') {
                    let mut argument = None;
                    if self.eat("(") {
                        argument = Some(Box::new(self.expression(depth + 1)?));
                        self.close(")")?;
                    }
                    return Ok(Expr::Function {
                        name: lower(name),
                        argument,
                    });
                }
                // `name#` is a symbol even where a register has this name.
                if self.eat("#") {
                    return Ok(Expr::Name(SmolStr::from(format!("{name}#"))));
                }
                if self.eat("[") {
                    let index = Box::new(self.expression(depth + 1)?);
                    self.close("]")?;
                    return Ok(Expr::Index {
                        name: name.into(),
                        index,
                    });
                }
                Ok(Expr::Name(name.into()))
            }
            Token::Mark("(") => {
                self.next();
                let inner = self.expression(depth + 1)?;
                self.close(")")?;
                Ok(inner)
            }
            _ => {
                let span = self.span();
                self.problem(span, "expected an operand");
                Err(Broken)
            }
        }
    }

    fn close(&mut self, mark: &str) -> Result<(), Broken> {
        if self.eat(mark) {
            return Ok(());
        }
        let span = self.span();
        self.problem(span, format!("expected `{mark}`"));
        Err(Broken)
    }
}

fn lower(name: &str) -> SmolStr {
    SmolStr::from(name.to_ascii_lowercase())
}

fn is_template(name: &str) -> bool {
    name.len() == 4
        && matches!(
            &*name.to_ascii_lowercase(),
            ".mii" | ".mlx" | ".mmi" | ".mfi" | ".mmf" | ".mib" | ".mbb" | ".bbb" | ".mmb" | ".mfb"
        )
}

/// Directives that are written without a point.
fn is_data(name: &str) -> bool {
    matches!(
        &*name.to_ascii_lowercase(),
        "data1"
            | "data2"
            | "data4"
            | "data8"
            | "data16"
            | "real4"
            | "real8"
            | "real10"
            | "real16"
            | "string"
            | "stringz"
    )
}

/// `None`: a local label (`1b`, `2f`), or no number.
fn number(text: &str) -> Option<i64> {
    let plain = text.trim_end_matches(['u', 'U', 'l', 'L']);
    if let Some(character) = text.strip_prefix('\'') {
        let character = character.trim_end_matches('\'');
        let mut characters = character.chars();
        return match (characters.next()?, characters.next()) {
            ('\\', Some('n')) => Some(10),
            ('\\', Some('t')) => Some(9),
            ('\\', Some('r')) => Some(13),
            ('\\', Some('0')) => Some(0),
            ('\\', Some(other)) => Some(other as i64),
            (first, _) => Some(first as i64),
        };
    }
    let (digits, radix) = match plain.as_bytes() {
        [b'0', b'x' | b'X', ..] => (&plain[2..], 16),
        [b'0', b'b' | b'B', rest @ ..] if !rest.is_empty() => (&plain[2..], 2),
        [b'0', rest @ ..] if !rest.is_empty() => (&plain[1..], 8),
        _ => (plain, 10),
    };
    u64::from_str_radix(digits, radix)
        .ok()
        .map(|value| value as i64)
}
