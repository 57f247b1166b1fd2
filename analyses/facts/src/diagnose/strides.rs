//! Loops in which the lanes of a warp walk on together: each begins where it likes, and all grow by one step, which is a warp's
//! width or more, or has no number here.
//!
//! ```text
//! for (i = tid; i < n; i += blockDim.x)              shared
//! for (i = tid; i < n; i += Policy::Stride)          shared, as far as is known
//! for (i = 0; i < rows[tid]; i += Policy::Stride)    not shared: the lanes begin together and end apart
//! ```

use super::Context;
use super::rounds::{DEPTH, PARTS, below};
use crate::model::*;
use ir::{BinaryOp, Block, Function, Op, Value, ValueDef};

/// `for (i = tid; i < n; i += blockDim.x)`, `for (e = start + lane; e < end; e += 32)`: the lanes share the rounds of one
/// range, their trip counts differ by at most one.
pub(super) fn by_the_group(cx: &Context<'_>, header: Block, compare: Value) -> bool {
    let function = cx.function;
    let Some(compare) = function.defining(compare) else {
        return false;
    };
    // A limit of a type that is not known is taken to be a float.
    if !matches!(compare.op, Op::IntCompare(_) | Op::FloatCompare(_)) {
        return false;
    }
    compare.args.iter().any(|&side| {
        let Some(param) = header_parameter(function, side, header) else {
            return false;
        };
        let ValueDef::Param(_, number) = function.values[param].def else {
            return false;
        };
        cx.flow.predecessors[header].iter().all(|&before| {
            function.blocks[before]
                .terminator
                .edges()
                .iter()
                .filter(|e| e.block == header)
                .all(|edge| {
                    let Some(&arg) = edge.args.get(number as usize) else {
                        return false;
                    };
                    if cx.flow.position[before] < cx.flow.position[header] {
                        // The positions at which lanes begin do not matter: the warp walks on together.
                        // Floats may be intended.
                        return matches!(compare.op, Op::IntCompare(_))
                            || begins_apart(cx, header, number);
                    }
                    step_covers_a_warp(cx, param, arg, before)
                        || begins_apart(cx, header, number) && steps_by_the_unknown(cx, param, arg)
                })
        })
    })
}

/// Lanes begin a loop with different values of a counter.
fn begins_apart(cx: &Context<'_>, header: Block, number: u32) -> bool {
    let mut before = cx.flow.predecessors[header].iter();
    before.any(|&before| {
        let edges = cx.function.blocks[before].terminator.edges();
        let mut args = edges.iter().filter(|edge| edge.block == header);
        cx.flow.position[before] < cx.flow.position[header]
            && args.any(|edge| {
                let first = edge.args.get(number as usize);
                first.is_some_and(|&first| !cx.uniform(first, before, Scope::Subgroup))
            })
    })
}

/// Returns whether the counter's step is not known here: a member of a template's argument, a function that
/// is not visible.
fn steps_by_the_unknown(cx: &Context<'_>, param: Value, next: Value) -> bool {
    let function = cx.function;
    let unknown = |value: Value| {
        let mut work = vec![value];
        for _ in 0..PARTS {
            let Some(value) = work.pop() else {
                return false;
            };
            let Some(data) = function.defining(below(function, value)) else {
                continue;
            };
            match data.op {
                Op::Unknown(_) | Op::CallUnknown { .. } => return true,
                Op::Binary(BinaryOp::Add | BinaryOp::Mul | BinaryOp::Shl, _) => {
                    work.extend(data.args.iter().copied());
                }
                _ => {}
            }
        }
        false
    };
    let Some(data) = function.defining(below(function, next)) else {
        return false;
    };
    match data.op {
        // An operator of a type that is not known.
        Op::Unknown(_) | Op::CallUnknown { .. } => true,
        // A type that is not known is taken to be a float.
        Op::Binary(BinaryOp::Add | BinaryOp::FloatAdd, _) | Op::PtrAdd => {
            let mut other = data
                .args
                .iter()
                .filter(|&&arg| below(function, arg) != param);
            other.next().is_some_and(|&step| unknown(step)) && other.next().is_none()
        }
        _ => false,
    }
}

/// Looks through conversions, sums and products down to the header's parameter: the lanes of `i * n + k` walk as those of
/// `i` do.
pub(super) fn header_parameter(function: &Function, value: Value, header: Block) -> Option<Value> {
    let mut work = vec![value];
    for _ in 0..PARTS {
        let value = work.pop()?;
        let data = match function.values[value].def {
            ValueDef::Param(block, _) if block == header => return Some(value),
            ValueDef::Param(..) => continue,
            ValueDef::Result(inst, _) => &function.insts[inst],
        };
        if matches!(
            data.op,
            Op::Convert(_)
                | Op::PtrAdd
                | Op::Binary(
                    BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Shl,
                    _
                )
        ) {
            work.extend(data.args.iter().rev().copied());
        }
    }
    None
}

/// `next` is `param` plus or less a uniform step of at least a warp's width, or one whose size is not a constant.
fn step_covers_a_warp(cx: &Context<'_>, param: Value, next: Value, block: Block) -> bool {
    let Some(data) = cx.function.defining(below(cx.function, next)) else {
        return false;
    };
    let subtracts = matches!(data.op, Op::Binary(BinaryOp::Sub, _));
    if !subtracts && !matches!(data.op, Op::Binary(BinaryOp::Add, _) | Op::PtrAdd) {
        return false;
    }
    let own = |number: usize| is_counter(cx, data.args[number], param);
    let step = match (own(0), own(1)) {
        (true, false) => data.args[1],
        (false, true) if !subtracts => data.args[0],
        _ => return false,
    };
    match cx.function.int_constant(step) {
        Some(step) => step.unsigned_abs() >= u64::from(cx.facts.options.warp_size),
        None => cx.uniform(step, block, Scope::Subgroup),
    }
}

/// The counter, but for conversions and calls of functions that are not visible: given a reference to it, they may well leave
/// it alone.
pub(super) fn is_counter(cx: &Context<'_>, value: Value, counter: Value) -> bool {
    goes_on_as(cx, value, counter, DEPTH)
}

fn goes_on_as(cx: &Context<'_>, value: Value, counter: Value, depth: u32) -> bool {
    let function = cx.function;
    let value = below(function, value);
    let Some(depth) = depth.checked_sub(1).filter(|_| value != counter) else {
        return value == counter;
    };
    match function.values[value].def {
        ValueDef::Result(..) => {
            let given = function.given_by_reference(value);
            given.is_some_and(|given| goes_on_as(cx, given, counter, depth))
        }
        // What comes by all ways, but for those back to a loop's header.
        ValueDef::Param(block, number) => {
            block != function.entry()
                && cx.flow.predecessors[block].iter().all(|&before| {
                    let edges = function.blocks[before].terminator.edges();
                    cx.flow.position[before] < cx.flow.position[block]
                        && edges.iter().filter(|e| e.block == block).all(|edge| {
                            let arg = edge.args.get(number as usize);
                            arg.is_some_and(|&arg| goes_on_as(cx, arg, counter, depth))
                        })
                })
        }
    }
}

/// Returns the value before functions that are not visible were given a reference to it, by all ways that
/// lead here.
pub(super) fn origin(cx: &Context<'_>, value: Value) -> Value {
    came_from(cx, value, DEPTH).unwrap_or(value)
}

fn came_from(cx: &Context<'_>, value: Value, depth: u32) -> Option<Value> {
    let function = cx.function;
    let depth = depth.checked_sub(1)?;
    match function.values[value].def {
        ValueDef::Result(..) => match function.given_by_reference(value) {
            Some(given) => came_from(cx, given, depth),
            None => Some(value),
        },
        ValueDef::Param(block, number) => {
            let mut found = None;
            for &before in &cx.flow.predecessors[block] {
                if block == function.entry() || cx.flow.position[before] >= cx.flow.position[block]
                {
                    return Some(value);
                }
                for edge in function.blocks[before].terminator.edges() {
                    if edge.block == block {
                        let from = came_from(cx, *edge.args.get(number as usize)?, depth)?;
                        if found.is_some_and(|known| known != from) {
                            return Some(value);
                        }
                        found = Some(from);
                    }
                }
            }
            Some(found.unwrap_or(value))
        }
    }
}
