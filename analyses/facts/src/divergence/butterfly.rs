//! Reductions over a whole warp that exchange with the lanes 16, 8, 4, 2 and 1 away, in any order, and leave the same
//! value everywhere.
//!
//! ```text
//! v += shuffle_xor(v, 16)       lanes l and l ^ 16 add the same two values: equal there
//! v += shuffle_xor(v, 8)        .. and now in l ^ 8 too; after all bits of a lane's number in all lanes
//! ```
//!
//! If `v` is the same in `l` and `l ^ p`, so is `v + shuffle_xor(v, o)`, and it is the same in `l` and `l ^ o`, because
//! the operation commutes: for floating point as well, where sums may not be reordered otherwise (a NaN is one number on
//! these machines). All lanes must be here, in one block, and no
//! segment be smaller than the warp. Follows what is unrolled; a loop's value
//! is the same in all lanes behind the loop alone, and facts say what holds at a definition.

use super::engine::Engine;
use super::form::wrap;
use ir::{BinaryOp, Block, Convert, InstData, Op, ShuffleMode, Value, ValueDef, WarpKind};

const STEPS: usize = 8;

/// The value is the same in all lanes of a warp that is here as a whole, by what exchanged it.
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
    let function = engine.function;
    let warp = engine.shape.warp;
    let ValueDef::Result(inst, _) = function.values[plain(engine, value)].def else {
        return None;
    };
    let data = &function.insts[inst];
    let Op::Warp(op) = &data.op else {
        return None;
    };
    let number = |index: usize| function.int_constant(*data.args.get(index)?);
    let whole = match op.kind {
        WarpKind::ShuffleXor => number(2).is_none_or(|width| width >= i64::from(warp)),
        WarpKind::ShufflePtx(ShuffleMode::Butterfly) => number(2) == Some(0x1f) && warp == 32,
        _ => return None,
    };
    let named = u64::MAX >> (64 - warp.min(64));
    let mask = match op.mask {
        true => wrap(i128::from(function.int_constant(*data.args.last()?)?), 64) as u64,
        false => named,
    };
    let distance = u32::try_from(number(1)?).ok()?;
    let fits = whole
        && data.guard.is_none()
        && mask & named == named
        && distance.is_power_of_two()
        && distance < warp
        && function.blocks[block].insts.contains(&inst);
    fits.then_some((*data.args.first()?, distance))
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
