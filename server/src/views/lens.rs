//! A line above each kernel: what there is to look at.

use super::{costs, loops, set_loops, text};
use crate::config::CostHints;
use crate::db::{self, Db, File, Item};
use crate::derive::accesses::is_wasteful;
use crate::derive::costs::costs as costs_of;
use crate::derive::loops::are_shown;
use crate::derive::registers::of_costs;
use crate::derive::rows::rows_of;
use crate::program::{self, own_items};
use crate::views::diagnostics;
use facts::{AccessClass, Class, Code};
use ir::FunctionKind;
use rustc_hash::FxHashSet;
use syntax::{FileId, Span};

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lens {
    pub span: Span,
    pub title: String,
    /// The function whose report it opens.
    pub item: String,
    /// Its costs and the warps that fit, where costs are shown.
    pub costs: Option<String>,
    /// Its registers against its budget, if that matters.
    pub registers: Option<String>,
}

pub fn lenses(db: &dyn Db, file: File) -> Vec<Lens> {
    let shown = diagnostics::findings(db, file);
    let least = file.settings(db).view(db).hints.branch_cycles;
    let shows_costs = file.settings(db).view(db).hints.costs != CostHints::Off;
    let mut lenses = Vec::new();
    for (place, item) in own_items(db, file) {
        for (at, rows) in rows_of(db, item).iter().enumerate() {
            let Some(head) = rows.head else { continue };
            if !matches!(head.kind, FunctionKind::Kernel | FunctionKind::Stage(_)) {
                continue;
            }
            let divergent = rows
                .branches
                .iter()
                .filter(|branch| {
                    branch.class > Class::Uniform
                        && branch.kind != ir::BranchKind::Implied
                        && text::is_costly(branch, least)
                })
                .count();
            let scattered = |class: AccessClass| {
                let all = rows.accesses.iter().chain(&rows.called);
                all.filter(|access| access.class == class && is_wasteful(access))
                    .count()
            };
            let within = |span: Span| span.start >= place.start && span.start <= place.end;
            // Also what is told of this kernel in the functions that it inlines.
            let elsewhere: FxHashSet<(Span, Code)> = rows
                .findings
                .iter()
                .filter(|finding| finding.loc.site != ir::Site(0))
                .filter_map(|finding| {
                    let callee = rows.item_of(finding.loc.site);
                    match program::absolute_in(db, file, item, callee, finding.loc)? {
                        (FileId::MAIN, span) => Some((span, finding.code)),
                        _ => None,
                    }
                })
                .collect();
            let told = |finding: &&diagnostics::Diagnostic| {
                let code = finding.finding;
                within(finding.span)
                    || code.is_some_and(|code| elsewhere.contains(&(finding.span, code)))
            };
            let found = shown.iter().filter(told).count();
            let parts = [
                text::counted(divergent, "divergent branch", "divergent branches"),
                text::counted(
                    scattered(AccessClass::Strided),
                    "strided access",
                    "strided accesses",
                ),
                text::counted(
                    scattered(AccessClass::Gather),
                    "gathering access",
                    "gathering accesses",
                ),
                text::counted(found, "finding", "findings"),
                text::counted(
                    rows.unknowns.len(),
                    "unknown construct",
                    "unknown constructs",
                ),
            ];
            let parts: Vec<String> = parts.into_iter().flatten().collect();
            let title = if parts.is_empty() {
                "no costly divergence, all accesses coalesced or uniform".to_owned()
            } else {
                parts.join(" · ")
            };
            let costs = match shows_costs {
                true => costs_of(db, item).get(at).and_then(Option::as_ref),
                false => None,
            };
            let known = costs.and_then(|costs| of_costs(db, item, at, costs));
            lenses.push(Lens {
                span: head.name_span.shifted(place.start),
                title,
                item: rows.name.to_string(),
                costs: costs.map(|costs| costs::lens(costs, known.as_ref())),
                registers: known.and_then(|known| {
                    let peak = peak(db, file, item, at);
                    super::pressure::lens(&known, peak)
                }),
            });
        }
    }
    if are_shown(db, file) {
        let processor = &db::processor(db, program::settings(db, file)).name;
        let rows = loops::rows(db, file, None);
        let own = rows.iter().filter(|row| !row.is_inlined());
        lenses.extend(own.map(|row| Lens {
            span: row.span,
            title: loops::title(&row.report, processor),
            item: row.item.to_string(),
            costs: None,
            registers: None,
        }));
        lenses.sort_by_key(|lens| lens.span.start);
    }
    if let Some(table) = crate::derive::sets::processor(db, file) {
        lenses.extend(of_sets(db, file, &table.name));
        lenses.sort_by_key(|lens| lens.span.start);
    }
    let profiled = crate::derive::zeros::stored(db, file).is_some();
    if profiled && file.settings(db).view(db).hints.frequencies {
        for (_, item) in own_items(db, file) {
            if item.holds(db).code {
                let hot = super::ways::lenses(db, file, item);
                lenses.extend(hot.into_iter().map(|(span, title)| Lens {
                    span,
                    title,
                    item: item.name(db).to_string(),
                    costs: None,
                    registers: None,
                }));
            }
        }
        lenses.sort_by_key(|lens| lens.span.start);
    }
    lenses
}

/// A line above each function and each loop of C, on a processor that issues execution sets.
fn of_sets(db: &dyn Db, file: File, processor: &str) -> Vec<Lens> {
    let mut out = Vec::new();
    for (place, item, found) in crate::derive::sets::of_file(db, file, None) {
        if !found.refused.is_empty() {
            continue;
        }
        let rows = set_loops::rows_of_item(db, file, item);
        let values = super::spilled::of_item(db, file, item, found);
        let names = values
            .iter()
            .map(|value| value.name(db, file).replace('`', ""));
        let names: Vec<String> = names.collect();
        let lens = |span: Span, title: String| Lens {
            span,
            title,
            item: found.function.to_string(),
            costs: None,
            registers: None,
        };
        let own: Vec<set_loops::Row> = rows.into_iter().filter(|row| !row.is_inlined()).collect();
        out.push(lens(
            found.name_span.shifted(place.start),
            set_loops::function_title(&own, &names, processor),
        ));
        out.extend(
            own.iter()
                .map(|row| lens(row.span, set_loops::title(row, processor))),
        );
    }
    out
}

/// The line at which most registers of a function are live, from 1.
fn peak(db: &dyn Db, file: File, item: Item<'_>, at: usize) -> Option<u32> {
    let rows = db::register_rows(db, item);
    let span = rows.iter().find(|row| row.at == at)?.peak?;
    let start = item.place(db).start + span.start;
    Some(db::line_index(db, file).line_column(start).0 + 1)
}
