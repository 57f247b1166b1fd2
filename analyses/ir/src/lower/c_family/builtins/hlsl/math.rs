//! Component-wise functions of numbers.

use super::*;
use crate::inst::BinaryOp as Ir;
use crate::lower::c_family::value::Parts;
use ast::BinaryOp as B;

pub(super) fn call(
    cx: &mut Context<'_>,
    name: &str,
    arguments: &[Argument],
    span: Span,
) -> Option<RValue> {
    if let Some(op) = float_function(name) {
        let [a] = arguments else { return None };
        let a = numeric(cx, a)?;
        let a = as_float(cx, a, span);
        let element = a.ty.element().clone();
        return Some(cx.map(&a, &element, |cx, v| cx.builder.unary(op, v)));
    }
    if let Some(op) = classification(name) {
        let [a] = arguments else { return None };
        let a = numeric(cx, a)?;
        let a = as_float(cx, a, span);
        return Some(cx.map(&a, &CType::Bool, |cx, v| {
            cx.builder.value(Op::Unary(op), &[v], crate::Type::Bool)
        }));
    }
    Some(match (name, arguments) {
        ("abs", [a]) => {
            let a = numeric(cx, a)?;
            let a = unboolean(cx, a, span);
            let element = a.ty.element().clone();
            if element.is_float() {
                cx.map(&a, &element, |cx, v| cx.builder.unary(UnaryOp::FloatAbs, v))
            } else if element.is_signed() {
                cx.map(&a, &element, |cx, v| cx.builder.unary(UnaryOp::IntAbs, v))
            } else {
                a
            }
        }
        ("sign", [a]) => {
            let a = numeric(cx, a)?;
            let a = unboolean(cx, a, span);
            let element = a.ty.element().clone();
            let op = if element.is_float() {
                UnaryOp::FloatSign
            } else {
                UnaryOp::IntSign
            };
            let signs = cx.map(&a, &element, |cx, v| cx.builder.unary(op, v));
            let ty = a.ty.with_element(CType::INT);
            cx.convert(signs, &ty, span)
        }
        ("min" | "max", [_, _]) => {
            let v = unified(cx, arguments, span)?;
            extremum(cx, name == "max", &v[0], &v[1])
        }
        ("min3" | "max3", [_, _, _]) => {
            let v = unified(cx, arguments, span)?;
            let ab = extremum(cx, name == "max3", &v[0], &v[1]);
            extremum(cx, name == "max3", &ab, &v[2])
        }
        ("clamp", [_, _, _]) => {
            let v = unified(cx, arguments, span)?;
            let low = extremum(cx, true, &v[0], &v[1]);
            extremum(cx, false, &low, &v[2])
        }
        ("mad" | "fma", [_, _, _]) => {
            let v = unified(cx, arguments, span)?;
            if v[0].ty.element().is_float() {
                fma(cx, &v[0], &v[1], &v[2])
            } else {
                let product = op2(cx, B::Mul, &v[0], &v[1], span);
                op2(cx, B::Add, &product, &v[2], span)
            }
        }
        ("lerp", [_, _, _]) => {
            let v = unified_floats(cx, arguments, span)?;
            let difference = op2(cx, B::Sub, &v[1], &v[0], span);
            fma(cx, &v[2], &difference, &v[0])
        }
        ("step", [_, _]) => binary_float(cx, Ir::Step, arguments, span)?,
        ("pow", [_, _]) => binary_float(cx, Ir::Pow, arguments, span)?,
        ("atan2", [_, _]) => binary_float(cx, Ir::Atan2, arguments, span)?,
        ("fmod", [_, _]) => binary_float(cx, Ir::FloatRem, arguments, span)?,
        ("ldexp", [_, _]) => {
            let v = unified_floats(cx, arguments, span)?;
            let element = v[0].ty.element().clone();
            let scale = cx.map(&v[1], &element, |cx, e| cx.builder.unary(UnaryOp::Exp2, e));
            op2(cx, B::Mul, &v[0], &scale, span)
        }
        ("smoothstep", [_, _, _]) => {
            let v = unified_floats(cx, arguments, span)?;
            let parts: Parts = (0..v[0].parts.len())
                .map(|i| {
                    let args = [v[0].parts[i], v[1].parts[i], v[2].parts[i]];
                    let ty = cx.builder.function.ty(args[0]);
                    cx.builder
                        .value(Op::Ternary(TernaryOp::SmoothStep), &args, ty)
                })
                .collect();
            cx.builder.vector(&parts);
            RValue::new(v[0].ty.clone(), parts)
        }
        ("modf", [a, out]) => {
            let a = numeric(cx, a)?;
            let a = as_float(cx, a, span);
            let element = a.ty.element().clone();
            let whole = cx.map(&a, &element, |cx, v| {
                cx.builder.unary(UnaryOp::TruncFloat, v)
            });
            write(cx, out, whole.clone());
            cx.here(span);
            op2(cx, B::Sub, &a, &whole, span)
        }
        ("frexp", [a, out]) => {
            // mantissa * 2^exponent with the mantissa in [0.5, 1): the exponent is floor(log2 |x|) + 1.
            let a = numeric(cx, a)?;
            let a = as_float(cx, a, span);
            let element = a.ty.element().clone();
            let exponent = cx.map(&a, &element, |cx, v| {
                let magnitude = cx.builder.unary(UnaryOp::FloatAbs, v);
                let log = cx.builder.unary(UnaryOp::Log2, magnitude);
                let floor = cx.builder.unary(UnaryOp::Floor, log);
                let ty = cx.builder.function.ty(v);
                let one = cx.builder.float(ty, 1.0);
                let exponent = cx.builder.binary(Ir::FloatAdd, Wrap::MAY, floor, one);
                let zero = cx.builder.float(ty, 0.0);
                let is_zero = cx.builder.float_compare(FloatCondition::Equal, v, zero);
                cx.builder.select(is_zero, zero, exponent)
            });
            let scale = cx.map(&exponent, &element, |cx, e| {
                cx.builder.unary(UnaryOp::Exp2, e)
            });
            let mantissa = op2(cx, B::Div, &a, &scale, span);
            write(cx, out, exponent);
            mantissa
        }
        ("sincos", [a, sine, cosine]) => {
            let a = numeric(cx, a)?;
            let a = as_float(cx, a, span);
            let element = a.ty.element().clone();
            let s = cx.map(&a, &element, |cx, v| cx.builder.unary(UnaryOp::Sin, v));
            let c = cx.map(&a, &element, |cx, v| cx.builder.unary(UnaryOp::Cos, v));
            write(cx, sine, s);
            write(cx, cosine, c);
            RValue::void()
        }
        ("isnormal", [a]) => {
            let a = numeric(cx, a)?;
            let a = as_float(cx, a, span);
            cx.map(&a, &CType::Bool, |cx, v| {
                let ty = cx.builder.function.ty(v);
                let least = cx.builder.float(ty, f64::from(f32::MIN_POSITIVE));
                let magnitude = cx.builder.unary(UnaryOp::FloatAbs, v);
                let large =
                    cx.builder
                        .float_compare(FloatCondition::GreaterEqual, magnitude, least);
                let finite =
                    cx.builder
                        .value(Op::Unary(UnaryOp::IsFinite), &[v], crate::Type::Bool);
                cx.builder.binary(Ir::And, Wrap::MAY, large, finite)
            })
        }
        ("and" | "or", [a, b]) => {
            let op = if name == "and" {
                B::LogicalAnd
            } else {
                B::LogicalOr
            };
            let (a, b) = (numeric(cx, a)?, numeric(cx, b)?);
            cx.arithmetic(op, a, b, span)
        }
        ("select", [condition, _, _]) => {
            let condition = numeric(cx, condition)?;
            let (a, b) = (value(cx, &arguments[1]), value(cx, &arguments[2]));
            if condition.ty.components() == 1 {
                return choose(cx, &condition, a, b, span);
            }
            let v = unified(cx, &arguments[1..], span)?;
            let shape = condition.ty.with_element(v[0].ty.element().clone());
            let a = cx.convert(v[0].clone(), &shape, span);
            let b = cx.convert(v[1].clone(), &shape, span);
            let ty = condition.ty.with_element(CType::Bool);
            let condition = cx.convert(condition, &ty, span);
            let parts: Parts = (0..condition.parts.len())
                .map(|i| {
                    cx.builder
                        .select(condition.parts[i], a.parts[i], b.parts[i])
                })
                .collect();
            cx.builder.vector(&parts);
            RValue::new(shape, parts)
        }
        ("noise", [a]) => {
            let a = numeric(cx, a)?;
            let a = as_float(cx, a, span);
            let ty = a.ty.element().scalar_ir()?;
            let v = cx
                .builder
                .value(Op::Unary(UnaryOp::OtherMath), &a.parts, ty);
            RValue::scalar(a.ty.element().clone(), v)
        }
        _ => return None,
    })
}

fn float_function(name: &str) -> Option<UnaryOp> {
    Some(match name {
        "acos" => UnaryOp::Acos,
        "asin" => UnaryOp::Asin,
        "atan" => UnaryOp::Atan,
        "acosh" => UnaryOp::Acosh,
        "asinh" => UnaryOp::Asinh,
        "atanh" => UnaryOp::Atanh,
        "ceil" => UnaryOp::Ceil,
        "cos" => UnaryOp::Cos,
        "cosh" => UnaryOp::Cosh,
        "degrees" => UnaryOp::Degrees,
        "exp" => UnaryOp::Exp,
        "exp2" => UnaryOp::Exp2,
        "floor" => UnaryOp::Floor,
        "frac" => UnaryOp::Fract,
        "log" => UnaryOp::Log,
        "log2" => UnaryOp::Log2,
        "log10" => UnaryOp::Log10,
        "radians" => UnaryOp::Radians,
        "rcp" => UnaryOp::Reciprocal,
        "round" => UnaryOp::RoundEven,
        "rsqrt" => UnaryOp::Rsqrt,
        "saturate" => UnaryOp::Saturate,
        "sin" => UnaryOp::Sin,
        "sinh" => UnaryOp::Sinh,
        "sqrt" => UnaryOp::Sqrt,
        "tan" => UnaryOp::Tan,
        "tanh" => UnaryOp::Tanh,
        "trunc" => UnaryOp::TruncFloat,
        _ => return None,
    })
}

fn classification(name: &str) -> Option<UnaryOp> {
    Some(match name {
        "isnan" => UnaryOp::IsNan,
        "isinf" => UnaryOp::IsInf,
        "isfinite" => UnaryOp::IsFinite,
        _ => return None,
    })
}

/// The argument's value when it is a number, vector or matrix.
pub(super) fn numeric(cx: &mut Context<'_>, argument: &Argument) -> Option<RValue> {
    let v = value(cx, argument);
    (v.ty.is_numeric() && v.parts.len() == v.ty.components()).then_some(v)
}

/// Booleans and enumerators as `int`.
fn unboolean(cx: &mut Context<'_>, v: RValue, span: Span) -> RValue {
    let promoted = cx.promote(v.ty.element());
    let ty = v.ty.with_element(promoted);
    cx.convert(v, &ty, span)
}

pub(super) fn fma(cx: &mut Context<'_>, a: &RValue, b: &RValue, c: &RValue) -> RValue {
    let parts: Parts = (0..a.parts.len())
        .map(|i| {
            let ty = cx.builder.function.ty(a.parts[i]);
            cx.builder
                .value(Op::Fma, &[a.parts[i], b.parts[i], c.parts[i]], ty)
        })
        .collect();
    cx.builder.vector(&parts);
    RValue::new(a.ty.clone(), parts)
}

pub(super) fn extremum(cx: &mut Context<'_>, max: bool, a: &RValue, b: &RValue) -> RValue {
    let element = a.ty.element().clone();
    let op = match (element.is_float(), element.is_signed(), max) {
        (true, _, true) => Ir::FloatMax,
        (true, _, false) => Ir::FloatMin,
        (_, true, true) => Ir::MaxSigned,
        (_, true, false) => Ir::MinSigned,
        (_, false, true) => Ir::MaxUnsigned,
        (_, false, false) => Ir::MinUnsigned,
    };
    cx.map2(a, b, &element, |cx, x, y| {
        cx.builder.binary(op, Wrap::MAY, x, y)
    })
}

fn binary_float(
    cx: &mut Context<'_>,
    op: Ir,
    arguments: &[Argument],
    span: Span,
) -> Option<RValue> {
    let v = unified_floats(cx, arguments, span)?;
    let element = v[0].ty.element().clone();
    Some(cx.map2(&v[0], &v[1], &element, |cx, x, y| {
        cx.builder.binary(op, Wrap::MAY, x, y)
    }))
}

/// A whole value picked by one condition.
fn choose(
    cx: &mut Context<'_>,
    condition: &RValue,
    a: RValue,
    b: RValue,
    span: Span,
) -> Option<RValue> {
    let bit = cx.truth(condition.clone(), span);
    let ty = if a.ty.is_numeric() && b.ty.is_numeric() {
        cx.common_type(&a.ty, &b.ty)
    } else {
        a.ty.clone()
    };
    let a = cx.convert(a, &ty, span);
    let b = cx.convert(b, &ty, span);
    if a.parts.len() != b.parts.len() {
        return None;
    }
    let parts: Parts = a
        .parts
        .iter()
        .zip(&b.parts)
        .map(|(&x, &y)| cx.builder.select(bit, x, y))
        .collect();
    cx.builder.vector(&parts);
    Some(RValue::new(ty, parts))
}
