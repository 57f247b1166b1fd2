//! PTX as a device and its linker take it: types of external functions, strings with their text, fields of bits,
//! constants. Each was wrong once, and an H200 said so.

#[path = "support/ptxas.rs"]
mod ptxas;
#[path = "support/read.rs"]
mod read;

use ir::builder::FunctionBuilder;
use ir::*;
use lockstep_codegen::target::ptx::{Target, emit, generate};

fn lowered(text: &str) -> Module {
    read::read(text, Language::Cuda).kernels().swap_remove(0)
}

fn printed(text: &str) -> String {
    emit(&lowered(text)).unwrap_or_else(|refusal| panic!("{refusal}"))
}

/// A kernel that stores one operation of its parameters.
fn of_operation(op: Op, operands: &[Type], result: Type) -> String {
    let mut b = FunctionBuilder::new("k", FunctionKind::Kernel, Language::Hlsl);
    let out = b.parameter("out", "void*", &[Type::Ptr(Space::Global)])[0];
    let args: Vec<Value> = (0..)
        .zip(operands)
        .map(|(n, &ty)| b.parameter(format!("p{n}"), "?", &[ty])[0])
        .collect();
    let value = b.value(op, &args, result);
    b.store(MemoryAccess::in_space(Space::Global), out, &[value]);
    b.ret([]);
    let module = Module {
        functions: vec![b.finish()],
    };
    emit(&module).unwrap_or_else(|refusal| panic!("{refusal}"))
}

#[test]
fn functions_of_other_modules_have_untyped_parameters() {
    // `nvlink` says "Prototype doesn't match" of `.f32` where nvcc's object has `.b32`.
    let text = printed(
        "__device__ long long other(float* p, long long n, double d, short s);\n\
         __global__ void k(float* o, double* d) { o[0] = asinf(o[1]); d[0] = asin(d[1]); o[2] = other(o, 5, d[2], 3); }",
    );
    for declaration in [
        ".extern .func (.param .b32 ret) __nv_asinf (.param .b32 arg0);",
        ".extern .func (.param .b64 ret) __nv_asin (.param .b64 arg0);",
        ".extern .func (.param .b64 ret) other (.param .b64 arg0, .param .b64 arg1, .param .b64 arg2, .param .b32 arg3);",
    ] {
        assert!(text.contains(declaration), "{declaration} in\n{text}");
    }
    assert!(!text.contains(".param .f32 returned"), "{text}");
}

#[test]
fn strings_have_their_text() {
    let text = printed(
        "__device__ const char* first() { return \"ab\\n\"; }\n\
         __device__ const char* second() { return \"c\"; }\n\
         __global__ void k(int* o, int i) { o[0] = first()[i] + second()[i] + \"ab\\n\"[i]; }",
    );
    let defined = text.lines().filter(|line| line.contains(".b8 $string"));
    let mut contents: Vec<&str> = defined
        .map(|line| line.split_once('[').expect("a size").1)
        .collect();
    contents.sort_unstable();
    assert_eq!(
        contents,
        ["2] = {99, 0};", "4] = {97, 98, 10, 0};"],
        "{text}"
    );
    assert!(!text.contains(".extern"), "{text}");
}

#[test]
fn a_wide_string_is_no_narrow_one() {
    let module = lowered("__global__ void k(int* o, int i) { o[0] = L\"ab\"[i]; }");
    let mut symbols = module.functions[0].symbols.values();
    assert!(symbols.all(|symbol| symbol.initial.is_none()));
}

#[test]
fn positions_of_fields_are_bytes() {
    let extract = Op::Ternary(TernaryOp::BitExtractUnsigned);
    let insert = Op::Ternary(TernaryOp::BitInsert);
    for (op, name, count) in [(extract, "bfe.u64", 3), (insert, "bfi.b64", 4)] {
        let text = of_operation(op, &vec![Type::I64; count], Type::I64);
        assert!(text.contains(name), "{text}");
        assert_eq!(text.matches("and.b32").count(), 2, "{text}");
    }
}

#[test]
fn constants_of_angles_are_rounded_once() {
    for (op, constant) in [
        (UnaryOp::Degrees, "0f42652EE1"),
        (UnaryOp::Radians, "0f3C8EFA35"),
    ] {
        let text = of_operation(Op::Unary(op), &[Type::F32], Type::F32);
        assert!(text.contains(constant), "{text}");
    }
}

/// Registers without a builtin value of their own are printed under their name, for architectures that have them.
#[test]
fn special_registers_are_printed_as_they_were_read() {
    let text = |ty: &str, register: &str| {
        format!(
            ".version 8.5\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out)\n{{\n.reg .b32 %r<2>; .reg .b64 %rd<3>; .reg .pred %p<2>;\n\
             ld.param.u64 %rd1, [out];\n{};\n\
             st.global.u32 [%rd1], %r1;\nret;\n}}\n",
            match ty {
                "u64" => format!("mov.u64 %rd2, {register}; cvt.u32.u64 %r1, %rd2"),
                "pred" => format!("mov.pred %p1, {register}; selp.u32 %r1, 1, 0, %p1"),
                _ => format!("mov.{ty} %r1, {register}"),
            }
        )
    };
    let tool = ptxas::find();
    let registers = [
        ("u32", "%nwarpid", 75),
        ("u32", "%nsmid", 75),
        ("u64", "%gridid", 75),
        ("u32", "%total_smem_size", 75),
        ("b32", "%envreg3", 75),
        ("u32", "%cluster_ctaid.y", 90),
        ("u32", "%nclusterid.x", 90),
        ("u32", "%cluster_ctarank", 90),
        ("pred", "%is_explicit_cluster", 90),
    ];
    for (ty, register, least) in registers {
        let mut lowered = ir::lower::ptx::lower_text(&text(ty, register)).into_iter();
        let (_, _, lowered) = lowered.next_back().expect("a kernel");
        let of = |sm: u32| {
            let target = Target {
                sm,
                ..Target::default()
            };
            generate(&lowered.module, &target)
        };
        let printed = of(90).expect(register).text;
        assert!(printed.contains(&format!(", {register};")), "{printed}");
        assert_eq!(of(75).is_ok(), least <= 75, "{register}");
        if let Some(tool) = &tool {
            let judged = ptxas::judge(tool, "sm_90", &printed);
            assert_eq!(judged, Ok(()), "{printed}");
        }
    }
}

/// An address as a number is the generic one: shared and constant memory count from bases of their own.
#[test]
fn numbers_of_addresses_are_generic() {
    let text = printed(
        "__constant__ float c[4]; __global__ void k(unsigned long long* o) { __shared__ int s[4]; s[0] = 1; \
         o[0] = (unsigned long long)&c[1]; o[1] = (unsigned long long)&s[1]; }",
    );
    assert!(text.contains("cvta.const.u64"), "{text}");
    assert!(text.contains("cvta.shared.u64"), "{text}");
    let text = printed(
        "__global__ void k(unsigned long long* o, int n) { __shared__ int s[4]; s[0] = 1; \
         o[0] = __cvta_generic_to_shared(&s[1]); }",
    );
    assert!(!text.contains("cvta.shared.u64"), "{text}");
}

/// An initial value that holds an address has no form, rather than zeros in its place.
#[test]
fn addresses_in_initial_values_are_not_lost() {
    let text = |value: &str| {
        format!(
            ".version 8.5\n.target sm_75\n.address_size 64\n.const .align 4 .b32 c[2] = {{1, 2}};\n.const .align 8 .u64 p = {value};\n\
             .visible .entry k(.param .u64 out)\n{{\n.reg .b64 %rd<3>;\n\
             ld.param.u64 %rd1, [out];\nld.const.u64 %rd2, [p];\nst.global.u64 [%rd1], %rd2;\nret;\n}}\n"
        )
    };
    let printed = |value: &str| {
        let mut lowered = ir::lower::ptx::lower_text(&text(value)).into_iter();
        emit(&lowered.next_back().expect("a kernel").2.module)
    };
    assert!(printed("7").is_ok_and(|text| text.contains("p[8] = {7, 0")));
    assert!(printed("generic(c)").is_err());
    assert!(printed("c").is_err());
}
