//! The ways that lanes took through the functions of a file, by its profile.

use super::partly_dead::{DeadRow, Remaining};
use super::parts::{Part, parts};
use super::pressure::outer;
use super::zeros::{self, FileProfile, UnusableProfile, file_profile};
use crate::db::{self, Db, File, Item};
use crate::program::{self, is_named, items_to_show};
use facts::paths::bounds::{CountBounds, EdgeCounts, RankedBy, ranked};
use facts::paths::{
    Path, PathGraph, PathNumbers, PathProfile, PathRefusal, Start, Unread, unread, unread_at_least,
};
use facts::values::stored::{
    FoundEdges, FoundPaths, StoredItem, found_edges, found_paths, found_windows,
};
use ir::{Block, EntityVec, Function, Inst, Loc, Op};
use smol_str::SmolStr;
use std::borrow::Cow;
use std::path::PathBuf;
use syntax::{FileId, Span};

/// A way through a function.
#[derive(Clone, PartialEq, Debug)]
pub struct PathRow {
    /// Times that a lane took it.
    pub count: CountBounds,
    /// The share of all paths taken, from 0 to 1: lower and upper bound.
    pub share: [f64; 2],
    /// True if it begins with another iteration of a loop.
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
    /// Edges alone were counted: counts of paths are bounds, and rows are those of paths that may have been taken.
    pub edges_alone: bool,
    /// True if there are more paths than the rows have, which may have been taken.
    pub cut: bool,
    /// Times that lanes took ways that are not found in the code as it is now.
    pub lost: u64,
    /// The code is the one that was profiled.
    pub exact: bool,
    /// Definitions that often nothing reads, those with most such executions first.
    pub dead: Vec<PartlyDead>,
}

/// A definition of a variable that nothing reads on some of the ways that were taken.
#[derive(Clone, PartialEq, Debug)]
pub struct PartlyDead {
    pub variable: String,
    /// From 1.
    pub line: u32,
    /// The counts by lanes.
    pub counts: Unread,
    /// The executions that remain where it is moved to where it is read, if it can be.
    pub moved: Option<Remaining>,
}

/// The paths that are known of a function.
pub(super) struct Known {
    pub(super) numbers: PathNumbers,
    taken: Taken,
}

enum Taken {
    Paths(FoundPaths),
    /// Edges alone were counted.
    Edges(FoundEdges),
}

impl Known {
    fn of(stored: &StoredItem, function: &Function, numbers: PathNumbers) -> Option<Known> {
        let taken = match stored.paths.is_empty() {
            true => Taken::Edges(found_edges(stored, function, &numbers)?),
            false => Taken::Paths(found_paths(stored, function, &numbers)),
        };
        Some(Known { numbers, taken })
    }

    /// The counts of the paths, where they were counted.
    pub(super) fn profile(&self) -> Option<&PathProfile> {
        match &self.taken {
            Taken::Paths(found) => Some(&found.profile),
            Taken::Edges(_) => None,
        }
    }

    /// Paths whose edges have the counts of the profile: those that were taken where they were counted, else some of the many,
    /// for what depends on edges alone. `None`: counts of edges are bounds.
    pub(super) fn with_edges(&self) -> Option<Cow<'_, PathProfile>> {
        match &self.taken {
            Taken::Paths(found) => Some(Cow::Borrowed(&found.profile)),
            Taken::Edges(found) => Some(Cow::Owned(found.counts.some_paths(&self.numbers)?)),
        }
    }

    /// The code is the one that was profiled.
    pub(super) fn exact(&self) -> bool {
        match &self.taken {
            Taken::Paths(found) => found.exact,
            Taken::Edges(found) => found.exact,
        }
    }

    /// Entries of the function.
    pub(super) fn entries(&self) -> u64 {
        match &self.taken {
            Taken::Paths(found) => found.profile.entries(&self.numbers),
            Taken::Edges(found) => found.counts.entries.least,
        }
    }

    /// Returns the number of times that each edge was taken.
    pub(super) fn edges(&self) -> EdgeCounts {
        match &self.taken {
            Taken::Paths(found) => EdgeCounts::of(&found.profile, &self.numbers),
            Taken::Edges(found) => found.counts.clone(),
        }
    }

    /// Paths with the bounds of their counts: those that were taken, or must have been.
    pub(super) fn ranked(&self) -> Vec<(Path, CountBounds)> {
        match &self.taken {
            Taken::Paths(found) => {
                let all = found.profile.by_count().into_iter();
                let exact =
                    |(number, count)| Some((self.numbers.path(number)?, CountBounds::exact(count)));
                all.filter_map(exact).collect()
            }
            Taken::Edges(found) => {
                let graph = self.numbers.graph();
                ranked(graph, &found.counts, RankedBy::Least, MOST_LISTED).paths
            }
        }
    }

    /// Executions of each instruction, and how many of them nothing reads.
    pub(super) fn unread(&self, function: &Function) -> EntityVec<Inst, Unread> {
        match &self.taken {
            Taken::Paths(found) => unread(function, &self.numbers, &found.profile),
            Taken::Edges(found) => unread_at_least(function, &self.numbers, &found.counts),
        }
    }
}

/// The paths of a function by the profile of its file.
pub(super) fn known_paths(db: &dyn Db, item: Item<'_>, function: &Function) -> Option<Known> {
    let profile = zeros::stored(db, item.main(db))?;
    let ordinal = item.ordinal(db);
    let mut items = profile.items.iter();
    let stored = items.find(|s| s.name == *function.name && s.ordinal == ordinal)?;
    if !has_ways(stored) || function.layout.is_empty() {
        return None;
    }
    let numbers = PathNumbers::new(PathGraph::of(function)).ok()?;
    Known::of(stored, function, numbers)
}

fn has_ways(stored: &StoredItem) -> bool {
    !stored.paths.is_empty() || !stored.edges.is_empty()
}

/// The reason why a function has no paths.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NoPaths {
    /// The file has no profile.
    NoProfile,
    /// The file that should be the profile is not one.
    Unusable(PathBuf, UnusableProfile),
    /// The profile does not know the function, or has no paths of it.
    NotRun(SmolStr),
    Numbers(SmolStr, PathRefusal),
    /// Edges alone were counted, and of some there are bounds.
    Bounds(SmolStr),
    /// Counts of edges that are found again in the code as it is now are not those of a flow.
    Changed(SmolStr),
    /// Paths over so many iterations were not recorded, or over another number of them.
    Iterations {
        name: SmolStr,
        wanted: u32,
        recorded: Option<u32>,
    },
}

/// Paths that may have been taken which are listed where edges alone were counted.
const MOST_LISTED: usize = 4096;

/// Returns whether a file has a profile.
///
/// # Errors
/// There is none, or none that can be used.
pub fn profile_of(db: &dyn Db, file: File) -> Result<(), NoPaths> {
    match file_profile(db, file) {
        FileProfile::Read(..) => Ok(()),
        FileProfile::Missing => Err(NoPaths::NoProfile),
        FileProfile::Unusable(path, reason) => Err(NoPaths::Unusable(path, reason)),
    }
}

/// The paths of a file's functions, or of the function of a name, and the reasons for functions without
/// paths.
pub fn paths(
    db: &dyn Db,
    file: File,
    name: Option<&str>,
    iterations: u32,
) -> (Vec<ItemPaths>, Vec<NoPaths>) {
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
            match stored.filter(|stored| has_ways(stored)) {
                Some(stored) => match of_part(db, file, item, &part, stored, iterations) {
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
    iterations: u32,
) -> Result<ItemPaths, NoPaths> {
    let function = part.function;
    let graph = PathGraph::of(function).over_iterations(iterations as usize);
    let numbers = PathNumbers::new(graph)
        .map_err(|refusal| NoPaths::Numbers(function.name.clone(), refusal))?;
    let known = match iterations {
        1 => Known::of(stored, function, numbers)
            .ok_or_else(|| NoPaths::Changed(function.name.clone()))?,
        _ => {
            let recorded = stored.windows.as_ref();
            let windows = recorded.filter(|windows| windows.iterations == iterations);
            let windows = windows.ok_or_else(|| NoPaths::Iterations {
                name: function.name.clone(),
                wanted: iterations,
                recorded: recorded.map(|windows| windows.iterations),
            })?;
            Known {
                taken: Taken::Paths(found_windows(stored, windows, function, &numbers)),
                numbers,
            }
        }
    };
    let numbers = &known.numbers;
    let by_block = lines_of_blocks(db, file, item, function);
    let row = |path: &Path, count: CountBounds, total: CountBounds| PathRow {
        count,
        share: [
            count.least as f64 / total.most.max(1) as f64,
            (count.most as f64 / total.least.max(1) as f64).min(1.0),
        ],
        again: path.start != Start::Entry,
        lines: lines(path, &by_block),
    };
    let (rows, cut): (Vec<PathRow>, bool) = match &known.taken {
        Taken::Paths(found) => {
            let total = CountBounds::exact(found.profile.total());
            let rows = found.profile.by_count().into_iter();
            let rows = rows.filter_map(|(number, count)| {
                Some(row(
                    &numbers.path(number)?,
                    CountBounds::exact(count),
                    total,
                ))
            });
            (rows.collect(), false)
        }
        Taken::Edges(found) => {
            let graph = numbers.graph();
            let total = found.counts.paths(graph);
            let mut all = ranked(graph, &found.counts, RankedBy::Most, MOST_LISTED);
            all.paths
                .sort_by_key(|(_, count)| std::cmp::Reverse((count.least, count.most)));
            let rows = all.paths.iter();
            let rows = rows.map(|(path, count)| row(path, *count, total));
            (rows.collect(), all.cut)
        }
    };
    Ok(ItemPaths {
        name: function.name.clone(),
        head: part
            .rows
            .head
            .map_or(function.span, |head| head.name_span)
            .shifted(item.place(db).start),
        entries: known.entries(),
        rows,
        possible: numbers.count(),
        edges_alone: known.profile().is_none(),
        cut,
        lost: match &known.taken {
            Taken::Paths(found) => found.lost,
            Taken::Edges(_) => 0,
        },
        exact: known.exact(),
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

/// Returns for each block the lines of the file on which its instructions stand, ascending.
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
    let blocks = by_block.len().max(1);
    for &line in path.nodes.iter().flat_map(|&node| &by_block[node % blocks]) {
        if out.last() != Some(&line) {
            out.push(line);
        }
    }
    out
}
