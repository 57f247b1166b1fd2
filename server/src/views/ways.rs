//! The number of times that the sides of branches are taken, and the hot path of a function: hints, lenses,
//! hovers.
//!
//! Only surprises are shown beside the code: a side that contains code and is seldom taken. Loops normally go
//! on, and a side without code of its own is not interesting.

use super::model::{Category, Hint};
use super::paths::{Way, way};
use super::zeros::percent;
use crate::db::{self, Db, File, Item};
use crate::derive::ways::{HotPath, SideRow};
use ir::BranchKind;
use std::fmt::Write;
use syntax::{FileId, Span};

/// Executions from which on a share says something.
const OFTEN: u64 = 100;
/// The share of a side that is seldom taken.
const SELDOM: f64 = 0.1;
/// Instructions on such a side that are worth a look.
const MUCH: usize = 6;
/// The share of a function's instructions from which on a path is its hot one.
const HOT: f64 = 0.3;
/// Lines of a path that a lens and a hover list.
const LISTED: usize = 60;

/// `taken 27 %`: of a bound `taken at most 7 %`.
fn label(row: &SideRow) -> String {
    let [least, most] = row.shares();
    match () {
        () if is_open(row) => "sides not counted apart".to_owned(),
        () if row.held.most == 0 => "never taken".to_owned(),
        () if row.held.is_exact() && row.executed.is_exact() => format!("taken {}", percent(least)),
        () if most <= SELDOM => format!("taken at most {}", percent(most)),
        () if least > 0.0 && most >= 1.0 => format!("taken at least {}", percent(least)),
        () => format!("taken {} to {}", percent(least), percent(most)),
    }
}

/// Returns true where nothing is known of a branch.
fn is_open(row: &SideRow) -> bool {
    let [least, most] = row.shares();
    least <= 0.0 && most >= 1.0
}

/// Returns true for a row that is shown beside the code.
fn matters(row: &SideRow) -> bool {
    let [least, most] = row.shares();
    let written = matches!(row.kind, BranchKind::If | BranchKind::Jump);
    let seldom =
        most <= SELDOM && row.sizes[0] >= MUCH || least >= 1.0 - SELDOM && row.sizes[1] >= MUCH;
    written && row.executed.least >= OFTEN && seldom
}

/// The hints of an item; with `all`, of every branch that was executed. `told` decides whether another hint
/// covers a place.
pub fn hints(db: &dyn Db, item: Item<'_>, all: bool, told: &dyn Fn(Span) -> bool) -> Vec<Hint> {
    let place = item.place(db);
    if place.file != FileId::MAIN {
        return Vec::new();
    }
    let rows = db::ways(db, item).sides.iter();
    let shown = rows.filter(|row| matters(row) || all && row.executed.most > 0 && !is_open(row));
    let hints = shown.map(|row| {
        let span = row.span.shifted(place.start);
        Hint {
            offset: span.end,
            label: format!(" {}", label(row)),
            category: Category::Side,
            about: span.start,
        }
    });
    hints.filter(|hint| !told(Span::at(hint.about))).collect()
}

/// Sentences about the branch at a place of an item.
pub fn hover(db: &dyn Db, item: Item<'_>, at: u32) -> Option<(Span, String)> {
    let around = |row: &&SideRow| row.span.contains(at) || row.span.end == at;
    let rows = db::ways(db, item).sides.iter().filter(around);
    let row = rows.min_by_key(|row| row.span.len())?;
    let text = |count: facts::paths::bounds::CountBounds| match (count.is_exact(), count.most) {
        (true, most) => most.to_string(),
        (false, u64::MAX) => format!("at least {}", count.least),
        (false, most) => format!("between {} and {most}", count.least),
    };
    let mut out = format!(
        "**{}** — the condition held in {} of {} executions, by the profile",
        label(row),
        text(row.held),
        text(row.executed)
    );
    if row.edges_alone {
        out += ", which counts edges alone";
    }
    if !row.exact {
        out += "; the code has changed since";
    }
    Some((row.span, out))
}

/// The lenses of an item's hot paths: the name that they stand above, the text, the function.
pub fn lenses(db: &dyn Db, file: File, item: Item<'_>) -> Vec<(Span, String)> {
    let place = item.place(db);
    if place.file != FileId::MAIN {
        return Vec::new();
    }
    let hot = db::ways(db, item).hot.iter().filter(|hot| hot.share >= HOT);
    let lens = |hot: &HotPath| {
        (
            hot.head.shifted(place.start),
            title(db, file, place.start, hot),
        )
    };
    hot.map(lens).collect()
}

/// `hot path: 5-8, 12 (73 % of what runs)`
fn title(db: &dyn Db, file: File, start: u32, hot: &HotPath) -> String {
    let lines = lines(db, file, start, hot);
    let bound = if hot.count.is_exact() {
        ""
    } else {
        "at least "
    };
    format!(
        "hot path: {lines} ({bound}{} of what runs)",
        percent(hot.share)
    )
}

fn lines(db: &dyn Db, file: File, start: u32, hot: &HotPath) -> String {
    let index = db::line_index(db, file);
    let mut lines: Vec<u32> = Vec::new();
    for place in &hot.places {
        let line = index.line_column(place.start + start).0 + 1;
        if lines.last() != Some(&line) {
            lines.push(line);
        }
    }
    lines.truncate(LISTED);
    way(Way {
        again: hot.again,
        lines: &lines,
    })
}

/// The hot path of the function whose name is at a place of an item.
pub fn head_hover(db: &dyn Db, file: File, item: Item<'_>, at: u32) -> Option<(Span, String)> {
    let start = item.place(db).start;
    let mut all = db::ways(db, item).hot.iter();
    let hot = all.find(|hot| hot.head.contains(at) || hot.head.end == at)?;
    let (count, bound) = match hot.count.is_exact() {
        true => (hot.count.least.to_string(), ""),
        false => (format!("at least {}", hot.count.least), "at least "),
    };
    let mut out = format!(
        "**hot path** {} — {count} times in {} entries by lanes; {bound}{} of the instructions that the profile counts (`lockstep paths` lists the others)",
        lines(db, file, start, hot),
        hot.entries,
        percent(hot.share)
    );
    if !hot.count.is_exact() {
        let _ = write!(out, "; edges alone were counted, so these are bounds");
    }
    if !hot.exact {
        out += "; the code has changed since";
    }
    Some((hot.head, out))
}
