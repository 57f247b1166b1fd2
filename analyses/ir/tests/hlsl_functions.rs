//! Functions and operators of HLSL by execution: the value of an expression of a lane's number is that of
//! HLSL's reference, here in Rust; and the inputs that a launch gives to a program without described
//! arguments.

// Formulas stand as the reference has them.
#![allow(clippy::precedence)]

use lockstep_ir::lower::c_family::{LowerOptions, lower_unit};
use lockstep_ir::verify::verify_module;
use lockstep_ir::{FunctionKind, Language, Module};
use oracle::interp::{Argument, Buffer, Launch, LaunchDescription, Textures, run, run_simple};
use syntax::c_family::{Dialect, parse_text};

const LANES: u32 = 8;

fn kernel(text: &str, dialect: Dialect, language: Language) -> Module {
    let items = parse_text(text, dialect);
    for item in &items {
        assert!(item.problems.is_empty(), "{text}: {:?}", item.problems);
    }
    let lowered = lower_unit(&items, &LowerOptions::new(language));
    let mut modules = lowered.into_iter().map(|(_, lowered)| lowered.module);
    let module = modules
        .find(|module| module.functions[0].kind == FunctionKind::Kernel)
        .expect("an entry point");
    assert_eq!(verify_module(&module), Ok(()), "{text}");
    let unknowns: Vec<_> = module.functions[0].unknowns.values().collect();
    assert!(unknowns.is_empty(), "{text}: {unknowns:?}");
    module
}

/// The expected value for `v`.
type Of = fn(i32) -> i32;

/// Numbers that the statements leave in `r`; `i` is the lane's, `v` = i - 3, `u` the same without a sign, `f` = v / 2.
fn judged(all: &[(&str, Of)]) {
    for (statements, of) in all {
        let text = format!(
            "RWStructuredBuffer<int> o; [numthreads({LANES}, 1, 1)] void main(uint i : SV_GroupIndex) {{\n\
             int v = (int)i - 3, r = 0; uint u = (uint)v; float f = v * 0.5; {statements}\n o[i] = r; }}"
        );
        let module = kernel(&text, Dialect::Hlsl, Language::Hlsl);
        let mut launch = Launch::for_function(&module.functions[0], 1, 0);
        assert_eq!(launch.block, [LANES, 1, 1]);
        launch.buffers = vec![Buffer::of_u32(vec![0; LANES as usize])];
        launch.bindings = vec![("o".into(), 0)];
        let outcome = run(&module, &launch);
        assert!(outcome.error.is_none(), "{statements}: {:?}", outcome.error);
        let words = outcome.buffers[0].words();
        let found: Vec<i32> = words.into_iter().map(|word| word as i32).collect();
        let expected: Vec<i32> = (0..LANES as i32).map(|i| of(i - 3)).collect();
        assert_eq!(found, expected, "{statements}");
    }
}

#[test]
fn bits_are_seen_as_other_types() {
    judged(&[
        ("r = asint(f) ^ (int)asuint(f * 2);", |v| {
            (v as f32 * 0.5).to_bits() as i32 ^ (v as f32).to_bits() as i32
        }),
        ("r = (int)(asfloat(0x3f800000 + v * 8388608) * 64);", |v| {
            (2f32.powi(v) * 64.0) as i32
        }),
        ("int2 b = asint(float2(f, 1)); r = b.x / 1000 + b.y;", |v| {
            (v as f32 * 0.5).to_bits() as i32 / 1000 + 0x3f80_0000
        }),
        (
            "uint lo, hi; asuint((double)f, lo, hi); r = (int)(hi ^ lo);",
            |v| {
                let bits = (f64::from(v) * 0.5).to_bits();
                ((bits >> 32) as u32 ^ bits as u32) as i32
            },
        ),
        (
            "double d = asdouble(0u, 0x40080000u); r = (int)d + (int)asdouble(0, asuint(f) * 0 + 0x3ff00000u) * 10;",
            |_| 13,
        ),
        (
            "r = (int)f32tof16(f) + (int)(f16tof32(0x3c00u + i) * 1024);",
            |v| {
                let half = match v {
                    0 => 0,
                    _ => {
                        let bits = (v as f32 * 0.5).to_bits();
                        let exponent = (bits >> 23 & 255) as i32 - 127 + 15;
                        (bits >> 31 << 15) as i32 | exponent << 10 | (bits >> 13 & 1023) as i32
                    }
                };
                half + 1024 + v + 3
            },
        ),
        (
            "r = (int)countbits(u) + (int)firstbithigh(i + 1) * 100 + (int)firstbitlow(i + 8) * 1000 + (int)(reversebits(u) >> 24) * 10000;",
            |v| {
                let n = (v + 4) as u32;
                v.count_ones() as i32
                    + (31 - n.leading_zeros()) as i32 * 100
                    + (v + 11).trailing_zeros() as i32 * 1000
                    + ((v as u32).reverse_bits() >> 24) as i32 * 10_000
            },
        ),
        ("r = firstbithigh(v);", |v| match v {
            0 | -1 => -1,
            v if v < 0 => 31 - (!v).leading_zeros() as i32,
            v => 31 - v.leading_zeros() as i32,
        }),
    ]);
}

#[test]
fn vectors_and_matrices_compute_by_component() {
    judged(&[
        (
            "int3 a = int3(v, 2, 3); a *= a.zyx; r = a.x + a.y * 100 + a.z * 10000;",
            |v| 3 * v + 400 + 3 * v * 10_000,
        ),
        (
            "int2x2 m = { v, 2, 3, 4 }; r = (int)determinant((float2x2)m) + m._21 * 100;",
            |v| v * 4 - 6 + 300,
        ),
        (
            "float3x3 m = { f, 1, 2, 3, 4, 5, 6, 7, 9 }; r = (int)(determinant(m) * 2);",
            |v| {
                let f = v as f32 * 0.5;
                ((f * (36.0 - 35.0) - (27.0 - 30.0) + 2.0 * (21.0 - 24.0)) * 2.0) as i32
            },
        ),
        (
            "float4x4 m = { 1, 0, 0, 2, 0, f, 0, 0, 0, 0, 3, 0, 1, 0, 0, 4 }; r = (int)determinant(m * 2);",
            |v| (16.0 * (4.0 - 2.0) * v as f32 * 0.5 * 3.0) as i32,
        ),
        (
            "int2x3 m = { 1, v, 3, 4, 5, 6 }; int3x2 t = transpose(m); int2x2 p = mul(m, t); r = p._11 + p._12 * 100 + p._22 * 10000;",
            |v| 1 + v * v + 9 + (4 + 5 * v + 18) * 100 + 77 * 10_000,
        ),
        (
            "int2x3 m = { 1, v, 3, 4, 5, 6 }; int3 a = mul(int2(2, 3), m); int2 b = mul(m, int3(1, 2, 3)); r = a.x + a.y * 10 + a.z * 100 + b.x * 1000 + b.y * 100000;",
            |v| 14 + (2 * v + 15) * 10 + 24 * 100 + (10 + 2 * v) * 1000 + 32 * 100_000,
        ),
        (
            "int2x2 m = int2x2(1, 2, 3, 4) + v; m[1].x *= 10; m._m01 = 7; r = m[0][0] + m[0][1] * 10 + m[1][0] * 100 + m._22;",
            |v| 1 + v + 70 + (3 + v) * 1000 + 4 + v,
        ),
        (
            "r = dot(int3(v, 1, 2), int3(3, v, 4)) + (int)dot(float2(f, 1), float2(2, 3)) * 100;",
            |v| 4 * v + 8 + (v + 3) * 100,
        ),
        (
            "float3 c = cross(float3(f, 2, 3), float3(4, 5, 6)); r = (int)(c.x + c.y * 10 + c.z * 100);",
            |v| {
                let f = v as f32 * 0.5;
                (-3.0 + (12.0 - 6.0 * f) * 10.0 + (5.0 * f - 8.0) * 100.0) as i32
            },
        ),
        (
            "r = (int)(length(float3(2, 3, 6)) + distance(float2(f, 0), float2(f + 3, 4)) * 10) + (int)(normalize(float2(3, 4)).y * 10 + 0.5) * 1000;",
            |_| 57 + 8000,
        ),
        (
            "float2 a = reflect(float2(f, -1), float2(0, 1)), b = faceforward(float2(0, 1), float2(0, f - 0.25), float2(0, 1)); r = (int)(a.x * 2 + a.y * 10) + (int)b.y * 100;",
            |v| {
                v + 10
                    + if v as f32 * 0.5 - 0.25 < 0.0 {
                        100
                    } else {
                        -100
                    }
            },
        ),
        (
            "bool3 b = bool3(v > 0, v < 2, true); r = all(b) + any(b.xy) * 2 + any(bool2(v == 9, false)) * 4 + dot((int3)b, int3(8, 16, 32));",
            |v| {
                let (a, b) = (v > 0, v < 2);
                i32::from(a && b)
                    + 2 * i32::from(a || b)
                    + 8 * i32::from(a)
                    + 16 * i32::from(b)
                    + 32
            },
        ),
    ]);
}

#[test]
fn numbers_are_clamped_mixed_and_rounded() {
    judged(&[
        (
            "r = clamp(v, -1, 2) + (int)clamp(u, 1, 3) * 10 + (int)(clamp(f, -0.5, 1) * 2) * 100;",
            |v| v.clamp(-1, 2) + (v as u32).clamp(1, 3) as i32 * 10 + v.clamp(-1, 2) * 100,
        ),
        (
            "r = min(v, 1) + max(v, -1) * 10 + (int)min(u, 7) * 100 + abs(v) * 1000 + sign(v) * 10000;",
            |v| {
                v.min(1)
                    + v.max(-1) * 10
                    + (v as u32).min(7) as i32 * 100
                    + v.abs() * 1000
                    + v.signum() * 10_000
            },
        ),
        (
            "r = (int)(lerp(2, 6, f) * 2) + (int)(saturate(f) * 8) * 100 + (int)step(0.5, f) * 10000 + (int)(smoothstep(-1, 1, f) * 32) * 100000;",
            |v| {
                let f = v as f32 * 0.5;
                let t = ((f + 1.0) / 2.0).clamp(0.0, 1.0);
                ((2.0 + 4.0 * f) * 2.0) as i32
                    + (f.clamp(0.0, 1.0) * 8.0) as i32 * 100
                    + i32::from(f >= 0.5) * 10_000
                    + (t * t * (3.0 - 2.0 * t) * 32.0) as i32 * 100_000
            },
        ),
        (
            "r = (int)floor(f) + (int)ceil(f) * 10 + (int)trunc(f) * 100 + (int)round(f) * 1000 + (int)(frac(f) * 2) * 10000;",
            |v| {
                let f = v as f32 * 0.5;
                f.floor() as i32
                    + f.ceil() as i32 * 10
                    + f.trunc() as i32 * 100
                    + f.round_ties_even() as i32 * 1000
                    + ((f - f.floor()) * 2.0) as i32 * 10_000
            },
        ),
        (
            "r = (int)(fmod(f, 1) * 2) + (int)(mad(f, 4, 3)) * 10 + mad(v, 2, 1) * 100 + (int)ldexp(f, 3) * 1000;",
            |v| {
                let f = v as f32 * 0.5;
                (f % 1.0 * 2.0) as i32
                    + (f * 4.0 + 3.0) as i32 * 10
                    + (v * 2 + 1) * 100
                    + v * 4 * 1000
            },
        ),
        (
            "float e, w; float m = frexp(f + 4, e); float q = modf(f, w); r = (int)(m * 64) + (int)e * 1000 + (int)(q * 2) * 10000 + (int)w * 100000;",
            |v| {
                let f = v as f32 * 0.5;
                let x = f + 4.0;
                let e = x.log2().floor() + 1.0;
                (x / e.exp2() * 64.0) as i32
                    + e as i32 * 1000
                    + (f.fract() * 2.0) as i32 * 10_000
                    + f.trunc() as i32 * 100_000
            },
        ),
        (
            "float s, c; sincos(f, s, c); r = (int)(s * 100 + 0.5) * (c < 2) + isnan(s / 0 * 0) + isinf(1 / (f * f)) * 1000 + isfinite(c) * 2000;",
            |v| {
                let s = (v as f32 * 0.5).sin();
                (s * 100.0 + 0.5) as i32 + 1 + i32::from(v == 0) * 1000 + 2000
            },
        ),
        (
            "r = (v & 5) + (v | 2) * 10 + (v ^ 3) * 100 + (~v) * 1000 + (v << 2) + (v >> 1) * 7 + (int)(u >> 28) * 10000;",
            |v| {
                (v & 5)
                    + (v | 2) * 10
                    + (v ^ 3) * 100
                    + !v * 1000
                    + (v << 2)
                    + (v >> 1) * 7
                    + (v as u32 >> 28) as i32 * 10_000
            },
        ),
        (
            "r = v / 2 + v % 2 * 10 + (int)(u / 3 % 100) * 100 + (int)(u % 7) * 10000 + (int)(5.0 / 2) * 100000;",
            |v| {
                v / 2
                    + v % 2 * 10
                    + (v as u32 / 3 % 100) as i32 * 100
                    + (v as u32 % 7) as i32 * 10_000
                    + 200_000
            },
        ),
        (
            "r = (v > 0 ? 1 : 2) + select(v < 2, 10, 20) + (int)dot(select(bool2(v > 0, v > 2), float2(1, 2), float2(3, 4)), float2(100, 1000)) + and(v > 0, v < 3) * 7 + or(v > 2, v < 0) * 9;",
            |v| {
                let (a, b) = (v > 0, v > 2);
                let first = if a { 1 } else { 2 };
                first
                    + if v < 2 { 10 } else { 20 }
                    + if a { 100 } else { 300 }
                    + if b { 2000 } else { 4000 }
                    + i32::from(a && v < 3) * 7
                    + i32::from(b || v < 0) * 9
            },
        ),
    ]);
}

#[test]
fn waves_work_on_their_active_lanes() {
    judged(&[
        (
            "r = (int)WaveGetLaneIndex() + (int)WaveGetLaneCount() * 100;",
            |v| v + 3 + 3200,
        ),
        (
            "r = WaveActiveSum(v) + WaveActiveMin(v) * 100 + WaveActiveMax(v) * 1000 + WaveActiveProduct(v == 0 ? 1 : 2) * 10000;",
            |_| 4 - 300 + 4000 + 1_280_000,
        ),
        (
            "if (v > 0) r = WaveActiveSum(v) + (int)WaveActiveCountBits(v > 1) * 100 + WaveReadLaneFirst(v) * 1000 + WavePrefixSum(v) * 10000 + (int)WavePrefixCountBits(v > 1) * 1000000;",
            |v| match v {
                1.. => 10 + 300 + 1000 + v * (v - 1) / 2 * 10_000 + (v - 2).max(0) * 1_000_000,
                _ => 0,
            },
        ),
        (
            "r = WaveActiveAllTrue(v > -9) + WaveActiveAnyTrue(v > 3) * 2 + WaveActiveAllEqual(v) * 4 + WaveActiveAllEqual(7) * 8 + WaveIsFirstLane() * 16 + WaveReadLaneAt(v, 5) * 100;",
            |v| 1 + 2 + 8 + if v == -3 { 16 } else { 0 } + 200,
        ),
        (
            "r = (int)WaveActiveBallot(v > 1).x + (int)WaveActiveBitOr(i & 5) * 1000 + (int)WaveActiveBitAnd(i | 6) * 10000 + (int)WaveActiveBitXor(i) * 100000;",
            |_| 0b1110_0000 + 5000 + 60_000,
        ),
        (
            "r = (int)WaveMatch(v / 3).x + WavePrefixProduct(v == 0 ? 3 : 1) * 1000;",
            |v| {
                let same = (0..8)
                    .filter(|i| (i - 3) / 3 == v / 3)
                    .fold(0, |mask, i| mask | 1 << i);
                same + if v > 0 { 3000 } else { 1000 }
            },
        ),
        (
            "r = QuadReadAcrossX(v) + QuadReadAcrossY(v) * 10 + QuadReadAcrossDiagonal(v) * 100 + QuadReadLaneAt(v, 2) * 1000;",
            |v| {
                let i = v + 3;
                (i ^ 1) - 3 + ((i ^ 2) - 3) * 10 + ((i ^ 3) - 3) * 100 + ((i & !3 | 2) - 3) * 1000
            },
        ),
    ]);
}

#[test]
fn a_launch_suits_the_function() {
    let text = "__global__ void k(float* a, int n, const float* b, float x, bool c, double d) { a[threadIdx.x] = b[n] * x + c + d; }";
    let module = kernel(text, Dialect::Cuda, Language::Cuda);
    let function = &module.functions[0];
    for seed in 0..20 {
        let launch = Launch::for_function(function, 48, seed);
        assert_eq!(
            (launch.block, launch.grid, launch.warp_size),
            ([48, 1, 1], [1, 1, 1], 32)
        );
        assert_eq!(launch.buffers.len(), 2);
        for (number, buffer) in launch.buffers.iter().enumerate() {
            assert_eq!(
                buffer.bytes.len(),
                launch.default_bytes as usize,
                "{number}"
            );
            let words = buffer.bytes.chunks(4);
            let words = words.map(|word| {
                word.iter()
                    .rev()
                    .fold(0, |sum, &byte| sum << 8 | u32::from(byte))
            });
            let words: Vec<u32> = words.collect();
            let plain = words.iter().filter(|&&word| word < 64).count();
            let real = words.iter().map(|&word| f32::from_bits(word));
            let real = real.filter(|number| (1e-3..4.0).contains(number)).count();
            assert!(plain + real > words.len() * 99 / 100);
            assert!(plain > words.len() / 2 && real > words.len() / 8);
        }
        assert_ne!(launch.buffers[0].bytes, launch.buffers[1].bytes);
        let [a, n, b, x, c, d] = launch.parameters.as_slice() else {
            panic!("{:?}", launch.parameters);
        };
        assert!(matches!(
            a,
            Argument::Pointer {
                buffer: 0,
                offset: 0
            }
        ));
        assert!(matches!(
            b,
            Argument::Pointer {
                buffer: 1,
                offset: 0
            }
        ));
        assert!(matches!(n, Argument::Bits(1..=40)));
        assert!(matches!(c, Argument::Bits(0 | 1)));
        for number in [x, d] {
            let Argument::Float(number) = number else {
                panic!("{number:?}");
            };
            assert!((0.0..4.0).contains(number));
        }
    }
    // Contents are the seed's.
    let bytes = |seed| {
        Launch::for_function(function, 1, seed).buffers[0]
            .bytes
            .clone()
    };
    assert_eq!(bytes(3), bytes(3));
    assert_ne!(bytes(3), bytes(4));
    // A size of its own counts.
    let fixed = "RWStructuredBuffer<float> o; [numthreads(4, 2, 3)] void main(uint i : SV_GroupIndex) { o[i] = 1; }";
    let fixed = kernel(fixed, Dialect::Hlsl, Language::Hlsl);
    assert_eq!(
        Launch::for_function(&fixed.functions[0], 64, 0).block,
        [4, 2, 3]
    );
}

#[test]
fn textures_without_contents_are_waves_of_their_coordinates() {
    let text = "Texture2D<float> t; Texture2D<uint> q; SamplerState s; RWStructuredBuffer<float> o; [numthreads(8, 1, 1)] void main(uint i : SV_GroupIndex) {\n\
        uint w, h, l; t.GetDimensions(0, w, h, l);\n\
        o[i] = t[uint2(i, 3)]; o[8 + i] = t[uint2(i, 3)]; o[16 + i] = t[uint2(i, 4)]; o[24 + i] = t.SampleLevel(s, float2(i / 8.0, 0.5), 0); o[32 + i] = q[uint2(i, 1)]; o[40 + i] = w * 10000 + h * 10 + l; }";
    let module = kernel(text, Dialect::Hlsl, Language::Hlsl);
    let mut launch = Launch::for_function(&module.functions[0], 8, 0);
    assert!(matches!(launch.textures, Textures::Procedural));
    launch.buffers = vec![Buffer::of_u32(vec![0; 48])];
    launch.bindings = vec![("o".into(), 0)];
    let outcome = run(&module, &launch);
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    let words = outcome.buffers[0].words();
    let numbers: Vec<f32> = words.into_iter().map(f32::from_bits).collect();
    let rows: Vec<&[f32]> = numbers.chunks(8).collect();
    assert_eq!(rows[0], rows[1]);
    assert_ne!(rows[0], rows[2]);
    assert_eq!(rows[5], [2_562_564.0; 8]);
    for row in [rows[0], rows[2], rows[3]] {
        assert!(row.iter().all(|x| (0.0..=1.0).contains(x)), "{row:?}");
        assert!(row.windows(2).all(|pair| pair[0] != pair[1]), "{row:?}");
    }
    // Numbers without a fraction, of a byte.
    let whole = |x: &f32| (0.0..=255.0).contains(x) && x.fract() == 0.0;
    assert!(rows[4].iter().all(whole) && rows[4].iter().any(|x| *x > 1.0));
    // Another row of a texture of two waves is not the same row moved by a constant.
    let apart: Vec<f32> = rows[0].iter().zip(rows[2]).map(|(a, b)| b - a).collect();
    assert!(
        apart
            .windows(2)
            .all(|pair| (pair[0] - pair[1]).abs() < 1e-5),
        "{apart:?}"
    );
}

#[test]
fn arguments_are_given_by_name() {
    let text = "__device__ int factor[4]; __device__ float weight; __shared__ int s[2];\n\
        __global__ void k(int* o, int n, float x) { o[threadIdx.x] = n + factor[threadIdx.x & 3] * 100 + (int)(weight * 4) * 10000 + (int)(x * 2) * 1000; }";
    let module = kernel(text, Dialect::Cuda, Language::Cuda);
    for (arguments, expected) in [
        (
            [
                "o=i32[4]",
                "n=7",
                "x=1.5",
                "factor=i32:1,2,3,4",
                "weight=0.5",
            ],
            vec![23_107, 23_207, 23_307, 23_407],
        ),
        (
            ["o=i32:9,9", "n=-2", "x=2", "factor=i32:5,5,5,5", "weight=2"],
            vec![84_498, 84_498],
        ),
    ] {
        let description = LaunchDescription {
            lanes: expected.len() as u32,
            arguments: arguments
                .iter()
                .map(|argument| argument.parse().expect("an argument"))
                .collect(),
            ..LaunchDescription::default()
        };
        let outcome = run_simple(&module, &description);
        assert!(outcome.error.is_none(), "{:?}", outcome.error);
        let found: Vec<i32> = outcome.buffers[0]
            .words()
            .into_iter()
            .map(|word| word as i32)
            .collect();
        assert_eq!(found, expected, "{arguments:?}");
    }
}
