//! A loop of C on three machines, as a page of text.

use super::model::{Action, ActionKind, Doing};
use super::set_loops;
use crate::db::{self, Db, File};
use crate::derive::machines::{OnGroups, OnMachines, OnSets, OnThread, at};
use crate::program::{self, Language};
use syntax::Span;

const ID: &str = "show-machines";

/// *Show on three machines*, at the head of a loop of C that the editor shows.
pub fn actions(db: &dyn Db, file: File, range: Span) -> Vec<Action> {
    let shown = crate::derive::sets::processor(db, file).is_some()
        || crate::derive::loops::are_shown(db, file);
    if file.language(db) != Language::C || !shown {
        return Vec::new();
    }
    let Some((place, item)) = program::item_at(db, file, range.start) else {
        return Vec::new();
    };
    let lowered = db::lowered(db, item);
    let function = lowered.first().and_then(|it| it.module.functions.first());
    let lines = db::line_index(db, file);
    let line = |at: u32| lines.line_column(at).0;
    let on_head = function.is_some_and(|function| {
        let own = function
            .loops
            .iter()
            .filter(|it| it.loc.site == ir::Site(0));
        own.into_iter().any(|it| {
            let head = it.loc.span.shifted(place.start);
            head.contains(range.start) || line(head.start) == line(range.start)
        })
    });
    if !on_head {
        return Vec::new();
    }
    let mut action = Action::rewrite(ID, "Show on three machines".to_owned());
    action.kind = ActionKind::Rewrite;
    action.effect =
        "the loop's interval on a processor with groups and one with sets, and as a thread's PTX"
            .to_owned();
    action.what = Doing::Machines;
    vec![action]
}

/// The page of the loop at a place; `None`: there is none.
pub fn page(db: &dyn Db, file: File, offset: u32) -> Option<String> {
    let found = at(db, file, offset)?;
    let text = program::text(file.source(db));
    let line = db::line_index(db, file).line_column(found.head.start).0 + 1;
    let head = text.get(found.head.start as usize..found.head.end as usize);
    let name = file.path(db).file_name().unwrap_or_default();
    Some(format!(
        "# The loop of line {line} in `{}` of {} on three machines\n\n```c\n{}\n```\n\n{}",
        found.function,
        name.to_string_lossy(),
        head.unwrap_or_default().trim(),
        table(&found)
    ))
}

/// A machine, its cycles an iteration, their bound, and what else is to be said.
struct Cells {
    machine: String,
    cycles: String,
    bound: String,
    more: String,
}

fn table(found: &OnMachines) -> String {
    let rows = [
        groups(&found.groups),
        sets(&found.sets),
        thread(&found.thread),
    ];
    let mut out = "| machine | cycles an iteration | bound | how |\n|---|--:|---|---|\n".to_owned();
    for row in rows {
        out += &format!(
            "| {} | {} | {} | {} |\n",
            row.machine, row.cycles, row.bound, row.more
        );
    }
    out += "\nEstimates with caches that hit, and **not comparable**: each machine has a clock of its own, a pipelined loop takes its \
            interval once it is under way, and a thread of a GPU is one of thousands that hide its latency.\n";
    if let Ok(code) = &found.thread.code {
        out += &format!(
            "\n## One thread's PTX\n\n```ptx\n{}```\n",
            code.trim_start()
        );
    }
    out
}

fn groups(on: &OnGroups) -> Cells {
    let machine = format!("IA-64 ({})", on.processor);
    let Some(report) = &on.report else {
        return left_out(machine);
    };
    let units = report.res_mii.first();
    let units = units.map(|first| {
        format!(
            "ResMII {} ({})",
            first.cycles,
            super::loops::units(first.unit)
        )
    });
    let bound = format!(
        "{} · RecMII {}",
        units.unwrap_or_else(|| "no units".to_owned()),
        report.rec_mii
    );
    match (report.pipelined, report.ii) {
        (true, Some(ii)) => Cells {
            machine,
            cycles: match report.unrolled {
                1 => ii.to_string(),
                times => format!("{ii} for {times}"),
            },
            bound,
            more: format!("pipelined, {} stages, rotating registers", report.stages),
        },
        _ => Cells {
            machine,
            cycles: report.unpipelined.to_string(),
            bound,
            more: "not pipelined".to_owned(),
        },
    }
}

fn sets(on: &OnSets) -> Cells {
    let machine = format!("StarCore ({})", on.processor);
    let report = match &on.report {
        Ok(Some(report)) => report,
        Ok(None) => return left_out(machine),
        Err(reasons) => {
            return Cells {
                machine,
                cycles: "-".to_owned(),
                bound: "-".to_owned(),
                more: reasons
                    .first()
                    .map_or_else(String::new, |it| format!("no code: {}", it.reason)),
            };
        }
    };
    Cells {
        machine,
        cycles: match report.iterations {
            1 => report.interval.to_string(),
            several => format!("{} for {several}", report.interval),
        },
        bound: match &report.bounds {
            Some(bounds) => format!(
                "ResMII {} ({}) · RecMII {}",
                bounds.res_mii(),
                bounds.resource().map_or("no units", set_loops::resource),
                bounds.rec_mii
            ),
            None => "none: several blocks, or a call".to_owned(),
        },
        more: match (report.is_pipelined(), report.counted) {
            (true, _) => format!(
                "pipelined, {} stages, iterations of a kernel: {}",
                report.stages, report.copies
            ),
            (false, true) => "a loop of the hardware, not pipelined".to_owned(),
            (false, false) => "jumps back".to_owned(),
        },
    }
}

fn thread(on: &OnThread) -> Cells {
    Cells {
        machine: format!("one thread's PTX ({})", on.machine),
        cycles: on
            .cycles
            .map_or_else(|| "-".to_owned(), |cycles| format!("{cycles:.1}")),
        bound: match on.unit {
            "" => "-".to_owned(),
            unit => format!("limited by {unit}"),
        },
        more: match &on.code {
            Ok(_) => "issue, busy units, and a charge for the latency that other warps do not hide"
                .to_owned(),
            Err(refusal) => format!("no PTX: {refusal}"),
        },
    }
}

fn left_out(machine: String) -> Cells {
    Cells {
        machine,
        cycles: "-".to_owned(),
        bound: "-".to_owned(),
        more: "no innermost loop of the code".to_owned(),
    }
}
