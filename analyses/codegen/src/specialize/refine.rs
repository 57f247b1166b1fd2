//! The smaller region that holds all that a version changes: the check sinks to the nearest block that dominates the
//! changes, and both copies meet again where all of them are behind.
//!
//! ```text
//! CHECK  a  [changed] b [changed]  c d e ...        ->   the copy ends before c; values used later meet there
//! ```
//!
//! Copies count as changed, so that code after the region is executed as it stands. The check never sinks
//! into a block that is executed more often. Linear in the region.
//!
//! Source: optional in Stephenson and Rangan, *AZP*, section 5.4; notes, section 7.4 (algorithm ours).

use super::Context;
use super::fold::{Folded, Known};
use super::live::Live;
use super::place::Place;
use ir::dominators::DominatorTree;
use ir::{Block, EntitySet, EntityVec, Function, Inst, Value};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

/// The point where both copies meet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Join {
    /// Nowhere new: at the ends of the blocks that the check dominates.
    Ends,
    /// At the start of a block.
    At(Block),
    /// In the head, after this many instructions that follow the check.
    Inside(usize),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refined {
    /// Instructions of the head before the check.
    pub before: Vec<Inst>,
    /// Instructions of the head after the check, those of `Join::Inside` included.
    pub after: Vec<Inst>,
    /// In reverse post-order, the head first.
    pub blocks: Vec<Block>,
    pub join: Join,
}

/// `None` when nothing changes.
#[must_use]
pub fn refine(
    cx: &Context<'_>,
    place: Place,
    blocks: &[Block],
    folded: &Folded,
    live: &Live,
) -> Option<Refined> {
    let function = cx.function;
    let gone = |inst: &Inst| cx.executes(*inst) && !live.kept.contains(inst);
    let insts = |block: Block| -> &[Inst] {
        if block == place.block {
            &place.after
        } else {
            &function.blocks[block].insts
        }
    };
    let folds = |block: Block| {
        let terminator = &function.blocks[block].terminator;
        terminator.selector().is_some_and(|selector| {
            matches!(folded.of(function, selector), Some(Known::Constant(_)))
                && function
                    .defining(selector)
                    .is_none_or(|data| !matches!(data.op, ir::Op::Const(_)))
        })
    };
    let changed: Vec<Block> = blocks
        .iter()
        .copied()
        .filter(|&block| {
            !folded.reached.contains(&block) || folds(block) || insts(block).iter().any(gone)
        })
        .collect();
    let mut head = *changed.first()?;
    for &block in &changed[1..] {
        head = common(&cx.dominators, head, block)?;
    }
    // A block that is not reached is skipped by the branch before it.
    while head != place.block
        && (!folded.reached.contains(&head) || cx.weights[head] > cx.weights[place.block])
    {
        head = cx.dominators.immediate(head)?;
    }
    if changed == [place.block] && !folds(place.block) {
        let end = place.after.iter().rposition(gone)? + 1;
        return Some(Refined {
            before: place.before,
            after: place.after,
            blocks: vec![place.block],
            join: Join::Inside(end),
        });
    }
    let (before, after) = if head == place.block {
        (place.before, place.after)
    } else {
        (Vec::new(), function.blocks[head].insts.clone())
    };
    let whole = |before, after| Refined {
        before,
        after,
        blocks: blocks
            .iter()
            .copied()
            .filter(|&block| cx.dominators.dominates(head, block))
            .collect(),
        join: Join::Ends,
    };
    let mut meet = Some(head);
    for &block in &changed {
        meet = meet.and_then(|so_far| common(&cx.post_dominators, so_far, block));
    }
    // The meeting place lies behind all changes.
    while let Some(block) = meet.filter(|block| changed.contains(block) || *block == head) {
        meet = cx.post_dominators.immediate(block);
    }
    while let Some(join) = meet.filter(|&join| cx.dominators.dominates(head, join)) {
        if let Some(inside) = enclosed(cx, head, join)
            && changed.iter().all(|block| inside.contains(block))
        {
            return Some(Refined {
                before,
                after,
                blocks: blocks
                    .iter()
                    .copied()
                    .filter(|block| inside.contains(block))
                    .collect(),
                join: Join::At(join),
            });
        }
        meet = cx.post_dominators.immediate(join);
    }
    Some(whole(before, after))
}

/// The blocks between the head and where the copies meet, when the head is the only way into them.
fn enclosed(cx: &Context<'_>, head: Block, join: Block) -> Option<FxHashSet<Block>> {
    let mut inside: FxHashSet<Block> = FxHashSet::from_iter([head]);
    let mut work = vec![head];
    while let Some(block) = work.pop() {
        for &next in &cx.flow.successors[block] {
            if next != join && cx.dominators.dominates(head, next) && inside.insert(next) {
                work.push(next);
            }
        }
    }
    let closed = |block: &Block| {
        *block == head
            || cx.flow.predecessors[*block]
                .iter()
                .all(|from| inside.contains(from))
    };
    inside.iter().all(closed).then(|| inside.clone())
}

impl Refined {
    /// Parameters and results that the region defines, in program order.
    pub(super) fn defined<'f>(
        &'f self,
        function: &'f Function,
    ) -> impl Iterator<Item = Value> + 'f {
        self.blocks
            .iter()
            .enumerate()
            .flat_map(move |(at, &block)| {
                let params: &[Value] = if at == 0 {
                    &[]
                } else {
                    &function.blocks[block].params
                };
                let results = self
                    .insts(function, block)
                    .iter()
                    .flat_map(|&inst| function.insts[inst].results.iter().copied());
                params.iter().copied().chain(results)
            })
    }

    /// Values of the region that are used outside of it, or that its edges carry out of it, in order of definition.
    #[must_use]
    pub fn escaping(&self, cx: &Context<'_>) -> Vec<Value> {
        let function = cx.function;
        let inside: EntitySet<Block> = self.blocks.iter().copied().collect();
        let head = self.blocks[0];
        let own: EntitySet<Inst> = self.insts(function, head).iter().copied().collect();
        let cut = matches!(self.join, Join::Inside(_));
        self.defined(function)
            .filter(|&value| {
                cx.users[value].iter().any(|user| match *user {
                    User::Inst(block, inst) => {
                        !inside.contains(&block) || (block == head && !own.contains(&inst))
                    }
                    User::Terminator(block) => !inside.contains(&block) || (block == head && cut),
                    User::Edge(from, to) => {
                        !inside.contains(&from)
                            || (from == head && cut)
                            || to == head
                            || !inside.contains(&to)
                    }
                })
            })
            .collect()
    }
}

/// The place where a value is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum User {
    Inst(Block, Inst),
    /// A use as a selector or a returned value.
    Terminator(Block),
    /// A use as an argument, from one block to another.
    Edge(Block, Block),
}

pub(super) fn users(function: &Function) -> EntityVec<Value, SmallVec<[User; 2]>> {
    let mut users = EntityVec::with_len(SmallVec::new(), function.values.len());
    for &block in &function.layout {
        let data = &function.blocks[block];
        for &inst in &data.insts {
            for arg in function.insts[inst].operands() {
                users[arg].push(User::Inst(block, inst));
            }
        }
        for &value in data.terminator.reads() {
            users[value].push(User::Terminator(block));
        }
        for edge in data.terminator.edges() {
            for &arg in &edge.args {
                users[arg].push(User::Edge(block, edge.block));
            }
        }
    }
    users
}

/// The nearest block above both in a tree.
fn common(tree: &DominatorTree, mut left: Block, mut right: Block) -> Option<Block> {
    while left != right {
        if tree.depth(left) >= tree.depth(right) {
            left = tree.immediate(left)?;
        } else {
            right = tree.immediate(right)?;
        }
    }
    Some(left)
}
