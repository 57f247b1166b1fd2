//! The distance of two numbers that are both counted from a third one, which may have wrapped: signed
//! arithmetic that does not wrap, by the language's rules, keeps the distance whatever the number is.
//!
//! ```text
//! int gid = blockIdx.x * blockDim.x + threadIdx.x;          may have wrapped: unsigned
//! gid < gid + 5                                             5 apart: true in all lanes
//! for (int i = gid * 4; i < gid * 4 + 4; i++)               i is gid * 4 + 0, 1, ..: at most 2^32 - 1 apart
//! ```
//!
//! A form gives the distance modulo 2^bits; an interval of fewer numbers than that tells which one it is. Follows
//! constants that are added without wrapping, and block parameters that a loop only counts up, or only down; at most
//! `STEPS` operations.

use super::engine::Engine;
use super::form::wrap;
use ir::{BinaryOp, Block, Op, Value, ValueDef};

const STEPS: usize = 16;

/// `value - base` lies between `low` and `high`.
struct Anchored {
    base: Value,
    low: i128,
    high: i128,
}

/// An interval that holds `a - b`, of the integers that they are.
pub(super) fn interval(engine: &Engine<'_>, a: Value, b: Value) -> Option<(i128, i128)> {
    let (x, y) = (from_base(engine, a), from_base(engine, b));
    if x.base == a && y.base == b {
        return None;
    }
    let (from, to) = (&engine.cells[x.base].form, &engine.cells[y.base].form);
    let same = x.base == y.base || from.terms == to.terms && !from.assumed && !to.assumed;
    same.then_some((x.low - y.high, x.high - y.low))
}

fn from_base(engine: &Engine<'_>, value: Value) -> Anchored {
    let bits = engine.ty(value).bits();
    let mut found = Anchored {
        base: value,
        low: 0,
        high: 0,
    };
    for _ in 0..STEPS {
        if let Some((from, by)) = step(engine, found.base) {
            found.base = from;
            found.low += by;
            found.high += by;
        } else if let Some((start, up)) = counted(engine, found.base) {
            found.base = start;
            // Both are numbers of the type.
            let furthest = (1i128 << bits) - 1;
            match up {
                true => found.high += furthest,
                false => found.low -= furthest,
            }
        } else {
            break;
        }
    }
    found
}

/// `from + by`, without wrapping.
fn step(engine: &Engine<'_>, value: Value) -> Option<(Value, i128)> {
    let function = engine.function;
    let data = function.defining(value)?;
    let Op::Binary(op, wraps) = &data.op else {
        return None;
    };
    if !wraps.no_signed || data.guard.is_some() {
        return None;
    }
    let bits = engine.ty(value).bits();
    let number = |arg: Value| {
        let constant = function.int_constant(arg)?;
        Some(i128::from(wrap(i128::from(constant), bits)))
    };
    let (a, b) = (data.args[0], data.args[1]);
    match op {
        BinaryOp::Add => match (number(a), number(b)) {
            (_, Some(by)) => Some((a, by)),
            (Some(by), None) => Some((b, by)),
            _ => None,
        },
        BinaryOp::Sub => number(b).map(|by| (a, -by)),
        _ => None,
    }
}

/// Returns where a block parameter starts that a loop counts by constants of one sign; whether that is up.
fn counted(engine: &Engine<'_>, value: Value) -> Option<(Value, bool)> {
    let ValueDef::Param(header, number) = engine.function.values[value].def else {
        return None;
    };
    if !engine.forest.is_header(header) {
        return None;
    }
    let inside = engine.forest.of(header)?;
    let (mut start, mut up) = (None, None);
    for &before in &engine.flow.predecessors[header] {
        for arg in arguments(engine, before, header, number)? {
            if !engine.forest.contains(inside, before) {
                if start.replace(arg).is_some_and(|other| other != arg) {
                    return None;
                }
                continue;
            }
            let (mut at, mut distance) = (arg, 0);
            for _ in 0..STEPS {
                let Some((from, by)) = step(engine, at).filter(|_| at != value) else {
                    break;
                };
                if distance != 0 && (by < 0) != (distance < 0) {
                    return None;
                }
                (at, distance) = (from, distance + by);
            }
            let rises = distance >= 0;
            if at != value || up.replace(rises).is_some_and(|other| other != rises) {
                return None;
            }
        }
    }
    Some((start?, up?))
}

/// Returns the values that a block passes to a parameter of another, once per edge.
fn arguments(engine: &Engine<'_>, from: Block, to: Block, number: u32) -> Option<Vec<Value>> {
    let edges = engine.function.blocks[from].terminator.edges();
    let edges = edges.into_iter().filter(|edge| edge.block == to);
    edges
        .map(|edge| edge.args.get(number as usize).copied())
        .collect()
}
