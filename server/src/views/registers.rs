//! The registers of kernels as text: the output of `lockstep registers`, and the text that the editor shows
//! beside the source.

use super::text::class_name;
use super::{costs, pressure};
use crate::db::{self, Db, File};
use crate::derive::pressure::{Entry, Row, cheapest, rows};
use crate::documents::line_column;
use crate::program;
use std::fmt::Write;

/// A kernel's registers, the table of the variables that fill them at the peak, and those that are best kept
/// elsewhere for a budget.
pub fn report(row: &Row, budget: Option<u32>) -> String {
    let mut out = String::new();
    let at = row
        .line
        .map_or(String::new(), |line| format!(" in line {line}"));
    let _ = writeln!(
        out,
        "{}: {} {} ({}; {} live at the peak{at}, of which {} uniform)",
        row.name,
        row.registers,
        pressure::kind(row.scalar),
        pressure::source(row.figure.as_ref()),
        row.live,
        row.uniform
    );
    if let Some(scalar) = row.scalar {
        let _ = writeln!(out, "  {scalar} scalar registers a warp (estimate)");
    }
    if let Some(figure) = &row.figure {
        let _ = writeln!(
            out,
            "  spills {} bytes of stores, {} of loads; {} bytes of shared memory",
            figure.spill_store_bytes, figure.spill_load_bytes, figure.shared_bytes
        );
    }
    if let Some(fit) = &row.fit {
        let _ = writeln!(
            out,
            "  {}",
            costs::occupied(fit, &pressure::source(row.figure.as_ref()))
        );
    }
    if let Some(budget) = &row.budget {
        let _ = writeln!(out, "  {}", pressure::budgeted(row.registers, budget));
    }
    let widest = |of: &dyn Fn(&Entry) -> usize, least: usize| {
        row.variables.iter().map(of).max().unwrap_or(0).max(least)
    };
    let name = widest(&|it| it.name.chars().count(), 8);
    let reads = widest(&|it| pressure::reads(it).len(), 5);
    if !row.variables.is_empty() {
        let _ = writeln!(
            out,
            "  registers  {:name$}  class      defined  last read  {:reads$}  without it",
            "variable", "reads"
        );
    }
    for variable in &row.variables {
        let line = |line: Option<u32>| line.map_or("-".to_owned(), |line| line.to_string());
        let again = if variable.next_iteration { "^" } else { "" };
        let _ = writeln!(
            out,
            "  {:>9}  {:name$}  {:9}  {:>7}  {:>9}  {:reads$}  {}",
            variable.registers,
            variable.name,
            class_name(variable.class),
            line(variable.defined),
            format!("{again}{}", line(variable.last_read)),
            pressure::reads(variable),
            pressure::remedy(variable.remedy)
        );
    }
    if row.variables.iter().any(|variable| variable.next_iteration) {
        let _ = writeln!(out, "  ^ in the next iteration");
    }
    let Some(budget) = measure(row, budget) else {
        return out;
    };
    let over = row.registers.saturating_sub(budget);
    let _ = match cheapest(row, budget) {
        _ if over == 0 => writeln!(out, "  fits {budget} registers"),
        Some(chosen) => {
            let names: Vec<&str> = chosen.iter().map(|it| it.name.as_str()).collect();
            writeln!(
                out,
                "  {over} over {budget} registers; cheapest to be without at the peak: {}",
                names.join(", ")
            )
        }
        None => writeln!(
            out,
            "  {over} over {budget} registers; too much is read at the peak itself"
        ),
    };
    out
}

/// The registers that a kernel is held against: those of the command line, or its own where it is over them.
pub fn measure(row: &Row, given: Option<u32>) -> Option<u32> {
    let own = row.budget.map(|budget| budget.registers);
    given.or(own.filter(|&most| row.registers > most))
}

/// The text that stands beside a file, and the lines of both that belong together, from 0.
#[derive(Debug, serde::Serialize)]
pub struct Panel {
    pub text: String,
    pub lines: Vec<(u32, u32)>,
}

/// All kernels of a file.
pub fn panel(db: &dyn Db, file: File) -> Panel {
    let source = program::text(file.source(db));
    let index = db::line_index(db, file);
    let machine = &db::machine(db, program::settings(db, file)).name;
    let mut out = Panel {
        text: format!("Registers on {machine}\n"),
        lines: Vec::new(),
    };
    let all = rows(db, file, None);
    if all.is_empty() {
        out.text.push_str("\nno kernel, no shader stage\n");
    }
    for row in &all {
        let (line, _) = line_column(source, index, row.head.start);
        out.text.push('\n');
        let first = out.text.lines().count() as u32;
        out.lines.push((first, line.saturating_sub(1)));
        out.text.push_str(&report(row, None));
        // The rows of the table are in the order of the variables, behind its head.
        let table = out.text.lines().skip(first as usize);
        let head = table
            .take_while(|line| !line.starts_with("  registers  "))
            .count() as u32;
        for (at, variable) in (first + head + 1..).zip(&row.variables) {
            if let Some(defined) = variable.defined {
                out.lines.push((at, defined.saturating_sub(1)));
            }
        }
    }
    out
}
