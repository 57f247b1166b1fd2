//! Integer arithmetic, carries, shifts, bit operations.

use super::types::Scalar;
use super::*;

impl<'a> Lowering<'a> {
    pub(super) fn integer(&mut self, i: &'a Instruction, ty: Scalar) -> Done {
        let opcode = i.opcode.text.as_str();
        if matches!(opcode, "add" | "sub" | "mad" | "addc" | "subc" | "madc")
            && (i.has("cc") || opcode.ends_with('c') && opcode != "cc")
        {
            return self.carrying(i, ty);
        }
        let (result, sources) = i.operands.split_first()?;
        let source = |number: usize| sources.get(number);
        let binary = |op: BinaryOp| Some((op, source(0)?, source(1)?));
        let simple = match opcode {
            "add" if i.has("sat") => binary(BinaryOp::AddSaturateSigned)?,
            "sub" if i.has("sat") => binary(BinaryOp::SubSaturateSigned)?,
            "add" => binary(BinaryOp::Add)?,
            "sub" => binary(BinaryOp::Sub)?,
            "div" if ty.signed => binary(BinaryOp::DivSigned)?,
            "div" => binary(BinaryOp::DivUnsigned)?,
            "rem" if ty.signed => binary(BinaryOp::RemSigned)?,
            "rem" => binary(BinaryOp::RemUnsigned)?,
            "min" if ty.signed => binary(BinaryOp::MinSigned)?,
            "min" => binary(BinaryOp::MinUnsigned)?,
            "max" if ty.signed => binary(BinaryOp::MaxSigned)?,
            "max" => binary(BinaryOp::MaxUnsigned)?,
            "and" => binary(BinaryOp::And)?,
            "or" => binary(BinaryOp::Or)?,
            "xor" => binary(BinaryOp::Xor)?,
            _ => return self.other_integer(i, ty, result, sources),
        };
        let (op, a, b) = simple;
        let relu = i.has("relu");
        let value = self.lanewise(ty, &[a, b], |this, args| {
            let value = this.b.binary(op, Wrap::MAY, args[0], args[1]);
            if !relu {
                return value;
            }
            let zero = this.b.int(ty.ty, 0);
            this.b.binary(BinaryOp::MaxSigned, Wrap::MAY, value, zero)
        });
        self.write(result, value, ty.signed);
        Some(())
    }

    fn other_integer(
        &mut self,
        i: &'a Instruction,
        ty: Scalar,
        result: &'a Operand,
        sources: &'a [Operand],
    ) -> Done {
        let opcode = i.opcode.text.as_str();
        let first = sources.first()?;
        let value = match opcode {
            "mul" | "mad" if i.has("wide") => {
                let product = self.wide_product(first, sources.get(1)?, ty);
                self.plus(product, i, sources)?
            }
            "mul" | "mad" if i.has("hi") => {
                let a = self.read(first, ty.ty, ty.signed);
                let b = self.read(sources.get(1)?, ty.ty, ty.signed);
                let op = if ty.signed {
                    BinaryOp::MulHighSigned
                } else {
                    BinaryOp::MulHighUnsigned
                };
                let product = self.b.binary(op, Wrap::MAY, a, b);
                if i.has("sat") {
                    let c = self.read(sources.get(2)?, ty.ty, ty.signed);
                    self.b
                        .binary(BinaryOp::AddSaturateSigned, Wrap::MAY, product, c)
                } else {
                    self.plus(product, i, sources)?
                }
            }
            "mul" | "mad" => {
                let a = self.read(first, ty.ty, ty.signed);
                let b = self.read(sources.get(1)?, ty.ty, ty.signed);
                let product = self.b.binary(BinaryOp::Mul, Wrap::MAY, a, b);
                self.plus(product, i, sources)?
            }
            "mul24" | "mad24" if i.has("hi") => return self.opaque(i),
            "mul24" | "mad24" => {
                let a = self.read(first, ty.ty, ty.signed);
                let b = self.read(sources.get(1)?, ty.ty, ty.signed);
                let op = if ty.signed {
                    BinaryOp::Mul24Signed
                } else {
                    BinaryOp::Mul24Unsigned
                };
                let product = self.b.binary(op, Wrap::MAY, a, b);
                self.plus(product, i, sources)?
            }
            "sad" => {
                let op = if ty.signed {
                    TernaryOp::SadSigned
                } else {
                    TernaryOp::SadUnsigned
                };
                self.ternary(op, sources, ty.ty, ty.signed)?
            }
            "abs" => self.lanewise(ty, &[first], |this, args| {
                this.b.unary(UnaryOp::IntAbs, args[0])
            }),
            "neg" => self.lanewise(ty, &[first], |this, args| {
                this.b.unary(UnaryOp::Neg, args[0])
            }),
            "not" => {
                let a = self.read(first, ty.ty, false);
                self.b.unary(UnaryOp::Not, a)
            }
            "cnot" => {
                let a = self.read(first, ty.ty, false);
                let zero = self.b.int(ty.ty, 0);
                let none = self.b.int_compare(IntCondition::Equal, a, zero);
                self.b.convert(Convert::ZeroExtend, none, ty.ty)
            }
            "popc" | "clz" => {
                let a = self.read(first, ty.ty, false);
                let op = if opcode == "popc" {
                    UnaryOp::PopCount
                } else {
                    UnaryOp::CountLeadingZeros
                };
                self.b.value(Op::Unary(op), &[a], Type::I32)
            }
            "brev" => {
                let a = self.read(first, ty.ty, false);
                self.b.unary(UnaryOp::ReverseBits, a)
            }
            "bfind" => {
                let a = self.read(first, ty.ty, ty.signed);
                let op = if ty.signed {
                    UnaryOp::FindHighBitSigned
                } else {
                    UnaryOp::FindHighBitUnsigned
                };
                let place = self.b.value(Op::Unary(op), &[a], Type::I32);
                if i.has("shiftamt") {
                    let none = self.b.int(Type::I32, -1);
                    let top = self.b.int(Type::I32, i64::from(ty.ty.bits()) - 1);
                    let absent = self.b.int_compare(IntCondition::Equal, place, none);
                    let amount = self.b.binary(BinaryOp::Sub, Wrap::MAY, top, place);
                    self.b.select(absent, none, amount)
                } else {
                    place
                }
            }
            "bfe" => {
                let a = self.read(first, ty.ty, ty.signed);
                let position = self.read(sources.get(1)?, Type::I32, false);
                let length = self.read(sources.get(2)?, Type::I32, false);
                let op = if ty.signed {
                    TernaryOp::BitExtractSigned
                } else {
                    TernaryOp::BitExtractUnsigned
                };
                self.b.value(Op::Ternary(op), &[a, position, length], ty.ty)
            }
            "bfi" => {
                let field = self.read(first, ty.ty, false);
                let base = self.read(sources.get(1)?, ty.ty, false);
                let position = self.read(sources.get(2)?, Type::I32, false);
                let length = self.read(sources.get(3)?, Type::I32, false);
                let args = [field, base, position, length];
                self.b
                    .value(Op::Ternary(TernaryOp::BitInsert), &args, ty.ty)
            }
            "dp4a" => {
                let types: Vec<bool> = i
                    .modifiers
                    .iter()
                    .filter_map(|m| types::scalar(m))
                    .map(|s| s.signed)
                    .collect();
                let op = match types[..] {
                    [true, true] => TernaryOp::Dot4Signed,
                    [false, false] => TernaryOp::Dot4Unsigned,
                    _ => return self.opaque(i),
                };
                self.ternary(op, sources, Type::I32, false)?
            }
            "lop3" => {
                let [a, b, c, table, ..] = sources else {
                    return None;
                };
                if matches!(result, Operand::Pair(..)) {
                    return self.opaque(i);
                }
                let args = [a, b, c, table].map(|o| self.read(o, Type::I32, false));
                self.b.value(Op::Ternary(TernaryOp::Lop3), &args, Type::I32)
            }
            "shl" | "shr" => {
                let a = self.read(first, ty.ty, ty.signed);
                let amount = self.read(sources.get(1)?, Type::I32, false);
                let op = match (opcode, ty.signed) {
                    ("shl", _) => BinaryOp::Shl,
                    (_, true) => BinaryOp::ShrSigned,
                    (_, false) => BinaryOp::ShrUnsigned,
                };
                self.b.value(Op::Binary(op, Wrap::MAY), &[a, amount], ty.ty)
            }
            "shf" => {
                let low = self.read(first, Type::I32, false);
                let high = self.read(sources.get(1)?, Type::I32, false);
                let amount = self.read(sources.get(2)?, Type::I32, false);
                let left = i.has("l");
                let op = if left {
                    TernaryOp::FunnelLeft
                } else {
                    TernaryOp::FunnelRight
                };
                let shifted = self
                    .b
                    .value(Op::Ternary(op), &[low, high, amount], Type::I32);
                if i.has("clamp") {
                    // A shift by 32 or more gives the other half.
                    let limit = self.b.int(Type::I32, 32);
                    let over =
                        self.b
                            .int_compare(IntCondition::GreaterEqualUnsigned, amount, limit);
                    let other = if left { low } else { high };
                    self.b.select(over, other, shifted)
                } else {
                    shifted
                }
            }
            _ => return None,
        };
        self.write(result, value, ty.signed);
        Some(())
    }

    fn ternary(
        &mut self,
        op: TernaryOp,
        sources: &[Operand],
        ty: Type,
        signed: bool,
    ) -> Option<Value> {
        let [a, b, c, ..] = sources else { return None };
        let args = [a, b, c].map(|operand| self.read(operand, ty, signed));
        Some(self.b.value(Op::Ternary(op), &args, ty))
    }

    /// Twice as wide as the operands; can't overflow.
    fn wide_product(&mut self, a: &Operand, b: &Operand, ty: Scalar) -> Value {
        let wide = Type::int(ty.ty.bits() * 2);
        let (kind, wrap) = if ty.signed {
            (Convert::SignExtend, Wrap::NO_SIGNED)
        } else {
            (Convert::ZeroExtend, Wrap::NO_UNSIGNED)
        };
        let [a, b] = [a, b].map(|operand| {
            // A literal needs no extension.
            if let Operand::Integer(value, _) = operand {
                let bits = 64 - ty.ty.bits();
                let value = if ty.signed {
                    value << bits >> bits
                } else {
                    ((*value as u64) << bits >> bits) as i64
                };
                return self.b.int(wide, value);
            }
            let value = self.read(operand, ty.ty, ty.signed);
            self.b.convert(kind, value, wide)
        });
        self.b.binary(BinaryOp::Mul, wrap, a, b)
    }

    /// The addend of `mad`.
    fn plus(&mut self, product: Value, i: &Instruction, sources: &[Operand]) -> Option<Value> {
        if !i.opcode.text.starts_with("mad") {
            return Some(product);
        }
        let ty = self.b.function.ty(product);
        let addend = self.read(sources.get(2)?, ty, true);
        Some(self.b.binary(BinaryOp::Add, Wrap::MAY, product, addend))
    }

    fn carry_slot(&mut self) -> Slot {
        match self.carry {
            Some(slot) => slot,
            None => {
                let slot = self.b.slot(Type::Bool);
                self.carry = Some(slot);
                slot
            }
        }
    }

    /// `add.cc`, `addc`, `sub.cc`, `subc`, `mad.cc`, `madc`.
    fn carrying(&mut self, i: &'a Instruction, ty: Scalar) -> Done {
        let (result, sources) = i.operands.split_first()?;
        let opcode = i.opcode.text.as_str();
        let with_carry = opcode.ends_with('c');
        let subtract = opcode.starts_with("sub");
        let (a, b) = if opcode.starts_with("mad") {
            let x = self.read(sources.first()?, ty.ty, ty.signed);
            let y = self.read(sources.get(1)?, ty.ty, ty.signed);
            let op = match (i.has("hi"), ty.signed) {
                (false, _) => BinaryOp::Mul,
                (true, true) => BinaryOp::MulHighSigned,
                (true, false) => BinaryOp::MulHighUnsigned,
            };
            let product = self.b.binary(op, Wrap::MAY, x, y);
            (product, self.read(sources.get(2)?, ty.ty, ty.signed))
        } else {
            let a = self.read(sources.first()?, ty.ty, ty.signed);
            (a, self.read(sources.get(1)?, ty.ty, ty.signed))
        };
        let op = if subtract {
            BinaryOp::Sub
        } else {
            BinaryOp::Add
        };
        let first = self.b.binary(op, Wrap::MAY, a, b);
        let mut carry = if subtract {
            self.b.int_compare(IntCondition::LessUnsigned, a, b)
        } else {
            self.b.int_compare(IntCondition::LessUnsigned, first, a)
        };
        let slot = self.carry_slot();
        let mut value = first;
        if with_carry {
            let before = self.b.read(slot);
            let before = self.b.convert(Convert::ZeroExtend, before, ty.ty);
            value = self.b.binary(op, Wrap::MAY, first, before);
            let again = if subtract {
                self.b
                    .int_compare(IntCondition::LessUnsigned, first, before)
            } else {
                self.b.int_compare(IntCondition::LessUnsigned, value, first)
            };
            carry = self.b.binary(BinaryOp::Or, Wrap::MAY, carry, again);
        }
        if i.has("cc") {
            if let Some(guard) = self.guard {
                let old = self.b.read(slot);
                carry = if guard.negated {
                    self.b.select(guard.value, old, carry)
                } else {
                    self.b.select(guard.value, carry, old)
                };
            }
            self.b.write(slot, carry);
        }
        self.write(result, value, ty.signed);
        Some(())
    }
}
