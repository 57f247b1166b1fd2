//! Loads that cannot matter where a value is zero: findings, and hints of functions without lanes.

use super::model::{Category, Diagnostic, Hint};
use super::zeros::percent;
use crate::config::Level;
use crate::db::{self, Db, Item};
use crate::derive::irrelevant_loads::IrrelevantLoads;
use facts::Code;
use syntax::FileId;

/// The share of a region's cycles that a guard saves from which on it is reported.
const WORTH: f64 = 0.25;

fn matters(row: &IrrelevantLoads) -> bool {
    row.saved >= WORTH * row.region
}

/// `×0 in 95 %: skips 3 accesses`, behind the variable that is set.
pub fn hints(db: &dyn Db, item: Item<'_>) -> Vec<Hint> {
    let place = item.place(db);
    let rows = db::irrelevant_loads(db, item).iter();
    let told = rows.filter(|row| place.file == FileId::MAIN && matters(row));
    told.map(|row| {
        let span = row.place.shifted(place.start);
        Hint {
            offset: span.end,
            label: format!(
                " ×0 in {}: {} skippable",
                percent(row.share),
                accesses(row.accesses)
            ),
            category: Category::Zero,
            about: span.start,
        }
    })
    .collect()
}

/// The findings about an item's values.
pub fn findings(db: &dyn Db, item: Item<'_>, lanes: bool) -> Vec<Diagnostic> {
    let place = item.place(db);
    let rows = db::irrelevant_loads(db, item).iter();
    let told = rows.filter(|row| place.file == FileId::MAIN && matters(row));
    told.map(|row| Diagnostic {
        code: Code::IrrelevantLoad.name(),
        level: Level::Information,
        span: row.place.shifted(place.start),
        message: format!(
            "`{}` is zero in {} of {}, where {} cannot matter: a guard saves about {:.0} of {:.0} cycles, {} (estimate, {})",
            row.name,
            percent(row.share),
            match lanes {
                true => "warps",
                false => "its executions",
            },
            accesses(row.accesses),
            row.saved,
            row.region,
            match row.missing {
                true => "with the misses of the profile",
                false => "without misses",
            },
            row.machine,
        ),
        related: Vec::new(),
        fix: None,
        item: item.name(db).to_string(),
        finding: Some(Code::IrrelevantLoad),
    })
    .collect()
}

fn accesses(count: usize) -> String {
    match count {
        1 => "1 access".to_owned(),
        count => format!("{count} accesses"),
    }
}
