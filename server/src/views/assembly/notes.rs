//! Notes on assembly that are given without being asked for: dependences that a group must not hold,
//! registers that no frame holds, stops that cost a cycle, blocks that have more nops or cycles than they
//! need.

use crate::config::Level;
use crate::db::{self, Db, File};
use crate::derive::bundles::processor;
use crate::program::{Assembly, Language};
use crate::views::model::Note;
use codegen::target::ia64::groups::Hazard;
use codegen::target::ia64::rebundle::Outcome;
use syntax::Span;
use syntax::ia64::StatementKind;

/// A block whose re-bundling saves fewer cycles, and fewer nops, is not reported.
const CYCLES: u32 = 2;
const NOPS: u32 = 3;

/// All of a file.
pub fn notes(db: &dyn Db, file: File) -> Vec<Note> {
    if file.language(db) != Language::Ia64 {
        return Vec::new();
    }
    let assembly = db::assembly(db, file);
    let mut out = violations(db, file, assembly);
    out.extend(beyond(assembly));
    out.extend(ranges(assembly));
    out.extend(stops(db, file, assembly));
    out.extend(waste(db, file, assembly));
    out
}

fn of_item(assembly: &Assembly, item: u32) -> Span {
    assembly.place(&assembly.listing.items[item as usize])
}

/// Two instructions of a group of which one must wait for the next.
fn violations(db: &dyn Db, file: File, assembly: &Assembly) -> Vec<Note> {
    let lines = db::line_index(db, file);
    let told = assembly.listing.violations().into_iter().map(|violation| {
        let from = of_item(assembly, violation.from);
        let line = lines.line_column(from.start).0 + 1;
        let register = violation.register;
        let what = match violation.hazard {
            Hazard::ReadAfterWrite => {
                format!("is read in the group in which line {line} writes it")
            }
            Hazard::WriteAfterWrite => {
                format!("is written again in the group in which line {line} writes it")
            }
            Hazard::WriteAfterRead => {
                format!(
                    "is written by the loop branch in the group in which line {line} branches on it"
                )
            }
        };
        let related = match violation.hazard {
            Hazard::WriteAfterRead => "read here",
            _ => "written here",
        };
        let message =
            format!("{register} {what}: what happens is undefined without a stop (`;;`) between");
        Note {
            item: String::new(),
            code: "group-dependency",
            level: Level::Warning,
            span: of_item(assembly, violation.to),
            message,
            other: Some((from, related)),
        }
    });
    told.collect()
}

/// Stacked registers that are not there.
fn beyond(assembly: &Assembly) -> impl Iterator<Item = Note> + '_ {
    assembly.listing.beyond.iter().map(|it| {
        let message = match it.frame {
            Some(frame) => format!(
                "{} is outside of the frame: `alloc` gives {frame} registers, the last is r{}",
                it.register,
                31 + frame
            ),
            None => format!(
                "{} without `alloc`: a caller passes at most eight registers, r32 to r39",
                it.register
            ),
        };
        Note {
            item: String::new(),
            code: "register-without-alloc",
            level: Level::Warning,
            span: of_item(assembly, it.item),
            message,
            other: None,
        }
    })
}

/// Numbers that instructions have no room for.
fn ranges(assembly: &Assembly) -> impl Iterator<Item = Note> + '_ {
    assembly.listing.ranges.iter().map(|range| Note {
        item: String::new(),
        code: "operand-range",
        level: Level::Error,
        span: range.span,
        message: format!(
            "{} does not fit: this operand is {}",
            range.number, range.field
        ),
        other: None,
    })
}

/// Stops that make their block a cycle longer.
fn stops(db: &dyn Db, file: File, assembly: &Assembly) -> Vec<Note> {
    let table = processor(db, file);
    let Some(epic) = table.epic() else {
        return Vec::new();
    };
    let blocks = assembly.listing.timing(epic);
    let groups = blocks.iter().flatten().filter(|group| group.needless_stop);
    let told = groups.map(|group| {
        let statements = &assembly.document.statements;
        let first = assembly.listing.items[group.items.start as usize].statement;
        let before = statements[..first as usize].iter().rev();
        let stop = before
            .take(8)
            .find(|it| it.kind == StatementKind::Stop)
            .map_or_else(|| of_item(assembly, group.items.start), |it| it.span);
        Note {
            item: String::new(),
            code: "needless-stop",
            level: Level::Information,
            span: stop,
            message: format!(
                "nothing behind this stop needs what stands in front of it: one group of both takes a cycle less (estimate for {})",
                table.name
            ),
            other: None,
        }
    });
    told.collect()
}

/// Blocks that take more cycles or nops than they need.
fn waste(db: &dyn Db, file: File, assembly: &Assembly) -> Vec<Note> {
    let table = processor(db, file);
    let blocks = db::bundles(db, file).iter().filter_map(|block| {
        let Outcome::Rewritten { after, .. } = &block.outcome else {
            return None;
        };
        let before = block.before;
        if before.cycles < after.cycles + CYCLES && before.nops < after.nops + NOPS {
            return None;
        }
        Some(Note {
            item: String::new(),
            code: "nop-waste",
            level: Level::Information,
            span: of_item(assembly, block.items.start),
            message: format!(
                "{} of the block's {} slots are nops, in {} cycles: re-bundled {} of {}, in {} (estimate for {})",
                before.nops,
                3 * before.bundles,
                before.cycles,
                after.nops,
                3 * after.bundles,
                after.cycles,
                table.name
            ),
            other: None,
        })
    });
    blocks.collect()
}
