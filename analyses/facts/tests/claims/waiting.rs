//! Lanes that wait for others: for lanes that end, for lanes that wait elsewhere, for tiles, and device
//! functions that leave it to their callers.

use super::source::functions;
use facts::{Code, FindingReason};
use syntax::c_family::Dialect;

/// Codes and reasons of all that is found in the text's functions.
fn found(text: &str) -> Vec<(Code, FindingReason)> {
    let all = functions(text, Dialect::Cuda);
    let findings = all
        .iter()
        .flat_map(|(module, facts)| facts::diagnose(module, std::slice::from_ref(facts)));
    findings.map(|f| (f.code, f.reason)).collect()
}

fn kernel(before: &str, body: &str) -> String {
    format!(
        "{before} __global__ void k(int* o, int n) {{ int t = threadIdx.x, v = t; {body} o[t] = v; }}"
    )
}

/// Lanes that end are not waited for, unless they wait somewhere on their way.
#[test]
fn lanes_that_end_before_a_barrier() {
    let said = |before: &str, write: &str, rest: &str| {
        let text = kernel(
            before,
            &format!(
                "__shared__ int s[256]; if (t >= n) {{ {rest} return; }} {write} __syncthreads(); v = s[n - t];"
            ),
        );
        let all = found(&text);
        let last = all
            .iter()
            .rfind(|(code, _)| *code == Code::DivergentBarrier);
        last.map(|(_, reason)| reason.clone())
    };
    for rest in [
        "",
        "o[t] = 1;",
        "o[t] = __popc(n);",
        "o[t] = 1; if (n > 2) return; o[t] = 5;",
        "for (int i = 0; i < n; i++) o[i] = 1;",
        "int r; asm(\"mov.u32 %0, %1;\" : \"=r\"(r) : \"r\"(n)); o[t] = r;",
    ] {
        let reason = said("", "s[t] = v;", rest);
        assert!(
            matches!(reason, Some(FindingReason::EndsBeforeBarrier { .. })),
            "{rest}: {reason:?}"
        );
        // Nothing that they would have written is missing.
        assert_eq!(said("", "", rest), None);
    }
    for (before, rest) in [
        ("", "__syncthreads();"),
        ("", "__syncwarp();"),
        ("", "if (n > 3) { o[t] = 1; __syncthreads(); }"),
        ("", "for (int i = 0; i < n; i++) __syncthreads();"),
        ("__device__ void f(int*);", "f(o);"),
        ("__device__ int f(int);", "o[t] = f(n);"),
        ("", "asm volatile(\"foo %0;\" :: \"r\"(n));"),
    ] {
        let reason = said(before, "", rest);
        assert!(
            matches!(reason, Some(FindingReason::BarrierSplit { .. })),
            "{rest}: {reason:?}"
        );
    }
}

/// A mask names lanes that still run, and those that wait in another place.
#[test]
fn lanes_that_end_before_an_exchange() {
    let told = |rest: &str| {
        let text = kernel(
            "",
            &format!("if (t >= n) {{ {rest} return; }} v = __shfl_down_sync(~0u, v, 1);"),
        );
        found(&text)
            .iter()
            .filter(|(code, _)| *code == Code::WarpSyncMask)
            .count()
    };
    assert_eq!(told(""), 0);
    assert_eq!(told("o[t] = 1;"), 0);
    assert_eq!(told("o[t] = __shfl_down_sync(~0u, v, 1);"), 2);
    assert_eq!(told("__syncwarp();"), 2);
    // Who comes here is asked, and nobody is waited for.
    assert_eq!(told("o[t] = __activemask();"), 0);
}

#[test]
fn tiles_that_are_torn() {
    let told = |lanes: u32, body: &str| {
        let text = format!(
            "namespace cg = cooperative_groups;
             __device__ int inside(cg::thread_block_tile<32> tile, int c, int n) {{ int v = 0; if (c > n) v = tile.shfl_down(c, 1); return v; }}
             __global__ void k(int* o, int n) {{ auto tile = cg::tiled_partition<{lanes}>(cg::this_thread_block());
             int t = threadIdx.x, v = t; {body} o[t] = v; }}"
        );
        let all = found(&text);
        let torn = all.iter().filter(|(code, _)| *code == Code::WarpSyncMask);
        torn.map(|(_, reason)| reason.clone()).collect::<Vec<_>>()
    };
    for body in [
        "if (t % 2) v = tile.shfl_down(t, 1);",
        "if (t % 2) v = tile.shfl(t, 1);",
        "if (t % 2) v = tile.any(t > 5);",
        "if (t < n) v = tile.ballot(t > 5);",
    ] {
        let torn = told(32, body);
        assert_eq!(torn.len(), 1, "{body}: {torn:?}");
        assert!(
            matches!(&torn[0], FindingReason::TileTorn { group, lanes: 32 } if group == "tile"),
            "{torn:?}"
        );
        // Half a warp may be here as a whole.
        assert_eq!(told(16, body).len(), 0, "{body}");
        // Nor is one of several warps followed.
        assert_eq!(told(64, body).len(), 0, "{body}");
    }
    let both = "float2 f = make_float2(t, n); if (t % 2) f = tile.shfl_down(f, 1); v = f.x + f.y;";
    assert_eq!(told(32, both).len(), 1);
    let twice = "if (t % 2) { v = tile.shfl_down(t, 1); v += tile.shfl_up(v, 1); }";
    assert_eq!(told(32, twice).len(), 2);
    for body in [
        "v = tile.shfl_down(t, 1);",
        "if (n > 3) v = tile.shfl_down(t, 1);",
        "if (blockIdx.x % 2) v = tile.shfl_down(t, 1);",
        "if (t >= n) return; v = tile.shfl_down(t, 1);",
        "if (t == 0) v = tile.shfl_down(t, 1);",
    ] {
        assert_eq!(told(32, body), [], "{body}");
    }
}

/// A value that differs only as far as an argument does is the caller's business.
#[test]
fn arguments_that_differ() {
    let told = |parameters: &str, body: &str| {
        let text = format!("__device__ void d(int* o{parameters}) {{ {body} }}");
        let all = found(&text);
        all.iter().any(|(code, _)| *code == Code::DivergentBarrier)
    };
    for (parameters, body) in [
        (", int c", "if (c > 3) __syncthreads();"),
        (", int c", "if (c * 2 + 1 > 3) __syncthreads();"),
        (
            ", int c",
            "int s = 1; if (c > 3) s = 2; if (s > 1) __syncthreads();",
        ),
        (", int c, int n", "if (c < n) __syncthreads();"),
    ] {
        assert!(!told(parameters, body), "{body}");
    }
    for (parameters, body) in [
        ("", "if (threadIdx.x > 3) __syncthreads();"),
        (
            "",
            "int s = 1; if (threadIdx.x > 3) s = 2; if (s > 1) __syncthreads();",
        ),
    ] {
        assert!(told(parameters, body), "{body}");
    }
    let kernel =
        "__global__ void k(int* o, int c) { if (o[c + threadIdx.x] > 3) __syncthreads(); }";
    assert_eq!(found(kernel).len(), 1);
}

/// In a loop that the last lanes leave first, the first lane is there as long as any is.
#[test]
fn what_the_first_lane_fetches_for_all() {
    let told = |lane: &str, after: &str| {
        let text = kernel(
            "",
            &format!(
                "int lane = t & 31;
                 for (;;) {{
                   int first = 0;
                   if (lane == 0) first = atomicAdd(o, 32);
                   first = __shfl_sync(0xffffffff, first, {lane});
                   if (first + lane >= n) break;
                   o[first + lane] = v;
                 }}
                 {after}"
            ),
        );
        let all = found(&text).into_iter().map(|(code, _)| code);
        all.filter(|code| matches!(code, Code::WarpSyncMask | Code::ShuffleInactiveSource))
            .count()
    };
    assert_eq!(told("0", ""), 0);
    assert!(told("31", "") > 0);
    assert!(told("0", "v = __shfl_sync(0xffffffff, v, 3);") > 0);
    assert!(told("0", "__syncwarp();") > 0);
}

/// Lanes that a condition tells exactly are there, others are not.
#[test]
fn sources_among_the_lanes_that_a_condition_tells() {
    let told = |lane: u32, condition: &str| {
        let body = format!("if ({condition}) v = __shfl_sync(0xff, v, {lane});");
        let all = found(&kernel("", &body));
        all.iter()
            .any(|(code, _)| *code == Code::ShuffleInactiveSource)
    };
    assert!(!told(5, "(t & 31) < 8"));
    assert!(told(5, "t < n"));
    assert!(told(8, "(t & 31) < 8"));
}

/// The bound and the step of a loop over the grid by a width that is a parameter: whole rows, as the host makes them.
#[test]
fn rows_of_the_grid_are_whole() {
    let told = |first: &str, step: &str| {
        let text = format!(
            "__global__ void k(int* o, int n, int w) {{
               __shared__ int s[256];
               for (int i = {first}; i < n; i += {step}) {{
                 s[threadIdx.x] = o[i];
                 __syncthreads();
                 o[i] = s[w];
                 __syncthreads();
               }}
             }}"
        );
        let all = found(&text);
        all.iter()
            .any(|(code, _)| *code == Code::BarrierInDivergentLoop)
    };
    assert!(!told("blockIdx.x * w + threadIdx.x", "gridDim.x * w"));
    assert!(!told("threadIdx.x + w * blockIdx.x", "w * gridDim.x"));
    assert!(told("blockIdx.x * w + threadIdx.x", "gridDim.x * 2"));
    assert!(told("threadIdx.x", "w * gridDim.x"));
    assert!(told("blockIdx.x * 100 + threadIdx.x", "gridDim.x * 100"));
}

/// A number that only an instantiation tells may be a multiple of the extent of a warp.
#[test]
fn comparisons_with_numbers_of_an_instantiation() {
    let told = |head: &str, limit: &str| {
        let text = format!(
            "{head} __global__ void k(int* o, int n) {{
               int v = o[threadIdx.x];
               if (threadIdx.x * 4 < {limit}) v = __shfl_sync(0xffffffff, v, 0, 32) + __shfl_xor_sync(0xffffffff, v, 1);
               o[threadIdx.x] = v;
             }}"
        );
        let all = found(&text);
        all.iter().any(|(code, _)| *code == Code::WarpSyncMask)
    };
    assert!(!told("template <int C>", "C"));
    assert!(told("", "n"));
    assert!(told("", "20"));
}

/// The last value written counts, where nothing that may go to the same place is written behind it.
#[test]
fn places_that_are_overwritten() {
    let told = |writes: &str| {
        let body = format!("int x[2]; {writes} if (x[0]) __syncthreads();");
        let all = found(&kernel("", &body));
        all.iter().any(|(code, _)| *code == Code::DivergentBarrier)
    };
    assert!(!told("x[n & 1] = o[t]; x[0] = n;"));
    assert!(told("x[0] = n; x[n & 1] = o[t];"));
    assert!(told("x[n & 1] = o[t]; x[0] = o[t + 1];"));
    assert!(told(
        "for (int i = 0; i < n; i++) { x[0] = n; x[n & 1] = o[t + i]; }"
    ));
}

/// Lanes go once through a loop that always ends its first round.
#[test]
fn loops_without_a_way_back() {
    let told = |end: &str| {
        let body = format!("while (true) {{ if (o[t] > n) {{ v = expf(v); }} {end} }}");
        let all = found(&kernel("", &body));
        all.iter().any(|(code, _)| *code == Code::DivergentLoop)
    };
    assert!(!told("break;"));
    assert!(told("if (o[t + v++] == 3) break;"));
}

/// A limit may contain the number that a thread begins with: each goes as many rounds, with all others of its
/// block.
#[test]
fn ranges_that_move_with_the_thread() {
    let told = |first: &str, limit: &str, step: &str| {
        let text = format!(
            "__global__ void k(const int* p, int* o, int a, int b, int size, int n) {{
               __shared__ int s[64];
               int stride = 1;
               while (size > n) {{ size /= 2; stride *= 2; }}
               int per = 32 / stride, own = threadIdx.y / stride;
               for (int i = {first}; i < {limit}; i += {step}) {{
                 s[threadIdx.y] = i < b ? p[i] : p[a];
                 __syncthreads();
                 o[threadIdx.y] += s[63 - threadIdx.y];
                 __syncthreads();
               }}
             }}"
        );
        let all = found(&text);
        all.iter()
            .any(|(code, _)| *code == Code::BarrierInDivergentLoop)
    };
    assert!(!told("a + own", "b + own", "per"));
    assert!(!told("own", "own + 4 * n", "7"));
    assert!(told("a + own", "b", "per"));
    assert!(told("a + own", "b + 2 * own", "per"));
    // Cut off at the end some go fewer rounds: each counts here.
    assert!(told("a + own", "min(b + own, n)", "per"));
}

/// A value that one thread writes, or to which all add, lacks nothing from threads that end before, where
/// that thread is not among them.
#[test]
fn what_those_that_end_would_not_have_written() {
    let told = |ends: &str, write: &str| {
        let body = format!(
            "__shared__ int s[256]; int i = blockIdx.x * blockDim.x + t;
             if ({ends}) return;
             {write}
             __syncthreads();
             v = s[n & 7];"
        );
        let all = found(&kernel("", &body));
        all.iter().any(|(code, _)| *code == Code::DivergentBarrier)
    };
    assert!(!told("i >= n", "if (threadIdx.x == 0) s[0] = 0;"));
    assert!(!told("i >= n", "atomicAdd(&s[i & 7], 1);"));
    assert!(told("i >= n", "s[t] = i;"));
    assert!(told("i >= n", "if (threadIdx.x < 8) s[t] = i;"));
    assert!(told("o[i] > n", "if (threadIdx.x == 0) s[0] = 0;"));
}
