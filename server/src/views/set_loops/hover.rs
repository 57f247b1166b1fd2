//! The bounds of a loop as a table, at its head.

use super::{Row, advice, promised, recurrence_links, resource, rows_of_item, title};
use crate::db::{self, Db, File};
use crate::derive::sets;
use crate::program::item_at;
use crate::views::model::Hover;
use crate::views::text::counted;
use syntax::Span;

/// The loop whose head is at a place: its units, its recurrence, its values in memory, what holds it back.
pub fn hover(db: &dyn Db, file: File, offset: u32) -> Option<Hover> {
    let table = sets::processor(db, file)?;
    let (_, item) = item_at(db, file, offset)?;
    let rows = rows_of_item(db, file, item);
    let row = rows.iter().find(|row| row.span.contains(offset))?;
    let line = |span: Span| db::line_index(db, file).line_column(span.start).0 + 1;
    Some(Hover {
        span: row.span,
        markdown: table_of(row, &table.name, &line, promised(db, file, row)),
    })
}

fn table_of(
    row: &Row,
    processor: &str,
    line: &dyn Fn(Span) -> u32,
    promised: Option<String>,
) -> String {
    let report = &row.report;
    let mut out = format!("**{}**", title(row, processor));
    if let Some(bounds) = &report.bounds {
        out += "\n\n| bound | an iteration | a set | sets |\n|---|--:|--:|--:|\n";
        for bound in &bounds.units {
            out += &format!(
                "| {} | {} | {} | {} |\n",
                resource(bound.resource),
                bound.wanted,
                bound.limit,
                bound.sets()
            );
        }
        if bounds.rec_mii > 0 {
            let cycles = counted(bounds.rec_mii as usize, "cycle", "cycles").unwrap_or_default();
            out += &format!(
                "\nRecurrence of {cycles}: {}",
                recurrence_links(row, bounds, line)
            );
        }
    }
    if !row.spills.is_empty() {
        out += "\n\n| in memory | stores | loads | cyc/iter |\n|---|--:|--:|--:|\n";
        for spill in &row.spills {
            out += &format!(
                "| {} | {} | {} | {} |\n",
                spill.name, spill.stores, spill.loads, spill.cycles
            );
        }
    }
    let mut told = Vec::new();
    for (said, remedy) in row.reasons.iter().zip(&row.remedies) {
        let mut lines: Vec<u32> = said.places.iter().map(|&span| line(span)).collect();
        lines.dedup();
        let places: Vec<String> = lines.iter().map(|line| format!("line {line}")).collect();
        let places = match places.is_empty() {
            true => String::new(),
            false => format!(" ({})", places.join(", ")),
        };
        let advice = remedy.map(|remedy| format!(". Mends it: {}", advice(remedy)));
        told.push(format!(
            "- {}{places}{}",
            said.text,
            advice.unwrap_or_default()
        ));
    }
    told.extend(promised.map(|promised| format!("- {promised}")));
    if !told.is_empty() {
        out += &format!("\n\n{}", told.join("\n"));
    }
    if report.is_pipelined() {
        out += &format!(
            "\n\n{} iterations are under way at once; the kernel holds {}. Unpipelined: {} cycles an iteration.",
            report.stages, report.copies, report.unpipelined
        );
        if report.beyond > 0 {
            out += &format!(
                " Its last pass reads up to {} bytes behind the end of an object, as is promised, and leaves no iterations to another loop.",
                report.beyond
            );
        }
    }
    out
}
