//! Arithmetic of the 40-bit registers: sign-extended in 64 bits, results exact in 128 until they are fitted.

/// Bits of a data register.
pub(super) const WIDTH: u32 = 40;

/// The scaling that shifts values on their way to memory, and the place at which they are rounded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Scaling {
    None,
    /// One bit to the right.
    Down,
    /// One bit to the left.
    Up,
}

/// The low bits of a value, with its sign.
pub(super) const fn signed(value: i64, bits: u32) -> i64 {
    (value << (64 - bits)) >> (64 - bits)
}
/// The low bits of a value.
pub(super) const fn unsigned(value: i64, bits: u32) -> i64 {
    ((value as u64) << (64 - bits) >> (64 - bits)) as i64
}
/// A value as the register holds it.
pub(super) const fn wrap(value: i128) -> i64 {
    signed(value as i64, WIDTH)
}
/// Clamped to so many bits.
pub(super) fn saturate(value: i128, bits: u32) -> i128 {
    let most = (1_i128 << (bits - 1)) - 1;
    value.clamp(-most - 1, most)
}
/// The high part, bits 31 to 16.
pub(super) const fn high(value: i64) -> i64 {
    signed(value >> 16, 16)
}
/// The low part, bits 15 to 0, with its sign.
pub(super) const fn low(value: i64) -> i64 {
    signed(value, 16)
}
/// The low part without a sign.
pub(super) const fn low_unsigned(value: i64) -> i64 {
    unsigned(value, 16)
}

/// Returns true if a value does not fit the width of a limiting store: its upper bits, from bit 31 without
/// scaling, are not all equal.
pub(super) fn exceeds(value: i64, scaling: Scaling) -> bool {
    let from = match scaling {
        Scaling::None => 31,
        Scaling::Down => 32,
        Scaling::Up => 30,
    };
    let above = value >> from;
    above != 0 && above != -1
}

/// A value rounded at bit 16 and its lower bits cleared, to the nearest; a tie goes up (`up`), or to the even neighbour.
/// Scaling moves the place.
pub(super) fn round(value: i128, up: bool, scaling: Scaling) -> i128 {
    let place = match scaling {
        Scaling::None => 16,
        Scaling::Down => 17,
        Scaling::Up => 15,
    };
    let half = 1_i128 << (place - 1);
    let below = value & (2 * half - 1);
    let rounded = (value + half) & !(2 * half - 1);
    match below == half && !up && rounded & (2 * half) != 0 {
        true => rounded - 2 * half,
        false => rounded,
    }
}

/// A shift to the left, to the right where the count is negative, and the last bit that left the register.
pub(super) fn shift(value: i64, count: i64, logical: bool) -> (i64, Option<bool>) {
    let bit = |at: i64| value >> at.clamp(0, 63) & 1 != 0;
    let width = i64::from(WIDTH);
    match count {
        0 => (value, None),
        1.. if count > width => (0, Some(false)),
        1.. => (wrap(i128::from(value) << count), Some(bit(width - count))),
        _ => {
            let right = -count;
            let from = match logical {
                true => unsigned(value, WIDTH),
                false => value,
            };
            let out = right <= width && from >> (right - 1) & 1 != 0;
            let out = out || (right > width && from < 0);
            (signed(from >> right.min(63), WIDTH), Some(out))
        }
    }
}

/// Returns the number of upper bits that equal the sign.
pub(super) fn leading(value: i64) -> i64 {
    let folded = if value < 0 { !value } else { value };
    i64::from((folded as u64).leading_zeros()) - i64::from(64 - WIDTH)
}
