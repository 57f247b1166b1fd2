//! Arrays in local memory and among registers.

use super::{kernel, reasons, tells};
use facts::{ArrayPlace, Code, FindingReason};
use syntax::c_family::Dialect;

fn place(reason: &FindingReason) -> ArrayPlace {
    match reason {
        FindingReason::ArrayIndexed { place, .. } => *place,
        other => panic!("{other:?}"),
    }
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

/// The places of arrays agree with stack frames of NVIDIA's assembler (13.5, sm_80 to sm_100).
#[test]
fn arrays_in_local_memory_and_among_registers() {
    let of = |size: u32, body: &str| {
        let body = format!(
            "float a[{size}]; for (int i = 0; i < {size}; ++i) a[i] = in[i * m];
             float s = 0; {body} out[threadIdx.x] = s;"
        );
        let told = reasons(&kernel("", &body), Dialect::Cuda).into_iter();
        let arrays = told.filter(|(code, _)| *code == Code::LocalArrayDynamicIndex);
        arrays.map(|(_, reason)| place(&reason)).collect::<Vec<_>>()
    };
    let in_memory = |size, body| of(size, body).last() == Some(&ArrayPlace::LocalMemory);
    let selects = |size, body| of(size, body).contains(&ArrayPlace::Selects);
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
    let told = reasons(&kernel("", body), Dialect::Cuda);
    let local = |(code, _): &&(Code, FindingReason)| *code == Code::LocalArrayDynamicIndex;
    assert!(told.iter().find(local).is_none(), "{told:?}");
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
        let all = reasons(&text, Dialect::Cuda);
        let mut arrays = all
            .into_iter()
            .filter(|(code, _)| *code == Code::LocalArrayDynamicIndex);
        arrays
            .next()
            .map(|(_, reason)| place(&reason) == ArrayPlace::Selects)
    };
    assert_eq!(told("AXES"), Some(true));
    assert_eq!(told("12"), Some(false));
}

/// A compiler also keeps in registers the elements that a loop accesses at known indices.
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
        let told = reasons(&kernel("", &body), Dialect::Cuda).into_iter();
        let mut told = told.filter(|(code, _)| *code == Code::LocalArrayDynamicIndex);
        told.next().map(|(_, reason)| place(&reason))
    };
    let named =
        |elements: u32| format!("for (int j = 0; j < {elements}; ++j) if (f[j] < 1.0f) m = j;");
    assert_eq!(of(8, &named(8)), Some(ArrayPlace::Selects));
    assert_eq!(of(8, ""), Some(ArrayPlace::LocalMemory));
    assert_eq!(of(64, &named(64)), Some(ArrayPlace::LocalMemory));
}
