//! No text breaks the front end: cut off, mutated, random or nested without end, it returns in bounded time.

use crate::c_family::{Dialect, dump, parse_text, parse_unit};
use crate::error::ProblemKind;
use crate::preprocess::preprocess_text;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

const CUDA: &str = r#"
#pragma once
#include <cuda_runtime.h>
#define TILE 16
#define AT(m, r, c) ((m)[(r) * TILE + (c)])
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 700
namespace app { namespace detail {
template <typename T, int N = (4 > 2 ? 1 : 2)> struct Vec { T data[N]; __device__ T& operator[](int i) { return data[i]; } };
} }
#endif
__constant__ float coefficients[TILE] = { 0.5f, 1e-3f, .25 };
extern "C" __global__ void __launch_bounds__(256, 2) blur(const float* __restrict__ in, float* out, int n) {
    extern __shared__ float tile[];
    app::detail::Vec<float, 3> v{};
    auto square = [=] __device__ (float x) -> float { return x * x; };
#pragma unroll 4
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        if (i < TILE && AT(in, i, 0) > 0.f) tile[i] = square(in[i]) + static_cast<float>(n >> 2);
        else switch (i & 3) { case 0: continue; default: break; }
    }
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(n) : "r"(n + 1) : "memory");
    unsigned mask = __ballot_sync(0xffffffffu, n == 'a');
    out[n] = mask ? tile[0] : (float)v[1];
}
int main() { blur<<<dim3(1, 2), 256, 0, nullptr>>>(a, b, 3); char const* s = "text \" \x41"; return 0; }
"#;

const HLSL: &str = r#"
#define GROUP 8
cbuffer Frame : register(b0, space1) { float4x4 world : packoffset(c0); row_major float3x3 m; };
Texture2D<float4> source : register(t0); SamplerState linearSampler : register(s0);
RWStructuredBuffer<uint> result[] : register(u0);
groupshared float cache[GROUP * GROUP];
struct VSOut { float4 position : SV_Position; nointerpolation uint id : ID; };
[numthreads(GROUP, GROUP, 1)]
void csMain(uint3 id : SV_DispatchThreadID, uint gi : SV_GroupIndex) {
    cache[gi] = source.SampleLevel(linearSampler, id.xy / 64.0f, 0).x;
    GroupMemoryBarrierWithGroupSync();
    [unroll(4)] for (uint i = 0; i < 4; ++i) { [branch] if (cache[i] > 1.0f.x) result[NonUniformResourceIndex(i)][id.x] = asuint(cache[i]); }
}
float4 psMain(VSOut input, inout float depth : SV_Depth) : SV_Target { if (input.id == 0u) discard; float3 c = (float3)0; return float4(c.xyz, 1).wzyx; }
technique T { pass P { VertexShader = compile vs_2_0 main(); } }
"#;

fn parse(text: &str, dialect: Dialect) -> usize {
    let unit = preprocess_text("m", text, dialect);
    let items = parse_unit(&unit, dialect);
    for (start, end, item) in &items {
        assert!(start <= end && *end as usize <= text.len());
        for problem in &item.problems {
            assert!(
                problem.span.start <= problem.span.end
                    && start + problem.span.end <= text.len() as u32
            );
        }
    }
    items
        .iter()
        .map(|(_, _, item)| dump::item(item).len())
        .sum()
}

fn both(text: &str) {
    parse(text, Dialect::Cuda);
    parse(text, Dialect::Hlsl);
}

#[test]
fn the_samples_are_understood() {
    for (text, dialect) in [(CUDA, Dialect::Cuda), (HLSL, Dialect::Hlsl)] {
        for item in parse_text(text, dialect) {
            assert!(item.problems.is_empty(), "{:?}", item.problems);
            assert!(
                !dump::item(&item).contains("(unknown)"),
                "{}",
                dump::item(&item)
            );
        }
    }
}

#[test]
fn texts_cut_off_anywhere() {
    for text in [CUDA, HLSL] {
        for end in (0..text.len()).filter(|&end| text.is_char_boundary(end)) {
            both(&text[..end]);
        }
        for start in (0..text.len()).filter(|&start| text.is_char_boundary(start)) {
            both(&text[start..]);
        }
    }
}

#[test]
fn texts_with_a_byte_left_out_or_changed() {
    let mut random = StdRng::seed_from_u64(7);
    for (text, dialect) in [(CUDA, Dialect::Cuda), (HLSL, Dialect::Hlsl)] {
        for at in 0..text.len() {
            let mut bytes = text.as_bytes().to_vec();
            bytes.remove(at);
            parse(&String::from_utf8_lossy(&bytes), dialect);
            let mut bytes = text.as_bytes().to_vec();
            let replacements = b"(){}[]<>;,:.\"'#\\/*&=+- \nxX0";
            bytes[at] = replacements[random.random_range(0..replacements.len())];
            parse(&String::from_utf8_lossy(&bytes), dialect);
        }
    }
}

#[test]
fn random_bytes_and_random_tokens() {
    let mut random = StdRng::seed_from_u64(11);
    let words: Vec<&str> = CUDA
        .split_inclusive([' ', '\n'])
        .chain(HLSL.split_inclusive([' ', '\n']))
        .collect();
    for _ in 0..1_500 {
        let length = random.random_range(1..300);
        let bytes: Vec<u8> = (0..length).map(|_| random.random()).collect();
        both(&String::from_utf8_lossy(&bytes));
        let ascii: String = (0..length)
            .map(|_| random.random_range(9u8..127) as char)
            .collect();
        both(&ascii);
        let soup: String = (0..length / 4)
            .map(|_| words[random.random_range(0..words.len())])
            .collect();
        both(&soup);
        let brackets: String = (0..length)
            .map(|_| {
                "(){}[]<>;,x*&:=\n"[random.random_range(0..16)..]
                    .chars()
                    .next()
                    .unwrap_or('x')
            })
            .collect();
        both(&brackets);
    }
}

#[test]
fn nesting_without_end_is_a_limit() {
    const N: usize = 100_000;
    let deep = |open: &str, middle: &str, close: &str| {
        format!("{}{middle}{}", open.repeat(N), close.repeat(N))
    };
    let inside = [
        format!("x = {};", deep("(", "1", ")")),
        format!("x = {};", deep("f(", "1", ")")),
        format!("x = {};", deep("a[", "1", "]")),
        format!("x = {};", deep("{", "1", "}")),
        format!("x = {};", deep("[](){ return ", "1", "; }")),
        format!("x = {}1;", "-".repeat(N).replace("--", "- ")),
        format!("x = {}1;", "!".repeat(N)),
        format!("x = {}1;", "(int)".repeat(N)),
        format!("x = {}1;", "(a)".repeat(N)),
        format!("x = {}1;", "sizeof ".repeat(N)),
        format!("x = {}1;", "a ? b : ".repeat(N)),
        format!("x = {}1;", "a ? ".repeat(N)),
        format!("{}1;", "x = ".repeat(N)),
        format!("x = 1{};", " + 1".repeat(N)),
        format!("x = 1{};", ", 1".repeat(N)),
        format!("x = 1{};", " < a".repeat(N)),
        format!("x = a{};", ".b".repeat(N)),
        format!("x = a{};", "(1)".repeat(N)),
        format!("x = a{};", "::b".repeat(N)),
        format!("x = {};", deep("A<", "1", ">")),
        format!("{} x;", deep("A<", "int", ">")),
        format!("{} x;", deep("A<", "B", " >")),
        format!("x = {};", "A<(".repeat(N)),
        format!("int {}x;", "*".repeat(N)),
        format!("int x{};", "[1]".repeat(N)),
        format!("int {}x{};", "(*".repeat(N), ")".repeat(N)),
        deep("{", ";", "}"),
        deep("if (x) {", ";", "}"),
        format!("{};", "if (x) ".repeat(N)),
        format!("{};", "for (;;) ".repeat(N)),
        format!("if (x) ; {}", "else if (x) ; ".repeat(N)),
        "else ".repeat(N),
        format!("{};", "a: ".repeat(N)),
        deep("do ", ";", " while (x);"),
        format!("{};", deep("k<<<", "1", ">>>()")),
        format!("{};", "k<<<".repeat(N)),
        deep("struct S { ", "", "};"),
        deep("switch (x) { case 1: ", "", "}"),
        "{".repeat(N),
        "}".repeat(N),
        "(".repeat(N),
        "[".repeat(N),
        "<".repeat(N),
        ")".repeat(N),
        "a<(;".repeat(N),
        "(x".repeat(N),
        "f(;".repeat(N),
        "#\n".repeat(N),
    ];
    for text in &inside {
        let text = format!("void f() {{ {text} }}\nvoid g() {{ }}");
        both(&text);
    }
    let outside = [
        deep("namespace a { ", "", "}"),
        deep("extern \"C\" { ", "", "}"),
        deep("struct S { ", "", "};"),
        format!("{} void f();", "template <class T> ".repeat(N)),
        format!("{} void f();", deep("template <", "", ">")),
        deep("#if 1\n", "int x;\n", "#endif\n"),
        deep("#if 0\n", "int x;\n", "#endif\n"),
        format!("#if {}\n#endif", deep("(", "1", ")")),
        format!("#if {}1\n#endif", "!".repeat(N)),
        format!("#if 1{}\n#endif", " + 1".repeat(N)),
        format!("#if {}1\n#endif", "1 ? ".repeat(N)),
        format!("using X = {};", deep("A<", "int", ">")),
        format!("void f({});", deep("void (*a)(", "", ")")),
        format!("int x = {{{}}};", "{1},".repeat(N)),
        "[[a]]".repeat(N),
        "\\\n".repeat(N),
        "/*".repeat(N),
    ];
    for text in &outside {
        both(text);
    }
    let limited = parse_text(&format!("int x = {};", deep("(", "1", ")")), Dialect::Cuda);
    assert!(
        limited[0]
            .problems
            .iter()
            .any(|problem| problem.kind == ProblemKind::Limit)
    );
}

#[test]
fn long_chains_are_understood() {
    let sum = format!("int x = 1{};", " + 1".repeat(900));
    assert!(parse_text(&sum, Dialect::Cuda)[0].problems.is_empty());
    let chain = format!(
        "void f() {{ if (a) b(); {} }}",
        "else if (a) b(); ".repeat(500)
    );
    assert!(parse_text(&chain, Dialect::Cuda)[0].problems.is_empty());
}

#[test]
fn a_long_line_takes_linear_time() {
    let text = "float x = a * (b + c[3]) - f(1.0f, 2); ".repeat(19_000);
    assert_eq!(parse_text(&text, Dialect::Cuda).len(), 19_000);
    let found = format!(
        "void f() {{ {} }}",
        "x = a * (b + c[3]) - f(1.0f, 2); ".repeat(50_000)
    );
    assert_eq!(parse_text(&found, Dialect::Cuda).len(), 1);
    both(&"x".repeat(2_000_000));
    both(&"x ".repeat(300_000));
    both(&"\"".repeat(300_000));
    both(&"0x".repeat(300_000));
}
