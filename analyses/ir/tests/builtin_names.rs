//! Names that C and CUDA know without a declaration: types by size and sign, headers by what they hide.

use lockstep_ir::Language;
use lockstep_ir::interp::{Argument, Launch, run};
use lockstep_ir::lower::c_family::builtins::is_known_header;
use lockstep_ir::lower::c_family::{LowerOptions, lower_unit};
use std::sync::Arc;
use syntax::c_family::{Dialect, parse_text};

/// What a C function of a number returns.
fn called(source: &str, k: u64) -> i64 {
    let items: Vec<Arc<_>> = parse_text(source, Dialect::C)
        .into_iter()
        .map(Arc::new)
        .collect();
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
