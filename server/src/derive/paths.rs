//! The ways that lanes took through the functions of a file, by its profile.

use super::partly_dead::DeadRow;
use super::parts::{Part, parts};
use super::pressure::outer;
use super::zeros::{self, FileProfile, UnusableProfile, file_profile};
use crate::db::{self, Db, File, Item};
use crate::program::{self, is_named, items_to_show};
use facts::paths::{Path, PathGraph, PathNumbers, PathRefusal, Start, Unread};
use facts::values::stored::{FoundPaths, StoredItem, found_paths};
use ir::{Block, Function, Loc, Op};
use smol_str::SmolStr;
use std::path::PathBuf;
use syntax::{FileId, Span};

/// A way through a function.
#[derive(Clone, PartialEq, Debug)]
pub struct PathRow {
    /// Times that a lane took it.
    pub count: u64,
    /// Of all that were taken, from 0 to 1.
    pub share: f64,
    /// It begins with another iteration of a loop.
    pub again: bool,
    /// Lines of the file in the order in which they are come to, from 1.
    pub lines: Vec<u32>,
}

/// The paths of a function.
#[derive(Clone, PartialEq, Debug)]
pub struct ItemPaths {
    pub name: SmolStr,
    /// The function's name in the file.
    pub head: Span,
    /// Times that a lane entered it.
    pub entries: u64,
    /// The most frequent first.
    pub rows: Vec<PathRow>,
    /// Ways that there are.
    pub possible: u64,
    /// Times that lanes took ways that are not found in the code as it is now.
    pub lost: u64,
    /// The code is the one that was profiled.
    pub exact: bool,
    /// Definitions that often nothing reads, those with most such executions first.
    pub dead: Vec<PartlyDead>,
}

/// A definition of a variable that nothing reads on some of the ways that were taken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PartlyDead {
    pub variable: String,
    /// From 1.
    pub line: u32,
    /// By lanes.
    pub counts: Unread,
    /// Executions that remain where it is moved to where it is read, if it can be.
    pub moved: Option<u64>,
}

/// The paths that are known of a function.
pub(super) struct Known {
    pub(super) numbers: PathNumbers,
    pub(super) found: FoundPaths,
}

/// The paths of a function by the profile of its file.
pub(super) fn known_paths(db: &dyn Db, item: Item<'_>, function: &Function) -> Option<Known> {
    let profile = zeros::stored(db, item.main(db))?;
    let ordinal = item.ordinal(db);
    let mut items = profile.items.iter();
    let stored = items.find(|s| s.name == *function.name && s.ordinal == ordinal)?;
    if stored.paths.is_empty() || function.layout.is_empty() {
        return None;
    }
    let numbers = PathNumbers::new(PathGraph::of(function)).ok()?;
    let found = found_paths(stored, function, &numbers);
    Some(Known { numbers, found })
}

/// The reason why a function has no paths.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NoPaths {
    /// The file has no profile.
    NoProfile,
    /// What should be the profile is none.
    Unusable(PathBuf, UnusableProfile),
    /// The profile does not know the function, or has no paths of it.
    NotRun(SmolStr),
    Numbers(SmolStr, PathRefusal),
}

/// The paths of a file's functions, or of the function of a name, and of what has none the reason.
pub fn paths(db: &dyn Db, file: File, name: Option<&str>) -> (Vec<ItemPaths>, Vec<NoPaths>) {
    let profile = match file_profile(db, file) {
        FileProfile::Read(_, _, profile) => profile,
        FileProfile::Missing => return (Vec::new(), vec![NoPaths::NoProfile]),
        FileProfile::Unusable(path, reason) => {
            return (Vec::new(), vec![NoPaths::Unusable(path, reason)]);
        }
    };
    let (mut found, mut without) = (Vec::new(), Vec::new());
    for (place, item) in items_to_show(db, file) {
        if place.file != FileId::MAIN {
            continue;
        }
        for part in parts(db, item) {
            let function = part.function;
            if function.layout.is_empty() || !name.is_none_or(|name| is_named(&function.name, name))
            {
                continue;
            }
            let ordinal = item.ordinal(db);
            let mut items = profile.items.iter();
            let stored = items.find(|s| s.name == *function.name && s.ordinal == ordinal);
            match stored.filter(|stored| !stored.paths.is_empty()) {
                Some(stored) => match of_part(db, file, item, &part, stored) {
                    Ok(paths) => found.push(paths),
                    Err(reason) => without.push(reason),
                },
                // Functions that are inlined into others are never run by themselves.
                None if name.is_some() => without.push(NoPaths::NotRun(function.name.clone())),
                None => {}
            }
        }
    }
    (found, without)
}

fn of_part(
    db: &dyn Db,
    file: File,
    item: Item<'_>,
    part: &Part<'_>,
    stored: &StoredItem,
) -> Result<ItemPaths, NoPaths> {
    let function = part.function;
    let numbers = PathNumbers::new(PathGraph::of(function))
        .map_err(|refusal| NoPaths::Numbers(function.name.clone(), refusal))?;
    let known = found_paths(stored, function, &numbers);
    let total = known.profile.total().max(1);
    let by_block = lines_of_blocks(db, file, item, function);
    let rows = known.profile.by_count();
    let rows = rows.into_iter().filter_map(|(number, count)| {
        let path = numbers.path(number)?;
        Some(PathRow {
            count,
            share: count as f64 / total as f64,
            again: path.start != Start::Entry,
            lines: lines(&path, &by_block),
        })
    });
    Ok(ItemPaths {
        name: function.name.clone(),
        head: part
            .rows
            .head
            .map_or(function.span, |head| head.name_span)
            .shifted(item.place(db).start),
        entries: known.profile.entries(&numbers),
        rows: rows.collect(),
        possible: numbers.count(),
        lost: known.lost,
        exact: known.exact,
        dead: partly_dead(db, file, item, function),
    })
}

/// The definitions that often nothing reads, on the paths that are known.
fn partly_dead(db: &dyn Db, file: File, item: Item<'_>, function: &Function) -> Vec<PartlyDead> {
    let place = item.place(db);
    if place.file != FileId::MAIN {
        return Vec::new();
    }
    let index = db::line_index(db, file);
    let inside = |row: &&DeadRow| {
        function.span.start <= row.place.start && row.place.end <= function.span.end
    };
    let rows = db::partly_dead(db, item).iter().filter(inside);
    let mut out: Vec<PartlyDead> = rows
        .map(|row| PartlyDead {
            variable: row.variable.to_string(),
            line: index.line_column(place.start + row.place.start).0 + 1,
            counts: row.counts,
            moved: row.moved,
        })
        .collect();
    out.sort_by_key(|row| (std::cmp::Reverse(row.counts.least), row.line));
    out
}

/// By block, the lines of the file on which its instructions stand, ascending.
fn lines_of_blocks(db: &dyn Db, file: File, item: Item<'_>, function: &Function) -> Vec<Vec<u32>> {
    let index = db::line_index(db, file);
    let line = |loc: Loc| {
        let span = outer(function, loc)?;
        let (id, span) = program::absolute(db, file, item, function, Loc { span, ..Loc::NONE })?;
        (id == FileId::MAIN).then(|| index.line_column(span.start).0 + 1)
    };
    let of = |block: Block| {
        let data = &function.blocks[block];
        let insts = data.insts.iter().map(|&inst| &function.insts[inst]);
        // Constants stand where they are read, which may be elsewhere.
        let places = insts.filter(|inst| !matches!(inst.op, Op::Const(_)));
        let mut found: Vec<u32> = places.filter_map(|inst| line(inst.loc)).collect();
        found.extend(line(data.loc));
        found.sort_unstable();
        found.dedup();
        found
    };
    function.blocks.keys().map(of).collect()
}

/// The lines of a path's blocks, each once in a row.
fn lines(path: &Path, by_block: &[Vec<u32>]) -> Vec<u32> {
    let mut out: Vec<u32> = Vec::new();
    for &line in path.nodes.iter().flat_map(|&node| &by_block[node]) {
        if out.last() != Some(&line) {
            out.push(line);
        }
    }
    out
}
