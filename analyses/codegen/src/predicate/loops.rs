//! Innermost loops of a machine function, and their blocks cut at branches.
//!
//! A *piece* is a stretch of a block with at most one branch, its last operation. A loop is what reaches a branch back to a
//! block that dominates it; innermost, if no other such block is in it.

use crate::mir::{Function, Operand, Operation, Target, Virtual};
use isa::Branch;
use rustc_hash::{FxHashMap, FxHashSet};

/// Where control goes from a piece.
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
    /// Where control goes otherwise.
    pub next: Next,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Region {
    pub header: u32,
    /// Ascending.
    pub blocks: Vec<u32>,
    /// What it accesses in one iteration is apart from what it does in others unless it is seen to meet.
    pub independent: bool,
}

/// Innermost loops by header.
#[must_use]
pub fn innermost<T: Target>(function: &Function<T>) -> Vec<Region> {
    let count = function.blocks.len();
    let (next, before) = edges(function);
    let dominators = Dominators::of(&next, &before);
    let mut regions: Vec<Region> = Vec::new();
    let mut is_header = vec![false; count];
    for header in 0..count as u32 {
        let latches: Vec<u32> = before[header as usize]
            .iter()
            .copied()
            .filter(|&latch| dominators.dominates(header, latch))
            .collect();
        if latches.is_empty() {
            continue;
        }
        is_header[header as usize] = true;
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
    regions.retain(|one| {
        let mut others = one.blocks.iter().filter(|&&block| block != one.header);
        !others.any(|&block| is_header[block as usize])
    });
    regions
}

/// By block: the last that all ways to it lead through; `None` for the entry, and where nothing leads.
#[must_use]
pub fn dominators<T: Target>(function: &Function<T>) -> Vec<Option<u32>> {
    let (next, before) = edges(function);
    let found = Dominators::of(&next, &before);
    let mut at: Vec<u32> = vec![0; found.above.len()];
    for (block, &place) in (0..).zip(&found.place) {
        if let Some(at) = at.get_mut(place as usize) {
            *at = block;
        }
    }
    let above = |&place: &u32| match found.above.get(place as usize) {
        Some(&up) if place > 0 && up != u32::MAX => Some(at[up as usize]),
        _ => None,
    };
    found.place.iter().map(above).collect()
}

/// By block: where control goes, and where it comes from.
fn edges<T: Target>(function: &Function<T>) -> (Vec<Vec<u32>>, Vec<Vec<u32>>) {
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

/// Who dominates whom.
///
/// Source: Cooper, Harvey and Kennedy, *A Simple, Fast Dominance Algorithm*, 2001, figure 3.
struct Dominators {
    /// By block: the place among those that are reached, behind all that dominate it; `u32::MAX` where nothing reaches it.
    place: Vec<u32>,
    /// By place: the place of its immediate dominator; the entry's own is its.
    above: Vec<u32>,
}

impl Dominators {
    fn of(next: &[Vec<u32>], before: &[Vec<u32>]) -> Dominators {
        let mut place = vec![u32::MAX; next.len()];
        let mut order: Vec<u32> = Vec::new();
        let mut seen = vec![false; next.len()];
        let mut path: Vec<(u32, usize)> = Vec::new();
        if let Some(entry) = seen.first_mut() {
            *entry = true;
            path.push((0, 0));
        }
        while let Some((block, at)) = path.last_mut() {
            let Some(&to) = next[*block as usize].get(*at) else {
                order.push(*block);
                path.pop();
                continue;
            };
            *at += 1;
            if !std::mem::replace(&mut seen[to as usize], true) {
                path.push((to, 0));
            }
        }
        order.reverse();
        for (at, &block) in (0..).zip(&order) {
            place[block as usize] = at;
        }
        let mut above = vec![u32::MAX; order.len()];
        if let Some(entry) = above.first_mut() {
            *entry = 0;
        }
        // Places only go up, towards the entry.
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for (at, &block) in order.iter().enumerate().skip(1) {
                let known = before[block as usize]
                    .iter()
                    .map(|&from| place[from as usize])
                    .filter(|&from| above.get(from as usize).is_some_and(|&up| up != u32::MAX));
                let Some(common) = known.reduce(|mut one, mut other| {
                    while one != other {
                        if one > other {
                            one = above[one as usize];
                        } else {
                            other = above[other as usize];
                        }
                    }
                    one
                }) else {
                    continue;
                };
                changed |= std::mem::replace(&mut above[at], common) != common;
            }
        }
        Dominators { place, above }
    }

    /// Whether all ways to a block that is reached lead through the first.
    fn dominates(&self, first: u32, block: u32) -> bool {
        let (first, mut at) = (self.place[first as usize], self.place[block as usize]);
        if first == u32::MAX || at == u32::MAX {
            return false;
        }
        while at > first {
            at = self.above[at as usize];
        }
        at == first
    }
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
    order.extend(region.blocks.iter().filter(|&&one| one != region.header));
    // Where control goes, with blocks of the loop still by number.
    let mut targets: Vec<(Option<u32>, Option<u32>)> = Vec::new();
    for &block in &order {
        first.insert(block, out.len());
        let operations = &function.blocks[block as usize].operations;
        let mut from = 0;
        let mut ended = false;
        for (at, one) in operations.iter().enumerate() {
            let Some(kind) = one.branch() else {
                continue;
            };
            let ends = counted && kind == Branch::Counted && one.predicate.is_none();
            let mut blocks = one.sources.iter().filter_map(|source| match source {
                Operand::Block(target) => Some(*target),
                _ => None,
            });
            let target = match blocks.next() {
                Some(target) if kind == Branch::Jump => target,
                Some(target) if ends && target == region.header => target,
                _ => return Err(Box::new(one.clone())),
            };
            let piece = Piece {
                block,
                from,
                to: at,
                taken: one.predicate.map(|predicate| (predicate, Next::Back)),
                next: Next::Piece(out.len() + 1),
            };
            out.push(piece);
            if one.predicate.is_none() {
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
