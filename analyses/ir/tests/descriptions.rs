//! Launches in a person's words: the notation of arguments, the unused ones with the reason, and the display
//! of a run's results.

use lockstep_ir::lower::c_family::{LowerOptions, lower_unit};
use lockstep_ir::{FunctionKind, Language, Module, Type};
use oracle::interp::simple::{DescribedArgument, DescribedValue, Untaken, launch, show, untaken};
use oracle::interp::{Argument, LaunchDescription, run_simple};
use syntax::c_family::{Dialect, parse_text};

fn kernel(text: &str, dialect: Dialect, language: Language) -> Module {
    let items = parse_text(text, dialect);
    let lowered = lower_unit(&items, &LowerOptions::new(language));
    let mut modules = lowered.into_iter().map(|(_, lowered)| lowered.module);
    modules
        .find(|module| module.functions[0].kind == FunctionKind::Kernel)
        .expect("an entry point")
}

fn description(arguments: &[&str], lanes: u32) -> LaunchDescription {
    LaunchDescription {
        lanes,
        arguments: arguments
            .iter()
            .map(|text| text.parse().unwrap_or_else(|error| panic!("{error}")))
            .collect(),
        ..LaunchDescription::default()
    }
}

#[test]
fn values_are_numbers_lists_and_elements() {
    use DescribedValue::{Elements, Float, Int};
    let words = |words: &[i32]| {
        words
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect::<Vec<u8>>()
    };
    let floats = |words: &[f32]| {
        words
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect::<Vec<u8>>()
    };
    for (text, name, value) in [
        ("5", None, Int(5)),
        ("-5", None, Int(-5)),
        ("+7", None, Int(7)),
        ("n=0x1F", Some("n"), Int(31)),
        ("n = -0x10 ", Some("n"), Int(-16)),
        ("n=0XfFfFfFfFfFfFfFfF", Some("n"), Int(-1)),
        ("18446744073709551615", None, Int(-1)),
        ("-9223372036854775808", None, Int(i64::MIN)),
        ("x=0.5", Some("x"), Float(0.5)),
        ("x=1e3", Some("x"), Float(1000.0)),
        ("x=-inf", Some("x"), Float(f64::NEG_INFINITY)),
        ("[1, 2,-3]", None, Elements(Type::I32, words(&[1, 2, -3]))),
        ("[1.5, 2]", None, Elements(Type::F32, floats(&[1.5, 2.0]))),
        ("[1e2]", None, Elements(Type::F32, floats(&[100.0]))),
        ("p=i32[3]", Some("p"), Elements(Type::I32, vec![0; 12])),
        ("p=f64[2]", Some("p"), Elements(Type::F64, vec![0; 16])),
        (
            "p=i8:1,-1,0x7f",
            Some("p"),
            Elements(Type::I8, vec![1, 255, 127]),
        ),
        (
            "p=u16:65535,2",
            Some("p"),
            Elements(Type::I16, vec![255, 255, 2, 0]),
        ),
        (
            "p=i64:-2",
            Some("p"),
            Elements(Type::I64, (-2i64).to_le_bytes().to_vec()),
        ),
        (
            "p=f32: 1.5 ,2",
            Some("p"),
            Elements(Type::F32, floats(&[1.5, 2.0])),
        ),
        (
            "p=f64:0.1",
            Some("p"),
            Elements(Type::F64, 0.1f64.to_le_bytes().to_vec()),
        ),
    ] {
        let expected = DescribedArgument {
            name: name.map(Into::into),
            value,
        };
        assert_eq!(text.parse(), Ok(expected), "{text}");
    }
    for text in [
        "",
        "n=",
        "five",
        "0x",
        "0x-5",
        "--5",
        "i32[",
        "i32[-1]",
        "i32[x]",
        "i24[3]",
        "i32[300000000]",
        "i32:",
        "i32:1,x",
        "i32:1.5",
        "f16:1",
        "[1,x]",
        "1,2",
    ] {
        let expected = format!(
            "`{text}`: expected a number, TYPE[COUNT] or TYPE:A,B,... with TYPE i8 to i64, f32 or f64"
        );
        assert_eq!(text.parse::<DescribedArgument>(), Err(expected));
    }
}

#[test]
fn what_has_no_use_says_why() {
    let text = "__device__ int factor; __device__ float weights[4]; __constant__ double scale; __device__ int unused_global;\n\
        __global__ void k(int* o, int n, float x) { __shared__ float s[2]; int local = n; s[threadIdx.x & 1] = x; __syncthreads();\n\
        o[threadIdx.x] = local + factor + (int)(weights[n & 3] * s[0] + scale); }";
    let module = kernel(text, Dialect::Cuda, Language::Cuda);
    for (argument, expected) in [
        ("n=3", None),
        ("factor=3", None),
        ("factor=i32:3", None),
        ("scale=3", None),
        ("scale=2.5", None),
        ("weights=f32:1,2,3,4", None),
        ("weights=3", Some(Untaken::Elements { bytes: Some(16) })),
        ("s=f32:1,2", None),
        (
            "s=f32:1,2,3",
            Some(Untaken::TooLong {
                bytes: 8,
                given: 12,
            }),
        ),
        ("s=i32:1,2", Some(Untaken::Element { holds: Type::F32 })),
        ("s=f64:1", Some(Untaken::Element { holds: Type::F32 })),
        ("s=0.5", Some(Untaken::Elements { bytes: Some(8) })),
        ("local=3", Some(Untaken::Unread)),
        ("nothing=3", Some(Untaken::NoSuchName)),
    ] {
        let found = untaken(&module, &description(&[argument], 2));
        let name = argument.split('=').next().unwrap_or_default();
        let expected: Vec<_> = expected.into_iter().map(|why| (name.into(), why)).collect();
        assert_eq!(found, expected, "{argument}");
    }
    let found = untaken(
        &module,
        &description(&["i32[4]", "1", "2", "3", "n=4", "5", "6"], 2),
    );
    assert_eq!(
        found,
        [
            ("3".into(), Untaken::Position),
            ("3".into(), Untaken::Position)
        ]
    );
    let shader = "Texture2D<float> t; SamplerState q; cbuffer C { float a; int2 b; }; uint c; RWStructuredBuffer<float> o;\n\
        [numthreads(4, 1, 1)] void main(uint i : SV_GroupIndex) { o[i] = t.SampleLevel(q, float2(a, b.y), 0) + c; }";
    let module = kernel(shader, Dialect::Hlsl, Language::Hlsl);
    for (argument, expected) in [
        ("t=f32:1", Some(Untaken::Resource)),
        ("q=1", Some(Untaken::Resource)),
        ("a=1", None),
        ("b=i32:1,2", None),
        ("c=7", None),
        ("o=f32[4]", None),
        ("C=f32:1,2,3,4", None),
        ("d=1", Some(Untaken::NoSuchName)),
    ] {
        let found = untaken(&module, &description(&[argument], 4));
        let why: Vec<_> = found.into_iter().map(|(_, why)| why).collect();
        assert_eq!(why, expected.into_iter().collect::<Vec<_>>(), "{argument}");
    }
}

#[test]
fn values_go_where_their_names_are() {
    let text = "__device__ int factor; __constant__ double scale;\n\
        __global__ void k(int* o, int n, float x) { __shared__ float s[2]; o[threadIdx.x] = n + factor * 100 + (int)(scale * 4) * 1000 + (int)(s[threadIdx.x & 1] * 2) * 10000 + (int)(x * 2) * 100000; }";
    let module = kernel(text, Dialect::Cuda, Language::Cuda);
    for (arguments, expected) in [
        (
            &[
                "o=i32[2]",
                "n=7",
                "x=1.5",
                "factor=3",
                "scale=0.5",
                "s=f32:1,2",
            ][..],
            [322_307, 342_307],
        ),
        (
            &[
                "i32:5,6",
                "-7",
                "2",
                "factor=i32:4",
                "scale=2",
                "s=f32:0,0.5",
            ],
            [408_393, 418_393],
        ),
        (
            &["x=1", "o=i32[2]", "9", "factor=0", "scale=0", "s=f32:0,0"],
            [200_009, 200_009],
        ),
    ] {
        let outcome = run_simple(&module, &description(arguments, 2));
        assert!(outcome.error.is_none(), "{:?}", outcome.error);
        let found: Vec<i32> = outcome.buffers[0]
            .words()
            .into_iter()
            .map(|word| word as i32)
            .collect();
        assert_eq!(found, expected, "{arguments:?}");
    }
    let given = LaunchDescription {
        workgroups: 3,
        warp_size: Some(16),
        max_steps: Some(77),
        seed: 5,
        ..description(&["n=2.5"], 0)
    };
    let launch = launch(&module, &given);
    assert_eq!(
        (launch.grid, launch.block, launch.warp_size),
        ([3, 1, 1], [1, 1, 1], 16)
    );
    assert_eq!((launch.limits.steps, launch.seed), (77, 5));
    assert!(matches!(launch.parameters[1], Argument::Float(x) if x == 2.5));
}

#[test]
fn outcomes_are_shown_by_type() {
    for (ty, bits, expected) in [
        (Type::Bool, 1, "true"),
        (Type::Bool, 0, "false"),
        (Type::I32, 5, "5"),
        (Type::I64, u64::MAX, "-1"),
        (Type::F32, u64::from(1.5f32.to_bits()), "1.5"),
        (Type::F32, u64::from(0.1f32.to_bits()), "0.1"),
        (Type::F32, u64::from(1e30f32.to_bits()), "1e30"),
        (Type::F32, u64::from(1e-20f32.to_bits()), "1e-20"),
        (Type::F64, 1e300f64.to_bits(), "1e300"),
        (Type::F64, 1234.0f64.to_bits(), "1234"),
        (Type::F64, 0.1f64.to_bits(), "0.1"),
        (Type::F16, 0x3e00, "1.5"),
        (Type::Handle, 31, "0x1f"),
        (Type::Ptr(lockstep_ir::Space::Global), 4096, "0x1000"),
    ] {
        assert_eq!(show(ty, bits), expected, "{ty:?}");
    }
    let text = "__global__ void k(int* o, float* p, signed char* q) { o[threadIdx.x] = -threadIdx.x; p[threadIdx.x] = threadIdx.x * 0.5f; q[threadIdx.x] = -2; }";
    let module = kernel(text, Dialect::Cuda, Language::Cuda);
    let outcome = run_simple(
        &module,
        &description(&["o=i32[3]", "p=f32[3]", "q=i8[4]"], 3),
    );
    let shown = outcome.to_string();
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(
        lines[..3],
        [
            "buffer 0: 0 -1 -2",
            "buffer 1: 0 0.5 1",
            "buffer 2: -2 -2 -2 0"
        ]
    );
    assert_eq!(lines.len(), 4);
    assert!(
        lines[3].ends_with(" by lanes") && lines[3].contains(" instructions, "),
        "{shown}"
    );
    // Of many elements the first.
    let many = run_simple(
        &module,
        &description(&["o=i32[64]", "p=f32[65]", "q=i8[64]"], 64),
    )
    .to_string();
    let counts: Vec<usize> = many
        .lines()
        .take(3)
        .map(|line| line.split(' ').count())
        .collect();
    assert_eq!(counts, [66, 67, 66], "{many}");
    assert!(
        many.lines()
            .nth(1)
            .is_some_and(|line| line.ends_with(" ..."))
    );
    let outside = run_simple(
        &module,
        &description(&["o=i32[2]", "p=f32[3]", "q=i8[4]"], 3),
    )
    .to_string();
    assert!(
        outside.contains("\nerror: ") || outside.contains("\nnote: "),
        "{outside}"
    );
}
