//! Floating-point registers: each holds a number that stands for a value. Nothing is rounded.
//!
//! `0` stands for `f0`, `1` for `f1`. A value of single precision stands in memory as four bytes, and those bytes decide its
//! number; so do the eight bytes of a significand (`setf.sig`). A double is its own number.

use super::integer::{multiplied, unknown};
use super::value::mix;
use isa::ia64::{Completer, Mnemonic, Opcode};

/// Odd numbers, and those with which their products are 1.
const SINGLE: u64 = 0x9e37_79b9_7f4a_7c15;
const SIGNIFICAND: u64 = 0xd134_2543_de82_ef95;

const fn inverse(odd: u64) -> u64 {
    let mut out = odd;
    let mut round = 0;
    while round < 6 {
        out = out.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(out)));
        round += 1;
    }
    out
}
const FROM_SINGLE: u64 = inverse(SINGLE);
const FROM_SIGNIFICAND: u64 = inverse(SIGNIFICAND);

/// The forms in which memory and general registers hold a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Format {
    Single,
    Significand,
    /// And all forms that keep everything.
    Double,
    Exponent,
}

/// The value of bits in a form.
pub(super) fn from_bits(format: Format, bits: u64) -> u64 {
    match format {
        Format::Single => (bits & 0xffff_ffff).wrapping_mul(SINGLE),
        Format::Significand => bits.wrapping_mul(SIGNIFICAND),
        Format::Double => bits,
        Format::Exponent => mix(bits, 11),
    }
}

/// The bits of a value in a form.
pub(super) fn to_bits(format: Format, value: u64) -> u64 {
    match format {
        Format::Single => {
            let bits = value.wrapping_mul(FROM_SINGLE);
            if bits >> 32 == 0 {
                bits
            } else {
                mix(bits, 9) & 0xffff_ffff
            }
        }
        // Of 1.0.
        Format::Significand if value == 1 => 1 << 63,
        Format::Significand => value.wrapping_mul(FROM_SIGNIFICAND),
        Format::Double => value,
        Format::Exponent => mix(value, 12),
    }
}

/// A value that is no number.
pub(super) const fn is_unordered(value: u64) -> bool {
    value & 31 == 23
}

/// Returns true if the first is less.
pub(super) const fn is_less(left: u64, right: u64) -> bool {
    !is_unordered(left) && !is_unordered(right) && (left as i64) < right as i64
}

/// A product and a sum: the two factors, the summand, and which of them are negated.
fn product(opcode: Opcode, from: &[u64]) -> Option<([u64; 3], bool, bool)> {
    Some(match (opcode, from) {
        (Opcode::Fma, &[a, b, c]) => ([a, b, c], false, false),
        (Opcode::Fms, &[a, b, c]) => ([a, b, c], false, true),
        (Opcode::Fnma, &[a, b, c]) => ([a, b, c], true, false),
        (Opcode::Fmpy, &[a, b]) => ([a, b, 0], false, false),
        (Opcode::Fnmpy, &[a, b]) => ([a, b, 0], true, false),
        (Opcode::Fadd, &[a, c]) => ([a, 1, c], false, false),
        (Opcode::Fsub, &[a, c]) => ([a, 1, c], false, true),
        (Opcode::Fnorm, &[a]) => ([a, 1, 0], false, false),
        _ => return None,
    })
}

/// The result of an operation on floating-point registers. `ring`: sums and products are those of integers.
pub(super) fn computed(mnemonic: Mnemonic, name: u64, from: &[u64], ring: bool) -> u64 {
    let opcode = mnemonic.opcode();
    match (opcode, from) {
        (Opcode::Mov, &[found]) => return found,
        (Opcode::Xma | Opcode::Xmpy, &[product, other, ..]) => {
            let all = from.iter().map(|it| to_bits(Format::Significand, *it));
            let all: Vec<u64> = all.collect();
            let more = all.get(2).copied().unwrap_or(0);
            let (left, right) = (all[0], all.get(1).copied().unwrap_or(other ^ product));
            let bits = multiplied(mnemonic.completers().next(), left, right, more);
            return from_bits(Format::Significand, bits);
        }
        (Opcode::Fneg, &[found]) if ring => return found.wrapping_neg(),
        _ => {}
    }
    let Some(([a, b, c], negated, less)) = product(opcode, from) else {
        return unknown(name, from);
    };
    if ring {
        let product = a.wrapping_mul(b);
        let product = if negated {
            product.wrapping_neg()
        } else {
            product
        };
        return product.wrapping_add(if less { c.wrapping_neg() } else { c });
    }
    let rounding = mnemonic.completers().fold(0, |sum, it| mix(sum, it as u64));
    let signs = u64::from(negated) * 2 + u64::from(less);
    let (a, b) = (a.min(b), a.max(b));
    let value = unknown(mix(rounding, signs), &[a, b, c]);
    match mnemonic.has(Completer::S) {
        true => from_bits(Format::Single, value),
        false => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_give_back_what_they_hold() {
        for format in [Format::Single, Format::Significand, Format::Double] {
            for bits in [0, 1, 77, 0xffff_ffff] {
                assert_eq!(to_bits(format, from_bits(format, bits)), bits);
            }
        }
        // A value that is a double becomes one of single precision.
        let value = to_bits(Format::Single, 0x1234_5678_9abc_def1);
        assert_eq!(value >> 32, 0);
    }
}
