//! HLSL sources lowered and executed: the layout of buffers, and constants given by name.

use lockstep_ir::lower::c_family::{LowerOptions, Lowered, lower_unit};
use lockstep_ir::verify::verify_module;
use lockstep_ir::{FunctionKind, Language};
use oracle::interp::{Buffer, Launch, LaunchDescription, run, run_simple};
use syntax::c_family::{Dialect, parse_text};

fn kernel(source: &str, native_16bit: bool) -> Lowered {
    let items = parse_text(source, Dialect::Hlsl);
    let mut options = LowerOptions::new(Language::Hlsl);
    options.native_16bit = native_16bit;
    let kernel = lower_unit(&items, &options)
        .into_iter()
        .map(|(_, lowered)| lowered)
        .find(|l| l.module.functions[0].kind == FunctionKind::Kernel)
        .expect("an entry point");
    assert_eq!(verify_module(&kernel.module), Ok(()));
    assert!(kernel.problems.is_empty(), "{:?}", kernel.problems);
    kernel
}

/// Runs four lanes over a buffer `a` of the words 0, 1, 2, ...; returns the contents of `o` afterwards.
fn words(source: &str, native_16bit: bool) -> Vec<u32> {
    let kernel = kernel(source, native_16bit);
    let mut launch = Launch::for_function(&kernel.module.functions[0], 4, 0);
    launch.buffers = vec![Buffer::of_u32(0..64), Buffer::of_u32([0; 4])];
    launch.bindings = vec![("a".into(), 0), ("o".into(), 1)];
    let outcome = run(&kernel.module, &launch);
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    outcome.buffers[1].words()
}

fn body(declarations: &str, value: &str) -> String {
    format!(
        "{declarations} RWStructuredBuffer<uint> o; \
         [numthreads(4, 1, 1)] void main(uint i : SV_GroupIndex) {{ o[i] = {value}; }}"
    )
}

#[test]
fn matrices_of_structured_buffers_lie_by_columns() {
    let plain = body("StructuredBuffer<uint2x3> a;", "a[i]._m01");
    assert_eq!(words(&plain, false), [2, 8, 14, 20]);
    let turned = body("row_major StructuredBuffer<uint2x3> a;", "a[i]._m01");
    assert_eq!(words(&turned, false), [1, 7, 13, 19]);
    let member = body(
        "struct S { uint n; row_major uint2x2 r; uint2x2 c; }; StructuredBuffer<S> a;",
        "a[i].r._m01 * 100 + a[i].c._m01 + a[i].n * 10000",
    );
    assert_eq!(words(&member, false), [207, 91_116, 182_025, 272_934]);
    let row = body("StructuredBuffer<uint4x4> a;", "a[0][1][i]");
    assert_eq!(words(&row, false), [1, 5, 9, 13]);
}

#[test]
fn the_pragma_holds_for_what_follows_and_gives_way_to_a_word() {
    let pragma = "#pragma pack_matrix(row_major)\n";
    let struct_text = "struct S { uint2x2 r; column_major uint2x2 c; };\n";
    let text = body(
        &format!("{pragma}{struct_text}StructuredBuffer<S> a;\n"),
        "a[i].r._m01 * 100 + a[i].c._m01",
    );
    assert_eq!(words(&text, false), [106, 914, 1722, 2530]);
    let buffer = body(
        &format!("{pragma}StructuredBuffer<uint2x2> a;\n#pragma pack_matrix(column_major)\n"),
        "a[i]._m01",
    );
    assert_eq!(words(&buffer, false), [1, 5, 9, 13]);
}

#[test]
fn half_has_two_bytes_with_the_switch_alone() {
    // The words 0, 1, 2 as 16-bit numbers are 0, 0, 1, 0.
    let text = body("StructuredBuffer<min16uint> a;", "a[i]");
    assert_eq!(words(&text, false), [0, 1, 2, 3]);
    assert_eq!(words(&text, true), [0, 0, 1, 0]);
    let half = body("StructuredBuffer<half> a;", "asuint(float(a[i]))");
    assert_eq!(words(&half, false), [0, 1, 2, 3]);
    assert_eq!(words(&half, true)[1], 0);
    let always = body("StructuredBuffer<uint16_t> a;", "a[i]");
    assert_eq!(words(&always, false), words(&always, true));
}

#[test]
fn members_of_constant_buffers_are_given_by_name() {
    let text = "cbuffer Frame { float scale; uint2 size; }; uint step; RWStructuredBuffer<uint> o; \
        [numthreads(4, 1, 1)] void main(uint i : SV_GroupIndex) { o[i] = uint(scale * 2) + size.y * step + i; }";
    let kernel = kernel(text, false);
    let arguments = ["scale=1.5", "size=i32:7,10", "step=3", "o=i32[4]"];
    let description = LaunchDescription {
        lanes: 4,
        arguments: arguments.iter().filter_map(|a| a.parse().ok()).collect(),
        ..LaunchDescription::default()
    };
    let outcome = run_simple(&kernel.module, &description);
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    let out = outcome
        .buffers
        .iter()
        .find(|b| b.name.as_deref() == Some("o"));
    assert_eq!(out.map(|b| b.words()), Some(vec![33, 34, 35, 36]));
}

/// The word at which a member of a constant buffer begins, by the packing rules: registers of four words, that nothing but
/// arrays and structures of several registers crosses; elements of arrays, structures and matrices begin a register.
#[test]
fn members_of_constant_buffers_lie_in_registers_of_16_bytes() {
    for (structures, members, value, expected) in [
        ("", "uint a; uint b;", "b", 1),
        ("", "uint a; uint2 b;", "b.y", 2),
        ("", "uint2 a; uint3 b;", "b.x", 4),
        ("", "uint a; uint3 b;", "b.z", 3),
        ("", "uint3 a; uint b;", "b", 3),
        ("", "uint3 a; uint2 b;", "b.y", 5),
        ("", "uint a; uint4 b;", "b.w", 7),
        ("", "uint a; uint b[3];", "b[2]", 12),
        ("", "uint a[2]; uint b;", "b", 5),
        ("", "uint2 a[2]; uint2 b;", "b.x", 6),
        ("", "uint3 a[2]; uint b;", "b", 7),
        ("", "uint4 a[2]; uint b;", "b", 8),
        ("", "uint a[2][3]; uint b;", "b", 21),
        ("", "uint a[2][3]; uint b;", "a[1][2]", 20),
        (
            "struct S { uint x; uint2 y; };",
            "uint a; S s; uint b;",
            "s.x",
            4,
        ),
        (
            "struct S { uint x; uint2 y; };",
            "uint a; S s; uint b;",
            "s.y.y",
            6,
        ),
        (
            "struct S { uint x; uint2 y; };",
            "uint a; S s; uint b;",
            "b",
            7,
        ),
        (
            "struct S { uint2 x; uint3 y; };",
            "S s; uint b;",
            "s.y.x",
            4,
        ),
        ("struct S { uint2 x; uint3 y; };", "S s; uint b;", "b", 7),
        ("struct S { uint x; };", "S s[3]; uint b;", "s[2].x", 8),
        ("struct S { uint x; };", "S s[3]; uint b;", "b", 9),
        (
            "struct T { uint z; }; struct S { uint x; T t; uint y; };",
            "S s;",
            "s.t.z",
            4,
        ),
        (
            "struct T { uint z; }; struct S { uint x; T t; uint y; };",
            "S s;",
            "s.y",
            5,
        ),
        (
            "struct S { uint x[2]; uint y; };",
            "S s[2]; uint b;",
            "s[1].y",
            13,
        ),
        ("", "uint a; uint2x3 m;", "m._m00", 4),
        ("", "uint a; uint2x3 m;", "m._m01", 8),
        ("", "uint a; uint2x3 m;", "m._m12", 13),
        ("", "uint a; uint2x3 m; uint b;", "b", 14),
        ("", "uint a; row_major uint2x3 m;", "m._m01", 5),
        ("", "uint a; row_major uint2x3 m;", "m._m12", 10),
        ("", "uint a; row_major uint2x3 m; uint b;", "b", 11),
        ("", "uint3x3 m[2]; uint b;", "m[1]._m10", 13),
        ("", "uint3x3 m[2]; uint b;", "b", 23),
        (
            "struct S { row_major uint2x2 r; uint2x2 c; };",
            "S s;",
            "s.r._m01",
            1,
        ),
        (
            "struct S { row_major uint2x2 r; uint2x2 c; };",
            "S s;",
            "s.c._m01",
            12,
        ),
        (
            "",
            "uint a : packoffset(c2.y); uint2 b : packoffset(c3.z);",
            "a",
            9,
        ),
        (
            "",
            "uint a : packoffset(c2.y); uint2 b : packoffset(c3.z);",
            "b.y",
            15,
        ),
    ] {
        let text = body(&format!("{structures} cbuffer C {{ {members} }};"), value);
        let kernel = kernel(&text, false);
        let mut launch = Launch::for_function(&kernel.module.functions[0], 4, 0);
        launch.buffers = vec![Buffer::of_u32(0..64), Buffer::of_u32([99; 4])];
        launch.bindings = vec![("C".into(), 0), ("o".into(), 1)];
        let outcome = run(&kernel.module, &launch);
        assert!(outcome.error.is_none(), "{text}: {:?}", outcome.error);
        assert_eq!(
            outcome.buffers[1].words(),
            [expected; 4],
            "{structures} {members} {value}"
        );
    }
    // Constants outside of any buffer lie in the same way in one of their own, and a buffer of a structure does.
    for (declarations, binding, value, expected) in [
        (
            "struct S { uint x; uint2 y; uint3 z; }; ConstantBuffer<S> c;",
            "c",
            "c.z.x",
            4,
        ),
        (
            "struct S { uint x; uint2 y; uint3 z; }; StructuredBuffer<S> c;",
            "c",
            "c[1].z.x",
            9,
        ),
        (
            "struct S { uint x; uint2 y; uint3 z[2]; }; StructuredBuffer<S> c;",
            "c",
            "c[2].z[1].y",
            25,
        ),
        ("ByteAddressBuffer c;", "c", "c.Load(20)", 5),
        ("ByteAddressBuffer c;", "c", "c.Load3(20).z", 7),
        ("ByteAddressBuffer c;", "c", "c.Load<uint2>(16).y", 5),
        ("Buffer<uint2> c;", "c", "c[3].y", 7),
    ] {
        let text = body(declarations, value);
        let kernel = kernel(&text, false);
        let mut launch = Launch::for_function(&kernel.module.functions[0], 4, 0);
        launch.buffers = vec![Buffer::of_u32(0..64), Buffer::of_u32([99; 4])];
        launch.bindings = vec![(binding.into(), 0), ("o".into(), 1)];
        let outcome = run(&kernel.module, &launch);
        assert!(outcome.error.is_none(), "{text}: {:?}", outcome.error);
        assert_eq!(
            outcome.buffers[1].words(),
            [expected; 4],
            "{declarations} {value}"
        );
    }
}

/// A variable that an intrinsic alone writes is not read before: no operand of the intrinsic is a value that
/// was never set.
#[test]
fn tessellation_factors_are_rounded_into_variables() {
    for call in [
        "float4 e; float2 n, u; ProcessQuadTessFactorsAvg(float4(f, f, f, f), f, e, n, u); f = e.w + n.y + u.x;",
        "float4 e; float2 n, u; Process2DQuadTessFactorsMin(float4(f, f, f, f), float2(f, f), e, n, u); f = e.w + n.y + u.x;",
        "float3 e; float n, u; ProcessTriTessFactorsMax(float3(f, f, f), f, e, n, u); f = e.z + n + u;",
        "float e, n; ProcessIsolineTessFactors(f, f, e, n); f = e + n;",
    ] {
        let text =
            body("float f;", "0").replace("o[i] = 0;", &format!("float f = i; {call} o[i] = f;"));
        let lowered = kernel(&text, false);
        let function = &lowered.module.functions[0];
        let mut outputs = 0;
        for data in function.insts.values() {
            if matches!(data.op, lockstep_ir::Op::Texture(_)) {
                outputs += 1;
                for &operand in &data.args {
                    let set = function.defining(operand);
                    let unset = set.is_some_and(|data| matches!(data.op, lockstep_ir::Op::Undef));
                    assert!(!unset, "{call}");
                }
            }
        }
        assert_eq!(
            outputs,
            if call.contains("Isoline") { 2 } else { 3 },
            "{call}"
        );
    }
}
