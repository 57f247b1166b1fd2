//! The data derived from documents that are closed again is freed: the remainder of one does not grow with
//! its length. One test alone in its process, since every allocation counts.

mod support;

use lockstep_server::db::{Database, File, Source};
use lockstep_server::derive;
use lockstep_server::views;
use rustc_hash::FxHashSet;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use std::path::PathBuf;
use std::sync::Arc;
use syntax::Span;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<std::alloc::System> = &INSTRUMENTED_SYSTEM;

/// In bytes: an input, the queries of its empty text and their dependencies.
const LEFT_OF_AN_INPUT: usize = 12 << 10;

const HLSL: &str = "#include \"NAME.hlsli\"\n\
cbuffer Frame : register(b0) { float4 tint; uint count; };\n\
RWStructuredBuffer<float> result;\nTexture2D<float4> images[8];\nSamplerState point_sampler;\n\
[numthreads(64, 1, 1)]\nvoid main(uint3 id : SV_DispatchThreadID, uint lane : SV_GroupIndex) {\n  if (id.x < count) {\n    result[id.x * 2] = scaled(lane);\n  }\n  GroupMemoryBarrierWithGroupSync();\n}\n\
float4 pixel(float2 uv : TEXCOORD0, uint k : K) : SV_Target { return images[k].Sample(point_sampler, uv) * tint; }\n";

const PTX: &str = ".version 7.0\n.target sm_70\n.address_size 64\n\
.visible .entry kernel(.param .u64 out, .param .u32 n)\n{\n  .reg .pred p;\n  .reg .u32 i, m;\n  .reg .u64 a, b;\n  ld.param.u64 a, [out];\n  ld.param.u32 m, [n];\n  mov.u32 i, %tid.x;\n  setp.ge.u32 p, i, m;\n  @p bra DONE;\n  mul.wide.u32 b, i, 4;\n  add.u64 a, a, b;\n  st.global.u32 [a], i;\nDONE:\n  ret;\n}\n";

const C: &str = "void scale(float *restrict out, const float *in, float by, int n) {\n  for (int i = 0; i < n; ++i) out[i] = in[i] * by;\n}\n\
float dot(const float *a, const float *b, int n) {\n  float sum = 0;\n  for (int i = 0; i < n; ++i) sum += a[i] * b[i];\n  return sum;\n}\n";

const ASSEMBLY: &str = ".text\n.global f\nf:\n{ .mii\n  ld8 r8 = [r32]\n  add r9 = r8, r33\n  nop.i 0 ;;\n}\n{ .mib\n  nop.m 0\n  nop.i 0\n  br.ret.sptk b0 ;;\n}\n";

fn text(text: &str) -> Source {
    Source::Text {
        text: Arc::from(text),
        lossy: false,
    }
}

/// Asks for all that an editor shows of a file, each kernel's code included.
fn look(db: &Database, file: File) {
    let everything = Span::new(0, u32::MAX);
    let mut switches = file.settings(db).view(db).hints.clone();
    switches.costs = lockstep_server::config::CostHints::All;
    let length = match file.source(db) {
        Source::Text { text, .. } => text.len() as u32,
        _ => 0,
    };
    views::diagnostics::diagnostics(db, file);
    views::hints::hints(db, file, everything, &switches);
    views::tokens::tokens(db, file, None);
    views::symbols::symbols(db, file);
    views::lens::lenses(db, file);
    views::folding::folds(db, file);
    views::report::report(db, file, None);
    views::loops::rows(db, file, None);
    views::actions::actions(db, file, everything);
    for name in derive::code::names(db, file) {
        derive::code::named(db, file, &name);
    }
    for at in (0..length).step_by(40) {
        views::hover::hover(db, file, at);
    }
}

/// The documents of one round and the files that they include.
fn round(number: usize) -> Vec<(PathBuf, String)> {
    let kernels = support::generated(600);
    let name = |ending: &str| PathBuf::from(format!("/memory/{number}.{ending}"));
    let header = kernels.replace("kernel_", "helper_");
    vec![
        (name("cuh"), header),
        (
            name("hlsli"),
            "float scaled(uint v) { return v * 3; }\n".into(),
        ),
        (name("cu"), format!("#include \"{number}.cuh\"\n{kernels}")),
        (name("hlsl"), HLSL.replace("NAME", &number.to_string())),
        (name("ptx"), PTX.into()),
        (name("c"), C.into()),
        (name("s"), ASSEMBLY.into()),
    ]
}

fn live() -> usize {
    let now = ALLOCATOR.stats();
    now.bytes_allocated - now.bytes_deallocated
}

#[test]
fn what_closed_documents_gave_is_freed() {
    let mut db = Database::default();
    let mut after = Vec::new();
    let mut files_of_round = 0;
    for number in 0..24 {
        let documents = round(number);
        let files: Vec<File> = documents
            .iter()
            .map(|(path, content)| db.file_with_text(path, text(content)))
            .collect();
        files.iter().for_each(|&file| look(&db, file));
        files_of_round = files.len();
        drop(documents);
        for file in files {
            db.set_source(file, Source::Missing);
            db.keep_only(&FxHashSet::default(), file);
        }
        after.push(live());
    }
    // The tables of the first rounds are grown in steps, so that they are left out.
    let grown = after[23].saturating_sub(after[7]) / 16;
    let of_each = grown / files_of_round;
    assert!(
        of_each < LEFT_OF_AN_INPUT,
        "{of_each} bytes are left of each file: {after:?}"
    );
}
