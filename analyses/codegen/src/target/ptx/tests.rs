use super::emit;
use ir::verify::verify_module;
use ir::{Function, FunctionKind, Language, MemoryAccess, Module, Op, Space, Special, Type};
use oracle::interp::{BufferAfter, Launch, Outcome, run};
use oracle::random::{Flavour, Program, Shape, program};
use std::collections::BTreeMap;

/// Returns the printed function, read back.
fn round_trip(text: &str) -> Function {
    let mut kernel = None;
    for (item, tree, lowered) in ir::lower::ptx::lower_text(text) {
        assert_eq!(tree.problems, vec![], "{text}");
        assert_eq!(lowered.problems, vec![], "{text}");
        if let Err(errors) = verify_module(&lowered.module) {
            panic!("{}: {}\n{text}", item.key.name, errors[0]);
        }
        if lowered.module.functions[0].kind == ir::FunctionKind::Kernel {
            kernel = lowered.module.functions.into_iter().next();
        }
    }
    kernel.unwrap_or_else(|| panic!("no kernel in\n{text}"))
}

/// Memory afterwards, in an order that does not depend on which symbol is named first.
fn memory(outcome: &Outcome) -> Vec<&BufferAfter> {
    let mut buffers: Vec<&BufferAfter> = outcome.buffers.iter().collect();
    buffers.sort_by_key(|buffer| format!("{:?}", buffer.name));
    buffers
}

/// The first difference between the results of two runs.
fn difference(before: &Outcome, after: &Outcome, text: &str) -> Option<String> {
    if before.error.is_some() != after.error.is_some() {
        return Some(format!("{:?}, then {:?}", before.error, after.error));
    }
    let (mut a, b) = (memory(before), memory(after));
    // Names that only dead instructions use are gone, and so is the constant table if a callee alone names
    // it.
    a.retain(|buffer| match buffer.name.as_deref() {
        Some("table") => b.iter().any(|other| other.name == buffer.name),
        Some(name) => text.matches(name).count() > 1,
        None => true,
    });
    if a.len() != b.len() {
        return Some(format!("{} and {} buffers", a.len(), b.len()));
    }
    for (a, b) in a.iter().zip(&b) {
        if let Some(at) = a.bytes.iter().zip(&b.bytes).position(|(a, b)| a != b) {
            let end = (at + 8).min(a.bytes.len());
            let (a_bytes, b_bytes) = (&a.bytes[at..end], &b.bytes[at..end]);
            return Some(format!(
                "{:?} at {at}: {a_bytes:?}, then {b_bytes:?}",
                a.name
            ));
        }
        if a.bytes.len() != b.bytes.len() || a.name != b.name {
            return Some(format!("{:?} and {:?}", a.name, b.name));
        }
    }
    None
}

/// Runs programs before and after printing; says how many were printed and why the others were not.
fn compare(shape: &Shape, seeds: std::ops::Range<u64>) -> (usize, BTreeMap<String, usize>) {
    let mut printed = 0;
    let mut refused: BTreeMap<String, usize> = BTreeMap::new();
    for seed in seeds {
        let program: Program = program(seed, shape);
        let text = match emit(&program.module) {
            Ok(text) => text,
            Err(refusal) => {
                *refused.entry(refusal.to_string()).or_default() += 1;
                continue;
            }
        };
        let kernel = round_trip(&text);
        // Recursion is an unknown call when it is read back.
        let unknown = |inst: &ir::InstData| matches!(inst.op, ir::Op::CallUnknown { .. });
        if kernel.insts.values().any(unknown) {
            *refused.entry("recursion".into()).or_default() += 1;
            continue;
        }
        printed += 1;
        let module = Module {
            functions: vec![kernel],
        };
        let mut launch = Launch::for_program(&program);
        launch.limits.steps = launch.limits.steps.saturating_mul(40);
        let before = run(&program.module, &launch);
        let after = run(&module, &launch);
        let found = difference(&before, &after, &text);
        assert!(
            found.is_none(),
            "seed {seed}: {}\n{text}",
            found.unwrap_or_default()
        );
    }
    (printed, refused)
}

fn exact() -> Shape {
    Shape {
        functions: 0,
        math: false,
        halves: false,
        warp_sizes: vec![32],
        warp_ops: false,
        ..Shape::default()
    }
}

const FLAVOURS: [Flavour; 2] = [Flavour::Structured, Flavour::Arbitrary];

#[test]
fn integers_and_control_flow_survive_printing() {
    for flavour in FLAVOURS {
        let shape = Shape {
            memory: true,
            blocks: 12,
            ..Shape::small(flavour)
        };
        let (printed, refused) = compare(&shape, 0..150);
        assert!(printed >= 140, "{refused:?}");
    }
}

#[test]
fn memory_and_floats_survive_printing() {
    for flavour in FLAVOURS {
        // The order of lanes may change, and with it what atomics leave.
        let shape = Shape {
            flavour,
            fuel: 12,
            atomics: false,
            ..exact()
        };
        let (printed, refused) = compare(&shape, 0..300);
        assert!(printed >= 60, "{printed} printed; {refused:?}");
    }
}

#[test]
fn atomics_of_one_lane_survive_printing() {
    for flavour in FLAVOURS {
        let shape = Shape {
            flavour,
            fuel: 12,
            max_threads: 1,
            max_grid: 1,
            ..exact()
        };
        let (printed, refused) = compare(&shape, 0..300);
        assert!(printed >= 60, "{printed} printed; {refused:?}");
    }
}

#[test]
fn warp_operations_survive_printing() {
    let shape = Shape {
        warp_ops: true,
        bit_ops: false,
        atomics: false,
        blocks: 3,
        ..exact()
    };
    let (printed, refused) = compare(&shape, 0..400);
    assert!(printed >= 40, "{printed} printed; {refused:?}");
}

#[test]
fn halves_survive_printing() {
    let shape = Shape {
        halves: true,
        bit_ops: false,
        atomics: false,
        blocks: 2,
        block_insts: 3,
        ..exact()
    };
    let (printed, refused) = compare(&shape, 0..400);
    assert!(printed >= 40, "{printed} printed; {refused:?}");
}

#[test]
fn calls_survive_printing() {
    let shape = Shape {
        functions: 2,
        atomics: false,
        bit_ops: false,
        blocks: 3,
        ..exact()
    };
    let (printed, refused) = compare(&shape, 0..200);
    assert!(printed >= 40, "{printed} printed; {refused:?}");
}

#[test]
fn symbolic_numbers_are_parameters_of_the_entry() {
    let shape = Shape {
        symbolic_parameters: true,
        ..exact()
    };
    let mut seen = 0;
    for seed in 0..50 {
        let program = program(seed, &shape);
        let kernel = &program.module.functions[0];
        let Ok(text) = emit(&program.module) else {
            continue;
        };
        for line in text.lines().filter(|line| line.contains("ld.param")) {
            let Some((_, rest)) = line.split_once('[') else {
                continue;
            };
            let place = rest.trim_end_matches("];");
            let declared = text.lines().any(|line| {
                line.contains(".param .") && line.trim_end_matches([',', ')']).ends_with(place)
            });
            assert!(declared, "seed {seed}: {place} in\n{text}");
            seen += usize::from(kernel.insts.values().any(
                |data| matches!(&data.op, Op::Parameter(name) if place == format!("kernel_{name}")),
            ));
        }
    }
    assert!(seen > 0, "no program reads a number that is not known");
}

#[test]
fn the_number_of_a_warp_comes_from_its_threads() {
    // `%warpid` and `%nwarpid` are the multiprocessor's affair.
    let mut b = ir::builder::FunctionBuilder::new("kernel", FunctionKind::Kernel, Language::Cuda);
    let out = b.parameter("out", "int*", &[Type::Ptr(Space::Global)])[0];
    let access = MemoryAccess::in_space(Space::Global);
    for (at, special) in [(0, Special::WarpId), (4, Special::WarpCount)] {
        let value = b.special(special, Type::I32);
        let place = b.int(Type::I64, at);
        let place = b.ptr_add(out, place);
        b.store(access, place, &[value]);
    }
    b.ret([]);
    let module = Module {
        functions: vec![b.finish()],
    };
    let text = emit(&module).expect("it has a form");
    assert!(!text.contains("warpid"), "{text}");
    let kernel = round_trip(&text);
    let mut launch = Launch::new(1);
    launch.block = [7, 3, 5];
    launch.buffers = vec![oracle::interp::Buffer::of_u32([0; 2])];
    launch.parameters = vec![oracle::interp::Argument::Pointer {
        buffer: 0,
        offset: 0,
    }];
    let printed = run(
        &Module {
            functions: vec![kernel],
        },
        &launch,
    );
    // The last warp's store is the last one.
    assert_eq!(printed.buffers[0].bytes, [3, 0, 0, 0, 4, 0, 0, 0]);
    assert_eq!(run(&module, &launch).buffers, printed.buffers);
}
