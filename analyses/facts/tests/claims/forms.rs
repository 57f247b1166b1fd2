//! The forms of values of one operation, and the bounds of those that have none.

use super::source::{class_with, cuda, functions};
use facts::{Class, Options, Scope};
use syntax::c_family::Dialect;

const NUMBERS: &str = "int t = threadIdx.x; unsigned u = threadIdx.x; int gid = blockIdx.x * blockDim.x + threadIdx.x;
    int w = (int)(threadIdx.x & 7); int m = n & 3;";

/// The form of an expression; empty where it has none.
fn form(expression: &str) -> String {
    let text = format!(
        "__global__ void k(int* o, int n) {{ {NUMBERS} auto D = {expression}; o[t] = D; }}"
    );
    let all = functions(&text, Dialect::Cuda);
    let (module, facts) = &all[0];
    let function = &module.functions[0];
    let bound = function
        .bindings
        .iter()
        .find(|b| function.variables[b.variable].name == "D");
    let bound = bound.expect("`D` is declared");
    facts.at(bound.values[0], bound.block).form.to_string()
}

fn always(condition: &str) -> bool {
    let told = cuda("", "", &format!("{NUMBERS} bool D = {condition};"));
    told == Class::Uniform
}

#[test]
fn forms_of_operations() {
    for (expression, expected) in [
        ("t + 3", "tid.x + 3"),
        ("3 - t", "-tid.x + 3"),
        ("5 * t - t", "4*tid.x"),
        ("t << 4", "16*tid.x"),
        ("__mul24(t, 6)", "6*tid.x"),
        ("__umul24(u, 5)", "5*tid.x"),
        ("-t", "-tid.x"),
        // Bits that lie apart add up.
        ("4 * t | 3", "4*tid.x + 3"),
        ("3 | 4 * t", "4*tid.x + 3"),
        ("4 * t ^ 3", "4*tid.x + 3"),
        ("3 ^ 4 * t", "4*tid.x + 3"),
        ("4 * t | 1", "4*tid.x + 1"),
        ("4u * u | 3u", "4*tid.x + 3"),
        ("64 * t + 32 | 31", "64*tid.x + 63"),
        ("2 * (n & 1) | t << 2", "4*tid.x + ?"),
        ("4 * t | m", "4*tid.x + m"),
        // And those that do not, do not.
        ("4 * t | 4", ""),
        ("4 * t ^ 4", ""),
        ("4 * t | 7", ""),
        ("4 * t ^ -1", ""),
        ("4 * t | (n & 7)", ""),
        ("4 * t | n", ""),
        ("8 * t + 4 | 4", ""),
        ("8 * t | t", ""),
        // A value with itself.
        ("t | t", "tid.x"),
        ("t & t", "tid.x"),
        ("(t + 5) | (t + 5)", "tid.x + 5"),
        ("(t + 1) | t", ""),
        ("(t + 1) & t", ""),
        // What lies below the divisor or within the mask stays.
        ("w % 8", ""),
        ("t % 2048", "tid.x"),
        ("t & 1023", "tid.x"),
        ("t & 511", ""),
        ("t & -1", "tid.x"),
        ("t & 0", "0"),
        ("t % 1024", "tid.x"),
        ("t % 1023", ""),
        ("32 * t % 32", "0"),
        ("32 * t % 16", "0"),
        ("32 * t % 64", ""),
        ("t / 1024", "0"),
        ("t >> 10", "0"),
        ("t >> 9", ""),
        ("t / 1", "tid.x"),
        ("t >> 0", "tid.x"),
        ("min(t, 5)", ""),
        ("max(t, 5)", ""),
    ] {
        assert_eq!(form(expression), expected, "{expression}");
    }
}

/// A comparison that all lanes answer alike has bounds behind it, one that they need not has none too narrow.
#[test]
fn bounds_of_operations() {
    for condition in [
        "((t & 5) | (n & 2)) < 8",
        "((t & 5) ^ (n & 7)) < 8",
        "((t & 4) | 3) < 8",
        "((t & 5) | 0) < 8",
        "(t & n & 12) <= 12",
        "(t & 12) >= 0",
        "t < 1024",
        "t >= 0",
        "w < 8",
        "t / 4 < 256",
        "t >> 3 < 128",
        "t % 7 < 7",
        "n % 7 > -7",
        "(n + t) % 7 < 7",
        "(unsigned)(n + t) % 7 < 7",
        "min(t, 9) <= 9",
        "max(t, 9) >= 9",
        "max(t, 9) < 1024",
        "(u >> 31) == 0",
        "((unsigned)(n + t) >> 28) < 16",
        "t * 4 + 3 < 4096",
        "(t - 5) * 2 >= -10",
        "t < (int)blockDim.x + 1023",
        "t - (int)blockDim.x >= -1024",
        "(4 * t | 3) >= 3",
        "(4 * t ^ 3) >= 3",
        "(4 * t | 3) < 4096",
        "(4 * t + 8 | 3) >= 11",
    ] {
        assert!(always(condition), "{condition}");
    }
    for condition in [
        "((t & 5) | (n & 2)) < 7",
        "((t & 5) ^ (n & 7)) < 7",
        "((t & 5) | (n & 2)) < 4",
        "(t & n & 12) < 12",
        "t < 1023",
        "t < (int)blockDim.x + 1022",
        "t - (int)blockDim.x >= -1023",
        "(4 * t | 3) > 3",
        "(4 * t | 3) < 4095",
        "t > 0",
        "w < 7",
        "t / 4 < 255",
        "t >> 3 < 127",
        "t % 7 < 6",
        "(n + t) % 7 > -6",
        "(n + t) % 7 >= 0",
        "min(t, 9) < 9",
        "max(t, 9) > 9",
        "((unsigned)(n + t) >> 28) < 15",
        "((n + t) >> 28) >= 0",
        "t * 4 + 3 < 4095",
        "(t - 5) * 2 > -10",
        "((n + t) | 3) >= 0",
    ] {
        assert!(!always(condition), "{condition}");
    }
}

/// A value computed twice from the same operands is the same, and so are values that lanes of a warp count
/// alike.
#[test]
fn the_same_in_all_lanes() {
    let all = |body: &str| {
        let text = format!(
            "__global__ void k(int* o, int n, const int* p) {{ {body} o[threadIdx.x] = D; }}"
        );
        let with = Options {
            block: [Some(64), Some(1), Some(1)],
            ..Options::default()
        };
        class_with(&text, Dialect::Cuda, &with)
    };
    for body in [
        "int D = threadIdx.x / warpSize;",
        "int a[2] = {1, 2}, b[2] = {3, 4}; int* q = n > 3 ? a : b; q[0] = n; int D = a[1] + b[0];",
    ] {
        assert_eq!(all(body), Class::Uniform, "{body}");
    }
    for body in [
        "int D = threadIdx.x / (warpSize / 2);",
        "int v = p[threadIdx.x]; bool D = (v < n) ^ (v <= n);",
        "int a[2] = {1, 2}, b[2] = {3, 4}; int* q = n > 3 ? a : b; q[0] = threadIdx.x; int D = a[1] + b[0];",
    ] {
        assert!(all(body) != Class::Uniform, "{body}");
    }
}

/// A coarse derivative is one number for the quad, a fine one is that of a row or column.
#[test]
fn derivatives_of_a_quad() {
    let of = |name: &str| {
        let text = format!(
            "[shader(\"pixel\")] float4 main(float2 uv : TEXCOORD0) : SV_Target {{ float D = {name}(uv.x * uv.y); return D; }}"
        );
        let with = Options {
            scope: Scope::Quad,
            ..Options::default()
        };
        class_with(&text, Dialect::Hlsl, &with)
    };
    assert_eq!(of("ddx_coarse"), Class::Uniform);
    assert_eq!(of("ddy_coarse"), Class::Uniform);
    assert!(of("ddx_fine") != Class::Uniform);
    assert!(of("ddy_fine") != Class::Uniform);
    assert!(of("sqrt") != Class::Uniform);
}
