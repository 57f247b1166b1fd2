//! Paths of a stored item in terms of a function that may have changed since.
//!
//! With equal code blocks have the same ids. Else a block is one with the same operations, of which there is one in both; a path
//! is found where all of its blocks are, and edges lead from each to the next.

use super::shape::{block_shape, code_hash};
use super::{MOST_PATHS, StoredBranch, StoredEdges, StoredItem, StoredPath, StoredWindows, hex};
use crate::paths::bounds::{CountBounds, EdgeCounts};
use crate::paths::partly_known::PartlyKnown;
use crate::paths::{Ending, Path, PathGraph, PathNumbers, PathProfile, Start};
use ir::entity::Entity;
use ir::{Block, Function};
use rustc_hash::FxHashMap;

/// Blocks of all paths of an item that are kept.
const MOST_BLOCKS: usize = 1 << 18;

/// Paths that are known again.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FoundPaths {
    pub profile: PathProfile,
    /// The function is the one that was profiled.
    pub exact: bool,
    /// Times that lanes took paths that are not found again, or that were not kept.
    pub lost: u64,
}

/// The paths of a profile as they are kept, the most frequent ones, and how often others were taken.
#[must_use]
pub fn stored_paths(numbers: &PathNumbers, profile: &PathProfile) -> (Vec<StoredPath>, u64) {
    stored_of(numbers, profile, numbers.graph().successors.len())
}

/// The paths of a profile over several iterations of loops, as they are kept.
#[must_use]
pub fn stored_windows(
    function: &Function,
    iterations: u32,
    numbers: &PathNumbers,
    profile: &PathProfile,
) -> StoredWindows {
    let (paths, others) = stored_of(numbers, profile, function.blocks.len());
    StoredWindows {
        iterations,
        paths,
        others,
    }
}

/// Nodes of a graph over several iterations are those of its blocks, iteration by iteration.
fn stored_of(
    numbers: &PathNumbers,
    profile: &PathProfile,
    blocks_of_graph: usize,
) -> (Vec<StoredPath>, u64) {
    let all = profile.by_count();
    let mut blocks = 0;
    let fits = |&&(number, _): &&(u64, u64)| {
        blocks += numbers.path(number).map_or(0, |path| path.nodes.len());
        blocks <= MOST_BLOCKS
    };
    let kept = all.iter().take(MOST_PATHS).take_while(fits).count();
    let (kept, rest) = all.split_at(kept);
    let short = |all: Vec<usize>| all.into_iter().map(|at| at as u32).collect::<Vec<u32>>();
    let stored = kept.iter().filter_map(|&(number, count)| {
        let path = numbers.path(number)?;
        let mut edges = short(path.edges);
        if let Ending::Edge(edge) = path.ending {
            edges.push(edge as u32);
        }
        Some(StoredPath {
            count,
            again: path.start != Start::Entry,
            blocks: short(
                path.nodes
                    .iter()
                    .map(|node| node % blocks_of_graph)
                    .collect(),
            ),
            edges,
        })
    });
    let counts = rest.iter().map(|(_, count)| *count);
    let others = counts.fold(profile.others, u64::saturating_add);
    (stored.collect(), others)
}

/// The paths of an item that are paths of a function as it is now.
#[must_use]
pub fn found_paths(item: &StoredItem, function: &Function, numbers: &PathNumbers) -> FoundPaths {
    found_of(item, (&item.paths, item.other_paths), function, numbers)
}

/// The same of paths over several iterations; the numbers are those of as many.
#[must_use]
pub fn found_windows(
    item: &StoredItem,
    windows: &StoredWindows,
    function: &Function,
    numbers: &PathNumbers,
) -> FoundPaths {
    found_of(item, (&windows.paths, windows.others), function, numbers)
}

fn found_of(
    item: &StoredItem,
    (paths, others): (&[StoredPath], u64),
    function: &Function,
    numbers: &PathNumbers,
) -> FoundPaths {
    let exact = item.code == hex(code_hash(function));
    let mut out = FoundPaths {
        exact,
        lost: others,
        ..FoundPaths::default()
    };
    let base = PathGraph::of(function);
    let blocks: FxHashMap<u32, Block> = match exact {
        true => FxHashMap::default(),
        false => same_blocks(item, function),
    };
    let now = |id: u32| match exact {
        true => ((id as usize) < function.blocks.len()).then_some(id as usize),
        false => blocks.get(&id).map(|block| block.index()),
    };
    for stored in paths {
        let found = path(&base, numbers.graph(), stored, &now);
        match found.and_then(|path| numbers.number(&path)) {
            Some(number) => {
                let count = out.profile.counts.entry(number).or_default();
                *count = count.saturating_add(stored.count);
            }
            None => out.lost = out.lost.saturating_add(stored.count),
        }
    }
    out
}

/// Counts of edges that are known again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FoundEdges {
    pub counts: EdgeCounts,
    /// The function is the one that was profiled.
    pub exact: bool,
}

/// Counts of edges as they are kept.
#[must_use]
pub fn stored_edges(function: &Function, counts: &EdgeCounts) -> Vec<StoredEdges> {
    let blocks = function.blocks.keys().zip(&counts.edges);
    let with_ways = blocks.filter(|(_, of)| !of.is_empty());
    let stored = with_ways.map(|(block, of)| StoredEdges {
        block: block.0,
        shape: block_shape(function, block),
        counts: of.iter().map(|count| count.least).collect(),
        most: match of.iter().all(|count| count.is_exact()) {
            true => Vec::new(),
            false => of.iter().map(|count| count.most).collect(),
        },
    });
    stored.collect()
}

/// The counts of an item's edges in a function as it is now, as narrow as its flow makes them. `None`: there are none, or those
/// that are found again contradict each other.
#[must_use]
pub fn found_edges(
    item: &StoredItem,
    function: &Function,
    numbers: &PathNumbers,
) -> Option<FoundEdges> {
    if item.edges.is_empty() {
        return None;
    }
    let exact = item.code == hex(code_hash(function));
    let shapes = item.edges.iter().map(|of| (of.block, of.shape));
    let blocks = match exact {
        true => FxHashMap::default(),
        false => blocks_of_shapes(shapes, function),
    };
    let now = |id: u32| match exact {
        true => ((id as usize) < function.blocks.len()).then_some(Block(id)),
        false => blocks.get(&id).copied(),
    };
    let mut known = PartlyKnown::new(numbers.graph(), CountBounds::exact(item.warps));
    for stored in &item.edges {
        let Some(block) = now(stored.block) else {
            continue;
        };
        if numbers.graph().successors[block.index()].len() != stored.counts.len() {
            continue;
        }
        for (edge, &least) in stored.counts.iter().enumerate() {
            let most = stored.most.get(edge).copied().unwrap_or(least);
            let count = CountBounds { least, most };
            known.edge(block.index(), edge, count).ok()?;
        }
    }
    let counts = known.solved(numbers.graph()).ok()?;
    Some(FoundEdges { counts, exact })
}

/// The branches of an item at blocks of a function as it is now, and whether that is the code that was profiled.
#[must_use]
pub fn found_branches(
    item: &StoredItem,
    function: &Function,
) -> (Vec<(Block, StoredBranch)>, bool) {
    if item.branches.is_empty() {
        return (Vec::new(), true);
    }
    let exact = item.code == hex(code_hash(function));
    let blocks = match exact {
        true => FxHashMap::default(),
        false => same_blocks(item, function),
    };
    let now = |id: u32| match exact {
        true => ((id as usize) < function.blocks.len()).then_some(Block(id)),
        false => blocks.get(&id).copied(),
    };
    let found = item.branches.iter();
    let found = found.filter_map(|branch| Some((now(branch.block)?, *branch)));
    let ends = |block: Block| function.blocks[block].terminator.edges().len() > 1;
    (found.filter(|(block, _)| ends(*block)).collect(), exact)
}

/// Blocks of an item by their ids, and those of the function with the same operations.
fn same_blocks(item: &StoredItem, function: &Function) -> FxHashMap<u32, Block> {
    let blocks = item.blocks.iter().map(|block| (block.id, block.shape));
    blocks_of_shapes(blocks, function)
}

/// Blocks by their ids, and those of the function with the same operations; a shape that occurs twice
/// identifies none.
fn blocks_of_shapes(
    blocks: impl Iterator<Item = (u32, u64)>,
    function: &Function,
) -> FxHashMap<u32, Block> {
    let mut here: FxHashMap<u64, Option<Block>> = FxHashMap::default();
    for &block in &function.layout {
        let found = here.entry(block_shape(function, block));
        found
            .and_modify(|known| *known = None)
            .or_insert(Some(block));
    }
    let mut there: FxHashMap<u64, Option<u32>> = FxHashMap::default();
    for (id, shape) in blocks.filter(|(_, shape)| *shape != 0) {
        let found = there.entry(shape);
        found.and_modify(|known| *known = None).or_insert(Some(id));
    }
    let both = there.into_iter().filter_map(|(shape, id)| {
        let block = here.get(&shape).copied().flatten()?;
        Some((id?, block))
    });
    both.collect()
}

/// A stored path with the nodes of a graph, over the iterations of another; edges keep their numbers.
fn path(
    base: &PathGraph,
    graph: &PathGraph,
    stored: &StoredPath,
    now: &dyn Fn(u32) -> Option<usize>,
) -> Option<Path> {
    let nodes: Option<Vec<usize>> = stored.blocks.iter().map(|&id| now(id)).collect();
    let nodes = nodes?;
    let mut edges: Vec<usize> = stored.edges.iter().map(|&edge| edge as usize).collect();
    let first = *nodes.first()?;
    let ending = match edges.len().cmp(&nodes.len()) {
        std::cmp::Ordering::Equal => Ending::Edge(edges.pop()?),
        _ => Ending::Exit,
    };
    if edges.len() + 1 != nodes.len() || !stored.again && first != graph.entry {
        return None;
    }
    // Behind an edge that closes a loop the next iteration's nodes follow.
    let mut layer = 0;
    let mut placed = Vec::with_capacity(nodes.len());
    for (at, &node) in nodes.iter().enumerate() {
        placed.push(node + layer * base.successors.len());
        if let Some(&edge) = edges.get(at) {
            layer += usize::from(*base.ends[node].get(edge)?);
        }
    }
    if placed.iter().any(|&node| node >= graph.successors.len()) {
        return None;
    }
    let nodes = placed;
    Some(Path {
        start: match stored.again {
            true => Start::Behind(first),
            false => Start::Entry,
        },
        nodes,
        edges,
        ending,
    })
}
