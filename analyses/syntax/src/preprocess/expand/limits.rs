//! What an expansion may cost, and how it is told that a limit was met.

use super::{Place, Preprocessor, problem};
use crate::error::ProblemKind;
use crate::source::{FileId, Span};

impl Preprocessor<'_> {
    /// Pays for tokens. When the budget is used up, expansion ends for the whole unit.
    pub(super) fn charge(&mut self, tokens: usize) -> bool {
        let Ok(tokens) = u32::try_from(tokens) else {
            return false;
        };
        match self.budget.checked_sub(tokens) {
            Some(rest) => {
                self.budget = rest;
                true
            }
            None => {
                self.budget = 0;
                if !self.exhausted {
                    self.exhausted = true;
                    let place = self.cursors.first().map_or(Span::default(), |cursor| {
                        cursor
                            .lexed
                            .tokens
                            .get(cursor.position.saturating_sub(1))
                            .map_or(Span::default(), |raw| raw.span())
                    });
                    self.problems.push(problem(
                        ProblemKind::Limit,
                        FileId::MAIN,
                        place,
                        "macro expansion and included files produce too many tokens; the rest is not expanded",
                    ));
                }
                false
            }
        }
    }

    /// A limit that was reached while a file was read. In an included file it is told where the main file includes it,
    /// too: that is what the reader looks at.
    pub(in crate::preprocess) fn limit_at(&mut self, instance: u32, span: Span, message: String) {
        let file = self.file_of(instance);
        let mut main = None;
        let mut at = instance;
        while let Some((parent, directive)) =
            self.instances.get(at as usize).and_then(|one| one.parent)
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
