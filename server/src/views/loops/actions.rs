//! Actions on an innermost loop of C, each with the interval that comes of it: ask for a way of pipelining in
//! the source, promise that pointers are apart, write a condition as a value.
//!
//! ```text
//! #pragma lockstep pipeline(predicate_registers)     what "Software-pipeline by predicate registers" writes; `emit`,
//! while (*s && *s != c) s++;                         `loops` and the code beside the source obey it
//! ```
//!
//! Every rewriting that is offered has been written, read again, lowered and emitted; its numbers are those
//! of the result.

use super::{Row, rows_of_item};
use crate::db::{self, Db, File, Item};
use crate::derive::loops::{in_shown_function, loops_of};
use crate::program::{self, Rewritten};
use crate::views::model::{Action, Doing, edited};
use codegen::loops::check::{self, Side, Unchecked};
use codegen::loops::{
    self, Edit, Pragma, Refusal, body_of, conditional_at, is_head, pragma_of, promise, with_pragma,
    without_pragma,
};
use codegen::specialize::source::Source;
use codegen::target::ia64::pipeline::{
    Alias, Disambiguation, LoopReport, Method, Prefetched, Reason,
};
use codegen::target::ia64::requested::Asked;
use ir::{Loc, Module, Site};
use smol_str::SmolStr;
use syntax::Span;
use syntax::c_family::ast::{Function, Stmt};

const PIPELINE: &str = "software-pipeline";
const LEAVE: &str = "leave-loop";
const REMOVE: &str = "remove-pipeline-request";
const RESTRICT: &str = "add-restrict";
const CONVERT: &str = "if-convert";
const UNROLL: &str = "unroll";

/// Returns the actions on the loop, or the `if`, at a place.
pub fn actions(db: &dyn Db, file: File, range: Span) -> Vec<Action> {
    let mut out = Vec::new();
    in_shown_function(
        db,
        file,
        range.start,
        &mut |item, source, function, inside| {
            let Some(statement) = loops::loop_at(function, inside) else {
                return;
            };
            let at = At {
                db,
                file,
                item,
                source,
                function,
                statement,
            };
            // Of a function without code nothing is offered.
            let found = db::item_loops(db, item).as_ref();
            let rows = match found.is_some_and(|it| it.has_code()) {
                true => rows_of_item(db, file, item),
                false => Vec::new(),
            };
            let own = rows.iter().find(|row| {
                row.report.head.site == Site(0) && is_head(statement, row.report.head.span.start)
            });
            match own {
                Some(row) => {
                    out.extend(at.pipelining(row));
                    out.extend(at.restrict(row));
                    out.extend(at.unrolling(row));
                }
                None => out.extend(at.without_row()),
            }
            out.extend(at.conversion(inside, own));
        },
    );
    out
}

/// A loop, and where it stands.
struct At<'a> {
    db: &'a dyn Db,
    file: File,
    item: Item<'a>,
    source: &'a Source<'a>,
    function: &'a Function,
    statement: &'a Stmt,
}

/// An interval in words.
fn told(report: &LoopReport) -> String {
    match (report.pipelined, report.ii) {
        (true, Some(ii)) if report.unrolled > 1 => {
            format!("II {ii} for {} iterations", report.unrolled)
        }
        (true, Some(ii)) => format!("II {ii}"),
        _ => format!(
            "{} cycles an iteration",
            report.unpipelined / report.unrolled.max(1)
        ),
    }
}

/// Cycles from a start of the loop's code to the next, and how many iterations it does.
fn interval(report: &LoopReport) -> (u32, u32) {
    let cycles = match (report.pipelined, report.ii) {
        (true, Some(ii)) => ii,
        _ => report.unpipelined.max(1),
    };
    (cycles, report.unrolled.max(1))
}

/// Returns true if an iteration takes fewer cycles; each of the first is so many of the second.
fn is_shorter(after: &LoopReport, times: u32, before: &LoopReport) -> bool {
    let ((after, several), (before, own)) = (interval(after), interval(before));
    u64::from(after) * u64::from(own) < u64::from(before) * u64::from(several * times)
}

/// Returns the note that an edit was not proven to keep the meaning, for an action's effect.
fn not_proven(unproven: Option<Unproven>) -> String {
    match unproven {
        None => String::new(),
        Some(Unproven::NotCompared(why)) => format!("; not compared with the original: {why}"),
        Some(Unproven::Differs(why)) => format!("; not proven to do the same: {why}"),
    }
}

/// The reason why the checker does not say that an edit keeps the meaning.
enum Unproven {
    NotCompared(Unchecked),
    /// A rule that it could not show to hold.
    Differs(check::Violation),
}

fn refused(id: &str, title: &str, reason: String, quiet: bool) -> Action {
    let mut action = Action::rewrite(id, title.to_owned());
    action.effect.clone_from(&reason);
    action.what = Doing::Refused { reason };
    action.quiet = quiet;
    action
}

impl At<'_> {
    fn processor(&self) -> &str {
        db::processor(self.db, program::settings(self.db, self.file))
            .name
            .as_str()
    }

    fn module(&self) -> Option<&Module> {
        Some(&db::lowered(self.db, self.item).first()?.module)
    }

    fn asked(&self) -> Option<Asked> {
        let function = self.module()?.functions.first()?;
        let own = |source_loop: &&ir::SourceLoop| {
            source_loop.loc.site == Site(0) && is_head(self.statement, source_loop.loc.span.start)
        };
        Asked::of(function.loops.iter().find(own)?.pipeline.as_ref()?)
    }

    /// The loop as it is with another word of the source, or without one.
    fn with_word(&self, asked: Option<Asked>) -> Option<LoopReport> {
        let mut module = self.module()?.clone();
        let function = module.functions.first_mut()?;
        for each in &mut function.loops {
            if each.loc.site == Site(0) && is_head(self.statement, each.loc.span.start) {
                each.pipeline = asked.map(|asked| asked.word().into());
            }
        }
        let reports = loops_of(self.db, self.file, &module)?;
        reports.into_iter().find(|report| {
            report.head.site == Site(0) && is_head(self.statement, report.head.span.start)
        })
    }

    fn pipelining(&self, row: &Row) -> Vec<Action> {
        let asked = self.asked();
        let report = match asked {
            None => row.report.clone(),
            Some(_) => self.with_word(None).unwrap_or_else(|| row.report.clone()),
        };
        let mut out = Vec::new();
        let processor = self.processor();
        // The last one ends it; those in front only slow it down.
        let reasons = || match report.reasons.last() {
            Some(reason) => reason.to_string(),
            None => "no schedule was found".to_owned(),
        };
        let several = report.methods.len() > 1;
        let title = "Software-pipeline this loop";
        let gains_nothing = matches!(report.reasons.last(), Some(Reason::NotProfitable { .. }));
        if several && (report.pipelined || gains_nothing) {
            out.extend(self.by_methods(&report, asked));
        } else if !report.pipelined {
            out.push(refused(PIPELINE, title, reasons(), false));
        } else if asked != Some(Asked::Best) {
            let title = format!(
                "Software-pipeline: {} instead of {} cycles an iteration (estimate for {processor})",
                told(&report),
                report.unpipelined / report.unrolled.max(1)
            );
            out.push(self.request(PIPELINE, title, Asked::Best));
        }
        out.extend(self.ways(&report, asked));
        out.extend(self.fetching(&report, asked));
        out.extend(self.pairing(&report, asked));
        if report.pipelined && asked != Some(Asked::None) {
            let title = format!(
                "Leave this loop as it is: {} cycles an iteration instead of {} (estimate for {processor})",
                report.unpipelined / report.unrolled.max(1),
                told(&report)
            );
            out.push(self.request(LEAVE, title, Asked::None));
        }
        if let Some(known) = pragma_of(self.statement, Pragma::Pipeline) {
            let mut action = Action::rewrite(
                REMOVE,
                format!(
                    "Remove the request to pipeline: {} by itself (estimate for {processor})",
                    told(&report)
                ),
            );
            action.effect = "takes the line above the loop out".to_owned();
            action.what = edit(without_pragma(self.source, known));
            out.push(action);
        }
        out
    }

    /// One for each way of making several exits one.
    fn by_methods(&self, report: &LoopReport, asked: Option<Asked>) -> Vec<Action> {
        let mut methods = report.methods.clone();
        methods
            .sort_by_key(|(method, ii)| (ii.unwrap_or(u32::MAX), report.method != Some(*method)));
        let variable = methods
            .iter()
            .find(|(method, _)| *method == Method::Tirumalai)
            .and_then(|(_, ii)| *ii);
        let mut out = Vec::new();
        for (method, ii) in methods {
            if asked == Some(Asked::By(method)) {
                continue;
            }
            let id = format!("{PIPELINE}-{}", method.word().replace('_', "-"));
            let Some(ii) = ii else {
                let title = format!("Software-pipeline by {method}");
                let reason = "no schedule was found by this method".to_owned();
                out.push(refused(&id, &title, reason, true));
                continue;
            };
            let compared = match variable {
                Some(other) if method != Method::Tirumalai => {
                    format!("{} {other}, ", Method::Tirumalai)
                }
                _ => String::new(),
            };
            let compared = format!(
                " ({compared}unpipelined {})",
                report.unpipelined / report.unrolled.max(1)
            );
            let best = if report.method == Some(method) && report.pipelined {
                ", the best"
            } else {
                ""
            };
            let title = format!(
                "Software-pipeline by {method}: II {ii}{compared}{best} (estimate for {})",
                self.processor()
            );
            out.push(self.request(&id, title, Asked::By(method)));
        }
        out
    }

    /// One for each other way of treating accesses that may meet.
    fn ways(&self, report: &LoopReport, asked: Option<Asked>) -> Vec<Action> {
        let mut out = Vec::new();
        for &(way, _) in &report.ways {
            if way == report.disambiguation() || asked == Some(Asked::With(way)) {
                continue;
            }
            let Some(with) = self.with_word(Some(Asked::With(way))) else {
                continue;
            };
            if !with.pipelined {
                continue;
            }
            let id = format!("{PIPELINE}-{}", way.word().replace('_', "-"));
            let title = format!(
                "Software-pipeline with {way}: {}, with {} {} (estimate for {})",
                told(&with),
                report.disambiguation(),
                told(report),
                self.processor()
            );
            out.push(self.request(&id, title, Asked::With(way)));
        }
        out
    }

    /// Streams of a pipelined loop fetched ahead.
    fn fetching(&self, report: &LoopReport, asked: Option<Asked>) -> Option<Action> {
        if !report.pipelined || asked == Some(Asked::Prefetch) {
            return None;
        }
        let with = self.with_word(Some(Asked::Prefetch))?;
        let Prefetched { streams, ahead } = with.prefetched?;
        let title = format!(
            "Fetch {streams} {} ahead by {ahead} rounds (`lfetch`): {} instead of {} (estimate for {})",
            if streams == 1 { "stream" } else { "streams" },
            told(&with),
            told(report),
            self.processor()
        );
        Some(self.request(&format!("{PIPELINE}-prefetch"), title, Asked::Prefetch))
    }

    /// Neighbouring loads of a pipelined loop in pairs.
    fn pairing(&self, report: &LoopReport, asked: Option<Asked>) -> Option<Action> {
        if !report.pipelined || asked == Some(Asked::Pairs) {
            return None;
        }
        let with = self.with_word(Some(Asked::Pairs))?;
        if with.loads.pairs == 0 || !is_shorter(&with, 1, report) {
            return None;
        }
        let title = format!(
            "Load pairs (`ldfpd`), where they are aligned: {} instead of {} (estimate for {})",
            told(&with),
            told(report),
            self.processor()
        );
        Some(self.request(&format!("{PIPELINE}-pairs"), title, Asked::Pairs))
    }

    fn request(&self, id: &str, title: String, asked: Asked) -> Action {
        let line = format!("#pragma lockstep pipeline({})", asked.word());
        let mut action = Action::rewrite(id, title);
        action.effect = format!("writes {line} above the loop, which `emit` and `loops` obey");
        action.what = edit(with_pragma(
            self.source,
            self.statement,
            Pragma::Pipeline,
            &line,
        ));
        if let Doing::Refused { reason } = &action.what {
            action.effect.clone_from(reason);
        }
        action
    }

    /// An innermost loop of which nothing is known because its function has no code.
    fn without_row(&self) -> Option<Action> {
        let mut inner = false;
        if let Some(body) = body_of(self.statement) {
            inner = loops::loop_at(self.function, body.span.start)
                .is_none_or(|it| it.span == self.statement.span);
        }
        let code = db::machine_code(self.db, self.item).as_ref()?;
        let reason = match &code.code {
            Err(reasons) => format!("the function has no code: {}", reasons.first()?.reason),
            Ok(_) if inner => {
                "it is no loop in the code: it ends at once, or others stand in it".into()
            }
            Ok(_) => return None,
        };
        Some(refused(
            PIPELINE,
            "Software-pipeline this loop",
            reason,
            true,
        ))
    }

    /// `restrict` where accesses through different pointers may meet.
    fn restrict(&self, row: &Row) -> Option<Action> {
        let meets = |loc: &Loc| loc.site == Site(0) && *loc != Loc::NONE;
        let pairs: Vec<(Span, Span)> = row
            .report
            .reasons
            .iter()
            .chain(&row.report.overcome)
            .filter_map(|reason| match reason {
                Reason::MayAlias {
                    store,
                    other,
                    why: Alias::Base | Alias::Address,
                } if meets(store) && meets(other) => Some((store.span, other.span)),
                _ => None,
            })
            .collect();
        if pairs.is_empty() {
            return None;
        }
        let title = "Add `restrict`";
        let found = match promise(self.source, self.function, &pairs) {
            Ok(found) => found,
            Err(reason) => return Some(refused(RESTRICT, title, reason.to_string(), true)),
        };
        let names: Vec<String> = found
            .parameters
            .iter()
            .map(|parameter| format!("`{parameter}`"))
            .collect();
        let title = format!("Add `restrict` to {}", names.join(" and "));
        let judged = self.judged(&found.edits, Some(&found.parameters));
        let after = match judged.and_then(|(rewritten, _)| self.after(&rewritten, row, 0)) {
            Ok(after) => after,
            Err(reason) => return Some(refused(RESTRICT, &title, reason, false)),
        };
        let way = row.report.disambiguation();
        let plain = way != Disambiguation::InOrder
            && after.disambiguation() == Disambiguation::InOrder
            && !is_shorter(&row.report, 1, &after);
        if !plain && !is_shorter(&after, 1, &row.report) {
            let reason = format!(
                "nothing is gained by it: {} with it, {} without",
                told(&after),
                told(&row.report)
            );
            return Some(refused(RESTRICT, &title, reason, false));
        }
        let before = match way {
            Disambiguation::InOrder => told(&row.report),
            way => format!("{} with {way}", told(&row.report)),
        };
        let mut action = Action::rewrite(
            RESTRICT,
            format!(
                "{title}: {} instead of {before} (estimate for {})",
                told(&after),
                self.processor()
            ),
        );
        action.effect = format!(
            "the promise is yours: while the function runs, what is written through {} is reached by no other pointer; nothing checks it",
            names.join(" or ")
        );
        action.what = Doing::Edit(found.edits);
        Some(action)
    }

    /// The body several times, where that takes fewer cycles an iteration.
    fn unrolling(&self, row: &Row) -> Vec<Action> {
        let mut out = Vec::new();
        for times in [2, 3, 4] {
            // Three only where the bound asks for it.
            if times == 3 && row.report.unroll != 3 {
                continue;
            }
            let id = format!("{UNROLL}-{times}");
            let title = format!("Unroll by {times}");
            let edit = match loops::unrolled(self.source, self.function, self.statement, times) {
                Ok(edit) => edit,
                Err(reason) => {
                    out.push(refused(&id, &title, reason.to_string(), true));
                    continue;
                }
            };
            let lines = edit.1.lines().count();
            let edits = vec![edit];
            let judged = self.judged(&edits, None);
            let judged = judged
                .and_then(|(rewritten, unproven)| Ok((self.after(&rewritten, row, 1)?, unproven)));
            let (after, unproven) = match judged {
                Ok(judged) => judged,
                Err(reason) => {
                    out.push(refused(&id, &title, reason, true));
                    continue;
                }
            };
            let told = format!(
                "{} cycles for {} iterations instead of {} for {}",
                interval(&after).0,
                times * interval(&after).1,
                interval(&row.report).0,
                match interval(&row.report).1 {
                    1 => "one".to_owned(),
                    more => more.to_string(),
                }
            );
            if !is_shorter(&after, times, &row.report) {
                out.push(refused(
                    &id,
                    &title,
                    format!("nothing is gained: {told}"),
                    true,
                ));
                continue;
            }
            let title = format!("{title}: {told} (estimate for {})", self.processor());
            let mut action = Action::rewrite(&id, title);
            action.effect = format!(
                "{lines} lines; the loop itself stays for the iterations that remain{}",
                not_proven(unproven)
            );
            action.what = Doing::Edit(edits);
            out.push(action);
        }
        out
    }

    /// The `if` at the place as a value.
    fn conversion(&self, inside: u32, row: Option<&Row>) -> Option<Action> {
        let (span, found) = conditional_at(self.source, self.function, inside)?;
        let body = body_of(self.statement)?.span;
        if span.start < body.start || body.end < span.end {
            return None;
        }
        let title = "If-convert to a conditional expression";
        let found = match found {
            Ok(found) => found,
            Err(reason) => return Some(refused(CONVERT, title, reason.to_string(), false)),
        };
        let edits = vec![found.edit];
        let mut action = Action::rewrite(CONVERT, title.to_owned());
        let (rewritten, unproven) = match self.judged(&edits, None) {
            Ok(judged) => judged,
            Err(reason) => return Some(refused(CONVERT, title, reason, false)),
        };
        if let Some(row) = row {
            let after = match self.after(&rewritten, row, 0) {
                Ok(after) => after,
                Err(reason) => return Some(refused(CONVERT, title, reason, false)),
            };
            action.title = match interval(&after) == interval(&row.report) {
                true => format!("{title}: {} as before", told(&after)),
                false => format!("{title}: {} instead of {}", told(&after), told(&row.report)),
            };
            action.title += &format!(" (estimate for {})", self.processor());
        }
        let line = edits[0].1.lines().last().unwrap_or("").trim();
        action.effect = format!("becomes: {line}{}", not_proven(unproven));
        action.what = Doing::Edit(edits);
        Some(action)
    }

    /// The item with these edits, in whose text the checker finds no fault, and why it does not say that it keeps the meaning; with names, they promise that
    /// these parameters are apart, otherwise they keep the meaning.
    fn judged(
        &self,
        edits: &[Edit],
        promised: Option<&[SmolStr]>,
    ) -> Result<(Rewritten, Option<Unproven>), String> {
        let gone = || "the loop is not found in the changed text".to_owned();
        let text = edited(self.source.text, edits).ok_or("the edits overlap")?;
        let rewritten =
            program::rewritten(self.db, self.item, self.source, &text).ok_or_else(gone)?;
        let before = Side {
            text: self.source.text,
            item: self.source.item,
            start: self.source.start,
            lowered: db::lowered(self.db, self.item),
        };
        let after = Side {
            text: &text,
            item: &rewritten.parsed,
            start: rewritten.start,
            lowered: &rewritten.lowered,
        };
        let verdict = match (promised, edits) {
            (Some(names), _) => check::promised(&before, &after, edits, names).map(|()| None),
            (None, [edit]) => check::rewritten(&before, &after, edit).map(Result::err),
            _ => Err(check::Violation::Range),
        };
        match verdict {
            Ok(unchecked) => Ok((rewritten, unchecked.map(Unproven::NotCompared))),
            Err(why) if why.is_certain() => {
                debug_assert!(false, "{why}\n{text}");
                Err(Refusal::Unsound(why).to_string())
            }
            Err(why) => Ok((rewritten, Some(Unproven::Differs(why)))),
        }
    }

    /// Returns the outcome for the loop in the changed item, which has `more` loops beside it.
    fn after(&self, rewritten: &Rewritten, row: &Row, more: usize) -> Result<LoopReport, String> {
        let gone = || "the loop is not found in the changed text".to_owned();
        let lowered = rewritten.lowered.first().ok_or_else(gone)?;
        let before = db::lowered(self.db, self.item);
        // Loops keep their order.
        let heads = |module: &Module| {
            let loops = module
                .functions
                .first()
                .map(|function| function.loops.as_slice());
            let mut heads: Vec<Loc> = loops
                .unwrap_or_default()
                .iter()
                .map(|it| it.loc)
                .filter(|loc| loc.site == Site(0))
                .collect();
            heads.sort_by_key(|loc| loc.span);
            heads
        };
        let old = heads(&before.first().ok_or_else(gone)?.module);
        let number = old.iter().position(|head| *head == row.report.head);
        let new = heads(&lowered.module);
        let head = number
            .filter(|_| new.len() == old.len() + more)
            .and_then(|number| new.get(number))
            .ok_or_else(gone)?;
        let reports = loops_of(self.db, self.file, &lowered.module).ok_or_else(gone)?;
        let mut reports = reports.into_iter();
        reports.find(|report| report.head == *head).ok_or_else(gone)
    }
}

fn edit(made: Result<Edit, Refusal>) -> Doing {
    match made {
        Ok(edit) => Doing::Edit(vec![edit]),
        Err(reason) => Doing::Refused {
            reason: reason.to_string(),
        },
    }
}
