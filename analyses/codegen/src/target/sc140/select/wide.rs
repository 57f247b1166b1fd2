//! High halves of numbers of 64 bits, and high halves of products.

use super::super::code::Virtual;
use super::Selection;
use crate::select::Select;
use ir::{BinaryOp, Convert, Op, Type, Value};
use isa::sc140::Opcode;

impl Selection<'_> {
    /// The high and the low half of a number of 64 bits: one from outside, a constant, or one that is made of halves.
    pub(super) fn halves(&mut self, value: Value) -> [Virtual; 2] {
        if let Some(number) = self.number(value) {
            return [number >> 32, number].map(|half| self.constant(half));
        }
        if let Some(&high) = self.highs.get(&value) {
            return [high, self.read(value)];
        }
        let source = self.source;
        let made = source.defining(value).map(|data| (&data.op, &data.args));
        let is_high = |value: Value| {
            let data = source.defining(value)?;
            let moved = matches!(data.op, Op::Binary(BinaryOp::Shl, _));
            let half = moved && source.int_constant(data.args[1]) == Some(32);
            half.then(|| data.args[0])
        };
        match made {
            Some((Op::Binary(BinaryOp::Or, _), args)) => {
                let sides = [(args[0], args[1]), (args[1], args[0])];
                let parts = sides
                    .into_iter()
                    .find_map(|(low, high)| Some((low, is_high(high)?)));
                if let Some((low, high)) = parts {
                    return [high, low].map(|half| self.integer(half));
                }
                for (low, high) in sides {
                    if let Some(number) = self.number(high).filter(|&number| number as u32 == 0) {
                        return [self.constant(number >> 32), self.integer(low)];
                    }
                }
            }
            Some((Op::Binary(BinaryOp::Shl, _), _)) => {
                if let Some(high) = is_high(value) {
                    return [self.integer(high), self.constant(0)];
                }
            }
            Some((Op::Convert(Convert::ZeroExtend), _)) => {
                return [self.constant(0), self.integer(value)];
            }
            // An address has 32 bits.
            Some((Op::Convert(Convert::Bitcast), args))
                if matches!(self.ty(args[0]), Type::Ptr(_)) =>
            {
                return [self.constant(0), self.integer(value)];
            }
            Some((Op::Convert(Convert::SignExtend), args)) if self.ty(args[0]) == Type::I40 => {
                let whole = self.integer(args[0]);
                let above = self.copied(whole);
                for places in [16, 16] {
                    self.put(Opcode::Asrr, above, &[places.into()]);
                }
                return [above, whole].map(|from| {
                    let half = self.data();
                    self.sign_extend(half, from, Type::I32);
                    half
                });
            }
            Some((Op::Convert(Convert::SignExtend), _)) => {
                let low = self.integer(value);
                let high = self.sign(low);
                return [high, low];
            }
            _ => {}
        }
        self.no_form("high half", Type::I64);
        [self.constant(0), self.constant(0)]
    }

    /// Copies of the sign of a number of 32 bits.
    fn sign(&mut self, from: Virtual) -> Virtual {
        let high = self.data();
        self.put(Opcode::SxtL, high, &[from.into()]);
        self.put(Opcode::Asrr, high, &[31.into()]);
        high
    }

    /// The high half of a product of numbers of 32 bits.
    pub(super) fn high_product(&mut self, signed: bool, args: [Value; 2], result: Value) {
        let [a, b] = args.map(|arg| self.integer(arg));
        // Products of halves; what the middle ones carry is kept in the guard bits.
        let low = self.data();
        self.put(Opcode::Impyuu, low, &[a.into(), b.into()]);
        let middle = self.data();
        self.field(middle, low, 16, 16);
        let first = self.data();
        self.out.kept.push(first);
        self.put(Opcode::Impyhluu, first, &[a.into(), b.into()]);
        self.put(Opcode::Imaclhuu, first, &[a.into(), b.into()]);
        self.put(Opcode::Iadd, first, &[middle.into()]);
        self.put(Opcode::Asrr, first, &[16.into()]);
        let uppers = [a, b].map(|from| {
            let upper = self.data();
            self.field(upper, from, 16, 16);
            upper
        });
        let high = self.data();
        self.put(Opcode::Impyuu, high, &uppers.map(Into::into));
        self.put(Opcode::Iadd, high, &[first.into()]);
        if signed {
            // Less each factor where the other one is negative: ~(~high + ...).
            self.put(Opcode::Not, high, &[high.into()]);
            for (negative, factor) in [(a, b), (b, a)] {
                let part = self.sign(negative);
                self.put(Opcode::And, part, &[factor.into()]);
                self.put(Opcode::Iadd, high, &[part.into()]);
            }
            self.put(Opcode::Not, high, &[high.into()]);
        }
        let raw = self.target(result);
        self.copy(raw, high);
        self.settle(result, raw);
    }

    /// Zeros in front of a number.
    pub(super) fn leading_zeros(&mut self, from: Virtual, ty: Type, result: Value) {
        let plain = self.data();
        self.out.kept.push(plain);
        self.zero_extend(plain, from, ty);
        let places = self.data();
        self.put(Opcode::Clb, places, &[plain.into()]);
        self.put(Opcode::Neg, places, &[]);
        // Nine less the copies, of which eight are guard bits.
        let above = 1 - (32 - i64::from(ty.bits()));
        self.put(Opcode::IaddncW, places, &[above.into()]);
        let to = self.home(result);
        self.copy(to, places);
    }
}
