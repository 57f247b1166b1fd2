//! Equal operations on equal operands, one of which stands where the other is seen: the first is used.
//!
//! One walk in reverse post-order; a candidate must be in a dominating block. Dominator trees answer in constant time.

use super::{is_pure, rewrite};
use ir::cfg::ControlFlow;
use ir::dominators::DominatorTree;
use ir::entity::Entity;
use ir::{Block, Function, Value};
use rustc_hash::FxHashMap;

pub(crate) fn number(function: &mut Function) {
    let flow = ControlFlow::new(function);
    let tree = DominatorTree::dominators(&flow);
    let mut known: FxHashMap<String, Vec<(Block, Value)>> = FxHashMap::default();
    let mut same: Vec<Value> = function.values.keys().collect();
    for &block in &flow.order {
        for inst in function.blocks[block].insts.clone() {
            let data = &mut function.insts[inst];
            for arg in &mut data.args {
                *arg = same[arg.index()];
            }
            if !is_pure(data) {
                continue;
            }
            let result = data.results[0];
            let key = format!(
                "{:?} {:?} {}",
                data.op, data.args, function.values[result].ty
            );
            let before = known.entry(key).or_default();
            match before.iter().find(|(at, _)| tree.dominates(*at, block)) {
                Some(&(_, value)) => same[result.index()] = value,
                None => before.push((block, result)),
            }
        }
    }
    rewrite(function, &|value| same[value.index()]);
}
