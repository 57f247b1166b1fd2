//! Tiles of the block and of the grid: whole ones have the same rounds in all lanes.

use super::growth::{number, of_header, steps};
use super::rests::rounded_to_the_step;
use super::{DEPTH, below};
use crate::diagnose::{Context, strides, together};
use crate::model::*;
use crate::open::left_open;
use ir::{BinaryOp, Block, IntCondition, Op, Special, Value, ValueDef};

/// `for (k = tid; k < n / W * W; k += W)` in a group of `W` threads along that coordinate: all threads go the same number
/// of rounds, whether they ask at its head or for the next round (`if (k + W >= n / W * W) break`).
pub(in crate::diagnose) fn whole_tiles(
    cx: &Context<'_>,
    header: Block,
    compare: Value,
    at: Block,
) -> bool {
    let function = cx.function;
    let Some(data) = function.defining(compare) else {
        return false;
    };
    use IntCondition::*;
    let (counter, limit) = match data.op {
        Op::IntCompare(LessSigned | LessUnsigned | GreaterEqualSigned | GreaterEqualUnsigned) => {
            (data.args[0], data.args[1])
        }
        Op::IntCompare(GreaterSigned | GreaterUnsigned | LessEqualSigned | LessEqualUnsigned) => {
            (data.args[1], data.args[0])
        }
        _ => return false,
    };
    let Some((param, ahead)) = ahead_of_a_counter(cx, counter, header) else {
        return false;
    };
    let ValueDef::Param(_, number) = function.values[param].def else {
        return false;
    };
    let Some(step) = of_header(cx, param, header, DEPTH).filter(|g| !g.symbolic && g.round > 1)
    else {
        return false;
    };
    let mut width = step.round;
    let starts_at_thread = cx.flow.predecessors[header].iter().all(|&before| {
        cx.flow.position[before] >= cx.flow.position[header]
            || function.blocks[before]
                .terminator
                .edges()
                .iter()
                .all(|edge| {
                    edge.block != header
                        || edge.args.get(number as usize).is_some_and(|&first| {
                            let (tile, first) =
                                tile_of_the_block(cx, first, before).unwrap_or((step.round, first));
                            width = tile;
                            is_in_a_tile(cx, first, tile)
                        })
                })
    });
    if ahead % width != 0 || step.round % width != 0 {
        return false;
    }
    let known = function.defining(below(function, limit));
    // What is not known may be a whole number of tiles.
    let unknown =
        known.is_some_and(|data| matches!(data.op, Op::CallUnknown { .. } | Op::Unknown(_)));
    let whole = unknown
        || is_multiple_of(cx, limit, width, DEPTH)
        || known.is_some()
            && step.round == i64::from(cx.warp_size())
            && together::is_whole(cx, limit, at);
    starts_at_thread && whole && cx.uniform(limit, at, Scope::Workgroup)
}

/// `blockIdx.x * W + tid`: the width of the tiles that blocks begin with, and the place in one.
fn tile_of_the_block(cx: &Context<'_>, first: Value, at: Block) -> Option<(i64, Value)> {
    let function = cx.function;
    let data = function.defining(below(function, first))?;
    if !matches!(data.op, Op::Binary(BinaryOp::Add, _)) {
        return None;
    }
    let [left, right] = [data.args[0], data.args[1]];
    let (tiles, place) = match cx.uniform(left, at, Scope::Workgroup) {
        true => (left, right),
        false => (right, left),
    };
    let product = function.defining(below(function, tiles))?;
    let width = match product.op {
        Op::Binary(BinaryOp::Mul, _) => {
            let mut factors = product.args.iter();
            factors.find_map(|&factor| number(cx, factor))?
        }
        Op::Binary(BinaryOp::Shl, _) => {
            1 << number(cx, product.args[1]).filter(|by| (0..32).contains(by))?
        }
        _ => return None,
    };
    (width > 1 && cx.uniform(tiles, at, Scope::Workgroup)).then_some((width, place))
}

/// The header's parameter of which a value is so much more.
fn ahead_of_a_counter(cx: &Context<'_>, value: Value, header: Block) -> Option<(Value, i64)> {
    let function = cx.function;
    let value = below(function, value);
    match function.values[value].def {
        ValueDef::Param(at, _) => (at == header).then_some((value, 0)),
        ValueDef::Result(inst, _) => {
            let data = &function.insts[inst];
            let sign = match data.op {
                Op::Binary(BinaryOp::Add, _) => 1,
                Op::Binary(BinaryOp::Sub, _) => -1,
                _ => return None,
            };
            let by = number(cx, data.args[1])?;
            let (param, ahead) = ahead_of_a_counter(cx, data.args[0], header)?;
            Some((param, ahead.checked_add(by.checked_mul(sign)?)?))
        }
    }
}

/// A multiple of a number: `n / W * W`, `n - n % W`, `n & ~(W - 1)`.
fn is_multiple_of(cx: &Context<'_>, value: Value, number: i64, depth: u32) -> bool {
    let function = cx.function;
    let Some(depth) = depth.checked_sub(1) else {
        return false;
    };
    let value = below(function, value);
    if let Some(constant) = function.int_constant(value) {
        return constant % number == 0;
    }
    let multiple = |value: Value| is_multiple_of(cx, value, number, depth);
    let inst = match function.values[value].def {
        ValueDef::Result(inst, _) => inst,
        ValueDef::Param(join, at) => {
            let mut before = cx.flow.predecessors[join].iter();
            let is_merge = join != function.entry();
            return is_merge
                && before.all(|&before| {
                    let edges = function.blocks[before].terminator.edges();
                    cx.flow.position[before] < cx.flow.position[join]
                        && edges.iter().filter(|edge| edge.block == join).all(|edge| {
                            let arriving = edge.args.get(at as usize);
                            arriving.is_some_and(|&arriving| multiple(arriving))
                        })
                });
        }
    };
    let data = &function.insts[inst];
    let constant = |at: usize| {
        data.args
            .get(at)
            .and_then(|&arg| function.int_constant(arg))
    };
    let is_power = number.count_ones() == 1;
    match data.op {
        Op::Binary(BinaryOp::Mul, _) => data.args.iter().any(|&arg| multiple(arg)),
        Op::Binary(BinaryOp::Shl, _) => {
            multiple(data.args[0])
                || constant(1).is_some_and(|by| (0..62).contains(&by) && (1i64 << by) % number == 0)
        }
        Op::Binary(BinaryOp::And, _) => is_power && data.args.iter().any(|&arg| multiple(arg)),
        Op::Binary(BinaryOp::Sub, _) => {
            let [from, taken] = [0, 1].map(|at| below(function, data.args[at]));
            let is_rest = function.defining(taken).is_some_and(|rest| {
                let by = |at: usize| function.int_constant(rest.args[at]);
                let of = |at: usize| below(function, rest.args[at]) == from;
                match rest.op {
                    Op::Binary(BinaryOp::RemSigned | BinaryOp::RemUnsigned, _) => {
                        of(0) && by(1) == Some(number)
                    }
                    Op::Binary(BinaryOp::And, _) if is_power => {
                        of(0) && by(1) == Some(number - 1) || of(1) && by(0) == Some(number - 1)
                    }
                    _ => false,
                }
            });
            is_rest || multiple(from) && multiple(taken)
        }
        Op::Binary(
            BinaryOp::Add
            | BinaryOp::MinSigned
            | BinaryOp::MinUnsigned
            | BinaryOp::MaxSigned
            | BinaryOp::MaxUnsigned,
            _,
        ) => data.args.iter().all(|&arg| multiple(arg)),
        Op::Select => data.args[1..].iter().all(|&arg| multiple(arg)),
        _ => false,
    }
}

/// A coordinate, or the remainder of one, that is less than the tile's width.
fn is_in_a_tile(cx: &Context<'_>, value: Value, width: i64) -> bool {
    let function = cx.function;
    let Some(data) = function.defining(below(function, value)) else {
        return false;
    };
    let of_thread = |number: usize| {
        let inner = function.defining(below(function, data.args[number]));
        matches!(
            inner.map(|d| &d.op),
            Some(Op::Special(Special::ThreadId(_) | Special::LaneId))
        )
    };
    let by = || function.int_constant(data.args[1]);
    if is_number_of_the_thread(cx, value) {
        let threads = (0..3).try_fold(1i64, |all, axis| Some(all * i64::from(cx.size(axis)?)));
        return threads.is_none_or(|threads| threads <= width);
    }
    match data.op {
        Op::Special(Special::ThreadId(axis)) => {
            cx.size(axis).is_none_or(|size| i64::from(size) <= width)
        }
        Op::Special(Special::LaneId) => i64::from(cx.warp_size()) <= width,
        Op::Binary(BinaryOp::RemSigned | BinaryOp::RemUnsigned, _) => {
            of_thread(0) && by().is_some_and(|by| (1..=width).contains(&by))
        }
        Op::Binary(BinaryOp::And, _) => {
            of_thread(0) && by().is_some_and(|by| (0..width).contains(&by))
        }
        _ => false,
    }
}

/// `threadIdx.y * blockDim.x + threadIdx.x`, in whichever order.
fn is_number_of_the_thread(cx: &Context<'_>, value: Value) -> bool {
    let function = cx.function;
    let of = |value: Value| function.defining(below(function, value));
    let coordinate = |value: Value, axis: u8| {
        of(value).is_some_and(|data| data.op == Op::Special(Special::ThreadId(axis)))
    };
    let width = |value: Value| {
        let size = cx.size(0).map(i64::from);
        of(value).is_some_and(|data| data.op == Op::Special(Special::BlockDim(0)))
            || size.is_some() && function.int_constant(below(function, value)) == size
    };
    let row = |value: Value| {
        of(value).is_some_and(|data| {
            matches!(data.op, Op::Binary(BinaryOp::Mul, _))
                && (coordinate(data.args[0], 1) && width(data.args[1])
                    || coordinate(data.args[1], 1) && width(data.args[0]))
        })
    };
    of(value).is_some_and(|data| {
        matches!(data.op, Op::Binary(BinaryOp::Add, _))
            && (coordinate(data.args[0], 0) && row(data.args[1])
                || coordinate(data.args[1], 0) && row(data.args[0]))
    })
}

/// The loop runs in whole tiles as far as anyone can tell: its limit is a constant that only an instantiation
/// knows, or of limit and step one is a constant and the other the launch's. Authors choose these to fit.
pub(in crate::diagnose) fn may_be_whole_tiles(
    cx: &Context<'_>,
    header: Block,
    compare: Value,
) -> bool {
    let function = cx.function;
    let Some(compare) = function.defining(compare) else {
        return false;
    };
    if !matches!(compare.op, Op::IntCompare(_)) {
        return false;
    }
    let parameter = |side: Value| strides::header_parameter(function, side, header);
    let (counter, limit) = match (parameter(compare.args[0]), parameter(compare.args[1])) {
        (Some(counter), None) => (counter, compare.args[1]),
        (None, Some(counter)) => (counter, compare.args[0]),
        _ => return false,
    };
    if rounded_to_the_step(cx, header, counter, limit) {
        return true;
    }
    if left_open(function, limit) || in_rows_of_the_grid(cx, header, counter) {
        return true;
    }
    match function
        .defining(below(function, limit))
        .map(|data| &data.op)
    {
        // The launch has as many rows as fit.
        Some(Op::Special(Special::BlockDim(axis))) => {
            cx.size(*axis).is_none()
                && steps(cx, header, counter).is_some_and(|step| !step.symbolic && step.round > 1)
        }
        Some(Op::Const(_)) => steps(cx, header, counter).is_some_and(|step| step.symbolic),
        _ => false,
    }
}

/// `for (i = blockIdx.x * width + ..; .. ; i += gridDim.x * width)`: a block takes a row in each round, and only the host
/// knows that there are whole ones, as wide as the block reaches.
fn in_rows_of_the_grid(cx: &Context<'_>, header: Block, counter: Value) -> bool {
    let function = cx.function;
    let ValueDef::Param(_, number) = function.values[counter].def else {
        return false;
    };
    let factors = |value: Value, of: fn(&Special) -> bool| -> Option<Value> {
        let product = function.defining(below(function, value))?;
        if !matches!(product.op, Op::Binary(BinaryOp::Mul, _)) {
            return None;
        }
        let is_grid = |value: Value| {
            let data = function.defining(below(function, value));
            matches!(data.map(|data| &data.op), Some(Op::Special(special)) if of(special))
        };
        let (a, b) = (product.args[0], product.args[1]);
        let width = match (is_grid(a), is_grid(b)) {
            (true, false) => below(function, b),
            (false, true) => below(function, a),
            _ => return None,
        };
        let data = function.defining(width);
        let of_the_launch = matches!(
            data.map(|data| &data.op),
            Some(Op::Const(_) | Op::Special(_))
        );
        (!of_the_launch).then_some(width)
    };
    let (mut step, mut first) = (None, None);
    for &before in &cx.flow.predecessors[header] {
        for edge in function.blocks[before].terminator.edges() {
            let arg = edge.args.get(number as usize);
            let Some(&arg) = arg.filter(|_| edge.block == header) else {
                continue;
            };
            let Some(sum) = function.defining(below(function, arg)) else {
                return false;
            };
            if !matches!(sum.op, Op::Binary(BinaryOp::Add, _)) {
                return false;
            }
            let mut parts = sum.args.iter();
            let found = match cx.flow.position[before] >= cx.flow.position[header] {
                true => (
                    &mut step,
                    parts.find_map(|&p| factors(p, |s| matches!(s, Special::GridDim(_)))),
                ),
                false => (
                    &mut first,
                    parts.find_map(|&p| factors(p, |s| matches!(s, Special::BlockId(_)))),
                ),
            };
            let (kept, Some(width)) = found else {
                return false;
            };
            if kept.replace(width).is_some_and(|before| before != width) {
                return false;
            }
        }
    }
    let is_same = |a: Value, b: Value| {
        let (Some(x), Some(y)) = (function.defining(a), function.defining(b)) else {
            return false;
        };
        matches!(x.op, Op::Load(_)) && x.op == y.op && x.args == y.args
    };
    step.zip(first)
        .is_some_and(|(a, b)| a == b || is_same(a, b))
}
