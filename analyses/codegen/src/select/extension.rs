//! Properties of values that go with control through block parameters: what is asked of a value is asked of all that may
//! arrive in it, and a parameter has only what all that arrives has.

use ir::{Block, Edge, EntityVec, Function, InstData, Value, ValueDef};

/// The values of which something is asked: the given ones, and all that arrives in one of them.
pub(crate) fn demanded(function: &Function, mut work: Vec<Value>) -> EntityVec<Value, bool> {
    let mut out = EntityVec::with_len(false, function.values.len());
    let mut arriving: EntityVec<Block, Vec<&Edge>> =
        EntityVec::with_len(Vec::new(), function.blocks.len());
    for &block in &function.layout {
        for edge in function.blocks[block].terminator.edges() {
            arriving[edge.block].push(edge);
        }
    }
    while let Some(value) = work.pop() {
        if std::mem::replace(&mut out[value], true) {
            continue;
        }
        if let ValueDef::Param(block, index) = function.values[value].def {
            for edge in &arriving[block] {
                work.extend(edge.args.get(index as usize));
            }
        }
    }
    out
}

/// Takes a property from the values that lose it, until nothing changes: from results that `has` denies it by what still
/// has it, and from parameters in which a value arrives that `arrives` denies it. Each round is linear in the instructions,
/// and takes something away.
pub(crate) fn hold(
    function: &Function,
    holds: &mut EntityVec<Value, bool>,
    has: &dyn Fn(&EntityVec<Value, bool>, &InstData) -> bool,
    arrives: &dyn Fn(&EntityVec<Value, bool>, Value) -> bool,
) {
    let mut changed = true;
    while std::mem::take(&mut changed) {
        for &block in &function.layout {
            for &inst in &function.blocks[block].insts {
                let data = &function.insts[inst];
                for &result in &data.results {
                    if holds[result] && !has(holds, data) {
                        holds[result] = false;
                        changed = true;
                    }
                }
            }
            for edge in function.blocks[block].terminator.edges() {
                let params = &function.blocks[edge.block].params;
                for (&arg, &param) in edge.args.iter().zip(params) {
                    if holds[param] && !arrives(holds, arg) {
                        holds[param] = false;
                        changed = true;
                    }
                }
            }
        }
    }
}
