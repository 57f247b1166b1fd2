//! Facts against the interpreter: random programs, inputs, launches and schedules, and no lane that contradicts a claim.
//!
//! `LOCKSTEP_SOUNDNESS_PROGRAMS=N` runs N random programs instead of the default number, `LOCKSTEP_SOUNDNESS_SEED=N`
//! starts at another seed. A violation is shrunk and written to the directory for temporary files.

// The name by which the crates above know this one, so that the judge can be theirs as well.
extern crate lockstep_facts as facts;

#[path = "soundness/examine.rs"]
mod examine;

use examine::fixed;
use examine::sweep::{setting, sweep};
use examine::{Case, examine};
use facts::{Class, FunctionFacts, Method, Options, Scope};
use oracle::interp::Launch;
use oracle::random::{Flavour, Random, Shape, program};

const PROGRAMS: u64 = 6_000;
const LANES: u64 = 1_000_000;

fn shape(random: &mut Random) -> Shape {
    let flavour = if random.percent(50) {
        Flavour::Structured
    } else {
        Flavour::Arbitrary
    };
    let base = match flavour {
        Flavour::Structured => Shape::default(),
        Flavour::Arbitrary => Shape::arbitrary(),
    };
    let mut shape = match random.below(4) {
        0 => Shape::small(flavour),
        1 => Shape {
            blocks: 6,
            block_insts: 3,
            ..base
        },
        2 => Shape {
            blocks: 16,
            loop_depth: 3,
            fuel: 3,
            block_insts: 3,
            ..base
        },
        _ => base,
    };
    shape.functions = if random.percent(30) {
        1 + random.below(2)
    } else {
        0
    };
    shape.warp_ops &= random.percent(50);
    shape.inactive_sources = random.percent(20);
    shape.undefined = random.percent(15);
    shape.fractions = random.percent(25);
    shape.symbolic_parameters = random.percent(30);
    shape.atomics &= random.percent(60);
    shape.kills &= random.percent(60);
    if flavour == Flavour::Structured && random.percent(40) {
        shape.barriers = true;
        shape.exchange = true;
        shape.memory = true;
        shape.stray_barriers = random.percent(40);
    }
    if random.percent(30) {
        // Control flow above all: temporal divergence, joins before the post-dominator, exits of several loops.
        shape.memory = false;
        shape.atomics = false;
        shape.block_insts = 1;
    }
    shape
}

fn case(seed: u64) -> Case {
    let mut random = Random::new(seed ^ 0x5011_d0a7_0000_0000);
    let shape = shape(&mut random);
    let mut program = program(seed, &shape);
    let method = match random.below(10) {
        0 => Method::Simple,
        1 => Method::Polynomial(1),
        2 => Method::Polynomial(2),
        _ => Method::Full,
    };
    let scope = *random.pick(&[
        Scope::Quad,
        Scope::Subgroup,
        Scope::Subgroup,
        Scope::Subgroup,
        Scope::Workgroup,
        Scope::Dispatch,
    ]);
    let mut options = Options {
        method,
        scope,
        warp_size: program.warp_size,
        ..Options::default()
    };
    let kernel = &mut program.module.functions[0];
    if random.percent(40) {
        kernel.launch.block = [None; 3];
        kernel.launch.max_threads = None;
    }
    for axis in 0..3 {
        if random.percent(30) {
            options.block[axis] = Some(program.block[axis]);
        }
        if random.percent(50) {
            kernel.launch.grid[axis] = None;
        }
    }
    let launches = (0..2u64)
        .map(|number| {
            let mut launch = Launch::for_program(&program);
            if number > 0 {
                launch.set_arguments(&program.arguments_from(seed ^ number << 40));
            }
            launch.seed = random.draw();
            launch.shuffle_warps = random.percent(50);
            launch.shuffle_atomics = random.percent(50);
            launch.reverse_groups = random.percent(50);
            launch.scramble_undefined = random.percent(80);
            launch.ended_lanes_arrive = random.percent(50);
            launch
        })
        .collect();
    Case {
        module: program.module,
        options,
        launches,
    }
}

#[test]
fn random_programs_contradict_no_claim() {
    let first = setting("LOCKSTEP_SOUNDNESS_SEED", 0);
    let count = setting("LOCKSTEP_SOUNDNESS_PROGRAMS", PROGRAMS);
    let cases = (first..first + count).map(|seed| (seed, case(seed)));
    let report = sweep("random", cases);
    assert!(
        report.violations.is_empty(),
        "{} violations",
        report.violations.len()
    );
    assert!(report.failed.is_empty(), "runs failed");
    if count >= PROGRAMS {
        assert!(report.lanes >= LANES, "{} lanes", report.lanes);
        for (name, count) in examine::NAMES.iter().zip(&report.tally.counts) {
            assert!(*count >= 500, "{name}: {count}");
        }
    }
}

#[test]
fn the_regression_list_holds() {
    for fixed in examine::fixed::ALL {
        let case = fixed.case();
        let facts = facts::analyze(0, &case.module, &case.options);
        for &(value, block, uniform) in fixed.wanted {
            let claimed = facts.at(value, block).class == Class::Uniform;
            assert_eq!(claimed, uniform, "{}: {value} in {block}", fixed.name);
        }
        for (method, scope, lanes) in fixed::settings() {
            let mut case = case.clone();
            (case.options.method, case.options.scope) = (method, scope);
            case.launches[0].block = [lanes, 1, 1];
            let report = examine(&case);
            assert!(
                report.violations.is_empty(),
                "{} by {method:?} over {scope:?}: {:?}",
                fixed.name,
                report.violations
            );
        }
        let report = examine(&case);
        assert!(
            report.failed.is_empty(),
            "{}: {:?}",
            fixed.name,
            report.failed
        );
    }
}

/// Says of a value that it is uniform over the warp, as a wrong analysis would.
fn forge(facts: &mut FunctionFacts, value: ir::Value, block: Option<ir::Block>) {
    let fact = match block {
        Some(block) => {
            let at = facts
                .temporal
                .iter()
                .position(|t| (t.value, t.block) == (value, block));
            match at {
                Some(at) => &mut facts.temporal[at].fact,
                None => &mut facts.values[value],
            }
        }
        None => &mut facts.values[value],
    };
    fact.uniform_at = Some(Scope::Subgroup);
    fact.class = Class::Uniform;
    fact.form = Default::default();
}

#[test]
fn forged_claims_of_the_regression_list_are_refuted() {
    for fixed in examine::fixed::ALL {
        for &(value, block, uniform) in fixed.wanted {
            if uniform {
                continue;
            }
            let case = fixed.case();
            let mut facts = facts::analyze_module(&case.module, &case.options);
            forge(&mut facts[0], value, Some(block));
            let report = examine::examine_with(&case, &facts);
            assert!(
                !report.violations.is_empty(),
                "{}: {value} in {block}",
                fixed.name
            );
        }
    }
}

/// Most random values that are not uniform over the warp are found out when each is called uniform in turn;
/// the others differ in no run.
#[test]
fn forged_claims_of_random_programs_are_refuted() {
    let (mut forged, mut refuted) = (0u32, 0u32);
    for seed in 0..60 {
        let mut case = case(seed);
        case.options.method = Method::Full;
        case.options.scope = Scope::Subgroup;
        let facts = facts::analyze_module(&case.module, &case.options);
        let divergent: Vec<ir::Value> = facts[0]
            .values
            .iter()
            .filter(|(_, fact)| fact.uniform_at < Some(Scope::Subgroup))
            .map(|(value, _)| value)
            .collect();
        let mut random = Random::new(seed);
        for _ in 0..4 {
            if divergent.is_empty() || case.options.warp_size < 4 {
                continue;
            }
            let value = *random.pick(&divergent);
            let mut facts = facts.clone();
            forge(&mut facts[0], value, None);
            forged += 1;
            let violations = examine::examine_with(&case, &facts).violations;
            refuted += u32::from(!violations.is_empty());
        }
    }
    println!("{refuted} of {forged} forged claims refuted");
    assert!(
        forged > 100 && refuted * 5 > forged * 2,
        "{refuted} of {forged}"
    );
}
