//! The threads that come to a barrier or take part in a warp operation.

use super::{kernel, reasons, tells};
use crate::source::functions;
use facts::{CauseReason, Code, FindingReason, Options, analyze_module, diagnose};
use syntax::c_family::Dialect;

#[test]
fn a_reduction_stops_where_the_workgroup_ends() {
    let text = |limit: &str| {
        format!(
            "extern __shared__ int s[];
             __global__ void k(int* out, const int* in, unsigned n) {{
               unsigned t = threadIdx.x; s[t] = in[t]; __syncthreads();
               for (unsigned d = 1; d < {limit}; d *= 2) {{
                 int at = 2 * d * t;
                 if (at < {limit}) s[at] += s[at + d];
                 __syncthreads();
               }}
               out[t] = s[0];
             }}"
        )
    };
    assert!(!tells(&text("blockDim.x"), Code::SharedMemoryRace));
}

#[test]
fn missing_threads_are_named_with_a_launch() {
    let steps = |body: &str| {
        let text = kernel("", body);
        let (module, _) = functions(&text, Dialect::Cuda).remove(0);
        let facts = analyze_module(&module, &Options::default());
        let told = diagnose(&module, &facts);
        let mut examples = told.iter().filter(|f| f.witness.is_some());
        examples.find_map(|f| match &f.related.last()?.reason {
            CauseReason::Example {
                threads,
                times: [1, 0],
                numbers,
                sized: true,
            } => {
                assert!(threads.iter().all(|place| place.size == [64, 1, 1]));
                let [here, away] = threads.map(|place| place.thread[0]);
                let (name, number) = numbers.first()?;
                Some((here, away, name.to_string(), *number))
            }
            other => panic!("{other:?}"),
        })
    };
    assert_eq!(
        steps("if (threadIdx.x < n) { __syncthreads(); } out[threadIdx.x] = 1;"),
        Some((0, 1, "n".to_owned(), 1))
    );
    assert_eq!(
        steps("for (int i = threadIdx.x; i < n; i += 32) { __syncthreads(); out[i] = in[n - i]; }"),
        Some((0, 1, "n".to_owned(), 1))
    );
    assert_eq!(
        steps(
            "if (threadIdx.x >= 5 && threadIdx.x < m + 6) out[threadIdx.x] = __shfl_sync(0xffffffffu, n, 3);"
        ),
        Some((5, 3, "m".to_owned(), 1))
    );
    // Which threads come, only memory tells.
    assert_eq!(
        steps("if (in[threadIdx.x] > 0) { __syncthreads(); out[n] = 1; }"),
        None
    );
}

#[test]
fn whole_rounds_of_a_block_in_two_dimensions() {
    let told = |limit: &str| {
        let body = format!(
            "__shared__ float s[256]; int t = threadIdx.y * blockDim.x + threadIdx.x;
             for (int i = t; i < {limit}; i += 256) {{ s[t] = in[i]; __syncthreads(); out[i] = s[255 - t]; __syncthreads(); }}"
        );
        tells(&kernel("", &body), Code::BarrierInDivergentLoop)
    };
    assert!(!told("65536"));
    assert!(told("65500"));
    assert!(told("n"));
}

/// A reference to one of two variables reads them, and keeps their contents apart.
#[test]
fn what_is_read_by_one_of_two_references_is_not_merged() {
    let head = "
        template <typename T> __device__ const T& least(const T& a, const T& b) { return b < a ? b : a; }
        template <typename T> __device__ const T& branched(const T& a, const T& b) { if (b < a) return b; return a; }
        template <typename T> __device__ T& own(T& a, T& b) { return b < a ? b : a; }";
    let of = |call: &str, bound: &str| {
        let body = format!(
            "int rows = n, mine = count[threadIdx.x];
             int x = {call};
             for (int i = 0; i < {bound}; i++) {{ __syncthreads(); out[i] += in[x]; }}"
        );
        tells(&kernel(head, &body), Code::BarrierInDivergentLoop)
    };
    for call in [
        "least(rows, mine)",
        "branched(mine, rows)",
        "least(rows, least(mine, m))",
    ] {
        assert!(!of(call, "rows"), "{call}");
        assert!(of(call, "x"), "{call}");
        assert!(of(call, "mine"), "{call}");
    }
    // Here the one of them that is less is written.
    assert!(of("(own(rows, mine) = threadIdx.x, 1)", "rows"));
    assert!(of("own(rows, mine)++", "mine"));
}

/// A bound that is rounded up to a multiple of the step is reached by all threads in one round, in whatever type.
#[test]
fn bounds_rounded_up_to_the_step_are_reached_together() {
    let of = |bound: &str, step: &str| {
        let body = format!(
            "const int padded = {bound};
             for (int i = threadIdx.x; i < padded; i += {step}) {{ __syncthreads(); if (i < n) out[i] = in[i]; }}"
        );
        tells(&kernel("", &body), Code::BarrierInDivergentLoop)
    };
    for bound in [
        "blockDim.x * ((p + blockDim.x - 1) / blockDim.x)",
        "(n + blockDim.x - 1) / blockDim.x * blockDim.x",
    ] {
        assert!(!of(bound, "blockDim.x"), "{bound}");
        assert!(of(bound, "m"), "{bound}");
    }
    assert!(of(
        "blockDim.y * ((p + blockDim.y - 1) / blockDim.y)",
        "blockDim.x"
    ));
    assert!(of("(p + blockDim.x - 1) / blockDim.x", "blockDim.x"));
}

#[test]
fn threads_that_return_from_within_a_loop() {
    let of = |leave: &str| {
        let body = format!(
            "__shared__ int base;
             for (;;) {{
               __syncthreads();
               if (threadIdx.x == 0) base = atomicAdd(count, 256);
               __syncthreads();
               int i = base + threadIdx.x;
               if (i >= n) {leave};
               out[i] = in[i];
             }}
             __syncthreads(); out[0] = base;"
        );
        let text = kernel("", &body);
        (
            tells(&text, Code::BarrierInDivergentLoop),
            tells(&text, Code::DivergentLoop),
        )
    };
    // The next item is fetched by all: nobody goes a round more than one.
    assert_eq!(of("return"), (false, false));
    assert_eq!(of("break"), (true, false));
}

#[test]
fn a_split_is_told_behind_it() {
    let body = "__shared__ float s[256];
        for (int k = 0; k < n; ++k) {
          s[threadIdx.x] = out[threadIdx.x];
          __syncthreads();
          if (s[threadIdx.x ^ 1] > 3) break;
          __syncthreads();
        }
        __syncthreads(); out[threadIdx.x] = s[0];";
    let told = reasons(&kernel("", body), Dialect::Cuda);
    let barriers = told
        .iter()
        .filter(|(code, _)| *code == Code::BarrierInDivergentLoop);
    assert_eq!(barriers.count(), 1);
}

#[test]
fn rows_of_a_quotient_are_whole_warps() {
    let of = |rows: &str| {
        let body = format!(
            "int first = max(0, n - m), end = (n + {rows} - 1) / {rows} * {rows} + first;
             for (int i = first + threadIdx.x / 8; i < end; i += 32) {{
               float x = in[i]; x += __shfl_xor_sync(0xffffffff, x, 1); out[i] = x;
             }}
             __syncwarp(); out[threadIdx.x] = 1;"
        );
        tells(&kernel("", &body), Code::WarpSyncMask)
    };
    assert!(!of("4"));
    assert!(!of("8"));
    assert!(of("2"));
    assert!(of("3"));
}

#[test]
fn blocks_whose_members_are_set() {
    let of = |host: &str| {
        let body = "__shared__ int s[64]; if (count[blockIdx.x + threadIdx.z] == 0) return; s[threadIdx.x] = n; __syncthreads(); out[threadIdx.x] = s[m];";
        let host = format!(
            "void f(float* o, const float* i, int* c, int n) {{ dim3 block; {host} k<<<9, block>>>(o, i, c, 1, 2, 3); }}"
        );
        tells(&(kernel("", body) + &host), Code::DivergentBarrier)
    };
    assert!(!of("block.x = 32; block.y = 4; block.z = 1;"));
    assert!(!of("block.x = 32;"));
    assert!(of("block.z = 2;"));
    assert!(of("block.z = n;"));
    assert!(of("block.z = 1; block.z = 2;"));
    assert!(of("block.z = 1; if (n) block.z = 2;"));
    assert!(of("if (n) block.z = 2;"));
    assert!(of("dim3* other = &block; other->z = 2;"));
    assert!(of("k<<<9, block>>>(o, i, c, 1, 2, 3); block.z = 2;"));
    // The copy is made before the member is set.
    assert!(of(
        "dim3 first = block; block.z = 1; block = dim3(1, 1, n); first.x = 2;"
    ));
}

#[test]
fn bounds_that_a_test_of_the_rest_rounds() {
    let of = |bound: &str| {
        let body = format!(
            "const int wrap = blockDim.x * m;
             const int end = {bound};
             for (int i = threadIdx.x; i < end; i += wrap) {{ __syncthreads(); if (i < n) out[i] = in[i]; }}"
        );
        tells(&kernel("", &body), Code::BarrierInDivergentLoop)
    };
    for rounded in [
        "(n & (wrap - 1)) ? (n & ~(wrap - 1)) + wrap : n",
        "n % wrap != 0 ? n - n % wrap + wrap : n",
        "n - n % wrap",
        "n & ~(wrap - 1)",
        "n & -wrap",
        "(n / wrap + 1) * wrap",
    ] {
        assert!(!of(rounded), "{rounded}");
    }
    for open in [
        "(n & (wrap - 1)) ? n + wrap : n",
        "m % 3 ? (n & ~(wrap - 1)) : n",
        "n - m % wrap",
        "n & ~wrap",
        "n % wrap",
        "(n & ~(wrap - 1)) + m",
    ] {
        assert!(of(open), "{open}");
    }
}

#[test]
fn numbers_of_an_instantiation_are_whole_warps() {
    let of = |head: &str, end: &str| {
        let body = format!(
            "for (int i = threadIdx.x; i < {end}; i += 128) out[i] = __shfl_xor_sync(0xffffffffu, in[i], 1);
             __syncthreads(); out[n] = in[threadIdx.x];"
        );
        tells(&kernel(head, &body), Code::WarpSyncMask)
    };
    assert!(!of("template <int BITS>", "(1 << BITS)"));
    assert!(!of("template <int BITS>", "BITS * 4 - 1"));
    assert!(of("template <int BITS>", "BITS + n"));
    assert!(of("", "(1 << n)"));
}

#[test]
fn launches_of_whole_blocks() {
    let of = |launch: &str| {
        let body = "for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
              out[i] = in[i]; __syncthreads(); }";
        let host = format!(
            "void f(float* o, const float* i, int* c, int rows, int heads, int channels, int count) {{
               const int threads = channels; const int blocks = rows; int all = rows * heads * channels; {launch} }}"
        );
        tells(&(kernel("", body) + &host), Code::BarrierInDivergentLoop)
    };
    assert!(!of("k<<<blocks, threads>>>(o, i, c, all, 1, 3);"));
    assert!(!of(
        "k<<<blocks, channels>>>(o, i, c, heads * (channels * 3), 1, 3);"
    ));
    assert!(!of(
        "dim3 block(threads); k<<<blocks, block>>>(o, i, c, all, 1, 3);"
    ));
    assert!(!of("k<<<blocks, heads * channels>>>(o, i, c, all, 1, 3);"));
    assert!(of("k<<<blocks, threads>>>(o, i, c, count, 1, 3);"));
    assert!(of("k<<<blocks, threads>>>(o, i, c, all + 1, 1, 3);"));
    assert!(of("k<<<blocks, threads * threads>>>(o, i, c, all, 1, 3);"));
    assert!(of(
        "channels += 1; k<<<blocks, channels>>>(o, i, c, all, 1, 3);"
    ));
    assert!(of(
        "k<<<blocks, threads>>>(o, i, c, all, 1, 3); k<<<blocks, threads>>>(o, i, c, count, 1, 3);"
    ));
}

#[test]
fn waves_of_any_width_take_a_way_as_one() {
    let of = |bound: &str| {
        let text = format!(
            "RWStructuredBuffer<uint> b; groupshared uint s[256];
             [numthreads(256, 1, 1)] void main(uint t : SV_GroupIndex) {{
               uint wave = WaveGetLaneCount(), log = countbits(wave - 1); s[t] = b[t];
               for (uint j = wave; j < 128; j <<= log) {{
                 GroupMemoryBarrierWithGroupSync();
                 if ({bound}) b[t + j] = WaveReadLaneAt(s[t ^ 1], 0);
               }}
             }}"
        );
        let told = reasons(&text, Dialect::Hlsl);
        told.iter()
            .any(|(code, _)| *code == Code::ShuffleInactiveSource)
    };
    assert!(!of("(t & ((j << log) - 1)) >= j"));
    assert!(!of("t >= j"));
    assert!(!of("(t + 1) & (j - 1)"));
    assert!(!of("((t + 1) & (j - 1)) != 0"));
    assert!(of("((t + 1) & (j - 1)) == 0"));
    assert!(of("(t + 8) & (j - 1)"));
    assert!(of("t & (j - 1)"));
    assert!(of("t >= j + 1"));
    assert!(of("(t & (j - 2)) >= j"));
    assert!(of("(t & ((j << log) - 1)) >= log"));
}

#[test]
fn a_lane_that_gives_up_waiting_has_ended() {
    let of = |gives_up: &str| {
        let body = format!(
            "for (int i = 0; i < n; ++i) {{
               if (threadIdx.x == 0) {{
                 while (*(volatile int*)count != i) {{ if (clock64() > p) {{ {gives_up}; }} }}
               }}
               __syncthreads(); out[threadIdx.x + i] = 1;
             }}"
        );
        tells(&kernel("", &body), Code::DivergentBarrier)
            && reasons(&kernel("", &body), Dialect::Cuda)
                .iter()
                .any(|(_, reason)| matches!(reason, FindingReason::BarrierSplit { .. }))
    };
    assert!(!of("return"));
    assert!(of("__syncthreads(); return"));
}

#[test]
fn functions_out_of_sight_leave_their_arguments_alone() {
    let of = |call: &str| {
        let body = format!(
            "__shared__ int s[1];
             for (long d = blockIdx.x; d < n; d += gridDim.x) {{
               int at = 0; if (threadIdx.x == 0) {{ {call} }}
               __syncthreads(); if (threadIdx.x == 0) s[0] = at;
               __syncthreads(); out[d] = s[0];
             }}"
        );
        tells(
            &kernel("template <class T>", &body),
            Code::BarrierInDivergentLoop,
        )
    };
    assert!(!of("T::find(&at, count, d, n);"));
    assert!(!of("T::find(&at, d); T::find(&at, d);"));
    assert!(of("d += T::find(&at, d) + in[n];"));
    assert!(of("d += 2;"));
}

#[test]
fn tiles_of_a_width_that_a_build_chooses() {
    let of = |head: &str, tile: &str| {
        let body = format!(
            "__shared__ float s[256]; const int warp = threadIdx.x / 32;
             const int tile = blockIdx.x + {tile}; if (tile >= n) return;
             s[threadIdx.x] = in[tile]; __syncthreads(); out[threadIdx.x] = s[m];"
        );
        tells(&kernel(head, &body), Code::DivergentBarrier)
    };
    let head = "constexpr int WARPS = __WARPS__;";
    assert!(!of(head, "warp / WARPS"));
    assert!(of(head, "warp"));
    assert!(of("constexpr int WARPS = 2;", "warp / WARPS"));
}

/// A variable that a function out of sight is given by reference is taken to keep its value, argument by
/// argument.
#[test]
fn members_of_unknown_types_leave_rows_alone() {
    let rows = |call: &str| {
        format!(
            "template <typename LOAD, typename T> __global__ void k(LOAD load, const T* p, T* out, int rows, int n, Helper<long, 3> helper) {{
               for (long b = blockIdx.x; b < rows; b += gridDim.x) {{
                 for (int i = threadIdx.x; i < n; i += blockDim.x) {{
                   float v[4]; const int column = i * 4; int row = i;
                   if (i > 7) {{ {call} }}
                   out[row] = v[0];
                 }}
                 __syncthreads();
               }}
             }}"
        )
    };
    for call in [
        "load.template load<4>(v, b, column);",
        "out[helper.at(b, 0, i)] = 0;",
        "out[helper.at(b, i, 0, 0)] = p[helper.at(i, b, 1)];",
    ] {
        assert!(!tells(&rows(call), Code::BarrierInDivergentLoop), "{call}");
    }
    // The author's own does not.
    assert!(tells(&rows("b += i;"), Code::BarrierInDivergentLoop));
}

/// A loop behind a macro of a header that is not there: the words in its head may be its range.
#[test]
fn macros_as_heads_of_loops_may_assign_what_they_name() {
    let barrier = |head: &str| {
        let body = format!(
            "int first = threadIdx.x, i;
             {head} {{ out[i] = in[i]; __syncthreads(); }}"
        );
        tells(&kernel("", &body), Code::BarrierInDivergentLoop)
    };
    assert!(!barrier("FOR_RANGE(i, first, n)"));
    assert!(barrier("for (i = first; i < n; ++i)"));
}

/// All threads of the block leave in the round of the last whole tile, whether the head asks or a `break`.
#[test]
fn whole_tiles_of_the_block() {
    let barrier = |end: &str, breaks: &str| {
        let step = if breaks.contains("blockDim") {
            "blockDim.x"
        } else {
            "B"
        };
        let text = format!(
            "template <int B> __global__ void k(const float* in, int* out, int n, float r) {{
               int t = threadIdx.x; int end = {end};
               for (int i = t; i < end; i += {step}) {{
                 auto count = __syncthreads_count(i < n && in[i] > r);
                 if ({breaks}) {{ if (t == B - count) {{ if (count == 0) {{ ++i; }} out[blockIdx.x] = i; }} break; }}
               }}
               __syncthreads(); out[t] += n;
             }}
             void f(float* i, int* o) {{ k<256><<<9, 256>>>(i, o, 7, 1); }}"
        );
        let told = reasons(&text, Dialect::Cuda);
        told.iter().any(|(code, _)| {
            matches!(
                code,
                Code::BarrierInDivergentLoop | Code::DivergentBarrier | Code::DivergentLoop
            )
        })
    };
    let (whole, last) = ("(n + B - 1) / B * B", "count != 0 || i + B >= end");
    // Blocks of 256 threads.
    let same = "count != 0 || i + blockDim.x >= end";
    assert!(!barrier("(n + 127) / 128 * 256", same));
    assert!(barrier("(n + 127) / 128 * 128", same));
    for end in [
        whole,
        "n - (n & (B - 1))",
        "n - n % B",
        "n & ~(B - 1)",
        "min(n / B * B, 4 * B)",
    ] {
        assert!(!barrier(end, last), "{end}");
        assert!(!barrier(end, "i + 2 * B >= end"), "{end}");
    }
    for end in ["n", "n - (n & 127)", "(n + B - 1) / B", "n / B * B + 1"] {
        assert!(barrier(end, last), "{end}");
    }
    assert!(barrier(whole, "count != 0 || i + 300 >= end"));
}

/// The instantiation determines of how many warps a part of the block consists.
#[test]
fn parts_of_the_block_whose_size_is_open() {
    let told = |width: &str| {
        let text = format!(
            "template <int CONSUMERS> __global__ void k(float* out, const float* in, int n) {{
               int role = threadIdx.x % {width}; float v = in[threadIdx.x];
               if (role < 48) v += __shfl_xor_sync(0xffffffffu, v, 1);
               out[threadIdx.x] = v;
             }}"
        );
        tells(&text, Code::WarpSyncMask)
    };
    assert!(!told("CONSUMERS"));
    assert!(told("96"));
}

/// Tiles of the grid: blocks begin with one of their own, and go on by a number of them.
#[test]
fn whole_tiles_of_the_grid() {
    let barrier = |start: &str, step: &str| {
        let body = format!(
            "int end = (n + 255) / 256 * 256;
             for (int i = {start}; i < end; i += {step}) {{ int c = __syncthreads_count(i < n); if (i < n) out[i] = c; }}
             __syncthreads(); out[threadIdx.x] += 1;"
        );
        let host = "void f(float* o, const float* i, int* c) { k<<<9, 256>>>(o, i, c, 1, 2, 3); }";
        tells(&(kernel("", &body) + host), Code::BarrierInDivergentLoop)
    };
    assert!(!barrier("blockIdx.x * 256 + threadIdx.x", "256 * 64"));
    assert!(!barrier("threadIdx.x + blockIdx.x * blockDim.x", "256"));
    assert!(!barrier("(blockIdx.x << 8) + threadIdx.x", "512"));
    assert!(barrier("blockIdx.x * 100 + threadIdx.x", "256 * 64"));
    assert!(barrier("blockIdx.x * 256 + threadIdx.x", "100"));
    assert!(barrier("blockIdx.x * 256 + threadIdx.x * 2", "256"));
}

/// The values that threads have when they leave a loop in one round are as uniform as they were in it.
#[test]
fn counts_behind_whole_rounds() {
    let barrier = |end: &str| {
        let body = format!(
            "int begun = 0, end = {end};
             for (int i = threadIdx.x; i < end; i += blockDim.x) begun += __syncthreads_count(i < n && in[i] > 0);
             for (int j = 0; j < n; ++j) {{ if (begun > m) break; __syncthreads(); out[j] = begun; }}
             __syncthreads(); out[threadIdx.x] += 1;"
        );
        let found = reasons(&kernel("", &body), Dialect::Cuda);
        found
            .iter()
            .any(|(code, _)| matches!(code, Code::DivergentBarrier | Code::BarrierInDivergentLoop))
    };
    assert!(!barrier("(n + blockDim.x - 1) / blockDim.x * blockDim.x"));
    assert!(barrier("n"));
}

/// Four lanes that share a number come together, and read one of the four.
#[test]
fn lanes_of_a_segment_come_together() {
    let told = |thread: &str, width: u32| {
        let body = format!(
            "int t = blockDim.x * blockIdx.x + threadIdx.x; if (({thread}) >= n) return;
             out[t] = __shfl_sync(__activemask(), in[t], 1, {width});"
        );
        tells(&kernel("", &body), Code::ShuffleInactiveSource)
    };
    assert!(!told("t >> 2", 4));
    assert!(!told("t / 8", 4));
    assert!(told("t >> 1", 4));
    assert!(told("t", 4));
}

/// The contents that a function leaves in an array of the thread's own may be the same in all threads.
#[test]
fn barriers_behind_what_private_memory_holds() {
    let told = |value: &str| {
        let body = format!(
            "__shared__ int shared[8]; int counts[4];
             for (int i = 0; i < 4; ++i) counts[i] = {value};
             for (int r = 0; r < n; ++r) {{ if (counts[r & 3] == m) break; __syncthreads(); out[r] = shared[r & 7]; shared[r & 7] = r; }}
             __syncthreads(); out[threadIdx.x] = 1;"
        );
        let found = reasons(&kernel("", &body), Dialect::Cuda);
        found
            .iter()
            .any(|(code, _)| matches!(code, Code::DivergentBarrier | Code::BarrierInDivergentLoop))
    };
    assert!(!told("shared[i]"));
    assert!(told("count[threadIdx.x + i]"));
}

/// A pointer in a structure is not one into shared memory where no address of that is handed out.
#[test]
fn what_ended_threads_would_have_written_to_global_memory_is_not_missed() {
    let of = |behind: &str| {
        let text = format!(
            "struct View {{ float* to; __device__ View(float* to) : to(to) {{}}
                 __device__ float* at(int i) {{ return &to[i]; }} }};
             __global__ void k(float* out, const float* in, int n, bool clear) {{
                 View view(out); __shared__ float s[64]; s[threadIdx.x] = in[threadIdx.x];
                 int i = blockIdx.x * 64 + threadIdx.x; if (i >= n) return;
                 {behind}
                 __syncthreads(); out[i] = s[63 - threadIdx.x]; }}"
        );
        tells(&text, Code::DivergentBarrier)
    };
    assert!(!of("if (clear) *((unsigned*)view.at(i)) = 0;"));
    assert!(of("s[threadIdx.x] += 1;"));
    assert!(of("View other(s); if (clear) *other.at(threadIdx.x) = 0;"));
}

/// The block of a launch is that of its scope, also in parentheses.
#[test]
fn blocks_of_one_name_in_several_scopes() {
    let of = |block: &str| {
        let text = format!(
            "template <int W> __global__ void k(float* sums, const int* const rows, int n) {{
                 __shared__ float b[W]; int row = blockIdx.x * W + threadIdx.y;
                 while (row < n) {{
                     if (rows[row] > 0) {{
                         if (threadIdx.x == 0) b[threadIdx.y] = sums[row];
                         __syncthreads();
                         if (threadIdx.x == 0) sums[row] = b[threadIdx.y];
                     }}
                     row += W;
                 }} }}
             void f(float* sums, const int* rows, int n) {{
                 {{ const dim3 block(128); (g)<<<(n), (block)>>>(sums); }}
                 {{ const dim3 block({block}); (k<1>)<<<(n), (block)>>>(sums, rows, n); }} }}"
        );
        tells(&text, Code::DivergentBarrier)
    };
    assert!(!of("128, 1"));
    assert!(of("128, 2"));
}
