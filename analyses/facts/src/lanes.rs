//! The values of all lanes of a warp, up to an unknown number that they share: for addresses that are no linear form of the
//! lanes because of a remainder, a quotient or a mask.
//!
//! ```text
//! tile[tid.x % 16][tid.x / 16]      lanes 0..31 of a 16x16 array of floats: 0, 64, 128, .. 960, 4, 68, ..
//! tile[r][c ^ r]                    the swizzle's own permutation
//! ```
//!
//! A value is `u + lane value`, where `u` is uniform over the warp, not known, and a multiple of `unit`; bits
//! below `unit` are known then, as masks and shifts of addresses require. Narrow values must be that as
//! numbers, not only modulo their width. One walk over the operands of an address, at most `STEPS` values; a
//! value that merges at a join is known by its form or not at all. Estimate: rows of unknown width are whole
//! warps.

use crate::divergence::{Engine, SUBGROUP, Term};
use crate::memory::{coordinate, moves_along_a_warp};
use ir::{BinaryOp, Block, Convert, Op, Special, Value};
use rustc_hash::FxHashMap;
use std::rc::Rc;

const STEPS: usize = 128;
const DEPTH: u32 = 48;
/// The unit of a form to which nothing unknown is added.
const EXACT: u64 = 1 << 62;

#[derive(Clone)]
struct Lanes {
    values: Rc<[i64]>,
    unit: u64,
}

/// The address of each lane of the warp that begins at `first`, counted from an aligned place.
pub(crate) fn values(
    engine: &Engine<'_>,
    address: Value,
    block: Block,
    first: u32,
) -> Option<Vec<i64>> {
    let found = relative(engine, address, block, first, false)?;
    Some(found.values.to_vec())
}

/// The values of the lanes of a warp, up to an unknown multiple of `unit` that they share.
pub(crate) struct Relative {
    pub values: Rc<[i64]>,
    pub unit: u64,
}

impl Relative {
    pub(crate) fn constant(value: i64, warp: u32) -> Relative {
        Relative {
            values: (0..warp).map(|_| value).collect(),
            unit: EXACT,
        }
    }
    /// Returns whether nothing unknown is added.
    pub(crate) fn is_exact(&self) -> bool {
        self.unit == EXACT
    }
}

/// The value of each lane of the warp that begins at `first`. `wrapping`: the unknown part is of the value's width, the sum
/// may wrap.
pub(crate) fn relative(
    engine: &Engine<'_>,
    value: Value,
    block: Block,
    first: u32,
    wrapping: bool,
) -> Option<Relative> {
    let mut walk = Walk {
        engine,
        block,
        first,
        wrapping,
        known: FxHashMap::default(),
    };
    let Lanes { values, unit } = walk.of(value, 0)?;
    Some(Relative { values, unit })
}

struct Walk<'e, 'f> {
    engine: &'e Engine<'f>,
    block: Block,
    first: u32,
    wrapping: bool,
    known: FxHashMap<Value, Option<Lanes>>,
}

impl Walk<'_, '_> {
    fn of(&mut self, value: Value, depth: u32) -> Option<Lanes> {
        if let Some(known) = self.known.get(&value) {
            return known.clone();
        }
        if depth > DEPTH || self.known.len() > STEPS {
            return None;
        }
        let found = match self.by_form(value) {
            Some(lanes) => Some(lanes),
            None => self.by_operation(value, depth + 1),
        }
        .filter(|lanes| self.holds(value, lanes));
        self.known.insert(value, found.clone());
        found
    }

    /// Returns true if a narrow value is the sum of its parts as a number, and not only modulo its width: all known, no
    /// carry out of the known bits, or arithmetic that does not wrap.
    fn holds(&self, value: Value, lanes: &Lanes) -> bool {
        let function = self.engine.function;
        let ty = function.ty(value);
        let bits = ty.bits();
        if !ty.is_int() || bits >= 64 {
            return true;
        }
        if lanes.unit == EXACT {
            let limit = 1i64 << (bits - 1);
            return lanes.values.iter().all(|v| (-limit..limit).contains(v));
        }
        let within = |&v: &i64| 0 <= v && (v as u64) < lanes.unit;
        self.wrapping
            || lanes.values.iter().all(within)
            || function.defining(value).is_some_and(|data| match data.op {
                Op::Binary(_, wrap) => wrap.no_signed || wrap.no_unsigned,
                Op::Special(_) | Op::Convert(_) => true,
                _ => false,
            })
    }

    /// The unknown part and the sum are not negative in any lane.
    fn positive(&self, value: Value, lanes: &Lanes) -> bool {
        lanes.values.iter().all(|&v| v >= 0)
            && (lanes.unit == EXACT || self.engine.cells[value].range.0 >= 0)
    }

    fn lanes(&self, unit: u64, of: impl Fn(u32) -> i64) -> Lanes {
        let warp = self.engine.shape.warp;
        Lanes {
            values: (self.first..self.first + warp).map(of).collect(),
            unit,
        }
    }

    /// Uniform values, and sums of coordinates with constant coefficients.
    fn by_form(&self, value: Value) -> Option<Lanes> {
        let engine = self.engine;
        let form = &engine.cells[value].form;
        let mut moving: Vec<&Term> = Vec::new();
        let mut unit = EXACT;
        let mut widths = 0i64;
        let whole = engine.shape.block[0].is_none_or(|x| x.is_multiple_of(engine.shape.warp));
        let is_width = |&atom| engine.special_of(atom) == Some(Special::BlockDim(0));
        for term in &form.terms {
            if term.factors.is_empty() {
                continue;
            }
            if let &[atom] = term.factors.as_slice()
                && engine.special_of(atom) == Some(Special::WarpSize)
            {
                widths = widths.saturating_add(term.coefficient);
                continue;
            }
            let still = engine.term_level(&term.factors, self.block) >= SUBGROUP
                || !moves_along_a_warp(engine, term, self.block);
            // `blockIdx.x * blockDim.x` is so many warps.
            let warps = match whole && term.factors.iter().any(is_width) {
                true => i64::from(engine.shape.warp),
                false => 1,
            };
            if still {
                let step = term.coefficient.saturating_mul(warps);
                unit = unit.min(1 << step.trailing_zeros().min(62));
                continue;
            }
            let &[atom] = term.factors.as_slice() else {
                return None;
            };
            match engine.special_of(atom)? {
                Special::LaneId => {}
                // The warp begins somewhere in the row.
                Special::ThreadId(0) if whole => {
                    let step = term
                        .coefficient
                        .saturating_mul(i64::from(engine.shape.warp));
                    unit = unit.min(1 << step.trailing_zeros().min(62));
                }
                Special::ThreadId(_) if engine.shape.block.iter().all(Option::is_some) => {}
                _ => return None,
            }
            moving.push(term);
        }
        let widths = widths.saturating_mul(i64::from(engine.shape.warp));
        let constant = form.constant_part().wrapping_add(widths);
        Some(self.lanes(unit, |lane| {
            moving.iter().fold(constant, |sum, term| {
                sum.wrapping_add(
                    term.coefficient
                        .wrapping_mul(coordinate(engine, term, lane)),
                )
            })
        }))
    }

    fn by_operation(&mut self, value: Value, depth: u32) -> Option<Lanes> {
        let engine = self.engine;
        let data = engine.function.defining(value)?;
        match &data.op {
            Op::Convert(Convert::Bitcast | Convert::SpaceCast) => self.of(data.args[0], depth),
            Op::Convert(kind @ (Convert::SignExtend | Convert::ZeroExtend)) => {
                let (from, lanes) = (data.args[0], self.of(data.args[0], depth)?);
                let within = |&v: &i64| 0 <= v && (v as u64) < lanes.unit;
                let flags = engine.function.defining(from).map(|data| &data.op);
                let kept = match flags {
                    Some(Op::Binary(_, wrap)) if *kind == Convert::SignExtend => wrap.no_signed,
                    Some(Op::Binary(_, wrap)) => wrap.no_unsigned,
                    _ => false,
                };
                let same = lanes.unit != EXACT && lanes.values.iter().all(within)
                    || *kind == Convert::SignExtend && lanes.unit == EXACT
                    || kept
                    || self.positive(from, &lanes);
                same.then_some(lanes)
            }
            // The high part that is cut off is the same in all lanes if nothing is carried into it.
            Op::Convert(Convert::Truncate) => {
                let lanes = self.of(data.args[0], depth)?;
                let bits = engine.function.ty(value).bits();
                let below = |&v: &i64| match lanes.unit {
                    EXACT => (0..1i64 << (bits.clamp(2, 63) - 1)).contains(&v),
                    unit => 0 <= v && (v as u64) < unit && unit <= 1 << bits.clamp(1, 62),
                };
                lanes.values.iter().all(below).then_some(lanes)
            }
            Op::PtrAdd => {
                let (a, b) = (self.of(data.args[0], depth)?, self.of(data.args[1], depth)?);
                Some(sum(&a, &b, 1))
            }
            Op::Binary(op, _) => {
                let (a, b) = (self.of(data.args[0], depth)?, self.of(data.args[1], depth)?);
                // Quotients round towards zero: below it a unit is not divided evenly.
                let rounds = matches!(op, BinaryOp::DivSigned | BinaryOp::RemSigned);
                if rounds && !self.positive(data.args[0], &a) {
                    return None;
                }
                let bits = i64::from(engine.function.ty(value).bits());
                let shifts = matches!(
                    op,
                    BinaryOp::Shl | BinaryOp::ShrSigned | BinaryOp::ShrUnsigned
                );
                if shifts && constant(&b).is_none_or(|by| by >= bits) {
                    return None;
                }
                binary(*op, &a, &b)
            }
            _ => None,
        }
    }
}

fn each(a: &Lanes, b: &Lanes, unit: u64, of: impl Fn(i64, i64) -> i64) -> Lanes {
    Lanes {
        values: a
            .values
            .iter()
            .zip(b.values.iter())
            .map(|(&x, &y)| of(x, y))
            .collect(),
        unit,
    }
}

fn sum(a: &Lanes, b: &Lanes, sign: i64) -> Lanes {
    each(a, b, a.unit.min(b.unit), |x, y| {
        x.wrapping_add(sign.wrapping_mul(y))
    })
}

/// The same known number in all lanes.
fn constant(a: &Lanes) -> Option<i64> {
    let first = *a.values.first()?;
    (a.unit == EXACT && a.values.iter().all(|&v| v == first)).then_some(first)
}

fn binary(op: BinaryOp, a: &Lanes, b: &Lanes) -> Option<Lanes> {
    let exact = a.unit == EXACT && b.unit == EXACT;
    match op {
        BinaryOp::Add => Some(sum(a, b, 1)),
        BinaryOp::Sub => Some(sum(a, b, -1)),
        BinaryOp::Mul => match (constant(a), constant(b)) {
            (_, Some(by)) => scaled(a, by),
            (Some(by), _) => scaled(b, by),
            _ if exact => Some(each(a, b, EXACT, i64::wrapping_mul)),
            _ => None,
        },
        BinaryOp::Shl => {
            let by = constant(b).filter(|by| (0..62).contains(by))?;
            scaled(a, 1 << by)
        }
        BinaryOp::ShrSigned | BinaryOp::ShrUnsigned => {
            let by = constant(b).filter(|by| (0..62).contains(by))?;
            divided(a, 1 << by)
        }
        BinaryOp::DivSigned | BinaryOp::DivUnsigned => divided(a, constant(b)?),
        BinaryOp::RemSigned | BinaryOp::RemUnsigned => {
            let by = constant(b).filter(|&by| by > 0)?;
            let below = a.unit == EXACT || (by.count_ones() == 1 && a.unit >= by as u64);
            if below && a.values.iter().all(|&v| v >= 0) {
                return Some(each(a, b, EXACT, |x, _| x.rem_euclid(by)));
            }
            // The unknown part remains a multiple of the unit, and nothing is carried into it.
            let left = (by as u64).is_multiple_of(a.unit) && is_below_unit(a);
            left.then(|| a.clone())
        }
        BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => {
            let (a, b) = if b.unit == EXACT { (a, b) } else { (b, a) };
            if b.unit != EXACT || a.values.iter().any(|&v| v < 0) {
                return None;
            }
            let low = b.values.iter().all(|&v| v >= 0 && (v as u64) < a.unit);
            match (op, low) {
                (BinaryOp::And, true) => Some(each(a, b, EXACT, |x, y| x & y)),
                (BinaryOp::And, false) if is_below_unit(a) && constant(b).is_some() => {
                    Some(each(a, b, a.unit, |x, y| x & y))
                }
                (BinaryOp::And, false) => {
                    let mask = constant(b).filter(|&m| m < 0)?;
                    let zeros = 1u64 << mask.trailing_zeros().min(62);
                    // The mask clears low bits only, all of them known.
                    let clears = mask == -(zeros as i64) && zeros <= a.unit;
                    clears.then(|| each(a, b, a.unit, |x, y| x & y))
                }
                (BinaryOp::Or, true) => Some(each(a, b, a.unit, |x, y| x | y)),
                (_, true) => Some(each(a, b, a.unit, |x, y| x ^ y)),
                _ => None,
            }
        }
        BinaryOp::MinSigned if exact => Some(each(a, b, EXACT, i64::min)),
        BinaryOp::MaxSigned if exact => Some(each(a, b, EXACT, i64::max)),
        _ => None,
    }
}

/// Returns whether each lane's own part is less than the unit of the unknown part, a power of two.
fn is_below_unit(a: &Lanes) -> bool {
    a.unit.is_power_of_two() && a.values.iter().all(|&v| v >= 0 && (v as u64) < a.unit)
}

fn scaled(a: &Lanes, by: i64) -> Option<Lanes> {
    if by == 0 {
        return None;
    }
    let unit = if a.unit == EXACT {
        EXACT
    } else {
        a.unit
            .saturating_mul(1 << by.trailing_zeros().min(62))
            .min(EXACT >> 1)
    };
    Some(each(a, a, unit, |x, _| x.wrapping_mul(by)))
}

fn divided(a: &Lanes, by: i64) -> Option<Lanes> {
    let fits = by > 0 && a.values.iter().all(|&v| v >= 0);
    if !fits {
        return None;
    }
    let unit = match a.unit {
        EXACT => EXACT,
        unit if by.count_ones() == 1 && unit >= by as u64 => unit / by as u64,
        _ => return None,
    };
    Some(each(a, a, unit, |x, _| x / by))
}
