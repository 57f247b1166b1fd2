//! Random kernels of C: a program of the host that calls one, and the paths that the interpreter takes.

use facts::paths::{PathNumbers, PathProfile};
use ir::Language;
use ir::lower::c_family::{LowerOptions, Lowered, lower_unit};
use lockstep_server::profile::record::{Recorder, Stream};
use oracle::interp::{self, Launch, run_with};
use oracle::random::c::{Argument, Kernel, Scalar};
use std::fmt::Write as _;
use syntax::c_family::{Dialect, parse_text};

/// A program that calls a kernel, with the text in front of its functions and behind the call.
pub(crate) fn main_of(kernel: &Kernel, before: &str, behind: &str) -> String {
    let mut out = before.to_owned();
    for (at, buffer) in kernel.buffers.iter().enumerate() {
        let bytes: Vec<String> = buffer.bytes.iter().map(u8::to_string).collect();
        let _ = writeln!(
            out,
            "static _Alignas(16) unsigned char b{at}[] = {{{}}};",
            bytes.join(",")
        );
    }
    let literal = |ty: Scalar, bits: u64| match ty {
        Scalar::Float => format!("{:.9e}f", f32::from_bits(bits as u32)),
        Scalar::Double => format!("{:.17e}", f64::from_bits(bits)),
        Scalar::Unsigned | Scalar::UnsignedLong => format!("{bits}ul"),
        _ => format!("{}l", bits as i64),
    };
    let arguments = kernel.parameters.iter().map(|p| match p.argument {
        Argument::Pointer { buffer, offset } => format!("(void *)(b{buffer} + {offset})"),
        Argument::Scalar { ty, bits } => literal(ty, bits),
    });
    let list: Vec<String> = arguments.collect();
    let types: Vec<&str> = kernel
        .parameters
        .iter()
        .map(|p| p.type_text.as_str())
        .collect();
    let returns = kernel.returns.map_or("void", Scalar::text);
    let name = &kernel.name;
    let _ = writeln!(
        out,
        "{returns} {name}({});\nint main(void) {{ {name}({}); {behind} return 0; }}",
        types.join(", "),
        list.join(", ")
    );
    out
}

pub(crate) fn lowered(kernel: &Kernel) -> Lowered {
    let items = parse_text(&kernel.text, Dialect::C);
    let all = lower_unit(&items, &LowerOptions::new(Language::C));
    let mut found = all.into_iter().map(|(_, lowered)| lowered);
    let of = |lowered: &Lowered| lowered.module.functions[0].name == kernel.name;
    found.find(of).expect("the function")
}

/// The paths that the interpreter takes.
pub(crate) fn taken(kernel: &Kernel, lowered: &Lowered) -> Option<(PathNumbers, PathProfile)> {
    let mut launch = Launch::new(1);
    launch.warp_size = 1;
    launch.limits.steps = 50_000_000;
    for buffer in &kernel.buffers {
        let bytes = buffer.bytes.clone();
        launch.buffers.push(interp::Buffer::global(bytes));
    }
    for parameter in &kernel.parameters {
        launch.parameters.push(match parameter.argument {
            Argument::Pointer { buffer, offset } => interp::Argument::Pointer { buffer, offset },
            Argument::Scalar { bits, .. } => interp::Argument::Bits(bits),
        });
    }
    let mut recorder = Recorder::new(&lowered.module.functions[0], Stream::Every);
    let outcome = run_with(&lowered.module, &launch, &mut recorder, &());
    assert_eq!(outcome.error, None);
    recorder.finish().paths
}
