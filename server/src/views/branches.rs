//! Branches in words: the mispredictions of a predictor, those that remain when branches are if-converted,
//! the losses of lanes.

use super::model::{Category, Hint, Hover};
use super::zeros::percent;
use crate::config::Level;
use crate::db::{Db, File};
use crate::derive::branches::{BranchRow, rows};
use crate::profile::predict::{NoRegion, Predicted, RegionSums};
use crate::profile::record::BranchCounts;
use simulate::predictor::Counts;
use smol_str::SmolStr;
use std::fmt::Write;
use syntax::Span;

/// A branch with its line, as the command shows it.
#[derive(Clone, PartialEq, Debug)]
pub struct ShownBranch {
    /// From 1.
    pub line: u32,
    pub counts: BranchCounts,
    /// None where lanes ran in warps.
    pub predicted: Option<Counts>,
    pub after: Result<u64, NoRegion>,
    /// True if it becomes a compare.
    pub compare: bool,
}

/// The branches of a function, as the command shows them.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ShownFunction {
    pub name: String,
    pub branches: Vec<ShownBranch>,
    /// Instructions that lanes executed, each by itself.
    pub executed: u64,
    pub all: Counts,
    pub after: Option<RegionSums>,
    /// The trace ends before the run.
    pub cut: bool,
    /// True if it ran in warps: nothing was predicted.
    pub warps: bool,
    /// Functions that it calls and that were not inlined into it: their branches are not among these.
    pub callees: Vec<SmolStr>,
}

impl ShownFunction {
    /// Puts the sums of a prediction beside the branches.
    pub fn predict(&mut self, predicted: &Predicted) {
        self.all = predicted.all;
        self.after = predicted.after;
    }
    /// Instructions that lanes waited for others, of all that passed for them, from 0 to 1.
    fn lost(&self, lost: u64) -> f64 {
        let all: u64 = self.branches.iter().map(|branch| branch.counts.lost).sum();
        lost as f64 / (all + self.executed).max(1) as f64
    }
}

/// The branches of a function as a table.
pub fn report(function: &ShownFunction, predictor: &str, penalty: u32) -> String {
    let mut out = String::new();
    let name = &function.name;
    if function.warps {
        let lost: u64 = function
            .branches
            .iter()
            .map(|branch| branch.counts.lost)
            .sum();
        let _ = writeln!(
            out,
            "{name}: lanes wait {} of their time for others",
            percent(function.lost(lost))
        );
        let _ = writeln!(out, "    line    executed   parted  lost to it");
        for branch in &function.branches {
            let counts = branch.counts;
            let parted = counts.split as f64 / counts.executed.max(1) as f64;
            let _ = writeln!(
                out,
                "  {:>6}  {:>10}  {:>7}  {:>10}",
                branch.line,
                counts.executed,
                percent(parted),
                percent(function.lost(counts.lost))
            );
        }
        out += &left_out(&function.callees);
        return out;
    }
    let all = function.all;
    let _ = writeln!(
        out,
        "{name}: {} branches executed, {} mispredicted ({:.1} %) by {predictor}",
        all.executed,
        all.mispredicted,
        100.0 * all.rate()
    );
    if function.cut {
        let _ = writeln!(out, "  only the first {} blocks are counted", 1 << 22);
    }
    let _ = writeln!(
        out,
        "    line    executed   taken  mispredicted           after"
    );
    for branch in &function.branches {
        let Some(counts) = branch.predicted else {
            continue;
        };
        let taken = counts.taken as f64 / counts.executed.max(1) as f64;
        let after = match (branch.after, branch.compare) {
            (Ok(0), true) => "a compare".to_owned(),
            // Who comes to it by another way than the region's head finds a copy that is a branch.
            (Ok(after), true) => format!("{after}, copies"),
            // What foretold it is gone.
            (Ok(after), false) if after > counts.mispredicted => format!("{after}, harder"),
            (Ok(after), false) => after.to_string(),
            (Err(_), _) => "-".to_owned(),
        };
        let _ = writeln!(
            out,
            "  {:>6}  {:>10}  {:>6}  {:>12} {:>8}  {after:>10}",
            branch.line,
            counts.executed,
            percent(taken),
            counts.mispredicted,
            format!("({:.1} %)", 100.0 * counts.rate()),
        );
    }
    match function.after {
        Some(after) => out += &saved(&all, &after, penalty),
        None => {
            let reason = function
                .branches
                .iter()
                .find_map(|branch| branch.after.err());
            if let Some(reason) = reason {
                let _ = writeln!(out, "  {}", why(reason));
            }
        }
    }
    out += &left_out(&function.callees);
    out
}

/// Names the functions whose branches are not in the table.
fn left_out(callees: &[SmolStr]) -> String {
    let Some(first) = callees.first() else {
        return String::new();
    };
    format!(
        "  without the branches of {}, which it calls (--item {first})\n",
        callees.join(", ")
    )
}

/// The gain of regions against their added cost.
fn saved(all: &Counts, after: &RegionSums, penalty: u32) -> String {
    let regions = match after.regions {
        1 => "1 region".to_owned(),
        many => format!("{many} regions"),
    };
    let change = match after.mispredicted <= all.mispredicted {
        true => format!(
            "{} mispredictions fewer",
            all.mispredicted - after.mispredicted
        ),
        false => format!(
            "{} mispredictions more",
            after.mispredicted - all.mispredicted
        ),
    };
    let cycles = u64::from(penalty) * all.mispredicted.abs_diff(after.mispredicted);
    let mut out = format!(
        "  if-converted, {regions}, entered {} times: {change} ({cycles} cycles at {penalty} each), {} instructions more are fetched\n",
        after.entries, after.added
    );
    if after.late > 0 {
        let _ = writeln!(
            out,
            "  {} times a branch has a guard that is false and not yet known: its compare would have to stand up to {} instructions earlier",
            after.late, after.earlier
        );
    }
    out
}

/// The reason why nothing is said of a branch after if-conversion.
pub fn why(reason: NoRegion) -> String {
    match reason {
        NoRegion::Lanes => "lanes of a warp run both sides anyhow".to_owned(),
        NoRegion::Assembly => "regions are not formed in assembly".to_owned(),
        NoRegion::AllPredicted => "nothing is mispredicted".to_owned(),
        NoRegion::NoneFormed => {
            "no region is formed: of the worst branches a side leaves the loop or the function, calls, or is seldom come to"
                .to_owned()
        }
        NoRegion::ManyWays(ways) => format!("a branch of {ways} ways stays one"),
    }
}

/// `mispredicts 22 %`
fn label(row: &BranchRow) -> String {
    format!("mispredicts {}", percent(row.rate()))
}

/// The hints beside hard branches.
pub fn hints(
    db: &dyn Db,
    file: File,
    line_end: &dyn Fn(u32) -> u32,
    line: &dyn Fn(u32) -> u32,
) -> Vec<Hint> {
    let hard = rows(db, file).into_iter().filter(BranchRow::is_hard);
    let hint = |row: BranchRow| Hint {
        offset: line_end(line(row.span.start)),
        label: format!(" {}", label(&row)),
        category: Category::Branch,
        about: row.span.start,
    };
    hard.map(hint).collect()
}

/// Sentences about a branch.
fn told(row: &BranchRow) -> String {
    let counts = row.counts;
    let taken = counts.taken as f64 / counts.executed.max(1) as f64;
    let mut out = format!(
        "executed {} times in the interpreter, its condition held in {}; the chooser of the 21264 is wrong {} times",
        counts.executed,
        percent(taken),
        counts.mispredicted
    );
    match counts.after {
        Some(after) => {
            let _ = write!(
                out,
                ", {after} times when the worst branches of the function are if-converted"
            );
        }
        None => out += "; no region around it can be if-converted",
    }
    if !row.exact {
        out += "; the code has changed since";
    }
    out
}

/// The hover of a condition.
pub fn hover(db: &dyn Db, file: File, offset: u32) -> Option<Hover> {
    let at = |row: &BranchRow| row.span.contains(offset) || row.span.end == offset;
    let rows = rows(db, file).into_iter().filter(at);
    let row = rows.min_by_key(|row| row.span.end - row.span.start)?;
    Some(Hover {
        span: row.span,
        markdown: format!("**{}** — {}", label(&row), told(&row)),
    })
}

/// The diagnostics of hard branches: level, place, message, function.
pub fn problems(db: &dyn Db, file: File) -> Vec<(Level, Span, String, String)> {
    let hard = rows(db, file).into_iter().filter(BranchRow::is_hard);
    let told = |row: BranchRow| {
        let message = format!("the branch {}: {}", label(&row), told(&row));
        (Level::Information, row.span, message, row.item.to_string())
    };
    hard.map(told).collect()
}
