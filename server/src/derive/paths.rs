//! The ways that lanes took through the functions of a file, by its profile.

use super::parts::{Part, parts};
use super::pressure::outer;
use super::zeros::{FileProfile, UnusableProfile, file_profile};
use crate::db::{self, Db, File, Item};
use crate::program::{self, is_named, items_to_show};
use facts::paths::{Path, PathGraph, PathNumbers, PathProfile, PathRefusal, Start, Unread, unread};
use facts::values::stored::{StoredItem, found_paths};
use ir::{BindingKind, Block, Function, Loc, Op, Site, ValueDef};
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
}

/// The share of executions that nothing reads from which on a definition is told of.
const OFTEN: f64 = 0.25;

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
        dead: partly_dead(db, file, item, function, &numbers, &known.profile),
    })
}

/// The definitions that often nothing reads, on the paths that are known.
fn partly_dead(
    db: &dyn Db,
    file: File,
    item: Item<'_>,
    function: &Function,
    numbers: &PathNumbers,
    profile: &PathProfile,
) -> Vec<PartlyDead> {
    let counts = unread(function, numbers, profile);
    let index = db::line_index(db, file);
    let mut out: Vec<PartlyDead> = Vec::new();
    for binding in &function.bindings {
        if binding.kind == BindingKind::Read || binding.loc.site != Site(0) {
            continue;
        }
        // Of a vector the member that is read most.
        let of = binding.values.iter().map(|&value| {
            let ValueDef::Result(inst, _) = function.values[value].def else {
                return None;
            };
            computes(&function.insts[inst].op).then(|| counts[inst])
        });
        let of: Option<Vec<Unread>> = of.collect();
        let least = of
            .unwrap_or_default()
            .into_iter()
            .min_by_key(|all| all.least);
        let Some(counts) = least.filter(|counts| counts.share() >= OFTEN) else {
            continue;
        };
        let Some((FileId::MAIN, span)) = program::absolute(db, file, item, function, binding.loc)
        else {
            continue;
        };
        let name = &function.variables[binding.variable].name;
        out.push(PartlyDead {
            variable: format!("{name}{}", binding.part),
            line: index.line_column(span.start).0 + 1,
            counts,
        });
    }
    out.sort_by_key(|row| (std::cmp::Reverse(row.counts.least), row.line));
    out
}

/// Returns true for what a processor executes to give a value.
const fn computes(op: &Op) -> bool {
    !matches!(
        op,
        Op::Const(_)
            | Op::Undef
            | Op::SymbolAddress(_)
            | Op::Parameter(_)
            | Op::Special(_)
            | Op::Alloca { .. }
            | Op::Convert(_)
    )
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
