//! Diagnostics of a file: the findings of the analysis, after configuration and silencing, and the text of
//! which a front end or the preprocessor could not make sense.

mod callees;
mod covered;
mod notes;
mod registers;

pub use super::model::{Diagnostic, FileFix, Note, Related};
use super::reasons;
use crate::config::Level;
use crate::db::{self, Database, Db, File, Source};
use crate::derive::loops::are_shown;
use crate::derive::rows::{Rows, rows_of};
use crate::documents::line_beginning;
use crate::program::{self, Language, NothingShown, own_items};
use facts::{CauseStep, Code, Finding, Tier};
use rustc_hash::FxHashMap;
use syntax::{FileId, LineIndex, ProblemKind, Span};

/// Problems that are shown of a file; findings are not counted.
const MOST_PROBLEMS: usize = 1_000;

/// Computes on several threads what the diagnostics of a file ask of its functions. Those that follow find it.
pub fn ahead(db: &Database, file: File) {
    let groups = are_shown(db, file);
    program::for_each_item(db, file, |db, item| {
        rows_of(db, item);
        if groups {
            super::loops::rows_of_item(db, file, item);
        }
        super::set_loops::ahead(db, file, item);
    });
}

/// Everything that is to be shown, by position.
pub fn diagnostics(db: &dyn Db, file: File) -> Vec<Diagnostic> {
    diagnostics_but(db, file, &|_| false)
}

/// The same without findings that somebody has accepted.
pub fn diagnostics_but(
    db: &dyn Db,
    file: File,
    accepted: &dyn Fn(&Diagnostic) -> bool,
) -> Vec<Diagnostic> {
    let mut found = each_finding(db, file);
    found.retain(|finding| !accepted(finding));
    let mut shown = alike_told_once(file, found);
    shown.extend(problems(db, file));
    shown.sort_by(|a, b| (a.span, a.code, &a.message).cmp(&(b.span, b.code, &b.message)));
    shown.dedup_by(|a, b| a.span == b.span && a.code == b.code && a.message == b.message);
    shown
}

/// Returns the findings of the analysis that are not silenced.
pub fn findings(db: &dyn Db, file: File) -> Vec<Diagnostic> {
    alike_told_once(file, each_finding(db, file))
}

/// The same, each place for itself.
pub fn each_finding(db: &dyn Db, file: File) -> Vec<Diagnostic> {
    let settings = file.settings(db);
    let (view, baseline) = (settings.view(db), settings.baseline(db));
    let source = program::text(file.source(db));
    let lines = db::line_index(db, file);
    let silences = db::silences(db, file);
    let mut shown = all_findings(db, file);
    shown.retain_mut(|diagnostic| {
        let Some(code) = diagnostic.finding else {
            return true;
        };
        if let Some(level) = view.level(code) {
            diagnostic.level = level;
        }
        let (line, _) = lines.line_column(diagnostic.span.start);
        diagnostic.level != Level::Off
            && !silences.silent(diagnostic.code, line)
            && (baseline.is_empty()
                || baseline
                    .binary_search(&fingerprint(diagnostic, source, lines))
                    .is_err())
    });
    shown
}

/// Findings that rest on live registers and the number of warps that fit.
pub const OF_REGISTERS: &[Code] = &[
    Code::LaunchBoundsSpill,
    Code::OccupancyCliff,
    Code::PressurePeak,
    Code::CheapRemat,
    Code::SharedOverLimit,
    Code::SpillInLoop,
];

/// Returns the findings of the analysis, silenced or not.
fn all_findings(db: &dyn Db, file: File) -> Vec<Diagnostic> {
    let mut found: Vec<Diagnostic> = Vec::new();
    // The function that says it, by `found`.
    let mut tellers: Vec<callees::Teller> = Vec::new();
    let source = program::text(file.source(db));
    let own_items = own_items(db, file);
    let operators = file.language(db).c_dialect().is_some();
    let covered = |span: Span| {
        let text = source.get(span.start as usize..span.end as usize);
        let operator = |text: &str| !text.contains(|c: char| c.is_alphanumeric() || c == '_');
        if !operators || !text.is_some_and(operator) {
            return span;
        }
        let mut around = own_items.iter();
        let around = around.find(|(at, _)| at.start <= span.start && span.end <= at.end);
        around.map_or(span, |(at, item)| {
            let relative = Span::new(span.start - at.start, span.end - at.start);
            covered::expression(db, *item, relative).shifted(at.start)
        })
    };
    for &(_, item) in &own_items {
        let rows = rows_of(db, item);
        let own = syntax::ItemKey {
            name: item.name(db).clone(),
            ordinal: item.ordinal(db),
        };
        for (rows, finding, message) in rows.iter().flat_map(in_words) {
            let absolute =
                |loc: ir::Loc| program::absolute_in(db, file, item, rows.item_of(loc.site), loc);
            let related_at = |loc: ir::Loc, text: &str| {
                let (id, span) = absolute(loc)?;
                Some(Related {
                    file: program::unit_file(db, file, id)?,
                    span,
                    text: text.to_owned(),
                })
            };
            let steps = finding.related.iter();
            let mut related: Vec<Related> = steps
                .filter_map(|step| related_at(step.loc, &reasons::clause(&step.reason)))
                .collect();
            let (span, told_at) = match absolute(finding.loc) {
                Some((FileId::MAIN, span)) => (span, finding.loc),
                // In a header: told at the call that leads there, where the caller's lanes have a part in it.
                Some(_) if depends_on_callers(finding.code) => {
                    let here =
                        |call: &&CauseStep| matches!(absolute(call.loc), Some((FileId::MAIN, _)));
                    let Some(call) = finding.calls.iter().rfind(here) else {
                        continue;
                    };
                    let Some((_, span)) = absolute(call.loc) else {
                        continue;
                    };
                    related.splice(0..0, related_at(finding.loc, "it happens here"));
                    (span, call.loc)
                }
                _ => continue,
            };
            let operator = span;
            let span = covered(span);
            let fix = super::fixes::fix(finding.code, source, operator);
            // A macro that marks whatever it is given marks it for others, too.
            if finding.code == Code::NeedlessNonuniform && fix.is_none() {
                continue;
            }
            tellers.push(callees::Teller::of(rows, told_at, own.clone()));
            found.push(Diagnostic {
                code: finding.code.name(),
                level: match finding.tier {
                    Tier::Error => Level::Error,
                    Tier::Warning => Level::Warning,
                    Tier::Hint => Level::Information,
                },
                span,
                message,
                related,
                fix,
                item: item.name(db).to_string(),
                finding: Some(finding.code),
            });
        }
    }
    let found = found.into_iter();
    let inliners = callees::inliners(db, file);
    let found = callees::left_to_callers(found.zip(tellers).collect(), &inliners);
    let mut found = callees::told_once(found, &inliners);
    let view = file.settings(db).view(db);
    let is_off = |code: &Code| view.level(*code) == Some(Level::Off);
    // What nobody is told of is not computed.
    if !OF_REGISTERS.iter().all(is_off) {
        for &(_, item) in &own_items {
            found.extend(registers::findings(db, file, item));
        }
    }
    let profiled = crate::derive::zeros::stored(db, file).is_some();
    if profiled && !is_off(&Code::IrrelevantLoad) {
        let lanes = file.language(db) != Language::C;
        for &(_, item) in own_items.iter().filter(|(_, item)| item.holds(db).code) {
            found.extend(super::irrelevant_loads::findings(db, item, lanes));
        }
    }
    if profiled && !is_off(&Code::PartiallyDead) {
        for &(_, item) in own_items.iter().filter(|(_, item)| item.holds(db).code) {
            found.extend(super::partly_dead::findings(db, item));
        }
    }
    found
}

/// The findings of a function with their sentences, by position, code and sentence.
fn in_words(rows: &Rows) -> Vec<(&Rows, &Finding, String)> {
    let findings = rows.findings.iter();
    let mut told: Vec<_> = findings
        .map(|finding| (rows, finding, reasons::sentence(finding)))
        .collect();
    told.sort_by(|(_, a, told_a), (_, b, told_b)| {
        let at = |finding: &Finding| (finding.loc.site, finding.loc.span, finding.code);
        (at(a), told_a).cmp(&(at(b), told_b))
    });
    told
}

/// Findings of one function that say the same are reported one by one up to this number; of more, the first
/// gives their number.
const MOST_ALIKE: usize = 4;
/// Places that it names.
const MOST_PLACES: usize = 32;

/// One finding for all places of a function of which the same is to be said, where these are many: generated code that
/// accesses an array a hundred times has one reason to be changed.
fn alike_told_once(file: File, found: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let key = |diagnostic: &Diagnostic| {
        (
            diagnostic.item.clone(),
            diagnostic.code,
            diagnostic.message.clone(),
        )
    };
    let mut places: FxHashMap<(String, &str, String), Vec<Span>> = FxHashMap::default();
    for each in &found {
        places.entry(key(each)).or_default().push(each.span);
    }
    places.retain(|_, spans| spans.len() > MOST_ALIKE);
    for spans in places.values_mut() {
        spans.sort_unstable();
    }
    let mut told = Vec::with_capacity(found.len());
    for mut each in found {
        if let Some(spans) = places.get(&key(&each)) {
            if spans.first() != Some(&each.span) {
                continue;
            }
            let others = &spans[1..];
            let place = if others.len() == 1 { "place" } else { "places" };
            each.message += &format!(" (and at {} more {place} of this function)", others.len());
            let also = others.iter().take(MOST_PLACES).map(|&span| Related {
                file,
                span,
                text: "the same here".to_owned(),
            });
            each.related.extend(also);
        }
        told.push(each);
    }
    told
}

/// Returns whether a finding depends on the callers of a function: its accesses to memory, and the lanes that
/// take part in it.
const fn depends_on_callers(code: Code) -> bool {
    matches!(
        code,
        Code::UncoalescedAccess
            | Code::BankConflict
            | Code::AtomicSameAddress
            | Code::DivergentBarrier
            | Code::DivergentMeshCall
            | Code::BarrierInDivergentLoop
            | Code::WarpSyncMask
            | Code::ShuffleInactiveSource
            | Code::SharedMemoryRace
    )
}

fn problems(db: &dyn Db, file: File) -> Vec<Diagnostic> {
    let mut shown = Vec::new();
    let view = file.settings(db).view(db);
    let silences = db::silences(db, file);
    let lines = db::line_index(db, file);
    let mut add = |code: &'static str, level: Level, span: Span, message: String, item: String| {
        let configured = view.note_levels.iter().find(|(known, _)| *known == code);
        let level = configured.map_or(level, |(_, level)| *level);
        if level == Level::Off || silences.silent(code, lines.line_column(span.start).0) {
            return;
        }
        shown.push(Diagnostic {
            code,
            level,
            span,
            message,
            related: Vec::new(),
            fix: None,
            item,
            finding: None,
        });
    };
    match file.source(db) {
        Source::Text { lossy: true, .. } => add(
            "invalid-encoding",
            Level::Warning,
            Span::default(),
            "the file is not valid UTF-8; what is not was replaced".into(),
            String::new(),
        ),
        Source::Text { .. } | Source::Missing => {}
        Source::Unusable(reason) => add(
            "unusable-file",
            Level::Warning,
            Span::default(),
            reason.to_string(),
            String::new(),
        ),
    }
    let mut notes = super::assembly::notes(db, file);
    notes.extend(super::set_rules::notes(db, file));
    notes.extend(super::loops::notes(db, file));
    notes.extend(super::set_loops::notes(db, file));
    for note in &notes {
        let (message, item) = (note.message.clone(), note.item.clone());
        add(note.code, note.level, note.span, message, item);
    }
    for (code, span, message, item) in super::zeros::problems(db, file) {
        let level = match code {
            "stale-profile" => Level::Hint,
            _ => Level::Warning,
        };
        add(code, level, span, message, item);
    }
    for (level, span, message, item) in super::branches::problems(db, file) {
        add("hard-branch", level, span, message, item);
    }
    let problems = program::problems(db, file);
    let mut said = false;
    // A macro of a header that is not here reads like an error and is none.
    let headers_missing = problems
        .iter()
        .any(|(problem, _)| problem.kind == ProblemKind::MissingInclude);
    for (problem, item) in problems {
        let (code, mut level) = code_of(problem.kind);
        // Compilers of C take more than the language has: definitions as of 1978, extensions.
        let lenient = headers_missing || file.language(db) == Language::C;
        if lenient && problem.kind == ProblemKind::Syntax {
            level = Level::Hint;
        }
        if problem.file == FileId::MAIN {
            said = true;
            add(code, level, problem.span, problem.message, item);
        }
    }
    if !said && let Some(nothing) = program::nothing_shown(db, file) {
        let (span, message) = words_of(nothing);
        add("assumption", Level::Hint, span, message, String::new());
    }
    for note in notes {
        let Some((span, text)) = note.other else {
            continue;
        };
        let same = shown
            .iter_mut()
            .filter(|it| it.span == note.span && it.message == note.message);
        for each in same {
            let text = text.into();
            each.related = vec![Related { file, span, text }];
        }
    }
    notes::fold(&mut shown);
    if shown.len() > MOST_PROBLEMS {
        let more = shown.len() - MOST_PROBLEMS;
        // Which limit was met says more than what was lost by it.
        shown.sort_by_key(|it| it.code != "limit");
        let span = shown[MOST_PROBLEMS].span;
        shown.truncate(MOST_PROBLEMS);
        shown.push(Diagnostic {
            message: format!("{more} more problems are not shown"),
            code: "limit",
            level: Level::Hint,
            span,
            related: Vec::new(),
            fix: None,
            item: String::new(),
            finding: None,
        });
    }
    shown
}

/// Returns the words that say why a file shows nothing.
fn words_of(nothing: NothingShown) -> (Span, String) {
    let plain = |text: &str| (Span::at(0), text.to_owned());
    match nothing {
        NothingShown::NoText => plain("nothing to show: the file is empty"),
        NothingShown::DirectivesOnly => {
            plain("nothing to show: the file has directives alone, which show where it is included")
        }
        NothingShown::Inactive { directive, why } => {
            let message = format!("nothing to show: what the file declares stands behind {why}");
            (directive, message)
        }
        NothingShown::NoBodies => {
            plain("nothing to show: the file has declarations alone, and no function with a body")
        }
        NothingShown::HostOnly => plain(
            "nothing to show: its functions run on the host, none is marked `__global__` or `__device__`",
        ),
    }
}

/// The code and level of a problem.
const fn code_of(kind: ProblemKind) -> (&'static str, Level) {
    match kind {
        ProblemKind::Syntax => ("syntax", Level::Error),
        ProblemKind::Unsupported => ("unsupported-construct", Level::Hint),
        ProblemKind::MissingInclude => ("include-not-found", Level::Hint),
        ProblemKind::Limit => ("limit", Level::Hint),
        ProblemKind::Note => ("assumption", Level::Hint),
    }
}

/// Names a finding in a way that survives edits around it: the item, the code and the line's words.
pub fn fingerprint(diagnostic: &Diagnostic, source: &str, lines: &LineIndex) -> String {
    let (line, _) = lines.line_column(diagnostic.span.start);
    let words = line_beginning(source, lines, line).split_whitespace();
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let parts = [diagnostic.item.as_str(), diagnostic.code]
        .into_iter()
        .chain(words);
    for part in parts {
        for byte in part.bytes().chain([0]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_that_is_shown_has_a_page() {
        let kinds = [
            ProblemKind::Syntax,
            ProblemKind::Unsupported,
            ProblemKind::MissingInclude,
            ProblemKind::Limit,
            ProblemKind::Note,
        ];
        let others = [
            "invalid-encoding",
            "unusable-file",
            "unusable-profile",
            "stale-profile",
            "hard-branch",
            "config-error",
        ];
        let shown = kinds
            .map(|kind| code_of(kind).0)
            .into_iter()
            .chain(others)
            .chain(Code::ALL.iter().map(|code| code.name()));
        for code in shown {
            assert!(crate::explain::page(code).is_some(), "{code}");
        }
    }
}
