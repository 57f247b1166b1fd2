//! NVIDIA's assembler judges what is printed. It is looked for in `LOCKSTEP_PTXAS`, then in the search path; where it
//! is absent the test says so, and fails only when `LOCKSTEP_PTXAS` is set.
#![allow(clippy::disallowed_methods)]

use ir::random::{Flavour, Shape, program};
use lockstep_codegen::target::ptx::emit;
use std::path::PathBuf;
use std::process::Command;

fn assembler() -> Option<PathBuf> {
    let candidates = std::env::var_os("LOCKSTEP_PTXAS")
        .map(PathBuf::from)
        .into_iter()
        .chain([PathBuf::from("ptxas")]);
    candidates.into_iter().find(|path| {
        Command::new(path)
            .arg("--version")
            .output()
            .is_ok_and(|output| output.status.success())
    })
}

#[test]
fn the_assembler_accepts_what_is_printed() {
    let Some(assembler) = assembler() else {
        let required = std::env::var_os("LOCKSTEP_PTXAS").is_some();
        assert!(
            !required,
            "LOCKSTEP_PTXAS is set and there is no working ptxas"
        );
        eprintln!("ptxas was not found: printed PTX is not judged by it");
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
    let folder = std::env::temp_dir().join(format!("lockstep-ptxas-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let mut judged = 0;
    for (number, shape) in shapes.iter().enumerate() {
        let texts =
            (0..200).filter_map(|seed| Some((seed, emit(&program(seed, shape).module).ok()?)));
        for (seed, text) in texts.take(12) {
            let source = folder.join("module.ptx");
            std::fs::write(&source, &text).expect("a temporary file");
            let output = Command::new(&assembler)
                .args(["-arch=sm_75", "-O0", "-o"])
                .arg(folder.join("module.cubin"))
                .arg(&source)
                .output()
                .expect("ptxas runs");
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(
                output.status.success(),
                "shape {number}, seed {seed}: {errors}\n{text}"
            );
            judged += 1;
        }
    }
    std::fs::remove_dir_all(&folder).expect("the temporary folder goes");
    assert!(judged >= 24, "only {judged} modules were printed");
    eprintln!("ptxas accepted {judged} modules");
}
