//! `<math.h>` with CUDA's suffixes and overloads, and the single-precision intrinsics.

use super::{Call, ir_type};
use crate::entity::Value;
use crate::inst::{BinaryOp, Convert, Op, UnaryOp, Wrap};
use crate::lower::c_family::context::Context;
use crate::lower::c_family::types::{CType, FloatKind};
use crate::lower::c_family::value::RValue;
use crate::types::Type;

fn unary(base: &str) -> Option<UnaryOp> {
    use UnaryOp::*;
    Some(match base {
        "sqrt" => Sqrt,
        "rsqrt" => Rsqrt,
        "rcp" => Reciprocal,
        "cbrt" => Cbrt,
        "sin" => Sin,
        "cos" => Cos,
        "tan" => Tan,
        "asin" => Asin,
        "acos" => Acos,
        "atan" => Atan,
        "sinh" => Sinh,
        "cosh" => Cosh,
        "tanh" | "__tanh" => Tanh,
        "asinh" => Asinh,
        "acosh" => Acosh,
        "atanh" => Atanh,
        "exp" => Exp,
        "exp2" => Exp2,
        "exp10" => Exp10,
        "expm1" => Expm1,
        "log" => Log,
        "log2" => Log2,
        "log10" => Log10,
        "log1p" => Log1p,
        "erf" => Erf,
        "erfc" => Erfc,
        "tgamma" => Gamma,
        "lgamma" => LogGamma,
        "floor" => Floor,
        "ceil" => Ceil,
        "trunc" => TruncFloat,
        "round" => Round,
        "rint" | "nearbyint" | "roundeven" => RoundEven,
        "fabs" => FloatAbs,
        "saturate" => Saturate,
        "erfcinv" | "erfinv" | "erfcx" | "normcdf" | "normcdfinv" | "j0" | "j1" | "y0" | "y1"
        | "cyl_bessel_i0" | "cyl_bessel_i1" | "rcbrt" | "logb" => OtherMath,
        _ => return None,
    })
}

fn binary(base: &str) -> Option<BinaryOp> {
    use BinaryOp::*;
    Some(match base {
        "pow" => Pow,
        "fmod" => FloatRem,
        "remainder" => FloatRemainder,
        "atan2" => Atan2,
        "fmin" => FloatMin,
        "fmax" => FloatMax,
        "fdim" => FloatDim,
        "hypot" => Hypot,
        "copysign" => CopySign,
        "fdivide" => FloatDiv,
        _ => return None,
    })
}

pub(super) fn call(cx: &mut Context<'_>, call: &Call<'_>) -> Option<RValue> {
    if let Some(value) = rounded(cx, call) {
        return Some(value);
    }
    if let Some(value) = approximate(cx, call) {
        return Some(value);
    }
    let (base, ty) = base_and_type(call)?;
    let scalar = |cx: &mut Context<'_>, number: usize| call.scalar(cx, number, &ty);
    if call.count() == 1
        && let Some(op) = unary(base)
    {
        let x = scalar(cx, 0)?;
        return Some(RValue::scalar(ty.clone(), cx.builder.unary(op, x)));
    }
    if call.count() == 2
        && let Some(op) = binary(base)
    {
        let (x, y) = (scalar(cx, 0)?, scalar(cx, 1)?);
        return Some(RValue::scalar(
            ty.clone(),
            cx.builder.binary(op, Wrap::MAY, x, y),
        ));
    }
    special(cx, call, base, &ty)
}

const LONE: [&str; 14] = [
    "min", "max", "abs", "isnan", "isinf", "isfinite", "signbit", "labs", "llabs", "umin", "umax",
    "clamp", "lerp", "midpoint",
];

fn known(base: &str) -> bool {
    unary(base).is_some() || binary(base).is_some() || is_special(base)
}

/// The compiler's own name of a function is the function.
fn spelled(name: &str) -> &str {
    name.strip_prefix("__builtin_").unwrap_or(name)
}

/// A function of numbers, by its name without namespaces, that does nothing but compute one.
pub(super) fn is_function(name: &str, arguments: usize) -> bool {
    let name = spelled(name);
    let base = match name.strip_suffix('f') {
        Some(base) if known(base) => base,
        _ => name,
    };
    match base {
        "sincos" | "sincospi" | "modf" | "frexp" | "remquo" => false,
        // Not those that are given a comparison.
        "min" | "max" => arguments == 2,
        "abs" | "labs" | "llabs" | "isnan" | "isinf" | "isfinite" | "signbit" => true,
        _ => known(base),
    }
}

/// `sqrtf` is `sqrt` on float; `__expf` an intrinsic of the same function; `sqrt` goes by its argument.
fn base_and_type<'a>(call: &Call<'a>) -> Option<(&'a str, CType)> {
    let name = spelled(call.name);
    if LONE.contains(&name) {
        return Some((name, CType::FLOAT));
    }
    if let Some(intrinsic) = name.strip_prefix("__").and_then(|n| n.strip_suffix('f'))
        && known(intrinsic)
    {
        return Some((intrinsic, CType::FLOAT));
    }
    if let Some(base) = name.strip_suffix('f')
        && known(base)
    {
        return Some((base, CType::FLOAT));
    }
    let base = name;
    if !known(base) {
        return None;
    }
    let ty = match call.ty(0)? {
        CType::Float(FloatKind::Single) => CType::FLOAT,
        CType::Float(FloatKind::Half) => CType::HALF,
        CType::Float(FloatKind::BFloat) => CType::BFLOAT,
        _ => CType::DOUBLE,
    };
    // pow(float, int) and fmin(float, double) are computed in the wider type.
    let wider = call.count() >= 2 && call.ty(1) == Some(&CType::DOUBLE) && binary(base).is_some();
    Some((base, if wider { CType::DOUBLE } else { ty }))
}

fn is_special(base: &str) -> bool {
    matches!(
        base,
        "fma"
            | "sincos"
            | "sincospi"
            | "sinpi"
            | "cospi"
            | "modf"
            | "frexp"
            | "ldexp"
            | "scalbn"
            | "scalbln"
            | "lrint"
            | "llrint"
            | "lround"
            | "llround"
            | "ilogb"
            | "norm3d"
            | "norm4d"
            | "rnorm3d"
            | "rnorm4d"
            | "rhypot"
            | "nextafter"
            | "nan"
            | "powi"
            | "remquo"
            | "jn"
            | "yn"
    )
}

fn special(cx: &mut Context<'_>, call: &Call<'_>, base: &str, ty: &CType) -> Option<RValue> {
    let get = |cx: &mut Context<'_>, number: usize| call.scalar(cx, number, ty);
    let value = match base {
        "fma" => {
            let args = [get(cx, 0)?, get(cx, 1)?, get(cx, 2)?];
            cx.builder.value(Op::Fma, &args, ir_type(ty))
        }
        "sinpi" | "cospi" => {
            let x = get(cx, 0)?;
            let x = times_pi(cx, x, ty);
            cx.builder.unary(
                if base == "sinpi" {
                    UnaryOp::Sin
                } else {
                    UnaryOp::Cos
                },
                x,
            )
        }
        "sincos" | "sincospi" => {
            let mut x = get(cx, 0)?;
            if base == "sincospi" {
                x = times_pi(cx, x, ty);
            }
            let (sine, cosine) = (
                cx.builder.unary(UnaryOp::Sin, x),
                cx.builder.unary(UnaryOp::Cos, x),
            );
            call.write(cx, 1, RValue::scalar(ty.clone(), sine))?;
            call.write(cx, 2, RValue::scalar(ty.clone(), cosine))?;
            return Some(RValue::void());
        }
        "modf" => {
            let x = get(cx, 0)?;
            let whole = cx.builder.unary(UnaryOp::TruncFloat, x);
            call.write(cx, 1, RValue::scalar(ty.clone(), whole))?;
            cx.builder.binary(BinaryOp::FloatSub, Wrap::MAY, x, whole)
        }
        "frexp" | "remquo" => {
            let result = call.opaque(cx, ty, true);
            let last = call.count().checked_sub(1)?;
            let exponent = call.opaque(cx, &CType::INT, true);
            call.write(cx, last, exponent)?;
            return Some(result);
        }
        "ldexp" | "scalbn" | "scalbln" => {
            let (x, n) = (get(cx, 0)?, call.scalar(cx, 1, &CType::INT)?);
            cx.builder.binary(BinaryOp::Ldexp, Wrap::MAY, x, n)
        }
        "lrint" | "llrint" | "lround" | "llround" => {
            let x = get(cx, 0)?;
            let op = if base.ends_with("rint") {
                UnaryOp::RoundEven
            } else {
                UnaryOp::Round
            };
            let rounded = cx.builder.unary(op, x);
            let whole = cx.convert_scalar(rounded, ty, &CType::LONG);
            return Some(RValue::scalar(CType::LONG, whole));
        }
        "ilogb" => return Some(call.opaque(cx, &CType::INT, true)),
        "rhypot" | "norm3d" | "norm4d" | "rnorm3d" | "rnorm4d" => {
            let mut sum: Option<Value> = None;
            for number in 0..call.count() {
                let x = get(cx, number)?;
                let square = cx.builder.binary(BinaryOp::FloatMul, Wrap::MAY, x, x);
                sum = Some(match sum {
                    Some(sum) => cx
                        .builder
                        .binary(BinaryOp::FloatAdd, Wrap::MAY, sum, square),
                    None => square,
                });
            }
            cx.builder.unary(
                if base.starts_with('r') {
                    UnaryOp::Rsqrt
                } else {
                    UnaryOp::Sqrt
                },
                sum?,
            )
        }
        "powi" => {
            let (x, n) = (get(cx, 0)?, get(cx, 1)?);
            cx.builder.binary(BinaryOp::Pow, Wrap::MAY, x, n)
        }
        "nan" => cx.builder.float(ir_type(ty), f64::NAN),
        "nextafter" | "jn" | "yn" => return Some(call.opaque(cx, ty, true)),
        "isnan" | "isinf" | "isfinite" | "signbit" => {
            let ty = call.ty(0)?.clone();
            let float = if ty.is_float() { ty } else { CType::DOUBLE };
            let x = call.scalar(cx, 0, &float)?;
            let op = match base {
                "isnan" => UnaryOp::IsNan,
                "isinf" => UnaryOp::IsInf,
                "isfinite" => UnaryOp::IsFinite,
                _ => UnaryOp::SignBit,
            };
            let truth = cx.builder.value(Op::Unary(op), &[x], Type::Bool);
            return Some(RValue::scalar(CType::Bool, truth));
        }
        "abs" | "labs" | "llabs" => return absolute(cx, call),
        "min" | "max" | "umin" | "umax" => return extremum(cx, call, base.ends_with("max")),
        "clamp" if call.count() == 3 => {
            let ty = common(cx, call)?;
            let (x, low, high) = (
                call.scalar(cx, 0, &ty)?,
                call.scalar(cx, 1, &ty)?,
                call.scalar(cx, 2, &ty)?,
            );
            let raised = extreme(cx, x, low, &ty, true);
            let value = extreme(cx, raised, high, &ty, false);
            return Some(RValue::scalar(ty, value));
        }
        "lerp" if call.count() == 3 && call.ty(0)?.is_float() => {
            let ty = common(cx, call)?;
            let (a, b, t) = (
                call.scalar(cx, 0, &ty)?,
                call.scalar(cx, 1, &ty)?,
                call.scalar(cx, 2, &ty)?,
            );
            let difference = cx.builder.binary(BinaryOp::FloatSub, Wrap::MAY, b, a);
            let value = cx.builder.value(Op::Fma, &[difference, t, a], ir_type(&ty));
            return Some(RValue::scalar(ty, value));
        }
        _ => return None,
    };
    Some(RValue::scalar(ty.clone(), value))
}

fn times_pi(cx: &mut Context<'_>, x: Value, ty: &CType) -> Value {
    let pi = cx.builder.float(ir_type(ty), std::f64::consts::PI);
    cx.builder.binary(BinaryOp::FloatMul, Wrap::MAY, x, pi)
}

fn absolute(cx: &mut Context<'_>, call: &Call<'_>) -> Option<RValue> {
    let ty = call.ty(0)?.clone();
    let ty = if ty.is_float() { ty } else { cx.promote(&ty) };
    let x = call.scalar(cx, 0, &ty)?;
    let op = if ty.is_float() {
        UnaryOp::FloatAbs
    } else {
        UnaryOp::IntAbs
    };
    Some(RValue::scalar(ty, cx.builder.unary(op, x)))
}

fn common(cx: &mut Context<'_>, call: &Call<'_>) -> Option<CType> {
    let mut ty = call.ty(0)?.clone();
    for number in 1..call.count() {
        let other = call.ty(number)?.clone();
        ty = cx.common_scalar(&ty, &other);
    }
    ty.is_arithmetic().then_some(ty)
}

fn extremum(cx: &mut Context<'_>, call: &Call<'_>, maximum: bool) -> Option<RValue> {
    if call.count() < 2 {
        return None;
    }
    let ty = common(cx, call)?;
    let (x, y) = (call.scalar(cx, 0, &ty)?, call.scalar(cx, 1, &ty)?);
    Some(RValue::scalar(ty.clone(), extreme(cx, x, y, &ty, maximum)))
}

fn extreme(cx: &mut Context<'_>, x: Value, y: Value, ty: &CType, maximum: bool) -> Value {
    let op = match (ty.is_float(), ty.is_signed(), maximum) {
        (true, _, false) => BinaryOp::FloatMin,
        (true, _, true) => BinaryOp::FloatMax,
        (_, true, false) => BinaryOp::MinSigned,
        (_, true, true) => BinaryOp::MaxSigned,
        (_, false, false) => BinaryOp::MinUnsigned,
        (_, false, true) => BinaryOp::MaxUnsigned,
    };
    cx.fold(op, Wrap::MAY, x, y)
}

/// `__fadd_rn`, `__dmul_ru`, `__fmaf_rz`, `__frcp_rn`, `__fsqrt_rn`, `__fdiv_rn`, `__ddiv_rn`, `__frsqrt_rn`: the rounding mode is
/// not modelled.
fn rounded(cx: &mut Context<'_>, call: &Call<'_>) -> Option<RValue> {
    let body = call.name.strip_prefix("__")?;
    let body = ["_rn", "_rz", "_ru", "_rd"]
        .iter()
        .find_map(|mode| body.strip_suffix(mode))?;
    if body.contains('2') {
        return None;
    }
    let (ty, operation) = match body {
        "fmaf" => (CType::FLOAT, "ma"),
        "fma" => (CType::DOUBLE, "ma"),
        _ => match body.split_at_checked(1)? {
            ("f", operation) => (CType::FLOAT, operation),
            ("d", operation) => (CType::DOUBLE, operation),
            _ => return None,
        },
    };
    let x = call.scalar(cx, 0, &ty)?;
    let value = match operation {
        "ma" => {
            let args = [x, call.scalar(cx, 1, &ty)?, call.scalar(cx, 2, &ty)?];
            cx.builder.value(Op::Fma, &args, ir_type(&ty))
        }
        "rcp" => cx.builder.unary(UnaryOp::Reciprocal, x),
        "sqrt" => cx.builder.unary(UnaryOp::Sqrt, x),
        "rsqrt" => cx.builder.unary(UnaryOp::Rsqrt, x),
        "add" | "sub" | "mul" | "div" => {
            let y = call.scalar(cx, 1, &ty)?;
            let op = match operation {
                "add" => BinaryOp::FloatAdd,
                "sub" => BinaryOp::FloatSub,
                "mul" => BinaryOp::FloatMul,
                _ => BinaryOp::FloatDiv,
            };
            cx.builder.binary(op, Wrap::SEPARATE, x, y)
        }
        _ => return None,
    };
    Some(RValue::scalar(ty, value))
}

/// `__expf`, `__sinf`, `__fdividef` and their like, by the operations that the hardware has for them: CUDA C++ Programming Guide,
/// intrinsic functions.
fn approximate(cx: &mut Context<'_>, call: &Call<'_>) -> Option<RValue> {
    use std::f32::consts::{LN_2, LOG2_10, LOG2_E, LOG10_2};
    let ty = CType::FLOAT;
    let get = |cx: &mut Context<'_>, number: usize| call.scalar(cx, number, &ty);
    let times = |cx: &mut Context<'_>, x: Value, by: f32| {
        let by = cx.builder.float(Type::F32, by.into());
        cx.builder.binary(BinaryOp::FloatMul, Wrap::MAY, x, by)
    };
    let unary = |cx: &mut Context<'_>, op| {
        let x = get(cx, 0)?;
        Some(cx.builder.unary(op, x))
    };
    let value = match (call.name, call.count()) {
        ("__sinf", 1) => unary(cx, UnaryOp::ApproximateSin)?,
        ("__cosf", 1) => unary(cx, UnaryOp::ApproximateCos)?,
        ("__log2f", 1) => unary(cx, UnaryOp::ApproximateLog2)?,
        ("__exp2f", 1) => unary(cx, UnaryOp::Exp2)?,
        ("__expf" | "__exp10f", 1) => {
            let x = get(cx, 0)?;
            let by = if call.name == "__expf" {
                LOG2_E
            } else {
                LOG2_10
            };
            let power = times(cx, x, by);
            cx.builder.unary(UnaryOp::Exp2, power)
        }
        ("__logf" | "__log10f", 1) => {
            let log = unary(cx, UnaryOp::ApproximateLog2)?;
            let by = if call.name == "__logf" { LN_2 } else { LOG10_2 };
            times(cx, log, by)
        }
        ("__tanf", 1) => {
            let x = get(cx, 0)?;
            let sine = cx.builder.unary(UnaryOp::ApproximateSin, x);
            let cosine = cx.builder.unary(UnaryOp::ApproximateCos, x);
            (cx.builder).binary(BinaryOp::ApproximateDiv, Wrap::MAY, sine, cosine)
        }
        ("__fdividef" | "fdividef", 2) => {
            let (x, y) = (get(cx, 0)?, get(cx, 1)?);
            (cx.builder).binary(BinaryOp::ApproximateDiv, Wrap::MAY, x, y)
        }
        ("__powf", 2) => {
            let (x, y) = (get(cx, 0)?, get(cx, 1)?);
            let log = cx.builder.unary(UnaryOp::ApproximateLog2, x);
            let power = (cx.builder).binary(BinaryOp::FloatMul, Wrap::MAY, y, log);
            cx.builder.unary(UnaryOp::Exp2, power)
        }
        ("__sincosf", 3) => {
            let x = get(cx, 0)?;
            let sine = cx.builder.unary(UnaryOp::ApproximateSin, x);
            let cosine = cx.builder.unary(UnaryOp::ApproximateCos, x);
            call.write(cx, 1, RValue::scalar(ty.clone(), sine))?;
            call.write(cx, 2, RValue::scalar(ty.clone(), cosine))?;
            return Some(RValue::void());
        }
        _ => return None,
    };
    Some(RValue::scalar(ty, value))
}

/// The bits of a value as another type of the same size.
pub(super) fn bitcast(cx: &mut Context<'_>, value: Value, ty: &CType) -> RValue {
    let value = cx.builder.convert(Convert::Bitcast, value, ir_type(ty));
    RValue::scalar(ty.clone(), value)
}
