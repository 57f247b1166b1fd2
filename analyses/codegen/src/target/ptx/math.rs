//! Floating-point functions: instructions, short sequences of the hardware's approximations where the language or the
//! author allows them, and calls of the device library (libdevice) otherwise.
//!
//! Shader languages leave the accuracy of functions to the implementation (HLSL: D3D functional specification, 3.1), CUDA
//! gives it up with `--use_fast_math` (CUDA C++ Programming Guide, mathematical functions, intrinsic functions).

use super::emit::{Emitter, refuse_type};
use super::registers::{Class, Register};
use crate::refusal::Refusal;
use ir::*;

const LOG2_E: f32 = std::f32::consts::LOG2_E;
const LN_2: f32 = std::f32::consts::LN_2;
const LOG2_10: f32 = std::f32::consts::LOG2_10;
const LOG10_2: f32 = std::f32::consts::LOG10_2;

/// `0f3F800000`
fn number(value: f32) -> String {
    format!("0f{:08X}", value.to_bits())
}

impl Emitter<'_> {
    fn approximate(&self) -> bool {
        self.target.fast_math || self.function.language == Language::Hlsl
    }

    pub(super) fn float_unary(
        &mut self,
        op: UnaryOp,
        result: Value,
        a: Value,
    ) -> Result<(), Refusal> {
        let ty = self.ty(a);
        match (op, ty) {
            (UnaryOp::FloatAbs | UnaryOp::FloatNeg, Type::F16 | Type::BF16) => {
                let from = self.register(a);
                let to = self.register(result);
                if op == UnaryOp::FloatAbs {
                    self.plain(format_args!("and.b16 {to}, {from}, 0x7fff"));
                } else if ty == Type::F16 {
                    self.plain(format_args!("neg.f16 {to}, {from}"));
                } else {
                    self.plain(format_args!("xor.b16 {to}, {from}, 0x8000"));
                }
                return Ok(());
            }
            (_, Type::F16 | Type::BF16) => {
                let single = self.as_single(a);
                let to = self.fresh(Class::Float);
                if !self.single(op, to, single) {
                    return Err(refuse_type(&format!("{op:?}"), ty));
                }
                return self.rounded(result, to);
            }
            (_, Type::F32) => {
                let from = self.register(a);
                let to = self.register(result);
                if self.single(op, to, from) {
                    return Ok(());
                }
            }
            (_, Type::F64) => {
                let name = match op {
                    UnaryOp::FloatNeg => "neg.f64",
                    UnaryOp::FloatAbs => "abs.f64",
                    UnaryOp::Sqrt => "sqrt.rn.f64",
                    UnaryOp::Reciprocal => "rcp.rn.f64",
                    UnaryOp::Rsqrt => "rsqrt.approx.f64",
                    _ => "",
                };
                if !name.is_empty() {
                    let from = self.operand(a);
                    let to = self.register(result);
                    self.plain(format_args!("{name} {to}, {from}"));
                    return Ok(());
                }
            }
            _ => {}
        }
        self.library(unary_name(op), result, &[a])
    }

    /// A function of one f32 in instructions; whether there is one.
    fn single(&mut self, op: UnaryOp, to: Register, from: Register) -> bool {
        let fast = self.approximate();
        let name = match op {
            UnaryOp::FloatNeg => "neg.f32",
            UnaryOp::FloatAbs => "abs.f32",
            UnaryOp::Floor => "cvt.rmi.f32.f32",
            UnaryOp::Ceil => "cvt.rpi.f32.f32",
            UnaryOp::TruncFloat => "cvt.rzi.f32.f32",
            UnaryOp::RoundEven => "cvt.rni.f32.f32",
            UnaryOp::Sqrt if fast => "sqrt.approx.f32",
            UnaryOp::Sqrt => "sqrt.rn.f32",
            UnaryOp::Reciprocal if fast => "rcp.approx.f32",
            UnaryOp::Reciprocal => "rcp.rn.f32",
            UnaryOp::Rsqrt => "rsqrt.approx.f32",
            UnaryOp::Exp2 => "ex2.approx.f32",
            UnaryOp::Saturate => "cvt.sat.f32.f32",
            UnaryOp::Sin if fast => "sin.approx.f32",
            UnaryOp::Cos if fast => "cos.approx.f32",
            UnaryOp::Log2 if fast => "lg2.approx.f32",
            UnaryOp::ApproximateSin => "sin.approx.f32",
            UnaryOp::ApproximateCos => "cos.approx.f32",
            UnaryOp::ApproximateLog2 => "lg2.approx.f32",
            UnaryOp::Tanh if fast => "tanh.approx.f32",
            _ => "",
        };
        if !name.is_empty() {
            self.plain(format_args!("{name} {to}, {from}"));
            return true;
        }
        match op {
            UnaryOp::Degrees | UnaryOp::Radians => {
                let by = if op == UnaryOp::Degrees {
                    180.0 / std::f64::consts::PI
                } else {
                    std::f64::consts::PI / 180.0
                };
                // The quotient is rounded once: of two f32 it is the next number.
                let by = number(by as f32);
                self.plain(format_args!("mul.rn.f32 {to}, {from}, {by}"));
            }
            UnaryOp::Fract => {
                let floor = self.fresh(Class::Float);
                self.plain(format_args!("cvt.rmi.f32.f32 {floor}, {from}"));
                self.plain(format_args!("sub.rn.f32 {to}, {from}, {floor}"));
            }
            UnaryOp::Round => {
                // The largest number below a half, so that a value just below a half is not rounded up.
                let (half, sum) = (self.fresh(Class::Float), self.fresh(Class::Float));
                self.plain(format_args!("copysign.f32 {half}, {from}, 0f3EFFFFFF"));
                self.plain(format_args!("add.rn.f32 {sum}, {from}, {half}"));
                self.plain(format_args!("cvt.rzi.f32.f32 {to}, {sum}"));
            }
            UnaryOp::FloatSign => {
                let (up, down) = (self.fresh(Class::Predicate), self.fresh(Class::Predicate));
                let positive = self.fresh(Class::Float);
                let (zero, one, minus) = (number(0.0), number(1.0), number(-1.0));
                self.plain(format_args!("setp.gt.f32 {up}, {from}, {zero}"));
                self.plain(format_args!("setp.lt.f32 {down}, {from}, {zero}"));
                self.plain(format_args!("selp.f32 {positive}, {one}, {zero}, {up}"));
                self.plain(format_args!("selp.f32 {to}, {minus}, {positive}, {down}"));
            }
            UnaryOp::Exp | UnaryOp::Exp10 if fast => {
                let scaled = self.fresh(Class::Float);
                let by = number(if op == UnaryOp::Exp { LOG2_E } else { LOG2_10 });
                self.plain(format_args!("mul.rn.f32 {scaled}, {from}, {by}"));
                self.plain(format_args!("ex2.approx.f32 {to}, {scaled}"));
            }
            UnaryOp::Log | UnaryOp::Log10 if fast => {
                let log = self.fresh(Class::Float);
                let by = number(if op == UnaryOp::Log { LN_2 } else { LOG10_2 });
                self.plain(format_args!("lg2.approx.f32 {log}, {from}"));
                self.plain(format_args!("mul.rn.f32 {to}, {log}, {by}"));
            }
            UnaryOp::Tan if fast => {
                let (sine, cosine) = (self.fresh(Class::Float), self.fresh(Class::Float));
                self.plain(format_args!("sin.approx.f32 {sine}, {from}"));
                self.plain(format_args!("cos.approx.f32 {cosine}, {from}"));
                self.plain(format_args!("div.approx.f32 {to}, {sine}, {cosine}"));
            }
            _ => return false,
        }
        true
    }

    pub(super) fn float_binary(
        &mut self,
        op: BinaryOp,
        result: Value,
        a: Value,
        b: Value,
    ) -> Result<(), Refusal> {
        let ty = self.ty(result);
        let exact = |name: &str| match op {
            BinaryOp::FloatAdd => Some(format!("add.rn.{name}")),
            BinaryOp::FloatSub => Some(format!("sub.rn.{name}")),
            BinaryOp::FloatMul => Some(format!("mul.rn.{name}")),
            _ => None,
        };
        match ty {
            Type::F16 => {
                if let Some(name) = exact("f16") {
                    let (x, y) = (self.register(a), self.register(b));
                    let to = self.register(result);
                    self.plain(format_args!("{name} {to}, {x}, {y}"));
                    return Ok(());
                }
            }
            Type::F32 | Type::F64 if self.ty(b) == ty => {
                let (x, y) = (self.operand(a), self.operand(b));
                let to = self.register(result);
                if self.in_type(op, &ty.to_string(), to, &x, &y) {
                    return Ok(());
                }
            }
            _ => {}
        }
        if matches!(ty, Type::F16 | Type::BF16) {
            // Rounding an f32 result again gives the result in 16 bits: 24 bits are more than twice 11 and
            // two.
            let (x, y) = (self.as_single(a), self.as_single(b));
            let single = self.fresh(Class::Float);
            if !self.in_type(op, "f32", single, &x.to_string(), &y.to_string()) {
                return Err(refuse_type(&format!("{op:?}"), ty));
            }
            return self.rounded(result, single);
        }
        self.library(binary_name(op), result, &[a, b])
    }

    /// A function of two f32 or f64 in instructions; whether there is one.
    fn in_type(&mut self, op: BinaryOp, ty: &str, to: Register, x: &str, y: &str) -> bool {
        let fast = self.approximate() && ty == "f32";
        let name = match op {
            BinaryOp::FloatAdd => "add.rn",
            BinaryOp::FloatSub => "sub.rn",
            BinaryOp::FloatMul => "mul.rn",
            BinaryOp::FloatDiv if fast => "div.approx",
            BinaryOp::ApproximateDiv if ty == "f32" => "div.approx",
            BinaryOp::FloatDiv | BinaryOp::ApproximateDiv => "div.rn",
            BinaryOp::FloatMin => "min",
            BinaryOp::FloatMax => "max",
            _ => "",
        };
        if !name.is_empty() {
            self.plain(format_args!("{name}.{ty} {to}, {x}, {y}"));
            return true;
        }
        match op {
            BinaryOp::CopySign => self.plain(format_args!("copysign.{ty} {to}, {y}, {x}")),
            BinaryOp::Step if ty == "f32" => {
                let p = self.fresh(Class::Predicate);
                self.plain(format_args!("setp.ge.f32 {p}, {y}, {x}"));
                let (one, zero) = (number(1.0), number(0.0));
                self.plain(format_args!("selp.f32 {to}, {one}, {zero}, {p}"));
            }
            BinaryOp::Pow if fast => {
                let (log, product) = (self.fresh(Class::Float), self.fresh(Class::Float));
                self.plain(format_args!("lg2.approx.f32 {log}, {x}"));
                self.plain(format_args!("mul.rn.f32 {product}, {log}, {y}"));
                self.plain(format_args!("ex2.approx.f32 {to}, {product}"));
            }
            BinaryOp::FloatRem if fast => {
                let [quotient, whole, product] = [(); 3].map(|()| self.fresh(Class::Float));
                self.plain(format_args!("div.approx.f32 {quotient}, {x}, {y}"));
                self.plain(format_args!("cvt.rzi.f32.f32 {whole}, {quotient}"));
                self.plain(format_args!("mul.rn.f32 {product}, {whole}, {y}"));
                self.plain(format_args!("sub.rn.f32 {to}, {x}, {product}"));
            }
            BinaryOp::Ldexp if fast => {
                let scale = self.fresh(Class::Float);
                self.plain(format_args!("ex2.approx.f32 {scale}, {y}"));
                self.plain(format_args!("mul.rn.f32 {to}, {x}, {scale}"));
            }
            _ => return false,
        }
        true
    }

    /// `smoothstep`, as HLSL defines it.
    pub(super) fn smooth_step(&mut self, result: Value, args: &[Value]) -> Result<(), Refusal> {
        if self.ty(result) != Type::F32 {
            return Err(refuse_type("SmoothStep", self.ty(result)));
        }
        let [low, high, x] = [0, 1, 2].map(|n| self.operand(args[n]));
        let to = self.register(result);
        let [range, distance, ratio, t, weight, square] =
            [(); 6].map(|()| self.fresh(Class::Float));
        self.plain(format_args!("sub.rn.f32 {range}, {high}, {low}"));
        self.plain(format_args!("sub.rn.f32 {distance}, {x}, {low}"));
        self.plain(format_args!("div.approx.f32 {ratio}, {distance}, {range}"));
        self.plain(format_args!("cvt.sat.f32.f32 {t}, {ratio}"));
        let (minus_two, three) = (number(-2.0), number(3.0));
        self.plain(format_args!(
            "fma.rn.f32 {weight}, {t}, {minus_two}, {three}"
        ));
        self.plain(format_args!("mul.rn.f32 {square}, {t}, {t}"));
        self.plain(format_args!("mul.rn.f32 {to}, {square}, {weight}"));
        Ok(())
    }

    /// A call of the device library: `__nv_sinf`, `__nv_sin`.
    fn library(&mut self, name: &str, result: Value, args: &[Value]) -> Result<(), Refusal> {
        let suffix = match self.ty(result) {
            Type::F32 => "f",
            Type::F64 => "",
            ty => return Err(refuse_type(name, ty)),
        };
        if name.is_empty() {
            return Err(refuse_type("function", self.ty(result)));
        }
        self.call_external(&format!("__nv_{name}{suffix}"), args, &[result]);
        Ok(())
    }
}

/// The name in the device library; empty for none.
fn unary_name(op: UnaryOp) -> &'static str {
    match op {
        UnaryOp::Round => "round",
        op => crate::library::function_of(op).unwrap_or(""),
    }
}

fn binary_name(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Pow => "pow",
        BinaryOp::Atan2 => "atan2",
        BinaryOp::Hypot => "hypot",
        BinaryOp::Ldexp => "ldexp",
        BinaryOp::FloatRem => "fmod",
        BinaryOp::FloatRemainder => "remainder",
        BinaryOp::FloatDim => "fdim",
        _ => "",
    }
}
