//! Quotients and rests of the threads' coordinates: the parts of them that lanes of a warp share.

use super::Outcome;
use crate::divergence::engine::{Engine, SUBGROUP};
use crate::divergence::form::{Form, Term};
use crate::open::left_open;
use ir::{BinaryOp, Block, Op, Special, Value};

/// The operand counts the lanes up in steps of `c`, plus a `rest`, where `rest` and the warp's first lane are multiples of a power of two so large that
/// all lanes of a warp lie in one block of `2^power` numbers.
pub(super) fn within_block(engine: &Engine<'_>, value: Value, power: u32, block: Block) -> bool {
    let form = &engine.cells[value].form;
    span_below(engine, form, block).is_some_and(|unit| unit <= power)
}

/// `thread / WaveGetLaneCount()`, whatever power of two up to 128 the size is: the thread's place in the
/// workgroup, beside a multiple of any size.
pub(super) fn counts_warps(engine: &Engine<'_>, thread: Value, size: Value, block: Block) -> bool {
    const LARGEST: u64 = 128;
    let form = &engine.cells[thread].form;
    let divisor = &engine.cells[size].form;
    let shape = &engine.shape;
    let [term] = divisor.terms.as_slice() else {
        return false;
    };
    let &[atom] = term.factors.as_slice() else {
        return false;
    };
    let is_size = engine.special_of(atom) == Some(Special::WarpSize) && term.coefficient == 1;
    // Rows that are whole warps of one size need not be of another.
    let in_order = shape.is_line() || !shape.rows_are_whole_warps();
    is_size
        && in_order
        && !form.assumed
        && steps_along_a_warp(engine, form, block) == Some((1, false))
        && aligned_rest(engine, form, block) >= LARGEST
}

/// `thread / WIDTH`, where an instantiation or a build chooses the width: in the reading that favours the author it is a
/// warp's, or several.
pub(super) fn is_of_an_open_width(
    engine: &Engine<'_>,
    thread: Value,
    width: Value,
    block: Block,
) -> bool {
    engine.options.favourable
        && steps_along_a_warp(engine, &engine.cells[thread].form, block)
            .is_some_and(|(step, _)| step == 1)
        && left_open(engine.function, width)
}

/// `thread - thread % 32`, `thread - (thread & 31)`: the low bits, which alone differ in a warp, are cleared; those of a
/// width that is left open in the reading that favours the author.
pub(super) fn is_less_its_rest(
    engine: &Engine<'_>,
    thread: Value,
    rest: Value,
    block: Block,
) -> bool {
    let Some(data) = engine.function.defining(rest) else {
        return false;
    };
    let Op::Binary(op, _) = data.op else {
        return false;
    };
    let width = || engine.cells[data.args[1]].form.as_constant();
    let power = match op {
        BinaryOp::And => width().and_then(|mask| mask.checked_add(1)),
        BinaryOp::RemUnsigned => width(),
        BinaryOp::RemSigned => width().filter(|_| engine.cells[thread].range.0 >= 0),
        _ => return false,
    };
    let power = power.filter(|&power| power > 0 && power.count_ones() == 1);
    let same = |of: Value| engine.cells[of].form.terms == engine.cells[thread].form.terms;
    same(data.args[0])
        && (power.is_some_and(|power| within_block(engine, thread, power.trailing_zeros(), block))
            || is_of_an_open_width(engine, thread, data.args[1], block))
}

/// The least `p` such that all lanes of a warp have values in one aligned block of `2^p`.
pub(super) fn span_below(engine: &Engine<'_>, form: &Form, block: Block) -> Option<u32> {
    const QUOTIENTS: u32 = 4;
    span(engine, form, block, QUOTIENTS)
}

/// The same through so many quotients of quotients.
fn span(engine: &Engine<'_>, form: &Form, block: Block, quotients: u32) -> Option<u32> {
    if form.assumed {
        return None;
    }
    let shape = &engine.shape;
    if let Some(quotients) = quotients.checked_sub(1)
        && let Some(power) = span_of_quotient(engine, form, block, quotients)
    {
        return Some(power);
    }
    let (coefficient, is_lane) = steps_along_a_warp(engine, form, block)?;
    let coefficient = u64::try_from(coefficient).ok()?;
    let span = coefficient.checked_mul(u64::from(shape.warp) - 1)?;
    let rest = aligned_rest(engine, form, block);
    // A warp's first thread is a multiple of the warp size.
    let first = if is_lane {
        1 << 62
    } else {
        let unit = coefficient.checked_mul(u64::from(shape.warp))?;
        1u64 << unit.trailing_zeros().min(62)
    };
    let aligned = rest.min(first);
    let power = u64::BITS - span.leading_zeros();
    (1u64.checked_shl(power)? <= aligned).then_some(power)
}

/// The same of `tid / 8`, beside a uniform part: numbers in one block of `2^p` lie in one of `2^(p - 3)`
/// then.
fn span_of_quotient(engine: &Engine<'_>, form: &Form, block: Block, quotients: u32) -> Option<u32> {
    let varies = |term: &&Term| engine.term_level(&term.factors, block) < SUBGROUP;
    let mut varying = form.terms.iter().filter(varies);
    let (Some(only), None) = (varying.next(), varying.next()) else {
        return None;
    };
    let &[atom] = only.factors.as_slice() else {
        return None;
    };
    let scale = u64::try_from(only.coefficient).ok()?;
    if !scale.is_power_of_two() || atom as usize >= engine.function.values.len() {
        return None;
    }
    let data = engine.function.defining(Value(atom))?;
    let (of, by) = (
        *data.args.first()?,
        engine.function.int_constant(*data.args.get(1)?)?,
    );
    let natural = engine.cells[of].range.0 >= 0;
    let shifted = match data.op {
        Op::Binary(BinaryOp::ShrUnsigned | BinaryOp::ShrSigned, _) => u32::try_from(by)
            .ok()
            .filter(|&by| by < engine.ty(of).bits())?,
        Op::Binary(BinaryOp::DivUnsigned, _) if by > 0 && by & (by - 1) == 0 => by.trailing_zeros(),
        Op::Binary(BinaryOp::DivSigned, _) if natural && by > 0 && by & (by - 1) == 0 => {
            by.trailing_zeros()
        }
        _ => return None,
    };
    let inner = span(engine, &engine.cells[of].form, block, quotients)?;
    let power = inner.saturating_sub(shifted) + scale.trailing_zeros();
    (1u64.checked_shl(power)? <= aligned_rest(engine, form, block)).then_some(power)
}

/// The step from lane to lane of a form that counts the lanes of a warp up from its first: a multiple of the lane, of `tid.x` where
/// rows are whole warps, or of `tid.x + ntid.x*(tid.y + ntid.y*tid.z)`. True for the lane, which starts at 0 in every warp.
fn steps_along_a_warp(engine: &Engine<'_>, form: &Form, block: Block) -> Option<(i64, bool)> {
    let shape = &engine.shape;
    let special = |atom: u32| engine.special_of(atom);
    let varying: Vec<&Term> = form
        .terms
        .iter()
        .filter(|t| engine.term_level(&t.factors, block) < SUBGROUP)
        .collect();
    if let [only] = varying.as_slice() {
        let &[atom] = only.factors.as_slice() else {
            return None;
        };
        return match special(atom)? {
            Special::LaneId => Some((only.coefficient, true)),
            Special::ThreadId(0) if shape.rows_are_whole_warps() => Some((only.coefficient, false)),
            _ => None,
        };
    }
    let step = varying.iter().find_map(|t| match t.factors.as_slice() {
        &[atom] if special(atom) == Some(Special::ThreadId(0)) => Some(t.coefficient),
        _ => None,
    })?;
    // The product that each further coordinate must be multiplied by; known sizes are in the coefficient.
    let mut expected = 1;
    for axis in 1..3u8 {
        if shape.block[usize::from(axis)] == Some(1) {
            continue;
        }
        let mut known = step;
        let mut factors = vec![Special::ThreadId(axis)];
        for below in 0..axis {
            match shape.block[usize::from(below)] {
                Some(size) => known = known.checked_mul(i64::from(size))?,
                None => factors.push(Special::BlockDim(below)),
            }
        }
        let present = varying.iter().any(|t| {
            t.coefficient == known
                && t.factors.len() == factors.len()
                && t.factors
                    .iter()
                    .all(|&a| special(a).is_some_and(|s| factors.contains(&s)))
        });
        if !present {
            return None;
        }
        expected += 1;
    }
    (varying.len() == expected).then_some((step, false))
}

/// The power of two that divides all that is uniform over a warp; whole rows are multiples of a warp where they are taken to be.
fn aligned_rest(engine: &Engine<'_>, form: &Form, block: Block) -> u64 {
    let varies = |term: &Term| engine.term_level(&term.factors, block) < SUBGROUP;
    1 << engine.alignment(form, varies)
}

/// The low bits of a value that counts the threads of a warp up from a multiple of its size: the lane, and a
/// part uniform over the warp if there are more bits than lanes need.
pub(super) fn lane_of_warp(
    engine: &mut Engine<'_>,
    value: Value,
    mask: i64,
    result: Value,
    block: Block,
) -> Option<Outcome> {
    let lanes = i64::from(engine.shape.warp);
    let power = mask.checked_add(1).filter(|k| k & (k - 1) == 0 && *k > 0)?;
    if power % lanes != 0 || engine.cells[value].form.assumed {
        return None;
    }
    let form = &engine.cells[value].form;
    let (step, _) = steps_along_a_warp(engine, form, block)?;
    let aligned = aligned_rest(engine, form, block);
    if step != 1 || aligned < u64::from(engine.shape.warp) {
        return None;
    }
    let index = engine.shape.atom(Special::LaneId)?;
    let lane = Form::atom(engine.function.values.len() as u32 + index);
    if power == lanes {
        return Some(Outcome::Form(lane, (0, mask)));
    }
    engine.set_atom(result, SUBGROUP);
    engine.lower_unit(result, lanes.trailing_zeros() as u8);
    let form = lane.plus(1, &Form::atom(result.0), 64)?;
    Some(Outcome::Form(form, (0, mask)))
}
