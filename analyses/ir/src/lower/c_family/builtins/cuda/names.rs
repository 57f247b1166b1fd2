//! Names of the C headers that kernels use without our seeing the header: limits, mathematical constants.

use super::super::BuiltinTemplateArgument;
use super::{Call, ir_type};
use crate::lower::c_family::context::Context;
use crate::lower::c_family::types::{CType, FloatKind};
use crate::lower::c_family::value::RValue;

enum Constant {
    Int(i64),
    Uint(u64),
    Long(i64),
    Ulong(u64),
    Float(f32),
    Double(f64),
}

/// The value of a macro or constant of `<float.h>`, `<limits.h>`, `<stdint.h>`, `<math.h>` and `math_constants.h`.
pub fn named_value(cx: &mut Context<'_>, name: &str) -> Option<RValue> {
    use Constant::*;
    let constant = match name {
        "FLT_MAX" | "CUDART_MAX_NORMAL_F" => Float(f32::MAX),
        "FLT_MIN" => Float(f32::MIN_POSITIVE),
        "FLT_EPSILON" => Float(f32::EPSILON),
        "DBL_MAX" => Double(f64::MAX),
        "DBL_MIN" => Double(f64::MIN_POSITIVE),
        "DBL_EPSILON" => Double(f64::EPSILON),
        "INFINITY" | "CUDART_INF_F" | "HUGE_VALF" => Float(f32::INFINITY),
        "CUDART_INF" | "HUGE_VAL" => Double(f64::INFINITY),
        "NAN" | "CUDART_NAN_F" => Float(f32::NAN),
        "CUDART_NAN" => Double(f64::NAN),
        "CUDART_PI_F" => Float(std::f32::consts::PI),
        "CUDART_PIO2_F" => Float(std::f32::consts::FRAC_PI_2),
        "CUDART_SQRT_HALF_F" => Float(std::f32::consts::FRAC_1_SQRT_2),
        "M_PI" | "CUDART_PI" => Double(std::f64::consts::PI),
        "M_PI_2" => Double(std::f64::consts::FRAC_PI_2),
        "M_PI_4" => Double(std::f64::consts::FRAC_PI_4),
        "M_1_PI" => Double(std::f64::consts::FRAC_1_PI),
        "M_2_PI" => Double(std::f64::consts::FRAC_2_PI),
        "M_SQRT2" => Double(std::f64::consts::SQRT_2),
        "M_SQRT1_2" => Double(std::f64::consts::FRAC_1_SQRT_2),
        "M_E" => Double(std::f64::consts::E),
        "M_LOG2E" => Double(std::f64::consts::LOG2_E),
        "M_LN2" => Double(std::f64::consts::LN_2),
        "INT_MAX" | "INT32_MAX" => Int(i64::from(i32::MAX)),
        "INT_MIN" | "INT32_MIN" => Int(i64::from(i32::MIN)),
        "UINT_MAX" | "UINT32_MAX" => Uint(u64::from(u32::MAX)),
        "SHRT_MAX" | "INT16_MAX" => Int(i64::from(i16::MAX)),
        "SHRT_MIN" | "INT16_MIN" => Int(i64::from(i16::MIN)),
        "USHRT_MAX" | "UINT16_MAX" => Int(i64::from(u16::MAX)),
        "CHAR_MAX" | "SCHAR_MAX" | "INT8_MAX" => Int(i64::from(i8::MAX)),
        "CHAR_MIN" | "SCHAR_MIN" | "INT8_MIN" => Int(i64::from(i8::MIN)),
        "UCHAR_MAX" | "UINT8_MAX" => Int(i64::from(u8::MAX)),
        "CHAR_BIT" => Int(8),
        "LONG_MAX" | "LLONG_MAX" | "INT64_MAX" => Long(i64::MAX),
        "LONG_MIN" | "LLONG_MIN" | "INT64_MIN" => Long(i64::MIN),
        "ULONG_MAX" | "ULLONG_MAX" | "UINT64_MAX" | "SIZE_MAX" => Ulong(u64::MAX),
        "RAND_MAX" => Int(i64::from(i32::MAX)),
        "NULL" => Long(0),
        "EXIT_SUCCESS" => Int(0),
        "cudaSuccess" => Int(0),
        _ => return None,
    };
    Some(match constant {
        Int(v) => number(cx, &CType::INT, v),
        Uint(v) => number(cx, &CType::UINT, v as i64),
        Long(v) => number(cx, &CType::LONG, v),
        Ulong(v) => number(cx, &CType::ULONG, v as i64),
        Float(v) => real(cx, &CType::FLOAT, f64::from(v)),
        Double(v) => real(cx, &CType::DOUBLE, v),
    })
}

fn number(cx: &mut Context<'_>, ty: &CType, value: i64) -> RValue {
    let value = cx.builder.int(ir_type(ty), value);
    RValue::scalar(ty.clone(), value)
}

fn real(cx: &mut Context<'_>, ty: &CType, value: f64) -> RValue {
    let value = cx.builder.float(ir_type(ty), value);
    RValue::scalar(ty.clone(), value)
}

/// `std::numeric_limits<T>::max()` and its siblings.
pub(super) fn numeric_limit(cx: &mut Context<'_>, full: &str, call: &Call<'_>) -> Option<RValue> {
    let ty = call.types.iter().find_map(|a| match a {
        BuiltinTemplateArgument::Type(ty) => Some(ty.clone()),
        BuiltinTemplateArgument::Value(_) => None,
    });
    let ty = ty.unwrap_or(CType::FLOAT);
    let which = full.rsplit("::").next()?;
    match &ty {
        CType::Float(kind) => {
            let (max, min, epsilon) = match kind {
                FloatKind::Double => (f64::MAX, f64::MIN_POSITIVE, f64::EPSILON),
                FloatKind::Half => (65504.0, 6.103_515_625e-5, 9.765_625e-4),
                _ => (
                    f64::from(f32::MAX),
                    f64::from(f32::MIN_POSITIVE),
                    f64::from(f32::EPSILON),
                ),
            };
            let value = match which {
                "max" => max,
                "lowest" => -max,
                "min" => min,
                "epsilon" => epsilon,
                "infinity" => f64::INFINITY,
                "quiet_NaN" | "signaling_NaN" => f64::NAN,
                _ => return None,
            };
            Some(real(cx, &ty, value))
        }
        CType::Int { bits, signed } => {
            let all = if *bits >= 64 {
                u64::MAX
            } else {
                (1u64 << bits) - 1
            };
            let value = match (which, signed) {
                ("max", true) => (all >> 1) as i64,
                ("max", false) => all as i64,
                ("min" | "lowest", true) => -((all >> 1) as i64) - 1,
                ("min" | "lowest" | "epsilon", _) => 0,
                _ => return None,
            };
            Some(number(cx, &ty, value))
        }
        _ => None,
    }
}
