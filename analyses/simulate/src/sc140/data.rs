//! The operations of the data units.

use super::Rule;
use super::number::{
    WIDTH, high, leading, low, low_unsigned, round, saturate, shift, signed, unsigned, wrap,
};
use super::op::{Data, DataKind, Half, Halves, Source};
use super::state::{Machine, Write};

impl Machine<'_> {
    fn source(&self, source: Source) -> i64 {
        match source {
            Source::D(number) => self.d[usize::from(number)],
            Source::Number(value) => value,
        }
    }

    /// Executes an instruction of a data unit; its writes are those of the set.
    pub(super) fn data(&mut self, op: &Data) {
        let (a, b) = (self.source(op.a), self.source(op.b));
        let n = op.n;
        let own = self.d[usize::from(n)];
        let wide = i128::from;
        match op.kind {
            DataKind::Abs => self.fitted(n, wide(a).abs(), true),
            DataKind::Neg => self.fitted(n, -wide(a), true),
            DataKind::Inc => self.fitted(n, wide(a) + 1, true),
            DataKind::IncHigh => self.fitted(n, wide(a) + 0x1_0000, true),
            DataKind::Add => {
                self.carry_of_sum(a, b, false);
                self.fitted(n, wide(b) + wide(a), true);
            }
            DataKind::AddQuiet => self.fitted(n, wide(b) + wide(a), true),
            DataKind::Sub => {
                self.borrow(b, a, false);
                self.fitted(n, wide(b) - wide(a), true);
            }
            DataKind::SubQuiet => self.fitted(n, wide(own) - wide(a), true),
            DataKind::SubDouble => {
                self.borrow(own.wrapping_mul(2), a, false);
                self.fitted(n, 2 * wide(own) - wide(a), true);
            }
            DataKind::Adc => {
                let carry = self.carry();
                self.carry_of_sum(a, own, carry);
                self.fitted(n, wide(own) + wide(a) + i128::from(carry), false);
            }
            DataKind::Sbc => {
                let carry = self.carry();
                self.borrow(own, a, carry);
                self.fitted(n, wide(own) - wide(a) - i128::from(carry), false);
            }
            DataKind::AddRounded => self.rounded(n, wide(own) + wide(a)),
            DataKind::SubRounded => self.rounded(n, wide(own) - wide(a)),
            DataKind::Round => self.rounded(n, wide(a)),
            DataKind::Asl => {
                self.writes.push(Write::Carry(a >> (WIDTH - 1) & 1 != 0));
                self.fitted(n, 2 * wide(a), true);
            }
            DataKind::Asr => {
                self.writes.push(Write::Carry(a & 1 != 0));
                self.fitted(n, wide(a >> 1), true);
            }
            DataKind::Transfer => self.fitted(n, wide(a), false),
            DataKind::TransferIf(when) => {
                if self.truth() == when {
                    self.fitted(n, wide(a), false);
                }
            }
            DataKind::Mac { negative, rounded } => {
                let product = self.product(high(a), high(b));
                let sum = match negative {
                    true => wide(own) - product,
                    false => wide(own) + product,
                };
                match rounded {
                    true => self.rounded(n, sum),
                    false => self.fitted(n, sum, true),
                }
            }
            DataKind::Multiply { negative, rounded } => {
                let product = 2 * wide(high(a)) * wide(high(b));
                let product = if negative { -product } else { product };
                match rounded {
                    true => self.rounded(n, product),
                    false => self.fitted(n, product, true),
                }
            }
            DataKind::MixedMultiply(halves) => {
                self.plain(n, wrap(2 * factors(halves, a, b)));
            }
            DataKind::MixedMac(halves) => {
                self.plain(n, wrap(wide(own) + 2 * factors(halves, a, b)));
            }
            DataKind::DoubleMac => {
                self.plain(n, wrap(wide(own >> 16) + 2 * wide(high(a)) * wide(high(b))));
            }
            DataKind::DoubleMacUnsigned => {
                let product = 2 * wide(high(a)) * wide(low_unsigned(b));
                self.plain(n, wrap(wide(own >> 16) + product));
            }
            DataKind::IntegerMultiply(halves) => self.plain(n, wrap(factors(halves, a, b))),
            DataKind::IntegerMac(halves) => {
                self.plain(n, wrap(wide(own) + factors(halves, a, b)));
            }
            DataKind::IntegerAdd => {
                self.carry_of_sum(a, own, false);
                self.plain(n, own + a);
            }
            DataKind::IntegerAddQuiet => self.plain(n, own + a),
            DataKind::Divide => self.divide(n, own, a),
            DataKind::Clear => self.plain(n, 0),
            DataKind::CountEqual | DataKind::CountGreater => {
                let less = signed(own - 1, WIDTH);
                let truth = match op.kind {
                    DataKind::CountEqual => less == 0,
                    _ => less >= 0,
                };
                self.plain(n, less);
                self.writes.push(Write::Truth(truth));
            }
            DataKind::Max => self.chosen(op, a, a > own),
            DataKind::Min => self.chosen(op, a, a < own),
            DataKind::MaxMagnitude => self.chosen(op, a, a.abs() > own.abs()),
            DataKind::Max2 => self.paired(n, own, a, i64::max),
            DataKind::Add2 => self.paired(n, own, a, |x, y| x + y),
            DataKind::Sub2 => self.paired(n, own, a, |x, y| x - y),
            DataKind::SaturateHigh => {
                let fits = saturate(wide(a), 32) == wide(a);
                let value = match a < 0 {
                    _ if fits => a,
                    true => -0x8000_0000,
                    false => 0x7fff_0000,
                };
                self.clamped(n, value, !fits);
            }
            DataKind::SaturateLong => {
                let value = saturate(wide(a), 32) as i64;
                self.clamped(n, value, value != a);
            }
            DataKind::CompareEqual => self.writes.push(Write::Truth(b == a)),
            DataKind::CompareGreater => self.writes.push(Write::Truth(b > a)),
            DataKind::CompareHigher => {
                let higher = unsigned(b, WIDTH) > unsigned(a, WIDTH);
                self.writes.push(Write::Truth(higher));
            }
            DataKind::TestEqual => self.writes.push(Write::Truth(a == 0)),
            DataKind::TestGreaterEqual => self.writes.push(Write::Truth(a >= 0)),
            DataKind::TestGreater => self.writes.push(Write::Truth(a > 0)),
            DataKind::And => self.plain(n, b & a),
            DataKind::Or => self.plain(n, b | a),
            DataKind::Eor => self.plain(n, b ^ a),
            DataKind::Not => self.plain(n, !a),
            DataKind::ShiftLeft => self.shifted(n, b, seven(a), false),
            DataKind::ShiftRight => self.shifted(n, b, -seven(a), false),
            DataKind::LogicalLeft => self.shifted(n, b, seven(a), true),
            DataKind::LogicalRight => self.shifted(n, b, -seven(a), true),
            DataKind::Rol => {
                let carry = self.carry();
                self.writes.push(Write::Carry(own >> (WIDTH - 1) & 1 != 0));
                self.plain(n, own << 1 | i64::from(carry));
            }
            DataKind::Ror => {
                let carry = self.carry();
                self.writes.push(Write::Carry(own & 1 != 0));
                let top = i64::from(carry) << (WIDTH - 1);
                self.plain(n, unsigned(own, WIDTH) >> 1 | top);
            }
            DataKind::Clb => {
                let count = 9 - leading(a);
                self.plain(
                    n,
                    if self.settings.left_is_negative {
                        count
                    } else {
                        -count
                    },
                );
            }
            DataKind::Extract | DataKind::ExtractUnsigned => {
                let (width, offset) = field(a);
                let value = match (width, op.kind) {
                    (0, _) => 0,
                    (_, DataKind::Extract) => signed(b >> offset, width),
                    _ => unsigned(b >> offset, width),
                };
                self.plain(n, value);
            }
            DataKind::Insert => {
                let (width, offset) = field(a);
                let mask = match width {
                    0 => 0,
                    _ => unsigned(-1, width) << offset,
                };
                self.plain(n, own & !mask | b << offset & mask);
            }
            DataKind::Extend { bits, sign } => self.plain(
                n,
                match sign {
                    true => signed(a, bits),
                    false => unsigned(a, bits),
                },
            ),
        }
    }

    /// A fractional product on its way to an accumulator.
    fn product(&self, a: i64, b: i64) -> i128 {
        let product = 2 * i128::from(a) * i128::from(b);
        match self.settings.product_saturates && self.saturates() {
            true => saturate(product, 32),
            false => product,
        }
    }

    /// Rounds; where results saturate, to a value with a low part of zero.
    fn rounded(&mut self, n: u8, exact: i128) {
        let value = round(exact, self.rounds_up(), self.scaling());
        let most = 0x7fff_0000;
        match self.saturates() && value > most {
            true => {
                self.writes.push(Write::Overflow);
                self.writes.push(Write::Data(n, most as i64, false));
            }
            false => self.fitted(n, value, true),
        }
    }

    fn carry_of_sum(&mut self, a: i64, b: i64, carry: bool) {
        let bits = self.settings.carry_bits;
        let sum = unsigned(a, bits) + unsigned(b, bits) + i64::from(carry);
        self.writes.push(Write::Carry(sum >> bits != 0));
    }
    /// Sets the carry to the borrow of `a` less `b`.
    fn borrow(&mut self, a: i64, b: i64, carry: bool) {
        let bits = self.settings.carry_bits;
        let less = unsigned(b, bits) + i64::from(carry);
        self.writes.push(Write::Carry(unsigned(a, bits) < less));
    }

    /// A step of a division that does not restore.
    fn divide(&mut self, n: u8, own: i64, divisor: i64) {
        let part = i128::from(high(divisor)) << 16;
        let twice = 2 * i128::from(own) + i128::from(self.carry());
        let value = match (own < 0) == (divisor < 0) {
            true => twice - part,
            false => twice + part,
        };
        self.fitted(n, value, false);
        self.writes.push(Write::Carry(wrap(value) >= 0));
    }

    /// The other register if it is preferred; both are a pair.
    fn chosen(&mut self, op: &Data, other: i64, preferred: bool) {
        let n = op.n;
        if let (Some(distance), Source::D(g)) = (self.settings.pair_distance, op.a)
            && (g + distance != n || g / 8 != n / 8)
        {
            self.broken.push(Rule::Pair(g, n));
        }
        let own = self.d[usize::from(n)];
        self.plain(n, if preferred { other } else { own });
    }

    /// Both halves on their own; the extension takes the sign of the high one.
    fn paired(&mut self, n: u8, own: i64, other: i64, of: fn(i64, i64) -> i64) {
        let upper = low(of(high(own), high(other)));
        let lower = low_unsigned(of(low(own), low(other)));
        self.plain(n, upper << 16 | lower);
    }

    fn clamped(&mut self, n: u8, value: i64, acted: bool) {
        if acted {
            self.writes.push(Write::Overflow);
        }
        self.plain(n, value);
    }

    fn shifted(&mut self, n: u8, value: i64, count: i64, logical: bool) {
        let (value, carry) = shift(value, count, logical);
        if let Some(carry) = carry {
            self.writes.push(Write::Carry(carry));
        }
        self.plain(n, value);
    }
}

/// The count of a shift, in the low seven bits, within the width of the register.
fn seven(value: i64) -> i64 {
    signed(value, 7).clamp(-i64::from(WIDTH), i64::from(WIDTH))
}

/// Width and offset of a bit field within the register.
fn field(control: i64) -> (u32, u32) {
    let offset = (control & 0x3f).min(39) as u32;
    let width = (control >> 8 & 0x3f) as u32;
    (width.min(WIDTH - offset), offset)
}

fn half(value: i64, half: Half) -> i128 {
    i128::from(match half {
        Half::High => high(value),
        Half::Low => low(value),
        Half::HighUnsigned => low_unsigned(value >> 16),
        Half::LowUnsigned => low_unsigned(value),
    })
}
fn factors(halves: Halves, a: i64, b: i64) -> i128 {
    half(a, halves.a) * half(b, halves.b)
}
