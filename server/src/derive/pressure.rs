//! The values that fill the registers of a kernel where most is live, and the ways to do without them.
//!
//! Nothing is computed unless it is asked for: `lockstep registers`, a hover at the peak.

use super::budget::Budget;
use super::costs;
use super::figures::Figure;
use super::parts::{Part, parts};
use super::registers;
use crate::db::{self, Db, File, Item};
use crate::program::{self, is_named, items_to_show};
use codegen::machine::occupancy::Limit;
use facts::Class;
use facts::pressure::{LiveVariable, Pressure, Remedy};
use ir::{Function, FunctionKind, Loc, Site};
use smol_str::SmolStr;
use std::collections::BTreeMap;
use syntax::{FileId, LineIndex, Span};

/// Percent of the warps of a multiprocessor with which latencies are hidden as well as with all of them: no mark.
const ENOUGH: f64 = 75.0;
/// A longer expression is named by its line alone.
const LONGEST: usize = 40;

/// The pressure of one function on the registers.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    pub name: SmolStr,
    pub kind: FunctionKind,
    /// The function's name in the file.
    pub head: Span,
    /// Registers of a thread.
    pub registers: u32,
    /// The scalar registers of a warp, where the machine has them; an estimate.
    pub scalar: Option<u32>,
    /// The assembler's word for them; `None`: they are an estimate.
    pub figure: Option<Figure>,
    /// The number of these that are live at the peak; a lower bound in the order of the source.
    pub live: u32,
    /// The number of these that are uniform over the warp.
    pub uniform: u32,
    /// The line of the peak, from 1, where it is in the file.
    pub line: Option<u32>,
    pub place: Option<Span>,
    pub fit: Option<costs::Fit>,
    /// The most that a thread may have; of entry points.
    pub budget: Option<Budget>,
    pub variables: Vec<Entry>,
    /// The most registers that are live on each line, from 1.
    pub lines: BTreeMap<u32, u32>,
}

/// A variable that is live at the peak.
#[derive(Clone, PartialEq, Debug)]
pub struct Entry {
    /// The name, or the expression of a temporary.
    pub name: String,
    pub registers: u32,
    pub class: Class,
    /// Lines of the file, from 1; `None` outside of it.
    pub defined: Option<u32>,
    pub last_read: Option<u32>,
    /// True if nothing behind the peak reads it before the next iteration of a loop.
    pub next_iteration: bool,
    pub reads: u32,
    pub reads_in_loops: u32,
    pub remedy: Remedy,
}

/// The pressure of a file's kernels and stages, or of the function of a name.
pub fn rows(db: &dyn Db, file: File, name: Option<&str>) -> Vec<Row> {
    let mut out = Vec::new();
    for (place, item) in items_to_show(db, file) {
        if place.file != FileId::MAIN || !item.holds(db).code {
            continue;
        }
        for part in parts(db, item) {
            let function = part.function;
            let entry = matches!(function.kind, FunctionKind::Kernel | FunctionKind::Stage(_));
            let wanted = name.map_or(entry, |name| is_named(&function.name, name));
            if wanted && let Some(row) = row(db, file, item, &part) {
                out.push(row);
            }
        }
    }
    out
}

fn row(db: &dyn Db, file: File, item: Item<'_>, part: &Part<'_>) -> Option<Row> {
    let function = part.function;
    let at = registers::position(db, item, function)?;
    let costs = costs::costs(db, item).get(at)?.as_ref()?;
    let known = registers::of_costs(db, item, at, costs)?;
    let pressure = costs.pressure.as_ref()?;
    let here = Places::new(db, file, item, function);
    let start = item.place(db).start;
    let head = part.rows.head.map_or(function.span, |head| head.name_span);
    let mut lines: BTreeMap<u32, u32> = BTreeMap::new();
    for &(loc, live) in &pressure.places {
        if let Some(line) = here.outer(loc).map(|span| here.line(span)) {
            let known = lines.entry(line).or_default();
            *known = (*known).max(live);
        }
    }
    let place = here.outer(pressure.loc);
    let variables = here.entries(part, pressure);
    let uniform = variables
        .iter()
        .filter(|variable| variable.class == Class::Uniform);
    Some(Row {
        name: function.name.clone(),
        kind: function.kind,
        head: head.shifted(start),
        registers: known.count,
        scalar: known.scalar,
        figure: known.figure,
        live: pressure.registers,
        line: place.map(|span| here.line(span)),
        place,
        fit: known.fit,
        budget: known.budget,
        uniform: uniform.map(|it| it.registers).sum(),
        variables,
        lines,
    })
}

/// The line at which most registers are live, of a kernel whose occupancy they limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mark {
    pub place: Span,
    /// Registers that are live there.
    pub live: u32,
}

/// Returns whether registers limit the warps of a function that fit to so few that it matters.
pub fn limits(fit: &costs::Fit) -> bool {
    fit.found.limits.contains(&Limit::Registers) && fit.found.percent() <= ENOUGH
}

/// The mark of a function, if registers limit how many of its warps fit.
pub fn mark(db: &dyn Db, file: File, item: Item<'_>, function: &Function) -> Option<Mark> {
    let costs = costs::of_function(db, item, function)?;
    let pressure = costs.pressure.as_ref()?;
    if !costs.fit.as_ref().is_some_and(limits) {
        return None;
    }
    let place = Places::new(db, file, item, function).outer(pressure.loc)?;
    Some(Mark {
        place,
        live: pressure.registers,
    })
}

/// The pressure of a function of an item.
pub fn of_function(db: &dyn Db, file: File, item: Item<'_>, function: &Function) -> Option<Row> {
    let all = parts(db, item);
    let own = |part: &&Part<'_>| std::ptr::eq(part.function, function);
    row(db, file, item, all.iter().find(own)?)
}

/// A place in the function's own text, item-relative: of an inlined function, that of the call.
pub fn outer(function: &Function, mut loc: Loc) -> Option<Span> {
    while loc.site != Site(0) {
        loc = function.sites.get(loc.site)?.call;
    }
    (loc != Loc::NONE).then_some(loc.span)
}

/// Places of a function in its file.
struct Places<'a> {
    db: &'a dyn Db,
    file: File,
    item: Item<'a>,
    function: &'a Function,
    lines: &'a LineIndex,
    text: &'a str,
}

impl<'a> Places<'a> {
    fn new(db: &'a dyn Db, file: File, item: Item<'a>, function: &'a Function) -> Places<'a> {
        Places {
            db,
            file,
            item,
            function,
            lines: db::line_index(db, file),
            text: program::text(file.source(db)),
        }
    }
    fn line(&self, span: Span) -> u32 {
        self.lines.line_column(span.start).0 + 1
    }
    /// A place in the function's own text: of an inlined function, that of the call.
    fn outer(&self, loc: Loc) -> Option<Span> {
        let span = outer(self.function, loc)?;
        self.own(Loc { span, ..Loc::NONE })
    }
    /// A place in the file.
    fn own(&self, loc: Loc) -> Option<Span> {
        let (id, span) = program::absolute(self.db, self.file, self.item, self.function, loc)?;
        (id == FileId::MAIN).then_some(span)
    }
    fn entries(&self, part: &Part<'_>, pressure: &Pressure) -> Vec<Entry> {
        let found =
            registers::live_variables(self.db, self.file, self.function, part.facts, pressure)
                .unwrap_or_default();
        let peak = self.outer(pressure.loc).map(|span| self.line(span));
        found.iter().map(|it| self.entry(it, peak)).collect()
    }
    fn entry(&self, item: &LiveVariable, peak: Option<u32>) -> Entry {
        let defined = self.own(item.defined);
        let reads = item.reads.iter().filter_map(|&loc| self.outer(loc));
        let last_read = reads.max_by_key(|span| span.start);
        let line = |span: Option<Span>| span.map(|span| self.line(span));
        let name = match item.variable {
            Some(variable) => self.function.variables[variable].name.to_string(),
            None => self.expression(defined.or_else(|| self.outer(item.defined))),
        };
        Entry {
            name,
            registers: item.registers,
            class: item.class,
            defined: line(defined.or_else(|| self.outer(item.defined))),
            last_read: line(last_read),
            next_iteration: line(last_read) < peak,
            reads: item.reads.len() as u32,
            reads_in_loops: item.reads_in_loops,
            remedy: item.remedy,
        }
    }
    /// The expression that a temporary stands for.
    fn expression(&self, span: Option<Span>) -> String {
        let written = span.and_then(|span| {
            let text = self.text.get(span.start as usize..span.end as usize)?;
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            (!text.is_empty() && text.len() <= LONGEST).then_some(text)
        });
        match (written, span) {
            (Some(text), _) if text.chars().any(char::is_alphanumeric) => text,
            (Some(operator), _) => format!("a result of `{operator}`"),
            (None, Some(span)) => format!("an expression of line {}", self.line(span)),
            (None, None) => "a temporary".to_owned(),
        }
    }
}

/// The variables that are cheapest to do without, in this order, until those live at the peak fit this many
/// registers. `None`: not even all of them are enough.
pub fn cheapest(row: &Row, budget: u32) -> Option<Vec<&Entry>> {
    let mut over = row.registers.saturating_sub(budget);
    let mut all: Vec<&Entry> = row
        .variables
        .iter()
        .filter(|variable| variable.remedy != Remedy::Needed)
        .collect();
    all.sort_by_key(|it| {
        (
            it.remedy,
            it.reads_in_loops.div_ceil(it.registers.max(1)),
            it.reads.div_ceil(it.registers.max(1)),
        )
    });
    let mut out = Vec::new();
    for each in all {
        if over == 0 {
            break;
        }
        over = over.saturating_sub(each.registers);
        out.push(each);
    }
    (over == 0).then_some(out)
}
