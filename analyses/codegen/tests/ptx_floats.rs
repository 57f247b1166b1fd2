//! Arithmetic of each floating-point type as PTX: every operation has code in its own precision, and the code
//! read back computes the same.

#[path = "support/read.rs"]
mod read;

use ir::{Language, Module};
use lockstep_codegen::target::ptx::emit;
use oracle::interp::{Argument, Buffer, Launch, run};

const LANES: u32 = 32;

fn lowered(text: &str) -> Module {
    read::read(text, Language::Cuda).kernels().swap_remove(0)
}

fn read_back(text: &str) -> Module {
    let mut all = ir::lower::ptx::lower_text(text).into_iter();
    let (_, tree, lowered) = all.next().expect("a kernel");
    assert_eq!(tree.problems, vec![], "{text}");
    assert_eq!(lowered.problems, vec![], "{text}");
    lowered.module
}

/// Returns the bytes that a kernel leaves behind of numbers between -4 and 4 of a type with this many bytes.
fn executed(module: &Module, bytes: usize) -> Vec<u8> {
    let mut given = Vec::new();
    for lane in 0..2 * LANES {
        let number = f64::from(lane) * 0.125 - 4.0;
        match bytes {
            8 => given.extend(number.to_le_bytes()),
            4 => given.extend((number as f32).to_le_bytes()),
            // Their bits grow with them, from 1 on.
            _ => given.extend((0x3c00 + 64 * lane as u16).to_le_bytes()),
        }
    }
    let word = |at: &[u8]| u32::from_le_bytes([at[0], at[1], at[2], at[3]]);
    let size = LANES as usize * bytes / 4;
    let mut launch = Launch::new(LANES);
    launch.buffers = vec![
        Buffer::of_u32(vec![0; size]),
        Buffer::of_u32(given.chunks(4).map(word)),
    ];
    launch.parameters = [0, 1]
        .map(|buffer| Argument::Pointer { buffer, offset: 0 })
        .to_vec();
    let outcome = run(module, &launch);
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    outcome.buffers[0].bytes.clone()
}

fn judged(ty: &str, bytes: usize, expression: &str, operation: &str) {
    let text = format!(
        "__global__ void k({ty}* o, const {ty}* a) {{ int i = threadIdx.x; {ty} x = a[i], y = a[i + 32]; o[i] = {expression}; }}"
    );
    let module = lowered(&text);
    let printed = emit(&module).unwrap_or_else(|refusal| panic!("{ty} {expression}: {refusal}"));
    assert!(
        printed.contains(operation),
        "{ty} {expression}: {operation} in {printed}"
    );
    let (before, after) = (
        executed(&module, bytes),
        executed(&read_back(&printed), bytes),
    );
    assert_eq!(before, after, "{ty} {expression}");
    assert!(before.iter().any(|&byte| byte != 0), "{ty} {expression}");
}

#[test]
fn operations_have_the_precision_of_their_type() {
    for (ty, bytes, name) in [("float", 4, "f32"), ("double", 8, "f64")] {
        for (expression, operation) in [
            ("x + y", "add.rn"),
            ("x - y", "sub.rn"),
            ("x * y", "mul.rn"),
            ("x / y", "div.rn"),
            ("-x", "neg"),
            ("fma(x, y, x)", "fma.rn"),
            ("sqrt(y)", "sqrt.rn"),
            ("fabs(x)", "abs"),
            ("fmin(x, y)", "min"),
            ("fmax(x, y)", "max"),
            ("x < y ? x + 1 : y", "setp.lt"),
            ("x != y ? x : y", "setp.neu"),
        ] {
            judged(ty, bytes, expression, &format!("{operation}.{name}"));
        }
        judged(ty, bytes, "floor(x)", &format!("cvt.rmi.{name}.{name}"));
        judged(ty, bytes, "(int)x", &format!("cvt.rzi.s32.{name}"));
    }
    judged("float", 4, "(double)x * y", "mul.rn.f64");
    judged("double", 8, "(float)x * y", "cvt.f64.f32");
    for (expression, operation) in [
        ("__hadd(x, y)", "add.rn.f16"),
        ("__hsub(x, y)", "sub.rn.f16"),
        ("__hmul(x, y)", "mul.rn.f16"),
        ("__hneg(x)", "neg.f16"),
        ("__hfma(x, y, x)", "fma.rn.f16"),
        ("__float2half(__half2float(x) + 1.0f)", "cvt.rn.f16.f32"),
    ] {
        judged("__half", 2, expression, operation);
    }
}
