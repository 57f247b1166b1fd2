//! The branches of a function that ran on one lane, as a predictor sees them: its mispredictions, and those
//! that remain when the worst branches are if-converted with the blocks that follow them.
//!
//! Time is counted as if an instruction of the intermediate form were fetched in each cycle. Branches are
//! those of the source: a branch that a compiler turns into selects is still one here.

use super::record::RecordedBranches;
use ir::{Block, Function, Op};
use simulate::predictor::region::{
    Region, RegionEnd, RegionNode, Step, converted, original, regions,
};
use simulate::predictor::{Counts, Design, Laboratory, Outcome};

/// Cycles from a compare until fetches see its predicates.
const DELAY: u32 = 8;

/// The reason why nothing is said of a branch after a region's if-conversion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoRegion {
    /// Lanes of warps: they run both sides anyhow.
    Lanes,
    /// Assembly, whose branches are as they are.
    Assembly,
    /// No branch in the function is mispredicted.
    AllPredicted,
    /// The worst branches can't become compares: both ways of one leave the region that is formed around it.
    NoneFormed,
    /// It is a branch of many ways, which remains.
    ManyWays(u32),
}

/// A branch and its predictions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PredictedBranch {
    pub block: Block,
    pub counts: Counts,
    pub after: Result<u64, NoRegion>,
    /// True if it becomes a compare.
    pub compare: bool,
}

/// The sums over a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RegionSums {
    /// Regions that are formed, and times that they are entered.
    pub regions: usize,
    pub entries: u64,
    /// Mispredictions that remain.
    pub mispredicted: u64,
    /// Instructions that are fetched for nothing.
    pub added: u64,
    /// Times that a branch's guard was false and not yet known, and the most cycles that a compare would have to stand earlier.
    pub late: u64,
    pub earlier: u64,
}

/// The predictions of a function.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Predicted {
    /// In the order of blocks.
    pub branches: Vec<PredictedBranch>,
    pub all: Counts,
    pub after: Option<RegionSums>,
}

/// Predicts the branches of a run; `None` where lanes did not run alone.
pub fn predicted(
    function: &Function,
    ran: &RecordedBranches,
    design: &Design,
) -> Option<Predicted> {
    let trace = ran.trace.as_ref()?;
    let mut nodes = nodes(function);
    for step in trace {
        nodes[step.node as usize].executed += 1;
    }
    let (before, _) = run(&nodes, &[], trace, design);
    let of = |outcome: &Outcome, node: &RegionNode| {
        let ways = node.successors.len().saturating_sub(1) as u64;
        let mut sum = Counts::default();
        for (pc, counts) in &outcome.branches {
            if (node.pc..node.pc + ways).contains(&original(*pc)) {
                sum.executed += counts.executed;
                sum.taken += counts.taken;
                sum.mispredicted += counts.mispredicted;
                sum.squashed += counts.squashed;
            }
        }
        sum
    };
    let counted: Vec<u64> = nodes
        .iter()
        .map(|node| of(&before, node).mispredicted)
        .collect();
    for (node, mispredicted) in nodes.iter_mut().zip(counted) {
        node.mispredicted = mispredicted;
    }
    let formed = regions(&nodes);
    let after = (!formed.is_empty()).then(|| run(&nodes, &formed, trace, design));
    let none = match before.all.mispredicted {
        0 => NoRegion::AllPredicted,
        _ => NoRegion::NoneFormed,
    };
    let branches = ran.counts.iter().map(|&(block, counts)| {
        let node = &nodes[block.0 as usize];
        let compare = becomes_compare(&nodes, &formed, block);
        let ways = node.successors.len() as u32;
        PredictedBranch {
            block,
            counts: Counts {
                // Of a branch of many ways: times that the first was taken.
                executed: counts.executed,
                taken: counts.taken,
                ..of(&before, node)
            },
            after: match &after {
                None => Err(none),
                Some(_) if ways > 2 => Err(NoRegion::ManyWays(ways)),
                Some((outcome, _)) => Ok(of(outcome, node).mispredicted),
            },
            compare,
        }
    });
    Some(Predicted {
        branches: branches.collect(),
        all: before.all,
        after: after.map(|(outcome, sums)| RegionSums {
            regions: formed.len(),
            mispredicted: outcome.all.mispredicted,
            late: outcome.all.late,
            earlier: outcome.all.earlier,
            ..sums
        }),
    })
}

fn run(
    nodes: &[RegionNode],
    formed: &[Region],
    trace: &[Step],
    design: &Design,
) -> (Outcome, RegionSums) {
    let mut laboratory = Laboratory::new(design);
    let done = converted(nodes, formed, trace, DELAY, &mut |event| {
        laboratory.event(event);
    });
    let sums = RegionSums {
        entries: done.entries,
        added: done.added,
        ..RegionSums::default()
    };
    (laboratory.outcome(), sums)
}

fn becomes_compare(nodes: &[RegionNode], formed: &[Region], block: Block) -> bool {
    formed.iter().any(|region| {
        let at = region
            .nodes
            .iter()
            .position(|&node| node == block.0 as usize);
        at.is_some_and(|at| region.end(nodes, at) == RegionEnd::Compare)
    })
}

/// The blocks of a function as walks see them.
fn nodes(function: &Function) -> Vec<RegionNode> {
    let mut pc = 0;
    let node = |data: &ir::BlockData| {
        let successors: Vec<usize> = data
            .terminator
            .edges()
            .iter()
            .map(|edge| edge.block.0 as usize)
            .collect();
        let calls = |op: &Op| matches!(op, Op::Call(_) | Op::CallUnknown { .. } | Op::Asm { .. });
        let ends = successors.len() != 1 && successors.len() != 2
            || data
                .insts
                .iter()
                .any(|&inst| calls(&function.insts[inst].op));
        let own = pc;
        pc += successors.len().saturating_sub(1) as u64;
        RegionNode {
            ends,
            length: data.insts.len() as u32 + 1,
            pc: own,
            successors,
            ..RegionNode::default()
        }
    };
    function.blocks.values().map(node).collect()
}

#[cfg(test)]
mod tests;
