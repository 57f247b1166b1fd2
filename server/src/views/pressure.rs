//! The registers of a kernel in words.

use super::model::{Category, Hint};
use crate::db::{Db, File};
use crate::derive::budget::{Budget, BudgetReason};
use crate::derive::figures::Figure;
use crate::derive::pressure::{Entry, Mark, Row, limits, mark};
use crate::derive::registers::Registers;
use crate::program::own_items;
use facts::pressure::Remedy;
use ir::FunctionKind;
use std::fmt::Write;
use syntax::Span;

/// Variables that a hover lists.
const LISTED: usize = 10;

/// Hints of a range: one for each kernel whose occupancy is limited by registers, at the line of its peak.
pub(super) fn hints(
    db: &dyn Db,
    file: File,
    range: Span,
    line_end: &dyn Fn(u32) -> u32,
) -> Vec<Hint> {
    let lines = crate::db::line_index(db, file);
    let mut out = Vec::new();
    for (place, item) in own_items(db, file) {
        if place.end < range.start || place.start > range.end {
            continue;
        }
        for part in crate::derive::parts::parts(db, item) {
            let found = mark(db, file, item, part.function);
            out.extend(found.map(|Mark { place, live }| Hint {
                offset: line_end(lines.line_column(place.start).0),
                label: format!("most registers: ~{live} live"),
                category: Category::Registers,
                about: place.start,
            }));
        }
    }
    out
}

/// A table of the variables that fill the registers at the peak, for a hover.
pub fn table(row: &Row) -> String {
    let at = row
        .line
        .map_or(String::new(), |line| format!(" in line {line}"));
    let mut out = format!(
        "**{} {} live at the peak{at}**, {} of them uniform; {}",
        row.live,
        kind(row.scalar),
        row.uniform,
        allocated(row)
    );
    if let Some(budget) = row.budget {
        let _ = write!(out, "\n\n{}", budgeted(row.registers, &budget));
    }
    if row.variables.is_empty() {
        return out;
    }
    out += "\n\n| variable | registers | class | reads | without it |\n| --- | ---: | --- | --- | --- |\n";
    for variable in row.variables.iter().take(LISTED) {
        let name = variable.name.replace('|', "\\|");
        // What quotes something itself is not quoted again.
        let name = match name.contains('`') {
            true => name,
            false => format!("`{name}`"),
        };
        let _ = writeln!(
            out,
            "| {name} | {} | {} | {} | {} |",
            variable.registers,
            super::text::class_name(variable.class),
            reads(variable),
            remedy(variable.remedy)
        );
    }
    let more = &row.variables[row.variables.len().min(LISTED)..];
    if !more.is_empty() {
        let sum: u32 = more.iter().map(|it| it.registers).sum();
        let _ = write!(
            out,
            "\n{} more in {sum} registers: `lockstep registers`",
            more.len()
        );
    }
    out
}

/// The registers that a thread gets, for a hover.
fn allocated(row: &Row) -> String {
    let Some(figure) = &row.figure else {
        let about = format!("compilers allocate about {}", row.registers);
        return match row.scalar {
            Some(scalar) => format!("{about}, and {scalar} scalar registers a warp (estimate)"),
            None => format!("{about} (estimate)"),
        };
    };
    let mut out = format!("ptxas {} allocates {}", figure.version, figure.registers);
    if figure.spills() {
        let _ = write!(
            out,
            " and spills {} bytes of stores, {} of loads",
            figure.spill_store_bytes, figure.spill_load_bytes
        );
    }
    out
}

/// `budget 64 (4 workgroups of 256 threads must fit): about 14 over`
pub fn budgeted(registers: u32, budget: &Budget) -> String {
    let mut out = format!("budget {} ({})", budget.registers, reason(budget.reason));
    if registers > budget.registers {
        let _ = write!(out, ": about {} over", registers - budget.registers);
    }
    out
}

/// The reason of a budget in words.
pub fn reason(reason: BudgetReason) -> String {
    match reason {
        BudgetReason::Declared => "declared with the kernel".to_owned(),
        BudgetReason::Workgroups { threads, blocks: 1 } => {
            format!("a workgroup of {threads} threads must fit")
        }
        BudgetReason::Workgroups { threads, blocks } => {
            format!("{blocks} workgroups of {threads} threads must fit")
        }
        BudgetReason::Configured => "`maxrregcount`".to_owned(),
        BudgetReason::Machine => "the most of a thread".to_owned(),
    }
}

/// The word for the reason of a budget that the JSON uses.
pub const fn reason_name(reason: BudgetReason) -> &'static str {
    match reason {
        BudgetReason::Declared => "declared",
        BudgetReason::Workgroups { .. } => "workgroups",
        BudgetReason::Configured => "maxrregcount",
        BudgetReason::Machine => "machine",
    }
}

/// `78 registers (estimate) · peak line 40 · budget 64: about 14 over`, or `64 registers (ptxas 13.5), 48 bytes of spills`:
/// for a lens, of kernels that are over their budget, whose occupancy registers limit, or that an assembler has seen.
pub fn lens(known: &Registers, peak: Option<u32>) -> Option<String> {
    let over = known.over();
    let limited = known.fit.as_ref().is_some_and(limits);
    if over == 0 && !limited && known.figure.is_none() {
        return None;
    }
    let mut out = format!("{} {} ({})", known.count, kind(known.scalar), label(known));
    if let Some(figure) = known.figure.as_ref().filter(|figure| figure.spills()) {
        let bytes = figure.spill_store_bytes + figure.spill_load_bytes;
        let _ = write!(out, ", {bytes} bytes of spills");
    }
    if let Some(line) = peak {
        let _ = write!(out, " · peak line {line}");
    }
    if let Some(budget) = known.budget.filter(|it| it.reason.is_chosen() || over > 0) {
        let _ = write!(out, " · budget {}", budget.registers);
        if over > 0 {
            let _ = write!(out, ": about {over} over");
        }
    }
    Some(out)
}

/// The word for where a number of registers comes from: `estimate`, `ptxas 13.5`.
pub fn label(known: &Registers) -> String {
    source(known.figure.as_ref())
}

pub fn source(figure: Option<&Figure>) -> String {
    match figure {
        Some(figure) => format!("ptxas {}", figure.version),
        None => "estimate".to_owned(),
    }
}

/// Returns true if the registers of a function are reported.
pub const fn is_told(kind: FunctionKind) -> bool {
    matches!(kind, FunctionKind::Kernel | FunctionKind::Stage(_))
}

/// `recompute, 3 operations a read`
pub fn remedy(remedy: Remedy) -> String {
    match remedy {
        Remedy::Recompute { operations: 1 } => "recompute, 1 operation a read".to_owned(),
        Remedy::Recompute { operations } => format!("recompute, {operations} operations a read"),
        Remedy::ScalarRegister => "a scalar register".to_owned(),
        Remedy::Reload => "load again, nobody writes it".to_owned(),
        Remedy::WarpSlot => "one copy a warp in shared memory".to_owned(),
        Remedy::WarpSlotOfBase => {
            "one copy a warp of its uniform part, 2 operations a read".to_owned()
        }
        Remedy::RegisterLane => "one lane of a shared register, 1 operation a read".to_owned(),
        Remedy::LaneSlot => "one copy a lane in local memory".to_owned(),
        Remedy::Needed => "read at the peak".to_owned(),
    }
}

/// The word for the registers of a thread: on a machine with scalar registers they are the other ones.
pub const fn kind(scalar: Option<u32>) -> &'static str {
    match scalar {
        Some(_) => "vector registers",
        None => "registers",
    }
}

/// `16, 12 in loops`
pub fn reads(entry: &Entry) -> String {
    match entry.reads_in_loops {
        0 => entry.reads.to_string(),
        inside => format!("{}, {inside} in loops", entry.reads),
    }
}
