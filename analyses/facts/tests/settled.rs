//! Which barriers may depend on what was read from shared memory: those for which no thread can overtake the reading
//! with a write. Each kernel's barriers, in order, as seen over the workgroup.

extern crate lockstep_facts as facts;

use facts::{Options, analyze};
use ir::Language;
use ir::lower::c_family::{Environment, LowerOptions, UnitBodies, lower_item};
use std::sync::Arc;
use syntax::c_family::ast::ParsedItem;
use syntax::c_family::{Dialect, lexer::lex, parse_unit};
use syntax::preprocess::{IncludeResolver, IncludedFile, PreprocessOptions, preprocess};

struct Nothing;

impl IncludeResolver for Nothing {
    fn resolve(&mut self, _from: &str, _spec: &str, _angled: bool) -> Option<IncludedFile> {
        None
    }
}

/// For each barrier of the only kernel whether threads may miss it.
fn missed(text: &str) -> Vec<bool> {
    let main = IncludedFile {
        path: Arc::from("kernel.cu"),
        tokens: Arc::new(lex(text)),
    };
    let unit = preprocess(&main, &PreprocessOptions::new(Dialect::Cuda), &mut Nothing);
    let items: Vec<Arc<ParsedItem>> = parse_unit(&unit, Dialect::Cuda)
        .into_iter()
        .map(|(_, _, item)| Arc::new(item))
        .collect();
    let environment = Environment::new(&items);
    let bodies = UnitBodies(items.iter().map(|i| (i.key.clone(), i.clone())).collect());
    let mut found = None;
    for item in &items {
        let options = LowerOptions::new(Language::Cuda);
        for lowered in lower_item(&environment, &bodies, &item.key, &options) {
            if !lowered.module.functions[0].layout.is_empty() {
                found = Some(analyze(0, &lowered.module, &Options::default()));
            }
        }
    }
    let barriers = found.expect("there is a kernel").barriers;
    barriers.iter().map(|b| b.divergent.is_some()).collect()
}

#[test]
fn complete_counts() {
    let text = "__global__ void f(int* out, int n) {
        __shared__ int found;
        if (threadIdx.x == 0) found = 0;
        __syncthreads();
        if (threadIdx.x < n) atomicAdd(&found, 1);
        __syncthreads();
        if (found > 3) __syncthreads();
        out[threadIdx.x] = found;
    }";
    assert_eq!(missed(text), [false, false, false]);
}

#[test]
fn a_barrier_at_the_back_edge_separates_rounds() {
    let rounds = |last: &str| {
        format!(
            "__global__ void f(int* out, int n) {{
                __shared__ int open;
                for (int round = 0; round < n; round++) {{
                    if (threadIdx.x == 0) open = out[round];
                    __syncthreads();
                    if (open > 0) __syncthreads();
                    out[threadIdx.x] += open;
                    {last}
                }}
            }}"
        )
    };
    assert_eq!(missed(&rounds("__syncthreads();")), [false; 3]);
    assert_eq!(missed(&rounds("")), [false, true]);
}

#[test]
fn threads_that_ended_wait_nowhere() {
    let text = "__global__ void f(int* out, int n) {
        __shared__ int found;
        if (threadIdx.x == 0) found = 0;
        __syncthreads();
        if (threadIdx.x >= n) return;
        __syncthreads();
        if (found > 3) __syncthreads();
        out[threadIdx.x] = found;
    }";
    assert_eq!(missed(text), [false, true, true]);
}

#[test]
fn writes_that_are_not_seen() {
    let reading = |before: &str, after: &str| {
        format!(
            "__device__ void unknown(int*);
            __global__ void f(int* out, int n) {{
                {before}
                __syncthreads();
                if (found[0] > 3) __syncthreads();
                out[threadIdx.x] = found[0];
                {after}
            }}"
        )
    };
    let fixed = "__shared__ int found[4];";
    assert_eq!(missed(&reading(fixed, "")), [false, false]);
    let same = "extern __shared__ int found[]; extern __shared__ float sums[];";
    let alias = reading(same, "sums[threadIdx.x] = 1.0f;");
    assert_eq!(missed(&alias), [false, true]);
    assert_eq!(missed(&reading(fixed, "unknown(out);")), [false, true]);
    let asm = "asm volatile(\"bar.arrive 1, 64;\");";
    assert_eq!(missed(&reading(fixed, asm)), [false, true]);
    let pointer = "int* p = n > 3 ? found : found + 1; *p = n;";
    assert_eq!(missed(&reading(fixed, pointer)), [false, true]);
    let volatile = "volatile __shared__ int found[4];";
    assert_eq!(missed(&reading(volatile, "")), [false, true]);
}
