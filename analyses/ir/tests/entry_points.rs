//! The entry points of HLSL, their stages and their parameters: the rules of HLSL's reference for attributes,
//! semantics and interpolation modifiers.

use lockstep_ir::lower::c_family::{LowerOptions, lower_unit, stages::named_stage};
use lockstep_ir::verify::verify_module;
use lockstep_ir::*;
use syntax::c_family::{Dialect, parse_text};

fn all(text: &str) -> Vec<Function> {
    let items = parse_text(text, Dialect::Hlsl);
    for item in &items {
        assert!(item.problems.is_empty(), "{text}: {:?}", item.problems);
    }
    let lowered = lower_unit(&items, &LowerOptions::new(Language::Hlsl));
    let modules = lowered.into_iter().map(|(_, lowered)| lowered.module);
    modules
        .map(|module| {
            assert_eq!(verify_module(&module), Ok(()), "{text}");
            module.functions[0].clone()
        })
        .collect()
}

fn named(text: &str, name: &str) -> Function {
    let found = all(text).into_iter().find(|function| function.name == name);
    found.unwrap_or_else(|| panic!("{name}: {text}"))
}

const DECLARED: &str = "struct P { float3 a; }; struct I { float4 at : SV_Position; float2 uv : TEXCOORD0; }; struct O { float4 colour : SV_Target0; float depth : SV_Depth; }; \
    struct V { float4 at : POSITION; float3 n : NORMAL; }; struct H { float e[3] : SV_TessFactor; float i : SV_InsideTessFactor; }; struct Plain { float4 at; }; \
    H constants() { return (H)0; } \n";

#[test]
fn attributes_and_semantics_tell_the_stage() {
    use ShaderStage::*;
    let stage = FunctionKind::Stage;
    let kernel = FunctionKind::Kernel;
    for (text, expected) in [
        (
            "[numthreads(8, 1, 1)] void f(uint3 id : SV_DispatchThreadID) {}",
            Some(kernel),
        ),
        ("[numthreads(8, 1, 1)] void f() {}", Some(kernel)),
        (
            "[NumThreads(8, 1, 1)] void f() { DispatchMesh(1, 1, 1, P_); }",
            Some(stage(Amplification)),
        ),
        (
            "[numthreads(8, 1, 1)] [outputtopology(\"triangle\")] void f(out indices uint3 t[8], out vertices I v[8]) { SetMeshOutputCounts(8, 8); }",
            Some(stage(Mesh)),
        ),
        (
            "[numthreads(8, 1, 1)] void f(out vertices I v[8]) {}",
            Some(stage(Mesh)),
        ),
        (
            "[maxvertexcount(3)] void f(triangle I v[3], inout TriangleStream<I> s) {}",
            Some(stage(Geometry)),
        ),
        (
            "void f(triangle I v[3], inout TriangleStream<I> s) {}",
            Some(stage(Geometry)),
        ),
        (
            "[domain(\"tri\")] [patchconstantfunc(\"constants\")] [outputcontrolpoints(3)] I f(InputPatch<I, 3> p, uint i : SV_OutputControlPointID) { return p[i]; }",
            Some(stage(Hull)),
        ),
        (
            "[domain(\"tri\")] I f(H h, float3 at : SV_DomainLocation, const OutputPatch<I, 3> p) { return p[0]; }",
            Some(stage(Domain)),
        ),
        ("[earlydepthstencil] void f() {}", Some(stage(Pixel))),
        (
            "[shader(\"vertex\")] float4 f(float4 a : A) : B { return a; }",
            Some(stage(Vertex)),
        ),
        (
            "[shader(\"pixel\")] float4 f(float4 a : A) : B { return a; }",
            Some(stage(Pixel)),
        ),
        (
            "[shader(\"compute\")] [numthreads(1, 1, 1)] void f() {}",
            Some(kernel),
        ),
        (
            "[shader(\"raygeneration\")] void f() {}",
            Some(stage(RayTracing)),
        ),
        (
            "[shader(\"closesthit\")] void f(inout P p, P a) {}",
            Some(stage(RayTracing)),
        ),
        (
            "float4 f(float4 a : SV_Position) : SV_Target { return a; }",
            Some(stage(Pixel)),
        ),
        ("O f(I i) { return (O)0; }", Some(stage(Pixel))),
        (
            "float f(float2 a : TEXCOORD0) : SV_Depth { return a.x; }",
            Some(stage(Pixel)),
        ),
        (
            "float4 f(float2 a : TEXCOORD0) : COLOR { return 1; }",
            Some(stage(Pixel)),
        ),
        (
            "void f(float2 a : TEXCOORD0, out float4 c : SV_Target1) { c = 1; }",
            Some(stage(Pixel)),
        ),
        ("I f(V v) { return (I)0; }", Some(stage(Vertex))),
        (
            "float4 f(uint id : SV_VertexID) : SV_Position { return 0; }",
            Some(stage(Vertex)),
        ),
        (
            "V f(uint id : SV_InstanceID) { return (V)0; }",
            Some(stage(Vertex)),
        ),
        (
            "V f(bool b : SV_IsFrontFace) { return (V)0; }",
            Some(stage(Pixel)),
        ),
        ("void f(float4 a : SV_Position) {}", Some(stage(Pixel))),
        (
            "float4 f() : SV_Position { return 0; }",
            Some(stage(Vertex)),
        ),
        ("V f(V v) { return v; }", Some(stage(Vertex))),
        // Functions that others call.
        ("I f() { return (I)0; }", None),
        ("I f(float2 at) { return (I)0; }", None),
        (
            "float4 f(float4 a : A, float b) : SV_Target { return a; }",
            None,
        ),
        ("float4 f(Plain p) : SV_Target { return p.at; }", None),
        ("float f(float a) { return a; }", None),
        (
            "template <typename T> T f(T a : SV_Position) { return a; }",
            None,
        ),
        (
            "float4 f(Texture2D<float4> t, float2 at : A) : SV_Target { return 1; }",
            None,
        ),
        ("void f(float2 a : TEXCOORD0) {}", None),
    ] {
        let text = format!("{DECLARED}groupshared P P_;\n{text}");
        let found = all(&text).into_iter().find(|function| function.name == "f");
        let found = found.map(|function| function.kind);
        let entry =
            found.filter(|kind| matches!(kind, FunctionKind::Kernel | FunctionKind::Stage(_)));
        assert_eq!(entry, expected, "{text}");
    }
    // Names that say it where semantics do not.
    for (text, name, expected) in [
        (
            "float4 PSMain(float2 a : TEXCOORD0) : X { return 1; }",
            "PSMain",
            Some(Pixel),
        ),
        (
            "float4 ps_main(float2 a : TEXCOORD0) : X { return 1; }",
            "ps_main",
            Some(Pixel),
        ),
        (
            "float4 MainPS(float2 a : TEXCOORD0) : X { return 1; }",
            "MainPS",
            Some(Pixel),
        ),
        (
            "float4 my_pixel_one(float2 a : TEXCOORD0) : X { return 1; }",
            "my_pixel_one",
            Some(Pixel),
        ),
        ("I VSMain() { return (I)0; }", "VSMain", Some(Vertex)),
        (
            "void VertexShader(float2 a : TEXCOORD0) {}",
            "VertexShader",
            Some(Vertex),
        ),
        (
            "V MainVS(float2 a : TEXCOORD0) { return (V)0; }",
            "MainVS",
            Some(Vertex),
        ),
        (
            "V main(uint id : SV_InstanceID) { return (V)0; }",
            "main",
            Some(Vertex),
        ),
        (
            "V PSMain(uint id : SV_InstanceID) { return (V)0; }",
            "PSMain",
            Some(Pixel),
        ),
        ("void main(float2 a : TEXCOORD0) {}", "main", Some(Library)),
    ] {
        let function = named(&format!("{DECLARED}{text}"), name);
        let found = match function.kind {
            FunctionKind::Stage(stage) => Some(stage),
            _ => None,
        };
        assert_eq!(found, expected, "{text}");
    }
    for (name, expected) in [
        ("compute", Some(kernel)),
        ("Kernel", Some(kernel)),
        ("node", Some(kernel)),
        ("VERTEX", Some(stage(Vertex))),
        ("fragment", Some(stage(Pixel))),
        ("geometry", Some(stage(Geometry))),
        ("hull", Some(stage(Hull))),
        ("domain", Some(stage(Domain))),
        ("amplification", Some(stage(Amplification))),
        ("mesh", Some(stage(Mesh))),
        ("ray-tracing", Some(stage(RayTracing))),
        ("anyhit", Some(stage(RayTracing))),
        ("miss", Some(stage(RayTracing))),
        ("intersection", Some(stage(RayTracing))),
        ("callable", Some(stage(RayTracing))),
        ("tessellation", None),
    ] {
        assert_eq!(named_stage(name), expected, "{name}");
    }
}

#[test]
fn launches_have_the_size_that_attributes_give() {
    for (attributes, block, warp, helpers) in [
        (
            "[numthreads(8, 4, 2)]",
            [Some(8), Some(4), Some(2)],
            None,
            false,
        ),
        (
            "[numthreads(64, 1, 1)] [WaveSize(32)]",
            [Some(64), Some(1), Some(1)],
            Some(32),
            false,
        ),
        (
            "[numthreads(2 * N, N - 1, 1)]",
            [Some(8), Some(3), Some(1)],
            None,
            false,
        ),
        (
            "[numthreads(64, 1, 1)] [WaveOpsIncludeHelperLanes]",
            [Some(64), Some(1), Some(1)],
            None,
            true,
        ),
        (
            "[numthreads(0, 4, 1)]",
            [None, Some(4), Some(1)],
            None,
            false,
        ),
    ] {
        let text =
            format!("static const int N = 4; {attributes} void f(uint i : SV_GroupIndex) {{}}");
        let launch = named(&text, "f").launch;
        assert_eq!(
            (launch.block, launch.warp_size, launch.with_helpers),
            (block, warp, helpers),
            "{attributes}"
        );
    }
}

#[test]
fn inputs_have_the_semantic_and_the_interpolation_of_their_declaration() {
    let text = "struct Inner { nointerpolation float a : A1; float2 b : TexCoord3; };\n\
        struct S { Inner inner; noperspective float c : C; linear float d[2] : D; uint e : E; };\n\
        float4 f(S s, float4 at : SV_Position, nointerpolation float3 g : G, uint id : SV_SampleIndex) : SV_Target { return at; }";
    let function = named(text, "f");
    let found: Vec<_> = function
        .inputs
        .iter()
        .map(|input| {
            (
                input.name.as_str(),
                input.semantic.as_str(),
                input.component,
                input.interpolation,
                input.ty,
            )
        })
        .collect();
    use Interpolation::*;
    let f = Type::F32;
    assert_eq!(
        found,
        [
            ("s.inner.a", "A1", 0, Flat, f),
            ("s.inner.b", "TEXCOORD3", 0, Perspective, f),
            ("s.inner.b", "TEXCOORD3", 1, Perspective, f),
            ("s.c", "C", 0, Linear, f),
            ("s.d", "D", 0, Perspective, f),
            ("s.d", "D", 1, Perspective, f),
            ("s.e", "E", 0, Flat, Type::I32),
            ("at", "SV_POSITION", 0, Perspective, f),
            ("at", "SV_POSITION", 1, Perspective, f),
            ("at", "SV_POSITION", 2, Perspective, f),
            ("at", "SV_POSITION", 3, Perspective, f),
            ("g", "G", 0, Flat, f),
            ("g", "G", 1, Flat, f),
            ("g", "G", 2, Flat, f),
            ("id", "SV_SAMPLEINDEX", 0, Flat, Type::I32),
        ]
    );
}
