//! Names that C and CUDA know without a declaration: types by size and sign, headers by the names that they
//! hide.

use lockstep_ir::Language;
use lockstep_ir::lower::c_family::builtins::is_known_header;
use lockstep_ir::lower::c_family::{LowerOptions, lower_unit};
use oracle::interp::{Argument, Launch, run};
use syntax::c_family::{Dialect, parse_text};

/// Returns the result of a C function of one number.
fn called(source: &str, k: u64) -> i64 {
    let items = parse_text(source, Dialect::C);
    let lowered = lower_unit(&items, &LowerOptions::new(Language::C));
    let (_, lowered) = lowered.last().expect("a function");
    assert!(
        lowered.problems.is_empty(),
        "{source}: {:?}",
        lowered.problems
    );
    let function = &lowered.module.functions[0];
    let unknowns: Vec<_> = function.unknowns.values().collect();
    assert!(unknowns.is_empty(), "{source}: {unknowns:?}");
    let mut launch = Launch::new(1);
    launch.parameters = vec![Argument::Bits(k)];
    let outcome = run(&lowered.module, &launch);
    assert_eq!(outcome.error, None, "{source}");
    outcome.returned[0][0] as i64
}

#[test]
fn types_have_the_size_and_the_sign_of_a_64_bit_unix() {
    let all: [(i64, bool, &str); 8] = [
        (
            8,
            false,
            "size_t uint64_t uintptr_t uint_fast64_t uint_least64_t uintmax_t uint_fast32_t uint_fast16_t u_int64_t u_long ulong",
        ),
        (
            8,
            true,
            "ssize_t int64_t ptrdiff_t intptr_t int_fast64_t int_least64_t int_fast32_t int_fast16_t intmax_t off_t off64_t time_t clock_t suseconds_t __int64",
        ),
        (
            4,
            false,
            "uint32_t uint_least32_t u_int32_t u_int uint char32_t mode_t uid_t gid_t wint_t socklen_t",
        ),
        (4, true, "int32_t int_least32_t wchar_t pid_t sig_atomic_t"),
        (
            2,
            false,
            "uint16_t uint_least16_t u_int16_t u_short ushort char16_t",
        ),
        (2, true, "int16_t int_least16_t"),
        (
            1,
            false,
            "uint8_t uint_least8_t uint_fast8_t u_int8_t u_char",
        ),
        (1, true, "int8_t int_least8_t int_fast8_t"),
    ];
    for (bytes, signed, names) in all {
        for name in names.split(' ') {
            let source = format!(
                "long f(long k) {{ {name} x = ({name})k; return sizeof(x) * 10 + (x < 0); }}"
            );
            let expected = bytes * 10 + i64::from(signed);
            assert_eq!(called(&source, u64::MAX), expected, "{name}");
        }
    }
    for (name, bytes) in [
        ("float_t", 4),
        ("_Float32", 4),
        ("double_t", 8),
        ("_Float64", 8),
    ] {
        let source =
            format!("long f(long k) {{ {name} x = k; x /= 2; return x * 100 + sizeof x; }}");
        assert_eq!(called(&source, 3), 150 + bytes, "{name}");
    }
    let truth = "long f(long k) { bool x = k; return x + sizeof x * 10; }";
    assert_eq!(called(truth, 256), 11);
}

#[test]
fn headers_that_hide_no_device_function_are_known() {
    for known in [
        "cuda_runtime.h",
        "cuda_fp16.hpp",
        "cuda.h",
        "device_launch_parameters.h",
        "device_functions.h",
        "sm_30_intrinsics.h",
        "cooperative_groups.h",
        "cooperative_groups/reduce.h",
        "sys/time.h",
        "cuComplex.h",
        "vector_types.h",
        "vector_functions.h",
        "math_constants.h",
        "math_functions.h",
        "host_defines.h",
        "driver_types.h",
        "texture_types.h",
        "texture_fetch_functions.h",
        "surface_types.h",
        "surface_functions.h",
        "builtin_types.h",
        "mma.h",
        "crt/mma.h",
        "omp.h",
        "windows.h",
        "vector",
        "cmath",
        "type_traits",
        "stdio.h",
        " math.h ",
        "stdint.h",
        "pthread.h",
        "complex.h",
        "CUDA/include/math.h",
    ] {
        assert!(is_known_header(known), "{known}");
    }
    for unknown in [
        "kernel.h",
        "kernel.cuh",
        "cub/cub.cuh",
        "cooperative.h",
        "my_cuda_runtime.h",
        "sm.h",
        "device.h",
        "vector.h",
        "src/vector",
    ] {
        assert!(!is_known_header(unknown), "{unknown}");
    }
}

#[test]
fn numbers_have_the_values_of_64_bit_linux() {
    for (names, expected) in [
        ("SEEK_SET EXIT_SUCCESS LC_CTYPE O_RDONLY false", 0),
        ("SEEK_CUR EXIT_FAILURE EPERM O_WRONLY true", 1),
        ("SEEK_END FLT_RADIX ENOENT O_RDWR SIGINT", 2),
        ("EINTR", 4),
        ("EIO", 5),
        ("FLT_DIG", 6),
        ("CHAR_BIT", 8),
        ("EBADF", 9),
        ("EAGAIN EWOULDBLOCK", 11),
        ("ENOMEM", 12),
        ("EACCES", 13),
        ("DBL_DIG", 15),
        ("EEXIST DBL_DECIMAL_DIG", 17),
        ("EINVAL", 22),
        ("FLT_MANT_DIG", 24),
        ("EDOM", 33),
        ("ERANGE", 34),
        ("FLT_MAX_10_EXP", 38),
        ("DBL_MANT_DIG", 53),
        ("SCHAR_MAX INT8_MAX", 127),
        ("SCHAR_MIN INT8_MIN", -128),
        ("UCHAR_MAX UINT8_MAX", 255),
        ("FLT_MAX_EXP", 128),
        ("FLT_MIN_EXP", -125),
        ("DBL_MAX_EXP", 1024),
        ("DBL_MIN_EXP", -1021),
        ("DBL_MAX_10_EXP", 308),
        ("DBL_MIN_10_EXP", -307),
        ("PATH_MAX FILENAME_MAX", 4096),
        ("BUFSIZ", 8192),
        ("SHRT_MAX INT16_MAX", 32767),
        ("SHRT_MIN INT16_MIN", -32768),
        ("USHRT_MAX UINT16_MAX", 65535),
        ("INT_MAX INT32_MAX RAND_MAX", i64::from(i32::MAX)),
        ("INT_MIN INT32_MIN", i64::from(i32::MIN)),
        ("UINT_MAX UINT32_MAX", i64::from(u32::MAX)),
        ("LONG_MAX LLONG_MAX INT64_MAX", i64::MAX),
        ("LONG_MIN LLONG_MIN INT64_MIN", i64::MIN),
        ("ULONG_MAX ULLONG_MAX UINT64_MAX SIZE_MAX", -1),
    ] {
        for name in names.split(' ') {
            let source = format!("long f(long k) {{ return {name}; }}");
            assert_eq!(called(&source, 0), expected, "{name}");
        }
    }
    for (name, expected) in [
        ("M_PI", std::f64::consts::PI),
        ("M_PI_2", std::f64::consts::FRAC_PI_2),
        ("M_PI_4", std::f64::consts::FRAC_PI_4),
        ("M_1_PI", std::f64::consts::FRAC_1_PI),
        ("M_2_PI", std::f64::consts::FRAC_2_PI),
        ("M_SQRT2", std::f64::consts::SQRT_2),
        ("M_SQRT1_2", std::f64::consts::FRAC_1_SQRT_2),
        ("M_E", std::f64::consts::E),
        ("M_LOG2E", std::f64::consts::LOG2_E),
        ("M_LN2", std::f64::consts::LN_2),
        ("DBL_MAX / 1e300", f64::MAX / 1e300),
        ("DBL_MIN * 1e300", f64::MIN_POSITIVE * 1e300),
        ("DBL_EPSILON", f64::EPSILON),
        ("FLT_MAX / 1e30", f64::from(f32::MAX) / 1e30),
        ("FLT_MIN * 1e30", f64::from(f32::MIN_POSITIVE) * 1e30),
        ("FLT_EPSILON", f64::from(f32::EPSILON)),
    ] {
        let source = format!("long f(long k) {{ double x = ({name}) * 1e9; return (long)x; }}");
        assert_eq!(called(&source, 0), (expected * 1e9) as i64, "{name}");
    }
    for (condition, expected) in [
        ("INFINITY > 1e38f", 1),
        ("HUGE_VAL > 1e308", 1),
        ("HUGE_VALF > 1e38f", 1),
        ("NAN == NAN", 0),
        ("NULL == 0", 1),
    ] {
        let source = format!("long f(long k) {{ return {condition}; }}");
        assert_eq!(called(&source, 0), expected, "{condition}");
    }
}
