use super::*;
use ir::{verify, verify_module};

fn shapes() -> Vec<Shape> {
    vec![
        Shape::default(),
        Shape::arbitrary(),
        Shape::small(Flavour::Structured),
        Shape::small(Flavour::Arbitrary),
        Shape {
            functions: 3,
            blocks: 30,
            loop_depth: 3,
            symbolic_parameters: true,
            undefined: true,
            inactive_sources: true,
            ..Shape::default()
        },
        Shape {
            blocks: 20,
            barriers: true,
            stray_barriers: true,
            ..Shape::default()
        },
        Shape {
            functions: 2,
            blocks: 60,
            symbolic_parameters: true,
            undefined: true,
            ..Shape::arbitrary()
        },
    ]
}

#[test]
fn programs_pass_the_verifier() {
    for shape in shapes() {
        for seed in 0..400 {
            let program = program(seed, &shape);
            if let Err(errors) = verify_module(&program.module) {
                panic!("seed {seed}: {} of {:?}", errors[0], errors.len());
            }
        }
    }
}

/// All lanes of a workgroup come to each barrier, in any order of warps and groups.
#[test]
fn barriers_are_reached_together() {
    use crate::interp::{Launch, Observer, run_with};
    #[derive(Default)]
    struct Barriers(u64);
    impl Observer for Barriers {
        fn barrier(&mut self, _: &crate::interp::Instance<'_>, _: ir::Inst, _: u64) {
            self.0 += 1;
        }
    }
    let shape = Shape {
        blocks: 16,
        barriers: true,
        ..Shape::default()
    };
    let (mut barriers, mut warps) = (Barriers::default(), 0);
    for seed in 0..200 {
        let program = program(seed, &shape);
        let mut launch = Launch::for_program(&program);
        launch.shuffle_warps = seed.is_multiple_of(2);
        launch.reverse_groups = seed.is_multiple_of(3);
        launch.seed = seed;
        let outcome = run_with(&program.module, &launch, &mut barriers, &());
        assert_eq!(outcome.error, None, "seed {seed}");
        warps += u64::from(
            program.threads().div_ceil(program.warp_size) * program.grid.iter().product::<u32>(),
        );
    }
    assert!(barriers.0 * 2 > 3 * warps, "{} of {warps}", barriers.0);
}

#[test]
fn the_same_seed_gives_the_same_program() {
    for shape in shapes() {
        let (a, b) = (program(7, &shape), program(7, &shape));
        assert_eq!(a.module, b.module);
        assert_eq!(a.arguments, b.arguments);
        assert_ne!(a.module, program(8, &shape).module);
    }
}

#[test]
fn every_kind_of_control_flow_occurs() {
    let (mut switches, mut kills, mut calls, mut guards, mut loops) = (0, 0, 0, 0, 0);
    let mut irreducible = 0;
    for seed in 0..200 {
        for shape in [Shape::default(), Shape::arbitrary()] {
            for function in &program(seed, &shape).module.functions {
                assert_eq!(verify(function), Ok(()));
                loops += function.loops.len();
                let flow = ir::cfg::ControlFlow::new(function);
                let tree = ir::dominators::DominatorTree::dominators(&flow);
                for &block in &function.layout {
                    let data = &function.blocks[block];
                    match data.terminator {
                        Terminator::Switch { .. } => switches += 1,
                        Terminator::Kill => kills += 1,
                        _ => {}
                    }
                    for edge in data.terminator.edges() {
                        let back = flow.position[edge.block] <= flow.position[block];
                        irreducible += u32::from(back && !tree.dominates(edge.block, block));
                    }
                    for &inst in &data.insts {
                        calls += u32::from(matches!(function.insts[inst].op, Op::Call(_)));
                        guards += u32::from(function.insts[inst].guard.is_some());
                    }
                }
            }
        }
    }
    for (what, count) in [
        ("switches", switches),
        ("kills", kills),
        ("calls", calls),
        ("guards", guards),
        ("loops", loops as u32),
        ("irreducible", irreducible),
    ] {
        assert!(count > 20, "{what}: {count}");
    }
}
