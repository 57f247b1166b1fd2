//! The growth of a value from round to round, as a number and parts that stay the same.

use super::{DEPTH, below};
use crate::diagnose::{Context, strides};
use crate::model::*;
use ir::{BinaryOp, Block, Op, Space, Special, Value, ValueDef, WarpKind};

/// Growth of a value.
#[derive(Clone, Copy, Default)]
pub(super) struct Growth {
    /// From round to round.
    pub(super) round: i64,
    /// The rounds add something uniform that is no constant.
    pub(super) symbolic: bool,
    /// From lane to lane, at least; a value that repeats (`tid % 32`) is smallest in the first lane.
    pub(super) lane: i64,
    /// A bound on the difference that `lane` makes between any two lanes: `tid % 4` differs by 3.
    pub(super) within: Option<i64>,
    /// The largest difference between any two lanes by coordinates beyond the first.
    pub(super) spread: i64,
}

impl Growth {
    pub(super) fn plus(self, factor: i64, other: Growth) -> Option<Growth> {
        Some(Growth {
            round: self.round.checked_add(other.round.checked_mul(factor)?)?,
            symbolic: self.symbolic || other.symbolic,
            lane: self.lane.checked_add(other.lane.checked_mul(factor)?)?,
            within: match (self.lane, other.lane) {
                (_, 0) => self.within,
                (0, _) => other
                    .within
                    .and_then(|most| most.checked_mul(factor.checked_abs()?)),
                _ => None,
            },
            spread: self
                .spread
                .checked_add(other.spread.checked_mul(factor.checked_abs()?)?)?,
        })
    }
    pub(super) fn times(self, factor: i64) -> Option<Growth> {
        Some(Growth {
            symbolic: self.symbolic,
            ..Growth::default().plus(factor, self)?
        })
    }
}

/// Returns the growth of a value; `header`: that of the loop whose rounds count.
pub(super) fn growth(
    cx: &Context<'_>,
    value: Value,
    header: Option<Block>,
    depth: u32,
) -> Option<Growth> {
    let function = cx.function;
    if function.int_constant(value).is_some() {
        return Some(Growth::default());
    }
    let depth = depth.checked_sub(1)?;
    let data = match function.values[value].def {
        ValueDef::Param(block, _) if Some(block) == header => {
            return of_header(cx, value, block, depth);
        }
        ValueDef::Param(..) => {
            return unchanged(cx, value, header).or_else(|| one_of_two(cx, value));
        }
        ValueDef::Result(inst, _) => &function.insts[inst],
    };
    let arg = |number: usize| growth(cx, *data.args.get(number)?, header, depth);
    let constant = |number: usize| function.int_constant(*data.args.get(number)?);
    match data.op {
        Op::Special(Special::ThreadId(0) | Special::LaneId) => Some(Growth {
            lane: 1,
            ..Growth::default()
        }),
        Op::Special(Special::ThreadId(axis)) if cx.size(axis).is_some() => Some(Growth {
            spread: i64::from(cx.size(axis)?) - 1,
            ..Growth::default()
        }),
        Op::Convert(_) => arg(0),
        Op::Binary(BinaryOp::Add, _) | Op::PtrAdd => arg(0)?.plus(1, arg(1)?),
        Op::Binary(BinaryOp::Sub, _) => arg(0)?.plus(-1, arg(1)?),
        Op::Binary(BinaryOp::Mul, _) => match (constant(0), constant(1)) {
            (_, Some(factor)) => arg(0)?.times(factor),
            (Some(factor), _) => arg(1)?.times(factor),
            _ => unchanged(cx, value, header)
                .or_else(|| multiplied(cx, [data.args[0], data.args[1]], header, depth)),
        },
        Op::Binary(BinaryOp::Shl, _) => match constant(1) {
            Some(by @ 0..=30) => arg(0)?.times(1 << by),
            _ => unchanged(cx, value, header),
        },
        Op::Binary(
            BinaryOp::And
            | BinaryOp::RemUnsigned
            | BinaryOp::RemSigned
            | BinaryOp::ShrUnsigned
            | BinaryOp::ShrSigned
            | BinaryOp::DivUnsigned
            | BinaryOp::DivSigned,
            _,
        ) => match (arg(0), constant(1)) {
            (Some(inner), Some(by @ 1..)) if inner.round == 0 && !inner.symbolic => {
                let most = match data.op {
                    Op::Binary(BinaryOp::And, _) => Some(by),
                    Op::Binary(BinaryOp::RemUnsigned | BinaryOp::RemSigned, _) => Some(by - 1),
                    _ => None,
                };
                let within = inner.within.into_iter().chain(most).min();
                Some(Growth { within, ..inner })
            }
            _ => unchanged(cx, value, header),
        },
        _ => unchanged(cx, value, header).or_else(|| fetched(cx, value, header?)),
    }
}

/// `i * blockDim.x`: the rounds add something that is no constant.
fn multiplied(
    cx: &Context<'_>,
    factors: [Value; 2],
    header: Option<Block>,
    depth: u32,
) -> Option<Growth> {
    let [left, right] = factors;
    let by_the_rounds = |factor: Value, counter: Value| {
        unchanged(cx, factor, header)?;
        let counter = growth(cx, counter, header, depth)?;
        let rounds_alone = counter.lane == 0 && counter.spread == 0;
        (rounds_alone && (counter.symbolic || counter.round != 0)).then_some(Growth {
            symbolic: true,
            ..Growth::default()
        })
    };
    by_the_rounds(left, right).or_else(|| by_the_rounds(right, left))
}

/// `rounds = n / block; if (tid < n % block) ++rounds;`: lanes differ by the number that some of them add.
fn one_of_two(cx: &Context<'_>, value: Value) -> Option<Growth> {
    let function = cx.function;
    let ValueDef::Param(join, number) = function.values[value].def else {
        return None;
    };
    let parted = |arriving: Value| match function.defining(below(function, arriving)) {
        Some(data) if matches!(data.op, Op::Binary(BinaryOp::Add, _)) => {
            match function.int_constant(data.args[1]) {
                Some(by) => (below(function, data.args[0]), by),
                None => (arriving, 0),
            }
        }
        _ => (below(function, arriving), 0),
    };
    let mut found: Option<(Value, i64, i64)> = None;
    for &before in &cx.flow.predecessors[join] {
        if cx.flow.position[before] >= cx.flow.position[join] {
            return None;
        }
        for edge in function.blocks[before].terminator.edges() {
            if edge.block != join {
                continue;
            }
            let (base, by) = parted(*edge.args.get(number as usize)?);
            let (known, least, most) = found.unwrap_or((base, by, by));
            if known != base || !cx.uniform(base, before, Scope::Subgroup) {
                return None;
            }
            found = Some((base, least.min(by), most.max(by)));
        }
    }
    let (_, least, most) = found?;
    Some(Growth {
        spread: most.checked_sub(least)?,
        ..Growth::default()
    })
}

/// Returns the growth of a value that all lanes of a warp fetch together in each round, such as the next item
/// of a queue: it grows by an amount of its own.
fn fetched(cx: &Context<'_>, value: Value, header: Block) -> Option<Growth> {
    let ValueDef::Result(inst, _) = cx.function.values[value].def else {
        return None;
    };
    let block = cx.block_of[inst]?;
    let op = &cx.function.insts[inst].op;
    let fetches = matches!(op, Op::Load(_) | Op::Atomic(..) | Op::Warp(_));
    let within = cx.flow.position[block] >= cx.flow.position[header];
    (fetches && within && cx.uniform(value, block, Scope::Subgroup)).then_some(Growth {
        symbolic: true,
        ..Growth::default()
    })
}

/// Uniform, and computed before the loop or read again from memory that is not written.
fn unchanged(cx: &Context<'_>, value: Value, header: Option<Block>) -> Option<Growth> {
    unchanged_within(cx, value, header, DEPTH / 2)
}

fn unchanged_within(
    cx: &Context<'_>,
    value: Value,
    header: Option<Block>,
    depth: u32,
) -> Option<Growth> {
    let depth = depth.checked_sub(1)?;
    if let Some(data) = cx.function.defining(value)
        && let Op::Load(access) = &data.op
        && (access.read_only || access.space == Space::Constant)
    {
        return unchanged_within(cx, data.args[0], header, depth);
    }
    let block = match cx.function.values[value].def {
        ValueDef::Param(block, _) => block,
        ValueDef::Result(inst, _) => cx.block_of[inst]?,
    };
    let before = header.is_none_or(|header| cx.flow.position[block] < cx.flow.position[header]);
    let fixed = cx.function.defining(value).is_some_and(|data| {
        use Special::{BlockDim, GridDim, WarpSize};
        matches!(
            data.op,
            Op::SymbolAddress(_)
                | Op::Const(_)
                | Op::Parameter(_)
                | Op::Special(BlockDim(_) | GridDim(_) | WarpSize)
        )
    });
    let offset = match cx.function.defining(value) {
        Some(data) if matches!(data.op, Op::PtrAdd | Op::Binary(..) | Op::Convert(_)) => data
            .args
            .iter()
            .all(|&arg| unchanged_within(cx, arg, header, depth).is_some()),
        _ => false,
    };
    ((before || fixed || offset) && cx.uniform(value, block, Scope::Subgroup)).then(Growth::default)
}

pub(super) fn of_header(
    cx: &Context<'_>,
    param: Value,
    header: Block,
    depth: u32,
) -> Option<Growth> {
    let ValueDef::Param(_, number) = cx.function.values[param].def else {
        return None;
    };
    let mut found: Option<Growth> = None;
    let mut step: Option<Growth> = None;
    for &before in &cx.flow.predecessors[header] {
        for edge in cx.function.blocks[before].terminator.edges() {
            if edge.block != header {
                continue;
            }
            let &arg = edge.args.get(number as usize)?;
            if cx.flow.position[before] < cx.flow.position[header] {
                found = Some(growth(cx, arg, None, depth)?);
            } else if arg != param {
                let by = added(cx, param, arg, before)?;
                if step.is_some_and(|s| s.symbolic || by.symbolic || s.round != by.round) {
                    return None;
                }
                step = Some(by);
            }
        }
    }
    let found = found?;
    Some(Growth {
        lane: found.lane,
        within: found.within,
        spread: found.spread,
        ..step?
    })
}

/// Returns the difference of `next` and `param`, the same in all lanes.
fn added(cx: &Context<'_>, param: Value, next: Value, block: Block) -> Option<Growth> {
    let data = cx.function.defining(below(cx.function, next))?;
    let sign = match data.op {
        Op::Binary(BinaryOp::Add, _) | Op::PtrAdd => 1,
        Op::Binary(BinaryOp::Sub, _) => -1,
        _ => return None,
    };
    let of_param = |number: usize| strides::is_counter(cx, data.args[number], param);
    let step = match (of_param(0), of_param(1)) {
        (true, false) => data.args[1],
        (false, true) if sign > 0 => data.args[0],
        _ => return None,
    };
    match number(cx, step) {
        Some(step) => Some(Growth {
            round: step.checked_mul(sign)?,
            ..Growth::default()
        }),
        None => cx.uniform(step, block, Scope::Subgroup).then_some(Growth {
            symbolic: true,
            ..Growth::default()
        }),
    }
}

/// A constant, or the block's known width.
pub(super) fn number(cx: &Context<'_>, value: Value) -> Option<i64> {
    let width = || match cx.function.defining(below(cx.function, value))?.op {
        Op::Special(Special::BlockDim(axis)) => cx.size(axis).map(i64::from),
        _ => None,
    };
    cx.function.int_constant(value).or_else(width)
}

/// Returns the growth of a header's parameter from round to round.
pub(super) fn steps(cx: &Context<'_>, header: Block, param: Value) -> Option<Growth> {
    let ValueDef::Param(_, number) = cx.function.values[param].def else {
        return None;
    };
    let mut found = None;
    for &before in &cx.flow.predecessors[header] {
        for edge in cx.function.blocks[before].terminator.edges() {
            if edge.block == header && cx.flow.position[before] >= cx.flow.position[header] {
                found = Some(added(cx, param, *edge.args.get(number as usize)?, before)?);
            }
        }
    }
    found
}

/// Returns the part that lanes have of their own in a sum with a shared part, in one round.
pub(super) fn own_part(cx: &Context<'_>, value: Value, at: Block) -> Option<Growth> {
    // A value that all lanes read from one lane is equal in all of them as long as that lane is present,
    // which is what is being tested.
    let shared = |value: Value| {
        let data = cx.function.defining(below(cx.function, value));
        let of_one_lane = data.is_some_and(|data| {
            matches!(&data.op, Op::Warp(op) if op.kind == WarpKind::ShuffleIndex)
                && cx.function.int_constant(data.args[1]).is_some()
        });
        of_one_lane || cx.uniform(value, at, Scope::Subgroup)
    };
    if shared(value) {
        return Some(Growth::default());
    }
    let sum = cx.function.defining(value)?;
    if !matches!(sum.op, Op::Binary(BinaryOp::Add, _)) {
        return None;
    }
    match (shared(sum.args[0]), shared(sum.args[1])) {
        (true, false) => growth(cx, sum.args[1], None, DEPTH),
        (false, true) => growth(cx, sum.args[0], None, DEPTH),
        _ => None,
    }
}
