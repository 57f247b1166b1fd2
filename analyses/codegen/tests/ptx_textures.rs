//! Texture operations of shaders as PTX: every method of every shape is printed, read back without a problem, and taken by
//! `ptxas` where there is one; an implicit level of detail is the gradients across the quad.

#[path = "support/ptxas.rs"]
mod ptxas;

use ir::lower::c_family::{Environment, LowerOptions, UnitBodies, lower_item};
use ir::{FunctionKind, Module, TextureOp};
use lockstep_codegen::target::ptx::emit;
use oracle::interp::{self, Launch, TextureQuery, Textures};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use syntax::c_family::ast::ParsedItem;
use syntax::c_family::{Dialect, parse_unit};
use syntax::preprocess::preprocess_text;

/// The compute shader that stores `value`, a number of the thread `i` at the position `at` of this many coordinates.
fn shader(value: &str) -> String {
    format!(
        "Texture1D<float4> t1; Texture1DArray<float4> t1a; Texture2D<float4> t2; Texture2DArray<float4> t2a;\n\
         Texture3D<float4> t3; TextureCube<float4> tc; TextureCubeArray<float4> tca; Texture2D<float> d2;\n\
         Texture2DArray<float> d2a; TextureCube<float> dc; Texture2DMS<float4> ms;\n\
         SamplerState s; SamplerComparisonState c; RWStructuredBuffer<float> result;\n\
         [numthreads(32, 1, 1)] void main(uint3 id : SV_DispatchThreadID) {{\n\
         uint i = id.x; float x = i * i * 0.125; float y = i * 0.5; float z = i * 0.25; float l = 1;\n\
         result[i] = {value};\n}}\n"
    )
}

fn lowered(text: &str) -> Module {
    lowered_as(text, Dialect::Hlsl, ir::Language::Hlsl)
}

fn lowered_as(text: &str, dialect: Dialect, language: ir::Language) -> Module {
    let unit = preprocess_text("main", text, dialect);
    let items: Vec<Arc<ParsedItem>> = parse_unit(&unit, dialect)
        .into_iter()
        .map(|(_, _, item)| Arc::new(item))
        .collect();
    let environment = Environment::new(&items);
    let bodies = UnitBodies(items.iter().map(|i| (i.key.clone(), i.clone())).collect());
    let options = LowerOptions::new(language);
    let mut modules = items.iter().flat_map(|item| {
        assert_eq!(item.problems, vec![], "{text}");
        lower_item(&environment, &bodies, &item.key, &options)
    });
    let found = modules.find(|lowered| {
        assert_eq!(lowered.problems, vec![], "{text}");
        let function = lowered.module.functions.first();
        function.is_some_and(|f| f.kind != FunctionKind::Device && !f.layout.is_empty())
    });
    found.expect("an entry").module
}

fn read_back(text: &str) -> Module {
    let mut kernel = None;
    for (_, tree, lowered) in ir::lower::ptx::lower_text(text) {
        assert_eq!(tree.problems, vec![], "{text}");
        assert_eq!(lowered.problems, vec![], "{text}");
        if lowered.module.functions[0].kind == FunctionKind::Kernel {
            kernel = Some(lowered.module);
        }
    }
    kernel.expect("a kernel")
}

const FORMS: [&str; 40] = [
    "t1.Sample(s, x).x",
    "t1a.Sample(s, float2(x, l)).x",
    "t2.Sample(s, float2(x, y)).x",
    "t2a.Sample(s, float3(x, y, l)).x",
    "t3.Sample(s, float3(x, y, z)).x",
    "tc.Sample(s, float3(x, y, z)).x",
    "tca.Sample(s, float4(x, y, z, l)).x",
    "t2.Sample(s, float2(x, y), int2(1, -1)).x",
    "t3.Sample(s, float3(x, y, z), int3(1, -1, 2)).x",
    "t1.SampleBias(s, x, 1).x",
    "t2.SampleBias(s, float2(x, y), 1).x",
    "t2.SampleBias(s, float2(x, y), 1, int2(1, 0)).x",
    "tc.SampleBias(s, float3(x, y, z), 1).x",
    "t1.SampleLevel(s, x, 2).x",
    "t2.SampleLevel(s, float2(x, y), 2).x",
    "t2.SampleLevel(s, float2(x, y), 2, int2(1, 0)).x",
    "t3.SampleLevel(s, float3(x, y, z), 2).x",
    "tca.SampleLevel(s, float4(x, y, z, l), 2).x",
    "t1.SampleGrad(s, x, y, z).x",
    "t2.SampleGrad(s, float2(x, y), float2(y, z), float2(z, x)).x",
    "t2a.SampleGrad(s, float3(x, y, l), float2(y, z), float2(z, x), int2(1, 1)).x",
    "t3.SampleGrad(s, float3(x, y, z), float3(y, z, x), float3(z, x, y)).x",
    "tc.SampleGrad(s, float3(x, y, z), float3(y, z, x), float3(z, x, y)).x",
    "d2.SampleCmp(c, float2(x, y), 0.5)",
    "d2.SampleCmp(c, float2(x, y), 0.5, int2(1, 1))",
    "d2a.SampleCmp(c, float3(x, y, l), 0.5)",
    "d2.SampleCmpBias(c, float2(x, y), 0.5, 1)",
    "d2.SampleCmpGrad(c, float2(x, y), 0.5, float2(y, z), float2(z, x))",
    "d2.SampleCmpLevel(c, float2(x, y), 0.5, 2)",
    "d2.SampleCmpLevel(c, float2(x, y), 0.5, 2, int2(1, 1))",
    "d2.SampleCmpLevelZero(c, float2(x, y), 0.5)",
    "d2.SampleCmpLevelZero(c, float2(x, y), 0.5, int2(1, 1))",
    "t2.GatherBlue(s, float2(x, y)).x",
    "t2.Gather(s, float2(x, y), int2(1, 1)).x",
    "d2.GatherCmp(c, float2(x, y), 0.5).x",
    "t2.CalculateLevelOfDetail(s, float2(x, y))",
    "t3.CalculateLevelOfDetailUnclamped(s, float3(x, y, z))",
    "t2.Load(int3(i, i, 1)).x",
    "t2a.Load(int4(i, i, 1, 0)).x",
    "ms.Load(int2(i, i), 1).x",
];

#[test]
fn every_form_is_printed_and_taken() {
    let tool = ptxas::find();
    for form in FORMS {
        let text = match emit(&lowered(&shader(form))) {
            Ok(text) => text,
            Err(refusal) => panic!("{form}: {refusal}"),
        };
        read_back(&text);
        if let Some(tool) = &tool
            && let Err(errors) = ptxas::judge(tool, "sm_75", &text)
        {
            panic!("{form}: {errors}\n{text}");
        }
    }
    for refused in [
        "t2.Sample(s, float2(x, y), int2(1, 0), 0.5).x",
        "t2.Gather(s, float2(x, y), int2(1, 1), int2(1, 0), int2(0, 1), int2(0, 0)).x",
        "tc.CalculateLevelOfDetail(s, float3(x, y, z))",
    ] {
        assert!(emit(&lowered(&shader(refused))).is_err(), "{refused}");
    }
}

/// Returns the requests to the texture when the printed code runs.
fn asked(form: &str) -> Vec<(TextureOp, Vec<f64>, Option<f64>)> {
    let module = read_back(&emit(&lowered(&shader(form))).expect("it has a form"));
    let queries = Rc::new(RefCell::new(Vec::new()));
    let mut launch = Launch::for_function(&module.functions[0], 32, 1);
    let seen = queries.clone();
    launch.textures = Textures::Function(Rc::new(move |query: &TextureQuery<'_>| {
        if query.component == 0 {
            let coordinates = query.coordinates.to_vec();
            seen.borrow_mut().push((query.op, coordinates, query.extra));
        }
        0.0
    }));
    let outcome = interp::run(&module, &launch);
    assert_eq!(outcome.error, None, "{form}");
    let seen = queries.borrow().clone();
    assert_eq!(seen.len(), 32, "{form}");
    seen
}

#[test]
fn an_implicit_level_is_the_difference_across_the_quad() {
    for (form, scale) in [
        ("t2.Sample(s, float2(x, y)).x", 1.0),
        ("t2.SampleBias(s, float2(x, y), 3).x", 8.0),
        ("t2.SampleBias(s, float2(x, y), -1, int2(1, 2)).x", 0.5),
    ] {
        for (lane, (op, coordinates, gradient)) in asked(form).into_iter().enumerate() {
            let x = |lane: usize| (lane * lane) as f64 * 0.125;
            assert_eq!(op, TextureOp::SampleGradient, "{form}");
            assert_eq!(coordinates[..2], [x(lane), lane as f64 * 0.5], "{form}");
            let across = (x(lane ^ 1) - x(lane)).abs() * scale;
            assert_eq!(gradient.map(f64::abs), Some(across), "{form}, lane {lane}");
        }
    }
    for (_, _, level) in asked("d2.SampleLevel(s, float2(x, y), 2)") {
        assert_eq!(level, Some(2.0));
    }
}

#[test]
fn masks_of_four_words_and_sums_of_doubles_are_printed() {
    let tool = ptxas::find();
    for form in [
        "countbits(WaveActiveBallot(x > 1).x) + countbits(WaveActiveBallot(x > 1).w)",
        "(float)WaveActiveSum((double)x)",
        "(float)WavePrefixProduct((double)x)",
        "(float)WaveActiveMax((uint64_t)i)",
        "(float)WaveActiveBitOr((uint64_t)i)",
    ] {
        let text = match emit(&lowered(&shader(form))) {
            Ok(text) => text,
            Err(refusal) => panic!("{form}: {refusal}"),
        };
        let (before, after) = (lowered(&shader(form)), read_back(&text));
        let stored = |module: &Module| {
            let launch = Launch::for_function(&module.functions[0], 32, 1);
            let outcome = interp::run(module, &launch);
            assert_eq!(outcome.error, None, "{form}");
            let buffer = outcome
                .buffers
                .iter()
                .find(|buffer| buffer.bytes.len() >= 128);
            let bytes = buffer.expect("the result").bytes[..128].to_vec();
            assert!(bytes.iter().any(|&byte| byte != bytes[0]), "{form}");
            bytes
        };
        assert_eq!(stored(&before), stored(&after), "{form}");
        if let Some(tool) = &tool
            && let Err(errors) = ptxas::judge(tool, "sm_75", &text)
        {
            panic!("{form}: {errors}\n{text}");
        }
    }
}

#[test]
fn surfaces_of_bytes_and_halves_are_printed() {
    let text = "__global__ void k(cudaSurfaceObject_t a, cudaSurfaceObject_t b, int x, int y) {\n\
                uchar4 p; surf2Dread(&p, a, x * 4, y); p.x += 1; surf2Dwrite(p, b, x * 4, y);\n\
                unsigned short s = surf2Dread<unsigned short>(a, x * 2, y);\n\
                surf2Dwrite((unsigned short)(s + 1), b, x * 2, y); }\n";
    let module = lowered_as(text, Dialect::Cuda, ir::Language::Cuda);
    let printed = emit(&module).expect("it has a form");
    read_back(&printed);
    for part in [
        "suld.b.2d.v4.b8.trap",
        "sust.b.2d.v4.b8.trap",
        "suld.b.2d.b16.trap",
        "sust.b.2d.b16.trap",
    ] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    if let Some(tool) = &ptxas::find()
        && let Err(errors) = ptxas::judge(tool, "sm_75", &printed)
    {
        panic!("{errors}\n{printed}");
    }
}
