//! Fractional arithmetic: saturating sums and shifts, products of fractions, rounding, normalising; operands at the limits
//! more often than elsewhere.

use super::emit::{Emitter, full};
use ir::entity::Value;
use ir::inst::*;
use ir::types::Type;

impl Emitter<'_> {
    /// An operation of at most 32 bits.
    pub(super) fn fractional(&mut self) {
        let narrow = self.shape.narrow;
        let ty = match narrow && self.random.percent(50) {
            true => Type::I16,
            false => Type::I32,
        };
        let a = self.near_limits(ty);
        let value = match self.random.below(if narrow { 12 } else { 9 }) {
            0 | 1 => {
                let b = self.near_limits(ty);
                self.b.binary(BinaryOp::AddSaturateSigned, Wrap::MAY, a, b)
            }
            2 => {
                let b = self.near_limits(ty);
                self.b.binary(BinaryOp::SubSaturateSigned, Wrap::MAY, a, b)
            }
            3 => self.b.unary(UnaryOp::AbsSaturateSigned, a),
            4 => {
                let to = self.int_type();
                self.b.value(Op::Unary(UnaryOp::Normalize), &[a], to)
            }
            5 | 6 => self.moved(BinaryOp::ShlSaturateSigned, a, ty),
            7 => self.moved(BinaryOp::ShrSaturateSigned, a, ty),
            8 => {
                let b = self.near_limits(ty);
                self.b.binary(BinaryOp::DivFractional, Wrap::MAY, a, b)
            }
            9 => {
                let (x, y) = (self.near_limits(Type::I16), self.near_limits(Type::I16));
                let product = Op::Binary(BinaryOp::MulFractional, Wrap::MAY);
                self.b.value(product, &[x, y], Type::I32)
            }
            10 => {
                let wide = self.near_limits(Type::I32);
                self.b
                    .value(Op::Unary(UnaryOp::RoundHigh), &[wide], Type::I16)
            }
            _ => {
                let wide = self.near_limits(Type::I32);
                self.b.convert(Convert::SaturateSigned, wide, Type::I16)
            }
        };
        let ty = self.b.function.ty(value);
        self.add(value, full(ty));
    }

    /// A shift mostly by few places, by a number or by a value.
    fn moved(&mut self, op: BinaryOp, value: Value, ty: Type) -> Value {
        let places = match self.random.below(3) {
            0 => {
                let bits = i64::from(ty.bits());
                let places = self.random.between(-bits - 2, bits + 2);
                self.b.int(ty, places)
            }
            1 => {
                let by = self.any(ty);
                let mask = self.b.int(ty, 15);
                self.b.binary(BinaryOp::And, Wrap::MAY, by, mask)
            }
            _ => self.any(ty),
        };
        self.b.binary(op, Wrap::MAY, value, places)
    }

    fn near_limits(&mut self, ty: Type) -> Value {
        if !self.random.percent(30) {
            return self.any(ty);
        }
        let (low, high) = full(ty);
        let inward = self.random.between(0, 2);
        let number = match self.random.percent(50) {
            true => low + inward,
            false => high - inward,
        };
        self.b.int(ty, number)
    }
}
