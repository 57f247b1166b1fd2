//! The remainder behind whole rounds, and bounds that are rounded to the step.

use super::{DEPTH, below, is_same};
use crate::diagnose::Context;
use ir::{BinaryOp, Block, IntCondition, Op, Terminator, Value, ValueDef};

/// `if (rest >= 4) { .. } else for (i = 0; i < rest; i++)`: the remainder at the end of the data.
pub(in crate::diagnose) fn in_a_rest(cx: &Context<'_>, block: Block) -> bool {
    let forest = cx.forest();
    forest.around(block).any(|own| {
        let header = forest.loops[own].header;
        cx.function.blocks[header]
            .terminator
            .selector()
            .is_some_and(|selector| is_limited_above(cx, header, selector))
    })
}

/// A branch above asks whether the limit of the loop is below a small number.
fn is_limited_above(cx: &Context<'_>, header: Block, compare: Value) -> bool {
    const SMALL: i64 = 16;
    let function = cx.function;
    let Some(data) = function.defining(compare) else {
        return false;
    };
    if !matches!(data.op, Op::IntCompare(_)) {
        return false;
    }
    let is_limit = |value: Value| {
        let value = below(function, value);
        (data.args.iter()).any(|&side| below(function, side) == value)
    };
    let dominators = cx.dominators();
    let mut at = header;
    while let Some(above) = dominators.immediate(at) {
        at = above;
        let Terminator::Branch {
            condition,
            then,
            otherwise,
            ..
        } = &function.blocks[above].terminator
        else {
            continue;
        };
        let leads = |to: Block| dominators.dominates(to, header);
        let holds = match (leads(then.block), leads(otherwise.block)) {
            (true, false) => true,
            (false, true) => false,
            _ => continue,
        };
        use IntCondition::*;
        if let Some(asked) = function.defining(*condition)
            && let Op::IntCompare(kind) = asked.op
            && let Some(number) = function.int_constant(asked.args[1])
            && (1..=SMALL).contains(&number)
            && is_limit(asked.args[0])
            && matches!(
                if holds { kind } else { kind.negated() },
                LessSigned | LessUnsigned | LessEqualSigned | LessEqualUnsigned
            )
        {
            return true;
        }
    }
    false
}

/// `for (i = .. ; i < (n + s - 1) / s * s; i += s)`, whatever `s` is.
pub(super) fn rounded_to_the_step(
    cx: &Context<'_>,
    header: Block,
    counter: Value,
    limit: Value,
) -> bool {
    let function = cx.function;
    let ValueDef::Param(_, number) = function.values[counter].def else {
        return false;
    };
    let mut before = cx.flow.predecessors[header].iter();
    before.any(|&before| {
        let mut edges = function.blocks[before].terminator.edges().into_iter();
        cx.flow.position[before] >= cx.flow.position[header]
            && edges.any(|edge| {
                let next = edge.args.get(number as usize).copied();
                let next = next.filter(|_| edge.block == header);
                let next = next.and_then(|next| function.defining(below(function, next)));
                next.is_some_and(|next| {
                    let steps = next.args.iter().map(|&arg| below(function, arg));
                    matches!(next.op, Op::Binary(BinaryOp::Add, _))
                        && steps.clone().any(|arg| arg == counter)
                        && steps
                            .filter(|&arg| arg != counter)
                            .any(|step| is_multiple(cx, limit, step, DEPTH))
                })
            })
    })
}

/// A multiple of a step that only the launch or an instantiation knows, as its author rounds up or down to one:
/// `(n + s - 1) / s * s`, `n - n % s`, `n & ~(s - 1)`, `n % s ? n - n % s + s : n`.
fn is_multiple(cx: &Context<'_>, value: Value, step: Value, depth: u32) -> bool {
    let function = cx.function;
    let Some(depth) = depth.checked_sub(1) else {
        return false;
    };
    let value = below(function, value);
    if function.int_constant(step).is_some() {
        return false;
    }
    if is_same(function, value, step) || function.int_constant(value) == Some(0) {
        return true;
    }
    let multiple = |value: Value| is_multiple(cx, value, step, depth);
    let inst = match function.values[value].def {
        ValueDef::Result(inst, _) => inst,
        ValueDef::Param(join, number) => {
            let mut arriving = Vec::new();
            let mut tested = false;
            for &before in &cx.flow.predecessors[join] {
                if cx.flow.position[before] >= cx.flow.position[join] {
                    return false;
                }
                for edge in function.blocks[before].terminator.edges() {
                    if edge.block == join {
                        arriving.extend(edge.args.get(number as usize).copied());
                    }
                }
            }
            if let Some(top) = cx.dominators().immediate(join) {
                let selector = function.blocks[top].terminator.selector();
                tested = selector.is_some_and(|it| asks_for_the_rest(cx, it, step));
            }
            return arriving.iter().any(|&it| multiple(it))
                && (tested || arriving.iter().all(|&it| multiple(it)));
        }
    };
    let data = &function.insts[inst];
    match data.op {
        Op::Binary(BinaryOp::Mul, _) => data.args.iter().any(|&arg| multiple(arg)),
        Op::Binary(BinaryOp::Add, _) => data.args.iter().all(|&arg| multiple(arg)),
        Op::Binary(BinaryOp::Sub, _) => {
            let [from, taken] = [0, 1].map(|number| below(function, data.args[number]));
            let rest = function.defining(taken);
            let is_rest = rest.is_some_and(|rest| {
                let left = rest.args.iter().map(|&arg| below(function, arg));
                is_rest(cx, taken, step) && left.clone().any(|left| left == from)
            });
            is_rest || multiple(from) && multiple(taken)
        }
        Op::Binary(BinaryOp::And, _) => data.args.iter().any(|&arg| {
            let mask = function.defining(below(function, arg));
            mask.is_some_and(|mask| match mask.op {
                Op::Unary(ir::UnaryOp::Not) => is_step_less_one(cx, mask.args[0], step),
                // `-s` is `~(s - 1)`.
                Op::Unary(ir::UnaryOp::Neg) => {
                    is_same(function, below(function, mask.args[0]), step)
                }
                _ => false,
            })
        }),
        Op::Select => {
            let tested = asks_for_the_rest(cx, data.args[0], step);
            let ways = &data.args[1..];
            ways.iter().any(|&way| multiple(way))
                && (tested || ways.iter().all(|&way| multiple(way)))
        }
        _ => false,
    }
}

/// `s - 1`
fn is_step_less_one(cx: &Context<'_>, value: Value, step: Value) -> bool {
    let function = cx.function;
    let Some(data) = function.defining(below(function, value)) else {
        return false;
    };
    let by = |number: usize| function.int_constant(data.args[number]);
    match data.op {
        Op::Binary(BinaryOp::Sub, _) => {
            by(1) == Some(1) && is_same(function, below(function, data.args[0]), step)
        }
        Op::Binary(BinaryOp::Add, _) => {
            by(1) == Some(-1) && is_same(function, below(function, data.args[0]), step)
        }
        _ => false,
    }
}

/// `n % s`, `n & (s - 1)`
pub(super) fn is_rest(cx: &Context<'_>, value: Value, step: Value) -> bool {
    let function = cx.function;
    let data = function.defining(below(function, value));
    data.is_some_and(|data| match data.op {
        Op::Binary(BinaryOp::RemSigned | BinaryOp::RemUnsigned, _) => {
            is_same(function, below(function, data.args[1]), step)
        }
        Op::Binary(BinaryOp::And, _) => data.args.iter().any(|&a| is_step_less_one(cx, a, step)),
        _ => false,
    })
}

/// `n % s != 0`
fn asks_for_the_rest(cx: &Context<'_>, condition: Value, step: Value) -> bool {
    let data = cx.function.defining(condition);
    is_rest(cx, condition, step)
        || data.is_some_and(|data| {
            let mut args = data.args.iter();
            matches!(data.op, Op::IntCompare(_)) && args.any(|&arg| is_rest(cx, arg, step))
        })
}
