//! Innermost loops of a machine function, and their blocks cut at branches.
//!
//! A *piece* is a stretch of a block with at most one branch, its last operation. A loop is the set of blocks
//! that reach a branch back to a block that dominates it; innermost, if no other such block is in it.

use crate::mir::{Function, Operation, Target, Virtual};
use ir::dominators::semi_nca;
use isa::Branch;
use rustc_hash::{FxHashMap, FxHashSet};

/// The successor of a piece in the flow of control.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    Piece(usize),
    /// Out of the loop, to this block.
    Exit(u32),
    /// To the loop's start.
    Back,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Piece {
    pub block: u32,
    /// Operations of the block, the branch left out.
    pub from: usize,
    pub to: usize,
    /// The predicate of a branch, and where it goes.
    pub taken: Option<(Virtual, Next)>,
    /// The successor where the branch is not taken.
    pub next: Next,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Region {
    pub header: u32,
    /// Ascending.
    pub blocks: Vec<u32>,
    /// True if accesses of one iteration are apart from those of others unless they are seen to meet.
    pub independent: bool,
}

/// Innermost loops by header.
#[must_use]
pub fn innermost<T: Target>(function: &Function<T>) -> Vec<Region> {
    let mut regions = natural(function);
    let headers: FxHashSet<u32> = regions.iter().map(|region| region.header).collect();
    regions.retain(|region| {
        let mut others = region
            .blocks
            .iter()
            .filter(|&&block| block != region.header);
        !others.any(|block| headers.contains(block))
    });
    regions
}

/// Natural loops by header, those with a common header in one.
#[must_use]
pub fn natural<T: Target>(function: &Function<T>) -> Vec<Region> {
    let (next, before) = edges(function);
    natural_of(&dominators_of(&next, &before), &before)
}

/// The same of a graph, by its dominators and the predecessors of each block.
pub(super) fn natural_of(dominators: &[Option<u32>], before: &[Vec<u32>]) -> Vec<Region> {
    let mut regions: Vec<Region> = Vec::new();
    for header in 0..before.len() as u32 {
        let latches: Vec<u32> = before[header as usize]
            .iter()
            .copied()
            .filter(|&latch| dominates(dominators, header, latch))
            .collect();
        if latches.is_empty() {
            continue;
        }
        let mut inside = FxHashSet::from_iter([header]);
        let mut open = latches;
        while let Some(block) = open.pop() {
            if inside.insert(block) {
                open.extend(before[block as usize].iter().copied());
            }
        }
        let mut blocks: Vec<u32> = inside.into_iter().collect();
        blocks.sort_unstable();
        regions.push(Region {
            header,
            blocks,
            independent: false,
        });
    }
    regions
}

/// Returns for each block its immediate dominator; `None` for the entry, and for blocks that nothing reaches.
#[must_use]
pub fn dominators<T: Target>(function: &Function<T>) -> Vec<Option<u32>> {
    let (next, before) = edges(function);
    dominators_of(&next, &before)
}

pub(super) fn dominators_of(next: &[Vec<u32>], before: &[Vec<u32>]) -> Vec<Option<u32>> {
    if next.is_empty() {
        return Vec::new();
    }
    semi_nca(
        next.len(),
        0,
        |block, out| out.extend(&next[block as usize]),
        |block, out| out.extend(&before[block as usize]),
    )
}

/// Returns true if all ways to a block that is reached lead through the first.
pub(crate) fn dominates(above: &[Option<u32>], first: u32, block: u32) -> bool {
    let mut at = Some(block);
    while let Some(found) = at {
        let up = above[found as usize];
        if found == first {
            return up.is_some() || found == 0;
        }
        at = up;
    }
    false
}

/// Returns the successors and the predecessors of each block.
pub(super) fn edges<T: Target>(function: &Function<T>) -> (Vec<Vec<u32>>, Vec<Vec<u32>>) {
    let count = function.blocks.len();
    let next: Vec<Vec<u32>> = (0..count as u32)
        .map(|block| {
            let mut next = function.successors(block);
            next.retain(|&to| (to as usize) < count);
            next
        })
        .collect();
    let mut before = vec![Vec::new(); count];
    for (from, next) in (0..).zip(&next) {
        for &to in next {
            before[to as usize].push(from);
        }
    }
    (next, before)
}

/// Cuts the blocks of a loop; the first piece is where it starts. A branch back that the hardware counts is the plain end of
/// a loop where that is asked for.
///
/// # Errors
/// An operation that is no plain jump.
pub fn pieces<T: Target>(
    function: &Function<T>,
    region: &Region,
    counted: bool,
) -> Result<Vec<Piece>, Box<Operation<T>>> {
    let mut out: Vec<Piece> = Vec::new();
    // By block: its first piece.
    let mut first: FxHashMap<u32, usize> = FxHashMap::default();
    let mut order = vec![region.header];
    order.extend(region.blocks.iter().filter(|&&it| it != region.header));
    // Where control goes, with blocks of the loop still by number.
    let mut targets: Vec<(Option<u32>, Option<u32>)> = Vec::new();
    for &block in &order {
        first.insert(block, out.len());
        let operations = &function.blocks[block as usize].operations;
        let mut from = 0;
        let mut ended = false;
        for (at, each) in operations.iter().enumerate() {
            let Some(kind) = each.branch() else {
                continue;
            };
            let ends = counted && kind == Branch::Counted && each.predicate.is_none();
            let mut blocks = each.branches_to();
            let target = match blocks.next() {
                Some(target) if kind == Branch::Jump => target,
                Some(target) if ends && target == region.header => target,
                _ => return Err(Box::new(each.clone())),
            };
            let piece = Piece {
                block,
                from,
                to: at,
                taken: each.predicate.map(|predicate| (predicate, Next::Back)),
                next: Next::Piece(out.len() + 1),
            };
            out.push(piece);
            if each.predicate.is_none() {
                targets.push((None, Some(target)));
                ended = true;
                break;
            }
            targets.push((Some(target), None));
            from = at + 1;
        }
        if !ended {
            out.push(Piece {
                block,
                from,
                to: operations.len(),
                taken: None,
                next: Next::Back,
            });
            targets.push((None, Some(block + 1)));
        }
    }
    let resolve = |target: u32| match first.get(&target) {
        _ if target == region.header => Next::Back,
        Some(piece) => Next::Piece(*piece),
        None => Next::Exit(target),
    };
    for (piece, (taken, next)) in out.iter_mut().zip(targets) {
        if let (Some((_, to)), Some(target)) = (&mut piece.taken, taken) {
            *to = resolve(target);
        }
        if let Some(target) = next {
            piece.next = resolve(target);
        }
    }
    Ok(out)
}
