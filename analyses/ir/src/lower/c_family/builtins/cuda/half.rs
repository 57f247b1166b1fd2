//! `cuda_fp16.h` and `cuda_bf16.h`: conversions, arithmetic and comparisons on `half`, `half2` and the bfloat types.

use super::conversion::half_kind;
use super::{Call, ir_type};
use crate::entity::Value;
use crate::inst::{BinaryOp, FloatCondition, Op, UnaryOp, Wrap};
use crate::lower::c_family::context::Context;
use crate::lower::c_family::types::{CType, FloatKind};
use crate::lower::c_family::value::{Parts, RValue};
use crate::types::Type;

pub(super) fn call(cx: &mut Context<'_>, call: &Call<'_>) -> Option<RValue> {
    pairs(cx, call).or_else(|| arithmetic(cx, call))
}

/// Conversions between floats, halves and pairs.
fn pairs(cx: &mut Context<'_>, call: &Call<'_>) -> Option<RValue> {
    let kind = if call.name.contains("bfloat") {
        FloatKind::BFloat
    } else {
        FloatKind::Half
    };
    let kind = call.ty(0).and_then(half_kind).unwrap_or(kind);
    let element = CType::Float(kind);
    let pair = CType::vector(element.clone(), 2);
    let normal = call.name.replace("bfloat16", "half");
    let part = |number: usize, component: usize| {
        call.argument(number)
            .and_then(|a| a.value.parts.get(component).copied())
    };
    let build = |cx: &mut Context<'_>, ty: &CType, values: [(Value, CType); 2]| {
        // An argument of a type that is not known here.
        if values
            .iter()
            .any(|(v, from)| cx.builder.function.ty(*v) != ir_type(from))
        {
            return None;
        }
        let to = ty.element().clone();
        let parts: Parts = values
            .into_iter()
            .map(|(v, from)| cx.convert_scalar(v, &from, &to))
            .collect();
        cx.builder.vector(&parts);
        Some(RValue::new(ty.clone(), parts))
    };
    match normal.as_str() {
        "__float2half2_rn" => {
            let x = call.scalar(cx, 0, &CType::FLOAT)?;
            build(cx, &pair, [(x, CType::FLOAT), (x, CType::FLOAT)])
        }
        "__floats2half2_rn" => {
            let (x, y) = (
                call.scalar(cx, 0, &CType::FLOAT)?,
                call.scalar(cx, 1, &CType::FLOAT)?,
            );
            build(cx, &pair, [(x, CType::FLOAT), (y, CType::FLOAT)])
        }
        "__float22half2_rn" => build(
            cx,
            &pair,
            [(part(0, 0)?, CType::FLOAT), (part(0, 1)?, CType::FLOAT)],
        ),
        "__half22float2" => build(
            cx,
            &CType::vector(CType::FLOAT, 2),
            [(part(0, 0)?, element.clone()), (part(0, 1)?, element)],
        ),
        "__half2half2" => build(
            cx,
            &pair,
            [(part(0, 0)?, element.clone()), (part(0, 0)?, element)],
        ),
        "__halves2half2" | "make_half2" => build(
            cx,
            &pair,
            [(part(0, 0)?, element.clone()), (part(1, 0)?, element)],
        ),
        "__lowhigh2highlow" => build(
            cx,
            &pair,
            [(part(0, 1)?, element.clone()), (part(0, 0)?, element)],
        ),
        "__low2half2" => build(
            cx,
            &pair,
            [(part(0, 0)?, element.clone()), (part(0, 0)?, element)],
        ),
        "__high2half2" => build(
            cx,
            &pair,
            [(part(0, 1)?, element.clone()), (part(0, 1)?, element)],
        ),
        "__lows2half2" => build(
            cx,
            &pair,
            [(part(0, 0)?, element.clone()), (part(1, 0)?, element)],
        ),
        "__highs2half2" => build(
            cx,
            &pair,
            [(part(0, 1)?, element.clone()), (part(1, 1)?, element)],
        ),
        "__low2half" => Some(RValue::scalar(element, part(0, 0)?)),
        "__high2half" => Some(RValue::scalar(element, part(0, 1)?)),
        "__low2float" | "__high2float" => {
            let x = part(0, usize::from(normal == "__high2float"))?;
            if cx.builder.function.ty(x) != ir_type(&element) {
                return None;
            }
            Some(RValue::scalar(
                CType::FLOAT,
                cx.convert_scalar(x, &element, &CType::FLOAT),
            ))
        }
        _ => None,
    }
}

enum Operation {
    Unary(UnaryOp),
    Binary(BinaryOp),
    Fma,
    Compare(FloatCondition),
    IsNan,
}

fn operation(name: &str) -> Option<(Operation, bool)> {
    use Operation::*;
    // `hsin`, `h2sin`; `__hadd`, `__hadd2`, with `_rn` and `_sat`.
    if let Some(function) = name.strip_prefix("h2").or_else(|| name.strip_prefix('h')) {
        let op = match function {
            "sqrt" => UnaryOp::Sqrt,
            "rsqrt" => UnaryOp::Rsqrt,
            "rcp" => UnaryOp::Reciprocal,
            "sin" => UnaryOp::Sin,
            "cos" => UnaryOp::Cos,
            "exp" => UnaryOp::Exp,
            "exp2" => UnaryOp::Exp2,
            "exp10" => UnaryOp::Exp10,
            "log" => UnaryOp::Log,
            "log2" => UnaryOp::Log2,
            "log10" => UnaryOp::Log10,
            "floor" => UnaryOp::Floor,
            "ceil" => UnaryOp::Ceil,
            "trunc" => UnaryOp::TruncFloat,
            "rint" => UnaryOp::RoundEven,
            "tanh" | "tanh_approx" => UnaryOp::Tanh,
            "div" => return Some((Binary(BinaryOp::FloatDiv), false)),
            _ => return None,
        };
        return Some((Unary(op), false));
    }
    let body = name.strip_prefix("__h")?;
    let body = body
        .strip_suffix("_rn")
        .or_else(|| body.strip_suffix("_sat"))
        .or_else(|| body.strip_suffix("_nan"))
        .unwrap_or(body);
    let body = body.strip_suffix("_relu").unwrap_or(body);
    let body = body.strip_suffix("_mask").unwrap_or(body);
    let (body, all) = match body.strip_prefix('b') {
        Some(compared) => (compared, true),
        None => (body, false),
    };
    let body = body.strip_suffix('2').unwrap_or(body);
    let compared = |condition| Some((Compare(condition), all));
    match body {
        "add" => Some((Binary(BinaryOp::FloatAdd), false)),
        "sub" => Some((Binary(BinaryOp::FloatSub), false)),
        "mul" => Some((Binary(BinaryOp::FloatMul), false)),
        "div" => Some((Binary(BinaryOp::FloatDiv), false)),
        "min" => Some((Binary(BinaryOp::FloatMin), false)),
        "max" => Some((Binary(BinaryOp::FloatMax), false)),
        "fma" => Some((Fma, false)),
        "neg" => Some((Unary(UnaryOp::FloatNeg), false)),
        "abs" => Some((Unary(UnaryOp::FloatAbs), false)),
        "isnan" => Some((IsNan, false)),
        "eq" => compared(FloatCondition::Equal),
        "ne" => compared(FloatCondition::NotEqual),
        "lt" => compared(FloatCondition::Less),
        "le" => compared(FloatCondition::LessEqual),
        "gt" => compared(FloatCondition::Greater),
        "ge" => compared(FloatCondition::GreaterEqual),
        "equ" => compared(FloatCondition::EqualUnordered),
        "neu" => compared(FloatCondition::NotEqualUnordered),
        "ltu" => compared(FloatCondition::LessUnordered),
        "leu" => compared(FloatCondition::LessEqualUnordered),
        "gtu" => compared(FloatCondition::GreaterUnordered),
        "geu" => compared(FloatCondition::GreaterEqualUnordered),
        _ => None,
    }
}

fn arithmetic(cx: &mut Context<'_>, call: &Call<'_>) -> Option<RValue> {
    let (operation, all) = operation(call.name)?;
    let kind = call.ty(0).and_then(half_kind)?;
    let element = CType::Float(kind);
    let width = call.argument(0)?.value.parts.len();
    let at = |number: usize, component: usize| {
        call.argument(number)
            .and_then(|a| a.value.parts.get(component).copied())
    };
    let mut parts = Parts::new();
    for component in 0..width {
        let x = at(0, component)?;
        parts.push(match operation {
            Operation::Unary(op) => cx.builder.unary(op, x),
            Operation::Binary(op) => {
                let y = at(1, component)?;
                cx.builder.binary(op, Wrap::MAY, x, y)
            }
            Operation::Fma => {
                let args = [x, at(1, component)?, at(2, component)?];
                cx.builder.value(Op::Fma, &args, ir_type(&element))
            }
            Operation::Compare(condition) => {
                let y = at(1, component)?;
                cx.builder.float_compare(condition, x, y)
            }
            Operation::IsNan => cx
                .builder
                .value(Op::Unary(UnaryOp::IsNan), &[x], Type::Bool),
        });
    }
    let truth = matches!(operation, Operation::Compare(_) | Operation::IsNan);
    if !truth {
        cx.builder.vector(&parts);
        let ty = if width == 1 {
            element
        } else {
            CType::vector(element, width as u8)
        };
        return Some(RValue::new(ty, parts));
    }
    if width == 1 {
        return Some(RValue::scalar(CType::Bool, parts[0]));
    }
    if all {
        let both = parts.iter().skip(1).fold(parts[0], |a, &b| {
            cx.builder.binary(BinaryOp::And, Wrap::MAY, a, b)
        });
        return Some(RValue::scalar(CType::Bool, both));
    }
    // `__hgt2` gives 1.0 or 0.0 in each half.
    let parts: Parts = parts
        .iter()
        .map(|&p| cx.convert_scalar(p, &CType::Bool, &element))
        .collect();
    Some(RValue::new(CType::vector(element, width as u8), parts))
}
