//! Loops whose lanes begin apart and go the same number of rounds: what a lane begins with cancels in the distance to its limit.
//!
//! ```text
//! for (i = x - r; i <= x + r; i++)                2 * r + 1 rounds, whatever `x` is
//! for (i = x << s; i < (x + 1) << s; i++)         1 << s
//! for (i = x * m; i < min(x * m + m, n); i++)     m, but for the last lanes of a range
//! for (i = x * m; i < x; i++)                     told: `x * m - x` differs between lanes
//! ```
//!
//! Start and limit are taken apart into sums of products, whose factors are one value that lanes differ in and any number
//! of values that they share; what lanes share alone drops out. Indices that are compared do not wrap, as in `rounds`.
//! Bounded by `DEPTH` and `TERMS`.

use super::Context;
use super::rounds::below;
use crate::model::Scope;
use ir::{BinaryOp, Block, Op, Special, Value, ValueDef};
use std::collections::BTreeMap;

const DEPTH: u32 = 12;
const TERMS: usize = 24;

/// A value by which something is multiplied, or shifted to the left.
type Factor = (bool, Value);
/// What lanes differ in, times what they share, by how often.
type Sum = BTreeMap<(Value, Vec<Factor>), i64>;

/// The loop's header, and the comparison by which its lanes leave.
pub(super) fn have_one_width(cx: &Context<'_>, header: Block, compare: Value) -> bool {
    let function = cx.function;
    let Some(data) = function.defining(compare) else {
        return false;
    };
    let Op::IntCompare(_) = data.op else {
        return false;
    };
    let sides = [(data.args[0], data.args[1]), (data.args[1], data.args[0])];
    sides.into_iter().any(|(counter, limit)| {
        let (counter, ahead) = beside_a_number(cx, counter);
        let starts = starts(cx, header, counter);
        let limit = below_the_end(cx, header, limit);
        ahead
            && starts.is_some_and(|starts| {
                starts
                    .iter()
                    .all(|&start| same_distance(cx, header, start, limit))
            })
    })
}

/// `min(window, n)` ends the range of all lanes: most of them are not near its end.
fn below_the_end(cx: &Context<'_>, header: Block, limit: Value) -> Value {
    let data = cx.function.defining(below(cx.function, limit));
    let Some(data) = data.filter(|data| {
        matches!(
            data.op,
            Op::Binary(BinaryOp::MinSigned | BinaryOp::MinUnsigned, _)
        )
    }) else {
        return limit;
    };
    let uniform = |value: Value| cx.uniform(value, header, Scope::Subgroup);
    match (uniform(data.args[0]), uniform(data.args[1])) {
        (true, false) => data.args[1],
        (false, true) => data.args[0],
        _ => limit,
    }
}

/// Below conversions and numbers that are added: the counter, or its next value, which is tested behind the body.
fn beside_a_number(cx: &Context<'_>, mut value: Value) -> (Value, bool) {
    for _ in 0..DEPTH {
        let Some(data) = cx.function.defining(value) else {
            return (value, true);
        };
        value = match data.op {
            Op::Convert(_) => data.args[0],
            Op::Binary(BinaryOp::Add | BinaryOp::Sub, _)
                if cx.function.int_constant(data.args[1]).is_some() =>
            {
                data.args[0]
            }
            _ => return (value, false),
        };
    }
    (value, false)
}

/// What a counter of the header begins with; `None`: it is none, or does not grow by the same in all lanes.
fn starts(cx: &Context<'_>, header: Block, counter: Value) -> Option<Vec<Value>> {
    let function = cx.function;
    let ValueDef::Param(block, number) = function.values[counter].def else {
        return None;
    };
    if block != header {
        return None;
    }
    let mut found = Vec::new();
    for &before in &cx.flow.predecessors[header] {
        let edges = function.blocks[before].terminator.edges();
        for edge in edges.iter().filter(|edge| edge.block == header) {
            let &arg = edge.args.get(number as usize)?;
            if cx.flow.position[before] < cx.flow.position[header] {
                found.push(arg);
            } else if arg != counter {
                let next = function.defining(below(cx.function, arg))?;
                let other = match next.op {
                    Op::Binary(BinaryOp::Add, _) | Op::PtrAdd
                        if below(cx.function, next.args[0]) == counter =>
                    {
                        next.args[1]
                    }
                    Op::Binary(BinaryOp::Add, _) if below(cx.function, next.args[1]) == counter => {
                        next.args[0]
                    }
                    Op::Binary(BinaryOp::Sub, _) if below(cx.function, next.args[0]) == counter => {
                        next.args[1]
                    }
                    _ => return None,
                };
                if !cx.uniform(other, before, Scope::Subgroup) {
                    return None;
                }
            }
        }
    }
    (!found.is_empty()).then_some(found)
}

fn same_distance(cx: &Context<'_>, header: Block, start: Value, limit: Value) -> bool {
    let mut sum = Sum::new();
    let mut factors = Vec::new();
    add(cx, header, limit, &mut factors, 1, &mut sum, DEPTH).is_some()
        && add(cx, header, start, &mut factors, -1, &mut sum, DEPTH).is_some()
        && sum.values().all(|&often| often == 0)
}

/// Adds a value times some factors; `None`: it is too large, or changes in the loop.
fn add(
    cx: &Context<'_>,
    header: Block,
    value: Value,
    factors: &mut Vec<Factor>,
    often: i64,
    sum: &mut Sum,
    depth: u32,
) -> Option<()> {
    let function = cx.function;
    let depth = depth.checked_sub(1)?;
    let (value, asked) = first_asked(cx, value);
    let block = match function.values[value].def {
        ValueDef::Param(block, _) => block,
        ValueDef::Result(inst, _) => cx.block_of[inst]?,
    };
    let before = asked || cx.flow.position[block] < cx.flow.position[header];
    if before && cx.uniform(value, block, Scope::Subgroup) || function.int_constant(value).is_some()
    {
        return Some(());
    }
    if let Some(data) = function.defining(value) {
        let fixed = |value: Value| {
            let at = match function.values[value].def {
                ValueDef::Param(block, _) => block,
                ValueDef::Result(inst, _) => cx.block_of[inst]?,
            };
            let before = cx.flow.position[at] < cx.flow.position[header];
            (function.int_constant(value).is_some()
                || before && cx.uniform(value, at, Scope::Subgroup))
            .then_some(())
        };
        match data.op {
            Op::Convert(_) => return add(cx, header, data.args[0], factors, often, sum, depth),
            Op::Binary(BinaryOp::Add, _) | Op::PtrAdd => {
                add(cx, header, data.args[0], factors, often, sum, depth)?;
                return add(cx, header, data.args[1], factors, often, sum, depth);
            }
            Op::Binary(BinaryOp::Sub, _) => {
                add(cx, header, data.args[0], factors, often, sum, depth)?;
                return add(
                    cx,
                    header,
                    data.args[1],
                    factors,
                    often.checked_neg()?,
                    sum,
                    depth,
                );
            }
            Op::Binary(BinaryOp::Mul | BinaryOp::Shl, _) => {
                let shift = matches!(data.op, Op::Binary(BinaryOp::Shl, _));
                let (of, by) = match (fixed(data.args[0]), fixed(data.args[1])) {
                    (_, Some(())) => (data.args[0], data.args[1]),
                    (Some(()), None) if !shift => (data.args[1], data.args[0]),
                    _ => return leaf(value, factors, often, sum, before),
                };
                return match function.int_constant(by) {
                    Some(by) => {
                        let by = if shift {
                            1i64.checked_shl(u32::try_from(by).ok()?)?
                        } else {
                            by
                        };
                        add(cx, header, of, factors, often.checked_mul(by)?, sum, depth)
                    }
                    None => {
                        factors.push((shift, below(cx.function, by)));
                        let done = add(cx, header, of, factors, often, sum, depth);
                        factors.pop();
                        done
                    }
                };
            }
            _ => {}
        }
    }
    leaf(value, factors, often, sum, before)
}

/// A coordinate is the same wherever it is asked for; its first place stands for all.
fn first_asked(cx: &Context<'_>, value: Value) -> (Value, bool) {
    let function = cx.function;
    let Some(data) = function.defining(value) else {
        return (value, false);
    };
    if !matches!(data.op, Op::Special(Special::ThreadId(_) | Special::LaneId)) {
        return (value, false);
    }
    let mut asked = cx
        .instructions()
        .map(|(_, inst)| &function.insts[inst])
        .filter(|other| other.op == data.op && function.ty(other.results[0]) == function.ty(value));
    (asked.next().map_or(value, |first| first.results[0]), true)
}

fn leaf(value: Value, factors: &[Factor], often: i64, sum: &mut Sum, before: bool) -> Option<()> {
    let mut factors = factors.to_vec();
    factors.sort_unstable();
    let known = sum.entry((value, factors)).or_default();
    *known = known.checked_add(often)?;
    (before && sum.len() <= TERMS).then_some(())
}
