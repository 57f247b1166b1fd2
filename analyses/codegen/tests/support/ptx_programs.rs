//! Kernels in PTX for tests of rewritings of their text: random text, and text that is printed from random
//! IR.

use super::text;
use ir::{FunctionKind, Module, Op};
use lockstep_codegen::target::ptx::emit;
use oracle::interp::{Argument, Buffer, Launch};
use oracle::random::{Flavour, Random, Shape, program};

/// The kernel of a file.
pub(crate) fn kernel(text: &str) -> Option<Module> {
    ir::lower::ptx::lower_text(text)
        .into_iter()
        .map(|(_, _, lowered)| lowered.module)
        .find(|module| module.functions[0].kind == FunctionKind::Kernel)
}

/// Returns whether another text certainly computes the same: the results of other code, the time, the order
/// of atomics and the lanes that meet may differ.
pub(crate) fn is_settled(text: &str, module: &Module) -> bool {
    let settled = module.functions.iter().all(|function| {
        let mut ops = function.insts.values().map(|data| &data.op);
        ops.all(|op| {
            !matches!(
                op,
                Op::Unknown(_) | Op::CallUnknown { .. } | Op::Asm { .. } | Op::Atomic(..)
            )
        })
    });
    let apart = ["clock", "timer", "activemask"];
    settled && !apart.iter().any(|word| text.contains(word))
}

/// Random text and a launch of it.
pub(crate) fn random_text(seed: u64) -> (String, Launch) {
    let source = text::source(seed);
    let mut random = Random::new(seed ^ 0x7e87_0000);
    let threads: u32 = source.block.iter().product::<u32>() * source.grid;
    let mut launch = Launch::new(1);
    launch.seed = seed;
    launch.block = source.block;
    launch.grid = [source.grid, 1, 1];
    let sparse = random.below(3);
    let mut bytes = |count: usize, below: u32| {
        (0..count)
            .map(|_| {
                if random.below(3) < sparse {
                    0
                } else {
                    random.below(below) as u8
                }
            })
            .collect()
    };
    launch.buffers = vec![
        Buffer::global(bytes(text::TABLE, 256)),
        Buffer::global(bytes(text::SLICE * threads as usize, 4)),
    ];
    let pointer = |buffer| Argument::Pointer { buffer, offset: 0 };
    launch.parameters = vec![pointer(0), pointer(1)];
    for _ in 0..2 {
        let number = random.between(-5, 20);
        launch.parameters.push(Argument::Bits(number as u64));
    }
    (source.text, launch)
}

/// A random program as it is printed, and a launch of it; `None` for a program without a form in PTX.
pub(crate) fn printed(seed: u64) -> Option<(String, Launch)> {
    let mut random = Random::new(seed ^ 0x0070_7478_0000_0000);
    let flavour = if random.percent(50) {
        Flavour::Structured
    } else {
        Flavour::Arbitrary
    };
    let shape = Shape {
        flavour,
        fuel: 6,
        blocks: 4 + random.below(10),
        block_insts: 2 + random.below(5),
        functions: random.below(2),
        math: false,
        symbolic_parameters: false,
        undefined: false,
        warp_ops: false,
        warp_sizes: vec![32],
        ..Shape::small(flavour)
    };
    let program = program(seed, &shape);
    let mut launch = Launch::for_program(&program);
    launch.seed = seed;
    launch.limits.steps = launch.limits.steps.saturating_mul(40);
    Some((emit(&program.module).ok()?, launch))
}

/// A number from the environment.
#[allow(clippy::disallowed_methods)]
pub(crate) fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|number| number.parse().ok())
        .unwrap_or(default)
}
