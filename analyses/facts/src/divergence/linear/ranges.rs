//! Ranges of integers, and what wraps in a type.

use super::FULL;
use crate::divergence::engine::Engine;
use crate::divergence::form::Form;
use ir::{Special, Type, Wrap};

pub(super) fn negate(r: (i64, i64)) -> (i128, i128) {
    (-i128::from(r.1), -i128::from(r.0))
}

/// An interval of results that wrapped to nothing known when it does not fit the type.
pub(super) fn clip(range: (i128, i128), ty: Type) -> (i64, i64) {
    if fits(range, ty) {
        (range.0 as i64, range.1 as i64)
    } else {
        FULL
    }
}

pub(super) fn fits(range: (i128, i128), ty: Type) -> bool {
    let half = 1i128 << (ty.bits().max(2) - 1);
    range.0 <= range.1 && range.0 >= -half && range.1 < half
}

/// Keeps `exact` only where the operation does not wrap.
pub(super) fn exactly(
    engine: &Engine<'_>,
    mut form: Form,
    no_wrap: bool,
    range: (i128, i128),
    ty: Type,
) -> Form {
    let integers = engine.function.language == ir::Language::MicroSimd;
    form.exact &= no_wrap || integers || engine.options.favourable || fits(range, ty);
    form
}

/// A form's lanes within a workgroup lie further apart than the type is wide, or on both sides of where it begins anew;
/// as far as coefficients are known.
pub(super) fn surely_wraps(engine: &Engine<'_>, form: &Form, bits: u32, signed: bool) -> bool {
    let last = |atom: u32| match engine.special_of(atom) {
        Some(special @ (Special::ThreadId(_) | Special::LaneId)) => {
            Some(i128::from(engine.shape.range(special).1))
        }
        _ => None,
    };
    let (mut low, mut high, mut all_known) = (0i128, 0i128, true);
    for term in &form.terms {
        let coefficient = i128::from(term.coefficient);
        if term.factors.is_empty() {
            low += coefficient;
            high += coefficient;
            continue;
        }
        match term
            .factors
            .iter()
            .map(|&atom| last(atom))
            .product::<Option<i128>>()
        {
            Some(most) if coefficient < 0 => low += coefficient * most,
            Some(most) => high += coefficient * most,
            None => all_known = false,
        }
    }
    let most = 1i128 << (bits.min(64) - u32::from(signed));
    high - low >= most || (all_known && !signed && low < 0 && high >= 0)
}

pub(super) fn guarded_clip(range: (i128, i128), ty: Type, wraps: Wrap) -> (i64, i64) {
    if fits(range, ty) {
        return (range.0 as i64, range.1 as i64);
    }
    if wraps.no_signed && range.0 <= range.1 {
        let half = 1i128 << (ty.bits() - 1);
        return (range.0.max(-half) as i64, range.1.min(half - 1) as i64);
    }
    FULL
}

pub(super) fn product(a: (i64, i64), b: (i64, i64)) -> (i128, i128) {
    let corners = [a.0, a.1].map(|x| [b.0, b.1].map(|y| i128::from(x) * i128::from(y)));
    let all = [corners[0][0], corners[0][1], corners[1][0], corners[1][1]];
    (
        all.iter().copied().min().unwrap_or(0),
        all.iter().copied().max().unwrap_or(0),
    )
}
