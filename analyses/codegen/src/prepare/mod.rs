//! The IR in a shape whose loops select well.
//!
//! ```text
//! while (s[i] && s[i] != c) i++;      two tests that leave the loop, one load address that steps by itself
//! y[i] = y[i] + a * x[i];             three pointers: what a load steps must not wait for the store
//! ```
//!
//! Branches on constants become jumps (`branch`); blocks that only test their parameters are bypassed
//! (`thread`); equal computations are done once (`numbering`), and so are loads (`memory`); what the head of a loop
//! computes for an iteration alone moves behind its test (`sink`); loop-invariant
//! operations are computed in front of the loop (`invariant`); addresses that grow by a constant become loop
//! parameters (`address`). Where there is one flag, truth values become comparisons afterwards (`truth`), and
//! branches that only choose between values minimum, maximum and other choices (`choose`); where a sum has no shift of its
//! own, sums of shifted numbers are shifted behind their loop (`scale`). All operations that
//! are moved or merged are total, so nothing can fail where it did not.

mod address;
mod branch;
mod choose;
mod counter;
pub(crate) mod edit;
mod invariant;
pub(crate) mod linear;
mod memory;
mod numbering;
pub(crate) mod origin;
mod scaled;
mod sink;
mod thread;
mod truth;

pub(crate) use counter::{until_equal, widen};
pub(crate) use invariant::hoist;
pub(crate) use memory::accessed_as;
pub(crate) use scaled::scale;
pub(crate) use truth::compare;

use ir::cfg::ControlFlow;
use ir::loops::LoopForest;
use ir::{Block, BlockData, BranchKind, Edge, Function, InstData, Op, Terminator, Value};

/// Pointers to pointers whose loads are followed.
const CHAINS: usize = 3;

/// `wraps`: narrow sums may wrap whatever the program promises.
pub(crate) fn prepare(function: &mut Function, wraps: bool) {
    if function.layout.is_empty() {
        return;
    }
    branch::settle(function);
    thread::thread(function);
    merge(function, wraps);
    sink::sink(function);
    invariant::hoist(function);
    reduce(function, wraps);
}

/// Makes addresses that grow by a constant loop parameters; those that begin at the same place begin with the same value.
fn reduce(function: &mut Function, wraps: bool) {
    address::reduce(function, wraps);
    numbering::number(function);
}

/// Makes branches that only choose between values choices. What is executed always then is made ready as the rest was.
pub(crate) fn choose(function: &mut Function, wraps: bool) {
    if choose::choose(function) {
        merge(function, wraps);
        invariant::hoist(function);
        reduce(function, wraps);
    }
}

/// Does equal computations and loads once; `wraps` as for `prepare`.
pub(crate) fn merge(function: &mut Function, wraps: bool) {
    numbering::number(function);
    // A load that is known makes addresses equal that were loaded.
    for _ in 0..CHAINS {
        if !memory::forward(function, wraps) {
            break;
        }
        numbering::number(function);
    }
}

/// Operations that compute, and nothing else.
pub(crate) fn is_pure(data: &InstData) -> bool {
    data.guard.is_none()
        && data.results.len() == 1
        && matches!(
            data.op,
            Op::Unary(_)
                | Op::Binary(..)
                | Op::IntCompare(_)
                | Op::FloatCompare(_)
                | Op::Select
                | Op::Fma
                | Op::Ternary(_)
                | Op::Convert(_)
                | Op::PtrAdd
                | Op::SymbolAddress(_)
        )
}

/// Operations that leave memory as it is, besides loads.
pub(crate) fn leaves_memory(data: &InstData) -> bool {
    let reads_nothing = matches!(
        data.op,
        Op::Const(_)
            | Op::Undef
            | Op::Special(_)
            | Op::StageInput(_)
            | Op::Parameter(_)
            | Op::Alloca { .. }
            | Op::CallUnknown { pure: true, .. }
    );
    reads_nothing || is_pure(data)
}

/// Replaces operands everywhere.
fn rewrite(function: &mut Function, to: &dyn Fn(Value) -> Value) {
    let all = function.layout.clone();
    edit::replace(function, &mut all.into_iter(), to);
}

/// Headers of reducible loops, inner ones first.
fn headers(function: &Function) -> Vec<Block> {
    let forest = LoopForest::new(&ControlFlow::new(function));
    let loops = forest.loops.values().filter(|value| value.reducible);
    let mut out: Vec<(u32, Block)> = loops.map(|it| (it.depth, it.header)).collect();
    out.sort_by_key(|(depth, header)| (std::cmp::Reverse(*depth), *header));
    out.into_iter().map(|(_, header)| header).collect()
}

/// The block from which a loop is entered and nothing else, made where there is none.
fn preheader(
    function: &mut Function,
    header: Block,
    inside: &dyn Fn(Block) -> bool,
) -> Option<Block> {
    let mut found = None;
    for &block in function.layout.iter().filter(|&&block| !inside(block)) {
        for edge in function.blocks[block].terminator.edges() {
            if edge.block == header && found.replace(block).is_some() {
                return None;
            }
        }
    }
    let before = found?;
    if matches!(function.blocks[before].terminator, Terminator::Jump(_)) {
        return Some(before);
    }
    let mut args = None;
    let fresh = Block(function.blocks.len() as u32);
    for edge in function.blocks[before].terminator.edges_mut() {
        if edge.block == header {
            args = Some(std::mem::take(&mut edge.args));
            edge.block = fresh;
        }
    }
    let loc = function.blocks[before].loc;
    function.blocks.push(BlockData {
        params: Vec::new(),
        insts: Vec::new(),
        terminator: Terminator::Jump(Edge {
            block: header,
            args: args?,
        }),
        loc,
        branch: BranchKind::Implied,
    });
    let at = function.layout.iter().position(|&block| block == header)?;
    function.layout.insert(at, fresh);
    Some(fresh)
}
