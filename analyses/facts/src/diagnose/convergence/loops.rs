//! Loops that lanes leave in different iterations.

use super::in_one_lane;
use crate::diagnose::partial::Partial;
use crate::diagnose::{Context, arrays, memory, rounds, together};
use crate::model::*;
use crate::open::left_open;
use crate::reason::FindingReason;
use ir::{BinaryOp, Block, Function, Inst, Op, Space, Special, Value, ValueDef};
use std::ops::Range;

/// The number of rounds that is not worth a finding.
const FEW: u64 = 4;

/// The branch by which the lanes of a loop with a divergent trip count leave it.
pub(in crate::diagnose) fn deciding_exit(cx: &Context<'_>, fact: &LoopFact) -> Option<Block> {
    match fact.cause {
        Cause::Branch(block) | Cause::LeavesLoop { exit: block, .. } => Some(block),
        // The exit is the branch in the loop that this value decides.
        Cause::Operand(selector) => cx.flow.order.iter().copied().find(|&block| {
            cx.flow.position[block] >= cx.flow.position[fact.header]
                && cx.function.blocks[block].terminator.selector() == Some(selector)
        }),
        _ => None,
    }
}

/// Loops that the lanes of a warp leave in different iterations, when the difference can be more than one round and
/// the body has something to wait for.
pub(super) fn loops(cx: &Context<'_>, warp: &Partial, out: &mut Vec<Finding>) {
    for fact in &cx.facts.loops {
        if fact.trip != Class::Divergent && fact.trip != Class::Affine {
            continue;
        }
        let Some(exit) = deciding_exit(cx, fact) else {
            continue;
        };
        let selector = cx.function.blocks[exit].terminator.selector();
        let causes = selector.map_or_else(Vec::new, |selector| cx.causes(selector));
        let chosen = |&value: &Value| arrays::element_of_an_instantiation(cx, value);
        if causes.iter().any(chosen) || is_not_followed(cx, exit, Scope::Subgroup) {
            continue;
        }
        let outside = |next: &Block| {
            let forest = cx.forest();
            let own = forest.of(fact.header);
            own.is_some_and(|own| !forest.contains(own, *next))
        };
        let mut leaves = cx.flow.successors[exit].iter().filter(|next| outside(next));
        if leaves.next().is_some_and(|&next| warp.fails(next)) && leaves.next().is_none() {
            continue;
        }
        if only_waits(cx, fact.header)
            || cx.branch_left_to_callers(exit)
            || in_one_lane(cx, warp, fact.header)
            || memory::is_one_lane_of_an_instantiation(cx, warp, fact.header)
            || !heavy(cx, fact.header, exit)
            || rounds::shared_by_the_warp(cx, fact.header, exit)
            || rounds::as_many_in_all_lanes(cx, fact.header)
            || rounds::serves_in_groups(cx, exit)
            || rounds::in_a_rest(cx, fact.header)
            || fact.at_most.is_some_and(|rounds| rounds <= FEW)
            || together::decides_for_all(cx, exit, Scope::Subgroup)
        {
            continue;
        }
        let related = cx.branch_chain(exit);
        let (code, reason) = (Code::DivergentLoop, FindingReason::LoopDiverges);
        out.push(cx.finding(code, Tier::Hint, fact.loc, reason, related));
    }
}

/// The chain ends at memory of the thread's own into which nothing is written that is known to differ between
/// lanes, except values that come from there.
pub(super) fn is_not_followed(cx: &Context<'_>, branch: Block, scope: Scope) -> bool {
    let function = cx.function;
    let selector = function.blocks[branch].terminator.selector();
    let causes = selector.map_or_else(Vec::new, |selector| cx.causes(selector));
    let read = |value: Value| {
        let data = function.defining(value)?;
        let private = matches!(&data.op, Op::Load(access) if access.space == Space::Local);
        private.then(|| data.args[0])
    };
    let array = |mut address: Value| {
        while let Some(data) = function.defining(address)
            && matches!(data.op, Op::PtrAdd | Op::Convert(_))
        {
            address = data.args[0];
        }
        address
    };
    // From there on the chain follows the address, which is the same in all lanes.
    let unfollowed = |chain: &[Value]| {
        chain.iter().find_map(|&value| {
            let address = read(value)?;
            let at = cx.block_of_value(value)?;
            let ValueDef::Result(reading, _) = function.values[value].def else {
                return None;
            };
            cx.uniform(address, at, scope)
                .then_some((address, value, (at, reading)))
        })
    };
    let Some((address, value, reading)) = unfollowed(&causes) else {
        return false;
    };
    let from = array(address);
    let from_there = |value: Value| read(value).is_some_and(|address| array(address) == from);
    // One of several arrays may be this one.
    let may_be = |into: Value| {
        let of_one = function.defining(into);
        into == from || !of_one.is_some_and(|data| matches!(data.op, Op::Alloca { .. }))
    };
    // Nor do lanes differ if the last store was the same in all of them, whatever was there before.
    let stores = || {
        cx.instructions().filter(|&(_, inst)| {
            let op = &function.insts[inst].op;
            matches!(op, Op::Store(access) if access.space == Space::Local)
        })
    };
    let place = constant_distance(function, address);
    let is_before = |it: (Block, Inst), other: (Block, Inst)| match it.0 == other.0 {
        true => {
            let insts = &function.blocks[it.0].insts;
            let at = |inst: Inst| insts.iter().position(|&i| i == inst);
            at(it.1) <= at(other.1)
        }
        false => cx.dominators().dominates(it.0, other.0),
    };
    let overwritten = stores().any(|(block, inst)| {
        let args = &function.insts[inst].args;
        let is_uniform = |&stored: &Value| cx.uniform(stored, block, scope);
        constant_distance(function, args[0]) == place
            && args[1..].iter().all(is_uniform)
            && is_before((block, inst), reading)
            && stores().all(|other| {
                let into = function.insts[other.1].args[0];
                let (base, distance) = constant_distance(function, into);
                is_before(other, (block, inst))
                    || !may_be(array(into))
                    || base == place.0 && distance != place.1
            })
    });
    if overwritten {
        return true;
    }
    // Another member of the same structure says nothing of this one.
    let results = &function.insts[reading.1].results;
    let own = covered(function, place.1, results)
        .find(|(it, _)| *it == value)
        .map_or(place.1..i64::MAX, |(_, bytes)| bytes);
    let elsewhere = |into: Value, bytes: &Range<i64>| {
        constant_distance(function, into).0 == place.0
            && (bytes.end <= own.start || own.end <= bytes.start)
    };
    !stores().any(|(block, inst)| {
        let data = &function.insts[inst];
        let into = data.args[0];
        let begin = constant_distance(function, into).1;
        may_be(array(into))
            && covered(function, begin, &data.args[1..]).any(|(stored, bytes)| {
                let open = |value: Value| from_there(value) || is_unknown(function, value);
                !elsewhere(into, &bytes)
                    && !cx.uniform(stored, block, scope)
                    && !cx.causes(stored).into_iter().any(open)
            })
    })
}

/// The bytes that values have which lie one behind the other.
fn covered(
    function: &Function,
    mut begin: i64,
    values: &[Value],
) -> impl Iterator<Item = (Value, Range<i64>)> {
    values.iter().map(move |&value| {
        let bytes = begin..begin.saturating_add(i64::from(function.bytes(value)));
        begin = bytes.end;
        (value, bytes)
    })
}

/// Returns whether a value is the result of a function that is not visible, or has a type that is not known,
/// or is the time, which decides nothing.
fn is_unknown(function: &Function, value: Value) -> bool {
    let data = function.defining(value);
    let given = |data: &ir::InstData| {
        matches!(
            data.op,
            Op::Unknown(_) | Op::CallUnknown { .. } | Op::Special(Special::Clock)
        )
    };
    function.ty(value) == ir::Type::Opaque || data.is_some_and(given)
}

/// An address as a constant distance from a pointer.
fn constant_distance(function: &Function, mut address: Value) -> (Value, i64) {
    let mut distance = 0i64;
    while let Some(data) = function.defining(address)
        && data.op == Op::PtrAdd
        && let Some(by) = function.int_constant(data.args[1])
    {
        distance = distance.wrapping_add(by);
        address = data.args[0];
    }
    (address, distance)
}

/// Returns whether a loop carries nothing from round to round and writes nothing: its lanes wait for writes
/// of others.
pub(in crate::diagnose) fn only_waits(cx: &Context<'_>, header: Block) -> bool {
    let forest = cx.forest();
    let Some((own, _)) = forest.loops.iter().find(|(_, it)| it.header == header) else {
        return false;
    };
    let writes = |&inst: &Inst| {
        let op = &cx.function.insts[inst].op;
        matches!(op, Op::Store(_) | Op::Atomic(..) | Op::Call(_))
            || matches!(op, Op::CallUnknown { pure: false, .. })
    };
    let mut blocks = cx.flow.order.iter();
    cx.function.blocks[header].params.is_empty()
        && blocks.all(|&block| {
            !forest.contains(own, block) || !cx.function.blocks[block].insts.iter().any(writes)
        })
}

/// The branch divides a coordinate by a number that only an instantiation or a build tells, or compares it with one:
/// `warp / WARPS_PER_TILE`, `row * 4 < CHANNELS`.
pub(super) fn left_to_an_instantiation(cx: &Context<'_>, branch: Block) -> bool {
    let function = cx.function;
    let mut work: Vec<Value> = function.blocks[branch]
        .terminator
        .selector()
        .into_iter()
        .collect();
    for _ in 0..64 {
        let Some(data) = work.pop().and_then(|value| function.defining(value)) else {
            if work.is_empty() {
                return false;
            }
            continue;
        };
        match data.op {
            Op::Binary(
                BinaryOp::DivSigned
                | BinaryOp::DivUnsigned
                | BinaryOp::RemSigned
                | BinaryOp::RemUnsigned
                | BinaryOp::ShrSigned
                | BinaryOp::ShrUnsigned,
                _,
            ) if left_open(function, data.args[1]) => return true,
            Op::IntCompare(_) if data.args.iter().any(|&side| left_open(function, side)) => {
                return true;
            }
            Op::Load(_) | Op::Atomic(..) | Op::Texture(_) => {}
            _ => work.extend(data.args.iter().copied()),
        }
    }
    false
}

/// The loop's blocks, as far as they lie between header and the branches back to it, access memory or compute a lot.
fn heavy(cx: &Context<'_>, header: Block, exit: Block) -> bool {
    let mut seen = vec![false; cx.function.blocks.len()];
    let mut work: Vec<Block> = Vec::new();
    let from = cx.flow.position[header];
    work.extend(
        cx.flow.predecessors[header]
            .iter()
            .copied()
            .filter(|&p| cx.flow.position[p] >= from),
    );
    work.push(exit);
    seen[header.0 as usize] = true;
    let mut weight = cx.function.blocks[header].insts.len();
    let mut memory = false;
    let mut blocks = vec![header];
    while let Some(block) = work.pop() {
        if std::mem::replace(&mut seen[block.0 as usize], true) || cx.flow.position[block] < from {
            continue;
        }
        blocks.push(block);
        work.extend(cx.flow.predecessors[block].iter().copied());
    }
    for block in blocks {
        weight += cx.function.blocks[block].insts.len();
        memory |= cx.function.blocks[block].insts.iter().any(|&inst| {
            matches!(&cx.function.insts[inst].op, Op::Load(a) if a.space != ir::Space::Constant && a.space != ir::Space::Local)
                || matches!(cx.function.insts[inst].op, Op::Texture(_) | Op::Atomic(..))
        });
    }
    memory || weight > 40
}
