//! The facts of a file as plain data that serialises: the command line's JSON. `JSON.md` documents it; lines and
//! columns count from 1, columns in characters.

mod costs;

use crate::derive::costs::of_function;
use crate::derive::parts;
pub use costs::CostRows;
use facts::symbolic::{Logarithm, Sum};

use super::diagnostics::Diagnostic;
use super::text::{access_class_name, access_kind_name, class_name, kind_name};
use super::{reasons, text};
use crate::config::{Level, method_name, scope_name};
use crate::db::{self, Db, File};
use crate::derive::rows;
use crate::documents::line_column;
use crate::program::{self, items_to_show};
use facts::Class;
use serde::Serialize;
use syntax::{FileId, Span};

#[derive(Serialize, Clone, PartialEq, Debug)]
pub struct Report {
    pub version: u32,
    pub file: String,
    /// The method of the analysis: `simple`, `affine1`, `affine2`, `full`.
    pub method: &'static str,
    pub problems: Vec<ProblemRow>,
    pub items: Vec<ItemRow>,
    pub diagnostics: Vec<DiagnosticRow>,
}

#[derive(Serialize, Clone, PartialEq, Debug)]
pub struct ItemRow {
    pub name: String,
    pub kind: &'static str,
    /// The file, where it is another one than the report's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    pub line: u32,
    pub assumptions: Vec<String>,
    pub problems: Vec<ProblemRow>,
    pub values: Vec<ValueRow>,
    pub branches: Vec<BranchRow>,
    pub loops: Vec<LoopRow>,
    pub accesses: Vec<AccessRow>,
    pub costs: Option<CostRows>,
}

#[derive(Serialize, Clone, PartialEq, Eq, Debug)]
pub struct ProblemRow {
    pub line: u32,
    pub column: u32,
    pub kind: &'static str,
    pub message: String,
}

#[derive(Serialize, Clone, PartialEq, Debug)]
pub struct ValueRow {
    pub name: String,
    pub line: u32,
    pub column: u32,
    pub class: &'static str,
    pub form: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub state: String,
    pub scope: Option<&'static str>,
    pub cause: Vec<CauseRow>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub assumed: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub components: Vec<ComponentRow>,
}

#[derive(Serialize, Clone, PartialEq, Eq, Debug)]
pub struct ComponentRow {
    pub name: String,
    pub class: &'static str,
    pub form: String,
}

#[derive(Serialize, Clone, PartialEq, Eq, Debug)]
pub struct CauseRow {
    pub text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    pub line: Option<u32>,
    pub column: Option<u32>,
}

#[derive(Serialize, Clone, PartialEq, Debug)]
pub struct BranchRow {
    pub line: u32,
    pub column: u32,
    pub class: &'static str,
    pub scope: Option<&'static str>,
    pub divergence_cost: Option<f64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub assumed: bool,
}

#[derive(Serialize, Clone, PartialEq, Debug)]
pub struct LoopRow {
    pub line: u32,
    pub column: u32,
    pub trip_class: &'static str,
    pub scope: Option<&'static str>,
    pub count: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_most: Option<u64>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub trips: String,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub assumed: bool,
}

#[derive(Serialize, Clone, PartialEq, Debug)]
pub struct AccessRow {
    /// The file, where it is another one than the item's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    pub line: u32,
    pub column: u32,
    pub name: String,
    pub kind: &'static str,
    pub space: &'static str,
    pub class: &'static str,
    pub bytes: u32,
    pub stride_bytes: Option<i64>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub stride: String,
    pub sectors: Option<u32>,
    pub ideal_sectors: u32,
    pub bank_ways: Option<u32>,
    /// The lanes that take part at once, where conditions leave a part of the warp.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lanes: Option<u32>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub assumed: bool,
}

#[derive(Serialize, Clone, PartialEq, Debug)]
pub struct DiagnosticRow {
    pub code: String,
    pub tier: &'static str,
    pub line: u32,
    pub column: u32,
    /// The line behind its last character.
    pub end_line: u32,
    pub end_column: u32,
    pub message: String,
    pub related: Vec<CauseRow>,
    pub fix: Option<String>,
}

/// Facts and diagnostics of a file; of one item only when its name is given.
pub fn report(db: &dyn Db, file: File, only: Option<&str>) -> Report {
    let source = program::text(file.source(db));
    let lines = db::line_index(db, file);
    let place = |offset: u32| line_column(source, lines, offset);
    let mut items = Vec::new();
    let mut ranges = Vec::new();
    for (at, item) in items_to_show(db, file) {
        let Some(of) = program::unit_file(db, file, at.file) else {
            continue;
        };
        let (source, lines) = (program::text(of.source(db)), db::line_index(db, of));
        let place = |offset: u32| line_column(source, lines, offset);
        for parts::Part {
            function,
            facts,
            rows,
            problems,
            ..
        } in parts::parts(db, item)
        {
            let full = item.name(db).as_str();
            if only.is_some_and(|only| {
                only != full && full.rsplit("::").next() != Some(only) && only != function.name
            }) {
                continue;
            }
            if at.file == FileId::MAIN {
                ranges.push(at);
            }
            let spot = |span: Span| place(at.start + span.start);
            let values = rows
                .values
                .iter()
                .filter_map(|&number| rows.occurrences.get(number as usize))
                .map(|value| {
                    let (line, column) = spot(value.span);
                    let cause = match value.worst {
                        Some(worst) if value.class > Class::Uniform => {
                            let steps =
                                program::chain(db, file, item, function, facts, worst, value.block);
                            steps
                                .iter()
                                .map(|step| {
                                    let text = reasons::clause(&step.reason);
                                    cause_row(db, file, &text, step.place)
                                })
                                .collect()
                        }
                        _ => Vec::new(),
                    };
                    ValueRow {
                        name: value.name.to_string(),
                        line,
                        column,
                        class: class_name(value.class),
                        form: value.form.to_string(),
                        state: value.state.to_string(),
                        scope: value.uniform_at.map(scope_name),
                        cause,
                        assumed: value.assumed,
                        components: value
                            .components
                            .iter()
                            .map(|component| ComponentRow {
                                name: component.name.to_string(),
                                class: class_name(component.class),
                                form: component.form.to_string(),
                            })
                            .collect(),
                    }
                });
            let values: Vec<ValueRow> = values.collect();
            let (line, _) = spot(function.name_span);
            items.push(ItemRow {
                name: function
                    .name
                    .rsplit("::")
                    .next()
                    .unwrap_or(&function.name)
                    .to_owned(),
                kind: kind_name(function.kind),
                file: (at.file != FileId::MAIN).then(|| of.path(db).display().to_string()),
                line,
                assumptions: Some(facts.options.assumption.to_string())
                    .filter(|text| !text.is_empty())
                    .into_iter()
                    .collect(),
                problems: item_problems(db, file, item, problems, at.start, rows, &place),
                values,
                branches: rows
                    .branches
                    .iter()
                    .filter(|branch| branch.kind != ir::BranchKind::Implied)
                    .map(|branch| {
                        let (line, column) = spot(branch.loc.span);
                        BranchRow {
                            line,
                            column,
                            class: class_name(branch.class),
                            scope: branch.uniform_at.map(scope_name),
                            divergence_cost: branch.divergence_cost,
                            assumed: branch.assumed,
                        }
                    })
                    .collect(),
                loops: rows
                    .loops
                    .iter()
                    .map(|it| {
                        let (line, column) = spot(it.loc.span);
                        LoopRow {
                            line,
                            column,
                            trip_class: class_name(it.trip),
                            scope: it.uniform_at.map(scope_name),
                            count: it.count,
                            at_most: it.at_most,
                            trips: it
                                .trips
                                .as_ref()
                                .map(Logarithm::to_string)
                                .unwrap_or_default(),
                            assumed: it.assumed,
                        }
                    })
                    .collect(),
                costs: of_function(db, item, function)
                    .map(|found| costs::cost_rows(found, lines, at.start, &spot)),
                accesses: accesses(db, file, item, at.file, rows),
            });
        }
    }
    let inside = |span: Span| {
        only.is_none()
            || ranges
                .iter()
                .any(|at| at.start <= span.start && span.start <= at.end)
    };
    let diagnostics = super::diagnostics::diagnostics(db, file)
        .iter()
        .filter(|diagnostic| inside(diagnostic.span))
        .map(|diagnostic| diagnostic_row(db, file, diagnostic))
        .collect();
    let problems = program::problems(db, file)
        .into_iter()
        .filter(|(problem, item)| item.is_empty() && problem.file == FileId::MAIN)
        .map(|(problem, _)| problem_row(&problem, 0, &place))
        .collect();
    Report {
        version: 1,
        file: file.path(db).display().to_string(),
        method: method_name(program::settings(db, file).analysis(db).options.method),
        problems,
        items,
        diagnostics,
    }
}

pub fn diagnostic_row(db: &dyn Db, file: File, diagnostic: &Diagnostic) -> DiagnosticRow {
    let source = program::text(file.source(db));
    let lines = db::line_index(db, file);
    let (line, column) = line_column(source, lines, diagnostic.span.start);
    let (end_line, end_column) = line_column(source, lines, diagnostic.span.end);
    DiagnosticRow {
        code: diagnostic.code.to_owned(),
        tier: level_name(diagnostic.level),
        line,
        column,
        end_line,
        end_column,
        message: diagnostic.message.clone(),
        related: diagnostic
            .related
            .iter()
            .map(|related| {
                let source = program::text(related.file.source(db));
                let (line, column) =
                    line_column(source, db::line_index(db, related.file), related.span.start);
                let file =
                    (related.file != file).then(|| related.file.path(db).display().to_string());
                CauseRow {
                    text: related.text.clone(),
                    file,
                    line: Some(line),
                    column: Some(column),
                }
            })
            .collect(),
        fix: diagnostic.fix.as_ref().map(|fix| fix.title.clone()),
    }
}

pub const fn level_name(level: Level) -> &'static str {
    match level {
        Level::Off => "off",
        Level::Hint => "hint",
        Level::Information => "information",
        Level::Warning => "warning",
        Level::Error => "error",
    }
}

/// Returns the accesses of the function itself, and those of the functions that it inlines.
fn accesses(
    db: &dyn Db,
    file: File,
    item: db::Item<'_>,
    own: FileId,
    rows: &rows::Rows,
) -> Vec<AccessRow> {
    let place = |access: &facts::AccessFact| {
        program::absolute_in(db, file, item, rows.item_of(access.loc.site), access.loc)
    };
    let mut placed: Vec<((FileId, Span), &facts::AccessFact)> = rows
        .accesses
        .iter()
        .chain(&rows.called)
        .filter_map(|access| Some((place(access)?, access)))
        .collect();
    placed.sort_by_key(|&((id, span), _)| (id != own, id, span));
    let row = |((id, span), access): ((FileId, Span), &facts::AccessFact)| {
        let of = program::unit_file(db, file, id)?;
        let (source, lines) = (program::text(of.source(db)), db::line_index(db, of));
        let (line, column) = line_column(source, lines, span.start);
        Some(AccessRow {
            file: (id != own).then(|| of.path(db).display().to_string()),
            line,
            column,
            name: access.base.to_string(),
            kind: access_kind_name(access.kind),
            space: text::space_name(access.space),
            class: access_class_name(access.class),
            bytes: access.bytes,
            stride_bytes: access.stride_bytes,
            stride: access
                .stride_sum
                .as_ref()
                .map(Sum::to_string)
                .unwrap_or_default(),
            sectors: access.sectors,
            ideal_sectors: access.ideal_sectors,
            bank_ways: access.bank_ways,
            lanes: access.partial.then_some(access.lanes),
            assumed: access.assumed,
        })
    };
    let mut rows: Vec<AccessRow> = placed.into_iter().filter_map(row).collect();
    // The components of a vector or a matrix are read one by one at one place.
    rows.dedup();
    rows
}

fn item_problems(
    db: &dyn Db,
    file: File,
    item: db::Item<'_>,
    lowering: &[syntax::Problem],
    start: u32,
    rows: &rows::Rows,
    place: &impl Fn(u32) -> (u32, u32),
) -> Vec<ProblemRow> {
    let mut problems: Vec<ProblemRow> = program::tree_problems(db, file, item)
        .iter()
        .chain(lowering)
        .map(|problem| problem_row(problem, start, place))
        .collect();
    for (span, reason) in &rows.unknowns {
        let (line, column) = place(start + span.start);
        problems.push(ProblemRow {
            line,
            column,
            kind: "unsupported",
            message: reason.clone(),
        });
    }
    problems.sort_by(|a, b| (a.line, a.column, &a.message).cmp(&(b.line, b.column, &b.message)));
    problems.dedup_by(|a, b| a.line == b.line && a.column == b.column && a.message == b.message);
    problems
}

fn problem_row(
    problem: &syntax::Problem,
    start: u32,
    place: &impl Fn(u32) -> (u32, u32),
) -> ProblemRow {
    use syntax::ProblemKind;
    let (line, column) = place(start + problem.span.start);
    let kind = match problem.kind {
        ProblemKind::Syntax => "syntax",
        ProblemKind::Unsupported => "unsupported",
        ProblemKind::MissingInclude => "missing-include",
        ProblemKind::Limit => "limit",
        ProblemKind::Note => "note",
    };
    ProblemRow {
        line,
        column,
        kind,
        message: problem.message.clone(),
    }
}

fn cause_row(db: &dyn Db, file: File, text: &str, place: Option<(FileId, Span)>) -> CauseRow {
    let Some((id, span)) = place else {
        return CauseRow {
            text: text.to_owned(),
            file: None,
            line: None,
            column: None,
        };
    };
    let Some(of) = program::unit_file(db, file, id) else {
        return CauseRow {
            text: text.to_owned(),
            file: None,
            line: None,
            column: None,
        };
    };
    let (line, column) = line_column(
        program::text(of.source(db)),
        db::line_index(db, of),
        span.start,
    );
    let name = (id != FileId::MAIN).then(|| of.path(db).display().to_string());
    CauseRow {
        text: text.to_owned(),
        file: name,
        line: Some(line),
        column: Some(column),
    }
}
