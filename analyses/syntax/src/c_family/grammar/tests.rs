//! One construct a test, as the dump shows it.

use crate::c_family::{Dialect, dump, parse_text};

fn cuda(text: &str) -> String {
    shown(text, Dialect::Cuda)
}

fn hlsl(text: &str) -> String {
    shown(text, Dialect::Hlsl)
}

fn shown(text: &str, dialect: Dialect) -> String {
    let items = parse_text(text, dialect);
    let mut lines = Vec::new();
    for item in &items {
        for problem in &item.problems {
            lines.push(format!("! {}", problem.message));
        }
        lines.push(dump::item(item));
    }
    lines.join("\n")
}

#[test]
fn a_kernel() {
    assert_eq!(
        cuda(
            "__global__ void __launch_bounds__(256, 2) k(float* __restrict__ out, const int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) out[i] = 2.0f; }"
        ),
        "(function __global__ @launch_bounds(256 2) void k(restrict (* float) out, const int n) \
         {(let i int = (+ (* (. blockIdx x) (. blockDim x)) (. threadIdx x))) (if (< i n) (= (index out i) 2.0f))})"
    );
}

#[test]
fn an_entry_point() {
    assert_eq!(
        hlsl(
            "[numthreads(8, 8, 1)] void main(uint3 id : SV_DispatchThreadID) { Out[id.xy] = In.Load(int3(id.xy, 0)); }"
        ),
        "(function @numthreads(8 8 1) void main(uint3 id :SV_DispatchThreadID) \
         {(= (index Out (. id xy)) (call (. In Load) (construct int3 (. id xy) 0)))})"
    );
}
