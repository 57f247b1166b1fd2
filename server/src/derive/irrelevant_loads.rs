//! Loads that cannot matter if a value is zero, as it mostly is by the profile: those that a guard in place
//! would skip.

use super::ptx_versions::{Trying, Way};
use super::versions::{MOST_TRIED, attempt, probability, settings, with_item};
use super::zeros;
use crate::db::{self, Db, File, Item};
use crate::program::{self, Language};
use codegen::specialize::accept::{Model, Rule};
use codegen::specialize::source::{Settings, candidates, functions_of};
use facts::cost::Machine;
use smol_str::SmolStr;
use syntax::Span;

/// The share of zeros from which on a guard is tried.
const OFTEN: f64 = 0.5;

/// A value whose zeros make accesses to memory useless.
#[derive(Clone, PartialEq, Debug)]
pub struct IrrelevantLoads {
    pub name: SmolStr,
    /// Its name where it is set, relative to the item.
    pub place: Span,
    /// The share of executions in which it is zero: in all lanes of a warp, of functions without lanes by
    /// itself.
    pub share: f64,
    /// Accesses that a guard skips.
    pub accesses: usize,
    /// Cycles of the guarded statements for an entry of the function, and those of them that a guard saves,
    /// with what loads wait for caches where the profile counted it; an estimate.
    pub region: f64,
    pub saved: f64,
    /// Misses are among them.
    pub missing: bool,
    pub machine: SmolStr,
}

/// The values of an item's functions, by position.
pub fn of_item(db: &dyn Db, item: Item<'_>) -> Vec<IrrelevantLoads> {
    let file = item.main(db);
    if !item.holds(db).own || zeros::stored(db, file).is_none() {
        return Vec::new();
    }
    let mut out = match file.language(db) {
        Language::Ptx => of_ptx(db, file, item),
        language if language.c_dialect().is_some() => of_source(db, file, item),
        _ => Vec::new(),
    };
    out.sort_by_key(|row| row.place);
    out.dedup_by_key(|row| row.place);
    out
}

/// A row, if a guard with this estimate skips an access and is worth it.
fn row(
    name: SmolStr,
    place: Span,
    share: f64,
    model: Model,
    machine: &Machine,
) -> Option<IrrelevantLoads> {
    let model = Model {
        probability: share,
        ..model
    };
    let worth = model.memory_killed > 0 && model.accepted(Rule::Corrected);
    worth.then(|| IrrelevantLoads {
        name,
        place,
        share,
        accesses: model.memory_killed,
        region: model.region,
        saved: model.saved(),
        missing: model.waited > 0.0,
        machine: machine.name.clone(),
    })
}

/// The registers of a PTX function.
fn of_ptx(db: &dyn Db, file: File, item: Item<'_>) -> Vec<IrrelevantLoads> {
    let Some(trying) = Trying::new(db, file, item) else {
        return Vec::new();
    };
    let allowed = trying.allowed(file);
    let all = trying.document.candidates().into_iter();
    let shared = all.filter_map(|candidate| Some((trying.share(&candidate)?, candidate)));
    let mut known: Vec<_> = shared.filter(|(share, _)| *share >= OFTEN).collect();
    known.sort_by(|a, b| b.0.total_cmp(&a.0));
    let rows = known.into_iter().take(MOST_TRIED);
    rows.filter_map(|(share, candidate)| {
        let made = trying.attempt(Way::Guards, &candidate, allowed).ok()?;
        let place = *candidate.places.first()?;
        row(made.name.into(), place, share, made.model, trying.machine)
    })
    .collect()
}

/// The variables of an item of C, CUDA or HLSL.
fn of_source(db: &dyn Db, file: File, item: Item<'_>) -> Vec<IrrelevantLoads> {
    let mut out: Vec<IrrelevantLoads> = Vec::new();
    let parsed = db::parsed(db, item);
    let machine = program::costs_of(db, file);
    with_item(db, file, item, |source| {
        let allowed = Settings {
            each_lane: true,
            ..settings(db, file, item)
        };
        for function in functions_of(parsed) {
            let mut known: Vec<_> = candidates(source, function)
                .into_iter()
                .filter(|candidate| !candidate.is_operand())
                .filter_map(|candidate| Some((probability(db, item, &candidate)?, candidate)))
                .filter(|(share, _)| *share >= OFTEN)
                .collect();
            known.sort_by(|a, b| b.0.total_cmp(&a.0));
            for (share, candidate) in known.into_iter().take(MOST_TRIED) {
                let tried = attempt(db, item, source, function, &candidate, allowed);
                let model = tried.ok().and_then(|offer| offer.model);
                let found = model.and_then(|model| {
                    row(
                        candidate.name.clone(),
                        candidate.place,
                        share,
                        model,
                        machine,
                    )
                });
                out.extend(found);
            }
        }
    });
    out
}
