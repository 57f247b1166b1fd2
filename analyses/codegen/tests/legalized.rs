//! Modules in numbers of 32 bits, with their floating point as calls of the run-time library, leave in the reference interpreter
//! what they left before: random functions of IR, `LOCKSTEP_IR_FUNCTIONS` of each kind, from the seed `LOCKSTEP_FIRST` on.
#![allow(clippy::disallowed_methods)]

use ir::{Module, Op, Type};
use lockstep_codegen::legalize::{Words, legalize};
use oracle::interp::{Launch, run};
use oracle::random::{Flavour, Random, Shape, program};

fn setting(name: &str, default: u64) -> u64 {
    let given = std::env::var(name).ok();
    given.and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn shape(seed: u64, floats: bool) -> Shape {
    let mut random = Random::new(seed ^ 0x51);
    Shape {
        flavour: match random.percent(30) {
            true => Flavour::Arbitrary,
            false => Flavour::Structured,
        },
        blocks: 3 + random.below(8),
        block_insts: 4 + random.below(if floats { 5 } else { 12 }),
        functions: random.below(3),
        narrow: random.percent(50),
        wide: !floats || random.percent(50),
        floats,
        doubles: floats && random.percent(60),
        halves: false,
        math: false,
        bit_ops: random.percent(40),
        fractions: random.percent(40),
        memory: true,
        atomics: false,
        warp_ops: false,
        kills: false,
        exchange: false,
        warp_sizes: vec![1],
        max_threads: 1,
        max_grid: 1,
        ..Shape::default()
    }
}

/// Returns true if an operation computes with numbers of 64 bits whose halves a processor would need.
fn remains(module: &Module) -> Option<String> {
    for function in &module.functions {
        let wide = |value: ir::Value| function.ty(value) == Type::I64;
        for &block in &function.layout {
            for &inst in &function.blocks[block].insts {
                let data = &function.insts[inst];
                let bad = match &data.op {
                    Op::Load(_) | Op::Store(_) | Op::IntCompare(_) => data
                        .operands()
                        .chain(data.results.iter().copied())
                        .any(wide),
                    _ => data
                        .results
                        .iter()
                        .any(|&value| function.ty(value).is_float()),
                };
                if bad {
                    return Some(format!("{:?}", data.op));
                }
            }
        }
    }
    None
}

/// Words that differ, unless both are the NaN of their kind.
fn differ(a: &[u8], b: &[u8]) -> bool {
    let nan32 = |bytes: &[u8]| {
        bytes
            .try_into()
            .is_ok_and(|bytes| f32::from_le_bytes(bytes).is_nan())
    };
    let nan64 = |bytes: &[u8]| {
        bytes
            .try_into()
            .is_ok_and(|bytes| f64::from_le_bytes(bytes).is_nan())
    };
    a.len() != b.len()
        || a.chunks(8).zip(b.chunks(8)).any(|(a, b)| {
            let halves = || a.chunks(4).zip(b.chunks(4));
            a != b
                && !(nan64(a) && nan64(b))
                && halves().any(|(a, b)| a != b && !(nan32(a) && nan32(b)))
        })
}

fn judge(floats: bool) {
    let (count, first) = (
        setting("LOCKSTEP_IR_FUNCTIONS", 500),
        setting("LOCKSTEP_FIRST", 0),
    );
    let (mut judged, mut routines) = (0, 0);
    for seed in first..first + count {
        let program = program(seed, &shape(seed, floats));
        let launch = Launch::for_program(&program);
        let expected = run(&program.module, &launch);
        if expected.error.is_some() {
            continue;
        }
        let mut module = program.module.clone();
        legalize(
            &mut module,
            Words {
                high_first: false,
                total: true,
                accumulators: seed % 4 != 0,
                lacks: |_, _| true,
            },
        );
        routines += module.functions.len() - program.module.functions.len();
        let unknown = |data: &ir::InstData| matches!(data.op, Op::CallUnknown { .. });
        if module
            .functions
            .iter()
            .any(|function| function.insts.values().any(unknown))
        {
            // The C library's functions are not at hand.
            continue;
        }
        let told = || {
            format!(
                "seed {seed}\n{}\n{}",
                ir::text::print_module(&program.module),
                ir::text::print_module(&module)
            )
        };
        if let Err(errors) = ir::verify::verify_module(&module) {
            panic!("{}\n{}", errors[0], told());
        }
        assert_eq!(remains(&module), None, "{}", told());
        let mut launch = launch;
        launch.limits.steps *= 1_000;
        let found = run(&module, &launch);
        assert_eq!(found.error, None, "{}", told());
        for (a, b) in expected.buffers.iter().zip(&found.buffers) {
            let same = match floats {
                true => !differ(&a.bytes, &b.bytes),
                false => a.bytes == b.bytes,
            };
            assert!(same, "{}", told());
        }
        judged += 1;
    }
    println!("{judged} of {count} functions compute the same; {routines} routines in them");
    assert!(judged * if floats { 4 } else { 2 } >= count && routines > 0);
}

#[test]
fn numbers_of_64_bits_are_pairs() {
    judge(false);
}

#[test]
fn floats_are_calls() {
    judge(true);
}
