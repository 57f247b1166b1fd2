//! The token stream of a unit, split into top-level items at semicolons and closing braces outside of all brackets.
//! Namespaces and linkage blocks are opened and closed here and flattened into the items' scopes.
//!
//! One pass; every token is looked at once, apart from bounded look-ahead. When the braces of the whole unit do not
//! balance, a declaration in column 0 ends an item that is still open, so that a broken function does not swallow the
//! rest of its file.

use super::expand::{AS_WRITTEN, Instance, OutToken};
use super::{FileId, IncludedFile, ItemTokens, Problem, Span, problem};
use crate::c_family::token::{COLUMN_ZERO, LINE_START, ROW_MAJOR, SPLICED, Token, TokenKind as T};
use crate::error::ProblemKind;
use smol_str::SmolStr;
use std::sync::Arc;

const LOOKAHEAD: usize = 96;
/// The number of items of an earlier unit among which an item is looked for.
const RESYNCHRONIZE: usize = 4;

/// The tokens of a unit and where their spellings are.
#[derive(Clone, Copy)]
pub(super) struct Stream<'a> {
    pub(super) tokens: &'a [OutToken],
    pub(super) texts: &'a [SmolStr],
    pub(super) files: &'a [IncludedFile],
    pub(super) instances: &'a [Instance],
    /// No limit left macros of the main file as they are.
    pub(super) whole: bool,
}

impl<'a> Stream<'a> {
    fn file(&self, instance: u32) -> FileId {
        self.instances
            .get(instance as usize)
            .map_or(FileId::MAIN, |instance| instance.file)
    }

    /// A token's spelling; empty for punctuation.
    pub(super) fn text(&self, token: &OutToken) -> &'a str {
        if token.text != AS_WRITTEN {
            return self
                .texts
                .get(token.text as usize)
                .map_or("", |text| text.as_str());
        }
        let spelled = matches!(
            token.kind,
            T::Ident | T::Number | T::Str | T::Char | T::Error
        );
        if !spelled && !token.kind.is_keyword() {
            return "";
        }
        let file = self.files.get(self.file(token.place.instance).0 as usize);
        let range = token.place.start as usize..token.place.end as usize;
        file.and_then(|file| file.tokens.text.get(range))
            .unwrap_or("")
    }
}

/// Items that are equal to one of `earlier` share its tokens.
pub(super) fn split(
    stream: Stream<'_>,
    earlier: &[ItemTokens],
    limit: u32,
    problems: &mut Vec<Problem>,
) -> Vec<ItemTokens> {
    let count = |kind| {
        stream
            .tokens
            .iter()
            .filter(|token| token.kind == kind)
            .count()
    };
    let mut splitter = Splitter {
        stream,
        tokens: stream.tokens,
        instances: stream.instances,
        at: 0,
        frames: Vec::new(),
        scope: Vec::new(),
        unbalanced: count(T::LBrace) != count(T::RBrace),
        items: Vec::new(),
        earlier,
        left: limit,
        row_major: false,
        told: false,
        problems,
    };
    splitter.run();
    splitter.items
}

/// An open namespace or linkage block: how many names it adds to the scope.
struct Frame {
    names: usize,
    place: usize,
}

struct Splitter<'a> {
    stream: Stream<'a>,
    tokens: &'a [OutToken],
    instances: &'a [Instance],
    at: usize,
    frames: Vec<Frame>,
    scope: Vec<SmolStr>,
    unbalanced: bool,
    items: Vec<ItemTokens>,
    /// The items of an earlier unit that are left.
    earlier: &'a [ItemTokens],
    /// Items of the main file that may still be made.
    left: u32,
    /// `#pragma pack_matrix` in force.
    row_major: bool,
    told: bool,
    problems: &'a mut Vec<Problem>,
}

impl<'a> Splitter<'a> {
    fn kind(&self, index: usize) -> T {
        self.tokens.get(index).map_or(T::Eof, |token| token.kind)
    }

    fn text(&self, index: usize) -> &'a str {
        self.tokens
            .get(index)
            .map_or("", |token| self.stream.text(token))
    }

    fn column_zero(&self, index: usize) -> bool {
        self.tokens
            .get(index)
            .is_some_and(|token| token.flags & COLUMN_ZERO != 0)
    }

    fn problem(&mut self, index: usize, message: &str) {
        if let Some(token) = self.tokens.get(index) {
            let file = self
                .instances
                .get(token.place.instance as usize)
                .map_or(FileId::MAIN, |instance| instance.file);
            // What a limit has cut may well be balanced.
            let source = self.stream.files.get(file.0 as usize);
            if !self.stream.whole || source.is_some_and(|it| it.tokens.cut.is_some()) {
                return;
            }
            self.problems.push(problem(
                ProblemKind::Syntax,
                file,
                token.place.span(),
                message,
            ));
        }
    }

    fn run(&mut self) {
        while self.at < self.tokens.len() {
            match self.kind(self.at) {
                T::Semicolon | T::PragmaEnd => self.at += 1,
                T::PragmaUnroll => {
                    if self.text(self.at) == "pack_matrix" {
                        self.row_major = self.text(self.at + 2) == "row_major";
                    }
                    while !matches!(self.kind(self.at), T::PragmaEnd | T::Eof) {
                        self.at += 1;
                    }
                }
                T::RBrace => {
                    match self.frames.pop() {
                        Some(frame) => self
                            .scope
                            .truncate(self.scope.len().saturating_sub(frame.names)),
                        None => self.problem(self.at, "this brace closes nothing"),
                    }
                    self.at += 1;
                }
                T::Namespace | T::Inline if self.namespace() => {}
                T::Extern
                    if self.kind(self.at + 1) == T::Str && self.kind(self.at + 2) == T::LBrace =>
                {
                    self.frames.push(Frame {
                        names: 0,
                        place: self.at,
                    });
                    self.at += 3;
                }
                _ => {
                    let start = self.at;
                    let end = self.item_end().max(start + 1);
                    self.at = end;
                    self.push(start, end);
                }
            }
        }
        while let Some(frame) = self.frames.pop() {
            self.problem(frame.place, "this block is never closed");
        }
    }

    /// Opens a namespace; false when this is no namespace with a body.
    fn namespace(&mut self) -> bool {
        let mut at = self.at + usize::from(self.kind(self.at) == T::Inline);
        if self.kind(at) != T::Namespace {
            return false;
        }
        at += 1;
        let mut names: Vec<SmolStr> = Vec::new();
        let limit = at + LOOKAHEAD;
        loop {
            match self.kind(at) {
                T::LBrace => break,
                T::Ident if self.text(at) == "__attribute__" || self.kind(at + 1) == T::LParen => {
                    at = self.balanced(at + 1)
                }
                T::Ident => {
                    names.push(SmolStr::new(self.text(at)));
                    at += 1;
                }
                T::ColonColon | T::Inline => at += 1,
                T::LBracket => at = self.balanced(at),
                _ => return false,
            }
            if at > limit {
                return false;
            }
        }
        if names.is_empty() {
            names.push(SmolStr::default());
        }
        self.frames.push(Frame {
            names: names.len(),
            place: self.at,
        });
        self.scope.append(&mut names);
        self.at = at + 1;
        true
    }

    /// Returns true if a namespace with a body or a linkage block begins here.
    fn opens_block(&self, at: usize) -> bool {
        if self.kind(at) == T::Extern {
            return self.kind(at + 1) == T::Str && self.kind(at + 2) == T::LBrace;
        }
        let named = |kind| matches!(kind, T::Ident | T::ColonColon | T::Inline);
        let mut behind = at + 1..at + LOOKAHEAD;
        let end = behind.find(|&at| !named(self.kind(at)));
        self.kind(at) == T::Namespace && end.is_some_and(|at| self.kind(at) == T::LBrace)
    }

    /// Returns the position behind the bracket that closes the one at `open`; at most a look-ahead further.
    fn balanced(&self, open: usize) -> usize {
        let mut depth = 0usize;
        for index in open..open + LOOKAHEAD {
            match self.kind(index) {
                T::LParen | T::LBracket | T::LBrace => depth += 1,
                T::RParen | T::RBracket | T::RBrace => depth = depth.saturating_sub(1),
                T::Eof => return index,
                _ => {}
            }
            if depth == 0 {
                return index + 1;
            }
        }
        open + LOOKAHEAD
    }

    /// Returns the position behind the angle bracket that closes the one at `open`, or `open + 1` if none
    /// does.
    fn angles(&self, open: usize) -> usize {
        let (mut depth, mut nested) = (0i32, 0i32);
        for index in open..open + 512 {
            match self.kind(index) {
                T::LParen | T::LBracket | T::LBrace => nested += 1,
                T::RParen | T::RBracket | T::RBrace => nested -= 1,
                T::Less if nested == 0 => depth += 1,
                T::Greater if nested == 0 => depth -= 1,
                T::Shr if nested == 0 => depth -= 2,
                T::Eof | T::Semicolon => return open + 1,
                _ => {}
            }
            if depth <= 0 {
                return index + 1;
            }
            if nested < 0 {
                return open + 1;
            }
        }
        open + 1
    }

    /// Returns the position behind the last token of the item that begins at `self.at`.
    fn item_end(&mut self) -> usize {
        let start = self.at;
        let mut at = start;
        let mut head = Head::default();
        let mut first = start;
        while self.kind(first) == T::LBracket {
            first = self.balanced(first);
        }
        let (mut parentheses, mut braces) = (0u32, 0u32);
        loop {
            let kind = self.kind(at);
            if kind == T::Eof {
                if braces > 0 {
                    self.problem(start, "the braces of this declaration do not balance");
                }
                return at;
            }
            if braces > 0 {
                if self.unbalanced && at > start && self.column_zero(at) && self.begins_item(at) {
                    self.problem(start, "the braces of this declaration do not balance");
                    return at;
                }
                match kind {
                    T::LBrace => braces += 1,
                    T::RBrace => {
                        braces -= 1;
                        let cut = self.column_zero(at)
                            || self.column_zero(at + 1) && self.begins_item(at + 1);
                        if braces == 0 && (parentheses == 0 || cut) {
                            parentheses = 0;
                            at += 1;
                            if self.ends_after_brace(at, &head) {
                                return at;
                            }
                            continue;
                        }
                    }
                    _ => {}
                }
                at += 1;
                continue;
            }
            match kind {
                T::Semicolon => return at + 1,
                T::RBrace => return at,
                T::LBrace => {
                    braces = 1;
                }
                T::LParen | T::LBracket => {
                    if parentheses == 0 {
                        head.attribute = at > start && self.attribute_word(at - 1);
                    }
                    parentheses += 1;
                }
                T::RParen | T::RBracket => {
                    parentheses = parentheses.saturating_sub(1);
                    if parentheses == 0 && kind == T::RParen {
                        head.parameters |= !head.assigned && !head.attribute;
                        if self.macro_line_ends(start, at) {
                            return at + 1;
                        }
                    }
                }
                _ if parentheses > 0 => {}
                T::Template if self.kind(at + 1) == T::Less => {
                    at = self.angles(at + 1);
                    continue;
                }
                T::Operator => {
                    // The symbol of an operator is no assignment, comma or bracket of the declaration.
                    at += 1;
                    if self.kind(at) == T::LParen && self.kind(at + 1) == T::RParen {
                        at += 1;
                    }
                }
                // In front of it stands the name of a macro that is not known: what it opens is no part of this.
                T::Namespace | T::Extern
                    if at > start && self.kind(start) == T::Ident && self.opens_block(at) =>
                {
                    return at;
                }
                T::Equal => head.assigned = true,
                T::Colon => head.colon = true,
                T::Struct | T::Class | T::Union | T::Enum | T::Interface => head.tag = true,
                T::Less if self.annotation(at) => {
                    while !matches!(self.kind(at), T::Greater | T::Eof | T::RBrace) {
                        at += 1;
                    }
                    continue;
                }
                T::Ident if at == first => {
                    head.ends_at_brace =
                        matches!(self.text(at), "cbuffer" | "tbuffer" | "namespace")
                            || self.text(at).starts_with("technique");
                }
                _ if self.unbalanced
                    && at > start
                    && self.column_zero(at)
                    && kind == T::Namespace =>
                {
                    return at;
                }
                _ => {}
            }
            at += 1;
        }
    }

    /// Returns true if an item is over behind a closing brace at its outermost level.
    fn ends_after_brace(&self, at: usize, head: &Head) -> bool {
        let next = self.kind(at);
        if next == T::Semicolon {
            return head.ends_at_brace && !head.assigned;
        }
        if head.ends_at_brace {
            return true;
        }
        if head.assigned {
            // An initializer goes on to its semicolon; one that was forgotten ends where a declaration begins.
            return self.column_zero(at) && self.begins_item(at);
        }
        if head.tag && !head.parameters {
            return self.column_zero(at)
                && !matches!(next, T::Semicolon | T::Comma | T::Star | T::LBracket)
                && self.begins_item(at)
                || next == T::RBrace;
        }
        if head.parameters {
            // The braces of a constructor's initializers are followed by a comma or the body.
            return !(matches!(next, T::Comma | T::LBrace) && head.colon || next == T::Catch);
        }
        // `T x{1};` and what is not understood.
        next == T::RBrace || self.column_zero(at) && self.begins_item(at)
    }

    /// A word whose parentheses are no parameters.
    fn attribute_word(&self, at: usize) -> bool {
        let text = self.text(at);
        match self.kind(at) {
            T::Alignas | T::Decltype | T::Noexcept | T::Explicit => true,
            _ => text.starts_with("__") && text.ends_with("__") || text == "__declspec",
        }
    }

    /// `< string UIName = ...`: an annotation of effect files behind a variable's name.
    fn annotation(&self, at: usize) -> bool {
        matches!(self.kind(at + 1), T::Ident | T::Float | T::Int | T::Bool)
            && self.kind(at + 2) == T::Ident
            && self.kind(at + 3) == T::Equal
    }

    /// `MACRO(...)` alone on its lines, followed by a declaration in column 0.
    fn macro_line_ends(&self, start: usize, close: usize) -> bool {
        self.kind(start) == T::Ident
            && self.kind(start + 1) == T::LParen
            && !self.text(start).starts_with("__")
            && self.column_zero(close + 1)
            && self.column_zero(start)
            && !matches!(
                self.kind(close + 1),
                T::LBrace | T::Colon | T::Semicolon | T::Comma | T::Equal
            )
            && self.balanced(start + 1) == close + 1
    }

    /// Returns true if a declaration begins here: a word that only begins declarations, or a head that leads to a body.
    fn begins_item(&self, at: usize) -> bool {
        match self.kind(at) {
            T::Template | T::Namespace | T::Typedef | T::Using | T::Extern => return true,
            T::Struct | T::Class | T::Union | T::Enum | T::Interface => {
                return self.kind(at + 1) == T::Ident
                    && (matches!(self.kind(at + 2), T::LBrace | T::Colon | T::Semicolon)
                        || self.begins_function(at));
            }
            T::Ident
                if matches!(
                    self.text(at),
                    "__global__"
                        | "__device__"
                        | "__host__"
                        | "cbuffer"
                        | "tbuffer"
                        | "groupshared"
                        | "__constant__"
                ) =>
            {
                return true;
            }
            T::LBracket => {
                return self.kind(at + 1) == T::Ident
                    && matches!(
                        self.text(at + 1),
                        "numthreads"
                            | "shader"
                            | "domain"
                            | "maxvertexcount"
                            | "RootSignature"
                            | "earlydepthstencil"
                    );
            }
            T::For
            | T::While
            | T::If
            | T::Switch
            | T::Return
            | T::Else
            | T::Do
            | T::Case
            | T::Default
            | T::Break
            | T::Continue => return false,
            _ => {}
        }
        self.begins_function(at)
    }

    /// `words name ( ... ) {` within a bounded look-ahead, with a word in front of the name.
    fn begins_function(&self, at: usize) -> bool {
        let mut words = 0;
        let mut index = at;
        while index < at + 24 {
            match self.kind(index) {
                T::LParen => break,
                T::Ident => words += 1,
                T::Less => {
                    index = self.angles(index);
                    continue;
                }
                T::Star | T::And | T::ColonColon | T::Tilde => {}
                kind if kind.is_keyword()
                    && !matches!(
                        kind,
                        T::Return | T::Else | T::Case | T::Goto | T::New | T::Delete | T::Throw
                    ) =>
                {
                    words += 1
                }
                _ => return false,
            }
            index += 1;
        }
        if words < 2 || self.kind(index) != T::LParen {
            return false;
        }
        let mut after = self.balanced(index);
        for _ in 0..8 {
            match self.kind(after) {
                T::LBrace => return true,
                T::Const | T::Noexcept | T::Ident | T::Colon => after += 1,
                _ => return false,
            }
        }
        false
    }

    fn push(&mut self, start: usize, end: usize) {
        let tokens = &self.tokens[start..end.min(self.tokens.len())];
        let Some(home) = tokens.first().map(|token| token.place.instance) else {
            return;
        };
        let base = tokens[0].place.start;
        let file = self
            .instances
            .get(home as usize)
            .map_or(FileId::MAIN, |instance| instance.file);
        if file == FileId::MAIN {
            let Some(left) = self.left.checked_sub(1) else {
                if !std::mem::replace(&mut self.told, true) {
                    let message =
                        "a file has too many declarations; from here on they are not looked at";
                    let place = tokens[0].place.span();
                    let limit = problem(ProblemKind::Limit, file, place, message);
                    self.problems.push(limit);
                }
                return;
            };
            self.left = left;
        }
        let is_same = |old: &ItemTokens, made: &mut dyn Iterator<Item = (&str, Span, T, u8)>| {
            old.tokens.len() == tokens.len()
                && old.tokens.iter().zip(made).all(|(old, new)| {
                    (old.span, old.kind, old.flags) == (new.1, new.2, new.3) && old.text == new.0
                })
        };
        // An edit changes, adds or removes a few items; the others come in the same order.
        let known = (0..self.earlier.len().min(RESYNCHRONIZE))
            .find(|&ahead| is_same(&self.earlier[ahead], &mut self.made(tokens, home)));
        let tokens: Arc<[Token]> = match known {
            Some(ahead) => Arc::clone(&self.earlier[ahead].tokens),
            None => self
                .made(tokens, home)
                .map(|(text, span, kind, flags)| Token {
                    text: SmolStr::new(text),
                    span,
                    kind,
                    flags,
                })
                .collect(),
        };
        let ends = tokens.iter().map(|token| base + token.span.end);
        let end = ends.max().unwrap_or(base);
        if let Some(ahead) = known {
            self.earlier = &self.earlier[ahead + 1..];
        }
        self.items.push(ItemTokens {
            file,
            start: base,
            end,
            scope: self.scope.clone(),
            tokens,
        });
    }

    /// One token of an item after the other as it will be: its spelling, relative place, kind and flags.
    fn made(
        &self,
        tokens: &'a [OutToken],
        home: u32,
    ) -> impl Iterator<Item = (&'a str, Span, T, u8)> {
        let mut last = tokens[0].place.span();
        let base = last.start;
        let first = if self.row_major { ROW_MAJOR } else { 0 };
        tokens.iter().enumerate().map(move |(number, token)| {
            let at_home = token.place.instance == home;
            let place = match at_home {
                true => token.place.span(),
                false => self.at_home(token, home).unwrap_or(last),
            };
            last = place;
            let lines = if at_home { 0 } else { LINE_START | COLUMN_ZERO };
            let own = token.flags & !(super::expand::NO_EXPAND | SPLICED | ROW_MAJOR | lines);
            let flags = if number == 0 { own | first } else { own };
            let text = self.stream.text(token);
            (text, place.relative_to(base), token.kind, flags)
        })
    }

    /// The directive in the instance `home` through which a token's file was entered.
    fn at_home(&self, token: &OutToken, home: u32) -> Option<Span> {
        let mut instance = token.place.instance;
        while let Some((parent, directive)) = self
            .instances
            .get(instance as usize)
            .and_then(|instance| instance.parent)
        {
            if parent == home {
                return Some(directive);
            }
            instance = parent;
        }
        None
    }
}

/// The parts of an item seen so far outside of all brackets.
#[derive(Default)]
struct Head {
    parameters: bool,
    /// The parentheses that are open belong to an attribute.
    attribute: bool,
    assigned: bool,
    colon: bool,
    tag: bool,
    ends_at_brace: bool,
}
