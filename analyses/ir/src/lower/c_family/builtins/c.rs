//! C's standard library as far as it computes: `<math.h>`, the copies of `<string.h>`, `<stdlib.h>`'s absolute values,
//! and the builtins of GCC that mean the same. Everything else is a call of something that is not in sight.

use super::cuda;
use crate::inst::{BinaryOp, Convert, Op, UNNAMED, Wrap};
use crate::lower::c_family::context::Context;
use crate::lower::c_family::types::CType;
use crate::lower::c_family::value::{Argument, RValue};
use crate::types::{Space, Type};
use syntax::Span;

/// A function that the C library or the compiler provides.
pub fn is_builtin(name: &str) -> bool {
    let base = name.strip_prefix("__builtin_").unwrap_or(name);
    is_math(base) || is_memory(base) || (base.len() < name.len() && is_compiler(base))
}

fn is_math(base: &str) -> bool {
    let functions = |name: &str| {
        matches!(
            name,
            "sqrt"
                | "cbrt"
                | "sin"
                | "cos"
                | "tan"
                | "asin"
                | "acos"
                | "atan"
                | "sinh"
                | "cosh"
                | "tanh"
                | "asinh"
                | "acosh"
                | "atanh"
                | "exp"
                | "exp2"
                | "expm1"
                | "log"
                | "log2"
                | "log10"
                | "log1p"
                | "erf"
                | "erfc"
                | "tgamma"
                | "lgamma"
                | "floor"
                | "ceil"
                | "trunc"
                | "round"
                | "rint"
                | "nearbyint"
                | "fabs"
                | "pow"
                | "fmod"
                | "remainder"
                | "atan2"
                | "fmin"
                | "fmax"
                | "fdim"
                | "hypot"
                | "copysign"
                | "fma"
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
                | "nextafter"
                | "logb"
                | "nan"
        )
    };
    functions(base)
        || base.strip_suffix('f').is_some_and(functions)
        || matches!(
            base,
            "abs"
                | "labs"
                | "llabs"
                | "isnan"
                | "isinf"
                | "isfinite"
                | "signbit"
                | "__isnan"
                | "__isnanf"
                | "__isinf"
                | "__isinff"
                | "__finite"
                | "__finitef"
                | "__signbit"
                | "__signbitf"
        )
}

fn is_memory(base: &str) -> bool {
    matches!(
        base,
        "memcpy" | "memmove" | "memset" | "malloc" | "calloc" | "free"
    )
}

fn is_compiler(base: &str) -> bool {
    matches!(
        base,
        "expect"
            | "assume_aligned"
            | "unreachable"
            | "trap"
            | "popcount"
            | "popcountl"
            | "popcountll"
            | "clz"
            | "clzl"
            | "clzll"
            | "ctz"
            | "ctzl"
            | "ctzll"
            | "ffs"
            | "ffsl"
            | "ffsll"
            | "bswap16"
            | "bswap32"
            | "bswap64"
            | "constant_p"
            | "va_area"
            | "va_next"
            | "huge_val"
            | "huge_valf"
            | "inf"
            | "inff"
            | "prefetch"
            | "object_size"
    )
}

/// `None`: not a builtin, or its arguments do not fit.
pub fn call(
    cx: &mut Context<'_>,
    name: &str,
    arguments: &[Argument],
    span: Span,
) -> Option<RValue> {
    if !is_builtin(name) {
        return None;
    }
    let base = name.strip_prefix("__builtin_").unwrap_or(name);
    // As `<math.h>` of GNU's C library calls them.
    let base = match base {
        "__isnan" | "__isnanf" => "isnan",
        "__isinf" | "__isinff" => "isinf",
        "__finite" | "__finitef" => "isfinite",
        "__signbit" | "__signbitf" => "signbit",
        _ => base,
    };
    if let "memcpy" | "memmove" | "memset" = base
        && let Some(value) = super::c_memory::call(cx, base, arguments, span)
    {
        return Some(value);
    }
    match (base, arguments) {
        ("constant_p" | "object_size", _) => {
            let (ty, value) = match base {
                "constant_p" => (CType::INT, 0),
                _ => (CType::ULONG, -1),
            };
            let value = cx.builder.int(ty.scalar_ir()?, value);
            return Some(RValue::scalar(ty, value));
        }
        ("va_area", []) => {
            let op = Op::CallUnknown {
                name: UNNAMED.into(),
                pure: true,
                convention: Default::default(),
            };
            let ty = CType::pointer(CType::Void, Space::Generic);
            let value = cx.builder.value(op, &[], ty.scalar_ir()?);
            return Some(RValue::scalar(ty, value));
        }
        ("va_next", [list, size, align]) => return next_unnamed(cx, list, size, align, span),
        ("assume_aligned", [pointer, bytes]) => {
            let bytes = bytes.value.first();
            let bytes = bytes.and_then(|bytes| cx.builder.function.int_constant(bytes));
            cx.assumed_aligned(&pointer.value, bytes, span);
            return Some(pointer.value.clone());
        }
        ("huge_val" | "inf", []) => return real(cx, CType::DOUBLE, f64::INFINITY),
        ("huge_valf" | "inff", []) => return real(cx, CType::FLOAT, f64::INFINITY),
        ("prefetch", _) => return Some(RValue::void()),
        ("trap", []) => {
            let op = Op::CallUnknown {
                name: "abort".into(),
                pure: false,
                convention: Default::default(),
            };
            cx.builder.inst(op, &[], &[]);
            return Some(RValue::void());
        }
        ("abs" | "labs" | "llabs", [only]) => {
            let ty = if base == "abs" {
                CType::INT
            } else {
                CType::LONG
            };
            let value = cx.convert(only.value.clone(), &ty, span);
            cx.here(span);
            let value = cx
                .builder
                .unary(crate::inst::UnaryOp::IntAbs, value.first()?);
            return Some(RValue::scalar(ty, value));
        }
        // `sqrt` of anything is that of a `double`: there are no overloads.
        (_, [_, ..]) if is_math(base) && !base.ends_with('f') => {
            let generic = matches!(base, "isnan" | "isinf" | "isfinite" | "signbit");
            let mut all = arguments.to_vec();
            if !generic {
                // The exponent of `ldexp` stays an integer.
                let floats = match base {
                    "ldexp" | "scalbn" | "scalbln" => 1,
                    _ => all.len(),
                };
                for argument in all.iter_mut().take(floats) {
                    if argument.value.ty.is_arithmetic() {
                        let value = argument.value.clone();
                        argument.value = cx.convert(value, &CType::DOUBLE, span);
                    }
                }
            }
            cx.here(span);
            let value = cuda::call(cx, base, &[], &all, span)?;
            // A truth value is an `int`.
            return Some(match value.ty {
                CType::Bool => cx.convert(value, &CType::INT, span),
                _ => value,
            });
        }
        _ => {}
    }
    let cuda_name = match base {
        "popcount" | "popcountll" | "clz" | "clzll" | "ctz" | "ctzll" | "ffs" | "ffsll" => {
            return cuda::call(cx, &format!("__builtin_{base}"), &[], arguments, span);
        }
        "popcountl" | "clzl" | "ctzl" | "ffsl" => {
            return cuda::call(cx, &format!("__builtin_{base}l"), &[], arguments, span);
        }
        "expect" | "assume_aligned" | "unreachable" => {
            return cuda::call(cx, &format!("__builtin_{base}"), &[], arguments, span);
        }
        "bswap16" | "bswap32" | "bswap64" => return swapped(cx, base, arguments, span),
        other => other,
    };
    cuda::call(cx, cuda_name, &[], arguments, span)
}

/// A name in a file whose headers are not all in sight: some number that one of them may define.
fn undeclared(cx: &mut Context<'_>, name: &str, span: Span) -> Option<RValue> {
    if cx.env.missing_headers.is_empty() {
        return None;
    }
    cx.remark(
        span,
        format!("`{name}` is not declared here; a header that was not found may do so"),
    );
    let op = Op::CallUnknown {
        name: name.into(),
        pure: true,
        convention: Default::default(),
    };
    let value = cx.builder.value(op, &[], Type::I32);
    Some(RValue::scalar(CType::INT, value))
}

fn real(cx: &mut Context<'_>, ty: CType, value: f64) -> Option<RValue> {
    let value = cx.builder.float(ty.scalar_ir()?, value);
    Some(RValue::scalar(ty, value))
}

/// The bytes of a number in the other order.
fn swapped(cx: &mut Context<'_>, name: &str, arguments: &[Argument], span: Span) -> Option<RValue> {
    use crate::inst::{BinaryOp, Wrap};
    let bits: u8 = name.strip_prefix("bswap")?.parse().ok()?;
    let ty = CType::int(bits, false);
    let value = cx.convert(arguments.first()?.value.clone(), &ty, span);
    let value = value.first()?;
    cx.here(span);
    let scalar = Type::int(u32::from(bits));
    let mut result = None;
    for byte in 0..i64::from(bits) / 8 {
        let from = cx.builder.int(scalar, byte * 8);
        let to = cx.builder.int(scalar, i64::from(bits) - 8 - byte * 8);
        let mask = cx.builder.int(scalar, 0xff);
        let moved = cx
            .builder
            .binary(BinaryOp::ShrUnsigned, Wrap::MAY, value, from);
        let alone = cx.builder.binary(BinaryOp::And, Wrap::MAY, moved, mask);
        let placed = cx.builder.binary(BinaryOp::Shl, Wrap::MAY, alone, to);
        result = Some(match result {
            Some(before) => cx.builder.binary(BinaryOp::Or, Wrap::MAY, before, placed),
            None => placed,
        });
    }
    Some(RValue::scalar(ty, result?))
}

/// The address of the argument that a list points to. The list goes on behind its slots, of which one that is aligned more
/// than they are begins at an even one.
fn next_unnamed(
    cx: &mut Context<'_>,
    list: &Argument,
    size: &Argument,
    align: &Argument,
    span: Span,
) -> Option<RValue> {
    let number = |cx: &Context<'_>, argument: &Argument| {
        let value = argument.value.first()?;
        cx.builder.function.int_constant(value)
    };
    let (size, align) = (number(cx, size)?, number(cx, align)?);
    let place = cx.dereference(&list.value, span);
    let here = cx.load(&place, span);
    let here = cx.with_address(here, span);
    let mut address = here.first()?;
    let pointer = cx.builder.function.ty(address);
    if align > 8 {
        let whole = cx.builder.convert(Convert::Bitcast, address, Type::I64);
        let more = cx.builder.int(Type::I64, align - 1);
        let whole = cx.builder.binary(BinaryOp::Add, Wrap::MAY, whole, more);
        let mask = cx.builder.int(Type::I64, -align);
        let whole = cx.builder.binary(BinaryOp::And, Wrap::MAY, whole, mask);
        address = cx.builder.convert(Convert::Bitcast, whole, pointer);
    }
    let step = cx.builder.int(Type::I64, (size + 7) & -8);
    let behind = cx.builder.ptr_add(address, step);
    cx.store(&place, RValue::scalar(here.ty.clone(), behind), span);
    let ty = CType::pointer(CType::Void, Space::Generic);
    let address = cx.adapt(address, ty.scalar_ir()?);
    Some(RValue::scalar(ty, address))
}

/// `true` and `false` of `<stdbool.h>`, the numbers of `<float.h>` and `<math.h>`.
pub fn named_value(cx: &mut Context<'_>, name: &str, span: Span) -> Option<RValue> {
    cx.here(span);
    match name {
        "true" | "false" => {
            let value = cx.builder.int(Type::I32, i64::from(name == "true"));
            Some(RValue::scalar(CType::INT, value))
        }
        _ if name.starts_with("CUDART") || name.starts_with("cuda") => None,
        "stdin" | "stdout" | "stderr" => {
            let ty = CType::pointer(CType::opaque("FILE"), crate::types::Space::Generic);
            let op = Op::CallUnknown {
                name: name.into(),
                pure: true,
                convention: Default::default(),
            };
            let value = cx
                .builder
                .value(op, &[], Type::Ptr(crate::types::Space::Generic));
            Some(RValue::scalar(ty, value))
        }
        _ => cuda::named_value(cx, name).or_else(|| undeclared(cx, name, span)),
    }
}

/// Numbers of the standard headers, as 64-bit Linux has them.
pub fn number(name: &str) -> Option<i64> {
    Some(match name {
        "SEEK_SET" | "EXIT_SUCCESS" | "LC_CTYPE" | "O_RDONLY" => 0,
        "SEEK_CUR" | "EXIT_FAILURE" | "EPERM" | "O_WRONLY" => 1,
        "SEEK_END" | "FLT_RADIX" | "ENOENT" | "O_RDWR" | "SIGINT" => 2,
        "EINTR" => 4,
        "EIO" => 5,
        "DBL_DECIMAL_DIG" => 17,
        "EBADF" => 9,
        "EAGAIN" | "EWOULDBLOCK" => 11,
        "ENOMEM" => 12,
        "EACCES" => 13,
        "EEXIST" => 17,
        "EINVAL" => 22,
        "EDOM" => 33,
        "ERANGE" => 34,
        "FLT_MANT_DIG" => 24,
        "DBL_MANT_DIG" => 53,
        "FLT_DIG" => 6,
        "DBL_DIG" => 15,
        "FLT_MAX_EXP" => 128,
        "FLT_MIN_EXP" => -125,
        "FLT_MAX_10_EXP" => 38,
        "DBL_MAX_EXP" => 1024,
        "DBL_MIN_EXP" => -1021,
        "DBL_MAX_10_EXP" => 308,
        "DBL_MIN_10_EXP" => -307,
        "BUFSIZ" => 8192,
        "PATH_MAX" | "FILENAME_MAX" => 4096,
        _ => return None,
    })
}

/// The types of `<stdint.h>`, `<stddef.h>` and their neighbours on a 64-bit Unix.
pub fn named_type(name: &str) -> Option<CType> {
    Some(match name {
        "size_t" | "uint64_t" | "uintptr_t" | "uint_fast64_t" | "uint_least64_t" | "uintmax_t"
        | "uint_fast32_t" | "uint_fast16_t" | "u_int64_t" | "u_long" | "ulong" => CType::ULONG,
        "ssize_t" | "int64_t" | "ptrdiff_t" | "intptr_t" | "int_fast64_t" | "int_least64_t"
        | "int_fast32_t" | "int_fast16_t" | "intmax_t" | "off_t" | "off64_t" | "time_t"
        | "clock_t" | "suseconds_t" | "__int64" => CType::LONG,
        "uint32_t" | "uint_least32_t" | "u_int32_t" | "u_int" | "uint" | "char32_t" | "mode_t"
        | "uid_t" | "gid_t" | "wint_t" | "socklen_t" => CType::UINT,
        "int32_t" | "int_least32_t" | "wchar_t" | "pid_t" | "sig_atomic_t" => CType::INT,
        "uint16_t" | "uint_least16_t" | "u_int16_t" | "u_short" | "ushort" | "char16_t" => {
            CType::USHORT
        }
        "int16_t" | "int_least16_t" => CType::SHORT,
        "uint8_t" | "uint_least8_t" | "uint_fast8_t" | "u_int8_t" | "u_char" => CType::UCHAR,
        "int8_t" | "int_least8_t" | "int_fast8_t" => CType::CHAR,
        "bool" => CType::Bool,
        // IA-64 has its arguments without names one behind the other.
        "va_list" | "__builtin_va_list" | "__gnuc_va_list" => {
            CType::pointer(CType::CHAR, Space::Generic)
        }
        "float_t" | "_Float32" => CType::FLOAT,
        "double_t" | "_Float64" => CType::DOUBLE,
        _ => return super::basic::named_type(name),
    })
}

/// Returns true if a header that is not found declares only known names, or none that matter to computation.
pub fn is_known_header(spec: &str) -> bool {
    let stem = spec.strip_suffix(".h").unwrap_or(spec);
    matches!(
        stem,
        "assert"
            | "complex"
            | "ctype"
            | "errno"
            | "fenv"
            | "float"
            | "inttypes"
            | "iso646"
            | "limits"
            | "locale"
            | "math"
            | "setjmp"
            | "signal"
            | "stdalign"
            | "stdarg"
            | "stdatomic"
            | "stdbool"
            | "stddef"
            | "stdint"
            | "stdio"
            | "stdlib"
            | "stdnoreturn"
            | "string"
            | "strings"
            | "tgmath"
            | "threads"
            | "time"
            | "uchar"
            | "wchar"
            | "wctype"
            | "unistd"
            | "fcntl"
            | "memory"
            | "malloc"
            | "pthread"
    ) || spec.starts_with("sys/")
}
