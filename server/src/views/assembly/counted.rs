//! Counts of assembly that ran with probes: branches, entries, paths and values of loads beside the lines that they are of.

use crate::db::{self, Db, File};
use crate::derive::readings::{FileReadings, file_readings};
use crate::profile::readings::{FunctionReadings, LoadReading, Readings};
use crate::program::{self, Language};
use crate::views::model::{Category, Hint};
use crate::views::zeros::percent;
use rustc_hash::FxHashSet;
use std::path::Path;
use syntax::Span;

/// The share of a load's executions that its most frequent value has, at least, for a hint.
const FREQUENT: f64 = 0.5;
/// Paths and values that a hover lists.
const LISTED: usize = 4;

fn share(part: u64, of: u64) -> String {
    percent(part as f64 / of.max(1) as f64)
}

fn times(count: u64) -> String {
    match count {
        1 => "once".to_owned(),
        count => format!("{count} times"),
    }
}

/// How often branches are taken, what loads mostly load, and how often functions are entered.
pub fn counts(db: &dyn Db, file: File, range: Span, line_end: &dyn Fn(u32) -> u32) -> Vec<Hint> {
    if file.language(db) != Language::Ia64 {
        return Vec::new();
    }
    let FileReadings::Read(_, readings) = file_readings(db, file) else {
        return Vec::new();
    };
    let guarded = guarded(db, file);
    let mut told: Vec<(u32, String)> = Vec::new();
    for function in &readings.functions {
        let label = match (function.entries, function.paths.len()) {
            (Some(0), _) => "never entered".to_owned(),
            (Some(count), _) => format!("entered {}", times(count)),
            (None, 0) => String::new(),
            (None, 1) => "1 path taken".to_owned(),
            (None, paths) => format!("{paths} paths taken"),
        };
        told.push((function.line, label));
        for branch in &function.branches {
            let label = match branch.executed {
                0 => "never executed".to_owned(),
                executed => format!("taken {}", share(branch.taken, executed)),
            };
            let certain = branch.executed > 0 && branch.taken == branch.executed;
            if !certain || guarded.contains(&branch.line) {
                told.push((branch.line, label));
            }
        }
        for load in &function.values {
            if let Some(most) = load.top.first()
                && most.count as f64 >= FREQUENT * load.executions as f64
                && load.executions > 0
            {
                let often = share(most.count, load.executions);
                told.push((load.line, format!("{} in {often}", most.value as i64)));
            }
        }
    }
    let hints = told.into_iter().filter_map(|(line, label)| {
        let offset = line_end(line.checked_sub(1)?);
        let within = range.start <= offset && offset <= range.end;
        (within && !label.is_empty()).then_some(Hint {
            offset,
            label,
            category: Category::Side,
            about: offset,
        })
    });
    hints.collect()
}

/// The lines of branches under a predicate, from 1: others always branch.
fn guarded(db: &dyn Db, file: File) -> FxHashSet<u32> {
    let assembly = db::assembly(db, file);
    let lines = db::line_index(db, file);
    let items = assembly.listing.items.iter();
    let branches = items.filter(|it| it.inst.predicate != 0 && it.inst.branch.is_some());
    branches
        .map(|it| lines.line_column(assembly.place(it).start).0 + 1)
        .collect()
}

/// The counts of an instruction, for its hover; `line` from 1.
pub(super) fn hover(db: &dyn Db, file: File, line: u32) -> Option<String> {
    match file_readings(db, file) {
        FileReadings::Missing | FileReadings::Unusable(..) => None,
        FileReadings::Changed(path) => Some(format!(
            "The counts in `{}` are of the file before it changed.",
            name(&path)
        )),
        FileReadings::Read(path, readings) => {
            let text = program::text(file.source(db));
            let told = counted(&readings, line, text)?;
            Some(format!("{told} (`{}`)", name(&path)))
        }
    }
}

fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

fn counted(readings: &Readings, line: u32, text: &str) -> Option<String> {
    let of = readings.functions.iter().filter(|it| it.line <= line);
    let function = of.max_by_key(|it| it.line)?;
    // Behind its end may be a function that has no counts.
    let (first, between) = (function.line as usize - 1, (line - function.line) as usize);
    let mut before = text.lines().skip(first).take(between);
    if before.any(|it| it.trim_start().starts_with(".endp")) {
        return None;
    }
    if let Some(why) = &function.unbalanced {
        return Some(format!("The counters are not those of whole runs: {why}"));
    }
    if let Some(branch) = function.branches.iter().find(|it| it.line == line) {
        return Some(match branch.executed {
            0 => "**Never executed** in the counted runs".to_owned(),
            executed => format!(
                "**Taken {}**: {} of {executed} executions",
                share(branch.taken, executed),
                branch.taken
            ),
        });
    }
    if let Some(load) = function.values.iter().find(|it| it.line == line) {
        return Some(values(load));
    }
    let blocks = function.blocks.iter().filter(|it| it.line <= line);
    if let Some(block) = blocks.max_by_key(|it| it.line) {
        return Some(match block.count {
            0 => "Never executed".to_owned(),
            count => format!("Executed {}", times(count)),
        });
    }
    match function.entries {
        Some(0) => Some(format!("`{}` was never entered", function.item)),
        Some(count) => Some(format!("`{}` was entered {}", function.item, times(count))),
        None => paths(function),
    }
}

fn values(load: &LoadReading) -> String {
    let listed = load.top.iter().take(LISTED);
    let listed: Vec<String> = listed
        .map(|it| {
            format!(
                "{} in {}",
                it.value as i64,
                share(it.count, load.executions)
            )
        })
        .collect();
    format!(
        "Loaded {} into {}: {}",
        times(load.executions),
        load.register,
        listed.join(", ")
    )
}

fn paths(function: &FunctionReadings) -> Option<String> {
    let counts = function.paths.iter().map(|path| path.count);
    let total = counts.fold(0, u64::saturating_add);
    let listed = function.paths.iter().take(LISTED);
    let listed: Vec<String> = listed
        .map(|path| {
            let lines: Vec<String> = path.lines.iter().map(u32::to_string).collect();
            format!(
                "\n- {}: lines {}",
                share(path.count, total),
                lines.join(" ")
            )
        })
        .collect();
    let all = function.paths.len();
    (all > 0).then(|| format!("{all} paths taken, {}:{}", times(total), listed.concat()))
}

/// The reason why counts that are there are not shown: code and message.
pub fn problem(db: &dyn Db, file: File) -> Option<(&'static str, String)> {
    match file_readings(db, file) {
        FileReadings::Missing | FileReadings::Read(..) => None,
        FileReadings::Unusable(path, reason) => {
            let message = format!("{} is not used as counts: {reason}", path.display());
            Some(("unusable-profile", message))
        }
        FileReadings::Changed(path) => Some((
            "stale-profile",
            format!(
                "{} holds counts of the file before it changed: `lockstep instrument` and `lockstep profile import` make them anew",
                name(&path)
            ),
        )),
    }
}
