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

use super::diagnostics::Note;
use super::lens::counted;
use super::own_items;
use crate::config::Level;
use crate::db::{self, Db, File, Item};
use crate::program::{self, Language};
use codegen::pipeline::software::{self, LoopReport, Method, Reason};
use codegen::refusal::Refused;
use codegen::target::ia64::emit::{Emitted, Options, emit};
use codegen::target::ia64::requested::Asked;
use ir::{Function, Loc, Module, Site};
use smol_str::SmolStr;
use std::sync::Arc;
use syntax::{FileId, Span};

/// What an item comes to on a processor with explicit groups.
#[derive(Clone, PartialEq, Debug)]
pub struct MachineCode {
    pub processor: SmolStr,
    /// Function 0 is the item. Loops are pipelined where that gains something.
    pub code: Result<Emitted, Vec<Refused>>,
}

/// The code of an item of C; of others none.
pub fn machine_code(db: &dyn Db, file: File, item: Item<'_>) -> Option<Arc<MachineCode>> {
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
    let table = db::processor(db, file.settings(db));
    let options = Options {
        contract: contracts(db, file),
        pipeline: Some(software::Options::default()),
        ..Options::default()
    };
    Some(MachineCode {
        processor: table.name.clone(),
        code: emit(module, table.epic()?, &options),
    })
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
    let code = code_of(db, file, module)?.code.ok()?;
    Some(code.functions.into_iter().next()?.loops)
}

/// Whether the editor speaks of processors with explicit groups: somebody named one.
pub fn are_shown(db: &dyn Db, file: File) -> bool {
    let settings = file.settings(db);
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
}

impl Row {
    /// Of a function that was inlined, in which the loop is told of itself.
    #[must_use]
    pub fn is_inlined(&self) -> bool {
        self.report.head.site != Site(0)
    }
}

/// The loops of a file, in the order of the text; those of inlined functions once for each caller.
pub fn rows(db: &dyn Db, file: File) -> Vec<Row> {
    let mut out = Vec::new();
    for (_, item) in own_items(db, file) {
        out.extend(rows_of_item(db, file, item));
    }
    out.sort_by_key(|row| (row.span.start, row.report.header));
    out
}

/// The loops of one item.
pub fn rows_of_item(db: &dyn Db, file: File, item: Item<'_>) -> Vec<Row> {
    let mut out = Vec::new();
    if !item.holds(db).code {
        return out;
    }
    let Some(code) = db::machine_code(db, file, item) else {
        return out;
    };
    let (Ok(emitted), Some(lowered)) = (&code.code, db::lowered(db, item).first()) else {
        return out;
    };
    let (Some(report), Some(function)) =
        (emitted.functions.first(), lowered.module.functions.first())
    else {
        return out;
    };
    for one in &report.loops {
        let place = |loc: Loc| place(db, file, item, function, loc);
        let Some(span) = place(one.head).or_else(|| place(one.loc)) else {
            continue;
        };
        let mut critical: Vec<Span> = Vec::new();
        for at in one.critical.iter().filter_map(|link| place(link.loc)) {
            if !critical.contains(&at) {
                critical.push(at);
            }
        }
        let mut reasons: Vec<Said> = Vec::new();
        for reason in &one.reasons {
            let said = Said {
                text: reason.to_string(),
                places: places(reason).into_iter().filter_map(place).collect(),
            };
            if !reasons.contains(&said) {
                reasons.push(said);
            }
        }
        if let (false, Some(reason)) = (one.pipelined, &report.fallen_back) {
            reasons.push(Said {
                text: reason.to_string(),
                places: Vec::new(),
            });
        }
        out.push(Row {
            item: function.name.clone(),
            span,
            report: one.clone(),
            critical,
            reasons,
        });
    }
    out
}

/// Functions that have no code, and why.
pub fn refusals(db: &dyn Db, file: File) -> Vec<(Span, String)> {
    let mut out = Vec::new();
    for (at, item) in own_items(db, file) {
        if !item.holds(db).code {
            continue;
        }
        let Some(Err(reasons)) = db::machine_code(db, file, item)
            .as_ref()
            .map(|one| &one.code)
        else {
            continue;
        };
        let lowered = db::lowered(db, item).first();
        let Some(function) = lowered.and_then(|one| one.module.functions.first()) else {
            continue;
        };
        for one in reasons {
            let span = place(db, file, item, function, one.loc)
                .unwrap_or_else(|| function.name_span.shifted(at.start));
            out.push((span, one.reason.to_string()));
        }
    }
    // What stands in a function that others inline is said once.
    out.sort_by(|one, other| (one.0.start, &one.1).cmp(&(other.0.start, &other.1)));
    out.dedup();
    out
}

/// Where a position of a function stands in the file itself.
fn place(db: &dyn Db, file: File, item: Item<'_>, function: &Function, loc: Loc) -> Option<Span> {
    let (id, span) = program::absolute(db, file, item, function, loc)?;
    (id == FileId::MAIN).then_some(span)
}

fn places(reason: &Reason) -> Vec<Loc> {
    match reason {
        Reason::Operation { loc, .. } | Reason::CarriedPredicate(loc) => vec![*loc],
        Reason::MayAlias { store, other, .. } => vec![*store, *other],
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
                report.forwarded as usize,
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
    for row in rows(db, file).into_iter().filter(|row| !row.is_inlined()) {
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
    for (span, reason) in refusals(db, file) {
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
    let mut out = Vec::new();
    for (_, item) in own_items(db, file) {
        if !item.holds(db).code {
            continue;
        }
        let lowered = db::lowered(db, item).first();
        let Some(function) = lowered.and_then(|one| one.module.functions.first()) else {
            continue;
        };
        for one in function.loops.iter().filter(|one| one.loc.site == Site(0)) {
            let Some(word) = one
                .pipeline
                .as_ref()
                .filter(|word| Asked::of(word).is_none())
            else {
                continue;
            };
            let Some(span) = place(db, file, item, function, one.loc) else {
                continue;
            };
            let known: Vec<&str> = Method::ALL.iter().map(|method| method.word()).collect();
            out.push(Note {
                code: "loop-not-pipelined",
                level: Level::Hint,
                item: function.name.to_string(),
                span,
                message: format!(
                    "`{word}` is no way to pipeline a loop: `best`, `explicit_epilogue`, `none`, {} are",
                    known
                        .iter()
                        .map(|one| format!("`{one}`"))
                        .collect::<Vec<_>>()
                        .join(", ")
                ),
                other: None,
            });
        }
    }
    out
}
