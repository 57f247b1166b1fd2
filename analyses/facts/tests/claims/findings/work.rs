//! Work that one thread could do, and doubles by accident.

use super::{kernel, reasons, tells};
use facts::Code;
use syntax::c_family::Dialect;

#[test]
fn what_one_thread_computes_is_computed_once() {
    let of = |condition: &str| {
        let body = format!("if ({condition}) out[threadIdx.x] = expf(float(m)) * in[0];");
        tells(&kernel("", &body), Code::RedundantPerThreadWork)
    };
    assert!(!of("n && threadIdx.x == 0"));
    assert!(of("n && threadIdx.x < 16"));
}

#[test]
fn names_of_macros_may_be_declared() {
    let of = |head: &str| {
        let text = kernel(head, "out[threadIdx.x] = in[n] * (4.0f / M_PI) + 1.0f;");
        tells(&text, Code::Fp64ByAccident)
    };
    assert!(!of("__device__ static const float M_PI = 3.14159265f;"));
    assert!(of("__device__ static const double M_PI = 3.14159265;"));
    assert!(of(""));
}

#[test]
fn what_assertions_ask_for_is_no_work() {
    const ASSERT: &str =
        "#define assert(e) ((e) ? (void)0 : __assert_fail(#e, __FILE__, __LINE__, __func__))\n";
    let of = |head: &str, body: &str| tells(&kernel(head, body), Code::RedundantPerThreadWork);
    for head in ["", ASSERT] {
        assert!(!of(
            head,
            "assert(n > 0 && 1000 / n > m); out[threadIdx.x] = n * m;"
        ));
        assert!(of(
            head,
            "assert(n > 0 && 1000 / n > m); out[threadIdx.x] = 1000 / n > m;"
        ));
        assert!(of(head, "if (1000 / n > m) out[threadIdx.x] = 1;"));
    }
}

#[test]
fn the_number_of_a_lane_in_any_width() {
    let of = |width: &str, condition: &str| {
        let body = format!(
            "int lane = threadIdx.x % ({width})32;
             if ({condition}) out[n] = expf(float(m)) * in[0];"
        );
        tells(&kernel("", &body), Code::RedundantPerThreadWork)
    };
    for width in [
        "int",
        "unsigned",
        "unsigned long long",
        "long long",
        "short",
    ] {
        assert!(!of(width, "lane == 0"), "{width}");
        assert!(of(width, "lane < 16"), "{width}");
    }
}

/// One division is reported once, at its place.
#[test]
fn one_expression_is_told_once() {
    let told = |body: &str| {
        let found = reasons(&kernel("", body), Dialect::Cuda);
        let redundant = found
            .iter()
            .filter(|(c, _)| *c == Code::RedundantPerThreadWork);
        redundant.count()
    };
    let rest = "out[threadIdx.x * 2] = (int)threadIdx.x == a - 1 ? 1.0f : 2.0f; out[threadIdx.x * 2 + 1] = a * 3;";
    assert_eq!(told(&format!("int a = (n + m - 1) / m; {rest}")), 1);
    assert_eq!(
        told(&format!("int a = n / m, b = n / m; {rest} out[0] = b;")),
        1
    );
    assert_eq!(
        told(&format!("int a = n / m, b = m / n; {rest} out[0] = b;")),
        2
    );
}

#[test]
fn doubles_that_an_author_converts_to() {
    let accident = |value: &str| {
        tells(
            &kernel("", &format!("out[threadIdx.x] = {value};")),
            Code::Fp64ByAccident,
        )
    };
    assert!(!accident("max((double)in[threadIdx.x] / in[0], 1.1)"));
    assert!(!accident(
        "static_cast<double>(in[threadIdx.x]) * in[0] + 0.1"
    ));
    assert!(accident("max(in[threadIdx.x] / in[0] * 1.3, 1.1)"));
}
