//! Stored items from counts: of a recorded run, or of single values that instrumented code or a table counted.

use super::paths::{stored_edges, stored_paths};
use super::shape::{block_shape, code_hash, names, shape};
use super::{
    MOST_PATHS, StoredBlock, StoredEdges, StoredItem, StoredJoint, StoredPath, StoredTop,
    StoredValue, StoredWindows, hex,
};
use crate::paths::bounds::EdgeCounts;
use crate::paths::{PathGraph, PathNumbers, PathProfile};
use crate::values::record::Recorded;
use ir::{Function, Loc, Value, ValueDef};

/// A place in the text, from 1, relative to the first line of its item.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Place {
    pub line: u32,
    pub column: u32,
    /// The item, where it is not the function's own.
    pub of: Option<String>,
}

/// Resolves the positions of a function; only the caller has the text.
pub type Positions<'a> = &'a dyn Fn(Loc) -> Place;

/// An item without counts except those of `recorded`.
#[must_use]
pub fn item_of(
    function: &Function,
    ordinal: u32,
    recorded: &Recorded,
    positions: Positions<'_>,
) -> StoredItem {
    let known = names(function);
    let values = recorded.values.iter().map(|(value, counts)| {
        let mut stored = describe(function, *value, &known, positions);
        stored.executions = counts.executions;
        stored.zeros = counts.zeros;
        stored.uniform = counts.uniform;
        stored.lanes = counts.lanes;
        stored.profiled = counts.profiled;
        stored.repeats = counts.repeats;
        stored.recent.clone_from(&counts.recent);
        stored.top = counts
            .top
            .iter()
            .map(|entry| StoredTop {
                bits: entry.value,
                count: entry.count,
            })
            .collect();
        stored.misses = recorded.misses_of(*value);
        stored
    });
    // Addresses have no counts of their own.
    let addresses = recorded.misses.iter().filter(|(value, _)| {
        let known = recorded
            .values
            .binary_search_by_key(value, |(value, _)| *value);
        known.is_err()
    });
    let addresses = addresses.map(|&(value, misses)| StoredValue {
        misses: Some(misses),
        ..describe(function, value, &known, positions)
    });
    let mut values: Vec<StoredValue> = values.chain(addresses).collect();
    values.sort_by_key(|value| value.id);
    let (paths, other_paths) = recorded
        .paths
        .as_ref()
        .map(|(numbers, profile)| stored_paths(numbers, profile))
        .unwrap_or_default();
    StoredItem {
        paths,
        other_paths,
        values,
        blocks: recorded
            .blocks
            .iter()
            .filter(|&(_, &executions)| executions > 0)
            .map(|(block, &executions)| StoredBlock {
                id: block.0,
                executions,
                shape: block_shape(function, block),
            })
            .collect(),
        joint: recorded
            .joint
            .iter()
            .map(|joint| StoredJoint {
                members: joint.members.iter().map(|value| value.0).collect(),
                executions: joint.executions,
                zeros: joint.zeros,
            })
            .collect(),
        warps: recorded.warps,
        ..empty(function, ordinal)
    }
}

/// An item from executions and zeros of values and of vectors (several values), such as counters give. `warps` is the
/// least that explains them.
#[must_use]
pub fn stored_item(
    function: &Function,
    ordinal: u32,
    counted: &[(Vec<Value>, u64, u64)],
    positions: Positions<'_>,
) -> StoredItem {
    let known = names(function);
    let mut item = empty(function, ordinal);
    let mut values: Vec<StoredValue> = Vec::new();
    for (members, executions, zeros) in counted {
        for &member in members {
            // Members of a vector are zero at least as often as the vector; their own counts say more.
            let alone = members.len() == 1;
            match values.iter_mut().find(|value| value.id == member.0) {
                Some(value) if alone => {
                    value.executions = *executions;
                    value.zeros = *zeros;
                }
                Some(_) => {}
                None => {
                    let mut value = describe(function, member, &known, positions);
                    value.executions = *executions;
                    value.zeros = *zeros;
                    values.push(value);
                }
            }
        }
        if members.len() > 1 {
            item.joint.push(StoredJoint {
                members: members.iter().map(|value| value.0).collect(),
                executions: *executions,
                zeros: *zeros,
            });
        }
        item.warps = item.warps.max(*executions);
    }
    values.sort_by_key(|value| value.id);
    item.values = values;
    item
}

/// Adds paths to others, of which the rarest may come to be counted together.
fn add_paths(into: &mut Vec<StoredPath>, others: &mut u64, more: &[StoredPath]) {
    for path in more {
        let same = |known: &&mut StoredPath| {
            (known.again, &known.blocks, &known.edges) == (path.again, &path.blocks, &path.edges)
        };
        match into.iter_mut().find(same) {
            Some(known) => known.count = known.count.saturating_add(path.count),
            None => into.push(path.clone()),
        }
    }
    into.sort_by_key(|path| std::cmp::Reverse(path.count));
    for path in into.drain(into.len().min(MOST_PATHS)..) {
        *others = others.saturating_add(path.count);
    }
}

fn sum_of_windows(mut known: StoredWindows, new: &StoredWindows) -> StoredWindows {
    add_paths(&mut known.paths, &mut known.others, &new.paths);
    known.others = known.others.saturating_add(new.others);
    known
}

/// Adds counts of edges to those of the same block.
fn add_edges(into: &mut StoredEdges, other: &StoredEdges) {
    if into.most.is_empty() && !other.most.is_empty() {
        into.most.clone_from(&into.counts);
    }
    if !into.most.is_empty() {
        let more = if other.most.is_empty() {
            &other.counts
        } else {
            &other.most
        };
        for (known, more) in into.most.iter_mut().zip(more) {
            *known = known.saturating_add(*more);
        }
    }
    for (known, more) in into.counts.iter_mut().zip(&other.counts) {
        *known = known.saturating_add(*more);
    }
}

/// An item of which edges were counted, entered so many times.
#[must_use]
pub fn edge_item(
    function: &Function,
    ordinal: u32,
    entries: u64,
    counts: &EdgeCounts,
) -> StoredItem {
    let mut item = empty(function, ordinal);
    item.warps = entries;
    item.edges = stored_edges(function, counts);
    if counts.is_exact() {
        let passed = counts.passed(&PathGraph::of(function));
        let blocks = function.blocks.keys().zip(&passed);
        let executed = blocks.filter(|(_, count)| count.least > 0);
        let stored = executed.map(|(block, count)| StoredBlock {
            id: block.0,
            executions: count.least,
            shape: block_shape(function, block),
        });
        item.blocks = stored.collect();
    }
    item
}

/// An item of which the paths of lanes were counted; `lanes` where a warp has more of them than one.
#[must_use]
pub fn path_item(
    function: &Function,
    ordinal: u32,
    numbers: &PathNumbers,
    profile: &PathProfile,
    lanes: bool,
) -> StoredItem {
    let mut item = empty(function, ordinal);
    (item.paths, item.other_paths) = stored_paths(numbers, profile);
    // Executions by warps are those of lanes where a warp is one.
    if !lanes {
        item.warps = profile.entries(numbers);
    }
    let passed = profile.nodes(numbers);
    let blocks = function.blocks.keys().zip(&passed);
    let executed = blocks.filter(|(_, count)| **count > 0);
    let stored = executed.map(|(block, &count)| StoredBlock {
        id: block.0,
        executions: if lanes { 0 } else { count },
        shape: block_shape(function, block),
    });
    item.blocks = stored.collect();
    item
}

/// Adds the counts of one item to those of another of the same code. Misses in caches of different processors have no sum.
pub fn aggregate(into: &mut StoredItem, other: &StoredItem) {
    let known = !into.caches.is_empty() && !other.caches.is_empty();
    let alike = !known || into.caches == other.caches;
    if into.caches.is_empty() {
        into.caches.clone_from(&other.caches);
    }
    into.warps = into.warps.saturating_add(other.warps);
    for block in &other.blocks {
        match into.blocks.iter_mut().find(|known| known.id == block.id) {
            Some(known) => known.executions = known.executions.saturating_add(block.executions),
            None => into.blocks.push(*block),
        }
    }
    into.blocks.sort_by_key(|block| block.id);
    for value in &other.values {
        match into
            .values
            .binary_search_by_key(&value.id, |known| known.id)
        {
            Ok(at) => add(&mut into.values[at], value),
            Err(at) => into.values.insert(at, value.clone()),
        }
    }
    if !alike {
        into.caches.clear();
        into.values.iter_mut().for_each(|value| value.misses = None);
    }
    add_paths(&mut into.paths, &mut into.other_paths, &other.paths);
    into.windows = match (into.windows.take(), &other.windows) {
        (Some(known), Some(new)) if known.iterations == new.iterations => {
            Some(sum_of_windows(known, new))
        }
        // Of the others nothing tells of both runs.
        _ => None,
    };
    for edges in &other.edges {
        match into
            .edges
            .binary_search_by_key(&edges.block, |known| known.block)
        {
            Ok(at) => add_edges(&mut into.edges[at], edges),
            Err(at) => into.edges.insert(at, edges.clone()),
        }
    }
    for branch in &other.branches {
        let found = into.branches.iter_mut();
        match found.into_iter().find(|known| known.block == branch.block) {
            Some(known) => {
                known.executed = known.executed.saturating_add(branch.executed);
                known.taken = known.taken.saturating_add(branch.taken);
                known.mispredicted = known.mispredicted.saturating_add(branch.mispredicted);
                let both = known.after.zip(branch.after);
                known.after = both.map(|(first, second)| first.saturating_add(second));
            }
            None => into.branches.push(*branch),
        }
    }
    into.branches.sort_by_key(|branch| branch.block);
    into.other_paths = into.other_paths.saturating_add(other.other_paths);
    for joint in &other.joint {
        match into
            .joint
            .iter_mut()
            .find(|known| known.members == joint.members)
        {
            Some(known) => {
                known.executions = known.executions.saturating_add(joint.executions);
                known.zeros = known.zeros.saturating_add(joint.zeros);
            }
            None => into.joint.push(joint.clone()),
        }
    }
}

fn add(into: &mut StoredValue, other: &StoredValue) {
    let sum = |a: &mut u64, b: u64| *a = a.saturating_add(b);
    sum(&mut into.executions, other.executions);
    sum(&mut into.zeros, other.zeros);
    sum(&mut into.uniform, other.uniform);
    sum(&mut into.lanes, other.lanes);
    sum(&mut into.profiled, other.profiled);
    sum(&mut into.repeats, other.repeats);
    if let Some(misses) = other.misses {
        into.misses.get_or_insert_default().add(&misses);
    }
    // Of a part that was not counted the whole is not known.
    let counted = |value: &StoredValue| value.profiled > 0;
    match counted(other) {
        true if into.recent.len() == other.recent.len() => {
            let both = into.recent.iter_mut().zip(&other.recent);
            both.for_each(|(a, b)| sum(a, *b));
        }
        true => into.recent.clear(),
        false => {}
    }
    for top in &other.top {
        match into.top.iter_mut().find(|known| known.bits == top.bits) {
            Some(known) => sum(&mut known.count, top.count),
            None => into.top.push(*top),
        }
    }
    into.top
        .sort_by(|a, b| b.count.cmp(&a.count).then(a.bits.cmp(&b.bits)));
    into.top.truncate(crate::values::tnv::CAPACITY);
}

fn empty(function: &Function, ordinal: u32) -> StoredItem {
    StoredItem {
        name: function.name.to_string(),
        ordinal,
        code: hex(code_hash(function)),
        ..StoredItem::default()
    }
}

fn describe(
    function: &Function,
    value: Value,
    known: &rustc_hash::FxHashMap<Value, (String, Loc)>,
    positions: Positions<'_>,
) -> StoredValue {
    let named = known.get(&value);
    let loc = match (named, function.values[value].def) {
        (Some((_, loc)), _) => *loc,
        (None, ValueDef::Result(inst, _)) => function.insts[inst].loc,
        (None, ValueDef::Param(block, _)) => function.blocks[block].loc,
    };
    let place = positions(loc);
    let limited = |text: String| -> String { text.chars().take(super::LONGEST_NAME / 4).collect() };
    StoredValue {
        id: value.0,
        name: limited(named.map_or_else(String::new, |(name, _)| name.clone())),
        shape: limited(shape(function, value)),
        of: place.of.map(limited),
        line: place.line,
        column: place.column,
        ..StoredValue::default()
    }
}
