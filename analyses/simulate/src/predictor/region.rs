//! Regions that would be if-converted around branches that are mispredicted, and the trace that then remains.
//!
//! ```text
//! 0: if (a > b) 1 else 2     mispredicted       cmp p2,p3 = (a > b)
//! 2: if (b <= 0) 3 else 4    predicted          (p3) cmp.unc p4,p5 = (b <= 0)
//! 4: return                                     (p5) br.ret         fetched whenever the region is
//! 5: if (c < a) ...                             p6 = p2 || p4, (p6) br
//! ```
//!
//! A region is formed around each of the worst branches: a walk over the following blocks, breadth first,
//! that ends after some blocks, at returns, at branches of more than two ways, at loops and at other regions,
//! and passes blocks by that are seldom come to. A branch of the region both of whose ways are in it becomes
//! a compare; others remain, with a guard, and are fetched on every way. Control that enters a region by
//! another way than its head finds copies of its blocks. The walk takes time linear in the graph for each of
//! the worst branches, the conversion in the trace and the sizes of the regions.
//!
//! Does not choose by cycles: all of the worst branches are converted, which is the paper's question. Blocks
//! must be such that they can be executed under a guard; the maker of the graph marks others as ends of
//! walks.
//!
//! Source: B. Simon, B. Calder, J. Ferrante, *Incorporating Predicate Information into Branch Predictors*, EPIC-1, 2001,
//! section 2.

use super::{Branch, Define, Event, Write};
use std::cmp::Reverse;
use std::collections::VecDeque;

/// Blocks from a branch of the worst to the end of the walk.
const DEPTH: u32 = 5;
/// One of how many static branches are the worst.
const WORST: usize = 10;
/// Blocks that are come to in fewer than one of this many entries of a region are not of it.
const SELDOM: u64 = 10;

/// A block.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RegionNode {
    /// The targets of its edges; two of a branch.
    pub successors: Vec<usize>,
    /// A walk ends with it: a return, an indirect branch, a block that can't be executed under a guard.
    pub ends: bool,
    /// Cycles that it takes to fetch it.
    pub length: u32,
    /// The place of its branch, where it has one.
    pub pc: u64,
    /// Times that it was executed, and that its branch was mispredicted.
    pub executed: u64,
    pub mispredicted: u64,
}

/// A region.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Region {
    /// Its blocks in an order in which successors come later; the first is its head.
    pub nodes: Vec<usize>,
}

/// The end of a block in its region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RegionEnd {
    /// Both ways are in the region.
    Compare,
    /// A branch with a guard, taken where it leaves.
    Branch,
    /// Two branches with guards: both ways leave.
    TwoBranches,
    /// One way, which leaves: a branch with a guard.
    Jump,
    /// One way, within the region; or nothing comes behind it.
    Falls,
}

/// The regions of a graph, those of the worst branches first.
#[must_use]
pub fn regions(nodes: &[RegionNode]) -> Vec<Region> {
    let is_branch = |node: &usize| nodes[*node].successors.len() == 2;
    let mut worst: Vec<usize> = (0..nodes.len()).filter(is_branch).collect();
    let kept = worst.len().div_ceil(WORST);
    worst.sort_by_key(|&node| (Reverse(nodes[node].mispredicted), node));
    worst.truncate(kept);
    worst.retain(|&node| nodes[node].mispredicted > 0);
    let order = reverse_post_order(nodes);
    let mut taken = vec![false; nodes.len()];
    let mut out = Vec::new();
    for &head in &worst {
        if taken[head] {
            continue;
        }
        let region = walk(nodes, head, &worst, &taken, &order);
        let compares =
            (0..region.nodes.len()).any(|at| region.end(nodes, at) == RegionEnd::Compare);
        if !compares {
            continue;
        }
        for &node in &region.nodes {
            taken[node] = true;
        }
        out.push(region);
    }
    out
}

/// The number of each node in reverse post-order; edges to lower numbers close loops.
fn reverse_post_order(nodes: &[RegionNode]) -> Vec<usize> {
    let mut number = vec![usize::MAX; nodes.len()];
    let mut seen = vec![false; nodes.len()];
    let mut next = nodes.len();
    for root in 0..nodes.len() {
        if seen[root] {
            continue;
        }
        seen[root] = true;
        let mut stack = vec![(root, 0)];
        while let Some((node, edge)) = stack.last_mut() {
            match nodes[*node].successors.get(*edge) {
                Some(&to) => {
                    *edge += 1;
                    if !seen[to] {
                        seen[to] = true;
                        stack.push((to, 0));
                    }
                }
                None => {
                    next -= 1;
                    number[*node] = next;
                    stack.pop();
                }
            }
        }
    }
    number
}

fn walk(
    nodes: &[RegionNode],
    head: usize,
    worst: &[usize],
    taken: &[bool],
    order: &[usize],
) -> Region {
    let mut depth = vec![None; nodes.len()];
    depth[head] = Some(0);
    let mut queue = VecDeque::from([head]);
    while let Some(node) = queue.pop_front() {
        let at = depth[node].unwrap_or(0);
        let beside = nodes[node].successors.iter().any(|&to| taken[to]);
        if nodes[node].ends || at >= DEPTH || (node != head && beside) {
            continue;
        }
        for &to in &nodes[node].successors {
            let seldom = nodes[to].executed * SELDOM < nodes[head].executed;
            // Behind an edge that closes a loop another region begins.
            if depth[to].is_some() || taken[to] || seldom || order[to] <= order[node] {
                continue;
            }
            depth[to] = Some(if worst.contains(&to) { 0 } else { at + 1 });
            queue.push_back(to);
        }
    }
    let mut found: Vec<usize> = (0..nodes.len())
        .filter(|&node| depth[node].is_some())
        .collect();
    found.sort_by_key(|&node| order[node]);
    debug_assert_eq!(
        found.first(),
        Some(&head),
        "what follows the head comes behind it"
    );
    Region { nodes: found }
}

impl Region {
    /// The index of a node behind another, if it is in the region.
    fn later(&self, node: usize, at: usize) -> Option<usize> {
        let found = self.nodes.iter().position(|&known| known == node)?;
        (found > at).then_some(found)
    }

    /// The end that the block of an index has in the region.
    #[must_use]
    pub fn end(&self, nodes: &[RegionNode], at: usize) -> RegionEnd {
        let last = at + 1 == self.nodes.len();
        let successors = &nodes[self.nodes[at]].successors;
        let inside = |to: &usize| self.later(*to, at).is_some();
        match successors.as_slice() {
            [first, second] => match (inside(first), inside(second)) {
                (true, true) => RegionEnd::Compare,
                (false, false) if !last => RegionEnd::TwoBranches,
                _ => RegionEnd::Branch,
            },
            [only] if inside(only) => RegionEnd::Falls,
            _ if last => RegionEnd::Falls,
            _ => RegionEnd::Jump,
        }
    }
}

/// A block that was executed and the edge that it was left by; 0 where it has none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    pub node: u32,
    pub edge: u32,
}

/// The costs of a conversion.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Converted {
    /// Times that regions were entered.
    pub entries: u64,
    /// Cycles of fetch for blocks that were not executed.
    pub added: u64,
}

/// Places of branches that a conversion makes: the other way of a branch both of whose ways leave, a jump, and those of
/// copies.
const OTHER: u64 = 1 << 40;
const COPY: u64 = 1 << 41;

/// The place of the original branch.
#[must_use]
pub const fn original(pc: u64) -> u64 {
    pc & (OTHER - 1)
}

/// Tells the events of a trace whose regions are if-converted; a compare is known `delay` cycles after its fetch. Without
/// regions, the events of the trace as it is.
pub fn converted(
    nodes: &[RegionNode],
    regions: &[Region],
    trace: &[Step],
    delay: u32,
    listener: &mut dyn FnMut(&Event),
) -> Converted {
    let mut of: Vec<Option<(usize, usize)>> = vec![None; nodes.len()];
    for (number, region) in regions.iter().enumerate() {
        for (at, &node) in region.nodes.iter().enumerate() {
            of[node] = Some((number, at));
        }
    }
    let ends: Vec<Vec<RegionEnd>> = regions
        .iter()
        .map(|region| {
            (0..region.nodes.len())
                .map(|at| region.end(nodes, at))
                .collect()
        })
        .collect();
    let mut out = Emitter {
        nodes,
        delay,
        gap: 0,
        listener,
        out: Converted::default(),
    };
    let mut at = 0;
    while let Some(step) = trace.get(at) {
        let node = step.node as usize;
        match of[node] {
            Some((number, 0)) => {
                let (region, ends) = (&regions[number], &ends[number]);
                at += out.region(region, ends, &trace[at..]);
            }
            within => {
                out.plain(step, within.is_some());
                at += 1;
            }
        }
    }
    out.out
}

struct Emitter<'a> {
    nodes: &'a [RegionNode],
    delay: u32,
    /// Cycles since the last event.
    gap: u32,
    listener: &'a mut dyn FnMut(&Event),
    out: Converted,
}

impl Emitter<'_> {
    fn gap(&mut self) -> u32 {
        std::mem::take(&mut self.gap)
    }
    fn branch(&mut self, pc: u64, guard: u16, taken: bool) {
        let gap = self.gap();
        (self.listener)(&Event::Branch(Branch {
            gap,
            pc,
            taken,
            guard,
        }));
    }
    fn define(&mut self, first: Write, second: Option<Write>, compare: bool) {
        let gap = self.gap();
        (self.listener)(&Event::Define(Define {
            gap,
            delay: self.delay,
            first,
            second,
            compare,
        }));
    }

    /// A block outside of regions, or a copy of one of a region.
    fn plain(&mut self, step: &Step, copied: bool) {
        let node = &self.nodes[step.node as usize];
        self.gap = self.gap.saturating_add(node.length);
        let base = node.pc | if copied { COPY } else { 0 };
        // A branch of many ways is a chain of branches.
        for edge in 0..node.successors.len().saturating_sub(1) as u32 {
            self.branch(base + u64::from(edge), 0, edge == step.edge);
            if edge == step.edge {
                break;
            }
        }
    }

    /// One visit of a region; returns the steps that it takes.
    fn region(&mut self, region: &Region, ends: &[RegionEnd], trace: &[Step]) -> usize {
        let size = region.nodes.len();
        self.out.entries += 1;
        // By index: the edge by which the block was left, if it was executed; and its predecessors' edges into it.
        let mut executed: Vec<Option<u32>> = vec![None; size];
        let mut steps = 0;
        let mut now = Some(0);
        while let Some(at) = now {
            let Some(step) = trace.get(steps) else {
                break;
            };
            debug_assert_eq!(
                step.node as usize, region.nodes[at],
                "a trace follows edges"
            );
            executed[at] = Some(step.edge);
            steps += 1;
            let successors = &self.nodes[region.nodes[at]].successors;
            let to = successors.get(step.edge as usize).copied();
            now = to.and_then(|to| region.later(to, at));
        }
        // The guard of each block: the predicates of the edges into it.
        let mut guards: Vec<Vec<u16>> = vec![Vec::new(); size];
        for at in 0..size {
            let node = &self.nodes[region.nodes[at]];
            self.gap = self.gap.saturating_add(node.length);
            if executed[at].is_none() {
                self.out.added += u64::from(node.length);
            }
            let guard = match guards[at].as_slice() {
                _ if at == 0 => 0,
                [single] => *single,
                _ => {
                    let predicate = predicate(at, 2);
                    let first = Write {
                        predicate,
                        value: executed[at].is_some(),
                    };
                    self.define(first, None, false);
                    predicate
                }
            };
            let mut inside = node.successors.iter().map(|&to| region.later(to, at));
            match ends[at] {
                RegionEnd::Compare => {
                    let (yes, no) = (predicate(at, 0), predicate(at, 1));
                    let write = |predicate, edge| Write {
                        predicate,
                        value: executed[at] == Some(edge),
                    };
                    self.define(write(yes, 0), Some(write(no, 1)), true);
                    for (predicate, to) in [yes, no].into_iter().zip(inside) {
                        guards[to.unwrap_or(at)].push(predicate);
                    }
                }
                RegionEnd::Falls => {
                    if let Some(Some(to)) = inside.next() {
                        guards[to].push(guard);
                    }
                }
                RegionEnd::Jump => {
                    let leaves = executed[at].is_some();
                    self.branch(node.pc | OTHER, guard, leaves);
                    if leaves {
                        break;
                    }
                }
                RegionEnd::TwoBranches => {
                    self.branch(node.pc, guard, executed[at] == Some(0));
                    if executed[at] == Some(0) {
                        break;
                    }
                    self.branch(node.pc | OTHER, guard, executed[at] == Some(1));
                    if executed[at] == Some(1) {
                        break;
                    }
                }
                RegionEnd::Branch => {
                    let stays = inside.position(|to| to.is_some());
                    // Of the last block no way stays: it is taken or falls out of the region.
                    let leaves = match (executed[at], stays) {
                        (Some(edge), Some(stays)) => edge as usize != stays,
                        (edge, _) => edge == Some(0),
                    };
                    self.branch(node.pc, guard, leaves);
                    if leaves {
                        break;
                    }
                    if let Some(to) = stays.and_then(|edge| region.later(node.successors[edge], at))
                    {
                        // It stays under the block's guard unless the branch was taken.
                        let predicate = predicate(at, 0);
                        let value = executed[at].is_some();
                        self.define(Write { predicate, value }, None, false);
                        guards[to].push(predicate);
                    }
                }
            }
        }
        steps
    }
}

/// The predicate of a region's block: 0 and 1 of its compare, 2 of its guard.
const fn predicate(at: usize, which: u16) -> u16 {
    3 * at as u16 + 1 + which
}
