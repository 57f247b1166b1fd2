//! Floating-point registers and arithmetic, exact in the register format: a sign, 17 bits of exponent, 64 bits of
//! significand. One rounding an operation, to 24, 53 or 64 bits, in the range of the format asked for.
//!
//! ```text
//! fma.d.s0 f8 = f9, f10, f11      f9*f10 is held in 128 bits, the sum in 256, then rounded once to 53
//! ```
//!
//! Values only: flags of `ar.fpsr` are not kept, nothing traps, denormal results are not flushed.
//! Source: Intel, *Itanium Architecture Software Developer's Manual*, volume 1, chapter 5.

/// Exponent of 1.0 as registers hold it.
pub(super) const BIAS: i32 = 0xffff;
/// Exponent of infinities and NaNs.
pub(super) const SPECIAL: u32 = 0x1_ffff;
/// Exponent of a register that holds an integer in its significand.
pub(super) const INTEGER: u32 = 0x1_003e;
const LEADING: u64 = 1 << 63;

/// A floating-point register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Float {
    pub sign: bool,
    pub exponent: u32,
    pub significand: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Class {
    NaTVal,
    Nan,
    Infinity,
    Zero,
    Finite,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mode {
    Nearest,
    Down,
    Up,
    Truncate,
}

/// The format that a result is rounded to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Rounding {
    /// The bits of the significand: 24, 53 or 64.
    pub(super) bits: u32,
    /// Exponents of normal numbers.
    pub(super) least: i32,
    pub(super) most: i32,
    pub(super) mode: Mode,
}

impl Rounding {
    pub(super) const SINGLE: Rounding = Rounding {
        bits: 24,
        least: -126,
        most: 127,
        mode: Mode::Nearest,
    };
    pub(super) const DOUBLE: Rounding = Rounding {
        bits: 53,
        least: -1022,
        most: 1023,
        mode: Mode::Nearest,
    };
}

impl Float {
    pub(super) const ZERO: Float = Float::new(false, 0, 0);
    pub(super) const ONE: Float = Float::new(false, BIAS as u32, LEADING);
    pub(super) const NATVAL: Float = Float::new(false, 0x1_fffe, 0);
    pub(super) const NAN: Float = Float::new(true, SPECIAL, 0xc000_0000_0000_0000);

    pub(super) const fn new(sign: bool, exponent: u32, significand: u64) -> Float {
        Float {
            sign,
            exponent,
            significand,
        }
    }
    pub(super) const fn integer(significand: u64) -> Float {
        Float::new(false, INTEGER, significand)
    }
    pub(super) const fn infinity(sign: bool) -> Float {
        Float::new(sign, SPECIAL, LEADING)
    }
    pub(super) const fn zero(sign: bool) -> Float {
        Float::new(sign, 0, 0)
    }

    pub(super) fn class(self) -> Class {
        match (self.exponent, self.significand) {
            (0x1_fffe, 0) => Class::NaTVal,
            (SPECIAL, LEADING) => Class::Infinity,
            (SPECIAL, _) => Class::Nan,
            (_, 0) => Class::Zero,
            _ => Class::Finite,
        }
    }
    pub(super) fn is_natval(self) -> bool {
        self.class() == Class::NaTVal
    }
    pub(super) fn is_nan(self) -> bool {
        self.class() == Class::Nan
    }
    pub(super) fn quiet(self) -> Float {
        Float {
            significand: self.significand | 0x4000_0000_0000_0000,
            ..self
        }
    }

    /// The exponent of the significand's last bit; of a finite number.
    fn last_bit(self) -> i32 {
        let exponent = if self.exponent == 0 {
            0xc001
        } else {
            self.exponent as i32
        };
        exponent - BIAS - 63
    }

    /// The significand with its first bit set and the exponent of its last bit.
    pub(super) fn normalised(self) -> (u64, i32) {
        let zeros = self.significand.leading_zeros() & 63;
        (self.significand << zeros, self.last_bit() - zeros as i32)
    }

    /// Returns the value as an IEEE double, rounded to nearest.
    #[must_use]
    pub fn to_f64(self) -> f64 {
        let value = match self.class() {
            Class::NaTVal => return f64::NAN,
            Class::Finite => round_sum(
                self.sign,
                Wide::from(u128::from(self.significand)),
                self.last_bit(),
                false,
                &Rounding::DOUBLE,
            ),
            _ => self,
        };
        f64::from_bits(value.to_double())
    }
    #[must_use]
    pub fn from_f64(value: f64) -> Float {
        Float::from_double(value.to_bits())
    }

    /// From the 8 bytes of a double.
    pub(super) fn from_double(bits: u64) -> Float {
        let (exponent, fraction) = ((bits >> 52) as u32 & 0x7ff, bits << 12 >> 1);
        Float::from_parts(bits >> 63 != 0, exponent, fraction, 0x7ff, 1023)
    }
    pub(super) fn from_single(bits: u32) -> Float {
        let (exponent, fraction) = (bits >> 23 & 0xff, u64::from(bits) << 41 >> 1);
        Float::from_parts(bits >> 31 != 0, exponent, fraction, 0xff, 127)
    }
    fn from_parts(sign: bool, exponent: u32, fraction: u64, special: u32, bias: i32) -> Float {
        if exponent == special {
            Float::new(sign, SPECIAL, fraction | LEADING)
        } else if exponent != 0 {
            let exponent = exponent as i32 - bias + BIAS;
            Float::new(sign, exponent as u32, fraction | LEADING)
        } else if fraction == 0 {
            Float::zero(sign)
        } else {
            Float::new(sign, (1 - bias + BIAS) as u32, fraction)
        }
    }

    /// The 8 bytes of a double, as a store writes them: a value that the format can't hold is cut, not rounded.
    pub(super) fn to_double(self) -> u64 {
        let exponent = self.stored_exponent(0x400, 0x3ff);
        u64::from(self.sign) << 63 | u64::from(exponent) << 52 | self.significand << 1 >> 12
    }
    pub(super) fn to_single(self) -> u32 {
        let exponent = self.stored_exponent(0x80, 0x7f);
        u32::from(self.sign) << 31 | exponent << 23 | (self.significand << 1 >> 41) as u32
    }
    fn stored_exponent(self, high: u32, low: u32) -> u32 {
        if self.significand & LEADING == 0 {
            0
        } else {
            ((self.exponent >> 16 & 1) * high) | (self.exponent & low)
        }
    }
    /// Significand, then sign and exponent, of the 10 bytes of double-extended.
    pub(super) fn to_extended(self) -> (u64, u16) {
        let exponent = if self.exponent == 0 {
            0
        } else {
            (self.exponent >> 16 & 1) << 14 | self.exponent & 0x3fff
        };
        (
            self.significand,
            (u32::from(self.sign) << 15 | exponent) as u16,
        )
    }
    pub(super) fn from_extended(significand: u64, head: u16) -> Float {
        let exponent = match u32::from(head & 0x7fff) {
            0 => 0,
            0x7fff => SPECIAL,
            exponent => exponent + 0xffff - 0x3fff,
        };
        Float::new(head >> 15 != 0, exponent, significand)
    }

    /// Sign and exponent as `getf.exp` reads them.
    pub(super) fn head(self) -> u64 {
        u64::from(self.sign) << 17 | u64::from(self.exponent)
    }
    pub(super) fn with_head(head: u64, significand: u64) -> Float {
        Float::new(head >> 17 & 1 != 0, head as u32 & SPECIAL, significand)
    }

    /// The significand read as a signed integer.
    pub(super) fn from_signed(value: i64) -> Float {
        if value == 0 {
            return Float::ZERO;
        }
        let magnitude = value.unsigned_abs();
        let zeros = magnitude.leading_zeros();
        Float::new(value < 0, INTEGER - zeros, magnitude << zeros)
    }

    /// Returns the value as an integer of 64 bits; `None`: out of range.
    pub(super) fn to_integer(self, signed: bool, mode: Mode) -> Option<u64> {
        match self.class() {
            Class::NaTVal | Class::Nan | Class::Infinity => return None,
            Class::Zero => return Some(0),
            Class::Finite => {}
        }
        let (significand, last) = self.normalised();
        let magnitude: u128 = if last > 0 {
            return None;
        } else if last == 0 {
            u128::from(significand)
        } else {
            let drop = last.unsigned_abs();
            let (whole, rest) = match drop {
                1..=63 => (significand >> drop, significand << (64 - drop)),
                64 => (0, significand),
                // Anything that is not nothing and less than a half.
                _ => (0, 1),
            };
            u128::from(whole) + u128::from(rounds_up(mode, self.sign, whole & 1 != 0, rest))
        };
        if !signed {
            return match (self.sign, u64::try_from(magnitude)) {
                (_, Ok(0)) => Some(0),
                (true, _) | (_, Err(_)) => None,
                (false, Ok(value)) => Some(value),
            };
        }
        match (self.sign, magnitude) {
            (false, 0..0x8000_0000_0000_0000) => Some(magnitude as u64),
            (true, 0..=0x8000_0000_0000_0000) => Some((magnitude as u64).wrapping_neg()),
            _ => None,
        }
    }
}

/// Returns true if the magnitude grows by a last bit: `rest` is the part that was cut off, its first bit a
/// half.
fn rounds_up(mode: Mode, sign: bool, odd: bool, rest: u64) -> bool {
    match mode {
        Mode::Nearest => rest > LEADING || (rest == LEADING && odd),
        Mode::Down => sign && rest != 0,
        Mode::Up => !sign && rest != 0,
        Mode::Truncate => false,
    }
}

/// 256 bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Wide {
    high: u128,
    low: u128,
}

impl From<u128> for Wide {
    fn from(low: u128) -> Wide {
        Wide { high: 0, low }
    }
}

impl Wide {
    fn shifted_left(self, by: u32) -> Wide {
        match by {
            0 => self,
            1..=127 => Wide {
                high: self.high << by | self.low >> (128 - by),
                low: self.low << by,
            },
            128..=255 => Wide {
                high: self.low << (by - 128),
                low: 0,
            },
            _ => Wide { high: 0, low: 0 },
        }
    }
    fn plus(self, other: Wide) -> Wide {
        let (low, carry) = self.low.overflowing_add(other.low);
        Wide {
            high: self
                .high
                .wrapping_add(other.high)
                .wrapping_add(u128::from(carry)),
            low,
        }
    }
    fn minus(self, other: Wide) -> Wide {
        let (low, borrow) = self.low.overflowing_sub(other.low);
        Wide {
            high: self
                .high
                .wrapping_sub(other.high)
                .wrapping_sub(u128::from(borrow)),
            low,
        }
    }
    fn is_zero(self) -> bool {
        self.high == 0 && self.low == 0
    }
    fn leading_zeros(self) -> u32 {
        if self.high == 0 {
            128 + self.low.leading_zeros()
        } else {
            self.high.leading_zeros()
        }
    }
}

/// `value * 2^last`, and a little more where `more`, rounded. `value` is not zero.
fn round_sum(sign: bool, value: Wide, last: i32, more: bool, to: &Rounding) -> Float {
    let zeros = value.leading_zeros().min(255);
    let value = value.shifted_left(zeros);
    // The first bit stands at 2^top; the upper half holds every bit that is kept.
    let top = last - zeros as i32 + 255;
    let more = more || value.low != 0;
    let quantum = (top - to.bits as i32 + 1).max(to.least - to.bits as i32 + 1);
    // Bits of the upper half that lie below the quantum.
    let drop = quantum - (top - 127);
    let (kept, rest): (u128, u64) = match drop {
        ..=63 => (value.high, 0),
        64..=127 => {
            let rest = value.high << (128 - drop);
            let sticky = more || rest as u64 != 0;
            (value.high >> drop, (rest >> 64) as u64 | u64::from(sticky))
        }
        128 => {
            let sticky = more || value.high as u64 != 0;
            (0, (value.high >> 64) as u64 | u64::from(sticky))
        }
        _ => (0, 1),
    };
    let mut kept = kept as u64 as u128;
    kept += u128::from(rounds_up(to.mode, sign, kept & 1 != 0, rest));
    if kept == 0 {
        return Float::zero(sign);
    }
    let mut exponent = quantum + to.bits as i32 - 1;
    if kept >> to.bits != 0 {
        kept >>= 1;
        exponent += 1;
    }
    if exponent > to.most {
        let away = match to.mode {
            Mode::Nearest => true,
            Mode::Down => sign,
            Mode::Up => !sign,
            Mode::Truncate => false,
        };
        return if away {
            Float::infinity(sign)
        } else {
            let all = u64::MAX << (64 - to.bits);
            Float::new(sign, (to.most + BIAS) as u32, all)
        };
    }
    let significand = (kept as u64) << (64 - to.bits);
    Float::new(sign, (exponent + BIAS) as u32, significand)
}

/// `a*b + c`, rounded once. `c` of `None`: the product alone, whose zero keeps its sign.
pub(super) fn fused(a: Float, b: Float, c: Option<Float>, to: &Rounding) -> Float {
    let addend = c.unwrap_or(Float::ZERO);
    if a.is_natval() || b.is_natval() || addend.is_natval() {
        return Float::NATVAL;
    }
    // The order in which NaNs prevail is that of the encoding: the second factor, the addend, the first.
    for each in [b, addend, a] {
        if each.is_nan() {
            return each.quiet();
        }
    }
    let sign = a.sign != b.sign;
    match (a.class(), b.class()) {
        (Class::Infinity, Class::Zero) | (Class::Zero, Class::Infinity) => return Float::NAN,
        (Class::Infinity, _) | (_, Class::Infinity) => {
            return if addend.class() == Class::Infinity && addend.sign != sign {
                Float::NAN
            } else {
                Float::infinity(sign)
            };
        }
        _ => {}
    }
    if addend.class() == Class::Infinity {
        return Float::infinity(addend.sign);
    }
    let product_is_zero = a.class() == Class::Zero || b.class() == Class::Zero;
    if product_is_zero && addend.class() == Class::Zero {
        return match c {
            Some(c) if c.sign == sign => Float::zero(sign),
            Some(_) => Float::zero(to.mode == Mode::Down),
            None => Float::zero(sign),
        };
    }
    if product_is_zero {
        let (significand, last) = addend.normalised();
        return round_sum(addend.sign, u128::from(significand).into(), last, false, to);
    }
    let ((x, x_last), (y, y_last)) = (a.normalised(), b.normalised());
    let product = Wide::from(u128::from(x) * u128::from(y));
    let last = x_last + y_last;
    if addend.class() == Class::Zero {
        return round_sum(sign, product, last, false, to);
    }
    let (z, z_last) = addend.normalised();
    let sum = Sum {
        left: (sign, product),
        right: (addend.sign, u128::from(z).into()),
    };
    let apart = z_last - last;
    match apart {
        // Both fit exactly behind one shift.
        0..=190 => sum.exact(0, apart as u32, last, to),
        -126..0 => sum.exact(apart.unsigned_abs(), 0, z_last, to),
        // One is so small that only its sign counts: less than a quarter of the other's last bit here.
        191.. => beside(addend.sign, z, 60, z_last, sign, to),
        _ => {
            let shifted = product.shifted_left(60);
            nudged(sign, shifted, last - 60, addend.sign, to)
        }
    }
}

fn beside(sign: bool, value: u64, by: u32, last: i32, other: bool, to: &Rounding) -> Float {
    let shifted = Wide::from(u128::from(value)).shifted_left(by);
    nudged(sign, shifted, last - by as i32, other, to)
}

/// A value and something tiny of the sign `other`.
fn nudged(sign: bool, value: Wide, last: i32, other: bool, to: &Rounding) -> Float {
    let value = if sign == other {
        value
    } else {
        value.minus(Wide::from(1))
    };
    round_sum(sign, value, last, true, to)
}

struct Sum {
    left: (bool, Wide),
    right: (bool, Wide),
}

impl Sum {
    fn exact(self, left: u32, right: u32, last: i32, to: &Rounding) -> Float {
        let (sign, a) = (self.left.0, self.left.1.shifted_left(left));
        let (other, b) = (self.right.0, self.right.1.shifted_left(right));
        if sign == other {
            return round_sum(sign, a.plus(b), last, false, to);
        }
        let (sign, value) = if a >= b {
            (sign, a.minus(b))
        } else {
            (other, b.minus(a))
        };
        if value.is_zero() {
            return Float::zero(to.mode == Mode::Down);
        }
        round_sum(sign, value, last, false, to)
    }
}
