//! What the head of a loop computes for an iteration alone moves behind its test.
//!
//! ```text
//! while (n--) s += *p++;      m = n - 1; if (n != 0) { .. }      ->      if (n != 0) { m = n - 1; .. }
//! ```
//!
//! Then the test at the end of an iteration follows the step of its counter, as that of other loops does. Pure operations, whose
//! results are read only where control comes from the test; one pass over each head.

use super::{headers, is_pure};
use ir::cfg::ControlFlow;
use ir::dominators::DominatorTree;
use ir::loops::LoopForest;
use ir::{Block, Function, Inst, Terminator, Value};
use rustc_hash::FxHashSet;

pub(super) fn sink(function: &mut Function) {
    let flow = ControlFlow::new(function);
    let forest = LoopForest::new(&flow);
    let dominators = DominatorTree::dominators(&flow);
    for header in headers(function) {
        let Some(body) = entered(function, &forest, header) else {
            continue;
        };
        let elsewhere: FxHashSet<Value> = function
            .layout
            .iter()
            .filter(|&&block| block != header && !dominators.dominates(body, block))
            .flat_map(|&block| read(function, block))
            .collect();
        let terminator = &function.blocks[header].terminator;
        let mut own: FxHashSet<Value> = terminator.operands().collect();
        let mut stays: Vec<Inst> = Vec::new();
        let mut moved: Vec<Inst> = Vec::new();
        for &inst in function.blocks[header].insts.iter().rev() {
            let data = &function.insts[inst];
            let is_read = |value: &Value| own.contains(value) || elsewhere.contains(value);
            if is_pure(data) && !data.results.iter().any(is_read) {
                moved.push(inst);
            } else {
                own.extend(data.operands());
                stays.push(inst);
            }
        }
        if moved.is_empty() {
            continue;
        }
        stays.reverse();
        moved.reverse();
        function.blocks[header].insts = stays;
        function.blocks[body].insts.splice(0..0, moved);
    }
}

/// The block of a loop to which the test in its head leads, and nothing else.
fn entered(function: &Function, forest: &LoopForest, header: Block) -> Option<Block> {
    let own = forest.of(header)?;
    let terminator = &function.blocks[header].terminator;
    if !matches!(terminator, Terminator::Branch { .. }) {
        return None;
    }
    let edges = terminator.edges();
    let mut inside = edges.iter().filter(|edge| forest.contains(own, edge.block));
    let (Some(edge), None) = (inside.next(), inside.next()) else {
        return None;
    };
    let to = |block: &&Block| {
        let edges = function.blocks[**block].terminator.edges();
        edges.iter().any(|it| it.block == edge.block)
    };
    let alone = function.layout.iter().filter(to).count() == 1;
    (alone && edge.block != header).then_some(edge.block)
}

/// The values that a block reads.
fn read(function: &Function, block: Block) -> Vec<Value> {
    let data = &function.blocks[block];
    let insts = data.insts.iter();
    let args = insts.flat_map(|&inst| function.insts[inst].operands());
    args.chain(data.terminator.operands()).collect()
}
