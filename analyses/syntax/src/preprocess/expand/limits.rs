//! Limits on the cost of expansions and included files, and the report that a limit was met.
//!
//! The main file's macros have a budget of their own, so that no header takes it away. The tokens of headers
//! are cut if they are too many or take too many expansions: the brackets that are open there are closed,
//! macros are defined as before, and the main file goes on.

use super::{Limits, OutToken, Place, Preprocessor, problem};
use crate::c_family::token::TokenKind as T;
use crate::error::ProblemKind;
use crate::source::{FileId, Span};

/// Expansions that headers may take, in tokens, for each token that they may give: libraries choose by the compiler's
/// version with ten macros inside each other.
const HEADER_WORK: u64 = 10;

/// The budget that is left.
#[derive(Clone, Debug)]
pub(super) struct Budget {
    /// Tokens that the main file's macros may produce; `None` when they are used up.
    main: Option<u32>,
    /// Tokens that headers' macros may produce.
    work: u64,
    /// Length of the output up to which headers are read.
    longest: usize,
    /// Length of the output where the header that is read was included in the main file.
    begin: usize,
    cut: bool,
}

impl Budget {
    pub(super) fn of(limits: &Limits) -> Budget {
        Budget {
            main: Some(limits.tokens),
            work: u64::from(limits.tokens) * HEADER_WORK,
            longest: limits.tokens as usize,
            begin: 0,
            cut: false,
        }
    }
    pub(super) fn header_begins(&mut self, length: usize) {
        self.begin = length;
    }
    pub(super) fn main_is_whole(&self) -> bool {
        self.main.is_some()
    }
}

impl Preprocessor<'_> {
    fn in_header(&self) -> bool {
        self.cursors.len() > 1
    }

    /// A header is read of which no more is looked at.
    pub(super) fn is_cut(&self) -> bool {
        self.budget.cut && self.in_header()
    }

    /// Macros are left as they are here.
    pub(super) fn is_exhausted(&self) -> bool {
        match self.in_header() {
            true => self.budget.cut,
            false => self.budget.main.is_none(),
        }
    }

    /// Returns true if another token of a header is taken.
    pub(super) fn header_goes_on(&mut self) -> bool {
        if !self.budget.cut && self.output.len() >= self.budget.longest {
            self.cut_headers();
        }
        !self.budget.cut
    }

    /// Pays for an expansion. When the budget is used up, expansion ends.
    pub(super) fn charge(&mut self, tokens: usize) -> bool {
        if self.in_header() {
            match self.budget.work.checked_sub(tokens as u64) {
                Some(rest) => self.budget.work = rest,
                None => self.cut_headers(),
            }
            return !self.budget.cut;
        }
        let Some(main) = self.budget.main else {
            return false;
        };
        let rest = u32::try_from(tokens).ok().and_then(|n| main.checked_sub(n));
        self.budget.main = rest;
        if rest.is_none() {
            let place = self.cursors.first().map_or(Span::default(), |cursor| {
                let before = cursor.position.saturating_sub(1);
                let raw = cursor.lexed.tokens.get(before);
                raw.map_or(Span::default(), |raw| raw.span())
            });
            let message = format!(
                "a limit: macros of this file produce more than {} tokens; those from here on are not expanded",
                self.options.limits.tokens
            );
            self.problems
                .push(problem(ProblemKind::Limit, FileId::MAIN, place, message));
        }
        rest.is_some()
    }

    /// Takes nothing more from headers.
    fn cut_headers(&mut self) {
        if std::mem::replace(&mut self.budget.cut, true) {
            return;
        }
        let Some(cursor) = self.cursors.last() else {
            return;
        };
        let instance = cursor.instance;
        let before = cursor.position.saturating_sub(1);
        let raw = cursor.lexed.tokens.get(before);
        let span = raw.map_or(Span::default(), |raw| raw.span());
        let place = Place {
            instance,
            start: span.start,
            end: span.end,
        };
        let mut open = Vec::new();
        for token in self.output.get(self.budget.begin..).unwrap_or_default() {
            match token.kind {
                T::LParen => open.push(T::RParen),
                T::LBracket => open.push(T::RBracket),
                T::LBrace => open.push(T::RBrace),
                kind @ (T::RParen | T::RBracket | T::RBrace) => {
                    if let Some(at) = open.iter().rposition(|&closer| closer == kind) {
                        open.truncate(at);
                    }
                }
                _ => {}
            }
        }
        let mut close = |kind| {
            self.output.push(OutToken {
                place,
                kind,
                flags: 0,
                text: super::AS_WRITTEN,
            });
        };
        close(T::Semicolon);
        for kind in open.into_iter().rev() {
            close(kind);
            if kind == T::RBrace {
                close(T::Semicolon);
            }
        }
        let message = format!(
            "a limit: the headers included up to here are more than is looked at ({} tokens, {HEADER_WORK} times as many in expansions); of what follows in headers only macros are known",
            self.options.limits.tokens
        );
        self.limit_at(instance, span, message);
    }

    /// A limit that was reached while a file was read. In an included file, it is reported at the place where
    /// the main file includes it, too, which the reader sees.
    pub(in crate::preprocess) fn limit_at(&mut self, instance: u32, span: Span, message: String) {
        let file = self.file_of(instance);
        let mut main = None;
        let mut at = instance;
        while let Some((parent, directive)) = self
            .instances
            .get(at as usize)
            .and_then(|instance| instance.parent)
        {
            (at, main) = (parent, Some(directive));
        }
        if let Some(directive) = main.filter(|_| file != FileId::MAIN) {
            let path = self
                .files
                .get(file.0 as usize)
                .map_or("", |file| &file.path);
            let told = format!("in `{path}`: {message}");
            let told = problem(ProblemKind::Limit, FileId::MAIN, directive, told);
            if !self.problems.contains(&told) {
                self.problems.push(told);
            }
        }
        self.problems
            .push(problem(ProblemKind::Limit, file, span, message));
    }

    pub(super) fn limit(&mut self, place: Place, message: &str) {
        let file = self.file_of(place.instance);
        let limit = problem(ProblemKind::Limit, file, place.span(), message);
        if self.problems.last() != Some(&limit) {
            self.problems.push(limit);
        }
    }
}
