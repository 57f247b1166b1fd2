//! A loop that executes once at least begins without a test.
//!
//! ```text
//! h(i): test i; -> b or out    b: ...; -> h(i')        b(i): ...; test i'; -> b(i') or h(i')    h(i): -> out
//! ```
//!
//! The header stays behind the loop: what the outside reads of the loop are its parameters.

use super::copies::copied;
use super::shape::Straight;
use crate::prepare::edit;
use ir::{Block, Edge, Function, Terminator, Value};
use rustc_hash::FxHashMap;

/// Puts the test of a loop of one block behind its body; returns the block that is the loop now.
pub(super) fn at_once(function: &mut Function, straight: &Straight) -> Block {
    let (header, body) = (straight.header, straight.body[0]);
    let params = function.blocks[header].params.clone();
    let next = straight.given(function, body);
    let test = function.blocks[header].insts.clone();
    let rest = std::mem::take(&mut function.blocks[body].insts);
    let own: Vec<Value> = params
        .iter()
        .map(|&param| {
            let ty = function.ty(param);
            edit::param(function, body, ty)
        })
        .collect();
    let mut to: FxHashMap<Value, Value> = params.iter().copied().zip(own).collect();
    // What the body reads of the header's own operations.
    let mut insts: Vec<ir::Inst> = Vec::new();
    for &inst in &test {
        insts.push(copied(function, inst, &mut to));
    }
    insts.extend(&rest);
    function.blocks[body].insts = insts;
    edit::replace(function, &mut std::iter::once(body), &|value| {
        to.get(&value).copied().unwrap_or(value)
    });
    let next: Vec<Value> = next
        .iter()
        .map(|value| to.get(value).copied().unwrap_or(*value))
        .collect();
    let mut after: FxHashMap<Value, Value> =
        params.iter().copied().zip(next.iter().copied()).collect();
    for &inst in &test {
        let copy = copied(function, inst, &mut after);
        function.blocks[body].insts.push(copy);
    }
    let Terminator::Branch {
        condition,
        then,
        otherwise,
        uniform,
    } = function.blocks[header].terminator.clone()
    else {
        return body;
    };
    let way = |to: Block| Edge {
        block: if to == body { body } else { header },
        args: next.iter().copied().collect(),
    };
    function.blocks[body].terminator = Terminator::Branch {
        condition: after.get(&condition).copied().unwrap_or(condition),
        then: way(then.block),
        otherwise: way(otherwise.block),
        uniform,
    };
    function.blocks[body].loc = function.blocks[header].loc;
    function.blocks[body].branch = function.blocks[header].branch;
    let out = if then.block == body { otherwise } else { then };
    function.blocks[header].terminator = Terminator::Jump(out);
    function.blocks[header].branch = ir::BranchKind::Implied;
    for edge in function.blocks[straight.before].terminator.edges_mut() {
        if edge.block == header {
            edge.block = body;
        }
    }
    for source in function.loops.iter_mut().filter(|it| it.header == header) {
        source.header = body;
    }
    // The loop stands where its header stood, which is behind it now.
    function.layout.retain(|block| *block != body);
    let at = function.layout.iter().position(|block| *block == header);
    function
        .layout
        .insert(at.unwrap_or(function.layout.len()), body);
    body
}
