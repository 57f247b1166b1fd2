//! The profile of a function's values: the number of warps that held zero in all lanes, and the most frequent
//! values.

use super::model::{ValueRow, ValuesRow};
use crate::db::{self, Db, File, Item};
use crate::derive::zeros::{self, FileProfile};
use facts::values::stored::{StoredItem, StoredValue};
use ir::Type;
use oracle::interp::simple::show;

/// Values that are shown of a function, and the most frequent of each.
const MOST: usize = 24;
const TOP: usize = 4;

/// `None`: there is no profile of it.
pub(super) fn values(db: &dyn Db, file: File, item: Item<'_>, name: &str) -> Option<ValuesRow> {
    let FileProfile::Read(_, _, profile) = zeros::file_profile(db, file) else {
        return None;
    };
    let same = |it: &&StoredItem| it.name == name && it.ordinal == item.ordinal(db);
    let stored = profile.items.iter().find(same)?;
    let interesting = |value: &&StoredValue| {
        !value.name.is_empty()
            && value.executions > 0
            && (value.zeros > 0
                || value
                    .top
                    .first()
                    .is_some_and(|top| top.count * 20 > value.profiled))
    };
    let mut chosen: Vec<&StoredValue> = stored.values.iter().filter(interesting).collect();
    let weight = |value: &StoredValue| {
        let zeros = value.zeros as f64 / value.executions as f64;
        let top = value
            .top
            .first()
            .map_or(0.0, |top| top.count as f64 / value.profiled.max(1) as f64);
        zeros.max(0.5 * top)
    };
    chosen.sort_by(|a, b| weight(b).total_cmp(&weight(a)).then(a.id.cmp(&b.id)));
    let mut rows: Vec<ValueRow> = Vec::new();
    for value in chosen {
        let row = value_row(stored, value);
        // An operation on a vector has a value for each component, and copies have values of their own.
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    let more = rows.len().saturating_sub(MOST);
    rows.truncate(MOST);
    let origin = &profile.origin;
    let what = match origin.kind.as_str() {
        "interpreter" => "a run of the interpreter",
        "instrumented" => "instrumented code",
        _ => "imported counts",
    };
    let on = match origin.inputs.is_empty() {
        true => String::new(),
        false => format!(" on `{}`", origin.inputs),
    };
    let sample = match origin.sampled < origin.of {
        true => format!(", {} of {} workgroups", origin.sampled, origin.of),
        false => String::new(),
    };
    Some(ValuesRow {
        from: format!("{what}{on}{sample}"),
        warps: stored.warps,
        stale: db::zeros(db, item).stale.is_some(),
        rows,
        more,
    })
}

fn value_row(stored: &StoredItem, value: &StoredValue) -> ValueRow {
    let ty = match value.shape.split(' ').next().unwrap_or("") {
        "bool" => Type::Bool,
        "f16" => Type::F16,
        "bf16" => Type::BF16,
        "f32" => Type::F32,
        "f64" => Type::F64,
        _ => Type::I64,
    };
    let top = value.top.iter().take(TOP).map(|top| {
        let share = top.count as f64 / value.profiled.max(1) as f64;
        (show(ty, top.bits), (share * 10_000.0).round() / 10_000.0)
    });
    ValueRow {
        name: value.name.clone(),
        line: stored.file_line(value).unwrap_or(0),
        executions: value.executions,
        zeros: value.zero_share().unwrap_or(0.0),
        top: top.collect(),
    }
}
