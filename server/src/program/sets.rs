//! A file of assembly in execution sets, read as a whole.

use super::{settings, text};
use crate::db::{Db, File};
use crate::language::Language;
use codegen::target::sc140::capacity::Capacity;
use codegen::target::sc140::check::{Finding, check};
use codegen::target::sc140::layout::{Split, splits};
use codegen::target::sc140::listing::Listing;
use simulate::sc140::{Program, Source};
use syntax::Problem;
use syntax::sc140::Document;

/// A file in execution sets with the rules that it breaks; empty of another language.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SetCode {
    pub document: Document,
    pub listing: Listing,
    /// Limits of the processor that it is judged for.
    pub capacity: Option<Capacity>,
    pub findings: Vec<Finding>,
    /// Targets that two fetches hold.
    pub splits: Vec<Split>,
}

pub fn set_code(db: &dyn Db, file: File) -> SetCode {
    if file.language(db) != Language::Sc140 {
        return SetCode::default();
    }
    let document = syntax::sc140::parse(text(file.source(db)));
    let listing = Listing::of(&document);
    let table = super::set_processor(db, settings(db, file));
    let capacity = table.and_then(|table| table.sets().map(Capacity::of));
    let (findings, splits) = match &capacity {
        Some(capacity) => (check(&listing, capacity), splits(&listing, capacity)),
        None => (Vec::new(), Vec::new()),
    };
    SetCode {
        document,
        listing,
        capacity,
        findings,
        splits,
    }
}

/// Returns the text that can't be read, and the instructions of which nothing is known.
pub(super) fn problems(text: &str) -> Vec<Problem> {
    let document = syntax::sc140::parse(text);
    let source = Source {
        document: &document,
        text,
    };
    let (_, opaque) = Program::new(&[source]);
    let mut problems = document.problems;
    // An operand that can't be read is told already.
    let told: Vec<_> = problems.iter().map(|problem| problem.span).collect();
    let opaque = opaque.into_iter().filter(|opaque| {
        let span = opaque.span;
        !told
            .iter()
            .any(|told| told.start <= span.end && span.start <= told.end)
    });
    problems.extend(opaque.map(|opaque| Problem::unsupported(opaque.span, opaque.why.to_string())));
    problems
}
