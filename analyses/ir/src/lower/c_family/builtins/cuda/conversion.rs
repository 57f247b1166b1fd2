//! `__float2int_rn`, `__int_as_float`, `make_float4` and their many siblings.

use super::math::bitcast;
use super::{Call, ir_type};
use crate::entity::Value;
use crate::inst::{BinaryOp, UnaryOp, Wrap};
use crate::lower::c_family::context::Context;
use crate::lower::c_family::types::{CType, FloatKind};
use crate::lower::c_family::value::{Parts, RValue};
use crate::types::Type;

fn scalar_type(word: &str) -> Option<CType> {
    Some(match word {
        "float" => CType::FLOAT,
        "double" => CType::DOUBLE,
        "half" => CType::HALF,
        "bfloat16" => CType::BFLOAT,
        "char" | "schar" => CType::CHAR,
        "uchar" => CType::UCHAR,
        "short" => CType::SHORT,
        "ushort" => CType::USHORT,
        "int" => CType::INT,
        "uint" => CType::UINT,
        "ll" | "longlong" | "long" => CType::LONG,
        "ull" | "ulonglong" | "ulong" => CType::ULONG,
        _ => return None,
    })
}

pub(super) fn call(cx: &mut Context<'_>, call: &Call<'_>) -> Option<RValue> {
    maker(cx, call)
        .or_else(|| halves_of_double(cx, call))
        .or_else(|| reinterpreted(cx, call))
        .or_else(|| converted(cx, call))
}

/// `make_float4(x, y, z, w)`; one scalar fills all components, a longer vector is cut, vectors and scalars are strung together.
fn maker(cx: &mut Context<'_>, call: &Call<'_>) -> Option<RValue> {
    let body = call.name.strip_prefix("make_")?;
    let digit = body.chars().last()?.to_digit(10)?;
    let element = match &body[..body.len() - 1] {
        "bfloat16" => CType::BFLOAT,
        "half" => CType::HALF,
        word => scalar_type(word)?,
    };
    let n = if body == "bfloat162" { 2 } else { digit as u8 };
    let ty = CType::vector(element.clone(), n);
    let mut parts = Parts::new();
    for argument in call.arguments {
        let from = argument.ty().value_type().element().clone();
        for &part in &argument.value.parts {
            let part = cx.convert_scalar(part, &from, &element);
            parts.push(part);
        }
    }
    if parts.len() == 1 {
        parts = std::iter::repeat_n(parts[0], usize::from(n)).collect();
    }
    while parts.len() < usize::from(n) {
        let zero = cx.builder.constant(ir_type(&element), 0);
        parts.push(zero);
    }
    parts.truncate(usize::from(n));
    cx.builder.vector(&parts);
    Some(RValue::new(ty, parts))
}

fn halves_of_double(cx: &mut Context<'_>, call: &Call<'_>) -> Option<RValue> {
    let shift = cx.builder.int(Type::I64, 32);
    match call.name {
        "__double2hiint" | "__double2loint" => {
            let x = call.scalar(cx, 0, &CType::DOUBLE)?;
            let mut bits = bitcast(cx, x, &CType::LONG).first()?;
            if call.name == "__double2hiint" {
                bits = cx
                    .builder
                    .binary(BinaryOp::ShrUnsigned, Wrap::MAY, bits, shift);
            }
            Some(RValue::scalar(
                CType::INT,
                cx.convert_scalar(bits, &CType::LONG, &CType::INT),
            ))
        }
        "__hiloint2double" => {
            let (high, low) = (
                call.scalar(cx, 0, &CType::INT)?,
                call.scalar(cx, 1, &CType::UINT)?,
            );
            let high = cx.convert_scalar(high, &CType::INT, &CType::LONG);
            let low = cx.convert_scalar(low, &CType::UINT, &CType::LONG);
            let high = cx.builder.binary(BinaryOp::Shl, Wrap::MAY, high, shift);
            let bits = cx.builder.binary(BinaryOp::Or, Wrap::MAY, high, low);
            Some(bitcast(cx, bits, &CType::DOUBLE))
        }
        _ => None,
    }
}

fn reinterpreted(cx: &mut Context<'_>, call: &Call<'_>) -> Option<RValue> {
    if call.name == "bit_cast" || call.name == "__builtin_bit_cast" {
        let super::super::BuiltinTemplateArgument::Type(to) = call.types.first()? else {
            return None;
        };
        let from = call.ty(0)?.clone();
        let (have, want) = (from.scalar_ir()?, to.scalar_ir()?);
        if have.bits() != want.bits() {
            return None;
        }
        let x = call.argument(0)?.value.first()?;
        return Some(bitcast(cx, x, to));
    }
    let (from, to) = call.name.strip_prefix("__")?.split_once("_as_")?;
    let (from, to) = (scalar_type(from)?, scalar_type(to)?);
    let x = call.scalar(cx, 0, &from)?;
    Some(bitcast(cx, x, &to))
}

/// `__FROM2TO` with an optional rounding mode.
fn converted(cx: &mut Context<'_>, call: &Call<'_>) -> Option<RValue> {
    let body = call.name.strip_prefix("__")?;
    let (body, mode) = match ["_rn", "_rz", "_ru", "_rd", "_rna"]
        .iter()
        .find_map(|m| body.strip_suffix(m).map(|b| (b, *m)))
    {
        Some(found) => found,
        None => (body, ""),
    };
    let (from, to) = body.split_once('2')?;
    let (from, to) = (scalar_type(from)?, scalar_type(to)?);
    let x = call.scalar(cx, 0, &from)?;
    let x = if from.is_float() && to.is_integer() {
        to_whole(cx, x, mode)
    } else {
        x
    };
    Some(RValue::scalar(to.clone(), cx.convert_scalar(x, &from, &to)))
}

fn to_whole(cx: &mut Context<'_>, x: Value, mode: &str) -> Value {
    match mode {
        "_rn" => cx.builder.unary(UnaryOp::RoundEven, x),
        "_ru" => cx.builder.unary(UnaryOp::Ceil, x),
        "_rd" => cx.builder.unary(UnaryOp::Floor, x),
        _ => x,
    }
}

/// The float kind that a pair type of two halves has.
pub(super) fn half_kind(ty: &CType) -> Option<FloatKind> {
    match ty.element() {
        CType::Float(kind @ (FloatKind::Half | FloatKind::BFloat)) => Some(*kind),
        _ => None,
    }
}
