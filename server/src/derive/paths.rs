//! The ways that lanes took through the functions of a file, by its profile.

use super::parts::{Part, parts};
use super::pressure::outer;
use super::zeros::{FileProfile, UnusableProfile, file_profile};
use crate::db::{self, Db, File, Item};
use crate::program::{self, is_named, items_to_show};
use facts::paths::{Path, PathGraph, PathNumbers, PathRefusal, Start};
use facts::values::stored::{StoredItem, found_paths};
use ir::{Block, Function, Loc};
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
    })
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
        let places = insts.filter(|inst| !matches!(inst.op, ir::Op::Const(_)));
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
