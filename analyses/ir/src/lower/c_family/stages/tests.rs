//! Small shaders, lowered and looked at.

use crate::function::*;
use crate::inst::*;
use crate::lower::c_family::{LowerOptions, lower_unit};
use crate::types::Space;
use syntax::c_family::{Dialect, parse_text};

/// The function of this name; it verifies and holds nothing unknown.
fn lower(text: &str, name: &str) -> Function {
    let items: Vec<_> = parse_text(text, Dialect::Hlsl);
    let all = lower_unit(&items, &LowerOptions::new(Language::Hlsl));
    let Some((_, lowered)) = all.into_iter().find(|(key, _)| key.name == name) else {
        panic!("`{name}` is not lowered");
    };
    assert_eq!(crate::verify_module(&lowered.module), Ok(()));
    assert_eq!(lowered.problems, []);
    let function = lowered.module.functions[0].clone();
    let unknown = operations(&function)
        .iter()
        .any(|op| matches!(op, Op::Unknown(_) | Op::CallUnknown { .. }));
    assert!(!unknown, "{function:?}");
    function
}

fn operations(function: &Function) -> Vec<Op> {
    let blocks = function.layout.iter().map(|&b| &function.blocks[b]);
    blocks
        .flat_map(|b| b.insts.iter().map(|&i| function.insts[i].op.clone()))
        .collect()
}

fn count(function: &Function, f: impl Fn(&Op) -> bool) -> usize {
    operations(function).iter().filter(|op| f(op)).count()
}

#[test]
fn a_compute_shader_takes_its_ids_from_the_launch() {
    let f = lower(
        "RWStructuredBuffer<float3> b;\n\
         [numthreads(8, 4, 1)] void f(uint3 id : SV_DispatchThreadID, uint i : SV_GroupIndex) { b[id.x + i] = 1; }",
        "f",
    );
    assert_eq!(f.kind, FunctionKind::Kernel);
    assert_eq!(f.launch.block, [Some(8), Some(4), Some(1)]);
    assert!(f.inputs.is_empty());
    let store = |op: &Op| matches!(op, Op::Store(a) if a.space == Space::Global && a.checked && !a.read_only);
    assert_eq!(count(&f, store), 1);
    // Elements of three floats lie 12 bytes apart.
    assert_eq!(count(&f, |op| *op == Op::Const(12)), 1);
    // An axis of one thread has the index 0.
    assert_eq!(count(&f, |op| *op == Op::Special(Special::ThreadId(2))), 0);
}

#[test]
fn stages_are_told_from_semantics_and_helpers_are_not_entry_points() {
    let text = "struct V { float4 p : SV_Position; float2 uv : TEXCOORD0; };\n\
                V helper(float3 p) { V v; v.p = float4(p, 1); v.uv = p.xy; return v; }\n\
                V vertex(float3 p : POSITION) { return helper(p); }\n\
                float4 pixel(V v) : SV_Target { return v.uv.xyxy; }";
    assert_eq!(lower(text, "helper").kind, FunctionKind::Device);
    let vertex = lower(text, "vertex");
    assert_eq!(vertex.kind, FunctionKind::Stage(ShaderStage::Vertex));
    assert_eq!(vertex.returns.len(), 6);
    let pixel = lower(text, "pixel");
    assert_eq!(pixel.kind, FunctionKind::Stage(ShaderStage::Pixel));
    let semantics: Vec<&str> = pixel.inputs.iter().map(|i| i.semantic.as_str()).collect();
    assert_eq!(semantics[3..5], ["SV_POSITION", "TEXCOORD0"]);
}

#[test]
fn the_marker_counts_where_it_covers_the_index() {
    let text = "Texture2D t[] : register(t0); SamplerState s;\n\
                float4 f(nointerpolation uint m : M, float2 uv : UV) : SV_Target {\n\
                uint i = NonUniformResourceIndex(m);\n\
                return t[NonUniformResourceIndex(m)].Sample(s, uv) + t[i].Sample(s, uv) + t[m].Sample(s, uv); }";
    let f = lower(text, "f");
    let marked = |m: bool| move |op: &Op| matches!(op, Op::ResourceElement { non_uniform_marked } if *non_uniform_marked == m);
    assert_eq!((count(&f, marked(true)), count(&f, marked(false))), (2, 1));
}

#[test]
fn constant_buffers_are_packed_and_read_only() {
    let text = "cbuffer C { float3 a; float2 b; float c[2]; }\n\
                float f(uint i : I) : SV_Target { return b.y + c[1] + c[i & 1]; }";
    let f = lower(text, "f");
    // b starts the second register, c the third.
    for offset in [16u64, 32] {
        let there = f.insts.values().any(|i| i.op == Op::Const(offset));
        assert!(there, "{offset}");
    }
    assert!(
        operations(&f)
            .iter()
            .all(|op| !matches!(op, Op::Load(a) if !a.read_only))
    );
}

#[test]
fn clip_and_discard_end_lanes() {
    let text = "float4 f(float a : A) : SV_Target { clip(a - 0.5); if (a > 2) discard; return a; }";
    let f = lower(text, "f");
    let kills = f
        .layout
        .iter()
        .filter(|&&b| f.blocks[b].terminator == Terminator::Kill);
    assert_eq!(kills.count(), 2);
}

#[test]
fn out_arguments_come_back_even_with_another_type() {
    let text = "void g(out float2 a, inout uint b) { a = 1; b += 2; }\n\
                float4 f(int n : N) : SV_Target { float2 x; int k = n; g(x, k); return float4(x, k, 0); }";
    let f = lower(text, "f");
    assert_eq!(
        count(&f, |op| matches!(op, Op::Binary(BinaryOp::Add, _))),
        1
    );
}

#[test]
fn waves_barriers_and_atomics() {
    let text = "groupshared uint total; RWByteAddressBuffer b; RWTexture2D<uint> image;\n\
                [numthreads(64, 1, 1)] void f(uint i : SV_GroupIndex) {\n\
                if (i == 0) total = 0;\n\
                GroupMemoryBarrierWithGroupSync();\n\
                uint old; InterlockedAdd(total, WaveActiveSum(i), old);\n\
                InterlockedMax(image[uint2(i, 0)], old);\n\
                b.InterlockedOr(4 * i, 1u); b.Store2(8, uint2(old, WaveActiveBallot(i > 3).x)); }";
    let f = lower(text, "f");
    assert_eq!(count(&f, |op| *op == Op::Barrier(Barrier::Workgroup)), 1);
    let space = |s: Space| move |op: &Op| matches!(op, Op::Atomic(_, a) if a.space == s);
    assert_eq!(count(&f, space(Space::Shared)), 1);
    assert_eq!(count(&f, space(Space::Global)), 1);
    let texel =
        |op: &Op| matches!(op, Op::Texture(a) if a.op == TextureOp::Atomic(AtomicOp::MaxUnsigned));
    assert_eq!(count(&f, texel), 1);
    // What an atomic works on is not read besides.
    assert_eq!(count(&f, |op| matches!(op, Op::Load(_))), 0);
    let sum = |op: &Op| matches!(op, Op::Warp(w) if w.kind == WarpKind::Reduce(ReduceOp::Add));
    assert_eq!(count(&f, sum), 1);
}

#[test]
fn hidden_counters_are_counted() {
    let text = "struct P { float2 at; uint n; };\n\
                AppendStructuredBuffer<P> queue; ConsumeStructuredBuffer<P> work; RWStructuredBuffer<uint> list;\n\
                [numthreads(64, 1, 1)] void f(uint i : SV_DispatchThreadID) {\n\
                P p = work.Consume(); p.n += i; if (p.n > 3) queue.Append(p);\n\
                list[list.IncrementCounter()] = i; uint last = list.DecrementCounter(); list[last] = 0; }";
    let f = lower(text, "f");
    let adds = |op: &Op| matches!(op, Op::Atomic(AtomicOp::Add, _));
    assert_eq!(count(&f, adds), 4);
    assert_eq!(count(&f, |op| matches!(op, Op::Load(_))), 1);
    assert_eq!(count(&f, |op| matches!(op, Op::Store(_))), 3);
    let mut counters: Vec<&str> = f.symbols.values().map(|s| s.name.as_str()).collect();
    counters.retain(|name| crate::is_counter(name));
    counters.sort_unstable();
    assert_eq!(counters, ["list#counter", "queue#counter", "work#counter"]);
}

#[test]
fn matrices_multiply_by_rows_and_columns() {
    let text = "cbuffer C { float4x4 m; float3x3 n; }\n\
                float4 f(float4 p : P) : SV_Target { float4x4 t = transpose(m); t[1] = 2; t._m00_m11 = p.zw;\n\
                return mul(mul(p, m), t) + float4(mul(n, p.xyz), determinant(n)) + m._11_22.xyxy; }";
    let f = lower(text, "f");
    assert!(count(&f, |op| *op == Op::Fma) >= 12 + 12 + 6);
}

#[test]
#[allow(clippy::disallowed_methods)] // Tests read fixtures.
fn fixtures_have_nothing_unknown() {
    let files = fixtures::files("hlsl", &["hlsl"]);
    assert!(files.len() >= 7, "{files:?}");
    let mut entries = 0;
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let items: Vec<_> = parse_text(&text, Dialect::Hlsl);
        for (key, lowered) in lower_unit(&items, &LowerOptions::new(Language::Hlsl)) {
            let first = &lowered.module.functions[0];
            entries += usize::from(first.kind != FunctionKind::Device);
            // A library's calls of other files are no gap.
            let external = |p: &&syntax::Problem| {
                let names = &mut lowered.external.iter();
                names.any(|n| {
                    p.message
                        .starts_with(&format!("`{n}` is defined elsewhere"))
                })
            };
            let problems: Vec<_> = lowered.problems.iter().filter(|p| !external(p)).collect();
            assert!(problems.is_empty(), "{path:?} {}: {problems:?}", key.name);
            assert_eq!(
                crate::verify_module(&lowered.module),
                Ok(()),
                "{}",
                key.name
            );
        }
    }
    assert!(entries >= 11, "{entries}");
}
