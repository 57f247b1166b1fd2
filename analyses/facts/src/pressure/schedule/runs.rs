//! The blocks that are scheduled together, and the number of copies of a loop's body that stand one behind
//! the other.
//!
//! ```text
//! for (i = 0; i < n; i++) s += a[i];     header, body, step and back: one run, in CUDA four copies
//! ```
//!
//! A run goes on where a block has one successor, in a loop one that stays inside, and that has no other predecessor. Copies are
//! those of the compiler in front of the assembler (LLVM's thresholds for NVIDIA's GPUs): of PTX it has been at work already.

use super::super::liveness::Liveness;
use crate::model::FunctionFacts;
use ir::entity::Entity;
use ir::loops::{LoopForest, LoopId};
use ir::{BinaryOp, Block, Edge, Language, Op, Value};

/// Operations of all copies of a loop whose iterations are known, at most.
const WHOLE: u64 = 300;
/// Operations of all copies of another loop, at most.
const PART: u64 = 75;
/// Copies of a loop whose iterations nothing tells, at most.
const COPIES: u64 = 8;
/// Copies that the assembler makes of a loop, and operations of one that it copies.
const ASSEMBLER_COPIES: u32 = 4;
const SMALL: usize = 24;
/// Copies that are looked at.
const MOST_COPIES: u64 = 16;

/// Blocks that follow each other.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Run {
    pub(super) blocks: Vec<Block>,
    pub(super) copies: u32,
    /// From the last block to the first.
    pub(super) back: Option<Edge>,
}

/// The runs of a function; each block that is reached is in one.
pub(super) fn runs(liveness: &Liveness<'_>, facts: &FunctionFacts) -> Vec<Run> {
    let function = liveness.function;
    let flow = &liveness.flow;
    let forest = LoopForest::new(flow);
    let mut taken = vec![false; function.blocks.len()];
    let mut out = Vec::new();
    for &first in &flow.order {
        if taken[first.0 as usize] {
            continue;
        }
        let mut run = Run {
            blocks: Vec::new(),
            copies: 1,
            back: None,
        };
        let mut at = first;
        loop {
            taken[at.0 as usize] = true;
            run.blocks.push(at);
            let Some(next) = next(liveness, &forest, at) else {
                break;
            };
            if next == first {
                let edges = function.blocks[at].terminator.edges();
                run.back = edges.into_iter().find(|edge| edge.block == first).cloned();
                break;
            }
            let single = flow.predecessors[next].len() == 1;
            if !single || taken[next.0 as usize] {
                break;
            }
            at = next;
        }
        run.copies = copies(liveness, facts, &run);
        out.push(run);
    }
    out
}

/// The block that follows: in a loop the one that stays in it.
fn next(liveness: &Liveness<'_>, forest: &LoopForest, block: Block) -> Option<Block> {
    let successors = &liveness.flow.successors[block];
    let own: Option<LoopId> = forest.of(block);
    let mut inside = successors
        .iter()
        .filter(|&&to| own.is_none_or(|own| forest.contains(own, to)) && forest.of(to) == own);
    let only = inside.next().copied()?;
    let leaves = successors.len() > 1;
    (inside.next().is_none() && (!leaves || own.is_some())).then_some(only)
}

/// Copies of a loop, 1 where it stays one.
fn copies(liveness: &Liveness<'_>, facts: &FunctionFacts, run: &Run) -> u32 {
    let function = liveness.function;
    let Some(back) = &run.back else { return 1 };
    match function.language {
        Language::Cuda | Language::Hlsl => {}
        Language::Ptx if assembler_copies(liveness, run, back) => return ASSEMBLER_COPIES,
        _ => return 1,
    }
    let header = run.blocks[0];
    let insts = run.blocks.iter().flat_map(|&b| &function.blocks[b].insts);
    let insts = insts.map(|&inst| &function.insts[inst]);
    let size = insts
        .filter(|inst| {
            !matches!(
                inst.op,
                Op::Const(_) | Op::Convert(_) | Op::SymbolAddress(_)
            )
        })
        .count() as u64
        + 1;
    let fact = facts.loops.iter().find(|fact| fact.header == header);
    let count = fact.and_then(|fact| fact.count).filter(|&count| count > 0);
    let asked = function
        .loops
        .iter()
        .find(|written| written.header == header);
    let asked = asked.and_then(|written| written.unroll);
    let made = match (asked, count) {
        (Some(0), Some(count)) => count,
        (Some(asked), _) if asked > 0 => u64::from(asked),
        (_, Some(count)) if count * size <= WHOLE => count,
        // Compilers of shaders unroll what is known, or what they are told to.
        _ if function.language == Language::Hlsl || !counts(liveness, run, back) => 1,
        _ => {
            let fits = (PART / size).min(COPIES).min(count.unwrap_or(COPIES));
            1 << fits.max(1).ilog2()
        }
    };
    // More of the same need no more at once.
    made.min(MOST_COPIES) as u32
}

/// Returns true for a small loop that writes nothing and counts by a constant, which the assembler copies,
/// whatever the number of its iterations.
fn assembler_copies(liveness: &Liveness<'_>, run: &Run, back: &Edge) -> bool {
    let function = liveness.function;
    let insts = || {
        let all = run.blocks.iter().flat_map(|&b| &function.blocks[b].insts);
        all.map(|&inst| &function.insts[inst])
    };
    let counted = insts().filter(|inst| !matches!(inst.op, Op::Const(_) | Op::Convert(_)));
    let is_small = counted.count() <= SMALL;
    is_small && !insts().any(|inst| inst.op.has_effect()) && counts(liveness, run, back)
}

/// Returns true for a loop that compares a counter to which each iteration adds a constant.
fn counts(liveness: &Liveness<'_>, run: &Run, back: &Edge) -> bool {
    let function = liveness.function;
    let name = |value: Value| Value::new(liveness.names[value.index()]);
    let params = &function.blocks[run.blocks[0]].params;
    let steps = |value: Value| {
        let passed = params.iter().zip(&back.args);
        let mut passed = passed.map(|(&param, &arg)| (param, name(arg)));
        passed.any(|(param, arg)| {
            let Some(sum) = function.defining(arg) else {
                return false;
            };
            let adds = matches!(
                sum.op,
                Op::PtrAdd | Op::Binary(BinaryOp::Add | BinaryOp::Sub, _)
            );
            let mut constants = sum.args.iter().map(|&arg| function.int_constant(arg));
            let by_constant = constants.any(|constant| constant.is_some());
            let own = sum.args.iter().any(|&arg| name(arg) == param);
            adds && by_constant && own && (value == param || value == arg)
        })
    };
    let leaves = |&block: &Block| {
        let condition = function.blocks[block].terminator.selector();
        let test = condition.and_then(|condition| function.defining(condition));
        let test = test.filter(|test| matches!(test.op, Op::IntCompare(_)));
        test.is_some_and(|test| test.args.iter().any(|&arg| steps(name(arg))))
    };
    run.blocks.iter().any(leaves)
}
