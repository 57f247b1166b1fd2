//! Inlay hints of assembly: the cost of a block, and the groups that wait.

use crate::config::CostHints;
use crate::db::{self, Db, File};
use crate::derive::bundles::processor;
use crate::program::Language;
use crate::views::model::{Category, Hint};
use syntax::Span;

/// Blocks of fewer groups have no hint of their own.
const GROUPS: usize = 3;

/// Returns hints on the cost of blocks: by default the cost of a block, at its first instruction, and the
/// wait of a group with its reason; with `all` the cycle of every group.
pub fn hints(
    db: &dyn Db,
    file: File,
    range: Span,
    costs: CostHints,
    line_end: &dyn Fn(u32) -> u32,
) -> Vec<Hint> {
    let mut out = Vec::new();
    let table = processor(db, file);
    let (true, Some(epic)) = (
        file.language(db) == Language::Ia64 && costs != CostHints::Off,
        table.epic(),
    ) else {
        return out;
    };
    let assembly = db::assembly(db, file);
    let lines = db::line_index(db, file);
    let line_of = |item: u32| {
        let span = assembly.place(&assembly.listing.items[item as usize]);
        (lines.line_column(span.start).0, span.start)
    };
    for groups in assembly.listing.timing(epic) {
        let (Some(first), Some(last)) = (groups.first(), groups.last()) else {
            continue;
        };
        let (start, end) = (line_of(first.items.start).1, line_of(last.items.end - 1).1);
        if end < range.start || start > range.end {
            continue;
        }
        let whole = (groups.len() >= GROUPS).then(|| {
            let nops: u32 = groups.iter().map(|group| group.nops).sum();
            let held = last.items.end - first.items.start;
            let cycles = last.cycle + last.taken;
            let plural = if nops == 1 { "" } else { "s" };
            // The editor cuts a hint at 43 characters.
            format!("block: {cycles} cycles, {held} ops, {nops} nop{plural}")
        });
        for (number, group) in groups.iter().enumerate() {
            let mut parts = Vec::new();
            if number == 0 {
                parts.extend(whole.clone());
            }
            if costs == CostHints::All {
                parts.push(format!("cycle {}", group.cycle));
            }
            if group.waits > 0 {
                let unit = if group.waits == 1 { "cycle" } else { "cycles" };
                let reason = match group.waits_for {
                    Some((item, register)) => {
                        format!(" for {register} of line {}", line_of(item).0 + 1)
                    }
                    None => String::new(),
                };
                parts.push(format!("waits {} {unit}{reason}", group.waits));
            }
            if parts.is_empty() {
                continue;
            }
            let (line, about) = line_of(group.items.start);
            out.push(Hint {
                offset: line_end(line),
                label: parts.join(" · "),
                category: Category::Cost,
                about,
            });
        }
    }
    out
}
