//! Comparisons of numbers that lie a known way apart, in CUDA's signed arithmetic, which does not wrap; exchanges that
//! leave the same value in all lanes.

extern crate lockstep_facts as facts;

mod source;

use facts::{Class, Options};
use source::{class_with, cuda, functions};
use syntax::c_family::Dialect;

const INDEX: &str = "int gid = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned uid = blockIdx.x * blockDim.x + threadIdx.x;";

fn compared(expression: &str) -> Class {
    cuda("", "", &format!("{INDEX} bool D = {expression};"))
}

fn trips(head: &str) -> Vec<(Class, Option<u64>)> {
    let text = format!("__global__ void k(int* o, int n) {{ {INDEX} for ({head}) o[gid] = n; }}");
    let all = functions(&text, Dialect::Cuda);
    let loops = all.iter().flat_map(|(_, facts)| &facts.loops);
    loops.map(|l| (l.trip, l.count)).collect()
}

#[test]
fn of_one_number() {
    for expression in [
        "gid < gid + 5",
        "gid + 3 <= gid - 4",
        "gid * 4 < gid * 4 + 4",
        "gid - 1 >= gid",
    ] {
        assert_eq!(compared(expression), Class::Uniform, "{expression}");
    }
    // Unsigned numbers wrap, and what is added may be of either sign.
    for expression in [
        "uid < uid + 5",
        "gid < n",
        "gid + 5 < uid",
        "(int)(uid + 5) > gid",
    ] {
        assert!(compared(expression) != Class::Uniform, "{expression}");
    }
}

#[test]
fn of_a_counter() {
    for head in [
        "int i = gid * 4; i < gid * 4 + 4; i++",
        "int i = gid; i < gid + 8; i += 2",
        "int i = gid + 7; i >= gid; --i",
    ] {
        let found = trips(head);
        assert!(
            matches!(found[..], [(Class::Uniform, _)]),
            "{head}: {found:?}"
        );
    }
    for head in [
        "unsigned i = uid * 4; i < uid * 4 + 4; i++",
        "int i = gid; i < n; i++",
        "int i = gid; i < 2 * gid; i++",
        "int i = 0; i < gid + 4; i++",
        "int i = gid * 4; i < gid * 4 + 4; i += gid",
    ] {
        let found = trips(head);
        assert!(
            !matches!(found[..], [(Class::Uniform, _)]),
            "{head}: {found:?}"
        );
    }
}

/// A reduction by exchange leaves one value in all lanes of a whole warp.
#[test]
fn exchanges_of_a_whole_warp() {
    let all = |ty: &str, block: Option<u32>, step: &dyn Fn(u32) -> String, lanes: &[u32]| {
        let steps: String = lanes.iter().map(|&lane| step(lane)).collect();
        let text = format!(
            "__global__ void k({ty}* o, int n) {{ {ty} v = o[threadIdx.x]; {steps} {ty} D = v; o[threadIdx.x] = D; }}"
        );
        let with = Options {
            block: [block, Some(1), Some(1)],
            ..Options::default()
        };
        class_with(&text, Dialect::Cuda, &with)
    };
    let full = Some(256);
    let sum = |lane: u32| format!("v += __shfl_xor_sync(0xffffffff, v, {lane});");
    let lanes = [16, 8, 4, 2, 1];
    assert_eq!(all("int", full, &sum, &lanes), Class::Uniform);
    assert_eq!(all("float", full, &sum, &lanes), Class::Uniform);
    assert_eq!(all("float", full, &sum, &[1, 2, 4, 8, 16]), Class::Uniform);
    let most = |lane: u32| format!("v = fmaxf(v, __shfl_xor_sync(0xffffffff, v, {lane}));");
    assert_eq!(all("float", full, &most, &lanes), Class::Uniform);
    let difference = |lane: u32| format!("v -= __shfl_xor_sync(0xffffffff, v, {lane});");
    let half = |lane: u32| format!("v += __shfl_xor_sync(0xffffffff, v, {lane}, 16);");
    let some = |lane: u32| format!("v += __shfl_xor_sync(0xffff, v, {lane});");
    let down = |lane: u32| format!("v += __shfl_down_sync(0xffffffff, v, {lane});");
    let other =
        |lane: u32| format!("v += __shfl_xor_sync(0xffffffff, o[threadIdx.x + 1], {lane});");
    for step in [
        &difference as &dyn Fn(u32) -> String,
        &half,
        &some,
        &down,
        &other,
    ] {
        assert!(
            all("int", full, step, &lanes) != Class::Uniform,
            "{}",
            step(16)
        );
    }
    assert!(all("int", full, &sum, &[16, 8, 4, 2]) != Class::Uniform);
    assert!(all("int", full, &sum, &[16, 8, 4, 2, 2]) != Class::Uniform);
    // A warp may be here in part.
    assert!(all("int", None, &sum, &lanes) != Class::Uniform);
}

/// The result of a loop of exchanges is one value behind the loop, and none inside.
#[test]
fn loops_of_exchanges() {
    let all = |ty: &str, threads: Option<u32>, text: &str| {
        let text = format!(
            "__global__ void k({ty}* o, int n) {{ {ty} v = o[threadIdx.x]; {text} o[threadIdx.x] = v; }}"
        );
        let with = Options {
            block: [threads, Some(1), Some(1)],
            ..Options::default()
        };
        class_with(&text, Dialect::Cuda, &with)
    };
    let full = Some(256);
    let looped = |head: &str, step: &str| format!("for ({head}) {{ {step} }} auto D = v;");
    let sum = "v += __shfl_xor_sync(0xffffffffu, v, s);";
    let down = "int s = 16; s > 0; s >>= 1";
    for head in [
        down,
        "int s = 16; s; s /= 2",
        "int s = 1; s < 32; s <<= 1",
        "int s = 1; s <= 16; s *= 2",
        "int s = 1; s != 32; s = s * 2",
        "unsigned s = 16; s > 0; s = s / 2",
        "unsigned s = 16; s >= 1; s >>= 1",
        "int s = warpSize / 2; s > 0; s >>= 1",
        "int s = warpSize >> 1; s; s /= 2",
    ] {
        assert_eq!(
            all("int", full, &looped(head, sum)),
            Class::Uniform,
            "{head}"
        );
        assert_eq!(
            all("float", full, &looped(head, sum)),
            Class::Uniform,
            "{head}"
        );
        assert!(
            all("float", None, &looped(head, sum)) != Class::Uniform,
            "{head}"
        );
    }
    for step in [
        "v = max(v, __shfl_xor_sync(0xffffffffu, v, s));",
        "v = __shfl_xor_sync(0xffffffffu, v, s) + v;",
        "v ^= __shfl_xor_sync(0xffffffffu, v, s);",
        "v &= __shfl_xor_sync(0xffffffffu, v, s, 32);",
        "v &= __shfl_xor_sync(0xffffffffu, v, s, warpSize);",
        "int w = __shfl_xor_sync(0xffffffffu, v, s); v = min(w, v);",
    ] {
        assert_eq!(
            all("int", full, &looped(down, step)),
            Class::Uniform,
            "{step}"
        );
    }
    let body = "int s = 16; do { v += __shfl_xor_sync(0xffffffffu, v, s); s >>= 1; } while (s > 0); int D = v;";
    assert_eq!(all("int", full, body), Class::Uniform);
    let twice = format!(
        "for (int r = 0; r < n; ++r) {{ {} v += D; }}",
        looped(down, sum)
    );
    assert_eq!(all("int", full, &twice), Class::Uniform);
    for (head, step) in [
        ("int s = 16; s > 1; s >>= 1", sum),
        ("int s = 8; s > 0; s >>= 1", sum),
        ("int s = n; s > 0; s >>= 1", sum),
        ("int s = warpSize / 4; s > 0; s >>= 1", sum),
        ("int s = warpSize; s > 0; s >>= 1", sum),
        ("int s = warpSize / n; s > 0; s >>= 1", sum),
        (down, "v += __shfl_xor_sync(0xffffffffu, v, s, n);"),
        (down, "v += __shfl_xor_sync(n, v, s);"),
        (
            down,
            "v += __shfl_xor_sync(0xffffffffu, v, s, warpSize / 2);",
        ),
        ("int s = 16; s > 0; s -= 8", sum),
        ("int s = 16; s > threadIdx.x; s >>= 1", sum),
        (down, "v -= __shfl_xor_sync(0xffffffffu, v, s);"),
        (down, "v += __shfl_down_sync(0xffffffffu, v, s);"),
        (down, "v += __shfl_xor_sync(0xffffu, v, s);"),
        (down, "v += __shfl_xor_sync(0xffffffffu, v, s, 16);"),
        (
            down,
            "if (o[s] > 3) v += __shfl_xor_sync(0xffffffffu, v, s);",
        ),
        (
            down,
            "if (v == n) break; v += __shfl_xor_sync(0xffffffffu, v, s);",
        ),
        (
            down,
            "v += __shfl_xor_sync(0xffffffffu, v, s); v += threadIdx.x;",
        ),
    ] {
        let text = looped(head, step);
        assert!(all("int", full, &text) != Class::Uniform, "{text}");
    }
    // Where whichever is greater is kept, zeros of two signs and what is no number tell lanes apart.
    let kept = "float w = __shfl_xor_sync(0xffffffffu, v, s); v = v > w ? v : w;";
    assert!(all("float", full, &looped(down, kept)) != Class::Uniform);
    // Inside of the loop lanes differ.
    let inside = format!("for ({down}) {{ {sum} auto D = v; }}");
    assert!(all("int", full, &inside) != Class::Uniform);
    // By shuffles down the first lane has the sum: a broadcast gives it to all.
    let broadcast = "for (int s = 16; s > 0; s >>= 1) v += __shfl_down_sync(0xffffffffu, v, s); int D = __shfl_sync(0xffffffffu, v, 0);";
    assert_eq!(all("int", full, broadcast), Class::Uniform);
}

/// An index that an instantiation knows is none that keeps an array in memory.
#[test]
fn arrays_of_an_instantiation() {
    let told = |granularity: &str, index: &str| {
        let text = format!(
            "static constexpr __device__ int granularity(const int x) {{ return {granularity}; }}
            template <int x> __global__ void k(const float* in, float* o) {{
              constexpr int n = granularity(x);
              float a[n];
              #pragma unroll
              for (int i = 0; i < n; ++i) a[i] = in[i + threadIdx.x];
              float sum = 0;
              #pragma unroll
              for (int i = 0; i < n; ++i) sum += a[{index}];
              o[threadIdx.x] = sum;
            }}"
        );
        let all = functions(&text, Dialect::Cuda);
        all.iter().any(|(module, facts)| {
            let found = facts::diagnose(module, std::slice::from_ref(facts));
            found
                .iter()
                .any(|f| f.code == facts::Code::LocalArrayDynamicIndex)
        })
    };
    let chosen = "x >= 48 ? 16 : 8";
    assert!(!told(chosen, "i"));
    assert!(!told("x / 4", "i / 2"));
    assert!(!told(chosen, "x > 3 ? i : i / 2"));
    assert!(told(chosen, "threadIdx.x > 3 ? i : i / 2"));
    assert!(told(chosen, "threadIdx.x & 7"));
}
