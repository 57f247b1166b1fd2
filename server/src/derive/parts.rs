//! The functions of an item with all that is known of them.

use super::rows::Rows;
use crate::db::{self, Db, Item};
use facts::Scope;
use facts::{Finding, FunctionFacts};
use ir::Function;
use syntax::{Problem, Span};

/// One function of an item with all that is known of it.
#[derive(Clone, Copy, Debug)]
pub struct Part<'db> {
    pub function: &'db Function,
    pub problems: &'db [Problem],
    pub facts: &'db FunctionFacts,
    pub rows: &'db Rows,
    pub findings: &'db [Finding],
}

/// The functions of an item.
pub fn parts<'db>(db: &'db dyn Db, item: Item<'db>) -> Vec<Part<'db>> {
    if !item.holds(db).code {
        return Vec::new();
    }
    let lowered = db::lowered(db, item);
    let (analysed, rows) = (db::facts_of(db, item), db::rows(db, item));
    let parts = lowered
        .iter()
        .zip(analysed.iter())
        .zip(rows.iter())
        .filter_map(|((lowered, analysed), rows)| {
            Some(Part {
                function: lowered.module.functions.first()?,
                problems: &lowered.problems,
                facts: analysed.functions.first()?,
                rows,
                findings: &analysed.findings,
            })
        });
    parts.collect()
}

/// The innermost function around an item-relative offset.
pub fn part_at<'db>(db: &'db dyn Db, item: Item<'db>, offset: u32) -> Option<Part<'db>> {
    let parts = parts(db, item);
    let around =
        |part: &&Part<'_>| part.function.span.start <= offset && offset <= part.function.span.end;
    parts
        .iter()
        .filter(around)
        .min_by_key(|part| part.function.span.len())
        .or(parts.first())
        .copied()
}

/// Lanes of a warp may take both sides of the branch with this condition.
pub(super) fn parts_lanes<'a>(
    parts: impl IntoIterator<Item = &'a Part<'a>>,
    condition: Span,
) -> bool {
    let branches = parts.into_iter().flat_map(|part| &part.facts.branches);
    let inside = |span: Span| condition.start <= span.start && span.end <= condition.end;
    let mut here = branches.filter(|branch| inside(branch.loc.span));
    here.any(|branch| branch.uniform_at.is_none_or(|at| at < Scope::Subgroup))
}
