//! The words that the values of a function take in the orders that a compiler's scheduler chooses from: the one that keeps
//! few values, and the one in which loads begin as early as their addresses allow.
//!
//! ```text
//! a = load p; s = s + a; b = load p+4; s = s + b      in the order of the text 3 words: p, s and one of a, b
//! a = load p; b = load p+4; s = s + a; s = s + b      early: both loads under way, 4
//! ```
//!
//! Operations are scheduled within runs of blocks that always follow each other; an innermost loop that is
//! such a run stands as often as a compiler copies it (`runs`). Registers are counted as in `pressure`, but
//! an index times a constant is part of the address that it is added to, and an operation that a processor
//! has no instruction for has the words of its expansion. The registers of a run are the sum of those live at
//! its worst point; no colours are given, so that holes between pairs are not seen.
//!
//! Early: a list schedule by the longest way to the end, cycle by cycle, as long as a limit is kept. Least:
//! backwards, the operation that leaves fewest words live. Both are quadratic in the operations that are
//! ready at once in the worst case; a run of more than `LONGEST` operations stays in the order of its text.

mod graph;
mod order;
mod runs;

use super::Counted;
use super::liveness::Liveness;
use crate::model::FunctionFacts;
use fixedbitset::FixedBitSet;
use graph::Graph;
use ir::{Function, Op, Type, WarpKind};
use runs::Run;

/// Operations of a run that are scheduled.
const LONGEST: usize = 4096;

/// The schedules of a function, and its further demands for registers.
#[derive(Debug)]
pub struct Schedules {
    graphs: Vec<Graph>,
    /// Words live in the order that keeps fewest, values that one operation gives again from others not counted.
    pub least: u32,
    /// Accesses of global memory, each place of the code once, and as often as its loop is copied.
    pub accesses: u32,
    /// Values are exchanged between lanes.
    pub shuffles: bool,
    /// True if there are operations on 64-bit numbers.
    pub doubles: bool,
    /// Words live across a call that keeps to conventions; `None`: there is no call.
    pub across_calls: Option<u32>,
    /// True if nothing is done.
    pub empty: bool,
}

impl Schedules {
    /// The schedules of a function on a processor with one register file; `None` where it is too large.
    #[must_use]
    pub fn new(function: &Function, facts: &FunctionFacts) -> Option<Schedules> {
        Self::of(function, facts, Counted::All)
    }

    /// The schedules of a function by the registers that are counted; `None` where it is too large.
    #[must_use]
    pub fn of(
        function: &Function,
        facts: &FunctionFacts,
        counted: Counted<'_>,
    ) -> Option<Schedules> {
        let liveness = Liveness::folded(function, counted)?;
        let needed = needed(function);
        let runs = runs::runs(&liveness, facts);
        let graphs: Vec<Graph> = runs
            .iter()
            .map(|run: &Run| Graph::new(&liveness, &needed, run))
            .collect();
        let mut out = Schedules {
            least: 0,
            accesses: 0,
            shuffles: false,
            doubles: false,
            across_calls: None,
            empty: graphs.iter().all(|graph| graph.operations.is_empty()),
            graphs,
        };
        let all = out.graphs.iter().flat_map(|graph| &graph.operations);
        out.accesses = all.filter(|operation| operation.accesses).count() as u32;
        let recipes = graph::recipes(&liveness);
        let least = out.graphs.iter().map(|graph| order::least(graph, &recipes));
        out.least = least.max().unwrap_or(0);
        let across = out.graphs.iter().filter_map(order::across_calls);
        out.across_calls = across.max();
        for &block in &liveness.flow.order {
            for &inst in &function.blocks[block].insts {
                let inst = &function.insts[inst];
                if needed.executes(inst) {
                    out.note(function, inst);
                }
            }
        }
        Some(out)
    }

    /// Words live where loads stand as early as they can without more than `limit` words being live, as far as that is possible.
    #[must_use]
    pub fn early(&self, limit: u32) -> u32 {
        let all = self.graphs.iter().map(|graph| order::early(graph, limit));
        all.max().unwrap_or(0)
    }

    fn note(&mut self, function: &Function, inst: &ir::InstData) {
        if let Op::Warp(op) = &inst.op {
            self.shuffles |= is_shuffle(op.kind);
        }
        let wide = |&result: &ir::Value| function.ty(result) == Type::F64;
        self.doubles |= !matches!(inst.op, Op::Const(_)) && inst.results.iter().any(wide);
    }
}

const fn is_shuffle(kind: WarpKind) -> bool {
    matches!(
        kind,
        WarpKind::ShuffleIndex
            | WarpKind::ShuffleUp
            | WarpKind::ShuffleDown
            | WarpKind::ShuffleXor
            | WarpKind::ShufflePtx(_)
            | WarpKind::ReadLaneAt
            | WarpKind::Reduce(_)
            | WarpKind::PrefixExclusive(_)
            | WarpKind::PrefixInclusive(_)
    )
}

/// The values that effects, branches and results depend on.
struct Needed(ir::entity::EntitySet<ir::Value>);

impl Needed {
    /// Returns true for an instruction that a compiler keeps.
    fn executes(&self, inst: &ir::InstData) -> bool {
        inst.op.has_effect() || inst.results.iter().any(|result| self.0.contains(result))
    }
}

fn needed(function: &Function) -> Needed {
    let executes = |inst: ir::Inst| function.insts[inst].op.has_effect();
    let operands = |inst: ir::Inst, out: &mut Vec<ir::Value>| {
        out.extend(function.insts[inst].operands());
    };
    let roots = ir::needed::roots(function, executes, &operands);
    Needed(ir::needed::needed(function, roots, &operands))
}

/// The words of a set of values.
fn words(live: &FixedBitSet, widths: &[u32]) -> u32 {
    live.ones().map(|value| widths[value]).sum()
}

#[cfg(test)]
#[path = "../schedule_tests.rs"]
mod tests;
