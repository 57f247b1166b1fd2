//! Innermost loops as a processor with explicit groups executes them: what bounds the initiation interval, what was reached,
//! and why not more.
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
use super::own_items;
use super::text::counted;
use crate::config::Level;
use crate::db::{self, Db, File, Item, ItemPlace};
use crate::program::{self, Language};
use codegen::refusal::{Refusal, Refused};
use codegen::target::ia64::emit::{Emitted, Options, emit, examine};
use codegen::target::ia64::pipeline::{
    self, Disambiguation, LoopReport, Method, Prefetched, Reason,
};
use codegen::target::ia64::requested::Asked;
use ir::{Function, Loc, Module, Site};
use smol_str::SmolStr;
use std::sync::Arc;
use syntax::{FileId, ItemKey, Span};

/// What an item comes to on a processor with explicit groups.
#[derive(Clone, PartialEq, Debug)]
pub struct MachineCode {
    pub processor: SmolStr,
    /// Function 0 is the item. Loops are pipelined where that gains something.
    pub code: Result<Emitted, Vec<Refused>>,
}

/// The code of an item of C; of others none.
pub fn machine_code(db: &dyn Db, item: Item<'_>) -> Option<Arc<MachineCode>> {
    let file = item.main(db);
    if file.language(db) != Language::C {
        return None;
    }
    let module = &db::lowered(db, item).first()?.module;
    if module.functions.first()?.layout.is_empty() {
        return None;
    }
    Some(Arc::new(code_of(db, file, module)?))
}

/// The code of a module: loops are pipelined where that gains something, and as the source asks.
fn code_of(db: &dyn Db, file: File, module: &Module) -> Option<MachineCode> {
    let table = db::processor(db, program::settings(db, file));
    Some(MachineCode {
        processor: table.name.clone(),
        code: emit(module, table.epic()?, &options(db, file)),
    })
}

fn options(db: &dyn Db, file: File) -> Options {
    Options {
        contract: *db::contracts(db, file),
        pipeline: Some(pipeline::Options {
            reassociate: file.settings(db).analysis(db).fast_math.unwrap_or(false),
            ..pipeline::Options::default()
        }),
        ..Options::default()
    }
}

/// Whether products and sums may be one operation: as compilers for IA-64 do unless a line of the file forbids it.
pub fn contracts(db: &dyn Db, file: File) -> bool {
    let forbids = |line: &str| {
        let mut words = line.trim_start().strip_prefix('#')?.split_whitespace();
        let pragma = ["pragma", "STDC", "FP_CONTRACT", "OFF"];
        pragma
            .iter()
            .all(|word| words.next() == Some(word))
            .then_some(())
    };
    !program::text(file.source(db))
        .lines()
        .any(|line| forbids(line).is_some())
}

/// What is told of the loops of a module's first function; `None`: it has no code.
fn loops_of(db: &dyn Db, file: File, module: &Module) -> Option<Vec<LoopReport>> {
    let table = db::processor(db, program::settings(db, file));
    let found = examine(module, table.epic()?, &options(db, file));
    found.refused.is_empty().then_some(found.loops)
}

/// Whether the editor speaks of processors with explicit groups: somebody named one.
pub fn are_shown(db: &dyn Db, file: File) -> bool {
    let settings = program::settings(db, file);
    let own = || {
        settings.analysis(db).machine_file.is_some()
            && db::processor(db, settings).name != crate::config::PROCESSOR
    };
    file.language(db) == Language::C && (settings.analysis(db).processor.is_some() || own())
}

/// Something that holds a loop back, with places of the file.
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
    /// What the operations of the critical cycle come from, in the order of the cycle.
    pub critical: Vec<Span>,
    pub reasons: Vec<Said>,
    /// What would hold it back without a test in front of it, or loads above stores.
    pub overcome: Vec<Said>,
}

impl Row {
    /// Of a function that was inlined, in which the loop is told of itself.
    #[must_use]
    pub fn is_inlined(&self) -> bool {
        self.report.head.site != Site(0)
    }
}

/// A place of an item, or of one whose call was inlined into it.
#[derive(Clone, PartialEq, Eq, Debug)]
struct ItemPlaced {
    loc: Loc,
    callee: Option<ItemKey>,
}

impl ItemPlaced {
    fn of(function: &Function, loc: Loc) -> ItemPlaced {
        let site = (loc.site != Site(0)).then(|| function.sites.get(loc.site));
        ItemPlaced {
            loc,
            callee: site.flatten().and_then(|site| site.item.clone()),
        }
    }

    /// In the file itself.
    fn resolve(&self, db: &dyn Db, file: File, item: Item<'_>) -> Option<Span> {
        let (id, span) = program::absolute_in(db, file, item, self.callee.as_ref(), self.loc)?;
        (id == FileId::MAIN).then_some(span)
    }
}

#[derive(Clone, PartialEq, Debug)]
struct ItemRow {
    /// Its head, or its first operation.
    places: [ItemPlaced; 2],
    report: LoopReport,
    critical: Vec<ItemPlaced>,
    reasons: Vec<(String, Vec<ItemPlaced>)>,
    overcome: Vec<(String, Vec<ItemPlaced>)>,
}

/// What is told of an item's loops, with places relative to items.
#[derive(Clone, PartialEq, Debug)]
pub struct ItemLoops {
    function: SmolStr,
    name_span: Span,
    rows: Vec<ItemRow>,
    /// Why it has no code.
    refused: Vec<(ItemPlaced, String)>,
    /// Words of `#pragma lockstep pipeline(word)` that ask for nothing.
    words: Vec<(ItemPlaced, SmolStr)>,
}

impl ItemLoops {
    #[must_use]
    pub fn has_code(&self) -> bool {
        self.refused.is_empty()
    }
}

/// The loops of an item of C; of others none.
pub fn item_loops(db: &dyn Db, item: Item<'_>) -> Option<ItemLoops> {
    let file = item.main(db);
    if file.language(db) != Language::C {
        return None;
    }
    let module = &db::lowered(db, item).first()?.module;
    let function = module.functions.first()?;
    if function.layout.is_empty() {
        return None;
    }
    let table = db::processor(db, program::settings(db, file));
    let found = examine(module, table.epic()?, &options(db, file));
    let placed = |loc: Loc| ItemPlaced::of(function, loc);
    let rows = found.loops.into_iter().map(|report| {
        let mut critical: Vec<ItemPlaced> = Vec::new();
        for at in report.critical.iter().map(|link| placed(link.loc)) {
            if !critical.contains(&at) {
                critical.push(at);
            }
        }
        let told = |all: &[Reason]| {
            let mut out: Vec<(String, Vec<ItemPlaced>)> = Vec::new();
            for reason in all {
                let text = match reason {
                    Reason::Refused(refused) => {
                        with_headers(db, file, &refused.reason, reason.to_string())
                    }
                    _ => reason.to_string(),
                };
                let said = (text, places(reason).into_iter().map(placed).collect());
                if !out.contains(&said) {
                    out.push(said);
                }
            }
            out
        };
        let (mut reasons, overcome) = (told(&report.reasons), told(&report.overcome));
        if let (false, Some(reason)) = (report.pipelined, &found.fallen_back) {
            reasons.push((reason.to_string(), Vec::new()));
        }
        ItemRow {
            places: [placed(report.head), placed(report.loc)],
            report,
            critical,
            reasons,
            overcome,
        }
    });
    let rows = rows.collect();
    let refused = found.refused.iter().map(|one| {
        let text = with_headers(db, file, &one.reason, one.reason.to_string());
        (placed(one.loc), text)
    });
    let own = function.loops.iter();
    let own = own.filter(|one| one.loc.site == Site(0));
    let words = own.filter_map(|one| {
        let word = one.pipeline.clone()?;
        let unknown = Asked::of(&word).is_none();
        unknown.then(|| (placed(one.loc), word))
    });
    Some(ItemLoops {
        function: function.name.clone(),
        name_span: function.name_span,
        rows,
        refused: refused.collect(),
        words: words.collect(),
    })
}

/// The items of the file itself that have code, and what is told of their loops; of a name, or all.
fn told<'db>(
    db: &'db dyn Db,
    file: File,
    name: Option<&str>,
) -> Vec<(ItemPlace, Item<'db>, &'db ItemLoops)> {
    let own = own_items(db, file).into_iter();
    let own = own.filter(|(_, item)| {
        item.holds(db).code && name.is_none_or(|name| item.name(db).as_str() == name)
    });
    own.filter_map(|(at, item)| Some((at, item, db::item_loops(db, item).as_deref()?)))
        .collect()
}

/// The loops of a file, or of its function `name`, in the order of the text; those of inlined functions once for each caller.
pub fn rows(db: &dyn Db, file: File, name: Option<&str>) -> Vec<Row> {
    let mut out = Vec::new();
    for (_, item, loops) in told(db, file, name) {
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
        each.filter_map(|one| one.resolve(db, file, item)).collect()
    };
    let said = |reasons: &[(String, Vec<ItemPlaced>)]| -> Vec<Said> {
        let each = reasons.iter();
        let each = each.map(|(text, places)| Said {
            text: text.clone(),
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
    for (at, item, loops) in told(db, file, name) {
        for (place, text) in &loops.refused {
            let span = place.resolve(db, file, item);
            let span = span.unwrap_or_else(|| loops.name_span.shifted(at.start));
            out.push((span, text.clone()));
        }
    }
    // What stands in a function that others inline is said once.
    out.sort_by(|one, other| (one.0.start, &one.1).cmp(&(other.0.start, &other.1)));
    out.dedup();
    out
}

/// A reason that a header may be the cause of, with those that were not found.
fn with_headers(db: &dyn Db, file: File, refusal: &Refusal, text: String) -> String {
    let missing = db::missing_headers(db, file);
    let may_be = match refusal {
        // A member of what has no type here is taken for a call.
        Refusal::NoForm { operation, ty, .. } => ty == "opaque" || operation.contains("::"),
        Refusal::SymbolicParameter { .. }
        | Refusal::Unknown { .. }
        | Refusal::InitialValue { .. }
        | Refusal::Size { .. } => true,
        Refusal::ThreadLocal { .. }
        | Refusal::Variadic { .. }
        | Refusal::Registers { .. }
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

fn places(reason: &Reason) -> Vec<Loc> {
    match reason {
        Reason::Operation { loc, .. } | Reason::CarriedPredicate(loc) => vec![*loc],
        Reason::MayAlias { store, other, .. } => vec![*store, *other],
        Reason::Refused(refused) => vec![refused.loc],
        _ => Vec::new(),
    }
}

/// What serves an operation, for people.
fn units(name: &str) -> String {
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
            if let Some(method) = report.method.filter(|one| *one != Method::Counted) {
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

/// Why loops are not pipelined, recurrences that bound others, functions without code; only where a processor is named.
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
            let reasons: Vec<&str> = row.reasons.iter().map(|one| one.text.as_str()).collect();
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
    for (span, reason) in refusals(db, file, None) {
        out.push(Note {
            level: Level::Hint,
            other: None,
            code: "no-machine-code",
            item: String::new(),
            span,
            message: reason,
        });
    }
    out
}

/// Words of `#pragma lockstep pipeline(word)` that ask for nothing.
fn requests(db: &dyn Db, file: File) -> Vec<Note> {
    let known: Vec<String> = Method::ALL
        .iter()
        .map(|method| format!("`{}`", method.word()))
        .collect();
    let mut out = Vec::new();
    for (_, item, loops) in told(db, file, None) {
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
