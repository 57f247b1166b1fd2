//! How the lanes of a warp share the rounds of a loop, and which of them stays the longest.
//!
//! ```text
//! for (i = tid; i < n; i += blockDim.x)                              one range, trip counts differ by at most one
//! for (c = 0; c < n; c += 32) { if (c + lane >= n) break; .. }       the same
//! for (;;) { u = readfirstlane(x); if (x == u) { ..; break; } }      lanes with one value are served together
//! ```
//!
//! A side of the loop's comparison is looked through down to the header's parameters, coordinates and constants: what it
//! grows by from round to round, and from lane to lane. A condition of several parts (`N == 0 && c + lane >= n`) is taken
//! apart: what is uniform parts nobody, and each comparison of the rest must share the rounds. Bounded by `DEPTH`. In 32
//! lanes the coordinate differs by 31 at most.

use super::{Context, strides, together, windows};
use crate::model::*;
use crate::open::left_open;
use ir::{
    BinaryOp, Block, Function, IntCondition, Op, Space, Special, Terminator, Value, ValueDef,
    WarpKind,
};

pub(super) const DEPTH: u32 = 12;
/// Parts of a condition.
pub(super) const PARTS: usize = 16;

/// The lanes share the rounds of one range.
pub(super) fn shared_by_the_warp(cx: &Context<'_>, header: Block, exit: Block) -> bool {
    let selector = cx.function.blocks[exit].terminator.selector();
    if selector.is_some_and(|selector| whole_tiles(cx, header, selector, exit)) {
        return true;
    }
    let Some(comparisons) = parting_comparisons(cx, header, exit) else {
        return false;
    };
    comparisons.into_iter().all(|compare| {
        strides::by_the_group(cx, header, compare) || grows_by_a_warp(cx, header, compare)
    })
}

/// All lanes go the same number of rounds, but for what shares the rounds of one range: also where lanes leave elsewhere.
pub(super) fn as_many_in_all_lanes(cx: &Context<'_>, header: Block) -> bool {
    let forest = cx.forest();
    let Some((own, _)) = forest.loops.iter().find(|(_, l)| l.header == header) else {
        return false;
    };
    let leaves = |block: Block| {
        let mut next = cx.flow.successors[block].iter();
        next.any(|&next| !forest.contains(own, next))
    };
    let exits: Vec<Block> = cx
        .flow
        .order
        .iter()
        .copied()
        .filter(|&block| {
            let selector = cx.function.blocks[block].terminator.selector();
            let parts =
                selector.is_some_and(|selector| !cx.uniform(selector, block, Scope::Subgroup));
            parts && forest.contains(own, block) && leaves(block)
        })
        .collect();
    // What no round changes: the lanes that it keeps out go no round at all, as behind an `if`.
    let is_guard = |compare: Value| {
        let args = cx.function.defining(compare).map(|data| &data.args);
        args.is_some_and(|args| {
            args.iter().all(|&arg| {
                let block = match cx.function.values[below(cx.function, arg)].def {
                    ValueDef::Param(block, _) => Some(block),
                    ValueDef::Result(inst, _) => cx.block_of[inst],
                };
                block.is_some_and(|block| !forest.contains(own, block))
            })
        })
    };
    let fits = |compare: Value| {
        is_guard(compare)
            || windows::have_one_width(cx, header, compare, Scope::Subgroup)
            || strides::by_the_group(cx, header, compare)
            || grows_by_a_warp(cx, header, compare)
    };
    let shared = |exit: &Block| {
        let comparisons = parting_comparisons(cx, header, *exit);
        comparisons.is_some_and(|found| found.into_iter().all(fits))
    };
    !exits.is_empty() && exits.iter().all(shared)
}

/// The comparisons by which lanes part at a branch; `None`: they part by something else.
fn parting_comparisons(cx: &Context<'_>, header: Block, exit: Block) -> Option<Vec<Value>> {
    let function = cx.function;
    let selector = function.blocks[exit].terminator.selector()?;
    let mut work: Vec<(Value, Block)> = vec![(selector, exit)];
    let mut seen: Vec<Value> = Vec::new();
    let mut found = Vec::new();
    while let Some((value, at)) = work.pop() {
        if seen.contains(&value) || cx.uniform(value, at, Scope::Subgroup) {
            continue;
        }
        seen.push(value);
        if seen.len() > PARTS {
            return None;
        }
        match function.values[value].def {
            // What `&&` and `||` join.
            ValueDef::Param(block, number) => {
                if cx.flow.position[block] <= cx.flow.position[header] {
                    return None;
                }
                for &before in &cx.flow.predecessors[block] {
                    let terminator = &function.blocks[before].terminator;
                    work.extend(terminator.selector().map(|selector| (selector, before)));
                    for edge in terminator.edges().iter().filter(|e| e.block == block) {
                        work.push((*edge.args.get(number as usize)?, before));
                    }
                }
            }
            ValueDef::Result(inst, _) => {
                let data = &function.insts[inst];
                match data.op {
                    Op::IntCompare(_) | Op::FloatCompare(_) => found.push(value),
                    Op::Binary(BinaryOp::And | BinaryOp::Or, _) | Op::Unary(ir::UnaryOp::Not) => {
                        work.extend(data.args.iter().map(|&arg| (arg, at)));
                    }
                    _ => return None,
                }
            }
        }
    }
    // Uniform in a warp: parts larger groups alone.
    if found.is_empty() {
        found.push(selector);
    }
    Some(found)
}

/// Growth of a value.
#[derive(Clone, Copy, Default)]
struct Growth {
    /// From round to round.
    round: i64,
    /// The rounds add something uniform that is no constant.
    symbolic: bool,
    /// From lane to lane, at least; a value that repeats (`tid % 32`) is smallest in the first lane.
    lane: i64,
    /// A bound on what `lane` makes between any two lanes: `tid % 4` differs by 3.
    within: Option<i64>,
    /// Between any two lanes, at most, by coordinates beyond the first.
    spread: i64,
}

impl Growth {
    fn plus(self, factor: i64, other: Growth) -> Option<Growth> {
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
    fn times(self, factor: i64) -> Option<Growth> {
        Some(Growth {
            symbolic: self.symbolic,
            ..Growth::default().plus(factor, self)?
        })
    }
}

/// What a value grows by; `header`: that of the loop whose rounds count.
fn growth(cx: &Context<'_>, value: Value, header: Option<Block>, depth: u32) -> Option<Growth> {
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
    let [one, other] = factors;
    let by_the_rounds = |factor: Value, counter: Value| {
        unchanged(cx, factor, header)?;
        let counter = growth(cx, counter, header, depth)?;
        let rounds_alone = counter.lane == 0 && counter.spread == 0;
        (rounds_alone && (counter.symbolic || counter.round != 0)).then_some(Growth {
            symbolic: true,
            ..Growth::default()
        })
    };
    by_the_rounds(one, other).or_else(|| by_the_rounds(other, one))
}

/// `rounds = n / block; if (tid < n % block) ++rounds;`: lanes differ by what some of them add.
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

/// What all lanes of a warp fetch together in each round, such as the next item of a queue: it grows by an amount of its own.
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

/// Uniform, and computed before the loop or read again from memory that nobody writes.
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

fn of_header(cx: &Context<'_>, param: Value, header: Block, depth: u32) -> Option<Growth> {
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

/// What `next` has more than `param`, the same in all lanes.
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
fn number(cx: &Context<'_>, value: Value) -> Option<i64> {
    let width = || match cx.function.defining(below(cx.function, value))?.op {
        Op::Special(Special::BlockDim(axis)) => cx.size(axis).map(i64::from),
        _ => None,
    };
    cx.function.int_constant(value).or_else(width)
}

pub(super) fn below(function: &Function, mut value: Value) -> Value {
    while let Some(data) = function.defining(value)
        && matches!(data.op, Op::Convert(_))
    {
        value = data.args[0];
    }
    value
}

/// From round to round the comparison moves on by at least as much as from the first lane to the last.
fn grows_by_a_warp(cx: &Context<'_>, header: Block, compare: Value) -> bool {
    let Some(data) = cx.function.defining(compare) else {
        return false;
    };
    if !matches!(data.op, Op::IntCompare(_)) {
        return false;
    }
    let side = |number: usize| growth(cx, data.args[number], Some(header), DEPTH);
    let difference = side(0).and_then(|a| a.plus(-1, side(1)?));
    difference.is_some_and(|d| {
        let warp = cx.facts.options.warp_size;
        let lanes = u64::from(cx.size(0).map_or(warp, |x| x.min(warp)).max(1) - 1);
        let lanes = lanes.min(span_of_lanes(cx, header));
        let width = d.lane.unsigned_abs().saturating_mul(lanes);
        let width = d
            .within
            .map_or(width, |most| width.min(most.unsigned_abs()));
        let width = width.saturating_add(d.spread.unsigned_abs());
        d.symbolic && d.lane.unsigned_abs() <= 8 || d.round != 0 && d.round.unsigned_abs() >= width
    })
}

/// From the first to the last lane that the conditions above a block let through, where they tell: 3 of `if (tid.x < 4)`.
fn span_of_lanes(cx: &Context<'_>, block: Block) -> u64 {
    let function = cx.function;
    let dominators = cx.dominators();
    let mut lanes = u128::MAX;
    let mut at = block;
    while let Some(above) = dominators.immediate(at) {
        if let Terminator::Branch {
            then, otherwise, ..
        } = &function.blocks[above].terminator
            && let Some(holds) = cx.facts.branch(above).and_then(|fact| fact.lanes)
        {
            let only = |target: Block| {
                cx.flow.predecessors[target].as_slice() == [above]
                    && dominators.dominates(target, block)
            };
            match (only(then.block), only(otherwise.block)) {
                (true, false) => lanes &= holds,
                (false, true) => lanes &= !holds,
                _ => {}
            }
        }
        at = above;
    }
    match lanes {
        0 => 0,
        some => u64::from(127 - some.leading_zeros() - some.trailing_zeros()),
    }
}

/// `for (k = tid; k < n / W * W; k += W)` in a group of `W` threads along that coordinate: all threads go the same number
/// of rounds, whether they ask at its head or for the next round (`if (k + W >= n / W * W) break`).
pub(super) fn whole_tiles(cx: &Context<'_>, header: Block, compare: Value, at: Block) -> bool {
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
    let [one, other] = [data.args[0], data.args[1]];
    let (tiles, place) = match cx.uniform(one, at, Scope::Workgroup) {
        true => (one, other),
        false => (other, one),
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

/// A coordinate, or what remains of one, that is less than the tile's width.
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

/// The loop runs in whole tiles as far as anyone can tell: what it counts up to is a constant that only an instantiation
/// knows, or of launch and step one is a constant and the other the launch's. Authors choose such to fit.
pub(super) fn may_be_whole_tiles(cx: &Context<'_>, header: Block, compare: Value) -> bool {
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

/// `if (rest >= 4) { .. } else for (i = 0; i < rest; i++)`: what is left at the end of the data.
pub(super) fn in_a_rest(cx: &Context<'_>, block: Block) -> bool {
    let forest = cx.forest();
    forest.around(block).any(|own| {
        let header = forest.loops[own].header;
        cx.function.blocks[header]
            .terminator
            .selector()
            .is_some_and(|selector| is_limited_above(cx, header, selector))
    })
}

/// A branch above asks whether what ends the loop is below a small number.
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
fn rounded_to_the_step(cx: &Context<'_>, header: Block, counter: Value, limit: Value) -> bool {
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
                tested = selector.is_some_and(|one| asks_for_the_rest(cx, one, step));
            }
            return arriving.iter().any(|&one| multiple(one))
                && (tested || arriving.iter().all(|&one| multiple(one)));
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
            ways.iter().any(|&one| multiple(one))
                && (tested || ways.iter().all(|&one| multiple(one)))
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
fn is_rest(cx: &Context<'_>, value: Value, step: Value) -> bool {
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

/// One value, or one number of the launch asked for twice.
pub(super) fn is_same(function: &Function, one: Value, other: Value) -> bool {
    let special = |value: Value| match function.defining(value)?.op {
        Op::Special(special @ (Special::BlockDim(_) | Special::GridDim(_) | Special::WarpSize)) => {
            Some(special)
        }
        _ => None,
    };
    one == other || special(one).is_some_and(|known| special(other) == Some(known))
}

/// What a header's parameter grows by from round to round.
fn steps(cx: &Context<'_>, header: Block, param: Value) -> Option<Growth> {
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

/// Whether the first lane takes this edge of the branch if any lane does.
pub(super) fn first_lane_stays(cx: &Context<'_>, branch: Block, target: Block) -> bool {
    let Terminator::Branch {
        condition,
        then,
        otherwise,
        ..
    } = &cx.function.blocks[branch].terminator
    else {
        return false;
    };
    then.block != otherwise.block && holds_first(cx, *condition, branch, then.block == target, 4)
}

/// Whether the condition is as wanted in the first lane if it is in any.
fn holds_first(cx: &Context<'_>, condition: Value, at: Block, wanted: bool, depth: u32) -> bool {
    if cx.uniform(condition, at, Scope::Subgroup)
        || together::is_met_by_whole_warps(cx, condition, at)
    {
        return true;
    }
    let (Some(depth), Some(data)) = (depth.checked_sub(1), cx.function.defining(condition)) else {
        return false;
    };
    let both = |wanted| {
        let mut args = data.args.iter();
        args.all(|&arg| holds_first(cx, arg, at, wanted, depth))
    };
    match data.op {
        Op::Binary(BinaryOp::And, _) if wanted => both(true),
        Op::Binary(BinaryOp::Or, _) if !wanted => both(false),
        Op::Unary(ir::UnaryOp::Not) => both(!wanted),
        Op::Convert(ir::Convert::ToBool) if wanted && is_next_in_a_group(cx, data.args[0], at) => {
            true
        }
        Op::IntCompare(IntCondition::NotEqual)
            if wanted
                && cx.function.int_constant(data.args[1]) == Some(0)
                && is_next_in_a_group(cx, data.args[0], at) =>
        {
            true
        }
        Op::IntCompare(kind) => {
            use IntCondition::*;
            let rounds = cx.facts.loops.iter().map(|l| Some(l.header));
            let mut headers = rounds.chain([None]);
            let found = headers.find_map(|header| {
                let side = |number: usize| growth(cx, data.args[number], header, DEPTH);
                side(0)?.plus(-1, side(1)?)
            });
            let own = |number: usize| own_part(cx, data.args[number], at);
            let found = found.or_else(|| own(0)?.plus(-1, own(1)?));
            let Some(difference) = found.filter(|difference| difference.spread == 0) else {
                return false;
            };
            match (kind, wanted) {
                (LessSigned | LessEqualSigned | LessUnsigned | LessEqualUnsigned, true)
                | (
                    GreaterSigned | GreaterEqualSigned | GreaterUnsigned | GreaterEqualUnsigned,
                    false,
                ) => difference.lane > 0,
                (
                    GreaterSigned | GreaterEqualSigned | GreaterUnsigned | GreaterEqualUnsigned,
                    true,
                )
                | (LessSigned | LessEqualSigned | LessUnsigned | LessEqualUnsigned, false) => {
                    difference.lane < 0
                }
                _ => false,
            }
        }
        _ => false,
    }
}

/// What lanes have of their own in a sum with what they share, in one round.
fn own_part(cx: &Context<'_>, value: Value, at: Block) -> Option<Growth> {
    // What all read of one lane is the same in all, as long as that lane is there: that it is, is what is asked.
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

/// `(i + 1) & (whole - 1)` of the lanes' own numbers: zero in a last lane, never in the first.
fn is_next_in_a_group(cx: &Context<'_>, value: Value, at: Block) -> bool {
    let function = cx.function;
    // Lanes of the smallest wave.
    const FEWEST: i64 = 4;
    let Some(data) = function.defining(value) else {
        return false;
    };
    let next = |value: Value| {
        let sum = function.defining(below(function, value));
        sum.is_some_and(|sum| {
            matches!(sum.op, Op::Binary(BinaryOp::Add, _))
                && function
                    .int_constant(sum.args[1])
                    .is_some_and(|by| (1..FEWEST).contains(&by))
                && together::is_lane(cx, sum.args[0], at)
        })
    };
    matches!(data.op, Op::Binary(BinaryOp::And, _))
        && data.args.iter().any(|&arg| next(arg))
        && data.args.iter().any(|&arg| together::is_mask(cx, arg, at))
}

/// The lanes leave with those that hold the same as one of them: each round serves one value, as many rounds as there
/// are values.
pub(super) fn serves_in_groups(cx: &Context<'_>, exit: Block) -> bool {
    let mut work: Vec<Value> = cx.function.blocks[exit]
        .terminator
        .selector()
        .into_iter()
        .collect();
    for _ in 0..32 {
        let Some(value) = work.pop() else {
            return false;
        };
        let Some(data) = cx.function.defining(value) else {
            continue;
        };
        match &data.op {
            Op::Warp(op) if op.kind == WarpKind::IsFirstLane => return true,
            Op::IntCompare(IntCondition::Equal | IntCondition::NotEqual)
            | Op::FloatCompare(ir::FloatCondition::Equal | ir::FloatCondition::NotEqual) => {
                let [a, b] = [0, 1].map(|number| below(cx.function, data.args[number]));
                if gives_one_of(cx, a, b) || gives_one_of(cx, b, a) {
                    return true;
                }
            }
            Op::Binary(BinaryOp::And | BinaryOp::Or, _) | Op::Unary(ir::UnaryOp::Not) => {
                work.extend(data.args.iter().copied());
            }
            Op::Convert(_) => work.push(data.args[0]),
            _ => {}
        }
    }
    false
}

/// `one` is what one of the lanes holds as `all`.
fn gives_one_of(cx: &Context<'_>, one: Value, all: Value) -> bool {
    cx.function.defining(one).is_some_and(|data| {
        let picks = matches!(&data.op, Op::Warp(op) if matches!(
            op.kind,
            WarpKind::ReadFirstLane | WarpKind::ReadLaneAt | WarpKind::ShuffleIndex
        ));
        picks
            && data
                .args
                .first()
                .is_some_and(|&a| below(cx.function, a) == all)
    })
}
