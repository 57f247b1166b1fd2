//! Loop-invariant code motion: an operation computed anew in every iteration from the same operands is
//! computed in front of the loop.
//!
//! Inner loops first, so that an operation leaves as many as it can. Operations that only some iterations
//! execute are moved, too: all of them are total.

use super::{headers, is_pure, preheader};
use ir::cfg::ControlFlow;
use ir::loops::LoopForest;
use ir::{Block, EntityVec, Function, Inst, Type, Value};
use rustc_hash::FxHashSet;

pub(crate) fn hoist(function: &mut Function) {
    let mut forest = LoopForest::new(&ControlFlow::new(function));
    // The number of blocks when the forest was made: only a new block in front of a loop changes it.
    let mut blocks_then = function.blocks.len();
    for header in headers(function) {
        if function.blocks.len() != blocks_then {
            forest = LoopForest::new(&ControlFlow::new(function));
            blocks_then = function.blocks.len();
        }
        let Some(own) = forest.of(header) else {
            continue;
        };
        let blocks: Vec<Block> = function
            .layout
            .iter()
            .copied()
            .filter(|&block| forest.contains(own, block))
            .collect();
        let mut varies: EntityVec<Value, bool> = EntityVec::with_len(false, function.values.len());
        for &block in &blocks {
            for &param in &function.blocks[block].params {
                varies[param] = true;
            }
            for &inst in &function.blocks[block].insts {
                for &result in &function.insts[inst].results {
                    varies[result] = true;
                }
            }
        }
        let mut moved: Vec<Inst> = Vec::new();
        for &block in &blocks {
            for &inst in &function.blocks[block].insts {
                let data = &function.insts[inst];
                // A predicate for the whole loop costs more than its comparison.
                let worth = is_pure(data) && function.ty(data.results[0]) != Type::Bool;
                if worth && data.args.iter().all(|&arg| !varies[arg]) {
                    varies[data.results[0]] = false;
                    moved.push(inst);
                }
            }
        }
        // Constants are written where they are used, but they must stand in front of the moved operations all
        // the same.
        if moved.is_empty() {
            continue;
        }
        let inside = |block: Block| forest.contains(own, block);
        let Some(before) = preheader(function, header, &inside) else {
            continue;
        };
        let gone: FxHashSet<Inst> = moved.iter().copied().collect();
        for &block in &blocks {
            function.blocks[block]
                .insts
                .retain(|inst| !gone.contains(inst));
        }
        function.blocks[before].insts.extend(moved);
    }
}
