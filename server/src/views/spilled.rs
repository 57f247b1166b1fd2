//! The values of C that live in memory for want of registers, on a processor that issues execution sets: at their definition, in
//! the lens and as findings in loops.
//!
//! ```text
//! int acc2 = 0;        acc2 spills: 3 cyc/iter
//! ```
//!
//! Costs are the cycles that the loop's sets would not take without the accesses, an estimate; an access that fits beside others
//! costs none.

pub mod obstacles;
pub mod reduced;

use super::model::{Category, Hint, Hover, Note};
use super::text::counted;
use crate::config::Level;
use crate::db::{self, Db, File, Item};
use crate::derive::sets::{ItemSets, SpillRow, of_file};
use crate::program::{self, item_at};
use codegen::isa::sc140::File as Registers;
use facts::Code;
use obstacles::Kept;
use smol_str::SmolStr;
use syntax::Span;

/// A value in memory, with places of the file.
#[derive(Clone, PartialEq, Debug)]
pub struct Spilled {
    pub function: SmolStr,
    pub variable: Option<SmolStr>,
    pub registers: Registers,
    pub definition: Option<Span>,
    pub stores: Vec<Span>,
    pub loads: Vec<Span>,
    /// The loops that access it: head, cycles an iteration, stores and loads.
    pub loops: Vec<(Option<Span>, u32, u32, u32)>,
    /// The registers that it does not have, by what keeps them from it; empty unless that was asked for.
    pub obstacles: Vec<Kept>,
}

impl Spilled {
    fn of(db: &dyn Db, file: File, item: Item<'_>, function: &SmolStr, row: &SpillRow) -> Spilled {
        let place = |placed: &crate::derive::loops::ItemPlaced| placed.resolve(db, file, item);
        let loops = row.heads.iter().zip(&row.value.loops);
        Spilled {
            function: function.clone(),
            variable: row.value.name.clone(),
            registers: row.value.file,
            definition: row.definition.as_ref().and_then(place),
            stores: row.stores.iter().filter_map(place).collect(),
            loads: row.loads.iter().filter_map(place).collect(),
            loops: loops
                .map(|(head, cost)| (place(head), cost.cycles, cost.stores, cost.loads))
                .collect(),
            obstacles: obstacles::of(row, &place),
        }
    }

    /// The variable, or its place in words.
    #[must_use]
    pub fn name(&self, db: &dyn Db, file: File) -> String {
        let line = || {
            let place = self.definition.or(self.loads.first().copied())?;
            Some(db::line_index(db, file).line_column(place.start).0 + 1)
        };
        match (&self.variable, line()) {
            (Some(name), _) => format!("`{name}`"),
            (None, Some(line)) => format!("a value of line {line}"),
            (None, None) => "a value".to_owned(),
        }
    }

    /// Cycles an iteration, in all loops.
    #[must_use]
    pub fn cycles(&self) -> u32 {
        self.loops.iter().map(|it| it.1).sum()
    }
}

/// The values of an item.
pub(super) fn of_item(db: &dyn Db, file: File, item: Item<'_>, found: &ItemSets) -> Vec<Spilled> {
    let rows = found.spills.iter();
    rows.map(|row| Spilled::of(db, file, item, &found.function, row))
        .collect()
}

/// The values of a file's functions, or of that of this name.
pub fn rows(db: &dyn Db, file: File, name: Option<&str>) -> Vec<Spilled> {
    let found = of_file(db, file, name).into_iter();
    found
        .flat_map(|(_, item, found)| of_item(db, file, item, found))
        .collect()
}

/// The same with what keeps each register from them.
pub fn explained(db: &dyn Db, file: File, name: Option<&str>) -> Vec<Spilled> {
    let found = of_file(db, file, name).into_iter();
    let found =
        found.filter_map(|(_, item, _)| Some((item, db::explained_sets(db, item).as_deref()?)));
    found
        .flat_map(|(item, found)| of_item(db, file, item, found))
        .collect()
}

/// Why a value had to leave, for people: its file of registers is full.
#[must_use]
pub const fn full(file: Registers) -> &'static str {
    match file {
        Registers::Address => "the address registers are full",
        Registers::Truth => "T, the only flag, is needed for another value",
        _ => "the data registers are full",
    }
}

/// The file of registers that was full, by name.
#[must_use]
pub const fn registers(file: Registers) -> &'static str {
    match file {
        Registers::Address => "address registers",
        Registers::Truth => "flag T",
        _ => "data registers",
    }
}

/// Remarks at definitions: what each costs an iteration; `all`: also where that is nothing beside other work.
pub fn hints(db: &dyn Db, file: File, all: bool, line_end: &dyn Fn(u32) -> u32) -> Vec<Hint> {
    let lines = db::line_index(db, file);
    let mut out = Vec::new();
    for spilled in rows(db, file, None) {
        let (Some(name), Some(definition)) = (&spilled.variable, spilled.definition) else {
            continue;
        };
        let accesses: u32 = spilled.loops.iter().map(|it| it.2 + it.3).sum();
        let label = match (spilled.cycles(), accesses) {
            (0, accesses) if accesses == 0 || !all => continue,
            (0, 1) => format!("{name} spills: 1 access/iter"),
            (0, accesses) => format!("{name} spills: {accesses} accesses/iter"),
            (cycles, _) => format!("{name} spills: {cycles} cyc/iter"),
        };
        out.push(Hint {
            offset: line_end(lines.line_column(definition.start).0),
            label: format!(" {label}"),
            category: Category::Registers,
            about: definition.start,
        });
    }
    out
}

/// The value whose variable is defined at a place.
pub fn hover(db: &dyn Db, file: File, offset: u32) -> Option<Hover> {
    let (_, item) = item_at(db, file, offset)?;
    crate::derive::sets::processor(db, file)?;
    let found = db::item_sets(db, item).as_deref()?;
    let text = program::text(file.source(db));
    let word = word_at(text, offset)?;
    let named = text.get(word.start as usize..word.end as usize)?;
    let values = of_item(db, file, item, found);
    let is_it = |value: &&Spilled| value.variable.as_deref() == Some(named);
    values.iter().find(is_it)?;
    let explained = of_item(db, file, item, db::explained_sets(db, item).as_deref()?);
    let own = explained.iter().find(is_it)?;
    Some(Hover {
        span: word,
        markdown: markdown(db, file, own),
    })
}

fn word_at(text: &str, offset: u32) -> Option<Span> {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let bytes = text.as_bytes();
    let at = offset as usize;
    if !bytes.get(at).copied().is_some_and(is_word) {
        return None;
    }
    let start = (0..at)
        .rev()
        .take_while(|&it| is_word(bytes[it]))
        .last()
        .unwrap_or(at);
    let end = (at..bytes.len())
        .find(|&it| !is_word(bytes[it]))
        .unwrap_or(bytes.len());
    Some(Span::new(start as u32, end as u32))
}

fn markdown(db: &dyn Db, file: File, own: &Spilled) -> String {
    let lines = |places: &[Span]| {
        let index = db::line_index(db, file);
        let mut lines: Vec<u32> = places
            .iter()
            .map(|span| index.line_column(span.start).0 + 1)
            .collect();
        lines.sort_unstable();
        lines.dedup();
        let words: Vec<String> = lines.iter().map(u32::to_string).collect();
        match words.len() {
            0 => "on arrival".to_owned(),
            1 => format!("for line {}", words[0]),
            _ => format!("for lines {}", words.join(", ")),
        }
    };
    let mut out = format!(
        "**{} spills**: {}, it waits in memory (estimate)\n\nstored {}; loaded {}",
        own.name(db, file),
        full(own.registers),
        lines(&own.stores),
        lines(&own.loads)
    );
    for (head, cycles, stores, loads) in &own.loops {
        let line = head.map(|head| db::line_index(db, file).line_column(head.start).0 + 1);
        let line = line.map_or_else(String::new, |line| format!(" of line {line}"));
        let told = match cycles {
            0 => "no cycle more, as units are idle there".to_owned(),
            1 => "1 cycle an iteration".to_owned(),
            cycles => format!("{cycles} cycles an iteration"),
        };
        let stores = counted(*stores as usize, "store", "stores");
        let loads = counted(*loads as usize, "load", "loads");
        let accesses: Vec<String> = stores.into_iter().chain(loads).collect();
        out += &format!("\n\nin the loop{line}: {}, {told}", accesses.join(" and "));
    }
    let line = |span: Span| db::line_index(db, file).line_column(span.start).0 + 1;
    let kept = own
        .obstacles
        .iter()
        .map(|kept| format!("\n- {}", kept.sentence(&line)));
    let kept: String = kept.collect();
    if !kept.is_empty() {
        out += &format!("\n\nThe registers while it waits:\n{kept}");
    }
    out
}

/// Loops that store or load values in memory: one finding a loop.
pub(super) fn notes(db: &dyn Db, file: File) -> Vec<Note> {
    let Some(table) = crate::derive::sets::processor(db, file) else {
        return Vec::new();
    };
    let mut out = Vec::new();
    for row in super::set_loops::rows(db, file, None) {
        if row.spills.is_empty() || row.is_inlined() {
            continue;
        }
        let names: Vec<&str> = row.spills.iter().map(|spill| spill.name.as_str()).collect();
        let accesses: u32 = row
            .spills
            .iter()
            .map(|spill| spill.stores + spill.loads)
            .sum();
        let cycles = match row.spill_cycles() {
            0 => "no cycle more beside its other work".to_owned(),
            1 => "1 cycle an iteration".to_owned(),
            cycles => format!("{cycles} cycles an iteration"),
        };
        let registers = match super::set_loops::wants_registers(&row.report) {
            Some(interval) => format!(
                "; with registers for all, an iteration would begin every {interval} cycles"
            ),
            None => String::new(),
        };
        out.push(Note {
            code: Code::SpillInLoop.name(),
            level: Level::Information,
            item: row.item.to_string(),
            span: row.span,
            message: format!(
                "the loop finds {} in memory ({}; estimate): {} an iteration, {cycles}{registers}",
                names.join(", "),
                table.name,
                counted(accesses as usize, "access", "accesses").unwrap_or_default()
            ),
            other: None,
        });
    }
    out
}
