//! Facts against the interpreter on PTX: text that is printed from random IR, random text with predicated instructions
//! and vectors, and mutated text. No lane contradicts a claim.
//!
//! `LOCKSTEP_SOUNDNESS_PROGRAMS=N` runs N programs of each kind instead of the default number,
//! `LOCKSTEP_SOUNDNESS_SEED=N` starts at another seed. A violation is shrunk and written to the directory for
//! temporary files.

#[path = "../../facts/tests/soundness/examine.rs"]
// What the regression list wants is told by value numbers, which printing changes.
#[allow(dead_code)]
mod examine;
#[path = "soundness_ptx/mutate.rs"]
mod mutate;
#[path = "soundness_ptx/text/mod.rs"]
mod text;

use examine::sweep::{setting, sweep};
use examine::{Case, Report, examine};
use facts::{Method, Options, Scope};
use ir::{FunctionKind, Module};
use lockstep_codegen::target::ptx::emit;
use oracle::interp::{self, Argument, Buffer, Event, EventKind, Launch};
use oracle::random::{Flavour, Program, Random, Shape, program};

/// Programs of each kind in the default run.
const PRINTED: u64 = 3_600;
const TEXTS: u64 = 2_000;
const MUTATED: u64 = 1_200;

/// The kernel of a file, verified; `None` when the front end finds problems.
fn lowered(text: &str, broken: bool) -> Option<Module> {
    let mut kernel = None;
    for (item, tree, lowered) in ir::lower::ptx::lower_text(text) {
        if !broken {
            assert_eq!(tree.problems, vec![], "{}\n{text}", item.key.name);
            assert_eq!(lowered.problems, vec![], "{}\n{text}", item.key.name);
        }
        if let Err(errors) = ir::verify_module(&lowered.module) {
            panic!("{}: {}\n{text}", item.key.name, errors[0]);
        }
        if lowered.module.functions[0].kind == FunctionKind::Kernel {
            kernel = kernel.or(Some(lowered.module));
        }
    }
    kernel
}

fn options(random: &mut Random, warp_size: u32, block: [u32; 3]) -> Options {
    let mut options = Options {
        method: match random.below(10) {
            0 => Method::Simple,
            1 => Method::Polynomial(1),
            2 => Method::Polynomial(2),
            _ => Method::Full,
        },
        scope: *random.pick(&[
            Scope::Quad,
            Scope::Subgroup,
            Scope::Subgroup,
            Scope::Subgroup,
            Scope::Workgroup,
            Scope::Dispatch,
        ]),
        warp_size,
        ..Options::default()
    };
    for (known, size) in options.block.iter_mut().zip(block) {
        if random.percent(30) {
            *known = Some(size);
        }
    }
    options
}

/// Schedules differ from launch to launch.
fn vary(launch: &mut Launch, random: &mut Random) {
    launch.seed = random.draw();
    launch.shuffle_warps = random.percent(50);
    launch.shuffle_atomics = random.percent(50);
    launch.reverse_groups = random.percent(50);
    launch.scramble_undefined = random.percent(80);
    launch.ended_lanes_arrive = random.percent(50);
}

fn shape(random: &mut Random) -> Shape {
    let flavour = if random.percent(50) {
        Flavour::Structured
    } else {
        Flavour::Arbitrary
    };
    let warp_ops = random.percent(35);
    let whole = Shape {
        flavour,
        fuel: 6 + random.below(8),
        ..Shape::default()
    };
    let base = if random.percent(50) {
        whole
    } else {
        Shape::small(flavour)
    };
    let mut shape = Shape {
        blocks: 4 + random.below(12),
        block_insts: 1 + random.below(5),
        loop_depth: 1 + random.below(3),
        fuel: if flavour == Flavour::Structured {
            3
        } else {
            base.fuel
        },
        functions: random.below(3),
        // These have no form in PTX.
        math: false,
        symbolic_parameters: false,
        bit_ops: base.bit_ops && random.percent(20),
        halves: base.halves && random.percent(20),
        memory: random.percent(50),
        atomics: random.percent(30),
        exchange: base.exchange && random.percent(50),
        kills: random.percent(50),
        undefined: random.percent(15),
        inactive_sources: warp_ops && random.percent(20),
        warp_ops,
        warp_sizes: if warp_ops {
            vec![32]
        } else {
            vec![32, 32, 32, 8, 64]
        },
        ..base
    };
    if flavour == Flavour::Structured && random.percent(30) {
        shape.barriers = true;
        shape.exchange = true;
        shape.memory = true;
        shape.stray_barriers = random.percent(40);
    }
    shape
}

/// A random program as PTX has it; `None` for a program without a form there.
fn printed(seed: u64) -> Option<Case> {
    let mut random = Random::new(seed ^ 0x0070_7478_0000_0000);
    let mut program: Program = program(seed, &shape(&mut random));
    let kernel = &mut program.module.functions[0];
    if random.percent(50) {
        kernel.launch.block = [None; 3];
        kernel.launch.max_threads = None;
    }
    let module = lowered(&emit(&program.module).ok()?, false)?;
    let options = options(&mut random, program.warp_size, program.block);
    let launches = (0..2u64)
        .map(|number| {
            let mut launch = Launch::for_program(&program);
            launch.limits.steps = launch.limits.steps.saturating_mul(40);
            if number > 0 {
                launch.set_arguments(&program.arguments_from(seed ^ number << 40));
            }
            vary(&mut launch, &mut random);
            launch
        })
        .collect();
    Some(Case {
        module,
        options,
        launches,
    })
}

/// Random text, with arguments that its addresses are safe for.
fn random_text(seed: u64) -> Case {
    let source = text::source(seed);
    let mut random = Random::new(seed ^ 0x7e87_0000);
    let module = lowered(&source.text, false).expect("an entry");
    let threads: u32 = source.block.iter().product::<u32>() * source.grid;
    let launches = (0..2)
        .map(|_| {
            let mut launch = Launch::new(1);
            launch.block = source.block;
            launch.grid = [source.grid, 1, 1];
            let mut bytes =
                |count: usize, below: u32| (0..count).map(|_| random.below(below) as u8).collect();
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
            vary(&mut launch, &mut random);
            launch
        })
        .collect();
    Case {
        module,
        options: options(&mut random, 32, source.block),
        launches,
    }
}

const FIXTURES: [&str; 3] = [
    include_str!("../../../fixtures/ptx/predicated.ptx"),
    include_str!("../../../fixtures/ptx/shared_reduction.ptx"),
    include_str!("../../../fixtures/ptx/call_sequence.ptx"),
];

/// A fixture or random text after some changes. Its accesses may fail, and it may never end.
fn mutated(seed: u64) -> Option<Case> {
    let mut random = Random::new(seed ^ 0x3333_0000);
    let count = 1 + random.below(5);
    let before = if random.percent(50) {
        (*random.pick(&FIXTURES)).to_string()
    } else {
        text::source(seed).text
    };
    let text = mutate::mutated(&before, &mut random, count);
    let module = lowered(&text, true)?;
    let kernel = &module.functions[0];
    let lanes = *random.pick(&[32, 64, 33, 96]);
    let mut launch = Launch::for_function(kernel, lanes, seed);
    launch.grid = [1 + random.below(2), 1, 1];
    launch.limits.steps = 60_000;
    launch.default_bytes = 16 << 10;
    vary(&mut launch, &mut random);
    // A lane outside of its own mask is undefined behaviour, about which nothing is claimed.
    let outcome = interp::run(&module, &launch);
    let undefined = |event: &Event| matches!(event.kind, EventKind::LaneOutsideOfItsMask { .. });
    if outcome.events.iter().any(undefined) {
        return None;
    }
    let options = options(&mut random, 32, launch.block);
    Some(Case {
        module,
        options,
        launches: vec![launch],
    })
}

fn seeds(default: u64) -> std::ops::Range<u64> {
    let first = setting("LOCKSTEP_SOUNDNESS_SEED", 0);
    first..first + setting("LOCKSTEP_SOUNDNESS_PROGRAMS", default)
}

fn assert_sound(report: &Report) {
    assert!(
        report.violations.is_empty(),
        "{} violations",
        report.violations.len()
    );
}

/// Checks that enough was looked at for the test to say something.
fn assert_plenty(report: &Report, lanes: u64, claims: u64, least: u64) {
    assert!(report.lanes >= lanes, "{} lanes", report.lanes);
    assert!(report.claims >= claims, "{} claims", report.claims);
    for (name, count) in examine::NAMES.iter().zip(&report.tally.counts) {
        assert!(*count >= least, "{name}: {count}");
    }
}

#[test]
fn printed_programs_contradict_no_claim() {
    let seeds = seeds(PRINTED);
    let whole = seeds.clone().count() as u64 >= PRINTED;
    let report = sweep(
        "printed",
        seeds.filter_map(|seed| Some((seed, printed(seed)?))),
    );
    assert_sound(&report);
    assert!(report.failed.is_empty(), "runs failed");
    if whole {
        assert_plenty(&report, 200_000, 1_200_000, 5);
    }
}

#[test]
fn random_text_contradicts_no_claim() {
    let seeds = seeds(TEXTS);
    let whole = seeds.clone().count() as u64 >= TEXTS;
    let report = sweep("text", seeds.map(|seed| (seed, random_text(seed))));
    assert_sound(&report);
    assert!(report.failed.is_empty(), "runs failed");
    if whole {
        assert_plenty(&report, 200_000, 600_000, 5);
    }
}

#[test]
fn mutated_text_contradicts_no_claim() {
    let seeds = seeds(MUTATED);
    let whole = seeds.clone().count() as u64 >= MUTATED;
    let report = sweep(
        "mutated",
        seeds.filter_map(|seed| Some((seed, mutated(seed)?))),
    );
    assert_sound(&report);
    if whole {
        assert_plenty(&report, 80_000, 180_000, 5);
    }
}

/// A place for the results of an entry: its last parameter is the table of these records.
fn give_outputs(launch: &mut Launch) {
    let buffer = launch.buffers.len();
    launch.buffers.push(interp::Buffer::global(vec![0; 4096]));
    launch
        .parameters
        .push(interp::Argument::Pointer { buffer, offset: 0 });
}

/// T6 to T15 of the regression list, printed.
#[test]
fn the_regression_list_holds_in_ptx() {
    let mut claims = 0;
    for fixed in examine::fixed::ALL {
        let original = fixed.case();
        let text = match emit(&original.module) {
            Ok(text) => text,
            Err(refusal) => panic!("{}: {refusal}", fixed.name),
        };
        let module = lowered(&text, false).expect("an entry");
        for (method, scope, lanes) in examine::fixed::settings() {
            let mut case = original.clone();
            case.module = module.clone();
            (case.options.method, case.options.scope) = (method, scope);
            case.launches[0].block = [lanes, 1, 1];
            give_outputs(&mut case.launches[0]);
            let report = examine(&case);
            claims += report.claims;
            assert!(
                report.violations.is_empty(),
                "{} by {method:?} over {scope:?}: {:?}",
                fixed.name,
                report.violations
            );
            assert!(
                report.failed.is_empty(),
                "{}: {:?}\n{text}",
                fixed.name,
                report.failed
            );
        }
    }
    println!("{claims} claims of the printed regression list");
    assert!(claims > 1_000, "{claims}");
}
