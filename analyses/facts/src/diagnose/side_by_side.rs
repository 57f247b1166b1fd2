//! Short loops in which a lane goes through neighbouring elements: the pieces that one access of a warp takes
//! are taken whole by its rounds together.
//!
//! ```text
//! for (k = 0; k < 4; ++k) sum += in[4 * i + k];      16 bytes of each lane, one beside the other
//! ```

use super::Context;
use super::rounds::below;
use crate::model::*;
use ir::loops::LoopId;
use ir::{BinaryOp, Block, Op, Value};

/// The bytes that the iterations of a short counted loop access one beside the other in a lane, each as far from the
/// one before as it is wide; `None`: it is no such loop. Short loops in it that stay at one address are unrolled with it.
pub(super) fn bytes_side_by_side(cx: &Context<'_>, access: &AccessFact) -> Option<u64> {
    const DEPTH: usize = 3;
    let block = cx.block_of[access.inst]?;
    for own in cx.forest().around(block).take(DEPTH) {
        if let Some(bytes) = of_loop(cx, access, own)? {
            return Some(bytes);
        }
    }
    None
}

/// Returns the distance for one loop around the access. Inside `None`: the address stays the same in it;
/// outside: nothing is known of the surroundings.
fn of_loop(cx: &Context<'_>, access: &AccessFact, own: LoopId) -> Option<Option<u64>> {
    const ROUNDS: u64 = 16;
    let forest = cx.forest();
    let header = forest.loops[own].header;
    let fact = cx.facts.loops.iter().find(|l| l.header == header)?;
    let rounds = fact
        .count
        .filter(|&rounds| (2..=ROUNDS).contains(&rounds))?;
    let mut steps = None;
    for number in 0..cx.function.blocks[header].params.len() {
        let param = cx.function.blocks[header].params[number];
        let factor = factor_of(cx, access.address, param, forest, own, 24)?;
        if factor == 0 {
            continue;
        }
        let step = constant_step(cx, header, number, param)?;
        if steps.replace(factor.checked_mul(step)?).is_some() {
            return None;
        }
    }
    let width = u64::from(access.bytes);
    match steps {
        None => Some(None),
        Some(step) if step.unsigned_abs() == width => Some(Some(rounds.saturating_mul(width))),
        Some(_) => None,
    }
}

/// Returns how much a value grows where the header's parameter grows by one; `None`: by no constant.
fn factor_of(
    cx: &Context<'_>,
    value: Value,
    param: Value,
    forest: &ir::loops::LoopForest,
    own: LoopId,
    depth: u32,
) -> Option<i64> {
    if value == param {
        return Some(1);
    }
    let inst = match cx.function.values[value].def {
        ir::ValueDef::Param(block, _) if forest.contains(own, block) => {
            // Another counter of the same loop; what merges inside of it is not followed.
            return (block == forest.loops[own].header).then_some(0);
        }
        ir::ValueDef::Param(..) => return Some(0),
        ir::ValueDef::Result(inst, _) => inst,
    };
    if cx.block_of[inst].is_none_or(|block| !forest.contains(own, block)) {
        return Some(0);
    }
    let depth = depth.checked_sub(1)?;
    let data = &cx.function.insts[inst];
    let of = |number: usize| factor_of(cx, *data.args.get(number)?, param, forest, own, depth);
    match data.op {
        Op::Const(_) | Op::Special(_) | Op::SymbolAddress(_) => Some(0),
        Op::Convert(_) => of(0),
        Op::PtrAdd | Op::Binary(BinaryOp::Add, _) => of(0)?.checked_add(of(1)?),
        Op::Binary(BinaryOp::Sub, _) => of(0)?.checked_sub(of(1)?),
        Op::Binary(BinaryOp::Mul, _) => match (of(0)?, of(1)?) {
            (0, 0) => Some(0),
            (a, 0) => a.checked_mul(cx.function.int_constant(data.args[1])?),
            (0, b) => b.checked_mul(cx.function.int_constant(data.args[0])?),
            _ => None,
        },
        Op::Binary(BinaryOp::Shl, _) => match (of(0)?, of(1)?) {
            (0, 0) => Some(0),
            (a, 0) => {
                let by = cx
                    .function
                    .int_constant(data.args[1])
                    .filter(|by| (0..32).contains(by))?;
                a.checked_mul(1 << by)
            }
            _ => None,
        },
        _ => {
            let mut args = data.args.iter();
            args.all(|&arg| factor_of(cx, arg, param, forest, own, depth) == Some(0))
                .then_some(0)
        }
    }
}

/// Returns the growth of the header's parameter in each iteration.
fn constant_step(cx: &Context<'_>, header: Block, number: usize, param: Value) -> Option<i64> {
    let mut found = None;
    for &before in &cx.flow.predecessors[header] {
        for edge in cx.function.blocks[before].terminator.edges() {
            if edge.block != header || cx.flow.position[before] < cx.flow.position[header] {
                continue;
            }
            let next = below(cx.function, *edge.args.get(number)?);
            let data = cx.function.defining(next)?;
            let Op::Binary(BinaryOp::Add, _) = data.op else {
                return None;
            };
            let step = match (below(cx.function, data.args[0]) == param, data.args[1]) {
                (true, step) => cx.function.int_constant(step)?,
                (false, other) if below(cx.function, other) == param => {
                    cx.function.int_constant(data.args[0])?
                }
                _ => return None,
            };
            if found.replace(step).is_some_and(|before| before != step) {
                return None;
            }
        }
    }
    found
}
