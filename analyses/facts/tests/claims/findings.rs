//! Kernels on which findings must be silent, and their neighbours, on which they must not be: the same kernel
//! twice, with one word between them.

#[path = "findings/arrays.rs"]
mod arrays;
#[path = "findings/atomics.rs"]
mod atomics;
#[path = "findings/barriers.rs"]
mod barriers;
#[path = "findings/loops.rs"]
mod loops;
#[path = "findings/memory.rs"]
mod memory;
#[path = "findings/work.rs"]
mod work;

use super::source::functions;
use facts::{Code, FindingReason, analyze_module, diagnose};
use syntax::c_family::Dialect;

fn reasons(text: &str, dialect: Dialect) -> Vec<(Code, FindingReason)> {
    let mut all = Vec::new();
    for (module, own) in functions(text, dialect) {
        let facts = analyze_module(&module, &own.options);
        let told = diagnose(&module, &facts);
        all.extend(told.into_iter().map(|f| (f.code, f.reason)));
    }
    all
}

fn tells(text: &str, code: Code) -> bool {
    reasons(text, Dialect::Cuda).iter().any(|(c, _)| *c == code)
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
