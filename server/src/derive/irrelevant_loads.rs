//! Loads that cannot matter if a value is zero, as it mostly is by the profile: those that a guard in place
//! would skip.

use super::versions::{MOST_TRIED, attempt, probability, settings, with_source};
use super::zeros;
use crate::db::{self, Db, Item};
use crate::program;
use codegen::specialize::accept::{Model, Rule};
use codegen::specialize::source::{Settings, candidates, functions_of};
use smol_str::SmolStr;
use syntax::{FileId, Span};

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
    /// without misses; an estimate.
    pub region: f64,
    pub saved: f64,
    pub machine: SmolStr,
}

/// The values of an item's functions, by position.
pub fn of_item(db: &dyn Db, item: Item<'_>) -> Vec<IrrelevantLoads> {
    let file = item.main(db);
    let place = item.place(db);
    let mut out: Vec<IrrelevantLoads> = Vec::new();
    let dialect = file.language(db).c_dialect();
    if dialect.is_none() || place.file != FileId::MAIN || zeros::stored(db, file).is_none() {
        return out;
    }
    let parsed = db::parsed(db, item);
    let machine = program::costs_of(db, file);
    with_source(db, file, item, place, parsed, |source| {
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
                let Some(model) = model else { continue };
                let model = Model {
                    probability: share,
                    ..model
                };
                if model.memory_killed == 0 || !model.accepted(Rule::Corrected) {
                    continue;
                }
                out.push(IrrelevantLoads {
                    name: candidate.name.clone(),
                    place: candidate.place,
                    share,
                    accesses: model.memory_killed,
                    region: model.region,
                    saved: model.saved(),
                    machine: machine.name.clone(),
                });
            }
        }
    });
    out.sort_by_key(|row| row.place);
    out.dedup_by_key(|row| row.place);
    out
}
