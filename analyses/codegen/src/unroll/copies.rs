//! The body of a loop several times.
//!
//! ```text
//! b(i): x; -> h(i + 1)      b(i): x(i); x(i + 1); ...; -> h(i + times)
//! ```

use super::shape::Straight;
use crate::prepare::edit;
use ir::{Edge, Function, Inst, Terminator, Value};
use rustc_hash::FxHashMap;

/// Repeats the body, as one block. The number of rounds must be a multiple of `times`: the test is made once for all copies.
pub(super) fn repeat(function: &mut Function, straight: &Straight, times: u64) -> Straight {
    let found = join(function, straight);
    let body = found.body[0];
    let params = function.blocks[found.header].params.clone();
    let test = function.blocks[found.header].insts.clone();
    let first = function.blocks[body].insts.clone();
    let mut current = found.given(function, body);
    let last = current.clone();
    for _ in 1..times {
        let mut to: FxHashMap<Value, Value> = params
            .iter()
            .copied()
            .zip(current.iter().copied())
            .collect();
        for &inst in test.iter().chain(&first) {
            let copy = copied(function, inst, &mut to);
            function.blocks[body].insts.push(copy);
        }
        let next = last
            .iter()
            .map(|value| to.get(value).copied().unwrap_or(*value));
        current = next.collect();
    }
    if let Terminator::Jump(edge) = &mut function.blocks[body].terminator {
        edge.args = current.into_iter().collect();
    }
    found
}

/// A copy of an instruction, in no block yet, that reads other values; `to` gets its results.
pub(super) fn copied(
    function: &mut Function,
    inst: Inst,
    to: &mut FxHashMap<Value, Value>,
) -> Inst {
    let mut data = function.insts[inst].clone();
    for arg in data.operands_mut() {
        *arg = to.get(arg).copied().unwrap_or(*arg);
    }
    let results = std::mem::take(&mut data.results);
    let types: Vec<ir::Type> = results.iter().map(|&result| function.ty(result)).collect();
    let (copy, made) = edit::instruction(function, data, &types);
    to.extend(results.iter().copied().zip(made));
    copy
}

/// The blocks of a body as one.
fn join(function: &mut Function, straight: &Straight) -> Straight {
    let body = straight.body[0];
    // Parameters of the blocks are what the one way into each gives.
    let mut to: FxHashMap<Value, Value> = FxHashMap::default();
    let mut from = straight.header;
    for &block in &straight.body {
        let edges = function.blocks[from].terminator.edges();
        let given = edges.into_iter().find(|edge| edge.block == block);
        let given: Vec<Value> = given.map(|edge| edge.args.to_vec()).unwrap_or_default();
        let params = std::mem::take(&mut function.blocks[block].params);
        for (param, value) in params.into_iter().zip(given) {
            let value = to.get(&value).copied().unwrap_or(value);
            to.insert(param, value);
        }
        for edge in function.blocks[from].terminator.edges_mut() {
            if edge.block == block {
                edge.args.clear();
            }
        }
        from = block;
    }
    edit::replace(function, &mut straight.body.iter().copied(), &|value| {
        to.get(&value).copied().unwrap_or(value)
    });
    let insts = straight
        .body
        .iter()
        .flat_map(|&block| function.blocks[block].insts.clone());
    let insts: Vec<Inst> = insts.collect();
    let back = straight.given(function, straight.latch());
    for &gone in &straight.body[1..] {
        function.blocks[gone].insts.clear();
        function.blocks[gone].terminator = Terminator::Unreachable;
        function.layout.retain(|block| *block != gone);
    }
    function.blocks[body].insts = insts;
    function.blocks[body].terminator = Terminator::Jump(Edge {
        block: straight.header,
        args: back.into_iter().collect(),
    });
    Straight {
        body: vec![body],
        ..straight.clone()
    }
}
