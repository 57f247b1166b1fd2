//! Bit-fields of C: read and written in the unit of their type, whose other bits stay.
//!
//! ```text
//! struct { unsigned a : 3, b : 5; } s;  s.b = v;      unit = load s;  store s, unit & ~(31 << 3) | (v & 31) << 3
//! ```
//! A unit is the aligned storage of the declared type, so that no bit-field lies in two of them. Units of
//! neighbours overlap where their types differ: accesses say that they are of no type.

use super::context::Context;
use super::types::*;
use super::value::*;
use crate::inst::*;
use crate::types::Type;

impl Context<'_> {
    /// An access of a value's bytes says that it is one.
    pub(super) fn whatever(&self, mut access: MemoryAccess, ty: &CType) -> MemoryAccess {
        access.untyped |= self.is_c() && self.structs.has_words(ty);
        access
    }

    /// The number that a bit-field holds, promoted: all that it holds is an `int` where that has room.
    pub(super) fn load_bits(
        &mut self,
        ty: &CType,
        unit_at: &Place,
        bits: Bits,
        unit: Type,
    ) -> RValue {
        let Place::Memory { address, access } = *unit_at else {
            return self.undefined(ty);
        };
        let whole = self.builder.load(access, address, unit);
        let above = unit.bits() - u32::from(bits.first) - u32::from(bits.width);
        let number = self.shifted(BinaryOp::Shl, whole, above);
        let down = match ty.is_signed() {
            true => BinaryOp::ShrSigned,
            false => BinaryOp::ShrUnsigned,
        };
        let number = self.shifted(down, number, unit.bits() - u32::from(bits.width));
        if matches!(ty, CType::Bool) {
            let zero = self.builder.int(unit, 0);
            let set = self
                .builder
                .int_compare(IntCondition::NotEqual, number, zero);
            return RValue::scalar(CType::Bool, set);
        }
        if bits.width < 32 || bits.width == 32 && ty.is_signed() {
            let number = match unit {
                Type::I32 => number,
                Type::I64 => self.builder.convert(Convert::Truncate, number, Type::I32),
                _ if ty.is_signed() => self.builder.convert(Convert::SignExtend, number, Type::I32),
                _ => self.builder.convert(Convert::ZeroExtend, number, Type::I32),
            };
            return RValue::scalar(CType::INT, number);
        }
        RValue::scalar(ty.clone(), number)
    }

    /// Stores a value of the member's type; the result is the member's value afterwards.
    pub(super) fn store_bits(
        &mut self,
        value: RValue,
        unit_at: &Place,
        bits: Bits,
        unit: Type,
    ) -> RValue {
        let (Place::Memory { address, access }, Some(number)) = (unit_at, value.first()) else {
            return value;
        };
        let (address, access) = (*address, *access);
        let number = match self.builder.function.ty(number) {
            Type::Bool => self.builder.convert(Convert::ZeroExtend, number, unit),
            _ => number,
        };
        let all = mask(bits.width);
        if u32::from(bits.width) == unit.bits() {
            self.builder.store(access, address, &[number]);
            return value;
        }
        let whole = self.builder.load(access, address, unit);
        let others = self.builder.int(unit, !(all << bits.first) as i64);
        let others = self.builder.binary(BinaryOp::And, Wrap::MAY, whole, others);
        let own = self.builder.int(unit, all as i64);
        let own = self.builder.binary(BinaryOp::And, Wrap::MAY, number, own);
        let own = self.shifted(BinaryOp::Shl, own, u32::from(bits.first));
        let whole = self.builder.binary(BinaryOp::Or, Wrap::MAY, others, own);
        self.builder.store(access, address, &[whole]);
        self.cut(value, bits.width)
    }

    fn shifted(
        &mut self,
        op: BinaryOp,
        value: crate::entity::Value,
        by: u32,
    ) -> crate::entity::Value {
        if by == 0 {
            return value;
        }
        let ty = self.builder.function.ty(value);
        let by = self.builder.int(ty, i64::from(by));
        self.builder.binary(op, Wrap::MAY, value, by)
    }
}

fn mask(width: u8) -> u64 {
    match width {
        64.. => u64::MAX,
        width => (1 << width) - 1,
    }
}

/// Sets a bit-field of a static object, whose unit has these bytes.
pub(super) fn merge(unit: &mut [u8], content: &[u8], bits: Bits) {
    let number = |bytes: &[u8]| {
        let each = bytes.iter().enumerate();
        each.fold(0u64, |sum, (at, byte)| sum | u64::from(*byte) << (8 * at))
    };
    let all = mask(bits.width) << bits.first;
    let merged = number(unit) & !all | number(content) << bits.first & all;
    let length = unit.len().min(8);
    unit[..length].copy_from_slice(&merged.to_le_bytes()[..length]);
}
