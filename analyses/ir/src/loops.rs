//! The nesting forest of loops, reducible or not. A loop is a strongly connected region found from a header: the block
//! of the region that a depth-first walk meets first. An irreducible loop has further entries and is marked.
//!
//! ```text
//! b0 -> b1 -> b2 -> b1, b3      loop of b1 = {b1, b2}, exits {b3}, reducible
//! b0 -> b1, b2; b1 <-> b2       loop of the one met first, irreducible
//! ```
//!
//! Havlak, *Nesting of Reducible and Irreducible Loops* (TOPLAS 1997): headers in reverse preorder, inner loops collapsed
//! by union-find; almost linear for reducible graphs. Iterative, so depth of nesting does not matter. Lists of exits take
//! the sum over edges of the loops that they leave.

use crate::cfg::ControlFlow;
use crate::entity::{Block, Entity, EntityVec};
use smallvec::SmallVec;
use std::fmt;

/// A loop of a forest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LoopId(pub u32);

impl Entity for LoopId {
    fn new(index: usize) -> Self {
        LoopId(index as u32)
    }
    fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Debug for LoopId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "loop{}", self.0)
    }
}

#[derive(Clone, PartialEq, Debug)]
pub struct Loop {
    pub header: Block,
    pub parent: Option<LoopId>,
    /// 1 for outermost loops.
    pub depth: u32,
    /// The header dominates all blocks: it is the only entry.
    pub reducible: bool,
    /// Blocks outside that an edge from inside leads to, each once, sorted.
    pub exits: SmallVec<[Block; 2]>,
    /// Preorder interval in the forest.
    interval: (u32, u32),
}

#[derive(Clone, PartialEq, Debug)]
pub struct LoopForest {
    /// Parents come before their children.
    pub loops: EntityVec<LoopId, Loop>,
    innermost: EntityVec<Block, Option<LoopId>>,
}

impl LoopForest {
    pub fn new(flow: &ControlFlow) -> Self {
        let (headers, irreducible) = nest(flow);
        Self::assemble(flow, &headers, &irreducible)
    }

    /// The innermost loop of a block; a header belongs to its own loop.
    pub fn of(&self, block: Block) -> Option<LoopId> {
        self.innermost[block]
    }
    pub fn is_header(&self, block: Block) -> bool {
        self.innermost[block].is_some_and(|l| self.loops[l].header == block)
    }
    /// Returns true if `inner` is `outer` or lies in it.
    pub fn encloses(&self, outer: LoopId, inner: LoopId) -> bool {
        let (first, last) = self.loops[outer].interval;
        let at = self.loops[inner].interval.0;
        first <= at && at <= last
    }
    pub fn contains(&self, l: LoopId, block: Block) -> bool {
        self.innermost[block].is_some_and(|inner| self.encloses(l, inner))
    }
    /// Numbers of a loop and of the loops in it, of which its own is the first: every loop has one, and those of an inner
    /// loop lie within those of an outer one.
    pub fn interval(&self, l: LoopId) -> (u32, u32) {
        self.loops[l].interval
    }
    /// The loops of a block, innermost first.
    pub fn around(&self, block: Block) -> impl Iterator<Item = LoopId> + '_ {
        std::iter::successors(self.innermost[block], |&l| self.loops[l].parent)
    }
    /// The outermost loop that contains `inside` and not `outside`.
    pub fn outermost_without(&self, inside: Block, outside: Block) -> Option<LoopId> {
        let mut found = None;
        for l in self.around(inside) {
            if self.contains(l, outside) {
                break;
            }
            found = Some(l);
        }
        found
    }

    fn assemble(
        flow: &ControlFlow,
        headers: &EntityVec<Block, Option<Block>>,
        irreducible: &EntityVec<Block, Option<bool>>,
    ) -> Self {
        let count = flow.successors.len();
        let mut forest = LoopForest {
            loops: EntityVec::new(),
            innermost: EntityVec::with_len(None, count),
        };
        // A header comes before its body in preorder, so parents are made before children; reverse post-order is as good
        // because a loop's header is met before every other block of the loop.
        for &block in &flow.order {
            let parent = headers[block].and_then(|h| forest.innermost[h]);
            forest.innermost[block] = match irreducible[block] {
                Some(irreducible) => {
                    let depth = parent.map_or(1, |p| forest.loops[p].depth + 1);
                    Some(forest.loops.push(Loop {
                        header: block,
                        parent,
                        depth,
                        reducible: !irreducible,
                        exits: SmallVec::new(),
                        interval: (0, 0),
                    }))
                }
                None => parent,
            };
        }
        forest.number();
        for &block in &flow.order {
            for &next in &flow.successors[block] {
                let mut at = forest.innermost[block];
                while let Some(l) = at {
                    if forest.contains(l, next) {
                        break;
                    }
                    forest.loops[l].exits.push(next);
                    at = forest.loops[l].parent;
                }
            }
        }
        for l in forest.loops.keys() {
            let exits = &mut forest.loops[l].exits;
            if exits.len() > 1 {
                exits.sort_unstable();
                exits.dedup();
            }
        }
        forest
    }

    /// Preorder intervals of the forest.
    fn number(&mut self) {
        let count = self.loops.len();
        let mut size = vec![1u32; count];
        for l in (0..count).rev() {
            if let Some(parent) = self.loops[LoopId(l as u32)].parent {
                size[parent.index()] += size[l];
            }
        }
        let mut next_root = 0;
        let mut next = vec![0u32; count];
        for l in 0..count {
            let id = LoopId(l as u32);
            let first = match self.loops[id].parent {
                Some(parent) => {
                    let at = next[parent.index()];
                    next[parent.index()] += size[l];
                    at
                }
                None => {
                    let at = next_root;
                    next_root += size[l];
                    at
                }
            };
            self.loops[id].interval = (first, first + size[l] - 1);
            next[l] = first + 1;
        }
    }
}

/// The nesting of blocks: for each one the header of the innermost loop around it (for headers: around the
/// loop), and for headers whether their loop is irreducible.
type Nesting = (
    EntityVec<Block, Option<Block>>,
    EntityVec<Block, Option<bool>>,
);

const NONE: u32 = u32::MAX;

fn nest(flow: &ControlFlow) -> Nesting {
    let count = flow.successors.len();
    let (vertex, number, last) = depth_first(flow);
    let reached = vertex.len();
    let is_ancestor = |above: usize, below: usize| above <= below && below <= last[above];
    let mut representative: Vec<u32> = (0..reached as u32).collect();
    let mut headers = EntityVec::with_len(None, count);
    let mut irreducible = EntityVec::with_len(None, count);
    let mut in_body = vec![u32::MAX; reached];
    // Entries of irreducible loops that count as edges to the loop's header: by header, a list linked by index.
    let mut further_of = vec![NONE; reached];
    let mut further: Vec<(u32, u32)> = Vec::new();
    let mut body: Vec<u32> = Vec::new();
    for at in (0..reached).rev() {
        let mark = at as u32;
        let mut is_irreducible = false;
        let mut is_header = false;
        body.clear();
        for &before in &flow.predecessors[vertex[at]] {
            let before = number[before];
            if !is_ancestor(at, before as usize) {
                continue;
            }
            is_header = true;
            let before = find(&mut representative, before);
            if before != mark && in_body[before as usize] != mark {
                in_body[before as usize] = mark;
                body.push(before);
            }
        }
        if !is_header {
            continue;
        }
        let mut done = 0;
        while done < body.len() {
            let member = body[done] as usize;
            done += 1;
            let mut next = further_of[member];
            let mut reach = |before: u32, further: &mut Vec<(u32, u32)>| {
                let before = find(&mut representative, before);
                if !is_ancestor(at, before as usize) {
                    is_irreducible = true;
                    if in_body[before as usize] != mark {
                        in_body[before as usize] = mark;
                        let first = std::mem::replace(&mut further_of[at], further.len() as u32);
                        further.push((before, first));
                    }
                } else if before != mark && in_body[before as usize] != mark {
                    in_body[before as usize] = mark;
                    body.push(before);
                }
            };
            for &before in &flow.predecessors[vertex[member]] {
                let before = number[before];
                if !is_ancestor(member, before as usize) {
                    reach(before, &mut further);
                }
            }
            while next != NONE {
                let (before, after) = further[next as usize];
                reach(before, &mut further);
                next = after;
            }
        }
        for &member in &body {
            headers[vertex[member as usize]] = Some(vertex[at]);
            representative[member as usize] = mark;
        }
        irreducible[vertex[at]] = Some(is_irreducible);
    }
    (headers, irreducible)
}

/// Blocks in preorder, numbers of blocks, and the last number below each.
fn depth_first(flow: &ControlFlow) -> (Vec<Block>, EntityVec<Block, u32>, Vec<usize>) {
    let mut number = EntityVec::with_len(u32::MAX, flow.successors.len());
    let mut vertex = vec![flow.order[0]];
    let mut last = vec![0];
    let mut stack = vec![(flow.order[0], 0usize)];
    number[flow.order[0]] = 0;
    while let Some((block, next)) = stack.last_mut() {
        if let Some(&child) = flow.successors[*block].get(*next) {
            *next += 1;
            if number[child] == u32::MAX {
                number[child] = vertex.len() as u32;
                vertex.push(child);
                last.push(0);
                stack.push((child, 0));
            }
        } else {
            last[number[*block] as usize] = vertex.len() - 1;
            stack.pop();
        }
    }
    (vertex, number, last)
}

fn find(representative: &mut [u32], start: u32) -> u32 {
    let mut root = start;
    while representative[root as usize] != root {
        root = representative[root as usize];
    }
    let mut at = start;
    while representative[at as usize] != root {
        at = std::mem::replace(&mut representative[at as usize], root);
    }
    root
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gates::tests::graph;

    #[test]
    fn nested_and_sequential() {
        // 0 -> 1 -> 2 -> 3 -> {2, 4}; 4 -> {1, 5}; 5 -> {5, 6}
        let flow = graph(&[&[1], &[2], &[3], &[2, 4], &[1, 5], &[5, 6], &[]]);
        let forest = LoopForest::new(&flow);
        assert_eq!(forest.loops.len(), 3);
        let inner = forest.of(Block(3)).unwrap();
        let outer = forest.of(Block(4)).unwrap();
        assert_eq!(forest.loops[inner].header, Block(2));
        assert_eq!(forest.loops[inner].parent, Some(outer));
        assert_eq!(forest.loops[inner].exits.as_slice(), [Block(4)]);
        assert_eq!(forest.loops[outer].header, Block(1));
        assert_eq!(forest.loops[outer].exits.as_slice(), [Block(5)]);
        assert!(forest.encloses(outer, inner) && !forest.encloses(inner, outer));
        assert!(forest.is_header(Block(5)));
        assert_eq!(forest.of(Block(6)), None);
        assert!(forest.loops.values().all(|l| l.reducible));
    }

    #[test]
    fn irreducible_is_marked() {
        let flow = graph(&[&[1, 2], &[2], &[1, 3], &[]]);
        let forest = LoopForest::new(&flow);
        assert_eq!(forest.loops.len(), 1);
        assert!(!forest.loops[LoopId(0)].reducible);
        assert!(forest.contains(LoopId(0), Block(1)) && forest.contains(LoopId(0), Block(2)));
    }

    #[test]
    fn deep_nest() {
        let depth = 100_000u32;
        let mut edges: Vec<Vec<u32>> = (0..depth).map(|i| vec![i + 1]).collect();
        for i in 0..depth {
            edges.push(if i + 1 < depth {
                vec![depth - 1 - i, depth + i + 1]
            } else {
                vec![]
            });
        }
        let rows: Vec<&[u32]> = edges.iter().map(Vec::as_slice).collect();
        let forest = LoopForest::new(&graph(&rows));
        assert_eq!(forest.loops.len(), depth as usize - 1);
    }
}
