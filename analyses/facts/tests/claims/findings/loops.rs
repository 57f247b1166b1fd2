//! Loops that lanes leave in different iterations.

use super::{kernel, loops, reasons, tells};
use facts::{Code, FindingReason};
use syntax::c_family::Dialect;

#[test]
fn windows_of_one_width_have_one_number_of_rounds() {
    let window = |limit: &str| {
        format!(
            "int x = count[threadIdx.x];
             for (int k = 0; k < n; ++k) {{
               int first = x - m, last = {limit}; float s = 0;
               for (int i = first; i <= last; i++) s += in[i];
               out[x] = s; x += (int)s;
             }}"
        )
    };
    assert!(!loops("", &window("x + m")));
    assert!(loops("", &window("x + x % 5")));
    let scaled = |limit: &str| {
        format!(
            "int x = threadIdx.x; float s = 0;
             for (int i = x << m; i < {limit}; i++) s += in[i];
             out[x] = s;"
        )
    };
    assert!(!loops("", &scaled("(x + 1) << m")));
    assert!(loops("", &scaled("(x * x + 1) << m")));
    let asked_again = |limit: &str| {
        format!(
            "float s = 0; for (int i = threadIdx.x << m; i < ({limit}) << m; i++) s += in[count[i]]; out[threadIdx.x] = s;"
        )
    };
    assert!(!loops("", &asked_again("threadIdx.x + 1")));
    assert!(loops("", &asked_again("threadIdx.y + 1")));
    let rows = |limit: &str| {
        format!(
            "int r = threadIdx.x * m; float s = 0;
             for (int i = r; i < {limit}; i += 2) s += in[i];
             out[threadIdx.x] = s;"
        )
    };
    assert!(!loops("", &rows("r + m")));
    // The first rows beyond the end leave at once.
    assert!(loops(
        "",
        &rows("r + m").replace("s += in[i]", "{ if (i >= n) break; s += in[i]; }")
    ));
    assert!(loops("", &rows("n")));
}

#[test]
fn steps_and_counters_of_types_that_are_not_known() {
    let head = "template <typename P> struct Walk { using Index = typename P::Index; };
                template <typename P>";
    for body in [
        "typename P::Index i = blockIdx.x * P::BlockSize + threadIdx.x; float s = 0;
         for (; i < n; i += P::BlockStride) s += in[i]; out[threadIdx.x] = s;",
        "using I = typename P::Index; float s = 0;
         for (I i = threadIdx.x; i < I(n); i += I(blockDim.x)) s += in[i]; out[threadIdx.x] = s;",
        "using I = typename P::Index; float s = 0;
         for (I i = threadIdx.x; i < n; i = i + P::kStep * P::kMore) s += in[i]; out[threadIdx.x] = s;",
        "using I = typename P::Index; float s = 0;
         for (I i{threadIdx.x}; i < n; i += static_cast<I>(P::step())) s += in[(int)i]; out[threadIdx.x] = s;",
        "float s = 0; int step = P::Policy::BlockStride;
         for (int i = threadIdx.x; i < n; i += step) s += in[i]; out[threadIdx.x] = s;",
        "float s = 0; P policy;
         for (int i = threadIdx.x; i < n; i += policy.stride()) s += in[i]; out[threadIdx.x] = s;",
    ] {
        assert!(!loops(head, body), "{body}");
    }
    assert!(loops(
        head,
        "float s = 0; for (int i = 0; i < in[threadIdx.x]; i += P::Step) s += in[i]; out[threadIdx.x] = s;"
    ));
}

#[test]
fn few_lanes_share_short_rounds() {
    let of = |lanes: u32| {
        let body = format!(
            "__shared__ float s[8]; if (threadIdx.x < {lanes}) for (int k = threadIdx.x, i = k + blockIdx.x * 4; k < 64 && i < n; k += 4, i += 4) s[i % 5] = in[i];
             __syncthreads(); out[threadIdx.x] = s[0];"
        );
        loops("", &body)
    };
    assert!(!of(4));
    assert!(of(32));
}

#[test]
fn a_lock_that_one_lane_of_a_tile_takes() {
    let text = |condition: &str| {
        format!(
            "template <int tile> __global__ void k(int* lock, const int* in, int* out) {{
               cooperative_groups::thread_block_tile<tile> t = cooperative_groups::tiled_partition<tile>(cooperative_groups::this_thread_block());
               if ({condition}) {{ while (0 == atomicCAS(lock, 1, 0)); }}
               out[threadIdx.x] = in[threadIdx.x];
             }}"
        )
    };
    let of = |condition| tells(&text(condition), Code::DivergentLoop);
    assert!(!of("t.thread_rank() == 0"));
    assert!(of("in[threadIdx.x] == 0"));
}

#[test]
fn the_size_of_any_group_is_not_a_lane_s_own() {
    let text = |group: &str| {
        format!(
            "__device__ int sum_of(cooperative_groups::{group} g, const int* in) {{
               int sum = 0;
               for (int i = g.size() / 2; i > 0; i /= 2) sum += in[i];
               return sum;
             }}
             __global__ void k(int* out, const int* in) {{
               out[threadIdx.x] = sum_of(cooperative_groups::this_thread_block(), in);
             }}"
        )
    };
    let of = |group| tells(&text(group), Code::DivergentLoop);
    assert!(!of("thread_group"));
    // By label or predicate, some lanes may have more company than others.
    assert!(of("coalesced_group"));
}

#[test]
fn counters_that_are_shown_to_functions_out_of_sight() {
    let walk = |start: &str, step: &str| {
        format!(
            "for (int i = {start}; i < n; i += {step}) {{ if (mask(m, i)) out[i] = src(m, i) + in[i]; }}"
        )
    };
    let of = |start: &str, step: &str| {
        loops(
            "extern __device__ int mask(int&, int&); extern __device__ float src(int&, int&);",
            &walk(start, step),
        )
    };
    assert!(!of("threadIdx.x", "blockDim.x"));
    assert!(!of("threadIdx.x", "64"));
    assert!(of("in[threadIdx.x]", "1"));
}

/// A condition that no round changes keeps lanes out as an `if` does.
#[test]
fn a_condition_that_stays_is_a_guard() {
    let of = |condition: &str| {
        let body = format!(
            "int k = threadIdx.x; float s = 0;
             for (int i = 0; i < n && {condition}; i++) {{ s += in[i] * in[i + k]; s = s * s + in[i + m]; }}
             out[k] = s;"
        );
        loops("", &body)
    };
    assert!(!of("k < m"));
    assert!(of("k + i < m"));
    assert!(of("in[i] < s"));
    assert!(of("i < count[k]"));
}

#[test]
fn rounds_that_some_lanes_have_one_more_of() {
    let of = |more: &str| {
        let body = format!(
            "int rounds = n / blockDim.x, id = threadIdx.x; float s = 0;
             if (id < n % blockDim.x) {more};
             for (int i = 0; i < rounds; ++i) s += in[i * blockDim.x + id];
             out[id] = s;"
        );
        loops("", &body)
    };
    assert!(!of("rounds++"));
    assert!(of("rounds += 7"));
}

#[test]
fn one_thread_waits_for_nobody() {
    let of = |launch: &str| {
        let body =
            "while (in[threadIdx.x] > n) { out[threadIdx.x] = clock64(); if (out[m] > 0) return; }";
        let host = format!("void f(float* o, const float* i, int* c) {{ {launch}; }}");
        tells(&(kernel("", body) + &host), Code::DivergentLoop)
    };
    assert!(!of("k<<<1, 1>>>(o, i, c, 1, 2, 3)"));
    assert!(!of("k<<<1000, dim3(1, 1, 1)>>>(o, i, c, 1, 2, 3)"));
    assert!(!of(
        "cudaLaunchKernel((const void*)k, dim3(7), dim3(1), nullptr, 0, 0)"
    ));
    assert!(of("k<<<1, 2>>>(o, i, c, 1, 2, 3)"));
    assert!(of(
        "cudaLaunchKernel((const void*)k, dim3(7), dim3(32), nullptr, 0, 0)"
    ));
    assert!(of("cudaLaunchKernelExC(&config, (void*)k, nullptr)"));
}

#[test]
fn groups_of_a_width_that_a_build_chooses() {
    let of = |head: &str, group: &str| {
        let body = format!("for (int i = {group}; i < n; i += 7) out[i] = in[i] * in[i + m];");
        tells(&kernel(head, &body), Code::DivergentLoop)
    };
    for head in ["constexpr int WIDTH = __WIDTH__;", "template <int WIDTH>"] {
        assert!(!of(head, "(blockIdx.x * blockDim.x + threadIdx.x) / WIDTH"));
        assert!(!of(head, "threadIdx.x - (threadIdx.x & (WIDTH - 1))"));
        assert!(!of(head, "threadIdx.x - threadIdx.x % WIDTH"));
        assert!(of(head, "threadIdx.x * WIDTH"));
        assert!(of(head, "count[threadIdx.x] / WIDTH"));
        assert!(of(
            head,
            "(int(threadIdx.x) - int(threadIdx.x % 5)) * WIDTH"
        ));
    }
}

#[test]
fn limits_of_a_type_that_is_not_known() {
    let of = |ty: &str, step: &str| {
        let body = format!(
            "{ty} length = offsets[threadIdx.y + 1] - offsets[threadIdx.y];
             for (auto i = threadIdx.x; i < length; i += {step}) out[i] = in[i + n];"
        );
        let head = format!("template <class {ty}>");
        let text =
            kernel(&head, &body).replace("float* out", &format!("const {ty}* offsets, float* out"));
        tells(&text, Code::DivergentLoop)
    };
    for ty in ["offsets_t", "value_t", "LengthT"] {
        assert!(!of(ty, "blockDim.x"), "{ty}");
        assert!(of(ty, "1"), "{ty}");
    }
}

#[test]
fn windows_that_end_with_the_range() {
    let of = |limit: &str| {
        let body = format!(
            "int base = (blockIdx.x * blockDim.x + threadIdx.x) * m;
             int last = {limit};
             for (int i = base; i < last; i++) out[i] = in[i] * in[i + m];"
        );
        loops("", &body)
    };
    assert!(!of("min(base + m, n)"));
    assert!(!of("min(n, base + m)"));
    assert!(of("min(base + m, count[base])"));
    assert!(of("max(base + m, n)"));
    assert!(of("min(2 * base, n)"));
}

/// Most windows do not reach the ends of their data, and the others are shorter.
#[test]
fn windows_that_are_cut_off() {
    let of = |ends: &str| {
        let body = format!(
            "int i = blockIdx.x * blockDim.x + threadIdx.x; float s = 0; {ends}
             for (int j = a; j < b; ++j) s += expf(in[j]);
             out[i] = s;"
        );
        let head =
            "__device__ int clamped(int x, int a, int b) { return x < a ? a : (x > b ? b : x); }";
        loops(head, &body)
    };
    assert!(!of("int a = max(i * 2 - m, 0), b = min(i * 2 - m + 7, n);"));
    assert!(!of(
        "int a = i - m, b = i + m; if (a < 0) a = 0; if (b > n) b = n;"
    ));
    assert!(!of(
        "int a = i - m, b = i + m; a = a < 0 ? 0 : a; b = n > b ? b : n;"
    ));
    assert!(!of(
        "int a = clamped(i - 64, 0, n - 1), b = clamped(i + 64, 0, n - 1);"
    ));
    assert!(of(
        "int a = i - m, b = i + m; if (a > 0) a = 0; if (b > n) b = n;"
    ));
    assert!(of(
        "int a = i - m, b = i + m; if (a < 0) a = 0; if (b < n) b = n;"
    ));
    assert!(of(
        "int a = i - m, b = i + m; if (a < 0) a = 0; if (count[i] > n) b = n;"
    ));
    assert!(of(
        "int a = i - m, b = i + count[i]; if (a < 0) a = 0; if (b > n) b = n;"
    ));
    assert!(of("int a = min(i - m, 0), b = i + m;"));
}

/// A vector for all threads but those at the end, whose few elements are taken one by one.
#[test]
fn what_is_left_at_the_end() {
    let of = |few: &str, code: Code| {
        let body = format!(
            "int i = (blockIdx.x * blockDim.x + threadIdx.x) * 4, rest = n - i;
             if (rest >= {few}) {{ out[i / 4] = expf(in[i / 4]); }}
             else {{ for (int j = 0; j < rest; ++j) out[i + j] = expf(in[i + j]); }}"
        );
        tells(&kernel("", &body), code)
    };
    for code in [Code::DivergentLoop, Code::UncoalescedAccess] {
        assert!(!of("4", code), "{code:?}");
        assert!(of("400", code), "{code:?}");
        assert!(of("m", code), "{code:?}");
    }
    let rounds = |most: &str| {
        let body = format!(
            "for (int j = 0; j < min(count[threadIdx.x], {most}); ++j) out[j] = expf(in[j]);"
        );
        loops("", &body)
    };
    assert!(!rounds("4"));
    assert!(rounds("40"));
}

#[test]
fn lanes_that_wait_for_others_write_nothing_of_their_own() {
    assert!(!loops(
        "",
        "while (((volatile int*)count)[threadIdx.x] != n) {}"
    ));
    assert!(!loops(
        "",
        "int seen; do { asm volatile(\"ld.acquire.gpu.s32 %0, [%1];\" : \"=r\"(seen) : \"l\"(count + threadIdx.x)); } while (seen != n);"
    ));
    assert!(loops(
        "",
        "int at = threadIdx.x; while (((volatile int*)count)[at] != n) at = count[at]; out[at] = 1;"
    ));
}

/// No lane goes on where another traps.
#[test]
fn traps_part_no_lanes() {
    let checked = |fails: &str| {
        loops(
            "",
            &format!(
                "for (int b = blockIdx.x; b < n; b += gridDim.x) {{
                   if (threadIdx.x == 0) {{ if (count[b] > m) {fails}; }}
                   out[b] = in[b];
                 }}"
            ),
        )
    };
    assert!(!checked("__trap()"));
    assert!(checked("return"));
}

#[test]
fn a_place_in_the_warp_taken_off_leaves_the_warp() {
    let of = |base: &str| {
        loops(
            "",
            &format!(
                "unsigned t = threadIdx.x, base = {base}; int p = 0; while (in[base + 31] > p) p++; out[t] = p;"
            ),
        )
    };
    assert!(!of("t - (t & 31)"));
    assert!(!of("t - t % 32"));
    assert!(of("t - (t & 15)"));
    assert!(of("t - t % 24"));
    assert!(of("t - (t * 2 & 31)"));
}

/// Lanes of a group decide together, whatever its size.
#[test]
fn groups_of_a_width_that_is_open_decide_together() {
    let of = |condition: &str| {
        let text = format!(
            "namespace cg = cooperative_groups;
             template <int SIZE> __global__ void k(const float* a, float* o, int n) {{
               auto const block = cg::this_thread_block();
               auto const tile = cg::tiled_partition<SIZE>(block);
               int i = (blockIdx.x * blockDim.x + threadIdx.x) / 2;
               while ({condition}) {{ if (i < n) o[i] += a[i]; i += gridDim.x * blockDim.x / 2 + (int)a[i]; }}
             }}"
        );
        tells(&text, Code::DivergentLoop)
    };
    assert!(!of("tile.any(i < n)"));
    assert!(of("a[i] > 0"));
}

/// A short loop that stays at the address is unrolled with the one around it, whose rounds lie side by side.
#[test]
fn rounds_side_by_side_around_another_loop() {
    let told = |index: &str| {
        let body = format!(
            "int i = threadIdx.x; float s = 0;
             for (int j = 0; j < 4; ++j) for (int r = 0; r < 3; ++r) s += in[r + m] * in[{index}];
             out[i] = s;"
        );
        let all = reasons(&kernel("", &body), Dialect::Cuda);
        all.iter()
            .any(|(_, reason)| matches!(reason, FindingReason::Narrow { .. }))
    };
    assert!(told("i * 4 + j"));
    assert!(!told("i * 8 + j * 2"));
    assert!(!told("i * 16 + j + r * 4"));
}

/// The contents of private memory are known where something that differs between lanes is written to it.
#[test]
fn loops_that_private_memory_ends() {
    let told = |first: &str| {
        let body = format!(
            "int at[8]; for (int i = 0; i < m; ++i) at[i] = {first};
             for (int r = blockIdx.x * blockDim.x + threadIdx.x; r < n; r += blockDim.x * gridDim.x) {{
               bool more;
               do {{
                 more = false;
                 for (int i = m - 1; i >= 0; --i) {{
                   if (at[i] == count[i]) {{ at[i] = {first}; }} else {{ ++at[i]; more = true; break; }}
                 }}
                 out[r] += in[at[0]];
               }} while (more);
             }}"
        );
        loops("", &body)
    };
    assert!(!told("0"));
    assert!(told("threadIdx.x & 3"));
}

/// Rounds that a product counts: lanes go one more at most.
#[test]
fn rounds_that_are_multiplied() {
    let of = |condition: &str| {
        let body = format!(
            "int lane = threadIdx.x & 31;
             for (int i = 0; {condition}; ++i) {{ float s = in[i * 32 + lane]; for (int j = 0; j < m; ++j) s += in[j + i]; out[i * 32 + lane] = s; }}"
        );
        loops("", &body)
    };
    assert!(!of("blockDim.x * i + threadIdx.x < n"));
    assert!(!of("i < m && 4 * blockDim.x * i + 4 * lane < n"));
    assert!(!of("m * i + lane < n"));
    assert!(of("i + lane < n"));
    assert!(of("m * i + 40 * lane < n"));
    assert!(of("lane * i < n"));
}

/// Memory that functions share is held apart by its components, and a block loads again the value that it
/// stored.
#[test]
fn components_of_shared_statics() {
    let told = |counts: &str, decides: &str| {
        let text = format!(
            "RWStructuredBuffer<float> o;
             static float4 r;
             void body(uint t) {{
                 r.x = 0; r.y = t; r.w = 0;
                 for (;;) {{
                     r.z = r.{counts} >= 9 ? 1 : 0;
                     if (r.{decides} != 0) break;
                     r.z = o[t];
                     o[t] = r.z + r.y;
                     r.x = r.x + 1;
                 }}
             }}
             [numthreads(64, 1, 1)] void main(uint t : SV_GroupIndex) {{ body(t); }}"
        );
        let all = reasons(&text, Dialect::Hlsl);
        all.iter().any(|(code, _)| *code == Code::DivergentLoop)
    };
    assert!(!told("x", "z"));
    assert!(!told("y", "w"));
    assert!(told("y", "z"));
    assert!(told("x", "y"));
}
