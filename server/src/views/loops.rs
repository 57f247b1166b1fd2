//! Innermost loops as a processor with explicit groups executes them: the bounds of the initiation interval,
//! the one reached, and the reasons why it is not smaller.
//!
//! ```text
//! for (i = 0; i < n; i++)     II 2 = ResMII 2 (M units) · RecMII 1 · 4 stages · 5.5x over unpipelined (estimate for itanium2)
//! ```
//!
//! Bounds are of the operations that selection makes of the loop, with caches that hit; the factor compares with a schedule
//! of one iteration after the other.

mod actions;

pub use actions::actions;

use super::model::Note;
use super::text::counted;
use crate::config::Level;
use crate::db::{self, Db, File, Item};
use crate::derive::loops::{HeldBack, ItemLoops, ItemPlaced, are_shown, of_file};
use codegen::refusal::Refusal;
use codegen::target::ia64::pipeline::{Disambiguation, LoopReport, Method, Prefetched, Reason};
use ir::Site;
use smol_str::SmolStr;
use syntax::Span;

/// A reason that holds a loop back, with places of the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Said {
    pub text: String,
    pub places: Vec<Span>,
}

/// An innermost loop.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    pub item: SmolStr,
    /// Its head.
    pub span: Span,
    pub report: LoopReport,
    /// The places of the operations of the critical cycle, in the order of the cycle.
    pub critical: Vec<Span>,
    pub reasons: Vec<Said>,
    /// The reasons that would hold it back without a test in front of it, or loads above stores.
    pub overcome: Vec<Said>,
}

impl Row {
    /// Returns whether it belongs to a function that was inlined, which reports the loop itself.
    #[must_use]
    pub fn is_inlined(&self) -> bool {
        self.report.head.site != Site(0)
    }
}

/// The loops of a file, or of its function `name`, in the order of the text; those of inlined functions once for each caller.
pub fn rows(db: &dyn Db, file: File, name: Option<&str>) -> Vec<Row> {
    let mut out = Vec::new();
    for (_, item, loops) in of_file(db, file, name) {
        out.extend(resolved(db, file, item, loops));
    }
    out.sort_by_key(|row| (row.span.start, row.report.header));
    out
}

/// The loops of one item.
pub fn rows_of_item(db: &dyn Db, file: File, item: Item<'_>) -> Vec<Row> {
    if !item.holds(db).code {
        return Vec::new();
    }
    match db::item_loops(db, item) {
        Some(loops) => resolved(db, file, item, loops),
        None => Vec::new(),
    }
}

fn resolved(db: &dyn Db, file: File, item: Item<'_>, loops: &ItemLoops) -> Vec<Row> {
    let all = |places: &[ItemPlaced]| -> Vec<Span> {
        let each = places.iter();
        each.filter_map(|it| it.resolve(db, file, item)).collect()
    };
    let said = |reasons: &[(HeldBack, Vec<ItemPlaced>)]| -> Vec<Said> {
        // Several reasons may read alike: at the same places they are one.
        let mut told: Vec<(String, &[ItemPlaced])> = Vec::new();
        for (reason, places) in reasons {
            let found = (words_of(db, file, reason), places.as_slice());
            if matches!(reason, HeldBack::FallenBack(_)) || !told.contains(&found) {
                told.push(found);
            }
        }
        let each = told.into_iter().map(|(text, places)| Said {
            text,
            places: all(places),
        });
        each.collect()
    };
    let rows = loops.rows.iter().filter_map(|row| {
        let [head, first] = &row.places;
        let head = head.resolve(db, file, item);
        Some(Row {
            item: loops.function.clone(),
            span: head.or_else(|| first.resolve(db, file, item))?,
            report: row.report.clone(),
            critical: all(&row.critical),
            reasons: said(&row.reasons),
            overcome: said(&row.overcome),
        })
    });
    rows.collect()
}

/// Functions that have no code, and why.
pub fn refusals(db: &dyn Db, file: File, name: Option<&str>) -> Vec<(Span, String)> {
    let mut out = Vec::new();
    for (at, item, loops) in of_file(db, file, name) {
        for (place, reason) in &loops.refused {
            let text = with_headers(db, file, reason, reason.to_string());
            let span = place.resolve(db, file, item);
            let span = span.unwrap_or_else(|| loops.name_span.shifted(at.start));
            out.push((span, text));
        }
    }
    // What stands in a function that others inline is said once.
    out.sort_by(|left, right| (left.0.start, &left.1).cmp(&(right.0.start, &right.1)));
    out.dedup();
    out
}

/// The words for the reasons that hold a loop back.
fn words_of(db: &dyn Db, file: File, reason: &HeldBack) -> String {
    match reason {
        HeldBack::By(reason) => match reason {
            Reason::Refused(refused) => with_headers(db, file, &refused.reason, reason.to_string()),
            _ => reason.to_string(),
        },
        HeldBack::FallenBack(reason) => reason.to_string(),
    }
}

/// A reason that a header may be the cause of, with those that were not found.
fn with_headers(db: &dyn Db, file: File, refusal: &Refusal, text: String) -> String {
    let missing = db::missing_headers(db, file);
    let may_be = match refusal {
        // A member of what has no type here is taken for a call.
        Refusal::NoForm { operation, .. } => operation.contains("::"),
        Refusal::NoType { .. }
        | Refusal::SymbolicParameter { .. }
        | Refusal::Unknown { .. }
        | Refusal::InitialValue { .. }
        | Refusal::Size { .. } => true,
        Refusal::ThreadLocal { .. }
        | Refusal::Variadic { .. }
        | Refusal::ByValue { .. }
        | Refusal::Registers { .. }
        | Refusal::Marks { .. }
        | Refusal::Frame { .. } => false,
    };
    let Some((first, more)) = missing.split_first().filter(|_| may_be) else {
        return text;
    };
    match more.len() {
        0 => format!("{text} (`{first}` was not found)"),
        more => format!("{text} (`{first}` and {more} more headers were not found)"),
    }
}

/// Returns the unit that serves an operation, for people.
pub(super) fn units(name: &str) -> String {
    match name {
        "slots" => "issue slots".into(),
        "loads"
        | "stores"
        | "floating-point loads"
        | "shifts"
        | "transfers"
        | "floating-point compares" => format!("ports for {name}"),
        _ => format!("{name} units"),
    }
}

/// A loop in one line.
pub fn title(report: &LoopReport, processor: &str) -> String {
    let mut parts = Vec::new();
    let resources = report.res_mii.first();
    let bounds = resources.map(|first| {
        let units = format!("ResMII {} ({})", first.cycles, units(first.unit));
        // What limits stands first.
        match report.rec_mii > first.cycles {
            true => format!("RecMII {} · {units}", report.rec_mii),
            false => format!("{units} · RecMII {}", report.rec_mii),
        }
    });
    match (report.pipelined, report.ii) {
        (true, Some(ii)) => {
            let relation = if ii == report.min_ii() { "=" } else { ">" };
            let several = match report.unrolled {
                1 => String::new(),
                times => format!(" for {times} iterations"),
            };
            parts.push(match bounds {
                Some(bounds) => format!("II {ii}{several} {relation} {bounds}"),
                None => format!("II {ii}{several}"),
            });
            parts.extend(counted(report.stages as usize, "stage", "stages"));
            if report.unpipelined > ii {
                let factor = f64::from(report.unpipelined) / f64::from(ii);
                parts.push(format!("{factor:.1}x over unpipelined"));
            }
            parts.extend(counted(
                report.loads.pairs as usize,
                "load of a pair, where it is aligned",
                "loads of pairs, where they are aligned",
            ));
            if let Some(Prefetched { streams, ahead }) = report.prefetched {
                let streams = counted(streams as usize, "stream", "streams");
                parts.push(format!(
                    "{} fetched {ahead} rounds ahead",
                    streams.unwrap_or_default()
                ));
            }
            if report.sums > 1 {
                parts.push(format!("{} sums that take turns", report.sums));
            }
            parts.extend(match report.disambiguation() {
                Disambiguation::InOrder => None,
                Disambiguation::RunTimeTest => {
                    let pairs = counted(report.tests as usize, "pair", "pairs");
                    let pairs = pairs.unwrap_or_default();
                    Some(format!(
                        "behind a run-time alias test of {pairs} of streams"
                    ))
                }
                Disambiguation::DataSpeculation => counted(
                    report.loads.advanced as usize,
                    "load above stores (`ld.a`), while they leave it as it is",
                    "loads above stores (`ld.a`), while they leave them as they are",
                ),
            });
            parts.extend(counted(
                report.loads.forwarded as usize,
                "load kept in a register",
                "loads kept in registers",
            ));
            if let Some(method) = report.method.filter(|it| *it != Method::Counted) {
                parts.push(format!("exits by {method}"));
            }
            if let Some(drain) = report.epilogue {
                let more = counted(drain.bundles as usize, "bundle", "bundles");
                parts.push(format!(
                    "explicit epilogue of {} cycles, {} by the kernel ({} more)",
                    drain.cycles,
                    drain.rounds,
                    more.unwrap_or_default()
                ));
            }
        }
        _ => {
            parts.push("not pipelined".to_owned());
            parts.extend(bounds);
        }
    }
    format!("{} (estimate for {processor})", parts.join(" · "))
}

/// Returns the reasons why loops are not pipelined, recurrences that bound others, functions without code;
/// only where a processor is named.
pub fn notes(db: &dyn Db, file: File) -> Vec<Note> {
    if !are_shown(db, file) {
        return Vec::new();
    }
    let mut out = requests(db, file);
    for row in rows(db, file, None)
        .into_iter()
        .filter(|row| !row.is_inlined())
    {
        let report = &row.report;
        let units = report.res_mii.first().map_or(1, |first| first.cycles);
        if !report.pipelined {
            let reasons: Vec<&str> = row
                .reasons
                .iter()
                .map(|reason| reason.text.as_str())
                .collect();
            out.push(Note {
                level: Level::Hint,
                other: None,
                code: "loop-not-pipelined",
                item: row.item.to_string(),
                span: row.span,
                message: format!("the loop is not pipelined: {}", reasons.join("; ")),
            });
        }
        if report.rec_mii <= units {
            continue;
        }
        for &span in &row.critical {
            let others: Vec<String> = report
                .critical
                .iter()
                .map(|link| link.mnemonic.to_string())
                .collect();
            out.push(Note {
 level: Level::Hint, other: None,
                code: "loop-recurrence",
                item: row.item.to_string(),
                span,
                message: format!(
                    "an iteration waits here for the one before: {} takes {} cycles, the units ask for {units}",
                    others.join(" → "),
                    report.rec_mii
                ),
            });
        }
        for said in row.reasons.iter().filter(|_| report.pipelined) {
            if let Some(&span) = said.places.first() {
                let note = Note {
                    level: Level::Hint,
                    other: None,
                    code: "loop-not-pipelined",
                    item: row.item.to_string(),
                    span,
                    message: format!("the loop could be faster: {}", said.text),
                };
                // Several accesses that one store may meet are one reason.
                if !out.contains(&note) {
                    out.push(note);
                }
            }
        }
    }
    out.extend(without_code(refusals(db, file, None)));
    out
}

/// Notes of functions for which there is no machine code, at the places of the reasons.
pub(super) fn without_code(refusals: Vec<(Span, String)>) -> impl Iterator<Item = Note> {
    refusals.into_iter().map(|(span, message)| Note {
        level: Level::Hint,
        other: None,
        code: "no-machine-code",
        item: String::new(),
        span,
        message,
    })
}

/// Words of `#pragma lockstep pipeline(word)` that ask for nothing.
fn requests(db: &dyn Db, file: File) -> Vec<Note> {
    let known: Vec<String> = Method::ALL
        .iter()
        .map(|method| format!("`{}`", method.word()))
        .collect();
    let mut out = Vec::new();
    for (_, item, loops) in of_file(db, file, None) {
        for (place, word) in &loops.words {
            let Some(span) = place.resolve(db, file, item) else {
                continue;
            };
            out.push(Note {
                code: "loop-not-pipelined",
                level: Level::Hint,
                item: loops.function.to_string(),
                span,
                message: format!(
                    "`{word}` is no way to pipeline a loop: `best`, `explicit_epilogue`, `none`, {} are",
                    known.join(", ")
                ),
                other: None,
            });
        }
    }
    out
}
