//! Reductions over a whole warp that exchange with the lanes 16, 8, 4, 2 and 1 away, in any order, and leave the same
//! value everywhere.
//!
//! ```text
//! v += shuffle_xor(v, 16)       lanes l and l ^ 16 add the same two values: equal there
//! v += shuffle_xor(v, 8)        .. and now in l ^ 8 too; after all bits of a lane's number in all lanes
//! ```
//!
//! If `v` is the same in `l` and `l ^ p`, so is `v + shuffle_xor(v, o)`, and it is the same in `l` and `l ^
//! o`, because the operation commutes: for floating point as well, where sums may not be reordered otherwise
//! (a NaN is one number on these machines). All lanes must be here, in one block, and no segment be smaller
//! than the warp. A loop (`for (o = 16; o > 0; o >>= 1) v += shuffle_xor(v, o)`) is followed where its
//! distance begins at a constant or at a part of the warp's size, is multiplied or divided by one, and its
//! only exit tests it: its result is the same in all lanes behind the loop, and nowhere inside, so that uses
//! carry the fact and not the definition. Selections (`v > w ? v : w`) are not followed: of floats they do
//! not commute for zeros and NaNs.

use super::engine::{DIVERGENT, Engine, Level, SUBGROUP};
use super::form::wrap;
use super::transfer::all_lanes_here;
use crate::trips;
use ir::loops::LoopId;
use ir::{
    BinaryOp, Block, Convert, InstData, IntCondition, Op, ShuffleMode, Special, Terminator, Value,
    ValueDef, WarpKind,
};

const STEPS: usize = 8;

/// A loop in which all lanes of a warp exchange a value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exchange {
    within: LoopId,
    /// The block that exchanges.
    block: Block,
}

/// Returns how uniformly a value that a loop exchanges is held behind it.
pub(super) fn level_behind(engine: &Engine<'_>, value: Value, block: Block) -> Level {
    let Some(&exchange) = engine.exchanges.get(&value) else {
        return DIVERGENT;
    };
    if engine.forest.contains(exchange.within, block)
        || !all_lanes_here(engine, exchange.block, false)
    {
        return DIVERGENT;
    }
    SUBGROUP
        .min(engine.apart_at(exchange.block))
        .min(engine.taint_between(value, block))
}

/// Finds the values that loops exchange among all lanes of a warp.
pub(super) fn find(engine: &mut Engine<'_>) {
    let mut found = Vec::new();
    for (l, data) in engine.forest.loops.iter() {
        let exits: Vec<Block> = engine
            .flow
            .order
            .iter()
            .copied()
            .filter(|&block| {
                let mut next = engine.flow.successors[block].iter();
                engine.forest.contains(l, block)
                    && next.any(|&next| !engine.forest.contains(l, next))
            })
            .collect();
        let header = data.header;
        for &param in &engine.function.blocks[header].params {
            if let Some((left, block)) = exchanged_by(engine, l, header, param, &exits) {
                found.push((left, Exchange { within: l, block }));
            }
        }
    }
    for (value, exchange) in found {
        engine.exchanges.insert(value, exchange);
        engine.cells[value].exchanged = true;
    }
}

/// The value that a loop leaves of a header's parameter that its rounds exchange over all distances, and the block in which
/// they do.
fn exchanged_by(
    engine: &Engine<'_>,
    l: LoopId,
    header: Block,
    param: Value,
    exits: &[Block],
) -> Option<(Value, Block)> {
    let next = of_the_rounds(engine, l, param)?;
    let ValueDef::Result(inst, _) = engine.function.values[next].def else {
        return None;
    };
    let block = engine.home(next)?;
    let data = &engine.function.insts[inst];
    let (a, b) = (*data.args.first()?, *data.args.get(1)?);
    let distance = [(a, b), (b, a)].into_iter().find_map(|(own, other)| {
        let (from, distance) = shuffled(engine, block, other)?;
        (plain(engine, own) == param && plain(engine, from) == param).then_some(distance)
    });
    let distance = distance.filter(|_| commutes(data))?;
    if !engine.function.blocks[header].params.contains(&distance)
        || engine.forest.of(block) != Some(l)
        // Every round exchanges.
        || !engine.flow.predecessors[header]
            .iter()
            .all(|&before| !engine.forest.contains(l, before) || engine.dominators.dominates(block, before))
    {
        return None;
    }
    let test = tested(engine, l, exits)?;
    let (scaled, scale) = trips::scaled(engine, of_the_rounds(engine, l, distance)?)?;
    let first = engine.tables.incoming(engine.function, distance);
    let mut first = first
        .iter()
        .filter(|(from, _)| !engine.forest.contains(l, *from));
    let start = number(engine, first.next()?.1, STEPS)?;
    let (limit, ahead) = (test.limit, test.counter != distance);
    let known = scaled == distance && first.next().is_none();
    if !known || ahead && trips::scaled(engine, test.counter) != Some((distance, scale)) {
        return None;
    }
    let compared = |at: i128| if ahead { scale.apply(at) } else { at };
    let warp = i128::from(engine.shape.warp);
    let (mut bits, mut at) = (0, i128::from(start));
    for _ in 0..2 * STEPS {
        if test.first && !test.kind.holds(compared(at), limit) {
            break;
        }
        if at <= 0 || at >= warp || at & (at - 1) != 0 {
            return None;
        }
        bits |= at;
        let goes_on = test.first || test.kind.holds(compared(at), limit);
        at = scale.apply(at);
        if !goes_on {
            break;
        }
    }
    let left = if test.first { param } else { next };
    // If the last round that was looked at was not the loop's last, its distance is 0.
    let ended = at == 0 || !test.first || !test.kind.holds(compared(at), limit);
    (bits == warp - 1 && warp.count_ones() == 1 && ended).then_some((left, block))
}

/// A constant, the size of a warp, or the quotient of it by divisions and shifts.
fn number(engine: &Engine<'_>, value: Value, depth: usize) -> Option<i64> {
    let function = engine.function;
    if let Some(known) = function.int_constant(value) {
        return Some(known);
    }
    let data = function.defining(plain(engine, value))?;
    match &data.op {
        Op::Special(Special::WarpSize) => Some(engine.shape.warp.into()),
        Op::Binary(kind, _) if depth > 0 && data.guard.is_none() => {
            let of = number(engine, *data.args.first()?, depth - 1)?;
            let by = function.int_constant(*data.args.get(1)?)?;
            match kind {
                BinaryOp::DivSigned | BinaryOp::DivUnsigned if of > 0 && by > 0 => Some(of / by),
                BinaryOp::ShrSigned | BinaryOp::ShrUnsigned if of > 0 && (0..32).contains(&by) => {
                    Some(of >> by)
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// The value that a loop's only exit compares with a constant.
struct Compared {
    kind: IntCondition,
    counter: Value,
    limit: i128,
    /// The header decides, before the body.
    first: bool,
}

/// `s > 0`, or `s` itself in the header.
fn tested(engine: &Engine<'_>, l: LoopId, exits: &[Block]) -> Option<Compared> {
    let function = engine.function;
    if let Some(test) = trips::test(engine, l, exits) {
        return Some(Compared {
            kind: test.kind,
            counter: test.counter,
            limit: function.int_constant(test.limit)?.into(),
            first: test.first,
        });
    }
    let &[exit] = exits else { return None };
    let Terminator::Branch {
        condition, then, ..
    } = &function.blocks[exit].terminator
    else {
        return None;
    };
    let data = function.defining(*condition)?;
    let fits = matches!(data.op, Op::Convert(Convert::ToBool))
        && function.ty(data.args[0]).is_int()
        && engine.forest.contains(l, then.block)
        && engine.forest.loops[l].header == exit
        && !engine.flow.successors[exit].contains(&exit);
    fits.then_some(Compared {
        kind: IntCondition::NotEqual,
        counter: data.args[0],
        limit: 0,
        first: true,
    })
}

/// Returns the value of a header's parameter in the next round, if it is the same by every back edge.
fn of_the_rounds(engine: &Engine<'_>, l: LoopId, param: Value) -> Option<Value> {
    let arriving = engine.tables.incoming(engine.function, param);
    let mut back = arriving
        .iter()
        .filter(|(from, _)| engine.forest.contains(l, *from));
    let next = plain(engine, back.next()?.1);
    back.all(|&(_, arg)| plain(engine, arg) == next)
        .then_some(next)
}

/// The value is the same in all lanes of a warp that is here as a whole, because of the exchange.
pub(super) fn is_complete(engine: &Engine<'_>, block: Block, data: &InstData) -> bool {
    let warp = engine.shape.warp;
    if !warp.is_power_of_two() || !commutes(data) {
        return false;
    }
    let (mut bits, mut at) = (0, data);
    for _ in 0..STEPS {
        let Some((from, distance)) = exchanged(engine, block, at) else {
            return false;
        };
        bits |= distance;
        if bits == warp - 1 {
            return true;
        }
        match engine.function.defining(plain(engine, from)) {
            Some(before) => at = before,
            None => return false,
        }
    }
    false
}

fn commutes(data: &InstData) -> bool {
    let kind = match &data.op {
        Op::Binary(kind, _) => kind,
        _ => return false,
    };
    data.guard.is_none()
        && matches!(
            kind,
            BinaryOp::Add
                | BinaryOp::Mul
                | BinaryOp::And
                | BinaryOp::Or
                | BinaryOp::Xor
                | BinaryOp::MinSigned
                | BinaryOp::MaxSigned
                | BinaryOp::MinUnsigned
                | BinaryOp::MaxUnsigned
                | BinaryOp::FloatAdd
                | BinaryOp::FloatMul
                | BinaryOp::FloatMin
                | BinaryOp::FloatMax
        )
}

/// `v op shuffle_xor(v, distance)`: the value, and a distance that is one bit of a lane's number.
fn exchanged(engine: &Engine<'_>, block: Block, data: &InstData) -> Option<(Value, u32)> {
    if !commutes(data) {
        return None;
    }
    let (a, b) = (data.args[0], data.args[1]);
    [(a, b), (b, a)].into_iter().find_map(|(own, other)| {
        let (from, distance) = partner(engine, block, other)?;
        (plain(engine, from) == plain(engine, own)).then_some((own, distance))
    })
}

fn partner(engine: &Engine<'_>, block: Block, value: Value) -> Option<(Value, u32)> {
    let (from, distance) = shuffled(engine, block, value)?;
    let distance = u32::try_from(engine.function.int_constant(distance)?).ok()?;
    let fits = distance.is_power_of_two() && distance < engine.shape.warp;
    fits.then_some((from, distance))
}

/// `shuffle_xor(value, distance)` among all lanes of a warp, in this block.
fn shuffled(engine: &Engine<'_>, block: Block, value: Value) -> Option<(Value, Value)> {
    let function = engine.function;
    let warp = engine.shape.warp;
    let ValueDef::Result(inst, _) = function.values[plain(engine, value)].def else {
        return None;
    };
    let data = &function.insts[inst];
    let Op::Warp(op) = &data.op else {
        return None;
    };
    // The mask is the last of them.
    let given = &data.args[..data.args.len() - usize::from(op.mask)];
    let whole = match op.kind {
        // A width that is not known may be less than a warp.
        WarpKind::ShuffleXor => given.get(2).is_none_or(|&width| {
            number(engine, width, STEPS).is_some_and(|width| width >= i64::from(warp))
        }),
        WarpKind::ShufflePtx(ShuffleMode::Butterfly) => {
            let control = given.get(2).and_then(|&it| function.int_constant(it));
            control == Some(0x1f) && warp == 32
        }
        _ => return None,
    };
    let named = u64::MAX >> (64 - warp.min(64));
    let mask = match op.mask {
        true => wrap(i128::from(function.int_constant(*data.args.last()?)?), 64) as u64,
        false => named,
    };
    let fits = whole
        && data.guard.is_none()
        && mask & named == named
        && function.blocks[block].insts.contains(&inst);
    fits.then_some((*data.args.first()?, *data.args.get(1)?))
}

/// The same bits under another type.
fn plain(engine: &Engine<'_>, mut value: Value) -> Value {
    for _ in 0..STEPS {
        match engine.function.defining(value) {
            Some(data) if matches!(data.op, Op::Convert(Convert::Bitcast)) => value = data.args[0],
            _ => break,
        }
    }
    value
}
