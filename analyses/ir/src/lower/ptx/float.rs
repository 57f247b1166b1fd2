//! Floating-point arithmetic, packed pairs included.

use super::types::Scalar;
use super::*;

impl<'a> Lowering<'a> {
    pub(super) fn float(&mut self, i: &'a Instruction, ty: Scalar, types: &[Scalar]) -> Done {
        let opcode = i.opcode.text.as_str();
        if !ty.ty.is_float() {
            return None;
        }
        if i.has("xorsign") {
            return self.opaque(i);
        }
        let (result, sources) = i.operands.split_first()?;
        if opcode == "testp" {
            return self.test_property(i, ty, result, sources);
        }
        // `add.f32.f16` reads an f16 and adds in f32.
        if let [wide, narrow] = types
            && wide.ty != narrow.ty
            && matches!(opcode, "add" | "sub" | "fma")
        {
            return self.mixed(i, *wide, *narrow);
        }
        let operands: SmallVec<[&Operand; 4]> = sources.iter().collect();
        let arity = match opcode {
            "add" | "sub" | "mul" | "div" | "copysign" => 2,
            "min" | "max" => operands.len().clamp(2, 3),
            "fma" | "mad" => 3,
            _ => 1,
        };
        let operands = operands.get(..arity)?;
        let (saturate, relu) = (i.has("sat"), i.has("relu"));
        let absolute = i.has("abs") && opcode != "abs";
        let approximate = ty.ty == Type::F32 && (i.has("approx") || i.has("full"));
        let rounds = ["rn", "rz", "rm", "rp"].iter().any(|mode| i.has(mode));
        let wrap = match rounds {
            true => Wrap::SEPARATE,
            false => Wrap::MAY,
        };
        let op = operation(opcode, approximate)?;
        let value = self.lanewise(ty, operands, |this, args| {
            let mut value = match op {
                Operation::Unary(op) => this.b.unary(op, args[0]),
                Operation::Binary(op) => {
                    let mut value = args[0];
                    for &next in &args[1..] {
                        value = this.b.binary(op, wrap, value, next);
                    }
                    value
                }
                // The sign of the first operand, the magnitude of the second.
                Operation::CopySign => {
                    this.b
                        .binary(BinaryOp::CopySign, Wrap::MAY, args[1], args[0])
                }
                Operation::Fma => this.b.value(Op::Fma, args, ty.ty),
            };
            if absolute {
                value = this.b.unary(UnaryOp::FloatAbs, value);
            }
            if saturate {
                value = this.b.unary(UnaryOp::Saturate, value);
            }
            if relu {
                let zero = this.b.float(ty.ty, 0.0);
                value = this.b.binary(BinaryOp::FloatMax, Wrap::MAY, value, zero);
            }
            value
        });
        self.write(result, value, false);
        Some(())
    }

    fn mixed(&mut self, i: &'a Instruction, wide: Scalar, narrow: Scalar) -> Done {
        let (result, sources) = i.operands.split_first()?;
        let (last, narrows) = sources.split_last()?;
        let mut args: SmallVec<[Value; 4]> = narrows
            .iter()
            .map(|operand| {
                let value = self.read(operand, narrow.ty, false);
                self.b.convert(Convert::FloatToFloat, value, wide.ty)
            })
            .collect();
        args.push(self.read(last, wide.ty, false));
        let value = match (i.opcode.text.as_str(), args.len()) {
            ("fma", 3) => self.b.value(Op::Fma, &args, wide.ty),
            ("add", 2) => self
                .b
                .binary(BinaryOp::FloatAdd, Wrap::MAY, args[0], args[1]),
            ("sub", 2) => self
                .b
                .binary(BinaryOp::FloatSub, Wrap::MAY, args[0], args[1]),
            _ => return None,
        };
        self.write(result, value, false);
        Some(())
    }

    fn test_property(
        &mut self,
        i: &'a Instruction,
        ty: Scalar,
        result: &'a Operand,
        sources: &'a [Operand],
    ) -> Done {
        let op = match i.modifiers.first()?.as_str() {
            "finite" => UnaryOp::IsFinite,
            "infinite" => UnaryOp::IsInf,
            "notanumber" | "number" => UnaryOp::IsNan,
            _ => return self.opaque(i),
        };
        let value = self.read(sources.first()?, ty.ty, false);
        let mut value = self.b.value(Op::Unary(op), &[value], Type::Bool);
        if i.has("number") {
            value = self.b.unary(UnaryOp::Not, value);
        }
        self.write(result, value, false);
        Some(())
    }
}

#[derive(Clone, Copy)]
enum Operation {
    Unary(UnaryOp),
    Binary(BinaryOp),
    CopySign,
    Fma,
}

fn operation(opcode: &str, approximate: bool) -> Option<Operation> {
    Some(match opcode {
        "add" => Operation::Binary(BinaryOp::FloatAdd),
        "sub" => Operation::Binary(BinaryOp::FloatSub),
        "mul" => Operation::Binary(BinaryOp::FloatMul),
        "div" if approximate => Operation::Binary(BinaryOp::ApproximateDiv),
        "sin" if approximate => Operation::Unary(UnaryOp::ApproximateSin),
        "cos" if approximate => Operation::Unary(UnaryOp::ApproximateCos),
        "lg2" if approximate => Operation::Unary(UnaryOp::ApproximateLog2),
        "div" => Operation::Binary(BinaryOp::FloatDiv),
        "min" => Operation::Binary(BinaryOp::FloatMin),
        "max" => Operation::Binary(BinaryOp::FloatMax),
        "fma" | "mad" => Operation::Fma,
        "copysign" => Operation::CopySign,
        "abs" => Operation::Unary(UnaryOp::FloatAbs),
        "neg" => Operation::Unary(UnaryOp::FloatNeg),
        "rcp" => Operation::Unary(UnaryOp::Reciprocal),
        "sqrt" => Operation::Unary(UnaryOp::Sqrt),
        "rsqrt" => Operation::Unary(UnaryOp::Rsqrt),
        "sin" => Operation::Unary(UnaryOp::Sin),
        "cos" => Operation::Unary(UnaryOp::Cos),
        "lg2" => Operation::Unary(UnaryOp::Log2),
        "ex2" => Operation::Unary(UnaryOp::Exp2),
        "tanh" => Operation::Unary(UnaryOp::Tanh),
        _ => return None,
    })
}
