//! What findings must not say, and its neighbours, of which they must: the same kernel twice, with one word between them.

use super::source::functions;
use facts::{Code, Options, analyze_module, diagnose};
use syntax::c_family::Dialect;

fn messages(text: &str, dialect: Dialect) -> Vec<(Code, String)> {
    let mut all = Vec::new();
    for (module, own) in functions(text, dialect) {
        let facts = analyze_module(&module, &own.options);
        let told = diagnose(&module, &facts);
        all.extend(told.into_iter().map(|f| (f.code, f.message)));
    }
    all
}

fn tells(text: &str, code: Code) -> bool {
    messages(text, Dialect::Cuda)
        .iter()
        .any(|(c, _)| *c == code)
}

/// `body` in a kernel with arrays and numbers; `head` stands before it.
fn kernel(head: &str, body: &str) -> String {
    format!(
        "{head} __global__ void k(float* out, const float* in, int* count, int n, int m, unsigned long long p) {{ {body} }}"
    )
}

fn loops(head: &str, body: &str) -> bool {
    tells(&kernel(head, body), Code::DivergentLoop)
}

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
fn a_workgroup_has_no_more_lanes_than_threads() {
    let text = |size: u32| {
        format!(
            "RWByteAddressBuffer u; cbuffer C {{ uint v; }}; [numthreads({size}, 1, 1)] void f(uint t : SV_GroupIndex) {{ u.InterlockedAdd(v, t); }}"
        )
    };
    let of = |size| messages(&text(size), Dialect::Hlsl);
    let [(Code::AtomicSameAddress, message)] = &of(2)[..] else {
        panic!("{:?}", of(2));
    };
    assert!(
        message.contains("2 lanes of a wave") && message.contains("up to 2"),
        "{message}"
    );
    assert!(of(64)[0].1.contains("all lanes"));
    assert_eq!(of(1), []);
}

#[test]
fn one_lane_of_a_group_whose_size_a_template_tells() {
    let text = |condition: &str| {
        format!(
            "template <int tile> __global__ void k(int* out, int* cnt, const int* in) {{
               cooperative_groups::thread_block_tile<tile> t = cooperative_groups::tiled_partition<tile>(cooperative_groups::this_thread_block());
               int lane = t.thread_rank(); int part = threadIdx.x % tile;
               if ({condition}) out[0] = atomicAdd(cnt, in[threadIdx.x]);
             }}"
        )
    };
    let of = |condition| tells(&text(condition), Code::AtomicSameAddress);
    assert!(!of("lane == 0"));
    assert!(!of("part == 0"));
    // The first lane of a vote among the tile's.
    assert!(!of("lane == __ffs(t.ballot(in[threadIdx.x] > 0)) - 1"));
    assert!(!of(
        "t.thread_rank() == (unsigned)in[blockIdx.x] && in[0] < 7"
    ));
    assert!(of("lane != 0"));
    assert!(of("in[threadIdx.x] == 0"));
}

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
fn vectors_as_wide_as_a_template_says() {
    let text = |moved: &str, factor: &str| {
        format!(
            "template <typename T, int N> struct alignas(N * sizeof(T)) Vec {{ T at[N]; }};
             template <int N, typename T> __global__ void k(T* out, const T* in, int n) {{
               using V = {moved};
               int i = (blockIdx.x * blockDim.x + threadIdx.x) * {factor};
               V v = *(const V*)&in[i]; *(V*)&out[i] = v;
             }}"
        )
    };
    let of = |moved, factor| tells(&text(moved, factor), Code::UncoalescedAccess);
    assert!(!of(
        "typename std::aligned_storage<N * sizeof(T), N * sizeof(T)>::type",
        "N"
    ));
    assert!(!of("Vec<T, N>", "N"));
    assert!(!of("uint4", "N"));
    assert!(of("uint4", "n"));
}

#[test]
fn a_stride_without_a_number_is_a_condition() {
    let text = "__global__ void k(float* out, const float* in, int w) { out[threadIdx.x] = in[threadIdx.x * w]; }";
    let told = messages(text, Dialect::Cuda);
    let [(Code::UncoalescedAccess, message)] = &told[..] else {
        panic!("{told:?}");
    };
    assert!(message.contains("32 bytes or more"), "{message}");
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
fn fragments_in_unrolled_loops_of_a_template() {
    let head = "template <typename T> struct fragment_t { T x[8]; static constexpr int num_elements = 8; };";
    let text = |index: &str| {
        format!(
            "{head} template <int WIDTH, int N, typename P, typename T> __global__ void k(float* out, const float* in, int n) {{
               constexpr unsigned BLOCKS = WIDTH / 16;
               fragment_t<float> frag[N]; fragment_t<float> weights[BLOCKS]; float acc[P::Rows];
               nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, T> result[N];
               #pragma unroll
               for (unsigned i = 0; i < BLOCKS; ++i) weights[i].x[0] = in[i];
               #pragma unroll
               for (int l = 0; l < N; ++l) {{
                 for (unsigned i = 0; i < BLOCKS; ++i) frag[l].x[1] = frag[l].x[0] + weights[{index}].x[0];
                 for (int t = 0; t < frag[l].num_elements; t++) frag[l].x[t] = 0;
                 for (int t = 0; t < result[l].num_elements; t++) result[l].x[t] = frag[l].x[t % 8];
                 acc[l % P::Rows] = 0;
               }}
               out[threadIdx.x] = frag[0].x[1] + acc[0];
             }}"
        )
    };
    let of = |index| tells(&text(index), Code::LocalArrayDynamicIndex);
    assert!(!of("i"));
    assert!(of("n"));
}

#[test]
fn missing_threads_are_named_with_a_launch() {
    let steps = |body: &str| {
        let text = kernel("", body);
        let (module, _) = functions(&text, Dialect::Cuda).remove(0);
        let facts = analyze_module(&module, &Options::default());
        let told = diagnose(&module, &facts);
        let last = |f: &facts::Finding| f.related.last().map(|step| step.text.clone());
        told.iter()
            .filter(|f| f.witness.is_some())
            .find_map(last)
            .unwrap_or_default()
    };
    assert_eq!(
        steps("if (threadIdx.x < n) { __syncthreads(); } out[threadIdx.x] = 1;"),
        "for instance thread 0 comes here and thread 1 does not, where `n` is 1 and the workgroup has 64 threads"
    );
    assert_eq!(
        steps("for (int i = threadIdx.x; i < n; i += 32) { __syncthreads(); out[i] = in[n - i]; }"),
        "for instance thread 0 comes here and thread 1 does not, where `n` is 1 and the workgroup has 64 threads"
    );
    assert_eq!(
        steps(
            "if (threadIdx.x >= 5 && threadIdx.x < m + 6) out[threadIdx.x] = __shfl_sync(0xffffffffu, n, 3);"
        ),
        "for instance thread 5 comes here and thread 3 does not, where `m` is 1 and the workgroup has 64 threads"
    );
    // Which threads come, only memory tells.
    assert_eq!(
        steps("if (in[threadIdx.x] > 0) { __syncthreads(); out[n] = 1; }"),
        ""
    );
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

/// A reference to one of two variables reads them, and leaves what they hold apart.
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
fn members_of_a_parameter_lie_in_constant_memory() {
    let of = |first: &str| {
        let text = format!(
            "struct P {{ long rank; int* rows[8]; }};
             __device__ int inner(const P p, int d) {{ return p.rows[d][1]; }}
             __global__ void k(P p) {{ {first} p.rows[p.rank % 8][threadIdx.x] = inner(p, threadIdx.y); }}"
        );
        tells(&text, Code::LocalArrayDynamicIndex)
    };
    assert!(!of(""));
    assert!(of("p.rows[threadIdx.x & 7] = 0;"));
}

#[test]
fn loops_that_are_unrolled_to_a_bound() {
    let of = |limit: &str, request: &str| {
        let body = format!(
            "float a[4] = {{}}; {request}
             for (int j = 0; j < {limit}; j++) a[j] = in[j * gridDim.x];
             out[threadIdx.x] = a[0] + a[1] + a[2] + a[3];"
        );
        tells(&kernel("", &body), Code::LocalArrayDynamicIndex)
    };
    let request = "\n#pragma unroll\n";
    for limit in [
        "min(n / (int)gridDim.x, 4)",
        "min(n / gridDim.x, 4u)",
        "(n & 3)",
        "min(n, 4)",
    ] {
        assert!(!of(limit, request), "{limit}");
        assert!(!of(limit, ""), "{limit}");
    }
    assert!(of("min(n, m)", request));
    assert!(of("min(n, m)", ""));
}

/// As stack frames of NVIDIA's assembler show (13.5, sm_80 to sm_100).
#[test]
fn arrays_in_local_memory_and_among_registers() {
    let of = |size: u32, body: &str| {
        let body = format!(
            "float a[{size}]; for (int i = 0; i < {size}; ++i) a[i] = in[i * m];
             float s = 0; {body} out[threadIdx.x] = s;"
        );
        let told = messages(&kernel("", &body), Dialect::Cuda).into_iter();
        let arrays = told.filter(|(code, _)| *code == Code::LocalArrayDynamicIndex);
        arrays.map(|(_, message)| message).collect::<String>()
    };
    let in_memory = |size, body| of(size, body).ends_with("live in local memory, not in registers");
    let selects = |size, body| of(size, body).contains("a chain of selects among registers");
    let lone = "s = a[count[threadIdx.x]];";
    assert!(selects(8, lone) && selects(64, lone) && in_memory(128, lone));
    let walk = "for (int j = 0; j < n; ++j) s += a[j] * j;";
    assert!(selects(8, walk));
    let gather = "for (int j = 0; j < n; ++j) s += a[count[j]] * j;";
    assert!(selects(4, gather) && in_memory(8, gather) && in_memory(32, gather));
    let both = "for (int j = 0; j < n; ++j) a[j] += in[j]; for (int j = 0; j < n; ++j) s += a[j];";
    assert!(in_memory(8, both) && in_memory(32, both));
    for unrolled in [
        "for (int j = 0; j < min(n, 8); ++j) s += a[j] * j;",
        "for (int j = 0; j < 8; ++j) { if (count[j] == n) break; s += a[j] * j; }",
    ] {
        assert!(of(8, unrolled).is_empty(), "{unrolled}");
    }
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
    let told = messages(&kernel("", body), Dialect::Cuda);
    let barriers = told
        .iter()
        .filter(|(code, _)| *code == Code::BarrierInDivergentLoop);
    assert_eq!(barriers.count(), 1);
}

#[test]
fn a_ticket_is_drawn_by_one_lane() {
    let of = |drawn: &str, condition: &str| {
        let body = format!(
            "int ticket = atomicAdd({drawn}, 1);
             if ({condition}) out[ticket] = atomicAdd(count + 1, threadIdx.x);"
        );
        let told = messages(&kernel("", &body), Dialect::Cuda);
        let same = told
            .iter()
            .filter(|(code, _)| *code == Code::AtomicSameAddress);
        same.count()
    };
    assert_eq!(of("count", "ticket == 0"), 0);
    assert_eq!(of("count", "ticket < 4"), 1);
    assert_eq!(of("count + threadIdx.x + 8", "ticket == 0"), 1);
}

#[test]
fn atomics_that_the_compiler_makes_one_of() {
    // By the machine code of ptxas 13: VOTE and POPC, or REDUX, and one operation.
    let of = |body: &str| tells(&kernel("", body), Code::AtomicSameAddress);
    for merged in [
        "atomicAdd(count, 1)",
        "out[atomicAdd(count, 1)] = 1",
        "atomicAdd(count, m + (int)threadIdx.x)",
        "atomicMax(count, (int)threadIdx.x)",
        "atomicOr(count, 1 << threadIdx.x)",
    ] {
        assert!(!of(&format!("{merged};")), "{merged}");
    }
    for told in [
        "atomicAdd(out, in[threadIdx.x])",
        "out[threadIdx.x] = atomicAdd(count, (int)threadIdx.x)",
        "out[threadIdx.x] = atomicMax(count, (int)threadIdx.x)",
        "atomicAdd((unsigned long long*)count, (unsigned long long)threadIdx.x)",
        "atomicInc((unsigned*)count, threadIdx.x)",
        "out[threadIdx.x] = atomicExch(count, 1)",
    ] {
        assert!(of(&format!("{told};")), "{told}");
    }
}

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
fn components_of_wide_elements_share_banks() {
    let of = |element: &str, component: &str| {
        let text = format!(
            "groupshared {element} tile[20][20]; RWTexture2D<float> to;
             [numthreads(8, 8, 1)] void main(uint2 t : SV_GroupThreadID) {{ to[t] = tile[t.y + 1][t.x + 1]{component}; }}"
        );
        let told = messages(&text, Dialect::Hlsl);
        let mut conflicts = told.into_iter();
        let found = conflicts.find(|(code, _)| *code == Code::BankConflict);
        found.map(|(_, message)| message).unwrap_or_default()
    };
    let told = of("float4", ".w");
    assert!(
        told.contains("4-way") && told.contains("arrays of their own"),
        "{told}"
    );
    assert!(of("float", "").is_empty());
}

#[test]
fn loops_with_several_exits_are_unrolled() {
    let of = |head: &str, body: &str| tells(&kernel(head, body), Code::LocalArrayDynamicIndex);
    let polygon = |points: u32| {
        format!(
            "float p[{points}]; for (int i = 0; i < {points}; ++i) p[i] = in[i];
             for (int i = 0, j = {points} - 1; i < {points}; j = i, i++) {{
               if (p[i] < p[j]) continue;
               if (p[i] == in[n]) break;
               count[i] = 1;
             }}"
        )
    };
    assert!(!of("", &polygon(4)));
    assert!(of("", &polygon(100)));
    let rows = |limit: &str| {
        format!(
            "enum {{ ROWS = T::ROWS }}; float x[ROWS];
             for (int i = 0; i < ROWS; ++i) x[i] = in[i];
             for (int i = 0, c = threadIdx.x; {limit} && m < 7 && c < n; ++i, c += 32) out[c] = x[i];"
        )
    };
    assert!(!of("template <typename T>", &rows("i < ROWS")));
    assert!(of("template <typename T>", &rows("i < count[0]")));
    // Placeholders that a build fills in.
    let filled = |word: &str| {
        of(
            &format!("{word} int SIZE = __SIZE__;"),
            "float x[8]; for (int i = 0; i < SIZE; ++i) x[i] = in[i]; out[threadIdx.x] = x[0];",
        )
    };
    assert!(!filled("constexpr"));
    assert!(filled("__constant__"));
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
fn a_condition_of_two_parts_bounds_the_rounds() {
    let of = |condition: &str| {
        let body = format!(
            "float v[8]; for (int i = 0; i < 8; ++i) v[i] = in[i];
             for (int i = 0, c = threadIdx.x; {condition}; ++i, c += blockDim.x) out[c] = v[i];"
        );
        tells(&kernel("", &body), Code::LocalArrayDynamicIndex)
    };
    assert!(!of("i < 8 && c < n"));
    assert!(!of("c < n && i < 8"));
    assert!(!of("i < 8 && c < n && in[c] > 0"));
    assert!(of("i < 8 || c < n"));
    assert!(of("i < m && c < n"));
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

#[test]
fn rows_of_wide_elements_stay_aligned() {
    let of = |ty: &str| {
        let body = format!(
            "__shared__ __align__(16) float raw[32 * 48];
             out[threadIdx.x] = reinterpret_cast<const {ty}*>(raw + threadIdx.x * 48)->x;
             *reinterpret_cast<{ty}*>(raw + threadIdx.x * 48) = {ty}();"
        );
        let told = messages(&kernel("", &body), Dialect::Cuda).into_iter();
        let conflicts = told.filter(|(code, _)| *code == Code::BankConflict);
        conflicts.map(|(_, message)| message).collect::<Vec<_>>()
    };
    let pads = |ty: &str, by: &str| of(ty).iter().any(|told| told.ends_with(by));
    assert!(
        pads("float4", "pad the row by 16 bytes"),
        "{:?}",
        of("float4")
    );
    assert!(
        pads("float2", "pad the row by 8 bytes"),
        "{:?}",
        of("float2")
    );
}

#[test]
fn counters_shown_to_methods_out_of_sight_are_unrolled() {
    let of = |limit: &str, add: &str| {
        let body = format!(
            "float v[R * R]; unsigned done = 0;
             for (unsigned i = 0; i < R * R; ++i) {{ v[i] = in[i]; t.init(i); }}
             for (unsigned i = 0; i < {limit}; ++i) {{
               if (done & (1u << i)) continue;
               const float d = in[n] - v[i];
               if (d < 0) continue;
               if ({add}) {{ done |= 1u << i; continue; }}
               out[i] = d;
             }}"
        );
        let head = "template <int R, class T>";
        let text = kernel(head, &body).replace("float* out", "T t, float* out");
        tells(&text, Code::LocalArrayDynamicIndex)
    };
    assert!(!of("R * R", "t.add(i, d)"));
    assert!(of("R * R", "(i += in[i])"));
    assert!(of("n", "t.add(i, d)"));
}

#[test]
fn an_array_of_one_element_has_one_index() {
    let of = |size: u32| {
        let body = format!("float v[{size}]; v[0] = in[n]; v[n] += 1; out[threadIdx.x] = v[m];");
        tells(&kernel("", &body), Code::LocalArrayDynamicIndex)
    };
    assert!(!of(1));
    assert!(of(2));
}

#[test]
fn memory_of_the_block_in_hip() {
    let body = "HIP_DYNAMIC_SHARED(int, rows) int* own = &rows[threadIdx.x * n];
                for (int i = 0; i < m; ++i) own[i] = count[i]; out[threadIdx.x] = own[m];";
    let told = messages(&kernel("", body), Dialect::Cuda);
    let local = |(code, _): &&(Code, String)| *code == Code::LocalArrayDynamicIndex;
    assert!(told.iter().find(local).is_none(), "{told:?}");
}

#[test]
fn strides_that_every_launch_passes() {
    let of = |launches: &str| {
        let body = "out[threadIdx.x * m] = in[threadIdx.x];";
        let host = format!("void f(float* o, const float* i, int* c, int x) {{ {launches} }}");
        tells(&(kernel("", body) + &host), Code::UncoalescedAccess)
    };
    assert!(!of(
        "const int step = 1; k<<<9, 64>>>(o, i, c, 5, step, 3);"
    ));
    assert!(!of(
        "k<<<9, 64>>>(o, i, c, 5, 1, 3); k<<<7, 64>>>(o, i, c, 6, 1, 3);"
    ));
    assert!(of(
        "k<<<9, 64>>>(o, i, c, 5, 1, 3); k<<<7, 64>>>(o, i, c, 5, 8, 3);"
    ));
    assert!(of(
        "k<<<9, 64>>>(o, i, c, 5, 1, 3); k<<<7, 64>>>(o, i, c, 5, x, 3);"
    ));
    assert!(of(
        "k<<<9, 64>>>(o, i, c, 5, 1, 3); cudaLaunchKernel((void*)k, 1, 64, nullptr, 0, 0);"
    ));
    assert!(of(
        "int step = 1; step += x; k<<<9, 64>>>(o, i, c, 5, step, 3);"
    ));
    assert!(of("k<<<9, 64>>>(o, i, c, 1, 16, 1);"));
}

#[test]
fn one_wide_access_for_what_every_round_takes() {
    let of = |access: &str| {
        let body = format!(
            "float s = 0; for (int j = 0; j < 4; ++j) {{ if (j != m) s += n; {access} }} out[threadIdx.x] = s;"
        );
        let told = messages(&kernel("", &body), Dialect::Cuda);
        told.iter()
            .any(|(_, text)| text.contains("one vector access"))
    };
    assert!(of("s += in[threadIdx.x * 4 + j];"));
    assert!(!of("if (s > 7) s += in[threadIdx.x * 4 + j];"));
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
        let told = messages(&text, Dialect::Hlsl);
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
            && messages(&kernel("", &body), Dialect::Cuda)
                .iter()
                .any(|(_, text)| text.contains("only a part"))
    };
    assert!(!of("return"));
    assert!(of("__syncthreads(); return"));
}

#[test]
fn counters_behind_a_loop_that_may_end_earlier() {
    let of = |used: &str| {
        let body = format!(
            "float v[4]; int r = 0; int c = threadIdx.x;
             while (c < n && r < 4) {{ v[r] = in[c]; c += 128; r++; }}
             {used}"
        );
        tells(&kernel("", &body), Code::LocalArrayDynamicIndex)
    };
    assert!(!of("out[threadIdx.x] = v[2];"));
    assert!(of("out[threadIdx.x] = v[r - 1];"));
    assert!(of("for (int i = 0; i < r; ++i) out[i] = v[i];"));
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
fn what_functions_out_of_sight_refer_to_is_no_array() {
    let of = |base: &str| {
        let body = format!(
            "float own[4] = {{in[0], in[1], in[2], in[n]}};
             auto* p = {base}; out[threadIdx.x] = p[m] + own[1];"
        );
        let text = kernel("template <class A>", &body).replace("float* out", "A a, float* out");
        tells(&text, Code::LocalArrayDynamicIndex)
    };
    assert!(!of("&a[blockIdx.x][0][n]"));
    assert!(!of("&a.at(n)"));
    assert!(of("&own[0]"));
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

/// Most windows do not reach the ends of what they look at, and the others are shorter.
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

/// One lane of those that vote for something has none below.
#[test]
fn leaders_among_those_that_vote() {
    let of = |vote: &str, body: &str| {
        let body = format!(
            "int lane = threadIdx.x & 31; bool p = in[threadIdx.x] > 3; int x = 0;
             unsigned all = __ballot_sync(0xffffffff, {vote}), below = all & ((1u << lane) - 1);
             {body} out[threadIdx.x] = x;"
        );
        tells(&kernel("", &body), Code::AtomicSameAddress)
    };
    assert!(!of(
        "true",
        "if (__popc(below) == 0) x = atomicMax(count, n + lane);"
    ));
    assert!(!of(
        "p",
        "if (p) { if (__popc(below) == 0) x = atomicMax(count, n + lane); }"
    ));
    assert!(!of(
        "p",
        "if (p && __popc(below) == m) x = atomicMax(count, n + lane);"
    ));
    assert!(of(
        "p",
        "if (__popc(below) == 0) x = atomicMax(count, n + lane);"
    ));
    assert!(of(
        "p",
        "if (!p) { if (__popc(below) == 0) x = atomicMax(count, n + lane); }"
    ));
    assert!(of(
        "true",
        "if (__popc(below) != 0) x = atomicMax(count, n + lane);"
    ));
    assert!(of(
        "true",
        "if (__popc(all) == 32) x = atomicMax(count, n + lane);"
    ));
    let active = "below = __activemask() & ((1u << lane) - 1);";
    assert!(!of(
        "p",
        &format!("{active} if (__popc(below) == 0) x = atomicMax(count, n + lane);")
    ));
}

/// What goes wrong is counted, when nothing does, by nobody; what a type that is not known holds is not judged.
#[test]
fn counters_of_failures_and_of_unknown_types() {
    let of = |ty: &str, name: &str| {
        let text = format!(
            "__global__ void k({ty}* {name}, const float* in) {{ if (in[threadIdx.x] > 3) atomicMax({name}, threadIdx.x); }}"
        );
        tells(&text, Code::AtomicSameAddress)
    };
    assert!(of("unsigned long long", "most"));
    for name in ["error_count", "numErrors", "d_overflow", "err", "failed"] {
        assert!(!of("unsigned long long", name), "{name}");
    }
    assert!(of("unsigned long long", "interrupts"));
    assert!(!of("COUNTER", "most"));
}

/// Rows that are longer by one element, where that helps.
#[test]
fn rows_that_one_element_more_leaves_in_the_same_banks() {
    let of = |index: &str| {
        let body = format!(
            "__shared__ float rows[64 * 64]; int t = threadIdx.x;
             for (int i = t; i < 64 * 64; i += blockDim.x) rows[i] = in[i];
             __syncthreads(); out[t] = rows[{index}];"
        );
        let told = messages(&kernel("", &body), Dialect::Cuda).into_iter();
        let mut told = told.filter(|(code, _)| *code == Code::BankConflict);
        told.next().map_or(String::new(), |(_, message)| message)
    };
    assert!(of("t % 32 * 64 + t / 32").ends_with("pad the row by one element"));
    let more = "pad the row by more than one element, or permute its elements";
    assert!(of("t % 4 * 128 + t % 32 / 4").ends_with(more));
    // A lane steps two rows of 16: with 17 it is two elements on.
    assert!(of("t % 8 * 2 + t % 32 / 8 * 32").ends_with(more));
}

/// As many lanes as the group has warps may be few.
#[test]
fn conflicts_of_some_lanes() {
    let of = |condition: &str| {
        let body = format!(
            "__shared__ float rows[2048]; int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
             for (int i = t; i < 2048; i += blockDim.x) rows[i] = in[i];
             __syncthreads(); if ({condition}) out[t] = rows[t * 2];"
        );
        let told = messages(&kernel("", &body), Dialect::Cuda).into_iter();
        let mut told = told.filter(|(code, _)| *code == Code::BankConflict);
        told.next()
            .is_some_and(|(_, message)| message.contains("takes up to 2"))
    };
    assert!(of("t < blockDim.x / 32"));
    assert!(of("t % m == 0"));
    assert!(!of("i < n"));
    assert!(!of("n > 3"));
}

#[test]
fn wide_elements_of_a_lane_s_own_row() {
    let of = |ty: &str, step: &str| {
        let body = format!(
            "const {ty}* row = reinterpret_cast<const {ty}*>(in + threadIdx.x * 256); float s = 0;
             for (int j = 0; j < 8; ++j) {{ {ty} v = row[{step}]; s += v.x + v.y; }} out[threadIdx.x] = s;"
        );
        tells(&kernel("", &body), Code::UncoalescedAccess)
    };
    assert!(!of("float4", "j"));
    assert!(of("float4", "j * 2"));
    assert!(of("float2", "j"));
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

#[test]
fn neighbours_in_shared_memory_become_wide_accesses() {
    let of = |row: u32, words: u32| {
        let stores: String = (0..words)
            .map(|j| format!("s[threadIdx.x * {row} + {j}] = in[threadIdx.x + {j} * n];"))
            .collect();
        let body =
            format!("__shared__ float s[64 * {row}]; {stores} __syncthreads(); out[n] = s[m];");
        let told = messages(&kernel("", &body), Dialect::Cuda).into_iter();
        let conflicts = told.filter(|(code, _)| *code == Code::BankConflict);
        conflicts.map(|(_, message)| message).collect::<Vec<_>>()
    };
    // Two stores of 16 bytes: eight lanes 32 bytes apart.
    assert!(of(8, 8).is_empty(), "{:?}", of(8, 8));
    assert!(of(8, 2).iter().all(|told| told.contains("8-way")) && !of(8, 2).is_empty());
    assert!(
        of(32, 4)
            .iter()
            .all(|told| told.contains("8-way") && told.ends_with("by 16 bytes"))
    );
    assert!(!of(32, 4).is_empty());
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

#[test]
fn types_that_an_instantiation_chooses() {
    let of = |head: &str, condition: &str| {
        let body = format!(
            "extern __shared__ float raw[]; constexpr bool WIDE = true;
             using V = std::conditional_t<{condition}, float2, float4>;
             V v = reinterpret_cast<const V*>(raw + threadIdx.x * 48)[0]; out[threadIdx.x] = v.x + v.y;"
        );
        let told = messages(&kernel(head, &body), Dialect::Cuda).into_iter();
        let conflict = told.filter(|(code, _)| *code == Code::BankConflict);
        conflict.map(|(_, message)| message).collect::<String>()
    };
    assert!(of("template <int D>", "(D <= 1)").is_empty());
    assert!(of("template <int D>", "(D <= 1) && !WIDE").contains("4-way"));
    assert!(of("template <int D>", "(D <= 1) || WIDE").contains("8-way"));
}

#[test]
fn large_parameters_that_are_copied_for_somebody() {
    let of = |more: &str| {
        let text = format!(
            "struct P {{ const float* x[128]; long s[128]; long* y; int n; }};
             template <class C> __global__ void k(P p, float* out) {{
               float t = 0;
               for (int k = 0; k < p.n; ++k)
                 for (long i = threadIdx.x; i < p.s[k]; i += blockDim.x) t += p.x[k][i];
               C::add(p.y, t); {more} out[threadIdx.x] = t;
             }}"
        );
        tells(&text, Code::LocalArrayDynamicIndex)
    };
    assert!(!of(""));
    assert!(of(
        "for (int k = 0; k < p.n; ++k) p.s[k] = k; for (int k = 0; k < p.n; ++k) t += p.s[k];"
    ));
}

/// What a function out of sight is given by reference stays what it was, argument by argument.
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
fn one_lane_by_the_number_in_the_grid() {
    let counted = |lane: &str| {
        let body = format!(
            "unsigned id = blockIdx.x * blockDim.x + threadIdx.x;
             if ({lane} == 0) out[id] = atomicExch(count, n);"
        );
        tells(&kernel("", &body), Code::AtomicSameAddress)
    };
    assert!(!counted("id % 32"));
    assert!(!counted("(id & 31)"));
    assert!(counted("id / 32 % 2"));
}

/// One division is told once, where it stands.
#[test]
fn one_expression_is_told_once() {
    let told = |body: &str| {
        let found = messages(&kernel("", body), Dialect::Cuda);
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

/// Several rows may share a warp, as in blocks of `dims` by `128 / dims` threads.
#[test]
fn strides_of_blocks_with_rows_tell_what_they_assume() {
    let told = |block: &str| {
        let body =
            "unsigned i = blockIdx.x * blockDim.y + threadIdx.y; out[i + threadIdx.x * n] = 1;";
        let host = format!(
            "void f(float* o, const float* i, int* c, int d) {{ dim3 block = {{{block}}}; k<<<9, block>>>(o, i, c, d, 2, 3); }}"
        );
        let all = messages(&(kernel("", body) + &host), Dialect::Cuda);
        let mut strides = all
            .into_iter()
            .filter(|(code, _)| *code == Code::UncoalescedAccess);
        strides
            .next()
            .map(|(_, message)| message.contains("rows of the block are whole warps"))
    };
    assert_eq!(told("d, (128 + d - 1) / d, 1"), Some(true));
    assert_eq!(told("32, 4, 1"), Some(false));
    assert_eq!(told("d, 1, 1"), Some(false));
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

/// A loop behind a macro of a header that is not there: what stands in its head may be what it runs over.
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

/// Four neighbours of a row in shared memory become one access of 16 bytes, whose quarter warps have no conflict.
#[test]
fn neighbours_in_wide_rows_are_read_at_once() {
    let conflict = |row: u32, words: u32| {
        let body = format!(
            "__shared__ __align__(16) float tile[32][{row}]; int t = threadIdx.y * 8 + threadIdx.x; float s = 0;
             for (int i = t; i < 32 * {row}; i += 256) tile[i / {row}][i % {row}] = in[i];
             __syncthreads();
             for (int j = 0; j < {words}; ++j) s += tile[threadIdx.y][threadIdx.x * 4 + j];
             out[t] = s;"
        );
        let host =
            "void f(float* o, const float* i, int* c) { k<<<9, dim3(8, 32)>>>(o, i, c, 1, 2, 3); }";
        tells(&(kernel("", &body) + host), Code::BankConflict)
    };
    assert!(!conflict(40, 4));
    assert!(conflict(40, 1));
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
        let told = messages(&text, Dialect::Cuda);
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

/// Of how many warps a part of the block consists, the instantiation tells.
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

/// Fields of one structure move together, whichever way leads to each.
#[test]
fn fields_that_branches_write() {
    let told = |body: &str| tells(&kernel("", body), Code::UncoalescedAccess);
    let index = "int i = blockIdx.x * blockDim.x + threadIdx.x;";
    assert!(!told(&format!(
        "{index} out[i * 5] = n; if (i < m) {{ for (int j = 0; j < 4; ++j) out[i * 5 + j + 1] = in[j]; }}"
    )));
    assert!(!told(&format!(
        "{index} if (i < n) {{ out[i * 4] = 1; out[i * 4 + 1] = 2; }} if (i > m) out[i * 4 + 3] = 7;"
    )));
    assert!(told(&format!(
        "{index} out[i * 5] = n; if (i < m) out[i * 5] = 2;"
    )));
    // In another loop they move again.
    assert!(told(&format!(
        "{index} for (int k = 0; k < n; ++k) out[i * 5 + k * p] = 1; for (int k = 0; k < n; ++k) {{ out[i * 5 + 1 + k * p] = 2; __syncthreads(); }}"
    )));
}

/// Twenty bytes apart, no address but some is a multiple of 16.
#[test]
fn wide_accesses_where_they_can_be_aligned() {
    let told = |stride: u32| {
        let body = format!(
            "int i = threadIdx.x; for (int j = 0; j < 4; ++j) out[i * {stride} + j] = in[j + m];"
        );
        let all = messages(&kernel("", &body), Dialect::Cuda);
        all.iter()
            .any(|(_, message)| message.contains("one vector access"))
    };
    assert!(told(4));
    assert!(!told(5));
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
        let all = messages(&kernel("", &body), Dialect::Cuda);
        all.iter()
            .any(|(_, message)| message.contains("one vector access"))
    };
    assert!(told("i * 4 + j"));
    assert!(!told("i * 8 + j * 2"));
    assert!(!told("i * 16 + j + r * 4"));
}

/// What lies in private memory is known where something that differs between lanes is written to it.
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

/// An array as long as an instantiation wants may be short enough for registers.
#[test]
fn arrays_of_an_open_length_may_be_chosen_from() {
    let told = |length: &str| {
        let text = format!(
            "template <int AXES> __global__ void k(const int* end, int* out, int n) {{
               int at[{length}]; for (int i = 0; i < {length}; ++i) at[i] = end[i + n];
               for (int r = 0; r < n; ++r) at[end[r]] += r;
               out[threadIdx.x] = at[n];
             }}"
        );
        let all = messages(&text, Dialect::Cuda);
        let mut arrays = all
            .into_iter()
            .filter(|(code, _)| *code == Code::LocalArrayDynamicIndex);
        arrays
            .next()
            .map(|(_, message)| message.contains("selects"))
    };
    assert_eq!(told("AXES"), Some(true));
    assert_eq!(told("12"), Some(false));
}

/// Who calls a function tells how many lanes come to its atomic operation.
#[test]
fn counters_in_functions_are_their_callers() {
    let told = |guard: &str| {
        let text = format!(
            "RWBuffer<uint> counter : register(u0); RWBuffer<uint> list : register(u1);
             void count(uint value, out uint first) {{ InterlockedAdd(counter[0], value, first); }}
             [numthreads(64, 1, 1)] void main(uint i : SV_GroupIndex) {{
               uint first = 0; bool leads = WaveIsFirstLane();
               if ({guard}) count(2, first);
               list[i] = first;
             }}"
        );
        messages(&text, Dialect::Hlsl)
            .iter()
            .any(|(code, _)| *code == Code::AtomicSameAddress)
    };
    assert!(!told("leads"));
    assert!(!told("i == 0"));
    assert!(told("i != 7"));
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

/// A queue that a tile of open width works off, one lane at a time.
#[test]
fn lanes_that_take_turns_in_a_tile_of_open_width() {
    let told = |condition: &str| {
        let text = format!(
            "template <int W> __global__ void k(const int* keys, int* counter, int* out, int n) {{
               auto tile = cooperative_groups::tiled_partition<W>(cooperative_groups::this_thread_block());
               int lane = tile.thread_rank(), i = blockIdx.x * blockDim.x + threadIdx.x;
               unsigned active = tile.ballot(i < n);
               while (active) {{
                 int next = __ffs(active) - 1;
                 if ({condition}) out[i] = atomicExch(counter, keys[i]);
                 active &= active - 1;
               }}
             }}"
        );
        tells(&text, Code::AtomicSameAddress)
    };
    assert!(!told("lane == next"));
    assert!(told("lane != next"));
    assert!(told("keys[i] == next"));
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

/// What threads have when they leave a loop in one round is as uniform as it was in it.
#[test]
fn counts_behind_whole_rounds() {
    let barrier = |end: &str| {
        let body = format!(
            "int begun = 0, end = {end};
             for (int i = threadIdx.x; i < end; i += blockDim.x) begun += __syncthreads_count(i < n && in[i] > 0);
             for (int j = 0; j < n; ++j) {{ if (begun > m) break; __syncthreads(); out[j] = begun; }}
             __syncthreads(); out[threadIdx.x] += 1;"
        );
        let found = messages(&kernel("", &body), Dialect::Cuda);
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

/// What a function leaves in an array of the thread's own may be the same in all threads.
#[test]
fn barriers_behind_what_private_memory_holds() {
    let told = |value: &str| {
        let body = format!(
            "__shared__ int shared[8]; int counts[4];
             for (int i = 0; i < 4; ++i) counts[i] = {value};
             for (int r = 0; r < n; ++r) {{ if (counts[r & 3] == m) break; __syncthreads(); out[r] = shared[r & 7]; shared[r & 7] = r; }}
             __syncthreads(); out[threadIdx.x] = 1;"
        );
        let found = messages(&kernel("", &body), Dialect::Cuda);
        found
            .iter()
            .any(|(code, _)| matches!(code, Code::DivergentBarrier | Code::BarrierInDivergentLoop))
    };
    assert!(!told("shared[i]"));
    assert!(told("count[threadIdx.x + i]"));
}

/// A stride that nobody knows is told once an array.
#[test]
fn strides_that_are_open_are_told_once() {
    let body = "int i = threadIdx.x; out[i * n] = 1; out[i * n + m] = 2; out[i * n + 2 * m] = in[i * n] + in[i * n + m];";
    let found = messages(&kernel("", body), Dialect::Cuda);
    let strides = found
        .iter()
        .filter(|(code, _)| *code == Code::UncoalescedAccess);
    assert_eq!(strides.count(), 2);
}

/// Memory that functions share is held apart by its components, and what a block stores, it loads again.
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
        let all = messages(&text, Dialect::Hlsl);
        all.iter().any(|(code, _)| *code == Code::DivergentLoop)
    };
    assert!(!told("x", "z"));
    assert!(!told("y", "w"));
    assert!(told("y", "z"));
    assert!(told("x", "y"));
}

/// What an exchange expected and found, one lane has exchanged: it alone goes on there.
#[test]
fn the_lane_whose_exchange_was_made() {
    let told = |condition: &str| {
        let body = format!(
            "int old = *count, mine = count[threadIdx.x + 8];
             while (mine > old) {{
                 int found = atomicCAS(count, old, mine);
                 if ({condition}) {{ atomicExch(count + 1, mine); break; }}
                 old = found;
             }}"
        );
        let all = messages(&kernel("", &body), Dialect::Cuda);
        let contended = all.iter();
        contended
            .filter(|(code, _)| *code == Code::AtomicSameAddress)
            .count()
    };
    // The exchange that compares is contended in any case.
    assert_eq!(told("found == old"), 1);
    assert_eq!(told("!(found != old)"), 1);
    assert_eq!(told("found == mine"), 2);
}

/// What a loop accesses at known indices, too, a compiler keeps in registers.
#[test]
fn arrays_that_a_loop_also_names_are_not_said_to_be_in_memory() {
    let of = |elements: u32, least: &str| {
        let body = format!(
            "float f[{elements}]; for (int i = 0; i < {elements}; ++i) f[i] = in[i];
             for (int i = 0; i < n; ++i) {{
                 int m = (int)in[i + 64]; {least}
                 f[m] = 2.0f;
             }}
             for (int i = 0; i < {elements}; ++i) out[i] = f[i];"
        );
        let told = messages(&kernel("", &body), Dialect::Cuda).into_iter();
        let mut told = told.filter(|(code, _)| *code == Code::LocalArrayDynamicIndex);
        told.next().map_or(String::new(), |(_, message)| message)
    };
    let named =
        |elements: u32| format!("for (int j = 0; j < {elements}; ++j) if (f[j] < 1.0f) m = j;");
    assert!(of(8, &named(8)).contains("chain of selects"));
    assert!(of(8, "").contains("live in local memory, not in registers"));
    assert!(of(64, &named(64)).contains("live in local memory, not in registers"));
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

#[test]
fn a_stride_that_a_condition_makes_nought_or_one() {
    let of = |stride: &str| {
        let text = format!(
            "__global__ void k(const int* in, long stride, long n, int* out) {{
                 int t = blockIdx.x * blockDim.x + threadIdx.x;
                 if (t < n) {{ int at = t * stride; out[t] = in[at]; }} }}
             void f(const int* in, long rows, long columns, int* out) {{
                 const long stride = {stride};
                 k<<<rows, 256>>>(in, stride, rows, out); }}"
        );
        tells(&text, Code::UncoalescedAccess)
    };
    assert!(!of("(columns == 1 && rows != 1) ? 0 : 1"));
    assert!(!of("columns == 1 ? 1 : 0"));
    assert!(of("columns == 1 ? 1 : 8"));
}
