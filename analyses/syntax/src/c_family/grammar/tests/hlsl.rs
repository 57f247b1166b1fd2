//! HLSL, one construct a test.

use super::check;
use crate::c_family::Dialect::Hlsl;

#[test]
fn constant_buffers() {
    check(
        Hlsl,
        r##"cbuffer PerFrame : register(b0, space1) { float4x4 World : packoffset(c0); float3 eye; row_major matrix M; float arr[4]; };"##,
        &[
            r##"(cbuffer PerFrame @register(b0 space1) (let World float4x4 @packoffset(c0)) (let eye float3) (let row_major M matrix) (let arr (array float 4)))"##,
        ],
    );
}

#[test]
fn resources() {
    check(
        Hlsl,
        r##"Texture2D<float4> t0 : register(t0); SamplerState s0 : register(s0); RWStructuredBuffer<Foo> buf[] : register(u0, space2); ConstantBuffer<Cam> cam : register(b1); static const float k[3] = {1, 2, 3}; groupshared float gs[256]; Buffer<unorm float4> b; matrix<float,4,4> m; vector<float,3> v; tbuffer TB { float x; }"##,
        &[
            r##"(variables (let t0 Texture2D<float4> @register(t0)))"##,
            r##"(variables (let s0 SamplerState @register(s0)))"##,
            r##"(variables (let buf (array RWStructuredBuffer<?Foo>) @register(u0 space2)))"##,
            r##"(variables (let cam ConstantBuffer<?Cam> @register(b1)))"##,
            r##"(variables (let static k (array const float 3) = (list 1 2 3)))"##,
            r##"(variables (let shared gs (array float 256)))"##,
            r##"(variables (let b Buffer<float4>))"##,
            r##"(variables (let m matrix<float, =4, =4>))"##,
            r##"(variables (let v vector<float, =3>))"##,
            r##"(tbuffer TB (let x float))"##,
        ],
    );
}

#[test]
fn semantics() {
    check(
        Hlsl,
        r##"struct VSOut { float4 pos : SV_Position; nointerpolation uint id : ID; linear centroid float2 uv : TEXCOORD0; precise float z : Z; sample float3 n : NORMAL; };"##,
        &[
            r##"(struct VSOut (let pos float4 :SV_Position) (let nointerpolation id uint :ID) (let linear centroid uv float2 :TEXCOORD0) (let precise z float :Z) (let sample n float3 :NORMAL))"##,
        ],
    );
}

#[test]
fn pixel_shaders() {
    check(
        Hlsl,
        r##"float4 PSMain(VSOut i, bool f : SV_IsFrontFace, uniform float q, out float d : SV_Depth, inout float e, in float g = 1.0) : SV_Target { if (i.uv.x < 0.5) discard; clip(i.uv.x - 0.1); return t0.Sample(s0, i.uv).xyzw * (float4)1 + float4(1.0f.xxx, 0.xx.x); }"##,
        &[
            r##"(function float4 PSMain(VSOut i, bool f :SV_IsFrontFace, uniform float q, out float d :SV_Depth, inout float e, float g = 1.0) :SV_Target {(if (< (. (. i uv) x) 0.5) (discard)) (call clip (- (. (. i uv) x) 0.1)) (return (+ (* (. (call (. t0 Sample) s0 (. i uv)) xyzw) (cast float4 1)) (construct float4 (. 1.0f xxx) (. (. 0 xx) x))))})"##,
        ],
    );
}

#[test]
fn statement_attributes() {
    check(
        Hlsl,
        r##"[maxvertexcount(3)] void gs(triangle VSOut i[3], inout TriangleStream<GSOut> s) { [unroll] for (uint k = 0; k < 3; k++) { s.Append(i[k]); } [branch] if (x) { } [loop] while (1) { break; } [unroll(4)] for (;;) { } [flatten] switch (q) { case 0: break; } }"##,
        &[
            r##"(function @maxvertexcount(3) void gs(geometry-input (array VSOut 3) i, inout TriangleStream<?GSOut> s) { @unroll (for (let k uint = 0); (< k 3); (_++ k) {(call (. s Append) (index i k))})  @branch (if x {})  @loop (while 1 {(break)})  @unroll(4) (for _; _; _ {})  @flatten (switch q {(case 0) (break)})})"##,
        ],
    );
}

#[test]
fn mesh_and_ray_shaders() {
    check(
        Hlsl,
        r##"[outputtopology("triangle")][numthreads(32,1,1)] void ms(uint t : SV_GroupThreadID, out vertices V verts[64], out indices uint3 tris[126], in payload P p) { SetMeshOutputCounts(1, 2); } [shader("raygeneration")] void rg() { TraceRay(a, RAY_FLAG_NONE, ~0, 0, 1, 0, ray, p); } [shader("closesthit")] void ch(inout RayPayload p, in BuiltInTriangleIntersectionAttributes attr) {}"##,
        &[
            r##"(function @outputtopology("triangle") @numthreads(32 1 1) void ms(uint t :SV_GroupThreadID, out mesh-parameter (array V 64) verts, out mesh-parameter (array uint3 126) tris, mesh-parameter P p) {(call SetMeshOutputCounts 1 2)})"##,
            r##"(function @shader("raygeneration") void rg() {(call TraceRay a RAY_FLAG_NONE (~ 0) 0 1 0 ray p)})"##,
            r##"(function @shader("closesthit") void ch(inout RayPayload p, BuiltInTriangleIntersectionAttributes attr) {})"##,
        ],
    );
}

#[test]
fn effect_framework() {
    check(
        Hlsl,
        r##"technique10 T { pass P0 { SetVertexShader(CompileShader(vs_4_0, VS())); } } SamplerState linearS { Filter = MIN_MAG_MIP_LINEAR; AddressU = Wrap; }; sampler2D s = sampler_state { Texture = <tex>; MinFilter = Linear; }; float4 col < string UIName = "x"; float m = 2; > = {1,1,1,1}; float f() { return 1; }"##,
        &[
            r##"(nothing)"##,
            r##"(variables (let linearS SamplerState))"##,
            r##"(variables (let s sampler2D = (list)))"##,
            r##"(variables (let col float4 = (list 1 1 1 1)))"##,
            r##"(function float f() {(return 1)})"##,
        ],
    );
}

#[test]
fn compute_shaders() {
    check(
        Hlsl,
        r##"[RootSignature(RS)] [numthreads(TX, TY, 1)] void CSMain(uint3 g : SV_GroupID, uint3 id : SV_DispatchThreadID) { RWTex[id.xy] = buf[NonUniformResourceIndex(id.x)].Load<float4>(4 * id.x); uint w, h; tex.GetDimensions(w, h); float2x2 m = float2x2(1, 0, 0, 1); m._m00 = 1; m[0][1] = mul(m, v).x; GroupMemoryBarrierWithGroupSync(); InterlockedAdd(gs[0], 1u, w); float3 a = 0, c; half hh = half(1); min16float q = (min16float)x; }"##,
        &[
            r##"(function @RootSignature(RS) @numthreads(TX TY 1) void CSMain(uint3 g :SV_GroupID, uint3 id :SV_DispatchThreadID) {(= (index RWTex (. id xy)) (call (. (index buf (call NonUniformResourceIndex (. id x))) Load<float4>) (* 4 (. id x)))) (let w uint, h uint) (call (. tex GetDimensions) w h) (let m float2x2 = (construct float2x2 1 0 0 1)) (= (. m _m00) 1) (= (index (index m 0) 1) (. (call mul m v) x)) (call GroupMemoryBarrierWithGroupSync) (call InterlockedAdd (index gs 0) 1u w) (let a float3 = 0, c float3) (let hh half = (construct half 1)) (let q min16float = (cast min16float x))})"##,
        ],
    );
}

#[test]
fn structs_and_templates() {
    check(
        Hlsl,
        r##"template <typename T> T maxOf(T a, T b) { return a > b ? a : b; } struct Vec { float x; Vec operator+(Vec o) { Vec r; r.x = x + o.x; return r; } float dot(Vec o) { return this.x * o.x; } static Vec Zero() { return (Vec)0; } }; enum class Mode : uint { A, B }; interface ILight { float3 shade(float3 p); }; class Point : ILight { float3 shade(float3 p) { return p; } }; typedef vector<float, 4> f4; export float e(float x) { return x; } namespace N { static float q; float g() { return q; } }"##,
        &[
            r##"(function template<type T> T maxOf(T a, T b) {(return (? (> a b) a b))})"##,
            r##"(struct Vec (let x float) (function Vec operator+(Vec o) {(let r Vec) (= (. r x) (+ x (. o x))) (return r)}) (function float dot(Vec o) {(return (* (. this x) (. o x)))}) (function static Vec Zero() {(return (cast Vec 0))}))"##,
            r##"(enum-class Mode :uint A B)"##,
            r##"(interface ILight (function float3 shade(float3 p)))"##,
            r##"(class Point :ILight (function float3 shade(float3 p) {(return p)}))"##,
            r##"(alias f4 vector<float, =4>)"##,
            r##"(function export float e(float x) {(return x)})"##,
            r##"(variables (let static q float))"##,
            r##"(function float g() {(return q)})"##,
        ],
    );
}

#[test]
fn contextual_words() {
    check(
        Hlsl,
        r##"float2 f(float2 x)[2] { float2 r[2]; return r; } float4 x = unsigned int2(1,2).xyxy; static const uint2 offs[2] = { uint2(0, 1), { 2, 3 } }; float line = 1, point = 2; void g() { float sample = line * point; int triangle = 3; in_x = sample; }"##,
        &[
            r##"(function (array float2 2) f(float2 x) {(let r (array float2 2)) (return r)})"##,
            r##"(variables (let x float4 = (. (construct uint2 1 2) xyxy)))"##,
            r##"(variables (let static offs (array const uint2 2) = (list (construct uint2 0 1) (list 2 3))))"##,
            r##"(variables (let line float = 1, point float = 2))"##,
            r##"(function void g() {(let sample float = (* line point)) (let triangle int = 3) (= in_x sample)})"##,
        ],
    );
}

#[test]
fn vendor_attributes() {
    check(
        Hlsl,
        r##"[[vk::binding(3, 1)]] Texture2D t; [[vk::push_constant]] struct { float4 a; } pc; [[vk::binding(1)]] cbuffer C { float4 z; } uint f(uint a) { return a << 2 >> 1 & 0xFu; }"##,
        &[
            r##"(variables (let @binding(3 1) t Texture2D))"##,
            r##"(variables (let @push_constant pc (struct _ (let a float4))))"##,
            r##"(cbuffer C @binding(1) (let z float4))"##,
            r##"(function uint f(uint a) {(return (& (>> (<< a 2) 1) 15u))})"##,
        ],
    );
}

#[test]
fn comparisons_and_templates() {
    check(
        Hlsl,
        r##"void f() { if (a < b && c > d) x = y; int i = a < b; Foo<float> q; TextureCube<float4> tc = ResourceDescriptorHeap[3]; q = cond ? a : b; float4 v = { 1, 2, 3, 4 }; RayQuery<RAY_FLAG_NONE> rq; rq.TraceRayInline(x, 0, 1, r); float3 n = normalize(lerp(a, b, saturate(dot(x, y)))); }"##,
        &[
            r##"(function void f() {(if (&& (< a b) (> c d)) (= x y)) (let i int = (< a b)) (let q Foo<float>) (let tc TextureCube<float4> = (index ResourceDescriptorHeap 3)) (= q (? cond a b)) (let v float4 = (list 1 2 3 4)) (let rq RayQuery<?RAY_FLAG_NONE>) (call (. rq TraceRayInline) x 0 1 r) (let n float3 = (call normalize (call lerp a b (call saturate (call dot x y)))))})"##,
        ],
    );
}

#[test]
fn parameters() {
    check(
        Hlsl,
        r##"void f(float a[4], const in float3 b, Texture2D t, SamplerState s, inout uint4 c[2]);"##,
        &[
            r##"(function void f((array float 4) a, const float3 b, Texture2D t, SamplerState s, inout (array uint4 2) c))"##,
        ],
    );
}

#[test]
fn macros() {
    check(
        Hlsl,
        r##"#define TEX(n, r) Texture2D n : register(t##r)
TEX(alpha, 3); TEX(beta, 4);
#define LOOP(i, n) [unroll] for (int i = 0; i < n; ++i)
float f() { float s = 0; LOOP(k, 4) { s += k; } LOOP(j, 2) s -= j; return s; }"##,
        &[
            r##"(variables (let alpha Texture2D @register(t3)))"##,
            r##"(variables (let beta Texture2D @register(t4)))"##,
            r##"(function float f() {(let s float = 0)  @unroll (for (let k int = 0); (< k 4); (++_ k) {(+= s k)})  @unroll (for (let j int = 0); (< j 2); (++_ j) (-= s j)) (return s)})"##,
        ],
    );
}

#[test]
fn stages_and_strings() {
    check(
        Hlsl,
        r##"float4 main(float4 p : POSITION, uint i : SV_InstanceID) : SV_POSITION { return mul(float4(p.xyz, 1), World[i]); }
[domain("tri")] [partitioning("integer")] [outputcontrolpoints(3)] [patchconstantfunc("PC")] HSOut HS(InputPatch<VSOut, 3> ip, uint i : SV_OutputControlPointID) { HSOut o; return o; }
string name = "abc"; RaytracingShaderConfig cfg = { 16, 8 }; LocalRootSignature lrs = { "RootConstants( num32BitConstants = 4, b1 )" };"##,
        &[
            r##"(function float4 main(float4 p :POSITION, uint i :SV_InstanceID) :SV_POSITION {(return (call mul (construct float4 (. p xyz) 1) (index World i)))})"##,
            r##"(function @domain("tri") @partitioning("integer") @outputcontrolpoints(3) @patchconstantfunc("PC") HSOut HS(InputPatch<?VSOut, =3> ip, uint i :SV_OutputControlPointID) {(let o HSOut) (return o)})"##,
            r##"(variables (let name string = "abc"))"##,
            r##"(variables (let cfg RaytracingShaderConfig = (list 16 8)))"##,
            r##"(variables (let lrs LocalRootSignature = (list "RootConstants( num32BitConstants = 4, b1 )")))"##,
        ],
    );
}
