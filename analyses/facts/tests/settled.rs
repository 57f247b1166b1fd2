//! The barriers that may depend on values read from shared memory: those for which no thread can overtake the
//! reading with a write. Each kernel's barriers, in order, as seen over the workgroup.

extern crate lockstep_facts as facts;

use facts::{Options, analyze};
use ir::lower::c_family::{Environment, LowerOptions, UnitBodies, lower_item};
use ir::{Language, Module};
use oracle::interp::{Argument, Buffer, Launch, run};
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

/// Returns for each barrier of the only kernel whether threads may miss it.
fn missed(text: &str) -> Vec<bool> {
    let found = analyze(0, &kernel(text), &Options::default());
    let barriers = found.barriers.iter();
    barriers.map(|b| b.divergent.is_some()).collect()
}

fn kernel(text: &str) -> Module {
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
                found = Some(lowered.module);
            }
        }
    }
    found.expect("there is a kernel")
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

/// A thread goes on behind its arrival while others still write; behind its waiting others write again
/// already.
#[test]
fn arriving_is_not_waiting() {
    let reading = |arrive: &str, wait: &str| {
        format!(
            "#include <cooperative_groups.h>
            #include <cuda/barrier>
            __global__ void f(int* out, int n) {{
                __shared__ int found;
                __shared__ cuda::barrier<cuda::thread_scope_block> bar;
                cooperative_groups::thread_block block = cooperative_groups::this_thread_block();
                if (threadIdx.x == 0) found = n;
                auto token = {arrive};
                int early = found;
                {wait};
                int late = found;
                if (early > 3) __syncthreads();
                if (late > 3) __syncthreads();
                out[threadIdx.x] = late;
            }}"
        )
    };
    let group = reading(
        "block.barrier_arrive()",
        "block.barrier_wait(std::move(token))",
    );
    assert_eq!(missed(&group), [false, true, true]);
    let object = reading("bar.arrive()", "bar.wait(std::move(token))");
    assert_eq!(missed(&object), [false, true, true]);
    let both = reading("0; bar.arrive_and_wait()", "block.sync()");
    assert_eq!(missed(&both), [false, false, true, true]);
}

/// Other blocks of the cluster write to this one's memory, whenever they like.
#[test]
fn memory_of_a_cluster_is_not_settled() {
    let with = |rank: &str| {
        format!(
            "#include <cooperative_groups.h>
            __global__ void f(int* out, int n) {{
                __shared__ int found[4];
                auto cluster = cooperative_groups::this_cluster();
                if (threadIdx.x == 0) found[0] = n;
                cluster.sync();
                {rank}
                cluster.sync();
                if (found[0] > 3) __syncthreads();
                out[threadIdx.x] = found[0];
            }}"
        )
    };
    assert_eq!(missed(&with("")), [false; 3]);
    let mapped = "int* other = cluster.map_shared_rank(found, n); *other = threadIdx.x;";
    assert_eq!(missed(&with(mapped)), [false, false, true]);
    let read = "if (*cluster.map_shared_rank(found, n) > 3) __syncthreads();";
    assert_eq!(missed(&with(read)), [false, true, false, true]);
}

/// Copies that complete later write to shared memory behind barriers, too.
#[test]
fn copies_in_flight_write_later() {
    let text = "#include <cuda/pipeline>
    __global__ void f(int* out, const int* in) {
        __shared__ int found[32];
        auto pipe = cuda::make_pipeline();
        pipe.producer_acquire();
        cuda::memcpy_async(&found[threadIdx.x], &in[threadIdx.x], sizeof(int), pipe);
        pipe.producer_commit();
        __syncthreads();
        if (found[0] > 3) __syncthreads();
        pipe.consumer_wait();
        out[threadIdx.x] = found[0];
        pipe.consumer_release();
    }";
    assert_eq!(missed(text), [false, true]);
}

/// Lanes that leave a loop one after the other read values that those that stay have written meanwhile.
#[test]
fn reads_on_the_way_out_belong_to_the_iteration() {
    let text = "__global__ void f(int* out, const int* wanted) {
        __shared__ int turn;
        turn = 0;
        __syncthreads();
        int step = 0;
        for (;;) {
            if (step >= wanted[threadIdx.x]) { out[threadIdx.x] = turn; LEAVE; }
            step++;
            turn = step;
        }
    }";
    for leave in ["break", "return"] {
        let module = kernel(&text.replace("LEAVE", leave));
        let mut launch = Launch::new(8);
        let words = |words: [u32; 8]| words.iter().flat_map(|w| w.to_le_bytes()).collect();
        launch.buffers = vec![
            Buffer::global(words([9; 8])),
            Buffer::global(words([3, 1, 0, 2, 3, 1, 0, 2])),
        ];
        launch.parameters = [0, 1]
            .map(|buffer| Argument::Pointer { buffer, offset: 0 })
            .to_vec();
        let mut read = |reverse: bool| {
            launch.reverse_groups = reverse;
            run(&module, &launch).buffers[0].bytes.clone()
        };
        // One group of lanes first, or the other.
        let (expected, last): (Vec<u8>, Vec<u8>) = (words([3, 1, 0, 2, 3, 1, 0, 2]), words([3; 8]));
        let mut seen = [read(false), read(true)];
        seen.sort();
        assert_eq!(seen, [expected, last], "{leave}");
    }
}
