//! Innermost loops as a processor with explicit groups executes them, and the code that they are a part of:
//! the bounds of the initiation interval, the one reached, and the reasons why it is not smaller. Places are
//! relative to items.
//!
//! Bounds are of the operations that selection makes of the loop, with caches that hit; the factor compares with a schedule
//! of one iteration after the other.

use super::scheduled::options;
use super::versions::with_source;
use crate::db::{self, Db, File, Item, ItemPlace};
use crate::program::{self, Language, own_items};
use codegen::predicate::hammocks::Conversions;
use codegen::refusal::{Refusal, Refused};
use codegen::specialize::source::{Source, function_at};
use codegen::target::ia64::emit::{Emitted, Options, emit, examine};
use codegen::target::ia64::pipeline::{LoopReport, Reason};
use codegen::target::ia64::requested::Asked;
use ir::{Function, Loc, Module, Site};
use smol_str::SmolStr;
use std::sync::Arc;
use syntax::{FileId, ItemKey, Span};

/// The code of an item on a processor with explicit groups.
#[derive(Clone, PartialEq, Debug)]
pub struct MachineCode {
    pub processor: SmolStr,
    /// Function 0 is the item. Loops are pipelined where that gains something.
    pub code: Result<Emitted, Vec<Refused>>,
}

/// The code of an item of C; of others none.
pub fn machine_code(db: &dyn Db, item: Item<'_>) -> Option<Arc<MachineCode>> {
    let file = item.main(db);
    if file.language(db) != Language::C {
        return None;
    }
    let module = &db::lowered(db, item).first()?.module;
    if module.functions.first()?.layout.is_empty() {
        return None;
    }
    Some(Arc::new(code_of(db, file, module)?))
}

/// The code of a module: loops are pipelined where that gains something, and as the source asks.
fn code_of(db: &dyn Db, file: File, module: &Module) -> Option<MachineCode> {
    let table = db::processor(db, program::settings(db, file));
    Some(MachineCode {
        processor: table.name.clone(),
        code: emit(module, table.epic()?, &options(db, file)),
    })
}

/// Returns true if products and sums may be one operation: as compilers for IA-64 do unless a line of the file forbids
/// it.
pub fn contracts(db: &dyn Db, file: File) -> bool {
    let forbids = |line: &str| {
        let mut words = line.trim_start().strip_prefix('#')?.split_whitespace();
        let pragma = ["pragma", "STDC", "FP_CONTRACT", "OFF"];
        pragma
            .iter()
            .all(|word| words.next() == Some(word))
            .then_some(())
    };
    !program::text(file.source(db))
        .lines()
        .any(|line| forbids(line).is_some())
}

/// Returns the reports on the loops of a module's first function; `None`: it has no code.
pub fn loops_of(db: &dyn Db, file: File, module: &Module) -> Option<Vec<LoopReport>> {
    let table = db::processor(db, program::settings(db, file));
    let found = examine(module, table.epic()?, &options(db, file));
    found.refused.is_empty().then_some(found.loops)
}

/// The branches of a module's first function that became predicates, and those that did not although the source asks it; `weights`
/// say by block how often each runs. `None`: it has no code.
pub fn conversions(
    db: &dyn Db,
    file: File,
    module: &Module,
    weights: Option<Vec<f64>>,
) -> Option<Conversions> {
    let table = db::processor(db, program::settings(db, file));
    let name = module.functions.first()?.name.clone();
    let options = Options {
        weights: weights.map(|weights| (name, weights)).into_iter().collect(),
        bundles: false,
        ..options(db, file)
    };
    let emitted = emit(module, table.epic()?, &options).ok()?;
    let first = emitted.functions.into_iter().next()?;
    Some(first.conversions)
}

/// Returns true if the editor speaks of processors with explicit groups: somebody named one, and none with execution sets.
pub fn are_shown(db: &dyn Db, file: File) -> bool {
    let settings = program::settings(db, file);
    let own = || {
        settings.analysis(db).machine_file.is_some()
            && db::processor(db, settings).name != crate::config::PROCESSOR
    };
    let sets = super::sets::processor(db, file).is_some();
    !sets
        && file.language(db) == Language::C
        && (settings.analysis(db).processor.is_some() || own())
}

/// Calls with the item, its text, the function around a place of a file, and the place in the item, where the editor speaks of such
/// processors and there is code.
pub fn in_shown_function(
    db: &dyn Db,
    file: File,
    offset: u32,
    then: &mut dyn FnMut(Item<'_>, &Source<'_>, &syntax::c_family::ast::Function, u32),
) {
    if are_shown(db, file) {
        in_function(db, file, offset, then);
    }
}

/// Calls with the item, its text, the function around a place of a file, and the place in the item.
pub fn in_function(
    db: &dyn Db,
    file: File,
    offset: u32,
    then: &mut dyn FnMut(Item<'_>, &Source<'_>, &syntax::c_family::ast::Function, u32),
) {
    let Some((place, item)) = program::item_at(db, file, offset) else {
        return;
    };
    if !item.holds(db).code {
        return;
    }
    let parsed = db::parsed(db, item);
    let inside = offset.saturating_sub(place.start);
    with_source(db, file, item, place, parsed, |source| {
        if let Some(function) = function_at(parsed, inside) {
            then(item, source, function, inside);
        }
    });
}

/// A place of an item, or of one whose call was inlined into it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ItemPlaced {
    loc: Loc,
    callee: Option<ItemKey>,
}

impl ItemPlaced {
    pub(super) fn of(function: &Function, loc: Loc) -> ItemPlaced {
        let site = (loc.site != Site(0)).then(|| function.sites.get(loc.site));
        ItemPlaced {
            loc,
            callee: site.flatten().and_then(|site| site.item.clone()),
        }
    }

    /// In the file itself.
    pub fn resolve(&self, db: &dyn Db, file: File, item: Item<'_>) -> Option<Span> {
        let (id, span) = program::absolute_in(db, file, item, self.callee.as_ref(), self.loc)?;
        (id == FileId::MAIN).then_some(span)
    }
}

/// The reason that holds a loop back.
#[derive(Clone, PartialEq, Debug)]
pub enum HeldBack {
    By(Reason),
    /// The whole function has its plain code, as the pipelined one finds no registers.
    FallenBack(Refusal),
}

#[derive(Clone, PartialEq, Debug)]
pub struct ItemRow {
    /// Its head, or its first operation.
    pub places: [ItemPlaced; 2],
    pub report: LoopReport,
    pub critical: Vec<ItemPlaced>,
    /// Each with its places.
    pub reasons: Vec<(HeldBack, Vec<ItemPlaced>)>,
    pub overcome: Vec<(HeldBack, Vec<ItemPlaced>)>,
}

/// The reports on an item's loops, with places relative to items.
#[derive(Clone, PartialEq, Debug)]
pub struct ItemLoops {
    pub function: SmolStr,
    pub name_span: Span,
    pub rows: Vec<ItemRow>,
    /// The reasons why it has no code.
    pub refused: Vec<(ItemPlaced, Refusal)>,
    /// Words of `#pragma lockstep pipeline(word)` that ask for nothing.
    pub words: Vec<(ItemPlaced, SmolStr)>,
}

impl ItemLoops {
    #[must_use]
    pub fn has_code(&self) -> bool {
        self.refused.is_empty()
    }
}

/// The loops of an item of C; of others none.
pub fn item_loops(db: &dyn Db, item: Item<'_>) -> Option<ItemLoops> {
    let file = item.main(db);
    if file.language(db) != Language::C {
        return None;
    }
    let module = &db::lowered(db, item).first()?.module;
    let function = module.functions.first()?;
    if function.layout.is_empty() {
        return None;
    }
    let table = db::processor(db, program::settings(db, file));
    let found = examine(module, table.epic()?, &options(db, file));
    let placed = |loc: Loc| ItemPlaced::of(function, loc);
    let rows = found.loops.into_iter().map(|report| {
        let mut critical: Vec<ItemPlaced> = Vec::new();
        for at in report.critical.iter().map(|link| placed(link.loc)) {
            if !critical.contains(&at) {
                critical.push(at);
            }
        }
        let told = |all: &[Reason]| -> Vec<(HeldBack, Vec<ItemPlaced>)> {
            let each = all.iter().map(|reason| {
                let places = places(reason).into_iter().map(placed).collect();
                (HeldBack::By(reason.clone()), places)
            });
            each.collect()
        };
        let (mut reasons, overcome) = (told(&report.reasons), told(&report.overcome));
        if let (false, Some(reason)) = (report.pipelined, &found.fallen_back) {
            reasons.push((HeldBack::FallenBack(reason.clone()), Vec::new()));
        }
        ItemRow {
            places: [placed(report.head), placed(report.loc)],
            report,
            critical,
            reasons,
            overcome,
        }
    });
    let rows = rows.collect();
    let refused = found.refused.iter();
    let refused = refused.map(|it| (placed(it.loc), it.reason.clone()));
    let own = function.loops.iter();
    let own = own.filter(|it| it.loc.site == Site(0));
    let words = own.filter_map(|it| {
        let word = it.pipeline.clone()?;
        let unknown = Asked::of(&word).is_none();
        unknown.then(|| (placed(it.loc), word))
    });
    Some(ItemLoops {
        function: function.name.clone(),
        name_span: function.name_span,
        rows,
        refused: refused.collect(),
        words: words.collect(),
    })
}

/// The items of the file itself that have code, and the reports on their loops; those of one name, or all.
pub fn of_file<'db>(
    db: &'db dyn Db,
    file: File,
    name: Option<&str>,
) -> Vec<(ItemPlace, Item<'db>, &'db ItemLoops)> {
    let own = own_items(db, file).into_iter();
    let own = own.filter(|(_, item)| {
        item.holds(db).code && name.is_none_or(|name| item.name(db).as_str() == name)
    });
    own.filter_map(|(at, item)| Some((at, item, db::item_loops(db, item).as_deref()?)))
        .collect()
}

fn places(reason: &Reason) -> Vec<Loc> {
    match reason {
        Reason::Operation { loc, .. } | Reason::CarriedPredicate(loc) => vec![*loc],
        Reason::MayAlias { store, other, .. } => vec![*store, *other],
        Reason::Refused(refused) => vec![refused.loc],
        _ => Vec::new(),
    }
}
