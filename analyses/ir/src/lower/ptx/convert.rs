//! `cvt`.

use super::types::Scalar;
use super::*;

impl<'a> Lowering<'a> {
    pub(super) fn cvt(&mut self, i: &'a Instruction, types: &[Scalar]) -> Done {
        if i.modifiers.first().is_some_and(|m| m == "pack") {
            return self.opaque(i);
        }
        let exotic = i.modifiers.iter().any(|m| {
            matches!(m.as_str(), "tf32" | "rs")
                || m.starts_with(['e', 'u']) && m.contains('m')
                || m.starts_with("s2f6")
        });
        if exotic {
            return self.opaque(i);
        }
        let [to, from] = types else { return None };
        let (result, sources) = i.operands.split_first()?;
        if to.lanes == 2 {
            // `cvt.rn.f16x2.f32 d, a, b`: a in the upper half.
            let [upper, lower] = sources else {
                return self.opaque(i);
            };
            let container = to.container();
            let [upper, lower] = [upper, lower].map(|operand| {
                let value = self.read(operand, from.ty, from.signed);
                let value = self.convert_scalar(i, value, *from, Scalar { lanes: 1, ..*to });
                let value = self.as_integer(value);
                self.resize(value, container, false)
            });
            let bits = self.b.int(Type::I32, i64::from(to.ty.bits()));
            let upper = self.b.binary(BinaryOp::Shl, Wrap::MAY, upper, bits);
            let value = self.b.binary(BinaryOp::Or, Wrap::MAY, upper, lower);
            self.write(result, value, false);
            return Some(());
        }
        if from.lanes == 2 {
            return self.opaque(i);
        }
        let value = self.read(sources.first()?, from.ty, from.signed);
        let value = self.convert_scalar(i, value, *from, *to);
        self.write(result, value, to.signed);
        Some(())
    }

    fn convert_scalar(&mut self, i: &Instruction, value: Value, from: Scalar, to: Scalar) -> Value {
        let rounded = [
            ("rni", UnaryOp::RoundEven),
            ("rzi", UnaryOp::TruncFloat),
            ("rmi", UnaryOp::Floor),
            ("rpi", UnaryOp::Ceil),
        ]
        .into_iter()
        .find(|(name, _)| i.has(name))
        .map(|(_, op)| op);
        match (from.ty.is_float(), to.ty.is_float()) {
            (false, false) => {
                if !i.has("sat") {
                    return self.resize(value, to.ty, from.signed);
                }
                self.saturating(value, from, to)
            }
            (false, true) => {
                let kind = if from.signed {
                    Convert::SignedToFloat
                } else {
                    Convert::UnsignedToFloat
                };
                let value = self.b.convert(kind, value, to.ty);
                self.finish_float(i, value, to)
            }
            (true, false) => {
                let value = match rounded {
                    None | Some(UnaryOp::TruncFloat) => value,
                    Some(op) => self.b.unary(op, value),
                };
                let kind = if to.signed {
                    Convert::FloatToSigned
                } else {
                    Convert::FloatToUnsigned
                };
                self.b.convert(kind, value, to.ty)
            }
            (true, true) => {
                let value = match rounded {
                    None => value,
                    Some(op) => self.b.unary(op, value),
                };
                let value = if from.ty == to.ty {
                    value
                } else {
                    self.b.convert(Convert::FloatToFloat, value, to.ty)
                };
                self.finish_float(i, value, to)
            }
        }
    }

    fn finish_float(&mut self, i: &Instruction, value: Value, to: Scalar) -> Value {
        if i.has("relu") {
            let zero = self.b.float(to.ty, 0.0);
            return self.b.binary(BinaryOp::FloatMax, Wrap::MAY, value, zero);
        }
        if i.has("sat") {
            return self.b.unary(UnaryOp::Saturate, value);
        }
        value
    }

    /// Integer to integer, clamped to the target's range.
    fn saturating(&mut self, value: Value, from: Scalar, to: Scalar) -> Value {
        // One more bit than either so that every bound is representable; 64 bits compare in their own type.
        let wide = Type::I64;
        let value = self.resize(value, wide, from.signed);
        let bits = to.ty.bits();
        let signed_min = if bits == 64 {
            i64::MIN
        } else {
            -(1i64 << (bits - 1))
        };
        let (low, high) = if to.signed {
            (signed_min, !signed_min)
        } else if bits == 64 {
            (0, i64::MAX)
        } else {
            (0, (1i64 << bits) - 1)
        };
        let mut value = value;
        if from.signed {
            let low = self.b.int(wide, low);
            value = self.b.binary(BinaryOp::MaxSigned, Wrap::MAY, value, low);
            if bits != 64 || to.signed {
                let high = self.b.int(wide, high);
                value = self.b.binary(BinaryOp::MinSigned, Wrap::MAY, value, high);
            }
        } else if bits != 64 || to.signed {
            let high = self.b.int(wide, high);
            value = self.b.binary(BinaryOp::MinUnsigned, Wrap::MAY, value, high);
        }
        self.resize(value, to.ty, false)
    }
}
