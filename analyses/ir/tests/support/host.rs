//! Random C kernels compiled and executed by the host: many of them in one program.
//!
//! `LOCKSTEP_CC` is the compiler (`cc`), `LOCKSTEP_CFLAGS` further flags.

use crate::c::{Argument, Buffer, Kernel, Scalar};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

/// The compiler, where there is one.
pub(crate) fn compiler() -> Option<String> {
    let compiler = std::env::var("LOCKSTEP_CC").unwrap_or_else(|_| "cc".into());
    if Command::new(&compiler).arg("--version").output().is_err() {
        println!("not judged: there is no C compiler `{compiler}` here");
        return None;
    }
    Some(compiler)
}

/// Of kernels and of what they call: a line for each, the result and the buffers, in hexadecimal.
pub(crate) fn compiled(
    compiler: &str,
    folder: &Path,
    kernels: &[Kernel],
    library: &str,
) -> Vec<String> {
    let mut text = String::from(
        "#include <stdio.h>\n#include <string.h>\n#include <math.h>\n\
         static void element(const unsigned char *at, int size, int is_float) {\n\
         unsigned long bits = 0;\n\
         memcpy(&bits, at, size);\n\
         if (is_float && size == 4) { float x; memcpy(&x, at, 4); if (x != x) bits = 0x7fc00000ul; }\n\
         if (is_float && size == 8) { double x; memcpy(&x, at, 8); if (x != x) bits = 0x7ff8000000000000ul; }\n\
         printf(\" %lx\", bits);\n}\n",
    );
    text.push_str(library);
    let mut main = String::from("int main(void) {\n");
    for (number, kernel) in kernels.iter().enumerate() {
        let _ = writeln!(
            text,
            "#define f f_{number}\n#define g g_{number}\n{}#undef f\n#undef g",
            kernel.text
        );
        call(number, kernel, &mut text, &mut main);
    }
    text.push_str(&main);
    text.push_str("return 0;\n}\n");
    let (source, program) = (folder.join("kernels.c"), folder.join("kernels"));
    std::fs::write(&source, text).expect("a file");
    let flags = std::env::var("LOCKSTEP_CFLAGS").unwrap_or_default();
    let built = Command::new(compiler)
        .args(["-std=c11", "-O1", "-ffp-contract=off", "-w"])
        .args(flags.split_whitespace())
        .arg("-o")
        .args([&program, &source])
        .arg("-lm")
        .output()
        .expect("the compiler runs");
    assert!(
        built.status.success(),
        "{}",
        String::from_utf8_lossy(&built.stderr)
    );
    let ran = Command::new(&program).output().expect("the program runs");
    assert!(
        ran.status.success(),
        "{} {}",
        ran.status,
        String::from_utf8_lossy(&ran.stderr)
    );
    let lines: Vec<String> = String::from_utf8_lossy(&ran.stdout)
        .lines()
        .map(|line| line.trim().to_owned())
        .collect();
    assert_eq!(lines.len(), kernels.len());
    lines
}

/// A function that calls a kernel and prints its results, and the call of it.
fn call(number: usize, kernel: &Kernel, text: &mut String, main: &mut String) {
    // Each text has an `f`, or names of its own.
    let name = match kernel.name.as_str() {
        "f" => format!("f_{number}"),
        name => name.to_owned(),
    };
    for (at, buffer) in kernel.buffers.iter().enumerate() {
        let bytes: Vec<String> = buffer.bytes.iter().map(u8::to_string).collect();
        let _ = writeln!(
            text,
            "static _Alignas(16) unsigned char b_{number}_{at}[] = {{{}}};",
            bytes.join(",")
        );
    }
    let arguments: Vec<String> = kernel
        .parameters
        .iter()
        .map(|parameter| match parameter.argument {
            Argument::Pointer { buffer, offset } => {
                format!("(void *)(b_{number}_{buffer} + {offset})")
            }
            Argument::Scalar { ty, bits } => literal(ty, bits),
        })
        .collect();
    let list = arguments.join(", ");
    let _ = match kernel.returns {
        Some(ty) => {
            let words = (ty.bytes(), u8::from(ty.is_float()));
            writeln!(
                main,
                "{{ {} r = {name}({list}); element((void *)&r, {}, {});",
                ty.text(),
                words.0,
                words.1
            )
        }
        None => writeln!(main, "{{ {name}({list}); printf(\" void\");"),
    };
    for (at, Buffer { element, bytes }) in kernel.buffers.iter().enumerate() {
        let (size, float) = (element.bytes(), u8::from(element.is_float()));
        let _ = writeln!(
            main,
            "for (int i = 0; i < {}; i += {size}) element(b_{number}_{at} + i, {size}, {float});",
            bytes.len()
        );
    }
    main.push_str("printf(\"\\n\"); }\n");
}

fn literal(ty: Scalar, bits: u64) -> String {
    match ty {
        Scalar::Float => format!("{:.9e}f", f32::from_bits(bits as u32)),
        Scalar::Double => format!("{:.17e}", f64::from_bits(bits)),
        Scalar::Unsigned | Scalar::UnsignedLong => format!("{bits}ul"),
        _ => format!("{}l", bits as i64),
    }
}
