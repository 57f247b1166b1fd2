//! Tokens of one item to its tree, by recursive descent with precedence climbing.
//!
//! The names that the unit declares and bounded scans over the tokens ahead (`scan`) tell whether words
//! declare or compute, and whether `<` opens arguments; nothing is parsed twice. Text that is not understood
//! becomes an unknown node with a problem, and parsing goes on behind the next `;` or `}`.
//!
//! It stops because each loop consumes a token or leaves, recursion is at most `DEPTH` deep, and chains that
//! nest without recursion (`a + b + ...`, `a.b.c...`) are at most `CHAIN` long; deeper text is skipped
//! bracket by bracket in one pass. No name is looked up here beyond the hints. Source: C++ standard, [gram];
//! the HLSL specification; CUDA C++ Programming Guide, language extensions.

mod attributes;
mod declarations;
mod declarators;
mod expressions;
mod functions;
mod hlsl;
mod items;
mod lambdas;
mod literals;
mod names;
mod primary;
mod scan;
mod skipped;
mod specifiers;
mod statements;
mod structs;
mod templates;
#[cfg(test)]
mod tests;
mod types;

use super::ast::{Ident, ItemKind, ParsedItem};
use super::dialect::Dialect;
use super::names::{TypeNames, item_name};
use super::token::{LINE_START, SPACE_BEFORE, Token, TokenKind};
use crate::error::{Problem, ProblemKind};
use crate::preprocess::ItemTokens;
use crate::source::{ItemKey, Span};
use TokenKind as T;

/// Levels of nesting that are parsed; deeper text is skipped with a problem.
const DEPTH: u32 = 256;
/// Links of an operator or postfix chain.
const CHAIN: usize = 1024;

/// Parses one item. Depends on its tokens and on the hints alone; the key's ordinal is 0.
pub fn parse_item(item: &ItemTokens, names: &TypeNames, dialect: Dialect) -> ParsedItem {
    let mut parser = Parser::new(&item.tokens, names, dialect);
    let mut kind = parser.item();
    if item
        .tokens
        .first()
        .is_some_and(|t| t.flags & crate::c_family::token::ROW_MAJOR != 0)
    {
        matrices_by_rows(&mut kind);
    }
    let mut problems = parser.problems;
    for problem in &mut problems {
        problem.file = item.file;
    }
    let key = ItemKey {
        name: item_name(item),
        ordinal: 0,
    };
    ParsedItem {
        key,
        file: item.file,
        scope: item.scope.clone(),
        kind,
        problems,
    }
}

/// Declarations behind `#pragma pack_matrix(row_major)` are as if they said so, unless they say otherwise.
fn matrices_by_rows(kind: &mut ItemKind) {
    use crate::c_family::ast::{Member, SpecifierSet, Struct};
    fn say(words: &mut SpecifierSet) {
        if !words.has(SpecifierSet::COLUMN_MAJOR) {
            words.insert(SpecifierSet::ROW_MAJOR);
        }
    }
    fn of_struct(declared: &mut Struct, depth: u32) {
        for member in &mut declared.members {
            match member {
                Member::Fields(declaration) => say(&mut declaration.specifiers.words),
                Member::Struct(inner) if depth < DEPTH => of_struct(inner, depth + 1),
                _ => {}
            }
        }
    }
    match kind {
        ItemKind::Struct(declared) => of_struct(declared, 0),
        ItemKind::Variables(declaration) => say(&mut declaration.specifiers.words),
        ItemKind::CBuffer(buffer) => {
            for declaration in &mut buffer.members {
                say(&mut declaration.specifiers.words);
            }
        }
        _ => {}
    }
}

/// The surroundings of a declaration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    Namespace,
    Class,
    Block,
    Parameter,
    /// A type without a name.
    TypeId,
}

struct Parser<'a> {
    tokens: &'a [Token],
    at: usize,
    /// The first half of the `>>` at `at` has been taken.
    half: bool,
    names: &'a TypeNames,
    dialect: Dialect,
    problems: Vec<Problem>,
    depth: u32,
    /// `>` closes an argument list here; brackets turn it off.
    angle: bool,
    /// `>>>` closes a launch configuration here.
    launch: bool,
    /// A block follows the head that is being parsed: `x {` constructs nothing here.
    head: bool,
    /// Problems for which no text was left out.
    forgiven: usize,
    /// The class whose members are being parsed.
    class: Option<smol_str::SmolStr>,
}

impl<'a> Parser<'a> {
    fn new(tokens: &'a [Token], names: &'a TypeNames, dialect: Dialect) -> Self {
        Parser {
            tokens,
            at: 0,
            half: false,
            names,
            dialect,
            problems: Vec::new(),
            depth: 0,
            angle: false,
            launch: false,
            head: false,
            forgiven: 0,
            class: None,
        }
    }

    fn peek(&self) -> T {
        if self.half {
            return T::Greater;
        }
        self.kind_at(self.at)
    }

    fn nth(&self, ahead: usize) -> T {
        if ahead == 0 {
            self.peek()
        } else {
            self.kind_at(self.at + ahead)
        }
    }

    fn kind_at(&self, at: usize) -> T {
        self.tokens.get(at).map_or(T::Eof, |token| token.kind)
    }

    fn text_at(&self, at: usize) -> &'a str {
        self.tokens.get(at).map_or("", |token| token.text.as_str())
    }

    fn text(&self) -> &'a str {
        self.text_at(self.at)
    }

    fn flag_at(&self, at: usize, flag: u8) -> bool {
        self.tokens.get(at).is_some_and(|token| token.has(flag))
    }

    fn is_word(&self, at: usize, word: &str) -> bool {
        self.tokens
            .get(at)
            .is_some_and(|token| token.kind == T::Ident && token.text == word)
    }

    fn bump(&mut self) {
        if self.half {
            self.half = false;
        }
        if self.at < self.tokens.len() {
            self.at += 1;
        }
    }

    fn eat(&mut self, kind: T) -> bool {
        let found = self.peek() == kind;
        if found {
            self.bump();
        }
        found
    }

    /// Takes `>`, or the first half of `>>`.
    fn eat_angle(&mut self) -> bool {
        if !self.half && self.peek() == T::Shr {
            self.half = true;
            return true;
        }
        self.eat(T::Greater)
    }

    fn at_angle(&self) -> bool {
        matches!(self.peek(), T::Greater | T::Shr)
    }

    fn expect(&mut self, kind: T) -> bool {
        let found = self.eat(kind);
        if !found {
            self.expected(&format!("`{}`", kind.text()));
        }
        found
    }

    fn mark(&self) -> usize {
        self.at
    }

    /// The span of the tokens from `mark` to the last one taken; empty at the next token when none was.
    fn span_from(&self, mark: usize) -> Span {
        let end = self.at + usize::from(self.half);
        match (
            self.tokens.get(mark),
            end.checked_sub(1).and_then(|last| self.tokens.get(last)),
        ) {
            (Some(first), Some(last)) if end > mark => first.span.to(last.span),
            (Some(first), _) => Span::at(first.span.start),
            (None, Some(last)) => Span::at(last.span.end),
            (None, None) => Span::default(),
        }
    }

    fn span_here(&self) -> Span {
        match (self.tokens.get(self.at), self.tokens.last()) {
            (Some(token), _) => token.span,
            (None, Some(last)) => Span::at(last.span.end),
            _ => Span::default(),
        }
    }

    /// Returns the place behind the last token taken, where something is missing.
    fn span_behind(&self) -> Span {
        self.at
            .checked_sub(1)
            .and_then(|last| self.tokens.get(last))
            .map_or(self.span_here(), |last| Span::at(last.span.end))
    }

    fn expected(&mut self, what: &str) {
        let found = self
            .tokens
            .get(self.at)
            .map_or("the end of the declaration", |token| token.spelling());
        let message = format!("expected {what}, found `{found}`");
        let span = self.span_here();
        self.report(Problem::syntax(span, message));
    }

    fn unsupported(&mut self, span: Span, message: &str) {
        self.report(Problem::unsupported(span, message));
    }

    /// One problem at a place: problems that follow from the first are not reported.
    fn report(&mut self, problem: Problem) {
        if self
            .problems
            .last()
            .is_none_or(|last| last.span.start != problem.span.start)
        {
            self.problems.push(problem);
        }
    }

    /// Goes one level deeper; false, with a problem, when that is too deep.
    fn enter(&mut self) -> bool {
        if self.depth >= DEPTH {
            self.limit("this is nested too deeply and is left out");
            return false;
        }
        self.depth += 1;
        true
    }

    fn leave(&mut self) {
        self.depth -= 1;
    }

    fn limit(&mut self, message: &str) {
        if self
            .problems
            .iter()
            .rev()
            .take(4)
            .all(|problem| problem.kind != ProblemKind::Limit)
        {
            let span = self.span_here();
            self.problems
                .push(Problem::new(ProblemKind::Limit, span, message));
        }
    }

    /// Returns the position behind the bracket that closes the one at `open`; the end of the item if none
    /// does.
    fn closing(&self, open: usize) -> usize {
        let mut depth = 0usize;
        let mut at = open;
        while let Some(token) = self.tokens.get(at) {
            match token.kind {
                T::LParen | T::LBracket | T::LBrace => depth += 1,
                T::RParen | T::RBracket | T::RBrace => depth = depth.saturating_sub(1),
                _ => {}
            }
            at += 1;
            if depth == 0 {
                break;
            }
        }
        at
    }

    /// Takes a bracket and everything up to the one that closes it.
    fn skip_brackets(&mut self) {
        self.half = false;
        self.at = self.closing(self.at);
    }

    /// Up to a `,`, `;` or closing bracket of this level.
    fn skip_expression(&mut self) {
        self.half = false;
        loop {
            match self.peek() {
                T::Eof | T::Comma | T::Semicolon | T::RParen | T::RBracket | T::RBrace => return,
                T::LParen | T::LBracket | T::LBrace => self.skip_brackets(),
                T::Greater | T::Shr if self.angle => return,
                _ => self.at += 1,
            }
        }
    }

    /// Skips to the position behind the next `;` of this level or behind a braced group that ends the
    /// statement; before a closing `}`.
    fn skip_statement(&mut self) {
        self.half = false;
        loop {
            match self.peek() {
                T::Eof | T::RBrace => return,
                T::Semicolon => {
                    self.at += 1;
                    return;
                }
                T::LBrace => {
                    self.skip_brackets();
                    if !matches!(
                        self.peek(),
                        T::Semicolon | T::Comma | T::RParen | T::Dot | T::LParen
                    ) {
                        return;
                    }
                }
                T::LParen | T::LBracket => self.skip_brackets(),
                _ => self.at += 1,
            }
        }
    }

    fn ident(&mut self) -> Option<Ident> {
        let token = self
            .tokens
            .get(self.at)
            .filter(|token| token.kind == T::Ident && !self.half)?;
        self.at += 1;
        Some(Ident {
            name: token.text.clone(),
            span: token.span,
        })
    }

    /// Parses something between brackets, where `>` is an operator again.
    fn bracketed<R>(&mut self, parse: impl FnOnce(&mut Self) -> R) -> R {
        let saved = (self.angle, self.launch, self.head);
        (self.angle, self.launch, self.head) = (false, false, false);
        let result = parse(self);
        (self.angle, self.launch, self.head) = saved;
        result
    }

    fn is_type_name(&self, name: &str) -> bool {
        self.names.is_type(name) || self.dialect.is_builtin_type(name)
    }

    fn is_template_name(&self, name: &str) -> bool {
        self.names.is_template(name) || self.dialect.is_builtin_template(name)
    }

    fn on_new_line(&self) -> bool {
        self.flag_at(self.at, LINE_START)
    }

    fn spaced_at(&self, at: usize) -> bool {
        self.flag_at(at, SPACE_BEFORE)
    }

    /// The end of a declaration or statement. A forgotten `;` at the end of a line is reported and supplied.
    fn semicolon(&mut self) {
        if self.eat(T::Semicolon) {
            return;
        }
        let span = self.span_behind();
        if self.peek() == T::Eof || self.peek() == T::RBrace || self.on_new_line() {
            self.forgive(span);
            return;
        }
        self.report(Problem::syntax(span, "expected `;`"));
        self.skip_statement();
    }

    /// A `;` is missing, and nothing else.
    fn forgive(&mut self, span: Span) {
        let before = self.problems.len();
        self.report(Problem::syntax(span, "expected `;`"));
        self.forgiven += self.problems.len() - before;
    }

    fn unknown_item(&mut self) -> ItemKind {
        let span = self.tokens.first().map_or(Span::default(), |first| {
            self.tokens
                .last()
                .map_or(first.span, |last| first.span.to(last.span))
        });
        if self.problems.is_empty() {
            self.report(Problem::syntax(span, "this declaration is not understood"));
        }
        ItemKind::Unknown { span }
    }
}
