//! Moves, comparisons, selections, address-space conversions.

use super::scope::Named;
use super::types::Scalar;
use super::*;

impl<'a> Lowering<'a> {
    pub(super) fn data(&mut self, i: &'a Instruction, types: &[Scalar]) -> Done {
        let ty = *types.last()?;
        match i.opcode.text.as_str() {
            "mov" => self.mov(i, ty),
            "setp" => self.setp(i, ty),
            "set" => {
                let [to, from] = types else { return None };
                self.set(i, *to, *from)
            }
            "selp" => {
                let [result, a, b, p, ..] = &i.operands[..] else {
                    return None;
                };
                let container = ty.container();
                let a = self.read(a, container, ty.signed);
                let b = self.read(b, container, ty.signed);
                let p = self.read(p, Type::Bool, false);
                let value = self.b.select(p, a, b);
                self.write(result, value, ty.signed);
                Some(())
            }
            "slct" => {
                let [to, by] = types else { return None };
                let [result, a, b, c, ..] = &i.operands[..] else {
                    return None;
                };
                let a = self.read(a, to.ty, to.signed);
                let b = self.read(b, to.ty, to.signed);
                let c = self.read(c, by.ty, by.signed);
                let condition = if by.ty.is_float() {
                    let zero = self.b.float(by.ty, 0.0);
                    self.b.float_compare(FloatCondition::GreaterEqual, c, zero)
                } else {
                    let zero = self.b.int(by.ty, 0);
                    self.b
                        .int_compare(IntCondition::GreaterEqualSigned, c, zero)
                };
                let value = self.b.select(condition, a, b);
                self.write(result, value, to.signed);
                Some(())
            }
            "prmt" => {
                if i.modifiers.len() > 1 {
                    return self.opaque(i);
                }
                let [result, a, b, c, ..] = &i.operands[..] else {
                    return None;
                };
                let args = [a, b, c].map(|operand| self.read(operand, Type::I32, false));
                let value = self
                    .b
                    .value(Op::Ternary(TernaryOp::BytePermute), &args, Type::I32);
                self.write(result, value, false);
                Some(())
            }
            "cvta" => self.cvta(i, ty),
            _ => None,
        }
    }

    fn mov(&mut self, i: &'a Instruction, ty: Scalar) -> Done {
        let [result, source, ..] = &i.operands[..] else {
            return None;
        };
        if ty.is_wide() {
            let halves = self.halves(source)?;
            self.write_halves(result, &halves);
            return Some(());
        }
        // Vectors of registers on both sides, or a vector register.
        let vector = i
            .modifiers
            .iter()
            .any(|m| matches!(m.as_str(), "v2" | "v4"));
        if vector && let (Operand::Vector(to, _), Operand::Vector(from, _)) = (result, source) {
            let values: Vec<Value> = from
                .iter()
                .map(|operand| self.read(operand, ty.ty, ty.signed))
                .collect();
            for (place, value) in to.iter().zip(values) {
                self.write(place, value, ty.signed);
            }
            return Some(());
        }
        if let Operand::Vector(parts, _) = result {
            // Unpacking: the parts take equal shares of the source.
            let value = self.read(source, ty.container(), false);
            let whole = self.as_integer(value);
            let bits = ty.container().bits() / (parts.len() as u32).max(1);
            let lanes: Vec<Value> = (0..parts.len() as u32)
                .map(|number| self.lane(whole, number * bits, Type::int(bits)))
                .collect();
            self.b.vector(&lanes);
            for (part, lane) in parts.iter().zip(lanes) {
                self.write(part, lane, false);
            }
            return Some(());
        }
        let value = self.read(source, ty.container(), ty.signed);
        self.write(result, value, ty.signed);
        Some(())
    }

    /// The two 64-bit halves of a 128-bit operand.
    pub(super) fn halves(&mut self, operand: &Operand) -> Option<SmallVec<[Value; 2]>> {
        match operand {
            Operand::Vector(parts, _) if parts.len() == 2 => Some(
                parts
                    .iter()
                    .map(|part| self.read(part, Type::I64, false))
                    .collect(),
            ),
            Operand::Name(name) => match self.lookup(&name.text)? {
                Named::Register(register) if register.slots.len() == 2 => Some(
                    register
                        .slots
                        .iter()
                        .map(|&slot| {
                            let value = self.b.read(slot);
                            self.resize(value, Type::I64, false)
                        })
                        .collect(),
                ),
                _ => None,
            },
            Operand::Integer(value, _) => {
                let low = self.b.int(Type::I64, *value);
                let high = self.b.int(Type::I64, value >> 63);
                Some(SmallVec::from_slice(&[low, high]))
            }
            _ => None,
        }
    }
    pub(super) fn write_halves(&mut self, place: &Operand, halves: &[Value]) {
        match place {
            Operand::Vector(parts, _) => {
                for (part, &half) in parts.iter().zip(halves) {
                    self.write(part, half, false);
                }
            }
            Operand::Name(name) => {
                for (selector, &half) in ["x", "y"].into_iter().zip(halves) {
                    let part = Operand::Component(name.clone(), SmolStr::new_static(selector));
                    self.write(&part, half, false);
                }
            }
            _ => {}
        }
    }

    /// `setp.lt.and.s32 p|q, a, b, c`
    fn setp(&mut self, i: &'a Instruction, ty: Scalar) -> Done {
        if ty.lanes == 2 {
            return self.opaque(i);
        }
        let (result, sources) = i.operands.split_first()?;
        let a = sources.first()?;
        let b = sources.get(1)?;
        let holds = self.compare(i, a, b, ty)?;
        let (first, second) = match result {
            Operand::Pair(p, q, _) => (&**p, Some(&**q)),
            other => (other, None),
        };
        let mut values: SmallVec<[(&Operand, Value); 2]> = SmallVec::new();
        values.push((first, holds));
        if let Some(second) = second {
            let inverse = self.b.unary(UnaryOp::Not, holds);
            values.push((second, inverse));
        }
        if let Some(c) = sources.get(2) {
            let op = boolean(i)?;
            let c = self.read(c, Type::Bool, false);
            for (_, value) in &mut values {
                *value = self.b.binary(op, Wrap::MAY, *value, c);
            }
        }
        for (place, value) in values {
            self.write(place, value, false);
        }
        Some(())
    }

    fn set(&mut self, i: &'a Instruction, to: Scalar, from: Scalar) -> Done {
        if from.lanes == 2 || to.lanes == 2 {
            return self.opaque(i);
        }
        let (result, sources) = i.operands.split_first()?;
        let mut holds = self.compare(i, sources.first()?, sources.get(1)?, from)?;
        if let Some(c) = sources.get(2) {
            let op = boolean(i)?;
            let c = self.read(c, Type::Bool, false);
            holds = self.b.binary(op, Wrap::MAY, holds, c);
        }
        let value = if to.ty.is_float() {
            let (one, zero) = (self.b.float(to.ty, 1.0), self.b.float(to.ty, 0.0));
            self.b.select(holds, one, zero)
        } else {
            self.b.convert(Convert::SignExtend, holds, to.ty)
        };
        self.write(result, value, to.signed);
        Some(())
    }

    fn compare(&mut self, i: &Instruction, a: &Operand, b: &Operand, ty: Scalar) -> Option<Value> {
        let a = self.read(a, ty.ty, ty.signed);
        let b = self.read(b, ty.ty, ty.signed);
        // Compilers of the first PTX versions print `.ftz` before the comparison.
        let mut names = i.modifiers.iter();
        if ty.ty.is_float() {
            let condition = names.find_map(|name| float_condition(name))?;
            return Some(self.b.float_compare(condition, a, b));
        }
        let condition = names.find_map(|name| int_condition(name, ty.signed))?;
        Some(self.b.int_compare(condition, a, b))
    }

    /// `cvta.global.u64` gives the generic address, `cvta.to.global.u64` takes one.
    fn cvta(&mut self, i: &'a Instruction, ty: Scalar) -> Done {
        let [result, source, ..] = &i.operands[..] else {
            return None;
        };
        let to = i.has("to");
        let space = i
            .modifiers
            .iter()
            .find_map(|m| super::memory::space(m))
            .unwrap_or(Space::Generic);
        let (from, target) = if to {
            (Space::Generic, space)
        } else {
            (space, Space::Generic)
        };
        // A symbol has a pointer already; a register holds an integer.
        let value = match source {
            Operand::Name(name) => match self.lookup(&name.text) {
                Some(Named::Symbol(symbol))
                    if self.b.function.symbols[symbol].kind == SymbolKind::Memory =>
                {
                    self.b.symbol_address(symbol)
                }
                Some(Named::Memory(address)) => address,
                _ => self.read(source, Type::Ptr(from), false),
            },
            _ => self.read(source, Type::Ptr(from), false),
        };
        let value = if self.b.function.ty(value) == Type::Ptr(target) {
            value
        } else {
            self.b.convert(Convert::SpaceCast, value, Type::Ptr(target))
        };
        let value = self.resize(value, ty.ty, false);
        self.write(result, value, false);
        Some(())
    }
}

fn boolean(i: &Instruction) -> Option<BinaryOp> {
    i.modifiers.iter().find_map(|m| match m.as_str() {
        "and" => Some(BinaryOp::And),
        "or" => Some(BinaryOp::Or),
        "xor" => Some(BinaryOp::Xor),
        _ => None,
    })
}

fn int_condition(name: &str, signed: bool) -> Option<IntCondition> {
    use IntCondition::*;
    Some(match (name, signed) {
        ("eq", _) => Equal,
        ("ne", _) => NotEqual,
        ("lt", true) => LessSigned,
        ("le", true) => LessEqualSigned,
        ("gt", true) => GreaterSigned,
        ("ge", true) => GreaterEqualSigned,
        ("lt" | "lo", _) => LessUnsigned,
        ("le" | "ls", _) => LessEqualUnsigned,
        ("gt" | "hi", _) => GreaterUnsigned,
        ("ge" | "hs", _) => GreaterEqualUnsigned,
        _ => return None,
    })
}

fn float_condition(name: &str) -> Option<FloatCondition> {
    use FloatCondition::*;
    Some(match name {
        "eq" => Equal,
        "ne" => NotEqual,
        "lt" => Less,
        "le" => LessEqual,
        "gt" => Greater,
        "ge" => GreaterEqual,
        "equ" => EqualUnordered,
        "neu" => NotEqualUnordered,
        "ltu" => LessUnordered,
        "leu" => LessEqualUnordered,
        "gtu" => GreaterUnordered,
        "geu" => GreaterEqualUnordered,
        "num" => Ordered,
        "nan" => Unordered,
        _ => return None,
    })
}
