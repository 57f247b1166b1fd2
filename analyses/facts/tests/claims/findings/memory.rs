//! Strides, sectors and banks.

use super::{kernel, reasons, tells};
use facts::{BankRemedy, Code, FindingReason};
use syntax::c_family::Dialect;

/// The ways of a bank conflict and its mend.
fn conflict(reason: &FindingReason) -> (u32, BankRemedy) {
    match reason {
        FindingReason::BankConflict { ways, remedy, .. } => (*ways, *remedy),
        other => panic!("{other:?}"),
    }
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
    let told = reasons(text, Dialect::Cuda);
    let [(Code::UncoalescedAccess, reason)] = &told[..] else {
        panic!("{told:?}");
    };
    assert!(
        matches!(reason, FindingReason::StrideUnknown { stride: Some(stride), .. } if stride.to_string() == "4*w"),
        "{reason:?}"
    );
}

#[test]
fn components_of_wide_elements_share_banks() {
    let of = |element: &str, component: &str| {
        let text = format!(
            "groupshared {element} tile[20][20]; RWTexture2D<float> to;
             [numthreads(8, 8, 1)] void main(uint2 t : SV_GroupThreadID) {{ to[t] = tile[t.y + 1][t.x + 1]{component}; }}"
        );
        let told = reasons(&text, Dialect::Hlsl);
        let mut conflicts = told.into_iter();
        let found = conflicts.find(|(code, _)| *code == Code::BankConflict);
        found.map(|(_, reason)| conflict(&reason))
    };
    assert_eq!(of("float4", ".w"), Some((4, BankRemedy::SplitComponents)));
    assert_eq!(of("float", ""), None);
}

#[test]
fn rows_of_wide_elements_stay_aligned() {
    let of = |ty: &str| {
        let body = format!(
            "__shared__ __align__(16) float raw[32 * 48];
             out[threadIdx.x] = reinterpret_cast<const {ty}*>(raw + threadIdx.x * 48)->x;
             *reinterpret_cast<{ty}*>(raw + threadIdx.x * 48) = {ty}();"
        );
        let told = reasons(&kernel("", &body), Dialect::Cuda).into_iter();
        let conflicts = told.filter(|(code, _)| *code == Code::BankConflict);
        conflicts
            .map(|(_, reason)| conflict(&reason))
            .collect::<Vec<_>>()
    };
    let pads = |ty: &str, by: u32| of(ty).iter().any(|told| told.1 == BankRemedy::PadBytes(by));
    assert!(pads("float4", 16), "{:?}", of("float4"));
    assert!(pads("float2", 8), "{:?}", of("float2"));
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
        let told = reasons(&kernel("", &body), Dialect::Cuda);
        told.iter()
            .any(|(_, reason)| matches!(reason, FindingReason::Narrow { .. }))
    };
    assert!(of("s += in[threadIdx.x * 4 + j];"));
    assert!(!of("if (s > 7) s += in[threadIdx.x * 4 + j];"));
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
        let told = reasons(&kernel("", &body), Dialect::Cuda).into_iter();
        let mut told = told.filter(|(code, _)| *code == Code::BankConflict);
        told.next().map(|(_, reason)| conflict(&reason).1)
    };
    assert_eq!(of("t % 32 * 64 + t / 32"), Some(BankRemedy::PadElement));
    let more = Some(BankRemedy::PadOrPermute);
    assert_eq!(of("t % 4 * 128 + t % 32 / 4"), more);
    // A lane steps two rows of 16: with 17 it is two elements on.
    assert_eq!(of("t % 8 * 2 + t % 32 / 8 * 32"), more);
}

/// The lanes may be few if there are as many as the group has warps.
#[test]
fn conflicts_of_some_lanes() {
    let of = |condition: &str| {
        let body = format!(
            "__shared__ float rows[2048]; int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
             for (int i = t; i < 2048; i += blockDim.x) rows[i] = in[i];
             __syncthreads(); if ({condition}) out[t] = rows[t * 2];"
        );
        let told = reasons(&kernel("", &body), Dialect::Cuda).into_iter();
        let mut told = told.filter(|(code, _)| *code == Code::BankConflict);
        told.next().is_some_and(|(_, reason)| {
            matches!(
                reason,
                FindingReason::BankConflict {
                    ways: 2,
                    at_most: true,
                    ..
                }
            )
        })
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
fn neighbours_in_shared_memory_become_wide_accesses() {
    let of = |row: u32, words: u32| {
        let stores: String = (0..words)
            .map(|j| format!("s[threadIdx.x * {row} + {j}] = in[threadIdx.x + {j} * n];"))
            .collect();
        let body =
            format!("__shared__ float s[64 * {row}]; {stores} __syncthreads(); out[n] = s[m];");
        let told = reasons(&kernel("", &body), Dialect::Cuda).into_iter();
        let conflicts = told.filter(|(code, _)| *code == Code::BankConflict);
        conflicts
            .map(|(_, reason)| conflict(&reason))
            .collect::<Vec<_>>()
    };
    // Two stores of 16 bytes: eight lanes 32 bytes apart.
    assert!(of(8, 8).is_empty(), "{:?}", of(8, 8));
    assert!(of(8, 2).iter().all(|told| told.0 == 8) && !of(8, 2).is_empty());
    let padded = (8, BankRemedy::PadBytes(16));
    assert!(of(32, 4).iter().all(|told| *told == padded));
    assert!(!of(32, 4).is_empty());
}

#[test]
fn types_that_an_instantiation_chooses() {
    let of = |head: &str, condition: &str| {
        let body = format!(
            "extern __shared__ float raw[]; constexpr bool WIDE = true;
             using V = std::conditional_t<{condition}, float2, float4>;
             V v = reinterpret_cast<const V*>(raw + threadIdx.x * 48)[0]; out[threadIdx.x] = v.x + v.y;"
        );
        let told = reasons(&kernel(head, &body), Dialect::Cuda).into_iter();
        let conflicts = told.filter(|(code, _)| *code == Code::BankConflict);
        conflicts
            .map(|(_, reason)| conflict(&reason).0)
            .collect::<Vec<_>>()
    };
    assert_eq!(of("template <int D>", "(D <= 1)"), []);
    assert!(of("template <int D>", "(D <= 1) && !WIDE").contains(&4));
    assert!(of("template <int D>", "(D <= 1) || WIDE").contains(&8));
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
        let all = reasons(&(kernel("", body) + &host), Dialect::Cuda);
        let mut strides = all
            .into_iter()
            .filter(|(code, _)| *code == Code::UncoalescedAccess);
        strides.next().map(|(_, reason)| match reason {
            FindingReason::Narrow { access, .. }
            | FindingReason::Strided { access, .. }
            | FindingReason::Scattered { access, .. }
            | FindingReason::StrideUnknown { access, .. } => access.whole_rows,
            other => panic!("{other:?}"),
        })
    };
    assert_eq!(told("d, (128 + d - 1) / d, 1"), Some(true));
    assert_eq!(told("32, 4, 1"), Some(false));
    assert_eq!(told("d, 1, 1"), Some(false));
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
        let all = reasons(&kernel("", &body), Dialect::Cuda);
        all.iter()
            .any(|(_, reason)| matches!(reason, FindingReason::Narrow { .. }))
    };
    assert!(told(4));
    assert!(!told(5));
}

/// An unknown stride is reported once per array.
#[test]
fn strides_that_are_open_are_told_once() {
    let body = "int i = threadIdx.x; out[i * n] = 1; out[i * n + m] = 2; out[i * n + 2 * m] = in[i * n] + in[i * n + m];";
    let found = reasons(&kernel("", body), Dialect::Cuda);
    let strides = found
        .iter()
        .filter(|(code, _)| *code == Code::UncoalescedAccess);
    assert_eq!(strides.count(), 2);
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
