//! The accesses of a function to global and shared memory: the lanes of a warp against the sectors and banks that they touch,
//! from a run, or by the distance between lanes; else why there is no picture.

use super::activity;
use super::model::{AccessRow, EvenLanes, LanePicture};
use super::source::Places;
use super::watch::{AccessRun, Watch, count, ideal, relative};
use crate::derive::accesses::is_wasteful;
use crate::views::text;
use crate::views::text::{access_class_name, access_kind_name};
use facts::{AccessFact, FunctionFacts};
use ir::{Function, Inst, Space};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

const NO_DISTANCE: &str =
    "The run did not come here, and the distance between lanes is not a constant.";
const NO_ADDRESSES: &str = "Nothing ran, and the distance between lanes is not a constant.";

/// An observer of the accesses and branches in the pictures of a function.
pub(super) fn watch(function: &Function, facts: &FunctionFacts) -> Watch {
    let accesses = facts
        .accesses
        .iter()
        .filter(|access| is_shown(access.space));
    let accesses = accesses.map(|access| (access.inst, (access.bytes, access.space)));
    Watch::new(
        function,
        activity::watched(function, facts),
        accesses.collect(),
    )
}

fn is_shown(space: Space) -> bool {
    matches!(space, Space::Global | Space::Shared | Space::Generic)
}

/// The accesses to global and shared memory, by position; of those at one place the worst.
pub(super) fn accesses(
    function: &Function,
    facts: &FunctionFacts,
    warp_size: u32,
    watch: Option<&Watch>,
    places: &Places<'_>,
    most: usize,
) -> (Vec<AccessRow>, usize) {
    let runs: Option<&FxHashMap<Inst, AccessRun>> = watch.map(|watch| &watch.at_accesses);
    let mut found: BTreeMap<(bool, String, u32, u32, &'static str), AccessRow> = BTreeMap::new();
    for access in facts
        .accesses
        .iter()
        .filter(|access| is_shown(access.space))
    {
        let Some((file, line, column)) = places.anywhere(function, access.loc) else {
            continue;
        };
        let run = runs.and_then(|runs| runs.get(&access.inst));
        let mut row = access_row(access, run, warp_size);
        row.missing = (row.picture.is_none()).then_some(match watch {
            Some(_) => NO_DISTANCE,
            None => NO_ADDRESSES,
        });
        (row.file, row.line, row.column) = (file.clone(), line, column);
        let key = (
            file.is_some(),
            file.unwrap_or_default(),
            line,
            column,
            row.kind,
        );
        let weight = |row: &AccessRow| {
            let picture = row.picture.as_ref();
            (
                row.wasteful,
                picture.map_or(0, |it| it.count),
                picture.is_some(),
            )
        };
        match found.get(&key) {
            Some(known) if weight(known) >= weight(&row) => {}
            _ => {
                found.insert(key, row);
            }
        }
    }
    let mut rows: Vec<AccessRow> = found.into_values().collect();
    // A pointer into whatever a caller has is not told of where nobody ran it.
    rows.retain(|row| {
        row.space != "generic" || row.picture.as_ref().is_some_and(|it| it.from == "run")
    });
    let more = rows.len().saturating_sub(most);
    if more > 0 {
        rows.sort_by_key(|row| !row.wasteful);
        rows.truncate(most);
        rows.sort_by(|a, b| (&a.file, a.line, a.column).cmp(&(&b.file, b.line, b.column)));
    }
    (rows, more)
}

fn access_row(access: &AccessFact, run: Option<&AccessRun>, warp_size: u32) -> AccessRow {
    let picture = match run {
        Some(run) => Some(of_run(access, run)),
        None => of_stride(access, warp_size),
    };
    let space = run.and_then(|run| run.space).unwrap_or(access.space);
    let bound = match space {
        Space::Shared => access.bank_ways,
        _ => access.sectors,
    };
    let measured = picture
        .as_ref()
        .is_some_and(|it| it.from == "run" && it.count > it.ideal + (it.ideal / 2).max(1));
    AccessRow {
        file: None,
        line: 0,
        column: 0,
        name: access.base.to_string(),
        kind: access_kind_name(access.kind),
        space: text::space_name(space),
        class: access_class_name(access.class),
        text: text::access_remark(access, true).unwrap_or_else(|| text::access_short(access)),
        wasteful: is_wasteful(access) || measured,
        bound,
        ideal: match space {
            Space::Shared => 1,
            _ => access.ideal_sectors,
        },
        missing: None,
        picture,
    }
}

fn of_run(access: &AccessFact, run: &AccessRun) -> LanePicture {
    let space = run.space.unwrap_or(access.space);
    let (even, lanes) = compact(relative(space, &run.lanes));
    LanePicture {
        unit: unit(space),
        from: "run",
        even,
        lanes,
        bytes: access.bytes,
        count: count(space, &run.lanes, access.bytes),
        ideal: ideal(space, &run.lanes, access.bytes),
        executions: run.executions,
        mean: run.sum as f64 / run.executions.max(1) as f64,
        warp: run.warp,
    }
}

/// The lanes of a warp by the constant distance between neighbours.
fn of_stride(access: &AccessFact, warp_size: u32) -> Option<LanePicture> {
    let stride = access.stride_bytes?;
    let lanes = i64::from(
        if access.partial {
            access.lanes
        } else {
            warp_size
        }
        .clamp(1, 64),
    );
    let first = if stride < 0 {
        stride.checked_mul(-(lanes - 1))?
    } else {
        0
    };
    let lane = |at: i64| u64::try_from(first.checked_add(stride.checked_mul(at)?)?).ok();
    let lanes: Vec<Option<u64>> = (0..lanes).map(lane).collect();
    let (count, ideal) = (
        count(access.space, &lanes, access.bytes),
        ideal(access.space, &lanes, access.bytes),
    );
    let (even, lanes) = compact(lanes);
    Some(LanePicture {
        unit: unit(access.space),
        from: "stride",
        count,
        ideal,
        even,
        lanes,
        bytes: access.bytes,
        executions: 0,
        mean: 0.0,
        warp: 0,
    })
}

/// Lanes that all take part at equal distances, as the first, the distance and their number; else each for itself.
fn compact(lanes: Vec<Option<u64>>) -> (Option<EvenLanes>, Vec<Option<u64>>) {
    let even = || {
        let first = lanes.first().copied().flatten()?;
        let step = match lanes.get(1) {
            Some(second) => (*second)?.checked_sub(first)?,
            None => 0,
        };
        let mut all = lanes.iter().zip(0u64..);
        let same = all.all(|(lane, at)| *lane == Some(first + at * step));
        same.then_some((first, step, lanes.len() as u32))
    };
    match even() {
        Some(even) => (Some(even), Vec::new()),
        None => (None, lanes),
    }
}

const fn unit(space: Space) -> &'static str {
    match space {
        Space::Shared => "banks",
        _ => "sectors",
    }
}
