//! The code of a function of C in execution sets, with what each set holds: units, words with those of the prefix, its cycle,
//! and in the kernels of pipelined loops the stage of each instruction.
//!
//! ```text
//!  [                         ; 0  D1/4 A2/2 W4/8 P1
//!     mac      d0,d1,d3      ; stage 1
//! ```

use super::{CodeTarget, NoCode, Places, TargetCode};
use crate::db::{self, Db, File, Item};
use codegen::isa::sc140::{Instruction, Unit, Words, prefix};
use codegen::target::sc140::capacity::Capacity;
use codegen::target::sc140::emit::{Emitted, Line};
use codegen::target::sc140::listing::{Listing, Member, Set};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use syntax::LineIndex;

/// Columns of code in front of a comment: half a window has room for both.
const CODE: usize = 26;

/// The meaning of the comments, in front of the code.
const LEGEND: &str =
    "; behind a set: its cycle, units in use (D data, A address), words W, those of the prefix P";

pub(super) fn of(db: &dyn Db, file: File, item: Item<'_>) -> Option<TargetCode> {
    let found = db::set_emission(db, item).as_ref()?;
    let function = db::lowered(db, item).first()?.module.functions.first()?;
    let mut shown = TargetCode {
        name: function.name.to_string(),
        target: CodeTarget::Sets {
            processor: found.processor.clone(),
        },
        text: String::new(),
        lines: Vec::new(),
        externals: Vec::new(),
        refused: None,
        fit: None,
        budget: None,
    };
    match &found.code {
        Ok(emitted) => {
            let places = Places {
                db,
                file,
                item,
                function,
                known: RefCell::default(),
            };
            let own = emitted.lines.iter().filter(|line| line.function == 0);
            let lines = own
                .filter(|line| line.loc != ir::Loc::NONE)
                .filter_map(|line| {
                    let (id, source, _) = places.of(line.loc)?;
                    (id == 1).then_some((line.line + 1, source - 1))
                });
            shown.lines = lines.collect();
            let table = crate::derive::sets::processor(db, file)?;
            shown.text = format!(
                "{LEGEND}\n{}",
                with_sets(emitted, &Capacity::of(table.sets()?))
            );
        }
        Err(reasons) => shown.refused = Some(NoCode::Groups(reasons.clone())),
    }
    Some(shown)
}

/// The code of an item as it is shown, with the spills that the allocator asks for and with those reduced; `None`: both are
/// the same.
pub fn both(db: &dyn Db, file: File, item: Item<'_>) -> Option<[String; 2]> {
    let table = crate::derive::sets::processor(db, file)?;
    let capacity = Capacity::of(table.sets()?);
    let [kept, reduced] = [db::kept_emission(db, item), db::set_emission(db, item)];
    let shown = |emission: &Option<crate::derive::sets::SetEmission>| {
        let emitted = emission.as_ref()?.code.as_ref().ok()?;
        Some(format!("{LEGEND}\n{}", with_sets(emitted, &capacity)))
    };
    Some([shown(kept)?, shown(reduced)?])
}

/// Assembly with the contents of each set behind its first line.
fn with_sets(emitted: &Emitted, capacity: &Capacity) -> String {
    let document = syntax::sc140::parse(&emitted.text);
    let listing = Listing::of(&document);
    let index = LineIndex::new(&emitted.text);
    let known: FxHashMap<u32, &Line> = emitted.lines.iter().map(|line| (line.line, line)).collect();
    let mut comments: FxHashMap<u32, String> = FxHashMap::default();
    for (line, own) in &known {
        if let Some((_, stage)) = own.kernel {
            comments.insert(*line, format!("stage {stage}"));
        }
    }
    for set in &listing.sets {
        let first = index.line_column(set.span.start).0;
        // The instructions of several stand behind a bracket.
        let inside = first + u32::from(set.members.len() > 1);
        let cycle = known.get(&inside).map(|line| line.cycle);
        let Some(told) = contents(set, capacity, cycle) else {
            continue;
        };
        let own = comments.entry(first).or_default();
        *own = match own.is_empty() {
            true => told,
            false => format!("{told}, {own}"),
        };
    }
    let lines = (0..).zip(emitted.text.lines()).map(|(number, line)| {
        match comments.get(&number) {
            // Columns that a reader can compare.
            Some(comment) => format!("{line:<CODE$} ; {comment}\n"),
            None => format!("{line}\n"),
        }
    });
    lines.collect()
}

/// The share of a set that is used, in words; `None`: it waits.
fn contents(set: &Set, capacity: &Capacity, cycle: Option<u32>) -> Option<String> {
    let units: Vec<Unit> = set.members.iter().filter_map(Member::unit).collect();
    let data = units.iter().filter(|unit| **unit == Unit::Data).count();
    let head = prefix(set.instructions(), set.is_conditional(), false);
    let own = set.instructions().map(Instruction::words);
    let words = own.fold(head, Words::plus);
    let counted = |words: Words| match words.least == words.most {
        true => words.most.to_string(),
        false => format!("{}-{}", words.least, words.most),
    };
    let cycle = cycle.map_or_else(String::new, |cycle| cycle.to_string());
    let told = format!(
        "{cycle:<2} D{data}/{} A{}/{} W{}/{} P{}",
        capacity.data,
        units.len() - data,
        capacity.address,
        counted(words),
        capacity.words,
        counted(head)
    );
    (!units.is_empty()).then_some(told)
}
