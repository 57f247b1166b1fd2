//! Innermost loops of C on a processor that issues execution sets: the interval, its bounds by unit and by recurrence, and what
//! holds it back, with what would mend it.
//!
//! ```text
//! for (i = 0; i < n; i++)     II 4 (bound 3, address units) · 2 spills · 3 stages · 4.0x over unpipelined (estimate for sc140)
//! ```
//!
//! Bounds are of the operations that selection makes of the loop; a jump back and what a spill costs are in the interval.

mod actions;
mod hover;
mod promised;

pub use actions::actions;
pub use hover::hover;
pub use promised::sentence as promised;

use super::loops::{Said, without_code};
use super::model::Note;
use super::spilled;
use super::text::counted;
use crate::config::Level;
use crate::db::{self, Db, File, Item};
use crate::derive::loops::ItemPlaced;
use crate::derive::sets::{self, HeldBack, ItemSets, of_file};
use codegen::target::sc140::emit::{LoopBounds, LoopReport, Reason, Remedy, Unpipelined};
use codegen::target::sc140::packer::Resource;
use ir::Site;
use smol_str::SmolStr;
use syntax::Span;

/// An innermost loop.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    pub item: SmolStr,
    /// Its number among those of its function.
    pub number: usize,
    /// Its head.
    pub span: Span,
    pub report: LoopReport,
    /// The places of the operations of the recurrence, in its order.
    pub critical: Vec<Option<Span>>,
    pub reasons: Vec<Said>,
    /// The change that takes each reason away, where one is known.
    pub remedies: Vec<Option<Remedy>>,
    /// The values in memory that it stores or loads.
    pub spills: Vec<SpillInLoop>,
}

/// A value in memory, as a loop accesses it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SpillInLoop {
    /// The variable, or its place in words.
    pub name: String,
    /// Cycles an iteration.
    pub cycles: u32,
    pub stores: u32,
    pub loads: u32,
}

impl Row {
    /// Returns true if it belongs to a function that was inlined, which reports the loop itself.
    #[must_use]
    pub fn is_inlined(&self) -> bool {
        self.report.head.site != Site(0)
    }

    /// Cycles an iteration that the accesses to values in memory take.
    #[must_use]
    pub fn spill_cycles(&self) -> u32 {
        self.spills.iter().map(|spill| spill.cycles).sum()
    }
}

/// The loops of a file, or of its function `name`, in the order of the text.
pub fn rows(db: &dyn Db, file: File, name: Option<&str>) -> Vec<Row> {
    let mut out = Vec::new();
    for (_, item, found) in of_file(db, file, name) {
        out.extend(resolved(db, file, item, found));
    }
    out.sort_by_key(|row| row.span.start);
    out
}

/// Computes what is told of an item.
pub fn ahead(db: &dyn Db, file: File, item: Item<'_>) {
    if !rows_of_item(db, file, item).is_empty() {
        db::promised_sets(db, item);
    }
}

/// The loops of one item.
pub fn rows_of_item(db: &dyn Db, file: File, item: Item<'_>) -> Vec<Row> {
    if !item.holds(db).code || sets::processor(db, file).is_none() {
        return Vec::new();
    }
    match db::item_sets(db, item) {
        Some(found) => resolved(db, file, item, found),
        None => Vec::new(),
    }
}

fn resolved(db: &dyn Db, file: File, item: Item<'_>, found: &ItemSets) -> Vec<Row> {
    let place = |placed: &ItemPlaced| placed.resolve(db, file, item);
    let values = spilled::of_item(db, file, item, found);
    let rows = found.loops.iter().enumerate().filter_map(|(number, row)| {
        let [head, first] = &row.places;
        let said = row.reasons.iter().map(|(reason, places)| Said {
            text: sentence(reason),
            places: places.iter().filter_map(place).collect(),
        });
        let remedies = row.reasons.iter().map(|(reason, _)| remedy(reason));
        let spills = row.spills.iter().map(|(number, cost)| SpillInLoop {
            name: values[*number].name(db, file),
            cycles: cost.cycles,
            stores: cost.stores,
            loads: cost.loads,
        });
        Some(Row {
            item: found.function.clone(),
            number,
            span: head_of(place(head), row).or_else(|| place(first))?,
            report: row.report.clone(),
            critical: row.critical.iter().map(place).collect(),
            reasons: said.collect(),
            remedies: remedies.collect(),
            spills: spills.collect(),
        })
    });
    rows.collect()
}

fn head_of(span: Option<Span>, row: &sets::LoopRow) -> Option<Span> {
    span.filter(|_| row.report.head != ir::Loc::NONE)
}

/// Functions that have no code, and why.
pub fn refusals(db: &dyn Db, file: File, name: Option<&str>) -> Vec<(Span, String)> {
    let mut out = Vec::new();
    for (at, item, found) in of_file(db, file, name) {
        for (place, reason) in &found.refused {
            let span = place.resolve(db, file, item);
            let span = span.filter(|span| !span.is_empty());
            let span = span.unwrap_or_else(|| found.name_span.shifted(at.start));
            out.push((span, reason.to_string()));
        }
    }
    out.sort_by(|left, right| (left.0.start, &left.1).cmp(&(right.0.start, &right.1)));
    out.dedup();
    out
}

/// The reason that holds a loop back, in words.
fn sentence(reason: &HeldBack) -> String {
    match reason {
        HeldBack::Unpipelined(reason) => reason.to_string(),
        HeldBack::By(Reason::Calls(_)) => {
            "a call in it: the hardware's counters belong to the callee".to_owned()
        }
        HeldBack::By(Reason::LeavesEarly(_)) => {
            "control leaves it in the middle: the hardware counts loops that end at their end"
                .to_owned()
        }
        HeldBack::By(Reason::TripCount) => {
            "the number of iterations is not known in front of it".to_owned()
        }
        HeldBack::By(Reason::MaybeTooLong) => {
            "its counter has no sign: it may execute 2^31 times or more, and the hardware counts no further"
                .to_owned()
        }
        HeldBack::By(Reason::Branches) => "its branches do not become conditions".to_owned(),
        HeldBack::By(Reason::MayMeet { bound, .. }) => format!(
            "what is stored may be what a later iteration loads: apart, the bound is {bound}"
        ),
    }
}

fn remedy(reason: &HeldBack) -> Option<Remedy> {
    match reason {
        HeldBack::By(reason) => Some(reason.remedy()),
        HeldBack::Unpipelined(reason) => reason.remedy(),
    }
}

/// The change that takes a reason away, in words.
#[must_use]
pub fn advice(remedy: Remedy) -> &'static str {
    match remedy {
        Remedy::Restrict => "`restrict` on the pointers promises that they are apart",
        Remedy::Inline => "a callee that is inlined (`static inline`) leaves the counters alone",
        Remedy::Count => {
            "a counter that moves by a constant, a power of two, to a limit that stays"
        }
        Remedy::Bound => {
            "a counter with a sign does not wrap, and `#pragma lockstep rounds(LEAST, MOST)` promises fewer"
        }
        Remedy::Split => {
            "search in blocks: test a few elements in a loop without an exit, and leave between blocks"
        }
        Remedy::Choose => "conditional expressions, minimum and maximum in the place of branches",
        Remedy::FewerValues => {
            "fewer values that live through an iteration: two loops, or constants made in it"
        }
    }
}

/// The resource of a bound, for people.
#[must_use]
pub const fn resource(resource: Resource) -> &'static str {
    match resource {
        Resource::Instructions => "instructions of a set",
        Resource::Words => "words of a set",
        Resource::DataUnits => "data units",
        Resource::AddressUnits => "address units",
        Resource::MaskUnit => "bit-mask unit",
        Resource::Flow => "changes of flow",
        Resource::Truth => "tests of a set",
    }
}

/// The bound of a loop's interval and what asks for it: `bound 3, address units`.
fn bound(bounds: &LoopBounds) -> String {
    let units = bounds.resource().map_or("nothing", resource);
    match bounds.rec_mii > bounds.res_mii() {
        true => format!("bound {}, recurrence", bounds.min_ii()),
        false => format!("bound {}, {units}", bounds.min_ii()),
    }
}

/// A loop in one line.
#[must_use]
pub fn title(row: &Row, processor: &str) -> String {
    let report = &row.report;
    let known = report
        .bounds
        .as_ref()
        .map(|bounds| format!(" ({})", bound(bounds)));
    let known = known.unwrap_or_default();
    let cycles = counted(report.interval as usize, "cycle", "cycles").unwrap_or_default();
    let of = match report.iterations {
        1 => "an iteration".to_owned(),
        several => format!("for {several} iterations"),
    };
    let mut parts = vec![match (
        report.is_pipelined(),
        report.bounds.is_none() && !report.counted,
    ) {
        (true, _) if report.iterations > 1 => format!("II {} {of}{known}", report.interval),
        (true, _) => format!("II {}{known}", report.interval),
        (false, true) => format!("at most {cycles} {of}"),
        (false, false) => format!("{cycles} {of}{known}"),
    }];
    parts.extend(counted(row.spills.len(), "spill", "spills").map(
        |spills| match row.spill_cycles() {
            0 => spills,
            cycles => format!("{spills} ({cycles} cyc/iter)"),
        },
    ));
    match report.is_pipelined() {
        true => {
            parts.extend(counted(report.stages as usize, "stage", "stages"));
            if report.unpipelined > report.interval {
                let factor = f64::from(report.unpipelined) / f64::from(report.interval);
                parts.push(format!("{factor:.1}x over unpipelined"));
            }
        }
        false if report.counted && report.is_at_bound() => {
            parts.push("at its bound".to_owned());
        }
        false if report.counted => parts.push("not pipelined".to_owned()),
        false => parts.push("jumps back".to_owned()),
    }
    format!("{} (estimate for {processor})", parts.join(" · "))
}

/// A function in one line: its loops, and what of it lives in memory.
#[must_use]
pub fn function_title(rows: &[Row], spills: &[String], processor: &str) -> String {
    let loops = counted(rows.len(), "loop", "loops").map(|loops| {
        let pipelined = rows.iter().filter(|row| row.report.is_pipelined()).count();
        format!("{loops}, {pipelined} pipelined")
    });
    let told = match spills {
        [] => "no spills".to_owned(),
        [only] => format!("1 spill ({only})"),
        several => {
            let names: Vec<&str> = several.iter().take(4).map(String::as_str).collect();
            let more = if several.len() > 4 { ", …" } else { "" };
            format!("{} spills ({}{more})", several.len(), names.join(", "))
        }
    };
    let parts: Vec<String> = loops.into_iter().chain([told]).collect();
    format!("{} · {processor}", parts.join(" · "))
}

/// The reasons why loops are not pipelined, recurrences that bound others, values in memory in loops, functions without code;
/// only where such a processor is named.
pub fn notes(db: &dyn Db, file: File) -> Vec<Note> {
    let mut out = Vec::new();
    for row in rows(db, file, None).iter().filter(|row| !row.is_inlined()) {
        let note = |code: &'static str, span: Span, message: String| Note {
            level: Level::Hint,
            other: None,
            code,
            item: row.item.to_string(),
            span,
            message,
        };
        for (said, remedy) in row.reasons.iter().zip(&row.remedies) {
            let advice = remedy.map(|remedy| format!("; {}", advice(remedy)));
            let message = format!(
                "the loop {}: {}{}",
                match (row.report.is_pipelined(), row.report.counted) {
                    (true, _) => "could be faster",
                    (false, true) => "is not pipelined",
                    (false, false) => "is not counted by the hardware",
                },
                said.text,
                advice.unwrap_or_default()
            );
            let span = said.places.first().copied().filter(|span| !span.is_empty());
            out.push(note(
                "loop-not-pipelined",
                span.unwrap_or(row.span),
                message,
            ));
        }
        if let Some(promised) = promised(db, file, row) {
            let message = format!("the loop could be faster: {promised}");
            out.push(note("loop-not-pipelined", row.span, message));
        }
        let line = |offset| db::line_index(db, file).line_column(offset).0;
        out.extend(recurrence(row, &line, &note));
    }
    out.extend(spilled::notes(db, file));
    out.extend(without_code(refusals(db, file, None)));
    out
}

/// Variables of a link of a recurrence that are named: a constant may stand for many.
const NAMED: usize = 3;
/// Links of a recurrence that are shown: what follows says no more about where it leads through.
const LINKS: usize = 12;

/// The links of a recurrence in order, as many as are shown.
fn chain(mut links: Vec<String>) -> String {
    let more = links.len().saturating_sub(LINKS);
    if more > 0 {
        links.truncate(LINKS);
        links.push(format!("{more} more"));
    }
    links.join(" → ")
}

/// The operations that a recurrence leads through, with what they compute and their lines.
pub fn recurrence_links(row: &Row, bounds: &LoopBounds, line: &dyn Fn(Span) -> u32) -> String {
    let lines: Vec<Option<u32>> = row.critical.iter().map(|it| it.map(line)).collect();
    let links = bounds.critical.iter().enumerate().map(|(at, link)| {
        let mut names: Vec<&str> = link.variables.iter().map(SmolStr::as_str).collect();
        names.dedup();
        let shown = names.iter().take(NAMED).map(|name| format!("`{name}`"));
        let more = (names.len() > NAMED).then(|| "…".to_owned());
        let shown: Vec<String> = shown.chain(more).collect();
        let of = match shown.is_empty() {
            true => String::new(),
            false => format!(" {}", shown.join(", ")),
        };
        // The line stands behind the last link of it.
        let own = lines.get(at).copied().flatten();
        let last = own.filter(|_| at + 1 == LINKS || lines.get(at + 1).copied().flatten() != own);
        let at = last.map(|line| format!(" (line {line})"));
        format!("{}{of}{}", link.mnemonic, at.unwrap_or_default())
    });
    chain(links.collect())
}

fn recurrence(
    row: &Row,
    line: &dyn Fn(u32) -> u32,
    note: &dyn Fn(&'static str, Span, String) -> Note,
) -> Vec<Note> {
    let Some(bounds) = row
        .report
        .bounds
        .as_ref()
        .filter(|bounds| bounds.rec_mii > bounds.res_mii())
    else {
        return Vec::new();
    };
    let names: Vec<String> = bounds
        .critical
        .iter()
        .map(|link| link.mnemonic.to_string())
        .collect();
    let message = format!(
        "an iteration waits here for the one before: {} takes {} cycles, the units ask for {}",
        chain(names),
        bounds.rec_mii,
        bounds.res_mii().max(1)
    );
    let mut places: Vec<Span> = row.critical.iter().flatten().copied().collect();
    places.retain(|span| !span.is_empty());
    places.sort_unstable();
    // Once a line.
    places.dedup_by_key(|span| line(span.start));
    let each = places.into_iter();
    each.map(|span| note("loop-recurrence", span, message.clone()))
        .collect()
}

/// Returns true if registers alone keep a loop from being pipelined, and the interval that it would have.
#[must_use]
pub fn wants_registers(report: &LoopReport) -> Option<u32> {
    match report.refused {
        Some(Unpipelined::Registers { interval }) => Some(interval),
        _ => None,
    }
}
