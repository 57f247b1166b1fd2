//! Numbers that divide by multiplying: `x / c` as the high half of one product with `M`, about `2^(64+s) / c`.
//!
//! ```text
//! x / 10, x of 32 bits          x M >> 64          M = 0x199999999999999a
//! x / 10, x of 64 bits      (x M + M) >> 65        M = 0x3333333333333333
//! x / 7, x of 64 bits       (x M + M) >> 66        M = 0x9249249249249249: rounded up it would have 65 bits
//! ```
//!
//! Rounded up, `M c = 2^K + e`: the product lies above `x / c` by `x e / (c 2^K)`, which must not reach the next whole number,
//! so `e x < 2^K`. Rounded down, `M c = 2^K - d`, and once more `M` is added: `(x + 1) / c` less `(x + 1) d / (c 2^K)`, which must
//! not fall below the quotient, so `d (x + 1) <= 2^K`. With `2^s < c < 2^(s+1)` one of `e` and `d`, whose sum is `c`, is small
//! enough for all `x` of 64 bits, so that one multiply-add and one shift divide by anything. The least shift is taken, as
//! none is free.
//!
//! Negative `x` rounded up has its floor below the quotient, by one: `e |x| <= 2^K` is asked for, and the one is added. `M` has a
//! sign there, so that 63 bits of it count; where they don't do, `M - 2^64` is multiplied and `x` added to the high half.
//!
//! Of numbers of up to 32 bits the whole product has room in a register, `x M >> K` with `M` of up to 32 bits: `short` has
//! those, for products that are put together from shifts and sums.
//!
//! Sources: Granlund and Montgomery, *Division by Invariant Integers using Multiplication*, 1994; Robison, *N-Bit Unsigned
//! Division Via N-Bit Multiply-Add*, 2005.

/// `((x multiplier + (adds ? multiplier : 0)) >> 64) >> shift`, all without a sign.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Unsigned {
    pub(super) multiplier: u64,
    pub(super) adds: bool,
    pub(super) shift: u32,
}

/// `((x multiplier >> 64) + (adds ? x : 0)) >> shift`, and one more where `x` is negative.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Signed {
    pub(super) multiplier: i64,
    pub(super) adds: bool,
    pub(super) shift: u32,
}

/// `((x + (adds ? 1 : 0)) multiplier) >> shift`, in 64 bits; and one more where `x` is negative.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Short {
    pub(super) multiplier: u64,
    pub(super) adds: bool,
    pub(super) shift: u32,
}

/// Returns the multipliers for numbers of so many bits, at most 32; `by` is no power of two.
pub(super) fn short(by: u64, bits: u32, signed: bool) -> Vec<Short> {
    debug_assert!(!by.is_power_of_two() && by != 0 && bits <= 32);
    let (size, room) = (u128::from(by), 1u128 << (64 - bits));
    // The bits that count: a signed number's distance from zero has one bit less.
    let counted = bits - u32::from(signed);
    let mut out = Vec::new();
    for shift in counted..64 {
        let power = 1u128 << shift;
        let (down, rest) = (power / size, power % size);
        let mut found = |multiplier: u128, error: u128, adds| {
            if error << counted <= power && multiplier < room {
                out.push(Short {
                    multiplier: multiplier as u64,
                    adds,
                    shift,
                });
            }
        };
        found(down + 1, size - rest, false);
        if !signed {
            found(down, rest, true);
        }
    }
    out
}

/// Returns the multiplier for numbers of so many bits; `by` is no power of two.
pub(super) fn unsigned(by: u64, bits: u32) -> Unsigned {
    debug_assert!(!by.is_power_of_two() && by != 0);
    let size = u128::from(by);
    let found = (0..64).find_map(|shift| {
        let power = 1u128 << (64 + shift);
        let (down, rest) = (power / size, power % size);
        let of = |multiplier: u128, adds| {
            let multiplier = u64::try_from(multiplier).ok()?;
            Some(Unsigned {
                multiplier,
                adds,
                shift,
            })
        };
        match () {
            () if (size - rest) << bits <= power => of(down + 1, false),
            () if rest << bits <= power => of(down, true),
            () => None,
        }
    });
    found.expect("the shift by the bits of the divisor is one")
}

/// Returns the multiplier for numbers of so many bits and their signs; `by` is neither a power of two nor
/// above `2^63`.
pub(super) fn signed(by: u64, bits: u32) -> Signed {
    debug_assert!(!by.is_power_of_two() && by < 1 << 63 && by != 0);
    let size = u128::from(by);
    let found = (0..64).find_map(|shift| {
        let power = 1u128 << (64 + shift);
        let up = power / size + 1;
        let error = up * size - power;
        (error << (bits - 1) <= power).then_some((up as u64, shift))
    });
    let (up, shift) = found.expect("the shift by the bits of the divisor is one");
    Signed {
        multiplier: up as i64,
        adds: up >> 63 != 0,
        shift,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::StdRng;
    use rand::{Rng, SeedableRng};

    fn by_unsigned(x: u64, of: Unsigned) -> u64 {
        let added = if of.adds { of.multiplier } else { 0 };
        let whole = u128::from(x) * u128::from(of.multiplier) + u128::from(added);
        (whole >> 64) as u64 >> of.shift
    }

    fn by_signed(x: i64, of: Signed) -> i64 {
        let high = ((i128::from(x) * i128::from(of.multiplier)) >> 64) as i64;
        let added = if of.adds { x } else { 0 };
        (high.wrapping_add(added) >> of.shift) + i64::from(x < 0)
    }

    fn by_short(x: i64, of: Short, signed: bool) -> i64 {
        let whole = (x + i64::from(of.adds)) as u64;
        let whole = whole.wrapping_mul(of.multiplier);
        match signed {
            true => (whole as i64 >> of.shift) + i64::from(x < 0),
            false => (whole >> of.shift) as i64,
        }
    }

    /// Returns dividends that show a quotient which is a little off: at the ends and about the multiples next
    /// to them, and anywhere.
    fn dividends(by: u64, most: u64, random: &mut StdRng) -> Vec<u64> {
        let mut out = vec![0, 1, most, most - 1, most / 2, most / 2 + 1];
        let last = most / by;
        let middle = random.random_range(0..=last);
        for times in [1, 2, last / 2, middle, last.saturating_sub(1), last] {
            let multiple = by.wrapping_mul(times);
            out.extend([multiple.saturating_sub(1), multiple]);
            out.extend(multiple.checked_add(1).filter(|&it| it <= most));
        }
        out.push(random.random_range(0..=most));
        out.retain(|&it| it <= most);
        out
    }

    fn divisors(bits: u32, random: &mut StdRng) -> Vec<u64> {
        let mut out: Vec<u64> = (3..5000).collect();
        for power in 2..bits {
            let one = 1u64 << power;
            out.extend([one - 1, one + 1, one + 2, (one / 3).max(3), one / 3 + 2]);
        }
        let most = u64::MAX >> (64 - bits);
        out.extend([most, most - 1, most - 2, most / 2, most / 3, most / 5]);
        out.extend(
            (0..20_000).map(|_| random.random_range(3..=most) >> random.random_range(0..bits - 2)),
        );
        out.retain(|it| *it >= 3 && !it.is_power_of_two() && *it <= most);
        out
    }

    #[test]
    fn products_are_quotients() {
        let mut random = StdRng::seed_from_u64(5);
        for bits in [8, 16, 32, 64] {
            let most = u64::MAX >> (64 - bits);
            for by in divisors(bits, &mut random) {
                let of = unsigned(by, bits);
                assert!(bits == 64 || of.shift == 0 && !of.adds, "{by}: {of:?}");
                for x in dividends(by, most, &mut random) {
                    assert_eq!(by_unsigned(x, of), x / by, "{x} by {by}: {of:?}");
                }
                if by > most / 2 {
                    continue;
                }
                let of = signed(by, bits);
                assert!(bits == 64 || of.shift == 0 && !of.adds, "{by}: {of:?}");
                for x in dividends(by, most / 2, &mut random) {
                    for x in [x as i64, -(x as i64), -(x as i64) - 1] {
                        assert_eq!(by_signed(x, of), x / by as i64, "{x} by {by}: {of:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn short_products_are_quotients() {
        let mut random = StdRng::seed_from_u64(6);
        for bits in [8, 16, 32] {
            let most = u64::MAX >> (64 - bits);
            let mut none = 0;
            let divisors = divisors(bits, &mut random);
            for &by in &divisors {
                let all = short(by, bits, false);
                none += u32::from(all.is_empty());
                for x in dividends(by, most, &mut random) {
                    for &of in &all {
                        let quotient = (x / by) as i64;
                        assert_eq!(
                            by_short(x as i64, of, false),
                            quotient,
                            "{x} by {by}: {of:?}"
                        );
                    }
                }
                if by > most / 2 {
                    continue;
                }
                let all = short(by, bits, true);
                none += u32::from(all.is_empty());
                for x in dividends(by, most / 2, &mut random) {
                    for x in [x as i64, -(x as i64), -(x as i64) - 1] {
                        for &of in &all {
                            let quotient = x / by as i64;
                            assert_eq!(by_short(x, of, true), quotient, "{x} by {by}: {of:?}");
                        }
                    }
                }
            }
            assert_eq!(none, 0);
        }
    }

    #[test]
    fn known_multipliers() {
        let plain = |multiplier, shift| Unsigned {
            multiplier,
            adds: false,
            shift,
        };
        assert_eq!(unsigned(10, 32), plain(0x1999_9999_9999_999a, 0));
        for (by, multiplier, shift) in [
            // A divisor of 2^64 - 1.
            (641, 0x0066_3d80_ff99_c27f, 0),
            (10, 0x3333_3333_3333_3333, 1),
            (7, 0x9249_2492_4924_9249, 2),
        ] {
            let found = unsigned(by, 64);
            assert_eq!(
                found,
                Unsigned {
                    multiplier,
                    adds: true,
                    shift
                }
            );
        }
        let plain = |multiplier, shift| Signed {
            multiplier,
            adds: false,
            shift,
        };
        assert_eq!(signed(3, 64), plain(0x5555_5555_5555_5556, 0));
        assert_eq!(signed(10, 64), plain(0x6666_6666_6666_6667, 2));
        assert_eq!(signed(7, 64), plain(0x4924_9249_2492_4925, 1));
    }
}
