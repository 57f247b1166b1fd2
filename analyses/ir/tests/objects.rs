//! Objects in memory, and objects that are values of their own: textures, buffers and samplers among plain
//! members, arrays of resources, structures without end, gated forms that no machine executes.

use lockstep_ir::lower::c_family::{LowerOptions, Lowered, lower_unit};
use lockstep_ir::lower::ptx::lower_text;
use lockstep_ir::verify::verify_module;
use lockstep_ir::{FunctionKind, Language, SymbolKind};
use oracle::interp::{Buffer, Launch, micro_simd, run};
use syntax::c_family::{Dialect, parse_text};

fn lowered(source: &str, dialect: Dialect, language: Language) -> Vec<Lowered> {
    let items = parse_text(source, dialect);
    let all = lower_unit(&items, &LowerOptions::new(language));
    let all: Vec<Lowered> = all.into_iter().map(|(_, lowered)| lowered).collect();
    for lowered in &all {
        assert_eq!(verify_module(&lowered.module), Ok(()), "{source}");
    }
    all
}

/// The symbols of a shader's entry point, by name.
fn symbols(declarations: &str, value: &str) -> Vec<(String, SymbolKind)> {
    let text = format!(
        "{declarations} RWStructuredBuffer<float> o; [numthreads(4, 1, 1)] void main(uint i : SV_GroupIndex) {{ o[i] = {value}; }}"
    );
    let all = lowered(&text, Dialect::Hlsl, Language::Hlsl);
    let entry = all
        .iter()
        .find(|lowered| lowered.module.functions[0].kind == FunctionKind::Kernel);
    let function = &entry.expect("an entry point").module.functions[0];
    assert!(function.unknowns.is_empty(), "{text}");
    let symbols = function.symbols.values();
    let named = symbols.map(|symbol| (symbol.name.to_string(), symbol.kind));
    let mut named: Vec<_> = named.filter(|(name, _)| name != "o").collect();
    named.sort_by(|a, b| a.0.cmp(&b.0));
    named
}

#[test]
fn resources_among_plain_members_are_symbols_of_their_own() {
    use SymbolKind::{Buffer, Memory, Sampler, Texture};
    for (declarations, value, expected) in [
        (
            "struct P { float a; float2 b; }; P p;",
            "p.b.y",
            vec![("$Globals.p", Memory)],
        ),
        (
            "struct P { float a; float b[3]; }; struct Q { P p[2]; }; Q q;",
            "q.p[1].b[2]",
            vec![("$Globals.q", Memory)],
        ),
        (
            "cbuffer C { float a; float4 b; };",
            "b.z",
            vec![("C", Buffer)],
        ),
        (
            "struct P { float a; }; cbuffer C { P p; float b; };",
            "p.a + b",
            vec![("C", Buffer)],
        ),
        ("StructuredBuffer<float> a;", "a[i]", vec![("a", Buffer)]),
        (
            "Texture2D<float> t;",
            "t[uint2(i, i)]",
            vec![("t", Texture)],
        ),
        (
            "Texture2D<float> t; SamplerState s;",
            "t.SampleLevel(s, float2(0, 0), 0)",
            vec![("s", Sampler), ("t", Texture)],
        ),
    ] {
        let expected: Vec<_> = expected
            .into_iter()
            .map(|(name, kind)| (name.to_owned(), kind))
            .collect();
        assert_eq!(symbols(declarations, value), expected, "{declarations}");
    }
    let inside = symbols(
        "struct P { Texture2D<float> t; float a; }; P p;",
        "p.t[uint2(i, i)]",
    );
    assert!(
        inside
            .iter()
            .any(|(name, kind)| name.starts_with("p#") && *kind == Texture),
        "{inside:?}"
    );
}

#[test]
fn textures_and_samplers_of_ptx() {
    let text = ".version 8.0\n.target sm_90\n.address_size 64\n.global .texref a; .global .samplerref b; .global .surfref c; .tex .u32 d; .global .u32 e; .const .u32 f;\n\
        .entry k(.param .u64 o)\n{\n.reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %rd<4>;\n\
        tex.2d.v4.f32.s32 {%f1,%f2,%f3,%f4}, [a, {%r1, %r2}]; tex.2d.v4.f32.s32 {%f1,%f2,%f3,%f4}, [d, {%r1, %r2}]; ld.global.u32 %r3, [e]; ld.const.u32 %r4, [f];\nret;\n}\n";
    let all = lower_text(text);
    let (_, tree, lowered) = all.last().expect("a kernel");
    assert_eq!(tree.problems, []);
    let kind = |name: &str| {
        let mut symbols = lowered.module.functions[0].symbols.values();
        symbols
            .find(|symbol| symbol.name == name)
            .map(|symbol| (symbol.kind, symbol.read_only))
    };
    assert_eq!(kind("a"), Some((SymbolKind::Texture, true)));
    assert_eq!(kind("d"), Some((SymbolKind::Texture, true)));
    assert_eq!(kind("e"), Some((SymbolKind::Memory, false)));
    assert_eq!(kind("f"), Some((SymbolKind::Memory, true)));
}

/// Element 0 of an array of resources is the bound resource; each of the others has contents of its own, the
/// same for all.
#[test]
fn elements_of_an_array_of_resources() {
    let text = "StructuredBuffer<uint> a[4]; StructuredBuffer<uint> index; RWStructuredBuffer<uint> o;
        [numthreads(4, 1, 1)] void main(uint i : SV_GroupIndex) { o[i] = a[NonUniformResourceIndex(index[i])][1]; o[i + 4] = a[index[i]][2]; }";
    let all = lowered(text, Dialect::Hlsl, Language::Hlsl);
    let found = |index: [u32; 4], own: bool| {
        let mut launch = Launch::for_function(&all[0].module.functions[0], 4, 0);
        launch.buffers = vec![
            Buffer::of_u32([10, 11, 12, 13]),
            Buffer::of_u32(index),
            Buffer::of_u32([0; 8]),
            Buffer::of_u32([20, 21, 22, 23]),
        ];
        launch.bindings = vec![("a".into(), 0), ("index".into(), 1), ("o".into(), 2)];
        if own {
            launch.elements = vec![(0, 2, 3)];
        }
        let outcome = run(&all[0].module, &launch);
        assert_eq!(outcome.error, None);
        outcome.buffers[2].words()
    };
    assert_eq!(found([0; 4], false), [11, 11, 11, 11, 12, 12, 12, 12]);
    let mixed = found([0, 1, 2, 1], false);
    assert_eq!((mixed[0], mixed[4]), (11, 12));
    assert_eq!((mixed[1], mixed[5]), (mixed[3], mixed[7]));
    assert_ne!(mixed[1], mixed[2]);
    assert_ne!(mixed[1], 11);
    assert_eq!(found([0, 2, 2, 0], true), [11, 21, 21, 11, 12, 22, 22, 12]);
}

/// Broken source is normal input: an object that contains itself has no size, and nothing goes on forever.
#[test]
fn structures_without_end() {
    for text in [
        "struct S { struct S s; int x; }; struct S g; int f(int k) { struct S t = g; return t.x + k; }",
        "struct A { struct B b; }; struct B { struct A a; int x; }; int f(struct A a, int k) { return a.b.x + k; }",
        "typedef struct T { struct T t[2]; } T; int f(T *t, int k) { T u = *t; return sizeof(u) + k; }",
        "struct S { struct S a, b; float x; }; float f(struct S s, int k) { struct S t[2]; t[0] = s; return t[0].a.x + k; }",
        "struct E { struct E e; }; struct E h(struct E e) { return e; } int f(int k) { struct E e; h(e); return k; }",
    ] {
        for (dialect, language) in [(Dialect::C, Language::C), (Dialect::Cuda, Language::Cuda)] {
            let text = match dialect {
                Dialect::C => text.to_owned(),
                _ => text
                    .replace("int f(", "__device__ int f(")
                    .replace("float f(", "__device__ float f("),
            };
            assert!(!lowered(&text, dialect, language).is_empty(), "{text}");
        }
    }
}

#[test]
fn gated_forms_do_not_execute() {
    for (text, stuck) in [
        ("l0 a = 1\nl1 stop\n", false),
        (
            "l0 a = 1\nl1 b = a + 2\nl2 [c] = μ[(a), (b)]\nl3 stop\n",
            true,
        ),
        (
            "l0 a = 1\nl1 p = a < 2\nl2 [c] = η[p, (a)]\nl3 stop\n",
            true,
        ),
        (
            "l0 a = 1\nl1 p = a < 2\nl2 [c] = γ[p, (a), (p)]\nl3 stop\n",
            true,
        ),
    ] {
        let program = syntax::musimd::parse(text);
        assert_eq!(program.problems, [], "{text}");
        let run = micro_simd::run(&program, &micro_simd::Setting::new(4));
        let reason = run.stuck.as_ref().map(|stuck| stuck.reason.clone());
        assert_eq!(
            reason == Some(micro_simd::StuckReason::Gated),
            stuck,
            "{text}"
        );
    }
}
