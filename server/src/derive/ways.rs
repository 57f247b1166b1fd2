//! The number of times that the sides of an item's branches are taken, and the path on which most of each
//! function's instructions are executed.
//!
//! Both come from counted paths, or from counts of edges, which may be bounds. Positions are relative to the item.

use super::parts::parts;
use super::paths::{Known, known_paths};
use super::pressure::outer;
use crate::db::{Db, Item};
use facts::paths::bounds::CountBounds;
use facts::paths::{Path, Start, certain_edge};
use ir::cfg::ControlFlow;
use ir::dominators::DominatorTree;
use ir::entity::Entity;
use ir::{Block, BranchKind, Function, Loc, Op, Site};
use syntax::Span;

/// A branch of two sides.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SideRow {
    /// The condition.
    pub span: Span,
    pub kind: BranchKind,
    /// The executions by lanes.
    pub executed: CountBounds,
    /// Times that the condition held.
    pub held: CountBounds,
    /// Instructions that stand on either side alone.
    pub sizes: [usize; 2],
    /// The code is the one that was profiled.
    pub exact: bool,
    /// Edges alone were counted.
    pub edges_alone: bool,
}

impl SideRow {
    /// The share of executions in which the condition held, from 0 to 1: at least and at most.
    pub fn shares(&self) -> [f64; 2] {
        let all = self.executed.most.max(1) as f64;
        let least = self.held.least as f64 / all;
        let most = match self.executed.is_exact() {
            true => self.held.most.min(self.executed.most) as f64 / all,
            false => 1.0,
        };
        [least, most]
    }
}

/// The path of a function on which most instructions are executed.
#[derive(Clone, PartialEq, Debug)]
pub struct HotPath {
    /// The function's name.
    pub head: Span,
    pub count: CountBounds,
    /// The share of all instructions that lanes executed in the function, from 0 to 1; a lower bound if
    /// `count` is a bound.
    pub share: f64,
    /// True if it begins with another iteration of a loop.
    pub again: bool,
    /// The places of the instructions in its blocks, in the order in which they are come to.
    pub places: Vec<Span>,
    pub entries: u64,
    pub exact: bool,
}

/// The ways through an item's functions.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Ways {
    /// The sides of branches, by position.
    pub sides: Vec<SideRow>,
    pub hot: Vec<HotPath>,
}

/// The ways of an item that its profile counts. Of the instances of a template, the first that has a profile.
pub fn of_item(db: &dyn Db, item: Item<'_>) -> Ways {
    let mut out = Ways::default();
    for part in parts(db, item) {
        let function = part.function;
        let head = part
            .rows
            .head
            .map_or(function.name_span, |head| head.name_span);
        if out.hot.iter().any(|known| known.head == head) {
            continue;
        }
        let Some(known) = known_paths(db, item, function) else {
            continue;
        };
        let rows = sides(function, &known);
        let new = |row: &SideRow| !out.sides.iter().any(|other| other.span == row.span);
        let rows: Vec<SideRow> = rows.into_iter().filter(new).collect();
        out.sides.extend(rows);
        out.hot.extend(hot(function, &known, head));
    }
    out.sides.sort_by_key(|row| row.span);
    out
}

/// Instructions of a block that are executed, its end among them.
fn size(function: &Function, block: Block) -> usize {
    let insts = function.blocks[block].insts.iter();
    let executed = insts.filter(|&&inst| {
        let op = &function.insts[inst].op;
        !matches!(
            op,
            Op::Const(_) | Op::Undef | Op::Parameter(_) | Op::SymbolAddress(_)
        )
    });
    executed.count() + 1
}

fn sides(function: &Function, known: &Known) -> Vec<SideRow> {
    let counts = known.edges();
    let passed = counts.passed(known.numbers.graph());
    let flow = ControlFlow::new(function);
    let dominators = DominatorTree::dominators(&flow);
    // Of a side that others come to, too, nothing is its own.
    let alone = |target: Block| match flow.predecessors[target].len() {
        1 => {
            let below = function.blocks.keys();
            let below = below.filter(|&block| dominators.dominates(target, block));
            below.map(|block| size(function, block) - 1).sum()
        }
        _ => 0,
    };
    let mut at: Vec<Span> = Vec::new();
    let mut out = Vec::new();
    for (block, data) in function.blocks.iter() {
        let &[held, not] = counts.edges[block.index()].as_slice() else {
            continue;
        };
        let edges = data.terminator.edges();
        let written = data.loc.site == Site(0) && !data.loc.span.is_empty();
        if !written || data.branch == BranchKind::Implied || certain_edge(function, block).is_some()
        {
            continue;
        }
        // A condition that stands for several branches says nothing of any.
        if at.contains(&data.loc.span) {
            out.retain(|row: &SideRow| row.span != data.loc.span);
            continue;
        }
        at.push(data.loc.span);
        let both = held.plus(not);
        out.push(SideRow {
            span: data.loc.span,
            kind: data.branch,
            executed: passed[block.index()].and(both).unwrap_or(both),
            held,
            sizes: [alone(edges[0].block), alone(edges[1].block)],
            exact: known.exact(),
            edges_alone: known.profile().is_none(),
        });
    }
    out
}

fn hot(function: &Function, known: &Known, head: Span) -> Option<HotPath> {
    let sizes: Vec<u64> = function
        .blocks
        .keys()
        .map(|block| size(function, block) as u64)
        .collect();
    let passed = known.edges().passed(known.numbers.graph());
    let executed = passed.iter().zip(&sizes);
    let all = executed.fold(0u64, |sum, (count, size)| {
        sum.saturating_add(count.most.saturating_mul(*size))
    });
    let length = |path: &Path| path.nodes.iter().map(|&node| sizes[node]).sum::<u64>();
    let paths = known.ranked();
    let dear = |(path, count): &(Path, CountBounds)| count.least.saturating_mul(length(path));
    // The first of several.
    let (path, count) = paths.into_iter().rev().max_by_key(dear)?;
    let share = dear(&(path.clone(), count)) as f64 / all.max(1) as f64;
    let place = |loc: Loc| outer(function, loc).filter(|span| !span.is_empty());
    let mut places: Vec<Span> = Vec::new();
    for &node in &path.nodes {
        let data = &function.blocks[Block::new(node)];
        let insts = data.insts.iter().map(|&inst| &function.insts[inst]);
        let placed = insts.filter(|inst| !matches!(inst.op, Op::Const(_)));
        let mut own: Vec<Span> = placed.filter_map(|inst| place(inst.loc)).collect();
        own.extend(place(data.loc));
        own.sort_unstable();
        places.extend(own);
    }
    places.dedup();
    (count.least > 0).then(|| HotPath {
        head,
        count,
        share,
        again: path.start != Start::Entry,
        places,
        entries: known.entries(),
        exact: known.exact(),
    })
}
