//! The spills of a function of C before and after they are reduced: an action that shows both codes.
//!
//! ```text
//! Compare spills before and after reduction: 9 to 2 loads, 4 to 1 stores, 120 to 105 cycles
//! ```
//!
//! Before are those that the allocator asks for. Nothing is edited: `emit`, and the code beside the source, have them reduced.
//! Cycles are sets of an execution by the estimated executions of blocks.

use crate::db::{self, Db, File, Item};
use crate::derive;
use crate::derive::sets::{Spending, spending};
use crate::program::item_at;
use crate::views::compared::{CodeChange, Codes};
use crate::views::model::{Action, Doing};
use syntax::Span;

const ID: &str = "reduce-spills";

/// The action on the head of a function, and where a value that still spills is defined.
pub fn actions(db: &dyn Db, file: File, range: Span) -> Vec<Action> {
    let found = || {
        let (place, item) = item_at(db, file, range.start)?;
        let rows = db::item_sets(db, item).as_deref()?;
        let own = spending(db, item)?;
        let lines = db::line_index(db, file);
        let line = |at: u32| lines.line_column(at).0;
        let head = rows.name_span.shifted(place.start);
        let values = super::of_item(db, file, item, rows).into_iter();
        let mut places = values.filter_map(|value| value.definition).chain([head]);
        places
            .any(|span| line(span.start) == line(range.start))
            .then_some(own)
    };
    let Some([before, after]) = found() else {
        return Vec::new();
    };
    let mut action = Action::rewrite(
        ID,
        format!(
            "Compare spills before and after reduction: {}",
            difference(before, after)
        ),
    );
    action.effect = "both codes side by side (estimate); nothing is edited".to_owned();
    action.what = Doing::Codes(Codes::Spills);
    vec![action]
}

/// Both codes of the function at a place, if they differ.
pub fn change(db: &dyn Db, file: File, offset: u32) -> Option<CodeChange> {
    let (_, item) = item_at(db, file, offset)?;
    of_item(db, file, item)
}

fn of_item(db: &dyn Db, file: File, item: Item<'_>) -> Option<CodeChange> {
    let [before, after] = spending(db, item)?;
    let table = derive::sets::processor(db, file)?;
    let [kept, reduced] = derive::code::sets::both(db, file, item)?;
    Some(CodeChange {
        function: db::item_sets(db, item).as_deref()?.function.clone(),
        target: table.name.to_string(),
        comment: ";",
        difference: difference(before, after),
        names: ["spills as the allocator asks for", "spills reduced"],
        before: kept,
        after: reduced,
    })
}

/// The difference in words.
fn difference(before: Spending, after: Spending) -> String {
    let counts = [
        (f64::from(before.loads), f64::from(after.loads), "loads"),
        (f64::from(before.stores), f64::from(after.stores), "stores"),
        (before.cycles, after.cycles, "cycles"),
    ];
    let words = counts.iter().filter(|(before, _, _)| *before > 0.0);
    let words = words.map(
        |(before, after, unit)| match before.round() == after.round() {
            true => format!("{before:.0} {unit} still"),
            false => format!("{before:.0} to {after:.0} {unit}"),
        },
    );
    words.collect::<Vec<String>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_names_what_stays() {
        let before = Spending {
            loads: 9,
            stores: 0,
            cycles: 120.4,
        };
        let after = Spending {
            loads: 2,
            stores: 0,
            cycles: 119.6,
        };
        assert_eq!(difference(before, after), "9 to 2 loads, 120 cycles still");
    }
}
