//! C in the reference interpreter and in the simulator of the SC140: the same result, the same memory.
#![allow(dead_code, reason = "not every test asks for all of it")]

use ir::lower::c_family::{LowerOptions, lower_unit};
use ir::{Language, Module};
use lockstep_codegen::target::sc140::capacity::Capacity;
use lockstep_codegen::target::sc140::check::check;
use lockstep_codegen::target::sc140::emit::Emitted;
use lockstep_codegen::target::sc140::listing::Listing;
use oracle::interp::Launch;
use oracle::random::c::{Argument, Buffer, Kernel, Parameter, Scalar};
use simulate::Memory;
use simulate::sc140::{Arg, Limits, Outcome, Program, Settings, Source, run};
use syntax::c_family::{Dialect, parse_text};

/// The module of the function of this name in a text of C, by the data model of the processor's conventions; in a
/// text with `long` that has 64 bits, as generators of programs count on.
pub(crate) fn module_of(text: &str, name: &str) -> Module {
    let mut words = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    module_by(text, name, !words.any(|word| word == "long"))
}

/// The module of the function of this name in a text of C, by a data model.
pub(crate) fn module_by(text: &str, name: &str, long_32bit: bool) -> Module {
    let items = parse_text(text, Dialect::C);
    let options = LowerOptions {
        long_32bit,
        ..LowerOptions::new(Language::C)
    };
    let all = lower_unit(&items, &options);
    all.into_iter()
        .map(|(_, lowered)| lowered)
        .find(|lowered| lowered.module.functions[0].name == name)
        .expect("the kernel")
        .module
}

/// Panics unless the first loop overlaps its iterations, and takes at most so many sets for one.
pub(crate) fn takes_at_most(emitted: &Emitted, most: u32, told: &str) {
    let found = &emitted.functions[0].loops[0];
    assert!(
        found.is_pipelined() && found.interval <= most,
        "{told} {} sets\n{}",
        found.interval,
        emitted.text
    );
}

/// A kernel `name(arrays..., int n)` of a text, which returns an `int` where it returns something. Each array begins at a multiple
/// of 8.
pub(crate) fn kernel_of(
    text: &str,
    name: &str,
    returns: bool,
    arrays: &[(&str, Scalar, Vec<i64>)],
    count: i64,
) -> Kernel {
    let mut parameters = Vec::new();
    let mut buffers = Vec::new();
    for (name, element, numbers) in arrays {
        parameters.push(Parameter {
            name: (*name).into(),
            type_text: format!("{} *", element.text()),
            argument: Argument::Pointer {
                buffer: buffers.len(),
                offset: 0,
            },
        });
        let bytes = numbers.iter().flat_map(|number| {
            let all = number.to_le_bytes();
            all[..element.bytes()].to_vec()
        });
        buffers.push(Buffer {
            element: *element,
            bytes: bytes.collect(),
        });
    }
    parameters.push(Parameter {
        name: "n".into(),
        type_text: "int".to_owned(),
        argument: Argument::Scalar {
            ty: Scalar::Int,
            bits: count as u64,
        },
    });
    Kernel {
        seed: 0,
        text: text.to_owned(),
        name: name.into(),
        returns: returns.then_some(Scalar::Int),
        parameters,
        buffers,
    }
}

/// The outcome of the kernel in the reference interpreter.
pub(crate) fn interpreted(kernel: &Kernel, module: &Module) -> oracle::interp::Outcome {
    let mut launch = Launch::new(1);
    launch.warp_size = 1;
    launch.limits.steps = 50_000_000;
    for buffer in &kernel.buffers {
        let bytes = buffer.bytes.clone();
        launch.buffers.push(oracle::interp::Buffer::global(bytes));
    }
    for parameter in &kernel.parameters {
        launch.parameters.push(match parameter.argument {
            Argument::Pointer { buffer, offset } => {
                oracle::interp::Argument::Pointer { buffer, offset }
            }
            Argument::Scalar { bits, .. } => oracle::interp::Argument::Bits(bits),
        });
    }
    let outcome = oracle::interp::run(module, &launch);
    assert_eq!(outcome.error, None, "{}", kernel.text);
    outcome
}

/// The settings that code counts on, and the byte order of the interpreter.
pub(crate) fn limits() -> Limits {
    Limits {
        settings: Settings {
            big_endian: false,
            product_saturates: true,
            ..Settings::default()
        },
        ..Limits::default()
    }
}

/// The rules of execution sets that a text breaks, by the checker that knows nothing of its making.
pub(crate) fn broken(text: &str) -> Vec<String> {
    let table = lockstep_codegen::machine::named("sc140").expect("a table");
    let capacity = Capacity::of(table.sets().expect("execution sets"));
    let document = syntax::sc140::parse(text);
    let listing = Listing::of(&document);
    let found = check(&listing, &capacity);
    found.iter().map(|it| format!("{it:?}")).collect()
}

/// The outcome of assembly, and what it leaves in each buffer; an argument that is `None` is the next buffer's address.
pub(crate) fn simulated(
    text: &str,
    name: &str,
    buffers: &[Vec<u8>],
    arguments: &[Option<Arg>],
) -> Result<(Outcome, Vec<Vec<u8>>), String> {
    let document = syntax::sc140::parse(text);
    if !document.problems.is_empty() {
        return Err(format!("{:?}", document.problems));
    }
    let sources = [Source {
        document: &document,
        text,
    }];
    let (program, unreadable) = Program::new(&sources);
    if !unreadable.is_empty() {
        return Err(format!("{unreadable:?}"));
    }
    let mut memory = Memory::new();
    let places: Vec<u32> = buffers
        .iter()
        .map(|bytes| memory.place(bytes).expect("room") as u32)
        .collect();
    let mut next = places.iter();
    let arguments: Vec<Arg> = arguments
        .iter()
        .map(|argument| argument.unwrap_or_else(|| Arg::Pointer(*next.next().expect("a buffer"))))
        .collect();
    let outcome = run(&program, name, &arguments, &mut memory, &limits());
    let outcome = outcome.map_err(|fault| fault.to_string())?;
    if !outcome.violations.is_empty() || !outcome.changed.is_empty() {
        return Err(format!("{:?} {:?}", outcome.violations, outcome.changed));
    }
    let left = buffers.iter().zip(places).map(|(bytes, at)| {
        let left = memory.bytes(u64::from(at), bytes.len());
        left.expect("its memory").to_vec()
    });
    Ok((outcome, left.collect()))
}

/// Returns true if two numbers are the same, or NaNs.
fn same(ty: Scalar, a: &[u8], b: &[u8]) -> bool {
    let nan = |bytes: &[u8]| match (ty.is_float(), bytes.len()) {
        (true, 4) => bytes
            .try_into()
            .is_ok_and(|bytes| f32::from_le_bytes(bytes).is_nan()),
        (true, 8) => bytes
            .try_into()
            .is_ok_and(|bytes| f64::from_le_bytes(bytes).is_nan()),
        _ => false,
    };
    a == b || nan(a) && nan(b)
}

/// Holds the outcome of assembly made of the kernel against the interpreter's; `Err` says what differs.
pub(crate) fn agrees(
    kernel: &Kernel,
    expected: &oracle::interp::Outcome,
    text: &str,
) -> Result<Outcome, String> {
    let document = syntax::sc140::parse(text);
    let sources = [Source {
        document: &document,
        text,
    }];
    let (program, unreadable) = Program::new(&sources);
    if !document.problems.is_empty() || !unreadable.is_empty() {
        return Err(format!("{:?} {unreadable:?}", document.problems));
    }
    let mut memory = Memory::new();
    let places: Vec<u64> = kernel
        .buffers
        .iter()
        .map(|buffer| memory.place(&buffer.bytes).expect("room"))
        .collect();
    let arguments: Vec<Arg> = kernel
        .parameters
        .iter()
        .map(|parameter| match parameter.argument {
            Argument::Pointer { buffer, offset } => Arg::Pointer((places[buffer] + offset) as u32),
            Argument::Scalar { ty, bits } => match ty.bytes() {
                1 | 2 => Arg::Word(bits as i16),
                4 => Arg::Long(bits as i32),
                _ => Arg::Wide(bits as i64),
            },
        })
        .collect();
    let name = format!("_{}", kernel.name);
    let outcome = run(&program, &name, &arguments, &mut memory, &limits());
    let outcome = outcome.map_err(|fault| fault.to_string())?;
    if !outcome.violations.is_empty() || !outcome.changed.is_empty() {
        return Err(format!("{:?} {:?}", outcome.violations, outcome.changed));
    }
    if let Some(ty) = &kernel.returns {
        let mask = u64::MAX >> (64 - 8 * ty.bytes());
        let [first, second] = outcome.data.map(|number| number as u64);
        let found = match ty.bytes() {
            // The high half first.
            8 => first << 32 | second & 0xffff_ffff,
            _ => first & mask,
        };
        let wanted = expected.returned[0][0] & mask;
        let bytes = |bits: u64| bits.to_le_bytes()[..ty.bytes()].to_vec();
        if !same(*ty, &bytes(found), &bytes(wanted)) {
            return Err(format!("the result is {found:#x} and not {wanted:#x}"));
        }
    }
    for (number, (buffer, after)) in kernel.buffers.iter().zip(&expected.buffers).enumerate() {
        let left = memory.bytes(places[number], buffer.bytes.len());
        let left = left.expect("its memory");
        let size = buffer.element.bytes();
        let pairs = left.chunks(size).zip(after.bytes.chunks(size));
        let unlike = pairs.map(|(a, b)| !same(buffer.element, a, b));
        if let Some(at) = unlike
            .collect::<Vec<bool>>()
            .iter()
            .position(|&unlike| unlike)
        {
            let at = at * size;
            return Err(format!(
                "buffer {number}, byte {at}: {:#x} and not {:#x}",
                left[at], after.bytes[at]
            ));
        }
    }
    Ok(outcome)
}
