//! The branches of a file's functions, by its profile: of functions that ran on one lane, how often a predictor was wrong.

use super::pressure::outer;
use super::zeros::ProfileText;
use crate::db::{self, Db, File, Item};
use crate::program::own_items;
use facts::values::stored::{StoredBranch, found_branches};
use ir::{Function, Loc};
use smol_str::SmolStr;
use syntax::Span;

/// A branch that is mispredicted at least so often, of at least so many executions, is hard.
pub const HARD: f64 = 0.1;
pub const OFTEN: u64 = 100;

/// A branch of the source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BranchRow {
    /// Its function.
    pub item: SmolStr,
    /// The condition, relative to the item; that of the file in `rows`.
    pub span: Span,
    /// Several that stand in one place are summed.
    pub counts: StoredBranch,
    /// The code is the one that was profiled.
    pub exact: bool,
}

impl BranchRow {
    /// The share of executions that are mispredicted, from 0 to 1.
    pub fn rate(&self) -> f64 {
        self.counts.mispredicted as f64 / self.counts.executed.max(1) as f64
    }
    /// Returns true if it is mispredicted often.
    pub fn is_hard(&self) -> bool {
        self.counts.executed >= OFTEN && self.rate() >= HARD
    }
}

/// The branches of an item that its profile counts.
pub fn of_item(db: &dyn Db, item: Item<'_>) -> Vec<BranchRow> {
    let file = item.main(db);
    let profile = db::profile_of(db, file).map(|profile| db::profile_text(db, profile));
    let Some(ProfileText::Read(profile)) = profile else {
        return Vec::new();
    };
    let mut out: Vec<BranchRow> = Vec::new();
    for lowered in db::lowered(db, item).iter() {
        let functions = lowered.module.functions.first();
        let Some(function) = functions.filter(|function| !function.layout.is_empty()) else {
            continue;
        };
        let mut items = profile.items.iter();
        let stored = items
            .find(|stored| stored.name == *function.name && stored.ordinal == item.ordinal(db));
        let Some(stored) = stored else {
            continue;
        };
        let (branches, exact) = found_branches(stored, function);
        for (block, counts) in branches {
            let Some(span) = place(function, function.blocks[block].loc) else {
                continue;
            };
            out.push(BranchRow {
                item: function.name.clone(),
                span,
                counts,
                exact,
            });
        }
    }
    out.sort_by_key(|row| row.span);
    out.dedup_by(|next, row| {
        let same = next.span == row.span;
        if same {
            let (sum, more) = (&mut row.counts, next.counts);
            sum.executed += more.executed;
            sum.taken += more.taken;
            sum.mispredicted += more.mispredicted;
            sum.after = sum
                .after
                .zip(more.after)
                .map(|(first, second)| first + second);
        }
        same
    });
    out
}

/// The place of a branch in its item; of one that is inlined, the call.
fn place(function: &Function, loc: Loc) -> Option<Span> {
    let span = outer(function, loc)?;
    (!span.is_empty()).then_some(span)
}

/// The rows of a file with spans of the file.
pub fn rows(db: &dyn Db, file: File) -> Vec<BranchRow> {
    if db::profile_of(db, file).is_none() {
        return Vec::new();
    }
    let mut out = Vec::new();
    for (place, item) in own_items(db, file) {
        let rows = db::branches(db, item).iter();
        out.extend(rows.map(|row| BranchRow {
            span: row.span.shifted(place.start),
            ..row.clone()
        }));
    }
    out
}
