//! Random C kernels, lowered and interpreted, against the same text compiled by the host's C compiler: results and
//! memory bit for bit, where any NaN is as good as another.
//!
//! `LOCKSTEP_C_KERNELS` is how many (2,000), `LOCKSTEP_C_SEED` the first, `LOCKSTEP_CC` the compiler (`cc`),
//! `LOCKSTEP_CFLAGS` further flags: `-fsanitize=undefined -fno-sanitize-recover` judges the generator. Without a
//! compiler the test says so and passes; continuous integration installs one.

#![allow(clippy::disallowed_methods, clippy::disallowed_macros)]

use lockstep_ir::interp::{self, Launch, run};
use lockstep_ir::lower::c_family::{LowerOptions, Lowered, lower_unit};
use lockstep_ir::random::c::{Argument, Buffer, Kernel, Scalar, kernel};
use lockstep_ir::verify::verify_module;
use lockstep_ir::{FunctionKind, Language};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use syntax::c_family::{Dialect, parse_text};

const BATCH: u64 = 200;

fn setting(name: &str, default: u64) -> u64 {
    let given = std::env::var(name).ok();
    given.and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[test]
fn kernels_compute_what_the_host_compiler_computes() {
    let compiler = std::env::var("LOCKSTEP_CC").unwrap_or_else(|_| "cc".into());
    if Command::new(&compiler).arg("--version").output().is_err() {
        println!("not judged: there is no C compiler `{compiler}` here");
        return;
    }
    let folder = std::env::temp_dir().join(format!("lockstep-c-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let (first, count) = (
        setting("LOCKSTEP_C_SEED", 0),
        setting("LOCKSTEP_C_KERNELS", 2_000),
    );
    let mut wrong = Vec::new();
    for start in (first..first + count).step_by(BATCH as usize) {
        let seeds = start..(start + BATCH).min(first + count);
        let kernels: Vec<Kernel> = seeds.map(kernel).collect();
        let host = compiled(&compiler, &folder, &kernels);
        for (kernel, expected) in kernels.iter().zip(&host) {
            let found = interpreted(kernel);
            if found.as_deref() != Ok(expected.as_str()) {
                wrong.push((kernel.seed, expected.clone(), found, kernel.text.clone()));
            }
        }
    }
    let _ = std::fs::remove_dir_all(&folder);
    if let Some((seed, expected, found, text)) = wrong.first() {
        let seeds: Vec<u64> = wrong.iter().map(|w| w.0).collect();
        panic!(
            "{} of {count} differ: {seeds:?}\nseed {seed}\n{text}\nhost  {expected}\nfound {found:?}",
            wrong.len()
        );
    }
    println!("{count} kernels agree");
}

/// A line for each kernel: the result and the buffers, in hexadecimal.
fn compiled(compiler: &str, folder: &Path, kernels: &[Kernel]) -> Vec<String> {
    let mut text = String::from(
        "#include <stdio.h>\n#include <string.h>\n#include <math.h>\n\
         static void element(const unsigned char *at, int size, int is_float) {\n\
         unsigned long bits = 0;\n\
         memcpy(&bits, at, size);\n\
         if (is_float && size == 4) { float x; memcpy(&x, at, 4); if (x != x) bits = 0x7fc00000ul; }\n\
         if (is_float && size == 8) { double x; memcpy(&x, at, 8); if (x != x) bits = 0x7ff8000000000000ul; }\n\
         printf(\" %lx\", bits);\n}\n",
    );
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

/// A function that calls a kernel and prints what came out, and the call of it.
fn call(number: usize, kernel: &Kernel, text: &mut String, main: &mut String) {
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
                "{{ {} r = f_{number}({list}); element((void *)&r, {}, {});",
                ty.text(),
                words.0,
                words.1
            )
        }
        None => writeln!(main, "{{ f_{number}({list}); printf(\" void\");"),
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

fn lowered(kernel: &Kernel) -> Result<Lowered, String> {
    let items: Vec<Arc<_>> = parse_text(&kernel.text, Dialect::C)
        .into_iter()
        .map(Arc::new)
        .collect();
    if let Some(item) = items.iter().find(|item| !item.problems.is_empty()) {
        return Err(format!("{:?}", item.problems));
    }
    let all = lower_unit(&items, &LowerOptions::new(Language::C));
    let found = all
        .into_iter()
        .map(|(_, lowered)| lowered)
        .find(|lowered| lowered.module.functions[0].name == kernel.name)
        .ok_or("no function")?;
    verify_module(&found.module).map_err(|errors| errors[0].to_string())?;
    let function = &found.module.functions[0];
    if !found.problems.is_empty() || !function.unknowns.is_empty() {
        return Err(format!("{:?}", found.problems));
    }
    assert_eq!(function.kind, FunctionKind::Host);
    for (info, parameter) in function.parameters.iter().zip(&kernel.parameters) {
        assert_eq!(info.no_alias, parameter.type_text.contains("restrict"));
    }
    Ok(found)
}

fn interpreted(kernel: &Kernel) -> Result<String, String> {
    let lowered = lowered(kernel)?;
    let mut launch = Launch::new(1);
    launch.warp_size = 1;
    launch.limits.steps = 50_000_000;
    for buffer in &kernel.buffers {
        launch
            .buffers
            .push(interp::Buffer::global(buffer.bytes.clone()));
    }
    for parameter in &kernel.parameters {
        launch.parameters.push(match parameter.argument {
            Argument::Pointer { buffer, offset } => interp::Argument::Pointer { buffer, offset },
            Argument::Scalar { bits, .. } => interp::Argument::Bits(bits),
        });
    }
    let outcome = run(&lowered.module, &launch);
    if let Some(error) = &outcome.error {
        return Err(error.to_string());
    }
    let mut text = match kernel.returns {
        Some(ty) => {
            let bits = outcome.returned.first().and_then(|lanes| lanes.first());
            element(ty, *bits.ok_or("no result")?)
        }
        None => "void".to_owned(),
    };
    for (buffer, after) in kernel.buffers.iter().zip(&outcome.buffers) {
        for chunk in after.bytes.chunks(buffer.element.bytes()) {
            let bits = chunk
                .iter()
                .rev()
                .fold(0u64, |sum, &byte| sum << 8 | u64::from(byte));
            let _ = write!(text, " {}", element(buffer.element, bits));
        }
    }
    Ok(text)
}

/// Bits of an element, with one NaN for all.
fn element(ty: Scalar, bits: u64) -> String {
    let bits = match ty {
        Scalar::Float if f32::from_bits(bits as u32).is_nan() => 0x7fc0_0000,
        Scalar::Double if f64::from_bits(bits).is_nan() => 0x7ff8_0000_0000_0000,
        _ => bits & (u64::MAX >> (64 - 8 * ty.bytes())),
    };
    format!("{bits:x}")
}
