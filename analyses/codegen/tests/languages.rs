//! The functions in `analyses/ir/tests/languages`, a construct each, as code: the results of IA-64 code in
//! the simulator, and of PTX read again and executed, are those of compilers of C and C++. GNU `as` and
//! NVIDIA's assembler take the text.
#![allow(clippy::disallowed_methods)]

#[path = "support/assembler.rs"]
mod assembler;
#[path = "support/judge.rs"]
#[allow(dead_code)]
mod judge;
#[path = "support/ptxas.rs"]
mod ptxas;

use ir::lower::c_family::{LowerOptions, lower_unit};
use ir::{FunctionKind, Language, Module};
use judge::module_of;
use lockstep_codegen::machine;
use lockstep_codegen::target::ia64::emit::{Options, emit};
use lockstep_codegen::target::ia64::passes::Limits;
use lockstep_codegen::target::ia64::pipeline::{self, Epilogue};
use lockstep_codegen::target::ptx;
use oracle::interp::{self, Argument, Buffer, Launch};
use simulate::ia64::{self as sim, Arg, Memory, Program};
use syntax::c_family::{Dialect, parse_text};

const GIVEN: [i32; 4] = [0, 1, 2, 5];

/// Names of functions, and their results for each of [`GIVEN`].
fn expected<'a>(source: &'a str, head: &str) -> Vec<(&'a str, Vec<i32>)> {
    let lines = source.lines().filter_map(|line| {
        let (name, _) = line.strip_prefix(head)?.split_once('(')?;
        let (_, numbers) = line.rsplit_once("// ")?;
        let numbers = numbers
            .split(' ')
            .map(|word| word.parse().expect("a number"));
        name.starts_with("t_").then(|| (name, numbers.collect()))
    });
    let all: Vec<_> = lines.collect();
    assert!(all.len() > 10);
    all
}

fn ways() -> Vec<(&'static str, Options)> {
    let pipelined = |epilogue, unroll| Options {
        decisions: 60,
        pipeline: Some(pipeline::Options {
            epilogue,
            unroll,
            ..pipeline::Options::default()
        }),
        ..Options::default()
    };
    let few = Limits {
        general: 4,
        float: 3,
        predicate: 2,
    };
    vec![
        ("plain", Options::default()),
        (
            "few registers",
            Options {
                total: true,
                wraps: true,
                limits: few,
                decisions: 30,
                ..Options::default()
            },
        ),
        (
            "an instruction a group",
            Options {
                bundles: false,
                ..Options::default()
            },
        ),
        ("pipelined", pipelined(Epilogue::Kernel, None)),
        ("unrolled", pipelined(Epilogue::Explicit, Some(2))),
    ]
}

#[test]
fn c_as_ia64_code() {
    let source = include_str!("../../ir/tests/languages/plain.c");
    let assembler = assembler::assembler();
    let mut wrong = Vec::new();
    let all = expected(source, "int ").into_iter();
    // What the host's library computes is not in the file.
    let all = all.filter(|(name, _)| *name != "t_library");
    for (number, (name, expected)) in all.enumerate() {
        let module = module_of(source, name);
        for (at, (way, options)) in ways().iter().enumerate() {
            let processor = ["itanium", "itanium2"][(number + at) % 2];
            let machine = machine::named(processor).expect("a table");
            let epic = machine.epic().expect("explicit groups");
            let emitted = match emit(&module, epic, options) {
                Ok(emitted) => emitted,
                Err(reasons) => {
                    wrong.push(format!("{name}, {way}: {reasons:?}"));
                    continue;
                }
            };
            let document = syntax::ia64::parse(&emitted.text);
            let (code, problems) = Program::new(&document, &emitted.text);
            assert_eq!(problems, [], "{name}, {way}");
            let found: Vec<Result<i32, String>> = GIVEN
                .iter()
                .map(|&k| {
                    let mut memory = Memory::new();
                    let limits = sim::Limits::default();
                    let given = [Arg::Integer(k as u64)];
                    let outcome = sim::run(&code, name, &given, &mut memory, &limits);
                    let outcome = outcome.map_err(|fault| fault.to_string())?;
                    match (&outcome.violations[..], &outcome.changed[..]) {
                        ([], []) => Ok(outcome.result.ok_or("no result")? as i32),
                        broken => Err(format!("{broken:?}")),
                    }
                })
                .collect();
            if found
                .iter()
                .zip(&expected)
                .any(|(found, e)| found.as_ref() != Ok(e))
            {
                wrong.push(format!("{name}, {way}: {found:?}, expected {expected:?}"));
            }
            if let Some(assembler) = &assembler
                && at == number % 5
            {
                let said = assembler::assembled(assembler, &emitted.text);
                assert!(said.is_empty(), "{name}, {way}: {said}");
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn kernel(text: &str) -> Module {
    let items = parse_text(text, Dialect::Cuda);
    let lowered = lower_unit(&items, &LowerOptions::new(Language::Cuda));
    let mut modules = lowered.into_iter().map(|(_, lowered)| lowered.module);
    modules
        .find(|module| module.functions[0].kind == FunctionKind::Kernel)
        .expect("a kernel")
}

/// The kernel of a PTX text.
fn read_again(text: &str) -> Module {
    let mut kernels =
        ir::lower::ptx::lower_text(text)
            .into_iter()
            .filter_map(|(_, tree, lowered)| {
                assert_eq!(tree.problems, vec![], "{text}");
                assert_eq!(lowered.problems, vec![], "{text}");
                let kind = lowered.module.functions[0].kind;
                (kind == FunctionKind::Kernel).then_some(lowered.module)
            });
    kernels.next().expect("a kernel")
}

fn words(module: &Module, given: &[u32], block: [u32; 3], grid: u32) -> Result<Vec<i32>, String> {
    let mut launch = Launch::new(1);
    launch.block = block;
    launch.grid = [grid, 1, 1];
    launch.buffers = vec![
        Buffer::of_u32(vec![0; given.len()]),
        Buffer::of_u32(given.iter().copied()),
    ];
    launch.parameters = [0, 1]
        .map(|buffer| Argument::Pointer { buffer, offset: 0 })
        .to_vec();
    let outcome = interp::run(module, &launch);
    match outcome.error {
        Some(error) => Err(error.to_string()),
        None => Ok(outcome.buffers[0]
            .words()
            .into_iter()
            .map(|word| word as i32)
            .collect()),
    }
}

#[test]
fn cpp_as_ptx() {
    let tool = ptxas::find();
    let mut wrong = Vec::new();
    let mut refused = Vec::new();
    for source in [
        include_str!("../../ir/tests/languages/cuda.cu"),
        include_str!("../../ir/tests/languages/classes.cu"),
    ] {
        for (number, (name, expected)) in
            expected(source, "__device__ int ").into_iter().enumerate()
        {
            let module = kernel(&format!(
                "{source}\n__global__ void all(int* o, const int* k) {{ o[threadIdx.x] = {name}(k[threadIdx.x]); }}"
            ));
            let text = match ptx::emit(&module) {
                Ok(text) => text,
                Err(refusal) => {
                    refused.push(format!("{name}: {refusal:?}"));
                    continue;
                }
            };
            let found = words(&read_again(&text), &GIVEN.map(|k| k as u32), [4, 1, 1], 1);
            // A function of PTX that calls itself is not executed.
            if found.as_ref() != Ok(&expected) && name != "t_constant" {
                wrong.push(format!("{name}: {found:?}, expected {expected:?}"));
            }
            if let Some(tool) = &tool
                && number % 3 == 0
                && let Err(errors) = ptxas::judge(tool, "sm_75", &text)
            {
                wrong.push(format!("{name}: {errors}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(refused, Vec::<String>::new());
}

/// Statements over `v`, `u`, `f` and `d`, that leave something in `r`.
const STATEMENTS: &[&str] = &[
    "r = __syncthreads_count(v > 2) + __syncthreads_and(v > -5) * 100 + __syncthreads_or(v == 6) * 1000;",
    "s[t] = v; __syncthreads(); r = s[31 - t]; __syncwarp(); __threadfence(); __threadfence_block();",
    "r = __shfl_sync(~0u, v, t / 2) + __shfl_up_sync(~0u, v, 3) * 100 + __shfl_down_sync(~0u, v, 2) * 10000;",
    "r = __shfl_xor_sync(~0u, v, 5) + __shfl_sync(~0u, v, 3, 8) * 100 + __shfl_down_sync(~0u, v, 5, 16) * 10000;",
    "r = (int)(__shfl_xor_sync(~0u, f, 16) * 4) + (int)__shfl_up_sync(~0u, d, 1);",
    "long long w = (long long)v << 33; r = (int)(__shfl_down_sync(~0u, w, 1) >> 32);",
    "r = __all_sync(~0u, v > -5) + __any_sync(~0u, v == 6) * 2 + __uni_sync(~0u, v > 9) * 4 + __ballot_sync(~0u, v & 1) * 8;",
    "r = __match_any_sync(~0u, v);",
    "if (v > 0) r = __activemask();",
    "r = __reduce_add_sync(~0u, v) + __reduce_min_sync(~0u, v) * 100 + __reduce_max_sync(~0u, u) % 1000 + __reduce_xor_sync(~0u, u) + __reduce_and_sync(~0u, u | 16) + __reduce_or_sync(~0u, u & 6);",
    "atomicAdd(s, 0); s[t] = 0; __syncthreads(); atomicAdd(s, v); atomicMax(s + 1, v); atomicMin(s + 2, v); atomicOr(s + 3, v & 6); atomicXor(s + 4, v); __syncthreads(); r = s[t & 7];",
    "s[t] = -1; __syncthreads(); atomicAnd(s, v | 8); atomicMin((unsigned*)s + 1, u); atomicMax((unsigned*)s + 2, u); atomicInc((unsigned*)s + 3, 9); atomicDec((unsigned*)s + 4, 9); atomicSub(s + 5, v); __syncthreads(); r = s[t & 7];",
    "s[t] = v; __syncthreads(); r = atomicExch(&s[t], 5) + s[t] * 100 + atomicCAS(&s[t], 5, t) * 1000 + s[t] * 10000;",
    "r = __popc(v) + __clz(v) * 100 + __ffs(v) * 10000 + __brev(v) / 7 + __popcll((long long)v << 20) + __clzll(v) * 3 + __ffsll(v) * 5;",
    "r = __mulhi(v << 20, 77777) + __umulhi(u << 20, 77777) + __mul24(v, 9) + __umul24(u & 255, 9) + (int)__mul64hi((long long)v << 40, 1ll << 30) + (int)__umul64hi(~0ull / 3, u);",
    "r = __sad(v, -3, 5) + __usad(u, 2, 7) + __hadd(v, 3) * 100 + __rhadd(v, 4) * 10000;",
    "r = __byte_perm(0x33221100 + v, 0x77665544, 0x6401) ^ __funnelshift_l(u, 0x87654321, 4) ^ __funnelshift_r(u, 0x87654321, 12) ^ __dp4a(v, 0x01020304, 5);",
    "r = __float_as_int(f) ^ __float2int_rn(f) ^ __float2int_rd(f) * 3 ^ __float2int_ru(f) * 5 ^ __float2int_rz(f) * 7 ^ (int)__float2uint_rz(f * f);",
    "r = (int)(fminf(f, 1) * 8 + fmaxf(f, 0) * 100 + fabsf(f) * 1000 + truncf(f) * 3 + floorf(f) * 5 + ceilf(f) * 7 + rintf(f) * 11 + roundf(f) * 13 + copysignf(2, f));",
    "r = (int)(fmaf(f, f, 2) * 4 + sqrtf(f * f) * 8 + 6 / (f * f + 1) + saturate_(f));",
    "r = (int)(fma(d, d, 2.0) * 4 + sqrt(d * d) * 8 + 6 / (d * d + 1) + floor(d) * 3 + ceil(d) * 5 + trunc(d) * 7 + fmin(d, 1.0) * 9 + fmax(d, 0.0) * 11 + fabs(d) * 13);",
    "r = (f < 1) + (f <= -1) * 2 + (f == 0.5f) * 4 + (f != f) * 8 + !(f >= 1) * 16 + (d > 2) * 32 + isnan(f / 0.0f) * 64 + isinf(f / 0.0f) * 128 + signbit(f) * 256 + isfinite(d) * 512;",
    "short h = (short)(v * 5000); unsigned short g = (unsigned short)(v * 9000); signed char c = (signed char)(v * 50); unsigned char b = (unsigned char)(v * 60); r = h + g * 3 + c * 5 + b * 7 + (h >> 2) + (g >> 2) + (c >> 1) + (b >> 1) + (h < c) + (g < b) + (short)(h * c) + (unsigned char)(b + c);",
    "short h = v; unsigned short g = v; h /= 3; g /= 3; h %= 2; g %= 1000; h = min(h, (short)2); g = max(g, (unsigned short)7); r = h * 10000 + g + (h << 3) + (short)~h + (short)-h;",
    "long long w = (long long)v * 3000000007ll; unsigned long long x = w; r = (int)(w / 1000) ^ (int)(x / 1000 >> 20) ^ (int)(w % 97) ^ (int)(x % 97) ^ (int)(w >> 30) ^ (int)(x >> 40) ^ (int)(w << 3 >> 32) ^ (w < 5) ^ (x < 5) ^ (int)min(w, 5ll) ^ (int)max(x, 7ull);",
    "r = v / 3 + v % 3 * 10 + (int)(u / 7) + (int)(u % 7) + (v << 2) + (v >> 1) + (int)(u >> 3) + (v & 6) + (v | 6) + (v ^ 6) + ~v + -v + abs(v) * 7 + min(v, 2) * 9 + max(u, 3u) % 100;",
    "r = (int)(float)v + (int)(double)u % 1000 + (int)(float)((long long)v << 20) % 1000 + (int)((float)(unsigned long long)u / 1e9f) + (int)(long long)d + (int)(unsigned)(f * f) + (int)(short)f + (int)(signed char)d + (int)(float)d + (int)((double)f * 4);",
    "__half h = __float2half(f), g = __int2half_rn(v); h = __hadd(h, g); h = __hfma(h, g, h); r = (int)(__half2float(h) * 4) + (__hlt(h, g) ? 100 : 200) + (int)__half2float(__hmul(g, __hneg(g))) + __half2int_rz(g) * 3 + __half_as_short(g);",
    "__half2 h = __floats2half2_rn(f, d), g = __half2half2(__float2half(1.5f)); h = __hadd2(h, __hmul2(h, g)); r = (int)(__low2float(h) * 4) + (int)(__high2float(h) * 8) * 100;",
    "bool b = v > 0, c = u > 5, e = b ^ c; r = (b & c) + (b | c) * 2 + e * 4 + !b * 8 + (b && !c) * 16 + (b ? c : e) * 32 + (b == c) * 64 + (b < c) * 128;",
    "int a[4] = {v, 1, 2, 3}; a[t & 3] += 5; short q[3] = {1, 2, 3}; q[t % 3] = v; r = a[0] + a[1] * 10 + a[t & 1] * 100 + q[v & 1] * 1000 + q[2];",
    "switch (v & 3) { case 0: r = 5; break; case 1: r = 7; case 2: r += 9; break; default: r = v; } for (int j = 0; j < (t & 7); ++j) { if (j == v) break; if (j & 1) continue; r += j * 3; }",
    "int n = 9; do { r += v; if (r > 40) break; } while (++r < (t & 15) && n--); while (r < -5) { r += 7; if (!(r & 1)) __syncwarp(__activemask()); }",
    "int4 w = make_int4(v, t, 3, 4); *(int4*)(s + (t & 7) * 4) = w; int2 x = *(int2*)(s + (t & 7) * 4 + 2); float4 y = make_float4(f, 1, 2, f); r = w.x + x.x * 10 + x.y * 100 + (int)((y.x + y.w) * 2);",
    "r = __ldg(a + (i ^ 1)) + a[i] * 100; volatile int* p = s + t; *p = r; r = *p + 1;",
    "r = (int)(rsqrtf(f * f + 1) * 100) + (int)(__fdividef(f, 4) * 8) + (int)(__frcp_rn(f * f + 1) * 100) + (int)(__fsqrt_rn(f * f) * 2);",
    "clock_t c = clock(); __nanosleep(10); r = v + (c == c); if (v == 77) __trap(); assert(v < 99);",
    "r = blockIdx.x * 1000 + blockDim.x * 100 + gridDim.x * 10 + threadIdx.y + threadIdx.z * 7 + warpSize;",
];

#[test]
fn statements_as_ptx() {
    let tool = ptxas::find();
    let given: Vec<u32> = (0..64).map(|i| (i * 7 % 23 - 9) as u32).collect();
    let mut wrong = Vec::new();
    for (number, statements) in STATEMENTS.iter().enumerate() {
        let module = kernel(&format!(
            "__device__ float saturate_(float x) {{ return __saturatef(x) * 64; }}\n\
             __global__ void k(int* o, const int* a) {{ __shared__ int s[64];\n\
             int t = threadIdx.x + 8 * (threadIdx.y + 2 * threadIdx.z), i = blockIdx.x * 32 + t, v = a[i], r = 0; unsigned u = v; float f = v * 0.5f; double d = v * 0.25;\n\
             {statements}\n o[i] = r; }}"
        ));
        assert!(module.functions[0].unknowns.is_empty(), "{statements}");
        let expected = words(&module, &given, [8, 2, 2], 2).expect("a result");
        let text = match ptx::emit(&module) {
            Ok(text) => text,
            Err(refusal) => {
                wrong.push(format!("{statements}: {refusal:?}"));
                continue;
            }
        };
        let found = words(&read_again(&text), &given, [8, 2, 2], 2);
        if found.as_ref() != Ok(&expected) {
            wrong.push(format!("{statements}: {found:?}, expected {expected:?}"));
        }
        if let Some(tool) = &tool
            && let Err(errors) =
                ptxas::judge(tool, if number == 9 { "sm_80" } else { "sm_75" }, &text)
        {
            wrong.push(format!("{statements}: {errors}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
