//! Functions that a dialect names, by execution: the result of each for a few numbers, and the mathematical
//! value.

use lockstep_ir::lower::c_family::{LowerOptions, lower_unit};
use lockstep_ir::{FunctionKind, Language, Module};
use oracle::interp::{Argument, Buffer, Launch, run};
use std::f64::consts::PI;
use syntax::c_family::{Dialect, parse_text};

fn kernel(source: &str, dialect: Dialect, language: Language) -> Module {
    let items = parse_text(source, dialect);
    let lowered = lower_unit(&items, &LowerOptions::new(language));
    let mut kernels = lowered
        .into_iter()
        .map(|(_, lowered)| lowered.module)
        .filter(|module| module.functions[0].kind == FunctionKind::Kernel);
    kernels
        .next()
        .unwrap_or_else(|| panic!("a kernel: {source}"))
}

/// Returns for each pair of numbers the value of a CUDA expression of `x` and `y` as a `float`.
fn cuda(expression: &str, pairs: &[(f32, f32)]) -> Vec<f32> {
    let text = format!(
        "__global__ void k(float* o, const float* a) {{ float x = a[2 * threadIdx.x], y = a[2 * threadIdx.x + 1]; o[threadIdx.x] = {expression}; }}"
    );
    let module = kernel(&text, Dialect::Cuda, Language::Cuda);
    let mut launch = Launch::new(pairs.len() as u32);
    let given = pairs.iter().flat_map(|&(x, y)| [x.to_bits(), y.to_bits()]);
    launch.buffers = vec![Buffer::of_u32(vec![0; pairs.len()]), Buffer::of_u32(given)];
    launch.parameters = [0, 1]
        .map(|buffer| Argument::Pointer { buffer, offset: 0 })
        .to_vec();
    let outcome = run(&module, &launch);
    assert!(outcome.error.is_none(), "{expression}: {:?}", outcome.error);
    outcome.buffers[0]
        .words()
        .into_iter()
        .map(f32::from_bits)
        .collect()
}

fn hlsl(expression: &str, numbers: &[f32]) -> Vec<f32> {
    let lanes = numbers.len();
    let text = format!(
        "StructuredBuffer<float> a; RWStructuredBuffer<float> o;
         [numthreads({lanes}, 1, 1)] void main(uint i : SV_GroupIndex) {{ float x = a[i]; o[i] = {expression}; }}"
    );
    let module = kernel(&text, Dialect::Hlsl, Language::Hlsl);
    let mut launch = Launch::for_function(&module.functions[0], lanes as u32, 0);
    let given = numbers.iter().map(|x| x.to_bits());
    launch.buffers = vec![Buffer::of_u32(given), Buffer::of_u32(vec![0; lanes])];
    launch.bindings = vec![("a".into(), 0), ("o".into(), 1)];
    let outcome = run(&module, &launch);
    assert!(outcome.error.is_none(), "{expression}: {:?}", outcome.error);
    outcome.buffers[1]
        .words()
        .into_iter()
        .map(f32::from_bits)
        .collect()
}

/// Returns whether a number is equal to the expected one up to a share.
fn near(found: f32, expected: f64, share: f64) -> bool {
    let (found, least) = (f64::from(found), share.max(1e-7));
    found.is_nan() && expected.is_nan()
        || found == expected
        || (found - expected).abs() <= share * expected.abs() + least * 1e-2
}

type Real = (&'static str, fn(f64) -> f64, &'static [f32]);
type Arithmetic = (&'static str, fn(f32, f32) -> f32);
type Comparison = (&'static str, fn(f32, f32) -> bool);

const ANY: &[f32] = &[-2.5, -1.5, -0.5, 0.25, 0.5, 1.5, 2.5, 3.75];
const POSITIVE: &[f32] = &[0.125, 0.3, 0.75, 1.0, 2.5, 10.0];
const UNIT: &[f32] = &[-0.9, -0.25, 0.125, 0.5, 0.875];
const ABOVE: &[f32] = &[1.0, 1.25, 2.0, 5.0];

const REAL: &[Real] = &[
    ("acos", f64::acos, UNIT),
    ("asin", f64::asin, UNIT),
    ("atan", f64::atan, ANY),
    ("acosh", f64::acosh, ABOVE),
    ("asinh", f64::asinh, ANY),
    ("atanh", f64::atanh, UNIT),
    ("ceil", f64::ceil, ANY),
    ("cos", f64::cos, ANY),
    ("cosh", f64::cosh, ANY),
    ("exp", f64::exp, ANY),
    ("exp2", f64::exp2, ANY),
    ("floor", f64::floor, ANY),
    ("log", f64::ln, POSITIVE),
    ("log2", f64::log2, POSITIVE),
    ("log10", f64::log10, POSITIVE),
    ("rsqrt", |x| 1.0 / x.sqrt(), POSITIVE),
    ("sin", f64::sin, ANY),
    ("sinh", f64::sinh, ANY),
    ("sqrt", f64::sqrt, POSITIVE),
    ("tan", f64::tan, ANY),
    ("tanh", f64::tanh, ANY),
    ("trunc", f64::trunc, ANY),
];

#[test]
fn functions_of_one_number_in_hlsl() {
    let own: &[Real] = &[
        ("degrees", f64::to_degrees, ANY),
        ("radians", f64::to_radians, ANY),
        ("frac", |x| x - x.floor(), ANY),
        ("rcp", |x| 1.0 / x, POSITIVE),
        ("round", f64::round_ties_even, ANY),
        ("saturate", |x| x.clamp(0.0, 1.0), ANY),
        ("abs", f64::abs, ANY),
        ("sign", f64::signum, ANY),
    ];
    for (name, of, numbers) in REAL.iter().chain(own) {
        if ["acosh", "asinh", "atanh"].contains(name) {
            continue;
        }
        for (&x, found) in numbers.iter().zip(hlsl(&format!("{name}(x)"), numbers)) {
            let expected = of(f64::from(x));
            assert!(
                near(found, expected, 1e-5),
                "{name}({x}): {found}, {expected}"
            );
        }
    }
}

#[test]
fn functions_of_one_number_in_cuda() {
    let own: &[Real] = &[
        ("fabs", f64::abs, ANY),
        ("exp10", |x| 10f64.powf(x), ANY),
        ("expm1", f64::exp_m1, ANY),
        ("log1p", f64::ln_1p, POSITIVE),
        ("cbrt", f64::cbrt, ANY),
        ("rint", f64::round_ties_even, ANY),
        ("round", f64::round, ANY),
        ("sinpi", |x| (PI * x).sin(), ANY),
        ("cospi", |x| (PI * x).cos(), &[-1.75, 0.25, 1.0, 2.25]),
    ];
    for (name, of, numbers) in REAL.iter().chain(own) {
        let pairs: Vec<(f32, f32)> = numbers.iter().map(|&x| (x, 0.0)).collect();
        for (&x, found) in numbers.iter().zip(cuda(&format!("{name}f(x)"), &pairs)) {
            let expected = of(f64::from(x));
            assert!(
                near(found, expected, 1e-5),
                "{name}f({x}): {found}, {expected}"
            );
        }
    }
}

/// Values of the gamma function on both sides of where it is reflected.
#[test]
fn the_gamma_function() {
    let root = PI.sqrt();
    let gamma = [
        (-2.5, -8.0 / 15.0 * root),
        (-1.5, 4.0 / 3.0 * root),
        (-0.5, -2.0 * root),
        (0.25, 3.625_609_908_221_908),
        (0.5, root),
        (1.0, 1.0),
        (1.5, root / 2.0),
        (4.0, 6.0),
        (6.0, 120.0),
    ];
    let pairs: Vec<(f32, f32)> = gamma.iter().map(|&(x, _)| (x, 0.0)).collect();
    for (&(x, expected), found) in gamma.iter().zip(cuda("tgammaf(x)", &pairs)) {
        assert!(
            near(found, expected, 1e-5),
            "gamma({x}): {found}, {expected}"
        );
    }
    for (&(x, expected), found) in gamma.iter().zip(cuda("lgammaf(x)", &pairs)) {
        let expected = expected.abs().ln();
        assert!(
            near(found, expected, 1e-4),
            "log gamma({x}): {found}, {expected}"
        );
    }
}

#[test]
fn halves() {
    let own: &[Real] = &[
        ("exp10", |x| 10f64.powf(x), ANY),
        ("rcp", |x| 1.0 / x, POSITIVE),
        ("rint", f64::round_ties_even, ANY),
    ];
    let exact: &[Real] = &[
        ("rsqrt", |x| 1.0 / x.sqrt(), POSITIVE),
        ("sqrt", f64::sqrt, POSITIVE),
        ("sin", f64::sin, ANY),
        ("cos", f64::cos, ANY),
        ("exp", f64::exp, ANY),
        ("exp2", f64::exp2, ANY),
        ("log", f64::ln, POSITIVE),
        ("log2", f64::log2, POSITIVE),
        ("log10", f64::log10, POSITIVE),
        ("floor", f64::floor, ANY),
        ("ceil", f64::ceil, ANY),
        ("trunc", f64::trunc, ANY),
    ];
    for (name, of, numbers) in exact.iter().chain(own) {
        let pairs: Vec<(f32, f32)> = numbers.iter().map(|&x| (x, x + 1.0)).collect();
        let single = cuda(&format!("__half2float(h{name}(__float2half(x)))"), &pairs);
        let double = cuda(
            &format!("__high2float(h2{name}(__floats2half2_rn(y, x)))"),
            &pairs,
        );
        for ((&x, single), double) in numbers.iter().zip(single).zip(double) {
            let expected = of(f64::from(x));
            for found in [single, double] {
                assert!(
                    near(found, expected, 6e-3),
                    "h{name}({x}): {found}, {expected}"
                );
            }
        }
    }
    let pairs = [
        (1.5, 0.5),
        (0.5, 1.5),
        (-2.0, -2.0),
        (3.0, -4.0),
        (f32::NAN, 1.0),
        (1.0, f32::NAN),
    ];
    let numbers: &[Arithmetic] = &[
        ("add", |x, y| x + y),
        ("sub", |x, y| x - y),
        ("mul", |x, y| x * y),
        ("div", |x, y| x / y),
        ("min", f32::min),
        ("max", f32::max),
    ];
    for (name, of) in numbers {
        let found = cuda(
            &format!("__half2float(__h{name}(__float2half(x), __float2half(y)))"),
            &pairs,
        );
        for (&(x, y), found) in pairs.iter().zip(found) {
            assert!(
                near(found, f64::from(of(x, y)), 6e-3),
                "{name} {x} {y}: {found}"
            );
        }
    }
    let ordered: &[Comparison] = &[
        ("eq", |x, y| x == y),
        ("ne", |x, y| x != y && !x.is_nan() && !y.is_nan()),
        ("lt", |x, y| x < y),
        ("le", |x, y| x <= y),
        ("gt", |x, y| x > y),
        ("ge", |x, y| x >= y),
    ];
    for (name, of) in ordered {
        for unordered in [false, true] {
            let written = if unordered {
                format!("{name}u")
            } else {
                (*name).to_string()
            };
            let found = cuda(
                &format!("__h{written}(__float2half(x), __float2half(y)) ? 1.0f : 0.0f"),
                &pairs,
            );
            let both = cuda(
                &format!(
                    "__hb{written}2(__floats2half2_rn(x, x), __floats2half2_rn(y, y)) ? 1.0f : 0.0f"
                ),
                &pairs,
            );
            for ((&(x, y), found), both) in pairs.iter().zip(found).zip(both) {
                let expected = of(x, y) || unordered && (x.is_nan() || y.is_nan());
                assert_eq!(
                    (found, both),
                    (f32::from(expected), f32::from(expected)),
                    "{written} {x} {y}"
                );
            }
        }
    }
}

/// The last part of a name tells a stage to the command line, in any case.
#[test]
fn stages_by_name() {
    use lockstep_ir::function::ShaderStage::*;
    use lockstep_ir::lower::c_family::stages::named_stage;
    for (name, stage) in [
        ("vertex", Vertex),
        ("pixel", Pixel),
        ("Fragment", Pixel),
        ("geometry", Geometry),
        ("hull", Hull),
        ("DOMAIN", Domain),
        ("mesh", Mesh),
        ("amplification", Amplification),
        ("closesthit", RayTracing),
        ("miss", RayTracing),
    ] {
        assert_eq!(
            named_stage(name),
            Some(FunctionKind::Stage(stage)),
            "{name}"
        );
    }
    for name in ["compute", "Node", "kernel"] {
        assert_eq!(named_stage(name), Some(FunctionKind::Kernel), "{name}");
    }
    assert_eq!(named_stage("pixels"), None);
}
