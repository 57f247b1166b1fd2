//! The reconvergence stack against lanes that run alone: on race-free programs without warp operations both leave the
//! same memory and the same returned values.

use super::*;

fn shapes() -> Vec<Shape> {
    let base = |flavour| Shape {
        flavour,
        warp_ops: false,
        atomics: false,
        max_threads: 24,
        ..Shape::default()
    };
    vec![
        base(Flavour::Structured),
        base(Flavour::Arbitrary),
        Shape {
            warp_ops: false,
            atomics: false,
            ..Shape::small(Flavour::Arbitrary)
        },
        Shape {
            warp_ops: false,
            atomics: false,
            ..Shape::small(Flavour::Structured)
        },
        Shape {
            functions: 3,
            blocks: 24,
            loop_depth: 3,
            undefined: true,
            ..base(Flavour::Structured)
        },
    ]
}

#[test]
fn lockstep_computes_what_lanes_compute_alone() {
    let mut lane_steps = 0;
    for (number, shape) in shapes().iter().enumerate() {
        for seed in 0..300 {
            let program = random::program(seed, shape);
            let mut launch = Launch::for_program(&program);
            let lockstep = run(&program.module, &launch);
            assert_eq!(lockstep.error, None, "shape {number} seed {seed}");
            launch.mode = Mode::LanesApart;
            let apart = run(&program.module, &launch);
            assert_eq!(apart.error, None, "shape {number} seed {seed}");
            assert!(lockstep.same_effects(&apart), "shape {number} seed {seed}");
            if seed % 10 == 0 {
                launch.mode = Mode::Interleaved;
                launch.seed = seed;
                let mixed = run(&program.module, &launch);
                assert_eq!(mixed.error, None, "shape {number} seed {seed}");
                assert!(lockstep.same_effects(&mixed), "shape {number} seed {seed}");
            }
            assert_eq!(
                lockstep.lane_steps, apart.lane_steps,
                "shape {number} seed {seed}"
            );
            lane_steps += lockstep.lane_steps;
        }
    }
    assert!(lane_steps > 1_000_000, "{lane_steps}");
}

#[test]
fn orders_of_warps_and_groups_do_not_matter() {
    for (number, shape) in shapes().iter().enumerate() {
        for seed in 1000..1100 {
            let program = random::program(seed, shape);
            let mut launch = Launch::for_program(&program);
            let plain = run(&program.module, &launch);
            launch.seed = seed;
            launch.shuffle_warps = true;
            launch.reverse_groups = true;
            let other = run(&program.module, &launch);
            assert_eq!(other.error, None);
            assert!(plain.same_effects(&other), "shape {number} seed {seed}");
        }
    }
}

#[test]
fn programs_with_warp_operations_run_without_errors_and_twice_alike() {
    for shape in [Shape::default(), Shape::arbitrary()] {
        for seed in 0..300 {
            let program = random::program(seed, &shape);
            let launch = Launch::for_program(&program);
            let first = run(&program.module, &launch);
            assert_eq!(first.error, None, "seed {seed}");
            assert_eq!(first, run(&program.module, &launch), "seed {seed}");
        }
    }
}
