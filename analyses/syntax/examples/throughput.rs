//! Times each stage of the front end: on a synthetic file of 10,000 lines, or on the files that are named.
//!
//! `cargo run --release -p lockstep-syntax --example throughput [FILE]...`
#![allow(clippy::disallowed_methods)] // An example may read files and the clock.

use lockstep_syntax::c_family::{Dialect, declared_type_names, item_names, lexer::lex, parse_item};
use lockstep_syntax::preprocess::{IncludedFile, NoIncludes, PreprocessOptions, preprocess};
use std::sync::Arc;
use std::time::Instant;

const KERNEL: &str = r#"
// Tiles the input through shared memory.
template <typename T, int TILE>
__global__ void __launch_bounds__(256) transpose_@(const T* __restrict__ in, T* __restrict__ out, int width, int height)
{
    __shared__ T tile[TILE][TILE + 1];
    int x = blockIdx.x * TILE + threadIdx.x;
    int y = blockIdx.y * TILE + threadIdx.y;
#pragma unroll
    for (int j = 0; j < TILE; j += ROWS) {
        if (x < width && y + j < height)
            tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];
    }
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x; // the transposed offset
    y = blockIdx.x * TILE + threadIdx.y;
    float sum = 0.0f, scale = MIN(1.0f, 0.5f * static_cast<float>(width));
    for (int j = 0; j < TILE; j += ROWS) {
        sum += __shfl_xor_sync(0xffffffffu, tile[threadIdx.x][threadIdx.y + j] * scale, 16);
        if (x < height && y + j < width) out[(y + j) * height + x] = sum > 1.5e-3f ? sum : -sum;
    }
}

"#;

fn synthetic() -> String {
    let mut text = String::from("#define ROWS 8\n#define MIN(a, b) ((a) < (b) ? (a) : (b))\n");
    let mut number = 0;
    while text.lines().count() < 10_000 {
        for _ in 0..50 {
            text.push_str(&KERNEL.replace('@', &number.to_string()));
            number += 1;
        }
    }
    text
}

fn main() {
    let named: Vec<String> = std::env::args().skip(1).collect();
    if named.is_empty() {
        measure("synthetic", &synthetic(), Dialect::Cuda);
    }
    for path in &named {
        let dialect = path
            .rsplit('.')
            .next()
            .and_then(Dialect::from_extension)
            .unwrap_or(Dialect::Cuda);
        match std::fs::read(path) {
            Ok(bytes) => measure(path, &String::from_utf8_lossy(&bytes), dialect),
            Err(error) => println!("{path}: {error}"),
        }
    }
}

/// The best of several runs, in milliseconds.
fn best<R>(mut work: impl FnMut() -> R) -> (R, f64) {
    let mut least = f64::MAX;
    let mut result = None;
    for _ in 0..9 {
        let start = Instant::now();
        let value = work();
        least = least.min(start.elapsed().as_secs_f64() * 1e3);
        result = Some(value);
    }
    match result {
        Some(value) => (value, least),
        None => unreachable!("the loop above runs"),
    }
}

fn measure(name: &str, text: &str, dialect: Dialect) {
    let (lexed, lexing) = best(|| lex(text));
    let tokens = lexed.tokens.len();
    let main = IncludedFile {
        path: Arc::from(name),
        tokens: Arc::new(lexed),
    };
    let options = PreprocessOptions::new(dialect);
    let (unit, preprocessing) = best(|| preprocess(&main, &options, &mut NoIncludes));
    let (names, naming) = best(|| (declared_type_names(&unit.items), item_names(&unit.items)));
    let (parsed, parsing) = best(|| {
        unit.items
            .iter()
            .map(|item| parse_item(item, &names.0, dialect))
            .collect::<Vec<_>>()
    });
    println!(
        "{name}: {} lines, {tokens} tokens, {} items; lex {lexing:.2} ms ({:.0} MB/s), preprocess {preprocessing:.2} ms, names {naming:.2} ms, parse {parsing:.2} ms, together {:.2} ms",
        text.lines().count(),
        parsed.len(),
        text.len() as f64 / 1e3 / lexing,
        lexing + preprocessing + naming + parsing
    );
}
