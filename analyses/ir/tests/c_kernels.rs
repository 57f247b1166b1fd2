//! Random C kernels, lowered and interpreted, against the same text compiled by the host's C compiler: results and
//! memory bit for bit, where any NaN is as good as another.
//!
//! `LOCKSTEP_C_KERNELS` is how many (2,000), of wide ones `LOCKSTEP_WIDE_KERNELS` (300), of those with definitions of basic
//! operations `LOCKSTEP_DEFINED_KERNELS` (30), `LOCKSTEP_C_SEED` the first, `LOCKSTEP_CC` the compiler (`cc`),
//! `LOCKSTEP_CFLAGS` further flags: `-fsanitize=undefined -fno-sanitize-recover` judges the generator. Without a
//! compiler the test says so and passes; continuous integration installs one.

#![allow(clippy::disallowed_methods, clippy::disallowed_macros)]

#[path = "support/host.rs"]
mod host;

use lockstep_ir::lower::c_family::{LowerOptions, Lowered, lower_unit};
use lockstep_ir::verify::verify_module;
use lockstep_ir::{FunctionKind, Language};
use oracle::interp::{self, Launch, run};
use oracle::random::c::{self, Argument, Kernel, Scalar, fractions, kernel, wide};
use std::fmt::Write as _;
use syntax::c_family::{Dialect, parse_text};

const BATCH: u64 = 200;

fn setting(name: &str, default: u64) -> u64 {
    let given = std::env::var(name).ok();
    given.and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[test]
fn kernels_compute_what_the_host_compiler_computes() {
    agree("plain", setting("LOCKSTEP_C_KERNELS", 2_000), "", |seed| {
        (kernel(seed), true)
    });
}

/// The host has the operations from their definitions in C; here they are known by their prototypes.
#[test]
fn basic_operations_compute_what_their_definitions_do() {
    let library = include_str!("support/basic_op.c");
    let count = setting("LOCKSTEP_C_KERNELS", 1_000);
    agree("fractional", count, library, |seed| (fractions(seed), true));
}

/// Shifts of -1 by more than the width, whose way back leads to it all the same.
#[test]
fn operations_that_once_differed_agree() {
    let library = include_str!("support/basic_op.c");
    let seeds = [2601, 9661, 11886, 15710, 15891, 16938, 18286];
    let first = setting("LOCKSTEP_C_SEED", 0);
    let of = |number: u64| (fractions(seeds[(number - first) as usize]), true);
    agree("again", seeds.len() as u64, library, of);
}

/// The same with the definitions in sight: most of them are found to be operations, the others are entered.
#[test]
fn definitions_in_c_compute_what_they_did() {
    let library = include_str!("support/basic_op.c");
    let count = setting("LOCKSTEP_DEFINED_KERNELS", 30);
    agree("defined", count, library, |seed| {
        let mut kernel = fractions(seed);
        let declared = |line: &&str| {
            let declares = line.starts_with("typedef") || line.starts_with("static Flag");
            let prototype = line.starts_with("Word") && line.ends_with(");");
            !(declares || prototype)
        };
        let own: Vec<&str> = kernel.text.lines().filter(declared).collect();
        kernel.text = own.join("\n") + "\n";
        (kernel, true)
    });
}

/// Kernels with calls through pointers are only built and run by the host: the interpreter has no such calls.
#[test]
fn wide_kernels_compute_what_the_host_compiler_computes() {
    agree("wide", setting("LOCKSTEP_WIDE_KERNELS", 300), "", |seed| {
        let wide = wide(seed);
        (wide.kernel, !wide.through_pointers)
    });
}

fn agree(kind: &str, count: u64, library: &str, of: impl Fn(u64) -> (Kernel, bool)) {
    let Some(compiler) = host::compiler() else {
        return;
    };
    let folder = std::env::temp_dir().join(format!("lockstep-c-{kind}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let first = setting("LOCKSTEP_C_SEED", 0);
    let (mut wrong, mut open) = (Vec::new(), 0);
    for start in (first..first + count).step_by(BATCH as usize) {
        let seeds = start..(start + BATCH).min(first + count);
        let (kernels, interpretable): (Vec<Kernel>, Vec<bool>) = seeds.map(&of).unzip();
        let host = host::compiled(&compiler, &folder, &kernels, library);
        for ((kernel, expected), interpretable) in kernels.iter().zip(&host).zip(interpretable) {
            let mut kernel = kernel.clone();
            if kind == "defined" {
                kernel.text = format!("{library}{}", kernel.text);
            }
            let kernel = &kernel;
            if !interpretable {
                open += 1;
                continue;
            }
            let found = interpreted(kernel);
            if found.as_deref() != Ok(expected.as_str()) {
                wrong.push((kernel.seed, expected.clone(), found, kernel.text.clone()));
            }
        }
    }
    let _ = std::fs::remove_dir_all(&folder);
    if let Some((seed, expected, found, text)) = wrong.first() {
        for (seed, _, found, _) in &wrong {
            println!(
                "{seed}: {}",
                found.as_ref().err().map_or("differs", String::as_str)
            );
        }
        let seeds: Vec<u64> = wrong.iter().map(|w| w.0).collect();
        panic!(
            "{} of {count} differ: {seeds:?}\nseed {seed}\n{text}\nhost  {expected}\nfound {found:?}",
            wrong.len()
        );
    }
    println!(
        "{} of {count} {kind} kernels agree, {open} are not interpreted",
        count - open
    );
    assert!(open * 3 <= count);
}

fn lowered(kernel: &Kernel) -> Result<Lowered, String> {
    let items = parse_text(&kernel.text, Dialect::C);
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
