//! Inlay hints of a range: what a variable is where it is written, what a branch, a loop and an access cost.
//!
//! Little by default: nothing at uniform variables, uniform branches and coalesced accesses, at inputs of stages, at
//! assignments that leave a variable what it was; one hint of a kind a line.

use super::rows::Occurrence;
use super::{own_items, text};
use crate::config::HintConfig;
use crate::db::{self, Db, File};
use facts::{AccessClass, Class};
use ir::{BindingKind, FunctionKind, VariableKind};
use rustc_hash::FxHashMap;
use syntax::Span;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hint {
    pub offset: u32,
    pub label: String,
    pub category: Category,
    /// Where a hover says more.
    pub about: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub enum Category {
    Value,
    Branch,
    Loop,
    Access,
    Zero,
    Cost,
}

pub fn hints(db: &dyn Db, file: File, range: Span, switches: &HintConfig) -> Vec<Hint> {
    let mut hints = Vec::new();
    // What is told beside the code is about lanes: a function of C has one.
    if !switches.enabled || file.language(db) == crate::program::Language::C {
        return hints;
    }
    let source = crate::program::text(file.source(db));
    let lines = db::line_index(db, file);
    for (place, item) in own_items(db, file) {
        if place.end < range.start || place.start > range.end {
            continue;
        }
        for rows in super::rows_of(db, item) {
            let wanted = |span: Span| {
                let at = span.shifted(place.start);
                at.end >= range.start && at.start <= range.end
            };
            let line_end = |span: Span| {
                let (line, _) = lines.line_column(place.start + span.end.saturating_sub(1));
                let start = lines.line_start(line);
                let code = crate::documents::line_beginning(source, lines, line);
                match code.len() < crate::documents::LONG_LINE {
                    true => start + code_length(code) as u32,
                    false => place.start + span.end,
                }
            };
            if switches.values {
                let stage = rows
                    .head
                    .as_ref()
                    .is_some_and(|head| matches!(head.kind, FunctionKind::Stage(_)));
                // What a hint said of a variable last.
                let mut said: FxHashMap<u32, (Class, &str)> = FxHashMap::default();
                for &number in &rows.values {
                    let Some(value) = rows.occurrences.get(number as usize) else {
                        continue;
                    };
                    let news = said.insert(value.variable, (value.class, value.form.as_str()))
                        != Some((value.class, value.form.as_str()));
                    // That the inputs of a stage vary is what they are for.
                    let input = stage
                        && value.variable_kind == VariableKind::Parameter
                        && value.kind == BindingKind::Declaration
                        && value.form.is_empty();
                    if news
                        && !input
                        && wanted(value.span)
                        && shown(value, switches.uniform)
                        && written(source, place.start, value)
                    {
                        let label = format!(": {}", text::class_and_form(value.class, &value.form));
                        let at = place.start + value.span.end;
                        hints.push(Hint {
                            offset: at,
                            label,
                            category: Category::Value,
                            about: place.start + value.span.start,
                        });
                    }
                }
            }
            if switches.branches {
                for branch in rows
                    .branches
                    .iter()
                    .filter(|branch| branch.class > Class::Uniform && wanted(branch.loc.span))
                {
                    if matches!(
                        branch.kind,
                        ir::BranchKind::Loop
                            | ir::BranchKind::Implied
                            | ir::BranchKind::ShortCircuit
                    ) {
                        continue;
                    }
                    if !text::is_costly(branch, switches.branch_cycles) {
                        continue;
                    }
                    hints.push(Hint {
                        offset: line_end(branch.loc.span),
                        label: text::branch_short(branch),
                        category: Category::Branch,
                        about: place.start + branch.loc.span.start,
                    });
                }
            }
            if switches.loops {
                for one in rows
                    .loops
                    .iter()
                    .filter(|one| one.trip > Class::Uniform && wanted(one.loc.span))
                {
                    hints.push(Hint {
                        offset: line_end(one.loc.span),
                        label: text::loop_short(one),
                        category: Category::Loop,
                        about: place.start + one.loc.span.start,
                    });
                }
            }
            if switches.accesses {
                for access in rows
                    .accesses
                    .iter()
                    .filter(|access| wanted(access.loc.span))
                {
                    let worth = access.bank_ways.is_some_and(|ways| ways > 1)
                        || (matches!(access.class, AccessClass::Strided | AccessClass::Gather)
                            && matches!(access.space, ir::Space::Global | ir::Space::Generic));
                    if worth {
                        hints.push(Hint {
                            offset: line_end(access.loc.span),
                            label: text::access_short(access),
                            category: Category::Access,
                            about: place.start + access.loc.span.start,
                        });
                    }
                }
            }
        }
    }
    if switches.zeros {
        let language = super::zeros::language(db, file);
        for row in super::zeros::rows(db, file) {
            let often = row.share() * 100.0 >= f64::from(switches.zero_percent);
            let there = source.get(row.span.start as usize..row.span.end as usize);
            // A definition inside a macro has the macro's place.
            let plain = there.is_some_and(|text| row.name.split('.').next() == Some(text));
            if row.zeros > 0 && often && plain {
                hints.push(Hint {
                    offset: row.span.end,
                    label: format!(" {}", super::zeros::label(row.share(), language)),
                    category: Category::Zero,
                    about: row.span.start,
                });
            }
        }
    }
    let line_end = |line: u32| {
        let start = lines.line_start(line);
        let code = crate::documents::line_beginning(source, lines, line);
        start + code_length(code) as u32
    };
    let costs = super::costs::hints(db, file, range, switches.costs, &line_end);
    hints.extend(costs);
    hints.extend(super::assembly::hints(
        db,
        file,
        range,
        switches.costs,
        &line_end,
    ));
    hints.retain(|hint| hint.offset >= range.start && hint.offset <= range.end);
    hints.sort_by(|a, b| (a.offset, a.category, &a.label).cmp(&(b.offset, b.category, &b.label)));
    hints.dedup_by(|a, b| a.offset == b.offset && a.label == b.label);
    hints
}

fn shown(value: &Occurrence, uniform: bool) -> bool {
    value.kind != BindingKind::Read
        && value.variable_kind != VariableKind::Global
        && (uniform || value.class > Class::Uniform)
}

/// Whether the name stands there as such: a use inside a macro has the macro's place.
pub fn written(source: &str, start: u32, value: &Occurrence) -> bool {
    let span = value.span.shifted(start);
    source.get(span.start as usize..span.end as usize) == Some(value.name.as_str())
}

/// Bytes of a line before trailing blanks and a line comment.
fn code_length(line: &str) -> usize {
    let code = line.find("//").map_or(line, |at| &line[..at]);
    if code.trim().is_empty() {
        line.trim_end().len()
    } else {
        code.trim_end().len()
    }
}
