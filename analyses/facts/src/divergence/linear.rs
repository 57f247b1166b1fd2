//! Forms and intervals of integer operations: sums, products, shifts, masks, comparisons, conversions.

mod ranges;
mod warps;

use super::anchored;
use super::engine::{DISPATCH, DIVERGENT, Engine, Level, SUBGROUP};
use super::form::{Form, wrap};
use ir::{
    BinaryOp, Block, Convert, InstData, IntCondition, Op, Space, Special, Type, UnaryOp, Value,
    Wrap,
};
use ranges::{clip, exactly, fits, guarded_clip, negate, product, surely_wraps};
use warps::{
    counts_warps, is_less_its_rest, is_of_an_open_width, lane_of_warp, span_below, within_block,
};

const FULL: (i64, i64) = (i64::MIN, i64::MAX);

pub(super) enum Outcome {
    Form(Form, (i64, i64)),
    Opaque(Level, (i64, i64)),
    Done,
}

/// The form of an operation's result, or its level where it is not linear; `None` leaves it to the general rule.
pub(super) fn of(
    engine: &mut Engine<'_>,
    block: Block,
    data: &InstData,
    result: Value,
    least: Level,
) -> Option<Outcome> {
    let ty = engine.ty(result);
    let bits = ty.bits();
    match &data.op {
        Op::Const(value) if ty.is_integral() => {
            let value = wrap(i128::from(*value as i64), bits);
            Some(Outcome::Form(Form::constant(value), (value, value)))
        }
        Op::Special(Special::Clock) => None,
        Op::Special(special) if ty.is_integral() => {
            let values = engine.function.values.len() as u32;
            let range = engine.shape.range(*special);
            if let Some(value) = engine.shape.constant(*special) {
                return Some(Outcome::Form(Form::constant(value), (value, value)));
            }
            let index = engine.shape.atom(*special)?;
            Some(Outcome::Form(Form::atom(values + index), range))
        }
        Op::Unary(UnaryOp::Neg) if ty.is_int() => {
            let zero = Form::constant(0);
            let arg = data.args[0];
            let r = engine.cells[arg].range;
            let range = negate(r);
            let form = exactly(
                engine,
                zero.plus(-1, &engine.cells[arg].form, bits)?,
                false,
                range,
                ty,
            );
            Some(Outcome::Form(form, clip(range, ty)))
        }
        Op::Unary(UnaryOp::Not) if ty.is_int() => {
            let ones = Form::constant(-1);
            let arg = data.args[0];
            let r = engine.cells[arg].range;
            let range = (-1 - i128::from(r.1), -1 - i128::from(r.0));
            let form = exactly(
                engine,
                ones.plus(-1, &engine.cells[arg].form, bits)?,
                false,
                range,
                ty,
            );
            Some(Outcome::Form(form, clip(range, ty)))
        }
        Op::Binary(op, wraps) if ty.is_int() => {
            binary(engine, block, *op, *wraps, data, result, least)
        }
        Op::PtrAdd => {
            let form =
                engine.cells[data.args[0]]
                    .form
                    .plus(1, &engine.cells[data.args[1]].form, 64)?;
            Some(Outcome::Form(form, FULL))
        }
        Op::IntCompare(condition) => Some(compare(engine, block, *condition, data, least)),
        Op::Select => {
            let control = engine.level_at(data.args[0], block);
            match engine.cells[data.args[0]].form.as_constant() {
                Some(known) => {
                    let chosen = data.args[if known != 0 { 1 } else { 2 }];
                    let level = engine.level_at(chosen, block);
                    let form = engine.cells[chosen].form.clone();
                    let range = engine.cells[chosen].range;
                    engine.finish(result, level, form, range);
                }
                None => engine.merge_of(
                    block,
                    result,
                    control,
                    &[(block, data.args[1]), (block, data.args[2])],
                    None,
                ),
            }
            Some(Outcome::Done)
        }
        Op::Convert(kind) => convert(engine, block, *kind, data, result, least),
        _ => None,
    }
}

fn binary(
    engine: &mut Engine<'_>,
    block: Block,
    op: BinaryOp,
    wraps: Wrap,
    data: &InstData,
    result: Value,
    least: Level,
) -> Option<Outcome> {
    let ty = engine.ty(result);
    let bits = ty.bits();
    let (a, b) = (data.args[0], data.args[1]);
    let (ra, rb) = (engine.cells[a].range, engine.cells[b].range);
    let (ra128, rb128) = (
        (i128::from(ra.0), i128::from(ra.1)),
        (i128::from(rb.0), i128::from(rb.1)),
    );
    let constant = engine.cells[b].form.as_constant();
    let left_constant = engine.cells[a].form.as_constant();
    // Both non-negative: the unsigned reading is the signed one.
    let natural = ra.0 >= 0 && rb.0 >= 0;
    match op {
        BinaryOp::Add => {
            let range = (ra128.0 + rb128.0, ra128.1 + rb128.1);
            let form = engine.cells[a].form.plus(1, &engine.cells[b].form, bits)?;
            let form = exactly(engine, form, wraps.no_signed, range, ty);
            Some(Outcome::Form(form, guarded_clip(range, ty, wraps)))
        }
        BinaryOp::Sub if is_less_its_rest(engine, a, b, block) => {
            let level = engine.level_at(a, block).max(SUBGROUP);
            Some(Outcome::Opaque(level, ra))
        }
        BinaryOp::Sub => {
            let range = (ra128.0 - rb128.1, ra128.1 - rb128.0);
            let form = engine.cells[a].form.plus(-1, &engine.cells[b].form, bits)?;
            let form = exactly(engine, form, wraps.no_signed, range, ty);
            Some(Outcome::Form(form, guarded_clip(range, ty, wraps)))
        }
        BinaryOp::Mul => {
            let range = product(ra, rb);
            let form = engine.cells[a].form.times(&engine.cells[b].form, bits)?;
            let form = exactly(engine, form, wraps.no_signed, range, ty);
            Some(Outcome::Form(form, guarded_clip(range, ty, wraps)))
        }
        BinaryOp::Shl => {
            let by = constant.filter(|&k| (0..i64::from(bits).min(62)).contains(&k))?;
            let range = product(ra, (1 << by, 1 << by));
            let form = engine.cells[a]
                .form
                .times(&Form::constant(wrap(1i128 << by, 64)), bits)?;
            let form = exactly(engine, form, wraps.no_signed, range, ty);
            Some(Outcome::Form(form, guarded_clip(range, ty, wraps)))
        }
        BinaryOp::Mul24Signed | BinaryOp::Mul24Unsigned => {
            let small = |r: (i64, i64)| r.0 >= 0 && r.1 < 1 << 23;
            if small(ra) && small(rb) {
                let range = product(ra, rb);
                let form = engine.cells[a].form.times(&engine.cells[b].form, bits)?;
                let form = exactly(engine, form, false, range, ty);
                return Some(Outcome::Form(form, clip(range, ty)));
            }
            None
        }
        BinaryOp::And => {
            if engine.cells[a].form.terms == engine.cells[b].form.terms {
                return Some(Outcome::Form(engine.cells[a].form.clone(), ra));
            }
            let (mask, other, range) = match (constant, left_constant) {
                (Some(mask), _) => (mask, a, ra),
                (None, Some(mask)) => (mask, b, rb),
                (None, None) => {
                    let high = match (ra.0 >= 0, rb.0 >= 0) {
                        (true, true) => ra.1.min(rb.1),
                        (true, false) => ra.1,
                        (false, true) => rb.1,
                        (false, false) => return None,
                    };
                    return Some(Outcome::Opaque(least, (0, high)));
                }
            };
            if mask == 0 {
                return Some(Outcome::Form(Form::constant(0), (0, 0)));
            }
            let low = mask & mask.wrapping_add(1) == 0 && mask > 0;
            if mask == -1 || (low && range.0 >= 0 && range.1 <= mask) {
                return Some(Outcome::Form(engine.cells[other].form.clone(), range));
            }
            if low && let Some(lane) = lane_of_warp(engine, other, mask, result, block) {
                return Some(lane);
            }
            let zeros = mask.trailing_zeros();
            let mut level = engine.level_at(other, block);
            if zeros > 0 && within_block(engine, other, zeros, block) {
                level = level.max(SUBGROUP);
            }
            let bounds = if mask >= 0 {
                (0, mask)
            } else if range.0 >= 0 {
                (0, range.1)
            } else {
                FULL
            };
            Some(Outcome::Opaque(level, bounds))
        }
        BinaryOp::Or | BinaryOp::Xor => {
            // Disjoint bits add up.
            let disjoint = |high: Value, low: (i64, i64)| {
                low.0 >= 0
                    && (low.1 as u64) < 1 << engine.alignment(&engine.cells[high].form, |_| false)
            };
            if natural && (disjoint(a, rb) || disjoint(b, ra)) {
                let range = (ra128.0 + rb128.0, ra128.1 + rb128.1);
                let form = engine.cells[a].form.plus(1, &engine.cells[b].form, bits)?;
                let form = exactly(engine, form, false, range, ty);
                return Some(Outcome::Form(form, clip(range, ty)));
            }
            if op == BinaryOp::Or && engine.cells[a].form.terms == engine.cells[b].form.terms {
                return Some(Outcome::Form(engine.cells[a].form.clone(), ra));
            }
            if natural {
                let most = (ra.1 | rb.1) as u64;
                let high = if most == 0 {
                    0
                } else {
                    (u64::MAX >> most.leading_zeros()) as i64
                };
                return Some(Outcome::Opaque(least, (0, high)));
            }
            None
        }
        BinaryOp::ShrUnsigned
        | BinaryOp::ShrSigned
        | BinaryOp::DivUnsigned
        | BinaryOp::DivSigned => {
            let shift = matches!(op, BinaryOp::ShrUnsigned | BinaryOp::ShrSigned);
            let signed = matches!(op, BinaryOp::ShrSigned | BinaryOp::DivSigned);
            if !shift && ra.0 >= 0 && counts_warps(engine, a, b, block) {
                let level = engine.level_at(a, block).max(SUBGROUP);
                return Some(Outcome::Opaque(level, (0, ra.1)));
            }
            if is_of_an_open_width(engine, a, b, block) {
                let level = engine.level_at(a, block).max(SUBGROUP);
                return Some(Outcome::Opaque(level, FULL));
            }
            let by = constant?;
            let power = if shift {
                (0..i64::from(bits)).contains(&by).then_some(by as u32)
            } else {
                (by > 0 && by & (by - 1) == 0).then_some(by.trailing_zeros())
            };
            // A shift by the width or more gives an unspecified value.
            if shift && power.is_none() {
                return None;
            }
            if power == Some(0) {
                return Some(Outcome::Form(engine.cells[a].form.clone(), ra));
            }
            let usable = ra.0 >= 0 || (shift && signed);
            let range = match power {
                Some(power) if usable => (ra.0 >> power, ra.1 >> power),
                None if by > 0 && ra.0 >= 0 => (ra.0 / by, ra.1 / by),
                Some(power) if !signed && power > 0 => {
                    (0, ((u64::MAX >> (64 - bits)) >> power) as i64)
                }
                _ => FULL,
            };
            let mut level = engine.level_at(a, block);
            if let Some(power) = power
                && (shift || !signed || ra.0 >= 0 || engine.options.favourable)
                && within_block(engine, a, power, block)
            {
                level = level.max(SUBGROUP);
            }
            if range.0 == range.1 {
                return Some(Outcome::Form(Form::constant(range.0), range));
            }
            Some(Outcome::Opaque(level, range))
        }
        BinaryOp::RemUnsigned | BinaryOp::RemSigned => {
            let by = constant.filter(|&k| k > 0)?;
            if ra.0 >= 0 && ra.1 < by {
                return Some(Outcome::Form(engine.cells[a].form.clone(), ra));
            }
            let range = if ra.0 >= 0 || op == BinaryOp::RemUnsigned {
                (0, by - 1)
            } else {
                (1 - by, by - 1)
            };
            // Every term is a multiple of the divisor, a power of two, so the remainder is 0.
            let aligned =
                by & (by - 1) == 0 && 1 << engine.alignment(&engine.cells[a].form, |_| false) >= by;
            if aligned {
                return Some(Outcome::Form(Form::constant(0), (0, 0)));
            }
            if (ra.0 >= 0 || op == BinaryOp::RemUnsigned)
                && by & (by - 1) == 0
                && let Some(lane) = lane_of_warp(engine, a, by - 1, result, block)
            {
                return Some(lane);
            }
            Some(Outcome::Opaque(engine.level_at(a, block), range))
        }
        BinaryOp::MinSigned
        | BinaryOp::MaxSigned
        | BinaryOp::MinUnsigned
        | BinaryOp::MaxUnsigned => {
            let signed = matches!(op, BinaryOp::MinSigned | BinaryOp::MaxSigned);
            if !signed && !natural {
                // The minimum is at most the lesser number, whatever the other one would be as a signed
                // number.
                let bounds = [ra, rb].into_iter().filter(|range| range.0 >= 0);
                let most = bounds.map(|range| range.1).min()?;
                let known = op == BinaryOp::MinUnsigned;
                return known.then_some(Outcome::Opaque(least, (0, most)));
            }
            let least_of = matches!(op, BinaryOp::MinSigned | BinaryOp::MinUnsigned);
            let range = if least_of {
                (ra.0.min(rb.0), ra.1.min(rb.1))
            } else {
                (ra.0.max(rb.0), ra.1.max(rb.1))
            };
            // The operand that wins is the same for all lanes if their distance is.
            let choice =
                difference(engine, a, b, bits).map_or(DIVERGENT, |d| engine.form_level(&d, block));
            if choice > DIVERGENT {
                engine.merge_of(
                    block,
                    result,
                    choice,
                    &[(block, a), (block, b)],
                    Some(range),
                );
                return Some(Outcome::Done);
            }
            Some(Outcome::Opaque(least, range))
        }
        _ => None,
    }
}

/// `a - b` over the integers, as a form that is exactly that.
fn difference(engine: &Engine<'_>, a: Value, b: Value, bits: u32) -> Option<Form> {
    let (fa, fb) = (&engine.cells[a].form, &engine.cells[b].form);
    if fa.assumed || fb.assumed {
        return None;
    }
    let (ra, rb) = (engine.cells[a].range, engine.cells[b].range);
    let mut low = i128::from(ra.0) - i128::from(rb.1);
    let mut high = i128::from(ra.1) - i128::from(rb.0);
    if fa.exact && fb.exact {
        // Wider than the type, so that the difference itself cannot wrap.
        let form = fa.plus(-1, fb, 64)?;
        return form.exact.then_some(form);
    }
    if let Some((nearest, furthest)) = anchored::interval(engine, a, b) {
        (low, high) = (low.max(nearest), high.min(furthest));
    }
    // Modulo 2^bits there is one number of the interval only.
    if bits >= 64 || low > high || high - low >= 1i128 << bits {
        return None;
    }
    let mut form = fa.plus(-1, fb, bits)?;
    form.exact = false;
    Some(form)
}

/// Returns how uniformly `d < 0` holds for an exact difference.
fn sign_level(engine: &Engine<'_>, d: &Form, block: Block) -> Level {
    let plain = engine.form_level(d, block);
    if plain < SUBGROUP && d.exact && span_below(engine, d, block).is_some() {
        return SUBGROUP;
    }
    plain
}

fn compare(
    engine: &mut Engine<'_>,
    block: Block,
    condition: IntCondition,
    data: &InstData,
    least: Level,
) -> Outcome {
    use IntCondition::*;
    let (a, b) = (data.args[0], data.args[1]);
    let ty = engine.ty(a);
    if ty == Type::Opaque && engine.options.favourable {
        // How values of a type that is not known compare is not known either.
        return Outcome::Opaque(DISPATCH, (0, 1));
    }
    let bits = ty.bits();
    let (ra, rb) = (engine.cells[a].range, engine.cells[b].range);
    let natural = ra.0 >= 0 && rb.0 >= 0;
    let signed = matches!(
        condition,
        LessSigned | LessEqualSigned | GreaterSigned | GreaterEqualSigned
    );
    let ordered = signed || natural || engine.options.favourable;
    let known = match condition {
        Equal | NotEqual => {
            let same = engine.cells[a].form.terms == engine.cells[b].form.terms
                && !engine.cells[a].form.assumed
                && !engine.cells[b].form.assumed
                && ty.is_integral();
            let apart = ra.1 < rb.0 || rb.1 < ra.0;
            match (same, apart) {
                (true, _) => Some(condition == Equal),
                (_, true) => Some(condition == NotEqual),
                _ => None,
            }
        }
        _ if !ordered => None,
        LessSigned | LessUnsigned => decided(ra.1 < rb.0, ra.0 >= rb.1),
        LessEqualSigned | LessEqualUnsigned => decided(ra.1 <= rb.0, ra.0 > rb.1),
        GreaterSigned | GreaterUnsigned => decided(ra.0 > rb.1, ra.1 <= rb.0),
        GreaterEqualSigned | GreaterEqualUnsigned => decided(ra.0 >= rb.1, ra.1 < rb.0),
    };
    // An interval that is not computed yet decides nothing.
    if let Some(known) = known
        && ra.0 <= ra.1
        && rb.0 <= rb.1
    {
        let known = i64::from(known);
        return Outcome::Form(Form::constant(known), (known, known));
    }
    let mut level = least;
    if matches!(condition, Equal | NotEqual) {
        if !engine.cells[a].form.assumed
            && !engine.cells[b].form.assumed
            && ty.is_integral()
            && let Some(d) = engine.cells[a].form.plus(-1, &engine.cells[b].form, bits)
        {
            level = level.max(engine.form_level(&d, block));
        }
    } else if ordered && let Some(d) = difference(engine, a, b, bits) {
        // a < b: d < 0; a <= b: d - 1 < 0; the others are their negations.
        let strict = matches!(
            condition,
            LessSigned | LessUnsigned | GreaterEqualSigned | GreaterEqualUnsigned
        );
        let exact = d.exact;
        let up = if strict {
            Some(d.clone())
        } else {
            d.plus(-1, &Form::constant(1), 64)
        };
        let down = Form::constant(0).plus(-1, &d, 64);
        let down = if strict {
            down.and_then(|d| d.plus(-1, &Form::constant(1), 64))
        } else {
            down
        };
        level = level.max(engine.form_level(&d, block));
        for side in [up, down].into_iter().flatten() {
            if exact && side.exact {
                level = level.max(sign_level(engine, &side, block));
            }
        }
    }
    Outcome::Opaque(level, (0, 1))
}

fn decided(yes: bool, no: bool) -> Option<bool> {
    match (yes, no) {
        (true, false) => Some(true),
        (false, true) => Some(false),
        _ => None,
    }
}

fn convert(
    engine: &mut Engine<'_>,
    block: Block,
    kind: Convert,
    data: &InstData,
    result: Value,
    least: Level,
) -> Option<Outcome> {
    let arg = data.args[0];
    let (from, to) = (engine.ty(arg), engine.ty(result));
    if !from.is_integral() || !to.is_integral() {
        return None;
    }
    let form = engine.cells[arg].form.clone();
    let range = engine.cells[arg].range;
    match kind {
        Convert::Truncate => {
            if to == Type::Bool {
                return None;
            }
            let wide = (i128::from(range.0), i128::from(range.1));
            let mut small = form.reduced(to.bits());
            small.exact &= fits(wide, to);
            Some(Outcome::Form(small, clip(wide, to)))
        }
        Convert::SignExtend | Convert::ZeroExtend => {
            let zero = kind == Convert::ZeroExtend;
            if from == Type::Bool {
                let range = if zero { (0, 1) } else { (-1, 0) };
                return match form.as_constant() {
                    Some(bit) => {
                        let value = if zero { bit & 1 } else { -(bit & 1) };
                        Some(Outcome::Form(Form::constant(value), (value, value)))
                    }
                    None => Some(Outcome::Opaque(least, range)),
                };
            }
            let natural = range.0 >= 0;
            if (!zero || natural) && form.exact && !form.assumed {
                return Some(Outcome::Form(form, range));
            }
            let bounds = if !zero || natural {
                range
            } else if from.bits() < 64 {
                (0, ((1u64 << from.bits()) - 1) as i64)
            } else {
                FULL
            };
            // Index arithmetic is not expected to wrap within a warp, but nothing proves that it does not:
            // name the stride only.
            let divergent = engine.level_at(arg, block) < DISPATCH;
            if engine.options.favourable && from.bits() >= 32 {
                return Some(Outcome::Form(
                    Form {
                        exact: true,
                        ..form
                    },
                    bounds,
                ));
            }
            if divergent
                && !form.is_atom(engine.tables.leader[arg].0)
                && from.bits() >= 32
                && !surely_wraps(engine, &form, from.bits(), !zero)
            {
                return Some(Outcome::Form(
                    Form {
                        exact: true,
                        assumed: true,
                        ..form
                    },
                    bounds,
                ));
            }
            Some(Outcome::Opaque(least, bounds))
        }
        Convert::Bitcast if from.bits() == to.bits() => Some(Outcome::Form(form, range)),
        Convert::SpaceCast => {
            // The window of a space starts at an unknown address, which is the same for all lanes except for
            // private memory.
            let local = from == Type::Ptr(Space::Local) || to == Type::Ptr(Space::Local);
            if local {
                let level = match engine.options.favourable {
                    true => least,
                    false => DIVERGENT,
                };
                return Some(Outcome::Opaque(level, FULL));
            }
            engine.lower_unit(result, 0);
            let moved = form.plus(1, &Form::atom(result.0), 64)?;
            Some(Outcome::Form(moved, FULL))
        }
        Convert::ToBool => match form.as_constant() {
            Some(value) => {
                let bit = i64::from(value != 0);
                Some(Outcome::Form(Form::constant(bit), (bit, bit)))
            }
            None => Some(Outcome::Opaque(least, (0, 1))),
        },
        _ => None,
    }
}
