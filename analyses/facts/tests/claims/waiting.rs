//! Who waits for whom: lanes that end, lanes that wait elsewhere, tiles, and what a device function leaves to its callers.

use super::source::functions;
use facts::Code;
use syntax::c_family::Dialect;

/// Codes and messages of all that is found in the text's functions.
fn found(text: &str) -> Vec<(Code, String)> {
    let all = functions(text, Dialect::Cuda);
    let findings = all
        .iter()
        .flat_map(|(module, facts)| facts::diagnose(module, std::slice::from_ref(facts)));
    findings.map(|f| (f.code, f.message)).collect()
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
        last.map_or_else(String::new, |(_, message)| message.clone())
    };
    for rest in [
        "",
        "o[t] = 1;",
        "o[t] = __popc(n);",
        "o[t] = 1; if (n > 2) return; o[t] = 5;",
        "for (int i = 0; i < n; i++) o[i] = 1;",
        "int r; asm(\"mov.u32 %0, %1;\" : \"=r\"(r) : \"r\"(n)); o[t] = r;",
    ] {
        let message = said("", "s[t] = v;", rest);
        assert!(message.contains("end before"), "{rest}: {message}");
        // Nothing that they would have written is missing.
        assert_eq!(said("", "", rest), "");
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
        let message = said(before, "", rest);
        assert!(message.contains("only a part"), "{rest}: {message}");
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
        torn.map(|(_, message)| message.clone()).collect::<Vec<_>>()
    };
    for body in [
        "if (t % 2) v = tile.shfl_down(t, 1);",
        "if (t % 2) v = tile.shfl(t, 1);",
        "if (t % 2) v = tile.any(t > 5);",
        "if (t < n) v = tile.ballot(t > 5);",
    ] {
        let torn = told(32, body);
        assert_eq!(torn.len(), 1, "{body}: {torn:?}");
        assert!(torn[0].contains("all 32 lanes of `tile`"), "{torn:?}");
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
        assert_eq!(told(32, body), [""; 0], "{body}");
    }
}

/// What differs only as far as an argument does is the caller's.
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
