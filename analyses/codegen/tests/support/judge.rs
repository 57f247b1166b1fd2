//! A C kernel in the reference interpreter and in the simulator of the processor: the same result, the same memory.

use ir::lower::c_family::{LowerOptions, lower_unit};
use ir::{Language, Module};
use oracle::interp::Launch;
use oracle::random::c::{Argument, Kernel, Scalar};
use simulate::ia64::{self as sim, Arg, Memory, Program, run};
use syntax::c_family::{Dialect, parse_text};

/// The module of the function of this name in a text of C.
#[allow(dead_code)]
pub(crate) fn module_of(text: &str, name: &str) -> Module {
    let items = parse_text(text, Dialect::C);
    let all = lower_unit(&items, &LowerOptions::new(Language::C));
    all.into_iter()
        .map(|(_, lowered)| lowered)
        .find(|lowered| lowered.module.functions[0].name == name)
        .expect("the kernel")
        .module
}

/// Returns the outcome of the kernel in the reference interpreter.
#[allow(dead_code)]
pub(crate) fn interpreted(kernel: &Kernel, module: &Module) -> oracle::interp::Outcome {
    let expected = ran(kernel, module);
    assert_eq!(expected.error, None, "{}", kernel.text);
    expected
}

/// The words of a result and of the buffers that the interpreter leaves; `Err`: it can't.
#[allow(dead_code)]
pub(crate) fn attempted(kernel: &Kernel, module: &Module) -> Result<Vec<u64>, String> {
    let found = ran(kernel, module);
    if let Some(error) = &found.error {
        return Err(error.to_string());
    }
    let mut words = Vec::new();
    if let Some(ty) = kernel.returns {
        words.push(element(ty, found.returned[0][0]));
    }
    for (buffer, after) in kernel.buffers.iter().zip(&found.buffers) {
        words.extend(elements(buffer.element, &after.bytes));
    }
    Ok(words)
}

/// The words that assembly made of the kernel leaves.
#[allow(dead_code)]
pub(crate) fn words(
    kernel: &Kernel,
    name: &str,
    text: &str,
    limits: &sim::Limits,
) -> Result<Vec<u64>, String> {
    let (outcome, left) = simulated(kernel, name, text, limits)?;
    let mut words = Vec::new();
    if let Some(ty) = kernel.returns {
        words.push(element(ty, returned(ty, &outcome)?));
    }
    for (buffer, left) in kernel.buffers.iter().zip(&left) {
        words.extend(elements(buffer.element, left));
    }
    Ok(words)
}

/// The bits of the result.
pub(crate) fn returned(ty: Scalar, outcome: &sim::Outcome) -> Result<u64, String> {
    Ok(match ty {
        Scalar::Float => u64::from((outcome.float.to_f64() as f32).to_bits()),
        Scalar::Double => outcome.float.to_f64().to_bits(),
        _ => outcome.result.ok_or("no result")?,
    })
}

fn ran(kernel: &Kernel, module: &Module) -> oracle::interp::Outcome {
    oracle::interp::run(module, &launched(kernel))
}

/// The run of a kernel with its arguments.
pub(crate) fn launched(kernel: &Kernel) -> Launch {
    let mut launch = Launch::new(1);
    launch.warp_size = 1;
    launch.limits.steps = 50_000_000;
    for buffer in &kernel.buffers {
        launch
            .buffers
            .push(oracle::interp::Buffer::global(buffer.bytes.clone()));
    }
    for parameter in &kernel.parameters {
        launch.parameters.push(match parameter.argument {
            Argument::Pointer { buffer, offset } => {
                oracle::interp::Argument::Pointer { buffer, offset }
            }
            Argument::Scalar { bits, .. } => oracle::interp::Argument::Bits(bits),
        });
    }
    launch
}

/// Returns the outcome of assembly made of the kernel; `Err`: the violation that happened.
pub(crate) fn simulated(
    kernel: &Kernel,
    name: &str,
    text: &str,
    limits: &sim::Limits,
) -> Result<(sim::Outcome, Vec<Vec<u8>>), String> {
    let document = syntax::ia64::parse(text);
    let (code, problems) = Program::new(&document, text);
    if !problems.is_empty() {
        return Err(format!("{problems:?}"));
    }
    let mut memory = Memory::new();
    let (places, arguments) = placed(kernel, &mut memory);
    let outcome = run(&code, name, &arguments, &mut memory, limits);
    let outcome = outcome.map_err(|fault| fault.to_string())?;
    if !outcome.violations.is_empty() || !outcome.changed.is_empty() {
        return Err(format!("{:?} {:?}", outcome.violations, outcome.changed));
    }
    let left = kernel
        .buffers
        .iter()
        .zip(places)
        .map(|(buffer, at)| {
            let bytes = memory.bytes(at, buffer.bytes.len()).expect("its memory");
            bytes.to_vec()
        })
        .collect();
    Ok((outcome, left))
}

/// Checks that assembly made of the kernel has the interpreter's results; `Err`: the difference.
#[allow(dead_code)]
pub(crate) fn agrees(
    kernel: &Kernel,
    name: &str,
    expected: &oracle::interp::Outcome,
    text: &str,
    limits: &sim::Limits,
) -> Result<sim::Outcome, String> {
    let (outcome, left) = simulated(kernel, name, text, limits)?;
    if let Some(ty) = kernel.returns {
        let found = returned(ty, &outcome)?;
        let (found, wanted) = (element(ty, found), element(ty, expected.returned[0][0]));
        if found != wanted {
            return Err(format!("the result is {found:#x} and not {wanted:#x}"));
        }
    }
    for (number, ((buffer, left), after)) in kernel
        .buffers
        .iter()
        .zip(&left)
        .zip(&expected.buffers)
        .enumerate()
    {
        let (left, after) = (
            elements(buffer.element, left),
            elements(buffer.element, &after.bytes),
        );
        if let Some(at) = (0..left.len()).find(|&at| left[at] != after[at]) {
            return Err(format!(
                "buffer {number}, element {at}: {:#x} and not {:#x}",
                left[at], after[at]
            ));
        }
    }
    Ok(outcome)
}

/// Bits of an element, with one NaN for all.
fn element(ty: Scalar, bits: u64) -> u64 {
    match ty {
        Scalar::Float if f32::from_bits(bits as u32).is_nan() => 0x7fc0_0000,
        Scalar::Double if f64::from_bits(bits).is_nan() => 0x7ff8_0000_0000_0000,
        _ => bits & (u64::MAX >> (64 - 8 * ty.bytes())),
    }
}

fn elements(ty: Scalar, bytes: &[u8]) -> Vec<u64> {
    let word = |chunk: &[u8]| {
        chunk
            .iter()
            .rev()
            .fold(0u64, |sum, &byte| sum << 8 | u64::from(byte))
    };
    bytes
        .chunks(ty.bytes())
        .map(|chunk| element(ty, word(chunk)))
        .collect()
}

/// Puts the buffers of a kernel into memory: where they lie, and the arguments.
pub(crate) fn placed(kernel: &Kernel, memory: &mut Memory) -> (Vec<u64>, Vec<Arg>) {
    let buffers = kernel.buffers.iter();
    let places: Vec<u64> = buffers
        .map(|buffer| memory.place(&buffer.bytes).expect("room"))
        .collect();
    let arguments = kernel.parameters.iter();
    let arguments = arguments.map(|parameter| match parameter.argument {
        Argument::Pointer { buffer, offset } => Arg::Integer(places[buffer] + offset),
        Argument::Scalar { ty, bits } => match ty {
            Scalar::Float => Arg::Single(f32::from_bits(bits as u32)),
            Scalar::Double => Arg::Double(f64::from_bits(bits)),
            _ => Arg::Integer(bits),
        },
    });
    let arguments = arguments.collect();
    (places, arguments)
}
