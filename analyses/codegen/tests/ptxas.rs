//! NVIDIA's assembler judges the printed code of random programs.
#![allow(clippy::disallowed_methods)]

#[path = "support/ptxas.rs"]
mod ptxas;

use lockstep_codegen::target::ptx::emit;
use oracle::random::{Flavour, Shape, program};
#[test]
fn the_assembler_accepts_what_is_printed() {
    let Some(tool) = ptxas::find() else {
        return;
    };
    let base = Shape {
        math: false,
        warp_sizes: vec![32],
        ..Shape::default()
    };
    let small = |flavour| Shape {
        flavour,
        fuel: 12,
        blocks: 3,
        functions: 0,
        ..base.clone()
    };
    let shapes = [
        base.clone(),
        small(Flavour::Structured),
        small(Flavour::Arbitrary),
        Shape {
            warp_ops: false,
            halves: false,
            functions: 2,
            ..base.clone()
        },
        Shape {
            math: true,
            blocks: 2,
            functions: 0,
            ..base.clone()
        },
    ];
    let mut judged = 0;
    for (number, shape) in shapes.iter().enumerate() {
        let texts =
            (0..200).filter_map(|seed| Some((seed, emit(&program(seed, shape).module).ok()?)));
        for (seed, text) in texts.take(12) {
            if let Err(errors) = ptxas::judge(&tool, "sm_75", &text) {
                panic!("shape {number}, seed {seed}: {errors}\n{text}");
            }
            judged += 1;
        }
    }
    assert!(judged >= 24, "only {judged} modules were printed");
    eprintln!("ptxas accepted {judged} modules");
}
