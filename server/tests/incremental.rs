//! The output after any sequence of edits is that of a fresh database on the same text: random edits of a
//! file and of the header that it includes, in every language, with sweeps of kept data between them.

use lockstep_server::db::{Database, File, Source};
use lockstep_server::views;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::path::Path;
use std::sync::Arc;

const HEADER: &str = "#pragma once\n#define SCALE 3\n#define EACH(i, n) for (int i = 0; i < n; ++i)\n\
struct Pair { float a; int b; };\n__device__ inline int scaled(int v) { return v * SCALE; }\n";

const CUDA: &str = "#include \"scale.cuh\"\n\
__device__ int helper(int v, int w) { return v + w; }\n\
template <int N> __device__ float sum(const float* p) { float s = 0; EACH(i, N) s += p[i]; return s; }\n\
namespace inner {\n\
__global__ void first(int* out, const int* in, int n) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) {\n    out[i] = helper(in[i], n);\n  }\n}\n\
}\n\
__global__ void second(int* out) {\n  __shared__ int tile[64];\n  tile[threadIdx.x] = scaled(threadIdx.x);\n  if (threadIdx.x < 7) { __syncthreads(); }\n  out[2 * threadIdx.x] = tile[threadIdx.x * 2];\n}\n\
#if SCALE > 2\n__global__ void third(float* out, const float* in) { out[threadIdx.x] = sum<4>(in + threadIdx.x); }\n#else\n__global__ void third(float* out) { out[0] = 1; }\n#endif\n";

const HLSL: &str = "#include \"scale.cuh\"\n\
cbuffer Frame : register(b0) { float4 tint; uint count; };\n\
RWStructuredBuffer<float> result;\nTexture2D<float4> images[8];\nSamplerState point_sampler;\n\
float shade(float3 n, uint k) { return n.x * k; }\n\
[numthreads(64, 1, 1)]\nvoid main(uint3 id : SV_DispatchThreadID, uint lane : SV_GroupIndex) {\n  if (id.x < count) {\n    result[id.x * 2] = shade(float3(1, 2, 3), lane);\n  }\n  GroupMemoryBarrierWithGroupSync();\n}\n\
float4 pixel(float2 uv : TEXCOORD0, uint k : K) : SV_Target { return images[k].Sample(point_sampler, uv) * tint; }\n";

const PTX: &str = ".version 7.0\n.target sm_70\n.address_size 64\n\
.func (.reg .f32 r) twice(.reg .f32 x)\n{\n  add.f32 r, x, x;\n  ret;\n}\n\
.visible .entry kernel(.param .u64 out, .param .u32 n)\n{\n  .reg .pred p;\n  .reg .u32 i, m;\n  .reg .u64 a, b;\n  ld.param.u64 a, [out];\n  ld.param.u32 m, [n];\n  mov.u32 i, %tid.x;\n  setp.ge.u32 p, i, m;\n  @p bra DONE;\n  mul.wide.u32 b, i, 4;\n  add.u64 a, a, b;\n  st.global.u32 [a], i;\nDONE:\n  ret;\n}\n";

/// The pieces that an edit may put in.
const PIECES: &[&str] = &[
    "\n",
    "{",
    "}",
    "(",
    ")",
    ";",
    " ",
    "1",
    "+ 1",
    "threadIdx.x",
    "blockIdx.x",
    "if (n) ",
    "return;",
    "// c\n",
    "/*",
    "*/",
    "\"",
    "#define X helper\n",
    "\n#if 0\n",
    "\n#endif\n",
    "#undef SCALE\n",
    "int q = 3;",
    "__syncthreads();",
    "__device__ int helper(int v) { return v; }\n",
    "__global__ void first(int* o) { o[0] = 1; }\n",
    "é😀",
    "\\\n",
    ",",
    "ret;\n",
    "@p ",
    "%laneid",
    "SV_GroupID",
    "#include \"scale.cuh\"\n",
    "namespace n {",
    "template <class T> ",
];

fn source(text: &str) -> Source {
    Source::Text {
        text: Arc::from(text),
        lossy: false,
    }
}

fn file_of(db: &mut Database, path: &str, text: &str) -> File {
    db.file_with_text(Path::new(path), source(text))
}

/// Everything that is shown, as text.
fn shown(db: &Database, file: File) -> String {
    let everything = syntax::Span::new(0, u32::MAX);
    let switches = file.settings(db).view(db).hints.clone();
    let diagnostics: Vec<String> = views::diagnostics::diagnostics(db, file)
        .iter()
        .map(|diagnostic| {
            let related: Vec<_> = diagnostic
                .related
                .iter()
                .map(|step| (step.file.path(db), step.span, &step.text))
                .collect();
            format!(
                "{} {:?} {} {:?} {} {related:?}",
                diagnostic.code,
                diagnostic.span,
                diagnostic.message,
                diagnostic.fix,
                diagnostic.item
            )
        })
        .collect();
    let report = views::report::report(db, file, None);
    format!(
        "{:#?}\n{:#?}\n{diagnostics:#?}\n{:#?}\n{:#?}\n{:#?}\n{report:#?}",
        views::hints::hints(db, file, everything, &switches),
        views::tokens::tokens(db, file, None),
        views::symbols::symbols(db, file),
        views::lens::lenses(db, file),
        views::folding::folds(db, file),
    )
}

fn boundary(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn edited(random: &mut StdRng, text: &str, original: &str) -> String {
    let at = boundary(text, random.random_range(0..=text.len()));
    let piece = PIECES[random.random_range(0..PIECES.len())];
    let word_end = text[at..]
        .find(|c: char| !c.is_alphanumeric())
        .map_or(text.len(), |ahead| at + ahead.max(1));
    let word_end = boundary(text, word_end.min(text.len()));
    match random.random_range(0..10) {
        0..=3 => format!("{}{piece}{}", &text[..at], &text[at..]),
        4..=5 => format!("{}{piece}{}", &text[..at], &text[word_end.max(at)..]),
        6 => {
            let end = boundary(text, (at + random.random_range(0..40)).min(text.len())).max(at);
            format!("{}{}", &text[..at], &text[end..])
        }
        7 => {
            // A line moves.
            let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
            let (a, b) = (
                random.random_range(0..lines.len().max(1)),
                random.random_range(0..lines.len().max(1)),
            );
            if !lines.is_empty() {
                lines.swap(a, b);
            }
            lines.concat()
        }
        8 => format!(
            "{text}{}",
            &original[boundary(original, original.len() / 2)..]
        ),
        _ => original.to_owned(),
    }
}

fn run(extension: &str, original: &str, seed: u64, edits: usize) {
    let (main, header) = (format!("/random/main.{extension}"), "/random/scale.cuh");
    let mut random = StdRng::seed_from_u64(seed);
    let mut db = Database::default();
    let mut texts = [original.to_owned(), HEADER.to_owned()];
    let header_file = file_of(&mut db, header, &texts[1]);
    let file = file_of(&mut db, &main, &texts[0]);
    shown(&db, file);
    for step in 0..edits {
        let (which, base) = if random.random_range(0..5) == 0 {
            (1, HEADER)
        } else {
            (0, original)
        };
        texts[which] = edited(&mut random, &texts[which], base);
        if texts[which].len() > 8_000 {
            texts[which] = base.to_owned();
        }
        let target = if which == 1 { header_file } else { file };
        db.set_source(target, source(&texts[which]));
        match random.random_range(0..4) {
            0 => db.sweep(),
            // Several edits before anybody looks.
            1 => continue,
            _ => {}
        }
        let mut fresh = Database::default();
        file_of(&mut fresh, header, &texts[1]);
        let same = file_of(&mut fresh, &main, &texts[0]);
        let (ours, theirs) = (shown(&db, file), shown(&fresh, same));
        if ours != theirs {
            let differs = ours
                .lines()
                .zip(theirs.lines())
                .position(|(a, b)| a != b)
                .unwrap_or(0);
            let context = |all: &str| {
                all.lines()
                    .skip(differs.saturating_sub(3))
                    .take(8)
                    .collect::<Vec<_>>()
                    .join("\n")
            };
            panic!(
                "{extension}, seed {seed}, step {step}:\nafter edits\n{}\nfrom scratch\n{}\ntext\n{}",
                context(&ours),
                context(&theirs),
                texts[0]
            );
        }
    }
}

#[test]
fn cuda_after_random_edits_is_as_from_scratch() {
    for seed in 0..12 {
        run("cu", CUDA, seed, 60);
    }
}

#[test]
fn hlsl_after_random_edits_is_as_from_scratch() {
    for seed in 0..8 {
        run("hlsl", HLSL, seed, 60);
    }
}

#[test]
fn ptx_after_random_edits_is_as_from_scratch() {
    for seed in 0..8 {
        run("ptx", PTX, seed, 60);
    }
}
