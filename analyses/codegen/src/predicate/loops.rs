//! Innermost loops of a machine function, and their blocks cut at branches.
//!
//! A *piece* is a stretch of a block with at most one branch, its last operation. A loop is what reaches a branch back to a
//! block that dominates it; innermost, if no other such block is in it.

use crate::mir::function::{Function, Operand, Operation, Virtual};

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
}

/// Innermost loops by header.
#[must_use]
pub fn innermost(function: &Function) -> Vec<Region> {
    let count = function.blocks.len();
    let next: Vec<Vec<u32>> = (0..count as u32)
        .map(|block| {
            let mut next = function.successors(block);
            next.retain(|&to| (to as usize) < count);
            next
        })
        .collect();
    let dominates = dominators(&next);
    let mut before = vec![Vec::new(); count];
    for (from, next) in (0..).zip(&next) {
        for &to in next {
            before[to as usize].push(from);
        }
    }
    let mut regions: Vec<Region> = Vec::new();
    for header in 0..count as u32 {
        let latches: Vec<u32> = before[header as usize]
            .iter()
            .copied()
            .filter(|&latch| dominates[latch as usize].get(header as usize) == Some(&true))
            .collect();
        if latches.is_empty() {
            continue;
        }
        let mut inside = vec![false; count];
        inside[header as usize] = true;
        let mut open = latches;
        while let Some(block) = open.pop() {
            if !std::mem::replace(&mut inside[block as usize], true) {
                open.extend(before[block as usize].iter().copied());
            }
        }
        let blocks = (0..count as u32).filter(|&one| inside[one as usize]);
        regions.push(Region {
            header,
            blocks: blocks.collect(),
        });
    }
    let headers: Vec<u32> = regions.iter().map(|one| one.header).collect();
    regions.retain(|one| {
        let mut others = headers.iter().filter(|&&header| header != one.header);
        !others.any(|header| one.blocks.binary_search(header).is_ok())
    });
    regions
}

/// By block: which blocks dominate it; empty where nothing reaches it.
fn dominators(next: &[Vec<u32>]) -> Vec<Vec<bool>> {
    let count = next.len();
    let mut out: Vec<Vec<bool>> = vec![Vec::new(); count];
    let Some(entry) = out.first_mut() else {
        return out;
    };
    *entry = vec![false; count];
    entry[0] = true;
    let mut changed = true;
    while std::mem::take(&mut changed) {
        for from in 0..count {
            if out[from].is_empty() {
                continue;
            }
            for &to in &next[from] {
                let to = to as usize;
                if to == 0 {
                    continue;
                }
                let known = out[from].clone();
                let target = &mut out[to];
                if target.is_empty() {
                    *target = known;
                    target[to] = true;
                    changed = true;
                    continue;
                }
                for (at, (mine, theirs)) in target.iter_mut().zip(known).enumerate() {
                    if *mine && !theirs && at != to {
                        *mine = false;
                        changed = true;
                    }
                }
            }
        }
    }
    out
}

/// Whether control always leaves behind it.
fn always(operation: &Operation) -> bool {
    operation.predicate.is_none() && operation.base() == "br"
}

/// Cuts the blocks of a loop; the first piece is where it starts. `Err`: an operation that is no plain jump.
pub fn pieces(function: &Function, region: &Region) -> Result<Vec<Piece>, Box<Operation>> {
    let mut out: Vec<Piece> = Vec::new();
    // By block: its first piece.
    let mut first: Vec<(u32, usize)> = Vec::new();
    let mut order = vec![region.header];
    order.extend(region.blocks.iter().filter(|&&one| one != region.header));
    // Where control goes, with blocks of the loop still by number.
    let mut targets: Vec<(Option<u32>, Option<u32>)> = Vec::new();
    for &block in &order {
        first.push((block, out.len()));
        let operations = &function.blocks[block as usize].operations;
        let mut from = 0;
        let mut ended = false;
        for (at, one) in operations.iter().enumerate() {
            if one.base() != "br" && one.base() != "brl" {
                continue;
            }
            let target = match (&one.sources[..], plain(one)) {
                ([Operand::Block(target)], true) => *target,
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
            if always(one) {
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
    let resolve = |target: u32| match first.iter().find(|(block, _)| *block == target) {
        _ if target == region.header => Next::Back,
        Some((_, piece)) => Next::Piece(*piece),
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

fn plain(operation: &Operation) -> bool {
    operation.mnemonic.split('.').skip(1).all(|one| {
        matches!(
            one,
            "cond" | "few" | "many" | "sptk" | "spnt" | "dptk" | "dpnt" | "clr"
        )
    })
}
