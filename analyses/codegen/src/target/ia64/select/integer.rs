//! Integers: sums, products, shifts, counts, conversions between widths.

use super::factor::{self, Step};
use super::{Selector, put, put_if};
use crate::select::Select;
use crate::target::ia64::code::op;
use crate::target::ia64::code::{Name, Operand, Virtual};
use ir::{BinaryOp, InstData, Op, TernaryOp, Type, UnaryOp, Value, Wrap};
use isa::ia64::Mnemonic;
use isa::ia64::Reg;

/// Shifts and sums that are shorter than the way to the multiplier and back, which takes more than ten cycles.
pub(super) const OPERATIONS: u32 = 6;

impl Selector<'_> {
    pub(super) fn unary(&mut self, op: UnaryOp, value: Value, result: Value) {
        let (from, ty) = (self.ty(value), self.ty(result));
        if ty == Type::Bool && op == UnaryOp::Not {
            return self.not(value, result);
        }
        if from.is_float() {
            return self.float_unary(op, value, result);
        }
        if from == Type::Bool {
            return self.no_form(&format!("{op:?}"), from);
        }
        let bits = i64::from(from.bits());
        let x = self.integer(value);
        let raw = self.target(result);
        match op {
            UnaryOp::Neg => put!(self, "sub", [raw] = [Reg::R0, x]),
            UnaryOp::Not => put!(self, "andcm", [raw] = [-1, x]),
            UnaryOp::IntAbs => {
                let p = self.predicate();
                put!(self, "cmp.gt", [p, Reg::P0] = [Reg::R0, x]);
                put!(self, "mov", [raw] = [x]);
                put_if!(self, p, "sub", [raw] = [Reg::R0, x]);
            }
            UnaryOp::IntSign => {
                let (p, q) = (self.predicate(), self.predicate());
                put!(self, "cmp.gt", [p, Reg::P0] = [Reg::R0, x]);
                put!(self, "cmp.lt", [q, Reg::P0] = [Reg::R0, x]);
                put!(self, "mov", [raw] = [Reg::R0]);
                put_if!(self, p, "mov", [raw] = [-1]);
                put_if!(self, q, "mov", [raw] = [1]);
            }
            UnaryOp::PopCount => {
                let wide = self.zero_extended(x, from);
                put!(self, "popcnt", [raw] = [wide]);
            }
            UnaryOp::CountTrailingZeros | UnaryOp::FindFirstSet => {
                // Ones below the lowest one; a bit behind the width ends the search.
                let mut y = self.zero_extended(x, from);
                if bits < 64 {
                    let end = self.constant(1 << bits);
                    let with = self.general();
                    put!(self, "or", [with] = [y, end]);
                    y = with.into_name();
                }
                let (less, below) = (self.general(), self.general());
                put!(self, "adds", [less] = [-1, y]);
                put!(self, "andcm", [below] = [less, y]);
                if op == UnaryOp::CountTrailingZeros {
                    put!(self, "popcnt", [raw] = [below]);
                } else {
                    let p = self.predicate();
                    let (count, found) = (self.general(), self.general());
                    put!(self, "popcnt", [count] = [below]);
                    put!(self, "adds", [found] = [1, count]);
                    put!(self, "cmp.eq", [p, Reg::P0] = [bits, count]);
                    put!(self, "mov", [raw] = [found]);
                    put_if!(self, p, "mov", [raw] = [Reg::R0]);
                }
            }
            UnaryOp::CountLeadingZeros
            | UnaryOp::FindHighBitUnsigned
            | UnaryOp::FindHighBitSigned => {
                let mut y = x;
                if op == UnaryOp::FindHighBitSigned {
                    let p = self.predicate();
                    let unlike = self.general();
                    put!(self, "cmp.gt", [p, Reg::P0] = [Reg::R0, x]);
                    put!(self, "mov", [unlike] = [x]);
                    put_if!(self, p, "andcm", [unlike] = [-1, x]);
                    y = unlike.into_name();
                }
                let y = self.zero_extended(y, from);
                // The exponent of the number is the place of its highest bit.
                let (f, g) = (self.float(), self.float());
                let (exponent, high) = (self.general(), self.general());
                put!(self, "setf.sig", [f] = [y]);
                put!(self, "fcvt.xuf.s1", [g] = [f]);
                put!(self, "getf.exp", [exponent] = [g]);
                let bias = self.constant(0xffff);
                put!(self, "sub", [high] = [exponent, bias]);
                let p = self.predicate();
                put!(self, "cmp.eq", [p, Reg::P0] = [Reg::R0, y]);
                if op == UnaryOp::CountLeadingZeros {
                    put!(self, "sub", [raw] = [bits - 1, high]);
                    put_if!(self, p, "mov", [raw] = [bits]);
                } else {
                    put!(self, "mov", [raw] = [high]);
                    put_if!(self, p, "mov", [raw] = [-1]);
                }
            }
            UnaryOp::ReverseBytes | UnaryOp::ReverseBits => {
                let mut y = x;
                if op == UnaryOp::ReverseBits {
                    for (by, mask) in [
                        (1, 0x5555_5555_5555_5555u64),
                        (2, 0x3333_3333_3333_3333),
                        (4, 0x0f0f_0f0f_0f0f_0f0f),
                    ] {
                        let mask = self.constant(mask as i64);
                        let (right, low, high, left, both) = (
                            self.general(),
                            self.general(),
                            self.general(),
                            self.general(),
                            self.general(),
                        );
                        put!(self, "shr.u", [right] = [y, by]);
                        put!(self, "and", [low] = [right, mask]);
                        put!(self, "and", [high] = [y, mask]);
                        put!(self, "shl", [left] = [high, by]);
                        put!(self, "or", [both] = [low, left]);
                        y = both.into_name();
                    }
                }
                if bits == 64 {
                    put!(self, "mux1", [raw] = [y, Operand::Symbol("@rev".into())]);
                } else {
                    let turned = self.general();
                    put!(self, "mux1", [turned] = [y, Operand::Symbol("@rev".into())]);
                    put!(self, "shr.u", [raw] = [turned, 64 - bits]);
                }
            }
            UnaryOp::SignBit => {
                let to = self.home(result);
                return put!(self, "tbit.nz", [to, Reg::P0] = [x, bits - 1]);
            }
            _ => return self.no_form(&format!("{op:?}"), from),
        }
        self.settle(result, raw);
    }

    /// The value without the bits above its width.
    pub(super) fn zero_extended(&mut self, x: Name, ty: Type) -> Name {
        if ty.bits() == 64 || x == Name::Fixed(Reg::R0) {
            return x;
        }
        let to = self.general();
        self.zero_extend(to, x, ty);
        to.into_name()
    }

    pub(super) fn binary(&mut self, op: BinaryOp, wrap: Wrap, data: &InstData, result: Value) {
        let (a, b) = (data.args[0], data.args[1]);
        let ty = self.ty(a);
        if ty == Type::Bool {
            return match op {
                BinaryOp::And
                | BinaryOp::Or
                | BinaryOp::Xor
                | BinaryOp::Add
                | BinaryOp::Sub
                | BinaryOp::Mul => {
                    self.logic(op, a, b, result);
                }
                _ => self.no_form(&format!("{op:?}"), ty),
            };
        }
        if ty.is_float() {
            return self.float_binary(op, a, b, result);
        }
        let _ = wrap;
        let bits = i64::from(ty.bits());
        let raw = self.target(result);
        match op {
            BinaryOp::Add if self.funnel(a, b, raw) => {}
            BinaryOp::Add => self.sum(raw, a, b),
            BinaryOp::Sub => match (self.number(a), self.number(b)) {
                (Some(x @ -128..128), None) => {
                    let y = self.integer(b);
                    put!(self, "sub", [raw] = [x, y]);
                }
                (_, Some(y @ -8191..8192)) => {
                    let x = self.integer(a);
                    put!(self, "adds", [raw] = [-y, x]);
                }
                _ => {
                    let (x, y) = (self.integer(a), self.integer(b));
                    put!(self, "sub", [raw] = [x, y]);
                }
            },
            BinaryOp::Mul => match (self.number(a), self.number(b)) {
                (None, Some(by)) => {
                    let x = self.integer(a);
                    self.times(raw, x, by);
                }
                (Some(by), None) => {
                    let x = self.integer(b);
                    self.times(raw, x, by);
                }
                _ => {
                    let (x, y) = (self.integer(a), self.integer(b));
                    self.product(op!("xmpy.l"), raw, x, y);
                }
            },
            BinaryOp::MulHighSigned | BinaryOp::MulHighUnsigned => {
                let signed = op == BinaryOp::MulHighSigned;
                let (mut x, mut y) = (self.integer(a), self.integer(b));
                if bits == 64 {
                    let mnemonic = if signed {
                        op!("xmpy.h")
                    } else {
                        op!("xmpy.hu")
                    };
                    self.product(mnemonic, raw, x, y);
                } else {
                    if !signed {
                        (x, y) = (self.plain_integer(a), self.plain_integer(b));
                    }
                    let both = self.general();
                    self.product(op!("xmpy.l"), both, x, y);
                    put!(
                        self,
                        if signed { op!("shr") } else { op!("shr.u") },
                        [raw] = [both, bits]
                    );
                }
            }
            BinaryOp::Mul24Signed | BinaryOp::Mul24Unsigned => {
                let extract = if op == BinaryOp::Mul24Signed {
                    op!("extr")
                } else {
                    op!("extr.u")
                };
                let (x, y) = (self.integer(a), self.integer(b));
                let (u, v) = (self.general(), self.general());
                put!(self, extract, [u] = [x, 0, 24]);
                put!(self, extract, [v] = [y, 0, 24]);
                self.product(op!("xmpy.l"), raw, u.into_name(), v.into_name());
            }
            BinaryOp::DivSigned
            | BinaryOp::DivUnsigned
            | BinaryOp::RemSigned
            | BinaryOp::RemUnsigned => {
                self.divide(op, a, b, (result, raw));
            }
            BinaryOp::Or | BinaryOp::Xor if self.funnel(a, b, raw) => {}
            BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => {
                let mnemonic = match op {
                    BinaryOp::And => op!("and"),
                    BinaryOp::Or => op!("or"),
                    _ => op!("xor"),
                };
                match (self.number(a), self.number(b)) {
                    (_, Some(number @ -128..128)) => {
                        let x = self.integer(a);
                        put!(self, mnemonic, [raw] = [number, x]);
                    }
                    (Some(number @ -128..128), _) => {
                        let x = self.integer(b);
                        put!(self, mnemonic, [raw] = [number, x]);
                    }
                    (_, Some(mask))
                        if op == BinaryOp::And
                            && mask > 0
                            && (mask as u64).wrapping_add(1).is_power_of_two() =>
                    {
                        let x = self.integer(a);
                        put!(self, "extr.u", [raw] = [x, 0, i64::from(mask.count_ones())]);
                    }
                    _ => {
                        let (x, y) = (self.integer(a), self.integer(b));
                        put!(self, mnemonic, [raw] = [x, y]);
                    }
                }
            }
            BinaryOp::Shl | BinaryOp::ShrUnsigned | BinaryOp::ShrSigned => {
                self.shift(op, a, b, raw)
            }
            BinaryOp::RotateLeft if bits >= 32 && self.number(b).is_some() => {
                let (x, count) = (self.integer(a), self.number(b).unwrap_or(0) & (bits - 1));
                self.shift_pair(raw, (x, count), x, bits);
            }
            BinaryOp::RotateLeft => {
                let plain = self.plain_integer(a);
                let count = self.integer(b);
                let (by, back) = (self.general(), self.general());
                put!(self, "and", [by] = [bits - 1, count]);
                put!(self, "sub", [back] = [bits, by]);
                let (left, right) = (self.general(), self.general());
                put!(self, "shl", [left] = [plain, by]);
                put!(self, "shr.u", [right] = [plain, back]);
                put!(self, "or", [raw] = [left, right]);
            }
            BinaryOp::MinSigned
            | BinaryOp::MaxSigned
            | BinaryOp::MinUnsigned
            | BinaryOp::MaxUnsigned => {
                let (x, y) = (self.integer(a), self.integer(b));
                let p = self.predicate();
                let relation = match op {
                    BinaryOp::MinSigned => op!("cmp.lt"),
                    BinaryOp::MaxSigned => op!("cmp.gt"),
                    BinaryOp::MinUnsigned => op!("cmp.ltu"),
                    _ => op!("cmp.gtu"),
                };
                put!(self, relation, [p, Reg::P0] = [x, y]);
                put!(self, "mov", [raw] = [y]);
                put_if!(self, p, "mov", [raw] = [x]);
            }
            BinaryOp::AddSaturateSigned | BinaryOp::SubSaturateSigned if bits < 64 => {
                let (x, y) = (self.integer(a), self.integer(b));
                let sum = self.general();
                let mnemonic = if op == BinaryOp::AddSaturateSigned {
                    op!("add")
                } else {
                    op!("sub")
                };
                put!(self, mnemonic, [sum] = [x, y]);
                self.clamp(
                    raw,
                    sum.into_name(),
                    -(1 << (bits - 1)),
                    (1 << (bits - 1)) - 1,
                );
            }
            _ => return self.no_form(&format!("{op:?}"), ty),
        }
        self.settle(result, raw);
    }

    /// A field of bits whose place and length are known; returns true if it is that.
    pub(super) fn field(&mut self, op: TernaryOp, data: &InstData, result: Value) -> bool {
        let mnemonic = match op {
            TernaryOp::BitExtractSigned => op!("extr"),
            TernaryOp::BitExtractUnsigned => op!("extr.u"),
            _ => return false,
        };
        let bits = i64::from(self.ty(result).bits());
        let (Some(place), Some(length)) = (self.number(data.args[1]), self.number(data.args[2]))
        else {
            return false;
        };
        if place < 0 || length < 1 || place + length > bits {
            return false;
        }
        let x = self.integer(data.args[0]);
        let raw = self.target(result);
        put!(self, mnemonic, [raw] = [x, place, length]);
        self.settle(result, raw);
        true
    }

    /// The number within bounds.
    pub(super) fn clamp(&mut self, to: Virtual, from: Name, least: i64, most: i64) {
        let (least, most) = (self.constant(least), self.constant(most));
        let (p, q) = (self.predicate(), self.predicate());
        put!(self, "cmp.lt", [p, Reg::P0] = [from, least]);
        put!(self, "cmp.gt", [q, Reg::P0] = [from, most]);
        put!(self, "mov", [to] = [from]);
        put_if!(self, p, "mov", [to] = [least]);
        put_if!(self, q, "mov", [to] = [most]);
    }

    /// A sum, with a shift or a constant in it.
    fn sum(&mut self, to: Virtual, a: Value, b: Value) {
        if let Some(number @ -8192..8192) = self.number(b) {
            let x = self.integer(a);
            return put!(self, "adds", [to] = [number, x]);
        }
        if let Some(number @ -8192..8192) = self.number(a) {
            let x = self.integer(b);
            return put!(self, "adds", [to] = [number, x]);
        }
        for (shifted, other) in [(b, a), (a, b)] {
            if let Some((value, count)) = self.shifted(shifted) {
                let (x, y) = (self.integer(value), self.integer(other));
                return put!(self, "shladd", [to] = [x, count, y]);
            }
        }
        let (x, y) = (self.integer(a), self.integer(b));
        put!(self, "add", [to] = [x, y]);
    }

    /// `x << k` and `x * 2^k` for k of `shladd`, of full or unread upper bits.
    pub(super) fn shifted(&self, value: Value) -> Option<(Value, i64)> {
        let data = self.source.defining(value)?;
        if self.ty(value) == Type::Bool {
            return None;
        }
        let (x, count) = match data.op {
            Op::Binary(BinaryOp::Shl, _) => (data.args[0], self.number(data.args[1])?),
            Op::Binary(BinaryOp::Mul, _) => {
                let of = |by: i64| {
                    (by > 0 && (by as u64).is_power_of_two())
                        .then(|| i64::from(by.trailing_zeros()))
                };
                match (self.number(data.args[0]), self.number(data.args[1])) {
                    (None, Some(by)) => (data.args[0], of(by)?),
                    (Some(by), None) => (data.args[1], of(by)?),
                    _ => return None,
                }
            }
            _ => return None,
        };
        // A sum that is read whole wants its parts whole.
        let whole = self.ty(value).bits() == 64;
        ((1..=4).contains(&count)
            && (whole || !self.widths.extended(value))
            && self.number(x).is_none())
        .then_some((x, count))
    }

    pub(super) fn address_sum(&mut self, base: Value, offset: Value, result: Value) {
        let to = self.home(result);
        self.sum(to, base, offset);
    }

    pub(super) fn product(&mut self, mnemonic: Mnemonic, to: Virtual, x: Name, y: Name) {
        let (f, g, h) = (self.float(), self.float(), self.float());
        put!(self, "setf.sig", [f] = [x]);
        put!(self, "setf.sig", [g] = [y]);
        put!(self, mnemonic, [h] = [f, g]);
        put!(self, "getf.sig", [to] = [h]);
    }

    /// A product with a constant: shifts and sums where few of them do, else the multiplier, to which the way is long.
    pub(super) fn times(&mut self, to: Virtual, x: Name, by: i64) {
        let (size, negative) = (by.unsigned_abs(), by < 0);
        if size == 0 {
            return put!(self, "mov", [to] = [Reg::R0]);
        }
        let most = OPERATIONS - u32::from(negative);
        let Some(steps) = factor::steps(size, most) else {
            let y = self.constant(by);
            return self.product(op!("xmpy.l"), to, x, y);
        };
        let last = (!negative).then_some(to);
        let value = self.chain(&steps, x, last);
        if negative {
            put!(self, "sub", [to] = [Reg::R0, value]);
        } else if steps.is_empty() {
            put!(self, "mov", [to] = [value]);
        }
    }

    /// The product that these steps make, in the register of the last where one is given and there are any.
    pub(super) fn chain(&mut self, steps: &[Step], x: Name, to: Option<Virtual>) -> Name {
        let mut values = vec![x];
        for (at, step) in steps.iter().enumerate() {
            let last = to.filter(|_| at + 1 == steps.len());
            let made = last.unwrap_or_else(|| self.general());
            match *step {
                Step::Shift(a, count) => self.shift_left(made, values[a], i64::from(count)),
                Step::Add(a, count @ 1..=4, b) => {
                    put!(
                        self,
                        "shladd",
                        [made] = [values[a], i64::from(count), values[b]]
                    );
                }
                Step::Add(a, count, b) | Step::Subtract(a, count, b) => {
                    let adds = matches!(step, Step::Add(..));
                    let wide = self.general();
                    put!(self, "shl", [wide] = [values[a], i64::from(count)]);
                    let mnemonic = if adds { op!("add") } else { op!("sub") };
                    put!(self, mnemonic, [made] = [wide.into_name(), values[b]]);
                }
            }
            values.push(made.into_name());
        }
        values[steps.len()]
    }

    /// Shifts left by a constant: by a few places without the one unit that shifts.
    fn shift_left(&mut self, to: Virtual, x: Name, count: i64) {
        match count {
            1..=4 => put!(self, "shladd", [to] = [x, count, Name::Fixed(Reg::R0)]),
            _ => put!(self, "shl", [to] = [x, count]),
        }
    }

    /// `(x << k) | (y >> (bits - k))`, whichever way the two are put together: none of their bits meet. Whether it was that.
    fn funnel(&mut self, a: Value, b: Value, to: Virtual) -> bool {
        let bits = i64::from(self.ty(a).bits());
        let shifted = |value: Value, by: BinaryOp| match self.source.defining(value)? {
            data if matches!(data.op, Op::Binary(op, _) if op == by) && data.guard.is_none() => {
                Some((data.args[0], self.number(data.args[1])?))
            }
            _ => None,
        };
        let pair = |left, right| {
            let (x, up) = shifted(left, BinaryOp::Shl)?;
            let (y, down) = shifted(right, BinaryOp::ShrUnsigned)?;
            (up > 0 && down > 0 && up + down == bits).then_some((x, up, y))
        };
        let Some((x, up, y)) = pair(a, b).or_else(|| pair(b, a)) else {
            return false;
        };
        // The pair takes the one unit that shifts, in place of two operations. It does not pay if both are
        // needed all the same, or if one of them would execute on another unit. A value extended behind a
        // shift is extended nowhere else.
        let alone = self.widths.uses[a] == 1 || self.widths.uses[b] == 1;
        let both = self.widths.uses[a] == 1 && self.widths.uses[b] == 1;
        let extended = [a, b]
            .iter()
            .any(|&it| self.widths.extends(self.source, it));
        let fits = match bits {
            64 => alone,
            32 => both && up > 4 && !extended,
            _ => false,
        };
        if fits {
            let (x, y) = (self.integer(x), self.integer(y));
            self.shift_pair(to, (x, up), y, bits);
        }
        fits
    }

    /// `(x << k) | (y >> (bits - k))` of 32 or 64 bits; the bits of `y` above them do not matter.
    fn shift_pair(&mut self, to: Virtual, (x, up): (Name, i64), y: Name, bits: i64) {
        if up == 0 {
            return put!(self, "mov", [to] = [x]);
        }
        let mut below = y;
        if bits == 32 {
            let high = self.general();
            put!(self, "shl", [high] = [y, 32]);
            below = high.into_name();
        }
        put!(self, "shrp", [to] = [x, below, 64 - up]);
    }

    fn shift(&mut self, op: BinaryOp, a: Value, b: Value, to: Virtual) {
        let ty = self.ty(a);
        let bits = i64::from(ty.bits());
        let x = self.integer(a);
        // As an unsigned number of its own width: what is negative is beyond all.
        if let Some(count) = self.number(b) {
            let count = if (0..bits).contains(&count) {
                count
            } else {
                bits
            };
            match op {
                _ if count == 0 => put!(self, "mov", [to] = [x]),
                BinaryOp::Shl if count == bits => put!(self, "mov", [to] = [Reg::R0]),
                BinaryOp::ShrUnsigned if count == bits => put!(self, "mov", [to] = [Reg::R0]),
                BinaryOp::Shl => self.shift_left(to, x, count),
                BinaryOp::ShrUnsigned => put!(self, "extr.u", [to] = [x, count, bits - count]),
                _ => {
                    let count = count.min(bits - 1);
                    put!(self, "extr", [to] = [x, count, bits - count]);
                }
            }
            // A shift by nothing of what is not extended.
            if count == 0 && op == BinaryOp::ShrSigned && bits < 64 {
                let ty = self.ty(a);
                self.written().operations.pop();
                self.sign_extend(to, x, ty);
            }
            return;
        }
        let count = self.integer(b);
        match op {
            BinaryOp::Shl => put!(self, "shl", [to] = [x, count]),
            BinaryOp::ShrUnsigned => {
                let plain = self.plain_integer(a);
                put!(self, "shr.u", [to] = [plain, count]);
            }
            _ => put!(self, "shr", [to] = [x, count]),
        }
    }
}
