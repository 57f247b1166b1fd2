//! C on a processor that issues execution sets: the code of an item, its innermost loops with their bounds, and the values that
//! live in memory for want of registers. Places are relative to items.
//!
//! Loops are pipelined where that is possible. All figures are of the code that is emitted, with caches that hit.

use super::loops::ItemPlaced;
use crate::db::{self, Db, File, Item, ItemPlace};
use crate::program::{self, Language, own_items};
use codegen::machine::Table;
use codegen::refusal::{Refusal, Refused};
use codegen::target::sc140::emit::{
    Emitted, LoopReport, Obstacle, Options, Reason, SpillCost, SpilledValue, Unpipelined, emit,
};
use codegen::target::sc140::promised::{Pace, Proposal, proposed};
use ir::{Function, Loc, Module, VariableKind};
use smol_str::SmolStr;
use std::sync::Arc;
use syntax::Span;

/// The processor that C of a file is shown for, if it issues execution sets: the user's own table, or the one that is named.
pub fn processor(db: &dyn Db, file: File) -> Option<Arc<Table>> {
    if file.language(db) != Language::C {
        return None;
    }
    program::c_set_processor(db, program::settings(db, file))
}

/// The name of the processor that C of a file is shown for.
pub fn processor_name(db: &dyn Db, file: File) -> SmolStr {
    match processor(db, file) {
        Some(table) => table.name.clone(),
        None => db::processor(db, program::settings(db, file)).name.clone(),
    }
}

/// The code of an item on such a processor.
#[derive(Clone, PartialEq, Debug)]
pub struct SetEmission {
    pub processor: SmolStr,
    /// Function 0 is the item.
    pub code: Result<Emitted, Vec<Refused>>,
}

/// The code of an item of C; of others none.
pub fn emission(db: &dyn Db, item: Item<'_>) -> Option<SetEmission> {
    emission_with(db, item, &Options::default())
}

/// That code, made in another way.
fn emission_with(db: &dyn Db, item: Item<'_>, options: &Options) -> Option<SetEmission> {
    let table = processor(db, item.main(db))?;
    let module = &db::lowered(db, item).first()?.module;
    if module.functions.first()?.layout.is_empty() {
        return None;
    }
    Some(SetEmission {
        processor: table.name.clone(),
        code: emit(module, table.sets()?, options),
    })
}

/// The reason that holds a loop back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HeldBack {
    By(Reason),
    Unpipelined(Unpipelined),
}

#[derive(Clone, PartialEq, Debug)]
pub struct LoopRow {
    /// Its head, or its first operation.
    pub places: [ItemPlaced; 2],
    pub report: LoopReport,
    /// The places of the operations of the recurrence, in its order.
    pub critical: Vec<ItemPlaced>,
    /// Each with its places.
    pub reasons: Vec<(HeldBack, Vec<ItemPlaced>)>,
    /// The spilled values that cost something in it, by number.
    pub spills: Vec<(usize, SpillCost)>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct SpillRow {
    pub value: SpilledValue,
    /// Of an argument its declaration.
    pub definition: Option<ItemPlaced>,
    pub stores: Vec<ItemPlaced>,
    pub loads: Vec<ItemPlaced>,
    /// The heads of the loops of `value.loops`.
    pub heads: Vec<ItemPlaced>,
    /// For each of `value.obstacles` its own place, and those of the values that the register holds.
    pub obstacles: Vec<(Option<ItemPlaced>, Vec<ItemPlaced>)>,
}

/// The reports on an item's code, with places relative to items.
#[derive(Clone, PartialEq, Debug)]
pub struct ItemSets {
    pub function: SmolStr,
    pub name_span: Span,
    pub loops: Vec<LoopRow>,
    pub spills: Vec<SpillRow>,
    /// The reasons why it has no code.
    pub refused: Vec<(ItemPlaced, Refusal)>,
}

/// The reports on an item of C; of others none.
pub fn item_sets(db: &dyn Db, item: Item<'_>) -> Option<ItemSets> {
    reports(db, item, db::set_emission(db, item).as_ref()?)
}

/// The reports on an item of C with what keeps each register from the values in memory; where none is there, as they are.
pub fn explained(db: &dyn Db, item: Item<'_>) -> Option<ItemSets> {
    let plain = db::item_sets(db, item).as_deref()?;
    if plain.spills.is_empty() {
        return Some(plain.clone());
    }
    let options = Options {
        explain_spills: true,
        ..Options::default()
    };
    reports(db, item, &emission_with(db, item, &options)?)
}

/// The loads and stores of spilled values in a function's text, and the sets of an execution, by estimated executions.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Spending {
    pub loads: u32,
    pub stores: u32,
    pub cycles: f64,
}

/// The code of an item of C with the spills that the allocator asks for, where reducing them makes a difference.
pub fn kept_emission(db: &dyn Db, item: Item<'_>) -> Option<SetEmission> {
    let made = db::set_emission(db, item).as_ref()?.code.as_ref().ok()?;
    let [given, left] = made.functions.first()?.transfers;
    if given == left {
        return None;
    }
    let options = Options {
        reduce_spills: false,
        ..Options::default()
    };
    emission_with(db, item, &options)
}

/// The cost of an item's spills before and after they are reduced, where that makes a difference.
pub fn spending(db: &dyn Db, item: Item<'_>) -> Option<[Spending; 2]> {
    let [kept, reduced] = [db::kept_emission(db, item), db::set_emission(db, item)];
    let of = |emission: &Option<SetEmission>| {
        let report = emission.as_ref()?.code.as_ref().ok()?.functions.first()?;
        let [_, left] = report.transfers;
        Some(Spending {
            loads: left.loads,
            stores: left.stores,
            cycles: report.cycles,
        })
    };
    Some([of(kept)?, of(reduced)?])
}

/// The loops of a changed item's code.
pub fn loops_of(db: &dyn Db, item: Item<'_>, module: &Module) -> Option<Vec<LoopReport>> {
    let table = processor(db, item.main(db))?;
    let emitted = emit(module, table.sets()?, &Options::default()).ok()?;
    Some(emitted.functions.into_iter().next()?.loops)
}

/// A loop that promises would make better.
#[derive(Clone, PartialEq, Debug)]
pub struct PromisedLoop {
    pub head: ItemPlaced,
    pub before: Pace,
    pub after: Pace,
    /// Each with the parameter's name; those about this loop and about all.
    pub promises: Vec<(Proposal, SmolStr)>,
}

/// The loops of an item of C that promises would make faster.
pub fn promised(db: &dyn Db, item: Item<'_>) -> Option<Vec<PromisedLoop>> {
    let table = processor(db, item.main(db))?;
    let module = &db::lowered(db, item).first()?.module;
    let function = module.functions.first()?;
    let made = db::set_emission(db, item).as_ref()?.code.as_ref().ok()?;
    let before = made.functions.first()?;
    let found = proposed(module, before, table.sets()?, &Options::default())?;
    let name = |proposal: &Proposal| match proposal {
        Proposal::Apart { parameter }
        | Proposal::Aligned { parameter, .. }
        | Proposal::Readable { parameter, .. } => function.parameters[*parameter].name.clone(),
        Proposal::Rounds { .. } => SmolStr::default(),
    };
    let each = found.gains.iter().map(|gain| {
        let about = |proposal: &&Proposal| match proposal {
            Proposal::Rounds { head, .. } => *head == gain.head,
            _ => true,
        };
        let promises = found.promises.iter().filter(about);
        PromisedLoop {
            head: ItemPlaced::of(function, gain.head),
            before: gain.before,
            after: gain.after,
            promises: promises.map(|promise| (*promise, name(promise))).collect(),
        }
    });
    Some(each.collect())
}

fn reports(db: &dyn Db, item: Item<'_>, made: &SetEmission) -> Option<ItemSets> {
    let function = db::lowered(db, item).first()?.module.functions.first()?;
    let mut out = ItemSets {
        function: function.name.clone(),
        name_span: function.name_span,
        loops: Vec::new(),
        spills: Vec::new(),
        refused: Vec::new(),
    };
    match &made.code {
        Err(reasons) => {
            let each = reasons.iter();
            let each = each.map(|it| (ItemPlaced::of(function, it.loc), it.reason.clone()));
            out.refused = each.collect();
        }
        Ok(emitted) => {
            let report = emitted.functions.first()?;
            let spills = &report.spills;
            out.loops = report
                .loops
                .iter()
                .map(|report| loop_row(function, report, spills))
                .collect();
            out.spills = spills
                .iter()
                .map(|spill| spill_row(function, spill))
                .collect();
        }
    }
    Some(out)
}

fn loop_row(function: &Function, report: &LoopReport, spills: &[SpilledValue]) -> LoopRow {
    let placed = |loc: Loc| ItemPlaced::of(function, loc);
    let links = report.bounds.iter().flat_map(|bounds| &bounds.critical);
    let by = report.reasons.iter().map(|reason| {
        let places = reason.places().into_iter().map(placed).collect();
        (HeldBack::By(*reason), places)
    });
    // What holds it back is the reason why there is no better schedule.
    let follows = |reason: &Unpipelined| {
        matches!(reason, Unpipelined::Schedule(_)) && !report.reasons.is_empty()
    };
    let refused = report.refused.into_iter().filter(|reason| !follows(reason));
    let refused = refused.map(|reason| (HeldBack::Unpipelined(reason), Vec::new()));
    let own = spills.iter().enumerate().filter_map(|(number, value)| {
        let mut costs = value.loops.iter();
        let cost = costs.find(|cost| cost.head == report.head && cost.head != Loc::NONE)?;
        Some((number, *cost))
    });
    LoopRow {
        places: [placed(report.head), placed(report.loc)],
        critical: links.map(|link| placed(link.loc)).collect(),
        reasons: by.chain(refused).collect(),
        spills: own.collect(),
        report: report.clone(),
    }
}

fn spill_row(function: &Function, value: &SpilledValue) -> SpillRow {
    let placed = |&loc: &Loc| ItemPlaced::of(function, loc);
    let declared = || {
        let name = value.name.as_ref()?;
        let mut variables = function.variables.values();
        let own =
            variables.find(|known| known.kind == VariableKind::Parameter && known.name == *name);
        own.map(|own| placed(&own.declared))
    };
    SpillRow {
        definition: match value.definition {
            Loc::NONE => declared(),
            definition => Some(placed(&definition)),
        },
        stores: value.stores.iter().map(placed).collect(),
        loads: value.loads.iter().map(placed).collect(),
        heads: value.loops.iter().map(|cost| placed(&cost.head)).collect(),
        obstacles: value
            .obstacles
            .iter()
            .map(|found| match &found.obstacle {
                Obstacle::Taken(by) | Obstacle::TakenInPart(by) => (
                    None,
                    by.iter().map(|holder| placed(&holder.definition)).collect(),
                ),
                Obstacle::Call(loc) => (Some(placed(loc)), Vec::new()),
                Obstacle::Longer(longer) | Obstacle::Whole(longer) => {
                    (Some(placed(&longer.at)), Vec::new())
                }
                Obstacle::LeftOut | Obstacle::Saving { .. } | Obstacle::Kept | Obstacle::Open => {
                    (None, Vec::new())
                }
            })
            .collect(),
        value: value.clone(),
    }
}

/// The items of the file itself that have code on such a processor, and the reports; those of one name, or all.
pub fn of_file<'db>(
    db: &'db dyn Db,
    file: File,
    name: Option<&str>,
) -> Vec<(ItemPlace, Item<'db>, &'db ItemSets)> {
    if processor(db, file).is_none() {
        return Vec::new();
    }
    let own = own_items(db, file).into_iter();
    let own = own.filter(|(_, item)| {
        item.holds(db).code && name.is_none_or(|name| item.name(db).as_str() == name)
    });
    own.filter_map(|(at, item)| Some((at, item, db::item_sets(db, item).as_deref()?)))
        .collect()
}
